/* Products of few bits as counts of bits: what a kernel's products become if their operands are
 * taken apart into planes of one bit. With w in {0, 1} and b the bit of a bipolar v = 2 b - 1, over
 * the N products of a sum
 *
 *   both bipolar:          sum v v'  = 2 pc(b == b') - N
 *   neither:               sum x y   = sum over planes i, j: c_i d_j pc(x_i & y_j)
 *   one, y the stream:     sum v y   = sum over j: d_j (2 pc(b & y_j) - pc(y_j))
 *   one, v the stream:     sum v y   = sum over j: d_j (pc(b == y_j) + pc(b) - N)
 *
 * where d_j = 2^j, but for the top plane of a signed operand -2^j. What is counted of the stream
 * alone is shared by all lanes that share its elements; multiples of N go to where the sum starts.
 * FINN-R, 4.1 has the first form and the second.
 * Tests: test/unit/schedule/popcount_test.c, lit/lowering/dfg_to_emithls/popcount.mir */
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "schedule/internal.h"
#include "schedule/schedule.h"

enum { MAX_DEPTH = 8 }; /* of operands' expressions */

static bool is_number(const Value *value, int64_t number)
{
    const Op *def = value_def(value);
    return def && def->def == ARITH(CONSTANT) && attr_int_value(op_attr(def, "value")) == number;
}

/* The bit behind b ? 1 : -1, extended or not; NULL: it is something else. */
static Value *bipolar_bit(const Value *value)
{
    const Op *op = value_def(value);
    while (op && op->def == ARITH(EXTSI)) op = value_def(op_operand(op, 0));
    bool is_bipolar = op && op->def == ARITH(SELECT) && type_is_integer(op_operand(op, 1)->type) &&
                      is_number(op_operand(op, 1), 1) && is_number(op_operand(op, 2), -1);
    return is_bipolar ? op_operand(op, 0) : NULL;
}

/* False: its range is not known. */
static bool take_operand(const Op *main, Value *value, PopcountOperand *out)
{
    PayloadRange range;
    if (!payload_range(main, value, &range)) return false;
    *out = (PopcountOperand){.value = value, .planes = 1, .loops = range.loops};
    Value *bit = bipolar_bit(value);
    if (bit) {
        out->value = bit;
        out->is_bipolar = true;
        return true;
    }
    out->is_signed = range.low < 0;
    out->planes = payload_range_bits(range.low, range.high) - !out->is_signed;
    return out->planes > 0;
}

/* Whether a value of the payload depends on an element of a stream. */
static bool is_streamed(const ComputeSchedule *sched, const Value *value, int depth)
{
    const Op *op = value_def(value);
    for (uint32_t s = 0; !op && s < sched->stream_count; s++)
        if (sched->stream_operand[s] == value->index) return true;
    for (uint32_t i = 0; op && depth > 0 && i < op->operand_count; i++)
        if (is_streamed(sched, op_operand(op, i), depth - 1)) return true;
    return false;
}

int64_t sched_popcount_weight(const PopcountOperand *operand, int64_t plane)
{
    int64_t weight = (int64_t)1 << plane;
    return operand->is_signed && plane + 1 == operand->planes ? -weight : weight;
}

/* The sum of an operand's weights: -1 if it is signed. */
static int64_t all_weights(const PopcountOperand *operand)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < operand->planes; i++) sum += sched_popcount_weight(operand, i);
    return sum;
}

/* The form that the operands take. */
static void choose_form(const ComputeSchedule *sched, PopcountSchedule *p)
{
    int64_t products = sched->reduction.steps * sched->reduction_lanes;
    p->shared = -1;
    p->scale = 1;
    if (p->operands[0].is_bipolar && p->operands[1].is_bipolar) {
        p->compares = true;
        p->scale = 2;
        p->offset = -products;
    } else if (p->operands[0].is_bipolar || p->operands[1].is_bipolar) {
        int bipolar = p->operands[0].is_bipolar ? 0 : 1;
        p->compares = is_streamed(sched, p->operands[bipolar].value, MAX_DEPTH);
        p->shared = p->compares ? bipolar : 1 - bipolar;
        p->scale = p->compares ? 1 : 2;
        p->shared_scale = p->compares ? all_weights(&p->operands[1 - bipolar]) : -1;
        p->offset = p->compares ? -p->shared_scale * products : 0;
    }
}

