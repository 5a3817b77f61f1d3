/* Checks of the relations between an encoding's parameters, in upstream's order and words. A
 * blocking is a map that splits dimensions: it has d floordiv c in front of d mod c with the same
 * c, and other dimensions unchanged. Blockings and permutations can be inverted.
 * Tests: lit/dialects/sparse_tensor/invalid.mir */
#include "dialects/sparse_tensor/internal.h"
#include "ir/asm/print/print.h"

/* The way in which a blocking splits one dimension. */
typedef struct LevelSplit {
    bool seen;
    int64_t size;          /* 0: not split */
    uint32_t outer, inner; /* levels of the quotient and the remainder */
    bool has_inner;
} LevelSplit;

static bool read_split(const AffineExpr *expr, uint32_t level, LevelSplit *splits)
{
    bool is_split = expr->kind == AFFINE_FLOORDIV || expr->kind == AFFINE_MOD;
    if (!is_split || expr->lhs->kind != AFFINE_DIM || expr->rhs->kind != AFFINE_CONST ||
        expr->rhs->value <= 0)
        return false;
    LevelSplit *split = &splits[expr->lhs->value];
    if (expr->kind == AFFINE_FLOORDIV) {
        if (split->seen) return false;
        *split = (LevelSplit){.seen = true, .size = expr->rhs->value, .outer = level};
        return true;
    }
    if (!split->seen || split->size != expr->rhs->value) return false;
    split->inner = level;
    split->has_inner = true;
    return true;
}

/* Fills splits, one for each dimension; false: no blocking. */
static bool read_blocks(const AffineMap *map, LevelSplit *splits)
{
    bool has_block = false;
    for (uint32_t i = 0; i < map->result_count; i++) {
        const AffineExpr *expr = map->results[i];
        if (expr->kind == AFFINE_DIM) {
            LevelSplit *split = &splits[expr->value];
            if (split->seen) return false;
            *split = (LevelSplit){.seen = true, .outer = i};
        } else if (!read_split(expr, i, splits)) {
            return false;
        }
        has_block |= expr->kind == AFFINE_MOD;
    }
    return has_block;
}

static LevelSplit *blocks_of(const AffineMap *map, bool *is_blocking)
{
    LevelSplit *splits = xcalloc(map->dim_count + 1, sizeof *splits);
    *is_blocking = read_blocks(map, splits);
    return splits;
}

/* Whole dimensions in the order of their levels, then split ones: outer * size + inner. */
static const AffineMap *invert_blocking(const AffineMap *map, const LevelSplit *splits)
{
    const AffineExpr **exprs = xcalloc(map->result_count + map->dim_count + 1, sizeof *exprs);
    uint32_t count = 0;
    bool ok = true;
    for (uint32_t i = 0; i < map->result_count; i++)
        if (map->results[i]->kind == AFFINE_DIM) exprs[count++] = affine_dim(map->ctx, i);
    for (uint32_t i = 0; i < map->dim_count; i++) {
        const LevelSplit *split = &splits[i];
        if (split->size == 0) continue;
        ok = ok && split->has_inner;
        const AffineExpr *outer = affine_mul_c(affine_dim(map->ctx, split->outer), split->size);
        exprs[count++] = affine_add(outer, affine_dim(map->ctx, split->inner));
    }
    const AffineMap *inverse = ok ? map_get(map->ctx, map->result_count, 0, count, exprs) : NULL;
    free_ptr((void **)&exprs);
    return inverse;
}

const AffineMap *encoding_invert(const AffineMap *map)
{
    if (map->symbol_count != 0) return NULL;
    if (map_is_permutation(map)) return map_inverse_permutation(map);
    bool is_blocking;
    LevelSplit *splits = blocks_of(map, &is_blocking);
    const AffineMap *inverse = is_blocking ? invert_blocking(map, splits) : NULL;
    free_ptr((void **)&splits);
    return inverse;
}

typedef struct Levels {
    const Attr *types; /* array<i64> */
    uint32_t count;
    const AffineMap *map; /* or NULL */
    const Attr *loc;
} Levels;

static bool fail(const Levels *levels, const char *text)
{
    return diag_error(levels->loc->ctx, levels->loc, "%s", text);
}

static LevelType level_at(const Levels *levels, uint32_t index)
{
    return encoding_level_unpack(dense_array_i64(levels->types, index));
}

static LevelFormat format_at(const Levels *levels, uint32_t index)
{
    return level_at(levels, index).format;
}

