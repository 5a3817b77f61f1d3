/* Cycles of a whole network by the model: the units of model.c with the runs of all layers one behind the
 * other, and weights that are loaded ahead as far as the buffer has room. What one command loads, and
 * where in the buffer, is looked at as words that come in order and leave in order.
 * Tests: test/e2e/overlay_model_check.py */
#include "ir/asm/print/print.h"
#include "lowering/network_to_program/internal.h"

/* Words in the buffer, until the array has them. */
typedef struct Held {
    uint64_t words, until;
} Held;

typedef struct Total {
    const Plan *plan;
    uint64_t load_w, fill, array, maps; /* when units, and the bank of maps, are free */
    uint64_t halves[2];                 /* of the array: when the last run that needs it is over */
    uint32_t half;
    VEC(Held) held;
    size_t first;     /* of those that have not left */
    uint64_t words;   /* of these */
    uint64_t command; /* words of the last load */
    ProgramEstimate *out;
} Total;

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Cycle at which the buffer has room for so many words more. */
static uint64_t room_for(Total *t, uint64_t words)
{
    uint64_t at = 0;
    while (t->first < t->held.len && t->words + words > 2 * (uint64_t)t->plan->size.w_words) {
        at = greater(at, t->held.data[t->first].until);
        t->words -= t->held.data[t->first++].words;
    }
    return at;
}

/* Loads words to the buffer, as a command of their own or as the end of the one before. */
static void load_words(Total *t, uint64_t words)
{
    const Plan *plan = t->plan;
    uint64_t beats = to_program_up(words * to_program_weight_bits(&plan->size), BEAT_BITS);
    bool is_joined = t->command > 0 && t->command + words <= plan->size.w_words / LOADS_OF_HALF;
    uint64_t cycles = to_program_banks_cycles(plan, plan->size.weight_banks, 1, beats);
    t->command = is_joined ? t->command + words : words;
    t->load_w = greater(t->load_w, room_for(t, words)) +
                (is_joined ? cycles - plan->memory.latency : cycles);
    t->words += words;
    t->out->weight_bytes += beats * SA_BEAT_BYTES;
}

static uint64_t words_of(const Layer *layer, const Tile *tile, uint32_t cols)
{
    return (uint64_t)layer->taps * (tile->end[DIM_M] - tile->begin[DIM_M]) *
           (tile->end[DIM_N] - tile->begin[DIM_N]) * cols;
}

/* The weights of a tile go to the array, when they are in the buffer. */
static void fill_array(Total *t, const Layer *layer, const Tile *before, const Tile *tile)
{
    const SaOverlay *size = &t->plan->size;
    if (!to_program_is_refilled(t->plan, before, tile)) return;
    bool stays = to_program_keeps_weights(t->plan, layer, &layer->schedule);
    uint64_t words = words_of(layer, tile, size->cols);
    if (stays && !before) load_words(t, to_program_all_weights(layer) * size->cols);
    if (!stays) load_words(t, words);
    t->half = 1 - t->half;
    uint64_t begin = greater(greater(t->fill, t->load_w), t->halves[t->half]);
    t->fill = begin + to_program_up(words, size->fill_words);
    if (!stays || !before)
        *vec_push(&t->held) =
            (Held){stays ? to_program_all_weights(layer) * size->cols : words, t->fill};
    else
        t->held.data[t->held.len - 1].until = t->fill;
}

/* A layer with parts of maps outside begins when all before it is over, and takes what its own model
 * says, unless its weights take longer. */
