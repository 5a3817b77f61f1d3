/* Ops that only move elements become dfg.reorder and dfg.merge:
 *   extract_slice               -> reorder
 *   insert_slice, concat        -> merge; a chain of insertions into an empty tensor is one merge
 *   pad by widths of 0 or more  -> merge of one part; by negative widths -> reorder
 *   reshape from or to rank 0   -> reorder
 * A constant part becomes the fill value where it can.
 * Tests: lit/lowering/linalg_to_dfg/insert-reorders.mir */
#include <assert.h>

#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/linalg_to_dfg/internal.h"

Value *to_dfg_build_reorder(Builder *b, Value *source, const Type *type, const AffineMap *map,
                            const Attr *fill)
{
    if (map_is_identity(map) && source->type == type) return source;
    if (dfg_map_stays_inside(map, type, source->type)) fill = NULL;
    const NamedAttr attrs[2] = {build_named_attr(b->ctx, "map", attr_map(map)),
                                build_named_attr(b->ctx, "fill", fill)};
    return op_result(build(b, DFG(REORDER), &source, 1, &type, 1, attrs, fill ? 2 : 1), 0);
}

/* Whether a reorder gives each element of its source once: it neither drops nor adds any. */
static bool is_bijection(const Op *reorder)
{
    int64_t from, to;
    return map_is_permutation(dfg_reorder_map(reorder)) && !op_attr(reorder, "fill") &&
           type_element_count(op_operand(reorder, 0)->type, &from) &&
           type_element_count(op_result(reorder, 0)->type, &to) && from == to;
}

/* The map behind the inner one, in its simpler form unless only the other tells that it stays within the
 * source, as (d + 1) mod 6 does. NULL: neither tells. */
static const AffineMap *join_maps(const AffineMap *inner, const AffineMap *map, const Type *type,
                                  const Type *source)
{
    const AffineMap *whole = map_compose(inner, map), *simple = map_simplify(whole);
    if (dfg_map_stays_inside(simple, type, source)) return simple;
    return dfg_map_stays_inside(whole, type, source) ? whole : NULL;
}

/* reorder(reorder(x)) -> reorder(x), where what lies outside of the middle is filled in the same
 * way as what lies outside of x. */
void to_dfg_join_reorders(Op *reorder)
{
    Op *inner = value_def(op_operand(reorder, 0));
    if (!inner || inner->def != DFG(REORDER) || !value_has_one_use(op_result(inner, 0))) return;
    const AffineMap *map = dfg_reorder_map(reorder), *inner_map = dfg_reorder_map(inner);
    const Attr *fill = op_attr(reorder, "fill");
    if (fill && !is_bijection(inner)) return;
    if (!fill) fill = op_attr(inner, "fill");
    const Type *type = op_result(reorder, 0)->type, *source = op_operand(inner, 0)->type;
    const AffineMap *whole =
        fill ? map_simplify(map_compose(inner_map, map)) : join_maps(inner_map, map, type, source);
    if (!whole) return;
    Builder b = builder_before(reorder);
    Value *joined = to_dfg_build_reorder(&b, op_operand(inner, 0), type, whole, fill);
    value_replace_all(op_result(reorder, 0), joined);
    op_erase(reorder);
    op_erase(inner);
}

/* The value takes the op's place and its name. */
static bool replace(Op *op, Value *value)
{
    Op *def = value_def(value);
    if (def && op_attr(op, DFG_ATTR_NAME) && !op_attr(def, DFG_ATTR_NAME))
        op_set_attr(def, DFG_ATTR_NAME, op_attr(op, DFG_ATTR_NAME));
    if (def && op_attr(op, DFG_ATTR_TENSORS) && !op_attr(def, DFG_ATTR_TENSORS) &&
        def->result_count == 1 && value->type == op_result(op, 0)->type)
        op_set_attr(def, DFG_ATTR_TENSORS, op_attr(op, DFG_ATTR_TENSORS));
    value_replace_all(op_result(op, 0), value);
    op_erase(op);
    return true;
}

/* Offsets and strides of a slicing op, all constants; false: diagnosed. */
typedef struct StaticSlice {
    int64_t offset[DFG_MAX_RANK], stride[DFG_MAX_RANK], size[DFG_MAX_RANK];
    bool dropped[DFG_MAX_RANK]; /* unit dimensions that the reduced type lacks */
    uint32_t rank;
} StaticSlice;

