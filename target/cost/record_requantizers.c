/* record-requantizers: lists the kernels that requantize, with what they take, on the module, because
 * fusion joins them with others, and the nodes at which integers end. A lane takes the LUTs and DSPs of its payload once for each step of
 * a reduction; where constants lie is decided later.
 * Requires: kernels as convert-onnx-to-linalg leaves them.
 * Changes: dfg.requantizer of kernels becomes dfg.requantizers of the module, and keeps what their
 * other forms need; dfg.integers_end of functions becomes that of the module.
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

static const Attr *without(const Attr *dict, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        dict = attr_dict_set(dict, ident_get_c(dict->ctx, names[i]), NULL);
    return dict;
}

/* What the module lists. */
static const Attr *listed_of(const Attr *origin)
{
    static const char *const names[] = {DFG_REQUANT_LOW, DFG_REQUANT_HIGH, DFG_REQUANT_LEAST,
                                        DFG_REQUANT_MOST};
    return without(origin, names, COUNT_OF(names));
}

/* What is left on a kernel, for other forms of it; NULL: it has none. */
static const Attr *kept_of(const Attr *origin)
{
    static const char *const names[] = {DFG_REQUANT_ABSORBED, DFG_REQUANT_LEVELS};
    return attr_dict_get_c(origin, DFG_REQUANT_LOW) ? without(origin, names, COUNT_OF(names))
                                                    : NULL;
}

RequantizerCost cost_requantizer(Op *kernel, Clock clock)
{
    Cost cost = {0};
    cost_payload(kernel, steps_of(kernel), false, clock, &cost);
    return (RequantizerCost){cost.lut, cost.dsp, table_bits(kernel)};
}

const Attr *cost_requantizer_item(const Attr *item, const RequantizerCost *cost)
{
    Context *ctx = item->ctx;
    item =
        attr_dict_set(item, ident_get_c(ctx, DFG_REQUANT_BITS), attr_i64(ctx, cost->constant_bits));
    item = attr_dict_set(item, ident_get_c(ctx, DFG_COST_DSP), attr_i64(ctx, cost->dsp));
    return attr_dict_set(item, ident_get_c(ctx, DFG_COST_LUT), attr_i64(ctx, cost->lut));
}

/* Whether an attribute has what lists of requantizers show; IR that was written by hand may not. */
static bool is_described(const Attr *origin)
{
    const Attr *absorbed = attr_dict_get_c(origin, DFG_REQUANT_ABSORBED);
    const Attr *texts[] = {attr_dict_get_c(origin, DFG_REQUANT_FORM),
                           attr_dict_get_c(origin, DFG_REQUANT_LAYER)};
    bool ok = absorbed && absorbed->kind == ATTR_ARRAY;
    for (uint32_t i = 0; ok && i < absorbed->u.array.count; i++)
        ok = absorbed->u.array.items[i]->kind == ATTR_STRING;
    for (size_t i = 0; ok && i < COUNT_OF(texts); i++)
        ok = texts[i] && texts[i]->kind == ATTR_STRING;
    return ok;
}

static bool record_op(Op *op, void *user)
{
    Requantizers *r = user;
    record_ends(r, op);
    const Attr *origin = op_attr(op, DFG_ATTR_REQUANTIZER);
    if (!origin) return true;
    if (!is_described(origin)) {
        op_set_attr(op, DFG_ATTR_REQUANTIZER, NULL);
        return true;
    }
    RequantizerCost cost = cost_requantizer(op, r->clock);
    *vec_push(&r->items) = cost_requantizer_item(listed_of(origin), &cost);
    op_set_attr(op, DFG_ATTR_REQUANTIZER, kept_of(origin));
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
