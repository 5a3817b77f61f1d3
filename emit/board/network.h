/* Fills the tables of the UDP cores at links: kernel `networklayer` of Xilinx's xup_vitis_network_example, whose
 * registers are found by the names that the .xclbin has for them, as that project's own drivers do. A core knows
 * its own addresses, for each socket the one at the other end, and the MAC address of each IP address in its
 * table of 256, in which the last byte is the index: so the two ends of a cable share a /24.
 *
 * The file has a line for each port that links use, `card0.eth1 192.168.0.2 02:00:00:00:00:02`; # begins a comment.
 * Tested by test/e2e/emulate_check.py. */
#ifndef MING_NETWORK_H
#define MING_NETWORK_H

#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "design.h"
#include "host_main.h"

namespace network
{

constexpr std::uint32_t FIRST_UDP_PORT = 62000; /* that of socket 0, at both ends */

struct Addresses {
    std::uint32_t ip;
    std::uint64_t mac;
};

using Place = std::pair<std::size_t, std::size_t>; /* card, port */
using Table = std::map<Place, Addresses>;

inline std::string name(const Place &place)
{
    return "card" + std::to_string(place.first) + ".eth" + std::to_string(place.second);
}

/* Numbers between separators, each of `digits` digits at most; false: the text is not made of so many. */
inline bool split_numbers(const std::string &text, char separator, int base, std::size_t digits,
                          std::size_t count, std::uint64_t &out)
{
    static const std::string known = "0123456789abcdef";
    std::size_t found = 0;
    std::istringstream items(text + separator);
    out = 0;
    for (std::string item; std::getline(items, item, separator); found++) {
        std::uint64_t value = 0;
        if (item.empty() || item.size() > digits) return false;
        for (const char c : item) {
            const std::size_t digit =
                known.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
            if (digit >= static_cast<std::size_t>(base)) return false;
            value = value * static_cast<std::uint64_t>(base) + digit;
        }
        if (value > 255) return false;
        out = out << 8 | value;
    }
    return found == count;
}

inline Place parse_place(const std::string &text, const std::string &where)
{
    const std::size_t dot = text.find(".eth");
    if (text.compare(0, 4, "card") != 0 || dot == std::string::npos)
        throw std::runtime_error(where + "'" + text + "' is no port as card0.eth1");
    return {host::number(text.substr(4, dot - 4), where + "a card", 0, design::cards - 1),
            host::number(text.substr(dot + 4), where + "a port", 0, 7)};
}

inline Addresses parse_addresses(const std::string &ip, const std::string &mac,
                                 const std::string &where)
{
    std::uint64_t number = 0;
    Addresses out{};
    if (!split_numbers(ip, '.', 10, 3, 4, number) || number % 256 == 0 || number % 256 == 255)
        throw std::runtime_error(where + "'" + ip + "' is no IP address of a card");
    out.ip = static_cast<std::uint32_t>(number);
    if (!split_numbers(mac, ':', 16, 2, 6, out.mac) || out.mac == 0 || (out.mac >> 40 & 1) != 0)
        throw std::runtime_error(where + "'" + mac + "' is no MAC address of a card");
    return out;
}

inline Table read_table(const std::string &path)
{
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    Table table;
    std::set<std::uint64_t> macs, ips;
    std::size_t number = 1;
    for (std::string line; std::getline(file, line); number++) {
        const std::string where = path + ":" + std::to_string(number) + ": ";
        std::istringstream words(line.substr(0, line.find('#')));
        std::string port, ip, mac, more;
        if (!(words >> port)) continue;
        words >> ip >> mac >> more;
        const Place place = parse_place(port, where);
        const Addresses addresses = parse_addresses(ip, mac, where);
        if (!more.empty() || !table.emplace(place, addresses).second)
            throw std::runtime_error(
                where + (more.empty() ? port + " is there twice" : "'" + more + "' is too much"));
        if (!ips.insert(addresses.ip).second || !macs.insert(addresses.mac).second)
            throw std::runtime_error(where + "two ports have the same address");
    }
    if (file.bad()) throw std::runtime_error("cannot read " + path);
    return table;
}

inline const Addresses &find(const Table &table, const Place &place)
{
    const auto found = table.find(place);
    if (found == table.end())
        throw std::runtime_error("the network's file has no line for " + name(place) +
                                 ", which links use");
    return found->second;
}

inline std::uint64_t swap_bytes(std::uint64_t value, int bytes)
{
    std::uint64_t out = 0;
    for (int i = 0; i < bytes; i++) out |= (value >> 8 * i & 255) << 8 * (bytes - 1 - i);
    return out;
}

/* The UDP core of a port. */
template <typename Ip>
class Core
{
  public:
    template <typename Registers>
    Core(Ip &ip, const Registers &registers) : ip_(ip)
    {
        for (const auto &one : registers)
            offsets_[one.get_name()] = static_cast<std::uint32_t>(one.get_offset());
    }

