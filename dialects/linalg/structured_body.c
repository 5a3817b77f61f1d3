/* Bodies of named ops: scalar functions on the block's arguments. They are built in upstream's
 * order, because it can be seen once an op is generalized.
 * Tests: lit/passes/linalg/linalg-generalize-named-ops.mir */
#include "dialects/arith/arith.h"
#include "dialects/common/common.h"
#include "dialects/linalg/linalg.h"
#include "dialects/math/math.h"
#include "ir/asm/print/print.h"

static const OpDef *cast_to_integer(const Type *from, const Type *to, bool is_unsigned)
{
    if (type_is_float(from)) return is_unsigned ? ARITH(FPTOUI) : ARITH(FPTOSI);
    if (from->kind == TYPE_INDEX) return ARITH(INDEX_CAST);
    if (!type_is_integer(from) || type_width(from) == type_width(to)) return NULL;
    if (type_width(to) < type_width(from)) return ARITH(TRUNCI);
    return is_unsigned ? ARITH(EXTUI) : ARITH(EXTSI);
}

static const OpDef *cast_to_float(const Type *from, const Type *to, bool is_unsigned)
{
    if (type_is_integer(from)) return is_unsigned ? ARITH(UITOFP) : ARITH(SITOFP);
    if (!type_is_float(from) || type_width(from) == type_width(to)) return NULL;
    return type_width(to) > type_width(from) ? ARITH(EXTF) : ARITH(TRUNCF);
}

Value *linalg_cast_scalar(Builder *b, Value *value, const Type *to, TypeFn fn)
{
    const Type *from = value->type;
    const OpDef *def = NULL;
    if (from == to) return value;
    if (type_is_integer(to))
        def = cast_to_integer(from, to, fn == CAST_UNSIGNED);
    else if (type_is_float(to))
        def = cast_to_float(from, to, fn == CAST_UNSIGNED);
    if (def) return build_unary(b, def, to, value);
    diag_warning(b->ctx, b->loc, "could not cast operand of type '%s' to '%s'",
                 type_str(b->ctx, from), type_str(b->ctx, to));
    return value;
}

static Value *apply_unary(Builder *b, UnaryFn fn, Value *x)
{
    static const OpDef *const defs[] = {
        [UNARY_EXP] = MATH(EXP),     [UNARY_LOG] = MATH(LOG),     [UNARY_ABS] = MATH(ABSF),
        [UNARY_CEIL] = MATH(CEIL),   [UNARY_FLOOR] = MATH(FLOOR), [UNARY_NEGF] = ARITH(NEGF),
        [UNARY_ROUND] = MATH(ROUND), [UNARY_SQRT] = MATH(SQRT),   [UNARY_RSQRT] = MATH(RSQRT),
        [UNARY_TANH] = MATH(TANH),   [UNARY_ERF] = MATH(ERF)};
    if (fn == UNARY_SQUARE) return build_binary(b, ARITH(MULF), x->type, x, x);
    if (fn == UNARY_RECIPROCAL && type_is_float(x->type)) {
        Value *one = arith_constant(b, attr_float(x->type, 1.0));
        return build_binary(b, ARITH(DIVF), x->type, one, x);
    }
    if (fn == UNARY_RECIPROCAL) /* not of floats, which the division's verifier says */
        return build_binary(b, ARITH(DIVF), x->type, x, x);
    return build_unary(b, defs[fn], x->type, x);
}

/* The op of a binary function on floats, integers and booleans. */
typedef struct BinaryOps {
    const OpDef *on_float, *on_integer, *on_bool;
} BinaryOps;

