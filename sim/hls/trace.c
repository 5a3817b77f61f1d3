/* Traces. For the chart, time is cut into COLUMNS parts of equal length. When the run outgrows
 * them, neighbouring parts are added up and each part becomes twice as long, so memory stays
 * bounded.
 * Tests: lit/tools/ming-sim-charts.mir */
#include <stdlib.h>

#include "sim/hls/hls.h"

enum { COLUMNS = 1024 };

/* Cycles of each part of the time that count for one thing; of a FIFO, times the level. */
typedef struct ChartRow {
    int64_t parts[COLUMNS];
} ChartRow;

typedef struct TraceChange {
    int64_t time, value;
    uint32_t signal; /* processes, then streams */
    uint32_t order;  /* as it was found, for equal times */
} TraceChange;

struct HlsTrace {
    const HlsDesign *design;
    bool keeps_changes;
    VEC(TraceChange) changes;
    ChartRow *states;        /* HLS_STATE_COUNT of each process */
    ChartRow *fills;         /* of each stream */
    int64_t *levels, *since; /* of each stream: the current one */
    int64_t width;           /* cycles of a part */
    int64_t end;
};

HlsTrace *hls_sim_trace_create(const HlsDesign *design, bool keeps_changes)
{
    HlsTrace *t = xcalloc(1, sizeof *t);
    *t = (HlsTrace){.design = design, .keeps_changes = keeps_changes, .width = 1};
    t->states = xcalloc(design->processes.len * HLS_STATE_COUNT, sizeof *t->states);
    t->fills = xcalloc(design->streams.len, sizeof *t->fills);
    t->levels = xcalloc(design->streams.len, sizeof *t->levels);
    t->since = xcalloc(design->streams.len, sizeof *t->since);
    return t;
}

void hls_sim_trace_free(HlsTrace *t)
{
    if (!t) return;
    vec_free(&t->changes);
    free(t->states);
    free(t->fills);
    free(t->levels);
    free(t->since);
    free(t);
}

static void fold_row(ChartRow *row)
{
    for (int i = 0; i < COLUMNS / 2; i++) row->parts[i] = row->parts[2 * i] + row->parts[2 * i + 1];
    memset(&row->parts[COLUMNS / 2], 0, sizeof row->parts / 2);
}

static void fold(HlsTrace *t)
{
    for (size_t i = 0; i < t->design->processes.len * HLS_STATE_COUNT; i++) fold_row(&t->states[i]);
    for (size_t i = 0; i < t->design->streams.len; i++) fold_row(&t->fills[i]);
    t->width *= 2;
}

/* Adds weight for every cycle of [from, to). */
static void add_cycles(HlsTrace *t, ChartRow *row, int64_t from, int64_t to, int64_t weight)
{
    t->end = to > t->end ? to : t->end;
    while (to > t->width * COLUMNS) fold(t);
    while (from < to) {
        int64_t part = from / t->width, next = (part + 1) * t->width;
        next = next < to ? next : to;
        row->parts[part] += (next - from) * weight;
        from = next;
    }
}

static void add_change(HlsTrace *t, uint32_t signal, int64_t time, int64_t value)
{
    if (t->keeps_changes)
        *vec_push(&t->changes) = (TraceChange){time, value, signal, (uint32_t)t->changes.len};
}

void hls_sim_trace_state(void *trace, uint32_t process, HlsState state, int64_t from, int64_t to)
{
    HlsTrace *t = trace;
    add_cycles(t, &t->states[process * HLS_STATE_COUNT + state], from, to, 1);
    add_change(t, process, from, state);
}

void hls_sim_trace_level(void *trace, uint32_t stream, int64_t time, int64_t level)
{
    HlsTrace *t = trace;
    add_cycles(t, &t->fills[stream], t->since[stream], time, t->levels[stream]);
    t->levels[stream] = level;
    t->since[stream] = time;
    add_change(t, (uint32_t)t->design->processes.len + stream, time, level);
}

/* By time, then signal, then as found. */
static int compare_changes(const void *left, const void *right)
{
    const TraceChange *a = left, *b = right;
    if (a->time != b->time) return a->time < b->time ? -1 : 1;
    if (a->signal != b->signal) return a->signal < b->signal ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Printable characters stand for digits. */
static void add_code(StrBuf *out, uint32_t signal)
{
    enum { FIRST = '!', DIGITS = '~' - '!' + 1 };
    do {
        strbuf_add_char(out, (char)(FIRST + signal % DIGITS));
        signal /= DIGITS;
    } while (signal > 0);
}

/* A name without spaces and what else ends one. */
static void add_name(StrBuf *out, Str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        strbuf_add_char(out, is_plain ? c : '_');
    }
}

static void add_variable(StrBuf *out, const char *type, uint32_t signal, Str name)
{
    strbuf_printf(out, "$var %s ", type);
    add_code(out, signal);
    strbuf_add_char(out, ' ');
    add_name(out, name);
    strbuf_add_c(out, " $end\n");
}

static void add_binary(StrBuf *out, int64_t value)
{
    int bit = 62;
    while (bit > 0 && !(value >> bit & 1)) bit--;
    strbuf_add_char(out, 'b');
    for (; bit >= 0; bit--) strbuf_add_char(out, value >> bit & 1 ? '1' : '0');
    strbuf_add_char(out, ' ');
}

