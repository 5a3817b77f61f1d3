/* Memories of processes: their lists, and the blocks or LUTs that each takes.
 * Sources: RAMB18 and URAM288 modes, 6-input LUTs as 64 x 1 ROM and as RAM32M16 (UltraScale
 * architecture); FIFOs as Vivado builds those of Vitis HLS (docs/cost-model.md).
 * Tests: test/unit/target/cost/memory_test.c */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "passes/dfg/passes.h"
#include "target/cost/internal.h"

bool memory_is_small(int64_t width_bits, int64_t depth)
{
    return depth <= 64 || width_bits * depth <= 1024;
}

int64_t memory_blocks18(int64_t width_bits, int64_t depth)
{
    static const struct {
        int64_t width, depth;
    } shapes[] = {{1, 16384}, {2, 8192}, {4, 4096}, {9, 2048}, {18, 1024}, {36, 512}};
    int64_t best = INT64_MAX;
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        best =
            i64_min(best, ceil_div(width_bits, shapes[i].width) * ceil_div(depth, shapes[i].depth));
    return best;
}

bool cost_is_7_series(const Op *module)
{
    const Attr *kind = op_attr(module, DFG_ATTR_DSP_KIND);
    return kind && kind->kind == ATTR_STRING && str_eq_c(kind->u.string, "DSP48E1");
}

int64_t memory_bram18(int64_t width_bits, int64_t depth)
{
    return memory_is_small(width_bits, depth) ? 0 : memory_blocks18(width_bits, depth);
}

int64_t memory_blocks_uram(int64_t width_bits, int64_t depth)
{
    return ceil_div(width_bits, 72) * ceil_div(depth, 4096);
}

int64_t memory_rom_luts(int64_t width_bits, int64_t depth)
{
    return ceil_div(depth, 64) * width_bits;
}

/* RAM32M16: 14 bits of 32 words in 8 LUTs. What is left over takes RAM32M, 6 bits in 4, or RAM32X1D,
 * a bit in 2. */
int64_t memory_ram_luts(int64_t width_bits, int64_t depth)
{
    enum { BITS = 14, LUTS = 8, HALF_BITS = 6, BIT_LUTS = 2 };
    int64_t rest = width_bits % BITS;
    int64_t rest_luts = rest <= 1 ? rest * BIT_LUTS : rest <= HALF_BITS ? LUTS / 2 : LUTS;
    return ceil_div(depth, 32) * (width_bits / BITS * LUTS + rest_luts);
}

/* The 7 series have no RAM32M16. */
static int64_t ram_luts_7_series(int64_t width_bits, int64_t depth)
{
    enum { BITS = 6, LUTS = 4, BIT_LUTS = 2 };
    int64_t rest = width_bits % BITS;
    return ceil_div(depth, 32) * (width_bits / BITS * LUTS + (rest <= 1 ? rest * BIT_LUTS : LUTS));
}

static const char *const kind_names[MEMORY_KINDS] = {"lutram", "bram", "uram", "stream"};

Str memory_kind_name(MemoryKind kind)
{
    return str_from(kind_names[kind]);
}

/* The dfg.storage that an op came with; false: none, or "auto". */
static bool given_kind(const Op *holder, uint32_t level, MemoryKind *out)
{
    const Attr *storage = op_attr(holder, DFG_ATTR_STORAGE);
    if (storage && storage->kind == ATTR_ARRAY && level < storage->u.array.count)
        storage = storage->u.array.items[level];
    for (uint32_t k = 0; storage && storage->kind == ATTR_STRING && k < MEMORY_KINDS; k++)
        if (str_eq_c(storage->u.string, kind_names[k])) {
            *out = (MemoryKind)k;
            return true;
        }
    return false;
}

/* An UltraRAM is worth at least two block RAMs. */
static bool suits_uram(const Memory *m)
{
    enum { WORTH = 2 };
    return !m->is_rom &&
           memory_blocks18(m->width, m->depth) >= WORTH * memory_blocks_uram(m->width, m->depth);
}

/* Tables of few bits that counts of bits read: up to 256 words are four LUTs a bit, which a slice's
 * own multiplexers join, and blocks would be wide and nearly empty. */
