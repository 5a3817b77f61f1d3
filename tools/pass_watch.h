/* Watches passes run: --mlir-print-ir-*, --mlir-timing, --mlir-pass-statistics. Everything goes
 * to stderr.
 * Tests: lit/tools/print-ir.mir, lit/tools/timing.mir */
#ifndef MING_TOOLS_PASS_WATCH_H
#define MING_TOOLS_PASS_WATCH_H

#include "ir/pass.h"
#include "ir/print.h"
#include "tools/tool_support.h"

typedef struct PassWatchOptions {
    Texts before, after; /* names of passes */
    bool before_all, after_all, after_change, after_failure, module_scope;
    bool timing, statistics;
    const char *timing_display; /* "tree" (in order of runs) or "list" (sorted by time) */
    const PrintOptions *print;
} PassWatchOptions;

typedef struct PassWatch PassWatch;

/* Options must live as long as the watch. */
PassWatch *pass_watch_create(const PassWatchOptions *options);
void pass_watch_free(PassWatch *watch);
const PassHooks *pass_watch_hooks(PassWatch *watch);

/* Time that is no pass's: call begin, then end with the phase's name. */
void pass_watch_begin(PassWatch *watch);
void pass_watch_end(PassWatch *watch, const char *phase);

/* "`CSE` on 'func.func' operation: @f" of the last pass that failed, or an empty text. */
Str pass_watch_failure(const PassWatch *watch);

/* The reports, if they were asked for: statistics after the run, times at the very end. */
void pass_watch_statistics(const PassWatch *watch, Pipeline *pipeline);
void pass_watch_times(PassWatch *watch);

#endif
