/* Search for aliases and their names.
 *
 * Each type and attribute is visited once, its parts first, in the order in which they would be
 * printed. Its depth is 0 if there is no alias inside, 1 for an alias without aliases inside, else
 * 1 + the depth of its deepest part. An alias that is used where it must have been defined already
 * is not deferrable, and then its parts are not deferrable either.
 * Tests: lit/ir/asm/print/aliases.mir, lit/ir/asm/parse/locations.mir */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ir/asm/print/internal.h"

typedef struct Visited {
    const Type *type; /* one of the two */
    const Attr *attr;
    const char *stem; /* alias without sigil and number, or NULL */
    uint32_t depth;
    bool deferrable;
    uint32_t child_count;
    const uint32_t *children; /* indices; kept only where deferrable */
} Visited;

struct AsmAliases {
    Arena arena;
    PtrMap index; /* Type* or Attr* -> index in visited + 1 */
    VEC(Visited) visited;
    VEC(AsmAlias) aliases;
    PtrMap text;            /* Type* or Attr* -> text */
    VEC(uint32_t) children; /* stack of the visits under way */
};

AsmAliases *asm_aliases_create(void)
{
    AsmAliases *aliases = xcalloc(1, sizeof(*aliases));
    arena_init(&aliases->arena);
    return aliases;
}

void asm_aliases_free(AsmAliases *aliases)
{
    if (!aliases) return;
    ptrmap_free(&aliases->index);
    vec_free(&aliases->visited);
    vec_free(&aliases->aliases);
    ptrmap_free(&aliases->text);
    vec_free(&aliases->children);
    arena_free(&aliases->arena);
    free_ptr((void **)&aliases);
}

/* Tuples of more elements than this are long enough to deserve a name. */
#define TUPLE_ALIAS_ABOVE 16

static const char *type_stem(const Type *type)
{
    bool long_tuple = type->kind == TYPE_TUPLE && type->u.function.input_count > TUPLE_ALIAS_ABOVE;
    return long_tuple ? "tuple" : NULL;
}

static const char *attr_stem(const Attr *attr)
{
    if (attr_is_loc(attr)) return "loc";
    switch (attr->kind) {
    case ATTR_AFFINE_MAP: return "map";
    case ATTR_INTEGER_SET: return "set";
    case ATTR_DISTINCT: return attr->u.distinct.inner->kind == ATTR_UNIT ? NULL : "distinct";
    case ATTR_DIALECT: return attr->u.dialect.def->alias;
    default: return NULL;
    }
}

static const char *stem_text(AsmAliases *aliases, const char *stem)
{
    if (!stem) return NULL;
    StrBuf text = {0};
    asm_name_sanitize(&text, str_from(stem), "$_-", false);
    const char *copy = arena_copy(&aliases->arena, text.data, text.len + 1);
    strbuf_free(&text);
    return copy;
}

static uint32_t visit(AsmAliases *aliases, const Type *type, const Attr *attr, bool deferrable);

static void visit_type_part(AsmAliases *aliases, const Type *type, bool deferrable)
{
    uint32_t index = visit(aliases, type, NULL, deferrable);
    *vec_push(&aliases->children) = index;
}

static void visit_attr_part(AsmAliases *aliases, const Attr *attr, bool deferrable)
{
    uint32_t index = visit(aliases, NULL, attr, deferrable);
    *vec_push(&aliases->children) = index;
}

static void visit_type_parts(AsmAliases *aliases, const Type *type, bool deferrable)
{
    switch (type->kind) {
    case TYPE_FUNCTION:
    case TYPE_TUPLE: {
        uint32_t results = type->kind == TYPE_FUNCTION ? type->u.function.result_count : 0;
        for (uint32_t i = 0; i < type->u.function.input_count + results; i++)
            visit_type_part(aliases, type->u.function.types[i], deferrable);
        return;
    }
    case TYPE_COMPLEX:
    case TYPE_VECTOR:
    case TYPE_RANKED_TENSOR:
    case TYPE_UNRANKED_TENSOR:
    case TYPE_MEMREF:
    case TYPE_UNRANKED_MEMREF:
        visit_type_part(aliases, type->u.shaped.elem, deferrable);
        if (type->u.shaped.extra) visit_attr_part(aliases, type->u.shaped.extra, deferrable);
        if (type->u.shaped.space) visit_attr_part(aliases, type->u.shaped.space, deferrable);
        return;
    default: return;
    }
}

