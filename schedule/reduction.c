/* Schedules of reductions: how accumulators meet the latency of the op that updates them. The nest
 * updates an accumulator every `distance` iterations. Where an update takes longer than that,
 * several partial sums are used in turn; where the update cannot be split into partial sums, the
 * process starts iterations less often (a larger initiation interval). docs/streaming.md gives the
 * argument.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-reduction.mir */
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/math/math.h"
#include "schedule/schedule.h"

/* Cycles of the operators of Vitis HLS at up to 300 MHz on 16 nm parts, rounded up: more than the
 * tool needs costs registers, less would cost the initiation interval. */
static int64_t float_latency(const Op *op)
{
    enum { ADD = 8, MULTIPLY = 6, COMPARE = 3, DIVIDE = 20, FUNCTION = 40, DOUBLE_EXTRA = 4 };
    static const struct {
        const OpDef *def;
        int64_t cycles;
    } table[] = {
        {ARITH(ADDF), ADD},         {ARITH(SUBF), ADD},         {ARITH(MULF), MULTIPLY},
        {ARITH(MAXIMUMF), COMPARE}, {ARITH(MINIMUMF), COMPARE}, {ARITH(MAXNUMF), COMPARE},
        {ARITH(MINNUMF), COMPARE},  {ARITH(CMPF), COMPARE},     {ARITH(DIVF), DIVIDE},
        {MATH(SQRT), DIVIDE},       {ARITH(SITOFP), ADD},       {ARITH(UITOFP), ADD},
        {ARITH(FPTOSI), ADD},       {ARITH(FPTOUI), ADD},       {MATH(ABSF), 0},
        {ARITH(NEGF), 0},           {ARITH(SELECT), 0},         {ARITH(BITCAST), 0},
    };
    int64_t extra = type_width(op_operand(op, 0)->type) > 32 ? DOUBLE_EXTRA : 0;
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (op->def == table[i].def) return table[i].cycles ? table[i].cycles + extra : 0;
    return FUNCTION;
}

/* Sums, comparisons and logic of integers are done within the cycle that stores them. */
static int64_t op_latency(const Op *op)
{
    enum { ONE_DSP = 18, MULTIPLY = 4, MULTIPLY_WIDE = 6, BEYOND_BITS = 4 };
    bool is_float = type_is_float(op_result(op, 0)->type) || type_is_float(op_operand(op, 0)->type);
    if (is_float) return float_latency(op);
    if (op->def == ARITH(MULI))
        return type_width(op_result(op, 0)->type) > ONE_DSP ? MULTIPLY_WIDE : MULTIPLY;
    if (op->def == MATH(IPOWI)) return product_power_depth(op) * MULTIPLY_WIDE;
    if (latency_is_division(op)) return type_width(op_result(op, 0)->type) + BEYOND_BITS;
    return 0;
}

/* Cycles from an accumulator to the value, as `known` has them, plus one; 0: does not depend on
 * it. */
static int64_t known_cycles(const PtrMap *known, const Value *value)
{
    return (int64_t)(uintptr_t)ptrmap_get(known, value);
}

/* Longest path from an accumulator to the value that the payload yields for it. */
static int64_t update_latency(const Op *generic)
{
    const Block *body = linalg_body(generic);
    int64_t longest = 1;
    PtrMap known = {0};
    for (uint32_t i = linalg_input_count(generic); i < body->arg_count; i++)
        ptrmap_put(&known, body->args[i], (void *)(uintptr_t)1);
    FOR_EACH_OP(op, body) {
        int64_t cycles = 0;
        for (uint32_t i = 0; i < op->operand_count; i++)
            cycles = i64_max(cycles, known_cycles(&known, op_operand(op, i)));
        if (op == body->last) longest = i64_max(longest, cycles - 1);
        for (uint32_t i = 0; cycles && i < op->result_count; i++)
            ptrmap_put(&known, op_result(op, i), (void *)(uintptr_t)(cycles + op_latency(op)));
    }
    ptrmap_free(&known);
    return longest;
}

/* The op that computes the new accumulator from the old one and a term. NULL: there is none, or
 * terms may not be taken in any order and grouping. */
static const Op *find_combine(const Op *generic)
{
    static const OpDef *const any_order[] = {
        ARITH(ADDF),    ARITH(SUBF),  ARITH(MULF), ARITH(MAXIMUMF), ARITH(MINIMUMF), ARITH(MAXNUMF),
        ARITH(MINNUMF), ARITH(ADDI),  ARITH(SUBI), ARITH(MULI),     ARITH(MAXSI),    ARITH(MAXUI),
        ARITH(MINSI),   ARITH(MINUI), ARITH(ANDI), ARITH(ORI),      ARITH(XORI),
    };
    const Block *body = linalg_body(generic);
    const Value *acc = body->args[linalg_input_count(generic)];
    const Op *op = generic->result_count == 1 ? value_def(op_operand(body->last, 0)) : NULL;
    if (!op || op->block != body || !value_has_one_use(op_result(op, 0)) ||
        !value_has_one_use(acc) || acc->uses->owner != op)
        return NULL;
    bool subtracts = op->def == ARITH(SUBF) || op->def == ARITH(SUBI);
    if (subtracts && op_operand(op, 0) != acc) return NULL;
    for (size_t i = 0; i < COUNT_OF(any_order); i++)
        if (op->def == any_order[i]) return op;
    return NULL;
}

bool sched_sums_in_registers(const ComputeSchedule *sched)
{
    enum { MOST = 2 };
    return sched->reduction.turns == 1 && sched->accumulators > 1 && sched->accumulators <= MOST;
}

const OpDef *sched_reduction_join(const Op *combine)
{
    return combine->def == ARITH(SUBF)   ? ARITH(ADDF)
           : combine->def == ARITH(SUBI) ? ARITH(ADDI)
                                         : combine->def;
}

