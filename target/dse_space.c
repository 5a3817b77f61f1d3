/* Configurations of every process. A compute process unrolls its reduction loops and the loop of the
 * output's innermost dimension by divisors of their trip counts; window and fork processes choose the
 * elements per word. Only configurations that no other beats in cycles, DSP and BRAM at the same port
 * words are kept.
 * Tests: test/unit/dse_test.c */
#include "target/dse.h"

#include "dialects/linalg/structured.h"
#include "ir/diag.h"
#include "ir/symbol.h"
#include "target/fifo.h"

#include <assert.h>
#include <string.h>

/* What synthesis still handles well in one process. */
enum { MAX_PARALLEL_ELEMENTS = 1024, MAX_WORD_BITS = 4096 };

/* --- keeping the undominated ---------------------------------------------------------- */

static bool same_ports(const DseNode *node, const Config *a, const Config *b)
{
    return memcmp(a->factor, b->factor, node->port_count * sizeof(int64_t)) == 0;
}

static bool dominates(const Cost *a, const Cost *b)
{
    return a->cycles <= b->cycles && a->dsp <= b->dsp && a->bram18 <= b->bram18;
}

static void add_config(DseNode *node, const Config *config)
{
    size_t kept = 0;
    for (size_t i = 0; i < node->configs.len; i++) {
        const Config *other = &node->configs.data[i];
        if (same_ports(node, other, config) && dominates(&other->cost, &config->cost))
            return;
    }
    for (size_t i = 0; i < node->configs.len; i++) {
        const Config *other = &node->configs.data[i];
        if (!same_ports(node, other, config) || !dominates(&config->cost, &other->cost))
            node->configs.data[kept++] = *other;
    }
    node->configs.len = kept;
    *vec_push(&node->configs) = *config;
}

static int64_t *uniform_factors(Arena *arena, uint32_t count, int64_t factor)
{
    int64_t *factors = ARENA_ARRAY(arena, int64_t, count);
    for (uint32_t i = 0; i < count; i++)
        factors[i] = factor;
    return factors;
}

static int64_t innermost_extent(const Value *port)
{
    const Type *frame = dfg_payload(port->type);
    return frame->u.shaped.rank ? frame->u.shaped.dims[frame->u.shaped.rank - 1] : 1;
}

/* A port's frame may be reshaped inside: the factor must also suit the shape outside. */
static bool can_pack(const Value *port, int64_t factor)
{
    return innermost_extent(port) % factor == 0;
}

/* Bits of a word with that many elements of the innermost dimension. */
static int64_t word_bits(const Value *port, int64_t factor)
{
    return dfg_word_elems(port->type) * factor * element_bits(type_elem(dfg_payload(port->type)));
}

/* --- compute processes ------------------------------------------------------------------- */

typedef struct Candidates {
    DseNode *node;
    Arena *arena;
    ComputePlan base;
    uint32_t loops[KERNEL_MAX_LOOPS]; /* that may be unrolled */
    uint32_t count;
    int stream_loop, output_loop; /* of the innermost dimensions, or -1 */
    int64_t unroll[KERNEL_MAX_LOOPS];
} Candidates;

static int last_loop(const AffineMap *map)
{
    const AffineExpr *last = map->result_count ? map->results[map->result_count - 1] : NULL;
    return last && last->kind == AFFINE_DIM ? (int)last->value : -1;
}

/* A loop unrolls if its elements arrive in one word: it is the stream's innermost dimension, a
 * window's kernel dimension (whole in every word), or not streamed at all. */
static bool arrives_together(const ComputePlan *plan, uint32_t loop)
{
    const AffineMap *map = linalg_operand_map(plan->main, plan->stream_operand[0]);
    const Type *tensor = op_operand(plan->main, plan->stream_operand[0])->type;
    int64_t word[2 * DFG_MAX_RANK];
    int r = map_result_of_dim(map, loop);
    return r < 0 || (uint32_t)r + 1 == map->result_count ||
           (compute_input_word(plan, 0, word) && word[r] == tensor->u.shaped.dims[r]);
}

static void select_loops(Candidates *c)
{
    const ComputePlan *plan = &c->base;
    c->stream_loop = last_loop(linalg_operand_map(plan->main, plan->stream_operand[0]));
    c->output_loop = last_loop(linalg_operand_map(plan->main, linalg_input_count(plan->main)));
    for (uint32_t i = 0; i < plan->kernel.loop_count; i++) {
        c->unroll[i] = 1;
        bool wanted = plan->kernel.is_reduction[i] || (int)i == c->output_loop;
        if (wanted && plan->kernel.extents[i] > 1 && arrives_together(plan, i))
            c->loops[c->count++] = i;
    }
}

