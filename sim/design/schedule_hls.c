/* schedule-hls: the schedule of a design as attributes of its ops, from which the simulation, the
 * schedule for co-simulation and the lowering to RTL then take it.
 * Requires: a module with a top function of emithls; others stay as they are.
 * Changes: emithls.cycle of ops in processes, interval and depth of loops, and the clock for which
 * they hold, emithls.schedule_clock_mhz of the top function. A schedule that is there is replaced.
 * With `check` nothing changes.
 * Preserves: all else. A pass that adds ops later leaves them without a cycle, which whoever reads
 * the schedule reports.
 * Tests: lit/sim/design/schedule-hls.mir, schedule-invalid.mir */
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "ir/asm/print/print.h"
#include "sim/design/design.h"

int64_t design_clock_mhz(const Op *module)
{
    const Op *top = sys_top(module);
    const Attr *scheduled = top ? op_attr(top, EMITHLS_ATTR_SCHEDULE_CLOCK) : NULL;
    if (scheduled) return attr_int_value(scheduled);
    const Attr *timing = top ? op_attr(top, EMITHLS_ATTR_TIMING) : NULL;
    int64_t mhz = attr_dict_int(timing, EMITHLS_TIMING_CLOCK_MHZ, 0);
    if (mhz <= 0) mhz = attr_dict_int(op_attr(module, DFG_ATTR_BUDGET), DFG_BUDGET_CLOCK_MHZ, 0);
    return mhz > 0 ? mhz : CLOCK_DEFAULT_MHZ;
}

static bool drop_cycle(Op *op, void *user)
{
    (void)user;
    op_set_attr(op, EMITHLS_ATTR_CYCLE, NULL);
    op_set_attr(op, EMITHLS_ATTR_SCHEDULE_CLOCK, NULL);
    if (op->def != EMITHLS(FOR)) return true;
    op_set_attr(op, EMITHLS_ATTR_INTERVAL, NULL);
    op_set_attr(op, EMITHLS_ATTR_SCHEDULE_DEPTH, NULL);
    return true;
}

static bool set_cycle(Op *op, void *user)
{
    int64_t cycle = design_cycle_of(user, op);
    if (cycle >= 0) op_set_attr(op, EMITHLS_ATTR_CYCLE, attr_i64(op->ctx, cycle));
    return true;
}

static void set_schedule(const HlsProcess *process, const HlsDesign *design)
{
    op_walk((Op *)(uintptr_t)process->func, set_cycle, (void *)(uintptr_t)design);
    for (size_t i = 0; i < process->loops.len; i++) {
        const HlsLoop *loop = &process->loops.data[i];
        Op *op = (Op *)(uintptr_t)loop->op; /* of the module that the pass changes */
        if (!op) continue;
        op_set_attr(op, EMITHLS_ATTR_INTERVAL, attr_i64(op->ctx, loop->ii));
        op_set_attr(op, EMITHLS_ATTR_SCHEDULE_DEPTH, attr_i64(op->ctx, loop->depth));
    }
}

static bool check_schedule(const Op *module, Op *top, int64_t mhz)
{
    const Attr *clock = op_attr(top, EMITHLS_ATTR_SCHEDULE_CLOCK);
    if (!clock || attr_int_value(clock) != mhz)
        return op_error(top, "has no schedule for %lld MHz", (long long)mhz);
    HlsDesign *design = design_create(module, clock_of_module(module, mhz));
    design_free(design);
    return design != NULL;
}

static bool schedule_hls(Pass *pass, Op *module)
{
    Op *top = emithls_top(module);
    int64_t mhz = pass_int(pass, "clock");
    if (!top) return true;
    if (mhz == 0) mhz = design_clock_mhz(module);
    if (pass_bool(pass, "check")) return check_schedule(module, top, mhz);
    op_walk(module, drop_cycle, NULL);
    HlsDesign *design = design_create(module, clock_of_module(module, mhz));
    if (!design) return false;
    for (size_t i = 0; i < design->processes.len; i++)
        if (design->processes.data[i].func) set_schedule(&design->processes.data[i], design);
    op_set_attr(top, EMITHLS_ATTR_SCHEDULE_CLOCK, attr_i64(module->ctx, mhz));
    design_free(design);
    return true;
}

const PassDef pass_schedule_hls = {
    .name = "schedule-hls",
    .summary = "Give each op of the processes its cycle, and each loop its interval and depth",
    .description =
        "What `ming sim`, the schedule for co-simulation and convert-emithls-to-rtl otherwise "
        "compute becomes attributes of the design, from which they take it. Cycles may be changed "
        "by hand; where they do not suffice for what the ops do, whoever reads them says so.",
    .anchor = "builtin.module",
    .options = OPTIONS({"clock", OPTION_INT, "0",
                        "clock in MHz; 0: that of the schedule, record or budget that is there, "
                        "or " STRINGIFY(CLOCK_DEFAULT_MHZ),
                        0, 2000},
                       {"check", OPTION_BOOL, "false", "check the schedule that is there only"}),
    .run = schedule_hls,
};
