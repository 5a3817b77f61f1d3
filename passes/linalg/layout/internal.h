/* Parts of normalize-layout: normalize_layout_reshape.c and normalize_layout_move.c propagate layouts
 * across reshapes and across slices, insertions and concatenations, normalize_layout_sink.c moves
 * reshapes out of the way, and normalize_layout_apply.c rewrites the function, also for
 * stream-batch-last.
 * Tests: lit/passes/linalg/normalize-layout.mir */
#ifndef MING_PASSES_LINALG_LAYOUT_INTERNAL_H
#define MING_PASSES_LINALG_LAYOUT_INTERNAL_H

#include "analysis/analysis.h"
#include "passes/linalg/internal.h"

enum { LAYOUT_MAX_RANK = 16 };

/* The order in which a tensor's dimensions stream: new dimension k is old dimension perm[k]. */
typedef struct Layout {
    uint32_t rank;
    uint32_t perm[LAYOUT_MAX_RANK];
} Layout;

/* kernel_layout.c */
bool layout_is_identity(const Layout *layout);
Layout layout_identity(uint32_t rank);
/* The second dimension behind the others. */
Layout layout_channels_last(uint32_t rank);
/* What a kernel would like for an input, whatever its result has. False: any will do. */
bool layout_wanted_by_kernel(const Kernel *kernel, uint32_t operand, bool keeps_moves, Layout *out)
    MUST_CHECK;
/* The layout of an input in which its elements come as the result's do; false: a reduction reads it. And
 * of the result, in which they come as the input's do. */
bool layout_before_kernel(const Kernel *kernel, uint32_t operand, const Layout *result,
                          bool keeps_moves, Layout *out) MUST_CHECK;
void layout_behind_kernel(const Kernel *kernel, uint32_t operand, const Layout *input,
                          bool keeps_moves, Layout *out);
/* Loops of more than one turn that walk an operand. */
uint32_t layout_walking_loops(const Kernel *kernel, const AffineMap *map);

/* choose_layout.c */
typedef struct Chooser {
    Arena *arena;
    PtrMap wanted;  /* Value* -> Layout*: what a reader would like */
    PtrMap layouts; /* Value* -> Layout*: what it gets */
    bool keeps_moves;
    bool is_called; /* so that arguments and results stay as callers have them */
} Chooser;

/* Chooses for all values of a body, in place of what was chosen before. */
void layout_choose(Chooser *c, Block *body);
/* The layout of a value; row-major unless chosen. */
Layout layout_chosen(const Chooser *c, const Value *value);
/* Puts a layout into one of the maps. */
void layout_remember(Chooser *c, PtrMap *map, const Value *value, const Layout *layout);
/* Whether elements arrive one by one. A fill does not stream, nor does a tensor of which only the shape
 * matters, like that of a pool's window. */
bool layout_is_streamed(const Value *value);
/* A pad by widths that are numbers, around by what does not depend on the index; widths that are values,
 * and indices, are in the order of the model. */
bool layout_is_pad(const Op *op);
/* Whether a tensor has more dimensions than a layout has: then all keep their order. */
bool layout_exceeds(const Op *op);

/* normalize_layout_reshape.c, normalize_layout_move.c, normalize_layout_sink.c */
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