static void add_header(const HlsTrace *t, StrBuf *out)
{
    uint32_t count = (uint32_t)t->design->processes.len;
    strbuf_add_c(out,
                 "$comment one unit is one cycle; states: 0 busy, 1 waits for input, 2 waits for "
                 "output, 3 idle $end\n$timescale 1 ns $end\n$scope module processes $end\n");
    for (uint32_t i = 0; i < count; i++)
        add_variable(out, "reg 2", i, t->design->processes.data[i].name);
    strbuf_add_c(out, "$upscope $end\n$scope module fifos $end\n");
    for (uint32_t i = 0; i < t->design->streams.len; i++)
        add_variable(out, "integer 64", count + i, t->design->streams.data[i].name);
    strbuf_add_c(out, "$upscope $end\n$enddefinitions $end\n");
}

void hls_sim_trace_print_vcd(const HlsTrace *t, StrBuf *out)
{
    size_t count = t->changes.len;
    size_t signals = t->design->processes.len + t->design->streams.len;
    TraceChange *sorted = xmalloc((count + 1) * sizeof *sorted);
    int64_t *shown = xcalloc(signals, sizeof *shown); /* value + 1 of each signal; 0: none */
    int64_t time = -1;
    if (count) memcpy(sorted, t->changes.data, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_changes);
    add_header(t, out);
    for (size_t i = 0; i < count; i++) {
        if (shown[sorted[i].signal] == sorted[i].value + 1) continue;
        shown[sorted[i].signal] = sorted[i].value + 1;
        if (sorted[i].time != time) strbuf_printf(out, "#%lld\n", (long long)sorted[i].time);
        time = sorted[i].time;
        add_binary(out, sorted[i].value);
        add_code(out, sorted[i].signal);
        strbuf_add_char(out, '\n');
    }
    strbuf_printf(out, "#%lld\n", (long long)t->end);
    free(shown);
    free(sorted);
}

enum { LABEL = 260, ROW = 14, BAR = 11, TOP = 24 };

static void add_text(StrBuf *out, int x, int y, Str text)
{
    strbuf_printf(out, "<text x=\"%d\" y=\"%d\">", x, y);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        bool is_special = c == '<' || c == '&' || (unsigned char)c < ' ';
        strbuf_add_char(out, is_special ? '_' : c);
    }
    strbuf_add_c(out, "</text>\n");
}

/* The state in which the process is most of a part; HLS_IDLE where nothing is known. */
static int main_state(const HlsTrace *t, uint32_t process, int column)
{
    const ChartRow *rows = &t->states[process * HLS_STATE_COUNT];
    int most = HLS_IDLE;
    for (int s = 0; s < HLS_STATE_COUNT; s++)
        if (rows[s].parts[column] > rows[most].parts[column]) most = s;
    return most;
}

static void add_process(const HlsTrace *t, uint32_t process, int columns, int y, StrBuf *out)
{
    static const char *const colors[] = {"#3a7d44", "#d9822b", "#b3363e", "#e4e4e4"};
    add_text(out, 4, y + BAR, t->design->processes.data[process].name);
    for (int begin = 0, end; begin < columns; begin = end) {
        int state = main_state(t, process, begin);
        for (end = begin + 1; end < columns && main_state(t, process, end) == state; end++)
            ;
        strbuf_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n",
                      LABEL + begin, y, end - begin, BAR, colors[state]);
    }
}

/* Tenths of its depth (or of its peak) that a stream holds in a part. */
static int fill_tenths(const HlsTrace *t, uint32_t stream, int column)
{
    enum { TENTHS = 10 };
    int64_t depth = t->design->streams.data[stream].depth;
    int64_t full = (depth > 0 ? depth : 1) * t->width;
    int64_t tenths = t->fills[stream].parts[column] * TENTHS / full;
    return tenths < TENTHS ? (int)tenths : TENTHS;
}

static void add_stream(const HlsTrace *t, uint32_t stream, int columns, int y, StrBuf *out)
{
    add_text(out, 4, y + BAR, t->design->streams.data[stream].name);
    for (int begin = 0, end; begin < columns; begin = end) {
        int fill = fill_tenths(t, stream, begin);
        for (end = begin + 1; end < columns && fill_tenths(t, stream, end) == fill; end++)
            ;
        if (fill > 0)
            strbuf_printf(out,
                          "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#2b5d9b\" "
                          "fill-opacity=\"%s%d\"/>\n",
                          LABEL + begin, y, end - begin, BAR, fill == 10 ? "" : "0.",
                          fill == 10 ? 1 : fill);
    }
}

void hls_sim_trace_print_svg(const HlsTrace *t, StrBuf *out)
{
    int columns = (int)((t->end + t->width - 1) / t->width), y = TOP;
    int rows = (int)(t->design->processes.len + t->design->streams.len);
    strbuf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "font-family=\"sans-serif\" font-size=\"10\">\n",
                  LABEL + COLUMNS + 4, TOP + (rows + 1) * ROW);
    strbuf_printf(out,
                  "<text x=\"4\" y=\"14\">%lld cycles; green: busy, orange: waits for input, red: "
                  "waits for output; blue: words in FIFOs</text>\n",
                  (long long)t->end);
    for (uint32_t i = 0; i < t->design->processes.len; i++, y += ROW)
        add_process(t, i, columns, y, out);
    y += ROW;
    for (uint32_t i = 0; i < t->design->streams.len; i++, y += ROW)
        add_stream(t, i, columns, y, out);
    strbuf_add_c(out, "</svg>\n");
}
