/* Runs the accelerator of a project on a card with XRT, or with --emulate on libcsim.so:
 *
 *   host [--emulate] [--xclbin=FILE] [--device=N] [--batch=64] [--slots=3] [--weights=FILE.npy]
 *        INPUT.npy… OUTPUT.npy…
 *
 * A call of the kernel takes up to a batch of frames. Slots are calls in flight, each with buffers of
 * its own: while one runs, the host packs the next and unpacks the one before. Everything that is
 * particular to the design is in design.h. Tested by test/e2e/board_check.py. */
#include "csim_xrt.h"
#include "design.h"
#include "host_frames.h"

#ifdef MING_HAS_XRT
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>
#endif

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

struct Emulated {
    using Device = csim_xrt::device;
    using Kernel = csim_xrt::kernel;
    using Buffer = csim_xrt::bo;
    using Run = csim_xrt::run;
    static constexpr auto to_device = csim_xrt::TO_DEVICE, from_device = csim_xrt::FROM_DEVICE;
    static void wait(Run &run) { run.wait(); }
};

#ifdef MING_HAS_XRT
struct Card {
    using Device = xrt::device;
    using Kernel = xrt::kernel;
    using Buffer = xrt::bo;
    using Run = xrt::run;
    static constexpr auto to_device = XCL_BO_SYNC_BO_TO_DEVICE, from_device = XCL_BO_SYNC_BO_FROM_DEVICE;
    static void wait(Run &run)
    {
        const ert_cmd_state state = run.wait();
        if (state != ERT_CMD_STATE_COMPLETED)
            throw std::runtime_error("the kernel ended in state " + std::to_string(static_cast<int>(state)));
    }
};
#endif

struct Options {
    bool emulate = false;
    std::string xclbin, weights, folder; /* folder: of the project, with a slash */
    std::size_t device = 0, batch = 64, slots = 3;
    std::vector<std::string> files;
};

/* Weights that stay in memory, by argument of the kernel. */
template <typename Api> using Streamed = std::vector<std::pair<int, typename Api::Buffer>>;

template <typename Api>
Streamed<Api> put_streamed(typename Api::Device &device, typename Api::Kernel &kernel,
                           const std::vector<design::Port> &ports, const std::string &folder)
{
    Streamed<Api> all;
    for (const design::Port &row : ports) {
        if (row.kind != design::STREAMED)
            continue;
        const std::string path = folder + design::top + "_" + row.port.name + ".npy";
        const std::vector<std::uint8_t> bytes = ming::pack(row.port, ming::npy_read(path.c_str()), 0);
        all.emplace_back(row.argument, typename Api::Buffer(device, bytes.size(), kernel.group_id(row.argument)));
        std::copy(bytes.begin(), bytes.end(), all.back().second.template map<std::uint8_t *>());
        all.back().second.sync(Api::to_device, bytes.size(), 0);
    }
    return all;
}

/* A call in flight. */
template <typename Api> class Slot {
public:
    Slot(typename Api::Device &device, typename Api::Kernel &kernel, const std::vector<design::Port> &ports,
         std::size_t batch, Streamed<Api> &streamed)
        : ports_(ports), run_(kernel)
    {
        for (auto &[argument, buffer] : streamed)
            run_.set_arg(argument, buffer);
        for (const design::Port &row : ports_) {
            if (row.kind == design::WEIGHTS || row.kind == design::STREAMED)
                continue;
            buffers_.emplace_back(device, row.port.frame_bytes() * batch, kernel.group_id(row.argument));
            run_.set_arg(row.argument, buffers_.back());
        }
    }

    void start(const host::Frames &frames, std::size_t first, std::size_t count)
    {
        first_ = first;
        count_ = count;
        for (std::size_t i = 0; i < buffers_.size(); i++) {
            if (ports_[i].kind != design::INPUT)
                continue;
            const std::size_t size = ports_[i].port.frame_bytes();
            auto *const bytes = buffers_[i].template map<std::uint8_t *>();
            for (std::size_t f = 0; f < count; f++) {
                const std::vector<std::uint8_t> frame = ming::pack(ports_[i].port, frames.arrays[i], first + f);
                std::copy(frame.begin(), frame.end(), bytes + f * size);
            }
            buffers_[i].sync(Api::to_device, count * size, 0);
        }
        run_.set_arg(design::frames_argument, static_cast<int>(count));
        run_.start();
    }

    /* Waits for what was started, and takes the results. */
    void finish(host::Frames &frames)
    {
        if (count_ == 0)
            return;
        Api::wait(run_);
        for (std::size_t i = 0; i < buffers_.size(); i++) {
            if (ports_[i].kind != design::OUTPUT)
                continue;
            const std::size_t size = ports_[i].port.frame_bytes();
            buffers_[i].sync(Api::from_device, count_ * size, 0);
            const auto *const bytes = buffers_[i].template map<std::uint8_t *>();
            for (std::size_t f = 0; f < count_; f++)
                ming::unpack(ports_[i].port, {bytes + f * size, bytes + (f + 1) * size}, frames.arrays[i], first_ + f);
        }
        count_ = 0;
    }

private:
    const std::vector<design::Port> ports_;
    std::vector<typename Api::Buffer> buffers_;
    typename Api::Run run_;
    std::size_t first_ = 0, count_ = 0;
};

