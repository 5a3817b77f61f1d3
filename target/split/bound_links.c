/* bound-links: room at the end of links. With back-pressure (`credit`) it is that of a packet at
 * least, for a packet is sent as a whole. Without (`udp`), what comes to a full receiver is lost.
 *
 * For these the design is simulated with these links unbounded, to its periodic state. What they hold
 * at most, a packet more, and the words that come while the news of a free place would travel, which a
 * simulation of the depth waits for, become their depth, if fit-fifos has not given them more. So no
 * word ever waits for room, as long as the design runs as predicted and outputs are taken as fast as
 * they come; another simulation with these depths makes sure that it is as fast. Where the reader of a
 * link is slower than its writer there is no such depth. Links of `either` protocol are udp if there
 * is one, else credit.
 * Requires: depths of all other streams, as fit-fifos chooses them.
 * Changes: depth of streams with sys.link, which lose what they were to be built of; protocol of those
 * that left it open.
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
    const Attr *link = link_of(stream);
    return link && str_eq_c(attr_dict_get_c(link, SYS_ATTR_PROTOCOL)->u.string, name);
}

static int64_t packet_of(const HlsStream *stream)
{
    return attr_int_value(attr_dict_get_c(link_of(stream), SYS_ATTR_PACKET));
}

typedef enum Outcome { BOUND, UNBOUNDED, SLOWER } Outcome;

typedef struct Bounds {
    const HlsDesign *design;
    const char *open;         /* what links of `either` protocol are */
    int64_t *depths, *needed; /* of each stream */
    SteadyState free, bounded;
    bool has_links; /* whose depths change */
} Bounds;

static bool is_udp(const Bounds *b, const HlsStream *stream)
{
    return has_protocol(stream, "udp") ||
           (has_protocol(stream, "either") && strcmp(b->open, "udp") == 0);
}

static void apply(const Bounds *b)
{
    for (size_t i = 0; i < b->design->streams.len; i++) {
        const HlsStream *stream = &b->design->streams.data[i];
        Op *op = (Op *)(uintptr_t)stream->op; /* of the module that the pass changes */
        if (has_protocol(stream, "either"))
            op_set_attr(op, SYS_ATTR_LINK,
                        attr_dict_set(link_of(stream), ident_get_c(op->ctx, SYS_ATTR_PROTOCOL),
                                      attr_string(op->ctx, str_from(b->open))));
        if (b->depths[i] <= stream->depth) continue;
        op_set_attr(op, DFG_ATTR_DEPTH, attr_i64(op->ctx, b->depths[i]));
        op_set_attr(op, EMITHLS_ATTR_IMPL, NULL);
    }
}

/* The latency that fit-fifos has noted is that with its own depths. */
static void set_latency(const HlsDesign *design, int64_t latency)
{
    Op *top = (Op *)(uintptr_t)design->top; /* likewise */
    const Attr *timing = op_attr(top, EMITHLS_ATTR_TIMING);
    if (!timing || latency <= 0 || !attr_dict_get_c(timing, EMITHLS_TIMING_LATENCY)) return;
    op_set_attr(top, EMITHLS_ATTR_TIMING,
                attr_dict_set(timing, ident_get_c(top->ctx, EMITHLS_TIMING_LATENCY),
                              attr_i64(top->ctx, latency)));
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

/* Depths with which the design is as fast as with unbounded links. */
static Outcome find_depths(Bounds *b)
{
    const size_t count = b->design->streams.len;
    const int64_t most = most_events(b->design);
    int64_t events = most;
    b->has_links = false;
    for (size_t i = 0; i < count; i++) {
        const HlsStream *stream = &b->design->streams.data[i];
        b->depths[i] = is_udp(b, stream)  ? 0
                       : !link_of(stream) ? stream->depth
                                          : held_depth(stream);
        b->has_links |= b->depths[i] != stream->depth;
    }
    if (!b->has_links) return BOUND;
    if (fifo_steady_state(b->design, b->depths, &events, &b->free, b->needed) != SIZING_PERIODIC)
        return UNBOUNDED;
    for (size_t i = 0; i < count; i++) {
        const HlsStream *stream = &b->design->streams.data[i];
        int64_t room =
            is_udp(b, stream) ? b->needed[i] + packet_of(stream) + in_flight(b, stream) : 0;
        b->depths[i] = i64_max(b->depths[i], i64_max(room, stream->depth));
    }
    events = most;
    bool is_periodic =
        fifo_steady_state(b->design, b->depths, &events, &b->bounded, NULL) == SIZING_PERIODIC;
    return is_periodic && b->bounded.interval <= b->free.interval ? BOUND : SLOWER;
}

static bool has_open_links(const HlsDesign *design)
{
    for (size_t i = 0; i < design->streams.len; i++)
        if (has_protocol(&design->streams.data[i], "either")) return true;
    return false;
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

static bool bound(const HlsDesign *design)
{
    int64_t *depths = xcalloc(2 * design->streams.len + 1, sizeof *depths);
    Bounds b = {
        .design = design, .open = "udp", .depths = depths, .needed = depths + design->streams.len};
    Outcome outcome = find_depths(&b);
    if (outcome != BOUND && has_open_links(design)) {
        b.open = "credit";
        outcome = find_depths(&b);
        if (outcome == BOUND)
            op_remark(design->top,
                      "has links that hold words back: no room was found with which links "
                      "that do not are as fast");
    }
    if (outcome == BOUND) {
        apply(&b);
        if (b.has_links && b.bounded.frames > 0) set_latency(design, b.bounded.latency);
    } else {
        explain(&b, outcome);
    }
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
