/* add-memory-ports: the top function's streams become memories, from and to which reader and writer
 * processes stream (m_axi in HLS).
 *
 *   stream of words  ─▶  memory ─▶ reader ─▶ stream ─▶ …  ─▶ stream ─▶ writer ─▶ memory
 *
 * A memory holds one frame: its words in order, each in a slot of a power of two of elements, each
 * element in an integer of 8, 16, 32 or 64 bits or in a float. Elements are packed into bus words:
 * several slots in one bus word if slots are narrower, one slot in several bus words if it is
 * wider.
 * Requires: a top function of streams.
 * Changes: the top function's arguments, except for the port of weights.
 * Tests: lit/passes/dfg/add-memory-ports.mir, test/e2e */
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "passes/dfg/passes.h"

/* Narrow words share a bus word up to PACKED_BUS bits, the width of an MPSoC's memory ports; FRAMES
 * are what a co-simulated call may process. */
enum { MAX_BUS = 512, PACKED_BUS = 128, FRAMES = 4, MIN_ELEM = 8, STREAM_DEPTH = 2 };

/* An argument of the top function and the process that serves it. */
typedef struct MemoryPort {
    Op *top;
    Value *stream; /* the argument */
    Str name;
    bool is_input;
    int64_t words;       /* per frame */
    int64_t lanes;       /* elements of a word */
    const Type *word;    /* of the stream */
    const Type *element; /* of the memory */
    int64_t bus_lanes;   /* elements of a bus word */
    int64_t slots;       /* words in a bus word, or 1 */
    int64_t chunks;      /* bus words of a word, or 1 */
    int64_t slot;        /* elements from one word to the next inside a bus word */
} MemoryPort;

static int64_t power_of_two(int64_t at_least)
{
    int64_t power = 1;
    while (power < at_least) power *= 2;
    return power;
}

static const Type *memory_element(const Type *scalar)
{
    int64_t bits = power_of_two(type_width(scalar));
    if (type_is_float(scalar)) return scalar;
    return type_i(scalar->ctx, (uint32_t)(bits < MIN_ELEM ? MIN_ELEM : bits));
}

static void choose_bus(MemoryPort *port)
{
    int64_t bits = type_width(port->element);
    port->slot = power_of_two(port->lanes);
    port->slots = port->chunks = 1;
    port->bus_lanes = port->slot;
    if (port->slot * bits > MAX_BUS) {
        port->bus_lanes = MAX_BUS / bits;
        port->chunks = (port->lanes + port->bus_lanes - 1) / port->bus_lanes;
        port->slot = 0;
        return;
    }
    while (port->bus_lanes * bits * 2 <= PACKED_BUS && port->words % (port->slots * 2) == 0) {
        port->slots *= 2;
        port->bus_lanes *= 2;
    }
}

static const Type *memory_type(const MemoryPort *port)
{
    int64_t count = port->words / port->slots * port->chunks;
    const Type *bus = port->bus_lanes == 1 ? port->element
                                           : type_vector(port->element, &port->bus_lanes, 1, NULL);
    return emithls_array(bus, &count, 1);
}

/* Whether the calls that take a stream read it. */
static bool is_read(const Value *stream)
{
    FOR_EACH_USE(use, stream) {
        if (use->owner->def != EMITHLS(CALL)) continue;
        Op *callee = symbol_lookup(use->owner, op_attr(use->owner, "callee"));
        const Value *arg = region_entry(op_region(callee, 0))->args[use_index(use)];
        FOR_EACH_USE(inner, arg)
            if (inner->owner->def == EMITHLS(READ)) return true;
    }
    return false;
}

static bool describe_port(Op *top, uint32_t index, MemoryPort *out)
{
    const Attr *attrs = op_attr(top, DFG_ATTR_PORT_ATTRS)->u.array.items[index];
    const Attr *frame = attr_dict_get_c(attrs, EMITHLS_ATTR_FRAME);
    Value *stream = region_entry(op_region(top, 0))->args[index];
    int64_t elements;
    if (!type_is_a(stream->type, &emithls_type_stream) || !frame || frame->kind != ATTR_TYPE ||
        frame->u.type_value->kind != TYPE_RANKED_TENSOR ||
        !type_element_count(frame->u.type_value, &elements))
        return op_error(top, "argument %u must be a stream with emithls.frame", index);
    const Type *word = emithls_stream_word(stream->type);
    *out =
        (MemoryPort){.top = top,
                     .stream = stream,
                     .word = word,
                     .is_input = is_read(stream),
                     .name = op_attr(top, EMITHLS_ATTR_ARG_NAMES)->u.array.items[index]->u.string,
                     .lanes = emithls_lanes(word),
                     .element = memory_element(emithls_scalar(word))};
    if (type_width(out->element) > 64)
        return op_error(top, "argument %u has elements of more than 64 bits", index);
    out->words = elements / out->lanes;
    choose_bus(out);
    return true;
}

