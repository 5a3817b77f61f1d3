/* Simulation of an emithls design (sim/design), exact to the cycle.
 *
 *   timing_*.c, flushing.c, period.c
 *                      when each process reads and writes    ─▶ report.c, trace*.c, deadlock.c
 *   functional_sim.c   what it computes, run by a hook of the timing simulation
 *
 * The two are separate because reads block, so values do not depend on timing, and because no
 * access of a design depends on values (sim/design). A simulation borrows its design, which must
 * outlive it; what a _create function returns is the caller's, to be freed by the _free function
 * beside it.
 * Times are clock cycles from the start of the simulation, depths and levels are words.
 * target/fifo and the command `ming sim` build on it. docs/simulation.md states the model.
 * Tests: test/unit/sim/hls, lit/sim/hls, test/e2e/sizing_check.py */
#ifndef MING_SIM_HLS_HLS_H
#define MING_SIM_HLS_HLS_H

#include "ir/attr/attr.h"
#include "ir/support/support.h"
#include "sim/design/design.h"

/* FIFOs, as the times of their writes and reads. A word written in cycle w can be read from cycle
 * w + 1 on; the place it leaves in cycle r can be written from cycle r + 1 on; both later if a
 * perturbation says so. The word is inside in the cycles w + 1 to r. Times are added in order at either end, but the ends need not be in
 * step, since one process may be simulated further ahead than the other.
 * Tests: test/unit/sim/hls/fifo_test.c */

/* The times of one end of a FIFO. Only the last ones are kept. */
typedef struct HlsTimes {
    int64_t *times; /* ring */
    int64_t mask;   /* its size - 1 */
    int64_t count;  /* all that were added */
    int64_t merged; /* those that the level has seen */
} HlsTimes;

typedef struct HlsFifo {
    int64_t depth; /* 0: unbounded */
    int64_t late;  /* cycles beyond one that words and places take */
    HlsTimes writes, reads;
    int64_t level; /* words inside after the merged events */
    int64_t max_level;
    int64_t needed;      /* least depth with which the same times are possible, given that a place
                           that is freed in a cycle is not written in the same cycle */
    int64_t word_cycles; /* sum over words of the cycles they were inside */
    int64_t full_cycles, empty_cycles;
    void (*watch)(void *user, int64_t time, int64_t level); /* after each change; NULL: nobody */
    void *user;
} HlsFifo;

/* depth: words, 0 for unbounded. */
void hls_sim_fifo_init(HlsFifo *fifo, int64_t depth);
void hls_sim_fifo_free(HlsFifo *fifo);

enum { HLS_UNKNOWN = -1 };
/* First cycle in which the next word can be read or written; HLS_UNKNOWN: the other end has not
 * come that far. */
static inline int64_t hls_fifo_readable(const HlsFifo *f)
{
    if (f->reads.count >= f->writes.count) return HLS_UNKNOWN;
    return f->writes.times[f->reads.count & f->writes.mask] + 1 + f->late;
}

static inline int64_t hls_fifo_writable(const HlsFifo *f)
{
    int64_t freed = f->writes.count - f->depth;
    if (f->depth == 0 || freed < 0) return 0;
    return freed < f->reads.count ? f->reads.times[freed & f->reads.mask] + 1 + f->late
                                  : HLS_UNKNOWN;
}

/* Adds the time of the next write or read: no earlier than the one before, and no earlier than
 * hls_fifo_writable or hls_fifo_readable says. */
void hls_sim_fifo_write(HlsFifo *fifo, int64_t time);
void hls_sim_fifo_read(HlsFifo *fifo, int64_t time);
/* Follows the level up to the cycle that both ends have reached. */
void hls_sim_fifo_merge(HlsFifo *fifo);
/* Follows the level to the last event; no more events may be added. */
void hls_sim_fifo_finish(HlsFifo *fifo);

/* Timing simulation. A process is a local clock that runs through its loops and stands still, as a
 * whole, while a read finds its FIFO empty or a write finds it full (a pipeline that stalls, the
 * default of HLS tools); in a pipeline that flushes only for the iterations behind (flushing.c).
 * Everything follows from
 *
 *   time of an event = max(time of the event before + cycles between them,
 *                          write of the word + 1, read that makes room + 1)
 *
 * so the order in which processes are simulated does not matter: each runs ahead as far as the
 * times at its FIFOs are known. Frames follow each other without a gap; a process begins the next
 * one when its pipeline has run empty, or, if it rewinds, behind the last iteration. Then the last
 * words of a frame move on with the first iterations of the next one, and wait for what those wait
 * for, unless no other frame is started.
 * Tests: lit/sim, test/e2e/sizing_check.py */

