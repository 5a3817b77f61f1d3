/* tosa.reshape: the input is collapsed to the coarsest shape that the input and the new shape both
 * refine, and expanded from there. A shape that is not static is collapsed to one dimension. Casts
 * join the types where one knows more extents than the other.
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-tensor-reshape.mir */
#include "dialects/arith/arith.h"
#include "dialects/tensor/tensor.h"
#include "dialects/tosa/tosa.h"
#include "lowering/tosa_to_linalg/internal.h"

/* The input, or if the result is a scalar, the same rank with one element: collapsing unknown
 * extents to a scalar is avoided. */
static const Type *cast_input_type(const Type *in, const Attr *new_shape)
{
    if (new_shape->u.dense_array.count > 0) return in;
    IntList dims = {0};
    for (uint32_t i = 0; i < in->u.shaped.rank; i++) *vec_push(&dims) = 1;
    const Type *type = type_with_shape(in, dims.data, (uint32_t)dims.len);
    vec_free(&dims);
    return type;
}

/* The extent that the shape leaves open, by the number of elements; false if it cannot be told. */
static bool open_extent(const Type *in, const Attr *new_shape, int64_t *out)
{
    int64_t total, given = 1;
    *out = DIM_DYNAMIC;
    if (!type_is_static(in)) return true;
    for (size_t i = 0; i < new_shape->u.dense_array.count; i++) {
        int64_t extent = dense_array_i64(new_shape, i);
        if (extent >= 0 && !i64_mul(given, extent, &given)) return false;
    }
    if (!type_element_count(in, &total)) return false;
    *out = given == 0 ? 0 : total / given;
    return true;
}

/* The new shape, with what the input says of the open extent. An unknown number of elements may
 * not become a static shape: the first extent is then left unknown. NULL: no such shape. */
static const Type *expanded_type(const Type *in, const Attr *new_shape)
{
    int64_t open;
    IntList dims = {0};
    if (!open_extent(in, new_shape, &open)) return NULL;
    for (size_t i = 0; i < new_shape->u.dense_array.count; i++) {
        int64_t extent = dense_array_i64(new_shape, i);
        *vec_push(&dims) = extent >= 0 ? extent : open;
    }
    const Type *type = type_with_shape(in, dims.data, (uint32_t)dims.len);
    if (dims.len > 0 && type_is_static(type) && !type_is_static(in)) {
        dims.data[0] = DIM_DYNAMIC;
        type = type_with_shape(in, dims.data, (uint32_t)dims.len);
    }
    vec_free(&dims);
    return type;
}

/* A walk over the extents of a static shape that multiplies them. */
typedef struct ReshapeCursor {
    const Type *type;
    uint32_t next; /* dimension after those in the product */
    int64_t product;
} ReshapeCursor;

/* False at the end, and if the product is no number any more. */
static bool cursor_take(ReshapeCursor *cursor)
{
    const Type *type = cursor->type;
    if (cursor->next >= type->u.shaped.rank) return false;
    return i64_mul(cursor->product, type->u.shaped.dims[cursor->next++], &cursor->product);
}

/* Both walks go on to the next common product, one extent each at least. */
static bool meet(ReshapeCursor *a, ReshapeCursor *b)
{
    a->product = b->product = 1;
    if (!cursor_take(a) || !cursor_take(b)) return false;
    while (a->product != b->product)
        if (!cursor_take(a->product < b->product ? a : b)) return false;
    return true;
}

/* Only units are left. */
static bool ends_in_units(ReshapeCursor *cursor)
{
    for (; cursor->next < cursor->type->u.shaped.rank; cursor->next++)
        if (cursor->type->u.shaped.dims[cursor->next] != 1) return false;
    return true;
}

/* The coarsest shape that both shapes refine, or NULL. */
static const Type *common_static_type(const Type *a, const Type *b)
{
    ReshapeCursor left = {.type = a}, right = {.type = b};
    IntList dims = {0};
    bool ok = true;
    while (ok && left.next < a->u.shaped.rank && right.next < b->u.shaped.rank) {
        ok = meet(&left, &right);
        *vec_push(&dims) = left.product;
    }
    ok = ok && ends_in_units(&left) && ends_in_units(&right);
    const Type *type = ok ? type_with_shape(a, dims.data, (uint32_t)dims.len) : NULL;
    vec_free(&dims);
    return type;
}

static const Type *collapsed_type(const Type *in, const Type *out)
{
    const int64_t any = DIM_DYNAMIC;
    if (in->u.shaped.rank == 0 || out->u.shaped.rank == 0) return type_with_shape(in, NULL, 0);
    if (!type_is_static(in) || !type_is_static(out)) return type_with_shape(in, &any, 1);
    return common_static_type(in, out);
}

