/* Canonicalization patterns of casts, comparisons and select.
 * Tests: lit/dialects/arith/canonicalize.mir */
#include <math.h>

#include "dialects/arith/internal.h"
#include "dialects/common/common.h"
#include "ir/rewrite/rewrite.h"

static uint32_t width_of(const Value *value)
{
    return type_width(type_elem(value->type));
}

/* Replaces outer(inner(x)) by def(x), with the location of both. */
static bool replace_chain(Rewriter *rw, Op *outer, const Op *inner, const OpDef *def)
{
    const Op *matched[] = {outer, inner};
    rewriter_fuse_locs(rw, matched, COUNT_OF(matched));
    rewriter_replace_one(rw, outer,
                         build_unary(&rw->b, def, op_result(outer, 0)->type, op_operand(inner, 0)));
    return true;
}

/* trunc(ext(x)) -> ext(x) when only extension bits are cut off */
static bool trunc_of_ext(Rewriter *rw, Op *op, const OpDef *ext)
{
    Op *inner = rewrite_def_of(op_operand(op, 0), ext);
    if (!inner || width_of(op_result(op, 0)) <= width_of(op_operand(inner, 0))) return false;
    return replace_chain(rw, op, inner, ext);
}

static bool trunc_of_extsi(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    return trunc_of_ext(rw, op, ARITH(EXTSI));
}

static bool trunc_of_extui(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    return trunc_of_ext(rw, op, ARITH(EXTUI));
}

/* The truncation from wide to narrow keeps just the bits that a shift by `amount` moved down. */
static bool keeps_top_bits(const Value *wide, const Value *narrow, const Attr *amount)
{
    BigInt value;
    return const_int(amount, &value) && bigint_fits_i64(&value, false) &&
           bigint_to_u64(&value) == width_of(wide) - width_of(narrow);
}

/* trunc(x >>s c) -> trunc(x >>u c) when no filled bit survives */
static bool trunc_of_shrsi(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *shift = rewrite_def_of(op_operand(op, 0), ARITH(SHRSI));
    if (!shift) return false;
    Value *x = op_operand(shift, 0);
    const Attr *amount = fold_constant_of(op_operand(shift, 1));
    if (!keeps_top_bits(x, op_result(op, 0), amount)) return false;
    const Op *matched[] = {op, value_def(op_operand(shift, 1))};
    rewriter_fuse_locs(rw, matched, COUNT_OF(matched));
    Value *constant = arith_constant(&rw->b, amount);
    Value *logical = build_binary(&rw->b, ARITH(SHRUI), x->type, x, constant);
    rewriter_replace_one(rw, op,
                         build_unary(&rw->b, ARITH(TRUNCI), op_result(op, 0)->type, logical));
    return true;
}

/* trunc((ext(x) * ext(y)) >>u c) -> the high half of x * y */
static bool trunc_of_wide_mul(Rewriter *rw, Op *op, const OpDef *ext, const OpDef *mul_extended)
{
    Op *shift = rewrite_def_of(op_operand(op, 0), ARITH(SHRUI));
    Op *mul = shift ? rewrite_def_of(op_operand(shift, 0), ARITH(MULI)) : NULL;
    Op *lhs = mul ? rewrite_def_of(op_operand(mul, 0), ext) : NULL;
    Op *rhs = lhs ? rewrite_def_of(op_operand(mul, 1), ext) : NULL;
    if (!rhs) return false;
    Value *operands[] = {op_operand(lhs, 0), op_operand(rhs, 0)};
    const Type *type = op_result(op, 0)->type;
    if (operands[0]->type != type || operands[1]->type != type ||
        !keeps_top_bits(op_result(mul, 0), operands[0], fold_constant_of(op_operand(shift, 1))))
        return false;
    const Op *matched[] = {op, lhs, rhs, mul, value_def(op_operand(shift, 1))};
    const Type *types[] = {type, type};
    rewriter_fuse_locs(rw, matched, COUNT_OF(matched));
    Op *made = build(&rw->b, mul_extended, operands, 2, types, 2, NULL, 0);
    rewriter_replace_one(rw, op, op_result(made, 1));
    return true;
}

static bool trunc_of_signed_mul(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    return trunc_of_wide_mul(rw, op, ARITH(EXTSI), ARITH(MULSI_EXTENDED));
}

static bool trunc_of_unsigned_mul(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    return trunc_of_wide_mul(rw, op, ARITH(EXTUI), ARITH(MULUI_EXTENDED));
}

