/* connect-cards: a stream between processes of two cards becomes a link, with a process at each end
 * of it, on the dies that have the transceivers.
 *
 *   writer ─▶ pack ─▶ send ═▶ receive ─▶ reader        ─▶ a stream, ═▶ the link
 *                └ full ─▶┘
 *
 * `pack` takes word after word, and tells `send` when a packet is complete, which is when it has
 * `packet` words; of a frame the first one may have fewer. `send` takes as many cycles for a packet
 * as the link does, at least one per word, and gives its words in the last of them: as a receiver
 * that looks at a packet when all of it is there. Streams that go the same way share the rate of the
 * link by what they carry. What the link adds to that is its latency.
 *
 * Where the host copies (protocol `host`), a packet is a frame in the memory of the writer's card, and
 * `send` is what the host does: a transfer to its own memory, and then, as latency, one to the other card,
 * where `receive` reads it. Words lie in memory in slots of a power of two of bytes, or in several beats.
 * Requires: a top function whose calls are in order of the data, all of whose processes have a place.
 * Changes: streams between cards, and the processes at them are new; those have sys.kernel.
 * Tests: lit/target/split/connect-cards.mir, test/e2e/system_check.py */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "ir/asm/print/print.h"
#include "passes/dfg/passes.h"
#include "sim/design/design.h"
#include "target/cost/cost.h"
#include "target/split/internal.h"

enum {
    BEAT_BYTES = SPLIT_BEAT_BYTES,
    STREAM_DEPTH = 2,    /* until fit-fifos */
    MAX_SOCKETS = 16,    /* streams of a cable, both ways: what a UDP core tells apart */
    ADAPTER_CYCLES = 12, /* of both ends: registers, and the memory that packets are kept in */
};

/* A stream between cards. */
typedef struct Crossing {
    SplitEdge edge;
    const Attr *instance; /* SYS_ATTR_INSTANCE of the processes at its ends, or NULL */
    SysPlace from, to;    /* where the transceivers are */
    const SplitLink *link;
    bool is_turned;         /* from the link's second end to its first one */
    bool is_copied;         /* by the host */
    int64_t words;          /* of a frame */
    int64_t beats, bytes;   /* in memory, of a word and a frame that are copied; else 1, 0 */
    int64_t packet, cycles; /* words of a packet; cycles that the link takes for one */
    Value *full;            /* the stream of `pack` and `send` */
} Crossing;

typedef struct Connect {
    Op *module, *top;
    SymbolTable symbols;
    int64_t mhz;
    bool rewinds, flushes;
    Op *last_stream; /* streams go behind it */
    VEC(Crossing) crossings;
} Connect;

static int64_t word_bytes(const Value *stream)
{
    const Type *word = emithls_stream_word(stream->type);
    return ceil_div(emithls_lanes(word) * type_width(emithls_scalar(word)), 8);
}

/* Bytes of a link's packet that carry so many words: words share a beat, or take several. */
static int64_t packet_bytes(int64_t word, int64_t words)
{
    int64_t beats = word <= BEAT_BYTES ? ceil_div(words, BEAT_BYTES / word)
                                       : words * ceil_div(word, BEAT_BYTES);
    return beats * BEAT_BYTES;
}

static int64_t packet_words(int64_t word, int64_t payload)
{
    int64_t beats = payload / BEAT_BYTES;
    return word <= BEAT_BYTES ? beats * (BEAT_BYTES / word) : beats / ceil_div(word, BEAT_BYTES);
}

/* The link from one card to another, which is the same in both directions. */
static const SplitLink *find_link(const SplitLinks *links, int64_t from, int64_t to, bool *turned)
{
    for (size_t i = 0; i < links->len; i++) {
        const SplitLink *link = &links->data[i];
        *turned = link->cards[0] == to;
        if ((link->cards[0] == from && link->cards[1] == to) ||
            (link->cards[1] == from && link->cards[0] == to))
            return link;
    }
    return NULL;
}

