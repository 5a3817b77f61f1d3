/* XRT's classes as far as engine_host.cpp uses them, for Zynq devices without XRT: the processors share their
 * memory with the engine. Registers are those of the engine's AXI4-Lite port, by UIO or /dev/mem; memory that the
 * engine can reach is a u-dma-buf, one block whose physical address and caches Linux tells and manages in
 * /sys/class/u-dma-buf. Calls of a kernel run in order, beside the host.
 * Tested by test/e2e/overlay_host_check.py. */
#ifndef ENGINE_ZYNQ_H
#define ENGINE_ZYNQ_H

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/* What Vitis HLS writes of the registers, where it stands beside the host. */
#if __has_include("xengine_hw.h")
#include "xengine_hw.h"
#endif

enum xclBOSyncDirection { XCL_BO_SYNC_BO_TO_DEVICE, XCL_BO_SYNC_BO_FROM_DEVICE };
enum ert_cmd_state { ERT_CMD_STATE_COMPLETED = 4 };

namespace zynq {

struct Settings {
    std::string registers = "/dev/uio0"; /* FILE or FILE@ADDRESS of each engine, by commas */
    std::string buffer = "/dev/udmabuf0", sys = "/sys";
    std::size_t timeout = 60; /* seconds that a call may take */
};

inline Settings &settings()
{
    static Settings all;
    return all;
}

/* A part of a file, or of a device, as memory. */
class Mapping {
public:
    Mapping(const std::string &path, std::size_t size, std::uint64_t offset)
        : size_(size), file_(::open(path.c_str(), O_RDWR))
    {
        if (file_ < 0)
            throw std::runtime_error("cannot open '" + path + "'");
        void *const begin =
            ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, static_cast<off_t>(offset));
        if (begin == MAP_FAILED) {
            ::close(file_);
            throw std::runtime_error("cannot map " + std::to_string(size) + " bytes of '" + path + "'");
        }
        begin_ = static_cast<std::uint8_t *>(begin);
    }
    Mapping(const Mapping &) = delete;
    Mapping &operator=(const Mapping &) = delete;
    ~Mapping()
    {
        ::munmap(begin_, size_);
        ::close(file_);
    }

    std::uint8_t *begin() const { return begin_; }
    std::size_t size() const { return size_; }

private:
    std::size_t size_;
    int file_;
    std::uint8_t *begin_ = nullptr;
};

/* The block of memory. Parts of it stay to the end. */
class Memory {
public:
    static Memory &the()
    {
        static Memory memory;
        return memory;
    }

    std::size_t take(std::size_t size)
    {
        constexpr std::size_t ALIGNMENT = 4096; /* that no burst crosses */
        const std::size_t begin = used_;
        if (size > mapping_->size() - begin)
            throw std::runtime_error("'" + settings().buffer + "' has " + std::to_string(mapping_->size()) +
                                     " bytes, which are too few");
        used_ = begin + (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        used_ = std::min(used_, mapping_->size());
        return begin;
    }

    std::uint8_t *at(std::size_t offset) const { return mapping_->begin() + offset; }
    std::uint64_t physical(std::size_t offset) const { return address_ + offset; }

    /* Caches of these bytes: written back, or taken away. */
    void sync(xclBOSyncDirection direction, std::size_t offset, std::size_t size)
    {
        const bool is_out = direction == XCL_BO_SYNC_BO_TO_DEVICE;
        set("sync_offset", offset);
        set("sync_size", size);
        set("sync_direction", is_out ? 1 : 2);
        set(is_out ? "sync_for_device" : "sync_for_cpu", 1);
    }

private:
    Memory()
    {
        const std::string name = settings().buffer.substr(settings().buffer.rfind('/') + 1);
        for (const char *kind : {"u-dma-buf", "udmabuf"}) { /* before version 2 */
            folder_ = settings().sys + "/class/" + kind + "/" + name + "/";
            if (std::ifstream(folder_ + "phys_addr"))
                break;
        }
        address_ = get("phys_addr");
        mapping_ = std::make_unique<Mapping>(settings().buffer, static_cast<std::size_t>(get("size")), 0);
    }

    std::uint64_t get(const char *name) const
    {
        std::string text;
        if (!(std::ifstream(folder_ + name) >> text))
            throw std::runtime_error("cannot read '" + folder_ + name + "': is '" + settings().buffer +
                                     "' a u-dma-buf?");
        std::size_t end = 0;
        const std::uint64_t value = std::stoull(text, &end, 0);
        if (end != text.size())
            throw std::runtime_error("'" + folder_ + name + "' holds no number");
        return value;
    }

    void set(const char *name, std::size_t value) const
    {
        std::ofstream file(folder_ + name);
        file << value << std::flush;
        if (!file)
            throw std::runtime_error("cannot write '" + folder_ + name + "'");
    }

    std::string folder_;
    std::uint64_t address_ = 0;
    std::unique_ptr<Mapping> mapping_;
    std::size_t used_ = 0;
};

/* Registers of the AXI4-Lite port, as Vitis HLS lays them out: a pointer has two words, everything one more.
 * UG1399, S_AXILITE control register map. */
enum { CONTROL = 0, FIRST_ARGUMENT = 0x10, REGISTER_BYTES = 4096 };
enum { START = 1, DONE = 2, CONTINUE = 16 };

constexpr unsigned register_of(int argument)
{
    return FIRST_ARGUMENT + 12 * static_cast<unsigned>(argument) - (argument > 1 ? 4 : 0); /* number 1 is `count` */
}

#ifdef XENGINE_CONTROL_ADDR_COUNT_DATA
static_assert(register_of(1) == XENGINE_CONTROL_ADDR_COUNT_DATA, "registers are not where the host thinks");
#endif
#ifdef XENGINE_CONTROL_ADDR_STATUS_DATA
static_assert(register_of(5 + WEIGHT_PORTS) == XENGINE_CONTROL_ADDR_STATUS_DATA,
              "registers are not where the host thinks");
#endif

struct Call {
    std::map<int, std::uint64_t> addresses;
    unsigned count = 0;
};

class Registers {
public:
    /* FILE, or FILE@ADDRESS */
    explicit Registers(const std::string &place)
        : mapping_(place.substr(0, place.find('@')), REGISTER_BYTES, address_of(place))
    {
    }

