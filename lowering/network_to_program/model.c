/* Cycles of a layer for its tiles and their order: F2N2's model (section IV, Eq. 2 to 4) with sums over
 * the tiles as they are, rests included, and with units that overlap. T = first load + the sum of what
 * is slowest of each tile + last store, as the recurrence of five units that run their commands in
 * order, of which each waits for what it reads and for the room that it writes to.
 * Tests: test/e2e/tiles_model.py */
#include "lowering/network_to_program/internal.h"

enum { CHAIN = 16, MULTIPLIER_STAGES = 4, PARAMETER_BYTES = 4 }; /* docs/overlay.md, Cycles */

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t stages_of(const Plan *plan, uint32_t steps)
{
    return to_program_up(steps, plan->size.pu_stages);
}

/* From the first row to the last, through the multipliers, cascades and their tree, and the program. */
static uint64_t depth_of(const Plan *plan, uint32_t steps)
{
    uint64_t tree = 0, cols = plan->size.cols;
    for (uint64_t chains = to_program_up(cols, CHAIN); chains > 1;
         chains = to_program_up(chains, 2))
        tree++;
    return plan->size.rows - 1 + MULTIPLIER_STAGES + (cols < CHAIN ? cols : CHAIN) + tree +
           stages_of(plan, steps);
}

/* Cycles that the windows of a pool, which a result is in, leave between results. */
static uint64_t pool_cycles(const Layer *layer, uint64_t words)
{
    const SaPool *pool = &layer->pool;
    if (!layer->has_pool) return 0;
    uint64_t windows = words;
    for (size_t i = 0; i < 2; i++)
        windows *= to_program_up((uint64_t)pool->kernel[i], (uint64_t)pool->strides[i]);
    return greater(windows, SA_POOL_LATENCY);
}

/* Cycles of a vector of results, `n` input blocks of it. */
uint64_t to_program_vector_cycles(const Plan *plan, const Layer *layer, uint64_t n, bool is_last)
{
    uint64_t words = to_program_up(plan->size.rows, plan->size.cols);
    uint64_t behind = greater(is_last ? stages_of(plan, layer->pu_steps) : 0, words);
    uint64_t taps = layer->taps;
    if (is_last) behind = greater(behind, pool_cycles(layer, words));
    switch (layer->mode) {
    case SA_MODE_DENSE: return greater(taps * n, behind);
    case SA_MODE_DEPTHWISE: return greater(taps, behind);
    case SA_MODE_POOL: return taps * greater(stages_of(plan, layer->tap_steps), words) + behind;
    default: return behind;
    }
}

static uint64_t extent(const Tile *tile, int dim)
{
    return tile->end[dim] - tile->begin[dim];
}

/* Of the run that stores zeros to blocks behind the tile's: one instruction for each vector. */
uint64_t to_program_blank_cycles(const Plan *plan, const Tile *tile)
{
    const Layer *layer = &plan->layers.data[tile->layer];
    uint64_t words = to_program_up(plan->size.rows, plan->size.cols);
    if (!to_program_has_blank(plan, tile)) return 0;
    uint64_t blocks = tile->m_blank - to_program_blank_begin(plan, tile);
    return blocks * extent(tile, DIM_Y) * extent(tile, DIM_X) * to_program_runs(layer) * words +
           depth_of(plan, 1);
}

uint64_t to_program_run_cycles(const Plan *plan, const Layer *layer, const Tile *tile)
{
    bool is_last = tile->end[DIM_N] == layer->n_blocks;
    const uint32_t y[] = {tile->begin[DIM_Y], tile->end[DIM_Y]};
    const uint32_t x[] = {tile->begin[DIM_X], tile->end[DIM_X]};
    uint32_t rows[2], cols[2];
    to_program_sums_range(layer, 0, y, rows);
    to_program_sums_range(layer, 1, x, cols);
    return extent(tile, DIM_M) * (rows[1] - rows[0]) * (cols[1] - cols[0]) *
               to_program_vector_cycles(plan, layer, extent(tile, DIM_N), is_last) +
           depth_of(plan, layer->pu_steps);
}

