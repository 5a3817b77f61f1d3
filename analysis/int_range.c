/* Ranges of integers, derived from types, constants and interval arithmetic.
 *
 * An accumulator that adds a term in every step gets the sum of the terms' ranges. If the terms are
 * products with a constant tensor, the products are added up element by element, and the largest
 * and the least sum of any output count. Partial sums stay within that range in whatever order they
 * are formed, because every term's range is taken to contain 0.
 * Tests: lit/passes/linalg/narrow-integers.mir */
#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"

enum { ROW = 256 }; /* elements of a constant that are read at once */

static IntRange hull(IntRange a, IntRange b)
{
    return (IntRange){i64_min(a.lo, b.lo), i64_max(a.hi, b.hi)};
}

static bool is_within(IntRange inner, IntRange outer)
{
    return inner.lo >= outer.lo && inner.hi <= outer.hi;
}

uint32_t int_range_bits(IntRange range)
{
    uint32_t bits = 2;
    while (range.lo < -(INT64_C(1) << (bits - 1)) || range.hi >= INT64_C(1) << (bits - 1))
        if (++bits == 64) break;
    return bits;
}

static const Type *scalar_of(const Type *type)
{
    return linalg_payload_type(type);
}

bool int_range_is_known_for(const Type *type)
{
    const Type *scalar = scalar_of(type);
    return type_is_integer(scalar) && type_width(scalar) > 0 && type_width(scalar) <= 64;
}

IntRange int_range_of_type(const Type *type)
{
    int64_t most = INT64_MAX >> (64 - type_width(scalar_of(type)));
    return (IntRange){-most - 1, most};
}

void int_range_init(IntRanges *ranges, Arena *arena)
{
    *ranges = (IntRanges){.arena = arena};
}

void int_range_free(IntRanges *ranges)
{
    ptrmap_free(&ranges->known);
}

void int_range_set(IntRanges *ranges, const Value *value, IntRange range)
{
    IntRange *copy = ARENA_ARRAY(ranges->arena, IntRange, 1);
    *copy = range;
    ptrmap_put(&ranges->known, value, copy);
}

static void forget(IntRanges *ranges, const Op *op)
{
    for (uint32_t r = 0; r < op->result_count; r++) ptrmap_remove(&ranges->known, op_result(op, r));
}

void int_range_forget(IntRanges *ranges, const Op *op)
{
    forget(ranges, op);
    if (op->def != LINALG(GENERIC)) return;
    const Block *body = linalg_body(op);
    for (uint32_t i = 0; i < body->arg_count; i++) ptrmap_remove(&ranges->known, body->args[i]);
    FOR_EACH_OP(inner, body) forget(ranges, inner);
}

static IntRange constant_range(const Attr *value, const Type *type)
{
    if (value->kind == ATTR_INTEGER)
        return (IntRange){attr_int_value(value), attr_int_value(value)};
    if (value->kind != ATTR_DENSE || dense_count(value) == 0) return int_range_of_type(type);
    IntRange range = {INT64_MAX, INT64_MIN};
    int64_t count = value->u.dense.is_splat ? 1 : dense_count(value), row[ROW];
    for (int64_t begin = 0; begin < count; begin += ROW) {
        int64_t size = i64_min(count - begin, ROW);
        dense_i64_row(value, begin, (size_t)size, row);
        for (int64_t i = 0; i < size; i++) range = hull(range, (IntRange){row[i], row[i]});
    }
    return range;
}

/* The range of the result of an op that fills a tensor or only moves elements. */
static IntRange moved_range(IntRanges *ranges, const Op *op, const Type *type)
{
    if (kernel_fill_value(op)) return int_range_of_value(ranges, kernel_fill_value(op));
    if (reshape_is(op) || op->def == TENSOR(EXTRACT_SLICE))
        return int_range_of_value(ranges, op_operand(op, 0));
    if (op->def == TENSOR(INSERT_SLICE))
        return hull(int_range_of_value(ranges, op_operand(op, 0)),
                    int_range_of_value(ranges, op_operand(op, 1)));
    if (op->def == TENSOR(PAD))
        return hull(
            int_range_of_value(ranges, op_operand(op, 0)),
            int_range_of_value(ranges, op_operand(region_entry(op_region(op, 0))->last, 0)));
    return int_range_of_type(type);
}

