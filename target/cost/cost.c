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
    [COST_TRAFFIC] = {DFG_COST_TRAFFIC, "bits of weights from memory a frame"},
};

void cost_add(Cost *sum, const Cost *part)
{
    for (int k = 0; k < COST_KINDS; k++) sum->items[k] += part->items[k];
}

static const Type *port_end_of(const ComputeSchedule *sched, uint32_t port)
{
    return sched->ends ? sched->ends[port] : dfg_port(sched->process, port)->type;
}

static Binding plain_binding(const CostTarget *target)
{
    return (Binding){.loads_tables = target->loads_tables,
                     .is_7_series = target->is_7_series,
                     .stream_bits = target->stream_bits,
                     .stream_ports = target->stream_ports};
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
static void add_word_choices(const ComputeSchedule *sched, const CostTarget *target, Cost *sum)
{
    const uint32_t all = (1u << sched->loop_count) - 1;
    KeptWords kept;
    WordTurns turns;
    for (uint32_t s = 0; s < sched->stream_count; s++) {
        const Type *end = port_end_of(sched, sched->stream_port[s]);
        sched_word_turns(sched, s, &turns);
        sched_kept_words(sched, s, &kept);
        int64_t element = cost_element_bits(type_elem(dfg_payload(end)));
        int64_t bits = cost_word_bits(end);
        bool is_held = sched->moves[s] != all; /* for iterations that do not read */
        sum->lut += cost_choice_luts(turns.lanes * element, turns.turns);
        if (kept.depth > 1) sum->lut += cost_choice_luts(bits, 2);
        if (is_held || cost_structure(target->structure)->has_word_registers) sum->ff += bits;
    }
    for (uint32_t j = 0; j < sched->join_count; j++)
        if (j < sched->starts_from_join || cost_structure(target->structure)->has_word_registers)
            sum->ff += cost_word_bits(port_end_of(sched, sched->joins[j].port));
}

/* An accumulator is a register that starts from its initial value; partial sums are delayed by
 * registers and joined. */
static void add_accumulators(const ComputeSchedule *sched, const CostTarget *target, Cost *sum)
{
    const ReductionSchedule *r = &sched->reduction;
    int64_t bits = 0;
    if (sched->kernel.class == KERNEL_PURE_PARALLEL) return;
    for (uint32_t i = 0; i < sched->main->result_count; i++)
        bits += sched->lanes * cost_element_bits(type_elem(op_result(sched->main, i)->type));
    if (r->steps > 1 || cost_structure(target->structure)->has_word_registers) sum->ff += bits;
    if (r->turns > 1) sum->ff += bits * r->turns * r->distance;
    if (sched_sums_in_registers(sched)) {
        sum->ff += bits * sched->accumulators;
        sum->lut += cost_choice_luts(bits, sched->accumulators);
    }
    if (r->steps > 1) sum->lut += cost_pair_luts(bits, target->structure);
    if (r->turns > 1)
        cost_scalar_op(r->combine, sched->lanes * (r->turns - 1), false, target->clock, sum);
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
 * side; the sum of two others is the slice's pre-adder's, where no other slice shares it. In Verilog
 * the bits below a field are wires, too. */
static int64_t packed_operand_luts(const PackingSchedule *p, const Op *main, int operand,
                                   const CostTarget *target, bool *has_pre_adder)
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
    int64_t below = cost_structure(target->structure)->has_free_wires ? p->grid.stride[operand] : 0;
    return sums * packed * (p->grid.bits[operand] - below);
}

/* Bits of operands that wait for the sums below them in a chain, in shift registers. In Verilog the
 * first three wait in their slices. */
static int64_t chain_delay_luts(const PackingSchedule *p, const CostTarget *target)
{
    enum { IN_SLICES = 3 };
    int64_t bits = p->elements[0] * p->bits[0] + p->elements[1] * p->bits[1];
    if (p->chain_length <= 2) return 0;
    return cost_structure(target->structure)->has_free_wires
               ? bits * i64_max(p->chain_length - IN_SLICES, 0) / p->chain_length
               : bits;
}

/* Products by the schedule's packing: slices; operands put together, and delayed along the cascade;
 * borrows of the fields; sums of a lane's chains. */
static void add_packed(const ComputeSchedule *sched, const CostTarget *target, Cost *sum)
{
    const PackingSchedule *p = &sched->packing;
    int64_t chains = sched->reduction_lanes / p->chain_length, terms = sched->lanes * chains;
    int64_t spacing = p->grid.spacing;
    bool has_pre_adder = true;
    int64_t bits = cost_element_bits(type_elem(op_result(sched->main, 0)->type));
    sum->dsp += p->multiplications;
    for (int i = 0; i < 2; i++)
        sum->lut += packed_operand_luts(p, sched->main, i, target, &has_pre_adder);
    sum->lut += chain_delay_luts(p, target);
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
static void add_kernel(const ComputeSchedule *sched, const char *multiplier,
                       const CostTarget *target, Cost *sum)
{
    Clock clock = target->clock;
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
    add_packed(sched, target, sum);
}

int64_t cost_traffic_cycles(int64_t bits, const CostTarget *target)
{
    enum { PER_RATE = 1000 };
    return target->stream_rate > 0 ? ceil_div(bits * PER_RATE, target->stream_rate) : 0;
}

/* Bus words of a frame at the busiest port to memory. */
static int64_t most_beats(const MemoryList *memories)
{
    int64_t most = 0;
    for (size_t i = 0; i < memories->len; i++)
        if (memories->data[i].memory.kind == MEMORY_STREAM)
            most = i64_max(most, memories->data[i].memory.beats);
    return most;
}

/* A process that reads rows from memory is no faster than they come. */
static void wait_for_rows(int64_t beats, const CostTarget *target, Cost *out)
{
    enum { READER_START = 3 };
    if (beats == 0) return;
    out->cycles = i64_max(out->cycles, beats + READER_START);
    out->cycles = i64_max(out->cycles, cost_traffic_cycles(out->traffic, target));
}

void cost_compute(const ComputeSchedule *sched, const Binding *binding, const CostTarget *target,
                  Cost *out)
{
    MemoryList memories = {0};
    const char *multiplier = cost_multiplier(sched->main, binding);
    *out = (Cost){.cycles = 0};
    memory_of_compute(sched, binding, &memories);
    int64_t beats = most_beats(&memories);
    CostPipeline pipeline = cost_pipeline_compute(sched, &memories, multiplier, target->clock);
    cost_add_schedule(&pipeline, cost_table_rewinds(target), &memories, target, out);
    add_kernel(sched, multiplier, target, out);
    wait_for_rows(beats, target, out);
    for (uint32_t s = 0; s < sched->stage_count; s++)
        cost_payload(sched->stages[s], sched->lanes, false, target->clock, out);
    add_accumulators(sched, target, out);
    add_word_choices(sched, target, out);
    if (cost_structure(target->structure)->has_word_registers)
        out->ff += cost_word_bits(port_end_of(sched, sched->output_port));
    for (uint32_t i = 0; i < sched->loop_count; i++)
        cost_add_counter(sched->loops[i].trip, target->structure, out);
}
