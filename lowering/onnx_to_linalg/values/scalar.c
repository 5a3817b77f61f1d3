/* Element-wise onnx operators as scalar arithmetic. Floats are computed in the element type, one op
 * after the other as the operators' definitions say, so that rounding is the same.
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-elementwise.mir, test/e2e/onnx_cases.py */
#include <math.h>

#include "dialects/arith/arith.h"
#include "dialects/math/math.h"
#include "lowering/onnx_to_linalg/values/values.h"

Value *lower_build_float(Builder *b, const Type *type, double value)
{
    return arith_constant(b, attr_float(type, value));
}

static Value *unary(Builder *b, const OpDef *def, Value *x)
{
    return build_unary(b, def, x->type, x);
}

static Value *binary(Builder *b, const OpDef *def, Value *lhs, Value *rhs)
{
    return build_binary(b, def, lhs->type, lhs, rhs);
}

/* lhs op a number */
static Value *with(Builder *b, const OpDef *def, Value *lhs, double rhs)
{
    return binary(b, def, lhs, lower_build_number(b, lhs->type, rhs));
}

Value *lower_build_rounding(Builder *b, Rounding mode, Value *x)
{
    switch (mode) {
    case ROUND_CEIL: return unary(b, MATH(CEIL), x);
    case ROUND_FLOOR: return unary(b, MATH(FLOOR), x);
    case ROUND_DOWN: return unary(b, MATH(TRUNC), x);
    case ROUND_HALF_UP: return unary(b, MATH(ROUND), x);
    case ROUND_UP:
        return binary(b, MATH(COPYSIGN), unary(b, MATH(CEIL), unary(b, MATH(ABSF), x)), x);
    case ROUND_HALF_DOWN:
        return binary(b, MATH(COPYSIGN),
                      unary(b, MATH(CEIL), with(b, ARITH(SUBF), unary(b, MATH(ABSF), x), 0.5)), x);
    default: return unary(b, MATH(ROUNDEVEN), x);
    }
}

static Value *select_negative(Builder *b, Value *x, Value *negative, Value *otherwise)
{
    Value *is_negative = arith_cmpf(b, CMPF_OLT, x, lower_build_float(b, x->type, 0.0));
    return arith_select(b, is_negative, negative, otherwise);
}

static Value *sigmoid(Builder *b, Value *x)
{
    Value *power = unary(b, MATH(EXP), unary(b, ARITH(NEGF), x));
    Value *one = lower_build_float(b, x->type, 1.0);
    return binary(b, ARITH(DIVF), one, binary(b, ARITH(ADDF), one, power));
}

static Value *hard_sigmoid(Builder *b, Value *x, double alpha, double beta)
{
    Value *y = with(b, ARITH(ADDF), with(b, ARITH(MULF), x, alpha), beta);
    return with(b, ARITH(MAXIMUMF), with(b, ARITH(MINIMUMF), y, 1.0), 0.0);
}

/* alpha * (e^x - 1) */
static Value *exponential(Builder *b, Value *x, double alpha)
{
    return with(b, ARITH(MULF), unary(b, MATH(EXPM1), x), alpha);
}

static Value *gelu(Builder *b, const Op *node, Value *x)
{
    const double sqrt_half = 0.70710678118654752440, sqrt_2_over_pi = 0.79788456080286535588;
    Value *y;
    if (str_eq_c(onnx_string(node, "approximate", "none"), "tanh")) {
        Value *cube = binary(b, ARITH(MULF), binary(b, ARITH(MULF), x, x), x);
        Value *sum = binary(b, ARITH(ADDF), x, with(b, ARITH(MULF), cube, 0.044715));
        y = unary(b, MATH(TANH), with(b, ARITH(MULF), sum, sqrt_2_over_pi));
    } else {
        y = unary(b, MATH(ERF), with(b, ARITH(MULF), x, sqrt_half));
    }
    return binary(b, ARITH(MULF), with(b, ARITH(MULF), x, 0.5), with(b, ARITH(ADDF), y, 1.0));
}

