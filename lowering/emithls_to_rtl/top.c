/* The top module: an instance of each process, a FIFO of the library for each stream, and at each
 * port a register slice behind an AXI-Stream. Streams of DMAs have padded words; those that leave have
 * TKEEP and TLAST, which are the last outputs of the module.
 * Tests: lit/lowering/emithls_to_rtl */
#include "dialects/comb/comb.h"
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/hw/hw.h"
#include "dialects/seq/seq.h"
#include "ir/asm/print/print.h"
#include "lowering/emithls_to_rtl/internal.h"

typedef struct TopBuilder {
    const HlsDesign *design;
    Context *ctx;
    Builder outside; /* for externs */
    Builder b;       /* in the top module */
    Op *module;
    Value *clock, *reset;
    PtrMap modules; /* func -> hw.module */
    RtlLibrary library;
    Op **instances; /* of the FIFO of each stream */
    Op **processes; /* instance of each */
} TopBuilder;

static const char *text(Context *ctx, const char *fmt, Str a, const char *b)
{
    StrBuf buf = {0};
    strbuf_printf(&buf, fmt, STR_ARG(a), b);
    const char *out = ident_get(ctx, strbuf_str(&buf))->str.data;
    strbuf_free(&buf);
    return out;
}

static const char *fifo_kind(const HlsStream *stream)
{
    if (!stream->op) return "reg";
    const Attr *impl = op_attr(stream->op, EMITHLS_ATTR_IMPL);
    return impl ? impl->u.string.data : "lutram";
}

/* Inputs that are not known yet hold a constant of their type. */
static Value *nothing(TopBuilder *t, const Type *type)
{
    return hw_build_int(&t->b, type_width(type), 0);
}

enum { FIFO_DIN = 2, FIFO_WRITE, FIFO_READ }; /* operands of an instance */

static void build_fifo(TopBuilder *t, uint32_t index)
{
    const HlsStream *stream = &t->design->streams.data[index];
    uint32_t width = (uint32_t)design_word_bits(stream);
    const Type *bit = type_i(t->ctx, 1);
    Value *inputs[] = {t->clock, t->reset, nothing(t, type_i(t->ctx, width)), nothing(t, bit),
                       nothing(t, bit)};
    Str name = stream->name;
    if (!stream->op) name = str_from(text(t->ctx, "%.*s_%s", stream->name, "slice"));
    const RtlFifo fifo = {fifo_kind(stream), width, stream->depth, stream->latency};
    t->instances[index] = to_rtl_fifo(&t->library, &t->b, &fifo, name, inputs);
}

/* One end of a stream at a process: gives the word and whether there is one, or whether there is
 * room. */
static void add_inputs(const TopBuilder *t, const HlsProcess *p, uint32_t port, Value **inputs,
                       uint32_t *count)
{
    const HlsStream *stream = &t->design->streams.data[p->streams[port]];
    const Op *fifo = t->instances[p->streams[port]];
    if (stream->writer == (uint32_t)(p - t->design->processes.data)) {
        inputs[(*count)++] = hw_output(fifo, "full_n");
        return;
    }
    inputs[(*count)++] = hw_output(fifo, "dout");
    inputs[(*count)++] = hw_output(fifo, "empty_n");
}

static void build_instance(TopBuilder *t, uint32_t index)
{
    const HlsProcess *p = &t->design->processes.data[index];
    Value **inputs = xcalloc(2 + 2 * (size_t)p->port_count, sizeof *inputs);
    uint32_t count = 0, output = 0;
    inputs[count++] = t->clock;
    inputs[count++] = t->reset;
    for (uint32_t i = 0; i < p->port_count; i++) add_inputs(t, p, i, inputs, &count);
    Op *instance =
        hw_build_instance(&t->b, ptrmap_get(&t->modules, p->func), p->name, inputs, NULL);
    for (uint32_t i = 0; i < p->port_count; i++) {
        Op *fifo = t->instances[p->streams[i]];
        if (t->design->streams.data[p->streams[i]].writer == index) {
            op_set_operand(fifo, FIFO_DIN, op_result(instance, output++));
            op_set_operand(fifo, FIFO_WRITE, op_result(instance, output++));
        } else {
            op_set_operand(fifo, FIFO_READ, op_result(instance, output++));
        }
    }
    free_ptr((void **)&inputs);
}

/* Ports of the design. */

static bool is_input(const TopBuilder *t, const HlsStream *stream)
{
    return !t->design->processes.data[stream->writer].func;
}

