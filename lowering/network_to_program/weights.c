/* Where the weights of tiles lie in the buffer. They go one behind the other through its two halves and
 * take the place of those that were there first, so that as many tiles as the buffer holds can be
 * loaded ahead, whatever their sizes: layers that are short of bandwidth are loaded while the ones
 * before compute.
 * Tests: lit/lowering/network_to_program/tiles.mir, test/e2e/engine_check.py */
#include "lowering/network_to_program/internal.h"

static WeightLoad load_of(const Plan *plan, const Tile *tile)
{
    const Layer *layer = &plan->layers.data[tile->layer];
    const SaOverlay *size = &plan->size;
    int64_t kernel[2];
    sa_kernel(layer->op, kernel);
    WeightLoad load = {.tile = tile};
    load.weights =
        (uint64_t)(kernel[0] * kernel[1]) * (tile->m_end - tile->m) * (tile->n_end - tile->n);
    uint64_t word_bytes = (uint64_t)size->rows * size->weight_bits / 8;
    uint64_t bytes = load.weights * size->cols * word_bytes;
    load.beats = bytes / SA_BEAT_BYTES + (bytes % SA_BEAT_BYTES != 0);
    load.words = (load.beats * SA_BEAT_BYTES + word_bytes - 1) / word_bytes;
    return load;
}

static bool overlaps(const WeightLoad *a, const WeightLoad *b)
{
    return a->half == b->half && a->base < b->base + b->words && b->base < a->base + a->words;
}

void to_program_place_weights(const Plan *plan, WeightLoads *out)
{
    uint64_t base = 0;
    uint32_t half = 0;
    for (size_t i = 0; i < plan->tiles.len; i++) {
        if (!plan->layers.data[plan->tiles.data[i].layer].has_weights) continue;
        WeightLoad load = load_of(plan, &plan->tiles.data[i]);
        if (base + load.words > plan->size.w_words) {
            half = 1 - half;
            base = 0;
        }
        load.half = half;
        load.base = base;
        base += load.words;
        load.after = out->len > 0 ? out->data[out->len - 1].after : 0;
        for (size_t k = out->len; k-- > load.after;) {
            if (!overlaps(&out->data[k], &load)) continue;
            load.after = k + 1;
            break;
        }
        *vec_push(out) = load;
    }
}
