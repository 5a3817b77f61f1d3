/* Schedules of compute processes: what a process consists of, its factors and lanes. The order of
 * its loops is found in compute_order.c. Parallel loops inside the first reduction loop multiply
 * the accumulators.
 * Tests: lit/lowering/dfg_to_emithls */
#include <assert.h>
#include <string.h>

#include "analysis/analysis.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "ir/asm/print/print.h"
#include "schedule/internal.h"
#include "schedule/schedule.h"

static Block *body(const Op *process)
{
    return region_entry(op_region(process, 0));
}

/* The port that a value was pulled from, reshaped or not, or -1. */
static int pulled_port(const Value *value)
{
    const Op *pull = value_def(reshape_source(value));
    return pull && pull->def == DFG(PULL) ? (int)op_operand(pull, 0)->index : -1;
}

/* Element-wise, on the result of the kernel before it and on streams. */
static bool is_stage_of(const Op *generic, const Value *previous)
{
    uint32_t inputs = linalg_input_count(generic), loops = linalg_loop_count(generic);
    const AffineMap *out = linalg_operand_map(generic, inputs);
    bool continues = false;
    if (loops > KERNEL_MAX_LOOPS || !map_is_permutation(out)) return false;
    for (uint32_t i = 0; i < loops; i++)
        if (linalg_is_reduction(generic, i)) return false;
    for (uint32_t i = 0; i < inputs; i++) {
        bool flows = reshape_source(op_operand(generic, i)) == previous;
        bool streams = flows || pulled_port(op_operand(generic, i)) >= 0;
        if (streams && linalg_operand_map(generic, i) != out) return false;
        continues |= flows;
    }
    return continues;
}

/* Finds main and the chain of element-wise stages behind it. Reshapes may lie between them. */
static bool collect_generics(ComputeSchedule *sched)
{
    const Op *last = NULL;
    FOR_EACH_OP(op, body(sched->process)) {
        if (op->def != LINALG(GENERIC)) continue;
        if (!kernel_has_one_output(op))
            return op_error(op, "has several results that are read; a streaming kernel has one");
        if (!last)
            sched->main = op;
        else if (!is_stage_of(op, op_result(last, 0)))
            return op_error(op, "does not continue the kernel before it element by element");
        else if (sched->stage_count == SCHED_MAX_STAGES)
            return op_error(op, "is more than %d epilogue stages behind its kernel",
                            SCHED_MAX_STAGES);
        else
            sched->stages[sched->stage_count++] = op;
        last = op;
    }
    FOR_EACH_OP(op, body(sched->process))
        if (op->def == DFG(PUSH) && reshape_source(op_operand(op, 0)) == op_result(last, 0)) {
            sched->output_port = op_operand(op, 1)->index;
            return true;
        }
    return op_error(sched->process, "does not push the result of its kernel");
}

int sched_find_join(const ComputeSchedule *sched, uint32_t stage, uint32_t operand)
{
    for (uint32_t j = 0; j < sched->join_count; j++)
        if (sched->joins[j].stage == stage && sched->joins[j].operand == operand) return (int)j;
    return -1;
}

bool sched_port_joins(const ComputeSchedule *sched, uint32_t port)
{
    for (uint32_t j = sched->starts_from_join; j < sched->join_count; j++)
        if (sched->joins[j].port == port) return true;
    return false;
}

uint32_t sched_first_stage(const ComputeSchedule *sched)
{
    return sched->starts_from_join ? 1 : 0;
}

static bool add_join(ComputeSchedule *sched, uint32_t stage, uint32_t operand, uint32_t port)
{
    if (sched->stream_count + sched->join_count == SCHED_MAX_STREAMS)
        return op_error(sched->stages[stage], "reads more than %d streams", SCHED_MAX_STREAMS);
    sched->joins[sched->join_count++] = (JoinedStream){stage, operand, port};
    return true;
}

static bool collect_joins(ComputeSchedule *sched)
{
    for (uint32_t s = 0; s < sched->stage_count; s++)
        for (uint32_t i = 0; i < linalg_input_count(sched->stages[s]); i++) {
            int port = pulled_port(op_operand(sched->stages[s], i));
            if (port >= 0 && !add_join(sched, s, i, (uint32_t)port)) return false;
        }
    return true;
}

