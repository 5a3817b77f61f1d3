/* The inside of convert-emithls-to-rtl, for its sources only. A process becomes a module in four
 * steps, each of which reads what the one before has made:
 *
 *   body.c, access.c, number.c   a loop's iteration ─▶ graph of scalar nodes: unrolled loops
 *                                written out, registers' contents forwarded, ifs as choices
 *   graph.c, balance.c           simplifies nodes as they are made; sums as trees
 *   time.c                       graph ─▶ the cycle of each node, by those of the ops in
 *                                sim/design's schedule
 *   sequence.c, control.c        when iterations begin, and where they are
 *   datapath.c, storage.c, …     graph and cycles ─▶ ops of hw, comb and seq
 *   slice.c, product.c           products as slices, and of LUTs
 *   library.c                    modules of the library
 *
 * Everything lives in the arena and the vectors of an RtlProcess. docs/rtl.md states what hardware
 * comes out. Functions under MUST_CHECK return false after a diagnostic.
 * Tests: lit/lowering/emithls_to_rtl, test/e2e/rtl_check.py */
#ifndef MING_LOWERING_EMITHLS_TO_RTL_INTERNAL_H
#define MING_LOWERING_EMITHLS_TO_RTL_INTERNAL_H

#include "ir/core/core.h"
#include "lowering/emithls_to_rtl/emithls_to_rtl.h"
#include "schedule/schedule.h"
#include "sim/design/design.h"

/* Nodes: what one iteration of a loop computes, scalar by scalar. */

typedef uint32_t NodeId;
enum { NO_NODE = 0 };

typedef enum NodeKind {
    NODE_UNDEF,   /* contents that nothing has set */
    NODE_CONST,   /* imm, its low `width` bits */
    NODE_COUNTER, /* counter imm of the loop */
    NODE_STATE,   /* cell imm as the iteration before has left it */
    NODE_READ,    /* the word of access imm */
    NODE_LOAD,    /* the word of a bank at address in[0]; imm: to_rtl_load_of */
    NODE_ADD,
    NODE_SUB,
    NODE_MUL,
    NODE_AND,
    NODE_OR,
    NODE_XOR,
    NODE_MAXS,
    NODE_MAXU,
    NODE_MINS,
    NODE_MINU,
    NODE_SHL, /* by in[1] bits, as the next two */
    NODE_SHRU,
    NODE_SHRS,
    NODE_CMP,     /* in[0] and in[1], by the CmpiPredicate imm */
    NODE_MUX,     /* in[0] ? in[1] : in[2] */
    NODE_EXTRACT, /* bits of in[0] from bit imm on */
    NODE_SEXT,
    NODE_ZEXT,
    NODE_CONCAT, /* the first operand has the highest bits */
    NODE_MACC    /* in[0] * in[1] + in[2], in a DSP slice */
} NodeKind;

typedef struct Node {
    NodeKind kind;
    uint32_t width;        /* bits */
    uint32_t first, count; /* operands, in Graph.operands, which balance.c may replace */
    int64_t imm;
    const Op *op;       /* what it is a copy of, or NULL */
    OpTiming timing;    /* from its operands to its result */
    bool is_ordered;    /* a sum in a loop that keeps its order */
    int64_t cycle;      /* in which its op has its result; it comes no earlier */
    bool is_due;        /* it comes no later */
    int64_t not_before; /* picoseconds; of conditions, whose logic is in front of all ops */
    /* By to_rtl_schedule: */
    int64_t time;    /* picoseconds from the start of the iteration to its result */
    int64_t stage;   /* cycle of the iteration in which the result is there */
    int64_t latency; /* cycles that the operands come earlier; to_rtl_latency */
} Node;

/* A store to a memory: lanes of one word. Stores to the same address under the same condition are
 * one. */
typedef struct Store {
    uint32_t bank;
    NodeId address, where; /* where: NO_NODE: always */
    NodeId *lanes;         /* of each scalar of a word, or NO_NODE */
    uint32_t version;      /* stores to the bank before it */
    const Op *op;          /* one that it is a copy of */
    int64_t stage;         /* cycle in which it is made, that of its op */
} Store;

/* A load from a memory. */
typedef struct Load {
    NodeId node;
    uint32_t bank;
    NodeId where;     /* condition under which it is wanted; NO_NODE: always */
    uint32_t version; /* stores to the bank that it follows; it comes before the others */
    const Op *op;     /* one that it is a copy of */
    int64_t stage;    /* cycle in which it begins, that of its op */
} Load;

