/* Configurations of compute processes: unroll factors of the main kernel's loops, and the words
 * that follow from them. A factor divides its loop's trip count or nearly does. The loops that may
 * unroll are those of reductions and those of the two innermost dimensions of the output, channels
 * and pixels. Factors given beforehand (dfg.unroll) are kept.
 * Tests: lit/target/dse/choose-unroll.mir, lit/target/dse/choose-unroll-pinned.mir */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/linalg/linalg.h"
#include "ir/asm/print/print.h"
#include "target/dse/internal.h"

typedef struct Candidates {
    DseSpace *space;
    DseNode *node;
    ComputeSchedule base;
    uint32_t loops[KERNEL_MAX_LOOPS]; /* that may be unrolled */
    uint32_t count;
    int pixel_loop;            /* of the output's second dimension from inside, or -1 */
    DseEpilogue *epilogues[2]; /* that may be split off: all of it, or from a sum on; or NULL */
    Binding choices;           /* of the kernel, whatever its factors */
    int64_t unroll[KERNEL_MAX_LOOPS];
} Candidates;

/* Whether the kernel was given its factors beforehand (dfg.unroll). */
static bool is_pinned(const ComputeSchedule *sched)
{
    return op_attr(sched->main, DFG_ATTR_UNROLL) != NULL;
}

/* Words of a stream hold as many elements of each dimension as its loop takes at once, unless they
 * hold the whole dimension already, as they do for the kernel of a window. */
static const Type *input_end(const ComputeSchedule *base, uint32_t stream, const int64_t *unroll)
{
    uint32_t operand = base->stream_operand[stream];
    const AffineMap *map = linalg_operand_map(base->main, operand);
    const Type *tensor = op_operand(base->main, operand)->type;
    int64_t word[2 * DFG_MAX_RANK];
    if (!sched_compute_input_word(base, stream, word)) return NULL;
    for (uint32_t r = 0; r < map->result_count; r++)
        if (map->results[r]->kind == AFFINE_DIM && word[r] != tensor->u.shaped.dims[r])
            word[r] = unroll[map->results[r]->value];
    return sched_port_end(base->process, base->stream_port[stream], tensor, word);
}

/* The end of a port that has the words of the result. */
static const Type *result_end(const ComputeSchedule *base, uint32_t port, const int64_t *unroll)
{
    const AffineMap *map = sched_compute_output_map(base);
    int64_t word[2 * DFG_MAX_RANK];
    for (uint32_t r = 0; r < map->result_count; r++) word[r] = unroll[map->results[r]->value];
    return sched_port_end(base->process, port, op_result(base->main, 0)->type, word);
}

static const Type *output_end(const ComputeSchedule *base, const int64_t *unroll)
{
    return result_end(base, base->output_port, unroll);
}

bool dse_compute_ends(const ComputeSchedule *base, const int64_t *unroll, const Type **ends)
{
    for (uint32_t s = 0; s < base->stream_count; s++)
        if (!(ends[base->stream_port[s]] = input_end(base, s, unroll))) return false;
    for (uint32_t j = 0; j < base->join_count; j++)
        if (!(ends[base->joins[j].port] = result_end(base, base->joins[j].port, unroll)))
            return false;
    return (ends[base->output_port] = output_end(base, unroll)) != NULL;
}

int dse_output_loop(const ComputeSchedule *sched, uint32_t from_inside)
{
    const AffineMap *map = sched_compute_output_map(sched);
    for (uint32_t r = map->result_count; r-- > 0;) {
        int64_t loop = map->results[r]->value;
        if (sched->kernel.extents[loop] > 1 && from_inside-- == 0) return (int)loop;
    }
    return -1;
}

/* Whether streams lack loops that others have, as those of a product of matrices. Then words are
 * boxes, which lanes along another loop do not make larger. */
static bool has_partial_streams(const ComputeSchedule *sched)
{
    for (uint32_t s = 1; s < sched->stream_count; s++)
        if (sched->moves[s] != sched->moves[0]) return true;
    return false;
}

/* A reduction unrolls if its elements may arrive in one word: it is the stream's innermost dimension,
 * the one outside of that (pixels, of which kernels give several in a word), a window's kernel dimension
 * (whole in every word), or not streamed at all. */
static bool arrives_together(const ComputeSchedule *sched, uint32_t loop)
{
    if (sched->stream_count == 0 || has_partial_streams(sched)) return true;
    const AffineMap *map = linalg_operand_map(sched->main, sched->stream_operand[0]);
    const Type *tensor = op_operand(sched->main, sched->stream_operand[0])->type;
    int64_t word[2 * DFG_MAX_RANK];
    int r = map_result_of_dim(map, loop);
    return r < 0 || (uint32_t)r + 2 >= map->result_count ||
           (sched_compute_input_word(sched, 0, word) && word[r] == tensor->u.shaped.dims[r]);
}

