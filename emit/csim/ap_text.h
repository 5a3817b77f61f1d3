/* Text of ap_int values: construction from strings, to_string, and output to
 * an ostream in the base its flags ask for. Radix 2, 8, 10 or 16.
 * The digits are those of the exact number however wide; a string that does
 * not fit keeps its low bits. The part of ap_int.h that handles text; tested
 * by test/csim. */
#ifndef AP_TEXT_H
#define AP_TEXT_H

#include "ap_int.h"

namespace ap_impl {

constexpr int digit_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
}

constexpr int prefix_radix(const char *s)
{
    if (s[0] != '0')
        return 0;
    return s[1] == 'x' || s[1] == 'X' ? 16 : s[1] == 'o' || s[1] == 'O' ? 8 : s[1] == 'b' ? 2 : 0;
}

constexpr unsigned checked_digit(char c, int radix)
{
    const int d = digit_value(c);
    if (d >= radix)
        fail("a character that is not a digit of the radix");
    return static_cast<unsigned>(d);
}

/* The digits as a number modulo the word. Those of a power of two are placed
 * from the last one on: constants of many wide words come through here. */
template <int N>
constexpr Limbs<N> limbs_of_digits(const char *s, int radix)
{
    Limbs<N> n{};
    int count = 0;
    while (s[count] != '\0')
        count++;
    if (radix == 10) {
        for (int i = 0; i < count; i++)
            limbs_muladd(n, 10, checked_digit(s[i], 10));
        return n;
    }
    const int bits = radix == 16 ? 4 : radix == 8 ? 3 : 1;
    for (int i = count - 1, at = 0; i >= 0; i--, at += bits) {
        const std::uint64_t digit = checked_digit(s[i], radix);
        const int word = at / 64, low = at % 64;
        if (word < N)
            n.w[word] |= digit << low;
        if (low > 64 - bits && word + 1 < N)
            n.w[word + 1] |= digit >> (64 - low);
    }
    return n;
}

template <int W>
constexpr ucalc_t<W> word_of_string(const char *s, int radix)
{
    using Number = Limbs<(W + 63) / 64>;
    const bool neg = *s == '-';
    if (*s == '-' || *s == '+')
        s++;
    const int prefix = prefix_radix(s);
    if (prefix != 0 && (radix == 0 || radix == prefix)) {
        s += 2;
        radix = prefix;
    }
    if (radix == 0)
        radix = 16;
    if (*s == '\0' || !(radix == 2 || radix == 8 || radix == 10 || radix == 16))
        fail("a string without digits, or an unknown radix");
    const Number n = limbs_of_digits<(W + 63) / 64>(s, radix);
    return extend<ucalc_t<W>, false>(neg ? Number{} - n : n);
}

template <int W, bool S>
std::string Int<W, S>::to_string(int radix, bool sign) const
{
    if (!(radix == 2 || radix == 8 || radix == 10 || radix == 16))
        fail("to_string: the radix is not 2, 8, 10 or 16");
    const bool neg = (radix == 10 || sign) && this->sign();
    const Int<W, false> bits = neg ? Int<W, false>(-*this) : Int<W, false>(*this);
    auto n = extend<Limbs<(W + 63) / 64>, false>(bits.word());
    std::string text;
    do {
        text.insert(text.begin(), "0123456789ABCDEF"[limbs_divsmall(n, static_cast<std::uint64_t>(radix))]);
    } while (limbs_bits(n) != 0);
    return neg ? "-" + text : text;
}

/* Decimal is signed; hexadecimal and octal show the bits. */
template <class Traits, int W, bool S>
std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &os, const Int<W, S> &v)
{
    const auto base = os.flags() & os.basefield;
    std::string text = v.to_string(base == os.hex ? 16 : base == os.oct ? 8 : 10);
    if (!(os.flags() & os.uppercase))
        for (char &c : text)
            c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    return os << text;
}

template <class Traits, class Ref>
std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &os, const BitSource<Ref> &r)
{
    return os << r.get();
}

} // namespace ap_impl

#endif
