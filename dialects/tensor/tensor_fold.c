/* Folders of the tensor dialect: reads of known contents, extents that are known, and pairs of ops
 * that undo each other.
 * Tests: lit/dialects/tensor/canonicalize.mir */
#include "dialects/arith/arith.h"
#include "dialects/common/common.h"
#include "dialects/tensor/internal.h"
#include "ir/rewrite/rewrite.h"

static bool gives_value(FoldResult *results, Value *value)
{
    results[0].value = value;
    return value != NULL;
}

static bool gives_attr(FoldResult *results, const Attr *attr)
{
    results[0].attr = attr;
    return attr != NULL;
}

/* Whether a source is at least as static as the cast's result, so that it may replace the
 * result. */
static bool preserves_static(const Type *from, const Type *to)
{
    if (!type_is_ranked(from) || !type_is_ranked(to) || type_elem(from) != type_elem(to) ||
        from->u.shaped.rank != to->u.shaped.rank || from->u.shaped.extra != to->u.shaped.extra)
        return false;
    for (uint32_t i = 0; i < from->u.shaped.rank; i++)
        if (from->u.shaped.dims[i] != DIM_DYNAMIC && to->u.shaped.dims[i] == DIM_DYNAMIC)
            return false;
    return true;
}

/* Whether the cast's source is at least as static as its result, so that readers can read the
 * source instead. */
static bool tensor_cast_loses_static(const Op *cast)
{
    return preserves_static(op_result(cast, 0)->type, op_operand(cast, 0)->type) &&
           tensor_shapes_compatible(op_result(cast, 0)->type, op_operand(cast, 0)->type);
}

bool tensor_cast_adds_static(const Op *cast)
{
    return preserves_static(op_operand(cast, 0)->type, op_result(cast, 0)->type) &&
           tensor_shapes_compatible(op_operand(cast, 0)->type, op_result(cast, 0)->type);
}

Value *tensor_fold_source_cast(Value *value)
{
    Op *cast = rewrite_def_of(value, TENSOR(CAST));
    return cast && tensor_cast_loses_static(cast) ? op_operand(cast, 0) : NULL;
}

static bool is_splat(const Attr *attr)
{
    return attr && attr->kind == ATTR_DENSE && attr->u.dense.is_splat;
}

/* The same splat in another static shape, or NULL. */
static const Attr *splat_as(const Attr *attr, const Type *type)
{
    if (!is_splat(attr) || !type_is_static(type)) return NULL;
    return attr_dense_raw(type, attr->u.dense.data, attr->u.dense.size, true);
}

/* cast(x : T) : T -> x */
bool tensor_fold_cast(Op *op, const Attr *const *operands, FoldResult *results)
{
    (void)operands;
    if (op_operand(op, 0)->type != op_result(op, 0)->type) return false;
    return gives_value(results, op_operand(op, 0));
}

/* concat(x : T) : T -> x */
bool tensor_fold_concat(Op *op, const Attr *const *operands, FoldResult *results)
{
    (void)operands;
    if (op->operand_count != 1 || op_operand(op, 0)->type != op_result(op, 0)->type) return false;
    return gives_value(results, op_operand(op, 0));
}

/* Operand of an op with one operand per dynamic extent of its result. */
static Value *dynamic_extent(const Op *op, uint32_t dim)
{
    const Type *type = op_result(op, 0)->type;
    uint32_t index = 0;
    for (uint32_t i = 0; i < dim; i++) index += type->u.shaped.dims[i] == DIM_DYNAMIC;
    return op_operand(op, index);
}

/* Size operand of a slice that keeps all dimensions. */
static Value *slice_size(const Op *slice, uint32_t dim)
{
    SliceParams params;
    if (op_result(slice, 0)->type->u.shaped.rank != op_operand(slice, 0)->type->u.shaped.rank)
        return NULL;
    tensor_slice_read(slice, &params);
    Value *size = params.sizes.data[dim].value;
    tensor_slice_free(&params);
    return size;
}

