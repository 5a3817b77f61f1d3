/* The inside of the emitter, for the sources of emit/ only. The Emitter is the state that all
 * printers share: emit_prepare fills it, and after that printers only read it and the module.
 * Texts that the cpp_ functions give live in the emitter's arena. A printer appends to a StrBuf and
 * returns false after a diagnostic at the op that has no C++ form.
 * Tests: lit/emit, test/unit/emit, test/e2e */
#ifndef MING_EMIT_INTERNAL_H
#define MING_EMIT_INTERNAL_H

#include "emit/emit.h"

/* How much text a project may have.
 * Tests: lit/emit/text-limit.mir */
typedef struct TextBudget {
    int64_t most;  /* bytes of all files; 0: no limit */
    size_t before; /* of files in front of the one that is being printed */
} TextBudget;
/* Appends an empty file, to be printed after all that are there. */
EmittedFile *emit_add_file(TextBudget *budget, EmittedFiles *files);
/* Whether the file that is being printed may have that many bytes. False: diagnosed at the op. */
bool emit_has_room(const TextBudget *budget, const Op *op, size_t bytes) MUST_CHECK;

/* The shared state: the module, its names and its ports. */

/* The quantizer of a boundary tensor: real = (q - zero_point) * scale / divisor. */
typedef struct EmitQuantizer {
    double scale;
    int64_t zero_point, divisor;
    int64_t low, high; /* of q at an input */
    Str rounding;      /* QONNX's name */
    bool is_signed;
    bool is_bipolar; /* an input takes 1 where it is not negative, else -1 */
} EmitQuantizer;

/* An argument of the top function: how its stream carries a tensor of the model. */
typedef struct EmitPort {
    const char *name; /* C++ */
    Str tensor;       /* the model's name */
    bool is_input;
    const Type *word;       /* of the stream */
    const Type *bus;        /* of a memory, or NULL */
    bool is_mapped;         /* it is in the accelerator, behind AXI4-Lite */
    int64_t bus_words;      /* of a memory, per frame */
    int64_t beat_bits;      /* of a DMA's stream; 0: it is none */
    const char *beat;       /* of a DMA's stream: C++ type of a beat */
    const char *convert;    /* and function between beats and words */
    bool is_weights;        /* what loaded tables come through */
    int64_t loading_cycles; /* of such a port: iterations of the loops that load; else 0 */
    int64_t instance;       /* of a tile, from 0; ports of the first one have the files */
    uint32_t first;         /* which port of the first instance it is, where it is of another one */
    bool is_unsigned;       /* of 64 bits, which stand for themselves; has no quantizer */
    uint32_t rank;
    int64_t *shape;        /* in the model */
    uint32_t *order;       /* model dimension behind each dimension of the stream */
    int64_t *word_extents; /* by dimensions of the stream */
    int64_t words_per_frame;
    int64_t element_bits;       /* in memory, from one element of a word to the next */
    int64_t word_bits;          /* in memory, from one word to the next */
    const EmitQuantizer *quant; /* NULL: the elements are the numbers themselves */
} EmitPort;
/* Whether integers at the port have a sign. */
bool emit_port_is_signed(const EmitPort *port);

/* Headers and helpers that printed code uses beside the project's own headers, a bit each. A
 * printer records them when it prints the text that needs them. The heads of files are written
 * last, so they need not search the text. */
enum {
    EMIT_NEEDS_AP_INT = 1,   /* <ap_int.h> */
    EMIT_NEEDS_HLS_MATH = 2, /* <hls_math.h> */
    EMIT_NEEDS_LIMITS = 4,   /* <limits>: numbers that are not finite */
    EMIT_NEEDS_BITS_AS = 8,  /* the helper function bits_as */
    EMIT_NEEDS_PACKED = 16,  /* the helper function packed */
    EMIT_NEEDS_POPCOUNT = 32 /* the helper function popcount */
};

