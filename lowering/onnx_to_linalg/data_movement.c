/* Nodes that move elements and do not change them, so that integers stay integers. Reshapes,
 * transpositions, slices and constant borders have ops of their own. Any other such node is
 * evaluated once on coordinates, which tells where each element comes from: as an affine map of the
 * result's index if there is one, else as tables, by which elements are picked from lines.
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-move.mir */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "lowering/onnx_to_linalg/internal.h"

/* One group of all dimensions. */
static const Attr *whole_reassociation(Context *ctx, uint32_t rank)
{
    const Attr *items[ONNX_MAX_RANK + 1], *group;
    for (uint32_t i = 0; i < rank; i++) items[i] = attr_i64(ctx, i);
    group = attr_array(ctx, items, rank);
    return attr_array(ctx, &group, rank > 0);
}

/* The grouping of `large` dimensions that multiplies up to each of the small ones; false: none. */
static bool find_groups(const Type *large, const Type *small, const Attr **out)
{
    const Attr *groups[ONNX_MAX_RANK + 1], *items[ONNX_MAX_RANK + 1];
    uint32_t next = 0, rank = large->u.shaped.rank, count = small->u.shaped.rank;
    for (uint32_t i = 0; i < count; i++) {
        int64_t want = small->u.shaped.dims[i], product = 1;
        uint32_t taken = 0;
        while (next < rank && (taken == 0 || product < want || (i + 1 == count && next < rank))) {
            product *= large->u.shaped.dims[next];
            items[taken++] = attr_i64(large->ctx, next++);
        }
        if (product != want || taken == 0) return false;
        groups[i] = attr_array(large->ctx, items, taken);
    }
    *out = attr_array(large->ctx, groups, count);
    return next == rank && count > 0;
}

Value *onnx_lower_build_reshape(OnnxLowering *lw, Value *x, const Type *type)
{
    const Attr *groups;
    type = type_with_elem(type, type_elem(x->type));
    if (x->type == type) return x;
    uint32_t from = x->type->u.shaped.rank, to = type->u.shaped.rank;
    if (from > to && find_groups(x->type, type, &groups))
        return tensor_collapse_shape(&lw->b, x, type, groups);
    if (from < to && find_groups(type, x->type, &groups))
        return tensor_expand_shape(&lw->b, x, type, groups);
    int64_t count;
    if (!type_element_count(type, &count)) return x;
    const Type *flat = type_with_shape(type, &count, 1);
    if (from != 1)
        x = from == 0 ? tensor_expand_shape(&lw->b, x, flat, attr_array(lw->ctx, NULL, 0))
                      : tensor_collapse_shape(&lw->b, x, flat, whole_reassociation(lw->ctx, from));
    if (to == 1) return x;
    if (to == 0) return tensor_collapse_shape(&lw->b, x, type, attr_array(lw->ctx, NULL, 0));
    return tensor_expand_shape(&lw->b, x, type, whole_reassociation(lw->ctx, to));
}

/* result[loops] = x[map(loops)] */
static Value *forward(OnnxLowering *lw, Value *x, const Type *type, const AffineMap *map)
{
    uint32_t rank = type->u.shaped.rank;
    Generic g = {.loops = rank, .inputs = 1, .input = {x}};
    g.map[0] = map;
    g.map[1] = map_identity(lw->ctx, rank);
    generic_open(lw, &g, lower_build_empty(lw, type));
    return generic_close(&g, generic_arg(&g, 0));
}

/* Dimension i of the result is dimension perm[i] of x. */
static Value *build_transpose(OnnxLowering *lw, Value *x, const int64_t *perm)
{
    uint32_t rank = x->type->u.shaped.rank;
    int64_t dims[ONNX_MAX_RANK];
    const AffineExpr *index[ONNX_MAX_RANK];
    bool moves = false;
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = x->type->u.shaped.dims[perm[i]];
        index[perm[i]] = affine_dim(lw->ctx, i);
        moves |= perm[i] != i;
    }
    if (!moves) return x;
    return forward(lw, x, type_with_shape(x->type, dims, rank),
                   map_get(lw->ctx, rank, 0, rank, index));
}

