/* ming sim DIR|FILE: the emithls level of a compiled design, cycle by cycle.
 *
 *   load ─▶ design (loops, II, accesses) ─▶ frames: timing, and values where inputs are given
 *        ─▶ table, --json, --vcd, --svg, outputs
 *
 * Tests: lit/tools/ming-sim.mir, lit/tools/ming-sim-invalid.mir, test/e2e/sizing_check.py */
#include <stdlib.h>
#include <string.h>

#include "dialects/dialects.h"
#include "dialects/sys/sys.h"
#include "driver/simulate/simulate.h"
#include "driver/trace/trace.h"
#include "ir/asm/print/print.h"
#include "ir/support/support.h"
#include "sim/hls/hls.h"
#include "tools/internal.h"

enum { DEFAULT_CHANGES = 4000000 };

typedef struct SimFlags {
    Texts inputs, outputs;
    OutputChecks checks;
    bool timing_only, is_wide;
    SimulationSettings settings;
    const char *json, *vcd, *svg, *trace;
    Texts vcd_signals;
    int64_t vcd_from, vcd_to, vcd_limit;
} SimFlags;

/* What the hooks are given. */
typedef struct SimRun {
    const Tool *tool;
    const SimFlags *flags;
    Simulation simulation;
    HlsTrace *trace;      /* NULL: not asked for */
    DesignTrace *tensors; /* NULL: not asked for */
} SimRun;

static void report_progress(void *user, int64_t frames, int64_t cycle)
{
    const SimRun *s = user;
    progress_set(s->tool->progress, "%lld frames done, cycle %lld", (long long)frames,
                 (long long)cycle);
}

static bool check_waveform_flags(const Tool *tool, const SimFlags *flags)
{
    bool has_limits = flags->vcd_from != 0 || flags->vcd_to != LIMIT_NOT_GIVEN ||
                      flags->vcd_limit != DEFAULT_CHANGES || flags->vcd_signals.len > 0;
    int64_t to = flags->vcd_to == LIMIT_NOT_GIVEN ? INT64_MAX : flags->vcd_to;
    if (has_limits && !flags->vcd)
        return tool_error(tool, "error: --vcd-from, --vcd-to, --vcd-signals and --vcd-limit say "
                                "what --vcd=FILE writes; it is not given");
    if (flags->vcd_from < 0 || to <= flags->vcd_from)
        return tool_error(tool, "error: --vcd-from and --vcd-to take cycles, the second one later "
                                "than the first");
    return flags->vcd_limit >= 0 ||
           tool_error(tool, "error: --vcd-limit takes a number of changes, or 0 for all");
}

static bool check_flags(const Tool *tool, const SimFlags *flags)
{
    bool gives_frames = flags->settings.frames != LIMIT_NOT_GIVEN;
    if ((gives_frames && flags->settings.frames < 1) || flags->settings.clock < 0)
        return tool_error(tool, "error: --frames and --clock take a positive number");
    if (gives_frames && flags->inputs.len > 0)
        return tool_error(tool, "error: --input says how many frames there are, --frames too");
    bool checks = flags->checks.expected.len > 0 || flags->checks.labels;
    if (checks && (flags->inputs.len == 0 || flags->timing_only))
        return tool_error(tool, "error: --expected and --labels need the data of --input");
    if (!tool_check_tolerance(tool, &flags->checks)) return false;
    if (flags->trace && (flags->inputs.len == 0 || flags->timing_only))
        return tool_error(tool, "error: --trace needs the data of --input");
    if (flags->outputs.len > 0 && (flags->inputs.len == 0 || flags->timing_only))
        return tool_error(tool, "error: --output needs the data of --input");
    if (flags->settings.seed >= 0 && !flags->settings.input_rate && !flags->settings.output_rate)
        return tool_error(tool, "error: --seed pauses ports at random; it needs --input-rate or "
                                "--output-rate");
    if (flags->settings.max_events < 0)
        return tool_error(tool, "error: --max-events takes a number of reads and writes, or 0");
    return check_waveform_flags(tool, flags);
}

