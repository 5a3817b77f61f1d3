/* Evaluators of onnx matrix products.
 * Tests: test/e2e/onnx_cases.py */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/onnx/internal.h"

bool onnx_all_finite(const double *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* c += a * b for one pair of matrices, row-major, on the way to y. */
static void multiply(const double *a, const double *b, double *c, int64_t rows, int64_t depth,
                     int64_t columns, const Array *y)
{
    /* A pass over b is worth it where rows follow that it saves products. */
    const bool skips_zeros = rows > 1 && onnx_all_finite(b, depth * columns);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = 0; k < depth; k++) {
            double factor = a[i * depth + k];
            if (factor == 0.0 && skips_zeros) continue;
            for (int64_t j = 0; j < columns; j++) c[i * columns + j] += factor * b[k * columns + j];
            onnx_round_partials(y, c + i * columns, columns);
        }
    }
}

void onnx_matmul_sums(const double *a, const Array *a_like, const double *b, const Array *b_like,
                      const Array *c_like, double *c)
{
    uint32_t a_rank = onnx_array_rank(a_like), b_rank = onnx_array_rank(b_like);
    const int64_t *a_dims = onnx_array_dims(a_like), *b_dims = onnx_array_dims(b_like);
    int64_t depth = a_dims[a_rank - 1], rows = a_rank > 1 ? a_dims[a_rank - 2] : 1;
    int64_t columns = b_rank > 1 ? b_dims[b_rank - 1] : 1;
    uint32_t a_batch = a_rank > 2 ? a_rank - 2 : 0, b_batch = b_rank > 2 ? b_rank - 2 : 0;
    uint32_t batch = a_batch > b_batch ? a_batch : b_batch;
    int64_t count = onnx_dims_product(onnx_array_dims(c_like), 0, batch);
    OnnxWalk walk;
    onnx_walk_init(&walk, onnx_array_dims(c_like), batch);
    onnx_walk_broadcast(&walk, a_dims, a_batch);
    onnx_walk_broadcast(&walk, b_dims, b_batch);
    memset(c, 0, (size_t)c_like->count * sizeof *c);
    for (int64_t i = 0; i < count; i++, onnx_walk_next(&walk))
        multiply(a + walk.offset[0] * rows * depth, b + walk.offset[1] * depth * columns,
                 c + i * rows * columns, rows, depth, columns, c_like);
}

/* c += a * b for one pair of matrices that begin at these elements; sums wrap at the elements'
 * width. */
static void multiply_integers(const Array *a, int64_t a_first, const Array *b, int64_t b_first,
                              Array *c, int64_t c_first, const int64_t extents[3])
{
    int64_t rows = extents[0], depth = extents[1], columns = extents[2];
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            uint64_t sum = 0;
            for (int64_t k = 0; k < depth; k++)
                sum += (uint64_t)array_get_i64(a, a_first + i * depth + k) *
                       (uint64_t)array_get_i64(b, b_first + k * columns + j);
            array_set_i64(c, c_first + i * columns + j, (int64_t)sum);
        }
    }
}

/* Integers, of which a double would not hold all. */
static void matmul_integers(const Array *a, const Array *b, Array *c)
{
    uint32_t a_rank = onnx_array_rank(a), b_rank = onnx_array_rank(b);
    const int64_t *a_dims = onnx_array_dims(a), *b_dims = onnx_array_dims(b);
    const int64_t extents[3] = {a_rank > 1 ? a_dims[a_rank - 2] : 1, a_dims[a_rank - 1],
                                b_rank > 1 ? b_dims[b_rank - 1] : 1};
    uint32_t a_batch = a_rank > 2 ? a_rank - 2 : 0, b_batch = b_rank > 2 ? b_rank - 2 : 0;
    uint32_t batch = a_batch > b_batch ? a_batch : b_batch;
    int64_t count = onnx_dims_product(onnx_array_dims(c), 0, batch);
    OnnxWalk walk;
    onnx_walk_init(&walk, onnx_array_dims(c), batch);
    onnx_walk_broadcast(&walk, a_dims, a_batch);
    onnx_walk_broadcast(&walk, b_dims, b_batch);
    for (int64_t i = 0; i < count; i++, onnx_walk_next(&walk))
        multiply_integers(a, walk.offset[0] * extents[0] * extents[1], b,
                          walk.offset[1] * extents[1] * extents[2], c, i * extents[0] * extents[2],
                          extents);
}