/* Elements of the stream's innermost dimension per word: as many as are used at once, unless words
 * already hold all of it, as those of windows do. */
static int64_t input_factor(const Candidates *c)
{
    const Value *port = dfg_port(c->node->process, c->base.stream_port[0]);
    bool is_scalar = dfg_word_elems(port->type) == 1;
    int64_t word[2 * DFG_MAX_RANK];
    dfg_word(port->type, word);
    if (!is_scalar && word[dfg_payload(port->type)->u.shaped.rank - 1] > 1)
        return 1;
    return c->stream_loop < 0 ? 1 : c->unroll[c->stream_loop];
}

static int64_t output_factor(const Candidates *c)
{
    return c->output_loop < 0 ? 1 : c->unroll[c->output_loop];
}

static bool candidate_fits(const Candidates *c)
{
    int64_t parallel = 1, in = input_factor(c), out = output_factor(c);
    for (uint32_t i = 0; i < c->base.kernel.loop_count; i++)
        parallel *= c->unroll[i];
    const Op *process = c->node->process;
    for (uint32_t s = 0; s < c->base.stream_count; s++)
        if (!can_pack(dfg_port(process, c->base.stream_port[s]), in))
            return false;
    return parallel <= MAX_PARALLEL_ELEMENTS &&
           can_pack(dfg_port(process, c->base.output_port), out) &&
           word_bits(dfg_port(process, c->base.stream_port[0]), in) <= MAX_WORD_BITS &&
           word_bits(dfg_port(process, c->base.output_port), out) <= MAX_WORD_BITS;
}

static bool add_candidate(Candidates *c)
{
    ComputePlan plan;
    Config config = {.unroll = NULL};
    if (!candidate_fits(c))
        return true;
    if (!compute_plan(c->node->process, c->unroll, &plan))
        return false;
    compute_cost(&plan, &config.cost);
    config.unroll = arena_copy(c->arena, c->unroll, plan.kernel.loop_count * sizeof(int64_t));
    config.factor = uniform_factors(c->arena, c->node->port_count, input_factor(c));
    config.factor[plan.output_port] = output_factor(c);
    add_config(c->node, &config);
    return true;
}

/* All combinations of divisors of the loops from `depth` on. */
static bool enumerate(Candidates *c, uint32_t depth)
{
    if (depth == c->count)
        return add_candidate(c);
    uint32_t loop = c->loops[depth];
    for (int64_t u = 1; u <= c->base.kernel.extents[loop] && u <= MAX_PARALLEL_ELEMENTS; u++) {
        if (c->base.kernel.extents[loop] % u != 0)
            continue;
        c->unroll[loop] = u;
        if (!enumerate(c, depth + 1))
            return false;
    }
    c->unroll[loop] = 1;
    return true;
}

static bool compute_configs(DseNode *node, Arena *arena)
{
    Candidates c = {.node = node, .arena = arena};
    if (!compute_plan(node->process, NULL, &c.base))
        return false;
    select_loops(&c);
    return enumerate(&c, 0);
}

/* --- window and fork processes -------------------------------------------------------------- */

/* Whether the innermost dimension is a window dimension, whose positions come one by one. */
static bool slides_innermost(const WindowPlan *plan)
{
    return plan->params.first + plan->params.count == plan->params.rank;
}

static bool window_configs(DseNode *node, Arena *arena)
{
    WindowPlan plan;
    if (!window_plan(node->process, &plan))
        return false;
    int64_t extent = slides_innermost(&plan) ? 1 : plan.params.in[plan.params.rank - 1];
    for (int64_t u = 1; u <= extent && u <= MAX_PARALLEL_ELEMENTS; u++) {
        Config config = {.factor = NULL};
        if (extent % u != 0 || !can_pack(dfg_port(node->process, 0), u) ||
            (u > 1 && word_bits(dfg_port(node->process, 1), u) > MAX_WORD_BITS))
            continue;
        window_cost(&plan, u, &config.cost);
        config.factor = uniform_factors(arena, node->port_count, u);
        add_config(node, &config);
    }
    return true;
}

/* Block RAM of the deep FIFOs behind a fork, at `factor` elements per word. `words`: the elements
 * that each is estimated to hold. */
static int64_t deep_fifo_bram18(const DseNode *node, const int64_t *words, int64_t factor)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < node->port_count; i++)
        if (words[i] > 0)
            total += memory_bram18(word_bits(dfg_port(node->process, i), factor), words[i] / factor);
    return total;
}

