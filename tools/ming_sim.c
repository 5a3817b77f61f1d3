/* ming sim DIR|FILE: the emithls level of a compiled design, cycle by cycle.
 *
 *   load ─▶ design (loops, II, accesses) ─▶ frames: timing, and values where inputs are given
 *        ─▶ table, --json, --vcd, --svg, outputs
 *
 * Tests: lit/tools/ming-sim.mir, lit/tools/ming-sim-invalid.mir, test/e2e/sizing_check.py */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dialects/dfg/dfg.h"
#include "dialects/dialects.h"
#include "dialects/emithls/emithls.h"
#include "driver/driver.h"
#include "emit/emit.h"
#include "ir/asm/print/print.h"
#include "ir/support/support.h"
#include "schedule/schedule.h"
#include "sim/design/design.h"
#include "sim/hls/hls.h"
#include "target/fifo/fifo.h"
#include "tools/internal.h"

enum { MAX_FRAMES = 256, DEFAULT_CHANGES = 4000000, DEFAULT_EVENTS = 1 << 30 };

typedef struct SimFlags {
    Texts inputs, outputs;
    bool timing_only, is_wide;
    int64_t frames, clock, seed, max_events;
    const char *json, *vcd, *svg, *input_rate, *output_rate, *perturb, *style;
    Texts vcd_signals;
    int64_t vcd_from, vcd_to, vcd_limit;
} SimFlags;

typedef struct Simulation {
    const Tool *tool;
    const SimFlags *flags;
    HlsDesign *design;
    HlsValues *values; /* NULL: timing only */
    HlsSim *sim;
    HlsTrace *trace; /* NULL: not asked for */
    int64_t clock;   /* MHz */
    HlsSimOptions options;
    PortFiles inputs, outputs;
    uint32_t *input_args, *output_args; /* arguments of the top function */
} Simulation;

/* The only .mir file of a directory. */
static bool find_module(const Tool *tool, const char *dir, StrBuf *path)
{
    const struct dirent *entry;
    int found = 0;
    StrBuf why = {0};
    bool is_whole = emit_check_whole(dir, &why) || tool_error(tool, "error: %s", why.data);
    strbuf_free(&why);
    DIR *folder = is_whole ? opendir(dir) : NULL;
    if (!folder)
        return is_whole && tool_error(tool, "error: cannot open '%s': %s", dir, strerror(errno));
    while ((entry = readdir(folder)))
        if (str_ends_with(str_from(entry->d_name), ".mir")) {
            strbuf_clear(path);
            strbuf_printf(path, "%s/%s", dir, entry->d_name);
            found++;
        }
    closedir(folder);
    return found == 1 || tool_error(tool, "error: '%s' has %s .mir file; 'ming compile' writes one",
                                    dir, found ? "more than one" : "no");
}

static bool module_path(const Tool *tool, const char *given, StrBuf *path)
{
    struct stat status;
    if (stat(given, &status) == 0 && S_ISDIR(status.st_mode)) return find_module(tool, given, path);
    strbuf_add_c(path, given);
    return true;
}

static uint32_t argument_count(const Simulation *s)
{
    return region_entry(op_region(s->design->top, 0))->arg_count;
}

/* Boundaries of the design's inputs or outputs, as driver_ports_init has them for functions. */
static bool init_ports(Simulation *s, bool is_input, PortFiles *ports, uint32_t **numbers)
{
    const HlsDesign *design = s->design;
    const Attr *all = op_attr(design->top, DFG_ATTR_PORT_ATTRS),
               *names = op_attr(design->top, EMITHLS_ATTR_ARG_NAMES);
    uint32_t count = argument_count(s);
    *ports = (PortFiles){
        .errors = tool_errors(s->tool), .what = is_input ? "input" : "output", .frames = 1};
    ports->items = xcalloc(count, sizeof *ports->items);
    *numbers = xcalloc(count, sizeof **numbers);
    for (uint32_t i = 0; i < count; i++) {
        const Type *frame = design_argument_frame(design, i);
        if (design_argument_direction(design, i) != (is_input ? HLS_DATA_IN : HLS_DATA_OUT))
            continue;
        if (!frame)
            return op_error(design->top,
                            "cannot be simulated with data: port '%.*s' has no " EMITHLS_ATTR_FRAME,
                            STR_ARG(names->u.array.items[i]->u.string));
        (*numbers)[ports->count] = i;
        if (!boundary_init(design->top, frame, all->u.array.items[i],
                           &ports->items[ports->count++].boundary))
            return false;
    }
    return true;
}

