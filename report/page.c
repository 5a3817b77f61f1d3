/* The page: its head, what the design is and reaches, the sections, the search's bound, the folding
 * file.
 * Tests: lit/tools/ming-report-html.mir, test/e2e/report_check.py */
#include <math.h>

#include "report/internal.h"

static const struct {
    const char *id, *title;
} sections[] = {
    {"graph", "Layers and FIFOs"}, {"frames", "Frames over time"}, {"resources", "Resources"},
    {"roofline", "Roofline"},      {"layers", "Layers"},           {"fifos", "FIFOs"},
    {"precision", "Bit widths"},   {"search", "Search"},
};

static int64_t total_number(const ReportModel *m, const char *key)
{
    return report_number(json_object_get(m->json, "totals"), key);
}

static bool is_simulated(const ReportModel *m)
{
    return str_eq_c(report_text(m->json, "timing"), "simulated");
}

static void add_navigation(StrBuf *out)
{
    strbuf_add_c(out, "<nav>");
    for (size_t i = 0; i < COUNT_OF(sections); i++)
        strbuf_printf(out, "<a href=\"#%s\">%s</a>", sections[i].id, sections[i].title);
    strbuf_add_c(out, "</nav>\n");
}

static void begin_card(StrBuf *out, const char *title)
{
    strbuf_printf(out, "<div class=\"card\"><small>%s</small><b>", title);
}

static void end_card(StrBuf *out, const char *note)
{
    strbuf_printf(out, "</b><small>%s</small></div>\n", note);
}

static void add_speed(const ReportModel *m, StrBuf *out)
{
    const json_t *totals = json_object_get(m->json, "totals");
    const char *how = is_simulated(m) ? "simulated" : "predicted";
    int64_t clock = report_number(m->json, "clock_mhz");
    double fps = json_number_value(json_object_get(totals, "fps"));
    if (fps > 0) {
        begin_card(out, "frames a second");
        html_add_count(out, llround(floor(fps)));
        end_card(out, how);
    }
    begin_card(out, "a frame every");
    html_add_count(out, total_number(m, "interval_cycles"));
    end_card(out, is_simulated(m) ? "cycles, simulated" : "cycles, predicted");
    begin_card(out, "first frame");
    html_add_time(out, (double)i64_max(total_number(m, "latency_cycles"), 0), clock);
    end_card(out, is_simulated(m) ? how : "at most, predicted");
    begin_card(out, "clock");
    html_add_count(out, clock);
    end_card(out, "MHz");
}

static void add_work(const ReportModel *m, StrBuf *out)
{
    int64_t ops = total_number(m, "ops_per_frame"), bits = total_number(m, "weight_bits");
    if (ops >= 0) {
        begin_card(out, "operations a frame");
        svg_add_scaled(out, (double)ops);
        end_card(out, "products and sums");
    }
    if (bits >= 0) {
        begin_card(out, "weights");
        svg_add_scaled(out, (double)bits / 8);
        end_card(out, "bytes");
    }
    begin_card(out, "structure");
    strbuf_printf(out, "%zu layers", m->layers.len);
    strbuf_add_c(out, "</b><small>");
    strbuf_printf(out, "%zu processes, %zu FIFOs</small></div>\n", m->processes.len, m->fifos.len);
}

static void add_shape(const json_t *shape, StrBuf *out)
{
    size_t index;
    json_t *item;
    json_array_foreach(shape, index, item) strbuf_printf(out, "%s%lld", index > 0 ? "\xc3\x97" : "",
                                                         (long long)json_integer_value(item));
}

static void add_ports(const ReportModel *m, StrBuf *out)
{
    size_t index;
    json_t *port;
    strbuf_add_c(out, "<div class=\"scroll\"><table><thead><tr><th>port</th><th>direction</th>"
                      "<th>interface</th><th>shape</th><th>type</th></tr></thead><tbody>\n");
    json_array_foreach(json_object_get(m->json, "ports"), index, port)
    {
        static const char *const keys[] = {"direction", "interface"};
        strbuf_add_c(out, "<tr><td>");
        html_add_name(out, report_text(port, "name"));
        for (size_t i = 0; i < COUNT_OF(keys); i++) {
            strbuf_add_c(out, "</td><td>");
            html_add_text(out, report_text(port, keys[i]));
        }
        strbuf_add_c(out, "</td><td>");
        add_shape(json_object_get(port, "shape"), out);
        strbuf_add_c(out, "</td><td>");
        html_add_text(out, report_text(port, "dtype"));
        strbuf_add_c(out, "</td></tr>\n");
    }
    strbuf_add_c(out, "</tbody></table></div>\n");
}

