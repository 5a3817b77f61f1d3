/* The cost model's formulas. Sources: BRAM shapes from the device's RAMB18 modes, DSP counts from the
 * 27 x 18 multiplier of the DSP48E2, cycles from MING section IV.C (trip count at II = 1).
 * Tests: test/unit/cost_test.c */
#include "target/cost.h"

#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/linalg/structured.h"
#include "dialects/math/math.h"
#include "dialects/tensor/tensor.h"

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }

const CostName cost_names[COST_KINDS] = {
    [COST_CYCLES] = {"cycles", "cycles"}, [COST_DSP] = {"dsp", "DSP"},
    [COST_BRAM18] = {"bram18", "BRAM18"}, [COST_URAM] = {"uram", "URAM"},
    [COST_LUT] = {"lut", "LUT"},          [COST_FF] = {"ff", "FF"},
};

void cost_add(Cost *sum, const Cost *part)
{
    for (int k = 0; k < COST_KINDS; k++)
        sum->items[k] += part->items[k];
}

/* --- memories ------------------------------------------------------------------------- */

bool memory_is_small(int64_t width_bits, int64_t depth)
{
    return depth <= 64 || width_bits * depth <= 1024;
}

Str memory_impl(int64_t width_bits, int64_t depth)
{
    return memory_is_small(width_bits, depth) ? STR("lutram") : STR("bram");
}

int64_t memory_bram18(int64_t width_bits, int64_t depth)
{
    static const struct {
        int64_t width, depth;
    } shapes[] = {{1, 16384}, {2, 8192}, {4, 4096}, {9, 2048}, {18, 1024}, {36, 512}};
    int64_t best = INT64_MAX;
    if (memory_is_small(width_bits, depth))
        return 0;
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        best = min_i64(best,
                       ceil_div(width_bits, shapes[i].width) * ceil_div(depth, shapes[i].depth));
    return best;
}

int64_t element_bits(const Type *elem) { return type_width(elem); }

/* --- arithmetic ------------------------------------------------------------------------- */

int64_t product_dsp(int64_t a_bits, int64_t b_bits)
{
    int64_t wide = a_bits > b_bits ? a_bits : b_bits, narrow = a_bits + b_bits - wide;
    if (wide <= 3)
        return 0; /* a few LUTs */
    if (wide <= 27 && narrow <= 18)
        return 1;
    /* Unsigned slices of 26 and 17 bits below a signed top slice. */
    return min_i64(ceil_div(wide - 1, 26) * ceil_div(narrow - 1, 17),
                   ceil_div(wide - 1, 17) * ceil_div(narrow - 1, 26));
}

/* Signed bits that a value needs, seen through extensions and constants. */
static int64_t effective_bits(const Value *value)
{
    const Op *def = value_def(value);
    if (def && def->def == ARITH(EXTSI))
        return effective_bits(op_operand(def, 0));
    if (def && def->def == ARITH(EXTUI))
        return type_width(op_operand(def, 0)->type) + 1;
    if (def && def->def == ARITH(CONSTANT) && type_is_integer(value->type) &&
        type_width(value->type) <= 64) {
        int64_t number = attr_int_value(op_attr(def, "value")), bits = 1;
        for (int64_t rest = number < 0 ? ~number : number; rest; rest >>= 1)
            bits++;
        return bits;
    }
    return type_width(value->type);
}

/* A power of two or zero: a shift. */
static bool is_shift_constant(const Value *value)
{
    const Op *def = value_def(value);
    if (!def || def->def != ARITH(CONSTANT) || !type_is_integer(value->type) ||
        type_width(value->type) > 64)
        return false;
    int64_t number = attr_int_value(op_attr(def, "value"));
    uint64_t size = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    return (size & (size - 1)) == 0;
}

/* f32 on a DSP48E2: add 2, multiply 3 (Vitis' full-DSP operators). */
int64_t scalar_op_dsp(const Op *op)
{
    enum { FLOAT_ADD = 2, FLOAT_MUL = 3 };
    if (op->def == ARITH(MULI)) {
        const Value *a = op_operand(op, 0), *b = op_operand(op, 1);
        if (is_shift_constant(a) || is_shift_constant(b))
            return 0;
        return product_dsp(effective_bits(a), effective_bits(b));
    }
    if (op->def == ARITH(ADDF) || op->def == ARITH(SUBF))
        return FLOAT_ADD;
    if (op->def == ARITH(MULF))
        return FLOAT_MUL;
    return 0;
}

int64_t payload_dsp(const Op *generic)
{
    int64_t total = 0;
    FOR_EACH_OP(op, linalg_body(generic))
    total += scalar_op_dsp(op);
    return total;
}

/* --- processes ----------------------------------------------------------------------------- */

/* A splat is a constant in the code, and an operand that only gives its shape is not stored. */
static bool is_table(const Op *generic, uint32_t operand)
{
    const Op *def = value_def(op_operand(generic, operand));
    if (!def || !op_has_trait(def, TRAIT_CONSTANT_LIKE) || !linalg_reads_operand(generic, operand))
        return false;
    const Attr *value = op_attr(def, "value");
    return value->kind == ATTR_DENSE && !value->u.dense.is_splat;
}

