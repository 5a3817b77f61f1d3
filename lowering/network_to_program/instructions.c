/* The instructions of a plan. First inputs, parameters and programs are loaded; then each tile's
 * weights go to a half of the buffer and of the array while the tile before runs; at last outputs
 * are stored.
 *
 * Semaphores keep apart what must not overlap. Commands of one unit follow each other anyhow. */
#include "ir/asm/print/print.h"
#include "lowering/network_to_program/internal.h"

enum {
    NO_SEMAPHORE,
    LOADED,      /* inputs and ends of outputs are in their pages */
    PARAMETERS,  /* parameters are there */
    IN_BUFFER,   /* a tile's weights are in the weight buffer */
    IN_ARRAY,    /* and in the array */
    ARRAY_FREE,  /* a tile has run: its half of the array may be filled */
    BUFFER_FREE, /* a tile's weights are in the array: its half of the buffer may be loaded */
    COMPUTED     /* the last tile has run */
};

enum { MAX_COUNT = UINT16_MAX };

/* The writer knows what registers hold, and sets them only where that changes. */
typedef struct Writer {
    const Plan *plan;
    Builder *b;
    int32_t regs[SA_REG_COUNT];
    bool is_set[SA_REG_COUNT];
    PuMemory memory;
    PuProgram *program; /* of the layer */
    uint64_t array_commands;
    WeightLoads loads;
    size_t loaded; /* of them queued */
    TileWeightsList weights;
    uint64_t rows; /* of the first layer's input that are loaded at a time; 0: it comes whole */
} Writer;

static NamedAttr number(Writer *w, const char *name, int64_t value)
{
    return build_named_attr(w->b->ctx, name, attr_i64(w->b->ctx, value));
}

static void set(Writer *w, uint32_t reg, uint64_t value)
{
    if (w->is_set[reg] && w->regs[reg] == (int32_t)value) return;
    NamedAttr attrs[] = {number(w, "register", reg), number(w, "value", (int32_t)value)};
    build(w->b, SA(SET), NULL, 0, NULL, 0, attrs, COUNT_OF(attrs));
    w->is_set[reg] = true;
    w->regs[reg] = (int32_t)value;
}

static void address(Writer *w, int64_t buffer, uint64_t beat)
{
    NamedAttr attrs[] = {number(w, "buffer", buffer), number(w, "address", (int64_t)beat)};
    build(w->b, SA(ADDR), NULL, 0, NULL, 0, attrs, COUNT_OF(attrs));
}

/* A command. Fields are one more than their number, 0 where they are not there. */
typedef struct CommandFields {
    int64_t unit, half, source, bank;
    uint32_t wait, signal; /* semaphores as they are; NO_SEMAPHORE is none */
} CommandFields;

#define FIELDS(...) (&(const CommandFields){__VA_ARGS__})

static int64_t there(int64_t value)
{
    return value + 1;
}

static void command(Writer *w, const OpDef *def, const CommandFields *fields)
{
    NamedAttr attrs[6];
    uint32_t count = 0;
    if (fields->unit) attrs[count++] = number(w, "unit", fields->unit - 1);
    if (fields->half) attrs[count++] = number(w, SA_ATTR_HALF, fields->half - 1);
    if (fields->source) attrs[count++] = number(w, "source", fields->source - 1);
    if (fields->bank) attrs[count++] = number(w, SA_ATTR_BANK, fields->bank - 1);
    if (fields->wait) attrs[count++] = number(w, SA_ATTR_WAIT, fields->wait);
    if (fields->signal) attrs[count++] = number(w, SA_ATTR_SIGNAL, fields->signal);
    build(w->b, def, NULL, 0, NULL, 0, attrs, count);
}

/* A command of the array; they are counted. */
static void array_command(Writer *w, const OpDef *def, const CommandFields *fields)
{
    command(w, def, fields);
    w->array_commands++;
}

enum { UNIT_LOAD_A, UNIT_LOAD_W, UNIT_FILL, UNIT_COMPUTE, UNIT_STORE };

