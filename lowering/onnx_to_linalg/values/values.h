/* Values on their way from onnx to linalg. Each tensor of the network becomes one of
 *   plain   a tensor of the same elements, floats as a rule
 *   fixed   a tensor of integers with an exact meaning and range, see Fixed
 * A node is lowered to integers where its operands are fixed and the result is exact, else to plain
 * arithmetic on whatever its operands are. docs/integer-folding.md tells the rules.
 * Tests: lit/lowering/onnx_to_linalg, test/e2e/import_check.py */
#ifndef MING_LOWERING_ONNX_TO_LINALG_VALUES_VALUES_H
#define MING_LOWERING_ONNX_TO_LINALG_VALUES_VALUES_H

#include "dialects/onnx/onnx.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"

/* A node whose effect on a fixed tensor is not computed yet: the operand of that number is what the
 * step before gives, the others are constants. A step that joins has two operands, and the second
 * is what `other`, a step on the same integers, gives. */
typedef struct EpilogueOp {
    const struct EpilogueOp *before; /* NULL: the integers' values themselves; `other` too */
    const struct EpilogueOp *other;
    const Op *node;
    uint32_t operand;
    uint32_t size; /* steps that are evaluated for this one, itself included */
    bool joins;
} EpilogueOp;

/* How the values run as the integers grow, in every channel. */
typedef enum Monotonicity {
    MONOTONE, /* rising or falling */
    UNIMODAL, /* falling and then rising or the reverse, see Epilogue */
    NOT_MONOTONE
} Monotonicity;

/* What stands between the integers and the network's values, applied index by index along one
 * dimension: value[c] = steps(round(q * scale * factors[c] + biases[c])), where round is to the
 * network's element type and scale the Fixed's. Immutable; from the scratch arena. */
typedef struct Epilogue {
    int axis;                       /* -1: nothing depends on an index */
    int64_t channels;               /* extent of that dimension, or 1 */
    const double *factors, *biases; /* `channels` numbers; NULL: ones, zeros */
    const EpilogueOp *last;         /* NULL: none */
    Monotonicity monotonicity;
    const EpilogueOp *extremum_op; /* of UNIMODAL: its result turns where what it is applied to */
    double extremum;               /* passes this number; before it all is monotone */
} Epilogue;

/* real = value * unit * 2^exponent / divisor, then the epilogue, if there is one; in a tensor that is
 * integer in the network the element is value + zero. low <= value <= high. */