/* Whether a table has an element for each lane of the reduction. */
static bool has_all_lanes(const ComputeSchedule *sched, const AffineMap *map)
{
    for (uint32_t i = 0; i < sched->kernel.loop_count; i++)
        if (sched->kernel.is_reduction[i] && sched->unroll[i] > 1 && !map_uses_dim(map, i))
            return false;
    return sched->reduction_lanes > 1;
}

/* The input of main that has the planes of an operand as its elements' bits, if a table holds them;
 * else -1. */
static int table_of_planes(const ComputeSchedule *sched, const PopcountOperand *operand)
{
    int input = sched_element_input(sched->main, operand->value);
    if (input < 0 || !sched_is_table(op_operand(sched->main, (uint32_t)input))) return -1;
    const Type *elem = type_elem(op_operand(sched->main, (uint32_t)input)->type);
    bool has_planes = type_is_integer(elem) && operand->planes <= (int64_t)type_width(elem);
    return has_planes && has_all_lanes(sched, linalg_operand_map(sched->main, (uint32_t)input))
               ? input
               : -1;
}

void sched_popcount(ComputeSchedule *sched)
{
    PopcountSchedule p = {.product = NULL};
    sched->popcount = p;
    const Op *combine = sched->reduction.combine;
    if (sched->kernel.class == KERNEL_PURE_PARALLEL || !combine || combine->def != ARITH(ADDI) ||
        sched->reduction.turns > 1 || type_width(op_result(combine, 0)->type) < 2)
        return;
    p.product = sched_payload_product(sched->main);
    if (!p.product || !sched_product_is_whole(sched->main, p.product)) return;
    for (uint32_t i = 0; i < 2; i++)
        if (!take_operand(sched->main, op_operand(p.product, i), &p.operands[i])) return;
    for (uint32_t i = 0; i < 2; i++) p.operands[i].table = table_of_planes(sched, &p.operands[i]);
    if (p.operands[0].planes * p.operands[1].planes > POPCOUNT_MOST_PAIRS) return;
    choose_form(sched, &p);
    p.is_used = sched_multiplier_is(sched->main, DFG_MULTIPLIER_POPCOUNT);
    sched->popcount = p;
}

int64_t sched_popcount_lanes(const ComputeSchedule *sched, const PopcountOperand *operand)
{
    int64_t lanes = 1;
    for (uint32_t i = 0; i < sched->kernel.loop_count; i++)
        if (!sched->kernel.is_reduction[i] && (operand->loops >> i & 1u)) lanes *= sched->unroll[i];
    return lanes;
}

int64_t sched_popcount_gathered(const ComputeSchedule *sched)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < 2; i++) {
        const PopcountOperand *x = &sched->popcount.operands[i];
        if (x->table < 0)
            most = i64_max(most, sched->reduction_lanes * sched_popcount_lanes(sched, x));
    }
    return most;
}

bool sched_popcount_splits_rows(int64_t words, int64_t bits)
{
    enum { WIDEST = 4096 };
    return bits > 1 && words * bits > WIDEST;
}

const PopcountOperand *sched_popcount_table(const ComputeSchedule *sched, uint32_t input)
{
    for (uint32_t i = 0; i < 2; i++)
        if (sched->popcount.product && sched->popcount.operands[i].table == (int)input)
            return &sched->popcount.operands[i];
    return NULL;
}

int64_t sched_popcount_bits(int64_t count)
{
    return i64_log2_up(count + 1);
}

/* Two halves, whose sizes are multiples of three, are counted and added. */
int64_t sched_popcount_adder_luts(int64_t count)
{
    if (count <= POPCOUNT_LEAF) return 0;
    int64_t low = sched_popcount_low_half(count);
    return sched_popcount_adder_luts(low) + sched_popcount_adder_luts(count - low) +
           sched_popcount_bits(count);
}

int64_t sched_popcount_low_half(int64_t count)
{
    return ceil_div(count, POPCOUNT_LEAF) / 2 * POPCOUNT_LEAF;
}