static bool suits_lutram(const Memory *m)
{
    enum { TABLE = 256 };
    return m->width * m->depth <= MEMORY_MOST_LUTRAM ||
           (m->is_counted && m->is_rom && m->depth <= TABLE);
}

/* What takes less than a few blocks is no reason for a port to memory. */
static bool suits_stream(const Memory *m)
{
    enum { LEAST_BLOCKS = 4 };
    return m->may_stream && memory_blocks18(m->width, m->depth) >= LEAST_BLOCKS;
}

static MemoryKind choose_kind(const Memory *m, const Binding *binding)
{
    if (memory_is_small(m->width, m->depth)) return MEMORY_LUTRAM;
    if (binding->stream && suits_stream(m)) return MEMORY_STREAM;
    if (binding->uram && suits_uram(m)) return MEMORY_URAM;
    if (binding->lutram && suits_lutram(m)) return MEMORY_LUTRAM;
    return MEMORY_BRAM;
}

static MemoryUse *add_memory(MemoryList *out, const Binding *binding, const Memory *memory,
                             Op *holder, uint32_t level)
{
    MemoryUse *use = vec_push(out);
    *use = (MemoryUse){.memory = *memory, .holder = holder, .level = level};
    use->memory.is_7_series = binding->is_7_series;
    use->memory.is_given = given_kind(holder, level, &use->memory.kind);
    if (!use->memory.is_given) use->memory.kind = choose_kind(memory, binding);
    return use;
}

void memory_choices(const MemoryList *memories, Binding *out)
{
    for (size_t i = 0; i < memories->len; i++) {
        const Memory *m = &memories->data[i].memory;
        if (m->is_given || memory_is_small(m->width, m->depth)) continue;
        out->lutram |= suits_lutram(m);
        out->uram |= suits_uram(m);
        out->stream |= suits_stream(m);
    }
}

/* A LUT per bit chooses among four banks. */
static int64_t bank_choice_luts(int64_t width_bits, int64_t depth, CostStructure structure)
{
    enum { BANK = 64 };
    return cost_structure(structure)->has_bank_choice
               ? width_bits * ceil_div(ceil_div(depth, BANK) - 1, 3)
               : 0;
}

static int64_t block_words(const Memory *m)
{
    return m->is_7_series ? (int64_t)1 << i64_log2_up(m->depth) : m->depth;
}

static int64_t ram_luts(const Memory *m, int64_t width_bits)
{
    return m->is_7_series ? ram_luts_7_series(width_bits, m->depth)
                          : memory_ram_luts(width_bits, m->depth);
}

/* A port to memory (m_axi of Vitis HLS: a line through the figures of ports of 32 and of 512 bits), and
 * registers of the rows of a bus word, of the row and of its bus words. FIFOs are counted as such. */
static void add_stream(const Memory *m, Cost *sum)
{
    enum { PORT_LUT = 700, PORT_FF = 500, PER_4_BITS = 7, PORT_BRAM_BITS = 18 };
    sum->lut += m->bus_ports * PORT_LUT + m->bus_bits * PER_4_BITS / 4;
    sum->ff += m->bus_ports * PORT_FF + m->bus_bits * PER_4_BITS / 4;
    if (m->bus_ports > 1) sum->ff += m->bus_bits; /* the word that is joined */
    sum->bram18 += ceil_div(m->bus_bits, PORT_BRAM_BITS);
    sum->ff += (m->beat_rows + 1) * m->row_bits;
    if (m->beat_rows > 1) sum->lut += m->beat_rows * m->row_bits;
    sum->traffic += m->beats * m->bus_bits;
}

/* Blocks have two ports, of which one writes if the memory is written; LUTRAM has one to read. */
void memory_cost(const Memory *m, CostStructure structure, Cost *sum)
{
    if (m->kind == MEMORY_STREAM) {
        add_stream(m, sum);
        return;
    }
    int64_t ports = m->is_rom && m->kind != MEMORY_LUTRAM ? 2 : 1;
    int64_t copies = ceil_div(m->readers, ports) * (m->banks > 0 ? m->banks : 1);
    if (m->kind == MEMORY_URAM) {
        sum->uram += copies * memory_blocks_uram(m->width, m->depth);
    } else if (m->kind == MEMORY_BRAM) {
        sum->bram18 += copies * memory_blocks18(m->width, block_words(m));
    } else {
        int64_t parts = m->parts > 0 ? m->parts : 1;
        int64_t luts =
            m->is_rom ? memory_rom_luts(m->width, m->depth) : parts * ram_luts(m, m->width / parts);
        if (!m->is_rom) luts += bank_choice_luts(m->width, m->depth, structure);
        sum->lut += copies * luts;
        sum->ff += copies * m->width; /* behind the read */
    }
}

