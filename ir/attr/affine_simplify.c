/* Simplification of a whole affine expression. It is flattened into a sum of coefficients times
 * dims, symbols and locals (quotients, and products that are not linear), and the sum is written in
 * upstream's order. Since each distinct term has one column, equal terms are added up and multiples
 * of a divisor cancel.
 * Tests: test/unit/ir/attr/affine_test.c */
#include <stdlib.h>
#include <string.h>

#include "ir/attr/attr.h"

typedef struct Flattener {
    Context *ctx;
    uint32_t dims, symbols;
    uint32_t columns;          /* dims, symbols, room for locals, the constant */
    const AffineExpr **locals; /* the expressions of the local columns */
    uint32_t local_count;
} Flattener;

/* A sum: one coefficient per column, from xcalloc. */
typedef int64_t *Flat;

static uint32_t count_locals(const AffineExpr *expr)
{
    if (expr->kind <= AFFINE_CONST) return 0;
    bool is_linear =
        expr->kind == AFFINE_ADD || (expr->kind == AFFINE_MUL && affine_is_const(expr->rhs));
    return count_locals(expr->lhs) + count_locals(expr->rhs) + !is_linear;
}

static uint32_t local_column(const Flattener *f, uint32_t local)
{
    return f->dims + f->symbols + local;
}

static const AffineExpr *column_expr(const Flattener *f, uint32_t column)
{
    if (column < f->dims) return affine_dim(f->ctx, column);
    if (column < f->dims + f->symbols) return affine_symbol(f->ctx, column - f->dims);
    return f->locals[column - f->dims - f->symbols];
}

/* Dims, symbols, locals, the constant. */
static const AffineExpr *rebuild(const Flattener *f, const int64_t *flat)
{
    const AffineExpr *sum = affine_const(f->ctx, 0);
    for (uint32_t i = 0; i < local_column(f, f->local_count); i++)
        if (flat[i] != 0) sum = affine_add(sum, affine_mul_c(column_expr(f, i), flat[i]));
    return affine_add_c(sum, flat[f->columns - 1]);
}

/* A term of a sum with products, and its place in the order: by `major`, then by `minor`. */
typedef struct Term {
    int64_t major, minor;
    uint32_t column;
} Term;

static int compare_terms(const void *a, const void *b)
{
    const Term *x = a, *y = b;
    if (x->major != y->major) return x->major < y->major ? -1 : 1;
    return (x->minor > y->minor) - (x->minor < y->minor);
}

/* Whether a local is one operation on a dim or symbol and another or a constant. A quotient that
 * simplified may be a leaf. */
static bool is_simple_local(const AffineExpr *local)
{
    if (!local->lhs) return false;
    bool lhs = local->lhs->kind == AFFINE_DIM || local->lhs->kind == AFFINE_SYMBOL;
    return lhs && local->rhs->kind <= AFFINE_CONST;
}

/* The term of a simple local: beside the dim or symbol on its left. */
static Term local_term(const Flattener *f, uint32_t local, int64_t *dim_rank, int64_t *symbol_rank)
{
    const AffineExpr *expr = f->locals[local];
    Term term = {.major = expr->lhs->value, .column = local_column(f, local)};
    if (expr->lhs->kind == AFFINE_SYMBOL)
        term.minor = (*symbol_rank)++;
    else
        term.minor = affine_is_const(expr->rhs) ? (*dim_rank)-- : expr->rhs->value;
    return term;
}

/* Terms sorted by the position of their leading dim or symbol, then other locals, the constant. */
static const AffineExpr *rebuild_sorted(const Flattener *f, const int64_t *flat)
{
    uint32_t count = 0, first_local = local_column(f, 0);
    int64_t dim_rank = -1, symbol_rank = f->dims > f->symbols ? f->dims : f->symbols;
    Term *terms = xcalloc(f->columns, sizeof *terms);
    const AffineExpr *sum = affine_const(f->ctx, 0);
    for (uint32_t i = f->dims; i < first_local; i++)
        if (flat[i] != 0) terms[count++] = (Term){i - f->dims, symbol_rank++, i};
    for (uint32_t i = 0; i < f->local_count; i++)
        if (flat[first_local + i] != 0 && is_simple_local(f->locals[i]))
            terms[count++] = local_term(f, i, &dim_rank, &symbol_rank);
    for (uint32_t i = 0; i < f->dims; i++)
        if (flat[i] != 0) terms[count++] = (Term){i, dim_rank--, i};
    qsort(terms, count, sizeof *terms, compare_terms);
    for (uint32_t i = 0; i < count; i++)
        sum = affine_add(sum, affine_mul_c(column_expr(f, terms[i].column), flat[terms[i].column]));
    for (uint32_t i = 0; i < f->local_count; i++)
        if (flat[first_local + i] != 0 && !is_simple_local(f->locals[i]))
            sum = affine_add(sum, affine_mul_c(f->locals[i], flat[first_local + i]));
    free(terms);
    return affine_add_c(sum, flat[f->columns - 1]);
}

static bool flatten(Flattener *f, const AffineExpr *expr, Flat out);

/* Adds a multiple of a local, which gets a column unless it has one. Unlike upstream 19, which sets
 * the coefficient: (x floordiv 4 * 4 + 1) mod 4 has that quotient twice. */
static bool add_local(Flattener *f, Flat flat, const AffineExpr *local, int64_t coefficient)
{
    uint32_t index = 0;
    while (index < f->local_count && f->locals[index] != local) index++;
    if (index == f->local_count) f->locals[f->local_count++] = local;
    int64_t *sum = &flat[local_column(f, index)];
    return i64_add(*sum, coefficient, sum);
}

