/* Resources by kind of process, against the device and its share for the design; and by die, where
 * the design is placed.
 * Tests: lit/tools/ming-report-html.mir */
#include "report/internal.h"

enum { MOST_KINDS = 16, LEFT = 70, WIDTH = 860, ROW = 34, BAR = 20, RIGHT = 210, COLOURS = 8 };

/* What a kind of process takes; FIFOs are one more kind. */
typedef struct Kind {
    Str name;
    int64_t cost[REPORT_RESOURCES];
} Kind;

typedef struct Kinds {
    Kind items[MOST_KINDS];
    size_t count;
} Kinds;

/* The last kind takes all that there is no room for. */
static Kind *find_kind(Kinds *kinds, Str name)
{
    for (size_t i = 0; i < kinds->count; i++)
        if (str_eq(kinds->items[i].name, name)) return &kinds->items[i];
    if (kinds->count == MOST_KINDS) return &kinds->items[MOST_KINDS - 1];
    kinds->items[kinds->count] = (Kind){.name = name};
    return &kinds->items[kinds->count++];
}

/* Of what a process takes, FIFOs that it writes are a kind of their own. */
static void sum_kinds(const ReportModel *m, Kinds *kinds)
{
    for (size_t i = 0; i < m->processes.len; i++) {
        const ReportProcess *p = &m->processes.data[i];
        Kind *kind = find_kind(kinds, p->kind.len > 0 ? p->kind : STR("other"));
        for (int r = 0; r < REPORT_RESOURCES; r++) kind->cost[r] += i64_max(p->cost[r], 0);
    }
    for (size_t i = 0; i < m->fifos.len; i++) {
        const json_t *json = json_array_get(json_object_get(m->json, "fifos"), i);
        Str writer = report_text(json, "writer");
        for (size_t p = 0; p < m->processes.len; p++) {
            const ReportProcess *process = &m->processes.data[p];
            if (!str_eq(process->name, writer)) continue;
            Kind *from = find_kind(kinds, process->kind.len > 0 ? process->kind : STR("other"));
            Kind *to = find_kind(kinds, STR("FIFOs"));
            for (int r = 0; r < REPORT_RESOURCES; r++) {
                int64_t part = i64_max(m->fifos.data[i].cost[r], 0);
                from->cost[r] -= part;
                to->cost[r] += part;
            }
            break;
        }
    }
}

static int64_t device_total(const ReportModel *m, int resource)
{
    const Device *device = m->options->device;
    if (!device) return -1;
    const int64_t all[REPORT_RESOURCES] = {device->total.dsp, device->total.bram18,
                                           device->total.uram, device->total.lut, device->total.ff};
    return all[resource];
}

/* What a bar's full width stands for. */
static int64_t whole_of(const ReportModel *m, int resource)
{
    int64_t whole = device_total(m, resource);
    if (whole < 0) whole = report_number(m->json, report_resources[resource].limit_key);
    return i64_max(whole, m->total[resource]);
}

static void add_limit(const ReportModel *m, int resource, int y, StrBuf *out)
{
    int64_t limit = report_number(m->json, report_resources[resource].limit_key),
            whole = whole_of(m, resource);
    if (limit <= 0 || limit > whole) return;
    double x = LEFT + (double)WIDTH * (double)limit / (double)whole;
    strbuf_printf(out,
                  "<path class=\"limit\" d=\"M%.1f %dv%d\"><title>the most that the search "
                  "was to use: %lld</title></path>\n",
                  x, y - 3, BAR + 6, (long long)limit);
}

static void add_row(const ReportModel *m, const Kinds *kinds, int resource, StrBuf *out)
{
    int y = resource * ROW + 6;
    int64_t whole = whole_of(m, resource), used = m->total[resource];
    double x = LEFT;
    strbuf_printf(out,
                  "<text class=\"r b\" x=\"%d\" y=\"%d\">%s</text><rect class=\"track\" x=\"%d\" "
                  "y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
                  LEFT - 8, y + 14, report_resources[resource].title, LEFT, y, WIDTH, BAR);
    for (size_t i = 0; whole > 0 && i < kinds->count; i++) {
        int64_t part = kinds->items[i].cost[resource];
        double width = (double)WIDTH * (double)part / (double)whole;
        if (part <= 0) continue;
        strbuf_printf(out,
                      "<rect class=\"k%zu\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\">"
                      "<title>",
                      i % COLOURS, x, y, width, BAR);
        html_add_text(out, kinds->items[i].name);
        strbuf_printf(out, ": %lld %s</title></rect>\n", (long long)part,
                      report_resources[resource].title);
        x += width;
    }
    add_limit(m, resource, y, out);
    strbuf_printf(out, "<text x=\"%d\" y=\"%d\">", LEFT + WIDTH + 10, y + 14);
    html_add_count(out, used);
    if (device_total(m, resource) >= 0) {
        strbuf_add_c(out, " of ");
        html_add_count(out, device_total(m, resource));
        strbuf_add_c(out, " (");
        html_add_percent(out, used, device_total(m, resource));
        strbuf_add_c(out, device_total(m, resource) > 0 ? ")" : "none)");
    }
    strbuf_add_c(out, "</text>\n");
}

