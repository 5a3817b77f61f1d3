/* Runs a simulation as its settings say.
 * Tests: lit/tools/ming-sim.mir, lit/tools/ming-sim-invalid.mir, lit/driver/simulate,
 * test/e2e/sizing_check.py */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "driver/simulate/simulate.h"
#include "emit/emit.h"
#include "ir/asm/print/print.h"
#include "schedule/schedule.h"
#include "sim/design/design.h"
#include "target/fifo/fifo.h"

enum { MAX_FRAMES = 256 };

/* The only .mir file of a directory. */
static bool find_module(const char *dir, DriverErrors errors, StrBuf *path)
{
    const struct dirent *entry;
    int found = 0;
    StrBuf why = {0};
    bool is_whole =
        emit_check_whole(dir, &why) || driver_error(errors, DRIVER_ERROR_OTHER, "%s", why.data);
    strbuf_free(&why);
    DIR *folder = is_whole ? opendir(dir) : NULL;
    if (!folder)
        return is_whole && driver_error(errors, DRIVER_ERROR_OTHER, "cannot open '%s': %s", dir,
                                        strerror(errno));
    while ((entry = readdir(folder)))
        if (str_ends_with(str_from(entry->d_name), ".mir")) {
            strbuf_clear(path);
            strbuf_printf(path, "%s/%s", dir, entry->d_name);
            found++;
        }
    closedir(folder);
    return found == 1 || driver_error(errors, DRIVER_ERROR_OTHER,
                                      "'%s' has %s .mir file; 'ming compile' writes one", dir,
                                      found ? "more than one" : "no");
}

bool simulation_design_path(const char *given, DriverErrors errors, StrBuf *path)
{
    struct stat status;
    if (stat(given, &status) == 0 && S_ISDIR(status.st_mode))
        return find_module(given, errors, path);
    strbuf_add_c(path, given);
    return true;
}

static uint32_t argument_count(const Simulation *s)
{
    return region_entry(op_region(s->design->top, 0))->arg_count;
}

/* Boundaries of the design's inputs or outputs, as driver_ports_init has them for functions; of a tile
 * those of its first instance. */
static bool init_ports(Simulation *s, bool is_input, PortFiles *ports, uint32_t **numbers)
{
    const HlsDesign *design = s->design;
    const Attr *all = op_attr(design->top, DFG_ATTR_PORT_ATTRS),
               *names = op_attr(design->top, EMITHLS_ATTR_ARG_NAMES);
    uint32_t count = argument_count(s);
    *ports = (PortFiles){.errors = s->errors, .what = is_input ? "input" : "output", .frames = 1};
    ports->items = xcalloc(count, sizeof *ports->items);
    *numbers = xcalloc(count, sizeof **numbers);
    for (uint32_t i = 0; i < count; i++) {
        const Type *frame = design_argument_frame(design, i);
        int64_t instance, first;
        if (design_argument_direction(design, i) != (is_input ? HLS_DATA_IN : HLS_DATA_OUT))
            continue;
        if (!frame)
            return op_error(design->top,
                            "cannot be simulated with data: port '%.*s' has no " EMITHLS_ATTR_FRAME,
                            STR_ARG(names->u.array.items[i]->u.string));
        if (s->instances > 1 && sys_port_instance(all->u.array.items[i], &instance, &first))
            continue;
        (*numbers)[ports->count] = i;
        if (!boundary_init(design->top, frame, all->u.array.items[i],
                           &ports->items[ports->count++].boundary))
            return false;
    }
    return true;
}

/* The argument that is, of an instance, what one of the first instance is. */
static uint32_t argument_of(const Simulation *s, int64_t instance, uint32_t argument)
{
    const Attr *all = op_attr(s->design->top, DFG_ATTR_PORT_ATTRS);
    uint32_t found = 0;
    int64_t own, first;
    if (instance == 0) return argument;
    while (!sys_port_instance(all->u.array.items[found], &own, &first) || own != instance ||
           first != argument)
        found++;
    return found;
}

bool simulation_open_data(Simulation *s, bool has_values)
{
    if (has_values && !(s->values = hls_sim_values_create(s->design))) return false;
    s->has_data = true;
    return init_ports(s, true, &s->inputs, &s->input_args) &&
           init_ports(s, false, &s->outputs, &s->output_args);
}

static bool leave_outputs(Simulation *s, int64_t frame, int64_t instance, Array *const *arrays)
{
    StrBuf why = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->outputs.count; i++)
        ok = boundary_leave(&s->outputs.items[i].boundary,
                            arrays[argument_of(s, instance, s->output_args[i])], frame,
                            s->inputs.frames, &s->outputs.items[i].npy, &why);
    if (!ok) driver_error(s->errors, DRIVER_ERROR_OTHER, "%s", why.data);
    strbuf_free(&why);
    return ok;
}

/* Frames of each instance. Those that have none in the last turn compute the last frame again. */
static int64_t turns(const Simulation *s)
{
    return (s->inputs.frames + s->instances - 1) / s->instances;
}

static bool enter_frame(const Simulation *s, int64_t frame, int64_t instance, Array **arrays)
{
    Array **given = xcalloc(argument_count(s), sizeof *given);
    bool ok = driver_ports_enter(&s->inputs, i64_min(frame, s->inputs.frames - 1), given);
    for (uint32_t i = 0; i < s->inputs.count; i++)
        arrays[argument_of(s, instance, s->input_args[i])] = given[i];
    for (uint32_t i = 0; ok && i < s->outputs.count; i++) {
        uint32_t arg = argument_of(s, instance, s->output_args[i]);
        arrays[arg] = array_new(design_argument_frame(s->design, arg));
        ok = arrays[arg] != NULL;
    }
    free(given);
    return ok;
}

