/* Runs frames on engines of a card with XRT, or (MING_ZYNQ) beside the processors of a Zynq device:
 *
 *   host [--xclbin=FILE] [--device=N] [--kernels=N] [--slots=2] FOLDER RESULTS.bin
 *   host [--registers=/dev/uio0,...] [--buffer=/dev/udmabuf0] [--kernels=N] [--slots=2] FOLDER RESULTS.bin
 *
 * FOLDER is what `ming engine PROGRAM --input=FRAMES.npy --banks=FOLDER` writes; RESULTS.bin is for `ming engine
 * PROGRAM --results=RESULTS.bin --output=Y.npy`. Program, weights and parameters go to the card once for each
 * kernel. A slot is a call in flight, with a bank of maps of its own: while kernels run, the host sends the
 * next frames and takes the results of those before. Tested by test/e2e/overlay_host_check.py. */
#include "engine_config.h"
#include "engine_files.h"
#include "host_config.h"
#include "host_main.h"

#ifdef MING_EMULATE
#include "engine_xrt.h"
#elif defined(MING_ZYNQ)
#include "engine_zynq.h"
#else
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <sstream>

namespace {

typedef std::vector<unsigned char> Bytes;

struct Options {
    std::string xclbin = "engine.xclbin", folder, results;
    std::size_t device = 0, kernels = HOST_KERNELS, slots = 2;
};

/* A part of the bank of maps. */
struct Place {
    std::size_t offset, size;
};

/* What the folder says. */
struct Job {
    std::uint64_t cycles = 0; /* of a call, simulated */
    std::size_t frames = 0;   /* of all calls, the last one of which may be filled up; 0: one each */
    std::vector<Place> inputs, outputs;
    Bytes program, maps, weights, parameters, calls;
    std::size_t count = 0, input_size = 0, output_size = 0;
};

Place read_place(std::istringstream &line, const Job &job, std::size_t &sum)
{
    Place place{};
    if (!(line >> place.offset >> place.size) || place.size > job.maps.size() ||
        place.offset > job.maps.size() - place.size)
        throw std::runtime_error("host.txt has a port outside of the bank of maps");
    sum += place.size;
    return place;
}

void read_layout(const Bytes &bytes, Job &job)
{
    std::istringstream text(std::string(bytes.begin(), bytes.end()));
    for (std::string row; std::getline(text, row);) {
        std::istringstream line(row);
        std::string word;
        line >> word;
        if (row.find('-') != std::string::npos) /* would be read as a large number */
            throw std::runtime_error("host.txt has a negative number");
        if (word == "input")
            job.inputs.push_back(read_place(line, job, job.input_size));
        else if (word == "output")
            job.outputs.push_back(read_place(line, job, job.output_size));
        else if (word == "frames" ? !(line >> job.frames) : word != "cycles" || !(line >> job.cycles))
            throw std::runtime_error("host.txt is not what ming engine --banks writes");
    }
}

/* The instructions behind the header, if it names this engine. */
Bytes instructions_of(const Bytes &file)
{
    const std::size_t header = 4 * std::size_t(10 + SIZE_WORDS);
    std::uint32_t words[10 + SIZE_WORDS];
    if (file.size() < header)
        throw std::runtime_error("program.bin is no program of an overlay");
    std::memcpy(words, file.data(), header); /* hosts of cards are little-endian */
    if (words[0] != MAGIC || words[1] != VERSION)
        throw std::runtime_error("program.bin is no program of an overlay");
    for (int i = 0; i < FINGERPRINT_WORDS; i++)
        if (words[2 + i] != FINGERPRINT[i])
            throw std::runtime_error(std::string("program.bin is for another engine than ") + FINGERPRINT_TEXT +
                                     ": it has " + fingerprint_text(&words[2], FINGERPRINT_WORDS) + ", not " +
                                     fingerprint_text(FINGERPRINT, FINGERPRINT_WORDS));
    const std::size_t name = (std::size_t(words[8 + SIZE_WORDS]) + 3) / 4 * 4;
    if (file.size() != header + name + 4 * std::size_t(words[9 + SIZE_WORDS]))
        throw std::runtime_error("program.bin does not have the instructions that it says");
    return Bytes(file.begin() + static_cast<std::ptrdiff_t>(header + name), file.end());
}

Job read_job(const std::string &folder)
{
    Job job;
    job.maps = read_file(folder + "/bank0.bin");
    job.weights = read_file(folder + "/bank1.bin");
    job.parameters = read_file(folder + "/bank2.bin");
    job.program = instructions_of(read_file(folder + "/program.bin"));
    job.calls = read_file(folder + "/frames.bin");
    read_layout(read_file(folder + "/host.txt"), job);
    if (job.cycles == 0)
        throw std::runtime_error("host.txt does not say the cycles of a frame");
    if (job.input_size == 0 || job.calls.empty() || job.calls.size() % job.input_size != 0)
        throw std::runtime_error("frames.bin has no whole frames");
    job.count = job.calls.size() / job.input_size;
    if (job.frames == 0)
        job.frames = job.count;
    return job;
}

/* Sends bytes that stay; a bank without any has a beat. */
xrt::bo send(xrt::device &card, const Bytes &bytes, int group)
{
    const std::size_t size = std::max<std::size_t>(bytes.size(), BEAT_BITS / 8);
    xrt::bo buffer(card, size, group);
    std::copy(bytes.begin(), bytes.end(), buffer.map<std::uint8_t *>());
    buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE, size, 0);
    return buffer;
}

