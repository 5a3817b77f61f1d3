/* Storage and arithmetic of ap_int values, without their widths' rules.
 * A value of W bits lives in the narrowest machine word that holds it, up to
 * 128 bits, and above that in Limbs<N>: N 64-bit words, least significant
 * first, two's complement. Both are always kept extended to the full word
 * (by sign or by zero), so a value can be read without masking. Arithmetic is
 * modulo the word; the caller picks a word wide enough for the exact result.
 * Everything is constexpr. Included by ap_int.h only; tested by test/csim. */
#ifndef AP_LIMBS_H
#define AP_LIMBS_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace ap_impl {

__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

/* A misuse that Vitis leaves undefined. In a constant expression the call
 * itself is the compile error. */
[[noreturn]] inline void fail(const char *what)
{
    std::fprintf(stderr, "ERROR: ap_int: %s\n", what);
    std::abort();
}

template <int N>
struct Limbs {
    std::uint64_t w[N];
};

template <class T>
inline constexpr bool is_limbs = false;
template <int N>
inline constexpr bool is_limbs<Limbs<N>> = true;

/* Words by size: log2 of the number of bytes, 5 for limbs. */
constexpr int word_class(int bits)
{
    return bits <= 8 ? 0 : bits <= 16 ? 1 : bits <= 32 ? 2 : bits <= 64 ? 3 : bits <= 128 ? 4 : 5;
}

template <int Class, int N>
struct WordOf {
    using S = Limbs<N>;
    using U = Limbs<N>;
};
template <int N> struct WordOf<0, N> { using S = std::int8_t; using U = std::uint8_t; };
template <int N> struct WordOf<1, N> { using S = std::int16_t; using U = std::uint16_t; };
template <int N> struct WordOf<2, N> { using S = std::int32_t; using U = std::uint32_t; };
template <int N> struct WordOf<3, N> { using S = std::int64_t; using U = std::uint64_t; };
template <int N> struct WordOf<4, N> { using S = i128; using U = u128; };

template <int W>
using sword_t = typename WordOf<word_class(W), (W + 63) / 64>::S;
template <int W>
using uword_t = typename WordOf<word_class(W), (W + 63) / 64>::U;

/* Words to compute in: at least 32 bits, so that no operand is promoted to int. */
template <int W>
using scalc_t = sword_t<(W < 32 ? 32 : W)>;
template <int W>
using ucalc_t = uword_t<(W < 32 ? 32 : W)>;

template <class To, bool S, int N>
constexpr To limbs_extend(const Limbs<N> &v)
{
    constexpr int M = sizeof(To) / 8;
    To r{};
    for (int i = 0; i < M && i < N; i++)
        r.w[i] = v.w[i];
    const std::uint64_t fill = S && v.w[N - 1] >> 63 ? ~std::uint64_t{0} : 0;
    for (int i = N; i < M; i++)
        r.w[i] = fill;
    return r;
}

template <class To, bool S, class Word>
constexpr To limbs_extend(Word v)
{
    constexpr int M = sizeof(To) / 8;
    const i128 x = static_cast<i128>(v);    /* the same 128 bits, or exact */
    const std::uint64_t fill = S && x < 0 ? ~std::uint64_t{0} : 0;
    To r{};
    r.w[0] = static_cast<std::uint64_t>(x);
    for (int i = 1; i < M; i++)
        r.w[i] = i == 1 ? static_cast<std::uint64_t>(static_cast<u128>(x) >> 64) : fill;
    return r;
}

/* v as a To, truncated, or extended by sign (S) or zero. */
template <class To, bool S, class From>
constexpr To extend(const From &v)
{
    if constexpr (std::is_same_v<To, From>) {
        return v;
    } else if constexpr (is_limbs<To>) {
        return limbs_extend<To, S>(v);
    } else if constexpr (is_limbs<From>) {
        if constexpr (sizeof(To) == 16)
            return static_cast<To>(static_cast<u128>(v.w[1]) << 64 | v.w[0]);
        else
            return static_cast<To>(v.w[0]);
    } else {
        return static_cast<To>(v);
    }
}

/* Limbs as a word: the operators that the machine has for its own. */

template <int N>
constexpr Limbs<N> operator+(const Limbs<N> &a, const Limbs<N> &b)
{
    Limbs<N> r{};
    u128 carry = 0;
    for (int i = 0; i < N; i++) {
        carry += static_cast<u128>(a.w[i]) + b.w[i];
        r.w[i] = static_cast<std::uint64_t>(carry);
        carry >>= 64;
    }
    return r;
}

