/* Index delinearization: an index is split into digits. Where the map divides dimension d by k, or
 * takes its remainder, d becomes (d / k, d % k), and the divisions disappear:
 *   (d0 floordiv 2, d1)  with d0 = 2 * a + b  ->  (a, d1)
 * Neighbouring digits that a linear map does not tell apart become one again, because every digit
 * costs a loop counter.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-move.mir */
#include <string.h>

#include "schedule/internal.h"

/* Splits expr = divisor * quotient + rest. The quotient takes the terms that are multiples of the
 * divisor. */
static void split_sum(const AffineExpr *expr, int64_t divisor, const AffineExpr **quotient,
                      const AffineExpr **rest)
{
    if (expr->kind == AFFINE_ADD) {
        split_sum(expr->lhs, divisor, quotient, rest);
        split_sum(expr->rhs, divisor, quotient, rest);
    } else if (expr->divisor % (uint64_t)divisor == 0) {
        *quotient = affine_add(*quotient, affine_floordiv(expr, affine_const(expr->ctx, divisor)));
    } else {
        *rest = affine_add(*rest, expr);
    }
}

/* (k * q + r) floordiv k -> q + r floordiv k, and r floordiv k -> 0 for 0 <= r < k;
 * (k * q + r) mod k -> r mod k, and r mod k -> r for 0 <= r < k */
static const AffineExpr *divide_in_box(const AffineExpr *expr, const AffineExpr *lhs,
                                       const int64_t *extents)
{
    Context *ctx = expr->ctx;
    const AffineExpr *quotient = affine_const(ctx, 0), *rest = quotient;
    int64_t min, max, divisor = expr->rhs->value;
    split_sum(lhs, divisor, &quotient, &rest);
    affine_bounds(rest, extents, &min, &max);
    bool small = min >= 0 && max < divisor;
    if (expr->kind == AFFINE_MOD) return small ? rest : affine_mod(rest, expr->rhs);
    return small ? quotient : affine_add(quotient, affine_floordiv(rest, expr->rhs));
}

/* Simplifies the expression for dims within 0 <= d_i < extents[i]: removes divisions and remainders
 * with an outcome that is known there. */
static const AffineExpr *delinearize_in_box(const AffineExpr *expr, const int64_t *extents)
{
    if (expr->kind == AFFINE_DIM && extents[expr->value] == 1) return affine_const(expr->ctx, 0);
    if (expr->kind == AFFINE_DIM || expr->kind == AFFINE_CONST || expr->kind == AFFINE_SYMBOL)
        return expr;
    const AffineExpr *lhs = delinearize_in_box(expr->lhs, extents);
    if (expr->kind == AFFINE_ADD) return affine_add(lhs, delinearize_in_box(expr->rhs, extents));
    if (!affine_is_const(expr->rhs) || expr->rhs->value <= 0)
        return expr->kind == AFFINE_MUL ? affine_mul(lhs, expr->rhs) : expr;
    if (expr->kind == AFFINE_MUL) return affine_mul(lhs, expr->rhs);
    if (expr->kind == AFFINE_CEILDIV) /* x ceildiv k -> (x + k - 1) floordiv k */
        return delinearize_in_box(
            affine_floordiv(affine_add_c(lhs, expr->rhs->value - 1), expr->rhs), extents);
    return divide_in_box(expr, lhs, extents);
}

/* Steps of a dimension at which a digit begins, ascending, each dividing the next. */
typedef struct Steps {
    int64_t values[MOVE_MAX_DIGITS];
    uint32_t count;
} Steps;

static void add_step(Steps *steps, int64_t step, int64_t extent)
{
    uint32_t at = 0;
    if (step <= 1 || step >= extent || extent % step != 0 || steps->count == MOVE_MAX_DIGITS)
        return;
    for (uint32_t i = 0; i < steps->count; i++) {
        int64_t other = steps->values[i];
        if (other == step || (other < step ? step % other : other % step) != 0) return;
        at += other < step;
    }
    memmove(steps->values + at + 1, steps->values + at,
            (steps->count - at) * sizeof *steps->values);
    steps->values[at] = step;
    steps->count++;
}