/* Beats one behind the other, as equal runs where one register does not count them. False: they
 * have no such divisor. */
static bool set_beats(Writer *w, uint64_t beats, const Op *op)
{
    uint64_t runs = beats / MAX_COUNT + (beats % MAX_COUNT != 0);
    if (runs == 0) runs = 1;
    while (runs <= MAX_COUNT && beats % runs) runs++;
    if (runs > MAX_COUNT || beats / runs > MAX_COUNT)
        return op_error(op, "has %llu beats, which are no runs that registers count",
                        (unsigned long long)beats);
    set(w, SA_REG_ROWS, runs);
    set(w, SA_REG_BEATS, beats / runs);
    set(w, SA_REG_ROW_STRIDE, beats / runs);
    return true;
}

/* Nothing computes the words behind a map in its last beat. */
static void clear_end(Writer *w, const Map *map)
{
    uint64_t bits = to_program_act_bits(&w->plan->size), last = (map->beats - 1) * BEAT_BITS / bits;
    if (!to_program_has_end(w->plan, map)) return;
    set(w, SA_REG_ROWS, 1);
    set(w, SA_REG_BEATS, 1);
    set(w, SA_REG_ACT_PAGE, map->page + last / sa_page_words(&w->plan->size));
    set(w, SA_REG_ACT_BASE, last % sa_page_words(&w->plan->size));
    address(w, SA_BUFFER_ACTIVATIONS, w->plan->zero_address);
    command(w, SA(LOAD_A), FIELDS(.bank = there(SA_BANK_MAPS)));
}

/* The layer that can begin before its input is there: the first one, of one tile. */
static const Layer *early_layer(const Plan *plan)
{
    const Layer *layer = plan->layers.len > 0 ? &plan->layers.data[0] : NULL;
    bool is_single = layer && (plan->tiles.len == 1 || plan->tiles.data[1].layer != 0);
    return is_single && plan->maps.data[layer->input].input ? layer : NULL;
}

/* Rows of its input that are loaded at a time, in whole beats; all of them: it does not begin early. */
static uint64_t rows_at_a_time(const Plan *plan, const Layer *layer)
{
    enum { PARTS = 8 };
    const Map *map = &plan->maps.data[layer->input];
    const int64_t *dims = sa_map_dims(map->value);
    uint64_t row_bits = (uint64_t)dims[1] * map->words * to_program_act_bits(&plan->size), step = 1;
    while (step < BEAT_BITS && step * row_bits % BEAT_BITS != 0) step *= 2;
    return (uint64_t)ceil_div(ceil_div(dims[0], PARTS), (int64_t)step) * step;
}

/* Loads the rows from y on that come at a time, and signals. */
static bool load_rows(Writer *w, const Layer *layer, uint64_t y)
{
    const Map *map = &w->plan->maps.data[layer->input];
    const int64_t *dims = sa_map_dims(map->value);
    uint64_t row_words = (uint64_t)dims[1] * map->words;
    uint64_t row_bits = row_words * to_program_act_bits(&w->plan->size);
    bool is_last = y + w->rows >= (uint64_t)dims[0];
    uint64_t begin = y * row_bits / BEAT_BITS;
    uint64_t end = is_last ? map->beats : (y + w->rows) * row_bits / BEAT_BITS;
    if (!set_beats(w, end - begin, map->input)) return false;
    set(w, SA_REG_ACT_PAGE, map->page + y * row_words / sa_page_words(&w->plan->size));
    set(w, SA_REG_ACT_BASE, y * row_words % sa_page_words(&w->plan->size));
    address(w, SA_BUFFER_ACTIVATIONS, map->address + begin);
    command(w, SA(LOAD_A), FIELDS(.bank = there(SA_BANK_MAPS), .signal = LOADED));
    return true;
}

