/* References to bits of an ap_int: x[i], x.range(hi, lo) and (a, b), readable
 * and assignable. The part of ap_int.h that refers to storage.
 * Every reference is a BitSource: a string of length() bits, read and written
 * at most 64 at a time. Its value is unsigned. As an operand it counts as
 * `width` bits, which length() may fall short of: a range as the whole width
 * of its Int, since its bounds are not constants. Assigning to a reference
 * extends the value by its own sign first. A reference must not outlive the
 * statement that made it. Tested by test/csim. */
#ifndef AP_REF_H
#define AP_REF_H

#include "ap_int.h"

namespace ap_impl {

template <class Ref>
class BitSource {
public:
    constexpr const Ref &ref() const { return static_cast<const Ref &>(*this); }

    constexpr auto get() const { return calc::value_of(*this); }
    constexpr int to_int() const { return get().to_int(); }
    constexpr unsigned to_uint() const { return get().to_uint(); }
    constexpr std::int64_t to_int64() const { return get().to_int64(); }
    constexpr std::uint64_t to_uint64() const { return get().to_uint64(); }
    constexpr double to_double() const { return get().to_double(); }
    constexpr bool to_bool() const { return or_reduce(); }
    std::string to_string(int radix = 16) const { return get().to_string(radix); }

    constexpr bool or_reduce() const { return get().or_reduce(); }
    constexpr bool xor_reduce() const { return get().xor_reduce(); }
    constexpr bool and_reduce() const
    {
        for (int i = 0; i < ref().length(); i += 64)
            if (chunk(i) != low_mask(chunk_length(i)))
                return false;
        return true;
    }

protected:
    constexpr int chunk_length(int i) const { return min_of(64, ref().length() - i); }
    constexpr std::uint64_t chunk(int i) const { return ref().get_bits(i, chunk_length(i)); }

    /* The copy of the value makes x.range(7, 4) = x.range(5, 2) well defined. */
    template <class T>
    constexpr void assign(T v)
    {
        const auto bits = calc::value_of(v);
        for (int i = 0; i < ref().length(); i += 64)
            ref().put_bits(i, chunk_length(i), bits.get_bits(i, chunk_length(i)));
    }

    template <class T>
    constexpr void assign(const BitSource<T> &v)
    {
        assign(v.get());
    }
};

/* One bit. Converts to bool, so that two of them work as builtins do. */
template <class T>
class BitRef : public BitSource<BitRef<T>> {
public:
    static constexpr int width = 1;

    constexpr BitRef(T &x, int i) : x_(x), i_(i) {}
    constexpr BitRef(const BitRef &) = default;

    constexpr BitRef &operator=(const BitRef &o) { return *this = static_cast<bool>(o); }
    /* Any non-zero value sets the bit. */
    template <class V, class = typename Operands<V, T>::Tag>
    constexpr BitRef &operator=(const V &v)
    {
        x_.set_bit(i_, calc::value_of(v).or_reduce());
        return *this;
    }

    constexpr operator bool() const { return x_.test(i_); }
    constexpr bool operator~() const { return !x_.test(i_); }
    constexpr int length() const { return 1; }
    constexpr std::uint64_t get_bits(int, int) const { return x_.test(i_); }
    constexpr void put_bits(int, int, std::uint64_t bits) const { x_.set_bit(i_, bits & 1); }

private:
    T &x_;
    int i_;
};

/* Bits hi down to lo, or up to it: bit k of the range is bit lo + k, or lo - k. */
template <class T>
class RangeRef : public BitSource<RangeRef<T>> {
public:
    static constexpr int width = T::width;

    constexpr RangeRef(T &x, int hi, int lo) : x_(x), hi_(hi), lo_(lo) {}
    constexpr RangeRef(const RangeRef &) = default;

    constexpr RangeRef &operator=(const RangeRef &o)
    {
        this->assign(o);
        return *this;
    }
    template <class V, class = typename Operands<V, T>::Tag>
    constexpr RangeRef &operator=(const V &v)
    {
        this->assign(v);
        return *this;
    }

    constexpr operator std::uint64_t() const
    {
        if (length() > 64)
            fail("a range of more than 64 bits used as a builtin integer");
        return get_bits(0, length());
    }

