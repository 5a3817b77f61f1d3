/* Questions about affine expressions: which dims they use, their value at a point, their
 * coefficients, their range over a box. Substitution is here too; it simplifies the result anew.
 * Every function recurses over the expression once. Overflow is never silent: affine_eval and
 * affine_linear fail, affine_bounds saturates.
 * Tests: test/unit/ir/attr/affine_test.c */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ir/attr/attr.h"

bool affine_is_pure(const AffineExpr *expr)
{
    if (!expr->lhs) return true;
    bool is_pure = affine_is_pure(expr->lhs) && affine_is_pure(expr->rhs);
    if (expr->kind == AFFINE_ADD) return is_pure;
    if (expr->kind == AFFINE_MUL && affine_is_const(expr->lhs)) return is_pure;
    return is_pure && affine_is_const(expr->rhs);
}

static bool uses_leaf(const AffineExpr *expr, AffineKind kind, uint32_t position)
{
    if (expr->lhs)
        return uses_leaf(expr->lhs, kind, position) || uses_leaf(expr->rhs, kind, position);
    return expr->kind == kind && expr->value == position;
}

bool affine_uses_dim(const AffineExpr *expr, uint32_t position)
{
    return !expr->is_symbolic && uses_leaf(expr, AFFINE_DIM, position);
}

bool affine_uses_symbol(const AffineExpr *expr, uint32_t position)
{
    return uses_leaf(expr, AFFINE_SYMBOL, position);
}

static bool apply_operator(AffineKind kind, int64_t lhs, int64_t rhs, int64_t *out)
{
    switch (kind) {
    case AFFINE_ADD: return i64_add(lhs, rhs, out);
    case AFFINE_MUL: return i64_mul(lhs, rhs, out);
    case AFFINE_FLOORDIV: return i64_floordiv(lhs, rhs, out);
    case AFFINE_CEILDIV: return i64_ceildiv(lhs, rhs, out);
    default:
        if (rhs < 1) return false;
        *out = i64_mod(lhs, rhs);
        return true;
    }
}

bool affine_eval(const AffineExpr *expr, const int64_t *dims, const int64_t *symbols, int64_t *out)
{
    int64_t lhs, rhs;
    switch (expr->kind) {
    case AFFINE_DIM: *out = dims[expr->value]; return true;
    case AFFINE_SYMBOL: *out = symbols[expr->value]; return true;
    case AFFINE_CONST: *out = expr->value; return true;
    default:
        return affine_eval(expr->lhs, dims, symbols, &lhs) &&
               affine_eval(expr->rhs, dims, symbols, &rhs) &&
               apply_operator(expr->kind, lhs, rhs, out);
    }
}

static const AffineExpr *build_binary(AffineKind kind, const AffineExpr *lhs, const AffineExpr *rhs)
{
    switch (kind) {
    case AFFINE_MUL: return affine_mul(lhs, rhs);
    case AFFINE_MOD: return affine_mod(lhs, rhs);
    case AFFINE_FLOORDIV: return affine_floordiv(lhs, rhs);
    case AFFINE_CEILDIV: return affine_ceildiv(lhs, rhs);
    default: return affine_add(lhs, rhs);
    }
}

const AffineExpr *affine_replace(const AffineExpr *expr, const AffineExpr *const *dims,
                                 uint32_t dim_count, const AffineExpr *const *symbols,
                                 uint32_t symbol_count)
{
    switch (expr->kind) {
    case AFFINE_DIM: return dims && expr->value < dim_count ? dims[expr->value] : expr;
    case AFFINE_SYMBOL: return symbols && expr->value < symbol_count ? symbols[expr->value] : expr;
    case AFFINE_CONST: return expr;
    default: break;
    }
    const AffineExpr *lhs = affine_replace(expr->lhs, dims, dim_count, symbols, symbol_count);
    const AffineExpr *rhs = affine_replace(expr->rhs, dims, dim_count, symbols, symbol_count);
    if (lhs == expr->lhs && rhs == expr->rhs) return expr;
    return build_binary(expr->kind, lhs, rhs);
}

/* Adds scale * expr to the coefficients and the constant. */
static bool add_linear(const AffineExpr *expr, int64_t scale, uint32_t dim_count, int64_t *coeffs,
                       int64_t *constant)
{
    int64_t term;
    switch (expr->kind) {
    case AFFINE_DIM:
        return expr->value < dim_count && i64_add(coeffs[expr->value], scale, &coeffs[expr->value]);
    case AFFINE_CONST:
        return i64_mul(scale, expr->value, &term) && i64_add(*constant, term, constant);
    case AFFINE_ADD:
        return add_linear(expr->lhs, scale, dim_count, coeffs, constant) &&
               add_linear(expr->rhs, scale, dim_count, coeffs, constant);
    case AFFINE_MUL:
        return affine_is_const(expr->rhs) && i64_mul(scale, expr->rhs->value, &term) &&
               add_linear(expr->lhs, term, dim_count, coeffs, constant);
    default: return false;
    }
}

bool affine_linear(const AffineExpr *expr, uint32_t dim_count, int64_t *coeffs, int64_t *constant)
{
    memset(coeffs, 0, dim_count * sizeof(*coeffs));
    *constant = 0;
    return add_linear(expr, 1, dim_count, coeffs, constant);
}

/* INT64_MIN and INT64_MAX as bounds mean "unbounded" and absorb. */
typedef struct ExprRange {
    int64_t min, max;
} ExprRange;

