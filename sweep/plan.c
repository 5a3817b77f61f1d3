/* Plans: the product of models, devices, clocks, objectives and limits.
 *
 *   {"models": ["a.onnx", {"name": "b", "file": "b.onnx", "options": ["--quantize=int8"]}],
 *    "devices": ["kv260"], "clocks": [200, 250], "objectives": ["throughput", "fps=1000"],
 *    "limits": [{"utilization": 50}, {"dsp": 100}], "options": ["--weights=load"],
 *    "synthesis": true}
 *
 * Only models must be there. Paths are relative to the plan's file.
 * Tests: test/e2e/sweep_check.py, lit/tools/ming-sweep-invalid.test */
#define _XOPEN_SOURCE 700 /* realpath */
#include <ctype.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>

#include "sweep/internal.h"

enum { MOST_JOBS = 10000 };

typedef struct PlanKey {
    const char *name;
    bool is_list;
} PlanKey;

static const PlanKey plan_keys[] = {{"models", true},     {"devices", true}, {"clocks", true},
                                    {"objectives", true}, {"limits", true},  {"options", true},
                                    {"synthesis", false}};
static const char *const limit_keys[] = {"utilization", "dsp", "bram",         "uram",
                                         "lut",         "ff",  "reserve-bram", "lut-margin"};
static const char *const objectives[] = {"throughput", "latency", "pipeline-latency"};

static bool is_text(const json_t *item)
{
    const char *text = json_string_value(item);
    return text && *text && strlen(text) == json_string_length(item);
}

static bool unknown(StrBuf *why, const char *what, const char *name, const char *const *known,
                    size_t count)
{
    Suggestion near = {.wanted = str_from(name)};
    for (size_t i = 0; i < count; i++) suggestion_try(&near, str_from(known[i]));
    strbuf_printf(why, "%s is not known: '%s'", what, name);
    suggestion_print(&near, why);
    return false;
}

static bool check_keys(json_t *plan, StrBuf *why)
{
    const char *names[COUNT_OF(plan_keys)], *name;
    json_t *value;
    for (size_t i = 0; i < COUNT_OF(plan_keys); i++) names[i] = plan_keys[i].name;
    if (!json_is_object(plan)) return strbuf_fail(why, "a plan is an object");
    json_object_foreach(plan, name, value)
    {
        size_t i = 0;
        while (i < COUNT_OF(plan_keys) && strcmp(name, names[i]) != 0) i++;
        if (i == COUNT_OF(plan_keys)) return unknown(why, "a key", name, names, i);
        bool fits = plan_keys[i].is_list ? json_is_array(value) : json_is_boolean(value);
        if (!fits)
            return strbuf_fail(why, "'%s' must be %s", name,
                               plan_keys[i].is_list ? "a list" : "true or false");
    }
    return json_array_size(json_object_get(plan, "models")) > 0 ||
           strbuf_fail(why, "'models' must be a list of one or more");
}

/* Options of ming compile, without what the sweep itself says. */
static bool check_options(const json_t *list, const char *place, StrBuf *why)
{
    static const char *const taken[] = {"device", "clock", "objective", "fps", "help", "version"};
    size_t index;
    json_t *item;
    if (list && !json_is_array(list)) return strbuf_fail(why, "'%s' must be a list", place);
    json_array_foreach(list, index, item)
    {
        if (!is_text(item) || strncmp(json_string_value(item), "--", 2) != 0)
            return strbuf_fail(why, "'%s[%zu]' must be a text that begins with --", place, index);
        const char *name = json_string_value(item) + 2;
        for (size_t i = 0; i < COUNT_OF(taken); i++)
            if (strncmp(name, taken[i], strcspn(name, "=")) == 0 &&
                taken[i][strcspn(name, "=")] == '\0')
                return strbuf_fail(why, "'%s[%zu]': the sweep itself says --%s", place, index,
                                   taken[i]);
        if (strcspn(name, "=") == strlen("system") &&
            strncmp(name, "system", strlen("system")) == 0)
            return strbuf_fail(why,
                               "'%s[%zu]': --system names devices, of which a design of a sweep "
                               "has one of 'devices'",
                               place, index);
        if (strcspn(name, "=") == 1 && name[0] == 'o')
            return strbuf_fail(why, "'%s[%zu]': the sweep itself says -o", place, index);
    }
    return true;
}

