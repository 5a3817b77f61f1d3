/* Floats: printed text as mlir-opt 19 gives it, reading and rounding as Python's exact
 * fractions give them, and the properties that tie both directions together. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "ir/attr/attr.h"
#include "ir/support/support.h"
#include "test/unit/random.h"

typedef struct PrintRow {
    TypeKind kind;
    uint64_t words[2];
    const char *text;
} PrintRow;

static const PrintRow print_rows[] = {
    {TYPE_F32, {UINT64_C(0x0), 0}, "0.000000e+00"},
    {TYPE_F32, {UINT64_C(0x80000000), 0}, "-0.000000e+00"},
    {TYPE_F32, {UINT64_C(0x3f800000), 0}, "1.000000e+00"},
    {TYPE_F32, {UINT64_C(0xbfc00000), 0}, "-1.500000e+00"},
    {TYPE_F32, {UINT64_C(0x3dcccccd), 0}, "1.000000e-01"},
    {TYPE_F32, {UINT64_C(0x40490fdb), 0}, "3.14159274"},
    {TYPE_F32, {UINT64_C(0x47f12065), 0}, "123456.789"},
    {TYPE_F32, {UINT64_C(0x4b800000), 0}, "0x4B800000"},
    {TYPE_F32, {UINT64_C(0x501502f9), 0}, "1.000000e+10"},
    {TYPE_F32, {UINT64_C(0x7f7fffff), 0}, "3.40282347E+38"},
    {TYPE_F32, {UINT64_C(0x1), 0}, "1.401300e-45"},
    {TYPE_F32, {UINT64_C(0x800000), 0}, "1.17549435E-38"},
    {TYPE_F32, {UINT64_C(0x3eaaaaab), 0}, "0.333333343"},
    {TYPE_F32, {UINT64_C(0x449a5225), 0}, "1234.56702"},
    {TYPE_F32, {UINT64_C(0x3aa1d139), 0}, "0.00123456784"},
    {TYPE_F32, {UINT64_C(0x3901742e), 0}, "1.2345679E-4"},
    {TYPE_F32, {UINT64_C(0x47c34ffa), 0}, "99999.9531"},
    {TYPE_F32, {UINT64_C(0x7f800000), 0}, "0x7F800000"},
    {TYPE_F32, {UINT64_C(0xff800000), 0}, "0xFF800000"},
    {TYPE_F32, {UINT64_C(0x7fc00000), 0}, "0x7FC00000"},
    {TYPE_F32, {UINT64_C(0x7f800001), 0}, "0x7F800001"},
    {TYPE_F64, {UINT64_C(0x3ff0000000000000), 0}, "1.000000e+00"},
    {TYPE_F64, {UINT64_C(0x3fb999999999999a), 0}, "1.000000e-01"},
    {TYPE_F64, {UINT64_C(0x3fd5555555555555), 0}, "0.33333333333333331"},
    {TYPE_F64, {UINT64_C(0x4480f0cf064dd592), 0}, "1.000000e+22"},
    {TYPE_F64, {UINT64_C(0x44b52d02c7e14af6), 0}, "9.9999999999999991E+22"},
    {TYPE_F64, {UINT64_C(0x419d6f3454000000), 0}, "0x419D6F3454000000"},
    {TYPE_F64, {UINT64_C(0x4271f71fb04cb000), 0}, "0x4271F71FB04CB000"},
    {TYPE_F64, {UINT64_C(0x54b249ad2594c37d), 0}, "1.000000e+100"},
    {TYPE_F64, {UINT64_C(0x1), 0}, "4.940660e-324"},
    {TYPE_F64, {UINT64_C(0x7fefffffffffffff), 0}, "1.7976931348623157E+308"},
    {TYPE_F64, {UINT64_C(0x8010000000000000), 0}, "-2.2250738585072014E-308"},
    {TYPE_F64, {UINT64_C(0x41b1de784a000000), 0}, "0x41B1DE784A000000"},
    {TYPE_F64, {UINT64_C(0x3f50624dd2f1a9fc), 0}, "1.000000e-03"},
    {TYPE_F64, {UINT64_C(0x3f543a272d9e0d4b), 0}, "0.0012345678901233999"},
    {TYPE_F64, {UINT64_C(0x4059200000000000), 0}, "1.005000e+02"},
    {TYPE_F64, {UINT64_C(0x40effc0000000000), 0}, "6.550400e+04"},
    {TYPE_F64, {UINT64_C(0x3e61e54c672874db), 0}, "3.3333333333333334E-8"},
    {TYPE_F64, {UINT64_C(0x7ff0000000000000), 0}, "0x7FF0000000000000"},
    {TYPE_F64, {UINT64_C(0x7ff8000000000000), 0}, "0x7FF8000000000000"},
    {TYPE_F16, {UINT64_C(0x3c00), 0}, "1.000000e+00"},
    {TYPE_F16, {UINT64_C(0x7bff), 0}, "6.550400e+04"},
    {TYPE_F16, {UINT64_C(0x1), 0}, "5.960460e-08"},
    {TYPE_F16, {UINT64_C(0x2e66), 0}, "9.997550e-02"},
    {TYPE_F16, {UINT64_C(0x3555), 0}, "3.332520e-01"},
    {TYPE_F16, {UINT64_C(0x7c00), 0}, "0x7C00"},
    {TYPE_F16, {UINT64_C(0x7e00), 0}, "0x7E00"},
    {TYPE_F16, {UINT64_C(0xfbff), 0}, "-6.550400e+04"},
    {TYPE_F16, {UINT64_C(0x6400), 0}, "1.024000e+03"},
    {TYPE_BF16, {UINT64_C(0x3f80), 0}, "1.000000e+00"},
    {TYPE_BF16, {UINT64_C(0x7f7f), 0}, "3.389530e+38"},
    {TYPE_BF16, {UINT64_C(0x1), 0}, "9.183550e-41"},
    {TYPE_BF16, {UINT64_C(0x3dcd), 0}, "1.000980e-01"},
    {TYPE_BF16, {UINT64_C(0x7f80), 0}, "0x7F80"},
    {TYPE_BF16, {UINT64_C(0x4049), 0}, "3.140630e+00"},
    {TYPE_TF32, {UINT64_C(0x1fc00), 0}, "1.000000e+00"},
    {TYPE_TF32, {UINT64_C(0x12345), 0}, "5.044250e-17"},
    {TYPE_F8E5M2, {UINT64_C(0x7b), 0}, "5.734400e+04"},
    {TYPE_F8E5M2, {UINT64_C(0x7c), 0}, "0x7C"},
    {TYPE_F8E4M3, {UINT64_C(0x77), 0}, "2.400000e+02"},
    {TYPE_F8E4M3, {UINT64_C(0x78), 0}, "0x78"},
    {TYPE_F8E4M3FN, {UINT64_C(0x7e), 0}, "4.480000e+02"},
    {TYPE_F8E4M3FN, {UINT64_C(0x7f), 0}, "0x7F"},
    {TYPE_F8E4M3FNUZ, {UINT64_C(0x7f), 0}, "2.400000e+02"},
    {TYPE_F8E4M3FNUZ, {UINT64_C(0x80), 0}, "0x80"},
    {TYPE_F8E5M2FNUZ, {UINT64_C(0x80), 0}, "0x80"},
    {TYPE_F8E5M2FNUZ, {UINT64_C(0x1), 0}, "7.629390e-06"},
    {TYPE_F8E4M3B11FNUZ, {UINT64_C(0x7f), 0}, "3.000000e+01"},
    {TYPE_F8E4M3B11FNUZ, {UINT64_C(0x1), 0}, "1.220700e-04"},
    {TYPE_F80, {UINT64_C(0x8000000000000000), 0x3fff}, "1.000000e+00"},
    {TYPE_F80, {UINT64_C(0xcccccccccccccccd), 0x3ffb}, "1.000000e-01"},
    {TYPE_F80, {UINT64_C(0x8000000000000000), 0x7fff}, "0x7FFF8000000000000000"},
    {TYPE_F80, {UINT64_C(0x1), 0}, "3.645200e-4951"},
    {TYPE_F80, {UINT64_C(0xffffffffffffffff), 0x7ffe}, "1.18973149535723176502E+4932"},
    {TYPE_F128, {UINT64_C(0x0), 0x3fff000000000000}, "1.000000e+00"},
    {TYPE_F128, {UINT64_C(0x999999999999999a), 0x3ffb999999999999}, "1.000000e-01"},
    {TYPE_F128, {UINT64_C(0x1), 0}, "6.475180e-4966"},
    {TYPE_F128,
     {UINT64_C(0xffffffffffffffff), 0x7ffeffffffffffff},
     "1.18973149535723176508575932662800702E+4932"},
    {TYPE_F128, {UINT64_C(0x0), 0x7fff000000000000}, "0x7FFF0000000000000000000000000000"},
    {TYPE_F128, {UINT64_C(0x1), 0x4002000000000000}, "8.00000000000000000000000000000000154"},
};

static void prints_as_upstream(void **state)
{
    (void)state;
    StrBuf text = {0};
    for (size_t i = 0; i < COUNT_OF(print_rows); i++) {
        const PrintRow *row = &print_rows[i];
        strbuf_clear(&text);
        float_print_words(&text, (int)row->kind, row->words);
        assert_string_equal(text.data, row->text);
        if (float_width((int)row->kind) > 64) continue;
        strbuf_clear(&text);
        float_print(&text, (int)row->kind, row->words[0]);
        assert_string_equal(text.data, row->text);
    }
    strbuf_free(&text);
}

/* Printing appends and leaves what was there, whichever form it takes. */
static void printing_appends(void **state)
{
    (void)state;
    StrBuf text = {0};
    strbuf_add_c(&text, "[");
    float_print(&text, TYPE_F32, 0xcb800000);
    strbuf_add_c(&text, ", ");
    float_print(&text, TYPE_F32, 0xbf800000);
    assert_string_equal(text.data, "[0xCB800000, -1.000000e+00");
    strbuf_free(&text);
}