/* Everything the printers share; filled by emit_prepare. */
typedef struct Emitter {
    Context *ctx;
    Op *module, *top;
    const EmitOptions *options;
    Arena arena;
    TextBudget budget;
    PtrMap globals;          /* symbol Ident* -> C++ name */
    PtrMap fifos;            /* emithls.stream Op* -> C++ name, once the top function is printed */
    PtrMap word_aliases;     /* vector Type* -> alias name */
    VEC(const Type *) words; /* vector types in order of appearance */
    PtrMap taken;            /* set of Ident*: file-scope names in use */
    VEC(EmitPort) ports;     /* of the top function, in order */
    PtrMap
        beats; /* arguments that are streams of a DMA, of the top function and of processes -> number of the port + 1 */
    bool has_beats;
    const char *top_name;
    PtrMap packed;           /* symbols of the tables whose last dimension is a memory's word */
    PtrMap word_tables;      /* symbols of the tables that are read word by word -> vector type */
    const EmitPort *weights; /* the port that loaded tables come through, or NULL */
    bool has_registers;      /* memories, whose addresses are in registers, as is what starts it */
    bool has_memories;       /* some port is a memory: the top function takes a number of frames */
    /* EMIT_NEEDS_*. AP_INT and HLS_MATH: of any op or type of the module, found by emit_prepare;
     * the others: of the functions, recorded while their statements are printed. */
    uint32_t needs;
    VEC(const char *) warnings; /* of functions that were printed, "name: what takes long" */
    bool has_schedule;          /* <top>_schedule.h is written */
    const char *rtl_top;        /* the top module's name in Verilog, once that is printed */
} Emitter;

enum { EMIT_MAX_PORT_WIDTH = 64 }; /* bits of an element */
/* Reads a port of which only `word` is set: emithls.frame, and, if they are there, emithls.word and
 * dfg.layout. quant: dfg.quant, or NULL. False: diagnosed. */
bool emit_read_carrier(Emitter *e, const Attr *attrs, const Attr *quant, EmitPort *port) MUST_CHECK;
/* ming::Port("x", {1, 3, 32, 32}).stream_order(…).word(…).integers(…).quantize(…).packing(…), with
 * `indent` in front of each dot. */
void emit_port_value(StrBuf *out, const EmitPort *port, const char *indent);
/* <top>_trace.h, if the module names tensors of its network (trace/trace.c). False: diagnosed. */
bool emit_has_trace(const Emitter *e);
bool emit_trace(Emitter *e, StrBuf *out) MUST_CHECK;

/* Chooses file-scope names, collects the word types, reads the ports. False: diagnosed. */
bool emit_prepare(Emitter *e) MUST_CHECK;
/* C++ spelling of a scalar, word or stream type, in the emitter's arena. */
const char *cpp_type(Emitter *e, const Type *type);
/* The form of a table's elements in the parameter header: builtin integers up to 64 bits, because
 * initialisers of class type cost the C++ compiler kilobytes each. */
typedef struct TableForm {
    const char *elem; /* C++ type of an element of the C++ array */
    int64_t per_word; /* elements of the table in one of the C++ array; 1: not packed */
    bool is_exact;    /* an element of the C++ array has the width of the table's */
    int64_t bits;     /* of a word, where elements of the C++ array are words of bits; else 0 */
} TableForm;
enum { PACKED_BITS = 64 };
TableForm emit_table_form(Emitter *e, const Op *table);
/* A new file-scope name like an identifier, in the arena. */
const char *cpp_file_name(Emitter *e, const char *stem);
/* The C++ name of a symbol of the module. */
const char *cpp_global(const Emitter *e, const Ident *symbol);
/* An identifier like raw that is neither at file scope nor in the list; in the arena. */
const char *cpp_fresh_name(Emitter *e, Str raw, const char *const *used, size_t used_count);
/* Reads the top function's boundary into e->ports (emit_ports.c). False: diagnosed. */
bool emit_ports(Emitter *e) MUST_CHECK;

/* Expressions.
 * Tests: lit/emit/expressions.mir, lit/emit/expressions-float.mir */

/* Binding strength of a printed expression, weakest first. */
typedef enum Prec {
    PREC_TERNARY,
    PREC_OR,
    PREC_AND,
    PREC_BITS,
    PREC_EQUAL,
    PREC_COMPARE,
    PREC_SHIFT,
    PREC_ADD,
    PREC_MUL,
    PREC_UNARY,
    PREC_PRIMARY
} Prec;

/* The type of a printed expression, as far as C++ knows it. */
typedef enum CppKind {
    CPP_AP,      /* some ap_int expression, exact: results grow */
    CPP_TYPED,   /* exactly cpp_type of the IR type */
    CPP_BUILTIN, /* a builtin integer: literals, and elements of tables */
    CPP_BOOL,
    CPP_FLOAT
} CppKind;

__extension__ typedef __int128 Wide;

static inline Wide wide_pow2(uint32_t bits)
{
    return (Wide)1 << bits;
}

static inline Wide wide_min(Wide a, Wide b)
{
    return a < b ? a : b;
}

static inline Wide wide_max(Wide a, Wide b)
{
    return a > b ? a : b;
}

/* An IR value as C++. For integers the expression's mathematical value is the IR value read as
 * signed (i1: as 0 or 1), and lies in [low, high]. */
