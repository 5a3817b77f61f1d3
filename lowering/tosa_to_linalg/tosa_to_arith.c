/* tosa-to-arith: constants become arith.constant, and tosa.apply_scale, if asked for, becomes the
 * shifts and products that it stands for. Ops are built in upstream's order, so that text agrees.
 * Requires: verified IR.
 * Changes: tosa.const, tosa.apply_scale.
 * Preserves: all else.
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-arith.mir */
#include "dialects/arith/arith.h"
#include "dialects/tosa/tosa.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/tosa_to_linalg/internal.h"

static bool lower_const(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    rewriter_replace_one(rw, op, arith_constant(&rw->b, op_attr(op, "value")));
    return true;
}

/* Integers of that width, one or as many as the container holds. */
static const Type *integer_like(const Type *container, uint32_t width)
{
    const Type *elem = type_i(container->ctx, width);
    return type_is_shaped(container) ? type_with_elem(container, elem) : elem;
}

static Value *constant(Builder *b, const Type *type, int64_t value)
{
    if (!type_is_shaped(type)) return arith_constant_int(b, type, value);
    return arith_constant(b, attr_dense_splat(type, attr_int(type_elem(type), value)));
}

/* A binary op on values of one type. */
static Value *binary(Builder *b, const OpDef *def, Value *lhs, Value *rhs)
{
    return build_binary(b, def, lhs->type, lhs, rhs);
}

static bool rounds_twice(const Op *op)
{
    return attr_is_true(op_attr(op, "double_round"));
}

/* arith has signless integers only. */
static bool is_unsigned(const Type *type)
{
    const Type *elem = type_is_shaped(type) ? type_elem(type) : type;
    return type_is_integer(elem) && elem->u.integer.sign != SIGNLESS;
}

/* Splats need a shape; the value is widened in its own signedness, and what it becomes has 32 bits. */
static bool is_scalable(const Op *op)
{
    const Type *type = op_result(op, 0)->type;
    return (!type_is_shaped(type) || type_is_static(type)) && type_width(type_elem(type)) <= 32 &&
           !is_unsigned(op_operand(op, 0)->type) && !is_unsigned(type);
}

/* Shifts beyond 31 round at bit 30 as well, away from zero. */
static Value *add_double_round(Builder *b, Value *value, Value *zero, Value *product, Value *shift,
                               Value *thirty_one)
{
    const int64_t half = (int64_t)1 << 30;
    Value *up = constant(b, product->type, half);
    Value *down = constant(b, product->type, -half);
    Value *is_positive = arith_cmpi(b, CMPI_SGE, value, zero);
    Value *rounding = arith_select(b, is_positive, up, down);
    Value *rounded = binary(b, ARITH(ADDI), rounding, product);
    Value *applies = arith_cmpi(b, CMPI_SGT, shift, thirty_one);
    return arith_select(b, applies, rounded, product);
}

/* In 64 bits. */
static bool lower_scale_64(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Builder *b = &rw->b;
    Value *value = op_operand(op, 0);
    if (!is_scalable(op) || type_width(type_elem(value->type)) > 64) return false;
    const Type *i32 = integer_like(op_result(op, 0)->type, 32);
    const Type *i64 = integer_like(op_result(op, 0)->type, 64);
    Value *zero = constant(b, value->type, 0), *wide = value;
    Value *one = constant(b, i64, 1);
    Value *thirty_one = constant(b, i32, 31);
    Value *shift32 = build_unary(b, ARITH(EXTUI), i32, op_operand(op, 2));
    if (!type_is_int_width(type_elem(value->type), 64))
        wide = build_unary(b, ARITH(EXTSI), i64, value);
    Value *multiplier = build_unary(b, ARITH(EXTSI), i64, op_operand(op, 1));
    Value *product = binary(b, ARITH(MULI), wide, multiplier);
    Value *shift = build_unary(b, ARITH(EXTUI), i64, shift32);
    Value *unit = binary(b, ARITH(SHLI), one, shift);
    Value *half = binary(b, ARITH(SHRUI), unit, one);
    product = binary(b, ARITH(ADDI), product, half);
    if (rounds_twice(op)) product = add_double_round(b, value, zero, product, shift32, thirty_one);
    Value *scaled = binary(b, ARITH(SHRSI), product, shift);
    rewriter_replace_one(rw, op, build_unary(b, ARITH(TRUNCI), i32, scaled));
    return true;
}

/* A product in two halves, and what its shift means for each. */
typedef struct Halves {
    Builder *b;
    Value *low, *high;
    Value *zero, *one, *two, *thirty, *thirty_two;
    Value *shift;
    Value *is_over, *is_high_rounded; /* shift >= 32, shift > 32 */
    Value *left, *right;              /* of the high half: 32 - shift or 0, shift - 32 or 0 */
} Halves;

static void start_constants(Halves *h, const Op *op, const Type *type)
{
    h->shift = build_unary(h->b, ARITH(EXTUI), type, op_operand(op, 2));
    h->zero = constant(h->b, type, 0);
    h->one = constant(h->b, type, 1);
    h->two = constant(h->b, type, 2);
    h->thirty = constant(h->b, type, 30);
    h->thirty_two = constant(h->b, type, 32);
}

