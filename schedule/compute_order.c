/* The order of a compute process's loops, which is that in which words arrive. Every stream brings
 * the loops of its dimensions in one order; the nest runs the loops of all streams in an order that
 * agrees with each of them. First come the counters of words, then the parts of a word that are
 * taken one after another, then the loops that no stream depends on. Those among them that the output
 * has in front of a stream's loop run outside of it.
 *
 * With dfg.order = "results" the loops of the output run outside, so that a result is complete before
 * the next one is begun.
 *
 * A stream need not have all loops. While the loops inside its own run, its word is held. Where a
 * loop that it lacks runs outside one that it has, its words are wanted again: they are kept in a
 * memory as they come, and taken from there the next times. So a stream is read once a frame, and
 * one word at a time.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-streams.mir */
#include <assert.h>

#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "ir/asm/print/print.h"
#include "schedule/internal.h"
#include "schedule/schedule.h"

/* A stream of main: its map, tensor and word. */
typedef struct StreamOrder {
    const AffineMap *map;
    const Type *tensor;
    int64_t word[2 * DFG_MAX_RANK];
    LoopOrder loops; /* of its dimensions of more than one element */
} StreamOrder;

typedef struct OrderBuild {
    ComputeSchedule *sched;
    StreamOrder streams[SCHED_MAX_STREAMS];
    LoopOrder order;                 /* of all loops that streams have */
    int64_t words[KERNEL_MAX_LOOPS]; /* per loop, its elements in a word; 0: no stream has it */
    uint32_t placed;                 /* loops that streams have, those of one trip included */
} OrderBuild;

/* Loop that result r of a streamed operand's map is; -1: the constant 0. */
static int stream_loop(const AffineMap *map, uint32_t r)
{
    return map->results[r]->kind == AFFINE_DIM ? (int)map->results[r]->value : -1;
}

static bool has_loop(const LoopOrder *order, uint32_t loop)
{
    for (uint32_t i = 0; i < order->count; i++)
        if (order->loops[i] == loop) return true;
    return false;
}

/* Whether no order has a loop in front of this one that is still to come. */
static bool may_be_next(const LoopOrder *orders, uint32_t count, const LoopOrder *merged,
                        uint32_t loop)
{
    for (uint32_t s = 0; s < count; s++) {
        if (!has_loop(&orders[s], loop)) continue;
        for (uint32_t i = 0; orders[s].loops[i] != loop; i++)
            if (!has_loop(merged, orders[s].loops[i])) return false;
    }
    return true;
}

static bool add_next(const LoopOrder *orders, uint32_t count, LoopOrder *merged)
{
    for (uint32_t s = 0; s < count; s++)
        for (uint32_t i = 0; i < orders[s].count; i++) {
            uint32_t loop = orders[s].loops[i];
            if (has_loop(merged, loop)) continue;
            if (!may_be_next(orders, count, merged, loop)) break;
            merged->loops[merged->count++] = loop;
            return true;
        }
    return false;
}

bool sched_merge_orders(const LoopOrder *orders, uint32_t count, LoopOrder *out)
{
    *out = (LoopOrder){.count = 0};
    while (add_next(orders, count, out)) continue;
    for (uint32_t s = 0; s < count; s++)
        for (uint32_t i = 0; i < orders[s].count; i++)
            if (!has_loop(out, orders[s].loops[i])) return false;
    return true;
}

static bool read_stream(OrderBuild *b, uint32_t stream, StreamOrder *out)
{
    const ComputeSchedule *sched = b->sched;
    const Op *main = sched->main;
    uint32_t operand = sched->stream_operand[stream], seen = 0;
    *out = (StreamOrder){.map = linalg_operand_map(main, operand),
                         .tensor = op_operand(main, operand)->type};
    for (uint32_t r = 0; r < out->map->result_count; r++) {
        int loop = stream_loop(out->map, r);
        int64_t extent = out->tensor->u.shaped.dims[r];
        bool unit = loop < 0 && affine_is_const(out->map->results[r]) && extent == 1;
        if (!unit && (loop < 0 || (seen >> loop & 1u)))
            return op_error(main,
                            "streams an operand by the map %s, which is not a "
                            "projected permutation",
                            map_str(main->ctx, out->map));
        if (loop < 0) continue;
        seen |= 1u << loop;
        if (extent > 1) out->loops.loops[out->loops.count++] = (uint32_t)loop;
    }
    b->placed |= seen;
    return sched_compute_input_word(sched, stream, out->word);
}

