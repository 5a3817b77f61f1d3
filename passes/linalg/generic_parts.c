/* Rebuilding of linalg.generic from parts (passes/linalg/internal.h).
 * Tests: lit/passes/linalg/linalg-fuse-elementwise-ops.mir,
 * lit/passes/linalg/linalg-fold-unit-extent-dims.mir */
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "passes/linalg/internal.h"

void parts_add_input(GenericParts *parts, Value *value, const AffineMap *map)
{
    *vec_push(&parts->inputs) = value;
    *vec_push(&parts->maps) = map;
}

void parts_add_init(GenericParts *parts, Value *value, const AffineMap *map)
{
    *vec_push(&parts->inits) = value;
    *vec_push(&parts->maps) = map;
}

void parts_free(GenericParts *parts)
{
    vec_free(&parts->inputs);
    vec_free(&parts->inits);
    vec_free(&parts->maps);
}

bool parts_maps_cover_loops(Context *ctx, const MapList *maps)
{
    return map_inverse_permutation(map_concat(ctx, maps->data, maps->len)) != NULL;
}

bool parts_operands_cover_loops(const Op *op, const bool *dropped)
{
    MapList maps = {0};
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!dropped[i]) *vec_push(&maps) = linalg_operand_map(op, i);
    bool covered =
        maps.len == 0 ? linalg_loop_count(op) == 0 : parts_maps_cover_loops(op->ctx, &maps);
    vec_free(&maps);
    return covered;
}

Op *parts_build(Builder *b, const GenericParts *parts, const Attr *iterators)
{
    const Attr *maps = linalg_maps_attr(b->ctx, parts->maps.data, parts->maps.len);
    return linalg_build_generic(b, parts->inputs.data, (uint32_t)parts->inputs.len,
                                parts->inits.data, (uint32_t)parts->inits.len, maps, iterators);
}

void parts_body_copy(Rewriter *rw, Block *to, const Block *from, const Op *end, PtrMap *values)
{
    Builder saved = rw->b;
    builder_set_end(&rw->b, to);
    for (Op *op = from->first; op != end; op = op->next) rewriter_insert(rw, op_clone(op, values));
    rw->b = saved;
}

Value *parts_body_mapped(const PtrMap *values, Value *value)
{
    Value *mapped = ptrmap_get(values, value);
    return mapped ? mapped : value;
}

void parts_body_yield(Rewriter *rw, Block *block, const ValueList *values, const Attr *loc)
{
    Builder saved = rw->b;
    builder_set_end(&rw->b, block);
    rw->b.loc = loc;
    linalg_yield(&rw->b, values->data, (uint32_t)values->len);
    rw->b = saved;
}

bool parts_body_has_index(const Op *op)
{
    FOR_EACH_OP(inner, linalg_body(op))
        if (inner->def == LINALG(INDEX)) return true;
    return false;
}

Value *parts_empty_like(Builder *b, Value *tensor)
{
    MixedIndices sizes = {0};
    for (uint32_t i = 0; i < tensor->type->u.shaped.rank; i++)
        *vec_push(&sizes) = tensor_mixed_dim(b, tensor, i);
    Value *empty = tensor_empty(b, sizes.data, sizes.len, type_elem(tensor->type));
    vec_free(&sizes);
    return empty;
}

bool parts_op_has_one_use(const Op *op)
{
    bool found = false;
    for (uint32_t i = 0; i < op->result_count; i++) {
        const Use *use = op_result(op, i)->uses;
        if (use && (found || use->next)) return false;
        found = found || use;
    }
    return found;
}
