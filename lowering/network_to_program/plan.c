/* A network's maps and layers, and their tiles, programs and parameters one behind the other. What is
 * where, and how large tiles are, residency.c and search.c say. */
#include <stdlib.h>

#include "ir/asm/print/print.h"
#include "lowering/network_to_program/internal.h"

enum { MAX_BEATS = 65535 };

static size_t find_map(const Plan *plan, const Value *value)
{
    uintptr_t number = (uintptr_t)ptrmap_get(&plan->map_numbers, value);
    return number ? number - 1 : SIZE_MAX;
}

/* Elements fill whole beats, since that is what loads and stores move. */
static bool add_map(Plan *plan, const Value *value)
{
    const int64_t *dims = sa_map_dims(value);
    const MapLanes lanes = to_program_lanes(plan, value);
    uint64_t pixels = (uint64_t)dims[0] * (uint64_t)dims[1];
    uint64_t word_bits = to_program_act_bits(&plan->size);
    uint64_t words = lanes.groups * lanes.lanes / plan->size.cols;
    Map *map = vec_push(&plan->maps);
    *map = (Map){.value = value, .lanes = lanes, .words = (uint32_t)words};
    ptrmap_put(&plan->map_numbers, value, (void *)(uintptr_t)plan->maps.len);
    map->beats = to_program_up(pixels * words * word_bits, BEAT_BITS);
    uint64_t held = to_program_up(map->beats * BEAT_BITS, word_bits);
    map->pages = (uint32_t)to_program_up(held > pixels * words ? held : pixels * words,
                                         sa_page_words(&plan->size));
    uint64_t row = (uint64_t)dims[1] * words;
    map->pitch = to_program_up(row * word_bits, BEAT_BITS);
    return row <= UINT16_MAX || op_error(value_def(value),
                                         "gives rows of %llu words, more than a "
                                         "register counts",
                                         (unsigned long long)row);
}

bool to_program_has_end(const Plan *plan, const Map *map)
{
    const int64_t *dims = sa_map_dims(map->value);
    uint64_t words = (uint64_t)dims[0] * (uint64_t)dims[1] * map->words;
    return words * to_program_act_bits(&plan->size) % BEAT_BITS != 0;
}

/* Entry `index` of a layer's array attribute, `absent` where it has none. */
static int64_t item(const Op *op, const char *name, size_t index, int64_t absent)
{
    return op_attr(op, name) ? sa_item(op, name, index) : absent;
}

/* Takes images as one whose rows are all of theirs, if no window sees rows of two and all are as far
 * apart. A single window may be as far from the next one as an image is high. */
static void join_images(Layer *layer)
{
    SaPool *pool = &layer->pool;
    const int64_t windows = to_program_image_rows(layer), sums = to_program_image_sums(layer);
    const int64_t stride = sums == 1 ? layer->in_rows : layer->strides[0];
    const Value *operand = sa_operand(layer->op);
    bool is_pixel = operand && operand->type != op_result(layer->op, 0)->type;
    bool has_seam = layer->pads[0] > 0 || sums * stride != layer->in_rows ||
                    (layer->kernel[0] - 1) * layer->dilations[0] >= stride;
    if (layer->has_pool)
        has_seam |= pool->pads[0] > 0 || windows * pool->strides[0] != sums ||
                    pool->kernel[0] != pool->strides[0];
    if (has_seam || is_pixel || stride > INT16_MAX) return;
    layer->strides[0] = stride;
    layer->in_rows *= layer->images;
    pool->map[0] *= layer->images;
    layer->images = 1;
}

