/* Time for ming_cosim.h. A process runs ahead of its own reads and writes, which
 * are put in the order of its pipeline and made one after the other at FIFOs of
 * real depth: in the cycle that the plan says, or when the last word or room that
 * it waits for has come, one cycle after that was made. The pipeline stands still
 * as a whole meanwhile. Where a loop rewinds, the last accesses of a frame lie behind
 * the first iterations of the next one, and wait until that begins or the run ends. So the order in which processes run is free, and nothing
 * can be made any more exactly where the hardware hangs.
 * Tested by test/csim and test/e2e/sizing_check.py. */
#ifndef MING_TIMELINE_H
#define MING_TIMELINE_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cosim {

/* Cycles before the first loop of a frame, and before the first iteration of a loop. */
constexpr std::int64_t PROCESS_START = 1, LOOP_START = 1;

/* --- what a process does in a frame ------------------------------------------ */

enum class Kind {
    LOOP,   /* pipelined; its iterations are marked */
    REWIND, /* the same, but those of the next frame follow without a gap */
    CODE,   /* so many cycles without reads and writes */
    REPEAT, /* the steps up to END, count times */
    END,    /* of the REPEAT at `match` */
    ONCE    /* up to `match` in the first frame only */
};

/* A read or write of an iteration, in that cycle of it. */
struct Access {
    std::size_t argument; /* of the process: the stream */
    std::int64_t cycle;
};

struct Step {
    Kind kind;
    std::int64_t count, ii, depth; /* iterations, cycles between them, cycles of one */
    std::size_t match;
    std::vector<Access> accesses;
};

/* A stream at the design's boundary: a word per cycle enters or leaves. */
struct Port {
    const char *name;
    std::int64_t words; /* a frame */
    bool is_input, is_once;
};

/* A stream between dies: its words and places take so many cycles. */
struct Crossing {
    const char *name;
    std::int64_t latency;
};

struct Plan {
    std::vector<Port> ports;
    std::vector<std::vector<Step>> processes; /* in the order of their calls */
    bool flushes = false; /* pipelines of the design, which stall here */
    std::vector<Crossing> crossings = {};
    std::int64_t hold = 0; /* cycles until frames begin: all tables are loaded before */
};

/* --- FIFOs ------------------------------------------------------------------- */

class Timeline;

/* When its words came and its places became free. */
struct Fifo {
    static constexpr std::int64_t PORT_DEPTH = 2;
    static constexpr std::int64_t LONG_AGO = INT64_MIN / 2; /* before any latency */

    std::string name;
    std::int64_t depth = 0;            /* 0: unbounded */
    std::int64_t latency = 1;          /* cycles that words and places take */
    bool is_outside = false;           /* a boundary without a plan: never blocks */
    std::deque<std::int64_t> words;    /* when each was written that is inside */
    std::deque<std::int64_t> places;   /* when each was freed that is empty */
    Timeline *reader = nullptr, *writer = nullptr, *waiting = nullptr;

    void set_depth(std::int64_t given)
    {
        depth = given;
        places.assign(static_cast<std::size_t>(depth), LONG_AGO);
    }

    bool allows(bool is_write) const { return is_write ? depth == 0 || !places.empty() : !words.empty(); }

    /* First cycle for the next word, which is allowed. */
    std::int64_t since(bool is_write) const
    {
        if (!is_write)
            return words.front() + latency;
        return depth > 0 ? places.front() + latency : 0;
    }

    void move(bool is_write, std::int64_t time)
    {
        (is_write ? words : places).push_back(time);
        if (!is_write)
            words.pop_front();
        else if (depth > 0)
            places.pop_front();
    }
};

/* --- processes --------------------------------------------------------------- */

/* A process's reads and writes, from the plan's order to their times. */
class Timeline {
public:
    std::string name;
    std::vector<std::int64_t> begins, ends; /* of frames: first access, last cycle + 1 */
    bool is_left_out = false; /* frames are not timed by it: a port that is read once, or it is on another card */

    /* steps: NULL where there is no plan, then an access takes a cycle. */
    void plan(const std::vector<Step> *steps, std::vector<Fifo *> arguments)
    {
        steps_ = steps;
        arguments_ = std::move(arguments);
    }

    void begin_frame()
    {
        in_loop_ = false;
        if (rewinds_)
            return;
        step_ = 0;
        clock_ += steps_ ? PROCESS_START : 0;
        known_ = clock_;
    }

    /* The next iteration of a pipelined loop begins. */
    void iterate()
    {
        if (!steps_)
            return;
        if (in_loop_ && ++iteration_ == step().count)
            leave_loop();
        if (!in_loop_)
            enter_loop();
        known_ = clock_ + iteration_ * step().ii;
        used_.assign(step().accesses.size(), false);
    }

    void access(Fifo *fifo, bool is_write)
    {
        if (fifo->is_outside)
            return;
        (is_write ? fifo->writer : fifo->reader) = this;
        if (!steps_) {
            insert({clock_, fifo, is_write});
            known_ = ++clock_;
            return;
        }
        for (std::size_t i = 0; in_loop_ && i < used_.size(); i++) {
            const Access &access = step().accesses[i];
            if (used_[i] || arguments_[access.argument] != fifo)
                continue;
            used_[i] = true;
            insert({known_ + access.cycle, fifo, is_write});
            return;
        }
        std::fprintf(stderr, "ERROR: %s accesses '%s' where its plan does not\n", name.c_str(), fifo->name.c_str());
        std::abort();
    }

