/* Functions of integers that fixed-point arithmetic does not give, in one of three forms:
 *   thresholds   least + the number of thresholds that q has passed, for monotone functions
 *   changes      least + the sum of the level changes that q has passed
 *   table        all levels in the order of q, for few integers
 * The first two are reductions over constants, the last reads its constant by tensor.extract.
 * Tests: lit/lowering/onnx_to_linalg/requant/onnx-to-linalg-requant-thresholds.mir,
 * test/e2e/qdq_check.py */
#include <stdlib.h>

#include "dialects/arith/arith.h"
#include "dialects/tensor/tensor.h"
#include "lowering/onnx_to_linalg/requant/internal.h"

/* Opens a reduction of v with constants of (channels, n) into elements that begin with `start`. */
static void open_counting(Requant *r, Generic *g, Value *const *tables, uint32_t count,
                          int64_t start)
{
    OnnxLowering *lw = r->lw;
    const Type *type = requant_type(r);
    uint32_t rank = type->u.shaped.rank;
    const AffineExpr *dims[ONNX_MAX_RANK], *row[2];
    *g = (Generic){.loops = rank + 1, .inputs = 1 + count, .input = {r->v->value}};
    for (uint32_t i = 0; i < rank; i++) dims[i] = affine_dim(lw->ctx, i);
    row[0] = r->channels == 1 ? affine_const(lw->ctx, 0) : dims[r->axis];
    row[1] = affine_dim(lw->ctx, rank);
    g->is_reduction[rank] = true;
    g->map[0] = g->map[g->inputs] = map_get(lw->ctx, rank + 1, 0, rank, dims);
    for (uint32_t i = 0; i < count; i++) {
        g->input[1 + i] = tables[i];
        g->map[1 + i] = map_get(lw->ctx, rank + 1, 0, tables[i]->type->u.shaped.rank, row);
    }
    generic_open(lw, g, lower_build_filled(lw, type, start));
}

static bool any_falls(const Requant *r)
{
    for (int64_t c = 0; c < r->channels; c++)
        if (r->falls[c]) return true;
    return false;
}

int64_t requant_threshold(const Requant *r, int64_t c, int64_t i)
{
    int64_t level = r->least + 1 + i;
    if (level <= r->low[c]) return requant_first(r, c);
    if (level > r->high[c]) return requant_last(r, c) + 1;
    return r->at[c * r->width + level - r->low[c] - 1];
}

