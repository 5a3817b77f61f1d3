/* ming engine: runs a program of an overlay in the simulator, on arrays, or on memories that are
 * files.
 * Tests: test/e2e/engine_check.py, lit/sim/engine */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/dialects.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "target/overlay/overlay.h"
#include "tools/engine/internal.h"

static void add_units(JsonWriter *json, const EngineResult *result)
{
    json_member_object(json, "busy");
    for (uint32_t u = 0; u < ENGINE_UNITS; u++)
        json_member_int(json, engine_unit_name(u), (int64_t)result->busy[u]);
    json_end_object(json);
}

/* {"cycles": …, "images": …, "busy": {…}, …, "commands": [{"op", "unit", "start", "end"}, …]} */
static void add_json(StrBuf *out, const EngineResult *result, int64_t images)
{
    JsonWriter json = {.out = out};
    json_begin_object(&json);
    json_member_int(&json, "cycles", (int64_t)result->cycles);
    if (images > 1) json_member_int(&json, "images", images);
    add_units(&json, result);
    json_member_int(&json, "loaded_bytes", (int64_t)result->loaded);
    json_member_int(&json, "stored_bytes", (int64_t)result->stored);
    json_member_int(&json, "products", (int64_t)result->products);
    json_member_array(&json, "commands");
    for (size_t i = 0; i < result->events.len; i++) {
        const EngineEvent *event = &result->events.data[i];
        json_write_line(&json, 2);
        json_begin_object(&json);
        json_member_string(&json, "op", op_name(event->op));
        json_member_string(&json, "unit", str_from(engine_unit_name(event->unit)));
        json_member_int(&json, "start", (int64_t)event->start);
        json_member_int(&json, "end", (int64_t)event->end);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    strbuf_add_char(out, '\n');
}

static void print_summary(const EngineResult *result, int64_t images)
{
    printf("%" PRIu64 " cycles", result->cycles);
    if (images > 1)
        printf(" for %lld images, %.1f for each", (long long)images,
               (double)result->cycles / (double)images);
    printf(", simulated; %" PRIu64 " bytes loaded, %" PRIu64 " stored, %" PRIu64 " products\n",
           result->loaded, result->stored, result->products);
    for (uint32_t u = 0; u < ENGINE_UNITS; u++)
        printf("  %-8s %12" PRIu64 " cycles busy, %5.1f%%\n", engine_unit_name(u), result->busy[u],
               100.0 * (double)result->busy[u] / (double)result->cycles);
}

static bool report(const EngineJob *job, Str name)
{
    const EngineFlags *flags = job->flags;
    StrBuf text = {0}, chart = {0};
    if (flags->json) add_json(&text, &job->result, job->images);
    if (flags->svg) engine_print_svg(&job->result, name, &chart);
    bool ok = (!flags->json || tool_write(job->tool, flags->json, strbuf_str(&text))) &&
              (!flags->svg || tool_write(job->tool, flags->svg, strbuf_str(&chart)));
    strbuf_free(&text);
    strbuf_free(&chart);
    bool is_taken = (flags->json && strcmp(flags->json, "-") == 0) ||
                    (flags->svg && strcmp(flags->svg, "-") == 0);
    if (!is_taken) print_summary(&job->result, job->images);
    return ok;
}

/* A module of text, or a file that begins as binary programs do. */
static bool read_program(EngineJob *job, const char *path)
{
    const char *reason = NULL;
    Str name = str_from(strcmp(path, "-") == 0 ? "<stdin>" : path);
    bool ok = file_read(&job->input, path, &reason) ||
              tool_error(job->tool, "error: cannot open input file '%s': %s", path, reason);
    bool is_binary = ok && overlay_is_binary(strbuf_str(&job->input));
    if (ok)
        job->module = is_binary ? overlay_read_program(job->ctx, strbuf_str(&job->input), name)
                                : parse_module(job->ctx, strbuf_str(&job->input), name, NULL);
    return job->module != NULL;
}

static bool simulate(EngineJob *job)
{
    const EngineFlags *flags = job->flags;
    const Op *program = overlay_find_program(job->module);
    const EngineOptions options = job_options(flags);
    if (!program || !job_fill_banks(job) || !job_open_ports(job)) return false;
    if (flags->banks) return job_write_banks(job, program);
    if (flags->results) return job_read_results(job);
    if (flags->after.len > 0) {
        if (job->frames > job->images)
            return tool_error(job->tool, "error: --after takes the frames of one run, not %lld",
                              (long long)job->frames);
        return job_read_after(job);
    }
    for (int64_t run = 0; run < job_run_count(job); run++) {
        engine_result_free(&job->result);
        if (!job_enter_run(job, run) ||
            !engine_run(program, &options, job->banks, job->bank_count, &job->result) ||
            !job_leave_run(job, run))
            return false;
    }
    return job_save_banks(job) && report(job, symbol_name(program)->str) && job_finish_outputs(job);
}

static bool run_engine(const Tool *tool, const EngineFlags *flags, const char *path)
{
    EngineJob *job = xcalloc(1, sizeof *job);
    job->tool = tool;
    job->flags = flags;
    job->frames = 1;
    job->ctx = context_create();
    dialects_register_all(job->ctx);
    bool ok = read_program(job, path) && simulate(job);
    diag_flush(job->ctx);
    if (job->module) op_erase(job->module);
    for (size_t i = 0; i < job->bank_count; i++) free(job->banks[i].bytes);
    for (size_t i = 0; i < job->inputs.len; i++) engine_port_free(&job->inputs.data[i]);
    for (size_t i = 0; i < job->outputs.len; i++) engine_port_free(&job->outputs.data[i]);
    engine_host_free(&job->host);
    vec_free(&job->inputs);
    vec_free(&job->outputs);
    engine_result_free(&job->result);
    context_destroy(job->ctx);
    strbuf_free(&job->input);
    free(job);
    return ok;
}

/* Whether options that leave out a simulation, or its numbers, ask for nothing of it. */
static bool check_modes(const Tool *tool, const EngineFlags *flags)
{
    bool runs = !flags->banks && !flags->results && flags->after.len == 0;
    if (!runs && (flags->json || flags->svg || flags->dumps.len > 0))
        return tool_error(tool,
                          "error: --json, --svg and --dump are of a simulation, which --banks, "
                          "--after and --results leave out");
    if (flags->banks &&
        (flags->outputs.len > 0 || job_has_checks(flags) || flags->after.len > 0 || flags->results))
        return tool_error(tool,
                          "error: --banks is in front of a run; --output, --expected, --labels, "
                          "--after and --results are behind it");
    if (flags->results && (flags->inputs.len > 0 || flags->after.len > 0))
        return tool_error(tool,
                          "error: --results has the outputs of all frames, and takes no --input "
                          "and no --after");
    if (flags->outputs.len == 0 && !job_has_checks(flags) &&
        (flags->results || flags->after.len > 0))
        return tool_error(tool,
                          "error: --after and --results need --output, --expected or --labels for "
                          "what they take");
    bool has_arrays =
        flags->inputs.len + flags->outputs.len + flags->dumps.len > 0 || job_has_checks(flags);
    return !flags->is_timed_only || (runs && !has_arrays) ||
           tool_error(tool, "error: --cycles-only computes nothing, so it takes no arrays");
}

static bool check_flags(const Tool *tool, const EngineFlags *flags)
{
    enum { MOST = 1000000000 };
    if (flags->rate < 1 || flags->rate > MOST)
        return tool_error(tool, "error: --rate takes 1 to %d bytes in 1,000 cycles", MOST);
    if (flags->latency < 0 || flags->latency > MOST || flags->restart < 0 || flags->restart > MOST)
        return tool_error(tool, "error: --latency and --restart take 0 to %d cycles", MOST);
    if (flags->max_cycles < 0) return tool_error(tool, "error: --max-cycles takes cycles, or 0");
    return tool_check_tolerance(tool, &flags->checks) && check_modes(tool, flags);
}

int command_engine(int argc, char **argv)
{
    const EngineOptions defaults = ENGINE_DEFAULTS;
    EngineFlags engine = {.rate = (int64_t)defaults.rate,
                          .latency = (int64_t)defaults.latency,
                          .restart = (int64_t)defaults.restart,
                          .max_cycles = (int64_t)defaults.max_cycles};
    const Flag flags[] = {
        {"input", FLAG_TEXTS, &engine.inputs, "file.npy,...",
         "Array of each input that the module has, in order; rows x columns x channels", NULL},
        {"output", FLAG_TEXTS, &engine.outputs, "file.npy,...", "Write the outputs, in order",
         NULL},
        CHECK_FLAGS(&engine.checks),
        {"memory", FLAG_TEXTS, &engine.memories, "bank:file",
         "What a bank of external memory holds; may be repeated", NULL},
        {"space", FLAG_TEXTS, &engine.spaces, "bank:bytes", "Bytes that a bank has at least, zeros",
         NULL},
        {"dump", FLAG_TEXTS, &engine.dumps, "bank:file",
         "Write what a bank holds at the end; may be repeated", NULL},
        {"banks", FLAG_TEXT, &engine.banks, "dir",
         "In place of simulating, write program.bin and bank0.bin, bank1.bin, ... for an engine "
         "of ming overlay, and host.txt and frames.bin for its host",
         NULL},
        {"results", FLAG_TEXT, &engine.results, "file",
         "In place of simulating, take the outputs from what such a host has written", NULL},
        {"after", FLAG_TEXTS, &engine.after, "bank:file",
         "In place of simulating, take the outputs from what a bank held after such a run", NULL},
        {"rate", FLAG_INT, &engine.rate, "n",
         "Bytes that a bank moves in 1,000 cycles, default 64000, a beat a cycle", NULL},
        {"latency", FLAG_INT, &engine.latency, "cycles",
         "From a command's request to the first beat, default 64", NULL},
        {"restart", FLAG_INT, &engine.restart, "cycles",
         "What each further run of a command costs, default 4", NULL},
        {"max-cycles", FLAG_INT, &engine.max_cycles, "n",
         "Cycles that are simulated at most, default 268435456; 0: no limit", NULL},
        {"cycles-only", FLAG_SWITCH, &engine.is_timed_only, NULL,
         "Count cycles and bytes, and compute nothing: no outputs, no products, no hazards", NULL},
        {"json", FLAG_TEXT, &engine.json, "file",
         "Write cycles and all commands as JSON; - is standard output, in place of the text", NULL},
        {"svg", FLAG_TEXT, &engine.svg, "file.svg",
         "Write a timeline of the units; - is standard output, in place of the text", NULL},
    };
    const Tool tool = {
        .name = "ming engine",
        .summary = "ming engine: simulates a program of an overlay, numbers and cycles",
        .usage = "PROGRAM(.mir|.bin) [options]",
        .flags = flags,
        .flag_count = COUNT_OF(flags),
    };
    const char *path = NULL;
    ArgsResult args = tool_parse_one(&tool, argc, argv, "program", &path);
    bool ok = args == ARGS_DONE ||
              (args == ARGS_RUN && check_flags(&tool, &engine) && run_engine(&tool, &engine, path));
    vec_free(&engine.memories);
    vec_free(&engine.spaces);
    vec_free(&engine.dumps);
    vec_free(&engine.after);
    vec_free(&engine.inputs);
    vec_free(&engine.outputs);
    vec_free(&engine.checks.expected);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
