/* The graph of layers: a box per layer with the share of the time that its slowest process works, a
 * line per way between two layers with the words that its FIFOs held at most.
 * graph_print.c has it on paper.
 * Tests: lit/tools/ming-report-html.mir, test/e2e/report_check.py */
#include <math.h>
#include <string.h>

#include "report/internal.h"

enum { LABEL_CHARACTERS = 30, BAR_WIDTH = 208, PAD = 12, EDGE_LABEL = 90 };

#define DRAWN "drawn-graph"

typedef struct Graph {
    const ReportModel *model;
    const Layout *layout;
    StrBuf *out;
} Graph;

/* How full the fullest FIFO of a line was: class of its colour. */
static int fullness(const ReportEdge *e)
{
    if (e->fifos == 0 || e->most < 0 || e->depth <= 0) return 0;
    if (e->most >= e->depth) return 2;
    return 4 * e->most >= 3 * e->depth ? 1 : 0;
}

static double stroke_of(const ReportEdge *e)
{
    return e->width > 0 ? fmin(1 + log2((double)e->width) / 3, 5) : 1.2;
}

static void add_edge_title(const Graph *g, const ReportEdge *e)
{
    strbuf_add_c(g->out, "<title>");
    html_add_text(g->out, report_node_name(g->model, e->from));
    strbuf_add_c(g->out, " to ");
    html_add_text(g->out, report_node_name(g->model, e->to));
    if (e->fifos > 1) strbuf_printf(g->out, ": %u FIFOs, the fullest", e->fifos);
    if (e->fifos > 0 && e->most >= 0)
        strbuf_printf(g->out, ": at most %lld of %lld words", (long long)e->most,
                      (long long)e->depth);
    else if (e->fifos > 0)
        strbuf_printf(g->out, ": %lld words", (long long)e->depth);
    if (e->width > 0) strbuf_printf(g->out, ", %lld bits wide", (long long)e->width);
    strbuf_add_c(g->out, "</title>");
}

/* The arrow's head at the end of a curve, along its last piece. */
static void add_head(const Graph *g, const LayoutPoints *points, int level)
{
    enum { LENGTH = 9, HALF = 4 };
    LayoutPoint end = points->data[points->len - 1], before = points->data[points->len - 2];
    double x = end.x - before.x, y = end.y - before.y, length = hypot(x, y);
    if (length < 1e-6) {
        y = 1;
        length = 1;
    }
    x /= length;
    y /= length;
    strbuf_printf(g->out, "<path class=\"tip e%d\" d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fz\"/>", level,
                  end.x, end.y, end.x - LENGTH * x - HALF * y, end.y - LENGTH * y + HALF * x,
                  end.x - LENGTH * x + HALF * y, end.y - LENGTH * y - HALF * x);
}

/* "14/16 × 72 b" beside the middle of the line's last piece. */
static void add_edge_label(const Graph *g, const ReportEdge *e, const LayoutPoints *points)
{
    const LayoutPoint *p = &points->data[points->len - 4];
    if (e->fifos == 0) return;
    double x = (p[0].x + 3 * p[1].x + 3 * p[2].x + p[3].x) / 8,
           y = (p[0].y + 3 * p[1].y + 3 * p[2].y + p[3].y) / 8;
    strbuf_printf(g->out, "<text class=\"d l\" x=\"%.1f\" y=\"%.1f\">", x + 6, y + 3);
    if (e->most >= 0) strbuf_printf(g->out, "%lld/", (long long)e->most);
    strbuf_printf(g->out, "%lld \xc3\x97 %lld b", (long long)e->depth, (long long)e->width);
    if (e->fifos > 1) strbuf_printf(g->out, " (of %u)", e->fifos);
    strbuf_add_c(g->out, "</text>\n");
}

static void add_edge(const Graph *g, uint32_t number)
{
    const ReportEdge *e = &g->layout->edges[number];
    const LayoutPoints *points = &g->layout->curves[number].points;
    int level = fullness(e);
    strbuf_printf(g->out, "<g><path class=\"edge e%d\" stroke-width=\"%.1f\" d=\"M%.1f %.1f", level,
                  stroke_of(e), points->data[0].x, points->data[0].y);
    for (size_t i = 1; i < points->len; i++)
        strbuf_printf(g->out, "%c%.1f %.1f", i % 3 == 1 ? 'C' : ' ', points->data[i].x,
                      points->data[i].y);
    strbuf_add_c(g->out, "\"/>");
    add_head(g, points, level);
    add_edge_title(g, e);
    strbuf_add_c(g->out, "</g>\n");
}

static void add_box(const Graph *g, uint32_t node, const char *class)
{
    const Layout *l = g->layout;
    strbuf_printf(g->out,
                  "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%g\" height=\"%g\" rx=\"6\"/>",
                  class, l->nodes[node].x - l->node_width / 2,
                  l->nodes[node].y - l->node_height / 2, l->node_width, l->node_height);
}

