/* Pipeline latency as a longest path. Times of the first and the last word are found from sources
 * to sinks. Then the critical path is followed back from the last sink along what decided each
 * time, which gives the cut's weights.
 *   first out = max(first in + fill, first in + wait (last in - first in) + handover)
 *   last out  = max(first in + interval, last in + rest * interval + handover,
 *                   last word into the window in front + its burst * interval + handover)
 * The words of a pixel may come slowly, and the work on a pixel begin with the first of them: the
 * burst is then shorter by that much.
 * Tests: test/unit/target/dse/objective_test.c */
#include <math.h>
#include <string.h>

#include "schedule/schedule.h"
#include "target/dse/dse.h"
#include "target/dse/internal.h"

/* Cycles from a word in to the word out that it completes, for a process that is not filling. */
enum { HANDOVER = 8 };
/* Words that the pipeline of a process which moves words holds back. */
enum { STAGES = 1 };

typedef struct Times {
    double first, last; /* of the words out */
    double first_in, last_in;
    double burst,
        burst_in; /* when the burst of a window begins in the words out, and in those in */
    double share, share_in;     /* of all words out, and in, that the burst is */
    double backlog, backlog_in; /* the same of a word before the last one */
    double backlog_share, backlog_share_in;
    double lead; /* of that word: how much of the time of all words in is left */
    uint32_t first_source, last_source; /* nodes that decide the words in; UINT32_MAX: the input */
    uint32_t burst_source; /* the one that gives a window the word behind which its burst comes */
    uint32_t burst_first;  /* the one that gives it its first word */
    double tail, tail_in;  /* cycles from a pixel's first word out to its last one, and in */
    double pitch, pixel;   /* cycles from word out to word out, and from pixel to pixel */
    double words;          /* of a pixel */
    bool is_split;         /* words come from an epilogue of its own */
    double last_in_begins; /* when the first word of the last pixel in comes */
    uint32_t begin_source; /* the node that decides it */
    double burst_tail;     /* tail of the words into a window */
    uint32_t tail_source, burst_tail_source; /* the nodes that decide them */
    bool has_burst;                          /* among the words out */
} Times;

/* What decides a time. */
typedef enum FirstBy { FIRST_BY_FILL, FIRST_BY_WAIT } FirstBy;
typedef enum LastBy { LAST_BY_WORK, LAST_BY_REST, LAST_BY_BURST, LAST_BY_BACKLOG } LastBy;

typedef struct TimingGraph {
    const DseSpace *space;
    const uint32_t *chosen;
    const DseOverlap *overlaps;
    bool is_bound;   /* whether weights are to make a bound, so that waits count at their least */
    Times *times;    /* per node */
    uint32_t *order; /* nodes, sources first */
} TimingGraph;

/* A word of a stream is read where the counters that do not choose it are 0; the first result is
 * there when all reduction counters are at their ends. What is read in the last step of a reduction
 * comes at once, as the channels of a pixel do. */
static DseOverlap stream_overlap(const ComputeSchedule *sched, uint32_t stream)
{
    double reads = 1, before = 0, together = 0, trips = 1, last = 0;
    for (uint32_t i = sched->loop_count; i-- > 0;) {
        double trip = (double)sched->loops[i].trip;
        if (sched_chooses_word(sched, stream, i)) {
            if (sched->loops[i].is_reduction && together == 0) together = reads;
            before += sched->loops[i].is_reduction ? (trip - 1) * reads : 0;
            reads *= trip;
            last += (trip - 1) * trips;
        }
        trips *= trip;
    }
    return (DseOverlap){.wait = (before + (together > 0 ? together : 1)) / reads,
                        .rest = (trips - 1 - last) / trips};
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
    int64_t row = sched_window_row_words(sched, 0);
    int64_t last = sched->dim[0].in * row - sched->shift * sched->inner_words;
    double scan = (double)(sched->end - sched->begin);
    return (DseOverlap){.rest = last < sched->end ? (double)(sched->end - last) / scan : 0,
                        .is_window = true};
}

