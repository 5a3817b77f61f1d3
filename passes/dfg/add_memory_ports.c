/* add-memory-ports: the top function's streams become memories, from and to which reader and writer
 * processes stream (m_axi in HLS).
 *
 *   stream of words  ─▶  memory ─▶ reader ─▶ stream ─▶ …  ─▶ stream ─▶ writer ─▶ memory
 *
 * A memory holds one frame: its words in order, each in a slot of a power of two of elements, each
 * element in an integer of 8, 16, 32 or 64 bits or in a float. Elements are packed into bus words:
 * several slots in one bus word if slots are narrower, one slot in several bus words if it is
 * wider. Then a process of its own stands between words and bus words, so that readers and writers
 * access the memory in every iteration: synthesis makes bursts of accesses without conditions only.
 * Requires: a top function of streams, without a choice of control.
 * Changes: the top function's arguments, except for the port of weights.
 * Tests: lit/passes/dfg/add-memory-ports.mir, test/e2e */
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "passes/dfg/internal.h"
#include "passes/dfg/passes.h"

/* Narrow words share a bus word up to PACKED_BUS bits, the width of an MPSoC's memory ports; FRAMES
 * are what a co-simulated call may process. */
enum { MAX_BUS = 512, PACKED_BUS = 128, FRAMES = 4, MIN_ELEM = 8, MAX_ELEM = 64 };

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

bool port_process_slot(const Type *word, PortSlot *out)
{
    int64_t lanes = emithls_lanes(word), bits = type_width(memory_element(emithls_scalar(word)));
    *out = (PortSlot){.bits = bits, .elements = power_of_two(lanes), .beats = 1};
    if (bits > MAX_ELEM) return false;
    if (out->elements * bits > MAX_BUS) {
        out->beats = ceil_div(lanes, MAX_BUS / bits);
        out->elements = out->beats * (MAX_BUS / bits);
    }
    return true;
}

static void choose_bus(MemoryPort *port, const PortSlot *slot)
{
    int64_t bits = slot->bits;
    port->slot = slot->beats > 1 ? 0 : slot->elements;
    port->chunks = slot->beats;
    port->slots = 1;
    port->bus_lanes = slot->elements / slot->beats;
    if (slot->beats > 1) return;
    while (port->bus_lanes * bits * 2 <= PACKED_BUS && port->words % (port->slots * 2) == 0) {
        port->slots *= 2;
        port->bus_lanes *= 2;
    }
}

static const Type *bus_type(const MemoryPort *port)
{
    return port->bus_lanes == 1 ? port->element
                                : type_vector(port->element, &port->bus_lanes, 1, NULL);
}

static const Type *memory_type(const MemoryPort *port)
{
    int64_t count = port->words / port->slots * port->chunks;
    return emithls_array(bus_type(port), &count, 1);
}

static bool describe_port(Op *top, uint32_t index, MemoryPort *out)
{
    Value *stream = region_entry(op_region(top, 0))->args[index];
    int64_t words;
    if (!port_process_words(top, index, &words)) return false;
    const Type *word = emithls_stream_word(stream->type);
    *out =
        (MemoryPort){.top = top,
                     .stream = stream,
                     .word = word,
                     .is_input = port_process_is_read(stream),
                     .name = op_attr(top, EMITHLS_ATTR_ARG_NAMES)->u.array.items[index]->u.string,
                     .lanes = emithls_lanes(word),
                     .element = memory_element(emithls_scalar(word))};
    PortSlot slot;
    if (!port_process_slot(word, &slot))
        return op_error(top, "argument %u has elements of more than %d bits", index, MAX_ELEM);
    out->words = words;
    choose_bus(out, &slot);
    return true;
}

static Value *resize(EmithlsNest *nest, Value *value, const Type *to)
{
    uint32_t from = type_width(value->type);
    if (value->type == to) return value;
    return build_unary(&nest->b, from > type_width(to) ? ARITH(TRUNCI) : ARITH(EXTSI), to, value);
}

/* to[to_index] = from[from_index], in the width of the element stored. */
static void copy_element(EmithlsNest *nest, Value *from, const AffineExpr *const *from_index,
                         uint32_t from_rank, Value *to, const AffineExpr *const *to_index,
                         uint32_t to_rank)
{
    Value *value = emithls_nest_load(nest, from, from_index, from_rank);
    value = resize(nest, value, emithls_scalar(emithls_array_elem(to->type)));
    emithls_nest_store(nest, value, to, to_index, to_rank);
}