/* False: diagnosed. */
static bool add_crossing(Connect *c, const SplitGraph *graph, const SplitLinks *links,
                         const HlsDesign *design, const SplitEdge *edge)
{
    const SysPlace from = graph->processes.data[edge->from].place,
                   to = graph->processes.data[edge->to].place;
    bool turned = false;
    if (from.card == to.card) return true;
    Op *at = value_def(edge->stream);
    const SplitLink *link = find_link(links, from.card, to.card, &turned);
    if (!link)
        return op_error(at, "goes from card %lld to card %lld, between which there is no link",
                        (long long)from.card, (long long)to.card);
    Crossing crossing = {.edge = *edge,
                         .instance =
                             op_attr(graph->processes.data[edge->from].func, SYS_ATTR_INSTANCE),
                         .from = {from.card, link->dies[turned]},
                         .to = {to.card, link->dies[!turned]},
                         .link = link,
                         .is_turned = turned,
                         .words = split_stream_words(design, edge->stream)};
    if (crossing.words < 1) return op_error(at, "goes to another card, but carries no words");
    crossing.is_copied = str_eq_c(link->protocol, SYS_HOST);
    crossing.beats = 1;
    if (crossing.is_copied) {
        PortSlot slot;
        if (!port_process_slot(emithls_stream_word(edge->stream->type), &slot))
            return op_error(at, "has elements of more than 64 bits, which memories do not hold");
        crossing.beats = slot.beats;
        crossing.packet = crossing.words;
        crossing.bytes = crossing.words * slot.elements * slot.bits / 8;
        *vec_push(&c->crossings) = crossing;
        return true;
    }
    int64_t most = packet_words(word_bytes(edge->stream), link->payload);
    if (most < 1)
        return op_error(at, "has words of %lld bytes, but packets of the link carry %lld",
                        (long long)word_bytes(edge->stream), (long long)link->payload);
    crossing.packet = ceil_div(crossing.words, ceil_div(crossing.words, most));
    *vec_push(&c->crossings) = crossing;
    return true;
}

static int64_t packets_of(const Crossing *c)
{
    return ceil_div(c->words, c->packet);
}

static bool may_have_credits(const Crossing *c)
{
    return !str_eq_c(c->link->protocol, "udp");
}

/* Bytes of the packets that a crossing sends one way of its link for a frame, with what surrounds
 * them: its words, or answers that give credits, one for each packet. */
static int64_t frame_bytes(const Crossing *c, bool is_turned)
{
    int64_t around = c->link->overhead + SPLIT_HEAD_BYTES;
    if (c->is_copied) return is_turned == c->is_turned ? c->bytes : 0;
    if (is_turned != c->is_turned) return may_have_credits(c) ? packets_of(c) * around : 0;
    return packets_of(c) * (packet_bytes(word_bytes(c->edge.stream), c->packet) + around);
}

/* Beats of the longest packet that a crossing sends that way. */
static int64_t longest_packet(const Crossing *c, bool is_turned)
{
    if (c->is_copied) return 0;
    if (is_turned != c->is_turned) return may_have_credits(c);
    return 1 + packet_bytes(word_bytes(c->edge.stream), c->packet) / BEAT_BYTES;
}

/* Each crossing of a link and direction gets the share of the rate that it carries. Adapters take a
 * cycle for the head of a packet, and one for each word and beat. */
static void share_links(Connect *c)
{
    for (size_t i = 0; i < c->crossings.len; i++) {
        Crossing *own = &c->crossings.data[i];
        int64_t all = 0, packets = packets_of(own);
        for (size_t k = 0; k < c->crossings.len; k++)
            if (c->crossings.data[k].link == own->link)
                all += frame_bytes(&c->crossings.data[k], own->is_turned);
        /* all bytes of a frame take all * 8 / gbps ns, in which `packets` must be sent */
        own->cycles = ceil_div(all * 8 * c->mhz, own->link->gbps * 1000 * packets);
        own->cycles =
            i64_max(own->cycles, i64_max(own->packet + 1, longest_packet(own, own->is_turned)));
    }
}