/* Rows of singletons follow a compressed level and lie alike in memory. */
static bool verify_singletons(const Levels *levels)
{
    for (uint32_t i = 0; i < levels->count; i++) {
        if (format_at(levels, i) != LEVEL_SINGLETON) continue;
        LevelFormat before = i > 0 ? format_at(levels, i - 1) : LEVEL_DENSE;
        if (before != LEVEL_COMPRESSED && before != LEVEL_LOOSE_COMPRESSED)
            return fail(levels, "expected compressed or loose_compressed level before singleton "
                                "level");
        uint32_t soa = level_at(levels, i).props & LEVEL_SOA;
        for (; i < levels->count && format_at(levels, i) == LEVEL_SINGLETON; i++)
            if ((level_at(levels, i).props & LEVEL_SOA) != soa)
                return fail(levels, "expected all singleton lvlTypes stored in the same memory "
                                    "layout (SoA vs AoS).");
    }
    return true;
}

static bool verify_batches(const Levels *levels)
{
    bool before_others = true;
    for (uint32_t i = 0; i < levels->count; i++) {
        bool is_batch = format_at(levels, i) == LEVEL_BATCH;
        if (is_batch && !before_others)
            return fail(levels, "Batch lvlType can only be leading levels.");
        before_others = is_batch;
    }
    for (uint32_t i = 0; i < levels->count; i++)
        if (level_at(levels, i).props & LEVEL_SOA && format_at(levels, i) != LEVEL_SINGLETON)
            return fail(levels, "SoA is only applicable to singleton lvlTypes.");
    return true;
}

/* Whether all splits are of m elements. */
static bool verify_structured_blocks(const Levels *levels, uint8_t m)
{
    const AffineMap *map = levels->map;
    if (!map || map->dim_count == map->result_count) return true;
    bool is_blocking, ok = true;
    LevelSplit *splits = blocks_of(map, &is_blocking);
    int64_t size = 0;
    if (!is_blocking) ok = fail(levels, "expected 1xm block structure for n_out_of_m level");
    for (uint32_t i = 0; ok && i < map->result_count; i++) {
        const AffineExpr *expr = map->results[i];
        if (expr->kind != AFFINE_MOD) continue;
        if (size != 0 && expr->rhs->value != size)
            ok = fail(levels, "expected only one blocked level with the same coefficients");
        size = expr->rhs->value;
    }
    if (ok && size != m)
        ok = fail(levels, "expected coeffiencts of Affine expressions to be equal to m of "
                          "n_out_of_m level");
    free_ptr((void **)&splits);
    return ok;
}

static bool verify_structured(const Levels *levels)
{
    uint32_t at = 0;
    while (at < levels->count && format_at(levels, at) != LEVEL_STRUCTURED) at++;
    if (at == levels->count) return true;
    if (at + 1 != levels->count)
        return fail(levels, "expected n_out_of_m to be the last level type");
    for (uint32_t i = 0; i < at; i++)
        if (format_at(levels, i) != LEVEL_DENSE)
            return fail(levels, "expected all dense lvlTypes before a n_out_of_m level");
    return verify_structured_blocks(levels, level_at(levels, at).m);
}

static bool verify_width(const Attr *width, const char *what, const Attr *loc)
{
    uint32_t bits = (uint32_t)attr_int_value(width);
    if (bits == 0 || bits == 8 || bits == 16 || bits == 32 || bits == 64) return true;
    return diag_error(loc->ctx, loc, "unexpected %s bitwidth: %u", what, bits);
}

static bool verify_maps(const Attr *const *params, const Levels *levels)
{
    const AffineMap *map = levels->map, *inverse = encoding_invert(map);
    const Attr *given = params[ENC_LVL_TO_DIM];
    if (!inverse && map->symbol_count == 0)
        return fail(levels, "failed to infer lvlToDim from dimToLvl");
    if (given->kind == ATTR_AFFINE_MAP && given->u.map != inverse)
        return fail(levels, "expected lvlToDim to be an inverse of dimToLvl");
    if (map->dim_count > levels->count)
        return diag_error(levels->loc->ctx, levels->loc,
                          "unexpected dimToLvl mapping from %u to %u", map->dim_count,
                          levels->count);
    return true;
}

bool encoding_verify(const Attr *const *params, const Attr *loc)
{
    const Attr *map = params[ENC_DIM_TO_LVL];
    Levels levels = {.types = params[ENC_LEVELS],
                     .count = (uint32_t)params[ENC_LEVELS]->u.dense_array.count,
                     .map = map->kind == ATTR_AFFINE_MAP ? map->u.map : NULL,
                     .loc = loc};
    if (!verify_width(params[ENC_POS_WIDTH], "position", loc) ||
        !verify_width(params[ENC_CRD_WIDTH], "coordinate", loc))
        return false;
    if (!verify_singletons(&levels) || !verify_batches(&levels) || !verify_structured(&levels))
        return false;
    if (levels.count == 0) return fail(&levels, "expected a non-empty array for lvlTypes");
    if (!verify_maps(params, &levels)) return false;
    uint32_t dims = levels.map->dim_count;
    if (params[ENC_SLICES]->u.array.count == 0 || dims == levels.count) return true;
    return diag_error(loc->ctx, loc,
                      "dimSlices expected dimension-rank to match level-rank: %u != %u", dims,
                      levels.count);
}
