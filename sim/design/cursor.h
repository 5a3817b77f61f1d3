/* Walks the iterations of a frame in which an access of a loop happens. */
#ifndef MING_SIM_HLS_CURSOR_H
#define MING_SIM_HLS_CURSOR_H

#include "sim/design/design.h"

typedef struct HlsCursor {
    const HlsAccess *access;
    size_t run;
    int64_t round; /* of the run's repetitions */
    int64_t left;  /* accesses in this one */
    int64_t next;  /* iteration of the next access; INT64_MAX: none in this frame */
} HlsCursor;

static inline void hls_cursor_reset(HlsCursor *c)
{
    const HlsRuns *runs = &c->access->runs;
    c->run = 0;
    c->round = 0;
    c->left = runs->len ? runs->data[0].count : 0;
    c->next = runs->len ? runs->data[0].skip : INT64_MAX;
}

static inline void hls_cursor_advance(HlsCursor *c)
{
    const HlsRuns *runs = &c->access->runs;
    c->next++;
    if (--c->left > 0)
        return;
    if (++c->round == runs->data[c->run].repeat) {
        c->round = 0;
        c->run++;
    }
    if (c->run == runs->len) {
        c->next = INT64_MAX;
        return;
    }
    c->next += runs->data[c->run].skip;
    c->left = runs->data[c->run].count;
}

/* Clock of the next access in the loop's execution that begins with iteration `base`, INT64_MAX if it
 * is not in that one. */
static inline int64_t hls_cursor_tick(const HlsCursor *c, const HlsLoop *loop, int64_t base)
{
    if (c->next >= base + loop->trips)
        return INT64_MAX;
    return (c->next - base) * loop->ii + c->access->offset;
}

#endif
