/* Pooling to linalg. The mean divides by the number of elements of the window that lie inside the
 * image: floats at once, integers by a fixed-point reciprocal computed per window.
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-linalg-pool.mir */
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/math/math.h"
#include "dialects/tensor/tensor.h"
#include "lowering/tosa_to_linalg/internal.h"

typedef struct Pool {
    IntList kernel, stride, pad;
    int64_t overhang[2]; /* of means: how far the last window reaches behind the image */
} Pool;

static void pool_read(const Op *op, Pool *pool)
{
    *pool = (Pool){tosa_build_list_attr(op, "kernel"), tosa_build_list_attr(op, "stride"),
                   tosa_build_list_attr(op, "pad")};
}

static void pool_free(Pool *pool)
{
    vec_free(&pool->kernel);
    vec_free(&pool->stride);
    vec_free(&pool->pad);
}

/* The pooling op over a tensor filled with the start value. */
static Value *build_pooling(Lower *l, const Pool *pool, const OpDef *def, Value *input,
                            Value *start, const Type *type, Values dims, const Type *window_elem)
{
    static const int64_t ones[] = {1, 1};
    const NamedAttr attrs[] = {
        build_named_attr(l->ctx, "strides",
                         tosa_lower_window_attr(l->ctx, pool->stride.data, 2, true)),
        build_named_attr(l->ctx, "dilations", tosa_lower_window_attr(l->ctx, ones, 2, true))};
    Value *empty = tosa_build_empty_tensor(l->b, type, type_elem(type), dims);
    Value *init = linalg_fill(l->b, start, empty);
    const Type *window = type_tensor(window_elem, pool->kernel.data, 2, NULL);
    Value *kernel = tosa_build_empty_tensor(l->b, window, window_elem, NO_VALUES);
    return tosa_build_named(l->b, def, VALUES(input, kernel), init, type, attrs, COUNT_OF(attrs));
}

static Values max_pool_dims(Lower *l, const Pool *pool)
{
    const Type *type = result_type(l->op);
    Value *input = op_operand(l->op, 0), **dims = ARENA_ARRAY(l->arena, Value *, 4);
    uint32_t count = 0;
    for (uint32_t i = 0; i < 4; i++) {
        if (!is_dynamic(type, i)) continue;
        dims[count] = tensor_dim(l->b, input, i);
        if (i == 1 || i == 2) {
            TosaWindowDim dim = {pool->pad.data[2 * i - 2], pool->pad.data[2 * i - 1],
                                 pool->stride.data[i - 1], 1};
            Value *kernel = arith_constant_index(l->b, pool->kernel.data[i - 1]);
            dims[count] = tosa_build_window_extent(l->b, dims[count], kernel, &dim);
        }
        count++;
    }
    return (Values){dims, count};
}

static bool has_maximum(const Type *elem)
{
    return type_is_integer(elem) || elem->kind == TYPE_F32 || elem->kind == TYPE_BF16 ||
           elem->kind == TYPE_F16;
}

bool tosa_lower_max_pool(Lower *l)
{
    const Type *elem = type_elem(operand_type(l->op, 0));
    Pool pool;
    if (!tosa_lower_all_ranked(l->op) || !has_maximum(elem) || !tosa_lower_has_window(l->op))
        return false;
    pool_read(l->op, &pool);
    Values dims = max_pool_dims(l, &pool);
    Value *input =
        tosa_build_window_pad(l, op_operand(l->op, 0), &pool.pad, tosa_build_lowest_of(elem));
    Value *start = arith_constant(l->b, tosa_build_lowest_of(elem));
    Value *result = build_pooling(
        l, &pool, LINALG(POOLING_NHWC_MAX), input, start,
        tosa_build_tensor_like(result_type(l->op), type_elem(result_type(l->op))), dims, elem);
    pool_free(&pool);
    rewriter_replace_one(l->rw, l->op, result);
    return true;
}