static Value *apply_binary(Builder *b, BinaryFn fn, Value *x, Value *y)
{
    static const BinaryOps ops[] = {
        [BINARY_ADD] = {ARITH(ADDF), ARITH(ADDI), ARITH(ORI)},
        [BINARY_SUB] = {ARITH(SUBF), ARITH(SUBI), ARITH(SUBI)},
        [BINARY_MUL] = {ARITH(MULF), ARITH(MULI), ARITH(ANDI)},
        [BINARY_DIV] = {ARITH(DIVF), ARITH(DIVSI), ARITH(DIVSI)},
        [BINARY_DIV_UNSIGNED] = {ARITH(DIVF), ARITH(DIVUI), ARITH(DIVUI)},
        [BINARY_MAX_SIGNED] = {ARITH(MAXIMUMF), ARITH(MAXSI), ARITH(MAXSI)},
        [BINARY_MIN_SIGNED] = {ARITH(MINIMUMF), ARITH(MINSI), ARITH(MINSI)},
        [BINARY_MAX_UNSIGNED] = {ARITH(MAXIMUMF), ARITH(MAXUI), ARITH(MAXUI)},
        [BINARY_MIN_UNSIGNED] = {ARITH(MINIMUMF), ARITH(MINUI), ARITH(MINUI)},
        [BINARY_POWF] = {MATH(POWF), MATH(IPOWI), MATH(IPOWI)},
    };
    const BinaryOps *row = &ops[fn];
    const OpDef *def = type_is_float(x->type)          ? row->on_float
                       : type_is_int_width(x->type, 1) ? row->on_bool
                                                       : row->on_integer;
    return build_binary(b, def, x->type, x, y);
}

typedef struct BodyBuilder {
    Builder b;
    Block *block;
    const Type *out; /* of the yielded element */
    TypeFn cast;
    int fn;
} BodyBuilder;

static Value *arg(const BodyBuilder *body, uint32_t index)
{
    return body->block->args[index];
}

static Value *cast_arg(BodyBuilder *body, uint32_t index)
{
    return linalg_cast_scalar(&body->b, arg(body, index), body->out, body->cast);
}

static Value *binary(BodyBuilder *body, BinaryFn fn, Value *x, Value *y)
{
    return apply_binary(&body->b, fn, x, y);
}

static Value *output_arg(const BodyBuilder *body)
{
    return arg(body, body->block->arg_count - 1);
}

static Value *build_mul_add(BodyBuilder *body)
{
    Value *a = cast_arg(body, 0), *b = cast_arg(body, 1);
    Value *product = binary(body, BINARY_MUL, a, b);
    return binary(body, BINARY_ADD, output_arg(body), product);
}

static Value *build_mul_cast_add(BodyBuilder *body)
{
    Value *b = cast_arg(body, 1);
    Value *product = binary(body, BINARY_MUL, arg(body, 0), b);
    Value *cast = linalg_cast_scalar(&body->b, product, body->out, CAST_SIGNED);
    return binary(body, BINARY_ADD, output_arg(body), cast);
}

static Value *build_zero_point_mul_add(BodyBuilder *body)
{
    Value *a = cast_arg(body, 0), *a_zero = cast_arg(body, 2);
    Value *left = binary(body, BINARY_SUB, a, a_zero);
    Value *b = cast_arg(body, 1), *b_zero = cast_arg(body, 3);
    Value *right = binary(body, BINARY_SUB, b, b_zero);
    Value *product = binary(body, BINARY_MUL, left, right);
    return binary(body, BINARY_ADD, output_arg(body), product);
}

/* An integer constant or loop index as a value of that type. */
static Value *seed_constant(BodyBuilder *body, int64_t value, const Type *to)
{
    Value *constant = arith_constant(&body->b, attr_i64(body->b.ctx, value));
    return linalg_cast_scalar(&body->b, constant, to, CAST_SIGNED);
}

/* x * 1103515245 + 12345 */
static Value *congruential_step(BodyBuilder *body, Value *x, const Type *i32)
{
    Value *factor = seed_constant(body, 1103515245, i32);
    Value *product = binary(body, BINARY_MUL, x, factor);
    Value *increment = seed_constant(body, 12345, i32);
    return binary(body, BINARY_ADD, product, increment);
}

/* Two steps of the generator mix the seed with the row, then the column; the result is scaled to
 * [min, max). */
