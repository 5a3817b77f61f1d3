/* The search against brute force, on random chains and diamonds of processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "target/dse/dse.h"
#include "target/dse/solve/internal.h"
#include "test/unit/random.h"

enum { NODES = 5, CONFIGS = 5, ROUNDS = 60 };

/* Two chains of two between the first node and the last, or one chain of all. */
static void random_edges(Random *random, DseSpace *space)
{
    static const DseEdge diamond[] = {{.from = 0, .from_port = 1, .to = 1, .to_port = 0},
                                      {.from = 0, .from_port = 2, .to = 2, .to_port = 0},
                                      {.from = 1, .from_port = 1, .to = 3, .to_port = 0},
                                      {.from = 2, .from_port = 1, .to = 4, .to_port = 2},
                                      {.from = 3, .from_port = 1, .to = 4, .to_port = 0}};
    bool is_diamond = random_below(random, 2) == 0;
    for (uint32_t e = 0; is_diamond && e < COUNT_OF(diamond); e++)
        *vec_push(&space->edges) = diamond[e];
    for (uint32_t n = 1; !is_diamond && n < NODES; n++)
        *vec_push(&space->edges) = (DseEdge){.from = n - 1, .from_port = 1, .to = n, .to_port = 0};
}

/* Nodes of three ports with words 0, 1 or 2. */
static void random_space(Random *random, Arena *arena, DseSpace *space)
{
    *space = (DseSpace){.arena = arena};
    for (uint32_t w = 0; w < 3; w++) *vec_push(&space->words) = NULL;
    for (uint32_t n = 0; n < NODES; n++) {
        DseNode node = {.port_count = 3};
        for (uint32_t c = 0; c < CONFIGS; c++) {
            Config config = {.word = ARENA_ARRAY(arena, int64_t, 3)};
            config.cost.cycles = 1 + (int64_t)random_below(random, 100);
            config.cost.dsp = (int64_t)random_below(random, 20);
            config.cost.bram18 = (int64_t)random_below(random, 10);
            for (uint32_t p = 0; p < 3; p++) config.word[p] = (int64_t)random_below(random, 3);
            *vec_push(&node.configs) = config;
        }
        *vec_push(&space->nodes) = node;
    }
    random_edges(random, space);
}

static bool is_legal(const DseSpace *space, const uint32_t *choice, const Cost *limits,
                     int64_t *cycles)
{
    int64_t dsp = 0, bram18 = 0;
    *cycles = 0;
    for (size_t n = 0; n < space->nodes.len; n++) {
        const Cost *cost = &space->nodes.data[n].configs.data[choice[n]].cost;
        *cycles += cost->cycles;
        dsp += cost->dsp;
        bram18 += cost->bram18;
    }
    for (size_t e = 0; e < space->edges.len; e++) {
        const DseEdge *edge = &space->edges.data[e];
        const DseNode *from = &space->nodes.data[edge->from], *to = &space->nodes.data[edge->to];
        if (from->configs.data[choice[edge->from]].word[edge->from_port] !=
            to->configs.data[choice[edge->to]].word[edge->to_port])
            return false;
    }
    return dsp <= limits->dsp && bram18 <= limits->bram18;
}

/* Least sum of cycles over all choices, or -1. */
static int64_t brute_force(const DseSpace *space, const Cost *limits)
{
    int64_t best = -1, cycles;
    uint32_t choice[NODES] = {0};
    for (uint32_t index = 0; index < CONFIGS * CONFIGS * CONFIGS * CONFIGS * CONFIGS; index++) {
        for (uint32_t n = 0, rest = index; n < NODES; n++, rest /= CONFIGS)
            choice[n] = rest % CONFIGS;
        if (is_legal(space, choice, limits, &cycles) && (best < 0 || cycles < best)) best = cycles;
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
        DseProblem problem = dse_least(COST_CYCLES);
        Cost *limits = &problem.limits;
        limits->dsp = 30 + (int64_t)random_below(&random, 40);
        limits->bram18 = 10 + (int64_t)random_below(&random, 20);
        arena_init(&arena);
        random_space(&random, &arena, &space);
        DseState found = dse_state(&space);
        int64_t want = brute_force(&space, limits);
        DseStatus status = dse_solve(&space, &problem, &found, &value);
        assert_int_equal(status, want < 0 ? DSE_INFEASIBLE : DSE_OPTIMAL);
        if (want >= 0) {
            assert_int_equal(value, want);
            assert_int_equal(dse_total(&space, found.chosen).cycles, want);
            assert_true(dse_total(&space, found.chosen).dsp <= limits->dsp);
            feasible++;
        }
        dse_free(&space);
        arena_free(&arena);
    }
    assert_true(feasible > 0 && feasible < ROUNDS);
}

