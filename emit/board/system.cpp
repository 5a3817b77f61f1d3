/* Runs a design on several cards with XRT, or on the processes of `make emulate`:
 *
 *   host [--devices=N,N…] [--xclbin=FILE,FILE…] [--network=FILE] [--weights=DIR]
 *        [--batch=16] [--slots=3] INPUT.npy… OUTPUT.npy…
 *
 * Weights that are not in the bitstreams are sent to all kernels before the first frame.
 *
 * An accelerator is one or more stages, each of which has kernels at memory on one card or several. A batch
 * of frames goes through the stages one after the other; between two of them the host copies what the first
 * one left on its card to that of the next, in two transfers, of which the second of a batch and the first of
 * the next one overlap. Slots are batches in flight, each with buffers of its own. Of several accelerators
 * the next one with a free slot takes the next batch. Everything that is particular to the design is in
 * design.h. Tested by test/e2e/emulate_check.py, card_tiles_check.py. */
#include "design.h"
#include "host_frames.h"

#include "network.h"

#ifdef MING_EMULATE
#include "emulated_xrt.h"
#include "emulated_network.h"
/* Where it runs, and the project's folder from the program's. */
static const char where[] = "emulated", project[] = "";
#else
static const char where[] = "on cards", project[] = "../";
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <experimental/xrt_ip.h>
#include <experimental/xrt_xclbin.h>
#endif

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

namespace {

struct Options {
    std::vector<std::size_t> devices;
    std::vector<std::string> xclbins, files;
    std::string network; /* addresses of ports; empty: something else fills the tables of UDP cores */
    std::string weights; /* their folder */
    std::size_t batch = 16, slots = 3;
};

/* A card with its kernels. */
struct Card {
    Card(std::size_t number, const std::string &path)
        : device(static_cast<unsigned>(number)), uuid(device.load_xclbin(path)), path(path)
    {
    }

    xrt::device device;
    xrt::uuid uuid;
    std::string path;
};

/* What the threads share: which frames are next, and the first error. */
class Work {
public:
    Work(host::Frames &frames, std::size_t batch) : frames(frames), batch(batch) {}

    /* The next batch; 0 frames: none is left, or there was an error. */
    std::size_t next(std::size_t &first)
    {
        const std::lock_guard<std::mutex> guard(lock_);
        const std::size_t count = error_ ? 0 : std::min(batch, frames.count - next_);
        first = next_;
        next_ += count;
        return count;
    }

    void fail(const std::exception_ptr &error)
    {
        const std::lock_guard<std::mutex> guard(lock_);
        if (!error_)
            error_ = error;
    }

    void check() const
    {
        if (error_)
            std::rethrow_exception(error_);
    }

    host::Frames &frames;
    const std::size_t batch;

private:
    std::mutex lock_;
    std::size_t next_ = 0;
    std::exception_ptr error_;
};

/* The buffers of a batch in flight, and what starts its stages. */
class Slot {
public:
    Slot(std::vector<std::unique_ptr<Card>> &cards, const std::vector<design::Kernel> &kernels,
         const std::vector<design::Port> &ports, std::size_t batch)
        : ports_(ports), copies_(design::copies())
    {
        for (const design::Kernel &row : kernels)
            add_kernel(*cards[row.card], row, batch);
    }

    void pack(const host::Frames &frames, std::size_t first, std::size_t count)
    {
        first_ = first;
        count_ = count;
        for (Call &call : calls_)
            for (std::size_t i = 0; i < call.buffers.size(); i++) {
                const design::Buffer &row = call.row.buffers[i];
                if (row.kind != design::INPUT)
                    continue;
                const std::size_t size = bytes_of(row);
                auto *const bytes = call.buffers[i].map<std::uint8_t *>();
                for (std::size_t f = 0; f < count; f++) {
                    const std::vector<std::uint8_t> frame =
                        ming::pack(ports_[row.number].port, frames.arrays[row.number], first + f);
                    std::copy(frame.begin(), frame.end(), bytes + f * size);
                }
                call.buffers[i].sync(XCL_BO_SYNC_BO_TO_DEVICE, count * size, 0);
            }
    }

