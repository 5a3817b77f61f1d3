/* Construction of affine expressions. Each function simplifies as upstream's operator does and then
 * uniques what remains. The rules and their order can be observed in printed text, so they are
 * upstream's: constants and symbolic terms move right, equal terms are collected, e - (e floordiv
 * q) * q becomes e mod q, and divisions disappear if a known divisor allows it. A simplify_*
 * function returns NULL if no rule applies. Arithmetic on constants wraps where upstream's does;
 * folds that would overflow are not done.
 * Tests: test/unit/ir/attr/affine_test.c, lit/ir/attr/affine.mir */
#include <assert.h>

#include "ir/attr/attr.h"
#include "ir/attr/internal.h"

static bool expr_equal(const void *object, const void *key)
{
    const AffineExpr *a = object, *b = key;
    return a->kind == b->kind && a->value == b->value && a->lhs == b->lhs && a->rhs == b->rhs;
}

static uint64_t expr_hash(const AffineExpr *expr)
{
    uint64_t hash = hash_combine((uint64_t)expr->kind, (uint64_t)expr->value);
    if (expr->lhs)
        hash = hash_combine(hash_combine(hash, hash_ptr(expr->lhs)), hash_ptr(expr->rhs));
    return hash;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A divisor of every value of lhs / rhs, where the division is exact. */
static uint64_t quotient_divisor(const AffineExpr *lhs, const AffineExpr *rhs)
{
    if (rhs->kind != AFFINE_CONST || rhs->value == 0) return 1;
    uint64_t divisor = magnitude(rhs->value);
    return lhs->divisor % divisor == 0 ? lhs->divisor / divisor : 1;
}

/* The product, or where it overflows the larger factor, which divides as well. */
static uint64_t product_divisor(uint64_t a, uint64_t b)
{
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product)) return a > b ? a : b;
    return product;
}

static uint64_t known_divisor(const AffineExpr *expr)
{
    switch (expr->kind) {
    case AFFINE_DIM:
    case AFFINE_SYMBOL: return 1;
    case AFFINE_CONST: return magnitude(expr->value);
    case AFFINE_MUL: return product_divisor(expr->lhs->divisor, expr->rhs->divisor);
    case AFFINE_ADD:
    case AFFINE_MOD: return gcd(expr->lhs->divisor, expr->rhs->divisor);
    case AFFINE_FLOORDIV:
    case AFFINE_CEILDIV: break;
    }
    return quotient_divisor(expr->lhs, expr->rhs);
}

static bool known_symbolic(const AffineExpr *expr)
{
    if (expr->lhs) return expr->lhs->is_symbolic && expr->rhs->is_symbolic;
    return expr->kind != AFFINE_DIM;
}

static uint32_t known_depth(const AffineExpr *expr)
{
    if (!expr->lhs) return 0;
    uint32_t left = expr->lhs->depth, right = expr->rhs->depth;
    return 1 + (left > right ? left : right);
}

static const AffineExpr *expr_intern(const AffineExpr *key)
{
    Context *ctx = key->ctx;
    uint64_t hash = expr_hash(key);
    const AffineExpr *found = intern_find(&ctx->exprs, hash, key, expr_equal);
    if (found) return found;
    AffineExpr *expr = arena_copy(&ctx->arena, key, sizeof(*key));
    expr->divisor = known_divisor(key);
    expr->is_symbolic = known_symbolic(key);
    expr->depth = known_depth(key);
    intern_add(&ctx->exprs, hash, expr);
    return expr;
}

static const AffineExpr *expr_leaf(Context *ctx, AffineKind kind, int64_t value)
{
    return expr_intern(&(AffineExpr){.kind = kind, .ctx = ctx, .value = value});
}

static const AffineExpr *expr_binary(AffineKind kind, const AffineExpr *lhs, const AffineExpr *rhs)
{
    assert(lhs->ctx == rhs->ctx);
    return expr_intern(&(AffineExpr){.kind = kind, .ctx = lhs->ctx, .lhs = lhs, .rhs = rhs});
}

const AffineExpr *affine_dim(Context *ctx, uint32_t position)
{
    return expr_leaf(ctx, AFFINE_DIM, position);
}

const AffineExpr *affine_symbol(Context *ctx, uint32_t position)
{
    return expr_leaf(ctx, AFFINE_SYMBOL, position);
}

const AffineExpr *affine_const(Context *ctx, int64_t value)
{
    return expr_leaf(ctx, AFFINE_CONST, value);
}

bool affine_is_const(const AffineExpr *expr)
{
    return expr->kind == AFFINE_CONST;
}

bool affine_is_symbolic(const AffineExpr *expr)
{
    return expr->is_symbolic;
}

