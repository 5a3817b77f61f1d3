/* Nodes whose results depend on positions: CumSum, Trilu, OneHot, and the choice of elements by
 * indices. A kernel does not know its position, so tables of positions are inputs of it. Elements
 * that an index names are picked from all of a line, one after the other,
 *   y[i] = select(index[i] == k, x[k], y[i])  for all k,
 * which streams, while reading x at a computed place does not. Infinities and NaNs that are not
 * picked do no harm, as they would in a product with zeros and ones.
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-index.mir, test/e2e/places_check.py */
#include "dialects/arith/arith.h"
#include "dialects/tensor/tensor.h"
#include "lowering/onnx_to_linalg/internal.h"

/* Of a table of positions. */
enum { MOST_POSITIONS = 1 << 24 };

/* False: diagnosed. */
static bool check_positions(const OnnxLowering *lw, int64_t count)
{
    return count <= MOST_POSITIONS ||
           onnx_error(lw->node, "needs a table of %lld positions, more than %d", (long long)count,
                      MOST_POSITIONS);
}

/* first, first + 1, ... */
static Value *positions(OnnxLowering *lw, const Type *elem, int64_t count, int64_t first)
{
    int64_t *values = ARENA_ARRAY(&lw->pass->scratch, int64_t, count);
    for (int64_t i = 0; i < count; i++) values[i] = first + i;
    return arith_constant(
        &lw->b, attr_dense_i64(type_tensor(elem, &count, 1, NULL), values, (size_t)count));
}

static const AffineMap *loop_map(OnnxLowering *lw, uint32_t loops, uint32_t loop)
{
    const AffineExpr *index = affine_dim(lw->ctx, loop);
    return map_get(lw->ctx, loops, 0, 1, &index);
}

/* All dimensions of a tensor, with a loop in the place of one. */
static const AffineMap *line_map(OnnxLowering *lw, uint32_t loops, uint32_t rank, uint32_t axis,
                                 uint32_t loop)
{
    const AffineExpr *index[ONNX_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) index[i] = affine_dim(lw->ctx, i == axis ? loop : i);
    return map_get(lw->ctx, loops, 0, rank, index);
}

/* The constant number at operand `index`; false: diagnosed. */
static bool constant_number(OnnxLowering *lw, uint32_t index, int64_t *out)
{
    const Array *array = lower_array(lw, op_operand(lw->node, index));
    if (!array || array->count < 1)
        return onnx_error(lw->node, "needs a constant for its input %u", index);
    *out =
        array_is_float(array) ? onnx_to_integer(array_get_f64(array, 0)) : array_get_i64(array, 0);
    return true;
}

/* y[.., i, ..] = sum of x[.., k, ..] for the k that the node adds up at i. */
static Value *build_prefix_sums(OnnxLowering *lw, Value *x, bool is_unsigned, uint32_t axis,
                                const Type *elem)
{
    uint32_t rank = x->type->u.shaped.rank, loops = rank + 1;
    int64_t count = x->type->u.shaped.dims[axis];
    bool exclusive = onnx_int(lw->node, "exclusive", 0) != 0;
    bool reverse = onnx_int(lw->node, "reverse", 0) != 0;
    Value *table = positions(lw, type_i(lw->ctx, fixed_signed_width(0, count)), count, 0);
    Generic g = {.loops = loops, .inputs = 3, .input = {x, table, table}};
    g.is_reduction[rank] = true;
    g.map[0] = line_map(lw, loops, rank, axis, rank);
    g.map[1] = loop_map(lw, loops, axis);
    g.map[2] = loop_map(lw, loops, rank);
    g.map[3] = line_map(lw, loops, rank, axis, axis);
    generic_open(lw, &g, lower_build_filled(lw, type_with_elem(x->type, elem), 0));
    Builder *b = &g.body;
    Value *term = generic_arg(&g, 0);
    if (type_is_integer(elem)) term = lower_build_extend(b, term, elem, is_unsigned);
    CmpiPredicate order =
        reverse ? (exclusive ? CMPI_SGT : CMPI_SGE) : (exclusive ? CMPI_SLT : CMPI_SLE);
    Value *counts = arith_cmpi(b, order, generic_arg(&g, 2), generic_arg(&g, 1));
    term = arith_select(b, counts, term, lower_build_number(b, elem, 0.0));
    const OpDef *add = type_is_float(elem) ? ARITH(ADDF) : ARITH(ADDI);
    return generic_close(&g, build_binary(b, add, elem, generic_arg(&g, 3), term));
}