static void prints_for_messages(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } rows[] = {{0.0, "0.000000e+00"},    {-1.5, "-1.500000e+00"}, {1.0 / 3, "3.333333e-01"},
                {1e300, "1.000000e+300"}, {-INFINITY, "-INF"},     {(double)NAN, "nan"}};
    StrBuf text = {0};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        strbuf_clear(&text);
        float_print_scientific(&text, rows[i].value);
        assert_string_equal(text.data, rows[i].text);
    }
    strbuf_free(&text);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static const TypeKind narrow_kinds[] = {
    TYPE_F8E5M2, TYPE_F8E4M3, TYPE_F8E4M3FN, TYPE_F8E5M2FNUZ, TYPE_F8E4M3FNUZ, TYPE_F8E4M3B11FNUZ,
    TYPE_BF16,   TYPE_F16,    TYPE_TF32,     TYPE_F32,        TYPE_F64,
};

/* Decimal text read as a double and rounded to the format gives the bits again. */
static void printed_text_reads_back(void **state)
{
    (void)state;
    Random random = {1};
    StrBuf text = {0};
    for (int i = 0; i < 60000; i++) {
        int kind = (int)narrow_kinds[random_below(&random, COUNT_OF(narrow_kinds))];
        uint64_t bits = random_u64(&random) >> (64 - float_width(kind));
        double value;
        strbuf_clear(&text);
        float_print(&text, kind, bits);
        if (str_starts_with(strbuf_str(&text), "0x")) continue;
        assert_true(float_parse(strbuf_str(&text), &value));
        assert_int_equal(float_to_bits(kind, value), bits);
    }
    strbuf_free(&text);
}

