/* A network for the C simulation of adapters (ming_adapter.h): cables between UDP
 * cores, which lose packets (ming_loss.h), and what is known of the links that use them.
 *
 * Adapters are called cycle by cycle until the words that kernels gave have come.
 * A packet that udp misses is an error, as is a receiver of credits that holds more
 * than it has room for. Tested by test/e2e/network_check.py. */
#ifndef MING_CHANNEL_H
#define MING_CHANNEL_H

#include "ming_adapter.h"
#include "ming_loss.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ming {
namespace channel {

/* One that lives as long as the program, whatever is left in it. */
template <class T>
hls::stream<T> &stream()
{
    return *new hls::stream<T>("a stream of the network");
}

struct Link {
    std::string name;
    int from, to;                                       /* cards */
    const adapter::Count *missing, *packet, *again;     /* registers; nullptr: the protocol has none */
    std::function<std::size_t()> waiting, came, held;   /* words before, behind, and at the receiver */
    std::size_t room;                                   /* words there at most; 0: no limit */
};

class Network {
public:
    explicit Network(const std::function<void(Network &)> &build)
        : rate_(loss::rate()), state_(loss::seed())
    {
        build(*this);
    }

    ~Network()
    {
        for (const Traffic &one : links_)
            std::printf("network: link '%s': %llu packets, %llu lost, %u missed, %u times sent again\n",
                        one.link.name.c_str(), one.packets, one.losses, value(one.link.missing),
                        value(one.link.again));
    }

    void add_link(const Link &link) { links_.push_back({link, 0, 0}); }
    void add_wire(hls::stream<adapter::Beat> &from, hls::stream<adapter::Beat> &to, int latency)
    {
        wires_.push_back({from, to, latency, {}, {}});
    }

    /* Whether a reader takes a word in this cycle. */
    bool takes() { return random() >> 63; }

    /* Until all words that wait have come. */
    void carry(void (*step)())
    {
        std::vector<std::size_t> wanted;
        for (const Traffic &one : links_)
            wanted.push_back(one.link.came() + one.link.waiting());
        long long last = now_;
        for (std::size_t before = left(wanted); before > 0; before = left(wanted)) {
            step();
            for (Wire &wire : wires_)
                move(wire);
            now_++;
            check();
            if (left(wanted) < before)
                last = now_;
            if (now_ - last > PATIENCE)
                fail_silent(wanted);
        }
    }

private:
    static constexpr long long PATIENCE = 10000000; /* cycles without a word */

    struct Traffic {
        Link link;
        unsigned long long packets, losses;
    };

    struct Packet {
        long long cycle; /* when it comes */
        std::vector<adapter::Beat> beats;
    };

    struct Wire {
        hls::stream<adapter::Beat> &from, &to;
        int latency;
        std::vector<adapter::Beat> beats; /* of a packet that is not whole yet */
        std::deque<Packet> packets;
    };

    static unsigned int value(const adapter::Count *count) { return count ? static_cast<unsigned int>(*count) : 0; }

    std::uint64_t random()
    {
        const std::uint64_t number = loss::mix(state_);
        state_ += 0x9e3779b97f4a7c15;
        return number;
    }

    std::size_t left(const std::vector<std::size_t> &wanted) const
    {
        std::size_t sum = 0;
        for (std::size_t i = 0; i < wanted.size(); i++)
            sum += wanted[i] - links_[i].link.came();
        return sum;
    }

    /* Of a packet that leaves: whether it arrives. */
    bool passes(const adapter::Beat &first)
    {
        const bool is_lost = loss::hits(rate_, random());
        const auto number = static_cast<std::size_t>(adapter::Count(first.data.range(63, 48)));
        const auto kind = static_cast<unsigned int>(adapter::Count(first.data.range(47, 32)));
        if (number < links_.size() && kind == adapter::DATA) {
            links_[number].packets++;
            links_[number].losses += is_lost;
        }
        return !is_lost;
    }

    void move(Wire &wire)
    {
        if (!wire.from.empty()) {
            wire.beats.push_back(wire.from.read());
            if (wire.beats.back().last) {
                if (passes(wire.beats.front()))
                    wire.packets.push_back({now_ + wire.latency, std::move(wire.beats)});
                wire.beats.clear();
            }
        }
        if (!wire.packets.empty() && wire.packets.front().cycle <= now_) {
            for (const adapter::Beat &beat : wire.packets.front().beats)
                wire.to.write(beat);
            wire.packets.pop_front();
        }
    }

    static std::string name_of(const Link &link)
    {
        return "link '" + link.name + "' from card " + std::to_string(link.from) + " to card " + std::to_string(link.to);
    }

    void check() const
    {
        for (const Traffic &one : links_) {
            if (one.link.room > 0 && one.link.held() > one.link.room)
                throw std::runtime_error(name_of(one.link) + ": the receiver holds " + std::to_string(one.link.held()) +
                                         " words, but has room for " + std::to_string(one.link.room));
            if (one.link.packet && value(one.link.missing) > 0)
                fail_lost(one.link);
        }
    }

    [[noreturn]] static void fail_lost(const Link &link)
    {
        throw std::runtime_error(name_of(link) + ": packet " + std::to_string(value(link.packet)) +
                                 " was lost, and udp does not send it again");
    }

    /* With udp, what no packet follows. */
    [[noreturn]] void fail_silent(const std::vector<std::size_t> &wanted) const
    {
        for (std::size_t i = 0; i < wanted.size(); i++)
            if (links_[i].link.packet && links_[i].link.came() < wanted[i])
                fail_lost(links_[i].link);
        throw std::runtime_error("no word comes any more");
    }

    double rate_;
    std::uint64_t state_;
    std::vector<Traffic> links_;
    std::vector<Wire> wires_;
    long long now_ = 0;
};

} // namespace channel
} // namespace ming

#endif
