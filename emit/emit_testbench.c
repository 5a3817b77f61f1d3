/* <top>_tb.cpp: describes the ports to csim/ming_tb.h, which does the rest.
 * Tests: lit/emit/testbench.mir, test/e2e */
#include "emit/emit_impl.h"

#include "dialects/emithls/emithls.h"

/* "{1, 2, 3}" */
static void add_list(StrBuf *out, const int64_t *items, uint32_t count)
{
    strbuf_add_char(out, '{');
    add_extents(out, items, count, ", ");
    strbuf_add_char(out, '}');
}

static bool is_identity(const Port *port)
{
    for (uint32_t i = 0; i < port->rank; i++)
        if (port->order[i] != i)
            return false;
    return true;
}

static void add_order(StrBuf *out, const Port *port)
{
    strbuf_add_char(out, '{');
    for (uint32_t i = 0; i < port->rank; i++)
        strbuf_printf(out, "%s%u", i ? ", " : "", port->order[i]);
    strbuf_add_char(out, '}');
}

static void add_quantizer(StrBuf *out, const Port *port, const char *indent)
{
    const Quantizer *q = port->quant;
    strbuf_printf(out, "%s.%s(", indent, port->is_input ? "quantize" : "dequantize");
    add_float_literal(out, q->scale, false);
    if (port->is_input)
        strbuf_printf(out, ", %lld, %lld, %lld, ming::Rounding::%.*s)", (long long)q->zero_point,
                      (long long)q->low, (long long)q->high, STR_ARG(q->rounding));
    else
        strbuf_printf(out, ", %lld, %lld)", (long long)q->zero_point, (long long)q->divisor);
}

/* ming::Port("x", {1, 3, 32, 32}).stream_order(…).word(…).integers(…).quantize(…) */
static void add_port(StrBuf *out, const Port *port)
{
    static const char indent[] = "\n                 ";
    const Type *elem = emithls_scalar(port->word);
    strbuf_add_c(out, "ming::Port(");
    add_string_literal(out, port->tensor);
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
    if (type_is_float(elem)) {
        strbuf_printf(out, "%s.floats(%u)", indent, type_width(elem));
        return;
    }
    bool is_signed = port->quant ? port->quant->is_signed : type_width(elem) > 1;
    strbuf_printf(out, "%s.integers(%u%s)", indent, type_width(elem), is_signed ? "" : ", false");
    if (port->quant)
        add_quantizer(out, port, indent);
}

typedef VEC(const char *) Names;

static void declare_channels(Emitter *e, StrBuf *out, const Names *names, bool inputs)
{
    for (size_t i = 0; i < e->ports.len; i++) {
        const Port *port = &e->ports.data[i];
        if (port->is_input != inputs)
            continue;
        strbuf_printf(out, "    ming::%s<%s> %s(\n        tb, ", inputs ? "Input" : "Output",
                      cpp_type(e, port->word), names->data[i]);
        add_port(out, port);
        strbuf_add_c(out, ");\n");
    }
}

static void move_frames(const Emitter *e, StrBuf *out, const Names *names, bool inputs)
{
    for (size_t i = 0; i < e->ports.len; i++)
        if (e->ports.data[i].is_input == inputs)
            strbuf_printf(out, "        %s.%s();\n", names->data[i], inputs ? "write" : "read");
}

static void add_run(Emitter *e, StrBuf *out, const Names *names)
{
    strbuf_add_c(out, "static void run(ming::Testbench &tb)\n{\n");
    declare_channels(e, out, names, true);
    declare_channels(e, out, names, false);
    strbuf_add_c(out, "\n    while (tb.next_frame()) {\n");
    move_frames(e, out, names, true);
    strbuf_printf(out, "        %s(", e->top_name);
    for (size_t i = 0; i < names->len; i++)
        strbuf_printf(out, "%s%s.stream", i ? ", " : "", names->data[i]);
    strbuf_add_c(out, ");\n");
    move_frames(e, out, names, false);
    strbuf_add_c(out, "    }\n    tb.save();\n}\n\n");
}

/* One file per port, inputs first. */
static void add_main(const Emitter *e, StrBuf *out, const Names *names)
{
    strbuf_add_c(out, "int main(int argc, char **argv)\n{\n"
                      "    return ming::run_testbench(argc, argv, \"");
    for (int inputs = 1; inputs >= 0; inputs--)
        for (size_t i = 0; i < names->len; i++)
            if (e->ports.data[i].is_input == (inputs == 1))
                strbuf_printf(out, "%s.npy ", names->data[i]);
    out->data[--out->len] = '\0';
    strbuf_printf(out, "\", %zu, run);\n}\n", names->len);
}

void emit_testbench(Emitter *e, StrBuf *out)
{
    Names names = {0}, used = {0};
    *vec_push(&used) = "tb";
    for (size_t i = 0; i < e->ports.len; i++) {
        const char *name = cpp_fresh_name(e, str_from(e->ports.data[i].name), used.data, used.len);
        *vec_push(&used) = name;
        *vec_push(&names) = name;
    }
    strbuf_printf(out, "// Testbench of %s: arrays in .npy files, one call per frame.\n"
                       "#include \"%s.h\"\n\n#include \"csim/ming_tb.h\"\n\n",
                  e->top_name, e->top_name);
    add_run(e, out, &names);
    add_main(e, out, &names);
    vec_free(&names);
    vec_free(&used);
}
