/* Nodes that tell which elements of a line are the largest or smallest: ArgMax, ArgMin, TopK.
 *   integers   the first extreme is the extreme of (value << bits) + index, one reduction
 *   any        the extreme, then the first index at which it stands
 *   TopK       the rank of each element, by counting, then the element and the index of each rank
 * Of equal elements the one with the smaller index comes first, unless a node says otherwise.
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-topk.mir, test/e2e/onnx_cases.py --lowered */
#include <math.h>

#include "dialects/arith/arith.h"
#include "lowering/onnx_to_linalg/internal.h"
#include "lowering/onnx_to_linalg/values/values.h"

/* TopkLines of a tensor along one dimension. */
typedef struct TopkLines {
    OnnxLowering *lw;
    Value *x;
    const Fixed *fixed; /* x as integers; NULL: plain */
    uint32_t axis, rank;
    int64_t count;      /* elements of a line */
    bool largest, last; /* what comes first */
    bool is_unsigned;   /* the integers of x */
} TopkLines;

/* Whether the numbers that the integers stand for are in their order, each another one. All of them
 * are computed, since two integers may be rounded to one number. */
static bool keeps_order(OnnxLowering *lw, const Fixed *x)
{
    enum { MAX_TRIED = 1 << 20 };
    if (!x->epilogue) return true;
    if (x->epilogue->axis >= 0 || x->high - x->low >= MAX_TRIED) return false;
    const int64_t dims[] = {1, 1, x->high - x->low + 1};
    Array *q = array_new(type_tensor(type_i(lw->ctx, 64), dims, COUNT_OF(dims), NULL));
    for (int64_t i = 0; i < q->count; i++) array_set_i64(q, i, x->low + i);
    Array *values = epilogue_values(lw, x, op_operand(lw->node, 0)->type, q);
    bool rises = values != NULL;
    for (int64_t i = 1; rises && i < values->count; i++)
        rises = array_get_f64(values, i - 1) < array_get_f64(values, i);
    array_unref(values);
    array_unref(q);
    return rises;
}

/* The node's first operand; false: diagnosed. */
static bool lines_create(OnnxLowering *lw, int64_t axis, TopkLines *out)
{
    const Type *type = op_operand(lw->node, 0)->type;
    *out = (TopkLines){.lw = lw, .rank = type->u.shaped.rank};
    out->axis = (uint32_t)(axis < 0 ? axis + out->rank : axis);
    out->count = type->u.shaped.dims[out->axis];
    out->fixed = lower_fixed(lw, 0);
    if (out->fixed && !keeps_order(lw, out->fixed)) out->fixed = NULL;
    out->x = out->fixed ? out->fixed->value : lower_plain(lw, 0);
    out->is_unsigned = out->fixed ? out->fixed->is_unsigned : lower_is_unsigned_elem(type);
    return out->x != NULL;
}

/* All dimensions, with loop `loop` in the place of the axis. */
static const AffineMap *line_map(const TopkLines *l, uint32_t loops, uint32_t loop)
{
    const AffineExpr *index[ONNX_MAX_RANK];
    for (uint32_t i = 0; i < l->rank; i++)
        index[i] = affine_dim(l->lw->ctx, i == l->axis ? loop : i);
    return map_get(l->lw->ctx, loops, 0, l->rank, index);
}

/* All dimensions but the axis. */
static const AffineMap *kept_map(const TopkLines *l)
{
    const AffineExpr *index[ONNX_MAX_RANK];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < l->rank; i++)
        if (i != l->axis) index[kept++] = affine_dim(l->lw->ctx, i);
    return map_get(l->lw->ctx, l->rank, 0, kept, index);
}

static const AffineMap *loop_map(const TopkLines *l, uint32_t loops, uint32_t loop)
{
    const AffineExpr *index = affine_dim(l->lw->ctx, loop);
    return map_get(l->lw->ctx, loops, 0, 1, &index);
}