static bool has_parts(const MemoryPort *port)
{
    return port->slots * port->chunks > 1;
}

/* A word per bus word: an iteration moves it from one to the other. */
static void copy_lanes(EmithlsNest *nest, const MemoryPort *port, Value *from, Value *to)
{
    LoopSpec loop = {"lane", port->lanes};
    const AffineExpr *lane = affine_dim(nest->b.ctx, nest->count);
    NestMark mark = {nest->b.block, nest->b.before, nest->count};
    if (port->lanes > 1) mark = emithls_nest_open(nest, "lanes", &loop, 1, LOOP_UNROLLED, -1, -1);
    uint32_t from_rank = emithls_array_elem(from->type)->kind == TYPE_VECTOR;
    uint32_t to_rank = emithls_array_elem(to->type)->kind == TYPE_VECTOR;
    if (port->lanes == 1) lane = affine_const(nest->b.ctx, 0);
    copy_element(nest, from, &lane, from_rank, to, &lane, to_rank);
    emithls_nest_close(nest, mark);
}

/* The reader or the writer. Without parts it converts elements as well, else it only copies. */
static void build_access(EmithlsNest *nest, const MemoryPort *port, Value *memory, Value *stream)
{
    const AffineExpr *i = affine_dim(nest->b.ctx, 0);
    LoopSpec loop = {"i", port->words / port->slots * port->chunks};
    const char *const names[2] = {"bus_word", "word"};
    int from = port->is_input ? 0 : 1;
    NestMark mark = emithls_nest_open(nest, "words", &loop, 1, LOOP_PIPELINED, -1, -1);
    Value *variables[2] = {NULL, NULL}, *word;
    if (!has_parts(port)) {
        const Type *types[2] = {bus_type(port), port->word};
        variables[from] = emithls_nest_variable(nest, names[from], types[from], NULL, 0);
    }
    word =
        port->is_input ? emithls_nest_load(nest, memory, &i, 1) : emithls_nest_read(nest, stream);
    if (!has_parts(port)) {
        const Type *types[2] = {bus_type(port), port->word};
        emithls_nest_store(nest, word, variables[from], NULL, 0);
        variables[1 - from] =
            emithls_nest_variable(nest, names[1 - from], types[1 - from], NULL, 0);
        copy_lanes(nest, port, variables[from], variables[1 - from]);
        word = emithls_nest_load(nest, variables[1 - from], NULL, 0);
    }
    if (port->is_input)
        emithls_nest_write(nest, word, stream);
    else
        emithls_nest_store(nest, word, memory, &i, 1);
    emithls_nest_close(nest, mark);
}

/* Between words and bus words: a shift register of the smaller ones that make a larger one. */
typedef struct PartsProcess {
    const MemoryPort *port;
    EmithlsNest nest;
    Value *in, *out, *parts;
    bool joins;
    int64_t count;         /* of parts */
    int64_t lanes, stride; /* elements of a part; from one part to the next in the larger word */
    bool is_ragged;        /* the last part is not full */
    const Type *small, *large;
} PartsProcess;

/* Elements of the larger word <-> elements of its parts. The last part need not be full. */
static void copy_parts(PartsProcess *p, Value *large)
{
    EmithlsNest *nest = &p->nest;
    Context *ctx = nest->b.ctx;
    LoopSpec loops[2] = {{"part", p->count}, {"lane", p->lanes}};
    const AffineExpr *index[2] = {affine_dim(ctx, nest->count), affine_dim(ctx, nest->count + 1)};
    NestMark mark =
        emithls_nest_open(nest, "elements", loops, p->lanes > 1 ? 2 : 1, LOOP_UNROLLED, -1, -1);
    NestMark guard = {nest->b.block, nest->b.before, nest->count};
    if (p->lanes == 1) index[1] = affine_const(ctx, 0);
    const AffineExpr *place = affine_add(affine_mul_c(index[0], p->stride), index[1]);
    if (p->is_ragged) {
        const AffineExpr *inside = affine_add_c(affine_neg(place), emithls_lanes(p->large) - 1);
        const bool is_eq = false;
        guard = emithls_nest_open_if(nest, &inside, &is_eq, 1);
    }
    uint32_t rank = p->small->kind == TYPE_VECTOR ? 2 : 1;
    if (p->joins)
        copy_element(nest, p->parts, index, rank, large, &place, 1);
    else
        copy_element(nest, large, &place, 1, p->parts, index, rank);
    emithls_nest_close(nest, guard);
    emithls_nest_close(nest, mark);
}

