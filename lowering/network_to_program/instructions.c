/* The instructions of a plan. First inputs, parameters and programs are loaded; then each tile's
 * weights go to a half of the buffer and of the array while the tile before runs; at last outputs
 * are stored. */
#include "ir/asm/print/print.h"
#include "lowering/network_to_program/internal.h"

/* Nothing computes the words behind a map in its last beat. */
static void clear_end(Writer *w, const Map *map)
{
    uint64_t bits = to_program_act_bits(&w->plan->size), last = (map->beats - 1) * BEAT_BITS / bits;
    if (!to_program_has_end(w->plan, map)) return;
    to_program_set(w, SA_REG_ROWS, 1);
    to_program_set(w, SA_REG_BEATS, 1);
    to_program_set(w, SA_REG_ACT_PAGE, map->page + last / sa_page_words(&w->plan->size));
    to_program_set(w, SA_REG_ACT_BASE, last % sa_page_words(&w->plan->size));
    to_program_address(w, SA_BUFFER_ACTIVATIONS, w->plan->zero_address);
    to_program_command(w, SA(LOAD_A), FIELDS(.bank = there(SA_BANK_MAPS)));
}

/* The layer that can begin before its input is there: the first one, of one tile. */
static const Layer *early_layer(const Plan *plan)
{
    const Layer *layer = plan->layers.len > 0 ? &plan->layers.data[0] : NULL;
    bool is_single = layer && (plan->tiles.len == 1 || plan->tiles.data[1].layer != 0);
    bool can_begin = is_single && !to_program_is_staged(layer);
    return can_begin && plan->maps.data[layer->map[ROLE_INPUT]].input ? layer : NULL;
}

/* Rows of its input that are loaded at a time, in whole beats; all of them: it does not begin early. */
static uint64_t rows_at_a_time(const Plan *plan, const Layer *layer)
{
    const Map *map = &plan->maps.data[layer->map[ROLE_INPUT]];
    const int64_t *dims = sa_map_dims(map->value);
    uint64_t row_bits = (uint64_t)dims[1] * map->words * to_program_act_bits(&plan->size), step = 1;
    while (step < BEAT_BITS && step * row_bits % BEAT_BITS != 0) step *= 2;
    return (uint64_t)ceil_div(ceil_div(dims[0], plan->memory.parts), (int64_t)step) * step;
}

/* Loads the rows from y on that come at a time, and signals. */
static bool load_rows(Writer *w, const Layer *layer, uint64_t y)
{
    const Map *map = &w->plan->maps.data[layer->map[ROLE_INPUT]];
    const int64_t *dims = sa_map_dims(map->value);
    uint64_t row_words = (uint64_t)dims[1] * map->words;
    uint64_t row_bits = row_words * to_program_act_bits(&w->plan->size);
    bool is_last = y + w->rows >= (uint64_t)dims[0];
    uint64_t begin = y * row_bits / BEAT_BITS;
    uint64_t end = is_last ? map->beats : (y + w->rows) * row_bits / BEAT_BITS;
    if (!to_program_set_beats(w, end - begin, map->input)) return false;
    to_program_set(w, SA_REG_ACT_PAGE, map->page + y * row_words / sa_page_words(&w->plan->size));
    to_program_set(w, SA_REG_ACT_BASE, y * row_words % sa_page_words(&w->plan->size));
    to_program_address(w, SA_BUFFER_ACTIVATIONS, map->address + begin);
    to_program_command(w, SA(LOAD_A), FIELDS(.bank = there(SA_BANK_MAPS), .signal = LOADED));
    return true;
}

