/* Nodes as ops. A node is computed in its cycle; where it is needed later it goes through registers.
 * Extensions and concatenations are wires, made where they are needed, so that registers hold what
 * is behind them.
 * Tests: lit/lowering/emithls_to_rtl, test/e2e/rtl_check.py */
#include <assert.h>

#include "dialects/comb/comb.h"
#include "dialects/hw/hw.h"
#include "dialects/seq/seq.h"
#include "lowering/emithls_to_rtl/internal.h"

bool to_rtl_is_wire(NodeKind kind)
{
    return kind == NODE_CONST || kind == NODE_UNDEF || kind == NODE_SEXT || kind == NODE_ZEXT ||
           kind == NODE_CONCAT;
}

static size_t slot(const Datapath *d, NodeId id, int64_t stage)
{
    assert(stage >= 0 && stage < (int64_t)d->stages);
    return (size_t)id * d->stages + (size_t)stage;
}

Value *to_rtl_at(const Datapath *d, NodeId id, int64_t stage)
{
    Value *value = d->values[slot(d, id, stage)];
    assert(value);
    return value;
}

static void need(Datapath *d, NodeId id, int64_t stage)
{
    if (id == NO_NODE) return;
    d->is_needed[slot(d, id, stage)] = 1;
    d->is_used[id] = true;
}

static void need_slice(Datapath *d, NodeId id, const Slice *s)
{
    need(d, s->a, s->first + 1 - s->a_registers);
    need(d, s->b, s->first + 1 - s->b_registers);
    need(d, s->d, s->first);
    need(d, s->sum, to_rtl_node(d->g, id)->stage - 1);
}

static void need_operands(Datapath *d, NodeId id)
{
    const Node *n = to_rtl_node(d->g, id);
    Slice slice;
    if (!d->is_used[id]) return;
    if (to_rtl_slice_of(d, id, &slice)) {
        need_slice(d, id, &slice);
        return;
    }
    for (uint32_t i = 0; i < n->count; i++) {
        NodeId in = to_rtl_in(d->g, id, i);
        if (!to_rtl_is_wire(n->kind)) {
            need(d, in, n->stage - to_rtl_latency(n, i));
            continue;
        }
        for (uint32_t s = 0; s < d->stages; s++)
            if (d->is_needed[slot(d, id, s)]) need(d, in, s);
    }
}

/* Something outside the graph takes the node. */
static void need_outside(Datapath *d, NodeId id, int64_t stage)
{
    need(d, id, stage);
    d->uses[id]++;
}

static void count_uses(Datapath *d)
{
    const Graph *g = d->g;
    for (size_t i = 0; i < g->order.len; i++)
        for (uint32_t k = 0; k < to_rtl_node(g, g->order.data[i])->count; k++)
            d->uses[to_rtl_in(g, g->order.data[i], k)]++;
}

/* What leaves the graph, and then backwards what leads there. */
static void find_needs(Datapath *d)
{
    const Graph *g = d->g;
    const RtlProcess *p = d->m->process;
    for (size_t i = 0; i < g->transfers.len; i++) {
        need_outside(d, g->transfers.data[i].where, g->transfers.data[i].stage);
        need_outside(d, g->transfers.data[i].word, g->transfers.data[i].stage);
    }
    for (size_t i = 0; i < g->stores.len; i++) {
        const Store *s = &g->stores.data[i];
        need_outside(d, s->where, s->stage);
        need_outside(d, s->address, s->stage);
        for (uint32_t k = 0; k < p->banks.data[s->bank].array->word; k++)
            need_outside(d, s->lanes[k], s->stage);
    }
    for (uint32_t c = 0; c < p->cell_widths.len; c++)
        if (p->is_live[c] && g->finals[c] != NO_NODE)
            need_outside(d, g->finals[c], to_rtl_cell_stage(g, c));
    count_uses(d);
    for (size_t i = g->order.len; i-- > 0;) need_operands(d, g->order.data[i]);
}

static Value *in(const Datapath *d, NodeId id, uint32_t i, int64_t stage)
{
    return to_rtl_at(d, to_rtl_in(d->g, id, i), stage);
}

static Value *wire(Datapath *d, NodeId id, int64_t stage)
{
    const Node *n = to_rtl_node(d->g, id);
    Builder *b = &d->m->b;
    if (n->kind == NODE_SEXT || n->kind == NODE_ZEXT)
        return comb_build_resize(b, in(d, id, 0, stage), n->width, n->kind == NODE_SEXT);
    if (n->kind != NODE_CONCAT) return hw_build_int(b, n->width, n->imm);
    Value **parts = xcalloc(n->count, sizeof *parts);
    for (uint32_t i = 0; i < n->count; i++) parts[i] = in(d, id, i, stage);
    Value *out = comb_build_concat(b, parts, n->count);
    free_ptr((void **)&parts);
    return out;
}

static const OpDef *binary_op(NodeKind kind)
{
    switch (kind) {
    case NODE_ADD: return COMB(ADD);
    case NODE_SUB: return COMB(SUB);
    case NODE_MUL: return COMB(MUL);
    case NODE_AND: return COMB(AND);
    case NODE_OR: return COMB(OR);
    case NODE_XOR: return COMB(XOR);
    case NODE_SHL: return COMB(SHL);
    case NODE_SHRU: return COMB(SHRU);
    case NODE_SHRS: return COMB(SHRS);
    default: return NULL;
    }
}