static Value *selu(Builder *b, const Op *node, Value *x)
{
    double alpha = onnx_float(node, "alpha", 1.67326319217681884765625);
    Value *y = arith_select(b, arith_cmpf(b, CMPF_OGT, x, lower_build_float(b, x->type, 0.0)), x,
                            exponential(b, x, alpha));
    return with(b, ARITH(MULF), y, onnx_float(node, "gamma", 1.05070102214813232421875));
}

/* max(x, 0) + log(1 + e^-|x|) */
static Value *softplus(Builder *b, Value *x)
{
    Value *power = unary(b, MATH(EXP), unary(b, ARITH(NEGF), unary(b, MATH(ABSF), x)));
    return binary(b, ARITH(ADDF), with(b, ARITH(MAXIMUMF), x, 0.0), unary(b, MATH(LOG1P), power));
}

static Value *sign(Builder *b, Value *x)
{
    Value *one = lower_build_float(b, x->type, 1.0), *zero = lower_build_float(b, x->type, 0.0);
    Value *positive = arith_select(b, arith_cmpf(b, CMPF_OGT, x, zero), one, x);
    return select_negative(b, x, lower_build_float(b, x->type, -1.0), positive);
}

/* max(x, 0) + min(alpha * (e^(x / alpha) - 1), 0) */
static Value *celu(Builder *b, Value *x, double alpha)
{
    Value *y = exponential(b, with(b, ARITH(DIVF), x, alpha), alpha);
    return binary(b, ARITH(ADDF), with(b, ARITH(MAXIMUMF), x, 0.0),
                  with(b, ARITH(MINIMUMF), y, 0.0));
}

static Value *shrink(Builder *b, const Op *node, Value *x)
{
    double lambd = onnx_float(node, "lambd", 0.5), bias = onnx_float(node, "bias", 0.0);
    Value *high = lower_build_float(b, x->type, lambd),
          *low = lower_build_float(b, x->type, -lambd);
    Value *above = arith_select(b, arith_cmpf(b, CMPF_OGT, x, high), with(b, ARITH(SUBF), x, bias),
                                lower_build_float(b, x->type, 0.0));
    return arith_select(b, arith_cmpf(b, CMPF_OLT, x, low), with(b, ARITH(ADDF), x, bias), above);
}

static Value *thresholded(Builder *b, Value *x, double alpha)
{
    Value *is_above = arith_cmpf(b, CMPF_OGT, x, lower_build_float(b, x->type, alpha));
    return arith_select(b, is_above, x, lower_build_float(b, x->type, 0.0));
}

