/* Extents of the results of structured ops, expressed by the extents of their operands.
 * Tests: lit/passes/linalg/linalg-fold-unit-extent-dims-shapes.mir */
#include "dialects/affine/affine.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"

/* Operand and dimension that a loop's trip count is read from: the first indexed by it alone. */
typedef struct ReifySource {
    uint32_t operand, dim;
} ReifySource;

static bool find_source(const Op *op, uint32_t loop, ReifySource *out)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        int dim = map_result_of_dim(linalg_operand_map(op, i), loop);
        if (dim < 0) continue;
        *out = (ReifySource){i, (uint32_t)dim};
        return true;
    }
    return false;
}

/* Every loop that the expression uses has its trip count from an input. */
static bool is_told_by_inputs(const Op *op, const AffineExpr *expr)
{
    for (uint32_t i = 0; i < linalg_loop_count(op); i++) {
        ReifySource source;
        if (affine_uses_dim(expr, i) &&
            (!find_source(op, i, &source) || source.operand >= linalg_input_count(op)))
            return false;
    }
    return true;
}

/* The loops in the order of their sources. */
static void sort_loops(const Op *op, const AffineExpr *expr, uint32_t *loops, uint32_t *count)
{
    *count = 0;
    for (uint32_t i = 0; i < linalg_input_count(op); i++) {
        const AffineMap *map = linalg_operand_map(op, i);
        for (uint32_t r = 0; r < map->result_count; r++) {
            ReifySource source;
            uint32_t loop = (uint32_t)map->results[r]->value;
            if (map->results[r]->kind == AFFINE_DIM && affine_uses_dim(expr, loop) &&
                find_source(op, loop, &source) && source.operand == i && source.dim == r)
                loops[(*count)++] = loop;
        }
    }
}

static MixedIndex extent_by_inputs(Builder *b, const Op *op, const AffineExpr *expr)
{
    uint32_t loops = linalg_loop_count(op), count;
    uint32_t *order = xcalloc(loops, sizeof *order);
    const AffineExpr **dims = xcalloc(loops, sizeof *dims);
    MixedIndices operands = {0};
    for (uint32_t i = 0; i < loops; i++) dims[i] = affine_const(b->ctx, 0);
    sort_loops(op, expr, order, &count);
    for (uint32_t i = 0; i < count; i++) {
        ReifySource source = {0};
        (void)find_source(op, order[i], &source);
        dims[order[i]] = affine_dim(b->ctx, i);
        *vec_push(&operands) = tensor_mixed_dim(b, op_operand(op, source.operand), source.dim);
    }
    const AffineExpr *extent = affine_replace(expr, dims, loops, NULL, 0);
    const AffineMap *map = map_get(b->ctx, count, 0, 1, &extent);
    MixedIndex result = affine_apply_folded(b, map, operands.data);
    vec_free(&operands);
    free_ptr((void **)&order);
    free_ptr((void **)&dims);
    return result;
}

bool linalg_reify_dim(Builder *b, Op *op, uint32_t result, uint32_t dim, MixedIndex *out)
{
    if (!linalg_is_structured(op) && op->def != LINALG(SOFTMAX)) return false;
    uint32_t init = linalg_input_count(op) + result;
    Value *value = op_operand(op, init);
    if (op->def == LINALG(SOFTMAX) || value->type->u.shaped.dims[dim] != DIM_DYNAMIC) {
        bool known = value->type->u.shaped.dims[dim] != DIM_DYNAMIC;
        *out = tensor_mixed_dim(b, known ? value : op_operand(op, 0), dim);
        return true;
    }
    const AffineExpr *expr = linalg_operand_map(op, init)->results[dim];
    *out = is_told_by_inputs(op, expr) ? extent_by_inputs(b, op, expr)
                                       : tensor_mixed_dim(b, value, dim);
    return true;
}