static bool check_model(const json_t *model, size_t index, StrBuf *why)
{
    char place[48];
    const char *name;
    json_t *value;
    snprintf(place, sizeof place, "models[%zu].options", index);
    if (is_text(model)) return true;
    if (!json_is_object(model) || !is_text(json_object_get(model, "file")))
        return strbuf_fail(why, "'models[%zu]' must be a file, or an object with a text 'file'",
                           index);
    json_object_foreach((json_t *)model, name, value)
    {
        static const char *const known[] = {"file", "name", "options"};
        if (strcmp(name, "name") == 0 && !is_text(value))
            return strbuf_fail(why, "'models[%zu].name' must be a text", index);
        if (strcmp(name, "file") != 0 && strcmp(name, "name") != 0 && strcmp(name, "options") != 0)
            return unknown(why, "a key of a model", name, known, COUNT_OF(known));
    }
    return check_options(json_object_get(model, "options"), place, why);
}

static bool check_objective(const json_t *item, size_t index, StrBuf *why)
{
    const char *text = json_string_value(item);
    char *end = NULL;
    if (is_text(item) && strncmp(text, "fps=", 4) == 0)
        return (isdigit((unsigned char)text[4]) && strtod(text + 4, &end) > 0 && !*end) ||
               strbuf_fail(why, "'objectives[%zu]' must be fps= and a number above 0", index);
    for (size_t i = 0; is_text(item) && i < COUNT_OF(objectives); i++)
        if (strcmp(text, objectives[i]) == 0) return true;
    return strbuf_fail(
        why, "'objectives[%zu]' must be throughput, latency, pipeline-latency or fps=N", index);
}

static bool check_limits(const json_t *item, size_t index, StrBuf *why)
{
    const char *name;
    json_t *value;
    if (!json_is_object(item))
        return strbuf_fail(why, "'limits[%zu]' must be an object, as {\"dsp\": 100}", index);
    json_object_foreach((json_t *)item, name, value)
    {
        size_t i = 0;
        while (i < COUNT_OF(limit_keys) && strcmp(name, limit_keys[i]) != 0) i++;
        if (i == COUNT_OF(limit_keys)) return unknown(why, "a limit", name, limit_keys, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            return strbuf_fail(why, "'limits[%zu].%s' must be an integer of 0 or more", index,
                               name);
    }
    return true;
}

static bool check_device(const json_t *item, size_t index, StrBuf *why)
{
    return is_text(item) || strbuf_fail(why, "'devices[%zu]' must be a text", index);
}

static bool check_clock(const json_t *item, size_t index, StrBuf *why)
{
    return (json_is_integer(item) && json_integer_value(item) > 0) ||
           strbuf_fail(why, "'clocks[%zu]' must be an integer above 0, in MHz", index);
}

/* The items, each of them once; and each list that is there has some. */
static bool check_list(const json_t *plan, const char *key,
                       bool (*check)(const json_t *item, size_t index, StrBuf *why), StrBuf *why)
{
    const json_t *list = json_object_get(plan, key);
    size_t index;
    json_t *item;
    if (list && json_array_size(list) == 0) return strbuf_fail(why, "'%s' has no items", key);
    if (json_array_size(list) > MOST_JOBS)
        return strbuf_fail(why, "'%s' has %zu items, more than %d", key, json_array_size(list),
                           (int)MOST_JOBS);
    json_array_foreach(list, index, item)
    {
        if (!check(item, index, why)) return false;
        for (size_t i = 0; i < index; i++)
            if (json_equal(json_array_get(list, i), item))
                return strbuf_fail(why, "'%s[%zu]' is there twice", key, index);
    }
    return true;
}

static bool check_plan(json_t *plan, StrBuf *why)
{
    return check_keys(plan, why) && check_list(plan, "models", check_model, why) &&
           check_list(plan, "devices", check_device, why) &&
           check_list(plan, "clocks", check_clock, why) &&
           check_list(plan, "objectives", check_objective, why) &&
           check_list(plan, "limits", check_limits, why) &&
           check_options(json_object_get(plan, "options"), "options", why);
}

static void add_argument(json_t *list, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void add_argument(json_t *list, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    json_array_append_new(list, json_vsprintf(fmt, args));
    va_end(args);
}

static void add_options(json_t *list, const json_t *options)
{
    size_t index;
    json_t *item;
    json_array_foreach(options, index, item) json_array_append(list, item);
}

static void add_limits(SweepJob *job, const json_t *limits)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)limits, name, value)
    {
        long long number = json_integer_value(value);
        strbuf_printf(&job->limits, "%s%s=%lld", job->limits.len > 0 ? " " : "", name, number);
        add_argument(job->arguments, "--%s=%lld", name, number);
    }
}

