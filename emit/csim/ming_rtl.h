/* The testbench of a project's Verilog, for Verilator: .npy arrays in, .npy
 * arrays out, through AXI-Streams whose words are packed to bits and filled up
 * to whole bytes. The world gives and takes a word in each cycle, or at random
 * as MING_INPUT_RATE and MING_OUTPUT_RATE (words per cycle) and MING_SEED say.
 * Prints how many cycles the first frame took, from its first word in to its
 * last word out, and how many lay between the last two frames. A design that
 * moves no word for too long hangs, which is an error.
 * Tested by lit/driver/rtlsim.mir. */
#ifndef MING_RTL_H
#define MING_RTL_H

#include "ming_port.h"

#include <verilated.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <random>

#include <unistd.h>

namespace ming {

namespace rtl {

/* Signals of up to 64 bits are integers, wider ones arrays of 32 bits. */
template <class Signal>
void set_signal(Signal &signal, const std::vector<std::uint8_t> &bytes, std::size_t at, std::size_t bits)
{
    if constexpr (std::is_integral_v<Signal>)
        signal = static_cast<Signal>(tb::get_bits(bytes, at, bits));
    else
        for (std::size_t done = 0; done < bits; done += 32)
            signal[done / 32] = static_cast<std::uint32_t>(tb::get_bits(bytes, at + done, std::min<std::size_t>(32, bits - done)));
}

template <class Signal>
void get_signal(const Signal &signal, std::vector<std::uint8_t> &bytes, std::size_t at, std::size_t bits)
{
    if constexpr (std::is_integral_v<Signal>)
        tb::put_bits(bytes, at, bits, static_cast<std::uint64_t>(signal));
    else
        for (std::size_t done = 0; done < bits; done += 32)
            tb::put_bits(bytes, at + done, std::min<std::size_t>(32, bits - done), signal[done / 32]);
}

/* A number of the environment, or what stands for none. */
inline double setting(const char *name, double otherwise)
{
    const char *text = std::getenv(name);
    if (!text || !*text)
        return otherwise;
    char *end;
    const double value = std::strtod(text, &end);
    if (*end)
        tb::fail(std::string(name) + ": '" + text + "' is no number");
    return value;
}

/* Whether the world is ready in a cycle. */
class Pace {
public:
    Pace(const char *name, std::uint32_t seed) : rate_(setting(name, 1)), random_(seed)
    {
        if (!(rate_ > 0 && rate_ <= 1))
            tb::fail(std::string(name) + " is not above 0 and at most 1");
    }

    bool next() { return rate_ >= 1 || std::uniform_real_distribution<double>(0, 1)(random_) < rate_; }

private:
    double rate_;
    std::mt19937 random_;
};

/* A port of the design with its file. */
class Stream {
public:
    virtual ~Stream() = default;

    virtual void drive() = 0;                      /* before the edge */
    virtual bool sample(std::uint64_t cycle) = 0;  /* at the edge: whether a word moved */
    virtual bool is_done() const = 0;
    virtual void save() const {}

    std::uint64_t first_word = UINT64_MAX;  /* the cycle in which the first word moved */
    std::vector<std::uint64_t> frame_ends;  /* the cycle in which each frame's last word moved */

protected:
    /* is_dma: words have the padding that they have in memory. */
    Stream(const Port &port, const std::string &path, Pace pace, bool is_dma)
        : port_(is_dma ? port : Port(port).packing(0, 0)), path_(path), positions_(port_.positions()), pace_(pace)
    {
    }

    void count(std::uint64_t cycle)
    {
        if (first_word == UINT64_MAX)
            first_word = cycle;
        if (++word_ == port_.words()) {
            word_ = 0;
            frame_ends.push_back(cycle);
        }
    }

    std::size_t word_at() const { return word_ * port_.word_bits(); }