/* Results of the array that the layer is made of; tiles of windows that overlap take some twice. */
static uint64_t all_sums(const Layer *layer)
{
    const uint32_t *extents = layer->extents;
    return (uint64_t)extents[DIM_M] * layer->images *
           to_program_most_sums(layer, 0, to_program_image_rows(layer)) *
           to_program_most_sums(layer, 1, extents[DIM_X]);
}

static bool is_outside(const Plan *plan, const Layer *layer, int role)
{
    return layer->map[role] != SIZE_MAX && plan->maps.data[layer->map[role]].is_spilled;
}

/* Semaphores of parts that lie outside take a cycle of the array each. */
enum { WAITS_OF_PART = 2 };

static uint64_t wait_cycles(const Plan *plan, const Layer *layer, bool is_last)
{
    uint64_t waits = is_last && is_outside(plan, layer, ROLE_RESULT) ? WAITS_OF_PART : 0;
    for (int role = 0; role < ROLE_RESULT; role++)
        if (is_outside(plan, layer, role)) waits += WAITS_OF_PART;
    return waits;
}

/* What the array takes by itself, without looking at tiles one by one. */
uint64_t to_program_least_cycles(const Plan *plan, const Layer *layer, const Schedule *schedule)
{
    const uint64_t extent = layer->extents[DIM_N], step = schedule->tile[DIM_N];
    const uint64_t trips = to_program_up(extent, step);
    uint64_t tiles = layer->parts, runs = to_program_runs(layer);
    for (int d = 0; d < DIM_N; d++) tiles *= to_program_trips(layer, schedule, d);
    uint64_t last = to_program_vector_cycles(plan, layer, extent - (trips - 1) * step, true);
    uint64_t vector = last;
    if (trips > 1) vector += (trips - 1) * to_program_vector_cycles(plan, layer, step, false);
    uint64_t waits = (trips - 1) * wait_cycles(plan, layer, false) + wait_cycles(plan, layer, true);
    return layer->parts * runs * all_sums(layer) * vector +
           tiles * (trips * runs * depth_of(plan, layer->pu_steps) + waits);
}

uint64_t to_program_banks_cycles(const Plan *plan, uint64_t banks, uint64_t runs, uint64_t beats)
{
    const Memory *memory = &plan->memory;
    uint64_t most = SA_BEAT_BYTES * 1000, rate = memory->rate < most ? memory->rate : most;
    return memory->latency + (runs > 0 ? runs - 1 : 0) * memory->restart +
           to_program_up(runs * beats * most, rate * banks);
}

uint64_t to_program_transfer_cycles(const Plan *plan, uint64_t runs, uint64_t beats)
{
    return to_program_banks_cycles(plan, 1, runs, beats);
}

/* When the units are free. */
typedef struct Clock {
    const Plan *plan;
    const Layer *layer;
    bool keeps_weights, has_begun; /* has_begun: what the first tile needs is on the chip */
    uint64_t load_a, load_w, fill, array, store, maps_bank;
    uint64_t halves[2];       /* of the array: when the last run that needs it is over */
    uint64_t rooms[ROLES][2]; /* the same of parts of maps */
    uint64_t ready[ROLES];    /* when what the array reads is there */
    MapArea at[ROLES];
    bool is_there[ROLES];
    uint32_t turn[ROLES], half;
    uint64_t bytes, most; /* most: nobody wants to know more */
    uint64_t left;        /* that the array takes at least for the tiles to come */
} Clock;

static uint64_t move_maps(Clock *c, int role, const MapArea *region)
{
    Moves m;
    const Map *map = &c->plan->maps.data[c->layer->map[role]];
    if (!to_program_moves(c->plan, map, region, &m)) return 0;
    c->bytes += m.commands * m.runs * m.beats * SA_BEAT_BYTES;
    return m.commands * to_program_transfer_cycles(c->plan, m.runs, m.beats);
}

