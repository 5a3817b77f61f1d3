/* Pipelines that flush, against a simulation that moves every iteration of every pipeline cycle by
 * cycle: random networks, in which some pipelines stall. And against the same networks stalling:
 * with any depths, nothing is later, so what does not hang stalled does not hang flushing. */
#include "test/unit/sim/hls/networks.h"

enum { FRAMES = 4, MAX_TRIPS = 64, MAX_STREAMS = 64 };

/* A process as its iterations: how many steps of the loop each has made. */
typedef struct Machine {
    const HlsProcess *model;
    size_t step;   /* of the process */
    int64_t left;  /* executions to come behind this one */
    int64_t wait;  /* cycles until the loop goes on */
    int64_t clock; /* of a pipeline that stalls, in the loop */
    int64_t made[MAX_TRIPS];
    int64_t base;
    int64_t frames, ends[FRAMES];
} Machine;

typedef struct Network {
    const HlsDesign *design;
    const int64_t *depths;
    int64_t levels[MAX_STREAMS], before[MAX_STREAMS];
} Network;

static int64_t step_of(const HlsAccess *access)
{
    return access->offset + access->late;
}

/* Whether the FIFOs let iteration i make step s; if so and `makes`, the step is made. */
static bool try_step(Network *n, const Machine *m, const HlsLoop *loop, int64_t i, int64_t s,
                     bool makes)
{
    for (size_t a = 0; a < loop->accesses.len; a++) {
        const HlsAccess *access = &loop->accesses.data[a];
        uint32_t stream = m->model->streams[access->port];
        if (step_of(access) != s || !happens_in(access, m->base + i)) continue;
        if (makes)
            n->levels[stream] += access->is_write ? 1 : -1;
        else if (access->is_write ? n->before[stream] >= n->depths[stream] : n->before[stream] == 0)
            return false;
    }
    return true;
}

/* A cycle of a pipeline that flushes. Each iteration goes a step further, once the one before is II
 * steps ahead; behind the last step nothing holds it. */
static bool flush(Network *n, Machine *m, const HlsLoop *loop)
{
    bool moves = false;
    for (int64_t i = 0; i < loop->trips; i++) {
        int64_t s = m->made[i];
        bool is_out = s >= loop->depth;
        if (is_out ? s > loop->depth + loop->ii : i > 0 && m->made[i - 1] <= s + loop->ii) continue;
        if (!try_step(n, m, loop, i, s, false)) continue;
        try_step(n, m, loop, i, s, true);
        m->made[i]++;
        moves = true;
    }
    return moves;
}

/* A cycle of one that stalls: all iterations make a step, or none does. */
static bool stall(Network *n, Machine *m, const HlsLoop *loop)
{
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < loop->trips; i++)
            if (m->clock >= i * loop->ii &&
                !try_step(n, m, loop, i, m->clock - i * loop->ii, pass == 1))
                return false;
    m->clock++;
    return true;
}

static void begin_step(Machine *m, bool is_first)
{
    const HlsLoop *loop = &m->model->loops.data[m->step];
    m->wait = (is_first && m->model->func ? PROCESS_START + m->model->start_late : 0) +
              (loop->op ? LOOP_START : 0);
    m->clock = 0;
    memset(m->made, 0, sizeof m->made);
}

static void begin_frame(Machine *m)
{
    m->step = 0;
    m->base = 0;
    m->left = m->model->loops.data[0].executions;
    begin_step(m, true);
}

/* Behind the last cycle of a loop. */
static void next_step(Machine *m, int64_t cycle)
{
    const HlsLoop *loop = &m->model->loops.data[m->step];
    if (m->step + 1 < m->model->loops.len) {
        m->step++;
        begin_step(m, false);
        return;
    }
    m->base += loop->trips;
    m->step = 0;
    if (--m->left > 0) {
        begin_step(m, false);
        return;
    }
    m->ends[m->frames++] = cycle + 1;
    begin_frame(m);
}

/* A cycle of a process. False: nothing moves. */
static bool move(Network *n, Machine *m, int64_t cycle)
{
    const HlsLoop *loop = &m->model->loops.data[m->step];
    if (m->frames == FRAMES) return false;
    if (m->wait > 0) {
        m->wait--;
        return true;
    }
    bool moves = loop->flushes ? flush(n, m, loop) : stall(n, m, loop);
    bool ends = loop->flushes ? m->made[loop->trips - 1] == loop->depth
                              : m->clock == design_loop_cycles(loop);
    if (moves && ends) next_step(m, cycle);
    return moves;
}

