/* The pipeline of a compute process, in the order of an iteration: words and tables are read,
 * products are joined by trees or chains and taken into the accumulators, the epilogue finishes
 * the result and writes it.
 * Tests: test/unit/target/cost/pipeline_test.c, test/e2e/cost_check.py */
#include <string.h>

#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "target/cost/cost.h"
#include "target/cost/internal.h"

typedef struct ComputeTimer {
    const ComputeSchedule *sched;
    const MemoryList *memories;
    bool lut_products, counts_bits;
    Iteration it;
    int64_t words[SCHED_MAX_STREAMS]; /* when the word of each stream is there */
    int64_t joined[SCHED_MAX_STREAMS];
    int64_t carried; /* when a sum that an iteration before has left is there */
    int64_t leaves;  /* when that of this iteration is */
    PtrMap times;    /* of the values of the payload being walked; plus 1 */
} ComputeTimer;

/* Stream that an operand of main is; -1: none. */
static int stream_of(const ComputeSchedule *sched, uint32_t operand)
{
    for (uint32_t s = 0; s < sched->stream_count; s++)
        if (sched->stream_operand[s] == operand) return (int)s;
    return -1;
}

/* Joined stream that an operand of a stage is; -1: none. */
static int join_of(const ComputeSchedule *sched, const Op *generic, uint32_t operand)
{
    for (uint32_t s = 0; s < sched->stage_count; s++)
        if (sched->stages[s] == generic) return sched_find_join(sched, s, operand);
    return -1;
}

static const MemoryUse *find_memory(const ComputeTimer *t, const Op *reader, uint32_t operand)
{
    for (size_t i = 0; i < t->memories->len; i++) {
        const MemoryUse *use = &t->memories->data[i];
        if (use->reader == reader && use->operand == operand) return use;
    }
    return NULL;
}

static int64_t load_time(ComputeTimer *t, const MemoryUse *use, int64_t ready)
{
    return iteration_op(&t->it, ready, latency_memory_load(memory_kind_name(use->memory.kind)));
}

/* When an operand is there: an element of a word, of a table, or a constant. */
static int64_t operand_time(ComputeTimer *t, const Op *generic, uint32_t operand)
{
    const MemoryUse *use = find_memory(t, generic, operand);
    int stream = generic == t->sched->main ? stream_of(t->sched, operand) : -1;
    int join = join_of(t->sched, generic, operand);
    if (stream >= 0) {
        WordTurns turns;
        sched_word_turns(t->sched, (uint32_t)stream, &turns);
        return iteration_op(&t->it, t->words[stream], latency_register_load(turns.turns));
    }
    if (join >= 0) return t->joined[join];
    return use ? load_time(t, use, 0) : 0;
}

static int64_t value_time(const ComputeTimer *t, const Value *value)
{
    int64_t time = (int64_t)(uintptr_t)ptrmap_get(&t->times, value) - 1;
    return i64_max(time, 0);
}

static void set_time(ComputeTimer *t, const Value *value, int64_t time)
{
    ptrmap_put(&t->times, value, (void *)(uintptr_t)(time + 1));
}

static OpTiming scalar_timing(const ComputeTimer *t, const Op *op)
{
    if (op->def == ARITH(MULI) && t->lut_products && op->block == linalg_body(t->sched->main))
        return latency_lut_product(op);
    return latency_op(op, t->it.clock);
}

static void time_op(ComputeTimer *t, const Op *op)
{
    const MemoryUse *table = op->def == TENSOR(EXTRACT) ? find_memory(t, op, 0) : NULL;
    int64_t ready = 0, done;
    for (uint32_t i = 0; i < op->operand_count; i++)
        ready = i64_max(ready, value_time(t, op_operand(op, i)));
    if (table)
        done = load_time(t, table, ready);
    else
        done = op->def && op->def->dialect == &linalg_dialect
                   ? 0
                   : iteration_op(&t->it, ready, scalar_timing(t, op));
    for (uint32_t i = 0; i < op->result_count; i++) set_time(t, op_result(op, i), done);
}