IntRange int_range_of_value(IntRanges *ranges, const Value *value)
{
    const IntRange *known = ptrmap_get(&ranges->known, value);
    if (known) return *known;
    const Op *def = value_def(value);
    IntRange range = int_range_of_type(value->type);
    if (def && def->def == ARITH(CONSTANT))
        range = constant_range(op_attr(def, "value"), value->type);
    else if (def)
        range = moved_range(ranges, def, value->type);
    int_range_set(ranges, value, range);
    return range;
}

static bool sum_of(IntRange a, IntRange b, IntRange *out)
{
    return i64_add(a.lo, b.lo, &out->lo) && i64_add(a.hi, b.hi, &out->hi);
}

static bool difference_of(IntRange a, IntRange b, IntRange *out)
{
    return b.lo > INT64_MIN && b.hi > INT64_MIN && sum_of(a, (IntRange){-b.hi, -b.lo}, out);
}

static bool product_of(IntRange a, IntRange b, IntRange *out)
{
    int64_t corner[4];
    if (!i64_mul(a.lo, b.lo, &corner[0]) || !i64_mul(a.lo, b.hi, &corner[1]) ||
        !i64_mul(a.hi, b.lo, &corner[2]) || !i64_mul(a.hi, b.hi, &corner[3]))
        return false;
    *out = (IntRange){corner[0], corner[0]};
    for (int i = 1; i < 4; i++) *out = hull(*out, (IntRange){corner[i], corner[i]});
    return true;
}

static bool shifted_right(IntRange a, IntRange by, IntRange *out)
{
    if (by.lo < 0 || by.hi > 63) return false;
    *out = hull((IntRange){a.lo >> by.lo, a.hi >> by.lo}, (IntRange){a.lo >> by.hi, a.hi >> by.hi});
    return true;
}

static bool masked(IntRange a, IntRange b, IntRange *out)
{
    if (a.lo < 0 && b.lo < 0) return false;
    *out = (IntRange){0, a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : i64_min(a.hi, b.hi)};
    return true;
}

static bool joined(IntRange a, IntRange b, IntRange *out)
{
    if (a.lo < 0 || b.lo < 0) return false;
    *out = (IntRange){0, (int64_t)((UINT64_C(1) << (int_range_bits(hull(a, b)) - 1)) - 1)};
    return true;
}

/* The range after an unsigned extension from `from`. */
static bool extended(IntRange a, const Type *from, IntRange *out)
{
    uint32_t width = type_width(from);
    *out = a.lo >= 0 ? a : (IntRange){0, (INT64_C(1) << (width < 63 ? width : 62)) - 1};
    return a.lo >= 0 || width < 63;
}

/* Numbers of an op with these operands before they are cut to its type; false: unknown. */
static bool exact_range(const Op *op, IntRange a, IntRange b, IntRange *out)
{
    if (op->def == ARITH(ADDI)) return sum_of(a, b, out);
    if (op->def == ARITH(SUBI)) return difference_of(a, b, out);
    if (op->def == ARITH(MULI)) return product_of(a, b, out);
    if (op->def == ARITH(SHRSI) || (op->def == ARITH(SHRUI) && a.lo >= 0))
        return shifted_right(a, b, out);
    if (op->def == ARITH(ANDI)) return masked(a, b, out);
    if (op->def == ARITH(ORI) || op->def == ARITH(XORI)) return joined(a, b, out);
    if (op->def == ARITH(EXTUI)) return extended(a, op_operand(op, 0)->type, out);
    *out = a;
    if (op->def == ARITH(MAXSI)) *out = (IntRange){i64_max(a.lo, b.lo), i64_max(a.hi, b.hi)};
    if (op->def == ARITH(MINSI)) *out = (IntRange){i64_min(a.lo, b.lo), i64_min(a.hi, b.hi)};
    return op->def == ARITH(EXTSI) || op->def == ARITH(TRUNCI) || op->def == ARITH(MAXSI) ||
           op->def == ARITH(MINSI);
}

static IntRange op_range(IntRanges *ranges, const Op *op)
{
    IntRange whole = int_range_of_type(op_result(op, 0)->type), range, a = whole, b = whole;
    uint32_t first = op->def == ARITH(SELECT);
    if (op->operand_count > first && int_range_is_known_for(op_operand(op, first)->type))
        a = int_range_of_value(ranges, op_operand(op, first));
    if (op->operand_count > first + 1 && int_range_is_known_for(op_operand(op, first + 1)->type))
        b = int_range_of_value(ranges, op_operand(op, first + 1));
    if (op->def == ARITH(SELECT)) return hull(a, b);
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!int_range_is_known_for(op_operand(op, i)->type)) return whole;
    return exact_range(op, a, b, &range) && is_within(range, whole) ? range : whole;
}

