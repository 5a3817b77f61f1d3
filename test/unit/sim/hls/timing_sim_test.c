/* The engine against a simulation that steps through every cycle: random networks with forks,
 * joins, rate changes and depths that may be too small, several frames, processes that run empty
 * after each of them or rewind. FIFO sizes on the same networks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "ir/attr/attr.h"
#include "sim/hls/hls.h"
#include "target/fifo/fifo.h"
#include "test/unit/random.h"
#include "test/unit/sim/hls/networks.h"

enum { FRAMES = 4, MAX_ACCESSES = 8, MAX_TICKS = 1 << 12 };

/* What a process does in each of its own cycles of a frame. */
typedef struct Script {
    struct {
        const HlsAccess *accesses[MAX_ACCESSES];
        uint32_t count;
    } ticks[MAX_TICKS];
    int64_t length, at, frames, ends[FRAMES];
    bool rewinds;
    int64_t last[FRAMES]; /* if it rewinds: its own cycles up to the end of each frame */
} Script;

static void script_loop(Script *s, const HlsLoop *loop, int64_t execution)
{
    s->length += loop->op ? LOOP_START : 0;
    for (int64_t i = 0; i < loop->trips; i++)
        for (size_t a = 0; a < loop->accesses.len; a++) {
            const HlsAccess *access = &loop->accesses.data[a];
            int64_t tick = s->length + i * loop->ii + access->offset + access->late;
            if (happens_in(access, execution * loop->trips + i))
                s->ticks[tick].accesses[s->ticks[tick].count++] = access;
        }
    s->length += (loop->trips - 1) * loop->ii + loop->depth;
    assert_true(s->length < MAX_TICKS);
}

/* All frames, of which the last one runs empty. With pauses, some frames are started later than the
 * process could begin with them, so that it may run empty before. */
static void script_rewinding(Script *s, const HlsProcess *p, Random *pauses)
{
    const HlsLoop *loop = p->loops.data;
    int64_t begin = s->length;
    s->rewinds = true;
    for (int64_t f = 0; f < FRAMES; f++) {
        bool is_late = pauses && random_below(pauses, 2);
        s->length = begin += is_late ? random_below(pauses, 2 * (uint32_t)loop->depth) : 0;
        script_loop(s, loop, 0);
        s->last[f] = s->length;
        begin += loop->trips * loop->ii;
    }
}

/* pauses: NULL, or draws how much later than possible processes that rewind begin each frame. */
static Script *script_of(const HlsProcess *p, Random *pauses)
{
    Script *s = calloc(1, sizeof *s);
    s->length = p->func ? PROCESS_START + p->start_late : 0;
    if (p->rewinds) {
        script_rewinding(s, p, pauses);
        return s;
    }
    for (int64_t e = 0; e < p->loops.data[0].executions; e++)
        for (size_t l = 0; l < p->loops.len; l++) script_loop(s, &p->loops.data[l], e);
    s->length += p->end_late;
    return s;
}

/* One cycle of one process, by the levels at the beginning of the cycle. */
static bool step(const HlsDesign *d, uint32_t index, Script *s, const int64_t *before,
                 int64_t *levels, int64_t cycle)
{
    const HlsProcess *p = &d->processes.data[index];
    if (s->frames == FRAMES) return false;
    for (uint32_t i = 0; i < s->ticks[s->at].count; i++) {
        const HlsAccess *access = s->ticks[s->at].accesses[i];
        uint32_t stream = p->streams[access->port];
        if (access->is_write ? before[stream] >= d->streams.data[stream].depth
                             : before[stream] == 0)
            return false;
    }
    for (uint32_t i = 0; i < s->ticks[s->at].count; i++) {
        const HlsAccess *access = s->ticks[s->at].accesses[i];
        levels[p->streams[access->port]] += access->is_write ? 1 : -1;
    }
    if (++s->at == (s->rewinds ? s->last[s->frames] : s->length)) {
        s->ends[s->frames++] = cycle + 1;
        if (!s->rewinds) s->at = 0;
    }
    return true;
}

