/* Testbenches of ming_tb.h around small accelerators, for run.py to compare
 * with numpy: tb_tool CASE FILE... runs one of the cases at the end. */
#include <ap_int.h>
#include <cstring>

#include "ming_tb.h"

using ming::Port;
using ming::Rounding;
using ming::Shape;

template <class T, std::size_t N>
using Vec = hls::vector<T, N>;

/* Passes `count` elements on, whatever words they come and go in. */
template <class In, class Out>
static void pass_on(hls::stream<In> &in, hls::stream<Out> &out, std::size_t count)
{
    using To = ming::tb::Lanes<Out>;
    std::vector<typename ming::tb::Lanes<In>::Scalar> elements;
    for (std::size_t i = 0; i < count; i += ming::tb::Lanes<In>::COUNT) {
        In word = in.read();
        for (std::size_t lane = 0; lane < ming::tb::Lanes<In>::COUNT; lane++)
            elements.push_back(ming::tb::Lanes<In>::at(word, lane));
    }
    for (std::size_t i = 0; i < count; i += To::COUNT) {
        Out word{};
        for (std::size_t lane = 0; lane < To::COUNT; lane++)
            To::at(word, lane) = typename To::Scalar(elements[i + lane]);
        out.write(word);
    }
}

template <class In, class Out>
static void copy(ming::Testbench &tb, const Port &from, const Port &to)
{
    ming::Input<In> in(tb, from);
    ming::Output<Out> out(tb, to);
    while (tb.next_frame()) {
        in.write();
        pass_on(in.stream, out.stream, from.elements());
        out.read();
    }
    tb.save();
}

static const Shape CUBE = {2, 6, 4, 3};

static Port streamed()
{
    return Port("streamed", CUBE).stream_order({0, 2, 3, 1}).word({1, 2, 1, 3}).integers(16);
}

static void to_stream(ming::Testbench &tb)
{
    copy<Vec<ap_int<16>, 6>, ap_int<16>>(tb, streamed(), Port("flat", CUBE).integers(16));
}

static void from_stream(ming::Testbench &tb)
{
    copy<ap_int<16>, Vec<ap_int<16>, 6>>(tb, Port("flat", CUBE).integers(16), streamed());
}

static Port quantized()
{
    return Port("x", {1, 4}).integers(4).quantize(0.3, 1, -8, 7, Rounding::HALF_EVEN);
}

static void quantize(ming::Testbench &tb)
{
    copy<ap_int<4>, ap_int<4>>(tb, quantized(), Port("q", {1, 4}).integers(4));
}

static void whole(ming::Testbench &tb)
{
    copy<ap_int<4>, ap_int<4>>(
        tb, Port("x", {1, 4}).integers(4).quantize(1, 0, -8, 7, Rounding::HALF_EVEN),
        Port("q", {1, 4}).integers(4));
}

static void quantize_unsigned(ming::Testbench &tb)
{
    copy<Vec<ap_int<4>, 2>, ap_int<4>>(
        tb,
        Port("x", {1, 4}).word({1, 2}).integers(4, false).quantize(0.5, 0, 0, 14, Rounding::FLOOR),
        Port("q", {1, 4}).integers(4, false));
}

static void bipolar(ming::Testbench &tb)
{
    copy<ap_int<2>, ap_int<2>>(tb, Port("x", {1, 4}).integers(2).bipolar(0.25),
                               Port("q", {1, 4}).integers(2));
}

static void dequantize(ming::Testbench &tb)
{
    copy<ap_int<9>, ap_int<9>>(tb, Port("q", {1, 4}).integers(9),
                               Port("y", {1, 4}).integers(9).dequantize(0.125, 3, 49));
}

template <int W>
static void integers(ming::Testbench &tb)
{
    copy<ap_int<W>, ap_int<W>>(tb, Port("x", {4}).integers(W), Port("y", {4}).integers(W));
}

static void bits(ming::Testbench &tb)
{
    copy<ap_uint<1>, ap_uint<1>>(tb, Port("x", {4}).integers(1, false),
                                 Port("y", {4}).integers(1, false));
}

static void floats(ming::Testbench &tb)
{
    copy<float, Vec<double, 2>>(tb, Port("x", {4}), Port("y", {4}).word({2}).floats(64));
}

static void scalar(ming::Testbench &tb)
{
    copy<float, float>(tb, Port("x", {}), Port("y", {}));
}

/* y = a - b, elementwise, and their number of frames must agree. */
static void subtract(ming::Testbench &tb)
{
    ming::Input<ap_int<8>> a(tb, Port("a", {1, 2}).integers(8)), b(tb, Port("b", {2}).integers(8));
    ming::Output<ap_int<9>> y(tb, Port("y", {1, 2}).integers(9));
    while (tb.next_frame()) {
        a.write();
        b.write();
        for (int i = 0; i < 2; i++) y.stream.write(a.stream.read() - b.stream.read());
        y.read();
    }
    tb.save();
}

/* Reads and writes `change` words more than a frame has. */
template <int READ, int WRITTEN>
static void wrong_count(ming::Testbench &tb)
{
    ming::Input<ap_int<8>> in(tb, Port("x", {4}).integers(8));
    ming::Output<ap_int<8>> out(tb, Port("y", {4}).integers(8));
    while (tb.next_frame()) {
        in.write();
        for (int i = 0; i < READ; i++) in.stream.read();
        for (int i = 0; i < WRITTEN; i++) out.stream.write(0);
        out.read();
    }
    tb.save();
}

static const struct {
    const char *name;
    int files;
    void (*run)(ming::Testbench &);
} CASES[] = {
    {"to_stream", 2, to_stream},
    {"from_stream", 2, from_stream},
    {"quantize", 2, quantize},
    {"whole", 2, whole},
    {"quantize_unsigned", 2, quantize_unsigned},
    {"bipolar", 2, bipolar},
    {"dequantize", 2, dequantize},
    {"i7", 2, integers<7>},
    {"i16", 2, integers<16>},
    {"i64", 2, integers<64>},
    {"bits", 2, bits},
    {"floats", 2, floats},
    {"scalar", 2, scalar},
    {"subtract", 3, subtract},
    {"unread", 2, wrong_count<3, 4>},
    {"missing", 2, wrong_count<4, 3>},
    {"surplus", 2, wrong_count<4, 5>},
};

int main(int argc, char **argv)
{
    for (const auto &c : CASES)
        if (argc > 1 && std::strcmp(argv[1], c.name) == 0)
            return ming::run_testbench(argc - 1, argv + 1, "FILE...", c.files, c.run);
    return 2;
}
