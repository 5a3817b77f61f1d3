/* emithls: HLS C++ as IR. A process is a function of static loop nests over streams and arrays;
 * everything that decides timing is an op or attribute, so that the same IR is printed as C++,
 * simulated cycle by cycle and analysed as a cyclo-static graph.
 * Tests: lit/dialects/emithls */
#ifndef MING_DIALECTS_EMITHLS_H
#define MING_DIALECTS_EMITHLS_H

#include "ir/core/opdef.h"

extern const DialectDef emithls_dialect;
extern const OpDef emithls_ops[];
extern const TypeDef emithls_type_stream, emithls_type_array;

#define OP(ID, ...) EMITHLS_##ID,
enum {
#include "dialects/emithls/emithls_ops.def"
    EMITHLS_OP_COUNT
};
#undef OP
#define EMITHLS(ID) (&emithls_ops[EMITHLS_##ID])

/* !emithls.stream<word>: word is a scalar or a one-dimensional vector. */
const Type *emithls_stream(const Type *word);
const Type *emithls_stream_word(const Type *stream);
/* !emithls.array<2x3xT>: T is a scalar or a one-dimensional vector; rank 0: a variable. */
const Type *emithls_array(const Type *elem, const int64_t *dims, uint32_t rank);
const Type *emithls_array_elem(const Type *array);
uint32_t emithls_array_rank(const Type *array);
int64_t emithls_array_dim(const Type *array, uint32_t index);
/* Elements of the word: 1 for a scalar. */
int64_t emithls_lanes(const Type *word);
/* The scalar of a word or element. */
const Type *emithls_scalar(const Type *word);

/* Extents of an emithls.for and the flat range it covers (the whole box by default). */
size_t emithls_for_extents(const Op *loop, int64_t *extents, size_t max);
void emithls_for_range(const Op *loop, int64_t *begin, int64_t *end);
Op *emithls_top(const Op *module); /* the func marked `top`, or NULL */

#endif