static Value *float_unary(Builder *b, const Op *node, Value *x)
{
    switch (node->def - onnx_ops) {
    case ONNX_ABS: return unary(b, MATH(ABSF), x);
    case ONNX_CEIL: return unary(b, MATH(CEIL), x);
    case ONNX_CELU: return celu(b, x, onnx_float(node, "alpha", 1.0));
    case ONNX_COS: return unary(b, MATH(COS), x);
    case ONNX_MISH: return binary(b, ARITH(MULF), x, unary(b, MATH(TANH), softplus(b, x)));
    case ONNX_SHRINK: return shrink(b, node, x);
    case ONNX_SIN: return unary(b, MATH(SIN), x);
    case ONNX_SWISH:
        return binary(b, ARITH(MULF), x,
                      sigmoid(b, with(b, ARITH(MULF), x, onnx_float(node, "alpha", 1.0))));
    case ONNX_THRESHOLDED_RELU: return thresholded(b, x, onnx_float(node, "alpha", 1.0));
    case ONNX_ELU:
        return select_negative(b, x, exponential(b, x, onnx_float(node, "alpha", 1.0)), x);
    case ONNX_ERF: return unary(b, MATH(ERF), x);
    case ONNX_EXP: return unary(b, MATH(EXP), x);
    case ONNX_FLOOR: return unary(b, MATH(FLOOR), x);
    case ONNX_GELU: return gelu(b, node, x);
    case ONNX_HARD_SIGMOID:
        return hard_sigmoid(b, x, onnx_float(node, "alpha", 0.2), onnx_float(node, "beta", 0.5));
    case ONNX_HARD_SWISH: return binary(b, ARITH(MULF), x, hard_sigmoid(b, x, 1.0 / 6.0, 0.5));
    case ONNX_LEAKY_RELU:
        return select_negative(b, x, with(b, ARITH(MULF), x, onnx_float(node, "alpha", 0.01)), x);
    case ONNX_LOG: return unary(b, MATH(LOG), x);
    case ONNX_NEG: return unary(b, ARITH(NEGF), x);
    case ONNX_RECIPROCAL: return binary(b, ARITH(DIVF), lower_build_float(b, x->type, 1.0), x);
    case ONNX_RELU: return with(b, ARITH(MAXIMUMF), x, 0.0);
    case ONNX_ROUND: return unary(b, MATH(ROUNDEVEN), x);
    case ONNX_SELU: return selu(b, node, x);
    case ONNX_SIGMOID: return sigmoid(b, x);
    case ONNX_SIGN: return sign(b, x);
    case ONNX_SOFTPLUS: return softplus(b, x);
    case ONNX_SOFTSIGN:
        return binary(b, ARITH(DIVF), x, with(b, ARITH(ADDF), unary(b, MATH(ABSF), x), 1.0));
    case ONNX_SQRT: return unary(b, MATH(SQRT), x);
    case ONNX_TANH: return unary(b, MATH(TANH), x);
    default: return NULL;
    }
}

static Value *int_unary(Builder *b, const Op *node, Value *x, bool is_unsigned)
{
    Value *zero = lower_build_number(b, x->type, 0.0);
    switch (node->def - onnx_ops) {
    case ONNX_ABS: return is_unsigned ? x : unary(b, MATH(ABSI), x);
    case ONNX_NEG: return binary(b, ARITH(SUBI), zero, x);
    case ONNX_NOT: return with(b, ARITH(XORI), x, 1.0);
    case ONNX_RELU: return is_unsigned ? x : binary(b, ARITH(MAXSI), x, zero);
    case ONNX_SIGN: {
        Value *one = lower_build_number(b, x->type, 1.0),
              *minus = lower_build_number(b, x->type, -1.0);
        if (is_unsigned) return binary(b, ARITH(MINUI), x, one);
        return binary(b, ARITH(MAXSI), binary(b, ARITH(MINSI), x, one), minus);
    }
    default: return NULL;
    }
}

/* a - floor(a / b) * b, with the sign of b */
static Value *floor_modulo(Builder *b, Value *x, Value *y)
{
    Value *rest = binary(b, ARITH(REMF), x, y), *zero = lower_build_float(b, x->type, 0.0);
    Value *is_inexact = arith_cmpf(b, CMPF_UNE, rest, zero);
    Value *rest_sign = arith_cmpf(b, CMPF_OLT, rest, zero);
    Value *sign_y = arith_cmpf(b, CMPF_OLT, y, zero);
    Value *differs = binary(b, ARITH(XORI), rest_sign, sign_y);
    Value *wraps = binary(b, ARITH(ANDI), is_inexact, differs);
    return arith_select(b, wraps, binary(b, ARITH(ADDF), rest, y), rest);
}

static Value *int_modulo(Builder *b, const Op *node, Value *x, Value *y, bool is_unsigned)
{
    if (is_unsigned) return binary(b, ARITH(REMUI), x, y);
    Value *rest = binary(b, ARITH(REMSI), x, y);
    if (onnx_int(node, "fmod", 0) != 0) return rest;
    Value *zero = lower_build_number(b, x->type, 0.0);
    Value *differs = binary(b, ARITH(XORI), arith_cmpi(b, CMPI_SLT, rest, zero),
                            arith_cmpi(b, CMPI_SLT, y, zero));
    Value *wraps = binary(b, ARITH(ANDI), arith_cmpi(b, CMPI_NE, rest, zero), differs);
    return arith_select(b, wraps, binary(b, ARITH(ADDI), rest, y), rest);
}

