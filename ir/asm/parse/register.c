/* Registration of dialects: resolves the names in op rows, parses default attributes and compiles
 * assembly formats. A malformed table is a programming error and panics.
 * Tests: test/unit/ir/core/opdef_test.c, test/unit/ir/asm/format/format_test.c */
#include "ir/asm/format/format.h"
#include "ir/asm/parse/parse.h"

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
        if (!arg->type)
            panic("'%s.%s': operand '%s' has no type", dialect->name, def->name, arg->name);
    for (const ArgDef *arg = def->results; arg && arg->name; arg++)
        if (!arg->type)
            panic("'%s.%s': result '%s' has no type", dialect->name, def->name, arg->name);
    for (const AttrArgDef *attr = def->attrs; attr && attr->name; attr++)
        if (!attr->attr)
            panic("'%s.%s': attribute '%s' has no constraint", dialect->name, def->name,
                  attr->name);
}

static const uint32_t *sort_attrs(Context *ctx, const Ident *const *names, uint32_t count)
{
    uint32_t *order = ARENA_ARRAY(context_arena(ctx), uint32_t, count);
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
    OpInfo *info = ARENA_NEW(context_arena(ctx), OpInfo);
    info->def = def;
    info->name = name;
    info->operand_groups = count_args(def->operands);
    info->result_groups = count_args(def->results);
    info->attr_count = count_attrs(def->attrs);
    info->region_groups = count_regions(def->regions);
    const Ident **names = ARENA_ARRAY(context_arena(ctx), const Ident *, info->attr_count);
    for (uint32_t i = 0; i < info->attr_count; i++) names[i] = ident_get_c(ctx, def->attrs[i].name);
    info->attr_names = names;
    info->attr_order = sort_attrs(ctx, names, info->attr_count);
    if (def->traits & TRAIT_ATTR_SIZED_OPERANDS)
        info->operand_segments = ident_get_c(ctx, "operandSegmentSizes");
    if (def->traits & TRAIT_ATTR_SIZED_RESULTS)
        info->result_segments = ident_get_c(ctx, "resultSegmentSizes");
    name->op = info;
    opinfo_add(ctx, def, info);
    return info;
}

static void parse_defaults(Context *ctx, OpInfo *info)
{
    const Attr **defaults = ARENA_ARRAY(context_arena(ctx), const Attr *, info->attr_count);
    info->default_props = attr_dict_empty(ctx);
    info->attr_defaults = defaults;
    for (uint32_t i = 0; i < info->attr_count; i++) {
        const AttrArgDef *attr = &info->def->attrs[i];
        if (!attr->default_text) continue;
        defaults[i] = parse_attr_text(ctx, str_from(attr->default_text), loc_unknown(ctx));
        if (!defaults[i])
            panic("'%s': default of '%s' does not parse", info->name->str.data, attr->name);
        if (attr->optional) continue;
        info->default_props = attr_dict_set(info->default_props, info->attr_names[i], defaults[i]);
    }
}

void dialect_register(Context *ctx, const DialectDef *dialect)
{
    if (dialect_lookup(ctx, str_from(dialect->name))) return;
    dialect_add(ctx, dialect);
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
