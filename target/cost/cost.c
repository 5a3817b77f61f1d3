/* Costs of processes. Cycles come from their pipelines, arithmetic from their payloads, memories
 * from their lists; this file adds what steers them: counters, conditions, multiplexers and
 * registers. docs/cost-model.md has the formulas.
 * Tests: test/unit/target/cost/cost_test.c, test/e2e/cost_check.py */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "schedule/schedule.h"
#include "target/cost/cost.h"
#include "target/cost/internal.h"

const CostName cost_names[COST_KINDS] = {
    [COST_CYCLES] = {DFG_COST_CYCLES, "cycles"},
    [COST_DSP] = {DFG_COST_DSP, "DSP"},
    [COST_BRAM18] = {DFG_COST_BRAM18, "BRAM18"},
    [COST_URAM] = {DFG_COST_URAM, "URAM"},
    [COST_LUT] = {DFG_COST_LUT, "LUT"},
    [COST_FF] = {DFG_COST_FF, "FF"},
    [COST_FILL] = {DFG_COST_FILL, "cycles to the first word"},
};

void cost_add(Cost *sum, const Cost *part)
{
    for (int k = 0; k < COST_KINDS; k++) sum->items[k] += part->items[k];
}

/* The state machine and the handshakes of a process; a counter takes its bits for counting and as
 * many for comparing. */
enum { PROCESS_LUT = 60, PROCESS_FF = 60 };

static void add_counter(int64_t trips, Cost *sum)
{
    int64_t bits = i64_log2_up(trips);
    sum->lut += 2 * bits;
    sum->ff += bits;
}

static int64_t choice_luts(int64_t bits, int64_t choices)
{
    return bits * ceil_div(choices - 1, 3); /* 4:1 per LUT */
}

static void add_pipeline(CostPipeline *pipeline, bool rewinds, Cost *sum)
{
    pipeline->rewinds = rewinds;
    sum->cycles += cost_pipeline_cycles(pipeline);
    sum->fill += cost_pipeline_fill(pipeline);
    sum->lut += PROCESS_LUT;
    sum->ff += PROCESS_FF + pipeline->depth; /* which stages are busy */
}

/* A pipeline and the memories that it was scheduled with, which are freed. */
static void add_schedule(CostPipeline *pipeline, bool rewinds, MemoryList *memories, Cost *sum)
{
    add_pipeline(pipeline, rewinds, sum);
    for (size_t i = 0; i < memories->len; i++) memory_cost(&memories->data[i].memory, sum);
    vec_free(memories);
}

/* Whether a process that may have tables rewinds: not where it fills them in its first frame. */
static bool table_rewinds(const CostTarget *target)
{
    return target->rewinds && !target->loads_tables;
}

/* A word of a stream is held, or built, in registers. */
static void add_word(const Type *end, Cost *sum)
{
    sum->ff += dfg_word_elems(end) * cost_element_bits(type_elem(dfg_payload(end)));
}

static const Type *port_end_of(const ComputeSchedule *sched, uint32_t port)
{
    return sched->ends ? sched->ends[port] : dfg_port(sched->process, port)->type;
}

static Binding plain_binding(const CostTarget *target)
{
    return (Binding){.loads_tables = target->loads_tables};
}

static void close_choices(MemoryList *memories, const CostTarget *target, Binding *out)
{
    memory_choices(memories, out);
    vec_free(memories);
    out->uram &= target->has_uram;
    out->lutram &= target->counts_luts;
    out->lut_products &= target->counts_luts;
    out->popcount &= target->counts_luts;
}

/* The dfg.multiplier that a kernel came with; empty: none. */
static Str given_multiplier(const Op *generic)
{
    const Attr *given = op_attr(generic, DFG_ATTR_MULTIPLIER);
    return given && given->kind == ATTR_STRING ? given->u.string : STR("");
}

