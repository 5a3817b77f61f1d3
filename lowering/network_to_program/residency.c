/* Where maps are. They stay on the chip, in pages by first fit over their lifetimes, as long as there is
 * room; else the largest of those that meet lies outside, and layers that read or give it bring parts
 * of it. Schedules are chosen for the room that is left.
 * Tests: lit/lowering/network_to_program/spill.mir, test/e2e/tiles_check.py */
#include <string.h>

#include "ir/asm/print/print.h"
#include "lowering/network_to_program/internal.h"

static bool meet(const Plan *plan, size_t a, size_t b)
{
    return to_program_born(plan, a) <= plan->maps.data[b].last_use &&
           to_program_born(plan, b) <= plan->maps.data[a].last_use;
}

/* The first page at which the map meets none of the ones in front of it. */
static uint32_t first_fit(const Plan *plan, size_t index)
{
    uint32_t page = 0;
    for (size_t i = 0; i < index; i++) {
        const Map *other = &plan->maps.data[i];
        bool overlaps =
            page < other->page + other->pages && other->page < page + plan->maps.data[index].pages;
        if (other->is_spilled || !overlaps || !meet(plan, i, index)) continue;
        page = other->page + other->pages;
        i = SIZE_MAX; /* from the first one again */
    }
    return page;
}

/* The largest map on the chip that meets the layers; SIZE_MAX: there is none. */
static size_t largest(const Plan *plan, size_t from, size_t to)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < plan->maps.len; i++) {
        const Map *map = &plan->maps.data[i];
        if (map->is_spilled || to_program_born(plan, i) > to || map->last_use < from) continue;
        if (found == SIZE_MAX || map->pages > plan->maps.data[found].pages) found = i;
    }
    return found;
}

/* Whether all have room; else one more lies outside. */
static bool place_maps(Plan *plan)
{
    for (size_t i = 0; i < plan->maps.len; i++) {
        Map *map = &plan->maps.data[i];
        if (map->is_spilled) continue;
        map->page = first_fit(plan, i);
        if (map->page + map->pages <= plan->size.act_pages) continue;
        plan->maps.data[largest(plan, to_program_born(plan, i), map->last_use)].is_spilled = true;
        return false;
    }
    return true;
}

/* What the layer needs that no tile size changes. */
static bool refuse(const Plan *plan, const Layer *layer)
{
    const SaOverlay *size = &plan->size;
    uint64_t step = to_program_block_step(plan), taps = layer->taps;
    uint64_t most = to_program_most_weights(plan);
    if (layer->has_weights && taps * step > most)
        return op_error(layer->op,
                        "has %llu weights for a processing element in one block, which "
                        "holds %llu",
                        (unsigned long long)(taps * step), (unsigned long long)most);
    if (layer->has_weights && taps * step * layer->n_blocks > most && step > size->acc_words)
        return op_error(layer->op, "needs %llu partial sums, of which the overlay holds %u",
                        (unsigned long long)step, size->acc_words);
    return op_error(layer->op, "finds no room for parts of its maps in the overlay's %u pages",
                    size->act_pages);
}

/* Whether the layer says how it is cut. */
static bool has_schedule(const Layer *layer)
{
    return op_attr(layer->op, SA_ATTR_TILE) || op_attr(layer->op, SA_ATTR_ORDER);
}

static bool read_order(const Attr *attr, uint8_t order[DIMS])
{
    static const char letters[] = DIM_LETTERS;
    uint32_t seen = 0;
    if (!attr || attr->kind != ATTR_STRING || attr->u.string.len != DIMS) return false;
    for (int i = 0; i < DIMS; i++) {
        const char *at = memchr(letters, attr->u.string.data[i], DIMS);
        if (!at) return false;
        order[i] = (uint8_t)(at - letters);
        seen |= 1u << order[i];
    }
    return seen == (1u << DIMS) - 1;
}

/* The schedule that attributes say. False: diagnosed. */
static bool read_schedule(const Layer *layer, Schedule *out)
{
    int64_t sizes[DIMS];
    size_t count = 0;
    const Attr *tile = op_attr(layer->op, SA_ATTR_TILE);
    if (!read_order(op_attr(layer->op, SA_ATTR_ORDER), out->order))
        return op_error(layer->op, "needs each of m, y, x, n once as sa.order");
    if (!tile || !attr_int_list(tile, sizes, DIMS, &count) || count != DIMS)
        return op_error(layer->op, "needs four numbers as sa.tile");
    for (int d = 0; d < DIMS; d++) {
        const uint32_t most = to_program_most(layer, d);
        if (sizes[d] < 1 || sizes[d] > most)
            return op_error(layer->op, "has tiles of %lld of %u %c", (long long)sizes[d], most,
                            DIM_LETTERS[d]);
        out->tile[d] = (uint32_t)sizes[d];
    }
    return true;
}