/* Says where the rate of a link does not suffice for frames of the interval of the slowest process. */
static void check_rates(const Connect *c, const HlsDesign *design)
{
    int64_t interval = 1;
    for (size_t i = 0; i < design->processes.len; i++)
        interval = i64_max(interval, design->processes.data[i].cycles);
    for (size_t i = 0; i < c->crossings.len; i++) {
        const Crossing *own = &c->crossings.data[i];
        int64_t cycles = packets_of(own) * own->cycles;
        if (cycles > interval)
            op_remark(value_def(own->edge.stream),
                      "takes %lld cycles of the link for a frame, more than any process; without "
                      "the link frames would take %lld",
                      (long long)cycles, (long long)interval);
    }
}

/* What pipelines of the other processes do when they run empty. */
static void set_style(const Connect *c, Op *loop)
{
    if (c->rewinds && !emithls_rewind_obstacle(loop))
        op_set_attr(loop, EMITHLS_ATTR_REWIND, attr_unit(loop->ctx));
    if (c->flushes && !emithls_flush_obstacle(loop))
        op_set_attr(loop, EMITHLS_ATTR_FLUSH, attr_unit(loop->ctx));
}

/* word: bits of the register that a word waits in; adapter: what belongs to the process;
 * NULL: the host does it. */
static const Attr *report_of(Context *ctx, const char *class, int64_t cycles, int64_t word,
                             const Cost *adapter)
{
    enum { CONTROL_LUT = 60, CONTROL_FF = 40 }; /* two counters and a handshake: an estimate */
    const int64_t trips[1] = {cycles}, unroll[1] = {1};
    Cost own = adapter ? *adapter : (Cost){.items = {0}};
    if (adapter) {
        own.lut += CONTROL_LUT;
        own.ff += word + CONTROL_FF;
    }
    const NamedAttr items[] = {
        build_named_attr(ctx, DFG_REPORT_CLASS, attr_string_c(ctx, class)),
        build_named_attr(ctx, DFG_REPORT_TRIP_COUNTS, attr_i64_array(ctx, trips, 1)),
        build_named_attr(ctx, DFG_REPORT_UNROLL, attr_i64_array(ctx, unroll, 1)),
        build_named_attr(ctx, DFG_COST_CYCLES, attr_i64(ctx, cycles)),
        build_named_attr(ctx, DFG_COST_DSP, attr_i64(ctx, 0)),
        build_named_attr(ctx, DFG_COST_BRAM18, attr_i64(ctx, own.bram18)),
        build_named_attr(ctx, DFG_COST_URAM, attr_i64(ctx, 0)),
        build_named_attr(ctx, DFG_COST_LUT, attr_i64(ctx, own.lut)),
        build_named_attr(ctx, DFG_COST_FF, attr_i64(ctx, own.ff)),
    };
    return attr_dict(ctx, items, COUNT_OF(items));
}

static Str stream_name(const Value *stream)
{
    return op_attr(value_def(stream), "name")->u.string;
}

/* Cycles until what is sent is there: on the way, in adapters, until the beat of a word is full, and
 * behind a packet of each other stream. Of a copy, until the second transfer has ended. */
static int64_t link_latency(const Connect *c, const Crossing *x)
{
    int64_t latency = ceil_div(x->link->latency_ns * c->mhz, 1000);
    if (x->is_copied) return latency + x->cycles;
    latency += ADAPTER_CYCLES;
    latency += i64_max(BEAT_BYTES / word_bytes(x->edge.stream), 1) - 1;
    for (size_t i = 0; i < c->crossings.len; i++) {
        const Crossing *other = &c->crossings.data[i];
        if (other->link == x->link && other != x) latency += longest_packet(other, x->is_turned);
    }
    return latency;
}

