/* ap_int<W> and ap_uint<W>: the arbitrary-precision integers of Vitis HLS, so
 * that emitted C++ builds and runs with an ordinary compiler. Written from the
 * documented behaviour (UG1399), for any W >= 1; AP_INT_MAX_W has no effect.
 * A value occupies 1, 2, 4, 8 or 16 bytes, then 64-bit limbs (ap_limbs.h). Bit,
 * range and concatenation references are in ap_ref.h, strings in ap_text.h.
 * What Vitis leaves undefined (division by zero, an index out of range, a
 * malformed string) prints a message and aborts; a default-constructed value
 * is uninitialised, as in Vitis; NaN and infinities convert to 0.
 * Not covered: ap_fixed, volatile operands, operators on a value of more than
 * 64 bits and a floating-point one, istream input. Tested by test/csim. */
#ifndef AP_INT_H
#define AP_INT_H

#include "ap_limbs.h"

#include <iosfwd>
#include <string>
#include <type_traits>

namespace ap_impl {

template <int W, bool S>
class Int;
template <class T>
class BitRef;
template <class T>
class RangeRef;
template <class A, class B>
class ConcatRef;
template <class Ref>
class BitSource;

template <class T>
inline constexpr bool is_builtin = std::is_integral_v<T> || (std::is_enum_v<T> && std::is_convertible_v<T, int>);

/* What a builtin operand counts as. */
template <class T, bool = is_builtin<T>>
struct Builtin {};

template <class T>
struct Builtin<T, true> {
    using Tag = void;
    using Arith = std::conditional_t<std::is_enum_v<T>, decltype(+T()), T>;
    static constexpr bool SIGN = std::is_signed_v<Arith>;
    static constexpr int WIDTH = std::is_same_v<T, bool> ? 1 : 8 * static_cast<int>(sizeof(Arith));
};

/* Operators are ours if an operand is an Int, a range or a concatenation and
 * the other one an integer of any kind. Two single bits, or a bit and a
 * builtin, are left to C++ as bools. */
constexpr int NOT_INTEGER = 0, BUILTIN = 1, ONE_BIT = 2, OURS = 3;
template <class T>
inline constexpr int rank_of = is_builtin<T> ? BUILTIN : NOT_INTEGER;
template <int W, bool S>
inline constexpr int rank_of<Int<W, S>> = OURS;
template <class T>
inline constexpr int rank_of<RangeRef<T>> = OURS;
template <class A, class B>
inline constexpr int rank_of<ConcatRef<A, B>> = OURS;
template <class T>
inline constexpr int rank_of<BitRef<T>> = ONE_BIT;

template <class A, class B, bool = rank_of<A> != NOT_INTEGER && rank_of<B> != NOT_INTEGER &&
                                   (rank_of<A> == OURS || rank_of<B> == OURS)>
struct Operands {};
template <class A, class B>
struct Operands<A, B, true> { using Tag = void; };

/* A pair of which C++ would silently drop the wide operand's high bits. */
template <class A, class B>
struct WideAndFloat {};
template <int W, bool S>
struct WideAndFloat<Int<W, S>, float> : std::enable_if<(W > 64)> {};
template <int W, bool S>
struct WideAndFloat<Int<W, S>, double> : std::enable_if<(W > 64)> {};
template <int W, bool S>
struct WideAndFloat<float, Int<W, S>> : std::enable_if<(W > 64)> {};
template <int W, bool S>
struct WideAndFloat<double, Int<W, S>> : std::enable_if<(W > 64)> {};

template <int W, bool S>
using word_t = std::conditional_t<S, sword_t<W>, uword_t<W>>;

/* The builtin that a value converts to by itself. */
template <int W, bool S>
using builtin_t = std::conditional_t<W == 1 && !S, bool, word_t<(W < 64 ? W : 64), S>>;

constexpr int max_of(int a, int b) { return a > b ? a : b; }
constexpr int min_of(int a, int b) { return a < b ? a : b; }

/* The width that holds every value of both operand types. */
constexpr int common_width(int w1, bool s1, int w2, bool s2)
{
    return max_of(w1 + (s2 && !s1), w2 + (s1 && !s2));
}

/* The low W bits of u, extended to W's word. */
template <int W, bool S>
constexpr word_t<W, S> wrap(const ucalc_t<W> &u)
{
    using Store = word_t<W, S>;
    constexpr int SPARE = 8 * static_cast<int>(sizeof(u)) - W;
    if constexpr (W == 8 * sizeof(Store)) {
        return static_cast<Store>(u);
    } else if constexpr (is_limbs<Store>) {
        Store r = u;
        limbs_trim<W, S>(r);
        return r;
    } else if constexpr (S) {
        return static_cast<Store>(static_cast<scalc_t<W>>(u << SPARE) >> SPARE);
    } else {
        return static_cast<Store>(u << SPARE >> SPARE);
    }
}

/* The integer part of x, modulo the word. */
template <int W>
constexpr ucalc_t<W> word_of_double(double x)
{
    using U = ucalc_t<W>;
    if (!(x - x == 0))
        return U{};
    unsigned shift = 0;
    for (; x >= 0x1p63 || x < -0x1p63; shift++)
        x /= 2;
    const U low = extend<U, true>(static_cast<std::int64_t>(x));
    return shift < 8 * sizeof(U) ? static_cast<U>(low << shift) : U{};
}

template <int W>
constexpr ucalc_t<W> word_of_string(const char *s, int radix);

/* Any operand as an Int. These and the operators' bodies are in a namespace of
 * their own, where argument-dependent lookup does not find them. */
namespace calc {
template <int W, bool S>
constexpr const Int<W, S> &value_of(const Int<W, S> &v) { return v; }
template <class T, class = typename Builtin<T>::Tag>
constexpr Int<Builtin<T>::WIDTH, Builtin<T>::SIGN> value_of(T v) { return v; }
template <class Ref>
constexpr Int<Ref::width, false> value_of(const BitSource<Ref> &r) { return r; }
}

constexpr std::uint64_t low_mask(int n) { return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1; }

template <int W, bool S>
class Int {
    using U = ucalc_t<W>;

public:
    using Word = word_t<W, S>;
    static constexpr int width = W;
    static constexpr bool sign_flag = S;
    static_assert(W >= 1, "an ap_int has at least one bit");