/* Until all frames are done, or nothing moves. */
static bool step_through(const HlsDesign *d, Script **scripts)
{
    size_t streams = d->streams.len;
    int64_t *levels = calloc(streams, sizeof *levels), *before = calloc(streams, sizeof *before);
    bool moves = true, done = false;
    for (int64_t cycle = 0; moves && !done; cycle++) {
        memcpy(before, levels, streams * sizeof *levels);
        moves = false;
        done = true;
        for (uint32_t i = 0; i < d->processes.len; i++) {
            moves |= step(d, i, scripts[i], before, levels, cycle);
            done &= scripts[i]->frames == FRAMES;
        }
    }
    free(levels);
    free(before);
    return done;
}

/* The same run stops at a limit of fewer events, and not at one more. */
static void check_limit(const HlsDesign *d, bool done, int64_t events)
{
    for (int64_t limit = events / 2 + 1; limit <= events + 1; limit += events / 2 + 1) {
        const HlsSimOptions options = {.max_events = limit};
        HlsSim *sim = hls_sim_create(d, &options);
        bool runs = hls_sim_run(sim, FRAMES), drains = hls_sim_drain(sim);
        assert_int_equal(drains, done && limit > events);
        assert_true(runs || !drains);
        assert_int_equal(hls_sim_is_exhausted(sim), limit <= events);
        assert_int_equal(hls_sim_was_stopped(sim), limit <= events);
        assert_true(hls_sim_events(sim) <= limit + MAX_PROCESSES);
        hls_sim_finish(sim);
        hls_sim_free(sim);
    }
}

static bool compare(const HlsDesign *d)
{
    Script *scripts[3 * MAX_PROCESSES];
    const HlsSimOptions options = {0};
    HlsSim *sim = hls_sim_create(d, &options);
    for (uint32_t i = 0; i < d->processes.len; i++)
        scripts[i] = script_of(&d->processes.data[i], NULL);
    bool done = step_through(d, scripts);
    bool runs = true, drains;
    for (int64_t f = random_below(&(Random){(uint64_t)d->streams.len}, FRAMES) + 1; f <= FRAMES;
         f++)
        runs &= hls_sim_run(sim, f);
    drains = hls_sim_drain(sim);
    assert_int_equal(drains, done);
    assert_true(runs || !drains);
    for (uint32_t i = 0; i < d->processes.len; i++) {
        const HlsFrames *frames = hls_sim_frames(sim, i);
        assert_int_equal(frames->len, scripts[i]->frames);
        for (size_t f = 0; f < frames->len; f++)
            assert_int_equal(frames->data[f].end, scripts[i]->ends[f]);
        free(scripts[i]);
    }
    check_limit(d, done, hls_sim_events(sim));
    hls_sim_free(sim);
    return done;
}

static void networks_are_exact_to_the_cycle(void **state)
{
    enum { ROUNDS = 800 };
    Random random = {11};
    int done = 0;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        HlsDesign design;
        random_design(&random, &design, round % 2);
        done += compare(&design);
        free_design(&design);
    }
    assert_in_range(done, ROUNDS / 10, ROUNDS - ROUNDS / 10); /* some of both kinds */
}

/* Once the state recurs, the interval stays as it was said. */
static void periods_last(void **state)
{
    enum { ROUNDS = 120, LATER = 12 };
    Random random = {23};
    int periodic = 0;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        const HlsSimOptions options = {0};
        HlsDesign design;
        HlsPeriod period = {0};
        int64_t frames = 0;
        random_design(&random, &design, round % 2);
        HlsSim *sim = hls_sim_create(&design, &options);
        while (period.frames == 0 && frames < 40 && hls_sim_run(sim, ++frames))
            period = hls_sim_period(sim);
        if (period.frames > 0) {
            periodic++;
            assert_true(hls_sim_run(sim, frames + LATER));
            for (uint32_t i = 0; i < design.processes.len; i++) {
                const HlsFrame *f = hls_sim_frames(sim, i)->data;
                int64_t count = (int64_t)hls_sim_frames(sim, i)->len;
                assert_true(count > frames); /* the last ones may wait for those that follow */
                for (int64_t k = frames; k < count; k++)
                    assert_int_equal(f[k].end - f[k - period.frames].end, period.cycles);
            }
        }
        hls_sim_free(sim);
        free_design(&design);
    }
    assert_true(periodic > ROUNDS / 10);
}

