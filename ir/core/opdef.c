/* Queries that the rows of op tables answer: inherent attributes, operand and result groups,
 * traits.
 * Tests: test/unit/ir/core/opdef_test.c */
#include <assert.h>
#include <string.h>

#include "ir/core/core.h"

Str dialect_prefix(Str name)
{
    const char *dot = name.len ? memchr(name.data, '.', name.len) : NULL;
    return (Str){name.data, dot ? (size_t)(dot - name.data) : 0};
}

const OpInfo *op_info(const Op *op)
{
    return op->name->op;
}

bool op_has_trait(const Op *op, uint32_t trait)
{
    return op->def && (op->def->traits & trait) != 0;
}

bool op_is_terminator(const Op *op)
{
    return op_has_trait(op, TRAIT_TERMINATOR);
}

bool opinfo_is_inherent(const OpInfo *info, const Ident *name)
{
    for (uint32_t i = 0; i < info->attr_count; i++)
        if (info->attr_names[i] == name) return true;
    return name == info->operand_segments || name == info->result_segments;
}

typedef struct GroupQuery {
    const ArgDef *args;
    uint32_t groups; /* declared */
    uint32_t total;  /* operands or results the op has */
    const Attr *segments;
    bool in_order;
} GroupQuery;

static void group_by_segments(const GroupQuery *query, uint32_t group, uint32_t *begin,
                              uint32_t *count)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < group; i++) at += (uint32_t)dense_array_i64(query->segments, i);
    *begin = at;
    *count = (uint32_t)dense_array_i64(query->segments, group);
}

/* Without segments all variable groups have the same size. */
static void group_by_arity(const GroupQuery *query, uint32_t group, uint32_t *begin,
                           uint32_t *count)
{
    uint32_t fixed = 0, variable_before = 0, fixed_before = 0;
    for (uint32_t i = 0; i < query->groups; i++) {
        bool is_fixed = query->args[i].arity == ARITY_ONE;
        fixed += is_fixed;
        if (i >= group) continue;
        fixed_before += is_fixed;
        variable_before += !is_fixed;
    }
    uint32_t variable = query->groups - fixed;
    uint32_t size = variable && query->total > fixed ? (query->total - fixed) / variable : 0;
    *begin = fixed_before + variable_before * size;
    *count = query->args[group].arity == ARITY_ONE ? 1 : size;
}

/* Every group takes one while there are any; the last one takes the rest. */
static void group_in_order(const GroupQuery *query, uint32_t group, uint32_t *begin,
                           uint32_t *count)
{
    *begin = group < query->total ? group : query->total;
    uint32_t rest = query->total - *begin;
    *count = group + 1 < query->groups && rest > 1 ? 1 : rest;
}

static void find_group(const GroupQuery *query, uint32_t group, uint32_t *begin, uint32_t *count)
{
    assert(group < query->groups);
    bool by_segments = query->segments && query->segments->kind == ATTR_DENSE_ARRAY &&
                       query->segments->u.dense_array.count == query->groups;
    if (by_segments)
        group_by_segments(query, group, begin, count);
    else if (query->in_order)
        group_in_order(query, group, begin, count);
    else
        group_by_arity(query, group, begin, count);
    assert(*begin + *count <= query->total);
}

void op_operand_group(const Op *op, uint32_t group, uint32_t *begin, uint32_t *count)
{
    const OpInfo *info = op_info(op);
    const Ident *name = info->operand_segments;
    find_group(&(GroupQuery){info->def->operands, info->operand_groups, op->operand_count,
                             name ? attr_dict_get(op->props, name) : NULL,
                             op_has_trait(op, TRAIT_GROUPS_IN_ORDER)},
               group, begin, count);
}

void op_result_group(const Op *op, uint32_t group, uint32_t *begin, uint32_t *count)
{
    const OpInfo *info = op_info(op);
    const Ident *name = info->result_segments;
    find_group(&(GroupQuery){info->def->results, info->result_groups, op->result_count,
                             name ? attr_dict_get(op->props, name) : NULL,
                             op_has_trait(op, TRAIT_GROUPS_IN_ORDER)},
               group, begin, count);
}

static void set_segment(Op *op, const Ident *name, uint32_t group, uint32_t size)
{
    const Attr *segments = attr_dict_get(op->props, name);
    size_t count = segments->u.dense_array.count;
    int32_t *sizes = xcalloc(count, sizeof *sizes);
    for (size_t i = 0; i < count; i++) sizes[i] = (int32_t)dense_array_i64(segments, i);
    sizes[group] = (int32_t)size;
    op_set_attr_id(op, name, attr_dense_array(segments->u.dense_array.elem, sizes, count));
    free_ptr((void **)&sizes);
}

void op_set_operand_group(Op *op, uint32_t group, Value *const *values, uint32_t count)
{
    uint32_t begin, old;
    op_operand_group(op, group, &begin, &old);
    op_replace_operands(op, begin, old, values, count);
    const Ident *name = op_info(op)->operand_segments;
    if (name) set_segment(op, name, group, count);
}

const char *opdef_result_name(const Op *op, uint32_t index, StrBuf *scratch)
{
    (void)scratch;
    return op->def->results[index].name;
}

Value *value_destination(const Value *result)
{
    const Op *op = value_def(result);
    if (!op || !op->def || !op->def->dialect->destination) return NULL;
    return op->def->dialect->destination(op, result->index);
}
