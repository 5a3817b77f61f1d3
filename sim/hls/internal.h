/* The compiled form of a process, for the functional simulation: its loop bodies as register code.
 * For the sources of sim/hls only. Unrolled loops are written out, counters in addresses and
 * conditions become linear forms that are updated from iteration to iteration, and elements at
 * constant addresses are registers themselves, so that an iteration costs few instructions.
 *
 *   compile.c (processes, bodies, scalars), compile_array.c (indices, accesses) ─▶ HlsCode
 *   functional_sim.c runs it; slow ops go through the vector VM (sim/vm)
 *
 * Tests: lit/sim/hls/values.mir, test/e2e/sizing_check.py */
#ifndef MING_SIM_HLS_INTERNAL_H
#define MING_SIM_HLS_INTERNAL_H

#include "sim/design/design.h"
#include "sim/hls/hls.h"
#include "sim/vm/vm.h"

/* Instructions. r stands for the registers; integer results wrap to 64 - spare bits. */
typedef enum HlsOpcode {
    CODE_END,
    CODE_COPY,  /* r[out + i] = r[a + i], i < count */
    CODE_LOAD,  /* r[out + i] = r[a + imm + r[b] + i] */
    CODE_STORE, /* r[out + imm + r[b] + i] = r[a + i] */
    CODE_CHECK, /* 0 <= r[b] + imm < count, or undefined behaviour of `op` in dimension a */
    CODE_SKIP,  /* unless r[a], goes imm instructions further */
    CODE_TEST,  /* r[out] = all of `count` tests from imm on */
    CODE_READ,  /* r[out + i] = word of port a */
    CODE_WRITE,
    CODE_CALL, /* instruction number imm of vm_calls */
    CODE_ADD,
    CODE_SUB,
    CODE_MUL,
    CODE_MUL_CONST, /* r[out] = r[a] * imm; indices, as the next three */
    CODE_FLOORDIV,
    CODE_CEILDIV,
    CODE_MOD,
    CODE_AND,
    CODE_OR,
    CODE_XOR,
    CODE_SAME,     /* r[out] = r[a] == r[b] */
    CODE_POPCOUNT, /* r[out] = how many of r[a + i] are 1, i < count */
    CODE_MAX,      /* signed */
    CODE_MIN,
    CODE_SHL, /* by imm */
    CODE_SHRS,
    CODE_SHRU, /* of 64 - in_spare bits */
    CODE_SEXT,
    CODE_ZEXT,  /* from 64 - in_spare bits */
    CODE_SELECT /* r[out + i] = r[a] ? r[b + i] : r[imm + i] */
} HlsOpcode;

typedef struct HlsInstr {
    uint8_t code, spare, in_spare;
    uint32_t out, a, b, count;
    int64_t imm;
    const Op *op; /* of CHECK */
} HlsInstr;

/* A condition: r[reg] + add is >= 0, or == 0. */
typedef struct HlsTest {
    uint32_t reg;
    bool is_eq;
    int64_t add;
} HlsTest;

/* A linear form of the counters, kept in a register: the sum of counter i times coeffs[i]. */
typedef struct HlsForm {
    uint32_t reg;
    int64_t coeffs[HLS_MAX_LOOPS];
    int64_t steps[HLS_MAX_LOOPS]; /* change when counter i moves on and those inside start again */
} HlsForm;

/* An op that has no instruction of its own, as an instruction of sim/vm/vm.h on one cell. */
typedef struct HlsVmCall {
    Instr in;
    uint32_t in_regs[3], out_regs[2];
} HlsVmCall;

typedef struct HlsLoopCode {
    VEC(HlsForm) forms;
    VEC(HlsInstr) before; /* indices and conditions, once per iteration */
    VEC(HlsInstr) body;
    VEC(HlsTest) tests;
    VEC(HlsVmCall) vm_calls;
} HlsLoopCode;

typedef struct HlsCode {
    HlsLoopCode *loops; /* of each loop of the process */
    Cell *regs;         /* arrays, values, forms, constants; owned */
    uint32_t reg_count;
    uint32_t *memories; /* of each argument that is one: its first register; owned */
} HlsCode;

/* Registers that an array takes: one per element, the lanes of its words counted. */
int64_t hls_sim_array_size(const Type *array);

/* Compiles all loops of a process. False: diagnosed at the op that has no functional model. */
bool hls_sim_compile(const HlsProcess *process, HlsCode *out) MUST_CHECK;
void hls_sim_code_free(HlsCode *code, size_t loop_count);

/* The compiler's state, shared by compile.c and compile_array.c. A register is a number; maps keep
 * it plus one, since 0 says that a key is absent.
 * Tests: lit/sim/hls/values.mir */

typedef struct Constant {
    uint32_t reg;
    Cell value;
} Constant;