static bool is_on_chip(const Plan *plan, const Layer *layer)
{
    for (int role = 0; role < ROLES; role++)
        if (layer->map[role] != SIZE_MAX && plan->maps.data[layer->map[role]].is_spilled)
            return false;
    return true;
}

/* Whether the model says the same of every schedule, with all maps on the chip. */
static bool are_alike(const Layer *a, const Layer *b)
{
    return memcmp(a->extents, b->extents, sizeof a->extents) == 0 && a->mode == b->mode &&
           a->taps == b->taps && a->images == b->images && a->groups == b->groups &&
           a->parts == b->parts && a->m_blocks == b->m_blocks &&
           a->part_channels == b->part_channels && a->tap_steps == b->tap_steps &&
           a->pu_steps == b->pu_steps && a->has_weights == b->has_weights &&
           memcmp(a->repeats, b->repeats, sizeof a->repeats) == 0 && a->has_pool == b->has_pool &&
           memcmp(&a->pool, &b->pool, sizeof a->pool) == 0;
}

/* A network repeats its layers; what has been searched is not searched again. */
static bool search(Plan *plan, size_t index)
{
    Layer *layer = &plan->layers.data[index];
    const bool has_all = is_on_chip(plan, layer);
    for (size_t i = 0; has_all && i < plan->layers.len; i++) {
        const Layer *other = &plan->layers.data[i];
        if (!other->is_chosen || !are_alike(other, layer)) continue;
        layer->schedule = other->schedule;
        memcpy(layer->stages, other->stages, sizeof layer->stages);
        layer->is_chosen = true;
        return true;
    }
    bool ok = to_program_search(plan, index, &layer->schedule, layer->stages);
    layer->is_chosen = ok && has_all;
    return ok;
}

/* False: diagnosed, or *lacks_room. */
static bool choose(Plan *plan, size_t index, bool *lacks_room)
{
    Layer *layer = &plan->layers.data[index];
    if (!has_schedule(layer)) {
        *lacks_room = !search(plan, index);
        if (*lacks_room) return false;
    } else {
        if (!read_schedule(layer, &layer->schedule)) return false;
        if (!to_program_fits(plan, layer, &layer->schedule))
            return op_error(layer->op, "has tiles that array and buffers do not hold");
        *lacks_room = !to_program_place_stages(plan, index, &layer->schedule, layer->stages);
        if (*lacks_room) return false;
    }
    to_program_predict(plan, layer, &layer->schedule, &layer->prediction);
    return true;
}

/* Whether all layers have schedules; else one more map lies outside, or *ok is false. */
static bool choose_all(Plan *plan, bool *ok)
{
    for (size_t i = 0; i < plan->layers.len; i++) {
        bool lacks_room = false;
        if (choose(plan, i, &lacks_room)) continue;
        size_t map = lacks_room ? largest(plan, i, i) : SIZE_MAX;
        *ok = map != SIZE_MAX;
        if (*ok) plan->maps.data[map].is_spilled = true;
        if (!*ok && lacks_room) refuse(plan, &plan->layers.data[i]);
        return false;
    }
    return true;
}

/* Places outside: of ports, and of maps that lie there. */
static void place_outside(Plan *plan)
{
    bool needs_zeros = false;
    for (size_t i = 0; i < plan->maps.len; i++) {
        Map *map = &plan->maps.data[i];
        if (!map->input && !map->output && !map->is_spilled) continue;
        const int64_t *dims = sa_map_dims(map->value);
        uint64_t rows = (uint64_t)dims[0], row = (uint64_t)dims[1] * map->words;
        needs_zeros |= map->is_spilled ? row * to_program_act_bits(&plan->size) % BEAT_BITS != 0
                                       : map->output && to_program_has_end(plan, map);
        map->address = plan->map_beats;
        plan->map_beats += map->is_spilled ? rows * map->pitch : map->beats;
    }
    plan->zero_address = plan->map_beats;
    while (needs_zeros && plan->zeros.len < SA_BEAT_BYTES) *vec_push(&plan->zeros) = 0;
}

static void read_spills(Plan *plan)
{
    for (size_t i = 0; i < plan->maps.len; i++)
        plan->maps.data[i].is_spilled = op_attr(value_def(plan->maps.data[i].value), SA_ATTR_SPILL);
}

bool to_program_place(Plan *plan)
{
    bool ok = true;
    read_spills(plan);
    while (ok && (!place_maps(plan) || !choose_all(plan, &ok))) continue;
    if (ok) place_outside(plan);
    return ok;
}
