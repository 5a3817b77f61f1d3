/* When iterations begin: the counters of each loop, whose turn it is among the loops of a process, and
 * a counter of the cycles until the next iteration. Those are the initiation interval less one in
 * between, and at a loop's end the cycles in which the pipeline runs empty and the next loop starts,
 * as sim/design counts them:
 *
 *   first iteration of a frame at PROCESS_START, plus LOOP_START if it is that of a loop;
 *   after the last iteration of a loop its depth, and that of the next loop's start
 *
 * A loop that rewinds goes on after an interval. Nothing is counted while a pipeline stalls. Of a
 * pipeline that flushes the end is seen: the cycles of the start count from there.
 *
 * Loops around several loops have counters of their own, which step when the last of these is done.
 * What runs once is passed over from the second frame on; a process that does nothing else is then at
 * rest.
 * Tests: lit/lowering/emithls_to_rtl, test/e2e/rtl_check.py */
#include "dialects/comb/comb.h"
#include "dialects/hw/hw.h"
#include "dialects/seq/seq.h"
#include "lowering/emithls_to_rtl/internal.h"

static uint32_t bits_for(int64_t most)
{
    return (uint32_t)i64_max(i64_log2_up(most + 1), 1);
}

static Value *is_equal(RtlModule *m, Value *x, int64_t value)
{
    return comb_build_icmp(&m->b, COMB_EQ, x, hw_build_int(&m->b, type_width(x->type), value));
}

static uint32_t loop_count(const RtlModule *m)
{
    return (uint32_t)m->process->model->loops.len;
}

/* Counters of a box, or of a part of one. */
typedef struct Box {
    const HlsLoop *loop;
    uint32_t first, end; /* those of the loop's counters that count it */
    int64_t begin, last; /* flat positions in it */
} Box;

static Box own_box(const HlsLoop *loop)
{
    return (Box){loop, loop->plain_count, loop->counter_count, loop->begin, loop->end_position - 1};
}

static int64_t box_size(const Box *box)
{
    int64_t size = 1;
    for (uint32_t i = box->first; i < box->end; i++) size *= box->loop->extents[i];
    return size;
}

/* The counters at a flat position. */
static void position(const Box *box, int64_t flat, int64_t *out)
{
    for (uint32_t i = box->end; i-- > box->first;) {
        out[i] = flat % box->loop->extents[i];
        flat /= box->loop->extents[i];
    }
}

static Value *is_at(RtlModule *m, const Box *box, Value *const *counters, int64_t flat)
{
    int64_t at[HLS_MAX_LOOPS];
    Value *all = to_rtl_true(m);
    position(box, flat, at);
    for (uint32_t i = box->first; i < box->end; i++)
        all = to_rtl_both(m, all, is_equal(m, counters[i], at[i]));
    return all;
}

Value *to_rtl_is_at(RtlModule *m, const LoopControl *c, int64_t flat)
{
    Box box = own_box(c->loop);
    return is_at(m, &box, c->counters, flat);
}

/* Of the nest that has the counter. */
static const char *counter_name(const HlsLoop *loop, uint32_t index)
{
    const Value *counter = loop->counters[index];
    const Op *nest = block_parent_op(counter->owner.block);
    return op_attr(nest, "counters")->u.array.items[counter->index]->u.string.data;
}

/* Counts like the nest, from the innermost counter on; gives whether it is at the last position. */
static Value *count(RtlModule *m, const Box *box, Value *step, Value **counters)
{
    int64_t first[HLS_MAX_LOOPS];
    const int64_t *extents = box->loop->extents;
    Value *carry = to_rtl_true(m);
    /* The whole box: then the counters come back to 0 by themselves. */
    bool is_whole = box->begin == 0 && box->last == box_size(box) - 1;
    position(box, box->begin, first);
    for (uint32_t i = box->first; i < box->end; i++)
        counters[i] =
            to_rtl_counter(m, bits_for(extents[i] - 1), first[i], step, counter_name(box->loop, i));
    Value *is_last = is_at(m, box, counters, box->last);
    for (uint32_t i = box->end; i-- > box->first;) {
        uint32_t width = type_width(counters[i]->type);
        Value *wraps = is_equal(m, counters[i], extents[i] - 1);
        Value *more =
            comb_build_binary(&m->b, COMB(ADD), counters[i], hw_build_int(&m->b, width, 1));
        Value *next = comb_build_mux(&m->b, wraps, hw_build_int(&m->b, width, 0), more);
        next = comb_build_mux(&m->b, carry, next, counters[i]);
        Value *begin = hw_build_int(&m->b, width, first[i]);
        seq_connect(counters[i], is_whole ? next : comb_build_mux(&m->b, is_last, begin, next));
        carry = to_rtl_both(m, carry, wraps);
    }
    return is_last;
}

