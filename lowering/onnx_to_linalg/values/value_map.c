/* The value map: what each tensor of the network has become, and conversions from one of its forms
 * to the other.
 * Tests: lit/lowering/onnx_to_linalg */
#include <assert.h>
#include <math.h>

#include "dialects/arith/arith.h"
#include "ir/asm/print/print.h"
#include "lowering/onnx_to_linalg/values/values.h"

bool lower_too_wide(OnnxLowering *lw)
{
    return onnx_error(lw->node, "has a value range beyond 64 bits");
}

void fixed_split_scale(double scale, double *unit, int *exponent)
{
    *unit = 2.0 * frexp(scale, exponent);
    --*exponent;
}

void fixed_scale_by(Fixed *fixed, double factor)
{
    double unit;
    int exponent;
    fixed_split_scale(factor, &unit, &exponent);
    fixed->unit *= unit;
    fixed->exponent += exponent;
    if (fixed->unit >= 2.0) {
        fixed->unit /= 2.0;
        fixed->exponent++;
    }
}

bool fixed_divide_scale(Fixed *fixed, int64_t divisor)
{
    for (; divisor % 2 == 0; divisor /= 2) fixed->exponent--;
    return i64_mul(fixed->divisor, divisor, &fixed->divisor);
}

double fixed_scale(const Fixed *fixed)
{
    return ldexp(fixed->unit, fixed->exponent) / (double)fixed->divisor;
}

bool fixed_same_unit(const Fixed *a, const Fixed *b)
{
    return a->unit == b->unit && a->divisor == b->divisor && !a->epilogue && !b->epilogue;
}

bool fixed_same_scale(const Fixed *a, const Fixed *b)
{
    return fixed_same_unit(a, b) && a->exponent == b->exponent && a->zero == b->zero;
}

static Lowered *entry_of(OnnxLowering *lw, const Value *value)
{
    Lowered *lowered = ptrmap_get(&lw->values, value);
    if (!lowered) {
        lowered = ARENA_NEW(&lw->pass->scratch, Lowered);
        ptrmap_put(&lw->values, value, lowered);
    }
    return lowered;
}

/* Whether the tensor is of integers whose type does not hold the range. */
static bool may_overflow(const Type *elem, const Fixed *fixed)
{
    uint32_t width = type_is_integer(elem) ? type_width(elem) : 0;
    bool is_integer = fixed->unit == 1.0 && fixed->exponent == 0 && fixed->divisor == 1;
    if (width < 2 || width > 63 || !is_integer || fixed->zero != 0 || fixed->epilogue) return false;
    bool is_unsigned = elem->u.integer.sign == UNSIGNED;
    int64_t high = INT64_MAX >> (63 - width + !is_unsigned);
    return fixed->high > high || fixed->low < (is_unsigned ? 0 : -high - 1);
}

/* Takes the integers modulo the size of their type, as the operator has to. */
static void wrap_around(OnnxLowering *lw, const Type *elem, Fixed *fixed)
{
    uint32_t width = type_width(elem);
    const Type *type = type_with_elem(fixed->value->type, type_i(lw->ctx, width));
    fixed->is_unsigned = elem->u.integer.sign == UNSIGNED;
    fixed->high = INT64_MAX >> (63 - width + !fixed->is_unsigned);
    fixed->low = fixed->is_unsigned ? 0 : -fixed->high - 1;
    if (type == fixed->value->type) return;
    Generic g;
    generic_elementwise(lw, &g, &fixed->value, 1);
    generic_open(lw, &g, lower_build_empty(lw, type));
    fixed->value =
        generic_close(&g, lower_build_resize(&g.body, generic_arg(&g, 0), type_elem(type)));
}

void lower_record_fixed(OnnxLowering *lw, const Value *of, const Fixed *fixed)
{
    const Type *elem = type_elem(of->type);
    Fixed whole = *fixed;
    if (may_overflow(elem, fixed)) wrap_around(lw, elem, &whole);
    Lowered *lowered = entry_of(lw, of);
    lowered->fixed = whole;
    lowered->is_fixed = true;
}

