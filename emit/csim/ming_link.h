/* The two ends of a link between cards, for ming_emulate.h; of copies by the host, too, which moves the
 * words itself, so that only their cycles go this way. Words go in packets
 * of 64-byte beats, with a sequence number and the cycle in which each was
 * written; the cycle in which it was read comes back. What arrives when is
 * computed from these, so the time that the sockets take does not matter:
 *
 *   credit  a word is written when one of the link's places is free. A packet
 *           that is lost is asked for and sent again, which takes a round trip
 *           of the link and the cycles of its words; those behind it wait.
 *   udp     a word is written at once. A packet that is lost, or that finds the
 *           places of the receiver full, is an error.
 *
 * A sender that must wait tells how many packets it has sent; so the last one is
 * missed, too. Tested by test/e2e/emulate_check.py. */
#ifndef MING_LINK_H
#define MING_LINK_H

#include "ming_cosim.h"

#include "ming_loss.h"
#include "ming_port.h"
#include "ming_socket.h"

#include <ap_int.h>
#include <hls_stream.h>
#include <hls_vector.h>

namespace emulate {

struct Link {
    std::string name;
    std::size_t from, to;      /* cards */
    std::size_t words, packet; /* of a frame, and the most of a packet: the first one of a frame has the rest */
    bool is_credit;
    std::size_t bits = 0, elements = 0; /* in memory, if the host copies: of an element, and of a word's slot */

    bool is_copied() const { return bits > 0; }
    std::size_t frame_bytes() const { return words * elements * bits / 8; }
};

/* --- bits of words ----------------------------------------------------------- */

template <class Word>
struct Wire;

template <int N>
struct Wire<ap_uint<N>> {
    static constexpr std::size_t BITS = N;
    static constexpr int PIECE = 32;

    static void put(const ap_uint<N> &word, std::vector<std::uint8_t> &bytes, std::size_t at)
    {
        for (int bit = 0; bit < N; bit += PIECE)
            ming::tb::put_bits(bytes, at + static_cast<std::size_t>(bit),
                               static_cast<std::size_t>(std::min(PIECE, N - bit)),
                               static_cast<std::uint64_t>(ap_uint<PIECE>(word >> bit)));
    }
    static ap_uint<N> get(const std::vector<std::uint8_t> &bytes, std::size_t at)
    {
        ap_uint<N> word = 0;
        for (int bit = 0; bit < N; bit += PIECE) {
            const ap_uint<N> piece = ming::tb::get_bits(bytes, at + static_cast<std::size_t>(bit),
                                                        static_cast<std::size_t>(std::min(PIECE, N - bit)));
            word |= piece << bit;
        }
        return word;
    }
};

template <int N>
struct Wire<ap_int<N>> {
    static constexpr std::size_t BITS = N;

    static void put(const ap_int<N> &word, std::vector<std::uint8_t> &bytes, std::size_t at)
    {
        Wire<ap_uint<N>>::put(ap_uint<N>(word), bytes, at);
    }
    static ap_int<N> get(const std::vector<std::uint8_t> &bytes, std::size_t at)
    {
        return ap_int<N>(Wire<ap_uint<N>>::get(bytes, at));
    }
};

/* Floats as they lie in memory. */
template <class Float>
struct FloatWire {
    static constexpr std::size_t BITS = 8 * sizeof(Float);

    static void put(Float word, std::vector<std::uint8_t> &bytes, std::size_t at)
    {
        std::memcpy(bytes.data() + at / 8, &word, sizeof word);
    }
    static Float get(const std::vector<std::uint8_t> &bytes, std::size_t at)
    {
        Float word;
        std::memcpy(&word, bytes.data() + at / 8, sizeof word);
        return word;
    }
};
template <>
struct Wire<float> : FloatWire<float> {};
template <>
struct Wire<double> : FloatWire<double> {};

template <class T, std::size_t N>
struct Wire<hls::vector<T, N>> {
    static constexpr std::size_t BITS = N * Wire<T>::BITS;