static bool open_data(Simulation *s)
{
    return init_ports(s, true, &s->inputs, &s->input_args) &&
           init_ports(s, false, &s->outputs, &s->output_args) &&
           driver_ports_assign(&s->inputs, &s->flags->inputs) &&
           driver_ports_assign(&s->outputs, &s->flags->outputs) && driver_ports_read(&s->inputs);
}

static bool leave_outputs(Simulation *s, int64_t frame, Array *const *arrays)
{
    StrBuf why = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->outputs.count; i++)
        ok = boundary_leave(&s->outputs.items[i].boundary, arrays[s->output_args[i]], frame,
                            s->inputs.frames, &s->outputs.items[i].npy, &why);
    if (!ok) tool_error(s->tool, "error: %s", why.data);
    strbuf_free(&why);
    return ok;
}

/* last: no other frame follows. */
static bool run_to(const Simulation *s, HlsSim *sim, const HlsSimOptions *options, int64_t frames,
                   bool last)
{
    if (hls_sim_run(sim, frames) && (!last || hls_sim_drain(sim))) return true;
    if (hls_sim_is_exhausted(sim))
        return tool_error(s->tool,
                          "error: stopped in frame %lld after %lld reads and writes; "
                          "--max-events=N simulates up to N, 0 without a limit",
                          (long long)frames, (long long)hls_sim_events(sim));
    return !hls_sim_was_stopped(sim) && hls_sim_explain_deadlock(s->design, sim, options, frames);
}

static bool run_data_frame(Simulation *s, HlsSim *sim, const HlsSimOptions *options, int64_t frame)
{
    uint32_t count = argument_count(s);
    Array **arrays = xcalloc(count, sizeof *arrays), **given = xcalloc(count, sizeof *given);
    bool ok = driver_ports_enter(&s->inputs, frame, given);
    for (uint32_t i = 0; i < s->inputs.count; i++) arrays[s->input_args[i]] = given[i];
    for (uint32_t i = 0; ok && i < s->outputs.count; i++) {
        uint32_t arg = s->output_args[i];
        arrays[arg] = array_new(design_argument_frame(s->design, arg));
        ok = arrays[arg] != NULL;
    }
    if (ok) hls_sim_values_begin_frame(s->values, arrays);
    ok = ok && run_to(s, sim, options, frame + 1, false);
    if (ok) hls_sim_values_end_frame(s->values);
    ok = ok && leave_outputs(s, frame, arrays);
    for (uint32_t i = 0; i < count; i++) array_unref(arrays[i]);
    free(arrays);
    free(given);
    return ok;
}

/* Whether the interval is known after so many frames. Deep FIFOs take long to fill where processes
 * are nearly as fast as the slowest one; then it is proven without following them. */
static bool knows_interval(const Simulation *s, int64_t frames)
{
    enum { FEW = 16 };
    if (hls_sim_period(s->sim).frames > 0 || s->options.is_random) return true;
    bool is_full_rate =
        s->options.input_rate == HLS_FULL_RATE && s->options.output_rate == HLS_FULL_RATE;
    if (frames != FEW || !is_full_rate) return false;
    int64_t best = fifo_best_interval(s->design);
    int64_t *depths = xcalloc(s->design->streams.len, sizeof *depths);
    for (size_t i = 0; i < s->design->streams.len; i++)
        depths[i] = s->design->streams.data[i].depth;
    bool keeps = fifo_keeps_interval(s->design, depths, best);
    free(depths);
    if (keeps) hls_sim_know_interval(s->sim, best);
    return keeps;
}

/* So many frames as there is data for, as were asked for, or until they repeat. */
static bool run_frames(Simulation *s)
{
    int64_t wanted = s->flags->inputs.len > 0 ? s->inputs.frames : s->flags->frames; /* or none */
    int64_t most = wanted > 0 ? wanted : MAX_FRAMES;
    bool is_last = false;
    for (int64_t frame = 1; !is_last; frame++) {
        if (!run_to(s, s->sim, &s->options, frame, false)) return false;
        is_last = frame == most || (wanted < 0 && knows_interval(s, frame));
        if (is_last && !run_to(s, s->sim, &s->options, frame, true)) return false;
    }
    hls_sim_finish(s->sim);
    return true;
}

static bool values_hook(void *user, uint32_t process, uint32_t loop, int64_t until)
{
    return hls_sim_values_advance(((Simulation *)user)->values, process, loop, until);
}

/* Values do not depend on timing, so a simulation of their own runs frame by frame. */
static bool run_data(Simulation *s)
{
    const HlsSimOptions options = {
        .drains = true,
        .hooks = {.user = s, .values = values_hook, .progress = s->options.hooks.progress}};
    HlsSim *sim = hls_sim_create(s->design, &options);
    bool ok = true;
    for (int64_t frame = 0; ok && frame < s->inputs.frames; frame++)
        ok = run_data_frame(s, sim, &options, frame);
    hls_sim_free(sim);
    return ok;
}

