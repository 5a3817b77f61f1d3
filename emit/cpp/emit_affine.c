/* C++ expressions of affine maps and sets over the counters of loops.
 * Tests: lit/emit/expressions.mir, test/e2e */
#include <string.h>

#include "emit/internal.h"
#include "ir/asm/print/print.h"

/* |value| where it has the sign, 0 else; of -2^63 too. */
static uint64_t magnitude(int64_t value, int sign)
{
    if (sign > 0) return value > 0 ? (uint64_t)value : 0;
    return value < 0 ? 0 - (uint64_t)value : 0;
}

/* The two runs over an expression: the first finds that int is too small for a part. */
typedef struct AffinePrinter {
    Emitter *e;
    const Counters *counters;
    uint32_t dims;
    bool is_wide; /* computes in long long */
    Wide most;    /* the largest magnitude of a part */
} AffinePrinter;

static void note_size(AffinePrinter *p, Wide size)
{
    p->most = wide_max(p->most, size);
}

static void note_bounds(AffinePrinter *p, const AffineExpr *expr)
{
    int64_t low, high;
    affine_bounds(expr, p->counters->extents, &low, &high);
    bool fits = low > INT64_MIN && high < INT64_MAX;
    note_size(p, fits ? wide_max(high, -(Wide)low) : wide_pow2(64));
}

/* Whether to print an expression again, now in long long. */
static bool prints_again(AffinePrinter *p)
{
    bool again = !p->is_wide && p->most > INT32_MAX;
    p->is_wide |= again;
    return again;
}

static const char *checked(const AffinePrinter *p, const char *text)
{
    if (p->most <= INT64_MAX) return text;
    op_error(p->counters->op, "has no C++ form: its indices may be too large for 64 bits");
    return NULL;
}

/* A counter times a positive coefficient. Those beyond int are of a larger type. */
static void add_term(const AffinePrinter *p, uint32_t dim, uint64_t coeff, StrBuf *text)
{
    bool is_int = p->counters->extents[dim] <= INT32_MAX;
    if (coeff == 1 && p->is_wide && is_int) strbuf_add_c(text, "(long long)");
    strbuf_add_c(text, p->counters->names[dim]);
    if (coeff != 1)
        strbuf_printf(text, " * %llu%s", (unsigned long long)coeff, p->is_wide ? "LL" : "");
}

/* sum of terms with positive coefficients, "0" if there is none */
static const char *linear_sum(AffinePrinter *p, const int64_t *coeffs, int64_t constant, int sign,
                              uint32_t *terms)
{
    StrBuf text = {0};
    Wide most = (Wide)magnitude(constant, sign);
    *terms = 0;
    for (uint32_t i = 0; i < p->dims; i++) {
        uint64_t c = magnitude(coeffs[i], sign);
        if (c == 0) continue;
        strbuf_add_c(&text, (*terms)++ ? " + " : "");
        add_term(p, i, c, &text);
        most = wide_min(most + (Wide)c * i64_max(p->counters->extents[i] - 1, 1), wide_pow2(64));
    }
    if (magnitude(constant, sign) > 0 || *terms == 0) {
        strbuf_add_c(&text, (*terms)++ ? " + " : "");
        strbuf_printf(&text, "%llu%s", (unsigned long long)magnitude(constant, sign),
                      p->is_wide ? "LL" : "");
    }
    note_size(p, most);
    const char *copy = arena_copy(&p->e->arena, text.data, text.len + 1);
    strbuf_free(&text);
    return copy;
}

static const char *enclose(Emitter *e, const char *text, Prec have, Prec want)
{
    return have >= want ? text : emit_arena_printf(&e->arena, "(%s)", text);
}

static const char *affine(AffinePrinter *p, const AffineExpr *expr, Prec prec);

/* C++ divides towards zero: a multiple of the divisor makes the dividend non-negative first. */
static const char *affine_division(AffinePrinter *p, const AffineExpr *expr, Prec prec)
{
    Emitter *e = p->e;
    int64_t low, high, divisor = expr->rhs->value;
    affine_bounds(expr->lhs, p->counters->extents, &low, &high);
    low = i64_max(low, -(INT64_C(1) << 61)); /* counters get nowhere near it */
    int64_t lift = low < 0 ? (-low + divisor - 1) / divisor : 0;
    const AffineExpr *lifted = affine_add_c(expr->lhs, lift * divisor);
    const char *inner = affine(p, lifted, PREC_MUL);
    const char *text = emit_arena_printf(&e->arena, "%s %s %lld", inner,
                                         expr->kind == AFFINE_MOD ? "%" : "/", (long long)divisor);
    note_bounds(p, lifted);
    if (expr->kind == AFFINE_MOD || lift == 0) return enclose(e, text, PREC_MUL, prec);
    return enclose(e, emit_arena_printf(&e->arena, "%s - %lld", text, (long long)lift), PREC_ADD,
                   prec);
}