static const ExprRange everything = {INT64_MIN, INT64_MAX};

static bool is_unbounded(int64_t bound)
{
    return bound == INT64_MIN || bound == INT64_MAX;
}

static int64_t saturating_add(int64_t a, int64_t b)
{
    int64_t sum;
    if (is_unbounded(a)) return a;
    if (is_unbounded(b)) return b;
    if (i64_add(a, b, &sum)) return sum;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t saturating_mul(int64_t a, int64_t b)
{
    int64_t product;
    if (a == 0 || b == 0) return 0;
    if (!is_unbounded(a) && !is_unbounded(b) && i64_mul(a, b, &product)) return product;
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

static ExprRange range_of_corners(const int64_t corners[4])
{
    ExprRange range = {corners[0], corners[0]};
    for (int i = 1; i < 4; i++) {
        if (corners[i] < range.min) range.min = corners[i];
        if (corners[i] > range.max) range.max = corners[i];
    }
    return range;
}

static ExprRange range_mul(ExprRange a, ExprRange b)
{
    int64_t corners[4] = {saturating_mul(a.min, b.min), saturating_mul(a.min, b.max),
                          saturating_mul(a.max, b.min), saturating_mul(a.max, b.max)};
    return range_of_corners(corners);
}

/* b does not contain 0. */
static int64_t saturating_div(AffineKind kind, int64_t a, int64_t b)
{
    int64_t quotient;
    if (is_unbounded(a)) return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
    if (is_unbounded(b))
        return kind == AFFINE_FLOORDIV ? -(a != 0 && (a < 0) != (b < 0))
                                       : (a != 0 && (a < 0) == (b < 0));
    return apply_operator(kind, a, b, &quotient) ? quotient : INT64_MAX;
}

static ExprRange range_div(AffineKind kind, ExprRange a, ExprRange b)
{
    if (b.min <= 0 && b.max >= 0) return everything;
    int64_t corners[4] = {saturating_div(kind, a.min, b.min), saturating_div(kind, a.min, b.max),
                          saturating_div(kind, a.max, b.min), saturating_div(kind, a.max, b.max)};
    return range_of_corners(corners);
}

/* Exact when a stays between two multiples of one modulus. */
static ExprRange range_mod(ExprRange a, ExprRange b)
{
    if (b.min < 1) return everything;
    int64_t first, last;
    if (b.min == b.max && i64_floordiv(a.min, b.min, &first) && i64_floordiv(a.max, b.min, &last) &&
        first == last)
        return (ExprRange){i64_mod(a.min, b.min), i64_mod(a.max, b.min)};
    int64_t max = b.max == INT64_MAX ? INT64_MAX : b.max - 1;
    if (a.min >= 0 && a.max < max) max = a.max;
    return (ExprRange){0, max};
}

static ExprRange range_of_dim(const int64_t *extents, int64_t position)
{
    int64_t extent = extents[position];
    if (extent < 0) return (ExprRange){0, INT64_MAX};
    return (ExprRange){0, extent > 0 ? extent - 1 : 0};
}

static uint32_t dims_needed(const AffineExpr *expr)
{
    if (expr->lhs) {
        uint32_t left = dims_needed(expr->lhs), right = dims_needed(expr->rhs);
        return left > right ? left : right;
    }
    return expr->kind == AFFINE_DIM ? (uint32_t)expr->value + 1 : 0;
}

/* Exact range of a linear expression; false when it is not linear. A dim that occurs in
 * several terms counts once, with the sum of its factors. */
static bool range_of_linear(const AffineExpr *expr, const int64_t *extents, ExprRange *out)
{
    uint32_t dim_count = dims_needed(expr);
    int64_t *coeffs = xcalloc(dim_count, sizeof(*coeffs));
    int64_t constant;
    bool is_linear = affine_linear(expr, dim_count, coeffs, &constant);
    ExprRange sum = {constant, constant};
    for (uint32_t i = 0; i < dim_count && is_linear; i++) {
        ExprRange term = range_mul(range_of_dim(extents, i), (ExprRange){coeffs[i], coeffs[i]});
        sum = (ExprRange){saturating_add(sum.min, term.min), saturating_add(sum.max, term.max)};
    }
    free(coeffs);
    *out = sum;
    return is_linear;
}

static ExprRange range_of(const AffineExpr *expr, const int64_t *extents)
{
    assert(expr->kind != AFFINE_SYMBOL);
    if (expr->kind == AFFINE_CONST) return (ExprRange){expr->value, expr->value};
    if (expr->kind == AFFINE_DIM) return range_of_dim(extents, expr->value);
    ExprRange linear;
    if (range_of_linear(expr, extents, &linear)) return linear;
    ExprRange lhs = range_of(expr->lhs, extents), rhs = range_of(expr->rhs, extents);
    switch (expr->kind) {
    case AFFINE_ADD:
        return (ExprRange){saturating_add(lhs.min, rhs.min), saturating_add(lhs.max, rhs.max)};
    case AFFINE_MUL: return range_mul(lhs, rhs);
    case AFFINE_MOD: return range_mod(lhs, rhs);
    default: return range_div(expr->kind, lhs, rhs);
    }
}

void affine_bounds(const AffineExpr *expr, const int64_t *extents, int64_t *min, int64_t *max)
{
    ExprRange range = range_of(expr, extents);
    *min = range.min;
    *max = range.max;
}
