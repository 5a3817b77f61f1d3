/* Shapes of results by kind of op. A rule fills in the extents that it can tell. Extents that it
 * cannot tell, or that would be negative or beyond 64 bits, stay dynamic.
 * Tests: lit/passes/tosa/tosa-infer-shapes.mir */
#include "dialects/tosa/tosa.h"
#include "passes/tosa/internal.h"

#define MAX_RANK 5

typedef struct InferredShape {
    const Op *op;
    uint32_t rank;
    int64_t dims[MAX_RANK];
} InferredShape;

/* An extent of an operand whose rank the op's row fixes. */
static int64_t extent(const Op *op, uint32_t operand, uint32_t dim)
{
    return op_operand(op, operand)->type->u.shaped.dims[dim];
}

static int64_t number(const Op *op, const char *attr, size_t index)
{
    return dense_array_i64(op_attr(op, attr), index);
}

static int64_t either(int64_t a, int64_t b)
{
    return a == DIM_DYNAMIC ? b : a;
}

static const Type *unranked(const Op *op)
{
    return type_unranked_tensor(type_elem(op_result(op, 0)->type));
}

static const Type *ranked(const Op *op, const int64_t *dims, uint32_t rank)
{
    return type_tensor(type_elem(op_result(op, 0)->type), dims, rank, NULL);
}

static const Type *shape_type(const InferredShape *shape)
{
    return ranked(shape->op, shape->dims, shape->rank);
}

static InferredShape open_shape(const Op *op, uint32_t rank)
{
    InferredShape shape = {.op = op, .rank = rank};
    for (uint32_t i = 0; i < rank; i++) shape.dims[i] = DIM_DYNAMIC;
    return shape;
}

/* How many steps of `step` lead from 0 to at most `room`, and 0 itself. */
static int64_t steps(int64_t room, int64_t step)
{
    int64_t count;
    return step >= 1 && i64_add(room / step, 1, &count) && count >= 0 ? count : DIM_DYNAMIC;
}

/* The number of positions at which the window fits: (in + pad - ((kernel - 1) * dilation + 1)) /
 * stride + 1. */
static int64_t windows(int64_t in, int64_t kernel, const int64_t pad[2], int64_t stride,
                       int64_t dilation)
{
    int64_t span, room;
    if (in == DIM_DYNAMIC || kernel == DIM_DYNAMIC || kernel < 1 || stride < 1) return DIM_DYNAMIC;
    if (!i64_mul(1 - kernel, dilation, &span) || !i64_add(in, pad[0], &room) ||
        !i64_add(room, pad[1], &room) || !i64_add(room, span, &room) || !i64_add(room, -1, &room))
        return DIM_DYNAMIC;
    return steps(room, stride);
}

static const Type *rule_pool(const Op *op)
{
    InferredShape shape = open_shape(op, 4);
    shape.dims[0] = extent(op, 0, 0);
    shape.dims[3] = extent(op, 0, 3);
    for (uint32_t i = 0; i < 2; i++) {
        const int64_t pad[] = {number(op, "pad", 2 * i), number(op, "pad", 2 * i + 1)};
        shape.dims[1 + i] =
            windows(extent(op, 0, 1 + i), number(op, "kernel", i), pad, number(op, "stride", i), 1);
    }
    return shape_type(&shape);
}

/* Spatial extents; the kernel's begin at dimension `first` of the weights. */
static void slide(InferredShape *shape, uint32_t first)
{
    const Op *op = shape->op;
    for (uint32_t i = 0; i + 2 < shape->rank; i++) {
        const int64_t pad[] = {number(op, "pad", 2 * i), number(op, "pad", 2 * i + 1)};
        shape->dims[1 + i] = windows(extent(op, 0, 1 + i), extent(op, 1, first + i), pad,
                                     number(op, "stride", i), number(op, "dilation", i));
    }
}

static const Type *rule_conv(const Op *op)
{
    uint32_t rank = op->def == TOSA(CONV3D) ? 5 : 4;
    InferredShape shape = open_shape(op, rank);
    shape.dims[0] = extent(op, 0, 0);
    shape.dims[rank - 1] = either(extent(op, 1, 0), extent(op, 2, 0));
    slide(&shape, 1);
    return shape_type(&shape);
}

static const Type *rule_depthwise(const Op *op)
{
    InferredShape shape = open_shape(op, 4);
    int64_t channels = either(extent(op, 0, 3), extent(op, 1, 2)), each = extent(op, 1, 3), all;
    shape.dims[0] = extent(op, 0, 0);
    if (channels != DIM_DYNAMIC && each != DIM_DYNAMIC && i64_mul(channels, each, &all))
        shape.dims[3] = all;
    shape.dims[3] = either(shape.dims[3], extent(op, 2, 0));
    slide(&shape, 0);
    return shape_type(&shape);
}