/* A word before the last one may bring more than the time up to the last one takes to work off, as where
 * words out of several pixels are complete in the middle of such: of the last row of words in, the one
 * that brings most if a frame is worked off in the time that it comes in. */
static DseBacklog find_backlog(const WindowSchedule *sched)
{
    int64_t row = sched_window_row_words(sched, 0) / sched->inner_words;
    double words = (double)(sched->dim[0].in * row * sched->outer),
           most = sched_window_share_behind(sched, 0);
    DseBacklog backlog = {.share = most};
    for (int64_t to_come = 1; to_come <= row && to_come < (int64_t)words - 1; to_come++) {
        DseBacklog other = {sched_window_share_behind(sched, to_come),
                            (double)to_come / (words - 1)};
        if (other.share - other.lead <= most) continue;
        most = other.share - other.lead;
        backlog = other;
    }
    return backlog;
}

/* Waits and bursts of a window's configurations, which have words of more or fewer pixels. */
static bool find_shares(const DseSpace *space, const DseNode *node, DseOverlap *overlap)
{
    WindowSchedule sched;
    double *waits = ARENA_ARRAY(space->arena, double, node->configs.len + 1);
    double *bursts = ARENA_ARRAY(space->arena, double, node->configs.len + 1);
    DseBacklog *backlogs = ARENA_ARRAY(space->arena, DseBacklog, node->configs.len + 1);
    overlap->wait = overlap->burst = 1;
    for (size_t c = 0; c < node->configs.len; c++) {
        const int64_t *word = node->configs.data[c].word;
        const Type *ends[2 + SCHED_MAX_PARTS] = {NULL};
        for (uint32_t i = 0; i < node->port_count; i++) ends[i] = space->words.data[word[i]];
        if (!sched_window(node->process, ends, &sched)) return false;
        waits[c] = sched_window_wait(&sched);
        bursts[c] = sched_window_share_behind(&sched, 0);
        backlogs[c] = find_backlog(&sched);
        if (waits[c] < overlap->wait) overlap->wait = waits[c];
        if (bursts[c] < overlap->burst) overlap->burst = bursts[c];
    }
    overlap->waits = waits;
    overlap->bursts = bursts;
    overlap->backlogs = backlogs;
    return true;
}

/* The share of its time that the slowest configuration takes until it is filled. */
static double share_of_fill(const DseNode *node)
{
    const Config *slowest = &node->configs.data[0];
    for (size_t c = 0; c < node->configs.len; c++)
        if (node->configs.data[c].interval > slowest->interval) slowest = &node->configs.data[c];
    return slowest->interval ? (double)slowest->cost.fill / (double)slowest->interval : 0;
}

static double wait_of_result(const DseNode *node)
{
    double least = 1;
    for (size_t c = 0; c < node->configs.len; c++) {
        const Config *config = &node->configs.data[c];
        if (config->by_results) least = fmin(least, config->pace.wait);
    }
    return least;
}

static bool find_overlap(const DseSpace *space, const DseNode *node, DseOverlap *out)
{
    ComputeSchedule compute;
    WindowSchedule window;
    *out = (DseOverlap){.hands_on = !node->process};
    if (!node->process) return true;
    switch (node->kind) {
    case PROCESS_COMPUTE:
        if (!sched_compute_base(node->process, &compute)) return false;
        *out = compute_overlap(&compute);
        out->wait_of_result = wait_of_result(node);
        return true;
    case PROCESS_WINDOW:
        if (!sched_window(node->process, NULL, &window)) return false;
        *out = window_overlap(&window);
        return find_shares(space, node, out);
    case PROCESS_REORDER:
    case PROCESS_MERGE: out->wait = share_of_fill(node); return true;
    case PROCESS_CONVERTER:
    case PROCESS_FORK: out->hands_on = true; return true; /* they hand words on as they come */
    }
    return true;
}

DseOverlap *dse_overlaps(const DseSpace *space)
{
    DseOverlap *overlaps = ARENA_ARRAY(space->arena, DseOverlap, space->nodes.len + 1);
    for (size_t n = 0; n < space->nodes.len; n++)
        if (!find_overlap(space, &space->nodes.data[n], &overlaps[n])) return NULL;
    return overlaps;
}