static void visit_dict_parts(AsmAliases *aliases, const Attr *dict, bool deferrable)
{
    for (uint32_t i = 0; i < dict->u.dict.count; i++)
        visit_attr_part(aliases, dict->u.dict.items[i].value, deferrable);
}

static void visit_loc_parts(AsmAliases *aliases, const Attr *loc, bool deferrable)
{
    switch (loc->kind) {
    case ATTR_LOC_NAME:
        if (loc->u.loc_name.child->kind != ATTR_LOC_UNKNOWN)
            visit_attr_part(aliases, loc->u.loc_name.child, deferrable);
        return;
    case ATTR_LOC_CALLSITE:
        visit_attr_part(aliases, loc->u.loc_callsite.callee, deferrable);
        visit_attr_part(aliases, loc->u.loc_callsite.caller, deferrable);
        return;
    case ATTR_LOC_FUSED:
        if (loc->u.loc_fused.metadata)
            visit_attr_part(aliases, loc->u.loc_fused.metadata, deferrable);
        for (uint32_t i = 0; i < loc->u.loc_fused.count; i++)
            visit_attr_part(aliases, loc->u.loc_fused.locs[i], deferrable);
        return;
    default: return;
    }
}

static void visit_attr_parts(AsmAliases *aliases, const Attr *attr, bool deferrable)
{
    switch (attr->kind) {
    case ATTR_DISTINCT: visit_attr_part(aliases, attr->u.distinct.inner, deferrable); return;
    case ATTR_DICT: visit_dict_parts(aliases, attr, deferrable); return;
    case ATTR_ARRAY:
        for (uint32_t i = 0; i < attr->u.array.count; i++)
            visit_attr_part(aliases, attr->u.array.items[i], deferrable);
        return;
    case ATTR_TYPE: visit_type_part(aliases, attr->u.type_value, deferrable); return;
    case ATTR_STRING:
    case ATTR_DENSE:
    case ATTR_DENSE_STRINGS:
    case ATTR_DENSE_RESOURCE:
    case ATTR_SPARSE:
    case ATTR_OPAQUE:
        if (attr->type && attr->type->kind != TYPE_NONE)
            visit_type_part(aliases, attr->type, deferrable);
        return;
    default:
        if (attr_is_loc(attr)) visit_loc_parts(aliases, attr, deferrable);
        return;
    }
}

static void mark_not_deferrable(AsmAliases *aliases, uint32_t index)
{
    Visited *visited = &aliases->visited.data[index];
    if (!visited->deferrable) return;
    visited->deferrable = false;
    for (uint32_t i = 0; i < visited->child_count; i++)
        mark_not_deferrable(aliases, visited->children[i]);
}

/* Takes the parts visited since `begin` off the stack. */
static void finish_visit(AsmAliases *aliases, uint32_t index, size_t begin)
{
    Visited *visited = &aliases->visited.data[index];
    uint32_t deepest = 0;
    for (size_t i = begin; i < aliases->children.len; i++) {
        uint32_t depth = aliases->visited.data[aliases->children.data[i]].depth;
        if (depth > deepest) deepest = depth;
    }
    if (deepest > 0) visited->depth = deepest + 1;
    uint32_t count = (uint32_t)(aliases->children.len - begin);
    if (visited->deferrable && count > 0) {
        visited->child_count = count;
        visited->children =
            arena_copy(&aliases->arena, aliases->children.data + begin, count * sizeof(uint32_t));
    }
    aliases->children.len = begin;
}

