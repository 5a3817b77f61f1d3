/* Text output: IR as MLIR text, exactly as mlir-opt 19 prints it (SSA names, aliases, custom and
 * generic forms, locations), and diagnostics, whose messages show IR.
 *
 * Printing does not change the IR and cannot fail, except that a TextSink may refuse text. Ops that
 * do not verify must be printed in generic form (verify_print_options, ir/verify/verify.h), because
 * hooks rely on valid ops. Print hooks of dialects use the printer_* functions. Diagnostics of a
 * context go to its one handler. Verifier, parser, passes and tools build on this module.
 * Tests: lit/ir/asm/print, test/unit/ir/asm/print, lit/dialects */
#ifndef MING_IR_ASM_PRINT_PRINT_H
#define MING_IR_ASM_PRINT_PRINT_H

#include "ir/attr/attr.h"
#include "ir/core/core.h"

/* Printing of whole ops. */
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
/* The options of mlir-opt when none are given. */
extern const PrintOptions PRINT_DEFAULT;

/* A receiver of text that is printed piece by piece. write returns false if it cannot take the
 * text; the rest is then dropped. */
typedef struct TextSink {
    bool (*write)(void *user, Str piece);
    void *user;
} TextSink;

/* Appends an op. A top-level op is printed with its aliases and resource section and ends in a
 * newline; a nested op, or any op with local_scope, is printed alone and without the newline. */
void op_print(StrBuf *out, Op *op, const PrintOptions *options);
/* The same, but the whole text is never held in memory. False: the sink failed. */
bool op_print_to(const TextSink *sink, Op *op, const PrintOptions *options) MUST_CHECK;

/* A bare identifier, or the escaped string if it is none: names of attributes, resource keys,
 * ports. */
void write_attr_name(StrBuf *out, Str name);

/* For print hooks: each function appends to the text of the op being printed. */

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
/* " {a = 1}" of all attributes, discardable and inherent, except for the elided names
 * (NULL-terminated, may be NULL); nothing if there are none. */
void printer_attr_dict(OpPrinter *p, const Op *op, const char *const *elided);
void printer_attr_dict_keyword(OpPrinter *p, const Op *op, const char *const *elided);
/* "{ … }" */
void printer_region(OpPrinter *p, Region *region, bool print_entry_args, bool print_terminator);
void printer_block_arg(OpPrinter *p, const Value *arg); /* "%x: type" plus location if asked */
/* "%x: type {attrs} loc(...)" of a region's argument in the header of an op; attrs is a dictionary
 * or NULL. */
void printer_region_arg(OpPrinter *p, const Value *arg, const Attr *attrs);
/* " {a = 1}" or " attributes {a = 1}" of a dictionary that the hook made; nothing if it is
 * empty. */
void printer_dict(OpPrinter *p, const Attr *dict, bool with_keyword);
void printer_successor(OpPrinter *p, const Block *block);
void printer_newline(OpPrinter *p);          /* and indentation */
void printer_nest(OpPrinter *p, int levels); /* the following lines are indented that much deeper */
/* If aliases are wanted, hooks run twice: the first run is dry and writes nothing, it only finds
 * them. A hook asks this only to save work. */
bool printer_is_dry(const OpPrinter *p);

/* Diagnostics: a message with a location, a severity and notes, given to the context's handler. The
 * default handler prints `file:line:col: error: text`, the source line and a caret to stderr, as
 * mlir-opt does.
 * Tests: test/unit/ir/asm/print/diag_test.c, lit/ir/asm/print/diagnostics.mir */

typedef enum DiagKind { DIAG_ERROR, DIAG_WARNING, DIAG_REMARK, DIAG_NOTE } DiagKind;

/* The rest of a message's text where it takes long to find: it is found when the message is told, and
 * not at all if that is dropped. It lies in front of what it needs, which lives no shorter. */
typedef struct DiagReason {
    void (*add)(const struct DiagReason *reason, StrBuf *text);
    void (*free)(struct DiagReason *reason);
    uint32_t uses; /* by messages; 0 at first */
} DiagReason;

