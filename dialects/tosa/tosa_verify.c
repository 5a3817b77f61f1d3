/* Checks of element types and quantization. Wording is upstream's.
 * Tests: lit/dialects/tosa/invalid.mir */
#include "dialects/quant/quant.h"
#include "dialects/tosa/internal.h"
#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"

static const Type *elem_of(const Value *value)
{
    return type_elem(value->type);
}

bool tosa_has_empty_extent(const Type *type)
{
    for (uint32_t i = 0; type_is_ranked(type) && i < type->u.shaped.rank; i++)
        if (type->u.shaped.dims[i] == 0) return true;
    return false;
}

/* The same, or what a uniformly quantized element is stored in. */
static const Type *stored_elem_of(const Value *value)
{
    const Type *elem = elem_of(value);
    return type_is_a(elem, &quant_uniform) ? quant_storage(elem) : elem;
}

bool tosa_same_shape(const Type *a, const Type *b)
{
    bool same = type_is_ranked(a) && type_is_ranked(b) && a->u.shaped.rank == b->u.shaped.rank;
    for (uint32_t i = 0; same && i < a->u.shaped.rank; i++)
        same = a->u.shaped.dims[i] == b->u.shaped.dims[i];
    return same;
}

static bool refuse_empty(const Op *op)
{
    return op_error(op, "tensor has a dimension with size zero. Each dimension of a tensor must "
                        "have size >= 1");
}

bool tosa_verify_const(Op *op)
{
    const Type *value = op_attr(op, "value")->type, *output = op_result(op, 0)->type;
    if (!tosa_same_shape(value, output))
        return op_error(op, "failed to verify that all of {value, output} have same shape");
    return type_elem(value) == type_elem(output) || type_elem(output)->kind == TYPE_DIALECT ||
           op_error(op, "expected same attr/result element types");
}

bool tosa_verify_argmax(Op *op)
{
    const Type *input = op_operand(op, 0)->type;
    int64_t axis = attr_int_value(op_attr(op, "axis"));
    if (!type_is_integer(elem_of(op_result(op, 0))))
        return op_error(op, "result tensor is not of integer type");
    if (type_is_ranked(input) && (axis < 0 || axis >= input->u.shaped.rank))
        return op_error(op, "specified axis is outside the rank of the tensor");
    return true;
}

/* Sums are made in i32 or in floats that lose nothing; f16 may stay f16. */
static bool verify_accumulator(const Op *op, const Type *elem, const Type *acc)
{
    bool is_f32 = acc->kind == TYPE_F32;
    if (type_is_integer(elem) && !(type_is_integer(acc) && acc->u.integer.width == 32))
        return op_error(op, "accumulator type for integer tensor is not i32");
    if (elem->kind == TYPE_F16 && acc->kind != TYPE_F16 && !is_f32)
        return op_error(op, "accumulator type for f16 tensor is not f16/f32");
    if (elem->kind == TYPE_BF16 && !is_f32)
        return op_error(op, "accumulator type for bf16 tensor is not f32");
    if (elem->kind == TYPE_F32 && !is_f32)
        return op_error(op, "accumulator type for f32 tensor is not f32");
    return true;
}

static bool is_pooled(const Type *elem)
{
    if (type_is_integer(elem)) return elem->u.integer.width == 8 || elem->u.integer.width == 16;
    return elem->kind == TYPE_F32 || elem->kind == TYPE_F16 || elem->kind == TYPE_BF16;
}

/* The same kind and width; signedness may differ. */
static bool same_number(const Type *a, const Type *b)
{
    return a->kind == b->kind && type_width(a) == type_width(b);
}

bool tosa_verify_avg_pool2d(Op *op)
{
    const Type *in = stored_elem_of(op_operand(op, 0)), *out = stored_elem_of(op_result(op, 0));
    if (tosa_has_empty_extent(op_operand(op, 0)->type)) return refuse_empty(op);
    if (!verify_accumulator(op, in, op_attr(op, "acc_type")->u.type_value)) return false;
    return (is_pooled(in) && same_number(in, out)) ||
           op_error(op, "input/output element types are incompatible.");
}

/* Float bounds have one type: the input's, or a wider one. */
static bool bounds_fit(const Op *op, const Type *elem)
{
    const Type *max = op_attr(op, "max_fp")->type, *min = op_attr(op, "min_fp")->type;
    return max == min && (max == elem || type_width(max) > type_width(elem));
}

bool tosa_verify_clamp(Op *op)
{
    const Type *elem = stored_elem_of(op_operand(op, 0));
    if (!tosa_verify_broadcast(op)) return false;
    if (elem != stored_elem_of(op_result(op, 0)))
        return op_error(op, "input/output element types are incompatible.");
    return type_is_integer(elem) || bounds_fit(op, elem) ||
           op_error(op, "min/max attributes types are incompatible with input/output element "
                        "types.");
}

/* Integer products may be wider than their factors. */
static bool verify_product(const Op *op)
{
    const Type *lhs = elem_of(op_operand(op, 0)), *rhs = elem_of(op_operand(op, 1));
    const Type *result = elem_of(op_result(op, 0));
    if (!type_is_integer(result) || !type_is_integer(lhs))
        return (lhs == result && rhs == result) ||
               op_error(op, "requires the same element type for all operands and results");
    if (lhs != rhs) return op_error(op, "requires the same element type for all operands");
    return type_width(lhs) <= type_width(result) ||
           op_error(op, "invalid data type size for operands or result");
}

bool tosa_verify_mul(Op *op)
{
    return verify_product(op) && tosa_verify_broadcast(op);
}

/* Appends a value as messages describe it: the op that defines it, or the number of the
 * argument. */
static void describe(StrBuf *out, const Value *value)
{
    if (value->is_arg) {
        strbuf_add_c(out, "<block argument> of type '");
        type_print(out, value->type);
        strbuf_printf(out, "' at index: %u", value->index);
        return;
    }
    PrintOptions options = PRINT_DEFAULT;
    options.generic = options.local_scope = true;
    op_print(out, value->owner.op, &options);
}

static bool refuse_unranked(const Op *op, const Value *input)
{
    StrBuf text = {0};
    describe(&text, input);
    (void)op_error(op, "expect a ranked tensor for input, got %s", text.data);
    strbuf_free(&text);
    return false;
}

/* Input and weights are both float, or both integers with zero points. */
bool tosa_verify_conv(Op *op)
{
    const Value *input = op_operand(op, 0);
    const Type *in = elem_of(input), *weight = elem_of(op_operand(op, 1));
    bool is_float = type_is_float(in), has_quant = op_attr(op, "quantization_info") != NULL;
    if (!type_is_ranked(input->type)) return refuse_unranked(op, input);
    if (tosa_has_empty_extent(input->type)) return refuse_empty(op);
    if (is_float != type_is_float(weight))
        return op_error(
            op, "expect both input and weight to be float or not together, got '%s' and '%s'",
            type_str(op->ctx, in), type_str(op->ctx, weight));
    return is_float != has_quant ||
           op_error(op, "quantizationattr is required for quantized type, and not allowed for "
                        "float type");
}
