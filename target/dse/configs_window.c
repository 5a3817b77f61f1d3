/* Configurations of processes that pass data on. Windows choose channels and pixels per word. Forks
 * and copies take the words of their neighbours, since they can then go without converters.
 * Tests: lit/target/dse/choose-unroll.mir, lit/target/dse/choose-unroll-pinned.mir */
#include "ir/core/core.h"
#include "target/cost/cost.h"
#include "target/dse/internal.h"

typedef struct Windows {
    DseSpace *space;
    DseNode *node;
    WindowSchedule base;
    WindowParams params;
    const Type *source; /* the tensor that the window slides over */
    int64_t *elements;  /* per port: that its FIFO is estimated to hold beyond the usual */
} Windows;

/* Adds the deep FIFOs where branches part, those of blocks as `kind` if they may be that. `elements`
 * are what each holds. False: none may be. */
static bool add_deep_fifos(const DseNode *node, const int64_t *elements, const Type *const *ends,
                           FifoKind kind, Cost *sum)
{
    bool is_any = false;
    for (uint32_t i = 0; i < node->port_count; i++) {
        int64_t bits = dse_word_bits(ends[i]);
        int64_t words = elements[i] / dfg_word_elems(ends[i]);
        bool is_small = memory_is_small(bits, words);
        bool may_be = !is_small && bits * words <= MEMORY_MOST_LUTRAM;
        if (elements[i] > 0)
            memory_fifo_cost(is_small ? FIFO_SRL
                             : may_be ? kind
                                      : FIFO_BRAM,
                             bits, words, STRUCTURE_HLS, sum);
        is_any |= elements[i] > 0 && may_be;
    }
    return is_any;
}

/* Adds a configuration with deep FIFOs of blocks, and one with FIFOs of LUTRAM where fit-fifos may
 * take that instead. */
static void add_with_fifos(DseSpace *space, DseNode *node, const int64_t *elements,
                           const Cost *cost, const Type *const *ends, const Binding *binding)
{
    Cost blocks = *cost, lutram = *cost;
    add_deep_fifos(node, elements, ends, FIFO_BRAM, &blocks);
    dse_add_config(space, node, &blocks, ends, NULL, binding);
    if (space->target.counts_luts && add_deep_fifos(node, elements, ends, FIFO_LUTRAM, &lutram))
        dse_add_config(space, node, &lutram, ends, NULL, binding);
}

/* Whether words of `pixels` positions of window dimension i serve output words of `outputs`. */
static bool serves(const WindowParams *w, uint32_t i, int64_t pixels, int64_t outputs)
{
    return w->in[w->first + i] % pixels == 0 && outputs * w->stride[i] % pixels == 0;
}

/* Outer window dimensions come row by row, unless the output has several rows per word. */
static int64_t input_rows(const WindowParams *w, uint32_t i, int64_t outputs)
{
    int64_t pixels = outputs == 1 ? 1 : outputs * w->stride[i];
    while (!serves(w, i, pixels, outputs)) pixels--;
    return pixels;
}

static bool add_window(Windows *s, const Type *const *ends, bool is_pinned)
{
    WindowSchedule sched;
    Binding binding, choices;
    Cost cost;
    if (!ends[0] || (!is_pinned && !dse_words_fit(s->node, ends))) return true;
    if (!sched_window(s->node->process, ends, &sched)) return false;
    cost_window_choices(&sched, &s->space->target, &choices);
    for (uint32_t n = 0; n < BINDING_COUNT; n++) {
        if (!dse_binding_variant(&choices, n, &binding)) continue;
        cost_window(&sched, &binding, &s->space->target, &cost);
        add_with_fifos(s->space, s->node, s->elements, &cost, ends, &binding);
    }
    return true;
}