/* Collects the steps at which the expression divides a dimension. */
static void collect_steps(const AffineExpr *expr, const Type *result, Steps *steps)
{
    int64_t coeffs[DFG_MAX_RANK], constant;
    uint32_t rank = result->u.shaped.rank;
    if (expr->kind == AFFINE_DIM || expr->kind == AFFINE_CONST || expr->kind == AFFINE_SYMBOL)
        return;
    collect_steps(expr->lhs, result, steps);
    collect_steps(expr->rhs, result, steps);
    if (expr->kind == AFFINE_ADD || expr->kind == AFFINE_MUL || !affine_is_const(expr->rhs) ||
        !affine_linear(expr->lhs, rank, coeffs, &constant))
        return;
    for (uint32_t d = 0; d < rank; d++)
        if (coeffs[d] > 0 && expr->rhs->value % coeffs[d] == 0)
            add_step(&steps[d], expr->rhs->value / coeffs[d], result->u.shaped.dims[d]);
}

/* Digits of every dimension of the result, and each dimension as an expression over them. The last
 * digit counts the elements of a word. */
static bool split_dims(Context *ctx, const Type *result, const Steps *steps, MoveDigits *d,
                       const AffineExpr **dims)
{
    for (uint32_t i = 0; i < result->u.shaped.rank; i++) {
        int64_t extent = result->u.shaped.dims[i];
        dims[i] = affine_const(ctx, 0);
        for (uint32_t s = steps[i].count + 1; s-- > 0;) {
            int64_t step = s ? steps[i].values[s - 1] : 1;
            if (d->count == MOVE_MAX_DIGITS) return false;
            dims[i] = affine_add(dims[i], affine_mul_c(affine_dim(ctx, d->count), step));
            d->extents[d->count++] = extent / step;
            extent = step;
        }
    }
    return true;
}

static bool make_form(const AffineExpr *expr, const MoveDigits *d, Form *out)
{
    int64_t min, max;
    expr = delinearize_in_box(expr, d->extents);
    *out = (Form){.expr = expr};
    affine_bounds(expr, d->extents, &min, &max);
    out->is_linear = affine_linear(expr, d->count, out->coeffs, &out->constant);
    return min != INT64_MIN && max != INT64_MAX;
}

int64_t delinearize_form_at(const Form *form, uint32_t count, const int64_t *digits)
{
    int64_t value = form->constant;
    if (!form->is_linear) return affine_eval(form->expr, digits, NULL, &value) ? value : -1;
    for (uint32_t i = 0; i < count; i++) value += form->coeffs[i] * digits[i];
    return value;
}

static bool add_bound(MoveDigits *d, const AffineExpr *expr)
{
    int64_t min, max;
    affine_bounds(expr, d->extents, &min, &max);
    return min >= 0 || make_form(expr, d, &d->bounds[d->bound_count++]);
}

/* The source's index as words: false if elements of a word do not lie side by side in one word of
 * the source. */
static bool index_in_words(const AffineExpr **index, uint32_t rank, const MoveDigits *d,
                           int64_t lanes)
{
    uint32_t lane = d->count;
    if (lanes == 1) return true;
    for (uint32_t r = 0; r + 1 < rank; r++)
        if (affine_uses_dim(index[r], lane)) return false;
    const AffineExpr *first = affine_sub(index[rank - 1], affine_dim(index[0]->ctx, lane));
    first = affine_simplify(first, lane + 1, 0);
    if (affine_uses_dim(first, lane) || first->divisor % (uint64_t)lanes != 0) return false;
    index[rank - 1] =
        delinearize_in_box(affine_floordiv(first, affine_const(first->ctx, lanes)), d->extents);
    return true;
}

