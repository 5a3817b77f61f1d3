/* Building blocks of convert-onnx-to-linalg: kernels, padding, widths.
 * Tests: lit/lowering/onnx_to_linalg */
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "lowering/onnx_to_linalg/values/values.h"

uint32_t fixed_signed_width(int64_t low, int64_t high)
{
    uint32_t width = 2;
    while (width < 64 && (low < -(INT64_C(1) << (width - 1)) || high >= INT64_C(1) << (width - 1)))
        width++;
    return width;
}

bool fixed_shift_i64(int64_t x, int64_t shift, int64_t *out)
{
    *out = 0;
    if (x == 0) return true;
    return shift >= 0 && shift < 63 && i64_mul(x, INT64_C(1) << shift, out);
}

Value *lower_build_extend(Builder *b, Value *value, const Type *type, bool is_unsigned)
{
    if (value->type == type) return value;
    return build_unary(b, is_unsigned ? ARITH(EXTUI) : ARITH(EXTSI), type, value);
}

Value *lower_build_resize(Builder *b, Value *value, const Type *type)
{
    if (type_width(value->type) > type_width(type))
        return build_unary(b, ARITH(TRUNCI), type, value);
    return lower_build_extend(b, value, type, false);
}

Value *lower_build_lookup(Builder *b, Value *table, Value *at)
{
    const Type *elem = type_elem(table->type);
    Value *operands[] = {table, build_unary(b, ARITH(INDEX_CAST), type_index(elem->ctx), at)};
    return op_result(build(b, TENSOR(EXTRACT), operands, 2, &elem, 1, NULL, 0), 0);
}

Value *lower_build_empty(OnnxLowering *lw, const Type *type)
{
    return op_result(build(&lw->b, TENSOR(EMPTY), NULL, 0, &type, 1, NULL, 0), 0);
}

Value *lower_build_fill(OnnxLowering *lw, Value *scalar, Value *tensor)
{
    return linalg_fill(&lw->b, scalar, tensor);
}

Value *lower_build_number(Builder *b, const Type *type, double value)
{
    if (type_is_float(type)) return arith_constant(b, attr_float(type, value));
    return arith_constant_int(b, type, (int64_t)value);
}

Value *lower_build_filled(OnnxLowering *lw, const Type *type, int64_t value)
{
    Value *scalar = lower_build_number(&lw->b, type_elem(type), (double)value);
    return lower_build_fill(lw, scalar, lower_build_empty(lw, type));
}

Value *lower_build_pad(OnnxLowering *lw, Value *tensor, const int64_t *low, const int64_t *high,
                       Value *value)
{
    uint32_t rank = tensor->type->u.shaped.rank;
    int64_t total = 0;
    for (uint32_t i = 0; i < rank; i++) total += low[i] + high[i];
    if (total == 0) return tensor;
    return tensor_pad(&lw->b, tensor, low, high, value);
}

void generic_along(OnnxLowering *lw, Generic *generic, Value *const *inputs, uint32_t count,
                   uint32_t axis)
{
    uint32_t rank = inputs[0]->type->u.shaped.rank;
    *generic = (Generic){.loops = rank, .inputs = count};
    for (uint32_t i = 0; i < count; i++) {
        bool is_along = i > 0 && inputs[i]->type->u.shaped.rank == 1 && rank > 1;
        const AffineExpr *index = is_along ? affine_dim(lw->ctx, axis) : NULL;
        generic->input[i] = inputs[i];
        generic->map[i] =
            is_along ? map_get(lw->ctx, rank, 0, 1, &index) : map_identity(lw->ctx, rank);
    }
    generic->map[count] = map_identity(lw->ctx, rank);
}

void generic_elementwise(OnnxLowering *lw, Generic *generic, Value *const *inputs, uint32_t count)
{
    generic_along(lw, generic, inputs, count, 1);
}

