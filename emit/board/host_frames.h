/* Frames from and to .npy files, as the hosts of accelerators have them. Rows of ports are
 * those of the design's header, whose kind is design::OUTPUT or another.
 * Tested by test/e2e/board_check.py and emulate_check.py. */
#ifndef MING_HOST_FRAMES_H
#define MING_HOST_FRAMES_H

#include "csim/ming_port.h"
#include "host_main.h"

#include <stdexcept>
#include <string>
#include <vector>

namespace host {

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

} // namespace host

#endif