/* Until all frames are done, or nothing moves. */
static bool run_machines(const HlsDesign *d, const int64_t *depths, Machine *machines)
{
    Network n = {.design = d, .depths = depths};
    bool moves = true, done = false;
    for (uint32_t i = 0; i < d->processes.len; i++) {
        machines[i] = (Machine){.model = &d->processes.data[i]};
        begin_frame(&machines[i]);
    }
    for (int64_t cycle = 0; moves && !done; cycle++) {
        memcpy(n.before, n.levels, sizeof n.before);
        moves = false;
        done = true;
        for (uint32_t i = 0; i < d->processes.len; i++) {
            moves |= move(&n, &machines[i], cycle);
            done &= machines[i].frames == FRAMES;
        }
    }
    return done;
}

/* The cycles of a frame's states are those from the end of the one before to its own. */
static void check_states(const HlsFrames *frames)
{
    int64_t end = 0;
    for (size_t f = 0; f < frames->len; f++) {
        for (int s = 0; s < HLS_STATE_COUNT; s++) end += frames->data[f].cycles[s];
        assert_int_equal(frames->data[f].end, end);
    }
}

/* The engine and the machines agree; nothing is later than where all pipelines stall. */
static bool compare(const HlsDesign *d, const int64_t *depths, bool *is_stuck_stalled)
{
    static Machine machines[3 * MAX_PROCESSES];
    const HlsSimOptions flushing = {.depths = depths}, stalled = {.depths = depths, .stalls = true};
    HlsSim *sim = hls_sim_create(d, &flushing), *other = hls_sim_create(d, &stalled);
    bool done = run_machines(d, depths, machines), other_done = hls_sim_run(other, FRAMES);
    assert_int_equal(hls_sim_run(sim, FRAMES), done);
    assert_true(done || !other_done);
    for (uint32_t i = 0; i < d->processes.len; i++) {
        const HlsFrames *frames = hls_sim_frames(sim, i), *later = hls_sim_frames(other, i);
        assert_int_equal(frames->len, machines[i].frames);
        assert_true(frames->len >= later->len);
        for (size_t f = 0; f < frames->len; f++)
            assert_int_equal(frames->data[f].end, machines[i].ends[f]);
        for (size_t f = 0; f < later->len; f++)
            assert_true(frames->data[f].end <= later->data[f].end);
        check_states(frames);
    }
    *is_stuck_stalled = !other_done;
    hls_sim_free(sim);
    hls_sim_free(other);
    return done;
}

/* Deeper pipelines than those of add_process; three of four flush. */
static void let_flush(Random *random, HlsDesign *d)
{
    for (size_t i = 0; i < d->processes.len; i++) {
        HlsProcess *p = &d->processes.data[i];
        if (!p->func || random_below(random, 4) == 0) continue;
        HlsLoop *loop = &p->loops.data[p->loops.len - 1];
        int64_t more = random_below(random, 20);
        loop->flushes = true;
        loop->depth += more;
        for (size_t a = 0; a < loop->accesses.len; a++)
            if (loop->accesses.data[a].is_write) loop->accesses.data[a].offset += more;
        p->cycles = design_process_cycles(p);
    }
}

static void flushing_is_exact_and_never_later(void **state)
{
    enum { ROUNDS = 1500 };
    Random random = {47};
    int done = 0, cured = 0;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        HlsDesign d;
        bool is_stuck;
        int64_t depths[MAX_STREAMS];
        random_design(&random, &d, false);
        let_flush(&random, &d);
        assert_in_range(d.streams.len, 1, MAX_STREAMS);
        for (size_t i = 0; i < d.streams.len; i++) depths[i] = d.streams.data[i].depth;
        bool runs = compare(&d, depths, &is_stuck);
        done += runs;
        cured += runs && is_stuck;
        free_design(&d);
    }
    assert_in_range(done, ROUNDS / 10, ROUNDS - ROUNDS / 10);
    assert_true(cured > 0); /* what hangs stalled and does not flushing */
}

/* Once the state recurs, the interval stays as it was said. */
static void periods_last(void **state)
{
    enum { ROUNDS = 200, LATER = 12, MOST = 40 };
    Random random = {53};
    int periodic = 0;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        const HlsSimOptions options = {0};
        HlsDesign d;
        HlsPeriod period = {0};
        int64_t frames = 0;
        random_design(&random, &d, false);
        let_flush(&random, &d);
        HlsSim *sim = hls_sim_create(&d, &options);
        while (period.frames == 0 && frames < MOST && hls_sim_run(sim, ++frames))
            period = hls_sim_period(sim);
        if (period.frames > 0) {
            periodic++;
            assert_true(hls_sim_run(sim, frames + LATER));
            for (uint32_t i = 0; i < d.processes.len; i++) {
                const HlsFrame *f = hls_sim_frames(sim, i)->data;
                for (int64_t k = frames; k < frames + LATER; k++)
                    assert_int_equal(f[k].end - f[k - period.frames].end, period.cycles);
            }
        }
        hls_sim_free(sim);
        free_design(&d);
    }
    assert_true(periodic > ROUNDS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flushing_is_exact_and_never_later),
        cmocka_unit_test(periods_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
