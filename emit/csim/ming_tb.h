/* The testbench that all emitted projects share: .npy arrays in, .npy arrays
 * out, one call of the accelerator per frame. A project's own testbench only
 * describes its ports.
 *
 *   array ─▶ quantize ─▶ stream order ─▶ words ─▶ hls::stream ─▶ accelerator
 *   accelerator ─▶ hls::stream ─▶ words ─▶ model's order ─▶ dequantize ─▶ array
 *
 * A stream carries the model's tensor with its dimensions in another order, cut
 * into words: a word holds its elements in row-major order, and the words
 * follow each other in row-major order. An array of k frames has k times the
 * model's first dimension. At a quantized port floats are quantized and
 * integers are taken as they are. Errors are std::runtime_error; results are
 * written when all frames are done. Tested by test/csim. */
#ifndef MING_TB_H
#define MING_TB_H

#include "ming_npy.h"
#include "ming_quantize.h"

#include <hls_stream.h>
#include <hls_vector.h>

#include <algorithm>
#include <chrono>

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
    /* Integers leave as the real numbers (q - zero) * step / count. */
    Port &dequantize(double step, double zero, double count);

    std::size_t elements() const { return npy::byte_count(shape, 1); }
    std::size_t word_elements() const { return npy::byte_count(word_, 1); }
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
    bool is_float = true, sign = true, is_quantized = false;
    int width = 32;             /* bits of an element */
    double scale = 1, zero_point = 0, divisor = 1;
    std::int64_t low = 0, high = 0;     /* of integers that enter */
    Rounding rounding = Rounding::HALF_EVEN;

private:
    Shape order_, word_;
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

/* A scalar is a word of one lane. */
template <class Word>
struct Lanes {
    using Scalar = Word;
    static constexpr std::size_t COUNT = 1;
    static Scalar &at(Word &word, std::size_t) { return word; }
};

template <class T, std::size_t N>
struct Lanes<hls::vector<T, N>> {
    using Scalar = T;
    static constexpr std::size_t COUNT = N;
    static Scalar &at(hls::vector<T, N> &word, std::size_t lane) { return word[lane]; }
};

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
    return value;
}

/* Element i as the accelerator takes it, in the arithmetic of the array's type. */
inline std::int64_t quantize_element(const Array &array, std::size_t i, const Port &port)
{
    if (!port.is_quantized || !array.is_float())
        return read_integer(array, i, port);
    const double x = array.at_double(i);
    if (array.item == 8)
        return quantize(x, port.scale, port.zero_point, port.low, port.high, port.rounding);
    return quantize(static_cast<float>(x), static_cast<float>(port.scale), static_cast<double>(port.zero_point),
                    port.low, port.high, port.rounding);
}

template <class Scalar>
Scalar encode(const Array &array, std::size_t i, const Port &port)
{
    if constexpr (std::is_floating_point_v<Scalar>)
        return static_cast<Scalar>(array.at_double(i));
    else
        return Scalar(quantize_element(array, i, port));
}

template <class Scalar>
void decode(const Scalar &value, Array &array, std::size_t i, const Port &port)
{
    if constexpr (std::is_floating_point_v<Scalar>) {
        array.set_double(i, static_cast<double>(value));
    } else {
        const std::int64_t q = read_bits(static_cast<std::int64_t>(value), port);
        if (port.is_quantized)
            array.set_double(i, (static_cast<double>(q) - port.zero_point) * port.scale / port.divisor);
        else
            array.set_int(i, q);
    }
}

/* Empties a stream; the words that were in it. */
template <class Word>
std::size_t drain(hls::stream<Word> &stream)
{
    std::size_t words = 0;
    for (; !stream.empty(); words++)
        stream.read();
    return words;
}