/* (in - 1) * stride + pad + kernel, where the op does not say. */
static int64_t unrolled(const Op *op, uint32_t direction)
{
    int64_t in = extent(op, 0, 1 + direction), kernel = extent(op, 1, 1 + direction), out;
    if (in == DIM_DYNAMIC || kernel == DIM_DYNAMIC ||
        !i64_mul(in - 1, number(op, "stride", direction), &out) ||
        !i64_add(out, number(op, "out_pad", 2 * direction), &out) ||
        !i64_add(out, number(op, "out_pad", 2 * direction + 1), &out) ||
        !i64_add(out, kernel, &out) || out < 0)
        return DIM_DYNAMIC;
    return out;
}

static const Type *rule_transpose_conv(const Op *op)
{
    InferredShape shape = open_shape(op, 4);
    const Attr *out = op_attr(op, "out_shape");
    if (out->u.dense_array.count != 4) return NULL;
    for (uint32_t i = 0; i < 4; i++)
        shape.dims[i] = number(op, "out_shape", i) < 0 ? DIM_DYNAMIC : number(op, "out_shape", i);
    shape.dims[0] = either(shape.dims[0], extent(op, 0, 0));
    shape.dims[1] = either(shape.dims[1], unrolled(op, 0));
    shape.dims[2] = either(shape.dims[2], unrolled(op, 1));
    shape.dims[3] = either(shape.dims[3], extent(op, 1, 0));
    return shape_type(&shape);
}

/* ((in - 1) * up - offset + border) / down + 1 */
static int64_t resized(const Op *op, uint32_t direction)
{
    int64_t up = number(op, "scale", 2 * direction), down = number(op, "scale", 2 * direction + 1);
    int64_t offset = number(op, "offset", direction), room;
    if (offset == INT64_MIN || !i64_mul(extent(op, 0, 1 + direction) - 1, up, &room) ||
        !i64_add(room, -offset, &room) || !i64_add(room, number(op, "border", direction), &room))
        return DIM_DYNAMIC;
    return steps(room, down);
}

static const Type *rule_resize(const Op *op)
{
    InferredShape shape = open_shape(op, 4);
    if (extent(op, 0, 1) == DIM_DYNAMIC || extent(op, 0, 2) == DIM_DYNAMIC) return NULL;
    shape.dims[0] = extent(op, 0, 0);
    shape.dims[3] = extent(op, 0, 3);
    for (uint32_t i = 0; i < 2; i++) shape.dims[1 + i] = resized(op, i);
    return shape_type(&shape);
}

static const Type *rule_fully_connected(const Op *op)
{
    const int64_t dims[] = {extent(op, 0, 0), either(extent(op, 1, 0), extent(op, 2, 0))};
    return ranked(op, dims, 2);
}

static const Type *rule_matmul(const Op *op)
{
    const int64_t dims[] = {either(extent(op, 0, 0), extent(op, 1, 0)), extent(op, 0, 1),
                            extent(op, 1, 2)};
    return ranked(op, dims, 3);
}

static const Type *rule_gather(const Op *op)
{
    const int64_t dims[] = {either(extent(op, 0, 0), extent(op, 1, 0)), extent(op, 1, 1),
                            extent(op, 0, 2)};
    return ranked(op, dims, 3);
}

static const Type *rule_scatter(const Op *op)
{
    const int64_t batch = either(extent(op, 0, 0), extent(op, 1, 0));
    const int64_t dims[] = {either(batch, extent(op, 2, 0)), extent(op, 0, 1),
                            either(extent(op, 0, 2), extent(op, 2, 2))};
    return ranked(op, dims, 3);
}

static const Type *rule_rfft2d(const Op *op)
{
    int64_t width = extent(op, 0, 2);
    const int64_t dims[] = {extent(op, 0, 0), extent(op, 0, 1),
                            width == DIM_DYNAMIC ? width : width / 2 + 1};
    return ranked(op, dims, 3);
}

typedef VEC(int64_t) Dims;

static const Type *take(const Op *op, Dims *dims)
{
    const Type *type = ranked(op, dims->data, (uint32_t)dims->len);
    vec_free(dims);
    return type;
}

static const Type *like_operand(const Op *op, uint32_t operand)
{
    const Type *in = op_operand(op, operand)->type;
    return type_is_ranked(in) ? ranked(op, in->u.shaped.dims, in->u.shaped.rank) : unranked(op);
}

static const Type *rule_table(const Op *op)
{
    return like_operand(op, 0);
}

static const Type *rule_elementwise(const Op *op)
{
    return tosa_broadcast_type(op, type_elem(op_result(op, 0)->type));
}

static const Type *rule_argmax(const Op *op)
{
    const Type *in = op_operand(op, 0)->type;
    int64_t axis = attr_int_value(op_attr(op, "axis"));
    Dims dims = {0};
    if (!type_is_ranked(in)) return unranked(op);
    for (uint32_t i = 0; i < in->u.shaped.rank; i++)
        if (i != axis) *vec_push(&dims) = in->u.shaped.dims[i];
    return take(op, &dims);
}

static const Type *rule_pad(const Op *op)
{
    const Type *in = op_operand(op, 0)->type;
    const Attr *widths = tosa_const_ints(op_operand(op, 1));
    uint32_t rank = in->u.shaped.rank;
    Dims dims = {0};
    bool is_known = widths && dense_count(widths) == 2 * (int64_t)rank;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t out = in->u.shaped.dims[i];
        bool ok = is_known && out != DIM_DYNAMIC && i64_add(out, dense_i64(widths, 2 * i), &out) &&
                  i64_add(out, dense_i64(widths, 2 * i + 1), &out) && out >= 0;
        *vec_push(&dims) = ok ? out : DIM_DYNAMIC;
    }
    return take(op, &dims);
}