/* What the first layer reads comes later if it can begin with a part of it. */
static bool load_maps(Writer *w)
{
    const Layer *early = early_layer(w->plan);
    w->rows = early ? rows_at_a_time(w->plan, early) : 0;
    for (size_t i = 0; i < w->plan->maps.len; i++) {
        const Map *map = &w->plan->maps.data[i];
        if (map->output) clear_end(w, map);
        if (!map->input || (early && i == early->input)) continue;
        if (!set_beats(w, map->beats, map->input)) return false;
        set(w, SA_REG_ACT_PAGE, map->page);
        set(w, SA_REG_ACT_BASE, 0);
        address(w, SA_BUFFER_ACTIVATIONS, map->address);
        command(w, SA(LOAD_A), FIELDS(.bank = there(SA_BANK_MAPS)));
    }
    command(w, SA(NOP), FIELDS(.unit = there(UNIT_LOAD_A), .signal = LOADED));
    array_command(w, SA(NOP), FIELDS(.unit = there(UNIT_COMPUTE), .wait = LOADED));
    return true;
}

static bool load_parameters(Writer *w)
{
    const Plan *plan = w->plan;
    if (plan->parameters.len == 0) return true;
    uint64_t beats =
        plan->parameters.len / SA_BEAT_BYTES + (plan->parameters.len % SA_BEAT_BYTES != 0);
    if (!set_beats(w, beats, plan->network)) return false;
    set(w, SA_REG_P_BASE, 0);
    address(w, SA_BUFFER_PARAMETERS, 0);
    command(w, SA(LOAD_P), FIELDS(.bank = there(SA_BANK_PARAMETERS), .signal = PARAMETERS));
    array_command(w, SA(NOP), FIELDS(.unit = there(UNIT_COMPUTE), .wait = PARAMETERS));
    return true;
}

/* The instructions of a region; parameter k begins k * m_blocks vectors behind the first. */
static void copy_program(Writer *w, const Layer *layer, uint32_t region)
{
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
        array_command(w, SA(NOP), FIELDS(.unit = there(UNIT_COMPUTE)));
    set(w, SA_REG_PU_PC, w->program->at);
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
        command(w, SA(NOP), FIELDS(.unit = there(UNIT_LOAD_W), .wait = BUFFER_FREE));
    if (!set_beats(w, load->beats, w->plan->layers.data[load->first->layer].op)) return false;
    set(w, SA_REG_WB_BASE, load->base);
    address(w, SA_BUFFER_WEIGHTS, load->first->address);
    command(w, SA(LOAD_W),
            FIELDS(.half = there(load->half), .bank = there(SA_BANK_WEIGHTS), .signal = IN_BUFFER,
                   .wait = waits > 0 ? BUFFER_FREE : NO_SEMAPHORE));
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
    if (index >= 2) command(w, SA(NOP), FIELDS(.unit = there(UNIT_FILL), .wait = ARRAY_FREE));
    set(w, SA_REG_WB_BASE, tile->base);
    set(w, SA_REG_W_BASE, 0);
    set(w, SA_REG_FILL_COUNT, tile->count);
    command(w, SA(FILL),
            FIELDS(.half = there((int64_t)(index % 2)), .source = there(load->half),
                   .wait = tile->is_first ? IN_BUFFER : NO_SEMAPHORE, .signal = IN_ARRAY));
    if (tile->is_last && tile->load < last->after)
        command(w, SA(NOP), FIELDS(.unit = there(UNIT_FILL), .signal = BUFFER_FREE));
    return true;
}

static int64_t item(const Op *op, const char *name, size_t index, int64_t absent)
{
    return op_attr(op, name) ? sa_item(op, name, index) : absent;
}

static void set_window(Writer *w, const Layer *layer)
{
    static const struct {
        const char *name;
        int64_t absent;
        uint32_t regs[2];
    } PAIRS[] = {{"strides", 1, {SA_REG_STRIDE_Y, SA_REG_STRIDE_X}},
                 {"dilations", 1, {SA_REG_DIL_Y, SA_REG_DIL_X}},
                 {"pads", 0, {SA_REG_PAD_T, SA_REG_PAD_L}}};
    int64_t kernel[2];
    sa_kernel(layer->op, kernel);
    set(w, SA_REG_K_H, (uint64_t)kernel[0]);
    set(w, SA_REG_K_W, (uint64_t)kernel[1]);
    for (size_t p = 0; p < COUNT_OF(PAIRS); p++)
        for (size_t i = 0; i < 2; i++)
            set(w, PAIRS[p].regs[i], (uint64_t)item(layer->op, PAIRS[p].name, i, PAIRS[p].absent));
    set(w, SA_REG_PAD_VALUE, (uint64_t)sa_int(layer->op, "pad_value", 0));
}