/* Makes the sum the one local. */
static void set_local(Flattener *f, Flat flat, const AffineExpr *local)
{
    memset(flat, 0, f->columns * sizeof *flat);
    (void)add_local(f, flat, local, 1);
}

static bool scale(const Flattener *f, Flat flat, int64_t factor)
{
    for (uint32_t i = 0; i < f->columns; i++)
        if (!i64_mul(flat[i], factor, &flat[i])) return false;
    return true;
}

static bool add(const Flattener *f, Flat flat, const int64_t *other)
{
    for (uint32_t i = 0; i < f->columns; i++)
        if (!i64_add(flat[i], other[i], &flat[i])) return false;
    return true;
}

/* Greatest divisor of `value` and all coefficients. */
static int64_t common_divisor(const Flattener *f, const int64_t *flat, int64_t value)
{
    for (uint32_t i = 0; i < f->columns; i++)
        value = i64_gcd(value, flat[i] == INT64_MIN ? 1 : flat[i]);
    return value;
}

static void divide(const Flattener *f, Flat flat, int64_t divisor)
{
    for (uint32_t i = 0; i < f->columns; i++) flat[i] /= divisor;
}

/* x mod c -> x - c * (x floordiv c) */
static bool flatten_mod(Flattener *f, Flat flat, int64_t modulus)
{
    int64_t common = common_divisor(f, flat, modulus);
    if (common == modulus) {
        memset(flat, 0, f->columns * sizeof *flat);
        return true;
    }
    Flat dividend = xcalloc(f->columns, sizeof *dividend);
    memcpy(dividend, flat, f->columns * sizeof *flat);
    divide(f, dividend, common);
    const AffineExpr *quotient =
        affine_floordiv(rebuild(f, dividend), affine_const(f->ctx, modulus / common));
    free(dividend);
    return add_local(f, flat, quotient, -modulus);
}

static bool flatten_div(Flattener *f, Flat flat, int64_t divisor, bool is_ceil)
{
    int64_t common = common_divisor(f, flat, divisor);
    divide(f, flat, common);
    if (common == divisor) return true;
    const AffineExpr *dividend = rebuild(f, flat), *by = affine_const(f->ctx, divisor / common);
    set_local(f, flat, (is_ceil ? affine_ceildiv : affine_floordiv)(dividend, by));
    return true;
}

/* An operation whose right side is not a constant becomes a local without further
 * simplification. */
static void flatten_opaque(Flattener *f, AffineKind kind, Flat flat, const int64_t *rhs)
{
    const AffineExpr *a = rebuild(f, flat), *b = rebuild(f, rhs);
    const AffineExpr *local = kind == AFFINE_MUL        ? affine_mul(a, b)
                              : kind == AFFINE_MOD      ? affine_mod(a, b)
                              : kind == AFFINE_FLOORDIV ? affine_floordiv(a, b)
                                                        : affine_ceildiv(a, b);
    set_local(f, flat, local);
}

static bool combine(Flattener *f, const AffineExpr *expr, Flat flat, const int64_t *rhs)
{
    int64_t constant = rhs[f->columns - 1];
    if (expr->kind == AFFINE_ADD) return add(f, flat, rhs);
    if (!affine_is_const(expr->rhs)) {
        flatten_opaque(f, expr->kind, flat, rhs);
        return true;
    }
    if (expr->kind == AFFINE_MUL) return scale(f, flat, constant);
    if (constant <= 0) return false;
    return expr->kind == AFFINE_MOD ? flatten_mod(f, flat, constant)
                                    : flatten_div(f, flat, constant, expr->kind == AFFINE_CEILDIV);
}

static bool flatten(Flattener *f, const AffineExpr *expr, Flat out)
{
    switch (expr->kind) {
    case AFFINE_DIM: out[expr->value] = 1; return true;
    case AFFINE_SYMBOL: out[f->dims + expr->value] = 1; return true;
    case AFFINE_CONST: out[f->columns - 1] = expr->value; return true;
    default: break;
    }
    Flat rhs = xcalloc(f->columns, sizeof *rhs);
    bool ok =
        flatten(f, expr->lhs, out) && flatten(f, expr->rhs, rhs) && combine(f, expr, out, rhs);
    free(rhs);
    return ok;
}

const AffineExpr *affine_simplify(const AffineExpr *expr, uint32_t dims, uint32_t symbols)
{
    uint32_t room = count_locals(expr);
    Flattener f = {.ctx = expr->ctx, .dims = dims, .symbols = symbols};
    f.columns = dims + symbols + room + 1;
    f.locals = xcalloc(room, sizeof *f.locals);
    Flat flat = xcalloc(f.columns, sizeof *flat);
    const AffineExpr *result = expr;
    if (flatten(&f, expr, flat)) {
        result = rebuild(&f, flat);
        if (!affine_is_pure(expr) && result != expr) result = rebuild_sorted(&f, flat);
    }
    free(flat);
    free(f.locals);
    return result;
}

const AffineMap *map_simplify(const AffineMap *map)
{
    const AffineExpr **results = xcalloc(map->result_count, sizeof *results);
    for (uint32_t i = 0; i < map->result_count; i++)
        results[i] = affine_simplify(map->results[i], map->dim_count, map->symbol_count);
    const AffineMap *simple =
        map_get(map->ctx, map->dim_count, map->symbol_count, map->result_count, results);
    free(results);
    return simple;
}
