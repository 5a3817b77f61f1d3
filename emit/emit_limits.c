/* Warnings about code that synthesis takes long for: loops unrolled more than 4,096 times, arrays
 * in more than 1,024 parts. It is emitted all the same.
 * Tests: lit/emit/limits.mir */
#include "dialects/emithls/emithls.h"
#include "emit/internal.h"
#include "ir/asm/print/print.h"

/* An array has a pragma for each dimension that is partitioned; it is noted at the first. */
static bool is_first_partition(const Op *partition)
{
    FOR_EACH_USE(use, op_operand(partition, 0)) {
        const Op *op = use->owner;
        bool is_other = op->def == EMITHLS(ARRAY_PARTITION) && op != partition;
        if (is_other && op->block == partition->block && op_is_before(op, partition)) return false;
    }
    return true;
}

static void note_copies(Op *loop, StrBuf *out)
{
    int64_t copies = emithls_body_copies(loop);
    if (copies <= EMITHLS_MAX_COPIES) return;
    strbuf_printf(out, "unrolls a loop %lld times\n", (long long)copies);
    op_warning(loop, "a loop is unrolled %lld times: synthesis may take long", (long long)copies);
}

static void note_parts(Op *partition, StrBuf *out)
{
    int64_t parts = emithls_array_parts(op_operand(partition, 0), false);
    if (parts <= EMITHLS_MAX_PARTS) return;
    strbuf_printf(out, "partitions an array into %lld parts\n", (long long)parts);
    op_warning(partition, "an array is in %lld parts: synthesis may take long", (long long)parts);
}

static bool add_note(Op *op, void *out)
{
    if (op->def == EMITHLS(FOR) && op_attr(op, EMITHLS_ATTR_UNROLL)) note_copies(op, out);
    if (op->def == EMITHLS(ARRAY_PARTITION) && is_first_partition(op)) note_parts(op, out);
    return true;
}

void emit_limit_notes(Op *func, StrBuf *out)
{
    bool done = op_walk(func, add_note, out);
    (void)done;
}
