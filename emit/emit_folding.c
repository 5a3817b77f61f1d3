/* folding.json: what was chosen for each process and FIFO, as `ming compile --folding` takes it
 * back. Choices are read from the processes' reports, where target/dse/folding_record.c left them.
 * Tests: lit/emit/folding.mir, test/e2e/run.py */
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "emit/internal.h"
#include "ir/core/core.h"
#include "ir/support/support.h"

/* Lists, dictionaries, strings and numbers as JSON. */
static void add_value(StrBuf *out, const Attr *value)
{
    if (value->kind == ATTR_STRING) {
        json_add_string(out, value->u.string);
    } else if (value->kind == ATTR_INTEGER) {
        strbuf_add_int(out, attr_int_value(value));
    } else if (value->kind == ATTR_DENSE_ARRAY) {
        strbuf_add_char(out, '[');
        for (size_t i = 0; i < value->u.dense_array.count; i++)
            strbuf_printf(out, "%s%lld", i ? ", " : "", (long long)dense_array_i64(value, i));
        strbuf_add_char(out, ']');
    } else if (value->kind == ATTR_ARRAY) {
        strbuf_add_char(out, '[');
        for (size_t i = 0; i < value->u.array.count; i++) {
            strbuf_add_c(out, i ? ", " : "");
            add_value(out, value->u.array.items[i]);
        }
        strbuf_add_char(out, ']');
    } else if (value->kind == ATTR_DICT) {
        strbuf_add_char(out, '{');
        for (size_t i = 0; i < value->u.dict.count; i++) {
            strbuf_add_c(out, i ? ", " : "");
            json_add_string(out, value->u.dict.items[i].name->str);
            strbuf_add_c(out, ": ");
            add_value(out, value->u.dict.items[i].value);
        }
        strbuf_add_char(out, '}');
    }
}

/* A member on a line of its own. */
static void add_member(StrBuf *out, const char *key, const Attr *value, bool *first)
{
    if (!value) return;
    strbuf_printf(out, "%s\n      \"%s\": ", *first ? "" : ",", key);
    add_value(out, value);
    *first = false;
}

static void add_layer(StrBuf *out, Op *func, const Attr *report, const Attr *folding)
{
    static const char *const keys[] = {DFG_FOLDING_MULTIPLIER, DFG_FOLDING_WORDS,
                                       DFG_FOLDING_STORAGE};
    const Attr *unroll = attr_dict_get_c(folding, DFG_FOLDING_UNROLL);
    const Attr *source = attr_dict_get_c(report, DFG_REPORT_SOURCE);
    bool first = true;
    strbuf_add_c(out, "\n    ");
    json_add_string(out, symbol_name(func)->str);
    strbuf_add_c(out, ": {");
    add_member(out, "layer", source, &first);
    if (unroll) add_member(out, "loops", attr_dict_get_c(report, DFG_REPORT_TRIP_COUNTS), &first);
    add_member(out, DFG_FOLDING_UNROLL, unroll, &first);
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        add_member(out, keys[i], attr_dict_get_c(folding, keys[i]), &first);
    strbuf_add_c(out, "\n    }");
}

/* Converters and readers of memories have nothing to choose. */
static void add_layers(Emitter *e, StrBuf *out)
{
    bool first = true;
    FOR_EACH_OP(op, region_entry(op_region(e->module, 0))) {
        const Attr *report = op_attr(op, DFG_ATTR_REPORT);
        bool has_report = op->def == EMITHLS(FUNC) && report && report->kind == ATTR_DICT;
        const Attr *folding = has_report ? attr_dict_get_c(report, DFG_REPORT_FOLDING) : NULL;
        if (!folding || folding->kind != ATTR_DICT || folding->u.dict.count == 0) continue;
        strbuf_add_c(out, first ? "" : ",");
        add_layer(out, op, report, folding);
        first = false;
    }
}

static void add_fifos(Emitter *e, StrBuf *out)
{
    bool first = true;
    FOR_EACH_OP(op, region_entry(op_region(e->top, 0))) {
        if (op->def != EMITHLS(STREAM) || op_attr(op, EMITHLS_ATTR_FIXED)) continue;
        strbuf_add_c(out, first ? "\n    " : ",\n    ");
        json_add_string(out, op_attr(op, "name")->u.string);
        strbuf_add_c(out, ": {\"depth\": ");
        add_value(out, op_attr(op, DFG_ATTR_DEPTH));
        if (op_attr(op, EMITHLS_ATTR_IMPL)) {
            strbuf_add_c(out, ", \"impl\": ");
            add_value(out, op_attr(op, EMITHLS_ATTR_IMPL));
        }
        strbuf_add_char(out, '}');
        first = false;
    }
}

void emit_folding(Emitter *e, StrBuf *out)
{
    strbuf_add_c(out, "{\n  \"layers\": {");
    add_layers(e, out);
    strbuf_add_c(out, "\n  },\n  \"fifos\": {");
    add_fifos(e, out);
    strbuf_add_c(out, "\n  }\n}\n");
}
