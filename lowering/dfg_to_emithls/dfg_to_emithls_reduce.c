/* The accumulators of a compute process, one per result of its main kernel, of which the first is
 * written. The terms of an iteration are joined first, then they are taken into the accumulator, so
 * that a recurrence passes a single operator:
 *
 *   total      = the terms' sum
 *   sum[lane]  = (first iteration ? initial value : partial[lane]) + total
 *   partial[lane] = sum[lane]
 *
 * The initial value may be that of the kernel with a joined stream added to it (starts_from_join).
 * `sum` holds this iteration's accumulators. If other accumulators wait meanwhile, they wait in
 * `partial`. If an update takes longer than the next one may wait, `turns` delays partial sums,
 * which a tree adds up at the end.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-compute.mir,
 * lit/lowering/dfg_to_emithls/dfg-to-emithls-reduction.mir */
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "lowering/dfg_to_emithls/internal.h"

static const Type *sum_type(const ComputeLowering *c, uint32_t result)
{
    return type_elem(op_result(c->sched.main, result)->type);
}

static const char *const sum_names[SCHED_MAX_RESULTS] = {"sum", "sum2", "sum3", "sum4"};
static const char *const partial_names[SCHED_MAX_RESULTS] = {"partial", "partial2", "partial3",
                                                             "partial4"};

static void declare_partial(ComputeLowering *c, uint32_t result)
{
    EmithlsNest *nest = &c->l->nest;
    int64_t dims[SCHED_MAX_LOOPS + 1];
    uint32_t rank = 0;
    for (uint32_t i = c->sched.first_reduction; i < c->sched.loop_count; i++)
        if (!c->sched.loops[i].is_reduction) dims[rank++] = c->sched.loops[i].trip;
    if (c->sched.lanes > 1) dims[rank++] = c->sched.lanes;
    Value *partial =
        emithls_nest_variable(nest, partial_names[result], sum_type(c, result), dims, rank);
    c->partial[result] = partial;
    if (sched_sums_in_registers(&c->sched)) {
        for (uint32_t i = 1; i <= rank; i++) emithls_nest_partition(nest, partial, i);
        emithls_nest_temporary(nest, partial);
        return;
    }
    Str storage = to_emithls_storage_of(c->sched.main, 0);
    if (c->sched.lanes > 1) to_emithls_join_dim(nest, partial, rank, storage);
    emithls_nest_bind(nest, partial, "ram_s2p", storage);
    emithls_nest_dependence(nest, partial,
                            c->sched.reduction.run ? c->sched.accumulators
                                                   : c->sched.reduction.distance);
}

/* turns[delay][lanes], registers: entry d holds what `sum` was d + 1 iterations ago. */
static void declare_turns(ComputeLowering *c)
{
    EmithlsNest *nest = &c->l->nest;
    int64_t dims[2] = {c->sched.reduction.turns * c->sched.reduction.distance, c->sched.lanes};
    uint32_t rank = c->sched.lanes > 1 ? 2 : 1;
    c->turns = emithls_nest_variable(nest, "turns", sum_type(c, 0), dims, rank);
    for (uint32_t i = 1; i <= rank; i++) emithls_nest_partition(nest, c->turns, i);
}

static void declare_sums(ComputeLowering *c)
{
    EmithlsNest *nest = &c->l->nest;
    int64_t lanes = c->sched.lanes;
    for (uint32_t i = 0; i < c->sched.main->result_count; i++) {
        c->sum[i] =
            emithls_nest_variable(nest, sum_names[i], sum_type(c, i), &lanes, lanes > 1 ? 1 : 0);
        if (lanes > 1) emithls_nest_partition(nest, c->sum[i], 1);
    }
}

/* Whether `sum` holds what a later iteration goes on with. */
static bool sums_stay(const ComputeLowering *c)
{
    bool waits = c->sched.accumulators > 1 && c->sched.reduction.run == 0;
    return !waits && c->sched.reduction.turns == 1 && to_emithls_edge(c, 0, true, false).count > 0;
}

void to_emithls_declare_accumulators(ComputeLowering *c)
{
    if (sums_stay(c)) declare_sums(c);
    for (uint32_t i = 0; c->sum[i] && c->sched.lanes > 1 && i < c->sched.main->result_count; i++)
        emithls_nest_temporary(&c->l->nest, c->sum[i]);
    if (c->sched.reduction.turns > 1)
        declare_turns(c);
    else
        for (uint32_t i = 0; c->sched.accumulators > 1 && i < c->sched.main->result_count; i++)
            declare_partial(c, i);
}