    void start(std::size_t stage)
    {
        for (Call &call : calls_)
            if (call.row.stage == stage) {
                call.run.set_arg(call.row.frames_argument, static_cast<int>(count_));
                call.run.start();
            }
    }

    void wait(std::size_t stage)
    {
        for (Call &call : calls_) {
            if (call.row.stage != stage)
                continue;
            const ert_cmd_state state = call.run.wait();
            if (state != ERT_CMD_STATE_COMPLETED)
                throw std::runtime_error("kernel " + call.row.name + " on card " + std::to_string(call.row.card) +
                                         " ended in state " + std::to_string(static_cast<int>(state)));
        }
    }

    /* What a stage left comes to the host. */
    void fetch(std::size_t stage)
    {
        each_copy(stage, [this](xrt::bo &buffer, const design::Buffer &row) {
            buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE, count_ * bytes_of(row), 0);
        });
    }

    /* And goes to the cards of the next ones. */
    void store(std::size_t stage)
    {
        each_copy(stage, [this](xrt::bo &buffer, const design::Buffer &row) { copy_to_reader(buffer, row); });
    }

    void unpack(host::Frames &frames)
    {
        for (Call &call : calls_)
            for (std::size_t i = 0; i < call.buffers.size(); i++) {
                const design::Buffer &row = call.row.buffers[i];
                if (row.kind != design::OUTPUT)
                    continue;
                const std::size_t size = bytes_of(row);
                call.buffers[i].sync(XCL_BO_SYNC_BO_FROM_DEVICE, count_ * size, 0);
                const auto *const bytes = call.buffers[i].map<std::uint8_t *>();
                for (std::size_t f = 0; f < count_; f++)
                    ming::unpack(ports_[row.number].port, {bytes + f * size, bytes + (f + 1) * size},
                                 frames.arrays[row.number], first_ + f);
            }
    }

private:
    struct Call {
        design::Kernel row;
        xrt::run run;
        std::vector<xrt::bo> buffers;
    };

    std::size_t bytes_of(const design::Buffer &row) const
    {
        const bool is_copy = row.kind == design::COPY_OUT || row.kind == design::COPY_IN;
        return is_copy ? copies_[row.number] : ports_[row.number].port.frame_bytes();
    }

    void add_kernel(Card &card, const design::Kernel &row, std::size_t batch)
    {
        const xrt::kernel kernel(card.device, card.uuid, row.name);
        Call call{row, xrt::run(kernel), {}};
        for (const design::Buffer &buffer : row.buffers) {
            call.buffers.emplace_back(card.device, bytes_of(buffer) * batch, kernel.group_id(buffer.argument));
            call.run.set_arg(buffer.argument, call.buffers.back());
        }
        calls_.push_back(std::move(call));
    }

    template <typename Body> void each_copy(std::size_t stage, const Body &body)
    {
        for (Call &from : calls_)
            for (std::size_t i = 0; from.row.stage == stage && i < from.buffers.size(); i++)
                if (from.row.buffers[i].kind == design::COPY_OUT)
                    body(from.buffers[i], from.row.buffers[i]);
    }

    void copy_to_reader(xrt::bo &buffer, const design::Buffer &row)
    {
        const std::size_t size = count_ * bytes_of(row);
        for (Call &to : calls_)
            for (std::size_t i = 0; i < to.buffers.size(); i++)
                if (to.row.buffers[i].kind == design::COPY_IN && to.row.buffers[i].number == row.number) {
                    const auto *const bytes = buffer.map<std::uint8_t *>();
                    std::copy_n(bytes, size, to.buffers[i].map<std::uint8_t *>());
                    to.buffers[i].sync(XCL_BO_SYNC_BO_TO_DEVICE, size, 0);
                }
    }

    const std::vector<design::Port> ports_;
    const std::vector<std::size_t> copies_;
    std::vector<Call> calls_;
    std::size_t first_ = 0, count_ = 0;
};

/* A thread packs batches and starts the first stage; for each stage one waits for it and fetches what it left,
 * and another one stores that and starts the next stage. */