/* What the first layer reads comes later if it can begin with a part of it. */
static bool load_maps(Writer *w)
{
    const Layer *early = early_layer(w->plan);
    w->rows = early ? rows_at_a_time(w->plan, early) : 0;
    for (size_t i = 0; i < w->plan->maps.len; i++) {
        const Map *map = &w->plan->maps.data[i];
        if (map->is_spilled) continue;
        if (map->output) clear_end(w, map);
        if (!map->input || (early && i == early->map[ROLE_INPUT])) continue;
        if (!to_program_set_beats(w, map->beats, map->input)) return false;
        to_program_set(w, SA_REG_ACT_PAGE, map->page);
        to_program_set(w, SA_REG_ACT_BASE, 0);
        to_program_address(w, SA_BUFFER_ACTIVATIONS, map->address);
        to_program_command(w, SA(LOAD_A), FIELDS(.bank = there(SA_BANK_MAPS)));
    }
    to_program_command(w, SA(NOP), FIELDS(.unit = there(UNIT_LOAD_A), .signal = LOADED));
    to_program_command(w, SA(NOP), FIELDS(.unit = there(UNIT_COMPUTE), .wait = LOADED));
    return true;
}

static bool load_parameters(Writer *w)
{
    const Plan *plan = w->plan;
    if (plan->parameters.len == 0) return true;
    uint64_t beats =
        plan->parameters.len / SA_BEAT_BYTES + (plan->parameters.len % SA_BEAT_BYTES != 0);
    if (!to_program_set_beats(w, beats, plan->network)) return false;
    to_program_set(w, SA_REG_P_BASE, 0);
    to_program_address(w, SA_BUFFER_PARAMETERS, 0);
    to_program_command(w, SA(LOAD_P),
                       FIELDS(.bank = there(SA_BANK_PARAMETERS), .signal = PARAMETERS));
    to_program_command(w, SA(NOP), FIELDS(.unit = there(UNIT_COMPUTE), .wait = PARAMETERS));
    return true;
}

/* The instructions of a region; parameter k begins k * m_blocks vectors behind the first. */
static void copy_program(Writer *w, const Layer *layer, uint32_t region)
{
    if (w->timing) {
        bool is_tap = layer->tap_length > 0 && region == 0;
        to_program_time_words(w->timing, is_tap ? layer->tap_length : layer->pu_length);
        return;
    }
    FOR_EACH_OP(inner, region_entry(op_region(layer->op, region))) {
        Op *copy = builder_insert(w->b, op_clone(inner, NULL));
        if (sa_reads_parameter(inner))
            op_set_attr(copy, "address",
                        attr_i64(w->b->ctx, to_program_parameter_place(layer, inner)));
    }
}

/* Puts the layer's programs into the memory if they are not there. Commands that do nothing are
 * queued until none is on its way that needs what is replaced. */
static void enter_programs(Writer *w, const Layer *layer)
{
    bool is_new;
    uint64_t free_from;
    w->program = to_program_find_program(&w->memory, layer, &is_new, &free_from);
    if (!is_new) return;
    while (w->array_commands < free_from)
        to_program_command(w, SA(NOP), FIELDS(.unit = there(UNIT_COMPUTE)));
    to_program_set(w, SA_REG_PU_PC, w->program->at);
    for (uint32_t r = 0; r < layer->op->region_count; r++) copy_program(w, layer, r);
    w->is_set[SA_REG_PU_PC] = false; /* it moved on */
}

/* Loads number `index` when as many tiles have left the buffer as it needs; each that someone waits for
 * signals. */
static bool load_weights(Writer *w, size_t index)
{
    const WeightLoad *load = &w->loads.data[index];
    size_t waits = load->after - (index > 0 ? w->loads.data[index - 1].after : 0);
    for (; waits > 1; waits--)
        to_program_command(w, SA(NOP), FIELDS(.unit = there(UNIT_LOAD_W), .wait = BUFFER_FREE));
    if (!to_program_set_beats(w, load->beats, w->plan->layers.data[load->first->layer].op))
        return false;
    to_program_set(w, SA_REG_WB_BASE, load->base);
    to_program_address(w, SA_BUFFER_WEIGHTS, load->first->address);
    to_program_command(w, SA(LOAD_W),
                       FIELDS(.half = there(load->half), .bank = there(SA_BANK_WEIGHTS),
                              .signal = IN_BUFFER, .wait = waits > 0 ? BUFFER_FREE : NO_SEMAPHORE));
    return true;
}

