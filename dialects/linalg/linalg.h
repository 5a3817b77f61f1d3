/* The linalg dialect: structured ops, whose loops are implied by indexing maps. linalg.generic has
 * its maps and iterator types as attributes, a named op in its table row; the functions of the
 * second part read both alike.
 *
 * Builders insert at the Builder's point. Readers expect verified ops. The analyses, passes/linalg,
 * all lowerings from linalg and to it, the schedules and the DSE build on this module. LINALG(ID)
 * is the row of an op, which serves as its identity: op->def == LINALG(GENERIC).
 * Tests: lit/dialects/linalg */
#ifndef MING_DIALECTS_LINALG_LINALG_H
#define MING_DIALECTS_LINALG_LINALG_H

#include "dialects/arith/arith.h"
#include "ir/core/core.h"

#define OP(ID, ...) LINALG_##ID,
enum {
/* clang-format off */
#include "dialects/linalg/linalg_ops.def"
#include "dialects/linalg/linalg_named.def"
    /* clang-format on */
    LINALG_OP_COUNT
};
#undef OP

extern const OpDef linalg_ops[];
extern const DialectDef linalg_dialect;
#define LINALG(ID) (&linalg_ops[LINALG_##ID])

extern const AttrDef linalg_iterator_type_def, linalg_unary_fn, linalg_binary_fn, linalg_ternary_fn,
    linalg_type_fn;

/* #linalg.iterator_type<reduction> or <parallel> */
const Attr *linalg_iterator_type(Context *ctx, bool is_reduction);
bool linalg_iterator_is_reduction(const Attr *iterator_type);

/* A named structured op with its region built. Tensor inits give results. attrs may be NULL. */
Op *linalg_build_named(Builder *b, const OpDef *def, Value *const *inputs, uint32_t input_count,
                       Value *const *inits, uint32_t init_count, const NamedAttr *attrs,
                       uint32_t attr_count);
/* A transpose or broadcast; `list` is its permutation or dimensions attribute. */
Op *linalg_build_forwarding(Builder *b, const OpDef *def, Value *input, Value *init,
                            const NamedAttr *list);
/* A generic with an empty entry block whose arguments have the element types and locations of the
 * operands. */
Op *linalg_build_generic(Builder *b, Value *const *inputs, uint32_t input_count,
                         Value *const *inits, uint32_t init_count, const Attr *maps,
                         const Attr *iterators);
/* Adds the pattern once for each kind of structured op, because patterns are indexed by op. */
void linalg_add_structured(PatternSet *set, const char *name,
                           bool (*rewrite)(Rewriter *rw, Op *op, void *user));
Value *linalg_fill(Builder *b, Value *scalar, Value *init);
/* Extent number `dim` of a result of a structured op, computed from its operands. False: another
 * op. */
bool linalg_reify_dim(Builder *b, Op *op, uint32_t result, uint32_t dim, MixedIndex *out);
Op *linalg_yield(Builder *b, Value *const *values, uint32_t count);
Value *linalg_index(Builder *b, uint32_t loop);

/* Reading structured ops: operands, maps, loops, trip counts. Structured are linalg.generic, the
 * named ops with a row in linalg_named.def, map, reduce, transpose and broadcast.
 * Tests: lit/dialects/linalg, lit/passes/linalg/analyze-kernels.mir */

/* Scalar functions, in the order of upstream's enumerations. */
typedef enum UnaryFn {
    UNARY_EXP,
    UNARY_LOG,
    UNARY_ABS,
    UNARY_CEIL,
    UNARY_FLOOR,
    UNARY_NEGF,
    UNARY_RECIPROCAL,
    UNARY_ROUND,
    UNARY_SQRT,
    UNARY_RSQRT,
    UNARY_SQUARE,
    UNARY_TANH,
    UNARY_ERF
} UnaryFn;
typedef enum BinaryFn {
    BINARY_ADD,
    BINARY_SUB,
    BINARY_MUL,
    BINARY_DIV,
    BINARY_DIV_UNSIGNED,
    BINARY_MAX_SIGNED,
    BINARY_MIN_SIGNED,
    BINARY_MAX_UNSIGNED,
    BINARY_MIN_UNSIGNED,
    BINARY_POWF
} BinaryFn;
typedef enum TernaryFn { TERNARY_SELECT } TernaryFn;
typedef enum TypeFn { CAST_SIGNED, CAST_UNSIGNED } TypeFn;

