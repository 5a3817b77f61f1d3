/* Folders of integer arithmetic: first algebra, then constants element by element. A folder either
 * fills results[0] (or both results of an extended op) and returns true, or changes nothing.
 * Division by zero, quotients that overflow, and shifts by the width or more do not fold.
 * Tests: lit/dialects/arith/canonicalize.mir */
#include "dialects/arith/internal.h"
#include "dialects/common/common.h"

static bool gives_value(FoldResult *results, Value *value)
{
    results[0].value = value;
    return true;
}

static bool gives_attr(FoldResult *results, const Attr *attr)
{
    results[0].attr = attr;
    return attr != NULL;
}

static bool folds_lanes(Op *op, const Attr *const *operands, FoldResult *results, LaneFn *fn)
{
    return gives_attr(results, lane_fold_all(operands, 2, op_result(op, 0)->type, fn, NULL));
}

/* The op of that kind that defines a value, or NULL. */
static Op *def_of(Value *value, const OpDef *def)
{
    Op *op = value_def(value);
    return op && op->def == def ? op : NULL;
}

#define LANE_BINARY(NAME, EXPR)                                                                    \
    static bool NAME(const Lane *lane, const BigInt *args, BigInt *out)                            \
    {                                                                                              \
        (void)lane;                                                                                \
        *out = EXPR;                                                                               \
        return true;                                                                               \
    }
LANE_BINARY(lane_add, bigint_add(lane->arena, &args[0], &args[1]))
LANE_BINARY(lane_sub, bigint_sub(lane->arena, &args[0], &args[1]))
LANE_BINARY(lane_mul, bigint_mul(lane->arena, &args[0], &args[1]))
LANE_BINARY(lane_and, bigint_and(lane->arena, &args[0], &args[1]))
LANE_BINARY(lane_or, bigint_or(lane->arena, &args[0], &args[1]))
LANE_BINARY(lane_xor, bigint_xor(lane->arena, &args[0], &args[1]))

/* Folds unless the last lane of a constant is out of the op's domain, as upstream does: an
 * earlier lane's result is as good as any. */
static bool folds_by_last_lane(Op *op, const Attr *const *operands, FoldResult *results, LaneFn *fn)
{
    bool in_domain = false, *user = &in_domain;
    const Attr *attr = lane_fold_all(operands, 2, op_result(op, 0)->type, fn, &user);
    return in_domain && gives_attr(results, attr);
}

bool arith_fold_constant(Op *op, const Attr *const *operands, FoldResult *results)
{
    (void)operands;
    return gives_attr(results, op_attr(op, "value"));
}

bool arith_fold_addi(Op *op, const Attr *const *operands, FoldResult *results)
{
    Value *lhs = op_operand(op, 0), *rhs = op_operand(op, 1);
    /* x + 0 -> x;  (a - b) + b -> a;  b + (a - b) -> a */
    if (const_is_int(operands[1], 0)) return gives_value(results, lhs);
    Op *sub = def_of(lhs, ARITH(SUBI));
    if (sub && op_operand(sub, 1) == rhs) return gives_value(results, op_operand(sub, 0));
    sub = def_of(rhs, ARITH(SUBI));
    if (sub && op_operand(sub, 1) == lhs) return gives_value(results, op_operand(sub, 0));
    return folds_lanes(op, operands, results, lane_add);
}

/* Carry of a + b: the sum is less than an addend. */
static bool lane_carry(const Lane *lane, const BigInt *args, BigInt *out)
{
    BigInt sum = bigint_add(lane->arena, &args[0], &args[1]);
    *out = bigint_from_i64(lane->arena, 1, bigint_cmp(&sum, &args[0], false) < 0);
    return true;
}

