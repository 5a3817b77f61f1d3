/* Runs the processes of a dataflow region concurrently against FIFOs of their
 * real depths: what `make cosim` adds to the sources that csim runs. Each call
 * in the region becomes a fibre; one that needs a word sleeps until it is there.
 * Its reads and writes are made in the order and cycles of the plan that the
 * design came with, at FIFOs of the pragmas' depths (ming_timeline.h); when none
 * can be made any more, the hardware hangs too, and an error says who waits for
 * what. At the end, the latency and the interval of the frames are printed.
 * The environment's MING_DEPTHS ("name=2 other=0", 0: unbounded) replaces depths,
 * and MING_FIFO_LATENCY the cycle that FIFOs between processes take.
 * cosim.awk puts the calls of this header into the sources.
 * Tested by test/csim and test/e2e/sizing_check.py. */
#ifndef MING_COSIM_H
#define MING_COSIM_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ming_coroutine.h"
#include "ming_timeline.h"

namespace cosim {

/* A process with a stack of its own, and the stream that it sleeps for. */
struct Fibre {
    explicit Fibre(std::function<void()> body) : routine(std::move(body)) {}

    std::string name;
    std::vector<std::string> arguments;
    std::size_t number; /* of its call in the region; NO_CALL: it takes no time, as ends of links */
    csim::Coroutine routine;
    Timeline *timeline = nullptr; /* NULL without a call */
    Fifo *empty = nullptr;        /* what it sleeps for */
    bool is_listed = false;       /* seen while a circle is looked for */
};

constexpr std::size_t NO_CALL = SIZE_MAX;

/* Other cards (ming_emulate.h). */
struct Outside {
    virtual ~Outside() = default;
    virtual bool has_port(const std::string &name) const = 0; /* whether it is on this card */
    virtual void flush() = 0; /* gives them what was made for them */
    virtual void wait() = 0;  /* until something came from them, which has been made */
};

/* A process that cannot go on. */
struct Waiting {
    std::string process, stream;
    bool is_writing;
};

/* When a frame entered, left, and all was done; INT64_MAX and 0 where that was on another card. */
struct FrameTimes {
    std::int64_t begin, end, done;
};

inline void print_times(const std::vector<FrameTimes> &frames, const std::string &who)
{
    std::printf("%s: latency of the first frame: %lld cycles\n", who.c_str(),
                static_cast<long long>(std::max(frames[0].end - frames[0].begin, std::int64_t(0))));
    if (frames.size() > 1)
        std::printf("%s: interval between the last two frames: %lld cycles\n", who.c_str(),
                    static_cast<long long>(frames.back().done - frames[frames.size() - 2].done));
}

/* All FIFOs and timelines, which outlive a frame; the fibres of one frame. Those
 * that can go on stand in a queue. */
class Scheduler {
public:
    static Scheduler &the()
    {
        static Scheduler scheduler;
        return scheduler;
    }

    ~Scheduler()
    {
        finish();
        const std::string why = plan_ ? describe_deadlock() : std::string();
        if (!why.empty()) {
            std::fprintf(stderr, "error: deadlock: %s\n", why.c_str());
            std::fflush(nullptr);
            std::_Exit(EXIT_FAILURE);
        }
        if (plan_ && plan_->flushes)
            std::puts("cosim: pipelines of the design flush; here they stall, so it is no later");
        const std::vector<FrameTimes> frames = times();
        if (!frames.empty())
            print_times(frames, "cosim");
    }

    void set_outside(Outside *outside) { outside_ = outside; }

    /* No other frame follows. */
    void finish()
    {
        for (const auto &one : timelines_)
            one->finish();
        for (const auto &one : timelines_)
            advance(one.get());
    }

    /* A stream of the region under the name that it has there; depth 0: a port. */
    Fifo *bind(const std::string &name, std::int64_t depth)
    {
        auto [at, is_new] = fifos_.try_emplace(name);
        Fifo &fifo = at->second;
        if (is_new) {
            fifo.name = name;
            fifo.is_outside = depth == 0;
            fifo.set_depth(given_depth(name, depth));
            fifo.latency = depth == 0 ? 1 : given_latency();
        }
        return &fifo;
    }

    /* A call of the region that is on another card. */
    void skip()
    {
        begin_calls();
        calls_++;
    }

