/* Canonicalization patterns of arith; each shows its algebra. A pattern that matches several ops
 * has a higher benefit than one that matches fewer. It gives its results a fused location: that of
 * the root first, then those of the leftmost and deepest ops, one for each op of the pattern that
 * is not a constant.
 * Tests: lit/dialects/arith/canonicalize.mir */
#include "dialects/arith/internal.h"
#include "dialects/common/common.h"
#include "ir/rewrite/rewrite.h"

static Value *replace_with(Rewriter *rw, Op *op, Value *value)
{
    rewriter_replace_one(rw, op, value);
    return value;
}

typedef enum Combine { SUM, INNER_MINUS_OUTER, OUTER_MINUS_INNER, PRODUCT } Combine;

/* outer(inner(x, c0), c1) -> result(x, c0 with c1); the *_left fields say on which side the
 * constants are. */
typedef struct Reassociation {
    const OpDef *outer, *inner, *result;
    bool outer_left, inner_left, result_left;
    Combine combine;
    bool drop_flags;
} Reassociation;

/* An integer scalar constant, or NULL. */
static const Attr *int_constant(Value *value)
{
    const Attr *attr = fold_constant_of(value);
    return attr && attr->kind == ATTR_INTEGER ? attr : NULL;
}

static const Attr *combine(Context *ctx, Combine how, const Attr *inner, const Attr *outer)
{
    Arena *arena = context_arena(ctx);
    const BigInt *a = &inner->u.integer, *b = &outer->u.integer;
    BigInt value;
    switch (how) {
    case SUM: value = bigint_add(arena, a, b); break;
    case INNER_MINUS_OUTER: value = bigint_sub(arena, a, b); break;
    case OUTER_MINUS_INNER: value = bigint_sub(arena, b, a); break;
    case PRODUCT: value = bigint_mul(arena, a, b); break;
    }
    return attr_bigint(inner->type, &value);
}

static bool reassociate(Rewriter *rw, Op *op, const Reassociation *rule)
{
    Op *inner = rewrite_def_of(op_operand(op, rule->outer_left ? 1 : 0), rule->inner);
    Value *outer_value = op_operand(op, rule->outer_left ? 0 : 1);
    const Attr *c1 = int_constant(outer_value);
    if (!inner || !c1) return false;
    Value *inner_value = op_operand(inner, rule->inner_left ? 0 : 1);
    const Attr *c0 = int_constant(inner_value);
    if (!c0) return false;
    Value *x = op_operand(inner, rule->inner_left ? 1 : 0);
    const Op *matched[] = {op, value_def(rule->outer_left ? outer_value : inner_value)};
    int64_t flags = arith_flags(op, "overflowFlags") & arith_flags(inner, "overflowFlags");
    rewriter_fuse_locs(rw, matched, COUNT_OF(matched));
    Value *constant = arith_constant(&rw->b, combine(op->ctx, rule->combine, c0, c1));
    Value *operands[] = {rule->result_left ? constant : x, rule->result_left ? x : constant};
    NamedAttr attr = build_named_attr(op->ctx, "overflowFlags",
                                      arith_overflow_attr(op->ctx, rule->drop_flags ? 0 : flags));
    const Type *type = op_result(op, 0)->type;
    Op *made = build(&rw->b, rule->result, operands, 2, &type, 1, &attr, 1);
    return replace_with(rw, op, op_result(made, 0));
}

#define REASSOCIATE(NAME, ...)                                                                     \
    static bool NAME(Rewriter *rw, Op *op, void *user)                                             \
    {                                                                                              \
        static const Reassociation rule = {__VA_ARGS__};                                           \
        (void)user;                                                                                \
        return reassociate(rw, op, &rule);                                                         \
    }
/* (x + c0) + c1 -> x + (c0 + c1) */
REASSOCIATE(add_of_add, .outer = ARITH(ADDI), .inner = ARITH(ADDI), .result = ARITH(ADDI),
            .combine = SUM)
/* (x - c0) + c1 -> x + (c1 - c0) */
REASSOCIATE(add_of_sub_right, .outer = ARITH(ADDI), .inner = ARITH(SUBI), .result = ARITH(ADDI),
            .combine = OUTER_MINUS_INNER)
