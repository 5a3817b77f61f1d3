/* Memory, strings, growable arrays and hashing shared by every part of ming.
 *
 * Three lifetimes (docs/memory.md): context arena, module pool, scratch arena.
 * An Arena only grows; arena_reset keeps the newest chunk for reuse.
 * Tests: test/unit/support_test.c */
#ifndef MING_IR_SUPPORT_H
#define MING_IR_SUPPORT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__GNUC__)
#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define NORETURN __attribute__((noreturn))
#else
#define MUST_CHECK
#define PRINTF_LIKE(fmt, args)
#define NORETURN
#endif

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* a / b rounded up, of a >= 0 and b > 0. */
static inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Ends the process: out of memory, the one error nobody can handle. */
NORETURN void panic(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* malloc/realloc that panic instead of returning NULL; size 0 gives a valid pointer. */
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *old, size_t size);

/* --- arena ------------------------------------------------------------ */

typedef struct ArenaChunk ArenaChunk;
typedef struct Arena {
    ArenaChunk *chunks; /* newest first */
    char *next, *end;   /* free room of the newest chunk */
    size_t total;       /* bytes taken from the system */
} Arena;

void arena_init(Arena *arena);
void arena_free(Arena *arena);
/* Forgets everything allocated; keeps one chunk. */
void arena_reset(Arena *arena);
/* Zero-initialised memory aligned for any object; lives as long as the arena. */
void *arena_alloc(Arena *arena, size_t size);
void *arena_copy(Arena *arena, const void *data, size_t size);
#define ARENA_NEW(arena, T) ((T *)arena_alloc((arena), sizeof(T)))
#define ARENA_ARRAY(arena, T, n) ((T *)arena_alloc((arena), sizeof(T) * (size_t)(n)))

/* --- string slices ------------------------------------------------------ */

/* Bytes with a length; not owned, not NUL-terminated unless said so. */
typedef struct Str {
    const char *data;
    size_t len;
} Str;

#define STR(literal) ((Str){(literal), sizeof(literal) - 1})
Str str_from(const char *cstr);
bool str_eq(Str a, Str b);
bool str_eq_c(Str a, const char *b);
int str_cmp(Str a, Str b); /* bytewise, as memcmp then by length */
bool str_starts_with(Str s, const char *prefix);
bool str_ends_with(Str s, const char *suffix);
/* Arguments for "%.*s". */
#define STR_ARG(s) (int)(s).len, (s).data

/* --- string builder ----------------------------------------------------- */

/* Growing text, always NUL-terminated once anything was added. Owns data. */
typedef struct StrBuf {
    char *data;
    size_t len, cap;
} StrBuf;

void strbuf_free(StrBuf *buf);
void strbuf_clear(StrBuf *buf);
/* Makes room for `extra` more bytes and the final NUL. */
void strbuf_grow(StrBuf *buf, size_t extra);
static inline void strbuf_add(StrBuf *buf, const char *data, size_t len)
{
    if (len >= buf->cap - buf->len) strbuf_grow(buf, len);
    if (len) memcpy(buf->data + buf->len, data, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}
static inline void strbuf_add_char(StrBuf *buf, char c)
{
    if (buf->cap - buf->len < 2) strbuf_grow(buf, 1);
    buf->data[buf->len++] = c;
    buf->data[buf->len] = '\0';
}
static inline void strbuf_add_c(StrBuf *buf, const char *cstr)
{
    strbuf_add(buf, cstr, strlen(cstr));
}
static inline void strbuf_add_str(StrBuf *buf, Str s) { strbuf_add(buf, s.data, s.len); }
void strbuf_add_uint(StrBuf *buf, uint64_t value);
void strbuf_add_int(StrBuf *buf, int64_t value);
void strbuf_printf(StrBuf *buf, const char *fmt, ...) PRINTF_LIKE(2, 3);
void strbuf_vprintf(StrBuf *buf, const char *fmt, va_list args);
Str strbuf_str(const StrBuf *buf);

/* --- growable arrays ------------------------------------------------------ */

/* VEC(int) v = {0}; *vec_push(&v) = 1; v.data[0]; v.len; vec_free(&v); */
#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *data;                                                                                   \
        size_t len, cap;                                                                           \
    }
void vec_grow_raw(void **data, size_t *cap, size_t want, size_t elem_size);
#define vec_reserve(v, want)                                                                       \
    ((want) > (v)->cap ? vec_grow_raw((void **)&(v)->data, &(v)->cap, (want), sizeof(*(v)->data))  \
                       : (void)0)
/* Adds one element and returns its address; its contents are undefined until written. */
#define vec_push(v) (vec_reserve((v), (v)->len + 1), &(v)->data[(v)->len++])
/* Address of element `begin`, of which there may be none. */
#define vec_from(v, begin) ((begin) ? (v)->data + (begin) : (v)->data)
#define vec_free(v) (free_ptr((void **)&(v)->data), (v)->len = (v)->cap = 0)
void free_ptr(void **ptr);

/* --- hashing ---------------------------------------------------------------- */

uint64_t hash_bytes(const void *data, size_t len, uint64_t seed);
uint64_t hash_combine(uint64_t a, uint64_t b);
uint64_t hash_ptr(const void *ptr);

/* Open-addressing map from pointer (or any non-zero 64-bit key) to pointer.
 * Iteration order is insertion order, so that nothing depends on addresses. */
typedef struct PtrMapEntry {
    const void *key; /* NULL: erased */
    void *value;
} PtrMapEntry;
typedef struct PtrMap {
    PtrMapEntry *entries; /* insertion order; may hold erased ones */
    size_t len, cap;      /* of entries */
    uint32_t *slots;      /* index into entries + 1; 0: empty */
    size_t slot_count;    /* power of two */
    size_t live;
} PtrMap;

void ptrmap_free(PtrMap *map);
void ptrmap_clear(PtrMap *map);
void *ptrmap_get(const PtrMap *map, const void *key); /* NULL when absent */
bool ptrmap_has(const PtrMap *map, const void *key);
/* Inserts or overwrites; returns the previous value or NULL. */
void *ptrmap_put(PtrMap *map, const void *key, void *value);
void ptrmap_remove(PtrMap *map, const void *key);

/* Checked arithmetic: false when the result would overflow. */
bool size_mul(size_t a, size_t b, size_t *out) MUST_CHECK;
bool i64_mul(int64_t a, int64_t b, int64_t *out) MUST_CHECK;
bool i64_add(int64_t a, int64_t b, int64_t *out) MUST_CHECK;
/* Quotients rounded down and up; false on division by zero too. */
bool i64_floordiv(int64_t a, int64_t b, int64_t *out) MUST_CHECK;
bool i64_ceildiv(int64_t a, int64_t b, int64_t *out) MUST_CHECK;
/* Remainder in [0, b) for b > 0. */
int64_t i64_mod(int64_t a, int64_t b);

#endif
