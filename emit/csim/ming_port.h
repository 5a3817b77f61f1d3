/* The accelerator's boundary for host code: what each port carries, and how an
 * array of the model becomes the bytes that the accelerator takes and gives.
 *
 *   array ─▶ quantize ─▶ stream order ─▶ words ─▶ bytes      (pack)
 *   bytes ─▶ words ─▶ model's order ─▶ dequantize ─▶ array   (unpack)
 *
 * A stream carries the model's tensor with its dimensions in another order, cut
 * into words: a word holds its elements in row-major order, and the words
 * follow each other in row-major order. An array of k frames has k times the
 * model's first dimension. At a quantized port they are real numbers,
 * whatever their type. In memory elements are little-endian, from
 * the low bits of a word up. Errors are std::runtime_error. Plain C++17: no
 * header of HLS. Tested by test/csim, and by every testbench. */
#ifndef MING_PORT_H
#define MING_PORT_H

#include "ming_npy.h"
#include "ming_quantize.h"

#include <algorithm>

namespace ming {

using Shape = std::vector<std::size_t>;

/* What a port carries, and how that relates to the model's tensor. */
class Port {
public:
    /* In the model's order, one element per word, until told otherwise. */
    Port(const std::string &tensor, const Shape &model_shape);

    /* The model's dimension behind each dimension of the stream. */
    Port &stream_order(const Shape &dimensions);
    /* The extents of the part of the tensor in one word, in stream order. */
    Port &word(const Shape &extents);
    Port &floats(int bits);
    Port &integers(int bits, bool is_signed = true);
    /* Real numbers enter as integers in [lo, hi]. */
    Port &quantize(double step, double zero, std::int64_t lo, std::int64_t hi, Rounding mode);
    /* Real numbers enter as 1 where they are not negative, else as -1; integers of one bit as
     * 1 and 0 for these. */
    Port &bipolar(double step);
    /* Integers leave as the real numbers (q - zero) * step / count. */
    Port &dequantize(double step, double zero, double count);

    /* Bits from one word to the next in memory, and from one element of a word
     * to the next; until told otherwise elements are packed and words whole
     * bytes. */
    Port &packing(int word_bits, int element_bits);

    std::size_t elements() const { return npy::byte_count(shape, 1); }
    std::size_t word_elements() const { return npy::byte_count(word_, 1); }
    std::size_t words() const { return elements() / word_elements(); }
    std::size_t element_bits() const { return static_cast<std::size_t>(element_bits_ ? element_bits_ : width); }
    std::size_t word_bits() const
    {
        return word_bits_ ? static_cast<std::size_t>(word_bits_) : (word_elements() * element_bits() + 7) / 8 * 8;
    }
    /* Of a frame in memory. */
    std::size_t frame_bytes() const { return words() * word_bits() / 8; }
    /* Position in the model's tensor of each element in order of streaming. */
    std::vector<std::size_t> positions() const;
    /* Frames in an array; throws if its shape does not fit. */
    std::size_t count_frames(const Array &array) const;
    /* The shape of an array of so many frames. */
    Shape frames_shape(std::size_t frames) const;
    /* Type of an array of results. */
    std::string dtype() const;

