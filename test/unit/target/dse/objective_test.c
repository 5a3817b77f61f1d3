/* The objectives against brute force, on random spaces of processes with converters between them,
 * and what holds for any space: more resources are never worse, no limit is exceeded. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "target/dse/dse.h"
#include "test/unit/random.h"

enum {
    PROCESSES = 4,
    CONVERTERS = 4,
    NODES = PROCESSES + CONVERTERS,
    CONFIGS = 4,
    WORDS = 3,
    ROUNDS = 80
};

static Config random_config(Random *random, Arena *arena, uint32_t ports)
{
    Config config = {.middle = -1, .word = ARENA_ARRAY(arena, int64_t, ports)};
    config.cost.cycles = config.interval = 1 + (int64_t)random_below(random, 12);
    config.cost.dsp = (int64_t)random_below(random, 20);
    config.cost.bram18 = (int64_t)random_below(random, 10);
    config.cost.lut = (int64_t)random_below(random, 1000);
    config.cost.fill = 1 + (int64_t)random_below(random, (uint32_t)config.interval);
    for (uint32_t p = 0; p < ports; p++) config.word[p] = (int64_t)random_below(random, WORDS);
    return config;
}

/* How its words follow each other; in the second half of the list, by results. */
static void set_pace(Random *random, uint32_t number, Config *config)
{
    config->by_results = number >= CONFIGS / 2;
    config->pace = (ConfigPace){.tail = config->by_results ? random_below(random, 4) : 0,
                                .pitch = 1 + random_below(random, 3),
                                .pixel = 1 + random_below(random, 6),
                                .words = 1 + random_below(random, 3),
                                .absorb = random_below(random, 4),
                                .rest = random_below(random, 4),
                                .wait = random_below(random, 5) / 4.0};
}

/* From each word to each other one, most of the time. */
static void add_converter(Random *random, Arena *arena, DseSpace *space)
{
    DseNode node = {.kind = PROCESS_CONVERTER, .port_count = 2};
    for (int64_t from = 0; from < WORDS; from++) {
        for (int64_t to = 0; to < WORDS; to++) {
            Config config = {.middle = -1, .word = ARENA_ARRAY(arena, int64_t, 2)};
            if (from != to && random_below(random, 4) == 0) continue;
            config.word[0] = from;
            config.word[1] = to;
            if (from != to) {
                config.cost.cycles = config.interval = 1 + (int64_t)random_below(random, 12);
                config.cost.lut = (int64_t)random_below(random, 100);
                config.cost.fill = 1;
                config.pace.gathered = random_below(random, 4);
            }
            *vec_push(&node.configs) = config;
        }
    }
    *vec_push(&space->nodes) = node;
}

/* A fork, two branches of which one has a process more, a join. */
static void random_space(Random *random, Arena *arena, DseSpace *space)
{
    static const DseEdge edges[] = {{0, 1, 4, 0, NULL}, {4, 1, 1, 0, NULL}, {0, 2, 5, 0, NULL},
                                    {5, 1, 3, 2, NULL}, {1, 1, 6, 0, NULL}, {6, 1, 2, 0, NULL},
                                    {2, 1, 7, 0, NULL}, {7, 1, 3, 0, NULL}};
    *space = (DseSpace){.arena = arena};
    for (uint32_t w = 0; w < WORDS; w++) *vec_push(&space->words) = NULL;
    for (uint32_t n = 0; n < PROCESSES; n++) {
        DseNode node = {.kind = PROCESS_COMPUTE, .port_count = 3};
        bool has_orders = random_below(random, 2);
        for (uint32_t c = 0; c < CONFIGS; c++) {
            Config config = random_config(random, arena, 3);
            if (has_orders) set_pace(random, c, &config);
            *vec_push(&node.configs) = config;
        }
        *vec_push(&space->nodes) = node;
    }
    for (uint32_t n = 0; n < CONVERTERS; n++) add_converter(random, arena, space);
    for (size_t e = 0; e < COUNT_OF(edges); e++) *vec_push(&space->edges) = edges[e];
}

