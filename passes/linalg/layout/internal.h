/* Parts of normalize-layout: normalize_layout_reshape.c and normalize_layout_move.c propagate layouts
 * across reshapes and across slices, insertions and concatenations, normalize_layout_sink.c moves
 * reshapes out of the way, and normalize_layout_apply.c rewrites the function, also for
 * stream-batch-last.
 * Tests: lit/passes/linalg/normalize-layout.mir */
#ifndef MING_PASSES_LINALG_LAYOUT_INTERNAL_H
#define MING_PASSES_LINALG_LAYOUT_INTERNAL_H

#include "passes/linalg/internal.h"

enum { LAYOUT_MAX_RANK = 16 };

/* The order in which a tensor's dimensions stream: new dimension k is old dimension perm[k]. */
typedef struct Layout {
    uint32_t rank;
    uint32_t perm[LAYOUT_MAX_RANK];
} Layout;

bool layout_is_identity(const Layout *layout);
/* The layout of a reshape's result that follows from the source's, and the reverse. False: the
 * order of the elements would change, or reshape_read cannot read the op. */
bool layout_of_reshaped(const Op *op, const Layout *source, Layout *out) MUST_CHECK;
bool layout_before_reshape(const Op *op, const Layout *result, Layout *out) MUST_CHECK;
/* Whether elements come in the same order: dimensions of one element may be anywhere. */
bool layout_is_same_order(const Type *type, const Layout *a, const Layout *b);
/* Whether a collapse_shape ends a move of elements from one dimension to another one, as depth to space is:
 * an expand_shape is in front of it, with kernels between them that reduce nothing. */
bool layout_ends_move(const Op *collapse);
/* Whether an expand_shape begins such a move, or another order of the elements of the second dimension,
 * which mostly is the model's channels. */
bool layout_begins_move(const Op *expand);
/* Whether an expand_shape splits the second dimension. */
bool layout_splits_channels(const Op *expand);
/* Whether the op is a slice, an insertion or a concatenation with constant parameters. */
bool layout_is_move(const Op *op);
/* The layout of such an op's result that follows from an operand's, and the reverse. The only
 * operand of an extract_slice is its source; the source of an insert_slice may have fewer
 * dimensions. False: the op's parameters are not constant. */
bool layout_of_moved(const Op *op, uint32_t operand, const Layout *layout, Layout *out) MUST_CHECK;
bool layout_before_move(const Op *op, uint32_t operand, const Layout *result, Layout *out)
    MUST_CHECK;
/* Permutes its parameters to the layout of the larger tensor. */
void layout_permute_move(Op *op, const Layout *layout);
/* Permutes an attribute that has a number per dimension. */
void layout_permute_list(Op *op, const char *name, const Layout *layout);
/* Lets readers of a collapse_shape read its source instead, as far as they can, and erases it if
 * all can. Returns true if any could; then types have changed. */
bool layout_sink_collapse(Op *collapse);
/* Whether a body reads the tensor at indices that it computes, which stay those of the model. */
bool layout_is_captured(const Value *value);
/* Gives an operand that is empty or filled a tensor of its own, which can get the user's order. What is
 * filled may come in another one; its elements do not count. */
void layout_unshare_initial(Op *user, uint32_t operand);
/* Rewrites the function so that every tensor is stored in the order of its layout. `layouts` maps
 * Value* to const Layout*; values that it lacks keep their order. */
void layout_apply(Op *func, const PtrMap *layouts);

#endif
