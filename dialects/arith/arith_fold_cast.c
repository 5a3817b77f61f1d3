/* Folders of casts: first chains of casts, then constants element by element. A float conversion
 * folds only if no precision is lost, a conversion to an integer only if the value fits.
 * Tests: lit/dialects/arith/canonicalize.mir */
#include <math.h>

#include "dialects/arith/internal.h"
#include "dialects/common/common.h"

static bool folds_lane(Op *op, const Attr *const *operands, FoldResult *results, LaneFn *fn)
{
    results[0].attr = lane_fold_all(operands, 1, op_result(op, 0)->type, fn, NULL);
    return results[0].attr != NULL;
}

static Op *source_of(const Op *op, const OpDef *def)
{
    Op *source = value_def(op_operand(op, 0));
    return source && source->def == def ? source : NULL;
}

static uint32_t elem_width(const Value *value)
{
    return type_width(type_elem(value->type));
}

static bool lane_zext(const Lane *lane, const BigInt *args, BigInt *out)
{
    *out = bigint_resize(lane->arena, &args[0], type_width(lane->result_elem), false);
    return true;
}

static bool lane_sext(const Lane *lane, const BigInt *args, BigInt *out)
{
    *out = bigint_resize(lane->arena, &args[0], type_width(lane->result_elem), true);
    return true;
}

/* ext(ext(x)) -> ext(x), else constants */
static bool folds_ext(Op *op, const Attr *const *operands, FoldResult *results, LaneFn *fn)
{
    Op *inner = source_of(op, op->def);
    if (inner) {
        op_set_operand(op, 0, op_operand(inner, 0));
        return true;
    }
    return folds_lane(op, operands, results, fn);
}

bool arith_fold_extui(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_ext(op, operands, results, lane_zext);
}

bool arith_fold_extsi(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_ext(op, operands, results, lane_sext);
}

bool arith_fold_trunci(Op *op, const Attr *const *operands, FoldResult *results)
{
    Op *ext = source_of(op, ARITH(EXTUI));
    if (!ext) ext = source_of(op, ARITH(EXTSI));
    if (ext) {
        /* trunc(ext(x)) -> trunc(x) or x */
        Value *source = op_operand(ext, 0);
        if (elem_width(source) > elem_width(op_result(op, 0))) {
            op_set_operand(op, 0, source);
            return true;
        }
        if (source->type == op_result(op, 0)->type) {
            results[0].value = source;
            return true;
        }
    }
    Op *inner = source_of(op, ARITH(TRUNCI));
    if (inner) {
        op_set_operand(op, 0, op_operand(inner, 0));
        return true;
    }
    return folds_lane(op, operands, results, lane_zext);
}

bool arith_fold_index_cast(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_lane(op, operands, results, lane_sext);
}

bool arith_fold_index_castui(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_lane(op, operands, results, lane_zext);
}

static bool loads(const Type *type, const BigInt *bits, double *out)
{
    if (bits->width > 64) return false;
    *out = float_from_bits((int)type->kind, bits->u.word);
    return true;
}

static BigInt store(const Lane *lane, double value)
{
    uint64_t bits = float_to_bits((int)lane->result_elem->kind, value);
    return bigint_from_words(lane->arena, type_width(lane->result_elem), &bits);
}

/* Converts when the value survives unchanged. */
static bool lane_convert(const Lane *lane, const BigInt *args, BigInt *out)
{
    double value, back = 0;
    if (type_width(lane->result_elem) > 64 || !loads(lane->arg_elem, &args[0], &value))
        return false;
    if (isnan(value)) return lane_convert_nan(lane, &args[0], out, true);
    *out = store(lane, value);
    return loads(lane->result_elem, out, &back) && back == value;
}

bool arith_fold_extf(Op *op, const Attr *const *operands, FoldResult *results)
{
    /* extf(truncf(x)) -> x when both may contract */
    Op *trunc = source_of(op, ARITH(TRUNCF));
    if (trunc && op_operand(trunc, 0)->type == op_result(op, 0)->type &&
        (arith_flags(op, "fastmath") & arith_flags(trunc, "fastmath") & FASTMATH_CONTRACT)) {
        results[0].value = op_operand(trunc, 0);
        return true;
    }
    return folds_lane(op, operands, results, lane_convert);
}

bool arith_fold_truncf(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_lane(op, operands, results, lane_convert);
}

static bool lane_uitofp(const Lane *lane, const BigInt *args, BigInt *out)
{
    return lane_from_integer(lane, &args[0], out, false);
}

static bool lane_sitofp(const Lane *lane, const BigInt *args, BigInt *out)
{
    return lane_from_integer(lane, &args[0], out, true);
}

bool arith_fold_uitofp(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_lane(op, operands, results, lane_uitofp);
}

bool arith_fold_sitofp(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_lane(op, operands, results, lane_sitofp);
}

static bool truncate_lane(const Lane *lane, const BigInt *arg, BigInt *out, bool is_signed)
{
    double value;
    return lane_load(lane, arg, &value) &&
           lane_to_integer(lane, trunc(value), out, is_signed, false);
}

static bool lane_fptoui(const Lane *lane, const BigInt *args, BigInt *out)
{
    return truncate_lane(lane, &args[0], out, false);
}

static bool lane_fptosi(const Lane *lane, const BigInt *args, BigInt *out)
{
    return truncate_lane(lane, &args[0], out, true);
}

bool arith_fold_fptoui(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_lane(op, operands, results, lane_fptoui);
}

bool arith_fold_fptosi(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_lane(op, operands, results, lane_fptosi);
}

static bool lane_same_bits(const Lane *lane, const BigInt *args, BigInt *out)
{
    (void)lane;
    *out = args[0];
    return true;
}

/* bitcast(x : t to t) -> x */
bool arith_fold_bitcast(Op *op, const Attr *const *operands, FoldResult *results)
{
    if (folds_lane(op, operands, results, lane_same_bits)) return true;
    if (op_operand(op, 0)->type == op_result(op, 0)->type) results[0].value = op_operand(op, 0);
    return results[0].value != NULL;
}
