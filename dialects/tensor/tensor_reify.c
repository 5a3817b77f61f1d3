/* Extents of the results of tensor ops, expressed by their operands, and the folds of tensor.empty
 * that need them: since it has no contents, reading it in another shape gives another empty tensor.
 * Tests: lit/passes/linalg/linalg-fold-unit-extent-dims-shapes.mir */
#include "dialects/affine/affine.h"
#include "dialects/tensor/internal.h"
#include "ir/rewrite/rewrite.h"

static MixedIndex fold(Builder *b, const AffineExpr *expr, uint32_t dims, uint32_t symbols,
                       const MixedIndices *operands)
{
    return affine_apply_folded(b, map_get(b->ctx, dims, symbols, 1, &expr), operands->data);
}

/* The k-th dynamic size of a shape: its operand is the first of the group plus k. */
static MixedIndex dynamic_size(const Op *op, uint32_t group, uint32_t dim)
{
    const int64_t *dims = op_result(op, 0)->type->u.shaped.dims;
    uint32_t begin, count;
    op_operand_group(op, group, &begin, &count);
    for (uint32_t i = 0; i < dim; i++) begin += dims[i] == DIM_DYNAMIC;
    return mixed_value(op_operand(op, begin));
}

static bool reify_collapse(Builder *b, Op *op, uint32_t dim, MixedIndex *out)
{
    const Attr *group = op_attr(op, "reassociation")->u.array.items[dim];
    const AffineExpr *product = NULL;
    MixedIndices sizes = {0};
    for (uint32_t i = 0; i < group->u.array.count; i++) {
        const AffineExpr *symbol = affine_symbol(b->ctx, i);
        uint32_t inner = (uint32_t)attr_int_value(group->u.array.items[i]);
        *vec_push(&sizes) = tensor_mixed_dim(b, op_operand(op, 0), inner);
        product = product ? affine_mul(product, symbol) : symbol;
    }
    *out = fold(b, product, 0, (uint32_t)sizes.len, &sizes);
    vec_free(&sizes);
    return true;
}

static bool reify_expand(Builder *b, Op *op, uint32_t dim, MixedIndex *out)
{
    uint32_t group;
    int64_t product;
    MixedIndices sizes = {0};
    if (!tensor_find_group(op, dim, &group, &product)) return false;
    *vec_push(&sizes) = tensor_mixed_dim(b, op_operand(op, 0), group);
    *out = fold(b, affine_floordiv(affine_symbol(b->ctx, 0), affine_const(b->ctx, product)), 0, 1,
                &sizes);
    vec_free(&sizes);
    return true;
}

static bool reify_pad(Builder *b, Op *op, uint32_t dim, MixedIndex *out)
{
    PadBorders borders;
    MixedIndices sizes = {0};
    const AffineExpr *sum = affine_add(affine_add(affine_dim(b->ctx, 0), affine_symbol(b->ctx, 0)),
                                       affine_symbol(b->ctx, 1));
    tensor_pad_read_folded(op, &borders);
    *vec_push(&sizes) = tensor_mixed_dim(b, op_operand(op, 0), dim);
    *vec_push(&sizes) = borders.low.data[dim];
    *vec_push(&sizes) = borders.high.data[dim];
    *out = fold(b, sum, 1, 2, &sizes);
    vec_free(&sizes);
    tensor_pad_free(&borders);
    return true;
}

static bool reify_concat(Builder *b, Op *op, uint32_t dim, MixedIndex *out)
{
    const AffineExpr *sum = affine_dim(b->ctx, 0);
    MixedIndices sizes = {0};
    if (attr_int_value(op_attr(op, "dim")) != dim) {
        for (uint32_t i = 0; i < op->operand_count; i++) {
            *out = mixed_constant(op_operand(op, i)->type->u.shaped.dims[dim]);
            if (out->constant != DIM_DYNAMIC) return true;
        }
        *out = tensor_mixed_dim(b, op_operand(op, 0), dim);
        return true;
    }
    for (uint32_t i = 0; i < op->operand_count; i++) {
        *vec_push(&sizes) = tensor_mixed_dim(b, op_operand(op, i), dim);
        if (i > 0) sum = affine_add(sum, affine_dim(b->ctx, i));
    }
    *out = fold(b, sum, op->operand_count, 0, &sizes);
    vec_free(&sizes);
    return true;
}

static bool reify_extract_slice(Builder *b, Op *op, uint32_t dim, MixedIndex *out)
{
    SliceParams slice;
    const Type *type = op_result(op, 0)->type;
    uint32_t kept = 0;
    (void)b;
    tensor_slice_read(op, &slice);
    bool *dropped = xcalloc(slice.sizes.len, sizeof *dropped);
    tensor_dropped_dims(&slice, type, dropped);
    for (size_t i = 0; i < slice.sizes.len; i++) {
        if (dropped[i]) continue;
        if (kept++ == dim) *out = slice.sizes.data[i];
    }
    free_ptr((void **)&dropped);
    tensor_slice_free(&slice);
    return kept > dim;
}

