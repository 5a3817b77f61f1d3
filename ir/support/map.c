/* Hashing, and the map from pointers to pointers.
 *
 * A map is an array of entries in insertion order, and a table of slots that holds entry numbers
 * and is probed linearly. Removing a key clears its entry but keeps the slot occupied, so that
 * later probes do not stop there. A new key may reuse such a slot; the entry itself is dropped by
 * the next rebuild, which keeps the order of the others. At most three quarters as many entries as
 * slots are kept, so a probe always ends at an empty slot.
 * Tests: test/unit/ir/support/support_test.c */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ir/support/support.h"

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

/* Enters the number into the first free slot. The slot of an erased entry counts as free; otherwise
 * keys that come and go would fill the table. */
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
    if (map->len == UINT32_MAX) out_of_memory("for a map of more than %zu entries", map->len);
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
