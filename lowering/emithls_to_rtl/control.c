/* The pipeline of a loop: which iterations are where, and what lets them move. There are two kinds.
 *
 * A pipeline that stalls moves as a whole:
 *
 *   run = no read in its cycle finds its FIFO empty, and no write in its cycle finds it full
 *
 * In one that flushes each iteration moves by itself. It makes step s when its streams let it and the
 * one before is II steps further (docs/streaming.md, "Pipelines that flush"):
 *
 *   goes[s] = present[s], streams of s ready, nothing present at s + II or goes[s + II]
 *
 * so at s + 1 to s + II - 1 there is never anything; nor is there in front of an iteration that
 * begins, which waits until the one before is so far.
 *
 * A loop that rewinds goes on with the next frame after an interval. The first of its iterations that
 * reads waits until its words are there, in the stage of the read; what is in front of it moves on
 * meanwhile, so that a frame is complete without the next one (docs/rtl.md). Where a frame's first
 * words may come before the frame does, this is not enough, and each frame stalls by itself:
 *
 *   stops[s] = an iteration of the frame that is in s, or in front of s, or of a later one stalls
 *
 * When iterations begin is said by sequence.c.
 * Tests: lit/lowering/emithls_to_rtl, test/e2e/rtl_check.py */
#include <string.h>

#include "dialects/comb/comb.h"
#include "dialects/hw/hw.h"
#include "dialects/seq/seq.h"
#include "lowering/emithls_to_rtl/internal.h"

Value *to_rtl_both(RtlModule *m, Value *x, Value *y)
{
    return comb_build_binary(&m->b, COMB(AND), x, y);
}

Value *to_rtl_either(RtlModule *m, Value *x, Value *y)
{
    return comb_build_binary(&m->b, COMB(OR), x, y);
}

Value *to_rtl_true(RtlModule *m)
{
    return hw_build_int(&m->b, 1, 1);
}

Value *to_rtl_later(RtlModule *m)
{
    Value *one = to_rtl_true(m);
    return to_rtl_both(m, one, one);
}

Value *to_rtl_counter(RtlModule *m, uint32_t width, int64_t first, Value *enable, const char *name)
{
    SeqRegister reg = {.clock = m->clock,
                       .enable = enable,
                       .reset = m->reset,
                       .reset_value = hw_build_int(&m->b, width, first)};
    return seq_build_register(&m->b, type_i(m->b.ctx, width), &reg, 1, name);
}

/* Lets the iteration at the gate wait in the stages in which it reads, and with it everything that is
 * there and behind. */
static void hold(RtlModule *m, const FrameGate *gate, LoopControl *c)
{
    Value **is_first = ARENA_ARRAY(&m->process->arena, Value *, gate->stages + 1);
    is_first[0] = to_rtl_is_at(m, c, gate->position);
    for (int64_t s = 1; s < gate->stages; s++) {
        SeqRegister reg = {.input = is_first[s - 1], .clock = m->clock, .enable = c->moves[s]};
        is_first[s] = seq_build_register(&m->b, is_first[0]->type, &reg, 1, "is_first");
    }
    Value *held = hw_build_int(&m->b, 1, 0);
    for (int64_t s = gate->stages; s-- > 0;) {
        if (gate->words[s]) {
            Value *lacks = comb_build_not(&m->b, gate->words[s]);
            Value *waits = to_rtl_both(m, to_rtl_both(m, c->valid[s], is_first[s]), lacks);
            held = to_rtl_either(m, held, waits);
        }
        Value *moves[] = {c->run, comb_build_not(&m->b, held)};
        op_set_operands(value_def(c->moves[s]), moves, COUNT_OF(moves));
        c->valid[s] = to_rtl_both(m, c->valid[s], moves[1]);
    }
}

static void stall(RtlModule *m, const FrameGate *gate, LoopControl *c)
{
    int64_t depth = c->loop->depth;
    Value **stages = ARENA_ARRAY(&m->process->arena, Value *, depth);
    stages[0] = c->begins;
    for (int64_t s = 1; s < depth; s++) stages[s] = to_rtl_counter(m, 1, 0, c->moves[s], "valid");
    memcpy(c->valid, stages, (size_t)depth * sizeof *stages);
    if (gate->stages > 0) hold(m, gate, c);
    memcpy(c->present, c->valid, (size_t)depth * sizeof *stages);
    for (int64_t s = 1; s < depth; s++) seq_connect(stages[s], c->valid[s - 1]);
}

static bool has_transfer(const Graph *g, int64_t stage)
{
    for (size_t i = 0; i < g->transfers.len; i++)
        if (g->transfers.data[i].stage == stage) return true;
    return false;
}

/* The first iteration of a frame, on its way through the pipeline. */
static Value **mark_frames(RtlModule *m, LoopControl *c)
{
    Value **is_first = ARENA_ARRAY(&m->process->arena, Value *, c->loop->depth);
    is_first[0] = to_rtl_is_at(m, c, c->loop->begin);
    for (int64_t s = 1; s < c->loop->depth; s++) {
        SeqRegister reg = {.input = is_first[s - 1], .clock = m->clock, .enable = c->moves[s]};
        is_first[s] = seq_build_register(&m->b, is_first[0]->type, &reg, 1, "is_first");
    }
    return is_first;
}

/* An iteration that lacks a word, or room for one, stops those behind it and those in front of it up to
 * the first one of its frame; the frames before move on. */
