/* report.json, and the same as a short table for people. Everything in it was decided earlier and
 * is read from the module: `report` of each process, dfg.budget of the module.
 * Tests: lit/emit/report.mir, lit/driver/ming-compile.mir */
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "emit/internal.h"
#include "ir/core/core.h"
#include "ir/support/support.h"

/* A number, -1 if there is none: null in JSON. */
static int64_t number(const Attr *dict, const char *name)
{
    return attr_dict_int(dict, name, -1);
}

static Str text(const Attr *dict, const char *name)
{
    const Attr *value = attr_dict_get_c(dict, name);
    return value && value->kind == ATTR_STRING ? value->u.string : STR("");
}

static bool is_process(const Op *op)
{
    return op->def == EMITHLS(FUNC) && !op_attr(op, EMITHLS_ATTR_TOP);
}

/* Sum over all processes; those without the number count as 0. */
static int64_t total(const Op *module, const char *name)
{
    int64_t sum = 0;
    FOR_EACH_OP(op, region_entry(op_region(module, 0))) {
        int64_t value = is_process(op) ? number(op_attr(op, DFG_ATTR_REPORT), name) : 0;
        sum += value > 0 ? value : 0;
    }
    return sum;
}

/* The largest of all processes, 0 without any. */
static int64_t largest(const Op *module, const char *name)
{
    int64_t most = 0;
    FOR_EACH_OP(op, region_entry(op_region(module, 0))) {
        int64_t value = is_process(op) ? number(op_attr(op, DFG_ATTR_REPORT), name) : 0;
        most = value > most ? value : most;
    }
    return most;
}

/* The clock that the timing was simulated for, or the budget's; -1: none. */
static int64_t clock_mhz(const Emitter *e)
{
    int64_t simulated = number(op_attr(e->top, EMITHLS_ATTR_TIMING), EMITHLS_TIMING_CLOCK_MHZ);
    return simulated > 0 ? simulated
                         : number(op_attr(e->module, DFG_ATTR_BUDGET), DFG_BUDGET_CLOCK_MHZ);
}

static void add_number(StrBuf *out, int64_t value)
{
    if (value < 0)
        strbuf_add_c(out, "null");
    else
        strbuf_add_int(out, value);
}

static void add_key(StrBuf *out, const char *name)
{
    strbuf_printf(out, "\"%s\": ", name);
}

static void add_string(StrBuf *out, const char *name, Str value)
{
    add_key(out, name);
    json_add_string(out, value);
}

static void add_list(StrBuf *out, const char *name, const Attr *list)
{
    add_key(out, name);
    strbuf_add_char(out, '[');
    for (size_t i = 0; list && list->kind == ATTR_DENSE_ARRAY && i < list->u.dense_array.count; i++)
        strbuf_printf(out, "%s%lld", i ? ", " : "", (long long)dense_array_i64(list, i));
    strbuf_add_char(out, ']');
}

static void add_count(StrBuf *out, const char *name, int64_t value)
{
    add_key(out, name);
    add_number(out, value);
}

static void begin_item(StrBuf *out, bool *first)
{
    strbuf_add_c(out, *first ? "\n    {" : ",\n    {");
    *first = false;
}

/* value: NULL if there is none. */
static void add_text_or_null(StrBuf *out, const char *name, const Attr *value)
{
    add_key(out, name);
    if (value && value->kind == ATTR_STRING)
        json_add_string(out, value->u.string);
    else
        strbuf_add_c(out, "null");
}

static void add_separator(StrBuf *out)
{
    strbuf_add_c(out, ", ");
}

/* Frames a second, to three decimals. */
static void add_fps(StrBuf *out, int64_t clock_mhz, int64_t interval)
{
    add_key(out, "fps");
    if (clock_mhz <= 0 || interval <= 0) {
        strbuf_add_c(out, "null");
        return;
    }
    int64_t hertz = clock_mhz * 1000000, rest = hertz % interval;
    strbuf_printf(out, "%lld.%03lld", (long long)(hertz / interval),
                  (long long)(rest * 1000 / interval));
}

/* Latency and interval as simulated; where nobody simulated, the sum and the largest of the
 * processes' cycles. */
static void add_totals(Emitter *e, StrBuf *out)
{
    static const char *const resources[] = {DFG_COST_DSP, DFG_COST_BRAM18, DFG_COST_URAM,
                                            DFG_COST_LUT, DFG_COST_FF};
    const Attr *timing = op_attr(e->top, EMITHLS_ATTR_TIMING);
    int64_t cycles = total(e->module, DFG_COST_CYCLES),
            slowest = largest(e->module, DFG_COST_CYCLES);
    int64_t interval = timing ? number(timing, EMITHLS_TIMING_INTERVAL) : slowest;
    strbuf_add_c(out, "  \"totals\": {");
    add_count(out, "latency_cycles", timing ? number(timing, EMITHLS_TIMING_LATENCY) : cycles);
    add_separator(out);
    add_count(out, "interval_cycles", interval);
    add_separator(out);
    add_fps(out, clock_mhz(e), interval);
    for (size_t i = 0; i < COUNT_OF(resources); i++) {
        add_separator(out);
        add_count(out, resources[i], total(e->module, resources[i]));
    }
    strbuf_add_c(out, "},\n  ");
    add_string(out, "timing", timing ? STR("simulated") : STR("predicted"));
    strbuf_add_c(out, ",\n  \"predicted\": {");
    add_count(out, "sum_cycles", cycles);
    add_separator(out);
    add_count(out, "interval_cycles", slowest);
    strbuf_add_c(out, "},\n");
}

