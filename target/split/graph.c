/* The graph of the processes that a top function calls.
 * Tests: lit/target/split */
#include "ir/asm/print/print.h"
#include "target/split/internal.h"

static void add_process(SplitGraph *graph, Op *call)
{
    Op *func = symbol_lookup(call, op_attr(call, "callee"));
    SplitProcess *p = vec_push(&graph->processes);
    *p = (SplitProcess){.call = call, .func = func};
    p->has_place = sys_place(func, &p->place);
    for (uint32_t i = 0; i < call->operand_count; i++)
        p->has_memory |= type_is_a(op_operand(call, i)->type, &emithls_type_array);
}

static uint32_t number_of(const SplitGraph *graph, const Op *call)
{
    for (uint32_t i = 0; i < graph->processes.len; i++)
        if (graph->processes.data[i].call == call) return i;
    return SPLIT_NOBODY;
}

/* False: diagnosed. */
static bool add_edge(SplitGraph *graph, Value *value)
{
    SplitEdge edge = {value, SPLIT_NOBODY, SPLIT_NOBODY};
    const Op *at = value->is_arg ? graph->top : value_def(value);
    FOR_EACH_USE(use, value) {
        if (use->owner->def != EMITHLS(CALL)) continue;
        SysUse ends = {false, false};
        uint32_t number = number_of(graph, use->owner);
        sys_add_use(
            region_entry(op_region(graph->processes.data[number].func, 0))->args[use_index(use)],
            &ends);
        uint32_t *end = ends.writes ? &edge.from : &edge.to;
        if (ends.reads == ends.writes || *end != SPLIT_NOBODY)
            return op_error(at, "has a stream that is not written by one process and read by one");
        *end = number;
    }
    if (!value->is_arg && (edge.from == SPLIT_NOBODY || edge.to == SPLIT_NOBODY))
        return op_error(at, "is not written by one process and read by one");
    if (!value->is_arg && edge.from >= edge.to)
        return op_error(at, "is read before it is written: calls must be in order of the data");
    *vec_push(&graph->edges) = edge;
    return true;
}

bool split_graph(Op *top, SplitGraph *out)
{
    Block *body = region_entry(op_region(top, 0));
    *out = (SplitGraph){.top = top};
    FOR_EACH_OP(op, body)
        if (op->def == EMITHLS(CALL)) add_process(out, op);
    for (uint32_t i = 0; i < body->arg_count; i++)
        if (!add_edge(out, body->args[i])) return false;
    FOR_EACH_OP(op, body)
        if (op->def == EMITHLS(STREAM) && !add_edge(out, op_result(op, 0))) return false;
    return true;
}

void split_graph_free(SplitGraph *graph)
{
    vec_free(&graph->processes);
    vec_free(&graph->edges);
}

int64_t split_stream_words(const HlsDesign *design, const Value *stream)
{
    for (size_t i = design->port_count; i < design->streams.len; i++)
        if (design->streams.data[i].op == value_def(stream)) return design->streams.data[i].words;
    return 0;
}