/* The output decides between the parallel loops of different streams. */
static LoopOrder output_loops(const OrderBuild *b)
{
    const AffineMap *out = sched_compute_output_map(b->sched);
    LoopOrder order = {.count = 0};
    for (uint32_t r = 0; r < out->result_count; r++) {
        uint32_t loop = (uint32_t)out->results[r]->value;
        bool is_streamed = false;
        for (uint32_t s = 0; s < b->sched->stream_count; s++)
            is_streamed |= has_loop(&b->streams[s].loops, loop);
        if (is_streamed) order.loops[order.count++] = loop;
    }
    return order;
}

/* Each loop must have the same words in all streams. */
static bool merge_words(OrderBuild *b)
{
    for (uint32_t s = 0; s < b->sched->stream_count; s++) {
        const StreamOrder *stream = &b->streams[s];
        for (uint32_t r = 0; r < stream->map->result_count; r++) {
            int loop = stream_loop(stream->map, r);
            if (loop < 0) continue;
            if (b->words[loop] && b->words[loop] != stream->word[r]) return false;
            b->words[loop] = stream->word[r];
        }
    }
    return true;
}

/* Where the streams agree with each other and not with the output, check_output_order says so. */
static bool merge_streams(OrderBuild *b)
{
    uint32_t count = b->sched->stream_count;
    LoopOrder orders[SCHED_MAX_STREAMS + 1];
    for (uint32_t s = 0; s < count; s++) {
        if (!read_stream(b, s, &b->streams[s])) return false;
        orders[s] = b->streams[s].loops;
    }
    orders[count] = output_loops(b);
    if (!sched_merge_orders(orders, count + 1, &b->order) &&
        !sched_merge_orders(orders, count, &b->order))
        return op_error(b->sched->main,
                        "streams operands in orders that no nest of loops has: %s and %s",
                        map_str(b->sched->main->ctx, b->streams[0].map),
                        map_str(b->sched->main->ctx, b->streams[1].map));
    return merge_words(b) ||
           op_error(b->sched->main, "streams operands with different words along a loop");
}

/* Whether words hold parts of a loop by its factor: whole ones, or all that there are. */
static bool word_holds(const ComputeSchedule *sched, uint32_t loop, int64_t word, int64_t factor)
{
    return word % factor == 0 || word == sched->kernel.extents[loop];
}

static void add_loop(ComputeSchedule *sched, uint32_t loop, int64_t trip, int64_t scale)
{
    if (trip == 1) return;
    assert(sched->loop_count < SCHED_MAX_LOOPS);
    sched->loops[sched->loop_count++] =
        (ScheduleLoop){loop, trip, scale, sched->kernel.is_reduction[loop]};
}

/* The parts of a whole loop. */
static void add_parts(ComputeSchedule *sched, uint32_t loop)
{
    LoopParts parts;
    bool ok = sched_compute_parts(sched, loop, sched->unroll[loop], &parts);
    assert(ok);
    (void)ok;
    add_loop(sched, loop, parts.trip, parts.scale);
}

static bool add_counter(OrderBuild *b, uint32_t loop)
{
    ComputeSchedule *sched = b->sched;
    int64_t word = b->words[loop], extent = sched->kernel.extents[loop];
    if (!word_holds(sched, loop, word, sched->unroll[loop]))
        return op_error(sched->main, "unrolls loop %u by %lld, but words hold %lld", loop,
                        (long long)sched->unroll[loop], (long long)word);
    for (uint32_t s = 0; extent > word && s < sched->stream_count; s++)
        if (has_loop(&b->streams[s].loops, loop)) sched->moves[s] |= 1u << sched->loop_count;
    add_loop(sched, loop, extent / word, word);
    return true;
}

