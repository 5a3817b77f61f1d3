/* The UDP cores of emulated cards, as far as network.h uses them: registers that remember what is written.
 * MING_REGISTERS names a file that gets a line for each write: card, unit, offset, value. Packets of make emulate
 * do not go through these tables. Tested by test/e2e/emulate_check.py. */
#ifndef MING_EMULATED_NETWORK_H
#define MING_EMULATED_NETWORK_H

#include <cstdio>
#include <cstdlib>

namespace emulate
{

struct Register {
    const char *name;
    std::uint64_t offset;

    std::string get_name() const
    {
        return name;
    }
    std::uint64_t get_offset() const
    {
        return offset;
    }
};

constexpr std::uint32_t SOCKETS = 16, SOCKETS_AT = 0x0A10;

/* Where a version of the core has them. */
inline std::vector<Register> core_registers()
{
    return {{"mac_address", 0x0010},
            {"ip_address", 0x0018},
            {"gateway", 0x001C},
            {"udp_theirIP_offset", 0x0810},
            {"udp_theirPort_offset", 0x0890},
            {"udp_myPort_offset", 0x0910},
            {"udp_valid_offset", 0x0990},
            {"udp_number_sockets", SOCKETS_AT},
            {"arp_valid_offset", 0x1100},
            {"arp_ip_addr_offset", 0x1400},
            {"arp_mac_addr_offset", 0x1800}};
}

} // namespace emulate

namespace xrt
{

class ip
{
  public:
    ip(const device &, const uuid &uuid, const std::string &name)
        : unit_("card" + std::to_string(uuid.card) + " " + name),
          path_(std::getenv("MING_REGISTERS"))
    {
        registers_[emulate::SOCKETS_AT] = emulate::SOCKETS;
    }

    void write_register(std::uint32_t offset, std::uint32_t value)
    {
        registers_[offset] = value;
        std::FILE *const log = path_ && *path_ ? std::fopen(path_, "a") : nullptr;
        if (!log) return;
        std::fprintf(log, "%s %u %u\n", unit_.c_str(), static_cast<unsigned>(offset),
                     static_cast<unsigned>(value));
        std::fclose(log);
    }

    std::uint32_t read_register(std::uint32_t offset)
    {
        return registers_[offset];
    }

  private:
    const std::string unit_;
    const char *const path_;
    std::map<std::uint32_t, std::uint32_t> registers_;
};

/* Cards have the cores of their links. */
class xclbin
{
  public:
    struct Unit {
        std::string name;

        std::string get_name() const
        {
            return name;
        }
        std::vector<emulate::Register> get_args() const
        {
            return emulate::core_registers();
        }
    };

    explicit xclbin(const std::string &path) : card_(device(0).load_xclbin(path).card)
    {
    }

    std::vector<Unit> get_ips() const
    {
        std::map<std::size_t, Unit> units;
        for (const design::Link &link : design::links()) {
            if (link.from == card_)
                units[link.from_port] = {"networklayer:networklayer_" +
                                         std::to_string(link.from_port)};
            if (link.to == card_)
                units[link.to_port] = {"networklayer:networklayer_" + std::to_string(link.to_port)};
        }
        std::vector<Unit> all;
        for (const auto &unit : units) all.push_back(unit.second);
        return all;
    }

  private:
    std::size_t card_;
};

} // namespace xrt

#endif