bool arith_fold_addui_extended(Op *op, const Attr *const *operands, FoldResult *results)
{
    const Type *overflow = op_result(op, 1)->type;
    /* x + 0 -> x, false */
    if (const_is_int(operands[1], 0)) {
        const Attr *no = const_zero(overflow);
        if (!no) return false;
        results[0].value = op_operand(op, 0);
        results[1].attr = no;
        return true;
    }
    const Attr *sum = lane_fold_all(operands, 2, op_result(op, 0)->type, lane_add, NULL);
    const Attr *carry = sum ? lane_fold_all(operands, 2, overflow, lane_carry, NULL) : NULL;
    if (!carry) return false;
    results[0].attr = sum;
    results[1].attr = carry;
    return true;
}

bool arith_fold_subi(Op *op, const Attr *const *operands, FoldResult *results)
{
    Value *lhs = op_operand(op, 0), *rhs = op_operand(op, 1);
    /* x - x -> 0;  x - 0 -> x;  (a + b) - b -> a;  (a + b) - a -> b */
    if (lhs == rhs && const_zero(lhs->type)) return gives_attr(results, const_zero(lhs->type));
    if (const_is_int(operands[1], 0)) return gives_value(results, lhs);
    Op *add = def_of(lhs, ARITH(ADDI));
    if (add && op_operand(add, 1) == rhs) return gives_value(results, op_operand(add, 0));
    if (add && op_operand(add, 0) == rhs) return gives_value(results, op_operand(add, 1));
    return folds_lanes(op, operands, results, lane_sub);
}

bool arith_fold_muli(Op *op, const Attr *const *operands, FoldResult *results)
{
    /* x * 0 -> 0;  x * 1 -> x */
    if (const_is_int(operands[1], 0)) return gives_value(results, op_operand(op, 1));
    if (const_is_int(operands[1], 1)) return gives_value(results, op_operand(op, 0));
    return folds_lanes(op, operands, results, lane_mul);
}

static bool high_half(const Lane *lane, const BigInt *args, BigInt *out, bool is_signed)
{
    uint32_t width = args[0].width;
    BigInt a = bigint_resize(lane->arena, &args[0], 2 * width, is_signed);
    BigInt b = bigint_resize(lane->arena, &args[1], 2 * width, is_signed);
    BigInt product = bigint_mul(lane->arena, &a, &b);
    BigInt high = bigint_shr(lane->arena, &product, width, false);
    *out = bigint_resize(lane->arena, &high, width, false);
    return true;
}

static bool lane_high_signed(const Lane *lane, const BigInt *args, BigInt *out)
{
    return high_half(lane, args, out, true);
}

static bool lane_high_unsigned(const Lane *lane, const BigInt *args, BigInt *out)
{
    return high_half(lane, args, out, false);
}

static bool folds_halves(Op *op, const Attr *const *operands, FoldResult *results, LaneFn *high)
{
    const Type *type = op_result(op, 0)->type;
    const Attr *low_attr = lane_fold_all(operands, 2, type, lane_mul, NULL);
    const Attr *high_attr = low_attr ? lane_fold_all(operands, 2, type, high, NULL) : NULL;
    if (!high_attr) return false;
    results[0].attr = low_attr;
    results[1].attr = high_attr;
    return true;
}

/* x * 0 -> 0, 0 */
static bool folds_times_zero(const Attr *const *operands, FoldResult *results)
{
    if (!const_is_int(operands[1], 0)) return false;
    results[0].attr = results[1].attr = operands[1];
    return true;
}

bool arith_fold_mulsi_extended(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_times_zero(operands, results) ||
           folds_halves(op, operands, results, lane_high_signed);
}

bool arith_fold_mului_extended(Op *op, const Attr *const *operands, FoldResult *results)
{
    if (folds_times_zero(operands, results)) return true;
    /* x * 1 -> x, 0 */
    if (const_is_int(operands[1], 1) && const_zero(op_result(op, 1)->type)) {
        results[0].value = op_operand(op, 0);
        results[1].attr = const_zero(op_result(op, 1)->type);
        return true;
    }
    return folds_halves(op, operands, results, lane_high_unsigned);
}

