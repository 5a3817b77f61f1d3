/* Element-wise nodes, in three ways, the first that applies: on integers where the result is
 * exactly an integer of one scale, as a deferred op where a quantizer can take it in, else in plain
 * arithmetic.
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-elementwise.mir,
 * lit/lowering/onnx_to_linalg/requant/onnx-to-linalg-deferred-epilogue.mir */
#include <math.h>

#include "dialects/arith/arith.h"
#include "lowering/onnx_to_linalg/internal.h"
#include "lowering/onnx_to_linalg/requant/requant.h"
#include "lowering/onnx_to_linalg/values/values.h"

/* Integers of two operands are not shifted further apart than this. */
enum { MAX_SHIFT = 16 };

typedef struct Pair {
    OnnxLowering *lw;
    const Fixed *x, *y;
    int shift_x, shift_y; /* that bring both to one exponent */
} Pair;

static bool scaled_range(const Fixed *fixed, int shift, int64_t *low, int64_t *high)
{
    return fixed_shift_i64(fixed->low, shift, low) && fixed_shift_i64(fixed->high, shift, high);
}

/* Zeros, whose range says nothing of the shift, may be of a type that is too narrow for it. */
static Value *shifted(Builder *b, Value *q, const Type *type, const Fixed *of, int shift)
{
    q = lower_build_extend(b, q, type, of->is_unsigned);
    if (shift == 0 || (of->low == 0 && of->high == 0)) return q;
    return build_binary(b, ARITH(SHLI), type, q, arith_constant_int(b, type, shift));
}

/* A kernel on both, in a type for the result's range. */
static const Type *open_pair(Pair *p, Generic *g, const Fixed *result)
{
    Value *inputs[] = {p->x->value, p->y->value};
    const Type *shape = op_result(p->lw->node, 0)->type;
    uint32_t width = fixed_signed_width(result->low, result->high);
    uint32_t own_x = type_width(type_elem(inputs[0]->type)) + p->x->is_unsigned;
    uint32_t own_y = type_width(type_elem(inputs[1]->type)) + p->y->is_unsigned;
    width = own_x > width ? own_x : width;
    width = own_y > width ? own_y : width;
    const Type *type = onnx_lower_int_tensor(p->lw, shape, width);
    generic_broadcast(p->lw, g, inputs, 2, type);
    generic_open(p->lw, g, lower_build_empty(p->lw, type));
    return type_elem(type);
}

/* An op on both, brought to one exponent, whose numbers are within `room`. */
static bool combine_integers(Pair *p, const OpDef *def, const Fixed *room, Fixed *result)
{
    Generic g;
    const Type *type = open_pair(p, &g, room);
    Value *a = shifted(&g.body, generic_arg(&g, 0), type, p->x, p->shift_x);
    Value *b = shifted(&g.body, generic_arg(&g, 1), type, p->y, p->shift_y);
    result->value = generic_close(&g, build_binary(&g.body, def, type, a, b));
    result->exponent -= p->shift_x;
    result->is_unsigned = false;
    lower_result(p->lw, result);
    return true;
}

/* x + y or x - y of one unit. */
static bool add_integers(Pair *p)
{
    OnnxLowering *lw = p->lw;
    bool is_sub = lw->node->def == ONNX(SUB);
    int64_t a_low, a_high, b_low, b_high;
    Fixed result = *p->x;
    if (!scaled_range(p->x, p->shift_x, &a_low, &a_high) ||
        !scaled_range(p->y, p->shift_y, &b_low, &b_high) || b_low == INT64_MIN ||
        !i64_add(a_low, is_sub ? -b_high : b_low, &result.low) ||
        !i64_add(a_high, is_sub ? -b_low : b_high, &result.high))
        return lower_too_wide(lw);
    return combine_integers(p, is_sub ? ARITH(SUBI) : ARITH(ADDI), &result, &result);
}

/* The greater or the lesser of x and y of one unit. */
static bool choose_integers(Pair *p)
{
    OnnxLowering *lw = p->lw;
    bool is_max = lw->node->def == ONNX(MAX);
    int64_t a_low, a_high, b_low, b_high;
    Fixed result = *p->x, both = *p->x;
    if (!scaled_range(p->x, p->shift_x, &a_low, &a_high) ||
        !scaled_range(p->y, p->shift_y, &b_low, &b_high))
        return lower_too_wide(lw);
    both.low = i64_min(a_low, b_low);
    both.high = i64_max(a_high, b_high);
    result.low = is_max ? i64_max(a_low, b_low) : both.low;
    result.high = is_max ? both.high : i64_min(a_high, b_high);
    return combine_integers(p, is_max ? ARITH(MAXSI) : ARITH(MINSI), &both, &result);
}

