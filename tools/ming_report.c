/* ming report DIR: writes a page about a design (report/). With --csynth=FILE|--yosys=FILE: reads the
 * report.json that ming compile wrote and what synthesis of the same design reported, the csynth.xml of Vitis HLS or the synth.json of `make
 * synth-yosys`, and sets the figures side by side, per process and in total.
 * Tests: lit/tools/ming-report.test, lit/tools/ming-report-html.mir, lit/tools/ming-report-yosys.test,
 * lit/tools/ming-report-invalid.test */
#include <jansson.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/dialects.h"
#include "driver/driver.h"
#include "ir/asm/print/print.h"
#include "ir/support/support.h"
#include "report/report.h"
#include "target/device/device.h"
#include "tools/internal.h"

enum { FIGURE_COUNT = 7, FIRST_RESOURCE = 2 };

/* What is predicted of the Verilog, in report.json where there is some. */
#define VERILOG "verilog"

/* Columns: the figure's title, its keys in report.json (process, total), and where it is in
 * SynthFigures. */
static const struct {
    const char *title, *key, *total_key;
    size_t offset;
} figures[FIGURE_COUNT] = {
    {"latency", "cycles", "latency_cycles", offsetof(SynthFigures, latency)},
    {"interval", "interval_cycles", "interval_cycles", offsetof(SynthFigures, interval)},
    {"DSP", "dsp", "dsp", offsetof(SynthFigures, dsp)},
    {"BRAM18", "bram18", "bram18", offsetof(SynthFigures, bram18)},
    {"URAM", "uram", "uram", offsetof(SynthFigures, uram)},
    {"LUT", "lut", "lut", offsetof(SynthFigures, lut)},
    {"FF", "ff", "ff", offsetof(SynthFigures, ff)},
};

/* -1: not known. */
typedef struct ReportRow {
    const char *name;
    int64_t predicted[FIGURE_COUNT], reported[FIGURE_COUNT];
} ReportRow;

typedef VEC(ReportRow) Rows;

static int64_t json_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? json_integer_value(value) : -1;
}

static const char *json_text(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_string(value) ? json_string_value(value) : "";
}

static int64_t reported_figure(const SynthFigures *reported, size_t column)
{
    int64_t value;
    memcpy(&value, (const char *)reported + figures[column].offset, sizeof(value));
    return value;
}

/* is_verilog: resources are those that are predicted of the Verilog. */
static ReportRow make_row(const char *name, const json_t *predicted, bool is_total, bool is_verilog,
                          const SynthFigures *reported)
{
    ReportRow row = {.name = name};
    const json_t *verilog = json_object_get(predicted, VERILOG);
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        const char *key = is_total ? figures[i].total_key : figures[i].key;
        row.predicted[i] =
            json_number(is_verilog && i >= FIRST_RESOURCE ? verilog : predicted, key);
        row.reported[i] = -1;
        if (reported) row.reported[i] = reported_figure(reported, i);
    }
    return row;
}

/* A process whose name is a word of Verilog has an underscore behind it there. */
static const SynthModule *find_module(const SynthReport *report, const char *process)
{
    StrBuf name = {0};
    strbuf_printf(&name, "%s_", process);
    const SynthModule *module = csynth_module(report, str_from(process));
    if (!module) module = csynth_module(report, strbuf_str(&name));
    strbuf_free(&name);
    return module;
}

/* What is predicted of a process as C++ includes the FIFOs that it writes. */
static void take_fifos(const json_t *design, Rows *rows)
{
    size_t index;
    json_t *fifo;
    json_array_foreach(
        json_object_get(design, "fifos"), index,
        fifo) for (size_t r = 0; r < rows->len;
                   r++) for (size_t i = FIRST_RESOURCE; i < FIGURE_COUNT;
                             i++) if (strcmp(rows->data[r].name, json_text(fifo, "writer")) == 0)
        rows->data[r]
            .predicted[i] -= i64_max(json_number(fifo, figures[i].key), 0);
}

/* In Verilog FIFOs are modules of their own: a row for what the processes leave of the total, which
 * is theirs and that of the ports' slices. */
static ReportRow fifo_row(const Rows *processes, const ReportRow *total)
{
    ReportRow row = *total;
    row.name = "FIFOs";
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        if (i < FIRST_RESOURCE) row.predicted[i] = row.reported[i] = -1;
        for (size_t r = 0; i >= FIRST_RESOURCE && r < processes->len; r++) {
            row.predicted[i] -= i64_max(processes->data[r].predicted[i], 0);
            row.reported[i] -= i64_max(processes->data[r].reported[i], 0);
        }
    }
    return row;
}