Value *sched_reduction_term(const Op *combine)
{
    const Op *generic = block_parent_op(combine->block);
    const Value *acc = combine->block->args[linalg_input_count(generic)];
    return op_operand(combine, op_operand(combine, 0) == acc ? 1 : 0);
}

const Attr *sched_reduction_neutral(const Op *combine)
{
    const Type *type = op_result(combine, 0)->type;
    if (combine->def == ARITH(MULF)) return attr_float(type, 1.0);
    if (combine->def == ARITH(ADDF) || combine->def == ARITH(SUBF)) return attr_float(type, 0.0);
    if (combine->def == ARITH(ADDI) || combine->def == ARITH(SUBI) || combine->def == ARITH(MULI))
        return attr_int(type, combine->def == ARITH(MULI));
    return NULL; /* taking an extreme twice changes nothing */
}

static bool is_zero(const Value *value)
{
    const Op *def = value_def(value);
    if (def && def->def == LINALG(FILL)) return is_zero(op_operand(def, 0));
    const Attr *attr = def && op_has_trait(def, TRAIT_CONSTANT_LIKE) ? op_attr(def, "value") : NULL;
    if (attr && attr->kind == ATTR_DENSE && attr->u.dense.is_splat) attr = dense_elem(attr, 0);
    return attr && attr->kind == ATTR_INTEGER && bigint_is_zero(&attr->u.integer);
}

bool sched_is_done_at_once(const ComputeSchedule *sched)
{
    const Op *combine = sched->reduction.combine;
    if (!combine || combine->def != ARITH(ADDI) || sched->reduction.turns > 1) return false;
    for (uint32_t i = 0; i < sched->loop_count; i++)
        if (sched->loops[i].is_reduction) return false;
    return is_zero(op_operand(sched->main, linalg_input_count(sched->main)));
}

/* Number of innermost loops that reduce, if other accumulators are updated outside them. */
static uint32_t count_run(const ComputeSchedule *sched)
{
    uint32_t run = 0;
    if (sched->accumulators == 1) return 0;
    while (run < sched->loop_count && sched->loops[sched->loop_count - 1 - run].is_reduction) run++;
    return run;
}

/* Iterations from one use of an accumulator to the next: trips of the loops inside the innermost
 * reduction loop. */
static int64_t reuse_distance(const ComputeSchedule *sched)
{
    int64_t distance = 1;
    for (uint32_t i = sched->loop_count; i-- > sched->first_reduction;) {
        if (sched->loops[i].is_reduction) return distance;
        distance *= sched->loops[i].trip;
    }
    return distance;
}

static int64_t reduction_steps(const ComputeSchedule *sched)
{
    int64_t steps = 1;
    for (uint32_t i = 0; i < sched->loop_count; i++)
        steps *= sched->loops[i].is_reduction ? sched->loops[i].trip : 1;
    return steps;
}

/* Whether the lanes may follow each other within an iteration. A tree is better for many lanes,
 * because its pipeline is shorter. */
static bool keeps_order(const ComputeSchedule *sched, int64_t latency)
{
    enum { MAX_CHAIN = 16 };
    const ReductionSchedule *r = &sched->reduction;
    return sched->reduction_lanes <= MAX_CHAIN &&
           (r->steps == 1 || r->distance >= latency * sched->reduction_lanes);
}

void sched_reduction(ComputeSchedule *sched)
{
    ReductionSchedule *r = &sched->reduction;
    *r = (ReductionSchedule){.steps = 1, .turns = 1, .ii = 1, .distance = 1};
    if (sched->kernel.class == KERNEL_PURE_PARALLEL) return;
    int64_t latency = update_latency(sched->main);
    r->steps = reduction_steps(sched);
    r->distance = reuse_distance(sched);
    r->run = count_run(sched);
    bool is_quick = latency == 1; /* integers, which may be joined in any order */
    if (!is_quick && keeps_order(sched, latency)) return;
    r->combine = find_combine(sched->main);
    if (is_quick) return;
    if (!r->combine) latency *= sched->reduction_lanes;
    if (r->steps == 1 || r->distance >= latency) return;
    if (r->combine && r->distance == sched->accumulators)
        r->turns = i64_min(ceil_div(latency, r->distance), r->steps);
    else
        r->ii = ceil_div(latency, r->distance);
}

/* Whether the stage is `flow + x` or `flow - x`, where x is of the joined element and constants. */
static bool only_adds(const Op *stage, uint32_t joined)
{
    Block *body = linalg_body(stage);
    const Op *sum = value_def(op_operand(body->last, 0));
    if (linalg_input_count(stage) != 2 || value_has_uses(body->args[2]) || !sum ||
        sum->block != body || (sum->def != ARITH(ADDI) && sum->def != ARITH(SUBI)))
        return false;
    Value *flow = body->args[1 - joined];
    return value_has_one_use(flow) && flow->uses->owner == sum &&
           (sum->def == ARITH(ADDI) || op_operand(sum, 0) == flow);
}

/* Integers wrap, so a sum may begin with what would be added to it in the end (NN2FPGA III-E). Not
 * where a stage of its own costs no wait: if sums are complete at once. */
void sched_start(ComputeSchedule *sched)
{
    const Op *combine = sched->reduction.combine;
    sched->starts_from_join = combine && combine->def == ARITH(ADDI) &&
                              sched->reduction.steps > 1 && sched->main->result_count == 1 &&
                              sched->join_count > 0 && sched->joins[0].stage == 0 &&
                              (sched->join_count == 1 || sched->joins[1].stage > 0) &&
                              only_adds(sched->stages[0], sched->joins[0].operand);
}
