/* Support: what every other module of ming stands on, and which knows nothing of IR. It offers
 * memory (arenas, growable arrays), strings, hashing, checked arithmetic, integers of any width,
 * floating point formats, files, and text output (JSON, tables).
 *
 * Nothing here keeps global state but the list of temporary files, which a signal handler needs. Only
 * file functions report errors, as false and a reason; running out of memory ends the process
 * (out_of_memory). An Arena owns what is allocated from it and only
 * grows; the three lifetimes that arenas are used for (context, module, scratch of a pass) are
 * described in docs/architecture.md. StrBuf, VEC and PtrMap start as {0} and are freed by their
 * owner.
 * Tests: test/unit/ir/support; files and tables: lit/tools */
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

/* a / b rounded up; b > 0. */
static inline int64_t ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
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

/* floor(a * b / c) for natural a and b and a positive c, where a * c and the result fit. */
static inline int64_t i64_mul_div(int64_t a, int64_t b, int64_t c)
{
    return a * (b / c) + a * (b % c) / c;
}

/* The least signed number of so many bits, 1 to 64. */
static inline int64_t i64_least(uint32_t bits)
{
    return INT64_MIN >> (64 - bits);
}

/* Bits that count `value` things: the least n with 2^n >= value. */
static inline int64_t i64_log2_up(int64_t value)
{
    int64_t bits = 0;
    while (bits < 63 && ((int64_t)1 << bits) < value) bits++;
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

/* Aborts the process with a message: a table of ming's own is wrong. */
NORETURN void panic(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* Ends the process with status 1 and a message, "out of memory" and `what` was to be done: the one
 * error that nobody handles. Temporary files are removed. */
NORETURN void out_of_memory(const char *what, ...) PRINTF_LIKE(1, 2);

/* malloc, calloc and realloc that end the process (out_of_memory) instead of returning NULL. A size of 0 gives a valid
 * pointer. The caller frees the memory with free. */
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *old, size_t size);

/* Arenas: memory that is given back all at once. Objects in an arena are never freed one by one, so
 * pointers into it stay valid until arena_reset or arena_free. */

typedef struct ArenaChunk ArenaChunk;
typedef struct Arena {
    ArenaChunk *chunks; /* newest first */
    char *next, *end;   /* free room of the newest chunk */
    size_t total;       /* bytes taken from the system */
} Arena;

/* An initialised arena holds no memory yet; arena_free gives everything back and leaves it
 * initialised. */
void arena_init(Arena *arena);
void arena_free(Arena *arena);
/* Ends the life of everything allocated but keeps the newest chunk, so that a scratch arena does
 * not return to the system after each use. */
void arena_reset(Arena *arena);
/* Zeroed memory, aligned for any object. Never NULL; size 0 gives a valid pointer. */
void *arena_alloc(Arena *arena, size_t size);
/* A copy of `size` bytes, aligned as by arena_alloc. */
void *arena_copy(Arena *arena, const void *data, size_t size);
#define ARENA_NEW(arena, T) ((T *)arena_alloc((arena), sizeof(T)))
#define ARENA_ARRAY(arena, T, n) ((T *)arena_alloc((arena), sizeof(T) * (size_t)(n)))

/* Strings. A Str is a slice: bytes with a length. It owns nothing and is not NUL-terminated unless
 * its source says so. */
typedef struct Str {
    const char *data;
    size_t len;
} Str;

#define STR(literal) ((Str){(literal), sizeof(literal) - 1})
/* The bytes of a C string, which must outlive the slice. */
Str str_from(const char *cstr);
bool str_eq(Str a, Str b);
bool str_eq_c(Str a, const char *b);
int str_cmp(Str a, Str b); /* bytewise, as memcmp then by length */
bool str_starts_with(Str s, const char *prefix);
bool str_ends_with(Str s, const char *suffix);
/* Bytes of the UTF-8 sequence at text[at], 0 if there is none. */
size_t str_utf8_length(Str text, size_t at);
/* Arguments for "%.*s". */
#define STR_ARG(s) (int)(s).len, (s).data

/* The name that a misspelt one stands for: the nearest of those tried, if one is near. Of equally
 * near ones it is the first by str_cmp, in whatever order they are tried. */
typedef struct Suggestion {
    Str wanted, best; /* best: borrowed, empty if none is near */
    size_t distance;  /* of best */
} Suggestion;

void suggestion_try(Suggestion *s, Str candidate);

/* Growing text. A StrBuf owns data, which is NUL-terminated as soon as anything was added. */
typedef struct StrBuf {
    char *data;
    size_t len, cap;
} StrBuf;

/* strbuf_free gives the memory back; strbuf_clear empties the text and keeps the memory. */
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

/* A name that a file gives, with \XX for control characters, quotes and backslashes. */
void strbuf_add_escaped(StrBuf *buf, Str name);
/* The same between single quotes. */
void strbuf_add_quoted(StrBuf *buf, Str name);
/* Appends what a message shows of a text, which may be megabytes: all of it, or its two ends. */
void strbuf_add_shown(StrBuf *buf, Str text);
/* Whether a byte goes on with a character of UTF-8. */
bool str_is_inside_character(char c);
void strbuf_add_uint(StrBuf *buf, uint64_t value);
void strbuf_add_int(StrBuf *buf, int64_t value);
void strbuf_printf(StrBuf *buf, const char *fmt, ...) PRINTF_LIKE(2, 3);
void strbuf_vprintf(StrBuf *buf, const char *fmt, va_list args);
/* Adds why something failed. Returns false, for the one who says so to return. */
bool strbuf_fail(StrBuf *why, const char *fmt, ...) PRINTF_LIKE(2, 3);
Str strbuf_str(const StrBuf *buf);
/* Appends " (did you mean 'x'?)", or nothing if no name is near. */
void suggestion_print(const Suggestion *s, StrBuf *out);

/* Growable arrays of any element type. The owner frees them with vec_free; addresses of elements
 * are valid until the next vec_push or vec_reserve.
 *   VEC(int) v = {0}; *vec_push(&v) = 1; v.data[0]; v.len; vec_free(&v); */
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
/* Address of element `begin`. It may be the end of the array, and of an array without memory too,
 * because NULL is only returned and not added to. */
#define vec_from(v, begin) ((begin) ? (v)->data + (begin) : (v)->data)
#define vec_free(v) (free_ptr((void **)&(v)->data), (v)->len = (v)->cap = 0)
void free_ptr(void **ptr);

/* Hashing, and maps from pointers. Hashes of pointers differ from run to run, so no output may
 * depend on them. */

/* hash_bytes reads words in the byte order of the host; `seed` tells uses of equal bytes apart. */
uint64_t hash_bytes(const void *data, size_t len, uint64_t seed);
uint64_t hash_combine(uint64_t a, uint64_t b);
uint64_t hash_ptr(const void *ptr);

/* Open-addressing map from a pointer (or any other non-NULL word) to a pointer. Iteration over
 * entries is in insertion order, so that no output depends on addresses. Keys and values are not
 * owned. */
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

/* Checked arithmetic. False: the result would overflow, and *out is not to be used. */
bool size_mul(size_t a, size_t b, size_t *out) MUST_CHECK;
bool i64_mul(int64_t a, int64_t b, int64_t *out) MUST_CHECK;
bool i64_add(int64_t a, int64_t b, int64_t *out) MUST_CHECK;
/* The sum, or of the numbers of 64 bits the one nearest to it. */
int64_t i64_sum(int64_t a, int64_t b);
/* Quotients rounded toward minus and plus infinity. A division by zero gives false too. */
bool i64_floordiv(int64_t a, int64_t b, int64_t *out) MUST_CHECK;
bool i64_ceildiv(int64_t a, int64_t b, int64_t *out) MUST_CHECK;
/* Remainder in [0, b); requires b > 0. */
int64_t i64_mod(int64_t a, int64_t b);

/* Integers of any width as two's complement words (least significant first), for integer attributes
 * and constant folding. Bits above the width are zero in the top word. Numbers of up to 64 bits are
 * one word without allocation; the words of wider ones live in the arena that the function was
 * given. BigInts are values: no function changes its operands.
 * Tests: test/unit/ir/support/bigint_test.c */

#define BIGINT_MAX_WIDTH ((1u << 24) - 1) /* as upstream's IntegerType */

typedef struct BigInt {
    uint32_t width; /* bits, >= 0 */
    union {
        uint64_t word;   /* width <= 64 */
        uint64_t *words; /* else: in the arena that made it */
    } u;
} BigInt;

/* Words that a number of `width` bits has, and their address, which is inside *value up to 64
 * bits. */
uint32_t bigint_word_count(uint32_t width);
const uint64_t *bigint_words(const BigInt *value);
BigInt bigint_from_i64(Arena *arena, uint32_t width, int64_t value); /* truncates or sign-extends */
BigInt bigint_from_words(Arena *arena, uint32_t width, const uint64_t *words);
/* Reads decimal or 0x hexadecimal digits without a sign. False: they are malformed, or the number
 * does not fit `width` bits as an unsigned one. */
bool bigint_parse(Arena *arena, Str digits, uint32_t width, BigInt *out) MUST_CHECK;
/* Width in bits that the unsigned number written in `digits` needs (0 for zero). */
uint32_t bigint_digits_width(Str digits);
/* Appends the number, read as signed or unsigned: in decimal, or in hexadecimal if its magnitude has
 * more than 2^18 bits. */
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
/* The number in another width: truncated, or extended by its sign or by zeros. */
BigInt bigint_resize(Arena *arena, const BigInt *a, uint32_t width, bool is_signed);

/* Files that the tools read and write. Functions that can fail return false and set *reason to a
 * text that need not be freed.
 * Tests: lit/tools/output.mir, lit/tools/command-line.mir */

/* Appends the contents of a file to *out; the path "-" means standard input. */
bool file_read(StrBuf *out, const char *path, const char **reason) MUST_CHECK;
/* Replaces the contents of a file atomically: writes a temporary file beside it and renames that
 * when it is on the disk. The path "-" means standard output; a path that is not a regular file (a
 * pipe, a device) is written directly, because renaming would replace it. */
bool file_write(const char *path, Str text, const char **reason) MUST_CHECK;
/* Writes a file that is not there yet. What was written when it fails stays. */
bool file_create(const char *path, Str text, const char **reason) MUST_CHECK;
/* Wait until a file's contents, or the names of what was made, renamed and removed in a folder, are
 * on the disk. True also where the system has no such thing, and at once with MING_SYNC=0 in the
 * environment, as for all files. False: errno says why. */
bool file_sync(const char *path) MUST_CHECK;
bool file_sync_folder(const char *path) MUST_CHECK;

/* A whole input, mapped into memory where that is possible. Nobody may shorten the file meanwhile,
 * since reading beyond its end would be a bus error. input_open fills *input; the caller closes it
 * with input_close, which ends the life of text. */
typedef struct InputFile {
    Str text;
    StrBuf read;          /* owns the text if it is not mapped */
    const char *released; /* of a mapped text: memory before this place was given back */
} InputFile;
bool input_open(InputFile *input, const char *path, const char **reason) MUST_CHECK;
/* A callback for ParseOptions.passed (ir/asm/parse/parse.h). Gives back the memory of a mapped text
 * before `place`; the system reads it from the file again if it is looked at once more. */
void input_release(void *input, const char *place);
void input_close(InputFile *input);

/* Temporary files and folders. Each is removed by temporary_remove or becomes something else by
 * temporary_keep; if the process is stopped before, temporary_remove_all removes it or, after
 * SIGKILL, the next temporary_make for the same stem.
 * Tests: test/unit/ir/support/temporary_test.c, test/e2e/fault_check.py */
typedef enum TemporaryKind { TEMPORARY_FILE, TEMPORARY_FOLDER } TemporaryKind;
/* Makes STEM.PID.N.tmp, where nothing was, and opens it: a file for writing, a folder for reading.
 * *path is its name. It is in use until *fd is closed. False: errno says why. */
bool temporary_make(StrBuf *path, const char *stem, TemporaryKind kind, int *fd) MUST_CHECK;
/* To be called before a file or folder is made in a temporary folder. */
void temporary_add(const char *path);
/* What is at the path, and below it, is temporary no longer. */
void temporary_keep(const char *path);
/* Removes what is at the path, and what was added below it. errno may change. */
void temporary_remove(const char *path);
/* Removes all, for a process that ends; the list of them stays. A signal handler may call it. */
void temporary_remove_all(void);
/* Removes temporaries of this stem whose processes have ended. */
void temporary_collect(const char *stem);
/* Whether a name is ".PID.N.tmp". */
bool temporary_is_name(const char *name);

/* An output that is written piece by piece with the guarantee of file_write: nothing appears under
 * its name before output_close. */
typedef struct OutputFile {
    const char *path;
    StrBuf target;      /* the file to replace: the path, or what it links to */
    StrBuf temporary;   /* a new file's name; empty: written directly */
    int fd;             /* < 0: not yet open */
    const char *reason; /* why writing failed, or NULL */
} OutputFile;
/* Prepares *output; the file is created by the first write. `path` must outlive it. */
void output_open(OutputFile *output, const char *path);
/* A callback for TextSink.write (ir/asm/print/print.h). False: output_close will say why. */
bool output_write(void *output, Str piece) MUST_CHECK;
/* Ends the output. With keep, the temporary file takes the name; without, it is removed (what was
 * written directly stays). False: *reason says what went wrong. */
bool output_close(OutputFile *output, bool keep, const char **reason) MUST_CHECK;

/* Appends a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD. */
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
/* An object as item of an array of the outermost object, on a line of its own; ends that array. */
void json_begin_row(JsonWriter *w);
void json_end_rows(JsonWriter *w);
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

/* Parts of charts as SVG. Tests: test/unit/ir/support/svg_test.c */

/* Appends text between tags or in quotes. What XML cannot hold, or is not UTF-8, becomes U+FFFD. */
void svg_add_text(StrBuf *out, Str text);
/* The same of at most `most` characters, 3 or more; of longer ones the middle is left out. */
void svg_add_short_text(StrBuf *out, Str text, size_t most);
/* Characters of a text, of at most `most`. */
size_t svg_text_length(Str text, size_t most);
/* Appends a number that is not negative with a prefix of the SI: 1500 as "1.5k". */
void svg_add_scaled(StrBuf *out, double value);
/* The distance of an axis's ticks: the least of 1, 2 and 5 times a power of ten with which a range
 * has at most `most` (2 or more) of them. */
int64_t svg_tick_step(int64_t range, int64_t most);

/* Tables for people: words to the left, numbers to the right, columns as wide as they need.
 * Tests: lit/tools/ming-sim.mir, lit/driver/ming-compile-table.mir,
 * test/unit/ir/support/support_test.c */

/* Characters of a line that every terminal and every page of a report has room for. */
enum { TEXT_TABLE_WIDTH = 100 };

typedef struct TextTable {
    size_t columns, first_number; /* columns from number first_number on hold numbers */
    VEC(StrBuf) cells;            /* row by row */
    size_t *widths;               /* in characters, by column; made when the first row is printed */
} TextTable;

/* Adds an empty cell and returns it to be filled; the address is valid until the next cell is
 * added. */
StrBuf *text_table_cell(TextTable *table);
void text_table_add(TextTable *table, const char *text);
void text_table_add_int(TextTable *table, int64_t value);
/* Adds a count, or `-` for one that is not known (negative). */
void text_table_add_count(TextTable *table, int64_t count);
/* Characters of a row. */
size_t text_table_width(const TextTable *table);
/* Shortens the texts of a column in the middle ("block1...conv") as far as rows of `most`
 * characters need it, but not below `least` (4 or more). Texts that differ still do. To be called before a row
 * is printed. */
void text_table_narrow(TextTable *table, size_t column, size_t least, size_t most);
/* Appends row number `row` (from 0) as one line with its newline. The last row may lack cells. */
void text_table_print_row(TextTable *table, size_t row, StrBuf *out);
void text_table_print(TextTable *table, StrBuf *out);
void text_table_free(TextTable *table);

#endif
