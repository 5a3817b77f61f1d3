/* The model of an emithls design that the simulation runs: processes that run loops, streams
 * between them, and for every loop when its iterations read and write. Nothing here depends on
 * values, so the timing simulation, FIFO sizing and the functional simulation share it.
 *
 *   module ─▶ processes, loops ─▶ access patterns ─▶ schedule (II, depth, cycle of each op)
 *             design.c            access_pattern.c   loop_schedule.c, op_schedule.c, memory_ports.c
 *   schedule ─▶ attributes of the module, from which later designs take it (schedule_hls.c)
 *   perturbation ─▶ the same design on hardware that is later than predicted (perturb.c)
 *
 * A design borrows the module, which must stay as it is; all else lives in the design's arena and
 * its vectors, which design_free frees. Once it is created, only design_perturb and
 * design_perturb_some change it. Times
 * are cycles, amounts words. sim/hls, target/cost (the two start-up constants), target/fifo and emit build on
 * it.
 * Tests: lit/sim/design, lit/sim/hls, test/e2e/sizing_check.py */
#ifndef MING_SIM_DESIGN_DESIGN_H
#define MING_SIM_DESIGN_DESIGN_H

#include "ir/attr/attr.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "schedule/schedule.h"

enum {
    HLS_MAX_LOOPS = 32,     /* counters around an op */
    HLS_MAX_ACCESSES = 256, /* reads and writes in one iteration of a loop */
    HLS_MAX_PORTS = 256,    /* of a process */
    PROCESS_START = 1,      /* cycles before a process's first loop in every frame */
    LOOP_START = 1          /* cycles before the first iteration of a loop */
};

/* A piece of an access pattern: `skip` iterations without the access, then `count` with it, all
 * that `repeat` times. Patterns of loop nests are long but regular, so few pieces tell them. */
typedef struct HlsRun {
    int64_t skip, count, repeat;
} HlsRun;
typedef VEC(HlsRun) HlsRuns;

/* One read or write of an iteration; a replicated one counts once per copy. */
typedef struct HlsAccess {
    const Op *op;
    uint32_t port; /* of the process */
    bool is_write;
    int64_t offset; /* predicted cycle in the iteration */
    int64_t late;   /* cycles behind it, by a perturbation */
    int64_t early;  /* of a write, by a bound: cycles that it may come earlier than that */
    int64_t words;  /* per frame */
    HlsRuns runs;   /* over the iterations of a frame */
} HlsAccess;

/* A pipelined loop, or code outside loops, which counts as a loop of one iteration. It runs once in
 * a frame, or in every iteration of the plain loops around it. */
typedef struct HlsLoop {
    const Op *op;          /* NULL: code outside pipelined loops */
    const Op *first, *end; /* the body: first to the op before end in its block */
    uint32_t plain_count;  /* counters of the plain loops around, which come first */
    uint32_t counter_count;
    const Value *counters[HLS_MAX_LOOPS];
    int64_t extents[HLS_MAX_LOOPS];
    int64_t begin, end_position; /* flat positions of the loop's own box that run */
    int64_t trips;               /* end_position - begin */
    int64_t executions;          /* in a frame */
    bool is_once;                /* in the first frame only */
    int64_t requested_ii, ii;
    const char *ii_reason; /* why ii is larger than what was asked for, or NULL */
    bool flushes;          /* its pipeline goes on when its input is empty; else it stalls */
    int64_t depth;         /* cycles of one iteration */
    int64_t late;          /* how many of them are a perturbation's */
    VEC(HlsAccess) accesses;
} HlsLoop;

/* The order in which a process runs its loops: a loop, the two ends of a plain loop, or a stretch
 * that only the first frame runs. */
typedef enum HlsStepKind { STEP_LOOP, STEP_REPEAT, STEP_END, STEP_ONCE } HlsStepKind;
typedef struct HlsStep {
    HlsStepKind kind;
    uint32_t loop;  /* STEP_LOOP */
    uint32_t match; /* STEP_END: its STEP_REPEAT; STEP_ONCE: the step behind its last */
    int64_t count;  /* STEP_REPEAT: iterations */
} HlsStep;