static SliceParams slice_params(const Type *part, const int64_t *offsets, const int64_t *strides)
{
    SliceParams slice = {0};
    for (uint32_t i = 0; i < part->u.shaped.rank; i++) {
        *vec_push(&slice.offsets) = mixed_constant(offsets[i]);
        *vec_push(&slice.sizes) = mixed_constant(part->u.shaped.dims[i]);
        *vec_push(&slice.strides) = mixed_constant(strides[i]);
    }
    return slice;
}

Value *onnx_lower_build_slice(OnnxLowering *lw, Value *x, const Type *type, const int64_t *offsets,
                              const int64_t *strides)
{
    type = type_with_elem(type, type_elem(x->type));
    if (type == x->type) return x;
    SliceParams slice = slice_params(type, offsets, strides);
    Op *op = tensor_build_extract_slice(&lw->b, x, type, &slice);
    tensor_slice_free(&slice);
    return op_result(op, 0);
}

Value *onnx_lower_build_insert(OnnxLowering *lw, Value *x, Value *dest, const int64_t *offsets,
                               const int64_t *strides)
{
    SliceParams slice = slice_params(x->type, offsets, strides);
    Op *op = tensor_build_insert_slice(&lw->b, x, dest, &slice);
    tensor_slice_free(&slice);
    return op_result(op, 0);
}

/* A border of one number. */
static Value *build_border(OnnxLowering *lw, Value *x, const int64_t *low, const int64_t *high,
                           const Attr *number)
{
    int64_t before[ONNX_MAX_RANK], after[ONNX_MAX_RANK], offsets[ONNX_MAX_RANK] = {0};
    int64_t dims[ONNX_MAX_RANK] = {0}, ones[ONNX_MAX_RANK] = {0};
    uint32_t rank = x->type->u.shaped.rank;
    bool pads = false;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t cut_low = low[i] < 0 ? -low[i] : 0, cut_high = high[i] < 0 ? -high[i] : 0;
        ones[i] = 1;
        offsets[i] = cut_low;
        dims[i] = x->type->u.shaped.dims[i] - cut_low - cut_high;
        before[i] = low[i] > 0 ? low[i] : 0;
        after[i] = high[i] > 0 ? high[i] : 0;
        pads |= before[i] > 0 || after[i] > 0;
    }
    x = onnx_lower_build_slice(lw, x, type_with_shape(x->type, dims, rank), offsets, ones);
    if (!pads) return x;
    return lower_build_pad(lw, x, before, after, arith_constant(&lw->b, number));
}

Value *onnx_lower_build_border(OnnxLowering *lw, Value *x, const int64_t *low, const int64_t *high,
                               double value)
{
    const Type *elem = type_elem(x->type);
    return build_border(lw, x, low, high,
                        type_is_float(elem) ? attr_float(elem, value)
                                            : attr_int(elem, (int64_t)value));
}

/* Where result elements come from along one dimension of the input. */
typedef struct MoveSource {
    Array *at;              /* coordinate, for each result element */
    const AffineExpr *expr; /* of the result's index; NULL: only the table tells */
} MoveSource;

/* Whether the operand is what a Pad fills constant borders with, which others than constant ones do
 * not read. It has elements of the first operand's type. */
static bool is_unread(const Op *node, uint32_t index)
{
    return node->def == ONNX(PAD) && index == 2 && onnx_operand(node, 2) &&
           !str_eq_c(onnx_string(node, "mode", "constant"), "constant");
}

