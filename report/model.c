/* The figures of report.json, by layer, and where they are in the design. Processes of report.json
 * are those of the module in its order, FIFOs the streams of the top function in its order.
 * Tests: lit/tools/ming-report-html.mir */
#include <stdlib.h>
#include <string.h>

#include "dialects/emithls/emithls.h"
#include "report/internal.h"

const ReportResourceName report_resources[REPORT_RESOURCES] = {
    {"DSP", "dsp", "dsp_limit"},    {"BRAM18", "bram18", "bram18_limit"},
    {"URAM", "uram", "uram_limit"}, {"LUT", "lut", "lut_limit"},
    {"FF", "ff", "ff_limit"},
};

int64_t report_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value)
                                                                    : -1;
}

Str report_text(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_string(value) ? (Str){json_string_value(value), json_string_length(value)}
                                 : STR("");
}

static void read_cost(const json_t *object, int64_t *cost)
{
    for (int r = 0; r < REPORT_RESOURCES; r++)
        cost[r] = report_number(object, report_resources[r].key);
}

static void add_cost(int64_t *sum, const int64_t *cost)
{
    for (int r = 0; r < REPORT_RESOURCES; r++) sum[r] = i64_sum(sum[r], i64_max(cost[r], 0));
}

static uint32_t find_layer(ReportModel *m, Str name)
{
    for (size_t i = 0; i < m->layers.len; i++)
        if (str_eq(m->layers.data[i].name, name)) return (uint32_t)i;
    *vec_push(&m->layers) = (ReportLayer){.name = name};
    return (uint32_t)m->layers.len - 1;
}

static void read_process(ReportModel *m, const json_t *json)
{
    ReportProcess p = {.name = report_text(json, "name"),
                       .kind = report_text(json, "class"),
                       .json = json,
                       .cycles = report_number(json, "cycles"),
                       .simulated = HLS_NOBODY};
    Str source = report_text(json, "source");
    uint32_t number = (uint32_t)m->processes.len;
    read_cost(json, p.cost);
    p.layer = find_layer(m, source.len > 0 ? source : p.name);
    ReportLayer *layer = &m->layers.data[p.layer];
    if (layer->processes.len == 0 || p.cycles > m->processes.data[layer->slowest].cycles)
        layer->slowest = number;
    *vec_push(&layer->processes) = number;
    add_cost(layer->cost, p.cost);
    add_cost(m->total, p.cost);
    m->slowest = i64_max(m->slowest, p.cycles);
    *vec_push(&m->processes) = p;
}

static void read_fifo(ReportModel *m, const json_t *json)
{
    ReportFifo f = {.name = report_text(json, "name"),
                    .kind = report_text(json, "kind"),
                    .width = report_number(json, "width"),
                    .depth = report_number(json, "depth"),
                    .most = -1,
                    .writer = HLS_NOBODY,
                    .reader = HLS_NOBODY};
    read_cost(json, f.cost);
    *vec_push(&m->fifos) = f;
}

static bool is_process(const Op *op)
{
    return op->def == EMITHLS(FUNC) && !op_attr(op, EMITHLS_ATTR_TOP);
}

/* Number of an op among those of its block for which `is_one` holds. */
static uint32_t position_of(const Op *op, const Block *block, bool (*is_one)(const Op *))
{
    uint32_t position = 0;
    FOR_EACH_OP(other, block) {
        if (other == op) return position;
        position += is_one(other);
    }
    return HLS_NOBODY;
}

static bool is_stream(const Op *op)
{
    return op->def == EMITHLS(STREAM);
}

static uint32_t add_port(ReportModel *m, Str name, bool is_input)
{
    *vec_push(&m->ports) = (ReportPort){name, is_input};
    return (uint32_t)(m->layers.len + m->ports.len) - 1;
}

/* Finds the processes of the design among those of report.json, and ports at streams. */
static void match_processes(ReportModel *m)
{
    const HlsDesign *design = m->options->design;
    const Block *module = design->top->block;
    m->layer_of = xcalloc(design->processes.len, sizeof *m->layer_of);
    for (uint32_t i = 0; i < design->processes.len; i++) {
        const HlsProcess *p = &design->processes.data[i];
        m->layer_of[i] = HLS_NOBODY;
        if (!p->func) {
            m->layer_of[i] = add_port(m, p->name, p->is_source);
            continue;
        }
        uint32_t number = position_of(p->func, module, is_process);
        if (number >= m->processes.len) continue;
        m->processes.data[number].simulated = i;
        m->layer_of[i] = m->processes.data[number].layer;
    }
}

