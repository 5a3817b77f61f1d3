/* A program that uses libming through its installed header alone; test/e2e/libming_check.py builds
 * it against an installation and compares what it writes with what the tools write.
 *
 *   library_test compile MODEL FOLDER [NAME=VALUE...]     prints the diagnostics, writes the project
 *   library_test run MODEL|DESIGN KIND ITEM SHAPE FILE    raw input to raw output; a folder is a design
 *   library_test print MODEL PIPELINE                     the module after passes
 *   library_test misuse MODEL                             what must be refused, with its diagnostic
 *   library_test threads MODEL FOLDER                     two contexts at once */
#include <locale.h>
#include <ming/ming.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Heard {
    size_t errors;
    char last[4096]; /* message of the last error */
    bool prints;
} Heard;

static void hear(void *user, const ming_diagnostic *diagnostic)
{
    Heard *heard = user;
    if (heard->prints) fputs(ming_diagnostic_text(diagnostic), stdout);
    if (ming_diagnostic_severity(diagnostic) != MING_ERROR) return;
    heard->errors++;
    snprintf(heard->last, sizeof heard->last, "%s:%u:%u: %s",
             ming_diagnostic_file(diagnostic) ? ming_diagnostic_file(diagnostic) : "-",
             (unsigned)ming_diagnostic_line(diagnostic),
             (unsigned)ming_diagnostic_column(diagnostic), ming_diagnostic_message(diagnostic));
}

static bool set_option(ming_options *options, const char *text)
{
    char name[256];
    const char *equals = strchr(text, '=');
    size_t len = equals ? (size_t)(equals - text) : strlen(text);
    if (len >= sizeof name) return false;
    memcpy(name, text, len);
    name[len] = '\0';
    return ming_options_set(options, name, equals ? equals + 1 : NULL);
}

/* The page of a design beside the project: written, given, and the same of a copy. */
static bool write_page(ming_context *ctx, const ming_module *design, const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.html", folder);
    ming_options *options = ming_options_create(ctx, "report");
    ming_module *copy = ming_module_clone(design);
    bool is_set = ming_options_set(options, "layout", "own");
    char *page = is_set ? ming_report_page(design, options, path) : NULL,
         *again = is_set ? ming_report_page(copy, options, NULL) : NULL;
    bool ok = page && again && strcmp(page, again) == 0;
    ming_free(page);
    ming_free(again);
    ming_module_destroy(copy);
    ming_options_destroy(options);
    return ok;
}

