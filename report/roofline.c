/* The roofline of a design (driver/roofline): what the device can compute at the precisions of the
 * design's products, what its memory and the design's ports bring, and where each layer and the
 * whole design are below that.
 *
 *   rate of a layer = 2 macs f / interval        while it works: 2 macs f / cycles of its process
 *   ops per byte    = 2 macs / bytes that it reads and writes, with its weights
 *
 * Tests: lit/tools/ming-report-html.mir, test/e2e/report_check.py */
#include "dialects/arith/arith.h"
#include "dialects/emithls/emithls.h"
#include "report/internal.h"

typedef struct Products {
    bool floats, integers;
} Products;

static bool find_products(Op *op, void *user)
{
    Products *products = user;
    products->floats |= op->def == ARITH(MULF);
    products->integers |= op->def == ARITH(MULI) || op->def == EMITHLS(POPCOUNT);
    return true;
}

/* Whether a process sums products of floats: widths of 16 bits and more do not say, and a process of
 * integers may scale its sums. */
static bool is_float(const ReportModel *m, const ReportProcess *p, json_int_t weight)
{
    enum { LEAST_FLOAT = 16 };
    Products products = {false, false};
    if (p->simulated == HLS_NOBODY || weight < LEAST_FLOAT) return false;
    const Op *func = m->options->design->processes.data[p->simulated].func;
    op_walk((Op *)(uintptr_t)func, find_products, &products);
    return products.floats && !products.integers;
}

/* Of a sum of products. False: it is none. */
static bool read_products(const ReportModel *m, const ReportProcess *p, int64_t *macs,
                          Precision *precision)
{
    enum { MOST_BITS = 1 << 16 };
    const json_t *bits = json_object_get(p->json, "factor_bits");
    json_int_t weight = json_integer_value(json_array_get(bits, 0)),
               input = json_integer_value(json_array_get(bits, 1));
    *macs = report_number(p->json, "macs");
    if (*macs <= 0 || weight < 1 || weight > MOST_BITS || input < 1 || input > MOST_BITS)
        return false;
    *precision = (Precision){(uint32_t)weight, (uint32_t)input, is_float(m, p, weight)};
    return true;
}

/* False: there are more operations than can be counted. */
static bool add_process(const ReportModel *m, const ReportProcess *p, ReportRoofline *r,
                        ReportPoint *point)
{
    Precision precision;
    int64_t macs;
    if (!read_products(m, p, &macs, &precision)) return true;
    if (macs > point->most_macs) {
        point->most_macs = macs;
        point->precision = precision;
    }
    point->macs = i64_sum(point->macs, macs);
    point->cycles = i64_max(point->cycles, p->cycles);
    point->bytes += (double)i64_max(report_number(p->json, "weight_bits"), 0) / 8;
    return roofline_add_products(&r->roof, precision, macs);
}

static bool find_points(const ReportModel *m, ReportRoofline *r)
{
    for (size_t i = 0; i < m->layers.len; i++) {
        const ReportLayer *layer = &m->layers.data[i];
        ReportPoint point = {.layer = (uint32_t)i};
        for (size_t k = 0; k < layer->processes.len; k++)
            if (!add_process(m, &m->processes.data[layer->processes.data[k]], r, &point))
                return false;
        if (point.macs > 0) *vec_push(&r->points) = point;
    }
    return true;
}

static double word_bytes(const Type *word)
{
    return (double)(emithls_lanes(word) * type_width(emithls_scalar(word))) / 8;
}

static void move_bytes(ReportRoofline *r, uint32_t node, double bytes)
{
    for (size_t i = 0; i < r->points.len; i++)
        if (r->points.data[i].layer == node) r->points.data[i].bytes += bytes;
}

static uint32_t node_of(const ReportModel *m, uint32_t process)
{
    return process == HLS_NOBODY ? HLS_NOBODY : m->layer_of[process];
}

/* What goes from one layer to another, or through a port, once for each of both. */
static void count_streams(const ReportModel *m, ReportRoofline *r)
{
    const HlsDesign *design = m->options->design;
    for (size_t i = 0; i < design->streams.len; i++) {
        const HlsStream *s = &design->streams.data[i];
        uint32_t writer = node_of(m, s->writer), reader = node_of(m, s->reader);
        if (s->is_once || writer == reader) continue;
        double word = word_bytes(s->word);
        move_bytes(r, writer, word * (double)s->words);
        move_bytes(r, reader, word * (double)s->words);
        if (i < design->port_count) r->port_gbytes += word * (double)r->roof.clock / 1e3;
    }
}

/* Bits of a frame at a port of report.json; 0: it is of weights, or they are not known. */
static int64_t frame_bits(const json_t *port)
{
    const json_t *item, *shape = json_object_get(port, "shape");
    int64_t bits = report_number(port, "bits");
    size_t index;
    if (bits < 0 || json_is_true(json_object_get(port, "weights"))) return 0;
    json_array_foreach(shape, index, item)
    {
        int64_t extent = json_integer_value(item);
        if (extent < 0 || !i64_mul(bits, extent, &bits)) return 0;
    }
    return bits;
}

/* Memories at the ports, each of which a process reads or writes an element or word a cycle. */
static void count_ports(const ReportModel *m, ReportRoofline *r)
{
    const HlsDesign *design = m->options->design;
    const json_t *port, *ports = json_object_get(m->json, "ports");
    size_t index;
    json_array_foreach(ports, index, port) r->roof.port_bits =
        i64_sum(r->roof.port_bits, frame_bits(port));
    for (size_t i = 0; i < design->memories.len; i++) {
        const HlsMemoryPort *memory = &design->memories.data[i];
        port = json_array_get(ports, memory->arg);
        if (frame_bits(port) == 0) continue;
        move_bytes(r, node_of(m, memory->process), (double)frame_bits(port) / 8);
        r->port_gbytes +=
            (double)report_number(port, "word_bits") / 8 * (double)r->roof.clock / 1e3;
    }
}

