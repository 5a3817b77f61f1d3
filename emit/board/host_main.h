/* What the hosts of cards do apart from cards and frames: numbers of options, the line about the rate, main().
 * Tested by test/e2e/board_check.py, emulate_check.py and overlay_host_check.py. */
#ifndef MING_HOST_MAIN_H
#define MING_HOST_MAIN_H

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

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
