/* Values on their way from onnx to linalg. Each tensor of the network becomes one of
 *   plain   a tensor of the same elements, floats as a rule
 *   fixed   a tensor of integers with an exact meaning and range, see Fixed
 * A node is lowered to integers where its operands are fixed and the result is exact, else to plain
 * arithmetic on whatever its operands are. docs/integer-folding.md tells the rules.
 *
 * Invariants: a Fixed gives exactly the real numbers that the network computes, rounding included
 * (its epilogue says how), and low <= value <= high always holds. Structs and arrays are from the
 * pass's scratch arena unless a field says "owned"; SSA values belong to the new body. The
 * lowerings of onnx_to_linalg/ and requant/ build on it.
 * Tests: lit/lowering/onnx_to_linalg, test/e2e/import_check.py */
#ifndef MING_LOWERING_ONNX_TO_LINALG_VALUES_VALUES_H
#define MING_LOWERING_ONNX_TO_LINALG_VALUES_VALUES_H

#include "dialects/onnx/onnx.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"

/* Types. */

/* A deferred op: a node whose effect on a fixed tensor is not computed yet. Its operand number
 * `operand` is the result of the op before, the others are constants. An op that joins has two
 * operands, of which the second is the result of `other`, an op on the same integers. */
typedef struct EpilogueOp {
    const struct EpilogueOp *before; /* NULL: the integers' values themselves; `other` too */
    const struct EpilogueOp *other;
    const Op *node;
    uint32_t operand;
    uint32_t size; /* ops that are evaluated for this one, itself included */
    bool joins;
} EpilogueOp;

/* The monotonicity of the network's values in the integers, in every channel. */
typedef enum Monotonicity {
    MONOTONE, /* rising or falling */
    UNIMODAL, /* falling and then rising, or the reverse; see Epilogue */
    NOT_MONOTONE
} Monotonicity;

/* The deferred epilogue: what stands between the integers q and the network's values, applied index
 * by index along one dimension:
 *   value[c] = ops(round(q * scale * factors[c] + biases[c]))
 * where round is to the network's element type and scale is the Fixed's. Immutable. */
typedef struct Epilogue {
    int axis;                       /* -1: nothing depends on an index */
    int64_t channels;               /* extent of that dimension, or 1 */
    const double *factors, *biases; /* `channels` numbers; NULL: ones, zeros */
    const EpilogueOp *last;         /* NULL: none */
    Monotonicity monotonicity;
    const EpilogueOp *extremum_op; /* if UNIMODAL: the op that is not monotone; all before is */
    double extremum;               /* operand of extremum_op at which its result has its extremum */
} Epilogue;

/* A tensor of integers: real = value * unit * 2^exponent / divisor, then the epilogue, if there is
 * one. In a tensor that is integer in the network the element is value + zero. low <= value <=
 * high. */
typedef struct Fixed {
    Value *value; /* tensor of signless integers */
    double unit;  /* in [1, 2); 1 for power-of-two scales */
    int exponent;
    int64_t divisor; /* odd, above 0 */
    int64_t low, high;
    int64_t zero;
    bool is_unsigned; /* to be extended by zeros */
    bool is_fine;     /* a sum that is rounded far below the grid of the quantizer behind it */
    const Epilogue *epilogue;
} Fixed;

/* A constant: real = values[i] * units[k] * 2^exponents[k], where k is 0 or the index in dimension
 * `axis`. Arrays are from the scratch arena. */
typedef struct FixedConstant {
    const Type *type; /* shape; element type signless and wide enough */
    int64_t *values;  /* row-major */
    int64_t count;
    int axis;      /* -1: one scale for all */
    double *units; /* in [1, 2) */
    int *exponents;
    bool is_unsigned;
} FixedConstant;

/* The forms of a tensor of the network: one of the two, or both once a fixed tensor had to be made
 * plain, too. */
typedef struct Lowered {
    Value *plain; /* signless elements */
    Fixed fixed;
    bool is_fixed;
} Lowered;

