/* Symbol tables. A symbol is an op with the trait and a sym_name; it belongs to the symbol table
 * whose region holds it.
 * Tests: test/unit/ir/core/symbol_test.c, lit/ir/verify/verify.mir */
#include <assert.h>

#include "ir/core/core.h"

const Ident *symbol_name(const Op *op)
{
    const Attr *name = op_attr(op, "sym_name");
    return name && name->kind == ATTR_STRING ? ident_get(op->ctx, name->u.string) : NULL;
}

static bool is_named(const Op *op, const Ident *name)
{
    const Attr *attr = op_attr(op, "sym_name");
    return attr && attr->kind == ATTR_STRING && str_eq(attr->u.string, name->str);
}

Op *symbol_lookup_in(const Op *table, const Ident *name)
{
    FOR_EACH_INNER(op, table)
        if (is_named(op, name)) return op;
    return NULL;
}

/* The nearest symbol table at or around the op; NULL if there is none, or if an unregistered
 * op in between might be one. */
static const Op *nearest_table(const Op *op)
{
    while (op && !op_has_trait(op, TRAIT_SYMBOL_TABLE))
        op = op->def || op->region_count != 1 ? op_parent(op) : NULL;
    return op;
}

Op *symbol_lookup(const Op *from, const Attr *ref)
{
    assert(ref->kind == ATTR_SYMBOL_REF);
    const Op *table = nearest_table(from);
    if (!table) return NULL;
    Op *symbol = symbol_lookup_in(table, ref->u.symbol.names[0]);
    for (uint32_t i = 1; symbol && i < ref->u.symbol.count; i++) {
        if (!op_has_trait(symbol, TRAIT_SYMBOL_TABLE)) return NULL;
        symbol = symbol_lookup_in(symbol, ref->u.symbol.names[i]);
    }
    return symbol;
}

static void visit_refs(Op *user, const Attr *attr, SymbolUseVisitor *visit, void *data)
{
    switch (attr->kind) {
    case ATTR_SYMBOL_REF: visit(data, user, attr); return;
    case ATTR_ARRAY:
        for (uint32_t i = 0; i < attr->u.array.count; i++)
            visit_refs(user, attr->u.array.items[i], visit, data);
        return;
    case ATTR_DICT:
        for (uint32_t i = 0; i < attr->u.dict.count; i++)
            visit_refs(user, attr->u.dict.items[i].value, visit, data);
        return;
    case ATTR_DIALECT:
        for (uint32_t i = 0; i < attr->u.dialect.param_count; i++)
            if (attr->u.dialect.params[i]) visit_refs(user, attr->u.dialect.params[i], visit, data);
        return;
    default: return;
    }
}

Op *symbol_each_use(Op *op, SymbolUseVisitor *visit, void *data)
{
    OpVec pending = {0};
    Op *unknown = NULL;
    *vec_push(&pending) = op;
    while (pending.len) {
        Op *at = pending.data[--pending.len];
        if (at->props) visit_refs(at, at->props, visit, data);
        visit_refs(at, at->attrs, visit, data);
        if (!unknown && !at->def && at->region_count == 1) unknown = at;
        if (op_has_trait(at, TRAIT_SYMBOL_TABLE)) continue;
        FOR_EACH_INNER(inner, at) *vec_push(&pending) = inner;
    }
    vec_free(&pending);
    return unknown;
}

void symtab_init(SymbolTable *table, Op *op)
{
    *table = (SymbolTable){.op = op};
    FOR_EACH_INNER(symbol, op) {
        const Ident *name = symbol_name(symbol);
        if (name && !ptrmap_has(&table->by_name, name)) ptrmap_put(&table->by_name, name, symbol);
    }
}

void symtab_free(SymbolTable *table)
{
    ptrmap_free(&table->by_name);
    ptrmap_free(&table->suffixes);
}

Op *symtab_get(const SymbolTable *table, const Ident *name)
{
    return ptrmap_get(&table->by_name, name);
}

/* name_0, name_1, … : the first that is free, remembering how far it looked. */
static const Ident *free_name(SymbolTable *table, const Ident *name)
{
    uintptr_t number = (uintptr_t)ptrmap_get(&table->suffixes, name);
    StrBuf text = {0};
    const Ident *fresh;
    do {
        strbuf_clear(&text);
        strbuf_add_str(&text, name->str);
        strbuf_add_char(&text, '_');
        strbuf_add_uint(&text, number++);
        fresh = ident_get(table->op->ctx, strbuf_str(&text));
    } while (ptrmap_has(&table->by_name, fresh));
    ptrmap_put(&table->suffixes, name, (void *)number);
    strbuf_free(&text);
    return fresh;
}

const Ident *symtab_insert(SymbolTable *table, Op *op)
{
    const Ident *name = symbol_name(op);
    assert(name);
    Op *holder = symtab_get(table, name);
    if (holder == op) return name;
    if (holder) {
        name = free_name(table, name);
        op_set_attr(op, "sym_name", attr_string(op->ctx, name->str));
    }
    ptrmap_put(&table->by_name, name, op);
    if (!op->block) {
        Block *body = region_entry(op_region(table->op, 0));
        Op *terminator = block_terminator(body);
        if (terminator)
            op_insert_before(op, terminator);
        else
            op_append(op, body);
    }
    return name;
}

struct SymbolTables {
    PtrMap by_op; /* Op* -> SymbolTable* */
};

SymbolTables *symtabs_create(void)
{
    return xcalloc(1, sizeof(SymbolTables));
}

void symtabs_free(SymbolTables *tables)
{
    for (size_t i = 0; i < tables->by_op.len; i++) {
        SymbolTable *table = tables->by_op.entries[i].value;
        symtab_free(table);
        free_ptr((void **)&table);
    }
    ptrmap_free(&tables->by_op);
    free_ptr((void **)&tables);
}

static const SymbolTable *table_of(SymbolTables *tables, const Op *op)
{
    SymbolTable *table = ptrmap_get(&tables->by_op, op);
    if (table) return table;
    table = xmalloc(sizeof *table);
    symtab_init(table, (Op *)op);
    ptrmap_put(&tables->by_op, op, table);
    return table;
}

Op *symtabs_lookup(SymbolTables *tables, const Op *from, const Attr *ref)
{
    assert(ref->kind == ATTR_SYMBOL_REF);
    const Op *op = nearest_table(from);
    if (!op) return NULL;
    Op *symbol = symtab_get(table_of(tables, op), ref->u.symbol.names[0]);
    for (uint32_t i = 1; symbol && i < ref->u.symbol.count; i++) {
        if (!op_has_trait(symbol, TRAIT_SYMBOL_TABLE)) return NULL;
        symbol = symtab_get(table_of(tables, symbol), ref->u.symbol.names[i]);
    }
    return symbol;
}