/* One end of the process: a variable that holds a word of the stream or of the bus. */
typedef struct End {
    Value *variable, *source;  /* source: the stream or the memory */
    const AffineExpr *index;   /* element of the variable, by counters */
    const AffineExpr *address; /* in the memory; NULL: a stream */
    int64_t parts;             /* iterations that one word lasts */
    int64_t lanes;
} End;

typedef struct PortProcess {
    const MemoryPort *port;
    EmithlsNest nest;
    End bus, word;
    const AffineExpr *part; /* counter over slots or chunks, or 0 */
} PortProcess;

static void declare_variable(PortProcess *p, End *end, const char *name, const Type *type)
{
    end->variable = emithls_nest_variable(&p->nest, name, type, NULL, 0);
}

/* Opens a condition on the first or last part of what lasts several iterations. */
static NestMark open_part(PortProcess *p, const End *end, bool last)
{
    EmithlsNest *nest = &p->nest;
    const AffineExpr *at = last ? affine_add_c(p->part, 1 - end->parts) : p->part;
    const bool is_eq = true;
    if (end->parts == 1) return (NestMark){nest->b.block, nest->b.before, nest->count};
    return emithls_nest_open_if(nest, &at, &is_eq, 1);
}

static void take_word(PortProcess *p, const End *end)
{
    NestMark mark = open_part(p, end, false);
    Value *word = end->address ? emithls_nest_load(&p->nest, end->source, &end->address, 1)
                               : emithls_nest_read(&p->nest, end->source);
    const AffineExpr *none = NULL;
    emithls_nest_store(&p->nest, word, end->variable, &none, 0);
    emithls_nest_close(&p->nest, mark);
}

static void give_word(PortProcess *p, const End *end)
{
    NestMark mark = open_part(p, end, true);
    Value *word = emithls_nest_load(&p->nest, end->variable, NULL, 0);
    if (end->address)
        emithls_nest_store(&p->nest, word, end->source, &end->address, 1);
    else
        emithls_nest_write(&p->nest, word, end->source);
    emithls_nest_close(&p->nest, mark);
}

static Value *resize(EmithlsNest *nest, Value *value, const Type *to)
{
    uint32_t from = type_width(value->type);
    if (value->type == to) return value;
    return build_unary(&nest->b, from > type_width(to) ? ARITH(TRUNCI) : ARITH(EXTSI), to, value);
}

/* One element from end to end for each lane that an iteration moves. */
static void move_lanes(PortProcess *p, const End *from, End *to)
{
    EmithlsNest *nest = &p->nest;
    const MemoryPort *port = p->port;
    int64_t moved = port->chunks > 1 ? port->bus_lanes : port->lanes;
    LoopSpec loop = {"lane", moved};
    NestMark mark = {nest->b.block, nest->b.before, nest->count}, guard = mark;
    if (moved > 1) mark = emithls_nest_open(nest, "lanes", &loop, 1, LOOP_UNROLLED, -1, -1);
    if (port->chunks * moved > port->lanes) {
        const AffineExpr *inside = affine_add_c(affine_neg(p->word.index), port->lanes - 1);
        const bool is_eq = false;
        guard = emithls_nest_open_if(nest, &inside, &is_eq, 1);
    }
    Value *value = emithls_nest_load(nest, from->variable, &from->index, from->lanes > 1);
    value = resize(nest, value, emithls_scalar(emithls_array_elem(to->variable->type)));
    emithls_nest_store(nest, value, to->variable, &to->index, to->lanes > 1);
    if (port->chunks * moved > port->lanes) emithls_nest_close(nest, guard);
    emithls_nest_close(nest, mark);
}

static void build_process(PortProcess *p, const Type *bus)
{
    const MemoryPort *port = p->port;
    Context *ctx = port->top->ctx;
    EmithlsNest *nest = &p->nest;
    LoopSpec loops[2] = {{"i", port->words / port->slots}, {"part", port->slots * port->chunks}};
    bool has_parts = loops[1].extent > 1;
    const AffineExpr *i = affine_dim(ctx, 0), *lane = affine_dim(ctx, has_parts ? 2 : 1);
    p->part = has_parts ? affine_dim(ctx, 1) : affine_const(ctx, 0);
    p->bus.parts = port->slots;
    p->word.parts = port->chunks;
    p->bus.lanes = port->bus_lanes;
    p->word.lanes = port->lanes;
    if (port->lanes == 1) lane = affine_const(ctx, 0);
    p->bus.index = affine_add(affine_mul_c(p->part, port->slot), lane);
    p->word.index = lane;
    p->bus.address = i;
    if (port->chunks > 1) {
        p->bus.index = lane;
        p->word.index = affine_add(affine_mul_c(p->part, port->bus_lanes), lane);
        p->bus.address = affine_add(affine_mul_c(i, port->chunks), p->part);
    }
    if (p->bus.parts > 1) declare_variable(p, &p->bus, "bus_word", bus);
    if (p->word.parts > 1) declare_variable(p, &p->word, "word", port->word);
    NestMark mark =
        emithls_nest_open(nest, "words", loops, has_parts ? 2 : 1, LOOP_PIPELINED, -1, -1);
    if (!p->bus.variable) declare_variable(p, &p->bus, "bus_word", bus);
    if (!p->word.variable) declare_variable(p, &p->word, "word", port->word);
    End *from = port->is_input ? &p->bus : &p->word, *to = port->is_input ? &p->word : &p->bus;
    take_word(p, from);
    move_lanes(p, from, to);
    give_word(p, to);
    emithls_nest_close(nest, mark);
}