    static void put(const hls::vector<T, N> &word, std::vector<std::uint8_t> &bytes, std::size_t at)
    {
        for (std::size_t lane = 0; lane < N; lane++)
            Wire<T>::put(word[lane], bytes, at + lane * Wire<T>::BITS);
    }
    static hls::vector<T, N> get(const std::vector<std::uint8_t> &bytes, std::size_t at)
    {
        hls::vector<T, N> word;
        for (std::size_t lane = 0; lane < N; lane++)
            word[lane] = Wire<T>::get(bytes, at + lane * Wire<T>::BITS);
        return word;
    }
};

/* Words in memory, an element of a word after the other. */
template <class Word>
struct Slot {
    static void put(const Word &word, std::size_t, std::vector<std::uint8_t> &bytes, std::size_t at)
    {
        Wire<Word>::put(word, bytes, at);
    }
    static Word get(std::size_t, const std::vector<std::uint8_t> &bytes, std::size_t at)
    {
        return Wire<Word>::get(bytes, at);
    }
};

template <class T, std::size_t N>
struct Slot<hls::vector<T, N>> {
    static void put(const hls::vector<T, N> &word, std::size_t bits, std::vector<std::uint8_t> &bytes, std::size_t at)
    {
        for (std::size_t lane = 0; lane < N; lane++)
            Wire<T>::put(word[lane], bytes, at + lane * bits);
    }
    static hls::vector<T, N> get(std::size_t bits, const std::vector<std::uint8_t> &bytes, std::size_t at)
    {
        hls::vector<T, N> word;
        for (std::size_t lane = 0; lane < N; lane++)
            word[lane] = Wire<T>::get(bytes, at + lane * bits);
        return word;
    }
};

constexpr std::size_t BEAT_BYTES = 64;

/* Words of a packet share beats, or take several. */
template <class Word>
struct Beats {
    static constexpr std::size_t WORD = (Wire<Word>::BITS + 7) / 8;
    static constexpr std::size_t PER_BEAT = WORD > BEAT_BYTES ? 1 : BEAT_BYTES / WORD;
    static constexpr std::size_t PER_WORD = (WORD + BEAT_BYTES - 1) / BEAT_BYTES; /* beats; 1 if they share one */

    static std::size_t count(std::size_t words) { return (words + PER_BEAT - 1) / PER_BEAT * PER_WORD; }
    /* The first bit of a word. */
    static std::size_t at(std::size_t word)
    {
        return 8 * (word / PER_BEAT * PER_WORD * BEAT_BYTES + word % PER_BEAT * WORD);
    }
};

/* --- losses ------------------------------------------------------------------ */

/* Which packets are lost: a part of them, the same ones for the same seed. */
struct Loss {
    double rate;
    std::uint64_t seed;

    bool hits(std::size_t link, std::uint64_t sequence, std::uint32_t times) const
    {
        using ming::loss::mix;
        return ming::loss::hits(rate, mix(mix(mix(seed + link) + sequence) + times));
    }
};

/* --- the end that sends -------------------------------------------------------- */

class Sender {
public:
    Sender(const Link &link, std::size_t number, Socket socket, const Loss &loss)
        : link_(link), number_(number), socket_(std::move(socket)), loss_(loss)
    {
    }

    Socket &socket() { return socket_; }
    const Link &link() const { return link_; }
    std::uint64_t packets() const { return next_; }
    std::uint64_t losses() const { return losses_; }
    bool is_done() const { return complete_.empty() && untimed_.empty() && held_.empty() && !must_probe_; }

    void set_fifo(cosim::Fifo *fifo)
    {
        if (!fifo_ && !link_.is_credit)
            fifo->set_depth(0); /* nothing comes back */
        fifo_ = fifo;
    }

    /* The next word of the frame; its cycle comes by the FIFO, sooner or later. */
    template <class Word>
    void take(const Word &word)
    {
        if (link_.is_copied())
            take_copy(word);
        if (in_packet_ == 0)
            begin_packet();
        if (link_.is_copied()) {
            count_word();
            return;
        }
        Message &packet = complete_.back();
        if (in_packet_ == 0)
            packet.body.resize(BEAT_BYTES * Beats<Word>::count(packet.header.words));
        packet.header.beats = static_cast<std::uint16_t>(packet.body.size() / BEAT_BYTES);
        Wire<Word>::put(word, packet.body, Beats<Word>::at(in_packet_));
        count_word();
    }