/* Index of the visited type or attribute. */
static uint32_t visit(AsmAliases *aliases, const Type *type, const Attr *attr, bool deferrable)
{
    const void *symbol = type ? (const void *)type : (const void *)attr;
    uintptr_t known = (uintptr_t)ptrmap_get(&aliases->index, symbol);
    if (known) {
        if (!deferrable) mark_not_deferrable(aliases, (uint32_t)(known - 1));
        return (uint32_t)(known - 1);
    }
    uint32_t index = (uint32_t)aliases->visited.len;
    const char *stem = stem_text(aliases, type ? type_stem(type) : attr_stem(attr));
    *vec_push(&aliases->visited) = (Visited){
        .type = type,
        .attr = attr,
        .stem = stem,
        .depth = stem ? 1 : 0,
        .deferrable = deferrable,
    };
    ptrmap_put(&aliases->index, symbol, (void *)((uintptr_t)index + 1));
    size_t begin = aliases->children.len;
    if (type)
        visit_type_parts(aliases, type, deferrable);
    else
        visit_attr_parts(aliases, attr, deferrable);
    finish_visit(aliases, index, begin);
    return index;
}

void asm_aliases_visit_type(AsmAliases *aliases, const Type *type)
{
    (void)visit(aliases, type, NULL, false);
}

void asm_aliases_visit_attr(AsmAliases *aliases, const Attr *attr, bool deferrable)
{
    (void)visit(aliases, NULL, attr, deferrable);
}

/* Visited things are sorted in place as pointers into one array: their addresses are the order
 * of visits. */
static int compare_visited(const void *a, const void *b)
{
    const Visited *x = *(const Visited *const *)a, *y = *(const Visited *const *)b;
    if (x->depth != y->depth) return x->depth < y->depth ? -1 : 1;
    if ((x->type != NULL) != (y->type != NULL)) return x->type ? -1 : 1;
    int by_name = strcmp(x->stem, y->stem);
    if (by_name != 0) return by_name;
    return x < y ? -1 : x > y;
}

typedef struct StemCount {
    const char *stem;
    uint32_t count; /* aliases named after it so far */
} StemCount;
typedef VEC(StemCount) StemCounts; /* few: searched from the start */

static uint32_t next_number(StemCounts *counts, const char *stem)
{
    for (size_t i = 0; i < counts->len; i++)
        if (strcmp(counts->data[i].stem, stem) == 0) return counts->data[i].count++;
    *vec_push(counts) = (StemCount){.stem = stem, .count = 1};
    return 0;
}

static void add_alias(AsmAliases *aliases, const Visited *visited, uint32_t number)
{
    StrBuf text = {0};
    strbuf_add_char(&text, visited->type ? '!' : '#');
    strbuf_add_c(&text, visited->stem);
    if (number > 0 && isdigit((unsigned char)text.data[text.len - 1])) strbuf_add_char(&text, '_');
    if (number > 0) strbuf_add_uint(&text, number);
    char *copy = arena_copy(&aliases->arena, text.data, text.len + 1);
    strbuf_free(&text);
    *vec_push(&aliases->aliases) = (AsmAlias){
        .text = copy,
        .type = visited->type,
        .attr = visited->attr,
        .deferrable = visited->deferrable,
    };
    const void *symbol = visited->type ? (const void *)visited->type : visited->attr;
    ptrmap_put(&aliases->text, symbol, copy);
}

void asm_aliases_assign(AsmAliases *aliases)
{
    VEC(const Visited *) sorted = {0};
    for (size_t i = 0; i < aliases->visited.len; i++)
        if (aliases->visited.data[i].stem) *vec_push(&sorted) = &aliases->visited.data[i];
    if (sorted.len > 0) qsort(sorted.data, sorted.len, sizeof(*sorted.data), compare_visited);
    StemCounts counts = {0};
    for (size_t i = 0; i < sorted.len; i++)
        add_alias(aliases, sorted.data[i], next_number(&counts, sorted.data[i]->stem));
    vec_free(&counts);
    vec_free(&sorted);
}

const char *asm_aliases_of(const AsmAliases *aliases, const void *symbol)
{
    return ptrmap_get(&aliases->text, symbol);
}

size_t asm_aliases_count(const AsmAliases *aliases)
{
    return aliases->aliases.len;
}

const AsmAlias *asm_aliases_at(const AsmAliases *aliases, size_t index)
{
    return &aliases->aliases.data[index];
}
