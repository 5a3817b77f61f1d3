/* hls::vector<T, N>: N elements of T, operated on element by element; the word
 * of a stream that carries several channels. An operator's result has the
 * element type T again, so each element is narrowed to T. Comparisons are
 * lexicographic and give one bool, as documented (UG1399).
 * Storage is contiguous and aligned to the largest power of two that divides
 * its size. A default-constructed vector is uninitialised, as in Vitis.
 * Not covered: conversion between vectors of different element types.
 * Tested by test/csim. */
#ifndef HLS_VECTOR_H
#define HLS_VECTOR_H

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace hls {
namespace csim {

[[noreturn]] inline void vector_fail(const char *what)
{
    std::fprintf(stderr, "ERROR: hls::vector: %s\n", what);
    std::abort();
}

} // namespace csim

template <class T, std::size_t N>
class alignas((sizeof(T) * N) & (~(sizeof(T) * N) + 1)) vector {
    static_assert(N > 0, "a vector has at least one element");

public:
    using value_type = T;
    using iterator = typename std::array<T, N>::iterator;
    using const_iterator = typename std::array<T, N>::const_iterator;

    vector() = default;
    constexpr vector(const T &v) : data_{} { fill(v); }
    constexpr vector(const std::array<T, N> &a) : data_(a) {}
    constexpr vector(std::initializer_list<T> list) : data_{}
    {
        if (list.size() != N)
            csim::vector_fail("an initializer list must name every element");
        for (std::size_t i = 0; i < N; i++)
            data_[i] = list.begin()[i];
    }

    constexpr T &operator[](std::size_t i) { return data_[check(i)]; }
    constexpr const T &operator[](std::size_t i) const { return data_[check(i)]; }
    static constexpr std::size_t size() { return N; }
    constexpr iterator begin() { return data_.begin(); }
    constexpr iterator end() { return data_.end(); }
    constexpr const_iterator begin() const { return data_.begin(); }
    constexpr const_iterator end() const { return data_.end(); }
    constexpr void fill(const T &v)
    {
        for (T &x : data_)
            x = v;
    }

#define HLS_VECTOR_OPERATOR(OP)                                                \
    constexpr vector &operator OP##=(const vector &b)                          \
    {                                                                          \
        for (std::size_t i = 0; i < N; i++)                                    \
            data_[i] = static_cast<T>(data_[i] OP b.data_[i]);                 \
        return *this;                                                          \
    }                                                                          \
    friend constexpr vector operator OP(vector a, const vector &b) { return a OP##= b; }

    HLS_VECTOR_OPERATOR(+)
    HLS_VECTOR_OPERATOR(-)
    HLS_VECTOR_OPERATOR(*)
    HLS_VECTOR_OPERATOR(/)
    HLS_VECTOR_OPERATOR(%)
    HLS_VECTOR_OPERATOR(&)
    HLS_VECTOR_OPERATOR(|)
    HLS_VECTOR_OPERATOR(^)
    HLS_VECTOR_OPERATOR(<<)
    HLS_VECTOR_OPERATOR(>>)
#undef HLS_VECTOR_OPERATOR

#define HLS_VECTOR_UNARY(OP)                                                   \
    constexpr vector operator OP() const                                       \
    {                                                                          \
        vector r = *this;                                                      \
        for (T &x : r.data_)                                                   \
            x = static_cast<T>(OP x);                                          \
        return r;                                                              \
    }

    HLS_VECTOR_UNARY(+)
    HLS_VECTOR_UNARY(-)
    HLS_VECTOR_UNARY(~)
    HLS_VECTOR_UNARY(!)
#undef HLS_VECTOR_UNARY

#define HLS_VECTOR_REDUCE(NAME, OP)                                            \
    constexpr T reduce_##NAME() const                                          \
    {                                                                          \
        T r = data_[0];                                                        \
        for (std::size_t i = 1; i < N; i++)                                    \
            r = static_cast<T>(r OP data_[i]);                                 \
        return r;                                                              \
    }

    HLS_VECTOR_REDUCE(add, +)
    HLS_VECTOR_REDUCE(mult, *)
    HLS_VECTOR_REDUCE(and, &)
    HLS_VECTOR_REDUCE(or, |)
    HLS_VECTOR_REDUCE(xor, ^)
#undef HLS_VECTOR_REDUCE

    constexpr vector &operator++() { return each_plus_one(); }
    constexpr vector &operator--() { return each_minus_one(); }
    constexpr vector operator++(int)
    {
        const vector old = *this;
        each_plus_one();
        return old;
    }
    constexpr vector operator--(int)
    {
        const vector old = *this;
        each_minus_one();
        return old;
    }

    friend constexpr bool operator==(const vector &a, const vector &b)
    {
        for (std::size_t i = 0; i < N; i++)
            if (!(a.data_[i] == b.data_[i]))
                return false;
        return true;
    }
    friend constexpr bool operator<(const vector &a, const vector &b)
    {
        for (std::size_t i = 0; i < N; i++)
            if (a.data_[i] < b.data_[i] || b.data_[i] < a.data_[i])
                return a.data_[i] < b.data_[i];
        return false;
    }
    friend constexpr bool operator!=(const vector &a, const vector &b) { return !(a == b); }
    friend constexpr bool operator>(const vector &a, const vector &b) { return b < a; }
    friend constexpr bool operator<=(const vector &a, const vector &b) { return !(b < a); }
    friend constexpr bool operator>=(const vector &a, const vector &b) { return !(a < b); }

private:
    static constexpr std::size_t check(std::size_t i)
    {
        if (i >= N)
            csim::vector_fail("index out of range");
        return i;
    }

    constexpr vector &each_plus_one()
    {
        for (T &x : data_)
            ++x;
        return *this;
    }
    constexpr vector &each_minus_one()
    {
        for (T &x : data_)
            --x;
        return *this;
    }

    std::array<T, N> data_;
};

} // namespace hls

#endif
