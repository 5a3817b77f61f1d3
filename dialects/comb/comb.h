/* The comb dialect: combinational logic on signless integers. Names, attributes and text are those
 * of CIRCT's dialect. Operands of arithmetic have one width, which is the result's: what must not
 * overflow is extended first, and what is signed is said by the op, never by a type. COMB(ID) is the
 * row of an op, which serves as its identity: op->def == COMB(ADD).
 * Tests: lit/dialects/comb */
#ifndef MING_DIALECTS_COMB_COMB_H
#define MING_DIALECTS_COMB_COMB_H

#include "ir/core/core.h"

#define OP(ID, ...) COMB_##ID,
enum {
#include "dialects/comb/comb_ops.def"
    COMB_OP_COUNT
};
#undef OP

extern const OpDef comb_ops[];
extern const DialectDef comb_dialect;
#define COMB(ID) (&comb_ops[COMB_##ID])

/* Values of the attribute `predicate` of comb.icmp. */
typedef enum CombPredicate {
    COMB_EQ,
    COMB_NE,
    COMB_SLT,
    COMB_SLE,
    COMB_SGT,
    COMB_SGE,
    COMB_ULT,
    COMB_ULE,
    COMB_UGT,
    COMB_UGE
} CombPredicate;

CombPredicate comb_predicate(const Op *icmp);
uint32_t comb_low_bit(const Op *extract);

/* Building. Each function inserts at the builder's point and gives the result. */

/* An op with operands of one width, which is the result's: add, sub, mul, and, or, xor, shl, shru,
 * shrs. Of sub and the shifts there are two operands, of the others one or more. */
Value *comb_build(Builder *b, const OpDef *def, Value *const *operands, uint32_t count);
Value *comb_build_binary(Builder *b, const OpDef *def, Value *lhs, Value *rhs);
Value *comb_build_icmp(Builder *b, CombPredicate predicate, Value *lhs, Value *rhs);
Value *comb_build_mux(Builder *b, Value *condition, Value *if_true, Value *if_false);
/* `width` bits from `low_bit` on; the value itself if these are all. */
Value *comb_build_extract(Builder *b, Value *value, uint32_t low_bit, uint32_t width);
/* The first value becomes the highest bits. One value is given back as it is. */
Value *comb_build_concat(Builder *b, Value *const *values, uint32_t count);
Value *comb_build_replicate(Builder *b, Value *value, uint32_t times);
Value *comb_build_not(Builder *b, Value *value);
/* The value in another width: cut, or extended with its sign or zeros. */
Value *comb_build_resize(Builder *b, Value *value, uint32_t width, bool is_signed);

#endif
