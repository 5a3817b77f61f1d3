/* Shared by the files of load-weights, and by the passes that add processes at ports. */
#ifndef MING_PASSES_DFG_INTERNAL_H
#define MING_PASSES_DFG_INTERNAL_H

#include "dialects/emithls/emithls.h"
#include "ir/core/core.h"
#include "passes/dfg/passes.h"

enum { MAX_TABLE_RANK = 32 };

/* The places of new ops in the top function: streams and then readers in front of the existing ops,
 * writers at the end. */
typedef struct PortPlaces {
    Op *process;  /* readers' functions come before it */
    Op *dataflow; /* interfaces before it */
    Op *stream;   /* streams behind it: the last one added */
    Op *call;     /* readers' calls before it */
} PortPlaces;

/* A table that is loaded into a variable of a function. */
typedef struct LoadedTable {
    Op *func, *table;
    Value *variable;
    size_t order; /* in which tables were found */
    /* Set by load_table_plan. */
    int64_t chunk;    /* elements that are taken in an iteration */
    int64_t units;    /* integers that a word of the chain has */
    int64_t per_word; /* elements of a word, a power of two; each unit has as many of them */
    bool gathers;     /* rows of several chunks are gathered in registers */
    /* Set by load_table_declare. */
    Value *row;  /* these registers, or NULL */
    Value *word; /* a word of several chunks or units while it is taken apart, or NULL */
} LoadedTable;

/* A variable beside a table, "x_row". */
Value *load_table_variable(EmithlsNest *nest, const Op *table, const char *what, const Type *elem,
                           const int64_t *dims, uint32_t rank);
/* Name of the counter of loop `i` over a table's dimensions. */
const char *load_table_counter(uint32_t i);
/* How often each table is taken, by its Ident; of what is taken once nobody else sees a change. */
void load_table_count_gets(Op *module, PtrMap *gets);
/* Decides how a table comes; has_rows: elements along its last dimension make a word of the memory,
 * or are banks that are written together. word: of the chain, an integer or several of 64 bits, none of
 * fewer bits than an element. */
void load_table_plan(LoadedTable *t, bool has_rows, const Type *word);
/* Iterations in which it is filled. */
int64_t load_table_trips(const LoadedTable *t);
/* Declares the registers that loading takes, in front of `place`. word: type of the chain's words. */
void load_table_declare(LoadedTable *t, Op *place, const Type *word);
/* Builds the nest that fills the variable from the words of the chain. */
void load_table(EmithlsNest *nest, const LoadedTable *t, Value *chain_in);

/* The port of the words (load_port.c). */

typedef enum LoadKind {
    LOAD_AXIS,
    LOAD_M_AXI,
    LOAD_AXILITE,
} LoadKind;

typedef struct LoadPort {
    Op *top;
    LoadKind kind;
    const Type *word;
    int64_t words, trips; /* iterations that loading takes */
    int64_t chain;        /* number of the chain that it begins, or 0 */
    const Attr *die;      /* of the process that is loaded first; NULL: none */
} LoadPort;

/* Adds it; the stream that the chain begins with. */
Value *load_table_port(SymbolTable *symbols, const LoadPort *port, const char *name,
                       PortPlaces *places);
/* What is built there happens in the first call only. */
EmithlsNest load_table_once(Builder *b);

/* Streamed tables (stream_table.c). */

enum { STREAM_MOST_PORTS = 8 };

typedef struct StreamedTable {
    Op *func, *get, *table;
    Value *array;   /* result of get */
    Op *loop;       /* that takes a row in every iteration */
    uint32_t count; /* of its counters */
    int64_t extents[NEST_MAX_COUNTERS];
    int64_t strides[NEST_MAX_COUNTERS]; /* of each counter in rows of the table; 0: rows again */
    uint32_t row_rank;                  /* dimensions of the table in front of a row's */
    int64_t words;                      /* elements of the array in a row */
    int64_t lanes, bits;                /* elements of a row, bits of an element */
    /* Set by stream_table_plan. */
    uint32_t run_begin, run_end; /* counters of a run; those behind them keep the row */
    int64_t run, runs;           /* rows of a run; runs of the table */
    StreamShape shape;           /* of a run */
    int64_t bus_lanes, bus_words;
    int64_t ports; /* that bring a bus word together, each an equal part of it */
    const Type *bus, *row;
    const Type *part; /* of a bus word that a port brings */
} StreamedTable;

/* port_bits: of the widest port; most_ports: over which a bus word may be spread. */
void stream_table_plan(StreamedTable *t, int64_t port_bits, int64_t most_ports);
/* Bus words of a frame. */
int64_t stream_table_beats(const StreamedTable *t);
/* The memories, by ports, as tensors of their integers; false: they are too large. */
bool stream_table_images(const StreamedTable *t, const Attr **images) MUST_CHECK;
/* "x", or "x_1" of a port of several. */
void stream_table_name(const StreamedTable *t, int64_t port, StrBuf *out);
/* The processes in front of the table's own one. */
Op *stream_table_reader(SymbolTable *symbols, const StreamedTable *t, int64_t port,
                        const Value *memory);
/* Joins the words of all ports; its arguments are the first port's stream, that of bus words, and the
 * streams of the other ports. */
Op *stream_table_gatherer(SymbolTable *symbols, const StreamedTable *t);
Op *stream_table_unpacker(SymbolTable *symbols, const StreamedTable *t);

/* Processes at ports. */

/* False: diagnosed, the top function has no port_attrs, dataflow or calls. */
bool port_process_places(Op *top, PortPlaces *out) MUST_CHECK;
/* Whether a memory may be added: not where it was chosen how calls are told of. False: diagnosed. */
bool port_process_takes_memory(const PortPlaces *places) MUST_CHECK;
/* The top function's only call of a process; NULL: there is none, or there are several, each of which
 * would need streams of its own. */
Op *port_process_call_to(Op *top, const Op *func);
/* Whether the calls that take a stream read it. */
bool port_process_is_read(const Value *stream);
/* Words of a frame (emithls.frame) of the stream that argument `index` is. False: diagnosed. */
bool port_process_words(const Op *top, uint32_t index, int64_t *words) MUST_CHECK;
/* trips: iterations, each of which moves so many lanes. */
const Attr *port_process_report(Context *ctx, const char *class, int64_t trips, int64_t lanes);
/* A function of two arguments, before `place` in the module and beside the port's process on a die;
 * the body is empty. port: the argument of the top function. */
Op *port_process_create(SymbolTable *symbols, const Value *port, Op *place, const char *name,
                        const Attr *report, const Type *const *types, const char *const *names);
/* The same on a die that is given; NULL: on none. */
Op *port_process_create_at(SymbolTable *symbols, const Attr *die, Op *place, const char *name,
                           const Attr *report, const Type *const *types, const char *const *names);
/* Appends an argument to a function, and its attributes to port_attrs if there are any. */
Value *port_process_argument(Op *func, const char *name, const Type *type, const Attr *port);
/* A stream called "<port>_<suffix>". is_fixed: fit-fifos leaves its depth alone. */
Value *port_process_stream(PortPlaces *places, Str port, const char *suffix, const Type *type,
                           bool is_fixed);
/* One whose words wait for a process that pauses now and then: fit-fifos may only make it deeper. */
Value *port_process_deep_stream(PortPlaces *places, Str port, const char *suffix, const Type *type);
/* Calls a process: readers in front of the others, writers behind them. */
void port_process_call(const PortPlaces *places, const Op *process, bool is_reader, Value *from,
                       Value *to);

#endif