static void add_layer(Plan *plan, const Op *op)
{
    const MapLanes in = to_program_lanes(plan, op_operand(op, 0));
    const MapLanes out = to_program_lanes(plan, op_result(op, 0));
    bool is_dense = op->def == SA(CONV) && !op_attr(op, "depthwise");
    uint64_t groups = (uint64_t)sa_int(op, SA_ATTR_GROUPS, 1);
    Layer *layer = vec_push(&plan->layers);
    *layer = (Layer){.op = op,
                     .map = {find_map(plan, op_operand(op, 0)),
                             sa_operand(op) ? find_map(plan, sa_operand(op)) : SIZE_MAX},
                     .has_weights = op->def == SA(CONV),
                     .groups = (uint32_t)groups,
                     .mode = (uint32_t)to_program_mode(op),
                     .taps = (uint32_t)to_program_taps(op)};
    sa_kernel(op, layer->kernel);
    for (size_t i = 0; i < 2; i++) {
        layer->strides[i] = item(op, "strides", i, 1);
        layer->dilations[i] = item(op, "dilations", i, 1);
        layer->pads[i] = item(op, "pads", i, 0);
    }
    sa_repeats(op, layer->repeats);
    layer->spreads = sa_spreads(op);
    layer->has_pool = sa_pool(op, &layer->pool);
    layer->m_blocks = (uint32_t)(out.groups * out.lanes / plan->size.rows);
    layer->n_blocks = is_dense ? (uint32_t)(in.groups * in.lanes / plan->size.cols / groups) : 1;
    layer->parts = (uint32_t)(plan->clears_lanes && out.groups > groups ? out.groups : groups);
    layer->part_channels = (uint32_t)sa_map_dims(op_result(op, 0))[2] / layer->parts;
    layer->m_used = layer->m_blocks / layer->parts;
    if (plan->clears_lanes)
        layer->m_used = (uint32_t)to_program_up(layer->part_channels, plan->size.rows);
    const int64_t *dims = sa_map_dims(op_result(op, 0));
    layer->extents[DIM_M] = layer->m_used;
    layer->extents[DIM_Y] = (uint32_t)(dims[0] / layer->repeats[0]);
    layer->extents[DIM_X] = (uint32_t)(dims[1] / layer->repeats[1]);
    layer->extents[DIM_N] = layer->n_blocks;
    layer->images = (uint32_t)sa_images(op);
    layer->in_rows = (uint32_t)(sa_map_dims(op_operand(op, 0))[0] / sa_images(op));
    if (layer->images > 1) join_images(layer);
}

/* Runs write every so many rows of the result. */
static bool check_repeats(const Plan *plan, const Layer *layer)
{
    const Map *map = &plan->maps.data[layer->map[ROLE_RESULT]];
    uint64_t row = (uint64_t)sa_map_dims(map->value)[1] * map->words;
    row *= (uint64_t)layer->repeats[0];
    return row <= UINT16_MAX || op_error(layer->op,
                                         "repeats rows every %llu words, more than a register "
                                         "counts",
                                         (unsigned long long)row);
}

static void note_use(Plan *plan, size_t map, size_t layer)
{
    if (map != SIZE_MAX && plan->maps.data[map].last_use != SIZE_MAX)
        plan->maps.data[map].last_use = layer;
}

static bool add_op(Plan *plan, const Op *op)
{
    if (op->def == SA(OUTPUT)) {
        Map *map = &plan->maps.data[find_map(plan, op_operand(op, 0))];
        if (map->output || map->input) return op_error(op, "gives a map that another port has");
        map->output = op;
        map->last_use = SIZE_MAX;
        return true;
    }
    if (sa_is_layer(op)) {
        add_layer(plan, op);
        Layer *layer = &plan->layers.data[plan->layers.len - 1];
        if (layer->map[ROLE_INPUT] == layer->map[ROLE_OPERAND])
            return op_error(op, "takes one map as both operands, of which each page has one port");
        note_use(plan, layer->map[ROLE_INPUT], plan->layers.len - 1);
        note_use(plan, layer->map[ROLE_OPERAND], plan->layers.len - 1);
    }
    if (!add_map(plan, op_result(op, 0))) return false;
    size_t index = plan->maps.len - 1;
    if (op->def == SA(INPUT))
        plan->maps.data[index].input = op;
    else
        plan->layers.data[plan->layers.len - 1].map[ROLE_RESULT] = index;
    /* Nobody may read it, but the layer writes it. */
    if (plan->layers.len > 0)
        plan->maps.data[index].made = plan->maps.data[index].last_use = plan->layers.len - 1;
    return !sa_is_layer(op) || check_repeats(plan, &plan->layers.data[plan->layers.len - 1]);
}