/* The sized network keeps the best interval, and no FIFO alone can be smaller. */
static void check_sizes(const HlsDesign *d, int64_t *depths)
{
    enum { EVENTS = 1 << 22 };
    int64_t best = fifo_best_interval(d), events = EVENTS;
    SteadyState steady;
    assert_int_equal(fifo_size(d, best, &events, NULL, depths), SIZING_PERIODIC);
    events = EVENTS;
    assert_int_equal(fifo_steady_state(d, depths, &events, &steady, NULL), SIZING_PERIODIC);
    assert_int_equal(steady.interval, best);
    for (size_t i = 1; i < d->streams.len; i++) {
        if (depths[i] == HLS_MIN_DEPTH) continue;
        events = EVENTS;
        depths[i]--;
        SizingOutcome outcome = fifo_steady_state(d, depths, &events, &steady, NULL);
        assert_true(outcome != SIZING_PERIODIC || steady.interval > best);
        depths[i]++;
    }
}

/* Sized networks do not hang when frames are started late, here and there. */
static void check_pauses(Random *random, const HlsDesign *d, const int64_t *depths)
{
    enum { TRIES = 8 };
    for (size_t i = 0; i < d->streams.len; i++) d->streams.data[i].depth = depths[i];
    for (int try = 0; try < TRIES; try++) {
        Script *scripts[3 * MAX_PROCESSES];
        for (uint32_t i = 0; i < d->processes.len; i++)
            scripts[i] = script_of(&d->processes.data[i], random);
        assert_true(step_through(d, scripts));
        for (uint32_t i = 0; i < d->processes.len; i++) free(scripts[i]);
    }
}

static void sizes_are_minimal(void **state)
{
    enum { ROUNDS = 200 };
    Random random = {5};
    Context *ctx = context_create();
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        HlsDesign design;
        random_design(&random, &design, round % 2);
        design.port_count = 1;
        for (size_t i = 0; i < design.streams.len; i++)
            design.streams.data[i].word = type_i(ctx, 1 + random_below(&random, 16));
        check_sizes(&design, ARENA_ARRAY(&design.arena, int64_t, design.streams.len));
        free_design(&design);
    }
    context_destroy(ctx);
}

/* Where a frame has too many events for the effort that is allowed, regions are sized one after the
 * other. Their depths keep the interval of the whole, as predicted and at a bound. */
static void regions_keep_the_interval(void **state)
{
    enum { ROUNDS = 1000, EVENTS = 1 << 22, LATER_PERMILLE = 200, MOST_ACCESSES = 16 };
    Random random = {77};
    Context *ctx = context_create();
    int divided = 0;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        HlsDesign d;
        random_design(&random, &d, round % 2);
        d.port_count = 1;
        HlsPerturbation bound = design_bound(LATER_PERMILLE);
        if (round % 3 == 0) design_perturb(&d, &bound);
        int64_t accesses = 0, best = fifo_best_interval(&d);
        for (size_t i = 0; i < d.streams.len; i++) {
            d.streams.data[i].word = type_i(ctx, 1 + random_below(&random, 16));
            accesses += 2 * d.streams.data[i].words;
        }
        int64_t *depths = ARENA_ARRAY(&d.arena, int64_t, d.streams.len);
        int64_t *whole = ARENA_ARRAY(&d.arena, int64_t, d.streams.len);
        int64_t few = (accesses + MOST_ACCESSES - 1) / MOST_ACCESSES, events = EVENTS;
        assert_int_equal(fifo_size(&d, best, &few, NULL, depths), SIZING_PERIODIC);
        assert_true(fifo_keeps_interval(&d, depths, best));
        assert_int_equal(fifo_size(&d, best, &events, NULL, whole), SIZING_PERIODIC);
        for (size_t i = 1; i < d.streams.len; i++) divided += depths[i] != whole[i];
        free_design(&d);
    }
    assert_in_range(divided, 1, INT64_MAX);
    context_destroy(ctx);
}

