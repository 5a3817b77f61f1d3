/* Results: a row for each job of the plan, in its order, from status and report.json. Nothing in them
 * depends on when and where jobs ran.
 * Tests: test/e2e/sweep_check.py */
#include <string.h>

#include "report/report.h"
#include "sweep/internal.h"

/* A row of results and the texts that it points to. */
typedef struct Result {
    ReportSweepRow row;
    StrBuf message, folder;
    char synthesis[8];
} Result;
typedef VEC(Result) Results;

static int64_t number(const json_t *object, const char *key)
{
    const json_t *item = json_object_get(object, key);
    return json_is_integer(item) ? json_integer_value(item) : -1;
}

static void read_report(const json_t *report, ReportSweepRow *row)
{
    enum { US_PER_MS = 1000 };
    const json_t *totals = json_object_get(report, "totals");
    int64_t first = number(totals, "latency_cycles");
    row->clock = number(report, "clock_mhz");
    row->interval = number(totals, "interval_cycles");
    row->fps = json_number_value(json_object_get(totals, "fps"));
    if (first >= 0 && row->clock > 0)
        row->first_ms = (double)first / (double)row->clock / US_PER_MS;
    for (size_t k = 0; k < REPORT_RESOURCES; k++) {
        row->cost[k] = number(totals, report_resources[k].key);
        row->limit[k] = number(report, report_resources[k].limit_key);
    }
    row->is_optimal =
        number(report, "value") >= 0 && number(report, "value") == number(report, "bound");
}

/* The first line of the log that says "error: ", from there on. */
static void read_message(const char *job, StrBuf *out)
{
    static const char word[] = "error: ";
    StrBuf path = {0}, text = {0};
    const char *reason;
    strbuf_printf(&path, "%s/log", job);
    const char *at =
        file_read(&text, path.data, &reason) && text.len > 0 ? strstr(text.data, word) : NULL;
    if (at)
        strbuf_add(out, at + strlen(word), strcspn(at + strlen(word), "\n"));
    else
        strbuf_add_c(out, "it ended without an error in its log");
    strbuf_free(&path);
    strbuf_free(&text);
}

static void read_design(const char *job, Result *out)
{
    StrBuf path = {0};
    json_error_t error;
    strbuf_printf(&path, "%s/design/report.json", job);
    json_t *report = json_load_file(path.data, 0, &error);
    if (report) read_report(report, &out->row);
    if (out->row.fps <= 0) {
        out->row.state = STR("failed");
        strbuf_add_c(&out->message, "its report.json has no frames a second");
    }
    json_decref(report);
    strbuf_free(&path);
}

static void read_job(const char *folder, const SweepJob *job, Result *out)
{
    static const char *const states[] = {
        [SWEEP_MISSING] = "missing", [SWEEP_DONE] = "done", [SWEEP_FAILED] = "failed"};
    StrBuf path = {0};
    SweepStatus status;
    sweep_status_read(sweep_job_path(&path, folder, job), &status);
    *out = (Result){.row = {.model = str_from(job->model),
                            .device = str_from(job->device),
                            .objective = str_from(job->objective),
                            .limits = strbuf_str(&job->limits),
                            .state = str_from(states[status.state]),
                            .clock = job->clock > 0 ? job->clock : -1,
                            .interval = -1,
                            .first_ms = -1}};
    for (size_t k = 0; k < REPORT_RESOURCES; k++) out->row.cost[k] = out->row.limit[k] = -1;
    strbuf_printf(&out->folder, "jobs/%s", job->id.data);
    snprintf(out->synthesis, sizeof out->synthesis, "%s",
             status.synthesis.len > 0 ? status.synthesis.data : "");
    if (status.state == SWEEP_DONE) read_design(path.data, out);
    if (status.state == SWEEP_FAILED) read_message(path.data, &out->message);
    sweep_status_free(&status);
    strbuf_free(&path);
}

/* A field as RFC 4180 has them. */
static void add_field(StrBuf *out, Str text)
{
    bool is_plain = true;
    for (size_t i = 0; i < text.len; i++) is_plain = is_plain && !strchr(",\"\r\n", text.data[i]);
    if (is_plain) {
        strbuf_add_str(out, text);
        return;
    }
    strbuf_add_char(out, '"');
    for (size_t i = 0; i < text.len; i++)
        strbuf_printf(out, text.data[i] == '"' ? "\"\"" : "%c", text.data[i]);
    strbuf_add_char(out, '"');
}

static void add_number(StrBuf *out, int64_t value)
{
    strbuf_add_char(out, ',');
    if (value >= 0) strbuf_printf(out, "%lld", (long long)value);
}