/* Brings the part of a map that the tile reads, if it is another one. */
static void load_part(Clock *c, const Tile *tile, int role)
{
    if (!is_outside(c->plan, c->layer, role)) return;
    MapArea region = to_program_region(c->plan, c->layer, tile, role);
    if (to_program_is_empty(&region)) return;
    if (c->is_there[role] && to_program_same_region(&region, &c->at[role])) return;
    bool is_first = !c->is_there[role] && c->has_begun;
    c->turn[role] = c->is_there[role] ? 1 - c->turn[role] : 0;
    c->at[role] = region;
    c->is_there[role] = true;
    uint64_t cycles = move_maps(c, role, &region);
    uint64_t begin = greater(greater(c->load_a, c->maps_bank), c->rooms[role][c->turn[role]]);
    if (is_first) return;
    c->ready[role] = c->load_a = c->maps_bank = begin + cycles;
}

static void fill_array(Clock *c, const Tile *before, const Tile *tile)
{
    const Plan *plan = c->plan;
    const SaOverlay *size = &plan->size;
    if (!to_program_is_refilled(plan, before, tile)) return;
    uint64_t taps = c->layer->taps, word = to_program_weight_bits(size);
    uint64_t count = taps * extent(tile, DIM_M) * extent(tile, DIM_N) * size->cols;
    uint64_t beats = to_program_up(count * word, BEAT_BITS);
    bool is_there = c->keeps_weights && before;
    if (c->keeps_weights && !before) {
        uint64_t all = to_program_all_weights(c->layer) * size->cols;
        beats = to_program_up(all * word, BEAT_BITS);
    }
    c->half = 1 - c->half;
    if (!is_there) c->bytes += beats * SA_BEAT_BYTES;
    if (!before && c->has_begun) return;
    if (!is_there) c->load_w += to_program_banks_cycles(plan, size->weight_banks, 1, beats);
    uint64_t begin = greater(greater(c->fill, is_there ? 0 : c->load_w), c->halves[c->half]);
    c->fill = begin + to_program_up(count, size->fill_words);
}

static void run_tile(Clock *c, const Tile *tile)
{
    uint64_t begin = greater(c->array, c->fill);
    bool is_last = tile->end[DIM_N] == c->layer->n_blocks;
    bool gives = is_last && is_outside(c->plan, c->layer, ROLE_RESULT);
    for (int role = 0; role < ROLE_RESULT; role++)
        if (is_outside(c->plan, c->layer, role)) begin = greater(begin, c->ready[role]);
    if (gives) {
        c->turn[ROLE_RESULT] = 1 - c->turn[ROLE_RESULT];
        begin = greater(begin, c->rooms[ROLE_RESULT][c->turn[ROLE_RESULT]]);
    }
    uint64_t cycles = wait_cycles(c->plan, c->layer, is_last) +
                      to_program_runs(c->layer) * to_program_run_cycles(c->plan, c->layer, tile) +
                      to_program_blank_cycles(c->plan, tile);
    c->array = begin + cycles;
    c->left -= c->left < cycles ? c->left : cycles;
    c->halves[c->half] = c->array;
    for (int role = 0; role < ROLE_RESULT; role++) c->rooms[role][c->turn[role]] = c->array;
    if (!gives) return;
    MapArea region = to_program_region(c->plan, c->layer, tile, ROLE_RESULT);
    uint64_t moved = move_maps(c, ROLE_RESULT, &region);
    c->store = c->maps_bank = greater(greater(c->array, c->store), c->maps_bank) + moved;
    c->rooms[ROLE_RESULT][c->turn[ROLE_RESULT]] = c->store;
}

