/* The controller of a process: the counters of its loop, and a counter of the cycles until the next
 * iteration begins. Those are the initiation interval less one in between, and at a frame's end the
 * cycles in which the pipeline runs empty and the next frame starts, as sim/design counts them:
 *
 *   first iteration at PROCESS_START + LOOP_START; the next frame's `depth` + that after the last
 *
 * A loop that rewinds goes on with the next frame after an interval. The first of its iterations that
 * reads waits until its words are there, in the stage of the read; what is in front of it moves on
 * meanwhile, so that a frame is complete without the next one (docs/rtl.md).
 *
 * Everything stands while the pipeline stands.
 * Tests: lit/lowering/emithls_to_rtl, test/e2e/rtl_check.py */
#include <string.h>

#include "dialects/comb/comb.h"
#include "dialects/hw/hw.h"
#include "dialects/seq/seq.h"
#include "lowering/emithls_to_rtl/internal.h"

static uint32_t bits_for(int64_t most)
{
    return (uint32_t)i64_max(i64_log2_up(most + 1), 1);
}

static Value *both(RtlModule *m, Value *x, Value *y)
{
    return comb_build_binary(&m->b, COMB(AND), x, y);
}

static Value *is_equal(RtlModule *m, Value *x, int64_t value)
{
    return comb_build_icmp(&m->b, COMB_EQ, x, hw_build_int(&m->b, type_width(x->type), value));
}

/* A register that starts at a number. */
static Value *counter(RtlModule *m, uint32_t width, int64_t first, Value *enable, const char *name)
{
    SeqRegister reg = {.clock = m->clock,
                       .enable = enable,
                       .reset = m->reset,
                       .reset_value = hw_build_int(&m->b, width, first)};
    return seq_build_register(&m->b, type_i(m->b.ctx, width), &reg, 1, name);
}

/* The counters at a flat position of the loop's box. */
static void position(const HlsLoop *loop, int64_t flat, int64_t *out)
{
    for (uint32_t i = loop->counter_count; i-- > loop->plain_count;) {
        out[i] = flat % loop->extents[i];
        flat /= loop->extents[i];
    }
}

static const char *counter_name(const HlsLoop *loop, uint32_t index)
{
    const Attr *names = op_attr(loop->op, "counters");
    return names->u.array.items[index - loop->plain_count]->u.string.data;
}

/* Whether the counters are at a flat position of the loop's box. */
static Value *is_at(RtlModule *m, const HlsLoop *loop, Value *const *counters, int64_t flat)
{
    int64_t at[HLS_MAX_LOOPS];
    Value *all = hw_build_int(&m->b, 1, 1);
    position(loop, flat, at);
    for (uint32_t i = loop->plain_count; i < loop->counter_count; i++)
        all = both(m, all, is_equal(m, counters[i], at[i]));
    return all;
}

/* Counts like the nest, from the innermost counter on; gives whether the iteration is the last. */
static Value *count(RtlModule *m, const HlsLoop *loop, Value *step, Value **counters)
{
    int64_t first[HLS_MAX_LOOPS], box = 1;
    Value *carry = hw_build_int(&m->b, 1, 1);
    for (uint32_t i = loop->plain_count; i < loop->counter_count; i++) box *= loop->extents[i];
    bool is_whole = loop->trips == box; /* then the counters come back to 0 by themselves */
    position(loop, loop->begin, first);
    for (uint32_t i = loop->plain_count; i < loop->counter_count; i++)
        counters[i] =
            counter(m, bits_for(loop->extents[i] - 1), first[i], step, counter_name(loop, i));
    Value *is_last = is_at(m, loop, counters, loop->end_position - 1);
    for (uint32_t i = loop->counter_count; i-- > loop->plain_count;) {
        uint32_t width = type_width(counters[i]->type);
        Value *wraps = is_equal(m, counters[i], loop->extents[i] - 1);
        Value *more =
            comb_build_binary(&m->b, COMB(ADD), counters[i], hw_build_int(&m->b, width, 1));
        Value *next = comb_build_mux(&m->b, wraps, hw_build_int(&m->b, width, 0), more);
        next = comb_build_mux(&m->b, carry, next, counters[i]);
        Value *begin = hw_build_int(&m->b, width, first[i]);
        seq_connect(counters[i], is_whole ? next : comb_build_mux(&m->b, is_last, begin, next));
        carry = both(m, carry, wraps);
    }
    return is_last;
}

