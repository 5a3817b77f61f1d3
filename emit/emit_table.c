/* The report as a table for people: a row per layer of the network, or per process.
 * Tests: lit/driver/ming-compile-table.mir, lit/driver/ming-compile.mir */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "emit/internal.h"
#include "ir/core/core.h"
#include "ir/support/support.h"

/* The numbers of a row. */
static const char *const costs[] = {DFG_COST_CYCLES, DFG_COST_DSP, DFG_COST_BRAM18,
                                    DFG_COST_URAM,   DFG_COST_LUT, DFG_COST_FF};
enum { COSTS = COUNT_OF(costs), CYCLES = 0, DSP = 1 };

/* A process, or those of a layer. A number that is not known is -1. */
typedef struct Row {
    Str name;
    const Op *process; /* whose class, trip counts and factors are shown */
    int64_t costs[COSTS];
} Row;
typedef VEC(Row) Rows;

static const Attr *report_of(const Op *process)
{
    return op_attr(process, DFG_ATTR_REPORT);
}

static Str text_of(const Op *process, const char *name)
{
    const Attr *value = attr_dict_get_c(report_of(process), name);
    return value && value->kind == ATTR_STRING ? value->u.string : STR("");
}

static bool has_class(const Op *process, const char *const *classes)
{
    Str class = text_of(process, DFG_REPORT_CLASS);
    for (; *classes; classes++)
        if (str_eq_c(class, *classes)) return true;
    return false;
}

/* Whether the process only moves what a kernel reads or writes. */
static bool is_helper(const Op *process)
{
    static const char *const classes[] = {"window", "converter", "fork", "drain", NULL};
    return has_class(process, classes);
}

/* Whether it belongs to the kernel in front of it; other helpers belong to the one behind. */
static bool is_behind_kernel(const Op *process)
{
    static const char *const classes[] = {"fork", "drain", NULL};
    return has_class(process, classes);
}

static Row row_of(const Op *process)
{
    Row row = {.name = symbol_name(process)->str, .process = process};
    for (size_t i = 0; i < COSTS; i++)
        row.costs[i] = attr_dict_int(report_of(process), costs[i], -1);
    return row;
}

static void find_processes(const Op *module, Rows *out)
{
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
        if (op->def == EMITHLS(FUNC) && !op_attr(op, EMITHLS_ATTR_TOP)) *vec_push(out) = row_of(op);
}

/* Processes that are connected by streams: of each the first that reads from it and the first that
 * writes to it. Their calls are in the order of the data. */
typedef struct Chain {
    PtrMap next, previous; /* from process to process */
} Chain;

static void find_chain(const Op *top, Chain *out)
{
    PtrMap writers = {0}; /* of streams */
    *out = (Chain){0};
    FOR_EACH_OP(op, region_entry(op_region(top, 0))) {
        if (op->def != EMITHLS(CALL)) continue;
        Op *process = symbol_lookup(op, op_attr(op, "callee"));
        for (uint32_t i = 0; i < op->operand_count; i++) {
            Op *writer = ptrmap_get(&writers, op_operand(op, i));
            if (!writer) ptrmap_put(&writers, op_operand(op, i), process);
            if (writer && !ptrmap_has(&out->next, writer)) ptrmap_put(&out->next, writer, process);
            if (writer && !ptrmap_has(&out->previous, process))
                ptrmap_put(&out->previous, process, writer);
        }
    }
    ptrmap_free(&writers);
}

/* The kernel that a helper serves, or the last helper before it where there is none. */
static const Op *served_kernel(const Chain *chain, const Op *helper)
{
    const Op *at = helper, *next = helper;
    while (next && is_helper(next) && !is_behind_kernel(next)) {
        at = next;
        next = ptrmap_get(&chain->next, at);
    }
    if (next && !is_helper(next)) return next;
    for (next = next ? next : helper; next && is_helper(next);) {
        at = next;
        next = ptrmap_get(&chain->previous, at);
    }
    return next ? next : at;
}

/* The layer as the model calls it; without a name, as its kernel is called. */
static Str layer_of(const Chain *chain, const Op *process)
{
    const Op *kernel = is_helper(process) ? served_kernel(chain, process) : process;
    Str own = text_of(process, DFG_REPORT_SOURCE), source = text_of(kernel, DFG_REPORT_SOURCE);
    if (own.len > 0) return own;
    return source.len > 0 ? source : symbol_name(kernel)->str;
}

/* Whether `other` says more about their layer: a kernel more than a helper, the slower kernel
 * more. */
static bool says_more(const Row *other, int64_t cycles, const Op *process)
{
    if (is_helper(other->process) != is_helper(process)) return is_helper(process);
    return other->costs[CYCLES] > cycles;
}

