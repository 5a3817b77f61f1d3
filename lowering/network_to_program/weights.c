/* Where the weights of tiles lie in the buffer. They go one behind the other through its two halves and
 * take the place of those that were there first, so that as many tiles as the buffer holds can be
 * loaded ahead, whatever their sizes: layers that are short of bandwidth are loaded while the ones
 * before compute. Only so many commands wait in front of the unit that loads, so tiles that follow each
 * other are loaded by one, as long as they are small beside the buffer, and beside the weights before
 * them, which their load is hidden behind, and those to come, whose loads would come later.
 * Tests: lit/lowering/network_to_program/tiles.mir, test/e2e/engine_check.py */
#include "lowering/network_to_program/internal.h"

enum { MOST_BEATS = UINT16_MAX };

static uint64_t count_of(const Layer *layer, const Tile *tile)
{
    return (uint64_t)layer->taps * (tile->end[DIM_M] - tile->begin[DIM_M]) *
           (tile->end[DIM_N] - tile->begin[DIM_N]);
}

uint64_t to_program_weight_beats(const Plan *plan, const Tile *tile)
{
    uint64_t words = count_of(&plan->layers.data[tile->layer], tile) * plan->size.cols;
    return to_program_up(words * to_program_weight_bits(&plan->size), BEAT_BITS);
}

static TileWeights weights_of(const Plan *plan, const Tile *tile)
{
    uint64_t count = count_of(&plan->layers.data[tile->layer], tile);
    uint64_t word_bits = to_program_weight_bits(&plan->size);
    uint64_t beats = to_program_weight_beats(plan, tile);
    return (TileWeights){
        .tile = tile, .count = count, .words = to_program_up(beats * BEAT_BITS, word_bits)};
}

bool to_program_is_refilled(const Plan *plan, const Tile *before, const Tile *tile)
{
    if (!plan->layers.data[tile->layer].has_weights) return false;
    return !before || before->layer != tile->layer || before->begin[DIM_M] != tile->begin[DIM_M] ||
           before->begin[DIM_N] != tile->begin[DIM_N];
}

/* Weights come back where a loop over rows or columns has one over channels inside of it. */
static bool comes_back(const Layer *layer, const Schedule *schedule)
{
    bool has_outer = false;
    for (int i = 0; i < DIMS; i++) {
        int d = schedule->order[i];
        if (to_program_trips(layer, schedule, d) == 1) continue;
        if (d == DIM_Y || d == DIM_X)
            has_outer = true;
        else if (has_outer)
            return true;
    }
    return false;
}

uint64_t to_program_all_weights(const Layer *layer)
{
    return (uint64_t)layer->taps * layer->parts * layer->m_used * layer->n_blocks;
}

bool to_program_keeps_weights(const Plan *plan, const Layer *layer, const Schedule *schedule)
{
    const SaOverlay *size = &plan->size;
    if (!layer->has_weights || !comes_back(layer, schedule)) return false;
    uint64_t tiles = (uint64_t)layer->parts * to_program_trips(layer, schedule, DIM_M) *
                     to_program_trips(layer, schedule, DIM_N);
    uint64_t word_bits = to_program_weight_bits(size);
    uint64_t count = to_program_all_weights(layer);
    /* Each tile ends with a beat. */
    uint64_t beats = to_program_up(count * size->cols * word_bits, BEAT_BITS) + tiles;
    return to_program_up(beats * BEAT_BITS, word_bits) <= size->w_words && beats <= MOST_BEATS;
}

static uint64_t beats_of(const Plan *plan, uint64_t words)
{
    return words * to_program_weight_bits(&plan->size) / BEAT_BITS;
}

static bool overlaps(const WeightLoad *a, const WeightLoad *b)
{
    return a->half == b->half && a->base < b->base + b->words && b->base < a->base + a->words;
}

