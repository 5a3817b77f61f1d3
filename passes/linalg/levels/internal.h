/* Inside of passes/linalg/levels, the parts of encode-levels. */
#ifndef MING_PASSES_LINALG_LEVELS_INTERNAL_H
#define MING_PASSES_LINALG_LEVELS_INTERNAL_H

#include "ir/core/core.h"

/* Zeros around bipolars (level_padding.c).
 * Tests: lit/passes/linalg/level-padding.mir */

/* Whether every reader of a tensor.pad adds up products of its elements and constants, so that it
 * can be padded with -1 in place of 0. */
bool level_padding_fits(Arena *arena, const Op *pad);
/* Corrects the sums of the readers of a pad that fits for that; to be called while its elements and
 * the weights are still integers. */
void level_padding_correct(Arena *arena, const Op *pad);

/* Whether the slices that are put into a tensor.empty write all of it: that of `first`, and of the
 * insertions of which each takes the tensor of the one before. False also: it cannot be told
 * (level_slices.c). */
bool level_slices_fill(const Op *first);

#endif