/* Depths that are just enough for frames without a gap may not be for others. */
static void paused_frames_do_not_hang(void **state)
{
    enum { ROUNDS = 2000, EVENTS = 1 << 22 };
    Random random = {41};
    Context *ctx = context_create();
    int raised = 0;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        HlsDesign d;
        int64_t events = EVENTS, before = 0, after = 0;
        random_design(&random, &d, true);
        d.port_count = 1;
        for (size_t i = 0; i < d.streams.len; i++) d.streams.data[i].word = type_i(ctx, 8);
        int64_t *depths = ARENA_ARRAY(&d.arena, int64_t, d.streams.len);
        int64_t best = fifo_best_interval(&d);
        assert_int_equal(fifo_size(&d, best, &events, NULL, depths), SIZING_PERIODIC);
        for (size_t i = 0; i < d.streams.len; i++) before += depths[i];
        const FifoSlack exact = {.is_exact = true};
        assert_int_equal(fifo_size_for_pauses(&d, exact, EVENTS, depths), SIZING_PERIODIC);
        assert_true(fifo_keeps_interval(&d, depths, best));
        for (size_t i = 0; i < d.streams.len; i++) after += depths[i];
        raised += after > before;
        check_pauses(&random, &d, depths);
        free_design(&d);
    }
    assert_in_range(raised, 1, ROUNDS);
    context_destroy(ctx);
}

/* On hardware that is later than predicted, too. FIFOs are as predicted, because the simulation by
 * steps knows no others. */
static void perturbed_networks_are_exact(void **state)
{
    enum { ROUNDS = 400 };
    Random random = {17};
    int done = 0;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        HlsDesign design;
        HlsPerturbation later = design_bound(HLS_BOUND_PERMILLE);
        random_design(&random, &design, round % 2);
        later.is_bound = false;
        later.is_random = true;
        later.seed = random_u64(&random);
        later.fifo_late = 0;
        design_perturb(&design, &later);
        done += compare(&design);
        free_design(&design);
    }
    assert_in_range(done, ROUNDS / 10, ROUNDS - ROUNDS / 10);
}

/* Sized with slack, a network keeps the interval of the latest hardware on all hardware before. */
static void check_slack(Random *random, HlsDesign *d, FifoSlack slack, const int64_t *depths)
{
    enum { EVENTS = 1 << 22, SEEDS = 12 };
    HlsPerturbation later = design_bound(slack.permille);
    int64_t bound = fifo_bound_interval(d, slack);
    later.is_bound = false;
    for (int i = 0; i < SEEDS; i++) {
        int64_t events = EVENTS;
        SteadyState steady;
        later.seed = random_u64(random);
        design_perturb(d, &later);
        assert_true(fifo_best_interval(d) <= bound);
        assert_true(fifo_keeps_interval(d, depths, bound));
        assert_int_equal(fifo_steady_state(d, depths, &events, &steady, NULL), SIZING_PERIODIC);
        assert_true(steady.interval <= bound);
        later.is_random = true; /* the first is the latest hardware */
    }
    design_perturb(d, NULL);
}

