/* Statistics of FIFOs against counting cycle by cycle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "sim/hls/hls.h"
#include "test/unit/random.h"

enum { WORDS = 200 };

typedef struct Counts {
    int64_t max, full, empty, word_cycles;
    int64_t needed; /* smallest d with every write after the read d words before */
} Counts;

/* A word is inside in the cycles after its write up to that of its read. */
static Counts count_cycles(const int64_t *writes, const int64_t *reads, int64_t depth)
{
    Counts c = {.needed = 1};
    for (int64_t i = 0; i < WORDS; i++)
        while (i >= c.needed && writes[i] <= reads[i - c.needed]) c.needed++;
    for (int64_t cycle = 0; cycle <= reads[WORDS - 1]; cycle++) {
        int64_t inside = 0;
        for (int i = 0; i < WORDS; i++) inside += writes[i] < cycle && cycle <= reads[i];
        c.max = inside > c.max ? inside : c.max;
        c.full += depth && inside == depth;
        c.empty += inside == 0;
        c.word_cycles += inside;
    }
    return c;
}

/* Ends that pause at random, each word as soon as it may. */
static void random_times(Random *random, int64_t depth, int64_t *writes, int64_t *reads)
{
    int64_t write = -1, read = -1;
    for (int i = 0; i < WORDS; i++) {
        write += 1 + (int64_t)(random_below(random, 4) * random_below(random, 3));
        if (depth && i >= depth && write <= reads[i - depth]) write = reads[i - depth] + 1;
        writes[i] = write;
        read += 1 + (int64_t)(random_below(random, 4) * random_below(random, 3));
        read = read > write ? read : write + 1;
        reads[i] = read;
    }
}

/* Adds events in an order in which a simulation may find them. */
static void add_events(Random *random, HlsFifo *fifo, const int64_t *writes, const int64_t *reads)
{
    int w = 0, r = 0;
    while (r < WORDS) {
        bool can_write = w < WORDS && hls_fifo_writable(fifo) != HLS_UNKNOWN;
        if (can_write && (r == w || random_below(random, 2))) {
            assert_true(hls_fifo_writable(fifo) <= writes[w]);
            hls_sim_fifo_write(fifo, writes[w++]);
        } else if (r < w) {
            assert_true(hls_fifo_readable(fifo) <= reads[r]);
            hls_sim_fifo_read(fifo, reads[r++]);
        }
        if (random_below(random, 5) == 0) hls_sim_fifo_merge(fifo);
    }
    hls_sim_fifo_finish(fifo);
}

static void statistics_are_those_of_counting(void **state)
{
    static const int64_t depths[] = {1, 2, 3, 7, 64, 0};
    Random random = {7};
    int64_t writes[WORDS], reads[WORDS];
    (void)state;
    for (int round = 0; round < 60; round++) {
        int64_t depth = depths[round % 6];
        HlsFifo fifo;
        random_times(&random, depth, writes, reads);
        Counts want = count_cycles(writes, reads, depth);
        hls_sim_fifo_init(&fifo, depth);
        add_events(&random, &fifo, writes, reads);
        assert_int_equal(fifo.max_level, want.max);
        assert_int_equal(fifo.needed, want.needed);
        assert_int_equal(fifo.full_cycles, want.full);
        assert_int_equal(fifo.empty_cycles, want.empty);
        assert_int_equal(fifo.word_cycles, want.word_cycles);
        assert_int_equal(fifo.level, 0);
        hls_sim_fifo_free(&fifo);
    }
}

static void ends_wait(void **state)
{
    HlsFifo fifo;
    (void)state;
    hls_sim_fifo_init(&fifo, 2);
    assert_int_equal(hls_fifo_readable(&fifo), HLS_UNKNOWN);
    assert_int_equal(hls_fifo_writable(&fifo), 0);
    hls_sim_fifo_write(&fifo, 3);
    hls_sim_fifo_write(&fifo, 4);
    assert_int_equal(hls_fifo_writable(&fifo), HLS_UNKNOWN);
    assert_int_equal(hls_fifo_readable(&fifo), 4);
    hls_sim_fifo_read(&fifo, 9);
    assert_int_equal(hls_fifo_writable(&fifo), 10);
    assert_int_equal(hls_fifo_readable(&fifo), 5);
    hls_sim_fifo_free(&fifo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_are_those_of_counting),
        cmocka_unit_test(ends_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