/* Whether the slice's first and last element along a dimension are in it, which the ops do not say. */
static bool is_within(const StaticSlice *slice, uint32_t dim, int64_t extent)
{
    int64_t first = slice->offset[dim], last;
    return first >= 0 && first < extent && slice->size[dim] > 0 &&
           i64_mul(slice->size[dim] - 1, slice->stride[dim], &last) &&
           i64_add(first, last, &last) && last >= 0 && last < extent;
}

/* The slice of `whole`, which may be the op's operand or its result, that a tensor `reduced` holds. */
static bool read_static(const Op *op, const Type *whole, const Type *reduced, StaticSlice *out)
{
    SliceParams slice;
    tensor_slice_read(op, &slice);
    bool ok = slice.offsets.len <= DFG_MAX_RANK;
    out->rank = (uint32_t)slice.offsets.len;
    for (uint32_t i = 0; ok && i < out->rank; i++) {
        out->dropped[i] = false;
        ok = mixed_known(slice.offsets.data[i], &out->offset[i]) &&
             mixed_known(slice.strides.data[i], &out->stride[i]) &&
             mixed_known(slice.sizes.data[i], &out->size[i]);
    }
    if (ok && reduced->u.shaped.rank < out->rank)
        tensor_dropped_dims(&slice, reduced, out->dropped);
    tensor_slice_free(&slice);
    if (!ok)
        return op_error(op,
                        "needs constant offsets, sizes and strides and at most %d dimensions to "
                        "stream",
                        DFG_MAX_RANK);
    for (uint32_t i = 0; i < out->rank; i++)
        if (!is_within(out, i, whole->u.shaped.dims[i]))
            return op_error(op, "takes elements outside '%s' along dimension %u",
                            type_str(op->ctx, whole), i);
    return true;
}

static bool move_extract(Op *op)
{
    StaticSlice slice;
    const AffineExpr *index[DFG_MAX_RANK];
    const Type *type = op_result(op, 0)->type;
    uint32_t next = 0;
    if (!read_static(op, op_operand(op, 0)->type, type, &slice)) return false;
    for (uint32_t i = 0; i < slice.rank; i++) {
        const AffineExpr *at =
            slice.dropped[i] ? affine_const(op->ctx, 0) : affine_dim(op->ctx, next++);
        index[i] = affine_add_c(affine_mul_c(at, slice.stride[i]), slice.offset[i]);
    }
    Builder b = builder_before(op);
    Value *source = op_operand(op, 0);
    const AffineMap *map = map_get(op->ctx, next, 0, slice.rank, index);
    source = to_dfg_is_constant_value(source) ? to_dfg_build_stream(&b, source) : source;
    return replace(op, to_dfg_build_reorder(&b, source, type, map, NULL));
}

/* The scalar that a value has everywhere: constant, fill of one; NULL: none. */
static const Attr *splat_of(const Value *value)
{
    const Op *def = value_def(value);
    const Value *fill = def ? kernel_fill_value(def) : NULL;
    if (fill) return fold_constant_of(fill);
    const Attr *constant = fold_constant_of(value);
    return constant && constant->kind == ATTR_DENSE && constant->u.dense.is_splat
               ? dense_elem(constant, 0)
               : NULL;
}

static bool is_undefined(const Value *value)
{
    const Op *def = value_def(value);
    return def && def->def == TENSOR(EMPTY);
}

/* A value known at compile time as an arith.constant. */
static Value *plain_constant(Builder *b, Value *value)
{
    const Attr *splat = splat_of(value);
    if (!splat && !is_undefined(value)) return value;
    splat = splat ? splat : to_dfg_stream_zero(type_elem(value->type));
    return arith_constant(b, attr_dense_splat(value->type, splat));
}

static const int64_t zeros[DFG_MAX_RANK];

/* A dfg.merge being built. */
typedef struct Merge {
    Builder b;
    const Type *type;
    VEC(Value *) sources;
    VEC(MergePart) parts;
    const Attr *fill;
} Merge;

static Merge merge_begin(Op *op)
{
    return (Merge){.b = builder_before(op), .type = op_result(op, 0)->type};
}

static MergePart part_of(const Value *source, const int64_t *offset, const int64_t *stride)
{
    MergePart part;
    for (uint32_t d = 0; d < source->type->u.shaped.rank; d++) {
        part.offset[d] = offset[d];
        part.stride[d] = stride ? stride[d] : 1;
        part.size[d] = source->type->u.shaped.dims[d];
    }
    return part;
}

static bool boxes_meet(const MergePart *a, const MergePart *b, uint32_t rank)
{
    for (uint32_t d = 0; d < rank; d++) {
        int64_t last_a = a->offset[d] + (a->size[d] - 1) * a->stride[d];
        int64_t last_b = b->offset[d] + (b->size[d] - 1) * b->stride[d];
        if (last_a < b->offset[d] || last_b < a->offset[d]) return false;
    }
    return true;
}