static bool multiply_integers(Pair *p)
{
    OnnxLowering *lw = p->lw;
    const Fixed *x = p->x, *y = p->y;
    int64_t corners[4];
    Fixed result = {.unit = x->unit, .exponent = x->exponent + y->exponent};
    if (!i64_mul(x->low, y->low, &corners[0]) || !i64_mul(x->low, y->high, &corners[1]) ||
        !i64_mul(x->high, y->low, &corners[2]) || !i64_mul(x->high, y->high, &corners[3]) ||
        !i64_mul(x->divisor, y->divisor, &result.divisor))
        return lower_too_wide(lw);
    result.low = result.high = corners[0];
    for (size_t i = 1; i < COUNT_OF(corners); i++) {
        result.low = corners[i] < result.low ? corners[i] : result.low;
        result.high = corners[i] > result.high ? corners[i] : result.high;
    }
    fixed_scale_by(&result, y->unit);
    Generic g;
    const Type *type = open_pair(p, &g, &result);
    Value *a = lower_build_extend(&g.body, generic_arg(&g, 0), type, x->is_unsigned);
    Value *b = lower_build_extend(&g.body, generic_arg(&g, 1), type, y->is_unsigned);
    result.value = generic_close(&g, build_binary(&g.body, ARITH(MULI), type, a, b));
    lower_result(lw, &result);
    return true;
}

/* Whether the sum of both is one of integers; sets the shifts. */
static bool can_add(Pair *p)
{
    int difference = p->x->exponent - p->y->exponent;
    p->shift_x = difference > 0 ? difference : 0;
    p->shift_y = difference < 0 ? -difference : 0;
    return fixed_same_unit(p->x, p->y) && difference <= MAX_SHIFT && difference >= -MAX_SHIFT;
}

/* Whether a constant operand is taken into the epilogue of the other one, which costs nothing. */
static bool has_epilogue_constant(OnnxLowering *lw)
{
    int axis;
    for (uint32_t i = 0; i < 2; i++)
        if (lower_array(lw, op_operand(lw->node, 1 - i)) && epilogue_takes(lw, i, &axis))
            return true;
    return false;
}

/* A sum of integers whose units differ, in front of a quantizer. */
static bool add_ahead_of_quantizer(Pair *p, bool is_bare)
{
    Fixed result;
    OnnxLowering *lw = p->lw;
    if (!(is_bare && requant_build_add(lw, p->x, p->y, &result)) &&
        !requant_build_fine_sum(lw, p->x, p->y, &result))
        return false;
    lower_result(lw, &result);
    return true;
}

/* A number of each channel added to a sum that is fine already, and stays so. */
static bool add_to_fine_sum(OnnxLowering *lw)
{
    uint32_t index = lower_array(lw, op_operand(lw->node, 0)) ? 1 : 0;
    const Fixed *x = lower_fixed_bare(lw, index);
    Fixed result;
    if (!x || !x->is_fine ||
        !requant_build_fine_sum(lw, index == 0 ? x : NULL, index == 1 ? x : NULL, &result))
        return false;
    lower_result(lw, &result);
    return true;
}

/* *done tells whether the node was lowered; false: diagnosed. */
static bool lower_pair(OnnxLowering *lw, bool *done)
{
    const Op *op = lw->node;
    bool is_sum = op->def == ONNX(ADD) || op->def == ONNX(SUB);
    bool is_choice = op->operand_count == 2 && (op->def == ONNX(MAX) || op->def == ONNX(MIN));
    *done = false;
    if (!is_sum && !is_choice && op->def != ONNX(MUL)) return true;
    bool is_deferred = has_epilogue_constant(lw);
    if (!is_sum && is_deferred) return true;
    if (is_deferred && add_to_fine_sum(lw)) {
        *done = true;
        return true;
    }
    Pair p = {.lw = lw};
    p.x = is_deferred ? lower_fixed_bare(lw, 0) : lower_fixed(lw, 0);
    p.y = !p.x ? NULL : is_deferred ? lower_fixed_bare(lw, 1) : lower_fixed(lw, 1);
    if (!p.x || !p.y || p.x->zero != 0 || p.y->zero != 0) return true;
    bool is_bare = !p.x->epilogue && !p.y->epilogue;
    *done = true;
    if (is_bare && is_sum && can_add(&p)) return add_integers(&p);
    if (is_bare && is_choice && can_add(&p)) return choose_integers(&p);
    if (is_bare && !is_sum && !is_choice) return multiply_integers(&p);
    *done = is_sum && !is_deferred && add_ahead_of_quantizer(&p, is_bare);
    return true;
}

