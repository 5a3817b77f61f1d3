/* What quantizers became, and widths of factors, weights and words.
 * Tests: lit/tools/ming-report-html.mir */
#include "report/internal.h"

static void begin_table(StrBuf *out, const char *title, const char *heads)
{
    strbuf_printf(out,
                  "<h3>%s</h3>\n<div class=\"scroll\"><table><thead><tr>%s</tr></thead><tbody>\n",
                  title, heads);
}

static void end_table(StrBuf *out)
{
    strbuf_add_c(out, "</tbody></table></div>\n");
}

static int64_t item_number(const json_t *list, size_t index)
{
    const json_t *item = json_array_get(list, index);
    return json_is_integer(item) ? json_integer_value(item) : -1;
}

/* A row per sum of products. */
static void add_products(const ReportModel *m, StrBuf *out)
{
    begin_table(out, "Sums of products",
                "<th>process</th><th class=\"n\">products a frame</th><th class=\"n\">bits of "
                "activations</th><th class=\"n\">bits of weights</th><th class=\"n\">bits of all "
                "weights</th><th>multiplier</th>");
    for (size_t i = 0; i < m->processes.len; i++) {
        const ReportProcess *p = &m->processes.data[i];
        const json_t *bits = json_object_get(p->json, "factor_bits");
        Str multiplier = report_text(p->json, "multiplier");
        if (report_number(p->json, "macs") < 0) continue;
        strbuf_add_c(out, "<tr><td>");
        html_add_name(out, p->name);
        strbuf_add_c(out, "</td>");
        html_add_cell(out, report_number(p->json, "macs"));
        html_add_cell(out, item_number(bits, 1)); /* first the weight's */
        html_add_cell(out, item_number(bits, 0));
        html_add_cell(out, report_number(p->json, "weight_bits"));
        strbuf_add_c(out, "<td>");
        html_add_text(out, multiplier.len > 0 ? multiplier : STR("one for each product"));
        strbuf_add_c(out, "</td></tr>\n");
    }
    end_table(out);
}

static void add_absorbed(const json_t *list, StrBuf *out)
{
    size_t index;
    json_t *item;
    strbuf_add_c(out, "<td>");
    json_array_foreach(list, index, item)
    {
        if (index > 0) strbuf_add_c(out, ", ");
        html_add_name(out, (Str){json_string_value(item), json_string_length(item)});
    }
    strbuf_add_c(out, "</td>");
}

static void add_requantizers(const json_t *list, StrBuf *out)
{
    size_t index;
    json_t *item;
    begin_table(out, "Requantizers",
                "<th>layer</th><th>form</th><th class=\"n\">levels</th><th class=\"n\">bits of "
                "constants</th><th class=\"n\">LUT a lane</th><th class=\"n\">DSP a lane</th>"
                "<th>with the work of</th>");
    json_array_foreach(list, index, item)
    {
        strbuf_add_c(out, "<tr><td>");
        html_add_name(out, report_text(item, "layer"));
        strbuf_add_c(out, "</td><td>");
        html_add_text(out, report_text(item, "form"));
        strbuf_add_c(out, "</td>");
        html_add_cell(out, report_number(item, "levels"));
        html_add_cell(out, report_number(item, "constant_bits"));
        html_add_cell(out, report_number(item, "lut_per_lane"));
        html_add_cell(out, report_number(item, "dsp_per_lane"));
        add_absorbed(json_object_get(item, "absorbed"), out);
        strbuf_add_c(out, "</tr>\n");
    }
    end_table(out);
}

void report_add_precision(const ReportModel *m, StrBuf *out)
{
    const json_t *list = json_object_get(m->json, "requantizers");
    html_begin_section(out, "precision", "Bit widths and requantizers");
    add_products(m, out);
    if (json_array_size(list) > 0) add_requantizers(list, out);
    html_end_section(out);
}