/* Whether the parts so far, none of which it covers, leave it to the fill value. */
static bool is_filled(const Merge *m, const MergePart *part, const Attr *splat)
{
    if (!splat || (m->fill && m->fill != splat)) return false;
    for (size_t i = 0; i < m->parts.len; i++)
        if (boxes_meet(&m->parts.data[i], part, m->type->u.shaped.rank)) return false;
    return true;
}

static Value *merge_end(Merge *m)
{
    Context *ctx = m->b.ctx;
    uint32_t rank = m->type->u.shaped.rank;
    VEC(const Attr *) offsets = {0}, strides = {0};
    for (size_t i = 0; i < m->parts.len; i++) {
        *vec_push(&offsets) = attr_i64_array(ctx, m->parts.data[i].offset, rank);
        *vec_push(&strides) = attr_i64_array(ctx, m->parts.data[i].stride, rank);
    }
    const NamedAttr attrs[3] = {
        build_named_attr(ctx, "offsets", attr_array(ctx, offsets.data, offsets.len)),
        build_named_attr(ctx, "strides", attr_array(ctx, strides.data, strides.len)),
        build_named_attr(ctx, "fill", m->fill)};
    Op *merge = build(&m->b, DFG(MERGE), m->sources.data, (uint32_t)m->sources.len, &m->type, 1,
                      attrs, m->fill ? 3 : 2);
    vec_free(&offsets);
    vec_free(&strides);
    vec_free(&m->sources);
    vec_free(&m->parts);
    return op_result(merge, 0);
}

/* Puts a source on top of what there is. One process reads at most SCHED_MAX_STREAMS of them. */
static void add_part(Merge *m, Value *source, const int64_t *offset, const int64_t *stride)
{
    MergePart part = part_of(source, offset, stride);
    const Attr *splat = splat_of(source);
    if (is_undefined(source)) return;
    if (is_filled(m, &part, splat)) {
        m->fill = splat;
        return;
    }
    if (m->sources.len == SCHED_MAX_STREAMS) {
        Value *below = merge_end(m);
        *m = (Merge){.b = m->b, .type = m->type};
        add_part(m, below, zeros, NULL);
    }
    *vec_push(&m->sources) =
        to_dfg_is_constant_value(source) ? plain_constant(&m->b, source) : source;
    *vec_push(&m->parts) = part;
}

/* Starts with the tensor that is inserted into. If it is a merge that nothing else reads, its parts
 * are taken over; otherwise it is one part. */
static void start_merge(Merge *m, Value *dest)
{
    Op *def = value_def(dest);
    if (!def || def->def != DFG(MERGE) || !value_has_one_use(dest)) {
        add_part(m, dest, zeros, NULL);
        return;
    }
    m->fill = op_attr(def, "fill");
    for (uint32_t i = 0; i < def->operand_count; i++) {
        bool ok = dfg_merge_part(def, i, vec_push(&m->parts));
        assert(ok);
        (void)ok;
        *vec_push(&m->sources) = op_operand(def, i);
    }
}

Value *to_dfg_build_stream(Builder *b, Value *constant)
{
    Merge merge = {.b = *b, .type = constant->type};
    *vec_push(&merge.sources) = plain_constant(b, constant);
    *vec_push(&merge.parts) = part_of(constant, zeros, NULL);
    return merge_end(&merge);
}

/* Replaces the op by the merge, or by its fill value if nothing streams in. */
static bool replace_by_merge(Op *op, Merge *m)
{
    if (m->sources.len > 0) return replace(op, merge_end(m));
    const Attr *value = m->fill ? m->fill : to_dfg_stream_zero(type_elem(m->type));
    return replace(op, arith_constant(&m->b, attr_dense_splat(m->type, value)));
}

/* The source with the unit dimensions that the insertion drops. */
static Value *full_rank(Builder *b, Value *source, const StaticSlice *slice)
{
    if (source->type->u.shaped.rank == slice->rank) return source;
    const Type *wide = type_with_shape(source->type, slice->size, slice->rank);
    const Attr *groups = source->type->u.shaped.rank > 0 ? reshape_reassociation(wide, source->type)
                                                         : attr_array(b->ctx, NULL, 0);
    return tensor_expand_shape(b, source, wide, groups);
}