bool onnx_lower_relu(OnnxLowering *lw)
{
    const Fixed *v = lower_fixed_bare(lw, 0);
    if (!v || v->zero != 0) return onnx_lower_elementwise(lw);
    Fixed fixed = *v;
    if (v->low < 0) {
        Generic g;
        const Type *elem = type_elem(v->value->type);
        generic_elementwise(lw, &g, &v->value, 1);
        generic_open(lw, &g, lower_build_empty(lw, v->value->type));
        Value *zero = arith_constant_int(&g.body, elem, 0);
        fixed.value =
            generic_close(&g, build_binary(&g.body, ARITH(MAXSI), elem, generic_arg(&g, 0), zero));
        fixed.low = 0;
        fixed.high = v->high > 0 ? v->high : 0;
    }
    lower_result(lw, &fixed);
    return true;
}

/* The exponents of a constant of powers of two. False: another number is among them. */
static bool exponents_of(OnnxLowering *lw, const Array *constant, int **out)
{
    *out = ARENA_ARRAY(&lw->pass->scratch, int, constant->count);
    for (int64_t i = 0; i < constant->count; i++)
        if (!onnx_exact_log2(array_get_f64(constant, i), &(*out)[i])) return false;
    return true;
}

/* The dimension of the result along which a constant has its only other extent than 1. */
static bool channel_axis(const Array *constant, const Type *result, uint32_t *axis)
{
    uint32_t own = constant->type->u.shaped.rank, rank = result->u.shaped.rank;
    for (uint32_t i = 0; i < own; i++) {
        *axis = rank - own + i;
        if (constant->type->u.shaped.dims[i] == constant->count)
            return own <= rank && result->u.shaped.dims[*axis] == constant->count;
    }
    return false;
}

/* x * 2^k or x / 2^k of floats only changes the scale, or shifts channel by channel; integers have
 * none in the network. *done tells whether it is so; false: diagnosed. */
static bool rescale(OnnxLowering *lw, bool *done)
{
    const Op *op = lw->node;
    bool is_mul = op->def == ONNX(MUL), is_div = op->def == ONNX(DIV);
    *done = false;
    if (!is_mul && !is_div) return true;
    uint32_t index = is_mul && lower_array(lw, op_operand(op, 0)) ? 1 : 0, axis = 0;
    const Array *constant = lower_array(lw, op_operand(op, 1 - index));
    const Fixed *x = lower_fixed_bare(lw, index);
    const Type *type = op_result(op, 0)->type;
    int *exponents;
    if (!constant || constant->count == 0 || !x || x->zero != 0 ||
        op_operand(op, index)->type != type || !type_is_float(type_elem(type)) ||
        !exponents_of(lw, constant, &exponents))
        return true;
    if (constant->count > 1 && !channel_axis(constant, type, &axis)) return true;
    for (int64_t i = 0; is_div && i < constant->count; i++) exponents[i] = -exponents[i];
    Fixed result = *x;
    result.exponent += constant->count == 1 ? exponents[0] : 0;
    *done = true;
    if (constant->count > 1 &&
        !onnx_lower_scale_channels(lw, &result, axis, constant->count, exponents, done))
        return false;
    if (*done) lower_result(lw, &result);
    return true;
}

/* Bounds of a Clip on the network's integers, as value + zero. */
static bool clip_bound(OnnxLowering *lw, uint32_t index, const Fixed *x, int64_t *bound)
{
    if (!onnx_operand(lw->node, index)) return true;
    const Array *array = lower_array(lw, op_operand(lw->node, index));
    if (!array) return false;
    int64_t limit = array_get_i64(array, 0) - x->zero;
    *bound = index == 1 ? (limit > *bound ? limit : *bound) : (limit < *bound ? limit : *bound);
    return true;
}

