/* Runs the processes of a dataflow region concurrently against FIFOs of their
 * real depths: what `make cosim` adds to the sources that csim runs. Each call
 * in the region becomes a fibre; one that reads an empty or writes a full
 * stream sleeps until the other end has moved. Blocking reads and writes make
 * the outcome independent of the order in which fibres run: when all sleep, the
 * hardware hangs too, and an error says who waits for what.
 * cosim.awk puts cosim::process and cosim::run into the top function.
 * Tested by test/csim. */
#ifndef MING_COSIM_H
#define MING_COSIM_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <ucontext.h>
#include <utility>
#include <vector>

namespace cosim {

/* A process with a stack of its own, and the stream that it sleeps for. */
struct Fibre {
    static constexpr std::size_t STACK_BYTES = std::size_t(1) << 20;

    std::string name, arguments, stream;
    std::function<void()> body;
    std::unique_ptr<char[]> stack;
    ucontext_t context;
    bool is_writing = false, is_done = false;
    bool is_listed = false; /* seen while a circle is looked for */

    bool has(const std::string &wanted) const
    {
        return (" " + arguments + " ").find(" " + wanted + " ") != std::string::npos;
    }
};

/* The fibres of one region. Those that can go on stand in a queue. */
class Scheduler {
public:
    static Scheduler &the()
    {
        static Scheduler scheduler;
        return scheduler;
    }

    void add(std::string name, std::string arguments, std::function<void()> body)
    {
        auto fibre = std::make_unique<Fibre>();
        fibre->name = std::move(name);
        fibre->arguments = std::move(arguments);
        fibre->body = std::move(body);
        ready_.push_back(fibre.get());
        fibres_.push_back(std::move(fibre));
    }

    /* Runs all fibres to their ends; throws when they wait for each other. */
    void run()
    {
        while (!ready_.empty()) {
            current_ = ready_.front();
            ready_.pop_front();
            if (!current_->stack)
                start(*current_);
            swapcontext(&main_, &current_->context);
            if (failure_)
                std::rethrow_exception(std::exchange(failure_, nullptr));
        }
        current_ = nullptr;
        const std::string why = describe_deadlock();
        fibres_.clear();
        if (!why.empty())
            throw std::runtime_error("deadlock: " + why);
    }

    Fibre *current() const { return current_; }

    /* Back to the scheduler until wake() is called for the current fibre. */
    void sleep(const std::string &stream, bool is_writing)
    {
        Fibre *self = current_;
        self->stream = stream;
        self->is_writing = is_writing;
        swapcontext(&self->context, &main_);
    }

    void wake(Fibre *fibre) { ready_.push_back(fibre); }

private:
    void start(Fibre &fibre)
    {
        fibre.stack = std::make_unique<char[]>(Fibre::STACK_BYTES);
        getcontext(&fibre.context);
        fibre.context.uc_stack.ss_sp = fibre.stack.get();
        fibre.context.uc_stack.ss_size = Fibre::STACK_BYTES;
        fibre.context.uc_link = &main_;
        makecontext(&fibre.context, &Scheduler::enter, 0);
    }

    static void enter()
    {
        Scheduler &self = the();
        Fibre *fibre = self.current_;
        try {
            fibre->body();
        } catch (...) {
            self.failure_ = std::current_exception();
        }
        fibre->is_done = true;
    }

    /* Who must move before the fibre can: the other process on its stream. */
    Fibre *other_end(const Fibre *fibre) const
    {
        for (const auto &one : fibres_)
            if (one.get() != fibre && one->has(fibre->stream))
                return one.get();
        return nullptr;
    }

    /* The circle of fibres that wait for each other; empty if all are done. */
    std::string describe_deadlock() const
    {
        Fibre *fibre = nullptr;
        for (const auto &one : fibres_)
            if (!one->is_done && !fibre)
                fibre = one.get();
        for (Fibre *next = fibre; next && !next->is_listed; next = other_end(next)) {
            fibre = next;
            fibre->is_listed = true;
        }
        const Fibre *next = fibre ? other_end(fibre) : nullptr;
        return fibre ? describe_circle(next && !next->is_done ? next : fibre) : std::string();
    }

    std::string describe_circle(const Fibre *first) const
    {
        std::string text;
        const Fibre *fibre = first;
        do {
            const Fibre *other = other_end(fibre);
            text += "\n  " + fibre->name + " waits to " + (fibre->is_writing ? "write" : "read") + " '" +
                    fibre->stream + "', which is " + (fibre->is_writing ? "full" : "empty") + "; " +
                    (other ? "it waits for " + other->name : "no process is at its other end");
            fibre = other && !other->is_done ? other : nullptr;
        } while (fibre && fibre != first);
        return text;
    }

    std::vector<std::unique_ptr<Fibre>> fibres_;
    std::deque<Fibre *> ready_;
    Fibre *current_ = nullptr;
    ucontext_t main_;
    std::exception_ptr failure_;
};

/* Streams of finite depth; one without a depth, a port, holds any amount. */
struct Bounded {
    /* Who sleeps at the stream. */
    struct State {
        Fibre *reader = nullptr, *writer = nullptr;
    };

    static std::size_t capacity(int depth)
    {
        return depth > 0 ? static_cast<std::size_t>(depth) : SIZE_MAX;
    }

    static void on_empty(const std::string &name, State &state)
    {
        state.reader = current(name);
        Scheduler::the().sleep(name, false);
    }

    static void on_full(const std::string &name, State &state)
    {
        state.writer = current(name);
        Scheduler::the().sleep(name, true);
    }

    static void on_read(State &state, std::size_t) { wake(state.writer); }
    static void on_write(State &state, std::size_t) { wake(state.reader); }

private:
    static void wake(Fibre *&sleeper)
    {
        if (sleeper)
            Scheduler::the().wake(std::exchange(sleeper, nullptr));
    }

    static Fibre *current(const std::string &name)
    {
        if (Fibre *fibre = Scheduler::the().current())
            return fibre;
        throw std::runtime_error("stream '" + name + "' blocks outside all processes");
    }
};

/* arguments: the names of the call's, separated by blanks. */
inline void process(const char *name, const char *arguments, std::function<void()> body)
{
    Scheduler::the().add(name, arguments, std::move(body));
}

inline void run() { Scheduler::the().run(); }

} // namespace cosim

#define HLS_STREAM_POLICY cosim::Bounded

#endif
