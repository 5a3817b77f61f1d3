/* Arenas, slices, string builder, growable arrays, pointer map, checked arithmetic. */
#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ir/support/support.h"
#include "test/unit/random.h"

static void arena_memory_is_zero_and_aligned(void **state)
{
    (void)state;
    Arena arena;
    arena_init(&arena);
    Random random = {1};
    for (int i = 0; i < 5000; i++) {
        size_t size = random_below(&random, i % 50 ? 100 : 20000);
        unsigned char *data = arena_alloc(&arena, size);
        assert_int_equal((uintptr_t)data % alignof(max_align_t), 0);
        for (size_t k = 0; k < size; k++) assert_int_equal(data[k], 0);
        memset(data, 0xa5, size);
    }
    arena_free(&arena);
}

static void arena_blocks_do_not_overlap(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    static unsigned char *blocks[COUNT];
    static size_t sizes[COUNT];
    Arena arena;
    arena_init(&arena);
    Random random = {2};
    for (int i = 0; i < COUNT; i++) {
        sizes[i] = random_below(&random, i % 100 ? 60 : 3000000 / 100);
        blocks[i] = arena_alloc(&arena, sizes[i]);
        memset(blocks[i], i & 0xff, sizes[i]);
    }
    for (int i = 0; i < COUNT; i++)
        for (size_t k = 0; k < sizes[i]; k++) assert_int_equal(blocks[i][k], i & 0xff);
    arena_free(&arena);
    assert_int_equal(arena.total, 0);
}

static void arena_reset_keeps_one_chunk(void **state)
{
    (void)state;
    Arena arena;
    arena_init(&arena);
    arena_reset(&arena);
    for (int i = 0; i < 1000; i++) memset(arena_alloc(&arena, 1000), 1, 1000);
    size_t full = arena.total;
    arena_reset(&arena);
    size_t kept = arena.total;
    assert_true(kept > 0 && kept < full);
    unsigned char *again = arena_alloc(&arena, 1000);
    for (int i = 0; i < 1000; i++) assert_int_equal(again[i], 0);
    assert_int_equal(arena.total, kept);
    arena_free(&arena);
}

static void arena_copy_copies(void **state)
{
    (void)state;
    Arena arena;
    arena_init(&arena);
    char text[] = "abc";
    char *copy = arena_copy(&arena, text, sizeof(text));
    text[0] = 'x';
    assert_string_equal(copy, "abc");
    assert_non_null(arena_copy(&arena, NULL, 0));
    arena_free(&arena);
}

static void slices_compare_bytewise(void **state)
{
    (void)state;
    Str empty = {NULL, 0};
    assert_true(str_eq(empty, STR("")));
    assert_true(str_eq_c(STR("abc"), "abc"));
    assert_false(str_eq_c(STR("abc"), "abd"));
    assert_false(str_eq(STR("a\0b"), STR("a\0c")));
    assert_true(str_cmp(STR("a"), STR("b")) < 0);
    assert_true(str_cmp(STR("ab"), STR("a")) > 0);
    assert_true(str_cmp(STR("a"), STR("\xff")) < 0);
    assert_int_equal(str_cmp(empty, STR("")), 0);
    assert_true(str_starts_with(STR("0x1"), "0x"));
    assert_false(str_starts_with(STR("0"), "0x"));
    assert_true(str_starts_with(empty, ""));
    assert_true(str_ends_with(STR("a.mlir"), ".mlir"));
    assert_false(str_ends_with(STR("mlir"), ".mlir"));
    assert_true(str_ends_with(empty, ""));
}

static void builder_appends(void **state)
{
    (void)state;
    StrBuf buf = {0};
    assert_int_equal(strbuf_str(&buf).len, 0);
    strbuf_add_c(&buf, "");
    assert_string_equal(buf.data, "");
    strbuf_add_int(&buf, INT64_MIN);
    strbuf_add_char(&buf, ' ');
    strbuf_add_int(&buf, 0);
    strbuf_add_char(&buf, ' ');
    strbuf_add_uint(&buf, UINT64_MAX);
    strbuf_add_str(&buf, (Str){" tail and more", 5});
    assert_string_equal(buf.data, "-9223372036854775808 0 18446744073709551615 tail");
    strbuf_clear(&buf);
    assert_string_equal(buf.data, "");
    strbuf_add(&buf, "a\0b", 3);
    assert_int_equal(strbuf_str(&buf).len, 3);
    assert_int_equal(buf.data[3], 0);
    strbuf_free(&buf);
    assert_null(buf.data);
}