static bool move_insert(Op *op)
{
    StaticSlice slice;
    Value *source = op_operand(op, 0), *dest = op_operand(op, 1);
    Op *def = value_def(dest);
    if (!read_static(op, dest->type, source->type, &slice)) return false;
    for (uint32_t i = 0; i < slice.rank; i++)
        if (slice.stride[i] < 1) return op_error(op, "needs strides above 0 to stream");
    Merge merge = merge_begin(op);
    start_merge(&merge, dest);
    add_part(&merge, full_rank(&merge.b, source, &slice), slice.offset, slice.stride);
    replace_by_merge(op, &merge);
    if (def && def->def == DFG(MERGE) && !value_has_uses(dest)) op_erase(def);
    return true;
}

static bool move_concat(Op *op)
{
    uint32_t dim = (uint32_t)attr_int_value(op_attr(op, "dim"));
    int64_t offset[DFG_MAX_RANK] = {0};
    Merge merge = merge_begin(op);
    for (uint32_t i = 0; i < op->operand_count; i++) {
        add_part(&merge, op_operand(op, i), offset, NULL);
        offset[dim] += op_operand(op, i)->type->u.shaped.dims[dim];
    }
    return replace_by_merge(op, &merge);
}

/* pad(x)[i] = x[i - low]; widths below 0 take elements away. */
static bool move_pad(Op *op)
{
    Padding pad;
    const AffineExpr *index[DFG_MAX_RANK];
    bool crops = false;
    Value *source = op_operand(op, 0);
    const Type *type = op_result(op, 0)->type;
    if (!to_dfg_read_padding(op, &pad)) return false;
    for (uint32_t i = 0; i < type->u.shaped.rank; i++) {
        crops |= pad.low[i] < 0 || pad.high[i] < 0;
        index[i] = affine_add_c(affine_dim(op->ctx, i), -pad.low[i]);
    }
    if (crops) {
        Builder b = builder_before(op);
        const AffineMap *map = map_get(op->ctx, type->u.shaped.rank, 0, type->u.shaped.rank, index);
        return replace(op, to_dfg_build_reorder(&b, source, type, map, pad.value));
    }
    Merge merge = merge_begin(op);
    merge.fill = pad.value;
    add_part(&merge, source, pad.low, NULL);
    return replace_by_merge(op, &merge);
}

/* Whether a reshape adds or drops all dimensions; such a one groups no dimensions. */
static bool is_scalar_reshape(const Op *op)
{
    if (op->def != TENSOR(EXPAND_SHAPE) && op->def != TENSOR(COLLAPSE_SHAPE)) return false;
    const Type *source = op_operand(op, 0)->type, *result = op_result(op, 0)->type;
    return dfg_can_stream(source) && dfg_can_stream(result) &&
           (source->u.shaped.rank == 0 || result->u.shaped.rank == 0) &&
           source->u.shaped.rank <= DFG_MAX_RANK && result->u.shaped.rank <= DFG_MAX_RANK;
}

static bool move_scalar(Op *op)
{
    const AffineExpr *index[DFG_MAX_RANK];
    const Type *source = op_operand(op, 0)->type, *result = op_result(op, 0)->type;
    Builder b = builder_before(op);
    for (uint32_t i = 0; i < source->u.shaped.rank; i++) index[i] = affine_const(op->ctx, 0);
    const AffineMap *map = map_get(op->ctx, result->u.shaped.rank, 0, source->u.shaped.rank, index);
    return replace(op, to_dfg_build_reorder(&b, op_operand(op, 0), result, map, NULL));
}

static bool moves(const Op *op)
{
    return op->def == TENSOR(EXTRACT_SLICE) || op->def == TENSOR(INSERT_SLICE) ||
           op->def == TENSOR(CONCAT) || op->def == TENSOR(PAD);
}

bool to_dfg_check_frame(const Op *op, const Type *type)
{
    return !type_is_shaped(type) || (dfg_can_stream(type) && type->u.shaped.rank <= DFG_MAX_RANK) ||
           op_error(op, "moves elements of '%s', which cannot be streamed",
                    type_str(op->ctx, type));
}

bool to_dfg_make_move(Op *op)
{
    if (is_scalar_reshape(op)) return move_scalar(op);
    if (!moves(op)) return true;
    if (!to_dfg_check_frame(op, op_result(op, 0)->type)) return false;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!to_dfg_check_frame(op, op_operand(op, i)->type)) return false;
    if (op->def == TENSOR(EXTRACT_SLICE)) return move_extract(op);
    if (op->def == TENSOR(INSERT_SLICE)) return move_insert(op);
    return op->def == TENSOR(CONCAT) ? move_concat(op) : move_pad(op);
}