/* Bits of a beat, where the port is a stream of a DMA; else 0. */
static uint32_t beat_bits(const TopBuilder *t, const HlsStream *stream)
{
    const Attr *all = op_attr(t->design->top, DFG_ATTR_PORT_ATTRS);
    if (!all) return 0;
    return (uint32_t)attr_dict_int(all->u.array.items[stream->arg], EMITHLS_ATTR_BEAT, 0);
}

static uint32_t bus_width(const TopBuilder *t, const HlsStream *stream)
{
    enum { BYTE = 8 };
    if (beat_bits(t, stream)) return beat_bits(t, stream);
    return (uint32_t)ceil_div(design_word_bits(stream), BYTE) * BYTE;
}

static void declare_top(TopBuilder *t)
{
    const Type *bit = type_i(t->ctx, 1);
    VEC(HwPort) ports = {0};
    *vec_push(&ports) = (HwPort){STR("ap_clk"), seq_clock(t->ctx), false};
    *vec_push(&ports) = (HwPort){STR("ap_rst_n"), bit, false};
    for (uint32_t i = 0; i < t->design->port_count; i++) {
        const HlsStream *s = &t->design->streams.data[i];
        bool is_out = !is_input(t, s);
        const Type *bus = type_i(t->ctx, bus_width(t, s));
        *vec_push(&ports) =
            (HwPort){str_from(text(t->ctx, "%.*s_%s", s->name, "TDATA")), bus, is_out};
        *vec_push(&ports) =
            (HwPort){str_from(text(t->ctx, "%.*s_%s", s->name, "TVALID")), bit, is_out};
        *vec_push(&ports) =
            (HwPort){str_from(text(t->ctx, "%.*s_%s", s->name, "TREADY")), bit, !is_out};
    }
    for (uint32_t i = 0; i < t->design->port_count; i++) {
        const HlsStream *s = &t->design->streams.data[i];
        if (is_input(t, s) || !beat_bits(t, s)) continue;
        const Type *keep = type_i(t->ctx, beat_bits(t, s) / 8);
        *vec_push(&ports) =
            (HwPort){str_from(text(t->ctx, "%.*s_%s", s->name, "TKEEP")), keep, true};
        *vec_push(&ports) =
            (HwPort){str_from(text(t->ctx, "%.*s_%s", s->name, "TLAST")), bit, true};
    }
    t->module =
        hw_build_module(&t->outside, symbol_name(t->design->top)->str, ports.data, ports.len);
    vec_free(&ports);
    t->b = t->outside;
    builder_set_end(&t->b, region_entry(op_region(t->module, 0)));
}

static Value *port_input(TopBuilder *t, const HlsStream *s, const char *suffix)
{
    return hw_input(t->module, text(t->ctx, "%.*s_%s", s->name, suffix));
}

/* The word in a beat. */
static Value *word_of_beat(TopBuilder *t, const HlsStream *s, Value *beat)
{
    const Type *elem = emithls_scalar(s->word);
    int64_t lanes = emithls_lanes(s->word), stride = emithls_stride_bits(elem, lanes);
    Value **parts = xcalloc((size_t)lanes, sizeof *parts);
    for (int64_t i = 0; i < lanes; i++)
        parts[lanes - 1 - i] =
            comb_build_extract(&t->b, beat, (uint32_t)(i * stride), type_width(elem));
    Value *word = comb_build_concat(&t->b, parts, (uint32_t)lanes);
    free_ptr((void **)&parts);
    return word;
}

/* A word as a beat: elements with their signs, then zeros. */
static Value *beat_of_word(TopBuilder *t, const HlsStream *s, Value *word)
{
    const Type *elem = emithls_scalar(s->word);
    uint32_t width = type_width(elem);
    int64_t lanes = emithls_lanes(s->word), stride = emithls_stride_bits(elem, lanes);
    Value **parts = xcalloc((size_t)lanes, sizeof *parts);
    for (int64_t i = 0; i < lanes; i++) {
        Value *part = comb_build_extract(&t->b, word, (uint32_t)i * width, width);
        parts[lanes - 1 - i] = comb_build_resize(&t->b, part, (uint32_t)stride, width > 1);
    }
    Value *beat = comb_build_concat(&t->b, parts, (uint32_t)lanes);
    free_ptr((void **)&parts);
    return comb_build_resize(&t->b, beat, bus_width(t, s), false);
}