typedef struct Fixed {
    Value *value; /* tensor of signless integers */
    double unit;  /* in [1, 2); 1 for power-of-two scales */
    int exponent;
    int64_t divisor; /* odd, above 0 */
    int64_t low, high;
    int64_t zero;
    bool is_unsigned; /* to be extended by zeros */
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

/* What a tensor of the network became; either form, or both once a fixed one was made plain. */
typedef struct Lowered {
    Value *plain; /* signless elements */
    Fixed fixed;
    bool is_fixed;
} Lowered;

typedef struct OnnxLowering {
    Pass *pass;
    Context *ctx;
    Op *func;
    Op *node;      /* being lowered */
    Builder b;     /* in the new body */
    PtrMap values; /* Value* of the network -> Lowered* */
    PtrMap arrays; /* Value* of a constant of the network -> Array*, owned */
    StrBuf why;    /* scratch for messages */
} OnnxLowering;

/* Operand `index` as integers; a constant is materialised if its values are exact integers of one
 * scale. NULL: it is not fixed. */
const Fixed *lower_fixed(OnnxLowering *lw, uint32_t index);
/* The same, but only without an epilogue. */
const Fixed *lower_fixed_bare(OnnxLowering *lw, uint32_t index);
/* Operand `index` as a plain tensor, converted if it must be. NULL: diagnosed. */
Value *lower_plain(OnnxLowering *lw, uint32_t index) MUST_CHECK;
/* Records what result `index` of the node is. */
void lower_result(OnnxLowering *lw, const Fixed *fixed);
void lower_plain_result(OnnxLowering *lw, uint32_t index, Value *value);
void lower_record_fixed(OnnxLowering *lw, const Value *of, const Fixed *fixed);
void lower_record_plain(OnnxLowering *lw, const Value *of, Value *plain);
/* The value of a constant of the network in whatever form; NULL: it is none. */
const Array *lower_array(OnnxLowering *lw, const Value *value);
/* Signless type of a plain tensor. */
const Type *lower_plain_type(const Type *type);
bool lower_is_unsigned_elem(const Type *type); /* ui8 ..., i1 */
bool lower_is_quantizer(const Op *op);
/* Says that a node of a quantized network is computed in floating point. */
void lower_warn_plain(OnnxLowering *lw, const char *why);
/* Errors about the node; false. */
bool lower_too_wide(OnnxLowering *lw);

/* Scales: equal, or equal but for a power of two. */
bool fixed_same_unit(const Fixed *a, const Fixed *b);
bool fixed_same_scale(const Fixed *a, const Fixed *b);
double fixed_scale(const Fixed *fixed); /* unit * 2^exponent / divisor */
/* The same integers with a scale times a positive number. */
void fixed_scale_by(Fixed *fixed, double factor);
/* The same integers with a scale divided by a number above 0: powers of two go to the exponent.
 * False beyond 64 bits. */
bool fixed_divide_scale(Fixed *fixed, int64_t divisor) MUST_CHECK;
/* unit and exponent of a positive number. */
void fixed_split_scale(double scale, double *unit, int *exponent);

/* The constant behind operand `index` as integers, weights and biases alike: quantized ones, or
 * floats that are small multiples of one number. False: it is none. */
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

/* The result of the node as operand `index` with one more step; false: the node is not one that
 * works index by index on constants. */
bool epilogue_append(OnnxLowering *lw, uint32_t index) MUST_CHECK;
/* One more step behind a list; NULL: the list is too long. */
EpilogueOp *epilogue_append_op(OnnxLowering *lw, const EpilogueOp *before, const Op *node,
                               uint32_t operand);
/* The same value times factors[c] plus biases[c] along dimension `axis`; either may be NULL. */
bool epilogue_affine(OnnxLowering *lw, Fixed *fixed, int axis, const double *factors,
                     const double *biases) MUST_CHECK;
/* The values that integers have in the network: q has shape (1, channels, n) and the result's
 * type is that of `like`. The last step's result, or NULL: why says. */
Array *epilogue_values(OnnxLowering *lw, const Fixed *fixed, const Type *like, const Array *q)
    MUST_CHECK;
/* Applies steps, the last of which is given, to network values; takes the reference. NULL: why. */
Array *epilogue_apply(OnnxLowering *lw, const EpilogueOp *last, Array *x) MUST_CHECK;
/* Network values of integers without an epilogue's steps; q is (1, channels, n). */
Array *epilogue_first(const Fixed *fixed, const Type *elem, const Array *q);
/* Emits the epilogue in plain arithmetic: the tensor of type `like`. */
Value *epilogue_build(OnnxLowering *lw, const Fixed *fixed, const Type *like);

/* Bits of the smallest signed integer that holds both; at least 2. */
uint32_t fixed_signed_width(int64_t low, int64_t high);
/* x * 2^shift; false on overflow. */
bool fixed_shift_i64(int64_t x, int64_t shift, int64_t *out) MUST_CHECK;

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

/* Loops and maps of an element-wise kernel on the first input; inputs of rank 1 go along dimension
 * `axis`. */
void generic_elementwise(OnnxLowering *lw, Generic *generic, Value *const *inputs, uint32_t count);
void generic_along(OnnxLowering *lw, Generic *generic, Value *const *inputs, uint32_t count,
                   uint32_t axis);
/* Loops and maps of an element-wise kernel whose inputs numpy's rules stretch to the shape. */
void generic_broadcast(OnnxLowering *lw, Generic *generic, Value *const *inputs, uint32_t count,
                       const Type *shape);
/* Makes the op with `init` as its init; generic->body stands in its body. */
void generic_open(OnnxLowering *lw, Generic *generic, Value *init);
/* Block argument: an input's element, or after the inputs the init's. */
Value *generic_arg(const Generic *generic, uint32_t index);
/* Ends the body; the tensor result. */
Value *generic_close(Generic *generic, Value *element);

/* tensor.empty, and the same filled with a number. */
Value *build_empty(OnnxLowering *lw, const Type *type);
Value *build_filled(OnnxLowering *lw, const Type *type, int64_t value);
Value *build_fill(OnnxLowering *lw, Value *scalar, Value *tensor);
Value *build_number(Builder *b, const Type *type, double value); /* integer or float constant */
/* The tensor with a border of `value` (rank entries each); itself when there is none. */
Value *build_pad(OnnxLowering *lw, Value *tensor, const int64_t *low, const int64_t *high,
                 Value *value);
/* A tensor of integers with elements of `elem`, which is at least as wide. */
Value *build_wider(OnnxLowering *lw, const Fixed *x, const Type *elem);
/* The same values in units of 2^-shift of the scale; false: diagnosed. */
bool build_finer(OnnxLowering *lw, Fixed *x, int shift) MUST_CHECK;
/* An integer in `type`, which is at least as wide. */
Value *build_extend(Builder *b, Value *value, const Type *type, bool is_unsigned);
/* An integer in `type`, extended by sign or truncated. */
Value *build_resize(Builder *b, Value *value, const Type *type);
/* Element `at` (a signed integer, not negative) of a table of rank 1. */
Value *build_lookup(Builder *b, Value *table, Value *at);

/* Plain lowering of nodes that work element by element (onnx_to_linalg_plain.c, _scalar.c). */

/* The node on plain tensors, with x as operand `index` and the others looked up. NULL:
 * diagnosed. */
Value *build_plain_node(OnnxLowering *lw, uint32_t index, Value *x) MUST_CHECK;
/* The node on given plain tensors, for nodes without operands of their own kind. NULL:
 * diagnosed. */
Value *build_plain_on(OnnxLowering *lw, Value *const *inputs, uint32_t count) MUST_CHECK;
/* Whether the node is element-wise. */
bool lower_is_elementwise(const Op *node);

/* The scalar result of an element-wise node in `type` from its operands' elements. `is_unsigned`
 * tells how the operands' integers are read. NULL: there is no such arithmetic. */
Value *build_scalar(Builder *b, const Op *node, const Type *type, Value *const *args,
                    uint32_t count, bool is_unsigned) MUST_CHECK;
/* Half-even and the other rounding modes on floats. */
Value *build_rounding(Builder *b, Rounding mode, Value *x);
Value *build_float(Builder *b, const Type *type, double value);

#endif
