/* The math dialect: rows; folders are in math_fold.c.
 * Tests: lit/dialects/math */
#include "dialects/arith/arith.h"
#include "dialects/common/common.h"
#include "dialects/math/internal.h"
#include "dialects/math/math.h"
#include "ir/asm/print/print.h"

static bool infer_fpowi(Op *op, const Type **results)
{
    results[0] = op_operand(op, 0)->type;
    return true;
}

static bool verify_fpowi(Op *op)
{
    if (op_operand(op, 0)->type == op_result(op, 0)->type) return true;
    return op_error(op, "failed to verify that all of {lhs, result} have same type");
}

#define SAME_TYPE (TRAIT_PURE | TRAIT_ELEMENTWISE | TRAIT_SAME_OPERANDS_AND_RESULT_TYPE)
#define FLOAT_FLAGS DEFAULTED("fastmath", ARITH_ATTR_IS_FASTMATH, "#arith.fastmath<none>")
#define FLOAT_RESULT .results = ARGS(ONE("result", TYPE_FLOAT_LIKE)), .attrs = ATTRS(FLOAT_FLAGS)
#define INT_RESULT .results = ARGS(ONE("result", TYPE_SIGNLESS_INTEGER_LIKE))

#define FLOAT_UNARY                                                                                \
    .operands = ARGS(ONE("operand", TYPE_FLOAT_LIKE)), FLOAT_RESULT, .traits = SAME_TYPE,          \
    .format = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"
#define FLOAT_BINARY                                                                               \
    .operands = ARGS(ONE("lhs", TYPE_FLOAT_LIKE), ONE("rhs", TYPE_FLOAT_LIKE)), FLOAT_RESULT,      \
    .traits = SAME_TYPE,                                                                           \
    .format = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"
#define FLOAT_TERNARY                                                                              \
    .operands =                                                                                    \
        ARGS(ONE("a", TYPE_FLOAT_LIKE), ONE("b", TYPE_FLOAT_LIKE), ONE("c", TYPE_FLOAT_LIKE)),     \
    FLOAT_RESULT, .traits = SAME_TYPE,                                                             \
    .format = "$a `,` $b `,` $c (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"
#define INT_UNARY                                                                                  \
    .operands = ARGS(ONE("operand", TYPE_SIGNLESS_INTEGER_LIKE)), INT_RESULT, .traits = SAME_TYPE, \
    .format = "$operand attr-dict `:` type($result)"
#define INT_BINARY                                                                                 \
    .operands =                                                                                    \
        ARGS(ONE("lhs", TYPE_SIGNLESS_INTEGER_LIKE), ONE("rhs", TYPE_SIGNLESS_INTEGER_LIKE)),      \
    INT_RESULT, .traits = SAME_TYPE, .format = "$lhs `,` $rhs attr-dict `:` type($result)"

#define OP(ID, NAME, ...)                                                                          \
    [MATH_##ID] = {.id = #ID, .name = NAME, .dialect = &math_dialect, __VA_ARGS__},
const OpDef math_ops[] = {
#include "dialects/math/math_ops.def"
};
#undef OP

const DialectDef math_dialect = {
    .name = "math",
    .summary = "Elementary functions.",
    .ops = math_ops,
    .op_count = MATH_OP_COUNT,
    .inlining = INLINE_OPS,
    .materialize = arith_materialize,
};
