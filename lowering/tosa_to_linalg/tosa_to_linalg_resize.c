/* resize to linalg.generic, by the first of three patterns that applies:
 *   an image of extent 1 that grows is resized to 1 and then repeated
 *   a 1 x 1 image that stays so is scaled element by element
 *   else each element computes where it comes from and extracts it, or interpolates four
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-linalg-resize.mir */
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "lowering/tosa_to_linalg/internal.h"

static bool has_mode(const Op *op, const char *mode)
{
    return str_eq_c(op_attr(op, "mode")->u.string, mode);
}

static bool is_bilinear(const Op *op)
{
    return has_mode(op, "BILINEAR");
}

/* Batch and channels where dynamic. */
static Values outer_dims(Lower *l)
{
    Value *input = op_operand(l->op, 0), **dims = ARENA_ARRAY(l->arena, Value *, 2);
    uint32_t count = 0;
    for (uint32_t i = 0; i < 4; i += 3)
        if (is_dynamic(input->type, i)) dims[count++] = tensor_dim(l->b, input, i);
    return (Values){dims, count};
}

static Value *scale_element(Lower *l, Builder *b, Value *value)
{
    const Type *elem = type_elem(result_type(l->op));
    if (type_elem(operand_type(l->op, 0)) == elem) return value;
    IntList scale = tosa_build_list_attr(l->op, "scale");
    value = build_unary(b, ARITH(EXTSI), elem, value);
    for (uint32_t i = 0; i < 4; i += 2)
        if (is_bilinear(l->op) && scale.data[i] != 0)
            value =
                tosa_build_same(b, ARITH(MULI), value, arith_constant_int(b, elem, scale.data[i]));
    vec_free(&scale);
    return value;
}

bool tosa_lower_resize_unary(Lower *l)
{
    static const uint32_t groups[] = {1, 3};
    Value *input = op_operand(l->op, 0);
    const Type *type = result_type(l->op);
    for (uint32_t i = 1; i < 3; i++)
        if (!tosa_lower_all_ranked(l->op) || extent_of(input->type, i) != 1 ||
            extent_of(type, i) != 1)
            return false;
    if (input->type == type) {
        rewriter_replace_one(l->rw, l->op, input);
        return true;
    }
    const int64_t dims[] = {extent_of(input->type, 0), extent_of(input->type, 3)};
    const Type *flat = type_tensor(type_elem(input->type), dims, 2, NULL);
    Value *source = tensor_collapse_shape(l->b, input, flat, tensor_groups_attr(l->ctx, groups, 2));
    Values extents = outer_dims(l);
    const Type *out = type_tensor(type_elem(type), dims, 2, NULL);
    Value *empty = tosa_build_empty_tensor(l->b, out, type_elem(type), extents);
    Builder body;
    Op *op = tosa_build_map(l->b, source, empty, out, &body);
    tosa_build_yield(&body, scale_element(l, &body, body.block->args[0]));
    Value *result =
        tensor_expand_shape(l->b, op_result(op, 0), type, tensor_groups_attr(l->ctx, groups, 2));
    rewriter_replace_one(l->rw, l->op, result);
    return true;
}

/* The op again, with extents of 1 where the input has them, whose result is not the network's tensor. */
static Value *resize_unrepeated(Lower *l, const bool *repeats)
{
    Op *op = l->op;
    const Type *type = result_type(op), *from = operand_type(op, 0);
    const int64_t dims[] = {extent_of(from, 0), repeats[0] ? 1 : extent_of(type, 1),
                            repeats[1] ? 1 : extent_of(type, 2), extent_of(from, 3)};
    const Type *resized = type_tensor(type_elem(type), dims, 4, NULL);
    Value *input = op_operand(op, 0);
    OpState state = {.name = op->name,
                     .operands = &input,
                     .operand_count = 1,
                     .result_types = &resized,
                     .result_count = 1,
                     .attrs = op->attrs,
                     .props = op->props};
    Op *made = build_op(l->b, &state);
    op_set_attr(made, DFG_ATTR_TENSORS, NULL);
    return op_result(made, 0);
}