static DseOverlap random_overlap(Random *random, Arena *arena)
{
    double *waits = ARENA_ARRAY(arena, double, CONFIGS);
    double *bursts = ARENA_ARRAY(arena, double, CONFIGS);
    DseOverlap overlap = {.wait = random_below(random, 5) / 4.0,
                          .rest = random_below(random, 5) / 8.0,
                          .burst = random_below(random, 5) / 4.0,
                          .wait_of_result = 0,
                          .is_window = random_below(random, 2)};
    if (random_below(random, 2)) return overlap;
    overlap.waits = waits;
    overlap.bursts = bursts;
    overlap.wait = overlap.burst = 1;
    for (uint32_t c = 0; c < CONFIGS; c++) {
        waits[c] = random_below(random, 5) / 4.0;
        bursts[c] = random_below(random, 5) / 4.0;
        if (waits[c] < overlap.wait) overlap.wait = waits[c];
        if (bursts[c] < overlap.burst) overlap.burst = bursts[c];
    }
    return overlap;
}

static DseTask random_task(Random *random, Arena *arena)
{
    static const DseObjective objectives[] = {DSE_LATENCY, DSE_THROUGHPUT, DSE_FPS};
    DseOverlap *overlaps = ARENA_ARRAY(arena, DseOverlap, NODES);
    for (uint32_t n = 0; n < PROCESSES; n++) overlaps[n] = random_overlap(random, arena);
    for (uint32_t n = PROCESSES; n < NODES; n++) overlaps[n].hands_on = true;
    DseTask task = {.objective = objectives[random_below(random, COUNT_OF(objectives))],
                    .overlaps = overlaps,
                    .interval = 4 + (int64_t)random_below(random, 10)};
    for (int k = 0; k < COST_KINDS; k++) task.limits.items[k] = -1;
    task.limits.dsp = 15 + (int64_t)random_below(random, 40);
    task.limits.bram18 = 5 + (int64_t)random_below(random, 20);
    if (random_below(random, 2)) task.limits.lut = 500 + (int64_t)random_below(random, 2000);
    return task;
}

typedef struct Search {
    const DseSpace *space;
    const DseTask *task;
    uint32_t choice[NODES];
    int64_t best; /* -1: none */
} Search;

static const Config *chosen(const Search *s, uint32_t node)
{
    return &s->space->nodes.data[node].configs.data[s->choice[node]];
}

typedef struct Words {
    double first, last; /* times of the first and the last word */
    double burst;       /* when a window's last word in was there; < 0: there is no window */
    double share;       /* of its words that it gives then */
    double burst_tail;  /* what the words of a pixel into it take */
    double begins;      /* of words in: when the last pixel does */
    double tail, pitch, pixel, words; /* of a pixel */
} Words;

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* When a process is done that works off a burst. */
static double burst_done(const Config *config, const Words *words)
{
    return words->burst + words->share * (double)config->interval -
           fmin(words->burst_tail, (double)config->pace.absorb);
}

static void take_words(const Config *config, Words *in, const Words *source)
{
    bool is_later = in->burst < 0 || burst_done(config, source) > burst_done(config, in);
    in->first = later(in->first, source->first);
    in->last = later(in->last, source->last);
    if (source->last - source->tail > in->begins) {
        in->begins = source->last - source->tail;
        in->tail = source->tail;
        in->pitch = source->pitch;
        in->pixel = source->pixel;
        in->words = source->words;
    }
    if (source->burst < 0 || !is_later) return;
    in->burst = source->burst;
    in->share = source->share;
    in->burst_tail = source->burst_tail;
}

static double held_back(const DseNode *node, const Config *config, const Words *in)
{
    if (node->kind == PROCESS_CONVERTER)
        return in->tail > 0 && config->cost.fill > 0 ? in->pitch - 1 : 0;
    if (!config->by_results) return 0;
    return in->tail > 0 ? fmin(in->pixel, in->tail + in->pitch) : in->pixel;
}

/* How the words out of a pixel follow each other. */
static void set_words(const DseNode *node, const Config *config, const Words *in, Words *out)
{
    const ConfigPace *pace = &config->pace;
    const double gathered = (double)pace->gathered;
    out->tail = in->tail;
    out->pitch = in->pitch;
    out->pixel = in->pixel;
    out->words = in->words;
    if (node->kind == PROCESS_COMPUTE) {
        out->tail = (double)pace->tail;
        out->pitch = (double)pace->pitch;
        out->pixel = (double)pace->pixel;
        out->words = (double)pace->words;
    } else if (gathered > 1 && in->words > 0 && gathered >= in->words) {
        out->first += in->tail + (gathered / in->words - 1) * in->pixel;
        out->pixel = gathered / in->words * in->pixel;
        out->words = 1;
        out->tail = 0;
    } else if (gathered > 1) {
        double delay = fmin((gathered - 1) * in->pitch, in->tail);
        out->first += delay;
        out->tail -= delay;
        out->pitch *= gathered;
        out->words /= gathered;
    }
}