/* Streams that share the sockets of a link's two ports, and its latency. False: diagnosed. */
static bool check_crossings(const Connect *c)
{
    for (size_t i = 0; i < c->crossings.len; i++) {
        const Crossing *own = &c->crossings.data[i];
        const Op *at = value_def(own->edge.stream);
        size_t others = 0;
        for (size_t k = 0; k < i; k++) others += c->crossings.data[k].link == own->link;
        if (others >= MAX_SOCKETS && !own->is_copied)
            return op_error(at,
                            "is one of more than %d streams between cards %lld and %lld, as many "
                            "as a link has sockets",
                            MAX_SOCKETS, (long long)own->from.card, (long long)own->to.card);
        if (link_latency(c, own) > EMITHLS_MAX_LATENCY)
            return op_error(at, "takes %lld cycles to card %lld, but streams take at most %d",
                            (long long)link_latency(c, own), (long long)own->to.card,
                            EMITHLS_MAX_LATENCY);
    }
    return true;
}

static int64_t first_depth(const Connect *c, const Crossing *x)
{
    return x->packet + 2 * link_latency(c, x);
}

/* What the adapter at an end takes; of other processes of links nothing. */
static Cost adapter_of(const Connect *c, const Crossing *x, const char *role)
{
    const bool is_sender = strcmp(role, "send") == 0, is_receiver = strcmp(role, "receive") == 0;
    if (x->is_copied || (!is_sender && !is_receiver)) return (Cost){.items = {0}};
    return split_adapter_cost(is_sender, may_have_credits(x), word_bytes(x->edge.stream) * 8,
                              first_depth(c, x), x->packet);
}

/* A function at an end of a link; the body is empty. */
static Op *create_function(Connect *c, const Crossing *x, const char *role, SysPlace place,
                           bool is_receiver, const char *const *names, const Type *const *types,
                           uint32_t count, int64_t cycles)
{
    Context *ctx = c->top->ctx;
    Str stream = stream_name(x->edge.stream);
    StrBuf name = {0}, kernel = {0};
    const Attr *args[3];
    strbuf_printf(&name, "%.*s_%s", STR_ARG(stream), role);
    strbuf_printf(&kernel, "%.*s_%s", STR_ARG(stream), is_receiver ? "receiver" : "sender");
    for (uint32_t i = 0; i < count; i++) args[i] = attr_string_c(ctx, names[i]);
    int64_t bits = word_bytes(x->edge.stream) * 8;
    const bool is_hosts = x->is_copied && strcmp(role, "send") == 0;
    const Cost adapter = adapter_of(c, x, role);
    const NamedAttr attrs[] = {
        build_named_attr(ctx, "sym_name", attr_string(ctx, strbuf_str(&name))),
        build_named_attr(ctx, "function_type",
                         attr_type(type_function(ctx, (const Type **)types, count, NULL, 0))),
        build_named_attr(ctx, EMITHLS_ATTR_ARG_NAMES, attr_array(ctx, args, count)),
        build_named_attr(ctx, DFG_ATTR_REPORT,
                         report_of(ctx, role, cycles, bits, is_hosts ? NULL : &adapter)),
        build_named_attr(ctx, SYS_ATTR_PLACE, sys_place_attr(ctx, place)),
        build_named_attr(ctx, SYS_ATTR_KERNEL, attr_string(ctx, strbuf_str(&kernel))),
    };
    strbuf_free(&name);
    strbuf_free(&kernel);
    OpState state = {.name = opinfo_of_def(ctx, EMITHLS(FUNC))->name,
                     .loc = value_def(x->edge.stream)->loc,
                     .attrs = attr_dict(ctx, attrs, COUNT_OF(attrs)),
                     .region_count = 1};
    Op *func = op_create(ctx, &state);
    if (x->instance) op_set_attr(func, SYS_ATTR_INSTANCE, x->instance);
    op_insert_before(func, c->top);
    symtab_insert(&c->symbols, func);
    Block *body = region_add_block(op_region(func, 0));
    for (uint32_t i = 0; i < count; i++) block_add_arg(body, types[i], func->loc);
    return func;
}