    void add(std::string name, const std::string &arguments, std::function<void()> body, bool is_call = true)
    {
        begin_calls();
        auto fibre = std::make_unique<Fibre>([this, body = std::move(body)] { run_frame(body); });
        std::istringstream words(arguments);
        for (std::string word; words >> word;)
            fibre->arguments.push_back(word);
        fibre->name = std::move(name);
        fibre->number = is_call ? calls_++ : NO_CALL;
        ready_.push_back(fibre.get());
        fibres_.push_back(std::move(fibre));
    }

    /* Runs a frame: all fibres to their ends; throws when processes wait for each other. */
    void run(const Plan *plan)
    {
        begin_frame(plan);
        run_ready();
        while (outside_ && !are_done()) {
            outside_->wait();
            run_ready();
        }
        is_over_ = true;
        const std::string why = outside_ ? std::string() : describe_deadlock();
        if (!why.empty()) {
            plan_ = nullptr;
            throw std::runtime_error("deadlock: " + why);
        }
    }

    /* NULL outside all processes. */
    Fibre *current() const { return current_; }

    void access(Fifo *fifo, bool is_write)
    {
        enum { MAX_AHEAD = 1 << 16 };
        Timeline *timeline = current_->timeline;
        if (!timeline)
            return;
        timeline->access(fifo, is_write);
        if (timeline->pending() > 0 && timeline->pending() % MAX_AHEAD == 0) {
            ready_.push_back(current_); /* the others' turn */
            current_->routine.leave();
        }
    }

    /* Back to the scheduler until wake() is called for the current fibre. */
    void sleep(Fifo *fifo)
    {
        current_->empty = fifo;
        current_->routine.leave();
    }

    void wake(Fibre *fibre)
    {
        fibre->empty = nullptr;
        ready_.push_back(fibre);
    }

    /* Words or places of the FIFO have come from elsewhere. */
    void moved(Fifo *fifo) { advance(std::exchange(fifo->waiting, nullptr)); }

    /* Whether all reads and writes have been made, once no frame follows. */
    bool is_made() const
    {
        return std::all_of(timelines_.begin(), timelines_.end(), [](const auto &one) { return one->pending() == 0; });
    }

    std::vector<Waiting> waiting() const
    {
        std::vector<Waiting> all;
        for (const auto &one : fibres_)
            if (awaited(one.get()))
                all.push_back({one->name, awaited(one.get())->name, is_writing(one.get())});
        return all;
    }

    /* Of the frames that all processes here are done with. */
    std::vector<FrameTimes> times() const
    {
        std::size_t frames = SIZE_MAX;
        for (const auto &one : timelines_)
            frames = one->is_left_out ? frames : std::min(frames, one->ends.size());
        std::vector<FrameTimes> all(plan_ && frames != SIZE_MAX ? frames : 0);
        for (std::size_t i = 0; i < all.size(); i++) {
            const auto [begin, end] = bounds(i);
            all[i] = {begin, end, done(i)};
        }
        return all;
    }

private:
    static std::int64_t given_depth(const std::string &name, std::int64_t depth)
    {
        const char *given = std::getenv("MING_DEPTHS");
        std::istringstream items(given ? given : "");
        for (std::string item; items >> item;)
            if (item.compare(0, name.size() + 1, name + "=") == 0)
                depth = std::strtoll(item.c_str() + name.size() + 1, nullptr, 10);
        return depth;
    }

    static std::int64_t given_latency()
    {
        const char *given = std::getenv("MING_FIFO_LATENCY");
        return given ? std::strtoll(given, nullptr, 10) : 1;
    }

    /* On another card. */
    bool is_elsewhere(const Port &port) const { return outside_ && !outside_->has_port(port.name); }

    void begin_calls()
    {
        if (!is_over_)
            return;
        fibres_.clear();
        calls_ = 0;
        is_over_ = false;
    }

    void run_ready()
    {
        while (!ready_.empty()) {
            current_ = ready_.front();
            ready_.pop_front();
            current_->routine.resume();
            advance(current_->timeline);
            if (outside_)
                outside_->flush();
        }
        current_ = nullptr;
    }

    bool are_done() const
    {
        return std::all_of(fibres_.begin(), fibres_.end(), [](const auto &one) { return one->routine.is_done(); });
    }

    /* The current fibre's part of a frame. */
    void run_frame(const std::function<void()> &body)
    {
        Timeline *timeline = current_->timeline;
        if (timeline)
            timeline->begin_frame();
        body();
        if (timeline)
            timeline->end_frame();
    }