/* The queue of the unit that loads holds so many, beside the one that runs. Loads that wait for tiles
 * whose fills are not queued yet would stop the fetch unit for ever. */
enum { LOADS_AHEAD = 4 };

/* Loads that can be queued in front of the first fill from load number `index`. */
static bool load_ahead(Writer *w, size_t index)
{
    while (w->loaded < w->loads.len && w->loaded <= index + LOADS_AHEAD &&
           w->loads.data[w->loaded].after <= index)
        if (!load_weights(w, w->loaded++)) return false;
    return true;
}

static bool fill_weights(Writer *w, size_t index)
{
    const TileWeights *tile = &w->weights.data[index];
    const WeightLoad *load = &w->loads.data[tile->load], *last = &w->loads.data[w->loads.len - 1];
    if (!load_ahead(w, tile->load)) return false;
    if (index >= 2)
        to_program_command(w, SA(NOP), FIELDS(.unit = there(UNIT_FILL), .wait = ARRAY_FREE));
    to_program_set(w, SA_REG_WB_BASE, tile->base);
    to_program_set(w, SA_REG_W_BASE, 0);
    to_program_set(w, SA_REG_FILL_COUNT, tile->count);
    to_program_command(w, SA(FILL),
                       FIELDS(.half = there((int64_t)(index % 2)), .source = there(load->half),
                              .wait = tile->is_first ? IN_BUFFER : NO_SEMAPHORE,
                              .signal = IN_ARRAY));
    if (tile->is_last && tile->load < last->after)
        to_program_command(w, SA(NOP), FIELDS(.unit = there(UNIT_FILL), .signal = BUFFER_FREE));
    return true;
}

/* What lies in front of the input is the tile's. */
static void set_window(Writer *w, const Layer *layer)
{
    static const uint32_t regs[][2] = {
        {SA_REG_K_H, SA_REG_K_W}, {SA_REG_STRIDE_Y, SA_REG_STRIDE_X}, {SA_REG_DIL_Y, SA_REG_DIL_X}};
    const int64_t *pairs[] = {layer->kernel, layer->strides, layer->dilations};
    for (size_t p = 0; p < COUNT_OF(pairs); p++)
        for (size_t i = 0; i < 2; i++) to_program_set(w, regs[p][i], (uint64_t)pairs[p][i]);
    to_program_set(w, SA_REG_PAD_VALUE, (uint64_t)sa_int(layer->op, "pad_value", 0));
}

/* How a run goes through a map: from `skip` words on, every so many rows and columns from those at `at`
 * on. */
typedef struct Walk {
    uint64_t skip, at[2], every[2];
} Walk;

static const Walk each_element = {.every = {1, 1}};

/* Strides and place of what a tile reads or gives of a map, in registers that follow each other: page,
 * base, pixel, row. */
static void set_map(Writer *w, const Tile *tile, int role, uint32_t page_reg, const Walk *walk)
{
    const Layer *layer = &w->plan->layers.data[tile->layer];
    const Map *map = &w->plan->maps.data[layer->map[role]];
    const Stage *stage = &layer->stages[role];
    const Part *part = &w->parts[role];
    MapArea region = to_program_region(w->plan, layer, tile, role);
    uint64_t pixel = map->words, row = (uint64_t)sa_map_dims(map->value)[1] * map->words;
    uint64_t page = map->page,
             first = region.rows[0] * row + region.cols[0] * pixel + region.words[0];
    if (stage->count > 0) {
        pixel = part->moves.pixel;
        row = part->moves.row;
        page = stage->page[part->turn];
        first = (region.cols[0] - part->moves.first_col) * pixel;
    }
    first += walk->skip + walk->at[0] * row + walk->at[1] * pixel;
    to_program_set(w, page_reg, page + first / sa_page_words(&w->plan->size));
    to_program_set(w, page_reg + 1, first % sa_page_words(&w->plan->size));
    to_program_set(w, page_reg + 2, pixel * walk->every[1]);
    to_program_set(w, page_reg + 3, row * walk->every[0]);
}