typedef enum HlsState {
    HLS_BUSY,   /* the clock runs */
    HLS_INPUT,  /* it stands: a FIFO is empty */
    HLS_OUTPUT, /* it stands: a FIFO is full */
    HLS_IDLE,   /* no iteration of the frame has read or written yet, or it is done */
    HLS_STATE_COUNT
} HlsState;

/* Callbacks of a simulation; members may be NULL. */
typedef struct HlsHooks {
    void *user;
    /* The words of a loop's iterations before `until`, counted from the first frame on, have been
     * read. False: diagnosed, ends the simulation. */
    bool (*values)(void *user, uint32_t process, uint32_t loop, int64_t until);
    void (*state)(void *user, uint32_t process, HlsState state, int64_t from, int64_t to);
    void (*level)(void *user, uint32_t stream, int64_t time, int64_t level);
    void (*progress)(void *user, int64_t frames, int64_t cycle); /* now and then */
} HlsHooks;

enum { HLS_FULL_RATE = 1000000 };
typedef struct HlsSimOptions {
    int64_t input_rate, output_rate; /* of the ports, in words per million cycles; 0: full */
    int64_t input_interval;          /* inputs give a frame evenly in so many cycles, and processes
                                        without inputs begin one; then pipelines have to stall;
                                        0: by rate */
    bool drains;                     /* processes run empty after each frame, also if they rewind */
    bool stalls;                     /* pipelines stall, also those that flush */
    bool is_random;                  /* the ports pause at random, by seed */
    uint64_t seed;
    int64_t max_events;    /* reads and writes after which the simulation stops; 0: no limit */
    const int64_t *depths; /* of each stream, in place of the design's; borrowed; NULL: the
                              design's own */
    HlsHooks hooks;
} HlsSimOptions;

/* The activity of a process from the end of its frame before to the end of this one. */
typedef struct HlsFrame {
    int64_t begin;  /* cycle of the first access */
    int64_t end;    /* cycle after the last one */
    uint64_t waits; /* hash of all waiting in it */
    bool is_late;   /* with an input_interval: something happens later than in the frame before, a
                       frame's interval apart */
    int64_t cycles[HLS_STATE_COUNT];
} HlsFrame;
typedef VEC(HlsFrame) HlsFrames;

/* Why a process stands still for good. */
typedef struct HlsBlock {
    uint32_t stream; /* HLS_NOBODY: it does not */
    bool is_full;    /* it waits to write, else to read */
    int64_t cycle;   /* since when */
} HlsBlock;

typedef struct HlsSim HlsSim;
HlsSim *hls_sim_create(const HlsDesign *design, const HlsSimOptions *options);
void hls_sim_free(HlsSim *sim);

/* Runs until every process has done that many frames since the beginning; those that rewind, and
 * what depends on them, up to what waits for the next frame. False: processes wait for each other
 * for good (hls_sim_explain_deadlock diagnoses it), or a hook or the limit of events ended the
 * simulation (hls_sim_was_stopped). */
bool hls_sim_run(HlsSim *sim, int64_t frames) MUST_CHECK;
/* Says that no other frame follows, and runs until every process has done those that were begun.
 * False: as above. */
bool hls_sim_drain(HlsSim *sim) MUST_CHECK;
/* The periodic state. Once the state of the simulation recurs, so many frames take so many cycles,
 * and so do all later ones. Zeros: the state has not recurred yet, or its period is longer than
 * HLS_MAX_PERIOD frames. */
enum { HLS_MAX_PERIOD = 16 };
typedef struct HlsPeriod {
    int64_t frames, cycles;
} HlsPeriod;
HlsPeriod hls_sim_period(const HlsSim *sim);
/* Whether every stream on which words are on their way for an interval or longer has been read for so many
 * frames by the end of its writer's last one: such a stream still fills up when frames recur already, so
 * what it holds in the periodic state is known later. */
bool hls_sim_has_filled_up(const HlsSim *sim, int64_t interval, int64_t frames);
/* Says that an interval is known to be kept for good, though the state may take long to recur. */
void hls_sim_know_interval(HlsSim *sim, int64_t interval);
int64_t hls_sim_known_interval(const HlsSim *sim); /* 0: none is */
/* Whether it is proven that no later frame takes longer than the input_interval: nothing was late
 * in as many frames as an event can depend on, hence by induction nothing ever is. */
bool hls_sim_keeps_interval(const HlsSim *sim);
/* Follows the levels of all FIFOs to the end; afterwards nothing more can be run. */
void hls_sim_finish(HlsSim *sim);

/* Results, which belong to the simulation: the frames of a process, a stream's FIFO, why a process
 * stands still. */
const HlsFrames *hls_sim_frames(const HlsSim *sim, uint32_t process);
const HlsFifo *hls_sim_fifo(const HlsSim *sim, uint32_t stream);
HlsBlock hls_sim_block(const HlsSim *sim, uint32_t process);
int64_t hls_sim_events(const HlsSim *sim);   /* reads and writes so far */
bool hls_sim_was_stopped(const HlsSim *sim); /* by a hook, or by the limit: */
bool hls_sim_is_exhausted(const HlsSim *sim);