/* valid less what of the window's end hangs over: min(position - pad, 0) is added. */
static Value *subtract_overhang(Builder *b, Value *zero, Value *valid, Value *position, int64_t pad)
{
    if (pad == 0) return valid;
    Value *inside = tosa_build_same(b, ARITH(SUBI), position, arith_constant_index(b, pad));
    return tosa_build_same(b, ARITH(ADDI), valid, tosa_build_same(b, ARITH(MINSI), inside, zero));
}

/* Elements of the window inside the image along dimension 1 or 2; last is the greatest index of
 * the result there. */
static Value *build_coverage(Builder *b, const Pool *pool, uint32_t dim, Value *zero, Value *one,
                             Value *last)
{
    Value *stride = arith_constant_index(b, pool->stride.data[dim - 1]);
    Value *valid = arith_constant_index(b, pool->kernel.data[dim - 1]);
    Value *left = linalg_index(b, dim);
    Value *right = tosa_build_same(b, ARITH(SUBI), last, left);
    left = tosa_build_same(b, ARITH(MULI), left, stride);
    right = tosa_build_same(b, ARITH(MULI), right, stride);
    valid = subtract_overhang(b, zero, valid, left, pool->pad.data[2 * dim - 2]);
    valid = subtract_overhang(b, zero, valid, right, pool->overhang[dim - 1]);
    return tosa_build_same(b, ARITH(MAXSI), one, valid);
}

static Value *divide_float(Builder *b, Value *sum, Value *count, const Type *result)
{
    Value *mean =
        tosa_build_same(b, ARITH(DIVF), sum, build_unary(b, ARITH(SITOFP), sum->type, count));
    bool is_wide = type_width(sum->type) > type_width(result);
    return is_wide ? build_unary(b, ARITH(TRUNCF), result, mean) : mean;
}

/* k = 32 - clz(count - 1);  sum / count ~ (sum * ((2^30 + 1) * 2^k / count)) >> (30 + k) */
static Value *scale_by_reciprocal(Builder *b, Value *sum, Value *count)
{
    const Type *i32 = type_i(b->ctx, 32), *i64 = type_i(b->ctx, 64), *i8 = type_i(b->ctx, 8);
    Value *one = tosa_build_i32(b, 1), *width = tosa_build_i32(b, 32);
    Value *below = tosa_build_same(b, ARITH(SUBI), count, one);
    Value *k = tosa_build_same(b, ARITH(SUBI), width, build_unary(b, MATH(CTLZ), i32, below));
    Value *wide_k = build_unary(b, ARITH(EXTUI), i64, k);
    Value *unit = arith_constant_int(b, i64, (INT64_C(1) << 30) + 1);
    Value *numerator = tosa_build_same(b, ARITH(SHLI), unit, wide_k);
    Value *divisor = build_unary(b, ARITH(EXTUI), i64, count);
    Value *multiplier = tosa_build_same(b, ARITH(DIVUI), numerator, divisor);
    multiplier = build_unary(b, ARITH(TRUNCI), i32, multiplier);
    Value *low_k = build_unary(b, ARITH(TRUNCI), i8, k);
    Value *shift = tosa_build_same(b, ARITH(ADDI), low_k, arith_constant_int(b, i8, 30));
    NamedAttr attr = build_named_attr(b->ctx, "double_round", attr_bool(b->ctx, false));
    Value *operands[] = {sum, multiplier, shift};
    return op_result(build(b, TOSA(APPLY_SCALE), operands, 3, &i32, 1, &attr, 1), 0);
}

static Value *divide_int(Builder *b, Value *sum, Value *count, const Type *result,
                         const Attr *quant)
{
    const Type *acc = sum->type;
    uint32_t width = type_width(result);
    if (quant) {
        Value *zero = arith_constant_int(b, acc, tosa_zero_point(quant, 0));
        sum =
            build_binary(b, ARITH(SUBI), acc, sum, build_binary(b, ARITH(MULI), acc, count, zero));
    }
    Value *mean = scale_by_reciprocal(b, sum, count);
    if (quant)
        mean = tosa_build_same(b, ARITH(ADDI), mean,
                               arith_constant_int(b, mean->type, tosa_zero_point(quant, 1)));
    Value *min = arith_constant_int(b, acc, tosa_build_signed_min(width));
    Value *max = arith_constant_int(b, acc, tosa_build_signed_max(width));
    mean = tosa_build_clamp_int(b, mean, min, max, false);
    return mean->type == result ? mean : build_unary(b, ARITH(TRUNCI), result, mean);
}