    /* A frame for the host, which has the words: packets have their cycles only. False: none is whole. */
    bool next_copy(Message &message)
    {
        if (copies_.size() < 2 && (copies_.empty() || in_frame_ > 0))
            return false;
        message = std::move(copies_.front());
        copies_.pop_front();
        return true;
    }

    /* Sends the packets whose words have all been written. */
    void flush()
    {
        add_cycles();
        while (has_packet() && untimed_.empty() && fifo_->words.size() >= complete_.front().header.words)
            send_packet();
        socket_.flush();
    }

    /* Before it waits. A process that rewinds writes its last words when the next frame begins, and that
     * may come from the host when it has got this one: so words go without cycles. Then tells how many
     * packets must have come. */
    void probe()
    {
        while (has_packet() && fifo_->writer && fifo_->writer->is_held())
            send_packet();
        if (!must_probe_)
            return;
        must_probe_ = false;
        Message message(MessageKind::PROBE);
        message.header.sequence = next_;
        message.header.count = ++probes_;
        socket_.send(message);
    }

    void handle(Message &message)
    {
        if (message.header.kind == MessageKind::LOST)
            send_again(message);
        if (message.header.kind != MessageKind::CREDIT)
            return;
        held_.erase(held_.begin(), held_.lower_bound(message.header.sequence));
        while (!message.is_taken())
            fifo_->places.push_back(message.take<std::int64_t>());
        cosim::Scheduler::the().moved(fifo_);
    }

private:
    struct Held {
        Message packet;
        std::uint32_t probes; /* that were sent before it was, the last time */
    };

    /* Words whose cycles come later. */
    struct Untimed {
        std::uint64_t packet;
        std::uint32_t words;
    };

    template <class Word>
    void take_copy(const Word &word)
    {
        if (in_frame_ == 0) {
            copies_.emplace_back(MessageKind::COPY);
            copies_.back().header.count = static_cast<std::uint32_t>(number_);
            copies_.back().body.resize(link_.frame_bytes());
        }
        Slot<Word>::put(word, link_.bits, copies_.back().body, in_frame_ * link_.elements * link_.bits);
    }

    void count_word()
    {
        in_packet_ = (in_packet_ + 1) % complete_.back().header.words;
        in_frame_ = (in_frame_ + 1) % link_.words;
    }

    bool has_packet() const { return !complete_.empty() && (complete_.size() > 1 || in_packet_ == 0); }

    void send_packet()
    {
        Message packet = std::move(complete_.front());
        complete_.pop_front();
        packet.header.sequence = next_++;
        const std::uint32_t left =
            untimed_.empty() ? move_cycles(packet, packet.header.words) : packet.header.words;
        if (left > 0)
            untimed_.push_back({packet.header.sequence, left});
        if (link_.is_credit)
            held_[packet.header.sequence] = {packet, 0};
        transmit(packet);
    }

    /* Cycles of up to so many words behind the message; how many are not known. */
    std::uint32_t move_cycles(Message &message, std::uint32_t words)
    {
        for (; words > 0 && !fifo_->words.empty(); words--) {
            message.add(fifo_->words.front());
            fifo_->words.pop_front();
        }
        return words;
    }

    void add_cycles()
    {
        while (!untimed_.empty() && !fifo_->words.empty()) {
            Untimed &first = untimed_.front();
            Message message(MessageKind::CYCLES);
            message.header.sequence = first.packet;
            first.words = move_cycles(message, first.words);
            socket_.send(message);
            if (first.words == 0)
                untimed_.pop_front();
        }
    }

    void begin_packet()
    {
        const std::size_t rest = link_.words % link_.packet;
        complete_.emplace_back(MessageKind::PACKET);
        complete_.back().header.words = static_cast<std::uint32_t>(in_frame_ == 0 && rest > 0 ? rest : link_.packet);
    }

    void transmit(const Message &packet)
    {
        const Header &header = packet.header;
        if (link_.is_credit)
            held_[header.sequence].probes = probes_;
        must_probe_ = true;
        if (!link_.is_copied() && loss_.hits(number_, header.sequence, header.count))
            losses_++;
        else
            socket_.send(packet);
    }

