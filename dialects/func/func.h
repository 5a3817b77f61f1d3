/* The func dialect: functions, calls, returns; and the text and checks that func-like ops of any
 * dialect share (ml_program uses them too). FUNC(ID) is the row of an op, which serves as its
 * identity: op->def == FUNC(FUNC).
 * Tests: lit/dialects/func */
#ifndef MING_DIALECTS_FUNC_FUNC_H
#define MING_DIALECTS_FUNC_FUNC_H

#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"

#define OP(ID, ...) FUNC_##ID,
enum {
#include "dialects/func/func_ops.def"
    FUNC_OP_COUNT
};
#undef OP

extern const OpDef func_ops[];
extern const DialectDef func_dialect;
#define FUNC(ID) (&func_ops[FUNC_##ID])

/* The function type of a func-like op, never NULL in verified IR. */
const Type *func_type(const Op *func);
Block *func_entry(const Op *func); /* NULL: a declaration */
void func_set_type(Op *func, const Type *type);
/* Sets the type that its entry block's arguments and its return's operands have. */
void func_update_type(Op *func);
/* The attribute dictionary of an argument or result; NULL if it has none. */
const Attr *func_arg_attrs(const Op *func, uint32_t index);
const Attr *func_result_attrs(const Op *func, uint32_t index);
/* A function without a body and without a visibility, inserted at the builder's point. */
Op *func_build(Builder *b, Str name, const Type *type);

/* Hooks for func-like ops of any dialect, whose text is
 *   visibility? @name(args) -> results attributes {…}? body? */

bool func_like_parse(OpParser *p);
void func_like_print(OpPrinter *p, const Op *op);
/* Checks that the entry block and the attribute arrays agree with the function type. */
bool func_like_verify(Op *op);
/* Checks that a terminator's operands have the result types of the enclosing function. The words
 * are for messages: "return" operands, the function "returns". */
bool func_like_verify_return(Op *op, const char *noun, const char *verb);

#endif
