/* Numbering of SSA values and blocks for the printer.
 *
 * Regions are visited from a stack; each starts with the counters at which its parent region ended.
 * The names in use form a stack too: the names of a region are above those of its ancestors, and
 * visiting another region cuts the stack back to the end of that region's parent. The entry of a
 * value is a number or a name; see NameRef.
 * Tests: test/unit/ir/asm/print/asm_names_test.c, lit/ir/asm/print/names.mir */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "ir/asm/print/internal.h"

#define NO_ENTRY UINT32_MAX

/* A hash table that forgets its youngest entries: chains run from young to old. */
typedef struct NameEntry {
    uint64_t hash;
    Str text;
    uint32_t next; /* older entry of the bucket */
} NameEntry;

typedef struct NameStack {
    VEC(NameEntry) entries;
    uint32_t *buckets;
    size_t bucket_count; /* power of two, or 0 */
} NameStack;

static void names_link(NameStack *stack, uint32_t index)
{
    NameEntry *entry = &stack->entries.data[index];
    uint32_t *head = &stack->buckets[entry->hash & (stack->bucket_count - 1)];
    entry->next = *head;
    *head = index;
}

static void names_grow(NameStack *stack)
{
    stack->bucket_count = stack->bucket_count ? stack->bucket_count * 2 : 64;
    stack->buckets = xrealloc(stack->buckets, stack->bucket_count * sizeof(uint32_t));
    memset(stack->buckets, 0xff, stack->bucket_count * sizeof(uint32_t));
    for (size_t i = 0; i < stack->entries.len; i++) names_link(stack, (uint32_t)i);
}

static bool names_has(const NameStack *stack, Str text)
{
    if (stack->bucket_count == 0) return false;
    uint64_t hash = hash_bytes(text.data, text.len, 0);
    uint32_t index = stack->buckets[hash & (stack->bucket_count - 1)];
    for (; index != NO_ENTRY; index = stack->entries.data[index].next) {
        const NameEntry *entry = &stack->entries.data[index];
        if (entry->hash == hash && str_eq(entry->text, text)) return true;
    }
    return false;
}

static void names_push(NameStack *stack, Str text)
{
    if (stack->entries.len == stack->bucket_count) names_grow(stack);
    *vec_push(&stack->entries) = (NameEntry){
        .hash = hash_bytes(text.data, text.len, 0),
        .text = text,
    };
    names_link(stack, (uint32_t)(stack->entries.len - 1));
}

static void names_cut(NameStack *stack, size_t len)
{
    while (stack->entries.len > len) {
        const NameEntry *entry = &stack->entries.data[--stack->entries.len];
        stack->buckets[entry->hash & (stack->bucket_count - 1)] = entry->next;
    }
}

/* The name of a value: a pointer to a name in the arena, or 2 * number + 1. */
typedef uintptr_t NameRef;

/* A region to visit: the counters and names in use where its parent region ended. */
typedef struct PendingRegion {
    const Region *region;
    uint64_t next_value, next_arg, next_conflict;
    size_t name_count;
} PendingRegion;

/* The first results of the result groups of an op; only for ops with more than one group. */
typedef struct ResultGroups {
    uint32_t count;
    uint32_t begins[];
} ResultGroups;

struct AsmNames {
    const PrintOptions *options;
    Arena arena;
    PtrMap values; /* Value* -> NameRef */
    PtrMap groups; /* Op* -> ResultGroups* */
    PtrMap blocks; /* Block* -> order + 1 */
    PtrMap op_ids; /* Op* -> number + 1; ops without results, if value users are printed */
    NameStack used;
    VEC(PendingRegion) pending;
    VEC(uint32_t) group_begins; /* of the op being numbered */
    uint64_t next_value, next_arg, next_conflict;
    StrBuf scratch, sanitized;
};

static bool is_valid(unsigned char c, const char *punctuation)
{
    return c < 128 && c != 0 && (isalnum(c) || strchr(punctuation, c));
}

static void add_sanitized(StrBuf *out, unsigned char c, const char *punctuation)
{
    if (is_valid(c, punctuation))
        strbuf_add_char(out, (char)c);
    else if (c == ' ')
        strbuf_add_char(out, '_');
    else
        strbuf_printf(out, "%X", c);
}

/* Whether its hexadecimal spelling begins with a digit: no name may. */
static bool is_spelt_as_digit(unsigned char c, const char *punctuation)
{
    unsigned high = c < 16 ? c : c / 16;
    return !is_valid(c, punctuation) && c != ' ' && high < 10;
}