/* Of a word in several beats the first or the last one, under which it is moved. */
static NestMark open_beat(const Crossing *x, EmithlsNest *nest, int64_t beat)
{
    const bool is_eq = true;
    const AffineExpr *number = affine_add_c(affine_dim(nest->b.ctx, nest->count - 1), -beat);
    if (x->beats > 1) return emithls_nest_open_if(nest, &number, &is_eq, 1);
    return (NestMark){nest->b.block, nest->b.before, nest->count};
}

/* for word in packets x packet, the end of it: out = in; at the last word of a packet: full = 1 */
static Op *create_pack(Connect *c, const Crossing *x)
{
    static const char *const names[3] = {"in", "out", "full"};
    Context *ctx = c->top->ctx;
    const Type *word = x->edge.stream->type, *flag = emithls_stream(type_i(ctx, 1));
    const Type *const types[3] = {word, word, flag};
    Op *func = create_function(c, x, "pack", x->from, false, names, types, 3, x->words * x->beats);
    Block *body = region_entry(op_region(func, 0));
    int64_t packets = packets_of(x), all = packets * x->packet;
    const bool is_eq[1] = {true};
    const LoopSpec loops[] = {{"packet", packets}, {"word", x->packet}, {"beat", x->beats}};
    EmithlsNest nest = {.b = builder_at_end(body, func->loc)};
    NestMark mark = emithls_nest_open(&nest, "words", loops, x->beats > 1 ? 3 : 2, LOOP_PIPELINED,
                                      (all - x->words) * x->beats, all * x->beats);
    NestMark inner = open_beat(x, &nest, 0);
    emithls_nest_write(&nest, emithls_nest_read(&nest, body->args[0]), body->args[1]);
    emithls_nest_close(&nest, inner);
    inner = open_beat(x, &nest, x->beats - 1);
    const AffineExpr *last = affine_add_c(affine_dim(ctx, 1), 1 - x->packet);
    NestMark full = emithls_nest_open_if(&nest, &last, is_eq, 1);
    Value *one = emithls_nest_constant(&nest, attr_int(type_i(ctx, 1), 1));
    emithls_nest_write(&nest, one, body->args[2]);
    emithls_nest_close(&nest, full);
    emithls_nest_close(&nest, inner);
    emithls_nest_close(&nest, mark);
    set_style(c, body->first);
    return func;
}

/* for cycle in packets x cycles: in the first of a packet wait for full; in the last ones, as many
 * as words: out = in */
static Op *create_send(Connect *c, const Crossing *x)
{
    static const char *const names[3] = {"in", "full", "out"};
    Context *ctx = c->top->ctx;
    const Type *word = x->edge.stream->type, *flag = emithls_stream(type_i(ctx, 1));
    const Type *const types[3] = {word, flag, word};
    const bool equal[1] = {true}, none[2] = {false, false};
    int64_t packets = packets_of(x), idle = x->cycles - x->packet;
    Op *func = create_function(c, x, "send", x->from, false, names, types, 3, packets * x->cycles);
    Block *body = region_entry(op_region(func, 0));
    const LoopSpec loops[] = {{"packet", packets}, {"cycle", x->cycles}};
    EmithlsNest nest = {.b = builder_at_end(body, func->loc)};
    NestMark mark = emithls_nest_open(&nest, "cycles", loops, 2, LOOP_PIPELINED, -1, -1);
    const AffineExpr *cycle = affine_dim(ctx, 1);
    NestMark inner = emithls_nest_open_if(&nest, &cycle, equal, 1);
    (void)emithls_nest_read(&nest, body->args[1]);
    emithls_nest_close(&nest, inner);
    /* number of the word, from that of which the frame's begin:
     * packet * x->packet + cycle - idle */
    const AffineExpr *number =
        affine_add(affine_mul_c(affine_dim(ctx, 0), x->packet), affine_add_c(cycle, -idle));
    const AffineExpr *in_packet[2] = {affine_add_c(cycle, -idle),
                                      affine_add_c(number, x->words - packets * x->packet)};
    inner = emithls_nest_open_if(&nest, in_packet, none, 2);
    emithls_nest_write(&nest, emithls_nest_read(&nest, body->args[0]), body->args[2]);
    emithls_nest_close(&nest, inner);
    emithls_nest_close(&nest, mark);
    set_style(c, body->first);
    return func;
}