    const Port port_;
    const std::string path_;
    const Shape positions_;
    Pace pace_;
    Array array_;
    std::vector<std::uint8_t> frame_;
    std::size_t word_ = 0; /* of the frame */
};

template <class Data, class Bit>
class InputStream : public Stream {
public:
    InputStream(const Port &port, const std::string &path, Data &data, Bit &valid, const Bit &ready, Pace pace,
                bool is_dma)
        : Stream(port, path, pace, is_dma), data_(data), valid_(valid), ready_(ready)
    {
        valid_ = 0;
        array_ = npy_read(path_);
        frames_ = port_.count_frames(array_);
    }

    std::size_t frames() const { return frames_; }

    void drive() override
    {
        if (!valid_ && !is_done() && pace_.next()) {
            if (word_ == 0)
                frame_ = tb::pack(port_, positions_, array_, frame_ends.size());
            set_signal(data_, frame_, word_at(), port_.word_bits());
            valid_ = 1;
        }
    }

    bool sample(std::uint64_t cycle) override
    {
        moved_ = valid_ && ready_;
        if (moved_)
            count(cycle);
        return moved_;
    }

    /* Behind the edge: the word is gone. */
    void finish()
    {
        if (moved_)
            valid_ = 0;
    }

    bool is_done() const override { return frame_ends.size() == frames_; }

private:
    Data &data_;
    Bit &valid_;
    const Bit &ready_;
    std::size_t frames_;
    bool moved_ = false;
};

template <class Data, class Bit>
class OutputStream : public Stream {
public:
    OutputStream(const Port &port, const std::string &path, const Data &data, const Bit &valid, Bit &ready, Pace pace,
                 bool is_dma = false)
        : Stream(port, path, pace, is_dma), data_(data), valid_(valid), ready_(ready)
    {
    }

    void expect(std::size_t frames)
    {
        frames_ = frames;
        array_ = Array(port_.dtype(), port_.frames_shape(frames));
        frame_.assign(port_.frame_bytes(), 0);
    }

    /* A design may give the first words of a frame that does not come, as those of padding. */
    void drive() override { ready_ = pace_.next() && !is_done(); }

    bool sample(std::uint64_t cycle) override
    {
        if (!valid_ || !ready_)
            return false;
        get_signal(data_, frame_, word_at(), port_.word_bits());
        count(cycle);
        if (word_ == 0) {
            tb::unpack(port_, positions_, frame_, array_, frame_ends.size() - 1);
            frame_.assign(port_.frame_bytes(), 0);
        }
        return true;
    }

    bool is_done() const override { return frame_ends.size() == frames_; }
    void save() const override { npy_write(path_, array_); }

private:
    const Data &data_;
    const Bit &valid_;
    Bit &ready_;
    std::size_t frames_ = 0;
};

/* A DMA that writes what it takes to memory: it relies on TLAST, so frames end where it is, and takes
 * bytes that TKEEP names. What it must hold while a beat waits is remembered. */
template <class Data, class Bit, class Keep>
class DmaStream : public OutputStream<Data, Bit> {
public:
    DmaStream(const Port &port, const std::string &path, const Data &data, const Bit &valid, Bit &ready,
              const Keep &keep, const Bit &last, Pace pace)
        : OutputStream<Data, Bit>(port, path, data, valid, ready, pace, true), valid_(valid), ready_(ready),
          keep_(keep), last_(last), name_(port.name), words_(port.words()), keep_bits_(port.word_bits() / 8)
    {
    }

