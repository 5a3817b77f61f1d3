/* Nodes and their simplification. Equal nodes are made only once.
 * Tests: lit/lowering/emithls_to_rtl */
#include <assert.h>

#include "dialects/arith/arith.h"
#include "lowering/emithls_to_rtl/internal.h"

const Node *to_rtl_node(const Graph *g, NodeId id)
{
    return &g->nodes.data[id];
}

NodeId to_rtl_in(const Graph *g, NodeId id, uint32_t operand)
{
    assert(operand < g->nodes.data[id].count);
    return g->operands.data[g->nodes.data[id].first + operand];
}

static int64_t low_bits(int64_t value, uint32_t width)
{
    return width >= 64 ? value : value & (int64_t)(((uint64_t)1 << width) - 1);
}

int64_t to_rtl_signed(int64_t value, uint32_t width)
{
    return width >= 64 ? value : (int64_t)((uint64_t)value << (64 - width)) >> (64 - width);
}

bool to_rtl_is_const(const Graph *g, NodeId id, int64_t *value)
{
    const Node *n = to_rtl_node(g, id);
    if (n->kind != NODE_CONST) return false;
    *value = n->imm;
    return true;
}

static bool is_undef(const Graph *g, NodeId id)
{
    return to_rtl_node(g, id)->kind == NODE_UNDEF;
}

static uint64_t hash_of(const Node *n, const NodeId *in)
{
    uint64_t hash = hash_combine((uint64_t)n->kind, hash_combine(n->width, (uint64_t)n->imm));
    return hash_bytes(in, n->count * sizeof *in, hash);
}

static bool is_same(const Graph *g, NodeId id, const Node *n, const NodeId *in)
{
    const Node *m = to_rtl_node(g, id);
    return m->kind == n->kind && m->width == n->width && m->imm == n->imm && m->count == n->count &&
           (n->count == 0 || memcmp(&g->operands.data[m->first], in, n->count * sizeof *in) == 0);
}

static void insert(Graph *g, NodeId id)
{
    const Node *n = to_rtl_node(g, id);
    size_t at = hash_of(n, vec_from(&g->operands, n->first)) & (g->buckets.len - 1);
    while (g->buckets.data[at] != NO_NODE) at = (at + 1) & (g->buckets.len - 1);
    g->buckets.data[at] = id;
}

static void rehash(Graph *g)
{
    enum { FIRST = 1024 };
    size_t size = g->buckets.len ? 2 * g->buckets.len : FIRST;
    vec_reserve(&g->buckets, size);
    memset(g->buckets.data, 0, size * sizeof *g->buckets.data);
    g->buckets.len = size;
    for (NodeId id = 1; id < g->nodes.len; id++) insert(g, id);
}

static NodeId add(Graph *g, Node n, const NodeId *in)
{
    if (g->nodes.len == 0) *vec_push(&g->nodes) = (Node){.kind = NODE_UNDEF};
    n.first = (uint32_t)g->operands.len;
    for (uint32_t i = 0; i < n.count; i++) *vec_push(&g->operands) = in[i];
    *vec_push(&g->nodes) = n;
    return (NodeId)g->nodes.len - 1;
}

/* The node, the one that exists already if there is one. */
static NodeId make(Graph *g, Node n, const NodeId *in)
{
    if (2 * (g->nodes.len + 1) > g->buckets.len) rehash(g);
    size_t at = hash_of(&n, in) & (g->buckets.len - 1);
    for (; g->buckets.data[at] != NO_NODE; at = (at + 1) & (g->buckets.len - 1))
        if (is_same(g, g->buckets.data[at], &n, in)) return g->buckets.data[at];
    NodeId id = add(g, n, in);
    g->buckets.data[at] = id;
    return id;
}

NodeId to_rtl_undef(Graph *g, uint32_t width)
{
    return make(g, (Node){.kind = NODE_UNDEF, .width = width}, NULL);
}

NodeId to_rtl_const(Graph *g, uint32_t width, int64_t value)
{
    return make(g, (Node){.kind = NODE_CONST, .width = width, .imm = low_bits(value, width)}, NULL);
}

NodeId to_rtl_leaf(Graph *g, NodeKind kind, uint32_t width, int64_t imm)
{
    return make(g, (Node){.kind = kind, .width = width, .imm = imm}, NULL);
}