static void select_loops(Candidates *c)
{
    const ComputeSchedule *sched = &c->base;
    int channel_loop = dse_output_loop(sched, 0);
    c->pixel_loop = dse_output_loop(sched, 1);
    for (uint32_t i = 0; i < sched->kernel.loop_count; i++) {
        bool wanted = sched->kernel.is_reduction[i]
                          ? arrives_together(sched, i)
                          : (int)i == channel_loop || (int)i == c->pixel_loop;
        c->unroll[i] = 1;
        if (wanted && sched->kernel.extents[i] > 1) c->loops[c->count++] = i;
    }
}

/* Elements of an iteration of the candidate, or lanes of its output. */
static int64_t count_parallel(const Candidates *c, bool of_output)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < c->base.kernel.loop_count; i++)
        if (!of_output || !c->base.kernel.is_reduction[i]) count *= c->unroll[i];
    return count;
}

/* Whether counts of bits of that many lanes and elements are not too many: synthesis copies a count
 * for each lane and pair of planes, whatever the bits of its words. */
static bool counts_fit(const Candidates *c, int64_t lanes, int64_t elements)
{
    const PopcountOperand *x = c->base.popcount.operands;
    int64_t pairs = x[0].planes * x[1].planes;
    return lanes <= MAX_PARALLEL_ELEMENTS * dse_scale(&c->space->target) &&
           lanes * pairs <= EMITHLS_MAX_COPIES && elements * pairs <= MAX_COUNTED_BITS;
}

/* Whether the candidate, of this schedule, may have a binding. Words of a stream's bits are put
 * together bit by bit. */
static bool binding_fits(const Candidates *c, const ComputeSchedule *sched, const Binding *binding)
{
    bool counts = strcmp(cost_multiplier(c->base.main, binding), DFG_MULTIPLIER_POPCOUNT) == 0;
    int64_t elements = sched->lanes * sched->reduction_lanes;
    return is_pinned(&c->base) ||
           elements <= MAX_PARALLEL_ELEMENTS * dse_scale(&c->space->target) ||
           (counts && counts_fit(c, sched->lanes, elements) &&
            sched_popcount_gathered(sched) <= EMITHLS_MAX_COPIES);
}

static bool candidate_fits(const Candidates *c, const Type *const *ends)
{
    int64_t scale = dse_scale(&c->space->target), elements = count_parallel(c, false);
    bool may_count =
        c->choices.popcount || sched_multiplier_is(c->base.main, DFG_MULTIPLIER_POPCOUNT);
    if (elements > MAX_PARALLEL_ELEMENTS * scale &&
        !(may_count && counts_fit(c, count_parallel(c, true), elements))) {
        c->node->most_parallel = may_count ? MAX_COUNTED_BITS : MAX_PARALLEL_ELEMENTS * scale;
        return false;
    }
    return (c->pixel_loop < 0 || c->unroll[c->pixel_loop] <= MAX_PIXELS * scale ||
            has_partial_streams(&c->base)) &&
           dse_words_fit(c->node, ends);
}

static bool has_shape_of_sums(const ComputeSchedule *sched, const Type *type)
{
    const Type *sums = op_result(sched->main, 0)->type;
    if (type->u.shaped.rank != sums->u.shaped.rank) return false;
    for (uint32_t i = 0; i < sums->u.shaped.rank; i++)
        if (type->u.shaped.dims[i] != sums->u.shaped.dims[i]) return false;
    return true;
}

/* Leaves out the stages from `from` on, and what they join. */
static void cut_stages(ComputeSchedule *sched, uint32_t from)
{
    sched->stage_count = from;
    while (sched->join_count && sched->joins[sched->join_count - 1].stage >= from)
        sched->join_count--;
    sched->starts_from_join = sched->starts_from_join && from > 0;
}

/* The share of the pixels of stream 0 behind the first one that a result needs; of a single pixel the
 * whole. */
static double wait_for_result(const ComputeSchedule *sched)
{
    double pixels = 1, needed = 1;
    bool is_inner = true;
    for (uint32_t i = sched->loop_count; sched->stream_count && i-- > 0;) {
        if (!sched_chooses_word(sched, 0, i)) continue;
        if (!is_inner) {
            pixels *= (double)sched->loops[i].trip;
            needed *= sched->loops[i].is_reduction ? (double)sched->loops[i].trip : 1;
        }
        is_inner = false;
    }
    return pixels > 1 ? (needed - 1) / (pixels - 1) : 1;
}

