/* Evaluator of tosa.resize. Along an axis, output o lies at (o * denominator + offset) / numerator
 * of the input, whose edge elements are repeated for ever. Bilinear results on integers are not
 * divided: they keep the factor of both numerators, as the specification has it.
 * Tests: lit/sim/interp/tosa.mir, test/e2e/run_check.py */
#include "dialects/tosa/tosa.h"
#include "ir/asm/print/print.h"
#include "sim/interp/internal.h"

/* One axis, and where an output lies on it. */
typedef struct InterpResizeAxis {
    int64_t numerator, denominator, offset, border;
    int64_t in, out;       /* extents */
    int64_t first, second; /* neighbours */
    int64_t rest;          /* beyond the first, in 1 / numerator */
} InterpResizeAxis;

static bool read_axis(const Op *op, const Array *in, uint32_t d, InterpResizeAxis *axis)
{
    const Attr *scale = op_attr(op, "scale");
    *axis = (InterpResizeAxis){.numerator = dense_array_i64(scale, 2 * d),
                               .denominator = dense_array_i64(scale, 2 * d + 1),
                               .offset = dense_array_i64(op_attr(op, "offset"), d),
                               .border = dense_array_i64(op_attr(op, "border"), d),
                               .in = dims_of(in)[d + 1]};
    int64_t span; /* of products of two numerators the smallest type is int64_t */
    bool ok = axis->numerator > 0 && axis->numerator <= INT32_MAX && axis->denominator > 0 &&
              axis->in > 0 && i64_mul(axis->in - 1, axis->numerator, &span) &&
              i64_add(span, axis->border, &span) && axis->offset > INT64_MIN &&
              i64_add(span, -axis->offset, &span) && span >= 0 && span < INT64_MAX;
    axis->out = ok ? span / axis->denominator + 1 : 0;
    return ok || op_error(op, "has a scale, an offset or a border without a result");
}

static int64_t limited(int64_t index, int64_t extent)
{
    return index < 0 ? 0 : index >= extent ? extent - 1 : index;
}

static void seek(InterpResizeAxis *axis, int64_t o, bool nearest)
{
    int64_t at = o * axis->denominator + axis->offset;
    axis->rest = i64_mod(at, axis->numerator);
    int64_t index = (at - axis->rest) / axis->numerator;
    if (nearest) index += 2 * axis->rest >= axis->numerator;
    axis->first = limited(index, axis->in);
    axis->second = limited(index + 1, axis->in);
}

/* The weights of the four neighbours: [y][x]. */
static void interpolate(const Array *in, int64_t at[2][2], const InterpResizeAxis *y,
                        const InterpResizeAxis *x, Array *out, int64_t to)
{
    const int64_t y_weights[] = {y->numerator - y->rest, y->rest};
    const int64_t x_weights[] = {x->numerator - x->rest, x->rest};
    double real = 0;
    uint64_t whole = 0;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            int64_t weight = y_weights[i] * x_weights[k];
            if (type_is_float(in->elem))
                real += array_get_f64(in, at[i][k]) * (double)weight;
            else
                whole += (uint64_t)array_get_i64(in, at[i][k]) * (uint64_t)weight;
        }
    if (type_is_float(in->elem))
        array_set_f64(out, to, real / ((double)y->numerator * (double)x->numerator));
    else
        array_set_i64(out, to, (int64_t)whole);
}

static void copy_nearest(const Array *in, int64_t from, Array *out, int64_t to)
{
    if (type_is_float(in->elem))
        array_set_f64(out, to, array_get_f64(in, from));
    else
        array_set_i64(out, to, array_get_i64(in, from));
}

/* One output position of all channels. */
static void resize_position(const Array *in, int64_t batch, const InterpResizeAxis *y,
                            const InterpResizeAxis *x, bool nearest, Array *out, int64_t to)
{
    const int64_t rows[] = {y->first, y->second}, columns[] = {x->first, x->second};
    int64_t channels = dims_of(in)[3], at[2][2];
    for (int64_t c = 0; c < channels; c++) {
        for (int i = 0; i < 2; i++)
            for (int k = 0; k < 2; k++)
                at[i][k] = ((batch * y->in + rows[i]) * x->in + columns[k]) * channels + c;
        if (nearest)
            copy_nearest(in, at[0][0], out, to + c);
        else
            interpolate(in, at, y, x, out, to + c);
    }
}

bool interp_tosa_eval_resize(Interp *interp, const InterpStep *step, Array **inputs,
                             Array **results)
{
    const Op *op = step->op;
    const Array *in = inputs[0];
    bool nearest = str_eq_c(op_attr(op, "mode")->u.string, "NEAREST_NEIGHBOR");
    InterpResizeAxis y, x;
    if (!read_axis(op, in, 0, &y) || !read_axis(op, in, 1, &x)) return false;
    int64_t dims[] = {dims_of(in)[0], y.out, x.out, dims_of(in)[3]}, to = 0;
    results[0] =
        interp_new_array(interp, op, type_tensor(type_elem(op_result(op, 0)->type), dims, 4, NULL));
    if (!results[0]) return false;
    for (int64_t n = 0; n < dims[0]; n++)
        for (int64_t i = 0; i < y.out; i++) {
            seek(&y, i, nearest);
            for (int64_t k = 0; k < x.out; k++, to += dims[3]) {
                seek(&x, k, nearest);
                resize_position(in, n, &y, &x, nearest, results[0], to);
            }
        }
    return true;
}
