/* A tree of timers and its report, laid out as upstream's --mlir-timing.
 * Tests: lit/tools/timing.mir */
#ifndef MING_TOOLS_TIMING_H
#define MING_TOOLS_TIMING_H

#include "ir/support/support.h"

typedef struct Timing Timing;

typedef struct TimingLayout {
    bool as_list; /* times by name, longest first, instead of the tree */
    bool as_json;
} TimingLayout;

/* The clock runs from here to timing_print. */
Timing *timing_create(void);
void timing_free(Timing *timing);
/* Starts a timer inside the one that runs or, if `is_outer`, inside none. Those with the same id
 * and name in the same place add up. The name is copied. */
void timing_enter(Timing *timing, const void *id, const char *name, bool is_hidden, bool is_outer);
void timing_leave(Timing *timing);
/* To standard error. */
void timing_print(Timing *timing, const TimingLayout *layout);

#endif