static const Config *config_of(const TimingGraph *f, uint32_t node)
{
    return &f->space->nodes.data[node].configs.data[f->chosen[node]];
}

static double drain(const Config *config)
{
    return config->split ? (double)config->split->drain : 0;
}

/* Where words need no conversion, nothing is handed over. An epilogue that is split off hands
 * over once more. */
static double handover(const Config *config)
{
    int64_t most = config->split ? 2 * HANDOVER : HANDOVER;
    return (double)(config->cost.fill < most ? config->cost.fill : most) + drain(config);
}

/* Cycles from the first word in to the last one out, if nothing is waited for. */
static double work_of(const Config *config)
{
    return (double)config->interval + drain(config);
}

/* Whether some configuration completes its results one after another; those are the last ones. */
static bool has_results(const DseNode *node)
{
    return node->configs.len > 0 && node->configs.data[node->configs.len - 1].by_results;
}

/* A result of its own needs less of the input than all results of a pixel. */
static double wait_of(const TimingGraph *f, uint32_t node)
{
    const DseOverlap *overlap = &f->overlaps[node];
    const Config *config = config_of(f, node);
    if (f->is_bound)
        return has_results(&f->space->nodes.data[node])
                   ? fmin(overlap->wait, overlap->wait_of_result)
                   : overlap->wait;
    if (config->by_results) return config->pace.wait;
    return overlap->waits ? overlap->waits[f->chosen[node]] : overlap->wait;
}

static double burst_of(const TimingGraph *f, uint32_t node)
{
    const DseOverlap *overlap = &f->overlaps[node];
    return overlap->bursts && !f->is_bound ? overlap->bursts[f->chosen[node]] : overlap->burst;
}

/* None for bounds, which are of any configuration. */
static DseBacklog backlog_of(const TimingGraph *f, uint32_t node)
{
    const DseOverlap *overlap = &f->overlaps[node];
    return overlap->backlogs && !f->is_bound ? overlap->backlogs[f->chosen[node]]
                                             : (DseBacklog){.share = burst_of(f, node)};
}

/* Cycles of a frame's work that are left behind its last word in. */
static double rest_of(const DseOverlap *overlap, const Config *config)
{
    return config->by_results ? (double)config->pace.rest : overlap->rest * work_of(config);
}

/* When the work is done that a burst is, some of it while the words of a pixel come. */
static double burst_done(const Config *config, double burst, double share, double tail)
{
    return burst + share * work_of(config) - fmin(tail, (double)config->pace.absorb);
}

/* Cycles from the first pixel in to the last one. */
static double arrival(const Times *t)
{
    return fmax(t->last_in_begins - t->first_in, 0);
}

/* A pipeline moves on with the next words in, so those of a pixel that come slowly are later behind
 * it. A result of its own needs all of a pixel's words, of which the last ones leave the pipelines in
 * front with the next pixel, or with so many more words. */
static double held_back(const TimingGraph *f, uint32_t node)
{
    const Times *t = &f->times[node];
    const Config *config = config_of(f, node);
    bool is_slow = t->tail_in > 0;
    if (f->space->nodes.data[node].kind != PROCESS_COMPUTE)
        return is_slow && config->cost.fill > 0 ? (t->pitch - 1) * STAGES : 0;
    if (!config->by_results) return 0;
    return is_slow ? fmin(t->pixel, t->tail_in + STAGES * t->pitch) : t->pixel;
}

static double first_out(const TimingGraph *f, uint32_t node, FirstBy *by)
{
    const Times *t = &f->times[node];
    const Config *config = config_of(f, node);
    double filled = t->first_in + (double)config->cost.fill;
    double handed = t->first_in + wait_of(f, node) * arrival(t) + handover(config);
    if (!f->is_bound) handed += held_back(f, node);
    *by = filled >= handed ? FIRST_BY_FILL : FIRST_BY_WAIT;
    return filled >= handed ? filled : handed;
}

