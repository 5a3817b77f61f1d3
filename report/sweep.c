/* The page of a sweep: for each model the frames a second of its designs against each resource, with the
 * Pareto front, and a table of all designs. No scripts: what a marker stands for is its title.
 * Tests: test/e2e/sweep_check.py */
#include <math.h>
#include <stdlib.h>

#include "report/internal.h"

enum { WIDTH = 380, HEIGHT = 250, LEFT = 62, RIGHT = 14, TOP = 26, BOTTOM = 34, COLOURS = 8 };

/* What charts show; flip-flops and URAM are in the table. */
static const ReportResource shown[] = {REPORT_DSP, REPORT_BRAM18, REPORT_LUT};

static bool is_done(const ReportSweepRow *row)
{
    return row->fps > 0;
}

/* Whether a is as fast with as little of resource k, and better in one of both. */
static bool dominates(const ReportSweepRow *a, const ReportSweepRow *b, size_t k)
{
    if (!is_done(a) || !str_eq(a->model, b->model)) return false;
    return a->fps >= b->fps && a->cost[k] <= b->cost[k] &&
           (a->fps > b->fps || a->cost[k] < b->cost[k]);
}

void report_sweep_fronts(ReportSweepRows *rows)
{
    for (size_t i = 0; i < rows->len; i++) {
        ReportSweepRow *row = &rows->data[i];
        row->fronts = 0;
        for (size_t k = 0; is_done(row) && k < REPORT_RESOURCES; k++) {
            bool is_beaten = row->cost[k] < 0;
            for (size_t j = 0; !is_beaten && j < rows->len; j++)
                is_beaten = dominates(&rows->data[j], row, k);
            if (!is_beaten) row->fronts |= 1U << k;
        }
    }
}

/* The rows of one model. */
typedef struct ModelRows {
    const ReportSweepRow *rows;
    size_t count;
    Str devices[COLOURS]; /* in order of appearance; the rest has the last colour */
    size_t device_count;
} ModelRows;

static size_t colour_of(const ModelRows *m, Str device)
{
    for (size_t i = 0; i < m->device_count; i++)
        if (str_eq(m->devices[i], device)) return i;
    return COLOURS - 1;
}

static void find_devices(ModelRows *m)
{
    for (size_t i = 0; i < m->count; i++) {
        size_t k = 0;
        while (k < m->device_count && !str_eq(m->devices[k], m->rows[i].device)) k++;
        if (k == m->device_count && k < COLOURS) m->devices[m->device_count++] = m->rows[i].device;
    }
}

typedef struct Axes {
    double low, high;  /* frames a second, on a logarithmic axis */
    double most, step; /* of the resource */
} Axes;

static Axes find_axes(const ModelRows *m, ReportResource k)
{
    Axes axes = {INFINITY, 0, 1};
    for (size_t i = 0; i < m->count; i++) {
        const ReportSweepRow *row = &m->rows[i];
        if (!is_done(row)) continue;
        axes.low = fmin(axes.low, row->fps);
        axes.high = fmax(axes.high, row->fps);
        axes.most = fmax(axes.most, (double)row->cost[k]);
    }
    axes.low /= 1.3;
    axes.high *= 1.3;
    /* Whole steps of 1, 2 or 5 times a power of ten, four or so of them. */
    axes.step = fmax(pow(10, floor(log10(axes.most / 4))), 1);
    if (axes.step * 5 <= axes.most / 4)
        axes.step *= 5;
    else if (axes.step * 2 <= axes.most / 4)
        axes.step *= 2;
    axes.most *= 1.05;
    return axes;
}

static double x_of(const Axes *axes, double amount)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * fmax(amount, 0) / axes->most;
}

static double y_of(const Axes *axes, double fps)
{
    return HEIGHT - BOTTOM -
           (HEIGHT - TOP - BOTTOM) * log(fps / axes->low) / log(axes->high / axes->low);
}

static void add_grid(const Axes *axes, StrBuf *out)
{
    for (double decade = pow(10, floor(log10(axes->low))); decade <= axes->high; decade *= 10)
        for (int step = 1; step <= 5; step += step == 2 ? 3 : 1) {
            double fps = decade * step;
            if (fps < axes->low || fps > axes->high) continue;
            double y = y_of(axes, fps);
            strbuf_printf(out, "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>",
                          LEFT, y, WIDTH - RIGHT, y);
            strbuf_printf(out, "<text class=\"d r\" x=\"%d\" y=\"%.1f\">", LEFT - 5, y + 3.5);
            svg_add_scaled(out, fps);
            strbuf_add_c(out, "</text>");
        }
    for (double amount = 0; amount <= axes->most; amount += axes->step) {
        strbuf_printf(out, "<text class=\"d h\" x=\"%.1f\" y=\"%d\">", x_of(axes, amount),
                      HEIGHT - BOTTOM + 15);
        svg_add_scaled(out, amount);
        strbuf_add_c(out, "</text>");
    }
}

