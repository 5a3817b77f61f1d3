/* The builtin dialect: the module and the cast that conversions leave behind. Its types and
 * attributes are the core's (ir/attr/attr.h, ir/attr/attr.h). */
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
