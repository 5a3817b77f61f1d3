/* What ap_int.h promises apart from values on random operands (those are
 * gen_ap_int.py's): storage, result types, constant initialisation, implicit
 * conversions, references, output, and division at the edges. With an argument:
 * a misuse that must abort. Exits non-zero on a failed check. */
#include <cstdio>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <type_traits>

#include "ap_int.h"

static int failures = 0;

#define CHECK(X)                                                                                   \
    do {                                                                                           \
        if (!(X)) {                                                                                \
            std::printf("line %d: %s\n", __LINE__, #X);                                            \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

template <class T, class U>
constexpr bool same = std::is_same_v<std::decay_t<T>, U>;

/* Storage. */
static_assert(sizeof(ap_int<1>) == 1 && sizeof(ap_int<8>) == 1 && sizeof(ap_uint<9>) == 2 &&
              sizeof(ap_int<16>) == 2);
static_assert(sizeof(ap_uint<17>) == 4 && sizeof(ap_int<33>) == 8 && sizeof(ap_uint<64>) == 8);
static_assert(sizeof(ap_int<65>) == 16 && sizeof(ap_int<129>) == 24 &&
              sizeof(ap_uint<4096>) == 512);
static_assert(std::is_trivially_copyable_v<ap_int<8>> &&
              std::is_trivially_copyable_v<ap_uint<300>>);
static_assert(std::is_trivially_default_constructible_v<ap_int<8>>);

/* Result types: the documented rules, spelled out. */
extern const ap_int<8> s8;
extern const ap_uint<8> u8;
static_assert(same<decltype(s8 + s8), ap_int<9>> && same<decltype(u8 + u8), ap_uint<9>>);
static_assert(same<decltype(s8 + u8), ap_int<10>> && same<decltype(ap_int<4>() + u8), ap_int<10>>);
static_assert(same<decltype(s8 + ap_uint<4>()), ap_int<9>>);
static_assert(same<decltype(u8 - u8), ap_int<9>> && same<decltype(-s8), ap_int<9>> &&
              same<decltype(-u8), ap_int<9>>);
static_assert(same<decltype(s8 * u8), ap_int<16>> &&
              same<decltype(u8 * ap_uint<5>()), ap_uint<13>>);
static_assert(same<decltype(s8 / u8), ap_int<8>> && same<decltype(u8 / s8), ap_int<9>>);
static_assert(same<decltype(s8 % ap_uint<4>()), ap_int<5>> &&
              same<decltype(u8 % ap_int<20>()), ap_uint<8>>);
static_assert(same<decltype(s8 & u8), ap_int<9>> && same<decltype(u8 | ap_uint<3>()), ap_uint<8>>);
static_assert(same<decltype(s8 << 3), ap_int<8>> && same<decltype(~u8), ap_uint<8>>);
static_assert(same<decltype(s8 + 1), ap_int<33>> && same<decltype(1 + u8), ap_int<33>>);
static_assert(same<decltype(u8 + 1u), ap_uint<33>> && same<decltype(s8 * 1LL), ap_int<72>>);
static_assert(same<decltype(u8 + true), ap_uint<9>> && same<decltype(s8 + short(1)), ap_int<17>>);
static_assert(same<decltype(s8 + 'a'), ap_int<9>> && same<decltype(s8 * 2.5f), float>);
static_assert(same<decltype(s8 < 0.5), bool> && same<decltype(s8 / 2.0), double>);
static_assert(same<decltype(s8 == u8), bool> && same<decltype(!s8), bool> &&
              same<decltype(1 << u8), ap_int<32>>);

/* A wide value is no condition, nor an operand beside a float. */
template <class A, class B, class = void>
constexpr bool can_multiply = false;
template <class A, class B>
constexpr bool can_multiply<A, B, std::void_t<decltype(std::declval<A>() * std::declval<B>())>> =
    true;
static_assert(std::is_constructible_v<bool, ap_uint<64>> &&
              !std::is_constructible_v<bool, ap_uint<65>>);
static_assert(can_multiply<ap_int<64>, float> && !can_multiply<ap_int<65>, float>);
static_assert(can_multiply<double, ap_uint<64>> && !can_multiply<double, ap_uint<99>>);
static_assert(can_multiply<ap_int<99>, int> && std::is_convertible_v<ap_int<99>, long>);

/* Constant expressions. */
constexpr ap_int<5> table[2][3] = {{1, -2, 3}, {15, -16, 17}};
static_assert(table[1][1] == -16 && table[1][2] == -15);
static_assert(ap_uint<4>(-1) == 15 && ap_int<4>(8) == -8 && ap_int<12>(3.99) == 3 &&
              ap_int<12>(-3.99f) == -3);
static_assert(ap_uint<96>("76543210fedcba9876543210", 16).to_uint64() == 0xfedcba9876543210);
static_assert(ap_uint<200>("0x10").to_int() == 16 && ap_int<9>("-0b101") == -5 &&
              ap_int<20>("777", 8) == 511);
static_assert(ap_uint<128>("340282366920938463463374607431768211455", 10).and_reduce());
static_assert((ap_int<8>(-128) >> 7) == -1 && (ap_uint<8>(200) << -3) == 25 &&
              (ap_int<8>(1) << 8) == 0);
static_assert(ap_int<8>(-7) / ap_int<3>(2) == -3 && ap_int<8>(-7) % ap_int<3>(2) == -1);
static_assert(ap_int<300>(-1) * ap_uint<300>(5) == -5 && (ap_uint<300>(1) << 299) > 0);

/* Names of user templates that an operator's helpers must not collide with. */
template <class T>
static T add(T a, T b)
{
    return a + b;
}

template <class T>
static bool less(T a, T b)
{
    return b < a;
}

template <class T>
static T value_of(T a)
{
    return a + 1;
}

enum Color { RED = 2 };

static void test_documented_examples()
{
    ap_uint<10> result;
    ap_int<3> val1 = -3;
    ap_int<7> val2 = 54;
    result = (val2, val1);
    CHECK(result == 0x1B5);
    result = val1.concat(val2);
    CHECK(result == 0x2B6);
    (val1, val2) = 0xAB;
    CHECK(val1 == 1 && val2 == 43);

    ap_int<72> val("80fedcba9876543210");
    CHECK(val.to_string() == "80FEDCBA9876543210");
    CHECK(val.to_string(10) == "-2342818482890329542128");
    CHECK(val.to_string(8) == "401773345651416625031020");
    CHECK(val.to_string(16, true) == "-7F0123456789ABCDF0");
}

static void test_conversions()
{
    ap_int<8> a = -5;
    int i = a;
    long l = a;
    float f = a;
    const int array[] = {10, 11, 12, 13};
    CHECK(i == -5 && l == -5 && f == -5.0f && array[ap_uint<2>(2)] == 12);
    CHECK(a * 2.5f == -12.5f && 2.0 - a == 7.0 && a > -5.5 && a + RED == -3);
    i += a;
    f -= a;
    CHECK(i == -10 && f == 0 && (a ? true : false));
    switch (ap_uint<3>(6)) {
    case 6: break;
    default: CHECK(false);
    }
    const ap_uint<300> wide = ap_uint<300>(7) << 200;
    CHECK(static_cast<int>(wide) == 0 && static_cast<int>(wide >> 200) == 7 && wide.to_bool() &&
          !!wide);
    CHECK((l + ap_uint<4>(3)).to_long() == -2);
    const unsigned char c = ap_uint<8>(200);
    CHECK(c == 200);
    CHECK(ap_int<200>(-0x1p150) == -(ap_int<200>(1) << 150) && ap_uint<16>(1e300 * 1e300) == 0);
    CHECK(ap_int<8>(char16_t(65)) == 65 && ap_int<8>(RED) == 2);
}

static void test_references()
{
    ap_uint<8> a = 0x80;
    const ap_uint<8> c = 0x81;
    CHECK((a[7] << 3) == 8 && a[7] + c[0] == 2 && (a[7] ^ a[7]) == 0 && !a[0]);
    a[0] = a[7];
    a[1] = 5;
    CHECK(a == 0x83 && ~a[2]);
    a.range(5, 4) = a.range(1, 0);
    CHECK(a == 0xB3);
    a.range(7, 4) = a.range(5, 2);
    CHECK(a == 0xC3);
    a.range(0, 3) = ap_uint<4>(1);
    CHECK(a == 0xC8 && a.range(0, 3) == 1 && c.range(0, 7) == 0x81);
    a.range(7, 0) = ap_int<2>(-1);
    CHECK(a == 0xFF);
    a(3, 0) = 0;
    a.range(1, 0) = c[0];
    CHECK(a == 0xF1 && a(7, 4) == 15 && int(a(7, 4)) == 15 && (a(7, 4), a(1, 0)) == 0x3D);
    CHECK((a[0], a[1], a[7]).get() == 5 && (ap_uint<3>(5), true).to_int() == 11);
    ap_uint<300> w = 0;
    w.range(299, 100) = ~w;
    CHECK((w >> 100).to_string() == std::string(50, 'F'));
    CHECK(w.range(299, 100).and_reduce() && !w.range(299, 99).and_reduce());
    (w, a) = (a, w);
    CHECK(a == 0 && w.range(299, 292) == 0xF1 && w.range(291, 92).and_reduce() &&
          w.range(91, 0) == 0);
    ap_int<12> s = 0;
    s.set(11);
    s.set(0, true);
    s.invert(1);
    CHECK(s == -2045 && s.test(11) && s.sign() && s.length() == 12);
    s.clear(11);
    s.b_not();
    CHECK(s == -4 && s.bit(2));
    ap_uint<8> x = 5, y = 6;
    for (x = 0, y = 9; x < 3; ++x, --y) continue;
    CHECK(x == 3 && y == 6);
}

static void test_division()
{
    const ap_uint<192> ones = ~ap_uint<192>(0);
    const ap_uint<192> b = (ap_uint<192>(1) << 191) + 1;
    CHECK(ones / b == 1 && ones % b == (ap_uint<192>(1) << 191) - 2);
    const ap_int<64> min64 = ap_int<64>(1) << 63;
    CHECK((min64 / ap_int<64>(-1)).to_string(10) == "9223372036854775808" &&
          min64 % ap_int<64>(-1) == 0);
    const ap_int<128> min128 = ap_int<128>(1) << 127;
    CHECK(min128 / -1 == -min128 && -min128 > 0 && min128 % -1 == 0);
    ap_uint<4096> p = 1;
    for (int i = 0; i < 1500; i++) p *= 5;
    ap_uint<4096> q = p;
    for (int i = 0; i < 1500; i++) q /= 5;
    CHECK(q == 1 && p % 5 == 0 && (p * p) / p == p && p.to_string(10).size() == 1049);
}

static void test_output()
{
    std::ostringstream os;
    os << ap_int<8>(-100) << ' ' << std::hex << ap_int<8>(-100) << ' ' << std::uppercase
       << ap_uint<70>(255) << ' ' << std::oct << ap_uint<4>(15) << std::dec << '|' << std::setw(5)
       << ap_int<3>(3) << '|' << ap_uint<8>(0xA5)(7, 4) << ap_uint<8>(1)[0];
    CHECK(os.str() == "-100 9c FF 17|    3|101");
}

static int misuse(const char *what)
{
    ap_int<8> a = 1;
    ap_uint<100> w = 1;
    volatile int zero = 0, nine = 9;
    if (std::strcmp(what, "division") == 0) return a / zero;
    if (std::strcmp(what, "modulo") == 0) return (w % ap_uint<100>(int(zero))).to_int();
    if (std::strcmp(what, "index") == 0) return a[nine];
    if (std::strcmp(what, "negative") == 0) return a[-nine];
    if (std::strcmp(what, "range") == 0) return a.range(nine, 0).to_int();
    if (std::strcmp(what, "string") == 0) return ap_int<8>("12z", 10);
    if (std::strcmp(what, "empty") == 0) return ap_int<8>("-");
    if (std::strcmp(what, "wide") == 0) return int(w.range(99, 0));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1) return misuse(argv[1]);
    test_documented_examples();
    test_conversions();
    test_references();
    test_division();
    test_output();
    CHECK(add(ap_int<4>(3), ap_int<4>(2)) == 5 && less(ap_int<4>(3), ap_int<4>(2)) &&
          value_of(ap_int<4>(3)) == 4);
    return failures != 0;
}