static void add_chart(const ReportModel *m, const Kinds *kinds, StrBuf *out)
{
    int width = LEFT + WIDTH + RIGHT, height = REPORT_RESOURCES * ROW + 6;
    strbuf_add_c(out, "<ul class=\"keys\">");
    for (size_t i = 0; i < kinds->count; i++) {
        strbuf_printf(out, "<li><svg><rect width=\"12\" height=\"12\" class=\"k%zu\"/></svg>",
                      i % COLOURS);
        html_add_text(out, kinds->items[i].name);
        strbuf_add_c(out, "</li>");
    }
    strbuf_printf(out,
                  "</ul>\n<div class=\"scroll\"><svg xmlns=\"http://www.w3.org/2000/svg\" "
                  "width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" "
                  "aria-label=\"resources by kind\">\n",
                  width, height, width, height);
    for (int r = 0; r < REPORT_RESOURCES; r++) add_row(m, kinds, r, out);
    strbuf_add_c(out, "</svg></div>\n");
}

static void add_table_row(const ReportModel *m, const char *title, const int64_t *cost, StrBuf *out)
{
    strbuf_printf(out, "<tr><th>%s</th>", title);
    for (int r = 0; r < REPORT_RESOURCES; r++) html_add_cell(out, cost[r]);
    strbuf_add_c(out, "</tr>\n");
    (void)m;
}

static void add_table(const ReportModel *m, const Kinds *kinds, StrBuf *out)
{
    int64_t limits[REPORT_RESOURCES], totals[REPORT_RESOURCES];
    strbuf_add_c(out, "<table id=\"kinds\"><thead><tr><th>kind</th>");
    for (int r = 0; r < REPORT_RESOURCES; r++) {
        strbuf_printf(out, "<th class=\"n\">%s</th>", report_resources[r].title);
        limits[r] = report_number(m->json, report_resources[r].limit_key);
        totals[r] = device_total(m, r);
    }
    strbuf_add_c(out, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < kinds->count; i++) {
        strbuf_add_c(out, "<tr><td>");
        html_add_text(out, kinds->items[i].name);
        strbuf_add_c(out, "</td>");
        for (int r = 0; r < REPORT_RESOURCES; r++) html_add_cell(out, kinds->items[i].cost[r]);
        strbuf_add_c(out, "</tr>\n");
    }
    add_table_row(m, "all", m->total, out);
    add_table_row(m, "budget", limits, out);
    if (m->options->device) add_table_row(m, "device", totals, out);
    strbuf_add_c(out, "</tbody></table>\n");
}

/* "183,195 of 210,000" of each resource: what is used, and the most that may be. */
static void add_die(const json_t *die, StrBuf *out)
{
    strbuf_add_c(out, "<tr><td>");
    html_add_name(out, report_text(die, "name"));
    strbuf_add_c(out, "</td>");
    for (int r = 0; r < REPORT_RESOURCES; r++) {
        int64_t use = report_number(json_object_get(die, "use"), report_resources[r].key),
                limit = report_number(json_object_get(die, "limit"), report_resources[r].key);
        strbuf_add_c(out, "<td class=\"n\">");
        html_add_count(out, use);
        strbuf_add_c(out, " of ");
        html_add_count(out, limit);
        strbuf_add_c(out, "</td>");
    }
    strbuf_add_c(out, "</tr>\n");
}

static Str die_name(const json_t *dies, int64_t number)
{
    return number < 0 ? STR("") : report_text(json_array_get(dies, (size_t)number), "name");
}

static void add_links(const json_t *dies, const json_t *links, StrBuf *out)
{
    size_t index;
    json_t *link;
    strbuf_add_c(out, "<table><thead><tr><th>from</th><th>to</th><th class=\"n\">wires</th>"
                      "<th class=\"n\">there are</th></tr></thead><tbody>\n");
    json_array_foreach(links, index, link)
    {
        strbuf_add_c(out, "<tr><td>");
        html_add_name(out, die_name(dies, report_number(link, "from")));
        strbuf_add_c(out, "</td><td>");
        html_add_name(out, die_name(dies, report_number(link, "to")));
        strbuf_add_c(out, "</td>");
        html_add_cell(out, report_number(link, "wires"));
        html_add_cell(out, report_number(link, "capacity"));
        strbuf_add_c(out, "</tr>\n");
    }
    strbuf_add_c(out, "</tbody></table>\n");
}

/* Of a design that is placed on several dies. */
static void add_dies(const ReportModel *m, StrBuf *out)
{
    const json_t *dies = json_object_get(m->json, "dies");
    size_t index;
    json_t *die;
    if (json_array_size(dies) == 0) return;
    strbuf_add_c(out, "<h3>Dies</h3>\n<p>What is placed on each, of the most that may be.</p>\n"
                      "<div class=\"scroll\"><table id=\"dies\"><thead><tr><th>die</th>");
    for (int r = 0; r < REPORT_RESOURCES; r++)
        strbuf_printf(out, "<th class=\"n\">%s</th>", report_resources[r].title);
    strbuf_add_c(out, "</tr></thead><tbody>\n");
    json_array_foreach(dies, index, die) add_die(die, out);
    strbuf_add_c(out, "</tbody></table></div>\n");
    add_links(dies, json_object_get(m->json, "die_links"), out);
}

void report_add_resources(const ReportModel *m, StrBuf *out)
{
    Kinds kinds = {.count = 0};
    sum_kinds(m, &kinds);
    html_begin_section(out, "resources", "Resources");
    strbuf_add_c(out, "<p>Predicted by ming's cost model, not counted by synthesis. The full width "
                      "is the device");
    if (!m->options->device) strbuf_add_c(out, "'s budget, as its description is not at hand");
    strbuf_add_c(out, "; the upright line is the most that the search was to use.</p>\n");
    add_chart(m, &kinds, out);
    add_table(m, &kinds, out);
    add_dies(m, out);
    html_end_section(out);
}