static int64_t wrapping_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t wrapping_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Whether expr is `kind` with a constant right operand. */
static bool has_const_rhs(const AffineExpr *expr, AffineKind kind)
{
    return expr->kind == kind && affine_is_const(expr->rhs);
}

/* e * c as (e, c); any other expression as (expr, 1). */
static const AffineExpr *split_factor(const AffineExpr *expr, int64_t *factor)
{
    bool scaled = has_const_rhs(expr, AFFINE_MUL);
    *factor = scaled ? expr->rhs->value : 1;
    return scaled ? expr->lhs : expr;
}

/* e + ((e floordiv q) * q) * -1 -> e mod q
 * e + (e floordiv q) * -q       -> e mod q */
static const AffineExpr *simplify_remainder(const AffineExpr *lhs, const AffineExpr *rhs)
{
    if (rhs->kind != AFFINE_MUL) return NULL;
    const AffineExpr *product = rhs->lhs, *factor = rhs->rhs;
    if (affine_is_const(factor) && factor->value == -1 && product->kind == AFFINE_MUL) {
        const AffineExpr *quotient = product->lhs;
        if (quotient->kind == AFFINE_FLOORDIV && quotient->rhs == product->rhs &&
            quotient->lhs == lhs)
            return affine_mod(lhs, product->rhs);
        return NULL;
    }
    if (product->kind != AFFINE_FLOORDIV || product->lhs != lhs) return NULL;
    return product->rhs == affine_neg(factor) ? affine_mod(lhs, product->rhs) : NULL;
}

static const AffineExpr *simplify_add(const AffineExpr *lhs, const AffineExpr *rhs)
{
    Context *ctx = lhs->ctx;
    int64_t sum;
    if (affine_is_const(lhs) && affine_is_const(rhs))
        return i64_add(lhs->value, rhs->value, &sum) ? affine_const(ctx, sum) : NULL;
    /* 4 + d0 -> d0 + 4;  s0 + d0 -> d0 + s0 */
    if (affine_is_const(lhs) || (lhs->is_symbolic && !rhs->is_symbolic))
        return affine_add(rhs, lhs);
    if (affine_is_const(rhs) && rhs->value == 0) return lhs;
    /* (e + 2) + 3 -> e + 5 */
    if (affine_is_const(rhs) && has_const_rhs(lhs, AFFINE_ADD))
        return affine_add_c(lhs->lhs, wrapping_add(lhs->rhs->value, rhs->value));
    /* e * a + e * b -> e * (a + b) */
    int64_t left_factor, right_factor;
    const AffineExpr *left = split_factor(lhs, &left_factor);
    const AffineExpr *right = split_factor(rhs, &right_factor);
    if (left == right) return affine_mul_c(left, wrapping_add(left_factor, right_factor));
    /* (e + 2) + d1 -> (e + d1) + 2 */
    if (has_const_rhs(lhs, AFFINE_ADD)) return affine_add(affine_add(lhs->lhs, rhs), lhs->rhs);
    return simplify_remainder(lhs, rhs);
}

const AffineExpr *affine_add(const AffineExpr *lhs, const AffineExpr *rhs)
{
    const AffineExpr *simple = simplify_add(lhs, rhs);
    return simple ? simple : expr_binary(AFFINE_ADD, lhs, rhs);
}

const AffineExpr *affine_add_c(const AffineExpr *lhs, int64_t rhs)
{
    return affine_add(lhs, affine_const(lhs->ctx, rhs));
}

const AffineExpr *affine_sub(const AffineExpr *lhs, const AffineExpr *rhs)
{
    return affine_add(lhs, affine_neg(rhs));
}

const AffineExpr *affine_neg(const AffineExpr *expr)
{
    return affine_mul_c(expr, -1);
}

static const AffineExpr *simplify_mul(const AffineExpr *lhs, const AffineExpr *rhs)
{
    int64_t product;
    if (affine_is_const(lhs) && affine_is_const(rhs))
        return i64_mul(lhs->value, rhs->value, &product) ? affine_const(lhs->ctx, product) : NULL;
    if (!lhs->is_symbolic && !rhs->is_symbolic) return NULL;
    /* 4 * d0 -> d0 * 4;  s0 * d0 -> d0 * s0 */
    if (!rhs->is_symbolic || affine_is_const(lhs)) return affine_mul(rhs, lhs);
    if (affine_is_const(rhs) && rhs->value == 1) return lhs;
    if (affine_is_const(rhs) && rhs->value == 0) return rhs;
    if (!has_const_rhs(lhs, AFFINE_MUL)) return NULL;
    /* (e * 2) * 3 -> e * 6;  (e * 2) * s0 -> (e * s0) * 2 */
    if (affine_is_const(rhs))
        return affine_mul_c(lhs->lhs, wrapping_mul(lhs->rhs->value, rhs->value));
    return affine_mul(affine_mul(lhs->lhs, rhs), lhs->rhs);
}

