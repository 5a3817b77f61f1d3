/* bound-links: room at the end of links. With back-pressure (`credit`) it is that of a packet at
 * least, for a packet is sent as a whole. Without (`udp`), what comes to a full receiver is lost.
 *
 * For these the design is simulated with these links unbounded, to its periodic state. What they hold at most,
 * a packet more, and the words that come while the news of a free place would travel, which a
 * simulation of the depth waits for, become their depth, if fit-fifos has not given them more. So no
 * word ever waits for room, as long as the design runs as predicted and outputs are taken as fast as
 * they come; another simulation with these depths makes sure that it is as fast.
 * Requires: depths of all other streams, as fit-fifos chooses them.
 * Changes: depth of streams with sys.link, which lose what they were to be built of.
 * Tests: lit/target/split/connect-cards.mir, test/e2e/system_check.py */
#include <stdlib.h>

#include "dialects/dfg/dfg.h"
#include "ir/asm/print/print.h"
#include "sim/design/design.h"
#include "target/fifo/fifo.h"
#include "target/split/internal.h"

/* Reads and writes that are simulated at most: those of some frames, of a small design more. Where the
 * reader of a link is slower than what comes there is no periodic state, and the words that wait take
 * memory. */
enum { FRAMES = 64, LEAST_EVENTS = 1 << 22, MOST_EVENTS = 1 << 30 };

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

static bool is_udp(const HlsStream *stream)
{
    const Attr *link = link_of(stream);
    return link && str_eq_c(attr_dict_get_c(link, SYS_ATTR_PROTOCOL)->u.string, "udp");
}

static int64_t packet_of(const HlsStream *stream)
{
    return attr_int_value(attr_dict_get_c(link_of(stream), SYS_ATTR_PACKET));
}

/* The depth that is set. */
static int64_t set_depth(const HlsStream *stream, int64_t depth)
{
    Op *op = (Op *)(uintptr_t)stream->op; /* of the module that the pass changes */
    if (depth <= stream->depth) return stream->depth;
    op_set_attr(op, DFG_ATTR_DEPTH, attr_i64(op->ctx, depth));
    op_set_attr(op, EMITHLS_ATTR_IMPL, NULL);
    return depth;
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

static bool bound(const HlsDesign *design)
{
    int64_t *depths = xcalloc(design->streams.len + 1, sizeof *depths),
            *needed = xcalloc(design->streams.len + 1, sizeof *needed);
    const int64_t most = most_events(design);
    int64_t events = most;
    SteadyState state = {0}, bounded = {0};
    bool has_links = false, ok = true;
    for (size_t i = 0; i < design->streams.len; i++) {
        const HlsStream *stream = &design->streams.data[i];
        depths[i] = !link_of(stream) ? stream->depth
                    : is_udp(stream) ? 0
                                     : set_depth(stream, packet_of(stream));
        has_links |= depths[i] != stream->depth;
    }
    if (has_links)
        ok = fifo_steady_state(design, depths, &events, &state, needed) == SIZING_PERIODIC ||
             op_error(design->top,
                      "has no periodic state within %lld reads and writes, so that it "
                      "is not known what links without back-pressure must hold",
                      (long long)most);
    for (size_t i = 0; ok && i < design->streams.len; i++) {
        const HlsStream *stream = &design->streams.data[i];
        if (is_udp(stream))
            depths[i] = set_depth(stream, needed[i] + packet_of(stream) +
                                              i64_min(stream->latency, stream->words));
    }
    if (ok && has_links)
        ok = fifo_steady_state(design, depths, &events, &bounded, NULL) == SIZING_PERIODIC &&
             bounded.interval <= state.interval;
    if (!ok && state.interval > 0)
        op_error(design->top,
                 "takes %lld cycles from frame to frame with room at links for all "
                 "that they hold, but %lld without limits",
                 (long long)bounded.interval, (long long)state.interval);
    if (ok && has_links && bounded.frames > 0) set_latency(design, bounded.latency);
    free(depths);
    free(needed);
    return ok;
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
