/* Configurations of processes that move words (dfg.reorder, dfg.merge). A word holds several
 * elements of the innermost dimension, as many as the map keeps together.
 * Tests: lit/target/dse/choose-unroll-move.mir */
#include "target/dse/internal.h"

/* The process with `u` elements per word. */
typedef struct MoveConfigs {
    ReorderSchedule reorder;
    MergeSchedule merge;
} MoveConfigs;

/* False: the process cannot keep such words together. */
static bool plan_move(const DseNode *node, int64_t u, MoveConfigs *out)
{
    return node->kind == PROCESS_REORDER ? sched_reorder_packed(node->process, u, &out->reorder)
                                         : sched_merge_packed(node->process, u, &out->merge);
}

static void add_move(DseSpace *space, DseNode *node, const MoveConfigs *move,
                     const Type *const *ends)
{
    Binding binding, choices;
    Cost cost;
    bool is_reorder = node->kind == PROCESS_REORDER;
    if (is_reorder)
        cost_reorder_choices(&move->reorder, &space->target, &choices);
    else
        cost_merge_choices(&move->merge, &space->target, &choices);
    for (uint32_t n = 0; n < BINDING_COUNT; n++) {
        if (!dse_binding_variant(&choices, n, &binding)) continue;
        if (is_reorder)
            cost_reorder(&move->reorder, &binding, &space->target, &cost);
        else
            cost_merge(&move->merge, &binding, &space->target, &cost);
        dse_add_config(space, node, &cost, ends, NULL, &binding);
    }
}

/* Type of a port whose words hold `u` elements of the tensor's innermost dimension, or NULL. */
static const Type *packed_end(const DseNode *node, uint32_t port, const Type *tensor, int64_t u)
{
    int64_t word[DFG_MAX_RANK];
    uint32_t rank = tensor->u.shaped.rank;
    for (uint32_t i = 0; i < rank; i++) word[i] = i + 1 == rank ? u : 1;
    const Type *end = sched_port_end(node->process, port, tensor, word);
    return end && (u == 1 || dse_word_bits(end) <= MAX_WORD_BITS) ? end : NULL;
}

/* The process's op as it is at the words that the ports have now. */
static bool check_move(const DseNode *node, const Op **op, int *ports)
{
    ReorderSchedule reorder;
    MergeSchedule merge;
    if (node->kind == PROCESS_REORDER) {
        if (!sched_reorder(node->process, &reorder)) return false;
        *op = reorder.reorder;
        ports[0] = 0;
        return true;
    }
    if (!sched_merge(node->process, &merge)) return false;
    *op = merge.merge;
    for (uint32_t i = 0; i < merge.source_count; i++) ports[i] = merge.port[i];
    return true;
}

bool dse_move_configs(DseSpace *space, DseNode *node)
{
    const Op *op;
    int ports[SCHED_MAX_STREAMS];
    const Type *ends[SCHED_MAX_STREAMS + 1];
    if (!check_move(node, &op, ports)) return false;
    const Type *result = op_result(op, 0)->type;
    uint32_t inputs = dfg_input_count(node->process);
    uint32_t rank = result->u.shaped.rank;
    int64_t extent = rank ? result->u.shaped.dims[rank - 1] : 1;
    for (int64_t u = 1; u <= extent && u <= MAX_PARALLEL_ELEMENTS; u++) {
        MoveConfigs move;
        ends[inputs] = packed_end(node, inputs, result, u);
        bool fits = ends[inputs] && plan_move(node, u, &move);
        for (uint32_t i = 0; fits && i < op->operand_count; i++)
            fits = ports[i] < 0 || (ends[ports[i]] = packed_end(node, (uint32_t)ports[i],
                                                                op_operand(op, i)->type, u));
        if (fits) add_move(space, node, &move, ends);
    }
    return true;
}