const AffineExpr *affine_mul(const AffineExpr *lhs, const AffineExpr *rhs)
{
    const AffineExpr *simple = simplify_mul(lhs, rhs);
    return simple ? simple : expr_binary(AFFINE_MUL, lhs, rhs);
}

const AffineExpr *affine_mul_c(const AffineExpr *lhs, int64_t rhs)
{
    return affine_mul(lhs, affine_const(lhs->ctx, rhs));
}

/* Whether all values of expr are multiples of the constant, which is not zero. */
static bool is_multiple(const AffineExpr *expr, const AffineExpr *constant)
{
    return expr->divisor % magnitude(constant->value) == 0;
}

/* Rules common to floordiv and ceildiv, which agree where the quotient is exact. */
static const AffineExpr *simplify_quotient(const AffineExpr *lhs, const AffineExpr *rhs)
{
    if (rhs->value == 1) return lhs;
    /* (e * 6) floordiv 2 -> e * 3 */
    if (has_const_rhs(lhs, AFFINE_MUL) && is_multiple(lhs->rhs, rhs) &&
        !(lhs->rhs->value == INT64_MIN && rhs->value == -1))
        return affine_mul_c(lhs->lhs, lhs->rhs->value / rhs->value);
    return NULL;
}

static const AffineExpr *simplify_floordiv(const AffineExpr *lhs, const AffineExpr *rhs)
{
    if (!affine_is_const(rhs) || rhs->value == 0) return NULL;
    int64_t quotient;
    if (affine_is_const(lhs))
        return i64_floordiv(lhs->value, rhs->value, &quotient) ? affine_const(lhs->ctx, quotient)
                                                               : NULL;
    const AffineExpr *simple = simplify_quotient(lhs, rhs);
    if (simple || lhs->kind != AFFINE_ADD) return simple;
    /* (d0 * 4 + d1) floordiv 4 -> d0 + d1 floordiv 4 */
    if (is_multiple(lhs->lhs, rhs) || is_multiple(lhs->rhs, rhs))
        return affine_add(affine_floordiv(lhs->lhs, rhs), affine_floordiv(lhs->rhs, rhs));
    return NULL;
}

static const AffineExpr *simplify_ceildiv(const AffineExpr *lhs, const AffineExpr *rhs)
{
    if (!affine_is_const(rhs) || rhs->value == 0) return NULL;
    int64_t quotient;
    if (affine_is_const(lhs))
        return i64_ceildiv(lhs->value, rhs->value, &quotient) ? affine_const(lhs->ctx, quotient)
                                                              : NULL;
    return simplify_quotient(lhs, rhs);
}

/* A modulus below 1 has no meaning and is kept as written. */
static const AffineExpr *simplify_mod(const AffineExpr *lhs, const AffineExpr *rhs)
{
    if (!affine_is_const(rhs) || rhs->value < 1) return NULL;
    if (affine_is_const(lhs)) return affine_const(lhs->ctx, i64_mod(lhs->value, rhs->value));
    if (is_multiple(lhs, rhs)) return affine_const(lhs->ctx, 0);
    /* (d0 * 4 + d1) mod 4 -> d1 mod 4 */
    if (lhs->kind == AFFINE_ADD && is_multiple(lhs->lhs, rhs)) return affine_mod(lhs->rhs, rhs);
    if (lhs->kind == AFFINE_ADD && is_multiple(lhs->rhs, rhs)) return affine_mod(lhs->lhs, rhs);
    /* (e mod 8) mod 4 -> e mod 4 */
    if (has_const_rhs(lhs, AFFINE_MOD) && lhs->rhs->value >= 1 && is_multiple(lhs->rhs, rhs))
        return affine_mod(lhs->lhs, rhs);
    return NULL;
}

const AffineExpr *affine_mod(const AffineExpr *lhs, const AffineExpr *rhs)
{
    const AffineExpr *simple = simplify_mod(lhs, rhs);
    return simple ? simple : expr_binary(AFFINE_MOD, lhs, rhs);
}

const AffineExpr *affine_floordiv(const AffineExpr *lhs, const AffineExpr *rhs)
{
    const AffineExpr *simple = simplify_floordiv(lhs, rhs);
    return simple ? simple : expr_binary(AFFINE_FLOORDIV, lhs, rhs);
}

const AffineExpr *affine_ceildiv(const AffineExpr *lhs, const AffineExpr *rhs)
{
    const AffineExpr *simple = simplify_ceildiv(lhs, rhs);
    return simple ? simple : expr_binary(AFFINE_CEILDIV, lhs, rhs);
}
