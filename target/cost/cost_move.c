/* Costs of processes that only move words. Registers are those of the word that is read and the word
 * that is written, or, in Verilog, those that a word crosses between its stages.
 * Tests: test/unit/target/cost/structure_test.c, test/e2e/cost_check.py, bench/rtl */
#include "dialects/dfg/dfg.h"
#include "schedule/schedule.h"
#include "target/cost/cost.h"
#include "target/cost/internal.h"

/* What a window's part is: bits of a word that lie in the newest row, and in earlier ones; whether taps
 * lie before the input or behind it somewhere. */
typedef struct PartCosts {
    int64_t newest, older;
    int64_t positions, padded; /* taps and results of a word; dimensions with padding */
    int64_t coordinate_bits;   /* of those dimensions */
    bool has_low, has_high;
} PartCosts;

/* Lanes of the newest row: those of the word read, and of histories of single words. */
static int64_t newest_lanes(const WindowSchedule *sched)
{
    int64_t lanes = sched->lanes;
    for (uint32_t level = 0; level < sched->params.count; level++)
        if (sched_window_row_words(sched, level) == 1)
            lanes += sched_window_history(sched, level) * sched->lanes;
    return lanes;
}

static PartCosts part_costs(const WindowSchedule *sched, uint32_t number, int64_t element)
{
    const WindowPart *part = &sched->parts[number];
    const WindowParams *p = &sched->params;
    int64_t lanes = sched_window_lanes(sched, number);
    bool has_newest = part->first[0] + part->taps[0] == p->kernel[0];
    PartCosts costs = {.positions = 1};
    costs.newest = has_newest ? i64_min(newest_lanes(sched), lanes) * element : 0;
    costs.older = lanes * element - costs.newest;
    for (uint32_t i = 0; i < p->count; i++) {
        int64_t first = part->first[i] * p->dilation[i] - p->low[i];
        int64_t last =
            first + (p->out[i] - 1) * p->stride[i] + (part->taps[i] - 1) * p->dilation[i];
        bool is_low = first < 0, is_high = last >= p->in[p->first + i];
        costs.positions *= part->taps[i] * sched->dim[i].outputs;
        costs.padded += is_low || is_high;
        if (is_low || is_high) costs.coordinate_bits += i64_log2_up(sched->box[i]);
        costs.has_low |= is_low;
        costs.has_high |= is_high;
    }
    return costs;
}

/* Elements of an output word that lie outside the input somewhere are chosen from it and the
 * padding; HLS tools decide per kernel position and per output, by comparing each coordinate
 * twice. In Verilog each comparison is there once; the newest row may lie behind the input, others
 * before it. */
static void add_padding(const PartCosts *part, CostStructure structure, Cost *sum)
{
    enum { COMPARISON_LUT = 4 };
    if (part->padded && cost_structure(structure)->shares_conditions)
        sum->lut += 2 * part->coordinate_bits + (part->has_low ? part->older : 0) +
                    (part->has_high ? part->newest : 0);
    else if (part->padded)
        sum->lut += ceil_div(part->newest + part->older, 2) +
                    part->positions * part->padded * 2 * COMPARISON_LUT;
}

/* Registers of a window's part in Verilog. What memories hold is there a cycle after the iteration
 * begins, the newest row when it is read; both wait for the write. Bits that wait without a choice
 * between them are shift registers of LUTs, and a row that needs no padding waits in the FIFO. */
static void add_stages(const PartCosts *part, const CostPipeline *pipeline, bool has_memories,
                       Cost *sum)
{
    enum { LOADED = 1, SHIFT_REGISTER = 2 };
    int64_t waits = pipeline->write - LOADED;
    if (waits >= SHIFT_REGISTER && !part->has_low)
        sum->lut += part->older;
    else
        sum->ff += i64_max(waits, 0) * part->older;
    if (part->has_low || !has_memories)
        sum->ff += (pipeline->write - pipeline->read) * part->newest;
}

/* Registers: the word read, histories of single words, the words written; in Verilog what waits
 * between the stages, and addresses, which wait for the stores behind the loads. */