/* The node run on coordinate `dim` of its first operand's elements; NULL: why says. */
static Array *run_on_coordinates(OnnxLowering *lw, const Type *input, uint32_t dim)
{
    const Op *node = lw->node;
    Array **inputs = xcalloc(node->operand_count, sizeof *inputs), *result = NULL;
    bool known = true;
    int64_t inner = 1, extent = input->u.shaped.dims[dim];
    inputs[0] = array_new(type_with_elem(input, type_i(lw->ctx, 64)));
    for (uint32_t i = dim + 1; i < input->u.shaped.rank; i++) inner *= input->u.shaped.dims[i];
    for (int64_t i = 0; i < inputs[0]->count; i++) array_set_i64(inputs[0], i, i / inner % extent);
    for (uint32_t i = 1; i < node->operand_count; i++) {
        if (is_unread(node, i)) {
            inputs[i] = array_new(type_with_elem(op_operand(node, i)->type, inputs[0]->elem));
            continue;
        }
        const Array *constant = onnx_operand(node, i) ? lower_array(lw, op_operand(node, i)) : NULL;
        inputs[i] = constant ? array_ref((Array *)constant) : NULL;
        known = known && (constant || !onnx_operand(node, i));
    }
    strbuf_clear(&lw->why);
    if (!known) strbuf_add_c(&lw->why, "needs constants for all but its first operand");
    if (!known || !onnx_eval(node, inputs, INT64_MAX, &result, &lw->why)) result = NULL;
    for (uint32_t i = 0; i < node->operand_count; i++) array_unref(inputs[i]);
    free(inputs);
    return result;
}

/* Whether the coordinates are those of an expression in result dimension d. */
static bool matches(const Array *at, uint32_t d, const AffineExpr *expr)
{
    const int64_t *dims = at->type->u.shaped.dims;
    int64_t inner = 1, index[ONNX_MAX_RANK] = {0};
    for (uint32_t i = d + 1; i < at->type->u.shaped.rank; i++) inner *= dims[i];
    for (int64_t i = 0; i < at->count; i++) {
        if (dims) index[d] = i / inner % dims[d]; /* a scalar has none */
        int64_t value;
        if (!affine_eval(expr, index, NULL, &value) || value != array_get_i64(at, i)) return false;
    }
    return true;
}

/* d * a + b, d mod f or (d * a + b) floordiv f for one result dimension d, or a constant. A
 * dimension stands alone only where the input has the same extent, as linalg asks; `own` is the
 * input's. */
static const AffineExpr *find_expr(OnnxLowering *lw, const Array *at, uint32_t own, int64_t extent)
{
    const int64_t *dims = at->type->u.shaped.dims;
    int64_t first = at->count ? array_get_i64(at, 0) : 0, inner = at->count;
    const AffineExpr *constant = affine_const(lw->ctx, first);
    bool is_same = own < at->type->u.shaped.rank && dims[own] == extent;
    if (is_same && matches(at, own, affine_dim(lw->ctx, own))) return affine_dim(lw->ctx, own);
    if (matches(at, 0, constant)) return constant;
    for (uint32_t d = 0; d < at->type->u.shaped.rank; d++) {
        inner /= dims[d];
        if (dims[d] == 1) continue;
        int64_t *line = ARENA_ARRAY(&lw->pass->scratch, int64_t, dims[d]);
        for (int64_t i = 0; i < dims[d]; i++) line[i] = array_get_i64(at, i * inner);
        const AffineExpr *dim = affine_dim(lw->ctx, d);
        const AffineExpr *expr = index_fit(lw->ctx, line, dims[d], extent);
        if (expr) expr = affine_replace(expr, &dim, 1, NULL, 0);
        if (expr && matches(at, d, expr)) return expr;
    }
    return NULL;
}

/* The coordinates as a table of `elem` along the result dimensions they depend on: the map into it
 * from `loops` loops, the first of which are the result's. */