static const Type *rule_slice(const Op *op)
{
    const Attr *size = op_attr(op, "size");
    Dims dims = {0};
    for (size_t i = 0; i < size->u.dense_array.count; i++)
        *vec_push(&dims) = dense_array_i64(size, i) < 0 ? DIM_DYNAMIC : dense_array_i64(size, i);
    return take(op, &dims);
}

static const Type *rule_tile(const Op *op)
{
    const Attr *multiples = op_attr(op, "multiples");
    bool is_ranked = type_is_ranked(op_operand(op, 0)->type);
    Dims dims = {0};
    for (uint32_t i = 0; i < multiples->u.dense_array.count; i++) {
        int64_t out = is_ranked ? extent(op, 0, i) : DIM_DYNAMIC;
        bool ok = out != DIM_DYNAMIC && i64_mul(out, dense_array_i64(multiples, i), &out);
        *vec_push(&dims) = ok && out >= 0 ? out : DIM_DYNAMIC;
    }
    return take(op, &dims);
}

static bool all_equal(const Type *type)
{
    for (uint32_t i = 1; i < type->u.shaped.rank; i++)
        if (type->u.shaped.dims[i] != type->u.shaped.dims[0]) return false;
    return true;
}

/* Pushes the permuted extents; all unknown without permutation. False: it makes no sense. */
static bool permute(const Type *in, const Attr *perms, Dims *out)
{
    for (uint32_t i = 0; i < in->u.shaped.rank; i++) {
        int64_t from = perms ? dense_i64(perms, i) : 0;
        if (from < 0 || from >= in->u.shaped.rank) return false;
        *vec_push(out) = perms ? in->u.shaped.dims[from] : DIM_DYNAMIC;
    }
    return true;
}

static const Type *rule_transpose(const Op *op)
{
    const Type *in = op_operand(op, 0)->type, *list = op_operand(op, 1)->type;
    Dims dims = {0};
    if (!type_is_ranked(in) || !type_is_ranked(list) || list->u.shaped.dims[0] == DIM_DYNAMIC)
        return unranked(op);
    if (list->u.shaped.dims[0] != in->u.shaped.rank) return NULL;
    if (all_equal(in)) return like_operand(op, 0);
    bool ok = permute(in, tosa_const_ints(op_operand(op, 1)), &dims);
    const Type *type = take(op, &dims);
    return ok ? type : NULL;
}

typedef struct ShapeRule {
    const OpDef *def;
    const Type *(*type)(const Op *op);
} ShapeRule;

static const ShapeRule RULES[] = {
    {TOSA(ARGMAX), rule_argmax},
    {TOSA(AVG_POOL2D), rule_pool},
    {TOSA(CONCAT), tosa_concat_type},
    {TOSA(CONV2D), rule_conv},
    {TOSA(CONV3D), rule_conv},
    {TOSA(DEPTHWISE_CONV2D), rule_depthwise},
    {TOSA(FULLY_CONNECTED), rule_fully_connected},
    {TOSA(GATHER), rule_gather},
    {TOSA(MATMUL), rule_matmul},
    {TOSA(MAX_POOL2D), rule_pool},
    {TOSA(PAD), rule_pad},
    {TOSA(REDUCE_ALL), tosa_reduced_type},
    {TOSA(REDUCE_ANY), tosa_reduced_type},
    {TOSA(REDUCE_MAX), tosa_reduced_type},
    {TOSA(REDUCE_MIN), tosa_reduced_type},
    {TOSA(REDUCE_PROD), tosa_reduced_type},
    {TOSA(REDUCE_SUM), tosa_reduced_type},
    {TOSA(RESHAPE), tosa_reshaped_type},
    {TOSA(RESIZE), rule_resize},
    {TOSA(RFFT2D), rule_rfft2d},
    {TOSA(SCATTER), rule_scatter},
    {TOSA(SLICE), rule_slice},
    {TOSA(TABLE), rule_table},
    {TOSA(TILE), rule_tile},
    {TOSA(TRANSPOSE), rule_transpose},
    {TOSA(TRANSPOSE_CONV2D), rule_transpose_conv},
};

/* Ops about whose results nothing is said. */
static bool is_silent(const Op *op)
{
    return op->def == TOSA(CONST) || op->def == TOSA(CUSTOM) || op->def == TOSA(APPLY_SCALE) ||
           op->def == TOSA(VARIABLE_READ) || op->region_count > 0 || op->result_count == 0;
}

const Type *tosa_rule_type(const Op *op, uint32_t result)
{
    if (is_silent(op)) return NULL;
    if (op->def == TOSA(FFT2D)) return like_operand(op, result);
    for (size_t i = 0; i < COUNT_OF(RULES); i++)
        if (RULES[i].def == op->def) return RULES[i].type(op);
    return rule_elementwise(op);
}