static Op *create_receive(Connect *c, const Crossing *x)
{
    static const char *const names[2] = {"in", "out"};
    const Type *const types[2] = {x->edge.stream->type, x->edge.stream->type};
    const LoopSpec loops[] = {{"word", x->words}, {"beat", x->beats}};
    Op *func = create_function(c, x, "receive", x->to, true, names, types, 2, x->words * x->beats);
    Block *body = region_entry(op_region(func, 0));
    EmithlsNest nest = {.b = builder_at_end(body, func->loc)};
    NestMark mark =
        emithls_nest_open(&nest, "words", loops, x->beats > 1 ? 2 : 1, LOOP_PIPELINED, -1, -1);
    NestMark inner = open_beat(x, &nest, x->beats - 1);
    emithls_nest_write(&nest, emithls_nest_read(&nest, body->args[0]), body->args[1]);
    emithls_nest_close(&nest, inner);
    emithls_nest_close(&nest, mark);
    set_style(c, body->first);
    return func;
}

/* A stream "<name>_<suffix>"; latency 0: as any stream's. */
static Value *add_stream(Connect *c, const Crossing *x, const char *suffix, const Type *type,
                         int64_t depth, int64_t latency, bool is_in_memory)
{
    Context *ctx = c->top->ctx;
    StrBuf name = {0};
    strbuf_printf(&name, "%.*s_%s", STR_ARG(stream_name(x->edge.stream)), suffix);
    const NamedAttr copy[] = {
        build_named_attr(ctx, SYS_ATTR_PACKET, attr_i64(ctx, x->packet)),
        build_named_attr(ctx, SYS_ATTR_PROTOCOL, attr_string_c(ctx, SYS_HOST))};
    const int64_t ports[2] = {x->link->ports[x->is_turned], x->link->ports[!x->is_turned]};
    const NamedAttr link[] = {
        build_named_attr(ctx, SYS_ATTR_PACE, attr_i64(ctx, x->cycles)),
        build_named_attr(ctx, SYS_ATTR_PACKET, attr_i64(ctx, x->packet)),
        build_named_attr(ctx, SYS_ATTR_PORTS, attr_i64_array(ctx, ports, 2)),
        build_named_attr(ctx, SYS_ATTR_PROTOCOL, attr_string(ctx, x->link->protocol))};
    NamedAttr attrs[5] = {build_named_attr(ctx, "name", attr_string(ctx, strbuf_str(&name))),
                          build_named_attr(ctx, DFG_ATTR_DEPTH, attr_i64(ctx, depth)),
                          build_named_attr(ctx, EMITHLS_ATTR_LATENCY, attr_i64(ctx, latency)),
                          build_named_attr(ctx, SYS_ATTR_LINK,
                                           x->is_copied ? attr_dict(ctx, copy, COUNT_OF(copy))
                                                        : attr_dict(ctx, link, COUNT_OF(link)))};
    strbuf_free(&name);
    Builder b = builder_after(c->last_stream);
    uint32_t count = latency > 0 ? 4 : 2;
    if (is_in_memory) attrs[count++] = build_named_attr(ctx, SYS_ATTR_IN_MEMORY, attr_unit(ctx));
    c->last_stream = build(&b, EMITHLS(STREAM), NULL, 0, &type, 1, attrs, count);
    return op_result(c->last_stream, 0);
}