typedef struct HlsCompiler {
    const HlsLoop *loop;
    HlsLoopCode *code;
    uint64_t reg_count; /* no register is used where it is too large */
    PtrMap arrays;      /* Value* -> first register + 1 */
    PtrMap own;         /* Value* -> its register + 1 */
    PtrMap places;      /* Value* -> the register + 1 that holds it in this copy */
    PtrMap lanes;       /* counter of an unrolled loop -> AffineExpr constant */
    PtrMap indices;     /* AffineExpr* -> register + 1; of this loop */
    PtrMap ports;       /* stream Value* -> port + 1 */
    VEC(Constant) constants;
    VEC(Array *) tables;      /* contents of constant arrays */
    VEC(uint32_t) table_regs; /* first register of each */
} HlsCompiler;

/* An address: register of its moving part, or NO_REG, and a constant. */
enum { NO_REG = 0 };
typedef struct Index {
    uint32_t reg;
    int64_t add;
} Index;

/* Allocates `count` registers in a row and gives the first. */
uint32_t hls_sim_compiler_new_regs(HlsCompiler *c, int64_t count);
/* Appends an instruction to the body. The pointer is valid until the next one is appended. */
HlsInstr *hls_sim_compiler_emit(HlsCompiler *c, HlsOpcode code);
/* The register of a key in one of the maps; UINT32_MAX: the map does not have it. */
uint32_t hls_sim_reg_find(const PtrMap *map, const void *key);
void hls_sim_reg_put(PtrMap *map, const void *key, uint32_t reg);
/* Gives a value its own register, as its place from now on; hls_sim_compiler_place looks a value's
 * place up. */
uint32_t hls_sim_compiler_define(HlsCompiler *c, const Value *value);
uint32_t hls_sim_compiler_place(const HlsCompiler *c, const Value *value);

/* An expression over the loop's counters: a linear form that is updated per iteration if it is
 * linear, else computed before the body. */
Index hls_sim_compile_index(HlsCompiler *c, const AffineExpr *expr);
/* The same with its constant part included, in one register. */
uint32_t hls_sim_whole_index(HlsCompiler *c, const AffineExpr *expr);
/* The register of an operation on index registers that is computed before the body. */
uint32_t hls_sim_compile_index_op(HlsCompiler *c, HlsOpcode code, uint32_t a, uint32_t b,
                                  int64_t imm);
/* Rewrites an expression over an op's indices, which begin at operand `first`, to the loop's
 * counters. NULL: diagnosed, an index is no counter. */
const AffineExpr *hls_sim_compiler_over_counters(const HlsCompiler *c, const Op *op, uint32_t first,
                                                 const AffineExpr *expr);
/* Accesses of arrays. block_begin: instruction at which the block begins. False: diagnosed. */
bool hls_sim_compile_load(HlsCompiler *c, const Op *op) MUST_CHECK;
bool hls_sim_compile_store(HlsCompiler *c, const Op *op, size_t block_begin) MUST_CHECK;

/* The figures of a whole run (report.c). */
typedef struct HlsTimingResult {
    int64_t frames;
    int64_t latency; /* cycles from the first word of the first frame in to its last word out */
    int64_t last_latency; /* of the last frame */
    int64_t interval; /* cycles between the ends of the last two frames, in all processes; 0: one
                              frame */
    int64_t
        mean_interval;   /* in hundredths: of the periodic state, else of the last mean_frames, else
                              the same */
    int64_t mean_frames; /* 0: not needed, or few frames */
    int64_t cycles;      /* of all frames */
    int64_t known;       /* interval that is kept for good; 0: not known */
    HlsPeriod period;    /* which all later frames repeat; zeros: not known */
    uint32_t bottleneck; /* process that works most cycles a frame */
} HlsTimingResult;
HlsTimingResult hls_sim_timing_result(const HlsDesign *design, const HlsSim *sim);
/* The cycle in which all processes are done with a frame. */
int64_t hls_sim_frame_done(const HlsDesign *design, const HlsSim *sim, size_t frame);

/* The state of a trace: trace.c fills it, trace_vcd.c and trace_svg.c print it. */

enum { TRACE_PARTS = 2048 };

/* Cycles of each part of the time that count for one thing; of a FIFO, times the level. */
typedef struct HlsTraceRow {
    int64_t parts[TRACE_PARTS];
} HlsTraceRow;

typedef struct HlsTraceChange {
    int64_t time, value;
} HlsTraceChange;

/* A process or, behind all of those, a stream. */
typedef struct HlsTraceSignal {
    bool is_kept;
    int64_t first; /* its value at the beginning of the waveform */
    VEC(HlsTraceChange) changes;
} HlsTraceSignal;

