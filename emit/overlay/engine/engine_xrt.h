/* XRT's classes as far as engine_host.cpp uses them, on the engine's C simulation in place of a card: each
 * kernel is a thread that runs its calls in order. Buffers have two sides, so that what is not synchronized
 * is found. A clock beside counts what transfers, runs and waiting would take on the card, by the numbers
 * that the host gives it: synchronizing is done when it returns, runs are not.
 * Tested by test/e2e/overlay_host_check.py. */
#ifndef ENGINE_XRT_H
#define ENGINE_XRT_H

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine_program.h"
#include "host_config.h"
#include "two_sided.h"

enum xclBOSyncDirection { XCL_BO_SYNC_BO_TO_DEVICE, XCL_BO_SYNC_BO_FROM_DEVICE };
enum ert_cmd_state { ERT_CMD_STATE_COMPLETED = 4 };

namespace emulated {

/* Seconds of the card. */
struct Clock {
    double now = 0, second_per_byte = 0, second_per_transfer = 0, second_per_run = 0;
};
inline Clock &the_clock()
{
    static Clock clock;
    return clock;
}

/* The card's memory is known by where a buffer begins. */
inline std::map<const std::uint8_t *, std::size_t> &memories()
{
    static std::map<const std::uint8_t *, std::size_t> all;
    return all;
}

struct Call {
    std::map<int, std::uint8_t *> buffers;
    unsigned count = 0;
};

/* One call, of the engine's arguments in the order of engine(). */
inline void run(const Call &call)
{
    using namespace engine_program;
    auto bytes_of = [&](int argument) {
        std::uint8_t *const begin = call.buffers.at(argument);
        return Bytes(begin, begin + memories().at(begin));
    };
    if (call.buffers.at(2) != call.buffers.at(3))
        throw std::runtime_error("maps that are read and written are two buffers");
    std::vector<word_t> program = to_words(bytes_of(0));
    if (call.count > program.size())
        throw std::runtime_error("the program has fewer instructions than the kernel is told");
    program.resize(call.count);
    Beats banks[3] = {to_beats(bytes_of(2)), {}, to_beats(bytes_of(4 + WEIGHT_PORTS))};
    Beats ports[WEIGHT_PORTS];
    for (int p = 0; p < WEIGHT_PORTS; p++)
        ports[p] = to_beats(bytes_of(4 + p));
    for (std::size_t i = 0; i < WEIGHT_PORTS * ports[0].size(); i++) {
        const Beats &port = ports[i % WEIGHT_PORTS];
        banks[BANK_WEIGHTS].push_back(i / WEIGHT_PORTS < port.size() ? port[i / WEIGHT_PORTS] : beat_t(0));
    }
    const ap_uint<32> status = call_engine(program, banks);
    const Bytes maps = to_bytes(banks[BANK_MAPS]);
    std::copy(maps.begin(), maps.begin() + static_cast<std::ptrdiff_t>(memories().at(call.buffers.at(2))),
              call.buffers.at(2));
    for (int i = 0; i < 4; i++)
        call.buffers.at(5 + WEIGHT_PORTS)[i] = static_cast<std::uint8_t>(std::uint32_t(status) >> 8 * i);
}

/* Calls of a kernel, one behind the other. */
class Unit {
public:
    std::shared_future<void> add(const Call &call, double &end)
    {
        free_ = end = std::max(free_, the_clock().now) + the_clock().second_per_run;
        const std::shared_future<void> before = last_;
        last_ = std::async(std::launch::async, [before, call] {
                    if (before.valid())
                        before.wait();
                    run(call);
                }).share();
        return last_;
    }

private:
    double free_ = 0;
    std::shared_future<void> last_;
};

inline std::map<std::string, Unit> &units()
{
    static std::map<std::string, Unit> all;
    return all;
}

} // namespace emulated

namespace xrt {

struct uuid {
};

class device {
public:
    explicit device(unsigned) {}
    uuid load_xclbin(const std::string &) { return {}; }
};

class kernel {
public:
    /* name: "engine:{engine_1}" */
    kernel(const device &, const uuid &, const std::string &name)
    {
        for (int i = 1; i <= HOST_KERNELS; i++)
            if (name == "engine:{engine_" + std::to_string(i) + "}") {
                unit = &emulated::units()[name];
                return;
            }
        throw std::runtime_error("there is no kernel " + name);
    }

    int group_id(int argument) const { return argument; }

    emulated::Unit *unit = nullptr;
};

class bo : public ming::TwoSidedBuffer<xclBOSyncDirection, XCL_BO_SYNC_BO_TO_DEVICE> {
public:
    bo(const device &card, std::size_t size, int group) : TwoSidedBuffer(card, size, group)
    {
        emulated::memories()[memory()] = size;
    }

    void sync(xclBOSyncDirection direction, std::size_t size, std::size_t offset)
    {
        emulated::Clock &clock = emulated::the_clock();
        TwoSidedBuffer::sync(direction, size, offset);
        clock.now += clock.second_per_transfer + clock.second_per_byte * static_cast<double>(size);
    }
};

class run {
public:
    explicit run(const kernel &of) : unit_(of.unit) {}
    run(const run &) = delete;
    run &operator=(const run &) = delete;
    /* Its buffers stay as long as the card uses them, whatever made the host give up. */
    ~run()
    {
        if (done_.valid())
            done_.wait();
    }

    void set_arg(int index, const bo &buffer)
    {
        call_.buffers[index] = buffer.memory();
        kept_.push_back(buffer);
    }
    void set_arg(int, unsigned count) { call_.count = count; }

    void start() { done_ = unit_->add(call_, end_); }

    ert_cmd_state wait()
    {
        done_.get();
        emulated::the_clock().now = std::max(emulated::the_clock().now, end_);
        return ERT_CMD_STATE_COMPLETED;
    }

private:
    emulated::Unit *unit_;
    emulated::Call call_;
    std::vector<bo> kept_;
    std::shared_future<void> done_;
    double end_ = 0;
};

} // namespace xrt

#endif
