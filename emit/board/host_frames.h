/* What the hosts of cards do apart from cards: numbers of options, and frames from and to .npy files. Rows
 * of ports are those of the design's header, whose kind is design::OUTPUT or another.
 * Tested by test/e2e/board_check.py and emulate_check.py. */
#ifndef MING_HOST_FRAMES_H
#define MING_HOST_FRAMES_H

#include "csim/ming_port.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace host {

/* The number behind "--name=", within its limits. */
inline std::size_t number(const std::string &text, const std::string &option, std::size_t least, std::size_t most)
{
    char *end = nullptr;
    const unsigned long long value = std::strtoull(text.c_str(), &end, 10);
    if (text.empty() || text[0] < '0' || text[0] > '9' || *end != '\0' || value < least || value > most)
        throw std::runtime_error(option + " takes a number from " + std::to_string(least) + " to " +
                                 std::to_string(most));
    return static_cast<std::size_t>(value);
}

/* Files of inputs and outputs. */
inline void check_files(const std::vector<std::string> &files, std::size_t needed)
{
    if (files.size() != needed)
        throw std::runtime_error(std::to_string(files.size()) + " files, not the " + std::to_string(needed) +
                                 " of inputs and outputs");
}

/* Arrays of the model, behind each other as the ports are. */
struct Frames {
    std::vector<ming::Array> arrays;
    std::size_t count = 1;
};

template <typename Row> Frames read_frames(const std::vector<std::string> &files, const std::vector<Row> &ports)
{
    Frames frames;
    bool knows = false;
    for (std::size_t i = 0; i < files.size(); i++) {
        const ming::Port &port = ports[i].port;
        if (ports[i].kind == design::OUTPUT) {
            frames.arrays.emplace_back(port.dtype(), port.frames_shape(frames.count));
            continue;
        }
        frames.arrays.push_back(ming::npy_read(files[i].c_str()));
        const std::size_t count = port.count_frames(frames.arrays.back());
        if (knows && count != frames.count)
            throw std::runtime_error("'" + port.name + "': " + std::to_string(count) + " frames, but '" +
                                     ports[0].port.name + "' has " + std::to_string(frames.count));
        frames.count = count;
        knows = true;
    }
    return frames;
}

template <typename Row>
void write_frames(const std::vector<std::string> &files, const std::vector<Row> &ports, const Frames &frames)
{
    for (std::size_t i = 0; i < files.size(); i++)
        if (ports[i].kind == design::OUTPUT)
            ming::npy_write(files[i].c_str(), frames.arrays[i]);
}

inline void print_rate(std::size_t frames, double seconds, const char *where)
{
    std::printf("%zu frames in %.6f s: %.1f frames/s %s\n", frames, seconds, static_cast<double>(frames) / seconds,
                where);
}

/* What main() does: an exception is an error of the program. */
inline int run_main(int (*run)(int, char **), int argc, char **argv)
{
    try {
        return run(argc, argv);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "error: %s\n", e.what());
        return 1;
    }
}

} // namespace host

#endif