bool to_rtl_compare(int64_t a, int64_t b, uint32_t width, int64_t predicate)
{
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    int64_t sa = to_rtl_signed(a, width), sb = to_rtl_signed(b, width);
    switch ((CmpiPredicate)predicate) {
    case CMPI_EQ: return a == b;
    case CMPI_NE: return a != b;
    case CMPI_SLT: return sa < sb;
    case CMPI_SLE: return sa <= sb;
    case CMPI_SGT: return sa > sb;
    case CMPI_SGE: return sa >= sb;
    case CMPI_ULT: return ua < ub;
    case CMPI_ULE: return ua <= ub;
    case CMPI_UGT: return ua > ub;
    case CMPI_UGE: return ua >= ub;
    }
    return false;
}

/* Of two constants, as wide as `width`. False: it is not computed. */
static bool evaluate(NodeKind kind, uint32_t width, int64_t a, int64_t b, int64_t imm, int64_t *out)
{
    int64_t sa = to_rtl_signed(a, width), sb = to_rtl_signed(b, width);
    switch (kind) {
    case NODE_ADD: *out = (int64_t)((uint64_t)a + (uint64_t)b); return true;
    case NODE_SUB: *out = (int64_t)((uint64_t)a - (uint64_t)b); return true;
    case NODE_MUL: *out = (int64_t)((uint64_t)a * (uint64_t)b); return true;
    case NODE_AND: *out = a & b; return true;
    case NODE_OR: *out = a | b; return true;
    case NODE_XOR: *out = a ^ b; return true;
    case NODE_MAXS: *out = sa > sb ? a : b; return true;
    case NODE_MINS: *out = sa < sb ? a : b; return true;
    case NODE_MAXU: *out = (uint64_t)a > (uint64_t)b ? a : b; return true;
    case NODE_MINU: *out = (uint64_t)a < (uint64_t)b ? a : b; return true;
    case NODE_CMP: *out = to_rtl_compare(a, b, width, imm); return true;
    default: return false;
    }
}

/* x + 0, x - 0, x | 0, x ^ 0, x & 0, 0 * x, 1 * x, 0 + x; NO_NODE: none of them. */
static NodeId identity(NodeKind kind, NodeId a, NodeId b, int64_t value, bool is_right,
                       NodeId constant)
{
    NodeId other = is_right ? a : b;
    bool is_neutral =
        kind == NODE_ADD || kind == NODE_OR || kind == NODE_XOR || (kind == NODE_SUB && is_right);
    if (value == 0 && is_neutral) return other;
    if (value == 0 && (kind == NODE_AND || kind == NODE_MUL)) return constant;
    if (value == 1 && kind == NODE_MUL) return other;
    return NO_NODE;
}

/* A shift by a constant is wires. */
static NodeId constant_shift(Graph *g, NodeKind kind, NodeId a, int64_t amount)
{
    uint32_t width = to_rtl_node(g, a)->width;
    if (amount == 0) return a;
    if ((uint64_t)amount > width) amount = width;
    if (amount == width && kind != NODE_SHRS) return to_rtl_const(g, width, 0);
    if (kind == NODE_SHL) {
        NodeId parts[] = {to_rtl_const(g, (uint32_t)amount, 0),
                          to_rtl_extract(g, a, 0, width - (uint32_t)amount)};
        return to_rtl_concat(g, parts, 2);
    }
    if (amount == width) amount = width - 1;
    NodeId rest = to_rtl_extract(g, a, amount, width - (uint32_t)amount);
    return to_rtl_extend(g, rest, width, kind == NODE_SHRS);
}

NodeId to_rtl_binary(Graph *g, NodeKind kind, uint32_t width, NodeId a, NodeId b, int64_t imm)
{
    int64_t x, y, value;
    uint32_t in_width = to_rtl_node(g, a)->width;
    if (is_undef(g, a) || is_undef(g, b)) return to_rtl_undef(g, width);
    bool has_x = to_rtl_is_const(g, a, &x), has_y = to_rtl_is_const(g, b, &y);
    if (has_x && has_y && in_width <= 64 && evaluate(kind, in_width, x, y, imm, &value))
        return to_rtl_const(g, width, value);
    if (has_y && kind >= NODE_SHL && kind <= NODE_SHRS) return constant_shift(g, kind, a, y);
    NodeId same = has_y   ? identity(kind, a, b, y, true, b)
                  : has_x ? identity(kind, a, b, x, false, a)
                          : NO_NODE;
    if (same != NO_NODE) return same;
    Node n = {.kind = kind, .width = width, .count = 2, .imm = imm};
    return make(g, n, (NodeId[]){a, b});
}

