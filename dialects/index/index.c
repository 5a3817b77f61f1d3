/* The index dialect: arithmetic on values of type index.
 * Tests: lit/dialects/index */
#include "dialects/common/common.h"
#include "dialects/index/index.h"

#define BINARY(TRAITS)                                                                             \
    .operands = ARGS(ONE("lhs", TYPE_INDEX_ONLY), ONE("rhs", TYPE_INDEX_ONLY)),                    \
    .results = ARGS(ONE("result", TYPE_INDEX_ONLY)),                                               \
    .traits = TRAIT_PURE | TRAIT_SAME_OPERANDS_AND_RESULT_TYPE | (TRAITS),                         \
    .format = "$lhs `,` $rhs attr-dict"

#define OP(ID, NAME, ...)                                                                          \
    [INDEX_##ID] = {.id = #ID, .name = NAME, .dialect = &index_dialect, __VA_ARGS__},
const OpDef index_ops[] = {
#include "dialects/index/index_ops.def"
};
#undef OP

const DialectDef index_dialect = {
    .name = "index",
    .summary = "Arithmetic on indices.",
    .ops = index_ops,
    .op_count = INDEX_OP_COUNT,
};