static void add_word_parts(OrderBuild *b, uint32_t loop)
{
    ComputeSchedule *sched = b->sched;
    int64_t word = b->words[loop];
    if (word == sched->kernel.extents[loop])
        add_parts(sched, loop);
    else
        add_loop(sched, loop, word / sched->unroll[loop], sched->unroll[loop]);
}

/* Loops that no stream depends on, which the output has in front of dimension `end`. */
static void add_free_loops(OrderBuild *b, uint32_t end)
{
    const AffineMap *out = sched_compute_output_map(b->sched);
    for (uint32_t r = 0; r < end; r++) {
        uint32_t loop = (uint32_t)out->results[r]->value;
        if (!(b->placed >> loop & 1u)) add_parts(b->sched, loop);
        b->placed |= 1u << loop;
    }
}

/* The output's dimension that is a loop, if loops that no stream depends on come before it; else 0. */
static uint32_t dimension_behind_free(const OrderBuild *b, uint32_t loop)
{
    const AffineMap *out = sched_compute_output_map(b->sched);
    int dim = map_result_of_dim(out, loop);
    for (int r = 0; r < dim; r++) {
        uint32_t before = (uint32_t)out->results[r]->value;
        if (!(b->placed >> before & 1u) && b->sched->kernel.extents[before] > 1)
            return (uint32_t)dim;
    }
    return 0;
}

/* Counters of the words, then of the parts of a word; both in front of loops that no stream depends
 * on, if such run outside of a stream's. */
static bool add_stream_loops(OrderBuild *b)
{
    uint32_t done = 0; /* loops of the order whose parts are there */
    for (uint32_t i = 0; i < b->order.count; i++) {
        uint32_t dim = dimension_behind_free(b, b->order.loops[i]);
        for (; dim > 0 && done < i; done++) add_word_parts(b, b->order.loops[done]);
        add_free_loops(b, dim);
        if (!add_counter(b, b->order.loops[i])) return false;
    }
    for (; done < b->order.count; done++) add_word_parts(b, b->order.loops[done]);
    return true;
}

/* Loops that no stream depends on: reductions, then the output's own in output order. */
static void add_other_loops(OrderBuild *b)
{
    ComputeSchedule *sched = b->sched;
    for (uint32_t i = 0; i < sched->kernel.loop_count; i++)
        if (sched->kernel.is_reduction[i] && !(b->placed >> i & 1u)) add_parts(sched, i);
    add_free_loops(b, sched_compute_output_map(sched)->result_count);
}

bool sched_order_is(const Op *main, const char *order)
{
    const Attr *given = op_attr(main, DFG_ATTR_ORDER);
    return given && given->kind == ATTR_STRING && str_eq_c(given->u.string, order);
}

/* All loops of the output, in its order. */
static bool add_result_loops(OrderBuild *b)
{
    const AffineMap *out = sched_compute_output_map(b->sched);
    for (uint32_t r = 0; r < out->result_count; r++) {
        uint32_t loop = (uint32_t)out->results[r]->value;
        add_free_loops(b, r + 1);
        if (!has_loop(&b->order, loop)) continue;
        if (!add_counter(b, loop)) return false;
        add_word_parts(b, loop);
    }
    return true;
}

/* Counters of the words of reductions, then of the parts of a word. */
static bool add_reduction_loops(OrderBuild *b)
{
    const bool *reduces = b->sched->kernel.is_reduction;
    for (uint32_t i = 0; i < b->order.count; i++)
        if (reduces[b->order.loops[i]] && !add_counter(b, b->order.loops[i])) return false;
    for (uint32_t i = 0; i < b->order.count; i++)
        if (reduces[b->order.loops[i]]) add_word_parts(b, b->order.loops[i]);
    return true;
}

