/* Random networks for tests of timing: forks, joins, rate changes, and depths that may be too small;
 * processes that run empty after each frame, flush or rewind. */
#ifndef MING_TEST_SIM_HLS_NETWORKS_H
#define MING_TEST_SIM_HLS_NETWORKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sim/hls/hls.h"
#include "test/unit/random.h"

enum { MAX_PROCESSES = 8, MAX_WORDS = 12 };

static inline const Op *some_func(void)
{
    static const char marker = 0;
    return (const Op *)(uintptr_t)&marker; /* only compared with NULL */
}

static inline uint32_t add_stream(HlsDesign *d, int64_t depth, int64_t words)
{
    *vec_push(&d->streams) = (HlsStream){
        .depth = depth, .words = words, .latency = 1, .writer = HLS_NOBODY, .reader = HLS_NOBODY};
    return (uint32_t)d->streams.len - 1;
}

/* `words` of `iterations`, at random. */
static inline void add_runs(Random *random, HlsAccess *access, int64_t words, int64_t iterations)
{
    HlsRun run = {0, 0, 1};
    for (int64_t i = 0; i < iterations; i++) {
        bool hit = random_below(random, (uint32_t)(iterations - i)) < (uint32_t)words;
        if (!hit && run.count) {
            *vec_push(&access->runs) = run;
            run = (HlsRun){0, 0, 1};
        }
        *(hit ? &run.count : &run.skip) += 1;
        words -= hit;
    }
    if (run.count) *vec_push(&access->runs) = run;
}

/* A process of one or two loops, repeated or not; the last one makes all accesses. Of one that
 * rewinds, there is only that, once. */
static inline void add_process(Random *random, HlsDesign *d, bool rewinds, int64_t most_words,
                               const uint32_t *in, uint32_t ins, const uint32_t *out, uint32_t outs)
{
    HlsProcess *p = vec_push(&d->processes);
    *p = (HlsProcess){.func = some_func(), .rewinds = rewinds, .port_count = ins + outs};
    p->streams = ARENA_ARRAY(&d->arena, uint32_t, ins + outs);
    int64_t executions = rewinds ? 1 : 1 + random_below(random, 3);
    int64_t trips = most_words + random_below(random, 9);
    bool has_other = !rewinds && random_below(random, 2);
    HlsLoop loop = {.op = some_func(),
                    .trips = trips,
                    .executions = executions,
                    .ii = 1 + random_below(random, 3),
                    .depth = 5 + random_below(random, rewinds ? 20 : 4)};
    uint32_t latest = rewinds ? (uint32_t)loop.depth - 1 : 4; /* write */
    HlsLoop other = {
        .trips = 1, .executions = executions, .ii = 1, .depth = 1 + random_below(random, 3)};
    for (uint32_t i = 0; i < ins + outs; i++) {
        bool is_write = i >= ins;
        HlsAccess access = {.port = i,
                            .is_write = is_write,
                            .offset = is_write ? 2 + random_below(random, latest - 1)
                                               : random_below(random, 3)};
        uint32_t stream = p->streams[i] = is_write ? out[i - ins] : in[i];
        *(is_write ? &d->streams.data[stream].writer : &d->streams.data[stream].reader) =
            (uint32_t)d->processes.len - 1;
        add_runs(random, &access, d->streams.data[stream].words, trips * executions);
        *vec_push(&loop.accesses) = access;
    }
    *vec_push(&p->steps) = (HlsStep){.kind = STEP_REPEAT, .count = executions};
    if (has_other) *vec_push(&p->loops) = other;
    for (uint32_t i = 0; i < 1u + has_other; i++)
        *vec_push(&p->steps) = (HlsStep){.kind = STEP_LOOP, .loop = i};
    *vec_push(&p->loops) = loop;
    *vec_push(&p->steps) = (HlsStep){.kind = STEP_END, .match = 0};
    p->cycles = design_process_cycles(p);
    assert_int_equal(
        p->cycles, rewinds
                       ? trips * loop.ii
                       : PROCESS_START + executions * (LOOP_START + (trips - 1) * loop.ii +
                                                       loop.depth + (has_other ? other.depth : 0)));
}

