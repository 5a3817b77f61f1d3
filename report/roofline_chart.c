/* The roofline as a chart of two logarithmic axes. A layer's number stands beside its dot where there
 * is room.
 * Tests: lit/tools/ming-report-html.mir, test/e2e/report_check.py */
#include <math.h>
#include <stdlib.h>

#include "report/internal.h"

enum {
    LEFT = 74,
    RIGHT = 190,
    TOP = 14,
    BOTTOM = 46,
    WIDTH = 1190 - LEFT - RIGHT,
    HEIGHT = 420,
    LINE = 14,
    RADIUS = 4
};

typedef struct Chart {
    const ReportModel *model;
    const ReportRoofline *roofline;
    StrBuf *out;
    double x_low, x_high, y_low, y_high; /* powers of ten */
    double roof;                         /* the highest line of the design's precisions */
} Chart;

typedef struct Range {
    double low, high;
} Range;

static void widen(Range *range, double value)
{
    if (value <= 0) return;
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

static double power_below(double value)
{
    return pow(10, floor(log10(value)));
}

/* Whole powers of ten around a range, with some room. */
static void set_axis(Range range, double *low, double *high)
{
    *low = power_below(range.low / 1.2);
    *high = power_below(range.high * 1.2) * 10;
}

static double intensity_of(const ReportPoint *p)
{
    return p->bytes > 0 ? 2 * (double)p->macs / p->bytes : 0;
}

static void find_axes(Chart *c)
{
    const ReportRoofline *r = c->roofline;
    Range x = {HUGE_VAL, 0}, y = {HUGE_VAL, 0};
    for (uint32_t i = 0; i < r->roof.peak_count; i++)
        if (r->roof.peaks[i].macs > 0) widen(&y, r->roof.peaks[i].gops);
    c->roof = y.high;
    widen(&y, r->gops);
    widen(&x, r->roof.intensity);
    for (size_t i = 0; i < r->points.len; i++) {
        widen(&x, intensity_of(&r->points.data[i]));
        widen(&y, r->points.data[i].gops);
        widen(&y, r->points.data[i].busy_gops);
    }
    if (r->roof.bandwidth > 0) widen(&x, c->roof / r->roof.bandwidth);
    if (x.high <= 0) x = (Range){1, 1};
    set_axis(x, &c->x_low, &c->x_high);
    set_axis(y, &c->y_low, &c->y_high);
}

/* Where nothing is moved, at the edge. */
static double x_of(const Chart *c, double value)
{
    return LEFT + WIDTH * log(fmax(value, c->x_low) / c->x_low) / log(c->x_high / c->x_low);
}

static double y_of(const Chart *c, double value)
{
    return TOP + HEIGHT * (1 - log(value / c->y_low) / log(c->y_high / c->y_low));
}

static void add_line(const Chart *c, const char *class, double x1, double y1, double x2, double y2)
{
    strbuf_printf(c->out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                  class, x1, y1, x2, y2);
}

static void add_grid(const Chart *c)
{
    const int bottom = TOP + HEIGHT, right = LEFT + WIDTH;
    for (double v = c->x_low; v <= c->x_high * 1.01; v *= 10) {
        add_line(c, "grid", x_of(c, v), TOP, x_of(c, v), bottom);
        strbuf_printf(c->out, "<text class=\"d h\" x=\"%.1f\" y=\"%d\">", x_of(c, v), bottom + 16);
        html_add_real(c->out, v);
        strbuf_add_c(c->out, "</text>\n");
    }
    for (double v = c->y_low; v <= c->y_high * 1.01; v *= 10) {
        add_line(c, "grid", LEFT, y_of(c, v), right, y_of(c, v));
        strbuf_printf(c->out, "<text class=\"d r\" x=\"%d\" y=\"%.1f\">", LEFT - 6, y_of(c, v) + 4);
        html_add_real(c->out, v);
        strbuf_add_c(c->out, "</text>\n");
    }
    strbuf_printf(
        c->out,
        "<text class=\"h\" x=\"%d\" y=\"%d\">operations per byte</text>\n<text class=\"h\" "
        "x=\"14\" y=\"%d\" transform=\"rotate(-90 14 %d)\">GOP/s</text>\n",
        LEFT + WIDTH / 2, bottom + 36, TOP + HEIGHT / 2, TOP + HEIGHT / 2);
}

/* Lines of the precisions that the design has, from where memory is no limit any more. Labels move
 * down where lines are close. */
static void add_ceilings(const Chart *c)
{
    const Roofline *roof = &c->roofline->roof;
    double label = -LINE;
    for (uint32_t i = 0; i < roof->peak_count; i++) {
        const RooflinePeak *peak = &roof->peaks[i];
        if (peak->macs == 0) continue;
        double y = y_of(c, peak->gops),
               from = roof->bandwidth > 0 ? fmax(peak->gops / roof->bandwidth, c->x_low) : c->x_low;
        add_line(c, "roof", x_of(c, from), y, LEFT + WIDTH, y);
        label = fmax(y, label + LINE);
        strbuf_printf(c->out, "<text x=\"%d\" y=\"%.1f\">", LEFT + WIDTH + 8, label + 4);
        roofline_add_precision(&peak->precision, c->out);
        strbuf_add_c(c->out, ": ");
        html_add_real(c->out, peak->gops);
        strbuf_add_c(c->out, " GOP/s</text>\n");
    }
}

/* What so many GB/s allow, up to the highest of the lines. */
static void add_slope(const Chart *c, const char *class, double gbytes)
{
    double from = fmax(c->x_low, c->y_low / gbytes), to = fmin(c->x_high, c->roof / gbytes);
    if (gbytes > 0 && from < to)
        add_line(c, class, x_of(c, from), y_of(c, from * gbytes), x_of(c, to),
                 y_of(c, to * gbytes));
}

static void add_title(const Chart *c, size_t number)
{
    const ReportPoint *p = &c->roofline->points.data[number];
    strbuf_printf(c->out, "<title>%zu: ", number + 1);
    html_add_text(c->out, c->model->layers.data[p->layer].name);
    strbuf_add_c(c->out, ", ");
    html_add_real(c->out, intensity_of(p));
    strbuf_add_c(c->out, " operations per byte, ");
    html_add_real(c->out, p->gops);
    strbuf_add_c(c->out, " GOP/s, ");
    html_add_real(c->out, p->busy_gops);
    strbuf_add_c(c->out, " while it works, of ");
    html_add_real(c->out, p->ceiling);
    strbuf_add_c(c->out, "</title>");
}

static void add_dot(const Chart *c, size_t number)
{
    const ReportPoint *p = &c->roofline->points.data[number];
    double x = x_of(c, intensity_of(p)), y = y_of(c, p->gops);
    const ReportLayer *layer = &c->model->layers.data[p->layer];
    int64_t cycles = c->model->processes.data[layer->slowest].cycles;
    bool is_slow = cycles > 0 && cycles == c->model->slowest;
    strbuf_printf(c->out, "<a href=\"#layer-%u\">", p->layer);
    add_line(c, "stem", x, y, x, y_of(c, p->busy_gops));
    strbuf_printf(c->out, "<circle class=\"pt%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\">",
                  is_slow ? " slow" : "", x, y, RADIUS);
    add_title(c, number);
    strbuf_add_c(c->out, "</circle></a>\n");
}

/* Numbers stand to the right of their dots, unless that hides another dot or number. */
static void add_numbers(const Chart *c)
{
    enum { NUMBER_WIDTH = 16, NUMBER_HEIGHT = 10 };
    const size_t count = c->roofline->points.len;
    LayoutPoint *at = xcalloc(count, sizeof *at);
    bool *is_named = xcalloc(count, sizeof *is_named);
    for (size_t i = 0; i < count; i++) {
        const ReportPoint *p = &c->roofline->points.data[i];
        at[i] = (LayoutPoint){x_of(c, intensity_of(p)), y_of(c, p->gops)};
    }
    for (size_t i = 0; i < count; i++) {
        bool has_room = true;
        for (size_t k = 0; k < count && has_room; k++) {
            double x = at[k].x - at[i].x, y = fabs(at[k].y - at[i].y);
            bool hides_dot = k != i && x > -RADIUS && x < NUMBER_WIDTH + 2 * RADIUS &&
                             y < NUMBER_HEIGHT / 2.0 + RADIUS,
                 hides_number = is_named[k] && fabs(x) < NUMBER_WIDTH && y < NUMBER_HEIGHT;
            has_room = !hides_dot && !hides_number;
        }
        is_named[i] = has_room;
        if (has_room)
            strbuf_printf(c->out, "<text class=\"d\" x=\"%.1f\" y=\"%.1f\">%zu</text>\n",
                          at[i].x + RADIUS + 3, at[i].y + 4, i + 1);
    }
    free(at);
    free(is_named);
}

static void add_design(const Chart *c)
{
    enum { HALF = 6 };
    const ReportRoofline *r = c->roofline;
    if (r->roof.intensity <= 0) return;
    double x = x_of(c, r->roof.intensity), y = y_of(c, r->gops);
    strbuf_printf(c->out,
                  "<path class=\"net\" d=\"M%.1f %.1fl%d %dl%d %dl%d %dz\"><title>the design: ", x,
                  y - HALF, HALF, HALF, -HALF, HALF, -HALF, -HALF);
    html_add_real(c->out, r->roof.intensity);
    strbuf_add_c(c->out, " operations per byte at its ports, ");
    html_add_real(c->out, r->gops);
    strbuf_add_c(c->out, " GOP/s of ");
    html_add_real(c->out, r->roof.compute_gops);
    strbuf_add_c(c->out, "</title></path>\n");
}

static void add_key(StrBuf *out, const char *drawing, const char *text, double gbytes)
{
    strbuf_printf(out, "<li><svg>%s</svg>%s", drawing, text);
    if (gbytes > 0) {
        strbuf_add_c(out, ", ");
        html_add_real(out, gbytes);
        strbuf_add_c(out, " GB/s");
    }
    strbuf_add_c(out, "</li>");
}

static void add_keys(const ReportRoofline *r, StrBuf *out)
{
    strbuf_add_c(out, "<ul class=\"keys\">");
    add_key(out, "<line class=\"roof\" x2=\"12\" y1=\"6\" y2=\"6\"/>", "LUTs and DSP slices", 0);
    if (r->roof.bandwidth > 0)
        add_key(out, "<line class=\"bank\" y1=\"12\" x2=\"12\"/>", "memory", r->roof.bandwidth);
    if (r->port_gbytes > 0)
        add_key(out, "<line class=\"wires\" y1=\"12\" x2=\"12\"/>", "ports", r->port_gbytes);
    add_key(out, "<circle class=\"pt\" cx=\"6\" cy=\"6\" r=\"4\"/>", "layer", 0);
    add_key(out, "<circle class=\"pt slow\" cx=\"6\" cy=\"6\" r=\"4\"/>", "bottleneck", 0);
    add_key(out, "<path class=\"net\" d=\"M6 1l5 5l-5 5l-5 -5z\"/>", "the design", 0);
    strbuf_add_c(out, "</ul>\n");
}

void report_add_roofline_chart(const ReportModel *model, const ReportRoofline *r, StrBuf *out)
{
    enum { ALL_WIDTH = LEFT + WIDTH + RIGHT, ALL_HEIGHT = TOP + HEIGHT + BOTTOM };
    Chart chart = {.model = model, .roofline = r, .out = out};
    find_axes(&chart);
    add_keys(r, out);
    strbuf_printf(out,
                  "<div class=\"scroll\"><svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                  "height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"roofline: the "
                  "design reaches ",
                  ALL_WIDTH, ALL_HEIGHT, ALL_WIDTH, ALL_HEIGHT);
    html_add_real(out, r->gops);
    strbuf_add_c(out, " GOP/s of ");
    html_add_real(out, r->roof.compute_gops);
    strbuf_add_c(out, "; the table below has the figures of each layer\">\n");
    add_grid(&chart);
    add_ceilings(&chart);
    add_slope(&chart, "bank", r->roof.bandwidth);
    add_slope(&chart, "wires", r->port_gbytes);
    for (size_t i = 0; i < r->points.len; i++) add_dot(&chart, i);
    add_numbers(&chart);
    add_design(&chart);
    strbuf_add_c(out, "</svg></div>\n");
}
