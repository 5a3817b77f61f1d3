/* The waveform: changes of all signals, merged by time with a heap of signals.
 * Tests: lit/tools/ming-sim-charts.mir, lit/tools/ming-sim-waveform.test */
#include <stdlib.h>

#include "sim/hls/internal.h"

/* Printable characters stand for digits. */
static void add_code(StrBuf *out, uint32_t signal)
{
    enum { FIRST = '!', DIGITS = '~' - '!' + 1 };
    do {
        strbuf_add_char(out, (char)(FIRST + signal % DIGITS));
        signal /= DIGITS;
    } while (signal > 0);
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* A name in which spaces, brackets and all else that has a meaning of its own is '_'; one that
 * is changed so gets the signal's number, which tells it from others. */
static void add_name(StrBuf *out, Str name, uint32_t signal)
{
    bool is_changed = name.len == 0;
    for (size_t i = 0; i < name.len; i++) {
        is_changed |= !is_plain(name.data[i]);
        strbuf_add_char(out, is_plain(name.data[i]) ? name.data[i] : '_');
    }
    if (is_changed) strbuf_printf(out, "_%u", signal);
}

static void add_variables(const HlsTrace *t, const char *scope, const char *type, uint32_t begin,
                          uint32_t end, StrBuf *out)
{
    strbuf_printf(out, "$scope module %s $end\n", scope);
    for (uint32_t i = begin; i < end; i++) {
        if (!t->signals[i].is_kept) continue;
        strbuf_printf(out, "$var %s ", type);
        add_code(out, i);
        strbuf_add_char(out, ' ');
        add_name(out, hls_sim_trace_name(t->design, i), i);
        strbuf_add_c(out, " $end\n");
    }
    strbuf_add_c(out, "$upscope $end\n");
}

static void add_header(const HlsTrace *t, StrBuf *out)
{
    uint32_t count = (uint32_t)t->design->processes.len;
    strbuf_add_c(out,
                 "$comment one unit is one cycle; states: 0 busy, 1 waits for input, 2 waits for "
                 "output, 3 idle $end\n");
    if (t->is_cut)
        strbuf_printf(out, "$comment ends in cycle %lld of %lld, after %lld changes $end\n",
                      (long long)t->to, (long long)t->end, (long long)t->change_count);
    strbuf_add_c(out, "$timescale 1 ns $end\n");
    add_variables(t, "processes", "reg 2", 0, count, out);
    add_variables(t, "fifos", "integer 64", count, count + (uint32_t)t->design->streams.len, out);
    strbuf_add_c(out, "$enddefinitions $end\n");
}

static void add_value(StrBuf *out, int64_t value, uint32_t signal)
{
    char bits[64];
    size_t at = sizeof bits;
    do {
        bits[--at] = (char)('0' + (value & 1));
        value >>= 1;
    } while (value > 0);
    strbuf_add_char(out, 'b');
    strbuf_add(out, bits + at, sizeof bits - at);
    strbuf_add_char(out, ' ');
    add_code(out, signal);
    strbuf_add_char(out, '\n');
}

/* Signals whose next changes wait, the earliest at the root. */
typedef struct Merge {
    const HlsTrace *trace;
    size_t *next; /* of each signal: the change that is due */
    uint32_t *heap;
    uint32_t count;
} Merge;

static const HlsTraceChange *due(const Merge *m, uint32_t signal)
{
    return &m->trace->signals[signal].changes.data[m->next[signal]];
}

static bool is_before(const Merge *m, uint32_t a, uint32_t b)
{
    int64_t left = due(m, a)->time, right = due(m, b)->time;
    return left < right || (left == right && a < b);
}

static void sift_down(Merge *m, uint32_t at)
{
    uint32_t moved = m->heap[at];
    for (uint32_t child; (child = 2 * at + 1) < m->count; at = child) {
        if (child + 1 < m->count && is_before(m, m->heap[child + 1], m->heap[child])) child++;
        if (is_before(m, moved, m->heap[child])) break;
        m->heap[at] = m->heap[child];
    }
    m->heap[at] = moved;
}

static void add_changes(Merge *m, int64_t time, StrBuf *out)
{
    while (m->count > 0) {
        uint32_t signal = m->heap[0];
        const HlsTraceChange *change = due(m, signal);
        if (change->time != time) {
            time = change->time;
            strbuf_add_char(out, '#');
            strbuf_add_int(out, time);
            strbuf_add_char(out, '\n');
        }
        add_value(out, change->value, signal);
        if (++m->next[signal] == m->trace->signals[signal].changes.len)
            m->heap[0] = m->heap[--m->count];
        if (m->count > 0) sift_down(m, 0);
    }
}

void hls_sim_trace_print_vcd(const HlsTrace *t, StrBuf *out)
{
    uint32_t signals = (uint32_t)(t->design->processes.len + t->design->streams.len);
    Merge m = {t, xcalloc(signals, sizeof *m.next), xcalloc(signals, sizeof *m.heap), 0};
    add_header(t, out);
    strbuf_printf(out, "#%lld\n$dumpvars\n", (long long)t->options.from);
    for (uint32_t i = 0; i < signals; i++) {
        if (t->signals[i].is_kept) add_value(out, t->signals[i].first, i);
        if (t->signals[i].changes.len > 0) m.heap[m.count++] = i;
    }
    strbuf_add_c(out, "$end\n");
    for (uint32_t i = m.count / 2; i-- > 0;) sift_down(&m, i);
    add_changes(&m, t->options.from, out);
    strbuf_printf(out, "#%lld\n", (long long)t->to);
    free(m.next);
    free(m.heap);
}
