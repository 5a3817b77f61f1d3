/* The inside of the tosa lowerings, for their sources only. Each lowering builds the ops that
 * upstream's pattern builds, in the same order, unused constants included, so that printed IR
 * agrees. Types are taken from the op as it states them, behind tosa_refuse_elements.
 *
 *   tosa-to-linalg-named   _named.c: _conv.c, _pool.c, with _window.c
 *   tosa-to-linalg         _linalg.c: _elementwise.c, _scalar.c, _cast.c, _reduce.c, _rescale.c, …
 *   tosa-to-tensor         tosa_to_tensor.c, tosa_to_tensor_reshape.c
 *   tosa-to-arith          tosa_to_arith.c
 *
 * Tests: lit/lowering/tosa_to_linalg */
#ifndef MING_LOWERING_TOSA_TO_LINALG_INTERNAL_H
#define MING_LOWERING_TOSA_TO_LINALG_INTERNAL_H

#include "dialects/arith/arith.h"
#include "dialects/tosa/tosa.h"
#include "ir/pass/pass.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/tosa_to_linalg/tosa_to_linalg.h"

/* Types: unsigned integers of tosa become signless ones of the same width, and a
 * builtin.unrealized_conversion_cast joins both where a converted op meets one that is not. */

/* The scalar or tensor type with signless integers in the place of unsigned ones. */
const Type *tosa_lower_signless(const Type *type);
/* The signless value that a value has become; a cast of it if need be. */
Value *tosa_lower_remap(Rewriter *rw, Value *value);
/* Builds a builtin.unrealized_conversion_cast. */
Value *tosa_lower_cast(Builder *b, const Type *type, Value *value);

/* Patterns. */

/* One op being lowered; the builder inserts before it. */
typedef struct Lower {
    Rewriter *rw;
    Builder *b; /* the rewriter's */
    Context *ctx;
    Op *op;
    const Pass *pass; /* whose options may matter */
    Arena *arena;     /* scratch of the pass */
} Lower;

/* Lowers one op. False: the pattern does not apply, and the rewriter takes back what was built. */
typedef bool TosaLowering(Lower *l);

typedef struct TosaRow {
    const OpDef *def;
    TosaLowering *lower;
    int benefit;
} TosaRow;

/* Converts a function by the rows (conversion_apply) until every op is legal for the target. False:
 * diagnosed. */
bool tosa_lower_convert(Pass *pass, Op *func, const TosaRow *rows, size_t count,
                        const ConversionTarget *target) MUST_CHECK;

/* For patterns that have replaced an op: hands the note of which tensor of the network it gives
 * (dfg.tensors) on to the op that computes that now, in front of reshapes, which leave the order of
 * elements. */
void tosa_lower_hand_note_on(Rewriter *rw, Op *op);

/* Whether the kernel, strides, dilations and padding of a convolution or a pooling are of a window: the first
 * three at least 1, none negative, and all below 2^31, as TOSA has them. */
bool tosa_lower_has_window(const Op *op);

/* Patterns by family: tosa_to_linalg_conv.c, _pool.c, _elementwise.c, _reduce.c, _rescale.c,
 * _fft.c, _resize.c, _move.c. */
TosaLowering tosa_lower_conv, tosa_lower_depthwise_conv;
TosaLowering tosa_lower_max_pool, tosa_lower_avg_pool;
TosaLowering tosa_lower_elementwise;
TosaLowering tosa_lower_reduce, tosa_lower_argmax;
TosaLowering tosa_lower_rescale;
TosaLowering tosa_lower_fft, tosa_lower_rfft;
TosaLowering tosa_lower_resize, tosa_lower_resize_unary, tosa_lower_resize_broadcast;
TosaLowering tosa_lower_reverse, tosa_lower_tile, tosa_lower_gather, tosa_lower_table;

/* Elementwise ops on single elements. */
typedef struct TosaScalar {
    Builder *b;
    const Op *op;
    Value *const *args;
    const Type *elem;   /* of the op's first operand, unsigned as it may be */
    const Type *result; /* signless */
} TosaScalar;

/* The result's element; NULL: the op is not defined on these types. */
Value *tosa_build_scalar(const TosaScalar *s);
Value *tosa_build_scalar_cast(const TosaScalar *s);

static inline const Type *operand_type(const Op *op, uint32_t index)
{
    return op_operand(op, index)->type;
}

static inline const Type *result_type(const Op *op)
{
    return op->results[0].type;
}

/* Ranked tensors: their types and extents. */
static inline uint32_t rank_of(const Type *type)
{
    return type->u.shaped.rank;
}

static inline int64_t extent_of(const Type *type, uint32_t dim)
{
    return type->u.shaped.dims[dim];
}