static double last_out(const TimingGraph *f, uint32_t node, LastBy *by)
{
    const Times *t = &f->times[node];
    const Config *config = config_of(f, node);
    bool is_held = config->by_results && !f->is_bound;
    double work = work_of(config), worked = t->first_in + work + (is_held ? held_back(f, node) : 0);
    double rest = t->last_in + rest_of(&f->overlaps[node], config) + handover(config);
    double burst = burst_done(config, t->burst_in, t->share_in, t->burst_tail) + handover(config);
    *by = worked >= rest ? LAST_BY_WORK : LAST_BY_REST;
    double last = worked >= rest ? worked : rest;
    double backlog =
        burst_done(config, t->backlog_in, t->backlog_share_in, t->burst_tail) + handover(config);
    if (t->has_burst && burst > last) {
        *by = LAST_BY_BURST;
        last = burst;
    }
    if (t->has_burst && backlog > last) {
        *by = LAST_BY_BACKLOG;
        last = backlog;
    }
    return last;
}

static void take_source(Times *t, uint32_t node, const Times *source, const Config *config)
{
    if (source->first > t->first_in) {
        t->first_in = source->first;
        t->first_source = node;
    }
    if (source->last > t->last_in) {
        t->last_in = source->last;
        t->last_source = node;
    }
    if (source->last - source->tail > t->last_in_begins) {
        t->last_in_begins = source->last - source->tail;
        t->begin_source = node;
        t->tail_in = source->tail;
        t->pitch = source->pitch;
        t->pixel = source->pixel;
        t->words = source->words;
        t->is_split = source->is_split;
        t->tail_source = source->tail_source;
    }
    bool is_later = burst_done(config, source->burst, source->share, source->burst_tail) >
                    burst_done(config, t->burst_in, t->share_in, t->burst_tail);
    if (source->has_burst && (!t->has_burst || is_later)) {
        t->has_burst = true;
        t->burst_in = source->burst;
        t->share_in = source->share;
        t->backlog_in = source->backlog;
        t->backlog_share_in = source->backlog_share;
        t->lead = source->lead;
        t->burst_source = source->burst_source;
        t->burst_first = source->burst_first;
        t->burst_tail = source->burst_tail;
        t->burst_tail_source = source->burst_tail_source;
    }
}

/* A converter to larger words waits until it has all parts of one. The last word of a pixel leaves an
 * epilogue of its own with the next pixel. */
static void gather(Times *t, double gathered, bool is_bound)
{
    double delay = fmin((gathered - 1) * t->pitch, t->tail), pixels = gathered / fmax(t->words, 1);
    if (pixels >= 1 && t->words > 0) {
        double held = t->is_split ? t->pixel : 0;
        t->first += is_bound ? 0 : t->tail + (pixels - 1) * t->pixel + held;
        t->pixel *= pixels;
        t->words = 1;
        t->tail = 0;
        return;
    }
    t->first += is_bound ? 0 : delay;
    t->tail -= delay;
    t->pitch *= gathered;
    t->words /= gathered;
}

static void find_tail(TimingGraph *f, uint32_t node)
{
    Times *t = &f->times[node];
    const ConfigPace *pace = &config_of(f, node)->pace;
    t->tail = t->tail_in;
    if (f->space->nodes.data[node].kind == PROCESS_COMPUTE) {
        t->tail = (double)pace->tail;
        t->pitch = (double)pace->pitch;
        t->pixel = (double)pace->pixel;
        t->words = (double)pace->words;
        t->is_split = config_of(f, node)->split != NULL;
        t->tail_source = node;
    } else if (pace->gathered > 1) {
        gather(t, (double)pace->gathered, f->is_bound);
    }
}

