/* Evaluators of element-wise onnx operators: arithmetic, comparisons, logic, activations, casts.
 * Operands are broadcast to the result's shape by numpy's rules. A float result is computed in
 * double and rounded once; for + - * / and sqrt this is the correctly rounded float result.
 * Tests: test/e2e/onnx_cases.py */
#include <math.h>

#include "dialects/onnx/internal.h"

#define IS(op, ID) ((op)->def == ONNX(ID))

/* A walk over result 0 with the inputs of those operand groups. */
static OnnxWalk broadcast_walk(const Eval *e, uint32_t operands)
{
    OnnxWalk walk;
    onnx_walk_init(&walk, onnx_array_dims(e->results[0]), onnx_array_rank(e->results[0]));
    for (uint32_t i = 0; i < operands; i++)
        onnx_walk_broadcast(&walk, onnx_array_dims(onnx_eval_input(e, i)),
                            onnx_array_rank(onnx_eval_input(e, i)));
    return walk;
}

typedef struct UnaryParams {
    double alpha, beta;
    bool is_tanh; /* Gelu's approximation */
} UnaryParams;    /* alpha is Shrink's lambd, beta its bias */

double onnx_round_half_even(double x)
{
    double whole = floor(x), rest = x - whole;
    if (rest > 0.5 || (rest == 0.5 && fmod(whole, 2.0) != 0.0)) whole += 1.0;
    return copysign(whole, x);
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double hard_sigmoid(double x, double alpha, double beta)
{
    double y = alpha * x + beta;
    return isnan(y) ? y : fmax(0.0, fmin(1.0, y));
}

static double gelu(double x, bool is_tanh)
{
    const double sqrt_half = 0.70710678118654752440, sqrt_2_over_pi = 0.79788456080286535588;
    if (is_tanh) return 0.5 * x * (1.0 + tanh(sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
    return 0.5 * x * (1.0 + erf(x * sqrt_half));
}

static double sign(double x)
{
    return isnan(x) ? x : (double)((x > 0) - (x < 0));
}

static double softplus(double x)
{
    return fmax(x, 0.0) + log1p(exp(-fabs(x)));
}

static double shrink(double x, double lambd, double bias)
{
    return x < -lambd ? x + bias : x > lambd ? x - bias : 0.0;
}

/* alpha 0 makes infinity times 0, which a minimum hands on. */
static double celu(double x, double alpha)
{
    double below = alpha * expm1(x / alpha);
    return fmax(x, 0.0) + (isnan(below) ? below : fmin(below, 0.0));
}

static double unary(const Op *op, const UnaryParams *p, double x)
{
    switch (op->def - onnx_ops) {
    case ONNX_ABS: return fabs(x);
    case ONNX_CELU: return isnan(x) ? x : celu(x, p->alpha);
    case ONNX_COS: return cos(x);
    case ONNX_MISH: return x * tanh(softplus(x));
    case ONNX_SHRINK: return shrink(x, p->alpha, p->beta);
    case ONNX_SIN: return sin(x);
    case ONNX_SWISH: return x * sigmoid(p->alpha * x);
    case ONNX_THRESHOLDED_RELU: return x > p->alpha ? x : 0.0;
    case ONNX_CEIL: return ceil(x);
    case ONNX_ELU: return x < 0 ? p->alpha * expm1(x) : x;
    case ONNX_ERF: return erf(x);
    case ONNX_EXP: return exp(x);
    case ONNX_FLOOR: return floor(x);
    case ONNX_GELU: return gelu(x, p->is_tanh);
    case ONNX_HARD_SIGMOID: return hard_sigmoid(x, p->alpha, p->beta);
    case ONNX_HARD_SWISH: return x * hard_sigmoid(x, 1.0 / 6.0, 0.5);
    case ONNX_LEAKY_RELU: return x < 0 ? p->alpha * x : x;
    case ONNX_LOG: return log(x);
    case ONNX_NEG: return -x;
    case ONNX_RECIPROCAL: return 1.0 / x;
    case ONNX_RELU: return x > 0 || isnan(x) ? x : 0.0;
    case ONNX_ROUND: return onnx_round_half_even(x);
    case ONNX_SELU: return p->beta * (x > 0 ? x : p->alpha * expm1(x));
    case ONNX_SIGMOID: return sigmoid(x);
    case ONNX_SIGN: return sign(x);
    case ONNX_SOFTPLUS: return softplus(x);
    case ONNX_SOFTSIGN: return x / (1.0 + fabs(x));
    case ONNX_SQRT: return sqrt(x);
    case ONNX_TANH: return tanh(x);
    default: return x;
    }
}

/* The operators above that take integers. */
static int64_t unary_int(const Op *op, int64_t x)
{
    switch (op->def - onnx_ops) {
    case ONNX_ABS: return x < 0 ? (int64_t)(0 - (uint64_t)x) : x;
    case ONNX_NEG: return (int64_t)(0 - (uint64_t)x);
    case ONNX_RELU: return x > 0 ? x : 0;
    case ONNX_SIGN: return (x > 0) - (x < 0);
    default: return x;
    }
}

static UnaryParams unary_params(const Eval *e)
{
    UnaryParams p = {.is_tanh = onnx_eval_is(e, "approximate", "tanh")};
    p.alpha = onnx_float(e->op, "alpha",
                         IS(e->op, HARD_SIGMOID) ? 0.2
                         : IS(e->op, LEAKY_RELU) ? 0.01
                         : IS(e->op, SELU)       ? 1.67326319217681884765625
                                                 : 1.0);
    p.beta = onnx_float(e->op, "beta", 0.5);
    if (IS(e->op, SHRINK)) {
        p.alpha = onnx_float(e->op, "lambd", 0.5);
        p.beta = onnx_float(e->op, "bias", 0.0);
    }
    if (IS(e->op, SELU)) p.beta = onnx_float(e->op, "gamma", 1.05070102214813232421875);
    return p;
}

bool onnx_eval_unary(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    UnaryParams p = unary_params(e);
    for (int64_t i = 0; i < x->count; i++) {
        if (array_is_float(x))
            array_set_f64(e->results[0], i, unary(e->op, &p, array_get_f64(x, i)));
        else if (IS(e->op, SHRINK))
            array_set_i64(e->results[0], i,
                          onnx_to_integer(shrink(array_get_f64(x, i), p.alpha, p.beta)));
        else if (x->kind == ARRAY_U64 && !IS(e->op, NEG))
            array_set_i64(e->results[0], i,
                          IS(e->op, SIGN) ? array_get_i64(x, i) != 0 : array_get_i64(x, i));
        else
            array_set_i64(e->results[0], i, unary_int(e->op, array_get_i64(x, i)));
    }
    return true;
}

bool onnx_eval_not(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    for (int64_t i = 0; i < x->count; i++)
        array_set_i64(e->results[0], i, array_get_i64(x, i) == 0);
    return true;
}

/* The remainder with the divisor's sign. */
static double floor_mod(double a, double b)
{
    double rest = fmod(a, b);
    return rest != 0.0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static double binary(const Op *op, double a, double b, bool is_fmod)
{
    switch (op->def - onnx_ops) {
    case ONNX_ADD: return a + b;
    case ONNX_SUB: return a - b;
    case ONNX_MUL: return a * b;
    case ONNX_DIV: return a / b;
    case ONNX_MOD: return is_fmod ? fmod(a, b) : floor_mod(a, b);
    case ONNX_PRELU: return a < 0 ? a * b : a;
    default: return pow(a, b);
    }
}

/* Of integers, modulo 2^64; of reciprocals only those of 1 and -1 are not 0. */
static int64_t int_power(int64_t base, int64_t exponent, bool is_unsigned, bool inverts)
{
    uint64_t power = 1, square = (uint64_t)base;
    if (inverts) return base == 1 ? 1 : base == -1 && !is_unsigned ? (exponent % 2 ? -1 : 1) : 0;
    for (uint64_t rest = (uint64_t)exponent; rest > 0; rest /= 2, square *= square)
        if (rest % 2) power *= square;
    return (int64_t)power;
}

static int64_t divide(int64_t a, int64_t b, bool is_unsigned)
{
    if (is_unsigned) return (int64_t)((uint64_t)a / (uint64_t)b);
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t modulo(int64_t a, int64_t b, bool is_unsigned, bool is_fmod)
{
    int64_t rest = (int64_t)((uint64_t)a - (uint64_t)divide(a, b, is_unsigned) * (uint64_t)b);
    bool wrong_sign = !is_unsigned && rest != 0 && (rest < 0) != (b < 0);
    return wrong_sign && !is_fmod ? rest + b : rest;
}

/* inverts: b is a negative exponent. */
static int64_t binary_int(const Op *op, int64_t a, int64_t b, bool is_unsigned, bool is_fmod,
                          bool inverts)
{
    switch (op->def - onnx_ops) {
    case ONNX_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case ONNX_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
    case ONNX_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case ONNX_DIV: return divide(a, b, is_unsigned);
    case ONNX_MOD: return modulo(a, b, is_unsigned, is_fmod);
    case ONNX_PRELU: return a < 0 && !is_unsigned ? (int64_t)((uint64_t)a * (uint64_t)b) : a;
    default: return int_power(a, b, is_unsigned, inverts);
    }
}

static bool divides_by_zero(const Op *op, int64_t a, int64_t b, bool inverts)
{
    return inverts ? a == 0 : (IS(op, DIV) || IS(op, MOD)) && b == 0;
}

bool onnx_eval_binary(const Eval *e)
{
    const Array *a = onnx_eval_input(e, 0), *b = onnx_eval_input(e, 1);
    Array *y = e->results[0];
    bool is_fmod = onnx_int(e->op, "fmod", 0) != 0, is_unsigned = a->kind == ARRAY_U64;
    OnnxWalk walk = broadcast_walk(e, 2);
    for (int64_t i = 0; i < y->count; i++, onnx_walk_next(&walk)) {
        int64_t at_a = walk.offset[0], at_b = walk.offset[1];
        if (array_is_float(a)) {
            array_set_f64(y, i,
                          binary(e->op, array_get_f64(a, at_a), array_get_f64(b, at_b), is_fmod));
            continue;
        }
        if (array_is_float(b)) { /* an integer to a float power */
            double power = pow(array_get_f64(a, at_a), array_get_f64(b, at_b));
            array_set_i64(y, i, onnx_to_integer(power));
            continue;
        }
        int64_t left = array_get_i64(a, at_a), right = array_get_i64(b, at_b);
        bool inverts = IS(e->op, POW) && right < 0 && b->kind != ARRAY_U64;
        if (divides_by_zero(e->op, left, right, inverts))
            return onnx_why(e->why, "divides an integer by zero");
        array_set_i64(y, i, binary_int(e->op, left, right, is_unsigned, is_fmod, inverts));
    }
    return true;
}

/* -1, 0 or 1; 2 when one is not a number. */
static int order(const Array *a, int64_t i, const Array *b, int64_t j)
{
    if (array_is_float(a)) {
        double x = array_get_f64(a, i), y = array_get_f64(b, j);
        return isnan(x) || isnan(y) ? 2 : (x > y) - (x < y);
    }
    int64_t x = array_get_i64(a, i), y = array_get_i64(b, j);
    if (a->kind == ARRAY_U64) return ((uint64_t)x > (uint64_t)y) - ((uint64_t)x < (uint64_t)y);
    return (x > y) - (x < y);
}

bool onnx_eval_compare(const Eval *e)
{
    const Array *a = onnx_eval_input(e, 0), *b = onnx_eval_input(e, 1);
    OnnxWalk walk = broadcast_walk(e, 2);
    for (int64_t i = 0; i < e->results[0]->count; i++, onnx_walk_next(&walk)) {
        int o = order(a, walk.offset[0], b, walk.offset[1]);
        bool holds = IS(e->op, EQUAL)              ? o == 0
                     : IS(e->op, LESS)             ? o == -1
                     : IS(e->op, LESS_OR_EQUAL)    ? o == -1 || o == 0
                     : IS(e->op, GREATER_OR_EQUAL) ? o == 1 || o == 0
                                                   : o == 1;
        array_set_i64(e->results[0], i, holds);
    }
    return true;
}

bool onnx_eval_logic(const Eval *e)
{
    const Array *a = onnx_eval_input(e, 0), *b = onnx_eval_input(e, 1);
    OnnxWalk walk = broadcast_walk(e, 2);
    for (int64_t i = 0; i < e->results[0]->count; i++, onnx_walk_next(&walk)) {
        bool x = array_get_i64(a, walk.offset[0]) != 0, y = array_get_i64(b, walk.offset[1]) != 0;
        array_set_i64(e->results[0], i, IS(e->op, AND) ? x && y : IS(e->op, OR) ? x || y : x != y);
    }
    return true;
}

bool onnx_eval_where(const Eval *e)
{
    const Array *condition = onnx_eval_input(e, 0);
    OnnxWalk walk = broadcast_walk(e, 3);
    for (int64_t i = 0; i < e->results[0]->count; i++, onnx_walk_next(&walk)) {
        bool first = array_get_i64(condition, walk.offset[0]) != 0;
        array_copy(e->results[0], i, onnx_eval_input(e, first ? 1 : 2), walk.offset[first ? 1 : 2]);
    }
    return true;
}

/* Joins element `at` of the next operand to element i of the result. */
static void join(const Op *op, Array *y, int64_t i, const Array *x, int64_t at)
{
    if (IS(op, SUM) || IS(op, MEAN)) {
        array_set_f64(y, i, array_get_f64(y, i) + array_get_f64(x, at));
        return;
    }
    bool is_nan = array_is_float(x) && isnan(array_get_f64(x, at));
    if (is_nan || order(x, at, y, i) == (IS(op, MAX) ? 1 : -1)) array_copy(y, i, x, at);
}

bool onnx_eval_variadic(const Eval *e)
{
    Array *y = e->results[0];
    for (uint32_t k = 0; k < e->op->operand_count; k++) {
        const Array *x = e->inputs[k];
        OnnxWalk walk;
        onnx_walk_init(&walk, onnx_array_dims(y), onnx_array_rank(y));
        onnx_walk_broadcast(&walk, onnx_array_dims(x), onnx_array_rank(x));
        for (int64_t i = 0; i < y->count; i++, onnx_walk_next(&walk)) {
            if (k == 0)
                array_copy(y, i, x, walk.offset[0]);
            else
                join(e->op, y, i, x, walk.offset[0]);
        }
    }
    for (int64_t i = 0; IS(e->op, MEAN) && i < y->count; i++)
        array_set_f64(y, i, array_get_f64(y, i) / (double)e->op->operand_count);
    return true;
}

bool onnx_eval_clip(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0), *low = onnx_eval_input(e, 1),
                *high = onnx_eval_input(e, 2);
    Array *y = e->results[0];
    for (int64_t i = 0; i < x->count; i++) {
        array_copy(y, i, x, i);
        if (low && order(y, i, low, 0) == -1) array_copy(y, i, low, 0);
        if (high && order(y, i, high, 0) == 1) array_copy(y, i, high, 0);
    }
    return true;
}

int64_t onnx_to_integer(double x)
{
    if (isnan(x)) return 0;
    if (x >= 9223372036854775808.0)
        return x < 18446744073709551616.0 ? (int64_t)(uint64_t)x : INT64_MAX;
    return x < -9223372036854775808.0 ? INT64_MIN : (int64_t)x;
}

/* An integer as a double that rounds to a narrower type as the integer does: of 53 bits, the last of
 * them set where a bit below is (rounding to odd). */
static double integer_to_odd(const Array *x, int64_t i)
{
    int64_t number = array_get_i64(x, i);
    bool is_negative = number < 0 && x->kind != ARRAY_U64;
    uint64_t size = is_negative ? 0 - (uint64_t)number : (uint64_t)number, lost = 0;
    uint32_t shift = 0;
    for (; size >> 53; shift++) {
        lost |= size & 1;
        size >>= 1;
    }
    double odd = ldexp((double)(size | lost), (int)shift);
    return is_negative ? -odd : odd;
}

/* A number for a cast to floats; a type of 8 bits saturates unless its attribute says otherwise. */
static double float_to_cast(const Eval *e, const Array *x, int64_t i)
{
    const Type *to = e->results[0]->elem;
    double value =
        array_is_float(x) || to->kind == TYPE_F64 ? array_get_f64(x, i) : integer_to_odd(x, i);
    if (type_width(to) > 8 || onnx_int(e->op, "saturate", 1) == 0) return value;
    double largest = float_largest((int)to->kind);
    return isnan(value) ? value : fmin(fmax(value, -largest), largest);
}

bool onnx_eval_cast(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    Array *y = e->results[0];
    bool to_bool = type_width(y->elem) == 1;
    for (int64_t i = 0; i < x->count; i++) {
        if (array_is_float(y))
            array_set_f64(y, i, float_to_cast(e, x, i));
        else if (to_bool)
            array_set_i64(y, i, array_get_f64(x, i) != 0.0);
        else if (array_is_float(x))
            array_set_i64(y, i, onnx_to_integer(array_get_f64(x, i)));
        else
            array_set_i64(y, i, array_get_i64(x, i));
    }
    return true;
}
