/* Weights and parameters as external memory holds them. Channels that only fill up words have
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
    uint64_t out, in; /* channels; `in` is that of the column */
} WeightPlace;

static int64_t weight_at(const Op *op, const WeightPlace *at)
{
    const Attr *weights = op_attr(op, "weights");
    const int64_t *dims = weights->type->u.shaped.dims;
    uint64_t in = at->in;
    if (op_attr(op, "depthwise")) {
        if (at->in != at->out) return 0;
        in = 0;
    }
    if (at->out >= (uint64_t)dims[0] || in >= (uint64_t)dims[3]) return 0;
    uint64_t index = (at->out * (uint64_t)(dims[1] * dims[2]) + at->tap) * (uint64_t)dims[3] + in;
    return dense_i64(weights, (int64_t)index);
}

/* The columns of weight number (m, tap, n) of all processing elements. Of a depthwise layer the
 * columns are the channels of the word that has the block's own. */
static void add_block(Plan *plan, const Op *op, uint32_t m, uint64_t tap, uint32_t n)
{
    const SaOverlay *size = &plan->size;
    uint64_t first = op_attr(op, "depthwise") ? (uint64_t)m * size->rows / size->cols * size->cols
                                              : (uint64_t)n * size->cols;
    for (uint32_t i = 0; i < size->cols; i++)
        for (uint32_t j = 0; j < size->rows; j++) {
            WeightPlace at = {tap, (uint64_t)m * size->rows + j, first + i};
            add_number(&plan->weights, weight_at(op, &at), size->weight_bits / 8);
        }
}

void to_program_add_weights(Plan *plan, const Tile *tile)
{
    const Op *op = plan->layers.data[tile->layer].op;
    int64_t kernel[2];
    sa_kernel(op, kernel);
    for (uint32_t m = tile->m; m < tile->m_end; m++)
        for (uint64_t tap = 0; tap < (uint64_t)(kernel[0] * kernel[1]); tap++)
            for (uint32_t n = tile->n; n < tile->n_end; n++) add_block(plan, op, m, tap, n);
    fill_beat(&plan->weights);
}

void to_program_add_parameters(Plan *plan, const Layer *layer)
{
    const Attr *list = op_attr(layer->op, "parameters");
    uint64_t lanes = (uint64_t)layer->m_blocks * plan->size.rows;
    for (size_t k = 0; k < list->u.array.count; k++) {
        const Attr *values = list->u.array.items[k];
        for (uint64_t c = 0; c < lanes; c++)
            add_number(&plan->parameters,
                       c < (uint64_t)dense_count(values) ? dense_i64(values, (int64_t)c) : 0,
                       PARAMETER_BYTES);
    }
}