/* A read or write of a stream. */
typedef struct Transfer {
    uint32_t port;
    bool is_write;
    NodeId where, word; /* word: the NODE_READ, or what is written */
    int64_t stage;
} Transfer;

/* What a loop's iteration does. */
typedef struct Graph {
    const HlsLoop *loop;
    VEC(Node) nodes;
    VEC(NodeId) operands;
    VEC(NodeId) buckets; /* hash -> node, of those that are made only once */
    VEC(Store) stores;
    VEC(Load) loads;
    VEC(Transfer) transfers;
    NodeId *finals;  /* per cell: its content after the iteration; NO_NODE: unchanged */
    NodeId *states;  /* per cell: its NODE_STATE, or NO_NODE */
    int64_t *stored; /* per cell: cycle of the stores to it */
    int64_t *loaded; /* per cell: cycle in which the first load from its NODE_STATE begins, plus 1;
                          0: none does */
    int64_t *earliest; /* per cell: cycle in which it is read, by to_rtl_schedule */
    VEC(NodeId) order; /* nodes that are needed, operands first */
} Graph;

/* An array of a process. */
typedef struct RtlArray {
    const Value *value;
    HlsMemory memory;
    Array *contents; /* of a table; owned */
    bool is_cells;   /* held in cells, else in banks */
    uint32_t width;  /* bits of a scalar */
    uint32_t lanes;  /* scalars of an element */
    uint32_t size;   /* scalars in all */
    uint32_t first;  /* cell or bank */
    uint32_t word;   /* scalars of a bank's word */
    uint32_t depth;  /* words of a bank */
    uint32_t banks;
} RtlArray;

/* A memory: one bank of an array. */
typedef struct Bank {
    const RtlArray *array;
    uint32_t index; /* among those of the array */
} Bank;

typedef struct RtlProcess {
    const HlsDesign *design;
    const HlsProcess *model;
    Context *ctx;
    Arena arena;
    PtrMap arrays; /* Value* -> RtlArray* */
    VEC(RtlArray *) array_list;
    VEC(Bank) banks;
    VEC(uint32_t) cell_widths;
    Graph *graphs;        /* per loop */
    bool *is_live;        /* per cell: it is a register */
    bool has_early_words; /* it rewinds, and frames stall by themselves */
} RtlProcess;

/* Making nodes (graph.c). They are simplified: constants are computed, choices with one side left
 * are that side, wires out of wires are one wire. A node on undefined contents is undefined. */
const Node *to_rtl_node(const Graph *g, NodeId id);
NodeId to_rtl_in(const Graph *g, NodeId id, uint32_t operand);
bool to_rtl_is_const(const Graph *g, NodeId id, int64_t *value);
/* The low `width` bits as a signed number. */
int64_t to_rtl_signed(int64_t value, uint32_t width);
/* A comparison of `width` bits by a CmpiPredicate. */
bool to_rtl_compare(int64_t a, int64_t b, uint32_t width, int64_t predicate);
NodeId to_rtl_undef(Graph *g, uint32_t width);
NodeId to_rtl_const(Graph *g, uint32_t width, int64_t value);
/* A node that is no constant and has no operands. */
NodeId to_rtl_leaf(Graph *g, NodeKind kind, uint32_t width, int64_t imm);
NodeId to_rtl_unary(Graph *g, NodeKind kind, uint32_t width, NodeId a, int64_t imm);
NodeId to_rtl_binary(Graph *g, NodeKind kind, uint32_t width, NodeId a, NodeId b, int64_t imm);
/* A sum of the body. One with 0 stays a node, so that balance.c sees where a sum begins. */
NodeId to_rtl_sum(Graph *g, NodeId a, NodeId b);
NodeId to_rtl_slice(Graph *g, NodeId a, NodeId b, NodeId sum); /* NODE_MACC */
NodeId to_rtl_mux(Graph *g, NodeId where, NodeId a, NodeId b);
NodeId to_rtl_extract(Graph *g, NodeId a, int64_t low, uint32_t width);
NodeId to_rtl_extend(Graph *g, NodeId a, uint32_t width, bool is_signed); /* or truncate */
/* parts[0] has the lowest bits. */
NodeId to_rtl_concat(Graph *g, const NodeId *parts, uint32_t count);
/* Both conditions; NO_NODE is true. */
NodeId to_rtl_and(Graph *g, NodeId a, NodeId b);
NodeId to_rtl_not(Graph *g, NodeId a);
/* Gives a node the delay of what it is a copy of, if it is new, that is, `first_new` or later: what
 * an op comes to may be a node that was there before. */