/* What a simulation of the final depths proved. */
static void add_timing(Emitter *e, StrBuf *out)
{
    static const char *const names[] = {EMITHLS_TIMING_CLOCK_MHZ, EMITHLS_TIMING_LATENCY,
                                        EMITHLS_TIMING_INTERVAL, EMITHLS_TIMING_FIFO_BITS};
    const Attr *timing = op_attr(e->top, EMITHLS_ATTR_TIMING);
    strbuf_add_c(out, "  \"simulated\": ");
    if (timing)
        strbuf_printf(out, "{\"deadlock_free\": %s",
                      attr_dict_get_c(timing, EMITHLS_TIMING_DEADLOCK_FREE) ? "true" : "false");
    for (size_t i = 0; timing && i < COUNT_OF(names); i++) {
        add_separator(out);
        add_count(out, names[i], number(timing, names[i]));
    }
    strbuf_add_c(out, timing ? "},\n" : "null,\n");
}

/* A process works `cycles` for a frame and can begin the next one then. */
static void add_costs(StrBuf *out, const Attr *report)
{
    static const char *const costs[] = {DFG_COST_CYCLES, DFG_COST_DSP, DFG_COST_BRAM18,
                                        DFG_COST_URAM,   DFG_COST_LUT, DFG_COST_FF};
    add_count(out, "interval_cycles", number(report, DFG_COST_CYCLES));
    for (size_t i = 0; i < COUNT_OF(costs); i++) {
        add_separator(out);
        add_count(out, costs[i], number(report, costs[i]));
    }
    if (number(report, DFG_REPORT_BUFFER) >= 0) {
        add_separator(out);
        add_count(out, "buffer_words", number(report, DFG_REPORT_BUFFER));
    }
}

static void add_processes(Emitter *e, StrBuf *out)
{
    bool first = true;
    strbuf_add_c(out, "  \"processes\": [");
    FOR_EACH_OP(op, region_entry(op_region(e->module, 0))) {
        const Attr *report = op_attr(op, DFG_ATTR_REPORT);
        if (!is_process(op)) continue;
        begin_item(out, &first);
        add_string(out, "name", str_from(cpp_global(e, symbol_name(op))));
        add_separator(out);
        add_string(out, "source", text(report, DFG_REPORT_SOURCE));
        add_separator(out);
        add_string(out, "class", text(report, DFG_REPORT_CLASS));
        strbuf_add_c(out, ",\n     ");
        add_list(out, "trip_counts", attr_dict_get_c(report, DFG_REPORT_TRIP_COUNTS));
        add_separator(out);
        add_list(out, "unroll", attr_dict_get_c(report, DFG_REPORT_UNROLL));
        strbuf_add_c(out, ",\n     ");
        add_costs(out, report);
        strbuf_add_char(out, '}');
    }
    strbuf_add_c(out, "\n  ],\n");
}

static void add_fifos(Emitter *e, StrBuf *out)
{
    bool first = true;
    strbuf_add_c(out, "  \"fifos\": [");
    FOR_EACH_OP(op, region_entry(op_region(e->top, 0))) {
        if (op->def != EMITHLS(STREAM)) continue;
        const Type *word = emithls_stream_word(op_result(op, 0)->type);
        begin_item(out, &first);
        add_string(out, "name", str_from(ptrmap_get(&e->fifos, op)));
        add_separator(out);
        add_count(out, "width", emithls_lanes(word) * type_width(emithls_scalar(word)));
        add_separator(out);
        add_count(out, "depth", attr_int_value(op_attr(op, DFG_ATTR_DEPTH)));
        add_separator(out);
        add_text_or_null(out, "kind", op_attr(op, EMITHLS_ATTR_IMPL));
        strbuf_add_char(out, '}');
    }
    strbuf_add_c(out, "\n  ],\n");
}

/* Of the arrays that the testbench takes and gives. */
static void add_dtype(StrBuf *out, const EmitPort *port)
{
    const Type *elem = emithls_scalar(port->word);
    StrBuf name = {0};
    if (port->quant)
        strbuf_add_c(&name, "float");
    else
        type_print(&name, elem);
    add_string(out, "dtype", strbuf_str(&name));
    strbuf_free(&name);
}