static Value *build_random(BodyBuilder *body)
{
    Builder *b = &body->b;
    const Type *i32 = type_i(b->ctx, 32), *f64 = type_float(b->ctx, TYPE_F64);
    Value *half_range = seed_constant(body, 2147483647, f64);
    Value *column = linalg_cast_scalar(b, linalg_index(b, 1), i32, CAST_SIGNED);
    Value *row = linalg_cast_scalar(b, linalg_index(b, 0), i32, CAST_SIGNED);
    Value *seeded = binary(body, BINARY_ADD, row, arg(body, 2));
    Value *mixed = binary(body, BINARY_ADD, column, congruential_step(body, seeded, i32));
    Value *number = linalg_cast_scalar(b, congruential_step(body, mixed, i32), f64, CAST_SIGNED);
    Value *offset = binary(body, BINARY_ADD, half_range, number);
    Value *range = binary(body, BINARY_SUB, arg(body, 1), arg(body, 0));
    Value *scale = arith_constant(b, attr_float(f64, 2.3283063999999999e-10));
    Value *step = binary(body, BINARY_MUL, range, scale);
    Value *scaled = binary(body, BINARY_MUL, offset, step);
    Value *sum = binary(body, BINARY_ADD, scaled, arg(body, 0));
    return linalg_cast_scalar(b, sum, body->out, CAST_SIGNED);
}

static Value *build_value(BodyBuilder *body, BodyKind kind)
{
    Builder *b = &body->b;
    Value *x, *y;
    switch (kind) {
    case BODY_FORWARD: return arg(body, 0);
    case BODY_CAST: return cast_arg(body, 0);
    case BODY_UNARY: return apply_unary(b, (UnaryFn)body->fn, arg(body, 0));
    case BODY_UNARY_ATTR: return apply_unary(b, (UnaryFn)body->fn, cast_arg(body, 0));
    case BODY_BINARY: return binary(body, (BinaryFn)body->fn, arg(body, 0), arg(body, 1));
    case BODY_BINARY_ATTR:
        x = cast_arg(body, 0);
        y = cast_arg(body, 1);
        return binary(body, (BinaryFn)body->fn, x, y);
    case BODY_TERNARY: return arith_select(b, arg(body, 0), arg(body, 1), arg(body, 2));
    case BODY_MUL_ADD: return build_mul_add(body);
    case BODY_MUL_CAST_ADD: return build_mul_cast_add(body);
    case BODY_ZERO_POINT_MUL_ADD: return build_zero_point_mul_add(body);
    case BODY_ACCUMULATE:
        x = cast_arg(body, 0);
        return binary(body, (BinaryFn)body->fn, output_arg(body), x);
    case BODY_RANDOM: return build_random(body);
    }
    return NULL;
}

static int enum_or(const Attr *attrs, const char *name, const AttrDef *def, int fallback)
{
    const Attr *attr = attrs ? attr_dict_get_c(attrs, name) : NULL;
    return attr && attr_is_a(attr, def) ? (int)enum_attr_value(attr) : fallback;
}

void linalg_fill_body(const StructuredDef *def, Block *block, const Attr *attrs)
{
    const Type *out = block->args[block->arg_count - 1]->type;
    BodyBuilder body = {.b = builder_at_end(block, loc_unknown(out->ctx)),
                        .block = block,
                        .out = out,
                        .fn = def->fn};
    bool unsigned_fn = def->body == BODY_ACCUMULATE &&
                       (def->fn == BINARY_MAX_UNSIGNED || def->fn == BINARY_MIN_UNSIGNED);
    TypeFn fixed = unsigned_fn ? CAST_UNSIGNED : CAST_SIGNED;
    body.b.ctx = out->ctx;
    body.cast = (TypeFn)enum_or(attrs, "cast", &linalg_type_fn, (int)fixed);
    if (def->body == BODY_UNARY_ATTR) body.fn = enum_or(attrs, "fun", &linalg_unary_fn, def->fn);
    if (def->body == BODY_BINARY_ATTR) body.fn = enum_or(attrs, "fun", &linalg_binary_fn, def->fn);
    Value *value = build_value(&body, def->body);
    linalg_yield(&body.b, &value, 1);
}
