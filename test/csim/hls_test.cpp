/* hls_stream.h, hls_vector.h and hls_math.h. With an argument: a misuse that
 * must abort, or a stream that must be reported. Exits non-zero on a failed
 * check. */
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "ap_int.h"
#include "hls_math.h"
#include "hls_stream.h"
#include "hls_vector.h"

static int failures = 0;

#define CHECK(X)                                                                                   \
    do {                                                                                           \
        if (!(X)) {                                                                                \
            std::printf("line %d: %s\n", __LINE__, #X);                                            \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

template <class T>
static void copy_all(hls::stream<T> &in, hls::stream<T> &out)
{
    while (!in.empty()) out << in.read();
}

static_assert(!std::is_copy_constructible_v<hls::stream<int>> &&
              !std::is_copy_assignable_v<hls::stream<int>>);

static void test_order()
{
    hls::stream<ap_int<12>> a("a");
    hls::stream<ap_int<12>, 4> b("b");
    int next = 0, want = 0;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 7 * round % 31; i++) a.write(next++);
        copy_all(a, b);
        for (int i = 0; i < 5 * round % 23 && !b.empty(); i++)
            CHECK(b.read() == ap_int<12>(want++));
    }
    CHECK(b.size() == std::size_t(next - want) && !b.full() && b.capacity() > 1000000);
    ap_int<12> v;
    while (b.read_nb(v)) CHECK(v == ap_int<12>(want++));
    CHECK(want == next && a.empty() && !a.read_nb(v) && a.write_nb(3));
    a >> v;
    CHECK(v == 3);
    a << 4;
    a.read(v);
    CHECK(v == 4 && a.name() == "a");
}

static void test_wide_elements()
{
    hls::stream<hls::vector<ap_int<8>, 3>, 2> words[2];
    for (int i = 0; i < 100; i++) words[i % 2] << hls::vector<ap_int<8>, 3>{i, -i, i + 1};
    hls::vector<ap_int<8>, 3> sum(0);
    for (hls::stream<hls::vector<ap_int<8>, 3>> &s : words)
        while (!s.empty()) sum += s.read();
    CHECK(sum[0] == ap_int<8>(4950) && sum[1] == ap_int<8>(-4950) && sum[2] == ap_int<8>(5050));
}

static void test_vector()
{
    using V = hls::vector<int, 4>;
    static_assert(sizeof(V) == 16 && alignof(V) == 16 && V::size() == 4);
    static_assert(sizeof(hls::vector<ap_int<8>, 3>) == 3 &&
                  alignof(hls::vector<ap_int<8>, 6>) == 2);
    constexpr V c = 10, d = {1, 2, 3, 4};
    static_assert((c + d)[3] == 14 && (c % d)[2] == 1 && d.reduce_add() == 10 &&
                  d.reduce_mult() == 24);
    V a = d, b = std::array<int, 4>{4, 3, 2, 1};
    CHECK(a + b == V(5) && a - b == (V{-3, -1, 1, 3}) && a * b == (V{4, 6, 6, 4}) &&
          b / a == (V{4, 1, 0, 0}));
    CHECK((a & b) == (V{0, 2, 2, 0}) && (a | b) == (V{5, 3, 3, 5}) && (a ^ b) == (V{5, 1, 1, 5}));
    CHECK((a << 1) == a + a && (a >> V(1)) == (V{0, 1, 1, 2}) && -a == 0 - a && ~a == -a - 1);
    CHECK(a < b && a <= b && b > a && a >= a && a != b && (V{1, 2, 3, 3}) < a && !(a < a));
    CHECK(a.reduce_or() == 7 && a.reduce_and() == 0 && a.reduce_xor() == 4);
    a += b;
    a -= 1;
    a *= a;
    CHECK(a == V(16) && (a++) == V(16) && a == V(17) && --a == V(16));
    int sum = 0;
    for (int x : b) sum += x;
    CHECK(sum == 10 && (V{}) == V(0));
    hls::vector<ap_uint<4>, 2> n{ap_uint<4>(15), ap_uint<4>(1)};
    n += ap_uint<4>(1);
    CHECK(n[0] == 0 && n[ap_uint<1>(1)] == 2);
}

static void test_math()
{
    CHECK(hls::exp(0.0) == 1 && hls::log(1.0f) == 0 && hls::sqrt(9.0f) == 3 &&
          hls::rsqrt(4.0) == 0.5);
    CHECK(hls::tanh(0.0f) == 0 && hls::fabs(-2.5) == 2.5 && hls::fmin(1.0f, -1.0f) == -1 &&
          hls::fmax(1.0, 2.0) == 2);
    CHECK(hls::floor(-1.5) == -2 && hls::ceil(-1.5f) == -1 && hls::round(2.5) == 3 &&
          hls::pow(2.0f, 10.0f) == 1024);
    CHECK(hls::erf(0.0) == 0 && hls::sin(0.0f) == 0 && hls::cos(0.0) == 1);
    static_assert(std::is_same_v<decltype(hls::exp(1.0f)), float> &&
                  std::is_same_v<decltype(hls::rsqrt(1.0)), double>);
}

static int misuse(const char *what)
{
    hls::stream<int> s("pixels");
    if (std::strcmp(what, "empty") == 0) return s.read();
    if (std::strcmp(what, "leftover") == 0) s << 1;
    if (std::strcmp(what, "list") == 0) return hls::vector<int, 3>{1, 2}[0];
    if (std::strcmp(what, "index") == 0) return hls::vector<int, 3>(1)[std::strlen(what)];
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1) return misuse(argv[1]);
    test_order();
    test_wide_elements();
    test_vector();
    test_math();
    return failures != 0;
}