static void report_progress(void *user, int64_t frames, int64_t cycle)
{
    const Simulation *s = user;
    progress_set(s->tool->progress, "%lld frames done, cycle %lld", (long long)frames,
                 (long long)cycle);
}

/* Words per cycle, as words per million cycles. */
static bool read_rate(const Tool *tool, const char *name, const char *text, int64_t *out)
{
    char *end = NULL;
    double rate = text ? strtod(text, &end) : 1;
    *out = HLS_FULL_RATE;
    if (!text) return true;
    if (end == text || *end || !(rate > 0 && rate <= 1) || rate * HLS_FULL_RATE < 1)
        return tool_error(tool, "error: --%s takes words per cycle, above 0 and at most 1", name);
    *out = (int64_t)(rate * HLS_FULL_RATE);
    return true;
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
    bool gives_frames = flags->frames != LIMIT_NOT_GIVEN;
    if ((gives_frames && flags->frames < 1) || flags->clock < 0)
        return tool_error(tool, "error: --frames and --clock take a positive number");
    if (gives_frames && flags->inputs.len > 0)
        return tool_error(tool, "error: --input says how many frames there are, --frames too");
    if (flags->outputs.len > 0 && (flags->inputs.len == 0 || flags->timing_only))
        return tool_error(tool, "error: --output needs the data of --input");
    if (flags->seed >= 0 && !flags->input_rate && !flags->output_rate)
        return tool_error(tool, "error: --seed pauses ports at random; it needs --input-rate or "
                                "--output-rate");
    if (flags->max_events < 0)
        return tool_error(tool, "error: --max-events takes a number of reads and writes, or 0");
    return check_waveform_flags(tool, flags);
}

static bool init_options(Simulation *s)
{
    s->options.is_random = s->flags->seed >= 0;
    s->options.seed = (uint64_t)s->flags->seed;
    s->options.max_events = s->flags->max_events;
    s->options.hooks = (HlsHooks){.user = s, .progress = report_progress};
    return read_rate(s->tool, "input-rate", s->flags->input_rate, &s->options.input_rate) &&
           read_rate(s->tool, "output-rate", s->flags->output_rate, &s->options.output_rate);
}

/* Makes the design's hardware later than predicted, as --perturb says. */
static bool perturb(const Simulation *s)
{
    HlsPerturbation perturbation;
    StrBuf why = {0};
    if (!s->flags->perturb) return true;
    bool ok = design_parse_perturbation(str_from(s->flags->perturb), &perturbation, &why) ||
              tool_error(s->tool, "error: --perturb: %s", why.data);
    strbuf_free(&why);
    if (ok) design_perturb(s->design, &perturbation);
    return ok;
}

/* Lets pipelines stall or flush, as --pipeline-style says. */
static bool set_style(const Simulation *s)
{
    return !s->flags->style ||
           design_set_flushing(s->design, strcmp(s->flags->style, "flushing") == 0);
}

static bool write_text(const Tool *tool, const char *path, const StrBuf *text)
{
    const char *reason = NULL;
    if (strcmp(path, "-") == 0) return fwrite(text->data, 1, text->len, stdout) == text->len;
    return file_write(path, strbuf_str(text), &reason) ||
           tool_error(tool, "error: cannot write '%s': %s", path, reason);
}

static bool write_results(Simulation *s)
{
    StrBuf text = {0};
    bool ok = true;
    hls_sim_print_table(s->design, s->sim, s->flags->is_wide, &text);
    if (!s->flags->json || strcmp(s->flags->json, "-") != 0) /* which is all of the output then */
        fwrite(text.data, 1, text.len, stdout);
    strbuf_clear(&text);
    if (s->flags->json) {
        hls_sim_print_json(s->design, s->sim, &text);
        ok = write_text(s->tool, s->flags->json, &text);
    }
    if (ok && s->flags->vcd) {
        strbuf_clear(&text);
        hls_sim_trace_print_vcd(s->trace, &text);
        ok = write_text(s->tool, s->flags->vcd, &text);
    }
    if (ok && s->flags->svg) {
        strbuf_clear(&text);
        hls_sim_trace_print_svg(s->trace, s->sim, s->clock, &text);
        ok = write_text(s->tool, s->flags->svg, &text);
    }
    for (uint32_t i = 0; ok && i < s->outputs.count; i++) {
        strbuf_clear(&text);
        if (!s->outputs.items[i].path) continue;
        npy_print(&s->outputs.items[i].npy, &text);
        ok = write_text(s->tool, s->outputs.items[i].path, &text);
    }
    strbuf_free(&text);
    return ok;
}

