/* Affine expressions, maps and sets: text after simplification as mlir-opt 19 gives it, and
 * the properties that must hold whatever was simplified: values, bounds, inverses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ir/attr/attr.h"
#include "test/unit/random.h"

static int make_context(void **state)
{
    *state = context_create();
    return 0;
}

static int drop_context(void **state)
{
    context_destroy(*state);
    return 0;
}

#define STACK_MAX 16

static const AffineExpr *leaf_of(Context *ctx, const char *word)
{
    if (word[0] == 'd') return affine_dim(ctx, (uint32_t)strtoul(word + 1, NULL, 10));
    if (word[0] == 's') return affine_symbol(ctx, (uint32_t)strtoul(word + 1, NULL, 10));
    return affine_const(ctx, strtoll(word, NULL, 10));
}

static const AffineExpr *binary_of(const char *word, const AffineExpr *a, const AffineExpr *b)
{
    if (strcmp(word, "+") == 0) return affine_add(a, b);
    if (strcmp(word, "-") == 0) return affine_sub(a, b);
    if (strcmp(word, "*") == 0) return affine_mul(a, b);
    if (strcmp(word, "mod") == 0) return affine_mod(a, b);
    if (strcmp(word, "floordiv") == 0) return affine_floordiv(a, b);
    return strcmp(word, "ceildiv") == 0 ? affine_ceildiv(a, b) : NULL;
}

/* "d0 2 * d1 +": operands before operators; neg negates. */
static const AffineExpr *expr_of(Context *ctx, const char *postfix)
{
    const AffineExpr *stack[STACK_MAX];
    size_t depth = 0;
    char text[128];
    assert_true(strlen(postfix) < sizeof(text));
    strcpy(text, postfix);
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        const AffineExpr *result = NULL;
        if (strcmp(word, "neg") == 0)
            result = affine_neg(stack[--depth]);
        else if (depth >= 2 && (result = binary_of(word, stack[depth - 2], stack[depth - 1])))
            depth -= 2;
        else
            result = leaf_of(ctx, word);
        stack[depth++] = result;
        assert_true(depth < STACK_MAX);
    }
    assert_int_equal(depth, 1);
    return stack[0];
}

static void assert_expr(const AffineExpr *expr, const char *expected)
{
    StrBuf text = {0};
    affine_print(&text, expr);
    assert_string_equal(text.data, expected);
    strbuf_free(&text);
}

static void assert_map(const AffineMap *map, const char *expected)
{
    StrBuf text = {0};
    map_print(&text, map);
    assert_string_equal(text.data, expected);
    strbuf_free(&text);
}

typedef struct Row {
    const char *postfix, *text;
} Row;

