/* The least and the greatest number that a node may be, taken as signed: how wide an operand of a
 * multiplier has to be.
 * Tests: lit/lowering/emithls_to_rtl/slices.mir */
#include "analysis/analysis.h"
#include "lowering/emithls_to_rtl/internal.h"

enum { MOST_BITS = 62, MOST_OPS = 8 };

static NodeRange of_width(uint32_t width)
{
    if (width > MOST_BITS) return (NodeRange){.bits = width};
    int64_t end = (int64_t)1 << (width - 1);
    return (NodeRange){.is_known = true, .low = -end, .high = end - 1, .bits = width};
}

/* What fits the width does not wrap around. */
static NodeRange between(int64_t low, int64_t high, uint32_t width)
{
    uint32_t bits = (uint32_t)payload_range_bits(low, high);
    if (bits > width || bits > MOST_BITS) return of_width(width);
    return (NodeRange){.is_known = true, .low = low, .high = high, .bits = bits};
}

static NodeRange sum_of(NodeRange a, NodeRange b, uint32_t width)
{
    return between(a.low + b.low, a.high + b.high, width);
}

static NodeRange product_of(NodeRange a, NodeRange b, uint32_t width)
{
    const int64_t x[] = {a.low, a.high}, y[] = {b.low, b.high};
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (int i = 0; i < 4; i++) {
        int64_t corner;
        if (!i64_mul(x[i >> 1], y[i & 1], &corner)) return of_width(width);
        low = i64_min(low, corner);
        high = i64_max(high, corner);
    }
    return between(low, high, width);
}

static NodeRange range_through(const Graph *g, NodeId id, int depth);

/* Zeros behind a number: a shift to the left. */
static NodeRange shifted(const Graph *g, NodeId id, int depth)
{
    int64_t zero;
    const Node *n = to_rtl_node(g, id);
    NodeId low = to_rtl_in(g, id, n->count - 1);
    if (n->count != 2 || !to_rtl_is_const(g, low, &zero) || zero != 0 || n->width > MOST_BITS)
        return of_width(n->width);
    int64_t factor = (int64_t)1 << to_rtl_node(g, low)->width;
    NodeRange high = range_through(g, to_rtl_in(g, id, 0), depth);
    return between(high.low * factor, high.high * factor, n->width);
}

static NodeRange range_through(const Graph *g, NodeId id, int depth)
{
    const Node *n = to_rtl_node(g, id);
    if (depth == 0) return of_width(n->width);
    if (n->kind == NODE_CONST && n->width <= MOST_BITS) {
        int64_t value = to_rtl_signed(n->imm, n->width);
        return between(value, value, n->width);
    }
    if (n->kind == NODE_CONCAT) return shifted(g, id, depth - 1);
    if (n->kind == NODE_ZEXT) {
        uint32_t from = to_rtl_node(g, to_rtl_in(g, id, 0))->width;
        if (from >= MOST_BITS) return of_width(n->width);
        return between(0, ((int64_t)1 << from) - 1, n->width);
    }
    if (n->kind != NODE_SEXT && n->kind != NODE_ADD && n->kind != NODE_MUL)
        return of_width(n->width);
    NodeRange a = range_through(g, to_rtl_in(g, id, 0), depth - 1);
    if (n->kind == NODE_SEXT || !a.is_known) return n->kind == NODE_SEXT ? a : of_width(n->width);
    NodeRange b = range_through(g, to_rtl_in(g, id, 1), depth - 1);
    if (!b.is_known) return of_width(n->width);
    return n->kind == NODE_ADD ? sum_of(a, b, n->width) : product_of(a, b, n->width);
}

NodeRange to_rtl_range(const Graph *g, NodeId id)
{
    return range_through(g, id, MOST_OPS);
}