bool onnx_eval_matmul(const Eval *e)
{
    const Array *a = onnx_eval_input(e, 0), *b = onnx_eval_input(e, 1);
    Array *y = e->results[0];
    if (!array_is_float(y)) {
        matmul_integers(a, b, y);
        return true;
    }
    double *left = onnx_array_doubles(a), *right = onnx_array_doubles(b);
    double *sums = xmalloc((size_t)y->count * sizeof *sums);
    onnx_matmul_sums(left, a, right, b, y, sums);
    for (int64_t i = 0; i < y->count; i++) array_set_f64(y, i, sums[i]);
    free(sums);
    free(right);
    free(left);
    return true;
}

/* Elements of a matrix, transposed if asked. */
static double *matrix(const Array *array, bool transposed)
{
    double *in = onnx_array_doubles(array);
    if (!transposed) return in;
    int64_t rows = onnx_array_dims(array)[0], columns = onnx_array_dims(array)[1];
    double *out = xmalloc((size_t)array->count * sizeof *out);
    for (int64_t i = 0; i < array->count; i++) out[i % columns * rows + i / columns] = in[i];
    free(in);
    return out;
}

static bool is_small_integer(double x)
{
    return x == floor(x) && fabs(x) < 0x1p53;
}

/* Gemm of integers where alpha and beta are integers: sums wrap. */
static void gemm_integers(const Eval *e, Array *y, int64_t alpha, int64_t beta)
{
    const Array *a = onnx_eval_input(e, 0), *b = onnx_eval_input(e, 1), *c = onnx_eval_input(e, 2);
    bool trans_a = onnx_int(e->op, "transA", 0) != 0, trans_b = onnx_int(e->op, "transB", 0) != 0;
    int64_t rows = onnx_array_dims(y)[0], columns = onnx_array_dims(y)[1];
    int64_t depth = onnx_array_dims(a)[trans_a ? 0 : 1];
    OnnxWalk walk;
    onnx_walk_init(&walk, onnx_array_dims(y), 2);
    if (c) onnx_walk_broadcast(&walk, onnx_array_dims(c), onnx_array_rank(c));
    for (int64_t i = 0; i < y->count; i++, onnx_walk_next(&walk)) {
        int64_t row = i / columns, column = i % columns;
        uint64_t sum = 0;
        for (int64_t k = 0; k < depth; k++)
            sum += (uint64_t)array_get_i64(a, trans_a ? k * rows + row : row * depth + k) *
                   (uint64_t)array_get_i64(b, trans_b ? column * depth + k : k * columns + column);
        uint64_t added = c ? (uint64_t)array_get_i64(c, walk.offset[0]) : 0;
        array_set_i64(y, i, (int64_t)((uint64_t)alpha * sum + (uint64_t)beta * added));
    }
}

bool onnx_eval_gemm(const Eval *e)
{
    const Array *a = onnx_eval_input(e, 0), *b = onnx_eval_input(e, 1), *c = onnx_eval_input(e, 2);
    Array *y = e->results[0];
    bool trans_a = onnx_int(e->op, "transA", 0) != 0, trans_b = onnx_int(e->op, "transB", 0) != 0;
    double alpha = onnx_float(e->op, "alpha", 1.0), beta = onnx_float(e->op, "beta", 1.0);
    if (!array_is_float(y) && is_small_integer(alpha) && (!c || is_small_integer(beta))) {
        gemm_integers(e, y, (int64_t)alpha, c ? (int64_t)beta : 0);
        return true;
    }
    double *left = matrix(a, trans_a), *right = matrix(b, trans_b);
    double *sums = xcalloc((size_t)y->count, sizeof *sums);
    multiply(left, right, sums, onnx_array_dims(y)[0], onnx_array_dims(a)[trans_a ? 0 : 1],
             onnx_array_dims(y)[1], y);
    OnnxWalk walk;
    onnx_walk_init(&walk, onnx_array_dims(y), 2);
    if (c) onnx_walk_broadcast(&walk, onnx_array_dims(c), onnx_array_rank(c));
    for (int64_t i = 0; i < y->count; i++, onnx_walk_next(&walk)) {
        double value = alpha * sums[i] + (c ? beta * array_get_f64(c, walk.offset[0]) : 0.0);
        if (array_is_float(y))
            array_set_f64(y, i, value);
        else
            array_set_i64(y, i, onnx_to_integer(value));
    }
    free(sums);
    free(right);
    free(left);
    return true;
}
