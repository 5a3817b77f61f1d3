/* choose-unroll: chooses unroll factors for every process of the dataflow graph, within budgets of
 * resources and with equal words at both ends of every channel, so that the design is the best by
 * one objective (target/dse/dse.h). Among equally good designs it takes one of least resources.
 * Requires: a dfg.region as convert-linalg-to-dfg leaves it.
 * Changes: attributes and port words, dfg.budget of the module; the graph stays.
 * Tests: lit/target/dse/choose-unroll*.mir */
#include <time.h>

#include "dialects/dfg/dfg.h"
#include "dialects/sys/sys.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "schedule/schedule.h"
#include "target/device/device.h"
#include "target/dse/internal.h"
#include "target/dse/solve/solve.h"

static const char *const objective_names[] = {[DSE_LATENCY] = "latency",
                                              [DSE_PIPELINE_LATENCY] = "pipeline-latency",
                                              [DSE_THROUGHPUT] = "throughput",
                                              [DSE_FPS] = "fps",
                                              NULL};

static const char *const epilogue_names[] = {"auto", "fused", NULL};
static const char *const small_fifo_names[] = {"srl", "lutram", NULL};

static Op *find_region(Op *module)
{
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
        if (op->def == DFG(REGION)) return op;
    op_emit_error(module, "there is no dfg.region to unroll");
    return NULL;
}

/* Names of the options that limit a kind of cost. */
static const char *const limit_options[COST_KINDS] = {
    [COST_DSP] = "dsp", [COST_BRAM18] = "bram", [COST_URAM] = "uram",
    [COST_LUT] = "lut", [COST_FF] = "ff",
};

static Cost given_limits(const Pass *pass)
{
    Cost limits;
    for (int k = 0; k < COST_KINDS; k++)
        limits.items[k] = limit_options[k] ? pass_int(pass, limit_options[k]) : -1;
    return limits;
}

static DseObjective given_objective(const Pass *pass)
{
    Str name = pass_string(pass, "objective");
    int objective = 0;
    while (!str_eq_c(name, objective_names[objective])) objective++;
    return (DseObjective)objective;
}

/* Cycles for one of `fps` frames per second. */
static int64_t interval_of(const Pass *pass, int64_t fps)
{
    return pass_int(pass, "clock") * 1000000 / fps;
}

static void set_aside(int64_t *limit, int64_t reserve)
{
    if (*limit >= 0) *limit = *limit > reserve ? *limit - reserve : 0;
}

/* False: diagnosed. */
static bool read_task(const Pass *pass, Op *module, const CostTarget *target, DseTask *out)
{
    int64_t fps = pass_int(pass, "fps"), limit = pass_int(pass, "time-limit");
    *out = (DseTask){.objective = given_objective(pass), .limits = given_limits(pass)};
    set_aside(&out->limits.bram18, pass_int(pass, "reserve-bram"));
    set_aside(&out->limits.lut, pass_int(pass, "reserve-lut"));
    out->interval = fps > 0 ? interval_of(pass, fps) : pass_int(pass, "interval");
    out->clock = pass_int(pass, "clock");
    if (out->objective == DSE_FPS && fps == 0 && out->interval == 0)
        return op_emit_error(module, "the objective fps needs frames per second: fps=N");
    if (target->stream_rate > 0 && out->interval > 0)
        out->limits.traffic = dse_supply(target, out->interval);
    if (limit > 0) out->deadline = dse_seconds() + (double)limit;
    return true;
}

/* dfg.budget on the module: limits, device, objective and what was reached, for reports and build
 * files. */
static void record_budget(const Pass *pass, Op *module, int64_t interval, const DseAnswer *answer)
{
    Context *ctx = module->ctx;
    Cost limits = given_limits(pass);
    NamedAttr items[7 + COST_KINDS] = {
        build_named_attr(ctx, DFG_BUDGET_DEVICE, attr_string(ctx, pass_string(pass, "device"))),
        build_named_attr(ctx, DFG_BUDGET_PART, attr_string(ctx, pass_string(pass, "part"))),
        build_named_attr(ctx, DFG_BUDGET_CLOCK_MHZ, attr_i64(ctx, pass_int(pass, "clock"))),
        build_named_attr(ctx, DFG_BUDGET_OBJECTIVE,
                         attr_string(ctx, pass_string(pass, "objective"))),
        build_named_attr(ctx, DFG_BUDGET_VALUE, attr_i64(ctx, answer->value)),
        build_named_attr(ctx, DFG_BUDGET_BOUND, attr_i64(ctx, answer->bound)),
        build_named_attr(ctx, DFG_BUDGET_INTERVAL, attr_i64(ctx, interval)),
    };
    size_t count = 7;
    for (int k = 0; k < COST_KINDS; k++)
        if (limits.items[k] >= 0)
            items[count++] =
                build_named_attr(ctx, cost_names[k].key, attr_i64(ctx, limits.items[k]));
    op_set_attr(module, DFG_ATTR_BUDGET, attr_dict(ctx, items, count));
}