typedef enum DivRounding { TO_ZERO, UP, DOWN } DivRounding;

static bool is_least(const Lane *lane, const BigInt *value)
{
    BigInt negated = bigint_neg(lane->arena, value);
    return bigint_is_negative(value) && bigint_eq(&negated, value);
}

/* min / -1, the one signed quotient that does not fit. */
static bool quotient_overflows(const Lane *lane, const BigInt *args)
{
    BigInt minus_one = bigint_from_i64(lane->arena, args[1].width, -1);
    return is_least(lane, &args[0]) && bigint_eq(&args[1], &minus_one);
}

static bool divide(const Lane *lane, const BigInt *args, BigInt *out, bool is_signed,
                   DivRounding to)
{
    if (bigint_is_zero(&args[1]) || (is_signed && quotient_overflows(lane, args))) return false;
    BigInt quotient = bigint_div(lane->arena, &args[0], &args[1], is_signed);
    BigInt rest = bigint_rem(lane->arena, &args[0], &args[1], is_signed);
    bool negative = is_signed && bigint_is_negative(&args[0]) != bigint_is_negative(&args[1]);
    BigInt one = bigint_from_i64(lane->arena, args[0].width, 1);
    if (!bigint_is_zero(&rest) && to == UP && !negative)
        quotient = bigint_add(lane->arena, &quotient, &one);
    else if (!bigint_is_zero(&rest) && to == DOWN && negative)
        quotient = bigint_sub(lane->arena, &quotient, &one);
    *out = quotient;
    return true;
}

static bool lane_divui(const Lane *lane, const BigInt *args, BigInt *out)
{
    return divide(lane, args, out, false, TO_ZERO);
}

static bool lane_divsi(const Lane *lane, const BigInt *args, BigInt *out)
{
    return divide(lane, args, out, true, TO_ZERO);
}

static bool lane_ceildivui(const Lane *lane, const BigInt *args, BigInt *out)
{
    return divide(lane, args, out, false, UP);
}

/* Like upstream, leaves the least value alone on either side. */
static bool lane_ceildivsi(const Lane *lane, const BigInt *args, BigInt *out)
{
    if (!bigint_is_zero(&args[0]) && (is_least(lane, &args[0]) || is_least(lane, &args[1])))
        return false;
    return divide(lane, args, out, true, UP);
}

static bool lane_floordivsi(const Lane *lane, const BigInt *args, BigInt *out)
{
    bool *in_domain = *(bool *const *)lane->user;
    *in_domain = divide(lane, args, out, true, DOWN);
    if (!*in_domain) *out = args[0];
    return true;
}

/* x / 1 -> x */
static bool folds_quotient(Op *op, const Attr *const *operands, FoldResult *results, LaneFn *fn)
{
    if (const_is_int(operands[1], 1)) return gives_value(results, op_operand(op, 0));
    return folds_lanes(op, operands, results, fn);
}

bool arith_fold_divui(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_quotient(op, operands, results, lane_divui);
}

bool arith_fold_divsi(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_quotient(op, operands, results, lane_divsi);
}

bool arith_fold_ceildivui(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_quotient(op, operands, results, lane_ceildivui);
}

bool arith_fold_ceildivsi(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_quotient(op, operands, results, lane_ceildivsi);
}

bool arith_fold_floordivsi(Op *op, const Attr *const *operands, FoldResult *results)
{
    if (const_is_int(operands[1], 1)) return gives_value(results, op_operand(op, 0));
    return folds_by_last_lane(op, operands, results, lane_floordivsi);
}

static bool remainder_of(const Lane *lane, const BigInt *args, BigInt *out, bool is_signed)
{
    if (bigint_is_zero(&args[1])) return false;
    *out = is_signed && quotient_overflows(lane, args)
               ? bigint_from_i64(lane->arena, args[0].width, 0)
               : bigint_rem(lane->arena, &args[0], &args[1], is_signed);
    return true;
}

