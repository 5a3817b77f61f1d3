/* The quant dialect: element types whose values are stored as integers and stand for real numbers,
 * and casts between the three views of a number: real, quantized, stored.
 *   !quant.any<storage(:expressed)?>             how a number is stored, not what it means
 *   !quant.uniform<storage:expressed, s:z>       real = s * (stored - z)
 *   !quant.uniform<storage:expressed:axis, {s:z, ...}>   the same, for each index of an axis
 *   !quant.calibrated<expressed<min:max>>        the range that was seen, not how to store it
 * QUANT(ID) is the row of an op, which serves as its identity: op->def == QUANT(DCAST).
 * Tests: lit/dialects/quant */
#ifndef MING_DIALECTS_QUANT_QUANT_H
#define MING_DIALECTS_QUANT_QUANT_H

#include "ir/core/core.h"

#define OP(ID, ...) QUANT_##ID,
enum {
#include "dialects/quant/quant_ops.def"
    QUANT_OP_COUNT
};
#undef OP

extern const OpDef quant_ops[];
extern const DialectDef quant_dialect;
#define QUANT(ID) (&quant_ops[QUANT_##ID])

extern const TypeDef quant_any, quant_uniform, quant_calibrated;

bool quant_is_type(const Type *type); /* whether it is one of these */
/* The integer type of stored values; NULL for calibrated types and those of other dialects. */
const Type *quant_storage(const Type *type);

#endif
