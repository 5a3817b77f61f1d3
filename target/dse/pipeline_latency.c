/* Pipeline latency as a longest path. Times of the first and the last word are found from sources
 * to sinks. Then the critical path is followed back from the last sink along what decided each
 * time, which gives the cut's weights.
 *   first out = max(first in + fill, first in + wait (last in - first in) + handover)
 *   last out  = max(first in + interval, last in + rest * interval + handover)
 * Tests: test/unit/target/dse/objective_test.c */
#include <string.h>

#include "schedule/schedule.h"
#include "target/dse/dse.h"

/* Cycles from a word in to the word out that it completes, for a process that is not filling. */
enum { HANDOVER = 8 };

typedef struct Times {
    double first, last; /* of the words out */
    double first_in, last_in;
    uint32_t first_source, last_source; /* nodes that decide the words in; UINT32_MAX: the input */
} Times;

typedef struct TimingGraph {
    const DseSpace *space;
    const uint32_t *chosen;
    const DseOverlap *overlaps;
    Times *times;    /* per node */
    uint32_t *order; /* nodes, sources first */
} TimingGraph;

/* A word of a stream is read where the counters that do not choose it are 0; the first result is
 * there when all reduction counters are at their ends. */
static DseOverlap stream_overlap(const ComputeSchedule *sched, uint32_t stream)
{
    double reads = 1, before = 0, trips = 1, last = 0;
    for (uint32_t i = sched->loop_count; i-- > 0;) {
        double trip = (double)sched->loops[i].trip;
        if (sched_chooses_word(sched, stream, i)) {
            before += sched->loops[i].is_reduction ? (trip - 1) * reads : 0;
            reads *= trip;
            last += (trip - 1) * trips;
        }
        trips *= trip;
    }
    return (DseOverlap){.wait = (before + 1) / reads, .rest = (trips - 1 - last) / trips};
}

/* Of several streams the one that is waited for longest, and the one behind which most is left. */
static DseOverlap compute_overlap(const ComputeSchedule *sched)
{
    if (sched->stream_count == 0) return (DseOverlap){.wait = 1};
    DseOverlap overlap = {.wait = 0};
    for (uint32_t s = 0; s < sched->stream_count; s++) {
        DseOverlap own = stream_overlap(sched, s);
        overlap.wait = own.wait > overlap.wait ? own.wait : overlap.wait;
        overlap.rest = own.rest > overlap.rest ? own.rest : overlap.rest;
    }
    return overlap;
}

/* Padding behind the last row of the input is scanned when the last word is in. */
static DseOverlap window_overlap(const WindowSchedule *sched)
{
    int64_t last = sched->dim[0].in * sched_window_row_words(sched, 0) - sched->shift;
    double scan = (double)(sched->end - sched->begin);
    DseOverlap overlap = {.rest = last < sched->end ? (double)(sched->end - last) / scan : 0};
    return overlap;
}

/* The share of its time that the slowest configuration takes until it is filled. */
static double share_of_fill(const DseNode *node)
{
    const Config *slowest = &node->configs.data[0];
    for (size_t c = 0; c < node->configs.len; c++)
        if (node->configs.data[c].interval > slowest->interval) slowest = &node->configs.data[c];
    return slowest->interval ? (double)slowest->cost.fill / (double)slowest->interval : 0;
}

static bool find_overlap(const DseNode *node, DseOverlap *out)
{
    ComputeSchedule compute;
    WindowSchedule window;
    *out = (DseOverlap){.wait = 0};
    if (!node->process) return true;
    switch (node->kind) {
    case PROCESS_COMPUTE:
        if (!sched_compute_base(node->process, &compute)) return false;
        *out = compute_overlap(&compute);
        return true;
    case PROCESS_WINDOW:
        if (!sched_window(node->process, NULL, &window)) return false;
        *out = window_overlap(&window);
        break;
    case PROCESS_REORDER:
    case PROCESS_MERGE: break;
    case PROCESS_CONVERTER:
    case PROCESS_FORK: return true; /* they hand words on as they come */
    }
    out->wait = share_of_fill(node);
    return true;
}

DseOverlap *dse_overlaps(const DseSpace *space)
{
    DseOverlap *overlaps = ARENA_ARRAY(space->arena, DseOverlap, space->nodes.len + 1);
    for (size_t n = 0; n < space->nodes.len; n++)
        if (!find_overlap(&space->nodes.data[n], &overlaps[n])) return NULL;
    return overlaps;
}

static const Config *config_of(const TimingGraph *f, uint32_t node)
{
    return &f->space->nodes.data[node].configs.data[f->chosen[node]];
}

/* Where words need no conversion, nothing is handed over. An epilogue that is split off hands
 * over once more. */
static double handover(const Config *config)
{
    int64_t most = config->split ? 2 * HANDOVER : HANDOVER;
    return config->cost.fill < most ? (double)config->cost.fill : (double)most;
}