static Value *build_table(OnnxLowering *lw, const Array *at, const Type *elem, uint32_t loops,
                          const AffineMap **map)
{
    const Type *type = at->type;
    uint32_t rank = type->u.shaped.rank, kept = 0;
    int64_t dims[ONNX_MAX_RANK], strides[ONNX_MAX_RANK], stride = 1;
    const AffineExpr *index[ONNX_MAX_RANK];
    for (uint32_t d = rank; d-- > 0; stride *= type->u.shaped.dims[d]) strides[d] = stride;
    for (uint32_t d = 0; d < rank; d++) {
        bool depends = false;
        for (int64_t i = 0; i < at->count && !depends; i++) {
            int64_t own = i / strides[d] % type->u.shaped.dims[d];
            depends = array_get_i64(at, i) != array_get_i64(at, i - own * strides[d]);
        }
        if (!depends) continue;
        index[kept] = affine_dim(lw->ctx, d);
        strides[kept] = strides[d];
        dims[kept++] = type->u.shaped.dims[d];
    }
    Array *table = array_new(type_tensor(elem, dims, kept, NULL));
    for (int64_t i = 0; i < table->count; i++) {
        int64_t from = 0, rest = i;
        for (uint32_t k = kept; k-- > 0; rest /= dims[k]) from += rest % dims[k] * strides[k];
        array_set_i64(table, i, array_get_i64(at, from));
    }
    *map = map_get(lw->ctx, loops, 0, kept, index);
    Value *value = arith_constant(&lw->b, array_to_attr(table));
    array_unref(table);
    return value;
}

/* Elements of x in a result of that type: dimension `axis` of x is read where the coordinates tell,
 * the others where `index` does, for loops over the result and one along the axis. */
static Value *pick_by_table(OnnxLowering *lw, Value *x, const Type *type, const Array *at,
                            uint32_t axis, const AffineExpr *const *index)
{
    uint32_t loops = type->u.shaped.rank + 1, rank = x->type->u.shaped.rank;
    const Type *elem = type_i(lw->ctx, fixed_signed_width(0, x->type->u.shaped.dims[axis]));
    const AffineExpr *own[ONNX_MAX_RANK];
    OnnxPick pick = {.axis = axis, .is_table = true};
    for (uint32_t i = 0; i < rank; i++)
        own[i] = i == axis ? affine_dim(lw->ctx, loops - 1) : index[i];
    pick.x_map = map_get(lw->ctx, loops, 0, rank, own);
    pick.index = build_table(lw, at, elem, loops, &pick.index_map);
    return onnx_lower_build_pick(lw, &pick, x, type);
}

/* Whether the coordinates depend on result dimension d only. */
static bool depends_on(const Array *at, uint32_t d)
{
    const int64_t *dims = at->type->u.shaped.dims;
    int64_t inner = 1;
    for (uint32_t i = d + 1; i < at->type->u.shaped.rank; i++) inner *= dims[i];
    for (int64_t i = 0; i < at->count; i++)
        if (array_get_i64(at, i) != array_get_i64(at, i / inner % dims[d] * inner)) return false;
    return true;
}

/* The dimensions of which only a table tells the coordinates become the result's one after the
 * other, where each table is one along its own dimension. */
static Value *pick_one_by_one(OnnxLowering *lw, Value *x, const Type *type,
                              const MoveSource *sources)
{
    uint32_t rank = type->u.shaped.rank;
    const AffineExpr *same[ONNX_MAX_RANK], *index[ONNX_MAX_RANK];
    int64_t dims[ONNX_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        same[i] = affine_dim(lw->ctx, i);
        index[i] = sources[i].expr ? sources[i].expr : same[i];
        dims[i] = x->type->u.shaped.dims[i];
    }
    for (uint32_t i = 0; i < rank; i++) {
        if (sources[i].expr) continue;
        dims[i] = type->u.shaped.dims[i];
        x = pick_by_table(lw, x, type_with_shape(type, dims, rank), sources[i].at, i, same);
    }
    const AffineMap *map = map_get(lw->ctx, rank, 0, rank, index);
    return map == map_identity(lw->ctx, rank) ? x : forward(lw, x, type, map);
}

