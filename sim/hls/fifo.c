/* FIFOs as times. To follow the level, the times of both ends must be merged in order. Times that
 * one end knows ahead of the other wait in its ring, which therefore holds no more than the FIFO's
 * depth.
 * Tests: test/unit/sim/hls/fifo_test.c */
#include <stdlib.h>

#include "sim/hls/hls.h"

static void times_init(HlsTimes *t, int64_t size)
{
    int64_t cap = 4;
    while (cap < size) cap *= 2;
    *t = (HlsTimes){.times = xmalloc((size_t)cap * sizeof *t->times), .mask = cap - 1};
}

void hls_sim_fifo_init(HlsFifo *f, int64_t depth)
{
    enum { MAX_FIRST_SIZE = 1 << 16 };
    int64_t size = depth < MAX_FIRST_SIZE ? depth + 1 : MAX_FIRST_SIZE;
    *f = (HlsFifo){.depth = depth};
    times_init(&f->writes, size);
    times_init(&f->reads, size);
}

void hls_sim_fifo_free(HlsFifo *f)
{
    free(f->writes.times);
    free(f->reads.times);
}

static int64_t time_at(const HlsTimes *t, int64_t index)
{
    return t->times[index & t->mask];
}

static void grow(HlsTimes *t, int64_t first)
{
    HlsTimes old = *t;
    times_init(t, 2 * (old.mask + 1));
    t->count = old.count;
    t->merged = old.merged;
    for (int64_t i = first; i < old.count; i++) t->times[i & t->mask] = time_at(&old, i);
    free(old.times);
}

/* Oldest times that are still asked for. */
static int64_t first_write(const HlsFifo *f)
{
    return i64_min(f->writes.merged, f->reads.count);
}

static int64_t first_read(const HlsFifo *f)
{
    int64_t freed = f->depth ? f->writes.count - f->depth : f->reads.merged;
    freed = i64_min(freed, f->reads.count - 1);
    return i64_min(f->reads.merged, freed < 0 ? 0 : freed);
}

static void add(HlsTimes *t, int64_t time)
{
    t->times[t->count++ & t->mask] = time;
}

/* Full from the last write, if that filled it, to the read that made room. */
static void count_full(HlsFifo *f)
{
    int64_t freed = f->writes.count - f->depth;
    if (f->depth == 0 || freed < 0 || freed >= f->reads.count) return;
    int64_t full = time_at(&f->reads, freed) - time_at(&f->writes, f->writes.count - 1);
    f->full_cycles += full > 0 ? full : 0;
}

void hls_sim_fifo_write(HlsFifo *f, int64_t time)
{
    count_full(f);
    if (f->writes.count - first_write(f) > f->writes.mask) hls_sim_fifo_merge(f);
    if (f->writes.count - first_write(f) > f->writes.mask) grow(&f->writes, first_write(f));
    add(&f->writes, time);
}

/* Empty from the read that took the last word to the write of this one. */
void hls_sim_fifo_read(HlsFifo *f, int64_t time)
{
    int64_t count = f->reads.count, written = time_at(&f->writes, count);
    int64_t emptied = count ? time_at(&f->reads, count - 1) : -1;
    f->empty_cycles += written > emptied ? written - emptied : 0;
    f->word_cycles += time - written;
    if (count - first_read(f) > f->reads.mask) hls_sim_fifo_merge(f);
    if (count - first_read(f) > f->reads.mask) grow(&f->reads, first_read(f));
    add(&f->reads, time);
}

static int64_t next_time(const HlsTimes *t)
{
    return t->merged < t->count ? time_at(t, t->merged) : INT64_MAX;
}

static int64_t last_time(const HlsTimes *t)
{
    return t->count ? time_at(t, t->count - 1) : -1;
}

/* A read and a write in one cycle leave the level as it is. */
static void merge_until(HlsFifo *f, int64_t until)
{
    for (;;) {
        int64_t write = next_time(&f->writes), read = next_time(&f->reads);
        int64_t time = i64_min(write, read);
        if (time > until) return;
        if (write == time && f->level >= f->needed) f->needed = f->level + 1;
        if (read == time) {
            f->reads.merged++;
            f->level--;
        }
        if (write == time) {
            f->writes.merged++;
            f->level++;
        }
        f->max_level = f->level > f->max_level ? f->level : f->max_level;
        if (f->watch) f->watch(f->user, time, f->level);
    }
}

void hls_sim_fifo_merge(HlsFifo *f)
{
    merge_until(f, i64_min(last_time(&f->writes), last_time(&f->reads)));
}

void hls_sim_fifo_finish(HlsFifo *f)
{
    count_full(f);
    merge_until(f, INT64_MAX - 1);
}
