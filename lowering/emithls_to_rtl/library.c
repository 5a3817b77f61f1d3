/* The library's modules that a design instantiates (emit/rtl): each is declared once for each widths
 * of its ports.
 * Tests: lit/lowering/emithls_to_rtl/top.mir, lit/lowering/emithls_to_rtl/slices.mir */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/hw/hw.h"
#include "dialects/seq/seq.h"
#include "lowering/emithls_to_rtl/internal.h"

RtlLibrary to_rtl_library(const Op *module, bool is_generic, const Builder *outside)
{
    static const RtlSlices slices[] = {{"DSP48E1", 25, 18, 48}, {"DSP48E2", 27, 18, 48}};
    const Attr *kind = op_attr(module, DFG_ATTR_DSP_KIND);
    bool is_old = kind && kind->kind == ATTR_STRING && str_eq_c(kind->u.string, slices[0].kind);
    RtlLibrary library = {.outside = *outside, .slices = slices[!is_old], .is_generic = is_generic};
    if (is_generic) library.slices.kind = "generic";
    return library;
}

void to_rtl_library_free(RtlLibrary *library)
{
    ptrmap_free(&library->modules);
}

typedef struct Param {
    const char *name;
    int64_t value;
    const char *text; /* a string instead of a number, or NULL */
} Param;

/* A module with its parameters. */
typedef struct Part {
    Str symbol;
    const char *verilog_name;
    const HwPort *ports;
    size_t port_count;
    const Param *params;
    size_t param_count;
} Part;

/* The declaration of that name, made if there is none. */
static Op *declare(RtlLibrary *l, Str symbol, const char *verilog_name, const HwPort *ports,
                   size_t count, const Attr *params)
{
    Context *ctx = l->outside.ctx;
    const Ident *name = ident_get(ctx, symbol);
    Op *module = ptrmap_get(&l->modules, name);
    if (module) return module;
    Str in_verilog = ident_get_c(ctx, verilog_name)->str;
    module = hw_build_extern(&l->outside, name->str, ports, count, in_verilog, params);
    ptrmap_put(&l->modules, name, module);
    return module;
}

/* An instance's parameters, or without values those of the declaration. */
static const Attr *parameters(Context *ctx, const Param *params, size_t count, bool has_values)
{
    enum { MOST = 16 };
    const Attr *list[MOST];
    for (size_t i = 0; i < count; i++) {
        const Param *p = &params[i];
        const Type *type = p->text ? type_none(ctx) : type_i(ctx, 32);
        const Attr *value = p->text ? attr_string_c(ctx, p->text) : attr_int(type, p->value);
        list[i] = hw_param(ctx, str_from(p->name), type, has_values ? value : NULL);
    }
    return attr_array(ctx, list, (uint32_t)count);
}

static Op *instance(RtlLibrary *l, Builder *b, const Part *part, Str name, Value *const *inputs)
{
    Op *module = declare(l, part->symbol, part->verilog_name, part->ports, part->port_count,
                         parameters(b->ctx, part->params, part->param_count, false));
    return hw_build_instance(b, module, name, inputs,
                             parameters(b->ctx, part->params, part->param_count, true));
}

static Str symbol_of(Context *ctx, StrBuf *text)
{
    Str symbol = ident_get(ctx, strbuf_str(text))->str;
    strbuf_free(text);
    return symbol;
}

