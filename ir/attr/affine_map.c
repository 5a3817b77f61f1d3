/* Affine maps and integer sets: uniquing, composition, inversion and their predicates.
 * A map may have unused dims and symbols, and no results.
 * Tests: test/unit/ir/attr/affine_test.c, lit/ir/attr/affine.mir */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ir/attr/attr.h"
#include "ir/attr/internal.h"

static bool exprs_equal(const AffineExpr *const *a, const AffineExpr *const *b, uint32_t count)
{
    return count == 0 || memcmp(a, b, count * sizeof(*a)) == 0;
}

static uint64_t exprs_hash(uint32_t dims, uint32_t symbols, uint32_t count,
                           const AffineExpr *const *exprs)
{
    uint64_t seed = hash_combine(dims, symbols);
    return hash_bytes(exprs, count * sizeof(*exprs), seed);
}

static bool map_equal(const void *object, const void *key)
{
    const AffineMap *a = object, *b = key;
    return a->dim_count == b->dim_count && a->symbol_count == b->symbol_count &&
           a->result_count == b->result_count &&
           exprs_equal(a->results, b->results, a->result_count);
}

const AffineMap *map_get(Context *ctx, uint32_t dims, uint32_t symbols, uint32_t result_count,
                         const AffineExpr *const *results)
{
    AffineMap key = {ctx, dims, symbols, result_count, results};
    uint64_t hash = exprs_hash(dims, symbols, result_count, results);
    const AffineMap *found = intern_find(&ctx->maps, hash, &key, map_equal);
    if (found) return found;
    key.results = arena_copy(&ctx->arena, results, result_count * sizeof(*results));
    AffineMap *map = arena_copy(&ctx->arena, &key, sizeof(key));
    intern_add(&ctx->maps, hash, map);
    return map;
}

static bool set_equal(const void *object, const void *key)
{
    const IntegerSet *a = object, *b = key;
    uint32_t count = a->constraint_count;
    return a->dim_count == b->dim_count && a->symbol_count == b->symbol_count &&
           count == b->constraint_count && exprs_equal(a->constraints, b->constraints, count) &&
           (count == 0 || memcmp(a->is_eq, b->is_eq, count * sizeof(*a->is_eq)) == 0);
}

const IntegerSet *set_get(Context *ctx, uint32_t dims, uint32_t symbols, uint32_t count,
                          const AffineExpr *const *constraints, const bool *is_eq)
{
    IntegerSet key = {ctx, dims, symbols, count, constraints, is_eq};
    uint64_t hash = exprs_hash(dims, symbols, count, constraints);
    hash = hash_bytes(is_eq, count * sizeof(*is_eq), hash);
    const IntegerSet *found = intern_find(&ctx->sets, hash, &key, set_equal);
    if (found) return found;
    key.constraints = arena_copy(&ctx->arena, constraints, count * sizeof(*constraints));
    key.is_eq = arena_copy(&ctx->arena, is_eq, count * sizeof(*is_eq));
    IntegerSet *set = arena_copy(&ctx->arena, &key, sizeof(key));
    intern_add(&ctx->sets, hash, set);
    return set;
}

bool set_contains(const IntegerSet *set, const int64_t *dims, const int64_t *symbols)
{
    for (uint32_t i = 0; i < set->constraint_count; i++) {
        int64_t value;
        if (!affine_eval(set->constraints[i], dims, symbols, &value)) return false;
        if (set->is_eq[i] ? value != 0 : value < 0) return false;
    }
    return true;
}

/* Scratch for `count` expressions; the caller frees it. */
static const AffineExpr **exprs_scratch(size_t count)
{
    return xcalloc(count, sizeof(const AffineExpr *));
}

const AffineMap *map_identity(Context *ctx, uint32_t rank)
{
    const AffineExpr **exprs = exprs_scratch(rank);
    for (uint32_t i = 0; i < rank; i++) exprs[i] = affine_dim(ctx, i);
    const AffineMap *map = map_get(ctx, rank, 0, rank, exprs);
    free(exprs);
    return map;
}

const AffineMap *map_permutation(Context *ctx, uint32_t rank, const uint32_t *perm)
{
    const AffineExpr **exprs = exprs_scratch(rank);
    for (uint32_t i = 0; i < rank; i++) {
        assert(perm[i] < rank);
        exprs[i] = affine_dim(ctx, perm[i]);
    }
    const AffineMap *map = map_get(ctx, rank, 0, rank, exprs);
    free(exprs);
    return map;
}

const AffineMap *map_constant(Context *ctx, int64_t value)
{
    const AffineExpr *expr = affine_const(ctx, value);
    return map_get(ctx, 0, 0, 1, &expr);
}