void arith_canonicalize_trunci(PatternSet *set)
{
    pattern_add(set, "trunc-of-extsi", ARITH(TRUNCI), 2, trunc_of_extsi);
    pattern_add(set, "trunc-of-extui", ARITH(TRUNCI), 2, trunc_of_extui);
    pattern_add(set, "trunc-of-shrsi", ARITH(TRUNCI), 2, trunc_of_shrsi);
    pattern_add(set, "trunc-of-signed-mul", ARITH(TRUNCI), 5, trunc_of_signed_mul);
    pattern_add(set, "trunc-of-unsigned-mul", ARITH(TRUNCI), 5, trunc_of_unsigned_mul);
}

/* sext(zext(x)) -> zext(x) */
static bool extsi_of_extui(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *inner = rewrite_def_of(op_operand(op, 0), ARITH(EXTUI));
    return inner && replace_chain(rw, op, inner, ARITH(EXTUI));
}

void arith_canonicalize_extsi(PatternSet *set)
{
    pattern_add(set, "extsi-of-extui", ARITH(EXTSI), 2, extsi_of_extui);
}

/* cast(cast(x)) -> x when x has the type already, and no bit was lost on the way */
static bool cast_there_and_back(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *inner = rewrite_def_of(op_operand(op, 0), op->def);
    if (!inner || op_operand(inner, 0)->type != op_result(op, 0)->type) return false;
    if (op->def != ARITH(BITCAST) && width_of(op_operand(op, 0)) < width_of(op_result(op, 0)))
        return false;
    rewriter_replace_one(rw, op, op_operand(inner, 0));
    return true;
}

/* index_cast(ext(x)) -> index_cast(x), signed or unsigned both */
static bool index_cast_of_ext(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    const OpDef *ext = op->def == ARITH(INDEX_CAST) ? ARITH(EXTSI) : ARITH(EXTUI);
    Op *inner = rewrite_def_of(op_operand(op, 0), ext);
    return inner && replace_chain(rw, op, inner, op->def);
}

void arith_canonicalize_index_cast(PatternSet *set)
{
    pattern_add(set, "cast-there-and-back", ARITH(INDEX_CAST), 2, cast_there_and_back);
    pattern_add(set, "index-cast-of-ext", ARITH(INDEX_CAST), 2, index_cast_of_ext);
}

void arith_canonicalize_index_castui(PatternSet *set)
{
    pattern_add(set, "cast-there-and-back", ARITH(INDEX_CASTUI), 2, cast_there_and_back);
    pattern_add(set, "index-cast-of-ext", ARITH(INDEX_CASTUI), 2, index_cast_of_ext);
}

/* bitcast(bitcast(x)) -> bitcast(x), or x */
static bool bitcast_of_bitcast(Rewriter *rw, Op *op, void *user)
{
    Op *inner = rewrite_def_of(op_operand(op, 0), ARITH(BITCAST));
    if (!inner) return false;
    return cast_there_and_back(rw, op, user) || replace_chain(rw, op, inner, ARITH(BITCAST));
}

void arith_canonicalize_bitcast(PatternSet *set)
{
    pattern_add(set, "bitcast-of-bitcast", ARITH(BITCAST), 2, bitcast_of_bitcast);
}

/* ext(a) == ext(b) -> a == b, and with != */
static bool cmpi_of_ext(Rewriter *rw, Op *op, const OpDef *ext)
{
    Op *lhs = rewrite_def_of(op_operand(op, 0), ext), *rhs = rewrite_def_of(op_operand(op, 1), ext);
    int64_t predicate = arith_predicate(op);
    if (!lhs || !rhs || (predicate != CMPI_EQ && predicate != CMPI_NE) ||
        op_operand(lhs, 0)->type != op_operand(rhs, 0)->type)
        return false;
    const Op *matched[] = {op, lhs, rhs};
    rewriter_fuse_locs(rw, matched, COUNT_OF(matched));
    rewriter_replace_one(
        rw, op,
        arith_cmpi(&rw->b, (CmpiPredicate)predicate, op_operand(lhs, 0), op_operand(rhs, 0)));
    return true;
}

static bool cmpi_of_extsi(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    return cmpi_of_ext(rw, op, ARITH(EXTSI));
}

static bool cmpi_of_extui(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    return cmpi_of_ext(rw, op, ARITH(EXTUI));
}

void arith_canonicalize_cmpi(PatternSet *set)
{
    pattern_add(set, "cmpi-of-extsi", ARITH(CMPI), 3, cmpi_of_extsi);
    pattern_add(set, "cmpi-of-extui", ARITH(CMPI), 3, cmpi_of_extui);
}

static CmpiPredicate integer_predicate(CmpfPredicate predicate, bool is_signed)
{
    switch (predicate) {
    case CMPF_OEQ:
    case CMPF_UEQ: return CMPI_EQ;
    case CMPF_OGT:
    case CMPF_UGT: return is_signed ? CMPI_SGT : CMPI_UGT;
    case CMPF_OGE:
    case CMPF_UGE: return is_signed ? CMPI_SGE : CMPI_UGE;
    case CMPF_OLT:
    case CMPF_ULT: return is_signed ? CMPI_SLT : CMPI_ULT;
    case CMPF_OLE:
    case CMPF_ULE: return is_signed ? CMPI_SLE : CMPI_ULE;
    default: return CMPI_NE;
    }
}

