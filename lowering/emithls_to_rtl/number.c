/* Indices and conditions: affine expressions over the counters as sums of shifted counters. All of
 * it happens in the first cycle of an iteration, in which the counters are known.
 * Tests: lit/lowering/emithls_to_rtl */
#include <assert.h>

#include "dialects/arith/arith.h"
#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "lowering/emithls_to_rtl/internal.h"

enum { MOST_QUOTIENT_BITS = 62 }; /* of a dividend and a divisor together */

static uint32_t unsigned_bits(int64_t value)
{
    uint32_t bits = 1;
    while (bits < 63 && value >> bits) bits++;
    return bits;
}

static uint32_t bits_of(int64_t low, int64_t high)
{
    if (low >= 0) return unsigned_bits(high);
    uint32_t bits = unsigned_bits(i64_max(high, -(low + 1)));
    return bits + 1;
}

static NodeId widen(Graph *g, Number n, uint32_t width)
{
    return to_rtl_extend(g, n.node, width, n.low < 0);
}

static Number constant(Graph *g, int64_t value)
{
    return (Number){to_rtl_const(g, bits_of(value, value), value), value, value};
}

/* Of the true range: what the result has beyond it is cut off. */
static Number combine(Graph *g, NodeKind kind, Number a, Number b, int64_t low, int64_t high)
{
    uint32_t width = bits_of(low, high);
    NodeId node = to_rtl_binary(g, kind, width, widen(g, a, width), widen(g, b, width), 0);
    return (Number){node, low, high};
}

static Number add(Graph *g, Number a, Number b)
{
    return combine(g, NODE_ADD, a, b, a.low + b.low, a.high + b.high);
}

/* By a constant: shifted copies, one per signed digit of its magnitude (NAF), added or subtracted. The
 * highest digit is first and positive, so no partial sum changes the sign. */
static Number multiply(Graph *g, Number a, int64_t factor)
{
    uint64_t magnitude = factor < 0 ? -(uint64_t)factor : (uint64_t)factor, triple = 3 * magnitude;
    uint64_t plus = (triple & ~magnitude) >> 1, minus = (magnitude & ~triple) >> 1;
    int64_t done = 0;
    Number sum = constant(g, 0);
    for (uint32_t bit = 62; bit-- > 0;) {
        if (!((plus | minus) >> bit & 1)) continue;
        int64_t scale = (int64_t)1 << bit;
        uint32_t width = bits_of(a.low * scale, a.high * scale);
        const NodeId copy =
            to_rtl_binary(g, NODE_SHL, width, widen(g, a, width), to_rtl_const(g, width, bit), 0);
        const Number part = {copy, a.low * scale, a.high * scale};
        done += plus >> bit & 1 ? scale : -scale;
        sum = combine(g, plus >> bit & 1 ? NODE_ADD : NODE_SUB, sum, part, a.low * done,
                      a.high * done);
    }
    return factor < 0 ? combine(g, NODE_SUB, constant(g, 0), sum, -sum.high, -sum.low) : sum;
}

/* Long division by a small constant in digits, so that each step is a function of six bits: what is
 * left of the digits before, and the next digit. A LUT gives a bit of it. */
typedef struct LongDivision {
    int64_t divisor;
    uint32_t rest_bits, digit_bits, steps;
} LongDivision;

/* False: a step has no bits for a digit, or there are so many steps that a product is shorter. */
static bool plan_long_division(uint32_t width, int64_t divisor, LongDivision *out)
{
    enum { LUT_INPUTS = 6, MOST_STEPS = 4 };
    uint32_t bits = (uint32_t)i64_log2_up(divisor);
    if (bits >= LUT_INPUTS) return false;
    *out = (LongDivision){divisor, bits, LUT_INPUTS - bits, 1};
    if (width > LUT_INPUTS)
        out->steps += (width - LUT_INPUTS + out->digit_bits - 1) / out->digit_bits;
    return out->steps <= MOST_STEPS;
}