/* Up to two words are registers with a choice, up to 32 a shift register per bit. */
static void add_shift_register(int64_t width_bits, int64_t depth, Cost *sum)
{
    sum->lut += width_bits * ceil_div(depth, 32);
    sum->ff += depth <= 2 ? 2 * width_bits : 0;
}

static void add_fifo_control(const FifoCosts *costs, int64_t depth, Cost *sum)
{
    int64_t counter = i64_log2_up(depth);
    sum->lut += costs->control_lut + costs->counter_lut * counter;
    sum->ff += costs->control_ff + costs->counter_ff * counter;
}

int64_t memory_fifo_registers(int64_t width_bits, int64_t latency)
{
    enum { HANDSHAKES = 2 };
    return latency > 1 ? (latency - 1) * (width_bits + HANDSHAKES) : 0;
}

void memory_fifo_cost(FifoKind kind, int64_t width_bits, int64_t depth, CostStructure structure,
                      Cost *sum)
{
    const StructureCosts *costs = cost_structure(structure);
    add_fifo_control(kind == FIFO_SRL ? &costs->srl : &costs->fifo, depth, sum);
    if (kind == FIFO_SRL) {
        add_shift_register(width_bits, depth, sum);
    } else if (kind == FIFO_LUTRAM) {
        sum->lut +=
            memory_ram_luts(width_bits, depth) + bank_choice_luts(width_bits, depth, structure);
        sum->ff += costs->has_lutram_register ? width_bits : 0;
    } else {
        sum->bram18 += kind == FIFO_BRAM ? memory_blocks18(width_bits, depth) : 0;
        sum->uram += kind == FIFO_URAM ? memory_blocks_uram(width_bits, depth) : 0;
        sum->lut += costs->has_bypass ? width_bits : 0;
        sum->ff += costs->has_bypass ? width_bits : 0;
    }
}

/* A splat is a constant in the code, and an operand that only gives its shape is not stored. */
static Op *table_of(const Op *generic, uint32_t operand)
{
    Op *def = value_def(op_operand(generic, operand));
    if (!def || !op_has_trait(def, TRAIT_CONSTANT_LIKE) || !linalg_reads_operand(generic, operand))
        return NULL;
    const Attr *value = op_attr(def, "value");
    return value->kind == ATTR_DENSE && !value->u.dense.is_splat ? def : NULL;
}

bool memory_is_loadable(const Type *elem)
{
    enum { MOST_BITS = 64 }; /* of a word of load-weights */
    return type_is_integer(elem) && type_width(elem) <= MOST_BITS;
}

/* Bus words that bring a table's rows in the order of the nest. */
static void set_beats(const ComputeSchedule *sched, const TableLayout *layout, int64_t elem_bits,
                      const PopcountOperand *counted, const Binding *binding, Memory *m)
{
    StreamShape shape;
    int64_t run = 1, passes = 1;
    uint32_t end = sched->loop_count, begin;
    uint64_t used = 0;
    for (uint32_t i = 0; i < layout->loop_count; i++) used |= (uint64_t)1 << layout->by_loop[i];
    while (end > 0 && !(used >> (end - 1) & 1)) end--;
    for (begin = end; begin > 0 && (used >> (begin - 1) & 1); begin--)
        run *= sched->loops[begin - 1].trip;
    for (uint32_t i = 0; i < begin; i++) passes *= sched->loops[i].trip;
    int64_t lanes = counted ? layout->lanes * counted->planes : layout->lanes,
            bits = counted ? 1 : elem_bits;
    const int64_t port_bits = binding->stream_bits, ports = i64_max(1, binding->stream_ports);
    stream_table_shape(lanes, bits, run, port_bits * ports, &shape);
    m->row_bits = lanes * bits;
    m->bus_bits = shape.bus_lanes * STREAM_UNIT_BITS;
    m->bus_ports = ceil_div(m->bus_bits, port_bits);
    m->beats = passes * shape.beats;
    m->beat_rows = shape.rows_per_bus;
}

