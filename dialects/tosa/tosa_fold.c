/* Folders of elementwise ops: neutral operands, pairs of ops that undo each other, and splat
 * constants. Other constants do not fold, as upstream.
 * Tests: lit/dialects/tosa/canonicalize.mir */
#include <math.h>

#include "dialects/common/common.h"
#include "dialects/tosa/internal.h"
#include "ir/attr/attr.h"

bool tosa_folds_to(const Op *op, Value *value, FoldResult *results)
{
    results[0].value = value->type == op_result(op, 0)->type ? value : NULL;
    return results[0].value != NULL;
}

bool tosa_folds_to_attr(const Op *op, const Attr *attr, FoldResult *results)
{
    results[0].attr = attr && tosa_is_constant_of(attr, op_result(op, 0)->type) ? attr : NULL;
    return results[0].attr != NULL;
}

/* The one element of a splat, or NULL. */
static const Attr *splat_elem(const Attr *attr)
{
    return attr && attr->kind == ATTR_DENSE && attr->u.dense.is_splat ? dense_elem(attr, 0) : NULL;
}

static bool folds_to_splat(const Op *op, const Attr *elem, FoldResult *results)
{
    const Type *type = op_result(op, 0)->type;
    return elem && type_is_static(type) &&
           tosa_folds_to_attr(op, attr_dense_splat(type, elem), results);
}

/* fn over splat operands, whatever their shapes. What quantized types store is compared, not
 * computed with. */
static bool folds_splats(Op *op, const Attr *const *operands, FoldResult *results, LaneFn *fn)
{
    const Attr *elems[FOLD_MAX_OPERANDS];
    if (type_elem(op_result(op, 0)->type)->kind == TYPE_DIALECT) return false;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!(elems[i] = splat_elem(operands[i])) || elems[i]->type != elems[0]->type) return false;
    const Type *elem = type_elem(op_result(op, 0)->type);
    return folds_to_splat(op, lane_fold_all(elems, op->operand_count, elem, fn, op), results);
}

/* A shape with plain numbers in it. */
static bool is_plain(const Type *type)
{
    return type_is_ranked(type) && type_elem(type)->kind != TYPE_DIALECT;
}

static bool all_plain(const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!is_plain(op_operand(op, i)->type)) return false;
    return is_plain(op_result(op, 0)->type);
}

static bool is_zero(const Attr *attr)
{
    double value;
    return const_float(attr, &value) ? value == 0.0 : const_is_int(attr, 0);
}

/* One, for products that are shifted right by `shift` bits. */
static bool is_one(const Attr *attr, int64_t shift)
{
    double value;
    BigInt bits;
    if (const_float(attr, &value)) return value == 1.0;
    return shift >= 0 && shift < 63 && const_int(attr, &bits) && bigint_fits_i64(&bits, true) &&
           bigint_to_i64(&bits) == (int64_t)1 << shift;
}

static bool is_float_lane(const Lane *lane)
{
    return type_is_float(lane->arg_elem);
}

static double add_doubles(double a, double b)
{
    return a + b;
}

static double sub_doubles(double a, double b)
{
    return a - b;
}

static bool lane_add(const Lane *lane, const BigInt *args, BigInt *out)
{
    if (is_float_lane(lane)) return lane_float2(lane, args, out, add_doubles);
    *out = bigint_add(lane->arena, &args[0], &args[1]);
    return true;
}

static bool lane_sub(const Lane *lane, const BigInt *args, BigInt *out)
{
    if (is_float_lane(lane)) return lane_float2(lane, args, out, sub_doubles);
    *out = bigint_sub(lane->arena, &args[0], &args[1]);
    return true;
}

/* x + 0 -> x, 0 + x -> x */
bool tosa_fold_add(Op *op, const Attr *const *operands, FoldResult *results)
{
    if (!all_plain(op)) return false;
    if (is_zero(operands[1]) && tosa_folds_to(op, op_operand(op, 0), results)) return true;
    if (is_zero(operands[0]) && tosa_folds_to(op, op_operand(op, 1), results)) return true;
    return folds_splats(op, operands, results, lane_add);
}

/* x - 0 -> x */
bool tosa_fold_sub(Op *op, const Attr *const *operands, FoldResult *results)
{
    if (!all_plain(op)) return false;
    if (is_zero(operands[1]) && tosa_folds_to(op, op_operand(op, 0), results)) return true;
    return folds_splats(op, operands, results, lane_sub);
}

static double mul_doubles(double a, double b)
{
    return a * b;
}

static double reciprocal_double(double a)
{
    return 1.0 / a;
}