static const Row rows[] = {
    {"d0 d1 +", "d0 + d1"},
    {"d0 1 +", "d0 + 1"},
    {"1 d0 +", "d0 + 1"},
    {"s0 d0 +", "d0 + s0"},
    {"d0 s0 +", "d0 + s0"},
    {"3 4 +", "7"},
    {"d0 0 +", "d0"},
    {"d0 2 + 3 +", "d0 + 5"},
    {"d0 2 + d1 +", "d0 + d1 + 2"},
    {"d0 2 + s0 +", "d0 + s0 + 2"},
    {"d0 d0 +", "d0 * 2"},
    {"d0 2 * d0 +", "d0 * 3"},
    {"d0 2 * d0 3 * +", "d0 * 5"},
    {"d0 d1 + d0 d1 + +", "(d0 + d1) * 2"},
    {"d0 d0 -", "0"},
    {"d0 d1 -", "d0 - d1"},
    {"d0 5 -", "d0 - 5"},
    {"0 d0 -", "-d0"},
    {"d0 neg 1 +", "-d0 + 1"},
    {"d0 d1 2 * -", "d0 - d1 * 2"},
    {"d0 d1 d2 + -", "d0 - (d1 + d2)"},
    {"d0 d1 d2 + 2 * -", "d0 - (d1 + d2) * 2"},
    {"d0 neg neg", "d0"},
    {"d0 d1 neg +", "d0 - d1"},
    {"d0 d1 + neg", "-(d0 + d1)"},
    {"2 d0 *", "d0 * 2"},
    {"d0 1 *", "d0"},
    {"d0 0 *", "0"},
    {"d0 2 * 3 *", "d0 * 6"},
    {"d0 2 * s0 *", "(d0 * s0) * 2"},
    {"s0 d0 *", "d0 * s0"},
    {"s0 s1 *", "s0 * s1"},
    {"d0 d1 + 2 *", "(d0 + d1) * 2"},
    {"d0 d1 + 2 * d2 +", "(d0 + d1) * 2 + d2"},
    {"d0 -1 *", "-d0"},
    {"d0 -2 *", "d0 * -2"},
    {"d1 d0 -2 * +", "d1 - d0 * 2"},
    {"d0 s0 * -1 *", "-(d0 * s0)"},
    {"d0 s0 + s1 *", "(d0 + s0) * s1"},
    {"d0 4 mod", "d0 mod 4"},
    {"d0 1 mod", "0"},
    {"d0 -4 mod", "d0 mod -4"},
    {"d0 0 mod", "d0 mod 0"},
    {"-7 4 mod", "1"},
    {"d0 8 * 4 mod", "0"},
    {"d0 4 * d1 + 4 mod", "d1 mod 4"},
    {"d1 d0 4 * + 4 mod", "d1 mod 4"},
    {"d0 8 mod 4 mod", "d0 mod 4"},
    {"d0 6 mod 4 mod", "(d0 mod 6) mod 4"},
    {"d0 4 mod 4 mod", "d0 mod 4"},
    {"d0 6 * 4 mod", "(d0 * 6) mod 4"},
    {"d0 4 * 6 mod d1 12 * + 2 mod", "0"},
    {"d0 s0 mod", "d0 mod s0"},
    {"d0 d1 + 3 mod", "(d0 + d1) mod 3"},
    {"d0 2 + 2 mod", "d0 mod 2"},
    {"d0 4 floordiv", "d0 floordiv 4"},
    {"d0 1 floordiv", "d0"},
    {"d0 0 floordiv", "d0 floordiv 0"},
    {"-7 4 floordiv", "-2"},
    {"-7 -4 floordiv", "1"},
    {"d0 8 * 4 floordiv", "d0 * 2"},
    {"d0 -8 * 4 floordiv", "d0 * -2"},
    {"d0 8 * -4 floordiv", "d0 * -2"},
    {"d0 4 * d1 + 4 floordiv", "d0 + d1 floordiv 4"},
    {"d0 d1 4 * + 4 floordiv", "d0 floordiv 4 + d1"},
    {"d0 4 * 2 + 4 floordiv", "d0"},
    {"d0 6 + 4 floordiv", "(d0 + 6) floordiv 4"},
    {"d0 s0 floordiv", "d0 floordiv s0"},
    {"d0 4 * d1 6 * + 2 floordiv", "d0 * 2 + d1 * 3"},
    {"d0 4 floordiv 2 floordiv", "(d0 floordiv 4) floordiv 2"},
    {"d0 d1 + 2 floordiv 3 *", "((d0 + d1) floordiv 2) * 3"},
    {"d0 4 ceildiv", "d0 ceildiv 4"},
    {"d0 1 ceildiv", "d0"},
    {"-7 4 ceildiv", "-1"},
    {"7 4 ceildiv", "2"},
    {"7 -4 ceildiv", "-1"},
    {"d0 8 * 4 ceildiv", "d0 * 2"},
    {"d0 4 * d1 + 4 ceildiv", "(d0 * 4 + d1) ceildiv 4"},
    {"d0 s0 ceildiv", "d0 ceildiv s0"},
    {"d0 d0 3 floordiv 3 * -", "d0 mod 3"},
    {"d0 d0 3 floordiv -3 * +", "d0 mod 3"},
    {"d0 d0 s0 floordiv s0 * -", "d0 mod s0"},
    {"d0 d1 + d0 d1 + 5 floordiv 5 * -", "(d0 + d1) mod 5"},
    {"d0 d1 3 floordiv 3 * -", "d0 - (d1 floordiv 3) * 3"},
    {"d0 d0 3 floordiv 4 * -", "d0 - (d0 floordiv 3) * 4"},
    {"d0 d0 s0 floordiv s0 neg * +", "d0 mod s0"},
    {"d0 2 * d1 + 3 -", "d0 * 2 + d1 - 3"},
    {"d0 4 floordiv d1 8 mod + 2 *", "(d0 floordiv 4 + d1 mod 8) * 2"},
    {"s0 2 + s1 *", "(s0 + 2) * s1"},
    {"d0 3 ceildiv neg", "-(d0 ceildiv 3)"},
    {"d0 2 mod neg 1 +", "-(d0 mod 2) + 1"},
    {"d0 s0 - s1 - 7 +", "d0 - s0 - s1 + 7"},
    {"9223372036854775807 1 +", "9223372036854775807 + 1"},
    {"4611686018427387904 2 *", "4611686018427387904 * 2"},
    {"d0 9223372036854775807 * 2 *", "d0 * -2"},
};

