/* Reads and writes .npy files.
 *   file   := "\x93NUMPY" major minor length header data
 *   header := '{' [entry {',' entry} [',']] '}'      entry := string ':' value
 *   value  := string | 'True' | 'False' | '(' [number {',' number} [',']] ')'
 * The length has 2 bytes in version 1, else 4. The dictionary has three keys, in any order.
 * Tests: test/unit/sim/io/npy_test.c */
#include <assert.h>
#include <string.h>

#include "ir/attr/attr.h"
#include "ir/support/support.h"
#include "sim/io/io.h"

static const char MAGIC[] = "\x93NUMPY";
enum { MAGIC_SIZE = 6, ALIGNMENT = 64, FIRST_DIM_ROOM = 21 };

/* Bytes of the elements; *count their number. */
static bool size_of(const int64_t *dims, uint32_t rank, uint32_t item, int64_t *count, size_t *size)
{
    *count = 1;
    for (uint32_t i = 0; i < rank; i++)
        if (dims[i] == 0) *count = 0;
    for (uint32_t i = 0; i<rank && * count> 0; i++)
        if (!i64_mul(*count, dims[i], count)) return false;
    return size_mul((size_t)*count, item, size) && *size <= PTRDIFF_MAX;
}

bool npy_init(Npy *npy, char kind, uint32_t item, const int64_t *dims, uint32_t rank)
{
    size_t size;
    assert(rank <= NPY_MAX_RANK);
    *npy = (Npy){.kind = kind, .item = item, .rank = rank};
    if (rank > 0) memcpy(npy->dims, dims, rank * sizeof *dims);
    if (!size_of(npy->dims, rank, item, &npy->count, &size)) return false;
    npy->data = xcalloc(size, 1);
    return true;
}

void npy_free(Npy *npy)
{
    free_ptr((void **)&npy->data);
}

static uint64_t load_bits(const Npy *npy, int64_t index)
{
    const uint8_t *at = npy->data + (size_t)index * npy->item;
    uint64_t bits = 0;
    for (uint32_t i = 0; i < npy->item; i++) bits |= (uint64_t)at[i] << (8 * i);
    return bits;
}

static void store_bits(Npy *npy, int64_t index, uint64_t bits)
{
    uint8_t *at = npy->data + (size_t)index * npy->item;
    for (uint32_t i = 0; i < npy->item; i++) at[i] = (uint8_t)(bits >> (8 * i));
}

static int float_kind(const Npy *npy)
{
    return npy->item == 8 ? TYPE_F64 : npy->item == 4 ? TYPE_F32 : TYPE_F16;
}

int64_t npy_get_i64(const Npy *npy, int64_t index)
{
    uint64_t bits = load_bits(npy, index);
    uint32_t spare = 64 - 8 * npy->item;
    assert(npy->kind != 'f');
    if (npy->kind == 'b') return bits != 0;
    return npy->kind == 'i' ? (int64_t)(bits << spare) >> spare : (int64_t)bits;
}

double npy_get_f64(const Npy *npy, int64_t index)
{
    if (npy->kind == 'f') return float_from_bits(float_kind(npy), load_bits(npy, index));
    if (npy->kind == 'u') return (double)load_bits(npy, index);
    return (double)npy_get_i64(npy, index);
}

void npy_set_i64(Npy *npy, int64_t index, int64_t value)
{
    assert(npy->kind != 'f');
    store_bits(npy, index, (uint64_t)value);
}

void npy_set_f64(Npy *npy, int64_t index, double value)
{
    assert(npy->kind == 'f');
    store_bits(npy, index, float_to_bits(float_kind(npy), value));
}

typedef struct Header {
    const char *at, *end;
    StrBuf *why;
    Npy *npy;
    bool is_fortran;
    bool has_descr, has_order, has_shape;
} Header;

static bool malformed(Header *h, const char *what)
{
    return strbuf_fail(h->why, "malformed header: %s", what);
}

/* The next character after blanks; NUL at the end. */
static char peek(Header *h)
{
    while (h->at < h->end && strchr(" \t\r\n", *h->at) && *h->at) h->at++;
    return h->at < h->end ? *h->at : '\0';
}

static bool accept(Header *h, char c)
{
    if (peek(h) != c || h->at == h->end) return false;
    h->at++;
    return true;
}