static void find_times(TimingGraph *f, uint32_t node)
{
    FirstBy first_by;
    LastBy last_by;
    Times *t = &f->times[node];
    const DseOverlap *overlap = &f->overlaps[node];
    *t = (Times){.first_source = UINT32_MAX,
                 .last_source = UINT32_MAX,
                 .burst_source = UINT32_MAX,
                 .burst_first = UINT32_MAX,
                 .begin_source = UINT32_MAX,
                 .tail_source = UINT32_MAX,
                 .burst_tail_source = UINT32_MAX};
    for (size_t e = 0; e < f->space->edges.len; e++) {
        const DseEdge *edge = &f->space->edges.data[e];
        if (edge->to == node) take_source(t, edge->from, &f->times[edge->from], config_of(f, node));
    }
    t->first = first_out(f, node, &first_by);
    t->last = last_out(f, node, &last_by);
    t->burst = t->burst_in;
    t->share = t->share_in;
    t->backlog = t->backlog_in;
    t->backlog_share = t->backlog_share_in;
    if (overlap->is_window) {
        const DseBacklog backlog = backlog_of(f, node);
        t->burst = t->last_in;
        t->share = burst_of(f, node);
        t->backlog = t->last_in - backlog.lead * (t->last_in - t->first_in);
        t->backlog_share = backlog.share;
        t->lead = backlog.lead;
        t->burst_source = t->last_source;
        t->burst_first = t->first_source;
        t->burst_tail = t->tail_in;
        t->burst_tail_source = t->tail_source;
    }
    find_tail(f, node);
    t->has_burst = overlap->is_window || (overlap->hands_on && t->has_burst);
}

typedef struct PathWeights {
    double first, last; /* of a node's times in the latency */
} PathWeights;

static void pass_on(PathWeights *weights, const Times *t, double first, double last)
{
    if (t->first_source != UINT32_MAX) weights[t->first_source].first += first;
    if (t->last_source != UINT32_MAX) weights[t->last_source].last += last;
}

static void weigh_first(const TimingGraph *f, uint32_t node, PathWeights *weights, DseCut *cut)
{
    FirstBy by;
    const Times *t = &f->times[node];
    double weight = weights[node].first, wait = wait_of(f, node);
    first_out(f, node, &by);
    cut->fill[node] = by == FIRST_BY_FILL ? weight : 0;
    if (by == FIRST_BY_FILL) {
        pass_on(weights, t, weight, 0);
        return;
    }
    cut->handover[node] += weight;
    if (arrival(t) == 0) wait = 0;
    cut->wait[node] = f->is_bound ? 0 : weight * arrival(t);
    pass_on(weights, t, weight * (1 - wait), 0);
    if (t->begin_source != UINT32_MAX) weights[t->begin_source].last += weight * wait;
    if (t->tail_source != UINT32_MAX) cut->tail[t->tail_source] += weight * wait;
}

/* Less of one of the two between which burst_done() chooses, so that bounds stay bounds. */
static void weigh_before_burst(const TimingGraph *f, uint32_t node, double weight, DseCut *cut)
{
    const Times *t = &f->times[node];
    if (t->burst_tail_source == UINT32_MAX) return;
    if (t->burst_tail < (double)config_of(f, node)->pace.absorb)
        cut->tail[t->burst_tail_source] += weight;
    else
        cut->absorb[node] += weight;
}

static void weigh_last(const TimingGraph *f, uint32_t node, PathWeights *weights, DseCut *cut)
{
    LastBy by;
    const Times *t = &f->times[node];
    double weight = weights[node].last;
    last_out(f, node, &by);
    if (by != LAST_BY_WORK) cut->handover[node] += weight;
    if (by == LAST_BY_BURST || by == LAST_BY_BACKLOG) weigh_before_burst(f, node, weight, cut);
    switch (by) {
    case LAST_BY_WORK:
        cut->interval[node] = weight;
        pass_on(weights, t, weight, 0);
        break;
    case LAST_BY_REST:
        cut->rest[node] = weight;
        pass_on(weights, t, 0, weight);
        break;
    case LAST_BY_BURST:
        cut->interval[node] = weight * t->share_in;
        if (t->burst_source != UINT32_MAX) weights[t->burst_source].last += weight;
        break;
    case LAST_BY_BACKLOG:
        cut->interval[node] = weight * t->backlog_share_in;
        if (t->burst_source != UINT32_MAX) weights[t->burst_source].last += weight * (1 - t->lead);
        if (t->burst_first != UINT32_MAX) weights[t->burst_first].first += weight * t->lead;
        break;
    }
}