void asm_name_sanitize(StrBuf *out, Str name, const char *punctuation, bool trailing_digit)
{
    assert(name.len > 0);
    unsigned char first = (unsigned char)name.data[0];
    bool leading = isdigit(first) != 0;
    if (leading || is_spelt_as_digit(first, punctuation)) strbuf_add_char(out, '_');
    for (size_t i = 0; i < name.len; i++)
        add_sanitized(out, (unsigned char)name.data[i], punctuation);
    if (!leading && !trailing_digit && isdigit((unsigned char)name.data[name.len - 1]))
        strbuf_add_char(out, '_');
}

static Str unique_name(AsmNames *names, Str wanted)
{
    StrBuf *text = &names->sanitized;
    strbuf_clear(text);
    asm_name_sanitize(text, wanted, "$._-", true);
    if (names_has(&names->used, strbuf_str(text))) {
        strbuf_add_char(text, '_');
        size_t stem = text->len;
        do {
            text->len = stem;
            strbuf_add_uint(text, names->next_conflict++);
        } while (names_has(&names->used, strbuf_str(text)));
    }
    Str copy = {.data = arena_copy(&names->arena, text->data, text->len + 1), .len = text->len};
    names_push(&names->used, copy);
    return copy;
}

static void set_number(AsmNames *names, const Value *value)
{
    NameRef ref = (NameRef)names->next_value++ * 2 + 1;
    ptrmap_put(&names->values, value, (void *)ref);
}

/* An empty name means a number. */
static void set_name(AsmNames *names, const Value *value, Str name)
{
    if (name.len == 0) {
        set_number(names, value);
        return;
    }
    NameRef ref = (NameRef)unique_name(names, name).data;
    assert(ref % 2 == 0);
    ptrmap_put(&names->values, value, (void *)ref);
}

static void keep_groups(AsmNames *names, const Op *op)
{
    uint32_t count = (uint32_t)names->group_begins.len;
    ResultGroups *groups =
        arena_alloc(&names->arena, sizeof(ResultGroups) + count * sizeof(uint32_t));
    groups->count = count;
    memcpy(groups->begins, names->group_begins.data, count * sizeof(uint32_t));
    ptrmap_put(&names->groups, op, groups);
}

static void name_results(AsmNames *names, const Op *op)
{
    names->group_begins.len = 0;
    *vec_push(&names->group_begins) = 0;
    for (uint32_t i = 0; i < op->result_count; i++) {
        strbuf_clear(&names->scratch);
        const char *name = op->def->result_name(op, i, &names->scratch);
        if (!name) continue;
        set_name(names, op_result(op, i), str_from(name));
        if (i > 0) *vec_push(&names->group_begins) = i;
    }
    if (names->group_begins.len > 1) keep_groups(names, op);
}

static void number_op(AsmNames *names, const Op *op)
{
    if (op->result_count == 0) {
        if (names->options->value_users)
            ptrmap_put(&names->op_ids, op, (void *)(uintptr_t)++names->next_value);
        return;
    }
    bool suggests = op->def && op->def->result_name && !names->options->generic;
    if (suggests) name_results(names, op);
    if (!suggests || !ptrmap_has(&names->values, op_result(op, 0)))
        set_number(names, op_result(op, 0));
}

static void name_entry_args(AsmNames *names, const Region *region)
{
    const Op *op = region->parent;
    const Block *entry = region_entry(region);
    if (!entry || !op->def || !op->def->arg_name || names->options->generic) return;
    for (uint32_t i = 0; i < entry->arg_count; i++) {
        strbuf_clear(&names->scratch);
        const char *name = op->def->arg_name(op, entry->args[i], &names->scratch);
        if (name) set_name(names, entry->args[i], str_from(name));
    }
}

static void number_args(AsmNames *names, const Block *block)
{
    bool is_entry = block == block->parent->first;
    for (uint32_t i = 0; i < block->arg_count; i++) {
        const Value *arg = block->args[i];
        if (ptrmap_has(&names->values, arg)) continue;
        strbuf_clear(&names->scratch);
        if (is_entry) {
            strbuf_add_c(&names->scratch, "arg");
            strbuf_add_uint(&names->scratch, names->next_arg++);
        }
        set_name(names, arg, strbuf_str(&names->scratch));
    }
}

static void push_regions(AsmNames *names, const Op *op)
{
    for (uint32_t i = 0; i < op->region_count; i++)
        *vec_push(&names->pending) = (PendingRegion){
            .region = op_region(op, i),
            .next_value = names->next_value,
            .next_arg = names->next_arg,
            .next_conflict = names->next_conflict,
            .name_count = names->used.entries.len,
        };
}

