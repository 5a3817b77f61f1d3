/* `make emulate`: a process of the operating system for each card, and the
 * testbench as their host. A card runs the dataflow processes that are on it as
 * ming_cosim.h does; what goes over links is sent with its cycles (ming_link.h).
 * So cards need no common clock, and cycles are those of the whole design.
 *
 *   testbench ─ frames ─▶ card ═ link ═▶ card ─ frames ─▶ testbench
 *
 * The processes are children of the testbench's and end with it. Where all wait,
 * which counts of messages tell, the host asks whom for. The environment's
 * MING_LOSS (a share, 0.001) loses packets of links, others for another MING_SEED.
 * Tested by test/e2e/emulate_check.py. */
#ifndef MING_EMULATE_H
#define MING_EMULATE_H

#include "ming_cosim.h"

#include "ming_link.h"
#include "ming_tb.h"

#include <csignal>
#include <poll.h>
#include <sys/wait.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace emulate {

/* A process of the design or a port, and its card. */
struct Place {
    const char *name;
    std::size_t card;
};

struct System {
    std::vector<std::string> cards;
    std::vector<Place> processes, ports;
    std::vector<Link> links;
    bool is_replicated; /* each of the cards has the whole design, and runs other frames */
};

inline std::size_t card_of(const std::vector<Place> &places, const std::string &name)
{
    for (const Place &place : places)
        if (name == place.name)
            return place.card;
    throw std::runtime_error("'" + name + "' is on no card");
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

inline void poll_sockets(const std::vector<Socket *> &sockets)
{
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
        return system_.is_replicated || card_of(places, name) == number_;
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
            text += system_.cards[number_] + ": " + one.process + " waits to " +
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
    std::vector<std::uint8_t> reported_;
};

/* --- the host ------------------------------------------------------------------- */

class Host {
public:
    /* Begins the processes at first. */
    static Host &the(const System &system, Card::Frame frame)
    {
        static Host host(system, frame);
        return host;
    }

    ~Host()
    {
        try {
            if (!has_failed_)
                finish();
        } catch (const std::exception &e) {
            std::fprintf(stderr, "error: %s\n", e.what());
        }
        end_cards();
        if (has_failed_) {
            std::fflush(nullptr);
            std::_Exit(EXIT_FAILURE);
        }
    }

    void begin_frame(int frames)
    {
        unit_ = system_.is_replicated ? begun_ % cards_.size() : 0;
        begun_++;
        begin_frames(unit_, frames);
    }

    template <class Word>
    void send(const char *name, const ming::Port &port, hls::stream<Word> &stream)
    {
        Message frame;
        frame.body.resize(port.frame_bytes());
        for (std::size_t w = 0; w < port.words(); w++)
            ming::tb::Carried<Word>::get(stream.read(), port, frame.body, w);
        at(name).socket.send(frame);
    }

    template <class Word>
    void receive(const char *name, const ming::Port &port, hls::stream<Word> &stream)
    {
        const Message frame = wait_for(at(name), MessageKind::DATA);
        for (std::size_t w = 0; w < port.words(); w++)
            stream.write(ming::tb::Carried<Word>::put(port, frame.body, w));
    }

    template <class Bus>
    void send(const char *name, const ming::Port &port, const Bus *words, int frames)
    {
        ming::Memory<Bus> memory(port, frames);
        std::copy_n(words, memory.size(), memory.data());
        for (int i = 0; i < frames; i++) {
            Message frame;
            frame.body = memory.get(static_cast<std::size_t>(i));
            at(name).socket.send(frame);
        }
    }

    template <class Bus>
    void receive(const char *name, const ming::Port &port, Bus *words, int frames)
    {
        ming::Memory<Bus> memory(port, frames);
        for (int i = 0; i < frames; i++)
            memory.put(wait_for(at(name), MessageKind::DATA).body, static_cast<std::size_t>(i));
        std::copy_n(memory.data(), memory.size(), words);
    }

    /* --- for hosts that have several batches in flight (board/emulated_xrt.h) ---
     * unit: of replicas, the one that is meant; else 0 */

    static Host &the();

    void begin_frames(std::size_t unit, int frames)
    {
        for (std::size_t i = 0; i < cards_.size(); i++)
            if (!system_.is_replicated || i == unit)
                begin_frames_on(i, frames);
    }

    /* Where cards are stages, each is started for itself. */
    void begin_frames_on(std::size_t card, int frames)
    {
        Message message(MessageKind::FRAME);
        message.header.count = static_cast<std::uint32_t>(frames);
        cards_[card].socket.send(message);
    }

    /* The numbers of links that the host copies, in their order. From now on nobody else does. */
    std::vector<std::size_t> take_copies()
    {
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < system_.links.size(); i++)
            if (system_.links[i].is_copied())
                found.push_back(i);
        is_copying_ = false;
        return found;
    }

    void send_copy(std::size_t link, const std::vector<std::uint8_t> &bytes)
    {
        Message frame(MessageKind::COPY);
        frame.header.count = static_cast<std::uint32_t>(link);
        frame.body = bytes;
        cards_[system_.links[link].to].socket.send(frame);
    }

    /* False: it has not come yet. */
    bool take_copy(std::size_t link, std::vector<std::uint8_t> &bytes)
    {
        Process &card = cards_[system_.links[link].from];
        const auto of_link = [&](const Message &copy) { return copy.header.count == link; };
        auto copy = std::find_if(card.copies.begin(), card.copies.end(), of_link);
        if (copy == card.copies.end()) {
            check_failed();
            take_all();
            copy = std::find_if(card.copies.begin(), card.copies.end(), of_link);
            if (copy == card.copies.end()) {
                ask_if_idle();
                return false;
            }
        }
        bytes = std::move(copy->body);
        card.copies.erase(copy);
        return true;
    }

    void send_frame(std::size_t unit, const std::string &port, const std::vector<std::uint8_t> &bytes)
    {
        Message frame;
        frame.body = bytes;
        at(unit, port).socket.send(frame);
    }

    /* False: it has not come yet. All that must be sent for it has been sent. */
    bool take_frame(std::size_t unit, const std::string &port, std::vector<std::uint8_t> &bytes)
    {
        Process &card = at(unit, port);
        check_failed();
        if (card.messages.empty())
            take_all();
        if (card.messages.empty()) {
            ask_if_idle();
            return false;
        }
        bytes = take_front(card, MessageKind::DATA).body;
        return true;
    }

    /* What to wait for until there may be more. */
    std::vector<pollfd> waits() { return waits_for(sockets()); }

private:
    struct Process {
        Socket socket;
        pid_t pid;
        std::deque<Message> messages;   /* to be taken */
        std::deque<Message> copies;     /* to be copied */
        std::vector<std::uint8_t> idle; /* its last report */
        std::string answer;
    };

    Host(const System &system, Card::Frame frame) : system_(system)
    {
        const Loss loss{ming::loss::rate(), ming::loss::seed()};
        std::vector<std::pair<Socket, Socket>> links;
        for (std::size_t i = 0; i < system.links.size(); i++)
            links.push_back(Socket::pair());
        std::fflush(nullptr);
        for (std::size_t i = 0; i < system.cards.size(); i++)
            begin_card(i, links, loss, frame);
        for (auto &[from, to] : links) {
            from.close();
            to.close();
        }
    }

    void begin_card(std::size_t number, std::vector<std::pair<Socket, Socket>> &links, const Loss &loss,
                    Card::Frame frame)
    {
        auto [mine, its] = Socket::pair();
        const pid_t host = getpid(), pid = fork();
        if (pid < 0)
            throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
        if (pid > 0) {
            its.close();
            cards_.push_back({std::move(mine), pid, {}, {}, {}, {}});
            return;
        }
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
        if (getppid() != host)
            std::_Exit(EXIT_FAILURE);
        mine.close();
        for (Process &other : cards_)
            other.socket.close();
        Card card(system_, number, its);
        for (std::size_t i = 0; i < links.size(); i++) {
            const Link &link = system_.links[i];
            if (link.from == number)
                card.add_end(i, links[i].first, loss);
            else
                links[i].first.close();
            if (link.to == number)
                card.add_end(i, links[i].second, loss);
            else
                links[i].second.close();
        }
        card.run(frame);
    }

    Process &at(std::size_t unit, const std::string &port)
    {
        return cards_[system_.is_replicated ? unit : card_of(system_.ports, port)];
    }
    Process &at(const char *port) { return at(unit_, port); }

    std::vector<Socket *> sockets()
    {
        std::vector<Socket *> all;
        for (Process &one : cards_)
            all.push_back(&one.socket);
        return all;
    }

    const std::string &name_of(const Process &card) const
    {
        return system_.cards[static_cast<std::size_t>(&card - cards_.data())];
    }

    [[noreturn]] void fail(const std::string &what)
    {
        has_failed_ = true;
        throw std::runtime_error(what);
    }

    /* The next message of a card, while those of the others are kept. */
    Message wait_for(Process &card, MessageKind kind)
    {
        for (take_all(); card.messages.empty(); take_all()) {
            ask_if_idle(); /* all may have been idle before: then nothing comes any more */
            poll_sockets(sockets());
        }
        return take_front(card, kind);
    }

    void check_failed() const
    {
        if (has_failed_)
            throw std::runtime_error("the emulation has ended");
    }

    /* Messages that have come. */
    void take_all()
    {
        for (Process &one : cards_) {
            one.socket.flush();
            take_messages(one);
        }
    }

    /* What is waited for has not come: who waits where all do? */
    void ask_if_idle()
    {
        if (!is_asked_ && are_all_idle())
            ask();
    }

    /* The testbench has no memory between cards: a frame goes on as it comes. */
    void keep_copy(Process &card, Message copy)
    {
        if (is_copying_)
            send_copy(copy.header.count, copy.body);
        else
            card.copies.push_back(std::move(copy));
    }

    Message take_front(Process &card, MessageKind kind)
    {
        Message message = std::move(card.messages.front());
        card.messages.pop_front();
        if (message.header.kind != kind)
            fail("card " + name_of(card) + " sends what was not asked for");
        return message;
    }

    void take_messages(Process &card)
    {
        Message message;
        while (card.socket.receive(message)) {
            switch (message.header.kind) {
            case MessageKind::IDLE:
                card.idle = message.body;
                break;
            case MessageKind::ANSWER:
                answers_++;
                card.answer = message.text();
                if (answers_ == cards_.size())
                    fail_deadlocked();
                break;
            case MessageKind::COPY:
                keep_copy(card, std::move(message));
                break;
            case MessageKind::FAILURE:
                fail(name_of(card) + ": " + message.text());
            default:
                card.messages.push_back(std::move(message));
            }
        }
        if (card.socket.is_closed())
            fail_ended(card);
    }

    [[noreturn]] void fail_ended(Process &card)
    {
        int status = 0;
        waitpid(card.pid, &status, 0);
        card.pid = 0;
        fail("the process of card " + name_of(card) +
             (WIFSIGNALED(status) ? " ended by signal " + std::to_string(WTERMSIG(status))
                                  : " ended with status " + std::to_string(WEXITSTATUS(status))));
    }

    /* Whether no card has anything to do and no message is on its way: each reported so behind the
     * last message that it got, and nothing but a message ends that. */
    bool are_all_idle()
    {
        std::vector<std::array<std::uint64_t, 4>> links(system_.links.size());
        for (std::size_t i = 0; i < cards_.size(); i++) {
            if (cards_[i].idle.empty())
                return false;
            Message report;
            report.body = cards_[i].idle;
            if (report.take<std::uint64_t>() != cards_[i].socket.sent())
                return false;
            for (const std::size_t end : {0, 1}) /* senders stand first */
                for (std::size_t k = 0; k < links.size(); k++)
                    if ((end == 0 ? system_.links[k].from : system_.links[k].to) == i)
                        for (const std::size_t way : {0, 1})
                            links[k][2 * end + way] = report.take<std::uint64_t>();
        }
        return std::all_of(links.begin(), links.end(),
                           [](const auto &one) { return one[0] == one[3] && one[1] == one[2]; });
    }

    void ask()
    {
        is_asked_ = true;
        for (Process &card : cards_)
            card.socket.send(Message(MessageKind::ASK));
    }

    [[noreturn]] void fail_deadlocked()
    {
        std::string text;
        for (const Process &card : cards_)
            text += card.answer;
        if (!text.empty())
            text.pop_back();
        fail("deadlock:\n" + text);
    }

    /* Prints how long frames took. */
    void finish()
    {
        for (Process &card : cards_)
            card.socket.send(Message(MessageKind::END));
        std::vector<cosim::FrameTimes> all;
        for (std::size_t i = 0; i < cards_.size(); i++) {
            Message message = wait_for(cards_[i], MessageKind::TIMES);
            for (const Link &link : system_.links)
                if (link.from == i)
                    print_link(link, message);
            std::vector<cosim::FrameTimes> times;
            while (!message.is_taken())
                times.push_back(message.take<cosim::FrameTimes>());
            if (!system_.is_replicated)
                merge(all, times);
            else if (!times.empty())
                cosim::print_times(times, "emulate: " + system_.cards[i]);
        }
        if (!all.empty())
            cosim::print_times(all, "emulate");
    }

    static void print_link(const Link &link, Message &message)
    {
        const auto packets = message.take<std::uint64_t>(), losses = message.take<std::uint64_t>();
        if (link.is_copied())
            std::printf("emulate: link '%s': %llu frames copied\n", link.name.c_str(),
                        static_cast<unsigned long long>(packets));
        else
            std::printf("emulate: link '%s': %llu packets, %llu lost\n", link.name.c_str(),
                        static_cast<unsigned long long>(packets), static_cast<unsigned long long>(losses));
    }

    static void merge(std::vector<cosim::FrameTimes> &all, const std::vector<cosim::FrameTimes> &times)
    {
        if (all.empty())
            all.resize(times.size(), {INT64_MAX, 0, 0});
        for (std::size_t i = 0; i < std::min(all.size(), times.size()); i++) {
            all[i].begin = std::min(all[i].begin, times[i].begin);
            all[i].end = std::max(all[i].end, times[i].end);
            all[i].done = std::max(all[i].done, times[i].done);
        }
    }

    /* They end when their socket closes; those that failed, at once. */
    void end_cards()
    {
        for (Process &card : cards_) {
            card.socket.close();
            if (has_failed_ && card.pid > 0)
                kill(card.pid, SIGKILL);
        }
        for (Process &card : cards_)
            if (card.pid > 0)
                waitpid(card.pid, nullptr, 0);
    }

    const System &system_;
    std::vector<Process> cards_;
    std::size_t begun_ = 0, unit_ = 0, answers_ = 0;
    bool is_asked_ = false, has_failed_ = false;
    bool is_copying_ = true; /* between cards; else the program above does, by take_copy and send_copy */
};

/* --- what the region calls (cosim.awk) --------------------------------------------- */

template <class Word>
void bind_stream(hls::stream<Word> &stream, const char *name, int depth)
{
    stream.set_name(name);
    cosim::Fifo *fifo = cosim::Scheduler::the().bind(name, depth);
    if (depth > 0)
        Card::the()->join(stream, name, fifo);
}

/* A stream; what else may be an argument is none. */
template <class Stream>
auto bind(Stream &stream, const char *name, int depth) -> decltype(stream.set_name(name))
{
    bind_stream(stream, name, depth);
}
inline void bind(...) {}

inline void process(const char *name, const char *arguments, std::function<void()> body)
{
    if (Card::the()->has_process(name))
        cosim::process(name, arguments, std::move(body));
    else
        cosim::Scheduler::the().skip();
}

inline void run(const cosim::Plan &plan) { cosim::run(plan); }

} // namespace emulate

#endif
