/* Between normalize_layout.c (choice), normalize_layout_reshape.c and normalize_layout_move.c (choice
 * across reshapes, and across slices, insertions and concatenations), normalize_layout_sink.c (reshapes in the way) and normalize_layout_apply.c (rewriting). */
#ifndef MING_PASSES_NORMALIZE_LAYOUT_H
#define MING_PASSES_NORMALIZE_LAYOUT_H

#include "ir/core/op.h"

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
/* Whether the op is a slice, insertion or concatenation of constant parameters. */
bool layout_is_move(const Op *op);
/* Layout of its result as an operand streams, and of an operand for a result. Of an extract_slice the
 * only operand is the source; the dimensions of an insert_slice's source may be fewer. False: the op's
 * parameters are not constant. */
bool layout_of_moved(const Op *op, uint32_t operand, const Layout *layout, Layout *out) MUST_CHECK;
bool layout_before_move(const Op *op, uint32_t operand, const Layout *result, Layout *out) MUST_CHECK;
/* Its parameters in the layout of the larger tensor. */
void layout_permute_move(Op *op, const Layout *layout);
/* An attribute with a number per dimension, in the layout's order. */
void layout_permute_list(Op *op, const char *name, const Layout *layout);
/* Lets readers of a collapse_shape read its source instead, as far as they can; erases it if all
 * can. True if any could: types have changed. */
bool layout_sink_collapse(Op *collapse);
/* Rewrites the function so that every tensor is stored in its layout's order; `layouts` maps Value* to
 * const Layout*, absent: identity. */
void layout_apply(Op *func, const PtrMap *layouts);

#endif