static void every_small_pattern_survives_double(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(narrow_kinds); k++) {
        int kind = (int)narrow_kinds[k];
        if (float_width(kind) > 19) continue;
        for (uint64_t bits = 0; bits < (uint64_t)1 << float_width(kind); bits++) {
            double value = float_from_bits(kind, bits);
            if (!isnan(value)) assert_int_equal(float_to_bits(kind, value), bits);
        }
    }
}

/* The compiler's own conversions are the reference for f32. */
static void f32_agrees_with_the_machine(void **state)
{
    (void)state;
    Random random = {2};
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = random_u64(&random);
        if (i % 2) /* an exponent near f32's range */
            bits = (bits & ~(UINT64_C(0x7ff) << 52)) |
                   (uint64_t)(1023 - 155 + random_below(&random, 290)) << 52;
        if (i % 5 == 0) /* half-way cases */
            bits = (bits & ~(uint64_t)0x1fffffff) | 0x10000000;
        double value = double_of(bits);
        if (isnan(value)) continue;
        float narrow = (float)value;
        uint32_t expected;
        memcpy(&expected, &narrow, sizeof(expected));
        assert_int_equal(float_to_bits(TYPE_F32, value), expected);
        assert_int_equal(bits_of(float_from_bits(TYPE_F32, expected)), bits_of((double)narrow));
    }
}

typedef struct RoundRow {
    TypeKind kind;
    double value;
    uint64_t bits;
} RoundRow;

