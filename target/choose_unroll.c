/* choose-unroll: picks unroll factors for every process of the dataflow graph by MING's Eq. 1:
 * least sum of cycles within the budgets, equal word sizes at both ends of every
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

/* Processes that are named when a resource is short; labels that saving resources may try. */
enum { MAX_NOTES = 3, SAVING_EFFORT = 1000000 };

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

static int64_t chosen_cost(const DseNode *node, CostKind kind)
{
    return node->configs.data[node->chosen].cost.items[kind];
}

/* Notes at the processes that take most of a resource in the chosen design, the greediest first. */
static void note_greediest(const DseSpace *space, CostKind kind)
{
    int64_t below = INT64_MAX;
    for (int count = 0; count < MAX_NOTES; count++) {
        const DseNode *most = NULL;
        for (size_t i = 0; i < space->nodes.len; i++) {
            const DseNode *node = &space->nodes.data[i];
            if (chosen_cost(node, kind) < below &&
                (!most || chosen_cost(node, kind) > chosen_cost(most, kind)))
                most = node;
        }
        if (!most || chosen_cost(most, kind) == 0)
            return;
        below = chosen_cost(most, kind);
        if (most->process)
            op_note(most->process, "'%.*s' takes %lld of them",
                    STR_ARG(symbol_name(most->process)->str), (long long)below);
    }
}

/* Says that the limits of the problem together leave no room for the least design of one kind. */
static void report_together(const Op *region, const DseProblem *problem, CostKind kind, int64_t limit,
                            int64_t least)
{
    StrBuf others = {0};
    for (int k = 0; k < COST_KINDS; k++)
        if (problem->limits.items[k] >= 0)
            strbuf_printf(&others, "%s%lld %s", others.len ? ", " : "",
                          (long long)problem->limits.items[k], cost_names[k].title);
    op_error(region, "does not fit the budget of %lld %s together with %s: with those the smallest "
                     "design needs %lld %s",
             (long long)limit, cost_names[kind].title, others.data, (long long)least,
             cost_names[kind].title);
    strbuf_free(&others);
}

/* Whether the least design of a kind fits its limit, under the problem's other limits. */
static bool explain_kind(const Op *region, DseSpace *space, DseProblem *problem, CostKind kind,
                         int64_t limit, bool alone)
{
    const char *title = cost_names[kind].title;
    int64_t least = 0;
    DseStatus status = dse_solve(space, problem, &least);
    if (status == DSE_INFEASIBLE)
        return op_error(region, "has no configuration in which all channels agree on their words");
    if (!found_design(status))
        return gave_up(region);
    if (least <= limit)
        return true;
    if (alone)
        op_error(region, "does not fit the budget of %lld %s: the smallest design needs %lld %s",
                 (long long)limit, title, (long long)least, title);
    else
        report_together(region, problem, kind, limit, least);
    note_greediest(space, kind);
    return false;
}

/* Says which limit no design fits, alone or with others, and the least that one would. */
static bool explain(const Op *region, DseSpace *space, const Cost *limits)
{
    DseProblem together = dse_least(COST_CYCLES);
    for (CostKind k = 0; k < COST_KINDS; k++) {
        DseProblem alone = dse_least(k);
        if (limits->items[k] >= 0 && !explain_kind(region, space, &alone, k, limits->items[k], true))
            return false;
    }
    for (CostKind k = COST_KINDS; k-- > 0;) {
        if (limits->items[k] < 0)
            continue;
        together.weights = dse_least(k).weights;
        if (!explain_kind(region, space, &together, k, limits->items[k], false))
            return false;
        together.limits.items[k] = limits->items[k];
    }
    return gave_up(region);
}

static void choose_all(DseSpace *space, const uint32_t *chosen)
{
    for (size_t i = 0; i < space->nodes.len; i++)
        space->nodes.data[i].chosen = chosen[i];
}

