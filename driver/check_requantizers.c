/* What the quantizers of a network became, of ming check --streamlining and --json: a row per
 * kernel that requantizes.
 * Tests: lit/driver/ming-check-streamlining.mir */
#include "dialects/dfg/dfg.h"
#include "driver/internal.h"
#include "ir/support/support.h"

static Str text_of(const Attr *item, const char *name)
{
    const Attr *attr = attr_dict_get_c(item, name);
    return attr ? attr->u.string : STR("");
}

static void add_absorbed(TextTable *table, const Attr *item)
{
    const Attr *names = attr_dict_get_c(item, DFG_REQUANT_ABSORBED);
    StrBuf *cell = text_table_cell(table);
    for (uint32_t i = 0; i < names->u.array.count; i++) {
        if (i > 0) strbuf_add_c(cell, ", ");
        strbuf_add_escaped(cell, names->u.array.items[i]->u.string);
    }
    if (names->u.array.count == 0) strbuf_add_char(cell, '-');
}

static void add_item(TextTable *table, const Attr *item)
{
    static const char *const counts[] = {DFG_REQUANT_LEVELS, DFG_REQUANT_BITS, DFG_COST_LUT,
                                         DFG_COST_DSP};
    strbuf_add_escaped(text_table_cell(table), text_of(item, DFG_REQUANT_LAYER));
    strbuf_add_escaped(text_table_cell(table), text_of(item, DFG_REQUANT_FORM));
    add_absorbed(table, item);
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        text_table_add_count(table, attr_dict_int(item, counts[i], -1));
}

/* As report.json has them (emit/emit_report.c). */
static void write_item(JsonWriter *w, const Attr *item)
{
    const Attr *names = attr_dict_get_c(item, DFG_REQUANT_ABSORBED);
    json_write_line(w, 4);
    json_begin_object(w);
    json_member_string(w, "layer", text_of(item, DFG_REQUANT_LAYER));
    json_member_string(w, "form", text_of(item, DFG_REQUANT_FORM));
    json_member_count(w, "levels", attr_dict_int(item, DFG_REQUANT_LEVELS, -1));
    json_member_count(w, "constant_bits", attr_dict_int(item, DFG_REQUANT_BITS, -1));
    json_member_count(w, "lut_per_lane", attr_dict_int(item, DFG_COST_LUT, -1));
    json_member_count(w, "dsp_per_lane", attr_dict_int(item, DFG_COST_DSP, -1));
    json_member_array(w, "absorbed");
    for (uint32_t i = 0; i < names->u.array.count; i++)
        json_write_string(w, names->u.array.items[i]->u.string);
    json_end_array(w);
    json_end_object(w);
}

void driver_check_write_requantizers(const Check *check, JsonWriter *w)
{
    json_write_line(w, 2);
    json_member_array(w, "requantizers");
    for (uint32_t i = 0; check->requantizers && i < check->requantizers->u.array.count; i++)
        write_item(w, check->requantizers->u.array.items[i]);
    if (check->requantizers) json_write_line(w, 2);
    json_end_array(w);
}

void driver_check_print_requantizers(const Check *check, StrBuf *out)
{
    static const char *const titles[] = {"quantizer",     "form",     "with",    "levels",
                                         "constant bits", "LUT/lane", "DSP/lane"};
    TextTable table = {.columns = COUNT_OF(titles), .first_number = 3};
    if (!check->requantizers) {
        strbuf_add_c(out, "\nNo quantizer takes arithmetic.\n");
        return;
    }
    strbuf_add_char(out, '\n');
    for (size_t i = 0; i < COUNT_OF(titles); i++) text_table_add(&table, titles[i]);
    for (uint32_t i = 0; i < check->requantizers->u.array.count; i++)
        add_item(&table, check->requantizers->u.array.items[i]);
    text_table_print(&table, out);
    text_table_free(&table);
}