static const RoundRow round_rows[] = {
    {TYPE_F16, 65519.0, 0x7bff},        {TYPE_F16, 65520.0, 0x7c00},
    {TYPE_F16, 0x1p-24, 0x0001},        {TYPE_F16, 0x1p-25, 0x0000},
    {TYPE_F16, -0x1.8p-25, 0x8001},     {TYPE_F16, 0x1.ffep-15, 0x0400},
    {TYPE_F16, -INFINITY, 0xfc00},      {TYPE_F16, 2049.0, 0x6800},
    {TYPE_F16, 2051.0, 0x6802},         {TYPE_BF16, 1.00390625, 0x3f80},
    {TYPE_BF16, 1.01171875, 0x3f82},    {TYPE_BF16, 3.4e38, 0x7f80},
    {TYPE_TF32, 1.0, 0x1fc00},          {TYPE_F8E5M2, 61439.0, 0x7b},
    {TYPE_F8E5M2, 61440.0, 0x7c},       {TYPE_F8E4M3, 248.0, 0x78},
    {TYPE_F8E4M3, 247.0, 0x77},         {TYPE_F8E4M3FN, 464.0, 0x7e},
    {TYPE_F8E4M3FN, 465.0, 0x7f},       {TYPE_F8E4M3FN, -INFINITY, 0xff},
    {TYPE_F8E4M3FNUZ, -0.0, 0x00},      {TYPE_F8E4M3FNUZ, -1e-9, 0x00},
    {TYPE_F8E4M3FNUZ, 248.0, 0x80},     {TYPE_F8E4M3FNUZ, 247.0, 0x7f},
    {TYPE_F8E5M2FNUZ, -INFINITY, 0x80}, {TYPE_F8E4M3B11FNUZ, 30.9, 0x7f},
};

static void rounds_half_even(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(round_rows); i++)
        assert_int_equal(float_to_bits((int)round_rows[i].kind, round_rows[i].value),
                         round_rows[i].bits);
}

static void nan_stays_nan(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(narrow_kinds); k++) {
        int kind = (int)narrow_kinds[k];
        assert_true(isnan(float_from_bits(kind, float_to_bits(kind, (double)NAN))));
    }
    uint64_t words[2];
    float_to_words(TYPE_F80, (double)NAN, words);
    assert_int_equal(words[1], 0x7fff);
    assert_true(isnan(float_from_words(TYPE_F80, words)));
    assert_true(isnan(float_from_words(TYPE_F80, (const uint64_t[2]){1, 0x3fff})));
}

static void wide_formats_hold_every_double(void **state)
{
    (void)state;
    Random random = {3};
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = random_u64(&random), words[2];
        if (i % 10 == 0) bits &= ~(UINT64_C(0x7ff) << 52); /* denormal */
        if (isnan(double_of(bits))) continue;
        float_to_words(TYPE_F80, double_of(bits), words);
        assert_int_equal(bits_of(float_from_words(TYPE_F80, words)), bits);
        float_to_words(TYPE_F128, double_of(bits), words);
        assert_int_equal(bits_of(float_from_words(TYPE_F128, words)), bits);
    }
}

static void wide_formats_round_to_double(void **state)
{
    (void)state;
    const uint64_t one_f128 = UINT64_C(0x3fff000000000000), half = UINT64_C(0x0800000000000000);
    assert_int_equal(bits_of(float_from_words(TYPE_F128, (uint64_t[2]){half, one_f128})),
                     bits_of(1.0));
    assert_int_equal(bits_of(float_from_words(TYPE_F128, (uint64_t[2]){half + 1, one_f128})),
                     bits_of(1.0) + 1);
    assert_true(float_from_words(TYPE_F128, (uint64_t[2]){0, UINT64_C(0x7ffe) << 48}) == INFINITY);
    assert_true(float_from_words(TYPE_F80, (uint64_t[2]){1, 0}) == 0.0);
}

typedef struct ParseRow {
    const char *text;
    uint64_t bits; /* as Python's float() */
} ParseRow;