/* The beats of a port of the weights, which take them in turns. */
Bytes share_of(const Bytes &bytes, int port)
{
    const std::size_t beat = BEAT_BITS / 8;
    Bytes share;
    for (std::size_t i = static_cast<std::size_t>(port) * beat; i < bytes.size(); i += WEIGHT_PORTS * beat)
        share.insert(share.end(), bytes.begin() + static_cast<std::ptrdiff_t>(i),
                     bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), i + beat)));
    return share;
}

/* A kernel with what all its calls share. The numbers are those of engine()'s arguments. */
struct Kernel {
    enum { PROGRAM, COUNT, MAPS_IN, MAPS_OUT, FIRST_WEIGHTS, PARAMETERS = FIRST_WEIGHTS + WEIGHT_PORTS, STATUS };

    Kernel(xrt::device &card, const xrt::uuid &uuid, std::size_t number, const Job &job)
        : kernel(card, uuid, "engine:{engine_" + std::to_string(number + 1) + "}"),
          program(send(card, job.program, kernel.group_id(PROGRAM))),
          parameters(send(card, job.parameters, kernel.group_id(PARAMETERS)))
    {
        for (int port = 0; port < WEIGHT_PORTS; port++)
            weights.push_back(send(card, share_of(job.weights, port), kernel.group_id(FIRST_WEIGHTS + port)));
    }

    xrt::kernel kernel;
    xrt::bo program, parameters;
    std::vector<xrt::bo> weights; /* for each port */
};

/* A call in flight. */
class Slot {
public:
    Slot(xrt::device &card, const Kernel &of, const Job &job)
        : job_(job), maps_(send(card, job.maps, of.kernel.group_id(Kernel::MAPS_IN))),
          status_(card, BEAT_BITS / 8, of.kernel.group_id(Kernel::STATUS)), run_(of.kernel)
    {
        run_.set_arg(Kernel::PROGRAM, of.program);
        run_.set_arg(Kernel::COUNT, static_cast<unsigned>(job.program.size() / 4));
        run_.set_arg(Kernel::MAPS_IN, maps_);
        run_.set_arg(Kernel::MAPS_OUT, maps_);
        for (int port = 0; port < WEIGHT_PORTS; port++)
            run_.set_arg(Kernel::FIRST_WEIGHTS + port, of.weights[static_cast<std::size_t>(port)]);
        run_.set_arg(Kernel::PARAMETERS, of.parameters);
        run_.set_arg(Kernel::STATUS, status_);
    }

    void start(std::size_t frame)
    {
        const unsigned char *from = job_.calls.data() + frame * job_.input_size;
        for (const Place &place : job_.inputs) {
            std::copy(from, from + place.size, maps_.map<std::uint8_t *>() + place.offset);
            maps_.sync(XCL_BO_SYNC_BO_TO_DEVICE, place.size, place.offset);
            from += place.size;
        }
        run_.start();
        frame_ = frame;
        is_running_ = true;
    }

    /* Waits for what was started, and takes the results. */
    void finish(Bytes &results)
    {
        if (!is_running_)
            return;
        is_running_ = false;
        if (run_.wait() != ERT_CMD_STATE_COMPLETED)
            throw std::runtime_error("a kernel did not complete");
        check_status();
        unsigned char *to = results.data() + frame_ * job_.output_size;
        for (const Place &place : job_.outputs) {
            maps_.sync(XCL_BO_SYNC_BO_FROM_DEVICE, place.size, place.offset);
            const std::uint8_t *const from = maps_.map<std::uint8_t *>() + place.offset;
            to = std::copy(from, from + place.size, to);
        }
    }

private:
    void check_status()
    {
        std::uint32_t status = 0;
        status_.sync(XCL_BO_SYNC_BO_FROM_DEVICE, sizeof status, 0);
        std::memcpy(&status, status_.map<std::uint8_t *>(), sizeof status);
        if (status != 0)
            throw std::runtime_error("the engine found fault " + std::to_string(status >> 28) + " at " +
                                     std::to_string(status & 0xFFFFFFF));
    }

    const Job &job_;
    xrt::bo maps_, status_;
    xrt::run run_;
    std::size_t frame_ = 0;
    bool is_running_ = false;
};

#ifndef MING_ZYNQ
/* Seconds that all frames take by our model, of calls in turns as run_frames makes them: transfers follow each
 * other, since the host waits for each, and kernels run beside them. What stays is on the card already. */