    bool sample(std::uint64_t cycle) override
    {
        const std::string where = "output '" + name_ + "': beat " + std::to_string(beat_ + 1) + " of " +
                                  std::to_string(words_);
        if (waits_ && !valid_)
            tb::fail(where + " is taken back");
        if (waits_ && waiting_last_ != last_)
            tb::fail(where + " changes TLAST while it waits");
        waits_ = valid_ && !ready_;
        waiting_last_ = last_;
        if (!OutputStream<Data, Bit>::sample(cycle))
            return false;
        std::vector<std::uint8_t> kept((keep_bits_ + 7) / 8);
        get_signal(keep_, kept, 0, keep_bits_);
        for (std::size_t byte = 0; byte < keep_bits_; byte++)
            if (tb::get_bits(kept, byte, 1) == 0)
                tb::fail(where + " leaves out a byte");
        beat_++;
        if (bool(last_) != (beat_ == words_))
            tb::fail(where + (last_ ? " has TLAST" : " has no TLAST"));
        if (last_)
            beat_ = 0;
        return true;
    }

private:
    const Bit &valid_, &ready_;
    const Keep &keep_;
    const Bit &last_;
    const std::string name_;
    const std::size_t words_, keep_bits_;
    std::size_t beat_ = 0;
    bool waits_ = false;
    Bit waiting_last_ = 0;
};

} // namespace rtl

/* One run: files are named in the order of the ports, inputs first. */
class RtlTestbench {
public:
    explicit RtlTestbench(const std::vector<std::string> &files)
        : files_(files), seed_(static_cast<std::uint32_t>(rtl::setting("MING_SEED", 1)))
    {
    }

    template <class Data, class Bit>
    void input(const Port &port, Data &data, Bit &valid, const Bit &ready, bool is_dma = false)
    {
        const std::string path = files_.at(streams_.size());
        const std::size_t frames = add_input(port, data, valid, ready, is_dma);
        if (frames_ != 0 && frames != frames_)
            tb::fail(path + ": " + std::to_string(frames) + " frames, but " + files_[0] + " has " +
                     std::to_string(frames_));
        frames_ = frames;
        inputs_.push_back(streams_.back().get());
    }

    /* What is loaded once, beside the frames; after the outputs. */
    template <class Data, class Bit>
    void weights(const Port &port, Data &data, Bit &valid, const Bit &ready, bool is_dma = false)
    {
        add_input(port, data, valid, ready, is_dma);
    }

    /* The same with the words of a DMA. */
    template <class Data, class Bit>
    void dma_input(const Port &port, Data &data, Bit &valid, const Bit &ready)
    {
        input(port, data, valid, ready, true);
    }
    template <class Data, class Bit>
    void dma_weights(const Port &port, Data &data, Bit &valid, const Bit &ready)
    {
        weights(port, data, valid, ready, true);
    }

    /* After the inputs. */
    template <class Data, class Bit>
    void output(const Port &port, const Data &data, const Bit &valid, Bit &ready)
    {
        auto stream = std::make_unique<rtl::OutputStream<Data, Bit>>(port, files_.at(streams_.size()), data, valid,
                                                                     ready, rtl::Pace("MING_OUTPUT_RATE", seed_++));
        add_output(std::move(stream));
    }

    template <class Data, class Bit, class Keep>
    void dma_output(const Port &port, const Data &data, const Bit &valid, Bit &ready, const Keep &keep, const Bit &last)
    {
        add_output(std::make_unique<rtl::DmaStream<Data, Bit, Keep>>(port, files_.at(streams_.size()), data, valid,
                                                                     ready, keep, last,
                                                                     rtl::Pace("MING_OUTPUT_RATE", seed_++)));
    }

    /* Runs all frames; `patience`: cycles without a word after which the design hangs. */
    template <class Design>
    void run(Design &design, std::uint64_t patience)
    {
        std::uint64_t cycle = 0, last_move = 0;
        for (int i = 0; i < RESET_CYCLES; i++)
            clock(design, false, cycle);
        for (; !is_done(); cycle++) {
            if (clock(design, true, cycle))
                last_move = cycle;
            if (cycle - last_move > patience)
                tb::fail("no word has moved for " + std::to_string(patience) + " cycles: the design hangs");
        }
        for (int i = 0; i < EXTRA_CYCLES; i++)
            clock(design, true, cycle++);
    }

    void save() const
    {
        for (const auto &stream : streams_)
            stream->save();
        print_times();
    }

private:
    static constexpr int RESET_CYCLES = 4, EXTRA_CYCLES = 64;