/* Loops around loops. */

/* A STEP_REPEAT. */
struct Repeat {
    Value *step;    /* its counters step; given last */
    Value *is_last; /* they are at their last position */
    Value *steps;   /* when, as far as it is known */
};

/* The counters of the nest that the counter `first` belongs to. */
static Box box_of_repeat(const HlsLoop *loop, uint32_t first)
{
    Box box = {.loop = loop, .first = first, .end = first};
    while (box.end < loop->plain_count &&
           loop->counters[box.end]->owner.block == loop->counters[first]->owner.block)
        box.end++;
    box.last = box_size(&box) - 1;
    return box;
}

/* The counters of the repeat at a step, for the loops inside it; `first` of these are those of repeats
 * around it. */
static uint32_t declare_repeat(RtlModule *m, Sequence *q, size_t step, uint32_t first)
{
    const HlsProcess *p = m->process->model;
    Value *counters[HLS_MAX_LOOPS];
    size_t inside = step, depth = 0;
    while (p->steps.data[inside].kind != STEP_LOOP) inside++;
    Box box = box_of_repeat(&p->loops.data[p->steps.data[inside].loop], first);
    Repeat *r = &q->repeats[step];
    r->step = to_rtl_later(m);
    r->is_last = count(m, &box, r->step, counters);
    r->steps = hw_build_int(&m->b, 1, 0);
    for (size_t i = step; i == step || depth > 0; i++) {
        const HlsStep *s = &p->steps.data[i];
        depth += s->kind == STEP_REPEAT;
        depth -= s->kind == STEP_END;
        for (uint32_t k = box.first; s->kind == STEP_LOOP && k < box.end; k++)
            m->loops[s->loop].counters[k] = counters[k];
    }
    return box.end;
}

static void declare_repeats(RtlModule *m, Sequence *q)
{
    const HlsProcess *p = m->process->model;
    uint32_t outside[HLS_MAX_LOOPS + 1] = {0}, depth = 0;
    q->repeats = ARENA_ARRAY(&m->process->arena, Repeat, p->steps.len);
    for (size_t i = 0; i < p->steps.len; i++) {
        depth -= p->steps.data[i].kind == STEP_END;
        if (p->steps.data[i].kind != STEP_REPEAT) continue;
        outside[depth + 1] = declare_repeat(m, q, i, outside[depth]);
        depth++;
    }
}

/* Turns. */

/* What follows the last iteration of a loop. */
typedef struct Turn {
    Value *phase; /* NULL where there is only one */
    Value *wait;
} Turn;

static int64_t start_of(const HlsLoop *loop)
{
    return loop->op ? LOOP_START : 0;
}

/* Cycles after the last iteration's in which none begins, if the next one's start takes so many. */
static int64_t pause_after(const RtlModule *m, const HlsLoop *loop, int64_t start)
{
    if (m->process->model->rewinds) return loop->ii - 1;
    bool is_seen = loop->flushes && loop->depth > 1;
    return is_seen ? start : loop->depth - 1 + start;
}

static Turn choose(RtlModule *m, Value *where, Turn a, Turn b)
{
    Turn out = {.wait = comb_build_mux(&m->b, where, a.wait, b.wait)};
    if (a.phase) out.phase = comb_build_mux(&m->b, where, a.phase, b.phase);
    return out;
}