static void stall_by_frame(RtlModule *m, const Graph *g, LoopControl *c)
{
    int64_t depth = c->loop->depth;
    Value **stops = ARENA_ARRAY(&m->process->arena, Value *, depth);
    c->present[0] = c->begins;
    for (int64_t s = 1; s < depth; s++)
        c->present[s] = to_rtl_counter(m, 1, 0, c->moves[s], "valid");
    Value **is_first = mark_frames(m, c), *stop = hw_build_int(&m->b, 1, 0);
    for (int64_t s = 0; s < depth; s++) {
        if (has_transfer(g, s)) {
            c->ready[s] = to_rtl_later(m);
            Value *lacks = comb_build_not(&m->b, c->ready[s]);
            stop = to_rtl_either(m, stop, to_rtl_both(m, c->present[s], lacks));
        }
        stops[s] = stop;
        Value *is_head = to_rtl_both(m, c->present[s], is_first[s]);
        stop = to_rtl_both(m, stop, comb_build_not(&m->b, is_head));
    }
    stop = hw_build_int(&m->b, 1, 0);
    for (int64_t s = depth; s-- > 0;) {
        stop = to_rtl_either(m, stop, stops[s]);
        Value *moves = comb_build_not(&m->b, stop);
        op_set_operands(value_def(c->moves[s]), &moves, 1);
        c->valid[s] = to_rtl_both(m, c->present[s], moves);
    }
    for (int64_t s = 1; s < depth; s++) seq_connect(c->present[s], c->valid[s - 1]);
}

/* Whether an iteration in the stage goes on; what its streams say is given later. */
static Value *goes(RtlModule *m, const Graph *g, LoopControl *c, int64_t stage)
{
    int64_t before = stage + c->loop->ii;
    bool waits = before < c->loop->depth && c->valid[before] != c->present[before];
    Value *may = NULL;
    if (waits) may = to_rtl_either(m, comb_build_not(&m->b, c->present[before]), c->valid[before]);
    if (has_transfer(g, stage)) {
        c->ready[stage] = to_rtl_later(m);
        may = may ? to_rtl_both(m, may, c->ready[stage]) : c->ready[stage];
    }
    if (stage == 0) {
        Value *moves[] = {may ? may : to_rtl_true(m)};
        op_set_operands(value_def(c->moves[0]), moves, COUNT_OF(moves));
        may = may ? c->moves[0] : NULL;
    }
    return may ? to_rtl_both(m, c->present[stage], may) : c->present[stage];
}

/* No iteration begins while the one before is held up in the stages of an interval. */
static void space(RtlModule *m, const LoopControl *c)
{
    int64_t last = i64_min(c->loop->ii, c->loop->depth) - 1;
    Value **spaced = xcalloc((size_t)last, sizeof *spaced);
    for (int64_t s = 1; s <= last; s++) spaced[s - 1] = comb_build_not(&m->b, c->present[s]);
    op_set_operands(value_def(c->spaced), spaced, (uint32_t)last);
    free_ptr((void **)&spaced);
}

static void flush(RtlModule *m, const Graph *g, LoopControl *c)
{
    int64_t depth = c->loop->depth;
    c->present[0] = c->begins;
    for (int64_t s = 1; s < depth; s++) c->present[s] = to_rtl_counter(m, 1, 0, NULL, "valid");
    for (int64_t s = depth; s-- > 0;) c->valid[s] = goes(m, g, c, s);
    for (int64_t s = 1; s < depth; s++) {
        Value *stays = to_rtl_both(m, c->present[s], comb_build_not(&m->b, c->valid[s]));
        seq_connect(c->present[s], to_rtl_either(m, c->valid[s - 1], stays));
        c->moves[s] = c->valid[s - 1];
    }
    if (c->spaced) space(m, c);
}

LoopControl to_rtl_begin_control(RtlModule *m, const HlsLoop *loop)
{
    Arena *arena = &m->process->arena;
    bool by_stage = loop->flushes || m->process->has_early_words;
    LoopControl c = {.loop = loop,
                     .by_stage = by_stage,
                     .run = by_stage ? to_rtl_true(m) : to_rtl_later(m),
                     .valid = ARENA_ARRAY(arena, Value *, loop->depth),
                     .present = ARENA_ARRAY(arena, Value *, loop->depth),
                     .ready = ARENA_ARRAY(arena, Value *, loop->depth),
                     .moves = ARENA_ARRAY(arena, Value *, loop->depth)};
    if (!by_stage)
        op_set_attr(value_def(c.run), HW_ATTR_NAME_HINT, attr_string_c(m->process->ctx, "run"));
    return c;
}

/* Before it is known when iterations begin. */
static void declare_moves(RtlModule *m, const FrameGate *gate, LoopControl *c)
{
    bool by_frame = c->by_stage && !c->loop->flushes;
    for (int64_t s = 0; s < c->loop->depth; s++) {
        c->moves[s] = c->run;
        if (s < gate->stages) c->moves[s] = to_rtl_both(m, c->run, c->run);
        if (by_frame || (c->loop->flushes && s == 0)) c->moves[s] = to_rtl_later(m);
    }
}

void to_rtl_control(RtlModule *m, const FrameGate *gate)
{
    size_t count = m->process->model->loops.len;
    for (size_t l = 0; l < count; l++) declare_moves(m, gate, &m->loops[l]);
    Sequence sequence = to_rtl_sequence(m);
    for (size_t l = 0; l < count; l++) {
        if (m->loops[l].loop->flushes)
            flush(m, &m->process->graphs[l], &m->loops[l]);
        else if (m->loops[l].by_stage)
            stall_by_frame(m, &m->process->graphs[l], &m->loops[l]);
        else
            stall(m, gate, &m->loops[l]);
    }
    to_rtl_end_sequence(m, &sequence);
}
