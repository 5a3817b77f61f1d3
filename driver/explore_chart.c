/* Draws an SVG chart: frames per second on a logarithmic axis, shares of the budget from 0 to 100
 * %, a line per resource with markers that tell shapes apart where colours do not. */
#include <math.h>

#include "driver/driver.h"

enum {
    WIDTH = 820,
    HEIGHT = 480,
    LEFT = 70,
    RIGHT = 130,
    TOP = 56,
    BOTTOM = 62,
    PLOT_WIDTH = WIDTH - LEFT - RIGHT,
    PLOT_HEIGHT = HEIGHT - TOP - BOTTOM
};

static const struct {
    CostKind kind;
    const char *colour;
} series[] = {{COST_DSP, "#0072b2"}, {COST_BRAM18, "#d55e00"}, {COST_LUT, "#009e73"}};

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

static void add_xml(StrBuf *out, Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '<' || c == '>' || c == '&' || c == '"')
            strbuf_printf(out, "&#%d;", c);
        else
            strbuf_add_char(out, c >= ' ' && c < 0x7f ? (char)c : '?');
    }
}

/* 1,500 as "1.5k". */
static void add_fps(StrBuf *out, double fps)
{
    static const char *const units[] = {"", "k", "M", "G"};
    size_t unit = 0;
    while (fps >= 1000.0 && unit + 1 < COUNT_OF(units)) {
        fps /= 1000.0;
        unit++;
    }
    strbuf_printf(out, "%.4g%s", fps, units[unit]);
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
            add_fps(out, fps);
            strbuf_add_c(out, "</text>\n");
        }
    strbuf_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">frames per second</text>\n",
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

static void add_marker(StrBuf *out, size_t s, double x, double y)
{
    enum { CIRCLE, SQUARE };
    const char *colour = series[s].colour;
    if (s == CIRCLE)
        strbuf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\">", x, y, colour);
    else if (s == SQUARE)
        strbuf_printf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"7\" height=\"7\" fill=\"%s\">",
                      x - 3.5, y - 3.5, colour);
    else
        strbuf_printf(out, "<path d=\"M%.1f %.1fl4.5 8h-9z\" fill=\"%s\">", x, y - 5, colour);
}

static void end_marker(StrBuf *out, size_t s)
{
    static const char *const elements[] = {"circle", "rect", "path"};
    strbuf_printf(out, "</%s>\n", elements[s]);
}

static void add_series(StrBuf *out, const ExploreChart *chart, const ChartAxis *axis, size_t s)
{
    CostKind kind = series[s].kind;
    const ExplorePoints *points = chart->points;
    strbuf_printf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"",
                  series[s].colour);
    for (size_t i = 0; i < points->len; i++)
        strbuf_printf(out, "%s%.1f,%.1f", i ? " " : "",
                      x_of(axis, driver_explore_fps(&points->data[i], chart->clock)),
                      y_of(percent_of(chart, &points->data[i], kind)));
    strbuf_add_c(out, "\"/>\n");
    for (size_t i = 0; i < points->len; i++) {
        double fps = driver_explore_fps(&points->data[i], chart->clock);
        add_marker(out, s, x_of(axis, fps), y_of(percent_of(chart, &points->data[i], kind)));
        strbuf_printf(out, "<title>%lld %s, %.1f frames per second</title>",
                      (long long)points->data[i].cost.items[kind], cost_names[kind].title, fps);
        end_marker(out, s);
    }
}

static void add_legend(StrBuf *out, const ExploreChart *chart, size_t s)
{
    CostKind kind = series[s].kind;
    int x = LEFT + PLOT_WIDTH + 20, y = TOP + 14 + 40 * (int)s;
    add_marker(out, s, x, y);
    end_marker(out, s);
    strbuf_printf(out, "<text x=\"%d\" y=\"%d\">%s</text>\n", x + 12, y + 4,
                  cost_names[kind].title);
    if (chart->limits->items[kind] >= 0)
        strbuf_printf(out, "<text x=\"%d\" y=\"%d\" fill=\"#666666\">of %lld</text>\n", x + 12,
                      y + 20, (long long)chart->limits->items[kind]);
}

void driver_explore_print_svg(const ExploreChart *chart, StrBuf *out)
{
    ChartAxis axis = find_axis(chart);
    strbuf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                  "<text x=\"%d\" y=\"30\" font-size=\"16\">",
                  WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
    add_xml(out, chart->title);
    strbuf_add_c(out, "</text>\n");
    add_x_axis(out, &axis);
    add_y_axis(out);
    strbuf_printf(out,
                  "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
                  "stroke=\"#888888\"/>\n",
                  LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT);
    for (size_t s = 0; s < COUNT_OF(series); s++) add_series(out, chart, &axis, s);
    for (size_t s = 0; s < COUNT_OF(series); s++) add_legend(out, chart, s);
    strbuf_add_c(out, "</svg>\n");
}