/* Index of a lane's accumulator among those that are updated in turn. */
static uint32_t partial_index(const ComputeLowering *c, const AffineExpr **index)
{
    uint32_t n = 0;
    for (uint32_t i = c->sched.first_reduction; i < c->sched.loop_count; i++)
        if (!c->sched.loops[i].is_reduction) index[n++] = to_emithls_counter(c, i);
    if (c->sched.lanes > 1) index[n++] = to_emithls_output_lane(c);
    return n;
}

static Value *load_partial(ComputeLowering *c, uint32_t result)
{
    const AffineExpr *index[SCHED_MAX_LOOPS + 1];
    return emithls_nest_load(&c->l->nest, c->partial[result], index, partial_index(c, index));
}

static Value *load_sum(ComputeLowering *c, uint32_t result)
{
    const AffineExpr *lane = to_emithls_output_lane(c);
    return emithls_nest_load(&c->l->nest, c->sum[result], &lane, c->sched.lanes > 1);
}

static void store_sum(ComputeLowering *c, uint32_t result, Value *value)
{
    const AffineExpr *lane = to_emithls_output_lane(c);
    emithls_nest_store(&c->l->nest, value, c->sum[result], &lane, c->sched.lanes > 1);
}

static Value *load_turn(ComputeLowering *c, const AffineExpr *delay)
{
    const AffineExpr *index[2] = {delay, to_emithls_output_lane(c)};
    return emithls_nest_load(&c->l->nest, c->turns, index, c->sched.lanes > 1 ? 2 : 1);
}

static void store_turn(ComputeLowering *c, Value *value, const AffineExpr *delay)
{
    const AffineExpr *index[2] = {delay, to_emithls_output_lane(c)};
    emithls_nest_store(&c->l->nest, value, c->turns, index, c->sched.lanes > 1 ? 2 : 1);
}

static Value *initial_value(ComputeLowering *c, uint32_t result)
{
    Value *initial =
        to_emithls_load_source(c, &c->sources[0][linalg_input_count(c->sched.main) + result]);
    initial = to_emithls_add_offset(c, initial);
    return c->sched.starts_from_join ? to_emithls_run_generic(c, 1, initial) : initial;
}

static Value *choose(ComputeLowering *c, const Edge *edge, Value *inside, Value *outside)
{
    EmithlsNest *nest = &c->l->nest;
    if (edge->count == 0) return inside;
    return arith_select(&nest->b,
                        emithls_nest_condition(nest, edge->exprs, edge->is_eq, edge->count), inside,
                        outside);
}

/* Takes a waiting accumulator up where its run of iterations begins. */
static void resume_run(ComputeLowering *c, uint32_t result)
{
    Edge start = to_emithls_edge(c, c->sched.loop_count - c->sched.reduction.run, false, false);
    NestMark mark = to_emithls_open_edge(c, &start);
    store_sum(c, result, load_partial(c, result));
    emithls_nest_close(&c->l->nest, mark);
}

/* first iteration of the reduction ? initial value : the accumulator so far */
static Value *started_sum(ComputeLowering *c, uint32_t result)
{
    Edge first = to_emithls_edge(c, 0, true, false);
    Value *initial = initial_value(c, result);
    if (first.count == 0) return initial;
    if (c->partial[result] && c->sched.reduction.run) resume_run(c, result);
    bool waits = c->partial[result] && !c->sched.reduction.run;
    Value *so_far = waits ? load_partial(c, result) : load_sum(c, result);
    Value *started = choose(c, &first, initial, so_far);
    op_set_attr(value_def(started), EMITHLS_ATTR_NAME, attr_string_c(c->ctx, "so_far"));
    return started;
}

/* Puts the accumulator back where its run of iterations ends. */
static void keep_partial(ComputeLowering *c, uint32_t result)
{
    Edge end = {.count = 0};
    const AffineExpr *index[SCHED_MAX_LOOPS + 1];
    if (c->sched.reduction.run)
        end = to_emithls_edge(c, c->sched.loop_count - c->sched.reduction.run, false, true);
    NestMark mark = to_emithls_open_edge(c, &end);
    uint32_t n = partial_index(c, index);
    emithls_nest_store(&c->l->nest, load_sum(c, result), c->partial[result], index, n);
    emithls_nest_close(&c->l->nest, mark);
}

/* acc joined with a term, or with another partial sum. */
static Value *joined(ComputeLowering *c, const OpDef *def, Value *acc, Value *term)
{
    Builder *b = &c->l->nest.b;
    Value *operands[2] = {acc, term}, *results[EXPAND_MAX_RESULTS];
    if (to_emithls_expand_scalar(b, c->sched.reduction.combine, operands, results))
        return results[0];
    return build_binary(b, def, acc->type, acc, term);
}

