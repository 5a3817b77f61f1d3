/* The passes of ming compile: from a loaded model to an emithls design.
 *
 *   before the choice ─▶ choose-unroll … fit-fifos ─▶ after it
 *                        └── again with memory set aside ──┘
 *
 * choose-unroll spends what it may, and the FIFOs that its interval needs may not fit beside it. Then
 * fit-fifos says what is short (emithls.shortage), and the design is chosen again with that set aside,
 * up to three times; of the designs within the budget the best by the objective stays. The pipeline of
 * that one is what --dump-pass-pipeline prints: it makes the same design in one run.
 * Tests: lit/tools/ming-compile-reserve.mir */
#ifndef MING_TOOLS_COMPILE_PASSES_H
#define MING_TOOLS_COMPILE_PASSES_H

#include "driver/search_options.h"

typedef struct CompileOptions {
    const char *top, *interface, *weights;
    const char *folding; /* NULL: nothing is pinned */
    SearchOptions search;
    bool dump_pipeline;
    int64_t verify_semantics; /* random inputs per function; 0: none */
} CompileOptions;

/* The whole pipeline as it is tried first. */
void compile_add_pipeline(StrBuf *out, const CompileOptions *options, const Target *target);

/* *module is replaced by the design. False: diagnosed. */
bool compile_run(Op **module, const CompileOptions *options, const Target *target) MUST_CHECK;

#endif
