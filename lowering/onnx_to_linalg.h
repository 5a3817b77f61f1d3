/* Between the sources of convert-onnx-to-linalg. A float tensor of the network is followed as an
 * integer tensor with an exact meaning and range:
 *   real = value * 2^exponent / divisor,   low <= value <= high
 * Tests: lit/lowering/onnx-to-linalg*.mir, test/e2e/import_check.py */
#ifndef MING_LOWERING_ONNX_TO_LINALG_H
#define MING_LOWERING_ONNX_TO_LINALG_H

#include "dialects/onnx/onnx.h"
#include "dialects/onnx/quant.h"
#include "ir/builder.h"
#include "ir/pass.h"

typedef struct Fixed {
    Value *value; /* tensor of signless integers */
    int exponent;
    int64_t divisor; /* odd, above 0 */
    int64_t low, high;
    bool is_unsigned; /* to be extended by zeros */
} Fixed;

/* A constant: real = values[i] * 2^exponent(i), where the exponent may depend on the index in
 * dimension `axis`. Arrays are from the scratch arena. */
typedef struct FixedConstant {
    const Type *type; /* shape; element type signless and wide enough */
    int64_t *values;  /* row-major */
    int64_t count;
    int axis;         /* -1: one exponent for all */
    int *exponents;   /* one, or one per index of the axis */
    bool is_unsigned;
} FixedConstant;

typedef struct Lowering {
    Pass *pass;
    Context *ctx;
    Op *func;
    Op *node;      /* being lowered */
    Builder b;     /* in the new body */
    PtrMap fixed;  /* Value* of a float tensor -> Fixed* */
    StrBuf why;    /* scratch for messages */
} Lowering;

/* --- onnx_to_linalg.c ----------------------------------------------------------------- */

/* The integers behind operand `index` of the node; constants are materialised. NULL: diagnosed. */
const Fixed *lower_operand(Lowering *lw, uint32_t index) MUST_CHECK;
/* Records what the node's result is. */
void lower_result(Lowering *lw, const Fixed *fixed);
/* Errors about the node; false. */
bool lower_too_wide(Lowering *lw);
bool lower_bad_scale(Lowering *lw, double scale);

/* --- onnx_to_linalg_const.c -------------------------------------------------------------- */

/* The constant behind operand `index`, weights and biases alike. False: diagnosed. */
bool lower_constant(Lowering *lw, uint32_t index, FixedConstant *out) MUST_CHECK;
/* Whether a value is a constant in one of the forms that lower_constant reads. */
bool is_fixed_constant(const Value *value);
/* Shifts the values so that one exponent, the smallest, serves all; false when too wide. */
bool constant_align(Lowering *lw, FixedConstant *constant) MUST_CHECK;
/* Makes the element type as narrow as the values allow. */
void constant_narrow(FixedConstant *constant);
/* arith.constant in another shape with as many elements. */
Value *constant_build(Lowering *lw, const FixedConstant *constant, const int64_t *dims,
                      uint32_t rank);

/* --- onnx_to_linalg_node.c, _quant.c ------------------------------------------------------- */

bool lower_conv(Lowering *lw) MUST_CHECK;
bool lower_global_pool(Lowering *lw) MUST_CHECK;
bool lower_relu(Lowering *lw) MUST_CHECK;
bool lower_quant(Lowering *lw) MUST_CHECK;

/* --- onnx_to_linalg_build.c ---------------------------------------------------------------- */

/* Bits of the smallest signed integer that holds both; at least 2. */
uint32_t signed_width(int64_t low, int64_t high);
/* x * 2^shift; false on overflow. */
bool shift_i64(int64_t x, int64_t shift, int64_t *out) MUST_CHECK;

enum { GENERIC_MAX_INPUTS = 3, GENERIC_MAX_LOOPS = 2 * ONNX_MAX_RANK };

/* A linalg.generic under construction: maps over `loops` loops. */
typedef struct Generic {
    uint32_t loops, inputs;
    bool is_reduction[GENERIC_MAX_LOOPS];
    Value *input[GENERIC_MAX_INPUTS];
    const AffineMap *map[GENERIC_MAX_INPUTS + 1]; /* of the inputs, then of the result */
    Op *op;
    Builder body;
} Generic;

/* Loops and maps of an element-wise kernel on the first input; inputs of rank 1 are per channel
 * (dimension 1). */
void generic_elementwise(Lowering *lw, Generic *generic, Value *const *inputs, uint32_t count);
/* Makes the op with `init` as its init; generic->body stands in its body. */
void generic_open(Lowering *lw, Generic *generic, Value *init);
/* Block argument: an input's element, or after the inputs the init's. */
Value *generic_arg(const Generic *generic, uint32_t index);
/* Ends the body; the tensor result. */
Value *generic_close(Generic *generic, Value *element);

/* tensor.empty, and the same filled with an integer. */
Value *build_empty(Lowering *lw, const Type *type);
Value *build_filled(Lowering *lw, const Type *type, int64_t value);
/* The tensor with zeros around it (rank entries each); itself when there are none. */
Value *build_pad(Lowering *lw, Value *tensor, const int64_t *low, const int64_t *high);
/* An integer in `type`, which is at least as wide. */
Value *build_extend(Builder *b, Value *value, const Type *type, bool is_unsigned);
/* An integer in `type`, extended by sign or truncated. */
Value *build_resize(Builder *b, Value *value, const Type *type);

#endif
