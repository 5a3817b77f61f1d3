/* Between emit_function.c (a function: comment, signature, frames), emit_stmt.c (its body), emit_loop.c
 * and emit_pragma.c. */
#ifndef MING_EMIT_EMIT_FUNCTION_H
#define MING_EMIT_EMIT_FUNCTION_H

#include "emit/emit_impl.h"

/* A C++ function being printed. */
typedef struct Function {
    Emitter *e;
    StrBuf *out;
    int depth;           /* of indentation */
    PtrMap names;        /* Value* -> name: arrays, streams, counters */
    PtrMap extents;      /* counter Value* -> extent + 1 as uintptr_t */
    PtrMap exprs;        /* Value* -> Expr* */
    VEC(Value *) pending; /* single-use values that read arrays, not printed yet */
    VEC(const char *) scope;  /* names visible here */
    VEC(const char *) labels;
    const char *frame;   /* counter of frames, where the function accesses memories; or NULL */
    const char *frames;  /* how many, in a top function of memories */
} Function;

void emit_line(Function *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A "#pragma HLS" line. */
void emit_pragma(Function *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* An identifier like raw that is not in use here or at file scope. */
const char *emit_function_name(Function *f, Str raw);
const char *emit_declare_name(Function *f, const Value *value, Str raw);
/* Of an array, a stream or a counter that has been declared. */
const char *emit_name_of(const Function *f, const Value *value);
/* A label like raw that is not in use in the function, and its line, one step to the left. */
const char *emit_fresh_label(Function *f, Str raw);
void emit_label(Function *f, const char *label);
/* Names all array reads that a coming side effect must not overtake. */
void emit_flush_pending(Function *f);
/* The statements of a block. False: diagnosed. */
bool emit_block(Function *f, Block *block) MUST_CHECK;
/* Those of an op's region, one step to the right, with names of their own. */
bool emit_body(Function *f, Op *op) MUST_CHECK;

/* Prints one op. False: diagnosed. */
typedef bool StmtPrinter(Function *f, Op *op);
StmtPrinter emit_for MUST_CHECK; /* emit_loop.c; the others: emit_pragma.c */
StmtPrinter emit_array_pragma, emit_bind_storage, emit_dependence, emit_interface, emit_dataflow;

#endif
