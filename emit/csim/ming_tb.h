/* The testbench that all emitted projects share: .npy arrays in, .npy arrays
 * out, one call of the accelerator per frame, or per some frames in memory, or
 * per a frame of each of its instances. A
 * project's own testbench only connects its ports, which ming_port.h describes.
 *
 *   array ─▶ pack ─▶ words ─▶ stream or memory ─▶ accelerator
 *   accelerator ─▶ stream or memory ─▶ words ─▶ unpack ─▶ array
 *
 * Arrays are .npy files, or, in a shared library (ming_library.h), the packed
 * frames themselves, in the caller's memory. Errors are std::runtime_error;
 * results are written when all frames are done. Tested by test/csim. */
#ifndef MING_TB_H
#define MING_TB_H

#include "ming_port.h"

#include <ap_int.h>
#include <hls_stream.h>
#include <hls_vector.h>

#include <chrono>
#include <map>

namespace ming
{

namespace tb
{

/* A scalar is a word of one lane. */
template <class Word>
struct Lanes {
    using Scalar = Word;
    static constexpr std::size_t COUNT = 1;
    static Scalar &at(Word &word, std::size_t)
    {
        return word;
    }
};

template <class T, std::size_t N>
struct Lanes<hls::vector<T, N>> {
    using Scalar = T;
    static constexpr std::size_t COUNT = N;
    static Scalar &at(hls::vector<T, N> &word, std::size_t lane)
    {
        return word[lane];
    }
};

/* Several bits. */
template <int N>
struct Lanes<ap_uint<N>> {
    using Scalar = ap_uint<1>;
    static constexpr std::size_t COUNT = N;
    static auto at(ap_uint<N> &word, std::size_t lane)
    {
        return word[static_cast<int>(lane)];
    }
};

/* A word from the bits of its elements, and back. */
template <class Word>
Word word_of_bytes(const std::vector<std::uint8_t> &bytes, std::size_t at, std::size_t element_bits)
{
    using Scalar = typename Lanes<Word>::Scalar;
    Word word{};
    for (std::size_t lane = 0; lane < Lanes<Word>::COUNT; lane++) {
        const std::uint64_t bits = get_bits(bytes, at + lane * element_bits, element_bits);
        if constexpr (std::is_floating_point_v<Scalar>)
            Lanes<Word>::at(word, lane) = static_cast<Scalar>(float_of_bits(bits, 8 * sizeof(Scalar)));
        else
            Lanes<Word>::at(word, lane) = Scalar(bits);
    }
    return word;
}

template <class Word>
void word_to_bytes(const Word &given, std::vector<std::uint8_t> &bytes, std::size_t at, std::size_t element_bits)
{
    using Scalar = typename Lanes<Word>::Scalar;
    Word word = given; /* Lanes::at takes no constant */
    for (std::size_t lane = 0; lane < Lanes<Word>::COUNT; lane++) {
        const Scalar value = Lanes<Word>::at(word, lane);
        if constexpr (std::is_floating_point_v<Scalar>)
            put_bits(bytes, at + lane * element_bits, element_bits, float_bits(value, 8 * sizeof(Scalar)));
        else
            put_bits(bytes, at + lane * element_bits, element_bits,
                     static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
    }
}

/* What a stream carries: the word w of a frame as bytes lie in memory, and back. */
template <class Word, class = void>
struct Carried {
    static Word put(const Port &port, const std::vector<std::uint8_t> &bytes, std::size_t w)
    {
        return word_of_bytes<Word>(bytes, w * port.word_bits(), port.element_bits());
    }
    static void get(const Word &word, const Port &port, std::vector<std::uint8_t> &bytes, std::size_t w)
    {
        word_to_bytes(word, bytes, w * port.word_bits(), port.element_bits());
    }
};

/* A beat of a DMA (ap_axi_sdata.h): whole memory, in which no byte is left out and the last beat of a
 * frame says so. */
template <class Beat>
struct Carried<Beat, std::void_t<decltype(std::declval<Beat>().last)>> {
    using Data = decltype(std::declval<Beat>().data);

    static Beat put(const Port &port, const std::vector<std::uint8_t> &bytes, std::size_t w)
    {
        Beat beat;
        beat.data = word_of_bytes<Data>(bytes, w * port.word_bits(), 1);
        beat.keep = beat.strb = ~decltype(beat.keep)(0);
        beat.last = w + 1 == port.words();
        return beat;
    }
    static void get(const Beat &beat, const Port &port, std::vector<std::uint8_t> &bytes, std::size_t w)
    {
        const std::string where = "output '" + port.name + "': beat " + std::to_string(w + 1) + " of " +
                                  std::to_string(port.words());
        if ((beat.last != 0) != (w + 1 == port.words()))
            fail(where + (beat.last != 0 ? " has TLAST" : " has no TLAST"));
        if (beat.keep != decltype(beat.keep)(~decltype(beat.keep)(0)))
            fail(where + " leaves out bytes");
        word_to_bytes(beat.data, bytes, w * port.word_bits(), 1);
    }
};

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

/* --- a run ---------------------------------------------------------------- */

class Testbench;

/* A port with its file. Of an accelerator that is several instances each has its ports: those of the
 * first one have the files, which the same ports of the others share. */
class Channel
{
  public:
    virtual ~Channel() = default;
    Channel(const Channel &) = delete;
    Channel &operator=(const Channel &) = delete;

    /* Throws if words are left over from a frame. */
    virtual void check() = 0;
    virtual void save() const
    {
    }

  protected:
    Channel(Testbench &tb, const Port &port);
    /* Of another instance than the first one, with that one's channel. */
    Channel(Testbench &tb, const Port &port, Channel &first, std::size_t instance);

    /* The number among all frames of a frame of the current call. */
    std::size_t frame_of(std::size_t of_call) const;
    bool is_first() const
    {
        return instance_ == 0;
    }

    Testbench &tb_;
    const Port port_;
    const std::string path_;
    std::uint8_t *const memory_;
    const std::vector<std::size_t> positions_;
    const std::size_t instance_ = 0;
    Array own_array_;
    Array &array_;
};

/* One run: files are named in the order of the ports, inputs first. */
class Testbench
{
  public:
    explicit Testbench(const std::vector<std::string> &files)
        : files_(files)
    {
    }
    /* Packed frames, one after the other, in memory. has_weights: they were loaded by an earlier run. */
    Testbench(const std::vector<std::uint8_t *> &buffers, std::size_t frames, bool has_weights)
        : files_(buffers.size()), buffers_(buffers), has_weights_(has_weights), frames_(frames)
    {
    }

    std::string next_file()
    {
        return files_.at(used_++);
    }
    /* The memory of the port that asked for its file last, or NULL. */
    std::uint8_t *memory() const
    {
        return buffers_.empty() ? nullptr : buffers_.at(used_ - 1);
    }
    bool is_in_memory() const
    {
        return !buffers_.empty();
    }
    bool loads_weights() const
    {
        return frame_ == 0 && !has_weights_;
    }
    void add(Channel *channel)
    {
        channels_.push_back(channel);
    }

    /* Of the accelerator, to which frames go by turns; said before there are channels. */
    void set_instances(std::size_t instances)
    {
        instances_ = instances;
    }
    std::size_t instances() const
    {
        return instances_;
    }

    /* All inputs have the same number of frames. */
    void set_frames(std::size_t frames, const std::string &path)
    {
        if (frames_ != 0 && frames != frames_)
            tb::fail(path + ": " + std::to_string(frames) + " frames, but " + files_[0] + " has " +
                     std::to_string(frames_));
        frames_ = frames;
    }

    /* One if there are no inputs. */
    std::size_t frames() const
    {
        return std::max<std::size_t>(frames_, 1);
    }
    /* Frames of each instance. One that has none left in the last turn computes the last frame again. */
    std::size_t turns() const
    {
        return (frames() + instances_ - 1) / instances_;
    }
    /* The first frame of the current call, and how many it has, of each instance. */
    std::size_t frame() const
    {
        return frame_;
    }
    int batch() const
    {
        return static_cast<int>(batch_);
    }

    /* True while there are frames to run: at most so many in the next call. */
    bool next_frames(int most)
    {
        if (batch_ == 0)
            start_ = std::chrono::steady_clock::now();
        for (Channel *channel : channels_)
            channel->check();
        frame_ += batch_;
        batch_ = std::min(static_cast<std::size_t>(most), turns() - frame_);
        return batch_ > 0;
    }
    bool next_frame()
    {
        return next_frames(1);
    }

    /* Writes the results. */
    void save() const
    {
        if (is_in_memory())
            return;
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start_;
        for (const Channel *channel : channels_)
            channel->save();
#ifdef MING_TRACE_END
        MING_TRACE_END(frames());
#endif
        std::printf("%zu frame%s in %.3f s\n", frames(), frames() == 1 ? "" : "s", time.count());
    }

  private:
    std::vector<std::string> files_;
    std::vector<std::uint8_t *> buffers_;
    bool has_weights_ = false;
    std::vector<Channel *> channels_;
    std::size_t used_ = 0, frames_ = 0, frame_ = 0, batch_ = 0, instances_ = 1;
    std::chrono::steady_clock::time_point start_;
};

inline Channel::Channel(Testbench &tb, const Port &port)
    : tb_(tb), port_(port), path_(tb.next_file()), memory_(tb.memory()), positions_(port.positions()),
      array_(own_array_)
{
    tb.add(this);
}

inline Channel::Channel(Testbench &tb, const Port &port, Channel &first, std::size_t instance)
    : tb_(tb), port_(port), path_(first.path_), memory_(first.memory_), positions_(first.positions_),
      instance_(instance), array_(first.array_)
{
    tb.add(this);
}

inline std::size_t Channel::frame_of(std::size_t of_call) const
{
    return (tb_.frame() + of_call) * tb_.instances() + instance_;
}

/* Takes frames from a file. */
class Source : public Channel
{
  protected:
    Source(Testbench &tb, const Port &port)
        : Channel(tb, port)
    {
        if (tb.is_in_memory())
            return;
        array_ = npy_read(path_);
        tb.set_frames(tb::with_file(path_, [&] { return port_.count_frames(array_); }), path_);
    }

    Source(Testbench &tb, const Port &port, Source &first, std::size_t instance)
        : Channel(tb, port, first, instance)
    {
    }

    /* Of a frame of the current call. */
    std::vector<std::uint8_t> bytes(std::size_t of_call) const
    {
        const std::vector<std::uint8_t> bytes = packed(std::min(frame_of(of_call), tb_.frames() - 1));
#ifdef MING_TRACE_FRAME
        MING_TRACE_FRAME(port_.name, bytes);
#endif
        return bytes;
    }

  private:
    std::vector<std::uint8_t> packed(std::size_t frame) const
    {
        if (memory_)
            return std::vector<std::uint8_t>(memory_ + frame * port_.frame_bytes(),
                                             memory_ + (frame + 1) * port_.frame_bytes());
        return tb::with_file(path_, [&] { return tb::pack(port_, positions_, array_, frame); });
    }
};

/* Puts frames into a file. */
class Sink : public Channel
{
  public:
    void save() const override
    {
        if (is_first())
            npy_write(path_, array_);
    }

  protected:
    Sink(Testbench &tb, const Port &port)
        : Channel(tb, port)
    {
        if (!tb.is_in_memory())
            array_ = Array(port_.dtype(), port_.frames_shape(tb.frames()));
    }

    Sink(Testbench &tb, const Port &port, Sink &first, std::size_t instance)
        : Channel(tb, port, first, instance)
    {
    }

    /* A frame of the current call. */
    void take(const std::vector<std::uint8_t> &bytes, std::size_t of_call)
    {
        const std::size_t frame = frame_of(of_call);
        if (frame >= tb_.frames())
            return;
#ifdef MING_TRACE_FRAME
        MING_TRACE_FRAME(port_.name, bytes);
#endif
        if (memory_)
            std::copy(bytes.begin(), bytes.end(), memory_ + frame * port_.frame_bytes());
        else
            tb::unpack(port_, positions_, bytes, array_, frame);
    }
};

/* --- streams ---------------------------------------------------------------- */

template <class Word>
class Input : public Source
{
  public:
    Input(Testbench &tb, const Port &port)
        : Source(tb, port), stream(port.name.c_str())
    {
    }
    Input(Testbench &tb, const Port &port, Input &first, std::size_t instance)
        : Source(tb, port, first, instance), stream(port.name.c_str())
    {
    }

    /* Puts the current frame into the stream. */
    void write()
    {
        const std::vector<std::uint8_t> frame = bytes(0);
        for (std::size_t w = 0; w < port_.words(); w++)
            stream.write(tb::Carried<Word>::put(port_, frame, w));
    }

    void check() override
    {
        if (const std::size_t left = tb::drain(stream))
            tb::fail("input '" + port_.name + "': " + std::to_string(left) + " words of a frame were not read");
    }

    hls::stream<Word> stream;
};

template <class Word>
class Output : public Sink
{
  public:
    Output(Testbench &tb, const Port &port)
        : Sink(tb, port), stream(port.name.c_str())
    {
    }
    Output(Testbench &tb, const Port &port, Output &first, std::size_t instance)
        : Sink(tb, port, first, instance), stream(port.name.c_str())
    {
    }

    /* Takes the current frame from the stream. */
    void read()
    {
        std::vector<std::uint8_t> frame(port_.frame_bytes());
        if (stream.size() < port_.words())
            tb::fail("output '" + port_.name + "': " + std::to_string(tb::drain(stream)) + " words of " +
                     std::to_string(port_.words()) + " were written");
        for (std::size_t w = 0; w < port_.words(); w++)
            tb::Carried<Word>::get(stream.read(), port_, frame, w);
        take(frame, 0);
    }

    void check() override
    {
        if (const std::size_t left = tb::drain(stream))
            tb::fail("output '" + port_.name + "': " + std::to_string(left) + " words too many were written");
    }

    hls::stream<Word> stream;
};

/* What is loaded once, before the first frame: an array of one word per element. */
template <class Word>
class Weights : public Channel
{
  public:
    Weights(Testbench &tb, const Port &port)
        : Channel(tb, port), stream(port.name.c_str())
    {
        if (tb.is_in_memory())
            return;
        array_ = npy_read(path_);
        if (array_.shape != port_.shape)
            tb::fail(path_ + ": these are not the weights of this project");
    }

    void write()
    {
        if (!tb_.loads_weights())
            return;
        const std::vector<std::uint8_t> bytes = packed();
        for (std::size_t i = 0; i < port_.words(); i++)
            stream.write(tb::Carried<Word>::put(port_, bytes, i));
    }

    void check() override
    {
        if (const std::size_t left = tb::drain(stream))
            tb::fail(std::to_string(left) + " weights were not read");
    }

    hls::stream<Word> stream;

  private:
    std::vector<std::uint8_t> packed() const
    {
        if (memory_)
            return std::vector<std::uint8_t>(memory_, memory_ + port_.frame_bytes());
        return tb::pack(port_, positions_, array_, 0);
    }
};

/* --- memories ----------------------------------------------------------------- */

/* Frames one after the other in words of the bus. */
template <class Bus>
class Memory
{
  public:
    Memory(const Port &port, int max_frames)
        : bits_(8 * sizeof(typename tb::Lanes<Bus>::Scalar)),
          bus_words_(port.frame_bytes() * 8 / (bits_ * tb::Lanes<Bus>::COUNT)),
          words_(bus_words_ * static_cast<std::size_t>(max_frames))
    {
    }

    Bus *data()
    {
        return words_.data();
    }
    std::size_t size() const
    {
        return words_.size();
    }

    void put(const std::vector<std::uint8_t> &bytes, std::size_t frame)
    {
        for (std::size_t w = 0; w < bus_words_; w++)
            words_[frame * bus_words_ + w] =
                tb::word_of_bytes<Bus>(bytes, w * bits_ * tb::Lanes<Bus>::COUNT, bits_);
    }

    std::vector<std::uint8_t> get(std::size_t frame) const
    {
        std::vector<std::uint8_t> bytes(bus_words_ * bits_ * tb::Lanes<Bus>::COUNT / 8);
        for (std::size_t w = 0; w < bus_words_; w++)
            tb::word_to_bytes(words_[frame * bus_words_ + w], bytes, w * bits_ * tb::Lanes<Bus>::COUNT, bits_);
        return bytes;
    }

  private:
    std::size_t bits_;      /* of an element */
    std::size_t bus_words_; /* of a frame */
    std::vector<Bus> words_;
};

template <class Bus>
class InputMemory : public Source
{
  public:
    InputMemory(Testbench &tb, const Port &port, int max_frames)
        : Source(tb, port), memory_(port, max_frames)
    {
    }
    InputMemory(Testbench &tb, const Port &port, int max_frames, InputMemory &first, std::size_t instance)
        : Source(tb, port, first, instance), memory_(port, max_frames)
    {
    }

    Bus *data()
    {
        return memory_.data();
    }

    /* Puts the current frames into the memory. */
    void write()
    {
        for (int i = 0; i < tb_.batch(); i++)
            memory_.put(bytes(static_cast<std::size_t>(i)), static_cast<std::size_t>(i));
    }

    void check() override
    {
    }

  private:
    Memory<Bus> memory_;
};

template <class Bus>
class OutputMemory : public Sink
{
  public:
    OutputMemory(Testbench &tb, const Port &port, int max_frames)
        : Sink(tb, port), memory_(port, max_frames)
    {
    }
    OutputMemory(Testbench &tb, const Port &port, int max_frames, OutputMemory &first, std::size_t instance)
        : Sink(tb, port, first, instance), memory_(port, max_frames)
    {
    }

    Bus *data()
    {
        return memory_.data();
    }

    /* Takes the current frames from the memory. */
    void read()
    {
        for (int i = 0; i < tb_.batch(); i++)
            take(memory_.get(static_cast<std::size_t>(i)), static_cast<std::size_t>(i));
    }

    void check() override
    {
    }

  private:
    Memory<Bus> memory_;
};

/* Weights that are read from memory again and again. A library keeps them from run to run. */
template <class Bus>
class WeightsMemory : public Channel {
public:
    WeightsMemory(Testbench &tb, const Port &port) : Channel(tb, port), kept_(keep(port))
    {
        if (tb.is_in_memory())
            return;
        array_ = npy_read(path_);
        if (array_.shape != port_.shape)
            tb::fail(path_ + ": these are not the weights of this project");
    }

    Bus *data() { return kept_.data(); }

    void write()
    {
        if (!tb_.loads_weights())
            return;
        if (memory_)
            kept_.put(std::vector<std::uint8_t>(memory_, memory_ + port_.frame_bytes()), 0);
        else
            kept_.put(tb::pack(port_, positions_, array_, 0), 0);
    }

    void check() override {}

private:
    static Memory<Bus> &keep(const Port &port)
    {
        static std::map<std::string, Memory<Bus>> memories;
        return memories.try_emplace(port.name, port, 1).first->second;
    }

    Memory<Bus> &kept_;
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
