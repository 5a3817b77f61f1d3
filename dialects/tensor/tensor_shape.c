/* Checks of ops that change shapes: reshape, collapse_shape, expand_shape, concat and pad. A
 * reassociation groups the dimensions of the larger shape; group i forms dimension i of the smaller
 * one.
 * Tests: lit/dialects/tensor/invalid.mir */
#include "dialects/tensor/internal.h"
#include "ir/asm/print/print.h"

bool tensor_verify_reshape(Op *op)
{
    const Type *from = op_operand(op, 0)->type, *to = op_result(op, 0)->type;
    const Type *shape = op_operand(op, 1)->type;
    int64_t from_count, to_count;
    if (type_elem(from) != type_elem(to))
        return op_error(op,
                        "element types of source and destination tensor types should be the same");
    if (!type_is_ranked(to)) return true;
    if (type_element_count(from, &from_count) && type_element_count(to, &to_count) &&
        from_count != to_count)
        return op_error(op,
                        "source and destination tensor should have the same number of elements");
    if (shape->u.shaped.dims[0] == DIM_DYNAMIC)
        return op_error(op, "cannot use shape operand with dynamic length to reshape to "
                            "statically-ranked tensor type");
    if (shape->u.shaped.dims[0] != to->u.shaped.rank)
        return op_error(op, "length of shape operand differs from the result's tensor rank");
    return true;
}

static bool verify_groups(Op *op, const Attr *groups, uint32_t expanded_rank)
{
    uint32_t next = 0, count = groups->u.array.count, mapped = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < groups->u.array.items[i]->u.array.count; k++) {
            int64_t dim = attr_int_value(groups->u.array.items[i]->u.array.items[k]);
            if (dim >= mapped) mapped = (uint32_t)dim + 1;
        }
    if (count > 0 && mapped != expanded_rank)
        return op_error(op,
                        "expected reassociation map #0 to have size equal to the expanded rank "
                        "(%u), but it is  %u.",
                        expanded_rank, mapped);
    for (uint32_t i = 0; i < count; i++) {
        const Attr *group = groups->u.array.items[i];
        bool last = i + 1 == count;
        bool ok = true;
        for (uint32_t k = 0; ok && k < group->u.array.count; k++)
            ok = attr_int_value(group->u.array.items[k]) == next++;
        if (!ok || (last && next != expanded_rank))
            return op_error(op, "expected reassociation map #%u to be valid and contiguous.", i);
    }
    return true;
}

static bool verify_group_extents(Op *op, const Type *expanded, const Type *collapsed,
                                 const Attr *groups)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < groups->u.array.count; i++) {
        int64_t product = 1, extent = collapsed->u.shaped.dims[i];
        bool dynamic = false;
        for (uint32_t k = 0; k < groups->u.array.items[i]->u.array.count; k++) {
            int64_t part = expanded->u.shaped.dims[next++];
            dynamic = dynamic || part == DIM_DYNAMIC;
            if (!dynamic && !i64_mul(product, part, &product))
                return op_error(op, "extents of reassociation group #%u overflow", i);
        }
        if (dynamic && extent != DIM_DYNAMIC)
            return op_error(op,
                            "expected dimension %u of collapsed type to be dynamic since one or "
                            "more of the corresponding dimensions in the expanded type is dynamic",
                            i);
        if (!dynamic && extent != product)
            return op_error(op,
                            "expected dimension %u of collapsed type to be static value of %lld", i,
                            (long long)product);
    }
    return true;
}