static bool parse_string(Header *h, Str *out)
{
    char quote = peek(h);
    if (quote != '\'' && quote != '"') return malformed(h, "a string expected");
    const char *begin = ++h->at, *end = memchr(begin, quote, (size_t)(h->end - begin));
    if (!end) return malformed(h, "a string without end");
    *out = (Str){begin, (size_t)(end - begin)};
    h->at = end + 1;
    return true;
}

static bool parse_bool(Header *h, bool *out)
{
    *out = peek(h) == 'T';
    Str word = *out ? STR("True") : STR("False");
    if ((size_t)(h->end - h->at) < word.len || memcmp(h->at, word.data, word.len) != 0)
        return malformed(h, "True or False expected");
    h->at += word.len;
    return true;
}

static bool parse_number(Header *h, int64_t *out)
{
    char c = peek(h);
    if (c < '0' || c > '9') return malformed(h, "a non-negative number expected");
    for (*out = 0; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++)
        if (!i64_mul(*out, 10, out) || !i64_add(*out, *h->at - '0', out))
            return strbuf_fail(h->why, "the shape has a dimension beyond 63 bits");
    return true;
}

static bool parse_shape(Header *h)
{
    Npy *npy = h->npy;
    if (!accept(h, '(')) return malformed(h, "'(' expected");
    while (!accept(h, ')')) {
        if (npy->rank == NPY_MAX_RANK)
            return strbuf_fail(h->why, "the shape has more than %d dimensions", NPY_MAX_RANK);
        if (!parse_number(h, &npy->dims[npy->rank++])) return false;
        if (!accept(h, ',') && (npy->rank == 1 || peek(h) != ')'))
            return malformed(h, "the shape is not a tuple");
    }
    return true;
}

/* A dtype such as "<f4" or "|b1". */
static bool parse_descr(Header *h)
{
    Str text;
    if (peek(h) == '[') return strbuf_fail(h->why, "structured types are not supported");
    if (!parse_string(h, &text)) return false;
    bool has_form = text.len == 3 && strchr("<>|=", text.data[0]) && text.data[0] && text.data[2];
    char kind = has_form ? text.data[1] : '?', size = has_form ? text.data[2] : '?';
    bool known = (kind == 'b' && size == '1') ||
                 ((kind == 'i' || kind == 'u') && strchr("1248", size)) ||
                 (kind == 'f' && strchr("248", size));
    if (known && text.data[0] == '>' && size != '1')
        return strbuf_fail(h->why, "big-endian elements ('%.*s') are not supported", STR_ARG(text));
    if (!known || (text.data[0] == '|' && size != '1'))
        return strbuf_fail(h->why, "elements of type '%.*s' are not supported", STR_ARG(text));
    h->npy->kind = kind;
    h->npy->item = (uint32_t)(size - '0');
    return true;
}

static bool parse_entry(Header *h)
{
    Str key;
    if (!parse_string(h, &key)) return false;
    bool *seen = str_eq_c(key, "descr")           ? &h->has_descr
                 : str_eq_c(key, "fortran_order") ? &h->has_order
                 : str_eq_c(key, "shape")         ? &h->has_shape
                                                  : NULL;
    if (!seen) return malformed(h, "unknown key");
    if (*seen) return malformed(h, "a key is repeated");
    *seen = true;
    if (!accept(h, ':')) return malformed(h, "':' expected");
    if (seen == &h->has_descr) return parse_descr(h);
    return seen == &h->has_order ? parse_bool(h, &h->is_fortran) : parse_shape(h);
}

static bool parse_header(Header *h)
{
    if (!accept(h, '{')) return malformed(h, "'{' expected");
    while (!accept(h, '}')) {
        if (!parse_entry(h)) return false;
        if (!accept(h, ',') && peek(h) != '}') return malformed(h, "',' or '}' expected");
    }
    peek(h);
    if (h->at != h->end) return malformed(h, "text after the dictionary");
    if (!h->has_descr || !h->has_order || !h->has_shape)
        return malformed(h, "'descr', 'fortran_order' or 'shape' is missing");
    return true;
}

