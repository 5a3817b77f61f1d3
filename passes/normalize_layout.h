/* Between normalize_layout.c (choice), normalize_layout_reshape.c (choice across reshapes),
 * normalize_layout_sink.c (reshapes in the way) and normalize_layout_apply.c (rewriting). */
#ifndef MING_PASSES_NORMALIZE_LAYOUT_H
#define MING_PASSES_NORMALIZE_LAYOUT_H

#include "ir/op.h"

enum { LAYOUT_MAX_RANK = 16 };

/* Order in which a tensor's dimensions stream: new dimension k is old dimension perm[k]. */
typedef struct Layout {
    uint32_t rank;
    uint32_t perm[LAYOUT_MAX_RANK];
} Layout;

bool layout_is_identity(const Layout *layout);
/* Layout of a reshape's result as its source streams, and of the source for a result. False: the
 * order of the elements would change, or the op is no reshape that reshape_read can read. */
bool layout_of_reshaped(const Op *op, const Layout *source, Layout *out) MUST_CHECK;
bool layout_before_reshape(const Op *op, const Layout *result, Layout *out) MUST_CHECK;
/* Lets readers of a collapse_shape read its source instead, as far as they can; erases it if all
 * can. True if any could: types have changed. */
bool layout_sink_collapse(Op *collapse);
/* Rewrites the function so that every tensor is stored in its layout's order; `layouts` maps Value* to
 * const Layout*, absent: identity. */
void layout_apply(Op *func, const PtrMap *layouts);

#endif
