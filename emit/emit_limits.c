/* What a synthesis will take long for: loops unrolled more than 4,096 times, arrays in more than
 * 1,024 parts. They are emitted, but not in silence. Tests: lit/emit/limits.mir */
#include "dialects/emithls/emithls.h"
#include "emit/internal.h"
#include "ir/asm/print/print.h"

enum { MAX_COPIES = 4096, MAX_PARTS = 1024, MAX_LOOPS = 16 };

/* Iterations of a loop nest. */
static int64_t iterations(const Op *loop)
{
    int64_t extents[MAX_LOOPS], product = 1;
    size_t count = emithls_for_extents(loop, extents, MAX_LOOPS);
    for (size_t i = 0; i < count; i++) product *= extents[i];
    return product;
}

/* Copies of an unrolled loop's body, those of the unrolled loops around it included. */
static int64_t copies(const Op *loop)
{
    int64_t product = 1;
    for (const Op *op = loop; op && op->def != EMITHLS(FUNC); op = op_parent(op))
        if (op->def == EMITHLS(FOR) && op_attr(op, EMITHLS_ATTR_UNROLL)) product *= iterations(op);
    return product;
}

/* Parts of an array, or 0 if `partition` is not its first pragma of that kind. */
static int64_t parts(const Op *partition)
{
    const Value *array = op_operand(partition, 0);
    int64_t product = 1;
    FOR_EACH_USE(use, array) {
        const Op *op = use->owner;
        if (op->def != EMITHLS(ARRAY_PARTITION)) continue;
        if (op != partition && op_is_before(op, partition)) return 0;
        int64_t dim = attr_int_value(op_attr(op, "dim"));
        product *= emithls_array_dim(array->type, (uint32_t)dim - 1);
    }
    return product;
}

static bool add_note(Op *op, void *user)
{
    StrBuf *out = user;
    if (op->def == EMITHLS(FOR) && op_attr(op, EMITHLS_ATTR_UNROLL) && copies(op) > MAX_COPIES) {
        strbuf_printf(out, "unrolls a loop %lld times\n", (long long)copies(op));
        op_warning(op, "a loop is unrolled %lld times: synthesis may take long",
                   (long long)copies(op));
    }
    if (op->def == EMITHLS(ARRAY_PARTITION) && parts(op) > MAX_PARTS) {
        strbuf_printf(out, "partitions an array into %lld parts\n", (long long)parts(op));
        op_warning(op, "an array is in %lld parts: synthesis may take long", (long long)parts(op));
    }
    return true;
}

void emit_limit_notes(Op *func, StrBuf *out)
{
    bool done = op_walk(func, add_note, out);
    (void)done;
}