/* Whether a stream's words are read in the order in which they come. */
static bool reads_in_order(const OrderBuild *b, uint32_t stream)
{
    const LoopOrder *order = &b->streams[stream].loops;
    uint32_t next = 0;
    for (uint32_t i = 0; i < b->sched->loop_count; i++) {
        if (!sched_chooses_word(b->sched, stream, i)) continue;
        while (next < order->count && order->loops[next] != b->sched->loops[i].loop) next++;
        if (next++ == order->count) return false;
    }
    return true;
}

static bool order_by_results(OrderBuild *b)
{
    if (!add_result_loops(b) || !add_reduction_loops(b)) return false;
    for (uint32_t s = 0; s < b->sched->stream_count; s++)
        if (!reads_in_order(b, s))
            return op_error(b->sched->main,
                            "cannot complete its results one after another: it streams an operand "
                            "by the map %s, in another order",
                            map_str(b->sched->main->ctx, b->streams[s].map));
    return true;
}

bool sched_compute_order(ComputeSchedule *sched)
{
    OrderBuild b = {.sched = sched};
    bool by_results = sched_order_is(sched->main, DFG_ORDER_RESULTS);
    if (!merge_streams(&b) || !(by_results ? order_by_results(&b) : add_stream_loops(&b)))
        return false;
    add_other_loops(&b);
    return true;
}

bool sched_words_hold(const ComputeSchedule *sched, const int64_t *unroll)
{
    DiagHold hold;
    bool holds = true;
    for (uint32_t s = 0; holds && s < sched->stream_count; s++) {
        const AffineMap *map = linalg_operand_map(sched->main, sched->stream_operand[s]);
        int64_t word[2 * DFG_MAX_RANK];
        diag_hold_begin(&hold, sched->process->ctx);
        holds = sched_compute_input_word(sched, s, word);
        diag_hold_drop(&hold);
        for (uint32_t r = 0; holds && r < map->result_count; r++) {
            int loop = stream_loop(map, r);
            holds = loop < 0 || word_holds(sched, (uint32_t)loop, word[r], unroll[loop]);
        }
    }
    return holds;
}

bool sched_is_held(const ComputeSchedule *sched, uint32_t stream, uint32_t loop)
{
    return sched->moves[stream] >> loop == 0;
}

bool sched_chooses_word(const ComputeSchedule *sched, uint32_t stream, uint32_t loop)
{
    return sched->moves[stream] >> loop & 1u;
}

void sched_word_turns(const ComputeSchedule *sched, uint32_t stream, WordTurns *out)
{
    const AffineMap *map = linalg_operand_map(sched->main, sched->stream_operand[stream]);
    *out = (WordTurns){.turns = 1, .lanes = 1};
    for (uint32_t i = 0; i < sched->loop_count; i++) {
        const ScheduleLoop *loop = &sched->loops[i];
        if (sched_chooses_word(sched, stream, i) || map_result_of_dim(map, loop->loop) < 0 ||
            loop->trip == 1)
            continue;
        out->loops[out->loop_count++] = i;
        out->turns *= loop->trip;
    }
    for (uint32_t r = 0; r < map->result_count; r++)
        if (map->results[r]->kind == AFFINE_DIM)
            out->lanes *= sched->unroll[map->results[r]->value];
}

void sched_kept_words(const ComputeSchedule *sched, uint32_t stream, KeptWords *out)
{
    uint32_t repeats = 0, last = 0, moves = sched->moves[stream];
    *out = (KeptWords){.depth = 1, .distance = 1};
    for (uint32_t i = 0; i < sched->loop_count; i++) {
        bool repeats_words =
            !sched_chooses_word(sched, stream, i) && !sched_is_held(sched, stream, i);
        if (repeats_words) {
            repeats |= 1u << i;
            last = i;
        } else if (repeats && (moves >> i & 1u)) {
            out->loops[out->loop_count++] = i;
            out->depth *= sched->loops[i].trip;
        }
    }
    for (uint32_t i = last + 1; repeats && i < sched->loop_count; i++)
        out->distance *= sched->loops[i].trip;
}