void generic_broadcast(OnnxLowering *lw, Generic *generic, Value *const *inputs, uint32_t count,
                       const Type *shape)
{
    uint32_t rank = shape->u.shaped.rank;
    *generic = (Generic){.loops = rank, .inputs = count};
    for (uint32_t i = 0; i < count; i++) {
        const AffineExpr *index[ONNX_MAX_RANK];
        const Type *type = inputs[i]->type;
        uint32_t own = type->u.shaped.rank;
        for (uint32_t d = 0; d < own; d++) {
            bool is_outside = rank + d < own; /* of one element, and of higher rank */
            bool is_stretched =
                is_outside || type->u.shaped.dims[d] != shape->u.shaped.dims[rank + d - own];
            index[d] =
                is_stretched ? affine_const(lw->ctx, 0) : affine_dim(lw->ctx, rank + d - own);
        }
        generic->input[i] = inputs[i];
        generic->map[i] = map_get(lw->ctx, rank, 0, own, index);
    }
    generic->map[count] = map_identity(lw->ctx, rank);
}

void generic_open(OnnxLowering *lw, Generic *generic, Value *init)
{
    generic->op =
        linalg_build_generic(&lw->b, generic->input, generic->inputs, &init, 1,
                             linalg_maps_attr(lw->ctx, generic->map, generic->inputs + 1),
                             linalg_iterators_attr(lw->ctx, generic->is_reduction, generic->loops));
    op_set_attr(generic->op, DFG_ATTR_NAME, attr_string(lw->ctx, onnx_node_name(lw->node)));
    generic->body = builder_at_end(linalg_body(generic->op), lw->b.loc);
}

Value *generic_arg(const Generic *generic, uint32_t index)
{
    return generic->body.block->args[index];
}

Value *generic_close(Generic *generic, Value *element)
{
    linalg_yield(&generic->body, &element, 1);
    return op_result(generic->op, 0);
}

Value *lower_build_wider(OnnxLowering *lw, const Fixed *x, const Type *elem)
{
    Generic g;
    if (type_elem(x->value->type) == elem) return x->value;
    generic_elementwise(lw, &g, &x->value, 1);
    generic_open(lw, &g, lower_build_empty(lw, type_with_elem(x->value->type, elem)));
    return generic_close(&g, lower_build_extend(&g.body, generic_arg(&g, 0), elem, x->is_unsigned));
}

/* Gives x, whose bounds are those of the result already, the integers "x op constant" of at least so
 * many bits. */
static void apply_constant(OnnxLowering *lw, Fixed *x, const OpDef *op, int64_t constant,
                           uint32_t least)
{
    Generic g;
    uint32_t width = fixed_signed_width(x->low, x->high);
    uint32_t own = type_width(type_elem(x->value->type)) + x->is_unsigned;
    width = own > width ? own : width;
    width = least > width ? least : width;
    const Type *elem = type_i(lw->ctx, width);
    generic_elementwise(lw, &g, &x->value, 1);
    generic_open(lw, &g, lower_build_empty(lw, type_with_elem(x->value->type, elem)));
    Value *q = lower_build_extend(&g.body, generic_arg(&g, 0), elem, x->is_unsigned);
    x->value = generic_close(
        &g, build_binary(&g.body, op, elem, q, arith_constant_int(&g.body, elem, constant)));
    x->is_unsigned = false;
}

bool lower_build_finer(OnnxLowering *lw, Fixed *x, int shift)
{
    if (shift == 0) return true;
    Fixed result = *x;
    if (!fixed_shift_i64(x->low, shift, &result.low) ||
        !fixed_shift_i64(x->high, shift, &result.high))
        return lower_too_wide(lw);
    apply_constant(lw, &result, ARITH(SHLI), shift, (uint32_t)shift + 1);
    result.exponent -= shift;
    *x = result;
    return true;
}

bool lower_build_multiple(OnnxLowering *lw, Fixed *x, int64_t factor)
{
    if (factor == 1) return true;
    Fixed result = *x;
    if (!i64_mul(x->low, factor, &result.low) || !i64_mul(x->high, factor, &result.high))
        return lower_too_wide(lw);
    apply_constant(lw, &result, ARITH(MULI), factor, fixed_signed_width(0, factor));
    *x = result;
    return true;
}