/* last: no other frame follows. */
static bool run_to(const Simulation *s, HlsSim *sim, const HlsSimOptions *options, int64_t frames,
                   bool last)
{
    if (hls_sim_run(sim, frames) && (!last || hls_sim_drain(sim))) return true;
    if (hls_sim_is_exhausted(sim))
        return driver_error(s->errors, DRIVER_ERROR_OTHER,
                            "stopped in frame %lld after %lld reads and writes; "
                            "--max-events=N simulates up to N, 0 without a limit",
                            (long long)frames, (long long)hls_sim_events(sim));
    return !hls_sim_was_stopped(sim) && hls_sim_explain_deadlock(s->design, sim, options, frames);
}

static bool run_data_turn(Simulation *s, HlsSim *sim, const HlsSimOptions *options, int64_t turn)
{
    const int64_t first = turn * s->instances,
                  behind = i64_min(first + s->instances, s->inputs.frames);
    uint32_t count = argument_count(s);
    Array **arrays = xcalloc(count, sizeof *arrays);
    bool ok = true;
    for (int64_t n = 0; ok && n < s->instances; n++) ok = enter_frame(s, first + n, n, arrays);
    if (ok) hls_sim_values_begin_frame(s->values, arrays);
    ok = ok && run_to(s, sim, options, turn + 1, false);
    if (ok) hls_sim_values_end_frame(s->values);
    for (int64_t frame = first; ok && frame < behind; frame++)
        ok = leave_outputs(s, frame, frame - first, arrays);
    ok = ok && (!s->seen || s->seen(s->user, turn, arrays));
    for (uint32_t i = 0; i < count; i++) array_unref(arrays[i]);
    free(arrays);
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
    int64_t wanted = s->has_data ? turns(s) : s->settings->frames; /* or none */
    int64_t most = wanted > 0 ? wanted : MAX_FRAMES;
    bool is_last = false;
    if (s->options.max_events > 0 && wanted > s->options.max_events)
        return driver_error(s->errors, DRIVER_ERROR_OTHER,
                            "%lld frames take more than %lld reads and writes; --max-events=N "
                            "simulates up to N, 0 without a limit",
                            (long long)wanted, (long long)s->options.max_events);
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

static void data_progress(void *user, int64_t frames, int64_t cycle)
{
    const HlsHooks *hooks = &((Simulation *)user)->options.hooks;
    if (hooks->progress) hooks->progress(hooks->user, frames, cycle);
}

/* Values do not depend on timing, so a simulation of their own runs frame by frame. */
static bool run_data(Simulation *s)
{
    const HlsSimOptions options = {
        .drains = true, .hooks = {.user = s, .values = values_hook, .progress = data_progress}};
    HlsSim *sim = hls_sim_create(s->design, &options);
    bool ok = true;
    for (int64_t turn = 0; ok && turn < turns(s); turn++)
        ok = run_data_turn(s, sim, &options, turn);
    hls_sim_free(sim);
    return ok;
}

/* Words per cycle, as words per million cycles, to the nearest. */
static bool read_rate(DriverErrors errors, const char *name, const char *text, int64_t *out)
{
    char *end = NULL;
    double rate = text ? strtod(text, &end) : 1;
    *out = HLS_FULL_RATE;
    if (!text) return true;
    if (end == text || *end || !(rate >= 1.0 / HLS_FULL_RATE && rate <= 1))
        return driver_error(errors, DRIVER_ERROR_OTHER,
                            "--%s takes words per cycle, at least 1 in %d and at most 1", name,
                            HLS_FULL_RATE);
    *out = llround(rate * HLS_FULL_RATE);
    return true;
}

static bool init_options(Simulation *s)
{
    s->options.is_random = s->settings->seed >= 0;
    s->options.seed = (uint64_t)s->settings->seed;
    s->options.max_events = s->settings->max_events;
    return read_rate(s->errors, "input-rate", s->settings->input_rate, &s->options.input_rate) &&
           read_rate(s->errors, "output-rate", s->settings->output_rate, &s->options.output_rate);
}

/* Makes the design's hardware later than predicted, as --perturb says. */
static bool perturb(const Simulation *s)
{
    HlsPerturbation perturbation;
    StrBuf why = {0};
    if (!s->settings->perturb) return true;
    bool ok = design_parse_perturbation(str_from(s->settings->perturb), &perturbation, &why) ||
              driver_error(s->errors, DRIVER_ERROR_OTHER, "--perturb: %s", why.data);
    strbuf_free(&why);
    if (ok) design_perturb(s->design, &perturbation);
    return ok;
}

/* Lets pipelines stall or flush, as --pipeline-style says. */
static bool set_style(const Simulation *s)
{
    return !s->settings->style ||
           design_set_flushing(s->design, strcmp(s->settings->style, "flushing") == 0);
}

static bool has_processes(const HlsDesign *design)
{
    return design->processes.len > 0 ||
           op_error(design->top, "has no process, so there is nothing to simulate");
}

bool simulation_begin(Simulation *s, const Op *module)
{
    s->instances = sys_tile_size(module);
    s->clock = s->settings->clock > 0 ? s->settings->clock : design_clock_mhz(module);
    s->design = design_create(module, clock_of_module(module, s->clock));
    return s->design && has_processes(s->design) && set_style(s) && perturb(s) && init_options(s);
}

bool simulation_run(Simulation *s)
{
    s->sim = hls_sim_create(s->design, &s->options);
    return run_frames(s) && (!s->values || run_data(s));
}

void simulation_free(Simulation *s)
{
    hls_sim_free(s->sim);
    hls_sim_values_free(s->values);
    driver_ports_free(&s->inputs);
    driver_ports_free(&s->outputs);
    free(s->input_args);
    free(s->output_args);
    design_free(s->design);
}