/* Quotient or remainder of `base` and the low `bits` bits of an index, as choices by its bits. */
static NodeId quotient_table(Graph *g, NodeId index, uint32_t bits, int64_t base,
                             const LongDivision *by, bool wants_rest, uint32_t width)
{
    if (bits == 0)
        return to_rtl_const(g, width, wants_rest ? base % by->divisor : base / by->divisor);
    NodeId low = quotient_table(g, index, bits - 1, base, by, wants_rest, width);
    NodeId high = quotient_table(g, index, bits - 1, base + ((int64_t)1 << (bits - 1)), by,
                                 wants_rest, width);
    return to_rtl_mux(g, to_rtl_extract(g, index, bits - 1, 1), high, low);
}

static NodeId long_division(Graph *g, NodeId a, const LongDivision *by, bool wants_rest)
{
    uint32_t width = to_rtl_node(g, a)->width;
    uint32_t place = (by->steps - 1) * by->digit_bits, first = width - place;
    NodeId step = to_rtl_extract(g, a, place, first), quotient = NO_NODE;
    for (;;) {
        uint32_t bits = to_rtl_node(g, step)->width;
        NodeId digit = quotient_table(g, step, bits, 0, by, false, bits);
        NodeId rest = quotient_table(g, step, bits, 0, by, true, by->rest_bits);
        NodeId parts[] = {digit, quotient};
        if (quotient != NO_NODE) parts[0] = to_rtl_extend(g, digit, by->digit_bits, false);
        quotient = quotient == NO_NODE ? digit : to_rtl_concat(g, parts, 2);
        if (place == 0) return to_rtl_extend(g, wants_rest ? rest : quotient, width, false);
        place -= by->digit_bits;
        const NodeId next[] = {to_rtl_extract(g, a, place, by->digit_bits), rest};
        step = to_rtl_concat(g, next, 2);
    }
}

/* A divisor with few bits divides digit by digit. Else by d of a number of w bits, with l the bits of d - 1 (T. Granlund and P. Montgomery, Division by
 * invariant integers using multiplication, theorem 4.2):
 *
 *   x / d = x m >> (w + l),   m = floor(2^(w + l) / d) + 1 */
NodeId to_rtl_divide(Graph *g, NodeId a, NodeId by, bool wants_rest)
{
    int64_t d;
    LongDivision steps;
    uint32_t width = to_rtl_node(g, a)->width, out = 2 * width + 1;
    if (!to_rtl_is_const(g, by, &d) || d < 1) return NO_NODE;
    if (d > 1 && plan_long_division(width, d, &steps))
        return long_division(g, a, &steps, wants_rest);
    uint32_t shift = width + (uint32_t)i64_log2_up(d);
    if (shift > MOST_QUOTIENT_BITS) return NO_NODE;
    int64_t m = ((int64_t)1 << shift) / d + 1;
    NodeId factor = to_rtl_extend(g, to_rtl_const(g, width + 1, m), out, false);
    NodeId product = to_rtl_binary(g, NODE_MUL, out, to_rtl_extend(g, a, out, false), factor, 0);
    NodeId quotient =
        to_rtl_extend(g, to_rtl_extract(g, product, shift, out - shift), width, false);
    if (!wants_rest) return quotient;
    NodeId whole = to_rtl_binary(g, NODE_MUL, width, quotient, by, 0);
    return to_rtl_binary(g, NODE_SUB, width, a, whole, 0);
}

static bool is_power_of_two(int64_t value)
{
    return (value & (value - 1)) == 0;
}

/* Quotient, rounded down, or remainder, by a positive constant. A dividend that may be negative is
 * moved up by a multiple of the divisor. */
static Number divide(Graph *g, Number a, int64_t divisor, bool wants_rest)
{
    int64_t moved = a.low < 0 ? -floor_div(a.low, divisor) : 0;
    Number up = add(g, a, constant(g, moved * divisor));
    int64_t low = up.low / divisor, high = up.high / divisor;
    if (low == high)
        return wants_rest ? add(g, up, constant(g, -low * divisor)) : constant(g, low - moved);
    if (wants_rest) {
        low = 0;
        high = divisor - 1;
    }
    uint32_t width = to_rtl_node(g, up.node)->width, bits = (uint32_t)i64_log2_up(divisor);
    Number out = {NO_NODE, low, high};
    if (!is_power_of_two(divisor)) {
        out.node = to_rtl_divide(g, up.node, to_rtl_const(g, width, divisor), wants_rest);
        assert(out.node != NO_NODE); /* divided_range */
    } else if (wants_rest) {
        out.node = bits ? to_rtl_extract(g, up.node, 0, bits < width ? bits : width)
                        : to_rtl_const(g, 1, 0);
    } else {
        out.node =
            bits < width ? to_rtl_extract(g, up.node, bits, width - bits) : to_rtl_const(g, 1, 0);
    }
    out.node = to_rtl_extend(g, out.node, bits_of(low, high), false);
    return wants_rest || moved == 0 ? out : add(g, out, constant(g, -moved));
}