/* The operand whose words of bits a table is, if products are counts of bits; else NULL. */
static const PopcountOperand *counted_operand(const ComputeSchedule *sched, const Binding *binding,
                                              const Op *generic, uint32_t operand)
{
    bool counts = strcmp(cost_multiplier(sched->main, binding), DFG_MULTIPLIER_POPCOUNT) == 0;
    return counts && generic == sched->main ? sched_popcount_table(sched, operand) : NULL;
}

/* Sets what a table of such words is: in one memory, or a word in each, where rows are too wide or
 * words are loaded one after the other. */
static void set_words(Memory *m, const PopcountOperand *x, int64_t lanes, int64_t bits)
{
    int64_t words = lanes / bits * x->planes;
    m->width = words * bits;
    m->is_counted = true;
    if (m->is_rom && !sched_popcount_splits_rows(words, bits)) return;
    m->width = bits;
    m->banks = words;
    m->parts = 1;
}

/* Tables are read at one place per iteration, a row that holds what all lanes need. One of a single
 * row is logic. */
static void add_table(const ComputeSchedule *sched, const Binding *binding, const Op *generic,
                      uint32_t operand, const AffineMap *map, MemoryList *out)
{
    TableLayout layout;
    Op *holder = table_of(generic, operand);
    if (!holder) return;
    sched_table_layout(sched, map, &layout);
    if (layout.depth == 1) return;
    const Type *elem = type_elem(op_operand(generic, operand)->type);
    int64_t bits = cost_element_bits(elem);
    bool is_loaded = binding->loads_tables && memory_is_loadable(elem);
    const PopcountOperand *counted = counted_operand(sched, binding, generic, operand);
    Memory memory = {.width = layout.lanes * bits,
                     .depth = layout.depth,
                     .readers = 1,
                     .is_rom = !is_loaded,
                     .parts = layout.lanes};
    if (counted) set_words(&memory, counted, layout.lanes, sched->reduction_lanes);
    if (binding->stream_bits > 0 && memory_is_loadable(elem))
        set_beats(sched, &layout, bits, counted, binding, &memory);
    memory.may_stream =
        memory.beats > 0 && generic == sched->main &&
        ((int)operand == sched_compute_weights(sched) || sched_popcount_table(sched, operand));
    MemoryUse *use = add_memory(out, binding, &memory, holder, 0);
    use->reader = generic;
    use->operand = operand;
}

/* Constants that a payload reads where it computes: every lane at a place of its own, and in a bank
 * of its own where it has rows of its own. loops: the payload's as functions of main's. */
static void add_lookups(const ComputeSchedule *sched, const Op *generic, const AffineMap *loops,
                        int64_t lanes, const Binding *binding, MemoryList *out)
{
    FOR_EACH_OP(op, linalg_body(generic)) {
        LookupLayout layout;
        Op *holder = op->def == TENSOR(EXTRACT) ? value_def(op_operand(op, 0)) : NULL;
        if (!holder || !type_is_shaped(op_operand(op, 0)->type)) continue;
        sched_lookup_layout(sched, loops, op, &layout);
        const Memory memory = {.width = cost_element_bits(type_elem(op_operand(op, 0)->type)),
                               .depth = layout.rows.depth * layout.inner,
                               .readers = lanes / layout.rows.lanes,
                               .banks = layout.rows.lanes,
                               .is_rom = true};
        add_memory(out, binding, &memory, holder, 0)->reader = op;
    }
}

/* Words of streams that are wanted again. */
static void add_kept_words(const ComputeSchedule *sched, const Binding *binding, MemoryList *out)
{
    for (uint32_t s = 0; s < sched->stream_count; s++) {
        KeptWords kept;
        uint32_t port = sched->stream_port[s];
        const Type *end = sched->ends ? sched->ends[port] : dfg_port(sched->process, port)->type;
        sched_kept_words(sched, s, &kept);
        if (kept.depth == 1) continue;
        const Memory memory = {.width = dfg_word_elems(end) *
                                        cost_element_bits(type_elem(dfg_payload(end))),
                               .depth = kept.depth,
                               .readers = 1};
        Op *pull = dfg_port(sched->process, port)->uses->owner;
        MemoryUse *use = add_memory(out, binding, &memory, pull, 0);
        use->reader = sched->main;
        use->operand = sched->stream_operand[s];
    }
}

