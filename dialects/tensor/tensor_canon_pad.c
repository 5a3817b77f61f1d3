/* Canonicalization patterns of pad.
 * Tests: lit/dialects/tensor/canonicalize.mir */
#include "dialects/tensor/internal.h"
#include "ir/rewrite/rewrite.h"

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
        if (!mixed_known(list->data[i], &value) || value != 0) return false;
    }
    return true;
}

/* pad(x) by nothing -> cast(x) */
static bool pad_by_nothing(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    PadBorders borders;
    tensor_pad_read(op, &borders);
    bool nothing = !op_attr(op, "nofold") && all_zero(&borders.low) && all_zero(&borders.high) &&
                   tensor_shapes_compatible(op_operand(op, 0)->type, op_result(op, 0)->type);
    tensor_pad_free(&borders);
    if (nothing) tensor_replace_cast(rw, op, op_operand(op, 0));
    return nothing;
}

bool tensor_padded_extent(int64_t extent, MixedIndex low, MixedIndex high, int64_t *out)
{
    int64_t before, after;
    bool is_known = extent != DIM_DYNAMIC && mixed_known(low, &before) && mixed_known(high, &after);
    *out = DIM_DYNAMIC;
    if (!is_known) return true;
    return i64_add(extent, before, out) && i64_add(*out, after, out) && *out >= 0;
}