    /* Unless it has been sent again since the probe. */
    void send_again(const Message &message)
    {
        const auto held = held_.find(message.header.sequence);
        if (held == held_.end() || message.header.count <= held->second.probes)
            return;
        held->second.packet.header.count++;
        transmit(held->second.packet);
    }

    const Link &link_;
    std::size_t number_;
    Socket socket_;
    Loss loss_;
    cosim::Fifo *fifo_ = nullptr;
    std::deque<Message> complete_; /* but for the last one, while words of it are missing */
    std::deque<Message> copies_;   /* likewise */
    std::size_t in_packet_ = 0, in_frame_ = 0;
    std::deque<Untimed> untimed_;
    std::map<std::uint64_t, Held> held_; /* until they have come */
    std::uint64_t next_ = 0, losses_ = 0;
    std::uint32_t probes_ = 0;
    bool must_probe_ = false;
};

/* --- the end that receives ------------------------------------------------------ */

class Receiver {
public:
    Receiver(const Link &link, std::size_t number, Socket socket)
        : link_(link), number_(number), socket_(std::move(socket))
    {
    }

    Socket &socket() { return socket_; }
    const Link &link() const { return link_; }
    std::size_t number() const { return number_; }

    void set_fifo(cosim::Fifo *fifo)
    {
        if (!fifo_) {
            fifo->places.swap(free_);
            fifo->places.clear();
        }
        fifo_ = fifo;
    }

    /* The next word of the frame; the fibre sleeps until it is there. */
    template <class Word>
    Word give()
    {
        while (packets_.empty()) {
            asleep_ = cosim::Scheduler::the().current();
            cosim::Scheduler::the().sleep(fifo_);
        }
        const Message &packet = packets_.front();
        const Word word = link_.is_copied()
                              ? Slot<Word>::get(link_.bits, packet.body, given_ * link_.elements * link_.bits)
                              : Wire<Word>::get(packet.body, Beats<Word>::at(given_));
        if (++given_ == packet.header.words) {
            packets_.pop_front();
            given_ = 0;
        }
        return word;
    }

    /* Tells in which cycles words were read. */
    void flush()
    {
        write_words(); /* some came before the first frame began here */
        if (fifo_ && !fifo_->places.empty()) {
            if (link_.is_credit)
                send_credit();
            else
                free_.insert(free_.end(), fifo_->places.begin(), fifo_->places.end());
            fifo_->places.clear();
            check_room();
        }
        socket_.flush();
    }

    /* A frame that the host has copied. */
    void add_copy(Message message)
    {
        if (!link_.is_copied() || message.body.size() != link_.frame_bytes())
            throw std::runtime_error("link '" + link_.name + "': a copy has " + std::to_string(message.body.size()) +
                                     " bytes, not the " + std::to_string(link_.frame_bytes()) + " of a frame");
        message.header.words = static_cast<std::uint32_t>(link_.words);
        add_words(std::move(message));
    }

    void handle(const Message &message)
    {
        const std::uint64_t sequence = message.header.sequence;
        if (message.header.kind == MessageKind::CYCLES)
            add_cycles(sequence, message, 0, false);
        if (message.header.kind == MessageKind::PACKET && sequence >= expected_)
            early_.emplace(sequence, message);
        for (std::uint64_t i = expected_; message.header.kind == MessageKind::PROBE && i < sequence; i++)
            if (early_.count(i) == 0)
                miss(i, message.header.count);
        if (!link_.is_credit && !early_.empty() && early_.begin()->first > expected_)
            miss(expected_, 0);
        while (!early_.empty() && early_.begin()->first == expected_) {
            deliver(early_.begin()->second);
            early_.erase(early_.begin());
        }
        write_words();
    }

private:
    struct Unwritten {
        std::uint64_t packet;
        std::uint32_t words, all; /* to be written; of the packet */
        std::uint32_t losses;
    };

    struct Arrival {
        std::int64_t cycle;
        std::uint64_t packet;
    };

