/* Explains why a task has no design. For each limit it solves for the least that a design needs of
 * that kind of cost: first without other limits, then with those of the other kinds, one more at a
 * time, so that the message names the smallest set of limits that contradict each other.
 * Tests: lit/target/dse/choose-unroll-short.mir, lit/target/dse/choose-unroll-memory.mir */
#include "analysis/analysis.h"
#include "dialects/onnx/onnx.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "target/dse/dse.h"

/* Processes that are named when a resource is short. */
enum { MAX_NOTES = 3 };

/* A kind of cost that may be short. */
typedef struct Shortage {
    const DseSpace *space;
    const DseTask *task;
    DseState *state;
    DseProblem problem; /* its limits are those of the kinds seen before */
    const char *rate;   /* the rate that the designs have to reach, in words, or "" */
    DseNeed *need;
} Shortage;

static bool gave_up(const Op *region)
{
    return op_emit_error(
        region, "the network has a design space too large to be searched: no design was found and "
                "none excluded");
}

static int64_t chosen_cost(const Shortage *s, size_t node, CostKind kind)
{
    return s->space->nodes.data[node].configs.data[s->state->chosen[node]].cost.items[kind];
}

/* Notes at the processes that take most of a resource in the chosen design, the largest first. */
static void note_largest(const Shortage *s, CostKind kind)
{
    int64_t below = INT64_MAX;
    for (int count = 0; count < MAX_NOTES; count++) {
        const DseNode *most = NULL;
        int64_t cost = 0;
        for (size_t n = 0; n < s->space->nodes.len; n++) {
            int64_t item = chosen_cost(s, n, kind);
            if (item >= below || (most && item <= cost)) continue;
            most = &s->space->nodes.data[n];
            cost = item;
        }
        if (!most || cost == 0) return;
        below = cost;
        if (most->process)
            op_note(most->process, "'%.*s' takes %lld of them",
                    STR_ARG(symbol_name(most->process)->str), (long long)below);
    }
}

/* What memory brings in the time of a frame does not do. */
static void report_traffic(const Shortage *s, int64_t least)
{
    op_emit_error(s->space->region,
                  "the network reads more weights than memory brings: the smallest design%s needs "
                  "%lld bits a frame, "
                  "and %lld come in that time",
                  s->rate, (long long)least, (long long)s->task->limits.traffic);
}

static void report_alone(const Shortage *s, CostKind kind, int64_t least)
{
    const char *title = cost_names[kind].title;
    if (kind == COST_TRAFFIC) {
        report_traffic(s, least);
        return;
    }
    op_emit_error(
        s->space->region,
        "the network does not fit the budget of %lld %s: the smallest design%s needs %lld %s",
        (long long)s->task->limits.items[kind], title, s->rate, (long long)least, title);
}

static void report_together(const Shortage *s, CostKind kind, int64_t least)
{
    StrBuf others = {0};
    const Cost *limits = &s->problem.limits;
    const char *title = cost_names[kind].title;
    if (kind == COST_TRAFFIC) {
        report_traffic(s, least);
        return;
    }
    for (int k = 0; k < COST_KINDS; k++)
        if (limits->items[k] >= 0)
            strbuf_printf(&others, "%s%lld %s", others.len ? ", " : "", (long long)limits->items[k],
                          cost_names[k].title);
    op_emit_error(s->space->region,
                  "the network does not fit the budget of %lld %s together with %s: with those the "
                  "smallest design%s needs %lld %s",
                  (long long)s->task->limits.items[kind], title, others.data, s->rate,
                  (long long)least, title);
    strbuf_free(&others);
}

/* Whether the least design of a kind fits its limit, under the limits of the kinds seen before. */
static bool explain_kind(Shortage *s, CostKind kind,
                         void (*report)(const Shortage *, CostKind, int64_t))
{
    int64_t least = 0;
    s->problem.weights = dse_least(kind).weights;
    DseStatus status = dse_solve(s->space, &s->problem, s->state, &least);
    if (status == DSE_INFEASIBLE)
        return op_emit_error(
            s->space->region,
            "the network has no configuration in which all channels agree on their words");
    if (status == DSE_FAILED) return gave_up(s->space->region);
    if (least <= s->task->limits.items[kind]) return true;
    *s->need = (DseNeed){kind, least};
    report(s, kind, least);
    note_largest(s, kind);
    return false;
}

/* Whether the task is given how long a frame may take. */
static bool has_rate(const DseTask *task)
{
    return task->objective == DSE_FPS ||
           (task->objective == DSE_PIPELINE_LATENCY && task->interval > 0);
}

static bool explain_limits(const DseSpace *space, const DseTask *task, DseState *state,
                           const char *rate, DseNeed *need)
{
    Shortage s = {.space = space,
                  .task = task,
                  .state = state,
                  .problem = dse_least(COST_CYCLES),
                  .rate = rate,
                  .need = need};
    if (has_rate(task)) s.problem.longest = dse_equal_intervals(space, task->interval);
    for (CostKind k = 0; k < COST_KINDS; k++)
        if (task->limits.items[k] >= 0 && !explain_kind(&s, k, report_alone)) return false;
    for (CostKind k = COST_KINDS; k-- > 0;) {
        if (task->limits.items[k] < 0) continue;
        if (!explain_kind(&s, k, report_together)) return false;
        s.problem.limits.items[k] = task->limits.items[k];
    }
    return gave_up(space->region);
}