const char *cost_multiplier(const Op *generic, const Binding *binding)
{
    Str given = given_multiplier(generic);
    bool is_given = given.len > 0;
    if (is_given ? str_eq_c(given, DFG_MULTIPLIER_POPCOUNT) : binding->popcount)
        return DFG_MULTIPLIER_POPCOUNT;
    if (is_given ? str_eq_c(given, DFG_MULTIPLIER_LUT) : binding->lut_products)
        return DFG_MULTIPLIER_LUT;
    return DFG_MULTIPLIER_DSP;
}

bool cost_multiplier_is_open(const ComputeSchedule *sched)
{
    return sched->popcount.product || cost_payload_may_use_luts(sched->main);
}

void cost_compute_choices(const ComputeSchedule *sched, const CostTarget *target, Binding *out)
{
    MemoryList memories = {0};
    *out = plain_binding(target);
    memory_of_compute(sched, out, &memories);
    bool is_free = given_multiplier(sched->main).len == 0;
    out->lut_products = is_free && cost_payload_may_use_luts(sched->main);
    out->popcount = is_free && sched->popcount.product;
    close_choices(&memories, target, out);
}

void cost_window_choices(const WindowSchedule *sched, const CostTarget *target, Binding *out)
{
    MemoryList memories = {0};
    *out = plain_binding(target);
    memory_of_window(sched, out, &memories);
    close_choices(&memories, target, out);
}

void cost_reorder_choices(const ReorderSchedule *sched, const CostTarget *target, Binding *out)
{
    MemoryList memories = {0};
    *out = plain_binding(target);
    memory_of_reorder(sched, out, &memories);
    close_choices(&memories, target, out);
}

void cost_merge_choices(const MergeSchedule *sched, const CostTarget *target, Binding *out)
{
    MemoryList memories = {0};
    *out = plain_binding(target);
    memory_of_merge(sched, out, &memories);
    close_choices(&memories, target, out);
}

/* A word is held in registers, and a multiplexer chooses the elements that are taken in turn. Where
 * words are kept, another one chooses between a new word and an old one. */
static void add_word_choices(const ComputeSchedule *sched, Cost *sum)
{
    KeptWords kept;
    WordTurns turns;
    for (uint32_t s = 0; s < sched->stream_count; s++) {
        const Type *end = port_end_of(sched, sched->stream_port[s]);
        sched_word_turns(sched, s, &turns);
        sched_kept_words(sched, s, &kept);
        int64_t element = cost_element_bits(type_elem(dfg_payload(end)));
        int64_t bits = dfg_word_elems(end) * element;
        sum->lut += choice_luts(turns.lanes * element, turns.turns);
        if (kept.depth > 1) sum->lut += choice_luts(bits, 2);
        sum->ff += bits;
    }
}

/* An accumulator is a register that starts from its initial value; partial sums are delayed by
 * registers and joined. */
static void add_accumulators(const ComputeSchedule *sched, Clock clock, Cost *sum)
{
    const ReductionSchedule *r = &sched->reduction;
    int64_t bits = 0;
    if (sched->kernel.class == KERNEL_PURE_PARALLEL) return;
    for (uint32_t i = 0; i < sched->main->result_count; i++)
        bits += sched->lanes * cost_element_bits(type_elem(op_result(sched->main, i)->type));
    sum->ff += bits * (1 + (r->turns > 1 ? r->turns * r->distance : 0));
    if (sched_sums_in_registers(sched)) {
        sum->ff += bits * sched->accumulators;
        sum->lut += choice_luts(bits, sched->accumulators);
    }
    if (r->steps > 1) sum->lut += ceil_div(bits, 2);
    if (r->turns > 1) cost_scalar_op(r->combine, sched->lanes * (r->turns - 1), false, clock, sum);
}

/* The terms of an iteration that are joined by a tree need fewer bits than the accumulator: two
 * more than each of them on average. The payload counts a sum of full width per term. */
