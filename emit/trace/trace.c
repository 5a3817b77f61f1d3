/* <top>_trace.h: which streams and ports carry which tensors of the network, and how, for
 * csim/ming_trace.h. No source of the accelerator includes it; make csim-trace does.
 * Tests: lit/tools/ming-sim-trace.mir, test/e2e/trace_check.py */
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "emit/internal.h"
#include "ir/asm/print/print.h"

typedef struct TraceFile {
    Emitter *e;
    StrBuf *out;
    PtrMap known; /* name -> place in the network's list + 1, until a carrier has it */
} TraceFile;

static const Attr *names_of(const Emitter *e)
{
    const Attr *names = op_attr(e->module, DFG_ATTR_TENSORS);
    return names && names->kind == ATTR_ARRAY ? names : NULL;
}

bool emit_has_trace(const Emitter *e)
{
    if (sys_tile_size(e->module) > 1) return false; /* frames go to instances by turns */
    return names_of(e) != NULL;
}

static const Attr *dict_of(const TraceFile *t, const Attr *frame, const char *key,
                           const Attr *value)
{
    const NamedAttr items[] = {build_named_attr(t->e->ctx, EMITHLS_ATTR_FRAME, frame),
                               build_named_attr(t->e->ctx, key, value)};
    return attr_dict(t->e->ctx, items, value ? 2 : 1);
}

/* The tensor as a port of one element a word. */
static bool read_tensor(const TraceFile *t, const Attr *tensor, const Type *frame, EmitPort *out)
{
    const Type *type = dfg_tensor_stream_type(tensor, frame);
    if (!type) return op_error(t->e->top, "has a stream whose dfg.tensors do not fit it");
    const Attr *dict =
        dict_of(t, attr_type(type), DFG_ATTR_LAYOUT, attr_dict_get_c(tensor, DFG_TENSOR_LAYOUT));
    *out = (EmitPort){.tensor = attr_dict_get_c(tensor, DFG_TENSOR_NAME)->u.string,
                      .word = type_elem(frame)};
    return emit_read_carrier(t->e, dict, attr_dict_get_c(tensor, DFG_TENSOR_QUANT), out);
}

static bool add_tensor(TraceFile *t, const Attr *tensor, const Type *frame, const char *kind,
                       Str carrier)
{
    const Attr *name = attr_dict_get_c(tensor, DFG_TENSOR_NAME),
               *shape = attr_dict_get_c(tensor, DFG_TENSOR_SHAPE);
    const Ident *ident = ident_get(t->e->ctx, name->u.string);
    uintptr_t place = (uintptr_t)ptrmap_get(&t->known, ident);
    int64_t dims[2 * DFG_MAX_RANK];
    size_t rank = 0;
    EmitPort port;
    if (place == 0) return true; /* another carrier has it */
    if (!read_tensor(t, tensor, frame, &port) || !attr_int_list(shape, dims, COUNT_OF(dims), &rank))
        return false;
    ptrmap_remove(&t->known, ident);
    strbuf_printf(t->out, "    table.of_%s(%llu, ", kind, (unsigned long long)(place - 1));
    emit_string_literal(t->out, name->u.string);
    strbuf_add_c(t->out, ", ");
    emit_string_literal(t->out, carrier);
    strbuf_add_c(t->out, ", ");
    emit_port_value(t->out, &port, "");
    strbuf_add_c(t->out, ", {");
    emit_extents(t->out, dims, rank, ", ");
    strbuf_add_c(t->out, "});\n");
    return true;
}

/* Whether a tensor of the list has no carrier yet. */
static bool is_wanted(const TraceFile *t, const Attr *list)
{
    for (uint32_t i = 0; i < list->u.array.count; i++) {
        const Attr *name = attr_dict_get_c(list->u.array.items[i], DFG_TENSOR_NAME);
        if (ptrmap_has(&t->known, ident_get(t->e->ctx, name->u.string))) return true;
    }
    return false;
}

static bool add_carrier(TraceFile *t, const Attr *list, const Type *frame, const EmitPort *words,
                        const char *kind, Str name)
{
    if (!is_wanted(t, list)) return true;
    strbuf_printf(t->out, "    table.%s(", kind);
    emit_string_literal(t->out, name);
    strbuf_add_c(t->out, ", ");
    emit_port_value(t->out, words, "");
    strbuf_add_c(t->out, ");\n");
    for (uint32_t i = 0; i < list->u.array.count; i++)
        if (!add_tensor(t, list->u.array.items[i], frame, kind, name)) return false;
    return true;
}