/* A number that is shifted to the left and one that fits the zeros: they lie side by side. */
static NodeId side_by_side(Graph *g, NodeId high, NodeId low)
{
    int64_t zero;
    const Node *h = to_rtl_node(g, high), *l = to_rtl_node(g, low);
    uint32_t width = h->width;
    if (h->kind != NODE_CONCAT || l->kind != NODE_ZEXT) return NO_NODE;
    NodeId zeros = to_rtl_in(g, high, h->count - 1), bits = to_rtl_in(g, low, 0);
    uint32_t room = to_rtl_node(g, zeros)->width;
    if (!to_rtl_is_const(g, zeros, &zero) || zero || to_rtl_node(g, bits)->width > room)
        return NO_NODE;
    NodeId parts[] = {to_rtl_extend(g, bits, room, false),
                      to_rtl_extract(g, high, room, width - room)};
    return to_rtl_concat(g, parts, COUNT_OF(parts));
}

NodeId to_rtl_sum(Graph *g, NodeId a, NodeId b)
{
    int64_t x, y;
    uint32_t width = to_rtl_node(g, a)->width;
    if (is_undef(g, a) || is_undef(g, b)) return to_rtl_undef(g, width);
    if (to_rtl_is_const(g, a, &x) && to_rtl_is_const(g, b, &y))
        return to_rtl_binary(g, NODE_ADD, width, a, b, 0);
    NodeId wires = side_by_side(g, a, b);
    if (wires != NO_NODE) return wires;
    return make(g, (Node){.kind = NODE_ADD, .width = width, .count = 2}, (NodeId[]){a, b});
}

NodeId to_rtl_unary(Graph *g, NodeKind kind, uint32_t width, NodeId a, int64_t imm)
{
    if (kind != NODE_LOAD && is_undef(g, a)) return to_rtl_undef(g, width);
    return make(g, (Node){.kind = kind, .width = width, .count = 1, .imm = imm}, &a);
}

/* A choice of two bits is logic. */
static NodeId bit_choice(Graph *g, NodeId where, NodeId a, NodeId b)
{
    int64_t x, y;
    bool has_x = to_rtl_is_const(g, a, &x), has_y = to_rtl_is_const(g, b, &y);
    if (to_rtl_node(g, a)->width != 1 || !has_x || !has_y) return NO_NODE;
    return x ? where : to_rtl_not(g, where);
}

NodeId to_rtl_mux(Graph *g, NodeId where, NodeId a, NodeId b)
{
    int64_t value;
    if (where == NO_NODE || a == b) return a;
    if (to_rtl_is_const(g, where, &value)) return value ? a : b;
    if (is_undef(g, b) || is_undef(g, where)) return a;
    if (is_undef(g, a)) return b;
    NodeId bit = bit_choice(g, where, a, b);
    if (bit != NO_NODE) return bit;
    Node n = {.kind = NODE_MUX, .width = to_rtl_node(g, a)->width, .count = 3};
    return make(g, n, (NodeId[]){where, a, b});
}

/* The part of a concatenation that holds the bits, if one does. */
static NodeId extract_part(Graph *g, NodeId a, int64_t low, uint32_t width)
{
    const Node *n = to_rtl_node(g, a);
    int64_t begin = 0;
    for (uint32_t i = n->count; i-- > 0;) {
        NodeId part = to_rtl_in(g, a, i);
        uint32_t size = to_rtl_node(g, part)->width;
        if (low >= begin && low + width <= begin + size)
            return to_rtl_extract(g, part, low - begin, width);
        begin += size;
    }
    return NO_NODE;
}

