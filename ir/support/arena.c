/* Memory: arenas, growable arrays, and the allocation functions that never return NULL.
 *
 * An arena is a list of chunks; only the newest one has free room, between next and end. Chunks
 * double in size up to CHUNK_MAX. A request that would waste most of a new chunk gets a chunk of
 * its own, which is linked behind the newest one so that the newest keeps its free room. Large
 * chunks come from the system as zeros and are not written, so only what is used of them becomes
 * memory.
 *
 * Growable arrays are typed by macros. The pointer that they hold is read and written here with
 * memcpy, because the aliasing rules forbid access to a T * through a void **.
 * Tests: test/unit/ir/support/support_test.c */
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/support/support.h"

#define CHUNK_MIN ((size_t)4096)
#define CHUNK_MAX ((size_t)1 << 20)

static void say_fatal(const char *what, const char *fmt, va_list args)
{
    fprintf(stderr, "fatal error: %s", what);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
}

void panic(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say_fatal("", fmt, args);
    va_end(args);
    abort();
}

void out_of_memory(const char *what, ...)
{
    va_list args;
    va_start(args, what);
    say_fatal("out of memory ", what, args);
    va_end(args);
    temporary_remove_all();
    _exit(EXIT_FAILURE);
}

void *xmalloc(size_t size)
{
    void *data = malloc(size ? size : 1);
    if (!data) out_of_memory("allocating %zu bytes", size);
    return data;
}

void *xcalloc(size_t count, size_t size)
{
    void *data = count && size ? calloc(count, size) : calloc(1, 1);
    if (!data) out_of_memory("allocating %zu times %zu bytes", count, size);
    return data;
}

void *xrealloc(void *old, size_t size)
{
    void *data = realloc(old, size ? size : 1);
    if (!data) out_of_memory("allocating %zu bytes", size);
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
    if (size > SIZE_MAX - HEADER_SIZE) out_of_memory("allocating %zu bytes", size);
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

/* Zeroed memory in a chunk of its own, which is not written here. */
static void *arena_alloc_large(Arena *arena, size_t size)
{
    if (size > SIZE_MAX - HEADER_SIZE) out_of_memory("allocating %zu bytes", size);
    ArenaChunk *chunk = xcalloc(1, HEADER_SIZE + size);
    chunk->size = size;
    arena->total += HEADER_SIZE + size;
    if (arena->chunks) {
        chunk->older = arena->chunks->older;
        arena->chunks->older = chunk;
    } else {
        arena->chunks = chunk;
        arena->next = arena->end = chunk_memory(chunk) + size;
    }
    return chunk_memory(chunk);
}

/* `size` bytes of undefined contents. */
static void *arena_take(Arena *arena, size_t size)
{
    if (size > SIZE_MAX - ALIGNMENT) out_of_memory("allocating %zu bytes", size);
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!arena->chunks || size > (size_t)(arena->end - arena->next))
        return arena_alloc_chunk(arena, size);
    void *data = arena->next;
    arena->next += size;
    return data;
}

void *arena_alloc(Arena *arena, size_t size)
{
    if (size > CHUNK_MAX) return arena_alloc_large(arena, size);
    return memset(arena_take(arena, size), 0, size);
}

void *arena_copy(Arena *arena, const void *data, size_t size)
{
    void *copy = arena_take(arena, size);
    if (size) memcpy(copy, data, size);
    return copy;
}

void vec_grow_raw(void **data, size_t *cap, size_t want, size_t elem_size)
{
    size_t next = *cap < SIZE_MAX / 2 ? *cap * 2 : want;
    if (next < 8) next = 8;
    if (next < want) next = want;
    size_t bytes;
    if (!size_mul(next, elem_size, &bytes)) out_of_memory("allocating %zu elements", next);
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