/* By tables where there is no expression. NULL: diagnosed. */
static Value *pick_by_tables(OnnxLowering *lw, Value *x, const Type *type,
                             const MoveSource *sources)
{
    uint32_t rank = x->type->u.shaped.rank, tables = 0, axis = 0;
    const AffineExpr *index[ONNX_MAX_RANK];
    bool is_separable = rank == type->u.shaped.rank;
    for (uint32_t i = 0; i < rank; i++) {
        index[i] = sources[i].expr;
        if (index[i]) continue;
        tables++;
        axis = i;
        is_separable = is_separable && depends_on(sources[i].at, i);
    }
    if (is_separable) return pick_one_by_one(lw, x, type, sources);
    if (tables == 1) return pick_by_table(lw, x, type, sources[axis].at, axis, index);
    onnx_error(lw->node, "moves elements along several dimensions in no regular way");
    return NULL;
}

static Value *move_by_coordinates(OnnxLowering *lw, Value *x, const Type *type)
{
    MoveSource sources[ONNX_MAX_RANK] = {{0}};
    const AffineExpr *index[ONNX_MAX_RANK];
    uint32_t count = x->type->u.shaped.rank;
    bool done = true, is_affine = true;
    Value *y = NULL;
    for (uint32_t i = 0; i < count && done; i++) {
        sources[i].at = run_on_coordinates(lw, op_operand(lw->node, 0)->type, i);
        done = sources[i].at != NULL;
        sources[i].expr = done ? find_expr(lw, sources[i].at, i, x->type->u.shaped.dims[i]) : NULL;
        index[i] = sources[i].expr;
        is_affine &= index[i] != NULL;
    }
    if (!done)
        onnx_error(lw->node, "%s", lw->why.data);
    else if (is_affine)
        y = forward(lw, x, type, map_get(lw->ctx, type->u.shaped.rank, 0, count, index));
    else
        y = pick_by_tables(lw, x, type, sources);
    for (uint32_t i = 0; i < count; i++) array_unref(sources[i].at);
    return y;
}

/* The lists of a Slice with positive steps; false: another. */
static bool slice_lists(OnnxLowering *lw, int64_t *offsets, int64_t *strides)
{
    const Type *input = op_operand(lw->node, 0)->type, *result = op_result(lw->node, 0)->type;
    for (uint32_t i = 0; i < input->u.shaped.rank; i++) {
        Array *at = run_on_coordinates(lw, input, i);
        int64_t inner = 1, extent = result->u.shaped.dims[i];
        for (uint32_t d = i + 1; d < result->u.shaped.rank; d++) inner *= result->u.shaped.dims[d];
        bool known = at && at->count > 0;
        offsets[i] = known ? array_get_i64(at, 0) : 0;
        strides[i] = known && extent > 1 ? array_get_i64(at, inner) - offsets[i] : 1;
        array_unref(at);
        if (!known || strides[i] < 1) return false;
    }
    return true;
}

/* Depth to space and back are a transposition between two reshapes. */
static Value *move_blocks(OnnxLowering *lw, Value *x, const Type *type)
{
    static const int64_t depth_first[] = {0, 3, 4, 1, 5, 2}, columns_first[] = {0, 1, 4, 2, 5, 3};
    static const int64_t to_depth[] = {0, 3, 5, 1, 2, 4};
    const int64_t *d = x->type->u.shaped.dims;
    int64_t block = onnx_int(lw->node, "blocksize", 1), depth = d[1] / block / block;
    const int64_t by_depth[] = {d[0], block, block, depth, d[2], d[3]};
    const int64_t by_column[] = {d[0], depth, block, block, d[2], d[3]};
    const int64_t by_space[] = {d[0], d[1], d[2] / block, block, d[3] / block, block};
    bool is_crd = str_eq_c(onnx_string(lw->node, "mode", "DCR"), "CRD");
    bool to_space = lw->node->def == ONNX(DEPTH_TO_SPACE);
    const int64_t *view = !to_space ? by_space : is_crd ? by_column : by_depth;
    const int64_t *perm = !to_space ? to_depth : is_crd ? columns_first : depth_first;
    x = onnx_lower_build_reshape(lw, x, type_with_shape(x->type, view, 6));
    return onnx_lower_build_reshape(lw, build_transpose(lw, x, perm), type);
}