static Turn turn_to(RtlModule *m, const Sequence *q, uint32_t loop, int64_t wait)
{
    Turn out = {.wait = hw_build_int(&m->b, type_width(q->wait->type), wait)};
    if (q->phase) out.phase = hw_build_int(&m->b, type_width(q->phase->type), loop);
    return out;
}

/* The turn behind a step, for the loop `last` that has ended under the condition `where`; `frames` that
 * have ended on the way. Only a loop that runs once has others of these behind it in its frame. */
static Turn follow(RtlModule *m, Sequence *q, const HlsLoop *last, size_t step, int frames,
                   Value *where)
{
    const HlsProcess *p = m->process->model;
    for (;; step++) {
        if (step == p->steps.len) {
            if (frames > 0) return turn_to(m, q, loop_count(m), 0); /* at rest */
            frames++;
            step = 0;
        }
        const HlsStep *s = &p->steps.data[step];
        if (s->kind == STEP_LOOP) {
            int64_t start = start_of(&p->loops.data[s->loop]) + frames * PROCESS_START;
            return turn_to(m, q, s->loop, pause_after(m, last, start));
        }
        if (s->kind == STEP_ONCE && (frames > 0 || !last->is_once)) step = s->match - 1;
        if (s->kind != STEP_END) continue;
        Repeat *r = &q->repeats[s->match];
        Value *again = to_rtl_both(m, where, comb_build_not(&m->b, r->is_last));
        r->steps = to_rtl_either(m, r->steps, where);
        Turn repeated = follow(m, q, last, s->match + 1, frames, again);
        Turn left = follow(m, q, last, step + 1, frames, to_rtl_both(m, where, r->is_last));
        return choose(m, r->is_last, left, repeated);
    }
}

static int64_t longest_wait(const RtlModule *m)
{
    const HlsProcess *p = m->process->model;
    int64_t most = 0;
    for (uint32_t l = 0; l < loop_count(m); l++) {
        const HlsLoop *loop = &p->loops.data[l];
        int64_t pause = pause_after(m, loop, PROCESS_START + LOOP_START);
        most = i64_max(most, i64_max(pause, loop->ii - 1));
    }
    return i64_max(most, PROCESS_START + LOOP_START);
}

/* What lets the cycles until the next iteration be counted: pipelines that stall must not stand, and
 * one that flushes must take in the iteration that begins. */
static Value *advances(RtlModule *m, const Sequence *q)
{
    Value *all = NULL;
    for (uint32_t l = 0; l < loop_count(m); l++) {
        const LoopControl *c = &m->loops[l];
        Value *one = c->moves[0];
        if (c->spaced) one = to_rtl_both(m, one, c->begins);
        if (c->loop->flushes) one = to_rtl_either(m, one, comb_build_not(&m->b, c->wants));
        all = all ? to_rtl_both(m, all, one) : one;
    }
    return q->drains ? to_rtl_both(m, all, comb_build_not(&m->b, q->drains)) : all;
}

static bool is_drained(const HlsProcess *p)
{
    for (size_t l = 0; l < p->loops.len; l++)
        if (p->loops.data[l].flushes && p->loops.data[l].depth > 1) return true;
    return false;
}

/* The loop of the first step that is one: what runs once is in front. */
static uint32_t first_loop(const HlsProcess *p)
{
    size_t step = 0;
    while (p->steps.data[step].kind != STEP_LOOP) step++;
    return p->steps.data[step].loop;
}

static void declare(RtlModule *m, Sequence *q)
{
    const HlsProcess *p = m->process->model;
    uint32_t first = first_loop(p), width = bits_for(longest_wait(m));
    bool is_plain = loop_count(m) == 1 && !is_drained(p) && !p->loops.data[0].flushes;
    q->advances = is_plain ? m->loops[0].moves[0] : to_rtl_later(m);
    q->wait = to_rtl_counter(m, width, PROCESS_START + start_of(&p->loops.data[first]), q->advances,
                             "wait");
    if (loop_count(m) > 1 || p->is_once)
        q->phase = to_rtl_counter(m, bits_for(loop_count(m)), first, q->advances, "phase");
    if (is_drained(p)) q->drains = to_rtl_counter(m, 1, 0, NULL, "drains");
}

