/* QONNX's quantizer of one number, for testbenches: a real number to the
 * integer that the emitted kernel takes, and back. Every rounding mode is
 * exact; the result is in [lo, hi] for any input. Tested by test/csim. */
#ifndef MING_QUANTIZE_H
#define MING_QUANTIZE_H

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace ming {

/* QONNX's rounding modes; ROUND is another name of HALF_EVEN. */
enum class Rounding {
    HALF_EVEN,
    HALF_UP,        /* ties away from zero */
    HALF_DOWN,      /* ties toward zero */
    UP,             /* away from zero */
    DOWN,           /* toward zero */
    CEIL,
    FLOOR,
    ROUND = HALF_EVEN
};

/* x rounded to an integer. Infinities stay. The fraction of |x| is exact. */
template <class Real>
Real round_to_integer(Real x, Rounding mode)
{
    const Real a = std::fabs(x), low = std::floor(a), rest = a - low, half = Real(0.5);
    bool up = false;
    switch (mode) {
    case Rounding::CEIL: return std::ceil(x);
    case Rounding::FLOOR: return std::floor(x);
    case Rounding::HALF_EVEN: up = rest > half || (rest == half && std::fmod(low, Real(2)) == 1); break;
    case Rounding::HALF_UP: up = rest >= half; break;
    case Rounding::HALF_DOWN: up = rest > half; break;
    case Rounding::UP: up = rest > 0; break;
    case Rounding::DOWN: break;
    }
    return std::copysign(up ? low + 1 : low, x);
}

template <class Real>
struct SameReal {
    using type = Real;
};

/* QONNX Quant's integer: round(clip(x / scale + zero_point, lo, hi)). The
 * quotient is of x's type: give a float for the results of a float32 reference
 * to the last tie. The sum is exact. Not a number counts as zero: it gives
 * zero_point. scale is finite and not 0, lo <= hi. */
template <class Real>
std::int64_t quantize(Real x, typename SameReal<Real>::type scale, double zero_point, std::int64_t lo,
                      std::int64_t hi, Rounding mode = Rounding::ROUND)
{
    static_assert(std::is_floating_point_v<Real>, "quantize takes a float or a double");
    const Real quotient = x / scale;
    const double t = static_cast<double>(quotient) + zero_point;
    const double r = round_to_integer(std::isnan(t) ? zero_point : t, mode);
    if (r >= 0x1p63)
        return hi;
    if (r < -0x1p63)
        return lo;
    const std::int64_t q = static_cast<std::int64_t>(r);
    return q < lo ? lo : q > hi ? hi : q;
}

template <class Real>
Real dequantize(std::int64_t q, Real scale, typename SameReal<Real>::type zero_point)
{
    return (static_cast<Real>(q) - zero_point) * scale;
}

} // namespace ming

#endif