/* Input of the body behind sign extensions, -1 if it is none. */
static int input_of(const Op *generic, const Value *value)
{
    const Op *def = value_def(value);
    for (; def && def->def == ARITH(EXTSI); def = value_def(value)) value = op_operand(def, 0);
    bool is_input = !def && value_block(value) == linalg_body(generic) &&
                    value->index < linalg_input_count(generic);
    return is_input ? (int)value->index : -1;
}

/* The loops' trips, and of them what a weight counts for one output: each weight's index by
 * parallel loops names the outputs that it takes part in. */
typedef struct WeightRange {
    const Attr *values;
    const AffineMap *map;
    int64_t repeats; /* trips of the reductions that do not index the weights */
    int64_t outputs;
    int64_t
        stride[KERNEL_MAX_LOOPS]; /* per result of the map: of its part in the output's number */
} WeightRange;

static bool find_weights(const Op *generic, uint32_t operand, const int64_t *extents,
                         WeightRange *out)
{
    const Op *def = value_def(op_operand(generic, operand));
    *out = (WeightRange){.repeats = 1, .outputs = 1, .map = linalg_operand_map(generic, operand)};
    if (!def || def->def != ARITH(CONSTANT) || !map_is_projected_permutation(out->map, false))
        return false;
    out->values = op_attr(def, "value");
    if (out->values->kind != ATTR_DENSE) return false;
    for (uint32_t r = out->map->result_count; r-- > 0;) {
        uint32_t loop = (uint32_t)out->map->results[r]->value;
        if (linalg_is_reduction(generic, loop)) continue;
        out->stride[r] = out->outputs;
        out->outputs *= extents[loop];
    }
    for (uint32_t l = 0; l < linalg_loop_count(generic); l++)
        if (linalg_is_reduction(generic, l) && map_result_of_dim(out->map, l) < 0)
            out->repeats *= extents[l];
    return true;
}

/* Whether all products of weights with x, repeated, add up to less than 64 bits. */
static bool is_small(const WeightRange *w, IntRange x)
{
    uint32_t width = type_width(type_elem(w->values->type));
    int64_t most = i64_max(x.hi, x.lo > -INT64_MAX ? -x.lo : INT64_MAX);
    return width < 63 && i64_mul(most, INT64_C(1) << width, &most) &&
           i64_mul(most, w->repeats, &most) && i64_mul(most, dense_count(w->values), &most);
}

/* Adds weight * x, each term 0 at will, to an output's sum; false beyond 64 bits. */
static bool add_weight(const WeightRange *w, int64_t weight, IntRange x, IntRange *sum)
{
    IntRange term;
    return product_of((IntRange){weight, weight}, x, &term) &&
           product_of(term, (IntRange){w->repeats, w->repeats}, &term) &&
           sum_of(*sum, hull(term, (IntRange){0, 0}), sum);
}

/* The same where nothing overflows. */
static void add_small_weight(const WeightRange *w, int64_t weight, IntRange x, IntRange *sum)
{
    int64_t low = weight * x.lo * w->repeats, high = weight * x.hi * w->repeats;
    sum->lo += i64_min(i64_min(low, high), 0);
    sum->hi += i64_max(i64_max(low, high), 0);
}

/* Moves the index of a weight by one, row-major, and with it the number of its output. */
static void next_weight(const WeightRange *w, const int64_t *extents, int64_t *index,
                        int64_t *output)
{
    for (uint32_t r = w->map->result_count; r-- > 0;) {
        *output += w->stride[r];
        if (++index[r] < extents[w->map->results[r]->value]) return;
        *output -= index[r] * w->stride[r];
        index[r] = 0;
    }
}

/* The least and largest sum of weight * x of any output; false beyond 64 bits. Sums only grow away
 * from 0, because each term may be 0. */