    [[noreturn]] void fail(std::uint64_t packet, const std::string &what) const
    {
        throw std::runtime_error("link '" + link_.name + "' from card " + std::to_string(link_.from) + " to card " +
                                 std::to_string(link_.to) + ": packet " + std::to_string(packet) + " " + what);
    }

    void miss(std::uint64_t packet, std::uint32_t probe)
    {
        if (!link_.is_credit)
            fail(packet, "was lost, and udp does not send it again");
        Message message(MessageKind::LOST);
        message.header.sequence = packet;
        message.header.count = probe;
        socket_.send(message);
    }

    void send_credit()
    {
        Message message(MessageKind::CREDIT);
        message.header.sequence = expected_;
        for (const std::int64_t cycle : fifo_->places)
            message.add(cycle);
        socket_.send(message);
    }

    /* Those of a packet itself are in front of those that came in other messages. */
    void add_cycles(std::uint64_t packet, const Message &message, std::size_t at, bool in_front)
    {
        std::deque<std::int64_t> &cycles = cycles_[packet];
        std::size_t place = in_front ? 0 : cycles.size();
        for (; at + sizeof(std::int64_t) <= message.body.size(); at += sizeof(std::int64_t)) {
            std::int64_t cycle;
            std::memcpy(&cycle, message.body.data() + at, sizeof cycle);
            cycles.insert(cycles.begin() + static_cast<std::ptrdiff_t>(place++), cycle);
        }
    }

    /* A packet whose turn it is. */
    void deliver(Message &packet)
    {
        const Header &header = packet.header;
        add_cycles(header.sequence, packet, header.beats * BEAT_BYTES, true);
        unwritten_.push_back({header.sequence, header.words, header.words, header.count});
        if (!link_.is_copied())
            add_words(std::move(packet));
        expected_++;
    }

    void add_words(Message packet)
    {
        packets_.push_back(std::move(packet));
        if (asleep_)
            cosim::Scheduler::the().wake(std::exchange(asleep_, nullptr));
    }

    /* Words in their order, as far as their cycles are known; a packet that was lost comes later, and so
     * do those behind it. */
    void write_words()
    {
        if (!fifo_ || unwritten_.empty())
            return;
        while (!unwritten_.empty()) {
            Unwritten &first = unwritten_.front();
            std::deque<std::int64_t> &cycles = cycles_[first.packet];
            const std::int64_t late = first.losses * (2 * fifo_->latency + first.all);
            for (; first.words > 0 && !cycles.empty(); first.words--) {
                last_ = std::max(cycles.front() + late, last_ + 1);
                cycles.pop_front();
                fifo_->words.push_back(last_);
                if (!link_.is_credit)
                    written_.push_back({last_, first.packet});
            }
            if (first.words > 0)
                break;
            cycles_.erase(first.packet);
            unwritten_.pop_front();
        }
        check_room();
        cosim::Scheduler::the().moved(fifo_);
    }

    /* Of udp: the place of each word must have been free when it was written. */
    void check_room()
    {
        while (!written_.empty() && !free_.empty()) {
            if (free_.front() + fifo_->latency > written_.front().cycle)
                fail(written_.front().packet, "finds the receiver full, which holds " +
                                                  std::to_string(fifo_->depth) + " words");
            written_.pop_front();
            free_.pop_front();
        }
    }

    const Link &link_;
    std::size_t number_;
    Socket socket_;
    cosim::Fifo *fifo_ = nullptr;
    cosim::Fibre *asleep_ = nullptr;
    std::map<std::uint64_t, Message> early_; /* have come, but not all before them */
    std::deque<Message> packets_;            /* whose words are not all given */
    std::size_t given_ = 0;                  /* of the first one */
    std::deque<Unwritten> unwritten_;        /* packets whose words the FIFO does not have yet, */
    std::map<std::uint64_t, std::deque<std::int64_t>> cycles_; /* and when they were written */
    std::uint64_t expected_ = 0;
    std::int64_t last_ = cosim::Fifo::LONG_AGO;
    std::deque<Arrival> written_;  /* of udp: words whose place is not known yet, */
    std::deque<std::int64_t> free_; /* and when places became free */
};

} // namespace emulate

#endif
