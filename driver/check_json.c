/* The report of ming check as JSON: an object with an array of nodes in the order of the file.
 * Tests: lit/driver/ming-check-json.test */
#include "driver/internal.h"
#include "ir/support/support.h"

/* Widths that are not known are null. */
static void add_types(JsonWriter *w, const char *key, const Widths *widths)
{
    StrBuf text = {0};
    driver_check_widths_print(widths, &text);
    json_write_key(w, str_from(key));
    if (str_eq_c(strbuf_str(&text), "-"))
        json_write_null(w);
    else
        json_write_string(w, strbuf_str(&text));
    strbuf_free(&text);
}

static void add_costs(JsonWriter *w, const CheckLayer *layer)
{
    json_member_count(w, "parameters", layer->parameters);
    json_member_count(w, "macs", layer->macs);
    add_types(w, "weights", &layer->weights);
    add_types(w, "input", &layer->input);
    add_types(w, "output", &layer->output);
}

static void add_layer(JsonWriter *w, const Check *check, const CheckLayer *layer)
{
    StrBuf hint = {0};
    driver_check_hint(check, layer, &hint);
    json_write_line(w, 4);
    json_begin_object(w);
    json_member_string(w, "name", layer->name);
    json_member_string(w, "operator", layer->op_type);
    json_member_string(w, "status", str_from(driver_check_status(layer)));
    json_member_string(w, "note", layer->remark);
    json_member_string(w, "reason", layer->reason);
    json_member_string(w, "hint", strbuf_str(&hint));
    strbuf_free(&hint);
    add_costs(w, layer);
    json_end_object(w);
}

/* The options that name the part, or null. */
static void add_partition(JsonWriter *w, const Partition *part)
{
    StrBuf options = {0};
    json_write_line(w, 2);
    json_write_key(w, STR("partition"));
    if (part->count > 0 && driver_partition_options(part, &options) && options.len > 0)
        json_write_string(w, (Str){options.data + 1, options.len - 1});
    else
        json_write_null(w);
    strbuf_free(&options);
}

void driver_check_print_json(const Check *check, const Partition *part, StrBuf *out)
{
    const CheckLayer total = driver_check_total(check);
    JsonWriter w = {.out = out};
    json_begin_object(&w);
    json_write_line(&w, 2);
    json_member_bool(&w, "compiles", driver_check_compiles(check));
    json_write_line(&w, 2);
    json_member_array(&w, "nodes");
    for (size_t i = 0; i < check->count; i++) add_layer(&w, check, &check->layers[i]);
    json_write_line(&w, 2);
    json_end_array(&w);
    json_write_line(&w, 2);
    json_member_object(&w, "total");
    add_costs(&w, &total);
    json_end_object(&w);
    driver_check_write_requantizers(check, &w);
    add_partition(&w, part);
    json_write_line(&w, 0);
    json_end_object(&w);
    strbuf_add_char(out, '\n');
}
