/* Costs of processes: cycles from their pipelines, arithmetic from their payloads, memories from their
 * lists, and what steers them: counters, conditions, multiplexers, registers.
 * Tests: test/unit/cost_test.c, test/e2e/cost_check.py */
#include "target/cost/cost.h"

#include "dialects/linalg/linalg.h"
#include "dialects/linalg/structured.h"
#include "target/cost/pipeline.h"
#include "schedule/product.h"

const CostName cost_names[COST_KINDS] = {
    [COST_CYCLES] = {"cycles", "cycles"}, [COST_DSP] = {"dsp", "DSP"},
    [COST_BRAM18] = {"bram18", "BRAM18"}, [COST_URAM] = {"uram", "URAM"},
    [COST_LUT] = {"lut", "LUT"},          [COST_FF] = {"ff", "FF"},
    [COST_FILL] = {"fill", "cycles to the first word"},
};

void cost_add(Cost *sum, const Cost *part)
{
    for (int k = 0; k < COST_KINDS; k++)
        sum->items[k] += part->items[k];
}

/* --- parts ----------------------------------------------------------------------------------- */

/* The state machine and the handshakes of a process; a counter takes its bits for counting and as many
 * for comparing. */
enum { PROCESS_LUT = 60, PROCESS_FF = 60 };

static void add_counter(int64_t trips, Cost *sum)
{
    int64_t bits = 0;
    while (((int64_t)1 << bits) < trips)
        bits++;
    sum->lut += 2 * bits;
    sum->ff += bits;
}

static int64_t choice_luts(int64_t bits, int64_t choices)
{
    return bits * ceil_div(choices - 1, 3); /* 4:1 per LUT */
}

static void add_pipeline(const Pipeline *pipeline, Cost *sum)
{
    sum->cycles += cost_pipeline_cycles(pipeline);
    sum->fill += cost_pipeline_fill(pipeline);
    sum->lut += PROCESS_LUT;
    sum->ff += PROCESS_FF + pipeline->depth; /* which stages are busy */
}

/* A pipeline and the memories that it was scheduled with, which are freed. */
static void add_schedule(const Pipeline *pipeline, MemoryList *memories, Cost *sum)
{
    add_pipeline(pipeline, sum);
    for (size_t i = 0; i < memories->len; i++)
        memory_cost(&memories->data[i].memory, sum);
    vec_free(memories);
}

/* A word of a stream is held, or built, in registers. */
static void add_word(const Type *end, Cost *sum)
{
    sum->ff += dfg_word_elems(end) * cost_element_bits(type_elem(dfg_payload(end)));
}

static const Type *port_end_of(const ComputePlan *plan, uint32_t port)
{
    return plan->ends ? plan->ends[port] : dfg_port(plan->process, port)->type;
}

/* --- choices --------------------------------------------------------------------------------- */

static Style plain_style(const CostTarget *target)
{
    return (Style){.loads_tables = target->loads_tables};
}

static void close_choices(MemoryList *memories, const CostTarget *target, Style *out)
{
    memory_choices(memories, out);
    vec_free(memories);
    out->uram &= target->has_uram;
    out->lutram &= target->counts_luts;
    out->lut_products &= target->counts_luts;
}

/* The dfg.multiplier that a kernel came with: "dsp" or "lut"; empty: none. */
static Str given_multiplier(const Op *generic)
{
    const Attr *given = op_attr(generic, "dfg.multiplier");
    return given && given->kind == ATTR_STRING ? given->u.string : STR("");
}

bool cost_multiplies_in_luts(const Op *generic, const Style *style)
{
    Str given = given_multiplier(generic);
    return given.len ? str_eq_c(given, "lut") : style->lut_products;
}

void cost_compute_choices(const ComputePlan *plan, const CostTarget *target, Style *out)
{
    MemoryList memories = {0};
    *out = plain_style(target);
    memory_of_compute(plan, out, &memories);
    out->lut_products = given_multiplier(plan->main).len == 0 && cost_payload_may_use_luts(plan->main);
    close_choices(&memories, target, out);
}

void cost_window_choices(const WindowPlan *plan, const CostTarget *target, Style *out)
{
    MemoryList memories = {0};
    *out = plain_style(target);
    memory_of_window(plan, out, &memories);
    close_choices(&memories, target, out);
}

void cost_reorder_choices(const ReorderPlan *plan, const CostTarget *target, Style *out)
{
    MemoryList memories = {0};
    *out = plain_style(target);
    memory_of_reorder(plan, out, &memories);
    close_choices(&memories, target, out);
}

void cost_merge_choices(const MergePlan *plan, const CostTarget *target, Style *out)
{
    MemoryList memories = {0};
    *out = plain_style(target);
    memory_of_merge(plan, out, &memories);
    close_choices(&memories, target, out);
}

/* --- compute --------------------------------------------------------------------------------- */