void lower_result(OnnxLowering *lw, const Fixed *fixed)
{
    lower_record_fixed(lw, op_result(lw->node, 0), fixed);
}

void lower_record_plain(OnnxLowering *lw, const Value *of, Value *plain)
{
    entry_of(lw, of)->plain = plain;
}

void lower_plain_result(OnnxLowering *lw, uint32_t index, Value *value)
{
    lower_record_plain(lw, op_result(lw->node, index), value);
}

/* The value of a node whose operands are all constants; NULL if it has none. */
static Array *evaluate(OnnxLowering *lw, const Op *op)
{
    Array **inputs = ARENA_ARRAY(&lw->pass->scratch, Array *, op->operand_count);
    Array *result = NULL;
    if (op->result_count != 1 || op->operand_count == 0 || !onnx_can_eval(op)) return NULL;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        if (!onnx_operand(op, i)) continue;
        inputs[i] = (Array *)lower_array(lw, op_operand(op, i));
        if (!inputs[i]) return NULL;
    }
    strbuf_clear(&lw->why);
    return onnx_eval(op, inputs, INT64_MAX, &result, &lw->why) ? result : NULL;
}

/* onnx-fold-constants leaves quantized constants as a DequantizeLinear of integers. */
const Array *lower_array(OnnxLowering *lw, const Value *value)
{
    Array *array = ptrmap_get(&lw->arrays, value);
    if (array) return array;
    const Op *op = value_def(value);
    const Attr *attr = onnx_constant(value);
    if (attr)
        array = array_from_attr(attr);
    else if (op && op->def == ONNX(DEQUANTIZE_LINEAR))
        array = evaluate(lw, op);
    if (array) ptrmap_put(&lw->arrays, value, array);
    return array;
}

/* A constant that a node uses as a tensor of integers like any other. */
static const Fixed *materialize(OnnxLowering *lw, uint32_t index)
{
    FixedConstant constant;
    Value *value = op_operand(lw->node, index);
    if (!lower_constant(lw, index, &constant) || !constant_align(&constant)) return NULL;
    Fixed fixed = {.unit = constant.units[0],
                   .exponent = constant.exponents[0],
                   .divisor = 1,
                   .is_unsigned = constant.is_unsigned};
    for (int64_t i = 0; i < constant.count; i++) {
        int64_t element = constant.values[i];
        fixed.low = element < fixed.low ? element : fixed.low;
        fixed.high = element > fixed.high ? element : fixed.high;
    }
    fixed.value =
        constant_build(lw, &constant, constant.type->u.shaped.dims, constant.type->u.shaped.rank);
    lower_record_fixed(lw, value, &fixed);
    return &entry_of(lw, value)->fixed;
}

const Fixed *lower_fixed(OnnxLowering *lw, uint32_t index)
{
    if (index >= lw->node->operand_count) return NULL;
    const Lowered *lowered = ptrmap_get(&lw->values, op_operand(lw->node, index));
    if (lowered) return lowered->is_fixed ? &lowered->fixed : NULL;
    return materialize(lw, index);
}

const Fixed *lower_fixed_bare(OnnxLowering *lw, uint32_t index)
{
    const Fixed *fixed = lower_fixed(lw, index);
    return fixed && !fixed->epilogue ? fixed : NULL;
}

bool lower_is_unsigned_elem(const Type *type)
{
    const Type *elem = type_elem(type);
    return type_width(elem) == 1 ||
           (elem->kind == TYPE_INTEGER && elem->u.integer.sign == UNSIGNED);
}

const Type *lower_plain_type(const Type *type)
{
    const Type *elem = type_elem(type);
    if (!type_is_integer(elem)) return type;
    return type_with_elem(type, type_i(type->ctx, type_width(elem)));
}

