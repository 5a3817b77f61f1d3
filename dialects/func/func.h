/* The func dialect: functions, calls, returns. */
#ifndef MING_DIALECTS_FUNC_H
#define MING_DIALECTS_FUNC_H

#include "ir/core/builder.h"

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
/* Attribute dictionary of an argument or result; NULL if it has none. */
const Attr *func_arg_attrs(const Op *func, uint32_t index);
const Attr *func_result_attrs(const Op *func, uint32_t index);
/* A function without body and visibility; types as given. */
Op *func_build(Builder *b, Str name, const Type *type);

#endif