    /* first: may be NULL */
    void advance(Timeline *first)
    {
        std::vector<Timeline *> todo(first ? 1 : 0, first);
        while (!todo.empty()) {
            Timeline *timeline = todo.back();
            todo.pop_back();
            timeline->advance(todo);
        }
    }

    /* Timelines of the calls, in their order, then those of the ports. */
    void begin_frame(const Plan *plan)
    {
        if (timelines_.empty())
            make_timelines(plan);
        for (const auto &fibre : fibres_)
            fibre->timeline = fibre->number == NO_CALL ? nullptr : timelines_[fibre->number].get();
        for (std::size_t i = 0; plan && i < plan->ports.size(); i++) {
            const Port &port = plan->ports[i];
            Timeline *world = timelines_[calls_ + i].get();
            if (is_elsewhere(port))
                continue;
            if (!port.is_once || world->ends.empty())
                world->pass_words(bind(port.name, 0), port.is_input, port.words,
                                  port.is_input && !port.is_once ? plan->hold : 0);
            advance(world);
        }
    }

    void make_timelines(const Plan *plan)
    {
        plan_ = plan;
        for (std::size_t i = 0; i < calls_; i++) {
            timelines_.push_back(std::make_unique<Timeline>());
            timelines_.back()->is_left_out = true; /* until it is found among those here */
        }
        for (const auto &fibre : fibres_) {
            if (fibre->number == NO_CALL)
                continue;
            std::vector<Fifo *> arguments;
            for (const std::string &name : fibre->arguments) {
                const auto fifo = fifos_.find(name);
                arguments.push_back(fifo == fifos_.end() ? nullptr : &fifo->second);
            }
            Timeline &timeline = *timelines_[fibre->number];
            timeline.name = fibre->name;
            timeline.is_left_out = false;
            timeline.plan(plan ? &plan->processes[fibre->number] : nullptr, std::move(arguments));
        }
        for (std::size_t i = 0; plan && i < plan->crossings.size(); i++)
            fifos_[plan->crossings[i].name].latency = plan->crossings[i].latency + given_latency() - 1;
        for (std::size_t i = 0; plan && i < plan->ports.size(); i++) {
            Fifo *fifo = bind(plan->ports[i].name, 0);
            fifo->is_outside = false;
            fifo->set_depth(Fifo::PORT_DEPTH);
            timelines_.push_back(std::make_unique<Timeline>());
            timelines_.back()->name = plan->ports[i].name;
            timelines_.back()->is_left_out = plan->ports[i].is_once || is_elsewhere(plan->ports[i]);
        }
    }

    /* --- deadlocks --- */

    static const Fifo *awaited(const Fibre *fibre)
    {
        const Fifo *fifo = fibre->timeline ? fibre->timeline->blocked() : nullptr;
        return fifo ? fifo : fibre->empty;
    }

    static bool is_writing(const Fibre *fibre)
    {
        return fibre->timeline && fibre->timeline->blocked() && fibre->timeline->is_writing();
    }

    /* Who must move before the fibre can: the other process on its stream. */
    Fibre *other_end(const Fibre *fibre) const
    {
        const Fifo *fifo = awaited(fibre);
        for (const auto &one : fibres_)
            if (fifo && one.get() != fibre &&
                std::count(one->arguments.begin(), one->arguments.end(), fifo->name) > 0)
                return one.get();
        return nullptr;
    }

    /* Whether what it waits for, in the end, comes with the next frame. */
    bool is_held(const Fibre *fibre) const
    {
        std::size_t steps = 0;
        while (fibre && awaited(fibre) && steps++ < fibres_.size())
            fibre = other_end(fibre);
        return fibre && !awaited(fibre) && fibre->timeline->is_held();
    }

    /* The circle of processes that wait for each other; empty if all are done. */
    std::string describe_deadlock() const
    {
        Fibre *fibre = nullptr;
        for (const auto &one : fibres_)
            if (awaited(one.get()) && !is_held(one.get()) && !fibre)
                fibre = one.get();
        for (Fibre *next = fibre; next && !next->is_listed; next = other_end(next)) {
            fibre = next;
            fibre->is_listed = true;
        }
        const Fibre *next = fibre ? other_end(fibre) : nullptr;
        return fibre ? describe_circle(next && awaited(next) ? next : fibre) : std::string();
    }

