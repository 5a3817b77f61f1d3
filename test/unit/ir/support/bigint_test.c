/* Integers of any width: against the compiler's 128-bit arithmetic, against values computed
 * with Python's integers, and by the laws that hold for every width. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "ir/support/support.h"
#include "test/unit/random.h"

__extension__ typedef unsigned __int128 U128;
__extension__ typedef __int128 I128;

static U128 low_bits(U128 value, uint32_t width)
{
    return width < 128 ? value & (((U128)1 << width) - 1) : value;
}

static I128 sign_extend(U128 value, uint32_t width)
{
    if (width == 0 || width == 128) return (I128)value;
    U128 sign = (U128)1 << (width - 1);
    return (I128)((value ^ sign) - sign);
}

static BigInt big_of(Arena *arena, uint32_t width, U128 value)
{
    uint64_t words[2] = {(uint64_t)value, (uint64_t)(value >> 64)};
    return bigint_from_words(arena, width, words);
}

static U128 value_of(const BigInt *big)
{
    const uint64_t *words = bigint_words(big);
    return words[0] | (bigint_word_count(big->width) > 1 ? (U128)words[1] << 64 : 0);
}

/* Small numbers, extremes and words of all ones are as likely as random bits. */
static U128 random_value(Random *random, uint32_t width)
{
    U128 bits = (U128)random_u64(random) << 64 | random_u64(random);
    switch (random_below(random, 6)) {
    case 0: return low_bits(bits % 5, width);
    case 1: return low_bits(0 - bits % 5, width);
    case 2: return width ? low_bits((U128)1 << (width - 1), width) : 0;
    case 3:
        return low_bits((bits & 1 ? UINT64_MAX : 0) | (bits & 2 ? (U128)UINT64_MAX << 64 : 0),
                        width);
    default: return low_bits(bits >> random_below(random, 128), width);
    }
}

static void assert_value(BigInt big, U128 expected, uint32_t width)
{
    U128 want = low_bits(expected, width);
    assert_int_equal(big.width, width);
    assert_true(value_of(&big) == want);
}

static void check_sums(Arena *arena, uint32_t width, U128 a, U128 b)
{
    BigInt x = big_of(arena, width, a), y = big_of(arena, width, b);
    assert_value(bigint_add(arena, &x, &y), a + b, width);
    assert_value(bigint_sub(arena, &x, &y), a - b, width);
    assert_value(bigint_mul(arena, &x, &y), a * b, width);
    assert_value(bigint_neg(arena, &x), 0 - a, width);
    assert_value(bigint_and(arena, &x, &y), a & b, width);
    assert_value(bigint_or(arena, &x, &y), a | b, width);
    assert_value(bigint_xor(arena, &x, &y), a ^ b, width);
}

static void check_queries(Arena *arena, uint32_t width, U128 a, U128 b)
{
    BigInt x = big_of(arena, width, a), y = big_of(arena, width, b);
    I128 sa = sign_extend(a, width), sb = sign_extend(b, width);
    assert_int_equal(bigint_cmp(&x, &y, false), (a > b) - (a < b));
    assert_int_equal(bigint_cmp(&x, &y, true), (sa > sb) - (sa < sb));
    assert_int_equal(bigint_eq(&x, &y), a == b);
    assert_int_equal(bigint_is_zero(&x), a == 0);
    assert_int_equal(bigint_is_negative(&x), sa < 0);
    assert_int_equal(bigint_fits_i64(&x, true), sa >= INT64_MIN && sa <= INT64_MAX);
    assert_int_equal(bigint_fits_i64(&x, false), a <= INT64_MAX);
    assert_true(bigint_to_i64(&x) == (int64_t)sa);
    assert_true(bigint_to_u64(&x) == (uint64_t)a);
}

