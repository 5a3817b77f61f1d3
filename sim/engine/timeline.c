/* The timeline of a program: a row for each unit, all of the run in COLUMNS pixels. A bar is as high as
 * the share of its column's cycles in which the unit is busy; a unit that is busy at all in it has a
 * pixel at least.
 * Tests: lit/tools/ming-engine-timeline.test */
#include <stdlib.h>

#include "sim/engine/internal.h"

enum {
    COLUMNS = 1000,
    MARGIN = 12,
    LEFT = 80,  /* of the bars */
    RIGHT = 70, /* behind them */
    TOP = 84,
    ROW = 22,
    BAR = 18,
    MOST_TICKS = 11
};

typedef struct Timeline {
    const EngineResult *result;
    StrBuf *out;
    uint64_t *busy; /* cycles of each unit in each column */
    uint64_t width; /* cycles of a column */
    size_t columns;
} Timeline;

/* Commands of a unit do not overlap. */
static void add_event(const Timeline *t, const EngineEvent *event)
{
    uint64_t *busy = t->busy + event->unit * t->columns;
    for (uint64_t at = event->start; at < event->end;) {
        uint64_t column = at / t->width, next = (column + 1) * t->width;
        if (next > event->end) next = event->end;
        busy[column] += next - at;
        at = next;
    }
}

static uint64_t height_at(const Timeline *t, uint32_t unit, size_t column)
{
    uint64_t busy = t->busy[unit * t->columns + column];
    uint64_t height = (2 * BAR * busy + t->width) / (2 * t->width);
    return height > 0 || busy == 0 ? height : 1;
}

static double x_of(const Timeline *t, uint64_t cycle)
{
    return LEFT + COLUMNS * (double)cycle / (double)(t->width * t->columns);
}

/* The outline of a unit's bars, in stretches of columns of one height. */
static void add_bars(const Timeline *t, uint32_t unit, int bottom)
{
    strbuf_printf(t->out, "<path fill=\"#e6e9ed\" d=\"M%d %dv-%dh%dv%dz\"/>\n", LEFT, bottom, BAR,
                  COLUMNS, BAR);
    strbuf_printf(t->out, "<path fill=\"#1b8a5a\" d=\"M%d %d", LEFT, bottom);
    uint64_t height = 0;
    for (size_t column = 0; column < t->columns; column++) {
        uint64_t next = height_at(t, unit, column);
        if (next == height) continue;
        strbuf_printf(t->out, "H%.1fV%lld", x_of(t, column * t->width),
                      (long long)bottom - (long long)next);
        height = next;
    }
    strbuf_printf(t->out, "H%dV%dz\"/>\n", LEFT + COLUMNS, bottom);
}

static void add_unit(const Timeline *t, uint32_t unit)
{
    int bottom = TOP + (int)unit * ROW + BAR;
    strbuf_printf(t->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 6,
                  bottom - 5, engine_unit_name(unit));
    add_bars(t, unit, bottom);
    strbuf_printf(t->out, "<text x=\"%d\" y=\"%d\">%.1f %%</text>\n", LEFT + COLUMNS + 6,
                  bottom - 5, 100 * (double)t->result->busy[unit] / (double)t->result->cycles);
}

static void add_axis(const Timeline *t)
{
    const uint64_t cycles = t->result->cycles;
    uint64_t step = (uint64_t)svg_tick_step((int64_t)cycles, MOST_TICKS);
    strbuf_printf(t->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">cycles</text>\n", LEFT - 24,
                  TOP - 16);
    for (uint64_t cycle = 0; cycle <= cycles; cycle += step) {
        double x = x_of(t, cycle);
        strbuf_printf(t->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", x, TOP - 16);
        svg_add_scaled(t->out, (double)cycle);
        strbuf_printf(t->out, "</text>\n<path d=\"M%.1f %dV%d\" stroke=\"#000\" opacity=\".3\"/>\n",
                      x, TOP - 12, TOP + ENGINE_UNITS * ROW);
    }
}

static void add_document(const Timeline *t, Str name)
{
    const int width = LEFT + COLUMNS + RIGHT, height = TOP + ENGINE_UNITS * ROW + MARGIN;
    strbuf_printf(t->out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\" font-family=\"monospace\" font-size=\"10\" "
                  "fill=\"#111\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
                  "<text x=\"%d\" y=\"26\" font-size=\"16\">",
                  width, height, width, height, width, height, MARGIN);
    svg_add_text(t->out, name);
    strbuf_printf(t->out,
                  ": %llu cycles, simulated</text>\n<text x=\"%d\" y=\"46\">busy units; %zu "
                  "command%s, %llu bytes loaded, %llu stored</text>\n",
                  (unsigned long long)t->result->cycles, MARGIN, t->result->events.len,
                  t->result->events.len == 1 ? "" : "s", (unsigned long long)t->result->loaded,
                  (unsigned long long)t->result->stored);
    add_axis(t);
    for (uint32_t unit = 0; unit < ENGINE_UNITS; unit++) add_unit(t, unit);
    strbuf_add_c(t->out, "</svg>\n");
}

void engine_print_svg(const EngineResult *result, Str name, StrBuf *out)
{
    Timeline t = {.result = result, .out = out};
    t.width = (result->cycles + COLUMNS - 1) / COLUMNS;
    t.columns = (size_t)((result->cycles + t.width - 1) / t.width);
    t.busy = xcalloc(ENGINE_UNITS * t.columns, sizeof *t.busy);
    for (size_t i = 0; i < result->events.len; i++) add_event(&t, &result->events.data[i]);
    add_document(&t, name);
    free(t.busy);
}