/* (c0 - x) + c1 -> (c0 + c1) - x */
REASSOCIATE(add_of_sub_left, .outer = ARITH(ADDI), .inner = ARITH(SUBI), .result = ARITH(SUBI),
            .inner_left = true, .result_left = true, .combine = SUM)
/* (x + c0) - c1 -> x + (c0 - c1) */
REASSOCIATE(sub_right_of_add, .outer = ARITH(SUBI), .inner = ARITH(ADDI), .result = ARITH(ADDI),
            .combine = INNER_MINUS_OUTER, .drop_flags = true)
/* c1 - (x + c0) -> (c1 - c0) - x */
REASSOCIATE(sub_left_of_add, .outer = ARITH(SUBI), .inner = ARITH(ADDI), .result = ARITH(SUBI),
            .outer_left = true, .result_left = true, .combine = OUTER_MINUS_INNER)
/* (x - c0) - c1 -> x - (c0 + c1) */
REASSOCIATE(sub_right_of_sub_right, .outer = ARITH(SUBI), .inner = ARITH(SUBI),
            .result = ARITH(SUBI), .combine = SUM)
/* (c0 - x) - c1 -> (c0 - c1) - x */
REASSOCIATE(sub_right_of_sub_left, .outer = ARITH(SUBI), .inner = ARITH(SUBI),
            .result = ARITH(SUBI), .inner_left = true, .result_left = true,
            .combine = INNER_MINUS_OUTER)
/* c1 - (x - c0) -> (c0 + c1) - x */
REASSOCIATE(sub_left_of_sub_right, .outer = ARITH(SUBI), .inner = ARITH(SUBI),
            .result = ARITH(SUBI), .outer_left = true, .result_left = true, .combine = SUM)
/* c1 - (c0 - x) -> x + (c1 - c0) */
REASSOCIATE(sub_left_of_sub_left, .outer = ARITH(SUBI), .inner = ARITH(SUBI), .result = ARITH(ADDI),
            .outer_left = true, .inner_left = true, .combine = OUTER_MINUS_INNER)
/* (x * c0) * c1 -> x * (c0 * c1) */
REASSOCIATE(mul_of_mul, .outer = ARITH(MULI), .inner = ARITH(MULI), .result = ARITH(MULI),
            .combine = PRODUCT)

/* x + y * -1 -> x - y, with the product on either side */
static bool add_of_negated(Rewriter *rw, Op *op, uint32_t product_side)
{
    Op *mul = rewrite_def_of(op_operand(op, product_side), ARITH(MULI));
    if (!mul || !const_is_all_ones(fold_constant_of(op_operand(mul, 1)))) return false;
    const Op *matched[] = {op, value_def(op_operand(mul, 1))};
    rewriter_fuse_locs(rw, matched, COUNT_OF(matched));
    Value *result = build_binary(&rw->b, ARITH(SUBI), op_result(op, 0)->type,
                                 op_operand(op, 1 - product_side), op_operand(mul, 0));
    return replace_with(rw, op, result);
}

static bool add_of_negated_right(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    return add_of_negated(rw, op, 1);
}

static bool add_of_negated_left(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    return add_of_negated(rw, op, 0);
}

/* (a - b) - a -> 0 - b */
static bool sub_of_sub_same(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *inner = rewrite_def_of(op_operand(op, 0), ARITH(SUBI));
    if (!inner || op_operand(inner, 0) != op_operand(op, 1)) return false;
    const Attr *zero = const_zero(op_result(op, 0)->type);
    if (!zero) return false;
    const Op *matched[] = {op, inner};
    int64_t flags = arith_flags(op, "overflowFlags") & arith_flags(inner, "overflowFlags");
    rewriter_fuse_locs(rw, matched, COUNT_OF(matched));
    Value *operands[] = {arith_constant(&rw->b, zero), op_operand(inner, 1)};
    NamedAttr attr =
        build_named_attr(op->ctx, "overflowFlags", arith_overflow_attr(op->ctx, flags));
    const Type *type = op_result(op, 0)->type;
    Op *made = build(&rw->b, ARITH(SUBI), operands, 2, &type, 1, &attr, 1);
    return replace_with(rw, op, op_result(made, 0));
}

