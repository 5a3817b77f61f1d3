/* Affine expressions, maps and integer sets over dimensions and symbols, uniqued in the
 * context and simplified at construction exactly as upstream's are (constants folded and
 * moved right, sums canonicalised, (d0 * 4) floordiv 2 -> d0 * 2, ...), so text agrees.
 * Tests: test/unit/affine_test.c, lit/ir/affine.mir */
#ifndef MING_IR_AFFINE_H
#define MING_IR_AFFINE_H

#include "ir/attr/context.h"

typedef enum AffineKind {
    AFFINE_DIM,
    AFFINE_SYMBOL,
    AFFINE_CONST,
    AFFINE_ADD,
    AFFINE_MUL,
    AFFINE_MOD,
    AFFINE_FLOORDIV,
    AFFINE_CEILDIV
} AffineKind;

struct AffineExpr {
    AffineKind kind;
    Context *ctx;
    int64_t value;               /* dim or symbol position, or the constant */
    const AffineExpr *lhs, *rhs; /* of binary kinds */
    /* derived at construction */
    uint64_t divisor; /* a known divisor of every value; 0: the value is 0 */
    uint32_t depth;   /* of operands below; functions recurse this deep */
    bool is_symbolic; /* no dims */
};

/* Input with deeper expressions is rejected by the parser. */
#define AFFINE_MAX_DEPTH 10000

struct AffineMap {
    Context *ctx;
    uint32_t dim_count, symbol_count, result_count;
    const AffineExpr *const *results;
};

struct IntegerSet {
    Context *ctx;
    uint32_t dim_count, symbol_count, constraint_count;
    const AffineExpr *const *constraints; /* each >= 0, or == 0 where is_eq */
    const bool *is_eq;
};

const AffineExpr *affine_dim(Context *ctx, uint32_t position);
const AffineExpr *affine_symbol(Context *ctx, uint32_t position);
const AffineExpr *affine_const(Context *ctx, int64_t value);
const AffineExpr *affine_add(const AffineExpr *lhs, const AffineExpr *rhs);
const AffineExpr *affine_sub(const AffineExpr *lhs, const AffineExpr *rhs);
const AffineExpr *affine_neg(const AffineExpr *expr);
const AffineExpr *affine_mul(const AffineExpr *lhs, const AffineExpr *rhs);
const AffineExpr *affine_mod(const AffineExpr *lhs, const AffineExpr *rhs);
const AffineExpr *affine_floordiv(const AffineExpr *lhs, const AffineExpr *rhs);
const AffineExpr *affine_ceildiv(const AffineExpr *lhs, const AffineExpr *rhs);
/* Arithmetic with a constant on the right. */
const AffineExpr *affine_add_c(const AffineExpr *lhs, int64_t rhs);
const AffineExpr *affine_mul_c(const AffineExpr *lhs, int64_t rhs);

bool affine_is_const(const AffineExpr *expr);
/* Only constants and symbols (no dims): legal on the right of mod and division. */
bool affine_is_symbolic(const AffineExpr *expr);
/* No product, division or modulus by anything but a constant. */
bool affine_is_pure(const AffineExpr *expr);
bool affine_uses_dim(const AffineExpr *expr, uint32_t position);
bool affine_uses_symbol(const AffineExpr *expr, uint32_t position);
/* Value with dims and symbols bound; false on division by zero or overflow. */
bool affine_eval(const AffineExpr *expr, const int64_t *dims, const int64_t *symbols,
                 int64_t *out) MUST_CHECK;
/* Replaces dims and symbols; a NULL array keeps them. */
const AffineExpr *affine_replace(const AffineExpr *expr, const AffineExpr *const *dims,
                                 uint32_t dim_count, const AffineExpr *const *symbols,
                                 uint32_t symbol_count);
/* The same value written as a sum in upstream's order, terms collected; the expression itself
 * where a divisor is not positive or a coefficient overflows. Quadratic in its size. */
const AffineExpr *affine_simplify(const AffineExpr *expr, uint32_t dims, uint32_t symbols);
/* Decomposes a linear expression: coeffs[dim] and *constant; false when it is not linear in
 * the dims alone (mod, division, symbols). coeffs has dim_count entries, overwritten. */
bool affine_linear(const AffineExpr *expr, uint32_t dim_count, int64_t *coeffs,
                   int64_t *constant) MUST_CHECK;
/* Smallest and largest value over the box 0 <= d_i < extents[i] (interval arithmetic;
 * exact for linear expressions). A negative extent is unbounded; a bound that is not known
 * or does not fit is INT64_MIN or INT64_MAX. No symbols. */
void affine_bounds(const AffineExpr *expr, const int64_t *extents, int64_t *min, int64_t *max);

const AffineMap *map_get(Context *ctx, uint32_t dims, uint32_t symbols, uint32_t result_count,
                         const AffineExpr *const *results);
const AffineMap *map_identity(Context *ctx, uint32_t rank);
/* (d0, ...) -> (d_perm[0], d_perm[1], ...) */
const AffineMap *map_permutation(Context *ctx, uint32_t rank, const uint32_t *perm);
const AffineMap *map_constant(Context *ctx, int64_t value);
/* f(g(x)): g's results feed f's dims. */
const AffineMap *map_compose(const AffineMap *f, const AffineMap *g);
bool map_is_identity(const AffineMap *map);
bool map_is_permutation(const AffineMap *map);
/* Every result is a distinct dim (allow_zero: or the constant 0). */
bool map_is_projected_permutation(const AffineMap *map, bool allow_zero);
/* The results of all maps in one map; dims are shared, symbols follow each other. */
const AffineMap *map_concat(Context *ctx, const AffineMap *const *maps, size_t count);
/* The map with inverse(map(x)) = x that reads every dim from the first result that is
 * exactly this dim; NULL when some dim has none. For maps without symbols. */
const AffineMap *map_inverse_permutation(const AffineMap *map);
const AffineMap *map_simplify(const AffineMap *map); /* affine_simplify of every result */
/* All results at a point; false as affine_eval. */
bool map_eval(const AffineMap *map, const int64_t *dims, const int64_t *symbols,
              int64_t *out) MUST_CHECK;
/* Position of the result that is exactly d_dim, or -1. */
int map_result_of_dim(const AffineMap *map, uint32_t dim);

const IntegerSet *set_get(Context *ctx, uint32_t dims, uint32_t symbols, uint32_t count,
                          const AffineExpr *const *constraints, const bool *is_eq);
bool set_contains(const IntegerSet *set, const int64_t *dims, const int64_t *symbols);

/* Text as upstream prints it: "d0 + d1 * 2", "(d0) -> (d0)", "(d0) : (d0 >= 0)". */
void affine_print(StrBuf *out, const AffineExpr *expr);
void map_print(StrBuf *out, const AffineMap *map);
void set_print(StrBuf *out, const IntegerSet *set);

#endif
