/* The loops over the tiles of a layer (F2N2, section IV: four loops in any order outside, everything
 * else inside a run), and outside of them one over the parts of the output. */
#include "lowering/network_to_program/internal.h"

uint32_t to_program_trips(const Layer *layer, const Schedule *schedule, int dim)
{
    uint32_t trips = (uint32_t)to_program_up(to_program_most(layer, dim), schedule->tile[dim]);
    return dim == DIM_Y ? layer->images * trips : trips;
}

uint32_t to_program_end(const Layer *layer, const Schedule *schedule, int dim, uint32_t begin)
{
    uint32_t most = to_program_most(layer, dim);
    return (uint32_t)i64_min(begin + schedule->tile[dim], (begin / most + 1) * most);
}

void to_program_sums_range(const Layer *layer, int axis, const uint32_t range[2], uint32_t out[2])
{
    const SaPool *pool = &layer->pool;
    out[0] = range[0];
    out[1] = range[1];
    if (!layer->has_pool) return;
    const int64_t image = axis == 0 ? range[0] / to_program_image_rows(layer) : 0;
    const int64_t first = image * to_program_image_rows(layer), sums = image * pool->map[0];
    int64_t from = (range[0] - first) * pool->strides[axis] - pool->pads[axis];
    int64_t to = (range[1] - first - 1) * pool->strides[axis] - pool->pads[axis];
    out[0] = (uint32_t)(sums + i64_max(from, 0));
    out[1] = (uint32_t)(sums + i64_min(to + pool->kernel[axis], pool->map[axis]));
}

uint32_t to_program_most_sums(const Layer *layer, int axis, uint32_t size)
{
    const SaPool *pool = &layer->pool;
    if (!layer->has_pool) return size;
    int64_t most = (size - INT64_C(1)) * pool->strides[axis] + pool->kernel[axis];
    return (uint32_t)i64_min(most, pool->map[axis]);
}

static uint64_t tile_sums(const Layer *layer, const Schedule *schedule)
{
    return (uint64_t)schedule->tile[DIM_M] * to_program_most_sums(layer, 0, schedule->tile[DIM_Y]) *
           to_program_most_sums(layer, 1, schedule->tile[DIM_X]);
}

/* Sums of all tiles that the loop over input channels has inside of it. */
static uint64_t partial_sums(const Layer *layer, const Schedule *schedule)
{
    uint64_t sums = tile_sums(layer, schedule);
    if (to_program_trips(layer, schedule, DIM_N) == 1) return 0;
    for (int i = DIMS - 1; schedule->order[i] != DIM_N; i--)
        sums *= to_program_trips(layer, schedule, schedule->order[i]);
    return sums;
}

/* Which of the loop's tiles begins there. */
static uint32_t trip_of(const Layer *layer, const Schedule *schedule, int dim, uint32_t begin)
{
    uint32_t most = to_program_most(layer, dim);
    return begin / most * (uint32_t)to_program_up(most, schedule->tile[dim]) +
           begin % most / schedule->tile[dim];
}

/* Tiles inside of the loop over input channels are numbered; each has room for a whole one's sums. */
static uint64_t first_sum(const Layer *layer, const Schedule *schedule, const uint32_t begin[DIMS])
{
    uint64_t number = 0, scale = 1;
    if (to_program_trips(layer, schedule, DIM_N) == 1) return 0;
    for (int i = DIMS - 1; schedule->order[i] != DIM_N; i--) {
        int d = schedule->order[i];
        number += scale * trip_of(layer, schedule, d, begin[d]);
        scale *= to_program_trips(layer, schedule, d);
    }
    return number * tile_sums(layer, schedule);
}

void to_program_settle_tile(const Plan *plan, const Schedule *schedule, const uint32_t begin[DIMS],
                            Tile *tile)
{
    const Layer *layer = &plan->layers.data[tile->layer];
    uint32_t blocks = layer->m_blocks / layer->parts, first = tile->part * blocks;
    for (int d = 0; d < DIMS; d++) {
        tile->begin[d] = begin[d];
        tile->end[d] = to_program_end(layer, schedule, d, begin[d]);
    }
    bool is_last = tile->end[DIM_M] == layer->extents[DIM_M];
    tile->begin[DIM_M] += first;
    tile->end[DIM_M] += first;
    tile->m_blank = is_last ? first + blocks : tile->end[DIM_M];
    tile->first_n = tile->part / (layer->parts / layer->groups) * layer->n_blocks;
    tile->out_lanes = layer->part_channels - begin[DIM_M] * plan->size.rows;
    tile->acc_base = (uint32_t)first_sum(layer, schedule, begin);
}

void to_program_first_tile(const Plan *plan, size_t layer, const Schedule *schedule, Tile *tile)
{
    const uint32_t begin[DIMS] = {0};
    *tile = (Tile){.layer = layer};
    to_program_settle_tile(plan, schedule, begin, tile);
}

bool to_program_next_tile(const Plan *plan, const Schedule *schedule, Tile *tile)
{
    const Layer *layer = &plan->layers.data[tile->layer];
    uint32_t begin[DIMS];
    for (int d = 0; d < DIMS; d++) begin[d] = tile->begin[d];
    begin[DIM_M] -= tile->part * (layer->m_blocks / layer->parts);
    for (int i = DIMS - 1; i >= 0; i--) {
        int d = schedule->order[i];
        begin[d] = to_program_end(layer, schedule, d, begin[d]);
        if (begin[d] < layer->extents[d]) {
            to_program_settle_tile(plan, schedule, begin, tile);
            return true;
        }
        begin[d] = 0;
    }
    if (++tile->part == layer->parts) return false;
    to_program_settle_tile(plan, schedule, begin, tile);
    return true;
}

uint32_t to_program_block_step(const Plan *plan)
{
    return plan->size.rows < plan->size.cols ? plan->size.cols / plan->size.rows : 1;
}

uint32_t to_program_blank_begin(const Plan *plan, const Tile *tile)
{
    uint32_t step = to_program_block_step(plan);
    return tile->end[DIM_M] / step * step;
}

bool to_program_has_blank(const Plan *plan, const Tile *tile)
{
    bool is_last = tile->end[DIM_N] == plan->layers.data[tile->layer].n_blocks;
    return is_last && tile->m_blank > tile->end[DIM_M];
}

uint64_t to_program_most_weights(const Plan *plan)
{
    const SaOverlay *size = &plan->size;
    uint64_t most = to_program_usable(size->w_words, to_program_weight_bits(size)) / size->cols;
    if (most > MAX_COUNT) most = MAX_COUNT; /* what a fill counts */
    return most < size->pe_words ? most : size->pe_words;
}

bool to_program_fits(const Plan *plan, const Layer *layer, const Schedule *schedule)
{
    uint32_t step = to_program_block_step(plan);
    bool splits_blocks = to_program_trips(layer, schedule, DIM_M) > 1;
    if (splits_blocks && schedule->tile[DIM_M] % step != 0) return false;
    if (partial_sums(layer, schedule) > plan->size.acc_words) return false;
    if (!layer->has_weights) return true;
    return (uint64_t)layer->taps * schedule->tile[DIM_M] * schedule->tile[DIM_N] <=
           to_program_most_weights(plan);
}