/* A pixel that is every pixel's is read again and again. */
static void set_operand(Writer *w, const Tile *tile, const Walk *walk)
{
    const Layer *layer = &w->plan->layers.data[tile->layer];
    bool is_pixel = sa_operand(layer->op)->type != op_result(layer->op, 0)->type;
    set_map(w, tile, ROLE_OPERAND, SA_REG_ACT2_PAGE, is_pixel ? &each_element : walk);
    if (!is_pixel) return;
    to_program_set(w, SA_REG_ACT2_PIXEL, 0);
    to_program_set(w, SA_REG_ACT2_ROW, 0);
}

/* Windows over the results, from those that the tile's first one begins with. */
static void set_pool(Writer *w, const Tile *tile)
{
    static const uint32_t regs[][2] = {{SA_REG_POOL_K_H, SA_REG_POOL_K_W},
                                       {SA_REG_POOL_STRIDE_Y, SA_REG_POOL_STRIDE_X},
                                       {SA_REG_POOL_PAD_T, SA_REG_POOL_PAD_L},
                                       {SA_REG_POOL_H, SA_REG_POOL_W}};
    const Layer *layer = &w->plan->layers.data[tile->layer];
    const SaPool *pool = &layer->pool;
    if (!layer->has_pool && w->is_set[SA_REG_POOL_K_H]) to_program_set(w, SA_REG_POOL_K_H, 0);
    for (int axis = 0; layer->has_pool && axis < 2; axis++) {
        int dim = axis == 0 ? DIM_Y : DIM_X;
        const uint32_t range[] = {tile->begin[dim], tile->end[dim]};
        uint32_t sums[2];
        to_program_sums_range(layer, axis, range, sums);
        const int64_t image = axis == 0 ? range[0] / to_program_image_rows(layer) : 0;
        const int64_t window = range[0] - image * to_program_image_rows(layer);
        int64_t pad =
            sums[0] - image * pool->map[0] - (window * pool->strides[axis] - pool->pads[axis]);
        to_program_set(w, regs[0][axis], (uint64_t)pool->kernel[axis]);
        to_program_set(w, regs[1][axis], (uint64_t)pool->strides[axis]);
        to_program_set(w, regs[2][axis], (uint64_t)pad);
        to_program_set(w, regs[3][axis], range[1] - range[0]);
    }
}

static void set_layer(Writer *w, const Layer *layer)
{
    to_program_set(w, SA_REG_MODE, layer->mode);
    set_window(w, layer);
    to_program_set(w, SA_REG_PU_TAP, w->program->at);
    to_program_set(w, SA_REG_PU_TAP_LENGTH, layer->tap_length);
    to_program_set(w, SA_REG_PU_OUT, w->program->at + layer->tap_length);
    to_program_set(w, SA_REG_PU_OUT_LENGTH, layer->pu_length);
}

/* Of one axis: how much of the input is there from the first row or column on that the tile reads, and
 * what lies in front of that. */
static void set_axis(Writer *w, const Tile *tile, const MapArea *in, int axis)
{
    static const uint32_t in_regs[] = {SA_REG_IN_H, SA_REG_IN_W};
    static const uint32_t out_regs[] = {SA_REG_OUT_H, SA_REG_OUT_W};
    static const uint32_t pad_regs[] = {SA_REG_PAD_T, SA_REG_PAD_L};
    const Layer *layer = &w->plan->layers.data[tile->layer];
    const uint32_t *range = axis == 0 ? in->rows : in->cols;
    int dim = axis == 0 ? DIM_Y : DIM_X;
    int64_t stride = layer->strides[axis], pad = layer->pads[axis];
    const int64_t image = axis == 0 ? tile->begin[DIM_Y] / to_program_image_rows(layer) : 0;
    int64_t extent = axis == 0 ? layer->in_rows : sa_map_dims(op_operand(layer->op, 0))[1];
    int64_t above = image * extent, first = image * to_program_image_sums(layer);
    bool is_part = layer->stages[ROLE_INPUT].count > 0;
    const uint32_t result[] = {tile->begin[dim], tile->end[dim]};
    uint32_t sums[2];
    to_program_sums_range(layer, axis, result, sums);
    to_program_set(w, in_regs[axis], (is_part ? range[1] : (uint64_t)(above + extent)) - range[0]);
    to_program_set(w, out_regs[axis], sums[1] - sums[0]);
    to_program_set(w, pad_regs[axis],
                   (uint64_t)(range[0] - above - (sums[0] - first) * stride + pad));
}

