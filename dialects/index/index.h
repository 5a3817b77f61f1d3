/* The index dialect as far as lowerings need it: arithmetic on values of type index. INDEX(ID) is
 * the row of an op, which serves as its identity: op->def == INDEX(ADD).
 * Tests: lit/dialects/index */
#ifndef MING_DIALECTS_INDEX_INDEX_H
#define MING_DIALECTS_INDEX_INDEX_H

#include "ir/core/core.h"

#define OP(ID, ...) INDEX_##ID,
enum {
#include "dialects/index/index_ops.def"
    INDEX_OP_COUNT
};
#undef OP

extern const OpDef index_ops[];
extern const DialectDef index_dialect;
#define INDEX(ID) (&index_ops[INDEX_##ID])

#endif
