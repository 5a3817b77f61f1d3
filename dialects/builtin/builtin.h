/* The builtin dialect: the module, and the cast that conversions leave behind
 * (unrealized_conversion_cast). Its types and attributes are those of ir/attr/attr.h. BUILTIN(ID)
 * is the row of an op, which serves as its identity: op->def == BUILTIN(MODULE).
 * Tests: lit/dialects/builtin */
#ifndef MING_DIALECTS_BUILTIN_BUILTIN_H
#define MING_DIALECTS_BUILTIN_BUILTIN_H

#include "ir/core/core.h"

#define OP(ID, ...) BUILTIN_##ID,
enum {
#include "dialects/builtin/builtin_ops.def"
    BUILTIN_OP_COUNT
};
#undef OP

extern const OpDef builtin_ops[];
extern const DialectDef builtin_dialect;
#define BUILTIN(ID) (&builtin_ops[BUILTIN_##ID])

#endif
