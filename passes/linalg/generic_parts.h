/* What a linalg.generic is rebuilt from: operands with their maps, and copies of bodies. The
 * patterns that fuse, shrink and tidy generics share it.
 * Tests: lit/passes/linalg-fuse-elementwise-ops.mir, lit/passes/linalg-fold-unit-extent-dims.mir */
#ifndef MING_PASSES_GENERIC_PARTS_H
#define MING_PASSES_GENERIC_PARTS_H

#include "dialects/arith/mixed_index.h"
#include "ir/rewrite/rewrite.h"

typedef VEC(const AffineMap *) MapList;
typedef VEC(const Type *) TypeVec;

/* Inputs are added before inits; maps has one entry for each of both, in that order. */
typedef struct GenericParts {
    ValueList inputs, inits;
    MapList maps;
} GenericParts;

void parts_add_input(GenericParts *parts, Value *value, const AffineMap *map);
void parts_add_init(GenericParts *parts, Value *value, const AffineMap *map);
void parts_free(GenericParts *parts);
/* Every loop's trip count can be told from some operand's shape. */
bool parts_maps_cover_loops(Context *ctx, const MapList *maps);
/* The same of an op's operands less those marked, one mark per operand. */
bool parts_operands_cover_loops(const Op *op, const bool *dropped);
/* A generic at the builder's point; its entry block has the arguments and nothing else. */
Op *parts_build(Builder *b, const GenericParts *parts, const Attr *iterators);

/* Appends copies of the block's ops before `end` (NULL: all) to `to`; `values` maps what they
 * read and receives what they define. */
void parts_body_copy(Rewriter *rw, Block *to, const Block *from, const Op *end, PtrMap *values);
/* The value that stands for `value` in a copy, itself if it comes from outside. */
Value *parts_body_mapped(const PtrMap *values, Value *value);
/* A yield of `values` at the end of the block. */
void parts_body_yield(Rewriter *rw, Block *block, const ValueList *values, const Attr *loc);
bool parts_body_has_index(const Op *op); /* reads linalg.index */

/* Tensor of the value's shape and another element type; built at the builder's point. */
Value *parts_empty_like(Builder *b, Value *tensor);
/* The only use of all results of an op. */
bool parts_op_has_one_use(const Op *op);

#endif
