/* Compute processes: one pipelined nest in the order of schedule/compute.c. A word is read where
 * the input's counters advance and is held otherwise. In the last iteration of the reduction the
 * epilogue runs and a word is written.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-compute.mir */
#include "dialects/arith/arith.h"
#include "dialects/emithls/emithls.h"
#include "dialects/linalg/linalg.h"
#include "ir/asm/print/print.h"
#include "lowering/dfg_to_emithls/internal.h"

/* Opens unrolled loops over the factors of the parallel or the reduction loops. */
NestMark to_emithls_open_lanes(ComputeLowering *c, bool reduction, const char *name)
{
    EmithlsNest *nest = &c->l->nest;
    LoopSpec loops[KERNEL_MAX_LOOPS];
    uint32_t count = 0;
    StrBuf names[KERNEL_MAX_LOOPS] = {0};
    for (uint32_t i = 0; i < c->sched.kernel.loop_count; i++) {
        if (c->sched.kernel.is_reduction[i] != reduction || c->sched.unroll[i] == 1) continue;
        strbuf_printf(&names[count], "%s_u", to_emithls_loop_name(&c->sched, i));
        loops[count] = (LoopSpec){names[count].data, c->sched.unroll[i]};
        c->lane[i] = affine_dim(c->ctx, nest->count + count);
        count++;
    }
    NestMark mark = {nest->b.block, nest->b.before, nest->count};
    if (count) mark = emithls_nest_open(nest, name, loops, count, LOOP_UNROLLED, -1, -1);
    for (uint32_t i = 0; i < count; i++) strbuf_free(&names[i]);
    return mark;
}

void to_emithls_close_lanes(ComputeLowering *c, bool reduction, NestMark mark)
{
    for (uint32_t i = 0; i < c->sched.kernel.loop_count; i++)
        if (c->sched.kernel.is_reduction[i] == reduction) c->lane[i] = affine_const(c->ctx, 0);
    emithls_nest_close(&c->l->nest, mark);
}

Edge to_emithls_edge(const ComputeLowering *c, uint32_t first, bool reductions_only, bool last)
{
    Edge edge = {.count = 0};
    for (uint32_t i = first; i < c->sched.loop_count; i++) {
        const AffineExpr *expr = to_emithls_counter(c, i);
        if (reductions_only && !c->sched.loops[i].is_reduction) continue;
        edge.is_eq[edge.count] = true;
        edge.exprs[edge.count++] = last ? affine_add_c(expr, 1 - c->sched.loops[i].trip) : expr;
    }
    return edge;
}

NestMark to_emithls_open_edge(ComputeLowering *c, const Edge *edge)
{
    EmithlsNest *nest = &c->l->nest;
    if (edge->count == 0) return (NestMark){nest->b.block, nest->b.before, nest->count};
    return emithls_nest_open_if(nest, edge->exprs, edge->is_eq, edge->count);
}

/* The counters that do not choose a stream's word are at their first values; held: those among them
 * that run inside the others. */
static Edge first_use(const ComputeLowering *c, uint32_t stream, bool held)
{
    Edge edge = {.count = 0};
    for (uint32_t i = 0; i < c->sched.loop_count; i++) {
        if (held ? !sched_is_held(&c->sched, stream, i) : sched_chooses_word(&c->sched, stream, i))
            continue;
        edge.is_eq[edge.count] = true;
        edge.exprs[edge.count++] = to_emithls_counter(c, i);
    }
    return edge;
}

static uint32_t kept_index(const ComputeLowering *c, uint32_t stream, const AffineExpr **index)
{
    KeptWords kept;
    sched_kept_words(&c->sched, stream, &kept);
    for (uint32_t i = 0; i < kept.loop_count; i++) index[i] = to_emithls_counter(c, kept.loops[i]);
    return kept.loop_count;
}

/* A word that is kept is taken from its memory, which has none yet where the stream is read. */
static void take_kept(ComputeLowering *c, uint32_t stream)
{
    const AffineExpr *index[SCHED_MAX_LOOPS];
    EmithlsNest *nest = &c->l->nest;
    Edge change = first_use(c, stream, true);
    NestMark mark = to_emithls_open_edge(c, &change);
    uint32_t rank = kept_index(c, stream, index);
    Value *whole = to_emithls_open_word(c, stream);
    emithls_nest_store(nest, emithls_nest_load(nest, c->kept[stream], index, rank), whole, NULL, 0);
    to_emithls_hold_word(c, stream, whole);
    emithls_nest_close(nest, mark);
}

/* A stream whose elements the payload does not look at is read all the same. */
static bool is_looked_at(const ComputeLowering *c, uint32_t stream)
{
    return c->kept[stream] ||
           value_has_uses(linalg_body(c->sched.main)->args[c->sched.stream_operand[stream]]);
}