static int64_t shortest_interval(const DseNode *node)
{
    int64_t shortest = INT64_MAX;
    for (size_t c = 0; c < node->configs.len; c++)
        if (node->configs.data[c].interval < shortest) shortest = node->configs.data[c].interval;
    return shortest;
}

/* "25 cycles (10000000.0 frames/s)" */
static void add_rate(StrBuf *out, const DseTask *task, int64_t interval)
{
    strbuf_printf(out, "%lld cycles", (long long)interval);
    if (task->clock > 0 && interval > 0)
        strbuf_printf(out, " (%.1f frames/s)", (double)task->clock * 1e6 / (double)interval);
}

static void report_slowest(const DseTask *task, const Op *process, int64_t shortest)
{
    StrBuf text = {0};
    Str layer = layer_name_source(process);
    strbuf_printf(&text, "'%.*s'", STR_ARG(symbol_name(process)->str));
    if (layer.len > 0) {
        strbuf_add_c(&text, " of layer ");
        strbuf_add_quoted(&text, layer);
    }
    strbuf_add_c(&text, " takes at least ");
    add_rate(&text, task, shortest);
    strbuf_add_c(&text, " a frame, but one is to be done every ");
    add_rate(&text, task, task->interval);
    op_emit_error(process, "%s", text.data);
    strbuf_free(&text);
}

/* Whether each process alone can reach the rate. */
static bool explain_slowest(const DseSpace *space, const DseTask *task)
{
    const DseNode *slowest = NULL;
    for (size_t n = 0; n < space->nodes.len; n++) {
        const DseNode *node = &space->nodes.data[n];
        if (node->process && (!slowest || shortest_interval(node) > shortest_interval(slowest)))
            slowest = node;
    }
    if (!slowest || shortest_interval(slowest) <= task->interval) return true;
    report_slowest(task, slowest->process, shortest_interval(slowest));
    if (slowest->most_parallel > 0)
        op_note(
            slowest->process,
            "at most %lld elements in parallel are tried for a process; a folding file may give "
            "it factors beyond that (--folding=FILE, 'unroll')",
            (long long)slowest->most_parallel);
    return false;
}

/* The least traffic of a node whose weights come from memory; 0: they never do. */
static int64_t least_traffic(const DseNode *node)
{
    int64_t least = INT64_MAX;
    for (size_t c = 0; c < node->configs.len; c++)
        if (node->configs.data[c].cost.traffic > 0)
            least = i64_min(least, node->configs.data[c].cost.traffic);
    return least == INT64_MAX ? 0 : least;
}

/* Notes the layers whose weights are more than a port, or all memory, brings in the time of a
 * frame. */
static void note_traffic(const DseSpace *space, const DseTask *task)
{
    const CostTarget *target = &space->target;
    if (target->stream_rate == 0) return;
    int64_t memory = dse_supply(target, task->interval), port;
    const int64_t ports = i64_max(1, target->stream_ports);
    if (!i64_mul(target->stream_bits * ports, task->interval, &port)) port = INT64_MAX;
    const int64_t supply = i64_min(memory, port);
    for (size_t n = 0; n < space->nodes.len; n++) {
        const DseNode *node = &space->nodes.data[n];
        int64_t need = least_traffic(node);
        if (need <= supply) continue;
        op_note(node->process,
                "the weights of '%.*s' are %lld bits a frame from memory, of which %s %lld in that "
                "time",
                STR_ARG(symbol_name(node->process)->str), (long long)need,
                supply == memory ? "memory brings"
                : ports > 1      ? "its ports bring"
                                 : "a port brings",
                (long long)supply);
    }
}

/* Notes the best rate that the limits allow instead. */
static void note_best_rate(const DseSpace *space, const DseTask *task, DseState *state)
{
    DseTask best = *task;
    best.objective = DSE_THROUGHPUT;
    DseAnswer answer = dse_optimize(space, &best, state);
    if (!dse_found_design(answer.status)) return;
    StrBuf rate = {0};
    add_rate(&rate, task, answer.value);
    op_note(space->region, "within the budget there is a design that does a frame every %s",
            rate.data);
    strbuf_free(&rate);
}

static bool explain_rate(const DseSpace *space, const DseTask *task, DseState *state, DseNeed *need)
{
    StrBuf rate = {0};
    strbuf_add_c(&rate, " that does a frame every ");
    add_rate(&rate, task, task->interval);
    bool ok = explain_slowest(space, task) && explain_limits(space, task, state, rate.data, need);
    strbuf_free(&rate);
    note_traffic(space, task);
    note_best_rate(space, task, state);
    return ok;
}

bool dse_explain(const DseSpace *space, const DseTask *task, const DseAnswer *answer,
                 DseState *state, DseNeed *need)
{
    DseNeed none;
    if (!need) need = &none;
    *need = (DseNeed){.least = 0};
    if (dse_found_design(answer->status)) return true;
    if (answer->status == DSE_FAILED) return gave_up(space->region);
    return has_rate(task) ? explain_rate(space, task, state, need)
                          : explain_limits(space, task, state, "", need);
}
