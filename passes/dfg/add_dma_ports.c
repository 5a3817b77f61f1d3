/* add-dma-ports: the top function's streams become those of DMAs (AXI DMA and the like), which take
 * words of a power of two of bytes and wait for TLAST.
 *
 *   DMA ─▶ stream ─▶ …  ─▶ stream ─▶ sender ─▶ stream ─▶ DMA
 *
 * A beat carries a word, filled up with zeros. A sender counts the words of a frame, so that the last
 * one can be told; what is received is not looked at, since frames have a known length.
 * Requires: a top function of streams, of words that fit in a beat (choose-unroll{port-bits}).
 * Changes: port_attrs get emithls.beat_bits; outputs get a process.
 * Tests: lit/passes/dfg/add-dma-ports.mir, test/e2e/dma_check.py */
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "passes/dfg/internal.h"
#include "passes/dfg/passes.h"

typedef struct DmaPort {
    Op *top;
    Value *stream; /* the argument */
    Str name;
    int64_t words; /* per frame */
    int64_t bits;  /* of a beat */
} DmaPort;

static bool describe_port(Op *top, uint32_t index, DmaPort *out)
{
    Value *stream = region_entry(op_region(top, 0))->args[index];
    int64_t words;
    if (!port_process_words(top, index, &words)) return false;
    const Type *word = emithls_stream_word(stream->type);
    int64_t lanes = emithls_lanes(word);
    *out = (DmaPort){.top = top,
                     .stream = stream,
                     .name = op_attr(top, EMITHLS_ATTR_ARG_NAMES)->u.array.items[index]->u.string,
                     .words = words,
                     .bits = emithls_beat_bits(emithls_scalar(word), lanes)};
    if (out->bits <= EMITHLS_MAX_BEAT_BITS) return true;
    op_error(top, "argument %u has words of %s, which take %lld bits of a DMA's %d", index,
             type_str(top->ctx, word), (long long)out->bits, EMITHLS_MAX_BEAT_BITS);
    return op_note(top, "choose-unroll{port-bits=%d} and fewer lanes in a folding file avoid them",
                   EMITHLS_MAX_BEAT_BITS);
}

/* What the pipelines of the other processes do when they run empty. */
static void set_style(Op *loop, bool rewinds, bool flushes)
{
    if (rewinds && !emithls_rewind_obstacle(loop))
        op_set_attr(loop, EMITHLS_ATTR_REWIND, attr_unit(loop->ctx));
    if (flushes && !emithls_flush_obstacle(loop))
        op_set_attr(loop, EMITHLS_ATTR_FLUSH, attr_unit(loop->ctx));
}

/* "send_x": for each word of a frame, read and write it. */
static Op *create_sender(SymbolTable *symbols, const DmaPort *port, bool rewinds, bool flushes)
{
    static const char *const names[2] = {"in", "out"};
    const Type *const types[2] = {port->stream->type, port->stream->type};
    const LoopSpec loop = {"i", port->words};
    StrBuf name = {0};
    strbuf_printf(&name, "send_%.*s", STR_ARG(port->name));
    const Attr *report =
        port_process_report(port->top->ctx, "sender", port->words,
                            emithls_lanes(emithls_stream_word(port->stream->type)));
    Op *func =
        port_process_create(symbols, port->stream, port->top, name.data, report, types, names);
    strbuf_free(&name);
    Block *body = region_entry(op_region(func, 0));
    EmithlsNest nest = {.b = builder_at_end(body, port->top->loc)};
    NestMark mark = emithls_nest_open(&nest, "words", &loop, 1, LOOP_PIPELINED, -1, -1);
    emithls_nest_write(&nest, emithls_nest_read(&nest, body->args[0]), body->args[1]);
    emithls_nest_close(&nest, mark);
    set_style(body->first, rewinds, flushes);
    return func;
}

static bool rewinds_anywhere(const Op *module)
{
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
        if (op->def == EMITHLS(FUNC) && emithls_rewound_loop(op)) return true;
    return false;
}

/* The processes write to a stream of their own, and the sender to the port. */
static void connect_sender(Op *sender, const DmaPort *port, PortPlaces *places)
{
    Value *words = port_process_stream(places, port->name, "words", port->stream->type, false);
    VEC(Use *) calls = {0};
    FOR_EACH_USE(use, port->stream)
        if (use->owner->def == EMITHLS(CALL)) *vec_push(&calls) = use;
    for (size_t i = 0; i < calls.len; i++) use_set(calls.data[i], words);
    vec_free(&calls);
    port_process_call(places, sender, false, words, port->stream);
}

static bool add_dma_ports(Pass *pass, Op *module)
{
    (void)pass;
    Op *top = emithls_top(module);
    PortPlaces places = {0};
    SymbolTable symbols;
    VEC(const Attr *) all = {0};
    if (!top) return op_emit_error(module, "there is no top function");
    if (!port_process_places(top, &places)) return false;
    bool ok = true, rewinds = rewinds_anywhere(module), flushes = emithls_flushes(module);
    symtab_init(&symbols, module);
    for (uint32_t i = 0; ok && i < region_entry(op_region(top, 0))->arg_count; i++) {
        const Attr *attrs = op_attr(top, DFG_ATTR_PORT_ATTRS)->u.array.items[i];
        DmaPort port = {0};
        ok = describe_port(top, i, &port);
        if (!ok) break;
        *vec_push(&all) = attr_dict_set(attrs, ident_get_c(top->ctx, EMITHLS_ATTR_BEAT),
                                        attr_i64(top->ctx, port.bits));
        if (!port_process_is_read(port.stream))
            connect_sender(create_sender(&symbols, &port, rewinds, flushes), &port, &places);
    }
    if (ok) op_set_attr(top, DFG_ATTR_PORT_ATTRS, attr_array(top->ctx, all.data, all.len));
    symtab_free(&symbols);
    vec_free(&all);
    return ok;
}

const PassDef pass_add_dma_ports = {
    .name = "add-dma-ports",
    .summary = "Let the top function's streams be those of DMAs: padded words, and TLAST",
    .anchor = "builtin.module",
    .run = add_dma_ports,
};