template <int N>
constexpr Limbs<N> operator~(const Limbs<N> &a)
{
    Limbs<N> r{};
    for (int i = 0; i < N; i++)
        r.w[i] = ~a.w[i];
    return r;
}

template <int N>
constexpr Limbs<N> operator-(const Limbs<N> &a, const Limbs<N> &b)
{
    Limbs<N> r{};
    u128 carry = 1;                         /* a - b = a + ~b + 1 */
    for (int i = 0; i < N; i++) {
        carry += static_cast<u128>(a.w[i]) + ~b.w[i];
        r.w[i] = static_cast<std::uint64_t>(carry);
        carry >>= 64;
    }
    return r;
}

template <int N>
constexpr Limbs<N> operator*(const Limbs<N> &a, const Limbs<N> &b)
{
    Limbs<N> r{};
    for (int i = 0; i < N; i++) {
        u128 carry = 0;
        for (int j = 0; i + j < N; j++) {
            carry += static_cast<u128>(a.w[i]) * b.w[j] + r.w[i + j];
            r.w[i + j] = static_cast<std::uint64_t>(carry);
            carry >>= 64;
        }
    }
    return r;
}

template <int N>
constexpr Limbs<N> operator&(const Limbs<N> &a, const Limbs<N> &b)
{
    Limbs<N> r{};
    for (int i = 0; i < N; i++)
        r.w[i] = a.w[i] & b.w[i];
    return r;
}

template <int N>
constexpr Limbs<N> operator|(const Limbs<N> &a, const Limbs<N> &b)
{
    Limbs<N> r{};
    for (int i = 0; i < N; i++)
        r.w[i] = a.w[i] | b.w[i];
    return r;
}

template <int N>
constexpr Limbs<N> operator^(const Limbs<N> &a, const Limbs<N> &b)
{
    Limbs<N> r{};
    for (int i = 0; i < N; i++)
        r.w[i] = a.w[i] ^ b.w[i];
    return r;
}

template <int N>
constexpr bool operator==(const Limbs<N> &a, const Limbs<N> &b)
{
    for (int i = 0; i < N; i++)
        if (a.w[i] != b.w[i])
            return false;
    return true;
}

/* a << n, 0 <= n < 64 * N. */
template <int N>
constexpr Limbs<N> operator<<(const Limbs<N> &a, unsigned n)
{
    const int words = static_cast<int>(n / 64);
    const unsigned bits = n % 64;
    Limbs<N> r{};
    for (int i = words; i < N; i++) {
        r.w[i] = a.w[i - words] << bits;
        if (bits != 0 && i > words)
            r.w[i] |= a.w[i - words - 1] >> (64 - bits);
    }
    return r;
}

/* a >> n, 0 <= n < 64 * N; arithmetic if S. */
template <bool S, int N>
constexpr Limbs<N> limbs_shr(const Limbs<N> &a, unsigned n)
{
    const int words = static_cast<int>(n / 64);
    const unsigned bits = n % 64;
    const std::uint64_t fill = S && a.w[N - 1] >> 63 ? ~std::uint64_t{0} : 0;
    Limbs<N> r{};
    for (int i = 0; i < N; i++) {
        const std::uint64_t lo = i + words < N ? a.w[i + words] : fill;
        const std::uint64_t hi = i + words + 1 < N ? a.w[i + words + 1] : fill;
        r.w[i] = bits == 0 ? lo : lo >> bits | hi << (64 - bits);
    }
    return r;
}

/* The 64 bits from bit lo on; above the word, as the value extends. */
template <bool S, int N>
constexpr std::uint64_t limbs_get(const Limbs<N> &a, int lo)
{
    const std::uint64_t fill = S && a.w[N - 1] >> 63 ? ~std::uint64_t{0} : 0;
    const int i = lo / 64, bits = lo % 64;
    const std::uint64_t low = i < N ? a.w[i] : fill, high = i + 1 < N ? a.w[i + 1] : fill;
    return bits == 0 ? low : low >> bits | high << (64 - bits);
}

/* Replace the bits of `mask << lo` with `value << lo`. */
template <int N>
constexpr void limbs_put(Limbs<N> &a, int lo, std::uint64_t mask, std::uint64_t value)
{
    const int i = lo / 64, bits = lo % 64;
    value &= mask;
    a.w[i] = (a.w[i] & ~(mask << bits)) | value << bits;
    if (bits != 0 && i + 1 < N)
        a.w[i + 1] = (a.w[i + 1] & ~(mask >> (64 - bits))) | value >> (64 - bits);
}