    void run(const Call &call)
    {
        using Clock = std::chrono::steady_clock;
        const auto end = Clock::now() + std::chrono::seconds(settings().timeout);
        for (const auto &[argument, address] : call.addresses) {
            write(register_of(argument), static_cast<std::uint32_t>(address));
            write(register_of(argument) + 4, static_cast<std::uint32_t>(address >> 32));
        }
        write(register_of(1), call.count);
        write(CONTROL, START);
        while (!(read(CONTROL) & DONE)) {
            if (Clock::now() > end)
                throw std::runtime_error("the engine has not ended after " + std::to_string(settings().timeout) +
                                         " s");
            std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
        write(CONTROL, CONTINUE); /* of ap_ctrl_chain; nothing to ap_ctrl_hs */
    }

private:
    static std::uint64_t address_of(const std::string &place)
    {
        const std::size_t at = place.find('@');
        if (at == std::string::npos)
            return 0;
        std::size_t end = 0;
        const std::string text = place.substr(at + 1);
        std::uint64_t address = 1;
        try {
            address = std::stoull(text, &end, 0);
        } catch (const std::logic_error &) {
        }
        if (end != text.size() || address % REGISTER_BYTES != 0)
            throw std::runtime_error("--registers takes FILE or FILE@ADDRESS, of whole pages, not '" + place + "'");
        return address;
    }

    /* Each once, and a word at a time. */
    std::uint32_t read(unsigned offset) const
    {
        const std::uint32_t value = *reinterpret_cast<volatile std::uint32_t *>(mapping_.begin() + offset);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        return value;
    }
    void write(unsigned offset, std::uint32_t value)
    {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        *reinterpret_cast<volatile std::uint32_t *>(mapping_.begin() + offset) = value;
    }

    Mapping mapping_;
};

/* An engine, with calls one behind the other. */
class Unit {
public:
    explicit Unit(const std::string &place) : registers_(place) {}

    std::shared_future<void> add(const Call &call)
    {
        const std::shared_future<void> before = last_;
        last_ = std::async(std::launch::async, [this, before, call] {
                    if (before.valid())
                        before.get(); /* an engine that has not ended is given no more */
                    registers_.run(call);
                }).share();
        return last_;
    }

private:
    Registers registers_;
    std::shared_future<void> last_;
};

} // namespace zynq

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
        const std::size_t number = std::stoul(name.substr(name.rfind('_') + 1));
        std::size_t begin = 0;
        const std::string &all = zynq::settings().registers;
        for (std::size_t i = 1; i < number && begin != std::string::npos; i++)
            begin = all.find(',', begin) == std::string::npos ? std::string::npos : all.find(',', begin) + 1;
        if (begin == std::string::npos)
            throw std::runtime_error("--registers has no engine number " + std::to_string(number));
        unit = std::make_shared<zynq::Unit>(all.substr(begin, all.find(',', begin) - begin));
    }

    int group_id(int argument) const { return argument; }

    std::shared_ptr<zynq::Unit> unit;
};

class bo {
public:
    bo(const device &, std::size_t size, int) : size_(size), offset_(zynq::Memory::the().take(size)) {}

    template <typename Pointer> Pointer map()
    {
        return reinterpret_cast<Pointer>(zynq::Memory::the().at(offset_));
    }
    void sync(xclBOSyncDirection direction, std::size_t size, std::size_t offset)
    {
        if (offset > size_ || size > size_ - offset)
            throw std::runtime_error("a buffer is synchronized beyond its end");
        zynq::Memory::the().sync(direction, offset_ + offset, size);
    }
    std::uint64_t address() const { return zynq::Memory::the().physical(offset_); }

private:
    std::size_t size_, offset_;
};

class run {
public:
    explicit run(const kernel &of) : unit_(of.unit) {}

    void set_arg(int index, const bo &buffer) { call_.addresses[index] = buffer.address(); }
    void set_arg(int, unsigned count) { call_.count = count; }
    void start() { done_ = unit_->add(call_); }
    ert_cmd_state wait()
    {
        done_.get();
        return ERT_CMD_STATE_COMPLETED;
    }

private:
    std::shared_ptr<zynq::Unit> unit_;
    zynq::Call call_;
    std::shared_future<void> done_;
};

} // namespace xrt

#endif