/* Sends the weights, while the first call takes them. */
template <typename Api> class Loader {
public:
    Loader(typename Api::Device &device, typename Api::Kernel kernel, const ming::Port &port, const std::string &path)
        : buffer_(device, port.frame_bytes(), kernel.group_id(0)), run_(kernel)
    {
        const std::vector<std::uint8_t> bytes = ming::pack(port, ming::npy_read(path.c_str()), 0);
        std::copy(bytes.begin(), bytes.end(), buffer_.template map<std::uint8_t *>());
        buffer_.sync(Api::to_device, bytes.size(), 0);
        run_.set_arg(0, buffer_);
        run_.set_arg(2, static_cast<int>(port.words()));
        run_.start();
    }

    void finish() { Api::wait(run_); }

private:
    typename Api::Buffer buffer_;
    typename Api::Run run_;
};

/* Seconds for all frames, packing included. */
template <typename Api> double run(const Options &options, const std::vector<design::Port> &ports, host::Frames &frames)
{
    using Clock = std::chrono::steady_clock;
    typename Api::Device device(static_cast<unsigned>(options.device));
    const auto uuid = device.load_xclbin(options.xclbin);
    typename Api::Kernel kernel(device, uuid, design::top);
    std::unique_ptr<Loader<Api>> loader;
    if (ports.back().kind == design::WEIGHTS)
        loader = std::make_unique<Loader<Api>>(
            device, typename Api::Kernel(device, uuid, std::string(design::top) + "_load"), ports.back().port,
            options.weights);
    Streamed<Api> streamed = put_streamed<Api>(device, kernel, ports, options.folder);
    std::vector<std::unique_ptr<Slot<Api>>> slots;
    const std::size_t batch = std::min(options.batch, frames.count);
    for (std::size_t i = 0; i < options.slots; i++)
        slots.push_back(std::make_unique<Slot<Api>>(device, kernel, ports, batch, streamed));
    const auto begin = Clock::now();
    std::size_t turn = 0;
    for (std::size_t first = 0; first < frames.count; first += batch, turn = (turn + 1) % slots.size()) {
        slots[turn]->finish(frames);
        slots[turn]->start(frames, first, std::min(batch, frames.count - first));
    }
    for (std::size_t i = 0; i < slots.size(); i++, turn = (turn + 1) % slots.size())
        slots[turn]->finish(frames);
    if (loader)
        loader->finish();
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

void parse_option(Options &options, const std::string &argument)
{
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (argument == "--emulate")
        options.emulate = true;
    else if (name == "--xclbin" && !value.empty())
        options.xclbin = value;
    else if (name == "--weights" && !value.empty())
        options.weights = value;
    else if (name == "--device")
        options.device = host::number(value, name, 0, 1000);
    else if (name == "--batch")
        options.batch = host::number(value, name, 1, 1 << 20);
    else if (name == "--slots")
        options.slots = host::number(value, name, 1, 64);
    else
        throw std::runtime_error("unknown option " + argument);
}

Options parse(int argc, char **argv, const std::vector<design::Port> &ports)
{
    Options options;
    std::string folder(argv[0]);
    folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/') + 1);
    for (int i = 1; i < argc; i++) {
        const std::string argument(argv[i]);
        if (argument.compare(0, 2, "--") == 0)
            parse_option(options, argument);
        else
            options.files.push_back(argument);
    }
    options.folder = folder + "../";
    if (options.xclbin.empty())
        options.xclbin = options.emulate ? folder + "../libcsim.so" : folder + design::top + ".xclbin";
    if (options.weights.empty())
        options.weights = folder + "../" + design::top + "_weights.npy";
    std::size_t needed = 0;
    for (const design::Port &row : ports)
        needed += row.kind == design::INPUT || row.kind == design::OUTPUT;
    host::check_files(options.files, needed);
    return options;
}

int run_all(int argc, char **argv)
{
    const std::vector<design::Port> ports = design::ports();
    const Options options = parse(argc, argv, ports);
    host::Frames frames = host::read_frames(options.files, ports);
    double seconds = 0;
    if (options.emulate)
        seconds = run<Emulated>(options, ports, frames);
    else
#ifdef MING_HAS_XRT
        seconds = run<Card>(options, ports, frames);
#else
        throw std::runtime_error("built without XRT; --emulate does without");
#endif
    host::write_frames(options.files, ports, frames);
    host::print_rate(frames.count, seconds, options.emulate ? "emulated" : "on the card");
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    return host::run_main(run_all, argc, argv);
}