static inline bool is_dynamic(const Type *type, uint32_t dim)
{
    return extent_of(type, dim) == DIM_DYNAMIC;
}

bool tosa_lower_all_ranked(const Op *op);
/* A ranked tensor of that shape, and of these elements. */
const Type *tosa_build_tensor_like(const Type *shape, const Type *elem);

/* A list of values, such as extents or operands; it borrows the array. */
typedef struct Values {
    Value *const *items;
    uint32_t count;
} Values;
#define VALUES(...)                                                                                \
    ((Values){(Value *[]){__VA_ARGS__}, (uint32_t)COUNT_OF(((Value *[]){__VA_ARGS__}))})
#define NO_VALUES ((Values){0})

/* Extents of a tensor that are dynamic in `type`, in order. */
Values tosa_build_dynamic_dims(Lower *l, const Type *type, Value *tensor);
/* The same for pool-like ops where only the batch may be dynamic; false if another is. */
bool tosa_build_batch_dim(Lower *l, Values *dims) MUST_CHECK;

Value *tosa_build_empty_tensor(Builder *b, const Type *shape, const Type *elem, Values dims);

/* Kernels, constants and attributes. */

/* A linalg.generic: inputs and inits with a map each; NULL is the identity. */
typedef struct GenericDef {
    Values inputs, inits;
    const AffineMap *const *maps;
    uint32_t loops;
    const bool *is_reduction; /* of each loop; NULL: none is */
} GenericDef;
/* Builds the op and an empty body. *body gets the body's builder, whose block has the arguments.
 * Results get the types of `results`, or those of the inits if that is NULL. */
Op *tosa_build_generic(Builder *b, const GenericDef *def, const Type *const *results,
                       Builder *body);
/* Elementwise over one input, identity maps. */
Op *tosa_build_map(Builder *b, Value *input, Value *init, const Type *result, Builder *body);
/* Gives the body's arguments the op's location instead of the operands', as upstream does for
 * bodies that it builds by hand. */
void tosa_build_relocate_args(const Builder *body);
void tosa_build_yield(Builder *body, Value *value);
/* A named op with an explicit result type. */
Value *tosa_build_named(Builder *b, const OpDef *def, Values inputs, Value *init, const Type *type,
                        const NamedAttr *attrs, uint32_t attr_count);

Value *tosa_build_same(Builder *b, const OpDef *def, Value *lhs, Value *rhs); /* of lhs's type */
Value *tosa_build_i32(Builder *b, int64_t value);
Value *tosa_build_clamp_int(Builder *b, Value *value, Value *min, Value *max, bool is_unsigned);
Value *tosa_build_clamp_float(Builder *b, Value *value, Value *min, Value *max);

/* 0 as an attribute; NULL: the type has none. */
const Attr *tosa_build_zero_of(const Type *elem);
/* The least and the greatest finite number; integers are signed. */
const Attr *tosa_build_lowest_of(const Type *elem);
const Attr *tosa_build_highest_of(const Type *elem);
int64_t tosa_build_signed_min(uint32_t width); /* of 1 to 64 bits; wider: as of 64 */
int64_t tosa_build_signed_max(uint32_t width);

/* An integer or boolean attribute of the op, and a list. */
int64_t tosa_build_int_attr(const Op *op, const char *name);
bool tosa_build_bool_attr(const Op *op, const char *name);
IntList tosa_build_list_attr(const Op *op, const char *name); /* free with vec_free */

/* Windows: what convolutions, pooling and fully_connected share.
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-linalg-named*.mir */

/* (size + before + after - (dilation * (kernel - 1) + 1)) / stride + 1, at run time. */
typedef struct TosaWindowDim {
    int64_t pad_before, pad_after, stride, dilation;
} TosaWindowDim;
Value *tosa_build_window_extent(Builder *b, Value *size, Value *kernel, const TosaWindowDim *dim);

/* Pads all but the first and last dimension; pad has two counts for each of the others. The input
 * itself when all are 0. */
Value *tosa_build_window_pad(Lower *l, Value *input, const IntList *pad, const Attr *value);

/* The bias along the last dimension of the result, extended to its element type. */
Value *tosa_build_broadcast_bias(Lower *l, Value *bias, Value *empty);

/* A tosa.transpose by a constant permutation. */
Value *tosa_build_transposed(Lower *l, Value *input, const int64_t *order);

/* dense<…> : tensor<Nxi64> or vector<Nxi64> */
const Attr *tosa_lower_window_attr(Context *ctx, const int64_t *values, size_t count,
                                   bool is_vector);

/* tosa-to-tensor.
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-tensor-reshape.mir */

/* The pattern that rewrites tosa.reshape to collapse_shape, expand_shape and casts. */
bool tosa_lower_reshape_to_tensor(Rewriter *rw, Op *op, void *user);

#endif