static const Type *kept_type(const TopkLines *l, const Type *elem)
{
    int64_t dims[ONNX_MAX_RANK];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < l->rank; i++)
        if (i != l->axis) dims[kept++] = l->x->type->u.shaped.dims[i];
    return type_tensor(elem, dims, kept, NULL);
}

/* The dimensions of x with another extent along the axis. */
static const Type *line_type(const TopkLines *l, int64_t count, const Type *elem)
{
    int64_t dims[ONNX_MAX_RANK];
    for (uint32_t i = 0; i < l->rank; i++)
        dims[i] = i == l->axis ? count : l->x->type->u.shaped.dims[i];
    return type_tensor(elem, dims, l->rank, NULL);
}

/* 0, 1, 2, ... or the reverse. */
static Value *index_table(const TopkLines *l, const Type *elem, int64_t count, bool reversed)
{
    OnnxLowering *lw = l->lw;
    int64_t *values = ARENA_ARRAY(&lw->pass->scratch, int64_t, count);
    for (int64_t i = 0; i < count; i++) values[i] = reversed ? count - 1 - i : i;
    return arith_constant(
        &lw->b, attr_dense_i64(type_tensor(elem, &count, 1, NULL), values, (size_t)count));
}

static const Type *index_type(const TopkLines *l)
{
    return type_i(l->lw->ctx, fixed_signed_width(0, l->count));
}

/* Opens a reduction of the lines. Its inputs are x, then those that the axis indexes, then those
 * that were reduced before. */
static void open_lines(const TopkLines *l, Generic *g, Value *const *inputs, uint32_t count,
                       Value *init)
{
    *g = (Generic){.loops = l->rank, .inputs = count};
    g->is_reduction[l->axis] = true;
    for (uint32_t i = 0; i < count; i++) {
        g->input[i] = inputs[i];
        g->map[i] = i == 0   ? map_identity(l->lw->ctx, l->rank)
                    : i == 1 ? loop_map(l, l->rank, l->axis)
                             : kept_map(l);
    }
    g->map[count] = kept_map(l);
    generic_open(l->lw, g, init);
}

/* The result is integers from 0 to count - 1 in the shape of a result of the node. */
static void record_indices(const TopkLines *l, uint32_t result, Value *indices)
{
    const Value *of = op_result(l->lw->node, result);
    Fixed fixed = {.unit = 1.0, .divisor = 1, .high = l->count - 1};
    fixed.value = onnx_lower_build_reshape(l->lw, indices, of->type);
    lower_record_fixed(l->lw, of, &fixed);
}

/* index = extreme of ((x << bits) + place) mod 2^bits, where the place rises with the index or
 * falls, so that the right one of equal elements wins. */
static Value *arg_of_keys(const TopkLines *l, uint32_t bits)
{
    OnnxLowering *lw = l->lw;
    bool reversed = l->largest != l->last;
    uint32_t width = type_width(type_elem(l->x->type)) + l->is_unsigned + bits;
    const Type *key = type_i(lw->ctx, width), *index = index_type(l);
    int64_t least = i64_least(width);
    Value *inputs[] = {l->x, index_table(l, index, l->count, reversed)};
    Generic g;
    open_lines(l, &g, inputs, 2,
               lower_build_filled(lw, kept_type(l, key), l->largest ? least : -(least + 1)));
    Builder *b = &g.body;
    Value *x = lower_build_extend(b, generic_arg(&g, 0), key, l->is_unsigned);
    x = build_binary(b, ARITH(SHLI), key, x, arith_constant_int(b, key, bits));
    x = build_binary(b, ARITH(ADDI), key, x, lower_build_extend(b, generic_arg(&g, 1), key, false));
    Value *best = generic_close(
        &g, build_binary(b, l->largest ? ARITH(MAXSI) : ARITH(MINSI), key, generic_arg(&g, 2), x));
    generic_elementwise(lw, &g, &best, 1);
    generic_open(lw, &g, lower_build_empty(lw, kept_type(l, index)));
    b = &g.body;
    Value *place = build_binary(b, ARITH(ANDI), key, generic_arg(&g, 0),
                                arith_constant_int(b, key, (INT64_C(1) << bits) - 1));
    if (reversed)
        place = build_binary(b, ARITH(SUBI), key, arith_constant_int(b, key, l->count - 1), place);
    return generic_close(&g, lower_build_resize(b, place, index));
}