static bool write_results(const SimRun *s)
{
    const Simulation *sim = &s->simulation;
    StrBuf text = {0};
    bool ok = true;
    hls_sim_print_table(sim->design, sim->sim, s->flags->is_wide, &text);
    if (!s->flags->json || strcmp(s->flags->json, "-") != 0) /* which is all of the output then */
        fwrite(text.data, 1, text.len, stdout);
    strbuf_clear(&text);
    if (s->flags->json) {
        hls_sim_print_json(sim->design, sim->sim, &text);
        ok = tool_write(s->tool, s->flags->json, strbuf_str(&text));
    }
    if (ok && s->flags->vcd) {
        strbuf_clear(&text);
        hls_sim_trace_print_vcd(s->trace, &text);
        ok = tool_write(s->tool, s->flags->vcd, strbuf_str(&text));
    }
    if (ok && s->flags->svg) {
        strbuf_clear(&text);
        hls_sim_trace_print_svg(s->trace, sim->sim, sim->clock, &text);
        ok = tool_write(s->tool, s->flags->svg, strbuf_str(&text));
    }
    for (uint32_t i = 0; ok && i < sim->outputs.count; i++) {
        strbuf_clear(&text);
        if (!sim->outputs.items[i].path) continue;
        npy_print(&sim->outputs.items[i].npy, &text);
        ok = tool_write(s->tool, sim->outputs.items[i].path, strbuf_str(&text));
    }
    strbuf_free(&text);
    return ok;
}

static void state_hook(void *user, uint32_t process, HlsState state, int64_t from, int64_t to)
{
    hls_sim_trace_state(((SimRun *)user)->trace, process, state, from, to);
}

static void level_hook(void *user, uint32_t stream, int64_t time, int64_t level)
{
    hls_sim_trace_level(((SimRun *)user)->trace, stream, time, level);
}

static bool init_trace(SimRun *s)
{
    const SimFlags *flags = s->flags;
    if (!flags->vcd && !flags->svg) return true;
    const HlsTraceOptions options = {.keeps_changes = flags->vcd != NULL,
                                     .from = flags->vcd_from,
                                     .to = flags->vcd_to == LIMIT_NOT_GIVEN ? 0 : flags->vcd_to,
                                     .most_changes = flags->vcd_limit};
    s->trace = hls_sim_trace_create(s->simulation.design, &options);
    s->simulation.options.hooks.state = state_hook;
    s->simulation.options.hooks.level = level_hook;
    for (size_t i = 0; i < flags->vcd_signals.len; i++) {
        Suggestion near = {.wanted = str_from(flags->vcd_signals.data[i])};
        StrBuf text = {0};
        if (hls_sim_trace_choose(s->trace, near.wanted, &near)) continue;
        suggestion_print(&near, &text);
        tool_error(s->tool, "error: --vcd-signals: no process and no FIFO is called '%.*s'%s",
                   STR_ARG(near.wanted), text.data ? text.data : "");
        strbuf_free(&text);
        return false;
    }
    return true;
}

/* Ends the recording. False: the run is over before the waveform begins. */
static bool finish_trace(const SimRun *s)
{
    if (!s->trace) return true;
    hls_sim_trace_finish(s->trace);
    int64_t end = hls_sim_trace_end(s->trace), cut = hls_sim_trace_cut(s->trace);
    if (s->flags->vcd && s->flags->vcd_from >= end)
        return tool_error(s->tool, "error: --vcd-from=%lld: the run ends in cycle %lld",
                          (long long)s->flags->vcd_from, (long long)end);
    if (cut != HLS_UNKNOWN)
        fprintf(stderr,
                "%s: warning: the waveform ends in cycle %lld of %lld, before it has more than "
                "%lld changes; --vcd-from, --vcd-to and --vcd-signals choose others, "
                "--vcd-limit=0 writes all\n",
                s->tool->name, (long long)cut, (long long)end, (long long)s->flags->vcd_limit);
    return true;
}

