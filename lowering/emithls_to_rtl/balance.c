/* Sums, minima and other associative operations that the copies of one op chain up become balanced
 * trees, as sim/design reckons with: the terms in a tree, what the chain began with last, and
 * nothing at all for a sum that began with 0. In a loop that keeps its order a product and its sum
 * are a DSP slice.
 * Tests: lit/lowering/emithls_to_rtl */
#include "dialects/arith/arith.h"
#include "lowering/emithls_to_rtl/internal.h"

typedef struct Balancer {
    const RtlProcess *process;
    Graph *g;
    NodeId count;    /* nodes at first, operands before users */
    bool *is_linked; /* per node: the next copy of its op continues it */
    bool *is_used;   /* something else uses it */
    uint32_t *uses;
    NodeId *replaced; /* by what, or NO_NODE */
    VEC(NodeId) terms;
} Balancer;

static bool is_associative(NodeKind kind)
{
    return kind == NODE_ADD || kind == NODE_MUL || (kind >= NODE_AND && kind <= NODE_MINU);
}

/* The operand of a node that continues what another copy of its op has begun; -1: none. */
static int link_of(const Graph *g, NodeId id)
{
    const Node *n = to_rtl_node(g, id);
    if (!is_associative(n->kind) || !n->op) return -1;
    for (uint32_t i = 0; i < 2; i++) {
        const Node *m = to_rtl_node(g, to_rtl_in(g, id, i));
        if (m->kind == n->kind && m->op == n->op) return (int)i;
    }
    return -1;
}

static void count_uses(Balancer *b)
{
    const Graph *g = b->g;
    for (NodeId id = 1; id < b->count; id++) {
        int link = link_of(g, id);
        for (uint32_t i = 0; i < to_rtl_node(g, id)->count; i++) {
            NodeId in = to_rtl_in(g, id, i);
            b->uses[in]++;
            *((int)i == link ? &b->is_linked[in] : &b->is_used[in]) = true;
        }
    }
}

/* What the iteration gives to others than its nodes. */
static void mark_roots(Balancer *b, size_t cells)
{
    const Graph *g = b->g;
    for (size_t i = 0; i < g->transfers.len; i++) b->is_used[g->transfers.data[i].word] = true;
    for (size_t i = 0; i < cells; i++) b->is_used[g->finals[i]] = true;
    for (size_t i = 0; i < g->stores.len; i++) {
        const Store *s = &g->stores.data[i];
        b->is_used[s->address] = true;
        for (uint32_t k = 0; k < b->process->banks.data[s->bank].array->word; k++)
            b->is_used[s->lanes[k]] = true;
    }
}

static NodeId latest(const Balancer *b, NodeId id)
{
    return id < b->count && b->replaced[id] != NO_NODE ? b->replaced[id] : id;
}

static bool is_zero(const Graph *g, NodeId id)
{
    int64_t value;
    return to_rtl_is_const(g, id, &value) && value == 0;
}

static NodeId combine(Balancer *b, NodeId left, NodeId right, const Node *like)
{
    NodeId new = (NodeId)b->g->nodes.len;
    NodeId id = to_rtl_binary(b->g, like->kind, like->width, left, right, 0);
    to_rtl_set_timing(b->g, id, new, like->op, like->timing);
    return id;
}

/* Pairs neighbours until one is left. */
static NodeId tree(Balancer *b, NodeId *terms, size_t count, const Node *like)
{
    for (; count > 1; count = (count + 1) / 2)
        for (size_t i = 0; 2 * i < count; i++)
            terms[i] =
                2 * i + 1 < count ? combine(b, terms[2 * i], terms[2 * i + 1], like) : terms[2 * i];
    return terms[0];
}

static void reverse(NodeId *items, size_t count)
{
    for (size_t i = 0; 2 * i + 1 < count; i++) {
        NodeId item = items[i];
        items[i] = items[count - 1 - i];
        items[count - 1 - i] = item;
    }
}