/* Joins array[0 .. count - 1] pair by pair: array[i] += array[i + half], until one is left. */
static Value *join_all(ComputeLowering *c, Value *array, int64_t count)
{
    EmithlsNest *nest = &c->l->nest;
    const OpDef *join = sched_reduction_join(c->sched.reduction.combine);
    while (count > 1) {
        int64_t half = (count + 1) / 2;
        LoopSpec loop = {"i", count - half};
        const AffineExpr *i = affine_dim(c->ctx, nest->count), *other = affine_add_c(i, half);
        NestMark mark = emithls_nest_open(nest, "join", &loop, 1, LOOP_UNROLLED, -1, -1);
        Value *left = emithls_nest_load(nest, array, &i, 1),
              *right = emithls_nest_load(nest, array, &other, 1);
        emithls_nest_store(nest, joined(c, join, left, right), array, &i, 1);
        emithls_nest_close(nest, mark);
        count = half;
    }
    const AffineExpr *first = affine_const(c->ctx, 0);
    return emithls_nest_load(nest, array, &first, 1);
}

const AffineExpr *to_emithls_term_lane(const ComputeLowering *c)
{
    const AffineExpr *lane = affine_const(c->ctx, 0);
    for (uint32_t i = 0; i < c->sched.kernel.loop_count; i++)
        if (c->sched.kernel.is_reduction[i])
            lane = affine_add(affine_mul_c(lane, c->sched.unroll[i]), c->lane[i]);
    return lane;
}

Value *to_emithls_open_total(ComputeLowering *c)
{
    EmithlsNest *nest = &c->l->nest;
    Value *zero = emithls_nest_constant(nest, attr_int(sum_type(c, 0), 0));
    Value *total = emithls_nest_variable(nest, "total", sum_type(c, 0), NULL, 0);
    emithls_nest_store(nest, zero, total, NULL, 0);
    return total;
}

void to_emithls_add_to_total(ComputeLowering *c, Value *total, Value *term)
{
    EmithlsNest *nest = &c->l->nest;
    Value *so_far = emithls_nest_load(nest, total, NULL, 0);
    emithls_nest_store(nest, build_binary(&nest->b, ARITH(ADDI), term->type, so_far, term), total,
                       NULL, 0);
}

/* The sum of the terms of the reduction lanes. NULL: diagnosed. */
static Value *add_up(ComputeLowering *c, Value *wanted)
{
    Value *total = to_emithls_open_total(c);
    NestMark mark = to_emithls_open_lanes(c, true, "products");
    Value *term = to_emithls_run_value(c, wanted);
    if (term) to_emithls_add_to_total(c, total, term);
    to_emithls_close_lanes(c, true, mark);
    return term ? emithls_nest_load(&c->l->nest, total, NULL, 0) : NULL;
}

/* The value that this iteration adds to a lane: the terms of its reduction lanes. Synthesis makes a
 * tree of a sum of integers; other terms are joined by one that is written out. NULL: diagnosed. */
static Value *build_term(ComputeLowering *c, void *unused)
{
    (void)unused;
    EmithlsNest *nest = &c->l->nest;
    Value *wanted = sched_reduction_term(c->sched.reduction.combine);
    if (c->sched.reduction_lanes == 1) return to_emithls_run_value(c, wanted);
    if (sched_reduction_join(c->sched.reduction.combine) == ARITH(ADDI)) return add_up(c, wanted);
    Value *terms =
        emithls_nest_variable(nest, "terms", sum_type(c, 0), &c->sched.reduction_lanes, 1);
    emithls_nest_partition(nest, terms, 1);
    NestMark mark = to_emithls_open_lanes(c, true, "products");
    Value *term = to_emithls_run_value(c, wanted);
    const AffineExpr *lane = to_emithls_term_lane(c);
    if (term) emithls_nest_store(nest, term, terms, &lane, 1);
    to_emithls_close_lanes(c, true, mark);
    return term ? join_all(c, terms, c->sched.reduction_lanes) : NULL;
}

/* Number of the iteration among those that update an accumulator. */
static const AffineExpr *step_number(const ComputeLowering *c)
{
    const AffineExpr *counters[SCHED_MAX_LOOPS];
    int64_t trips[SCHED_MAX_LOOPS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->sched.loop_count; i++) {
        if (!c->sched.loops[i].is_reduction) continue;
        counters[count] = to_emithls_counter(c, i);
        trips[count++] = c->sched.loops[i].trip;
    }
    return emithls_affine_flatten(c->ctx, counters, trips, count);
}

/* The accumulator before this iteration: in each of the first `turns` steps a partial sum begins,
 * later it is the partial sum of `turns` steps ago. */
