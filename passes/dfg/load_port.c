/* The port that words of loaded tables come through, as the stream that the chain of processes begins
 * with: a stream of the top function, or a memory that a process reads in its first call.
 *
 *   stream ─▶ chain                 memory ─▶ read_weights ─▶ chain
 *
 * The memory is outside, behind a port of its own (m_axi in HLS), or inside, where a host writes it
 * through AXI4-Lite before it starts the accelerator (s_axilite).
 * Tests: lit/passes/dfg/load-weights-memory.mir, test/e2e/stream_check.py */
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "passes/dfg/internal.h"

static Str interface_mode(const LoadPort *port)
{
    return port->kind == LOAD_AXIS    ? STR("axis")
           : port->kind == LOAD_M_AXI ? STR("m_axi")
                                      : STR("s_axilite");
}

/* Whether the other ports are those of DMAs. */
static bool has_dma(const Op *top)
{
    const Attr *ports = op_attr(top, DFG_ATTR_PORT_ATTRS);
    return ports->u.array.count > 0 &&
           attr_dict_get_c(ports->u.array.items[0], EMITHLS_ATTR_BEAT) != NULL;
}

static const Attr *port_attrs(const LoadPort *port)
{
    Context *ctx = port->top->ctx;
    const Type *word = port->word;
    const int64_t lanes = emithls_lanes(word), elements = port->words * lanes;
    const Type *frame = type_tensor(emithls_scalar(word), &elements, 1, NULL);
    NamedAttr items[6] = {build_named_attr(ctx, EMITHLS_ATTR_FRAME, attr_type(frame)),
                          build_named_attr(ctx, EMITHLS_ATTR_WEIGHTS, attr_unit(ctx)),
                          build_named_attr(ctx, EMITHLS_ATTR_LOADING, attr_i64(ctx, port->trips))};
    uint32_t count = 3;
    if (lanes > 1)
        items[count++] = build_named_attr(ctx, EMITHLS_ATTR_WORD, attr_i64_array(ctx, &lanes, 1));
    if (port->kind == LOAD_AXIS && has_dma(port->top))
        items[count++] = build_named_attr(
            ctx, EMITHLS_ATTR_BEAT, attr_i64(ctx, emithls_beat_bits(emithls_scalar(word), lanes)));
    if (port->chain > 0)
        items[count++] = build_named_attr(ctx, EMITHLS_ATTR_PORT_CHAIN, attr_i64(ctx, port->chain));
    return attr_dict(ctx, items, count);
}

static void add_interface(const LoadPort *port, const char *name, Value *argument,
                          const PortPlaces *places)
{
    Context *ctx = port->top->ctx;
    const NamedAttr attrs[] = {
        build_named_attr(ctx, "mode", attr_string(ctx, interface_mode(port))),
        build_named_attr(ctx, EMITHLS_ATTR_BUNDLE, attr_string_c(ctx, name)),
        build_named_attr(ctx, DFG_ATTR_DEPTH, attr_i64(ctx, port->words)),
    };
    Builder b = builder_before(places->dataflow);
    build(&b, EMITHLS(INTERFACE), &argument, 1, NULL, 0, attrs, port->kind == LOAD_M_AXI ? 3 : 1);
}

/* Assumptions, as those of the cost model for memories outside. The memory inside has a port for the
 * host, which writes bytes, and one for the reader: blocks of 1,024 words of 16 bits. */
static const Attr *reader_report(const LoadPort *port)
{
    enum { M_AXI_LUT = 700, M_AXI_FF = 500, PER_4_BITS = 7, M_AXI_BRAM_BITS = 18 };
    enum { LITE_LUT = 100, LITE_FF = 100, BLOCK_BITS = 16, BLOCK_WORDS = 1024 };
    Context *ctx = port->top->ctx;
    const int64_t lanes = emithls_lanes(port->word),
                  bits = lanes * type_width(emithls_scalar(port->word)),
                  of_width = bits * PER_4_BITS / 4;
    const bool is_outside = port->kind == LOAD_M_AXI;
    const struct {
        const char *name;
        int64_t value;
    } costs[] = {
        {DFG_COST_CYCLES, 0}, /* of a frame */
        {DFG_COST_LUT, is_outside ? M_AXI_LUT + of_width : LITE_LUT + bits},
        {DFG_COST_FF, is_outside ? M_AXI_FF + of_width : LITE_FF + bits},
        {DFG_COST_BRAM18, is_outside
                              ? ceil_div(bits, M_AXI_BRAM_BITS)
                              : ceil_div(bits, BLOCK_BITS) * ceil_div(port->words, BLOCK_WORDS)},
    };
    const Attr *report = port_process_report(ctx, "reader", port->words, lanes);
    for (size_t i = 0; i < COUNT_OF(costs); i++)
        report =
            attr_dict_set(report, ident_get_c(ctx, costs[i].name), attr_i64(ctx, costs[i].value));
    return report;
}

EmithlsNest load_table_once(Builder *b)
{
    const NamedAttr name = build_named_attr(b->ctx, "name", attr_string_c(b->ctx, "loaded"));
    OpState state = {.name = opinfo_of_def(b->ctx, EMITHLS(ONCE))->name,
                     .loc = b->loc,
                     .attrs = attr_dict(b->ctx, &name, 1),
                     .region_count = 1};
    Op *once = build_op(b, &state);
    return (EmithlsNest){.b = builder_at_end(region_add_block(op_region(once, 0)), b->loc)};
}

/* Reads all words in its first call. */
static Op *create_reader(SymbolTable *symbols, const LoadPort *port, const char *name,
                         const Type *memory, const PortPlaces *places)
{
    static const char *const names[2] = {"memory", "out"};
    const Type *const types[2] = {memory, emithls_stream(port->word)};
    Context *ctx = port->top->ctx;
    StrBuf reader = {0};
    strbuf_printf(&reader, "read_%s", name);
    Op *func = port_process_create_at(symbols, port->die, places->process, reader.data,
                                      reader_report(port), types, names);
    strbuf_free(&reader);
    Block *body = region_entry(op_region(func, 0));
    Builder b = builder_at_end(body, func->loc);
    EmithlsNest nest = load_table_once(&b);
    const AffineExpr *place = affine_dim(ctx, 0);
    LoopSpec loop = {"i", port->words};
    NestMark mark = emithls_nest_open(&nest, "words", &loop, 1, LOOP_PIPELINED, -1, -1);
    emithls_nest_write(&nest, emithls_nest_load(&nest, body->args[0], &place, 1), body->args[1]);
    emithls_nest_close(&nest, mark);
    op_set_attr(func, EMITHLS_ATTR_SAME_MEMORY, attr_unit(ctx));
    return func;
}

Value *load_table_port(SymbolTable *symbols, const LoadPort *port, const char *name,
                       PortPlaces *places)
{
    const bool is_memory = port->kind != LOAD_AXIS;
    const Type *type =
        is_memory ? emithls_array(port->word, &port->words, 1) : emithls_stream(port->word);
    Value *argument = port_process_argument(port->top, name, type, port_attrs(port));
    add_interface(port, name, argument, places);
    if (!is_memory) return argument;
    Value *words =
        port_process_stream(places, str_from(name), "words", emithls_stream(port->word), true);
    Op *reader = create_reader(symbols, port, name, type, places);
    port_process_call(places, reader, true, argument, words);
    return words;
}
