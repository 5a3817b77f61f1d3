/* engine_isa.h: opcodes with their fixed bits, a namespace for each instruction with a function for
 * each of its fields, and the registers of the fetch unit, all from the tables of the sa dialect. */
#include <string.h>

#include "emit/overlay/internal.h"
#include "ir/asm/print/print.h"

static bool is_instruction(uint32_t i)
{
    return sa_form(&sa_ops[i]) != NULL;
}

/* "pu.add" as pu_add */
static void add_identifier(StrBuf *out, const char *name)
{
    for (; *name; name++) strbuf_add_char(out, *name == '.' ? '_' : *name);
}

static void add_opcodes(StrBuf *out)
{
    strbuf_add_c(out, "enum Opcode {\n");
    for (uint32_t i = 0; i < SA_OP_COUNT; i++)
        if (is_instruction(i)) strbuf_printf(out, "    %s,\n", sa_ops[i].id);
    strbuf_add_c(out, "    UNKNOWN\n};\n\n"
                      "/* The row whose fixed bits the word has. */\n"
                      "inline Opcode opcode(ap_uint<32> w)\n{\n#pragma HLS inline\n");
    for (uint32_t i = 0; i < SA_OP_COUNT; i++)
        if (is_instruction(i))
            strbuf_printf(out, "    if ((w & 0x%08Xu) == 0x%08Xu) return %s;\n",
                          sa_form_mask(sa_form(&sa_ops[i])), sa_form(&sa_ops[i])->fixed,
                          sa_ops[i].id);
    strbuf_add_c(out, "    return UNKNOWN;\n}\n\n");
}

/* A word of C++ gets an underscore. */
static const char *suffix(const char *field)
{
    return strcmp(field, "register") == 0 ? "_" : "";
}

static void add_field(StrBuf *out, const SaField *field)
{
    uint32_t width = field->high - field->low + 1u;
    if (field->flag >= 0)
        strbuf_printf(out, "inline bool has_%s(ap_uint<32> w) { return w[%d]; }\n", field->attr,
                      field->flag);
    strbuf_printf(out,
                  "inline ap_%s<%u> %s%s(ap_uint<32> w) { return ap_uint<%u>(w.range(%u, %u)); }\n",
                  field->is_signed ? "int" : "uint", width, field->attr, suffix(field->attr), width,
                  field->high, field->low);
}

static void add_instruction(StrBuf *out, const OpDef *def)
{
    const SaForm *form = sa_form(def);
    if (!form->fields[0].attr) return;
    strbuf_printf(out, "/* %s */\nnamespace ", def->summary);
    add_identifier(out, def->name);
    strbuf_add_c(out, " {\n");
    for (const SaField *field = form->fields; field->attr; field++) add_field(out, field);
    strbuf_add_c(out, "} // namespace ");
    add_identifier(out, def->name);
    strbuf_add_c(out, "\n\n");
}

static const char *sign(uint32_t reg)
{
    return sa_register_is_signed(reg) ? "" : "u";
}

static void add_registers(StrBuf *out)
{
    strbuf_add_c(out, "/* The registers of the fetch unit. */\nstruct Registers {\n");
    for (uint32_t i = 0; i < SA_REG_COUNT; i++)
        strbuf_printf(out, "    ap_%sint<16> %s; /* %s */\n", sign(i), sa_register_name(i),
                      sa_register_summary(i));
    strbuf_add_c(out, "\n    /* False: there is no register of that number. */\n"
                      "    bool set(ap_uint<14> number, ap_uint<16> value)\n    {\n"
                      "#pragma HLS inline\n        switch (int(number)) {\n");
    for (uint32_t i = 0; i < SA_REG_COUNT; i++)
        strbuf_printf(out, "        case %u: %s = value; return true;\n", i, sa_register_name(i));
    strbuf_add_c(out, "        default: return false;\n        }\n    }\n};\n\n");
}

/* What fields that are keywords stand for. */
static void add_keywords(StrBuf *out)
{
    strbuf_printf(out,
                  "enum Buffer { BUFFER_ACTIVATIONS = %d, BUFFER_WEIGHTS = %d, BUFFER_OUTPUT = %d, "
                  "BUFFER_PARAMETERS = %d };\n",
                  SA_BUFFER_ACTIVATIONS, SA_BUFFER_WEIGHTS, SA_BUFFER_OUTPUT, SA_BUFFER_PARAMETERS);
    strbuf_printf(out,
                  "enum Source { SOURCE_SUMS = %d, SOURCE_OPERAND = %d, SOURCE_PARAMETER = %d };\n",
                  SA_SOURCE_SUMS, SA_SOURCE_OPERAND, SA_SOURCE_PARAMETER);
    strbuf_printf(out,
                  "enum Rounding { ROUND_FLOOR = %d, ROUND_HALF_UP = %d, ROUND_HALF_EVEN = %d };\n",
                  SA_ROUND_FLOOR, SA_ROUND_HALF_UP, SA_ROUND_HALF_EVEN);
    strbuf_printf(
        out,
        "enum Mode { MODE_DENSE = %d, MODE_DEPTHWISE = %d, MODE_POOL = %d, MODE_ELTWISE = %d "
        "};\n\n",
        SA_MODE_DENSE, SA_MODE_DEPTHWISE, SA_MODE_POOL, SA_MODE_ELTWISE);
}

void overlay_hls_print_isa(StrBuf *out)
{
    strbuf_add_c(out, "/* The instructions, generated from the rows of the sa dialect. */\n"
                      "#ifndef ENGINE_ISA_H\n#define ENGINE_ISA_H\n\n#include <ap_int.h>\n\n"
                      "namespace isa {\n\n");
    add_opcodes(out);
    for (uint32_t i = 0; i < SA_OP_COUNT; i++)
        if (is_instruction(i)) add_instruction(out, &sa_ops[i]);
    add_registers(out);
    add_keywords(out);
    strbuf_add_c(out, "} // namespace isa\n\n#endif\n");
}