/* Lets the iteration at the gate wait in the stages in which it reads, and with it everything that is
 * there and behind. */
static void hold(RtlModule *m, const HlsLoop *loop, const FrameGate *gate, LoopControl *c)
{
    Value **is_first = ARENA_ARRAY(&m->process->arena, Value *, gate->stages + 1);
    is_first[0] = is_at(m, loop, c->counters, gate->position);
    for (int64_t s = 1; s < gate->stages; s++) {
        SeqRegister reg = {.input = is_first[s - 1], .clock = m->clock, .enable = c->moves[s]};
        is_first[s] = seq_build_register(&m->b, is_first[0]->type, &reg, 1, "is_first");
    }
    Value *held = hw_build_int(&m->b, 1, 0);
    for (int64_t s = gate->stages; s-- > 0;) {
        if (gate->words[s]) {
            Value *lacks = comb_build_not(&m->b, gate->words[s]);
            Value *waits = both(m, both(m, c->valid[s], is_first[s]), lacks);
            held = comb_build_binary(&m->b, COMB(OR), held, waits);
        }
        Value *moves[] = {m->run, comb_build_not(&m->b, held)};
        op_set_operands(value_def(c->moves[s]), moves, COUNT_OF(moves));
        c->valid[s] = both(m, c->valid[s], moves[1]);
    }
}

/* When an iteration begins: `wait` cycles after the one before. */
static Value *issue(RtlModule *m, const HlsLoop *loop, LoopControl *c)
{
    int64_t start = PROCESS_START + LOOP_START;
    int64_t pause = m->process->model->rewinds ? loop->ii - 1 : loop->depth + start - 1;
    uint32_t width = bits_for(i64_max(i64_max(pause, start), loop->ii - 1));
    Value *wait = counter(m, width, start, c->moves[0], "wait");
    Value *begins = is_equal(m, wait, 0);
    Value *is_last = count(m, loop, both(m, begins, c->moves[0]), c->counters);
    Value *after = comb_build_mux(&m->b, is_last, hw_build_int(&m->b, width, pause),
                                  hw_build_int(&m->b, width, loop->ii - 1));
    Value *less = comb_build_binary(&m->b, COMB(SUB), wait, hw_build_int(&m->b, width, 1));
    seq_connect(wait, comb_build_mux(&m->b, begins, after, less));
    return begins;
}

LoopControl to_rtl_control(RtlModule *m, const HlsLoop *loop, const FrameGate *gate)
{
    Arena *arena = &m->process->arena;
    LoopControl c = {.valid = ARENA_ARRAY(arena, Value *, loop->depth),
                     .moves = ARENA_ARRAY(arena, Value *, loop->depth)};
    Value **stages = ARENA_ARRAY(arena, Value *, loop->depth);
    for (int64_t s = 0; s < loop->depth; s++)
        c.moves[s] = s < gate->stages ? both(m, m->run, m->run) : m->run;
    stages[0] = issue(m, loop, &c);
    for (int64_t s = 1; s < loop->depth; s++) stages[s] = counter(m, 1, 0, c.moves[s], "valid");
    memcpy(c.valid, stages, (size_t)loop->depth * sizeof *stages);
    if (gate->stages > 0) hold(m, loop, gate, &c);
    for (int64_t s = 1; s < loop->depth; s++) seq_connect(stages[s], c.valid[s - 1]);
    return c;
}