    void set_own(const Addresses &own)
    {
        write64("mac_address", 0, own.mac);
        write("ip_address", 0, own.ip);
        write("gateway", 0, (own.ip & 0xFFFFFF00) + 1);
    }

    /* Each socket that is none of a link is closed. */
    void set_sockets(const std::map<std::size_t, Addresses> &others, const std::string &where)
    {
        const std::size_t count = ip_.read_register(at("udp_number_sockets"));
        if (!others.empty() && others.rbegin()->first >= count)
            throw std::runtime_error(where + " has " + std::to_string(count) +
                                     " sockets, too few for its links");
        for (std::uint32_t i = 0; i < count; i++) {
            const auto other = others.find(i);
            const bool is_used = other != others.end();
            write("udp_valid_offset", 8 * i, 0);
            write("udp_theirIP_offset", 8 * i, is_used ? other->second.ip : 0);
            write("udp_theirPort_offset", 8 * i, is_used ? FIRST_UDP_PORT + i : 0);
            write("udp_myPort_offset", 8 * i, is_used ? FIRST_UDP_PORT + i : 0);
            write("udp_valid_offset", 8 * i, is_used);
            if (is_used) set_mac(other->second);
        }
    }

  private:
    std::uint32_t at(const std::string &name) const
    {
        const auto found = offsets_.find(name);
        if (found == offsets_.end())
            throw std::runtime_error("the UDP core has no register '" + name +
                                     "': is it of another version?");
        return found->second;
    }

    void write(const std::string &name, std::uint32_t more, std::uint32_t value)
    {
        ip_.write_register(at(name) + more, value);
    }

    void write64(const std::string &name, std::uint32_t more, std::uint64_t value)
    {
        write(name, more, static_cast<std::uint32_t>(value));
        write(name, more + 4, static_cast<std::uint32_t>(value >> 32));
    }

    /* Addresses in that table have the byte order of packets; there is a byte for the validity of each. */
    void set_mac(const Addresses &other)
    {
        const std::uint32_t i = other.ip & 255;
        write("arp_ip_addr_offset", 4 * i, static_cast<std::uint32_t>(swap_bytes(other.ip, 4)));
        write64("arp_mac_addr_offset", 8 * i, swap_bytes(other.mac, 6));
        const std::uint32_t valid = ip_.read_register(at("arp_valid_offset") + (i & ~3U));
        write("arp_valid_offset", i & ~3U, valid | 1U << (i % 4 * 8));
    }

    Ip &ip_;
    std::map<std::string, std::uint32_t> offsets_;
};

/* For each port that links use its sockets, with who is at the other end. */
inline std::map<Place, std::map<std::size_t, Addresses>> sockets(const Table &table)
{
    std::map<Place, std::map<std::size_t, Addresses>> found;
    for (const design::Link &link : design::links()) {
        const Place from{link.from, link.from_port}, to{link.to, link.to_port};
        const Addresses &here = find(table, from), &there = find(table, to);
        if (here.ip >> 8 != there.ip >> 8)
            throw std::runtime_error(name(from) + " and " + name(to) +
                                     " are not in one network of 256 addresses");
        found[from][link.socket] = there;
        found[to][link.socket] = here;
    }
    return found;
}

/* cards: with a device, the uuid of what is loaded, and its .xclbin. */
template <typename Xclbin, typename Ip, typename Cards>
void fill(const std::string &path, const Cards &cards)
{
    const Table table = read_table(path);
    for (const auto &port : sockets(table)) {
        const auto &card = *cards[port.first.first];
        const std::string unit = "networklayer_" + std::to_string(port.first.second);
        bool is_there = false;
        for (const auto &one : Xclbin(card.path).get_ips()) {
            if (one.get_name() != "networklayer:" + unit) continue;
            Ip ip(card.device, card.uuid, "networklayer:{" + unit + "}");
            Core<Ip> core(ip, one.get_args());
            core.set_own(table.at(port.first));
            core.set_sockets(port.second, name(port.first));
            is_there = true;
        }
        if (!is_there) throw std::runtime_error(card.path + " has no " + unit);
    }
}

} // namespace network

#endif