    void end_frame()
    {
        if (in_loop_)
            leave_loop();
        frames_++;
        if (rewinds_) {
            insert({clock_ + step().depth - step().ii, nullptr, false});
            return;
        }
        while (steps_ && step_ < steps_->size())
            pass_step();
        insert({clock_, nullptr, false});
        known_ = clock_ + 1;
    }

    /* No other frame follows, for which the last words of a loop that rewinds would wait. */
    void finish()
    {
        is_finished_ = true;
        known_ = std::numeric_limits<std::int64_t>::max();
    }

    /* Whether it goes on with the next frame. */
    bool is_held() const { return rewinds_ && !is_finished_; }

    /* The frame of a port: a word per cycle. hold: cycles before the first one. */
    void pass_words(Fifo *fifo, bool is_write, std::int64_t words, std::int64_t hold)
    {
        (is_write ? fifo->writer : fifo->reader) = this;
        clock_ += frames_++ == 0 ? hold : 0;
        for (std::int64_t i = 0; i < words; i++)
            insert({clock_++, fifo, is_write});
        insert({clock_, nullptr, false});
        known_ = clock_ + 1;
    }

    std::size_t pending() const { return events_.size(); }

    /* What it waits for, or NULL. */
    const Fifo *blocked() const { return is_known() ? blocked_ : nullptr; }
    bool is_writing() const { return is_writing_; }

    /* Makes what is known and possible; those who waited for it go into `others`. */
    void advance(std::vector<Timeline *> &others)
    {
        while (is_known()) {
            std::size_t count = 0;
            std::int64_t time = events_.front().tick + stalled_;
            if (!events_.front().fifo) { /* which does not wait for what else the cycle has */
                make(events_.front(), time, others);
                events_.pop_front();
                continue;
            }
            for (; count < events_.size() && events_[count].tick == events_.front().tick && events_[count].fifo;
                 count++)
                if (!wait_for(events_[count], time))
                    return;
            stalled_ = time - events_.front().tick;
            for (; count > 0; count--) {
                make(events_.front(), time, others);
                events_.pop_front();
            }
        }
        blocked_ = nullptr;
    }

private:
    struct Event {
        std::int64_t tick; /* of the process's own clock */
        Fifo *fifo;        /* NULL: the end of the frame */
        bool is_write;
    };

    const Step &step() const { return (*steps_)[step_]; }
    bool is_known() const { return !events_.empty() && events_.front().tick < known_; }

    void insert(const Event &event)
    {
        std::size_t at = events_.size();
        while (at > 0 && events_[at - 1].tick > event.tick)
            at--;
        events_.insert(events_.begin() + static_cast<std::ptrdiff_t>(at), event);
    }

    void enter_loop()
    {
        while (step().kind != Kind::LOOP && step().kind != Kind::REWIND)
            pass_step();
        clock_ += rewinds_ ? 0 : LOOP_START;
        rewinds_ = step().kind == Kind::REWIND;
        iteration_ = 0;
        in_loop_ = true;
    }

    void leave_loop()
    {
        clock_ += rewinds_ ? step().count * step().ii : (step().count - 1) * step().ii + step().depth;
        known_ = clock_;
        step_ += rewinds_ ? 0 : 1;
        in_loop_ = false;
    }

    /* A step that is no loop, or a loop that does not run. */
    void pass_step()
    {
        switch (step().kind) {
        case Kind::CODE:
            clock_ += step().count;
            break;
        case Kind::REPEAT:
            left_[step_] = step().count;
            break;
        case Kind::END:
            if (--left_[step().match] > 0) {
                step_ = step().match + 1;
                return;
            }
            break;
        case Kind::ONCE:
            if (frames_ > 0) {
                step_ = step().match;
                return;
            }
            break;
        case Kind::LOOP:
        case Kind::REWIND:
            break;
        }
        step_++;
    }

    bool wait_for(const Event &event, std::int64_t &time)
    {
        if (!event.fifo->allows(event.is_write)) {
            blocked_ = event.fifo;
            is_writing_ = event.is_write;
            event.fifo->waiting = this;
            return false;
        }
        const std::int64_t since = event.fifo->since(event.is_write);
        time = since > time ? since : time;
        return true;
    }

    void make(const Event &event, std::int64_t time, std::vector<Timeline *> &others)
    {
        if (!event.fifo) {
            ends.push_back(time);
            is_begun_ = false;
            return;
        }
        if (!is_begun_)
            begins.push_back(time);
        is_begun_ = true;
        event.fifo->move(event.is_write, time);
        if (event.fifo->waiting && event.fifo->waiting != this)
            others.push_back(std::exchange(event.fifo->waiting, nullptr));
    }

    const std::vector<Step> *steps_ = nullptr;
    std::vector<Fifo *> arguments_;
    std::map<std::size_t, std::int64_t> left_; /* rounds to come, by REPEAT */
    std::vector<bool> used_;                   /* accesses of this iteration */
    std::deque<Event> events_;                 /* by tick; those before known_ are complete */
    std::int64_t clock_ = 0, known_ = 0, stalled_ = 0;
    std::int64_t iteration_ = 0, frames_ = 0;
    std::size_t step_ = 0;
    bool in_loop_ = false, is_begun_ = false, is_writing_ = false;
    bool rewinds_ = false, is_finished_ = false;
    Fifo *blocked_ = nullptr;
};

} // namespace cosim

#endif