double predict(const Job &job, std::size_t kernels, std::size_t slots)
{
    const auto transfers = [](std::size_t count, std::size_t bytes) {
        return static_cast<double>(count) * HOST_TRANSFER_US * 1e-6 +
               static_cast<double>(bytes) / (HOST_PCIE_GBYTES * 1e9);
    };
    const double in = transfers(job.inputs.size(), job.input_size);
    const double out = transfers(job.outputs.size() + 1, job.output_size + 4); /* and the status */
    const double run = static_cast<double>(job.cycles) / (HOST_CLOCK_MHZ * 1e6);
    std::vector<double> free(kernels, 0), ends(kernels * slots, 0);
    double now = 0;
    for (std::size_t frame = 0; frame < job.count + ends.size(); frame++) {
        double &end = ends[frame % ends.size()], &kernel = free[frame % kernels];
        if (frame >= ends.size())
            now = std::max(now, end) + (frame - ends.size() < job.count ? out : 0);
        if (frame >= job.count)
            continue;
        now += in;
        kernel = end = std::max(kernel, now) + run;
    }
    return now;
}
#endif

/* As many as the card is linked with. */
std::size_t read_kernels(const std::string &value)
{
    try {
        return host::number(value, "--kernels", 1, HOST_KERNELS);
    } catch (const std::runtime_error &error) {
        throw std::runtime_error(std::string(error.what()) + "; ming overlay --kernels=N writes a host for N");
    }
}

void parse_option(Options &options, const std::string &argument)
{
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
#ifdef MING_ZYNQ
    zynq::Settings &zynq = zynq::settings();
    if (name == "--registers" && !value.empty())
        zynq.registers = value;
    else if (name == "--buffer" && !value.empty())
        zynq.buffer = value;
    else if (name == "--sys" && !value.empty())
        zynq.sys = value;
    else if (name == "--timeout")
        zynq.timeout = host::number(value, name, 1, 1000000);
#else
    if (name == "--xclbin" && !value.empty())
        options.xclbin = value;
    else if (name == "--device")
        options.device = host::number(value, name, 0, 1000);
#endif
    else if (name == "--kernels")
        options.kernels = read_kernels(value);
    else if (name == "--slots")
        options.slots = host::number(value, name, 1, 64);
    else
        throw std::runtime_error("unknown option " + argument);
}

Options parse(int argc, char **argv)
{
    Options options;
    std::vector<std::string> files;
    for (int i = 1; i < argc; i++) {
        const std::string argument(argv[i]);
        if (argument.compare(0, 2, "--") == 0)
            parse_option(options, argument);
        else
            files.push_back(argument);
    }
    if (files.size() != 2)
        throw std::runtime_error("takes a folder of ming engine --banks and the file for results, not " +
                                 std::to_string(files.size()) + " names");
    options.folder = files[0];
    options.results = files[1];
    return options;
}

/* Frames go to slots in turns, of one kernel after the other. */
void run_frames(std::vector<std::unique_ptr<Slot>> &slots, const Job &job, Bytes &results)
{
    for (std::size_t frame = 0; frame < job.count; frame++) {
        Slot &slot = *slots[frame % slots.size()];
        slot.finish(results);
        slot.start(frame);
    }
    for (std::size_t i = 0; i < slots.size(); i++)
        slots[(job.count + i) % slots.size()]->finish(results);
}

int run_all(int argc, char **argv)
{
    using Clock = std::chrono::steady_clock;
    const Options options = parse(argc, argv);
    const Job job = read_job(options.folder);
    Bytes results(job.count * job.output_size);
    xrt::device card(static_cast<unsigned>(options.device));
    const xrt::uuid uuid = card.load_xclbin(options.xclbin);
    std::vector<std::unique_ptr<Kernel>> kernels;
    std::vector<std::unique_ptr<Slot>> slots;
    for (std::size_t k = 0; k < options.kernels; k++)
        kernels.push_back(std::make_unique<Kernel>(card, uuid, k, job));
    for (std::size_t s = 0; s < options.kernels * options.slots; s++)
        slots.push_back(std::make_unique<Slot>(card, *kernels[s % options.kernels], job));
#ifdef MING_EMULATE
    emulated::the_clock() = {0, 1 / (HOST_PCIE_GBYTES * 1e9), HOST_TRANSFER_US * 1e-6,
                             static_cast<double>(job.cycles) / (HOST_CLOCK_MHZ * 1e6)};
#endif
    const auto begin = Clock::now();
    run_frames(slots, job, results);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    write_file(options.results, results);
#ifdef MING_ZYNQ
    const double run = static_cast<double>(job.cycles) / (HOST_CLOCK_MHZ * 1e6);
    host::print_rate(job.frames, static_cast<double>((job.count + options.kernels - 1) / options.kernels) * run,
                     "predicted by our model for the engines alone");
    host::print_rate(job.frames, seconds, "on the device");
#else
    host::print_rate(job.frames, predict(job, 1, 1), "predicted by our model for one call at a time");
    host::print_rate(job.frames, predict(job, options.kernels, options.slots), "predicted by our model");
#endif
#ifdef MING_EMULATE
    host::print_rate(job.frames, emulated::the_clock().now, "on the emulated card's clock");
    host::print_rate(job.frames, seconds, "emulated");
#elif !defined(MING_ZYNQ)
    host::print_rate(job.frames, seconds, "on the card");
#endif
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    return host::run_main(run_all, argc, argv);
}
