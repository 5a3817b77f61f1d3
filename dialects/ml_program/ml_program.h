/* The ml_program dialect: globals, and functions that order their accesses to these by tokens.
 * ML_PROGRAM(ID) is the row of an op, which serves as its identity: op->def == ML_PROGRAM(GLOBAL).
 * Tests: lit/dialects/ml_program */
#ifndef MING_DIALECTS_ML_PROGRAM_ML_PROGRAM_H
#define MING_DIALECTS_ML_PROGRAM_ML_PROGRAM_H

#include "ir/core/core.h"

#define OP(ID, ...) ML_PROGRAM_##ID,
enum {
#include "dialects/ml_program/ml_program_ops.def"
    ML_PROGRAM_OP_COUNT
};
#undef OP

extern const OpDef ml_program_ops[];
extern const DialectDef ml_program_dialect;
#define ML_PROGRAM(ID) (&ml_program_ops[ML_PROGRAM_##ID])

extern const TypeDef ml_program_token;  /* !ml_program.token */
extern const AttrDef ml_program_extern; /* #ml_program.extern : type */

#endif
