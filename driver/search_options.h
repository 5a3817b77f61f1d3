/* --objective and what else tells the search for the best design what to look for.
 * Tests: lit/tools/objective.mir */
#ifndef MING_TOOLS_SEARCH_OPTIONS_H
#define MING_TOOLS_SEARCH_OPTIONS_H

#include "ir/core/op.h"
#include "driver/device_options.h"

/* NULL, 0: as the pass does without. */
typedef struct SearchOptions {
    const char *objective, *dump_lp;
    int64_t fps, time_limit, reserved_bram, reserved_lut;
    bool loads_weights; /* by --weights, not a flag of its own */
} SearchOptions;

#define SEARCH_FLAGS(options)                                                                      \
    {"objective", FLAG_CHOICE, &(options).objective, "throughput|latency|pipeline-latency|fps",                     \
     "What the design is best at, default throughput", NULL},                                      \
    {"fps", FLAG_INT, &(options).fps, "n", "Frames per second, with least resources", NULL},       \
    {"time-limit", FLAG_INT, &(options).time_limit, "seconds",                                     \
     "Search that long; without, the answer does not depend on the machine", NULL},                \
    {"dump-lp", FLAG_TEXT, &(options).dump_lp, "file.lp|file.mps",                                 \
     "Write the search as a 0-1 program, for other solvers", NULL},                                \
    {"reserve-bram", FLAG_INT, &(options).reserved_bram, "n", "BRAM18 blocks to leave for FIFOs",  \
     NULL}

/* False: said what is wrong. */
bool search_options_check(const Tool *tool, const SearchOptions *options) MUST_CHECK;
/* The pass choose-unroll with its options, for a pipeline. */
void search_add_pass(StrBuf *out, const SearchOptions *options, const Target *target);
/* A line that says what the pass reached and whether it is the best, from the module's dfg.budget. */
void search_add_result(StrBuf *out, const Op *module);

#endif
