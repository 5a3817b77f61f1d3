/* What pipelines may do beyond stalling as a whole.
 *
 * Loops that rewind: the first iteration of the next frame follows the last one of this frame at
 * the initiation interval, as if the loop never ended. Synthesis does that where a function is one
 * pipelined loop with nothing around it. Loops that flush: iterations go on
 * when there is nothing to read for those behind them. docs/streaming.md states the models.
 * Tests: lit/dialects/emithls/rewind.mir, rewind-invalid.mir, flush.mir, flush-invalid.mir */
#include "dialects/arith/arith.h"
#include "dialects/emithls/emithls.h"

bool emithls_is_declaration(const Op *op)
{
    return op->def == ARITH(CONSTANT) || op->def == EMITHLS(VARIABLE) || op->def == EMITHLS(GET) ||
           op->def == EMITHLS(ARRAY_PARTITION) || op->def == EMITHLS(ARRAY_RESHAPE) ||
           op->def == EMITHLS(BIND_STORAGE) || op->def == EMITHLS(DEPENDENCE);
}

Op *emithls_rewound_loop(const Op *func)
{
    FOR_EACH_OP(op, region_entry(op_region(func, 0)))
        if (op->def == EMITHLS(FOR) && op_attr(op, EMITHLS_ATTR_REWIND)) return op;
    return NULL;
}

/* What a body has of reads, and of loops that are not unrolled. */
typedef struct BodyUse {
    bool reads, loops;
} BodyUse;

static bool find_use(Op *op, void *user)
{
    BodyUse *use = user;
    use->reads |= op->def == EMITHLS(READ);
    use->loops |= op->def == EMITHLS(FOR) && !op_attr(op, EMITHLS_ATTR_UNROLL);
    return true;
}

/* Whether only the process's first call comes to the op: what fills its tables. */
static bool is_at_start(const Op *op)
{
    while (op && op->def != EMITHLS(ONCE)) op = op_parent(op);
    return op != NULL;
}

static bool is_for_start(const Value *stream)
{
    FOR_EACH_USE(use, stream)
        if (!is_at_start(use->owner)) return false;
    return true;
}

/* Whether the process accesses each of its streams in one place, once per iteration at most. Those
 * that fill tables have been read when the loops begin. */
static bool accesses_once(const Block *body)
{
    for (uint32_t i = 0; i < body->arg_count; i++) {
        const Value *stream = body->args[i];
        if (!is_for_start(stream) &&
            (!value_has_one_use(stream) || emithls_body_copies(op_parent(stream->uses->owner)) > 1))
            return false;
    }
    return true;
}

static bool has_outer_memory(const Block *body)
{
    for (uint32_t i = 0; i < body->arg_count; i++)
        if (type_is_a(body->args[i]->type, &emithls_type_array)) return true;
    return false;
}

static bool is_alone(const Op *loop)
{
    FOR_EACH_OP(op, loop->block)
        if (op != loop && !emithls_is_declaration(op)) return false;
    return true;
}

const char *emithls_rewind_obstacle(const Op *loop)
{
    const Op *func = op_parent(loop);
    BodyUse use = {.reads = false};
    if (!op_attr(loop, EMITHLS_ATTR_II)) return "is not pipelined";
    if (!func || func->def != EMITHLS(FUNC) || op_attr(func, EMITHLS_ATTR_TOP))
        return "does not stand in the body of a process";
    if (!is_alone(loop)) return "is not all that its process executes";
    if (has_outer_memory(loop->block)) return "accesses a memory outside its process";
    FOR_EACH_OP(op, region_entry(op_region(loop, 0))) op_walk(op, find_use, &use);
    if (use.loops) return "holds a loop that is not unrolled";
    if (!accesses_once(loop->block)) return "accesses a stream in several places";
    return use.reads ? NULL : "reads no stream, so that nothing would end its frames";
}

const char *emithls_flush_obstacle(const Op *loop)
{
    const Op *func = op_parent(loop);
    while (func && func->def != EMITHLS(FUNC)) func = op_parent(func);
    if (!op_attr(loop, EMITHLS_ATTR_II)) return "is not pipelined";
    if (op_attr(loop, EMITHLS_ATTR_REWIND)) return "rewinds";
    if (!func || op_attr(func, EMITHLS_ATTR_TOP)) return "does not stand in a process";
    const Block *body = region_entry(op_region(func, 0));
    if (has_outer_memory(body)) return "stands in a process that accesses a memory outside";
    return accesses_once(body) ? NULL
                               : "stands in a process that accesses a stream in several places";
}

static bool find_flush(Op *op, void *user)
{
    bool *flushes = user;
    *flushes |= op->def == EMITHLS(FOR) && op_attr(op, EMITHLS_ATTR_FLUSH);
    return true;
}

bool emithls_flushes(const Op *op)
{
    bool flushes = false;
    op_walk((Op *)(uintptr_t)op, find_flush, &flushes);
    return flushes;
}