/* Functional simulation: the words that flow through a design. The timing simulation tells which
 * iterations have read their words (HlsHooks.values); their bodies run then, and what they write
 * waits in the stream until the reader takes it.
 * Tests: lit/sim/hls/values.mir, test/e2e/sizing_check.py */

typedef struct HlsValues HlsValues;

/* Compiles all processes. NULL: diagnosed at the op that has no functional model. */
HlsValues *hls_sim_values_create(const HlsDesign *design) MUST_CHECK;
void hls_sim_values_free(HlsValues *values);

/* Begins the next frame. arrays: one per argument of the top function (design_argument_frame),
 * borrowed until the frame is simulated. The arrays of output streams are filled by then, those of
 * output memories by hls_sim_values_end_frame. */
void hls_sim_values_begin_frame(HlsValues *values, Array *const *arrays);
void hls_sim_values_end_frame(HlsValues *values);

/* Keeps the words of a stream until those of the next frame come, and puts those of the last frame,
 * when it is simulated, into order->array. */
void hls_sim_values_keep_frame(HlsValues *values, uint32_t stream);
void hls_sim_values_last_frame(const HlsValues *values, uint32_t stream, const HlsPort *order);

/* For HlsHooks.values; its user is the HlsValues. */
bool hls_sim_values_advance(void *values, uint32_t process, uint32_t loop, int64_t until)
    MUST_CHECK;

/* Reports: the figures of a simulation, as a table and as JSON, and the reason of a deadlock.
 * Tests: lit/tools/ming-sim.mir, lit/sim/hls/deadlock.mir */

/* Append the figures, after a run and hls_sim_finish. The table has lines of TEXT_TABLE_WIDTH
 * characters at most; if it is to be wide, names are in full. */
void hls_sim_print_table(const HlsDesign *design, const HlsSim *sim, bool is_wide, StrBuf *out);
void hls_sim_print_json(const HlsDesign *design, const HlsSim *sim, StrBuf *out);

/* Diagnoses a simulation that ended early: names the processes that wait for each other, the FIFOs
 * in which they do, and depths that would break the cycle. Returns false. */
bool hls_sim_explain_deadlock(const HlsDesign *design, const HlsSim *sim,
                              const HlsSimOptions *options, int64_t frames);

/* Traces: the states of processes and the levels of FIFOs over time, for a waveform viewer (VCD) or
 * as a chart (SVG).
 * Tests: lit/tools/ming-sim-charts.mir, lit/tools/ming-sim-waveform.test */

typedef struct HlsTrace HlsTrace;

/* What of the run a waveform holds; a chart needs nothing of it. */
typedef struct HlsTraceOptions {
    bool keeps_changes;   /* of states and levels, as a waveform needs them */
    int64_t from, to;     /* cycles [from, to); to 0: to the end of the run */
    int64_t most_changes; /* the earliest are kept; 0: all */
} HlsTraceOptions;

HlsTrace *hls_sim_trace_create(const HlsDesign *design, const HlsTraceOptions *options);
void hls_sim_trace_free(HlsTrace *trace);
/* Limits the waveform to processes and FIFOs of a name, in which `*` stands for any text, and of
 * those chosen before. False: there is none; all names are tried with `near`. */
bool hls_sim_trace_choose(HlsTrace *trace, Str pattern, Suggestion *near) MUST_CHECK;

/* For HlsHooks.state and .level; their user is the trace. */
void hls_sim_trace_state(void *trace, uint32_t process, HlsState state, int64_t from, int64_t to);
void hls_sim_trace_level(void *trace, uint32_t stream, int64_t time, int64_t level);
/* Ends the recording, before anything is printed. */
void hls_sim_trace_finish(HlsTrace *trace);

/* The cycle in which a waveform ends because of most_changes, or HLS_UNKNOWN; the end of the run. */
int64_t hls_sim_trace_cut(const HlsTrace *trace);
int64_t hls_sim_trace_end(const HlsTrace *trace);

/* One time unit per cycle. A process is a 2-bit signal: 0 busy, 1 waits for input, 2 for output,
 * 3 idle; a FIFO an integer, its level at the end of the cycle. */
void hls_sim_trace_print_vcd(const HlsTrace *trace, StrBuf *out);
/* A row per process, in which the height of a colour is the share of the time that goes into a
 * state, and one per FIFO, higher the fuller it is. The document has some thousand elements and a
 * few hundred kilobytes at most, however long the run: where rows change often they are drawn
 * coarser. After hls_sim_finish. */
void hls_sim_trace_print_svg(const HlsTrace *trace, const HlsSim *sim, int64_t clock_mhz,
                             StrBuf *out);

#endif