static const char *linear(AffinePrinter *p, const int64_t *coeffs, int64_t constant, Prec prec)
{
    Emitter *e = p->e;
    uint32_t plus, minus;
    const char *positive = linear_sum(p, coeffs, constant, 1, &plus);
    const char *negative = linear_sum(p, coeffs, constant, -1, &minus);
    bool subtracts = minus > 1 || negative[0] != '0';
    bool single = !subtracts && plus == 1;
    if (subtracts)
        positive =
            emit_arena_printf(&e->arena, minus > 1 ? "%s - (%s)" : "%s - %s", positive, negative);
    bool product = single && strchr(positive, '*');
    Prec own = product                        ? PREC_MUL
               : single && positive[0] == '(' ? PREC_UNARY
               : single                       ? PREC_PRIMARY
                                              : PREC_ADD;
    return enclose(e, positive, own, prec);
}

static const char *affine(AffinePrinter *p, const AffineExpr *expr, Prec prec)
{
    Emitter *e = p->e;
    int64_t *coeffs = ARENA_ARRAY(&e->arena, int64_t, p->dims + 1), constant;
    if (affine_linear(expr, p->dims, coeffs, &constant)) return linear(p, coeffs, constant, prec);
    if (expr->kind == AFFINE_MOD || expr->kind == AFFINE_FLOORDIV)
        return affine_division(p, expr, prec);
    if (expr->kind == AFFINE_CEILDIV) {
        const AffineExpr *up = affine_add_c(expr->lhs, expr->rhs->value - 1);
        return affine(p, affine_floordiv(up, expr->rhs), prec);
    }
    Prec own = expr->kind == AFFINE_MUL ? PREC_MUL : PREC_ADD;
    const char *text = emit_arena_printf(&e->arena, "%s %s %s", affine(p, expr->lhs, own),
                                         expr->kind == AFFINE_MUL ? "*" : "+",
                                         affine(p, expr->rhs, (Prec)(own + 1)));
    note_bounds(p, expr);
    return enclose(e, text, own, prec);
}

const char *cpp_affine(Emitter *e, const AffineExpr *expr, uint32_t dims, const Counters *counters,
                       Prec prec)
{
    AffinePrinter p = {.e = e, .counters = counters, .dims = dims};
    const char *text;
    do text = affine(&p, expr, prec);
    while (prints_again(&p));
    return checked(&p, text);
}

/* One constraint with its negative terms on the right: a - b >= 0 -> a >= b. */
static const char *constraint(AffinePrinter *p, const AffineExpr *expr, bool is_eq)
{
    int64_t *coeffs = ARENA_ARRAY(&p->e->arena, int64_t, p->dims + 1), constant;
    const char *sign = is_eq ? "==" : ">=";
    uint32_t terms;
    if (!affine_linear(expr, p->dims, coeffs, &constant))
        return emit_arena_printf(&p->e->arena, "%s %s 0", affine(p, expr, PREC_SHIFT), sign);
    bool any_positive = false;
    for (uint32_t i = 0; i < p->dims; i++) any_positive |= coeffs[i] > 0;
    const char *left = linear_sum(p, coeffs, constant, 1, &terms);
    const char *right = linear_sum(p, coeffs, constant, -1, &terms);
    if (any_positive) return emit_arena_printf(&p->e->arena, "%s %s %s", left, sign, right);
    /* c - x >= 0 reads better as x <= c */
    return emit_arena_printf(&p->e->arena, "%s %s %s", right, is_eq ? "==" : "<=", left);
}

const char *cpp_condition(Emitter *e, const IntegerSet *set, const Counters *counters)
{
    const char *text = NULL;
    for (uint32_t i = 0; i < set->constraint_count; i++) {
        AffinePrinter p = {.e = e, .counters = counters, .dims = set->dim_count};
        const char *one;
        do one = constraint(&p, set->constraints[i], set->is_eq[i]);
        while (prints_again(&p));
        if (!checked(&p, one)) return NULL;
        text = text ? emit_arena_printf(&e->arena, "%s && %s", text, one) : one;
    }
    return text ? text : "true";
}
