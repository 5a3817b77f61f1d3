/* The tensors of the network inside a project: make csim-trace TRACE=DIR. Every
 * write to a stream that carries one is watched, words become arrays of the
 * network's shape, order and numbers, as ming_port.h has it for ports, and
 * these become the files that `ming run --trace=DIR` writes for the network,
 * under the same names; index.json lists them and those that no stream carries.
 *
 *   stream ─▶ words ─▶ frames' bytes ─▶ array of the network ─▶ DIR/NNN_NAME.npy
 *
 * The project's own TOP_trace.h, which the compiler is told to include in front
 * of all else, declares the tensors. The accelerator's sources know nothing of
 * it. Tested by test/e2e/trace_check.py. */
#ifndef MING_TRACE_H
#define MING_TRACE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ming {
namespace trace {

/* Sees a word that goes into a stream, a frame's bytes at a port, and the end. */
template <class Word>
void take_word(const std::string &stream, const Word &word);
void take_frame(const std::string &port, const std::vector<std::uint8_t> &bytes);
void finish(std::size_t frames);

} // namespace trace
} // namespace ming

#define HLS_STREAM_WATCH ming::trace::take_word
#define MING_TRACE_FRAME ming::trace::take_frame
#define MING_TRACE_END ming::trace::finish

#include "ming_tb.h"

#include <filesystem>
#include <fstream>
#include <unordered_map>

namespace ming {
namespace trace {

/* What a stream or port carries, as bytes. */
struct Carrier {
    explicit Carrier(const Port &carried) : port(carried) {}

    const Port port;                /* in the order of the stream */
    std::vector<std::vector<std::uint8_t>> frames;
    std::size_t words = 0;          /* of the frame under way */
};

struct Tensor {
    std::size_t number;             /* in the network's order */
    std::string name, where;
    const Carrier *carrier;
    Port port;                      /* how the network's elements lie row by row in the stream's order */
    Shape shape;                    /* in the network */
};

class Table {
public:
    /* The first carrier of a name counts. */
    void stream(const std::string &name, const Port &words) { streams_.emplace(name, words); }
    void port(const std::string &name, const Port &words) { ports_.emplace(name, words); }
    void of_stream(std::size_t number, const std::string &name, const std::string &stream, const Port &port,
                   const Shape &shape)
    {
        tensors_.push_back({number, name, stream, &streams_.at(stream), port, shape});
    }
    void of_port(std::size_t number, const std::string &name, const std::string &at, const Port &port,
                 const Shape &shape)
    {
        tensors_.push_back({number, name, at, &ports_.at(at), port, shape});
    }
    void fused(const std::string &name) { fused_.push_back(name); }

    Carrier *find_stream(const std::string &name) { return find(streams_, name); }
    Carrier *find_port(const std::string &name) { return find(ports_, name); }
    void write(const std::string &folder, std::size_t frames);

private:
    using Carriers = std::unordered_map<std::string, Carrier>;

    static Carrier *find(Carriers &carriers, const std::string &name)
    {
        const auto found = carriers.find(name);
        return found == carriers.end() ? nullptr : &found->second;
    }

    Carriers streams_, ports_;      /* whose elements stay where they are */
    std::vector<Tensor> tensors_;
    std::vector<std::string> fused_;
};

inline Table table;

template <class Word>
void take_word(const std::string &stream, const Word &word)
{
    Carrier *carrier = table.find_stream(stream);
    if (carrier == nullptr)
        return;
    const std::size_t word_ = carrier->words % carrier->port.words();
    if (word_ == 0)
        carrier->frames.emplace_back(carrier->port.frame_bytes());
    tb::Carried<Word>::get(word, carrier->port, carrier->frames.back(), word_);
    carrier->words++;
}

inline void take_frame(const std::string &port, const std::vector<std::uint8_t> &bytes)
{
    if (Carrier *carrier = table.find_port(port)) {
        carrier->frames.push_back(bytes);
        carrier->words += carrier->port.words();
    }
}

inline std::string quoted(const std::string &text)
{
    std::string out = "\"";
    for (const char c : text) {
        char code[8];
        std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned char>(c));
        const bool is_control = static_cast<unsigned char>(c) < 0x20;
        out += c == '"' || c == '\\' ? std::string("\\") + c : is_control ? code : std::string(1, c);
    }
    return out + "\"";
}

/* As `ming run` calls the file. */
inline std::string file_name(const Tensor &tensor)
{
    char number[32];
    std::snprintf(number, sizeof number, "%03zu_", tensor.number);
    std::string name = number;
    for (const char c : tensor.name.substr(0, 60))
        name += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
    return name + ".npy";
}

inline Array array_of(const Tensor &tensor, std::size_t frames)
{
    const Port &port = tensor.port, &words = tensor.carrier->port;
    if (tensor.carrier->words != frames * words.words())
        tb::fail("stream '" + tensor.where + "' carried " + std::to_string(tensor.carrier->words) + " words, not " +
                 std::to_string(frames * words.words()));
    Port shaped = port;
    shaped.shape = tensor.shape;
    Array array(port.dtype(), shaped.frames_shape(frames));
    const std::vector<std::size_t> in_frame = words.positions(), in_network = port.positions();
    for (std::size_t f = 0; f < frames; f++)
        for (std::size_t i = 0; i < in_frame.size(); i++) {
            const std::size_t at = tb::bit_of_element(words, i);
            const std::uint64_t bits =
                tb::get_bits(tensor.carrier->frames[f], at, static_cast<std::size_t>(port.width));
            tb::decode(bits, array, f * in_frame.size() + in_network[in_frame[i]], port);
        }
    return array;
}

inline std::string index_entry(const Tensor &tensor, const Array &array)
{
    std::string text = "    {\"name\": " + quoted(tensor.name) + ", \"op\": " + quoted(tensor.where) +
                       ", \"file\": " + quoted(file_name(tensor)) + ", \"shape\": [";
    for (std::size_t d = 0; d < array.shape.size(); d++)
        text += (d == 0 ? "" : ", ") + std::to_string(array.shape[d]);
    return text + "]}";
}

inline void Table::write(const std::string &folder, std::size_t frames)
{
    std::string tensors, names;
    std::sort(tensors_.begin(), tensors_.end(),
              [](const Tensor &a, const Tensor &b) { return a.number < b.number; });
    std::filesystem::create_directory(folder);
    for (const Tensor &tensor : tensors_) {
        const Array array = array_of(tensor, frames);
        npy_write(folder + "/" + file_name(tensor), array);
        tensors += (tensors.empty() ? "\n" : ",\n") + index_entry(tensor, array);
    }
    for (const std::string &name : fused_)
        names += (names.empty() ? "\n    " : ",\n    ") + quoted(name);
    std::ofstream index(folder + "/index.json");
    index << "{\n  \"frames\": " << frames << ",\n  \"source\": \"csim\",\n  \"tensors\": [" << tensors
          << "\n  ],\n  \"fused\": [" << names << "\n  ]\n}\n";
    if (!index.flush())
        tb::fail(folder + "/index.json: cannot be written");
    std::printf("%s: %zu tensors of the network; %zu are of no stream (\"fused\" in index.json)\n", folder.c_str(),
                tensors_.size(), fused_.size());
}

inline void finish(std::size_t frames)
{
    const char *folder = std::getenv("MING_TRACE");
    if (folder == nullptr || *folder == '\0')
        tb::fail("MING_TRACE names no folder");
    table.write(folder, frames);
}

} // namespace trace
} // namespace ming

#endif