static bool all_can_pack(const DseNode *node, int64_t factor)
{
    for (uint32_t i = 0; i < node->port_count; i++)
        if (!can_pack(dfg_port(node->process, i), factor))
            return false;
    return true;
}

static bool fork_configs(DseNode *node, const Op *instantiate, Arena *arena)
{
    int64_t extent = innermost_extent(dfg_port(node->process, 0));
    int64_t *words = ARENA_ARRAY(arena, int64_t, node->port_count);
    if (!fork_estimate(instantiate, fork_words(node->process), words))
        return false;
    for (int64_t u = 1; u <= extent && u <= MAX_PARALLEL_ELEMENTS; u++) {
        Config config = {.factor = NULL};
        if (!all_can_pack(node, u) ||
            (u > 1 && word_bits(dfg_port(node->process, 0), u) > MAX_WORD_BITS))
            continue;
        config.cost.cycles = fork_words(node->process) / u + PIPELINE_DEPTH;
        config.cost.bram18 = deep_fifo_bram18(node, words, u);
        config.factor = uniform_factors(arena, node->port_count, u);
        add_config(node, &config);
    }
    return true;
}

/* --- the graph ------------------------------------------------------------------------------- */

static bool node_configs(DseNode *node, const Op *instantiate, Arena *arena)
{
    if (!process_kind(node->process, &node->kind))
        return false;
    switch (node->kind) {
    case PROCESS_WINDOW: return window_configs(node, arena);
    case PROCESS_COMPUTE: return compute_configs(node, arena);
    case PROCESS_FORK: return fork_configs(node, instantiate, arena);
    }
    return false;
}

static bool add_node(DseSpace *space, const Op *instantiate)
{
    DseNode node = {.process = symbol_lookup(instantiate, op_attr(instantiate, "callee")),
                    .port_count = instantiate->operand_count};
    for (size_t i = 0; i < space->nodes.len; i++)
        if (space->nodes.data[i].process == node.process)
            return op_error(instantiate, "instantiates a process a second time");
    if (op_attr(node.process, "report"))
        return op_error(node.process, "has its factors already");
    bool ok = node_configs(&node, instantiate, space->arena);
    if (ok && node.configs.len == 0)
        ok = op_error(node.process, "needs words of more than %d bits", MAX_WORD_BITS);
    *vec_push(&space->nodes) = node;
    return ok;
}

/* The node and port at a channel's end; false where the end is connected to a region port. */
static bool end_of(const PtrMap *index, const Value *end, uint32_t *node, uint32_t *port)
{
    const Use *use = end->uses;
    uintptr_t number = (uintptr_t)ptrmap_get(index, use->owner);
    *node = (uint32_t)(number - 1);
    *port = use_index(use);
    return number != 0;
}

static void add_edge(DseSpace *space, const PtrMap *index, const Op *channel)
{
    DseEdge edge;
    if (end_of(index, op_result(channel, 0), &edge.from, &edge.from_port) &&
        end_of(index, op_result(channel, 1), &edge.to, &edge.to_port))
        *vec_push(&space->edges) = edge;
}

bool dse_space(const Op *region, Arena *arena, DseSpace *out)
{
    PtrMap index = {0};
    bool ok = true;
    *out = (DseSpace){.arena = arena, .region = region};
    Block *body = region_entry(op_region(region, 0));
    FOR_EACH_OP(op, body)
    {
        if (op->def != DFG(INSTANTIATE))
            continue;
        ok = ok && add_node(out, op);
        ptrmap_put(&index, op, (void *)(uintptr_t)out->nodes.len);
    }
    FOR_EACH_OP(op, body)
    if (ok && op->def == DFG(CHANNEL))
        add_edge(out, &index, op);
    ptrmap_free(&index);
    if (!ok)
        dse_free(out);
    return ok;
}

void dse_free(DseSpace *space)
{
    for (size_t i = 0; i < space->nodes.len; i++)
        vec_free(&space->nodes.data[i].configs);
    vec_free(&space->nodes);
    vec_free(&space->edges);
}

Cost dse_total(const DseSpace *space)
{
    Cost total = {0};
    for (size_t i = 0; i < space->nodes.len; i++) {
        const DseNode *node = &space->nodes.data[i];
        const Cost *cost = &node->configs.data[node->chosen].cost;
        total.cycles += cost->cycles;
        total.dsp += cost->dsp;
        total.bram18 += cost->bram18;
    }
    return total;
}