/* g's symbols follow f's in the composed map. */
const AffineMap *map_compose(const AffineMap *f, const AffineMap *g)
{
    assert(f->dim_count == g->result_count && f->ctx == g->ctx);
    Context *ctx = f->ctx;
    size_t scratch_count = (size_t)g->symbol_count + g->result_count + f->result_count;
    const AffineExpr **symbols = exprs_scratch(scratch_count);
    const AffineExpr **inner = symbols + g->symbol_count;
    const AffineExpr **outer = inner + g->result_count;
    for (uint32_t i = 0; i < g->symbol_count; i++)
        symbols[i] = affine_symbol(ctx, f->symbol_count + i);
    for (uint32_t i = 0; i < g->result_count; i++)
        inner[i] = affine_replace(g->results[i], NULL, 0, symbols, g->symbol_count);
    for (uint32_t i = 0; i < f->result_count; i++)
        outer[i] = affine_replace(f->results[i], inner, g->result_count, NULL, 0);
    const AffineMap *map =
        map_get(ctx, g->dim_count, f->symbol_count + g->symbol_count, f->result_count, outer);
    free(symbols);
    return map;
}

const AffineMap *map_concat(Context *ctx, const AffineMap *const *maps, size_t count)
{
    uint32_t dims = 0, symbols = 0, total = 0;
    for (size_t i = 0; i < count; i++) {
        total += maps[i]->result_count;
        if (dims < maps[i]->dim_count) dims = maps[i]->dim_count;
    }
    const AffineExpr **results = exprs_scratch(total);
    uint32_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const AffineMap *map = maps[i];
        const AffineExpr **shifted = exprs_scratch(map->symbol_count);
        for (uint32_t k = 0; k < map->symbol_count; k++)
            shifted[k] = affine_symbol(ctx, symbols + k);
        for (uint32_t k = 0; k < map->result_count; k++)
            results[at++] = affine_replace(map->results[k], NULL, 0, shifted, map->symbol_count);
        symbols += map->symbol_count;
        free(shifted);
    }
    const AffineMap *joined = map_get(ctx, dims, symbols, total, results);
    free(results);
    return joined;
}

const AffineMap *map_inverse_permutation(const AffineMap *map)
{
    assert(map->symbol_count == 0);
    Context *ctx = map->ctx;
    const AffineExpr **exprs = exprs_scratch(map->dim_count);
    uint32_t found = 0;
    for (uint32_t i = 0; i < map->result_count; i++) {
        const AffineExpr *result = map->results[i];
        if (result->kind != AFFINE_DIM || exprs[result->value]) continue;
        exprs[result->value] = affine_dim(ctx, i);
        found++;
    }
    const AffineMap *inverse = NULL;
    if (found == map->dim_count) inverse = map_get(ctx, map->result_count, 0, found, exprs);
    free(exprs);
    return inverse;
}

bool map_eval(const AffineMap *map, const int64_t *dims, const int64_t *symbols, int64_t *out)
{
    for (uint32_t i = 0; i < map->result_count; i++)
        if (!affine_eval(map->results[i], dims, symbols, &out[i])) return false;
    return true;
}

bool map_is_identity(const AffineMap *map)
{
    if (map->dim_count != map->result_count) return false;
    for (uint32_t i = 0; i < map->result_count; i++)
        if (map->results[i]->kind != AFFINE_DIM || map->results[i]->value != i) return false;
    return true;
}

bool map_uses_dim(const AffineMap *map, uint32_t position)
{
    for (uint32_t r = 0; r < map->result_count; r++)
        if (affine_uses_dim(map->results[r], position)) return true;
    return false;
}

bool map_is_permutation(const AffineMap *map)
{
    return map->dim_count == map->result_count && map_is_projected_permutation(map, false);
}

bool map_is_projected_permutation(const AffineMap *map, bool allow_zero)
{
    if (map->symbol_count > 0 || map->result_count > map->dim_count) return false;
    bool *seen = xcalloc(map->dim_count, sizeof(*seen));
    bool holds = true;
    for (uint32_t i = 0; i < map->result_count && holds; i++) {
        const AffineExpr *result = map->results[i];
        if (result->kind == AFFINE_DIM) {
            holds = !seen[result->value];
            seen[result->value] = true;
        } else {
            holds = allow_zero && affine_is_const(result) && result->value == 0;
        }
    }
    free(seen);
    return holds;
}

int map_result_of_dim(const AffineMap *map, uint32_t dim)
{
    for (uint32_t i = 0; i < map->result_count; i++)
        if (map->results[i]->kind == AFFINE_DIM && map->results[i]->value == dim) return (int)i;
    return -1;
}