static Value *current_turn(ComputeLowering *c)
{
    const ReductionSchedule *r = &c->sched.reduction;
    const Attr *neutral = sched_reduction_neutral(r->combine);
    Edge first = to_emithls_edge(c, 0, true, false), begins = {.count = 1};
    begins.exprs[0] = affine_add_c(affine_neg(step_number(c)), r->turns - 1);
    Value *start = initial_value(c, 0);
    if (neutral && !(value_def(start)->def == ARITH(CONSTANT) &&
                     op_attr(value_def(start), "value") == neutral))
        start = choose(c, &first, start, emithls_nest_constant(&c->l->nest, neutral));
    if (r->turns == r->steps) return start;
    const AffineExpr *oldest = affine_const(c->ctx, r->turns * r->distance - 1);
    return choose(c, &begins, start, load_turn(c, oldest));
}

/* turns[d + 1] = turns[d], the oldest first */
static void shift_turns(ComputeLowering *c)
{
    EmithlsNest *nest = &c->l->nest;
    int64_t last = c->sched.reduction.turns * c->sched.reduction.distance - 1;
    LoopSpec loop = {"d", last};
    const AffineExpr *to = affine_add_c(affine_neg(affine_dim(c->ctx, nest->count)), last);
    NestMark mark = emithls_nest_open(nest, "shift", &loop, 1, LOOP_UNROLLED, -1, -1);
    store_turn(c, load_turn(c, affine_add_c(to, -1)), to);
    emithls_nest_close(nest, mark);
}

/* Takes the iteration's term into the current lane's accumulator. */
static void take_term(ComputeLowering *c, Value *term)
{
    if (sched_is_done_at_once(&c->sched)) {
        store_sum(c, 0, term);
        return;
    }
    Value *so_far = c->turns ? current_turn(c) : started_sum(c, 0);
    store_sum(c, 0, joined(c, c->sched.reduction.combine->def, so_far, term));
}

/* The payload as a whole for each reduction lane, one after the other. False: diagnosed. */
static bool update_in_place(ComputeLowering *c)
{
    Value *so_far[SCHED_MAX_RESULTS], *next[SCHED_MAX_RESULTS];
    for (uint32_t i = 0; i < c->sched.main->result_count; i++) store_sum(c, i, started_sum(c, i));
    NestMark mark = to_emithls_open_lanes(c, true, "products");
    for (uint32_t i = 0; i < c->sched.main->result_count; i++) so_far[i] = load_sum(c, i);
    bool ok = to_emithls_run_update(c, so_far, next);
    for (uint32_t i = 0; ok && i < c->sched.main->result_count; i++) store_sum(c, i, next[i]);
    to_emithls_close_lanes(c, true, mark);
    return ok;
}

/* What an iteration hands on to later ones. */
static void keep_sums(ComputeLowering *c)
{
    if (c->turns) {
        shift_turns(c);
        store_turn(c, load_sum(c, 0), affine_const(c->ctx, 0));
    }
    for (uint32_t i = 0; i < c->sched.main->result_count && c->partial[i]; i++) keep_partial(c, i);
}

bool to_emithls_accumulate_terms(ComputeLowering *c, ToEmithlsTerm *join, void *data)
{
    if (!c->sum[0]) declare_sums(c);
    NestMark lanes = to_emithls_open_lanes(c, false, "outputs");
    Value *term = join(c, data);
    if (term) {
        take_term(c, term);
        keep_sums(c);
    }
    to_emithls_close_lanes(c, false, lanes);
    return term != NULL;
}

bool to_emithls_accumulate(ComputeLowering *c)
{
    if (c->sched.popcount.is_used) return to_emithls_accumulate_popcount(c);
    if (c->sched.packing.is_used) return to_emithls_accumulate_packed(c);
    if (c->sched.reduction.combine) return to_emithls_accumulate_terms(c, build_term, NULL);
    if (!c->sum[0]) declare_sums(c);
    NestMark lanes = to_emithls_open_lanes(c, false, "outputs");
    bool ok = update_in_place(c);
    if (ok) keep_sums(c);
    to_emithls_close_lanes(c, false, lanes);
    return ok;
}

Value *to_emithls_total(ComputeLowering *c)
{
    const ReductionSchedule *r = &c->sched.reduction;
    EmithlsNest *nest = &c->l->nest;
    if (!c->turns) return load_sum(c, 0);
    Value *parts = emithls_nest_variable(nest, "parts", sum_type(c, 0), &r->turns, 1);
    emithls_nest_partition(nest, parts, 1);
    LoopSpec loop = {"i", r->turns};
    const AffineExpr *i = affine_dim(c->ctx, nest->count);
    NestMark mark = emithls_nest_open(nest, "gather", &loop, 1, LOOP_UNROLLED, -1, -1);
    emithls_nest_store(nest, load_turn(c, affine_mul_c(i, r->distance)), parts, &i, 1);
    emithls_nest_close(nest, mark);
    return join_all(c, parts, r->turns);
}
