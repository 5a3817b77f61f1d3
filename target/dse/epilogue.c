/* Splits the epilogue of a kernel off: what a compute process does to its sums once they are
 * complete becomes a process of its own behind it, which reads the sums as a stream.
 *
 *   process               ─▶  process ─sums─▶ process_epilogue
 *   pull, kernel, stages, push    pull, kernel, push    pull, stages, push
 *
 * Where a stage joins another stream, the cut may also be in front of that one, so that the sum is a
 * process by itself. So requantizers need no more lanes than their rate takes. Both processes are compute processes
 * like others; configs_epilogue.c says when that is worth it.
 * Tests: lit/target/dse/epilogue.mir, lit/target/dse/epilogue-folding.test */
#include <assert.h>

#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "dialects/sys/sys.h"
#include "dialects/tensor/tensor.h"
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

uint32_t dse_stage_of_sum(const ComputeSchedule *sched)
{
    if (!dse_has_epilogue(sched) || !sched->join_count) return 0;
    return sched->starts_from_join && sched->stage_count > 1 ? 1 : sched->joins[0].stage;
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

/* What the process gives that is split off in front of stage `from`. */
static Value *split_value(const ComputeSchedule *sched, uint32_t from)
{
    return op_result(from ? sched->stages[from - 1] : sched->main, 0);
}

static Op *create_process(const Op *process, const ComputeSchedule *sched, uint32_t from)
{
    VEC(const Type *) ports = {0};
    StrBuf name = {0};
    *vec_push(&ports) = dfg_end_type(&dfg_type_output, split_value(sched, from)->type, NULL);
    for (uint32_t j = 0; j < sched->join_count; j++)
        if (sched->joins[j].stage >= from)
            *vec_push(&ports) = dfg_end_type(
                &dfg_type_output, dfg_payload(dfg_port(process, sched->joins[j].port)->type), NULL);
    *vec_push(&ports) = dfg_end_type(
        &dfg_type_input, dfg_payload(dfg_port(process, sched->output_port)->type), NULL);
    strbuf_printf(&name, "%.*s%s", STR_ARG(symbol_name(process)->str),
                  from ? DSE_SUM_SUFFIX : DSE_EPILOGUE_SUFFIX);
    Op *epilogue = dfg_create_graph(process->ctx, DFG(PROCESS), strbuf_str(&name), process->loc,
                                    ports.data, (uint32_t)ports.len - 1, 1, NULL);
    strbuf_free(&name);
    vec_free(&ports);
    op_set_attr(epilogue, DFG_ATTR_NAME, op_attr(process, DFG_ATTR_NAME));
    return epilogue;
}

static Value *build_pull(Builder *b, Value *port)
{
    const Type *type = dfg_payload(port->type);
    return op_result(build(b, DFG(PULL), &port, 1, &type, 1, NULL, 0), 0);
}

/* A kernel that passes its operand on, so that what is behind it is a stage: words of a stream that
 * a stage joins need not be those of the sums. */
static Value *pass_on(Builder *b, Value *value)
{
    uint32_t rank = value->type->u.shaped.rank;
    const AffineMap *same = map_identity(b->ctx, rank), *maps[2] = {same, same};
    bool is_reduction[KERNEL_MAX_LOOPS] = {false};
    MixedIndex sizes[DFG_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) sizes[i] = mixed_constant(value->type->u.shaped.dims[i]);
    Value *init = tensor_empty(b, sizes, rank, type_elem(value->type));
    Op *generic = linalg_build_generic(b, &value, 1, &init, 1, linalg_maps_attr(b->ctx, maps, 2),
                                       linalg_iterators_attr(b->ctx, is_reduction, rank));
    Builder body = builder_at_end(linalg_body(generic), b->loc);
    linalg_yield(&body, &linalg_body(generic)->args[0], 1);
    return op_result(generic, 0);
}

Op *dse_epilogue_process(const Op *process, const ComputeSchedule *sched, uint32_t from)
{
    Op *epilogue = create_process(process, sched, from);
    StageCopy copy = {.b = builder_at_end(body_of(epilogue), process->loc)};
    Value *sums = split_value(sched, from), *result = op_operand(push_of(process), 0);
    Value *pulled = build_pull(&copy.b, dfg_port(epilogue, 0));
    uint32_t port = 1;
    bool joins = false;
    for (uint32_t j = 0; j < sched->join_count; j++) {
        if (sched->joins[j].stage < from) continue;
        const Op *pull = dfg_port(process, sched->joins[j].port)->uses->owner;
        ptrmap_put(&copy.copies, op_result(pull, 0),
                   build_pull(&copy.b, dfg_port(epilogue, port++)));
        joins |= sched->joins[j].stage == from;
    }
    ptrmap_put(&copy.copies, sums, joins ? pass_on(&copy.b, pulled) : pulled);
    copy_value(&copy, result);
    Value *push[2] = {ptrmap_get(&copy.copies, result), dfg_port(epilogue, port)};
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

/* Lets the process push its sums, and read no more than these take. */
static void drop_stages(Op *process, const ComputeSchedule *sched, uint32_t from)
{
    Value *sums = split_value(sched, from), *port = dfg_port(process, sched->output_port);
    op_set_operand(push_of(process), 0, sums);
    port->type = dfg_end_type(&dfg_type_input, sums->type, NULL);
    dfg_update_signature(process);
    erase_unused(process);
    for (uint32_t j = sched->join_count; j-- > 0;) {
        if (sched->joins[j].stage < from) continue;
        op_erase(dfg_port(process, sched->joins[j].port)->uses->owner);
        dfg_erase_input(process, sched->joins[j].port);
    }
}

void dse_instantiate(Builder *b, const Op *process, Value *const *ends)
{
    Context *ctx = process->ctx;
    uint32_t inputs = dfg_input_count(process), outputs = dfg_output_count(process);
    int32_t segments[2] = {(int32_t)inputs, (int32_t)outputs};
    const NamedAttr attrs[2] = {
        build_named_attr(ctx, "callee", attr_symbol(ctx, symbol_name(process))),
        build_named_attr(ctx, "operandSegmentSizes",
                         attr_dense_array(type_i(ctx, 32), segments, 2))};
    build(b, DFG(INSTANTIATE), ends, inputs + outputs, NULL, 0, attrs, 2);
}

/* Connects the epilogue behind its process, of which it takes over the output and the streams that
 * its stages join. */
static void connect_epilogue(Op *instantiate, const Op *epilogue, const ComputeSchedule *sched,
                             uint32_t from, const Type *sends)
{
    const Type *types[2] = {sends, dfg_port(epilogue, 0)->type};
    Builder before = builder_before(instantiate), behind = builder_after(instantiate);
    Op *channel = build(&before, DFG(CHANNEL), NULL, 0, types, 2, NULL, 0);
    Value *inputs[SCHED_MAX_STREAMS], *ends[SCHED_MAX_STREAMS + 2];
    uint32_t kept = 0, count = 0;
    ends[count++] = op_result(channel, 1);
    for (uint32_t j = 0; j < sched->join_count; j++)
        if (sched->joins[j].stage >= from)
            ends[count++] = op_operand(instantiate, sched->joins[j].port);
    ends[count++] = op_operand(instantiate, sched->output_port);
    for (uint32_t i = 0; i < dfg_instantiate_inputs(instantiate); i++)
        if (!dse_split_takes(sched, from, i)) inputs[kept++] = op_operand(instantiate, i);
    const Op *last = value_def(reshape_source(split_value(sched, from)));
    op_set_attr(channel, DFG_ATTR_TENSORS, last ? op_attr(last, DFG_ATTR_TENSORS) : NULL);
    op_set_operand(instantiate, sched->output_port, op_result(channel, 0));
    op_set_operand_group(instantiate, 0, inputs, kept);
    dse_instantiate(&behind, epilogue, ends);
}

bool dse_split_takes(const ComputeSchedule *sched, uint32_t from, uint32_t port)
{
    for (uint32_t j = 0; j < sched->join_count; j++)
        if (sched->joins[j].port == port) return sched->joins[j].stage >= from;
    return false;
}

Op *dse_split_epilogue(SymbolTable *symbols, Op *instantiate, uint32_t from)
{
    ComputeSchedule sched;
    Op *process = symtab_get(symbols, op_attr(instantiate, "callee")->u.symbol.names[0]);
    bool ok = sched_compute_base(process, &sched);
    assert(ok && dse_has_epilogue(&sched));
    (void)ok;
    Op *epilogue = dse_epilogue_process(process, &sched, from);
    op_set_attr(epilogue, SYS_ATTR_PLACE, op_attr(process, SYS_ATTR_PLACE));
    op_insert_after(epilogue, process);
    symtab_insert(symbols, epilogue);
    const Type *sends = dfg_end_type(&dfg_type_input, split_value(&sched, from)->type, NULL);
    drop_stages(process, &sched, from);
    connect_epilogue(instantiate, epilogue, &sched, from, sends);
    return epilogue;
}
