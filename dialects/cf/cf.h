/* The cf dialect: branches between the blocks of a region, and assertions. CF(ID) is the row of an
 * op, which serves as its identity: op->def == CF(BR).
 * Tests: lit/dialects/cf */
#ifndef MING_DIALECTS_CF_CF_H
#define MING_DIALECTS_CF_CF_H

#include "ir/core/core.h"

#define OP(ID, ...) CF_##ID,
enum {
#include "dialects/cf/cf_ops.def"
    CF_OP_COUNT
};
#undef OP

extern const OpDef cf_ops[];
extern const DialectDef cf_dialect;
#define CF(ID) (&cf_ops[CF_##ID])

/* The range of operands that a branch passes to its successor number `index`. */
void cf_successor_operands(const Op *branch, uint32_t index, uint32_t *begin, uint32_t *count);

#endif