/* "a model.onnx" -> "a_model_onnx", at most so many characters. */
static void add_plain(StrBuf *out, const char *text)
{
    enum { MOST = 32 };
    for (size_t i = 0; text[i] && i < MOST; i++)
        strbuf_add_char(
            out, isalnum((unsigned char)text[i]) && (unsigned char)text[i] < 128 ? text[i] : '_');
}

/* Names the job by its model and device, and by a digest of all that it depends on. */
static void name_job(SweepJob *job, Str model)
{
    enum { SHOWN = 6 };
    struct sha256_ctx sha;
    uint8_t digest[SHA256_DIGEST_SIZE];
    size_t index;
    json_t *item;
    sha256_init(&sha);
    json_array_foreach(job->arguments, index, item) /* with the ends of the texts */
        sha256_update(&sha, json_string_length(item) + 1, (const uint8_t *)json_string_value(item));
    sha256_update(&sha, model.len, (const uint8_t *)model.data);
    sha256_digest(&sha, sizeof digest, digest);
    add_plain(&job->id, job->model);
    strbuf_add_char(&job->id, '-');
    add_plain(&job->id, job->device);
    strbuf_add_char(&job->id, '-');
    for (size_t i = 0; i < SHOWN; i++) strbuf_printf(&job->id, "%02x", (unsigned)digest[i]);
}

/* A model of the plan, with its file read. */
typedef struct PlanModel {
    const char *name, *file;
    const json_t *options;
    StrBuf path, bytes;
} PlanModel;

static bool read_model(const SweepPlan *plan, const json_t *json, PlanModel *out, StrBuf *why)
{
    const json_t *name = json_object_get(json, "name");
    const char *reason = NULL;
    *out = (PlanModel){.options = json_object_get(json, "options")};
    out->file = json_is_string(json) ? json_string_value(json)
                                     : json_string_value(json_object_get(json, "file"));
    out->name = name ? json_string_value(name) : out->file;
    if (out->file[0] != '/') strbuf_printf(&out->path, "%s/", plan->folder.data);
    strbuf_add_c(&out->path, out->file);
    return file_read(&out->bytes, out->path.data, &reason) ||
           strbuf_fail(why, "cannot read '%s': %s", out->path.data, reason);
}

/* Item i of a list of the plan that may be missing, in which case it is NULL. */
static const json_t *choice(const SweepPlan *plan, const char *key, size_t i)
{
    return json_array_get(json_object_get(plan->json, key), i);
}

static size_t choices(const SweepPlan *plan, const char *key)
{
    size_t count = json_array_size(json_object_get(plan->json, key));
    return count > 0 ? count : 1;
}