/* From first index fastest to last index fastest. */
static void copy_transposed(Npy *npy, const uint8_t *from)
{
    size_t strides[NPY_MAX_RANK], at = 0, stride = npy->item;
    int64_t index[NPY_MAX_RANK] = {0};
    for (uint32_t i = 0; i < npy->rank; i++) {
        strides[i] = stride;
        stride *= (size_t)npy->dims[i];
    }
    for (int64_t n = 0; n < npy->count; n++) {
        memcpy(npy->data + (size_t)n * npy->item, from + at, npy->item);
        for (uint32_t d = npy->rank; d-- > 0;) {
            at += strides[d];
            if (++index[d] < npy->dims[d]) break;
            at -= strides[d] * (size_t)npy->dims[d];
            index[d] = 0;
        }
    }
}

/* The header's text and what follows it. */
static bool split(Str bytes, Str *header, Str *data, StrBuf *why)
{
    const uint8_t *at = (const uint8_t *)bytes.data;
    if (bytes.len < MAGIC_SIZE + 2 || memcmp(at, MAGIC, MAGIC_SIZE) != 0)
        return strbuf_fail(why, "not a .npy file");
    uint8_t major = at[MAGIC_SIZE], minor = at[MAGIC_SIZE + 1];
    if (major < 1 || major > 3 || minor != 0)
        return strbuf_fail(why, "version %u.%u of .npy is not supported", major, minor);
    size_t width = major == 1 ? 2 : 4, begin = MAGIC_SIZE + 2 + width, length = 0;
    for (size_t i = 0; i < width && begin <= bytes.len; i++)
        length |= (size_t)at[MAGIC_SIZE + 2 + i] << (8 * i);
    if (bytes.len < begin || bytes.len - begin < length)
        return strbuf_fail(why, "the file is truncated");
    *header = (Str){bytes.data + begin, length};
    *data = (Str){bytes.data + begin + length, bytes.len - begin - length};
    return true;
}

bool npy_parse(Str bytes, Npy *out, StrBuf *why)
{
    Str text = {0}, data = {0};
    size_t size;
    Header header = {.why = why, .npy = out};
    *out = (Npy){0};
    if (!split(bytes, &text, &data, why)) return false;
    header.at = text.data;
    header.end = text.data + text.len;
    if (!parse_header(&header)) return false;
    if (!size_of(out->dims, out->rank, out->item, &out->count, &size))
        return strbuf_fail(why, "the shape has more elements than memory can hold");
    if (size != data.len)
        return strbuf_fail(why, "the shape needs %zu bytes of data, the file has %zu", size,
                           data.len);
    out->data = xmalloc(size);
    if (header.is_fortran && out->rank > 1)
        copy_transposed(out, (const uint8_t *)data.data);
    else
        memcpy(out->data, data.data, size);
    return true;
}

/* The dictionary, with room for the first dimension to grow to 21 digits as numpy leaves it. */
static void add_dictionary(const Npy *npy, StrBuf *out)
{
    strbuf_printf(out, "{'descr': '%c%c%u', 'fortran_order': False, 'shape': (",
                  npy->item == 1 ? '|' : '<', npy->kind, npy->item);
    size_t digits = 0;
    for (uint32_t i = 0; i < npy->rank; i++) {
        strbuf_add_c(out, i == 0 ? "" : ", ");
        size_t before = out->len;
        strbuf_add_int(out, npy->dims[i]);
        digits = i == 0 ? out->len - before : digits;
    }
    strbuf_add_c(out, npy->rank == 1 ? ",), }" : "), }");
    for (; npy->rank > 0 && digits < FIRST_DIM_ROOM; digits++) strbuf_add_char(out, ' ');
}

void npy_print(const Npy *npy, StrBuf *out)
{
    StrBuf header = {0};
    add_dictionary(npy, &header);
    size_t prefix = MAGIC_SIZE + 4;
    size_t blanks = ALIGNMENT - (prefix + header.len + 1) % ALIGNMENT;
    for (size_t i = 0; i < blanks; i++) strbuf_add_char(&header, ' ');
    strbuf_add_char(&header, '\n');
    strbuf_add(out, MAGIC, MAGIC_SIZE);
    strbuf_add(out, "\1", 2);
    strbuf_add_char(out, (char)(header.len & 255));
    strbuf_add_char(out, (char)(header.len >> 8));
    strbuf_add_str(out, strbuf_str(&header));
    strbuf_add(out, (const char *)npy->data, (size_t)npy->count * npy->item);
    strbuf_free(&header);
}
