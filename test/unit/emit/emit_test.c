/* Text of the emitter: nothing foreign escapes from comments and strings; literals are exact;
 * which names a top function may have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "emit/internal.h"
#include "ir/support/support.h"

static void expect_text(StrBuf *got, const char *want)
{
    assert_string_equal(got->data ? got->data : "", want);
    strbuf_free(got);
}

static void expect_comment(Str text, const char *want)
{
    StrBuf out = {0};
    emit_comment_text(&out, text);
    expect_text(&out, want);
}

static void test_comment(void **state)
{
    (void)state;
    expect_comment(STR("conv1 3x3"), "conv1 3x3");
    expect_comment(STR("*/ int x; /*"), "* / int x; / *");
    expect_comment(STR("a\nb\rc\td\\"), "a b c d?");
    expect_comment(STR("\xe2\x80\xae\x01\x7f"), "? ? ? ? ?");
    expect_comment(STR("**//"), "** //");
    expect_comment(STR("?\?/"), "? ?/");
    expect_comment((Str){NULL, 0}, "");
}

static void test_string_literal(void **state)
{
    (void)state;
    StrBuf out = {0};
    emit_string_literal(&out, (Str){"a\"b\\c\n\0?1\xff", 10});
    expect_text(&out, "\"a\\\"b\\\\c\\012\\000\\?1\\377\"");
}

static void expect_float(double value, bool is_f32, const char *want)
{
    StrBuf out = {0};
    emit_float_literal(&out, value, is_f32);
    expect_text(&out, want);
}

static void test_float_literal(void **state)
{
    (void)state;
    expect_float(0.0078125, false, "0.0078125");
    expect_float(1, false, "1.0");
    expect_float(-0.0, true, "-0.0f");
    expect_float(0.1, false, "0.1");
    expect_float((double)0.1f, true, "0.100000001f");
    expect_float(1e300, false, "1e+300");
    expect_float((double)1e-45f, true, "1.40129846e-45f");
    expect_float(strtod("inf", NULL), true, "std::numeric_limits<float>::infinity()");
    expect_float(-strtod("inf", NULL), false, "-std::numeric_limits<double>::infinity()");
    expect_float(strtod("nan", NULL), false, "std::numeric_limits<double>::quiet_NaN()");
}

/* What is printed reads back as the same number. */
static void test_float_round_trip(void **state)
{
    (void)state;
    uint64_t bits = 1;
    for (int i = 0; i < 2000; i++) {
        double value;
        bits = hash_combine(bits, (uint64_t)i);
        memcpy(&value, &bits, sizeof(value));
        if (!(value - value == 0)) continue;
        StrBuf out = {0};
        emit_float_literal(&out, value, false);
        assert_true(strtod(out.data, NULL) == value);
        strbuf_free(&out);
    }
}

static void test_top_name(void **state)
{
    (void)state;
    static const char *const good[] = {"net", "MyTop", "a_b1", "Resnet_8"};
    static const char *const bad[] = {
        "",     "a b",  "../up",  "int",    "9lives", "x\"; touch y", "_x",         "a__b",
        "FILE", "main", "size_t", "ap_int", "hls_x",  "stdin",        "caf\xc3\xa9"};
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_true(emit_top_name_is_valid(str_from(good[i])));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(emit_top_name_is_valid(str_from(bad[i])));
}

static void test_fresh_name(void **state)
{
    (void)state;
    Emitter e = {0};
    const char *const used[] = {"x", "x_2"};
    arena_init(&e.arena);
    e.ctx = context_create();
    ptrmap_put(&e.taken, ident_get_c(e.ctx, "y"), &e);
    assert_string_equal(cpp_fresh_name(&e, STR("x"), used, 2), "x_3");
    assert_string_equal(cpp_fresh_name(&e, STR("X!"), used, 1), "x_2");
    assert_string_equal(cpp_fresh_name(&e, STR("y"), used, 2), "y_2");
    assert_string_equal(cpp_fresh_name(&e, STR("z"), NULL, 0), "z");
    ptrmap_free(&e.taken);
    arena_free(&e.arena);
    context_destroy(e.ctx);
}

/* The lowest number is given that is free, also behind a scope. */
static void test_scope(void **state)
{
    (void)state;
    Context *ctx = context_create();
    PtrMap outer = {0};
    NameScope scope = {0};
    ptrmap_put(&outer, ident_get_c(ctx, "y"), &outer);
    assert_string_equal(emit_scope_add(&scope, ctx, &outer, STR("x")), "x");
    assert_string_equal(emit_scope_add(&scope, ctx, &outer, STR("y")), "y_2");
    size_t mark = scope.changes.len;
    assert_string_equal(emit_scope_add(&scope, ctx, &outer, STR("x_2")), "x_2");
    assert_string_equal(emit_scope_add(&scope, ctx, &outer, STR("x")), "x_3");
    assert_string_equal(emit_scope_add(&scope, ctx, &outer, STR("x_2")), "x_2_2");
    assert_string_equal(emit_scope_add(&scope, ctx, &outer, STR("z")), "z");
    emit_scope_leave(&scope, mark);
    assert_string_equal(emit_scope_add(&scope, ctx, &outer, STR("x")), "x_2");
    assert_string_equal(emit_scope_add(&scope, ctx, &outer, STR("y")), "y_3");
    assert_string_equal(emit_scope_add(&scope, ctx, NULL, STR("z")), "z");
    emit_scope_free(&scope);
    ptrmap_free(&outer);
    context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comment),       cmocka_unit_test(test_string_literal),
        cmocka_unit_test(test_float_literal), cmocka_unit_test(test_float_round_trip),
        cmocka_unit_test(test_top_name),      cmocka_unit_test(test_fresh_name),
        cmocka_unit_test(test_scope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