    Int() = default;

    /* Narrower types promote. Not a template: every element of a large table
     * comes through here, and must resolve fast. */
    constexpr Int(int v) : v_(of_number(v)) {}
    constexpr Int(unsigned v) : v_(of_number(v)) {}
    constexpr Int(long v) : v_(of_number(v)) {}
    constexpr Int(unsigned long v) : v_(of_number(v)) {}
    constexpr Int(long long v) : v_(of_number(v)) {}
    constexpr Int(unsigned long long v) : v_(of_number(v)) {}
    constexpr Int(double v) : v_(wrap<W, S>(word_of_double<W>(v))) {}

    template <int W2, bool S2>
    constexpr Int(const Int<W2, S2> &o) : v_(of_int(o)) {}

    template <class Ref>
    constexpr Int(const BitSource<Ref> &r) : v_{}
    {
        const int n = min_of(W, r.ref().length());
        if constexpr (W <= 64) {
            v_ = wrap<W, S>(static_cast<U>(r.ref().get_bits(0, n)));
        } else {
            for (int i = 0; i < n; i += 64)
                put_bits(i, min_of(64, n - i), r.ref().get_bits(i, min_of(64, n - i)));
        }
    }

    /* Sign, digits. Radix 2, 8, 10, 16, or 0: by a prefix 0b, 0o, 0x, and
     * hexadecimal without one. */
    constexpr Int(const char *s, int radix = 0) : v_(wrap<W, S>(word_of_string<W>(s, radix))) {}

    /* The value, extended to its word; and a value known to fit. */
    constexpr const Word &word() const { return v_; }
    template <class From>
    static constexpr Int of_word(const From &w) { return Int(extend<Word, false>(w), Fits{}); }

    /* To the smallest builtin that holds the value, else to its low 64 bits.
     * Not in a condition then: Vitis drops the high bits even there. Say x != 0. */
    constexpr operator builtin_t<W, S>() const { return extend<builtin_t<W, S>, S>(v_); }
    template <class T, int V = W, std::enable_if_t<(V > 64) && std::is_same_v<T, bool>, int> = 0>
    explicit constexpr operator T() const = delete;