#define HLS_NOBODY UINT32_MAX

/* Others move words: converters, forks, reorders and merges. */
typedef enum HlsProcessKind { HLS_KERNEL, HLS_WINDOW, HLS_OTHER, HLS_PROCESS_KINDS } HlsProcessKind;

typedef struct HlsProcess {
    Str name;
    HlsProcessKind kind;
    const Op *func;    /* NULL: the world at a port of the design */
    bool is_source;    /* of a port: gives words to it, else takes them */
    bool is_once;      /* works in the first frame only */
    bool rewinds;      /* it is one loop, whose frames follow each other without a gap */
    uint32_t *streams; /* of each port; HLS_NOBODY: a memory */
    uint32_t port_count;
    VEC(HlsLoop) loops;
    VEC(HlsStep) steps;
    int64_t cycles;               /* from frame to frame without waiting */
    int64_t start_late, end_late; /* by a perturbation: before the first loop, behind the last */
    bool is_held;                 /* begins with the first frame in cycle `hold` of the design */
} HlsProcess;

typedef struct HlsStream {
    Str name;
    const Op *op; /* NULL: a port of the design */
    uint32_t arg; /* of a port: argument of the top function */
    const Type *word;
    int64_t depth;           /* words; 0: unbounded */
    int64_t words;           /* per frame, or in the first one */
    bool is_once;            /* the first frame's */
    int64_t latency;         /* cycles that words and places take: 1, or what the stream says */
    int64_t late;            /* cycles that they take beyond one, a perturbation's included */
    uint32_t writer, reader; /* processes */
} HlsStream;

/* A memory at the boundary and the process that reads or writes it. */
typedef struct HlsMemoryPort {
    uint32_t arg;           /* of the top function */
    uint32_t process, port; /* port: argument of the process */
    bool is_input;
} HlsMemoryPort;

/* A whole design. Processes are in the order in which the module calls them; after them comes one
 * per port, in the ports' order, which stands for the world at that port. */
typedef struct HlsDesign {
    Context *ctx;
    const Op *top;
    Arena arena;
    Clock clock;
    VEC(HlsProcess) processes;
    VEC(HlsStream) streams; /* the ports first */
    int64_t hold;           /* cycles until all tables are loaded, where frames wait for that */
    uint32_t port_count;    /* of streams; memories are none */
    bool may_pause; /* for the events of a frame: frames may be started late, so that a process
                               that rewinds may run empty before them, or not (target/fifo) */
    VEC(HlsMemoryPort) memories;
    bool
        is_scheduled; /* cycles, intervals and depths are those of the IR; else they are computed */
    PtrMap cycles;    /* Op* -> its cycle + 1; design_cycle_of */
} HlsDesign;

/* Cycles a word waits in the register slice of a port: it holds that many. */
enum { PORT_DEPTH = 2 };

/* The design of a module, which must stay as it is. Where the module is scheduled for this clock
 * (design_clock_mhz), the schedule is taken from its attributes and checked; else it is computed.
 * NULL: diagnosed at the op that cannot be simulated, or whose cycle is wrong. */
HlsDesign *design_create(const Op *module, Clock clock) MUST_CHECK;
void design_free(HlsDesign *design);

/* Lets all pipelines that can flush do so, or none, in place of what the module says. False: some
 * loop rewinds, so that it cannot, and nothing is changed; diagnosed. */
bool design_set_flushing(HlsDesign *design, bool flushes) MUST_CHECK;
/* Whether some pipeline flushes. */
bool design_flushes(const HlsDesign *design);

/* Cycles from frame to frame of a process that never waits: of a whole frame, or of the iterations
 * alone if it rewinds. */
int64_t design_process_cycles(const HlsProcess *process);
/* Cycles from the first iteration of a loop's execution until the last one has left the pipeline. */
int64_t design_loop_cycles(const HlsLoop *loop);

/* Position of a value among a loop's counters, or -1. */
int design_counter_of(const HlsLoop *loop, const Value *value);