void cost_window(const WindowSchedule *sched, const Binding *binding, const CostTarget *target,
                 Cost *out)
{
    MemoryList memories = {0};
    int64_t element = cost_element_bits(type_elem(op_operand(sched->window, 0)->type));
    bool has_words = cost_structure(target->structure)->has_word_registers;
    *out = (Cost){.ff = has_words ? sched->lanes * element : 0};
    memory_of_window(sched, binding, &memories);
    CostPipeline pipeline = cost_pipeline_window(sched, &memories, target->clock);
    for (uint32_t i = 0; i < sched->part_count; i++) {
        const PartCosts part = part_costs(sched, i, element);
        add_padding(&part, target->structure, out);
        if (has_words)
            out->ff += part.newest + part.older;
        else
            add_stages(&part, &pipeline, memories.len > 0, out);
    }
    for (size_t i = 0; !has_words && i < memories.len; i++)
        out->ff += pipeline.write * i64_log2_up(memories.data[i].memory.depth);
    cost_add_schedule(&pipeline, target->rewinds && sched->outer == 1, &memories, target, out);
    for (uint32_t level = 0; level < sched->params.count; level++) {
        if (sched_window_row_words(sched, level) == 1)
            out->ff += sched_window_taps(sched, level) * sched_window_history(sched, level) *
                       sched->lanes * element;
        cost_add_counter(sched->box[level], target->structure, out);
    }
    cost_add_counter(sched->inner_words, target->structure, out);
}

/* Addresses: a counter for writing, sums of the digits for reading. A word of the result that is
 * less than a tile is chosen from it. */
void cost_reorder(const ReorderSchedule *sched, const Binding *binding, const CostTarget *target,
                  Cost *out)
{
    MemoryList memories = {0};
    int64_t element = cost_element_bits(type_elem(op_result(sched->reorder, 0)->type));
    int64_t bits = sched->lanes * element;
    *out = (Cost){.lut = cost_choice_luts(bits, sched_reorder_choices(sched)) +
                         cost_structure(target->structure)->bound_lut * sched->bound_count};
    if (sched->depth < sched->tiles)
        out->lut += cost_structure(target->structure)->wrap_lut * i64_log2_up(sched->tiles);
    memory_of_reorder(sched, binding, &memories);
    CostPipeline pipeline = cost_pipeline_reorder(sched, &memories, target->clock);
    if (cost_structure(target->structure)->has_word_registers || pipeline.write - pipeline.read > 1)
        out->ff += bits + sched->in_lanes * element;
    cost_add_schedule(&pipeline, false, &memories, target, out);
    cost_add_counter(sched->steps, target->structure, out);
    for (uint32_t i = 0; i < sched->inner_count; i++)
        cost_add_counter(sched->inner[i], target->structure, out);
    for (uint32_t i = 0; i < sched->digit_count; i++)
        cost_add_counter(sched->depth, target->structure, out); /* one term of the address each */
}

void cost_merge(const MergeSchedule *sched, const Binding *binding, const CostTarget *target,
                Cost *out)
{
    MemoryList memories = {0};
    int64_t bits = sched->lanes * cost_element_bits(type_elem(op_result(sched->merge, 0)->type));
    *out = (Cost){.lut = cost_choice_luts(bits, sched->source_count) +
                         cost_structure(target->structure)->source_lut * sched->source_count,
                  .ff = bits};
    memory_of_merge(sched, binding, &memories);
    CostPipeline pipeline = cost_pipeline_merge(sched, &memories, target->clock);
    bool rewinds = cost_table_rewinds(target) && sched_merge_reads_once(sched);
    cost_add_schedule(&pipeline, rewinds, &memories, target, out);
    for (uint32_t d = 0; d < sched->rank; d++)
        cost_add_counter(sched->extents[d], target->structure, out);
}

void cost_fork(const Type *word, const CostTarget *target, Cost *out)
{
    int64_t words = dfg_words_per_frame(word);
    CostPipeline pipeline = cost_pipeline_fork(words, target->clock);
    *out = (Cost){.cycles = 0};
    cost_add_pipeline(&pipeline, target->rewinds, target, out);
    cost_add_counter(words, target->structure, out);
}

/* The large word is a shift register. Where it is filled at once, all parts but the last choose
 * between the word's and the next one, two bits per LUT. */
static void add_converter(const Type *from, const Type *to, const CostTarget *target, Cost *sum)
{
    int64_t in = dfg_words_per_frame(from), out = dfg_words_per_frame(to);
    bool joins = in > out;
    const Type *large = joins ? to : from, *small = joins ? from : to;
    int64_t words = joins ? out : in, parts = (joins ? in : out) / words;
    int64_t waiting = (parts - 1) * cost_word_bits(small);
    CostPipeline pipeline = cost_pipeline_converter(words, parts, joins, target->clock);
    cost_add_pipeline(&pipeline, target->rewinds, target, sum);
    cost_add_counter(words, target->structure, sum);
    cost_add_counter(parts, target->structure, sum);
    sum->ff +=
        cost_structure(target->structure)->has_word_registers ? cost_word_bits(large) : waiting;
    if (!joins) sum->lut += cost_pair_luts(waiting, target->structure);
}

void cost_conversion(const Type *from, const Type *middle, const Type *to, const CostTarget *target,
                     Cost *out)
{
    *out = (Cost){.cycles = 0};
    if (middle) add_converter(from, middle, target, out);
    add_converter(middle ? middle : from, to, target, out);
}
