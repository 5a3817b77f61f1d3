/* Propagation of layouts across a reshape, for normalize-layout. A reshape keeps the row-major
 * order, so the dimensions of a group must stream next to each other and in their order. Dimensions
 * of extent 1 do not affect the order and may be anywhere.
 * Tests: lit/passes/linalg/normalize-layout-reshape.mir */
#include "analysis/analysis.h"
#include "passes/linalg/internal.h"

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
