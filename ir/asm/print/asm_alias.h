/* Aliases of attributes, types and locations ("#map", "#loc1", "!tuple"), for ir/ sources only.
 * The printer visits everything it is about to print, in order; then names are given out:
 * what is nested deepest first, types before attributes, then by name, then by first visit.
 * Tests: lit/ir/aliases.mir, lit/ir/locations.mir */
#ifndef MING_IR_ASM_ALIAS_H
#define MING_IR_ASM_ALIAS_H

#include "ir/attr/attr.h"

typedef struct AsmAliases AsmAliases;

AsmAliases *asm_aliases_create(void);
void asm_aliases_free(AsmAliases *aliases);

void asm_aliases_visit_type(AsmAliases *aliases, const Type *type);
/* deferrable: the alias may be defined after its use (locations of ops). */
void asm_aliases_visit_attr(AsmAliases *aliases, const Attr *attr, bool deferrable);
/* Ends the visits: names everything that has an alias. */
void asm_aliases_assign(AsmAliases *aliases);

/* Text with its sigil, or NULL if there is none. */
const char *asm_aliases_of(const AsmAliases *aliases, const void *symbol);

/* One definition in printing order; exactly one of type and attr is set. */
typedef struct AsmAlias {
    const char *text;
    const Type *type;
    const Attr *attr;
    bool deferrable;
} AsmAlias;
size_t asm_aliases_count(const AsmAliases *aliases);
const AsmAlias *asm_aliases_at(const AsmAliases *aliases, size_t index);

#endif