typedef struct OnnxLowering {
    Pass *pass;
    Context *ctx;
    Op *func;
    Op *node;        /* being lowered */
    Builder b;       /* in the new body */
    PtrMap values;   /* Value* of the network -> Lowered* */
    PtrMap arrays;   /* Value* of a constant of the network -> Array*, owned */
    PtrMap absorbed; /* Op* that was applied earlier: its result is an operand; -> its number + 1 */
    StrBuf why;      /* scratch for messages */
    VEC(const Attr *) ends; /* names of nodes that take integers as floats, as strings; owned */
    const char *form;       /* of the requantizer that was built last, for its description */
    bool is_monotone;       /* whether that one is, as a function of its one operand */
} OnnxLowering;

/* Operands and results of lw->node (value_map.c). */

/* Operand `index` as integers. A constant is materialised if its values are exact integers of one
 * scale. NULL: it is not fixed. */
const Fixed *lower_fixed(OnnxLowering *lw, uint32_t index);
/* The same, but NULL also if it has an epilogue. */
const Fixed *lower_fixed_bare(OnnxLowering *lw, uint32_t index);
/* Operand `index` as a plain tensor, converted if it must be. NULL: diagnosed. */
Value *lower_plain(OnnxLowering *lw, uint32_t index) MUST_CHECK;
/* Record what a result of the node has become: result 0 as integers, result `index` as a plain
 * tensor; or any value of the network, as the one or the other. */
void lower_result(OnnxLowering *lw, const Fixed *fixed);
void lower_plain_result(OnnxLowering *lw, uint32_t index, Value *value);
void lower_record_fixed(OnnxLowering *lw, const Value *of, const Fixed *fixed);
void lower_record_plain(OnnxLowering *lw, const Value *of, Value *plain);
/* The value of a constant of the network in whatever form, borrowed. NULL: it is none. */
const Array *lower_array(OnnxLowering *lw, const Value *value);
/* A constant of the network as a plain tensor, in that shape. */
Value *lower_build_array(OnnxLowering *lw, const Array *array, const Type *type);
/* Signless type of a plain tensor. */
const Type *lower_plain_type(const Type *type);
bool lower_is_unsigned_elem(const Type *type); /* ui8 ..., i1 */
bool lower_is_quantizer(const Op *op);
/* Warns that a node of a quantized network is computed in floating point. */
void lower_warn_plain(OnnxLowering *lw, const char *why);
/* For that, of the first operand, which is no integers of one scale, and of the second; `otherwise`:
 * what is said of most weights. */
const char *lower_why_input(OnnxLowering *lw);
const char *lower_why_weights(const OnnxLowering *lw, const char *otherwise);
/* Diagnoses that the node's integers are too wide. Returns false. */
bool lower_too_wide(OnnxLowering *lw);

/* Scales and ranges of fixed tensors. */

/* Whether scales are equal but for a power of two; whether they are equal. */
bool fixed_same_unit(const Fixed *a, const Fixed *b);
bool fixed_same_scale(const Fixed *a, const Fixed *b);
double fixed_scale(const Fixed *fixed); /* unit * 2^exponent / divisor */
/* Multiplies the scale by a positive number; the integers stay. */
void fixed_scale_by(Fixed *fixed, double factor);
/* Divides the scale by a number above 0, whose powers of two go to the exponent; the integers stay.
 * False, no diagnostic: the divisor would need more than 64 bits. */
bool fixed_divide_scale(Fixed *fixed, int64_t divisor) MUST_CHECK;
/* Splits a positive number into unit and exponent, unit in [1, 2). */
void fixed_split_scale(double scale, double *unit, int *exponent);
/* Bits of the smallest signed integer that holds both; at least 2. */
uint32_t fixed_signed_width(int64_t low, int64_t high);
/* x * 2^shift; false on overflow. */
bool fixed_shift_i64(int64_t x, int64_t shift, int64_t *out) MUST_CHECK;

/* Constants as integers (constants.c).
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-constants.mir */

/* The constant behind operand `index` as integers, be it weights or biases: a quantized constant,
 * or floats that are small multiples of one number. False, no diagnostic: it is none. */