/* Walks a payload whose arguments from the first init on, and `flow` among the inputs, have
 * times. */
static void time_payload(ComputeTimer *t, const Op *generic, const Value *flow, int64_t flow_time,
                         const Op *without)
{
    const Block *body = linalg_body(generic);
    for (uint32_t i = 0; i < linalg_input_count(generic); i++) {
        if (!value_has_uses(body->args[i])) continue;
        bool flows = flow && reshape_source(op_operand(generic, i)) == flow;
        set_time(t, body->args[i], flows ? flow_time : operand_time(t, generic, i));
    }
    for (const Op *op = body->first; op != body->last; op = op->next)
        if (op != without) time_op(t, op);
}

static int64_t yielded_time(const ComputeTimer *t, const Op *generic, uint32_t i)
{
    return value_time(t, op_operand(linalg_body(generic)->last, i));
}

/* The constraints of "all reduction counters are at their first value" and the like. */
static int64_t reduction_edge(const ComputeSchedule *sched)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < sched->loop_count; i++) count += sched->loops[i].is_reduction;
    return count;
}

static int64_t choose(ComputeTimer *t, int64_t condition, int64_t value)
{
    return iteration_op(&t->it, i64_max(condition, value), latency_register_load(2));
}

/* When a word that is read in the first or the last step of a reduction is there. */
static int64_t read_at_edge(ComputeTimer *t)
{
    return iteration_read(&t->it, iteration_condition(&t->it, reduction_edge(t->sched), 0));
}

static int64_t initial_time(ComputeTimer *t, uint32_t result)
{
    const Op *main = t->sched->main, *stage = t->sched->stages[0];
    int64_t time = operand_time(t, main, linalg_input_count(main) + result);
    if (!t->sched->starts_from_join) return time;
    t->joined[0] = read_at_edge(t);
    time_payload(t, stage, op_result(main, 0), time, NULL);
    return yielded_time(t, stage, 0);
}

/* The memory of accumulators that wait while others are updated; NULL: none do. */
static const MemoryUse *waiting_sums(const ComputeTimer *t)
{
    for (size_t i = t->memories->len; i-- > 0;)
        if (!t->memories->data[i].reader) return &t->memories->data[i];
    return NULL;
}

/* When the accumulator that an iteration continues is there. */
static int64_t started_sum(ComputeTimer *t, uint32_t result)
{
    const MemoryUse *waiting = waiting_sums(t);
    int64_t edge = reduction_edge(t->sched), initial = initial_time(t, result);
    int64_t so_far = t->carried;
    if (edge == 0) return initial;
    if (waiting)
        so_far = load_time(t, waiting, so_far);
    else if (sched_sums_in_registers(t->sched))
        so_far = iteration_op(&t->it, so_far, latency_register_load(t->sched->accumulators));
    return choose(t, iteration_condition(&t->it, edge, 0), i64_max(initial, so_far));
}

static bool is_associative(const Op *op)
{
    static const OpDef *const defs[] = {ARITH(ADDI),  ARITH(MAXSI), ARITH(MAXUI),
                                        ARITH(MINSI), ARITH(MINUI), ARITH(MULI),
                                        ARITH(ANDI),  ARITH(ORI),   ARITH(XORI)};
    for (size_t i = 0; i < COUNT_OF(defs); i++)
        if (op->def == defs[i]) return true;
    return false;
}

const Op *cost_balanced_update(const Op *generic, uint32_t result, const Value **term)
{
    const Block *body = linalg_body(generic);
    const Value *acc = body->args[linalg_input_count(generic) + result];
    const Op *op = value_def(op_operand(body->last, result));
    if (!op || op->block != body || !is_associative(op) ||
        (op_operand(op, 0) != acc && op_operand(op, 1) != acc))
        return NULL;
    *term = op_operand(op, op_operand(op, 0) == acc ? 1 : 0);
    return op;
}