static bool sum_weights(const IntRanges *ranges, const WeightRange *w, const int64_t *extents,
                        IntRange x, IntRange *out)
{
    IntRange *sums = ARENA_ARRAY(ranges->arena, IntRange, (size_t)w->outputs);
    int64_t count = dense_count(w->values), index[KERNEL_MAX_LOOPS] = {0}, output = 0, row[ROW];
    bool is_exact = is_small(w, x);
    for (int64_t begin = 0; begin < count; begin += ROW) {
        int64_t size = i64_min(count - begin, ROW);
        dense_i64_row(w->values, begin, (size_t)size, row);
        for (int64_t i = 0; i < size; i++) {
            if (is_exact)
                add_small_weight(w, row[i], x, &sums[output]);
            else if (!add_weight(w, row[i], x, &sums[output]))
                return false;
            next_weight(w, extents, index, &output);
        }
    }
    *out = (IntRange){0, 0};
    for (int64_t i = 0; i < w->outputs; i++) *out = hull(*out, sums[i]);
    return true;
}

/* Sum of all terms that one accumulator takes. */
static bool total_range(IntRanges *ranges, const Op *generic, const Value *term, IntRange *out)
{
    int64_t extents[KERNEL_MAX_LOOPS], steps = 1;
    const Op *def = value_def(term);
    if (!linalg_loop_extents(generic, extents)) return false;
    for (int side = 0; def && def->def == ARITH(MULI) && side < 2; side++) {
        int input = input_of(generic, op_operand(def, (uint32_t)side));
        IntRange x = int_range_of_value(ranges, op_operand(def, (uint32_t)(1 - side)));
        WeightRange weights;
        if (input >= 0 && find_weights(generic, (uint32_t)input, extents, &weights) &&
            sum_weights(ranges, &weights, extents, x, out))
            return true;
    }
    for (uint32_t i = 0; i < linalg_loop_count(generic); i++)
        if (linalg_is_reduction(generic, i) && !i64_mul(steps, extents[i], &steps)) return false;
    return product_of(hull(int_range_of_value(ranges, term), (IntRange){0, 0}),
                      (IntRange){steps, steps}, out);
}

/* The range of an accumulator that sums terms, or that keeps the largest or the least of them. */
static bool accumulator_range(IntRanges *ranges, const Op *generic, uint32_t result, IntRange *out)
{
    const Block *body = linalg_body(generic);
    uint32_t input = linalg_input_count(generic) + result;
    const Value *acc = body->args[input], *yielded = op_operand(body->last, result);
    const Op *update = value_def(yielded);
    if (!update || !value_has_one_use(acc) || acc->uses->owner != update ||
        update->operand_count != 2)
        return false;
    const Value *term = op_operand(update, 1 - use_index(acc->uses));
    IntRange initial = int_range_of_value(ranges, op_operand(generic, input)), total;
    *out = hull(initial, int_range_of_value(ranges, term));
    if (update->def == ARITH(MAXSI) || update->def == ARITH(MINSI)) return true;
    return update->def == ARITH(ADDI) && total_range(ranges, generic, term, &total) &&
           sum_of(initial, total, out) && is_within(*out, int_range_of_type(acc->type));
}

static void payload_ranges(IntRanges *ranges, const Block *body)
{
    FOR_EACH_OP(op, body)
        if (op->result_count == 1 && op->def != ARITH(CONSTANT) &&
            int_range_is_known_for(op_result(op, 0)->type))
            int_range_set(ranges, op_result(op, 0), op_range(ranges, op));
}

/* Arguments of accumulators are found last: their terms do not depend on them. */
void int_range_of_generic(IntRanges *ranges, const Op *generic)
{
    const Block *body = linalg_body(generic);
    uint32_t inputs = linalg_input_count(generic);
    bool is_reduction = linalg_reduces(generic);
    for (uint32_t i = 0; i < body->arg_count; i++)
        if (int_range_is_known_for(body->args[i]->type))
            int_range_set(ranges, body->args[i],
                          is_reduction && i >= inputs
                              ? int_range_of_type(body->args[i]->type)
                              : int_range_of_value(ranges, op_operand(generic, i)));
    payload_ranges(ranges, body);
    for (uint32_t r = 0; r < generic->result_count; r++) {
        const Value *acc = body->args[inputs + r], *yielded = op_operand(body->last, r);
        IntRange range;
        if (!int_range_is_known_for(acc->type)) continue;
        if (is_reduction && accumulator_range(ranges, generic, r, &range)) {
            int_range_set(ranges, acc, range);
            int_range_set(ranges, yielded, range);
        }
        range = int_range_of_value(ranges, yielded);
        if (!linalg_reaches_all(generic, inputs + r)) /* the others stay as they were */
            range = hull(range, int_range_of_value(ranges, op_operand(generic, inputs + r)));
        int_range_set(ranges, op_result(generic, r), range);
    }
}
