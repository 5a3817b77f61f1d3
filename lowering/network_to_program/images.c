/* Weights, parameters and maps that are always the same as external memory holds them. Channels that only fill up words have
 * weights and parameters of 0. */
#include "lowering/network_to_program/internal.h"

enum { PARAMETER_BYTES = 4 };

static void add_number(Bytes *bytes, int64_t value, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) *vec_push(bytes) = (uint8_t)((uint64_t)value >> 8 * i);
}

static void fill_beat(Bytes *bytes)
{
    while (bytes->len % SA_BEAT_BYTES) *vec_push(bytes) = 0;
}

/* A weight by its place in the array. */
typedef struct WeightPlace {
    uint64_t tap;     /* row * columns + column of the window */
    uint64_t out, in; /* lanes; `in` is that of the column */
} WeightPlace;

/* What a weight is found by. */
typedef struct Weights {
    const Layer *layer;
    const Attr *values;
    const SaOverlay *size;
    MapLanes in, out;
    Bytes *bytes;
    uint32_t bit; /* of the last byte that are there; 0: all */
} Weights;

static int64_t weight_at(const Weights *w, const WeightPlace *at)
{
    const int64_t *dims = w->values->type->u.shaped.dims;
    int64_t out = to_program_channel(&w->out, at->out), in = to_program_channel(&w->in, at->in);
    int64_t first = out / (dims[0] / w->layer->groups) * dims[3];
    if (w->layer->mode == SA_MODE_DEPTHWISE) first = out;
    if (out < 0 || in < first || in >= first + dims[3]) return 0;
    int64_t index = (out * dims[1] * dims[2] + (int64_t)at->tap) * dims[3] + in - first;
    return dense_i64(w->values, index);
}

/* Weights of less than a byte share bytes, the first one in the lowest bits. */
static void add_weight(Weights *w, int64_t weight)
{
    uint32_t bits = sa_stored_bits(w->size->weight_bits);
    uint64_t code = sa_weight_code(w->size, weight);
    if (bits >= 8) {
        add_number(w->bytes, weight, bits / 8);
        return;
    }
    if (w->bit == 0) *vec_push(w->bytes) = 0;
    w->bytes->data[w->bytes->len - 1] |= (uint8_t)(code << w->bit);
    w->bit = (w->bit + bits) % 8;
}

/* The columns of weight number (m, tap, n) of all processing elements. Of a depthwise layer the
 * columns are the channels of the word that has the block's own. */
static void add_block(Weights *w, uint32_t m, uint64_t tap, uint32_t n)
{
    const SaOverlay *size = w->size;
    bool is_depthwise = w->layer->mode == SA_MODE_DEPTHWISE;
    uint64_t first = is_depthwise ? (uint64_t)m * size->rows / size->cols * size->cols
                                  : (uint64_t)n * size->cols;
    for (uint32_t i = 0; i < size->cols; i++)
        for (uint32_t j = 0; j < size->rows; j++) {
            WeightPlace at = {tap, (uint64_t)m * size->rows + j, first + i};
            add_weight(w, weight_at(w, &at));
        }
}

void to_program_add_weights(Plan *plan, const Tile *tile)
{
    const Layer *layer = &plan->layers.data[tile->layer];
    Weights w = {.layer = layer,
                 .values = op_attr(layer->op, "weights"),
                 .size = &plan->size,
                 .in = to_program_lanes(plan, op_operand(layer->op, 0)),
                 .out = to_program_lanes(plan, op_result(layer->op, 0)),
                 .bytes = &plan->weights};
    for (uint32_t m = tile->begin[DIM_M]; m < tile->end[DIM_M]; m++)
        for (uint64_t tap = 0; tap < layer->taps; tap++)
            for (uint32_t n = tile->begin[DIM_N]; n < tile->end[DIM_N]; n++)
                add_block(&w, m, tap, tile->first_n + n);
    fill_beat(&plan->weights);
}

void to_program_add_parameters(Plan *plan, const Layer *layer)
{
    const Attr *list = op_attr(layer->op, "parameters");
    uint64_t lanes = (uint64_t)layer->m_blocks * plan->size.rows;
    const MapLanes map = to_program_lanes(plan, op_result(layer->op, 0));
    for (size_t k = 0; k < list->u.array.count; k++) {
        const Attr *values = list->u.array.items[k];
        for (uint64_t lane = 0; lane < lanes; lane++) {
            int64_t channel = to_program_channel(&map, lane);
            add_number(&plan->parameters, channel < 0 ? 0 : dense_i64(values, channel),
                       PARAMETER_BYTES);
        }
    }
}

/* Numbers of less than a byte share bytes, the first one in the lowest bits. */
static void put_number(Bytes *bytes, uint64_t bit, uint32_t bits, int64_t value)
{
    for (uint32_t i = 0; i < bits; i++, bit++)
        bytes->data[bit / 8] |= (uint8_t)(((uint64_t)value >> i & 1) << bit % 8);
}

void to_program_add_map_bytes(const Plan *plan, const Map *map, const Attr *value, Bytes *bytes)
{
    const int64_t *dims = sa_map_dims(map->value);
    uint32_t stored = sa_stored_bits(plan->size.act_bits);
    uint64_t lanes = map->words * plan->size.cols, row = (uint64_t)dims[1] * lanes * stored;
    if (map->is_spilled) row = map->pitch * BEAT_BITS;
    uint64_t size = to_program_up((uint64_t)dims[0] * row, BEAT_BITS) * SA_BEAT_BYTES;
    while (bytes->len < size) *vec_push(bytes) = 0;
    for (int64_t pixel = 0; pixel < dims[0] * dims[1]; pixel++)
        for (uint64_t lane = 0; lane < lanes; lane++) {
            int64_t channel = to_program_channel(&map->lanes, lane);
            uint64_t place = (uint64_t)(pixel % dims[1]) * lanes + lane;
            if (channel < 0) continue;
            put_number(bytes, (uint64_t)(pixel / dims[1]) * row + place * stored, stored,
                       dense_i64(value, pixel * dims[2] + channel));
        }
}