static void check_division(Arena *arena, uint32_t width, U128 a, U128 b)
{
    BigInt x = big_of(arena, width, a), y = big_of(arena, width, b);
    I128 sa = sign_extend(a, width), sb = sign_extend(b, width);
    assert_value(bigint_div(arena, &x, &y, false), a / b, width);
    assert_value(bigint_rem(arena, &x, &y, false), a % b, width);
    if (sb == -1) { /* the smallest number by -1 wraps, here as everywhere */
        assert_value(bigint_div(arena, &x, &y, true), 0 - a, width);
        assert_value(bigint_rem(arena, &x, &y, true), 0, width);
    } else {
        assert_value(bigint_div(arena, &x, &y, true), (U128)(sa / sb), width);
        assert_value(bigint_rem(arena, &x, &y, true), (U128)(sa % sb), width);
    }
}

static void check_shifts(Arena *arena, uint32_t width, U128 a, uint32_t amount)
{
    BigInt x = big_of(arena, width, a);
    I128 sa = sign_extend(a, width);
    bool is_out = amount >= width;
    assert_value(bigint_shl(arena, &x, amount), is_out ? 0 : a << amount, width);
    assert_value(bigint_shr(arena, &x, amount, false), is_out ? 0 : a >> amount, width);
    I128 filled = is_out ? (sa < 0 ? -1 : 0) : sa >> amount;
    assert_value(bigint_shr(arena, &x, amount, true), (U128)filled, width);
}

static void agrees_with_128_bit_arithmetic(void **state)
{
    (void)state;
    static const uint32_t widths[] = {0, 1, 2, 7, 8, 31, 32, 33, 63, 64, 65, 95, 127, 128};
    Arena arena;
    arena_init(&arena);
    Random random = {1};
    for (int i = 0; i < 40000; i++) {
        uint32_t width = widths[random_below(&random, COUNT_OF(widths))];
        uint32_t other = widths[random_below(&random, COUNT_OF(widths))];
        U128 a = random_value(&random, width), b = random_value(&random, width);
        check_sums(&arena, width, a, b);
        check_queries(&arena, width, a, b);
        check_shifts(&arena, width, a, random_below(&random, 140));
        if (b != 0) check_division(&arena, width, a, b);
        BigInt x = big_of(&arena, width, a);
        assert_value(bigint_resize(&arena, &x, other, false), a, other);
        assert_value(bigint_resize(&arena, &x, other, true), (U128)sign_extend(a, width), other);
        arena_reset(&arena);
    }
    arena_free(&arena);
}

static void shift_amounts_may_be_huge(void **state)
{
    (void)state;
    Arena arena;
    arena_init(&arena);
    BigInt one = bigint_from_i64(&arena, 200, 1), minus = bigint_from_i64(&arena, 200, -1);
    BigInt gone = bigint_shl(&arena, &one, UINT64_MAX);
    BigInt kept = bigint_shr(&arena, &minus, UINT64_MAX, true);
    assert_true(bigint_is_zero(&gone));
    assert_true(bigint_eq(&kept, &minus));
    arena_free(&arena);
}

typedef struct WideRow {
    uint32_t width;
    const char *a, *b;
    /* a * b, unsigned quotient and remainder, signed ones, all modulo 2^width; signed a */
    const char *expected[6];
} WideRow;

