/* Where everything of a network lies: maps in pages by first fit over their lifetimes, layers cut
 * into tiles of channels that the buffers hold, programs and parameters one behind the other. Maps
 * stay on the chip; what does not fit is refused. */
#include "ir/asm/print/print.h"
#include "lowering/network_to_program/internal.h"

enum { MAX_BEATS = 65535 };

static uint64_t up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

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
    map->beats = up(pixels * words * word_bits, BEAT_BITS);
    uint64_t held = up(map->beats * BEAT_BITS, word_bits);
    map->pages =
        (uint32_t)up(held > pixels * words ? held : pixels * words, sa_page_words(&plan->size));
    uint64_t row = (uint64_t)dims[1] * words;
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

static void add_layer(Plan *plan, const Op *op)
{
    const MapLanes in = to_program_lanes(plan, op_operand(op, 0));
    const MapLanes out = to_program_lanes(plan, op_result(op, 0));
    bool is_dense = op->def == SA(CONV) && !op_attr(op, "depthwise");
    uint64_t groups = (uint64_t)sa_int(op, SA_ATTR_GROUPS, 1);
    Layer *layer = vec_push(&plan->layers);
    *layer = (Layer){.op = op,
                     .input = find_map(plan, op_operand(op, 0)),
                     .operand = sa_operand(op) ? find_map(plan, sa_operand(op)) : SIZE_MAX,
                     .has_weights = op->def == SA(CONV)};
    layer->m_blocks = (uint32_t)(out.groups * out.lanes / plan->size.rows);
    layer->n_blocks = is_dense ? (uint32_t)(in.groups * in.lanes / plan->size.cols / groups) : 1;
    layer->parts = (uint32_t)(plan->clears_lanes && out.groups > groups ? out.groups : groups);
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
        if (layer->input == layer->operand)
            return op_error(op, "takes one map as both operands, of which each page has one port");
        note_use(plan, layer->input, plan->layers.len - 1);
        note_use(plan, layer->operand, plan->layers.len - 1);
    }
    if (!add_map(plan, op_result(op, 0))) return false;
    size_t index = plan->maps.len - 1;
    if (op->def == SA(INPUT))
        plan->maps.data[index].input = op;
    else
        plan->layers.data[plan->layers.len - 1].result = index;
    /* Nobody may read it, but the layer writes it. */
    if (plan->layers.len > 0)
        plan->maps.data[index].made = plan->maps.data[index].last_use = plan->layers.len - 1;
    return true;
}

/* Pages. A map is there from the layer that makes it (inputs, and outputs whose ends are cleared, from
 * the beginning) to the last one that reads it. */

static size_t born(const Plan *plan, size_t map)
{
    const Map *m = &plan->maps.data[map];
    return m->input || (m->output && to_program_has_end(plan, m)) ? 0 : m->made;
}

static bool meet(const Plan *plan, size_t a, size_t b)
{
    return born(plan, a) <= plan->maps.data[b].last_use &&
           born(plan, b) <= plan->maps.data[a].last_use;
}

/* The first page at which the map meets none of the ones in front of it. */
static uint32_t first_fit(const Plan *plan, size_t index)
{
    uint32_t page = 0;
    for (size_t i = 0; i < index; i++) {
        const Map *other = &plan->maps.data[i];
        bool overlaps =
            page < other->page + other->pages && other->page < page + plan->maps.data[index].pages;
        if (!overlaps || !meet(plan, i, index)) continue;
        page = other->page + other->pages;
        i = SIZE_MAX; /* from the first one again */
    }
    return page;
}

static bool place_maps(Plan *plan)
{
    for (size_t i = 0; i < plan->maps.len; i++) {
        Map *map = &plan->maps.data[i];
        map->page = first_fit(plan, i);
        if (map->page + map->pages > plan->size.act_pages)
            return op_error(value_def(map->value),
                            "needs page %u of the overlay's %u: maps that "
                            "are wanted later take those before",
                            map->page + map->pages - 1, plan->size.act_pages);
        if (!map->input && !map->output) continue;
        map->address = plan->map_beats;
        plan->map_beats += map->beats;
    }
    plan->zero_address = plan->map_beats;
    for (size_t i = 0; i < plan->maps.len; i++)
        if (plan->maps.data[i].output && to_program_has_end(plan, &plan->maps.data[i]))
            while (plan->zeros.len < SA_BEAT_BYTES) *vec_push(&plan->zeros) = 0;
    return true;
}

/* Tiles. */

typedef struct TileSize {
    uint32_t m, n;
} TileSize;

static uint64_t taps_of(const Op *op)
{
    int64_t kernel[2];
    sa_kernel(op, kernel);
    return (uint64_t)kernel[0] * (uint64_t)kernel[1];
}

/* Words of a memory that whole beats fill: loads end with a beat. */
static uint64_t usable(uint64_t words, uint64_t word_bits)
{
    return word_bits < BEAT_BITS ? words / (BEAT_BITS / word_bits) * (BEAT_BITS / word_bits)
                                 : words;
}

/* As many blocks of each as the memories of the array and a half of the weight buffer hold; all
 * input blocks at once where that is possible, since partial sums then need no room. Blocks of
 * outputs go in steps that fill words. */
