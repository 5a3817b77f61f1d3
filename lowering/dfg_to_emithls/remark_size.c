/* Remarks about functions that synthesis will hardly cope with: loops that unroll into very many
 * copies of their body, arrays that are split into very many registers. The search of unroll
 * factors avoids both, but factors given by hand, very wide elements and very large windows can
 * still lead there.
 * Tests: lit/lowering/dfg_to_emithls/remark-size.mir */
#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "lowering/dfg_to_emithls/internal.h"

static Str name_of(const Op *op)
{
    const Attr *name = op_attr(op, "name");
    return name ? name->u.string : STR("");
}

static void remark_copies(const Op *loop, const Op *func)
{
    Str name = name_of(loop);
    int64_t copies = emithls_body_copies(loop);
    if (copies > EMITHLS_MAX_COPIES)
        op_remark(func,
                  "unrolls loop '%.*s' into %lld copies; synthesis rarely copes with more than %d",
                  STR_ARG(name), (long long)copies, EMITHLS_MAX_COPIES);
}

static void remark_parts(const Op *variable, const Op *func)
{
    Str name = name_of(variable);
    int64_t parts = emithls_array_parts(op_result(variable, 0), true);
    if (parts > EMITHLS_MAX_PARTS)
        op_remark(func,
                  "splits array '%.*s' into %lld parts; synthesis rarely copes with more than %d",
                  STR_ARG(name), (long long)parts, EMITHLS_MAX_PARTS);
}

static bool remark_op(Op *op, void *func)
{
    if (op->def == EMITHLS(FOR) && op_attr(op, EMITHLS_ATTR_UNROLL)) remark_copies(op, func);
    if (op->def == EMITHLS(VARIABLE)) remark_parts(op, func);
    return true;
}

void to_emithls_remark_size(Op *func)
{
    bool ok = op_walk(func, remark_op, func);
    (void)ok;
}