/* A Clip between a quantizer and its dequantizer makes the range, and so the type, narrower. */
static bool clip_integers(OnnxLowering *lw, const Fixed *x)
{
    Fixed result = *x;
    if (!clip_bound(lw, 1, x, &result.low) || !clip_bound(lw, 2, x, &result.high) ||
        result.low > result.high)
        return false;
    if (result.low == x->low && result.high == x->high) {
        lower_result(lw, x);
        return true;
    }
    result.is_unsigned = result.low >= 0;
    uint32_t width = fixed_signed_width(result.low, result.high);
    width -= result.is_unsigned && width > 2;
    uint32_t own = type_width(type_elem(x->value->type)) + x->is_unsigned;
    const Type *wide = type_i(lw->ctx, own > width + 1 ? own : width + 1);
    const Type *elem = type_i(lw->ctx, width);
    Generic g;
    generic_elementwise(lw, &g, &x->value, 1);
    generic_open(lw, &g, lower_build_empty(lw, type_with_elem(x->value->type, elem)));
    Builder *b = &g.body;
    Value *q = lower_build_extend(b, generic_arg(&g, 0), wide, x->is_unsigned);
    q = build_binary(b, ARITH(MAXSI), wide, q, arith_constant_int(b, wide, result.low));
    q = build_binary(b, ARITH(MINSI), wide, q, arith_constant_int(b, wide, result.high));
    result.value = generic_close(&g, lower_build_resize(b, q, elem));
    lower_result(lw, &result);
    return true;
}

bool onnx_lower_clip(OnnxLowering *lw)
{
    const Fixed *x = lower_fixed_bare(lw, 0);
    bool is_integer = type_is_integer(type_elem(op_operand(lw->node, 0)->type));
    if (x && is_integer && clip_integers(lw, x)) return true;
    return onnx_lower_elementwise(lw);
}

/* Whether a float of fewer than 32 bits holds all integers of the range: it does if it holds the
 * largest odd one, which takes the most bits. In f32 integers count as exact. */
static bool holds_integers(const Type *type, const Fixed *x)
{
    int64_t most = -x->low > x->high ? -x->low : x->high;
    double odd = (double)((most - 1) | 1);
    return type_width(type) >= 32 || most <= 1 || attr_float_value(attr_float(type, odd)) == odd;
}

/* Between integers and floats, integers that fit stay the same ones. */
bool onnx_lower_cast(OnnxLowering *lw)
{
    const Fixed *x = lower_fixed_bare(lw, 0);
    const Type *from = type_elem(op_operand(lw->node, 0)->type);
    const Type *to = type_elem(op_result(lw->node, 0)->type);
    if (!x || x->unit != 1.0 || x->exponent != 0 || x->divisor != 1 || x->zero != 0)
        return onnx_lower_elementwise(lw);
    if (type_is_integer(to)) {
        uint32_t width = type_width(to), needed = fixed_signed_width(x->low, x->high);
        bool fits =
            lower_is_unsigned_elem(to) ? x->low >= 0 && needed <= width + 1 : needed <= width;
        if (!fits || width == 1) return onnx_lower_elementwise(lw);
    } else if ((!type_is_integer(from) && type_width(to) < type_width(from)) ||
               !holds_integers(to, x)) {
        return onnx_lower_elementwise(lw);
    }
    lower_result(lw, x);
    return true;
}

/* Nodes that could be integers, but are parts of a function that a quantizer takes in. */
static bool append_part(OnnxLowering *lw)
{
    for (uint32_t i = 0; i < lw->node->operand_count; i++)
        if (!lower_array(lw, op_operand(lw->node, i)))
            return requant_joins_itself(lw, i) && epilogue_append(lw, i);
    return false;
}

static bool append_any(OnnxLowering *lw)
{
    for (uint32_t i = 0; i < lw->node->operand_count; i++)
        if (!lower_array(lw, op_operand(lw->node, i)) && epilogue_append(lw, i)) return true;
    return false;
}

bool onnx_lower_elementwise(OnnxLowering *lw)
{
    bool done;
    if (append_part(lw)) return true;
    if (!lower_pair(lw, &done)) return false;
    if (!done && !rescale(lw, &done)) return false;
    if (done || append_any(lw)) return true;
    Value *first = lower_plain(lw, 0);
    Value *y = first ? lower_build_plain_node(lw, 0, first) : NULL;
    if (y) lower_plain_result(lw, 0, y);
    return y != NULL;
}
