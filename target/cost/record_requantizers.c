/* record-requantizers: lists the kernels that requantize, with what they take, on the module, because
 * fusion joins them with others, and the nodes at which integers end. A lane takes the LUTs and DSPs of its payload once for each step of
 * a reduction; where constants lie is decided later.
 * Requires: kernels as convert-onnx-to-linalg leaves them.
 * Changes: dfg.requantizer of kernels becomes dfg.requantizers of the module, dfg.integers_end of
 * functions that of the module.
 * Preserves: everything else.
 * Tests: lit/target/cost/record-requantizers.mir */
#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/pass/pass.h"
#include "target/cost/cost.h"

typedef struct Requantizers {
    Clock clock;
    VEC(const Attr *) items;
    VEC(const Attr *) ends;
} Requantizers;

static int64_t constant_bits(const Value *value)
{
    const Op *def = value_def(value);
    int64_t count;
    if (!def || def->def != ARITH(CONSTANT) || !type_is_tensor(value->type) ||
        !type_element_count(value->type, &count))
        return 0;
    return count * type_width(type_elem(value->type));
}

static bool add_table_bits(Op *op, void *user)
{
    int64_t *bits = user;
    if (op->def == TENSOR(EXTRACT)) *bits += constant_bits(op_operand(op, 0));
    return true;
}

/* Bits of the tables that a kernel reads, each once for a read. */
static int64_t table_bits(Op *kernel)
{
    int64_t bits = 0;
    for (uint32_t i = 0; i < kernel->operand_count; i++)
        bits += constant_bits(op_operand(kernel, i));
    op_walk(kernel, add_table_bits, &bits);
    return bits;
}

/* How often a lane runs the payload for one element. */
static int64_t steps_of(const Op *kernel)
{
    int64_t extents[KERNEL_MAX_LOOPS], steps = 1;
    const Attr *kinds = op_attr(kernel, "iterator_types");
    if (kinds->u.array.count > KERNEL_MAX_LOOPS || !linalg_loop_extents(kernel, extents)) return 1;
    for (size_t i = 0; i < kinds->u.array.count; i++)
        if (linalg_iterator_is_reduction(kinds->u.array.items[i])) steps *= extents[i];
    return steps;
}

static void record_ends(Requantizers *r, Op *op)
{
    const Attr *ends = op_attr(op, DFG_ATTR_INTEGERS_END);
    for (uint32_t i = 0; ends && i < ends->u.array.count; i++)
        *vec_push(&r->ends) = ends->u.array.items[i];
    if (ends) op_set_attr(op, DFG_ATTR_INTEGERS_END, NULL);
}

static bool record_op(Op *op, void *user)
{
    Requantizers *r = user;
    record_ends(r, op);
    const Attr *origin = op_attr(op, DFG_ATTR_REQUANTIZER);
    Cost cost = {0};
    if (!origin) return true;
    cost_payload(op, steps_of(op), false, r->clock, &cost);
    Context *ctx = op->ctx;
    const Attr *item = origin;
    item = attr_dict_set(item, ident_get_c(ctx, DFG_REQUANT_BITS), attr_i64(ctx, table_bits(op)));
    item = attr_dict_set(item, ident_get_c(ctx, DFG_COST_DSP), attr_i64(ctx, cost.items[COST_DSP]));
    item = attr_dict_set(item, ident_get_c(ctx, DFG_COST_LUT), attr_i64(ctx, cost.items[COST_LUT]));
    *vec_push(&r->items) = item;
    op_set_attr(op, DFG_ATTR_REQUANTIZER, NULL);
    return true;
}

static bool record_requantizers(Pass *pass, Op *module)
{
    Requantizers r = {.clock = clock_of_module(module, CLOCK_DEFAULT_MHZ)};
    (void)pass;
    op_walk(module, record_op, &r);
    if (r.items.len > 0)
        op_set_attr(module, DFG_ATTR_REQUANTIZERS,
                    attr_array(module->ctx, r.items.data, r.items.len));
    if (r.ends.len > 0)
        op_set_attr(module, DFG_ATTR_INTEGERS_END,
                    attr_array(module->ctx, r.ends.data, r.ends.len));
    vec_free(&r.ends);
    vec_free(&r.items);
    return true;
}

const PassDef pass_record_requantizers = {
    .name = "record-requantizers",
    .summary = "List what quantizers became, with their costs, on the module",
    .anchor = "builtin.module",
    .run = record_requantizers,
};
