/* Builders of those tensor ops whose operands or types must be computed.
 * Tests: lit/passes/linalg/linalg-fuse-elementwise-reshape.mir,
 * lit/dialects/tensor/canonicalize.mir */
#include "dialects/arith/arith.h"
#include "dialects/tensor/tensor.h"
#include "ir/rewrite/rewrite.h"

const Attr *tensor_groups_attr(Context *ctx, const uint32_t *sizes, size_t count)
{
    VEC(const Attr *) all = {0};
    VEC(const Attr *) group = {0};
    int64_t next = 0;
    for (size_t i = 0; i < count; i++) {
        group.len = 0;
        for (uint32_t k = 0; k < sizes[i]; k++) *vec_push(&group) = attr_i64(ctx, next++);
        *vec_push(&all) = attr_array(ctx, group.data, group.len);
    }
    const Attr *attr = attr_array(ctx, all.data, all.len);
    vec_free(&all);
    vec_free(&group);
    return attr;
}

const Type *tensor_collapsed_type(const Type *type, const uint32_t *sizes, size_t count)
{
    IntList dims = {0};
    uint32_t next = 0;
    for (size_t g = 0; g < count; g++) {
        int64_t product = 1;
        for (uint32_t k = 0; k < sizes[g]; k++, next++) {
            int64_t extent = type->u.shaped.dims[next];
            bool dynamic = extent == DIM_DYNAMIC || product == DIM_DYNAMIC;
            product = dynamic ? DIM_DYNAMIC : product * extent;
        }
        *vec_push(&dims) = product;
    }
    const Type *collapsed =
        type_tensor(type_elem(type), dims.data, (uint32_t)dims.len, type->u.shaped.extra);
    vec_free(&dims);
    return collapsed;
}

Value *tensor_collapse_shape(Builder *b, Value *source, const Type *type, const Attr *groups)
{
    NamedAttr attr = build_named_attr(b->ctx, "reassociation", groups);
    return op_result(build(b, TENSOR(COLLAPSE_SHAPE), &source, 1, &type, 1, &attr, 1), 0);
}

/* The product of a group's static extents. */
static int64_t static_product(const Type *type, const Attr *group)
{
    int64_t product = 1;
    for (uint32_t i = 0; i < group->u.array.count; i++) {
        int64_t extent = type->u.shaped.dims[attr_int_value(group->u.array.items[i])];
        product *= extent == DIM_DYNAMIC ? 1 : extent;
    }
    return product;
}

static bool is_dynamic_group(const Type *type, const Attr *group)
{
    for (uint32_t i = 0; i < group->u.array.count; i++)
        if (type->u.shaped.dims[attr_int_value(group->u.array.items[i])] == DIM_DYNAMIC)
            return true;
    return false;
}

/* The dynamic extent of a group whose dimensions have the extent `whole` together. */
static Value *build_dynamic_extent(Builder *b, const Type *type, const Attr *group, Value *whole)
{
    Value *operands[] = {whole, arith_constant_index(b, static_product(type, group))};
    return rewrite_build_or_fold(b, ARITH(DIVUI), operands, 2, whole->type);
}

Value *tensor_expand_shape(Builder *b, Value *source, const Type *type, const Attr *groups)
{
    const Attr *shape = attr_i64_array(b->ctx, type->u.shaped.dims, type->u.shaped.rank);
    NamedAttr attrs[] = {build_named_attr(b->ctx, "reassociation", groups),
                         build_named_attr(b->ctx, "static_output_shape", shape)};
    MixedIndices sizes = {0};
    ValueList operands = {0};
    *vec_push(&operands) = source;
    for (uint32_t g = 0; g < groups->u.array.count; g++)
        *vec_push(&sizes) = tensor_mixed_dim(b, source, g);
    for (uint32_t g = 0; g < groups->u.array.count; g++)
        if (sizes.data[g].value && is_dynamic_group(type, groups->u.array.items[g]))
            *vec_push(&operands) =
                build_dynamic_extent(b, type, groups->u.array.items[g], sizes.data[g].value);
    Op *op = build(b, TENSOR(EXPAND_SHAPE), operands.data, (uint32_t)operands.len, &type, 1, attrs,
                   COUNT_OF(attrs));
    vec_free(&sizes);
    vec_free(&operands);
    return op_result(op, 0);
}