/* (a * b + 2^(shift-1)) >> shift, the product in twice the result's width. Upstream's folder does not
 * round, other than its lowering and the specification. */
static bool lane_mul(const Lane *lane, const BigInt *args, BigInt *out)
{
    if (is_float_lane(lane)) return lane_float2(lane, args, out, mul_doubles);
    const Op *op = lane->user;
    int64_t shift = attr_int_value(op_attr(op, "shift"));
    uint32_t width = type_width(lane->result_elem);
    if (shift < 0 || shift > 2 * (int64_t)width) return false;
    BigInt lhs = bigint_resize(lane->arena, &args[0], 2 * width, true);
    BigInt rhs = bigint_resize(lane->arena, &args[1], 2 * width, true);
    BigInt product = bigint_mul(lane->arena, &lhs, &rhs);
    if (shift > 0) {
        BigInt half = bigint_from_i64(lane->arena, 2 * width, 1);
        half = bigint_shl(lane->arena, &half, (uint64_t)shift - 1);
        product = bigint_add(lane->arena, &product, &half);
    }
    product = bigint_shr(lane->arena, &product, (uint64_t)shift, true);
    *out = bigint_resize(lane->arena, &product, width, false);
    return true;
}

/* A factor of 0 or 1 next to one of the result's type. */
static bool folds_factor(const Op *op, const Attr *factor, Value *other, int64_t shift,
                         FoldResult *results)
{
    const Type *type = op_result(op, 0)->type;
    if (other->type != type) return false;
    if (is_zero(factor)) return folds_to_splat(op, splat_elem(factor), results);
    return is_one(factor, shift) && tosa_folds_to(op, other, results);
}

/* x * 0 -> 0, x * (1 << shift) -> x */
bool tosa_fold_mul(Op *op, const Attr *const *operands, FoldResult *results)
{
    if (!all_plain(op)) return false;
    bool is_float = type_is_float(type_elem(op_result(op, 0)->type));
    int64_t shift = is_float ? 0 : attr_int_value(op_attr(op, "shift"));
    return folds_factor(op, operands[0], op_operand(op, 1), shift, results) ||
           folds_factor(op, operands[1], op_operand(op, 0), shift, results) ||
           folds_splats(op, operands, results, lane_mul);
}

static bool lane_div(const Lane *lane, const BigInt *args, BigInt *out)
{
    if (bigint_is_zero(&args[1])) return false;
    *out = bigint_div(lane->arena, &args[0], &args[1], true);
    return true;
}

/* 0 / x -> 0, x / 1 -> x */
bool tosa_fold_int_div(Op *op, const Attr *const *operands, FoldResult *results)
{
    if (!all_plain(op) || op_operand(op, 0)->type != op_operand(op, 1)->type) return false;
    if (const_is_int(operands[0], 0) && tosa_folds_to_attr(op, operands[0], results)) return true;
    if (const_is_int(operands[1], 1) && tosa_folds_to(op, op_operand(op, 0), results)) return true;
    return folds_splats(op, operands, results, lane_div);
}

static bool lane_reciprocal(const Lane *lane, const BigInt *args, BigInt *out)
{
    return is_float_lane(lane) && lane_float1(lane, args, out, reciprocal_double);
}

bool tosa_fold_reciprocal(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_splats(op, operands, results, lane_reciprocal);
}

/* -1, 0, 1; 2: unordered. Integers compare as signed ones, whatever their type. */
static int compare(const Lane *lane, const BigInt *args)
{
    if (!is_float_lane(lane)) return bigint_cmp(&args[0], &args[1], true);
    double a = float_from_bits((int)lane->arg_elem->kind, args[0].u.word);
    double b = float_from_bits((int)lane->arg_elem->kind, args[1].u.word);
    return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2;
}

static bool lane_truth(const Lane *lane, bool truth, BigInt *out)
{
    *out = bigint_from_i64(lane->arena, 1, truth);
    return true;
}

static bool lane_greater(const Lane *lane, const BigInt *args, BigInt *out)
{
    return lane_truth(lane, compare(lane, args) == 1, out);
}

static bool lane_greater_equal(const Lane *lane, const BigInt *args, BigInt *out)
{
    int order = compare(lane, args);
    return lane_truth(lane, order == 0 || order == 1, out);
}

static bool lane_equal(const Lane *lane, const BigInt *args, BigInt *out)
{
    return lane_truth(lane, compare(lane, args) == 0, out);
}

bool tosa_fold_greater(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_splats(op, operands, results, lane_greater);
}