static void add_figures(StrBuf *out, const ReportSweepRow *row)
{
    strbuf_add_char(out, ',');
    if (row->fps > 0) strbuf_printf(out, "%.3f", row->fps);
    add_number(out, row->interval);
    strbuf_add_char(out, ',');
    if (row->first_ms >= 0) strbuf_printf(out, "%.6f", row->first_ms);
    for (size_t k = 0; k < REPORT_RESOURCES; k++) add_number(out, row->cost[k]);
    for (size_t k = 0; k < REPORT_RESOURCES; k++) add_number(out, row->limit[k]);
    strbuf_printf(out, ",%s,", row->fps > 0 ? row->is_optimal ? "yes" : "no" : "");
    for (size_t k = 0, before = 0; k < REPORT_RESOURCES; k++)
        if (row->fronts >> k & 1)
            strbuf_printf(out, "%s%s", before++ ? " " : "", report_resources[k].key);
}

static void add_csv_row(StrBuf *out, const ReportSweepRow *row, const Result *result)
{
    add_field(out, row->model);
    strbuf_add_char(out, ',');
    add_field(out, row->device);
    add_number(out, row->clock);
    strbuf_add_char(out, ',');
    add_field(out, row->objective);
    strbuf_add_char(out, ',');
    add_field(out, row->limits);
    strbuf_printf(out, ",%.*s", STR_ARG(row->state));
    add_figures(out, row);
    strbuf_printf(out, ",%s,%s,", result->synthesis, result->folder.data);
    add_field(out, row->message);
    strbuf_add_char(out, '\n');
}

static void print_csv(const ReportSweepRows *rows, const Results *results, StrBuf *out)
{
    strbuf_add_c(out, "model,device,clock_mhz,objective,limits,state,predicted_fps,interval_cycles,"
                      "first_frame_ms");
    for (size_t k = 0; k < REPORT_RESOURCES; k++)
        strbuf_printf(out, ",%s", report_resources[k].key);
    for (size_t k = 0; k < REPORT_RESOURCES; k++)
        strbuf_printf(out, ",%s", report_resources[k].limit_key);
    strbuf_add_c(out, ",optimal,fronts,synthesis,folder,message\n");
    for (size_t i = 0; i < rows->len; i++) add_csv_row(out, &rows->data[i], &results->data[i]);
}

static bool write_file(const char *folder, const char *name, const StrBuf *text, StrBuf *why)
{
    StrBuf path = {0};
    const char *reason = NULL;
    strbuf_printf(&path, "%s/%s", folder, name);
    bool ok = file_write(path.data, strbuf_str(text), &reason) ||
              strbuf_fail(why, "cannot write '%s': %s", path.data, reason);
    strbuf_free(&path);
    return ok;
}

/* "plans/small.json" -> "small" */
static Str title_of(const SweepOptions *options)
{
    const char *base = strrchr(options->file, '/');
    Str name = str_from(base ? base + 1 : options->file);
    if (str_ends_with(name, ".json")) name.len -= strlen(".json");
    return name;
}

static void count(const ReportSweepRows *rows, SweepCounts *counts)
{
    for (size_t i = 0; i < rows->len; i++) {
        counts->done += str_eq_c(rows->data[i].state, "done");
        counts->failed += str_eq_c(rows->data[i].state, "failed");
        counts->missing += str_eq_c(rows->data[i].state, "missing");
    }
}

bool sweep_collect(const SweepPlan *plan, const SweepOptions *options, SweepCounts *counts,
                   StrBuf *why)
{
    Results results = {0};
    ReportSweepRows rows = {0};
    StrBuf csv = {0}, page = {0};
    for (size_t i = 0; i < plan->jobs.len; i++)
        read_job(options->folder, &plan->jobs.data[i], vec_push(&results));
    for (size_t i = 0; i < results.len; i++) {
        Result *result = &results.data[i];
        result->row.folder = strbuf_str(&result->folder);
        result->row.message = strbuf_str(&result->message);
        *vec_push(&rows) = result->row;
    }
    report_sweep_fronts(&rows);
    count(&rows, counts);
    print_csv(&rows, &results, &csv);
    report_print_sweep(&rows, title_of(options), &page);
    bool ok = write_file(options->folder, "results.csv", &csv, why) &&
              write_file(options->folder, "index.html", &page, why);
    for (size_t i = 0; i < results.len; i++) {
        strbuf_free(&results.data[i].message);
        strbuf_free(&results.data[i].folder);
    }
    vec_free(&results);
    vec_free(&rows);
    strbuf_free(&csv);
    strbuf_free(&page);
    return ok;
}