/* parts[i] = parts[i + 1] */
static void shift_parts(PartsProcess *p)
{
    EmithlsNest *nest = &p->nest;
    LoopSpec loop = {"k", p->count - 1};
    const AffineExpr *to = affine_dim(nest->b.ctx, nest->count), *from = affine_add_c(to, 1);
    NestMark mark = emithls_nest_open(nest, "shift", &loop, 1, LOOP_UNROLLED, -1, -1);
    emithls_nest_store(nest, emithls_nest_load(nest, p->parts, &from, 1), p->parts, &to, 1);
    emithls_nest_close(nest, mark);
}

static void join_parts(PartsProcess *p, const AffineExpr *part)
{
    EmithlsNest *nest = &p->nest;
    const AffineExpr *last = affine_add_c(part, 1 - p->count),
                     *newest = affine_const(nest->b.ctx, p->count - 1);
    const bool is_eq = true;
    emithls_nest_store(nest, emithls_nest_read(nest, p->in), p->parts, &newest, 1);
    NestMark complete = emithls_nest_open_if(nest, &last, &is_eq, 1);
    Value *large = emithls_nest_variable(nest, "large", p->large, NULL, 0);
    copy_parts(p, large);
    emithls_nest_write(nest, emithls_nest_load(nest, large, NULL, 0), p->out);
    emithls_nest_close(nest, complete);
}

static void split_parts(PartsProcess *p, const AffineExpr *part)
{
    EmithlsNest *nest = &p->nest;
    const AffineExpr *oldest = affine_const(nest->b.ctx, 0);
    const bool is_eq = true;
    NestMark first = emithls_nest_open_if(nest, &part, &is_eq, 1);
    Value *large = emithls_nest_variable(nest, "large", p->large, NULL, 0);
    emithls_nest_store(nest, emithls_nest_read(nest, p->in), large, NULL, 0);
    copy_parts(p, large);
    emithls_nest_close(nest, first);
    emithls_nest_write(nest, emithls_nest_load(nest, p->parts, &oldest, 1), p->out);
}

static void build_parts(PartsProcess *p)
{
    const MemoryPort *port = p->port;
    EmithlsNest *nest = &p->nest;
    bool has_chunks = port->chunks > 1;
    p->count = port->slots * port->chunks;
    p->joins = port->is_input == has_chunks;
    p->lanes = has_chunks ? port->bus_lanes : port->lanes;
    p->stride = has_chunks ? port->bus_lanes : port->slot;
    p->small = has_chunks ? bus_type(port) : port->word;
    p->large = has_chunks ? port->word : bus_type(port);
    p->is_ragged = (p->count - 1) * p->stride + p->lanes > emithls_lanes(p->large);
    p->parts = emithls_nest_variable(nest, "parts", p->small, &p->count, 1);
    emithls_nest_partition(nest, p->parts, 1);
    if (!p->is_ragged) emithls_nest_temporary(nest, p->parts); /* else what is not used stays 0 */
    LoopSpec loops[2] = {{"i", port->words / port->slots}, {"part", p->count}};
    const AffineExpr *part = affine_dim(nest->b.ctx, 1);
    NestMark mark = emithls_nest_open(nest, "words", loops, 2, LOOP_PIPELINED, -1, -1);
    shift_parts(p);
    (p->joins ? join_parts : split_parts)(p, part);
    emithls_nest_close(nest, mark);
}

