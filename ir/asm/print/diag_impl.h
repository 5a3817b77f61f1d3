/* Inside of diagnostics, for ir/ sources only. */
#ifndef MING_IR_DIAG_IMPL_H
#define MING_IR_DIAG_IMPL_H

#include "ir/attr/context_impl.h"

/* The handler used when none is set: as mlir-opt, to stderr. user is ignored. */
DiagHandler diag_print_stderr;
/* What it prints. */
void diag_render(StrBuf *out, const Context *ctx, const Diag *diag, const Diag *notes,
                 size_t note_count);
/* Line number `line` (from 1) of the source registered under that name, without its newline. */
bool source_line(const Context *ctx, Str name, uint32_t line, Str *out) MUST_CHECK;

#endif
