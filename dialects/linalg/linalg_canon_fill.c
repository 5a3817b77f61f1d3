/* Canonicalization patterns of fill: reading, reshaping and copying of a tensor whose elements are
 * equal.
 * Tests: lit/dialects/linalg/canonicalize.mir */
#include "dialects/affine/affine.h"
#include "dialects/common/common.h"
#include "dialects/linalg/internal.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/rewrite/rewrite.h"

/* The fill that made a value, or NULL. */
static Op *fill_of(Value *value)
{
    Op *fill = rewrite_def_of(value, LINALG(FILL));
    return fill && fill->result_count == 1 ? fill : NULL;
}

static Value *fill_value(const Op *fill)
{
    return op_operand(fill, 0);
}

static void replace_by_fill(Rewriter *rw, Op *op, Value *value, Value *init)
{
    Op *made = linalg_build_named(&rw->b, LINALG(FILL), &value, 1, &init, 1, NULL, 0);
    rewriter_replace(rw, op, (Value *[]){made->result_count ? op_result(made, 0) : NULL},
                     op->result_count);
}

/* extract(fill(c)) -> c */
static bool extract_of_fill(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *fill = fill_of(op_operand(op, 0));
    if (!fill || fill_value(fill)->type != op_result(op, 0)->type) return false;
    rewriter_replace_one(rw, op, fill_value(fill));
    return true;
}

/* reshape(fill(c into x)) -> fill(c into reshape(x)) */
static bool reshape_of_fill(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *fill = fill_of(op_operand(op, 0));
    if (!fill) return false;
    Op *init = op_clone(op, NULL);
    op_set_operand(init, 0, op_operand(fill, 1));
    init->loc = fill->loc;
    op_insert_before(init, op);
    rw->inserted(rw, init);
    replace_by_fill(rw, op, fill_value(fill), op_result(init, 0));
    return true;
}

/* pad(fill(c)) by c -> fill(c) of the padded shape */
static bool pad_of_fill(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *fill = fill_of(op_operand(op, 0));
    const Type *type = op_result(op, 0)->type;
    if (!fill || tensor_padding(op) != fill_value(fill)) return false;
    MixedIndices sizes = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < type->u.shaped.rank; i++)
        ok = tensor_reify_dim(&rw->b, op, i, vec_push(&sizes));
    if (ok) {
        Value *init = tensor_empty(&rw->b, sizes.data, sizes.len, type_elem(type));
        rw->b.loc = fill->loc;
        Value *filled = linalg_fill(&rw->b, fill_value(fill), init);
        rewriter_replace_one(rw, op, tensor_cast(&rw->b, filled, type));
    }
    vec_free(&sizes);
    return ok;
}

/* pack(fill(c) into x) -> fill(c into x) when nobody else reads x */
static bool pack_of_fill(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *fill = fill_of(op_operand(op, 0));
    uint32_t begin, count;
    op_operand_group(op, 2, &begin, &count);
    if (!fill || !value_has_one_use(op_operand(op, 1)) ||
        (count > 0 && op_operand(op, begin) != fill_value(fill)))
        return false;
    replace_by_fill(rw, op, fill_value(fill), op_operand(op, 1));
    return true;
}

static bool casts_unsigned(const Op *copy)
{
    const Attr *cast = op_attr(copy, "cast");
    return cast && enum_attr_value(cast) == CAST_UNSIGNED;
}

/* Whether a fill and a copy together cast as one fill does, once and by the sign. Upstream 19 does
 * not ask. */
static bool copy_casts_like_fill(const Op *fill, const Op *copy)
{
    const Type *filled = type_elem(op_result(fill, 0)->type);
    if (filled == type_elem(op_operand(copy, 1)->type)) return true;
    return fill_value(fill)->type == filled && !casts_unsigned(copy);
}

/* copy(fill(c) into x) -> fill(c into x);  copy(x into fill(y)) -> copy(x into y) */
static bool copy_of_fill(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *source = fill_of(op_operand(op, 0)), *target = fill_of(op_operand(op, 1));
    if (source && copy_casts_like_fill(source, op)) {
        replace_by_fill(rw, op, fill_value(source), op_operand(op, 1));
        return true;
    }
    if (!target) return false;
    Value *input = op_operand(op, 0), *init = op_operand(target, 1);
    NamedAttr cast = build_named_attr(op->ctx, "cast", op_attr(op, "cast"));
    Op *made =
        linalg_build_named(&rw->b, LINALG(COPY), &input, 1, &init, 1, &cast, cast.value ? 1 : 0);
    rewriter_replace_one(rw, op, op_result(made, 0));
    return true;
}

/* transpose(fill(c) into x) -> fill(c into x) */
static bool transpose_of_fill(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *fill = fill_of(op_operand(op, 0));
    if (!fill) return false;
    replace_by_fill(rw, op, fill_value(fill), op_operand(op, 1));
    return true;
}

