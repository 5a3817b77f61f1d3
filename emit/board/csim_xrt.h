/* XRT's classes as far as host.cpp uses them, on the C simulation instead of a card: libcsim.so stands
 * for the .xclbin. Buffers have two sides, so that what is not synchronized is found; runs are done in
 * the order in which they are started, beside the program. Tested by test/e2e/board_check.py. */
#ifndef MING_CSIM_XRT_H
#define MING_CSIM_XRT_H

#include "csim/ming_libcsim.h"
#include "design.h"
#include "two_sided.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace csim_xrt {

enum Direction { TO_DEVICE, FROM_DEVICE };

using uuid = std::string;

class Simulation {
public:
    void load(const std::string &path)
    {
        handle_ = dlopen((path.find('/') == std::string::npos ? "./" + path : path).c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle_ == nullptr)
            throw std::runtime_error(dlerror());
        find("ming_csim_top", top_);
        find("ming_csim_run", run_);
        if (std::strcmp(top_(), design::top) != 0)
            throw std::runtime_error(path + " is of another design: make libcsim.so");
    }

    /* The accelerator; weights are what was sent before. */
    void run(std::size_t frames, const std::map<int, std::uint8_t *> &arguments)
    {
        std::vector<void *> buffers;
        for (const design::Port &row : design::ports()) {
            if (row.kind == design::WEIGHTS)
                buffers.push_back(weights_);
            else if (arguments.count(row.argument) == 0)
                throw std::runtime_error("argument " + std::to_string(row.argument) + " is not set");
            else
                buffers.push_back(arguments.at(row.argument));
        }
        char message[300] = "";
        if (run_(frames, buffers.data(), message, sizeof message) != 0)
            throw std::runtime_error(message);
    }

    void send_weights(std::uint8_t *bytes) { weights_ = bytes; }

    /* Does a job behind those that were given before. */
    std::shared_future<void> add(const std::function<void()> &job)
    {
        const std::lock_guard<std::mutex> guard(lock_);
        const std::shared_future<void> before = last_;
        last_ = std::async(std::launch::async, [before, job] {
                    if (before.valid())
                        before.wait();
                    job();
                }).share();
        return last_;
    }

private:
    template <typename Function> void find(const char *name, Function *&out)
    {
        out = reinterpret_cast<Function *>(dlsym(handle_, name));
        if (out == nullptr)
            throw std::runtime_error(std::string("libcsim.so has no ") + name);
    }

    void *handle_ = nullptr;
    const char *(*top_)() = nullptr;
    int (*run_)(std::size_t, void *const *, char *, std::size_t) = nullptr;
    std::uint8_t *weights_ = nullptr;
    std::shared_future<void> last_;
    std::mutex lock_;
};

class device {
public:
    explicit device(unsigned) : simulation(std::make_shared<Simulation>()) {}

    uuid load_xclbin(const std::string &path)
    {
        simulation->load(path);
        return path;
    }

    std::shared_ptr<Simulation> simulation;
};

class kernel {
public:
    kernel(const device &card, const uuid &, const std::string &kernel_name)
        : simulation(card.simulation), is_loader(kernel_name == std::string(design::top) + "_load")
    {
        if (!is_loader && kernel_name != design::top)
            throw std::runtime_error("there is no kernel " + kernel_name);
    }

    int group_id(int argument) const { return argument; }

    std::shared_ptr<Simulation> simulation;
    bool is_loader;
};

using bo = ming::TwoSidedBuffer<Direction, TO_DEVICE>;

class run {
public:
    explicit run(const kernel &of) : kernel_(of) {}

    void set_arg(int index, const bo &buffer)
    {
        buffers_[index] = buffer.memory();
        kept_.push_back(buffer);
    }
    void set_arg(int index, int value) { numbers_[index] = value; }

    void start()
    {
        const std::shared_ptr<Simulation> simulation = kernel_.simulation;
        const std::map<int, std::uint8_t *> buffers = buffers_;
        if (kernel_.is_loader) {
            std::uint8_t *const bytes = buffers.at(0);
            done_ = simulation->add([=] { simulation->send_weights(bytes); });
            return;
        }
        const std::size_t frames = static_cast<std::size_t>(numbers_.at(design::frames_argument));
        done_ = simulation->add([=] { simulation->run(frames, buffers); });
    }

    bool wait()
    {
        done_.get();
        return true;
    }

private:
    kernel kernel_;
    std::map<int, std::uint8_t *> buffers_;
    std::map<int, int> numbers_;
    std::vector<bo> kept_;
    std::shared_future<void> done_;
};

} // namespace csim_xrt

#endif