void to_rtl_set_timing(Graph *g, NodeId id, NodeId first_new, const Op *op, OpTiming timing);
/* Puts what an op comes to in its cycle, or in the first one if several ops come to the node. Wires,
 * and logic that the lowering has made before, are in none. is_due: in no later one. */
void to_rtl_set_cycle(Graph *g, NodeId id, NodeId first_new, int64_t cycle, bool is_due);
void to_rtl_graph_free(Graph *g);

/* Building a loop's graph. */

/* What a walk over a loop's body knows. */
typedef struct BodyBuilder {
    RtlProcess *process;
    Graph *g;
    const HlsLoop *loop;
    PtrMap lanes;  /* counter of an unrolled loop -> AffineExpr, a constant */
    PtrMap values; /* Value* -> its first scalar in `scalars`, plus 1 */
    VEC(NodeId) scalars;
    NodeId *cells;    /* contents so far; NO_NODE: not touched */
    NodeId where;     /* condition around the op; NO_NODE: none */
    size_t access;    /* next one of the loop */
    bool is_repeated; /* behind the first copy of an unrolled loop */
} BodyBuilder;

/* Numbers of counters (number.c). A number has the least width that its range fits, unsigned if it
 * is never negative. */
typedef struct Number {
    NodeId node;
    int64_t low, high;
} Number;

/* An unsigned quotient, or remainder, by a constant. NO_NODE: the divisor is not constant, or the
 * number too wide. */
NodeId to_rtl_divide(Graph *g, NodeId a, NodeId divisor, bool wants_rest);
/* The value of an expression over the loop's counters, divisors constant. */
Number to_rtl_number(BodyBuilder *b, const AffineExpr *expr);
/* An expression over an op's index operands, which begin at `first`, over the loop's counters; NULL:
 * an index is computed or unknown, or to_rtl_number has no bits for it. */
const AffineExpr *to_rtl_over_counters(const BodyBuilder *b, const Op *op, uint32_t first,
                                       const AffineExpr *expr);
bool to_rtl_refuse_index(const Op *op); /* diagnoses; false */
/* Whether the counters are in the op's set. NO_NODE: always. False: diagnosed. */
bool to_rtl_condition(BodyBuilder *b, const Op *op, NodeId *out) MUST_CHECK;

/* Arrays (array.c). False: diagnosed. */
bool to_rtl_declare_arrays(RtlProcess *p) MUST_CHECK;
const RtlArray *to_rtl_array(const RtlProcess *p, const Value *array);
/* Accesses (access.c). Scalars go to `out`, or come from `in`: as many as the op's value has. */
bool to_rtl_load(BodyBuilder *b, const Op *op, NodeId *out) MUST_CHECK;
bool to_rtl_store(BodyBuilder *b, const Op *op, const NodeId *in) MUST_CHECK;
/* Makes the contents of a variable undefined, where a loop's body declares it. */
void to_rtl_forget(BodyBuilder *b, const Value *array);

/* The graph of a loop (body.c). */
bool to_rtl_body(RtlProcess *p, uint32_t loop) MUST_CHECK;
/* Sums over unrolled loops as trees, products in chains as slices (balance.c). */
void to_rtl_balance(RtlProcess *p, Graph *g);
/* Which cells hold something that an iteration or frame leaves for another, of all loops: finds
 * the nodes that are needed (live.c). */
void to_rtl_find_live(RtlProcess *p);
/* Whether the load, which follows the store, may find what it has stored in the same iteration
 * (meet.c). */
bool to_rtl_meet(const Graph *g, const Store *store, const Load *load);
/* The cycle of each node (time.c). False: diagnosed. */
bool to_rtl_schedule(RtlProcess *p, uint32_t loop) MUST_CHECK;
/* The cycle of an iteration in which the cell is written. */
int64_t to_rtl_cell_stage(const Graph *g, uint32_t cell);
/* Cycles from an operand to the node's result. */
int64_t to_rtl_latency(const Node *n, uint32_t operand);

/* What a node may be, taken as a signed number (range.c). */
typedef struct NodeRange {
    bool is_known;     /* low and high are; they fit 62 bits */
    int64_t low, high; /* both at most so far */
    uint32_t bits;     /* of a signed number that holds it */
} NodeRange;
NodeRange to_rtl_range(const Graph *g, NodeId id);