static void add_port(const Graph *g, uint32_t node)
{
    const ReportPort *port = &g->model->ports.data[node - g->model->layers.len];
    LayoutPoint at = g->layout->nodes[node];
    strbuf_add_c(g->out, "<g>");
    add_box(g, node, "port");
    strbuf_printf(g->out, "<text class=\"h b\" x=\"%.1f\" y=\"%.1f\">", at.x, at.y - 2);
    html_add_short(g->out, port->name, LABEL_CHARACTERS);
    strbuf_printf(g->out, "</text><text class=\"h d\" x=\"%.1f\" y=\"%.1f\">%s</text></g>\n", at.x,
                  at.y + 13, port->is_input ? "input" : "output");
}

/* The slowest process of the layer decides: its share of the interval of the slowest of all. */
static void add_layer(const Graph *g, uint32_t node)
{
    const ReportModel *m = g->model;
    const ReportLayer *layer = &m->layers.data[node];
    const ReportProcess *slowest = &m->processes.data[layer->slowest];
    bool is_slow = m->slowest > 0 && slowest->cycles == m->slowest;
    double x = g->layout->nodes[node].x - g->layout->node_width / 2 + PAD,
           y = g->layout->nodes[node].y,
           share = m->slowest > 0 ? (double)i64_max(slowest->cycles, 0) / (double)m->slowest : 0;
    strbuf_printf(g->out, "<a href=\"#layer-%u\"><g>", node);
    add_box(g, node, is_slow ? "box slow" : "box");
    strbuf_printf(g->out, "<text class=\"b\" x=\"%.1f\" y=\"%.1f\">", x, y - 8);
    html_add_short(g->out, layer->name, LABEL_CHARACTERS);
    strbuf_printf(g->out, "</text><text class=\"d\" x=\"%.1f\" y=\"%.1f\">", x, y + 6);
    html_add_count(g->out, slowest->cycles);
    strbuf_add_c(g->out, " cycles \xc2\xb7 ");
    html_add_count(g->out, layer->cost[REPORT_DSP]);
    strbuf_add_c(g->out, " DSP \xc2\xb7 ");
    html_add_count(g->out, layer->cost[REPORT_BRAM18]);
    strbuf_printf(g->out,
                  " BRAM18</text><rect class=\"track\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" "
                  "height=\"5\"/><rect class=\"bar%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                  "height=\"5\"/><title>",
                  x, y + 12, BAR_WIDTH, is_slow ? " slow" : "", x, y + 12, BAR_WIDTH * share);
    html_add_text(g->out, layer->name);
    strbuf_add_c(g->out, ": slowest process ");
    html_add_text(g->out, slowest->name);
    strbuf_add_c(g->out, is_slow ? ", the bottleneck" : "");
    strbuf_add_c(g->out, "</title></g></a>\n");
}

static void add_svg(const Graph *g)
{
    const Layout *l = g->layout;
    double width = l->width + EDGE_LABEL; /* right of the outermost line */
    bool has_slices = report_needs_slices(l, width);
    strbuf_printf(
        g->out,
        "<div class=\"scroll%s\"><svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
        "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
        "aria-label=\"graph of layers\"><g id=\"" DRAWN "\">\n",
        has_slices ? " screen" : "", width, l->height, width, l->height);
    for (uint32_t e = 0; e < l->edge_count; e++) add_edge(g, e);
    for (uint32_t n = 0; n < l->node_count; n++)
        if (n < g->model->layers.len)
            add_layer(g, n);
        else
            add_port(g, n);
    for (uint32_t e = 0; e < l->edge_count; e++)
        add_edge_label(g, &l->edges[e], &l->curves[e].points);
    strbuf_add_c(g->out, "</g></svg></div>\n");
    if (has_slices) report_add_slices(l, width, DRAWN, g->out);
}

static bool place(Layout *l, ReportLayout by, StrBuf *why)
{
    if (by != REPORT_LAYOUT_OWN && report_layout_by_dot(l)) return true;
    if (by == REPORT_LAYOUT_DOT)
        return strbuf_fail(why, "Graphviz's 'dot' did not place the layers; --layout=own does "
                                "without it");
    report_layout_place(l);
    return true;
}

bool report_add_graph(const ReportModel *model, StrBuf *out, StrBuf *why)
{
    Layout layout = {.node_count = report_node_count(model),
                     .edge_count = (uint32_t)model->edges.len,
                     .edges = model->edges.data,
                     .node_width = NODE_WIDTH,
                     .node_height = NODE_HEIGHT};
    const Graph graph = {model, &layout, out};
    if (!place(&layout, model->options->layout, why)) return false;
    html_begin_section(out, "graph", "Layers and FIFOs");
    strbuf_add_c(
        out, "<p>A box is a layer; its bar is the time that its slowest process works for a "
             "frame, as a share of the <span class=\"slow\">bottleneck</span>'s, which is "
             "framed. Boxes lead to the table. A line is the FIFOs between two layers: the most "
             "words that were in the fullest one, of its depth, by the bits of a word. Lines "
             "are thicker the wider they are.</p>\n<ul class=\"keys\"><li><svg><rect "
             "width=\"12\" height=\"12\" class=\"tip\"/></svg>below three quarters</li><li><svg>"
             "<rect width=\"12\" height=\"12\" class=\"tip e1\"/></svg>above</li><li><svg><rect "
             "width=\"12\" height=\"12\" class=\"tip e2\"/></svg>full at times, so that its "
             "writer waits</li></ul>\n");
    add_svg(&graph);
    html_end_section(out);
    report_layout_free(&layout);
    return true;
}