bool onnx_lower_cum_sum(OnnxLowering *lw)
{
    const Type *type = op_operand(lw->node, 0)->type;
    int64_t axis, rank = type->u.shaped.rank, terms;
    if (!constant_number(lw, 1, &axis)) return false;
    axis += axis < 0 ? rank : 0;
    terms = type->u.shaped.dims[axis];
    if (!check_positions(lw, terms)) return false;
    const Fixed *x = lower_fixed_bare(lw, 0);
    if (x && x->zero == 0) {
        Fixed sum = *x;
        if (!i64_mul(x->low < 0 ? x->low : 0, terms, &sum.low) ||
            !i64_mul(x->high > 0 ? x->high : 0, terms, &sum.high))
            return lower_too_wide(lw);
        uint32_t width = onnx_lower_widest(fixed_signed_width(sum.low, sum.high), x->value->type,
                                           x->value->type);
        sum.value =
            build_prefix_sums(lw, x->value, x->is_unsigned, (uint32_t)axis, type_i(lw->ctx, width));
        sum.is_unsigned = false;
        lower_result(lw, &sum);
        return true;
    }
    Value *plain = lower_plain(lw, 0);
    if (!plain) return false;
    lower_plain_result(lw, 0,
                       build_prefix_sums(lw, plain, lower_is_unsigned_elem(type), (uint32_t)axis,
                                         type_elem(plain->type)));
    return true;
}

/* x on the chosen side of diagonal k, else the number `fill`. */
static Value *build_triangle(OnnxLowering *lw, Value *x, int64_t k, double fill)
{
    uint32_t rank = x->type->u.shaped.rank;
    int64_t rows = x->type->u.shaped.dims[rank - 2], columns = x->type->u.shaped.dims[rank - 1];
    k = k < -rows ? -rows : k > columns ? columns : k;
    const Type *index = type_i(lw->ctx, fixed_signed_width(-rows, rows + columns));
    Generic g = {.loops = rank, .inputs = 3, .input = {x}};
    g.input[1] = positions(lw, index, rows, k);
    g.input[2] = positions(lw, index, columns, 0);
    g.map[0] = g.map[3] = map_identity(lw->ctx, rank);
    g.map[1] = loop_map(lw, rank, rank - 2);
    g.map[2] = loop_map(lw, rank, rank - 1);
    generic_open(lw, &g, lower_build_empty(lw, x->type));
    Builder *b = &g.body;
    CmpiPredicate side = onnx_int(lw->node, "upper", 1) != 0 ? CMPI_SGE : CMPI_SLE;
    Value *stays = arith_cmpi(b, side, generic_arg(&g, 2), generic_arg(&g, 1));
    return generic_close(&g, arith_select(b, stays, generic_arg(&g, 0),
                                          lower_build_number(b, type_elem(x->type), fill)));
}

bool onnx_lower_trilu(OnnxLowering *lw)
{
    int64_t k = 0;
    const Type *type = op_operand(lw->node, 0)->type;
    const int64_t *last = type->u.shaped.dims + type->u.shaped.rank - 2;
    if (onnx_operand(lw->node, 1) && !constant_number(lw, 1, &k)) return false;
    if (!check_positions(lw, last[0]) || !check_positions(lw, last[1])) return false;
    const Fixed *x = lower_fixed_bare(lw, 0);
    if (!x) {
        Value *plain = lower_plain(lw, 0);
        if (plain) lower_plain_result(lw, 0, build_triangle(lw, plain, k, 0.0));
        return plain != NULL;
    }
    int64_t q = -x->zero; /* stands for 0 */
    Fixed result = *x;
    result.low = q < x->low ? q : x->low;
    result.high = q > x->high ? q : x->high;
    result.is_unsigned = x->is_unsigned && q >= 0;
    uint32_t own = type_width(type_elem(x->value->type));
    uint32_t width = fixed_signed_width(result.low, result.high) - result.is_unsigned;
    Value *wide = lower_build_wider(lw, x, type_i(lw->ctx, own > width ? own : width));
    result.value = build_triangle(lw, wide, k, (double)q);
    lower_result(lw, &result);
    return true;
}

