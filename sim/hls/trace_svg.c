/* The chart of a run. Time goes to the right over COLUMNS pixels, all of the run in all of the
 * width. A row is drawn in steps: stretches of columns in which its heights are equal. A row that
 * has more steps than `most_steps` allows is drawn with columns of twice the width, and so on;
 * find_steps chooses that limit so that all rows together stay below STEPS.
 * Tests: lit/tools/ming-sim-charts.mir */
#include <stdlib.h>

#include "sim/hls/internal.h"

enum {
    COLUMNS = 1000, /* no more than half of TRACE_PARTS */
    CHARACTER = 6,  /* pixels, of labels */
    LABEL_CHARACTERS = 48,
    MARGIN = 12,
    INFO = 130, /* pixels beside the bars */
    ROW = 16,
    BAR = 12,
    STEPS = 24000,
    HEIGHTS = 3 /* of a row: its colours from the bottom up */
};

static const char *const state_colours[] = {"#1b8a5a", "#f2b632", "#b0357d", "#e6e9ed"};
static const char fill_colour[] = "#2f6db3";

typedef struct Chart {
    const HlsTrace *trace;
    const HlsSim *sim;
    StrBuf *out;
    uint32_t processes, rows; /* rows behind those of processes are FIFOs */
    int parts, columns;       /* used */
    int left;                 /* where the bars begin */
    uint32_t *shifts;         /* of each row: log2 of the columns that are drawn as one */
    double cycle_us;
} Chart;

/* Heights from the bar's bottom, each including those before. */
typedef struct Heights {
    int items[HEIGHTS];
} Heights;

static int first_part(const Chart *c, int column)
{
    return (int)((int64_t)column * c->parts / c->columns);
}

static int64_t sum_of(const HlsTraceRow *row, int begin, int end)
{
    int64_t sum = 0;
    for (int i = begin; i < end; i++) sum += row->parts[i];
    return sum;
}

static int scaled(int64_t share, int64_t whole)
{
    int64_t height = whole > 0 ? (2 * BAR * share + whole) / (2 * whole) : 0;
    return height < BAR ? (int)height : BAR;
}

/* The heights of a row over columns [begin, end). */
static Heights heights_of(const Chart *c, uint32_t row, int begin, int end)
{
    const HlsTrace *t = c->trace;
    int first = first_part(c, begin), last = first_part(c, end);
    int64_t whole = (last - first) * t->width, sum = 0;
    Heights h = {0};
    if (row < c->processes) {
        for (int s = 0; s < HEIGHTS; s++) {
            sum += sum_of(&t->states[row * HLS_STATE_COUNT + (uint32_t)s], first, last);
            h.items[s] = scaled(sum, whole);
        }
        return h;
    }
    uint32_t stream = row - c->processes + t->design->port_count;
    int64_t depth = hls_sim_fifo(c->sim, stream)->depth;
    sum = sum_of(&t->fills[stream], first, last);
    if (depth == 0) depth = hls_sim_fifo(c->sim, stream)->max_level;
    h.items[0] = scaled(sum, whole * (depth > 0 ? depth : 1));
    if (h.items[0] == 0 && sum > 0) h.items[0] = 1;
    return h;
}

/* A stretch of columns with equal heights, from `begin` on. */
typedef struct Step {
    int begin, end;
    Heights heights;
} Step;

static Step next_step(const Chart *c, uint32_t row, uint32_t shift, int begin)
{
    Step step = {.begin = begin, .end = begin};
    while (step.end < c->columns) {
        int end = (int)i64_min(((step.end >> shift) + 1) << shift, c->columns);
        Heights heights = heights_of(c, row, step.end, end);
        if (step.end == begin) step.heights = heights;
        if (memcmp(&heights, &step.heights, sizeof heights) != 0) break;
        step.end = end;
    }
    return step;
}

static int count_steps(const Chart *c, uint32_t row, uint32_t shift)
{
    int count = 0;
    for (int at = 0; at < c->columns; count++) at = next_step(c, row, shift, at).end;
    return count;
}

/* Chooses how fine each row is drawn, with at most so many steps; gives the sum over all rows. */
static int64_t limit_steps(Chart *c, int most_steps)
{
    int64_t sum = 0;
    for (uint32_t row = 0; row < c->rows; row++) {
        int count = count_steps(c, row, c->shifts[row]);
        while (count > most_steps) count = count_steps(c, row, ++c->shifts[row]);
        sum += count;
    }
    return sum;
}

