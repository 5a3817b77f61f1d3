/* The dialects of a context and the ops of their tables, by name. Rows are checked and added by
 * dialect_register (ir/asm/parse/register.c), because defaults and assembly formats are text.
 * Tests: test/unit/ir/core/opdef_test.c */
#include <assert.h>

#include "ir/core/core.h"
#include "ir/core/internal.h"

static void ops_free(Context *ctx, void *part)
{
    (void)ctx;
    ContextOps *ops = part;
    oppool_destroy(ops->pool);
    vec_free(&ops->dialects);
    vec_free(&ops->foreign);
    ptrmap_free(&ops->op_infos);
    free_ptr(&part);
}

ContextOps *context_ops_create(Context *ctx)
{
    ContextOps *ops = xcalloc(1, sizeof *ops);
    ops->pool = oppool_create();
    context_set_part(ctx, CONTEXT_OPS, ops, ops_free);
    return ops;
}

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

const DialectDef *dialect_lookup(const Context *ctx, Str name_space)
{
    return dialect_find(&ops_of(ctx)->dialects, name_space);
}

const DialectDef *dialect_lookup_foreign(const Context *ctx, Str name_space)
{
    return dialect_find(&ops_of(ctx)->foreign, name_space);
}

const DialectDef *dialect_of_attrs(const Context *ctx, Str name_space)
{
    const DialectDef *dialect = dialect_lookup(ctx, name_space);
    return dialect ? dialect : dialect_lookup_foreign(ctx, name_space);
}

size_t dialect_count(const Context *ctx)
{
    return ops_of(ctx)->dialects.len;
}

const DialectDef *dialect_at(const Context *ctx, size_t index)
{
    assert(index < ops_of(ctx)->dialects.len);
    return ops_of(ctx)->dialects.data[index];
}

void dialect_allow_unregistered(Context *ctx, bool allow)
{
    ops_of(ctx)->allow_unregistered = allow;
}

bool dialect_allows_unregistered(const Context *ctx)
{
    return ops_of(ctx)->allow_unregistered;
}

const OpInfo *opinfo_lookup(Context *ctx, Str full_name)
{
    return ident_get(ctx, full_name)->op;
}

const OpInfo *opinfo_of_def(const Context *ctx, const OpDef *def)
{
    return ptrmap_get(&ops_of(ctx)->op_infos, def);
}

static void dialect_insert(DialectList *list, const DialectDef *dialect)
{
    size_t position = dialect_position(list, str_from(dialect->name));
    (void)vec_push(list);
    for (size_t i = list->len - 1; i > position; i--) list->data[i] = list->data[i - 1];
    list->data[position] = dialect;
}

void dialect_add(Context *ctx, const DialectDef *dialect)
{
    dialect_insert(&ops_of(ctx)->dialects, dialect);
}

void opinfo_add(Context *ctx, const OpDef *def, const OpInfo *info)
{
    ptrmap_put(&ops_of(ctx)->op_infos, def, (void *)info);
}

void dialect_register_foreign(Context *ctx, const DialectDef *dialect)
{
    if (!dialect_lookup_foreign(ctx, str_from(dialect->name)))
        dialect_insert(&ops_of(ctx)->foreign, dialect);
}