/* A copy of the tensor without its extents of 1 into the shape of the op's result. */
static Value *repeat(Lower *l, Value *source, const bool *repeats)
{
    const Type *type = result_type(l->op);
    const AffineExpr *index[4];
    uint32_t count = 0;
    for (uint32_t i = 0; i < 4; i++)
        if (i == 0 || i == 3 || !repeats[i - 1]) index[count++] = affine_dim(l->ctx, i);
    const AffineMap *maps[] = {map_get(l->ctx, 4, 0, count, index), NULL};
    Values dims = outer_dims(l);
    Value *empty = tosa_build_empty_tensor(l->b, type, type_elem(type), dims);
    GenericDef def = {.inputs = VALUES(source), .inits = VALUES(empty), .maps = maps, .loops = 4};
    Builder body;
    Op *op = tosa_build_generic(l->b, &def, &type, &body);
    tosa_build_yield(&body, body.block->args[0]);
    return op_result(op, 0);
}

bool tosa_lower_resize_broadcast(Lower *l)
{
    const Type *from = operand_type(l->op, 0), *to = result_type(l->op);
    if (!tosa_lower_all_ranked(l->op)) return false;
    const bool repeats[] = {extent_of(from, 1) == 1, extent_of(from, 2) == 1};
    if ((!repeats[0] || extent_of(to, 1) == 1) && (!repeats[1] || extent_of(to, 2) == 1))
        return false;
    Value *resized = resize_unrepeated(l, repeats);
    int64_t dims[4];
    uint32_t groups[4] = {1}, count = 1;
    dims[0] = extent_of(from, 0);
    for (uint32_t i = 1; i < 3; i++) {
        groups[count]++;
        if (!repeats[i - 1]) dims[count++] = extent_of(to, i);
    }
    groups[count]++;
    dims[count++] = extent_of(from, 3);
    const Type *type = type_tensor(type_elem(to), dims, count, NULL);
    Value *flat =
        tensor_collapse_shape(l->b, resized, type, tensor_groups_attr(l->ctx, groups, count));
    rewriter_replace_one(l->rw, l->op, repeat(l, flat, repeats));
    return true;
}

/* One of the two axes of the image, inside the body. */
typedef struct TosaResizeAxis {
    int64_t size;       /* of the input */
    bool starts_before; /* the first indices that are mixed may be below 0 */
    Value *max;         /* size - 1 */
    Value *in;          /* index of the result, i32 */
    Value *scale_n, *scale_d, *offset;
    Value *index, *delta; /* of the source element, and the way to the next one */
} TosaResizeAxis;

typedef struct TosaResize {
    Builder *b;
    const Op *op;
    const Type *elem;       /* of the result */
    const Type *float_type; /* of coordinates; NULL: fixed point */
    Value *batch, *channel;
    Value *zero; /* i32 */
    TosaResizeAxis y, x;
} TosaResize;

/* in * scale_d + offset = index * scale_n + delta; as a float, delta is divided by scale_n. Upstream
 * rounds quotients of integers towards 0, so that what lies before the first element is not it but
 * goes on in the direction of the second. */
static void locate(const TosaResize *r, TosaResizeAxis *axis, Value *no_delta)
{
    Builder *b = r->b;
    axis->index = r->zero;
    axis->delta = no_delta;
    if (axis->size == 1) return;
    Value *at = tosa_build_same(b, ARITH(MULI), axis->in, axis->scale_d);
    at = tosa_build_same(b, ARITH(ADDI), at, axis->offset);
    if (!r->float_type) {
        const OpDef *divide = axis->starts_before ? ARITH(FLOORDIVSI) : ARITH(DIVSI);
        axis->index = tosa_build_same(b, divide, at, axis->scale_n);
        axis->delta = tosa_build_same(b, ARITH(MULI), axis->index, axis->scale_n);
        axis->delta = tosa_build_same(b, ARITH(SUBI), at, axis->delta);
        return;
    }
    axis->index = tosa_build_same(b, ARITH(FLOORDIVSI), at, axis->scale_n);
    Value *rest = tosa_build_same(b, ARITH(REMSI), at, axis->scale_n);
    rest = build_unary(b, ARITH(SITOFP), r->float_type, rest);
    Value *scale = build_unary(b, ARITH(UITOFP), r->float_type, axis->scale_n);
    axis->delta = tosa_build_same(b, ARITH(DIVF), rest, scale);
}