static bool lane_remui(const Lane *lane, const BigInt *args, BigInt *out)
{
    return remainder_of(lane, args, out, false);
}

static bool lane_remsi(const Lane *lane, const BigInt *args, BigInt *out)
{
    return remainder_of(lane, args, out, true);
}

/* x % 1 -> 0 */
static bool folds_remainder(Op *op, const Attr *const *operands, FoldResult *results, LaneFn *fn)
{
    if (const_is_int(operands[1], 1) && const_zero(op_result(op, 0)->type))
        return gives_attr(results, const_zero(op_result(op, 0)->type));
    return folds_lanes(op, operands, results, fn);
}

bool arith_fold_remui(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_remainder(op, operands, results, lane_remui);
}

bool arith_fold_remsi(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_remainder(op, operands, results, lane_remsi);
}

/* value is x ^ -1 of the given x. */
static bool is_not_of(Value *value, const Value *x)
{
    Op *xor_op = def_of(value, ARITH(XORI));
    return xor_op && op_operand(xor_op, 0) == x &&
           const_is_all_ones(fold_constant_of(op_operand(xor_op, 1)));
}

/* Whether `value` is an and of `part` with something. */
static bool is_and_of(const Value *value, const Value *part)
{
    const Op *def = value_def(value);
    return def && def->def == ARITH(ANDI) &&
           (op_operand(def, 0) == part || op_operand(def, 1) == part);
}

bool arith_fold_andi(Op *op, const Attr *const *operands, FoldResult *results)
{
    Value *lhs = op_operand(op, 0), *rhs = op_operand(op, 1);
    /* x & 0 -> 0;  x & -1 -> x;  x & ~x -> 0;  (x & y) & x -> x & y */
    if (const_is_int(operands[1], 0)) return gives_value(results, rhs);
    if (const_is_all_ones(operands[1])) return gives_value(results, lhs);
    if (is_not_of(rhs, lhs) || is_not_of(lhs, rhs))
        return gives_attr(results, const_zero(lhs->type));
    if (is_and_of(lhs, rhs)) return gives_value(results, lhs);
    if (is_and_of(rhs, lhs)) return gives_value(results, rhs);
    return folds_lanes(op, operands, results, lane_and);
}

bool arith_fold_ori(Op *op, const Attr *const *operands, FoldResult *results)
{
    Value *lhs = op_operand(op, 0), *rhs = op_operand(op, 1);
    /* x | 0 -> x;  x | -1 -> -1;  x | ~x -> -1 */
    if (const_is_int(operands[1], 0)) return gives_value(results, lhs);
    if (const_is_all_ones(operands[1])) return gives_attr(results, operands[1]);
    if (is_not_of(lhs, rhs))
        return gives_attr(results, fold_constant_of(op_operand(value_def(lhs), 1)));
    if (is_not_of(rhs, lhs))
        return gives_attr(results, fold_constant_of(op_operand(value_def(rhs), 1)));
    return folds_lanes(op, operands, results, lane_or);
}

bool arith_fold_xori(Op *op, const Attr *const *operands, FoldResult *results)
{
    Value *lhs = op_operand(op, 0), *rhs = op_operand(op, 1);
    /* x ^ 0 -> x;  x ^ x -> 0;  (x ^ a) ^ a -> x and its mirror images */
    if (const_is_int(operands[1], 0)) return gives_value(results, lhs);
    if (lhs == rhs) return gives_attr(results, const_zero(lhs->type));
    for (int side = 0; side < 2; side++) {
        Op *inner = def_of(side ? rhs : lhs, ARITH(XORI));
        const Value *other = side ? lhs : rhs;
        if (inner && op_operand(inner, 1) == other)
            return gives_value(results, op_operand(inner, 0));
        if (inner && op_operand(inner, 0) == other)
            return gives_value(results, op_operand(inner, 1));
    }
    return folds_lanes(op, operands, results, lane_xor);
}

