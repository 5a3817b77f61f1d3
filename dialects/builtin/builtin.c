/* The builtin dialect: rows and hooks.
 * Tests: lit/dialects/builtin */
#include <string.h>

#include "dialects/builtin/builtin.h"
#include "dialects/common/common.h"
#include "ir/asm/print/print.h"

static bool is_unprefixed(const Ident *name)
{
    return memchr(name->str.data, '.', name->str.len) == NULL;
}

static bool verify_module(Op *op)
{
    for (uint32_t i = 0; i < op->attrs->u.dict.count; i++) {
        const Ident *name = op->attrs->u.dict.items[i].name;
        if (is_unprefixed(name))
            return op_error(
                op, "can only contain attributes with dialect-prefixed names, found: '%.*s'",
                STR_ARG(name->str));
    }
    Region *body = op_region(op, 0);
    if (!region_is_empty(body) && region_entry(body)->arg_count > 0)
        return op_error(op, "region should have no arguments");
    return true;
}

static bool verify_unrealized_conversion_cast(Op *op)
{
    if (op->result_count > 0) return true;
    return op_error(op, "expected at least one result for cast operation");
}

/* cast(x : A) : A -> x;  cast(cast(x : A) : B) : A -> x */
static bool fold_unrealized_conversion_cast(Op *op, const Attr *const *operands,
                                            FoldResult *results)
{
    (void)operands;
    if (op->operand_count == 0) return false;
    bool same = op->operand_count == op->result_count;
    for (uint32_t i = 0; same && i < op->operand_count; i++)
        same = op_operand(op, i)->type == op_result(op, i)->type;
    if (same) {
        for (uint32_t i = 0; i < op->operand_count; i++) results[i].value = op_operand(op, i);
        return true;
    }
    Op *producer = value_def(op_operand(op, 0));
    if (!producer || producer->def != op->def || producer->result_count != op->operand_count ||
        producer->operand_count != op->result_count)
        return false;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (op_operand(op, i) != op_result(producer, i)) return false;
    for (uint32_t i = 0; i < op->result_count; i++)
        if (op_operand(producer, i)->type != op_result(op, i)->type) return false;
    for (uint32_t i = 0; i < op->result_count; i++) results[i].value = op_operand(producer, i);
    return true;
}

#define OP(ID, NAME, ...)                                                                          \
    [BUILTIN_##ID] = {.id = #ID, .name = NAME, .dialect = &builtin_dialect, __VA_ARGS__},
const OpDef builtin_ops[] = {
#include "dialects/builtin/builtin_ops.def"
};
#undef OP

const DialectDef builtin_dialect = {
    .name = "builtin",
    .summary = "The module, and what every dialect may use.",
    .has_asm_hooks = true,
    .ops = builtin_ops,
    .op_count = BUILTIN_OP_COUNT,
    .is_default_in_functions = true,
};