/* A stream called like a port would be taken for it. */
static bool is_port(const Emitter *e, Str name)
{
    for (size_t i = 0; i < e->ports.len; i++)
        if (str_eq(e->ports.data[i].tensor, name)) return true;
    return false;
}

static bool add_stream(TraceFile *t, Op *op)
{
    Emitter *e = t->e;
    const Attr *list = op_attr(op, DFG_ATTR_TENSORS), *frame = op_attr(op, EMITHLS_ATTR_FRAME);
    const char *name = ptrmap_get(&e->fifos, op);
    EmitPort words = {.word = emithls_stream_word(op_result(op, 0)->type)};
    if (!list || !frame || !name || type_width(emithls_scalar(words.word)) > EMIT_MAX_PORT_WIDTH ||
        is_port(e, str_from(name)))
        return true;
    const Attr *dict = dict_of(t, frame, EMITHLS_ATTR_WORD, op_attr(op, EMITHLS_ATTR_WORD));
    return emit_read_carrier(e, dict, NULL, &words) &&
           add_carrier(t, list, frame->u.type_value, &words, "stream", str_from(name));
}

/* The port's words in the order of the stream. */
static bool add_port(TraceFile *t, const EmitPort *port, const Attr *attrs)
{
    const Attr *list = attr_dict_get_c(attrs, DFG_ATTR_TENSORS),
               *frame = attr_dict_get_c(attrs, EMITHLS_ATTR_FRAME);
    EmitPort words = *port;
    if (!list || port->is_weights) return true;
    words.quant = NULL;
    words.tensor = (Str){"", 0};
    words.shape = ARENA_ARRAY(&t->e->arena, int64_t, port->rank + 1);
    words.order = ARENA_ARRAY(&t->e->arena, uint32_t, port->rank + 1);
    for (uint32_t i = 0; i < port->rank; i++) {
        words.shape[i] = port->shape[port->order[i]];
        words.order[i] = i;
    }
    return add_carrier(t, list, frame->u.type_value, &words, "port", port->tensor);
}

static bool add_all(TraceFile *t)
{
    const Emitter *e = t->e;
    const Attr *ports = op_attr(e->top, DFG_ATTR_PORT_ATTRS), *names = names_of(e);
    bool ok = true;
    FOR_EACH_OP(op, region_entry(op_region(e->top, 0)))
        if (op->def == EMITHLS(STREAM)) ok = ok && add_stream(t, op);
    for (size_t i = 0; i < e->ports.len; i++)
        ok = ok && add_port(t, &e->ports.data[i], ports->u.array.items[i]);
    for (uint32_t i = 0; ok && i < names->u.array.count; i++) {
        Str name = names->u.array.items[i]->u.string;
        if (!ptrmap_has(&t->known, ident_get(e->ctx, name))) continue;
        strbuf_add_c(t->out, "    table.fused(");
        emit_string_literal(t->out, name);
        strbuf_add_c(t->out, ");\n");
    }
    return ok;
}

bool emit_trace(Emitter *e, StrBuf *out)
{
    TraceFile t = {.e = e, .out = out};
    const Attr *names = names_of(e);
    for (uint32_t i = 0; i < names->u.array.count; i++)
        ptrmap_put(&t.known, ident_get(e->ctx, names->u.array.items[i]->u.string),
                   (void *)(uintptr_t)(i + 1));
    strbuf_printf(
        out, "// Tensors of the network that streams and ports of %s carry: make csim-trace.\n",
        e->top_name);
    emit_begin_guard(e, out, "_TRACE_H");
    strbuf_printf(out,
                  "#include \"csim/ming_trace.h\"\n\nnamespace %s_trace\n{\n\n"
                  "inline bool declare(ming::trace::Table &table)\n{\n",
                  e->top_name);
    bool ok = add_all(&t);
    strbuf_printf(out,
                  "    return true;\n}\n\n"
                  "inline const bool is_declared = declare(ming::trace::table);\n\n"
                  "} // namespace %s_trace\n\n#endif\n",
                  e->top_name);
    ptrmap_free(&t.known);
    return ok;
}
