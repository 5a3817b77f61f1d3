/* bound-links: room at the end of links. With back-pressure (`credit`) it is that of a packet at
 * least, for a packet is sent as a whole. Without (`udp`), what comes to a full receiver is lost.
 *
 * For these the design is simulated with these links unbounded, to its periodic state. What they hold
 * at most, a packet more, and the words that come while the news of a free place would travel, which a
 * simulation of the depth waits for, become their depth, if fit-fifos has not given them more. So no
 * word ever waits for room, as long as the design runs as predicted and outputs are taken as fast as
 * they come; another simulation with these depths makes sure that it is as fast. Where the reader of a
 * link is slower than its writer there is no such depth. Where FIFOs have slack, depths are also those of
 * hardware that is later than predicted (link_slack.c). Links of `either` protocol are udp if there are
 * depths for that, too, else credit; of those that must be udp a remark says that there are none.
 * Requires: depths of all other streams, as fit-fifos chooses them.
 * Changes: depth of streams with sys.link, and what they are built of; emithls.timing; the reports of the
 * processes that read these, which get what their FIFOs take beyond those of fit-fifos; protocol of
 * those that left it open.
 * Tests: lit/target/split/connect-cards.mir, test/e2e/system_check.py */
#include <stdlib.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "ir/asm/print/print.h"
#include "sim/design/design.h"
#include "target/fifo/fifo.h"
#include "target/split/internal.h"

/* Reads and writes that are simulated at most: those of some frames, of a small design more. Where the
 * reader of a link is slower than what comes there is no periodic state, and the words that wait take
 * memory. MobileNetV1 on two U280 needs more than 64 frames. */
enum { FRAMES = 512, LEAST_EVENTS = 1 << 22, MOST_EVENTS = 1 << 30 };

static int64_t most_events(const HlsDesign *design)
{
    int64_t frame = 0;
    for (size_t i = 0; i < design->streams.len && frame < MOST_EVENTS; i++)
        frame += 2 * i64_min(design->streams.data[i].words, MOST_EVENTS);
    return i64_max(LEAST_EVENTS, FRAMES * i64_min(frame, MOST_EVENTS / FRAMES));
}

/* The attributes of a stream that is a link, or NULL. */
static const Attr *link_of(const HlsStream *stream)
{
    return stream->op ? op_attr(stream->op, SYS_ATTR_LINK) : NULL;
}

static bool has_protocol(const HlsStream *stream, const char *name)
{
    return stream->op && str_eq_c(sys_protocol(stream->op), name);
}

static int64_t packet_of(const HlsStream *stream)
{
    return attr_int_value(attr_dict_get_c(link_of(stream), SYS_ATTR_PACKET));
}

typedef enum Outcome { BOUND, UNBOUNDED, SLOWER, WITHOUT_SLACK } Outcome;

typedef struct Bounds {
    HlsDesign *design;
    FifoSlack slack;
    bool *holds;   /* of each stream that may have either protocol: it is credit */
    bool *is_late; /* of each stream: with udp there is no room on hardware that is later */
    int64_t *depths, *needed, *slack_depths; /* of each stream */
    SteadyState free, bounded;
    bool has_links; /* whose depths change */
} Bounds;

static bool is_udp(const Bounds *b, size_t i)
{
    const HlsStream *stream = &b->design->streams.data[i];
    return has_protocol(stream, "udp") || (has_protocol(stream, "either") && !b->holds[i]);
}

/* What the FIFO of a link takes, on the card of what reads it; nothing if it is not chosen. */
static Cost fifo_cost(const HlsStream *stream)
{
    Cost cost = {.items = {0}};
    FifoKind kind;
    const Attr *impl = op_attr(stream->op, EMITHLS_ATTR_IMPL);
    if (impl && fifo_kind(impl->u.string, &kind))
        memory_fifo_cost(kind, design_word_bits(stream),
                         attr_int_value(op_attr(stream->op, DFG_ATTR_DEPTH)), STRUCTURE_HLS, &cost);
    return cost;
}

/* Where fit-fifos has chosen what the FIFO is built of. Frames that the host copies take nothing. */
static void set_depth(const Bounds *b, const HlsStream *stream, int64_t depth)
{
    Op *op = (Op *)(uintptr_t)stream->op; /* of the module that the pass changes */
    const bool is_read = stream->reader != HLS_NOBODY;
    Op *reader = is_read ? (Op *)(uintptr_t)b->design->processes.data[stream->reader].func
                         : NULL; /* likewise */
    const Attr *report = reader ? op_attr(reader, DFG_ATTR_REPORT) : NULL;
    const bool is_built = op_attr(op, EMITHLS_ATTR_IMPL) != NULL;
    const Cost before = fifo_cost(stream);
    const int64_t width = design_word_bits(stream);
    op_set_attr(op, DFG_ATTR_DEPTH, attr_i64(op->ctx, depth));
    if (!is_built) return;
    op_set_attr(op, EMITHLS_ATTR_IMPL,
                attr_string(op->ctx, fifo_kind_name(fifo_first_kind(width, depth))));
    const Cost after = fifo_cost(stream);
    for (int k = COST_BRAM18; report && k <= COST_FF; k++) {
        int64_t own = attr_dict_int(report, cost_names[k].key, 0);
        own = i64_max(0, i64_sum(own, after.items[k] - before.items[k]));
        report =
            attr_dict_set(report, ident_get_c(op->ctx, cost_names[k].key), attr_i64(op->ctx, own));
    }
    if (report) op_set_attr(reader, DFG_ATTR_REPORT, report);
}