static Value *float_binary(Builder *b, const Op *node, Value *x, Value *y)
{
    switch (node->def - onnx_ops) {
    case ONNX_ADD:
    case ONNX_SUM:
    case ONNX_MEAN: return binary(b, ARITH(ADDF), x, y);
    case ONNX_SUB: return binary(b, ARITH(SUBF), x, y);
    case ONNX_MUL: return binary(b, ARITH(MULF), x, y);
    case ONNX_DIV: return binary(b, ARITH(DIVF), x, y);
    case ONNX_MAX: return binary(b, ARITH(MAXIMUMF), x, y);
    case ONNX_MIN: return binary(b, ARITH(MINIMUMF), x, y);
    case ONNX_POW: return binary(b, MATH(POWF), x, y);
    case ONNX_PRELU: return select_negative(b, x, binary(b, ARITH(MULF), x, y), x);
    case ONNX_MOD:
        return onnx_int(node, "fmod", 0) ? binary(b, ARITH(REMF), x, y) : floor_modulo(b, x, y);
    default: return NULL;
    }
}

/* Whether the exponent is one number, not negative, that a signed integer of the type holds. */
static bool is_small_exponent(const Op *node, const Type *type)
{
    double number;
    const Attr *value = onnx_constant(op_operand(node, 1));
    return value && onnx_dense_uniform(value, &number) && number >= 0 &&
           number < onnx_exact_pow2((int)type_width(type) - 1);
}

/* math.ipowi has signed exponents, so those of unsigned integers are halved:
 * x^y = (x^(y / 2))^2 * (y odd ? x : 1). */
static Value *unsigned_power(Builder *b, Value *x, Value *y)
{
    Value *one = lower_build_number(b, x->type, 1.0), *zero = lower_build_number(b, x->type, 0.0);
    Value *root = binary(b, MATH(IPOWI), x, binary(b, ARITH(SHRUI), y, one));
    Value *odd = arith_cmpi(b, CMPI_NE, binary(b, ARITH(ANDI), y, one), zero);
    return binary(b, ARITH(MULI), binary(b, ARITH(MULI), root, root), arith_select(b, odd, x, one));
}

/* The largest base is no -1, so its reciprocals are 0. */
static Value *signed_power_of_unsigned(Builder *b, Value *x, Value *y)
{
    Value *zero = lower_build_number(b, x->type, 0.0);
    Value *is_negative = arith_cmpi(b, CMPI_SLT, y, zero);
    Value *is_largest = arith_cmpi(b, CMPI_EQ, x, lower_build_number(b, x->type, -1.0));
    return arith_select(b, binary(b, ARITH(ANDI), is_negative, is_largest), zero,
                        binary(b, MATH(IPOWI), x, y));
}

/* Of integers of any two types, modulo the width of the base; the wider of both while it is computed,
 * but for small exponents. */
static Value *int_power(Builder *b, const Op *node, Value *x, Value *y, bool x_unsigned)
{
    const Type *type = x->type, *other = y->type;
    bool y_unsigned = lower_is_unsigned_elem(op_operand(node, 1)->type);
    if (is_small_exponent(node, type))
        return binary(b, MATH(IPOWI), x, lower_build_resize(b, y, type));
    const Type *wide = type_width(other) > type_width(type) ? other : type;
    x = lower_build_extend(b, x, wide, x_unsigned);
    y = lower_build_extend(b, y, wide, y_unsigned);
    Value *power = y_unsigned && wide == other                 ? unsigned_power(b, x, y)
                   : x_unsigned && !y_unsigned && wide == type ? signed_power_of_unsigned(b, x, y)
                                                               : binary(b, MATH(IPOWI), x, y);
    return lower_build_resize(b, power, type);
}

