/* Small matchers and builders that canonicalization patterns share.
 * Tests: lit/dialects */
#include "ir/rewrite/internal.h"
#include "ir/rewrite/rewrite.h"

Op *rewrite_def_of(Value *value, const OpDef *def)
{
    Op *op = value_def(value);
    return op && op->def == def ? op : NULL;
}

void rewriter_fuse_locs(Rewriter *rw, const Op *const *matched, size_t count)
{
    VEC(const Attr *) locs = {0};
    for (size_t i = 0; i < count; i++) *vec_push(&locs) = matched[i]->loc;
    rw->b.loc = loc_fused(rw->b.ctx, locs.data, locs.len, NULL);
    vec_free(&locs);
}

Value *rewrite_build_or_fold(Builder *b, const OpDef *def, Value *const *operands, uint32_t count,
                             const Type *type)
{
    Builder detached = builder_detached(b);
    return fold_build(b, build(&detached, def, operands, count, &type, 1, NULL, 0));
}

bool rewrite_collect_regions(Op *op, void *user)
{
    for (uint32_t i = 0; i < op->region_count; i++) *vec_push((RegionVec *)user) = op_region(op, i);
    return true;
}
