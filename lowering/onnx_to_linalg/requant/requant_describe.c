/* Descriptions of requantizers: which nodes of the network a kernel stands for, in which form. They
 * are what `ming check --streamlining` and report.json tell.
 * Tests: lit/lowering/onnx_to_linalg/requant/onnx-to-linalg-requant-describe.mir */
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "lowering/onnx_to_linalg/requant/internal.h"

typedef VEC(const Attr *) Names;

/* Nodes without a name, which import does not leave, are called by their operator. */
static const Attr *name_of(const Op *node)
{
    const Attr *name = op_attr(node, ONNX_ATTR_NAME);
    return name ? name : attr_string(node->ctx, op_name(node));
}

static void add_name(Names *names, const Op *node)
{
    const Attr *name = name_of(node);
    for (size_t i = 0; i < names->len; i++)
        if (names->data[i] == name) return;
    *vec_push(names) = name;
}

/* In the order in which they are applied. */
static void add_names(Names *names, const EpilogueOp *last)
{
    if (!last) return;
    add_names(names, last->before);
    if (last->joins) add_names(names, last->other);
    add_name(names, last->node);
}

/* The bounds of a monotone function. */
static size_t add_bounds(Context *ctx, const Fixed *from, const Fixed *to, NamedAttr *items)
{
    items[0] = build_named_attr(ctx, DFG_REQUANT_LOW, attr_i64(ctx, from->low));
    items[1] = build_named_attr(ctx, DFG_REQUANT_HIGH, attr_i64(ctx, from->high));
    items[2] = build_named_attr(ctx, DFG_REQUANT_LEAST, attr_i64(ctx, to->low));
    items[3] = build_named_attr(ctx, DFG_REQUANT_MOST, attr_i64(ctx, to->high));
    return 4;
}

void requant_describe(OnnxLowering *lw, const RequantOrigin *origin, const QuantizerSpec *spec,
                      const Fixed *out)
{
    Op *kernel = value_def(out->value);
    Names names = {0};
    if (!kernel || kernel->def != LINALG(GENERIC)) return;
    if (origin->sum) add_name(&names, origin->sum);
    add_names(&names, origin->last);
    int64_t levels = spec->quant.is_bipolar ? 2 : out->high - out->low + 1;
    NamedAttr items[8] = {
        build_named_attr(lw->ctx, DFG_REQUANT_ABSORBED, attr_array(lw->ctx, names.data, names.len)),
        build_named_attr(lw->ctx, DFG_REQUANT_FORM, attr_string_c(lw->ctx, lw->form)),
        build_named_attr(lw->ctx, DFG_REQUANT_LAYER, name_of(origin->quantizer)),
        build_named_attr(lw->ctx, DFG_REQUANT_LEVELS, attr_i64(lw->ctx, levels)),
    };
    size_t count = 4;
    if (origin->operand) count += add_bounds(lw->ctx, origin->operand, out, items + count);
    op_set_attr(kernel, DFG_ATTR_REQUANTIZER, attr_dict(lw->ctx, items, count));
    vec_free(&names);
}