static void read_word(ComputeLowering *c, uint32_t stream)
{
    const AffineExpr *index[SCHED_MAX_LOOPS];
    EmithlsNest *nest = &c->l->nest;
    Value *from = to_emithls_port_stream(c->l, c->sched.stream_port[stream]);
    if (!is_looked_at(c, stream)) {
        emithls_nest_read(nest, from);
        return;
    }
    Value *whole = to_emithls_open_word(c, stream), *word = emithls_nest_read(nest, from);
    emithls_nest_store(nest, word, whole, NULL, 0);
    to_emithls_hold_word(c, stream, whole);
    if (!c->kept[stream]) return;
    uint32_t rank = kept_index(c, stream, index);
    emithls_nest_store(nest, word, c->kept[stream], index, rank);
}

/* Streams whose words change together are read together. */
static void read_words(ComputeLowering *c)
{
    uint32_t done = 0;
    for (uint32_t s = 0; s < c->sched.stream_count; s++) {
        if (done >> s & 1u) continue;
        for (uint32_t other = s; other < c->sched.stream_count; other++)
            if (c->sched.moves[other] == c->sched.moves[s] && c->kept[other]) take_kept(c, other);
        Edge edge = first_use(c, s, false);
        NestMark mark = to_emithls_open_edge(c, &edge);
        for (uint32_t other = s; other < c->sched.stream_count; other++) {
            if (c->sched.moves[other] != c->sched.moves[s]) continue;
            read_word(c, other);
            done |= 1u << other;
        }
        emithls_nest_close(&c->l->nest, mark);
    }
}

static bool stage_looks_at(const ComputeLowering *c, uint32_t stage, uint32_t operand)
{
    return value_has_uses(linalg_body(c->sched.stages[stage])->args[operand]);
}

/* Whether the stage looks at the stream's elements, and those behind it at what comes of them. */
static bool is_join_looked_at(const ComputeLowering *c, const JoinedStream *join)
{
    bool is_used = stage_looks_at(c, join->stage, join->operand);
    for (uint32_t s = join->stage + 1; is_used && s < c->sched.stage_count; s++)
        for (uint32_t i = 0; i < linalg_input_count(c->sched.stages[s]); i++)
            if (c->sources[s + 1][i].kind == SOURCE_FLOW) is_used = stage_looks_at(c, s, i);
    return is_used;
}

static void declare_joined(ComputeLowering *c, uint32_t join)
{
    static const char *const names[] = {"joined",  "joined2", "joined3", "joined4",
                                        "joined5", "joined6", "joined7", "joined8"};
    Value *from = to_emithls_port_stream(c->l, c->sched.joins[join].port);
    c->joined[join] =
        emithls_nest_variable(&c->l->nest, names[join], emithls_stream_word(from->type), NULL, 0);
}

static void take_joined(ComputeLowering *c, uint32_t join)
{
    EmithlsNest *nest = &c->l->nest;
    Value *from = to_emithls_port_stream(c->l, c->sched.joins[join].port);
    emithls_nest_store(nest, emithls_nest_read(nest, from), c->joined[join], NULL, 0);
}

/* Takes the word that sums start from. */
static void read_start(ComputeLowering *c)
{
    Edge first = to_emithls_edge(c, 0, true, false);
    NestMark mark = to_emithls_open_edge(c, &first);
    take_joined(c, 0);
    emithls_nest_close(&c->l->nest, mark);
}

/* Takes a word of each stream that the epilogue joins to the result, even if no stage looks at it. */
static void read_joined(ComputeLowering *c)
{
    EmithlsNest *nest = &c->l->nest;
    for (uint32_t j = c->sched.starts_from_join; j < c->sched.join_count; j++) {
        const JoinedStream *join = &c->sched.joins[j];
        Value *from = to_emithls_port_stream(c->l, join->port);
        if (!is_join_looked_at(c, join)) {
            emithls_nest_read(nest, from);
            continue;
        }
        declare_joined(c, j);
        take_joined(c, j);
    }
}

/* Finishes each lane and writes the word. */
static bool write_word(ComputeLowering *c)
{
    EmithlsNest *nest = &c->l->nest;
    Edge last = to_emithls_edge(c, 0, true, true);
    NestMark mark = to_emithls_open_edge(c, &last);
    Value *stream = to_emithls_port_stream(c->l, c->sched.output_port);
    read_joined(c);
    const Type *word = emithls_stream_word(stream->type);
    Value *result = emithls_nest_variable(nest, "result", word, NULL, 0);
    NestMark lanes = to_emithls_open_lanes(c, false, "finish");
    Value *value = to_emithls_reduces(c) ? to_emithls_total(c) : to_emithls_run_generic(c, 0, NULL);
    value = value ? to_emithls_run_stages(c, value) : NULL;
    if (!value) return false;
    const AffineExpr *lane = to_emithls_output_lane(c);
    emithls_nest_store(nest, value, result, &lane, word->kind == TYPE_VECTOR);
    to_emithls_close_lanes(c, false, lanes);
    emithls_nest_write(nest, emithls_nest_load(nest, result, NULL, 0), stream);
    emithls_nest_close(nest, mark);
    return true;
}