/* Lowest and highest place that a slice writes in a dimension; false unless all is static. */
static bool static_range(const SliceParams *slice, size_t dim, int64_t *low, int64_t *high)
{
    MixedIndex offset = slice->offsets.data[dim], size = slice->sizes.data[dim];
    MixedIndex stride = slice->strides.data[dim];
    int64_t reach, last;
    if (offset.value || size.value || stride.value ||
        !i64_mul(size.constant - 1, stride.constant, &reach) ||
        !i64_add(offset.constant, reach, &last))
        return false;
    bool backwards = stride.constant < 0;
    *low = backwards ? last : offset.constant;
    *high = backwards ? offset.constant : last;
    return true;
}

static bool are_disjoint(const SliceParams *a, const SliceParams *b)
{
    for (size_t i = 0; i < a->sizes.len; i++) {
        int64_t low, high, other_low, other_high;
        if (static_range(a, i, &low, &high) && static_range(b, i, &other_low, &other_high) &&
            (high < other_low || other_high < low))
            return true;
    }
    return false;
}

static bool keeps_rank(const Op *insert)
{
    return op_operand(insert, 0)->type->u.shaped.rank == op_result(insert, 0)->type->u.shaped.rank;
}

/* The fill that made the elements that the slice overwrites: behind insertions elsewhere. */
static Op *fill_behind(Value *dest, const SliceParams *slice)
{
    Op *insert;
    while ((insert = rewrite_def_of(dest, TENSOR(INSERT_SLICE))) != NULL && keeps_rank(insert)) {
        SliceParams other;
        tensor_slice_read(insert, &other);
        bool disjoint = are_disjoint(slice, &other);
        tensor_slice_free(&other);
        if (!disjoint) return NULL;
        dest = op_operand(insert, 1);
    }
    return fill_of(dest);
}

/* The offsets behind the low borders, and the sizes of the source of the pad. */
static SliceParams unpadded_slice(Rewriter *rw, const Op *pad, const SliceParams *slice)
{
    SliceParams out = {0};
    PadBorders borders;
    Context *ctx = rw->b.ctx;
    const AffineExpr *sum = affine_add(affine_symbol(ctx, 0), affine_symbol(ctx, 1));
    const AffineMap *map = map_get(ctx, 0, 2, 1, &sum);
    tensor_pad_read_folded(pad, &borders);
    for (uint32_t i = 0; i < slice->sizes.len; i++) {
        MixedIndex terms[] = {borders.low.data[i], slice->offsets.data[i]};
        *vec_push(&out.offsets) = affine_apply_folded(&rw->b, map, terms);
        *vec_push(&out.strides) = slice->strides.data[i];
    }
    for (uint32_t i = 0; i < slice->sizes.len; i++)
        *vec_push(&out.sizes) = tensor_mixed_dim(&rw->b, op_operand(pad, 0), i);
    tensor_pad_free(&borders);
    return out;
}

/* insert_slice(pad(x) by c into fill(c)) -> insert_slice(x into fill(c)), further in */
static bool insert_pad_into_fill(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *pad = rewrite_def_of(op_operand(op, 0), TENSOR(PAD));
    if (!pad || !keeps_rank(op)) return false;
    SliceParams slice;
    tensor_slice_read(op, &slice);
    Op *fill = fill_behind(op_operand(op, 1), &slice);
    bool ok = fill && fill_value(fill) == tensor_padding(pad) && tensor_has_unit_strides(&slice);
    if (ok) {
        SliceParams inner = unpadded_slice(rw, pad, &slice);
        Op *made = tensor_build_insert_slice(&rw->b, op_operand(pad, 0), op_operand(op, 1), &inner);
        rewriter_replace_one(rw, op, op_result(made, 0));
        tensor_slice_free(&inner);
    }
    tensor_slice_free(&slice);
    return ok;
}

void linalg_canonicalize_fill(PatternSet *set)
{
    pattern_add(set, "copy-of-fill", LINALG(COPY), 1, copy_of_fill);
    pattern_add(set, "extract-of-fill", TENSOR(EXTRACT), 1, extract_of_fill);
    pattern_add(set, "pack-of-fill", TENSOR(PACK), 1, pack_of_fill);
    pattern_add(set, "pad-of-fill", TENSOR(PAD), 1, pad_of_fill);
    pattern_add(set, "collapse-of-fill", TENSOR(COLLAPSE_SHAPE), 1, reshape_of_fill);
    pattern_add(set, "expand-of-fill", TENSOR(EXPAND_SHAPE), 1, reshape_of_fill);
    pattern_add(set, "insert-pad-into-fill", TENSOR(INSERT_SLICE), 1, insert_pad_into_fill);
    pattern_add(set, "transpose-of-fill", LINALG(TRANSPOSE), 1, transpose_of_fill);
}