/* The library (library.c). */

/* The device's DSP slices. */
typedef struct RtlSlices {
    const char *kind;                   /* of ming_dsp */
    uint32_t wide, narrow, accumulator; /* bits */
} RtlSlices;

/* The library's modules of a design. */
typedef struct RtlLibrary {
    Builder outside; /* for declarations */
    PtrMap modules;  /* Ident of the symbol -> hw.module.extern */
    RtlSlices slices;
    bool is_generic; /* no primitives of the vendor */
} RtlLibrary;

/* An instance of a DSP slice. Values that are not there are NULL. */
typedef struct RtlDsp {
    Value *clock, *ce_first, *ce_in, *ce_product, *ce_sum;
    Value *a, *b, *c, *d, *pcin; /* (a + d) * b + c, or + pcin */
    uint32_t a_registers, b_registers;
    uint32_t width; /* of the result */
} RtlDsp;

/* For a module with its device's slices; declarations go to the point of `outside`. */
RtlLibrary to_rtl_library(const Op *module, bool is_generic, const Builder *outside);
void to_rtl_library_free(RtlLibrary *library);
typedef struct RtlFifo {
    const char *kind;
    uint32_t width;
    int64_t depth, latency; /* latency: of words and places, 1 for kind "reg" */
} RtlFifo;

/* Instances, at the builder's point. */
Op *to_rtl_fifo(RtlLibrary *l, Builder *b, const RtlFifo *fifo, Str name, Value *const *inputs);
Op *to_rtl_dsp(RtlLibrary *l, Builder *b, const RtlDsp *dsp);

/* Making ops. */

/* The pipeline of a loop. Stages are the cycles of an iteration. */
typedef struct LoopControl {
    const HlsLoop *loop;
    Value *counters[HLS_MAX_LOOPS];
    Value *wants;  /* it is the loop's turn, and the wait is over */
    Value *spaced; /* the iteration before is an interval ahead or gone, in a pipeline that flushes;
                        NULL: it always is. Given last */
    Value *begins; /* an iteration is in the first stage */
    bool by_stage; /* stages wait for themselves: it flushes, or its frames stall by themselves */
    Value *run;    /* whether the pipeline moves as a whole; by stage: true. Given last */
    Value **present; /* per stage: an iteration is there */
    Value **valid;   /* per stage: one that goes on if `run` lets it */
    Value **moves;   /* per stage: the enable of the registers that hold what is there */
    Value **ready;   /* by stage: its streams let an iteration go on, or NULL; given last */
} LoopControl;

/* A module being built for a process. */
typedef struct RtlModule {
    RtlProcess *process;
    RtlLibrary *library;
    Op *module;
    Builder b;
    Value *clock, *reset;
    LoopControl *loops; /* of each loop */
    Value **cells;      /* registers of the live cells, else NULL */
    Value **banks;      /* memories */
} RtlModule;

/* Logic (control.c). */
Value *to_rtl_both(RtlModule *m, Value *x, Value *y);
Value *to_rtl_either(RtlModule *m, Value *x, Value *y);
Value *to_rtl_true(RtlModule *m);
/* The conjunction of what op_set_operands gives it later. */
Value *to_rtl_later(RtlModule *m);
/* A register that starts at a number. enable: NULL: always. */
Value *to_rtl_counter(RtlModule *m, uint32_t width, int64_t first, Value *enable, const char *name);

/* The words for which a loop that rewinds waits before a frame, while the frame before leaves. */
typedef struct FrameGate {
    int64_t position; /* flat, of the first iteration that reads */
    Value **words;    /* per stage: what that reads in it has come; NULL: it reads nothing in it */
    int64_t stages;   /* up to the last in which it reads; 0: the loop does not wait */
} FrameGate;

/* The controllers of all loops (control.c), of which m->loops has the first part already. */
LoopControl to_rtl_begin_control(RtlModule *m, const HlsLoop *loop);
void to_rtl_control(RtlModule *m, const FrameGate *gate);

typedef struct Repeat Repeat;
/* Whose turn it is, and when (sequence.c). */
typedef struct Sequence {
    Value *wait;     /* cycles until the next iteration begins */
    Value *advances; /* the enable of these registers */
    Value *phase;  /* the loop whose turn it is, behind the last one at rest; NULL: always one's */
    Value *drains; /* a pipeline that flushes has its last iteration; NULL: none does */
    Value *ends;   /* that begins now */
    Repeat *repeats; /* per step: a loop around loops */
} Sequence;

