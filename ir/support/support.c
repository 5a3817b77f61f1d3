/* Memory, strings, growable arrays, hashing and the pointer map.
 *
 * An arena is a list of chunks; the newest one has free room between next and end. Chunks
 * double in size up to CHUNK_MAX; a request that would waste most of a chunk gets one of
 * its own, placed behind the newest so that the newest keeps its room.
 * Growable arrays are typed by macros; the pointer they hold is read and written here with
 * memcpy, because a T * must not be accessed through a void **.
 * Tests: test/unit/ir/support/support_test.c */
#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "ir/support/support.h"

#define CHUNK_MIN ((size_t)4096)
#define CHUNK_MAX ((size_t)1 << 20)

void panic(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("fatal error: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}

void *xmalloc(size_t size)
{
    void *data = malloc(size ? size : 1);
    if (!data) panic("out of memory allocating %zu bytes", size);
    return data;
}

void *xcalloc(size_t count, size_t size)
{
    void *data = count && size ? calloc(count, size) : calloc(1, 1);
    if (!data) panic("out of memory allocating %zu times %zu bytes", count, size);
    return data;
}

void *xrealloc(void *old, size_t size)
{
    void *data = realloc(old, size ? size : 1);
    if (!data) panic("out of memory allocating %zu bytes", size);
    return data;
}

struct ArenaChunk {
    ArenaChunk *older;
    size_t size; /* of the memory behind this header */
};

#define ALIGNMENT alignof(max_align_t)
#define HEADER_SIZE ((sizeof(ArenaChunk) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)

static char *chunk_memory(ArenaChunk *chunk)
{
    return (char *)chunk + HEADER_SIZE;
}

static ArenaChunk *chunk_create(Arena *arena, size_t size)
{
    if (size > SIZE_MAX - HEADER_SIZE) panic("out of memory allocating %zu bytes", size);
    ArenaChunk *chunk = xmalloc(HEADER_SIZE + size);
    chunk->older = NULL;
    chunk->size = size;
    arena->total += HEADER_SIZE + size;
    return chunk;
}

static void arena_use_chunk(Arena *arena, ArenaChunk *chunk)
{
    arena->chunks = chunk;
    arena->next = chunk_memory(chunk);
    arena->end = arena->next + chunk->size;
}

/* Frees the chunk and all older ones. */
static void arena_free_chunks(Arena *arena, ArenaChunk *chunk)
{
    while (chunk) {
        ArenaChunk *older = chunk->older;
        arena->total -= HEADER_SIZE + chunk->size;
        free(chunk);
        chunk = older;
    }
}

void arena_init(Arena *arena)
{
    *arena = (Arena){0};
}

void arena_free(Arena *arena)
{
    arena_free_chunks(arena, arena->chunks);
    *arena = (Arena){0};
}

void arena_reset(Arena *arena)
{
    if (!arena->chunks) return;
    arena_free_chunks(arena, arena->chunks->older);
    arena->chunks->older = NULL;
    arena_use_chunk(arena, arena->chunks);
}

/* Room for `size` bytes when the newest chunk has not enough. */
static void *arena_alloc_chunk(Arena *arena, size_t size)
{
    size_t want = arena->chunks ? arena->chunks->size * 2 : CHUNK_MIN;
    if (want > CHUNK_MAX) want = CHUNK_MAX;
    if (arena->chunks && size > want / 4) {
        ArenaChunk *own = chunk_create(arena, size);
        own->older = arena->chunks->older;
        arena->chunks->older = own;
        return chunk_memory(own);
    }
    ArenaChunk *chunk = chunk_create(arena, size > want ? size : want);
    chunk->older = arena->chunks;
    arena_use_chunk(arena, chunk);
    void *data = arena->next;
    arena->next += size;
    return data;
}

/* `size` bytes of undefined contents. */
static void *arena_take(Arena *arena, size_t size)
{
    if (size > SIZE_MAX - ALIGNMENT) panic("out of memory allocating %zu bytes", size);
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!arena->chunks || size > (size_t)(arena->end - arena->next))
        return arena_alloc_chunk(arena, size);
    void *data = arena->next;
    arena->next += size;
    return data;
}

void *arena_alloc(Arena *arena, size_t size)
{
    return memset(arena_take(arena, size), 0, size);
}

void *arena_copy(Arena *arena, const void *data, size_t size)
{
    void *copy = arena_take(arena, size);
    if (size) memcpy(copy, data, size);
    return copy;
}

Str str_from(const char *cstr)
{
    return (Str){cstr, strlen(cstr)};
}

bool str_eq(Str a, Str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

bool str_eq_c(Str a, const char *b)
{
    return str_eq(a, str_from(b));
}

int str_cmp(Str a, Str b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common ? memcmp(a.data, b.data, common) : 0;
    if (order != 0) return order;
    return (a.len > b.len) - (a.len < b.len);
}

bool str_starts_with(Str s, const char *prefix)
{
    size_t len = strlen(prefix);
    return s.len >= len && str_eq((Str){s.data, len}, (Str){prefix, len});
}

bool str_ends_with(Str s, const char *suffix)
{
    size_t len = strlen(suffix);
    return s.len >= len && (len == 0 || memcmp(s.data + (s.len - len), suffix, len) == 0);
}

void strbuf_grow(StrBuf *buf, size_t extra)
{
    if (extra >= SIZE_MAX - buf->len) panic("out of memory growing a text of %zu bytes", buf->len);
    size_t want = buf->len + extra + 1;
    if (want <= buf->cap) return;
    size_t cap = buf->cap < SIZE_MAX / 2 ? buf->cap * 2 : want;
    if (cap < 32) cap = 32;
    if (cap < want) cap = want;
    buf->data = xrealloc(buf->data, cap);
    buf->cap = cap;
}

void strbuf_free(StrBuf *buf)
{
    free(buf->data);
    *buf = (StrBuf){0};
}

void strbuf_clear(StrBuf *buf)
{
    buf->len = 0;
    if (buf->data) buf->data[0] = '\0';
}

void strbuf_add_uint(StrBuf *buf, uint64_t value)
{
    char digits[20]; /* of the largest 64-bit number */
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    strbuf_add(buf, digits + at, sizeof(digits) - at);
}

void strbuf_add_int(StrBuf *buf, int64_t value)
{
    uint64_t magnitude = (uint64_t)value;
    if (value < 0) {
        strbuf_add_char(buf, '-');
        magnitude = 0 - magnitude;
    }
    strbuf_add_uint(buf, magnitude);
}

void strbuf_printf(StrBuf *buf, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(buf, fmt, args);
    va_end(args);
}

bool strbuf_fail(StrBuf *why, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(why, fmt, args);
    va_end(args);
    return false;
}

void strbuf_vprintf(StrBuf *buf, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    strbuf_grow(buf, 0);
    size_t room = buf->cap - buf->len;
    int written = vsnprintf(buf->data + buf->len, room, fmt, args);
    assert(written >= 0);
    size_t len = (size_t)written;
    if (len >= room) {
        strbuf_grow(buf, len);
        vsnprintf(buf->data + buf->len, len + 1, fmt, again);
    }
    buf->len += len;
    va_end(again);
}

Str strbuf_str(const StrBuf *buf)
{
    return (Str){buf->data ? buf->data : "", buf->len};
}

void vec_grow_raw(void **data, size_t *cap, size_t want, size_t elem_size)
{
    size_t next = *cap < SIZE_MAX / 2 ? *cap * 2 : want;
    if (next < 8) next = 8;
    if (next < want) next = want;
    size_t bytes;
    if (!size_mul(next, elem_size, &bytes)) panic("out of memory allocating %zu elements", next);
    void *memory;
    memcpy(&memory, data, sizeof(memory));
    memory = xrealloc(memory, bytes);
    memcpy(data, &memory, sizeof(memory));
    *cap = next;
}

void free_ptr(void **ptr)
{
    void *memory;
    memcpy(&memory, ptr, sizeof(memory));
    free(memory);
    memory = NULL;
    memcpy(ptr, &memory, sizeof(memory));
}

#define HASH_ODD1 UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio */
#define HASH_ODD2 UINT64_C(0xd6e8feb86659fd93)

/* A bijection that spreads every input bit over the word. */
static uint64_t hash_mix(uint64_t x)
{
    x ^= x >> 32;
    x *= HASH_ODD2;
    x ^= x >> 32;
    x *= HASH_ODD2;
    return x ^ (x >> 32);
}

/* Lengths differing, or bytes in different places, give different hashes: each word is
 * multiplied into the running state, the length is part of the initial state. */
uint64_t hash_bytes(const void *data, size_t len, uint64_t seed)
{
    const unsigned char *bytes = data;
    uint64_t hash = seed ^ ((uint64_t)len * HASH_ODD1);
    uint64_t word;
    for (; len >= sizeof(word); bytes += sizeof(word), len -= sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        hash = (hash ^ word) * HASH_ODD1;
        hash ^= hash >> 29;
    }
    word = 0;
    if (len) memcpy(&word, bytes, len);
    return hash_mix(hash ^ word);
}

uint64_t hash_combine(uint64_t a, uint64_t b)
{
    return hash_mix(a * HASH_ODD1 + b);
}

uint64_t hash_ptr(const void *ptr)
{
    return hash_mix((uint64_t)(uintptr_t)ptr);
}

#define PTRMAP_MIN_SLOTS 16

void ptrmap_free(PtrMap *map)
{
    free(map->entries);
    free(map->slots);
    *map = (PtrMap){0};
}

void ptrmap_clear(PtrMap *map)
{
    map->len = map->live = 0;
    if (map->slots) memset(map->slots, 0, map->slot_count * sizeof(*map->slots));
}

/* The entry of `key`, or NULL. Slots of erased entries are stepped over. */
static PtrMapEntry *ptrmap_find(const PtrMap *map, const void *key)
{
    assert(key);
    if (!map->slot_count) return NULL;
    size_t mask = map->slot_count - 1;
    for (size_t at = (size_t)hash_ptr(key) & mask; map->slots[at]; at = (at + 1) & mask) {
        PtrMapEntry *entry = &map->entries[map->slots[at] - 1];
        if (entry->key == key) return entry;
    }
    return NULL;
}

/* Takes the slot of an erased entry where it meets one, lest keys that come and go pile up. */
static void ptrmap_fill_slot(PtrMap *map, const void *key, uint32_t entry_number)
{
    size_t mask = map->slot_count - 1;
    size_t at = (size_t)hash_ptr(key) & mask;
    while (map->slots[at] && map->entries[map->slots[at] - 1].key) at = (at + 1) & mask;
    map->slots[at] = entry_number;
}

/* Drops erased entries and rebuilds the slots, at most half full. */
static void ptrmap_rebuild(PtrMap *map)
{
    size_t kept = 0;
    for (size_t i = 0; i < map->len; i++)
        if (map->entries[i].key) map->entries[kept++] = map->entries[i];
    map->len = kept;
    size_t count = PTRMAP_MIN_SLOTS;
    while (count / 2 < kept + 1) count *= 2;
    free(map->slots);
    map->slots = xcalloc(count, sizeof(*map->slots));
    map->slot_count = count;
    for (size_t i = 0; i < kept; i++) ptrmap_fill_slot(map, map->entries[i].key, (uint32_t)(i + 1));
}

void *ptrmap_get(const PtrMap *map, const void *key)
{
    const PtrMapEntry *entry = ptrmap_find(map, key);
    return entry ? entry->value : NULL;
}

bool ptrmap_has(const PtrMap *map, const void *key)
{
    return ptrmap_find(map, key) != NULL;
}

void *ptrmap_put(PtrMap *map, const void *key, void *value)
{
    PtrMapEntry *entry = ptrmap_find(map, key);
    if (entry) {
        void *old = entry->value;
        entry->value = value;
        return old;
    }
    if (map->len + 1 > map->slot_count / 4 * 3) ptrmap_rebuild(map);
    if (map->len == UINT32_MAX) panic("out of memory: a map of more than %zu entries", map->len);
    if (map->len == map->cap) {
        map->cap = map->cap ? map->cap * 2 : PTRMAP_MIN_SLOTS / 2;
        map->entries = xrealloc(map->entries, map->cap * sizeof(*map->entries));
    }
    map->entries[map->len++] = (PtrMapEntry){key, value};
    map->live++;
    ptrmap_fill_slot(map, key, (uint32_t)map->len);
    return NULL;
}

void ptrmap_remove(PtrMap *map, const void *key)
{
    PtrMapEntry *entry = ptrmap_find(map, key);
    if (!entry) return;
    *entry = (PtrMapEntry){0};
    map->live--;
}

bool size_mul(size_t a, size_t b, size_t *out)
{
    if (b && a > SIZE_MAX / b) return false;
    *out = a * b;
    return true;
}

bool i64_mul(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

bool i64_add(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

bool i64_floordiv(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) return false;
    bool inexact_below_zero = a % b != 0 && (a < 0) != (b < 0);
    *out = a / b - inexact_below_zero;
    return true;
}

bool i64_ceildiv(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) return false;
    bool inexact_above_zero = a % b != 0 && (a < 0) == (b < 0);
    *out = a / b + inexact_above_zero;
    return true;
}

int64_t i64_mod(int64_t a, int64_t b)
{
    assert(b > 0);
    int64_t rest = a % b;
    return rest < 0 ? rest + b : rest;
}