bool tensor_fold_dim(Op *op, const Attr *const *operands, FoldResult *results)
{
    const Type *type = op_operand(op, 0)->type;
    Op *source = value_def(op_operand(op, 0));
    if (!operands[1] || operands[1]->kind != ATTR_INTEGER || !type_is_ranked(type)) return false;
    int64_t dim = attr_int_value(operands[1]);
    if (dim < 0 || dim >= type->u.shaped.rank) return false;
    if (type->u.shaped.dims[dim] != DIM_DYNAMIC)
        return gives_attr(results, attr_index(op->ctx, type->u.shaped.dims[dim]));
    if (!source) return false;
    if (source->def == TENSOR(GENERATE))
        return gives_value(results, dynamic_extent(source, (uint32_t)dim));
    if (source->def == TENSOR(EXTRACT_SLICE) &&
        gives_value(results, slice_size(source, (uint32_t)dim)))
        return true;
    Value *uncast = tensor_fold_source_cast(op_operand(op, 0));
    if (uncast) op_set_operand(op, 0, uncast);
    return uncast != NULL;
}

bool tensor_fold_rank(Op *op, const Attr *const *operands, FoldResult *results)
{
    (void)operands;
    const Type *type = op_operand(op, 0)->type;
    if (!type_is_ranked(type)) return false;
    return gives_attr(results, attr_index(op->ctx, type->u.shaped.rank));
}

/* Row-major position of constant indices; false if one is unknown or out of range. */
static bool flat_index(const Type *type, const Attr *const *indices, int64_t *out)
{
    *out = 0;
    for (uint32_t i = 0; i < type->u.shaped.rank; i++) {
        if (!indices[i] || indices[i]->kind != ATTR_INTEGER) return false;
        int64_t index = attr_int_value(indices[i]), extent = type->u.shaped.dims[i];
        if (index < 0 || index >= extent) return false;
        *out = *out * extent + index;
    }
    return true;
}

bool tensor_fold_extract(Op *op, const Attr *const *operands, FoldResult *results)
{
    const Type *type = op_operand(op, 0)->type;
    Op *source = rewrite_def_of(op_operand(op, 0), TENSOR(FROM_ELEMENTS));
    int64_t index;
    if (is_splat(operands[0])) return gives_attr(results, dense_elem(operands[0], 0));
    if (!flat_index(type, operands + 1, &index)) return false;
    if (source) return gives_value(results, op_operand(source, (uint32_t)index));
    if (!operands[0] || operands[0]->kind != ATTR_DENSE) return false;
    return gives_attr(results, dense_elem(operands[0], index));
}

/* Inserting elements that are there already changes nothing. */
bool tensor_fold_insert(Op *op, const Attr *const *operands, FoldResult *results)
{
    (void)op;
    if (!operands[0] || !is_splat(operands[1]) || dense_elem(operands[1], 0) != operands[0])
        return false;
    return gives_attr(results, operands[1]);
}

bool tensor_fold_from_elements(Op *op, const Attr *const *operands, FoldResult *results)
{
    const Type *type = op_result(op, 0)->type;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!operands[i] || (operands[i]->kind != ATTR_INTEGER && operands[i]->kind != ATTR_FLOAT))
            return false;
    return gives_attr(results, const_from_scalars(type, operands, op->operand_count));
}

bool tensor_fold_splat(Op *op, const Attr *const *operands, FoldResult *results)
{
    const Type *type = op_result(op, 0)->type;
    const Attr *value = operands[0];
    if (!value || !type_is_static(type) ||
        (value->kind != ATTR_INTEGER && value->kind != ATTR_FLOAT))
        return false;
    return gives_attr(results, attr_dense_splat(type, value));
}

bool tensor_fold_gather(Op *op, const Attr *const *operands, FoldResult *results)
{
    return gives_attr(results, splat_as(operands[0], op_result(op, 0)->type));
}

static bool same_lists(const MixedIndices *a, const MixedIndices *b)
{
    bool same = a->len == b->len;
    for (size_t i = 0; same && i < a->len; i++) same = mixed_equal(a->data[i], b->data[i]);
    return same;
}

/* Whether two lists are written alike: a value differs from the constant that it computes. */
static bool identical_lists(const MixedIndices *a, const MixedIndices *b)
{
    bool same = a->len == b->len;
    for (size_t i = 0; same && i < a->len; i++)
        same = a->data[i].value == b->data[i].value && a->data[i].constant == b->data[i].constant;
    return same;
}

