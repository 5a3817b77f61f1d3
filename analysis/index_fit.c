/* Affine expressions of one loop for a list of indices, one for each iteration.
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-move.mir, lit/passes/linalg/simplify-kernels-indices.mir */
#include "analysis/analysis.h"

/* Of dimension 0. */
static bool matches(const AffineExpr *expr, const int64_t *at, int64_t count)
{
    bool ok = true;
    for (int64_t i = 0, value; ok && i < count; i++)
        ok = affine_eval(expr, &i, NULL, &value) && value == at[i];
    return ok;
}

/* (d * m + b) floordiv 2^s where the indices rise, as those of nearest neighbours; NULL: no such
 * expression gives them, or none whose numbers fit an int. */
static const AffineExpr *find_line(const AffineExpr *dim, const int64_t *at, int64_t count)
{
    int64_t low = at[0], high = at[count - 1], found = 0;
    FixedPoint form;
    if (high <= low) return NULL;
    Threshold *steps = xcalloc((size_t)(high - low), sizeof *steps);
    for (int64_t i = 1; i < count && found < high - low; i++)
        for (; found < high - low && at[i] > low + found; found++)
            steps[found] = (Threshold){low + 1 + found, i};
    StepFunction f = {.thresholds = steps,
                      .count = found,
                      .high_q = count - 1,
                      .low_level = low,
                      .high_level = high};
    bool fits =
        fixed_point_fit(&f, &form) && form.shift <= 30 && high < INT64_C(1) << (30 - form.shift);
    free_ptr((void **)&steps);
    if (!fits) return NULL;
    const AffineExpr *line = affine_add_c(affine_mul_c(dim, form.multiplier), form.addend);
    return affine_floordiv(line, affine_const(dim->ctx, INT64_C(1) << form.shift));
}

const AffineExpr *index_fit(Context *ctx, const int64_t *at, int64_t count, int64_t extent)
{
    int64_t run = 1, period = 1;
    const AffineExpr *dim = affine_dim(ctx, 0);
    if (count < 2) return NULL;
    bool is_alone = at[0] == 0 && at[1] == 1;
    const AffineExpr *linear = affine_add_c(affine_mul_c(dim, at[1] - at[0]), at[0]);
    if ((!is_alone || count == extent) && matches(linear, at, count)) return linear;
    while (run < count && at[run] == at[0]) run++;
    while (period < count && at[period] != at[0]) period++;
    const AffineExpr *div = affine_floordiv(dim, affine_const(ctx, run));
    const AffineExpr *mod = affine_mod(dim, affine_const(ctx, period));
    if (run > 1 && matches(div, at, count)) return div;
    if (period > 1 && matches(mod, at, count)) return mod;
    const AffineExpr *line = find_line(dim, at, count);
    return line && matches(line, at, count) ? line : NULL;
}
