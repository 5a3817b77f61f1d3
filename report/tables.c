/* Tables of layers, processes and FIFOs.
 * Tests: lit/tools/ming-report-html.mir, test/e2e/report_check.py */
#include "report/internal.h"

static void add_heads(StrBuf *out, const char *const *titles, size_t count, size_t first_number)
{
    strbuf_add_c(out, "<div class=\"scroll\"><table><thead><tr>");
    for (size_t i = 0; i < count; i++)
        strbuf_printf(out, "<th%s>%s</th>", i >= first_number ? " class=\"n\"" : "", titles[i]);
    strbuf_add_c(out, "</tr></thead><tbody>\n");
}

static void end_table(StrBuf *out)
{
    strbuf_add_c(out, "</tbody></table></div>\n");
}

static void add_costs(StrBuf *out, const int64_t *cost)
{
    for (int r = 0; r < REPORT_RESOURCES; r++) html_add_cell(out, cost[r]);
}

/* "1 x 16 x 3" */
static void add_factors(StrBuf *out, const json_t *list)
{
    size_t index;
    json_t *item;
    strbuf_add_c(out, "<td>");
    json_array_foreach(list, index, item) strbuf_printf(out, "%s%lld", index > 0 ? "\xc3\x97" : "",
                                                        (long long)json_integer_value(item));
    strbuf_add_c(out, "</td>");
}

static void add_cycles(const ReportModel *m, int64_t cycles, StrBuf *out)
{
    bool is_slow = cycles > 0 && cycles == m->slowest;
    strbuf_printf(out, "<td class=\"n%s\">", is_slow ? " slow" : "");
    html_add_count(out, cycles);
    strbuf_add_c(out, "</td><td class=\"n\">");
    html_add_percent(out, cycles, m->slowest);
    strbuf_add_c(out, "</td>");
}

/* How the simulated process spends its last frame: percent that it works and waits. */
static void add_states(const ReportModel *m, const ReportProcess *p, StrBuf *out)
{
    const HlsFrames *frames =
        m->sim && p->simulated != HLS_NOBODY ? hls_sim_frames(m->sim, p->simulated) : NULL;
    const HlsFrame *last = frames && frames->len > 0 ? &frames->data[frames->len - 1] : NULL;
    int64_t sum = 0;
    for (int s = 0; last && s < HLS_STATE_COUNT; s++) sum += last->cycles[s];
    for (int s = HLS_BUSY; s <= HLS_OUTPUT; s++) {
        strbuf_add_c(out, "<td class=\"n\">");
        if (last) html_add_percent(out, last->cycles[s], sum);
        strbuf_add_c(out, "</td>");
    }
}

static void add_layer(const ReportModel *m, size_t number, StrBuf *out)
{
    const ReportLayer *layer = &m->layers.data[number];
    const ReportProcess *slowest = &m->processes.data[layer->slowest];
    strbuf_printf(out, "<tr id=\"layer-%zu\"><td>", number);
    html_add_name(out, layer->name);
    strbuf_add_c(out, "</td><td>");
    html_add_name(out, slowest->name);
    strbuf_add_c(out, "</td>");
    add_factors(out, json_object_get(slowest->json, "trip_counts"));
    add_factors(out, json_object_get(slowest->json, "unroll"));
    add_cycles(m, slowest->cycles, out);
    add_costs(out, layer->cost);
    strbuf_add_c(out, "</tr>\n");
}

static void add_processes(const ReportModel *m, StrBuf *out)
{
    static const char *const titles[] = {
        "process", "layer",           "class",      "loops", "unrolled", "cycles", "of slowest",
        "works",   "waits for input", "for output", "DSP",   "BRAM18",   "URAM",   "LUT",
        "FF"};
    strbuf_printf(out, "<details><summary>All %zu processes</summary>\n", m->processes.len);
    add_heads(out, titles, COUNT_OF(titles), 5);
    for (size_t i = 0; i < m->processes.len; i++) {
        const ReportProcess *p = &m->processes.data[i];
        strbuf_add_c(out, "<tr><td>");
        html_add_name(out, p->name);
        strbuf_add_c(out, "</td><td>");
        html_add_name(out, m->layers.data[p->layer].name);
        strbuf_add_c(out, "</td><td>");
        html_add_text(out, p->kind);
        strbuf_add_c(out, "</td>");
        add_factors(out, json_object_get(p->json, "trip_counts"));
        add_factors(out, json_object_get(p->json, "unroll"));
        add_cycles(m, p->cycles, out);
        add_states(m, p, out);
        add_costs(out, p->cost);
        strbuf_add_c(out, "</tr>\n");
    }
    end_table(out);
    strbuf_add_c(out, "</details>\n");
}

void report_add_layers(const ReportModel *m, StrBuf *out)
{
    static const char *const titles[] = {
        "layer", "slowest process", "its loops", "unrolled", "its cycles", "of slowest",
        "DSP",   "BRAM18",          "URAM",      "LUT",      "FF"};
    html_begin_section(out, "layers", "Layers");
    strbuf_add_c(out,
                 "<p>Resources are predictions of ming's cost model, in sum over the processes "
                 "of a layer with the FIFOs that they write.</p>\n");
    add_heads(out, titles, COUNT_OF(titles), 4);
    for (size_t i = 0; i < m->layers.len; i++) add_layer(m, i, out);
    end_table(out);
    add_processes(m, out);
    html_end_section(out);
}

static void add_fifo(const ReportModel *m, const ReportFifo *f, StrBuf *out)
{
    strbuf_add_c(out, "<tr><td>");
    html_add_name(out, f->name);
    strbuf_add_c(out, "</td><td>");
    html_add_text(out, f->kind);
    strbuf_add_c(out, "</td>");
    html_add_cell(out, f->width);
    html_add_cell(out, f->depth);
    strbuf_printf(out, "<td class=\"n%s\">", f->most >= f->depth && f->depth > 0 ? " slow" : "");
    html_add_count(out, f->most);
    strbuf_add_c(out, "</td>");
    for (int r = REPORT_BRAM18; r < REPORT_RESOURCES; r++) html_add_cell(out, f->cost[r]);
    strbuf_add_c(out, "</tr>\n");
    (void)m;
}

void report_add_fifos(const ReportModel *m, StrBuf *out)
{
    static const char *const titles[] = {"FIFO",   "built of", "bits", "depth", "most words",
                                         "BRAM18", "URAM",     "LUT",  "FF"};
    html_begin_section(out, "fifos", "FIFOs");
    strbuf_printf(out, "<details><summary>All %zu FIFOs</summary>\n", m->fifos.len);
    add_heads(out, titles, COUNT_OF(titles), 2);
    for (size_t i = 0; i < m->fifos.len; i++) add_fifo(m, &m->fifos.data[i], out);
    end_table(out);
    strbuf_add_c(out, "</details>\n");
    html_end_section(out);
}