static void state_hook(void *user, uint32_t process, HlsState state, int64_t from, int64_t to)
{
    hls_sim_trace_state(((Simulation *)user)->trace, process, state, from, to);
}

static void level_hook(void *user, uint32_t stream, int64_t time, int64_t level)
{
    hls_sim_trace_level(((Simulation *)user)->trace, stream, time, level);
}

static bool init_trace(Simulation *s)
{
    const SimFlags *flags = s->flags;
    if (!flags->vcd && !flags->svg) return true;
    const HlsTraceOptions options = {.keeps_changes = flags->vcd != NULL,
                                     .from = flags->vcd_from,
                                     .to = flags->vcd_to == LIMIT_NOT_GIVEN ? 0 : flags->vcd_to,
                                     .most_changes = flags->vcd_limit};
    s->trace = hls_sim_trace_create(s->design, &options);
    s->options.hooks.state = state_hook;
    s->options.hooks.level = level_hook;
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
static bool finish_trace(Simulation *s)
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

static bool has_processes(const HlsDesign *design)
{
    return design->processes.len > 0 ||
           op_error(design->top, "has no process, so there is nothing to simulate");
}

static bool simulate(Simulation *s, const Op *module)
{
    bool has_data = s->flags->inputs.len > 0;
    s->clock = s->flags->clock > 0 ? s->flags->clock : design_clock_mhz(module);
    s->design = design_create(module, clock_of_module(module, s->clock));
    bool ok =
        s->design && has_processes(s->design) && set_style(s) && perturb(s) && init_options(s);
    if (ok && has_data && !s->flags->timing_only) {
        s->values = hls_sim_values_create(s->design);
        ok = s->values != NULL;
    }
    ok = ok && (!has_data || open_data(s));
    ok = ok && init_trace(s);
    if (ok) {
        s->sim = hls_sim_create(s->design, &s->options);
        ok = run_frames(s) && (!s->values || run_data(s));
        progress_stop(s->tool->progress);
        ok = ok && finish_trace(s) && write_results(s);
    }
    hls_sim_free(s->sim);
    hls_sim_trace_free(s->trace);
    hls_sim_values_free(s->values);
    driver_ports_free(&s->inputs);
    driver_ports_free(&s->outputs);
    free(s->input_args);
    free(s->output_args);
    design_free(s->design);
    return ok;
}

static bool sim_file(const Tool *tool, const SimFlags *flags, const char *given)
{
    StrBuf bytes = {0}, path = {0};
    const char *reason = NULL;
    Simulation s = {.tool = tool, .flags = flags};
    bool ok = module_path(tool, given, &path) &&
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

int ming_sim(int argc, char **argv)
{
    SimFlags sim = {.seed = -1,
                    .frames = LIMIT_NOT_GIVEN,
                    .vcd_to = LIMIT_NOT_GIVEN,
                    .vcd_limit = DEFAULT_CHANGES,
                    .max_events = DEFAULT_EVENTS};
    const Flag flags[] = {
        {"input", FLAG_TEXTS, &sim.inputs, "[name=]file.npy",
         "Array of an input, in order unless named; without any only timing is simulated", NULL},
        {"output", FLAG_TEXTS, &sim.outputs, "[name=]file.npy", "Where an output is written", NULL},
        {"timing-only", FLAG_SWITCH, &sim.timing_only, NULL, "Skip the values", NULL},
        {"frames", FLAG_INT, &sim.frames, "n",
         "Frames to simulate, default until the state repeats", NULL},
        {"max-events", FLAG_INT, &sim.max_events, "n",
         "Reads and writes of words after which it stops, default 2^30; 0: no limit", NULL},
        {"clock", FLAG_INT, &sim.clock, "MHz", "Clock of the latency model, default the design's",
         NULL},
        {"input-rate", FLAG_TEXT, &sim.input_rate, "x", "Words per cycle that inputs give", NULL},
        {"output-rate", FLAG_TEXT, &sim.output_rate, "x", "Words per cycle that outputs take",
         NULL},
        {"seed", FLAG_INT, &sim.seed, "n", "Pause ports at random instead of regularly", NULL},
        {"wide", FLAG_SWITCH, &sim.is_wide, NULL, "Names of the table in full, however wide", NULL},
        {"perturb", FLAG_TEXT, &sim.perturb, "+1|x1.5+8|random:SEED|…",
         "Let pipelines be deeper than predicted, and FIFOs slower (docs/simulation.md)", NULL},
        {"pipeline-style", FLAG_CHOICE, &sim.style, "stalled|flushing",
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
    vec_free(&sim.vcd_signals);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
