/* A process of the operating system that is a card, for ming_emulate.h: it runs the
 * dataflow processes that are on the card, and the ends of links, until its host
 * goes; and what both know of the system. Where accelerators share a card, there is
 * one for each of them, since none waits for another.
 * Tested by test/e2e/emulate_check.py. */
#ifndef MING_CARD_H
#define MING_CARD_H

#include "ming_cosim.h"

#include "ming_link.h"
#include "ming_tb.h"

#include <set>

#include <poll.h>

namespace emulate {

/* What an accelerator has of a card. */
struct Unit {
    std::string name;
    std::size_t card, accelerator;
};

/* A process of the design or a port, and its unit. */
struct Place {
    const char *name;
    std::size_t unit;
};

struct System {
    std::vector<Unit> units;
    std::vector<Place> processes, ports;
    std::vector<Link> links; /* between units */
    bool is_replicated; /* each unit has the whole design, and runs other frames */
};

inline std::size_t unit_of(const std::vector<Place> &places, const std::string &name)
{
    for (const Place &place : places)
        if (name == place.name)
            return place.unit;
    throw std::runtime_error("'" + name + "' is on no card");
}

/* The number of a port, which is there. */
inline std::uint32_t number_of(const std::vector<Place> &places, const std::string &name)
{
    const auto at =
        std::find_if(places.begin(), places.end(), [&](const Place &place) { return name == place.name; });
    return static_cast<std::uint32_t>(at - places.begin());
}

/* Until one of the sockets has something, or takes what waits to be sent. */
inline std::vector<pollfd> waits_for(const std::vector<Socket *> &sockets)
{
    std::vector<pollfd> waits;
    for (const Socket *socket : sockets)
        waits.push_back({socket->is_closed() ? -1 : socket->fd(),
                         static_cast<short>(POLLIN | (socket->is_behind() ? POLLOUT : 0)), 0});
    return waits;
}

/* milliseconds: at most; -1: without end. */
inline void wait_until(std::vector<pollfd> waits, int milliseconds)
{
    if (poll(waits.data(), waits.size(), milliseconds) < 0 && errno != EINTR)
        throw std::runtime_error(std::string("poll: ") + std::strerror(errno));
}

/* A socket that is known to be closed is not waited for, so whoever waits has to know first. */
inline void poll_sockets(const std::vector<Socket *> &sockets)
{
    for (const Socket *socket : sockets)
        if (socket->has_news())
            return;
    wait_until(waits_for(sockets), -1);
    for (Socket *socket : sockets)
        socket->flush();
}

/* --- a card ------------------------------------------------------------------- */

class Card : public cosim::Outside {
public:
    using Frame = void (*)(Card &card, int frames);

    /* The only one of this process. */
    static Card *&the()
    {
        static Card *card = nullptr;
        return card;
    }

    Card(const System &system, std::size_t number, Socket host) : system_(system), number_(number), host_(std::move(host))
    {
        the() = this;
        cosim::Scheduler::the().set_outside(this);
    }

    void add_end(std::size_t link, Socket socket, const Loss &loss)
    {
        if (system_.links[link].from == number_)
            senders_.push_back(std::make_unique<Sender>(system_.links[link], link, std::move(socket), loss));
        else
            receivers_.push_back(std::make_unique<Receiver>(system_.links[link], link, std::move(socket)));
    }

    /* Frames as the host sends them, to its end. */
    [[noreturn]] void run(Frame frame)
    {
        try {
            for (Message next = next_message(); next.header.kind == MessageKind::FRAME; next = next_message())
                frame(*this, static_cast<int>(next.header.count));
            finish();
            for (;;)
                wait(); /* others may miss packets; ends with the host */
        } catch (const std::exception &e) {
            Message message(MessageKind::FAILURE);
            message.add_bytes(e.what(), std::strlen(e.what()));
            host_.send(message);
        }
        for (Message ignored; !host_.is_closed(); host_.receive(ignored))
            poll_sockets({&host_});
        std::_Exit(EXIT_FAILURE);
    }