static bool collect_streams(ComputeSchedule *sched)
{
    for (uint32_t i = 0; i < linalg_input_count(sched->main); i++) {
        int port = pulled_port(op_operand(sched->main, i));
        if (port < 0) continue;
        if (sched->stream_count == SCHED_MAX_STREAMS)
            return op_error(sched->main, "reads more than %d streams", SCHED_MAX_STREAMS);
        sched->stream_operand[sched->stream_count] = i;
        sched->stream_port[sched->stream_count++] = (uint32_t)port;
    }
    if (!collect_joins(sched)) return false;
    uint32_t inputs = dfg_input_count(sched->process), outputs = dfg_output_count(sched->process);
    uint32_t reads = sched->stream_count + sched->join_count;
    return (reads == inputs && outputs == 1) ||
           op_error(sched->process,
                    "has %u inputs and %u outputs, but its kernel reads %u and writes "
                    "1",
                    inputs, outputs, reads);
}

static bool check_unroll(const ComputeSchedule *sched, const int64_t *unroll)
{
    LoopParts parts;
    for (uint32_t i = 0; i < sched->kernel.loop_count; i++)
        if (!sched_compute_parts(sched, i, unroll[i], &parts))
            return op_error(sched->main,
                            "unroll factor %lld does not divide the %lld trips of loop %u",
                            (long long)unroll[i], (long long)sched->kernel.extents[i], i);
    return true;
}

bool sched_compute_unroll_attr(const ComputeSchedule *sched, int64_t *unroll)
{
    const Attr *attr = op_attr(sched->main, DFG_ATTR_UNROLL);
    size_t count = sched->kernel.loop_count;
    for (uint32_t i = 0; i < sched->kernel.loop_count; i++) unroll[i] = 1;
    if (attr && (!attr_int_list(attr, unroll, KERNEL_MAX_LOOPS, &count) ||
                 count != sched->kernel.loop_count))
        return op_error(sched->main, "dfg.unroll must list one factor per loop");
    return check_unroll(sched, unroll);
}

static bool read_unroll(ComputeSchedule *sched, const int64_t *unroll)
{
    if (!unroll) return sched_compute_unroll_attr(sched, sched->unroll);
    memcpy(sched->unroll, unroll, sched->kernel.loop_count * sizeof(*unroll));
    return check_unroll(sched, unroll);
}

const AffineMap *sched_compute_output_map(const ComputeSchedule *sched)
{
    return linalg_operand_map(sched->main, linalg_input_count(sched->main));
}

/* Accumulators run side by side. */
static bool check_results(const ComputeSchedule *sched)
{
    uint32_t inputs = linalg_input_count(sched->main);
    if (sched->main->result_count > SCHED_MAX_RESULTS)
        return op_error(sched->main, "accumulates %u results; at most %d can stream",
                        sched->main->result_count, SCHED_MAX_RESULTS);
    for (uint32_t i = 1; i < sched->main->result_count; i++)
        if (linalg_operand_map(sched->main, inputs + i) != sched_compute_output_map(sched))
            return op_error(sched->main, "accumulates results by the maps %s and %s, which differ",
                            map_str(sched->main->ctx, sched_compute_output_map(sched)),
                            map_str(sched->main->ctx, linalg_operand_map(sched->main, inputs + i)));
    return true;
}

static bool check_output_map(const ComputeSchedule *sched)
{
    const AffineMap *out = sched_compute_output_map(sched);
    return map_is_projected_permutation(out, false) ||
           op_error(sched->main,
                    "writes its output by the map %s, which is not a projected "
                    "permutation",
                    map_str(sched->main->ctx, out));
}

/* The parallel loops must run in the order of the output's dimensions. */
static bool check_output_order(const ComputeSchedule *sched)
{
    const AffineMap *out = sched_compute_output_map(sched);
    uint32_t next = 0;
    for (uint32_t r = 0; r < out->result_count; r++) {
        uint32_t loop = (uint32_t)out->results[r]->value;
        for (; next < sched->loop_count; next++) {
            if (sched->loops[next].is_reduction) continue;
            if (sched->loops[next].loop != loop) break;
        }
    }
    while (next < sched->loop_count && sched->loops[next].is_reduction) next++;
    if (next == sched->loop_count) return true;
    return op_error(sched->main,
                    "would write its output (map %s) in another order than its input "
                    "arrives; that needs a transposition buffer",
                    map_str(sched->main->ctx, out));
}

static void count_lanes(ComputeSchedule *sched)
{
    sched->lanes = sched->reduction_lanes = sched->accumulators = 1;
    for (uint32_t i = 0; i < sched->kernel.loop_count; i++)
        *(sched->kernel.is_reduction[i] ? &sched->reduction_lanes : &sched->lanes) *=
            sched->unroll[i];
    sched->first_reduction = sched->loop_count;
    for (uint32_t i = sched->loop_count; i-- > 0;)
        if (sched->loops[i].is_reduction) sched->first_reduction = i;
    for (uint32_t i = sched->first_reduction; i < sched->loop_count; i++)
        if (!sched->loops[i].is_reduction) sched->accumulators *= sched->loops[i].trip;
}

