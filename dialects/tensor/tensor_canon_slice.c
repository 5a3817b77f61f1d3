/* Canonicalization patterns of extract_slice and insert_slice: constants move into the static
 * lists, and casts that hide static extents disappear.
 * Tests: lit/dialects/tensor/canonicalize.mir */
#include "dialects/tensor/internal.h"
#include "ir/rewrite/rewrite.h"

/* One list at a time, as upstream does; true if one changed. */
static bool fold_constants(SliceParams *slice)
{
    return mixed_fold_constants(&slice->offsets, false) ||
           mixed_fold_constants(&slice->sizes, false) ||
           mixed_fold_constants(&slice->strides, true);
}

/* Sizes as extents, values as dynamic ones. */
static void static_sizes(const SliceParams *slice, IntList *out)
{
    for (size_t i = 0; i < slice->sizes.len; i++)
        *vec_push(out) = slice->sizes.data[i].value ? DIM_DYNAMIC : slice->sizes.data[i].constant;
}

/* Which of the sizes `reduced` leaves out: static ones are matched from the back. */
void tensor_dropped_dims(const SliceParams *slice, const Type *reduced, bool *dropped)
{
    int64_t next = (int64_t)reduced->u.shaped.rank - 1;
    for (size_t k = slice->sizes.len; k-- > 0;) {
        bool unit = !slice->sizes.data[k].value && slice->sizes.data[k].constant == 1;
        dropped[k] = unit && (next < 0 || reduced->u.shaped.dims[next] != 1);
        next -= !dropped[k];
    }
}

/* The sizes without the dropped ones, as a type like `like`. */
static const Type *reduced_type(const SliceParams *slice, const bool *dropped, const Type *like)
{
    IntList all = {0}, kept = {0};
    static_sizes(slice, &all);
    for (size_t i = 0; i < all.len; i++)
        if (!dropped[i]) *vec_push(&kept) = all.data[i];
    const Type *type =
        type_tensor(type_elem(like), kept.data, (uint32_t)kept.len, like->u.shaped.extra);
    vec_free(&all);
    vec_free(&kept);
    return type;
}

static bool has_constant_operand(const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const Attr *attr = fold_constant_of(op_operand(op, i));
        if (attr && attr->kind == ATTR_INTEGER) return true;
    }
    return false;
}

static bool extract_constants(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    SliceParams slice;
    tensor_slice_read(op, &slice);
    bool *dropped = xcalloc(slice.sizes.len, sizeof *dropped);
    tensor_dropped_dims(&slice, op_result(op, 0)->type, dropped);
    bool changed = fold_constants(&slice);
    if (changed) {
        const Type *type = reduced_type(&slice, dropped, op_operand(op, 0)->type);
        Op *made = tensor_build_extract_slice(&rw->b, op_operand(op, 0), type, &slice);
        tensor_replace_cast(rw, op, op_result(made, 0));
    }
    free_ptr((void **)&dropped);
    tensor_slice_free(&slice);
    return changed;
}

/* extract_slice(cast(x)) -> extract_slice(x) */
static bool extract_of_cast(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *source = tensor_fold_source_cast(op_operand(op, 0));
    if (!source || has_constant_operand(op)) return false;
    SliceParams slice;
    tensor_slice_read(op, &slice);
    Op *made = tensor_build_extract_slice(&rw->b, source, op_result(op, 0)->type, &slice);
    rewriter_replace_one(rw, op, op_result(made, 0));
    tensor_slice_free(&slice);
    return true;
}

void tensor_canonicalize_extract_slice(PatternSet *set)
{
    pattern_add(set, "extract-constants", TENSOR(EXTRACT_SLICE), 1, extract_constants);
    pattern_add(set, "extract-of-cast", TENSOR(EXTRACT_SLICE), 1, extract_of_cast);
}