static void simplifies_and_prints_as_upstream(void **state)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_expr(expr_of(*state, rows[i].postfix), rows[i].text);
}

static void equal_expressions_are_one(void **state)
{
    Context *ctx = *state;
    assert_ptr_equal(expr_of(ctx, "d0 d1 +"), expr_of(ctx, "d0 d1 +"));
    assert_ptr_equal(expr_of(ctx, "d0 2 + 3 +"), expr_of(ctx, "5 d0 +"));
    assert_ptr_not_equal(affine_dim(ctx, 0), affine_symbol(ctx, 0));
    assert_ptr_not_equal(expr_of(ctx, "d0 d1 +"), expr_of(ctx, "d1 d0 +"));
    Context *other = context_create();
    assert_ptr_not_equal(affine_dim(ctx, 0), affine_dim(other, 0));
    context_destroy(other);
}

/* An expression built with simplification next to its value computed without. */
typedef struct Sample {
    const AffineExpr *expr;
    int64_t value;
    bool is_valid; /* no division by zero or modulus below 1 on the way */
} Sample;

static const int64_t sample_dims[3] = {5, 11, 2}, sample_symbols[2] = {3, 7};

static Sample leaf_sample(Context *ctx, Random *random)
{
    uint32_t position;
    switch (random_below(random, 3)) {
    case 0:
        position = random_below(random, 3);
        return (Sample){affine_dim(ctx, position), sample_dims[position], true};
    case 1:
        position = random_below(random, 2);
        return (Sample){affine_symbol(ctx, position), sample_symbols[position], true};
    default: {
        int64_t value = (int64_t)random_below(random, 17) - 4;
        return (Sample){affine_const(ctx, value), value, true};
    }
    }
}

static Sample divide_samples(Sample a, Sample b, uint32_t choice)
{
    Sample out = {NULL, 0, a.is_valid && b.is_valid};
    if (choice == 0) {
        out.expr = affine_floordiv(a.expr, b.expr);
        out.is_valid = i64_floordiv(a.value, b.value, &out.value) && out.is_valid;
    } else if (choice == 1) {
        out.expr = affine_ceildiv(a.expr, b.expr);
        out.is_valid = i64_ceildiv(a.value, b.value, &out.value) && out.is_valid;
    } else {
        out.expr = affine_mod(a.expr, b.expr);
        out.is_valid = out.is_valid && b.value >= 1;
        out.value = out.is_valid ? i64_mod(a.value, b.value) : 0;
    }
    return out;
}

static Sample random_sample(Context *ctx, Random *random, int depth)
{
    if (depth == 0) return leaf_sample(ctx, random);
    Sample a = random_sample(ctx, random, depth - 1), b = random_sample(ctx, random, depth - 1);
    bool is_valid = a.is_valid && b.is_valid;
    switch (random_below(random, 6)) {
    case 0:
    case 1: return (Sample){affine_add(a.expr, b.expr), a.value + b.value, is_valid};
    case 2: /* often a - (a floordiv q) * q */
        if (random_below(random, 2) && b.is_valid && b.value > 0) {
            Sample quotient = divide_samples(a, b, 0);
            return (Sample){affine_sub(a.expr, affine_mul(quotient.expr, b.expr)),
                            a.value - quotient.value * b.value, quotient.is_valid};
        }
        return (Sample){affine_sub(a.expr, b.expr), a.value - b.value, is_valid};
    case 3: return (Sample){affine_mul(a.expr, b.expr), a.value * b.value, is_valid};
    default: return divide_samples(a, b, random_below(random, 3));
    }
}