void tensor_pad_read(const Op *pad, PadBorders *out)
{
    *out = (PadBorders){0};
    mixed_indices_read(pad, "static_low", 1, &out->low);
    mixed_indices_read(pad, "static_high", 2, &out->high);
}

void tensor_pad_read_folded(const Op *pad, PadBorders *out)
{
    tensor_pad_read(pad, out);
    (void)mixed_fold_constants(&out->low, true);
    (void)mixed_fold_constants(&out->high, true);
}

void tensor_pad_free(PadBorders *borders)
{
    vec_free(&borders->low);
    vec_free(&borders->high);
}

Value *tensor_padding(const Op *pad)
{
    const Block *body = region_entry(op_region(pad, 0));
    Value *value = op_operand(body->last, 0);
    return value_block(value) == body ? NULL : value;
}

Op *tensor_build_pad(Builder *b, Value *source, const Type *type, const PadBorders *borders,
                     bool nofold)
{
    Context *ctx = b->ctx;
    ValueList operands = {0};
    *vec_push(&operands) = source;
    const Attr *low = mixed_indices_split(ctx, borders->low.data, borders->low.len, &operands);
    int32_t low_count = (int32_t)operands.len - 1;
    const Attr *high = mixed_indices_split(ctx, borders->high.data, borders->high.len, &operands);
    int32_t segments[] = {1, low_count, (int32_t)operands.len - 1 - low_count};
    NamedAttr attrs[] = {
        build_named_attr(ctx, "static_low", low), build_named_attr(ctx, "static_high", high),
        build_named_attr(ctx, "operandSegmentSizes",
                         attr_dense_array(type_i(ctx, 32), segments, COUNT_OF(segments))),
        build_named_attr(ctx, "nofold", attr_unit(ctx))};
    Op *op = build(b, TENSOR(PAD), operands.data, (uint32_t)operands.len, &type, 1, attrs,
                   (uint32_t)COUNT_OF(attrs) - !nofold);
    vec_free(&operands);
    return op;
}

void tensor_fill_pad(Op *pad, Value *padding)
{
    Block *body = region_add_block(op_region(pad, 0));
    for (uint32_t i = 0; i < op_result(pad, 0)->type->u.shaped.rank; i++)
        block_add_arg(body, type_index(pad->ctx), pad->loc);
    Builder inner = builder_at_end(body, pad->loc);
    build(&inner, TENSOR(YIELD), &padding, 1, NULL, 0, NULL, 0);
}

static const Type *padded_type(const Type *source, const int64_t *low, const int64_t *high)
{
    uint32_t rank = source->u.shaped.rank;
    IntList dims = {0};
    for (uint32_t i = 0; i < rank; i++) {
        int64_t extent = source->u.shaped.dims[i];
        *vec_push(&dims) = extent == DIM_DYNAMIC ? extent : extent + low[i] + high[i];
    }
    const Type *type = type_tensor(source->u.shaped.elem, dims.data, rank, NULL);
    vec_free(&dims);
    return type;
}

Value *tensor_pad(Builder *b, Value *source, const int64_t *low, const int64_t *high,
                  Value *padding)
{
    PadBorders borders = {0};
    for (uint32_t i = 0; i < source->type->u.shaped.rank; i++) {
        *vec_push(&borders.low) = mixed_constant(low[i]);
        *vec_push(&borders.high) = mixed_constant(high[i]);
    }
    Op *pad = tensor_build_pad(b, source, padded_type(source->type, low, high), &borders, false);
    tensor_fill_pad(pad, padding);
    tensor_pad_free(&borders);
    return op_result(pad, 0);
}
