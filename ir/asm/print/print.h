/* Writing MLIR text exactly as mlir-opt 19 does: SSA names, aliases, custom and generic forms,
 * locations. print.c drives; asm_names.c numbers values, asm_alias.c finds aliases,
 * print_type.c and print_attr.c spell types and attributes.
 * Tests: lit/ir, lit/dialects */
#ifndef MING_IR_ASM_PRINT_PRINT_H
#define MING_IR_ASM_PRINT_PRINT_H

#include "ir/attr/attr.h"
#include "ir/core/core.h"

typedef struct PrintOptions {
    bool generic;    /* --mlir-print-op-generic */
    bool debug_info; /* --mlir-print-debuginfo */
    bool pretty_debug_info;
    bool local_scope;    /* --mlir-print-local-scope: no aliases */
    bool value_users;    /* --mlir-print-value-users */
    bool unique_ssa_ids; /* --mlir-print-unique-ssa-ids */
    bool skip_regions;
    int64_t elide_elements_above;  /* --mlir-elide-elementsattrs-if-larger; < 0: never */
    int64_t elide_resources_above; /* --mlir-elide-resource-strings-if-larger; < 0: never */
} PrintOptions;
extern const PrintOptions PRINT_DEFAULT;

/* Takes printed text piece by piece. False: it cannot, and the rest is dropped. */
typedef struct TextSink {
    bool (*write)(void *user, Str piece);
    void *user;
} TextSink;

/* Prints a top-level op with aliases and resource section, ending in a newline; a nested op, or
 * any with local_scope, alone and without the newline. */
void op_print(StrBuf *out, Op *op, const PrintOptions *options);
/* The same without ever holding the whole text. False: the sink failed. */
bool op_print_to(const TextSink *sink, Op *op, const PrintOptions *options) MUST_CHECK;
/* One op as a message would show it: local scope, no newline at the end. */
void op_print_inline(StrBuf *out, Op *op);

/* For hooks. */

StrBuf *printer_out(OpPrinter *p);
void printer_text(OpPrinter *p, const char *text);
void printer_value(OpPrinter *p, const Value *value);
void printer_values(OpPrinter *p, const Op *op, uint32_t begin, uint32_t count); /* "%a, %b" */
void printer_type(OpPrinter *p, const Type *type); /* honours aliases */
void printer_result_types(OpPrinter *p, const Op *op);
/* "(i32) -> i32" as functional-type prints it. */
void printer_functional_type(OpPrinter *p, const Op *op);
void printer_attr(OpPrinter *p, const Attr *attr);
void printer_attr_without_type(OpPrinter *p, const Attr *attr);
void printer_symbol_name(OpPrinter *p, Str name); /* @name, quoted where needed */
/* " {a = 1}" of all attributes (discardable and inherent) but the elided names (NULL-terminated,
 * may be NULL); nothing when empty. */
void printer_attr_dict(OpPrinter *p, const Op *op, const char *const *elided);
void printer_attr_dict_keyword(OpPrinter *p, const Op *op, const char *const *elided);
/* "{ … }" */
void printer_region(OpPrinter *p, Region *region, bool print_entry_args, bool print_terminator);
void printer_block_arg(OpPrinter *p, const Value *arg); /* "%x: type" plus location if asked */
/* "%x: type {attrs} loc(...)" of a region's argument in an op's header; attrs: a dictionary or
 * NULL. */
void printer_region_arg(OpPrinter *p, const Value *arg, const Attr *attrs);
/* " {a = 1}" or " attributes {a = 1}" of a dictionary of the hook's own making; nothing when
 * empty. */
void printer_dict(OpPrinter *p, const Attr *dict, bool with_keyword);
void printer_successor(OpPrinter *p, const Block *block);
void printer_newline(OpPrinter *p);          /* and indentation */
void printer_nest(OpPrinter *p, int levels); /* what follows is indented that deeper */
bool printer_debug_info(const OpPrinter *p);
/* Hooks run twice when aliases are wanted: first dry, to find them; nothing is written then.
 * A hook needs this only to save work. */
bool printer_is_dry(const OpPrinter *p);

/* Diagnostics: one message with a location, a severity and notes, given to the
 * context's handler. The default handler prints `file:line:col: error: text`, the
 * source line and a caret to stderr, as mlir-opt does.
 * Tests: test/unit/ir/asm/print/diag_test.c, lit/ir/asm/print/diagnostics.mir */

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
void diag_set_handler(Context *ctx, DiagHandler *handler, void *user, DiagHandler **old_handler,
                      void **old_user);
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