    constexpr bool to_bool() const { return or_reduce(); }
    constexpr signed char to_char() const { return static_cast<signed char>(to_int64()); }
    constexpr unsigned char to_uchar() const { return static_cast<unsigned char>(to_int64()); }
    constexpr short to_short() const { return static_cast<short>(to_int64()); }
    constexpr unsigned short to_ushort() const { return static_cast<unsigned short>(to_int64()); }
    constexpr int to_int() const { return static_cast<int>(to_int64()); }
    constexpr unsigned to_uint() const { return static_cast<unsigned>(to_int64()); }
    constexpr long to_long() const { return static_cast<long>(to_int64()); }
    constexpr unsigned long to_ulong() const { return static_cast<unsigned long>(to_int64()); }
    constexpr std::int64_t to_int64() const { return extend<std::int64_t, S>(v_); }
    constexpr std::uint64_t to_uint64() const { return extend<std::uint64_t, S>(v_); }
    constexpr float to_float() const { return to_real<float>(); }
    constexpr double to_double() const { return to_real<double>(); }
    /* Digits in upper case, no prefix. A radix other than 10 shows the W bits
     * as they are unless `sign` asks for a signed number. */
    std::string to_string(int radix = 16, bool sign = false) const;

    constexpr int length() const { return W; }
    constexpr bool sign() const
    {
        if constexpr (!S)
            return false;
        else if constexpr (is_limbs<Word>)
            return v_.w[(W - 1) / 64] >> 63;
        else
            return v_ < 0;
    }

    /* n <= 64 bits from bit lo on; beyond W, as the value extends. */
    constexpr std::uint64_t get_bits(int lo, int n) const
    {
        if constexpr (is_limbs<Word>) {
            return limbs_get<S>(v_, lo) & low_mask(n);
        } else {
            constexpr int LAST = 8 * static_cast<int>(sizeof(Word)) - 1;
            return static_cast<std::uint64_t>(v_ >> min_of(lo, LAST) >> (lo > LAST)) & low_mask(n);
        }
    }

    /* Replace n <= 64 bits from bit lo on; lo + n <= W. */
    constexpr void put_bits(int lo, int n, std::uint64_t bits)
    {
        if constexpr (is_limbs<Word>) {
            limbs_put(v_, lo, low_mask(n), bits);
            limbs_trim<W, S>(v_);
        } else {
            const U mask = static_cast<U>(low_mask(n)) << lo;
            v_ = wrap<W, S>((extend<U, S>(v_) & ~mask) | (static_cast<U>(bits) << lo & mask));
        }
    }

    constexpr BitRef<Int> operator[](int i) { return BitRef<Int>(*this, check_bit(i)); }
    constexpr bool operator[](int i) const { return get_bits(check_bit(i), 1) != 0; }
    constexpr BitRef<Int> bit(int i) { return (*this)[i]; }
    constexpr bool bit(int i) const { return (*this)[i]; }
    constexpr bool test(int i) const { return (*this)[i]; }
    constexpr bool get_bit(int i) const { return (*this)[i]; }
    constexpr void set_bit(int i, bool v) { put_bits(check_bit(i), 1, v); }
    constexpr void set(int i) { set_bit(i, true); }
    constexpr void set(int i, bool v) { set_bit(i, v); }
    constexpr void clear(int i) { set_bit(i, false); }
    constexpr void invert(int i) { set_bit(i, !test(i)); }
    constexpr void b_not() { *this = ~*this; }

    /* Bits hi down to lo; with hi < lo, the same bits in reverse order. */
    constexpr RangeRef<Int> range(int hi, int lo) { return {*this, check_bit(hi), check_bit(lo)}; }
    constexpr RangeRef<const Int> range(int hi, int lo) const { return {*this, check_bit(hi), check_bit(lo)}; }
    constexpr RangeRef<Int> range() { return range(W - 1, 0); }
    constexpr RangeRef<const Int> range() const { return range(W - 1, 0); }
    constexpr RangeRef<Int> operator()(int hi, int lo) { return range(hi, lo); }
    constexpr RangeRef<const Int> operator()(int hi, int lo) const { return range(hi, lo); }
    template <class T>
    constexpr auto concat(T &&low) { return (*this, static_cast<T &&>(low)); }
    template <class T>
    constexpr auto concat(T &&low) const { return (*this, static_cast<T &&>(low)); }

