/* What ming-opt's command line says.
 * Tests: lit/tools/command-line.mir */
#ifndef MING_TOOLS_OPT_OPTIONS_H
#define MING_TOOLS_OPT_OPTIONS_H

#include "ir/pass/pass.h"
#include "tools/pass_watch.h"
#include "driver/tool_support.h"

typedef struct PassFlag {
    const PassDef *def;
    const char *options; /* or NULL */
} PassFlag;

typedef struct OptOptions {
    bool allow_unregistered, no_implicit_module;
    bool verify_each, verify_diagnostics, verify_roundtrip;
    int64_t verify_semantics; /* random inputs per function; 0: none */
    bool dump_pipeline, show_dialects, list_passes;
    bool disable_threading; /* there are no threads; reproducers repeat it */
    const char *split_marker; /* NULL or empty: one chunk */
    const char *output_marker;
    const char *output, *docs_dir, *pipeline;
    const char *crash_reproducer; /* file for a failed pipeline's input; or NULL */
    bool local_reproducer;
    const char *written_reproducer; /* file for the pipeline and what it made; or NULL */
    bool run_reproducer;
    PrintOptions print;
    PassWatchOptions watch;
    VEC(PassFlag) passes; /* one per flag, in order */
} OptOptions;

/* Reads the command line into `options`, whose texts point into it, and collects the inputs. */
ArgsResult opt_options_parse(OptOptions *options, int argc, char **argv, Texts *inputs) MUST_CHECK;
void opt_options_free(OptOptions *options);

#endif
