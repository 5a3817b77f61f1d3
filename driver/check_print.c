/* The report of ming check as a table for people: a row per layer, and below a layer that does not
 * compile why, and what would help.
 * Tests: lit/driver/ming-check.test */
#include "dialects/onnx/onnx.h"
#include "driver/internal.h"
#include "ir/support/support.h"

enum { COLUMNS = 8, FIRST_NUMBER = 3 };

static void add_costs(TextTable *table, const CheckLayer *layer)
{
    text_table_add_count(table, layer->parameters);
    text_table_add_count(table, layer->macs);
    driver_check_widths_print(&layer->weights, text_table_cell(table));
    driver_check_widths_print(&layer->input, text_table_cell(table));
    driver_check_widths_print(&layer->output, text_table_cell(table));
}

static void add_titles(TextTable *table)
{
    static const char *const titles[COLUMNS] = {"node", "operator", "status", "parameters",
                                                "MACs", "weights",  "input",  "output"};
    for (int i = 0; i < COLUMNS; i++) text_table_add(table, titles[i]);
}

static void add_layer(TextTable *table, const CheckLayer *layer)
{
    strbuf_add_escaped(text_table_cell(table), layer->name);
    strbuf_add_escaped(text_table_cell(table), layer->op_type);
    text_table_add(table, driver_check_status(layer));
    add_costs(table, layer);
}

static void add_total(TextTable *table, const Check *check)
{
    const CheckLayer total = driver_check_total(check);
    text_table_add(table, "total");
    text_table_add(table, "");
    text_table_add(table, "");
    add_costs(table, &total);
}

static void print_line(StrBuf *out, const char *title, Str text)
{
    if (text.len == 0) return;
    strbuf_printf(out, "    %s: ", title);
    for (size_t i = 0; i < text.len; i++)
        strbuf_add_char(out, (unsigned char)text.data[i] < ' ' ? ' ' : text.data[i]);
    strbuf_add_char(out, '\n');
}

static void print_layer(StrBuf *out, const Check *check, const CheckLayer *layer)
{
    StrBuf hint = {0};
    driver_check_hint(check, layer, &hint);
    print_line(out, "note", layer->remark);
    print_line(out, "reason", layer->reason);
    print_line(out, "hint", strbuf_str(&hint));
    strbuf_free(&hint);
}

/* "The largest part that compiles has 12 nodes and 99 % of the MACs: --from=a --to=b" */
static void print_partition(const Partition *part, StrBuf *out)
{
    StrBuf options = {0};
    strbuf_printf(out, "The largest part that compiles has %zu node%s", part->count,
                  part->count == 1 ? "" : "s");
    if (part->total_macs > 0)
        strbuf_printf(out, " and %.1f %% of the MACs",
                      100 * (double)part->macs / (double)part->total_macs);
    if (driver_partition_options(part, &options) && options.len > 0)
        strbuf_printf(out, ":%s", options.data);
    strbuf_add_char(out, '\n');
    strbuf_free(&options);
}

static void print_verdict(const Check *check, const Partition *part, StrBuf *out)
{
    size_t bad = 0;
    for (size_t i = 0; i < check->count; i++) bad += check->layers[i].status <= LAYER_UNSUPPORTED;
    if (driver_check_compiles(check)) {
        strbuf_add_c(out, "\nThe network compiles.\n");
        return;
    }
    strbuf_printf(out,
                  "\nThe network does not compile: %zu of %zu nodes are unsupported or "
                  "not checked.\n",
                  bad, check->count);
    if (part->count > 0) print_partition(part, out);
}

void driver_check_print_text(const Check *check, const Partition *part, StrBuf *out)
{
    TextTable table = {.columns = COLUMNS, .first_number = FIRST_NUMBER};
    add_titles(&table);
    for (size_t i = 0; i < check->count; i++) add_layer(&table, &check->layers[i]);
    add_total(&table, check);
    text_table_print_row(&table, 0, out);
    for (size_t i = 0; i < check->count; i++) {
        text_table_print_row(&table, i + 1, out);
        print_layer(out, check, &check->layers[i]);
    }
    text_table_print_row(&table, check->count + 1, out);
    text_table_free(&table);
    print_verdict(check, part, out);
}