static void set_order(Config *config, const ComputeSchedule *sched)
{
    config->by_results = sched_order_is(sched->main, DFG_ORDER_RESULTS);
    config->pace = (ConfigPace){.tail = config->by_results ? sched_compute_tail(sched) : 0,
                                .pitch = sched_compute_pitch(sched),
                                .absorb = sched_compute_absorb(sched),
                                .rest = sched_compute_rest(sched),
                                .pixel = sched_compute_pixel(sched),
                                .words = sched_compute_pixel_words(sched),
                                .wait = wait_for_result(sched)};
}

/* The same factors with the epilogue split off. */
static bool add_splits(Candidates *c, DseEpilogue *epilogue, const Type *const *ends)
{
    uint32_t from = dse_epilogue_from(epilogue);
    ComputeSchedule sched;
    Binding binding, choices;
    Cost cost;
    int64_t word[DFG_MAX_RANK];
    const Type *sums[SCHED_MAX_STREAMS + 1];
    memcpy(sums, ends, c->node->port_count * sizeof(*ends));
    if (!sched_compute(c->node->process, c->unroll, sums, &sched)) return false;
    cut_stages(&sched, from);
    sched_compute_output_word(&sched, word);
    const Type *given = op_result(from ? sched.stages[from - 1] : sched.main, 0)->type;
    if (!has_shape_of_sums(&sched, given)) return true;
    const Type *end = dfg_end_type(&dfg_type_input, given, word);
    sums[sched.output_port] = end;
    if (dse_word_bits(end) > MAX_WORD_BITS) return true;
    cost_compute_choices(&sched, &c->space->target, &choices);
    for (uint32_t n = 0; n < BINDING_COUNT; n++) {
        if (!dse_binding_variant(&choices, n, &binding) || !binding_fits(c, &sched, &binding))
            continue;
        cost_compute(&sched, &binding, &c->space->target, &cost);
        Config main = dse_config(c->space, c->node, &cost, sums, c->unroll, &binding);
        set_order(&main, &sched);
        if (!dse_add_splits(epilogue, c->node, &main, end, sched.accumulators)) return false;
    }
    return true;
}

static bool add_candidate(Candidates *c, const Type *const *ends)
{
    ComputeSchedule sched;
    Binding binding, choices;
    Cost cost;
    if (!sched_compute(c->node->process, c->unroll, ends, &sched)) return false;
    cost_compute_choices(&sched, &c->space->target, &choices);
    for (uint32_t n = 0; n < BINDING_COUNT; n++) {
        if (!dse_binding_variant(&choices, n, &binding) || !binding_fits(c, &sched, &binding))
            continue;
        cost_compute(&sched, &binding, &c->space->target, &cost);
        Config config = dse_config(c->space, c->node, &cost, ends, c->unroll, &binding);
        set_order(&config, &sched);
        *vec_push(&c->node->configs) = config;
    }
    for (int i = 0; i < 2; i++)
        if (c->epilogues[i] && !add_splits(c, c->epilogues[i], ends)) return false;
    return true;
}

/* A divisor of the extent, or a factor whose parts overlap by less than a quarter of it. */
static bool is_worth_it(const Candidates *c, uint32_t loop, int64_t factor)
{
    LoopParts parts;
    int64_t extent = c->base.kernel.extents[loop];
    return sched_compute_parts(&c->base, loop, factor, &parts) &&
           4 * parts.trip * factor < 5 * extent;
}

/* All combinations of factors of the loops from `depth` on. */
static bool enumerate(Candidates *c, uint32_t depth)
{
    const Type *ends[SCHED_MAX_STREAMS + 1];
    if (depth == c->count)
        return !dse_compute_ends(&c->base, c->unroll, ends) || !candidate_fits(c, ends) ||
               add_candidate(c, ends);
    uint32_t loop = c->loops[depth];
    for (int64_t u = 1; u <= c->base.kernel.extents[loop] && u <= MAX_PARALLEL_ELEMENTS; u++) {
        if (!is_worth_it(c, loop, u)) continue;
        c->unroll[loop] = u;
        if (!enumerate(c, depth + 1)) return false;
    }
    c->unroll[loop] = 1;
    return true;
}

/* The words that were given beforehand, of which those of the output follow from the factors.
 * False: diagnosed. */
static bool given_ends(const ComputeSchedule *base, const int64_t *unroll, const Type **ends)
{
    for (uint32_t i = 0; i <= base->stream_count + base->join_count; i++)
        if (!(ends[i] = dse_given_end(base->process, i))) return false;
    for (uint32_t j = 0; j < base->join_count; j++)
        if (ends[base->joins[j].port] != result_end(base, base->joins[j].port, unroll))
            return op_error(base->process, "has words for port %u that its factors do not give",
                            base->joins[j].port);
    return ends[base->output_port] == output_end(base, unroll) ||
           op_error(base->process, "has words for port %u that its factors do not give",
                    base->output_port);
}