static void set_maps(Writer *w, const Tile *tile, const Walk *walk)
{
    const Layer *layer = &w->plan->layers.data[tile->layer];
    MapArea in = to_program_region(w->plan, layer, tile, ROLE_INPUT);
    set_map(w, tile, ROLE_INPUT, SA_REG_ACT_PAGE, &each_element);
    set_map(w, tile, ROLE_RESULT, SA_REG_OUT_PAGE, walk);
    if (layer->map[ROLE_OPERAND] != SIZE_MAX) set_operand(w, tile, walk);
    for (int axis = 0; axis < 2; axis++) set_axis(w, tile, &in, axis);
}

static bool has_table(const Layer *layer)
{
    for (uint32_t r = 0; r < layer->op->region_count; r++)
        FOR_EACH_OP(inner, region_entry(op_region(layer->op, r)))
            if (inner->def == SA(PU_LOOKUP) || inner->def == SA(PU_THRESHOLD)) return true;
    return false;
}

/* Lets a run read padding in place of the input: what lies above it. */
static void read_padding(Writer *w)
{
    to_program_set(w, SA_REG_STRIDE_Y, 0);
    to_program_set(w, SA_REG_PAD_T, 1);
}

/* Blocks without channels hold zeros: the last instruction of the layer's program stores a register that
 * nothing has written. It does so from the beginning of a word on, whose channels come after. What the
 * run reads in each place lies above the input. */
static void clear_blocks(Writer *w, const Tile *tile)
{
    const Layer *layer = &w->plan->layers.data[tile->layer];
    const SaOverlay *size = &w->plan->size;
    uint32_t begin = to_program_blank_begin(w->plan, tile);
    if (!to_program_has_blank(w->plan, tile)) return;
    set_layer(w, layer);
    MapArea out = to_program_region(w->plan, layer, tile, ROLE_RESULT);
    Walk behind = each_element;
    behind.skip = (uint64_t)(begin - tile->begin[DIM_M]) * size->rows / size->cols;
    set_maps(w, tile, &each_element);
    set_map(w, tile, ROLE_RESULT, SA_REG_OUT_PAGE, &behind);
    to_program_set(w, SA_REG_MODE, SA_MODE_ELTWISE);
    read_padding(w);
    to_program_set(w, SA_REG_PU_OUT, w->program->at + layer->tap_length + layer->pu_length - 1);
    to_program_set(w, SA_REG_PU_OUT_LENGTH, 1);
    to_program_set(w, SA_REG_OUT_CBLK, tile->m_blank - begin);
    to_program_set(w, SA_REG_OUT_H, out.rows[1] - out.rows[0]);
    to_program_set(w, SA_REG_OUT_W, out.cols[1] - out.cols[0]);
    if (w->is_set[SA_REG_POOL_K_H]) to_program_set(w, SA_REG_POOL_K_H, 0);
    to_program_set(w, SA_REG_C_FIRST, 1);
    to_program_set(w, SA_REG_C_LAST, 1);
    to_program_set(w, SA_REG_OUT_LANES, 0);
    w->run_cycles = to_program_blank_cycles(w->plan, tile);
    to_program_command(w, SA(RUN), FIELDS(.half = there(0)));
    w->program->last_run = w->array_commands;
}

/* The runs of a tile, or of some of its rows. fill: which of the fills has its weights; is_first, is_last:
 * of the runs with that fill. */
typedef struct Run {
    size_t fill;
    bool is_first, is_last;
} Run;

