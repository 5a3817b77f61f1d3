/* Canonicalization patterns of tosa.
 * Tests: lit/dialects/tosa/canonicalize.mir, lit/dialects/tosa/canonicalize-shapes.mir */
#include <math.h>

#include "dialects/arith/arith.h"
#include "dialects/tensor/tensor.h"
#include "dialects/tosa/internal.h"
#include "ir/rewrite/rewrite.h"

/* concat(x) -> x */
static bool drop_single_concat(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    if (op->operand_count != 1) return false;
    rewriter_replace_one(rw, op, tensor_cast(&rw->b, op_operand(op, 0), op_result(op, 0)->type));
    return true;
}

void tosa_canonicalize_concat(PatternSet *set)
{
    pattern_add(set, "tosa-concat-of-one", TOSA(CONCAT), 1, drop_single_concat);
}

/* select(not(p), a, b) -> select(p, b, a) */
static bool swap_select(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    const Op *negation = rewrite_def_of(op_operand(op, 0), TOSA(LOGICAL_NOT));
    if (!negation) return false;
    Value *operands[] = {op_operand(negation, 0), op_operand(op, 2), op_operand(op, 1)};
    op_set_operands(op, operands, COUNT_OF(operands));
    rewriter_modified(rw, op);
    return true;
}

void tosa_canonicalize_select(PatternSet *set)
{
    pattern_add(set, "tosa-select-of-not", TOSA(SELECT), 1, swap_select);
}

/* The concatenated part that holds the range from *begin on, and *begin within it; NULL: it
 * spans several, or extents are not known. */
static Value *part_of_range(const Op *concat, int64_t axis, int64_t *begin, int64_t size)
{
    for (uint32_t i = 0; i < concat->operand_count; i++) {
        Value *part = op_operand(concat, i);
        int64_t end;
        if (!type_is_static(part->type) || axis < 0 || axis >= part->type->u.shaped.rank)
            return NULL;
        if (*begin >= 0 && i64_add(*begin, size, &end) && end <= part->type->u.shaped.dims[axis])
            return part;
        *begin -= part->type->u.shaped.dims[axis];
    }
    return NULL;
}

static void replace_slice(Rewriter *rw, Op *op, Value *part, const Attr *start)
{
    const Type *type = op_result(op, 0)->type;
    NamedAttr attrs[] = {build_named_attr(rw->b.ctx, "start", start),
                         build_named_attr(rw->b.ctx, "size", op_attr(op, "size"))};
    Op *slice = build(&rw->b, TOSA(SLICE), &part, 1, &type, 1, attrs, COUNT_OF(attrs));
    rewriter_replace_one(rw, op, op_result(slice, 0));
}

/* slice(concat(a, b, …)) -> slice(b)  when the slice lies within b */
static bool slice_of_part(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    const Op *concat = rewrite_def_of(op_operand(op, 0), TOSA(CONCAT));
    if (!concat || !type_is_static(op_result(concat, 0)->type)) return false;
    int64_t axis = attr_int_value(op_attr(concat, "axis"));
    const Attr *start = op_attr(op, "start");
    size_t rank = start->u.dense_array.count;
    if (axis < 0 || (size_t)axis >= rank) return false;
    Dims begin = {0};
    for (size_t i = 0; i < rank; i++) *vec_push(&begin) = dense_array_i64(start, i);
    int64_t size = dense_array_i64(op_attr(op, "size"), (size_t)axis);
    if (size == -1) /* up to the end */
        size = op_result(concat, 0)->type->u.shaped.dims[axis] - begin.data[axis];
    Value *part = part_of_range(concat, axis, &begin.data[axis], size);
    if (part) replace_slice(rw, op, part, attr_i64_array(rw->b.ctx, begin.data, rank));
    vec_free(&begin);
    return part != NULL;
}

void tosa_canonicalize_slice(PatternSet *set)
{
    pattern_add(set, "tosa-slice-of-concat", TOSA(SLICE), 1, slice_of_part);
}

static bool is_below(const Attr *indices, int64_t limit)
{
    for (int64_t i = 0; i < dense_count(indices); i++)
        if (dense_i64(indices, i) < 0 || dense_i64(indices, i) >= limit) return false;
    return true;
}

