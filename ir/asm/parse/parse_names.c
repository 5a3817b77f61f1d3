/* Names of values and blocks, and the regions in which they are valid.
 *
 * One hash table holds all values. A region remembers which names it added and removes them at its
 * end. A value that is used before its definition is represented by a placeholder, a detached op,
 * which the definition replaces; placeholders are freed when the whole text has been read, because
 * parse hooks may still hold them. Time is linear in the text.
 * Tests: lit/ir/verify/regions.mir, lit/ir/asm/parse/parse-errors.mir */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ir/asm/parse/internal.h"

static uint32_t name_hash(Str name, uint32_t number)
{
    return (uint32_t)hash_bytes(name.data, name.len, number);
}

ParsedName *parse_name_find(const NameTable *table, Str name, uint32_t number)
{
    if (table->bucket_count == 0) return NULL;
    uint32_t hash = name_hash(name, number);
    uint32_t i = table->buckets[hash & (table->bucket_count - 1)];
    while (i) {
        ParsedName *entry = &table->entries.data[i - 1];
        if (entry->hash == hash && entry->number == number && entry->len == name.len &&
            memcmp(entry->text, name.data, name.len) == 0)
            return entry;
        i = entry->next;
    }
    return NULL;
}

static void grow_buckets(NameTable *table)
{
    free_ptr((void **)&table->buckets);
    table->bucket_count = table->bucket_count ? 2 * table->bucket_count : 64;
    table->buckets = xcalloc(table->bucket_count, sizeof *table->buckets);
    for (size_t i = 0; i < table->entries.len; i++) {
        ParsedName *entry = &table->entries.data[i];
        if (!entry->text) continue;
        uint32_t *bucket = &table->buckets[entry->hash & (table->bucket_count - 1)];
        entry->next = *bucket;
        *bucket = (uint32_t)i + 1;
    }
}

ParsedName *parse_name_add(NameTable *table, Str name, uint32_t number, void *object)
{
    if (table->live >= table->bucket_count) grow_buckets(table);
    uint32_t index = table->free;
    if (index) {
        table->free = table->entries.data[index - 1].next;
    } else {
        (void)vec_push(&table->entries);
        index = (uint32_t)table->entries.len;
    }
    uint32_t hash = name_hash(name, number);
    uint32_t *bucket = &table->buckets[hash & (table->bucket_count - 1)];
    ParsedName *entry = &table->entries.data[index - 1];
    *entry = (ParsedName){name.data, object, (uint32_t)name.len, number, hash, *bucket};
    *bucket = index;
    table->live++;
    return entry;
}

uint32_t parse_name_index(const NameTable *table, const ParsedName *entry)
{
    return (uint32_t)(entry - table->entries.data);
}

static void parse_name_remove(NameTable *table, uint32_t index)
{
    ParsedName *entry = &table->entries.data[index];
    uint32_t *link = &table->buckets[entry->hash & (table->bucket_count - 1)];
    while (*link != index + 1) link = &table->entries.data[*link - 1].next;
    *link = entry->next;
    *entry = (ParsedName){.next = table->free};
    table->free = index + 1;
    table->live--;
}

void parse_name_table_free(NameTable *table)
{
    vec_free(&table->entries);
    free_ptr((void **)&table->buckets);
}

void parse_push_scope(OpParser *p)
{
    *vec_push(&p->scopes) =
        (NameScope){p->next_scope++, p->value_defs.len, p->block_defs.len, p->forward_blocks.len};
}

static int compare_places(const void *a, const void *b)
{
    SrcPos x = *(const SrcPos *)a, y = *(const SrcPos *)b;
    return (x > y) - (x < y);
}

typedef VEC(SrcPos) Places;

/* Reports `text` at each place, in order. */
static bool report_places(OpParser *p, Places *places, const char *text)
{
    qsort(places->data, places->len, sizeof(SrcPos), compare_places);
    for (size_t i = 0; i < places->len; i++) parse_fail_at(p, places->data[i], "%s", text);
    vec_free(places);
    return false;
}

/* Blocks referenced in the scope that no label defined. */
static bool check_blocks(OpParser *p, const NameScope *scope)
{
    Places missing = {0};
    for (size_t i = scope->blocks; i < p->block_defs.len; i++) {
        const ParsedName *entry = &p->blocks.entries.data[p->block_defs.data[i]];
        const Block *block = entry->object;
        if (!block->parent) *vec_push(&missing) = entry->text;
    }
    if (missing.len == 0) return true;
    return report_places(p, &missing, "reference to an undefined block");
}

bool parse_pop_scope(OpParser *p)
{
    NameScope scope = p->scopes.data[p->scopes.len - 1];
    if (!check_blocks(p, &scope)) return false;
    for (size_t i = scope.values; i < p->value_defs.len; i++)
        parse_name_remove(&p->values, p->value_defs.data[i]);
    for (size_t i = scope.blocks; i < p->block_defs.len; i++)
        parse_name_remove(&p->blocks, p->block_defs.data[i]);
    p->value_defs.len = scope.values;
    p->block_defs.len = scope.blocks;
    p->scopes.len--;
    return true;
}

static bool is_placeholder(const OpParser *p, const Value *value)
{
    return !value->is_arg && !value->owner.op->block &&
           value->owner.op->name == p->placeholder_name;
}