/* What an objective counts, a sum of shares as a percentage. */
static void add_value(StrBuf *out, const DseTask *task, int64_t value)
{
    enum { PER_CENT = 10000 }; /* millionths */
    if (task->objective == DSE_FPS)
        strbuf_printf(out, "%.2f %%", (double)value / PER_CENT);
    else
        strbuf_printf(out, "%lld", (long long)value);
}

/* Remarks that the answer may not be the best. pooled: that of the dies as one pool. */
static void remark_gap(const Op *region, const DseTask *task, int64_t pooled,
                       const DseAnswer *answer)
{
    static const char *const units[] = {[DSE_LATENCY] = "cycles in sum",
                                        [DSE_PIPELINE_LATENCY] = "cycles for a frame",
                                        [DSE_THROUGHPUT] = "cycles from frame to frame",
                                        [DSE_FPS] =
                                            "of the budget, all resources' shares added up"};
    StrBuf text = {0};
    add_value(&text, task, answer->value);
    strbuf_printf(&text, " %s; ", units[task->objective]);
    if (pooled < answer->value) {
        strbuf_add_c(&text, "as one pool the dies hold a design with ");
        add_value(&text, task, pooled);
    } else {
        strbuf_add_c(&text, "the search was cut short, and no design is below ");
        add_value(&text, task, answer->bound);
    }
    if (i64_min(pooled, answer->bound) < answer->value) op_remark(region, "takes %s", text.data);
    strbuf_free(&text);
}

/* dump-lp: the program whose optimum is the answer, for other solvers. */
static bool dump_program(const Pass *pass, const DseSpace *space, const DseTask *task)
{
    StrBuf path = {0};
    const DseProblem problem = dse_first_problem(space, task);
    strbuf_add_str(&path, pass_string(pass, "dump-lp"));
    bool ok = path.len == 0;
    if (!ok && task->objective == DSE_PIPELINE_LATENCY)
        op_error(space->region, "dump-lp cannot write the objective pipeline-latency");
    else if (!ok && !str_ends_with(strbuf_str(&path), ".lp") &&
             !str_ends_with(strbuf_str(&path), ".mps"))
        op_error(space->region, "dump-lp takes a file that ends in .lp or .mps");
    else if (!ok)
        ok = dse_dump(space, &problem, path.data) ||
             op_error(space->region, "cannot write '%s'", path.data);
    strbuf_free(&path);
    return ok;
}

static void record_need(Op *module, const DseNeed *need)
{
    Context *ctx = module->ctx;
    if (need->least == 0) return;
    const NamedAttr item =
        build_named_attr(ctx, cost_names[need->kind].key, attr_i64(ctx, need->least));
    op_set_attr(module, DFG_ATTR_NEEDS, attr_dict(ctx, &item, 1));
}

/* Forgets places where there are no dies. */
static void drop_places(const DseSpace *space)
{
    size_t count = 0;
    for (size_t n = 0; n < space->nodes.len; n++) {
        Op *process = (Op *)(uintptr_t)space->nodes.data[n].process;
        if (!process || !op_attr(process, SYS_ATTR_PLACE)) continue;
        op_set_attr(process, SYS_ATTR_PLACE, NULL);
        count++;
    }
    if (count > 0)
        op_remark(space->region,
                  "is not placed: dies are not looked at, and %zu places are left out", count);
}

