/* Canonicalization patterns of pad and pack.
 * Tests: lit/dialects/tensor/canonicalize.mir */
#include "dialects/rewrite_util.h"
#include "dialects/tensor/tensor_impl.h"

/* A pad with the body of another one, which loses it. */
static Value *build_pad(Rewriter *rw, Op *old, Value *source, const Type *type,
                        const PadBorders *borders)
{
    Op *op = tensor_build_pad(&rw->b, source, type, borders, op_attr(old, "nofold") != NULL);
    region_take(op_region(op, 0), op_region(old, 0));
    return op_result(op, 0);
}

static bool all_zero(const MixedIndices *list)
{
    for (size_t i = 0; i < list->len; i++) {
        int64_t value;
        if (!mixed_known(list->data[i], &value) || value != 0)
            return false;
    }
    return true;
}

/* pad(x) by nothing -> cast(x) */
static bool pad_by_nothing(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    PadBorders borders;
    pad_read(op, &borders);
    bool nothing = !op_attr(op, "nofold") && all_zero(&borders.low) && all_zero(&borders.high);
    pad_free(&borders);
    if (nothing)
        tensor_replace_cast(rw, op, op_operand(op, 0));
    return nothing;
}

/* Extents of the padded source; those of `known` where the borders or the source are dynamic. */
static const Type *padded_type(const Type *source, const PadBorders *borders, const Type *known)
{
    IntList dims = {0};
    for (uint32_t i = 0; i < source->u.shaped.rank; i++) {
        int64_t extent = source->u.shaped.dims[i], low, high;
        bool fixed = extent != DIM_DYNAMIC && mixed_known(borders->low.data[i], &low) &&
                     mixed_known(borders->high.data[i], &high);
        int64_t other = known->u.shaped.dims[i];
        *vec_push(&dims) = other != DIM_DYNAMIC || !fixed ? other : extent + low + high;
    }
    const Type *type = type_tensor(type_elem(source), dims.data, (uint32_t)dims.len, NULL);
    vec_free(&dims);
    return type;
}

/* pad(cast(x)) -> cast(pad(x)) */
static bool pad_of_cast(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *source = tensor_fold_source_cast(op_operand(op, 0));
    if (!source)
        return false;
    PadBorders borders;
    pad_read(op, &borders);
    const Type *old = op_result(op, 0)->type;
    const Type *type = padded_type(source->type, &borders, old);
    if (type == old) {
        op_set_operand(op, 0, source);
        rewriter_modified(rw, op);
    } else {
        tensor_replace_cast(rw, op, build_pad(rw, op, source, type, &borders));
    }
    pad_free(&borders);
    return true;
}

/* cast(pad(x)) -> pad(x) of the cast's type, when nobody else reads the pad */
static bool pad_into_cast(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *result = op_result(op, 0);
    Op *cast = value_has_one_use(result) ? result->uses->owner : NULL;
    if (!cast || cast->def != TENSOR(CAST) || !tensor_cast_adds_static(cast) ||
        op_result(cast, 0)->type == result->type)
        return false;
    PadBorders borders;
    pad_read(op, &borders);
    Value *made = build_pad(rw, op, op_operand(op, 0), op_result(cast, 0)->type, &borders);
    rewriter_replace_one(rw, cast, made);
    rewriter_erase(rw, op);
    pad_free(&borders);
    return true;
}

/* PadBorders that are constants move into the static lists, and into the type. */
static bool pad_by_constants(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    PadBorders borders;
    pad_read(op, &borders);
    const Type *old = op_result(op, 0)->type;
    const Type *type = padded_type(op_operand(op, 0)->type, &borders, old);
    bool changed = type != old;
    if (changed) {
        (void)mixed_fold_constants(&borders.low, true);
        (void)mixed_fold_constants(&borders.high, true);
        tensor_replace_cast(rw, op, build_pad(rw, op, op_operand(op, 0), type, &borders));
    }
    pad_free(&borders);
    return changed;
}

void tensor_canonicalize_pad(PatternSet *set)
{
    pattern_add(set, "pad-by-nothing", TENSOR(PAD), 1, pad_by_nothing);
    pattern_add(set, "pad-of-cast", TENSOR(PAD), 1, pad_of_cast);
    pattern_add(set, "pad-into-cast", TENSOR(PAD), 1, pad_into_cast);
    pattern_add(set, "pad-by-constants", TENSOR(PAD), 1, pad_by_constants);
}

/* --- pack -------------------------------------------------------------------------------- */

/* pack(unpack(x)) -> x when the tiles are the same */
static bool pack_of_unpack(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *unpack = value_def_of(op_operand(op, 0), TENSOR(UNPACK));
    if (!unpack || op_operand(unpack, 0)->type != op_result(op, 0)->type ||
        !tensor_same_packing(op, unpack))
        return false;
    rewriter_replace_one(rw, op, op_operand(unpack, 0));
    return true;
}

/* The padding value of a pack whose tiles are all full is not needed. */
static bool pack_without_padding(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    uint32_t begin, count;
    op_operand_group(op, 2, &begin, &count);
    if (count == 0 || !tensor_fills_tiles(op))
        return false;
    const Attr *sizes = op_attr(op, "operandSegmentSizes");
    int32_t segments[] = {1, 1, 0, (int32_t)dense_array_i64(sizes, 3)};
    op_erase_operand(op, begin);
    op_set_attr(op, "operandSegmentSizes", attr_dense_array(type_i(op->ctx, 32), segments, 4));
    rewriter_modified(rw, op);
    return true;
}

void tensor_canonicalize_pack(PatternSet *set)
{
    pattern_add(set, "pack-of-unpack", TENSOR(PACK), 1, pack_of_unpack);
    pattern_add(set, "pack-without-padding", TENSOR(PACK), 1, pack_without_padding);
}