static void add_warnings(const ReportModel *m, StrBuf *out)
{
    const json_t *list = json_object_get(m->json, "warnings");
    size_t index;
    json_t *item;
    json_array_foreach(list, index, item)
    {
        strbuf_add_c(out, "<p class=\"warn\">");
        html_add_text(out, (Str){json_string_value(item), json_string_length(item)});
        strbuf_add_c(out, "</p>\n");
    }
    if (!is_simulated(m))
        strbuf_add_c(out, "<p class=\"warn\">No simulation settled, so interval and latency are "
                          "predictions and the depths of FIFOs are not proven.</p>\n");
}

static void add_summary(const ReportModel *m, StrBuf *out)
{
    const Device *device = m->options->device;
    Str name = report_text(m->json, "device");
    strbuf_add_c(out, "<header>\n<h1>");
    html_add_name(out, report_text(m->json, "top"));
    strbuf_add_c(out, "</h1>\n<p class=\"dim\">");
    if (device) html_add_text(out, device->title);
    if (device) strbuf_add_c(out, ", part ");
    html_add_text(out, device ? device->part : name);
    strbuf_add_c(out, "</p>\n");
    add_navigation(out);
    strbuf_add_c(out, "<div class=\"cards\">\n");
    add_speed(m, out);
    add_work(m, out);
    strbuf_add_c(out, "</div>\n");
    add_warnings(m, out);
    add_ports(m, out);
    strbuf_add_c(out, "</header>\n");
}

static void add_folding(const ReportModel *m, StrBuf *out)
{
    if (m->options->folding.len == 0) return;
    strbuf_add_c(out,
                 "<h3>Folding file</h3>\n<p>Factors, words, memories and depths, to be changed "
                 "and given back with <code>--folding</code>.</p>\n<details><summary>folding.json"
                 "</summary>\n<pre>");
    for (size_t begin = 0, i = 0; i <= m->options->folding.len; i++) {
        if (i < m->options->folding.len && m->options->folding.data[i] != '\n') continue;
        html_add_text(out, (Str){m->options->folding.data + begin, i - begin});
        if (i < m->options->folding.len) strbuf_add_char(out, '\n');
        begin = i + 1;
    }
    strbuf_add_c(out, "</pre></details>\n");
}

void report_add_search(const ReportModel *m, StrBuf *out)
{
    int64_t value = report_number(m->json, "value"), bound = report_number(m->json, "bound");
    html_begin_section(out, "search", "Search");
    strbuf_add_c(out, "<p>Objective <b>");
    html_add_text(out, report_text(m->json, "objective"));
    strbuf_add_c(out, "</b>: ");
    html_add_count(out, value);
    strbuf_add_c(out, ". ");
    if (value >= 0 && value == bound) {
        strbuf_add_c(out, "Nothing better exists among the designs that the search knows, in the "
                          "budget: it is optimal by the cost model.");
    } else if (value > 0 && bound >= 0) {
        strbuf_add_c(out, "No design in the budget is below ");
        html_add_count(out, bound);
        strbuf_add_c(out, " by the cost model; the gap is ");
        html_add_percent(out, value - bound, value);
        strbuf_add_c(out, ".");
    } else {
        strbuf_add_c(out, "There is no bound.");
    }
    strbuf_add_c(out, "</p>\n");
    add_folding(m, out);
    html_end_section(out);
}

static bool add_page(const ReportModel *m, StrBuf *out, StrBuf *why)
{
    html_begin_page(out, report_text(m->json, "top"), "design report");
    add_summary(m, out);
    strbuf_add_c(out, "<main>\n");
    bool ok = report_add_graph(m, out, why);
    report_add_frames(m, out);
    report_add_resources(m, out);
    report_add_roofline(m, out);
    report_add_layers(m, out);
    report_add_fifos(m, out);
    report_add_precision(m, out);
    report_add_search(m, out);
    strbuf_add_c(out,
                 "</main>\n<footer><p class=\"dim\">Printed by ming report. Cycles are of a "
                 "simulation exact to the cycle for the predicted schedule; resources are of a "
                 "cost model.</p></footer>\n</body>\n</html>\n");
    return ok;
}

bool report_print_html(const ReportOptions *options, StrBuf *out, StrBuf *why)
{
    ReportModel model;
    bool ok = report_model_init(&model, options, why);
    if (ok) {
        report_simulate(&model);
        report_find_edges(&model);
        ok = add_page(&model, out, why);
    }
    report_model_free(&model);
    return ok;
}
