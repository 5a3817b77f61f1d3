/* Reorders whose words are boxes: the words of both ends lie in tiles of the source, of which one
 * holds a whole number of either. A tile is stored as parts, one per word of the source, each in a
 * memory of its own; so a word of the source is written to one memory, and a word of the result is
 * read from all of them at one address.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-tiles.mir */
#include <string.h>

#include "schedule/internal.h"
#include "schedule/schedule.h"

static int64_t product(const int64_t *extents, uint32_t begin, uint32_t end)
{
    int64_t result = 1;
    for (uint32_t i = begin; i < end; i++) result *= extents[i];
    return result;
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t x = a, y = b;
    while (y) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* Dimension of the result that a dimension of the source is; -1: none, it has one element. False:
 * the map does more than order, drop and repeat dimensions. */
static bool source_dims(const AffineMap *map, const Type *source, const Type *result, int *out)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < map->result_count; i++) {
        const AffineExpr *expr = map->results[i];
        out[i] = -1;
        if (source->u.shaped.dims[i] == 1) continue;
        if (expr->kind != AFFINE_DIM || (seen >> expr->value & 1u) ||
            result->u.shaped.dims[expr->value] != source->u.shaped.dims[i])
            return false;
        seen |= 1u << expr->value;
        out[i] = (int)expr->value;
    }
    return true;
}

static uint32_t add_digit(MoveDigits *d, int64_t extent)
{
    d->extents[d->count] = extent;
    return d->count++;
}

/* The digits of the result's words: of each dimension its tiles, then the words of a tile. */
static void split_digits(Context *ctx, const Type *result, const int *dims, ReorderSchedule *p,
                         MoveDigits *d)
{
    uint32_t outer[DFG_MAX_RANK], inner[DFG_MAX_RANK];
    bool has_outer[DFG_MAX_RANK], has_inner[DFG_MAX_RANK];
    for (uint32_t j = 0; j < result->u.shaped.rank; j++) {
        int64_t words = result->u.shaped.dims[j] / p->out_word[j], within = 1;
        for (uint32_t i = 0; i < p->source_rank; i++)
            if (dims[i] == (int)j) within = p->tile[i] / p->out_word[j];
        has_outer[j] = words / within > 1;
        has_inner[j] = within > 1;
        if (has_outer[j]) outer[j] = add_digit(d, words / within);
        if (has_inner[j]) inner[j] = add_digit(d, within);
    }
    const AffineExpr *address = affine_const(ctx, 0);
    for (uint32_t i = 0; i < p->source_rank; i++) {
        int j = dims[i];
        p->inside[i] = affine_const(ctx, 0);
        address = affine_mul_c(address, p->grid[i] / (p->tile[i] / p->in_word[i]));
        if (j >= 0 && has_outer[j]) address = affine_add(address, affine_dim(ctx, outer[j]));
        if (j >= 0 && has_inner[j])
            p->inside[i] = affine_mul_c(affine_dim(ctx, inner[j]), p->out_word[j]);
    }
    d->address.is_linear = true;
    d->address.constant = 0;
    d->address.expr = address;
    int64_t pitch = 1;
    for (uint32_t i = p->source_rank; i-- > 0;) {
        if (dims[i] >= 0 && has_outer[dims[i]]) d->address.coeffs[outer[dims[i]]] = pitch;
        pitch *= p->grid[i] / (p->tile[i] / p->in_word[i]);
    }
    p->tiles = pitch;
}

bool sched_reorder_tiles(const Op *reorder, const int64_t *in_word, const int64_t *out_word,
                         ReorderSchedule *p, MoveDigits *d)
{
    const Type *source = op_operand(reorder, 0)->type, *result = op_result(reorder, 0)->type;
    const AffineMap *map = dfg_reorder_map(reorder);
    int dims[DFG_MAX_RANK];
    uint32_t in = source->u.shaped.rank, out = result->u.shaped.rank;
    if (op_attr(reorder, "fill") || 2 * out > MOVE_MAX_DIGITS ||
        !source_dims(map, source, result, dims))
        return false;
    *d = (MoveDigits){.count = 0};
    p->reorder = reorder;
    p->is_tiled = true;
    p->source_rank = in;
    p->result_rank = out;
    memcpy(p->in_word, in_word, in * sizeof *in_word);
    memcpy(p->out_word, out_word, out * sizeof *out_word);
    p->in_lanes = product(in_word, 0, in);
    p->lanes = product(out_word, 0, out);
    p->parts = 1;
    for (uint32_t i = 0; i < in; i++) {
        int64_t words = dims[i] >= 0 ? out_word[dims[i]] : 1;
        p->lane_of[i] = dims[i];
        p->tile[i] = common_multiple(in_word[i], words);
        p->grid[i] = source->u.shaped.dims[i] / in_word[i];
        p->parts *= p->tile[i] / in_word[i];
    }
    split_digits(reorder->ctx, result, dims, p, d);
    return p->parts <= REORDER_MAX_PARTS;
}

int64_t sched_reorder_choices(const ReorderSchedule *sched)
{
    int64_t choices = 1;
    for (uint32_t i = 0; sched->is_tiled && i < sched->source_rank; i++)
        choices *=
            sched->tile[i] / (sched->lane_of[i] < 0 ? 1 : sched->out_word[sched->lane_of[i]]);
    return choices;
}

void sched_tile_words(const ReorderSchedule *p, int64_t *first, int64_t *last)
{
    int64_t at[DFG_MAX_RANK] = {0};
    for (int64_t t = 0; t < p->tiles; t++) {
        first[t] = last[t] = 0;
        for (uint32_t i = 0; i < p->source_rank; i++) {
            int64_t parts = p->tile[i] / p->in_word[i];
            first[t] = first[t] * p->grid[i] + at[i] * parts;
            last[t] = last[t] * p->grid[i] + at[i] * parts + parts - 1;
        }
        for (uint32_t i = p->source_rank; i-- > 0;) {
            if (++at[i] < p->grid[i] / (p->tile[i] / p->in_word[i])) break;
            at[i] = 0;
        }
    }
}