/* Smallest or largest number of an element type, which any other number replaces. */
static Value *worst(const TopkLines *l, const Type *elem)
{
    Builder *b = &l->lw->b;
    if (type_is_float(elem)) return lower_build_float(b, elem, l->largest ? -INFINITY : INFINITY);
    uint32_t width = type_width(elem);
    int64_t least = l->is_unsigned ? 0 : i64_least(width);
    int64_t most = l->is_unsigned ? -1 : -(least + 1);
    return arith_constant_int(b, elem, l->largest ? least : most);
}

static const OpDef *extreme_op(const TopkLines *l, const Type *elem)
{
    if (type_is_float(elem)) return l->largest ? ARITH(MAXIMUMF) : ARITH(MINIMUMF);
    if (l->is_unsigned) return l->largest ? ARITH(MAXUI) : ARITH(MINUI);
    return l->largest ? ARITH(MAXSI) : ARITH(MINSI);
}

static Value *is_equal(Builder *b, Value *x, Value *y)
{
    return type_is_float(x->type) ? arith_cmpf(b, CMPF_OEQ, x, y) : arith_cmpi(b, CMPI_EQ, x, y);
}

/* The extreme, then the index at which it stands. */
static Value *arg_of_extreme(const TopkLines *l)
{
    OnnxLowering *lw = l->lw;
    const Type *elem = type_elem(l->x->type), *index = index_type(l);
    Value *inputs[] = {l->x, index_table(l, index, l->count, false), NULL};
    Value *init = worst(l, elem);
    Generic g;
    open_lines(l, &g, inputs, 1,
               lower_build_fill(lw, init, lower_build_empty(lw, kept_type(l, elem))));
    inputs[2] = generic_close(&g, build_binary(&g.body, extreme_op(l, elem), elem,
                                               generic_arg(&g, 1), generic_arg(&g, 0)));
    int64_t none = l->last ? 0 : l->count - 1;
    open_lines(l, &g, inputs, 3, lower_build_filled(lw, kept_type(l, index), none));
    Builder *b = &g.body;
    Value *better = build_binary(b, l->last ? ARITH(MAXSI) : ARITH(MINSI), index,
                                 generic_arg(&g, 3), generic_arg(&g, 1));
    Value *found = is_equal(b, generic_arg(&g, 0), generic_arg(&g, 2));
    return generic_close(&g, arith_select(b, found, better, generic_arg(&g, 3)));
}

bool onnx_lower_arg_extreme(OnnxLowering *lw)
{
    enum { MAX_KEY = 48 };
    TopkLines l;
    if (!lines_create(lw, onnx_int(lw->node, "axis", 0), &l)) return false;
    l.largest = lw->node->def == ONNX(ARG_MAX);
    l.last = onnx_int(lw->node, "select_last_index", 0) != 0;
    uint32_t bits = fixed_signed_width(0, l.count - 1) - 1;
    bool has_key = l.fixed && type_width(type_elem(l.x->type)) + 1 + bits <= MAX_KEY;
    record_indices(&l, 0, has_key ? arg_of_keys(&l, bits) : arg_of_extreme(&l));
    return true;
}

