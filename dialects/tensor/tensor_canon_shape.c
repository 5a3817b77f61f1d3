/* Canonicalization patterns of collapse_shape and expand_shape: two reshapes become one if the
 * groups of dimensions allow it, and reshapes of known contents disappear. A Grouping is a list of
 * sizes: group i covers the next sizes[i] dimensions of the larger shape.
 * Tests: lit/dialects/tensor/canonicalize.mir */
#include "dialects/tensor/internal.h"
#include "ir/rewrite/rewrite.h"

typedef VEC(uint32_t) Grouping;

static void grouping_read(const Op *op, Grouping *out)
{
    const Attr *groups = op_attr(op, "reassociation");
    for (uint32_t i = 0; i < groups->u.array.count; i++)
        *vec_push(out) = groups->u.array.items[i]->u.array.count;
}

static const Attr *grouping_attr(const Rewriter *rw, const Grouping *groups)
{
    return tensor_groups_attr(rw->b.ctx, groups->data, groups->len);
}

static Value *build_collapse(Rewriter *rw, Value *source, const Type *type, const Grouping *groups)
{
    return tensor_collapse_shape(&rw->b, source, type, grouping_attr(rw, groups));
}

static Value *build_expand(Rewriter *rw, Value *source, const Type *type, const Grouping *groups,
                           const MixedIndices *shape)
{
    ValueList operands = {0};
    *vec_push(&operands) = source;
    const Attr *list = mixed_indices_split(rw->b.ctx, shape->data, shape->len, &operands);
    NamedAttr attrs[] = {build_named_attr(rw->b.ctx, "reassociation", grouping_attr(rw, groups)),
                         build_named_attr(rw->b.ctx, "static_output_shape", list)};
    Op *op = build(&rw->b, TENSOR(EXPAND_SHAPE), operands.data, (uint32_t)operands.len, &type, 1,
                   attrs, COUNT_OF(attrs));
    vec_free(&operands);
    return op_result(op, 0);
}

/* Groups of groups: outer group i takes the dimensions of its next outer[i] inner groups. */
static void grouping_compose(const Grouping *inner, const Grouping *outer, Grouping *out)
{
    size_t next = 0;
    for (size_t i = 0; i < outer->len; i++) {
        uint32_t sum = 0;
        for (uint32_t k = 0; k < outer->data[i]; k++) sum += inner->data[next++];
        *vec_push(out) = sum;
    }
}

/* collapse(collapse(x)) -> collapse(x) */
static bool collapse_of_collapse(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *inner = rewrite_def_of(op_operand(op, 0), TENSOR(COLLAPSE_SHAPE));
    if (!inner) return false;
    Grouping a = {0}, b = {0}, both = {0};
    grouping_read(inner, &a);
    grouping_read(op, &b);
    grouping_compose(&a, &b, &both);
    rewriter_replace_one(rw, op,
                         build_collapse(rw, op_operand(inner, 0), op_result(op, 0)->type, &both));
    vec_free(&a);
    vec_free(&b);
    vec_free(&both);
    return true;
}

/* expand(expand(x)) -> expand(x) */
static bool expand_of_expand(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *inner = rewrite_def_of(op_operand(op, 0), TENSOR(EXPAND_SHAPE));
    if (!inner) return false;
    Grouping a = {0}, b = {0}, both = {0};
    MixedIndices shape = {0};
    grouping_read(op, &a);
    grouping_read(inner, &b);
    grouping_compose(&a, &b, &both);
    mixed_indices_read(op, "static_output_shape", 1, &shape);
    rewriter_replace_one(
        rw, op, build_expand(rw, op_operand(inner, 0), op_result(op, 0)->type, &both, &shape));
    vec_free(&a);
    vec_free(&b);
    vec_free(&both);
    vec_free(&shape);
    return true;
}

/* Fits the fine groups into the coarse ones: how many fine ones each coarse one covers. False if
 * a fine group crosses a coarse one's end. */
