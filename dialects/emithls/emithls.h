/* emithls: HLS C++ as IR. A process is a function of static loop nests over streams and arrays;
 * everything that decides timing is an op or attribute, so that the same IR is printed as C++,
 * simulated cycle by cycle and analysed as a cyclo-static graph.
 * Tests: lit/dialects/emithls */
#ifndef MING_DIALECTS_EMITHLS_EMITHLS_H
#define MING_DIALECTS_EMITHLS_EMITHLS_H

#include "ir/core/core.h"

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

/* Builds emithls bodies: nests of loops whose counters are named by position, so that indices and
 * conditions are affine expressions over "counter i of the nest".
 * Used by dfg_to_emithls; tested through it (lit/lowering/dfg-to-emithls). */

enum { NEST_MAX_COUNTERS = 48 };

/* Insertion point inside nested loops; counters[i] is what affine_dim(ctx, i) means. */
typedef struct EmithlsNest {
    Builder b;
    Value *counters[NEST_MAX_COUNTERS];
    uint32_t count;
} EmithlsNest;

/* One loop of a nest. */
typedef struct LoopSpec {
    const char *counter;
    int64_t extent;
} LoopSpec;

typedef enum LoopKind { LOOP_PLAIN, LOOP_PIPELINED, LOOP_UNROLLED } LoopKind;

/* Opens a loop op over the box and moves inside; its counters are appended. Returns the state to
 * give to emithls_nest_close. begin < 0: the whole box. */
typedef struct NestMark {
    Block *block;
    Op *before;
    uint32_t count;
} NestMark;
NestMark emithls_nest_open(EmithlsNest *nest, const char *name, const LoopSpec *loops,
                           uint32_t count, LoopKind kind, int64_t begin, int64_t end);
/* Opens an emithls.if on the set of constraints (each >= 0, or == 0 where is_eq). */
NestMark emithls_nest_open_if(EmithlsNest *nest, const AffineExpr *const *constraints,
                              const bool *is_eq, uint32_t count);
void emithls_nest_close(EmithlsNest *nest, NestMark mark);
/* Sets the initiation interval of the pipelined loop that the insertion point is in. */
void emithls_nest_interval(EmithlsNest *nest, int64_t ii);
/* Has the unrolled loop that the insertion point is in sum up in order. */
void emithls_nest_keep_order(EmithlsNest *nest);

/* i1 value of a condition. */
Value *emithls_nest_condition(EmithlsNest *nest, const AffineExpr *const *constraints,
                              const bool *is_eq, uint32_t count);
/* The value of an expression over the counters, of type index. */
Value *emithls_nest_index(EmithlsNest *nest, const AffineExpr *expr);
Value *emithls_nest_variable(EmithlsNest *nest, const char *name, const Type *elem,
                             const int64_t *dims, uint32_t rank);
Value *emithls_nest_load(EmithlsNest *nest, Value *array, const AffineExpr *const *index,
                         uint32_t count);
/* The same at `place_count` more indices that the body computes, behind those of the counters. */
Value *emithls_nest_look_up(EmithlsNest *nest, Value *array, const AffineExpr *const *index,
                            uint32_t count, Value *const *places, uint32_t place_count);
void emithls_nest_store(EmithlsNest *nest, Value *value, Value *array,
                        const AffineExpr *const *index, uint32_t count);
Value *emithls_nest_read(EmithlsNest *nest, Value *stream);
void emithls_nest_write(EmithlsNest *nest, Value *value, Value *stream);
/* Integer or float constant of a scalar type. */
Value *emithls_nest_constant(EmithlsNest *nest, const Attr *value);
/* Pragmas about an array; dim counts from 1. */
void emithls_nest_partition(EmithlsNest *nest, Value *array, int64_t dim);
void emithls_nest_reshape(EmithlsNest *nest, Value *array, int64_t dim);
void emithls_nest_bind(EmithlsNest *nest, Value *array, const char *type, Str impl);
void emithls_nest_dependence(EmithlsNest *nest, Value *array, int64_t distance);

/* sum of terms[i] * weights[i], row-major position in a box: ((e0 * x1 + e1) * x2 + e2) … */
const AffineExpr *emithls_affine_flatten(Context *ctx, const AffineExpr *const *exprs,
                                         const int64_t *extents, uint32_t count);

#endif