/* Shifts by the width or more give what shifting bit by bit would; `user` points to a bool that
 * tells whether the last lane's amount was in range. */
static uint64_t shift_amount(const Lane *lane, const BigInt *args)
{
    bool fits = bigint_fits_i64(&args[1], false) && bigint_to_u64(&args[1]) < args[0].width;
    **(bool *const *)lane->user = fits;
    return fits ? bigint_to_u64(&args[1]) : args[0].width;
}

static bool lane_shli(const Lane *lane, const BigInt *args, BigInt *out)
{
    *out = bigint_shl(lane->arena, &args[0], shift_amount(lane, args));
    return true;
}

static bool lane_shrui(const Lane *lane, const BigInt *args, BigInt *out)
{
    *out = bigint_shr(lane->arena, &args[0], shift_amount(lane, args), false);
    return true;
}

static bool lane_shrsi(const Lane *lane, const BigInt *args, BigInt *out)
{
    *out = bigint_shr(lane->arena, &args[0], shift_amount(lane, args), true);
    return true;
}

/* x shifted by 0 -> x */
static bool folds_shift(Op *op, const Attr *const *operands, FoldResult *results, LaneFn *fn)
{
    if (const_is_int(operands[1], 0)) return gives_value(results, op_operand(op, 0));
    return folds_by_last_lane(op, operands, results, fn);
}

bool arith_fold_shli(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_shift(op, operands, results, lane_shli);
}

bool arith_fold_shrui(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_shift(op, operands, results, lane_shrui);
}

bool arith_fold_shrsi(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_shift(op, operands, results, lane_shrsi);
}

LANE_BINARY(lane_maxsi, bigint_cmp(&args[0], &args[1], true) >= 0 ? args[0] : args[1])
LANE_BINARY(lane_maxui, bigint_cmp(&args[0], &args[1], false) >= 0 ? args[0] : args[1])
LANE_BINARY(lane_minsi, bigint_cmp(&args[0], &args[1], true) <= 0 ? args[0] : args[1])
LANE_BINARY(lane_minui, bigint_cmp(&args[0], &args[1], false) <= 0 ? args[0] : args[1])

/* The constant is the least (or greatest) value of its width. */
static bool is_extreme(const Attr *attr, bool is_signed, bool greatest)
{
    BigInt value;
    Arena scratch;
    if (!const_int(attr, &value)) return false;
    if (!is_signed) return greatest ? const_is_all_ones(attr) : bigint_is_zero(&value);
    arena_init(&scratch);
    BigInt one = bigint_from_i64(&scratch, value.width, 1);
    BigInt least = bigint_shl(&scratch, &one, value.width - 1);
    BigInt most = bigint_sub(&scratch, &least, &one);
    bool same = bigint_eq(&value, greatest ? &most : &least);
    arena_free(&scratch);
    return same;
}

/* op(x, x) -> x;  op(x, absorbing) -> absorbing;  op(x, neutral) -> x */
static bool folds_extreme(Op *op, const Attr *const *operands, FoldResult *results, LaneFn *fn,
                          bool is_signed, bool is_max)
{
    Value *lhs = op_operand(op, 0), *rhs = op_operand(op, 1);
    if (lhs == rhs) return gives_value(results, rhs);
    if (is_extreme(operands[1], is_signed, is_max)) return gives_value(results, rhs);
    if (is_extreme(operands[1], is_signed, !is_max)) return gives_value(results, lhs);
    return folds_lanes(op, operands, results, fn);
}

bool arith_fold_maxsi(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_extreme(op, operands, results, lane_maxsi, true, true);
}

bool arith_fold_maxui(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_extreme(op, operands, results, lane_maxui, false, true);
}

bool arith_fold_minsi(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_extreme(op, operands, results, lane_minsi, true, false);
}

bool arith_fold_minui(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_extreme(op, operands, results, lane_minui, false, false);
}
