/* --verify-diagnostics: compares what is emitted with the expectations in the text,
 *   // expected-error @+1 {{part of the message}}
 *   // expected-warning-re @above {{text with {{[0-9]+}} in it}}
 * Kinds: error, warning, remark, note. Places: the line itself, @+N, @-N, @above and @below (the
 * nearest line without an expectation of its own kind of place), @unknown.
 * Tests: lit/tools/verify-diagnostics.mir */
#ifndef MING_TOOLS_EXPECTED_DIAGS_H
#define MING_TOOLS_EXPECTED_DIAGS_H

#include "ir/asm/print/diag.h"

typedef struct ExpectedDiags ExpectedDiags;

/* Reads the expectations and takes over the context's diagnostics. */
ExpectedDiags *expected_diags_begin(Context *ctx, Str text, Str buffer_name);
/* Gives the default handler back, reports what did not come, frees. True: all as expected. */
bool expected_diags_end(ExpectedDiags *diags) MUST_CHECK;

#endif