static void add_job(SweepPlan *plan, const PlanModel *model, const json_t *device,
                    const json_t *clock, const json_t *objective, const json_t *limits)
{
    const DeviceOptions defaults = DEVICE_OPTIONS_DEFAULTS;
    SweepJob job = {.model = model->name,
                    .device = device ? json_string_value(device) : defaults.device,
                    .objective = objective ? json_string_value(objective) : objectives[0],
                    .clock = json_integer_value(clock),
                    .arguments = json_array()};
    /* a name is no option */
    add_argument(job.arguments, model->file[0] == '-' ? "./%s" : "%s", model->file);
    add_argument(job.arguments, "--device=%s", job.device);
    if (clock) add_argument(job.arguments, "--clock=%lld", (long long)job.clock);
    add_argument(job.arguments, strncmp(job.objective, "fps=", 4) == 0 ? "--%s" : "--objective=%s",
                 job.objective);
    add_limits(&job, limits);
    add_options(job.arguments, json_object_get(plan->json, "options"));
    add_options(job.arguments, model->options);
    name_job(&job, strbuf_str(&model->bytes));
    *vec_push(&plan->jobs) = job;
}

static void add_jobs(SweepPlan *plan, const PlanModel *model)
{
    for (size_t d = 0; d < choices(plan, "devices"); d++)
        for (size_t c = 0; c < choices(plan, "clocks"); c++)
            for (size_t o = 0; o < choices(plan, "objectives"); o++)
                for (size_t l = 0; l < choices(plan, "limits"); l++)
                    add_job(plan, model, choice(plan, "devices", d), choice(plan, "clocks", c),
                            choice(plan, "objectives", o), choice(plan, "limits", l));
}

static bool multiply(SweepPlan *plan, StrBuf *why)
{
    static const char *const keys[] = {"models", "devices", "clocks", "objectives", "limits"};
    double count = 1;
    for (size_t i = 0; i < COUNT_OF(keys); i++) count *= (double)choices(plan, keys[i]);
    if (count > MOST_JOBS)
        return strbuf_fail(why, "has %.0f designs, more than %d", count, (int)MOST_JOBS);
    bool ok = true;
    size_t index;
    json_t *item;
    json_array_foreach(json_object_get(plan->json, "models"), index, item)
    {
        PlanModel model;
        ok = ok && read_model(plan, item, &model, why);
        if (ok) add_jobs(plan, &model);
        strbuf_free(&model.path);
        strbuf_free(&model.bytes);
        if (!ok) break;
    }
    return ok;
}

static bool find_folder(SweepPlan *plan, const char *file, StrBuf *why)
{
    char *path = realpath(file, NULL);
    if (!path) return strbuf_fail(why, "no such file");
    *strrchr(path, '/') = '\0';
    strbuf_add_c(&plan->folder, path);
    free(path);
    return true;
}

bool sweep_plan_read(SweepPlan *plan, const char *file, StrBuf *why)
{
    StrBuf reason = {0};
    json_error_t error;
    *plan = (SweepPlan){.json = json_load_file(file, JSON_REJECT_DUPLICATES, &error)};
    if (!plan->json && error.line > 0)
        strbuf_printf(&reason, "%d:%d: %s", error.line, error.column, error.text);
    else if (!plan->json)
        strbuf_printf(&reason, "cannot be read");
    bool ok = plan->json && check_plan(plan->json, &reason) && find_folder(plan, file, &reason) &&
              multiply(plan, &reason);
    plan->synthesizes = json_is_true(json_object_get(plan->json, "synthesis"));
    if (!ok) strbuf_printf(why, "%s: %s", file, reason.data);
    strbuf_free(&reason);
    return ok;
}

void sweep_plan_free(SweepPlan *plan)
{
    for (size_t i = 0; i < plan->jobs.len; i++) {
        strbuf_free(&plan->jobs.data[i].id);
        strbuf_free(&plan->jobs.data[i].limits);
        json_decref(plan->jobs.data[i].arguments);
    }
    vec_free(&plan->jobs);
    strbuf_free(&plan->folder);
    json_decref(plan->json);
}
