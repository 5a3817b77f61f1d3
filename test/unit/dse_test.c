/* The 0-1 program against brute force, on random chains of processes. */
#include "target/dse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/unit/random.h"

enum { NODES = 4, CONFIGS = 5, ROUNDS = 40 };

/* A chain whose nodes have an input port 0 and an output port 1, with words of 1, 2 or 4. */
static void random_chain(Random *random, Arena *arena, DseSpace *space)
{
    *space = (DseSpace){.arena = arena};
    for (uint32_t n = 0; n < NODES; n++) {
        DseNode node = {.port_count = 2};
        for (uint32_t c = 0; c < CONFIGS; c++) {
            Config config = {.factor = ARENA_ARRAY(arena, int64_t, 2)};
            config.cost.cycles = 1 + (int64_t)random_below(random, 100);
            config.cost.dsp = (int64_t)random_below(random, 20);
            config.cost.bram18 = (int64_t)random_below(random, 10);
            for (uint32_t p = 0; p < 2; p++)
                config.factor[p] = (int64_t)1 << random_below(random, 3);
            *vec_push(&node.configs) = config;
        }
        *vec_push(&space->nodes) = node;
        if (n > 0)
            *vec_push(&space->edges) = (DseEdge){n - 1, 1, n, 0};
    }
}

static bool is_legal(const DseSpace *space, const uint32_t *choice, const DseLimits *limits,
                     int64_t *cycles)
{
    int64_t dsp = 0, bram18 = 0;
    *cycles = 0;
    for (size_t n = 0; n < space->nodes.len; n++) {
        const Config *config = &space->nodes.data[n].configs.data[choice[n]];
        *cycles += config->cost.cycles;
        dsp += config->cost.dsp;
        bram18 += config->cost.bram18;
        if (n > 0 && space->nodes.data[n - 1].configs.data[choice[n - 1]].factor[1] !=
                         config->factor[0])
            return false;
    }
    return dsp <= limits->dsp && bram18 <= limits->bram18;
}

/* Least sum of cycles over all choices, or -1. */
static int64_t brute_force(const DseSpace *space, const DseLimits *limits)
{
    int64_t best = -1, cycles;
    uint32_t choice[NODES] = {0};
    for (uint32_t index = 0; index < CONFIGS * CONFIGS * CONFIGS * CONFIGS; index++) {
        for (uint32_t n = 0, rest = index; n < NODES; n++, rest /= CONFIGS)
            choice[n] = rest % CONFIGS;
        if (is_legal(space, choice, limits, &cycles) && (best < 0 || cycles < best))
            best = cycles;
    }
    return best;
}

static void equals_brute_force(void **state)
{
    Random random = {.state = 1};
    uint32_t feasible = 0;
    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        Arena arena;
        DseSpace space;
        int64_t value = -1;
        DseLimits limits = {.cycles = -1, .dsp = 20 + (int64_t)random_below(&random, 40),
                            .bram18 = 10 + (int64_t)random_below(&random, 20)};
        arena_init(&arena);
        random_chain(&random, &arena, &space);
        int64_t want = brute_force(&space, &limits);
        DseStatus status = dse_solve(&space, DSE_MIN_CYCLES, &limits, &value);
        assert_int_equal(status, want < 0 ? DSE_INFEASIBLE : DSE_OPTIMAL);
        if (want >= 0) {
            assert_int_equal(value, want);
            assert_int_equal(dse_total(&space).cycles, want);
            assert_true(dse_total(&space).dsp <= limits.dsp);
            feasible++;
        }
        dse_free(&space);
        arena_free(&arena);
    }
    assert_true(feasible > 0 && feasible < ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equals_brute_force)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
