/* hls:: mathematical functions of float and double, from the C++ library.
 * The results are the library's (correctly rounded or within an ulp or so);
 * Vitis' own cores may differ in the last bits.
 * Not covered: half, ap_fixed and integer arguments. Tested by test/csim. */
#ifndef HLS_MATH_H
#define HLS_MATH_H

#include <cmath>

namespace hls {

#define HLS_MATH_UNARY(F)                                                      \
    inline float F(float x) { return std::F(x); }                              \
    inline double F(double x) { return std::F(x); }

HLS_MATH_UNARY(exp)
HLS_MATH_UNARY(exp2)
HLS_MATH_UNARY(expm1)
HLS_MATH_UNARY(log)
HLS_MATH_UNARY(log2)
HLS_MATH_UNARY(log10)
HLS_MATH_UNARY(log1p)
HLS_MATH_UNARY(sqrt)
HLS_MATH_UNARY(cbrt)
HLS_MATH_UNARY(sin)
HLS_MATH_UNARY(cos)
HLS_MATH_UNARY(tan)
HLS_MATH_UNARY(asin)
HLS_MATH_UNARY(acos)
HLS_MATH_UNARY(atan)
HLS_MATH_UNARY(sinh)
HLS_MATH_UNARY(cosh)
HLS_MATH_UNARY(tanh)
HLS_MATH_UNARY(asinh)
HLS_MATH_UNARY(acosh)
HLS_MATH_UNARY(atanh)
HLS_MATH_UNARY(erf)
HLS_MATH_UNARY(erfc)
HLS_MATH_UNARY(fabs)
HLS_MATH_UNARY(floor)
HLS_MATH_UNARY(ceil)
HLS_MATH_UNARY(trunc)
HLS_MATH_UNARY(round)
HLS_MATH_UNARY(rint)
#undef HLS_MATH_UNARY

#define HLS_MATH_BINARY(F)                                                     \
    inline float F(float x, float y) { return std::F(x, y); }                  \
    inline double F(double x, double y) { return std::F(x, y); }

HLS_MATH_BINARY(pow)
HLS_MATH_BINARY(fmin)
HLS_MATH_BINARY(fmax)
HLS_MATH_BINARY(fmod)
HLS_MATH_BINARY(atan2)
HLS_MATH_BINARY(copysign)
#undef HLS_MATH_BINARY

inline float fma(float x, float y, float z) { return std::fma(x, y, z); }
inline double fma(double x, double y, double z) { return std::fma(x, y, z); }

inline float rsqrt(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }

} // namespace hls

#endif