    constexpr void lrotate(unsigned n) { rotate(static_cast<int>(n % W)); }
    constexpr void rrotate(unsigned n) { rotate(W - static_cast<int>(n % W)); }
    constexpr Int &reverse()
    {
        const Int old = *this;
        for (int i = 0; i < W; i++)
            put_bits(i, 1, old.get_bits(W - 1 - i, 1));
        return *this;
    }

    constexpr bool or_reduce() const { return !(v_ == Word{}); }
    constexpr bool and_reduce() const { return !(~*this).or_reduce(); }
    constexpr bool xor_reduce() const
    {
        bool odd = false;
        for (int i = 0; i < W; i += 64)
            odd ^= __builtin_parityll(get_bits(i, min_of(64, W - i))) != 0;
        return odd;
    }
    constexpr bool nor_reduce() const { return !or_reduce(); }
    constexpr bool nand_reduce() const { return !and_reduce(); }
    constexpr bool xnor_reduce() const { return !xor_reduce(); }

    constexpr Int operator+() const { return *this; }
    constexpr auto operator-() const { return Int<1, false>(0) - *this; }
    constexpr Int operator~() const { return Int(wrap<W, S>(~extend<U, S>(v_)), Fits{}); }
    constexpr bool operator!() const { return !or_reduce(); }

    constexpr Int &operator++() { return *this += Int<1, false>(1); }
    constexpr Int &operator--() { return *this -= Int<1, false>(1); }
    constexpr Int operator++(int) { const Int old = *this; ++*this; return old; }
    constexpr Int operator--(int) { const Int old = *this; --*this; return old; }

    /* Modulo 2^W these agree with the wide operation, and need no wider word. */
    template <class T, class = typename Operands<Int, T>::Tag>
    constexpr Int &operator+=(T b) { return assign(extend<U, S>(v_) + operand(b)); }
    template <class T, class = typename Operands<Int, T>::Tag>
    constexpr Int &operator-=(T b) { return assign(extend<U, S>(v_) - operand(b)); }
    template <class T, class = typename Operands<Int, T>::Tag>
    constexpr Int &operator*=(T b) { return assign(extend<U, S>(v_) * operand(b)); }
    template <class T, class = typename Operands<Int, T>::Tag>
    constexpr Int &operator&=(T b) { return assign(extend<U, S>(v_) & operand(b)); }
    template <class T, class = typename Operands<Int, T>::Tag>
    constexpr Int &operator|=(T b) { return assign(extend<U, S>(v_) | operand(b)); }
    template <class T, class = typename Operands<Int, T>::Tag>
    constexpr Int &operator^=(T b) { return assign(extend<U, S>(v_) ^ operand(b)); }
    template <class T, class = typename Operands<Int, T>::Tag>
    constexpr Int &operator/=(T b) { return *this = *this / b; }
    template <class T, class = typename Operands<Int, T>::Tag>
    constexpr Int &operator%=(T b) { return *this = *this % b; }
    template <class T, class = typename Operands<Int, T>::Tag>
    constexpr Int &operator<<=(T n) { return *this = *this << n; }
    template <class T, class = typename Operands<Int, T>::Tag>
    constexpr Int &operator>>=(T n) { return *this = *this >> n; }

private:
    struct Fits {};
    constexpr Int(const Word &w, Fits) : v_(w) {}

    template <class T>
    static constexpr Word of_number(T v)
    {
        if constexpr (is_limbs<Word>)
            return wrap<W, S>(extend<U, std::is_signed_v<T>>(v));
        else
            return wrap<W, S>(static_cast<U>(v));
    }