static Value *int_binary(Builder *b, const Op *node, Value *x, Value *y, bool is_unsigned)
{
    switch (node->def - onnx_ops) {
    case ONNX_ADD: return binary(b, ARITH(ADDI), x, y);
    case ONNX_SUB: return binary(b, ARITH(SUBI), x, y);
    case ONNX_MUL: return binary(b, ARITH(MULI), x, y);
    case ONNX_DIV: return binary(b, is_unsigned ? ARITH(DIVUI) : ARITH(DIVSI), x, y);
    case ONNX_MAX: return binary(b, is_unsigned ? ARITH(MAXUI) : ARITH(MAXSI), x, y);
    case ONNX_MIN: return binary(b, is_unsigned ? ARITH(MINUI) : ARITH(MINSI), x, y);
    case ONNX_MOD: return int_modulo(b, node, x, y, is_unsigned);
    case ONNX_POW: return int_power(b, node, x, y, is_unsigned);
    case ONNX_AND: return binary(b, ARITH(ANDI), x, y);
    case ONNX_OR: return binary(b, ARITH(ORI), x, y);
    case ONNX_XOR: return binary(b, ARITH(XORI), x, y);
    case ONNX_PRELU: {
        if (is_unsigned) return x; /* never negative */
        Value *negative = arith_cmpi(b, CMPI_SLT, x, lower_build_number(b, x->type, 0.0));
        return arith_select(b, negative, binary(b, ARITH(MULI), x, y), x);
    }
    default: return NULL;
    }
}

static Value *compare(Builder *b, const Op *node, Value *x, Value *y, bool is_unsigned)
{
    static const struct {
        int op;
        CmpfPredicate f;
        CmpiPredicate s, u;
    } rows[] = {
        {ONNX_EQUAL, CMPF_OEQ, CMPI_EQ, CMPI_EQ},
        {ONNX_LESS, CMPF_OLT, CMPI_SLT, CMPI_ULT},
        {ONNX_LESS_OR_EQUAL, CMPF_OLE, CMPI_SLE, CMPI_ULE},
        {ONNX_GREATER, CMPF_OGT, CMPI_SGT, CMPI_UGT},
        {ONNX_GREATER_OR_EQUAL, CMPF_OGE, CMPI_SGE, CMPI_UGE},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (node->def - onnx_ops != rows[i].op) continue;
        if (type_is_float(x->type)) return arith_cmpf(b, rows[i].f, x, y);
        return arith_cmpi(b, is_unsigned ? rows[i].u : rows[i].s, x, y);
    }
    return NULL;
}

static Value *cast_float(Builder *b, Value *x, const Type *type)
{
    uint32_t from = type_width(x->type), to = type_width(type);
    if (x->type == type) return x;
    if (from < to) return build_unary(b, ARITH(EXTF), type, x);
    if (from > to) return build_unary(b, ARITH(TRUNCF), type, x);
    Value *wide = build_unary(b, ARITH(EXTF), type_float(b->ctx, TYPE_F32), x);
    return build_unary(b, ARITH(TRUNCF), type, wide);
}

/* To a float of 8 bits, which saturates. */
static Value *saturate(Builder *b, Value *x, const Type *type)
{
    double largest = float_largest((int)type->kind);
    return with(b, ARITH(MINIMUMF), with(b, ARITH(MAXIMUMF), x, -largest), largest);
}

static Value *cast(Builder *b, Value *x, const Type *type, bool is_unsigned, bool to_unsigned)
{
    bool from_float = type_is_float(x->type), to_float = type_is_float(type);
    if (from_float && to_float) return cast_float(b, x, type);
    if (to_float) return build_unary(b, is_unsigned ? ARITH(UITOFP) : ARITH(SITOFP), type, x);
    if (type_width(type) == 1) {
        Value *zero = lower_build_number(b, x->type, 0.0);
        return from_float ? arith_cmpf(b, CMPF_UNE, x, zero) : arith_cmpi(b, CMPI_NE, x, zero);
    }
    if (from_float) return build_unary(b, to_unsigned ? ARITH(FPTOUI) : ARITH(FPTOSI), type, x);
    if (type_width(x->type) > type_width(type)) return build_unary(b, ARITH(TRUNCI), type, x);
    return lower_build_extend(b, x, type, is_unsigned);
}