/* Without back-pressure a word that finds no room is lost, where the simulated writer waits. */
static void warn_of_losses(const SimRun *s)
{
    const HlsDesign *design = s->simulation.design;
    for (uint32_t i = 0; i < design->streams.len; i++) {
        const HlsStream *stream = &design->streams.data[i];
        const int64_t full = stream->op ? hls_sim_fifo(s->simulation.sim, i)->full_cycles : 0;
        if (full > 0 && str_eq_c(sys_protocol(stream->op), "udp"))
            fprintf(stderr,
                    "%s: warning: link '%.*s' is full for %lld cycles; by udp, words may be lost "
                    "there that wait here\n",
                    s->tool->name, STR_ARG(stream->name), (long long)full);
    }
}

static bool open_data(SimRun *s)
{
    Simulation *sim = &s->simulation;
    return s->flags->inputs.len == 0 || (simulation_open_data(sim, !s->flags->timing_only) &&
                                         driver_ports_assign(&sim->inputs, &s->flags->inputs) &&
                                         driver_ports_assign(&sim->outputs, &s->flags->outputs) &&
                                         driver_ports_read(&sim->inputs));
}

static bool see_tensors(void *user, int64_t turn, Array *const *arrays)
{
    const SimRun *s = user;
    StrBuf why = {0};
    bool ok = trace_design_turn(s->tensors, turn, arrays, &why) ||
              tool_error(s->tool, "error: --trace: %s", why.data);
    strbuf_free(&why);
    return ok;
}

static bool init_tensors(SimRun *s)
{
    Simulation *sim = &s->simulation;
    if (!s->flags->trace) return true;
    s->tensors = trace_create_design(sim->design, sim->values, sim->inputs.frames);
    sim->seen = see_tensors;
    sim->user = s;
    return s->tensors != NULL;
}

static bool write_tensors(const SimRun *s)
{
    StrBuf why = {0};
    size_t traced, fused;
    if (!s->tensors) return true;
    bool ok = trace_write_design(s->tensors, s->flags->trace, &why) ||
              tool_error(s->tool, "error: %s", why.data);
    strbuf_free(&why);
    trace_count_design(s->tensors, &traced, &fused);
    if (ok)
        printf("%s: %zu tensors of the network; %zu are of no stream (\"fused\" in index.json)\n",
               s->flags->trace, traced, fused);
    return ok;
}

/* What differs is told before arrays are written. */
static bool finish(const SimRun *s)
{
    const Simulation *sim = &s->simulation;
    OutputVerdict verdict =
        tool_check_outputs(s->tool, &sim->outputs, sim->inputs.frames, &s->flags->checks);
    return verdict != OUTPUTS_UNKNOWN && write_tensors(s) && write_results(s) &&
           verdict == OUTPUTS_RIGHT;
}

static bool simulate(SimRun *s, const Op *module)
{
    s->simulation.settings = &s->flags->settings;
    s->simulation.errors = tool_errors(s->tool);
    bool ok = simulation_begin(&s->simulation, module);
    s->simulation.options.hooks = (HlsHooks){.user = s, .progress = report_progress};
    ok = ok && open_data(s) && init_trace(s) && init_tensors(s) && simulation_run(&s->simulation);
    progress_stop(s->tool->progress);
    if (ok) warn_of_losses(s);
    ok = ok && finish_trace(s) && finish(s);
    hls_sim_trace_free(s->trace);
    trace_free_design(s->tensors);
    simulation_free(&s->simulation);
    return ok;
}

static bool sim_file(const Tool *tool, const SimFlags *flags, const char *given)
{
    StrBuf bytes = {0}, path = {0};
    const char *reason = NULL;
    SimRun s = {.tool = tool, .flags = flags};
    bool ok = simulation_design_path(given, tool_errors(tool), &path) &&
              (file_read(&bytes, path.data, &reason) ||
               tool_error(tool, "error: cannot open '%s': %s", path.data, reason));
    if (ok) {
        Context *ctx = context_create();
        dialects_register_all(ctx);
        diag_show_op(ctx, false);
        progress_start(tool->progress, ctx, "reading the design");
        Op *module = driver_load_model(ctx, path.data, strbuf_str(&bytes), &(ModelOptions){0});
        ok = module && simulate(&s, module);
        progress_stop(tool->progress);
        diag_flush(ctx);
        if (module) op_erase(module);
        context_destroy(ctx);
    }
    strbuf_free(&bytes);
    strbuf_free(&path);
    return ok;
}