static const WideRow wide_rows[] = {
    {65,
     "0x1ffffffffffffffff",
     "0x3",
     {"36893488147419103229", "12297829382473034410", "1", "0", "36893488147419103231", "-1"}},
    {100,
     "0x27e41b3246bec9b16e398115",
     "0xdb4da5f7ef412b1",
     {"66004972253336490482329041285", "12499999874", "833333448067901235", "12499999874",
      "833333448067901235", "12345678901234567890123456789"}},
    {128,
     "0x80000000000000000000000000000000",
     "0xffffffffffffffffffffffffffffffff",
     {"170141183460469231731687303715884105728", "0", "170141183460469231731687303715884105728",
      "170141183460469231731687303715884105728", "0", "-170141183460469231731687303715884105728"}},
    {128,
     "0xfedcba9876543210fedcba9876543210",
     "0x123456789abcdef01",
     {"116553012195734769074270031948499984912", "16140901064495857875", "912089012533474365",
      "340282366920938463463302549837730283520", "340282366920938463463364679496589652496",
      "-1512366075204170929049582354406559216"}},
    {192,
     "0xfffffffffffffffffffffffffffffffffffffffffffffffb",
     "0x10000000000000000000000007",
     {"6277101735386680763835789416869413414961208436980518485981", "4951760157141521099596496895",
      "1232988279128238753799527727106", "0",
      "6277101735386680763835789423207666416102355444464034512891", "-5"}},
    {130,
     "0x200000000000000000000000000003039",
     "0x3ffffffffffffffff",
     {"680564733841877837826971574641195208647", "9223372036854775808", "9223372036854788153",
      "1361129467683753853844275057690218070016", "1361129467683753853844275057690218082361",
      "-680564733841876926926749214863536410567"}},
    {256,
     "0xffffffffffffffff0000000000000000ffffffffffffffff0000000000000001",
     "0xffffffffffffffff00000000000000010000",
     {"115792089237314961295152994104156358528618662244631249176861537538841786777600",
      "5192296858534827628530496329220095", "22300745198530623140326774006289658621788161",
      "115792089237316195423570985008687907853269984665640564039457583726438152929281",
      "115792089237316195423570985008687885552524786135017423712665130974180798300161",
      "-6277101735386680763495507056286727952657427581105975853055"}},
    {256,
     "0x7fffffffffffffff800000000000000000000000000000000000000000000000",
     "0x80000000000000000000000000000001",
     {"57896044618658097708646941636650613544717097621216448811677614281724547563520",
      "340282366920938463444927863358058659838", "18446744073709551618",
      "340282366920938463444927863358058659838", "18446744073709551618",
      "57896044618658097708646941636650613544717097621216448811677614281724547563520"}},
    {256,
     "0x800000000000000000000000000000000000000000000000",
     "0x8000000000000000ffffffffffffffff",
     {"57896044618658097708646941636650613544717097621216448811677614281724547563520",
      "18446744073709551614", "55340232221128654846", "18446744073709551614",
      "55340232221128654846", "3138550867693340381917894711603833208051177722232017256448"}},
};

static void assert_text(const BigInt *value, bool is_signed, const char *expected)
{
    StrBuf text = {0};
    bigint_print(&text, value, is_signed);
    assert_string_equal(text.data, expected);
    strbuf_free(&text);
}

static void wide_results_are_pythons(void **state)
{
    (void)state;
    Arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(wide_rows); i++) {
        const WideRow *row = &wide_rows[i];
        BigInt a, b;
        assert_true(bigint_parse(&arena, str_from(row->a), row->width, &a));
        assert_true(bigint_parse(&arena, str_from(row->b), row->width, &b));
        BigInt results[] = {bigint_mul(&arena, &a, &b), bigint_div(&arena, &a, &b, false),
                            bigint_rem(&arena, &a, &b, false), bigint_div(&arena, &a, &b, true),
                            bigint_rem(&arena, &a, &b, true)};
        for (size_t k = 0; k < COUNT_OF(results); k++)
            assert_text(&results[k], false, row->expected[k]);
        assert_text(&a, true, row->expected[5]);
    }
    arena_free(&arena);
}

static BigInt random_big(Arena *arena, Random *random, uint32_t width)
{
    uint64_t words[16];
    static const uint64_t likely[] = {0, 1, UINT64_MAX, (uint64_t)1 << 63, UINT64_MAX - 1};
    assert_true(bigint_word_count(width) <= COUNT_OF(words));
    uint32_t used = random_below(random, bigint_word_count(width)) + 1;
    for (uint32_t i = 0; i < COUNT_OF(words); i++) {
        uint32_t choice = random_below(random, 2 * COUNT_OF(likely));
        words[i] = choice < COUNT_OF(likely) ? likely[choice] : random_u64(random);
        if (i >= used) words[i] = 0;
    }
    return bigint_from_words(arena, width, words);
}

