/* Where the weights of tiles lie in the buffer. They go one behind the other through its two halves and
 * take the place of those that were there first, so that as many tiles as the buffer holds can be
 * loaded ahead, whatever their sizes: layers that are short of bandwidth are loaded while the ones
 * before compute. Only so many commands wait in front of the unit that loads, so tiles that follow each
 * other are loaded by one, as long as they are small beside the buffer, and beside the weights before
 * them, which their load is hidden behind, and those to come, whose loads would come later.
 * Tests: lit/lowering/network_to_program/tiles.mir, test/e2e/engine_check.py */
#include "lowering/network_to_program/internal.h"

enum { LOADS_OF_HALF = 4, MOST_BEATS = UINT16_MAX };

static TileWeights weights_of(const Plan *plan, const Tile *tile)
{
    const Layer *layer = &plan->layers.data[tile->layer];
    const SaOverlay *size = &plan->size;
    int64_t kernel[2];
    sa_kernel(layer->op, kernel);
    uint64_t count =
        (uint64_t)(kernel[0] * kernel[1]) * (tile->m_end - tile->m) * (tile->n_end - tile->n);
    uint64_t word_bits = to_program_weight_bits(size);
    uint64_t bits = count * size->cols * word_bits;
    uint64_t beats = bits / BEAT_BITS + (bits % BEAT_BITS != 0);
    return (TileWeights){.count = count, .words = (beats * BEAT_BITS + word_bits - 1) / word_bits};
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

/* How many tiles from `first` on one command loads. `before` and `rest` are words in front of them and
 * from them on. */
static size_t tiles_of_load(const Plan *plan, const TileWeightsList *tiles, size_t first,
                            uint64_t before, uint64_t rest)
{
    uint64_t most = plan->size.w_words / LOADS_OF_HALF, words = tiles->data[first].words;
    if (most > before) most = before;
    size_t i = first + 1;
    for (; i < tiles->len; i++) {
        words += tiles->data[i].words;
        if (words > most || words > rest - words || beats_of(plan, words) > MOST_BEATS) break;
    }
    return i - first;
}

static void add_load(const Plan *plan, WeightLoads *loads, TileWeights *tiles, size_t count,
                     const Tile *first)
{
    WeightLoad load = {.first = first};
    for (size_t i = 0; i < count; i++) load.words += tiles[i].words;
    load.beats = beats_of(plan, load.words);
    place(plan, loads, &load);
    uint64_t base = load.base;
    for (size_t i = 0; i < count; i++) {
        tiles[i].base = base;
        tiles[i].load = loads->len;
        tiles[i].is_first = i == 0;
        tiles[i].is_last = i + 1 == count;
        base += tiles[i].words;
    }
    *vec_push(loads) = load;
}

void to_program_place_weights(const Plan *plan, WeightLoads *loads, TileWeightsList *tiles)
{
    VEC(const Tile *) from = {0};
    uint64_t before = 0, rest = 0;
    for (size_t i = 0; i < plan->tiles.len; i++) {
        const Tile *tile = &plan->tiles.data[i];
        if (!plan->layers.data[tile->layer].has_weights) continue;
        *vec_push(tiles) = weights_of(plan, tile);
        *vec_push(&from) = tile;
        rest += tiles->data[tiles->len - 1].words;
    }
    for (size_t i = 0, count; i < tiles->len; i += count) {
        count = tiles_of_load(plan, tiles, i, before, rest);
        add_load(plan, loads, &tiles->data[i], count, from.data[i]);
        before += loads->data[loads->len - 1].words;
        rest -= loads->data[loads->len - 1].words;
    }
    vec_free(&from);
}
