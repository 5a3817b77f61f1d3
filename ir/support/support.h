/* Memory, strings, growable arrays and hashing shared by every part of ming.
 *
 * Three lifetimes (docs/architecture.md): context arena, module pool, scratch arena.
 * An Arena only grows; arena_reset keeps the newest chunk for reuse.
 * Tests: test/unit/ir/support/support_test.c */
#ifndef MING_IR_SUPPORT_SUPPORT_H
#define MING_IR_SUPPORT_SUPPORT_H

#include <math.h>
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

/* The value of a macro as a string literal. */
#define STRINGIFY_TOKENS(text) #text
#define STRINGIFY(macro) STRINGIFY_TOKENS(macro)

/* a / b rounded up, of a >= 0 and b > 0. */
static inline int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* a / b rounded down, of any sign; b != 0. i64_floordiv() is for numbers that may overflow. */
static inline int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static inline int64_t i64_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t i64_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Bits that count `value` things: the least n with 2^n >= value, of value <= 2^62. */
static inline int64_t i64_log2_up(int64_t value)
{
    int64_t bits = 0;
    while (((int64_t)1 << bits) < value) bits++;
    return bits;
}

/* Greatest common divisor of the magnitudes, none of them 2^63; with 0 it is the other one. */
static inline int64_t i64_gcd(int64_t a, int64_t b)
{
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The larger and the smaller of two numbers that are no NaN; of equal zeros the positive one is the
 * larger. */
static inline double float_maximum(double a, double b)
{
    if (a == b) return signbit(a) ? b : a;
    return a > b ? a : b;
}

static inline double float_minimum(double a, double b)
{
    if (a == b) return signbit(a) ? a : b;
    return a < b ? a : b;
}

/* Ends the process: out of memory, the one error nobody can handle. */
NORETURN void panic(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* malloc/realloc that panic instead of returning NULL; size 0 gives a valid pointer. */
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *old, size_t size);

/* Arena. */

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

static inline void strbuf_add_str(StrBuf *buf, Str s)
{
    strbuf_add(buf, s.data, s.len);
}

void strbuf_add_uint(StrBuf *buf, uint64_t value);
void strbuf_add_int(StrBuf *buf, int64_t value);
void strbuf_printf(StrBuf *buf, const char *fmt, ...) PRINTF_LIKE(2, 3);
void strbuf_vprintf(StrBuf *buf, const char *fmt, va_list args);
/* Adds why something failed. Returns false, for the one who says so to return. */
bool strbuf_fail(StrBuf *why, const char *fmt, ...) PRINTF_LIKE(2, 3);
Str strbuf_str(const StrBuf *buf);

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

/* Hashing. */

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

/* Integers of any width as two's complement words (least significant first), for integer
 * attributes and constant folding. Bits above the width are zero in the top word.
 * Up to 64 bits everything lives in one word, without allocation.
 * Tests: test/unit/ir/support/bigint_test.c */

#define BIGINT_MAX_WIDTH ((1u << 24) - 1) /* as upstream's IntegerType */

typedef struct BigInt {
    uint32_t width; /* bits, >= 0 */
    union {
        uint64_t word;   /* width <= 64 */
        uint64_t *words; /* else: in the arena that made it */
    } u;
} BigInt;

uint32_t bigint_word_count(uint32_t width);
const uint64_t *bigint_words(const BigInt *value);
BigInt bigint_from_i64(Arena *arena, uint32_t width, int64_t value); /* truncates or sign-extends */
BigInt bigint_from_words(Arena *arena, uint32_t width, const uint64_t *words);
/* Decimal or 0x hexadecimal digits without sign; false when they do not fit `width` bits
 * (as an unsigned number) or are malformed. */
bool bigint_parse(Arena *arena, Str digits, uint32_t width, BigInt *out) MUST_CHECK;
/* Bits that the unsigned number written in `digits` needs (0 for zero). */
uint32_t bigint_digits_width(Str digits);
void bigint_print(StrBuf *out, const BigInt *value, bool is_signed);
bool bigint_eq(const BigInt *a, const BigInt *b);
bool bigint_is_zero(const BigInt *a);
bool bigint_is_negative(const BigInt *a); /* sign bit set */
bool bigint_fits_i64(const BigInt *a, bool is_signed);
int64_t bigint_to_i64(const BigInt *a);  /* sign-extended; low 64 bits when wider */
uint64_t bigint_to_u64(const BigInt *a); /* zero-extended; low 64 bits when wider */
int bigint_cmp(const BigInt *a, const BigInt *b, bool is_signed); /* same widths; -1 0 1 */

BigInt bigint_neg(Arena *arena, const BigInt *a);
BigInt bigint_add(Arena *arena, const BigInt *a, const BigInt *b); /* wraps, as all below */
BigInt bigint_sub(Arena *arena, const BigInt *a, const BigInt *b);
BigInt bigint_mul(Arena *arena, const BigInt *a, const BigInt *b);
BigInt bigint_and(Arena *arena, const BigInt *a, const BigInt *b);
BigInt bigint_or(Arena *arena, const BigInt *a, const BigInt *b);
BigInt bigint_xor(Arena *arena, const BigInt *a, const BigInt *b);
BigInt bigint_shl(Arena *arena, const BigInt *a, uint64_t amount);
BigInt bigint_shr(Arena *arena, const BigInt *a, uint64_t amount, bool arithmetic);
/* Truncating quotient and remainder; the divisor must not be zero. */
BigInt bigint_div(Arena *arena, const BigInt *a, const BigInt *b, bool is_signed);
BigInt bigint_rem(Arena *arena, const BigInt *a, const BigInt *b, bool is_signed);
/* Truncates, or extends by sign or zero. */
BigInt bigint_resize(Arena *arena, const BigInt *a, uint32_t width, bool is_signed);

/* Files in and out of the tools.
 * Tests: lit/tools/output.mir, lit/tools/command-line.mir */

/* Appends a file ("-": standard input). False: *reason (static or strerror) says why. */
bool file_read(StrBuf *out, const char *path, const char **reason) MUST_CHECK;
/* Replaces a file at once by writing a temporary one beside it and renaming it; "-" is standard
 * output, and what is no regular file is written directly. */
bool file_write(const char *path, Str text, const char **reason) MUST_CHECK;

/* A whole input, mapped where that is possible; nobody may shorten the file meanwhile. */
typedef struct InputFile {
    Str text;
    StrBuf read;          /* holds the text where it is not mapped */
    const char *released; /* of a mapped text: before this no memory is held */
} InputFile;
bool input_open(InputFile *input, const char *path, const char **reason) MUST_CHECK;
/* For ParseOptions.passed: gives back the memory of a mapped text before `place`, which comes
 * from the file again if it is looked at. */
void input_release(void *input, const char *place);
void input_close(InputFile *input);

/* An output written piece by piece as file_write writes it whole: nothing appears under its name
 * before output_close. */
typedef struct OutputFile {
    const char *path;
    StrBuf temporary;   /* its name; empty: written directly */
    int fd;             /* < 0: not yet open */
    const char *reason; /* why writing failed, or NULL */
} OutputFile;
void output_open(OutputFile *output, const char *path);
/* For TextSink.write. */
bool output_write(void *output, Str piece) MUST_CHECK;
/* keep: false removes what was not written directly. False: *reason says what went wrong. */
bool output_close(OutputFile *output, bool keep, const char **reason) MUST_CHECK;

/* Floating-point formats of the float types, by their bits, independent of host and locale.
 *
 * kind is a TypeKind float kind (ir/attr/attr.h). Formats of up to 64 bits are held in one word;
 * f80 and f128 in two, low word first. The *_words functions take every kind.
 * Tests: test/unit/ir/support/float_test.c */

/* Value of the bits: exact, except that f80 and f128 round half-even. */
double float_from_bits(int kind, uint64_t bits);
double float_from_words(int kind, const uint64_t words[2]);
/* Bits of the value rounded half-even; overflow gives the format's infinity, or its NaN
 * where it has none. */
uint64_t float_to_bits(int kind, double value);
void float_to_words(int kind, double value, uint64_t words[2]);
/* Bits of storage: 8, 16, 19, 32, 64, 80 or 128. */
uint32_t float_width(int kind);
/* Bits of f80 whose leading bit contradicts the exponent are no number: upstream keeps them with
 * the largest exponent. Others stay. */
void float_settle(int kind, uint64_t words[2]);

/* Text as upstream prints a float of that kind: 6 digits after the first if they round-trip,
 * else as many as always do, else (and for inf and nan) the bits in hexadecimal. */
void float_print(StrBuf *out, int kind, uint64_t bits);
void float_print_words(StrBuf *out, int kind, const uint64_t words[2]);
/* d.dddddde+xx, as messages show a double; inf is INF. */
void float_print_scientific(StrBuf *out, double value);
/* The number in the text, [-+]digits[.digits][e[-+]digits], correctly rounded to double
 * (infinity when too large); false when malformed. */
bool float_parse(Str text, double *out) MUST_CHECK;

/* Text in JSON. */

/* The string with its quotes; what is no UTF-8 becomes U+FFFD. */
void json_add_string(StrBuf *out, Str text);

/* Writes a JSON text from its first bracket to its last. Commas and colons come by themselves; all
 * stands on one line, a space behind each comma, but where json_write_line breaks it.
 *   JsonWriter json = {.out = out};
 * Tests: test/unit/ir/support/json_test.c */
typedef struct JsonWriter {
    StrBuf *out; /* not owned */
    /* Of the writer alone: */
    bool has_item, has_key; /* what comes next follows an item, is the value of a key */
    bool breaks;            /* what comes next begins a line, `column` spaces in */
    uint32_t column;
} JsonWriter;

/* The next key, item or closing bracket begins a line, `column` spaces in. */
void json_write_line(JsonWriter *w, uint32_t column);
void json_write_key(JsonWriter *w, Str key);
/* Values: items of an array, or behind a key. */
void json_begin_object(JsonWriter *w);
void json_end_object(JsonWriter *w);
void json_begin_array(JsonWriter *w);
void json_end_array(JsonWriter *w);
void json_write_string(JsonWriter *w, Str value);
void json_write_int(JsonWriter *w, int64_t value);
void json_write_bool(JsonWriter *w, bool value);
void json_write_null(JsonWriter *w);
/* A number as printf spells it: fractions with as many digits as they are to have. */
void json_write_number(JsonWriter *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A key and its value. */
void json_member_object(JsonWriter *w, const char *key);
void json_member_array(JsonWriter *w, const char *key);
void json_member_string(JsonWriter *w, const char *key, Str value);
void json_member_int(JsonWriter *w, const char *key, int64_t value);
void json_member_bool(JsonWriter *w, const char *key, bool value);
/* Null where the count is negative, as one that is not known is. */
void json_member_count(JsonWriter *w, const char *key, int64_t value);

/* Tables for people: words to the left, numbers to the right, columns as wide as they need.
 * Tests: lit/tools/ming-sim.mir */

typedef struct TextTable {
    size_t columns, first_number; /* columns from first_number on hold numbers */
    VEC(StrBuf) cells;            /* row by row */
    size_t *widths;               /* of the columns, once a row was printed */
} TextTable;

/* Cells are added before any row is printed. The next one, empty: valid until the one after. */
StrBuf *text_table_cell(TextTable *table);
void text_table_add(TextTable *table, const char *text);
void text_table_add_int(TextTable *table, int64_t value);
/* A count, or `-` for one that is not known (negative). */
void text_table_add_count(TextTable *table, int64_t count);
/* One line, with its end; rows count from 0. The last row may lack cells. */
void text_table_print_row(TextTable *table, size_t row, StrBuf *out);
void text_table_print(TextTable *table, StrBuf *out);
void text_table_free(TextTable *table);

#endif
