/* Diagnostics: one message with a location, a severity and notes, given to the
 * context's handler. The default handler prints `file:line:col: error: text`, the
 * source line and a caret to stderr, as mlir-opt does.
 * Tests: test/unit/diag_test.c, lit/ir/diagnostics.mir */
#ifndef MING_IR_DIAG_H
#define MING_IR_DIAG_H

#include "ir/attr/context.h"

typedef enum DiagKind { DIAG_ERROR, DIAG_WARNING, DIAG_REMARK, DIAG_NOTE } DiagKind;

typedef struct Diag {
    DiagKind kind;
    const Attr *loc; /* location attribute (ir/attr/attr.h), never NULL */
    Str text;        /* lives during the handler's call only */
} Diag;

/* `notes` follow the main diagnostic; the handler sees them together. */
typedef void DiagHandler(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                         size_t note_count);

/* Installs a handler (NULL: the default one) and returns the former through old_*, if not NULL. */
void diag_set_handler(Context *ctx, DiagHandler *handler, void *user,
                              DiagHandler **old_handler, void **old_user);
/* Errors reported so far, whatever the handler did with them. */
size_t diag_error_count(const Context *ctx);

/* All emit_* return false, so that `return diag_error(...)` reads well. A note attaches to
 * the diagnostic emitted before it by keeping that one pending until the next diagnostic or
 * diag_flush; ops and parsers call diag_flush at their ends. */
bool diag_error(Context *ctx, const Attr *loc, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool diag_warning(Context *ctx, const Attr *loc, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool diag_remark(Context *ctx, const Attr *loc, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool diag_note(Context *ctx, const Attr *loc, const char *fmt, ...) PRINTF_LIKE(3, 4);
void diag_flush(Context *ctx);

/* Whether messages about an op carry a note "see current operation: ..." with its generic form,
 * as upstream's do unless diagnostics are being verified. On at first. */
void diag_show_op(Context *ctx, bool show);

/* Errors about an op: text is prefixed with "'dialect.op' op " as upstream's are. */
bool op_error(const Op *op, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Without the prefix, at the op's location. */
bool op_emit_error(const Op *op, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool op_warning(const Op *op, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool op_remark(const Op *op, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool op_note(const Op *op, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* A note that shows the op behind the title, in the generic form or its own. */
bool op_note_text(const Op *op, const char *title, bool generic);

/* Source text registered so that diagnostics can show a line. The text must outlive its
 * registration; name is copied. Parsing a buffer registers it by itself. */
void diag_add_source(Context *ctx, Str name, Str text);
void diag_remove_source(Context *ctx, Str name);
/* The text registered under that name, or an empty Str with data == NULL. */
Str diag_source(const Context *ctx, Str name);

/* Text of types, attributes, maps for messages: scratch strings of the context that stay
 * valid until diag_flush or the end of the next emitted diagnostic that is no note. */
const char *type_str(Context *ctx, const Type *type);
const char *attr_str(Context *ctx, const Attr *attr);
const char *map_str(Context *ctx, const AffineMap *map);

/* The handler used when none is set: as mlir-opt, to stderr. user is ignored. */
DiagHandler diag_print_stderr;
/* What it prints. */
void diag_render(StrBuf *out, const Context *ctx, const Diag *diag, const Diag *notes,
                 size_t note_count);
#endif