static double ceiling_of(const Roofline *roof, const Precision *p)
{
    for (uint32_t i = 0; i < roof->peak_count; i++) {
        const Precision *q = &roof->peaks[i].precision;
        if (q->weight_bits == p->weight_bits && q->input_bits == p->input_bits &&
            q->is_float == p->is_float)
            return roof->peaks[i].gops;
    }
    return roof->compute_gops;
}

static void rate_points(ReportRoofline *r, int64_t interval)
{
    double operations = 2e-3 * (double)r->roof.clock; /* 10^9 a second, of a MAC in each cycle */
    r->gops = operations * (double)r->roof.ops / 2 / (double)interval;
    for (size_t i = 0; i < r->points.len; i++) {
        ReportPoint *p = &r->points.data[i];
        p->gops = operations * (double)p->macs / (double)interval;
        p->busy_gops = operations * (double)p->macs / (double)i64_max(p->cycles, 1);
        p->ceiling = ceiling_of(&r->roof, &p->precision);
    }
}

/* NULL, or why there is none. */
static const char *measure(const ReportModel *m, ReportRoofline *r)
{
    int64_t clock = report_number(m->json, "clock_mhz"),
            interval = report_number(json_object_get(m->json, "totals"), "interval_cycles");
    if (!m->options->device) return "the device's description is not at hand";
    if (clock <= 0 || interval <= 0) return "clock or interval are not known";
    roofline_begin(m->options->device, clock, &r->roof);
    if (!find_points(m, r)) return "there are more operations than can be counted";
    count_streams(m, r);
    count_ports(m, r);
    const char *reason = roofline_finish(m->options->device, &r->roof);
    if (!reason) rate_points(r, interval);
    return reason;
}

static void add_real_cell(StrBuf *out, double value)
{
    strbuf_add_c(out, "<td class=\"n\">");
    html_add_real(out, value);
    strbuf_add_c(out, "</td>");
}

/* Behind what names a row. */
static void add_figures(double ops, double bytes, double gops, double busy, double ceiling,
                        StrBuf *out)
{
    add_real_cell(out, ops);
    add_real_cell(out, bytes);
    add_real_cell(out, bytes > 0 ? ops / bytes : 0);
    add_real_cell(out, gops);
    add_real_cell(out, busy);
    add_real_cell(out, ceiling);
    strbuf_printf(out, "<td class=\"n\">%.3g\xc2\xa0%%</td></tr>\n", 100 * gops / ceiling);
}

static void add_table(const ReportModel *m, const ReportRoofline *r, StrBuf *out)
{
    strbuf_add_c(
        out,
        "<div class=\"scroll\"><table id=\"points\"><thead><tr><th class=\"n\">point</th>"
        "<th>layer</th><th class=\"n\">weight x input</th><th class=\"n\">operations a frame</th>"
        "<th class=\"n\">bytes</th><th class=\"n\">operations per byte</th>"
        "<th class=\"n\">GOP/s</th><th class=\"n\">while it works</th>"
        "<th class=\"n\">ceiling</th><th class=\"n\">of it</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < r->points.len; i++) {
        const ReportPoint *p = &r->points.data[i];
        strbuf_printf(out, "<tr><td class=\"n\">%zu</td><td>", i + 1);
        html_add_name(out, m->layers.data[p->layer].name);
        strbuf_add_c(out, "</td><td class=\"n\">");
        roofline_add_precision(&p->precision, out);
        strbuf_add_c(out, "</td>");
        add_figures(2 * (double)p->macs, p->bytes, p->gops, p->busy_gops, p->ceiling, out);
    }
    strbuf_add_c(out, "<tr><td></td><th>the design, bytes at its ports</th><td></td>");
    add_figures((double)r->roof.ops, r->roof.moved_bytes, r->gops, r->gops, r->roof.compute_gops,
                out);
    strbuf_add_c(out, "</tbody></table></div>\n");
}

static void add_explanation(const Roofline *roof, StrBuf *out)
{
    strbuf_add_c(out, "<p>Predicted by ming's cost model, as by <code>ming roofline</code>: level "
                      "lines are what ");
    html_add_count(out, roof->lut);
    strbuf_add_c(out, " LUTs and ");
    html_add_count(out, roof->dsp);
    strbuf_add_c(out,
                 " DSP slices (70 and 90 % of the device) can compute at a precision. A dot is "
                 "a layer at the design's frame rate, its line reaches up to the rate while "
                 "it works. Its operations per byte are those that it would have alone, with "
                 "input, weights and output in memory");
    if (roof->bandwidth > 0) strbuf_add_c(out, ", whose slope would be its limit then");
    strbuf_add_c(out, ". The diamond is the design, which moves only what passes its ports: their "
                      "slope is its limit.</p>\n");
    if (roof->bandwidth <= 0)
        strbuf_add_c(out, "<p>The device's description has no banks of memory, so there is no "
                          "slope of memory.</p>\n");
}

void report_add_roofline(const ReportModel *m, StrBuf *out)
{
    ReportRoofline r = {.gops = 0};
    const char *reason = measure(m, &r);
    html_begin_section(out, "roofline", "Roofline");
    if (reason) {
        strbuf_printf(out, "<p>There is none: %s.</p>\n", reason);
    } else {
        add_explanation(&r.roof, out);
        report_add_roofline_chart(m, &r, out);
        add_table(m, &r, out);
    }
    html_end_section(out);
    vec_free(&r.points);
}