/* Neighbours of one layer become one row, with the longest cycles and the sums of resources. */
static void fold_layers(const Rows *processes, const Op *top, Rows *out)
{
    Chain chain;
    int64_t kernel_cycles = 0; /* of the process that the last row shows */
    find_chain(top, &chain);
    for (size_t i = 0; i < processes->len; i++) {
        Row row = processes->data[i];
        row.name = layer_of(&chain, row.process);
        Row *last = out->len > 0 ? &out->data[out->len - 1] : NULL;
        bool shows =
            !last || !str_eq(last->name, row.name) || says_more(&row, kernel_cycles, last->process);
        if (shows) kernel_cycles = row.costs[CYCLES];
        if (!last || !str_eq(last->name, row.name)) {
            *vec_push(out) = row;
            continue;
        }
        if (shows) last->process = row.process;
        for (size_t k = 0; k < COSTS; k++) {
            int64_t both = last->costs[k] + (row.costs[k] > 0 ? row.costs[k] : 0);
            int64_t longer = row.costs[k] > last->costs[k] ? row.costs[k] : last->costs[k];
            last->costs[k] = k == CYCLES || last->costs[k] < 0 ? longer : both;
        }
    }
    ptrmap_free(&chain.next);
    ptrmap_free(&chain.previous);
}

/* An item per loop; loops of one iteration only if they are wanted. */
static void add_product(const Op *process, const char *name, bool wants_ones, StrBuf *out)
{
    const Attr *trips = attr_dict_get_c(report_of(process), DFG_REPORT_TRIP_COUNTS);
    const Attr *list = attr_dict_get_c(report_of(process), name);
    bool is_list = attr_is_int_array(trips) && attr_is_int_array(list) &&
                   trips->u.dense_array.count == list->u.dense_array.count;
    size_t begin = out->len, count = is_list ? list->u.dense_array.count : 0;
    for (size_t i = 0; i < count; i++)
        if (wants_ones || dense_array_i64(trips, i) != 1)
            strbuf_printf(out, "%s%lld", out->len > begin ? "x" : "",
                          (long long)dense_array_i64(list, i));
    if (count > 0 && out->len == begin) strbuf_add_char(out, '1');
}

/* The columns that a table has. */
typedef struct Layout {
    bool has_class, has_ones;
    const char *first; /* the title of the first column */
} Layout;

static void add_row(TextTable *table, const Row *row, const Layout *layout)
{
    emit_comment_text(text_table_cell(table), row->name);
    if (layout->has_class)
        emit_comment_text(text_table_cell(table), text_of(row->process, DFG_REPORT_CLASS));
    add_product(row->process, DFG_REPORT_TRIP_COUNTS, layout->has_ones, text_table_cell(table));
    add_product(row->process, DFG_REPORT_UNROLL, layout->has_ones, text_table_cell(table));
    for (size_t i = 0; i < COSTS; i++) text_table_add_count(table, row->costs[i]);
}

static void add_titles(TextTable *table, const Layout *layout)
{
    static const char *const titles[] = {"trip counts", "unroll", "cycles", "DSP",
                                         "BRAM18",      "URAM",   "LUT",    "FF"};
    text_table_add(table, layout->first);
    if (layout->has_class) text_table_add(table, "class");
    for (size_t i = 0; i < COUNT_OF(titles); i++) text_table_add(table, titles[i]);
}

/* Processes overlap: a sum of their cycles would read as the latency. */
static void add_total(TextTable *table, const Rows *rows)
{
    text_table_add(table, "total");
    for (size_t i = 1; i <= table->first_number; i++) text_table_add(table, "");
    for (size_t k = DSP; k < COSTS; k++) {
        int64_t sum = 0;
        for (size_t i = 0; i < rows->len; i++)
            sum += rows->data[i].costs[k] > 0 ? rows->data[i].costs[k] : 0;
        text_table_add_int(table, sum);
    }
}

static TextTable make_table(const Rows *rows, const Layout *layout)
{
    size_t words = layout->has_class ? 4 : 3;
    TextTable table = {.columns = words + COSTS, .first_number = words};
    add_titles(&table, layout);
    for (size_t i = 0; i < rows->len; i++) add_row(&table, &rows->data[i], layout);
    add_total(&table, rows);
    return table;
}

/* Makes room in the order of what is missed least: names, the class, loops. */
static TextTable make_narrow_table(const Rows *rows, Layout layout)
{
    enum { LEAST_NAME = 20, LEAST_LOOPS = 11, MOST = TEXT_TABLE_WIDTH };
    TextTable table = make_table(rows, &layout);
    text_table_narrow(&table, 0, LEAST_NAME, MOST);
    if (text_table_width(&table) <= MOST) return table;
    text_table_free(&table);
    layout.has_class = false;
    table = make_table(rows, &layout);
    text_table_narrow(&table, 0, LEAST_NAME, MOST);
    text_table_narrow(&table, 1, LEAST_LOOPS, MOST);
    text_table_narrow(&table, 2, LEAST_LOOPS, MOST);
    text_table_narrow(&table, 0, strlen("process"), MOST);
    return table;
}

void emit_report_table(const Op *module, const EmitTable *options, StrBuf *out)
{
    Rows processes = {0}, layers = {0};
    find_processes(module, &processes);
    if (!options->shows_processes) fold_layers(&processes, emithls_top(module), &layers);
    const Rows *rows = options->shows_processes ? &processes : &layers;
    const Layout layout = {.has_class = true,
                           .has_ones = options->is_wide,
                           .first = options->shows_processes ? "process" : "layer"};
    TextTable table =
        options->is_wide ? make_table(rows, &layout) : make_narrow_table(rows, layout);
    text_table_print(&table, out);
    text_table_free(&table);
    vec_free(&processes);
    vec_free(&layers);
}
