/* Removal of a tensor's dimensions of extent 1, by reshapes or by slices that drop dimensions; and
 * the patterns for pads, extract_slice and insert_slice.
 * Tests: lit/passes/linalg/linalg-fold-unit-extent-dims-shapes.mir */
#include "passes/linalg/internal.h"

typedef VEC(uint32_t) Counts;

/* Groups of one dimension that stays and those that go after it; those before the first that
 * stays join its group. No group if none stays. */
static const Attr *groups_of_kept(Context *ctx, const bool *kept, uint32_t rank)
{
    Counts sizes = {0};
    uint32_t leading = 0;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t before = sizes.len == 0 ? leading : 0;
        if (kept[i])
            *vec_push(&sizes) = before + 1;
        else if (sizes.len > 0)
            sizes.data[sizes.len - 1]++;
        else
            leading++;
    }
    const Attr *groups = tensor_groups_attr(ctx, sizes.data, sizes.len);
    vec_free(&sizes);
    return groups;
}

static const Type *kept_type(const Type *type, const bool *kept)
{
    IntList dims = {0};
    for (uint32_t i = 0; i < type->u.shaped.rank; i++)
        if (kept[i]) *vec_push(&dims) = type->u.shaped.dims[i];
    const Type *reduced = type_tensor(type_elem(type), dims.data, (uint32_t)dims.len, NULL);
    vec_free(&dims);
    return reduced;
}

/* The slice that is the whole tensor: offsets 0, its extents, strides 1. */
static SliceParams whole_slice(Builder *b, Value *tensor)
{
    SliceParams slice = {0};
    for (uint32_t i = 0; i < tensor->type->u.shaped.rank; i++) {
        *vec_push(&slice.offsets) = mixed_constant(0);
        *vec_push(&slice.sizes) = tensor_mixed_dim(b, tensor, i);
        *vec_push(&slice.strides) = mixed_constant(1);
    }
    return slice;
}

Value *fold_unit_drop_dims(Builder *b, Value *tensor, const bool *kept, RankReduction reduction)
{
    const Type *type = kept_type(tensor->type, kept);
    if (reduction == REDUCE_BY_RESHAPES)
        return tensor_collapse_shape(b, tensor, type,
                                     groups_of_kept(b->ctx, kept, tensor->type->u.shaped.rank));
    SliceParams slice = whole_slice(b, tensor);
    Op *op = tensor_build_extract_slice(b, tensor, type, &slice);
    tensor_slice_free(&slice);
    return op_result(op, 0);
}

/* The type with dimensions of extent 1 between its own. */
static const Type *type_with_units(const Type *type, const bool *kept, uint32_t rank)
{
    IntList dims = {0};
    uint32_t next = 0;
    for (uint32_t i = 0; i < rank; i++)
        *vec_push(&dims) = kept[i] ? type->u.shaped.dims[next++] : 1;
    const Type *wide = type_tensor(type_elem(type), dims.data, rank, NULL);
    vec_free(&dims);
    return wide;
}

Value *fold_unit_insert_dims(Builder *b, Value *tensor, const bool *kept, uint32_t rank)
{
    return tensor_expand_shape(b, tensor, type_with_units(tensor->type, kept, rank),
                               groups_of_kept(b->ctx, kept, rank));
}

Value *fold_unit_insert_into(Builder *b, Value *tensor, Value *dest)
{
    SliceParams slice = whole_slice(b, dest);
    Op *op = tensor_build_insert_slice(b, tensor, dest, &slice);
    tensor_slice_free(&slice);
    return op_result(op, 0);
}

/* Marks the dimensions that have more than one element or a border, and takes their borders;
 * false if all do. */
static bool find_kept(const Op *pad, bool *kept, PadBorders *out)
{
    const Type *type = op_operand(pad, 0)->type;
    PadBorders borders;
    bool any_goes = false;
    tensor_pad_read_folded(pad, &borders);
    for (uint32_t i = 0; i < type->u.shaped.rank; i++) {
        kept[i] = type->u.shaped.dims[i] != 1 || !mixed_is_zero(borders.low.data[i]) ||
                  !mixed_is_zero(borders.high.data[i]);
        any_goes = any_goes || !kept[i];
        if (!kept[i]) continue;
        *vec_push(&out->low) = borders.low.data[i];
        *vec_push(&out->high) = borders.high.data[i];
    }
    tensor_pad_free(&borders);
    return any_goes;
}

/* Extents of the padded source; dynamic where the source's or a border is. */
static const Type *padded_type(const Type *source, const PadBorders *borders)
{
    IntList dims = {0};
    for (uint32_t i = 0; i < source->u.shaped.rank; i++) {
        int64_t extent = source->u.shaped.dims[i];
        MixedIndex low = borders->low.data[i], high = borders->high.data[i];
        bool known = extent != DIM_DYNAMIC && !low.value && !high.value;
        *vec_push(&dims) = known ? extent + low.constant + high.constant : DIM_DYNAMIC;
    }
    const Type *type = type_with_shape(source, dims.data, (uint32_t)dims.len);
    vec_free(&dims);
    return type;
}

/* An empty tensor with the extents of `small`, and with 1 for each dimension that was dropped. */
static Value *empty_of_padded(Builder *b, Value *small, const bool *kept, uint32_t rank)
{
    MixedIndices sizes = {0};
    uint32_t next = 0;
    for (uint32_t i = 0; i < rank; i++)
        *vec_push(&sizes) = kept[i] ? tensor_mixed_dim(b, small, next++) : mixed_constant(1);
    Value *empty = tensor_empty(b, sizes.data, sizes.len, type_elem(small->type));
    vec_free(&sizes);
    return empty;
}