static bool insert_constants(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    SliceParams slice;
    Value *source = op_operand(op, 0), *dest = op_operand(op, 1);
    tensor_slice_read(op, &slice);
    /* Unlike upstream 19, which drops the first units after folding: they may be the source's. */
    bool *dropped = xcalloc(slice.sizes.len, sizeof *dropped);
    tensor_dropped_dims(&slice, source->type, dropped);
    bool changed = fold_constants(&slice);
    if (changed) {
        Value *cast = tensor_cast(&rw->b, source, reduced_type(&slice, dropped, dest->type));
        Op *made = tensor_build_insert_slice(&rw->b, cast, dest, &slice);
        rewriter_replace_one(rw, op, op_result(made, 0));
    }
    free_ptr((void **)&dropped);
    tensor_slice_free(&slice);
    return changed;
}

/* Replaces sizes by the extents of the source's type; false if the source does not fit them. */
static bool adopt_sizes(SliceParams *slice, const Type *source)
{
    uint32_t next = 0, rank = source->u.shaped.rank;
    for (size_t i = 0; i < slice->sizes.len; i++) {
        MixedIndex *size = &slice->sizes.data[i];
        int64_t extent = next < rank ? source->u.shaped.dims[next] : 1;
        bool fits =
            next < rank && (size->value || extent == DIM_DYNAMIC || size->constant == extent);
        if (!fits) {
            if (size->value || size->constant != 1) return false;
            continue;
        }
        /* A size known here but not in the source's type cannot be checked. */
        if (!size->value && extent == DIM_DYNAMIC) return false;
        if (extent != DIM_DYNAMIC) *size = mixed_constant(extent);
        next++;
    }
    return next == rank;
}

/* insert_slice(cast(x) into cast(y)) -> cast(insert_slice(x into y)) */
static bool insert_of_cast(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *source = tensor_fold_source_cast(op_operand(op, 0));
    Value *dest = tensor_fold_source_cast(op_operand(op, 1));
    if ((!source && !dest) || has_constant_operand(op)) return false;
    source = source ? source : op_operand(op, 0);
    dest = dest ? dest : op_operand(op, 1);
    SliceParams slice;
    tensor_slice_read(op, &slice);
    bool ok = adopt_sizes(&slice, source->type);
    if (ok) {
        Op *made = tensor_build_insert_slice(&rw->b, source, dest, &slice);
        tensor_replace_cast(rw, op, op_result(made, 0));
    }
    tensor_slice_free(&slice);
    return ok;
}

/* If the sizes are more static than the source's type, a cast of the source makes this visible. */
static bool insert_with_cast(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    const Type *source = op_operand(op, 0)->type;
    uint32_t rank = source->u.shaped.rank;
    if (rank != op_operand(op, 1)->type->u.shaped.rank) return false;
    SliceParams slice;
    tensor_slice_read(op, &slice);
    IntList dims = {0};
    bool ok = true, changed = false;
    for (uint32_t i = 0; ok && i < rank; i++) {
        int64_t extent = source->u.shaped.dims[i], size;
        bool known = mixed_known(slice.sizes.data[i], &size);
        ok = !known || (size >= 0 && (extent == DIM_DYNAMIC || extent == size));
        changed = changed || (known && extent == DIM_DYNAMIC);
        *vec_push(&dims) = known ? size : extent;
    }
    if (ok && changed) {
        const Type *type = type_tensor(type_elem(source), dims.data, rank, source->u.shaped.extra);
        Value *cast = tensor_cast(&rw->b, op_operand(op, 0), type);
        Op *made = tensor_build_insert_slice(&rw->b, cast, op_operand(op, 1), &slice);
        rewriter_replace_one(rw, op, op_result(made, 0));
    }
    vec_free(&dims);
    tensor_slice_free(&slice);
    return ok && changed;
}

void tensor_canonicalize_insert_slice(PatternSet *set)
{
    pattern_add(set, "insert-constants", TENSOR(INSERT_SLICE), 1, insert_constants);
    pattern_add(set, "insert-of-cast", TENSOR(INSERT_SLICE), 1, insert_of_cast);
    pattern_add(set, "insert-with-cast", TENSOR(INSERT_SLICE), 1, insert_with_cast);
}