/* Ops that join the partial sums of a lane. */
static int64_t join_dsp(const ReductionPlan *r)
{
    return r->turns > 1 ? (r->turns - 1) * scalar_op_dsp(r->combine) : 0;
}

static int64_t table_bram(const ComputePlan *plan, const Value *operand, const AffineMap *map)
{
    TableLayout layout;
    table_layout(plan, map, &layout);
    return memory_bram18(layout.lanes * element_bits(type_elem(operand->type)), layout.depth);
}

/* Constants that a payload reads where it computes; a memory has two ports, a lane needs one. */
static int64_t lookups_bram(const Op *generic, int64_t lanes)
{
    int64_t total = 0;
    FOR_EACH_OP(op, linalg_body(generic))
    {
        int64_t count;
        if (op->def != TENSOR(EXTRACT) || !type_element_count(op_operand(op, 0)->type, &count))
            continue;
        int64_t one = memory_bram18(element_bits(type_elem(op_operand(op, 0)->type)), count);
        total += one * ((lanes + 1) / 2);
    }
    return total;
}

static int64_t tables_bram(const ComputePlan *plan)
{
    int64_t total = lookups_bram(plan->main, plan->lanes * plan->reduction_lanes);
    for (uint32_t s = 0; s < plan->stage_count; s++)
        total += lookups_bram(plan->stages[s], plan->lanes);
    for (uint32_t i = 0; i < plan->main->operand_count; i++)
        if (is_table(plan->main, i))
            total += table_bram(plan, op_operand(plan->main, i), linalg_operand_map(plan->main, i));
    for (uint32_t s = 0; s < plan->stage_count; s++)
        for (uint32_t i = 0; i < linalg_input_count(plan->stages[s]); i++)
            if (is_table(plan->stages[s], i))
                total += table_bram(plan, op_operand(plan->stages[s], i),
                                    stage_operand_map(plan, s, i));
    return total;
}

void compute_cost(const ComputePlan *plan, Cost *out)
{
    int64_t stages = 0, acc_bits = element_bits(type_elem(op_result(plan->main, 0)->type));
    for (uint32_t s = 0; s < plan->stage_count; s++)
        stages += payload_dsp(plan->stages[s]);
    *out = (Cost){.cycles = compute_trips(plan) * plan->reduction.ii + PIPELINE_DEPTH,
                  .dsp = plan->lanes * (plan->reduction_lanes * payload_dsp(plan->main) +
                                        join_dsp(&plan->reduction) + stages),
                  .bram18 = tables_bram(plan)};
    if (plan->accumulators > 1 && plan->reduction.turns == 1)
        out->bram18 += memory_bram18(plan->lanes * acc_bits, plan->accumulators);
}

void reorder_cost(const ReorderPlan *plan, Cost *out)
{
    int64_t bits = element_bits(type_elem(op_result(plan->reorder, 0)->type));
    *out = (Cost){.cycles = reorder_trips(plan) + PIPELINE_DEPTH,
                  .bram18 = memory_bram18(plan->lanes * bits, plan->depth)};
}

void merge_cost(const MergePlan *plan, Cost *out)
{
    int64_t bits = element_bits(type_elem(op_result(plan->merge, 0)->type));
    *out = (Cost){.cycles = merge_trips(plan) + PIPELINE_DEPTH};
    for (uint32_t i = 0; i < plan->source_count; i++)
        if (plan->port[i] < 0 && !merge_constant(plan, i)->u.dense.is_splat)
            out->bram18 += memory_bram18(plan->lanes * bits, merge_words(plan, i));
}

void window_memory(const WindowPlan *plan, uint32_t level, int64_t *width, int64_t *depth)
{
    int64_t bits = element_bits(type_elem(op_operand(plan->window, 0)->type));
    *width = window_taps(plan, level) * window_history(plan, level) * plan->lanes * bits;
    *depth = window_row_words(plan, level);
}

void window_cost(const WindowPlan *plan, Cost *out)
{
    *out = (Cost){.cycles = window_trips(plan) + PIPELINE_DEPTH};
    for (uint32_t level = 0; level < plan->params.count; level++) {
        int64_t width, depth;
        window_memory(plan, level, &width, &depth);
        if (width > 0)
            out->bram18 += memory_bram18(width, depth);
    }
}

/* An iteration per small word. */
static int64_t converter_cycles(const Type *from, const Type *to)
{
    int64_t in = dfg_words_per_frame(from), out = dfg_words_per_frame(to);
    return (in > out ? in : out) + PIPELINE_DEPTH;
}

void conversion_cost(const Type *from, const Type *middle, const Type *to, Cost *out)
{
    *out = (Cost){.cycles = 0};
    if (middle)
        out->cycles += converter_cycles(from, middle);
    out->cycles += converter_cycles(middle ? middle : from, to);
}