/* Whether the next beat is the last one of its frame: counts those that leave. */
static Value *build_last(TopBuilder *t, const HlsStream *s, Value *leaves)
{
    uint32_t width = 1;
    while ((int64_t)1 << width < s->words) width++;
    SeqRegister reg = {.clock = t->clock,
                       .enable = leaves,
                       .reset = t->reset,
                       .reset_value = hw_build_int(&t->b, width, 0)};
    Value *count = seq_build_register(&t->b, type_i(t->ctx, width), &reg, 1,
                                      text(t->ctx, "%.*s_%s", s->name, "beats"));
    Value *end = hw_build_int(&t->b, width, s->words - 1);
    Value *is_last = comb_build_icmp(&t->b, COMB_EQ, count, end);
    Value *next = comb_build_binary(&t->b, COMB(ADD), count, hw_build_int(&t->b, width, 1));
    seq_connect(count, comb_build_mux(&t->b, is_last, hw_build_int(&t->b, width, 0), next));
    return is_last;
}

/* TKEEP and TLAST of a stream that goes to a DMA. */
static uint32_t connect_frame(TopBuilder *t, uint32_t index, Value **outputs)
{
    const HlsStream *s = &t->design->streams.data[index];
    if (is_input(t, s) || !beat_bits(t, s)) return 0;
    Value *leaves = op_operand(t->instances[index], FIFO_READ);
    outputs[0] = comb_build_replicate(&t->b, hw_build_int(&t->b, 1, 1), beat_bits(t, s) / 8);
    outputs[1] = build_last(t, s, leaves);
    return 2;
}

/* Connects the slice of a port, and adds the port's outputs. */
static uint32_t connect_port(TopBuilder *t, uint32_t index, Value **outputs)
{
    const HlsStream *s = &t->design->streams.data[index];
    Op *slice = t->instances[index];
    if (is_input(t, s)) {
        Value *data = port_input(t, s, "TDATA"), *ready = hw_output(slice, "full_n");
        uint32_t width = (uint32_t)design_word_bits(s);
        op_set_operand(slice, FIFO_DIN,
                       beat_bits(t, s) ? word_of_beat(t, s, data)
                                       : comb_build_extract(&t->b, data, 0, width));
        op_set_operand(slice, FIFO_WRITE,
                       comb_build_binary(&t->b, COMB(AND), port_input(t, s, "TVALID"), ready));
        outputs[0] = ready;
        return 1;
    }
    Value *valid = hw_output(slice, "empty_n");
    op_set_operand(slice, FIFO_READ,
                   comb_build_binary(&t->b, COMB(AND), port_input(t, s, "TREADY"), valid));
    Value *word = hw_output(slice, "dout");
    outputs[0] = beat_bits(t, s) ? beat_of_word(t, s, word)
                                 : comb_build_resize(&t->b, word, bus_width(t, s), false);
    outputs[1] = valid;
    return 2;
}

static void build_top(TopBuilder *t)
{
    const HlsDesign *design = t->design;
    declare_top(t);
    t->clock = hw_input(t->module, "ap_clk");
    t->reset = comb_build_not(&t->b, hw_input(t->module, "ap_rst_n"));
    op_set_attr(value_def(t->reset), HW_ATTR_NAME_HINT, attr_string_c(t->ctx, "rst"));
    t->instances = xcalloc(design->streams.len, sizeof *t->instances);
    for (uint32_t i = 0; i < design->streams.len; i++) build_fifo(t, i);
    for (uint32_t i = 0; i < design->processes.len; i++)
        if (design->processes.data[i].func) build_instance(t, i);
    Value **outputs = xcalloc(4 * (size_t)design->port_count + 1, sizeof *outputs);
    uint32_t count = 0;
    for (uint32_t i = 0; i < design->port_count; i++) count += connect_port(t, i, outputs + count);
    for (uint32_t i = 0; i < design->port_count; i++) count += connect_frame(t, i, outputs + count);
    hw_build_output(&t->b, outputs, count);
    free_ptr((void **)&outputs);
    free_ptr((void **)&t->instances);
}

bool to_rtl_design(const HlsDesign *design, bool is_generic, Builder *b)
{
    TopBuilder t = {.design = design, .ctx = b->ctx, .outside = *b};
    t.library = to_rtl_library(op_parent(design->top), is_generic, b);
    bool ok = to_rtl_check_design(design);
    for (size_t i = 0; ok && i < design->processes.len; i++) {
        const HlsProcess *p = &design->processes.data[i];
        if (!p->func || ptrmap_has(&t.modules, p->func)) continue;
        Builder at = *b;
        at.loc = p->func->loc;
        Op *module = to_rtl_process(design, p, &t.library, &at);
        if (module) ptrmap_put(&t.modules, p->func, module);
        ok = module != NULL;
    }
    if (ok) build_top(&t);
    ptrmap_free(&t.modules);
    to_rtl_library_free(&t.library);
    return ok;
}