static void narrow_tree(const ComputeSchedule *sched, Cost *sum)
{
    int64_t terms = sched->reduction_lanes;
    for (uint32_t i = 0; terms > 1 && i < sched->main->result_count; i++) {
        const Value *term;
        const Op *op = cost_balanced_update(sched->main, i, &term);
        Cost full = {.cycles = 0};
        if (!op || type_is_float(term->type)) continue;
        cost_scalar_op(op, 1, false, (Clock){1}, &full);
        int64_t bits = type_width(term->type), narrow = product_effective_bits(term) + 2;
        if (narrow < bits)
            sum->lut -= sched->lanes * (terms - 1) * (full.lut - full.lut * narrow / bits);
    }
}

/* LUTs that put the fields of an operand together. Fields that are not negative are wires side by
 * side; the sum of two others is the slice's pre-adder's, where no other slice shares it. */
static int64_t packed_operand_luts(const PackingSchedule *p, const Op *main, int operand,
                                   bool *has_pre_adder)
{
    PayloadRange range;
    int64_t sums = p->grid.fields[operand] - 1;
    int64_t packed = ceil_div(p->elements[operand], p->grid.fields[operand]);
    bool is_signed =
        !payload_range(main, op_operand(p->product, (uint32_t)operand), &range) || range.low < 0;
    if (sums == 0 || !is_signed) return 0;
    if (*has_pre_adder && p->multiplications == packed) {
        *has_pre_adder = false;
        sums--;
    }
    return sums * packed * p->grid.bits[operand];
}

/* Products by the schedule's packing: slices; operands put together, and delayed along the cascade;
 * borrows of the fields; sums of a lane's chains. */
static void add_packed(const ComputeSchedule *sched, Cost *sum)
{
    const PackingSchedule *p = &sched->packing;
    int64_t chains = sched->reduction_lanes / p->chain_length, terms = sched->lanes * chains;
    int64_t spacing = p->grid.spacing;
    bool has_pre_adder = true;
    int64_t bits = cost_element_bits(type_elem(op_result(sched->main, 0)->type));
    sum->dsp += p->multiplications;
    for (int i = 0; i < 2; i++) {
        sum->lut += packed_operand_luts(p, sched->main, i, &has_pre_adder);
        if (p->chain_length > 2) sum->lut += p->elements[i] * p->bits[i];
    }
    if (p->grid.fields[0] * p->grid.fields[1] > 1)
        sum->lut += (terms - p->multiplications / p->chain_length) * spacing;
    int64_t field = spacing < bits ? spacing : bits;
    sum->lut += sched->lanes * ((chains - 1) * field + bits);
    sum->ff += terms * field;
}

/* Counts of bits: a leaf of three bits is two LUTs, each a function of the three products' six
 * operands; without products one of two outputs. Then adders, a LUT per bit. */
static void add_counts(int64_t count, int64_t times, int64_t leaf_luts, Clock clock, Cost *sum)
{
    int64_t adders = times * sched_popcount_adder_luts(count),
            leaves = times * leaf_luts * ceil_div(count, POPCOUNT_LEAF);
    sum->lut += leaves + adders;
    sum->ff += ceil_div(leaves * latency_popcount(1).delay + adders * latency_sum(0).delay,
                        clock.usable_ps);
}

/* Products as counts of bits: a count per lane and pair of planes, their sum, the accumulator's; the
 * shared operand's counts. Where an iteration has one product, a pair is a LUT. */
static void add_popcounts(const ComputeSchedule *sched, Clock clock, Cost *sum)
{
    enum { LEAF = 2 };
    const PopcountSchedule *p = &sched->popcount;
    int64_t count = sched->reduction_lanes;
    int64_t pairs = p->operands[0].planes * p->operands[1].planes;
    int64_t bits = cost_element_bits(type_elem(op_result(sched->main, 0)->type));
    int64_t term = i64_min(bits, sched_popcount_bits(count) + p->operands[0].planes +
                                     p->operands[1].planes - 1);
    int64_t terms = pairs + (p->shared >= 0);
    add_counts(count, sched->lanes * pairs, count > 1 ? LEAF : 1, clock, sum);
    sum->lut += sched->lanes * ((terms - 1) * term + bits);
    if (p->shared < 0) return;
    const PopcountOperand *x = &p->operands[p->shared];
    int64_t copies = sched_popcount_lanes(sched, x);
    add_counts(count, copies * x->planes, 1, clock, sum);
    sum->lut += copies * (x->planes - 1) * term;
}