/* The step behind that of a loop. */
static size_t step_behind(const HlsProcess *p, uint32_t loop)
{
    size_t step = 0;
    while (p->steps.data[step].kind != STEP_LOOP || p->steps.data[step].loop != loop) step++;
    return step + 1;
}

/* The iterations of a loop, which begin where the wait is over; gives what follows each of them. */
static Turn add_loop(RtlModule *m, Sequence *q, uint32_t index, Value *is_over)
{
    LoopControl *c = &m->loops[index];
    Box box = own_box(c->loop);
    bool is_seen = c->loop->flushes && c->loop->depth > 1;
    Value *ends = NULL;
    c->wants = is_over;
    if (q->drains) c->wants = to_rtl_both(m, c->wants, comb_build_not(&m->b, q->drains));
    if (q->phase) c->wants = to_rtl_both(m, c->wants, is_equal(m, q->phase, index));
    if (c->loop->flushes && i64_min(c->loop->ii, c->loop->depth) > 1) c->spaced = to_rtl_later(m);
    c->begins = c->spaced ? to_rtl_both(m, c->wants, c->spaced) : c->wants;
    Value *step = to_rtl_both(m, c->begins, c->moves[0]);
    Value *is_last = count(m, &box, step, c->counters);
    if (is_seen || c->loop->plain_count > 0) ends = to_rtl_both(m, step, is_last);
    if (is_seen) q->ends = q->ends ? to_rtl_either(m, q->ends, ends) : ends;
    Turn after = follow(m, q, c->loop, step_behind(m->process->model, index), 0, ends);
    return choose(m, is_last, after, turn_to(m, q, index, c->loop->ii - 1));
}

static void connect_repeats(RtlModule *m, const Sequence *q)
{
    const HlsProcess *p = m->process->model;
    for (size_t i = 0; i < p->steps.len; i++)
        if (p->steps.data[i].kind == STEP_REPEAT)
            op_set_operands(value_def(q->repeats[i].step), &q->repeats[i].steps, 1);
}

Sequence to_rtl_sequence(RtlModule *m)
{
    Sequence q = {.wait = NULL};
    declare(m, &q);
    declare_repeats(m, &q);
    Value *is_over = is_equal(m, q.wait, 0);
    Turn next = {.wait = NULL};
    for (uint32_t l = 0; l < loop_count(m); l++) {
        Turn after = add_loop(m, &q, l, is_over);
        Turn otherwise = l > 0 ? next : q.phase ? turn_to(m, &q, loop_count(m), 0) : after;
        next = q.phase ? choose(m, is_equal(m, q.phase, l), after, otherwise) : after;
    }
    Value *one = hw_build_int(&m->b, type_width(q.wait->type), 1);
    Value *less = comb_build_binary(&m->b, COMB(SUB), q.wait, one);
    seq_connect(q.wait, comb_build_mux(&m->b, is_over, next.wait, less));
    if (q.phase) seq_connect(q.phase, comb_build_mux(&m->b, is_over, next.phase, q.phase));
    connect_repeats(m, &q);
    if (q.advances != m->loops[0].moves[0]) {
        Value *all = advances(m, &q);
        op_set_operands(value_def(q.advances), &all, 1);
    }
    return q;
}

/* Whether the last iteration of a loop leaves a pipeline that flushes: it is alone there. */
static Value *leaves(RtlModule *m, const LoopControl *c)
{
    int64_t last = c->loop->depth - 1;
    Value *is_alone = c->valid[last];
    for (int64_t s = 1; s < last; s++)
        is_alone = to_rtl_both(m, is_alone, comb_build_not(&m->b, c->present[s]));
    return is_alone;
}

void to_rtl_end_sequence(RtlModule *m, const Sequence *q)
{
    if (!q->drains) return;
    Value *stays = q->drains;
    for (uint32_t l = 0; l < loop_count(m); l++)
        if (m->loops[l].loop->flushes && m->loops[l].loop->depth > 1)
            stays = to_rtl_both(m, stays, comb_build_not(&m->b, leaves(m, &m->loops[l])));
    seq_connect(q->drains, to_rtl_either(m, q->ends, stays));
}
