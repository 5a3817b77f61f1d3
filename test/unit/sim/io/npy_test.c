/* .npy files: what numpy writes is read, what is written is numpy's, hostile headers are
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sim/io/io.h"

/* A version 1 file with that dictionary and data. */
static void make_file(StrBuf *out, const char *dictionary, const void *data, size_t size)
{
    size_t length = strlen(dictionary);
    strbuf_clear(out);
    strbuf_add(out, "\x93NUMPY\1", 8);
    strbuf_add_char(out, (char)(length & 255));
    strbuf_add_char(out, (char)(length >> 8));
    strbuf_add(out, dictionary, length);
    strbuf_add(out, data, size);
}

static bool parse(const StrBuf *file, Npy *npy, StrBuf *why)
{
    strbuf_clear(why);
    return npy_parse(strbuf_str(file), npy, why);
}

static void every_type_is_read(void **state)
{
    const struct {
        const char *descr;
        unsigned char bytes[8];
        size_t size;
        double value;
    } cases[] = {
        {"|b1", {1}, 1, 1},
        {"|i1", {0xfe}, 1, -2},
        {"|u1", {0xfe}, 1, 254},
        {"<i2", {0, 0x80}, 2, -32768},
        {"<u2", {0, 0x80}, 2, 32768},
        {"<i4", {0xff, 0xff, 0xff, 0xff}, 4, -1},
        {"<u4", {0xff, 0xff, 0xff, 0xff}, 4, 4294967295.0},
        {"<i8", {5, 0, 0, 0, 0, 0, 0, 0}, 8, 5},
        {"<u8", {0, 0, 0, 0, 0, 0, 0, 0x80}, 8, 0x1p63},
        {"<f2", {0, 0x3e}, 2, 1.5},
        {"<f4", {0, 0, 0x20, 0xc0}, 4, -2.5},
        {"<f8", {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, 8, 1.0},
    };
    StrBuf file = {0}, why = {0}, text = {0};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Npy npy;
        strbuf_clear(&text);
        strbuf_printf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': ()}\n",
                      cases[i].descr);
        make_file(&file, text.data, cases[i].bytes, cases[i].size);
        assert_true(parse(&file, &npy, &why));
        assert_int_equal(npy.rank, 0);
        assert_true(npy_get_f64(&npy, 0) == cases[i].value);
        npy_free(&npy);
    }
    strbuf_free(&file);
    strbuf_free(&why);
    strbuf_free(&text);
}

static void fortran_order_becomes_row_major(void **state)
{
    const int8_t column_major[] = {1, 4, 2, 5, 3, 6};
    StrBuf file = {0}, why = {0};
    Npy npy;
    (void)state;
    make_file(&file, "{\"shape\": (2, 3,), 'fortran_order': True, 'descr': '|i1', }", column_major,
              6);
    assert_true(parse(&file, &npy, &why));
    for (int64_t i = 0; i < 6; i++) assert_int_equal(npy_get_i64(&npy, i), i + 1);
    npy_free(&npy);
    strbuf_free(&file);
    strbuf_free(&why);
}

static void writing_gives_what_numpy_writes(void **state)
{
    static const char header[] =
        "\x93NUMPY\1\0v\0{'descr': '<i2', 'fortran_order': False, 'shape': (2, 1), }";
    const int64_t dims[] = {2, 1};
    StrBuf file = {0}, why = {0};
    Npy npy, back;
    (void)state;
    assert_true(npy_init(&npy, 'i', 2, dims, 2));
    npy_set_i64(&npy, 0, -2);
    npy_set_i64(&npy, 1, 300);
    npy_print(&npy, &file);
    assert_int_equal(file.len, 128 + 4);
    assert_memory_equal(file.data, header, sizeof header - 1);
    assert_int_equal(file.data[127], '\n');
    assert_memory_equal(file.data + 128, "\xfe\xff\x2c\x01", 4);
    assert_true(parse(&file, &back, &why));
    assert_int_equal(npy_get_i64(&back, 1), 300);
    npy_free(&npy);
    npy_free(&back);
    strbuf_free(&file);
    strbuf_free(&why);
}

static void refuses(const char *dictionary, const char *reason)
{
    StrBuf file = {0}, why = {0};
    Npy npy;
    make_file(&file, dictionary, "12345678", 8);
    assert_false(parse(&file, &npy, &why));
    if (!strstr(why.data, reason)) fail_msg("'%s' is refused for: %s", dictionary, why.data);
    strbuf_free(&file);
    strbuf_free(&why);
}

#define ENTRY "'descr': '<f8', 'fortran_order': False"

static void hostile_headers_are_refused(void **state)
{
    (void)state;
    refuses("", "'{' expected");
    refuses("{" ENTRY, "',' or '}' expected");
    refuses("{" ENTRY "}", "is missing");
    refuses("{" ENTRY ", 'shape': (1,)} x", "text after");
    refuses("{" ENTRY ", 'shape': (1)}", "not a tuple");
    refuses("{" ENTRY ", 'shape': 1}", "'(' expected");
    refuses("{" ENTRY ", 'shape': (-1,)}", "non-negative");
    refuses("{" ENTRY ", 'shape': (1,), 'shape': (1,)}", "repeated");
    refuses("{" ENTRY ", 'shape': (1,), 'more': 1}", "unknown key");
    refuses("{" ENTRY ", 'shape': (2,)}", "needs 16 bytes of data, the file has 8");
    refuses("{" ENTRY ", 'shape': (99999999999999999999,)}", "beyond 63 bits");
    refuses("{" ENTRY ", 'shape': (4294967296, 4294967296)}", "more elements than memory");
    refuses("{" ENTRY ", 'shape': (2305843009213693952,)}", "more elements than memory");
    refuses("{" ENTRY
            ", 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
            "more than 32 dimensions");
    refuses("{'descr': '>f8', 'fortran_order': False, 'shape': (1,)}", "big-endian");
    refuses("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "type '<c8'");
    refuses("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "type '|O'");
    refuses("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}", "structured");
    refuses("{'descr': '<f8', 'fortran_order': 1, 'shape': (1,)}", "True or False");
    refuses("{'descr' '<f8'}", "':' expected");
    refuses("{'descr", "without end");
}

static void truncated_files_are_refused(void **state)
{
    const int64_t dims[] = {3};
    StrBuf file = {0}, why = {0};
    Npy npy;
    (void)state;
    assert_true(npy_init(&npy, 'f', 4, dims, 1));
    npy_print(&npy, &file);
    npy_free(&npy);
    for (size_t len = 0; len < file.len; len++) {
        strbuf_clear(&why);
        assert_false(npy_parse((Str){file.data, len}, &npy, &why));
        assert_true(why.len > 0);
    }
    strbuf_free(&file);
    strbuf_free(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_read),
        cmocka_unit_test(fortran_order_becomes_row_major),
        cmocka_unit_test(writing_gives_what_numpy_writes),
        cmocka_unit_test(hostile_headers_are_refused),
        cmocka_unit_test(truncated_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