const Type *tensor_pad_type(const Type *source, const PadBorders *borders, const Type *known)
{
    IntList dims = {0};
    for (uint32_t i = 0; i < source->u.shaped.rank; i++) {
        int64_t padded, other = known->u.shaped.dims[i];
        bool fits = tensor_padded_extent(source->u.shaped.dims[i], borders->low.data[i],
                                         borders->high.data[i], &padded);
        *vec_push(&dims) = other != DIM_DYNAMIC || !fits ? other : padded;
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
    if (!source) return false;
    PadBorders borders;
    tensor_pad_read(op, &borders);
    const Type *old = op_result(op, 0)->type;
    const Type *type = tensor_pad_type(source->type, &borders, old);
    if (type == old) {
        op_set_operand(op, 0, source);
        rewriter_modified(rw, op);
    } else {
        tensor_replace_cast(rw, op, build_pad(rw, op, source, type, &borders));
    }
    tensor_pad_free(&borders);
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
    tensor_pad_read(op, &borders);
    Value *made = build_pad(rw, op, op_operand(op, 0), op_result(cast, 0)->type, &borders);
    rewriter_replace_one(rw, cast, made);
    rewriter_erase(rw, op);
    tensor_pad_free(&borders);
    return true;
}

/* PadBorders that are constants move into the static lists, and into the type. */
static bool pad_by_constants(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    PadBorders borders;
    tensor_pad_read(op, &borders);
    const Type *old = op_result(op, 0)->type;
    const Type *type = tensor_pad_type(op_operand(op, 0)->type, &borders, old);
    bool changed = type != old;
    if (changed) {
        (void)mixed_fold_constants(&borders.low, true);
        (void)mixed_fold_constants(&borders.high, true);
        tensor_replace_cast(rw, op, build_pad(rw, op, op_operand(op, 0), type, &borders));
    }
    tensor_pad_free(&borders);
    return changed;
}

/* pad(extract_slice(pad(extract_slice(x)))), from the outside in. */
typedef struct PadChain {
    Op *pad, *inner_slice, *other, *outer_slice;
    PadBorders borders, other_borders;
    SliceParams inner, outer;
} PadChain;

static bool is_padded(const PadBorders *borders, size_t dim)
{
    int64_t low, high;
    bool none = mixed_known(borders->low.data[dim], &low) && low == 0 &&
                mixed_known(borders->high.data[dim], &high) && high == 0;
    return !none;
}

static bool same_constant_padding(const Op *a, const Op *b)
{
    const Value *x = tensor_padding(a), *y = tensor_padding(b);
    const Attr *padding = x ? fold_constant_of(x) : NULL;
    return padding && y && padding == fold_constant_of(y);
}

static bool chain_matches(const PadChain *c)
{
    uint32_t rank = op_operand(c->pad, 0)->type->u.shaped.rank;
    if (op_operand(c->outer_slice, 0)->type->u.shaped.rank != rank ||
        op_operand(c->inner_slice, 0)->type->u.shaped.rank != rank ||
        !tensor_has_unit_strides(&c->inner) || !tensor_has_unit_strides(&c->outer) ||
        !all_zero(&c->borders.low) || !all_zero(&c->other_borders.low) ||
        !same_constant_padding(c->pad, c->other))
        return false;
    for (uint32_t i = 0; i < rank; i++)
        if (is_padded(&c->borders, i) && is_padded(&c->other_borders, i)) return false;
    return true;
}

/* One dimension of the slice and the border that do both at once; false if they cannot. */
static bool join_dim(const PadChain *c, size_t dim, SliceParams *slice, PadBorders *borders)
{
    bool inner = is_padded(&c->borders, dim), outer = is_padded(&c->other_borders, dim);
    MixedIndex size = c->inner.sizes.data[dim];
    MixedIndex padded = mixed_constant(op_operand(c->inner_slice, 0)->type->u.shaped.dims[dim]);
    if (outer && !mixed_equal(size, padded)) return false;
    if (!inner && mixed_is_zero(c->inner.offsets.data[dim]))
        *vec_push(&slice->offsets) = c->outer.offsets.data[dim];
    else if (!outer && mixed_is_zero(c->outer.offsets.data[dim]))
        *vec_push(&slice->offsets) = c->inner.offsets.data[dim];
    else
        return false;
    *vec_push(&slice->sizes) = outer ? c->outer.sizes.data[dim] : size;
    *vec_push(&slice->strides) = mixed_constant(1);
    *vec_push(&borders->low) = mixed_constant(0);
    *vec_push(&borders->high) = inner   ? c->borders.high.data[dim]
                                : outer ? c->other_borders.high.data[dim]
                                        : mixed_constant(0);
    return true;
}

static const Type *slice_type(const Value *source, const SliceParams *slice)
{
    IntList dims = {0};
    for (size_t i = 0; i < slice->sizes.len; i++)
        *vec_push(&dims) = slice->sizes.data[i].value ? DIM_DYNAMIC : slice->sizes.data[i].constant;
    const Type *type = type_with_shape(source->type, dims.data, (uint32_t)dims.len);
    vec_free(&dims);
    return type;
}

static bool join_chain(Rewriter *rw, const PadChain *c)
{
    SliceParams slice = {0};
    PadBorders borders = {0};
    Value *source = op_operand(c->outer_slice, 0);
    bool ok = chain_matches(c);
    for (size_t i = 0; ok && i < c->inner.sizes.len; i++) ok = join_dim(c, i, &slice, &borders);
    if (ok) {
        Op *small = tensor_build_extract_slice(&rw->b, source, slice_type(source, &slice), &slice);
        Value *made =
            build_pad(rw, c->pad, op_result(small, 0), op_result(c->pad, 0)->type, &borders);
        rewriter_replace_one(rw, c->pad, made);
    }
    tensor_slice_free(&slice);
    tensor_pad_free(&borders);
    return ok;
}

/* Two high borders of different dimensions, each after a slice -> both after one slice */
static bool pad_of_padded_slice(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    PadChain c = {.pad = op};
    c.inner_slice = rewrite_def_of(op_operand(op, 0), TENSOR(EXTRACT_SLICE));
    c.other = c.inner_slice ? rewrite_def_of(op_operand(c.inner_slice, 0), TENSOR(PAD)) : NULL;
    c.outer_slice = c.other ? rewrite_def_of(op_operand(c.other, 0), TENSOR(EXTRACT_SLICE)) : NULL;
    if (!c.outer_slice || op_attr(c.other, "nofold")) return false;
    tensor_pad_read_folded(c.pad, &c.borders);
    tensor_pad_read_folded(c.other, &c.other_borders);
    tensor_slice_read(c.inner_slice, &c.inner);
    tensor_slice_read(c.outer_slice, &c.outer);
    bool ok = join_chain(rw, &c);
    tensor_pad_free(&c.borders);
    tensor_pad_free(&c.other_borders);
    tensor_slice_free(&c.inner);
    tensor_slice_free(&c.outer);
    return ok;
}

void tensor_canonicalize_pad(PatternSet *set)
{
    pattern_add(set, "pad-by-nothing", TENSOR(PAD), 1, pad_by_nothing);
    pattern_add(set, "pad-of-cast", TENSOR(PAD), 1, pad_of_cast);
    pattern_add(set, "pad-into-cast", TENSOR(PAD), 1, pad_into_cast);
    pattern_add(set, "pad-of-padded-slice", TENSOR(PAD), 1, pad_of_padded_slice);
    pattern_add(set, "pad-by-constants", TENSOR(PAD), 1, pad_by_constants);
}
