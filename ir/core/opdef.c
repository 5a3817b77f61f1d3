/* Registration of dialects: resolves the names of op rows, parses default attributes, compiles
 * assembly formats; and what is answered from the rows: inherent attributes, operand and result
 * groups, traits. A malformed table is a programming error and ends in panic().
 * Tests: test/unit/opdef_test.c */
#include "ir/core/opdef.h"

#include <assert.h>
#include <string.h>

#include "ir/attr/context_impl.h"
#include "ir/asm/format/format.h"
#include "ir/asm/parse/parse.h"

/* --- dialects ------------------------------------------------------------------ */

/* Position of the dialect, or where it belongs. */
static size_t dialect_position(const DialectList *list, Str name)
{
    size_t low = 0, high = list->len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (str_cmp(str_from(list->data[middle]->name), name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const DialectDef *dialect_find(const DialectList *list, Str name)
{
    size_t position = dialect_position(list, name);
    if (position == list->len) return NULL;
    const DialectDef *dialect = list->data[position];
    return str_eq_c(name, dialect->name) ? dialect : NULL;
}

const DialectDef *context_dialect(const Context *ctx, Str name_space)
{
    return dialect_find(&ctx->dialects, name_space);
}

const DialectDef *context_foreign(const Context *ctx, Str name_space)
{
    return dialect_find(&ctx->foreign, name_space);
}

const DialectDef *context_attr_dialect(const Context *ctx, Str name_space)
{
    const DialectDef *dialect = context_dialect(ctx, name_space);
    return dialect ? dialect : context_foreign(ctx, name_space);
}

size_t context_dialect_count(const Context *ctx)
{
    return ctx->dialects.len;
}

const DialectDef *context_dialect_at(const Context *ctx, size_t index)
{
    assert(index < ctx->dialects.len);
    return ctx->dialects.data[index];
}

void context_allow_unregistered(Context *ctx, bool allow)
{
    ctx->allow_unregistered = allow;
}

bool context_allows_unregistered(const Context *ctx)
{
    return ctx->allow_unregistered;
}

const OpInfo *context_op(Context *ctx, Str full_name)
{
    return ident_get(ctx, full_name)->op;
}

const OpInfo *context_op_of_def(const Context *ctx, const OpDef *def)
{
    return ptrmap_get(&ctx->op_infos, def);
}

static void dialect_insert(DialectList *list, const DialectDef *dialect)
{
    size_t position = dialect_position(list, str_from(dialect->name));
    (void)vec_push(list);
    for (size_t i = list->len - 1; i > position; i--) list->data[i] = list->data[i - 1];
    list->data[position] = dialect;
}

void context_register_foreign(Context *ctx, const DialectDef *dialect)
{
    if (!context_foreign(ctx, str_from(dialect->name))) dialect_insert(&ctx->foreign, dialect);
}

/* --- rows ------------------------------------------------------------------------ */

static uint32_t count_args(const ArgDef *args)
{
    uint32_t count = 0;
    while (args && args[count].name) count++;
    return count;
}

static uint32_t count_attrs(const AttrArgDef *attrs)
{
    uint32_t count = 0;
    while (attrs && attrs[count].name) count++;
    return count;
}

static uint32_t count_regions(const RegionDef *regions)
{
    uint32_t count = 0;
    while (regions && regions[count].name) count++;
    return count;
}

static const Ident *full_name(Context *ctx, const DialectDef *dialect, const OpDef *def)
{
    StrBuf name = {0};
    strbuf_printf(&name, "%s.%s", dialect->name, def->name);
    const Ident *ident = ident_get(ctx, strbuf_str(&name));
    strbuf_free(&name);
    return ident;
}

static void check_row(const DialectDef *dialect, const OpDef *def)
{
    if (!def->name || def->dialect != dialect)
        panic("dialect '%s': row '%s' has no name or another dialect", dialect->name,
              def->id ? def->id : "?");
    if (def->format && (def->parse || def->print))
        panic("'%s.%s': both a format and hooks", dialect->name, def->name);
    for (const ArgDef *arg = def->operands; arg && arg->name; arg++)
        if (!arg->type) panic("'%s.%s': operand '%s' has no type", dialect->name, def->name,
                              arg->name);
    for (const ArgDef *arg = def->results; arg && arg->name; arg++)
        if (!arg->type) panic("'%s.%s': result '%s' has no type", dialect->name, def->name,
                              arg->name);
    for (const AttrArgDef *attr = def->attrs; attr && attr->name; attr++)
        if (!attr->attr) panic("'%s.%s': attribute '%s' has no constraint", dialect->name,
                               def->name, attr->name);
}

static const uint32_t *sort_attrs(Context *ctx, const Ident *const *names, uint32_t count)
{
    uint32_t *order = ARENA_ARRAY(&ctx->arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        for (; at > 0 && str_cmp(names[i]->str, names[order[at - 1]]->str) < 0; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return order;
}

static OpInfo *register_row(Context *ctx, const DialectDef *dialect, const OpDef *def)
{
    check_row(dialect, def);
    Ident *name = (Ident *)full_name(ctx, dialect, def);
    if (name->op) panic("'%s': registered twice", name->str.data);
    OpInfo *info = ARENA_NEW(&ctx->arena, OpInfo);
    info->def = def;
    info->name = name;
    info->operand_groups = count_args(def->operands);
    info->result_groups = count_args(def->results);
    info->attr_count = count_attrs(def->attrs);
    info->region_groups = count_regions(def->regions);
    const Ident **names = ARENA_ARRAY(&ctx->arena, const Ident *, info->attr_count);
    for (uint32_t i = 0; i < info->attr_count; i++)
        names[i] = ident_get_c(ctx, def->attrs[i].name);
    info->attr_names = names;
    info->attr_order = sort_attrs(ctx, names, info->attr_count);
    if (def->traits & TRAIT_ATTR_SIZED_OPERANDS)
        info->operand_segments = ident_get_c(ctx, "operandSegmentSizes");
    if (def->traits & TRAIT_ATTR_SIZED_RESULTS)
        info->result_segments = ident_get_c(ctx, "resultSegmentSizes");
    name->op = info;
    ptrmap_put(&ctx->op_infos, def, info);
    return info;
}

static void parse_defaults(Context *ctx, OpInfo *info)
{
    info->default_props = ctx->empty_dict;
    for (uint32_t i = 0; i < info->attr_count; i++) {
        const AttrArgDef *attr = &info->def->attrs[i];
        if (!attr->default_text || attr->optional) continue;
        const Attr *value = parse_attr_text(ctx, str_from(attr->default_text), ctx->unknown_loc);
        if (!value)
            panic("'%s': default of '%s' does not parse", info->name->str.data, attr->name);
        info->default_props = attr_dict_set(info->default_props, info->attr_names[i], value);
    }
}

void context_register_dialect(Context *ctx, const DialectDef *dialect)
{
    if (context_dialect(ctx, str_from(dialect->name))) return;
    dialect_insert(&ctx->dialects, dialect);
    OpInfo **infos = xmalloc(dialect->op_count * sizeof *infos);
    for (size_t i = 0; i < dialect->op_count; i++)
        infos[i] = register_row(ctx, dialect, &dialect->ops[i]);
    /* Defaults and formats may name any op, type or attribute of the dialect. */
    for (size_t i = 0; i < dialect->op_count; i++) {
        parse_defaults(ctx, infos[i]);
        if (infos[i]->def->format) infos[i]->format = format_compile(ctx, infos[i]);
    }
    free_ptr((void **)&infos);
}

Str dialect_prefix(Str name)
{
    const char *dot = name.len ? memchr(name.data, '.', name.len) : NULL;
    return (Str){name.data, dot ? (size_t)(dot - name.data) : 0};
}

/* --- answers from the rows ----------------------------------------------------------- */

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

const char *result_name_by_row(const Op *op, uint32_t index, StrBuf *scratch)
{
    (void)scratch;
    return op->def->results[index].name;
}