/* Lets `lanes` know the counters of an unrolled loop at a flat position as constant expressions. */
void design_bind_lanes(const Op *loop, int64_t position, PtrMap *lanes);

/* The two steps of design_create for each loop. First the accesses of the loop and their runs;
 * streams are found in `ports` (Value* -> port + 1). Then, from the accesses, the depth, the
 * initiation interval and the cycle of each access. False: diagnosed. */
bool design_find_accesses(HlsLoop *loop, const PtrMap *ports) MUST_CHECK;
bool design_schedule(HlsDesign *design, HlsLoop *loop) MUST_CHECK;
/* The cycle of its iteration in which an op is done, or its first copy if it is in an unrolled loop,
 * or the last one of a store; -1: it has none, as declarations have none. */
int64_t design_cycle_of(const HlsDesign *design, const Op *op);
/* The cycle of the loop's iteration in which a load, or its first copy, begins. */
int64_t design_load_begin(const HlsDesign *design, const HlsLoop *loop, const Op *load);

/* The clock of a design: that of its schedule, else what fit-fifos has noted, else its budget's,
 * else CLOCK_DEFAULT_MHZ. */
int64_t design_clock_mhz(const Op *module);
/* schedule-hls: writes the schedule of a design into its module.
 * Tests: lit/sim/design/schedule-hls.mir */
extern const PassDef pass_schedule_hls;

/* The sum, minimum or other associative op by which a store combines the element it stores to with
 * another value, *other; NULL: it does not. */
const Op *design_accumulated(const Op *store, const Value **other);

/* Bits of a stream's word. */
int64_t design_word_bits(const HlsStream *stream);

/* What the pragmas on an array make of it: registers, or a memory with a limited number of ports. It
 * borrows the array and its pragmas. The lowering to registers and logic builds the same.
 * Tests: lit/sim/design/memories.mir, lit/lowering/emithls_to_rtl */

typedef struct HlsMemory {
    const Value *array;
    bool is_register;     /* no dimension is addressed */
    bool is_constant;     /* a table, or outside: iterations do not depend on each other */
    uint64_t banks, wide; /* bit per dimension: partitioned, joined to one word */
    Str name, type, impl; /* type and impl as bind_storage has them, or empty */
    int64_t distance;     /* iterations between a store and the next load of its element */
} HlsMemory;

HlsMemory design_memory(const Value *array);

/* Perturbations: what hardware may do later than predicted. Pipelines are deeper, so that writes
 * come later behind the reads of their iteration; words and places take longer through FIFOs, ports
 * excepted; processes begin and end their frames later.
 * docs/simulation.md tells what is simulated, docs/streaming.md what FIFOs are sized for.
 * Tests: lit/tools/ming-sim-perturb.mir */

/* A depth d becomes d + d * permille / 1000 + cycles. */
typedef struct HlsDeeper {
    int64_t permille, cycles;
} HlsDeeper;

/* All zero: nothing is other than predicted. */
typedef struct HlsPerturbation {
    HlsDeeper kinds[HLS_PROCESS_KINDS];
    int64_t start_late, end_late; /* of each process, in every frame */
    int64_t fifo_late;            /* cycles beyond one */
    bool is_random;               /* each is drawn between nothing and this much */
    bool is_bound;                /* each may be anything between nothing and this much */
    uint64_t seed;
} HlsPerturbation;

/* What FIFOs are sized for by default, and the most of it that a user may ask for. */
enum {
    HLS_BOUND_PERMILLE = 500,
    HLS_BOUND_CYCLES = 8,
    HLS_BOUND_LATE = 2,
    HLS_BOUND_FIFO_LATE = 1
};

/* The bound up to which designs keep their interval, for pipelines that are so much deeper. */
HlsPerturbation design_bound(int64_t permille);
/* Reads a perturbation: items separated by commas, of `+8`, `x1.5` and `x1.5+8` for all pipelines,
 * the same behind `kernel`, `window` or `other` for some, `fifo-latency=N`, `start=N`, `end=N` and
 * `random:SEED`, which draws within the other items, or within the bound if there are none. False:
 * *why, which the caller frees, says what is wrong. */