static void simplification_keeps_values(void **state)
{
    Random random = {1};
    uint32_t checked = 0;
    for (int i = 0; i < 50000; i++) {
        Sample sample = random_sample(*state, &random, (int)random_below(&random, 5));
        int64_t value;
        if (!sample.is_valid) continue;
        checked++;
        assert_true(affine_eval(sample.expr, sample_dims, sample_symbols, &value));
        assert_int_equal(value, sample.value);
        if (sample.expr->divisor > 0)
            assert_int_equal(value % (int64_t)sample.expr->divisor, 0);
        else
            assert_int_equal(value, 0);
    }
    assert_true(checked > 20000);
}

static void simplified_sums_keep_values(void **state)
{
    Random random = {2};
    for (int i = 0; i < 20000; i++) {
        Sample sample = random_sample(*state, &random, (int)random_below(&random, 5));
        int64_t value;
        if (!sample.is_valid) continue;
        const AffineExpr *simple =
            affine_simplify(sample.expr, COUNT_OF(sample_dims), COUNT_OF(sample_symbols));
        assert_true(affine_eval(simple, sample_dims, sample_symbols, &value));
        assert_int_equal(value, sample.value);
    }
}

static void simplified_sums_collect_terms(void **state)
{
    static const Row sums[] = {
        {"d1 d0 + d1 +", "d0 + d1 * 2"},
        {"s0 d0 + 3 + d0 -", "s0 + 3"},
        {"d0 4 * d1 + d0 - 6 * 3 floordiv", "d0 * 6 + d1 * 2"},
        {"d0 2 * 4 mod", "d0 * 2 - (d0 floordiv 2) * 4"},
        {"d0 4 floordiv 4 * d1 + d0 4 mod +", "d0 + d1"},
        {"s0 s1 * d0 + s0 s1 * -", "d0"},
        {"d0 4 floordiv 2 * d1 + d0 4 floordiv 2 * + d1 - 1 + 4 mod", "1"},
    };
    for (size_t i = 0; i < COUNT_OF(sums); i++)
        assert_expr(affine_simplify(expr_of(*state, sums[i].postfix), 2, 2), sums[i].text);
}

static void substitution_equals_evaluation(void **state)
{
    Context *ctx = *state;
    Random random = {2};
    const AffineExpr *dims[3], *symbols[2];
    for (uint32_t i = 0; i < 3; i++) dims[i] = affine_const(ctx, sample_dims[i]);
    for (uint32_t i = 0; i < 2; i++) symbols[i] = affine_const(ctx, sample_symbols[i]);
    for (int i = 0; i < 5000; i++) {
        Sample sample = random_sample(ctx, &random, 3);
        if (!sample.is_valid) continue;
        const AffineExpr *result = affine_replace(sample.expr, dims, 3, symbols, 2);
        assert_true(affine_is_const(result));
        assert_int_equal(result->value, sample.value);
        assert_ptr_equal(affine_replace(sample.expr, NULL, 0, NULL, 0), sample.expr);
    }
}

static void predicates_hold(void **state)
{
    Context *ctx = *state;
    assert_true(affine_is_symbolic(expr_of(ctx, "s0 3 + s1 floordiv")));
    assert_false(affine_is_symbolic(expr_of(ctx, "d0 s0 +")));
    assert_true(affine_is_pure(expr_of(ctx, "d0 3 floordiv 2 * s0 +")));
    assert_false(affine_is_pure(expr_of(ctx, "d0 s0 *")));
    assert_false(affine_is_pure(expr_of(ctx, "d0 s0 mod 1 +")));
    assert_true(affine_uses_dim(expr_of(ctx, "d0 d3 4 mod +"), 3));
    assert_false(affine_uses_dim(expr_of(ctx, "d0 s3 +"), 3));
    assert_true(affine_uses_symbol(expr_of(ctx, "d0 s3 +"), 3));
    assert_false(affine_uses_symbol(expr_of(ctx, "d3 s0 +"), 3));
    assert_int_equal(expr_of(ctx, "d0 d1 + d2 +")->depth, 2);
}

