/* rescale to linalg.generic: (x - input_zp) * multiplier >> shift + output_zp, saturated. One
 * multiplier and shift are constants beside the op, several are tensors along the last dimension.
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-linalg-rescale.mir */
#include "dialects/arith/arith.h"
#include "lowering/tosa_to_linalg/internal.h"

enum { MAX_SHIFT = 63 };

typedef struct TosaRescale {
    IntList multiplier, shift;
    /* For the body: the constant, or the number of the input that holds one for each channel. */
    Value *multiplier_constant, *shift_constant;
    uint32_t multiplier_input, shift_input;
    Value *inputs[3];
    const AffineMap *maps[4];
    uint32_t input_count;
} TosaRescale;

static void rescale_read(const Op *op, TosaRescale *r)
{
    *r = (TosaRescale){.multiplier = tosa_build_list_attr(op, "multiplier"),
                       .shift = tosa_build_list_attr(op, "shift")};
    for (size_t i = 0; i < r->shift.len && i < r->multiplier.len; i++)
        if (r->shift.data[i] > MAX_SHIFT) r->shift.data[i] = r->multiplier.data[i] = 0;
}

static void rescale_free(TosaRescale *r)
{
    vec_free(&r->multiplier);
    vec_free(&r->shift);
}

/* Rounding twice makes a difference for shifts above 31 only. */
static bool rounds_twice(const Op *op, const TosaRescale *r)
{
    bool is_large = false;
    for (size_t i = 0; i < r->shift.len; i++) is_large |= r->shift.data[i] > 31;
    return is_large && tosa_build_bool_attr(op, "double_round");
}

/* A factor as a constant, or NULL when there are several, which become the next input. */
static Value *add_factor(Lower *l, TosaRescale *r, const IntList *factors, uint32_t width,
                         uint32_t *input)
{
    const Type *elem = type_i(l->ctx, width);
    if (factors->len == 1) return arith_constant_int(l->b, elem, factors->data[0]);
    const int64_t count = (int64_t)factors->len;
    const uint32_t rank = rank_of(operand_type(l->op, 0));
    const AffineExpr *channel = affine_dim(l->ctx, rank - 1);
    *input = r->input_count++;
    r->maps[*input] = map_get(l->ctx, rank, 0, 1, &channel);
    r->inputs[*input] = arith_constant(
        l->b, attr_dense_i64(type_tensor(elem, &count, 1, NULL), factors->data, factors->len));
    return NULL;
}

static Value *widen(Builder *b, Value *value)
{
    const Type *type = value->type, *i32 = type_i(b->ctx, 32);
    if (type_width(type) >= 32) return value;
    if (type->u.integer.sign != UNSIGNED) return build_unary(b, ARITH(EXTSI), i32, value);
    value = tosa_lower_cast(b, type_i(b->ctx, type_width(type)), value);
    return build_unary(b, ARITH(EXTUI), i32, value);
}

/* Bounds are i32 for every width, so those of wider types wrap. */
static Value *saturate(Builder *b, Value *value, const Type *type)
{
    uint32_t width = type_width(type);
    bool is_unsigned = type->u.integer.sign == UNSIGNED;
    Value *min = tosa_build_i32(b, is_unsigned ? 0 : (int32_t)tosa_build_signed_min(width));
    Value *max = tosa_build_i32(b, (int32_t)(is_unsigned ? (int64_t)(UINT64_MAX >> (64 - width))
                                                         : tosa_build_signed_max(width)));
    value = tosa_build_clamp_int(b, value, min, max, false);
    if (width >= 32) return value;
    value = build_unary(b, ARITH(TRUNCI), type_i(b->ctx, width), value);
    return is_unsigned ? tosa_lower_cast(b, type, value) : value;
}

static void build_body(Builder *b, const Op *op, const TosaRescale *r)
{
    Value *const *args = b->block->args;
    Value *value = args[0];
    const Type *i32 = type_i(b->ctx, 32), *out = type_elem(result_type(op));
    const Type *in = type_i(b->ctx, type_width(value->type) > 32 ? 48 : 32);
    Value *input_zp = arith_constant_int(b, in, tosa_build_int_attr(op, "input_zp"));
    Value *output_zp = arith_constant_int(b, i32, tosa_build_int_attr(op, "output_zp"));
    value = tosa_build_same(b, ARITH(SUBI), widen(b, value), input_zp);
    Value *operands[] = {
        value, r->multiplier_constant ? r->multiplier_constant : args[r->multiplier_input],
        r->shift_constant ? r->shift_constant : args[r->shift_input]};
    NamedAttr attr =
        build_named_attr(b->ctx, "double_round", attr_bool(b->ctx, rounds_twice(op, r)));
    value = op_result(build(b, TOSA(APPLY_SCALE), operands, 3, &i32, 1, &attr, 1), 0);
    value = tosa_build_same(b, ARITH(ADDI), value, output_zp);
    tosa_build_yield(b, saturate(b, value, out));
}

static Value *build_rescale(Lower *l, TosaRescale *r)
{
    Value *input = op_operand(l->op, 0);
    const Type *type = result_type(l->op);
    Values dims = tosa_build_dynamic_dims(l, type, input);
    r->inputs[r->input_count++] = input;
    r->multiplier_constant = add_factor(l, r, &r->multiplier, 32, &r->multiplier_input);
    r->shift_constant = add_factor(l, r, &r->shift, 8, &r->shift_input);
    Value *empty = tosa_build_empty_tensor(l->b, type, type_elem(type), dims);
    GenericDef def = {.inputs = {r->inputs, r->input_count},
                      .inits = VALUES(empty),
                      .maps = r->maps,
                      .loops = rank_of(input->type)};
    Builder body;
    Op *op = tosa_build_generic(l->b, &def, &type, &body);
    build_body(&body, l->op, r);
    return op_result(op, 0);
}

bool tosa_lower_rescale(Lower *l)
{
    const Type *in = type_elem(operand_type(l->op, 0)), *out = type_elem(result_type(l->op));
    if (!tosa_lower_all_ranked(l->op) || !type_is_integer(in) || !type_is_integer(out) ||
        type_width(out) > 64 ||
        (tosa_build_bool_attr(l->op, "double_round") && !tosa_build_bool_attr(l->op, "scale32")))
        return false;
    TosaRescale rescale;
    rescale_read(l->op, &rescale);
    bool is_per_channel = rescale.multiplier.len != 1 || rescale.shift.len != 1;
    bool ok = !is_per_channel || rank_of(operand_type(l->op, 0)) > 0;
    if (ok) rewriter_replace_one(l->rw, l->op, build_rescale(l, &rescale));
    rescale_free(&rescale);
    return ok;
}
