/* Folders of comparisons and select.
 * Tests: lit/dialects/arith/canonicalize.mir */
#include <math.h>

#include "dialects/arith/internal.h"
#include "dialects/common/common.h"

/* The numbers must have the same width. */
static bool arith_cmpi_holds(CmpiPredicate predicate, const BigInt *lhs, const BigInt *rhs)
{
    int s = bigint_cmp(lhs, rhs, true), u = bigint_cmp(lhs, rhs, false);
    switch (predicate) {
    case CMPI_EQ: return u == 0;
    case CMPI_NE: return u != 0;
    case CMPI_SLT: return s < 0;
    case CMPI_SLE: return s <= 0;
    case CMPI_SGT: return s > 0;
    case CMPI_SGE: return s >= 0;
    case CMPI_ULT: return u < 0;
    case CMPI_ULE: return u <= 0;
    case CMPI_UGT: return u > 0;
    case CMPI_UGE: return u >= 0;
    }
    return false;
}

/* The ordered predicates; each unordered one holds for NaNs too. */
bool arith_cmpf_holds(CmpfPredicate predicate, double lhs, double rhs)
{
    bool nan = isnan(lhs) || isnan(rhs);
    switch (predicate) {
    case CMPF_FALSE: return false;
    case CMPF_OEQ: return lhs == rhs;
    case CMPF_OGT: return lhs > rhs;
    case CMPF_OGE: return lhs >= rhs;
    case CMPF_OLT: return lhs < rhs;
    case CMPF_OLE: return lhs <= rhs;
    case CMPF_ONE: return !nan && lhs != rhs;
    case CMPF_ORD: return !nan;
    case CMPF_UEQ: return nan || lhs == rhs;
    case CMPF_UGT: return nan || lhs > rhs;
    case CMPF_UGE: return nan || lhs >= rhs;
    case CMPF_ULT: return nan || lhs < rhs;
    case CMPF_ULE: return nan || lhs <= rhs;
    case CMPF_UNE: return nan || lhs != rhs;
    case CMPF_UNO: return nan;
    case CMPF_TRUE: return true;
    }
    return false;
}

static bool lane_cmpi(const Lane *lane, const BigInt *args, BigInt *out)
{
    const CmpiPredicate *predicate = lane->user;
    *out = bigint_from_i64(lane->arena, 1, arith_cmpi_holds(*predicate, &args[0], &args[1]));
    return true;
}

/* Whether the predicate holds for equal operands. */
static bool holds_for_equal(CmpiPredicate predicate)
{
    BigInt zero = {.width = 1, .u.word = 0};
    return arith_cmpi_holds(predicate, &zero, &zero);
}

static CmpiPredicate swapped(CmpiPredicate predicate)
{
    static const CmpiPredicate table[] = {
        [CMPI_EQ] = CMPI_EQ,   [CMPI_NE] = CMPI_NE,   [CMPI_SLT] = CMPI_SGT, [CMPI_SLE] = CMPI_SGE,
        [CMPI_SGT] = CMPI_SLT, [CMPI_SGE] = CMPI_SLE, [CMPI_ULT] = CMPI_UGT, [CMPI_ULE] = CMPI_UGE,
        [CMPI_UGT] = CMPI_ULT, [CMPI_UGE] = CMPI_ULE};
    return table[predicate];
}

/* ext(x : i1) != 0 -> x */
static Value *extended_bool(Value *value)
{
    Op *ext = value_def(value);
    if (!ext || (ext->def != ARITH(EXTSI) && ext->def != ARITH(EXTUI))) return NULL;
    Value *source = op_operand(ext, 0);
    return type_width(type_elem(source->type)) == 1 ? source : NULL;
}