static void builder_formats_any_length(void **state)
{
    (void)state;
    StrBuf buf = {0};
    for (int width = 1; width < 200; width++) {
        strbuf_clear(&buf);
        strbuf_printf(&buf, "%*d|", width, 7);
        assert_int_equal(buf.len, width + 1);
        assert_int_equal(buf.data[width - 1], '7');
        assert_int_equal(buf.data[buf.len], 0);
        strbuf_printf(&buf, "%.*s", STR_ARG(STR("end")));
        assert_string_equal(buf.data + width, "|end");
        if (width % 50 == 0) strbuf_free(&buf);
    }
    strbuf_free(&buf);
}

static void vec_keeps_elements(void **state)
{
    (void)state;
    VEC(uint16_t) v = {0};
    for (uint32_t i = 0; i < 10000; i++) *vec_push(&v) = (uint16_t)i;
    assert_int_equal(v.len, 10000);
    for (uint32_t i = 0; i < 10000; i++) assert_int_equal(v.data[i], i);
    vec_reserve(&v, 50000);
    assert_true(v.cap >= 50000);
    vec_free(&v);
    assert_null(v.data);
    assert_int_equal(v.cap, 0);
}

static const void *key_of(uint32_t i)
{
    return (const void *)(uintptr_t)((uintptr_t)(i + 1) * 8);
}

static void *value_of(uint32_t i)
{
    return (void *)(uintptr_t)(i + 100);
}

static void ptrmap_agrees_with_an_array(void **state)
{
    (void)state;
    enum { KEYS = 700 };
    void *expected[KEYS] = {0};
    PtrMap map = {0};
    Random random = {3};
    size_t live = 0;
    for (int step = 0; step < 50000; step++) {
        uint32_t key = random_below(&random, KEYS);
        if (random_below(&random, 3) == 0) {
            ptrmap_remove(&map, key_of(key));
            live -= expected[key] != NULL;
            expected[key] = NULL;
        } else {
            void *value = value_of(random_below(&random, 1000));
            assert_ptr_equal(ptrmap_put(&map, key_of(key), value), expected[key]);
            live += expected[key] == NULL;
            expected[key] = value;
        }
        assert_int_equal(map.live, live);
        uint32_t other = random_below(&random, KEYS);
        assert_ptr_equal(ptrmap_get(&map, key_of(other)), expected[other]);
        assert_int_equal(ptrmap_has(&map, key_of(other)), expected[other] != NULL);
    }
    ptrmap_free(&map);
}

static void ptrmap_iterates_in_order_of_insertion(void **state)
{
    (void)state;
    PtrMap map = {0};
    for (uint32_t i = 0; i < 1000; i++)
        assert_null(ptrmap_put(&map, key_of(i * 7919 % 1009), value_of(i)));
    for (uint32_t i = 0; i < 1000; i += 2) ptrmap_remove(&map, key_of(i * 7919 % 1009));
    uint32_t expected = 1;
    for (size_t i = 0; i < map.len; i++) {
        if (!map.entries[i].key) continue;
        assert_ptr_equal(map.entries[i].value, value_of(expected));
        expected += 2;
    }
    assert_int_equal(expected, 1001);
    ptrmap_clear(&map);
    assert_int_equal(map.live, 0);
    assert_false(ptrmap_has(&map, key_of(1)));
    assert_null(ptrmap_put(&map, key_of(1), NULL));
    assert_true(ptrmap_has(&map, key_of(1)));
    ptrmap_free(&map);
}

static void hashes_depend_on_length_and_place(void **state)
{
    (void)state;
    unsigned char zeros[40] = {0}, bytes[40] = {0};
    for (size_t a = 0; a < sizeof(zeros); a++) {
        for (size_t b = 0; b < a; b++)
            assert_true(hash_bytes(zeros, a, 0) != hash_bytes(zeros, b, 0));
        bytes[a] = 1;
        for (size_t b = 0; b < a; b++) {
            zeros[b] = 1;
            assert_true(hash_bytes(bytes, 40, 0) != hash_bytes(zeros, 40, 0));
            zeros[b] = 0;
        }
        bytes[a] = 0;
    }
    assert_true(hash_bytes("a", 1, 0) != hash_bytes("a", 1, 1));
    assert_true(hash_combine(1, 2) != hash_combine(2, 1));
}

