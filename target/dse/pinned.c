/* Pinned words: what a process was given beforehand as dfg.words, one list per port. Of its
 * configurations only those with these words are kept.
 * Tests: lit/target/dse/folding.test, lit/target/dse/folding-invalid.test */
#include "dialects/dfg/dfg.h"
#include "ir/asm/print/print.h"
#include "target/dse/internal.h"

bool dse_has_given_words(const Op *process)
{
    return op_attr(process, DFG_ATTR_WORDS) != NULL;
}

const Type *dse_given_end(const Op *process, uint32_t port)
{
    const Attr *lists = op_attr(process, DFG_ATTR_WORDS);
    const Type *end = dfg_port(process, port)->type, *frame = dfg_payload(end);
    int64_t word[2 * DFG_MAX_RANK];
    size_t count;
    if (lists->kind != ATTR_ARRAY || lists->u.array.count <= port ||
        !attr_int_list(lists->u.array.items[port], word, COUNT_OF(word), &count) ||
        count != frame->u.shaped.rank) {
        op_error(process, "has words for port %u that are not one number per dimension", port);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        if (word[i] < 1 || frame->u.shaped.dims[i] % word[i] != 0) {
            op_error(process,
                     "has words for port %u that hold %lld of the %lld elements of "
                     "dimension %zu",
                     port, (long long)word[i], (long long)frame->u.shaped.dims[i], i);
            return NULL;
        }
    return dfg_end_type(end->u.dialect.def, frame, word);
}

bool dse_keep_given_words(DseSpace *space, DseNode *node)
{
    size_t kept = 0;
    for (uint32_t port = 0; port < node->port_count; port++) {
        const Type *end = dse_given_end(node->process, port);
        if (!end) return false;
        int64_t word = dse_word(space, end);
        kept = 0;
        for (size_t i = 0; i < node->configs.len; i++)
            if (node->configs.data[i].word[port] == word)
                node->configs.data[kept++] = node->configs.data[i];
        node->configs.len = kept;
    }
    if (kept > 0) return true;
    op_error(node->process, "has no configuration with the words that are given");
    if (node->port_bits > 0)
        op_note(node->process, "words at the boundary are at most %lld bits of a DMA's beat",
                (long long)node->port_bits);
    return false;
}