/* Behind the load before, or in the other half. */
static void place(const Plan *plan, const WeightLoads *loads, WeightLoad *load)
{
    const WeightLoad *last = loads->len > 0 ? &loads->data[loads->len - 1] : NULL;
    load->half = last ? last->half : 0;
    load->base = last ? last->base + last->words : 0;
    if (load->base + load->words > plan->size.w_words) {
        load->half = 1 - load->half;
        load->base = 0;
    }
    load->after = last ? last->after : 0;
    for (size_t k = loads->len; k-- > load->after;) {
        if (!overlaps(&loads->data[k], load)) continue;
        load->after = k + 1;
        return;
    }
}

static bool stays(const Plan *plan, const TileWeights *tile)
{
    const Layer *layer = &plan->layers.data[tile->tile->layer];
    return to_program_keeps_weights(plan, layer, &layer->schedule);
}

/* How many tiles from `first` on one command loads: those whose weights follow each other outside.
 * `before` and `rest` are words in front of them and from them on. */
static size_t tiles_of_load(const Plan *plan, const TileWeightsList *tiles, size_t first,
                            uint64_t before, uint64_t rest)
{
    uint64_t most = plan->size.w_words / LOADS_OF_HALF, words = tiles->data[first].words;
    if (most > before) most = before;
    size_t i = first + 1;
    for (; i < tiles->len; i++) {
        const TileWeights *last = &tiles->data[i - 1];
        words += tiles->data[i].words;
        if (stays(plan, &tiles->data[i])) break;
        if (tiles->data[i].tile->address != last->tile->address + beats_of(plan, last->words))
            break;
        if (words > most || words > rest - words || beats_of(plan, words) > MOST_BEATS) break;
    }
    return i - first;
}

/* Tiles of a layer whose weights stay in the buffer until the last of them is over. */
static size_t tiles_that_stay(const Plan *plan, const TileWeightsList *tiles, size_t first)
{
    size_t layer = tiles->data[first].tile->layer, i = first;
    if (!stays(plan, &tiles->data[first])) return 0;
    while (i < tiles->len && tiles->data[i].tile->layer == layer) i++;
    return i - first;
}

static uint64_t end_of(const Plan *plan, const TileWeights *tile)
{
    return tile->tile->address * BEAT_BITS / to_program_weight_bits(&plan->size) + tile->words;
}

/* The words from the first tile's to the last of any's. */
static uint64_t words_of_load(const Plan *plan, const TileWeights *tiles, size_t count)
{
    uint64_t end = 0, begin = end_of(plan, &tiles[0]) - tiles[0].words;
    for (size_t i = 0; i < count; i++)
        if (end_of(plan, &tiles[i]) > end) end = end_of(plan, &tiles[i]);
    return end - begin;
}

static void add_load(const Plan *plan, WeightLoads *loads, TileWeights *tiles, size_t count)
{
    WeightLoad load = {.first = tiles[0].tile, .words = words_of_load(plan, tiles, count)};
    load.beats = beats_of(plan, load.words);
    place(plan, loads, &load);
    uint64_t begin = end_of(plan, &tiles[0]) - tiles[0].words;
    for (size_t i = 0; i < count; i++) {
        tiles[i].base = load.base + end_of(plan, &tiles[i]) - tiles[i].words - begin;
        tiles[i].load = loads->len;
        tiles[i].is_first = i == 0;
        tiles[i].is_last = i + 1 == count;
    }
    *vec_push(loads) = load;
}

void to_program_place_weights(const Plan *plan, WeightLoads *loads, TileWeightsList *tiles)
{
    uint64_t before = 0, rest = 0;
    for (size_t i = 0; i < plan->tiles.len; i++) {
        const Tile *tile = &plan->tiles.data[i];
        if (!to_program_is_refilled(plan, i > 0 ? tile - 1 : NULL, tile)) continue;
        *vec_push(tiles) = weights_of(plan, tile);
        rest += tiles->data[tiles->len - 1].words;
    }
    for (size_t i = 0, count; i < tiles->len; i += count) {
        count = tiles_that_stay(plan, tiles, i);
        if (count == 0) count = tiles_of_load(plan, tiles, i, before, rest);
        add_load(plan, loads, &tiles->data[i], count);
        for (size_t k = i; k < i + count; k++) {
            before += tiles->data[k].words;
            rest -= tiles->data[k].words;
        }
    }
}
