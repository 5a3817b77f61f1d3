/* XRT's classes as far as system.cpp uses them, on the processes of `make emulate` instead of cards. A card
 * has the kernels of the .xclbin that would be loaded, whose folder says of which card; the file need not be
 * there. Calls of an accelerator's kernels are counted: the first call of each is the first batch, and so on.
 * A batch is sent when all kernels of it have been started. Tested by test/e2e/emulate_check.py. */
#ifndef MING_EMULATED_XRT_H
#define MING_EMULATED_XRT_H

#include "csim/ming_emulate.h"
#include "design.h"
#include "two_sided.h"

#include <condition_variable>
#include <map>
#include <mutex>

enum xclBOSyncDirection { XCL_BO_SYNC_BO_TO_DEVICE, XCL_BO_SYNC_BO_FROM_DEVICE };
enum ert_cmd_state { ERT_CMD_STATE_COMPLETED = 4 };

namespace emulate {

/* The kernels of an accelerator; frames that were given to it and not taken yet. */
class Accelerator {
public:
    struct Call {
        std::map<int, std::uint8_t *> buffers;
        int frames = 0;
    };

    explicit Accelerator(std::size_t unit) : unit_(unit), rows_(design::kernels()), ports_(design::ports()), started_(rows_.size(), 0)
    {
    }

    /* The batch's number. */
    std::size_t start(std::size_t kernel, const Call &call)
    {
        const std::lock_guard<std::mutex> guard(lock());
        const std::size_t batch = started_[kernel]++;
        if (batch == calls_.size())
            calls_.emplace_back(rows_.size());
        calls_[batch][kernel] = call;
        for (; sent_ < calls_.size() && is_started(sent_); sent_++)
            send(sent_);
        return batch;
    }

    void wait(std::size_t batch)
    {
        std::unique_lock<std::mutex> guard(lock());
        if (batch >= sent_)
            throw std::runtime_error("a kernel is waited for while another one of its batch has not been started");
        while (taken_ <= batch) {
            if (!take(taken_)) {
                const std::vector<pollfd> waits = Host::the().waits();
                guard.unlock();
                wait_until(waits, MILLISECONDS); /* another thread may take what comes */
                guard.lock();
            }
        }
    }

private:
    static constexpr int MILLISECONDS = 10;

    static std::mutex &lock()
    {
        static std::mutex lock;
        return lock;
    }

    bool is_started(std::size_t batch) const
    {
        return std::all_of(started_.begin(), started_.end(), [&](std::size_t count) { return count > batch; });
    }

    /* The memory of a port in a batch. */
    std::uint8_t *memory(std::size_t batch, std::size_t port, int &frames)
    {
        for (std::size_t k = 0; k < rows_.size(); k++)
            for (const design::Buffer &row : rows_[k].buffers)
                if (row.kind == ports_[port].kind && row.number == port) {
                    const Call &call = calls_[batch][k];
                    frames = call.frames;
                    if (call.buffers.count(row.argument) == 0)
                        throw std::runtime_error("argument " + std::to_string(row.argument) + " of " + rows_[k].name +
                                                 " is not set");
                    return call.buffers.at(row.argument);
                }
        throw std::runtime_error(std::string("port '") + ports_[port].name + "' is at no kernel");
    }

    void send(std::size_t batch)
    {
        for (const Call &call : calls_[batch])
            if (call.frames != calls_[batch][0].frames)
                throw std::runtime_error("kernels of one batch are started for different numbers of frames");
        Host::the().begin_frames(unit_, calls_[batch][0].frames);
        for (std::size_t p = 0; p < ports_.size(); p++) {
            int frames = 0;
            if (ports_[p].kind != design::INPUT)
                continue;
            const std::uint8_t *const bytes = memory(batch, p, frames);
            const std::size_t size = ports_[p].port.frame_bytes();
            for (std::size_t f = 0; f < static_cast<std::size_t>(frames); f++)
                Host::the().send_frame(unit_, ports_[p].name, {bytes + f * size, bytes + (f + 1) * size});
        }
    }