/* a = (a / b) * b + a % b with |a % b| < |b|, and a + b - b = a, (a << k) >> k = a. */
static void laws_hold_for_every_width(void **state)
{
    (void)state;
    Arena arena;
    arena_init(&arena);
    Random random = {2};
    for (int i = 0; i < 20000; i++) {
        uint32_t width = 1 + random_below(&random, 1000);
        BigInt a = random_big(&arena, &random, width), b = random_big(&arena, &random, width);
        BigInt sum = bigint_add(&arena, &a, &b), same = bigint_sub(&arena, &sum, &b);
        assert_true(bigint_eq(&same, &a));
        for (int is_signed = 0; is_signed < 2 && !bigint_is_zero(&b); is_signed++) {
            BigInt quotient = bigint_div(&arena, &a, &b, is_signed);
            BigInt rest = bigint_rem(&arena, &a, &b, is_signed);
            BigInt back = bigint_mul(&arena, &quotient, &b);
            back = bigint_add(&arena, &back, &rest);
            assert_true(bigint_eq(&back, &a));
            if (!is_signed) assert_true(bigint_cmp(&rest, &b, false) < 0);
        }
        uint32_t amount = random_below(&random, width);
        BigInt wide = bigint_resize(&arena, &a, width + amount, true);
        wide = bigint_shl(&arena, &wide, amount);
        wide = bigint_shr(&arena, &wide, amount, true);
        same = bigint_resize(&arena, &wide, width, true);
        assert_true(bigint_eq(&same, &a));
        arena_reset(&arena);
    }
    arena_free(&arena);
}

static void text_round_trips(void **state)
{
    (void)state;
    Arena arena;
    arena_init(&arena);
    Random random = {3};
    StrBuf text = {0};
    for (int i = 0; i < 5000; i++) {
        uint32_t width = 1 + random_below(&random, 1000);
        BigInt a = random_big(&arena, &random, width), back;
        strbuf_clear(&text);
        bigint_print(&text, &a, false);
        assert_true(bigint_digits_width(strbuf_str(&text)) <= width);
        assert_true(bigint_parse(&arena, strbuf_str(&text), width, &back));
        assert_true(bigint_eq(&a, &back));
        arena_reset(&arena);
    }
    strbuf_free(&text);
    arena_free(&arena);
}

static void digits_must_fit_the_width(void **state)
{
    (void)state;
    static const struct {
        const char *digits;
        uint32_t needed;
    } rows[] = {
        {"0", 0},
        {"0x0", 0},
        {"000", 0},
        {"1", 1},
        {"255", 8},
        {"256", 9},
        {"0xfF", 8},
        {"0x00ff", 8},
        {"18446744073709551615", 64},
        {"18446744073709551616", 65},
        {"340282366920938463463374607431768211456", 129},
        {"0x10000000000000000", 65},
    };
    Arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        BigInt out;
        Str digits = str_from(rows[i].digits);
        assert_int_equal(bigint_digits_width(digits), rows[i].needed);
        assert_true(bigint_parse(&arena, digits, rows[i].needed, &out));
        if (rows[i].needed > 0)
            assert_false(bigint_parse(&arena, digits, rows[i].needed - 1, &out));
    }
    arena_free(&arena);
}

static void malformed_digits_are_rejected(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "0x", "-1", "+1", "1.0", "12a", "0xg", "x", " 1", "1 "};
    Arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        BigInt out;
        assert_false(bigint_parse(&arena, str_from(texts[i]), 64, &out));
        assert_int_equal(bigint_digits_width(str_from(texts[i])), 0);
    }
    arena_free(&arena);
}

static void huge_widths_cost_little(void **state)
{
    (void)state;
    Arena arena;
    arena_init(&arena);
    BigInt a = bigint_from_i64(&arena, BIGINT_MAX_WIDTH, -12);
    BigInt b = bigint_from_i64(&arena, BIGINT_MAX_WIDTH, 5);
    BigInt product = bigint_mul(&arena, &a, &b), quotient = bigint_div(&arena, &a, &b, true);
    assert_text(&product, true, "-60");
    assert_text(&quotient, true, "-2");
    assert_true(bigint_fits_i64(&product, true));
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_128_bit_arithmetic),
        cmocka_unit_test(shift_amounts_may_be_huge),
        cmocka_unit_test(wide_results_are_pythons),
        cmocka_unit_test(laws_hold_for_every_width),
        cmocka_unit_test(text_round_trips),
        cmocka_unit_test(digits_must_fit_the_width),
        cmocka_unit_test(malformed_digits_are_rejected),
        cmocka_unit_test(huge_widths_cost_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