Value *onnx_lower_build_pick(OnnxLowering *lw, const OnnxPick *pick, Value *x, const Type *type)
{
    uint32_t rank = type->u.shaped.rank, loops = rank + 1;
    int64_t extent = x->type->u.shaped.dims[pick->axis];
    const Type *own = type_elem(pick->index->type);
    uint32_t width = fixed_signed_width(-extent, extent);
    const Type *wide = type_i(lw->ctx, width > type_width(own) ? width : type_width(own));
    Generic g = {.loops = loops, .inputs = 3, .input = {x, pick->index}};
    g.input[2] = positions(lw, wide, extent, 0);
    g.is_reduction[rank] = true;
    g.map[0] = pick->x_map;
    g.map[1] = pick->index_map;
    g.map[2] = loop_map(lw, loops, rank);
    g.map[3] = line_map(lw, loops, rank, rank, rank);
    generic_open(lw, &g, lower_build_filled(lw, type, 0));
    Builder *b = &g.body;
    Value *index = lower_build_extend(b, generic_arg(&g, 1), wide, false);
    if (!pick->is_table) { /* a negative index counts from the end */
        Value *negative = arith_cmpi(b, CMPI_SLT, index, arith_constant_int(b, wide, 0));
        Value *from_end =
            build_binary(b, ARITH(ADDI), wide, index, arith_constant_int(b, wide, extent));
        index = arith_select(b, negative, from_end, index);
    }
    Value *is_here = arith_cmpi(b, CMPI_EQ, index, generic_arg(&g, 2));
    return generic_close(&g, arith_select(b, is_here, generic_arg(&g, 0), generic_arg(&g, 3)));
}

/* The maps of a Gather or GatherElements along the axis. */
static void pick_maps(OnnxLowering *lw, uint32_t rank, OnnxPick *pick)
{
    const AffineExpr *x[ONNX_MAX_RANK], *index[ONNX_MAX_RANK];
    uint32_t own = op_operand(lw->node, 0)->type->u.shaped.rank;
    uint32_t given = op_operand(lw->node, 1)->type->u.shaped.rank;
    bool is_gather = lw->node->def == ONNX(GATHER);
    for (uint32_t i = 0; i < own; i++) {
        uint32_t at = is_gather && i > pick->axis ? i - 1 + given : i;
        x[i] = affine_dim(lw->ctx, i == pick->axis ? rank : at);
    }
    for (uint32_t i = 0; i < given; i++)
        index[i] = affine_dim(lw->ctx, is_gather ? pick->axis + i : i);
    pick->x_map = map_get(lw->ctx, rank + 1, 0, own, x);
    pick->index_map = map_get(lw->ctx, rank + 1, 0, given, index);
}

/* x cut to the extents that the indices of a GatherElements have. */
static Value *cut_to_indices(OnnxLowering *lw, Value *x, uint32_t axis)
{
    const Type *indices = op_operand(lw->node, 1)->type;
    int64_t dims[ONNX_MAX_RANK], zeros[ONNX_MAX_RANK] = {0}, ones[ONNX_MAX_RANK];
    uint32_t rank = x->type->u.shaped.rank;
    if (lw->node->def != ONNX(GATHER_ELEMENTS)) return x;
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = i == axis ? x->type->u.shaped.dims[i] : indices->u.shaped.dims[i];
        ones[i] = 1;
    }
    return onnx_lower_build_slice(lw, x, type_with_shape(x->type, dims, rank), zeros, ones);
}

/* Indices that are computed. */
static bool gather_computed(OnnxLowering *lw)
{
    const Op *op = lw->node;
    const Type *type = op_result(op, 0)->type;
    const Fixed *x = lower_fixed_bare(lw, 0);
    Value *plain = x ? x->value : lower_plain(lw, 0), *index = lower_plain(lw, 1);
    if (!plain || !index) return false;
    int64_t axis = onnx_int(op, "axis", 0);
    OnnxPick pick = {.index = index};
    pick.axis = (uint32_t)(axis < 0 ? axis + (int64_t)plain->type->u.shaped.rank : axis);
    if (!check_positions(lw, plain->type->u.shaped.dims[pick.axis])) return false;
    pick_maps(lw, type->u.shaped.rank, &pick);
    plain = cut_to_indices(lw, plain, pick.axis);
    Value *y =
        onnx_lower_build_pick(lw, &pick, plain, type_with_elem(type, type_elem(plain->type)));
    if (!x) {
        lower_plain_result(lw, 0, y);
        return true;
    }
    Fixed result = *x;
    result.value = y;
    lower_result(lw, &result);
    return true;
}

