/* Draws an SVG chart: frames per second on a logarithmic axis, shares of the budget from 0 to 100
 * %, a line per resource that has a budget. Markers are outlines of different shapes and lines have
 * different dashes, so that what coincides is still seen, also without colours.
 * Tests: lit/tools/ming-explore.test */
#include <math.h>

#include "driver/driver.h"

enum {
    WIDTH = 860,
    HEIGHT = 480,
    LEFT = 70,
    RIGHT = 140,
    TOP = 56,
    BOTTOM = 62,
    TITLE_CHARACTERS = 80,
    PLOT_WIDTH = WIDTH - LEFT - RIGHT,
    PLOT_HEIGHT = HEIGHT - TOP - BOTTOM
};

static const struct {
    CostKind kind;
    const char *colour, *dashes;
    const char *marker; /* an outline around 0 0 */
} series[] = {
    {COST_DSP, "#0072b2", "none", "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z"},
    {COST_BRAM18, "#d55e00", "7 3", "m-4 -4h8v8h-8z"},
    {COST_URAM, "#a0408b", "2 3", "m0 -6l6 6l-6 6l-6 -6z"},
    {COST_LUT, "#00805c", "10 3 2 3", "m0 -6l5.5 9.5h-11z"},
    {COST_FF, "#7a5b00", "4 2", "m-4 -4l8 8m0 -8l-8 8"},
};

typedef struct ChartAxis {
    double low, high; /* frames per second, low < high */
} ChartAxis;

double driver_explore_fps(const ExplorePoint *point, int64_t clock)
{
    return point->interval > 0 ? 1e6 * (double)clock / (double)point->interval : 0.0;
}

static double x_of(const ChartAxis *axis, double fps)
{
    return LEFT + PLOT_WIDTH * log(fps / axis->low) / log(axis->high / axis->low);
}

static double y_of(double percent)
{
    return TOP + PLOT_HEIGHT * (1.0 - percent / 100.0);
}

static double percent_of(const ExploreChart *chart, const ExplorePoint *point, CostKind kind)
{
    int64_t limit = chart->limits->items[kind];
    return limit > 0 ? 100.0 * (double)point->cost.items[kind] / (double)limit : 0.0;
}

/* Half a step of 1, 2, 5 beyond the points at both sides, so that no marker is on the frame. */
static ChartAxis find_axis(const ExploreChart *chart)
{
    const double margin = 1.25;
    ChartAxis axis = {INFINITY, 0};
    for (size_t i = 0; i < chart->points->len; i++) {
        double fps = driver_explore_fps(&chart->points->data[i], chart->clock);
        axis.low = fps < axis.low ? fps : axis.low;
        axis.high = fps > axis.high ? fps : axis.high;
    }
    axis.low /= margin;
    axis.high *= margin;
    return axis;
}

static void add_grid_line(StrBuf *out, double x1, double y1, double x2, double y2)
{
    strbuf_printf(out,
                  "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n",
                  x1, y1, x2, y2);
}

static void add_x_axis(StrBuf *out, const ChartAxis *axis)
{
    static const double steps[] = {1, 2, 5};
    const int bottom = TOP + PLOT_HEIGHT;
    for (double decade = pow(10, floor(log10(axis->low))); decade <= axis->high; decade *= 10)
        for (size_t i = 0; i < COUNT_OF(steps); i++) {
            double fps = decade * steps[i];
            if (fps < axis->low || fps > axis->high) continue;
            double x = x_of(axis, fps);
            add_grid_line(out, x, TOP, x, bottom);
            strbuf_printf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", x, bottom + 18);
            svg_add_scaled(out, fps);
            strbuf_add_c(out, "</text>\n");
        }
    strbuf_printf(
        out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">frames per second, predicted</text>\n",
        LEFT + PLOT_WIDTH / 2, bottom + 42);
}