static void find_steps(Chart *c)
{
    for (int most = COLUMNS; limit_steps(c, most) > STEPS && most > 2; most = most * 3 / 4)
        ;
}

static int x_of_column(const Chart *c, int column)
{
    return c->left + column * COLUMNS / c->columns;
}

static double x_of_cycle(const Chart *c, int64_t cycle)
{
    return c->left + (double)COLUMNS * (double)cycle / ((double)c->trace->width * c->parts);
}

/* The outline of one colour of a row: what is below its height. */
static void add_outline(const Chart *c, uint32_t row, int colour, int bottom)
{
    int height = 0, x = x_of_column(c, 0);
    bool has_begun = false;
    for (int at = 0; at < c->columns;) {
        Step step = next_step(c, row, c->shifts[row], at);
        int wanted = step.heights.items[colour];
        at = step.end;
        if (wanted == height) continue;
        int next = x_of_column(c, step.begin);
        if (!has_begun)
            strbuf_printf(c->out, "<path d=\"M%d %d", next, bottom);
        else
            strbuf_printf(c->out, "h%d", next - x);
        strbuf_printf(c->out, "v%d", height - wanted);
        has_begun = true;
        height = wanted;
        x = next;
    }
    if (has_begun && height > 0)
        strbuf_printf(c->out, "H%dV%d", x_of_column(c, c->columns), bottom);
    if (has_begun) strbuf_add_c(c->out, "z\"/>\n");
}

/* A section of the chart: rows under an axis. */
typedef struct Section {
    const char *title, *info; /* of the labels, of the numbers beside the bars */
    uint32_t begin, end;      /* rows */
    int top;                  /* of the first bar */
} Section;

static int bottom_of(const Section *s, uint32_t row)
{
    return s->top + (int)(row - s->begin) * ROW + BAR;
}

static void add_colours(const Chart *c, const Section *s, int colour, const char *name)
{
    strbuf_printf(c->out, "<g fill=\"%s\">\n", name);
    for (uint32_t row = s->begin; row < s->end; row++)
        add_outline(c, row, colour, bottom_of(s, row));
    strbuf_add_c(c->out, "</g>\n");
}

/* The colour of idle processes and of what is free in FIFOs, below all others. */
static void add_bars(const Chart *c, const Section *s, const char *colour)
{
    strbuf_printf(c->out, "<path fill=\"%s\" d=\"", colour);
    for (uint32_t row = s->begin; row < s->end; row++)
        strbuf_printf(c->out, "M%d %dv%dh%dv-%dz", c->left, bottom_of(s, row) - BAR, BAR, COLUMNS,
                      BAR);
    strbuf_add_c(c->out, "\"/>\n");
}

static Str row_name(const Chart *c, uint32_t row)
{
    const HlsDesign *design = c->trace->design;
    return row < c->processes ? design->processes.data[row].name
                              : design->streams.data[row - c->processes + design->port_count].name;
}

/* What the label of a port says behind its name. */
static const char *row_kind(const Chart *c, uint32_t row)
{
    const HlsProcess *p = row < c->processes ? &c->trace->design->processes.data[row] : NULL;
    if (!p || p->func) return "";
    return p->is_source ? " (input)" : " (output)";
}

static void begin_text(const Chart *c, double x, int y, const char *anchor)
{
    strbuf_printf(c->out, "<text x=\"%.4g\" y=\"%d\"", x, y);
    if (anchor) strbuf_printf(c->out, " text-anchor=\"%s\"", anchor);
    strbuf_add_char(c->out, '>');
}

static void add_text(const Chart *c, double x, int y, const char *anchor, const char *text)
{
    begin_text(c, x, y, anchor);
    strbuf_printf(c->out, "%s</text>\n", text);
}

/* Names to the left of the bars; those that are cut tell all when the pointer is on them. */
static void add_labels(const Chart *c, const Section *s)
{
    strbuf_add_c(c->out, "<g text-anchor=\"end\">\n");
    for (uint32_t row = s->begin; row < s->end; row++) {
        Str name = row_name(c, row);
        begin_text(c, c->left - 6, bottom_of(s, row) - 2, NULL);
        svg_add_short_text(c->out, name, LABEL_CHARACTERS);
        if (svg_text_length(name, LABEL_CHARACTERS + 1) > LABEL_CHARACTERS) {
            strbuf_add_c(c->out, "<title>");
            svg_add_text(c->out, name);
            strbuf_add_c(c->out, "</title>");
        }
        strbuf_add_c(c->out, row_kind(c, row));
        strbuf_add_c(c->out, "</text>\n");
    }
    strbuf_add_c(c->out, "</g>\n");
}