typedef struct Diag {
    DiagKind kind;
    const Attr *loc;    /* location attribute (ir/attr/attr.h), never NULL */
    Str text;           /* lives during the handler's call only */
    DiagReason *reason; /* still to be found, or NULL, as it is for handlers */
} Diag;

/* The handler gets a diagnostic together with its notes. The texts live until it returns. */
typedef void DiagHandler(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                         size_t note_count);

/* Installs a handler (NULL: the default one). The former handler is returned through old_handler
 * and old_user unless these are NULL. */
void diag_set_handler(Context *ctx, DiagHandler *handler, void *user, DiagHandler **old_handler,
                      void **old_user);
/* Number of errors reported so far, whatever the handler did with them, but for those that are held
 * back. */
size_t diag_error_count(const Context *ctx);

/* The diagnostics of an attempt, held back until it is known whether it fails for good:
 *   begin ─▶ the attempt ─▶ end ─▶ report, if they matter ─▶ free      drop: end and free
 * Whoever tries something that may be replaced by something else holds the diagnostics; a message
 * with severity error then always means failure. The arguments of a message must not depend on
 * texts made before begin or end, which flush. */
typedef struct HeldDiag {
    DiagKind kind;
    const Attr *loc;
    StrBuf text;
    DiagReason *reason; /* still to be found, or NULL */
} HeldDiag;

typedef struct DiagHold {
    Context *ctx;
    DiagHandler *handler; /* the one before */
    void *user;
    size_t errors; /* reported before */
    VEC(HeldDiag) held;
} DiagHold;

void diag_hold_begin(DiagHold *hold, Context *ctx);
void diag_hold_end(DiagHold *hold);
void diag_hold_report(const DiagHold *hold);
/* Its text is whole. NULL: no error was held back. */
const HeldDiag *diag_hold_first_error(DiagHold *hold);
void diag_hold_free(DiagHold *hold);
void diag_hold_drop(DiagHold *hold);

/* Report a message; all return false, so that `return diag_error(...)` reads well. A diagnostic
 * stays pending until the next one that is no note, or until diag_flush, because notes are attached
 * to the diagnostic before them. */
bool diag_error(Context *ctx, const Attr *loc, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool diag_warning(Context *ctx, const Attr *loc, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool diag_remark(Context *ctx, const Attr *loc, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool diag_note(Context *ctx, const Attr *loc, const char *fmt, ...) PRINTF_LIKE(3, 4);
void diag_flush(Context *ctx);
/* Ends the text of the message that was reported last, its notes aside; takes the reason over. */
void diag_because(Context *ctx, DiagReason *reason);

/* Sets whether messages about an op carry a note "see current operation: ..." with its generic
 * form, as upstream's do unless diagnostics are being verified. On at first. */
void diag_show_op(Context *ctx, bool show);

/* Report about an op, at its location. op_error puts "'dialect.op' op " in front, as upstream does;
 * all return false. */
bool op_error(const Op *op, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same without the prefix. */
bool op_emit_error(const Op *op, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool op_warning(const Op *op, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool op_remark(const Op *op, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool op_note(const Op *op, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* A note with a title followed by the op, in generic or in its own form. */
bool op_note_text(const Op *op, const char *title, bool generic);

/* Registers source text, so that diagnostics can show a line of it. The text must outlive its
 * registration; the name is copied. The parser registers the buffer that it reads. */
void diag_add_source(Context *ctx, Str name, Str text);
void diag_remove_source(Context *ctx, Str name);
/* The text registered under that name, or a Str whose data is NULL. */
Str diag_source(const Context *ctx, Str name);

/* Text of types, attributes and maps for messages. The strings belong to the context and are valid
 * until diag_flush or until the next diagnostic that is no note has been emitted. */
const char *type_str(Context *ctx, const Type *type);
const char *attr_str(Context *ctx, const Attr *attr);
const char *map_str(Context *ctx, const AffineMap *map);

/* The default handler, which prints to stderr as mlir-opt does; it ignores `user`. */
DiagHandler diag_print_stderr;
/* The text that the default handler prints. */
void diag_render(StrBuf *out, const Context *ctx, const Diag *diag, const Diag *notes,
                 size_t note_count);

#endif