    bool is_here(const std::vector<Place> &places, const std::string &name) const
    {
        return system_.is_replicated || unit_of(places, name) == number_;
    }
    bool has_process(const std::string &name) const { return is_here(system_.processes, name); }
    bool has_port(const std::string &name) const override { return is_here(system_.ports, name); }

    /* An end of a link: what moves its words, where the stream is one. */
    template <class Word>
    void join(hls::stream<Word> &stream, const std::string &name, cosim::Fifo *fifo)
    {
        for (const auto &sender : senders_)
            if (sender->link().name == name) {
                sender->set_fifo(fifo);
                add_fibre(name + " (sent)", name, [&stream, end = sender.get()] {
                    for (std::size_t i = 0; i < end->link().words; i++)
                        end->take(stream.read());
                });
            }
        for (const auto &receiver : receivers_)
            if (receiver->link().name == name) {
                receiver->set_fifo(fifo);
                add_fibre(name + " (received)", name, [&stream, end = receiver.get()] {
                    for (std::size_t i = 0; i < end->link().words; i++)
                        stream.write(end->template give<Word>());
                });
            }
    }

    /* --- ports, where they are here --- */

    template <class Word>
    void receive(const char *name, const ming::Port &port, hls::stream<Word> &stream)
    {
        if (!has_port(name))
            return;
        const Message frame = next_message();
        for (std::size_t w = 0; w < port.words(); w++)
            stream.write(ming::tb::Carried<Word>::put(port, frame.body, w));
    }

    /* What is loaded, before the first frame. */
    template <class Word>
    void receive_weights(const char *name, const ming::Port &port, hls::stream<Word> &stream)
    {
        const std::uint32_t number = number_of(system_.ports, name);
        if (!has_port(name) || !loaded_.insert(number).second)
            return;
        while (weights_.count(number) == 0)
            wait();
        for (std::size_t w = 0; w < port.words(); w++)
            stream.write(ming::tb::Carried<Word>::put(port, weights_.at(number), w));
        weights_.erase(number);
    }

    template <class Word>
    void send(const char *name, const ming::Port &port, hls::stream<Word> &stream)
    {
        if (!has_port(name))
            return;
        Message frame;
        frame.body.resize(port.frame_bytes());
        if (stream.size() != port.words())
            throw std::runtime_error("output '" + port.name + "' has " + std::to_string(stream.size()) + " words of " +
                                     std::to_string(port.words()));
        for (std::size_t w = 0; w < port.words(); w++)
            ming::tb::Carried<Word>::get(stream.read(), port, frame.body, w);
        host_.send(frame);
    }

    template <class Bus>
    void receive(const char *name, const ming::Port &port, ming::Memory<Bus> &memory, int frames)
    {
        for (int i = 0; has_port(name) && i < frames; i++)
            memory.put(next_message().body, static_cast<std::size_t>(i));
        (void)port;
    }

    template <class Bus>
    void send(const char *name, const ming::Port &port, const ming::Memory<Bus> &memory, int frames)
    {
        for (int i = 0; has_port(name) && i < frames; i++) {
            Message frame;
            frame.body = memory.get(static_cast<std::size_t>(i));
            host_.send(frame);
        }
        (void)port;
    }

    /* --- Outside --- */

    void flush() override
    {
        for (const auto &receiver : receivers_)
            receiver->flush();
        for (const auto &sender : senders_) {
            for (Message copy; sender->next_copy(copy);)
                host_.send(copy);
            sender->flush();
        }
    }

    void wait() override
    {
        flush();
        for (const auto &sender : senders_)
            sender->probe();
        while (!handle_all()) {
            report_idle();
            poll_sockets(sockets());
        }
    }

private:
    void add_fibre(const std::string &name, const std::string &stream, std::function<void()> body)
    {
        cosim::Scheduler::the().add(name, stream, std::move(body), false);
    }