/* That of run number `index` of a tile, which gives one of the places that each result has. */
static Walk walk_of(const Layer *layer, uint64_t index)
{
    uint64_t rows = (uint64_t)layer->repeats[0], cols = (uint64_t)layer->repeats[1];
    return (Walk){.at = {index / cols, index % cols}, .every = {rows, cols}};
}

/* Only layers without weights have several runs. */
static void run_walks(Writer *w, const Tile *tile, const Run *run)
{
    const Layer *layer = &w->plan->layers.data[tile->layer];
    bool frees = layer->has_weights && run->fill + 2 < w->weights.len && run->is_last;
    for (uint64_t i = 0; i < to_program_runs(layer); i++) {
        const Walk walk = walk_of(layer, i);
        set_maps(w, tile, &walk);
        if (layer->spreads && i > 0) read_padding(w);
        to_program_command(
            w, SA(RUN),
            FIELDS(.half = there(layer->has_weights ? (int64_t)(run->fill % 2) : 0),
                   .wait = layer->has_weights && run->is_first ? IN_ARRAY : NO_SEMAPHORE,
                   .signal = frees ? ARRAY_FREE : NO_SEMAPHORE));
    }
}

static void run_tile(Writer *w, const Tile *tile, const Run *run)
{
    const Layer *layer = &w->plan->layers.data[tile->layer];
    bool is_first = tile->begin[DIM_N] == 0, is_last = tile->end[DIM_N] == layer->n_blocks;
    clear_blocks(w, tile);
    const Walk first = walk_of(layer, 0);
    set_layer(w, layer);
    set_maps(w, tile, &first);
    set_pool(w, tile);
    to_program_set(w, SA_REG_IN_CBLK, tile->end[DIM_N] - tile->begin[DIM_N]);
    to_program_set(w, SA_REG_OUT_CBLK, tile->end[DIM_M] - tile->begin[DIM_M]);
    to_program_set(w, SA_REG_C_FIRST, is_first);
    to_program_set(w, SA_REG_C_LAST, is_last);
    if (!is_first || !is_last) to_program_set(w, SA_REG_ACC_BASE, tile->acc_base);
    to_program_set(w, SA_REG_P_BASE, layer->parameters + tile->begin[DIM_M]);
    if (has_table(layer)) to_program_set(w, SA_REG_P_STRIDE, layer->m_blocks);
    if (w->plan->clears_lanes) to_program_set(w, SA_REG_OUT_LANES, tile->out_lanes);
    to_program_set(w, SA_REG_W_BASE, 0);
    w->run_cycles = to_program_run_cycles(w->plan, layer, tile);
    run_walks(w, tile, run);
    w->program->last_run = w->array_commands;
}

/* Rows of windows that need no more than the first `rows` results. */
static int64_t windows_of(const SaPool *pool, int64_t rows)
{
    int64_t last = i64_min(rows, pool->map[0]) + pool->pads[0] - pool->kernel[0];
    return last < 0 ? 0 : last / pool->strides[0] + 1;
}

/* Rows of the result that need no more than the first `loaded` ones of the input. */
static uint64_t rows_of(const Layer *layer, uint64_t loaded)
{
    int64_t reach = (layer->kernel[0] - 1) * layer->dilations[0];
    int64_t last = (int64_t)loaded - 1 + layer->pads[0] - reach;
    bool is_whole = loaded >= (uint64_t)sa_map_dims(op_operand(layer->op, 0))[0];
    if (is_whole || layer->strides[0] == 0) return layer->extents[DIM_Y];
    int64_t rows = last < 0 ? 0 : last / layer->strides[0] + 1;
    if (layer->has_pool) rows = windows_of(&layer->pool, rows);
    return (uint64_t)i64_min(rows, layer->extents[DIM_Y]);
}

/* The first layer, part by part as its input comes; as many parts are queued ahead as the unit's queue
 * holds. */