    /* Its frames. */
    template <class Data, class Bit>
    std::size_t add_input(const Port &port, Data &data, Bit &valid, const Bit &ready, bool is_dma)
    {
        auto stream = std::make_unique<rtl::InputStream<Data, Bit>>(port, files_.at(streams_.size()), data, valid,
                                                                    ready, rtl::Pace("MING_INPUT_RATE", seed_++),
                                                                    is_dma);
        const std::size_t frames = stream->frames();
        finish_.push_back([s = stream.get()] { s->finish(); });
        streams_.push_back(std::move(stream));
        return frames;
    }

    template <class Output>
    void add_output(std::unique_ptr<Output> stream)
    {
        stream->expect(std::max<std::size_t>(frames_, 1));
        outputs_.push_back(stream.get());
        streams_.push_back(std::move(stream));
    }

    bool is_done() const
    {
        return std::all_of(streams_.begin(), streams_.end(), [](const auto &s) { return s->is_done(); });
    }

    /* One cycle; whether a word moved. */
    template <class Design>
    bool clock(Design &design, bool runs, std::uint64_t cycle)
    {
        bool moved = false;
        design.ap_clk = 0;
        design.ap_rst_n = runs;
        for (const auto &stream : streams_)
            if (runs)
                stream->drive();
        design.eval();
        for (const auto &stream : streams_)
            if (runs)
                moved |= stream->sample(cycle);
        design.ap_clk = 1;
        design.eval();
        for (const auto &finish : finish_)
            finish();
        return moved;
    }

    void print_times() const
    {
        std::uint64_t begin = UINT64_MAX, end = 0, last = 0, before = 0;
        for (const rtl::Stream *input : inputs_)
            begin = std::min(begin, input->first_word);
        for (const rtl::Stream *output : outputs_) {
            end = std::max(end, output->frame_ends.front());
            last = std::max(last, output->frame_ends.back());
            if (output->frame_ends.size() > 1)
                before = std::max(before, output->frame_ends[output->frame_ends.size() - 2]);
        }
        if (inputs_.empty() || outputs_.empty())
            return;
        std::printf("rtlsim: latency of the first frame: %llu cycles\n",
                    static_cast<unsigned long long>(end - begin + 1));
        if (before > 0)
            std::printf("rtlsim: interval between the last two frames: %llu cycles\n",
                        static_cast<unsigned long long>(last - before));
    }

    std::vector<std::string> files_;
    std::vector<std::unique_ptr<rtl::Stream>> streams_;
    std::vector<rtl::Stream *> inputs_, outputs_;
    std::vector<std::function<void()>> finish_;
    std::size_t frames_ = 0;
    std::uint32_t seed_;
};

/* main of a testbench: `usage` names the files, `connect` the ports. Memories find their contents in
 * the folder `data`, from which the design runs. */
template <class Design>
int run_rtl(int argc, char **argv, const std::string &usage, int file_count, std::uint64_t patience,
            void (*connect)(RtlTestbench &, Design &))
{
    if (argc != file_count + 1) {
        std::fprintf(stderr, "usage: %s %s\n", argc > 0 ? argv[0] : "rtlsim", usage.c_str());
        return 2;
    }
    try {
        /* What nothing sets begins at random. */
        const double seed = rtl::setting("MING_SEED", 1);
        Verilated::randReset(2);
        Verilated::randSeed(static_cast<int>(seed) > 0 ? static_cast<int>(seed) : 1);
        Design design;
        RtlTestbench tb(std::vector<std::string>(argv + 1, argv + argc));
        connect(tb, design);
        const char *data = std::getenv("MING_RTL");
        std::unique_ptr<char, void (*)(void *)> here(getcwd(nullptr, 0), std::free);
        if (data && chdir(data) != 0)
            tb::fail(std::string("cannot enter ") + data);
        tb.run(design, patience);
        if (data && chdir(here.get()) != 0)
            tb::fail(std::string("cannot enter ") + here.get());
        tb.save();
        return 0;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "rtlsim: error: %s\n", e.what());
        return 1;
    }
}

} // namespace ming

#endif