static Value *clamp_index(const TosaResize *r, const TosaResizeAxis *axis, Value *index)
{
    return tosa_build_clamp_int(r->b, index, r->zero, axis->max, false);
}

static Value *to_index(const TosaResize *r, Value *value)
{
    return build_unary(r->b, ARITH(INDEX_CAST), type_index(r->b->ctx), value);
}

static Value *extract(const TosaResize *r, Value *y, Value *x)
{
    Value *operands[] = {op_operand(r->op, 0), r->batch, y, x, r->channel};
    const Type *type = type_elem(operand_type(r->op, 0));
    return op_result(build(r->b, TENSOR(EXTRACT), operands, 5, &type, 1, NULL, 0), 0);
}

/* The index, or the next one from half way on. */
static Value *nearest(const TosaResize *r, const TosaResizeAxis *axis, Value *one)
{
    Builder *b = r->b;
    Value *is_past;
    if (axis->size == 1) return arith_constant_index(b, 0);
    if (r->float_type) {
        Value *half = arith_constant(b, attr_float(r->float_type, 0.5));
        is_past = arith_cmpf(b, CMPF_OGE, axis->delta, half);
    } else {
        Value *twice = tosa_build_same(b, ARITH(SHLI), axis->delta, one);
        is_past = arith_cmpi(b, CMPI_SGE, twice, axis->scale_n);
    }
    Value *step = arith_select(b, is_past, one, r->zero);
    Value *index = tosa_build_same(b, ARITH(ADDI), axis->index, step);
    return to_index(r, clamp_index(r, axis, index));
}

static Value *build_nearest(const TosaResize *r)
{
    Value *one = tosa_build_i32(r->b, 1);
    Value *y = nearest(r, &r->y, one);
    return extract(r, y, nearest(r, &r->x, one));
}

/* Indices of the two elements an axis interpolates between. */
static void neighbours(const TosaResize *r, const TosaResizeAxis *axis, Value *one, Value **indices)
{
    Value *next = tosa_build_same(r->b, ARITH(ADDI), axis->index, one);
    indices[0] = clamp_index(r, axis, axis->index);
    indices[1] = clamp_index(r, axis, next);
    for (uint32_t i = 0; i < 2; i++) indices[i] = to_index(r, indices[i]);
}

/* first * (unit - delta) + second * delta. Along an axis of one element there is nothing to mix:
 * floats stay, integers are scaled all the same. */
static Value *interpolate(const TosaResize *r, const TosaResizeAxis *axis, Value *unit,
                          Value *first, Value *second)
{
    Builder *b = r->b;
    bool is_float = r->float_type != NULL;
    const OpDef *mul = is_float ? ARITH(MULF) : ARITH(MULI);
    if (axis->size == 1) return is_float ? first : tosa_build_same(b, mul, first, unit);
    Value *rest = tosa_build_same(b, is_float ? ARITH(SUBF) : ARITH(SUBI), unit, axis->delta);
    first = tosa_build_same(b, mul, first, rest);
    second = tosa_build_same(b, mul, second, axis->delta);
    return tosa_build_same(b, is_float ? ARITH(ADDF) : ARITH(ADDI), first, second);
}

/* Integers are computed in the type of the result; units are how many steps make an element. */
static void widen(TosaResize *r, Value **corners, Value **units)
{
    Builder *b = r->b;
    for (uint32_t i = 0; i < 4; i++) corners[i] = build_unary(b, ARITH(EXTSI), r->elem, corners[i]);
    units[0] = r->y.scale_n;
    units[1] = r->x.scale_n;
    if (type_width(r->elem) <= 32) return;
    r->x.delta = build_unary(b, ARITH(EXTSI), r->elem, r->x.delta);
    r->y.delta = build_unary(b, ARITH(EXTSI), r->elem, r->y.delta);
    for (uint32_t i = 0; i < 2; i++) units[i] = build_unary(b, ARITH(EXTSI), r->elem, units[i]);
}