static uint64_t mode_of(const Op *op)
{
    if (op->def == SA(POOL)) return SA_MODE_POOL;
    if (op->def == SA(ELTWISE)) return SA_MODE_ELTWISE;
    return op_attr(op, "depthwise") ? SA_MODE_DEPTHWISE : SA_MODE_DENSE;
}

/* Strides and page of a map in registers that follow each other: page, base, pixel, row. It begins at
 * a row, and a word of that. */
static void set_map(Writer *w, const Map *map, uint32_t page_reg, uint64_t row, uint64_t word)
{
    uint64_t row_words = (uint64_t)sa_map_dims(map->value)[1] * map->words;
    uint64_t first = row * row_words + word;
    set(w, page_reg, map->page + first / sa_page_words(&w->plan->size));
    set(w, page_reg + 1, first % sa_page_words(&w->plan->size));
    set(w, page_reg + 2, map->words);
    set(w, page_reg + 3, row_words);
}

/* A pixel that is every pixel's is read again and again. */
static void set_operand(Writer *w, const Layer *layer, uint64_t row, uint64_t word)
{
    const Map *map = &w->plan->maps.data[layer->operand];
    bool is_pixel = map->value->type != op_result(layer->op, 0)->type;
    set_map(w, map, SA_REG_ACT2_PAGE, is_pixel ? 0 : row, word);
    if (!is_pixel) return;
    set(w, SA_REG_ACT2_PIXEL, 0);
    set(w, SA_REG_ACT2_ROW, 0);
}

static void set_layer(Writer *w, const Layer *layer)
{
    const Plan *plan = w->plan;
    const Map *in = &plan->maps.data[layer->input], *out = &plan->maps.data[layer->result];
    const int64_t *in_dims = sa_map_dims(in->value), *out_dims = sa_map_dims(out->value);
    set(w, SA_REG_MODE, mode_of(layer->op));
    set(w, SA_REG_IN_W, (uint64_t)in_dims[1]);
    set(w, SA_REG_OUT_W, (uint64_t)out_dims[1]);
    set_window(w, layer);
    set(w, SA_REG_PU_TAP, w->program->at);
    set(w, SA_REG_PU_TAP_LENGTH, layer->tap_length);
    set(w, SA_REG_PU_OUT, w->program->at + layer->tap_length);
    set(w, SA_REG_PU_OUT_LENGTH, layer->pu_length);
}

/* Rows of the result, the first row of the input that they read, and what lies above that. */
typedef struct Rows {
    uint64_t begin, end, input, pad;
    bool is_first, is_last;
} Rows;

static void set_maps(Writer *w, const Tile *tile, const Rows *rows)
{
    const Plan *plan = w->plan;
    const Layer *layer = &plan->layers.data[tile->layer];
    uint64_t out_word = (uint64_t)tile->m * plan->size.rows / plan->size.cols;
    bool is_dense = mode_of(layer->op) == SA_MODE_DENSE;
    set_map(w, &plan->maps.data[layer->input], SA_REG_ACT_PAGE, rows->input,
            is_dense ? tile->first_n + tile->n : out_word);
    set_map(w, &plan->maps.data[layer->result], SA_REG_OUT_PAGE, rows->begin, out_word);
    if (layer->operand != SIZE_MAX) set_operand(w, layer, rows->begin, out_word);
    set(w, SA_REG_IN_H,
        (uint64_t)sa_map_dims(plan->maps.data[layer->input].value)[0] - rows->input);
    set(w, SA_REG_OUT_H, rows->end - rows->begin);
    set(w, SA_REG_PAD_T, rows->pad);
}

