/* Canonicalization patterns of pack and unpack.
 * Tests: lit/dialects/tensor/canonicalize-pack.mir */
#include "dialects/tensor/internal.h"
#include "ir/rewrite/rewrite.h"

static uint32_t padding_count(const Op *pack)
{
    uint32_t begin, count;
    op_operand_group(pack, 2, &begin, &count);
    return count;
}

/* pack(unpack(x)) -> x, unpack(pack(x)) -> x when the tiles are the same and nothing is padded */
static bool undo(Rewriter *rw, Op *op, Op *inverse)
{
    Op *pack = op->def == TENSOR(PACK) ? op : inverse, *unpack = pack == op ? inverse : op;
    if (op_operand(inverse, 0)->type != op_result(op, 0)->type || padding_count(pack) > 0 ||
        !tensor_same_packing(pack, unpack))
        return false;
    rewriter_replace_one(rw, op, op_operand(inverse, 0));
    return true;
}

/* The padding value of a pack whose tiles are all full is not needed. */
static bool drop_padding(Rewriter *rw, Op *op)
{
    uint32_t begin, count;
    op_operand_group(op, 2, &begin, &count);
    const Attr *sizes = op_attr(op, "operandSegmentSizes");
    int32_t segments[] = {1, 1, 0, (int32_t)dense_array_i64(sizes, 3)};
    op_erase_operand(op, begin);
    op_set_attr(op, "operandSegmentSizes", attr_dense_array(type_i(op->ctx, 32), segments, 4));
    rewriter_modified(rw, op);
    return true;
}

/* Static extents that only one of the shapes has, in dimensions that are not tiled. */
static bool share_extents(Rewriter *rw, Op *op)
{
    const Type *types[2];
    if (!tensor_shared_extents(op, &types[0], &types[1])) return false;
    ValueList operands = {0};
    for (uint32_t i = 0; i < op->operand_count; i++) {
        Value *value = op_operand(op, i);
        *vec_push(&operands) = i < 2 ? tensor_cast(&rw->b, value, types[i]) : value;
    }
    Op *made = tensor_clone_with(rw, op, operands.data, &types[1]);
    vec_free(&operands);
    tensor_replace_cast(rw, op, op_result(made, 0));
    return true;
}

static bool simplify_pack(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *unpack = rewrite_def_of(op_operand(op, 0), TENSOR(UNPACK));
    if (unpack) return undo(rw, op, unpack);
    if (padding_count(op) > 0 && tensor_fills_tiles(op)) return drop_padding(rw, op);
    return share_extents(rw, op);
}

/* unpack(x into op(… into y)) -> unpack(x into y), and as above */
static bool simplify_unpack(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *pack = rewrite_def_of(op_operand(op, 0), TENSOR(PACK));
    if (pack) return undo(rw, op, pack);
    Value *destination = value_destination(op_operand(op, 1));
    if (!destination) return share_extents(rw, op);
    op_set_operand(op, 1, destination);
    rewriter_modified(rw, op);
    return true;
}

void tensor_canonicalize_pack(PatternSet *set)
{
    pattern_add(set, "simplify-pack", TENSOR(PACK), 1, simplify_pack);
}

void tensor_canonicalize_unpack(PatternSet *set)
{
    pattern_add(set, "simplify-unpack", TENSOR(UNPACK), 1, simplify_unpack);
}