bool tosa_fold_greater_equal(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_splats(op, operands, results, lane_greater_equal);
}

/* x == x -> true for integers */
bool tosa_fold_equal(Op *op, const Attr *const *operands, FoldResult *results)
{
    Value *lhs = op_operand(op, 0);
    if (lhs == op_operand(op, 1) && type_is_integer(type_elem(lhs->type)))
        return folds_to_splat(op, attr_bool(op->ctx, true), results);
    return folds_splats(op, operands, results, lane_equal);
}

/* select(p, x, x) -> x; a constant choice */
bool tosa_fold_select(Op *op, const Attr *const *operands, FoldResult *results)
{
    BigInt choice;
    if (op_operand(op, 1) == op_operand(op, 2))
        return tosa_folds_to(op, op_operand(op, 1), results);
    if (!const_int(operands[0], &choice)) return false;
    return tosa_folds_to(op, op_operand(op, bigint_is_zero(&choice) ? 2 : 1), results);
}

/* f(g(x)) -> x */
static bool folds_inverse(const Op *op, const OpDef *inverse, FoldResult *results)
{
    const Op *inner = value_def(op_operand(op, 0));
    return inner && inner->def == inverse && tosa_folds_to(op, op_operand(inner, 0), results);
}

bool tosa_fold_log(Op *op, const Attr *const *operands, FoldResult *results)
{
    (void)operands;
    return folds_inverse(op, TOSA(EXP), results);
}

bool tosa_fold_exp(Op *op, const Attr *const *operands, FoldResult *results)
{
    (void)operands;
    return folds_inverse(op, TOSA(LOG), results);
}

static bool has_zero_points(const Op *op)
{
    return op_attr(op, "quantization_info") != NULL;
}

/* Upstream's folder drops zero points, by which a negation adds and limits: also by those of 0, with
 * which the lowest number becomes the highest one. */
bool tosa_fold_negate(Op *op, const Attr *const *operands, FoldResult *results)
{
    (void)operands;
    const Op *inner = value_def(op_operand(op, 0));
    return !has_zero_points(op) && inner && inner->def == TOSA(NEGATE) && !has_zero_points(inner) &&
           tosa_folds_to(op, op_operand(inner, 0), results);
}

/* abs(abs(x)) -> abs(x) */
bool tosa_fold_abs(Op *op, const Attr *const *operands, FoldResult *results)
{
    (void)operands;
    const Op *inner = value_def(op_operand(op, 0));
    return inner && inner->def == TOSA(ABS) && tosa_folds_to(op, op_operand(op, 0), results);
}

static double same_double(double a)
{
    return a;
}

/* To the nearest integer, ties to even, within the type's range. */
static bool lane_round(const Lane *lane, const BigInt *arg, BigInt *out)
{
    double value;
    return lane_load(lane, arg, &value) &&
           lane_to_integer(lane, rint(value), out, lane->result_elem->u.integer.sign != UNSIGNED,
                           true);
}

static bool lane_convert(const Lane *lane, const BigInt *args, BigInt *out)
{
    double value;
    if (lane_load(lane, &args[0], &value) && isnan(value) &&
        lane_convert_nan(lane, &args[0], out, false))
        return true;
    return lane_float1(lane, args, out, same_double);
}

/* A truth value is 0 or 1, and whatever is not zero is true; upstream's folder takes it for a signed
 * number of one bit. */
static bool lane_cast(const Lane *lane, const BigInt *args, BigInt *out)
{
    const Type *from = lane->arg_elem, *to = lane->result_elem;
    double value;
    if (tosa_is_truth(to)) {
        if (type_is_float(from) && !lane_load(lane, &args[0], &value)) return false;
        return lane_truth(lane, type_is_float(from) ? value != 0 : !bigint_is_zero(&args[0]), out);
    }
    if (type_is_float(from))
        return type_is_float(to) ? lane_convert(lane, args, out) : lane_round(lane, &args[0], out);
    bool is_signed = type_width(from) > 1 && from->u.integer.sign != UNSIGNED;
    if (type_is_float(to)) return lane_from_integer(lane, &args[0], out, is_signed);
    *out = bigint_resize(lane->arena, &args[0], type_width(to), is_signed);
    return true;
}

bool tosa_fold_cast(Op *op, const Attr *const *operands, FoldResult *results)
{
    if (tosa_folds_to(op, op_operand(op, 0), results)) return true;
    return type_elem(op_operand(op, 0)->type)->kind != TYPE_DIALECT &&
           folds_splats(op, operands, results, lane_cast);
}