/* Each element taken from a word is one of those that take turns. */
static void add_word_choices(const ComputePlan *plan, Cost *sum)
{
    int64_t turns = 1;
    for (uint32_t s = 0; s < plan->stream_count; s++) {
        const AffineMap *map = linalg_operand_map(plan->main, plan->stream_operand[s]);
        const Type *end = port_end_of(plan, plan->stream_port[s]);
        turns = 1;
        for (uint32_t i = plan->read_depth; i < plan->loop_count; i++)
            if (map_result_of_dim(map, plan->loops[i].loop) >= 0)
                turns *= plan->loops[i].trip;
        int64_t bits = dfg_word_elems(end) * cost_element_bits(type_elem(dfg_payload(end)));
        sum->lut += choice_luts(ceil_div(bits, turns), turns);
        sum->ff += bits;
    }
}

/* An accumulator is a register that starts from its initial value; partial sums are delayed by
 * registers and joined. */
static void add_accumulators(const ComputePlan *plan, Clock clock, Cost *sum)
{
    const ReductionPlan *r = &plan->reduction;
    int64_t bits = 0;
    if (plan->kernel.class == KERNEL_PURE_PARALLEL)
        return;
    for (uint32_t i = 0; i < plan->main->result_count; i++)
        bits += plan->lanes * cost_element_bits(type_elem(op_result(plan->main, i)->type));
    sum->ff += bits * (1 + (r->turns > 1 ? r->turns * r->distance : 0));
    if (r->steps > 1)
        sum->lut += ceil_div(bits, 2);
    if (r->turns > 1)
        cost_scalar_op(r->combine, plan->lanes * (r->turns - 1), false, clock, sum);
}

/* The terms of an iteration that are joined by a tree need fewer bits than the accumulator: two more
 * than each of them on average. The payload counts a sum of full width per term. */
static void narrow_tree(const ComputePlan *plan, Cost *sum)
{
    int64_t terms = plan->reduction_lanes;
    for (uint32_t i = 0; terms > 1 && i < plan->main->result_count; i++) {
        const Value *term;
        const Op *op = cost_balanced_update(plan->main, i, &term);
        Cost full = {.cycles = 0};
        if (!op || type_is_float(term->type))
            continue;
        cost_scalar_op(op, 1, false, (Clock){1}, &full);
        int64_t bits = type_width(term->type), narrow = product_effective_bits(term) + 2;
        if (narrow < bits)
            sum->lut -= plan->lanes * (terms - 1) * (full.lut - full.lut * narrow / bits);
    }
}

/* Products by the plan's packing: slices; operands put together, of which the slice's pre-adder takes
 * one sum, and delayed along the cascade; borrows of the fields; sums of a lane's chains. */
static void add_packed(const ComputePlan *plan, Cost *sum)
{
    const PackingPlan *p = &plan->packing;
    int64_t chains = plan->reduction_lanes / p->chain_length, terms = plan->lanes * chains;
    int64_t spacing = p->grid.spacing, free_sums = 1;
    int64_t bits = cost_element_bits(type_elem(op_result(plan->main, 0)->type));
    sum->dsp += p->multiplications;
    for (int i = 0; i < 2; i++) {
        int64_t sums = p->grid.fields[i] - 1, packed = ceil_div(p->elements[i], p->grid.fields[i]);
        int64_t taken = sums < free_sums ? sums : free_sums;
        sum->lut += (sums - taken) * packed * p->grid.bits[i];
        free_sums -= taken;
        if (p->chain_length > 2)
            sum->lut += p->elements[i] * p->bits[i];
    }
    if (p->grid.fields[0] * p->grid.fields[1] > 1)
        sum->lut += (terms - p->multiplications / p->chain_length) * spacing;
    int64_t field = spacing < bits ? spacing : bits;
    sum->lut += plan->lanes * ((chains - 1) * field + bits);
    sum->ff += terms * field;
}

/* The kernel's payload in all lanes. */
static void add_kernel(const ComputePlan *plan, bool in_luts, Clock clock, Cost *sum)
{
    int64_t lanes = plan->lanes * plan->reduction_lanes;
    const Block *body = linalg_body(plan->main);
    if (!plan->packing.is_used || in_luts) {
        cost_payload(plan->main, lanes, in_luts, clock, sum);
        narrow_tree(plan, sum);
        return;
    }
    const Op *total = value_def(op_operand(body->last, 0));
    FOR_EACH_OP(op, body)
    if (op != plan->packing.product && op != total)
        cost_scalar_op(op, lanes, false, clock, sum);
    add_packed(plan, sum);
}

void cost_compute(const ComputePlan *plan, const Style *style, const CostTarget *target, Cost *out)
{
    MemoryList memories = {0};
    bool in_luts = cost_multiplies_in_luts(plan->main, style);
    *out = (Cost){.cycles = 0};
    memory_of_compute(plan, style, &memories);
    Pipeline pipeline = cost_pipeline_compute(plan, &memories, in_luts, target->clock);
    add_schedule(&pipeline, &memories, out);
    add_kernel(plan, in_luts, target->clock, out);
    for (uint32_t s = 0; s < plan->stage_count; s++)
        cost_payload(plan->stages[s], plan->lanes, false, target->clock, out);
    add_accumulators(plan, target->clock, out);
    add_word_choices(plan, out);
    add_word(port_end_of(plan, plan->output_port), out);
    for (uint32_t i = 0; i < plan->loop_count; i++)
        add_counter(plan->loops[i].trip, out);
}

