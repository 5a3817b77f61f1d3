/* <top>_weights.npy: the words of all loaded tables in the order of the module, as the port of
 * weights takes them.
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

static void add_words(StrBuf *out, const Op *table, uint32_t bytes)
{
    for (int64_t i = 0, count = emithls_loaded_words(table); i < count; i++) {
        uint64_t word = (uint64_t)emithls_loaded_word(table, i);
        char text[8];
        for (uint32_t b = 0; b < bytes; b++) text[b] = (char)(word >> (8 * b) & 0xff);
        strbuf_add(out, text, bytes);
    }
}

bool emit_weights(Emitter *e, StrBuf *out)
{
    uint32_t bytes = type_width(e->weights->word) / 8;
    size_t size;
    if (!size_mul((size_t)e->weights->words_per_frame, bytes, &size)) size = SIZE_MAX;
    if (!emit_has_room(&e->budget, e->top, size)) return false;
    add_npy_header(out, e->weights->words_per_frame, bytes);
    FOR_EACH_OP(op, region_entry(op_region(e->module, 0)))
        if (op->def == EMITHLS(TABLE) && op_attr(op, EMITHLS_ATTR_LOADED))
            add_words(out, op, bytes);
    return true;
}