/* The i32 constant that applies `inner` first, then `outer`. */
static const Attr *compose(const Attr *outer, const Attr *inner)
{
    int64_t count = dense_count(outer);
    const Type *type = type_tensor(type_i(outer->ctx, 32), &count, 1, NULL);
    Dims perms = {0};
    for (int64_t i = 0; i < count; i++) *vec_push(&perms) = dense_i64(inner, dense_i64(outer, i));
    const Attr *attr = attr_dense_i64(type, perms.data, perms.len);
    vec_free(&perms);
    return attr;
}

/* transpose(transpose(x)) -> transpose(x) */
static bool join_transposes(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    const Op *inner = rewrite_def_of(op_operand(op, 0), TOSA(TRANSPOSE));
    const Attr *perms = tosa_const_ints(op_operand(op, 1));
    const Attr *inner_perms = inner ? tosa_const_ints(op_operand(inner, 1)) : NULL;
    if (!perms || !inner_perms || dense_count(perms) != dense_count(inner_perms) ||
        dense_count(perms) == 0 || !is_below(perms, dense_count(perms)))
        return false;
    Value *joined = arith_constant(&rw->b, compose(perms, inner_perms));
    rewriter_replace_one(rw, op,
                         build_binary(&rw->b, TOSA(TRANSPOSE), op_result(op, 0)->type,
                                      op_operand(inner, 0), joined));
    return true;
}

static bool feeds_transpose(const Value *value)
{
    FOR_EACH_USE(use, value)
        if (use->owner->def == TOSA(TRANSPOSE)) return true;
    return false;
}

/* Extents other than 1 keep their order, and at most one extent is unknown. */
static bool keeps_layout(const Type *type, const Attr *perms)
{
    int64_t last = -1;
    for (int64_t i = 0; i < dense_count(perms); i++) {
        int64_t from = dense_i64(perms, i);
        if (type->u.shaped.dims[from] == 1) continue;
        if (from < last) return false;
        last = from;
    }
    return type_dynamic_extents(type) <= 1;
}

/* transpose(x) -> reshape(x)  when no element moves */
static bool transpose_to_reshape(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *input = op_operand(op, 0);
    const Attr *perms = tosa_const_ints(op_operand(op, 1));
    if (!perms || rewrite_def_of(input, TOSA(TRANSPOSE)) || feeds_transpose(op_result(op, 0)) ||
        !type_is_ranked(input->type) || !is_below(perms, input->type->u.shaped.rank) ||
        !keeps_layout(input->type, perms))
        return false;
    Dims shape = {0};
    for (int64_t i = 0; i < dense_count(perms); i++)
        *vec_push(&shape) = input->type->u.shaped.dims[dense_i64(perms, i)];
    const Type *type = op_result(op, 0)->type;
    NamedAttr attr =
        build_named_attr(rw->b.ctx, "new_shape", attr_i64_array(rw->b.ctx, shape.data, shape.len));
    vec_free(&shape);
    Op *reshape = build(&rw->b, TOSA(RESHAPE), &input, 1, &type, 1, &attr, 1);
    rewriter_replace_one(rw, op, op_result(reshape, 0));
    return true;
}

void tosa_canonicalize_transpose(PatternSet *set)
{
    pattern_add(set, "tosa-transpose-of-transpose", TOSA(TRANSPOSE), 1, join_transposes);
    pattern_add(set, "tosa-transpose-to-reshape", TOSA(TRANSPOSE), 1, transpose_to_reshape);
}

/* Padding writes zero, which integers may represent by a zero point. Quantized types have no
 * constants of their own. */
static bool write_out_padding(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    if (op->operand_count != 2 || type_elem(op_operand(op, 0)->type)->kind == TYPE_DIALECT)
        return false;
    const Type *elem = type_elem(op_operand(op, 0)->type);
    int64_t zero_point = tosa_zero_point(op_attr(op, "quantization_info"), 0);
    const Attr *zero = type_is_float(elem) ? attr_float(elem, 0.0) : attr_int(elem, zero_point);
    Value *constant = tosa_const(&rw->b, attr_dense_splat(type_tensor(elem, NULL, 0, NULL), zero));
    Value *operands[] = {op_operand(op, 0), op_operand(op, 1), constant};
    op_set_operands(op, operands, COUNT_OF(operands));
    rewriter_modified(rw, op);
    return true;
}

void tosa_canonicalize_pad(PatternSet *set)
{
    pattern_add(set, "tosa-pad-value", TOSA(PAD), 1, write_out_padding);
}

/* Whether the tensor is a single pixel, which is all that the only window of a pooling sees. */
static bool is_pixel(const Type *type)
{
    return type_is_static(type) && type->u.shaped.rank == 4 && type->u.shaped.dims[1] == 1 &&
           type->u.shaped.dims[2] == 1;
}

