/* dfg.reorder and dfg.merge: ops that move elements without changing them. Both are total: each
 * element of the result is an element of a source, the fill value, or, in a merge, undefined.
 * Tests: lit/dialects/dfg */
#include "dialects/dfg/dfg.h"
#include "dialects/dfg/internal.h"
#include "ir/asm/print/print.h"

const AffineMap *dfg_reorder_map(const Op *reorder)
{
    return op_attr(reorder, "map")->u.map;
}

bool dfg_map_stays_inside(const AffineMap *map, const Type *from, const Type *to)
{
    for (uint32_t r = 0; r < map->result_count; r++) {
        int64_t min, max;
        affine_bounds(map->results[r], from->u.shaped.dims, &min, &max);
        if (min < 0 || max >= to->u.shaped.dims[r]) return false;
    }
    return true;
}

static bool verify_fill(Op *op, const Type *elem)
{
    const Attr *fill = op_attr(op, "fill");
    return !fill || fill->type == elem ||
           op_error(op, "fill must have the element type '%s'", type_str(op->ctx, elem));
}

/* Types that a frame of at most DFG_MAX_RANK dimensions has. */
static bool check_frame(Op *op, const Type *type)
{
    return (dfg_can_stream(type) && type->u.shaped.rank <= DFG_MAX_RANK) ||
           op_error(op, "moves elements of '%s', which cannot be streamed",
                    type_str(op->ctx, type));
}

bool dfg_verify_reorder(Op *op)
{
    const Type *source = op_operand(op, 0)->type, *result = op_result(op, 0)->type;
    const AffineMap *map = dfg_reorder_map(op);
    if (!check_frame(op, source) || !check_frame(op, result)) return false;
    if (type_elem(source) != type_elem(result)) return op_error(op, "changes the element type");
    if (map->symbol_count != 0 || map->dim_count != result->u.shaped.rank ||
        map->result_count != source->u.shaped.rank)
        return op_error(op, "map %s must lead from an index of '%s' to one of '%s'",
                        map_str(op->ctx, map), type_str(op->ctx, result),
                        type_str(op->ctx, source));
    return verify_fill(op, type_elem(source)) &&
           (op_attr(op, "fill") || dfg_map_stays_inside(map, result, source) ||
            op_error(op, "may read outside '%s', but has no fill", type_str(op->ctx, source)));
}

static bool read_part(const Attr *list, uint32_t source, int64_t *out, uint32_t rank)
{
    size_t count = 0;
    return source < list->u.array.count &&
           attr_int_list(list->u.array.items[source], out, DFG_MAX_RANK, &count) && count == rank;
}

bool dfg_merge_part(const Op *merge, uint32_t source, MergePart *out)
{
    const Type *type = op_operand(merge, source)->type;
    uint32_t rank = op_result(merge, 0)->type->u.shaped.rank;
    if (type->u.shaped.rank != rank ||
        !read_part(op_attr(merge, "offsets"), source, out->offset, rank) ||
        !read_part(op_attr(merge, "strides"), source, out->stride, rank))
        return false;
    for (uint32_t d = 0; d < rank; d++) out->size[d] = type->u.shaped.dims[d];
    return true;
}

static bool part_fits(const MergePart *part, const Type *whole)
{
    for (uint32_t d = 0; d < whole->u.shaped.rank; d++) {
        int64_t extent = whole->u.shaped.dims[d];
        if (part->offset[d] < 0 || part->offset[d] >= extent || part->stride[d] < 1 ||
            (part->size[d] - 1) > (extent - 1 - part->offset[d]) / part->stride[d])
            return false;
    }
    return true;
}

bool dfg_verify_merge(Op *op)
{
    const Type *result = op_result(op, 0)->type;
    if (!check_frame(op, result)) return false;
    if (op->operand_count == 0 || op_attr(op, "offsets")->u.array.count != op->operand_count ||
        op_attr(op, "strides")->u.array.count != op->operand_count)
        return op_error(op, "needs sources, and offsets and strides for each");
    for (uint32_t i = 0; i < op->operand_count; i++) {
        MergePart part;
        const Type *type = op_operand(op, i)->type;
        if (!check_frame(op, type)) return false;
        if (type_elem(type) != type_elem(result))
            return op_error(op, "changes the element type of source #%u", i);
        if (!dfg_merge_part(op, i, &part) || !part_fits(&part, result))
            return op_error(op, "puts source #%u, '%s', outside '%s'", i, type_str(op->ctx, type),
                            type_str(op->ctx, result));
    }
    return verify_fill(op, type_elem(result));
}