static Value *add_placeholder(OpParser *p, const Type *type, SrcPos at)
{
    OpState state = {.name = p->placeholder_name,
                     .loc = loc_unknown(p->ctx),
                     .result_types = &type,
                     .result_count = 1};
    Op *op = op_create(p->ctx, &state);
    op->order = (uint32_t)p->placeholders.len; /* finds it again */
    *vec_push(&p->placeholders) = (Placeholder){op, NULL, at};
    p->open_placeholders++;
    return op_result(op, 0);
}

static void fill_placeholder(OpParser *p, Value *placeholder, Value *value)
{
    p->placeholders.data[placeholder->owner.op->order].value = value;
    p->open_placeholders--;
    value_replace_all(placeholder, value);
}

bool parse_check_placeholders(OpParser *p)
{
    if (p->open_placeholders == 0) return true;
    Places missing = {0};
    for (size_t i = 0; i < p->placeholders.len; i++) {
        const Placeholder *holder = &p->placeholders.data[i];
        if (!holder->value) *vec_push(&missing) = holder->at;
    }
    return report_places(p, &missing, "use of undeclared SSA value name");
}

void parse_drop_placeholders(OpParser *p)
{
    for (size_t i = 0; i < p->placeholders.len; i++) {
        const Placeholder *holder = &p->placeholders.data[i];
        if (holder->value) value_replace_all(op_result(holder->op, 0), holder->value);
        op_erase(holder->op);
    }
    p->placeholders.len = 0;
}

/* ssa-use ::= '%' suffix-id ('#' number)? */
bool parse_operand(OpParser *p, OperandRef *out, bool allow_number)
{
    *out = (OperandRef){p->tok.text.data, p->tok.text, 0};
    if (!parse_token(p, TOK_PERCENT, "expected SSA operand")) return false;
    if (!parse_at(p, TOK_HASH)) return true;
    if (!allow_number) return parse_fail(p, "result number not allowed in argument list");
    Str digits = {p->tok.text.data + 1, p->tok.text.len - 1};
    uint64_t number;
    if (digits.data[0] < '0' || digits.data[0] > '9' || !token_u64(digits, &number) ||
        number > UINT32_MAX)
        return parse_fail(p, "invalid SSA value result number");
    out->index = (uint32_t)number;
    parse_advance(p);
    return true;
}

static void report_type_mismatch(OpParser *p, const OperandRef *ref, const Type *type,
                                 const ParsedName *entry)
{
    const Value *value = entry->object;
    parse_fail_at(p, ref->at,
                  "use of value '%.*s' expects different type than prior uses: '%s' vs '%s'",
                  STR_ARG(ref->name), type_str(p->ctx, type), type_str(p->ctx, value->type));
    parse_note_at(p, entry->text, "prior use here");
}

static void mention(const OpParser *p, const OperandRef *ref, bool defines, const Value *value,
                    const Value *former)
{
    if (!p->mentions) return;
    p->mentions(p->hook_user, &(ParseMention){ref->name, defines, value, former, value->type});
}

static Value *resolve(OpParser *p, const OperandRef *ref, const Type *type)
{
    const ParsedName *entry = parse_name_find(&p->values, ref->name, ref->index);
    if (entry) {
        Value *value = entry->object;
        if (value->type == type) return value;
        report_type_mismatch(p, ref, type, entry);
        return NULL;
    }
    const ParsedName *first = ref->index ? parse_name_find(&p->values, ref->name, 0) : NULL;
    if (first && !is_placeholder(p, first->object)) {
        parse_fail_at(p, ref->at, "reference to invalid result number");
        return NULL;
    }
    Value *value = add_placeholder(p, type, ref->at);
    parse_name_add(&p->values, ref->name, ref->index, value);
    return value;
}

Value *parse_resolve(OpParser *p, const OperandRef *ref, const Type *type)
{
    Value *value = resolve(p, ref, type);
    if (value) mention(p, ref, false, value, NULL);
    return value;
}

bool parse_define(OpParser *p, const OperandRef *name, Value *value)
{
    ParsedName *entry = parse_name_find(&p->values, name->name, name->index);
    if (!entry) {
        entry = parse_name_add(&p->values, name->name, name->index, value);
        *vec_push(&p->value_defs) = parse_name_index(&p->values, entry);
        mention(p, name, true, value, NULL);
        return true;
    }
    Value *former = entry->object;
    if (!is_placeholder(p, former)) {
        parse_fail_at(p, name->at, "redefinition of SSA value '%.*s'", STR_ARG(name->name));
        parse_note_at(p, entry->text, "previously defined here");
        return false;
    }
    if (former->type != value->type) {
        parse_fail_at(p, name->at, "definition of SSA value '%.*s#%u' has type '%s'",
                      STR_ARG(name->name), name->index, type_str(p->ctx, value->type));
        diag_note(p->ctx, parser_loc_at(p, entry->text), "previously used here with type '%s'",
                  type_str(p->ctx, former->type));
        return false;
    }
    fill_placeholder(p, former, value);
    mention(p, name, true, value, former);
    entry->object = value;
    entry->text = name->name.data;
    *vec_push(&p->value_defs) = parse_name_index(&p->values, entry);
    return true;
}
