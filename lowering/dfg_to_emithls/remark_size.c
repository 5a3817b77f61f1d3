/* Remarks about functions that synthesis will hardly cope with: loops that unroll into very many
 * copies of their body, arrays that fall apart into very many registers. The search of unroll
 * factors avoids them; factors given by hand, and elements too wide or windows too large for less,
 * do not.
 * Tests: lit/lowering/dfg_to_emithls/remark-size.mir */
#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "lowering/dfg_to_emithls/internal.h"

enum { MAX_COPIES = 4096, MAX_PARTS = 1024, MAX_EXTENTS = 64 };

static Str name_of(const Op *op)
{
    const Attr *name = op_attr(op, "name");
    return name ? name->u.string : STR("");
}

/* Copies of a loop's body, those of the unrolled loops around it included. */
static int64_t body_copies(const Op *loop)
{
    int64_t copies = 1, extents[MAX_EXTENTS];
    for (; loop && loop->def != EMITHLS(FUNC); loop = op_parent(loop)) {
        bool is_unrolled = loop->def == EMITHLS(FOR) && op_attr(loop, EMITHLS_ATTR_UNROLL);
        size_t count = is_unrolled ? emithls_for_extents(loop, extents, MAX_EXTENTS) : 0;
        for (size_t i = 0; i < count && copies <= INT32_MAX; i++) copies *= extents[i];
    }
    return copies;
}

/* Registers or memories that an array becomes: its partitioned dimensions and its word's lanes. */
static int64_t array_parts(const Op *variable)
{
    const Value *array = op_result(variable, 0);
    int64_t parts = emithls_lanes(emithls_array_elem(array->type));
    for (const Use *use = array->uses; use && parts <= INT32_MAX; use = use->next)
        if (use->owner->def == EMITHLS(ARRAY_PARTITION))
            parts *= emithls_array_dim(array->type,
                                       (uint32_t)attr_int_value(op_attr(use->owner, "dim")) - 1);
    return parts;
}

static bool remark_op(Op *op, void *func)
{
    Str name = name_of(op);
    if (op->def == EMITHLS(FOR) && op_attr(op, EMITHLS_ATTR_UNROLL) && body_copies(op) > MAX_COPIES)
        op_remark(func,
                  "unrolls loop '%.*s' into %lld copies; synthesis rarely copes with more than %d",
                  STR_ARG(name), (long long)body_copies(op), MAX_COPIES);
    if (op->def == EMITHLS(VARIABLE) && array_parts(op) > MAX_PARTS)
        op_remark(func,
                  "splits array '%.*s' into %lld parts; synthesis rarely copes with more than %d",
                  STR_ARG(name), (long long)array_parts(op), MAX_PARTS);
    return true;
}

void to_emithls_remark_size(Op *func)
{
    bool ok = op_walk(func, remark_op, func);
    (void)ok;
}
