/* The choice of tiles: of all sizes that cut a loop into another number of parts, and all orders of the
 * loops, the one with the least cycles of the model, then the fewest bytes moved, then tiles. What
 * the array would take by itself is a bound that leaves few to be looked at.
 * Tests: test/e2e/tiles_model.py */
#include <string.h>

#include "lowering/network_to_program/internal.h"

enum { ORDERS = 24 };

typedef struct Search {
    const Plan *plan;
    size_t index;
    const Layer *layer;
    bool has_best;
    Schedule best;
    Stage stages[ROLES];
    Prediction prediction;
    uint64_t tiles;
} Search;

/* Order number `index` of the four loops, in the order of their letters. */
static void order_of(uint32_t index, uint8_t order[DIMS])
{
    uint8_t rest[DIMS] = {DIM_M, DIM_Y, DIM_X, DIM_N};
    uint32_t count = ORDERS;
    for (uint32_t i = 0; i < DIMS; i++) {
        count /= DIMS - i;
        uint32_t at = index / count;
        index %= count;
        order[i] = rest[at];
        memmove(&rest[at], &rest[at + 1], DIMS - i - at - 1);
    }
}

/* Loops of one trip may stand anywhere; of such orders the first one is looked at. */
static bool is_first_of_its_like(const Search *s, const Schedule *schedule)
{
    int last = -1;
    bool has_trips = false;
    for (int i = 0; i < DIMS; i++) {
        int d = schedule->order[i];
        if (to_program_trips(s->layer, schedule, d) > 1)
            has_trips = true;
        else if (has_trips || d < last)
            return false;
        else
            last = d;
    }
    return true;
}

static uint64_t tile_count(const Search *s, const Schedule *schedule)
{
    uint64_t count = 1;
    for (int d = 0; d < DIMS; d++) count *= to_program_trips(s->layer, schedule, d);
    return count;
}

static bool is_better(const Search *s, const Prediction *p, uint64_t tiles)
{
    if (!s->has_best) return true;
    if (p->cycles != s->prediction.cycles) return p->cycles < s->prediction.cycles;
    if (p->bytes != s->prediction.bytes) return p->bytes < s->prediction.bytes;
    return tiles < s->tiles;
}

static void try_schedule(Search *s, const Schedule *schedule, const Stage stages[ROLES])
{
    Prediction prediction;
    to_program_predict_cycles(s->plan, s->layer, schedule,
                              s->has_best ? s->prediction.cycles : UINT64_MAX, &prediction);
    if (!is_better(s, &prediction, tile_count(s, schedule))) return;
    s->has_best = true;
    s->best = *schedule;
    s->prediction = prediction;
    s->tiles = tile_count(s, schedule);
    memcpy(s->stages, stages, sizeof s->stages);
}

/* Parts of maps are as large in any order. */
static void try_orders(Search *s, Schedule *schedule)
{
    Stage stages[ROLES];
    bool has_stages = false;
    uint64_t bound = to_program_least_cycles(s->plan, s->layer, schedule);
    if (s->has_best && bound > s->prediction.cycles) return;
    for (uint32_t i = 0; i < ORDERS; i++) {
        order_of(i, schedule->order);
        if (!is_first_of_its_like(s, schedule) || !to_program_fits(s->plan, s->layer, schedule))
            continue;
        if (!has_stages && !to_program_place_stages(s->plan, s->index, schedule, stages)) return;
        has_stages = true;
        try_schedule(s, schedule, stages);
    }
}

/* The next smaller size in whole steps that is looked at: any of few blocks, rows or columns; else the
 * least that cuts the loop into one more part. 0: there is none. */
static uint32_t next_size(int dim, uint32_t extent, uint32_t size, uint32_t step)
{
    enum { FEW_BLOCKS = 64, FEW_ROWS = 4 };
    bool is_channels = dim == DIM_M || dim == DIM_N;
    if (size <= step) return 0;
    uint32_t below = (uint32_t)to_program_up(size, step) * step - step;
    if (extent / step <= (is_channels ? FEW_BLOCKS : FEW_ROWS)) return below;
    uint32_t parts = (uint32_t)to_program_up(extent, size) + 1;
    uint32_t next = (uint32_t)to_program_up(to_program_up(extent, parts), step) * step;
    return next < size ? next : below;
}

/* Of equal schedules the first one counts: one without partial sums, of whole rows. */
static void try_sizes(Search *s, int left, Schedule *schedule)
{
    if (left == 0) {
        try_orders(s, schedule);
        return;
    }
    int dim = left - 1;
    uint32_t extent = to_program_most(s->layer, dim);
    uint32_t step = dim == DIM_M ? to_program_block_step(s->plan) : 1;
    for (uint32_t size = extent; size > 0; size = next_size(dim, extent, size, step)) {
        schedule->tile[dim] = size;
        try_sizes(s, left - 1, schedule);
    }
}

bool to_program_search(const Plan *plan, size_t layer, Schedule *best, Stage stages[ROLES])
{
    Search s = {.plan = plan, .index = layer, .layer = &plan->layers.data[layer]};
    Schedule schedule = {0};
    try_sizes(&s, DIMS, &schedule);
    if (!s.has_best) return false;
    *best = s.best;
    memcpy(stages, s.stages, sizeof s.stages);
    return true;
}