/* Units go with the extent before them, unless the next group begins with one. */
static void take_units(ReshapeCursor *fine, const Type *coarse, uint32_t group)
{
    const Type *type = fine->type;
    bool is_last = group + 1 == coarse->u.shaped.rank;
    if (!is_last && coarse->u.shaped.dims[group + 1] == 1) return;
    while (fine->next < type->u.shaped.rank && type->u.shaped.dims[fine->next] == 1) fine->next++;
}

/* Which dimensions of `fine` make up each one of `coarse`: no groups for scalars, one if any extent
 * is unknown. NULL: they do not add up. */
static const Attr *reassociation(const Type *fine, const Type *coarse)
{
    VEC(uint32_t) sizes = {0};
    ReshapeCursor cursor = {.type = fine};
    bool ok = true;
    if (fine->u.shaped.rank == 0 || coarse->u.shaped.rank == 0)
        return tensor_groups_attr(fine->ctx, NULL, 0);
    if (!type_is_static(fine) || !type_is_static(coarse))
        return tensor_groups_attr(fine->ctx, &fine->u.shaped.rank, 1);
    for (uint32_t i = 0; ok && i < coarse->u.shaped.rank; i++) {
        uint32_t begin = cursor.next;
        cursor.product = 1;
        do {
            ok = cursor_take(&cursor);
        } while (ok && cursor.product < coarse->u.shaped.dims[i]);
        take_units(&cursor, coarse, i);
        *vec_push(&sizes) = cursor.next - begin;
    }
    const Attr *attr = ok ? tensor_groups_attr(fine->ctx, sizes.data, sizes.len) : NULL;
    vec_free(&sizes);
    return attr;
}

static Value *cast(Builder *b, Value *value, const Type *type)
{
    Builder detached = builder_detached(b);
    if (value->type == type) return value;
    return fold_build(b, value_def(tensor_cast(&detached, value, type)));
}

static Value *collapse(Builder *b, Value *value, const Type *type, const Attr *groups)
{
    Builder detached = builder_detached(b);
    return fold_build(b, value_def(tensor_collapse_shape(&detached, value, type, groups)));
}

/* The unknown extent of a shape whose product is `total`. */
static Value *divided_extent(Builder *b, const Type *type, Value *total)
{
    Builder detached = builder_detached(b);
    int64_t known = 1;
    for (uint32_t i = 0; i < type->u.shaped.rank; i++)
        if (type->u.shaped.dims[i] != DIM_DYNAMIC &&
            !i64_mul(known, type->u.shaped.dims[i], &known))
            known = 0; /* as many elements as no tensor has */
    Value *divisor = arith_constant_index(b, known);
    Value *extent = build_binary(&detached, ARITH(DIVUI), total->type, total, divisor);
    return fold_build(b, value_def(extent));
}

static Value *expand(Builder *b, Value *value, const Type *type, const Attr *groups)
{
    Builder detached = builder_detached(b);
    Value *operands[2] = {value};
    uint32_t count = 1;
    Value *total = NULL;
    for (uint32_t i = 0; i < value->type->u.shaped.rank; i++) {
        MixedIndex extent = tensor_mixed_dim(b, value, i);
        total = extent.value ? extent.value : total;
    }
    if (total && !type_is_static(type)) operands[count++] = divided_extent(b, type, total);
    const Attr *shape = attr_i64_array(b->ctx, type->u.shaped.dims, type->u.shaped.rank);
    NamedAttr attrs[] = {build_named_attr(b->ctx, "reassociation", groups),
                         build_named_attr(b->ctx, "static_output_shape", shape)};
    return fold_build(b, build(&detached, TENSOR(EXPAND_SHAPE), operands, count, &type, 1, attrs,
                               COUNT_OF(attrs)));
}

bool tosa_lower_reshape_to_tensor(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Builder *b = &rw->b;
    const Attr *new_shape = op_attr(op, "new_shape");
    Value *input = tosa_lower_remap(rw, op_operand(op, 0));
    if (!type_is_ranked(input->type)) return false;
    const Type *from = cast_input_type(input->type, new_shape);
    const Type *to = expanded_type(from, new_shape);
    const Type *middle = to && type_dynamic_extents(to) <= 1 ? collapsed_type(from, to) : NULL;
    const Attr *collapsed = middle ? reassociation(from, middle) : NULL;
    const Attr *expanded = middle ? reassociation(to, middle) : NULL;
    if (!collapsed || !expanded) return false;
    Value *value = cast(b, input, from);
    value = collapse(b, value, middle, collapsed);
    value = expand(b, value, to, expanded);
    rewriter_replace_one(rw, op, cast(b, value, tosa_lower_signless(op_result(op, 0)->type)));
    return true;
}
