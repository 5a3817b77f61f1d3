/* `make emulate`: a process of the operating system for each card, or what an
 * accelerator has of one (ming_card.h), and the testbench as their host. A card runs the dataflow processes that are on it as
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

#include "ming_card.h"

#include <csignal>
#include <sys/wait.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace emulate {

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
        end_processes();
        if (has_failed_) {
            std::fflush(nullptr);
            std::_Exit(EXIT_FAILURE);
        }
    }

    void begin_frame(int frames)
    {
        unit_ = system_.is_replicated ? begun_ % units_.size() : 0;
        begun_++;
        for (std::size_t i = 0; i < units_.size(); i++)
            if (!system_.is_replicated || i == unit_)
                begin_unit(i, frames);
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

    /* The testbench has them in its first frame only; each card that has the port needs them. */
    template <class Word>
    void send_weights(const char *name, const ming::Port &port, hls::stream<Word> &stream)
    {
        if (!stream.empty()) {
            std::vector<std::uint8_t> &bytes = weights_[name];
            bytes.resize(port.frame_bytes());
            for (std::size_t w = 0; w < port.words(); w++)
                ming::tb::Carried<Word>::get(stream.read(), port, bytes, w);
        }
        if (loaded_.insert({unit_, name}).second)
            load_weights(unit_, name, weights_[name]);
    }

    void load_weights(std::size_t unit, const std::string &port, const std::vector<std::uint8_t> &bytes)
    {
        Message message(MessageKind::WEIGHTS);
        message.header.count = number_of(system_.ports, port);
        message.body = bytes;
        at(unit, port).socket.send(message);
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
     * unit: of replicas, the one that is meant, which is an accelerator; else any number */

    static Host &the();

    void begin_frames(std::size_t accelerator, int frames)
    {
        for (std::size_t i = 0; i < units_.size(); i++)
            if (system_.units[i].accelerator == accelerator)
                begin_unit(i, frames);
    }

    /* Where cards are stages, each is started for itself. */
    void begin_frames_on(std::size_t accelerator, std::size_t card, int frames)
    {
        for (std::size_t i = 0; i < units_.size(); i++)
            if (system_.units[i].accelerator == accelerator && system_.units[i].card == card)
                begin_unit(i, frames);
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
        units_[system_.links[link].to].socket.send(frame);
    }

    /* False: it has not come yet. */
    bool take_copy(std::size_t link, std::vector<std::uint8_t> &bytes)
    {
        Process &card = units_[system_.links[link].from];
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

    void begin_unit(std::size_t unit, int frames)
    {
        Message message(MessageKind::FRAME);
        message.header.count = static_cast<std::uint32_t>(frames);
        units_[unit].socket.send(message);
    }

    Host(const System &system, Card::Frame frame) : system_(system)
    {
        const Loss loss{ming::loss::rate(), ming::loss::seed()};
        std::vector<std::pair<Socket, Socket>> links;
        for (std::size_t i = 0; i < system.links.size(); i++)
            links.push_back(Socket::pair());
        std::fflush(nullptr);
        for (std::size_t i = 0; i < system.units.size(); i++)
            begin_process(i, links, loss, frame);
        for (auto &[from, to] : links) {
            from.close();
            to.close();
        }
    }

    void begin_process(std::size_t number, std::vector<std::pair<Socket, Socket>> &links, const Loss &loss,
                    Card::Frame frame)
    {
        auto [mine, its] = Socket::pair();
        const pid_t host = getpid(), pid = fork();
        if (pid < 0)
            throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
        if (pid > 0) {
            its.close();
            units_.push_back({std::move(mine), pid, {}, {}, {}, {}});
            return;
        }
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
        if (getppid() != host)
            std::_Exit(EXIT_FAILURE);
        mine.close();
        for (Process &other : units_)
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
        return units_[system_.is_replicated ? unit : unit_of(system_.ports, port)];
    }
    Process &at(const char *port) { return at(unit_, port); }

    std::vector<Socket *> sockets()
    {
        std::vector<Socket *> all;
        for (Process &one : units_)
            all.push_back(&one.socket);
        return all;
    }

    const std::string &name_of(const Process &card) const
    {
        return system_.units[static_cast<std::size_t>(&card - units_.data())].name;
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
        for (Process &one : units_) {
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
                if (answers_ == units_.size())
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
        for (std::size_t i = 0; i < units_.size(); i++) {
            if (units_[i].idle.empty())
                return false;
            Message report;
            report.body = units_[i].idle;
            if (report.take<std::uint64_t>() != units_[i].socket.sent())
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
        for (Process &card : units_)
            card.socket.send(Message(MessageKind::ASK));
    }

    [[noreturn]] void fail_deadlocked()
    {
        std::string text;
        for (const Process &card : units_)
            text += card.answer;
        if (!text.empty())
            text.pop_back();
        fail("deadlock:\n" + text);
    }

    /* Prints how long frames took. */
    void finish()
    {
        for (Process &card : units_)
            card.socket.send(Message(MessageKind::END));
        std::vector<std::pair<std::string, std::vector<cosim::FrameTimes>>> all; /* by what they are called */
        for (std::size_t i = 0; i < units_.size(); i++) {
            Message message = wait_for(units_[i], MessageKind::TIMES);
            for (const Link &link : system_.links)
                if (link.from == i)
                    print_link(link, message);
            std::vector<cosim::FrameTimes> times;
            while (!message.is_taken())
                times.push_back(message.take<cosim::FrameTimes>());
            const std::string name = who(system_.units[i]);
            auto at = std::find_if(all.begin(), all.end(), [&](const auto &one) { return one.first == name; });
            if (at == all.end())
                at = all.insert(at, {name, {}});
            merge(at->second, times);
        }
        for (const auto &[name, times] : all)
            if (!times.empty())
                cosim::print_times(times, name);
    }

    /* The testbench gives a frame to all accelerators that cards share, the same turn. */
    std::string who(const Unit &unit) const
    {
        if (system_.is_replicated)
            return "emulate: " + unit.name;
        const bool is_only = begun_ > 0 || std::all_of(system_.units.begin(), system_.units.end(),
                                                       [](const Unit &one) { return one.accelerator == 0; });
        return is_only ? "emulate" : "emulate: instance " + std::to_string(unit.accelerator);
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
    void end_processes()
    {
        for (Process &card : units_) {
            card.socket.close();
            if (has_failed_ && card.pid > 0)
                kill(card.pid, SIGKILL);
        }
        for (Process &card : units_)
            if (card.pid > 0)
                waitpid(card.pid, nullptr, 0);
    }

    const System &system_;
    std::vector<Process> units_;
    std::map<std::string, std::vector<std::uint8_t>> weights_; /* of ports, as the testbench has them */
    std::set<std::pair<std::size_t, std::string>> loaded_;     /* units and ports */
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
