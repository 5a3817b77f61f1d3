/* Propagation of layouts across a reshape, for normalize-layout. A reshape keeps the row-major
 * order, so the dimensions of a group must stream next to each other and in their order. Dimensions
 * of extent 1 do not affect the order and may be anywhere. Also, which reshapes belong to a move of elements
 * from one dimension to another one.
 * Tests: lit/passes/linalg/normalize-layout-reshape.mir */
#include "analysis/analysis.h"
#include "dialects/linalg/linalg.h"
#include "ir/core/core.h"
#include "passes/linalg/layout/internal.h"

/* Narrow dimensions in the order in which the first of their members streams. */
static bool layout_collapsed(const Reshape *r, const Layout *wide, Layout *out)
{
    bool placed[LAYOUT_MAX_RANK] = {false};
    int last = -1; /* wide dimension met last that has an extent above 1 */
    out->rank = 0;
    for (uint32_t i = 0; i < wide->rank; i++) {
        uint32_t dim = wide->perm[i], group = r->group[dim];
        bool is_unit = r->wide->u.shaped.dims[dim] == 1;
        bool continues = last >= 0 && r->group[last] == group;
        if (is_unit && (placed[group] || reshape_outermost(r, group) >= 0)) continue;
        if (continues ? (int)dim < last : placed[group]) return false;
        if (!placed[group]) out->perm[out->rank++] = group;
        placed[group] = true;
        last = is_unit ? -1 : (int)dim;
    }
    return true;
}

/* Members of each group in order, those of extent 1 first: words pack the innermost dimension. */
static void layout_expanded(const Reshape *r, const Layout *narrow, Layout *out)
{
    out->rank = 0;
    for (uint32_t i = 0; i < narrow->rank; i++) {
        for (uint32_t d = 0; d < r->wide->u.shaped.rank; d++)
            if (r->group[d] == narrow->perm[i] && r->wide->u.shaped.dims[d] == 1)
                out->perm[out->rank++] = d;
        for (uint32_t d = 0; d < r->wide->u.shaped.rank; d++)
            if (r->group[d] == narrow->perm[i] && r->wide->u.shaped.dims[d] != 1)
                out->perm[out->rank++] = d;
    }
}

bool layout_of_reshaped(const Op *op, const Layout *source, Layout *out)
{
    Reshape r;
    if (!reshape_read(op, &r)) return false;
    if (!r.expands) return layout_collapsed(&r, source, out);
    layout_expanded(&r, source, out);
    return true;
}

bool layout_before_reshape(const Op *op, const Layout *result, Layout *out)
{
    Reshape r;
    if (!reshape_read(op, &r)) return false;
    if (r.expands) return layout_collapsed(&r, result, out);
    layout_expanded(&r, result, out);
    return true;
}

static bool is_split(const Reshape *r, uint32_t narrow_dim)
{
    uint32_t parts = 0;
    for (uint32_t d = 0; d < r->wide->u.shaped.rank; d++)
        parts += r->group[d] == narrow_dim && r->wide->u.shaped.dims[d] > 1;
    return parts > 1;
}

/* The expand_shape and the collapse_shape around kernels that reduce nothing. False: they are none, or
 * change the rank. */
static bool read_ends(const Op *expand, const Op *collapse, Reshape *first, Reshape *last)
{
    return expand && reshape_read(expand, first) && first->expands && collapse &&
           reshape_read(collapse, last) && !last->expands &&
           first->narrow->u.shaped.rank == last->narrow->u.shaped.rank;
}

static bool is_map_kernel(const Op *op)
{
    return op->def == LINALG(GENERIC) && op->result_count == 1 && !linalg_reduces(op) &&
           linalg_input_count(op) > 0;
}

bool layout_ends_move(const Op *collapse)
{
    Reshape first, last;
    const Op *op = value_def(op_operand(collapse, 0));
    while (op && is_map_kernel(op)) op = value_def(op_operand(op, 0));
    if (!read_ends(op, collapse, &first, &last)) return false;
    for (uint32_t d = 0; d < first.narrow->u.shaped.rank; d++)
        if (is_split(&first, d) != is_split(&last, d)) return true;
    return false;
}

bool layout_begins_move(const Op *expand)
{
    Reshape first, last;
    const Op *op = expand;
    do {
        if (!value_has_one_use(op_result(op, 0))) return false;
        op = op_result(op, 0)->uses->owner;
    } while (is_map_kernel(op));
    return read_ends(expand, op, &first, &last) && first.narrow->u.shaped.rank > 2 &&
           (is_split(&first, 1) || layout_ends_move(op));
}

bool layout_is_same_order(const Type *type, const Layout *a, const Layout *b)
{
    const int64_t *dims = type->u.shaped.dims;
    for (uint32_t i = 0, j = 0; i < a->rank || j < b->rank;) {
        if (i < a->rank && dims[a->perm[i]] == 1)
            i++;
        else if (j < b->rank && dims[b->perm[j]] == 1)
            j++;
        else if (i == a->rank || j == b->rank || a->perm[i++] != b->perm[j++])
            return false;
    }
    return true;
}

bool layout_splits_channels(const Op *expand)
{
    Reshape reshape;
    return reshape_read(expand, &reshape) && reshape.narrow->u.shaped.rank > 2 &&
           is_split(&reshape, 1);
}