/* The tree in place of a chain that ends in `root`. */
static NodeId rebuild(Balancer *b, NodeId root)
{
    Graph *g = b->g;
    Node like = *to_rtl_node(g, root);
    NodeId at = root;
    int link = link_of(g, root), begin = link >= 0 ? link : 0;
    b->terms.len = 0;
    for (; link >= 0; link = link_of(g, at)) {
        begin = link;
        *vec_push(&b->terms) = latest(b, to_rtl_in(g, at, 1 - (uint32_t)link));
        at = to_rtl_in(g, at, (uint32_t)link);
    }
    *vec_push(&b->terms) = latest(b, to_rtl_in(g, at, 1 - (uint32_t)begin));
    NodeId start = latest(b, to_rtl_in(g, at, (uint32_t)begin));
    reverse(b->terms.data, b->terms.len);
    NodeId sum = tree(b, b->terms.data, b->terms.len, &like);
    if (like.kind == NODE_ADD && is_zero(g, start)) return sum;
    return combine(b, start, sum, &like);
}

/* A product of one slice that nothing else needs. */
static bool is_slice_product(const Balancer *b, NodeId id)
{
    const Node *n = to_rtl_node(b->g, id);
    return id < b->count && b->uses[id] == 1 && to_rtl_is_slice_product(n);
}

/* A sum in order: a slice with its product, or else a sum with a register behind it. */
static NodeId cascade(Balancer *b, NodeId id)
{
    Graph *g = b->g;
    for (uint32_t i = 0; i < 2; i++) {
        NodeId product = to_rtl_in(g, id, 1 - i), new = (NodeId)g->nodes.len;
        if (!is_slice_product(b, product)) continue;
        int64_t cycle = to_rtl_node(g, product)->cycle + latency_cascade().stages;
        NodeId slice = to_rtl_slice(g, to_rtl_in(g, product, 0), to_rtl_in(g, product, 1),
                                    to_rtl_in(g, id, i));
        if (slice >= new) g->nodes.data[slice].cycle = cycle;
        return slice;
    }
    g->nodes.data[id].timing = latency_cascade();
    g->nodes.data[id].cycle = 0;
    g->nodes.data[id].is_due = false;
    return NO_NODE;
}

static NodeId improve(Balancer *b, NodeId id)
{
    Graph *g = b->g;
    const Node *n = to_rtl_node(g, id);
    if (!is_associative(n->kind) || !n->op) return NO_NODE;
    if (n->is_ordered && n->kind == NODE_ADD) return cascade(b, id);
    if (b->is_linked[id] && !b->is_used[id]) return NO_NODE;
    bool begins_with_zero = n->kind == NODE_ADD && is_zero(g, to_rtl_in(g, id, 0));
    return link_of(g, id) >= 0 || begins_with_zero ? rebuild(b, id) : NO_NODE;
}

static void replace_uses(Balancer *b, size_t cells)
{
    Graph *g = b->g;
    for (size_t i = 0; i < g->transfers.len; i++)
        g->transfers.data[i].word = latest(b, g->transfers.data[i].word);
    for (size_t i = 0; i < g->stores.len; i++) {
        Store *s = &g->stores.data[i];
        const Bank *bank = &b->process->banks.data[s->bank];
        s->address = latest(b, s->address);
        for (uint32_t k = 0; k < bank->array->word; k++) s->lanes[k] = latest(b, s->lanes[k]);
    }
    for (size_t i = 0; i < cells; i++) g->finals[i] = latest(b, g->finals[i]);
}

void to_rtl_balance(RtlProcess *p, Graph *g)
{
    size_t count = g->nodes.len;
    Balancer b = {.process = p,
                  .g = g,
                  .count = (NodeId)count,
                  .is_linked = xcalloc(count, sizeof(bool)),
                  .is_used = xcalloc(count, sizeof(bool)),
                  .uses = xcalloc(count, sizeof(uint32_t)),
                  .replaced = xcalloc(count, sizeof(NodeId))};
    count_uses(&b);
    mark_roots(&b, p->cell_widths.len);
    for (NodeId id = 1; id < b.count; id++) {
        for (uint32_t i = 0; i < to_rtl_node(g, id)->count; i++) {
            NodeId *in = &g->operands.data[to_rtl_node(g, id)->first + i];
            *in = latest(&b, *in);
        }
        b.replaced[id] = improve(&b, id);
    }
    replace_uses(&b, p->cell_widths.len);
    vec_free(&b.terms);
    free_ptr((void **)&b.is_linked);
    free_ptr((void **)&b.is_used);
    free_ptr((void **)&b.uses);
    free_ptr((void **)&b.replaced);
}