static void evaluation_fails_rather_than_lies(void **state)
{
    Context *ctx = *state;
    int64_t dims[] = {INT64_MAX, 0}, value;
    assert_false(affine_eval(expr_of(ctx, "d0 1 +"), dims, NULL, &value));
    assert_false(affine_eval(expr_of(ctx, "d0 2 *"), dims, NULL, &value));
    assert_false(affine_eval(expr_of(ctx, "d0 0 floordiv"), dims, NULL, &value));
    assert_false(affine_eval(expr_of(ctx, "d0 -3 mod"), dims, NULL, &value));
}

static void linear_coefficients_are_found(void **state)
{
    Context *ctx = *state;
    int64_t coeffs[3], constant;
    assert_true(affine_linear(expr_of(ctx, "d0 2 * d2 - 7 + d0 +"), 3, coeffs, &constant));
    assert_int_equal(coeffs[0], 3);
    assert_int_equal(coeffs[1], 0);
    assert_int_equal(coeffs[2], -1);
    assert_int_equal(constant, 7);
    assert_true(affine_linear(expr_of(ctx, "d0 d1 + 3 * 2 + -2 *"), 3, coeffs, &constant));
    assert_int_equal(coeffs[1], -6);
    assert_int_equal(constant, -4);
    assert_false(affine_linear(expr_of(ctx, "d0 s0 +"), 3, coeffs, &constant));
    assert_false(affine_linear(expr_of(ctx, "d0 3 mod"), 3, coeffs, &constant));
    assert_false(affine_linear(expr_of(ctx, "d0 3 floordiv"), 3, coeffs, &constant));
    assert_false(affine_linear(expr_of(ctx, "d0 d3 +"), 3, coeffs, &constant));
    assert_false(
        affine_linear(expr_of(ctx, "d0 9223372036854775807 * d1 + d0 +"), 3, coeffs, &constant));
}

/* Smallest and largest value by trying all points; false when some point has none. */
static bool bounds_by_trial(const AffineExpr *expr, const int64_t extents[3], int64_t *min,
                            int64_t *max)
{
    int64_t at[3], value;
    *min = INT64_MAX;
    *max = INT64_MIN;
    for (at[0] = 0; at[0] < extents[0]; at[0]++)
        for (at[1] = 0; at[1] < extents[1]; at[1]++)
            for (at[2] = 0; at[2] < extents[2]; at[2]++) {
                if (!affine_eval(expr, at, sample_symbols, &value)) return false;
                *min = value < *min ? value : *min;
                *max = value > *max ? value : *max;
            }
    return true;
}

static void bounds_contain_all_values(void **state)
{
    Context *ctx = *state;
    Random random = {3};
    const AffineExpr *symbols[2] = {affine_const(ctx, 3), affine_const(ctx, 7)};
    for (int i = 0; i < 4000; i++) {
        int64_t extents[3], min, max, least, most, coeffs[3], constant;
        for (int k = 0; k < 3; k++) extents[k] = 1 + random_below(&random, 6);
        Sample sample = random_sample(ctx, &random, (int)random_below(&random, 4));
        const AffineExpr *expr = affine_replace(sample.expr, NULL, 0, symbols, 2);
        if (!bounds_by_trial(expr, extents, &least, &most)) continue;
        affine_bounds(expr, extents, &min, &max);
        assert_true(min <= least && max >= most);
        if (affine_linear(expr, 3, coeffs, &constant)) {
            assert_int_equal(min, least);
            assert_int_equal(max, most);
        }
    }
}

typedef struct BoundsRow {
    const char *postfix;
    int64_t min, max; /* for extents 10, 4 and an unbounded one */
} BoundsRow;

