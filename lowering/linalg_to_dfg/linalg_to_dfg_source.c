/* The ops between a stream and its reader: reshapes first, then padding. A process makes both on
 * the fly, the reshapes at its ports, the padding in its window.
 * Tests: lit/lowering/linalg_to_dfg/linalg-to-dfg-reshape.mir */
#include <string.h>

#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/linalg_to_dfg/internal.h"

static bool static_list(const Op *op, const char *name, int64_t *out, uint32_t rank)
{
    size_t count = 0;
    const Attr *attr = op_attr(op, name);
    if (!attr || !attr_int_list(attr, out, DFG_MAX_RANK, &count) || count != rank) return false;
    for (uint32_t i = 0; i < rank; i++)
        if (out[i] > INT32_MAX || out[i] < -INT32_MAX) /* DIM_DYNAMIC, too */
            return false;
    return true;
}

static bool read_widths(const Op *pad, Padding *out)
{
    uint32_t rank = op_result(pad, 0)->type->u.shaped.rank;
    const Op *yield = region_entry(op_region(pad, 0))->last;
    out->value = fold_constant_of(op_operand(yield, 0));
    return static_list(pad, "static_low", out->low, rank) &&
           static_list(pad, "static_high", out->high, rank);
}

static bool try_padding(const Op *pad, Padding *out)
{
    return read_widths(pad, out) && out->value;
}

bool to_dfg_read_padding(const Op *pad, Padding *out)
{
    if (!read_widths(pad, out))
        return op_error(pad, "needs constant padding widths below 2^31 to stream");
    return out->value || op_error(pad, "needs a constant padding value to stream");
}

/* A dimension that is split pads its outermost part, if the width is a multiple of the others. */
static bool split_widths(const Reshape *r, const int64_t *narrow, int64_t *wide)
{
    for (uint32_t g = 0; g < r->narrow->u.shaped.rank; g++) {
        int outermost = reshape_outermost(r, g);
        if (narrow[g] == 0) continue;
        if (outermost < 0 || narrow[g] % reshape_step(r, (uint32_t)outermost) != 0) return false;
        wide[outermost] = narrow[g] / reshape_step(r, (uint32_t)outermost);
    }
    return true;
}

/* Of dimensions that are merged, only the outermost may be padded. */
static bool merge_widths(const Reshape *r, const int64_t *wide, int64_t *narrow)
{
    for (uint32_t d = 0; d < r->wide->u.shaped.rank; d++)
        if (wide[d] != 0 && (reshape_outermost(r, r->group[d]) != (int)d ||
                             !i64_mul(wide[d], reshape_step(r, d), &narrow[r->group[d]])))
            return false;
    return true;
}

static Value *build_reshape(Builder *b, const Op *like, Value *source, const Type *type)
{
    const Attr *groups = op_attr(like, "reassociation");
    return (like->def == TENSOR(EXPAND_SHAPE) ? tensor_expand_shape
                                              : tensor_collapse_shape)(b, source, type, groups);
}

/* reshape(pad(x)) -> pad(reshape(x)) */
static void swap_with_padding(Op *op, Op *pad)
{
    Padding before, after = {.value = NULL};
    Reshape reshape;
    int64_t dims[DFG_MAX_RANK];
    const Type *result = op_result(op, 0)->type;
    if (!try_padding(pad, &before) || !reshape_read(op, &reshape)) return;
    bool (*translate)(const Reshape *, const int64_t *, int64_t *) =
        reshape.expands ? split_widths : merge_widths;
    if (!translate(&reshape, before.low, after.low) ||
        !translate(&reshape, before.high, after.high))
        return;
    for (uint32_t i = 0; i < result->u.shaped.rank; i++)
        dims[i] = result->u.shaped.dims[i] - after.low[i] - after.high[i];
    Builder b = builder_before(op);
    Value *inner = build_reshape(&b, op, op_operand(pad, 0),
                                 type_with_shape(result, dims, result->u.shaped.rank));
    Value *padding = arith_constant(&b, before.value);
    value_replace_all(op_result(op, 0), tensor_pad(&b, inner, after.low, after.high, padding));
    op_erase(op);
    if (!value_has_uses(op_result(pad, 0))) op_erase(pad);
}

void to_dfg_move_padding_behind_reshapes(Block *body)
{
    FOR_EACH_OP_SAFE(op, body) {
        Op *source = reshape_is(op) ? value_def(op_operand(op, 0)) : NULL;
        if (source && source->def == TENSOR(PAD)) swap_with_padding(op, source);
    }
}

Value *to_dfg_copy_reshapes(Builder *b, Value *value, const Value *source, Value *stands_for)
{
    if (value == source) return stands_for;
    const Op *op = value_def(value);
    Value *inner = to_dfg_copy_reshapes(b, op_operand(op, 0), source, stands_for);
    return build_reshape(b, op, inner, value->type);
}
