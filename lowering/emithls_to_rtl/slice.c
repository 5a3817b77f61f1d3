/* Products as DSP slices: which of them the slices of the device hold, and their instances. A product
 * that is added to the one before in order takes its sum from there (PCIN); a sum of two that only
 * one product needs is its pre-adder's; operands that wait a cycle do so in the slice.
 * Tests: lit/lowering/emithls_to_rtl/slices.mir, test/e2e/rtl_check.py */
#include "dialects/comb/comb.h"
#include "dialects/emithls/emithls.h"
#include "dialects/hw/hw.h"
#include "lowering/emithls_to_rtl/internal.h"

bool to_rtl_is_slice_product(const Node *n)
{
    return n->kind == NODE_MUL && n->op && product_is(n->op) &&
           !op_attr(n->op, EMITHLS_ATTR_BIND) && product_dsp_of(n->op) == 1;
}

/* The first cycle in which the node's value exists. */
static int64_t available(const Graph *g, NodeId id)
{
    const Node *n = to_rtl_node(g, id);
    int64_t stage = n->stage;
    if (!to_rtl_is_wire(n->kind)) return stage;
    stage = 0;
    for (uint32_t i = 0; i < n->count; i++)
        stage = i64_max(stage, available(g, to_rtl_in(g, id, i)));
    return stage;
}

/* The sum that an operand is, if the slice can make it; NO_NODE: it cannot. */
static NodeId own_sum(const Datapath *d, NodeId operand, uint32_t most)
{
    const Graph *g = d->g;
    NodeId sum = operand;
    if (to_rtl_node(g, sum)->kind == NODE_SEXT && d->uses[sum] == 1) sum = to_rtl_in(g, sum, 0);
    const Node *n = to_rtl_node(g, sum);
    if (n->kind != NODE_ADD || d->uses[sum] != 1 || n->is_ordered) return NO_NODE;
    NodeRange a = to_rtl_range(g, to_rtl_in(g, sum, 0)), b = to_rtl_range(g, to_rtl_in(g, sum, 1));
    NodeRange both = to_rtl_range(g, sum);
    bool is_exact = a.is_known && b.is_known && both.is_known && both.low == a.low + b.low &&
                    both.high == a.high + b.high;
    bool fits = a.bits <= most && b.bits <= most && both.bits <= most;
    return is_exact && fits ? sum : NO_NODE;
}

/* Whether x fits the wide port and y the narrow one. */
static bool take_operands(const Datapath *d, NodeId x, NodeId y, Slice *out)
{
    const RtlSlices *slices = &d->m->library->slices;
    NodeRange a = to_rtl_range(d->g, x), b = to_rtl_range(d->g, y);
    if (a.bits > slices->wide || b.bits > slices->narrow) return false;
    *out = (Slice){.a = x, .b = y, .a_width = a.bits, .b_width = b.bits, .width = a.bits + b.bits};
    NodeId sum = own_sum(d, x, slices->wide);
    if (sum == NO_NODE) return true;
    out->pre_add = sum;
    out->a = to_rtl_in(d->g, sum, 0);
    out->d = to_rtl_in(d->g, sum, 1);
    out->a_width = to_rtl_range(d->g, out->a).bits;
    out->d_width = to_rtl_range(d->g, out->d).bits;
    return true;
}

/* The operands, the one that is a sum at the wide port if there is a choice. */
static bool find_operands(const Datapath *d, NodeId id, Slice *out)
{
    Slice other;
    NodeId x = to_rtl_in(d->g, id, 0), y = to_rtl_in(d->g, id, 1);
    bool fits = take_operands(d, x, y, out);
    if (fits && out->pre_add != NO_NODE) return true;
    if (!take_operands(d, y, x, &other)) return fits;
    if (!fits || other.pre_add != NO_NODE) *out = other;
    return true;
}

static uint32_t registers_of(const Datapath *d, NodeId operand, int64_t first)
{
    bool waits = first > 0 && to_rtl_node(d->g, operand)->kind != NODE_CONST &&
                 available(d->g, operand) < first;
    return waits ? 2 : 1;
}

bool to_rtl_slice_of(const Datapath *d, NodeId id, Slice *out)
{
    const Node *n = to_rtl_node(d->g, id);
    if (n->kind != NODE_MACC && !to_rtl_is_slice_product(n)) return false;
    if (n->kind == NODE_MACC && n->width > d->m->library->slices.accumulator) return false;
    if (!find_operands(d, id, out)) return false;
    out->first = n->stage - n->latency;
    out->a_registers = out->d != NO_NODE ? 1 : registers_of(d, out->a, out->first);
    out->b_registers = registers_of(d, out->b, out->first);
    if (n->kind != NODE_MACC) return true;
    out->sum = to_rtl_in(d->g, id, 2);
    const Node *sum = to_rtl_node(d->g, out->sum);
    Slice below;
    out->is_cascade = sum->kind == NODE_MACC && sum->width == n->width && d->uses[out->sum] == 1 &&
                      sum->stage == n->stage - 1 && to_rtl_slice_of(d, out->sum, &below);
    return true;
}

/* The low bits of a node, which are all that its values need. */
static Value *narrow(const Datapath *d, NodeId id, int64_t stage, uint32_t width)
{
    return comb_build_extract(&d->m->b, to_rtl_at(d, id, stage), 0, width);
}

Value *to_rtl_build_slice(const Datapath *d, NodeId id, const Slice *s)
{
    const Node *n = to_rtl_node(d->g, id);
    RtlModule *m = d->m;
    Value *const *moves = d->control->moves;
    bool waits = s->a_registers == 2 || s->b_registers == 2;
    RtlDsp dsp = {.clock = m->clock,
                  .ce_first = waits ? moves[s->first] : NULL,
                  .ce_in = moves[s->first + 1],
                  .ce_product = moves[s->first + 2],
                  .a = narrow(d, s->a, s->first + 1 - s->a_registers, s->a_width),
                  .b = narrow(d, s->b, s->first + 1 - s->b_registers, s->b_width),
                  .a_registers = s->a_registers,
                  .b_registers = s->b_registers};
    dsp.width = n->kind == NODE_MACC || n->width < s->width ? n->width : s->width;
    if (s->d != NO_NODE) dsp.d = narrow(d, s->d, s->first, s->d_width);
    if (n->kind == NODE_MACC) {
        int64_t stage = n->stage - 1;
        dsp.ce_sum = moves[n->stage];
        if (s->is_cascade)
            dsp.pcin = hw_output(value_def(to_rtl_at(d, s->sum, stage)), "pcout");
        else
            dsp.c = narrow(d, s->sum, stage, to_rtl_range(d->g, s->sum).bits);
    }
    Op *instance = to_rtl_dsp(m->library, &m->b, &dsp);
    return comb_build_resize(&m->b, hw_output(instance, "p"), n->width, true);
}