DseCut dse_cut(const DseSpace *space)
{
    size_t count = space->nodes.len + 1;
    return (DseCut){.fill = ARENA_ARRAY(space->arena, double, count),
                    .interval = ARENA_ARRAY(space->arena, double, count),
                    .handover = ARENA_ARRAY(space->arena, double, count),
                    .wait = ARENA_ARRAY(space->arena, double, count),
                    .rest = ARENA_ARRAY(space->arena, double, count),
                    .tail = ARENA_ARRAY(space->arena, double, count),
                    .absorb = ARENA_ARRAY(space->arena, double, count)};
}

double dse_cut_value(const DseCut *cut, const DseSpace *space, uint32_t node, uint32_t config)
{
    const Config *chosen = &space->nodes.data[node].configs.data[config];
    const DseOverlap *overlap = &cut->overlaps[node];
    double wait = overlap->waits       ? overlap->waits[config]
                  : chosen->by_results ? chosen->pace.wait - overlap->wait
                                       : 0;
    return cut->fill[node] * (double)chosen->cost.fill + cut->interval[node] * work_of(chosen) +
           cut->handover[node] * handover(chosen) + cut->rest[node] * rest_of(overlap, chosen) -
           cut->tail[node] * (double)chosen->pace.tail -
           cut->absorb[node] * (double)chosen->pace.absorb + cut->wait[node] * wait;
}

bool dse_is_no_later(const DseSpace *space, const DseOverlap *overlaps, uint32_t node,
                     uint32_t config, uint32_t other)
{
    const Config *a = &space->nodes.data[node].configs.data[config];
    const Config *b = &space->nodes.data[node].configs.data[other];
    const double *waits = overlaps[node].waits;
    if (a->by_results != b->by_results) return false;
    return a->cost.fill <= b->cost.fill && a->interval <= b->interval && work_of(a) <= work_of(b) &&
           handover(a) <= handover(b) && a->pace.tail >= b->pace.tail &&
           a->pace.absorb >= b->pace.absorb &&
           rest_of(&overlaps[node], a) <= rest_of(&overlaps[node], b) &&
           (!waits || waits[config] <= waits[other]);
}

/* Follows the critical path back from node `end`. */
static void weigh(const TimingGraph *f, uint32_t end, DseCut *cut)
{
    size_t count = f->space->nodes.len;
    PathWeights *weights = xcalloc(count + 1, sizeof(*weights));
    cut->overlaps = f->overlaps;
    weights[end].last = 1;
    for (size_t i = count; i-- > 0;) {
        weigh_first(f, f->order[i], weights, cut);
        weigh_last(f, f->order[i], weights, cut);
    }
    free_ptr((void **)&weights);
}

/* Gives the node whose last word out is the last of all. */
static uint32_t find_all_times(TimingGraph *f)
{
    uint32_t end = 0;
    for (size_t i = 0; i < f->space->nodes.len; i++) {
        find_times(f, f->order[i]);
        if (f->times[f->order[i]].last > f->times[end].last) end = f->order[i];
    }
    return end;
}

double dse_pipeline_latency(const DseSpace *space, const uint32_t *chosen,
                            const DseOverlap *overlaps, DseCut *cut, DseCut *estimate)
{
    size_t count = space->nodes.len;
    TimingGraph f = {.space = space,
                     .chosen = chosen,
                     .overlaps = overlaps,
                     .times = xcalloc(count + 1, sizeof(Times)),
                     .order = xcalloc(count + 1, sizeof(uint32_t))};
    dse_sort_nodes(space, f.order); /* all of them: dse_space has found no cycle */
    uint32_t end = find_all_times(&f);
    double latency = f.times[end].last;
    if (estimate) weigh(&f, end, estimate);
    f.is_bound = true;
    weigh(&f, find_all_times(&f), cut);
    free_ptr((void **)&f.times);
    free_ptr((void **)&f.order);
    return latency;
}
