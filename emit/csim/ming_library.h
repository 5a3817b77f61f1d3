/* The functions of ming_libcsim.h for a project, whose <top>_lib.cpp gives its
 * ports and the function that runs frames to MING_LIBRARY. No exception leaves
 * them. Tested by test/e2e/library_check.py. */
#ifndef MING_LIBRARY_H
#define MING_LIBRARY_H

#include "ming_libcsim.h"
#include "ming_tb.h"

#include <mutex>

namespace ming {

struct LibraryPort {
    int kind;
    Port port;
};

class Library {
public:
    Library(const char *top, void (*function)(Testbench &), const std::vector<LibraryPort> &ports)
        : top_(top), run_(function), ports_(ports)
    {
    }

    const char *top() const { return top_; }
    std::size_t count() const { return ports_.size(); }

    int get(std::size_t index, ming_csim_port *out) const
    {
        if (index >= ports_.size() || out == nullptr)
            return -1;
        const Port &port = ports_[index].port;
        out->name = port.name.c_str();
        out->kind = ports_[index].kind;
        out->element_bits = port.width;
        out->stride_bits = port.element_bits();
        out->word_elements = port.word_elements();
        out->word_bits = port.word_bits();
        out->words = port.words();
        out->frame_bytes = port.frame_bytes();
        return 0;
    }

    int run(std::size_t frames, void *const *buffers, char *message, std::size_t size)
    {
        const std::lock_guard<std::mutex> guard(lock_);
        try {
            run_frames(frames, buffers);
            return 0;
        } catch (const std::exception &e) {
            if (message != nullptr && size > 0)
                std::snprintf(message, size, "%s", e.what());
            return -1;
        }
    }

private:
    /* Takes all arguments for good before anything runs. */
    void run_frames(std::size_t frames, void *const *buffers)
    {
        std::vector<std::uint8_t *> memories;
        if (is_broken_)
            tb::fail("an earlier run failed");
        if (frames == 0)
            tb::fail("there are no frames");
        for (std::size_t i = 0; i < ports_.size(); i++) {
            void *const buffer = buffers == nullptr ? nullptr : buffers[i];
            const bool is_needed = ports_[i].kind != MING_CSIM_WEIGHTS || !has_weights_;
            if (buffer == nullptr && is_needed)
                tb::fail("port '" + ports_[i].port.name + "' has no buffer");
            memories.push_back(static_cast<std::uint8_t *>(buffer));
        }
        is_broken_ = true;
        Testbench tb(memories, frames, has_weights_);
        run_(tb);
        is_broken_ = false;
        has_weights_ = true;
    }

    const char *top_;
    void (*run_)(Testbench &);
    const std::vector<LibraryPort> ports_;
    bool has_weights_ = false, is_broken_ = false;
    std::mutex lock_;
};

} // namespace ming

#define MING_EXPORT extern "C" __attribute__((visibility("default")))

/* MING_LIBRARY("top", run, {kind, port}, …) */
#define MING_LIBRARY(TOP, RUN, ...)                                                                \
    static ming::Library &library()                                                                \
    {                                                                                              \
        static ming::Library one(TOP, RUN, {__VA_ARGS__});                                         \
        return one;                                                                                \
    }                                                                                              \
    MING_EXPORT int ming_csim_version(void)                                                        \
    {                                                                                              \
        return MING_CSIM_VERSION;                                                                  \
    }                                                                                              \
    MING_EXPORT const char *ming_csim_top(void)                                                    \
    {                                                                                              \
        return library().top();                                                                    \
    }                                                                                              \
    MING_EXPORT size_t ming_csim_port_count(void)                                                  \
    {                                                                                              \
        return library().count();                                                                  \
    }                                                                                              \
    MING_EXPORT int ming_csim_get_port(size_t index, ming_csim_port *out)                          \
    {                                                                                              \
        return library().get(index, out);                                                          \
    }                                                                                              \
    MING_EXPORT int ming_csim_run(size_t frames, void *const *buffers, char *message, size_t size) \
    {                                                                                              \
        return library().run(frames, buffers, message, size);                                      \
    }

#endif