static Value *move_transpose(OnnxLowering *lw, Value *x)
{
    int64_t perm[ONNX_MAX_RANK];
    strbuf_clear(&lw->why);
    if (onnx_transpose_perm(lw->node, perm, &lw->why)) return build_transpose(lw, x, perm);
    onnx_error(lw->node, "%s", lw->why.data);
    return NULL;
}

/* Stretches x; the sizes of the border of a Pad with a constant. */
static Value *move_expand(OnnxLowering *lw, Value *x, const Type *type)
{
    Generic g;
    generic_broadcast(lw, &g, &x, 1, type);
    generic_open(lw, &g, lower_build_empty(lw, type));
    return generic_close(&g, generic_arg(&g, 0));
}

/* The node's elements from x, which has the same elements as its first operand in any type. */
static Value *move(OnnxLowering *lw, Value *x)
{
    int64_t offsets[ONNX_MAX_RANK], strides[ONNX_MAX_RANK];
    const Type *type = type_with_elem(op_result(lw->node, 0)->type, type_elem(x->type));
    int64_t count;
    if (type_element_count(type, &count) && count == 0) return lower_build_empty(lw, type);
    switch (lw->node->def - onnx_ops) {
    case ONNX_DROPOUT:
    case ONNX_FLATTEN:
    case ONNX_IDENTITY:
    case ONNX_RESHAPE:
    case ONNX_SQUEEZE:
    case ONNX_UNSQUEEZE: return onnx_lower_build_reshape(lw, x, type);
    case ONNX_TRANSPOSE: return move_transpose(lw, x);
    case ONNX_DEPTH_TO_SPACE:
    case ONNX_SPACE_TO_DEPTH: return move_blocks(lw, x, type);
    case ONNX_EXPAND: return move_expand(lw, x, type);
    case ONNX_SLICE:
        if (slice_lists(lw, offsets, strides))
            return onnx_lower_build_slice(lw, x, type, offsets, strides);
        return move_by_coordinates(lw, x, type);
    default: return move_by_coordinates(lw, x, type);
    }
}

/* Sizes of a Pad's border; false: it is not of a constant. */
static bool border_sizes(OnnxLowering *lw, int64_t *low, int64_t *high, double *value)
{
    const Op *op = lw->node;
    const Array *pads = lower_array(lw, op_operand(op, 1)), *axes = NULL;
    uint32_t rank = op_result(op, 0)->type->u.shaped.rank;
    *value = 0.0;
    if (!pads || !str_eq_c(onnx_string(op, "mode", "constant"), "constant")) return false;
    if (onnx_operand(op, 2)) {
        const Array *constant = lower_array(lw, op_operand(op, 2));
        if (!constant) return false;
        *value = array_get_f64(constant, 0);
    }
    if (onnx_operand(op, 3) && !(axes = lower_array(lw, op_operand(op, 3)))) return false;
    memset(low, 0, rank * sizeof *low);
    memset(high, 0, rank * sizeof *high);
    int64_t count = pads->count / 2;
    for (int64_t i = 0; i < count; i++) {
        int64_t axis = axes ? array_get_i64(axes, i) : i;
        axis += axis < 0 ? rank : 0;
        low[axis] = array_get_i64(pads, i);
        high[axis] = array_get_i64(pads, i + count);
    }
    return true;
}

/* The integer that stands for a number; false if none does. */
static bool as_integer(const Fixed *fixed, double value, int64_t *out)
{
    double q = value / fixed_scale(fixed), limit = onnx_exact_pow2(31);
    if (!(q < limit && q >= -limit) || q != (double)(int64_t)q) return false;
    *out = (int64_t)q - fixed->zero;
    return true;
}