/* Thresholds as a (channels, levels) tensor wide enough to compare with q. */
static Value *threshold_tensor(Requant *r, int64_t levels)
{
    OnnxLowering *lw = r->lw;
    int64_t count = r->channels * levels;
    int64_t *values = ARENA_ARRAY(&lw->pass->scratch, int64_t, count);
    int64_t low = r->v->low < -r->v->high ? r->v->low : -r->v->high;
    int64_t high = r->v->high > -r->v->low ? r->v->high : -r->v->low;
    for (int64_t i = 0; i < count; i++) {
        values[i] = requant_threshold(r, i / levels, i % levels);
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    const int64_t dims[] = {r->channels, levels};
    uint32_t width = fixed_signed_width(low, high), own = type_width(type_elem(r->v->value->type));
    own += r->v->is_unsigned;
    const Type *elem = type_i(lw->ctx, own > width ? own : width);
    return arith_constant(&lw->b,
                          attr_dense_i64(type_tensor(elem, dims, 2, NULL), values, (size_t)count));
}

/* 1 where levels rise and -1 where they fall, per channel. */
static Value *direction_tensor(Requant *r)
{
    int64_t *values = ARENA_ARRAY(&r->lw->pass->scratch, int64_t, r->channels);
    for (int64_t c = 0; c < r->channels; c++) values[c] = r->falls[c] ? -1 : 1;
    const Type *type = type_tensor(type_i(r->lw->ctx, 2), &r->channels, 1, NULL);
    return arith_constant(&r->lw->b, attr_dense_i64(type, values, (size_t)r->channels));
}

Value *requant_build_thresholds(Requant *r)
{
    bool has_signs = any_falls(r);
    r->lw->form = "thresholds";
    Value *tables[2] = {threshold_tensor(r, r->most - r->least)};
    Generic g;
    if (has_signs) tables[1] = direction_tensor(r);
    open_counting(r, &g, tables, 1 + has_signs, r->least);
    Builder *b = &g.body;
    const Type *wide = type_elem(tables[0]->type), *elem = type_elem(requant_type(r));
    Value *q = lower_build_extend(b, generic_arg(&g, 0), wide, r->v->is_unsigned);
    if (has_signs)
        q = build_binary(b, ARITH(MULI), wide, q,
                         lower_build_extend(b, generic_arg(&g, 2), wide, false));
    Value *passed = arith_cmpi(b, CMPI_SGE, q, generic_arg(&g, 1));
    Value *step = build_unary(b, ARITH(EXTUI), elem, passed);
    return generic_close(&g, build_binary(b, ARITH(ADDI), elem, generic_arg(&g, g.inputs), step));
}

LevelChanges level_changes_create(int64_t channels)
{
    return (LevelChanges){.first = xcalloc((size_t)channels + 1, sizeof(int64_t)),
                          .base = xcalloc((size_t)channels, sizeof(int64_t))};
}

void level_changes_free(LevelChanges *changes)
{
    vec_free(&changes->list);
    free_ptr((void **)&changes->first);
    free_ptr((void **)&changes->base);
}

void level_changes_begin(LevelChanges *changes, int64_t channel, int64_t level)
{
    changes->first[channel] = (int64_t)changes->list.len;
    changes->base[channel] = level;
}

void level_changes_add(LevelChanges *changes, int64_t channel, int64_t q, int64_t rise)
{
    size_t len = changes->list.len;
    if (rise == 0) return;
    if (len > (size_t)changes->first[channel] && changes->list.data[len - 1].q == q)
        changes->list.data[len - 1].rise += rise;
    else
        *vec_push(&changes->list) = (LevelChange){q, rise};
}

void level_changes_end(LevelChanges *changes, int64_t channels)
{
    changes->first[channels] = (int64_t)changes->list.len;
}

static void add_row_changes(const Requant *r, LevelChanges *changes, int64_t row)
{
    int64_t count = r->high[row] - r->low[row], channel = row / r->sides;
    const int64_t *at = r->at + row * r->width;
    for (int64_t i = 0; i < count; i++) {
        if (r->falls[row]) /* reached up to -at */
            level_changes_add(changes, channel, 1 - at[count - 1 - i], -1);
        else
            level_changes_add(changes, channel, at[i], 1);
    }
}

static int64_t level_at(const Requant *r, int64_t row, bool at_end)
{
    return r->falls[row] == at_end ? r->low[row] : r->high[row];
}

void level_changes_of_rows(const Requant *r, LevelChanges *out)
{
    *out = level_changes_create(r->channels);
    for (int64_t row = 0; row < r->channels * r->sides; row++) {
        int64_t channel = row / r->sides;
        if (row % r->sides == 0)
            level_changes_begin(out, channel, level_at(r, row, false));
        else
            level_changes_add(out, channel, r->from[row],
                              level_at(r, row, false) - level_at(r, row - 1, true));
        add_row_changes(r, out, row);
    }
    level_changes_end(out, r->channels);
}

bool level_changes_of_levels(Requant *r, LevelChanges *out)
{
    int64_t count = r->v->high - r->v->low + 1;
    Array *q = requant_candidates(r, count);
    for (int64_t i = 0; i < q->count; i++) array_set_i64(q, i, r->v->low + i % count);
    int64_t *levels = requant_levels(r, q);
    array_unref(q);
    if (!levels) return false;
    *out = level_changes_create(r->channels);
    r->least = r->most = levels[0];
    for (int64_t i = 0; i < r->channels * count && !r->is_undefined; i++) {
        r->least = levels[i] < r->least ? levels[i] : r->least;
        r->most = levels[i] > r->most ? levels[i] : r->most;
        if (i % count == 0)
            level_changes_begin(out, i / count, levels[i]);
        else
            level_changes_add(out, i / count, r->v->low + i % count, levels[i] - levels[i - 1]);
    }
    level_changes_end(out, r->channels);
    free(levels);
    return true;
}

int64_t level_changes_count(const Requant *r, const LevelChanges *changes, int64_t channel)
{
    return changes->first[channel + 1] - changes->first[channel] +
           (changes->base[channel] > r->least);
}

LevelChange level_change_at(const Requant *r, const LevelChanges *changes, int64_t channel,
                            int64_t i)
{
    int64_t lift = changes->base[channel] - r->least;
    if (lift > 0 && i-- == 0) return (LevelChange){r->v->low, lift};
    i += changes->first[channel];
    return i < changes->first[channel + 1] ? changes->list.data[i]
                                           : (LevelChange){r->v->high + 1, 1};
}

/* Rises as narrow as they are, or modulo the level's type. */
static Value *rise_tensor(Requant *r, int64_t *rises, const int64_t *dims)
{
    int64_t count = dims[0] * dims[1], low = 0, high = 0;
    for (int64_t i = 0; i < count; i++) {
        low = rises[i] < low ? rises[i] : low;
        high = rises[i] > high ? rises[i] : high;
    }
    const Type *elem = type_elem(requant_type(r));
    if (fixed_signed_width(low, high) < type_width(elem))
        elem = type_i(r->lw->ctx, fixed_signed_width(low, high));
    for (int64_t i = 0; i < count; i++) rises[i] = array_wrap(elem, rises[i]);
    return arith_constant(&r->lw->b,
                          attr_dense_i64(type_tensor(elem, dims, 2, NULL), rises, (size_t)count));
}

const Type *requant_place_type(const Requant *r)
{
    uint32_t width = fixed_signed_width(r->v->low, r->v->high + 1);
    uint32_t own = type_width(type_elem(r->v->value->type)) + r->v->is_unsigned;
    return type_i(r->lw->ctx, own > width ? own : width);
}

static Value *place_tensor(Requant *r, const int64_t *places, const int64_t *dims)
{
    return arith_constant(&r->lw->b,
                          attr_dense_i64(type_tensor(requant_place_type(r), dims, 2, NULL), places,
                                         (size_t)(dims[0] * dims[1])));
}

int64_t level_changes_most(const Requant *r, const LevelChanges *changes)
{
    int64_t most = 1;
    for (int64_t c = 0; c < r->channels; c++) {
        int64_t own = level_changes_count(r, changes, c);
        most = own > most ? own : most;
    }
    return most;
}

Value *requant_build_level_changes(Requant *r, const LevelChanges *changes)
{
    int64_t most = level_changes_most(r, changes);
    r->lw->form = "thresholds";
    const int64_t dims[] = {r->channels, most};
    int64_t count = r->channels * most;
    int64_t *places = ARENA_ARRAY(&r->lw->pass->scratch, int64_t, count);
    int64_t *rises = ARENA_ARRAY(&r->lw->pass->scratch, int64_t, count);
    for (int64_t i = 0; i < count; i++) {
        LevelChange one = level_change_at(r, changes, i / most, i % most);
        places[i] = one.q;
        rises[i] = one.rise;
    }
    Value *tables[] = {place_tensor(r, places, dims), rise_tensor(r, rises, dims)};
    Generic g;
    open_counting(r, &g, tables, 2, r->least);
    Builder *b = &g.body;
    const Type *elem = type_elem(requant_type(r)), *wide = type_elem(tables[0]->type);
    Value *q = lower_build_extend(b, generic_arg(&g, 0), wide, r->v->is_unsigned);
    Value *passed = arith_cmpi(b, CMPI_SGE, q, generic_arg(&g, 1));
    Value *rise = lower_build_extend(b, generic_arg(&g, 2), elem, false);
    Value *next = build_binary(b, ARITH(ADDI), elem, generic_arg(&g, 3), rise);
    return generic_close(&g, arith_select(b, passed, next, generic_arg(&g, 3)));
}

/* Integers but one; the range may fill 64 bits. */
static uint64_t spread_of(const Requant *r)
{
    return (uint64_t)r->v->high - (uint64_t)r->v->low;
}

bool requant_is_small(const Requant *r, int64_t limit)
{
    uint64_t spread = spread_of(r), most = (uint64_t)limit;
    return spread < most && (spread + 1) * (uint64_t)r->channels <= most;
}

bool requant_fits_table(const Requant *r)
{
    return spread_of(r) < MAX_ROW && requant_is_small(r, MAX_TABLE);
}

/* All levels, channel by channel. */
static Value *level_table(Requant *r, const LevelChanges *changes, int64_t count)
{
    OnnxLowering *lw = r->lw;
    int64_t total = r->channels * count;
    int64_t *levels = ARENA_ARRAY(&lw->pass->scratch, int64_t, total);
    for (int64_t c = 0; c < r->channels; c++) {
        int64_t next = changes->first[c], level = changes->base[c];
        for (int64_t i = 0; i < count; i++) {
            for (; next < changes->first[c + 1] && changes->list.data[next].q <= r->v->low + i;
                 next++)
                level += changes->list.data[next].rise;
            levels[c * count + i] = level;
        }
    }
    const Type *type = type_tensor(type_elem(requant_type(r)), &total, 1, NULL);
    return arith_constant(&lw->b, attr_dense_i64(type, levels, (size_t)total));
}

/* Where a channel's levels begin, less the smallest q. */
static Value *channel_offsets(Requant *r, const Type *elem, int64_t count)
{
    int64_t *offsets = ARENA_ARRAY(&r->lw->pass->scratch, int64_t, r->channels);
    for (int64_t c = 0; c < r->channels; c++) offsets[c] = c * count - r->v->low;
    const Type *type = type_tensor(elem, &r->channels, 1, NULL);
    return arith_constant(&r->lw->b, attr_dense_i64(type, offsets, (size_t)r->channels));
}

Value *requant_build_table(Requant *r, const LevelChanges *changes)
{
    OnnxLowering *lw = r->lw;
    if (!requant_fits_table(r)) return NULL;
    lw->form = "table";
    int64_t count = r->v->high - r->v->low + 1, last = r->channels * count - 1;
    uint32_t own = type_width(type_elem(r->v->value->type)) + r->v->is_unsigned;
    uint32_t width =
        fixed_signed_width(r->v->low, last > last - r->v->low ? last : last - r->v->low);
    const Type *wide = type_i(lw->ctx, own > width ? own : width);
    bool has_channels = r->channels > 1;
    Value *levels = level_table(r, changes, count), *inputs[2] = {r->v->value};
    Generic g;
    if (has_channels) inputs[1] = channel_offsets(r, wide, count);
    generic_along(lw, &g, inputs, 1 + has_channels, (uint32_t)r->axis);
    generic_open(lw, &g, lower_build_empty(lw, requant_type(r)));
    Builder *b = &g.body;
    Value *q = lower_build_extend(b, generic_arg(&g, 0), wide, r->v->is_unsigned);
    if (has_channels || r->v->low != 0)
        q = build_binary(b, ARITH(ADDI), wide, q,
                         has_channels ? generic_arg(&g, 1)
                                      : arith_constant_int(b, wide, -r->v->low));
    return generic_close(&g, lower_build_lookup(b, levels, q));
}
