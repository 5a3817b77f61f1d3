/* Memory of ops, blocks and arguments: size classes with free lists over an arena. Small sizes have
 * one class per 16 bytes, larger ones one class per power of two. Freed memory is poisoned under
 * AddressSanitizer. The arena is freed with the context.
 * Tests: test/unit/ir/core/op_test.c */
#include <assert.h>
#include <string.h>

#include "ir/core/internal.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(memory, size) ASAN_POISON_MEMORY_REGION((memory), (size))
#define UNPOISON(memory, size) ASAN_UNPOISON_MEMORY_REGION((memory), (size))
#else
#define POISON(memory, size) ((void)(memory), (void)(size))
#define UNPOISON(memory, size) ((void)(memory), (void)(size))
#endif

enum { GRAIN = 16, SMALL_CLASSES = 64, SMALL_MAX = GRAIN * SMALL_CLASSES, LARGE_CLASSES = 40 };

typedef struct FreeBlock {
    struct FreeBlock *next;
} FreeBlock;

struct OpPool {
    Arena arena;
    FreeBlock *small[SMALL_CLASSES]; /* (i + 1) * GRAIN bytes */
    FreeBlock *large[LARGE_CLASSES]; /* 2^i bytes */
};

struct OpPool *oppool_create(void)
{
    struct OpPool *pool = xcalloc(1, sizeof *pool);
    arena_init(&pool->arena);
    return pool;
}

void oppool_destroy(struct OpPool *pool)
{
    arena_free(&pool->arena);
    free_ptr((void **)&pool);
}

/* The free list for a size, and the size its members have. */
static FreeBlock **class_of(struct OpPool *pool, size_t size, size_t *rounded)
{
    if (size <= SMALL_MAX) {
        size_t index = size == 0 ? 0 : (size - 1) / GRAIN;
        *rounded = (index + 1) * GRAIN;
        return &pool->small[index];
    }
    size_t bits = 0;
    while (((size_t)1 << bits) < size) bits++;
    assert(bits < LARGE_CLASSES);
    *rounded = (size_t)1 << bits;
    return &pool->large[bits];
}

void *oppool_alloc(struct OpPool *pool, size_t size)
{
    size_t rounded;
    FreeBlock **list = class_of(pool, size, &rounded);
    FreeBlock *block = *list;
    if (!block) return arena_alloc(&pool->arena, rounded);
    UNPOISON(block, rounded);
    *list = block->next;
    return memset(block, 0, size);
}

void oppool_free(struct OpPool *pool, void *memory, size_t size)
{
    if (!memory) return;
    size_t rounded;
    FreeBlock **list = class_of(pool, size, &rounded);
    FreeBlock *block = memory;
    block->next = *list;
    *list = block;
    POISON((char *)memory + sizeof *block, rounded - sizeof *block);
}

void *oppool_regrow(struct OpPool *pool, void *old, size_t old_size, size_t used, size_t new_size)
{
    void *fresh = oppool_alloc(pool, new_size);
    if (used) memcpy(fresh, old, used);
    oppool_free(pool, old, old_size);
    return fresh;
}
