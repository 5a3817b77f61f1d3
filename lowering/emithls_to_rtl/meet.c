/* Whether a load finds what a store of the same iteration has stored before it: the two addresses
 * and conditions are computed for each iteration. They depend on counters alone, except for
 * addresses that the body computes, which may be anything.
 * Tests: lit/lowering/emithls_to_rtl/reorder.mir, test/e2e/rtl_check.py */
#include "dialects/arith/arith.h"
#include "lowering/emithls_to_rtl/internal.h"

enum { MOST_STEPS = 1 << 24, MOST_BITS = 64 };

/* The nodes of interest, operands first, and their values in an iteration. */
typedef struct Trial {
    const Graph *g;
    VEC(NodeId) nodes;
    uint64_t *values; /* per node of the graph */
} Trial;

static uint64_t low_bits(uint64_t value, uint32_t width)
{
    return width >= MOST_BITS ? value : value & (((uint64_t)1 << width) - 1);
}

static int64_t as_signed(uint64_t value, uint32_t width)
{
    return (int64_t)(value << (MOST_BITS - width)) >> (MOST_BITS - width);
}

static bool is_known_kind(const Node *n)
{
    switch (n->kind) {
    case NODE_CONST:
    case NODE_COUNTER:
    case NODE_ADD:
    case NODE_SUB:
    case NODE_MUL:
    case NODE_AND:
    case NODE_XOR:
    case NODE_CMP:
    case NODE_MUX:
    case NODE_EXTRACT:
    case NODE_SEXT:
    case NODE_ZEXT:
    case NODE_CONCAT: return n->width <= MOST_BITS;
    default: return false;
    }
}

/* Adds what the wanted nodes depend on. False: it cannot be computed. */
static bool collect(Trial *t, const NodeId *wanted, size_t count)
{
    const Graph *g = t->g;
    bool *is_wanted = xcalloc(g->nodes.len, sizeof *is_wanted), ok = true;
    for (size_t i = 0; i < count; i++) is_wanted[wanted[i]] = wanted[i] != NO_NODE;
    for (size_t i = g->order.len; i-- > 0;) {
        NodeId id = g->order.data[i];
        if (!is_wanted[id]) continue;
        ok &= is_known_kind(to_rtl_node(g, id));
        for (uint32_t k = 0; k < to_rtl_node(g, id)->count; k++)
            is_wanted[to_rtl_in(g, id, k)] = true;
    }
    for (size_t i = 0; ok && i < g->order.len; i++)
        if (is_wanted[g->order.data[i]]) *vec_push(&t->nodes) = g->order.data[i];
    free_ptr((void **)&is_wanted);
    return ok;
}

static uint64_t concatenate(const Trial *t, NodeId id)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < to_rtl_node(t->g, id)->count; i++) {
        NodeId in = to_rtl_in(t->g, id, i);
        value = value << to_rtl_node(t->g, in)->width | t->values[in];
    }
    return value;
}

static uint64_t evaluate(const Trial *t, NodeId id, const int64_t *counters)
{
    const Node *n = to_rtl_node(t->g, id);
    uint64_t x[3] = {0};
    for (uint32_t i = 0; i < n->count && i < COUNT_OF(x); i++)
        x[i] = t->values[to_rtl_in(t->g, id, i)];
    uint32_t width = n->count > 0 ? to_rtl_node(t->g, to_rtl_in(t->g, id, 0))->width : 0;
    switch (n->kind) {
    case NODE_CONST: return (uint64_t)n->imm;
    case NODE_COUNTER: return (uint64_t)counters[n->imm];
    case NODE_ADD: return x[0] + x[1];
    case NODE_SUB: return x[0] - x[1];
    case NODE_MUL: return x[0] * x[1];
    case NODE_AND: return x[0] & x[1];
    case NODE_XOR: return x[0] ^ x[1];
    case NODE_CMP: return to_rtl_compare((int64_t)x[0], (int64_t)x[1], width, n->imm);
    case NODE_MUX: return x[0] ? x[1] : x[2];
    case NODE_EXTRACT: return x[0] >> n->imm;
    case NODE_SEXT: return (uint64_t)as_signed(x[0], width);
    case NODE_ZEXT: return x[0];
    default: return concatenate(t, id);
    }
}

/* Counters of the loop from `first` to before `end`, at a flat position of their box. */
static void enter(const HlsLoop *loop, uint32_t first, uint32_t end, int64_t flat,
                  int64_t *counters)
{
    for (uint32_t i = end; i-- > first;) {
        counters[i] = flat % loop->extents[i];
        flat /= loop->extents[i];
    }
}

static bool holds(const Trial *t, NodeId where)
{
    return where == NO_NODE || t->values[where];
}

/* Whether the addresses meet in the iteration that the counters are at. */
static bool meets_at(Trial *t, const Store *store, const Load *load, const int64_t *counters)
{
    const Graph *g = t->g;
    for (size_t k = 0; k < t->nodes.len; k++) {
        NodeId id = t->nodes.data[k];
        t->values[id] = low_bits(evaluate(t, id, counters), to_rtl_node(g, id)->width);
    }
    return holds(t, store->where) && holds(t, load->where) &&
           t->values[store->address] == t->values[to_rtl_in(g, load->node, 0)];
}

bool to_rtl_meet(const Graph *g, const Store *store, const Load *load)
{
    const HlsLoop *loop = g->loop;
    const NodeId wanted[] = {store->address, store->where, to_rtl_in(g, load->node, 0),
                             load->where};
    Trial t = {.g = g};
    int64_t steps = loop->trips, counters[HLS_MAX_LOOPS] = {0};
    bool meets = !collect(&t, wanted, COUNT_OF(wanted)) ||
                 !i64_mul(steps, loop->executions, &steps) ||
                 !i64_mul(steps, (int64_t)t.nodes.len + 1, &steps) || steps > MOST_STEPS;
    t.values = xcalloc(g->nodes.len, sizeof *t.values);
    for (int64_t k = 0; !meets && k < loop->executions; k++) {
        enter(loop, 0, loop->plain_count, k, counters);
        for (int64_t i = loop->begin; !meets && i < loop->end_position; i++) {
            enter(loop, loop->plain_count, loop->counter_count, i, counters);
            meets = meets_at(&t, store, load, counters);
        }
    }
    free_ptr((void **)&t.values);
    vec_free(&t.nodes);
    return meets;
}