    template <int W2, bool S2>
    static constexpr Word of_int(const Int<W2, S2> &o)
    {
        if constexpr (W >= W2 + (S && !S2) && S >= S2)
            return extend<Word, S2>(o.word());          /* it fits */
        else
            return wrap<W, S>(extend<U, S2>(o.word()));
    }

    constexpr Int &assign(const U &u)
    {
        v_ = wrap<W, S>(u);
        return *this;
    }

    template <class T>
    static constexpr U operand(const T &b)
    {
        const auto v = calc::value_of(b);
        return extend<U, decltype(v)::sign_flag>(v.word());
    }

    /* The nearest value. */
    template <class Real>
    constexpr Real to_real() const
    {
        if constexpr (!is_limbs<Word>)
            return static_cast<Real>(v_);
        else
            return sign() ? -limbs_to_real<Real>(Word{} - v_) : limbs_to_real<Real>(v_);
    }

    static constexpr int check_bit(int i)
    {
        if (i < 0 || i >= W)
            fail("bit index out of range");
        return i;
    }

    constexpr void rotate(int n)
    {
        const Int<W, false> bits = *this;
        *this = (bits << n) | (bits >> (W - n));
    }

    Word v_;
};

namespace calc {

template <int W1, bool S1, int W2, bool S2>
constexpr auto add(const Int<W1, S1> &a, const Int<W2, S2> &b)
{
    constexpr int W = common_width(W1, S1, W2, S2) + 1;
    using U = ucalc_t<W>;
    return Int<W, S1 || S2>::of_word(extend<U, S1>(a.word()) + extend<U, S2>(b.word()));
}

template <int W1, bool S1, int W2, bool S2>
constexpr auto subtract(const Int<W1, S1> &a, const Int<W2, S2> &b)
{
    constexpr int W = common_width(W1, S1, W2, S2) + 1;
    using U = ucalc_t<W>;
    return Int<W, true>::of_word(extend<U, S1>(a.word()) - extend<U, S2>(b.word()));
}

template <int W1, bool S1, int W2, bool S2>
constexpr auto multiply(const Int<W1, S1> &a, const Int<W2, S2> &b)
{
    using U = ucalc_t<W1 + W2>;
    return Int<W1 + W2, S1 || S2>::of_word(extend<U, S1>(a.word()) * extend<U, S2>(b.word()));
}

/* Both operands in a word where even MIN / -1 fits. */
template <int W1, bool S1, int W2, bool S2>
struct Division {
    static constexpr bool S = S1 || S2;
    static constexpr int W = common_width(W1, S1, W2, S2) + (S1 && S2);
    using Word = std::conditional_t<S, scalc_t<W>, ucalc_t<W>>;
    Word a, b;

    constexpr Division(const Int<W1, S1> &x, const Int<W2, S2> &y)
        : a(extend<Word, S1>(x.word())), b(extend<Word, S2>(y.word()))
    {
        if (b == Word{})
            fail("division by zero");
    }

    constexpr Word quot() const
    {
        if constexpr (!is_limbs<Word>)
            return a / b;
        else
            return S ? limbs_sdiv(a, b).quot : limbs_udiv(a, b).quot;
    }

