/* The streams of a process: what its iterations wait for, when they read and write, and what they
 * write.
 * Tests: lit/lowering/emithls_to_rtl, test/e2e/rtl_check.py */
#include "dialects/comb/comb.h"
#include "dialects/emithls/emithls.h"
#include "dialects/hw/hw.h"
#include "ir/asm/print/print.h"
#include "lowering/emithls_to_rtl/internal.h"

/* The iteration of a frame that makes the access first. */
static int64_t first_iteration(const HlsAccess *access)
{
    int64_t at = 0;
    for (size_t i = 0; i < access->runs.len; i++) {
        const HlsRun *run = &access->runs.data[i];
        if (run->count > 0) return at + run->skip;
        at += run->skip * run->repeat;
    }
    return INT64_MAX;
}

/* The first iteration of a frame that reads, or that writes; INT64_MAX: none does. */
static int64_t first_of(const HlsLoop *loop, bool is_write)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < loop->accesses.len; i++)
        if (loop->accesses.data[i].is_write == is_write)
            first = i64_min(first, first_iteration(&loop->accesses.data[i]));
    return first;
}

/* Whether the first words of a frame are written before one of it is read: nothing tells whether the
 * frame comes. */
static bool writes_first(const HlsProcess *p)
{
    for (size_t l = 0; l < p->loops.len; l++) {
        const HlsLoop *loop = &p->loops.data[l];
        int64_t reads = first_of(loop, false), writes = first_of(loop, true);
        if (!loop->is_once && i64_min(reads, writes) != INT64_MAX) return writes < reads;
    }
    return false;
}

/* Whether words of a frame may come to the process, or leave it, before the frame does. */
static bool has_early_words(const HlsDesign *design, uint32_t process, bool *is_seen)
{
    const HlsProcess *p = &design->processes.data[process];
    if (is_seen[process] || !p->func) return false;
    is_seen[process] = true;
    if (writes_first(p)) return true;
    for (uint32_t i = 0; i < p->port_count; i++) {
        const HlsStream *s = &design->streams.data[p->streams[i]];
        if (s->reader == process && has_early_words(design, s->writer, is_seen)) return true;
    }
    return false;
}

bool to_rtl_has_early_words(const HlsDesign *design, const HlsProcess *p)
{
    bool is_early = false;
    for (uint32_t i = 0; !is_early && i < design->processes.len; i++) {
        if (design->processes.data[i].func != p->func) continue; /* others share the module */
        bool *is_seen = xcalloc(design->processes.len, sizeof *is_seen);
        is_early = has_early_words(design, i, is_seen);
        free_ptr((void **)&is_seen);
    }
    return is_early;
}

/* What the first iteration of a frame that reads has to wait for. */
FrameGate to_rtl_frame_gate(RtlModule *m)
{
    const Graph *g = &m->process->graphs[0];
    const HlsLoop *loop = g->loop;
    FrameGate gate = {.words = ARENA_ARRAY(&m->process->arena, Value *, loop->depth)};
    int64_t first = first_of(loop, false);
    if (!m->process->model->rewinds || m->process->has_early_words || first == INT64_MAX)
        return gate;
    gate.position = loop->begin + first;
    for (size_t i = 0; i < g->transfers.len; i++) {
        const Transfer *t = &g->transfers.data[i];
        if (t->is_write || first_iteration(&loop->accesses.data[i]) != first) continue;
        Value *has_word = to_rtl_stream_input(m, t->port, 1), **words = &gate.words[t->stage];
        *words = *words ? to_rtl_both(m, *words, has_word) : has_word;
        gate.stages = i64_max(gate.stages, t->stage + 1);
    }
    return gate;
}

/* Accesses to a stream in one iteration must not overtake those of the next. */
bool to_rtl_check_transfers(const Graph *g)
{
    for (size_t i = 0; i < g->transfers.len; i++)
        for (size_t k = 0; k < i; k++) {
            const Transfer *a = &g->transfers.data[k], *b = &g->transfers.data[i];
            if (a->port == b->port && b->stage - a->stage >= g->loop->ii)
                return op_error(g->loop->accesses.data[i].op,
                                "cannot become hardware: it comes %lld cycles after another access "
                                "to its stream, and iterations follow each other after %lld",
                                (long long)(b->stage - a->stage), (long long)g->loop->ii);
        }
    return true;
}