    std::string describe_circle(const Fibre *first) const
    {
        std::string text;
        const Fibre *fibre = first;
        do {
            const Fibre *other = other_end(fibre);
            const bool writes = is_writing(fibre);
            text += "\n  " + fibre->name + " waits to " + (writes ? "write" : "read") + " '" +
                    awaited(fibre)->name + "', which is " + (writes ? "full" : "empty") + "; " +
                    (other ? "it waits for " + other->name : "no process is at its other end");
            fibre = other && awaited(other) ? other : nullptr;
        } while (fibre && fibre != first);
        return text;
    }

    /* --- times --- */

    /* Of a frame: its first word in and its last word out; of a design without
     * streams at its boundary, the first and last cycle of its processes. */
    std::pair<std::int64_t, std::int64_t> bounds(std::size_t frame) const
    {
        const std::size_t calls = plan_->processes.size();
        bool enters[2] = {false, false};
        std::int64_t begin = INT64_MAX, end = 0;
        for (const Port &port : plan_->ports)
            enters[port.is_input] |= !port.is_input || !port.is_once;
        for (std::size_t i = 0; i < timelines_.size(); i++) {
            const Timeline &one = *timelines_[i];
            const bool is_input = i >= calls && plan_->ports[i - calls].is_input;
            const bool is_output = i >= calls && !is_input;
            if (one.is_left_out)
                continue;
            if (enters[1] ? is_input : i < calls)
                begin = std::min(begin, enters[1] ? one.begins[frame]
                                 : frame    ? one.ends[frame - 1]
                                            : plan_->hold);
            if (enters[0] ? is_output : i < calls)
                end = std::max(end, one.ends[frame]);
        }
        return {begin, end};
    }

    /* When all processes are done with a frame. */
    std::int64_t done(std::size_t frame) const
    {
        std::int64_t end = 0;
        for (const auto &one : timelines_)
            end = one->is_left_out ? end : std::max(end, one->ends[frame]);
        return end;
    }

    std::map<std::string, Fifo> fifos_;
    std::vector<std::unique_ptr<Timeline>> timelines_;
    std::vector<std::unique_ptr<Fibre>> fibres_;
    std::deque<Fibre *> ready_;
    std::size_t calls_ = 0; /* of the region */
    const Plan *plan_ = nullptr;
    Outside *outside_ = nullptr;
    Fibre *current_ = nullptr;
    bool is_over_ = false; /* the frame that the fibres ran */
};

/* Streams whose words wait as long as it takes; the FIFO knows when they move. */
struct Bounded {
    struct State {
        Fifo *fifo = nullptr;
        Fibre *reader = nullptr; /* asleep */
    };

    static std::size_t capacity(int /*depth*/) { return SIZE_MAX; }

    static void on_empty(const std::string &name, State &state)
    {
        state.reader = Scheduler::the().current();
        if (!state.reader)
            throw std::runtime_error("stream '" + name + "' is read while empty, outside all processes");
        Scheduler::the().sleep(find(name, state));
    }

    static void on_full(const std::string & /*name*/, State &) {}
    static void on_read(const std::string &name, State &state, std::size_t) { access(name, state, false); }

    static void on_write(const std::string &name, State &state, std::size_t)
    {
        if (state.reader)
            Scheduler::the().wake(std::exchange(state.reader, nullptr));
        access(name, state, true);
    }

private:
    static Fifo *find(const std::string &name, State &state)
    {
        if (!state.fifo)
            state.fifo = Scheduler::the().bind(name, 0);
        return state.fifo;
    }

    static void access(const std::string &name, State &state, bool is_write)
    {
        if (Scheduler::the().current())
            Scheduler::the().access(find(name, state), is_write);
    }
};

/* A stream of the region and its depth; what else may be an argument is none. */
template <class Stream>
auto bind(Stream &stream, const char *name, int depth) -> decltype(stream.set_name(name))
{
    stream.set_name(name);
    Scheduler::the().bind(name, depth);
}
inline void bind(...) {}

/* arguments: the names of the call's, separated by blanks. */
inline void process(const char *name, const char *arguments, std::function<void()> body)
{
    Scheduler::the().add(name, arguments, std::move(body));
}

/* An iteration of a pipelined loop begins. */
inline void iterate()
{
    Fibre *fibre = Scheduler::the().current();
    if (fibre && fibre->timeline)
        fibre->timeline->iterate();
}

inline void run() { Scheduler::the().run(nullptr); }
inline void run(const Plan &plan) { Scheduler::the().run(&plan); }

} // namespace cosim

#define HLS_STREAM_POLICY cosim::Bounded

#endif
