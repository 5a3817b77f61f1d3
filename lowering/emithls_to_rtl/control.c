/* The controller of a process: the counters of its loop, and a counter of the cycles until the next
 * iteration begins. Those are the initiation interval less one in between, and at a frame's end the
 * cycles in which the pipeline runs empty and the next frame starts, as sim/design counts them:
 *
 *   first iteration at PROCESS_START + LOOP_START; the next frame's `depth` + that after the last
 *
 * Everything stands while the pipeline stands.
 * Tests: lit/lowering/emithls_to_rtl, test/e2e/rtl_check.py */
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

/* Counts like the nest, from the innermost counter on; gives whether the iteration is the last. */
static Value *count(RtlModule *m, const HlsLoop *loop, Value *step, Value **counters)
{
    int64_t first[HLS_MAX_LOOPS], last[HLS_MAX_LOOPS];
    Value *is_last = hw_build_int(&m->b, 1, 1), *carry = is_last;
    int64_t box = 1;
    for (uint32_t i = loop->plain_count; i < loop->counter_count; i++) box *= loop->extents[i];
    bool is_whole = loop->trips == box; /* then the counters come back to 0 by themselves */
    position(loop, loop->begin, first);
    position(loop, loop->end_position - 1, last);
    for (uint32_t i = loop->plain_count; i < loop->counter_count; i++) {
        counters[i] =
            counter(m, bits_for(loop->extents[i] - 1), first[i], step, counter_name(loop, i));
        is_last = both(m, is_last, is_equal(m, counters[i], last[i]));
    }
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

LoopControl to_rtl_control(RtlModule *m, const HlsLoop *loop)
{
    LoopControl c = {.valid = ARENA_ARRAY(&m->process->arena, Value *, loop->depth)};
    int64_t start = PROCESS_START + LOOP_START, pause = loop->depth + start - 1;
    uint32_t width = bits_for(i64_max(pause, loop->ii - 1));
    Value *wait = counter(m, width, start, m->run, "wait");
    c.issue = is_equal(m, wait, 0);
    Value *is_last = count(m, loop, both(m, c.issue, m->run), c.counters);
    Value *after = comb_build_mux(&m->b, is_last, hw_build_int(&m->b, width, pause),
                                  hw_build_int(&m->b, width, loop->ii - 1));
    Value *less = comb_build_binary(&m->b, COMB(SUB), wait, hw_build_int(&m->b, width, 1));
    seq_connect(wait, comb_build_mux(&m->b, c.issue, after, less));
    c.valid[0] = c.issue;
    for (int64_t s = 1; s < loop->depth; s++) {
        c.valid[s] = counter(m, 1, 0, m->run, "valid");
        seq_connect(c.valid[s], c.valid[s - 1]);
    }
    return c;
}