struct HlsTrace {
    const HlsDesign *design;
    HlsTraceOptions options;
    HlsTraceSignal *signals;
    bool has_chosen; /* some of the signals by name */
    int64_t to;      /* the waveform ends before this cycle */
    bool is_cut;     /* there because of most_changes */
    int64_t change_count;
    HlsTraceRow *states;     /* HLS_STATE_COUNT of each process */
    int64_t *done;           /* of each process: the end of its last state */
    HlsTraceRow *fills;      /* of each stream */
    int64_t *levels, *since; /* of each stream: the current one */
    int64_t width;           /* cycles of a part */
    int64_t end;
};

Str hls_sim_trace_name(const HlsDesign *design, uint32_t signal);

/* The state of a timing simulation, shared by timing_sim.c, timing_process.c, flushing.c and period.c.
 * Tests: test/unit/sim/hls/timing_sim_test.c, test/unit/sim/hls/flushing_test.c */

/* A loop whose pipeline flushes (flushing.c). */
typedef struct HlsFlush HlsFlush;

/* Place of an access in its runs, and the stream it works on. */
typedef struct LoopCursor {
    HlsCursor at;
    int64_t due;   /* local clock of the next access; INT64_MAX: it is not in this execution */
    int64_t frame; /* of a process that rewinds: of the access, since it has begun */
    uint32_t stream;
} LoopCursor;

typedef struct TimedProcess {
    const HlsProcess *model;
    uint32_t index;
    uint32_t part;        /* a process of those that streams connect it to, the same for all */
    LoopCursor **cursors; /* per loop, per access */
    int64_t *base;        /* per loop: first iteration of the current execution */
    int64_t *left;        /* per step: iterations to come of a plain loop */
    HlsFlush **flushes;   /* per loop: NULL where the pipeline stalls */
    size_t step;
    bool in_frame, in_loop, has_begun; /* has_begun: the frame's first access was made */
    bool is_queued, has_inputs;
    bool rewinds;
    int64_t first_frame; /* if it rewinds: that with which it has begun, and its clock */
    int64_t now, tick;   /* cycle, and local clock in the loop, of the last event */
    HlsFrame frame;      /* the current one */
    HlsFrames frames;    /* those done */
    HlsBlock block;
    VEC(int64_t) ticks; /* with an input_interval: when accesses were made in the frame before */
    size_t tick_count;  /* of them, in this frame */
    /* of ports: */
    int64_t rate;
    int64_t words; /* given or taken so far */
    uint64_t random;
} TimedProcess;

typedef struct Fifo {
    HlsFifo times;
    HlsSim *sim;
    uint32_t index;
    bool reader_waits, writer_waits;
} Fifo;

struct HlsSim {
    const HlsDesign *design;
    HlsSimOptions options;
    Arena arena;
    TimedProcess *processes;
    Fifo *fifos;
    uint32_t *queue; /* ring of processes that may go on */
    uint32_t queued, queue_first;
    int64_t frames;   /* to do */
    bool is_last;     /* no others follow */
    HlsPeriod period; /* that was found before the last frame */
    int64_t events;
    bool is_stopped;
    int64_t known_interval;
    int64_t *part_cycles; /* for hls_sim_period, of each part */
};
/* Lets a process go on: what it waited for is known. */
void hls_sim_enqueue(HlsSim *sim, uint32_t process);

/* Runs a process as far as the times at its FIFOs are known. */
void hls_sim_run_process(HlsSim *sim, TimedProcess *p);

/* The clock of a process moves on to `until`; the cycles count for a state. */
void hls_sim_spend(const HlsSim *sim, TimedProcess *p, HlsState state, int64_t until);
/* Adds a wait of so many cycles at a place of the frame to what tells frames apart. */
void hls_sim_note_wait(TimedProcess *p, int64_t where, int64_t cycles);
/* The other end of an access's FIFO lets the process go on when it has come far enough. */
void hls_sim_wait_for(HlsSim *sim, const LoopCursor *c);
/* Makes an access at its time, and lets the other end of its FIFO go on. */
void hls_sim_commit(HlsSim *sim, LoopCursor *c, int64_t time);
/* Passes on that the words of a loop's iterations before `until` have been read, counted in the
 * frame. False: the simulation was stopped. */
bool hls_sim_pass_values(HlsSim *sim, const TimedProcess *p, uint32_t loop, int64_t until);

/* The state of a loop that flushes, in the arena. */
HlsFlush *hls_sim_flush_create(Arena *arena, const HlsLoop *loop);
/* Frees what the arena does not hold. */
void hls_sim_flush_free(HlsFlush *flush);
/* Runs the current execution of a loop that flushes as far as times are known. True: to its end;
 * false: it waits, or the simulation was stopped. */
bool hls_sim_run_flushing(HlsSim *sim, TimedProcess *p, uint32_t loop);

#endif