static int64_t busy_percent(const Chart *c, uint32_t process)
{
    const HlsFrames *frames = hls_sim_frames(c->sim, process);
    const HlsFrame *last = &frames->data[frames->len - 1];
    int64_t sum = 0;
    for (int s = 0; s < HLS_STATE_COUNT; s++) sum += last->cycles[s];
    return sum > 0 ? (100 * last->cycles[HLS_BUSY] + sum / 2) / sum : 0;
}

static void add_infos(const Chart *c, const Section *s)
{
    for (uint32_t row = s->begin; row < s->end; row++) {
        begin_text(c, c->left + COLUMNS + 6, bottom_of(s, row) - 2, NULL);
        if (row < c->processes) {
            strbuf_printf(c->out, "%lld %%", (long long)busy_percent(c, row));
        } else {
            const HlsFifo *f =
                hls_sim_fifo(c->sim, row - c->processes + c->trace->design->port_count);
            strbuf_printf(c->out, "%lld", (long long)f->max_level);
            if (f->depth > 0) strbuf_printf(c->out, " of %lld", (long long)f->depth);
        }
        strbuf_add_c(c->out, "</text>\n");
    }
}

static void add_time(StrBuf *out, double us)
{
    if (us >= 1e6)
        strbuf_printf(out, "%.4g s", us / 1e6);
    else if (us >= 1e3)
        strbuf_printf(out, "%.4g ms", us / 1e3);
    else if (us >= 1 || us <= 0)
        strbuf_printf(out, "%.4g \xc2\xb5s", us);
    else
        strbuf_printf(out, "%.4g ns", us * 1e3);
}

/* Ticks with cycles and time, and lines through the bars. */
static void add_axis(const Chart *c, const Section *s, int y)
{
    enum { MOST_TICKS = 11, BEFORE_ZERO = 24, TICK = 6 };
    int64_t step = svg_tick_step(c->trace->end, MOST_TICKS);
    int bottom = bottom_of(s, s->end) - BAR;
    add_text(c, c->left - BEFORE_ZERO, y, "end", "cycles");
    add_text(c, c->left - BEFORE_ZERO, y + 12, "end", "time");
    for (int64_t cycle = 0; cycle <= c->trace->end; cycle += step) {
        double x = x_of_cycle(c, cycle);
        begin_text(c, x, y, "middle");
        svg_add_scaled(c->out, (double)cycle);
        strbuf_add_c(c->out, "</text>\n");
        begin_text(c, x, y + 12, "middle");
        add_time(c->out, c->cycle_us * (double)cycle);
        strbuf_printf(c->out, "</text>\n<path d=\"M%.1f %dV%d\" stroke=\"#000\"/>\n", x, y + 16,
                      y + 16 + TICK);
        strbuf_printf(c->out, "<path d=\"M%.1f %dV%d\" stroke=\"#000\" opacity=\".12\"/>\n", x,
                      y + 16 + TICK, bottom);
    }
}

/* Where frames end, as far apart as their numbers need. */
static void add_frames(const Chart *c, const Section *s, int y)
{
    enum { LEAST_DISTANCE = 30 };
    double last = c->left - LEAST_DISTANCE;
    size_t frames = hls_sim_frames(c->sim, 0)->len;
    add_text(c, c->left - 6, y, "end", "end of frame");
    for (size_t i = 0; i < frames; i++) {
        double x = x_of_cycle(c, hls_sim_frame_done(c->trace->design, c->sim, i));
        if (x - last < LEAST_DISTANCE) continue;
        last = x;
        begin_text(c, x, y, "middle");
        strbuf_printf(c->out,
                      "%zu</text>\n<path d=\"M%.1f %dV%d\" stroke=\"#000\" opacity=\".7\" "
                      "stroke-dasharray=\"4 3\"/>\n",
                      i + 1, x, y + 2, bottom_of(s, s->end) - BAR);
    }
}

enum { SECTION_HEAD = 76 };

static void add_section(const Chart *c, const Section *s)
{
    int y = s->top - SECTION_HEAD;
    if (s->begin == s->end) return;
    strbuf_printf(c->out,
                  "<text x=\"%d\" y=\"%d\" font-size=\"13\" font-weight=\"bold\">%s</text>\n",
                  MARGIN, y + 20, s->title);
    add_text(c, c->left + COLUMNS + 6, y + 20, NULL, s->info);
    add_labels(c, s);
    add_infos(c, s);
    if (s->begin < c->processes) {
        add_bars(c, s, state_colours[HLS_IDLE]);
        for (int i = HEIGHTS; i-- > 0;) add_colours(c, s, i, state_colours[i]);
    } else {
        add_bars(c, s, state_colours[HLS_IDLE]);
        add_colours(c, s, 0, fill_colour);
    }
    add_axis(c, s, y + 36);
    add_frames(c, s, y + 68);
}