int command_sim(int argc, char **argv)
{
    SimFlags sim = {
        .settings = SIMULATION_DEFAULTS, .vcd_to = LIMIT_NOT_GIVEN, .vcd_limit = DEFAULT_CHANGES};
    const Flag flags[] = {
        {"input", FLAG_TEXTS, &sim.inputs, "[name=]file.npy",
         "Array of an input, in order unless named; without any only timing is simulated", NULL},
        {"output", FLAG_TEXTS, &sim.outputs, "[name=]file.npy", "Where an output is written", NULL},
        CHECK_FLAGS(&sim.checks),
        {"timing-only", FLAG_SWITCH, &sim.timing_only, NULL, "Skip the values", NULL},
        {"frames", FLAG_INT, &sim.settings.frames, "n",
         "Frames to simulate, default until the state repeats", NULL},
        {"max-events", FLAG_INT, &sim.settings.max_events, "n",
         "Reads and writes of words after which it stops, default 2^30; 0: no limit", NULL},
        {"clock", FLAG_INT, &sim.settings.clock, "MHz",
         "Clock of the latency model, default the design's", NULL},
        {"input-rate", FLAG_TEXT, &sim.settings.input_rate, "x", "Words per cycle that inputs give",
         NULL},
        {"output-rate", FLAG_TEXT, &sim.settings.output_rate, "x",
         "Words per cycle that outputs take", NULL},
        {"seed", FLAG_INT, &sim.settings.seed, "n", "Pause ports at random instead of regularly",
         NULL},
        {"wide", FLAG_SWITCH, &sim.is_wide, NULL, "Names of the table in full, however wide", NULL},
        {"perturb", FLAG_TEXT, &sim.settings.perturb, "+1|x1.5+8|random:SEED|…",
         "Let pipelines be deeper than predicted, and FIFOs slower (docs/simulation.md)", NULL},
        {"pipeline-style", FLAG_CHOICE, &sim.settings.style, "stalled|flushing",
         "Let pipelines stall as a whole, or flush; default as the design was compiled", NULL},
        {"json", FLAG_TEXT, &sim.json, "file",
         "Write the numbers as JSON; - is standard output, in place of the table", NULL},
        {"vcd", FLAG_TEXT, &sim.vcd, "file", "Write states and FIFO levels as a waveform", NULL},
        {"vcd-from", FLAG_INT, &sim.vcd_from, "cycle", "First cycle of the waveform, default 0",
         NULL},
        {"vcd-to", FLAG_INT, &sim.vcd_to, "cycle",
         "Cycle before which the waveform ends, default the run's end", NULL},
        {"vcd-signals", FLAG_TEXTS, &sim.vcd_signals, "name",
         "Processes and FIFOs in the waveform; * stands for any text; default all", NULL},
        {"vcd-limit", FLAG_INT, &sim.vcd_limit, "n",
         "Changes after which the waveform ends, default 4000000; 0: all", NULL},
        {"trace", FLAG_TEXT, &sim.trace, "dir",
         "Write the tensors of the network that streams and ports carry to .npy files, with an "
         "index.json, as 'ming run --trace' does",
         NULL},
        {"svg", FLAG_TEXT, &sim.svg, "file", "Draw what processes do over time", NULL},
    };
    Progress progress = {0};
    const Tool tool = {
        .name = "ming sim",
        .progress = &progress,
        .summary = "ming sim: simulates a compiled design cycle by cycle",
        .usage = "DIR|FILE.mir [--input=x.npy… --output=y.npy…] [options]",
        .flags = flags,
        .flag_count = COUNT_OF(flags),
    };
    const char *path = NULL;
    ArgsResult args = tool_parse_one(&tool, argc, argv, "design", &path);
    bool ok = args == ARGS_DONE ||
              (args == ARGS_RUN && check_flags(&tool, &sim) && sim_file(&tool, &sim, path));
    vec_free(&sim.inputs);
    vec_free(&sim.outputs);
    vec_free(&sim.checks.expected);
    vec_free(&sim.vcd_signals);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