/* Whether y comes before x in the order, given whether it is before x in the line. */
static Value *precedes(const TopkLines *l, Builder *b, Value *y, Value *x, Value *stands_before)
{
    Value *beats, *ties;
    if (type_is_float(x->type)) {
        beats = arith_cmpf(b, l->largest ? CMPF_OGT : CMPF_OLT, y, x);
    } else if (l->is_unsigned) {
        beats = arith_cmpi(b, l->largest ? CMPI_UGT : CMPI_ULT, y, x);
    } else {
        beats = arith_cmpi(b, l->largest ? CMPI_SGT : CMPI_SLT, y, x);
    }
    ties = build_binary(b, ARITH(ANDI), beats->type, is_equal(b, y, x), stands_before);
    return build_binary(b, ARITH(ORI), beats->type, beats, ties);
}

/* The rank of each element: the number of elements of its line that come before it. */
static Value *build_ranks(const TopkLines *l)
{
    OnnxLowering *lw = l->lw;
    const Type *index = index_type(l);
    Value *places = index_table(l, index, l->count, false);
    uint32_t loops = l->rank + 1;
    Generic g = {.loops = loops, .inputs = 4, .input = {l->x, l->x, places, places}};
    g.is_reduction[l->rank] = true;
    g.map[0] = g.map[4] = line_map(l, loops, l->axis);
    g.map[1] = line_map(l, loops, l->rank);
    g.map[2] = loop_map(l, loops, l->axis);
    g.map[3] = loop_map(l, loops, l->rank);
    generic_open(lw, &g, lower_build_filled(lw, line_type(l, l->count, index), 0));
    Builder *b = &g.body;
    Value *before = arith_cmpi(b, CMPI_SLT, generic_arg(&g, 3), generic_arg(&g, 2));
    Value *counts = precedes(l, b, generic_arg(&g, 1), generic_arg(&g, 0), before);
    Value *one = build_unary(b, ARITH(EXTUI), index, counts);
    return generic_close(&g, build_binary(b, ARITH(ADDI), index, generic_arg(&g, 4), one));
}

/* The first `kept` of the lines' elements in the order of their ranks: of x, or of their
 * indices. */
static Value *take_ranks(const TopkLines *l, Value *ranks, int64_t kept, bool is_index)
{
    OnnxLowering *lw = l->lw;
    uint32_t loops = l->rank + 1;
    const Type *index = index_type(l), *elem = is_index ? index : type_elem(l->x->type);
    Value *places = index_table(l, index, kept, false);
    Value *from = is_index ? index_table(l, index, l->count, false) : l->x;
    Generic g = {.loops = loops, .inputs = 3, .input = {ranks, places, from}};
    g.is_reduction[l->rank] = true;
    g.map[0] = line_map(l, loops, l->rank);
    g.map[1] = loop_map(l, loops, l->axis);
    g.map[2] = is_index ? loop_map(l, loops, l->rank) : g.map[0];
    g.map[3] = line_map(l, loops, l->axis);
    generic_open(lw, &g, lower_build_filled(lw, line_type(l, kept, elem), 0));
    Builder *b = &g.body;
    Value *is_here = arith_cmpi(b, CMPI_EQ, generic_arg(&g, 0), generic_arg(&g, 1));
    return generic_close(&g, arith_select(b, is_here, generic_arg(&g, 2), generic_arg(&g, 3)));
}

bool onnx_lower_top_k(OnnxLowering *lw)
{
    TopkLines l;
    if (!lines_create(lw, onnx_int(lw->node, "axis", -1), &l)) return false;
    l.largest = onnx_int(lw->node, "largest", 1) != 0;
    const Value *values = op_result(lw->node, 0);
    int64_t kept = values->type->u.shaped.dims[l.axis];
    Value *ranks = build_ranks(&l), *first = take_ranks(&l, ranks, kept, false);
    if (l.fixed) {
        Fixed fixed = *l.fixed;
        fixed.value = first;
        lower_result(lw, &fixed);
    } else {
        lower_plain_result(lw, 0, first);
    }
    record_indices(&l, 1, take_ranks(&l, ranks, kept, true));
    return true;
}