/* Whether a port has words of as many elements as are computed at once. */
static bool check_port_word(const ComputeLowering *c, uint32_t port)
{
    int64_t want[DFG_MAX_RANK], got[2 * DFG_MAX_RANK];
    sched_compute_output_word(&c->sched, want);
    const Type *end = dfg_port(c->l->process, port)->type;
    if (!sched_port_word(c->l->process, port, end, op_result(c->sched.main, 0)->type, got))
        return false;
    for (uint32_t i = 0; i < sched_compute_output_map(&c->sched)->result_count; i++)
        if (want[i] != got[i])
            return op_error(c->l->process,
                            "computes %lld elements of output dimension %u at once, "
                            "but its port's words hold %lld",
                            (long long)want[i], i, (long long)got[i]);
    return true;
}

static bool check_words(const ComputeLowering *c)
{
    for (uint32_t j = 0; j < c->sched.join_count; j++)
        if (!check_port_word(c, c->sched.joins[j].port)) return false;
    return check_port_word(c, c->sched.output_port);
}

static void declare_kept(ComputeLowering *c, uint32_t stream)
{
    static const char *const names[] = {"kept",  "kept2", "kept3", "kept4",
                                        "kept5", "kept6", "kept7", "kept8"};
    EmithlsNest *nest = &c->l->nest;
    int64_t dims[SCHED_MAX_LOOPS];
    KeptWords kept;
    sched_kept_words(&c->sched, stream, &kept);
    if (kept.depth == 1) return;
    for (uint32_t i = 0; i < kept.loop_count; i++) dims[i] = c->sched.loops[kept.loops[i]].trip;
    uint32_t port = c->sched.stream_port[stream];
    const Type *word = emithls_stream_word(to_emithls_port_stream(c->l, port)->type);
    c->kept[stream] = emithls_nest_variable(nest, names[stream], word, dims, kept.loop_count);
    const Op *pull = dfg_port(c->l->process, port)->uses->owner;
    emithls_nest_bind(nest, c->kept[stream], "ram_s2p", to_emithls_storage_of(pull, 0));
    emithls_nest_dependence(nest, c->kept[stream], kept.distance);
}

static bool declare_words(ComputeLowering *c)
{
    for (uint32_t s = 0; s < c->sched.stream_count; s++) {
        if (!sched_compute_input_word(&c->sched, s, c->word[s])) return false;
        declare_kept(c, s);
        if (is_looked_at(c, s)) to_emithls_declare_word(c, s);
    }
    return true;
}

static NestMark open_nest(ComputeLowering *c)
{
    LoopSpec loops[SCHED_MAX_LOOPS];
    StrBuf names[SCHED_MAX_LOOPS] = {0};
    EmithlsNest *nest = &c->l->nest;
    uint32_t count = c->sched.loop_count;
    for (uint32_t i = 0; i < count; i++) {
        strbuf_add_c(&names[i], to_emithls_loop_name(&c->sched, c->sched.loops[i].loop));
        for (uint32_t j = 0; j < i; j++)
            if (c->sched.loops[j].loop == c->sched.loops[i].loop) strbuf_add_c(&names[i], "_part");
        loops[i] = (LoopSpec){names[i].data, c->sched.loops[i].trip};
    }
    if (count == 0) loops[count++] = (LoopSpec){"step", 1};
    c->nest_first = nest->count;
    NestMark mark = emithls_nest_open(nest, "nest", loops, count, LOOP_PIPELINED, -1, -1);
    emithls_nest_interval(nest, c->sched.reduction.ii);
    for (uint32_t i = 0; i < c->sched.loop_count; i++) strbuf_free(&names[i]);
    return mark;
}

static bool build_process(ComputeLowering *c)
{
    if (!declare_words(c)) return false;
    if (c->sched.starts_from_join) declare_joined(c, 0);
    if (to_emithls_reduces(c)) to_emithls_declare_accumulators(c);
    if (!to_emithls_main_sources(c)) return false;
    for (uint32_t s = 0; s < c->sched.stage_count; s++)
        if (!to_emithls_stage_sources(c, s)) return false;
    NestMark mark = open_nest(c);
    read_words(c);
    if (c->sched.starts_from_join) read_start(c);
    bool ok = (!to_emithls_reduces(c) || to_emithls_accumulate(c)) && write_word(c);
    emithls_nest_close(&c->l->nest, mark);
    return ok;
}

bool to_emithls_compute(EmithlsLowering *l)
{
    ComputeLowering c = {.l = l, .ctx = l->process->ctx};
    if (!sched_compute(l->process, NULL, NULL, &c.sched)) return false;
    for (uint32_t i = 0; i < c.sched.kernel.loop_count; i++) c.lane[i] = affine_const(c.ctx, 0);
    arena_init(&c.arena);
    bool ok = check_words(&c) && build_process(&c);
    ptrmap_free(&c.looked_up);
    arena_free(&c.arena);
    return ok;
}