static inline void add_world(HlsDesign *d, uint32_t stream)
{
    HlsStream *s = &d->streams.data[stream];
    bool is_source = s->writer == HLS_NOBODY;
    *(is_source ? &s->writer : &s->reader) = (uint32_t)d->processes.len;
    HlsProcess *p = vec_push(&d->processes);
    *p = (HlsProcess){.is_source = is_source, .port_count = 1, .cycles = s->words};
    p->streams = ARENA_ARRAY(&d->arena, uint32_t, 1);
    p->streams[0] = stream;
    HlsLoop loop = {.trips = s->words, .executions = 1, .ii = 1, .depth = 1};
    HlsAccess access = {.is_write = is_source};
    *vec_push(&access.runs) = (HlsRun){0, 1, 1};
    if (s->words > 1) *vec_push(&access.runs) = (HlsRun){0, 1, s->words - 1};
    *vec_push(&loop.accesses) = access;
    *vec_push(&p->loops) = loop;
    *vec_push(&p->steps) = (HlsStep){.kind = STEP_LOOP};
}

/* may_rewind: processes are of both kinds, and frames may be as short as pipelines. */
static inline void random_design(Random *random, HlsDesign *d, bool may_rewind)
{
    uint32_t most_words = may_rewind && random_below(random, 3) == 0 ? 3 : MAX_WORDS;
    uint32_t open[2 * MAX_PROCESSES], count = 0,
                                      processes = 1 + random_below(random, MAX_PROCESSES);
    int64_t most_depth = random_below(random, 3) ? 40 : 4;
    *d = (HlsDesign){.port_count = 0};
    arena_init(&d->arena);
    open[count++] = add_stream(d, PORT_DEPTH, 1 + random_below(random, most_words));
    for (uint32_t i = 0; i < processes; i++) {
        uint32_t in[2], out[2], ins = 0, outs = 1 + random_below(random, 2);
        for (uint32_t n = 1 + random_below(random, 2); n > 0 && count > 0; n--) {
            uint32_t pick = random_below(random, count);
            in[ins++] = open[pick];
            open[pick] = open[--count];
        }
        for (uint32_t n = 0; n < outs; n++)
            out[n] = open[count++] = add_stream(d, 1 + random_below(random, (uint32_t)most_depth),
                                                1 + random_below(random, most_words));
        bool rewinds = may_rewind && random_below(random, 4) > 0;
        add_process(random, d, rewinds, most_words, in, ins, out, outs);
    }
    add_world(d, 0);
    for (uint32_t i = 0; i < count; i++) add_world(d, open[i]);
}

static inline void free_design(HlsDesign *d)
{
    for (size_t i = 0; i < d->processes.len; i++) {
        HlsProcess *p = &d->processes.data[i];
        for (size_t l = 0; l < p->loops.len; l++) {
            for (size_t a = 0; a < p->loops.data[l].accesses.len; a++)
                vec_free(&p->loops.data[l].accesses.data[a].runs);
            vec_free(&p->loops.data[l].accesses);
        }
        vec_free(&p->loops);
        vec_free(&p->steps);
    }
    vec_free(&d->processes);
    vec_free(&d->streams);
    arena_free(&d->arena);
}

static inline bool happens_in(const HlsAccess *access, int64_t iteration)
{
    for (size_t r = 0; r < access->runs.len; r++) {
        const HlsRun *run = &access->runs.data[r];
        for (int64_t i = 0; i < run->repeat; i++) {
            if (iteration < run->skip) return false;
            iteration -= run->skip;
            if (iteration < run->count) return true;
            iteration -= run->count;
        }
    }
    return false;
}

#endif
