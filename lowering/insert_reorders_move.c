/* Ops that only move elements, as dfg.reorder and dfg.merge:
 *   extract_slice               -> reorder
 *   insert_slice, concat        -> merge; a chain of insertions into an empty tensor is one merge
 *   pad by widths of 0 or more  -> merge of one part; by negative widths -> reorder
 * Tests: lit/lowering/insert-reorders.mir */
#include "lowering/insert_reorders.h"

#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/tensor/tensor.h"
#include "ir/diag.h"
#include "ir/rewrite.h"
#include "lowering/linalg_to_dfg.h"
#include "passes/reshape.h"

/* --- reorders ---------------------------------------------------------------------------- */

Value *build_reorder(Builder *b, Value *source, const Type *type, const AffineMap *map,
                     const Attr *fill)
{
    if (map_is_identity(map) && source->type == type)
        return source;
    if (dfg_map_stays_inside(map, type, source->type))
        fill = NULL;
    const NamedAttr attrs[2] = {named_attr(b->ctx, "map", attr_map(map)),
                                named_attr(b->ctx, "fill", fill)};
    return op_result(build(b, DFG(REORDER), &source, 1, &type, 1, attrs, fill ? 2 : 1), 0);
}

/* reorder(reorder(x)) -> reorder(x), where what lies outside of the middle is filled in the same way
 * as what lies outside of x. */
void join_reorders(Op *reorder)
{
    Op *inner = value_def(op_operand(reorder, 0));
    if (!inner || inner->def != DFG(REORDER) || !value_has_one_use(op_result(inner, 0)))
        return;
    const AffineMap *map = dfg_reorder_map(reorder), *inner_map = dfg_reorder_map(inner);
    const Attr *fill = op_attr(reorder, "fill");
    if (fill && !(map_is_permutation(inner_map) && !op_attr(inner, "fill")))
        return;
    Builder b = builder_before(reorder);
    Value *joined = build_reorder(&b, op_operand(inner, 0), op_result(reorder, 0)->type,
                                  map_simplify(map_compose(inner_map, map)),
                                  fill ? fill : op_attr(inner, "fill"));
    value_replace_all(op_result(reorder, 0), joined);
    op_erase(reorder);
    op_erase(inner);
}

/* The value takes the op's place and its name. */
static bool replace(Op *op, Value *value)
{
    Op *def = value_def(value);
    if (def && op_attr(op, "dfg.name") && !op_attr(def, "dfg.name"))
        op_set_attr(def, "dfg.name", op_attr(op, "dfg.name"));
    value_replace_all(op_result(op, 0), value);
    op_erase(op);
    return true;
}

/* --- slices -------------------------------------------------------------------------------- */

/* Offsets and strides of a slicing op, all constants; false: diagnosed. */
typedef struct StaticSlice {
    int64_t offset[DFG_MAX_RANK], stride[DFG_MAX_RANK], size[DFG_MAX_RANK];
    bool dropped[DFG_MAX_RANK]; /* unit dimensions that the reduced type lacks */
    uint32_t rank;
} StaticSlice;

static bool read_static(const Op *op, const Type *reduced, StaticSlice *out)
{
    SliceParams slice;
    slice_read(op, &slice);
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
    slice_free(&slice);
    return ok || op_error(op, "needs constant offsets, sizes and strides and at most %d dimensions to "
                              "stream",
                          DFG_MAX_RANK);
}

static bool move_extract(Op *op)
{
    StaticSlice slice;
    const AffineExpr *index[DFG_MAX_RANK];
    const Type *type = op_result(op, 0)->type;
    uint32_t next = 0;
    if (!read_static(op, type, &slice))
        return false;
    for (uint32_t i = 0; i < slice.rank; i++) {
        const AffineExpr *at = slice.dropped[i] ? affine_const(op->ctx, 0)
                                                : affine_dim(op->ctx, next++);
        index[i] = affine_add_c(affine_mul_c(at, slice.stride[i]), slice.offset[i]);
    }
    Builder b = builder_before(op);
    const AffineMap *map = map_get(op->ctx, next, 0, slice.rank, index);
    return replace(op, build_reorder(&b, op_operand(op, 0), type, map, NULL));
}

/* --- merges ---------------------------------------------------------------------------------- */

/* A dfg.merge being built. */
typedef struct Merge {
    VEC(Value *) sources;
    VEC(const Attr *) offsets, strides;
    const Attr *fill;
} Merge;

static void merge_free(Merge *m)
{
    vec_free(&m->sources);
    vec_free(&m->offsets);
    vec_free(&m->strides);
}

static void add_part(Merge *m, Value *source, const int64_t *offset, const int64_t *stride)
{
    Context *ctx = source->type->ctx;
    uint32_t rank = source->type->u.shaped.rank;
    *vec_push(&m->sources) = source;
    *vec_push(&m->offsets) = attr_i64_array(ctx, offset, rank);
    *vec_push(&m->strides) = attr_i64_array(ctx, stride, rank);
}

static Value *build_merge(Builder *b, const Merge *m, const Type *type)
{
    Context *ctx = b->ctx;
    const NamedAttr attrs[3] = {
        named_attr(ctx, "offsets", attr_array(ctx, m->offsets.data, m->offsets.len)),
        named_attr(ctx, "strides", attr_array(ctx, m->strides.data, m->strides.len)),
        named_attr(ctx, "fill", m->fill)};
    return op_result(build(b, DFG(MERGE), m->sources.data, (uint32_t)m->sources.len, &type, 1, attrs,
                           m->fill ? 3 : 2),
                     0);
}