static void number_region(AsmNames *names, const Region *region)
{
    name_entry_args(names, region);
    uintptr_t order = 0;
    FOR_EACH_BLOCK(block, region) {
        ptrmap_put(&names->blocks, block, (void *)++order);
        number_args(names, block);
        FOR_EACH_OP(op, block) number_op(names, op);
    }
    FOR_EACH_BLOCK(block, region)
        FOR_EACH_OP(op, block) push_regions(names, op);
}

AsmNames *asm_names_create(const Op *top, const PrintOptions *options)
{
    AsmNames *names = xcalloc(1, sizeof(*names));
    names->options = options;
    arena_init(&names->arena);
    number_op(names, top);
    uint64_t next_value = names->next_value;
    names->next_value = 0; /* the regions do not count what top itself took */
    push_regions(names, top);
    names->next_value = next_value;
    bool unique = options->unique_ssa_ids || options->generic;
    while (names->pending.len > 0) {
        PendingRegion next = names->pending.data[--names->pending.len];
        names_cut(&names->used, next.name_count);
        if (!unique) {
            names->next_value = next.next_value;
            names->next_arg = next.next_arg;
            names->next_conflict = next.next_conflict;
        }
        number_region(names, next.region);
    }
    return names;
}

void asm_names_free(AsmNames *names)
{
    ptrmap_free(&names->values);
    ptrmap_free(&names->groups);
    ptrmap_free(&names->blocks);
    ptrmap_free(&names->op_ids);
    vec_free(&names->used.entries);
    free_ptr((void **)&names->used.buckets);
    vec_free(&names->pending);
    vec_free(&names->group_begins);
    strbuf_free(&names->scratch);
    strbuf_free(&names->sanitized);
    arena_free(&names->arena);
    free_ptr((void **)&names);
}

/* First result of the group that holds a result, and the group's size. */
static uint32_t group_of(const AsmNames *names, const Op *op, uint32_t index, uint32_t *size)
{
    const ResultGroups *groups = ptrmap_get(&names->groups, op);
    *size = op->result_count;
    if (!groups) return 0;
    uint32_t last = groups->count;
    while (groups->begins[last - 1] > index) last--;
    uint32_t begin = groups->begins[last - 1];
    *size = (last < groups->count ? groups->begins[last] : op->result_count) - begin;
    return begin;
}

void asm_names_value(const AsmNames *names, StrBuf *out, const Value *value, bool with_number)
{
    if (!value) {
        strbuf_add_c(out, "<<NULL VALUE>>");
        return;
    }
    const Value *named = value;
    uint32_t begin = 0, size = 1;
    if (!value->is_arg && value->owner.op->result_count > 1) {
        begin = group_of(names, value->owner.op, value->index, &size);
        named = op_result(value->owner.op, begin);
    }
    NameRef ref = (NameRef)ptrmap_get(&names->values, named);
    if (!ref) {
        strbuf_add_c(out, "<<UNKNOWN SSA VALUE>>");
        return;
    }
    strbuf_add_char(out, '%');
    if (ref % 2)
        strbuf_add_uint(out, ref / 2);
    else
        strbuf_add_c(out, (const char *)ref);
    if (size > 1 && with_number) {
        strbuf_add_char(out, '#');
        strbuf_add_uint(out, value->index - begin);
    }
}

void asm_names_results(const AsmNames *names, StrBuf *out, const Op *op)
{
    uint32_t size = 0;
    for (uint32_t i = 0; i < op->result_count; i += size) {
        (void)group_of(names, op, i, &size);
        if (i > 0) strbuf_add_c(out, ", ");
        asm_names_value(names, out, op_result(op, i), false);
        if (size == 1) continue;
        strbuf_add_char(out, ':');
        strbuf_add_uint(out, size);
    }
}

void asm_names_op_id(const AsmNames *names, StrBuf *out, const Op *op)
{
    uintptr_t id = (uintptr_t)ptrmap_get(&names->op_ids, op);
    if (!id) {
        strbuf_add_c(out, "<<UNKNOWN OPERATION>>");
        return;
    }
    strbuf_add_char(out, '%');
    strbuf_add_uint(out, id - 1);
}

uint32_t asm_names_block_order(const AsmNames *names, const Block *block)
{
    return (uint32_t)(uintptr_t)ptrmap_get(&names->blocks, block) - 1;
}

void asm_names_block(const AsmNames *names, StrBuf *out, const Block *block)
{
    if (!block || !ptrmap_has(&names->blocks, block)) {
        strbuf_add_c(out, "INVALIDBLOCK");
        return;
    }
    strbuf_add_c(out, "^bb");
    strbuf_add_uint(out, asm_names_block_order(names, block));
}