static void add_layer(Total *t, size_t index)
{
    const Plan *plan = t->plan;
    const Layer *layer = &plan->layers.data[index];
    const bool is_staged = to_program_is_staged(layer);
    if (is_staged) t->array = greater(t->array, t->maps);
    uint64_t begin = t->array, loaded = t->out->weight_bytes;
    Tile tile, before;
    const Tile *last = NULL;
    to_program_first_tile(plan, index, &layer->schedule, &tile);
    do {
        uint64_t cycles = to_program_run_cycles(plan, layer, &tile);
        fill_array(t, layer, last, &tile);
        t->array = greater(t->array, layer->has_weights ? t->fill : 0) + cycles;
        t->halves[t->half] = t->array;
        t->out->array += cycles;
        t->out->runs++;
        before = tile;
        last = &before;
    } while (to_program_next_tile(plan, &layer->schedule, &tile));
    if (!is_staged) return;
    t->array = t->maps = greater(t->array, begin + layer->prediction.cycles);
    t->halves[t->half] = t->array;
    loaded = t->out->weight_bytes - loaded;
    if (layer->prediction.bytes > loaded) t->out->map_bytes += layer->prediction.bytes - loaded;
}

/* Beats of all inputs, or of all outputs, on the chip. */
static uint64_t port_beats(const Plan *plan, bool is_input)
{
    uint64_t beats = 0;
    for (size_t i = 0; i < plan->maps.len; i++) {
        const Map *map = &plan->maps.data[i];
        if (!map->is_spilled && (is_input ? map->input : map->output)) beats += map->beats;
    }
    return beats;
}

static void add_layers(Total *t)
{
    const Plan *plan = t->plan;
    uint64_t in = port_beats(plan, true), out = port_beats(plan, false);
    uint64_t parameters = to_program_up(plan->parameters.len, SA_BEAT_BYTES);
    if (in > 0) t->maps = to_program_transfer_cycles(plan, 1, in);
    if (parameters > 0) t->load_w = to_program_transfer_cycles(plan, 1, parameters);
    t->array =
        plan->memory.latency + (t->maps - (in > 0 ? plan->memory.latency : 0)) / plan->memory.parts;
    for (size_t i = 0; i < plan->layers.len; i++) {
        add_layer(t, i);
        /* The last part of the input comes before the last rows are computed. */
        if (i == 0) t->array = greater(t->array, t->maps + t->out->array / plan->memory.parts);
    }
    if (out > 0) t->array += to_program_transfer_cycles(plan, 1, out);
    t->out->cycles = t->array;
    t->out->map_bytes += (in + out) * SA_BEAT_BYTES;
}

static uint64_t products_of(const Layer *layer)
{
    const int64_t *out = sa_map_dims(op_result(layer->op, 0));
    const int64_t *in = sa_map_dims(op_operand(layer->op, 0));
    if (!layer->has_weights) return 0;
    uint64_t columns = layer->mode == SA_MODE_DEPTHWISE ? 1 : (uint64_t)in[2] / layer->groups;
    SaPool pool = {.map = {out[0], out[1]}};
    (void)sa_pool(layer->op, &pool);
    return (uint64_t)(pool.map[0] * pool.map[1] * out[2]) * layer->taps * columns;
}

bool to_program_estimate(const Op *network, const ProgramMemory *memory, ProgramEstimate *out)
{
    Plan plan;
    *out = (ProgramEstimate){0};
    bool ok = to_program_plan_layers(&plan, network, memory);
    if (ok) {
        Total total = {.plan = &plan, .out = out};
        add_layers(&total);
        vec_free(&total.held);
    }
    for (size_t i = 0; ok && i < plan.layers.len; i++) {
        const Layer *layer = &plan.layers.data[i];
        out->products += products_of(layer);
        if (layer->has_weights)
            out->weights += (uint64_t)dense_count(op_attr(layer->op, "weights"));
    }
    for (size_t i = 0; ok && i < plan.maps.len; i++) {
        const Map *map = &plan.maps.data[i];
        out->outside += map->is_spilled;
        if (!map->is_spilled && map->page + map->pages > out->pages)
            out->pages = map->page + map->pages;
    }
    if (out->outside > 0) out->pages = plan.size.act_pages;
    out->vectors = plan.parameter_vectors;
    to_program_plan_free(&plan);
    return ok;
}