enum { LONG = 10 };

/* A chain of nodes with words 0 to 2, and an edge from the first to the last. */
static void chain_with_skip(Arena *arena, DseSpace *space)
{
    *space = (DseSpace){.arena = arena};
    for (uint32_t w = 0; w < 3; w++) *vec_push(&space->words) = NULL;
    for (uint32_t n = 0; n < LONG; n++) {
        DseNode node = {.port_count = 3};
        for (int64_t c = 0; c < 27; c++) {
            Config config = {.word = ARENA_ARRAY(arena, int64_t, 3)};
            config.word[0] = c % 3;
            config.word[1] = c / 3 % 3;
            config.word[2] = c / 9;
            *vec_push(&node.configs) = config;
        }
        *vec_push(&space->nodes) = node;
        if (n > 0) *vec_push(&space->edges) = (DseEdge){n - 1, 1, n, 0};
    }
    *vec_push(&space->edges) = (DseEdge){0, 2, LONG - 1, 2};
}

static size_t count_transitions(const DseSpace *space, int long_edge_words)
{
    DseLayers layers;
    assert_true(dse_layers(space, 1000000, long_edge_words, &layers));
    size_t count = layers.transitions.len;
    dse_layers_free(&layers);
    return count;
}

/* The open skip triples the states of the nodes it passes; one word for it does not. */
static void limits_long_edges(void **state)
{
    Arena arena;
    DseSpace space;
    DseLayers layers;
    (void)state;
    arena_init(&arena);
    chain_with_skip(&arena, &space);
    size_t all = count_transitions(&space, DSE_ALL_WORDS), one = count_transitions(&space, 1);
    size_t none = count_transitions(&space, DSE_NO_WORDS);
    assert_int_equal(all, 27 + (LONG - 2) * 9 * 9 + 9 * 3);
    assert_int_equal(one, 9 + (LONG - 2) * 3 * 9 + 3 * 3);
    assert_int_equal(none, 27 + (LONG - 2) * 3 * 9 + 3 * 9);
    assert_int_equal(count_transitions(&space, 3), all);
    assert_false(dse_layers(&space, all - 1, DSE_ALL_WORDS, &layers));
    dse_free(&space);
    arena_free(&arena);
}

/* Two nodes that send two words each, in front of their readers, which alternate. */
static void pairs_that_alternate(Arena *arena, DseSpace *space)
{
    *space = (DseSpace){.arena = arena};
    for (uint32_t w = 0; w < 3; w++) *vec_push(&space->words) = NULL;
    for (uint32_t n = 0; n < 6; n++) {
        DseNode node = {.port_count = 2};
        for (int64_t c = 0; c < (n < 2 ? 9 : 3); c++) {
            Config config = {.word = ARENA_ARRAY(arena, int64_t, 2)};
            config.word[0] = c % 3;
            config.word[1] = c / 3;
            *vec_push(&node.configs) = config;
        }
        *vec_push(&space->nodes) = node;
    }
    for (uint32_t n = 2; n < 6; n++) *vec_push(&space->edges) = (DseEdge){n % 2, n / 4, n, 0};
}

/* 9 words of a sender, then 9 and 3 that its readers agree with; twice, not one times the other. */
static void finishes_readers_first(void **state)
{
    Arena arena;
    DseSpace space;
    (void)state;
    arena_init(&arena);
    pairs_that_alternate(&arena, &space);
    assert_int_equal(count_transitions(&space, DSE_ALL_WORDS), 2 * (9 + 9 + 3));
    dse_free(&space);
    arena_free(&arena);
}

/* A cycle has no layers. */
static void refuses_cycles(void **state)
{
    Arena arena;
    DseSpace space;
    DseLayers layers;
    (void)state;
    arena_init(&arena);
    chain_with_skip(&arena, &space);
    *vec_push(&space.edges) = (DseEdge){LONG - 1, 1, 3, 2};
    assert_false(dse_layers(&space, 1000000, DSE_ALL_WORDS, &layers));
    dse_free(&space);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_brute_force), cmocka_unit_test(limits_long_edges),
        cmocka_unit_test(finishes_readers_first), cmocka_unit_test(refuses_cycles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