static void add_y_axis(StrBuf *out)
{
    for (int percent = 0; percent <= 100; percent += 20) {
        double y = y_of(percent);
        add_grid_line(out, LEFT, y, LEFT + PLOT_WIDTH, y);
        strbuf_printf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d %%</text>\n", LEFT - 8,
                      y + 4, percent);
    }
    strbuf_printf(out,
                  "<text x=\"18\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 18 %d)\">"
                  "share of the budget</text>\n",
                  TOP + PLOT_HEIGHT / 2, TOP + PLOT_HEIGHT / 2);
}

static void begin_marker(StrBuf *out, size_t s, double x, double y)
{
    strbuf_printf(out,
                  "<path d=\"M%.1f %.1f%s\" fill=\"none\" pointer-events=\"all\" stroke=\"%s\" "
                  "stroke-width=\"1.5\">",
                  x, y, series[s].marker, series[s].colour);
}

static void end_marker(StrBuf *out)
{
    strbuf_add_c(out, "</path>\n");
}

static void add_series(StrBuf *out, const ExploreChart *chart, const ChartAxis *axis, size_t s)
{
    CostKind kind = series[s].kind;
    const ExplorePoints *points = chart->points;
    strbuf_printf(out,
                  "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" "
                  "stroke-dasharray=\"%s\" points=\"",
                  series[s].colour, series[s].dashes);
    for (size_t i = 0; i < points->len; i++)
        strbuf_printf(out, "%s%.1f,%.1f", i ? " " : "",
                      x_of(axis, driver_explore_fps(&points->data[i], chart->clock)),
                      y_of(percent_of(chart, &points->data[i], kind)));
    strbuf_add_c(out, "\"/>\n");
    for (size_t i = 0; i < points->len; i++) {
        double fps = driver_explore_fps(&points->data[i], chart->clock);
        begin_marker(out, s, x_of(axis, fps), y_of(percent_of(chart, &points->data[i], kind)));
        strbuf_printf(out, "<title>%lld %s, %.1f frames per second</title>",
                      (long long)points->data[i].cost.items[kind], cost_names[kind].title, fps);
        end_marker(out);
    }
}

/* "of 1248"; a resource without a budget has no line either. */
static void add_legend(StrBuf *out, const ExploreChart *chart, size_t s)
{
    CostKind kind = series[s].kind;
    int64_t limit = chart->limits->items[kind];
    int x = LEFT + PLOT_WIDTH + 20, y = TOP + 14 + 40 * (int)s;
    begin_marker(out, s, x, y);
    end_marker(out);
    strbuf_printf(out, "<text x=\"%d\" y=\"%d\">%s</text>\n", x + 12, y + 4,
                  cost_names[kind].title);
    strbuf_printf(out, "<text x=\"%d\" y=\"%d\" fill=\"#555\">", x + 12, y + 20);
    if (limit > 0)
        strbuf_printf(out, "of %lld</text>\n", (long long)limit);
    else
        strbuf_add_c(out, limit == 0 ? "none</text>\n" : "without limit</text>\n");
}

void driver_explore_print_svg(const ExploreChart *chart, StrBuf *out)
{
    ChartAxis axis = find_axis(chart);
    strbuf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\" "
                  "fill=\"#111\">\n"
                  "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
                  "<text x=\"%d\" y=\"30\" font-size=\"16\">",
                  WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
    svg_add_short_text(out, chart->title, TITLE_CHARACTERS);
    strbuf_add_c(out, "</text>\n");
    add_x_axis(out, &axis);
    add_y_axis(out);
    strbuf_printf(out,
                  "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
                  "stroke=\"#888\"/>\n",
                  LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT);
    for (size_t s = 0; s < COUNT_OF(series); s++)
        if (chart->limits->items[series[s].kind] > 0) add_series(out, chart, &axis, s);
    for (size_t s = 0; s < COUNT_OF(series); s++) add_legend(out, chart, s);
    strbuf_add_c(out, "</svg>\n");
}