void arith_canonicalize_addi(PatternSet *set)
{
    pattern_add(set, "add-of-add", ARITH(ADDI), 2, add_of_add);
    pattern_add(set, "add-of-sub-right", ARITH(ADDI), 2, add_of_sub_right);
    pattern_add(set, "add-of-sub-left", ARITH(ADDI), 2, add_of_sub_left);
    pattern_add(set, "add-of-negated-right", ARITH(ADDI), 2, add_of_negated_right);
    pattern_add(set, "add-of-negated-left", ARITH(ADDI), 2, add_of_negated_left);
}

void arith_canonicalize_subi(PatternSet *set)
{
    pattern_add(set, "sub-right-of-add", ARITH(SUBI), 2, sub_right_of_add);
    pattern_add(set, "sub-left-of-add", ARITH(SUBI), 2, sub_left_of_add);
    pattern_add(set, "sub-right-of-sub-right", ARITH(SUBI), 2, sub_right_of_sub_right);
    pattern_add(set, "sub-right-of-sub-left", ARITH(SUBI), 2, sub_right_of_sub_left);
    pattern_add(set, "sub-left-of-sub-right", ARITH(SUBI), 2, sub_left_of_sub_right);
    pattern_add(set, "sub-left-of-sub-left", ARITH(SUBI), 2, sub_left_of_sub_left);
    pattern_add(set, "sub-of-sub-same", ARITH(SUBI), 2, sub_of_sub_same);
}

void arith_canonicalize_muli(PatternSet *set)
{
    pattern_add(set, "mul-of-mul", ARITH(MULI), 2, mul_of_mul);
}

/* The second result is unused: the plain op does. */
static bool without_second_result(Rewriter *rw, Op *op, const OpDef *plain)
{
    if (value_has_uses(op_result(op, 1))) return false;
    Value *first =
        build_binary(&rw->b, plain, op_result(op, 0)->type, op_operand(op, 0), op_operand(op, 1));
    rewriter_replace_value(rw, op_result(op, 0), first);
    rewriter_erase(rw, op);
    return true;
}

static bool add_without_carry(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    return without_second_result(rw, op, ARITH(ADDI));
}

static bool mul_without_high(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    return without_second_result(rw, op, ARITH(MULI));
}

/* mulsi_extended(x, 1) -> x, extsi(x < 0); an index is what index_cast extends to */
static bool mul_signed_by_one(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *x = op_operand(op, 0);
    if (!const_is_int(fold_constant_of(op_operand(op, 1)), 1) ||
        type_width(type_elem(x->type)) == 1 || !const_zero(x->type))
        return false;
    Value *zero = arith_constant(&rw->b, const_zero(x->type));
    Value *negative = arith_cmpi(&rw->b, CMPI_SLT, x, zero);
    const OpDef *extend = type_elem(x->type)->kind == TYPE_INDEX ? ARITH(INDEX_CAST) : ARITH(EXTSI);
    Value *values[] = {x, build_unary(&rw->b, extend, x->type, negative)};
    rewriter_replace(rw, op, values, 2);
    return true;
}

void arith_canonicalize_addui_extended(PatternSet *set)
{
    pattern_add(set, "add-without-carry", ARITH(ADDUI_EXTENDED), 1, add_without_carry);
}

void arith_canonicalize_mulsi_extended(PatternSet *set)
{
    pattern_add(set, "mul-without-high", ARITH(MULSI_EXTENDED), 1, mul_without_high);
    pattern_add(set, "mul-signed-by-one", ARITH(MULSI_EXTENDED), 1, mul_signed_by_one);
}

void arith_canonicalize_mului_extended(PatternSet *set)
{
    pattern_add(set, "mul-without-high", ARITH(MULUI_EXTENDED), 1, mul_without_high);
}