/* The scalar that a value has everywhere: constant, fill of one; NULL: none. */
static const Attr *splat_of(const Value *value)
{
    const Op *def = value_def(value);
    const Value *fill = def ? kernel_fill_value(def) : NULL;
    if (fill)
        return value_constant(fill);
    const Attr *constant = value_constant(value);
    return constant && constant->kind == ATTR_DENSE && constant->u.dense.is_splat
               ? dense_elem(constant, 0)
               : NULL;
}

static bool is_undefined(const Value *value)
{
    const Op *def = value_def(value);
    return def && def->def == TENSOR(EMPTY);
}

/* Starts from what a merge inserts into: nothing, one value, the parts of a merge that nothing else
 * reads, or a stream as the first part. */
static void start_merge(Merge *m, Value *dest)
{
    static const int64_t zeros[DFG_MAX_RANK];
    int64_t ones[DFG_MAX_RANK];
    Op *def = value_def(dest);
    m->fill = splat_of(dest);
    if (m->fill || is_undefined(dest))
        return;
    if (!def || def->def != DFG(MERGE) || !value_has_one_use(dest) ||
        def->operand_count == PLAN_MAX_STREAMS) {
        for (uint32_t i = 0; i < DFG_MAX_RANK; i++)
            ones[i] = 1;
        add_part(m, dest, zeros, ones);
        return;
    }
    m->fill = op_attr(def, "fill");
    for (uint32_t i = 0; i < def->operand_count; i++) {
        *vec_push(&m->sources) = op_operand(def, i);
        *vec_push(&m->offsets) = op_attr(def, "offsets")->u.array.items[i];
        *vec_push(&m->strides) = op_attr(def, "strides")->u.array.items[i];
    }
}

/* The source with the unit dimensions that the insertion drops. */
static Value *full_rank(Builder *b, Value *source, const StaticSlice *slice)
{
    if (source->type->u.shaped.rank == slice->rank)
        return source;
    const Type *wide = type_with_shape(source->type, slice->size, slice->rank);
    return tensor_expand_shape(b, source, wide, reshape_reassociation(wide, source->type));
}

static bool move_insert(Op *op)
{
    StaticSlice slice;
    Merge merge = {.fill = NULL};
    Value *source = op_operand(op, 0), *dest = op_operand(op, 1);
    if (!read_static(op, source->type, &slice))
        return false;
    Builder b = builder_before(op);
    start_merge(&merge, dest);
    add_part(&merge, full_rank(&b, source, &slice), slice.offset, slice.stride);
    Op *def = value_def(dest);
    bool joined = def && def->def == DFG(MERGE) && merge.sources.data[0] != dest;
    replace(op, build_merge(&b, &merge, dest->type));
    if (joined)
        op_erase(def);
    merge_free(&merge);
    return true;
}

/* Parts beyond what one process can read go through a merge of their own. */
static bool move_concat(Op *op)
{
    Builder b = builder_before(op);
    const Type *type = op_result(op, 0)->type;
    uint32_t dim = (uint32_t)attr_int_value(op_attr(op, "dim"));
    int64_t offset[DFG_MAX_RANK] = {0}, ones[DFG_MAX_RANK];
    Merge merge = {.fill = NULL};
    if (type->u.shaped.rank > DFG_MAX_RANK)
        return op_error(op, "joins tensors of rank %u; at most %d can stream",
                        type->u.shaped.rank, DFG_MAX_RANK);
    for (uint32_t i = 0; i < DFG_MAX_RANK; i++)
        ones[i] = 1;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        if (merge.sources.len == PLAN_MAX_STREAMS) {
            Value *before = build_merge(&b, &merge, type);
            merge_free(&merge);
            merge = (Merge){.fill = NULL};
            start_merge(&merge, before);
        }
        add_part(&merge, op_operand(op, i), offset, ones);
        offset[dim] += op_operand(op, i)->type->u.shaped.dims[dim];
    }
    replace(op, build_merge(&b, &merge, type));
    merge_free(&merge);
    return true;
}

/* --- padding ------------------------------------------------------------------------------------ */

/* pad(x)[i] = x[i - low]; widths below 0 take elements away. */
static bool move_pad(Op *op)
{
    Padding pad;
    Merge merge = {.fill = NULL};
    const AffineExpr *index[DFG_MAX_RANK];
    int64_t ones[DFG_MAX_RANK];
    bool crops = false;
    Value *source = op_operand(op, 0);
    const Type *type = op_result(op, 0)->type;
    if (!read_padding(op, &pad))
        return false;
    for (uint32_t i = 0; i < type->u.shaped.rank; i++) {
        crops |= pad.low[i] < 0 || pad.high[i] < 0;
        index[i] = affine_add_c(affine_dim(op->ctx, i), -pad.low[i]);
        ones[i] = 1;
    }
    Builder b = builder_before(op);
    if (crops) {
        const AffineMap *map = map_get(op->ctx, type->u.shaped.rank, 0, type->u.shaped.rank, index);
        return replace(op, build_reorder(&b, source, type, map, pad.value));
    }
    merge.fill = pad.value;
    add_part(&merge, source, pad.low, ones);
    replace(op, build_merge(&b, &merge, type));
    merge_free(&merge);
    return true;
}

bool make_move(Op *op)
{
    if (op->def == TENSOR(EXTRACT_SLICE))
        return move_extract(op);
    if (op->def == TENSOR(INSERT_SLICE))
        return move_insert(op);
    if (op->def == TENSOR(CONCAT))
        return move_concat(op);
    return op->def != TENSOR(PAD) || move_pad(op);
}
