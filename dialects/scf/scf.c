/* The scf dialect: structured control flow.
 * Tests: lit/dialects/scf */
#include "dialects/common/common.h"
#include "dialects/scf/scf.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"

/* ("else" region)?: the region has a block if it is written, be it empty. */
static bool parse_else(OpParser *p)
{
    if (!parser_try(p, "else")) {
        parser_add_empty_region(p);
        return true;
    }
    if (!parser_region(p, NULL, 0)) return false;
    parser_ensure_block(p);
    return true;
}

/* if ::= ssa-use ("->" types)? region ("else" region)? attr-dict? */
static bool parse_if(OpParser *p)
{
    OperandRef condition;
    TypeList types = {0};
    bool ok = parser_operand(p, &condition) &&
              parser_resolve(p, &condition, type_i(parser_ctx(p), 1)) &&
              parser_optional_arrow_types(p, &types) && parser_region(p, NULL, 0);
    ok = ok && parse_else(p) && parser_attr_dict(p, false);
    if (ok) parser_add_results(p, types.data, types.len);
    vec_free(&types);
    return ok;
}

static void print_if(OpPrinter *p, const Op *op)
{
    bool yields = op->result_count > 0;
    printer_text(p, " ");
    printer_value(p, op_operand(op, 0));
    if (yields) {
        printer_text(p, " -> (");
        printer_result_types(p, op);
        printer_text(p, ")");
    }
    printer_text(p, " ");
    printer_region(p, op_region(op, 0), false, yields);
    if (!region_is_empty(op_region(op, 1))) {
        printer_text(p, " else ");
        printer_region(p, op_region(op, 1), false, yields);
    }
    printer_attr_dict(p, op, NULL);
}

static bool verify_branch(Op *op, uint32_t region)
{
    const Op *yield = region_entry(op_region(op, region))->last;
    if (!yield || yield->operand_count != op->result_count)
        return op_error(op,
                        " region control flow edge from Region #%u to parent results: source has "
                        "%u operands, but target successor needs %u",
                        region, yield ? yield->operand_count : 0, op->result_count);
    for (uint32_t i = 0; i < op->result_count; i++)
        if (op_operand(yield, i)->type != op->results[i].type)
            return op_error(op,
                            " along control flow edge from Region #%u to parent results: source "
                            "type #%u '%s' should match input type #%u '%s'",
                            region, i, type_str(op->ctx, op_operand(yield, i)->type), i,
                            type_str(op->ctx, op->results[i].type));
    return true;
}

static bool verify_if(Op *op)
{
    bool has_else = !region_is_empty(op_region(op, 1));
    if (op->result_count > 0 && !has_else)
        return op_error(op, "must have an else block if defining values");
    return verify_branch(op, 0) && (!has_else || verify_branch(op, 1));
}

Op *scf_build_if(Builder *b, Value *condition, const Type *type, Builder *then_b, Builder *else_b)
{
    Op *op = build(b, SCF(IF), &condition, 1, &type, 1, NULL, 0);
    *then_b = builder_at_end(region_add_block(op_region(op, 0)), b->loc);
    *else_b = builder_at_end(region_add_block(op_region(op, 1)), b->loc);
    return op;
}

void scf_build_yield(Builder *b, Value *value)
{
    (void)build(b, SCF(YIELD), &value, 1, NULL, 0, NULL, 0);
}

#define OP(ID, NAME, ...)                                                                          \
    [SCF_##ID] = {.id = #ID, .name = NAME, .dialect = &scf_dialect, __VA_ARGS__},
const OpDef scf_ops[] = {
#include "dialects/scf/scf_ops.def"
};
#undef OP

const DialectDef scf_dialect = {
    .name = "scf",
    .summary = "Structured control flow: conditionals.",
    .ops = scf_ops,
    .op_count = SCF_OP_COUNT,
};