/* Those factors, KERNEL_MAX_LOOPS entries, and the types that the ports need. False: diagnosed. */
static bool pinned_ends(const ComputeSchedule *base, int64_t *unroll, const Type **ends)
{
    if (!sched_compute_unroll_attr(base, unroll)) return false;
    if (dse_has_given_words(base->process)) return given_ends(base, unroll, ends);
    return dse_compute_ends(base, unroll, ends) ||
           op_error(base->main, "has unroll factors that the words at its process's ports cannot "
                                "follow: a reshaped frame packs its innermost dimension only");
}

bool dse_pinned_end(const Op *process, uint32_t port, const Type **end)
{
    ProcessKind kind;
    ComputeSchedule base;
    int64_t unroll[KERNEL_MAX_LOOPS];
    const Type *ends[SCHED_MAX_STREAMS + 1];
    if (dse_has_given_words(process)) return (*end = dse_given_end(process, port)) != NULL;
    if (!sched_process_kind(process, &kind)) return false;
    if (kind != PROCESS_COMPUTE) return true;
    if (!sched_compute_base(process, &base)) return false;
    if (!is_pinned(&base)) return true;
    if (!pinned_ends(&base, unroll, ends)) return false;
    *end = ends[port];
    return true;
}

/* A kernel that is to count bits must be able to. */
static bool check_popcount(const ComputeSchedule *base)
{
    return base->popcount.product || !sched_multiplier_is(base->main, DFG_MULTIPLIER_POPCOUNT) ||
           op_error(base->main,
                    "has no sum of products that counts of bits could make: those have "
                    "operands of at most %d pairs of bits",
                    POPCOUNT_MOST_PAIRS);
}

static bool add_configs(DseSpace *space, DseNode *node)
{
    Candidates c = {.space = space, .node = node};
    const Type *ends[SCHED_MAX_STREAMS + 1];
    if (!sched_compute_base(node->process, &c.base) || !check_popcount(&c.base)) return false;
    if (is_pinned(&c.base)) return pinned_ends(&c.base, c.unroll, ends) && add_candidate(&c, ends);
    select_loops(&c);
    cost_compute_choices(&c.base, &space->target, &c.choices);
    c.epilogues[0] = dse_epilogue_create(space, node, &c.base, 0);
    uint32_t sum = dse_stage_of_sum(&c.base);
    if (sum) c.epilogues[1] = dse_epilogue_create(space, node, &c.base, sum);
    bool ok = enumerate(&c, 0);
    for (int i = 0; i < 2; i++) dse_epilogue_free(c.epilogues[i]);
    return ok;
}

static Op *main_of(const Op *process)
{
    FOR_EACH_OP(op, region_entry(op_region(process, 0)))
        if (op->def == LINALG(GENERIC)) return op;
    return NULL;
}

static void complete_results(Op *process)
{
    op_set_attr(main_of(process), DFG_ATTR_ORDER, attr_string_c(process->ctx, DFG_ORDER_RESULTS));
}

/* The same process with other forms of its requantizers, or another order of its loops, which stands
 * behind it meanwhile. */
static bool add_variant(DseSpace *space, DseNode *node, uint32_t variant, bool by_results)
{
    const Op *process = node->process;
    size_t before = node->configs.len;
    Op *copy = op_clone(process, NULL);
    op_insert_after(copy, (Op *)(uintptr_t)process);
    dse_set_forms(copy, variant, space->target.clock, NULL);
    if (by_results) complete_results(copy);
    node->process = copy;
    bool ok = add_configs(space, node);
    node->process = process;
    op_erase(copy);
    for (size_t i = before; i < node->configs.len; i++) node->configs.data[i].forms = variant;
    return ok;
}

/* Whether results that are worked on in turn may be completed one after another instead. */
static bool may_complete_results(const DseSpace *space, const Op *process)
{
    ComputeSchedule sched;
    DiagHold hold;
    if (!space->target.tries_orders || op_attr(main_of(process), DFG_ATTR_ORDER) ||
        !sched_compute_base(process, &sched) || sched.accumulators == 1)
        return false;
    Op *copy = op_clone(process, NULL);
    op_insert_after(copy, (Op *)(uintptr_t)process);
    complete_results(copy);
    diag_hold_begin(&hold, process->ctx);
    bool may = sched_compute_base(copy, &sched);
    diag_hold_drop(&hold);
    op_erase(copy);
    return may;
}

bool dse_compute_configs(DseSpace *space, DseNode *node)
{
    uint32_t variants = dse_form_variants(node->process, space->target.clock);
    bool ok = add_configs(space, node);
    uint32_t orders = ok && may_complete_results(space, node->process) ? 2 : 1;
    for (uint32_t v = 1; ok && v < variants * orders; v++)
        ok = add_variant(space, node, v % variants, v >= variants);
    return ok;
}