static bool grouping_nest(const Grouping *fine, const Grouping *coarse, Grouping *out)
{
    size_t next = 0;
    for (size_t i = 0; i < coarse->len; i++) {
        uint32_t room = coarse->data[i], count = 0;
        while (room > 0 && next < fine->len && fine->data[next] <= room) {
            room -= fine->data[next++];
            count++;
        }
        if (room > 0) return false;
        *vec_push(out) = count;
    }
    return next == fine->len || coarse->len == 0;
}

/* Extents of the expanded type; dynamic ones are the source's where a group has one member. */
static bool output_shape(Rewriter *rw, Value *source, const Type *type, const Grouping *groups,
                         MixedIndices *out)
{
    uint32_t next = 0;
    for (uint32_t g = 0; g < groups->len; g++)
        for (uint32_t k = 0; k < groups->data[g]; k++, next++)
            if (type->u.shaped.dims[next] == DIM_DYNAMIC && groups->data[g] != 1) return false;
    for (next = 0; groups->len == 0 && next < type->u.shaped.rank; next++)
        *vec_push(out) = mixed_constant(1); /* from rank 0 */
    next = 0;
    for (uint32_t g = 0; g < groups->len; g++)
        for (uint32_t k = 0; k < groups->data[g]; k++, next++) {
            int64_t extent = type->u.shaped.dims[next];
            *vec_push(out) = extent == DIM_DYNAMIC ? mixed_value(tensor_dim(&rw->b, source, g))
                                                   : mixed_constant(extent);
        }
    return true;
}

static bool collapse_of_expand(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *expand = rewrite_def_of(op_operand(op, 0), TENSOR(EXPAND_SHAPE));
    if (!expand) return false;
    Value *source = op_operand(expand, 0), *result = NULL;
    const Type *type = op_result(op, 0)->type;
    uint32_t source_rank = source->type->u.shaped.rank, rank = type->u.shaped.rank;
    Grouping a = {0}, b = {0}, nested = {0};
    MixedIndices shape = {0};
    grouping_read(expand, &a);
    grouping_read(op, &b);
    bool ok =
        source->type != type && source_rank != rank &&
        (source_rank > rank ? grouping_nest(&a, &b, &nested) : grouping_nest(&b, &a, &nested));
    if (ok && source_rank > rank)
        result = build_collapse(rw, source, type, &nested);
    else if (ok && output_shape(rw, source, type, &nested, &shape))
        result = build_expand(rw, source, type, &nested, &shape);
    if (result) rewriter_replace_one(rw, op, result);
    vec_free(&a);
    vec_free(&b);
    vec_free(&nested);
    vec_free(&shape);
    return result != NULL;
}

/* A run of extents. */
typedef struct Extents {
    const int64_t *dims;
    size_t count;
} Extents;

/* Groups `from` so that each group's product is an extent of `to`; greedy, and false if that
 * fails or `from` is not longer. Trailing units go to the last group. */
static bool collapse_groups(Extents from, Extents to, Grouping *out)
{
    size_t at = 0;
    if (from.count <= to.count) return false;
    for (size_t t = 0; t < to.count; t++) {
        int64_t product = 1, want = to.dims[t];
        uint32_t size = 0;
        while (at < from.count && from.dims[at] != DIM_DYNAMIC && product * from.dims[at] < want) {
            product *= from.dims[at++];
            size++;
        }
        if (at == from.count) return false;
        bool from_dynamic = from.dims[at] == DIM_DYNAMIC, to_dynamic = want == DIM_DYNAMIC;
        bool fits = from_dynamic || to_dynamic ? from_dynamic && to_dynamic && product == 1
                                               : product * from.dims[at] == want;
        if (!fits) return false;
        at++;
        *vec_push(out) = size + 1;
    }
    for (; at < from.count; at++) {
        if (from.dims[at] != DIM_DYNAMIC && from.dims[at] != 1) return false;
        if (to.count > 0) out->data[out->len - 1]++;
    }
    return true;
}