/* x with a border of the integer q. */
static void pad_integers(OnnxLowering *lw, const Fixed *x, const int64_t *low, const int64_t *high,
                         int64_t q)
{
    Fixed result = *x;
    uint32_t own = type_width(type_elem(x->value->type));
    result.low = q < x->low ? q : x->low;
    result.high = q > x->high ? q : x->high;
    result.is_unsigned = x->is_unsigned && q >= 0;
    uint32_t width = fixed_signed_width(result.low, result.high) - result.is_unsigned;
    const Type *elem = type_i(lw->ctx, own > width ? own : width);
    result.value =
        onnx_lower_build_border(lw, lower_build_wider(lw, x, elem), low, high, (double)q);
    lower_result(lw, &result);
}

/* A Pad with a constant, of integers if it is one of them too or if a quantizer behind makes it
 * one. */
static bool lower_border(OnnxLowering *lw, const int64_t *low, const int64_t *high, double value)
{
    const Fixed *x = lower_fixed(lw, 0);
    int64_t q = 0, own = 0;
    Fixed quantized;
    bool is_own = x && !x->epilogue && as_integer(x, value, &own);
    if (x && (!is_own || quantizer_narrows(lw)) &&
        quantizer_apply_ahead(lw, &quantized, 1, &value, &q)) {
        quantizer_absorb_ahead(lw);
        pad_integers(lw, &quantized, low, high, q);
        return true;
    }
    if (is_own) {
        pad_integers(lw, x, low, high, own);
        return true;
    }
    Value *plain = lower_plain(lw, 0);
    const Array *number =
        onnx_operand(lw->node, 2) ? lower_array(lw, op_operand(lw->node, 2)) : NULL;
    if (plain && number && !array_is_float(number)) { /* which a double might not hold */
        const Attr *exact = attr_int(type_elem(plain->type), array_get_i64(number, 0));
        lower_plain_result(lw, 0, build_border(lw, plain, low, high, exact));
    } else if (plain) {
        lower_plain_result(lw, 0, onnx_lower_build_border(lw, plain, low, high, value));
    }
    return plain != NULL;
}

/* An epilogue along a dimension follows it through a Transpose. */
static bool transpose_epilogue(OnnxLowering *lw, Fixed *x)
{
    int64_t perm[ONNX_MAX_RANK];
    strbuf_clear(&lw->why);
    if (lw->node->def != ONNX(TRANSPOSE) || !onnx_transpose_perm(lw->node, perm, &lw->why))
        return false;
    Epilogue *moved = ARENA_NEW(&lw->pass->scratch, Epilogue);
    *moved = *x->epilogue;
    for (uint32_t i = 0; i < x->value->type->u.shaped.rank; i++)
        if (perm[i] == x->epilogue->axis) moved->axis = (int)i;
    x->epilogue = moved;
    return true;
}

/* Integers to move: without an epilogue that goes along a dimension, but for one that can follow it.
 * A quantizer behind the node is moved before it. */
static bool movable(OnnxLowering *lw, Fixed *out)
{
    const Fixed *x = lower_fixed(lw, 0);
    if (!x) return false;
    *out = *x;
    if (quantizer_narrows(lw) && quantizer_apply_ahead(lw, out, 1, NULL, NULL)) {
        quantizer_absorb_ahead(lw);
        return true;
    }
    *out = *x;
    return !x->epilogue || x->epilogue->axis < 0 || transpose_epilogue(lw, out);
}

bool onnx_lower_move(OnnxLowering *lw)
{
    Fixed x;
    int64_t low[ONNX_MAX_RANK], high[ONNX_MAX_RANK];
    double value;
    if (lw->node->def == ONNX(PAD) && border_sizes(lw, low, high, &value))
        return lower_border(lw, low, high, value);
    if (movable(lw, &x)) {
        x.value = move(lw, x.value);
        if (x.value) lower_result(lw, &x);
        return x.value != NULL;
    }
    Value *plain = lower_plain(lw, 0);
    plain = plain ? move(lw, plain) : NULL;
    if (plain) lower_plain_result(lw, 0, plain);
    return plain != NULL;
}