/* Above it, numbers and what is computed on the way to them may leave 64 bits. */
static const int64_t most_number = INT64_C(1) << 59;

typedef struct NumberRange {
    int64_t low, high;
} NumberRange;

static bool is_in_range(NumberRange range)
{
    return range.low >= -most_number && range.high <= most_number;
}

/* As divide does. */
static bool divided_range(NumberRange *range, int64_t divisor, bool wants_rest)
{
    int64_t moved = range->low < 0 ? -floor_div(range->low, divisor) : 0;
    NumberRange up = {range->low + moved * divisor, range->high + moved * divisor};
    int64_t low = up.low / divisor, high = up.high / divisor;
    if (low == high)
        *range = wants_rest ? (NumberRange){up.low - low * divisor, up.high - low * divisor}
                            : (NumberRange){low - moved, high - moved};
    else
        *range =
            wants_rest ? (NumberRange){0, divisor - 1} : (NumberRange){low - moved, high - moved};
    return low == high || is_power_of_two(divisor) ||
           unsigned_bits(up.high) + i64_log2_up(divisor) <= MOST_QUOTIENT_BITS;
}

static bool multiplied_range(NumberRange *range, int64_t factor)
{
    int64_t low, high;
    if (!i64_mul(range->low, factor, &low) || !i64_mul(range->high, factor, &high)) return false;
    *range = (NumberRange){i64_min(low, high), i64_max(low, high)};
    return factor >= -most_number && factor <= most_number;
}

/* The numbers that to_rtl_number has for the expression; false: one may be too large. */
static bool number_range(const BodyBuilder *b, const AffineExpr *expr, NumberRange *out)
{
    NumberRange rhs;
    if (expr->kind == AFFINE_DIM) {
        *out = (NumberRange){0, b->loop->extents[expr->value] - 1};
        return is_in_range(*out);
    }
    if (!expr->lhs) {
        *out = (NumberRange){expr->value, expr->value};
        return is_in_range(*out);
    }
    if (!number_range(b, expr->lhs, out)) return false;
    if (expr->kind == AFFINE_ADD) {
        if (!number_range(b, expr->rhs, &rhs)) return false;
        *out = (NumberRange){out->low + rhs.low, out->high + rhs.high};
        return is_in_range(*out);
    }
    int64_t number = expr->rhs->value;
    if (expr->kind == AFFINE_MUL) return multiplied_range(out, number) && is_in_range(*out);
    if (expr->kind == AFFINE_CEILDIV)
        *out = (NumberRange){out->low + number - 1, out->high + number - 1};
    return divided_range(out, number, expr->kind == AFFINE_MOD) && is_in_range(*out);
}

Number to_rtl_number(BodyBuilder *b, const AffineExpr *expr)
{
    Graph *g = b->g;
    Number left;
    int64_t high;
    switch (expr->kind) {
    case AFFINE_DIM:
        high = b->loop->extents[expr->value] - 1;
        return (Number){to_rtl_leaf(g, NODE_COUNTER, bits_of(0, high), expr->value), 0, high};
    case AFFINE_ADD:
        left = to_rtl_number(b, expr->lhs);
        return add(g, left, to_rtl_number(b, expr->rhs));
    case AFFINE_MUL: return multiply(g, to_rtl_number(b, expr->lhs), expr->rhs->value);
    case AFFINE_MOD: return divide(g, to_rtl_number(b, expr->lhs), expr->rhs->value, true);
    case AFFINE_FLOORDIV: return divide(g, to_rtl_number(b, expr->lhs), expr->rhs->value, false);
    case AFFINE_CEILDIV:
        left = add(g, to_rtl_number(b, expr->lhs), constant(g, expr->rhs->value - 1));
        return divide(g, left, expr->rhs->value, false);
    case AFFINE_CONST:
    case AFFINE_SYMBOL: break;
    }
    return constant(g, expr->value);
}

