/* Inside of diagnostics, for ir/ sources only. */
#ifndef MING_IR_DIAG_IMPL_H
#define MING_IR_DIAG_IMPL_H

#include "ir/asm/print/diag.h"

typedef struct SourceText {
    const Ident *name;
    Str text;
    const uint32_t *line_starts; /* made when first needed */
    uint32_t line_count;
} SourceText;

/* The context's part CONTEXT_DIAGS. */
typedef struct Diags {
    DiagHandler *handler;
    void *handler_user;
    size_t error_count;
    bool hide_op;       /* no "see current operation" note */
    Arena texts;        /* of the pending ones */
    Arena args;         /* type_str, attr_str, map_str */
    VEC(Diag) pending;  /* main diagnostic and its notes so far */
    VEC(SourceText) sources;
} Diags;

Diags *diag_state_of(const Context *ctx);

/* Line number `line` (from 1) of the source registered under that name, without its newline. */
bool diag_source_line(const Context *ctx, Str name, uint32_t line, Str *out) MUST_CHECK;

#endif
