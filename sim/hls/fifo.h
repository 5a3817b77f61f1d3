/* A FIFO as the times of its writes and reads. A word written in cycle w can be read from cycle
 * w + 1 on; the place it leaves in cycle r can be written from cycle r + 1 on. It is inside in the
 * cycles w + 1 to r. Times are added in order at either end; the ends need not be in step.
 * Tests: test/unit/hls_fifo_test.c */
#ifndef MING_SIM_HLS_FIFO_H
#define MING_SIM_HLS_FIFO_H

#include "ir/support/support.h"

/* Times of one end, the last ones kept. */
typedef struct HlsTimes {
    int64_t *times; /* ring */
    int64_t mask;   /* its size - 1 */
    int64_t count;  /* all that were added */
    int64_t merged; /* those that the level has seen */
} HlsTimes;

typedef struct HlsFifo {
    int64_t depth; /* 0: unbounded */
    HlsTimes writes, reads;
    int64_t level;     /* words inside after the merged events */
    int64_t max_level;
    int64_t needed;     /* depth with which the same times are possible: a place that is freed in a
                           cycle is not written in it */
    int64_t word_cycles; /* sum over words of the cycles they were inside */
    int64_t full_cycles, empty_cycles;
    void (*watch)(void *user, int64_t time, int64_t level); /* after each change; NULL: nobody */
    void *user;
} HlsFifo;

void hls_sim_fifo_init(HlsFifo *fifo, int64_t depth);
void hls_sim_fifo_free(HlsFifo *fifo);

enum { HLS_UNKNOWN = -1 };
/* First cycle in which the next word can be read or written; HLS_UNKNOWN: the other end has not come
 * that far. */
static inline int64_t hls_fifo_readable(const HlsFifo *f)
{
    return f->reads.count < f->writes.count ? f->writes.times[f->reads.count & f->writes.mask] + 1
                                            : HLS_UNKNOWN;
}
static inline int64_t hls_fifo_writable(const HlsFifo *f)
{
    int64_t freed = f->writes.count - f->depth;
    if (f->depth == 0 || freed < 0)
        return 0;
    return freed < f->reads.count ? f->reads.times[freed & f->reads.mask] + 1 : HLS_UNKNOWN;
}

void hls_sim_fifo_write(HlsFifo *fifo, int64_t time);
void hls_sim_fifo_read(HlsFifo *fifo, int64_t time);
/* Counts the level up to the cycle that both ends have reached. */
void hls_sim_fifo_merge(HlsFifo *fifo);
/* Counts what is left; nothing more may happen. */
void hls_sim_fifo_finish(HlsFifo *fifo);

#endif