bool lower_constant(OnnxLowering *lw, uint32_t index, FixedConstant *out) MUST_CHECK;
/* Whether one unit serves all; then constant_align can make one scale. */
bool constant_has_one_unit(const FixedConstant *constant);
/* Shifts the values so that one exponent, the smallest, serves all; false when too wide or when
 * the units differ. */
bool constant_align(FixedConstant *constant) MUST_CHECK;
/* Makes the element type as narrow as the values allow. */
void constant_narrow(FixedConstant *constant);
/* arith.constant in another shape with as many elements. */
Value *constant_build(OnnxLowering *lw, const FixedConstant *constant, const int64_t *dims,
                      uint32_t rank);

/* Deferred epilogues (deferred_epilogue.c).
 * Tests: lit/lowering/onnx_to_linalg/requant/onnx-to-linalg-deferred-epilogue.mir */

/* Records the result of the node as operand `index` with one more deferred op. False, no
 * diagnostic: the node does not work index by index with constants. */
bool epilogue_append(OnnxLowering *lw, uint32_t index) MUST_CHECK;
/* Whether the node works index by index on operand `index`, the others being constants. *axis gets
 * the dimension along which these differ, -1: none. */
bool epilogue_takes(OnnxLowering *lw, uint32_t index, int *axis) MUST_CHECK;
/* *out gets x with the node as one more deferred op, of which x is operand `index`. False, no
 * diagnostic: the constants go along another dimension than the epilogue, or it is too long. */
bool epilogue_extend(OnnxLowering *lw, const Fixed *x, uint32_t index, Fixed *out) MUST_CHECK;
/* A deferred op behind `before`. NULL: there are too many. */
EpilogueOp *epilogue_append_op(OnnxLowering *lw, const EpilogueOp *before, const Op *node,
                               uint32_t operand);
/* Multiplies the value by factors[c] and adds biases[c] along dimension `axis`; either may be NULL.
 * False, no diagnostic: the epilogue it has does not allow that; it is as before then. */
bool epilogue_affine(OnnxLowering *lw, Fixed *fixed, int axis, const double *factors,
                     const double *biases) MUST_CHECK;
/* Evaluation with the operators' reference implementation. The values that integers have in the
 * network, after all deferred ops: q has shape (1, channels, n), the result elements as `like` has.
 * A new reference, or NULL: lw->why says. */
Array *epilogue_values(OnnxLowering *lw, const Fixed *fixed, const Type *like, const Array *q)
    MUST_CHECK;
/* Applies deferred ops, of which the last is given, to values; takes the reference to x. NULL:
 * lw->why says. */
Array *epilogue_apply(OnnxLowering *lw, const EpilogueOp *last, Array *x) MUST_CHECK;
/* The values of integers before the deferred ops; q has shape (1, channels, n). */
Array *epilogue_first(const Fixed *fixed, const Type *elem, const Array *q);
/* Builds the epilogue as floating-point arithmetic, for where a plain tensor of type `like` is
 * needed. NULL: diagnosed. */
Value *epilogue_build(OnnxLowering *lw, const Fixed *fixed, const Type *like);

/* The direction of a node of which epilogue_takes holds, as operand `index` grows (monotonicity.c).
 * Whether it is the same everywhere in a channel; and, if so, whether the result falls in a channel
 * of the constants. */
bool monotonicity_has_direction(OnnxLowering *lw, uint32_t index) MUST_CHECK;
bool monotonicity_falls(OnnxLowering *lw, uint32_t index, int64_t channel) MUST_CHECK;

/* Kernels and tensors under construction (kernels.c). */

enum { GENERIC_MAX_INPUTS = 6, GENERIC_MAX_LOOPS = 2 * ONNX_MAX_RANK };

/* A linalg.generic under construction: maps over `loops` loops. */
typedef struct Generic {
    uint32_t loops, inputs;
    bool is_reduction[GENERIC_MAX_LOOPS];
    Value *input[GENERIC_MAX_INPUTS];
    const AffineMap *map[GENERIC_MAX_INPUTS + 1]; /* of the inputs, then of the result */
    Op *op;
    Builder body;
} Generic;

/* Set the loops and maps of an element-wise kernel on the first input; with `axis`, inputs of rank
 * 1 go along that dimension. */