static bool tile_size(const Plan *plan, const Layer *layer, TileSize *out)
{
    const SaOverlay *size = &plan->size;
    uint32_t step = size->rows < size->cols ? size->cols / size->rows : 1;
    uint64_t taps = taps_of(layer->op), pixels;
    uint64_t most = usable(size->w_words, to_program_weight_bits(size)) / size->cols;
    if (most > size->pe_words) most = size->pe_words;
    const int64_t *dims = sa_map_dims(op_result(layer->op, 0));
    pixels = (uint64_t)dims[0] * (uint64_t)dims[1];
    *out = (TileSize){layer->m_blocks / layer->parts, layer->n_blocks};
    if (!layer->has_weights) return true;
    if (taps * step > most)
        return op_error(layer->op,
                        "has %llu weights for a processing element in one block, which "
                        "holds %llu",
                        (unsigned long long)(taps * step), (unsigned long long)most);
    if (taps * step * layer->n_blocks <= most) {
        uint64_t m = most / (taps * layer->n_blocks) / step * step;
        if (m < out->m) out->m = (uint32_t)m;
        return true;
    }
    out->m = step;
    out->n = (uint32_t)(most / (taps * step));
    return step * pixels <= size->acc_words ||
           op_error(layer->op, "needs %llu partial sums, of which the overlay holds %u",
                    (unsigned long long)(step * pixels), size->acc_words);
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static bool add_tile(Plan *plan, Tile tile)
{
    const Layer *layer = &plan->layers.data[tile.layer];
    tile.address = plan->weights.len / SA_BEAT_BYTES;
    if (layer->has_weights) to_program_add_weights(plan, &tile);
    uint64_t beats = plan->weights.len / SA_BEAT_BYTES - tile.address;
    if (beats > MAX_BEATS)
        return op_error(layer->op,
                        "has %llu beats of weights in a tile, more than a "
                        "register counts",
                        (unsigned long long)beats);
    *vec_push(&plan->tiles) = tile;
    return true;
}

/* The tiles of a part of the output's blocks, which are of one group. */
static bool add_tiles_of(Plan *plan, size_t index, uint32_t part, TileSize size)
{
    const Layer *layer = &plan->layers.data[index];
    uint32_t groups = (uint32_t)sa_int(layer->op, SA_ATTR_GROUPS, 1);
    uint32_t blocks = layer->m_blocks / layer->parts, begin = part * blocks;
    uint32_t channels = (uint32_t)sa_map_dims(op_result(layer->op, 0))[2] / layer->parts;
    uint32_t used = plan->clears_lanes ? (uint32_t)up(channels, plan->size.rows) : blocks;
    for (uint32_t m = 0; m < used; m += size.m)
        for (uint32_t n = 0; n < layer->n_blocks; n += size.n) {
            bool is_last = m + size.m >= used && n + size.n >= layer->n_blocks;
            Tile tile = {.layer = index,
                         .m = begin + m,
                         .m_end = begin + least(m + size.m, used),
                         .m_blank = is_last ? begin + blocks : 0,
                         .n = n,
                         .n_end = least(n + size.n, layer->n_blocks),
                         .first_n = part / (layer->parts / groups) * layer->n_blocks,
                         .out_lanes = channels - m * plan->size.rows};
            if (!add_tile(plan, tile)) return false;
        }
    return true;
}

static bool add_tiles(Plan *plan, size_t index)
{
    const Layer *layer = &plan->layers.data[index];
    TileSize size;
    if (!tile_size(plan, layer, &size)) return false;
    for (uint32_t part = 0; part < layer->parts; part++)
        if (!add_tiles_of(plan, index, part, size)) return false;
    return true;
}

/* Programs and parameters. */

static uint32_t op_count(const Op *op, uint32_t region)
{
    uint32_t count = 0;
    FOR_EACH_OP(inner, region_entry(op_region(op, region))) count++;
    return count;
}

static bool add_programs(Layer *layer)
{
    if (layer->op->def == SA(POOL)) layer->tap_length = op_count(layer->op, 0);
    layer->pu_length = op_count(layer->op, layer->op->region_count - 1);
    return to_program_check_programs(layer);
}

static bool add_parameters(Plan *plan, Layer *layer)
{
    layer->parameters = plan->parameter_vectors;
    size_t count = op_attr(layer->op, "parameters")->u.array.count;
    plan->parameter_vectors += (uint32_t)count * layer->m_blocks;
    to_program_add_parameters(plan, layer);
    return plan->parameter_vectors <= usable(plan->size.param_words, plan->size.rows * 32) ||
           op_error(layer->op, "needs vector %u of parameters, of which the overlay holds %u",
                    plan->parameter_vectors - 1, plan->size.param_words);
}

bool to_program_plan(Plan *plan, const Op *network)
{
    *plan = (Plan){.network = network, .size = sa_overlay(op_attr(network, SA_ATTR_OVERLAY))};
    plan->lanes = plan->size.rows > plan->size.cols ? plan->size.rows : plan->size.cols;
    plan->clears_lanes = plan->size.weight_bits == 1;
    to_program_find_groups(plan);
    FOR_EACH_OP(op, region_entry(op_region(network, 0)))
        if (!add_op(plan, op)) return false;
    if (!place_maps(plan)) return false;
    for (size_t i = 0; i < plan->layers.len; i++)
        if (!add_tiles(plan, i) || !add_programs(&plan->layers.data[i]) ||
            !add_parameters(plan, &plan->layers.data[i]))
            return false;
    return true;
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
