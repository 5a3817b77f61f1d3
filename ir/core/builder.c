/* Builders: creation of ops at an insertion point.
 * Tests: test/unit/ir/core/op_test.c, test/unit/ir/rewrite/rewrite_test.c */
#include <assert.h>

#include "ir/core/core.h"

Builder builder_at_end(Block *block, const Attr *loc)
{
    return (Builder){.ctx = block->ctx, .block = block, .loc = loc};
}

Builder builder_before(Op *op)
{
    return (Builder){.ctx = op->ctx, .block = op->block, .before = op, .loc = op->loc};
}

Builder builder_after(Op *op)
{
    return (Builder){.ctx = op->ctx, .block = op->block, .before = op->next, .loc = op->loc};
}

Builder builder_detached(const Builder *b)
{
    return (Builder){.ctx = b->ctx, .loc = b->loc};
}

void builder_set_before(Builder *b, Op *op)
{
    b->block = op->block;
    b->before = op;
}

void builder_set_end(Builder *b, Block *block)
{
    b->block = block;
    b->before = NULL;
}

Op *builder_insert(Builder *b, Op *op)
{
    if (b->before)
        op_insert_before(op, b->before);
    else if (b->block)
        op_append(op, b->block);
    if (b->created) b->created(b->user, op);
    return op;
}

Op *build_op(Builder *b, const OpState *state)
{
    OpState located = *state;
    if (!located.loc) located.loc = b->loc;
    return builder_insert(b, op_create(b->ctx, &located));
}

/* Regions that a row declares; a variadic list has none until the caller says so. */
static uint32_t declared_regions(const OpInfo *info)
{
    return info->region_groups;
}

static Op *create(Builder *b, const OpDef *def, Value *const *operands, uint32_t operand_count,
                  const Type *const *result_types, uint32_t result_count, const NamedAttr *attrs,
                  uint32_t attr_count)
{
    const OpInfo *info = opinfo_of_def(b->ctx, def);
    assert(info && "dialect not registered");
    return op_create(b->ctx, &(OpState){.name = info->name,
                                        .loc = b->loc,
                                        .operands = operands,
                                        .operand_count = operand_count,
                                        .result_types = result_types,
                                        .result_count = result_count,
                                        .attrs = attr_dict(b->ctx, attrs, attr_count),
                                        .region_count = declared_regions(info)});
}

Op *build(Builder *b, const OpDef *def, Value *const *operands, uint32_t operand_count,
          const Type *const *result_types, uint32_t result_count, const NamedAttr *attrs,
          uint32_t attr_count)
{
    return builder_insert(
        b, create(b, def, operands, operand_count, result_types, result_count, attrs, attr_count));
}

/* Number of results when every declared group has one. */
static uint32_t plain_result_count(const OpInfo *info)
{
    for (uint32_t i = 0; i < info->result_groups; i++)
        assert(info->def->results[i].arity == ARITY_ONE);
    return info->result_groups;
}

Op *build_inferred(Builder *b, const OpDef *def, Value *const *operands, uint32_t operand_count,
                   const NamedAttr *attrs, uint32_t attr_count)
{
    const OpInfo *info = opinfo_of_def(b->ctx, def);
    assert(info && "dialect not registered");
    uint32_t count = plain_result_count(info);
    const Type **types = xcalloc(count, sizeof *types);
    for (uint32_t i = 0; i < count; i++) types[i] = type_none(b->ctx);
    if (!def->infer) {
        assert(def->traits & TRAIT_SAME_OPERANDS_AND_RESULT_TYPE && operand_count > 0);
        for (uint32_t i = 0; i < count; i++) types[i] = operands[0]->type;
    }
    Op *op = create(b, def, operands, operand_count, types, count, attrs, attr_count);
    bool ok = !def->infer || def->infer(op, types);
    for (uint32_t i = 0; ok && i < count; i++) op->results[i].type = types[i];
    free_ptr((void **)&types);
    if (ok) return builder_insert(b, op);
    op_erase(op);
    return NULL;
}

Value *build_unary(Builder *b, const OpDef *def, const Type *type, Value *operand)
{
    return op_result(build(b, def, &operand, 1, &type, 1, NULL, 0), 0);
}

Value *build_binary(Builder *b, const OpDef *def, const Type *type, Value *lhs, Value *rhs)
{
    Value *operands[] = {lhs, rhs};
    return op_result(build(b, def, operands, 2, &type, 1, NULL, 0), 0);
}

NamedAttr build_named_attr(Context *ctx, const char *name, const Attr *value)
{
    return (NamedAttr){ident_get_c(ctx, name), value};
}