static bool has_table(const Layer *layer)
{
    for (uint32_t r = 0; r < layer->op->region_count; r++)
        FOR_EACH_OP(inner, region_entry(op_region(layer->op, r)))
            if (inner->def == SA(PU_LOOKUP) || inner->def == SA(PU_THRESHOLD)) return true;
    return false;
}

/* index: which of the tiles with weights this one is. */
static void run_rows(Writer *w, const Tile *tile, size_t index, const Rows *rows)
{
    const Layer *layer = &w->plan->layers.data[tile->layer];
    set_layer(w, layer);
    set_maps(w, tile, rows);
    set(w, SA_REG_IN_CBLK, tile->n_end - tile->n);
    set(w, SA_REG_OUT_CBLK, tile->m_end - tile->m);
    set(w, SA_REG_C_FIRST, tile->n == 0);
    set(w, SA_REG_C_LAST, tile->n_end == layer->n_blocks);
    set(w, SA_REG_P_BASE, layer->parameters + tile->m);
    if (has_table(layer)) set(w, SA_REG_P_STRIDE, layer->m_blocks);
    if (w->plan->clears_lanes) set(w, SA_REG_OUT_LANES, tile->out_lanes);
    set(w, SA_REG_W_BASE, 0);
    bool frees = layer->has_weights && index + 2 < w->weights.len && rows->is_last;
    array_command(w, SA(RUN),
                  FIELDS(.half = there(layer->has_weights ? (int64_t)(index % 2) : 0),
                         .wait = layer->has_weights && rows->is_first ? IN_ARRAY : NO_SEMAPHORE,
                         .signal = frees ? ARRAY_FREE : NO_SEMAPHORE));
    w->program->last_run = w->array_commands;
}

/* Blocks without channels hold zeros: the last instruction of the layer's program stores a register that
 * nothing has written. It does so from the beginning of a word on, whose channels come after. What the
 * run reads in each place is the input's first word. */
static void clear_blocks(Writer *w, const Tile *tile, const Rows *rows)
{
    const Layer *layer = &w->plan->layers.data[tile->layer];
    const SaOverlay *size = &w->plan->size;
    uint32_t step = size->rows < size->cols ? size->cols / size->rows : 1;
    Tile blank = *tile;
    blank.m = tile->m_end / step * step;
    if (tile->m_blank <= tile->m_end) return;
    set_layer(w, layer);
    set_maps(w, &blank, rows);
    set_map(w, &w->plan->maps.data[layer->input], SA_REG_ACT_PAGE, 0, 0);
    set(w, SA_REG_MODE, SA_MODE_ELTWISE);
    set(w, SA_REG_STRIDE_Y, 0);
    set(w, SA_REG_STRIDE_X, 0);
    set(w, SA_REG_ACT_PIXEL, 0);
    set(w, SA_REG_PU_OUT, w->program->at + layer->tap_length + layer->pu_length - 1);
    set(w, SA_REG_PU_OUT_LENGTH, 1);
    set(w, SA_REG_OUT_CBLK, tile->m_blank - blank.m);
    set(w, SA_REG_C_FIRST, 1);
    set(w, SA_REG_C_LAST, 1);
    set(w, SA_REG_OUT_LANES, 0);
    array_command(w, SA(RUN), FIELDS(.half = there(0)));
    w->program->last_run = w->array_commands;
}

static void run_tile(Writer *w, const Tile *tile, size_t index)
{
    const Layer *layer = &w->plan->layers.data[tile->layer];
    Rows rows = {.end = (uint64_t)sa_map_dims(op_result(layer->op, 0))[0],
                 .pad = (uint64_t)item(layer->op, "pads", 0, 0),
                 .is_first = true,
                 .is_last = true};
    enter_programs(w, layer);
    clear_blocks(w, tile, &rows);
    run_rows(w, tile, index, &rows);
}

