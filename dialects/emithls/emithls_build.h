/* Builds emithls bodies: nests of loops whose counters are named by position, so that indices and
 * conditions are affine expressions over "counter i of the nest".
 * Used by dfg_to_emithls; tested through it (lit/lowering/dfg-to-emithls). */
#ifndef MING_LOWERING_HLS_BUILD_H
#define MING_LOWERING_HLS_BUILD_H

#include "ir/core/builder.h"

enum { NEST_MAX_COUNTERS = 48 };

/* Insertion point inside nested loops; counters[i] is what affine_dim(ctx, i) means. */
typedef struct Nest {
    Builder b;
    Value *counters[NEST_MAX_COUNTERS];
    uint32_t count;
} Nest;

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
NestMark emithls_nest_open(Nest *nest, const char *name, const LoopSpec *loops, uint32_t count,
                   LoopKind kind, int64_t begin, int64_t end);
/* Opens an emithls.if on the set of constraints (each >= 0, or == 0 where is_eq). */
NestMark emithls_nest_open_if(Nest *nest, const AffineExpr *const *constraints, const bool *is_eq,
                      uint32_t count);
void emithls_nest_close(Nest *nest, NestMark mark);
/* Sets the initiation interval of the pipelined loop that the insertion point is in. */
void emithls_nest_interval(Nest *nest, int64_t ii);
/* Has the unrolled loop that the insertion point is in sum up in order. */
void emithls_nest_keep_order(Nest *nest);

/* i1 value of a condition. */
Value *emithls_nest_condition(Nest *nest, const AffineExpr *const *constraints, const bool *is_eq,
                      uint32_t count);
/* The value of an expression over the counters, of type index. */
Value *emithls_nest_index(Nest *nest, const AffineExpr *expr);
Value *emithls_nest_variable(Nest *nest, const char *name, const Type *elem, const int64_t *dims,
                     uint32_t rank);
Value *emithls_nest_load(Nest *nest, Value *array, const AffineExpr *const *index, uint32_t count);
/* The same at `place_count` more indices that the body computes, behind those of the counters. */
Value *emithls_nest_look_up(Nest *nest, Value *array, const AffineExpr *const *index, uint32_t count,
                    Value *const *places, uint32_t place_count);
void emithls_nest_store(Nest *nest, Value *value, Value *array, const AffineExpr *const *index,
                uint32_t count);
Value *emithls_nest_read(Nest *nest, Value *stream);
void emithls_nest_write(Nest *nest, Value *value, Value *stream);
/* Integer or float constant of a scalar type. */
Value *emithls_nest_constant(Nest *nest, const Attr *value);
/* Pragmas about an array; dim counts from 1. */
void emithls_nest_partition(Nest *nest, Value *array, int64_t dim);
void emithls_nest_reshape(Nest *nest, Value *array, int64_t dim);
void emithls_nest_bind(Nest *nest, Value *array, const char *type, Str impl);
void emithls_nest_dependence(Nest *nest, Value *array, int64_t distance);

/* sum of terms[i] * weights[i], row-major position in a box: ((e0 * x1 + e1) * x2 + e2) … */
const AffineExpr *emithls_affine_flatten(Context *ctx, const AffineExpr *const *exprs,
                                 const int64_t *extents, uint32_t count);

#endif