bool onnx_lower_gather(OnnxLowering *lw)
{
    int64_t count;
    bool is_empty = type_element_count(op_result(lw->node, 0)->type, &count) && count == 0;
    if (lower_array(lw, op_operand(lw->node, 1)) || is_empty) return onnx_lower_move(lw);
    return gather_computed(lw);
}

/* Whether the index is that of a class, counted from the end where it is negative. */
static Value *is_class(Builder *b, Value *index, Value *place, bool is_unsigned, int64_t depth)
{
    enum { LEAST_BITS = 64 };
    bool is_float = type_is_float(index->type);
    uint32_t width = fixed_signed_width(-depth, depth), own = type_width(index->type);
    width = is_float ? LEAST_BITS : width > own ? width : own;
    const Type *wide = type_i(b->ctx, width);
    index = is_float ? build_unary(b, ARITH(FPTOSI), wide, index)
                     : lower_build_extend(b, index, wide, is_unsigned);
    place = lower_build_extend(b, place, wide, false);
    if (is_unsigned) return arith_cmpi(b, CMPI_EQ, index, place);
    Value *from_end = build_binary(b, ARITH(SUBI), wide, place, arith_constant_int(b, wide, depth));
    Value *is_here = arith_cmpi(b, CMPI_EQ, index, place);
    Value *is_back = arith_cmpi(b, CMPI_EQ, index, from_end);
    return build_binary(b, ARITH(ORI), is_here->type, is_here, is_back);
}

bool onnx_lower_one_hot(OnnxLowering *lw)
{
    const Op *op = lw->node;
    const Type *type = lower_plain_type(op_result(op, 0)->type), *elem = type_elem(type);
    uint32_t rank = type->u.shaped.rank, kept = 0;
    int64_t axis = onnx_int(op, "axis", -1);
    axis += axis < 0 ? rank : 0;
    int64_t depth = type->u.shaped.dims[axis];
    if (!check_positions(lw, depth)) return false;
    const Array *values = lower_array(lw, op_operand(op, 2));
    if (!values || values->count != 2) return onnx_error(op, "needs constant values");
    FixedConstant levels;
    bool is_fixed = type_is_float(elem) && lower_constant(lw, 2, &levels) && levels.axis < 0;
    if (is_fixed) elem = type_elem(levels.type);
    Value *indices = lower_plain(lw, 0);
    if (!indices) return false;
    const AffineExpr *index[ONNX_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++)
        if (i != axis) index[kept++] = affine_dim(lw->ctx, i);
    Generic g = {.loops = rank, .inputs = 2, .input = {indices}};
    g.input[1] = positions(lw, type_i(lw->ctx, fixed_signed_width(0, depth)), depth, 0);
    g.map[0] = map_get(lw->ctx, rank, 0, kept, index);
    g.map[1] = loop_map(lw, rank, (uint32_t)axis);
    g.map[2] = map_identity(lw->ctx, rank);
    generic_open(lw, &g, lower_build_empty(lw, type_with_elem(type, elem)));
    Builder *b = &g.body;
    bool is_unsigned = lower_is_unsigned_elem(op_operand(op, 0)->type);
    Value *hot = is_class(b, generic_arg(&g, 0), generic_arg(&g, 1), is_unsigned, depth);
    Value *choice[2];
    for (uint32_t i = 0; i < 2; i++)
        choice[i] = is_fixed                ? arith_constant_int(b, elem, levels.values[i])
                    : type_is_integer(elem) ? arith_constant_int(b, elem, array_get_i64(values, i))
                                            : lower_build_float(b, elem, array_get_f64(values, i));
    Value *y = generic_close(&g, arith_select(b, hot, choice[1], choice[0]));
    if (!is_fixed) {
        lower_plain_result(lw, 0, y);
        return true;
    }
    int64_t low = levels.values[0], high = levels.values[1];
    Fixed fixed = {.value = y,
                   .unit = levels.units[0],
                   .exponent = levels.exponents[0],
                   .divisor = 1,
                   .low = low < high ? low : high,
                   .high = low < high ? high : low,
                   .is_unsigned = levels.is_unsigned};
    lower_result(lw, &fixed);
    return true;
}