static void collect_rows(const json_t *design, const SynthReport *report, bool has_fifos, Rows *out)
{
    const json_t *totals = json_object_get(design, "totals");
    bool is_verilog = has_fifos && json_object_get(totals, VERILOG);
    size_t index;
    json_t *process;
    json_array_foreach(json_object_get(design, "processes"), index, process)
    {
        const char *name = json_text(process, "name");
        const SynthModule *module = find_module(report, name);
        *vec_push(out) =
            make_row(name, process, false, is_verilog, module ? &module->figures : NULL);
    }
    const ReportRow total = make_row("total", totals, true, is_verilog, &report->total);
    if (has_fifos && !is_verilog) take_fifos(design, out);
    if (has_fifos) {
        const ReportRow fifos = fifo_row(out, &total);
        *vec_push(out) = fifos;
    }
    *vec_push(out) = total;
}

static void add_number(StrBuf *out, int64_t value)
{
    if (value < 0)
        strbuf_add_char(out, '-');
    else
        strbuf_add_int(out, value);
}

/* "predicted / reported" */
static void add_cell(StrBuf *out, const ReportRow *row, size_t column)
{
    add_number(out, row->predicted[column]);
    strbuf_add_c(out, " / ");
    add_number(out, row->reported[column]);
}

static void print_table(const Rows *rows, const SynthReport *report, StrBuf *out)
{
    TextTable table = {.columns = 1 + FIGURE_COUNT, .first_number = 1};
    text_table_add(&table, "predicted / reported");
    for (size_t i = 0; i < FIGURE_COUNT; i++) text_table_add(&table, figures[i].title);
    for (size_t r = 0; r < rows->len; r++) {
        text_table_add(&table, rows->data[r].name);
        for (size_t i = 0; i < FIGURE_COUNT; i++)
            add_cell(text_table_cell(&table), &rows->data[r], i);
    }
    text_table_print(&table, out);
    text_table_free(&table);
    if (report->part.len == 0)
        strbuf_printf(out, "%s: FIFOs are beside the processes, with the slices of ports\n",
                      report->version.data);
    else
        strbuf_printf(out, "Vitis HLS %s for %s: clock %s ns, estimated %s ns\n",
                      report->version.data, report->part.data, report->target_ns.data,
                      report->estimated_ns.data);
}

static void add_figures(JsonWriter *w, const char *key, const int64_t *values)
{
    json_member_object(w, key);
    for (size_t i = 0; i < FIGURE_COUNT; i++) json_member_count(w, figures[i].total_key, values[i]);
    json_end_object(w);
}

static void print_json(const Rows *rows, StrBuf *out)
{
    JsonWriter w = {.out = out};
    json_begin_array(&w);
    for (size_t r = 0; r < rows->len; r++) {
        json_write_line(&w, 2);
        json_begin_object(&w);
        json_member_string(&w, "name", str_from(rows->data[r].name));
        json_write_line(&w, 3);
        add_figures(&w, "predicted", rows->data[r].predicted);
        json_write_line(&w, 3);
        add_figures(&w, "reported", rows->data[r].reported);
        json_end_object(&w);
    }
    json_write_line(&w, 0);
    json_end_array(&w);
    strbuf_add_char(out, '\n');
}

/* The design's report.json; NULL: said why. The caller releases it. */
static json_t *load_design(const Tool *tool, const char *dir)
{
    StrBuf path = {0};
    json_error_t error;
    strbuf_printf(&path, "%s/report.json", dir);
    json_t *design = json_load_file(path.data, JSON_REJECT_DUPLICATES, &error);
    if (!design && error.line < 0)
        tool_error(tool, "error: cannot read '%s'; 'ming compile' writes one", path.data);
    else if (!design)
        fprintf(stderr, "%s:%d:%d: error: %s\n", path.data, error.line, error.column, error.text);
    bool is_design = design && json_is_array(json_object_get(design, "processes"));
    if (design && !is_design) {
        fprintf(stderr, "%s:1:1: error: has no array 'processes'\n", path.data);
        json_decref(design);
    }
    strbuf_free(&path);
    return is_design ? design : NULL;
}

/* Yosys does not say which module is the top: some process must be there. */
static bool check_processes(const Tool *tool, const json_t *design, const SynthReport *report)
{
    size_t index;
    json_t *process;
    json_array_foreach(json_object_get(design, "processes"), index, process)
    {
        if (find_module(report, json_text(process, "name"))) return true;
    }
    return tool_error(tool, "error: the synthesis report has no process of the design '%s'",
                      json_text(design, "top"));
}

static bool check_top(const Tool *tool, const json_t *design, const SynthReport *report)
{
    const char *top = json_text(design, "top");
    return str_eq_c(report->top, top) ||
           tool_error(tool, "error: the synthesis report is of '%s', the design is '%s'",
                      report->top.data, top);
}

/* What is asked for. */
typedef struct ReportFlags {
    const char *csynth, *yosys, *html, *layout;
    bool as_json;
} ReportFlags;