static bool make_forms(const AffineExpr *const *index, const Type *source, int64_t lanes,
                       MoveDigits *d)
{
    const AffineExpr *address = affine_const(source->ctx, 0);
    uint32_t rank = source->u.shaped.rank;
    for (uint32_t r = 0; r < rank; r++) {
        int64_t words = source->u.shaped.dims[r] / (r + 1 == rank ? lanes : 1);
        if (!add_bound(d, index[r]) || !add_bound(d, affine_add_c(affine_neg(index[r]), words - 1)))
            return false;
        address = affine_add(affine_mul_c(address, words), index[r]);
    }
    return make_form(address, d, &d->address);
}

static bool can_join(const Form *form, const MoveDigits *d, uint32_t i)
{
    int64_t step;
    return form->is_linear && i64_mul(form->coeffs[i + 1], d->extents[i + 1], &step) &&
           form->coeffs[i] == step;
}

static void drop_digit(Form *form, uint32_t count, uint32_t i)
{
    memmove(form->coeffs + i, form->coeffs + i + 1, (count - i - 1) * sizeof *form->coeffs);
}

static void rebuild(Context *ctx, Form *form, uint32_t count)
{
    form->expr = affine_const(ctx, 0);
    for (uint32_t i = 0; i < count; i++)
        form->expr = affine_add(form->expr, affine_mul_c(affine_dim(ctx, i), form->coeffs[i]));
    form->expr = affine_add_c(form->expr, form->constant);
}

static bool all_join(const MoveDigits *d, uint32_t i)
{
    for (uint32_t b = 0; b < d->bound_count; b++)
        if (!can_join(&d->bounds[b], d, i)) return false;
    return can_join(&d->address, d, i);
}

/* Digits i and i + 1, of which i + 1 stays if i has one value. */
static void join_digits(MoveDigits *d, uint32_t i)
{
    d->extents[i + 1] *= d->extents[i];
    memmove(d->extents + i, d->extents + i + 1, (d->count - i - 1) * sizeof *d->extents);
    drop_digit(&d->address, d->count, i);
    for (uint32_t b = 0; b < d->bound_count; b++) drop_digit(&d->bounds[b], d->count, i);
    d->count--;
}

static void join_all(Context *ctx, MoveDigits *d)
{
    bool linear = d->address.is_linear;
    for (uint32_t b = 0; b < d->bound_count; b++) linear &= d->bounds[b].is_linear;
    if (!linear) return;
    for (uint32_t i = d->count; i-- > 0;) {
        bool last = i + 1 == d->count;
        if (!last && (d->extents[i] == 1 || all_join(d, i)))
            join_digits(d, i);
        else if (last && i > 0 && d->extents[i] == 1)
            d->count--;
    }
    rebuild(ctx, &d->address, d->count);
    for (uint32_t b = 0; b < d->bound_count; b++) rebuild(ctx, &d->bounds[b], d->count);
}

bool delinearize_map(const AffineMap *map, const Type *result, const Type *source, int64_t lanes,
                     MoveDigits *out)
{
    Steps steps[DFG_MAX_RANK] = {0};
    const AffineExpr *dims[DFG_MAX_RANK], *index[DFG_MAX_RANK];
    uint32_t from = result->u.shaped.rank, to = source->u.shaped.rank;
    *out = (MoveDigits){.count = 0};
    if (lanes > 1 && (from == 0 || to == 0 || result->u.shaped.dims[from - 1] % lanes != 0 ||
                      source->u.shaped.dims[to - 1] % lanes != 0))
        return false;
    if (lanes > 1) add_step(&steps[from - 1], lanes, result->u.shaped.dims[from - 1]);
    for (uint32_t r = 0; r < to; r++) collect_steps(map->results[r], result, steps);
    if (!split_dims(map->ctx, result, steps, out, dims) ||
        (lanes > 1 && out->extents[out->count - 1] != lanes)) /* the map divides within words */
        return false;
    for (uint32_t r = 0; r < to; r++)
        index[r] =
            delinearize_in_box(affine_replace(map->results[r], dims, from, NULL, 0), out->extents);
    if (lanes > 1) out->count--; /* the elements of a word */
    if (!index_in_words(index, to, out, lanes) || !make_forms(index, source, lanes, out))
        return false;
    join_all(map->ctx, out);
    return true;
}