/* Bits of precision of a float format, counting the implicit one; 0: not handled. */
static int mantissa_width(const Type *type)
{
    switch (type->kind) {
    case TYPE_F64: return 53;
    case TYPE_F32: return 24;
    case TYPE_F16: return 11;
    case TYPE_BF16: return 8;
    default: return 0;
    }
}

static int max_exponent(const Type *type)
{
    return type->kind == TYPE_F64 ? 1023 : type->kind == TYPE_F16 ? 15 : 127;
}

static double rounded_to(const Type *type, double value)
{
    return float_from_bits((int)type->kind, float_to_bits((int)type->kind, value));
}

/* An integer `x` of that width, converted to float, against the constant rhs. */
typedef struct IntFloatCompare {
    uint32_t width;
    bool is_signed;
    const Type *float_type;
    double rhs;
    CmpiPredicate predicate;
} IntFloatCompare;

typedef enum CastVerdict { KEEP, ALWAYS, NEVER, COMPARE } CastVerdict;

/* The conversion may round, and rounding may change the outcome. */
static bool rounding_matters(const IntFloatCompare *c)
{
    int mantissa = mantissa_width(c->float_type);
    int value_bits = (int)c->width - (c->is_signed ? 1 : 0);
    if ((int)c->width <= mantissa) return false;
    if (isinf(c->rhs)) return max_exponent(c->float_type) < value_bits;
    if (c->rhs == 0) return false;
    int exponent = ilogb(c->rhs);
    return mantissa <= exponent && exponent <= value_bits;
}

static bool is_less(CmpiPredicate p)
{
    return p == CMPI_SLT || p == CMPI_SLE || p == CMPI_ULT || p == CMPI_ULE;
}

/* x against a value between two integers; rhs becomes its truncation. */
static CastVerdict compare_fractional(IntFloatCompare *c)
{
    bool negative = signbit(c->rhs) != 0;
    if (c->predicate == CMPI_EQ || c->predicate == CMPI_NE)
        return c->predicate == CMPI_NE ? ALWAYS : NEVER;
    if (!c->is_signed && negative) return is_less(c->predicate) ? NEVER : ALWAYS;
    if (is_less(c->predicate))
        c->predicate = !c->is_signed ? CMPI_ULE : negative ? CMPI_SLT : CMPI_SLE;
    else
        c->predicate = !c->is_signed ? CMPI_UGT : negative ? CMPI_SGE : CMPI_SGT;
    c->rhs = trunc(c->rhs);
    return COMPARE;
}

static CastVerdict judge(IntFloatCompare *c)
{
    int value_bits = (int)c->width - (c->is_signed ? 1 : 0);
    double power = ldexp(1.0, value_bits);
    double most = rounded_to(c->float_type, value_bits >= 53 ? power : power - 1);
    double least = c->is_signed ? rounded_to(c->float_type, -power) : 0.0;
    if (most < c->rhs) return c->predicate == CMPI_NE || is_less(c->predicate) ? ALWAYS : NEVER;
    if (least > c->rhs) return c->predicate == CMPI_EQ || is_less(c->predicate) ? NEVER : ALWAYS;
    if (c->rhs >= power || c->rhs < (c->is_signed ? -power : 0.0)) return KEEP;
    return c->rhs == trunc(c->rhs) ? COMPARE : compare_fractional(c);
}

/* float(x) < c -> x < c', for integers x and constants c */
static bool cmpf_of_int(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    IntFloatCompare c = {0};
    const Attr *constant = fold_constant_of(op_operand(op, 1));
    Op *convert = value_def(op_operand(op, 0));
    if (!constant || constant->kind != ATTR_FLOAT || !const_float(constant, &c.rhs) ||
        isnan(c.rhs) || !convert ||
        (convert->def != ARITH(SITOFP) && convert->def != ARITH(UITOFP)))
        return false;
    Value *x = op_operand(convert, 0);
    CmpfPredicate predicate = (CmpfPredicate)arith_predicate(op);
    c.float_type = constant->type;
    c.width = type_width(x->type);
    c.is_signed = convert->def == ARITH(SITOFP);
    if (mantissa_width(c.float_type) == 0 || c.width > 64 || rounding_matters(&c) ||
        predicate == CMPF_FALSE || predicate == CMPF_TRUE)
        return false;
    c.predicate = integer_predicate(predicate, c.is_signed);
    CastVerdict verdict = predicate == CMPF_ORD   ? ALWAYS
                          : predicate == CMPF_UNO ? NEVER
                                                  : judge(&c);
    if (verdict == KEEP) return false;
    if (verdict != COMPARE) {
        const Attr *value = attr_bool(op->ctx, verdict == ALWAYS);
        rewriter_replace_one(rw, op, arith_constant(&rw->b, value));
        return true;
    }
    int64_t bits = c.rhs < 0 ? (int64_t)c.rhs : (int64_t)(uint64_t)c.rhs;
    Value *rhs = arith_constant(&rw->b, attr_int(x->type, bits));
    rewriter_replace_one(rw, op, arith_cmpi(&rw->b, c.predicate, x, rhs));
    return true;
}

