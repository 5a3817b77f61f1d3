/* Draws the dies of a placed design as bands, one below the other, with a box for each kernel, the
 * processes of a die that can run as one, and a line for the streams from kernel to kernel. Kernels
 * stand from left to right in the order of the data.
 * Tests: lit/emit/dies.test */
#include "emit/dies/dies.h"
#include "target/dse/dse.h"

enum {
    LEFT = 20,
    TOP = 56,
    TITLE_HEIGHT = 28,
    BOX_WIDTH = 190,
    BOX_GAP = 70,
    LINE_HEIGHT = 15,
    BOX_LINES = 9, /* a title, and names */
    BOX_HEIGHT = LINE_HEIGHT * BOX_LINES + 12,
    BAND_HEIGHT = TITLE_HEIGHT + BOX_HEIGHT + 24,
    NAME_CHARACTERS = 26
};

typedef struct PlaceChart {
    const DsePlaced *placed;
    uint32_t kernels;
    uint32_t *column; /* per kernel */
    uint32_t *die;
    int64_t *processes;
} PlaceChart;

static void find_kernels(PlaceChart *c)
{
    const DsePlaced *d = c->placed;
    for (size_t i = 0; i < d->functions.len; i++)
        if (d->use.kernels.data[i] >= c->kernels) c->kernels = d->use.kernels.data[i] + 1;
    c->column = xcalloc(c->kernels + 1, sizeof *c->column);
    c->die = xcalloc(c->kernels + 1, sizeof *c->die);
    c->processes = xcalloc(c->kernels + 1, sizeof *c->processes);
    uint32_t column = 0;
    for (size_t i = 0; i < d->functions.len; i++) {
        uint32_t kernel = d->use.kernels.data[i];
        if (c->processes[kernel]++ == 0) c->column[kernel] = column++;
        c->die[kernel] = d->placement.dies.data[i];
    }
}

static int box_x(const PlaceChart *c, uint32_t kernel)
{
    return LEFT + 16 + (int)c->column[kernel] * (BOX_WIDTH + BOX_GAP);
}

static int box_y(const PlaceChart *c, uint32_t kernel)
{
    return TOP + (int)c->die[kernel] * BAND_HEIGHT + TITLE_HEIGHT;
}

static int chart_width(const PlaceChart *c)
{
    return 2 * LEFT + 32 + (int)c->kernels * (BOX_WIDTH + BOX_GAP) - BOX_GAP;
}

/* "SLR0: LUT 40 %, FF 20 %, ..." */
static void add_band(const PlaceChart *c, uint32_t die, StrBuf *out)
{
    static const char *const titles[] = {"LUT", "FF", "BRAM18", "URAM", "DSP"};
    const PartitionDie *d = &c->placed->platform.dies[die];
    int y = TOP + (int)die * BAND_HEIGHT;
    strbuf_printf(out,
                  "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#f4f6f8\" "
                  "stroke=\"#888\"/>\n<text x=\"%d\" y=\"%d\" font-weight=\"bold\">",
                  LEFT, y, chart_width(c) - 2 * LEFT, BAND_HEIGHT - 8, LEFT + 16, y + 19);
    svg_add_text(out, d->name);
    strbuf_add_c(out, "<tspan font-weight=\"normal\">");
    for (int k = 0; k < PARTITION_KINDS; k++)
        if (d->capacity[k] > 0)
            strbuf_printf(out, "%s%s %lld %%", k ? ", " : ": ", titles[k],
                          (long long)(c->placed->use.dies[die][k] * 100 / d->capacity[k]));
    strbuf_add_c(out, "</tspan></text>\n");
}

