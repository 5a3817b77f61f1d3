/* Splits the epilogue of a kernel off: what a compute process does to its sums once they are
 * complete becomes a process of its own behind it, which reads the sums as a stream.
 *
 *   process               ─▶  process ─sums─▶ process_epilogue
 *   pull, kernel, stages, push    pull, kernel, push    pull, stages, push
 *
 * So requantizers need no more lanes than their rate takes. Both processes are compute processes
 * like others; configs_epilogue.c says when that is worth it.
 * Tests: lit/target/dse/epilogue.mir, lit/target/dse/epilogue-folding.test */
#include <assert.h>

#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "dialects/sys/sys.h"
#include "ir/core/core.h"
#include "target/dse/internal.h"

static Block *body_of(const Op *process)
{
    return region_entry(op_region(process, 0));
}

bool dse_has_epilogue(const ComputeSchedule *sched)
{
    return sched->stage_count > 0 && sched->kernel.class != KERNEL_PURE_PARALLEL;
}

typedef struct StageCopy {
    Builder b;
    PtrMap copies; /* of values */
    const Op *stage;
} StageCopy;

static void copy_value(StageCopy *c, Value *value);

/* Values that a payload takes from outside of it. */
static bool copy_captures(Op *op, void *user)
{
    StageCopy *c = user;
    for (uint32_t i = 0; op != c->stage && i < op->operand_count; i++) {
        Value *value = op_operand(op, i);
        if (!op_is_ancestor(c->stage, block_parent_op(value_block(value)))) copy_value(c, value);
    }
    return true;
}

/* Copies the op of a value behind those that it needs. */
static void copy_value(StageCopy *c, Value *value)
{
    if (ptrmap_has(&c->copies, value)) return;
    Op *op = value_def(value);
    for (uint32_t i = 0; i < op->operand_count; i++) copy_value(c, op_operand(op, i));
    const Op *outer = c->stage;
    c->stage = op;
    op_walk(op, copy_captures, c);
    c->stage = outer;
    op_append(op_clone(op, &c->copies), c->b.block);
}

static Op *push_of(const Op *process)
{
    FOR_EACH_OP(op, body_of(process))
        if (op->def == DFG(PUSH)) return op;
    return NULL;
}

Op *dse_epilogue_process(const Op *process, const ComputeSchedule *sched)
{
    Value *sums = op_result(sched->main, 0), *result = op_operand(push_of(process), 0);
    const Type *ports[2] = {dfg_end_type(&dfg_type_output, sums->type, NULL),
                            dfg_end_type(&dfg_type_input,
                                         dfg_payload(dfg_port(process, sched->output_port)->type),
                                         NULL)};
    StrBuf name = {0};
    strbuf_printf(&name, "%.*s" DSE_EPILOGUE_SUFFIX, STR_ARG(symbol_name(process)->str));
    Op *epilogue = dfg_create_graph(process->ctx, DFG(PROCESS), strbuf_str(&name), process->loc,
                                    ports, 1, 1, NULL);
    strbuf_free(&name);
    op_set_attr(epilogue, DFG_ATTR_NAME, op_attr(process, DFG_ATTR_NAME));
    StageCopy copy = {.b = builder_at_end(body_of(epilogue), process->loc)};
    Value *port = dfg_port(epilogue, 0);
    ptrmap_put(&copy.copies, sums,
               op_result(build(&copy.b, DFG(PULL), &port, 1, &sums->type, 1, NULL, 0), 0));
    copy_value(&copy, result);
    Value *push[2] = {ptrmap_get(&copy.copies, result), dfg_port(epilogue, 1)};
    build(&copy.b, DFG(PUSH), push, 2, NULL, 0, NULL, 0);
    ptrmap_free(&copy.copies);
    return epilogue;
}

/* Erases what nothing needs any more: the stages and their constants. */
static void erase_unused(Op *process)
{
    for (Op *op = body_of(process)->last, *before; op; op = before) {
        bool is_used = op->def == DFG(PUSH) || op->def == DFG(PULL);
        before = op->prev;
        for (uint32_t i = 0; i < op->result_count; i++) is_used |= value_has_uses(op_result(op, i));
        if (!is_used) op_erase(op);
    }
}

/* Lets the process push its sums. */
static void drop_stages(Op *process, const ComputeSchedule *sched)
{
    Value *sums = op_result(sched->main, 0), *port = dfg_port(process, sched->output_port);
    op_set_operand(push_of(process), 0, sums);
    port->type = dfg_end_type(&dfg_type_input, sums->type, NULL);
    dfg_update_signature(process);
    erase_unused(process);
}

void dse_instantiate(Builder *b, const Op *process, Value *input, Value *output)
{
    Context *ctx = process->ctx;
    Value *operands[2] = {input, output};
    int32_t segments[2] = {1, 1};
    const NamedAttr attrs[2] = {
        build_named_attr(ctx, "callee", attr_symbol(ctx, symbol_name(process))),
        build_named_attr(ctx, "operandSegmentSizes",
                         attr_dense_array(type_i(ctx, 32), segments, 2))};
    build(b, DFG(INSTANTIATE), operands, 2, NULL, 0, attrs, 2);
}

Op *dse_split_epilogue(SymbolTable *symbols, Op *instantiate)
{
    ComputeSchedule sched;
    Op *process = symtab_get(symbols, op_attr(instantiate, "callee")->u.symbol.names[0]);
    bool ok = sched_compute_base(process, &sched);
    assert(ok && dse_has_epilogue(&sched));
    (void)ok;
    Op *epilogue = dse_epilogue_process(process, &sched);
    op_set_attr(epilogue, SYS_ATTR_PLACE, op_attr(process, SYS_ATTR_PLACE));
    op_insert_after(epilogue, process);
    symtab_insert(symbols, epilogue);
    drop_stages(process, &sched);
    const Type *ends[2] = {dfg_port(process, sched.output_port)->type, dfg_port(epilogue, 0)->type};
    Builder before = builder_before(instantiate), behind = builder_after(instantiate);
    Op *channel = build(&before, DFG(CHANNEL), NULL, 0, ends, 2, NULL, 0);
    Value *result = op_operand(instantiate, sched.output_port);
    op_set_operand(instantiate, sched.output_port, op_result(channel, 0));
    dse_instantiate(&behind, epilogue, op_result(channel, 1), result);
    return epilogue;
}