/* Places the design where there are several dies. False: diagnosed. */
static bool place(const Pass *pass, Op *module, const DseSpace *space, const DseTask *task,
                  DseState *state, DseAnswer *answer)
{
    PartitionPlatform *platform = xcalloc(1, sizeof *platform);
    const DsePlaceOptions options = {.anchors = pass_string(pass, "anchors"),
                                     .colocated = pass_string(pass, "colocate"),
                                     .reserve = {[COST_BRAM18] = pass_int(pass, "reserve-bram"),
                                                 [COST_LUT] = pass_int(pass, "reserve-lut")}};
    bool ok = true;
    if (pass_string(pass, "dies").len == 0)
        drop_places(space);
    else
        ok = dse_record_dies(module, pass_string(pass, "dies"), pass_string(pass, "die-links"),
                             pass_int(pass, "die-mean")) &&
             dse_platform(module, platform) &&
             dse_place(space, task, &options, platform, state, answer);
    partition_platform_free(platform);
    free_ptr((void **)&platform);
    return ok;
}

static bool search(Pass *pass, Op *module, const DseSpace *space, DseState *state,
                   DseAnswer *answer)
{
    DseTask task;
    DseNeed need;
    if (!read_task(pass, module, &space->target, &task)) return false;
    for (size_t n = 0; n < space->nodes.len; n++)
        pass_count(pass, "configurations", space->nodes.data[n].configs.len);
    if (task.objective == DSE_PIPELINE_LATENCY && !(task.overlaps = dse_overlaps(space)))
        return false;
    if (!dump_program(pass, space, &task)) return false;
    pass_analysis_begin(pass, "search");
    clock_t start = clock();
    *answer = dse_optimize(space, &task, state);
    pass_count(pass, "search-us", (uint64_t)(clock() - start) * 1000000 / CLOCKS_PER_SEC);
    pass_analysis_end(pass);
    if (!dse_explain(space, &task, answer, state, &need)) {
        record_need(module, &need);
        return false;
    }
    const int64_t pooled = answer->value;
    if (!place(pass, module, space, &task, state, answer)) return false;
    remark_gap(space->region, &task, pooled, answer);
    return true;
}

void dse_record_device(Op *module, Str kind, int64_t delay)
{
    if (!str_eq_c(kind, DFG_DSP_KIND_DEFAULT))
        op_set_attr(module, DFG_ATTR_DSP_KIND, attr_string(module->ctx, kind));
    if (delay != DFG_DELAY_PERCENT_DEFAULT)
        op_set_attr(module, DFG_ATTR_DELAY_PERCENT, attr_i64(module->ctx, delay));
}

static bool choose_unroll(Pass *pass, Op *module)
{
    DseSpace space;
    DseAnswer answer;
    Op *region = find_region(module);
    dse_record_device(module, pass_string(pass, "dsp-kind"), pass_int(pass, "delay-percent"));
    Cost limits = given_limits(pass);
    const CostTarget target = {.clock = clock_of_module(module, pass_int(pass, "clock")),
                               .loads_tables = pass_bool(pass, "loads-weights"),
                               .stream_bits = pass_int(pass, "stream-bits"),
                               .stream_ports = pass_int(pass, "stream-ports"),
                               .stream_rate = pass_int(pass, "stream-rate"),
                               .is_7_series = cost_is_7_series(module),
                               .rewinds = pass_bool(pass, "rewind"),
                               .has_uram = limits.uram > 0,
                               .counts_luts = limits.lut >= 0,
                               .fuses_epilogues = str_eq_c(pass_string(pass, "epilogues"), "fused"),
                               .tries_orders = given_objective(pass) == DSE_PIPELINE_LATENCY,
                               .has_lutram_fifos =
                                   str_eq_c(pass_string(pass, "small-fifos"), "lutram"),
                               .port_bits = pass_int(pass, "port-bits"),
                               .dsp = limits.dsp > 0 ? limits.dsp : 0};
    if (!region || !dse_space(region, &target, &pass->scratch, &space)) return false;
    DseState state = dse_state(&space);
    bool ok = search(pass, module, &space, &state, &answer);
    if (ok) {
        dse_apply(module, region, &space, state.chosen);
        folding_record(module, region);
        record_budget(pass, module, dse_interval(&space, state.chosen), &answer);
    }
    dse_free(&space);
    return ok;
}