static void add_marker(const ModelRows *m, const Axes *axes, const ReportSweepRow *row, size_t k,
                       StrBuf *out)
{
    bool on_front = row->fronts >> k & 1;
    strbuf_printf(out, "<circle class=\"k%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"%s><title>",
                  colour_of(m, row->device), x_of(axes, (double)row->cost[k]), y_of(axes, row->fps),
                  on_front ? "5" : "3", on_front ? "" : " fill-opacity=\".45\"");
    html_add_text(out, row->device);
    strbuf_printf(out, ", %lld MHz, ", (long long)row->clock);
    html_add_text(out, row->objective);
    if (row->limits.len > 0) strbuf_add_c(out, ", ");
    html_add_text(out, row->limits);
    strbuf_printf(out, ": %.1f frames/s, %lld</title></circle>\n", row->fps,
                  (long long)row->cost[k]);
}

typedef struct FrontPoint {
    double x, y;
} FrontPoint;

static int by_x(const void *a, const void *b)
{
    const FrontPoint *p = a, *q = b;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    return p->y < q->y ? 1 : p->y > q->y ? -1 : 0;
}

/* Between two designs of the front there is only the slower one. */
static void add_front(const ModelRows *m, const Axes *axes, size_t k, StrBuf *out)
{
    VEC(FrontPoint) points = {0};
    for (size_t i = 0; i < m->count; i++)
        if (m->rows[i].fronts >> k & 1)
            *vec_push(&points) =
                (FrontPoint){x_of(axes, (double)m->rows[i].cost[k]), y_of(axes, m->rows[i].fps)};
    if (points.len > 1) {
        qsort(points.data, points.len, sizeof points.data[0], by_x);
        strbuf_printf(out, "<path class=\"done\" fill=\"none\" d=\"M%.1f %.1f", points.data[0].x,
                      points.data[0].y);
        for (size_t i = 1; i < points.len; i++)
            strbuf_printf(out, "H%.1fV%.1f", points.data[i].x, points.data[i].y);
        strbuf_add_c(out, "\"/>\n");
    }
    vec_free(&points);
}

static void add_chart(const ModelRows *m, ReportResource k, StrBuf *out)
{
    const Axes axes = find_axes(m, k);
    strbuf_printf(out,
                  "<svg width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\">"
                  "<text class=\"b\" x=\"%d\" y=\"14\">frames a second against %s</text>\n",
                  WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT, report_resources[k].title);
    add_grid(&axes, out);
    add_front(m, &axes, k, out);
    for (size_t i = 0; i < m->count; i++)
        if (is_done(&m->rows[i])) add_marker(m, &axes, &m->rows[i], k, out);
    strbuf_add_c(out, "</svg>\n");
}

static void add_charts(const ModelRows *m, StrBuf *out)
{
    strbuf_add_c(out, "<ul class=\"keys\">");
    for (size_t i = 0; i < m->device_count; i++) {
        strbuf_printf(out,
                      "<li><svg viewBox=\"0 0 12 12\"><circle class=\"k%zu\" cx=\"6\" cy=\"6\" "
                      "r=\"5\"/></svg>",
                      i);
        html_add_name(out, m->devices[i]);
        strbuf_add_c(out, "</li>");
    }
    strbuf_add_c(out, "</ul>\n<div class=\"cards\">\n");
    for (size_t i = 0; i < COUNT_OF(shown); i++) add_chart(m, shown[i], out);
    strbuf_add_c(out, "</div>\n");
}

static void add_text_cell(StrBuf *out, Str text)
{
    strbuf_add_c(out, "<td>");
    html_add_text(out, text);
    strbuf_add_c(out, "</td>");
}

static void add_figures(const ReportSweepRow *row, StrBuf *out)
{
    strbuf_printf(out, "<td class=\"n\">%.1f</td><td class=\"n\">", row->fps);
    if (row->first_ms >= 0) strbuf_printf(out, "%.4g", row->first_ms);
    strbuf_add_c(out, "</td>");
    for (size_t k = 0; k < REPORT_RESOURCES; k++) html_add_cell(out, row->cost[k]);
    strbuf_printf(out, "<td>%s</td><td>", row->is_optimal ? "yes" : "no");
    bool is_first = true;
    for (size_t k = 0; k < REPORT_RESOURCES; k++) {
        if (!(row->fronts >> k & 1)) continue;
        strbuf_printf(out, "%s%s", is_first ? "" : ", ", report_resources[k].title);
        is_first = false;
    }
    strbuf_add_c(out, "</td>");
}