static Value *build_small_pad(Builder *b, const Op *pad, Value *padding, const bool *kept,
                              const PadBorders *borders, RankReduction reduction)
{
    Value *source = fold_unit_drop_dims(b, op_operand(pad, 0), kept, reduction);
    Op *small = tensor_build_pad(b, source, padded_type(source->type, borders), borders,
                                 op_attr(pad, "nofold") != NULL);
    tensor_fill_pad(small, padding);
    return op_result(small, 0);
}

static bool fold_pad(Rewriter *rw, Op *pad, RankReduction reduction)
{
    uint32_t rank = op_operand(pad, 0)->type->u.shaped.rank;
    Value *padding = tensor_padding(pad);
    if (rank == 0 || !padding || op_operand(pad, 0)->type->u.shaped.extra) return false;
    PadBorders borders = {0};
    bool *kept = xcalloc(rank, sizeof *kept);
    bool ok = find_kept(pad, kept, &borders);
    if (ok) {
        Value *small = build_small_pad(&rw->b, pad, padding, kept, &borders, reduction);
        Value *wide =
            reduction == REDUCE_BY_RESHAPES
                ? fold_unit_insert_dims(&rw->b, small, kept, rank)
                : fold_unit_insert_into(&rw->b, small, empty_of_padded(&rw->b, small, kept, rank));
        rewriter_replace_one(rw, pad, tensor_cast(&rw->b, wide, op_result(pad, 0)->type));
    }
    free_ptr((void **)&kept);
    tensor_pad_free(&borders);
    return ok;
}

static bool fold_pad_by_reshapes(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    return fold_pad(rw, op, REDUCE_BY_RESHAPES);
}

static bool fold_pad_by_slices(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    return fold_pad(rw, op, REDUCE_BY_SLICES);
}

void fold_unit_add_pads(PatternSet *set, RankReduction reduction)
{
    pattern_add(set, "fold-unit-pads", TENSOR(PAD), 1,
                reduction == REDUCE_BY_SLICES ? fold_pad_by_slices : fold_pad_by_reshapes);
}

/* Groups of one dimension that stays and the units before it; the last units join the last
 * group. False if no dimension is a unit. */
static bool groups_of_units(const Type *type, Counts *sizes)
{
    uint32_t units = 0, rank = type->u.shaped.rank;
    for (uint32_t i = 0; i < rank; i++) {
        if (type->u.shaped.dims[i] == 1) {
            units++;
            continue;
        }
        *vec_push(sizes) = units + 1;
        units = 0;
    }
    if (sizes->len > 0) sizes->data[sizes->len - 1] += units;
    return sizes->len != rank;
}

/* The slice's type as its sizes say, less as many leading units as make it that rank. */
static const Type *reduced_slice_type(const Op *op, const SliceParams *slice, size_t rank)
{
    IntList dims = {0};
    const Type *source = op_operand(op, 0)->type;
    size_t excess = slice->sizes.len - rank;
    for (size_t i = 0; i < slice->sizes.len; i++) {
        MixedIndex size = slice->sizes.data[i];
        if (excess > 0 && !size.value && size.constant == 1)
            excess--;
        else
            *vec_push(&dims) = size.value ? DIM_DYNAMIC : size.constant;
    }
    const Attr *encoding = rank < slice->sizes.len ? NULL : source->u.shaped.extra;
    const Type *type = type_tensor(type_elem(source), dims.data, (uint32_t)dims.len, encoding);
    vec_free(&dims);
    return type;
}

/* extract_slice(x) with units -> expand(extract_slice(x) without) */
static bool fold_extract(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    const Type *type = op_result(op, 0)->type;
    Counts sizes = {0};
    bool ok = groups_of_units(type, &sizes);
    if (ok) {
        SliceParams slice;
        tensor_slice_read(op, &slice);
        const Type *reduced = reduced_slice_type(op, &slice, sizes.len);
        Op *made = tensor_build_extract_slice(&rw->b, op_operand(op, 0), reduced, &slice);
        const Attr *groups = tensor_groups_attr(op->ctx, sizes.data, sizes.len);
        rewriter_replace_one(rw, op, tensor_expand_shape(&rw->b, op_result(made, 0), type, groups));
        tensor_slice_free(&slice);
    }
    vec_free(&sizes);
    return ok;
}

/* insert_slice(x with units into y) -> insert_slice(collapse(x) into y) */
static bool fold_insert(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *source = op_operand(op, 0);
    Counts sizes = {0};
    bool ok = groups_of_units(source->type, &sizes);
    if (ok) {
        SliceParams slice;
        tensor_slice_read(op, &slice);
        const Type *type = tensor_collapsed_type(source->type, sizes.data, sizes.len);
        const Attr *groups = tensor_groups_attr(op->ctx, sizes.data, sizes.len);
        Value *small = tensor_collapse_shape(&rw->b, source, type, groups);
        Op *made = tensor_build_insert_slice(&rw->b, small, op_operand(op, 1), &slice);
        rewriter_replace_one(rw, op, op_result(made, 0));
        tensor_slice_free(&slice);
    }
    vec_free(&sizes);
    return ok;
}

void fold_unit_add_slices(PatternSet *set)
{
    pattern_add(set, "fold-unit-extract", TENSOR(EXTRACT_SLICE), 1, fold_extract);
    pattern_add(set, "fold-unit-insert", TENSOR(INSERT_SLICE), 1, fold_insert);
}