static int64_t tree_time(ComputeTimer *t, int64_t time, int64_t terms, OpTiming timing)
{
    for (; terms > 1; terms = (terms + 1) / 2) time = iteration_op(&t->it, time, timing);
    return time;
}

/* One copy of the update, from accumulators at `sums` to their next values. */
static void time_update(ComputeTimer *t, int64_t *sums)
{
    const Op *main = t->sched->main;
    const Block *body = linalg_body(main);
    for (uint32_t i = 0; i < main->result_count; i++)
        set_time(t, body->args[linalg_input_count(main) + i], sums[i]);
    time_payload(t, main, NULL, 0, NULL);
    for (uint32_t i = 0; i < main->result_count; i++)
        sums[i] = i64_max(sums[i], yielded_time(t, main, i));
}

/* All reduction lanes: trees where sums are balanced, else one copy after the other. */
static void time_lanes(ComputeTimer *t, int64_t *sums)
{
    const Op *main = t->sched->main;
    int64_t begun[SCHED_MAX_RESULTS], copies = t->sched->reduction_lanes, chain = 1;
    for (uint32_t i = 0; i < main->result_count; i++) begun[i] = sums[i];
    time_update(t, sums);
    for (uint32_t i = 0; copies > 1 && i < main->result_count; i++) {
        const Value *term;
        const Op *op = cost_balanced_update(main, i, &term);
        if (!op) {
            chain = copies;
            continue;
        }
        OpTiming timing = latency_op(op, t->it.clock);
        int64_t time = tree_time(t, value_time(t, term), copies, timing);
        sums[i] = iteration_op(&t->it, i64_max(time, begun[i]), timing);
    }
    for (int64_t i = 1; i < chain; i++) time_update(t, sums);
}

/* The term of an iteration, joined by a tree, taken into the accumulator or into a partial sum. */
static int64_t time_term(ComputeTimer *t)
{
    const ComputeSchedule *sched = t->sched;
    const ReductionSchedule *r = &sched->reduction;
    OpTiming timing = latency_op(r->combine, t->it.clock);
    int64_t edge = reduction_edge(sched), so_far;
    time_payload(t, sched->main, NULL, 0, r->combine);
    int64_t term = tree_time(t, value_time(t, sched_reduction_term(r->combine)),
                             sched->reduction_lanes, timing);
    if (sched_is_done_at_once(sched)) return term;
    if (r->turns == 1)
        so_far = started_sum(t, 0);
    else
        so_far = choose(t, iteration_condition(&t->it, 1, 2 * edge * latency_counter_sum()),
                        i64_max(initial_time(t, 0), t->carried));
    t->leaves = iteration_op(&t->it, i64_max(so_far, term), timing);
    return tree_time(t, t->leaves, r->turns, timing);
}

/* An operand whose fields are shifted into place and added up one after the other. */
static int64_t pack_time(ComputeTimer *t, int operand)
{
    const PackingSchedule *p = &t->sched->packing;
    int64_t time = value_time(t, op_operand(p->product, (uint32_t)operand));
    for (int64_t k = 1; k < p->grid.fields[operand]; k++)
        time = iteration_op(&t->it, time, latency_sum(p->grid.bits[operand]));
    return time;
}