bool arith_fold_cmpi(Op *op, const Attr *const *operands, FoldResult *results)
{
    CmpiPredicate predicate = (CmpiPredicate)arith_predicate(op);
    const Type *type = op_result(op, 0)->type;
    Value *lhs = op_operand(op, 0), *rhs = op_operand(op, 1);
    if (lhs == rhs) {
        BigInt holds = {.width = 1, .u.word = holds_for_equal(predicate)};
        results[0].attr = const_int_of(type, &holds);
        return results[0].attr != NULL;
    }
    if (predicate == CMPI_NE && const_is_int(operands[1], 0)) {
        results[0].value = extended_bool(lhs);
        if (results[0].value) return true;
    }
    if (operands[0] && !operands[1]) {
        op_set_attr(op, "predicate", attr_i64(op->ctx, (int64_t)swapped(predicate)));
        op_set_operand(op, 0, rhs);
        op_set_operand(op, 1, lhs);
        return true;
    }
    results[0].attr = lane_fold_all(operands, 2, type, lane_cmpi, &predicate);
    return results[0].attr != NULL;
}

bool arith_fold_cmpf(Op *op, const Attr *const *operands, FoldResult *results)
{
    double lhs = 0, rhs = 0;
    bool has_lhs = operands[0] && operands[0]->kind == ATTR_FLOAT && const_float(operands[0], &lhs);
    bool has_rhs = operands[1] && operands[1]->kind == ATTR_FLOAT && const_float(operands[1], &rhs);
    /* One NaN decides as two do. */
    if (has_lhs && isnan(lhs))
        rhs = lhs;
    else if (has_rhs && isnan(rhs))
        lhs = rhs;
    else if (!has_lhs || !has_rhs)
        return false;
    CmpfPredicate predicate = (CmpfPredicate)arith_predicate(op);
    results[0].attr = attr_bool(op->ctx, arith_cmpf_holds(predicate, lhs, rhs));
    return true;
}

static bool lane_select(const Lane *lane, const BigInt *args, BigInt *out)
{
    (void)lane;
    *out = bigint_is_zero(&args[0]) ? args[2] : args[1];
    return true;
}

/* select(a == b, a, b) -> b;  select(a != b, a, b) -> a;  and with a, b swapped */
static Value *select_of_equality(Value *condition, Value *on_true, Value *on_false)
{
    Op *cmp = value_def(condition);
    if (!cmp || cmp->def != ARITH(CMPI)) return NULL;
    int64_t predicate = arith_predicate(cmp);
    if (predicate != CMPI_EQ && predicate != CMPI_NE) return NULL;
    Value *lhs = op_operand(cmp, 0), *rhs = op_operand(cmp, 1);
    bool same = lhs == on_true && rhs == on_false;
    bool crossed = lhs == on_false && rhs == on_true;
    if (!same && !crossed) return NULL;
    return predicate == CMPI_NE ? on_true : on_false;
}

bool arith_fold_select(Op *op, const Attr *const *operands, FoldResult *results)
{
    Value *condition = op_operand(op, 0), *on_true = op_operand(op, 1);
    Value *on_false = op_operand(op, 2);
    const Type *type = op_result(op, 0)->type;
    Value *chosen = NULL;
    /* select(c, x, x) -> x;  select(true, x, y) -> x;  select(false, x, y) -> y */
    if (on_true == on_false)
        chosen = on_true;
    else if (const_is_int(operands[0], 1))
        chosen = on_true;
    else if (const_is_int(operands[0], 0))
        chosen = on_false;
    /* select(c, true, false) -> c */
    else if (type_is_int_width(type_elem(type), 1) && condition->type == type &&
             const_is_int(operands[1], 1) && const_is_int(operands[2], 0))
        chosen = condition;
    else
        chosen = select_of_equality(condition, on_true, on_false);
    if (chosen) {
        results[0].value = chosen;
        return true;
    }
    if (!operands[0] || operands[0]->kind != ATTR_DENSE) return false;
    results[0].attr = lane_fold_all(operands, 3, type, lane_select, NULL);
    return results[0].attr != NULL;
}
