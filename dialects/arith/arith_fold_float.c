/* Folders of float arithmetic. Results are computed in double and rounded once, which gives the
 * correct result for formats up to f64; wider formats do not fold.
 * Tests: lit/dialects/arith/canonicalize.mir */
#include <math.h>

#include "dialects/arith/internal.h"
#include "dialects/common/common.h"

static bool gives_value(FoldResult *results, Value *value)
{
    results[0].value = value;
    return true;
}

static bool is_float(const Attr *attr, double value)
{
    double got;
    return const_float(attr, &got) && got == value && signbit(got) == signbit(value);
}

static double add(double a, double b)
{
    return a + b;
}

static double sub(double a, double b)
{
    return a - b;
}

static double mul(double a, double b)
{
    return a * b;
}

static double divide(double a, double b)
{
    return a / b;
}

/* The larger number; of the two zeros, which are equal, the positive one counts as larger. */
#define LANE_FLOAT(NAME, FN)                                                                       \
    static bool NAME(const Lane *lane, const BigInt *args, BigInt *out)                            \
    {                                                                                              \
        return lane_float2(lane, args, out, FN);                                                   \
    }
LANE_FLOAT(lane_add, add)
LANE_FLOAT(lane_sub, sub)
LANE_FLOAT(lane_mul, mul)
LANE_FLOAT(lane_div, divide)
LANE_FLOAT(lane_rem, fmod)

typedef enum NanRule { NAN_WINS, NAN_YIELDS } NanRule;

static bool lane_extreme(const Lane *lane, const BigInt *args, BigInt *out, FloatFn2 *fn,
                         NanRule rule)
{
    if (args[0].width > 64) return false;
    int kind = (int)lane->arg_elem->kind;
    bool first = isnan(float_from_bits(kind, args[0].u.word));
    if (!first && !isnan(float_from_bits(kind, args[1].u.word)))
        return lane_float2(lane, args, out, fn);
    *out = args[first == (rule == NAN_WINS) ? 0 : 1];
    return true;
}

static bool lane_maximum(const Lane *lane, const BigInt *args, BigInt *out)
{
    return lane_extreme(lane, args, out, float_maximum, NAN_WINS);
}

static bool lane_minimum(const Lane *lane, const BigInt *args, BigInt *out)
{
    return lane_extreme(lane, args, out, float_minimum, NAN_WINS);
}

static bool lane_maxnum(const Lane *lane, const BigInt *args, BigInt *out)
{
    return lane_extreme(lane, args, out, float_maximum, NAN_YIELDS);
}

static bool lane_minnum(const Lane *lane, const BigInt *args, BigInt *out)
{
    return lane_extreme(lane, args, out, float_minimum, NAN_YIELDS);
}

static bool folds_lanes(Op *op, const Attr *const *operands, FoldResult *results, LaneFn *fn)
{
    results[0].attr = lane_fold_all(operands, 2, op_result(op, 0)->type, fn, NULL);
    return results[0].attr != NULL;
}

static bool lane_neg(const Lane *lane, const BigInt *args, BigInt *out)
{
    *out = lane_with_sign(lane, &args[0], !bigint_is_negative(&args[0]));
    return true;
}

bool arith_fold_negf(Op *op, const Attr *const *operands, FoldResult *results)
{
    /* -(-x) -> x */
    Op *inner = value_def(op_operand(op, 0));
    if (inner && inner->def == ARITH(NEGF)) return gives_value(results, op_operand(inner, 0));
    results[0].attr = lane_fold_all(operands, 1, op_result(op, 0)->type, lane_neg, NULL);
    return results[0].attr != NULL;
}

/* op(x, neutral) -> x, else constants */
static bool folds_neutral(Op *op, const Attr *const *operands, FoldResult *results, double neutral,
                          LaneFn *fn)
{
    if (is_float(operands[1], neutral)) return gives_value(results, op_operand(op, 0));
    return folds_lanes(op, operands, results, fn);
}

bool arith_fold_addf(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_neutral(op, operands, results, -0.0, lane_add);
}

bool arith_fold_subf(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_neutral(op, operands, results, 0.0, lane_sub);
}

bool arith_fold_mulf(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_neutral(op, operands, results, 1.0, lane_mul);
}

bool arith_fold_divf(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_neutral(op, operands, results, 1.0, lane_div);
}

bool arith_fold_remf(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_lanes(op, operands, results, lane_rem);
}

/* op(x, x) -> x, else as folds_neutral */
static bool folds_extreme(Op *op, const Attr *const *operands, FoldResult *results, double neutral,
                          LaneFn *fn)
{
    if (op_operand(op, 0) == op_operand(op, 1)) return gives_value(results, op_operand(op, 1));
    return folds_neutral(op, operands, results, neutral, fn);
}

bool arith_fold_maximumf(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_extreme(op, operands, results, -HUGE_VAL, lane_maximum);
}

/* Unlike upstream 19, which folds maxnumf's constants as maximumf's: a NaN would win. */
bool arith_fold_maxnumf(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_extreme(op, operands, results, -HUGE_VAL, lane_maxnum);
}

bool arith_fold_minimumf(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_extreme(op, operands, results, HUGE_VAL, lane_minimum);
}

bool arith_fold_minnumf(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_extreme(op, operands, results, HUGE_VAL, lane_minnum);
}