bool tensor_reify_dim(Builder *b, Op *op, uint32_t dim, MixedIndex *out)
{
    if (op->def == NULL || op->def->dialect != &tensor_dialect || op->result_count != 1)
        return false;
    int64_t extent = op_result(op, 0)->type->u.shaped.dims[dim];
    bool has_sizes = op->def == TENSOR(EMPTY) || op->def == TENSOR(GENERATE);
    if (has_sizes || op->def == TENSOR(SPLAT)) {
        *out = extent != DIM_DYNAMIC ? mixed_constant(extent) : dynamic_size(op, !has_sizes, dim);
        return true;
    }
    if (op->def == TENSOR(INSERT_SLICE) || op->def == TENSOR(PACK) || op->def == TENSOR(UNPACK)) {
        *out = tensor_mixed_dim(b, op_operand(op, 1), dim);
        return true;
    }
    if (op->def == TENSOR(EXTRACT_SLICE)) return reify_extract_slice(b, op, dim, out);
    static bool (*const reifiers[TENSOR_OP_COUNT])(Builder *, Op *, uint32_t, MixedIndex *) = {
        [TENSOR_COLLAPSE_SHAPE] = reify_collapse,
        [TENSOR_EXPAND_SHAPE] = reify_expand,
        [TENSOR_PAD] = reify_pad,
        [TENSOR_CONCAT] = reify_concat};
    size_t row = (size_t)(op->def - tensor_ops);
    if (!reifiers[row]) return false;
    *out = mixed_constant(extent);
    return extent != DIM_DYNAMIC || reifiers[row](b, op, dim, out);
}

/* reshape(empty) -> empty, concat(empty …) -> empty */
static bool reshape_of_empty(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    const Type *type = op_result(op, 0)->type;
    MixedIndices sizes = {0};
    bool ok = op->operand_count > 0;
    uint32_t sources = op->def == TENSOR(CONCAT) ? op->operand_count : 1;
    for (uint32_t i = 0; ok && i < sources; i++)
        ok = rewrite_def_of(op_operand(op, i), TENSOR(EMPTY)) != NULL;
    for (uint32_t i = 0; ok && i < type->u.shaped.rank; i++)
        ok = tensor_reify_dim(&rw->b, op, i, vec_push(&sizes));
    if (ok)
        tensor_replace_cast(rw, op, tensor_empty(&rw->b, sizes.data, sizes.len, type_elem(type)));
    vec_free(&sizes);
    return ok;
}

/* extract_slice(empty) -> empty */
static bool slice_of_empty(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    uint32_t begin, count;
    const Type *type = op_result(op, 0)->type;
    if (!rewrite_def_of(op_operand(op, 0), TENSOR(EMPTY))) return false;
    ValueList sizes = {0};
    op_operand_group(op, 2, &begin, &count);
    for (uint32_t i = 0; i < count; i++) *vec_push(&sizes) = op_operand(op, begin + i);
    Op *made = build(&rw->b, TENSOR(EMPTY), sizes.data, (uint32_t)sizes.len, &type, 1, NULL, 0);
    vec_free(&sizes);
    rewriter_replace_one(rw, op, op_result(made, 0));
    return true;
}

/* pack(empty into x) -> x, unpack(empty into x) -> x */
static bool pack_of_empty(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    uint32_t begin, padding = 0;
    if (op->def == TENSOR(PACK)) op_operand_group(op, 2, &begin, &padding);
    if (padding > 0 || !rewrite_def_of(op_operand(op, 0), TENSOR(EMPTY))) return false;
    rewriter_replace_one(rw, op, op_operand(op, 1));
    return true;
}

void tensor_add_fold_empty(PatternSet *set)
{
    pattern_add(set, "slice-of-empty", TENSOR(EXTRACT_SLICE), 1, slice_of_empty);
    pattern_add(set, "expand-of-empty", TENSOR(EXPAND_SHAPE), 1, reshape_of_empty);
    pattern_add(set, "collapse-of-empty", TENSOR(COLLAPSE_SHAPE), 1, reshape_of_empty);
    pattern_add(set, "concat-of-empty", TENSOR(CONCAT), 1, reshape_of_empty);
    pattern_add(set, "pack-of-empty", TENSOR(PACK), 1, pack_of_empty);
    pattern_add(set, "unpack-of-empty", TENSOR(UNPACK), 1, pack_of_empty);
}