/* Whether both slicing ops are known to touch the same elements of their tensors. */
static bool same_slices(const Op *a, const Op *b)
{
    SliceParams x, y;
    tensor_slice_read(a, &x);
    tensor_slice_read(b, &y);
    bool same = identical_lists(&x.offsets, &y.offsets) && identical_lists(&x.sizes, &y.sizes) &&
                identical_lists(&x.strides, &y.strides);
    tensor_slice_free(&x);
    tensor_slice_free(&y);
    return same;
}

static bool is_known(MixedIndex index, int64_t want)
{
    int64_t value;
    return mixed_known(index, &value) && value == want;
}

/* The slice is all of a tensor of that static shape. */
static bool is_whole(const Op *op, const Type *type)
{
    SliceParams params;
    tensor_slice_read(op, &params);
    bool whole = type_is_static(type);
    for (uint32_t i = 0; whole && i < type->u.shaped.rank; i++)
        whole = is_known(params.offsets.data[i], 0) &&
                is_known(params.sizes.data[i], type->u.shaped.dims[i]) &&
                is_known(params.strides.data[i], 1);
    tensor_slice_free(&params);
    return whole;
}

static bool has_zero_size(const Op *op)
{
    SliceParams params;
    tensor_slice_read(op, &params);
    bool any = false;
    for (size_t i = 0; i < params.sizes.len; i++) any = any || is_known(params.sizes.data[i], 0);
    tensor_slice_free(&params);
    return any;
}

bool tensor_fold_extract_slice(Op *op, const Attr *const *operands, FoldResult *results)
{
    const Type *source = op_operand(op, 0)->type, *type = op_result(op, 0)->type;
    const Attr *splat = splat_as(operands[0], type);
    if (splat) return gives_attr(results, splat);
    if (source == type && is_whole(op, type)) return gives_value(results, op_operand(op, 0));
    /* extract(insert(x into y)) -> x at the same place */
    Op *insert = rewrite_def_of(op_operand(op, 0), TENSOR(INSERT_SLICE));
    if (insert && op_operand(insert, 0)->type == type && same_slices(insert, op))
        return gives_value(results, op_operand(insert, 0));
    return false;
}

bool tensor_fold_insert_slice(Op *op, const Attr *const *operands, FoldResult *results)
{
    (void)operands;
    Value *source = op_operand(op, 0), *dest = op_operand(op, 1);
    if (source->type == op_result(op, 0)->type && is_whole(op, source->type))
        return gives_value(results, source);
    /* insert(x into insert(y into z)) -> insert(x into z) at the same place */
    Op *earlier = rewrite_def_of(dest, TENSOR(INSERT_SLICE));
    if (earlier && op_operand(earlier, 0)->type == source->type && same_slices(earlier, op)) {
        op_set_operand(op, 1, op_operand(earlier, 1));
        return true;
    }
    /* insert(extract(x) into x) -> x at the same place */
    Op *extract = rewrite_def_of(source, TENSOR(EXTRACT_SLICE));
    if (extract && op_operand(extract, 0) == dest && same_slices(extract, op))
        return gives_value(results, dest);
    return has_zero_size(op) && gives_value(results, dest);
}

/* The element of a shape tensor is the source's extent of that number. */
static bool is_own_extent(Value *element, Value *source, uint32_t dim)
{
    Op *def = rewrite_def_of(element, TENSOR(DIM));
    int64_t known, index;
    if (mixed_known(mixed_value(element), &known)) return known == source->type->u.shaped.dims[dim];
    return def && op_operand(def, 0) == source &&
           mixed_known(mixed_value(op_operand(def, 1)), &index) && index == dim;
}

static bool keeps_shape(Value *source, Value *shape)
{
    uint32_t rank = source->type->u.shaped.rank;
    Op *elements = rewrite_def_of(shape, TENSOR(FROM_ELEMENTS));
    if (rank == 1) return true;
    if (!elements || elements->operand_count != rank) return false;
    for (uint32_t i = 0; i < rank; i++)
        if (!is_own_extent(op_operand(elements, i), source, i)) return false;
    return true;
}

/* reshape(reshape(x)) -> reshape(x); a reshape to the shape that it has -> x */
bool tensor_fold_reshape(Op *op, const Attr *const *operands, FoldResult *results)
{
    Value *source = op_operand(op, 0);
    const Type *type = op_result(op, 0)->type;
    Op *inner = rewrite_def_of(source, TENSOR(RESHAPE));
    if (gives_attr(results, splat_as(operands[0], type))) return true;
    if (inner) {
        op_set_operand(op, 0, op_operand(inner, 0));
        return true;
    }
    return source->type == type && type_is_ranked(type) && keeps_shape(source, op_operand(op, 1)) &&
           gives_value(results, source);
}