static bool verify_reassociation(Op *op, const Type *expanded, const Type *collapsed)
{
    const Attr *groups = op_attr(op, "reassociation");
    uint32_t wide = expanded->u.shaped.rank, narrow = collapsed->u.shaped.rank;
    if (wide < narrow)
        return op_error(op,
                        "expected the expanded type, '%s' to have a higher (or same) rank than "
                        "the collapsed type, '%s'.",
                        type_str(op->ctx, expanded), type_str(op->ctx, collapsed));
    if (narrow != groups->u.array.count)
        return op_error(op,
                        "expected collapsed rank (%u) to equal the number of reassociation maps "
                        "(%u).",
                        narrow, groups->u.array.count);
    if (!verify_groups(op, groups, wide) || !verify_group_extents(op, expanded, collapsed, groups))
        return false;
    const Type *want = type_tensor(type_elem(expanded), collapsed->u.shaped.dims, narrow, NULL);
    if (type_elem(collapsed) != type_elem(expanded))
        return op_error(op, "expected collapsed type to be '%s', but got '%s'",
                        type_str(op->ctx, want), type_str(op->ctx, collapsed));
    return true;
}

bool tensor_verify_collapse_shape(Op *op)
{
    return verify_reassociation(op, op_operand(op, 0)->type, op_result(op, 0)->type);
}

bool tensor_verify_expand_shape(Op *op)
{
    const Type *expanded = op_result(op, 0)->type;
    const Attr *shape = op_attr(op, "static_output_shape");
    size_t given = shape->u.dense_array.count;
    uint32_t dynamic = 0, values = op->operand_count - 1;
    if (given != expanded->u.shaped.rank)
        return op_error(op,
                        "expected number of static shape dims to be equal to the output rank (%u) "
                        "but found %zu inputs instead",
                        expanded->u.shaped.rank, given);
    for (size_t i = 0; i < given; i++) dynamic += dense_array_i64(shape, i) == DIM_DYNAMIC;
    if (values != dynamic)
        return op_error(op,
                        "mismatch in dynamic dims in output_shape and static_output_shape: "
                        "static_output_shape has %u dynamic dims while output_shape has %u values",
                        dynamic, values);
    return verify_reassociation(op, expanded, op_operand(op, 0)->type);
}

/* The extent of the result in dimension d, in which inputs agree or, if it is that of the concat,
 * add up; dynamic where it is not known. False: they add up to 2^63 or more. */
static bool concat_extent(const Op *op, uint32_t d, bool adds_up, int64_t *out)
{
    *out = adds_up ? 0 : DIM_DYNAMIC;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        int64_t extent = op_operand(op, i)->type->u.shaped.dims[d];
        if (adds_up && extent == DIM_DYNAMIC) {
            *out = DIM_DYNAMIC;
            return true;
        }
        if (adds_up && !i64_add(*out, extent, out)) return false;
        if (!adds_up && extent != DIM_DYNAMIC) *out = extent;
    }
    return true;
}

static bool verify_concat_inputs(Op *op, uint32_t dim, uint32_t rank)
{
    for (uint32_t d = 0; d < rank; d++) {
        int64_t known = DIM_DYNAMIC;
        for (uint32_t i = 0; d != dim && i < op->operand_count; i++) {
            int64_t extent = op_operand(op, i)->type->u.shaped.dims[d];
            if (extent == DIM_DYNAMIC) continue;
            if (known != DIM_DYNAMIC && known != extent)
                return op_error(op,
                                "static concatenation size mismatch along non-concatenated "
                                "dimension %u",
                                d);
            known = extent;
        }
    }
    return true;
}

static bool verify_concat_result(Op *op, uint32_t dim)
{
    const Type *result = op_result(op, 0)->type;
    uint32_t rank = result->u.shaped.rank;
    IntList dims = {0};
    vec_reserve(&dims, rank);
    bool fits = true, ok = true;
    for (uint32_t d = 0; fits && d < rank; d++) {
        int64_t got = result->u.shaped.dims[d];
        fits = concat_extent(op, d, d == dim, &dims.data[d]);
        ok &= !fits || dims.data[d] == got || dims.data[d] == DIM_DYNAMIC || got == DIM_DYNAMIC;
    }
    if (!fits)
        ok = op_error(op, "the inputs' extents in dimension %u add up to 2^63 or more", dim);
    else if (!ok)
        (void)op_error(op, "result type '%s'does not match inferred shape '%s' static sizes",
                       type_str(op->ctx, result),
                       type_str(op->ctx, type_tensor(type_elem(result), dims.data, rank, NULL)));
    vec_free(&dims);
    return ok;
}