/* Whether a float of the type is any integer of so many bits. */
static bool holds_integers(const Type *real, uint32_t bits)
{
    switch (real->kind) {
    case TYPE_BF16: return bits <= 8;
    case TYPE_F16: return bits <= 11;
    case TYPE_F32: return bits <= 24;
    default: return true;
    }
}

/* A type that holds both floats. */
static const Type *common_float(Context *ctx, const Type *x, const Type *y)
{
    uint32_t x_width = type_width(x), y_width = type_width(y);
    if (x != y && x_width == y_width) return type_float(ctx, TYPE_F32);
    return x_width > y_width ? x : y;
}

/* Pow of two types, in a floating-point type that holds the integer, as whether it is odd gives the
 * sign, or both floats; its result has the type of the base. */
static Value *mixed_power(Builder *b, const Op *node, const Type *type, Value *x, Value *y)
{
    const Type *real = type_is_float(x->type) ? x->type : y->type;
    bool x_unsigned = lower_is_unsigned_elem(op_operand(node, 0)->type);
    bool y_unsigned = lower_is_unsigned_elem(op_operand(node, 1)->type);
    if (node->def != ONNX(POW) || !type_is_float(real)) return NULL;
    const Type *integer = type_is_float(x->type) ? y->type : x->type;
    if (type_is_float(integer))
        real = common_float(b->ctx, x->type, y->type);
    else if (!holds_integers(real, type_width(integer)))
        real = type_float(b->ctx, TYPE_F64);
    Value *power = binary(b, MATH(POWF), cast(b, x, real, x_unsigned, false),
                          cast(b, y, real, y_unsigned, false));
    return cast(b, power, type, false, x_unsigned);
}

/* Whether the element type has the factors of the node, which are f32. */
static bool holds_factors(const Op *node, const Type *elem)
{
    static const char *const names[] = {"alpha", "beta", "bias", "gamma", "lambd"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!isfinite(array_round(elem, onnx_float(node, names[i], 0.0)))) return false;
    return true;
}

static Value *cast_node(Builder *b, const Op *node, Value *x, const Type *type, bool is_unsigned)
{
    bool saturates =
        type_is_float(type) && type_width(type) <= 8 && onnx_int(node, "saturate", 1) != 0;
    if (saturates && !type_is_float(x->type))
        x = cast(b, x, type_float(b->ctx, TYPE_F64), is_unsigned, false);
    if (saturates) x = saturate(b, x, type);
    return cast(b, x, type, is_unsigned, lower_is_unsigned_elem(op_result(node, 0)->type));
}

Value *lower_build_scalar(Builder *b, const Op *node, const Type *type, Value *const *args,
                          uint32_t count, bool is_unsigned)
{
    Value *x = args[0];
    bool is_float = type_is_float(x->type);
    if (node->def == ONNX(WHERE)) return arith_select(b, x, args[1], args[2]);
    if (node->def == ONNX(CAST)) return cast_node(b, node, x, type, is_unsigned);
    if (is_float && !holds_factors(node, x->type)) return NULL;
    if (count == 1) return is_float ? float_unary(b, node, x) : int_unary(b, node, x, is_unsigned);
    bool is_mixed = args[1]->type != x->type && (is_float || type_is_float(args[1]->type));
    if (is_mixed) return mixed_power(b, node, type, x, args[1]);
    Value *truth = compare(b, node, x, args[1], is_unsigned);
    if (truth) return truth;
    return is_float ? float_binary(b, node, x, args[1])
                    : int_binary(b, node, x, args[1], is_unsigned);
}