/* Rows of the result that need no more than the first `loaded` ones of the input. */
static uint64_t rows_of(const Layer *layer, uint64_t loaded)
{
    int64_t kernel[2], stride = item(layer->op, "strides", 0, 1);
    sa_kernel(layer->op, kernel);
    int64_t reach = (kernel[0] - 1) * item(layer->op, "dilations", 0, 1);
    int64_t last = (int64_t)loaded - 1 + item(layer->op, "pads", 0, 0) - reach;
    int64_t all = sa_map_dims(op_result(layer->op, 0))[0];
    bool is_whole = loaded >= (uint64_t)sa_map_dims(op_operand(layer->op, 0))[0];
    if (is_whole || last / stride + 1 > all) return (uint64_t)all;
    return last < 0 ? 0 : (uint64_t)(last / stride + 1);
}

/* The first layer, part by part as its input comes; as many parts are queued ahead as the unit's queue
 * holds. */
static bool run_early(Writer *w, const Tile *tile, const Layer *layer)
{
    enum { PARTS_AHEAD = 4 };
    uint64_t height = (uint64_t)sa_map_dims(op_operand(layer->op, 0))[0], queued = 0;
    uint64_t all = (uint64_t)sa_map_dims(op_result(layer->op, 0))[0];
    int64_t pad = item(layer->op, "pads", 0, 0), stride = item(layer->op, "strides", 0, 1);
    Rows rows = {.is_first = true};
    enter_programs(w, layer);
    for (uint64_t y = 0; y < height; y += w->rows) {
        for (; queued < height && queued <= y + PARTS_AHEAD * w->rows; queued += w->rows)
            if (!load_rows(w, layer, queued)) return false;
        array_command(w, SA(NOP), FIELDS(.unit = there(UNIT_COMPUTE), .wait = LOADED));
        rows.end = rows_of(layer, y + w->rows);
        rows.is_last = rows.end == all;
        if (rows.end == rows.begin) continue;
        int64_t top = (int64_t)rows.begin * stride - pad;
        rows.input = top > 0 ? (uint64_t)top : 0;
        rows.pad = top < 0 ? (uint64_t)-top : 0;
        clear_blocks(w, tile, &rows);
        run_rows(w, tile, 0, &rows);
        rows.begin = rows.end;
        rows.is_first = false;
    }
    return true;
}

static bool write_tiles(Writer *w)
{
    const Plan *plan = w->plan;
    const Layer *early = early_layer(plan);
    size_t index = 0;
    to_program_place_weights(plan, &w->loads, &w->weights);
    for (size_t i = 0; i < plan->tiles.len; i++) {
        const Tile *tile = &plan->tiles.data[i];
        bool has_weights = plan->layers.data[tile->layer].has_weights;
        w->b->loc = plan->layers.data[tile->layer].op->loc;
        if (has_weights && !fill_weights(w, index)) return false;
        if (i > 0 || !early)
            run_tile(w, tile, index);
        else if (!run_early(w, tile, early))
            return false;
        index += has_weights;
    }
    w->b->loc = plan->network->loc;
    array_command(w, SA(NOP), FIELDS(.unit = there(UNIT_COMPUTE), .signal = COMPUTED));
    return true;
}

static bool store_maps(Writer *w)
{
    command(w, SA(NOP), FIELDS(.unit = there(UNIT_STORE), .wait = COMPUTED));
    for (size_t i = 0; i < w->plan->maps.len; i++) {
        const Map *map = &w->plan->maps.data[i];
        if (!map->output) continue;
        if (!set_beats(w, map->beats, map->output)) return false;
        set(w, SA_REG_OUT_PAGE, map->page);
        set(w, SA_REG_OUT_BASE, 0);
        address(w, SA_BUFFER_OUTPUT, map->address);
        command(w, SA(STORE), FIELDS(.bank = there(SA_BANK_MAPS)));
    }
    return true;
}

bool to_program_write(const Plan *plan, Builder *b)
{
    Writer *w = &(Writer){.plan = plan, .b = b};
    bool ok = load_maps(w) && load_parameters(w) && write_tiles(w) && store_maps(w);
    to_program_free_memory(&w->memory);
    vec_free(&w->loads);
    vec_free(&w->weights);
    if (ok) build(b, SA(END), NULL, 0, NULL, 0, NULL, 0);
    return ok;
}