/* Sets what has been found; the bits by which FIFOs on cards are deeper. */
static int64_t apply(const Bounds *b)
{
    int64_t bits = 0;
    for (size_t i = 0; i < b->design->streams.len; i++) {
        const HlsStream *stream = &b->design->streams.data[i];
        Op *op = (Op *)(uintptr_t)stream->op; /* of the module that the pass changes */
        if (has_protocol(stream, "either"))
            op_set_attr(op, SYS_ATTR_LINK,
                        attr_dict_set(link_of(stream), ident_get_c(op->ctx, SYS_ATTR_PROTOCOL),
                                      attr_string_c(op->ctx, b->holds[i] ? "credit" : "udp")));
        if (b->depths[i] <= stream->depth) continue;
        set_depth(b, stream, b->depths[i]);
        if (!op_attr(op, SYS_ATTR_IN_MEMORY))
            bits = i64_sum(bits, (b->depths[i] - stream->depth) * design_word_bits(stream));
    }
    return bits;
}

/* What fit-fifos has noted is that of its own depths; deeper links may let frames follow each other sooner. */
static void set_timing(const HlsDesign *design, const SteadyState *state, int64_t more_bits)
{
    Op *top = (Op *)(uintptr_t)design->top; /* likewise */
    const Attr *timing = op_attr(top, EMITHLS_ATTR_TIMING);
    const int64_t interval = attr_dict_int(timing, EMITHLS_TIMING_INTERVAL, 0);
    const struct {
        const char *name;
        int64_t value;
    } items[] = {{EMITHLS_TIMING_LATENCY, state->latency},
                 {EMITHLS_TIMING_INTERVAL, i64_min(interval, state->interval)},
                 {EMITHLS_TIMING_FIFO_BITS,
                  i64_sum(attr_dict_int(timing, EMITHLS_TIMING_FIFO_BITS, 0), more_bits)}};
    for (size_t i = 0; i < COUNT_OF(items); i++)
        if (items[i].value > 0 && attr_dict_get_c(timing, items[i].name))
            timing = attr_dict_set(timing, ident_get_c(top->ctx, items[i].name),
                                   attr_i64(top->ctx, items[i].value));
    if (timing) op_set_attr(top, EMITHLS_ATTR_TIMING, timing);
}

/* Words that a link has on its way: of as many frames as begin within its latency. */
static int64_t in_flight(const Bounds *b, const HlsStream *stream)
{
    int64_t frames = ceil_div(stream->latency, i64_max(b->free.interval, 1));
    return i64_min(stream->latency, frames * stream->words);
}

/* Of a link that holds words back: a packet at least, and where the host copies whole ones. */
static int64_t held_depth(const HlsStream *stream)
{
    int64_t packet = packet_of(stream);
    if (!has_protocol(stream, SYS_HOST)) return i64_max(stream->depth, packet);
    return ceil_div(i64_max(stream->depth, packet), packet) * packet;
}

/* Room for what links hold on later hardware. False: some would have none, which hold words back now. */
static bool add_slack(Bounds *b, int64_t *depths, int64_t events)
{
    bool is_changed = false;
    for (size_t i = 0; !b->slack.is_exact && i < b->design->streams.len; i++) {
        const HlsStream *stream = &b->design->streams.data[i];
        if (!is_udp(b, i)) continue;
        int64_t packet = packet_of(stream);
        const SplitRoom room = {.stream = (uint32_t)i,
                                .packet = packet,
                                .pace = attr_dict_int(link_of(stream), SYS_ATTR_PACE, packet + 1)};
        int64_t words = split_room_with_slack(b->design, b->slack, &room, b->depths, events);
        b->is_late[i] = words < 0;
        if (words >= 0) {
            depths[i] = i64_max(depths[i], words + packet + in_flight(b, stream));
        } else if (has_protocol(stream, "either")) {
            b->holds[i] = is_changed = true;
        }
    }
    return !is_changed;
}