static const BoundsRow bounds_rows[] = {
    {"d0 2 * d1 + 1 -", -1, 20},
    {"d0 d1 + d0 -", 0, 3},
    {"d0 neg", -9, 0},
    {"d0 4 mod", 0, 3},
    {"d1 8 mod", 0, 3},
    {"d1 4 + 4 mod", 0, 3},
    {"d1 5 + 10 mod", 5, 8},
    {"d0 4 floordiv", 0, 2},
    {"d0 4 ceildiv", 0, 3},
    {"d0 -4 floordiv", -3, 0},
    {"d2", 0, INT64_MAX},
    {"d2 -2 * 1 +", INT64_MIN, 1},
    {"d2 4 mod d0 +", 0, 12},
    {"d2 7 floordiv", 0, INT64_MAX},
    {"d0 0 floordiv", INT64_MIN, INT64_MAX},
};

static void bounds_are_tight_where_promised(void **state)
{
    const int64_t extents[] = {10, 4, -1};
    for (size_t i = 0; i < COUNT_OF(bounds_rows); i++) {
        int64_t min, max;
        affine_bounds(expr_of(*state, bounds_rows[i].postfix), extents, &min, &max);
        assert_int_equal(min, bounds_rows[i].min);
        assert_int_equal(max, bounds_rows[i].max);
    }
}

static const AffineMap *map_of(Context *ctx, uint32_t dims, uint32_t symbols, const char *a,
                               const char *b)
{
    const AffineExpr *results[2] = {NULL, NULL};
    uint32_t count = 0;
    if (a) results[count++] = expr_of(ctx, a);
    if (b) results[count++] = expr_of(ctx, b);
    return map_get(ctx, dims, symbols, count, results);
}

static void maps_print_and_are_uniqued(void **state)
{
    Context *ctx = *state;
    assert_map(map_of(ctx, 0, 0, NULL, NULL), "() -> ()");
    assert_map(map_constant(ctx, -3), "() -> (-3)");
    assert_map(map_identity(ctx, 3), "(d0, d1, d2) -> (d0, d1, d2)");
    assert_map(map_of(ctx, 2, 1, "d0 s0 +", "d1 4 mod"), "(d0, d1)[s0] -> (d0 + s0, d1 mod 4)");
    assert_map(map_of(ctx, 0, 2, "s1", NULL), "()[s0, s1] -> (s1)");
    assert_map(map_permutation(ctx, 3, (uint32_t[]){2, 0, 1}), "(d0, d1, d2) -> (d2, d0, d1)");
    assert_ptr_equal(map_identity(ctx, 2), map_of(ctx, 2, 0, "d0", "d1"));
    assert_ptr_not_equal(map_of(ctx, 1, 0, "d0", NULL), map_of(ctx, 2, 0, "d0", NULL));
    assert_ptr_not_equal(map_of(ctx, 1, 0, "d0", NULL), map_of(ctx, 1, 1, "d0", NULL));
}

static void sets_print_and_decide(void **state)
{
    Context *ctx = *state;
    const AffineExpr *exprs[] = {expr_of(ctx, "d0 s0 -"), expr_of(ctx, "d1 2 mod")};
    const bool is_eq[] = {false, true};
    const IntegerSet *set = set_get(ctx, 2, 1, 2, exprs, is_eq);
    StrBuf text = {0};
    set_print(&text, set);
    assert_string_equal(text.data, "(d0, d1)[s0] : (d0 - s0 >= 0, d1 mod 2 == 0)");
    assert_ptr_equal(set, set_get(ctx, 2, 1, 2, exprs, is_eq));
    assert_ptr_not_equal(set, set_get(ctx, 2, 1, 2, exprs, (bool[]){true, true}));
    assert_true(set_contains(set, (int64_t[]){5, 4}, (int64_t[]){5}));
    assert_false(set_contains(set, (int64_t[]){4, 4}, (int64_t[]){5}));
    assert_false(set_contains(set, (int64_t[]){5, 3}, (int64_t[]){5}));
    strbuf_clear(&text);
    set_print(&text, set_get(ctx, 1, 0, 0, NULL, NULL));
    assert_string_equal(text.data, "(d0) : ()");
    strbuf_free(&text);
}

