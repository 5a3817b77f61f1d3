/* JSON strings, whatever bytes they hold, and the writer's commas and line breaks. */
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

static void expect_json(Str text, const char *want)
{
    StrBuf out = {0};
    json_add_string(&out, text);
    expect_text(&out, want);
}

static void test_json_string(void **state)
{
    (void)state;
    expect_json(STR("a\"\\\n\x7f/"), "\"a\\\"\\\\\\u000a\\u007f/\"");
    expect_json(STR("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
                "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
    /* cut off, overlong, surrogate, beyond U+10FFFF, lone continuation */
    expect_json(STR("\xc3"), "\"\\ufffd\"");
    expect_json(STR("\xc0\xaf"), "\"\\ufffd\\ufffd\"");
    expect_json(STR("\xe0\x80\xaf"), "\"\\ufffd\\ufffd\\ufffd\"");
    expect_json(STR("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");
    expect_json(STR("\xf4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
    expect_json(STR("x\x80y"), "\"x\\ufffdy\"");
}

/* Items follow each other on one line, a comma and a space between them. */
static void test_one_line(void **state)
{
    (void)state;
    StrBuf out = {0};
    JsonWriter w = {.out = &out};
    json_begin_object(&w);
    json_member_string(&w, "name", STR("a\"b"));
    json_member_int(&w, "least", INT64_MIN);
    json_member_bool(&w, "yes", true);
    json_member_bool(&w, "no", false);
    json_member_count(&w, "known", 7);
    json_member_count(&w, "unknown", -1);
    json_write_key(&w, STR("share"));
    json_write_number(&w, "%d.%02d", 3, 5);
    json_member_array(&w, "list");
    json_write_int(&w, 1);
    json_write_string(&w, STR("x"));
    json_write_null(&w);
    json_write_bool(&w, true);
    json_end_array(&w);
    json_end_object(&w);
    expect_text(&out, "{\"name\": \"a\\\"b\", \"least\": -9223372036854775808, \"yes\": true, "
                      "\"no\": false, \"known\": 7, \"unknown\": null, \"share\": 3.05, "
                      "\"list\": [1, \"x\", null, true]}");
}

/* The first item of what was just opened has no comma, what follows a closing bracket has one. */
static void test_nesting(void **state)
{
    (void)state;
    StrBuf out = {0};
    JsonWriter w = {.out = &out};
    json_begin_array(&w);
    json_begin_array(&w);
    json_end_array(&w);
    json_begin_object(&w);
    json_member_object(&w, "a");
    json_end_object(&w);
    json_member_array(&w, "b");
    json_begin_object(&w);
    json_end_object(&w);
    json_end_array(&w);
    json_end_object(&w);
    json_end_array(&w);
    expect_text(&out, "[[], {\"a\": {}, \"b\": [{}]}]");
}

static void test_lines(void **state)
{
    (void)state;
    StrBuf out = {0};
    JsonWriter w = {.out = &out};
    json_begin_object(&w);
    json_write_line(&w, 2);
    json_member_int(&w, "a", 1);
    json_member_int(&w, "b", 2);
    json_write_line(&w, 2);
    json_member_array(&w, "list");
    for (int i = 0; i < 2; i++) {
        json_write_line(&w, 4);
        json_begin_object(&w);
        json_member_int(&w, "i", i);
        json_write_line(&w, 5);
        json_member_int(&w, "j", i);
        json_end_object(&w);
    }
    json_write_line(&w, 2);
    json_end_array(&w);
    json_write_line(&w, 2);
    json_member_array(&w, "none");
    json_write_line(&w, 2);
    json_end_array(&w);
    json_write_line(&w, 0);
    json_end_object(&w);
    expect_text(&out, "{\n  \"a\": 1, \"b\": 2,\n  \"list\": [\n    {\"i\": 0,\n     \"j\": 0},\n"
                      "    {\"i\": 1,\n     \"j\": 1}\n  ],\n  \"none\": [\n  ]\n}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_string),
        cmocka_unit_test(test_one_line),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
