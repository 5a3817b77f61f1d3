/* Runs the processes of a dataflow region beside each other in C simulation, where they wait for
 * each other in circles, so that calling one after the other would not do. Each is a fibre: one that
 * finds a stream empty or full sleeps until it is not. A process that polls its streams says in each
 * iteration that it did (WAIT_FOR_OTHERS). If nobody can go on, an error says who waits for what.
 * Streams whose type has no depth hold CAPACITY elements. No cycles are counted.
 * Each thread has fibres of its own. Included in front of everything else (-include), where it defines
 * what engine.h leaves empty.
 * Tested by test/e2e/engine_csim_check.py. */
#ifndef MING_FIBRES_H
#define MING_FIBRES_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ming_coroutine.h"

namespace fibres {

struct Fibre {
    Fibre(const char *process, std::function<void()> body) : name(process), routine(std::move(body)) {}

    const char *name;
    csim::Coroutine routine;
    std::string awaited; /* the stream that it sleeps for */
    bool is_writing = false, is_asleep = false;
    std::uint64_t seen = 0; /* moves when it last said that it polls */
    unsigned idle = 0;      /* times that it has said so in vain */
};

class Scheduler {
public:
    static Scheduler &the()
    {
        static thread_local Scheduler scheduler;
        return scheduler;
    }

    void add(const char *name, std::function<void()> body)
    {
        fibres_.push_back(std::make_unique<Fibre>(name, std::move(body)));
    }

    /* All fibres to their ends. */
    void run()
    {
        enum { VAIN_ROUNDS = 3 };
        unsigned vain = 0;
        while (!are_done()) {
            const std::uint64_t before = moves_;
            for (const auto &fibre : fibres_)
                if (!fibre->routine.is_done() && !fibre->is_asleep)
                    resume(*fibre);
            vain = moves_ == before ? vain + 1 : 0;
            if (vain == VAIN_ROUNDS)
                throw std::runtime_error("deadlock:" + who_waits());
        }
        fibres_.clear();
    }

    Fibre *sleep(const std::string &stream, bool is_writing)
    {
        if (!current_)
            throw std::runtime_error("stream '" + stream + "' blocks outside of all processes");
        current_->awaited = stream;
        current_->is_writing = is_writing;
        current_->is_asleep = true;
        return current_;
    }

    /* Back to the scheduler, until its turn comes again. */
    void leave() { current_->routine.leave(); }

    void wake(Fibre *&fibre)
    {
        if (fibre)
            fibre->is_asleep = false;
        fibre = nullptr;
    }

    void move() { own_moves_++, moves_++; }

    void poll()
    {
        enum { MOST_IDLE = 2 };
        if (own_moves_ != current_->seen)
            current_->idle = 0;
        current_->seen = own_moves_;
        if (++current_->idle > MOST_IDLE)
            leave();
    }

private:
    bool are_done() const
    {
        for (const auto &fibre : fibres_)
            if (!fibre->routine.is_done())
                return false;
        return true;
    }

    void resume(Fibre &fibre)
    {
        current_ = &fibre;
        own_moves_ = fibre.seen;
        fibre.routine.resume();
        current_ = nullptr;
        moves_ += fibre.routine.is_done();
    }

    std::string who_waits() const
    {
        std::string text;
        for (const auto &fibre : fibres_)
            if (fibre->is_asleep)
                text += std::string("\n  ") + fibre->name + " waits to " +
                        (fibre->is_writing ? "write" : "read") + " '" + fibre->awaited + "'";
        return text;
    }

    std::vector<std::unique_ptr<Fibre>> fibres_;
    Fibre *current_ = nullptr;
    std::uint64_t moves_ = 0, own_moves_ = 0; /* of all streams' elements; of the current fibre */
};

struct Bounded {
    struct State {
        Fibre *reader = nullptr, *writer = nullptr; /* asleep */
    };

    static constexpr std::size_t CAPACITY = 1024;
    static constexpr std::size_t capacity(int depth) { return depth > 0 ? std::size_t(depth) : CAPACITY; }

    static void on_empty(const std::string &name, State &state)
    {
        state.reader = Scheduler::the().sleep(name, false);
        Scheduler::the().leave();
    }
    static void on_full(const std::string &name, State &state)
    {
        state.writer = Scheduler::the().sleep(name, true);
        Scheduler::the().leave();
    }
    static void on_read(const std::string &, State &state, std::size_t)
    {
        Scheduler::the().wake(state.writer);
        Scheduler::the().move();
    }
    static void on_write(const std::string &, State &state, std::size_t)
    {
        Scheduler::the().wake(state.reader);
        Scheduler::the().move();
    }
};

} // namespace fibres

/* A memory that keeps what it holds, one for each thread: too large for a thread's own storage. */
#define ENGINE_MEMORY(TYPE, NAME, EXTENTS)                                                                \
    struct NAME##_memory {                                                                                \
        TYPE all EXTENTS;                                                                                 \
    };                                                                                                    \
    static thread_local const std::unique_ptr<NAME##_memory> NAME##_owner(new NAME##_memory());           \
    auto &NAME = NAME##_owner->all

#define HLS_STREAM_POLICY fibres::Bounded
#define PROCESS(FUNCTION, ...) fibres::Scheduler::the().add(#FUNCTION, [&] { FUNCTION(__VA_ARGS__); })
#define RUN_PROCESSES() fibres::Scheduler::the().run()
#define WAIT_FOR_OTHERS() fibres::Scheduler::the().poll()

#endif