/* Group by group: collapses each run of `wide` to the run of `narrow` that has the same middle. */
static bool match_groups(const Type *wide, const Grouping *wide_groups, const Type *narrow,
                         const Grouping *narrow_groups, Grouping *out)
{
    const int64_t *from = wide->u.shaped.dims, *to = narrow->u.shaped.dims;
    if (wide_groups->len == 0)
        return collapse_groups((Extents){from, wide->u.shaped.rank},
                               (Extents){to, narrow->u.shaped.rank}, out);
    for (size_t i = 0; i < wide_groups->len; i++) {
        Extents a = {from, wide_groups->data[i]}, b = {to, narrow_groups->data[i]};
        bool same_single = a.count == 1 && b.count == 1 && a.dims[0] == b.dims[0];
        if (same_single)
            *vec_push(out) = 1;
        else if (!collapse_groups(a, b, out))
            return false;
        from += a.count;
        to += b.count;
    }
    return true;
}

static bool expand_of_collapse(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *collapse = rewrite_def_of(op_operand(op, 0), TENSOR(COLLAPSE_SHAPE));
    if (!collapse) return false;
    Value *source = op_operand(collapse, 0);
    const Type *type = op_result(op, 0)->type;
    Grouping a = {0}, b = {0}, matched = {0};
    MixedIndices shape = {0};
    grouping_read(collapse, &a);
    grouping_read(op, &b);
    bool narrows = source->type->u.shaped.rank > type->u.shaped.rank;
    bool ok =
        source->type != type && (narrows ? match_groups(source->type, &a, type, &b, &matched)
                                         : match_groups(type, &b, source->type, &a, &matched));
    if (ok && narrows) {
        rewriter_replace_one(rw, op, build_collapse(rw, source, type, &matched));
    } else if (ok) {
        mixed_indices_read(op, "static_output_shape", 1, &shape);
        rewriter_replace_one(rw, op, build_expand(rw, source, type, &matched, &shape));
    }
    vec_free(&a);
    vec_free(&b);
    vec_free(&matched);
    vec_free(&shape);
    return ok;
}

/* reshape(splat) -> splat;  reshape(from_elements) -> from_elements */
static bool reshape_of_contents(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *source = value_def(op_operand(op, 0));
    const Type *type = op_result(op, 0)->type;
    if (!source || !type_is_static(type)) return false;
    bool is_splat = source->def == TENSOR(SPLAT) && source->operand_count == 1;
    if (!is_splat && source->def != TENSOR(FROM_ELEMENTS)) return false;
    ValueList operands = {0};
    for (uint32_t i = 0; i < source->operand_count; i++)
        *vec_push(&operands) = op_operand(source, i);
    Op *made = build(&rw->b, source->def, operands.data, (uint32_t)operands.len, &type, 1, NULL, 0);
    rewriter_replace_one(rw, op, op_result(made, 0));
    vec_free(&operands);
    return true;
}

/* collapse(cast(x)) -> cast(collapse(x)) */
static bool collapse_of_cast(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *source = tensor_fold_source_cast(op_operand(op, 0));
    if (!source) return false;
    Grouping groups = {0};
    grouping_read(op, &groups);
    const Type *type = tensor_collapsed_type(source->type, groups.data, groups.len);
    if (type == op_result(op, 0)->type) {
        op_set_operand(op, 0, source);
        rewriter_modified(rw, op);
    } else {
        tensor_replace_cast(rw, op, build_collapse(rw, source, type, &groups));
    }
    vec_free(&groups);
    return true;
}

void tensor_canonicalize_collapse_shape(PatternSet *set)
{
    const OpDef *root = TENSOR(COLLAPSE_SHAPE);
    pattern_add(set, "collapse-of-collapse", root, 1, collapse_of_collapse);
    pattern_add(set, "collapse-of-expand", root, 1, collapse_of_expand);
    pattern_add(set, "reshape-of-contents", root, 1, reshape_of_contents);
    pattern_add(set, "collapse-of-cast", root, 1, collapse_of_cast);
}

void tensor_canonicalize_expand_shape(PatternSet *set)
{
    const OpDef *root = TENSOR(EXPAND_SHAPE);
    pattern_add(set, "expand-of-expand", root, 1, expand_of_expand);
    pattern_add(set, "expand-of-collapse", root, 1, expand_of_collapse);
    pattern_add(set, "reshape-of-contents", root, 1, reshape_of_contents);
    tensor_add_dim_of_reshapes(set);
}