/* value + zero, in the element type of the network. */
static Value *plain_integers(OnnxLowering *lw, const Fixed *fixed, const Type *type)
{
    Generic generic;
    if (fixed->zero == 0 && fixed->value->type == type) return fixed->value;
    uint32_t width = type_width(type_elem(fixed->value->type));
    uint32_t wanted = type_width(type_elem(type));
    const Type *wide = type_i(lw->ctx, width > wanted ? width : wanted);
    generic_elementwise(lw, &generic, &fixed->value, 1);
    generic_open(lw, &generic, lower_build_empty(lw, type));
    Builder *b = &generic.body;
    Value *element = lower_build_extend(b, generic_arg(&generic, 0), wide, fixed->is_unsigned);
    if (fixed->zero != 0)
        element =
            build_binary(b, ARITH(ADDI), wide, element, arith_constant_int(b, wide, fixed->zero));
    return generic_close(&generic, lower_build_resize(b, element, type_elem(type)));
}

Value *lower_build_array(OnnxLowering *lw, const Array *array, const Type *type)
{
    Array *signless = array_new(lower_plain_type(type));
    for (int64_t i = 0; i < array->count; i++) {
        if (type_is_float(array->elem))
            array_set_f64(signless, i, array_get_f64(array, i));
        else
            array_set_i64(signless, i, array_get_i64(array, i));
    }
    Value *value = arith_constant(&lw->b, array_to_attr(signless));
    array_unref(signless);
    return value;
}

/* Notes that the node takes integers as floats. */
static void note_end(OnnxLowering *lw)
{
    const Attr *name = op_attr(lw->node, ONNX_ATTR_NAME);
    if (!name) return;
    for (size_t i = 0; i < lw->ends.len; i++)
        if (lw->ends.data[i] == name) return;
    *vec_push(&lw->ends) = name;
}

static Value *make_plain(OnnxLowering *lw, const Value *value, const Lowered *lowered)
{
    const Array *array = lower_array(lw, value);
    if (array) return lower_build_array(lw, array, array->type);
    if (!lowered) {
        onnx_error(lw->node, "has an operand that is no tensor of numbers");
        return NULL;
    }
    if (type_is_float(type_elem(value->type))) {
        note_end(lw);
        return epilogue_build(lw, &lowered->fixed, value->type);
    }
    return plain_integers(lw, &lowered->fixed, lower_plain_type(value->type));
}

Value *lower_plain(OnnxLowering *lw, uint32_t index)
{
    const Value *value = op_operand(lw->node, index);
    const Lowered *lowered = ptrmap_get(&lw->values, value);
    if (lowered && lowered->plain) return lowered->plain;
    Value *plain = make_plain(lw, value, lowered);
    if (plain) entry_of(lw, value)->plain = plain;
    return plain;
}

bool lower_is_quantizer(const Op *op)
{
    switch (op->def - onnx_ops) {
    case ONNX_QUANT:
    case ONNX_INT_QUANT:
    case ONNX_BIPOLAR_QUANT:
    case ONNX_TRUNC:
    case ONNX_MULTI_THRESHOLD:
    case ONNX_QUANTIZE_LINEAR: return true;
    default: return false;
    }
}

void lower_warn_plain(OnnxLowering *lw, const char *why)
{
    StrBuf name = {0};
    strbuf_add_quoted(&name, onnx_node_name(lw->node));
    diag_warning(lw->ctx, lw->node->loc, "node %s (%s): is computed in floating point: %s",
                 name.data, lw->node->def->name, why);
    strbuf_free(&name);
}

/* onnx-decompose has made a product of the scales per channel. */
const char *lower_why_input(OnnxLowering *lw)
{
    const Op *product = value_def(op_operand(lw->node, 0));
    bool scales = product && product->def == ONNX(MUL) && lower_array(lw, op_operand(product, 1));
    const Op *quantizer = scales ? value_def(op_operand(product, 0)) : NULL;
    return quantizer && (lower_is_quantizer(quantizer) || quantizer->def == ONNX(DEQUANTIZE_LINEAR))
               ? "its input has a scale per channel"
               : "its input is not quantized";
}

const char *lower_why_weights(const OnnxLowering *lw, const char *otherwise)
{
    const Op *op = value_def(op_operand(lw->node, 1));
    while (op && op->def != ONNX(DEQUANTIZE_LINEAR))
        op = op->operand_count > 0 ? value_def(op_operand(op, 0)) : NULL;
    return op && onnx_int(op, "block_size", 0) != 0
               ? "its weights have a scale per block, which is not supported in integers"
               : otherwise;
}
