/* <top>_host.h: the ports as functions for host code, one ming::Port each, which quantizes, orders
 * and packs arrays of the model. The testbench goes through them, too, so that it tests them.
 * Tests: lit/emit/memory-ports.mir, test/e2e */
#include "dialects/emithls/emithls.h"
#include "emit/internal.h"

/* "{1, 2, 3}" */
static void add_list(StrBuf *out, const int64_t *items, uint32_t count)
{
    strbuf_add_char(out, '{');
    emit_extents(out, items, count, ", ");
    strbuf_add_char(out, '}');
}

static bool is_identity(const EmitPort *port)
{
    for (uint32_t i = 0; i < port->rank; i++)
        if (port->order[i] != i) return false;
    return true;
}

static void add_order(StrBuf *out, const EmitPort *port)
{
    strbuf_add_char(out, '{');
    for (uint32_t i = 0; i < port->rank; i++)
        strbuf_printf(out, "%s%u", i ? ", " : "", port->order[i]);
    strbuf_add_char(out, '}');
}

static void add_quantizer(StrBuf *out, const EmitPort *port, const char *indent)
{
    const EmitQuantizer *q = port->quant;
    if (q->is_bipolar) {
        strbuf_printf(out, "%s.bipolar(", indent);
        emit_float_literal(out, q->scale, false);
        strbuf_add_char(out, ')');
        return;
    }
    strbuf_printf(out, "%s.%s(", indent, port->is_input ? "quantize" : "dequantize");
    emit_float_literal(out, q->scale, false);
    if (port->is_input)
        strbuf_printf(out, ", %lld, %lld, %lld, ming::Rounding::%.*s)", (long long)q->zero_point,
                      (long long)q->low, (long long)q->high, STR_ARG(q->rounding));
    else
        strbuf_printf(out, ", %lld, %lld)", (long long)q->zero_point, (long long)q->divisor);
}

/* ming::Port("x", {1, 3, 32, 32}).stream_order(…).word(…).integers(…).quantize(…).packing(…) */
void emit_port_value(StrBuf *out, const EmitPort *port, const char *indent)
{
    const Type *elem = emithls_scalar(port->word);
    strbuf_add_c(out, "ming::Port(");
    emit_string_literal(out, port->tensor);
    strbuf_add_c(out, ", ");
    add_list(out, port->shape, port->rank);
    strbuf_add_char(out, ')');
    if (!is_identity(port)) {
        strbuf_printf(out, "%s.stream_order(", indent);
        add_order(out, port);
        strbuf_add_char(out, ')');
    }
    if (emithls_lanes(port->word) > 1) {
        strbuf_printf(out, "%s.word(", indent);
        add_list(out, port->word_extents, port->rank);
        strbuf_add_char(out, ')');
    }
    if (type_is_float(elem))
        strbuf_printf(out, "%s.floats(%u)", indent, type_width(elem));
    else
        strbuf_printf(out, "%s.integers(%u%s)", indent, type_width(elem),
                      emit_port_is_signed(port) ? "" : ", false");
    if (port->quant) add_quantizer(out, port, indent);
    strbuf_printf(out, "%s.packing(%lld, %lld)", indent, (long long)port->word_bits,
                  (long long)port->element_bits);
}

/* // Input 'x': … */
static void add_function(StrBuf *out, const EmitPort *port)
{
    strbuf_printf(out, "\n// %s '",
                  port->is_weights ? "Weights"
                  : port->is_input ? "Input"
                                   : "Output");
    emit_comment_text(out, port->tensor);
    strbuf_printf(out, "'\ninline ming::Port %s()\n{\n", port->name);
    strbuf_add_c(out, "    return ");
    emit_port_value(out, port, "\n        ");
    strbuf_add_c(out, ";\n}\n");
}

void emit_host(Emitter *e, StrBuf *out)
{
    strbuf_printf(
        out,
        "// The boundary of %s for host code. Each port's function describes how an array of\n"
        "// the model becomes the bytes that the accelerator takes or gives, frame by frame:\n"
        "//   std::vector<std::uint8_t> bytes = ming::pack(port, array, frame);\n"
        "//   ming::unpack(port, bytes, array, frame);\n",
        e->top_name);
    emit_begin_guard(e, out, "_HOST_H");
    strbuf_printf(out, "#include \"csim/ming_port.h\"\n\nnamespace %s_host\n{\n", e->top_name);
    for (size_t i = 0; i < e->ports.len; i++) add_function(out, &e->ports.data[i]);
    strbuf_printf(out, "\n} // namespace %s_host\n\n#endif\n", e->top_name);
}