static void build_mean(Builder *b, const Pool *pool, Value *const *last, Value *one,
                       const Type *result, const Attr *quant)
{
    Value *zero = arith_constant_index(b, 0);
    Value *height = build_coverage(b, pool, 1, zero, one, last[0]);
    Value *width = build_coverage(b, pool, 2, zero, one, last[1]);
    Value *area = tosa_build_same(b, ARITH(MULI), height, width);
    Value *count = build_unary(b, ARITH(INDEX_CAST), type_i(b->ctx, 32), area);
    Value *sum = b->block->args[0];
    tosa_build_yield(b, type_is_float(sum->type) ? divide_float(b, sum, count, result)
                                                 : divide_int(b, sum, count, result, quant));
}

static Value *build_avg_pool(Lower *l, const Pool *pool, const Type *acc, Values dims)
{
    const Type *type = result_type(l->op), *sum_type = tosa_build_tensor_like(type, acc);
    const Attr *zero = tosa_build_zero_of(type_elem(operand_type(l->op, 0)));
    Value *input = tosa_build_window_pad(l, op_operand(l->op, 0), &pool->pad, zero);
    Value *start = arith_constant(l->b, tosa_build_zero_of(acc));
    Value *sums =
        build_pooling(l, pool, LINALG(POOLING_NHWC_SUM), input, start, sum_type, dims, acc);
    Value *last[2];
    for (uint32_t i = 0; i < 2; i++) last[i] = tensor_dim(l->b, sums, i + 1);
    Value *one = arith_constant_index(l->b, 1);
    for (uint32_t i = 0; i < 2; i++) last[i] = tosa_build_same(l->b, ARITH(SUBI), last[i], one);
    Value *empty = tosa_build_empty_tensor(l->b, type, type_elem(type), dims);
    Builder body;
    Op *op = tosa_build_map(l->b, sums, empty, type, &body);
    build_mean(&body, pool, last, one, type_elem(type), op_attr(l->op, "quantization_info"));
    return op_result(op, 0);
}

/* The padding behind the image along dimension 1 or 2, less what the stride leaves over, which
 * upstream does not see. */
static int64_t last_overhang(const Lower *l, const Pool *pool, uint32_t dim)
{
    int64_t in = extent_of(operand_type(l->op, 0), dim), out = extent_of(result_type(l->op), dim);
    int64_t before = pool->pad.data[2 * dim - 2], after = pool->pad.data[2 * dim - 1];
    int64_t room, steps;
    if (i64_add(in, before, &room) && i64_add(room, after, &room) &&
        i64_mul(out - 1, pool->stride.data[dim - 1], &steps) &&
        i64_add(steps, pool->kernel.data[dim - 1], &steps) && steps < room)
        after -= room - steps;
    return after < 0 ? 0 : after;
}

bool tosa_lower_avg_pool(Lower *l)
{
    const Type *acc = op_attr(l->op, "acc_type")->u.type_value;
    Pool pool;
    Values dims;
    if (!tosa_lower_all_ranked(l->op) || !tosa_build_zero_of(type_elem(operand_type(l->op, 0))) ||
        !tosa_build_zero_of(acc) || !tosa_lower_has_window(l->op) ||
        !tosa_build_batch_dim(l, &dims))
        return false;
    pool_read(l->op, &pool);
    for (uint32_t i = 0; i < 2; i++) pool.overhang[i] = last_overhang(l, &pool, i + 1);
    Value *result = build_avg_pool(l, &pool, acc, dims);
    pool_free(&pool);
    rewriter_replace_one(l->rw, l->op, result);
    return true;
}