    std::string name;
    Shape shape;                /* in the model */
    bool is_float = true, sign = true, is_quantized = false, is_bipolar = false;
    int width = 32;             /* bits of an element */
    double scale = 1, zero_point = 0, divisor = 1;
    std::int64_t low = 0, high = 0;     /* of integers that enter */
    Rounding rounding = Rounding::HALF_EVEN;

private:
    Shape order_, word_;
    int word_bits_ = 0, element_bits_ = 0;
};

namespace tb {

[[noreturn]] inline void fail(const std::string &what) { throw std::runtime_error(what); }

inline std::string shape_text(const Shape &shape)
{
    std::string text = "(";
    for (std::size_t d = 0; d < shape.size(); d++)
        text += (d == 0 ? "" : ", ") + std::to_string(shape[d]);
    return text + (shape.size() == 1 ? ",)" : ")");
}

/* 2^bits - 1 for 0 to 63 bits. */
inline std::int64_t ones(int bits) { return static_cast<std::int64_t>((std::uint64_t{1} << bits) - 1); }

/* The integer that the port means by the low bits of a value. */
inline std::int64_t read_bits(std::int64_t value, const Port &port)
{
    const int spare = 64 - port.width;
    const std::uint64_t top = static_cast<std::uint64_t>(value) << spare;
    return port.sign ? static_cast<std::int64_t>(top) >> spare : static_cast<std::int64_t>(top >> spare);
}

[[noreturn]] inline void out_of_range(std::size_t i, const std::string &low, const std::string &high)
{
    fail("element " + std::to_string(i) + " is not between " + low + " and " + high);
}

/* An unsigned element gives the bits of an integer that has no sign. */
inline std::int64_t read_unsigned(const Array &array, std::size_t i, const Port &port)
{
    const std::uint64_t value = array.at_uint(i), high = ~std::uint64_t{0} >> (64 - port.width);
    if (value > high)
        out_of_range(i, "0", std::to_string(high));
    return static_cast<std::int64_t>(value);
}

inline std::int64_t read_integer(const Array &array, std::size_t i, const Port &port)
{
    if (array.kind == 'u' && !port.is_quantized)
        return read_unsigned(array, i, port);
    const std::int64_t value = array.at_int(i);
    if (value < port.low || value > port.high)
        out_of_range(i, std::to_string(port.low), std::to_string(port.high));
    if (port.is_bipolar && value == 0)
        fail("element " + std::to_string(i) + " is neither -1 nor 1");
    return value;
}

/* Element i as the accelerator takes it, in the arithmetic of the array's type. */
inline std::int64_t quantize_element(const Array &array, std::size_t i, const Port &port)
{
    const bool is_plain = !port.is_quantized || (port.scale == 1 && port.zero_point == 0);
    if (!port.is_quantized || (is_plain && !array.is_float()))
        return read_integer(array, i, port);
    const double x = array.at_double(i);
    if (port.is_bipolar)
        return x >= 0 ? 1 : -1;
    if (array.is_float() && array.item == 8)
        return quantize(x, port.scale, port.zero_point, port.low, port.high, port.rounding);
    return quantize(static_cast<float>(x), static_cast<float>(port.scale), static_cast<double>(port.zero_point),
                    port.low, port.high, port.rounding);
}

} // namespace tb

/* --- ports ---------------------------------------------------------------- */

inline Port::Port(const std::string &tensor, const Shape &model_shape)
    : name(tensor), shape(model_shape), order_(model_shape.size()), word_(model_shape.size(), 1)
{
    for (std::size_t d = 0; d < order_.size(); d++)
        order_[d] = d;
}

inline Port &Port::stream_order(const Shape &dimensions)
{
    order_ = dimensions;
    return *this;
}

inline Port &Port::word(const Shape &extents)
{
    word_ = extents;
    return *this;
}

inline Port &Port::floats(int bits)
{
    is_float = true;
    width = bits;
    return *this;
}

inline Port &Port::integers(int bits, bool is_signed)
{
    is_float = false;
    width = bits;
    sign = is_signed;
    low = is_signed ? -tb::ones(bits - 1) - 1 : 0;
    high = tb::ones(is_signed || bits == 64 ? bits - 1 : bits);
    return *this;
}

inline Port &Port::quantize(double step, double zero, std::int64_t lo, std::int64_t hi, Rounding mode)
{
    dequantize(step, zero, 1);
    low = lo;
    high = hi;
    rounding = mode;
    return *this;
}

inline Port &Port::bipolar(double step)
{
    is_bipolar = true;
    return quantize(step, 0, -1, 1, Rounding::HALF_EVEN);
}

inline Port &Port::dequantize(double step, double zero, double count)
{
    is_quantized = true;
    scale = step;
    zero_point = zero;
    divisor = count;
    return *this;
}

inline Port &Port::packing(int word_bits, int element_bits)
{
    word_bits_ = word_bits;
    element_bits_ = element_bits;
    return *this;
}

inline std::vector<std::size_t> Port::positions() const
{
    const std::size_t rank = shape.size();
    Shape stride(rank, 1), extents(2 * rank), steps(2 * rank), index(2 * rank, 0);
    for (std::size_t d = rank; d-- > 1;)
        stride[d - 1] = stride[d] * shape[d];
    for (std::size_t r = 0; r < rank; r++) {
        extents[r] = shape[order_[r]] / word_[r];
        extents[rank + r] = word_[r];
        steps[r] = stride[order_[r]] * word_[r];
        steps[rank + r] = stride[order_[r]];
    }
    std::vector<std::size_t> all(elements());
    std::size_t at = 0;
    for (std::size_t &position : all) {
        position = at;
        for (std::size_t d = 2 * rank; d-- > 0;) {
            at += steps[d];
            if (++index[d] < extents[d])
                break;
            at -= steps[d] * extents[d];
            index[d] = 0;
        }
    }
    return all;
}

inline std::size_t Port::count_frames(const Array &array) const
{
    const Shape &got = array.shape;
    const bool lacks_batch = !shape.empty() && shape[0] == 1 && got == Shape(shape.begin() + 1, shape.end());
    if (got == shape || lacks_batch)
        return 1;
    if (shape.empty() || got.size() != shape.size() || !std::equal(got.begin() + 1, got.end(), shape.begin() + 1) ||
        got[0] == 0 || got[0] % shape[0] != 0)
        tb::fail("shape " + tb::shape_text(got) + " is not " + tb::shape_text(shape) +
                 (shape.empty() ? "" : " nor several of them in a row"));
    return got[0] / shape[0];
}

inline Shape Port::frames_shape(std::size_t frames) const
{
    Shape all = shape;
    if (!all.empty())
        all[0] *= frames;
    else if (frames > 1)
        all.push_back(frames);
    return all;
}

inline std::string Port::dtype() const
{
    if (is_float)
        return width == 64 ? "f8" : "f4";
    if (is_quantized) /* float32, as the model has it, where that holds the integers */
        return width <= 24 ? "f4" : "f8";
    if (!sign && width == 1)
        return "b1";
    return (sign ? "i" : "u") + std::to_string(width <= 8 ? 1 : width <= 16 ? 2 : width <= 32 ? 4 : 8);
}

/* --- frames in memory ------------------------------------------------------ */

namespace tb {

/* Bits [at, at + count) of little-endian bytes, 1 <= count <= 64. */
inline std::uint64_t get_bits(const std::vector<std::uint8_t> &bytes, std::size_t at, std::size_t count)
{
    std::uint64_t value = 0;
    for (std::size_t done = 0; done < count;) {
        const std::size_t shift = (at + done) % 8, taken = std::min(8 - shift, count - done);
        const std::uint64_t part = bytes[(at + done) / 8] >> shift & ((1u << taken) - 1);
        value |= part << done;
        done += taken;
    }
    return value;
}

/* The bits were 0. */
inline void put_bits(std::vector<std::uint8_t> &bytes, std::size_t at, std::size_t count, std::uint64_t value)
{
    for (std::size_t done = 0; done < count;) {
        const std::size_t shift = (at + done) % 8, taken = std::min(8 - shift, count - done);
        const std::uint64_t part = value >> done & ((1u << taken) - 1);
        std::uint8_t &byte = bytes[(at + done) / 8];
        byte = static_cast<std::uint8_t>(byte | part << shift);
        done += taken;
    }
}

inline std::uint64_t float_bits(double x, int width)
{
    std::uint64_t wide;
    std::uint32_t narrow;
    const float rounded = static_cast<float>(x);
    std::memcpy(&wide, &x, sizeof wide);
    std::memcpy(&narrow, &rounded, sizeof narrow);
    return width == 64 ? wide : narrow;
}

inline double float_of_bits(std::uint64_t bits, int width)
{
    double wide;
    float narrow;
    const std::uint32_t low = static_cast<std::uint32_t>(bits);
    std::memcpy(&wide, &bits, sizeof wide);
    std::memcpy(&narrow, &low, sizeof narrow);
    return width == 64 ? wide : narrow;
}

/* Bit position of each element of a frame, in order of streaming. */
inline std::size_t bit_of_element(const Port &port, std::size_t i)
{
    const std::size_t lanes = port.word_elements();
    return i / lanes * port.word_bits() + i % lanes * port.element_bits();
}

inline std::uint64_t encode(const Array &array, std::size_t i, const Port &port)
{
    if (port.is_float)
        return float_bits(array.at_double(i), port.width);
    const std::int64_t q = quantize_element(array, i, port);
    return static_cast<std::uint64_t>(port.is_bipolar && port.width == 1 ? q > 0 : q);
}

inline void decode(std::uint64_t bits, Array &array, std::size_t i, const Port &port)
{
    if (port.is_float) {
        array.set_double(i, float_of_bits(bits, port.width));
        return;
    }
    std::int64_t q = read_bits(static_cast<std::int64_t>(bits), port);
    if (port.is_bipolar && port.width == 1)
        q = q ? 1 : -1;
    if (port.is_quantized)
        array.set_double(i, (static_cast<double>(q) - port.zero_point) * port.scale / port.divisor);
    else if (!port.sign && array.kind == 'u')
        array.set_uint(i, static_cast<std::uint64_t>(q)); /* 64 bits have no sign to spare */
    else
        array.set_int(i, q);
}

/* With the positions of the port at hand. */
inline std::vector<std::uint8_t> pack(const Port &port, const Shape &positions, const Array &array, std::size_t frame)
{
    std::vector<std::uint8_t> bytes(port.frame_bytes());
    for (std::size_t i = 0; i < positions.size(); i++)
        put_bits(bytes, bit_of_element(port, i), port.element_bits(),
                 encode(array, frame * positions.size() + positions[i], port));
    return bytes;
}

inline void unpack(const Port &port, const Shape &positions, const std::vector<std::uint8_t> &bytes, Array &array,
                   std::size_t frame)
{
    if (bytes.size() != port.frame_bytes())
        fail(std::to_string(bytes.size()) + " bytes are no frame of " + std::to_string(port.frame_bytes()));
    for (std::size_t i = 0; i < positions.size(); i++)
        decode(get_bits(bytes, bit_of_element(port, i), port.element_bits()), array,
               frame * positions.size() + positions[i], port);
}

} // namespace tb

/* The bytes of one frame of an array, which has count_frames of them. */
inline std::vector<std::uint8_t> pack(const Port &port, const Array &array, std::size_t frame)
{
    return tb::pack(port, port.positions(), array, frame);
}

/* Puts the bytes of a frame where they belong in an array of port.dtype() and
 * port.frames_shape(). */
inline void unpack(const Port &port, const std::vector<std::uint8_t> &bytes, Array &array, std::size_t frame)
{
    tb::unpack(port, port.positions(), bytes, array, frame);
}

} // namespace ming

#endif