/* The value that the body of a named op yields; a, b, … are elements of its inputs, o is the
 * element of its output. */
typedef enum BodyKind {
    BODY_CAST,               /* cast(a) */
    BODY_UNARY,              /* fn(a) */
    BODY_UNARY_ATTR,         /* fun(cast(a)) by attributes */
    BODY_BINARY,             /* fn(a, b) */
    BODY_BINARY_ATTR,        /* fun(cast(a), cast(b)) by attributes */
    BODY_TERNARY,            /* fn(a, b, c) */
    BODY_MUL_ADD,            /* o + cast(a) * cast(b) */
    BODY_MUL_CAST_ADD,       /* o + cast(a * cast(b)) */
    BODY_ZERO_POINT_MUL_ADD, /* o + (cast(a) - cast(c)) * (cast(b) - cast(d)) */
    BODY_ACCUMULATE,         /* fn(o, cast(a)) */
    BODY_RANDOM,             /* a linear congruential number between a and b, seeded with c */
    BODY_FORWARD             /* a */
} BodyKind;

/* The row of a named op, to which OpDef.data points. */
typedef struct StructuredDef {
    const char *loops; /* a letter per loop, capital: reduction; NULL: the output's dimensions */
    const char *maps;  /* a map per operand, separated by '|'; see linalg_named.def */
    uint32_t operand_count;
    BodyKind body;
    int fn; /* UnaryFn, BinaryFn or TernaryFn, as the body asks */
} StructuredDef;

bool linalg_is_structured(const Op *op);
bool linalg_is_structured_row(const OpDef *def); /* NULL: false */
/* The row of a named op; NULL for generic, map, reduce, transpose, broadcast and other ops. */
const StructuredDef *linalg_structured_def(const Op *op);

uint32_t linalg_input_count(const Op *op);
/* The init that a result of the op is written into, or NULL if the op has none. */
Value *linalg_destination(const Op *op, uint32_t result);
uint32_t linalg_init_count(const Op *op);
/* The map from the loops to the index of operand i (inputs first, then inits). */
const AffineMap *linalg_operand_map(const Op *op, uint32_t operand);
uint32_t linalg_loop_count(const Op *op);
bool linalg_is_reduction(const Op *op, uint32_t loop);
bool linalg_reduces(const Op *op);
/* Whether an op of the body holds ops itself. */
bool linalg_body_has_regions(const Op *generic);
/* Trip counts from the operands' static shapes, DIM_DYNAMIC where a shape is dynamic; false if
 * one cannot be told. */
bool linalg_loop_extents(const Op *op, int64_t *extents) MUST_CHECK;
/* Whether the dimensions of a value that loops of the op would index alone, as a sum with 0 does once
 * maps are composed, have the extents of these loops. */
bool linalg_fits_loops(const Op *op, const Value *value, const AffineMap *map);
Block *linalg_body(const Op *op);
/* Whether the body reads elements of the operand; otherwise only its shape matters. */
bool linalg_reads_operand(const Op *op, uint32_t operand);
/* Whether the loops reach every element of operand i; what a kernel leaves out of an init stays. */
bool linalg_reaches_all(const Op *op, uint32_t operand);
/* Whether all operands are tensors or scalars, so that there are no buffers. */
bool linalg_has_tensor_semantics(const Op *op);

/* The number of dimensions that loops index; a vector counts as one element. */
uint32_t linalg_operand_rank(const Type *type);
/* The type that a body sees of an operand: the element type of a ranked tensor or buffer, else the
 * type itself. */
const Type *linalg_payload_type(const Type *type);

/* All maps and all iterator types of an op, as linalg.generic stores them; and such attributes made
 * from arrays. */
const Attr *linalg_indexing_maps(const Op *op);
const Attr *linalg_iterator_types(const Op *op);
const Attr *linalg_maps_attr(Context *ctx, const AffineMap *const *maps, size_t count);
const Attr *linalg_iterators_attr(Context *ctx, const bool *is_reduction, size_t count);

/* The value converted to a scalar type; the value itself, after a warning, if no conversion
 * exists. */
Value *linalg_cast_scalar(Builder *b, Value *value, const Type *to, TypeFn fn);
/* Fills the single block of a named op's region, whose arguments exist already. `attrs` are the
 * op's attributes, in which "fun" and "cast" are looked up; NULL: none. */
void linalg_fill_body(const StructuredDef *def, Block *block, const Attr *attrs);

#endif
