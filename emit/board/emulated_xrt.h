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

/* The kernels of an accelerator; frames that were given to it and not taken yet. Where the host copies
 * between cards, each card is a stage, whose batches are sent and taken for themselves. */
class Accelerator {
public:
    struct Call {
        std::map<int, std::uint8_t *> buffers;
        int frames = 0;
    };

    Accelerator(std::size_t number, const std::vector<design::Kernel> &kernels)
        : number_(number), rows_(kernels), ports_(design::ports()), copies_(Host::the().take_copies()),
          started_(rows_.size(), 0)
    {
        for (const design::Kernel &row : rows_)
            stages_.resize(std::max(stages_.size(), row.stage + 1));
    }

    /* The batch's number. */
    std::size_t start(std::size_t kernel, const Call &call)
    {
        const std::lock_guard<std::mutex> guard(lock());
        const std::size_t batch = started_[kernel]++, stage = rows_[kernel].stage;
        if (batch == calls_.size())
            calls_.emplace_back(rows_.size());
        calls_[batch][kernel] = call;
        for (std::size_t &sent = stages_[stage].sent; sent < calls_.size() && is_started(stage, sent); sent++)
            send(stage, sent);
        return batch;
    }

    void wait(std::size_t kernel, std::size_t batch)
    {
        std::unique_lock<std::mutex> guard(lock());
        Stage &stage = stages_[rows_[kernel].stage];
        if (batch >= stage.sent)
            throw std::runtime_error("a kernel is waited for while another one of its batch has not been started");
        while (stage.taken <= batch) {
            if (!take(rows_[kernel].stage, stage.taken)) {
                const std::vector<pollfd> waits = Host::the().waits();
                guard.unlock();
                wait_until(waits, MILLISECONDS); /* another thread may take what comes */
                guard.lock();
            }
        }
    }

private:
    static constexpr int MILLISECONDS = 10;

    struct Stage {
        std::size_t sent = 0, taken = 0;             /* batches */
        std::size_t kernel = 0, buffer = 0, frame = 0; /* to be taken next, of the batch `taken` */
    };

    static std::mutex &lock()
    {
        static std::mutex lock;
        return lock;
    }

    bool is_started(std::size_t stage, std::size_t batch) const
    {
        for (std::size_t k = 0; k < rows_.size(); k++)
            if (rows_[k].stage == stage && started_[k] <= batch)
                return false;
        return true;
    }

    static bool is_copy(const design::Buffer &row)
    {
        return row.kind == design::COPY_OUT || row.kind == design::COPY_IN;
    }

    std::size_t frame_bytes(const design::Buffer &row) const
    {
        return is_copy(row) ? design::copies()[row.number] : ports_[row.number].port.frame_bytes();
    }

    std::uint8_t *memory(std::size_t batch, std::size_t kernel, const design::Buffer &row)
    {
        const Call &call = calls_[batch][kernel];
        if (call.buffers.count(row.argument) == 0)
            throw std::runtime_error("argument " + std::to_string(row.argument) + " of " + rows_[kernel].name +
                                     " is not set");
        return call.buffers.at(row.argument);
    }

    std::size_t card_of(std::size_t stage) const
    {
        const auto at =
            std::find_if(rows_.begin(), rows_.end(), [&](const design::Kernel &row) { return row.stage == stage; });
        return at->card;
    }

    /* Of the first kernel of a stage; all must have as many. */
    int frames_of(std::size_t stage, std::size_t batch) const
    {
        int frames = 0;
        for (std::size_t k = 0; k < rows_.size(); k++) {
            if (rows_[k].stage != stage)
                continue;
            if (frames != 0 && frames != calls_[batch][k].frames)
                throw std::runtime_error("kernels of one batch are started for different numbers of frames");
            frames = calls_[batch][k].frames;
        }
        return frames;
    }

    void send(std::size_t stage, std::size_t batch)
    {
        const int frames = frames_of(stage, batch);
        if (stages_.size() == 1)
            Host::the().begin_frames(number_, frames);
        else
            Host::the().begin_frames_on(number_, card_of(stage), frames);
        for (std::size_t k = 0; k < rows_.size(); k++)
            for (const design::Buffer &row : rows_[k].buffers)
                if (rows_[k].stage == stage && (row.kind == design::INPUT || row.kind == design::COPY_IN))
                    send_frames(row, memory(batch, k, row), static_cast<std::size_t>(frames));
    }