/* Bits W and up become copies of bit W - 1, or zeros. */
template <int W, bool S, int N>
constexpr void limbs_trim(Limbs<N> &a)
{
    constexpr int SPARE = 64 * N - W;
    const std::uint64_t top = a.w[N - 1] << SPARE;
    a.w[N - 1] = S ? static_cast<std::uint64_t>(static_cast<std::int64_t>(top) >> SPARE) : top >> SPARE;
}

template <bool S, int N>
constexpr bool limbs_less(const Limbs<N> &a, const Limbs<N> &b)
{
    const bool neg_a = S && a.w[N - 1] >> 63, neg_b = S && b.w[N - 1] >> 63;
    if (neg_a != neg_b)
        return neg_a;
    for (int i = N - 1; i >= 0; i--)
        if (a.w[i] != b.w[i])
            return a.w[i] < b.w[i];
    return false;
}

/* Number of bits of an unsigned word up to its highest one. */
template <int N>
constexpr int limbs_bits(const Limbs<N> &a)
{
    for (int i = N - 1; i >= 0; i--)
        for (int b = 63; b >= 0; b--)
            if (a.w[i] >> b & 1)
                return i * 64 + b + 1;
    return 0;
}

template <int N>
struct LimbsDiv {
    Limbs<N> quot, rem;
};

/* Unsigned division, one quotient bit a step: wide division is rare in a
 * kernel, so the short algorithm wins. Before a step the remainder is at most
 * a / 2, so its shift loses nothing. */
template <int N>
constexpr LimbsDiv<N> limbs_udiv(const Limbs<N> &a, const Limbs<N> &b)
{
    LimbsDiv<N> r{};
    for (int i = limbs_bits(a) - 1; i >= 0; i--) {
        r.rem = r.rem << 1;
        r.rem.w[0] |= a.w[i / 64] >> (i % 64) & 1;
        if (!limbs_less<false>(r.rem, b)) {
            r.rem = r.rem - b;
            r.quot.w[i / 64] |= std::uint64_t{1} << (i % 64);
        }
    }
    return r;
}

/* Signed division, truncating toward zero; the remainder has a's sign. */
template <int N>
constexpr LimbsDiv<N> limbs_sdiv(const Limbs<N> &a, const Limbs<N> &b)
{
    const Limbs<N> zero{};
    const bool neg_a = a.w[N - 1] >> 63, neg_b = b.w[N - 1] >> 63;
    LimbsDiv<N> r = limbs_udiv(neg_a ? zero - a : a, neg_b ? zero - b : b);
    if (neg_a != neg_b)
        r.quot = zero - r.quot;
    if (neg_a)
        r.rem = zero - r.rem;
    return r;
}

/* a = a * mul + add, in place. */
template <int N>
constexpr void limbs_muladd(Limbs<N> &a, std::uint64_t mul, std::uint64_t add)
{
    u128 carry = add;
    for (int i = 0; i < N; i++) {
        carry += static_cast<u128>(a.w[i]) * mul;
        a.w[i] = static_cast<std::uint64_t>(carry);
        carry >>= 64;
    }
}

/* a = a / div, in place; returns the remainder. */
template <int N>
constexpr std::uint64_t limbs_divsmall(Limbs<N> &a, std::uint64_t div)
{
    u128 rem = 0;
    for (int i = N - 1; i >= 0; i--) {
        rem = rem << 64 | a.w[i];
        a.w[i] = static_cast<std::uint64_t>(rem / div);
        rem %= div;
    }
    return static_cast<std::uint64_t>(rem);
}

/* The nearest Real to an unsigned word: the 64 leading bits, the lowest of
 * them made odd if any bit was dropped, so that one rounding is enough. */
template <class Real, int N>
constexpr Real limbs_to_real(const Limbs<N> &a)
{
    const int bits = limbs_bits(a);
    if (bits <= 64)
        return static_cast<Real>(a.w[0]);
    const unsigned drop = static_cast<unsigned>(bits - 64);
    const Limbs<N> top = limbs_shr<false>(a, drop);
    const bool exact = (top << drop) == a;
    Real d = static_cast<Real>(top.w[0] | (exact ? 0u : 1u));
    for (unsigned i = 0; i < drop; i++)
        d *= 2;
    return d;
}

} // namespace ap_impl

#endif