static bool drop_max_pool(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *input = op_operand(op, 0);
    if (!is_pixel(input->type) || input->type != op_result(op, 0)->type) return false;
    rewriter_replace_one(rw, op, input);
    return true;
}

void tosa_canonicalize_max_pool2d(PatternSet *set)
{
    pattern_add(set, "tosa-max-pool-of-pixel", TOSA(MAX_POOL2D), 1, drop_max_pool);
}

static double float_bound(const Op *op, const char *name)
{
    return attr_float_value(op_attr(op, name));
}

static int64_t int_bound(const Op *op, const char *name)
{
    return attr_int_value(op_attr(op, name));
}

/* Every value of an integer type lies within the bounds. */
static bool bounds_hold_all(const Op *op, const Type *elem)
{
    uint32_t width = type_width(elem);
    bool is_unsigned = type_is_integer(elem) && elem->u.integer.sign == UNSIGNED;
    if (width == 0 || width > 64 || (is_unsigned && width == 64)) return false;
    uint64_t ones = UINT64_MAX >> (64 - width);
    int64_t max = (int64_t)(is_unsigned ? ones : ones >> 1), min = is_unsigned ? 0 : -max - 1;
    return int_bound(op, "min_int") <= min && int_bound(op, "max_int") >= max;
}

/* clamp(x) -> x  between infinities, or the ends of an integer type */
static bool drop_clamp(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *input = op_operand(op, 0);
    const Type *elem = type_elem(input->type);
    if (!type_is_static(input->type) || input->type != op_result(op, 0)->type) return false;
    bool holds = type_is_float(elem) ? float_bound(op, "min_fp") == -(double)INFINITY &&
                                           float_bound(op, "max_fp") == (double)INFINITY
                                     : bounds_hold_all(op, elem);
    if (holds) rewriter_replace_one(rw, op, input);
    return holds;
}

typedef struct Bounds {
    int64_t min_int, max_int;
    double min_fp, max_fp;
} Bounds;

static Bounds bounds_of(const Op *op)
{
    return (Bounds){int_bound(op, "min_int"), int_bound(op, "max_int"), float_bound(op, "min_fp"),
                    float_bound(op, "max_fp")};
}

static Bounds intersect(Bounds a, Bounds b)
{
    return (Bounds){a.min_int < b.min_int ? b.min_int : a.min_int,
                    b.max_int < a.max_int ? b.max_int : a.max_int,
                    a.min_fp < b.min_fp ? b.min_fp : a.min_fp,
                    b.max_fp < a.max_fp ? b.max_fp : a.max_fp};
}

/* The op's clamp with other bounds, of the types that it has. */
static Value *build_clamp(Builder *b, const Op *op, Value *input, Bounds bounds)
{
    const Type *type = op_result(op, 0)->type, *real = op_attr(op, "min_fp")->type;
    NamedAttr attrs[] = {build_named_attr(b->ctx, "min_int", attr_i64(b->ctx, bounds.min_int)),
                         build_named_attr(b->ctx, "max_int", attr_i64(b->ctx, bounds.max_int)),
                         build_named_attr(b->ctx, "min_fp", attr_float(real, bounds.min_fp)),
                         build_named_attr(b->ctx, "max_fp", attr_float(real, bounds.max_fp))};
    return op_result(build(b, TOSA(CLAMP), &input, 1, &type, 1, attrs, COUNT_OF(attrs)), 0);
}

/* clamp(clamp(x)) -> clamp(x)  when the ranges intersect */
static bool join_clamps(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    const Op *inner = rewrite_def_of(op_operand(op, 0), TOSA(CLAMP));
    if (!inner) return false;
    const Type *type = op_result(op, 0)->type;
    Bounds bounds = intersect(bounds_of(op), bounds_of(inner));
    if (type_is_float(type_elem(type)) ? bounds.min_fp > bounds.max_fp
                                       : bounds.min_int > bounds.max_int)
        return false;
    rewriter_replace_one(rw, op, build_clamp(&rw->b, op, op_operand(inner, 0), bounds));
    return true;
}

void tosa_canonicalize_clamp(PatternSet *set)
{
    pattern_add(set, "tosa-clamp-of-all", TOSA(CLAMP), 1, drop_clamp);
    pattern_add(set, "tosa-clamp-of-clamp", TOSA(CLAMP), 1, join_clamps);
}