static void add_box(const PlaceChart *c, uint32_t kernel, StrBuf *out)
{
    const DsePlaced *d = c->placed;
    int x = box_x(c, kernel), y = box_y(c, kernel);
    int64_t line = 1, left = c->processes[kernel];
    strbuf_printf(out,
                  "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"#fff\" "
                  "stroke=\"#0072b2\"/>\n<text x=\"%d\" y=\"%d\">%lld process%s</text>\n",
                  x, y, BOX_WIDTH, BOX_HEIGHT, x + 8, y + LINE_HEIGHT, (long long)left,
                  left == 1 ? "" : "es");
    for (size_t i = 0; i < d->functions.len; i++) {
        if (d->use.kernels.data[i] != kernel) continue;
        bool is_last_line = line == BOX_LINES - 1;
        strbuf_printf(out, "<text x=\"%d\" y=\"%d\" font-size=\"11\" fill=\"#444\">", x + 8,
                      y + LINE_HEIGHT * (int)(line + 1));
        if (is_last_line && left > 1)
            strbuf_printf(out, "and %lld more", (long long)left);
        else
            svg_add_short_text(out, symbol_name(d->functions.data[i])->str, NAME_CHARACTERS);
        strbuf_add_c(out, "</text>\n");
        if (is_last_line) break;
        line++;
        left--;
    }
}

/* The streams from one kernel to another. */
static void add_line(const PlaceChart *c, uint32_t from, uint32_t to, StrBuf *out)
{
    const DsePlaced *d = c->placed;
    int64_t streams = 0, wires = 0;
    for (size_t i = 0; i < d->model.edges.len; i++) {
        const PartitionEdge *edge = &d->model.edges.data[i];
        if (d->use.kernels.data[edge->from] != from || d->use.kernels.data[edge->to] != to)
            continue;
        streams++;
        wires += edge->wires;
    }
    if (streams == 0) return;
    int x1 = box_x(c, from) + BOX_WIDTH, y1 = box_y(c, from) + BOX_HEIGHT / 2;
    int x2 = box_x(c, to), y2 = box_y(c, to) + BOX_HEIGHT / 2;
    if (x2 < x1) x2 += BOX_WIDTH / 2;
    strbuf_printf(out,
                  "<path d=\"M%d %dC%d %d %d %d %d %d\" fill=\"none\" stroke=\"#d55e00\" "
                  "stroke-width=\"1.5\"><title>%lld stream%s, %lld wires</title></path>\n"
                  "<text x=\"%d\" y=\"%d\" font-size=\"11\" text-anchor=\"middle\" "
                  "fill=\"#b04a00\">%lld wires</text>\n",
                  x1, y1, x1 + BOX_GAP / 2, y1, x2 - BOX_GAP / 2, y2, x2, y2, (long long)streams,
                  streams == 1 ? "" : "s", (long long)wires, (x1 + x2) / 2, (y1 + y2) / 2 - 4,
                  (long long)wires);
}

static void print_chart(const PlaceChart *c, StrBuf *out)
{
    int width = chart_width(c);
    int height = TOP + (int)c->placed->platform.die_count * BAND_HEIGHT + 12;
    strbuf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\" "
                  "fill=\"#111\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
                  "<text x=\"%d\" y=\"30\" font-size=\"16\">dies, predicted use</text>\n",
                  width, height, width, height, width, height, LEFT);
    for (uint32_t i = 0; i < c->placed->platform.die_count; i++) add_band(c, i, out);
    for (uint32_t k = 0; k < c->kernels; k++) add_box(c, k, out);
    for (uint32_t from = 0; from < c->kernels; from++)
        for (uint32_t to = 0; to < c->kernels; to++)
            if (from != to) add_line(c, from, to, out);
    strbuf_add_c(out, "</svg>\n");
}

bool dies_print_svg(const Op *design, StrBuf *out)
{
    DsePlaced *placed = dse_placed(design);
    PlaceChart chart = {.placed = placed};
    if (!placed) return false;
    find_kernels(&chart);
    print_chart(&chart, out);
    free_ptr((void **)&chart.column);
    free_ptr((void **)&chart.die);
    free_ptr((void **)&chart.processes);
    dse_placed_free(placed);
    return true;
}
