/* <top>_params.h: the module's tables as constant arrays, read as signed integers; and
 * <top>_weights.npy: the words of all loaded tables in the order of the module. Time and memory
 * are linear in the elements.
 * Tests: lit/emit/params.mir */
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "emit/internal.h"
#include "ir/core/core.h"

enum { MAX_COLUMN = 100, INDENT = 4, MAX_ROW = 10 };

/* One table being printed. */
typedef struct TableWriter {
    const TextBudget *budget;
    const Op *table;
    StrBuf *out;
    const Attr *value;
    TableForm form;
    int64_t row;       /* elements of the last dimension, for packed tables */
    StrBuf element;    /* text of the next element */
    size_t line_start; /* in out */
    int64_t next;      /* element to print */
    int depth;
    uint32_t needs; /* EMIT_NEEDS_* of what was printed */
} TableWriter;

static void new_line(TableWriter *w)
{
    strbuf_add_char(w->out, '\n');
    w->line_start = w->out->len;
    for (int i = 0; i < w->depth * INDENT; i++) strbuf_add_char(w->out, ' ');
}

/* An integer beyond 64 bits has no literal. */
static void add_wide(TableWriter *w, int64_t index)
{
    const Attr *value = dense_elem(w->value, index);
    strbuf_printf(&w->element, "%s(\"", w->form.elem);
    bigint_print(&w->element, &value->u.integer, true);
    strbuf_add_c(&w->element, "\", 10)");
}

/* The low bits hold the first element; bits that a row does not fill are 0. */
static void add_packed(TableWriter *w, int64_t index)
{
    uint32_t width = type_width(type_elem(w->value->type));
    int64_t words = (w->row + w->form.per_word - 1) / w->form.per_word;
    int64_t first = index % words * w->form.per_word, base = index / words * w->row;
    uint64_t word = 0, mask = ((uint64_t)1 << width) - 1;
    for (int64_t i = 0; i < w->form.per_word && first + i < w->row; i++)
        word |= ((uint64_t)dense_i64(w->value, base + first + i) & mask) << (i * width);
    strbuf_printf(&w->element, "0x%016llx", (unsigned long long)word);
}

/* The digits of a word of bits, the highest first. */
static void add_bits(TableWriter *w, int64_t index)
{
    int64_t first = index * w->form.bits;
    for (int64_t digit = (w->form.bits - 1) / 4; digit >= 0; digit--) {
        unsigned value = 0;
        for (int64_t i = 4 * digit; i < i64_min(4 * digit + 4, w->form.bits); i++)
            value |= (unsigned)(dense_i64(w->value, first + i) & 1) << (i - 4 * digit);
        strbuf_printf(&w->element, "%x", value);
    }
}

static void add_word(TableWriter *w, int64_t index)
{
    if (w->form.is_exact)
        strbuf_printf(&w->element, "%s(\"", w->form.elem);
    else
        strbuf_add_c(&w->element, "0x");
    add_bits(w, index);
    if (w->form.is_exact) strbuf_add_c(&w->element, "\", 16)");
}

static void format_element(TableWriter *w, int64_t index)
{
    const Type *elem = type_elem(w->value->type);
    strbuf_clear(&w->element);
    if (w->form.bits > 0) {
        add_word(w, index);
    } else if (w->form.per_word > 1) {
        add_packed(w, index);
    } else if (type_is_float(elem)) {
        w->needs |=
            emit_float_literal(&w->element, dense_f64(w->value, index), elem->kind == TYPE_F32);
    } else if (type_width(elem) > 64) {
        add_wide(w, index);
    } else {
        int64_t value = dense_i64(w->value, index);
        if (value == INT64_MIN)
            strbuf_add_c(&w->element, "-9223372036854775807LL - 1");
        else
            strbuf_add_int(&w->element, type_width(elem) == 1 ? value & 1 : value);
    }
}

/* 1, 2, 3 over as many lines as it takes; those after the first begin with `margin`. False:
 * diagnosed. */
