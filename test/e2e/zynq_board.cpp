/* A board with an engine, for overlay_host_check.py: its registers and its memory are files, which the host maps as
 * it maps devices. When the host sets ap_start, the engine's C simulation runs with what the registers say, which
 * are read by a table of their own.
 *
 *   zynq_board REGISTERS BUFFER PHYSICAL
 *
 * Ends when its standard input does. */
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine_config.h"
#include "engine_xrt.h"
#include "host_config.h"

struct File {
    std::uint8_t *begin;
    std::size_t size;
};

static File open_file(const char *path)
{
    struct stat status;
    const int file = open(path, O_RDWR);
    if (file < 0 || fstat(file, &status) != 0) std::exit(2);
    const auto size = static_cast<std::size_t>(status.st_size);
    void *const begin = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (begin == MAP_FAILED) std::exit(2);
    return {static_cast<std::uint8_t *>(begin), size};
}

static std::set<std::size_t> &places()
{
    static std::set<std::size_t> all;
    return all;
}

/* The argument's buffer, up to the next one that is known of. */
static void add_buffer(emulated::Call &call, int argument, const volatile std::uint32_t *words,
                       const File &memory, std::uint64_t physical)
{
    const std::uint64_t address = std::uint64_t(words[1]) << 32 | words[0];
    if (address < physical || address - physical >= memory.size)
        throw std::runtime_error("an argument is not in the memory");
    const auto offset = static_cast<std::size_t>(address - physical);
    if (offset % 4096 != 0) throw std::runtime_error("an argument begins within a page");
    places().insert(offset);
    call.buffers[argument] = memory.begin + offset;
}

static emulated::Call read_call(const volatile std::uint32_t *registers, const File &memory,
                                std::uint64_t physical)
{
    /* program, count, maps_in, maps_out, weights ..., parameters, status */
    static const unsigned with_one[] = {0x10, 0x1C, 0x24, 0x30, 0x3C, 0x48, 0x54};
    static const unsigned with_two[] = {0x10, 0x1C, 0x24, 0x30, 0x3C, 0x48, 0x54, 0x60};
    const unsigned *const table = WEIGHT_PORTS == 1 ? with_one : with_two;
    emulated::Call call;
    for (int argument = 0; argument < 6 + WEIGHT_PORTS; argument++)
        if (argument != 1)
            add_buffer(call, argument, &registers[table[argument] / 4], memory, physical);
    call.count = registers[table[1] / 4];
    for (const auto &[argument, begin] : call.buffers) {
        const auto next = places().upper_bound(static_cast<std::size_t>(begin - memory.begin));
        emulated::memories()[begin] = (next == places().end() ? memory.size : *next) -
                                      static_cast<std::size_t>(begin - memory.begin);
    }
    return call;
}

int main(int argc, char **argv)
{
    static_assert(WEIGHT_PORTS < 3, "no table of registers");
    if (argc != 4) return 2;
    const File registers = open_file(argv[1]), memory = open_file(argv[2]);
    const std::uint64_t physical = std::strtoull(argv[3], nullptr, 0);
    auto *const words = reinterpret_cast<volatile std::uint32_t *>(registers.begin);
    for (;;) {
        pollfd input = {0, POLLIN, 0};
        if (poll(&input, 1, 1) > 0) return 0;
        if (!(words[0] & 1)) continue;
        try {
            emulated::run(read_call(words, memory, physical));
            words[0] = 2;
        } catch (const std::exception &error) {
            std::fprintf(stderr, "board: %s\n", error.what());
            return 1; /* the host waits, and gives up */
        }
    }
}
