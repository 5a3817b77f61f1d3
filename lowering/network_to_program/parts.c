/* Parts of maps that lie outside, while a layer runs: what the next tile reads is loaded while this one
 * runs, and what one before gave is stored. A unit waits for the signals that make its room free, which
 * stand in front of it in the program. */
#include <assert.h>
#include <string.h>

#include "lowering/network_to_program/internal.h"

bool to_program_is_staged(const Layer *layer)
{
    for (int role = 0; role < ROLES; role++)
        if (layer->stages[role].count > 0) return true;
    return false;
}

static const Layer *layer_of(const Writer *w, const Tile *tile)
{
    return &w->plan->layers.data[tile->layer];
}

/* Words in the last beats of rows that nothing computes are stored, too. */
static bool has_ends(const Writer *w, const Layer *layer)
{
    const Map *map = &w->plan->maps.data[layer->map[ROLE_RESULT]];
    uint64_t row = (uint64_t)sa_map_dims(map->value)[1] * map->words;
    return layer->stages[ROLE_RESULT].count > 0 &&
           row * to_program_act_bits(&w->plan->size) % BEAT_BITS != 0;
}

static void clear_rooms(Writer *w, const Layer *layer)
{
    const Stage *stage = &layer->stages[ROLE_RESULT];
    uint64_t beats =
        sa_page_words(&w->plan->size) * to_program_act_bits(&w->plan->size) / BEAT_BITS;
    to_program_set(w, SA_REG_BEATS, 1);
    to_program_set(w, SA_REG_ROWS, beats);
    to_program_set(w, SA_REG_ROW_STRIDE, 0);
    to_program_set(w, SA_REG_ACT_BASE, 0);
    to_program_address(w, SA_BUFFER_ACTIVATIONS, w->plan->zero_address);
    for (uint32_t i = 0; i < stage->count * stage->pages; i++) {
        to_program_set(w, SA_REG_ACT_PAGE, stage->page[i / stage->pages] + i % stage->pages);
        to_program_command(w, SA(LOAD_A), FIELDS(.bank = there(SA_BANK_MAPS)));
    }
    to_program_wait(w, PART_LOADED, to_program_signal(w, PART_LOADED));
}

void to_program_begin_layer(Writer *w, const Tile *first)
{
    const Layer *layer = layer_of(w, first);
    bool is_staged = to_program_is_staged(layer);
    memset(w->parts, 0, sizeof w->parts);
    memset(w->next, 0, sizeof w->next);
    memset(w->free, 0, sizeof w->free);
    if (is_staged || w->had_stages) {
        to_program_wait(w, PART_STORED, w->channels[PART_STORED].signals);
        to_program_wait(w, PART_READ, to_program_signal(w, PART_READ));
    }
    if (has_ends(w, layer)) clear_rooms(w, layer);
    if (is_staged) to_program_load_parts(w, first);
    w->had_stages = is_staged;
}

/* Loads or stores a part, with a signal by the last command. */
static uint64_t move_part(Writer *w, const Layer *layer, int role, const Part *part, int channel)
{
    const Moves *m = &part->moves;
    bool is_store = role == ROLE_RESULT;
    uint64_t count = 0, page_words = sa_page_words(&w->plan->size);
    to_program_set(w, SA_REG_ROWS, m->runs);
    to_program_set(w, SA_REG_BEATS, m->beats);
    to_program_set(w, SA_REG_ROW_STRIDE, m->stride);
    for (uint64_t i = 0; i < m->commands; i++) {
        uint64_t word = i * m->row;
        CommandFields fields = {.bank = there(SA_BANK_MAPS)};
        to_program_set(w, is_store ? SA_REG_OUT_PAGE : SA_REG_ACT_PAGE,
                       layer->stages[role].page[part->turn] + word / page_words);
        to_program_set(w, is_store ? SA_REG_OUT_BASE : SA_REG_ACT_BASE, word % page_words);
        to_program_address(w, is_store ? SA_BUFFER_OUTPUT : SA_BUFFER_ACTIVATIONS,
                           m->first + i * m->step);
        if (i + 1 == m->commands) count = to_program_count_signal(w, channel, &fields.signal);
        to_program_command(w, is_store ? SA(STORE) : SA(LOAD_A), &fields);
    }
    return count;
}