const AffineExpr *to_rtl_over_counters(const BodyBuilder *b, const Op *op, uint32_t first,
                                       const AffineExpr *expr)
{
    const AffineExpr *dims[HLS_MAX_LOOPS];
    if (op->operand_count - first > HLS_MAX_LOOPS) return NULL;
    for (uint32_t i = first; i < op->operand_count; i++) {
        int at = design_counter_of(b->loop, op_operand(op, i));
        dims[i - first] =
            at >= 0 ? affine_dim(op->ctx, (uint32_t)at) : ptrmap_get(&b->lanes, op_operand(op, i));
        if (!dims[i - first] && affine_uses_dim(expr, i - first)) return NULL;
        if (!dims[i - first]) dims[i - first] = affine_const(op->ctx, 0);
    }
    expr = affine_replace(expr, dims, op->operand_count - first, NULL, 0);
    NumberRange range;
    return affine_is_pure(expr) && number_range(b, expr, &range) ? expr : NULL;
}

bool to_rtl_refuse_index(const Op *op)
{
    return op_error(op,
                    "cannot become hardware: an index is no loop counter, or its numbers are too "
                    "large");
}

/* number >= bound, or == bound; is_upper: number <= bound. */
static NodeId compare(Graph *g, Number n, int64_t bound, bool is_eq, bool is_upper)
{
    bool below = n.low<bound, above = n.high> bound;
    if (is_eq ? n.low > bound || n.high < bound : is_upper ? n.low > bound : n.high < bound)
        return to_rtl_const(g, 1, 0);
    if (is_eq ? !below && !above : is_upper ? !above : !below) return to_rtl_const(g, 1, 1);
    uint32_t width = to_rtl_node(g, n.node)->width;
    if (!is_eq && !is_upper && n.low < 0 && bound == 0)
        return to_rtl_not(g, to_rtl_extract(g, n.node, width - 1, 1));
    int64_t predicate = is_eq      ? CMPI_EQ
                        : is_upper ? (n.low < 0 ? CMPI_SLE : CMPI_ULE)
                                   : (n.low < 0 ? CMPI_SGE : CMPI_UGE);
    return to_rtl_binary(g, NODE_CMP, 1, n.node, to_rtl_const(g, width, bound), predicate);
}

/* The constant of a sum, which is dropped; 0: none. */
static int64_t split_constant(const AffineExpr **expr)
{
    const AffineExpr *sum = *expr;
    if (sum->kind != AFFINE_ADD || !affine_is_const(sum->rhs)) return 0;
    *expr = sum->lhs;
    return sum->rhs->value;
}

/* expr >= 0, or == 0, with constants on the other side, and what is subtracted, too. */
static NodeId constraint(BodyBuilder *b, const AffineExpr *expr, bool is_eq)
{
    int64_t bound = -split_constant(&expr);
    bool is_negated = expr->kind == AFFINE_MUL && expr->rhs->value == -1;
    if (is_negated) {
        expr = expr->lhs;
        bound = -bound - split_constant(&expr);
    }
    return compare(b->g, to_rtl_number(b, expr), bound, is_eq, is_negated);
}

bool to_rtl_condition(BodyBuilder *b, const Op *op, NodeId *out)
{
    const IntegerSet *set = op_attr(op, EMITHLS_ATTR_CONDITION)->u.set;
    *out = NO_NODE;
    for (uint32_t i = 0; i < set->constraint_count; i++) {
        const AffineExpr *expr = to_rtl_over_counters(b, op, 0, set->constraints[i]);
        if (!expr) return to_rtl_refuse_index(op);
        *out = to_rtl_and(b->g, *out, constraint(b, expr, set->is_eq[i]));
    }
    int64_t always;
    if (*out != NO_NODE && to_rtl_is_const(b->g, *out, &always) && always) *out = NO_NODE;
    return true;
}