/* Products of packed operands in cascades; fields with their borrow; trees over the cascades. */
static int64_t time_packed(ComputeTimer *t)
{
    const PackingSchedule *p = &t->sched->packing;
    OpTiming whole = latency_sum(p->accumulator);
    OpTiming narrow = latency_sum(type_width(type_elem(op_result(t->sched->main, 0)->type)));
    time_payload(t, t->sched->main, NULL, 0, NULL);
    int64_t time = iteration_op(&t->it, i64_max(pack_time(t, 0), pack_time(t, 1)), latency_dsp());
    if (p->chain_length > 1) iteration_op(&t->it, time, whole);
    for (int64_t i = 0; p->chain_length > 1 && i < p->chain_length; i++)
        time = iteration_op(&t->it, time, latency_cascade());
    if (p->grid.fields[0] * p->grid.fields[1] > 1) /* a bit is masked, a field corrected by it */
        time = iteration_op(&t->it, iteration_op(&t->it, time, latency_register_load(2)), whole);
    time = tree_time(t, time, t->sched->reduction_lanes / p->chain_length, narrow);
    if (sched_is_done_at_once(t->sched)) return time;
    return iteration_op(&t->it, i64_max(time, started_sum(t, 0)), narrow);
}

/* When a value of main's payload is there, by what it depends on alone. */
static int64_t demanded_time(ComputeTimer *t, const Value *value)
{
    const Op *op = value_def(value), *main = t->sched->main;
    if (!op) {
        if (value_block(value) == linalg_body(main))
            set_time(t, value, operand_time(t, main, value->index));
    } else if (op->block == linalg_body(main)) {
        for (uint32_t i = 0; i < op->operand_count; i++) demanded_time(t, op_operand(op, i));
        time_op(t, op);
    }
    return value_time(t, value);
}

/* `count` terms that are added one after the other to what is there at `time`. */
static int64_t time_chain(ComputeTimer *t, int64_t time, int64_t count, OpTiming sum)
{
    for (int64_t i = 0; i < count; i++) time = iteration_op(&t->it, time, sum);
    return time;
}

/* Counts of bits and their weighted sum; the first term is subtracted from 0 if it is negative. */
static int64_t time_counts(ComputeTimer *t)
{
    const PopcountSchedule *p = &t->sched->popcount;
    int64_t lanes = t->sched->reduction_lanes, alone = 0, ready = 0;
    int64_t pairs = p->operands[0].planes * p->operands[1].planes;
    OpTiming sum = latency_sum(type_width(type_elem(op_result(t->sched->main, 0)->type)));
    OpTiming count = lanes > 1 ? latency_popcount(lanes) : (OpTiming){0, 0};
    for (uint32_t i = 0; i < 2; i++) {
        const PopcountOperand *x = &p->operands[i];
        int64_t time = demanded_time(t, x->value);
        bool is_negative = p->shared_scale * sched_popcount_weight(x, 0) < 0;
        ready = i64_max(ready, time);
        if (p->shared == (int)i)
            alone =
                time_chain(t, iteration_op(&t->it, time, count), x->planes - 1 + is_negative, sum);
    }
    int64_t time = iteration_op(&t->it, iteration_op(&t->it, ready, latency_logic()), count);
    bool is_negative =
        p->shared < 0 &&
        sched_popcount_weight(&p->operands[0], 0) * sched_popcount_weight(&p->operands[1], 0) < 0;
    time = time_chain(t, i64_max(time, alone), pairs - 1 + (p->shared >= 0) + is_negative, sum);
    if (sched_is_done_at_once(t->sched)) return p->offset ? iteration_op(&t->it, time, sum) : time;
    return iteration_op(&t->it, i64_max(time, started_sum(t, 0)), sum);
}

static int64_t time_sums(ComputeTimer *t)
{
    int64_t sums[SCHED_MAX_RESULTS];
    if (t->counts_bits) return t->leaves = time_counts(t);
    if (t->sched->packing.is_used && !t->lut_products) return t->leaves = time_packed(t);
    if (t->sched->reduction.combine) return time_term(t);
    for (uint32_t i = 0; i < t->sched->main->result_count; i++) sums[i] = started_sum(t, i);
    time_lanes(t, sums);
    return t->leaves = sums[0];
}

/* When the sum is found by the iteration that goes on with it, in that one's time: accumulators that
 * wait are stored again, others are registers. */
