/* The scf dialect as far as lowerings need it: a conditional that yields values. SCF(ID) is the row
 * of an op, which serves as its identity: op->def == SCF(IF).
 * Tests: lit/dialects/scf */
#ifndef MING_DIALECTS_SCF_SCF_H
#define MING_DIALECTS_SCF_SCF_H

#include "ir/core/core.h"

#define OP(ID, ...) SCF_##ID,
enum {
#include "dialects/scf/scf_ops.def"
    SCF_OP_COUNT
};
#undef OP

extern const OpDef scf_ops[];
extern const DialectDef scf_dialect;
#define SCF(ID) (&scf_ops[SCF_##ID])

/* An scf.if with one result. *then_b and *else_b are set to the ends of its two blocks, which the
 * caller fills and ends with a yield. */
Op *scf_build_if(Builder *b, Value *condition, const Type *type, Builder *then_b, Builder *else_b);
void scf_build_yield(Builder *b, Value *value);

#endif