/* Accumulators that wait while others take their turn. */
static void add_sums(const ComputeSchedule *sched, const Binding *binding, MemoryList *out)
{
    if (sched->accumulators == 1 || sched->reduction.turns > 1 || sched_sums_in_registers(sched))
        return;
    for (uint32_t i = 0; i < sched->main->result_count; i++) {
        Value *result = op_result(sched->main, i);
        const Memory memory = {.width = sched->lanes * cost_element_bits(type_elem(result->type)),
                               .depth = sched->accumulators,
                               .readers = 1,
                               .parts = sched->lanes};
        MemoryUse *use = add_memory(out, binding, &memory, value_def(result), 0);
        if (i > 0) use->memory.kind = use[-1].memory.kind; /* they are bound together */
    }
}

void memory_of_compute(const ComputeSchedule *sched, const Binding *binding, MemoryList *out)
{
    for (uint32_t i = 0; i < sched->main->operand_count; i++)
        add_table(sched, binding, sched->main, i, linalg_operand_map(sched->main, i), out);
    for (uint32_t s = 0; s < sched->stage_count; s++)
        for (uint32_t i = 0; i < linalg_input_count(sched->stages[s]); i++)
            if (table_of(sched->stages[s], i))
                add_table(sched, binding, sched->stages[s], i, sched_stage_operand_map(sched, s, i),
                          out);
    add_lookups(sched, sched->main, map_identity(sched->main->ctx, sched->kernel.loop_count),
                sched->lanes * sched->reduction_lanes, binding, out);
    for (uint32_t s = 0; s < sched->stage_count; s++)
        add_lookups(sched, sched->stages[s], sched_stage_loops(sched, s), sched->lanes, binding,
                    out);
    add_kept_words(sched, binding, out);
    add_sums(sched, binding, out);
}

static Op *find_op(const Op *process, const Op *wanted)
{
    FOR_EACH_OP(op, region_entry(op_region(process, 0)))
        if (op == wanted) return op;
    return NULL;
}

/* A history of single words is registers. */
void memory_of_window(const WindowSchedule *sched, const Binding *binding, MemoryList *out)
{
    Op *holder = find_op(sched->process, sched->window);
    int64_t bits = sched->lanes * cost_element_bits(type_elem(op_operand(sched->window, 0)->type));
    for (uint32_t level = 0; level < sched->params.count; level++) {
        int64_t rows = sched_window_taps(sched, level) * sched_window_history(sched, level);
        const Memory memory = {.width = rows * bits,
                               .depth = sched_window_row_words(sched, level),
                               .readers = 1,
                               .parts = rows};
        if (memory.width > 0 && memory.depth > 1) add_memory(out, binding, &memory, holder, level);
    }
}

void memory_of_reorder(const ReorderSchedule *sched, const Binding *binding, MemoryList *out)
{
    int64_t bits = cost_element_bits(type_elem(op_result(sched->reorder, 0)->type));
    const Memory memory = {.width = sched->in_lanes * bits,
                           .depth = sched->depth,
                           .readers = 1,
                           .banks = sched->parts};
    add_memory(out, binding, &memory, find_op(sched->process, sched->reorder), 0);
}

void memory_of_merge(const MergeSchedule *sched, const Binding *binding, MemoryList *out)
{
    int64_t bits = cost_element_bits(type_elem(op_result(sched->merge, 0)->type));
    for (uint32_t i = 0; i < sched->source_count; i++) {
        if (sched->port[i] >= 0 || sched_merge_constant(sched, i)->u.dense.is_splat) continue;
        const Memory memory = {.width = sched->lanes * bits,
                               .depth = sched_merge_words(sched, i),
                               .readers = 1,
                               .is_rom = true};
        MemoryUse *use =
            add_memory(out, binding, &memory, value_def(op_operand(sched->merge, i)), 0);
        use->reader = sched->merge;
        use->operand = i;
    }
}