/* op(ext(x), ext(y)) -> ext(op(x, y)) */
static bool hoist_ext(Rewriter *rw, Op *op, const OpDef *ext)
{
    Op *lhs = rewrite_def_of(op_operand(op, 0), ext), *rhs = rewrite_def_of(op_operand(op, 1), ext);
    if (!lhs || !rhs) return false;
    Value *x = op_operand(lhs, 0), *y = op_operand(rhs, 0);
    if (x->type != y->type) return false;
    const Op *matched[] = {op, lhs, rhs};
    rewriter_fuse_locs(rw, matched, COUNT_OF(matched));
    Value *narrow = build_binary(&rw->b, op->def, x->type, x, y);
    return replace_with(rw, op, build_unary(&rw->b, ext, op_result(op, 0)->type, narrow));
}

static bool hoist_extui(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    return hoist_ext(rw, op, ARITH(EXTUI));
}

static bool hoist_extsi(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    return hoist_ext(rw, op, ARITH(EXTSI));
}

static CmpiPredicate inverted(CmpiPredicate predicate)
{
    static const CmpiPredicate table[] = {
        [CMPI_EQ] = CMPI_NE,   [CMPI_NE] = CMPI_EQ,   [CMPI_SLT] = CMPI_SGE, [CMPI_SLE] = CMPI_SGT,
        [CMPI_SGT] = CMPI_SLE, [CMPI_SGE] = CMPI_SLT, [CMPI_ULT] = CMPI_UGE, [CMPI_ULE] = CMPI_UGT,
        [CMPI_UGT] = CMPI_ULE, [CMPI_UGE] = CMPI_ULT};
    return table[predicate];
}

/* not(a < b) -> a >= b */
static bool not_of_cmpi(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *cmp = rewrite_def_of(op_operand(op, 0), ARITH(CMPI));
    const Attr *one = int_constant(op_operand(op, 1));
    if (!cmp || !one || !attr_is_true(one)) return false;
    const Op *matched[] = {op, cmp};
    rewriter_fuse_locs(rw, matched, COUNT_OF(matched));
    CmpiPredicate predicate = inverted((CmpiPredicate)arith_predicate(cmp));
    return replace_with(rw, op,
                        arith_cmpi(&rw->b, predicate, op_operand(cmp, 0), op_operand(cmp, 1)));
}

void arith_canonicalize_andi(PatternSet *set)
{
    pattern_add(set, "hoist-extui", ARITH(ANDI), 3, hoist_extui);
    pattern_add(set, "hoist-extsi", ARITH(ANDI), 3, hoist_extsi);
}

void arith_canonicalize_ori(PatternSet *set)
{
    pattern_add(set, "hoist-extui", ARITH(ORI), 3, hoist_extui);
    pattern_add(set, "hoist-extsi", ARITH(ORI), 3, hoist_extsi);
}

void arith_canonicalize_xori(PatternSet *set)
{
    pattern_add(set, "not-of-cmpi", ARITH(XORI), 2, not_of_cmpi);
    pattern_add(set, "hoist-extui", ARITH(XORI), 3, hoist_extui);
    pattern_add(set, "hoist-extsi", ARITH(XORI), 3, hoist_extsi);
}

/* op(-x, -y) -> op(x, y) */
static bool drop_negations(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *lhs = rewrite_def_of(op_operand(op, 0), ARITH(NEGF));
    Op *rhs = rewrite_def_of(op_operand(op, 1), ARITH(NEGF));
    if (!lhs || !rhs) return false;
    const Op *matched[] = {op, lhs, rhs};
    rewriter_fuse_locs(rw, matched, COUNT_OF(matched));
    Value *operands[] = {op_operand(lhs, 0), op_operand(rhs, 0)};
    NamedAttr attr = build_named_attr(op->ctx, "fastmath", op_attr(op, "fastmath"));
    const Type *type = op_result(op, 0)->type;
    Op *made = build(&rw->b, op->def, operands, 2, &type, 1, &attr, attr.value ? 1 : 0);
    return replace_with(rw, op, op_result(made, 0));
}

void arith_canonicalize_mulf(PatternSet *set)
{
    pattern_add(set, "drop-negations", ARITH(MULF), 3, drop_negations);
}

void arith_canonicalize_divf(PatternSet *set)
{
    pattern_add(set, "drop-negations", ARITH(DIVF), 3, drop_negations);
}