static Value *build_bilinear(TosaResize *r)
{
    Value *y[2], *x[2], *corners[4], *units[2];
    Value *one = tosa_build_i32(r->b, 1);
    neighbours(r, &r->y, one, y);
    neighbours(r, &r->x, one, x);
    for (uint32_t i = 0; i < 4; i++) corners[i] = extract(r, y[i / 2], x[i % 2]);
    if (r->float_type)
        units[0] = units[1] = arith_constant(r->b, attr_float(r->float_type, 1.0));
    else
        widen(r, corners, units);
    Value *top = interpolate(r, &r->x, units[1], corners[0], corners[1]);
    Value *bottom = interpolate(r, &r->x, units[1], corners[2], corners[3]);
    return interpolate(r, &r->y, units[0], top, bottom);
}

/* The constants of both axes, in upstream's order, border included. */
static void read_axes(TosaResize *r)
{
    Builder *b = r->b;
    IntList scale = tosa_build_list_attr(r->op, "scale"),
            offset = tosa_build_list_attr(r->op, "offset");
    IntList border = tosa_build_list_attr(r->op, "border");
    TosaResizeAxis *axes[] = {&r->y, &r->x};
    for (uint32_t i = 0; i < 2; i++) {
        axes[i]->scale_n = tosa_build_i32(b, scale.data[2 * i]);
        axes[i]->scale_d = tosa_build_i32(b, scale.data[2 * i + 1]);
    }
    for (uint32_t i = 0; i < 2; i++) {
        axes[i]->offset = tosa_build_i32(b, offset.data[i]);
        axes[i]->starts_before = offset.data[i] < 0 && is_bilinear(r->op);
    }
    for (uint32_t i = 0; i < 2; i++) (void)tosa_build_i32(b, border.data[i]);
    vec_free(&scale);
    vec_free(&offset);
    vec_free(&border);
}

static void build_resize_body(TosaResize *r)
{
    Builder *b = r->b;
    const Type *i32 = type_i(b->ctx, 32), *input = operand_type(r->op, 0);
    const Type *f32 = type_float(b->ctx, TYPE_F32);
    TosaResizeAxis *axes[] = {&r->y, &r->x};
    Value *at[4];
    for (uint32_t i = 0; i < 4; i++) at[i] = linalg_index(b, i);
    r->batch = at[0];
    r->channel = at[3];
    r->zero = tosa_build_i32(b, 0);
    Value *float_zero = arith_constant(b, tosa_build_zero_of(r->float_type ? r->float_type : f32));
    for (uint32_t i = 0; i < 2; i++) {
        axes[i]->size = extent_of(input, i + 1);
        axes[i]->max = tosa_build_i32(b, axes[i]->size - 1);
    }
    for (uint32_t i = 0; i < 2; i++)
        axes[i]->in = build_unary(b, ARITH(INDEX_CAST), i32, at[i + 1]);
    read_axes(r);
    for (uint32_t i = 0; i < 2; i++) locate(r, axes[i], r->float_type ? float_zero : r->zero);
    tosa_build_yield(b, is_bilinear(r->op) ? build_bilinear(r) : build_nearest(r));
}

bool tosa_lower_resize(Lower *l)
{
    const Type *type = result_type(l->op), *elem = type_elem(type);
    Values dims;
    if (!tosa_lower_all_ranked(l->op) || !tosa_build_batch_dim(l, &dims)) return false;
    Value *empty = tosa_build_empty_tensor(l->b, type, elem, dims);
    GenericDef def = {.inits = VALUES(empty), .loops = 4};
    Builder body;
    Op *op = tosa_build_generic(l->b, &def, &type, &body);
    tosa_build_relocate_args(&body);
    /* Coordinates are floats where elements are; those of 8 bits only choose, by integers. */
    bool is_float = type_is_float(elem) && type_width(elem) >= 16;
    TosaResize resize = {
        .b = &body, .op = l->op, .elem = elem, .float_type = is_float ? elem : NULL};
    build_resize_body(&resize);
    rewriter_replace_one(l->rw, l->op, op_result(op, 0));
    return true;
}