class Accelerator {
public:
    Accelerator(std::vector<std::unique_ptr<Card>> &cards, const std::vector<design::Kernel> &kernels,
                std::size_t slots, Work &work)
        : work_(work), stages_(stages_of(kernels)), done_(2 * stages_, 0)
    {
        for (std::size_t i = 0; i < slots; i++)
            slots_.push_back(std::make_unique<Slot>(cards, kernels, design::ports(), work.batch));
    }

    void start()
    {
        threads_.emplace_back([this] { run([this] { feed(); }); });
        for (std::size_t step = 0; step + 1 < done_.size(); step++)
            threads_.emplace_back([this, step] { run([this, step] { follow(step); }); });
    }

    void join()
    {
        for (std::thread &thread : threads_)
            thread.join();
    }

private:
    static std::size_t stages_of(const std::vector<design::Kernel> &kernels)
    {
        std::size_t count = 1;
        for (const design::Kernel &kernel : kernels)
            count = std::max(count, kernel.stage + 1);
        return count;
    }

    template <typename Body> void run(const Body &body)
    {
        try {
            body();
        } catch (...) {
            work_.fail(std::current_exception());
            const std::lock_guard<std::mutex> guard(lock_);
            has_failed_ = true;
            changed_.notify_all();
        }
    }

    Slot &slot(std::size_t batch) { return *slots_[batch % slots_.size()]; }

    void count(std::size_t &counter)
    {
        const std::lock_guard<std::mutex> guard(lock_);
        counter++;
        changed_.notify_all();
    }

    void feed()
    {
        for (std::size_t batch = 0;; batch++) {
            std::unique_lock<std::mutex> guard(lock_);
            changed_.wait(guard, [&] { return has_failed_ || batch - done_.back() < slots_.size(); });
            if (has_failed_)
                return;
            guard.unlock();
            std::size_t first = 0;
            const std::size_t frames = work_.next(first);
            if (frames > 0) {
                slot(batch).pack(work_.frames, first, frames);
                slot(batch).start(0);
                count(done_[0]);
                continue;
            }
            guard.lock();
            is_fed_ = true;
            changed_.notify_all();
            return;
        }
    }

    /* Steps of a batch: a stage has run and what it left is at the host; the next one is started; and so on.
     * done_[step]: batches that are ready for it; the last one: that have left. */
    void follow(std::size_t step)
    {
        for (std::size_t batch = 0;; batch++) {
            std::unique_lock<std::mutex> guard(lock_);
            changed_.wait(guard, [&] {
                return has_failed_ || done_[step] > batch || (is_fed_ && done_[0] == batch);
            });
            if (has_failed_ || done_[step] <= batch)
                return;
            guard.unlock();
            make(slot(batch), step);
            count(done_[step + 1]);
        }
    }

    void make(Slot &slot, std::size_t step)
    {
        const std::size_t stage = step / 2;
        if (step % 2 == 1) {
            slot.store(stage);
            slot.start(stage + 1);
            return;
        }
        slot.wait(stage);
        if (stage + 1 < stages_)
            slot.fetch(stage);
        else
            slot.unpack(work_.frames);
    }

    Work &work_;
    const std::size_t stages_;
    std::vector<std::unique_ptr<Slot>> slots_;
    std::vector<std::thread> threads_;
    std::mutex lock_;
    std::condition_variable changed_;
    std::vector<std::size_t> done_;
    bool is_fed_ = false, has_failed_ = false;
};

/* Sends the words of a file to a kernel that has tables. */
class Loader {
public:
    Loader(Card &card, const design::Weights &row, const std::string &folder)
        : kernel_(card.device, card.uuid, row.name), buffer_(card.device, row.port.frame_bytes(), kernel_.group_id(0)),
          run_(kernel_), name_(row.name)
    {
        const std::string path = folder + "/" + row.kernel + ".npy";
        const ming::Array words = ming::npy_read(path.c_str());
        if (words.shape != row.port.shape)
            throw std::runtime_error(path + ": these are not the weights of this design");
        const std::vector<std::uint8_t> bytes = ming::pack(row.port, words, 0);
        std::copy(bytes.begin(), bytes.end(), buffer_.map<std::uint8_t *>());
        buffer_.sync(XCL_BO_SYNC_BO_TO_DEVICE, bytes.size(), 0);
        run_.set_arg(0, buffer_);
        run_.set_arg(2, static_cast<int>(row.port.words()));
        run_.start();
    }

