/* choose-unroll: picks unroll factors for every process of the dataflow graph by MING's Eq. 1:
 * least sum of cycles within the DSP and BRAM18 budgets, equal word sizes at both ends of every
 * channel; among equals the least resources. Solved exactly (dse_solve.c).
 * Requires: a dfg.region as convert-linalg-to-dfg leaves it.
 * Changes: attributes and port words, dfg.budget of the module; the graph stays.
 * Tests: lit/target/choose-unroll.mir */
#include "dialects/dfg/dfg.h"
#include "ir/builder.h"
#include "ir/diag.h"
#include "ir/symbol.h"
#include "target/dse.h"
#include "target/target.h"

/* Processes that are named when memory is short. */
enum { MAX_NOTES = 3 };

static Op *find_region(Op *module)
{
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
    if (op->def == DFG(REGION))
        return op;
    op_emit_error(module, "there is no dfg.region to unroll");
    return NULL;
}

static bool found_design(DseStatus status)
{
    return status == DSE_OPTIMAL || status == DSE_FEASIBLE;
}

static bool gave_up(const Op *region)
{
    return op_error(region, "has a design space too large to be searched: no design was found and "
                            "none excluded");
}

static int64_t chosen_bram18(const DseNode *node)
{
    return node->configs.data[node->chosen].cost.bram18;
}

/* Notes at the processes that take most block RAM in the chosen design, the greediest first. */
static void note_memories(const DseSpace *space)
{
    int64_t below = INT64_MAX;
    for (int count = 0; count < MAX_NOTES; count++) {
        const DseNode *most = NULL;
        for (size_t i = 0; i < space->nodes.len; i++) {
            const DseNode *node = &space->nodes.data[i];
            if (chosen_bram18(node) < below && (!most || chosen_bram18(node) > chosen_bram18(most)))
                most = node;
        }
        if (!most || chosen_bram18(most) == 0)
            return;
        below = chosen_bram18(most);
        if (most->process)
            op_note(most->process, "'%.*s' takes %lld of them",
                    STR_ARG(symbol_name(most->process)->str), (long long)below);
    }
}

/* Says which budget no design fits, and the smallest that one would. */
static bool explain(const Op *region, DseSpace *space, const Budget *budget)
{
    int64_t dsp = 0, bram18 = 0;
    DseLimits none = {-1, -1, -1}, bram_only = {-1, -1, budget->bram18};
    if (dse_solve(space, DSE_MIN_DSP, &none, &dsp) == DSE_INFEASIBLE)
        return op_error(region, "has no configuration in which all channels agree on their words");
    if (dsp > budget->dsp)
        return op_error(region, "does not fit the budget of %lld DSP: the smallest design needs %lld "
                                "DSP",
                        (long long)budget->dsp, (long long)dsp);
    if (!found_design(dse_solve(space, DSE_MIN_BRAM, &none, &bram18)))
        return gave_up(region);
    if (bram18 > budget->bram18) {
        op_error(region, "does not fit the budget of %lld BRAM18: the smallest design needs %lld BRAM18",
                 (long long)budget->bram18, (long long)bram18);
        note_memories(space);
        return false;
    }
    if (!found_design(dse_solve(space, DSE_MIN_DSP, &bram_only, &dsp)))
        return gave_up(region);
    return op_error(region, "does not fit the budget of %lld DSP together with %lld BRAM18: with that "
                            "BRAM18 the smallest design needs %lld DSP",
                    (long long)budget->dsp, (long long)budget->bram18, (long long)dsp);
}

static void choose_all(DseSpace *space, const uint32_t *chosen)
{
    for (size_t i = 0; i < space->nodes.len; i++)
        space->nodes.data[i].chosen = chosen[i];
}

/* Among designs of the same sum of cycles, one of least resources; the first stays if none is found. */
static void save_resources(DseSpace *space, const Budget *budget, int64_t cycles)
{
    int64_t resources = 0;
    DseLimits limits = {.cycles = cycles, .dsp = budget->dsp, .bram18 = budget->bram18};
    uint32_t *first = ARENA_ARRAY(space->arena, uint32_t, space->nodes.len + 1);
    for (size_t i = 0; i < space->nodes.len; i++)
        first[i] = space->nodes.data[i].chosen;
    if (!found_design(dse_solve(space, DSE_MIN_RESOURCES, &limits, &resources)))
        choose_all(space, first);
}

static bool choose(const Op *region, DseSpace *space, const Budget *budget)
{
    int64_t cycles = 0;
    DseLimits limits = {.cycles = -1, .dsp = budget->dsp, .bram18 = budget->bram18};
    DseStatus status = dse_solve(space, DSE_MIN_CYCLES, &limits, &cycles);
    if (status == DSE_INFEASIBLE)
        return explain(region, space, budget);
    if (status == DSE_FAILED)
        return gave_up(region);
    if (status == DSE_FEASIBLE)
        op_remark(region, "takes %lld cycles in sum; the search was cut short, and no design is below "
                          "%lld",
                  (long long)cycles, (long long)space->bound);
    save_resources(space, budget, cycles);
    return true;
}

/* dfg.budget on the module: the limits and the device, for reports and build files. */
static void record_budget(const Pass *pass, Op *module, const Budget *budget)
{
    Context *ctx = module->ctx;
    const NamedAttr items[] = {
        named_attr(ctx, "dsp", attr_i64(ctx, budget->dsp)),
        named_attr(ctx, "bram18", attr_i64(ctx, budget->bram18)),
        named_attr(ctx, "device", attr_string(ctx, pass_string(pass, "device"))),
        named_attr(ctx, "part", attr_string(ctx, pass_string(pass, "part"))),
        named_attr(ctx, "clock_mhz", attr_i64(ctx, pass_int(pass, "clock"))),
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
        record_budget(pass, module, &budget);
    }
    dse_free(&space);
    return ok;
}

const PassDef pass_choose_unroll = {
    .name = "choose-unroll",
    .summary = "Choose unroll factors within DSP and BRAM18 budgets (MING Eq. 1)",
    .anchor = "builtin.module",
    .options = OPTIONS({"dsp", OPTION_INT, "1248", "DSP slices available", 0, INT64_MAX},
                       {"bram", OPTION_INT, "288", "BRAM18 blocks available", 0, INT64_MAX},
                       {"device", OPTION_STRING, "kv260", "device's name, for the report"},
                       {"part", OPTION_STRING, "xck26-sfvc784-2LV-c",
                        "device's part, for the build files"},
                       {"clock", OPTION_INT, "250", "clock in MHz, for the build files", 1, 2000}),
    .run = choose_unroll,
};
