/* <top>_weights.npy: the elements of all loaded tables in the order of the module, as the words of
 * the weights' port.
 * Tests: lit/passes/dfg/load-weights.mir, test/e2e */
#include "dialects/emithls/emithls.h"
#include "emit/internal.h"

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

static void add_elements(StrBuf *out, const Attr *value, uint32_t bytes)
{
    int64_t count = 0;
    bool ok = type_element_count(value->type, &count);
    enum { ROW = 256 };
    int64_t row[ROW];
    char words[8 * ROW];
    for (int64_t begin = 0; ok && begin < count; begin += ROW) {
        int64_t size = i64_min(count - begin, ROW);
        dense_i64_row(value, begin, (size_t)size, row);
        for (int64_t i = 0; i < size; i++)
            for (uint32_t b = 0; b < bytes; b++)
                words[i * bytes + b] = (char)((uint64_t)row[i] >> (8 * b) & 0xff);
        strbuf_add(out, words, (size_t)size * bytes);
    }
}

void emit_weights(Emitter *e, StrBuf *out)
{
    uint32_t bytes = type_width(e->weights->word) / 8;
    add_npy_header(out, e->weights->words_per_frame, bytes);
    FOR_EACH_OP(op, region_entry(op_region(e->module, 0)))
        if (op->def == EMITHLS(TABLE) && op_attr(op, EMITHLS_ATTR_LOADED))
            add_elements(out, op_attr(op, "value"), bytes);
}