/* The words of the parts that go with words `out` of the whole windows. */
static const Type *part_end(const Windows *s, uint32_t part, const Type *out)
{
    const WindowParams *w = &s->params;
    const WindowPart *taps = &s->base.parts[part];
    const Type *end = dfg_port(s->node->process, 1 + part)->type;
    int64_t whole[2 * DFG_MAX_RANK], word[2 * DFG_MAX_RANK];
    uint32_t kernel = w->first + w->count, n = 0;
    dfg_word(out, whole);
    for (uint32_t i = 0; i < w->rank + w->count; i++) {
        bool is_tap = i >= kernel && i < kernel + w->count;
        if (!is_tap || taps->has_taps) word[n++] = is_tap ? taps->taps[i - kernel] : whole[i];
    }
    return dfg_end_type(end->u.dialect.def, dfg_payload(end), word);
}

/* For an output whose words are `out`: the inputs that serve it, with any number of positions of
 * the innermost window dimension. */
static bool add_inputs(Windows *s, const Type *out, bool is_pinned)
{
    const WindowParams *w = &s->params;
    int64_t word[2 * DFG_MAX_RANK], in[DFG_MAX_RANK];
    uint32_t kernel = w->first + w->count, pixel = kernel - 1;
    dfg_word(out, word);
    for (uint32_t i = 0; i < w->rank; i++)
        in[i] = i < w->first ? word[i]
                : i < kernel ? input_rows(w, i - w->first, word[i])
                             : word[i + w->count];
    for (int64_t q = 1; q <= word[pixel] * w->stride[w->count - 1] && q <= w->in[pixel]; q++) {
        in[pixel] = q;
        const Type *ends[1 + SCHED_MAX_PARTS] = {sched_port_end(s->node->process, 0, s->source, in),
                                                 out};
        for (uint32_t i = 1; i < s->base.part_count; i++) ends[1 + i] = part_end(s, i, out);
        if (serves(w, w->count - 1, q, word[pixel]) && !add_window(s, ends, is_pinned))
            return false;
    }
    return true;
}

/* Windows of `channels` elements of the innermost dimension and `pixels` positions. */
static bool add_words(Windows *s, int64_t channels, int64_t pixels)
{
    const WindowParams *w = &s->params;
    const Type *end = dfg_port(s->node->process, 1)->type;
    int64_t word[2 * DFG_MAX_RANK];
    uint32_t kernel = w->first + w->count;
    dfg_word(end, word);
    if (kernel < w->rank) word[w->rank + w->count - 1] = channels;
    word[kernel - 1] = pixels;
    const Type *out = dfg_end_type(end->u.dialect.def, dfg_payload(end), word);
    return add_inputs(s, out, false);
}

/* The process that reads what is sent into `end`, or NULL for a region port. */
static const Op *reader(const Value *end)
{
    const Op *channel = value_def(end);
    const Use *use = channel ? op_result(channel, 1)->uses : NULL;
    if (!use || use->owner->def != DFG(INSTANTIATE)) return NULL;
    return symbol_lookup(use->owner, op_attr(use->owner, "callee"));
}

/* The end that was given, or that the reader's given factors demand; *out stays NULL if there is
 * neither. */
static bool demanded_end(const Op *window, const Op *process, const Type **out)
{
    if (dse_has_given_words(window)) return (*out = dse_given_end(window, 1)) != NULL;
    return !process || dse_pinned_end(process, 0, out);
}

/* The same end as the sender has it. */
static const Type *as_sender(const Type *end)
{
    return type_dialect(end->ctx, &dfg_type_input, end->u.dialect.params,
                        end->u.dialect.param_count);
}

bool dse_window_configs(DseSpace *space, DseNode *node, const Op *instantiate)
{
    const Type *demanded = NULL;
    Windows s = {.space = space,
                 .node = node,
                 .elements = ARENA_ARRAY(space->arena, int64_t, node->port_count)};
    if (!sched_window(node->process, NULL, &s.base) ||
        !demanded_end(node->process, reader(op_operand(instantiate, 1)), &demanded) ||
        !cost_branch_elements(instantiate, s.elements))
        return false;
    s.params = s.base.params;
    s.source = op_operand(s.base.window, 0)->type;
    const WindowParams *w = &s.params;
    if (demanded) return add_inputs(&s, as_sender(demanded), true);
    int64_t channels = w->first + w->count < w->rank ? w->in[w->rank - 1] : 1;
    int64_t pixels = MAX_PIXELS * dse_scale(&space->target);
    for (int64_t c = 1; c <= channels && c <= MAX_PARALLEL_ELEMENTS; c++)
        for (int64_t p = 1; p <= w->out[w->count - 1] && p <= pixels; p++)
            if (channels % c == 0 && w->out[w->count - 1] % p == 0 && !add_words(&s, c, p))
                return false;
    return true;
}