static void checked_arithmetic_reports_overflow(void **state)
{
    (void)state;
    int64_t out;
    size_t size;
    assert_true(i64_add(INT64_MAX, -1, &out));
    assert_false(i64_add(INT64_MAX, 1, &out));
    assert_int_equal(i64_sum(40, 2), 42);
    assert_int_equal(i64_sum(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(i64_sum(INT64_MIN, -1), INT64_MIN);
    assert_true(i64_mul(INT64_MIN, 1, &out));
    assert_false(i64_mul(INT64_MIN, -1, &out));
    assert_true(size_mul(SIZE_MAX, 1, &size));
    assert_true(size_mul(SIZE_MAX, 0, &size));
    assert_false(size_mul(SIZE_MAX / 2 + 1, 2, &size));
    assert_false(i64_floordiv(1, 0, &out));
    assert_false(i64_ceildiv(INT64_MIN, -1, &out));
}

static void divisions_round_as_named(void **state)
{
    (void)state;
    for (int64_t a = -30; a <= 30; a++) {
        for (int64_t b = -7; b <= 7; b++) {
            int64_t floor, ceil;
            if (b == 0) continue;
            assert_true(i64_floordiv(a, b, &floor));
            assert_true(i64_ceildiv(a, b, &ceil));
            int64_t sign = b < 0 ? -1 : 1; /* floor * b <= a < (floor + 1) * b for b > 0 */
            assert_true(floor * b * sign <= a * sign && a * sign < (floor + 1) * b * sign);
            assert_true((ceil - 1) * b * sign < a * sign && a * sign <= ceil * b * sign);
            assert_int_equal(floor_div(a, b), floor);
            if (b > 0) assert_int_equal(i64_mod(a, b), a - floor * b);
        }
    }
}

static void logarithms_round_up(void **state)
{
    (void)state;
    assert_int_equal(i64_log2_up(0), 0);
    assert_int_equal(i64_log2_up(1), 0);
    for (int64_t bits = 1; bits <= 62; bits++) {
        assert_int_equal(i64_log2_up(INT64_C(1) << bits), bits);
        if (bits > 1) assert_int_equal(i64_log2_up((INT64_C(1) << bits) - 1), bits);
    }
    assert_int_equal(i64_log2_up((INT64_C(1) << 62) + 1), 63);
    assert_int_equal(i64_log2_up(INT64_MAX), 63);
    assert_int_equal(i64_log2_up(INT64_MIN), 0);
}

/* The first products take 65 bits, those of the loop fewer than 16. */
static void products_are_divided_exactly(void **state)
{
    (void)state;
    assert_int_equal(i64_mul_div(131071, INT64_C(1) << 48, 131072),
                     (INT64_C(1) << 48) - (INT64_C(1) << 31));
    assert_int_equal(i64_mul_div(12, INT64_MAX, 12), INT64_MAX);
    for (int64_t a = 0; a < 30; a++)
        for (int64_t b = 0; b < 30; b++)
            for (int64_t c = 1; c < 30; c++) assert_int_equal(i64_mul_div(a, b, c), a * b / c);
}

static void common_divisors_are_greatest(void **state)
{
    (void)state;
    assert_int_equal(i64_gcd(0, 0), 0);
    assert_int_equal(i64_gcd(0, -6), 6);
    assert_int_equal(i64_gcd(12, -18), 6);
    assert_int_equal(i64_gcd(INT64_MAX, INT64_MAX), INT64_MAX);
}

static void reasons_are_false(void **state)
{
    (void)state;
    StrBuf why = {0};
    assert_false(strbuf_fail(&why, "has %d of %s", 2, "them"));
    assert_string_equal(why.data, "has 2 of them");
    strbuf_free(&why);
}

static void expect_suggestion(const char *wanted, const char *expected)
{
    static const char *const names[] = {"canonicalize", "cse", "zcu104", "zcu102", "o"};
    Suggestion near = {.wanted = str_from(wanted)};
    for (size_t i = 0; i < COUNT_OF(names); i++) suggestion_try(&near, str_from(names[i]));
    assert_true(str_eq_c(near.best, expected));
}

/* The first column of a table with these texts, narrowed; separated by '|'. */
static void expect_narrow(const char *const *texts, size_t most, const char *expected)
{
    TextTable table = {.columns = 2, .first_number = 1};
    StrBuf out = {0};
    for (; *texts; texts++) {
        text_table_add(&table, *texts);
        text_table_add_int(&table, 7);
    }
    text_table_narrow(&table, 0, 4, most);
    for (size_t i = 0; i < table.cells.len; i += 2)
        strbuf_printf(&out, "%.*s|", STR_ARG(strbuf_str(&table.cells.data[i])));
    assert_string_equal(out.data, expected);
    strbuf_free(&out);
    text_table_free(&table);
}
#define EXPECT_NARROW(most, expected, ...)                                                         \
    expect_narrow((const char *const[]){__VA_ARGS__, NULL}, most, expected)

/* Three characters of a row are the other column's. */
static void narrows_columns(void **state)
{
    (void)state;
    EXPECT_NARROW(100, "abcdefghij|k|", "abcdefghij", "k");
    EXPECT_NARROW(13, "abcdefghij|k|", "abcdefghij", "k");
    EXPECT_NARROW(12, "abc...hij|k|", "abcdefghij", "k");
    EXPECT_NARROW(11, "abc...ij|k|", "abcdefghij", "k");
    EXPECT_NARROW(1, "a...|k|", "abcdefghij", "k");
    EXPECT_NARROW(11, "\u00e4b\u00e7...ij|", "\u00e4b\u00e7defghij");
    /* the same text twice stays the same; other texts do not become the same */
    EXPECT_NARROW(11, "abc...ij|abc...ij|", "abcdefghij", "abcdefghij");
    EXPECT_NARROW(11, "ab...hij|ab...Hij|", "abcdefghij", "abcdefgHij");
    EXPECT_NARROW(11, "abcd...j|abcD...j|", "abcdefghij", "abcDefghij");
    EXPECT_NARROW(15, "...x01...789|...y01...789|", "aaaa/aaaa/aaa/x0123456789",
                  "aaaa/aaaa/aaa/y0123456789");
    EXPECT_NARROW(12, "abcde...0|abcde...1|k|", "abcdefghijklm0defghijklmn",
                  "abcdefghijklm1defghijklmn", "k");
}

static void suggests_what_is_near(void **state)
{
    (void)state;
    expect_suggestion("canonicalise", "canonicalize");
    expect_suggestion("canonicalise-it", "canonicalize");
    expect_suggestion("canonical-forms", "");
    expect_suggestion("cs", "cse");
    expect_suggestion("zcu10", "zcu102");
    expect_suggestion("f", "");
    expect_suggestion("", "");
    char text[200] = {0};
    memset(text, 'x', sizeof(text) - 1);
    expect_suggestion(text, "");
    StrBuf out = {0};
    suggestion_print(&(Suggestion){.wanted = STR("cs"), .best = STR("cse")}, &out);
    suggestion_print(&(Suggestion){.wanted = STR("x")}, &out);
    assert_string_equal(out.data, " (did you mean 'cse'?)");
    strbuf_free(&out);
}

static void long_texts_show_their_ends(void **state)
{
    (void)state;
    enum { MOST = 8192 };
    StrBuf text = {0}, shown = {0};
    for (int i = 0; i < MOST; i++) strbuf_add_char(&text, 'a');
    strbuf_add_shown(&shown, strbuf_str(&text));
    assert_true(str_eq(strbuf_str(&shown), strbuf_str(&text)));

    /* No character of UTF-8 is cut: those of two bytes begin at odd places of the text. */
    strbuf_clear(&text);
    strbuf_clear(&shown);
    strbuf_add_char(&text, 'x');
    for (int i = 0; i < MOST; i++) strbuf_add_c(&text, "\xc3\xa9");
    strbuf_add_shown(&shown, strbuf_str(&text));
    assert_int_equal(shown.data[6142], (char)0xa9);
    assert_memory_equal(shown.data + 6143, "... (8194 bytes) ...\xc3\xa9", 22);
    assert_int_equal(shown.len, 6143 + 20 + 2048);
    strbuf_free(&text);
    strbuf_free(&shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_texts_show_their_ends),
        cmocka_unit_test(narrows_columns),
        cmocka_unit_test(suggests_what_is_near),
        cmocka_unit_test(arena_memory_is_zero_and_aligned),
        cmocka_unit_test(arena_blocks_do_not_overlap),
        cmocka_unit_test(arena_reset_keeps_one_chunk),
        cmocka_unit_test(arena_copy_copies),
        cmocka_unit_test(slices_compare_bytewise),
        cmocka_unit_test(builder_appends),
        cmocka_unit_test(builder_formats_any_length),
        cmocka_unit_test(vec_keeps_elements),
        cmocka_unit_test(ptrmap_agrees_with_an_array),
        cmocka_unit_test(ptrmap_iterates_in_order_of_insertion),
        cmocka_unit_test(hashes_depend_on_length_and_place),
        cmocka_unit_test(checked_arithmetic_reports_overflow),
        cmocka_unit_test(divisions_round_as_named),
        cmocka_unit_test(logarithms_round_up),
        cmocka_unit_test(products_are_divided_exactly),
        cmocka_unit_test(common_divisors_are_greatest),
        cmocka_unit_test(reasons_are_false),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