static bool run_early(Writer *w, const Tile *whole, const Layer *layer)
{
    enum { PARTS_AHEAD = 4 };
    uint64_t height = (uint64_t)sa_map_dims(op_operand(layer->op, 0))[0], queued = 0;
    Tile tile = *whole;
    Run run = {.is_first = true};
    tile.end[DIM_Y] = 0;
    for (uint64_t y = 0; y < height; y += w->rows) {
        for (; queued < height && queued <= y + PARTS_AHEAD * w->rows; queued += w->rows)
            if (!load_rows(w, layer, queued)) return false;
        to_program_command(w, SA(NOP), FIELDS(.unit = there(UNIT_COMPUTE), .wait = LOADED));
        tile.begin[DIM_Y] = tile.end[DIM_Y];
        tile.end[DIM_Y] = (uint32_t)rows_of(layer, y + w->rows);
        run.is_last = tile.end[DIM_Y] == whole->end[DIM_Y];
        if (tile.end[DIM_Y] == tile.begin[DIM_Y]) continue;
        run_tile(w, &tile, &run);
        run.is_first = false;
    }
    return true;
}

/* Number i of the tiles. *fills counts those before it that brought weights to the array. */
static bool write_tile(Writer *w, size_t i, size_t *fills)
{
    const Plan *plan = w->plan;
    const Tile *tile = &plan->tiles.data[i], *before = i > 0 ? tile - 1 : NULL;
    const Layer *layer = &plan->layers.data[tile->layer], *early = early_layer(plan);
    bool is_last = i + 1 == plan->tiles.len || tile[1].layer != tile->layer;
    bool is_first = !before || before->layer != tile->layer;
    Run run = {.is_first = to_program_is_refilled(plan, before, tile),
               .is_last = is_last || to_program_is_refilled(plan, tile, tile + 1)};
    if (w->b) w->b->loc = layer->op->loc;
    if (run.is_first && !fill_weights(w, (*fills)++)) return false;
    if (is_first) to_program_begin_layer(w, tile);
    run.fill = *fills - layer->has_weights;
    if (is_first) enter_programs(w, layer);
    if (i == 0 && early) return run_early(w, tile, early);
    to_program_take_parts(w);
    to_program_await_parts(w, tile);
    run_tile(w, tile, &run);
    if (!is_last) to_program_load_parts(w, tile + 1);
    to_program_leave_parts(w, tile, is_last ? NULL : tile + 1);
    return true;
}

static bool write_tiles(Writer *w)
{
    size_t fills = 0;
    to_program_place_weights(w->plan, &w->loads, &w->weights);
    for (size_t i = 0; i < w->plan->tiles.len; i++)
        if (!write_tile(w, i, &fills)) return false;
    if (w->b) w->b->loc = w->plan->network->loc;
    to_program_settle_parts(w);
    to_program_command(w, SA(NOP), FIELDS(.unit = there(UNIT_COMPUTE), .signal = COMPUTED));
    return true;
}

static bool store_maps(Writer *w)
{
    to_program_command(w, SA(NOP), FIELDS(.unit = there(UNIT_STORE), .wait = COMPUTED));
    for (size_t i = 0; i < w->plan->maps.len; i++) {
        const Map *map = &w->plan->maps.data[i];
        if (!map->output || map->is_spilled) continue;
        if (!to_program_set_beats(w, map->beats, map->output)) return false;
        to_program_set(w, SA_REG_OUT_PAGE, map->page);
        to_program_set(w, SA_REG_OUT_BASE, 0);
        to_program_address(w, SA_BUFFER_OUTPUT, map->address);
        to_program_command(w, SA(STORE), FIELDS(.bank = there(SA_BANK_MAPS)));
    }
    return true;
}

static bool write(Writer *w)
{
    bool ok = load_maps(w) && load_parameters(w) && write_tiles(w) && store_maps(w);
    to_program_free_memory(&w->memory);
    vec_free(&w->loads);
    vec_free(&w->weights);
    return ok;
}

bool to_program_write(const Plan *plan, Builder *b)
{
    Writer w = {.plan = plan, .b = b};
    if (!write(&w)) return false;
    build(b, SA(END), NULL, 0, NULL, 0, NULL, 0);
    return true;
}

bool to_program_time(const Plan *plan, Timing *timing)
{
    Writer w = {.plan = plan, .timing = timing};
    return write(&w);
}
