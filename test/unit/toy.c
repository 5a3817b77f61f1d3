/* The dialect of toy.h. */
#include "ir/asm/parse/parse.h"
#include "test/unit/toy.h"

/* add(c1, c2) -> c1 + c2, add(x, 0) -> x */
static bool fold_add(Op *op, const Attr *const *operands, FoldResult *results)
{
    if (operands[1] && attr_int_value(operands[1]) == 0) {
        results[0].value = op_operand(op, 0);
        return true;
    }
    if (!operands[0] || !operands[1]) return false;
    results[0].attr =
        attr_int(operands[0]->type, attr_int_value(operands[0]) + attr_int_value(operands[1]));
    return true;
}

static void branch_operands(const Op *op, uint32_t successor, uint32_t *begin, uint32_t *count)
{
    (void)successor;
    *begin = 0;
    *count = op->operand_count;
}

static void set_branch_operands(Op *op, uint32_t successor, Value *const *values, uint32_t count)
{
    (void)successor;
    op_set_operands(op, values, count);
}

static Op *materialize(Context *ctx, const Attr *value, const Type *type, const Attr *loc)
{
    NamedAttr attr = build_named_attr(ctx, "value", value);
    Builder b = {.ctx = ctx, .loc = loc};
    return build(&b, TOY(CONST), NULL, 0, &type, 1, &attr, 1);
}

const OpDef toy_ops[TOY_OP_COUNT] = {
    [TOY_CONST] = {.name = "const",
                   .dialect = &toy_dialect,
                   .results = ARGS(TOY_ARG("result")),
                   .attrs = ATTRS({.name = "value", .attr = &ATTR_IS_TYPED}),
                   .traits = TRAIT_PURE | TRAIT_CONSTANT_LIKE},
    [TOY_ADD] = {.name = "add",
                 .dialect = &toy_dialect,
                 .operands = ARGS(TOY_ARG("lhs"), TOY_ARG("rhs")),
                 .results = ARGS(TOY_ARG("result")),
                 .traits = TRAIT_PURE | TRAIT_COMMUTATIVE | TRAIT_SAME_OPERANDS_AND_RESULT_TYPE,
                 .fold = fold_add},
    [TOY_NEG] = {.name = "neg",
                 .dialect = &toy_dialect,
                 .operands = ARGS(TOY_ARG("value")),
                 .results = ARGS(TOY_ARG("result")),
                 .traits = TRAIT_PURE | TRAIT_INVOLUTION | TRAIT_SAME_OPERANDS_AND_RESULT_TYPE},
    [TOY_USE] = {.name = "use", .dialect = &toy_dialect, .operands = ARGS(TOY_ARGS("values"))},
    [TOY_READ] = {.name = "read",
                  .dialect = &toy_dialect,
                  .results = ARGS(TOY_ARG("result")),
                  .traits = TRAIT_READS},
    [TOY_SEG] = {.name = "seg",
                 .dialect = &toy_dialect,
                 .operands = ARGS(TOY_ARGS("first"), TOY_ARGS("second")),
                 .traits = TRAIT_ATTR_SIZED_OPERANDS},
    [TOY_FUNC] = {.name = "func",
                  .dialect = &toy_dialect,
                  .regions = REGIONS({.name = "body", .any_blocks = true}),
                  .traits = TRAIT_ISOLATED},
    [TOY_BR] = {.name = "br",
                .dialect = &toy_dialect,
                .operands = ARGS(TOY_ARGS("values")),
                .successor_count = 1,
                .successor_operands = branch_operands,
                .set_successor_operands = set_branch_operands,
                .traits = TRAIT_PURE | TRAIT_TERMINATOR},
    [TOY_END] = {.name = "end", .dialect = &toy_dialect, .traits = TRAIT_PURE | TRAIT_TERMINATOR},
    [TOY_OLD] = {.name = "old",
                 .dialect = &toy_dialect,
                 .operands = ARGS(TOY_ARG("value")),
                 .results = ARGS(TOY_ARG("result"))},
};

const DialectDef toy_dialect = {
    .name = "toy", .ops = toy_ops, .op_count = TOY_OP_COUNT, .materialize = materialize};

static void collect_error(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                          size_t note_count)
{
    (void)ctx, (void)notes, (void)note_count;
    StrBuf *errors = user;
    strbuf_add_str(errors, diag->text);
    strbuf_add_char(errors, '\n');
}

void toy_init(Toy *toy)
{
    *toy = (Toy){.ctx = context_create()};
    dialect_register(toy->ctx, &toy_dialect);
    diag_set_handler(toy->ctx, collect_error, &toy->errors, NULL, NULL);
    toy->i32 = type_i(toy->ctx, 32);
    Builder detached = {.ctx = toy->ctx, .loc = loc_unknown(toy->ctx)};
    toy->func = build(&detached, TOY(FUNC), NULL, 0, NULL, 0, NULL, 0);
    toy->b = builder_at_end(region_add_block(op_region(toy->func, 0)), loc_unknown(toy->ctx));
}

void toy_free(Toy *toy)
{
    op_erase(toy->func);
    strbuf_free(&toy->errors);
    context_destroy(toy->ctx);
}

Value *toy_const(Toy *toy, int64_t value)
{
    NamedAttr attr = build_named_attr(toy->ctx, "value", attr_int(toy->i32, value));
    return op_result(build(&toy->b, TOY(CONST), NULL, 0, &toy->i32, 1, &attr, 1), 0);
}

Value *toy_add(Toy *toy, Value *lhs, Value *rhs)
{
    return build_binary(&toy->b, TOY(ADD), toy->i32, lhs, rhs);
}

Op *toy_use(Toy *toy, Value *value)
{
    return build(&toy->b, TOY(USE), &value, 1, NULL, 0, NULL, 0);
}

void toy_end(Toy *toy)
{
    build(&toy->b, TOY(END), NULL, 0, NULL, 0, NULL, 0);
}

const char *toy_text(Toy *toy, StrBuf *out)
{
    strbuf_clear(out);
    FOR_EACH_OP(op, region_entry(op_region(toy->func, 0))) {
        if (out->len) strbuf_add_char(out, ' ');
        strbuf_add_c(out, op_name(op).data + 4);
    }
    return out->data;
}
