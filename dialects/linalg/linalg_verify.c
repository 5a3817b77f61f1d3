/* Checks of structured ops: operands, maps and body agree with each other, and so do the extents
 * that the maps give to the operands.
 * Tests: lit/dialects/linalg/invalid.mir */
#include "dialects/linalg/internal.h"
#include "dialects/linalg/linalg.h"
#include "ir/asm/print/print.h"

bool linalg_verify_inits(Op *op)
{
    uint32_t inputs = linalg_input_count(op), tensors = 0;
    for (uint32_t i = inputs; i < op->operand_count; i++) {
        const Type *type = op_operand(op, i)->type;
        tensors += type_is_tensor(type);
        if (!type_is_tensor(type) && !type_is_memref(type))
            return op_error(op, "expected that operand #%u is a tensor or a memref", i);
    }
    if (op->result_count != tensors)
        return op_error(op,
                        "expected the number of tensor results (%u) to be equal to the number of "
                        "output tensors (%u)",
                        op->result_count, tensors);
    uint32_t result = 0;
    for (uint32_t i = inputs; i < op->operand_count; i++) {
        const Type *type = op_operand(op, i)->type;
        if (!type_is_tensor(type)) continue;
        const Type *got = op_result(op, result++)->type;
        if (got != type)
            return op_error(op,
                            "expected type of operand #%u ('%s') to match type of corresponding "
                            "result ('%s')",
                            i, type_str(op->ctx, type), type_str(op->ctx, got));
    }
    return true;
}

static bool verify_pure_semantics(Op *op)
{
    bool tensors = false, buffers = false;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        tensors = tensors || type_is_tensor(op_operand(op, i)->type);
        buffers = buffers || type_is_memref(op_operand(op, i)->type);
    }
    return !(tensors && buffers) ||
           op_error(op, "expected to have pure tensor or buffer semantics");
}

static bool verify_map(Op *op, uint32_t index, const AffineMap *map)
{
    uint32_t loops = linalg_loop_count(op), rank = linalg_operand_rank(op_operand(op, index)->type);
    if (map->symbol_count != 0)
        return op_error(op, "unexpected symbols in indexing_map #%u", index);
    if (map->dim_count != loops)
        return op_error(op,
                        "expected indexing_map #%u to have %u dim(s) to match the number of loops",
                        index, loops);
    if (map->result_count != rank)
        return op_error(op,
                        "expected operand rank (%u) to match the result rank of indexing_map #%u "
                        "(%u)",
                        rank, index, map->result_count);
    return true;
}

static bool verify_maps(Op *op, const Attr *maps)
{
    if (maps->u.array.count != op->operand_count)
        return op_error(op,
                        "expected the number of indexing_map (%u) to be equal to the number of "
                        "input/output operands (%u)",
                        maps->u.array.count, op->operand_count);
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!verify_map(op, i, maps->u.array.items[i]->u.map)) return false;
    return true;
}

/* One dimension of an operand, indexed by expr over loops from 0 to last. */
static bool verify_extent(Op *op, uint32_t operand, uint32_t dim, const AffineMap *map,
                          const int64_t *zero, const int64_t *last)
{
    int64_t begin, end, extent = op_operand(op, operand)->type->u.shaped.dims[dim];
    const AffineExpr *expr = map->results[dim];
    if (extent == DIM_DYNAMIC || extent == 0) return true;
    if (!affine_eval(expr, zero, NULL, &begin) || !affine_eval(expr, last, NULL, &end))
        return op_error(op, "index of operand #%u at expression #%u overflows", operand, dim);
    if (begin < 0 || end < 0)
        return op_error(op, "unexpected result less than 0 at expression #%u in %s", dim,
                        map_str(op->ctx, map));
    int64_t inferred;
    if (!i64_add(begin > end ? begin : end, 1, &inferred))
        return op_error(op, "index of operand #%u at expression #%u overflows", operand, dim);
    if (expr->kind == AFFINE_DIM && inferred != extent)
        return op_error(op,
                        "inferred input/output operand #%u has shape's dimension #%u to be %lld, "
                        "but found %lld",
                        operand, dim, (long long)inferred, (long long)extent);
    if (inferred > extent)
        return op_error(op,
                        "inferred input/output operand #%u has shape's dimension #%u to be "
                        "greater than or equal to %lld, but found %lld",
                        operand, dim, (long long)inferred, (long long)extent);
    return true;
}