const PassDef pass_choose_unroll = {
    .name = "choose-unroll",
    .summary = "Choose unroll factors within budgets of resources, the best by an objective",
    .description = "latency: least sum of cycles (MING Eq. 1). pipeline-latency: least time "
                   "from a frame's first word in to its last word out. throughput: least interval "
                   "of the slowest "
                   "process (NN2FPGA Eq. 11). fps: least resources at a given number of frames per "
                   "second. Among equals the least resources, as shares of the limits.",
    .anchor = "builtin.module",
    .options = OPTIONS(
        {"objective", OPTION_STRING, "latency", "what the design is best at",
         .choices = objective_names},
        {"epilogues", OPTION_STRING, "auto",
         "fused: what follows a sum stays in its process; auto: it may be a process of fewer lanes",
         .choices = epilogue_names},
        {"small-fifos", OPTION_STRING, "srl",
         "what FIFOs of up to 16 words are counted as: srl, shift registers; lutram, where it "
         "takes "
         "fewer LUTs",
         .choices = small_fifo_names},
        {"fps", OPTION_INT, "0",
         "frames per second, of the objective fps, and the fewest for pipeline-latency", 0,
         INT64_MAX},
        {"interval", OPTION_INT, "0", "the same as cycles from frame to frame", 0, INT64_MAX},
        {"time-limit", OPTION_INT, "0",
         "seconds to search, instead of a limit that does not depend on the machine", 0, 1000000},
        {"dump-lp", OPTION_STRING, "",
         "file for the 0-1 program, in lp_solve's format (.lp) or .mps"},
        {"dsp", OPTION_INT, "1248", "DSP slices available", 0, INT64_MAX},
        {"bram", OPTION_INT, "288", "BRAM18 blocks available", 0, INT64_MAX},
        {"reserve-bram", OPTION_INT, "0", "BRAM18 blocks to leave for FIFOs", 0, INT64_MAX},
        {"reserve-lut", OPTION_INT, "0", "LUTs to leave for FIFOs", 0, INT64_MAX},
        {"uram", OPTION_INT, "-1", "URAM blocks available; -1: no limit", -1, INT64_MAX},
        {"lut", OPTION_INT, "-1", "LUTs available; -1: no limit", -1, INT64_MAX},
        {"ff", OPTION_INT, "-1", "flip-flops available; -1: no limit", -1, INT64_MAX},
        {"device", OPTION_STRING, DEVICE_DEFAULT, "device's name, for the report"},
        {"part", OPTION_STRING, DEVICE_DEFAULT_PART, "device's part, for the build files"},
        {"dsp-kind", OPTION_STRING, DFG_DSP_KIND_DEFAULT,
         "DSP48E1, DSP48E2 or DSP58: what products fit"},
        {"delay-percent", OPTION_INT, STRINGIFY(DFG_DELAY_PERCENT_DEFAULT),
         "delays of the speed grade, in percent of UltraScale+ -2", 1, 1000},
        {"clock", OPTION_INT, STRINGIFY(CLOCK_DEFAULT_MHZ), "clock in MHz", 1, 2000},
        {"loads-weights", OPTION_BOOL, "false",
         "tables are memories that load-weights fills at start-up"},
        {"stream-bits", OPTION_INT, "0",
         "of the widest port through which stream-weights reads tables; 0: none is read", 0, 512},
        {"stream-ports", OPTION_INT, "1", "such ports that a table may be spread over", .min = 1,
         .max = 8},
        {"stream-rate", OPTION_INT, "0",
         "bits of such tables that memory brings in 1,000 cycles; 0: no limit", 0, INT64_MAX / 2},
        {"port-bits", OPTION_INT, "0",
         "bits that a word at the boundary may take in a DMA's beat; 0: no limit", 0, INT64_MAX},
        {"rewind", OPTION_BOOL, "false",
         "processes that can begin with the next frame before they have run empty"},
        {"dies", OPTION_STRING, "",
         "place processes on dies, a list of name:lut/ff/bram18/uram/dsp:lut/ff/bram18/uram/dsp "
         "with what may be used and what there is; empty: one pool"},
        {"die-links", OPTION_STRING, "", "wires between dies, a list of die-die:wires by number"},
        {"die-mean", OPTION_INT, "0",
         "percent of BRAM18, URAM and DSP that are used of a die in the mean; 0: no limit", 0, 100},
        {"anchors", OPTION_STRING, "", "layer:die, separated by semicolons"},
        {"colocate", OPTION_STRING, "", "layer,layer of one die, lists separated by semicolons"}),
    .stats = STATS({"configurations", "of all processes, to choose from"},
                   {"search-us", "processor time of the search in microseconds"}),
    .run = choose_unroll,
};