/* Among designs of the same sum of cycles, one of least resources; the first stays if none is found. */
static void save_resources(DseSpace *space, const Cost *limits, int64_t cycles)
{
    int64_t resources = 0;
    DseProblem problem = {.weights = {.dsp = 1, .bram18 = 1}, .limits = *limits,
                          .effort = SAVING_EFFORT};
    uint32_t *first = ARENA_ARRAY(space->arena, uint32_t, space->nodes.len + 1);
    problem.limits.cycles = cycles;
    for (size_t i = 0; i < space->nodes.len; i++)
        first[i] = space->nodes.data[i].chosen;
    if (!found_design(dse_solve(space, &problem, &resources)))
        choose_all(space, first);
}

static bool choose(const Op *region, DseSpace *space, const Cost *limits)
{
    int64_t cycles = 0;
    DseProblem problem = dse_least(COST_CYCLES);
    problem.limits = *limits;
    DseStatus status = dse_solve(space, &problem, &cycles);
    if (status == DSE_INFEASIBLE)
        return explain(region, space, limits);
    if (status == DSE_FAILED)
        return gave_up(region);
    if (status == DSE_FEASIBLE)
        op_remark(region, "takes %lld cycles in sum; the search was cut short, and no design is below "
                          "%lld",
                  (long long)cycles, (long long)space->bound);
    save_resources(space, limits, cycles);
    return true;
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

/* dfg.budget on the module: the limits and the device, for reports and build files. */
static void record_budget(const Pass *pass, Op *module, const Cost *limits)
{
    Context *ctx = module->ctx;
    NamedAttr items[3 + COST_KINDS] = {
        named_attr(ctx, "device", attr_string(ctx, pass_string(pass, "device"))),
        named_attr(ctx, "part", attr_string(ctx, pass_string(pass, "part"))),
        named_attr(ctx, "clock_mhz", attr_i64(ctx, pass_int(pass, "clock"))),
    };
    size_t count = 3;
    for (int k = 0; k < COST_KINDS; k++)
        if (limits->items[k] >= 0)
            items[count++] = named_attr(ctx, cost_names[k].key, attr_i64(ctx, limits->items[k]));
    op_set_attr(module, "dfg.budget", attr_dict(ctx, items, count));
}

static bool choose_unroll(Pass *pass, Op *module)
{
    DseSpace space;
    Op *region = find_region(module);
    Cost limits = given_limits(pass);
    const CostTarget target = {.clock = clock_of_period(1000000 / pass_int(pass, "clock")),
                               .has_uram = limits.uram > 0, .counts_luts = limits.lut >= 0};
    if (!region || !dse_space(region, &target, &pass->scratch, &space))
        return false;
    bool ok = choose(region, &space, &limits);
    if (ok) {
        dse_apply(module, region, &space);
        record_budget(pass, module, &limits);
    }
    dse_free(&space);
    return ok;
}

const PassDef pass_choose_unroll = {
    .name = "choose-unroll",
    .summary = "Choose unroll factors within budgets of resources (MING Eq. 1)",
    .anchor = "builtin.module",
    .options = OPTIONS({"dsp", OPTION_INT, "1248", "DSP slices available", 0, INT64_MAX},
                       {"bram", OPTION_INT, "288", "BRAM18 blocks available", 0, INT64_MAX},
                       {"uram", OPTION_INT, "-1", "URAM blocks available; -1: no limit", -1,
                        INT64_MAX},
                       {"lut", OPTION_INT, "-1", "LUTs available; -1: no limit", -1, INT64_MAX},
                       {"ff", OPTION_INT, "-1", "flip-flops available; -1: no limit", -1, INT64_MAX},
                       {"device", OPTION_STRING, "kv260", "device's name, for the report"},
                       {"part", OPTION_STRING, "xck26-sfvc784-2LV-c",
                        "device's part, for the build files"},
                       {"clock", OPTION_INT, "250", "clock in MHz, for the build files", 1, 2000}),
    .run = choose_unroll,
};