/* The kernel's payload in all lanes. */
static void add_kernel(const ComputeSchedule *sched, const char *multiplier, Clock clock, Cost *sum)
{
    bool in_luts = strcmp(multiplier, DFG_MULTIPLIER_LUT) == 0;
    if (strcmp(multiplier, DFG_MULTIPLIER_POPCOUNT) == 0) {
        add_popcounts(sched, clock, sum);
        return;
    }
    int64_t lanes = sched->lanes * sched->reduction_lanes;
    const Block *body = linalg_body(sched->main);
    if (!sched->packing.is_used || in_luts) {
        cost_payload(sched->main, lanes, in_luts, clock, sum);
        narrow_tree(sched, sum);
        return;
    }
    const Op *total = value_def(op_operand(body->last, 0));
    FOR_EACH_OP(op, body)
        if (op != sched->packing.product && op != total)
            cost_scalar_op(op, lanes, false, clock, sum);
    add_packed(sched, sum);
}

void cost_compute(const ComputeSchedule *sched, const Binding *binding, const CostTarget *target,
                  Cost *out)
{
    MemoryList memories = {0};
    const char *multiplier = cost_multiplier(sched->main, binding);
    *out = (Cost){.cycles = 0};
    memory_of_compute(sched, binding, &memories);
    CostPipeline pipeline = cost_pipeline_compute(sched, &memories, multiplier, target->clock);
    add_schedule(&pipeline, table_rewinds(target), &memories, out);
    add_kernel(sched, multiplier, target->clock, out);
    for (uint32_t s = 0; s < sched->stage_count; s++)
        cost_payload(sched->stages[s], sched->lanes, false, target->clock, out);
    add_accumulators(sched, target->clock, out);
    add_word_choices(sched, out);
    add_word(port_end_of(sched, sched->output_port), out);
    for (uint32_t i = 0; i < sched->loop_count; i++) add_counter(sched->loops[i].trip, out);
}

/* Whether taps of a part lie outside the input somewhere along dimension i. */
static bool is_padded(const WindowSchedule *sched, const WindowPart *part, uint32_t i)
{
    const WindowParams *p = &sched->params;
    int64_t first = part->first[i] * p->dilation[i] - p->low[i];
    int64_t last = first + (p->out[i] - 1) * p->stride[i] + (part->taps[i] - 1) * p->dilation[i];
    return first < 0 || last >= p->in[p->first + i];
}

/* Elements of an output word that lie outside the input somewhere are chosen from it and the
 * padding; the choice is made per kernel position and per output, by comparing each coordinate
 * twice. Returns the word's bits, which are registers. */
static int64_t add_part(const WindowSchedule *sched, uint32_t number, int64_t element, Cost *sum)
{
    enum { COMPARISON = 4 };
    const WindowPart *part = &sched->parts[number];
    int64_t positions = 1, padded = 0, bits = sched_window_lanes(sched, number) * element;
    for (uint32_t i = 0; i < sched->params.count; i++) {
        positions *= part->taps[i] * sched->dim[i].outputs;
        padded += is_padded(sched, part, i);
    }
    if (padded) sum->lut += ceil_div(bits, 2) + positions * padded * 2 * COMPARISON;
    return bits;
}