/* Depths with which the design is as fast as with unbounded links. */
static Outcome find_depths(Bounds *b)
{
    const size_t count = b->design->streams.len;
    const int64_t most = most_events(b->design);
    int64_t events = most;
    b->has_links = false;
    for (size_t i = 0; i < count; i++) {
        const HlsStream *stream = &b->design->streams.data[i];
        b->depths[i] = is_udp(b, i) ? 0 : !link_of(stream) ? stream->depth : held_depth(stream);
        b->has_links |= b->depths[i] != stream->depth;
    }
    if (!b->has_links) return BOUND;
    if (fifo_steady_state(b->design, b->depths, &events, &b->free, b->needed) != SIZING_PERIODIC)
        return UNBOUNDED;
    memcpy(b->slack_depths, b->depths, count * sizeof *b->depths);
    if (!add_slack(b, b->slack_depths, most)) return WITHOUT_SLACK;
    for (size_t i = 0; i < count; i++) {
        const HlsStream *stream = &b->design->streams.data[i];
        int64_t room = is_udp(b, i) ? b->needed[i] + packet_of(stream) + in_flight(b, stream) : 0;
        b->depths[i] = i64_max(b->slack_depths[i], i64_max(room, stream->depth));
    }
    events = most;
    bool is_periodic =
        fifo_steady_state(b->design, b->depths, &events, &b->bounded, NULL) == SIZING_PERIODIC;
    return is_periodic && b->bounded.interval <= b->free.interval ? BOUND : SLOWER;
}

/* Lets all links hold words back that may. False: all that may do already. */
static bool hold_all(Bounds *b)
{
    bool changes = false;
    for (size_t i = 0; i < b->design->streams.len; i++) {
        if (!has_protocol(&b->design->streams.data[i], "either")) continue;
        changes |= !b->holds[i];
        b->holds[i] = true;
    }
    return changes;
}

static bool explain(const Bounds *b, Outcome outcome)
{
    if (outcome == UNBOUNDED)
        return op_error(b->design->top,
                        "has no periodic state within %lld reads and writes, so that it is not "
                        "known what links of protocol udp must hold; credit holds words back",
                        (long long)most_events(b->design));
    return op_error(b->design->top,
                    "takes %lld cycles from frame to frame with room at links for all that they "
                    "hold, but %lld without limits",
                    (long long)b->bounded.interval, (long long)b->free.interval);
}

/* What fit-fifos has recorded. */
static FifoSlack recorded_slack(const HlsDesign *design)
{
    FifoSlack slack = {.is_exact = true};
    const Attr *timing = op_attr(design->top, EMITHLS_ATTR_TIMING);
    const Attr *share = timing ? attr_dict_get_c(timing, EMITHLS_TIMING_FIFO_SLACK) : NULL;
    if (!share || !fifo_slack_parse(share->u.string, &slack)) slack.is_exact = true;
    return slack;
}

/* is_slow: all links that may hold words back do, as there is no room where they do not. */
static void remark_held(const Bounds *b, bool is_slow)
{
    if (is_slow)
        op_remark(b->design->top,
                  "has links that hold words back: no room was found with which links that do not "
                  "are as fast");
    for (size_t i = 0; i < b->design->streams.len; i++) {
        const Op *op = b->design->streams.data[i].op;
        if (!b->is_late[i] || (is_slow && b->holds[i])) continue;
        op_remark(op,
                  "%s: on hardware that is later than predicted, what reads it may be slower "
                  "than what writes it",
                  b->holds[i] ? "holds words back" : "may lose words, which 'credit' would not");
    }
}

static bool bound(HlsDesign *design)
{
    const size_t count = design->streams.len;
    int64_t *depths = xcalloc(3 * count + 1, sizeof *depths);
    Bounds b = {.design = design,
                .slack = recorded_slack(design),
                .holds = xcalloc(count + 1, sizeof *b.holds),
                .is_late = xcalloc(count + 1, sizeof *b.is_late),
                .depths = depths,
                .needed = depths + count,
                .slack_depths = depths + 2 * count};
    bool is_slow = false;
    Outcome outcome = find_depths(&b);
    while (outcome == WITHOUT_SLACK) outcome = find_depths(&b);
    if (outcome != BOUND && hold_all(&b)) {
        is_slow = true;
        outcome = find_depths(&b);
    }
    if (outcome == BOUND) remark_held(&b, is_slow);
    if (outcome == BOUND) {
        const int64_t bits = apply(&b);
        if (b.has_links && b.bounded.frames > 0) set_timing(design, &b.bounded, bits);
    } else {
        explain(&b, outcome);
    }
    free(b.holds);
    free(b.is_late);
    free(depths);
    return outcome == BOUND;
}

static bool bound_links(Pass *pass, Op *module)
{
    (void)pass;
    if (!emithls_top(module)) return true;
    HlsDesign *design = design_create(module, clock_of_module(module, design_clock_mhz(module)));
    bool ok = design && bound(design);
    design_free(design);
    return ok;
}

const PassDef pass_bound_links = {
    .name = "bound-links",
    .summary =
        "Give links room for a packet, and those without back-pressure for all that they hold",
    .anchor = "builtin.module",
    .run = bound_links,
};