    std::vector<Socket *> sockets()
    {
        std::vector<Socket *> all{&host_};
        for (const auto &sender : senders_)
            all.push_back(&sender->socket());
        for (const auto &receiver : receivers_)
            all.push_back(&receiver->socket());
        return all;
    }

    /* Whether there was something. */
    bool handle_all()
    {
        bool found = false;
        Message message;
        while (host_.receive(message)) {
            found = true;
            if (message.header.kind == MessageKind::ASK)
                answer();
            else if (message.header.kind == MessageKind::COPY)
                take_copy(std::move(message));
            else if (message.header.kind == MessageKind::WEIGHTS)
                weights_[message.header.count] = std::move(message.body);
            else
                messages_.push_back(std::move(message));
        }
        if (host_.is_closed())
            std::_Exit(EXIT_SUCCESS); /* nobody is left to say anything to */
        for (const auto &sender : senders_)
            for (; sender->socket().receive(message); found = true)
                sender->handle(message);
        for (const auto &receiver : receivers_)
            for (; receiver->socket().receive(message); found = true)
                receiver->handle(message);
        return found;
    }

    void take_copy(Message message)
    {
        for (const auto &receiver : receivers_)
            if (receiver->number() == message.header.count) {
                receiver->add_copy(std::move(message));
                return;
            }
        throw std::runtime_error("a copy came that no kernel of this card reads");
    }

    Message next_message()
    {
        while (messages_.empty())
            wait();
        Message message = std::move(messages_.front());
        messages_.pop_front();
        return message;
    }

    /* Numbers of messages; those of links in the order of sockets(). */
    void report_idle()
    {
        Message message(MessageKind::IDLE);
        message.add(host_.received());
        const std::vector<Socket *> all = sockets();
        for (std::size_t i = 1; i < all.size(); i++) {
            message.add(all[i]->sent());
            message.add(all[i]->received());
        }
        if (message.body == reported_)
            return;
        reported_ = message.body;
        host_.send(message);
    }

    /* Who waits here, a line each: process, stream, "read" or "write". */
    void answer()
    {
        std::string text;
        for (const cosim::Waiting &one : cosim::Scheduler::the().waiting())
            text += system_.units[number_].name + ": " + one.process + " waits to " +
                    (one.is_writing ? "write '" : "read '") + one.stream + "', which is " +
                    (one.is_writing ? "full\n" : "empty\n");
        Message message(MessageKind::ANSWER);
        message.add_bytes(text.data(), text.size());
        host_.send(message);
    }

    bool is_finished() const
    {
        return cosim::Scheduler::the().is_made() &&
               std::all_of(senders_.begin(), senders_.end(), [](const auto &one) { return one->is_done(); });
    }

    /* What no frame follows: the last reads and writes, and how long all took. */
    void finish()
    {
        cosim::Scheduler::the().finish();
        for (flush(); !is_finished(); flush())
            wait();
        Message message(MessageKind::TIMES);
        for (const auto &sender : senders_) {
            message.add(sender->packets());
            message.add(sender->losses());
        }
        const std::vector<cosim::FrameTimes> times = cosim::Scheduler::the().times();
        message.header.count = static_cast<std::uint32_t>(times.size());
        for (const cosim::FrameTimes &one : times)
            message.add(one);
        host_.send(message);
    }

    const System &system_;
    std::size_t number_;
    Socket host_;
    std::vector<std::unique_ptr<Sender>> senders_;     /* in the order of links */
    std::vector<std::unique_ptr<Receiver>> receivers_; /* likewise */
    std::deque<Message> messages_;                     /* of the host, to be taken */
    std::map<std::uint32_t, std::vector<std::uint8_t>> weights_; /* of ports, to be taken */
    std::set<std::uint32_t> loaded_;
    std::vector<std::uint8_t> reported_;
};

} // namespace emulate

#endif