static bool read_body(ComputeSchedule *sched)
{
    return collect_generics(sched) && kernel_analyze(sched->main, &sched->kernel) &&
           collect_streams(sched) && check_results(sched);
}

bool sched_compute(const Op *process, const int64_t *unroll, const Type *const *ends,
                   ComputeSchedule *out)
{
    *out = (ComputeSchedule){.process = process, .ends = ends};
    if (!read_body(out) || !read_unroll(out, unroll) || !check_output_map(out) ||
        !sched_compute_order(out) || !check_output_order(out))
        return false;
    count_lanes(out);
    sched_reduction(out);
    sched_start(out);
    sched_packing(out);
    sched_popcount(out);
    return true;
}

bool sched_compute_base(const Op *process, ComputeSchedule *out)
{
    static const int64_t ones[KERNEL_MAX_LOOPS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    return sched_compute(process, ones, NULL, out);
}

bool sched_compute_now(const Op *process, ComputeSchedule *out)
{
    int64_t unroll[KERNEL_MAX_LOOPS];
    *out = (ComputeSchedule){.process = process};
    if (!read_body(out) || !sched_compute_unroll_attr(out, unroll)) return false;
    return sched_words_hold(out, unroll) ? sched_compute(process, unroll, NULL, out)
                                         : sched_compute_base(process, out);
}

int64_t sched_compute_trips(const ComputeSchedule *sched)
{
    int64_t trips = 1;
    for (uint32_t i = 0; i < sched->loop_count; i++) trips *= sched->loops[i].trip;
    return trips;
}

int64_t sched_compute_first_write(const ComputeSchedule *sched)
{
    int64_t inner = 1, first = 0;
    for (uint32_t i = sched->loop_count; i-- > 0;) {
        if (sched->loops[i].is_reduction) first += (sched->loops[i].trip - 1) * inner;
        inner *= sched->loops[i].trip;
    }
    return first;
}

/* The loop of the result's innermost dimension of more than one element; -1: it has none. */
static int64_t innermost_result(const ComputeSchedule *sched)
{
    const AffineMap *out = sched_compute_output_map(sched);
    int64_t last = -1;
    for (uint32_t r = 0; r < out->result_count; r++)
        if (sched->kernel.extents[out->results[r]->value] > 1) last = out->results[r]->value;
    return last;
}

int64_t sched_compute_pixel(const ComputeSchedule *sched)
{
    int64_t pixel = 1, last = innermost_result(sched);
    for (uint32_t i = 0; i < sched->loop_count; i++)
        if (sched->loops[i].is_reduction || sched->loops[i].loop == last)
            pixel *= sched->loops[i].trip;
    return pixel;
}

int64_t sched_compute_pixel_words(const ComputeSchedule *sched)
{
    int64_t words = 1, last = innermost_result(sched);
    for (uint32_t i = 0; i < sched->loop_count; i++)
        if (sched->loops[i].loop == last) words *= sched->loops[i].trip;
    return words;
}

int64_t sched_compute_tail(const ComputeSchedule *sched)
{
    int64_t inner = 1, tail = 0, last = innermost_result(sched);
    for (uint32_t i = sched->loop_count; i-- > 0;) {
        if (sched->loops[i].loop == last) tail += (sched->loops[i].trip - 1) * inner;
        inner *= sched->loops[i].trip;
    }
    return tail;
}

int64_t sched_compute_pitch(const ComputeSchedule *sched)
{
    int64_t pitch = 1;
    for (uint32_t i = sched->loop_count; i-- > 0 && sched->loops[i].is_reduction;)
        pitch *= sched->loops[i].trip;
    return pitch;
}

/* The innermost loop that chooses a word of stream 0; UINT32_MAX: none does. */
static uint32_t innermost_read(const ComputeSchedule *sched)
{
    for (uint32_t i = sched->loop_count; sched->stream_count && i-- > 0;)
        if (sched_chooses_word(sched, 0, i)) return i;
    return UINT32_MAX;
}

int64_t sched_compute_absorb(const ComputeSchedule *sched)
{
    uint32_t read = innermost_read(sched);
    int64_t absorb = read == UINT32_MAX ? 0 : sched->loops[read].trip - 1;
    for (uint32_t i = sched->loop_count; i-- > 0 && i > read;) absorb *= sched->loops[i].trip;
    return absorb;
}

int64_t sched_compute_rest(const ComputeSchedule *sched)
{
    int64_t inner = 1, rest = 0;
    for (uint32_t i = sched->loop_count; sched->stream_count && i-- > 0;) {
        if (!sched_chooses_word(sched, 0, i)) rest += (sched->loops[i].trip - 1) * inner;
        inner *= sched->loops[i].trip;
    }
    return rest;
}

bool sched_compute_input_word(const ComputeSchedule *sched, uint32_t stream, int64_t *word)
{
    uint32_t port = sched->stream_port[stream];
    const Type *end = sched->ends ? sched->ends[port] : dfg_port(sched->process, port)->type;
    return sched_port_word(sched->process, port, end,
                           op_operand(sched->main, sched->stream_operand[stream])->type, word);
}

void sched_compute_output_word(const ComputeSchedule *sched, int64_t *word)
{
    const AffineMap *out = sched_compute_output_map(sched);
    for (uint32_t r = 0; r < out->result_count; r++)
        word[r] = sched->unroll[out->results[r]->value];
}

/* The lanes of the output's loops, or of those that reduce. */
static void add_table_lanes(const ComputeSchedule *sched, bool reduces, TableLayout *out)
{
    for (uint32_t i = 0; i < sched->kernel.loop_count; i++) {
        if (sched->unroll[i] == 1 || !map_uses_dim(out->map, i) ||
            sched->kernel.is_reduction[i] != reduces)
            continue;
        out->by_lane[out->lane_count++] = i;
        out->lanes *= sched->unroll[i];
    }
}

void sched_table_layout(const ComputeSchedule *sched, const AffineMap *map, TableLayout *out)
{
    *out = (TableLayout){.map = map, .depth = 1, .lanes = 1};
    for (uint32_t i = 0; i < sched->loop_count; i++) {
        if (!map_uses_dim(map, sched->loops[i].loop)) continue;
        out->by_loop[out->loop_count++] = i;
        out->depth *= sched->loops[i].trip;
    }
    add_table_lanes(sched, false, out);
    add_table_lanes(sched, true, out);
}

void sched_lookup_layout(const ComputeSchedule *sched, const AffineMap *loops, const Op *extract,
                         LookupLayout *out)
{
    const AffineExpr *rows[KERNEL_MAX_LOOPS];
    const Type *type = op_operand(extract, 0)->type;
    *out = (LookupLayout){.inner = 1};
    for (uint32_t i = 1; i < extract->operand_count && out->leading == i - 1; i++) {
        const Op *def = value_def(op_operand(extract, i));
        if (def && def->def == LINALG(INDEX) && out->leading < KERNEL_MAX_LOOPS)
            rows[out->leading++] = loops->results[attr_int_value(op_attr(def, "dim"))];
    }
    for (uint32_t i = out->leading; i < type->u.shaped.rank; i++)
        out->inner *= type->u.shaped.dims[i];
    const AffineMap *map = map_get(sched->main->ctx, loops->dim_count, 0, out->leading, rows);
    sched_table_layout(sched, map, &out->rows);
}

/* Index of a value in terms of main's loops, given that of the value it reshapes. */
static const AffineMap *through_reshapes(const Value *value, const AffineMap *flow)
{
    const Op *def = value_def(value);
    if (!reshape_is(def)) return flow;
    return map_compose(reshape_map(def), through_reshapes(op_operand(def, 0), flow));
}

/* The value that flows from one kernel to the next has the same index in both, result by result. */
const AffineMap *sched_stage_loops(const ComputeSchedule *sched, uint32_t stage)
{
    Context *ctx = sched->main->ctx;
    const AffineMap *flow =
        sched_compute_output_map(sched); /* main's loops -> index of the flowing value */
    const AffineMap *to_loops = NULL;
    for (uint32_t s = 0; s <= stage; s++) {
        const Op *op = sched->stages[s];
        const Value *previous = op_result(s ? sched->stages[s - 1] : sched->main, 0);
        const AffineExpr *loops[KERNEL_MAX_LOOPS];
        uint32_t count = linalg_loop_count(op), through = 0;
        while (reshape_source(op_operand(op, through)) != previous) through++;
        flow = through_reshapes(op_operand(op, through), flow);
        for (uint32_t i = 0; i < count; i++) loops[i] = affine_const(ctx, 0);
        const AffineMap *in = linalg_operand_map(op, through);
        for (uint32_t r = 0; r < in->result_count; r++)
            if (in->results[r]->kind == AFFINE_DIM) loops[in->results[r]->value] = flow->results[r];
        to_loops = map_get(ctx, flow->dim_count, 0, count, loops);
        flow = map_compose(linalg_operand_map(op, linalg_input_count(op)), to_loops);
    }
    return to_loops;
}

const AffineMap *sched_stage_operand_map(const ComputeSchedule *sched, uint32_t stage,
                                         uint32_t operand)
{
    return map_compose(linalg_operand_map(sched->stages[stage], operand),
                       sched_stage_loops(sched, stage));
}