/* Gives each loop its counters, and when its iterations begin; what then leaves a pipeline is known
 * when all are built. */
Sequence to_rtl_sequence(RtlModule *m);
void to_rtl_end_sequence(RtlModule *m, const Sequence *sequence);
/* Whether the loop's counters are at a flat position of its box. */
Value *to_rtl_is_at(RtlModule *m, const LoopControl *c, int64_t flat);

/* The values of a graph's nodes in the cycles in which they are needed (datapath.c). */
typedef struct Datapath {
    RtlModule *m;
    const Graph *g;
    const LoopControl *control;
    Value **words; /* per access: the word of its stream */
    uint32_t stages;
    uint32_t *uses;     /* per node: operands that it is, and outputs */
    bool *is_used;      /* per node: it is needed in some stage */
    uint8_t *is_needed; /* per node and stage */
    Value **values;     /* per node and stage */
} Datapath;

/* Builds all nodes. words: as above, for reads. */
Datapath to_rtl_datapath(RtlModule *m, const Graph *g, const LoopControl *control, Value **words);
Value *to_rtl_at(const Datapath *d, NodeId id, int64_t stage);
void to_rtl_datapath_free(Datapath *d);
/* A value of a stage in a later one: registers. */
Value *to_rtl_delayed(const Datapath *d, Value *value, int64_t stage, int64_t cycles);
/* Whether a node is nothing but wires. */
bool to_rtl_is_wire(NodeKind kind);

/* A node as a DSP slice (slice.c): (a + d) * b + sum. */
typedef struct Slice {
    NodeId a, b, d, sum; /* d, sum: NO_NODE: none */
    NodeId pre_add;      /* the node a + d */
    uint32_t a_width, b_width, d_width;
    uint32_t width; /* of the product */
    uint32_t a_registers, b_registers;
    int64_t first;   /* cycle in which operands of one register are taken */
    bool is_cascade; /* the sum comes from the slice below */
} Slice;

/* Whether the cost model counts the product as one slice. */
bool to_rtl_is_slice_product(const Node *n);
/* False: the node is no slice. */
bool to_rtl_slice_of(const Datapath *d, NodeId id, Slice *out);
/* Whether the node is a product that the cost model counts as LUTs, or of addresses (product.c). */
bool to_rtl_is_fabric_product(const Node *n);
Value *to_rtl_build_product(const Datapath *d, NodeId id);
Value *to_rtl_build_slice(const Datapath *d, NodeId id, const Slice *slice);

/* What an iteration does in a stage happens if it goes on and its condition holds. */
Value *to_rtl_happens(const Datapath *d, int64_t stage, NodeId where);

/* Memories and registers (storage.c). They exist before the datapaths that store to them. */
void to_rtl_storage(RtlModule *m);
void to_rtl_connect_cells(RtlModule *m, const Datapath *paths);
void to_rtl_build_store(const Datapath *d, const Store *s);

/* Streams (transfer.c). False: diagnosed. */
/* Whether words of a frame may come to a process, or leave it, before it is known that the frame
 * comes, because something writes before it reads. */
bool to_rtl_has_early_words(const HlsDesign *design, const HlsProcess *p);
bool to_rtl_check_transfers(const Graph *g) MUST_CHECK;
FrameGate to_rtl_frame_gate(RtlModule *m);
/* What waits for streams, and the module's outputs. */
void to_rtl_connect_streams(RtlModule *m, const Datapath *paths);
/* The word of a stream that is read (0), or whether there is one or room for one (1). */
Value *to_rtl_stream_input(RtlModule *m, uint32_t port, int which);
/* The module of a process; NULL: diagnosed. */
Op *to_rtl_process(const HlsDesign *design, const HlsProcess *model, RtlLibrary *library,
                   Builder *b) MUST_CHECK;

/* What follows the name of a stream in the names of its ports: of one that is read, of one that is
 * written. */
enum { TO_RTL_SUFFIXES = 3 };
extern const char *const to_rtl_suffixes[2][TO_RTL_SUFFIXES];
/* Whether all of the design is of a kind that has hardware (check.c). False: diagnosed. */
bool to_rtl_check_design(const HlsDesign *design) MUST_CHECK;
/* All modules of a design, at the builder's point. is_generic: without primitives of the vendor.
 * False: diagnosed; some may be there. */
bool to_rtl_design(const HlsDesign *design, bool is_generic, Builder *b) MUST_CHECK;

#endif
