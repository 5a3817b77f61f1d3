/* Configurations of processes that move words (dfg.reorder, dfg.merge). A word holds several
 * elements of the innermost dimension, as many as the map keeps together.
 * Tests: lit/target/dse/choose-unroll-move.mir */
#include <string.h>

#include "target/dse/internal.h"

bool dse_is_idle(const Op *process, const Type *from, const Type *to)
{
    FOR_EACH_OP(op, region_entry(op_region(process, 0)))
        if (op->def == DFG(REORDER))
            return map_is_identity(dfg_reorder_map(op)) && dfg_payload(from) == dfg_payload(to) &&
                   from->u.dialect.param_count == to->u.dialect.param_count &&
                   memcmp(from->u.dialect.params, to->u.dialect.params,
                          from->u.dialect.param_count * sizeof *to->u.dialect.params) == 0;
    return false;
}

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
    Cost cost = {.cycles = 0};
    if (dse_is_idle(node->process, ends[0], ends[1])) {
        dse_add_config(space, node, &cost, ends, NULL, NULL);
        return;
    }
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

/* Two boxes: a word of the source and one of the result. */
typedef struct TileWords {
    int64_t in[DFG_MAX_RANK], out[DFG_MAX_RANK];
} TileWords;

/* A reorder that is being given words of other shapes. */
typedef struct TileSearch {
    DseSpace *space;
    DseNode *node;
    const Op *op;
    const Type *source, *result;
    int dims[DFG_MAX_RANK]; /* the result's dimension that one of the source is; -1: none */
} TileSearch;

/* The dimension that is number `from_inside` among those of more than one element; -1: none. */
static int inner_dim(const Type *type, uint32_t from_inside)
{
    for (uint32_t i = type->u.shaped.rank; i-- > 0;)
        if (type->u.shaped.dims[i] > 1 && from_inside-- == 0) return (int)i;
    return -1;
}

/* Elements of a tile, all of which may be chosen from in one cycle, and are registers if there is
 * only one tile. */
static int64_t tile_elements(const TileSearch *t, const TileWords *w)
{
    int64_t elements = 1;
    for (uint32_t i = 0; i < t->source->u.shaped.rank; i++) {
        int64_t out = t->dims[i] < 0 ? 1 : w->out[t->dims[i]];
        elements *= w->in[i] > out ? w->in[i] : out; /* one divides the other */
    }
    return elements;
}

static void add_tiles(TileSearch *t, const TileWords *w)
{
    const Type *ends[2];
    MoveConfigs move;
    const TileWords shape = *w;
    if (tile_elements(t, w) > MAX_PARALLEL_ELEMENTS) return;
    ends[0] = sched_port_end(t->node->process, 0, t->source, shape.in);
    ends[1] = sched_port_end(t->node->process, 1, t->result, shape.out);
    if (ends[0] && ends[1] && dse_words_fit(t->node, ends) &&
        sched_reorder_tiled(t->node->process, shape.in, shape.out, &move.reorder))
        add_move(t->space, t->node, &move, ends);
}

enum { MAX_ROWS = 32 };

/* Words of the source that hold `rows` of its second dimension. Those of both ends must divide one
 * another along the innermost dimension, since tiles grow with their common multiple. */
static void add_source_rows(TileSearch *t, TileWords *w, int64_t rows)
{
    int inner = inner_dim(t->source, 0), outer = inner_dim(t->source, 1);
    int64_t extent = t->source->u.shaped.dims[inner];
    int64_t most = t->dims[inner] < 0 ? 1 : w->out[t->dims[inner]];
    if (t->source->u.shaped.dims[outer] % rows != 0) return;
    for (int64_t v = 1; v <= extent && v * rows <= MAX_PARALLEL_ELEMENTS; v++) {
        if (extent % v != 0 || (v % most != 0 && most % v != 0)) continue;
        w->in[inner] = v;
        w->in[outer] = rows;
        add_tiles(t, w);
    }
    w->in[inner] = w->in[outer] = 1;
}

/* Words of the source for a word of the result: runs of the innermost dimension, and boxes with as
 * many rows as that word, or any number if it has one. */
static void add_source_words(TileSearch *t, TileWords *w)
{
    int outer = inner_dim(t->source, 1);
    if (outer < 0) return;
    int64_t same = t->dims[outer] < 0 ? 1 : w->out[t->dims[outer]];
    for (int64_t rows = 1; rows <= MAX_ROWS; rows++)
        if (rows == 1 || same == 1 || rows == same) add_source_rows(t, w, rows);
}

/* Words that are boxes of the two innermost dimensions of the result. */
static void add_boxes(TileSearch *t)
{
    TileWords w;
    int inner = inner_dim(t->result, 0), outer = inner_dim(t->result, 1);
    if (inner < 0 || outer < 0) return;
    for (uint32_t i = 0; i < DFG_MAX_RANK; i++) w.in[i] = w.out[i] = 1;
    for (int64_t rows = 1; rows <= MAX_ROWS; rows++) {
        if (t->result->u.shaped.dims[outer] % rows != 0) continue;
        w.out[outer] = rows;
        for (int64_t u = 1; u <= t->result->u.shaped.dims[inner]; u++) {
            w.out[inner] = u;
            if (t->result->u.shaped.dims[inner] % u == 0 && u * rows <= MAX_PARALLEL_ELEMENTS)
                add_source_words(t, &w);
        }
    }
}

/* Words of different shapes, if the map only orders dimensions, of which words hold parts. */
static void tile_configs(DseSpace *space, DseNode *node, const Op *reorder)
{
    TileSearch t = {.space = space,
                    .node = node,
                    .op = reorder,
                    .source = op_operand(reorder, 0)->type,
                    .result = op_result(reorder, 0)->type};
    const AffineMap *map = dfg_reorder_map(reorder);
    for (uint32_t i = 0; i < map->result_count; i++)
        t.dims[i] = map->results[i]->kind == AFFINE_DIM ? (int)map->results[i]->value : -1;
    add_boxes(&t);
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
    if (node->kind == PROCESS_REORDER) tile_configs(space, node, op);
    return true;
}