/* Runs what may throw, naming the file in the message. */
template <class Action>
auto with_file(const std::string &path, Action action)
{
    try {
        return action();
    } catch (const std::exception &e) {
        fail(path + ": " + e.what());
    }
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

inline Port &Port::dequantize(double step, double zero, double count)
{
    is_quantized = true;
    scale = step;
    zero_point = zero;
    divisor = count;
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
    if (is_quantized)
        return "f8";
    if (!sign && width == 1)
        return "b1";
    return (sign ? "i" : "u") + std::to_string(width <= 8 ? 1 : width <= 16 ? 2 : width <= 32 ? 4 : 8);
}

/* --- a run ---------------------------------------------------------------- */

class Testbench;

/* A port with its file. */
class Channel {
public:
    virtual ~Channel() = default;
    Channel(const Channel &) = delete;
    Channel &operator=(const Channel &) = delete;

    /* Throws if words are left over from a frame. */
    virtual void check() = 0;
    virtual void save() const {}

protected:
    Channel(Testbench &tb, const Port &port);

    Testbench &tb_;
    const Port port_;
    const std::string path_;
    const std::vector<std::size_t> positions_;
    Array array_;
};

/* One run: files are named in the order of the ports, inputs first. */
class Testbench {
public:
    explicit Testbench(const std::vector<std::string> &files) : files_(files) {}

    std::string next_file() { return files_.at(used_++); }
    void add(Channel *channel) { channels_.push_back(channel); }

    /* All inputs have the same number of frames. */
    void set_frames(std::size_t frames, const std::string &path)
    {
        if (frames_ != 0 && frames != frames_)
            tb::fail(path + ": " + std::to_string(frames) + " frames, but " + files_[0] + " has " +
                     std::to_string(frames_));
        frames_ = frames;
    }

    /* One if there are no inputs. */
    std::size_t frames() const { return std::max<std::size_t>(frames_, 1); }
    std::size_t frame() const { return started_ - 1; }

    /* True while there is a frame to run. */
    bool next_frame()
    {
        if (started_ == 0)
            start_ = std::chrono::steady_clock::now();
        for (Channel *channel : channels_)
            channel->check();
        return started_++ < frames();
    }

    /* Writes the results. */
    void save() const
    {
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start_;
        for (const Channel *channel : channels_)
            channel->save();
        std::printf("%zu frame%s in %.3f s\n", frames(), frames() == 1 ? "" : "s", time.count());
    }

private:
    std::vector<std::string> files_;
    std::vector<Channel *> channels_;
    std::size_t used_ = 0, frames_ = 0, started_ = 0;
    std::chrono::steady_clock::time_point start_;
};

inline Channel::Channel(Testbench &tb, const Port &port)
    : tb_(tb), port_(port), path_(tb.next_file()), positions_(port.positions())
{
    tb.add(this);
}

template <class Word>
class Input : public Channel {
    using Lanes = tb::Lanes<Word>;

public:
    Input(Testbench &tb, const Port &port) : Channel(tb, port), stream(port.name.c_str())
    {
        array_ = npy_read(path_);
        tb.set_frames(tb::with_file(path_, [&] { return port_.count_frames(array_); }), path_);
    }

    /* Puts the current frame into the stream. */
    void write()
    {
        const std::size_t first = tb_.frame() * positions_.size();
        std::vector<Word> words(positions_.size() / Lanes::COUNT);
        tb::with_file(path_, [&] {
            for (std::size_t i = 0; i < positions_.size(); i++)
                Lanes::at(words[i / Lanes::COUNT], i % Lanes::COUNT) =
                    tb::encode<typename Lanes::Scalar>(array_, first + positions_[i], port_);
        });
        for (const Word &word : words)
            stream.write(word);
    }

    void check() override
    {
        if (const std::size_t left = tb::drain(stream))
            tb::fail("input '" + port_.name + "': " + std::to_string(left) + " words of a frame were not read");
    }

    hls::stream<Word> stream;
};

template <class Word>
class Output : public Channel {
    using Lanes = tb::Lanes<Word>;

public:
    Output(Testbench &tb, const Port &port) : Channel(tb, port), stream(port.name.c_str())
    {
        array_ = Array(port_.dtype(), port_.frames_shape(tb.frames()));
    }

    /* Takes the current frame from the stream. */
    void read()
    {
        const std::size_t first = tb_.frame() * positions_.size(), words = positions_.size() / Lanes::COUNT;
        if (stream.size() < words)
            tb::fail("output '" + port_.name + "': " + std::to_string(tb::drain(stream)) + " words of " +
                     std::to_string(words) + " were written");
        for (std::size_t i = 0; i < positions_.size(); i += Lanes::COUNT) {
            Word word = stream.read();
            for (std::size_t lane = 0; lane < Lanes::COUNT; lane++)
                tb::decode(Lanes::at(word, lane), array_, first + positions_[i + lane], port_);
        }
    }

    void check() override
    {
        if (const std::size_t left = tb::drain(stream))
            tb::fail("output '" + port_.name + "': " + std::to_string(left) + " words too many were written");
    }

    void save() const override { npy_write(path_, array_); }

    hls::stream<Word> stream;
};

/* main of a testbench: `usage` names the files, `run` does the work. */
inline int run_testbench(int argc, char **argv, const std::string &usage, int file_count, void (*run)(Testbench &))
{
    if (argc != file_count + 1) {
        std::fprintf(stderr, "usage: %s %s\n", argc > 0 ? argv[0] : "tb", usage.c_str());
        return 2;
    }
    try {
        Testbench tb(std::vector<std::string>(argv + 1, argv + argc));
        run(tb);
        return 0;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "tb: error: %s\n", e.what());
        return 1;
    }
}

} // namespace ming

#endif
