/* choose-unroll: picks unroll factors for every process of the dataflow graph by MING's Eq. 1:
 * least sum of cycles within the DSP and BRAM18 budgets, equal word sizes at both ends of every
 * channel; among equals the least resources. Solved exactly (dse_solve.c).
 * Requires: a dfg.region as convert-linalg-to-dfg leaves it.
 * Changes: attributes and port words, dfg.budget of the module; the graph stays.
 * Tests: lit/target/choose-unroll.mir */
#include "dialects/dfg/dfg.h"
#include "ir/builder.h"
#include "ir/diag.h"
#include "target/dse.h"
#include "target/target.h"

static Op *find_region(Op *module)
{
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
    if (op->def == DFG(REGION))
        return op;
    op_emit_error(module, "there is no dfg.region to unroll");
    return NULL;
}

/* Least amount of one resource that any design needs, or -1. */
static int64_t least(DseSpace *space, DseGoal goal, int64_t dsp, int64_t bram18)
{
    int64_t value = 0;
    DseLimits limits = {.cycles = -1, .dsp = dsp, .bram18 = bram18};
    return dse_solve(space, goal, &limits, &value) == DSE_OPTIMAL ? value : -1;
}

/* Says which budget no design fits, and the smallest that one would. */
static bool explain(const Op *region, DseSpace *space, const Budget *budget)
{
    int64_t dsp = least(space, DSE_MIN_DSP, -1, -1);
    int64_t bram18 = least(space, DSE_MIN_BRAM, -1, -1);
    if (dsp < 0 || bram18 < 0)
        return op_error(region, "has no configuration in which all channels agree on their words");
    if (dsp > budget->dsp)
        return op_error(region, "does not fit the budget of %lld DSP: the smallest design needs %lld "
                                "DSP",
                        (long long)budget->dsp, (long long)dsp);
    if (bram18 > budget->bram18)
        return op_error(region, "does not fit the budget of %lld BRAM18: the smallest design needs "
                                "%lld BRAM18",
                        (long long)budget->bram18, (long long)bram18);
    dsp = least(space, DSE_MIN_DSP, -1, budget->bram18);
    return op_error(region, "does not fit the budget of %lld DSP together with %lld BRAM18: with that "
                            "BRAM18 the smallest design needs %lld DSP",
                    (long long)budget->dsp, (long long)budget->bram18, (long long)dsp);
}

static bool choose(const Op *region, DseSpace *space, const Budget *budget)
{
    DseLimits limits = {.cycles = -1, .dsp = budget->dsp, .bram18 = budget->bram18};
    int64_t cycles = 0, resources = 0;
    DseStatus status = dse_solve(space, DSE_MIN_CYCLES, &limits, &cycles);
    if (status == DSE_INFEASIBLE)
        return explain(region, space, budget);
    if (status == DSE_OPTIMAL) {
        limits.cycles = cycles;
        status = dse_solve(space, DSE_MIN_RESOURCES, &limits, &resources);
    }
    return status == DSE_OPTIMAL ||
           op_error(region, "the integer program was not solved; lp_solve gave up");
}

/* dfg.budget of the module: for the report. */
static void record_budget(Op *module, const Budget *budget)
{
    Context *ctx = module->ctx;
    const NamedAttr items[] = {
        named_attr(ctx, "dsp", attr_i64(ctx, budget->dsp)),
        named_attr(ctx, "bram18", attr_i64(ctx, budget->bram18)),
    };
    op_set_attr(module, "dfg.budget", attr_dict(ctx, items, COUNT_OF(items)));
}

static bool choose_unroll(Pass *pass, Op *module)
{
    DseSpace space;
    Op *region = find_region(module);
    Budget budget = {.dsp = pass_int(pass, "dsp"), .bram18 = pass_int(pass, "bram")};
    if (!region || !dse_space(region, &pass->scratch, &space))
        return false;
    bool ok = choose(region, &space, &budget);
    if (ok) {
        dse_apply(module, region, &space);
        record_budget(module, &budget);
    }
    dse_free(&space);
    return ok;
}

const PassDef pass_choose_unroll = {
    .name = "choose-unroll",
    .summary = "Choose unroll factors within DSP and BRAM18 budgets (MING Eq. 1)",
    .anchor = "builtin.module",
    .options = OPTIONS({"dsp", OPTION_INT, "1248", "DSP slices available", 0, INT64_MAX},
                       {"bram", OPTION_INT, "288", "BRAM18 blocks available", 0, INT64_MAX}),
    .run = choose_unroll,
};