/* What one tile in front of another is loaded ahead of. */
static uint64_t time_of(Clock *c, const Schedule *schedule)
{
    Tile tile, next, before;
    bool has_next, has_before = false;
    size_t index = (size_t)(c->layer - c->plan->layers.data);
    c->keeps_weights = to_program_keeps_weights(c->plan, c->layer, schedule);
    c->left = to_program_least_cycles(c->plan, c->layer, schedule);
    to_program_first_tile(c->plan, index, schedule, &tile);
    for (int role = 0; role < ROLE_RESULT; role++) load_part(c, &tile, role);
    do {
        uint64_t ready[ROLES] = {c->ready[0], c->ready[1]};
        uint32_t turn[ROLES] = {c->turn[0], c->turn[1]};
        fill_array(c, has_before ? &before : NULL, &tile);
        next = tile;
        has_next = to_program_next_tile(c->plan, schedule, &next);
        for (int role = 0; has_next && role < ROLE_RESULT; role++) {
            load_part(c, &next, role);
            uint64_t later = c->ready[role];
            uint32_t other = c->turn[role];
            c->ready[role] = ready[role];
            c->turn[role] = turn[role];
            ready[role] = later;
            turn[role] = other;
        }
        run_tile(c, &tile);
        for (int role = 0; has_next && role < ROLE_RESULT; role++) {
            c->ready[role] = ready[role];
            c->turn[role] = turn[role];
        }
        before = tile;
        has_before = true;
        tile = next;
    } while (has_next && c->array + c->left <= c->most);
    return greater(c->array + (has_next ? c->left : 0), c->store);
}

/* A map on the chip is loaded before, and stored behind, where the layer stands alone. */
static uint64_t whole_map(const Plan *plan, const Layer *layer, int role)
{
    if (layer->map[role] == SIZE_MAX || plan->maps.data[layer->map[role]].is_spilled) return 0;
    return to_program_transfer_cycles(plan, 1, plan->maps.data[layer->map[role]].beats);
}

void to_program_predict_cycles(const Plan *plan, const Layer *layer, const Schedule *schedule,
                               uint64_t most, Prediction *out)
{
    Clock overlapped = {.plan = plan, .layer = layer, .has_begun = true, .most = most};
    out->cycles = time_of(&overlapped, schedule);
    out->bytes = overlapped.bytes;
}

/* Cycles of a program of one layer that are those of its instructions: in front of its parameters;
 * from these to its first part of a map, by way of semaphores; behind its last run or store. */
enum { BEFORE_PARAMETERS = 8, BEFORE_PARTS = 3, BEHIND = 4 };

/* Those in front of the input: of loads and fills, and programs. */
static uint64_t instructions_ahead(const Layer *layer)
{
    enum { OF_LOADS = 16, OF_WEIGHTS = 8 };
    uint64_t count = OF_LOADS + layer->tap_length + layer->pu_length;
    return layer->has_weights ? count + OF_WEIGHTS : count;
}

void to_program_predict(const Plan *plan, const Layer *layer, const Schedule *schedule,
                        Prediction *out)
{
    Clock alone = {.plan = plan, .layer = layer, .most = UINT64_MAX};
    const bool is_staged = wait_cycles(plan, layer, true) > 0;
    to_program_predict_cycles(plan, layer, schedule, UINT64_MAX, out);
    uint64_t vectors = (uint64_t)op_attr(layer->op, "parameters")->u.array.count * layer->m_blocks;
    uint64_t bytes = vectors * plan->size.rows * PARAMETER_BYTES;
    if (bytes > 0)
        alone.load_w = BEFORE_PARAMETERS +
                       to_program_transfer_cycles(plan, 1, to_program_up(bytes, SA_BEAT_BYTES));
    uint64_t lead = is_staged ? alone.load_w + BEFORE_PARTS : instructions_ahead(layer);
    alone.load_a = alone.maps_bank = lead;
    alone.array = lead + whole_map(plan, layer, ROLE_INPUT) + whole_map(plan, layer, ROLE_OPERAND);
    out->alone = time_of(&alone, schedule) + whole_map(plan, layer, ROLE_RESULT) + BEHIND;
}