    /* False: not all frames have come yet. */
    bool take(std::size_t batch)
    {
        for (; port_ < ports_.size(); port_++, frame_ = 0) {
            int frames = 0;
            if (ports_[port_].kind != design::OUTPUT)
                continue;
            std::uint8_t *const bytes = memory(batch, port_, frames);
            const std::size_t size = ports_[port_].port.frame_bytes();
            for (std::vector<std::uint8_t> frame; frame_ < static_cast<std::size_t>(frames); frame_++) {
                if (!Host::the().take_frame(unit_, ports_[port_].name, frame))
                    return false;
                if (frame.size() != size)
                    throw std::runtime_error("a frame of '" + ports_[port_].port.name + "' has another size");
                std::copy(frame.begin(), frame.end(), bytes + frame_ * size);
            }
        }
        port_ = 0;
        calls_[batch].clear();
        taken_++;
        return true;
    }

    const std::size_t unit_;
    const std::vector<design::Kernel> rows_;
    const std::vector<design::Port> ports_;
    std::vector<std::size_t> started_;     /* batches, for each kernel */
    std::deque<std::vector<Call>> calls_;  /* for each batch, of each kernel */
    std::size_t sent_ = 0, taken_ = 0;     /* batches */
    std::size_t port_ = 0, frame_ = 0;     /* to be taken next, of the batch taken_ */
};

/* All of them, in the order of the system's processes. */
inline std::vector<Accelerator> &accelerators()
{
    static std::vector<Accelerator> all = [] {
        std::vector<Accelerator> made;
        for (std::size_t i = 0; i < (design::is_replicated ? design::cards * design::instances : 1); i++)
            made.emplace_back(i);
        return made;
    }();
    return all;
}

} // namespace emulate

namespace xrt {

struct uuid {
    std::size_t card = 0;
};

/* Any number may be one of a device. */
class device {
public:
    explicit device(unsigned) { emulate::Host::the(); /* whose processes begin before any thread */ }

    uuid load_xclbin(const std::string &path)
    {
        const std::size_t end = path.rfind('/');
        const std::size_t begin = end == std::string::npos ? end : path.rfind("card", end);
        if (begin == std::string::npos)
            throw std::runtime_error(path + " is in no folder of a card");
        return {host::number(path.substr(begin + 4, end - begin - 4), path + ": a card", 0, design::cards - 1)};
    }
};

class kernel {
public:
    /* name: "kernel:{unit}" */
    kernel(const device &, const uuid &uuid, const std::string &name)
    {
        const std::vector<design::Kernel> rows = design::kernels();
        for (number = 0; number < rows.size(); number++)
            for (std::size_t n = 0; n < design::instances; n++) {
                accelerator = design::is_replicated ? uuid.card * design::instances + n : n;
                if (name == rows[number].name + ":{" + rows[number].name + "_" + std::to_string(n) + "}" &&
                    (design::is_replicated || rows[number].card == uuid.card))
                    return;
            }
        throw std::runtime_error("card " + std::to_string(uuid.card) + " has no kernel " + name);
    }

    int group_id(int argument) const { return argument; }

    std::size_t number = 0, accelerator = 0;
};

using bo = ming::TwoSidedBuffer<xclBOSyncDirection, XCL_BO_SYNC_BO_TO_DEVICE>;

class run {
public:
    explicit run(const kernel &of) : kernel_(of) {}

    void set_arg(int index, const bo &buffer)
    {
        call_.buffers[index] = buffer.memory();
        kept_.push_back(buffer);
    }
    void set_arg(int, int frames) { call_.frames = frames; }

    void start() { batch_ = emulate::accelerators()[kernel_.accelerator].start(kernel_.number, call_); }

    ert_cmd_state wait()
    {
        emulate::accelerators()[kernel_.accelerator].wait(batch_);
        return ERT_CMD_STATE_COMPLETED;
    }

private:
    kernel kernel_;
    emulate::Accelerator::Call call_;
    std::vector<bo> kept_;
    std::size_t batch_ = 0;
};

} // namespace xrt

#endif