    constexpr int length() const { return hi_ >= lo_ ? hi_ - lo_ + 1 : lo_ - hi_ + 1; }
    constexpr std::uint64_t get_bits(int i, int n) const
    {
        if (hi_ >= lo_)
            return x_.get_bits(lo_ + i, n);
        std::uint64_t bits = 0;
        for (int k = 0; k < n; k++)
            bits |= x_.get_bits(lo_ - i - k, 1) << k;
        return bits;
    }

    constexpr void put_bits(int i, int n, std::uint64_t bits) const
    {
        if (hi_ >= lo_)
            return x_.put_bits(lo_ + i, n, bits);
        for (int k = 0; k < n; k++)
            x_.put_bits(lo_ - i - k, 1, bits >> k & 1);
    }

private:
    T &x_;
    int hi_, lo_;
};

/* A builtin or computed value as a part of a concatenation. */
template <class T>
class ValuePart : public BitSource<ValuePart<T>> {
public:
    static constexpr int width = T::width;

    constexpr explicit ValuePart(const T &v) : v_(v) {}
    constexpr int length() const { return width; }
    constexpr std::uint64_t get_bits(int i, int n) const { return v_.get_bits(i, n); }

private:
    T v_;
};

/* High part, then low part: each a reference of its own. */
template <class A, class B>
class ConcatRef : public BitSource<ConcatRef<A, B>> {
public:
    static constexpr int width = A::width + B::width;

    constexpr ConcatRef(const A &high, const B &low) : high_(high), low_(low) {}
    constexpr ConcatRef(const ConcatRef &) = default;

    constexpr ConcatRef &operator=(const ConcatRef &o)
    {
        this->assign(o);
        return *this;
    }
    template <class V, class = typename Operands<V, Int<width, false>>::Tag>
    constexpr ConcatRef &operator=(const V &v)
    {
        this->assign(v);
        return *this;
    }

    constexpr operator std::uint64_t() const
    {
        if (length() > 64)
            fail("a concatenation of more than 64 bits used as a builtin integer");
        return get_bits(0, length());
    }

    constexpr int length() const { return high_.length() + low_.length(); }
    constexpr std::uint64_t get_bits(int i, int n) const
    {
        const int low = max_of(0, min_of(n, low_.length() - i));
        std::uint64_t bits = low > 0 ? low_.get_bits(i, low) : 0;
        if (low < n)
            bits |= high_.get_bits(i + low - low_.length(), n - low) << low;
        return bits;
    }

    constexpr void put_bits(int i, int n, std::uint64_t bits) const
    {
        const int low = max_of(0, min_of(n, low_.length() - i));
        if (low > 0)
            low_.put_bits(i, low, bits & low_mask(low));
        if (low < n)
            high_.put_bits(i + low - low_.length(), n - low, bits >> low);
    }

private:
    A high_;
    B low_;
};

/* What the comma operator makes of its operands. */
namespace calc {
template <int W, bool S>
constexpr RangeRef<Int<W, S>> part_of(Int<W, S> &x) { return {x, W - 1, 0}; }
template <int W, bool S>
constexpr ValuePart<Int<W, S>> part_of(const Int<W, S> &x) { return ValuePart<Int<W, S>>(x); }
template <class Ref>
constexpr const Ref &part_of(const BitSource<Ref> &r) { return r.ref(); }
template <class T, class = typename Builtin<T>::Tag>
constexpr auto part_of(T v) { return ValuePart(value_of(v)); }

template <class A, class B>
constexpr ConcatRef<A, B> join(const A &high, const B &low) { return {high, low}; }
}

template <class T>
inline constexpr bool is_bits = rank_of<std::decay_t<T>> == OURS || rank_of<std::decay_t<T>> == ONE_BIT;

template <class A, class B, std::enable_if_t<(is_bits<A> && rank_of<std::decay_t<B>> != NOT_INTEGER) ||
                                             (is_bits<B> && rank_of<std::decay_t<A>> != NOT_INTEGER), int> = 0>
constexpr auto operator,(A &&high, B &&low)
{
    return calc::join(calc::part_of(high), calc::part_of(low));
}

} // namespace ap_impl

#endif