static bool add_elements(TableWriter *w, int64_t count, const char *margin)
{
    for (int64_t i = 0; i < count; i++) {
        format_element(w, w->next++);
        bool fits = w->out->len - w->line_start + w->element.len + 3 < MAX_COLUMN;
        if (i && fits) {
            strbuf_add_c(w->out, ", ");
        } else if (i) {
            if (!emit_has_room(w->budget, w->table, w->out->len)) return false;
            strbuf_add_char(w->out, ',');
            new_line(w);
            strbuf_add_c(w->out, margin);
        }
        strbuf_add(w->out, w->element.data, w->element.len);
    }
    return emit_has_room(w->budget, w->table, w->out->len);
}

/* {1, 2, 3} */
static bool add_row(TableWriter *w, int64_t count)
{
    strbuf_add_char(w->out, '{');
    if (!add_elements(w, count, " ")) return false;
    strbuf_add_char(w->out, '}');
    return true;
}

/* A long list on lines of its own. */
static bool add_list(TableWriter *w, int64_t count)
{
    strbuf_add_char(w->out, '{');
    w->depth++;
    new_line(w);
    if (!add_elements(w, count, "")) return false;
    w->depth--;
    strbuf_add_char(w->out, ',');
    new_line(w);
    strbuf_add_char(w->out, '}');
    return true;
}

static bool add_box(TableWriter *w, const int64_t *dims, uint32_t rank)
{
    if (rank == 1) return add_row(w, dims[0]);
    strbuf_add_char(w->out, '{');
    w->depth++;
    for (int64_t i = 0; i < dims[0]; i++) {
        new_line(w);
        if (!add_box(w, dims + 1, rank - 1)) return false;
        strbuf_add_char(w->out, ',');
    }
    w->depth--;
    new_line(w);
    strbuf_add_char(w->out, '}');
    return true;
}

static void add_doc(StrBuf *out, const Op *table)
{
    const Attr *doc = op_attr(table, EMITHLS_ATTR_DOC);
    if (!doc) return;
    strbuf_add_c(out, "// ");
    emit_comment_text(out, doc->u.string);
    strbuf_add_char(out, '\n');
}

/* Extents of the C++ array: words in the last dimension of a packed table. */
static void add_table_extents(StrBuf *out, const int64_t *dims, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++) strbuf_printf(out, "[%lld]", (long long)dims[i]);
}

/* Whether a digit and a separator of each element would fit, so that what cannot is refused before
 * its text is made. */
static bool may_fit(const TableWriter *w, const int64_t *dims, uint32_t rank)
{
    size_t bytes = 2;
    for (uint32_t i = 0; i < rank; i++)
        if (!size_mul(bytes, (size_t)dims[i], &bytes)) bytes = SIZE_MAX;
    return emit_has_room(w->budget, w->table, bytes);
}

/* The value behind "=". */
static bool add_value(TableWriter *w, const int64_t *dims, uint32_t rank)
{
    if (!may_fit(w, dims, rank)) return false;
    if (rank == 0) return add_elements(w, 1, "");
    return rank == 1 && dims[0] > MAX_ROW ? add_list(w, dims[0]) : add_box(w, dims, rank);
}

/* Adds what its text needs to *needs. False: diagnosed. */
static bool emit_table(Emitter *e, StrBuf *out, const Op *table, uint32_t *needs)
{
    const Attr *value = op_attr(table, "value");
    uint32_t rank = value->type->u.shaped.rank;
    TableWriter w = {.budget = &e->budget,
                     .table = table,
                     .out = out,
                     .value = value,
                     .form = emit_table_form(e, table)};
    int64_t *dims = ARENA_ARRAY(&e->arena, int64_t, rank + 1);
    for (uint32_t i = 0; i < rank; i++) dims[i] = value->type->u.shaped.dims[i];
    if (w.form.bits > 0) rank--;
    if (w.form.per_word > 1) {
        w.needs |= EMIT_NEEDS_PACKED;
        w.row = dims[rank - 1];
        dims[rank - 1] = (w.row + w.form.per_word - 1) / w.form.per_word;
    }
    add_doc(out, table);
    w.line_start = out->len;
    strbuf_printf(out, "static const %s %s", w.form.elem, cpp_global(e, symbol_name(table)));
    add_table_extents(out, dims, rank);
    strbuf_add_c(out, " = ");
    bool ok = add_value(&w, dims, rank);
    strbuf_add_c(out, ";\n\n");
    strbuf_free(&w.element);
    *needs |= w.needs;
    return ok;
}