static void multiply(Halves *h, const Op *op)
{
    Value *factors[] = {op_operand(op, 0), op_operand(op, 1)};
    const Type *types[] = {factors[0]->type, factors[0]->type};
    const Op *product = build(h->b, ARITH(MULSI_EXTENDED), factors, 2, types, 2, NULL, 0);
    h->low = op_result(product, 0);
    h->high = op_result(product, 1);
    h->is_over = arith_cmpi(h->b, CMPI_SGE, h->shift, h->thirty_two);
    h->is_high_rounded = arith_cmpi(h->b, CMPI_SGT, h->shift, h->thirty_two);
    Value *left = binary(h->b, ARITH(SUBI), h->thirty_two, h->shift);
    Value *right = binary(h->b, ARITH(SUBI), h->shift, h->thirty_two);
    h->left = arith_select(h->b, h->is_over, h->zero, left);
    h->right = arith_select(h->b, h->is_over, right, h->zero);
}

/* Adds +-1 at bit 30 when the shift is 32 or more, and its carry to the high half. */
static void round_twice(Halves *h, Value *value)
{
    Builder *b = h->b;
    Value *minus_one = constant(b, h->zero->type, -1);
    Value *is_positive = arith_cmpi(b, CMPI_SGE, value, h->zero);
    Value *unit = arith_select(b, is_positive, h->one, minus_one);
    unit = arith_select(b, h->is_over, unit, h->zero);
    Value *top = binary(b, ARITH(SHRUI), h->low, h->thirty);
    Value *rounded = binary(b, ARITH(ADDI), top, unit);
    Value *carry = binary(b, ARITH(SHRSI), rounded, h->two);
    Value *rounding = binary(b, ARITH(SHLI), unit, h->thirty);
    h->low = binary(b, ARITH(ADDI), h->low, rounding);
    h->high = binary(b, ARITH(ADDI), h->high, carry);
}

/* 1 << (shift - 1) */
static Value *half_of(Halves *h, Value *shift)
{
    Value *below = binary(h->b, ARITH(SUBI), shift, h->one);
    return binary(h->b, ARITH(SHLI), h->one, below);
}

static void round_low(Halves *h)
{
    Builder *b = h->b;
    Value *half = half_of(h, h->shift);
    half = arith_select(b, h->is_high_rounded, h->zero, half);
    Value *sum = binary(b, ARITH(ADDI), h->low, half);
    Value *wrapped = arith_cmpi(b, CMPI_UGT, h->low, sum);
    Value *carry = build_unary(b, ARITH(EXTUI), h->zero->type, wrapped);
    h->low = sum;
    h->high = binary(b, ARITH(ADDI), h->high, carry);
}

static void round_high(Halves *h)
{
    Value *half = half_of(h, h->right);
    half = arith_select(h->b, h->is_high_rounded, half, h->zero);
    h->high = binary(h->b, ARITH(ADDI), h->high, half);
}

static Value *join(Halves *h)
{
    Builder *b = h->b;
    Value *high = binary(b, ARITH(SHLI), h->high, h->left);
    high = binary(b, ARITH(SHRSI), high, h->right);
    Value *low = binary(b, ARITH(SHRUI), h->low, h->shift);
    low = arith_select(b, h->is_over, h->zero, low);
    return binary(b, ARITH(ADDI), low, high);
}

static bool lower_scale_32(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *value = op_operand(op, 0);
    const Type *type = op_result(op, 0)->type;
    Halves h = {.b = &rw->b};
    if (type_width(type_elem(value->type)) != 32 || !is_scalable(op)) return false;
    start_constants(&h, op, integer_like(type, 32));
    multiply(&h, op);
    if (rounds_twice(op)) round_twice(&h, value);
    round_low(&h);
    round_high(&h);
    Value *scaled = join(&h);
    if (!type_is_int_width(type_elem(type), 32))
        scaled = build_unary(h.b, ARITH(TRUNCI), type, scaled);
    rewriter_replace_one(rw, op, scaled);
    return true;
}

static Legality legality(const Op *op, void *user)
{
    const bool *includes_scale = user;
    bool is_lowered = op->def == TOSA(CONST) || (op->def == TOSA(APPLY_SCALE) && *includes_scale);
    return is_lowered ? ILLEGAL : LEGAL_IF_ASKED;
}

static bool run(Pass *pass, Op *root)
{
    static const char *const legal[] = {"arith", NULL};
    bool includes_scale = pass_bool(pass, "include-apply-rescale");
    PatternSet patterns;
    patterns_init(&patterns, pass->ctx);
    pattern_add(&patterns, "tosa-const", TOSA(CONST), 1, lower_const);
    if (includes_scale)
        pattern_add(&patterns, "tosa-apply-scale-64", TOSA(APPLY_SCALE), 100, lower_scale_64);
    if (includes_scale && pass_bool(pass, "use-32-bit"))
        pattern_add(&patterns, "tosa-apply-scale-32", TOSA(APPLY_SCALE), 200, lower_scale_32);
    ConversionTarget target = {
        .legal_dialects = legal, .op_legality = legality, .user = &includes_scale, .partial = true};
    bool ok = conversion_apply(root, &patterns, &target);
    patterns_free(&patterns);
    return ok;
}

const PassDef pass_tosa_to_arith = {
    .name = "tosa-to-arith",
    .summary = "Lower TOSA to the Arith dialect",
    .description = "Turns tosa.const into arith.constant and, if asked, tosa.apply_scale into the "
                   "integer arithmetic it stands for.",
    .title = "TosaToArith",
    .options = OPTIONS({.name = "include-apply-rescale",
                        .kind = OPTION_BOOL,
                        .help = "lower tosa.apply_scale too"},
                       {.name = "use-32-bit",
                        .kind = OPTION_BOOL,
                        .help = "where possible with 32-bit arithmetic only"}),
    .run = run,
};