static double first_out(const Times *t, const DseOverlap *overlap, const Config *config,
                        bool *fills)
{
    double filled = t->first_in + (double)config->cost.fill;
    double handed = t->first_in + overlap->wait * (t->last_in - t->first_in) + handover(config);
    *fills = filled >= handed;
    return *fills ? filled : handed;
}

static double last_out(const Times *t, const DseOverlap *overlap, const Config *config, bool *works)
{
    double worked = t->first_in + (double)config->interval;
    double handed = t->last_in + overlap->rest * (double)config->interval + handover(config);
    *works = worked >= handed;
    return *works ? worked : handed;
}

static void find_times(TimingGraph *f, uint32_t node)
{
    bool decides;
    Times *t = &f->times[node];
    const Config *config = config_of(f, node);
    *t = (Times){.first_source = UINT32_MAX, .last_source = UINT32_MAX};
    for (size_t e = 0; e < f->space->edges.len; e++) {
        const DseEdge *edge = &f->space->edges.data[e];
        if (edge->to != node) continue;
        const Times *source = &f->times[edge->from];
        if (source->first > t->first_in) {
            t->first_in = source->first;
            t->first_source = edge->from;
        }
        if (source->last > t->last_in) {
            t->last_in = source->last;
            t->last_source = edge->from;
        }
    }
    t->first = first_out(t, &f->overlaps[node], config, &decides);
    t->last = last_out(t, &f->overlaps[node], config, &decides);
}

/* Sorts the nodes topologically, sources first; the graph has no cycles. */
static void sort_nodes(TimingGraph *f)
{
    const DseSpace *space = f->space;
    uint32_t count = (uint32_t)space->nodes.len, done = 0;
    uint32_t *waits = xcalloc(count + 1, sizeof(*waits));
    for (size_t e = 0; e < space->edges.len; e++) waits[space->edges.data[e].to]++;
    for (uint32_t n = 0; n < count; n++)
        if (waits[n] == 0) f->order[done++] = n;
    for (uint32_t i = 0; i < done; i++)
        for (size_t e = 0; e < space->edges.len; e++)
            if (space->edges.data[e].from == f->order[i] && --waits[space->edges.data[e].to] == 0)
                f->order[done++] = space->edges.data[e].to;
    free_ptr((void **)&waits);
}

typedef struct PathWeights {
    double first, last; /* of a node's times in the latency */
} PathWeights;

static void pass_on(PathWeights *weights, const Times *t, double first, double last)
{
    if (t->first_source != UINT32_MAX) weights[t->first_source].first += first;
    if (t->last_source != UINT32_MAX) weights[t->last_source].last += last;
}

static void weigh(const TimingGraph *f, uint32_t node, PathWeights *weights, DseCut *cut)
{
    bool fills, works;
    const Times *t = &f->times[node];
    const DseOverlap *overlap = &f->overlaps[node];
    double first = weights[node].first, last = weights[node].last;
    first_out(t, overlap, config_of(f, node), &fills);
    last_out(t, overlap, config_of(f, node), &works);
    cut->fill[node] = fills ? first : 0;
    cut->interval[node] = works ? last : last * overlap->rest;
    cut->handover[node] = (fills ? 0 : first) + (works ? 0 : last);
    pass_on(weights, t, fills ? first : first * (1 - overlap->wait), 0);
    pass_on(weights, t, 0, fills ? 0 : first * overlap->wait);
    pass_on(weights, t, works ? last : 0, works ? 0 : last);
}

DseCut dse_cut(const DseSpace *space)
{
    size_t count = space->nodes.len + 1;
    return (DseCut){ARENA_ARRAY(space->arena, double, count),
                    ARENA_ARRAY(space->arena, double, count),
                    ARENA_ARRAY(space->arena, double, count)};
}

double dse_cut_value(const DseCut *cut, uint32_t node, const Config *config)
{
    return cut->fill[node] * (double)config->cost.fill +
           cut->interval[node] * (double)config->interval + cut->handover[node] * handover(config);
}

double dse_pipeline_latency(const DseSpace *space, const uint32_t *chosen,
                            const DseOverlap *overlaps, DseCut *cut)
{
    size_t count = space->nodes.len;
    TimingGraph f = {.space = space,
                     .chosen = chosen,
                     .overlaps = overlaps,
                     .times = xcalloc(count + 1, sizeof(Times)),
                     .order = xcalloc(count + 1, sizeof(uint32_t))};
    PathWeights *weights = xcalloc(count + 1, sizeof(*weights));
    uint32_t end = 0;
    sort_nodes(&f);
    for (size_t i = 0; i < count; i++) {
        find_times(&f, f.order[i]);
        if (f.times[f.order[i]].last > f.times[end].last) end = f.order[i];
    }
    double latency = f.times[end].last;
    weights[end].last = 1;
    for (size_t i = count; i-- > 0;) weigh(&f, f.order[i], weights, cut);
    free_ptr((void **)&f.times);
    free_ptr((void **)&f.order);
    free_ptr((void **)&weights);
    return latency;
}