static void add_packed_helper(StrBuf *out)
{
    strbuf_add_c(
        out,
        "// Element `index` of integers of BITS bits that fill 64-bit words from the low bits up.\n"
        "template <int BITS, int WORDS>\n"
        "static inline ap_int<BITS> packed(const std::uint64_t (&words)[WORDS], int index)\n"
        "{\n"
        "#pragma HLS inline\n"
        "    const int per_word = 64 / BITS;\n"
        "    return words[index / per_word] >> (index % per_word * BITS);\n"
        "}\n\n");
}

/* A tree of the shape that sched_popcount_low_half gives. */
static void add_popcount_helper(StrBuf *out)
{
    strbuf_add_c(
        out, "// How many of N bits are 1. In synthesis a tree: three bits are a sum and a carry, "
             "a LUT\n"
             "// each with the products in front; counts of two parts are added.\n"
             "template <int N>\n"
             "struct BitLength {\n"
             "    static const int VALUE = 1 + BitLength<N / 2>::VALUE;\n"
             "};\n"
             "template <>\n"
             "struct BitLength<0> {\n"
             "    static const int VALUE = 0;\n"
             "};\n"
             "template <int N>\n"
             "struct Popcount {\n"
             "    static ap_uint<BitLength<N>::VALUE> of(const ap_uint<N> &bits)\n"
             "    {\n"
             "#pragma HLS inline\n"
             "        const int split = (N + 2) / 3 / 2 * 3;\n"
             "        const ap_uint<split> low = bits.range(split - 1, 0);\n"
             "        const ap_uint<N - split> high = bits.range(N - 1, split);\n"
             "        return Popcount<split>::of(low) + Popcount<N - split>::of(high);\n"
             "    }\n"
             "};\n"
             "template <>\n"
             "struct Popcount<3> {\n"
             "    static ap_uint<2> of(const ap_uint<3> &bits)\n"
             "    {\n"
             "#pragma HLS inline\n"
             "        const bool a = bits[0], b = bits[1], c = bits[2];\n"
             "        ap_uint<2> count;\n"
             "        count[0] = (a != b) != c;\n"
             "        count[1] = (a && b) || (a && c) || (b && c);\n"
             "        return count;\n"
             "    }\n"
             "};\n"
             "template <>\n"
             "struct Popcount<2> {\n"
             "    static ap_uint<2> of(const ap_uint<2> &bits)\n"
             "    {\n"
             "        return Popcount<3>::of(bits);\n"
             "    }\n"
             "};\n"
             "template <>\n"
             "struct Popcount<1> {\n"
             "    static ap_uint<1> of(const ap_uint<1> &bits)\n"
             "    {\n"
             "        return bits;\n"
             "    }\n"
             "};\n"
             "template <int N>\n"
             "static inline ap_uint<BitLength<N>::VALUE> popcount(const ap_uint<N> &bits)\n"
             "{\n"
             "#pragma HLS inline\n"
             "#if defined(__SYNTHESIS__)\n"
             "    return Popcount<N>::of(bits);\n"
             "#else\n"
             "    int count = 0;\n"
             "    for (int i = 0; i < N; i += 64) {\n"
             "        const ap_uint<64> part = bits.range(i + 63 < N ? i + 63 : N - 1, i);\n"
             "        count += __builtin_popcountll(part.to_uint64());\n"
             "    }\n"
             "    return count;\n"
             "#endif\n"
             "}\n\n");
}