NodeId to_rtl_extract(Graph *g, NodeId a, int64_t low, uint32_t width)
{
    int64_t value;
    Node n = *to_rtl_node(g, a);
    assert(low + width <= n.width);
    if (low == 0 && width == n.width) return a;
    if (to_rtl_is_const(g, a, &value)) return to_rtl_const(g, width, value >> low);
    if (n.kind == NODE_EXTRACT) return to_rtl_extract(g, to_rtl_in(g, a, 0), n.imm + low, width);
    if (n.kind == NODE_CONCAT) {
        NodeId part = extract_part(g, a, low, width);
        if (part != NO_NODE) return part;
    }
    if (n.kind == NODE_SEXT || n.kind == NODE_ZEXT) {
        NodeId in = to_rtl_in(g, a, 0);
        uint32_t size = to_rtl_node(g, in)->width;
        if (low + width <= size) return to_rtl_extract(g, in, low, width);
        if (low == 0) return to_rtl_extend(g, in, width, n.kind == NODE_SEXT);
    }
    return to_rtl_unary(g, NODE_EXTRACT, width, a, low);
}

NodeId to_rtl_extend(Graph *g, NodeId a, uint32_t width, bool is_signed)
{
    int64_t value;
    Node n = *to_rtl_node(g, a);
    if (width <= n.width) return to_rtl_extract(g, a, 0, width);
    if (to_rtl_is_const(g, a, &value) && width <= 64)
        return to_rtl_const(g, width, is_signed ? to_rtl_signed(value, n.width) : value);
    if (n.kind == NODE_ZEXT) return to_rtl_extend(g, to_rtl_in(g, a, 0), width, false);
    if (n.kind == NODE_SEXT && is_signed) return to_rtl_extend(g, to_rtl_in(g, a, 0), width, true);
    return to_rtl_unary(g, is_signed ? NODE_SEXT : NODE_ZEXT, width, a, 0);
}

NodeId to_rtl_concat(Graph *g, const NodeId *parts, uint32_t count)
{
    if (count == 1) return parts[0];
    NodeId *in = xcalloc(count, sizeof *in);
    Node n = {.kind = NODE_CONCAT, .count = count};
    bool has_undef = true;
    for (uint32_t i = 0; i < count; i++) {
        in[count - 1 - i] = parts[i];
        n.width += to_rtl_node(g, parts[i])->width;
        has_undef &= is_undef(g, parts[i]);
    }
    NodeId id = has_undef ? to_rtl_undef(g, n.width) : make(g, n, in);
    free_ptr((void **)&in);
    return id;
}

NodeId to_rtl_and(Graph *g, NodeId a, NodeId b)
{
    if (a == NO_NODE || a == b) return b;
    if (b == NO_NODE) return a;
    int64_t value;
    if (to_rtl_is_const(g, a, &value)) return value ? b : a;
    if (to_rtl_is_const(g, b, &value)) return value ? a : b;
    return make(g, (Node){.kind = NODE_AND, .width = 1, .count = 2}, (NodeId[]){a, b});
}

NodeId to_rtl_not(Graph *g, NodeId a)
{
    int64_t value;
    if (to_rtl_is_const(g, a, &value)) return to_rtl_const(g, 1, !value);
    NodeId one = to_rtl_const(g, 1, 1);
    return make(g, (Node){.kind = NODE_XOR, .width = 1, .count = 2}, (NodeId[]){a, one});
}

NodeId to_rtl_slice(Graph *g, NodeId a, NodeId b, NodeId sum)
{
    Node n = {.kind = NODE_MACC, .width = to_rtl_node(g, sum)->width, .count = 3};
    return make(g, n, (NodeId[]){a, b, sum});
}

/* Whether it has a place in time of its own. */
static bool is_operator(const Node *n)
{
    return n->kind >= NODE_ADD && (n->kind < NODE_EXTRACT || n->kind > NODE_CONCAT);
}

void to_rtl_set_timing(Graph *g, NodeId id, NodeId first_new, const Op *op, OpTiming timing)
{
    Node *n = &g->nodes.data[id];
    if (!is_operator(n) || id < first_new) return;
    n->op = op;
    n->timing = timing;
}

void to_rtl_set_cycle(Graph *g, NodeId id, NodeId first_new, int64_t cycle, bool is_due)
{
    Node *n = &g->nodes.data[id];
    if (!is_operator(n) || (id < first_new && !n->op)) return;
    n->cycle = id < first_new ? i64_min(n->cycle, cycle) : cycle;
    n->is_due |= is_due;
}

void to_rtl_graph_free(Graph *g)
{
    vec_free(&g->nodes);
    vec_free(&g->operands);
    vec_free(&g->buckets);
    vec_free(&g->stores);
    vec_free(&g->loads);
    vec_free(&g->transfers);
    vec_free(&g->order);
}
