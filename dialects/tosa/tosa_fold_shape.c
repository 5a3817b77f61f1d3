/* Folders of ops that move elements: those that in fact move nothing, and those on splat constants.
 * Tests: lit/dialects/tosa/canonicalize-shapes.mir */
#include "dialects/tosa/internal.h"
#include "ir/attr/attr.h"

static const Type *input_type(const Op *op)
{
    return op_operand(op, 0)->type;
}

static bool folds_to_input(const Op *op, FoldResult *results)
{
    return tosa_folds_to(op, op_operand(op, 0), results);
}

/* A splat takes any static shape. */
static bool folds_splat(const Op *op, const Attr *constant, FoldResult *results)
{
    const Type *type = op_result(op, 0)->type;
    if (!constant || constant->kind != ATTR_DENSE || !constant->u.dense.is_splat ||
        !type_is_static(type) || type_elem(type) != type_elem(constant->type))
        return false;
    return tosa_folds_to_attr(op, attr_dense_splat(type, dense_elem(constant, 0)), results);
}

/* Extent along the op's axis is 1, or there are no axes. */
static bool axis_is_unit(const Op *op)
{
    const Type *in = input_type(op);
    int64_t axis = attr_int_value(op_attr(op, "axis"));
    if (!type_is_ranked(in)) return false;
    uint32_t rank = in->u.shaped.rank;
    return rank == 0 || (axis >= 0 && axis < rank && in->u.shaped.dims[axis] == 1);
}

/* The only element along the axis has index 0. */
bool tosa_fold_argmax(Op *op, const Attr *const *operands, FoldResult *results)
{
    const Type *type = op_result(op, 0)->type;
    (void)operands;
    if (!axis_is_unit(op) || !type_is_static(input_type(op)) || !type_is_static(type)) return false;
    return tosa_folds_to_attr(op, attr_dense_splat(type, attr_int(type_elem(type), 0)), results);
}

bool tosa_fold_reduce(Op *op, const Attr *const *operands, FoldResult *results)
{
    (void)operands;
    return axis_is_unit(op) && folds_to_input(op, results);
}

/* A splat is the same both ways. */
bool tosa_fold_reverse(Op *op, const Attr *const *operands, FoldResult *results)
{
    const Attr *constant = operands[0];
    bool is_splat = constant && constant->kind == ATTR_DENSE && constant->u.dense.is_splat;
    return (is_splat && tosa_folds_to_attr(op, constant, results)) ||
           (axis_is_unit(op) && folds_to_input(op, results));
}

/* concat(a, concat(b, c)) -> concat(a, b, c)  along one axis, in place */
bool tosa_fold_concat(Op *op, const Attr *const *operands, FoldResult *results)
{
    VEC(Value *) parts = {0};
    bool found = false;
    (void)operands;
    (void)results;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        Value *part = op_operand(op, i);
        const Op *inner = value_def(part);
        bool joins =
            inner && inner->def == TOSA(CONCAT) && op_attr(inner, "axis") == op_attr(op, "axis");
        found = found || joins;
        for (uint32_t k = 0; joins && k < inner->operand_count; k++)
            *vec_push(&parts) = op_operand(inner, k);
        if (!joins) *vec_push(&parts) = part;
    }
    if (found) op_set_operands(op, parts.data, (uint32_t)parts.len);
    vec_free(&parts);
    return found;
}

/* No padding at all. */
bool tosa_fold_pad(Op *op, const Attr *const *operands, FoldResult *results)
{
    const Attr *padding = operands[1];
    return padding && padding->kind == ATTR_DENSE && padding->u.dense.is_splat &&
           dense_i64(padding, 0) == 0 && folds_to_input(op, results);
}

/* reshape(reshape(x)) -> reshape(x); constants that nobody else needs take the new shape. With
 * two unknown extents a reshape to its own type may still move elements. */
bool tosa_fold_reshape(Op *op, const Attr *const *operands, FoldResult *results)
{
    const Type *in = input_type(op), *type = op_result(op, 0)->type;
    if (!type_is_ranked(in) || !type_is_ranked(type)) return false;
    if (type_dynamic_extents(in) < 2 && folds_to_input(op, results)) return true;
    const Op *inner = value_def(op_operand(op, 0));
    if (inner && inner->def == TOSA(RESHAPE)) {
        op_set_operand(op, 0, op_operand(inner, 0));
        return true;
    }
    const Attr *constant = operands[0];
    if (folds_splat(op, constant, results)) return true;
    if (!constant || constant->kind != ATTR_DENSE || !type_is_static(type) ||
        type_elem(type) != type_elem(constant->type) || !value_has_one_use(op_operand(op, 0)))
        return false;
    return tosa_folds_to_attr(op,
                              attr_dense_raw(type, constant->u.dense.data, constant->u.dense.size,
                                             constant->u.dense.is_splat),
                              results);
}

static bool list_is(const Attr *list, size_t a, int64_t x, size_t b, int64_t y)
{
    return dense_array_i64(list, a) == x && dense_array_i64(list, b) == y;
}

/* Scale 1 without offset and border. */
bool tosa_fold_resize(Op *op, const Attr *const *operands, FoldResult *results)
{
    const Attr *scale = op_attr(op, "scale");
    (void)operands;
    return dense_array_i64(scale, 0) == dense_array_i64(scale, 1) &&
           dense_array_i64(scale, 2) == dense_array_i64(scale, 3) &&
           list_is(op_attr(op, "offset"), 0, 0, 1, 0) &&
           list_is(op_attr(op, "border"), 0, 0, 1, 0) && folds_to_input(op, results);
}

/* Row-major number of the element at the slice's start; -1: outside. */
static int64_t start_element(const Op *op)
{
    const Type *in = input_type(op);
    const Attr *start = op_attr(op, "start");
    int64_t at = 0;
    for (uint32_t i = 0; i < in->u.shaped.rank; i++) {
        int64_t index = dense_array_i64(start, i), extent = in->u.shaped.dims[i];
        if (index < 0 || index >= extent) return -1;
        at = at * extent + index;
    }
    return at;
}

bool tosa_fold_slice(Op *op, const Attr *const *operands, FoldResult *results)
{
    const Type *in = input_type(op), *type = op_result(op, 0)->type;
    const Attr *constant = operands[0];
    int64_t count, at;
    if (!type_is_ranked(in) || !type_is_ranked(type)) return false;
    if (type_is_static(in) && folds_to_input(op, results)) return true;
    if (folds_splat(op, constant, results)) return true;
    if (!constant || constant->kind != ATTR_DENSE || !type_element_count(type, &count) ||
        count != 1 || type_elem(type) != type_elem(in) || (at = start_element(op)) < 0)
        return false;
    return tosa_folds_to_attr(op, attr_dense_splat(type, dense_elem(constant, at)), results);
}

bool tosa_fold_tile(Op *op, const Attr *const *operands, FoldResult *results)
{
    const Attr *multiples = op_attr(op, "multiples");
    (void)operands;
    for (size_t i = 0; i < multiples->u.dense_array.count; i++)
        if (dense_array_i64(multiples, i) != 1) return false;
    return folds_to_input(op, results);
}

bool tosa_fold_transpose(Op *op, const Attr *const *operands, FoldResult *results)
{
    if (folds_splat(op, operands[0], results)) return true;
    const Attr *perms = tosa_const_ints(op_operand(op, 1));
    if (!perms) return false;
    for (int64_t i = 0; i < dense_count(perms); i++)
        if (dense_i64(perms, i) != i) return false;
    return folds_to_input(op, results);
}