typedef struct Fork {
    DseSpace *space;
    DseNode *node;
    int64_t *elements; /* per port: that its FIFO is estimated to hold beyond the usual */
} Fork;

/* Adds the configuration with words of this shape at the input. Words that are too wide are taken
 * only if the ports have them anyway. */
static void add_fork(const Fork *fork, const int64_t *word)
{
    const Op *process = fork->node->process;
    const Type *in = sched_port_end(process, 0, dfg_payload(dfg_port(process, 0)->type), word);
    const Type **ends = ARENA_ARRAY(fork->space->arena, const Type *, fork->node->port_count);
    int64_t inside[2 * DFG_MAX_RANK];
    Cost cost;
    if (!in) return;
    ends[0] = in;
    for (uint32_t i = 1; i < fork->node->port_count; i++) {
        const Type *end = dfg_port(process, i)->type;
        dfg_word(in, inside);
        ends[i] = sched_port_end(process, i, dfg_payload(in), inside);
        if (!ends[i] || type_elem(dfg_payload(end)) != type_elem(dfg_payload(in))) return;
    }
    if (!dse_words_fit(fork->node, ends)) return;
    cost_fork(in, &fork->space->target, &cost);
    add_with_fifos(fork->space, fork->node, fork->elements, &cost, ends, NULL);
}

/* Adds configurations with the words that a neighbour has at the other end of a channel. */
static void add_neighbour(const Fork *fork, uint32_t number, uint32_t port)
{
    const DseNode *node = &fork->space->nodes.data[number];
    int64_t word[2 * DFG_MAX_RANK];
    const Type *payload = dfg_payload(dfg_port(fork->node->process, 0)->type);
    for (size_t c = 0; c < node->configs.len; c++) {
        const Type *end = fork->space->words.data[node->configs.data[c].word[port]];
        dfg_word(end, word);
        if (dfg_payload(end) == payload) add_fork(fork, word);
    }
}

static void add_innermost(const Fork *fork)
{
    const Type *frame = dfg_payload(dfg_port(fork->node->process, 0)->type);
    uint32_t rank = frame->u.shaped.rank;
    int64_t word[2 * DFG_MAX_RANK], extent = rank ? frame->u.shaped.dims[rank - 1] : 1;
    for (uint32_t i = 0; i < rank; i++) word[i] = 1;
    for (int64_t u = 1; u <= extent && u <= MAX_PARALLEL_ELEMENTS; u++) {
        if (rank) word[rank - 1] = u;
        if (extent % u == 0) add_fork(fork, word);
    }
}

static bool add_given(const Fork *fork)
{
    int64_t word[2 * DFG_MAX_RANK];
    const Type *end = dse_given_end(fork->node->process, 0);
    if (!end) return false;
    dfg_word(end, word);
    add_fork(fork, word);
    return true;
}

bool dse_fork_configs(DseSpace *space, uint32_t number, const Op *instantiate)
{
    DseNode *node = &space->nodes.data[number];
    Fork fork = {space, node, ARENA_ARRAY(space->arena, int64_t, node->port_count)};
    if (!cost_branch_elements(instantiate, fork.elements)) return false;
    if (dse_has_given_words(node->process)) return add_given(&fork);
    add_innermost(&fork);
    for (size_t e = 0; e < space->edges.len; e++) {
        const DseEdge *edge = &space->edges.data[e];
        if (edge->from == number) add_neighbour(&fork, edge->to, edge->to_port);
        if (edge->to == number) add_neighbour(&fork, edge->from, edge->from_port);
    }
    return true;
}
