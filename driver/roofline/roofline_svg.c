/* A roofline as an SVG chart: GOP/s over operations per byte, both logarithmic. A horizontal line per
 * precision, the memory's slope, and the network's point; lines of the network's own precisions are
 * solid.
 * Tests: lit/tools/ming-roofline.test */
#include <math.h>

#include "driver/roofline/roofline.h"

enum {
    WIDTH = 860,
    HEIGHT = 480,
    LEFT = 80,
    RIGHT = 130,
    TOP = 56,
    BOTTOM = 62,
    TITLE_CHARACTERS = 80,
    PLOT_WIDTH = WIDTH - LEFT - RIGHT,
    PLOT_HEIGHT = HEIGHT - TOP - BOTTOM
};

typedef struct Axes {
    double x_low, x_high, y_low, y_high; /* powers of ten */
} Axes;

static double power_below(double value)
{
    return pow(10, floor(log10(value)));
}

/* A logarithm has no place for 0, which is what a device without DSP slices computes in floats. */
static void widen(double gops, double *least, double *most)
{
    if (gops <= 0) return;
    *least = *least > 0 ? fmin(*least, gops) : gops;
    *most = fmax(*most, gops);
}

static Axes find_axes(const Roofline *r)
{
    double least = 0, most = 0, x = r->intensity > 0 ? r->intensity : 1;
    widen(r->gops, &least, &most);
    for (uint32_t i = 0; i < r->peak_count; i++) widen(r->peaks[i].gops, &least, &most);
    if (least == 0) least = most = 1;
    double ridge = r->bandwidth > 0 ? most / r->bandwidth : x;
    return (Axes){power_below(fmin(x, r->bandwidth > 0 ? least / r->bandwidth : x) / 1.5),
                  power_below(fmax(x, ridge) * 1.5) * 10, power_below(least / 1.5),
                  power_below(most * 1.2) * 10};
}

static double x_of(const Axes *a, double value)
{
    return LEFT + PLOT_WIDTH * log(value / a->x_low) / log(a->x_high / a->x_low);
}

static double y_of(const Axes *a, double value)
{
    return TOP + PLOT_HEIGHT * (1 - log(value / a->y_low) / log(a->y_high / a->y_low));
}

static void add_line(StrBuf *out, double x1, double y1, double x2, double y2, const char *style)
{
    strbuf_printf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2,
                  y2, style);
}

static void add_grid(StrBuf *out, const Axes *a)
{
    const int bottom = TOP + PLOT_HEIGHT, right = LEFT + PLOT_WIDTH;
    for (double v = a->x_low; v <= a->x_high * 1.01; v *= 10) {
        add_line(out, x_of(a, v), TOP, x_of(a, v), bottom, "stroke=\"#dddddd\"");
        strbuf_printf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", x_of(a, v),
                      bottom + 18);
        strbuf_printf(out, "%g</text>\n", v);
    }
    for (double v = a->y_low; v <= a->y_high * 1.01; v *= 10) {
        add_line(out, LEFT, y_of(a, v), right, y_of(a, v), "stroke=\"#dddddd\"");
        strbuf_printf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", LEFT - 8,
                      y_of(a, v) + 4, v);
    }
    strbuf_printf(out,
                  "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">operations per byte</text>\n"
                  "<text x=\"18\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 18 %d)\">"
                  "GOP/s, predicted</text>\n",
                  LEFT + PLOT_WIDTH / 2, bottom + 42, TOP + PLOT_HEIGHT / 2, TOP + PLOT_HEIGHT / 2);
}

/* From where the memory is no limit any more; labels move down where lines are close. */
static void add_peaks(StrBuf *out, const Roofline *r, const Axes *a)
{
    enum { LINE = 14 };
    double label = HEIGHT;
    for (uint32_t i = 0; i < r->peak_count; i++) {
        const RooflinePeak *peak = &r->peaks[i];
        if (peak->gops <= 0) continue;
        double from = r->bandwidth > 0 ? fmax(peak->gops / r->bandwidth, a->x_low) : a->x_low;
        double y = y_of(a, peak->gops);
        add_line(out, x_of(a, from), y, LEFT + PLOT_WIDTH, y,
                 peak->macs > 0 ? "stroke=\"#0072b2\" stroke-width=\"1.5\""
                                : "stroke=\"#0072b2\" stroke-dasharray=\"4 3\"");
        if (fabs(label - y) < LINE) y = label + LINE;
        label = y;
        strbuf_printf(out, "<text x=\"%d\" y=\"%.1f\">", LEFT + PLOT_WIDTH + 8, y + 4);
        roofline_add_precision(&peak->precision, out);
        strbuf_add_c(out, "</text>\n");
    }
}

static void add_memory(StrBuf *out, const Roofline *r, const Axes *a)
{
    if (r->bandwidth <= 0) return;
    double from = fmax(a->x_low, a->y_low / r->bandwidth),
           to = fmin(a->x_high, a->y_high / r->bandwidth);
    add_line(out, x_of(a, from), y_of(a, from * r->bandwidth), x_of(a, to),
             y_of(a, to * r->bandwidth), "stroke=\"#d55e00\" stroke-width=\"1.5\"");
}

static void add_point(StrBuf *out, const Roofline *r, const Axes *a)
{
    if (r->intensity <= 0 || r->gops <= 0) return;
    strbuf_printf(out,
                  "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"#00805c\"><title>%.1f operations "
                  "per byte, %.1f GOP/s</title></circle>\n",
                  x_of(a, r->intensity), y_of(a, r->gops), r->intensity, r->gops);
}

void roofline_print_svg(const Roofline *r, Str network, Str device, StrBuf *out)
{
    Axes axes = find_axes(r);
    StrBuf title = {0};
    strbuf_printf(&title, "%.*s on %.*s at %lld MHz", STR_ARG(network), STR_ARG(device),
                  (long long)r->clock);
    strbuf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\" "
                  "fill=\"#111\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
                  "<text x=\"%d\" y=\"30\" font-size=\"16\">",
                  WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
    svg_add_short_text(out, strbuf_str(&title), TITLE_CHARACTERS);
    strbuf_add_c(out, "</text>\n");
    strbuf_free(&title);
    add_grid(out, &axes);
    strbuf_printf(out,
                  "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
                  "stroke=\"#888\"/>\n",
                  LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT);
    add_peaks(out, r, &axes);
    add_memory(out, r, &axes);
    add_point(out, r, &axes);
    strbuf_add_c(out, "</svg>\n");
}