/* Every group has the same extents on both sides, at most one of them dynamic. */
static bool groups_agree(const Op *op, const Type *from, const Type *to)
{
    const Attr *groups = op_attr(op, "reassociation");
    uint32_t next = 0;
    for (uint32_t g = 0; g < groups->u.array.count; g++) {
        uint32_t dynamic = 0;
        for (uint32_t k = 0; k < groups->u.array.items[g]->u.array.count; k++, next++) {
            dynamic += from->u.shaped.dims[next] == DIM_DYNAMIC;
            if (from->u.shaped.dims[next] != to->u.shaped.dims[next] || dynamic > 1) return false;
        }
    }
    return true;
}

static bool folds_reshape(Op *op, const Attr *const *operands, FoldResult *results,
                          const OpDef *inverse)
{
    Value *source = op_operand(op, 0);
    const Type *type = op_result(op, 0)->type;
    if (source->type == type) return gives_value(results, source);
    if (operands[0] && operands[0]->kind == ATTR_DENSE && type_is_static(type) &&
        type_elem(operands[0]->type) == type_elem(type))
        return gives_attr(results,
                          attr_dense_raw(type, operands[0]->u.dense.data, operands[0]->u.dense.size,
                                         operands[0]->u.dense.is_splat));
    /* collapse(expand(x)) -> x and the other way round, when the types say so */
    Op *producer = rewrite_def_of(source, inverse);
    if (!producer || op_operand(producer, 0)->type != type) return false;
    bool same_groups = op_attr(producer, "reassociation") == op_attr(op, "reassociation");
    bool undone = same_groups && (inverse == TENSOR(EXPAND_SHAPE) ||
                                  groups_agree(op, op_operand(producer, 0)->type, type));
    return (undone || tensor_dynamic_dims(type) < 2) &&
           gives_value(results, op_operand(producer, 0));
}

bool tensor_fold_collapse_shape(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_reshape(op, operands, results, TENSOR(EXPAND_SHAPE));
}

bool tensor_fold_expand_shape(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_reshape(op, operands, results, TENSOR(COLLAPSE_SHAPE));
}

/* A border of nothing, unless it must stay. */
bool tensor_fold_pad(Op *op, const Attr *const *operands, FoldResult *results)
{
    (void)operands;
    const Type *type = op_result(op, 0)->type;
    if (op_attr(op, "nofold") || !type_is_static(type) || op_operand(op, 0)->type != type)
        return false;
    return gives_value(results, op_operand(op, 0));
}

static bool is_identity_order(const Attr *order)
{
    for (size_t i = 0; order && i < order->u.dense_array.count; i++)
        if (dense_array_i64(order, i) != (int64_t)i) return false;
    return true;
}

bool tensor_same_packing(const Op *pack, const Op *unpack)
{
    if (op_attr(pack, "inner_dims_pos") != op_attr(unpack, "inner_dims_pos")) return false;
    const Attr *a = op_attr(pack, "outer_dims_perm"), *b = op_attr(unpack, "outer_dims_perm");
    if (a != b && !(is_identity_order(a) && is_identity_order(b))) return false;
    MixedIndices x = {0}, y = {0};
    mixed_indices_read(pack, "static_inner_tiles", 3, &x);
    mixed_indices_read(unpack, "static_inner_tiles", 2, &y);
    bool same = same_lists(&x, &y);
    vec_free(&x);
    vec_free(&y);
    return same;
}

/* The element of a splat is the scalar constant. */
static bool splat_is(const Attr *splat, const Attr *scalar)
{
    return is_splat(splat) && scalar == dense_elem(splat, 0);
}

bool tensor_fold_pack(Op *op, const Attr *const *operands, FoldResult *results)
{
    uint32_t begin, padding;
    op_operand_group(op, 2, &begin, &padding);
    if (padding > 0 && !splat_is(operands[0], operands[begin])) return false;
    return gives_attr(results, splat_as(operands[0], op_result(op, 0)->type));
}

bool tensor_fold_unpack(Op *op, const Attr *const *operands, FoldResult *results)
{
    return gives_attr(results, splat_as(operands[0], op_result(op, 0)->type));
}