/* Pages. A map is there from the layer that makes it (inputs, and outputs whose ends are cleared, from
 * the beginning) to the last one that reads it. */

size_t to_program_born(const Plan *plan, size_t map)
{
    const Map *m = &plan->maps.data[map];
    return m->input || (m->output && to_program_has_end(plan, m)) ? 0 : m->made;
}

uint64_t to_program_taps(const Op *op)
{
    int64_t kernel[2];
    sa_kernel(op, kernel);
    return (uint64_t)kernel[0] * (uint64_t)kernel[1];
}

uint64_t to_program_mode(const Op *op)
{
    if (op->def == SA(POOL)) return SA_MODE_POOL;
    if (op->def == SA(ELTWISE)) return SA_MODE_ELTWISE;
    return op_attr(op, "depthwise") ? SA_MODE_DEPTHWISE : SA_MODE_DENSE;
}

/* Loads end with a beat. */
uint64_t to_program_usable(uint64_t words, uint64_t word_bits)
{
    return word_bits < BEAT_BITS ? words / (BEAT_BITS / word_bits) * (BEAT_BITS / word_bits)
                                 : words;
}

/* Tiles. */

static uint32_t m_trip(const Layer *layer, const Tile *tile)
{
    uint32_t first = tile->part * (layer->m_blocks / layer->parts);
    return (tile->begin[DIM_M] - first) / layer->schedule.tile[DIM_M];
}

/* Tiles of a layer with the same weights have one number, from 0 to below the count. */
static size_t weights_count(const Layer *layer)
{
    return (size_t)layer->parts * to_program_trips(layer, &layer->schedule, DIM_M) *
           to_program_trips(layer, &layer->schedule, DIM_N);
}

static size_t weights_number(const Layer *layer, const Tile *tile)
{
    size_t m =
        (size_t)tile->part * to_program_trips(layer, &layer->schedule, DIM_M) + m_trip(layer, tile);
    return m * to_program_trips(layer, &layer->schedule, DIM_N) +
           tile->begin[DIM_N] / layer->schedule.tile[DIM_N];
}

/* The weights of a tile, which may be there already from another round; *place is one more than their
 * address, or 0. */
static bool place_weights(Plan *plan, Tile *tile, uint64_t *place)
{
    const Layer *layer = &plan->layers.data[tile->layer];
    tile->address = *place > 0 ? *place - 1 : plan->weight_beats;
    if (!layer->has_weights || *place > 0) return true;
    *place = tile->address + 1;
    uint64_t beats = to_program_weight_beats(plan, tile);
    plan->weight_beats += beats;
    if (!plan->is_estimate) to_program_add_weights(plan, tile);
    return beats <= MAX_BEATS || op_error(layer->op,
                                          "has %llu beats of weights in a tile, more than a "
                                          "register counts",
                                          (unsigned long long)beats);
}

static bool add_tiles(Plan *plan, size_t index)
{
    const Layer *layer = &plan->layers.data[index];
    uint64_t *places = xcalloc(weights_count(layer), sizeof *places);
    Tile tile;
    bool ok;
    to_program_first_tile(plan, index, &layer->schedule, &tile);
    do {
        ok = place_weights(plan, &tile, &places[weights_number(layer, &tile)]);
        *vec_push(&plan->tiles) = tile;
    } while (ok && to_program_next_tile(plan, &layer->schedule, &tile));
    free(places);
    return ok;
}

/* Programs and parameters. */

