/* The report of ming check as JSON: an object with an array of nodes in the order of the file.
 * Tests: lit/driver/ming-check-json.test */
#include "driver/internal.h"
#include "ir/support/support.h"

static void add_text(StrBuf *out, const char *key, Str value)
{
    strbuf_printf(out, "\"%s\": ", key);
    json_add_string(out, value);
    strbuf_add_c(out, ", ");
}

/* What is not known is null. */
static void add_count(StrBuf *out, const char *key, int64_t value)
{
    strbuf_printf(out, "\"%s\": ", key);
    if (value < 0)
        strbuf_add_c(out, "null");
    else
        strbuf_add_int(out, value);
    strbuf_add_c(out, ", ");
}

static void add_types(StrBuf *out, const char *key, const Widths *widths)
{
    StrBuf text = {0};
    driver_check_widths_print(widths, &text);
    strbuf_printf(out, "\"%s\": ", key);
    if (str_eq_c(strbuf_str(&text), "-"))
        strbuf_add_c(out, "null");
    else
        json_add_string(out, strbuf_str(&text));
    strbuf_free(&text);
}

static void add_costs(StrBuf *out, const CheckLayer *layer)
{
    add_count(out, "parameters", layer->parameters);
    add_count(out, "macs", layer->macs);
    add_types(out, "weights", &layer->weights);
    strbuf_add_c(out, ", ");
    add_types(out, "input", &layer->input);
    strbuf_add_c(out, ", ");
    add_types(out, "output", &layer->output);
}

static void add_layer(StrBuf *out, const Check *check, const CheckLayer *layer)
{
    strbuf_add_c(out, "    {");
    add_text(out, "name", layer->name);
    add_text(out, "operator", layer->op_type);
    add_text(out, "status", str_from(driver_check_status(layer)));
    add_text(out, "note", layer->remark);
    add_text(out, "reason", layer->reason);
    add_text(out, "hint", driver_check_hint(check, layer));
    add_costs(out, layer);
    strbuf_add_char(out, '}');
}

void driver_check_print_json(const Check *check, StrBuf *out)
{
    const CheckLayer total = driver_check_total(check);
    strbuf_printf(out, "{\n  \"compiles\": %s,\n  \"nodes\": [\n",
                  driver_check_compiles(check) ? "true" : "false");
    for (size_t i = 0; i < check->count; i++) {
        add_layer(out, check, &check->layers[i]);
        strbuf_add_c(out, i + 1 < check->count ? ",\n" : "\n");
    }
    strbuf_add_c(out, "  ],\n  \"total\": {");
    add_costs(out, &total);
    strbuf_add_c(out, "}\n}\n");
}