static void composition_applies_the_second_first(void **state)
{
    Context *ctx = *state;
    const AffineMap *f = map_of(ctx, 2, 1, "d0 d1 +", "d1 s0 *");
    const AffineMap *g = map_of(ctx, 1, 1, "d0 2 *", "d0 s0 +");
    assert_map(map_compose(f, g), "(d0)[s0, s1] -> (d0 * 2 + d0 + s1, (d0 + s1) * s0)");
    const AffineMap *identity = map_identity(ctx, 2);
    assert_ptr_equal(map_compose(identity, f), f);
    assert_ptr_equal(map_compose(f, identity), f);
    const AffineMap *both[] = {f, g};
    assert_map(map_concat(ctx, both, 2), "(d0, d1)[s0, s1] -> (d0 + d1, d1 * s0, d0 * 2, d0 + s1)");
}

static void permutations_are_recognised_and_inverted(void **state)
{
    Context *ctx = *state;
    const AffineMap *turn = map_permutation(ctx, 4, (uint32_t[]){2, 0, 3, 1});
    const AffineMap *back = map_inverse_permutation(turn);
    assert_ptr_equal(map_compose(back, turn), map_identity(ctx, 4));
    assert_ptr_equal(map_compose(turn, back), map_identity(ctx, 4));
    assert_true(map_is_permutation(turn) && !map_is_identity(turn));
    assert_true(map_is_identity(map_identity(ctx, 0)) && map_is_permutation(map_identity(ctx, 0)));
    assert_true(map_is_projected_permutation(map_of(ctx, 3, 0, "d2", "d0"), false));
    assert_false(map_is_projected_permutation(map_of(ctx, 3, 0, "d2", "d2"), false));
    assert_false(map_is_projected_permutation(map_of(ctx, 3, 0, "d2", "0"), false));
    assert_true(map_is_projected_permutation(map_of(ctx, 3, 0, "d2", "0"), true));
    assert_false(map_is_projected_permutation(map_of(ctx, 3, 0, "d2", "1"), true));
    assert_false(map_is_projected_permutation(map_of(ctx, 3, 1, "d2", "d0"), false));
    assert_int_equal(map_result_of_dim(turn, 3), 2);
    assert_int_equal(map_result_of_dim(map_of(ctx, 2, 0, "d0 1 +", "d1"), 0), -1);
}

static void inverse_reads_dims_from_any_map(void **state)
{
    Context *ctx = *state;
    const AffineMap *parts[] = {map_of(ctx, 3, 0, "d0", "d1 d2 +"), map_of(ctx, 3, 0, "d2", "d1")};
    const AffineMap *all = map_concat(ctx, parts, 2);
    assert_map(map_inverse_permutation(all), "(d0, d1, d2, d3) -> (d0, d3, d2)");
    assert_null(map_inverse_permutation(parts[0]));
    int64_t values[4];
    assert_true(map_eval(all, (int64_t[]){1, 2, 3}, NULL, values));
    assert_int_equal(values[1], 5);
    assert_int_equal(values[3], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simplifies_and_prints_as_upstream),
        cmocka_unit_test(equal_expressions_are_one),
        cmocka_unit_test(simplification_keeps_values),
        cmocka_unit_test(simplified_sums_keep_values),
        cmocka_unit_test(simplified_sums_collect_terms),
        cmocka_unit_test(substitution_equals_evaluation),
        cmocka_unit_test(predicates_hold),
        cmocka_unit_test(evaluation_fails_rather_than_lies),
        cmocka_unit_test(linear_coefficients_are_found),
        cmocka_unit_test(bounds_contain_all_values),
        cmocka_unit_test(bounds_are_tight_where_promised),
        cmocka_unit_test(maps_print_and_are_uniqued),
        cmocka_unit_test(sets_print_and_decide),
        cmocka_unit_test(composition_applies_the_second_first),
        cmocka_unit_test(permutations_are_recognised_and_inverted),
        cmocka_unit_test(inverse_reads_dims_from_any_map),
    };
    return cmocka_run_group_tests(tests, make_context, drop_context);
}