static uint32_t op_count(const Op *op, uint32_t region)
{
    uint32_t count = 0;
    FOR_EACH_OP(inner, region_entry(op_region(op, region))) count++;
    return count;
}

/* Searches among thresholds take several. */
uint32_t to_program_steps(const Op *op, uint32_t region)
{
    uint32_t count = 0;
    FOR_EACH_OP(inner, region_entry(op_region(op, region)))
        count += inner->def == SA(PU_THRESHOLD) ? (uint32_t)sa_int(inner, "planes", 1) : 1;
    return count;
}

static bool add_programs(Layer *layer)
{
    uint32_t last = layer->op->region_count - 1;
    if (layer->op->def == SA(POOL)) {
        layer->tap_length = op_count(layer->op, 0);
        layer->tap_steps = to_program_steps(layer->op, 0);
    }
    layer->pu_length = op_count(layer->op, last);
    layer->pu_steps = to_program_steps(layer->op, last);
    return to_program_check_programs(layer);
}

static bool add_parameters(Plan *plan, Layer *layer)
{
    layer->parameters = plan->parameter_vectors;
    size_t count = op_attr(layer->op, "parameters")->u.array.count;
    plan->parameter_vectors += (uint32_t)count * layer->m_blocks;
    to_program_add_parameters(plan, layer);
    return plan->parameter_vectors <=
               to_program_usable(plan->size.param_words, plan->size.rows * 32) ||
           op_error(layer->op, "needs vector %u of parameters, of which the overlay holds %u",
                    plan->parameter_vectors - 1, plan->size.param_words);
}

bool to_program_plan_layers(Plan *plan, const Op *network, const Memory *memory)
{
    *plan = (Plan){.network = network,
                   .size = sa_overlay(op_attr(network, SA_ATTR_OVERLAY)),
                   .memory = *memory};
    plan->lanes = plan->size.rows > plan->size.cols ? plan->size.rows : plan->size.cols;
    plan->clears_lanes = plan->size.weight_bits == 1;
    to_program_find_groups(plan);
    FOR_EACH_OP(op, region_entry(op_region(network, 0)))
        if (!add_op(plan, op)) return false;
    for (size_t i = 0; i < plan->layers.len; i++)
        if (!add_programs(&plan->layers.data[i]) || !add_parameters(plan, &plan->layers.data[i]))
            return false;
    return to_program_place(plan);
}

/* Of a bank that instructions count. */
static bool check_space(const Plan *plan, uint64_t beats, const char *what)
{
    enum { GIB_BEATS = 1 << 24 };
    return beats <= SA_MOST_BEATS ||
           op_error(plan->network, "has %llu GiB of %s, and addresses reach %d",
                    (unsigned long long)to_program_up(beats, GIB_BEATS), what,
                    SA_MOST_BEATS / GIB_BEATS);
}

static bool add_all_tiles(Plan *plan)
{
    if (!check_space(plan, plan->map_beats + 1, "maps in external memory")) return false;
    for (size_t i = 0; i < plan->layers.len; i++)
        if (!add_tiles(plan, i)) return false;
    return check_space(plan, plan->weight_beats, "weights");
}

bool to_program_plan(Plan *plan, const Op *network, const Memory *memory)
{
    return to_program_plan_layers(plan, network, memory) && add_all_tiles(plan);
}

bool to_program_plan_estimate(Plan *plan, const Op *network, const Memory *memory)
{
    if (!to_program_plan_layers(plan, network, memory)) return false;
    plan->is_estimate = true;
    return add_all_tiles(plan);
}

void to_program_plan_free(Plan *plan)
{
    vec_free(&plan->maps);
    ptrmap_free(&plan->map_numbers);
    ptrmap_free(&plan->groups);
    vec_free(&plan->layers);
    vec_free(&plan->tiles);
    vec_free(&plan->weights);
    vec_free(&plan->parameters);
    vec_free(&plan->zeros);
}