/* --- windows --------------------------------------------------------------------------------- */

/* Elements of an output word that lie outside the input somewhere are chosen from it and the padding;
 * the choice is made per kernel position and per output, by comparing each coordinate twice. */
static void add_padding(const WindowPlan *plan, int64_t bits, Cost *sum)
{
    enum { COMPARISON = 4 };
    int64_t positions = 1, padded = 0;
    for (uint32_t i = 0; i < plan->params.count; i++) {
        positions *= plan->params.kernel[i] * plan->dim[i].outputs;
        padded += plan->params.low[i] > 0 || plan->params.high[i] > 0;
    }
    if (padded)
        sum->lut += ceil_div(bits, 2) + positions * padded * 2 * COMPARISON;
}

/* Registers: the word read, histories of single words, the word written. */
void cost_window(const WindowPlan *plan, const Style *style, const CostTarget *target, Cost *out)
{
    MemoryList memories = {0};
    int64_t element = cost_element_bits(type_elem(op_operand(plan->window, 0)->type)), outputs = 1;
    *out = (Cost){.cycles = 0};
    memory_of_window(plan, style, &memories);
    Pipeline pipeline = cost_pipeline_window(plan, &memories, target->clock);
    add_schedule(&pipeline, &memories, out);
    for (uint32_t level = 0; level < plan->params.count; level++) {
        outputs *= plan->params.kernel[level] * plan->dim[level].outputs;
        if (sched_window_row_words(plan, level) == 1)
            out->ff += sched_window_taps(plan, level) * sched_window_history(plan, level) * plan->lanes * element;
        add_counter(plan->box[level], out);
    }
    add_counter(plan->inner_words, out);
    int64_t word = outputs * plan->outer_lanes * plan->inner_lanes * element;
    add_padding(plan, word, out);
    out->ff += word + plan->lanes * element;
}

/* --- moves ----------------------------------------------------------------------------------- */

/* Addresses: a counter for writing, sums of the digits for reading. */
void cost_reorder(const ReorderPlan *plan, const Style *style, const CostTarget *target, Cost *out)
{
    MemoryList memories = {0};
    int64_t bits = plan->lanes * cost_element_bits(type_elem(op_result(plan->reorder, 0)->type));
    *out = (Cost){.ff = 2 * bits};
    memory_of_reorder(plan, style, &memories);
    Pipeline pipeline = cost_pipeline_reorder(plan, &memories, target->clock);
    add_schedule(&pipeline, &memories, out);
    add_counter(plan->steps, out);
    for (uint32_t i = 0; i < plan->inner_count; i++)
        add_counter(plan->inner[i], out);
    for (uint32_t i = 0; i < plan->digit_count; i++)
        add_counter(plan->depth, out); /* one term of the address each */
}

void cost_merge(const MergePlan *plan, const Style *style, const CostTarget *target, Cost *out)
{
    MemoryList memories = {0};
    int64_t bits = plan->lanes * cost_element_bits(type_elem(op_result(plan->merge, 0)->type));
    *out = (Cost){.lut = choice_luts(bits, plan->source_count), .ff = bits};
    memory_of_merge(plan, style, &memories);
    Pipeline pipeline = cost_pipeline_merge(plan, &memories, target->clock);
    add_schedule(&pipeline, &memories, out);
    for (uint32_t d = 0; d < plan->rank; d++)
        add_counter(plan->extents[d], out);
}

void cost_fork(const Type *word, const CostTarget *target, Cost *out)
{
    int64_t words = dfg_words_per_frame(word);
    Pipeline pipeline = cost_pipeline_fork(words, target->clock);
    *out = (Cost){.cycles = 0};
    add_pipeline(&pipeline, out);
    add_counter(words, out);
}

/* --- converters ------------------------------------------------------------------------------ */

/* The large word is a register that is filled part by part, or of which one part is chosen. */
static void add_converter(const Type *from, const Type *to, const CostTarget *target, Cost *sum)
{
    int64_t in = dfg_words_per_frame(from), out = dfg_words_per_frame(to);
    bool joins = in > out;
    const Type *large = joins ? to : from, *small = joins ? from : to;
    int64_t words = joins ? out : in, parts = (joins ? in : out) / words;
    Pipeline pipeline = cost_pipeline_converter(words, parts, dfg_word_elems(large), joins,
                                           target->clock);
    add_pipeline(&pipeline, sum);
    add_counter(words, sum);
    add_counter(parts, sum);
    add_word(large, sum);
    if (!joins)
        sum->lut += choice_luts(dfg_word_elems(small) * cost_element_bits(type_elem(dfg_payload(small))),
                                parts);
}

void cost_conversion(const Type *from, const Type *middle, const Type *to, const CostTarget *target,
                     Cost *out)
{
    *out = (Cost){.cycles = 0};
    if (middle)
        add_converter(from, middle, target, out);
    add_converter(middle ? middle : from, to, target, out);
}