static void match_fifos(ReportModel *m)
{
    const HlsDesign *design = m->options->design;
    const Block *body = region_entry(op_region(design->top, 0));
    for (size_t i = design->port_count; i < design->streams.len; i++) {
        const HlsStream *s = &design->streams.data[i];
        uint32_t number = position_of(s->op, body, is_stream);
        if (number >= m->fifos.len) continue;
        ReportFifo *f = &m->fifos.data[number];
        if (s->writer != HLS_NOBODY) f->writer = m->layer_of[s->writer];
        if (s->reader != HLS_NOBODY) f->reader = m->layer_of[s->reader];
        f->is_inside = f->writer == f->reader;
        if (m->sim) f->most = hls_sim_fifo(m->sim, (uint32_t)i)->max_level;
    }
}

/* Whether the folder's files are of one design. */
static bool check_match(const ReportModel *m, StrBuf *why)
{
    const Op *top = m->options->design->top;
    uint32_t processes = 0, streams = 0;
    FOR_EACH_OP(op, top->block) processes += is_process(op);
    FOR_EACH_OP(op, region_entry(op_region(top, 0))) streams += is_stream(op);
    if (processes == m->processes.len && streams == m->fifos.len) return true;
    return strbuf_fail(why,
                       "report.json has %zu processes and %zu FIFOs, the design beside it %u and "
                       "%u; 'ming compile' writes both",
                       m->processes.len, m->fifos.len, processes, streams);
}

bool report_model_init(ReportModel *m, const ReportOptions *options, StrBuf *why)
{
    size_t index;
    json_t *item;
    *m = (ReportModel){.options = options, .json = options->json};
    json_array_foreach(json_object_get(m->json, "processes"), index, item) read_process(m, item);
    json_array_foreach(json_object_get(m->json, "fifos"), index, item) read_fifo(m, item);
    if (!check_match(m, why)) return false;
    match_processes(m);
    return true;
}

void report_model_free(ReportModel *m)
{
    for (size_t i = 0; i < m->layers.len; i++) vec_free(&m->layers.data[i].processes);
    vec_free(&m->processes);
    vec_free(&m->layers);
    vec_free(&m->fifos);
    vec_free(&m->ports);
    vec_free(&m->edges);
    free(m->layer_of);
    hls_sim_free(m->sim);
    json_decref(m->timing);
}

/* Adds a FIFO to the line between two nodes. */
static void add_edge(ReportModel *m, uint32_t from, uint32_t to, const ReportFifo *f)
{
    ReportEdge *e = NULL;
    if (from == HLS_NOBODY || to == HLS_NOBODY) return;
    for (size_t i = 0; i < m->edges.len && !e; i++)
        if (m->edges.data[i].from == from && m->edges.data[i].to == to) e = &m->edges.data[i];
    if (!e) {
        e = vec_push(&m->edges);
        *e = (ReportEdge){.from = from, .to = to, .most = -1};
    }
    if (!f) return;
    bool is_fuller = e->fifos == 0 || f->most * e->depth > e->most * f->depth;
    e->fifos++;
    e->width = i64_max(e->width, f->width);
    if (!is_fuller) return;
    e->depth = f->depth;
    e->most = f->most;
}

void report_find_edges(ReportModel *m)
{
    const HlsDesign *design = m->options->design;
    match_fifos(m);
    for (uint32_t i = 0; i < design->port_count; i++) {
        const HlsStream *s = &design->streams.data[i];
        if (s->writer != HLS_NOBODY && s->reader != HLS_NOBODY)
            add_edge(m, m->layer_of[s->writer], m->layer_of[s->reader], NULL);
    }
    for (size_t i = 0; i < design->memories.len; i++) {
        const HlsMemoryPort *port = &design->memories.data[i];
        const Attr *names = op_attr(design->top, EMITHLS_ATTR_ARG_NAMES);
        uint32_t node = add_port(m, names->u.array.items[port->arg]->u.string, port->is_input);
        uint32_t layer = m->layer_of[port->process];
        add_edge(m, port->is_input ? node : layer, port->is_input ? layer : node, NULL);
    }
    for (size_t i = 0; i < m->fifos.len; i++)
        if (!m->fifos.data[i].is_inside)
            add_edge(m, m->fifos.data[i].writer, m->fifos.data[i].reader, &m->fifos.data[i]);
}

uint32_t report_node_count(const ReportModel *m)
{
    return (uint32_t)(m->layers.len + m->ports.len);
}

Str report_node_name(const ReportModel *m, uint32_t node)
{
    return node < m->layers.len ? m->layers.data[node].name
                                : m->ports.data[node - m->layers.len].name;
}
