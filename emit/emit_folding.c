/* folding.json: the choices for each process and FIFO, in the form that `ming compile --folding`
 * takes back. They are read from the processes' reports, where target/dse/folding_record.c left
 * them.
 * Tests: lit/emit/folding.mir, test/e2e/run.py */
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "emit/internal.h"
#include "ir/core/core.h"
#include "ir/support/support.h"

/* Lists, dictionaries, strings and numbers as JSON. */
static void add_value(JsonWriter *w, const Attr *value)
{
    if (value->kind == ATTR_STRING) {
        json_write_string(w, value->u.string);
    } else if (value->kind == ATTR_INTEGER) {
        json_write_int(w, attr_int_value(value));
    } else if (attr_is_int_array(value)) {
        json_begin_array(w);
        for (size_t i = 0; i < value->u.dense_array.count; i++)
            json_write_int(w, dense_array_i64(value, i));
        json_end_array(w);
    } else if (value->kind == ATTR_ARRAY) {
        json_begin_array(w);
        for (size_t i = 0; i < value->u.array.count; i++) add_value(w, value->u.array.items[i]);
        json_end_array(w);
    } else if (value->kind == ATTR_DICT) {
        json_begin_object(w);
        for (size_t i = 0; i < value->u.dict.count; i++) {
            json_write_key(w, value->u.dict.items[i].name->str);
            add_value(w, value->u.dict.items[i].value);
        }
        json_end_object(w);
    } else {
        json_write_null(w); /* nothing that the search chooses */
    }
}

/* A member on a line of its own. */
static void add_member(JsonWriter *w, const char *key, const Attr *value)
{
    if (!value) return;
    json_write_line(w, 6);
    json_write_key(w, str_from(key));
    add_value(w, value);
}

static void add_layer(JsonWriter *w, const Ident *name, const Attr *report, const Attr *folding)
{
    static const char *const keys[] = {"multiplier", "order", "requantizer", "words", "storage"};
    const Attr *unroll = attr_dict_get_c(folding, EMITHLS_ATTR_UNROLL);
    const Attr *source = attr_dict_get_c(report, DFG_REPORT_SOURCE);
    json_write_line(w, 4);
    json_write_key(w, name->str);
    json_begin_object(w);
    add_member(w, "layer", source);
    if (unroll) add_member(w, "loops", attr_dict_get_c(report, DFG_REPORT_TRIP_COUNTS));
    add_member(w, "unroll", unroll);
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        add_member(w, keys[i], attr_dict_get_c(folding, keys[i]));
    json_write_line(w, 4);
    json_end_object(w);
}

/* What there is to choose of a process; NULL: nothing, as of converters and readers of memories. */
static const Attr *folding_of(const Op *op)
{
    const Attr *report = op_attr(op, DFG_ATTR_REPORT);
    bool has_report = op->def == EMITHLS(FUNC) && report && report->kind == ATTR_DICT &&
                      !op_attr(op, SYS_ATTR_INSTANCE); /* they are as the first instance's */
    const Attr *folding = has_report ? attr_dict_get_c(report, DFG_REPORT_FOLDING) : NULL;
    return folding && folding->kind == ATTR_DICT && folding->u.dict.count > 0 ? folding : NULL;
}

/* Those that the process does the work of: the search has them as processes. */
static void add_forks(JsonWriter *w, const Attr *report)
{
    const Attr *forks = attr_dict_get_c(report, DFG_REPORT_FORKS);
    for (uint32_t i = 0; forks && i < forks->u.dict.count; i++) {
        const NamedAttr *fork = &forks->u.dict.items[i];
        const Attr *folding = attr_dict_get_c(fork->value, DFG_REPORT_FOLDING);
        add_layer(w, fork->name, fork->value, folding);
    }
}

static void add_layers(Emitter *e, JsonWriter *w)
{
    FOR_EACH_OP(op, region_entry(op_region(e->module, 0))) {
        if (folding_of(op))
            add_layer(w, symbol_name(op), op_attr(op, DFG_ATTR_REPORT), folding_of(op));
        if (op->def == EMITHLS(FUNC) && !op_attr(op, SYS_ATTR_INSTANCE))
            add_forks(w, op_attr(op, DFG_ATTR_REPORT));
    }
}

/* Those of links are deeper than they were fitted, which their room follows from. */
static void add_fifos(Emitter *e, JsonWriter *w)
{
    FOR_EACH_OP(op, region_entry(op_region(e->top, 0))) {
        if (op->def != EMITHLS(STREAM) || op_attr(op, EMITHLS_ATTR_FIXED) ||
            op_attr(op, SYS_ATTR_LINK))
            continue;
        json_write_line(w, 4);
        json_write_key(w, op_attr(op, "name")->u.string);
        json_begin_object(w);
        json_write_key(w, STR("depth"));
        add_value(w, op_attr(op, DFG_ATTR_DEPTH));
        if (op_attr(op, EMITHLS_ATTR_IMPL)) {
            json_write_key(w, STR("impl"));
            add_value(w, op_attr(op, EMITHLS_ATTR_IMPL));
        }
        json_end_object(w);
    }
}

/* Whether the design lies on several cards, which place-cards gives processes to. */
static bool is_spread(const Op *module)
{
    const Attr *cards = op_attr(module, SYS_ATTR_CARDS), *mode = op_attr(module, SYS_ATTR_MODE);
    return cards && cards->u.array.count > 1 && mode && !str_eq_c(mode->u.string, "dp");
}

/* Of the processes that are in the other section; converters follow. */
static void add_places(Emitter *e, JsonWriter *w)
{
    bool is_first = true;
    if (is_spread(e->module)) return;
    FOR_EACH_OP(op, region_entry(op_region(e->module, 0))) {
        SysPlace place;
        if (!folding_of(op) || !sys_place(op, &place)) continue;
        if (is_first) {
            json_write_line(w, 2);
            json_member_object(w, "place");
        }
        is_first = false;
        json_write_line(w, 4);
        json_write_key(w, symbol_name(op)->str);
        json_begin_object(w);
        json_member_int(w, "card", place.card);
        json_member_int(w, "die", place.die);
        json_end_object(w);
    }
    if (is_first) return;
    json_write_line(w, 2);
    json_end_object(w);
}

void emit_folding(Emitter *e, StrBuf *out)
{
    JsonWriter w = {.out = out};
    json_begin_object(&w);
    json_write_line(&w, 2);
    json_member_object(&w, "layers");
    add_layers(e, &w);
    json_write_line(&w, 2);
    json_end_object(&w);
    json_write_line(&w, 2);
    json_member_object(&w, "fifos");
    add_fifos(e, &w);
    json_write_line(&w, 2);
    json_end_object(&w);
    add_places(e, &w);
    json_write_line(&w, 0);
    json_end_object(&w);
    strbuf_add_char(out, '\n');
}