/* What an iteration does in a stage happens if there is one and its condition holds. */
Value *to_rtl_happens(const Datapath *d, int64_t stage, NodeId where)
{
    Value *valid = d->control->valid[stage];
    return where == NO_NODE ? valid : to_rtl_both(d->m, valid, to_rtl_at(d, where, stage));
}

/* What the module gives at a stream: the word (of a write) and whether it is read or written. */
typedef struct StreamOutput {
    Value *word, *active;
} StreamOutput;

static Value *or_else(RtlModule *m, Value *all, Value *one)
{
    return all ? to_rtl_either(m, all, one) : one;
}

/* The words that a loop writes, and where it is active. */
static void add_outputs(const Datapath *d, StreamOutput *outs)
{
    RtlModule *m = d->m;
    uint32_t ports = m->process->model->port_count;
    Value **active = xcalloc(ports, sizeof *active);
    for (size_t i = 0; i < d->g->transfers.len; i++) {
        const Transfer *t = &d->g->transfers.data[i];
        Value *happens = to_rtl_happens(d, t->stage, t->where);
        active[t->port] = or_else(m, active[t->port], happens);
        if (!t->is_write) continue;
        Value *word = to_rtl_at(d, t->word, t->stage), **out = &outs[t->port].word;
        *out = *out ? comb_build_mux(&m->b, happens, word, *out) : word;
    }
    for (uint32_t i = 0; i < ports; i++)
        if (active[i])
            outs[i].active = or_else(m, outs[i].active, to_rtl_both(m, active[i], d->control->run));
    free_ptr((void **)&active);
}

/* Whether nothing that the iteration in the transfer's stage does holds it up there. */
static Value *is_ready(const Datapath *d, const Transfer *t, Value *present)
{
    RtlModule *m = d->m;
    Value *wants = t->where == NO_NODE ? present : to_rtl_at(d, t->where, t->stage);
    if (present && t->where != NO_NODE) wants = to_rtl_both(m, present, wants);
    Value *has = to_rtl_stream_input(m, t->port, 1);
    if (!wants) return has;
    return comb_build_not(&m->b, to_rtl_both(m, wants, comb_build_not(&m->b, has)));
}

/* A pipeline that stalls moves where no iteration in it waits. */
static void connect_run(const Datapath *d)
{
    const Graph *g = d->g;
    Value **runs = xcalloc(g->transfers.len + 1, sizeof *runs);
    for (size_t i = 0; i < g->transfers.len; i++) {
        const Transfer *t = &g->transfers.data[i];
        runs[i] = is_ready(d, t, d->control->valid[t->stage]);
    }
    if (g->transfers.len > 0)
        op_set_operands(value_def(d->control->run), runs, (uint32_t)g->transfers.len);
    free_ptr((void **)&runs);
}

/* In one that flushes, or stalls frame by frame, each stage waits for itself. */
static void connect_ready(const Datapath *d)
{
    const Graph *g = d->g;
    Value **ready = xcalloc(g->transfers.len + 1, sizeof *ready);
    for (int64_t s = 0; s < g->loop->depth; s++) {
        uint32_t count = 0;
        for (size_t i = 0; i < g->transfers.len; i++)
            if (g->transfers.data[i].stage == s)
                ready[count++] = is_ready(d, &g->transfers.data[i], NULL);
        if (count > 0) op_set_operands(value_def(d->control->ready[s]), ready, count);
    }
    free_ptr((void **)&ready);
}

void to_rtl_connect_streams(RtlModule *m, const Datapath *paths)
{
    const HlsProcess *p = m->process->model;
    StreamOutput *outs = xcalloc(p->port_count, sizeof *outs);
    VEC(Value *) outputs = {0};
    for (size_t l = 0; l < p->loops.len; l++) {
        add_outputs(&paths[l], outs);
        if (paths[l].control->by_stage)
            connect_ready(&paths[l]);
        else
            connect_run(&paths[l]);
    }
    for (uint32_t i = 0; i < p->port_count; i++) {
        if (outs[i].word) *vec_push(&outputs) = outs[i].word;
        *vec_push(&outputs) = outs[i].active ? outs[i].active : hw_build_int(&m->b, 1, 0);
    }
    hw_build_output(&m->b, outputs.data, (uint32_t)outputs.len);
    vec_free(&outputs);
    free_ptr((void **)&outs);
}