static const Attr *process_report(const MemoryPort *port)
{
    Context *ctx = port->top->ctx;
    int64_t trips = port->words * port->chunks, trip_counts[2] = {port->words, port->lanes};
    int64_t unroll[2] = {1, port->chunks > 1 ? port->bus_lanes : port->lanes};
    const NamedAttr items[] = {
        build_named_attr(ctx, DFG_REPORT_CLASS,
                         attr_string_c(ctx, port->is_input ? "reader" : "writer")),
        build_named_attr(ctx, DFG_REPORT_TRIP_COUNTS, attr_i64_array(ctx, trip_counts, 2)),
        build_named_attr(ctx, DFG_REPORT_UNROLL, attr_i64_array(ctx, unroll, 2)),
        build_named_attr(ctx, DFG_COST_CYCLES, attr_i64(ctx, trips)),
        build_named_attr(ctx, DFG_COST_DSP, attr_i64(ctx, 0)),
        build_named_attr(ctx, DFG_COST_BRAM18, attr_i64(ctx, 0)),
        build_named_attr(ctx, DFG_COST_URAM, attr_i64(ctx, 0)),
        build_named_attr(ctx, DFG_COST_LUT, attr_i64(ctx, 0)),
        build_named_attr(ctx, DFG_COST_FF, attr_i64(ctx, 0)),
    };
    return attr_dict(ctx, items, COUNT_OF(items));
}

/* The function "read_x" of (memory, out) or "write_x" of (in, memory), before `place`. */
static Op *create_process(SymbolTable *symbols, const MemoryPort *port, Op *place)
{
    Context *ctx = port->top->ctx;
    const Type *memory = memory_type(port);
    const Type *types[2] = {memory, port->stream->type};
    const Attr *names[2] = {attr_string_c(ctx, "memory"), attr_string_c(ctx, "out")};
    StrBuf name = {0};
    uint32_t bus = port->is_input ? 0 : 1;
    if (!port->is_input) {
        types[0] = port->stream->type, types[1] = memory;
        names[0] = attr_string_c(ctx, "in"), names[1] = attr_string_c(ctx, "memory");
    }
    strbuf_printf(&name, "%s_%.*s", port->is_input ? "read" : "write", STR_ARG(port->name));
    const NamedAttr attrs[] = {
        build_named_attr(ctx, "sym_name", attr_string(ctx, strbuf_str(&name))),
        build_named_attr(ctx, "function_type", attr_type(type_function(ctx, types, 2, NULL, 0))),
        build_named_attr(ctx, EMITHLS_ATTR_ARG_NAMES, attr_array(ctx, names, 2)),
        build_named_attr(ctx, DFG_ATTR_REPORT, process_report(port)),
    };
    strbuf_free(&name);
    OpState state = {.name = opinfo_of_def(ctx, EMITHLS(FUNC))->name,
                     .loc = port->top->loc,
                     .attrs = attr_dict(ctx, attrs, COUNT_OF(attrs)),
                     .region_count = 1};
    Op *func = op_create(ctx, &state);
    op_insert_before(func, place);
    symtab_insert(symbols, func);
    Block *body = region_add_block(op_region(func, 0));
    for (uint32_t i = 0; i < 2; i++) block_add_arg(body, types[i], port->top->loc);
    PortProcess p = {.port = port,
                     .nest = {.b = builder_at_end(body, port->top->loc)},
                     .bus = {.source = body->args[bus]},
                     .word = {.source = body->args[1 - bus]}};
    build_process(&p, emithls_array_elem(memory));
    return func;
}

/* The places of new ops in the top function: streams and then readers in front of the existing ops,
 * writers at the end. */
typedef struct Places {
    Op *process;  /* readers' functions come before it */
    Op *dataflow; /* interfaces before it */
    Op *stream;   /* streams behind it: the last one added */
    Op *call;     /* readers' calls before it */
} Places;