    constexpr Word rem() const
    {
        if constexpr (!is_limbs<Word>)
            return a % b;
        else
            return S ? limbs_sdiv(a, b).rem : limbs_udiv(a, b).rem;
    }
};

template <int W1, bool S1, int W2, bool S2>
constexpr auto divide(const Int<W1, S1> &a, const Int<W2, S2> &b)
{
    return Int<W1 + S2, S1 || S2>::of_word(Division<W1, S1, W2, S2>(a, b).quot());
}

template <int W1, bool S1, int W2, bool S2>
constexpr auto modulo(const Int<W1, S1> &a, const Int<W2, S2> &b)
{
    return Int<min_of(W1, W2 + (S1 && !S2)), S1>::of_word(Division<W1, S1, W2, S2>(a, b).rem());
}

template <int W1, bool S1, int W2, bool S2>
constexpr auto bit_and(const Int<W1, S1> &a, const Int<W2, S2> &b)
{
    constexpr int W = common_width(W1, S1, W2, S2);
    using U = ucalc_t<W>;
    return Int<W, S1 || S2>::of_word(extend<U, S1>(a.word()) & extend<U, S2>(b.word()));
}

template <int W1, bool S1, int W2, bool S2>
constexpr auto bit_or(const Int<W1, S1> &a, const Int<W2, S2> &b)
{
    constexpr int W = common_width(W1, S1, W2, S2);
    using U = ucalc_t<W>;
    return Int<W, S1 || S2>::of_word(extend<U, S1>(a.word()) | extend<U, S2>(b.word()));
}

template <int W1, bool S1, int W2, bool S2>
constexpr auto bit_xor(const Int<W1, S1> &a, const Int<W2, S2> &b)
{
    constexpr int W = common_width(W1, S1, W2, S2);
    using U = ucalc_t<W>;
    return Int<W, S1 || S2>::of_word(extend<U, S1>(a.word()) ^ extend<U, S2>(b.word()));
}

template <int W1, bool S1, int W2, bool S2>
constexpr bool equal(const Int<W1, S1> &a, const Int<W2, S2> &b)
{
    using U = ucalc_t<common_width(W1, S1, W2, S2)>;
    return extend<U, S1>(a.word()) == extend<U, S2>(b.word());
}

template <int W1, bool S1, int W2, bool S2>
constexpr bool less(const Int<W1, S1> &a, const Int<W2, S2> &b)
{
    constexpr int W = common_width(W1, S1, W2, S2);
    using Word = std::conditional_t<S1 || S2, scalc_t<W>, ucalc_t<W>>;
    if constexpr (is_limbs<Word>)
        return limbs_less<S1 || S2>(extend<Word, S1>(a.word()), extend<Word, S2>(b.word()));
    else
        return extend<Word, S1>(a.word()) < extend<Word, S2>(b.word());
}

/* A shift amount; one beyond any width is as good as the largest. */
template <int W, bool S>
constexpr std::int64_t shift_amount(const Int<W, S> &n)
{
    constexpr std::int64_t FAR = std::int64_t{1} << 62;
    if constexpr (W < 64)
        return n.to_int64();
    else
        return less(n, Int<64, true>(-FAR)) ? -FAR : less(n, Int<64, true>(FAR)) ? n.to_int64() : FAR;
}

template <class T>
constexpr std::int64_t amount_of(const T &n) { return shift_amount(value_of(n)); }

template <int W, bool S>
constexpr Int<W, S> shift_left(const Int<W, S> &a, std::int64_t n);

template <int W, bool S>
constexpr Int<W, S> shift_right(const Int<W, S> &a, std::int64_t n)
{
    using Word = typename Int<W, S>::Word;
    if (n < 0)
        return shift_left(a, -n);
    if (n >= W)
        return a.sign() ? Int<W, S>(-1) : Int<W, S>(0);
    if constexpr (is_limbs<Word>)
        return Int<W, S>::of_word(limbs_shr<S>(a.word(), static_cast<unsigned>(n)));
    else
        return Int<W, S>::of_word(a.word() >> n);
}

template <int W, bool S>
constexpr Int<W, S> shift_left(const Int<W, S> &a, std::int64_t n)
{
    using U = ucalc_t<W>;
    if (n < 0)
        return shift_right(a, -n);
    if (n >= W)
        return Int<W, S>(0);
    return Int<W, S>::of_word(wrap<W, S>(extend<U, S>(a.word()) << static_cast<unsigned>(n)));
}

} // namespace calc

/* Result types, for operands of a and b bits. A builtin integer counts as its
 * own width, bool as ap_uint<1>. "mixed" is 1 for an unsigned operand that
 * meets a signed one, else 0.
 *   a + b        max(a + mixed, b + mixed) + 1 bits, signed if either is
 *   a - b, -b    the same width, always signed; -b is ap_uint<1>(0) - b
 *   a * b        a + b bits, signed if either is
 *   a / b        a bits, one more if b is signed; signed if either is
 *   a % b        min(a, b + (a signed, b not)) bits, signed as a
 *   a & b, |, ^  max(a + mixed, b + mixed) bits, signed if either is
 *   a << b, ~a   the type of a
 * Division truncates toward zero. A right shift of a signed value copies the
 * sign; a negative shift amount shifts the other way. Comparisons compare the
 * numbers. */
template <class A, class B, class = typename Operands<A, B>::Tag>
constexpr auto operator+(A a, B b) { return calc::add(calc::value_of(a), calc::value_of(b)); }
template <class A, class B, class = typename Operands<A, B>::Tag>
constexpr auto operator-(A a, B b) { return calc::subtract(calc::value_of(a), calc::value_of(b)); }
template <class A, class B, class = typename Operands<A, B>::Tag>
constexpr auto operator*(A a, B b) { return calc::multiply(calc::value_of(a), calc::value_of(b)); }
template <class A, class B, class = typename Operands<A, B>::Tag>
constexpr auto operator/(A a, B b) { return calc::divide(calc::value_of(a), calc::value_of(b)); }
template <class A, class B, class = typename Operands<A, B>::Tag>
constexpr auto operator%(A a, B b) { return calc::modulo(calc::value_of(a), calc::value_of(b)); }
template <class A, class B, class = typename Operands<A, B>::Tag>
constexpr auto operator&(A a, B b) { return calc::bit_and(calc::value_of(a), calc::value_of(b)); }
template <class A, class B, class = typename Operands<A, B>::Tag>
constexpr auto operator|(A a, B b) { return calc::bit_or(calc::value_of(a), calc::value_of(b)); }
template <class A, class B, class = typename Operands<A, B>::Tag>
constexpr auto operator^(A a, B b) { return calc::bit_xor(calc::value_of(a), calc::value_of(b)); }
template <class A, class B, class = typename Operands<A, B>::Tag>
constexpr auto operator<<(A a, B n) { return calc::shift_left(calc::value_of(a), calc::amount_of(n)); }
template <class A, class B, class = typename Operands<A, B>::Tag>
constexpr auto operator>>(A a, B n) { return calc::shift_right(calc::value_of(a), calc::amount_of(n)); }
template <class A, class B, class = typename Operands<A, B>::Tag>
constexpr bool operator==(A a, B b) { return calc::equal(calc::value_of(a), calc::value_of(b)); }
template <class A, class B, class = typename Operands<A, B>::Tag>
constexpr bool operator!=(A a, B b) { return !calc::equal(calc::value_of(a), calc::value_of(b)); }
template <class A, class B, class = typename Operands<A, B>::Tag>
constexpr bool operator<(A a, B b) { return calc::less(calc::value_of(a), calc::value_of(b)); }
template <class A, class B, class = typename Operands<A, B>::Tag>
constexpr bool operator>(A a, B b) { return calc::less(calc::value_of(b), calc::value_of(a)); }
template <class A, class B, class = typename Operands<A, B>::Tag>
constexpr bool operator<=(A a, B b) { return !calc::less(calc::value_of(b), calc::value_of(a)); }
template <class A, class B, class = typename Operands<A, B>::Tag>
constexpr bool operator>=(A a, B b) { return !calc::less(calc::value_of(a), calc::value_of(b)); }

#define AP_NO_WIDE_AND_FLOAT(OP)                                               \
    template <class A, class B, class = typename WideAndFloat<A, B>::type>     \
    void operator OP(A a, B b) = delete;

AP_NO_WIDE_AND_FLOAT(+)
AP_NO_WIDE_AND_FLOAT(-)
AP_NO_WIDE_AND_FLOAT(*)
AP_NO_WIDE_AND_FLOAT(/)
AP_NO_WIDE_AND_FLOAT(==)
AP_NO_WIDE_AND_FLOAT(!=)
AP_NO_WIDE_AND_FLOAT(<)
AP_NO_WIDE_AND_FLOAT(>)
AP_NO_WIDE_AND_FLOAT(<=)
AP_NO_WIDE_AND_FLOAT(>=)
#undef AP_NO_WIDE_AND_FLOAT

} // namespace ap_impl

#include "ap_ref.h"
#include "ap_text.h"

template <int W, bool S>
using ap_int_base = ap_impl::Int<W, S>;
template <int W>
using ap_int = ap_impl::Int<W, true>;
template <int W>
using ap_uint = ap_impl::Int<W, false>;

#endif
