/* A dialect for unit tests of the core, whose rows need neither parser nor printer:
 *   toy.const   constant of an integer attribute       toy.add   pure, commutative, folds
 *   toy.neg     an involution                          toy.use   has effects, any operands
 *   toy.read    reads                                  toy.seg   two variadic operand groups
 *   toy.func    isolated, one region                   toy.br    branch with operands
 *   toy.end     terminator without successors          toy.old   is rewritten by tests */
#ifndef MING_TEST_TOY_H
#define MING_TEST_TOY_H

#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "ir/rewrite/rewrite.h"

#define TOY_ARG(NAME)                                                                              \
    {                                                                                              \
        .name = NAME, .type = &TYPE_ANY                                                            \
    }
#define TOY_ARGS(NAME)                                                                             \
    {                                                                                              \
        .name = NAME, .type = &TYPE_ANY, .arity = ARITY_VARIADIC                                   \
    }

enum {
    TOY_CONST,
    TOY_ADD,
    TOY_NEG,
    TOY_USE,
    TOY_READ,
    TOY_SEG,
    TOY_FUNC,
    TOY_BR,
    TOY_END,
    TOY_OLD,
    TOY_OP_COUNT
};

extern const DialectDef toy_dialect;
extern const OpDef toy_ops[TOY_OP_COUNT];
#define TOY(ID) (&toy_ops[TOY_##ID])

/* Makes a context with the dialect; the handler collects error texts into `errors`. */
typedef struct Toy {
    Context *ctx;
    StrBuf errors; /* main texts, each with a newline */
    Op *func;      /* toy.func with an entry block; erased by toy_free */
    Builder b;     /* at the entry's end */
    const Type *i32;
} Toy;

void toy_init(Toy *toy);
void toy_free(Toy *toy);
Value *toy_const(Toy *toy, int64_t value);
Value *toy_add(Toy *toy, Value *lhs, Value *rhs);
Op *toy_use(Toy *toy, Value *value);
/* Ends the function with toy.end. */
void toy_end(Toy *toy);
/* "const add use end": names of the ops of the entry block. */
const char *toy_text(Toy *toy, StrBuf *out);

#endif