bool design_parse_perturbation(Str text, HlsPerturbation *out, StrBuf *why) MUST_CHECK;
/* Perturbs a design in place of any perturbation before; NULL: as predicted. */
void design_perturb(HlsDesign *design, const HlsPerturbation *perturbation);
/* The same for some of the processes, and the FIFOs that they read; the others are as predicted. */
void design_perturb_some(HlsDesign *design, const HlsPerturbation *perturbation,
                         const bool *processes);

/* Cursors: a walk through the iterations of a frame in which an access of a loop happens. They are
 * inline because simulations advance them once per word.
 * Tests: lit/sim/design/pattern.mir */

typedef struct HlsCursor {
    const HlsAccess *access;
    size_t run;
    int64_t round; /* of the run's repetitions */
    int64_t left;  /* accesses in this one */
    int64_t next;  /* iteration of the next access; INT64_MAX: none in this frame */
} HlsCursor;

static inline void hls_cursor_reset(HlsCursor *c)
{
    const HlsRuns *runs = &c->access->runs;
    c->run = 0;
    c->round = 0;
    c->left = runs->len ? runs->data[0].count : 0;
    c->next = runs->len ? runs->data[0].skip : INT64_MAX;
}

static inline void hls_cursor_advance(HlsCursor *c)
{
    const HlsRuns *runs = &c->access->runs;
    c->next++;
    if (--c->left > 0) return;
    if (++c->round == runs->data[c->run].repeat) {
        c->round = 0;
        c->run++;
    }
    if (c->run == runs->len) {
        c->next = INT64_MAX;
        return;
    }
    c->next += runs->data[c->run].skip;
    c->left = runs->data[c->run].count;
}

/* The same `count` times, if so many are left in a row. */
static inline void hls_cursor_advance_by(HlsCursor *c, int64_t count)
{
    c->next += count - 1;
    c->left -= count - 1;
    hls_cursor_advance(c);
}

/* Cycle of the next access, counted from the start of the loop's execution whose first iteration is
 * `base`; INT64_MAX: the access is in a later execution. */
static inline int64_t hls_cursor_tick(const HlsCursor *c, const HlsLoop *loop, int64_t base)
{
    if (c->next >= base + loop->trips) return INT64_MAX;
    return (c->next - base) * loop->ii + c->access->offset + c->access->late;
}

/* The boundary of a design: where the elements of a frame are, in the words of a stream, in a
 * memory that a process reads or writes, or in the words that load the tables.
 * Tests: lit/sim/hls/values.mir, lit/sim/hls/once.mir */

typedef enum HlsDirection { HLS_NO_DATA, HLS_DATA_IN, HLS_DATA_OUT } HlsDirection;

/* The direction of an argument of the top function. The port of weights carries no data of a frame,
 * because the module's tables have them. */
HlsDirection design_argument_direction(const HlsDesign *design, uint32_t arg);
/* The tensor that the argument carries per frame (emithls.frame). NULL: it does not say. */
const Type *design_argument_frame(const HlsDesign *design, uint32_t arg);

/* The elements of a port, in the order of its words. */
typedef struct HlsPort {
    uint32_t arg;
    int64_t *elements;    /* places in the array */
    int64_t count, lanes; /* of a frame, of a word */
    Array *array;         /* of the current frame; borrowed */
    Array *weights;       /* given in the first frame instead; owned, or NULL */
} HlsPort;

/* The port of an argument: of the stream, or of a memory if stream is NULL. The elements are
 * allocated in the arena. False: diagnosed. */
bool design_port_init(const HlsDesign *design, const HlsStream *stream, uint32_t arg, Arena *arena,
                      HlsPort *out) MUST_CHECK;
/* The tensor that a stream between processes carries per frame; NULL: it does not say. And its
 * elements in the order of its words. False: diagnosed. */
const Type *design_stream_frame(const HlsStream *stream);
bool design_stream_port_init(const HlsDesign *design, const HlsStream *stream, Arena *arena,
                             HlsPort *out) MUST_CHECK;

#endif