static void load_part(Writer *w, const Tile *tile, int role)
{
    const Layer *layer = layer_of(w, tile);
    Part *part = &w->next[role];
    if (layer->stages[role].count == 0) return;
    MapArea region = to_program_region(w->plan, layer, tile, role);
    if (to_program_is_empty(&region)) return;
    if (part->is_there && to_program_same_region(&region, &part->region)) return;
    part->turn = part->is_there ? 1 - part->turn : 0;
    part->is_there = true;
    part->region = region;
    bool is_movable =
        to_program_moves(w->plan, &w->plan->maps.data[layer->map[role]], &region, &part->moves);
    assert(is_movable); /* to_program_place_stages */
    (void)is_movable;
    to_program_wait(w, PART_READ, w->free[role][part->turn]);
    part->loaded = move_part(w, layer, role, part, PART_LOADED);
}

void to_program_load_parts(Writer *w, const Tile *tile)
{
    for (int role = 0; role < ROLE_RESULT; role++) load_part(w, tile, role);
}

void to_program_take_parts(Writer *w)
{
    for (int role = 0; role < ROLE_RESULT; role++) w->parts[role] = w->next[role];
}

static bool gives(const Layer *layer, const Tile *tile)
{
    return layer->stages[ROLE_RESULT].count > 0 && tile->end[DIM_N] == layer->n_blocks;
}

void to_program_await_parts(Writer *w, const Tile *tile)
{
    const Layer *layer = layer_of(w, tile);
    Part *out = &w->parts[ROLE_RESULT];
    for (int role = 0; role < ROLE_RESULT; role++)
        to_program_wait(w, PART_LOADED, w->parts[role].loaded);
    if (!gives(layer, tile)) return;
    out->turn = out->is_there && layer->stages[ROLE_RESULT].count > 1 ? 1 - out->turn : 0;
    out->is_there = true;
    out->region = to_program_region(w->plan, layer, tile, ROLE_RESULT);
    bool is_movable = to_program_moves(w->plan, &w->plan->maps.data[layer->map[ROLE_RESULT]],
                                       &out->region, &out->moves);
    assert(is_movable);
    (void)is_movable;
    to_program_wait(w, PART_STORED, w->free[ROLE_RESULT][out->turn]);
}

/* The room of a part that the next tile does not read is free. */
static bool is_left(const Writer *w, const Tile *next, int role)
{
    return next && w->parts[role].is_there && w->next[role].turn != w->parts[role].turn;
}

void to_program_leave_parts(Writer *w, const Tile *tile, const Tile *next)
{
    const Layer *layer = layer_of(w, tile);
    bool is_free[ROLES] = {is_left(w, next, ROLE_INPUT), is_left(w, next, ROLE_OPERAND)};
    if (is_free[ROLE_INPUT] || is_free[ROLE_OPERAND]) {
        uint64_t count = to_program_signal(w, PART_READ);
        for (int role = 0; role < ROLE_RESULT; role++)
            if (is_free[role]) w->free[role][w->parts[role].turn] = count;
    }
    if (!gives(layer, tile)) return;
    to_program_wait(w, PART_GIVEN, to_program_signal(w, PART_GIVEN));
    const Part *out = &w->parts[ROLE_RESULT];
    w->free[ROLE_RESULT][out->turn] = move_part(w, layer, ROLE_RESULT, out, PART_STORED);
}

void to_program_settle_parts(Writer *w)
{
    for (int i = 0; i < CHANNELS; i++) to_program_wait(w, i, w->channels[i].signals);
}