static bool find_places(Op *top, Places *out)
{
    FOR_EACH_OP(op, region_entry(op_region(top, 0))) {
        if (op->def == EMITHLS(DATAFLOW)) out->dataflow = op;
        if (op->def == EMITHLS(CALL) && !out->call) out->call = op;
    }
    out->process = top;
    FOR_EACH_OP(op, top->block)
        if (op->def == EMITHLS(FUNC)) {
            out->process = op;
            break;
        }
    if (!out->dataflow || !out->call || !op_attr(top, DFG_ATTR_PORT_ATTRS))
        return op_error(top, "needs port_attrs, an emithls.dataflow and calls");
    out->stream = out->dataflow;
    return true;
}

static void set_interface(const MemoryPort *port, Value *memory, const Places *places)
{
    Context *ctx = port->top->ctx;
    Builder b = builder_before(places->dataflow);
    const NamedAttr attrs[3] = {
        build_named_attr(ctx, "mode", attr_string_c(ctx, "m_axi")),
        build_named_attr(ctx, EMITHLS_ATTR_BUNDLE, attr_string(ctx, port->name)),
        build_named_attr(ctx, DFG_ATTR_DEPTH,
                         attr_i64(ctx, emithls_array_dim(memory->type, 0) * FRAMES))};
    build(&b, EMITHLS(INTERFACE), &memory, 1, NULL, 0, attrs, 3);
}

/* The stream that takes the argument's place among the processes. */
static Value *add_stream(const MemoryPort *port, Places *places)
{
    Context *ctx = port->top->ctx;
    Builder b = builder_after(places->stream);
    StrBuf name = {0};
    strbuf_printf(&name, "%.*s_words", STR_ARG(port->name));
    const NamedAttr attrs[3] = {build_named_attr(ctx, "name", attr_string(ctx, strbuf_str(&name))),
                                build_named_attr(ctx, DFG_ATTR_DEPTH, attr_i64(ctx, STREAM_DEPTH)),
                                build_named_attr(ctx, EMITHLS_ATTR_FIXED, attr_unit(ctx))};
    strbuf_free(&name);
    places->stream = build(&b, EMITHLS(STREAM), NULL, 0, &port->stream->type, 1, attrs, 3);
    return op_result(places->stream, 0);
}

static void erase_interface(Value *argument)
{
    Op *interface = NULL;
    FOR_EACH_USE(use, argument)
        if (use->owner->def == EMITHLS(INTERFACE)) interface = use->owner;
    if (interface) op_erase(interface);
}

static void connect_port(SymbolTable *symbols, const MemoryPort *port, Places *places)
{
    Op *process = create_process(symbols, port, port->is_input ? places->process : port->top);
    Value *memory = port->stream, *stream = add_stream(port, places);
    erase_interface(memory);
    value_replace_all(memory, stream);
    memory->type = memory_type(port);
    set_interface(port, memory, places);
    Value *args[2] = {port->is_input ? memory : stream, port->is_input ? stream : memory};
    NamedAttr callee = build_named_attr(port->top->ctx, "callee",
                                        attr_symbol(port->top->ctx, symbol_name(process)));
    Builder b = builder_at_end(places->call->block, places->call->loc);
    if (port->is_input) builder_set_before(&b, places->call);
    build(&b, EMITHLS(CALL), args, 2, NULL, 0, &callee, 1);
}

static void set_function_type(Op *top)
{
    Block *body = region_entry(op_region(top, 0));
    VEC(const Type *) types = {0};
    for (uint32_t i = 0; i < body->arg_count; i++) *vec_push(&types) = body->args[i]->type;
    op_set_attr(top, "function_type",
                attr_type(type_function(top->ctx, types.data, types.len, NULL, 0)));
    vec_free(&types);
}

static bool add_memory_ports(Pass *pass, Op *module)
{
    (void)pass;
    Op *top = emithls_top(module);
    SymbolTable symbols;
    Places places = {0};
    if (!top) return op_emit_error(module, "there is no top function");
    if (!find_places(top, &places)) return false;
    bool ok = true;
    symtab_init(&symbols, module);
    for (uint32_t i = 0; ok && i < region_entry(op_region(top, 0))->arg_count; i++) {
        MemoryPort port = {0};
        const Attr *attrs = op_attr(top, DFG_ATTR_PORT_ATTRS)->u.array.items[i];
        if (attr_dict_get_c(attrs, EMITHLS_ATTR_WEIGHTS)) continue;
        ok = describe_port(top, i, &port);
        if (ok) connect_port(&symbols, &port, &places);
    }
    if (ok) set_function_type(top);
    symtab_free(&symbols);
    return ok;
}

const PassDef pass_add_memory_ports = {
    .name = "add-memory-ports",
    .summary = "Let the top function read and write memories (m_axi) instead of streams",
    .anchor = "builtin.module",
    .run = add_memory_ports,
};