static bool read_synthesis(const Tool *tool, Context *ctx, const ReportFlags *flags,
                           const json_t *design, SynthReport *out)
{
    if (flags->yosys)
        return yosys_read(ctx, flags->yosys, out) && check_processes(tool, design, out);
    return csynth_read(ctx, flags->csynth, out) && check_top(tool, design, out);
}

static bool print_report(const Tool *tool, const char *dir, const ReportFlags *flags)
{
    Context *ctx = context_create();
    SynthReport report = {.version = STR("")};
    Rows rows = {0};
    StrBuf text = {0};
    json_t *design = load_design(tool, dir);
    bool ok = design && read_synthesis(tool, ctx, flags, design, &report);
    if (ok) {
        collect_rows(design, &report, flags->yosys != NULL, &rows);
        if (flags->as_json)
            print_json(&rows, &text);
        else
            print_table(&rows, &report, &text);
        fwrite(text.data, 1, text.len, stdout);
    }
    diag_flush(ctx);
    json_decref(design);
    csynth_free(&report);
    vec_free(&rows);
    strbuf_free(&text);
    context_destroy(ctx);
    return ok;
}

/* Into the file that was asked for, else beside the report. */
static bool write_page(const Tool *tool, const char *dir, const char *wanted, const StrBuf *text)
{
    StrBuf path = {0};
    if (wanted)
        strbuf_add_c(&path, wanted);
    else
        strbuf_printf(&path, "%s/report.html", dir);
    bool ok = tool_write(tool, path.data, strbuf_str(text));
    if (ok && !wanted) printf("%s\n", path.data);
    strbuf_free(&path);
    return ok;
}

static bool print_page(const Tool *tool, const char *dir, const ReportFlags *flags)
{
    Context *ctx = context_create();
    StrBuf text = {0}, why = {0};
    json_t *design = load_design(tool, dir);
    const ReportOptions options = {
        .json = design, .layout = report_layout(flags->layout), .max_events = REPORT_MAX_EVENTS};
    dialects_register_all(ctx);
    diag_show_op(ctx, false);
    bool ok = design && report_print_project(ctx, dir, options, &text, &why);
    if (why.len > 0) tool_error(tool, "error: %s", why.data);
    ok = ok && write_page(tool, dir, flags->html, &text);
    diag_flush(ctx);
    json_decref(design);
    strbuf_free(&text);
    strbuf_free(&why);
    context_destroy(ctx);
    return ok;
}

static bool check_report_flags(const Tool *tool, const ReportFlags *flags, const Texts *inputs)
{
    bool compares = flags->csynth || flags->yosys;
    if (inputs->len != 1)
        return tool_error(tool, "error: the directory of a design is needed; try '%s --help'",
                          tool->name);
    if (flags->csynth && flags->yosys)
        return tool_error(tool, "error: --csynth and --yosys are of different synthesis; one of "
                                "them is needed");
    if (compares && (flags->html || flags->layout))
        return tool_error(tool, "error: --html and --layout are of a page, which does not have the "
                                "figures of --csynth and --yosys");
    return compares || !flags->as_json ||
           tool_error(tool, "error: --json prints what --csynth or --yosys compares; the design's "
                            "own figures are in its report.json");
}

int command_report(int argc, char **argv)
{
    ReportFlags given = {0};
    const Flag flags[] = {
        {"html", FLAG_TEXT, &given.html, "file",
         "Where the page is written, default DIR/report.html; - is standard output", NULL},
        {"layout", FLAG_CHOICE, &given.layout, REPORT_LAYOUTS,
         "What places the layers: Graphviz where it is installed (auto, default), or without it",
         NULL},
        {"csynth", FLAG_TEXT, &given.csynth, "file", "csynth.xml of Vitis HLS for the design",
         NULL},
        {"yosys", FLAG_TEXT, &given.yosys, "file", "synth.json of 'make synth-yosys'", NULL},
        {"json", FLAG_SWITCH, &given.as_json, NULL, "Print the comparison as JSON", NULL},
    };
    const Tool tool = {
        .name = "ming report",
        .summary = "ming report: a page about a design, or its predicted figures beside those of "
                   "synthesis",
        .usage = "DIR [--html=FILE | --csynth=FILE | --yosys=FILE] [options]",
        .flags = flags,
        .flag_count = COUNT_OF(flags),
    };
    Texts inputs = {0};
    ArgsResult args = tool_parse_args(&tool, argc, argv, &inputs);
    bool ok = args == ARGS_DONE;
    if (args == ARGS_RUN && check_report_flags(&tool, &given, &inputs))
        ok = given.csynth || given.yosys ? print_report(&tool, inputs.data[0], &given)
                                         : print_page(&tool, inputs.data[0], &given);
    vec_free(&inputs);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
