/* Between emit_function.c (a function: comment, signature, frames) and emit_stmt.c (its body). */
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

void print_line(Function *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A "#pragma HLS" line. */
void print_pragma(Function *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* An identifier like raw that is not in use here or at file scope. */
const char *function_name(Function *f, Str raw);
const char *declare_name(Function *f, const Value *value, Str raw);
/* Names all array reads that a coming side effect must not overtake. */
void flush_pending(Function *f);
/* The statements of a block. False: diagnosed. */
bool print_block(Function *f, Block *block) MUST_CHECK;

#endif