typedef struct Expr {
    const char *text;
    const char *uncast; /* the same before the cast that wraps it to its width, or NULL */
    Prec prec;
    CppKind kind;
    Wide low, high;
    bool reads;     /* contains an array access: must not move across a store */
    uint32_t needs; /* EMIT_NEEDS_* of the text */
} Expr;

/* Prints one arith or math op, given its operands. False: diagnosed, the op has no C++ form. */
typedef bool ExprPrinter(Emitter *e, const Op *op, const Expr *operands, Expr *out);
ExprPrinter cpp_expr MUST_CHECK;
/* Whether the op's text has each operand twice. */
bool cpp_repeats_operands(const Op *op);
/* Expression of a declared variable or array element of that type. */
Expr cpp_leaf(const char *text, const Type *type, bool reads);
/* The text for a context that binds with `prec`: in parentheses if it binds weaker. */
const char *cpp_parens(Emitter *e, const Expr *expr, Prec prec);
Expr cpp_boolean(const char *text, Prec prec, bool reads);
/* The value of an integer read as unsigned, or as signed, in which case true is -1. */
Expr cpp_unsigned(Emitter *e, const Expr *expr, const Type *type);
Expr cpp_signed(Emitter *e, const Expr *expr, const Type *type);
/* Affine expressions over counters: the op that has them, names and extents by dimension. The text
 * computes in int, or in long long where a part of it may be too large for that. NULL: diagnosed, it
 * may be too large for that as well. */
typedef struct Counters {
    const Op *op;
    const char *const *names;
    const int64_t *extents;
} Counters;
const char *cpp_affine(Emitter *e, const AffineExpr *expr, uint32_t dims, const Counters *counters,
                       Prec prec);