static void add_row(const ReportSweepRow *row, StrBuf *out)
{
    enum { FIGURES = 4 + REPORT_RESOURCES };
    strbuf_add_c(out, "<tr>");
    add_text_cell(out, row->device);
    html_add_cell(out, row->clock > 0 ? row->clock : -1);
    add_text_cell(out, row->objective);
    add_text_cell(out, row->limits);
    strbuf_printf(out, "<td><a href=\"%.*s/%s\">", STR_ARG(row->folder),
                  is_done(row) ? "design/report.json" : "log");
    html_add_text(out, row->state);
    strbuf_add_c(out, "</a></td>");
    if (is_done(row)) {
        add_figures(row, out);
    } else {
        strbuf_printf(out, "<td colspan=\"%d\" class=\"dim\">", (int)FIGURES);
        html_add_text(out, row->message);
        strbuf_add_c(out, "</td>");
    }
    strbuf_add_c(out, "</tr>\n");
}

static void add_table(const ModelRows *m, StrBuf *out)
{
    strbuf_add_c(out, "<div class=\"scroll\"><table class=\"whole\"><thead><tr><th>device</th><th "
                      "class=\"n\">MHz</th>"
                      "<th>objective</th><th>limits</th><th>design</th>"
                      "<th class=\"n\">frames/s</th><th class=\"n\">first frame, ms</th>");
    for (size_t k = 0; k < REPORT_RESOURCES; k++)
        strbuf_printf(out, "<th class=\"n\">%s</th>", report_resources[k].title);
    strbuf_add_c(out, "<th>optimal</th><th>on the front of</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < m->count; i++) add_row(&m->rows[i], out);
    strbuf_add_c(out, "</tbody></table></div>\n");
}

static void add_model(const ReportSweepRow *rows, size_t count, size_t number, StrBuf *out)
{
    ModelRows m = {.rows = rows, .count = count};
    bool has_some = false;
    for (size_t i = 0; i < count; i++) has_some |= is_done(&rows[i]);
    find_devices(&m);
    strbuf_printf(out, "<section id=\"m%zu\">\n<h2>", number);
    html_add_name(out, rows->model);
    strbuf_add_c(out, "</h2>\n");
    if (has_some) add_charts(&m, out);
    add_table(&m, out);
    html_end_section(out);
}

static void add_summary(const ReportSweepRows *rows, Str title, StrBuf *out)
{
    size_t done = 0, missing = 0;
    for (size_t i = 0; i < rows->len; i++) {
        done += is_done(&rows->data[i]);
        missing += str_eq_c(rows->data[i].state, "missing");
    }
    strbuf_add_c(out, "<header>\n<h1>");
    html_add_name(out, title);
    strbuf_printf(out,
                  "</h1>\n<p class=\"dim\">%zu designs: %zu done, %zu failed, %zu missing. "
                  "Frames a second and resources are predictions of ming. "
                  "<a href=\"results.csv\">results.csv</a></p>\n<nav>",
                  rows->len, done, rows->len - done - missing, missing);
    size_t number = 0;
    for (size_t i = 0; i < rows->len; i++) {
        if (i > 0 && str_eq(rows->data[i].model, rows->data[i - 1].model)) continue;
        strbuf_printf(out, "<a href=\"#m%zu\">", number++);
        html_add_text(out, rows->data[i].model);
        strbuf_add_c(out, "</a>");
    }
    strbuf_add_c(out, "</nav>\n</header>\n<main>\n");
}

void report_print_sweep(const ReportSweepRows *rows, Str title, StrBuf *out)
{
    size_t number = 0;
    html_begin_page(out, title, "sweep");
    add_summary(rows, title, out);
    for (size_t i = 0, end; i < rows->len; i = end) {
        end = i + 1;
        while (end < rows->len && str_eq(rows->data[end].model, rows->data[i].model)) end++;
        add_model(&rows->data[i], end - i, number++, out);
    }
    strbuf_add_c(
        out,
        "</main>\n<footer><p class=\"dim\">Printed by ming sweep. A design is on a front if no "
        "other one of the model is as fast with as little of that resource, and better in "
        "one of both; markers of fronts are larger.</p></footer>\n</body>\n</html>\n");
}
