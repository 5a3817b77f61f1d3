/* Text in charts, whatever bytes it holds; numbers and the distance of ticks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ir/support/support.h"

static void expect_text(StrBuf *out, const char *want)
{
    assert_string_equal(out->data ? out->data : "", want);
    strbuf_free(out);
}

static void expect_escaped(Str text, const char *want)
{
    StrBuf out = {0};
    svg_add_text(&out, text);
    expect_text(&out, want);
}

static void expect_short(Str text, size_t most, const char *want)
{
    StrBuf out = {0};
    svg_add_short_text(&out, text, most);
    expect_text(&out, want);
}

static void expect_scaled(double value, const char *want)
{
    StrBuf out = {0};
    svg_add_scaled(&out, value);
    expect_text(&out, want);
}

static void test_text(void **state)
{
    (void)state;
    expect_escaped(STR("a<b>&\"'c"), "a&#60;b&#62;&#38;&#34;&#39;c");
    expect_escaped(STR("\xc3\xa9\xf0\x9f\x98\x80"), "\xc3\xa9\xf0\x9f\x98\x80");
    /* control characters, no UTF-8, U+FFFE, U+FFFD itself */
    expect_escaped(STR("\n\x01\x7f"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    expect_escaped(STR("\xc3(\x80"), "\xef\xbf\xbd(\xef\xbf\xbd");
    expect_escaped(STR("\xef\xbf\xbe"), "\xef\xbf\xbd");
    expect_escaped(STR("\xef\xbf\xbd"), "\xef\xbf\xbd");
}

static void test_short_text(void **state)
{
    (void)state;
    expect_short(STR("abcdef"), 6, "abcdef");
    expect_short(STR("abcdefg"), 6,
                 "abc\xe2\x80\xa6"
                 "fg");
    expect_short(STR("abcdefg"), 5,
                 "ab\xe2\x80\xa6"
                 "fg");
    expect_short(STR("\xc3\xa9\xc3\xa9&\xff\xc3\xa8"), 3, "\xc3\xa9\xe2\x80\xa6\xc3\xa8");
    assert_int_equal(svg_text_length(STR("\xc3\xa9x\xff"), 9), 3);
    assert_int_equal(svg_text_length(STR("\xc3\xa9x\xff"), 2), 2);
    assert_int_equal(svg_text_length(STR(""), 2), 0);
}

static void test_numbers(void **state)
{
    (void)state;
    expect_scaled(0, "0");
    expect_scaled(999, "999");
    expect_scaled(1500, "1.5k");
    expect_scaled(2e6, "2M");
    expect_scaled(5e15, "5000T");
    assert_int_equal(svg_tick_step(0, 10), 1);
    assert_int_equal(svg_tick_step(9, 10), 1);
    assert_int_equal(svg_tick_step(10, 10), 2);
    assert_int_equal(svg_tick_step(47628, 11), 5000);
    assert_int_equal(svg_tick_step(847075, 11), 100000);
    assert_true(svg_tick_step(INT64_MAX, 11) >= INT64_MAX / 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text),
                                       cmocka_unit_test(test_short_text),
                                       cmocka_unit_test(test_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
