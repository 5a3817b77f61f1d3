/* Propagation of layouts across slices, insertions and concatenations, for normalize-layout. The
 * layout orders all dimensions of the larger tensor, and the dimensions of the smaller one follow
 * the same order. A slice may lack unit dimensions.
 * Tests: lit/passes/linalg/normalize-layout-move.mir */
#include "dialects/tensor/tensor.h"
#include "ir/core/core.h"
#include "passes/linalg/layout/internal.h"

/* The dimensions of the larger tensor that the smaller one lacks; false: not static. */
static bool find_dropped(const Op *op, bool *dropped)
{
    SliceParams slice;
    bool extract = op->def == TENSOR(EXTRACT_SLICE), ok = true;
    const Type *reduced = (extract ? op_result(op, 0) : op_operand(op, 0))->type;
    tensor_slice_read(op, &slice);
    ok = slice.offsets.len <= LAYOUT_MAX_RANK;
    for (size_t i = 0; ok && i < slice.offsets.len; i++) {
        dropped[i] = false;
        ok = !slice.offsets.data[i].value && !slice.sizes.data[i].value &&
             !slice.strides.data[i].value;
    }
    if (ok && reduced->u.shaped.rank < slice.offsets.len)
        tensor_dropped_dims(&slice, reduced, dropped);
    tensor_slice_free(&slice);
    return ok;
}

static bool is_slice(const Op *op)
{
    return op->def == TENSOR(EXTRACT_SLICE) || op->def == TENSOR(INSERT_SLICE);
}

bool layout_is_move(const Op *op)
{
    bool dropped[LAYOUT_MAX_RANK];
    return op->def == TENSOR(CONCAT) || (is_slice(op) && find_dropped(op, dropped));
}

/* The order of the dimensions that are left. */
static void layout_reduced(const Layout *full, const bool *dropped, Layout *out)
{
    uint32_t number[LAYOUT_MAX_RANK], next = 0;
    for (uint32_t d = 0; d < full->rank; d++) number[d] = dropped[d] ? 0 : next++;
    out->rank = 0;
    for (uint32_t i = 0; i < full->rank; i++)
        if (!dropped[full->perm[i]]) out->perm[out->rank++] = number[full->perm[i]];
}

/* The dropped dimensions come first: they take no part in the order. */
static void layout_extended(const Layout *reduced, const bool *dropped, uint32_t rank, Layout *out)
{
    uint32_t kept[LAYOUT_MAX_RANK], count = 0;
    out->rank = 0;
    for (uint32_t d = 0; d < rank; d++) {
        if (dropped[d])
            out->perm[out->rank++] = d;
        else
            kept[count++] = d;
    }
    for (uint32_t i = 0; i < reduced->rank; i++) out->perm[out->rank++] = kept[reduced->perm[i]];
}

/* Whether the operand is the smaller tensor of a slicing op. */
static bool is_part(const Op *op, uint32_t operand)
{
    return op->def == TENSOR(INSERT_SLICE) && operand == 0;
}

bool layout_of_moved(const Op *op, uint32_t operand, const Layout *layout, Layout *out)
{
    bool dropped[LAYOUT_MAX_RANK];
    uint32_t rank = op_result(op, 0)->type->u.shaped.rank;
    if (is_slice(op) && !find_dropped(op, dropped)) return false;
    if (op->def == TENSOR(EXTRACT_SLICE))
        layout_reduced(layout, dropped, out);
    else if (is_part(op, operand))
        layout_extended(layout, dropped, rank, out);
    else
        *out = *layout;
    return true;
}

bool layout_before_move(const Op *op, uint32_t operand, const Layout *result, Layout *out)
{
    bool dropped[LAYOUT_MAX_RANK];
    uint32_t rank = op_operand(op, operand)->type->u.shaped.rank;
    if (is_slice(op) && !find_dropped(op, dropped)) return false;
    if (op->def == TENSOR(EXTRACT_SLICE))
        layout_extended(result, dropped, rank, out);
    else if (is_part(op, operand))
        layout_reduced(result, dropped, out);
    else
        *out = *result;
    return true;
}

void layout_permute_move(Op *op, const Layout *layout)
{
    static const char *const lists[] = {"static_offsets", "static_sizes", "static_strides"};
    for (size_t i = 0; is_slice(op) && i < COUNT_OF(lists); i++)
        layout_permute_list(op, lists[i], layout);
    if (op->def != TENSOR(CONCAT)) return;
    uint32_t dim = (uint32_t)attr_int_value(op_attr(op, "dim")), at = 0;
    while (layout->perm[at] != dim) at++;
    op_set_attr(op, "dim", attr_i64(op->ctx, at));
}