static Value *larger(Builder *b, NodeKind kind, Value *x, Value *y)
{
    CombPredicate is_first = kind == NODE_MAXS   ? COMB_SGT
                             : kind == NODE_MAXU ? COMB_UGT
                             : kind == NODE_MINS ? COMB_SLT
                                                 : COMB_ULT;
    return comb_build_mux(b, comb_build_icmp(b, is_first, x, y), x, y);
}

/* Logic on operands of one cycle. */
static Value *logic(Datapath *d, NodeId id, int64_t stage)
{
    const Node *n = to_rtl_node(d->g, id);
    Builder *b = &d->m->b;
    Value *x = in(d, id, 0, stage);
    if (n->kind == NODE_EXTRACT) return comb_build_extract(b, x, (uint32_t)n->imm, n->width);
    Value *y = in(d, id, 1, stage);
    if (n->kind == NODE_CMP) return comb_build_icmp(b, (CombPredicate)n->imm, x, y);
    if (n->kind == NODE_MUX) return comb_build_mux(b, x, y, in(d, id, 2, stage));
    if (n->kind >= NODE_MAXS && n->kind <= NODE_MINU) return larger(b, n->kind, x, y);
    return comb_build_binary(b, binary_op(n->kind), x, y);
}

/* A value of a stage in a later one: registers, those with one enable in a row. */
Value *to_rtl_delayed(const Datapath *d, Value *value, int64_t stage, int64_t cycles)
{
    Value *const *moves = d->control->moves + stage;
    for (int64_t first = 1, next; first <= cycles; first = next) {
        for (next = first + 1; next <= cycles && moves[next] == moves[first];) next++;
        SeqRegister reg = {.input = value, .clock = d->m->clock, .enable = moves[first]};
        value = seq_build_register(&d->m->b, value->type, &reg, (uint32_t)(next - first), NULL);
    }
    return value;
}

/* Operand and product registers, then the sum's, of what no slice holds. */
static Value *product_and_sum(Datapath *d, NodeId id)
{
    const Node *n = to_rtl_node(d->g, id);
    int64_t first = n->stage - n->latency;
    Builder *b = &d->m->b;
    Value *x = to_rtl_delayed(d, in(d, id, 0, first), first, 1);
    Value *y = to_rtl_delayed(d, in(d, id, 1, first), first, 1);
    Value *product = to_rtl_delayed(d, comb_build_binary(b, COMB(MUL), x, y), first + 1, 1);
    Value *sum = in(d, id, 2, n->stage - to_rtl_latency(n, 2));
    return to_rtl_delayed(d, comb_build_binary(b, COMB(ADD), product, sum), n->stage - 1, 1);
}

static Value *load(Datapath *d, NodeId id)
{
    const Node *n = to_rtl_node(d->g, id);
    Value *memory = d->m->banks[n->imm & UINT32_MAX];
    return seq_build_read(&d->m->b, memory, in(d, id, 0, n->stage - n->latency), d->m->clock,
                          d->control->moves[n->stage]);
}

static Value *compute(Datapath *d, NodeId id)
{
    const Node *n = to_rtl_node(d->g, id);
    Slice s;
    if (to_rtl_slice_of(d, id, &s)) return to_rtl_build_slice(d, id, &s);
    if (to_rtl_is_fabric_product(n)) return to_rtl_build_product(d, id);
    switch (n->kind) {
    case NODE_COUNTER: return d->control->counters[n->imm];
    case NODE_STATE: return d->m->cells[n->imm];
    case NODE_READ: return d->words[n->imm];
    case NODE_LOAD: return load(d, id);
    case NODE_MACC: return product_and_sum(d, id);
    default:
        return to_rtl_delayed(d, logic(d, id, n->stage - n->latency), n->stage - n->latency,
                              n->latency);
    }
}

/* The node in its cycle and in the later ones that need it. */
static void build_node(Datapath *d, NodeId id)
{
    const Node *n = to_rtl_node(d->g, id);
    int64_t built = n->stage;
    if (!d->is_used[id]) return;
    if (!to_rtl_is_wire(n->kind)) d->values[slot(d, id, built)] = compute(d, id);
    for (int64_t s = to_rtl_is_wire(n->kind) ? 0 : n->stage + 1; s < (int64_t)d->stages; s++) {
        if (!d->is_needed[slot(d, id, s)]) continue;
        d->values[slot(d, id, s)] =
            to_rtl_is_wire(n->kind) ? wire(d, id, s)
                                    : to_rtl_delayed(d, to_rtl_at(d, id, built), built, s - built);
        built = s;
    }
}

Datapath to_rtl_datapath(RtlModule *m, const Graph *g, const LoopControl *control, Value **words)
{
    Datapath d = {
        .m = m, .g = g, .control = control, .words = words, .stages = (uint32_t)g->loop->depth};
    d.uses = xcalloc(g->nodes.len + 1, sizeof *d.uses);
    d.is_used = xcalloc(g->nodes.len + 1, sizeof *d.is_used);
    d.is_needed = xcalloc(g->nodes.len * d.stages + 1, sizeof *d.is_needed);
    d.values = xcalloc(g->nodes.len * d.stages + 1, sizeof *d.values);
    find_needs(&d);
    for (size_t i = 0; i < g->order.len; i++) build_node(&d, g->order.data[i]);
    return d;
}

void to_rtl_datapath_free(Datapath *d)
{
    free_ptr((void **)&d->uses);
    free_ptr((void **)&d->is_used);
    free_ptr((void **)&d->is_needed);
    free_ptr((void **)&d->values);
}