bool tensor_verify_concat(Op *op)
{
    const Type *result = op_result(op, 0)->type;
    uint32_t rank = result->u.shaped.rank;
    int64_t dim = attr_int_value(op_attr(op, "dim"));
    if (op->operand_count == 0) return op_error(op, "requires at least one input");
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (op_operand(op, i)->type->u.shaped.rank != rank)
            return op_error(op, "rank of concatenated inputs must match result rank");
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (type_elem(op_operand(op, i)->type) != type_elem(result))
            return op_error(op, "inputs and result element type must match");
    if ((uint64_t)dim >= rank)
        return op_error(op, "concatenation dim must be less than the tensor rank");
    if (!verify_concat_inputs(op, (uint32_t)dim, rank)) return false;
    return verify_concat_result(op, (uint32_t)dim);
}

/* The extents of a pad's result as far as its static attributes say. False: they do not fit. */
static bool tensor_pad_dims(const Op *op, int64_t *dims)
{
    const Type *source = op_operand(op, 0)->type;
    const Attr *low = op_attr(op, "static_low"), *high = op_attr(op, "static_high");
    uint32_t rank = source->u.shaped.rank;
    if (low->u.dense_array.count != rank || high->u.dense_array.count != rank) return false;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t extent = source->u.shaped.dims[i];
        int64_t before = dense_array_i64(low, i), after = dense_array_i64(high, i);
        bool known = extent != DIM_DYNAMIC && before != DIM_DYNAMIC && after != DIM_DYNAMIC;
        dims[i] = DIM_DYNAMIC;
        if (known && !(i64_add(extent, before, &dims[i]) && i64_add(dims[i], after, &dims[i])))
            return false;
    }
    return true;
}

bool tensor_verify_pad(Op *op)
{
    const Type *source = op_operand(op, 0)->type, *result = op_result(op, 0)->type;
    uint32_t rank = source->u.shaped.rank;
    IntList dims = {0};
    if (!mixed_indices_verify(op, "static_low", 1, "low") ||
        !mixed_indices_verify(op, "static_high", 2, "high"))
        return false;
    vec_reserve(&dims, rank);
    bool fits = tensor_pad_dims(op, dims.data);
    bool ok = fits && result->u.shaped.rank == rank;
    for (uint32_t i = 0; ok && i < rank; i++)
        ok = dims.data[i] == result->u.shaped.dims[i] || dims.data[i] == DIM_DYNAMIC;
    if (!fits)
        (void)op_emit_error(op,
                            "failed to infer expectedType from sourceType '%s', specified "
                            "resultType is '%s'",
                            type_str(op->ctx, source), type_str(op->ctx, result));
    else if (!ok)
        (void)op_emit_error(
            op, "specified type '%s' does not match the inferred type '%s'",
            type_str(op->ctx, result),
            type_str(op->ctx, type_tensor(type_elem(source), dims.data, rank, NULL)));
    vec_free(&dims);
    return ok;
}

bool tensor_verify_pad_body(Op *op)
{
    const Block *body = region_entry(op_region(op, 0));
    const Type *result = op_result(op, 0)->type;
    uint32_t rank = result->u.shaped.rank;
    if (body->arg_count != rank)
        return op_emit_error(op, "expected the block to have %u arguments", rank);
    for (uint32_t i = 0; i < rank; i++)
        if (body->args[i]->type->kind != TYPE_INDEX)
            return op_error(op, "expected block argument %u to be an index", i + 1);
    const Op *yield = body->last;
    if (yield->operand_count != 1 || op_operand(yield, 0)->type != type_elem(result))
        return op_error(op, "expected yield type to match shape element type");
    return true;
}