static void slack_covers_all_hardware(void **state)
{
    enum { ROUNDS = 300, EVENTS = 1 << 22 };
    Random random = {29};
    Context *ctx = context_create();
    int deeper = 0;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        HlsDesign d;
        FifoSlack slack;
        int64_t events = EVENTS, best;
        SteadyState steady;
        random_design(&random, &d, round % 2);
        assert_true(fifo_slack_parse(STR("default"), &slack));
        slack.permille = 250 * random_below(&random, 5);
        d.port_count = 1;
        for (size_t i = 0; i < d.streams.len; i++)
            d.streams.data[i].word = type_i(ctx, 1 + random_below(&random, 16));
        int64_t *depths = ARENA_ARRAY(&d.arena, int64_t, d.streams.len);
        int64_t *least = ARENA_ARRAY(&d.arena, int64_t, d.streams.len);
        best = fifo_best_interval(&d);
        assert_int_equal(fifo_size_for_bound(&d, slack, best, &events, least), SIZING_PERIODIC);
        events = EVENTS;
        assert_int_equal(fifo_size(&d, best, &events, least, depths), SIZING_PERIODIC);
        assert_true(fifo_keeps_slack(&d, slack, depths, fifo_bound_interval(&d, slack)));
        check_slack(&random, &d, slack, depths);
        events = EVENTS;
        assert_int_equal(fifo_steady_state(&d, depths, &events, &steady, NULL), SIZING_PERIODIC);
        assert_int_equal(steady.interval, best);
        events = EVENTS;
        assert_int_equal(fifo_size(&d, best, &events, NULL, least), SIZING_PERIODIC);
        for (size_t i = 0; i < d.streams.len; i++) deeper += depths[i] > least[i];
        assert_int_equal(fifo_size_for_pauses(&d, slack, EVENTS, depths), SIZING_PERIODIC);
        HlsPerturbation later = design_bound(slack.permille);
        later.is_bound = false;
        later.fifo_late = 0;
        later.is_random = true;
        later.seed = random_u64(&random);
        design_perturb(&d, &later);
        check_pauses(&random, &d, depths);
        free_design(&d);
    }
    assert_true(deeper > ROUNDS);
    context_destroy(ctx);
}

static void slack_is_read(void **state)
{
    FifoSlack slack;
    (void)state;
    assert_true(fifo_slack_parse(STR("exact"), &slack) && slack.is_exact);
    assert_true(fifo_slack_parse(STR("20%"), &slack) && !slack.is_exact);
    assert_int_equal(slack.permille, 200);
    assert_true(fifo_slack_parse(STR("1000%"), &slack));
    assert_false(fifo_slack_parse(STR("1001%"), &slack));
    assert_false(fifo_slack_parse(STR("%"), &slack));
    assert_false(fifo_slack_parse(STR("20"), &slack));
    assert_false(fifo_slack_parse(STR(""), &slack));
}

typedef struct Progress {
    int64_t calls, cycle;
} Progress;

static void note_progress(void *user, int64_t frames, int64_t cycle)
{
    Progress *p = user;
    assert_true(frames >= 0 && cycle > p->cycle);
    p->calls++;
    p->cycle = cycle;
}

/* A million reads and writes are told of now and then. */
static void progress_is_told(void **state)
{
    enum { FRAMES_OF_MANY = (1 << 18) / MAX_WORDS };
    Progress progress = {0, 0};
    const HlsSimOptions options = {.hooks = {.user = &progress, .progress = note_progress}};
    HlsDesign d = {.port_count = 0};
    Random random = {3};
    uint32_t ends[2];
    (void)state;
    arena_init(&d.arena);
    for (int i = 0; i < 2; i++) ends[i] = add_stream(&d, PORT_DEPTH, MAX_WORDS);
    add_process(&random, &d, false, MAX_WORDS, &ends[0], 1, &ends[1], 1);
    add_world(&d, ends[0]);
    add_world(&d, ends[1]);
    HlsSim *sim = hls_sim_create(&d, &options);
    assert_true(hls_sim_run(sim, FRAMES_OF_MANY));
    assert_in_range(progress.calls, 1, 16);
    hls_sim_free(sim);
    free_design(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_is_told),
        cmocka_unit_test(networks_are_exact_to_the_cycle),
        cmocka_unit_test(periods_last),
        cmocka_unit_test(sizes_are_minimal),
        cmocka_unit_test(regions_keep_the_interval),
        cmocka_unit_test(paused_frames_do_not_hang),
        cmocka_unit_test(perturbed_networks_are_exact),
        cmocka_unit_test(slack_covers_all_hardware),
        cmocka_unit_test(slack_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
