/* Names from models become harmless identifiers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/analysis.h"

static void check(const char *raw, const char *want)
{
    StrBuf text = {0};
    identifier_append(&text, str_from(raw));
    assert_string_equal(text.data, want);
    strbuf_free(&text);
}

static void separators_collapse(void **state)
{
    (void)state;
    check("/conv1/Conv", "conv1_conv");
    check("a..b--c__d", "a_b_c_d");
    check("trailing/", "trailing");
}

static void never_empty_nor_a_number(void **state)
{
    (void)state;
    check("", "layer");
    check("///", "layer");
    check("123", "n123");
}

static void keywords_are_avoided(void **state)
{
    (void)state;
    check("int", "int_layer");
    check("Template", "template_layer");
    check("main", "main_layer");
}

static void attacks_are_harmless(void **state)
{
    (void)state;
    check("x\"); system(\"rm\"); //", "x_system_rm");
    check("*/ int main() {}", "int_main");
    check("$(touch x)\n`y`", "touch_x_y");
}

static void length_is_bounded(void **state)
{
    (void)state;
    char raw[1000];
    StrBuf text = {0};
    memset(raw, 'a', sizeof(raw) - 1);
    raw[sizeof(raw) - 1] = '\0';
    identifier_append(&text, str_from(raw));
    assert_int_equal(text.len, NAME_MAX_LENGTH);
    strbuf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(separators_collapse),  cmocka_unit_test(never_empty_nor_a_number),
        cmocka_unit_test(keywords_are_avoided), cmocka_unit_test(attacks_are_harmless),
        cmocka_unit_test(length_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