static void add_call(Builder *b, const Op *func, Value *const *args, uint32_t count)
{
    NamedAttr callee = build_named_attr(b->ctx, "callee", attr_symbol(b->ctx, symbol_name(func)));
    build(b, EMITHLS(CALL), args, count, NULL, 0, &callee, 1);
}

static void connect(Connect *c, const SplitGraph *graph, const Crossing *x)
{
    Op *writer = graph->processes.data[x->edge.from].call,
       *reader = graph->processes.data[x->edge.to].call;
    Value *stream = x->edge.stream;
    Op *pack = create_pack(c, x), *send = create_send(c, x), *receive = create_receive(c, x);
    int64_t latency = link_latency(c, x);
    c->last_stream = value_def(stream);
    Value *words = add_stream(c, x, "packet", stream->type, x->packet + 1, 0, x->is_copied);
    Value *full =
        add_stream(c, x, "full", emithls_stream(type_i(c->top->ctx, 1)), STREAM_DEPTH, 0, false);
    Value *link = add_stream(c, x, "link", stream->type, first_depth(c, x), latency, x->is_copied);
    Value *received = add_stream(c, x, "received", stream->type, STREAM_DEPTH, 0, false);
    for (uint32_t i = 0; i < reader->operand_count; i++)
        if (op_operand(reader, i) == stream) op_set_operand(reader, i, received);
    Builder b = builder_after(writer);
    add_call(&b, pack, (Value *const[]){stream, words, full}, 3);
    add_call(&b, send, (Value *const[]){words, full, link}, 3);
    builder_set_before(&b, reader);
    add_call(&b, receive, (Value *const[]){link, received}, 2);
}

static bool has_places(const SplitGraph *graph)
{
    for (size_t i = 0; i < graph->processes.len; i++)
        if (!graph->processes.data[i].has_place)
            return op_error(graph->processes.data[i].call, "calls a process that has no place");
    return true;
}

static bool find_crossings(Connect *c, const SplitGraph *graph, const SplitLinks *links,
                           const HlsDesign *design)
{
    for (size_t i = 0; i < graph->edges.len; i++) {
        const SplitEdge *edge = &graph->edges.data[i];
        if (!edge->stream->is_arg && !add_crossing(c, graph, links, design, edge)) return false;
    }
    return true;
}

static bool connect_cards(Pass *pass, Op *module)
{
    Connect c = {.module = module, .top = emithls_top(module)};
    SplitLinks links = {0};
    SplitGraph graph = {0};
    if (!c.top) return true;
    c.mhz = design_clock_mhz(module);
    c.flushes = emithls_flushes(module);
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
        c.rewinds |= op->def == EMITHLS(FUNC) && emithls_rewound_loop(op);
    HlsDesign *design = design_create(module, clock_of_module(module, c.mhz));
    bool ok = design && split_links(module, pass_string(pass, "links"), &links) &&
              split_graph(c.top, &graph) && has_places(&graph) &&
              find_crossings(&c, &graph, &links, design);
    if (ok) share_links(&c);
    ok = ok && check_crossings(&c);
    if (ok) {
        check_rates(&c, design);
        symtab_init(&c.symbols, module);
        for (size_t i = 0; i < c.crossings.len; i++) connect(&c, &graph, &c.crossings.data[i]);
        symtab_free(&c.symbols);
    }
    design_free(design);
    vec_free(&c.crossings);
    vec_free(&links);
    split_graph_free(&graph);
    return ok;
}

const PassDef pass_connect_cards = {
    .name = "connect-cards",
    .summary = "Make links of streams between cards, with processes that send and receive packets",
    .anchor = "builtin.module",
    .options = OPTIONS({"links", OPTION_STRING, "",
                        "card.die.port-card.die.port:Gb/s:latency in ns:payload:overhead:protocol, "
                        "several with commas"}),
    .run = connect_cards,
};
