/* Spelling of elements attributes. More than HEX_ABOVE numbers that are no splat are written as one
 * hex string, as upstream does by default; all others are written as nested lists. Writing takes
 * time linear in the number of elements and allocates only the output.
 * Tests: test/unit/ir/attr/attr_test.c, lit/ir/asm/parse/dense.mir */
#include "ir/asm/print/internal.h"
#include "ir/attr/attr.h"

enum { HEX_ABOVE = 100 };

static bool prints_unsigned(const Type *type)
{
    return type->kind == TYPE_INTEGER && type->u.integer.sign == UNSIGNED;
}

static void write_wide_int(StrBuf *out, const Type *type, const uint8_t *data)
{
    uint32_t width = type_width(type);
    uint64_t *words = xcalloc(bigint_word_count(width), sizeof *words);
    BigInt value = dense_load_int(width, data, words);
    bigint_print(out, &value, !prints_unsigned(type));
    free_ptr((void **)&words);
}

static void write_int(StrBuf *out, const Type *type, const uint8_t *data)
{
    uint32_t width = type_width(type);
    if (width == 1) {
        strbuf_add_c(out, data[0] & 1 ? "true" : "false");
        return;
    }
    if (width > 64) {
        write_wide_int(out, type, data);
        return;
    }
    uint64_t word;
    BigInt value = dense_load_int(width, data, &word);
    if (prints_unsigned(type))
        strbuf_add_uint(out, bigint_to_u64(&value));
    else
        strbuf_add_int(out, bigint_to_i64(&value));
}

static void write_number(StrBuf *out, const Type *type, const uint8_t *data)
{
    if (!type_is_float(type)) {
        write_int(out, type, data);
        return;
    }
    uint64_t words[2];
    dense_load_float(type, data, words);
    float_print_words(out, (int)type->kind, words);
}

static void write_complex(StrBuf *out, const Type *type, const uint8_t *data)
{
    const Type *part = type->u.shaped.elem;
    strbuf_add_char(out, '(');
    write_number(out, part, data);
    strbuf_add_char(out, ',');
    write_number(out, part, data + dense_elem_bytes(type) / 2);
    strbuf_add_char(out, ')');
}

static void write_number_elem(StrBuf *out, const Attr *attr, int64_t index)
{
    DenseView view = dense_view(attr);
    if (view.is_packed)
        strbuf_add_c(out, dense_view_bit(&view, index) ? "true" : "false");
    else if (view.elem->kind == TYPE_COMPLEX)
        write_complex(out, view.elem, dense_view_at(&view, index));
    else
        write_number(out, view.elem, dense_view_at(&view, index));
}

static void write_elem(StrBuf *out, const Attr *attr, int64_t index)
{
    if (attr->kind == ATTR_DENSE_STRINGS)
        write_string_escaped(out, attr->u.dense_strings.items[index]);
    else
        write_number_elem(out, attr, index);
}

/* Nested lists without recursion: before element i opens, after it closes, one bracket for every
 * trailing run of dimensions that i begins or ends. */
static void write_nested(AsmWriter *w, const Attr *attr, int64_t count)
{
    StrBuf *out = w->out;
    const Type *type = attr->type;
    uint32_t rank = type->u.shaped.rank;
    const int64_t *dims = type->u.shaped.dims;
    for (int64_t i = 0; i < count; i++) {
        int64_t run = 1;
        uint32_t opens = 0, closes = 0;
        for (uint32_t d = rank; d-- > 0;) {
            run *= dims[d];
            if (i % run == 0) opens++;
            if ((i + 1) % run == 0) closes++;
            if (i % run != 0 && (i + 1) % run != 0) break;
        }
        if (i) strbuf_add_c(out, ", ");
        while (opens-- > 0) strbuf_add_char(out, '[');
        write_elem(out, attr, i);
        while (closes-- > 0) strbuf_add_char(out, ']');
        asm_writer_pass_on(w);
    }
}

static void write_hex_string(AsmWriter *w, const Attr *attr)
{
    strbuf_add_c(w->out, "\"0x");
    write_hex(w, attr->u.dense.data, attr->u.dense.size);
    strbuf_add_char(w->out, '"');
}

void write_dense_elements(AsmWriter *w, const Attr *attr, bool allow_hex)
{
    bool is_strings = attr->kind == ATTR_DENSE_STRINGS;
    bool is_splat = is_strings ? attr->u.dense_strings.is_splat : attr->u.dense.is_splat;
    int64_t count = dense_count(attr);
    if (is_splat)
        write_elem(w->out, attr, 0);
    else if (!is_strings && allow_hex && count > HEX_ABOVE)
        write_hex_string(w, attr);
    else
        write_nested(w, attr, count);
}

void write_dense_array_elements(AsmWriter *w, const Attr *attr)
{
    const Type *elem = attr->u.dense_array.elem;
    size_t bytes = dense_array_elem_bytes(elem);
    for (size_t i = 0; i < attr->u.dense_array.count; i++) {
        if (i) strbuf_add_c(w->out, ", ");
        write_number(w->out, elem, attr->u.dense_array.data + i * bytes);
        asm_writer_pass_on(w);
    }
}
