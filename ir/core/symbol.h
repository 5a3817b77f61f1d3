/* Symbol tables: lookup by name, nested references, uses, unique names.
 * Tests: test/unit/symbol_test.c */
#ifndef MING_IR_SYMBOL_H
#define MING_IR_SYMBOL_H

#include "ir/core/opdef.h"

const Ident *symbol_name(const Op *op); /* sym_name of a symbol op, or NULL */
/* Symbol of that name directly in a symbol-table op, or NULL. Linear: build a SymbolTable for
 * repeated look-ups. */
Op *symbol_lookup_in(const Op *table, const Ident *name);
/* From `from` outward: the nearest enclosing symbol table resolves the root, then nested. */
Op *symbol_lookup(const Op *from, const Attr *ref);

/* Calls visit for each symbol reference in the attributes of the op and of what it holds, nested
 * symbol tables left out. Returns the first op found that might be a symbol table unknown to the
 * context, or NULL; its inside is visited too. */
typedef void SymbolUseVisitor(void *data, Op *user, const Attr *ref);
Op *symbol_each_use(Op *op, SymbolUseVisitor *visit, void *data);

typedef struct SymbolTable {
    Op *op;
    PtrMap by_name; /* Ident* -> Op* */
    PtrMap suffixes; /* Ident* -> next number tried, as uintptr_t */
} SymbolTable;
void symtab_init(SymbolTable *table, Op *op);
void symtab_free(SymbolTable *table);
Op *symtab_get(const SymbolTable *table, const Ident *name);
/* Adds a detached or contained op, renaming it (name_0, name_1, …) if taken. */
const Ident *symtab_insert(SymbolTable *table, Op *op);

/* Symbol tables built on demand, for many look-ups while the symbols stay as they are. */
SymbolTables *symtabs_create(void);
void symtabs_free(SymbolTables *tables);
Op *symtabs_lookup(SymbolTables *tables, const Op *from, const Attr *ref);

#endif