static void add_legend(const Chart *c, int y)
{
    static const struct {
        const char *colour, *text;
    } entries[] = {
        {"#1b8a5a", "busy"},
        {"#f2b632", "waits for input"},
        {"#b0357d", "waits for output"},
        {"#e6e9ed", "idle"},
        {"#2f6db3", "words in a FIFO, of its depth"},
    };
    int x = MARGIN;
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        strbuf_printf(c->out,
                      "<rect x=\"%d\" y=\"%d\" width=\"18\" height=\"%d\" fill=\"%s\" "
                      "stroke=\"#888\" stroke-width=\".5\"/>\n",
                      x, y - 10, BAR, entries[i].colour);
        add_text(c, x + 24, y, NULL, entries[i].text);
        x += 24 + CHARACTER * (int)strlen(entries[i].text) + 30;
    }
}

static void add_summary(const Chart *c)
{
    const HlsDesign *design = c->trace->design;
    HlsTimingResult r = hls_sim_timing_result(design, c->sim);
    strbuf_printf(c->out, "<text x=\"%d\" y=\"26\" font-size=\"16\">", MARGIN);
    svg_add_text(c->out, symbol_name(design->top)->str);
    strbuf_printf(c->out, ": %lld frame%s in %lld cycles, ", (long long)r.frames,
                  r.frames == 1 ? "" : "s", (long long)r.cycles);
    add_time(c->out, c->cycle_us * (double)r.cycles);
    strbuf_printf(c->out, " at %.4g MHz</text>\n", 1 / c->cycle_us);
    begin_text(c, MARGIN, 46, NULL);
    strbuf_printf(c->out, "first frame %lld cycles", (long long)r.latency);
    if (r.frames > 1)
        strbuf_printf(c->out, "; a frame every %.10g cycles", (double)r.mean_interval / 100);
    strbuf_add_c(c->out, "; busy longest: ");
    svg_add_short_text(c->out, design->processes.data[r.bottleneck].name, LABEL_CHARACTERS);
    strbuf_add_c(c->out, "</text>\n");
}

static int label_width(const Chart *c)
{
    size_t longest = strlen("end of frame");
    for (uint32_t row = 0; row < c->rows; row++) {
        size_t length = svg_text_length(row_name(c, row), LABEL_CHARACTERS);
        length += strlen(row_kind(c, row));
        longest = length > longest ? length : longest;
    }
    return MARGIN + CHARACTER * (int)longest + 12;
}

static void add_document(const Chart *c)
{
    enum { HEAD = 76 };
    const Section processes = {"Processes", "busy, last frame", 0, c->processes,
                               HEAD + SECTION_HEAD};
    const Section fifos = {"FIFOs", "most words", c->processes, c->rows,
                           bottom_of(&processes, c->processes) + SECTION_HEAD};
    const Section *last = c->rows > c->processes ? &fifos : &processes;
    int width = c->left + COLUMNS + INFO, height = bottom_of(last, last->end) + MARGIN;
    strbuf_printf(c->out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\" font-family=\"monospace\" font-size=\"10\" "
                  "fill=\"#111\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
                  width, height, width, height, width, height);
    add_summary(c);
    add_legend(c, 68);
    add_section(c, &processes);
    add_section(c, &fifos);
    strbuf_add_c(c->out, "</svg>\n");
}

void hls_sim_trace_print_svg(const HlsTrace *t, const HlsSim *sim, int64_t clock_mhz, StrBuf *out)
{
    const HlsDesign *design = t->design;
    Chart c = {.trace = t, .sim = sim, .out = out};
    c.processes = (uint32_t)design->processes.len;
    c.rows = c.processes + (uint32_t)design->streams.len - design->port_count;
    c.parts = (int)i64_max(ceil_div(t->end, t->width), 1);
    c.columns = c.parts < COLUMNS ? c.parts : COLUMNS;
    c.shifts = xcalloc(c.rows, sizeof *c.shifts);
    c.cycle_us = 1 / (double)clock_mhz;
    c.left = label_width(&c);
    find_steps(&c);
    add_document(&c);
    free(c.shifts);
}