static bool verify_operand_extents(Op *op, const Attr *maps, const int64_t *zero,
                                   const int64_t *last)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const AffineMap *map = maps->u.array.items[i]->u.map;
        for (uint32_t d = 0; d < map->result_count; d++)
            if (!verify_extent(op, i, d, map, zero, last)) return false;
    }
    return true;
}

/* Every loop has an extent; where all are static, operands are large enough. */
static bool verify_extents(Op *op, const Attr *maps)
{
    uint32_t loops = linalg_loop_count(op);
    int64_t *extents = xcalloc(2 * (size_t)loops + 1, sizeof *extents);
    int64_t *zero = extents + loops;
    bool ok = linalg_loop_extents(op, extents), is_static = true;
    if (!ok) (void)op_error(op, "expected the shape-to-loops map to be non-null");
    for (uint32_t i = 0; i < loops; i++) is_static = is_static && extents[i] != DIM_DYNAMIC;
    for (uint32_t i = 0; is_static && i < loops; i++) extents[i]--;
    if (ok && is_static) ok = verify_operand_extents(op, maps, zero, extents);
    free_ptr((void **)&extents);
    return ok;
}

/* linalg.map has no argument for its init. */
static uint32_t body_operands(const Op *op)
{
    return op->def == LINALG(MAP) ? linalg_input_count(op) : op->operand_count;
}

static bool verify_body(Op *op)
{
    Region *region = op_region(op, 0);
    if (region_is_empty(region) || region->first != region->last)
        return op_error(op, "expects to have 1 region with 1 block");
    const Block *body = region->first;
    uint32_t count = body_operands(op);
    if (body->arg_count != count)
        return op_error(op, "expected as many non-induction variable region arguments as the "
                            "number of input/output operands");
    for (uint32_t i = 0; i < count; i++) {
        const Type *want = linalg_payload_type(op_operand(op, i)->type);
        const Type *got = body->args[i]->type;
        if (got != want)
            return op_error(op,
                            "expected type of bb argument #%u ('%s') to match element or self "
                            "type of the corresponding operand ('%s')",
                            i, type_str(op->ctx, got), type_str(op->ctx, want));
    }
    return true;
}

/* Upstream keeps the maps of ops with letters where everybody can see them. */
static void memoize_maps(Op *op, const Attr *maps)
{
    const StructuredDef *def = linalg_structured_def(op);
    if (def && def->loops) op_set_attr(op, "linalg.memoized_indexing_maps", maps);
}

static bool verify_terminator(Op *op)
{
    FOR_EACH_BLOCK(block, op_region(op, 0)) {
        if (!block->last || block->last->def == LINALG(YIELD)) continue;
        (void)op_error(op, "expects regions to end with 'linalg.yield', found '%.*s'",
                       STR_ARG(op_name(block->last)));
        return op_note(op, "in custom textual format, the absence of terminator implies "
                           "'linalg.yield'");
    }
    return true;
}

bool linalg_verify_structured(Op *op)
{
    if (!verify_terminator(op)) return false;
    if (!linalg_verify_inits(op) || !verify_pure_semantics(op)) return false;
    const Attr *maps = linalg_indexing_maps(op);
    memoize_maps(op, maps);
    return verify_maps(op, maps) && verify_extents(op, maps) && verify_body(op);
}

static bool has_zero(const Attr *attr)
{
    for (int64_t i = 0; attr && i < dense_count(attr); i++)
        if (dense_i64(attr, i) == 0) return true;
    return false;
}

bool linalg_verify_named(Op *op)
{
    if (has_zero(op_attr(op, "strides")) || has_zero(op_attr(op, "dilations")))
        return op_emit_error(op, "unexpected loop dimension for convolution op");
    return true;
}