void generic_elementwise(OnnxLowering *lw, Generic *generic, Value *const *inputs, uint32_t count);
void generic_along(OnnxLowering *lw, Generic *generic, Value *const *inputs, uint32_t count,
                   uint32_t axis);
/* Sets the loops and maps of an element-wise kernel whose inputs are broadcast to the shape by
 * numpy's rules. */
void generic_broadcast(OnnxLowering *lw, Generic *generic, Value *const *inputs, uint32_t count,
                       const Type *shape);
/* Makes the op with `init` as its init and opens its body, where generic->body inserts. */
void generic_open(OnnxLowering *lw, Generic *generic, Value *init);
/* A block argument: an input's element, or after the inputs the init's. */
Value *generic_arg(const Generic *generic, uint32_t index);
/* Ends the body with a yield of the element; gives the tensor result. */
Value *generic_close(Generic *generic, Value *element);

/* tensor.empty, and the same filled with a number. */
Value *lower_build_empty(OnnxLowering *lw, const Type *type);
Value *lower_build_filled(OnnxLowering *lw, const Type *type, int64_t value);
Value *lower_build_fill(OnnxLowering *lw, Value *scalar, Value *tensor);
Value *lower_build_number(Builder *b, const Type *type,
                          double value); /* integer or float constant */
/* The tensor with a border of `value` (rank entries each); itself when there is none. */
Value *lower_build_pad(OnnxLowering *lw, Value *tensor, const int64_t *low, const int64_t *high,
                       Value *value);
/* The integers of x in elements of `elem`, which is at least as wide. */
Value *lower_build_wider(OnnxLowering *lw, const Fixed *x, const Type *elem);
/* Rewrites x to the same values in units of 2^-shift of its scale. False: diagnosed. */
bool lower_build_finer(OnnxLowering *lw, Fixed *x, int shift) MUST_CHECK;
/* Multiplies the integers of x, whose scale stays. False: diagnosed. */
bool lower_build_multiple(OnnxLowering *lw, Fixed *x, int64_t factor) MUST_CHECK;
/* An integer in `type`, which is at least as wide. */
Value *lower_build_extend(Builder *b, Value *value, const Type *type, bool is_unsigned);
/* An integer in `type`, extended by sign or truncated. */
Value *lower_build_resize(Builder *b, Value *value, const Type *type);
/* Element `at` (a signed integer, not negative) of a table of rank 1. */
Value *lower_build_lookup(Builder *b, Value *table, Value *at);

/* Element-wise nodes on plain tensors (elementwise_float.c, scalar.c).
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-elementwise.mir */

/* The node on plain tensors, with x as operand `index` and the others looked up. NULL:
 * diagnosed. */
Value *lower_build_plain_node(OnnxLowering *lw, uint32_t index, Value *x) MUST_CHECK;
/* The node on x in place of operand `index`, for x of any shape: a node of floats that keeps the
 * type of that operand, and whose other operands are constants that are the same everywhere or
 * differ along dimension `axis` of x, -1: none. NULL: diagnosed. */
Value *lower_build_plain_along(OnnxLowering *lw, uint32_t index, Value *x, int axis) MUST_CHECK;
/* The node on given plain tensors with a result of that type, for nodes without operands of their
 * own kind. NULL: diagnosed. */
Value *lower_build_plain_on(OnnxLowering *lw, Value *const *inputs, uint32_t count,
                            const Type *type) MUST_CHECK;
/* Whether the node is element-wise. */
bool lower_is_elementwise(const Op *node);

/* The scalar result of an element-wise node in `type`, from its operands' elements. is_unsigned:
 * how the operands' integers are read. NULL, no diagnostic: there is no such arithmetic. */
Value *lower_build_scalar(Builder *b, const Op *node, const Type *type, Value *const *args,
                          uint32_t count, bool is_unsigned) MUST_CHECK;
/* Rounds a float to an integral value, half to even or by another mode. */
Value *lower_build_rounding(Builder *b, Rounding mode, Value *x);
Value *lower_build_float(Builder *b, const Type *type, double value);

#endif