static int64_t found_sum(ComputeTimer *t)
{
    const MemoryUse *waiting = waiting_sums(t);
    const ReductionSchedule *r = &t->sched->reduction;
    Clock clock = t->it.clock;
    int64_t cycle = clock_cycles_until(clock, t->leaves) - i64_max(r->turns, 1) * r->ii;
    if (waiting) {
        OpTiming timing = latency_memory_store(memory_kind_name(waiting->memory.kind));
        int64_t stored = clock_cycle(clock, iteration_op(&t->it, t->leaves, timing));
        cycle = stored + 1 - (r->run ? t->sched->accumulators : r->distance) * r->ii;
    }
    return i64_max(cycle, 0) * clock.usable_ps;
}

/* An iteration begins with what it finds; a sum is there later the later the terms come. Two rounds
 * settle that, as the schedule of the simulation does it (sim/design/loop_schedule.c). */
static int64_t time_reduction(ComputeTimer *t)
{
    int64_t sum = time_sums(t), found = found_sum(t);
    if (found == 0 || reduction_edge(t->sched) == 0) return sum;
    t->carried = found;
    sum = time_sums(t);
    (void)found_sum(t);
    return sum;
}

/* A word that is kept may come from its memory instead, into which it goes when it is read. */
static void read_words(ComputeTimer *t)
{
    for (uint32_t s = 0; s < t->sched->stream_count; s++) {
        const MemoryUse *kept = find_memory(t, t->sched->main, t->sched->stream_operand[s]);
        int64_t others = 0, held = 0, word = 0;
        for (uint32_t i = 0; i < t->sched->loop_count; i++) {
            others += !sched_chooses_word(t->sched, s, i);
            held += sched_is_held(t->sched, s, i);
        }
        if (kept) word = i64_max(load_time(t, kept, 0), iteration_condition(&t->it, held, 0));
        int64_t read = iteration_read(&t->it, iteration_condition(&t->it, others, 0));
        if (kept)
            iteration_op(&t->it, read, latency_memory_store(memory_kind_name(kept->memory.kind)));
        t->words[s] = i64_max(word, read);
    }
}

static int64_t time_stages(ComputeTimer *t, int64_t value)
{
    uint32_t first = sched_first_stage(t->sched);
    const Op *previous = first ? t->sched->stages[0] : t->sched->main;
    for (uint32_t j = t->sched->starts_from_join; j < t->sched->join_count; j++)
        t->joined[j] = read_at_edge(t);
    for (uint32_t s = first; s < t->sched->stage_count; s++) {
        const Op *stage = t->sched->stages[s];
        time_payload(t, stage, op_result(previous, 0), value, NULL);
        value = yielded_time(t, stage, 0);
        previous = stage;
    }
    return value;
}

CostPipeline cost_pipeline_compute(const ComputeSchedule *sched, const MemoryList *memories,
                                   const char *multiplier, Clock clock)
{
    ComputeTimer t = {.sched = sched,
                      .memories = memories,
                      .lut_products = strcmp(multiplier, DFG_MULTIPLIER_LUT) == 0,
                      .counts_bits = strcmp(multiplier, DFG_MULTIPLIER_POPCOUNT) == 0,
                      .it = {.clock = clock}};
    int64_t value;
    read_words(&t);
    if (sched->kernel.class != KERNEL_PURE_PARALLEL) {
        value = time_reduction(&t);
    } else {
        time_payload(&t, sched->main, NULL, 0, NULL);
        value = yielded_time(&t, sched->main, 0);
    }
    value = time_stages(&t, value);
    iteration_write(&t.it, i64_max(value, iteration_condition(&t.it, reduction_edge(sched), 0)));
    ptrmap_free(&t.times);
    return (CostPipeline){.executions = 1,
                          .trips = sched_compute_trips(sched),
                          .ii = sched->reduction.ii,
                          .depth = iteration_depth(&t.it),
                          .first = sched_compute_first_write(sched),
                          .write = iteration_write_cycle(&t.it)};
}