Op *to_rtl_fifo(RtlLibrary *l, Builder *b, const RtlFifo *fifo, Str name, Value *const *inputs)
{
    Context *ctx = b->ctx;
    const Type *bit = type_i(ctx, 1), *word = type_i(ctx, fifo->width);
    StrBuf symbol = {0}, verilog_name = {0};
    strbuf_printf(&verilog_name, "ming_fifo_%s", fifo->kind);
    strbuf_printf(&symbol, "%s_%u%s", verilog_name.data, fifo->width,
                  fifo->latency > 1 ? "_late" : "");
    const HwPort ports[] = {
        {STR("clk"), seq_clock(ctx), false}, {STR("rst"), bit, false},   {STR("din"), word, false},
        {STR("full_n"), bit, true},          {STR("write"), bit, false}, {STR("dout"), word, true},
        {STR("empty_n"), bit, true},         {STR("read"), bit, false},
    };
    Param params[4] = {{"WIDTH", fifo->width, NULL}, {"DEPTH", fifo->depth, NULL}};
    size_t count = 2;
    if (fifo->latency > 1) params[count++] = (Param){"LATENCY", fifo->latency, NULL};
    if (strcmp(fifo->kind, "srl") == 0)
        params[count++] = (Param){"PRIMITIVES", !l->is_generic, NULL};
    const Part part = {.symbol = symbol_of(ctx, &symbol),
                       .verilog_name = symbol_of(ctx, &verilog_name).data,
                       .ports = ports,
                       .port_count = COUNT_OF(ports),
                       .params = params,
                       .param_count = count};
    return instance(l, b, &part, name, inputs);
}

/* The width of an instance's operand; of none a bit. */
static uint32_t operand_width(const Value *value)
{
    return value ? type_width(value->type) : 1;
}

Op *to_rtl_dsp(RtlLibrary *l, Builder *b, const RtlDsp *dsp)
{
    Context *ctx = b->ctx;
    const Type *bit = type_i(ctx, 1), *sum = type_i(ctx, l->slices.accumulator);
    uint32_t widths[] = {operand_width(dsp->a), operand_width(dsp->b), operand_width(dsp->c),
                         operand_width(dsp->d), dsp->width};
    StrBuf symbol = {0};
    strbuf_printf(&symbol, "ming_dsp_%u_%u_%u_%u_%u", widths[0], widths[1], widths[2], widths[3],
                  widths[4]);
    const HwPort ports[] = {
        {STR("clk"), seq_clock(ctx), false},
        {STR("ce_first"), bit, false},
        {STR("ce_in"), bit, false},
        {STR("ce_product"), bit, false},
        {STR("ce_sum"), bit, false},
        {STR("a"), type_i(ctx, widths[0]), false},
        {STR("b"), type_i(ctx, widths[1]), false},
        {STR("c"), type_i(ctx, widths[2]), false},
        {STR("d"), type_i(ctx, widths[3]), false},
        {STR("pcin"), sum, false},
        {STR("pcout"), sum, true},
        {STR("p"), type_i(ctx, widths[4]), true},
    };
    const Param params[] = {
        {"KIND", 0, l->slices.kind},
        {"A_WIDTH", widths[0], NULL},
        {"B_WIDTH", widths[1], NULL},
        {"C_WIDTH", widths[2], NULL},
        {"D_WIDTH", widths[3], NULL},
        {"P_WIDTH", widths[4], NULL},
        {"A_REGISTERS", dsp->a_registers, NULL},
        {"B_REGISTERS", dsp->b_registers, NULL},
        {"PRE_ADD", dsp->d != NULL, NULL},
        {"SUM",
         dsp->pcin ? 2
         : dsp->c  ? 1
                   : 0,
         NULL},
    };
    const Part part = {.symbol = symbol_of(ctx, &symbol),
                       .verilog_name = "ming_dsp",
                       .ports = ports,
                       .port_count = COUNT_OF(ports),
                       .params = params,
                       .param_count = COUNT_OF(params)};
    Value *zero = hw_build_int(b, 1, 0);
    Value *inputs[] = {dsp->clock,
                       dsp->ce_first ? dsp->ce_first : zero,
                       dsp->ce_in,
                       dsp->ce_product,
                       dsp->ce_sum ? dsp->ce_sum : zero,
                       dsp->a,
                       dsp->b,
                       dsp->c ? dsp->c : zero,
                       dsp->d ? dsp->d : zero,
                       dsp->pcin ? dsp->pcin : hw_build_int(b, l->slices.accumulator, 0)};
    return instance(l, b, &part, STR("slice"), inputs);
}