static void add_ports(Emitter *e, StrBuf *out)
{
    bool first = true;
    strbuf_add_c(out, "  \"ports\": [");
    for (size_t i = 0; i < e->ports.len; i++) {
        const EmitPort *port = &e->ports.data[i];
        begin_item(out, &first);
        add_string(out, "name", port->tensor);
        add_separator(out);
        add_string(out, "direction", port->is_input ? STR("in") : STR("out"));
        add_separator(out);
        add_string(out, "interface", port->bus ? STR("m_axi") : STR("axis"));
        if (port->is_weights) strbuf_add_c(out, ", \"weights\": true");
        strbuf_add_c(out, ", \"shape\": [");
        emit_extents(out, port->shape, port->rank, ", ");
        strbuf_add_c(out, "], ");
        add_dtype(out, port);
        strbuf_add_char(out, '}');
    }
    strbuf_add_c(out, "\n  ]\n");
}

/* What the design was chosen by: limits of the budget, goal, and what no design is below. */
static void add_choice(Emitter *e, StrBuf *out)
{
    static const char *const limits[] = {DFG_COST_DSP, DFG_COST_BRAM18, DFG_COST_URAM, DFG_COST_LUT,
                                         DFG_COST_FF};
    const Attr *budget = op_attr(e->module, DFG_ATTR_BUDGET);
    add_text_or_null(out, "device", attr_dict_get_c(budget, DFG_BUDGET_DEVICE));
    strbuf_add_c(out, ",\n  ");
    add_count(out, "clock_mhz", clock_mhz(e));
    strbuf_add_c(out, ",\n  ");
    add_text_or_null(out, "objective", attr_dict_get_c(budget, DFG_BUDGET_OBJECTIVE));
    strbuf_add_c(out, ",\n  ");
    add_count(out, "value", number(budget, DFG_BUDGET_VALUE));
    strbuf_add_c(out, ",\n  ");
    add_count(out, "bound", number(budget, DFG_BUDGET_BOUND));
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        strbuf_printf(out, ",\n  \"%s_limit\": ", limits[i]);
        add_number(out, number(budget, limits[i]));
    }
    strbuf_add_c(out, ",\n");
}

void emit_report(Emitter *e, StrBuf *out)
{
    strbuf_add_c(out, REPORT_START);
    json_add_string(out, str_from(e->top_name));
    strbuf_add_c(out, ",\n  ");
    add_choice(e, out);
    add_totals(e, out);
    add_timing(e, out);
    add_processes(e, out);
    add_fifos(e, out);
    add_ports(e, out);
    strbuf_add_c(out, "}\n");
}

enum { COLUMNS = 10, FIRST_NUMBER = 4 };

/* Of the columns behind FIRST_NUMBER. */
static const char *const table_costs[] = {DFG_COST_CYCLES, DFG_COST_DSP, DFG_COST_BRAM18,
                                          DFG_COST_URAM,   DFG_COST_LUT, DFG_COST_FF};

static void add_product(StrBuf *out, const Attr *list)
{
    for (size_t i = 0; list && list->kind == ATTR_DENSE_ARRAY && i < list->u.dense_array.count; i++)
        strbuf_printf(out, "%s%lld", i ? "x" : "", (long long)dense_array_i64(list, i));
}

static void add_titles(TextTable *table)
{
    static const char *const titles[COLUMNS] = {"process", "class", "trip counts", "unroll",
                                                "cycles",  "DSP",   "BRAM18",      "URAM",
                                                "LUT",     "FF"};
    for (int i = 0; i < COLUMNS; i++) text_table_add(table, titles[i]);
}

static void add_process_row(TextTable *table, const Op *op)
{
    const Attr *report = op_attr(op, DFG_ATTR_REPORT);
    emit_comment_text(text_table_cell(table), symbol_name(op)->str);
    emit_comment_text(text_table_cell(table), text(report, DFG_REPORT_CLASS));
    add_product(text_table_cell(table), attr_dict_get_c(report, DFG_REPORT_TRIP_COUNTS));
    add_product(text_table_cell(table), attr_dict_get_c(report, DFG_REPORT_UNROLL));
    for (size_t i = 0; i < COUNT_OF(table_costs); i++)
        text_table_add_count(table, number(report, table_costs[i]));
}

static void add_total_row(TextTable *table, const Op *module)
{
    text_table_add(table, "total");
    for (int i = 1; i < FIRST_NUMBER; i++) text_table_add(table, "");
    for (size_t i = 0; i < COUNT_OF(table_costs); i++)
        text_table_add_int(table, total(module, table_costs[i]));
}

void emit_report_table(Op *module, StrBuf *out)
{
    TextTable table = {.columns = COLUMNS, .first_number = FIRST_NUMBER};
    add_titles(&table);
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
        if (is_process(op)) add_process_row(&table, op);
    add_total_row(&table, module);
    text_table_print(&table, out);
    text_table_free(&table);
}