void arith_canonicalize_cmpf(PatternSet *set)
{
    pattern_add(set, "cmpf-of-int", ARITH(CMPF), 1, cmpf_of_int);
}

/* select(c, a, select(c, b, d)) -> select(c, a, d) */
static bool select_in_false(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *inner = rewrite_def_of(op_operand(op, 2), ARITH(SELECT));
    if (!inner || op_operand(inner, 0) != op_operand(op, 0)) return false;
    const Op *matched[] = {op, inner};
    rewriter_fuse_locs(rw, matched, COUNT_OF(matched));
    rewriter_replace_one(
        rw, op, arith_select(&rw->b, op_operand(op, 0), op_operand(op, 1), op_operand(inner, 2)));
    return true;
}

/* select(c, select(c, a, b), d) -> select(c, a, d) */
static bool select_in_true(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *inner = rewrite_def_of(op_operand(op, 1), ARITH(SELECT));
    if (!inner || op_operand(inner, 0) != op_operand(op, 0)) return false;
    const Op *matched[] = {op, inner};
    rewriter_fuse_locs(rw, matched, COUNT_OF(matched));
    rewriter_replace_one(
        rw, op, arith_select(&rw->b, op_operand(op, 0), op_operand(inner, 1), op_operand(op, 2)));
    return true;
}

static bool is_scalar_bool(Value *value, bool want)
{
    const Attr *attr = fold_constant_of(value);
    return attr && attr->kind == ATTR_INTEGER && type_is_int_width(attr->type, 1) &&
           attr_is_true(attr) == want;
}

/* select(c, false, true) -> not(c) */
static bool select_to_not(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    if (!is_scalar_bool(op_operand(op, 1), false) || !is_scalar_bool(op_operand(op, 2), true))
        return false;
    Value *one = arith_constant(&rw->b, attr_bool(op->ctx, true));
    rewriter_replace_one(
        rw, op, build_binary(&rw->b, ARITH(XORI), op_result(op, 0)->type, op_operand(op, 0), one));
    return true;
}

/* select(not(c), a, b) -> select(c, b, a) */
static bool select_of_not(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *not_op = rewrite_def_of(op_operand(op, 0), ARITH(XORI));
    const Attr *ones = not_op ? fold_constant_of(op_operand(not_op, 1)) : NULL;
    if (!ones || ones->kind != ATTR_INTEGER || !const_is_all_ones(ones)) return false;
    const Op *matched[] = {op, value_def(op_operand(not_op, 1))};
    rewriter_fuse_locs(rw, matched, COUNT_OF(matched));
    rewriter_replace_one(
        rw, op, arith_select(&rw->b, op_operand(not_op, 0), op_operand(op, 2), op_operand(op, 1)));
    return true;
}

/* select(c, 1, 0) -> extui(c);  select(c, 0, 1) -> extui(not(c)) */
static bool select_to_extui(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    const Type *type = op_result(op, 0)->type;
    Value *condition = op_operand(op, 0);
    const Attr *on_true = fold_constant_of(op_operand(op, 1));
    const Attr *on_false = fold_constant_of(op_operand(op, 2));
    if (!type_is_integer(type) || type_width(type) == 1) return false;
    bool straight = const_is_int(on_true, 1) && const_is_int(on_false, 0);
    if (!straight && !(const_is_int(on_true, 0) && const_is_int(on_false, 1))) return false;
    if (!straight) {
        Value *one = arith_constant_int(&rw->b, condition->type, 1);
        condition = build_binary(&rw->b, ARITH(XORI), condition->type, condition, one);
    }
    rewriter_replace_one(rw, op, build_unary(&rw->b, ARITH(EXTUI), type, condition));
    return true;
}

void arith_canonicalize_select(PatternSet *set)
{
    pattern_add(set, "select-in-false", ARITH(SELECT), 2, select_in_false);
    pattern_add(set, "select-in-true", ARITH(SELECT), 2, select_in_true);
    pattern_add(set, "select-to-not", ARITH(SELECT), 1, select_to_not);
    pattern_add(set, "select-of-not", ARITH(SELECT), 2, select_of_not);
    pattern_add(set, "select-to-extui", ARITH(SELECT), 1, select_to_extui);
}
