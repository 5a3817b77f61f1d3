/* Watches passes run: --mlir-print-ir-*, --mlir-timing, --mlir-pass-statistics. Reports go to
 * stderr, dumps too unless a folder is given.
 * Tests: lit/tools/print-ir.mir, lit/tools/timing.mir, lit/tools/reports.mir */
#ifndef MING_TOOLS_PASS_WATCH_H
#define MING_TOOLS_PASS_WATCH_H

#include "ir/pass/pass.h"
#include "ir/asm/print/print.h"
#include "driver/tool_support.h"

typedef struct PassWatchOptions {
    Texts before, after; /* names of passes */
    bool before_all, after_all, after_change, after_failure, module_scope;
    const char *tree_dir; /* folder for dumps, mirroring the IR; NULL: stderr */
    bool timing, statistics;
    const char *timing_display;     /* "tree" (in order of runs) or "list" (sorted by time) */
    const char *timing_format;      /* "text" or "json" */
    const char *statistics_display; /* "pipeline" or "list" (merged, sorted by name) */
    const PrintOptions *print;
} PassWatchOptions;

typedef struct PassWatch PassWatch;

/* Options must live as long as the watch. */
PassWatch *pass_watch_create(const PassWatchOptions *options);
void pass_watch_free(PassWatch *watch);
const PassHooks *pass_watch_hooks(PassWatch *watch);

/* Time that is no pass's: call begin, then end. */
void pass_watch_begin(PassWatch *watch, const char *phase);
void pass_watch_end(PassWatch *watch);

/* The reports, if they were asked for: statistics after the run, times at the very end. */
void pass_watch_statistics(const PassWatch *watch, const Pipeline *pipeline);
void pass_watch_times(PassWatch *watch);

/* "'func.func' operation: @f" */
void pass_watch_describe_op(StrBuf *out, const Op *op);

#endif