const char *cpp_condition(Emitter *e, const IntegerSet *set, const Counters *counters);
const char *emit_arena_printf(Arena *arena, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The printer of an op of floats or of math, or NULL. */
ExprPrinter *cpp_float_printer(const OpDef *def);
/* Whether the printed op calls a function of hls_math.h. */
bool cpp_is_math_call(const OpDef *def);
bool cpp_float_constant(Emitter *e, const Attr *value, Expr *out);

/* The files of a project. Each function appends one file, whose name stands beside it where the
 * function's name does not tell it.
 * Tests: lit/emit */

bool emit_functions(Emitter *e, StrBuf *out) MUST_CHECK; /* <top>.cpp's functions */
/* Appends a line for each loop and array for which synthesis will take long, and warns of it. */
void emit_limit_notes(Op *func, StrBuf *out);
/* "hls::stream<T> &x", or "const T *x" for a memory that is read. */
void emit_parameter(Emitter *e, StrBuf *out, const Value *arg, const char *name);
/* start, the parameters on as many lines as they take, ")". */
void emit_signature(StrBuf *out, const char *start, const char *const *parameters, size_t count);
void emit_header(Emitter *e, StrBuf *out);
/* "void TOP(hls::stream<T> &x)", with these names of arguments, and of the number of frames. */
void emit_prototype(Emitter *e, StrBuf *out, const char *const *names, const char *frames);
/* #ifndef and #define of <TOP><suffix>. */
/* Streams of DMAs (emit_dma.c): names, the type of a beat, and functions between beats and words. */
bool emit_dma_ports(Emitter *e) MUST_CHECK; /* False: diagnosed */
/* The port behind an argument of the top function or of a process; NULL: no stream of a DMA. */
const EmitPort *emit_dma_port(const Emitter *e, const Value *stream);
void emit_dma_types(Emitter *e, StrBuf *out);
/* Records what the functions need. */
void emit_dma_functions(Emitter *e, StrBuf *out);
void emit_begin_guard(const Emitter *e, StrBuf *out, const char *suffix);
bool emit_params(Emitter *e, StrBuf *out) MUST_CHECK; /* <top>_params.h */
void emit_host(Emitter *e, StrBuf *out);              /* <top>_host.h */
void emit_testbench(Emitter *e, StrBuf *out);
void emit_library(Emitter *e, StrBuf *out); /* <top>_lib.cpp */
/* The elements of the tables that are loaded through a port as .npy, and the file's path in the
 * project: on cards it is beside the kernel that sends them (emit/kernels). */
bool emit_weights(Emitter *e, size_t port, StrBuf *out) MUST_CHECK;
void emit_weights_path(const Emitter *e, size_t port, StrBuf *out);
/* <top>_schedule.h; empty where cosim cannot follow one. False: diagnosed. */
bool emit_schedule(Emitter *e, StrBuf *out) MUST_CHECK;
void emit_rtl_testbench(Emitter *e, StrBuf *out); /* <top>_rtl_tb.cpp */
/* The top module's name in Verilog: its file is the last source. */
const char *emit_rtl_top(Emitter *e, const EmittedFiles *files);
/* The targets of the Makefile that are about Verilog, and what its head says of them. */
void emit_rtl_usage(StrBuf *out);
void emit_rtl_targets(const Emitter *e, StrBuf *out);
void emit_vivado(Emitter *e, StrBuf *out);           /* rtl/vivado.tcl */
void emit_clock_constraint(Emitter *e, StrBuf *out); /* rtl/clock.xdc */
/* Adds Verilog, library and list of files below the folder, "" or one with a slash. False:
 * diagnosed. */
bool emit_add_rtl(const EmitOptions *options, TextBudget *budget, Op *rtl, const char *folder,
                  EmittedFiles *files) MUST_CHECK;
void emit_makefile(Emitter *e, StrBuf *out);
/* <top>_emulate.cpp, of a design on cards whose cycles cosim can follow, and its targets of the
 * Makefile (emit/cards). False: diagnosed. */
bool emit_has_emulation(const Emitter *e);
bool emit_emulation(Emitter *e, StrBuf *out) MUST_CHECK;
void emit_emulation_usage(StrBuf *out);
void emit_emulation_targets(const Emitter *e, StrBuf *out);
/* Appends a template with its words replaced: PERIOD by the clock's period, TOP by the top
 * function's name, PART by the device's part, FLOW and FORMAT by what the platform makes HLS aim at. */
void emit_template(const Emitter *e, StrBuf *out, const char *text);
/* The testbench's files, from the environment; those of the weights lie in the project, and are left
 * out of the second. */
void emit_file_arguments(const Emitter *e, StrBuf *out);
void emit_frame_arguments(const Emitter *e, StrBuf *out);
/* " INPUT=FILE.npy OUTPUT=FILE.npy": what `make csim` needs. */
void emit_csim_arguments(const Emitter *e, StrBuf *out);
/* Adds the files for the project's platform, if it has one. False: diagnosed. */
bool emit_add_board(Emitter *e, EmittedFiles *files) MUST_CHECK;
/* Whether a file below EMIT_BOARD_FOLDER is one of those of any platform. */
bool emit_is_board_file(Str name);
/* Calls visit with the name of each of them. */
void emit_each_board_file(void (*visit)(const char *name, void *user), void *user);
/* The platform's targets of the Makefile, and what its head says of them. */
void emit_board_usage(const Emitter *e, StrBuf *out);
void emit_board_targets(const Emitter *e, StrBuf *out);
void emit_hls_config(Emitter *e, StrBuf *out);
void emit_tcl(Emitter *e, StrBuf *out);
/* Of a design that is placed on dies: floorplan.tcl, a hook for Vivado, and link.cfg for v++. */
bool emit_is_placed(const Emitter *e);
void emit_floorplan(Emitter *e, StrBuf *out);
void emit_link(Emitter *e, StrBuf *out);
/* The name of the die that all placed processes are on; false: of none, or of several. */
bool emit_only_die(const Emitter *e, StrBuf *out);
/* A line of link.cfg for each memory port whose die has banks: which of them it reaches. */
void emit_banks(Emitter *e, StrBuf *out);
/* The process that a top function's stream is written by; NULL: none is. */
const Op *emit_writer_of(const Emitter *e, const Value *stream);
void emit_style(Emitter *e, StrBuf *out); /* .clang-format */
void emit_report(Emitter *e, StrBuf *out);
void emit_folding(Emitter *e, StrBuf *out);
/* The start of report.json, up to the top function's name as a JSON string. A directory whose
 * report begins so holds an earlier project. */
#define REPORT_NAME "report.json"
#define REPORT_START "{\n  \"generator\": \"ming\",\n  \"top\": "

/* Appends a file's contents (emit_files.c). False: diagnosed. */
bool emit_read_text_file(Context *ctx, const char *path, StrBuf *out) MUST_CHECK;
#define EMIT_BOARD_FOLDER "board/"
#define EMIT_CSIM_FOLDER "csim/"
/* What a project has in that folder; NULL ends it (emit_hls.c). */
extern const char *const emit_csim_names[];
#define RTL_SOURCES "files.f"     /* in the Verilog's folder: its sources, a line each */
#define RTL_MEMORIES "memories.f" /* the contents of its memories */
/* Appends the files that a project in the directory has by its lists or its kind, and those that a new
 * one has, as lines that emit_remove_stale reads (emit_stale.c). */
void emit_list_old_files(const char *dir, StrBuf *out);
void emit_list_files(const EmittedFiles *files, StrBuf *out);
/* Removes what the lines name, also by top functions, and the new project does not have. */
void emit_remove_stale(const char *dir, Str lines, const EmittedFiles *files);
/* Makes or renews a project's directory. False: appended to *why. */
/* "a/b//" -> "a/b"; "/" stays. The caller frees it. */
char *emit_without_slashes(const char *dir);
/* Makes the folders above a directory that are missing; *made counts them. False: errno says why. */
bool emit_make_parents(const char *dir, size_t *made) MUST_CHECK;
/* Removes the innermost `made` folders above a directory that are empty. */
void emit_remove_parents(const char *dir, size_t made);
/* Has the names above a directory on the disk, up to that of the first folder that was there when
 * `made` folders were made. False: errno says why. */
bool emit_sync_parents(const char *dir, size_t made) MUST_CHECK;

/* Foreign text and numbers as C++.
 * Tests: test/unit/emit/emit_test.c, lit/emit/hostile-names.mir */

/* Appends text inside a C++ comment, which it cannot end. */
void emit_comment_text(StrBuf *out, Str text);
/* Appends the C++ string literal with its quotes. */
void emit_string_literal(StrBuf *out, Str text);
/* Appends a C++ expression of exactly that value, of type float if `is_f32`. Returns the
 * EMIT_NEEDS_… bits that it uses. */
uint32_t emit_float_literal(StrBuf *out, double value, bool is_f32);
/* Appends extents with a separator: "1 x 2 x 3". */
void emit_extents(StrBuf *out, const int64_t *extents, size_t count, const char *separator);

/* Functions and statements: emit_function.c prints comment, signature and frames, emit_stmt.c the
 * body, with emit_loop.c and emit_pragma.c for its loops and pragmas.
 * Tests: lit/emit/functions.mir */

/* Identifiers in use, each with the number behind the last one that was made of it, or 1. */
typedef struct NameChange {
    const Ident *name;
    uintptr_t before; /* 0: it was not in use */
} NameChange;
typedef struct NameScope {
    PtrMap taken;            /* Ident* -> number as uintptr_t */
    VEC(NameChange) changes; /* of `taken`, in order */
} NameScope;
/* An identifier like raw that is neither in the scope nor a key of `outer`, which may be NULL; it
 * lives as long as the context, and is in use until a mark before it is left. */
const char *emit_scope_add(NameScope *scope, Context *ctx, const PtrMap *outer, Str raw);
/* Gives up the names since the changes were `mark` many. */
void emit_scope_leave(NameScope *scope, size_t mark);
void emit_scope_free(NameScope *scope);

/* A C++ function being printed. */
typedef struct Function {
    Emitter *e;
    StrBuf *out;
    int depth;            /* of indentation */
    PtrMap names;         /* Value* -> name: arrays, streams, counters */
    PtrMap extents;       /* counter Value* -> extent + 1 as uintptr_t */
    PtrMap exprs;         /* Value* -> Expr* */
    VEC(Value *) pending; /* single-use values that read arrays, not printed yet */
    NameScope scope;      /* names visible here */
    NameScope labels;
    const char *frame;  /* counter of frames, where the function accesses memories; or NULL */
    const char *frames; /* how many, in a top function of memories */
} Function;

void emit_line(Function *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A "#pragma HLS" line. */
void emit_pragma(Function *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* An identifier like raw that is not in use here or at file scope. */
const char *emit_function_name(Function *f, Str raw);
const char *emit_declare_name(Function *f, const Value *value, Str raw);
/* The name of an array, a stream or a counter that has been declared. */
const char *emit_name_of(const Function *f, const Value *value);
/* A label like raw that is not in use in the function, and its line, one step to the left. */
const char *emit_fresh_label(Function *f, Str raw);
void emit_label(Function *f, const char *label);
/* Prints all pending array reads as named constants, because a side effect comes that they must not
 * move behind. */
void emit_flush_pending(Function *f);
/* The statements of a block. False: diagnosed. */
bool emit_block(Function *f, Block *block) MUST_CHECK;
/* The statements of an op's region, one step to the right, in a scope of names of their own. */
bool emit_body(Function *f, Op *op) MUST_CHECK;

/* Prints one op. False: diagnosed. */
typedef bool StmtPrinter(Function *f, Op *op);
StmtPrinter emit_for MUST_CHECK; /* emit_loop.c; the others: emit_pragma.c */
StmtPrinter emit_array_pragma, emit_bind_storage, emit_dependence, emit_interface, emit_dataflow;

#endif