/* "read_x" of (memory, out) or "write_x" of (in, memory). */
static Op *create_access(SymbolTable *symbols, const MemoryPort *port, Op *place)
{
    const Type *stream = has_parts(port) ? emithls_stream(bus_type(port)) : port->stream->type;
    const Type *memory = memory_type(port);
    const Type *types[2] = {port->is_input ? memory : stream, port->is_input ? stream : memory};
    const char *const read[2] = {"memory", "out"}, *const write[2] = {"in", "memory"};
    StrBuf name = {0};
    strbuf_printf(&name, "%s_%.*s", port->is_input ? "read" : "write", STR_ARG(port->name));
    const Attr *report = port_process_report(port->top->ctx, port->is_input ? "reader" : "writer",
                                             port->words / port->slots * port->chunks,
                                             has_parts(port) ? port->bus_lanes : port->lanes);
    Op *func = port_process_create(symbols, port->stream, place, name.data, report, types,
                                   port->is_input ? read : write);
    strbuf_free(&name);
    Block *body = region_entry(op_region(func, 0));
    EmithlsNest nest = {.b = builder_at_end(body, port->top->loc)};
    uint32_t bus = port->is_input ? 0 : 1;
    build_access(&nest, port, body->args[bus], body->args[1 - bus]);
    return func;
}

/* "read_x_words" or "write_x_words", between bus words and words. */
static Op *create_parts(SymbolTable *symbols, const MemoryPort *port, Op *place)
{
    const Type *bus = emithls_stream(bus_type(port)), *words = port->stream->type;
    const Type *types[2] = {port->is_input ? bus : words, port->is_input ? words : bus};
    const char *const names[2] = {"in", "out"};
    StrBuf name = {0};
    strbuf_printf(&name, "%s_%.*s_words", port->is_input ? "read" : "write", STR_ARG(port->name));
    const Attr *report =
        port_process_report(port->top->ctx, "converter", port->words * port->chunks,
                            port->chunks > 1 ? port->bus_lanes : port->lanes);
    Op *func = port_process_create(symbols, port->stream, place, name.data, report, types, names);
    strbuf_free(&name);
    Block *body = region_entry(op_region(func, 0));
    PartsProcess p = {.port = port,
                      .nest = {.b = builder_at_end(body, port->top->loc)},
                      .in = body->args[0],
                      .out = body->args[1]};
    build_parts(&p);
    return func;
}

static void set_interface(const MemoryPort *port, Value *memory, const PortPlaces *places)
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

static void erase_interface(Value *argument)
{
    Op *interface = NULL;
    FOR_EACH_USE(use, argument)
        if (use->owner->def == EMITHLS(INTERFACE)) interface = use->owner;
    if (interface) op_erase(interface);
}

static void connect_port(SymbolTable *symbols, const MemoryPort *port, PortPlaces *places)
{
    Op *place = port->is_input ? places->process : port->top, *access = NULL, *parts = NULL;
    if (port->is_input) access = create_access(symbols, port, place);
    if (has_parts(port)) parts = create_parts(symbols, port, place);
    if (!port->is_input) access = create_access(symbols, port, place);
    Value *memory = port->stream,
          *words = port_process_stream(places, port->name, "words", memory->type, true);
    Value *bus =
        parts ? port_process_stream(places, port->name, "bus", emithls_stream(bus_type(port)), true)
              : words;
    erase_interface(memory);
    value_replace_all(memory, words);
    memory->type = memory_type(port);
    set_interface(port, memory, places);
    if (port->is_input) port_process_call(places, access, port->is_input, memory, bus);
    if (parts)
        port_process_call(places, parts, port->is_input, port->is_input ? bus : words,
                          port->is_input ? words : bus);
    if (!port->is_input) port_process_call(places, access, port->is_input, bus, memory);
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
    bool copies_only = pass_bool(pass, "copies");
    Op *top = emithls_top(module);
    SymbolTable symbols;
    PortPlaces places = {0};
    if (!top) return op_emit_error(module, "there is no top function");
    if (!port_process_places(top, &places) || !port_process_takes_memory(&places)) return false;
    bool ok = true;
    symtab_init(&symbols, module);
    for (uint32_t i = 0; ok && i < region_entry(op_region(top, 0))->arg_count; i++) {
        MemoryPort port = {0};
        const Attr *attrs = op_attr(top, DFG_ATTR_PORT_ATTRS)->u.array.items[i];
        if (attr_dict_get_c(attrs, EMITHLS_ATTR_WEIGHTS)) continue;
        if (copies_only && !port_process_is_copied(attrs)) continue;
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
    .options = OPTIONS(
        {"copies", OPTION_BOOL, "false", "only of streams that the host copies from card to card"}),
    .run = add_memory_ports,
};