bool emit_params(Emitter *e, StrBuf *out)
{
    StrBuf tables = {0};
    uint32_t needs = 0;
    bool ok = true;
    FOR_EACH_OP(op, region_entry(op_region(e->module, 0)))
        if (ok && op->def == EMITHLS(TABLE) && !op_attr(op, EMITHLS_ATTR_LOADED))
            ok = emit_table(e, &tables, op, &needs);
    strbuf_printf(out, "// Constants of %s.\n", e->top_name);
    emit_begin_guard(e, out, "_PARAMS_H");
    strbuf_printf(out, "#include \"%s.h\"\n\n#include <cstdint>\n", e->top_name);
    if (needs & EMIT_NEEDS_LIMITS) strbuf_add_c(out, "#include <limits>\n");
    strbuf_add_char(out, '\n');
    if (needs & EMIT_NEEDS_PACKED) add_packed_helper(out);
    if (e->needs & EMIT_NEEDS_POPCOUNT) add_popcount_helper(out);
    if (tables.len) strbuf_add_c(out, "// clang-format off\n\n");
    strbuf_add(out, tables.data ? tables.data : "", tables.len);
    if (tables.len) strbuf_add_c(out, "// clang-format on\n\n");
    strbuf_add_c(out, "#endif\n");
    strbuf_free(&tables);
    return ok;
}

enum { NPY_ALIGN = 64, NPY_PREFIX = 10 };

/* Magic, version 1.0, length of the dictionary, the dictionary padded with blanks. */
static void add_npy_header(StrBuf *out, int64_t count, uint32_t bytes)
{
    StrBuf dict = {0};
    strbuf_printf(&dict, "{'descr': '%ci%u', 'fortran_order': False, 'shape': (%lld,), }",
                  bytes == 1 ? '|' : '<', bytes, (long long)count);
    while ((NPY_PREFIX + dict.len + 1) % NPY_ALIGN) strbuf_add_char(&dict, ' ');
    strbuf_add_char(&dict, '\n');
    strbuf_add(out, "\x93NUMPY\x01\x00", 8);
    strbuf_add_char(out, (char)(dict.len & 0xff));
    strbuf_add_char(out, (char)(dict.len >> 8));
    strbuf_add_str(out, strbuf_str(&dict));
    strbuf_free(&dict);
}

static void add_words(StrBuf *out, const Op *table, uint32_t bytes)
{
    const int64_t units = emithls_loaded_units(table);
    for (int64_t i = 0, count = emithls_loaded_words(table) * units; i < count; i++) {
        uint64_t word = (uint64_t)emithls_loaded_word(table, i / units, i % units);
        char text[8];
        for (uint32_t b = 0; b < bytes; b++) text[b] = (char)(word >> (8 * b) & 0xff);
        strbuf_add(out, text, bytes);
    }
}

/* A kernel on a card has the file of its port, and so has a memory, as hosts know it by name; what sends
 * words to a stream does not know the port's name. */
void emit_weights_path(const Emitter *e, size_t port, StrBuf *out)
{
    const Attr *attrs = op_attr(e->top, DFG_ATTR_PORT_ATTRS)->u.array.items[port];
    bool on_cards = op_attr(e->module, SYS_ATTR_CARDS);
    bool is_one =
        !on_cards && !e->ports.data[port].bus && !attr_dict_get_c(attrs, EMITHLS_ATTR_PORT_CHAIN);
    strbuf_printf(out, "%s%s_%s.npy", on_cards ? "kernels/" : "", e->top_name,
                  is_one ? "weights" : e->ports.data[port].name);
}

bool emit_weights(Emitter *e, size_t port, StrBuf *out)
{
    const EmitPort *of = &e->ports.data[port];
    const Attr *attrs = op_attr(e->top, DFG_ATTR_PORT_ATTRS)->u.array.items[port];
    uint32_t bytes = type_width(emithls_scalar(of->word)) / 8;
    int64_t count = of->words_per_frame * emithls_lanes(of->word);
    size_t size;
    if (!size_mul((size_t)count, bytes, &size)) size = SIZE_MAX;
    if (!emit_has_room(&e->budget, e->top, size)) return false;
    add_npy_header(out, count, bytes);
    FOR_EACH_OP(op, region_entry(op_region(e->module, 0)))
        if (emithls_is_loaded_by(op, attrs)) add_words(out, op, bytes);
    return true;
}