/* The model of docs/cost-model.md. */
static Words words_out(const Search *s, uint32_t node)
{
    Words in = {.burst = -1};
    const Config *config = chosen(s, node);
    const DseNode *process = &s->space->nodes.data[node];
    DseOverlap overlap = s->task->overlaps[node];
    double wait = overlap.waits ? overlap.waits[s->choice[node]] : overlap.wait;
    double burst = overlap.bursts ? overlap.bursts[s->choice[node]] : overlap.burst;
    double fill = (double)config->cost.fill, work = (double)config->interval,
           hand = fill < 8 ? fill : 8;
    for (size_t e = 0; e < s->space->edges.len; e++) {
        if (s->space->edges.data[e].to != node) continue;
        Words source = words_out(s, s->space->edges.data[e].from);
        take_words(config, &in, &source);
    }
    double held = held_back(process, config, &in), rest = overlap.rest * work;
    if (config->by_results) wait = config->pace.wait, rest = (double)config->pace.rest;
    double last = later(in.first + work + (config->by_results ? held : 0), in.last + rest + hand);
    if (in.burst >= 0) last = later(last, burst_done(config, &in) + hand);
    double handed = in.first + wait * later(in.begins - in.first, 0) + hand + held;
    Words out = {.first = later(in.first + fill, handed), .last = last};
    out.burst = overlap.is_window ? in.last : overlap.hands_on ? in.burst : -1;
    out.share = overlap.is_window ? burst : in.share;
    out.burst_tail = overlap.is_window ? in.tail : in.burst_tail;
    set_words(process, config, &in, &out);
    return out;
}

static int64_t frame_latency(const Search *s)
{
    return (int64_t)ceil(words_out(s, PROCESSES - 1).last - 1e-9);
}

static int64_t value_of(const Search *s, const Cost *sum, int64_t interval)
{
    int64_t shares = 0;
    const Cost *limits = &s->task->limits;
    if (s->task->objective == DSE_LATENCY) return sum->cycles;
    if (s->task->objective == DSE_THROUGHPUT) return interval;
    if (s->task->objective == DSE_PIPELINE_LATENCY) return frame_latency(s);
    for (int k = COST_DSP; k < COST_KINDS; k++)
        if (limits->items[k] > 0)
            shares += sum->items[k] * ((999999 + limits->items[k]) / limits->items[k]);
    return shares;
}

static bool keeps_rate(const DseTask *task)
{
    return task->objective == DSE_FPS ||
           (task->objective == DSE_PIPELINE_LATENCY && task->interval > 0);
}

static void look_at(Search *s)
{
    Cost sum = {.cycles = 0};
    int64_t interval = 0;
    for (uint32_t n = 0; n < NODES; n++) {
        cost_add(&sum, &chosen(s, n)->cost);
        if (chosen(s, n)->interval > interval) interval = chosen(s, n)->interval;
    }
    for (size_t e = 0; e < s->space->edges.len; e++) {
        const DseEdge *edge = &s->space->edges.data[e];
        if (chosen(s, edge->from)->word[edge->from_port] !=
            chosen(s, edge->to)->word[edge->to_port])
            return;
    }
    for (int k = 0; k < COST_KINDS; k++)
        if (s->task->limits.items[k] >= 0 && sum.items[k] > s->task->limits.items[k]) return;
    if (keeps_rate(s->task) && interval > s->task->interval) return;
    int64_t value = value_of(s, &sum, interval);
    if (s->best < 0 || value < s->best) s->best = value;
}

/* The converters follow from the words of the processes; -1: there is none. */
static int64_t conversion(const DseNode *node, int64_t from, int64_t to)
{
    for (size_t c = 0; c < node->configs.len; c++)
        if (node->configs.data[c].word[0] == from && node->configs.data[c].word[1] == to)
            return (int64_t)c;
    return -1;
}

static bool choose_converters(Search *s)
{
    const DseEdge *edges = s->space->edges.data;
    for (uint32_t i = 0; i < CONVERTERS; i++) {
        const DseEdge *in = &edges[2 * i], *out = &edges[2 * i + 1];
        int64_t config =
            conversion(&s->space->nodes.data[in->to], chosen(s, in->from)->word[in->from_port],
                       chosen(s, out->to)->word[out->to_port]);
        if (config < 0) return false;
        s->choice[in->to] = (uint32_t)config;
    }
    return true;
}

