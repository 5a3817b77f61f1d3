/* <top>.h: the accelerator's interface, described for people who call it.
 * Tests: lit/emit/header.mir */
#include "dialects/emithls/emithls.h"
#include "emit/internal.h"
#include "ir/asm/print/print.h"

static size_t process_count(const Emitter *e)
{
    size_t count = 0;
    FOR_EACH_OP(op, region_entry(op_region(e->module, 0)))
        count += op->def == EMITHLS(FUNC) && op != e->top;
    return count;
}

/* Extents of the frame in order of streaming. */
static void add_stream_shape(StrBuf *out, const EmitPort *port)
{
    for (uint32_t i = 0; i < port->rank; i++)
        strbuf_printf(out, "%s%lld", i ? "x" : "", (long long)port->shape[port->order[i]]);
}

/* inp_1: input 'inp.1' 1x3x32x32, streamed as 1x32x32x3: 1024 words of 3 x i8, each 0.0078125 */
static void describe_port(StrBuf *out, const EmitPort *port)
{
    int64_t lanes = emithls_lanes(port->word);
    StrBuf elem = {0};
    type_print(&elem, emithls_scalar(port->word));
    strbuf_printf(out, "//   %s: %s '", port->name,
                  port->is_weights ? "weights"
                  : port->is_input ? "input"
                                   : "output");
    emit_comment_text(out, port->tensor);
    strbuf_add_c(out, "' ");
    emit_extents(out, port->shape, port->rank, "x");
    strbuf_add_c(out, port->rank ? ", streamed as " : "scalar");
    add_stream_shape(out, port);
    strbuf_printf(out, ": %lld word%s of ", (long long)port->words_per_frame,
                  port->words_per_frame == 1 ? "" : "s");
    if (lanes > 1) strbuf_printf(out, "%lld x ", (long long)lanes);
    strbuf_add_c(out, elem.data);
    if (port->bus)
        strbuf_printf(out, ", in memory as %lld x %s", (long long)port->bus_words,
                      type_str(port->bus->ctx, port->bus));
    if (port->beat_bits) strbuf_printf(out, ", in beats of %lld bits", (long long)port->beat_bits);
    if (port->quant) {
        strbuf_add_c(out, ", each ");
        emit_float_literal(out, port->quant->scale, false);
        if (port->quant->divisor != 1)
            strbuf_printf(out, " / %lld", (long long)port->quant->divisor);
    }
    strbuf_add_char(out, '\n');
    strbuf_free(&elem);
}

static void add_aliases(Emitter *e, StrBuf *out)
{
    for (size_t i = 0; i < e->words.len; i++) {
        const Type *word = e->words.data[i];
        const char *name = cpp_type(e, word), *elem = cpp_type(e, emithls_scalar(word));
        long long lanes = emithls_lanes(word);
        if (type_is_int_width(emithls_scalar(word), 1)) /* synthesis gives a vector's bits bytes */
            strbuf_printf(out, "using %s = ap_uint<%lld>;\n", name, lanes);
        else
            strbuf_printf(out, "using %s = hls::vector<%s, %lld>;\n", name, elem, lanes);
    }
    if (e->words.len) strbuf_add_char(out, '\n');
}

void emit_prototype(Emitter *e, StrBuf *out, const char *const *names, const char *frames)
{
    Block *body = region_entry(op_region(e->top, 0));
    VEC(const char *) parameters = {0};
    for (uint32_t i = 0; i < body->arg_count; i++) {
        StrBuf text = {0};
        emit_parameter(e, &text, body->args[i], names[i]);
        *vec_push(&parameters) = emit_arena_printf(&e->arena, "%s", text.data);
        strbuf_free(&text);
    }
    if (e->has_memories) *vec_push(&parameters) = emit_arena_printf(&e->arena, "int %s", frames);
    emit_signature(out, emit_arena_printf(&e->arena, "void %s(", e->top_name), parameters.data,
                   parameters.len);
    vec_free(&parameters);
}

static void add_prototype(Emitter *e, StrBuf *out)
{
    VEC(const char *) names = {0};
    for (size_t i = 0; i < e->ports.len; i++) *vec_push(&names) = e->ports.data[i].name;
    emit_prototype(e, out, names.data, "frames");
    strbuf_add_c(out, ";\n");
    vec_free(&names);
}

static void add_guard(const Emitter *e, StrBuf *out, const char *suffix)
{
    for (const char *c = e->top_name; *c; c++)
        strbuf_add_char(out, (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c));
    strbuf_add_c(out, suffix);
}

void emit_begin_guard(const Emitter *e, StrBuf *out, const char *suffix)
{
    strbuf_add_c(out, "#ifndef ");
    add_guard(e, out, suffix);
    strbuf_add_c(out, "\n#define ");
    add_guard(e, out, suffix);
    strbuf_add_c(out, "\n\n");
}

void emit_header(Emitter *e, StrBuf *out)
{
    strbuf_printf(out, "// %s: a streaming accelerator of %zu processes.\n", e->top_name,
                  process_count(e));
    strbuf_printf(out, "// Each call takes %s of every input and gives as many of every output:\n",
                  e->has_memories ? "`frames` frames" : "one frame");
    for (size_t i = 0; i < e->ports.len; i++) describe_port(out, &e->ports.data[i]);
    emit_begin_guard(e, out, "_H");
    if (e->needs & EMIT_NEEDS_AP_INT) strbuf_add_c(out, "#include <ap_int.h>\n");
    if (e->has_beats) strbuf_add_c(out, "#include <ap_axi_sdata.h>\n");
    strbuf_add_c(out, "#include <hls_stream.h>\n");
    if (e->words.len) strbuf_add_c(out, "#include <hls_vector.h>\n");
    strbuf_add_c(out, "\n#if !defined(__SYNTHESIS__)\n"
                      "// Loops have names for the reports of HLS.\n"
                      "#pragma GCC diagnostic ignored \"-Wunused-label\"\n"
                      "#endif\n\n");
    add_aliases(e, out);
    emit_dma_types(e, out);
    add_prototype(e, out);
    strbuf_add_c(out, "\n#endif\n");
}