    void wait()
    {
        const ert_cmd_state state = run_.wait();
        if (state != ERT_CMD_STATE_COMPLETED)
            throw std::runtime_error("kernel " + name_ + " ended in state " + std::to_string(static_cast<int>(state)));
    }

private:
    xrt::kernel kernel_;
    xrt::bo buffer_;
    xrt::run run_;
    std::string name_;
};

/* All weights of all accelerators, at once. Frames must not come before: cards without back-pressure
 * between them would lose words while one of them still loads. */
void load_weights(std::vector<std::unique_ptr<Card>> &cards, const std::string &folder)
{
    std::vector<std::unique_ptr<Loader>> loaders;
    for (const design::Weights &row : design::weights())
        loaders.push_back(std::make_unique<Loader>(*cards[row.card], row, folder));
    for (const auto &one : loaders)
        one->wait();
}

/* The kernels of each. */
std::vector<std::vector<design::Kernel>> accelerators()
{
    std::vector<std::vector<design::Kernel>> all(design::accelerators);
    for (const design::Kernel &kernel : design::kernels())
        all[kernel.accelerator].push_back(kernel);
    return all;
}

/* Seconds for all frames, packing included. */
double run(const Options &options, host::Frames &frames)
{
    using Clock = std::chrono::steady_clock;
    std::vector<std::unique_ptr<Card>> cards;
    for (std::size_t i = 0; i < design::cards; i++)
        cards.push_back(std::make_unique<Card>(options.devices[i], options.xclbins[i]));
    if (!options.network.empty())
        network::fill<xrt::xclbin, xrt::ip>(options.network, cards);
    load_weights(cards, options.weights);
    Work work(frames, std::min(options.batch, std::max<std::size_t>(1, frames.count)));
    std::vector<std::unique_ptr<Accelerator>> all;
    for (const std::vector<design::Kernel> &kernels : accelerators())
        all.push_back(std::make_unique<Accelerator>(cards, kernels, options.slots, work));
    const auto begin = Clock::now();
    for (const auto &one : all)
        one->start();
    for (const auto &one : all)
        one->join();
    work.check();
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::vector<std::string> split(const std::string &text)
{
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == ',')
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

void parse_option(Options &options, const std::string &argument)
{
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (name == "--xclbin" && !value.empty())
        options.xclbins = split(value);
    else if (name == "--network" && !value.empty())
        options.network = value;
    else if (name == "--weights" && !value.empty())
        options.weights = value;
    else if (name == "--devices") {
        options.devices.clear();
        for (const std::string &part : split(value))
            options.devices.push_back(host::number(part, name, 0, 1000));
    } else if (name == "--batch")
        options.batch = host::number(value, name, 1, 1 << 20);
    else if (name == "--slots")
        options.slots = host::number(value, name, 1, 64);
    else
        throw std::runtime_error("unknown option " + argument);
}

void check_count(const std::string &name, std::size_t count)
{
    if (count != design::cards)
        throw std::runtime_error(name + " names " + std::to_string(count) + " cards, not " +
                                 std::to_string(design::cards));
}

Options parse(int argc, char **argv)
{
    Options options;
    std::string folder(argv[0]);
    folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/') + 1);
    options.weights = folder + project + "kernels";
    for (std::size_t i = 0; i < design::cards; i++) {
        options.devices.push_back(i);
        options.xclbins.push_back(folder + project + "card" + std::to_string(i) + "/system.xclbin");
    }
    for (int i = 1; i < argc; i++) {
        const std::string argument(argv[i]);
        if (argument.compare(0, 2, "--") == 0)
            parse_option(options, argument);
        else
            options.files.push_back(argument);
    }
    check_count("--devices", options.devices.size());
    check_count("--xclbin", options.xclbins.size());
    host::check_files(options.files, design::ports().size());
    return options;
}

int run_all(int argc, char **argv)
{
    const Options options = parse(argc, argv);
    host::Frames frames = host::read_frames(options.files, design::ports());
    const double seconds = run(options, frames);
    host::write_frames(options.files, design::ports(), frames);
    host::print_rate(frames.count, seconds, where);
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    return host::run_main(run_all, argc, argv);
}