static bool compile(const char *path, const char *folder, char **settings, int count, bool prints)
{
    Heard heard = {.prints = prints};
    ming_context *ctx = ming_context_create();
    ming_context_set_handler(ctx, hear, &heard);
    ming_options *options = ming_options_create(ctx, "compile");
    bool ok = true;
    for (int i = 0; ok && i < count; i++) ok = set_option(options, settings[i]);
    ming_module *model = ok ? ming_load(ctx, path, options) : NULL;
    ming_module *design = model ? ming_compile(model, options, folder) : NULL;
    char *report = design ? ming_report(design) : NULL;
    ok = report && report[0] == '{' && (!folder || write_page(ctx, design, folder));
    if (ok == (heard.errors > 0)) printf("%zu errors, and success is %d\n", heard.errors, ok);
    ming_free(report);
    ming_module_destroy(design);
    ming_module_destroy(model);
    ming_options_destroy(options);
    ming_context_destroy(ctx);
    return ok;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static ming_array *read_array(char **words)
{
    int64_t shape[32];
    uint32_t rank = 0;
    uint32_t item = (uint32_t)strtoul(words[1], NULL, 10);
    size_t size = item;
    for (const char *at = words[2]; *at && rank < 32; rank++) {
        char *end;
        shape[rank] = strtoll(at, &end, 10);
        size *= (size_t)shape[rank];
        at = *end ? end + 1 : end;
    }
    void *data = malloc(size);
    FILE *file = fopen(words[3], "rb");
    bool ok = data && file && fread(data, 1, size, file) == size;
    if (file) fclose(file);
    ming_array *array = ok ? ming_array_create(words[0][0], item, shape, rank, data) : NULL;
    free(data);
    return array;
}

/* Text to stderr: the shapes of the outputs; data to stdout. */
static void write_result(const ming_result *result)
{
    for (size_t i = 0; i < ming_result_count(result); i++) {
        const ming_array *array = ming_result_array(result, i);
        fprintf(stderr, "%c%u", ming_array_kind(array), (unsigned)ming_array_item(array));
        for (uint32_t d = 0; d < ming_array_rank(array); d++)
            fprintf(stderr, " %lld", (long long)ming_array_shape(array)[d]);
        fprintf(stderr, " '%s'\n", ming_result_name(result, i));
        fwrite(ming_array_data(array), 1, ming_array_size(array), stdout);
    }
    if (ming_result_report(result)) fputs(ming_result_report(result), stderr);
}

static bool run(const char *path, char **words)
{
    Heard heard = {0};
    ming_context *ctx = ming_context_create();
    ming_context_set_handler(ctx, hear, &heard);
    bool is_design = is_folder(path);
    ming_module *module = is_design ? ming_load_design(ctx, path) : ming_load(ctx, path, NULL);
    ming_array *input = read_array(words);
    const ming_array *inputs[] = {input};
    ming_result *result = NULL;
    if (module && input)
        result =
            is_design ? ming_simulate(module, NULL, inputs, 1) : ming_run(module, NULL, inputs, 1);
    if (result) write_result(result);
    if (heard.errors > 0) fprintf(stderr, "%s\n", heard.last);
    bool ok = result != NULL;
    ming_result_destroy(result);
    ming_array_destroy(input);
    ming_module_destroy(module);
    ming_context_destroy(ctx);
    return ok;
}

static bool print(const char *path, const char *pipeline)
{
    Heard heard = {.prints = true};
    size_t size = 0;
    ming_context *ctx = ming_context_create();
    ming_context_set_handler(ctx, hear, &heard);
    ming_module *module = ming_load(ctx, path, NULL);
    ming_module *copy = module ? ming_module_clone(module) : NULL;
    bool ok = copy && ming_run_passes(copy, pipeline);
    char *text = ok ? ming_print(copy, false, &size) : NULL;
    if (text) fwrite(text, 1, size, stdout);
    ming_free(text);
    ming_module_destroy(copy);
    ming_module_destroy(module);
    ming_context_destroy(ctx);
    return ok;
}

static size_t failures, checks;

static void expect(Heard *heard, bool is_refused, const char *words)
{
    checks++;
    bool ok = is_refused && heard->errors > 0 && strstr(heard->last, words);
    if (!ok) {
        printf("expected '%s', got %zu errors, '%s'\n", words, heard->errors, heard->last);
        failures++;
    }
    heard->errors = 0;
    heard->last[0] = '\0';
}

static void misuse_options(ming_context *ctx, Heard *heard)
{
    ming_options *options = ming_options_create(ctx, "compile");
    expect(heard, !ming_options_create(ctx, "compil"), "did you mean 'compile'");
    expect(heard, !ming_options_set(options, "devcie", "zcu102"), "did you mean 'device'");
    expect(heard, !ming_options_set(options, "--clock", "fast"), "'fast' value invalid");
    expect(heard, !ming_options_set(options, "clock", NULL), "requires a value");
    expect(heard, !ming_options_set(options, "interface", "axi"), "one of axis, m_axi");
    ming_options_destroy(options);
}

static void misuse_page(Heard *heard, const ming_module *model, const ming_options *sim)
{
    ming_module *design = ming_compile(model, NULL, NULL);
    expect(heard, !ming_report_page(design, sim, NULL), "options of 'sim' are given");
    expect(heard, !ming_report_page(design, NULL, "/dev/null/x"), "cannot write '/dev/null/x'");
    ming_module_destroy(design);
}

static void misuse_compile(ming_context *ctx, Heard *heard, const ming_module *model)
{
    static const char *const wrong[][3] = {
        {"device", "zcu10", "there is no device 'zcu10'"},
        {"fps", "0", "--fps takes a positive number"},
        {"weights", "lost", "--weights takes rom"},
        {"quantize", "int8", "--quantize needs --calibrate"},
        {"top", "no name", "cannot be the name of a C++ function"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ming_options *options = ming_options_create(ctx, "compile");
        bool is_set = ming_options_set(options, wrong[i][0], wrong[i][1]);
        expect(heard, is_set && !ming_compile(model, options, NULL), wrong[i][2]);
        ming_options_destroy(options);
    }
    ming_options *sim = ming_options_create(ctx, "sim");
    expect(heard, !ming_compile(model, sim, NULL), "options of 'sim' are given");
    ming_options *report = ming_options_create(ctx, "report");
    expect(heard, !ming_options_set(report, "layout", "neat"), "one of auto, dot, own");
    expect(heard, !ming_compile(model, report, NULL), "options of 'report' are given");
    expect(heard, !ming_load(ctx, "x.onnx", report), "options of 'report' are given");
    expect(heard, !ming_report_page(model, report, NULL), "the module is no design");
    ming_options_destroy(report);
    misuse_page(heard, model, sim);
    expect(heard, !ming_load(ctx, "x.onnx", sim), "options of 'sim' are given");
    ming_options_destroy(sim);
    expect(heard, !ming_compile(model, NULL, "/dev/null/x"), "/dev/null");
    expect(heard, !ming_compile(model, NULL, ""), "cannot write to ''");
    expect(heard, !ming_report(model), "the module is no design");
    expect(heard, !ming_simulate(model, NULL, NULL, 0), "");
}

static void misuse_run(ming_context *ctx, Heard *heard, const ming_module *model)
{
    static const int64_t shape[] = {3};
    ming_array *array = ming_array_create('f', 4, shape, 1, NULL);
    const ming_array *arrays[] = {array, array, array, array, array, array, array, array};
    ming_options *options = ming_options_create(ctx, "run");
    expect(heard, !ming_run(model, NULL, arrays, 1), "shape (3,)");
    expect(heard, !ming_run(model, NULL, arrays, 8), "8 arrays are given");
    arrays[0] = NULL;
    expect(heard, !ming_run(model, NULL, arrays, 1), "input 0 is NULL");
    arrays[0] = array;
    bool is_set = ming_options_set(options, "function", "lost");
    expect(heard, is_set && !ming_run(model, options, arrays, 1), "no function 'lost'");
    expect(heard, !ming_ports(model, "lost"), "no function 'lost'");
    ming_options_destroy(options);
    ming_array_destroy(array);
}

static void check_arrays(void)
{
    static const int64_t negative[] = {2, -1}, huge[] = {INT64_MAX, 2};
    bool none = !ming_array_create('x', 4, negative, 0, NULL) &&
                !ming_array_create('f', 1, negative, 0, NULL) &&
                !ming_array_create('i', 3, negative, 0, NULL) &&
                !ming_array_create('f', 4, negative, 2, NULL) &&
                !ming_array_create('f', 4, huge, 2, NULL) &&
                !ming_array_create('f', 4, negative, 33, NULL);
    checks++;
    failures += !none;
    if (!none) puts("an array was made that cannot be");
}

/* What failed is handed on. */
static void check_nothing(void)
{
    size_t size = 0;
    bool none = !ming_module_clone(NULL) && !ming_run_passes(NULL, "") && !ming_ports(NULL, NULL) &&
                !ming_print(NULL, false, &size) && !ming_compile(NULL, NULL, NULL) &&
                !ming_report(NULL) && !ming_report_page(NULL, NULL, NULL) &&
                !ming_run(NULL, NULL, NULL, 0) && !ming_simulate(NULL, NULL, NULL, 0) &&
                !ming_options_set(NULL, "clock", "100") && !ming_array_data(NULL) &&
                ming_array_size(NULL) == 0 && !ming_array_shape(NULL) &&
                ming_array_rank(NULL) == 0 && !ming_array_kind(NULL) && !ming_array_item(NULL) &&
                ming_result_count(NULL) == 0 && !ming_result_array(NULL, 0) &&
                !ming_result_name(NULL, 0) && !ming_result_report(NULL);
    checks++;
    failures += !none;
    if (!none) puts("something came of nothing");
}

static bool misuse(const char *path)
{
    Heard heard = {0};
    static const char text[] = "func.func @f() {\n  %x = arith.lost 1\n}";
    ming_context *ctx = ming_context_create();
    ming_context_set_handler(ctx, hear, &heard);
    expect(&heard, !ming_load(ctx, "/nowhere.onnx", NULL), "cannot open '/nowhere.onnx'");
    expect(&heard, !ming_load_design(ctx, "/nowhere"), "/nowhere");
    expect(&heard, !ming_parse(ctx, text, strlen(text), "t.mir"), "t.mir:2:8: ");
    expect(&heard, !ming_import(ctx, "\xff\xff", 2, "x.onnx", NULL), "x.onnx");
    expect(&heard, !ming_check(ctx, "/nowhere.onnx", NULL), "cannot open");
    misuse_options(ctx, &heard);
    ming_module *model = ming_load(ctx, path, NULL);
    expect(&heard, !ming_run_passes(model, "builtin.module(lost)"), "lost");
    misuse_compile(ctx, &heard, model);
    misuse_run(ctx, &heard, model);
    check_arrays();
    check_nothing();
    char *found = ming_check(ctx, path, NULL);
    checks++;
    failures += !(found && strstr(found, "\"compiles\": true"));
    ming_free(found);
    ming_module_destroy(model);
    ming_context_set_handler(ctx, NULL, NULL);
    checks++;
    failures += ming_load(ctx, "/nowhere", NULL) != NULL;
    ming_context_destroy(ctx);
    ming_context_destroy(NULL);
    ming_module_destroy(NULL);
    ming_array_destroy(NULL);
    ming_result_destroy(NULL);
    ming_options_destroy(NULL);
    ming_free(NULL);
    printf("%zu checks, %zu failures\n", checks, failures);
    return failures == 0;
}

typedef struct Job {
    const char *path;
    char folder[4096];
    bool ok;
} Job;

static void *work(void *user)
{
    Job *job = user;
    job->ok = compile(job->path, job->folder, NULL, 0, false);
    return NULL;
}

static bool threads(const char *path, const char *folder)
{
    enum { JOBS = 2 };
    pthread_t ids[JOBS];
    Job jobs[JOBS];
    for (int i = 0; i < JOBS; i++) {
        jobs[i].path = path;
        snprintf(jobs[i].folder, sizeof jobs[i].folder, "%s/%d", folder, i);
        if (pthread_create(&ids[i], NULL, work, &jobs[i]) != 0) return false;
    }
    for (int i = 0; i < JOBS; i++) pthread_join(ids[i], NULL);
    return jobs[0].ok && jobs[1].ok;
}

int main(int argc, char **argv)
{
    bool ok = false;
    setlocale(LC_ALL, "");
    if (argc > 3 && strcmp(argv[1], "compile") == 0)
        ok = compile(argv[2], argv[3], argv + 4, argc - 4, true);
    else if (argc == 7 && strcmp(argv[1], "run") == 0)
        ok = run(argv[2], argv + 3);
    else if (argc == 4 && strcmp(argv[1], "print") == 0)
        ok = print(argv[2], argv[3]);
    else if (argc == 3 && strcmp(argv[1], "misuse") == 0)
        ok = misuse(argv[2]);
    else if (argc == 4 && strcmp(argv[1], "threads") == 0)
        ok = threads(argv[2], argv[3]);
    else
        fputs("library_test: wrong arguments\n", stderr);
    return ok ? 0 : 1;
}
