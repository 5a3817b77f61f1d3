/* Between normalize_layout.c (choice) and normalize_layout_apply.c (rewriting). */
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
/* Rewrites the function so that every tensor is stored in its layout's order; `layouts` maps Value* to
 * const Layout*, absent: identity. */
void layout_apply(Op *func, const PtrMap *layouts);

#endif