    void send_frames(const design::Buffer &row, const std::uint8_t *bytes, std::size_t frames) const
    {
        const std::size_t size = frame_bytes(row);
        for (std::size_t f = 0; f < frames; f++) {
            const std::vector<std::uint8_t> frame(bytes + f * size, bytes + (f + 1) * size);
            if (is_copy(row))
                Host::the().send_copy(copies_.at(row.number), frame);
            else
                Host::the().send_frame(number_, row.port, frame);
        }
    }

    /* False: not all frames have come yet. */
    bool take(std::size_t number, std::size_t batch)
    {
        Stage &stage = stages_[number];
        for (; stage.kernel < rows_.size(); stage.kernel++, stage.buffer = 0) {
            const design::Kernel &kernel = rows_[stage.kernel];
            for (; kernel.stage == number && stage.buffer < kernel.buffers.size(); stage.buffer++, stage.frame = 0)
                if (!take_frames(stage, batch, kernel.buffers[stage.buffer]))
                    return false;
        }
        stage.kernel = stage.buffer = stage.frame = 0;
        stage.taken++;
        if (number + 1 == stages_.size())
            calls_[batch].clear();
        return true;
    }

    bool take_frames(Stage &stage, std::size_t batch, const design::Buffer &row)
    {
        if (row.kind != design::OUTPUT && row.kind != design::COPY_OUT)
            return true;
        std::uint8_t *const bytes = memory(batch, stage.kernel, row);
        const std::size_t size = frame_bytes(row);
        const auto frames = static_cast<std::size_t>(calls_[batch][stage.kernel].frames);
        for (std::vector<std::uint8_t> frame; stage.frame < frames; stage.frame++) {
            if (!(is_copy(row) ? Host::the().take_copy(copies_.at(row.number), frame)
                               : Host::the().take_frame(number_, row.port, frame)))
                return false;
            if (frame.size() != size)
                throw std::runtime_error("a frame of " + rows_[stage.kernel].name + " has another size");
            std::copy(frame.begin(), frame.end(), bytes + stage.frame * size);
        }
        return true;
    }

    const std::size_t number_;
    const std::vector<design::Kernel> rows_;
    const std::vector<design::Port> ports_;
    const std::vector<std::size_t> copies_; /* their links */
    std::vector<std::size_t> started_;      /* batches, for each kernel */
    std::deque<std::vector<Call>> calls_;   /* for each batch, of each kernel */
    std::vector<Stage> stages_;
};

/* All of them. */
inline std::vector<Accelerator> &accelerators()
{
    static std::vector<Accelerator> all = [] {
        std::vector<std::vector<design::Kernel>> kernels(design::accelerators);
        for (const design::Kernel &row : design::kernels())
            kernels[row.accelerator].push_back(row);
        std::vector<Accelerator> made;
        for (std::size_t i = 0; i < kernels.size(); i++)
            made.emplace_back(i, kernels[i]);
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
        std::vector<std::size_t> counts(design::accelerators, 0); /* rows of each */
        for (const design::Kernel &row : design::kernels()) {
            accelerator = row.accelerator;
            number = counts[accelerator]++;
            if (row.name == name && row.card == uuid.card)
                return;
        }
        is_loader = true;
        const std::vector<design::Weights> loaders = design::weights();
        for (number = 0; number < loaders.size(); number++)
            if (loaders[number].name == name && loaders[number].card == uuid.card)
                return;
        throw std::runtime_error("card " + std::to_string(uuid.card) + " has no kernel " + name);
    }

    int group_id(int argument) const { return argument; }

    std::size_t number = 0, accelerator = 0; /* of the accelerator's kernels, or of all weights */
    bool is_loader = false;
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
    void set_arg(int, int number) { call_.frames = number; } /* of frames, or words of weights */

    void start()
    {
        if (kernel_.is_loader)
            send_weights();
        else
            batch_ = emulate::accelerators()[kernel_.accelerator].start(kernel_.number, call_);
    }

    ert_cmd_state wait()
    {
        if (!kernel_.is_loader)
            emulate::accelerators()[kernel_.accelerator].wait(kernel_.number, batch_);
        return ERT_CMD_STATE_COMPLETED;
    }

private:
    void send_weights() const
    {
        const design::Weights row = design::weights()[kernel_.number];
        const std::size_t size = static_cast<std::size_t>(call_.frames) * row.port.frame_bytes() / row.port.words();
        const std::uint8_t *const bytes = call_.buffers.at(0);
        emulate::Host::the().load_weights(row.accelerator, row.port_name, {bytes, bytes + size});
    }

    kernel kernel_;
    emulate::Accelerator::Call call_;
    std::vector<bo> kept_;
    std::size_t batch_ = 0;
};

} // namespace xrt

#endif