/* Registers: the word read, histories of single words, the words written. */
void cost_window(const WindowSchedule *sched, const Binding *binding, const CostTarget *target,
                 Cost *out)
{
    MemoryList memories = {0};
    int64_t element = cost_element_bits(type_elem(op_operand(sched->window, 0)->type));
    *out = (Cost){.cycles = 0};
    memory_of_window(sched, binding, &memories);
    CostPipeline pipeline = cost_pipeline_window(sched, &memories, target->clock);
    add_schedule(&pipeline, target->rewinds && sched->outer == 1, &memories, out);
    for (uint32_t level = 0; level < sched->params.count; level++) {
        if (sched_window_row_words(sched, level) == 1)
            out->ff += sched_window_taps(sched, level) * sched_window_history(sched, level) *
                       sched->lanes * element;
        add_counter(sched->box[level], out);
    }
    add_counter(sched->inner_words, out);
    for (uint32_t i = 0; i < sched->part_count; i++) out->ff += add_part(sched, i, element, out);
    out->ff += sched->lanes * element;
}

/* Addresses: a counter for writing, sums of the digits for reading. A word of the result that is
 * less than a tile is chosen from it. */
void cost_reorder(const ReorderSchedule *sched, const Binding *binding, const CostTarget *target,
                  Cost *out)
{
    MemoryList memories = {0};
    int64_t element = cost_element_bits(type_elem(op_result(sched->reorder, 0)->type));
    int64_t bits = sched->lanes * element;
    *out = (Cost){.lut = choice_luts(bits, sched_reorder_choices(sched)),
                  .ff = bits + sched->in_lanes * element};
    memory_of_reorder(sched, binding, &memories);
    CostPipeline pipeline = cost_pipeline_reorder(sched, &memories, target->clock);
    add_schedule(&pipeline, false, &memories, out);
    add_counter(sched->steps, out);
    for (uint32_t i = 0; i < sched->inner_count; i++) add_counter(sched->inner[i], out);
    for (uint32_t i = 0; i < sched->digit_count; i++)
        add_counter(sched->depth, out); /* one term of the address each */
}

void cost_merge(const MergeSchedule *sched, const Binding *binding, const CostTarget *target,
                Cost *out)
{
    MemoryList memories = {0};
    int64_t bits = sched->lanes * cost_element_bits(type_elem(op_result(sched->merge, 0)->type));
    *out = (Cost){.lut = choice_luts(bits, sched->source_count), .ff = bits};
    memory_of_merge(sched, binding, &memories);
    CostPipeline pipeline = cost_pipeline_merge(sched, &memories, target->clock);
    bool rewinds = table_rewinds(target) && sched_merge_reads_once(sched);
    add_schedule(&pipeline, rewinds, &memories, out);
    for (uint32_t d = 0; d < sched->rank; d++) add_counter(sched->extents[d], out);
}

void cost_fork(const Type *word, const CostTarget *target, Cost *out)
{
    int64_t words = dfg_words_per_frame(word);
    CostPipeline pipeline = cost_pipeline_fork(words, target->clock);
    *out = (Cost){.cycles = 0};
    add_pipeline(&pipeline, target->rewinds, out);
    add_counter(words, out);
}

/* The large word is a shift register. Where it is filled at once, all parts but the last choose
 * between the word's and the next one, two bits per LUT. */
static void add_converter(const Type *from, const Type *to, const CostTarget *target, Cost *sum)
{
    int64_t in = dfg_words_per_frame(from), out = dfg_words_per_frame(to);
    bool joins = in > out;
    const Type *large = joins ? to : from, *small = joins ? from : to;
    int64_t words = joins ? out : in, parts = (joins ? in : out) / words;
    CostPipeline pipeline = cost_pipeline_converter(words, parts, joins, target->clock);
    add_pipeline(&pipeline, target->rewinds, sum);
    add_counter(words, sum);
    add_counter(parts, sum);
    add_word(large, sum);
    if (!joins)
        sum->lut += ceil_div((parts - 1) * dfg_word_elems(small) *
                                 cost_element_bits(type_elem(dfg_payload(small))),
                             2);
}

void cost_conversion(const Type *from, const Type *middle, const Type *to, const CostTarget *target,
                     Cost *out)
{
    *out = (Cost){.cycles = 0};
    if (middle) add_converter(from, middle, target, out);
    add_converter(middle ? middle : from, to, target, out);
}