static int64_t brute_force(const DseSpace *space, const DseTask *task)
{
    Search s = {.space = space, .task = task, .best = -1};
    for (uint32_t index = 0; index < CONFIGS * CONFIGS * CONFIGS * CONFIGS; index++) {
        for (uint32_t n = 0, rest = index; n < PROCESSES; n++, rest /= CONFIGS)
            s.choice[n] = rest % CONFIGS;
        if (choose_converters(&s)) look_at(&s);
    }
    return s.best;
}

static void check_within(const DseSpace *space, const DseTask *task, const uint32_t *chosen)
{
    Cost total = dse_total(space, chosen);
    for (int k = 0; k < COST_KINDS; k++)
        assert_true(task->limits.items[k] < 0 || total.items[k] <= task->limits.items[k]);
    assert_true(!keeps_rate(task) || dse_interval(space, chosen) <= task->interval);
}

static void equals_brute_force(void **state)
{
    Random random = {.state = 7};
    uint32_t feasible = 0;
    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        Arena arena;
        DseSpace space;
        arena_init(&arena);
        DseTask task = random_task(&random, &arena);
        random_space(&random, &arena, &space);
        DseState found = dse_state(&space);
        int64_t want = brute_force(&space, &task);
        DseAnswer answer = dse_optimize(&space, &task, &found);
        assert_int_equal(answer.status, want < 0 ? DSE_INFEASIBLE : DSE_OPTIMAL);
        if (want >= 0) {
            assert_int_equal(answer.value, want);
            assert_int_equal(answer.bound, want);
            check_within(&space, &task, found.chosen);
            feasible++;
        }
        dse_free(&space);
        arena_free(&arena);
    }
    assert_true(feasible > ROUNDS / 4 && feasible < ROUNDS);
}

/* A design whose latency is as said, and a bound: the best lies between them. */
static void bounds_pipeline_latency(void **state)
{
    Random random = {.state = 5};
    uint32_t optimal = 0, feasible = 0;
    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        Arena arena;
        DseSpace space;
        arena_init(&arena);
        DseTask task = random_task(&random, &arena);
        task.objective = DSE_PIPELINE_LATENCY;
        if (round % 2) task.interval = 0;
        random_space(&random, &arena, &space);
        DseState found = dse_state(&space);
        int64_t want = brute_force(&space, &task);
        DseAnswer answer = dse_optimize(&space, &task, &found);
        assert_int_equal(answer.status == DSE_INFEASIBLE, want < 0);
        if (want >= 0) {
            Search s = {.space = &space, .task = &task};
            for (uint32_t n = 0; n < NODES; n++) s.choice[n] = found.chosen[n];
            assert_true(frame_latency(&s) <= answer.value);
            if (!(answer.bound <= want && want <= answer.value))
                print_message("round %u bound %d want %d value %d frame %d\n", round,
                              (int)answer.bound, (int)want, (int)answer.value,
                              (int)frame_latency(&s));
            assert_true(answer.bound <= want && want <= answer.value);
            check_within(&space, &task, found.chosen);
            optimal += answer.value == want;
            feasible++;
        }
        dse_free(&space);
        arena_free(&arena);
    }
    assert_true(optimal > feasible * 9 / 10);
}

/* With one more of everything, again and again. */
static void more_is_never_worse(void **state)
{
    Random random = {.state = 3};
    (void)state;
    for (uint32_t round = 0; round < ROUNDS / 8; round++) {
        Arena arena;
        DseSpace space;
        int64_t before = INT64_MAX;
        arena_init(&arena);
        DseTask task = random_task(&random, &arena);
        task.objective = round % 2 ? DSE_LATENCY : DSE_THROUGHPUT;
        random_space(&random, &arena, &space);
        DseState found = dse_state(&space);
        for (int step = 0; step < 20; step++) {
            DseAnswer answer = dse_optimize(&space, &task, &found);
            int64_t value = answer.status == DSE_INFEASIBLE ? INT64_MAX : answer.value;
            assert_true(value <= before);
            before = value;
            task.limits.dsp++;
            task.limits.bram18++;
            task.limits.lut += task.limits.lut < 0 ? 0 : 50;
        }
        dse_free(&space);
        arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equals_brute_force),
                                       cmocka_unit_test(bounds_pipeline_latency),
                                       cmocka_unit_test(more_is_never_worse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