static const ParseRow parse_rows[] = {
    {"0.0", UINT64_C(0x0)},
    {"-0.0", UINT64_C(0x8000000000000000)},
    {"0.0e999", UINT64_C(0x0)},
    {"1.0", UINT64_C(0x3ff0000000000000)},
    {"-1.5", UINT64_C(0xbff8000000000000)},
    {"+2.5", UINT64_C(0x4004000000000000)},
    {"0.1", UINT64_C(0x3fb999999999999a)},
    {"3.14159265358979", UINT64_C(0x400921fb54442d11)},
    {"1.e5", UINT64_C(0x40f86a0000000000)},
    {"1.5E+3", UINT64_C(0x4097700000000000)},
    {"1e-7", UINT64_C(0x3e7ad7f29abcaf48)},
    {"123456789012345678901234567890.0", UINT64_C(0x45f8ee90ff6c373e)},
    {"9007199254740993.0", UINT64_C(0x4340000000000000)},
    {"9007199254740993.00000000000000000000000001", UINT64_C(0x4340000000000001)},
    {"9007199254740995.0", UINT64_C(0x4340000000000002)},
    {"1e22", UINT64_C(0x4480f0cf064dd592)},
    {"1e23", UINT64_C(0x44b52d02c7e14af6)},
    {"8.5e22", UINT64_C(0x44b1ffdbf6b2b2eb)},
    {"1.7976931348623157e308", UINT64_C(0x7fefffffffffffff)},
    {"1.7976931348623158e308", UINT64_C(0x7fefffffffffffff)},
    {"1.7976931348623159e308", UINT64_C(0x7ff0000000000000)},
    {"1e309", UINT64_C(0x7ff0000000000000)},
    {"-1e400", UINT64_C(0xfff0000000000000)},
    {"2.2250738585072014e-308", UINT64_C(0x10000000000000)},
    {"2.2250738585072011e-308", UINT64_C(0xfffffffffffff)},
    {"4.9406564584124654e-324", UINT64_C(0x1)},
    {"2.4703282292062327e-324", UINT64_C(0x0)},
    {"2.4703282292062328e-324", UINT64_C(0x1)},
    {"1e-400", UINT64_C(0x0)},
    {"-1e-99999999999999999999", UINT64_C(0x8000000000000000)},
    {"1e99999999999999999999", UINT64_C(0x7ff0000000000000)},
    {"0.000000000000000000000000000000000000000000000000000001e60", UINT64_C(0x412e848000000000)},
    {"6.02214076e23", UINT64_C(0x44dfe185ca57c517)},
    {"5e-324", UINT64_C(0x1)},
    {"7.2057594037927933e16", UINT64_C(0x4370000000000000)},
    {"1.00000000000000011102230246251565404236316680908203125", UINT64_C(0x3ff0000000000000)},
    {"1.00000000000000011102230246251565404236316680908203124", UINT64_C(0x3ff0000000000000)},
    {"1.00000000000000011102230246251565404236316680908203126", UINT64_C(0x3ff0000000000001)},
};

static void reads_correctly_rounded(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(parse_rows); i++) {
        double value;
        assert_true(float_parse(str_from(parse_rows[i].text), &value));
        assert_int_equal(bits_of(value), parse_rows[i].bits);
    }
}

/* The half-way point between 1 and the next double, told apart by its last digit only. */
static void every_digit_counts(void **state)
{
    (void)state;
    StrBuf text = {0};
    double value;
    strbuf_add_c(&text, "1.00000000000000011102230246251565404236316680908203125");
    for (int i = 0; i < 5000; i++) strbuf_add_char(&text, '0');
    assert_true(float_parse(strbuf_str(&text), &value));
    assert_int_equal(bits_of(value), bits_of(1.0));
    strbuf_add_char(&text, '1');
    assert_true(float_parse(strbuf_str(&text), &value));
    assert_int_equal(bits_of(value), bits_of(1.0) + 1);
    strbuf_free(&text);
}

static void long_literals_keep_their_scale(void **state)
{
    (void)state;
    StrBuf text = {0};
    double value;
    strbuf_add_char(&text, '1');
    for (int i = 0; i < 5000; i++) strbuf_add_char(&text, '0');
    strbuf_add_c(&text, ".0e-5000");
    assert_true(float_parse(strbuf_str(&text), &value));
    assert_true(value == 1.0);
    strbuf_clear(&text);
    strbuf_add_c(&text, "0.");
    for (int i = 0; i < 5000; i++) strbuf_add_char(&text, '0');
    strbuf_add_c(&text, "1e5001");
    assert_true(float_parse(strbuf_str(&text), &value));
    assert_true(value == 1.0);
    strbuf_free(&text);
}

static void malformed_text_is_rejected(void **state)
{
    (void)state;
    static const char *const texts[] = {"",   "-",  ".",    "1e",  "1e+",    "1.2.3", "abc",
                                        "1x", "1 ", "0x10", "inf", "1.0e5x", "e5",    "--1"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        double value;
        assert_false(float_parse(str_from(texts[i]), &value));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_as_upstream),
        cmocka_unit_test(printing_appends),
        cmocka_unit_test(prints_for_messages),
        cmocka_unit_test(printed_text_reads_back),
        cmocka_unit_test(every_small_pattern_survives_double),
        cmocka_unit_test(f32_agrees_with_the_machine),
        cmocka_unit_test(rounds_half_even),
        cmocka_unit_test(nan_stays_nan),
        cmocka_unit_test(wide_formats_hold_every_double),
        cmocka_unit_test(wide_formats_round_to_double),
        cmocka_unit_test(reads_correctly_rounded),
        cmocka_unit_test(every_digit_counts),
        cmocka_unit_test(long_literals_keep_their_scale),
        cmocka_unit_test(malformed_text_is_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
