/* Inside of ir/asm/print: the layers between text and ops. An AsmWriter spells types, attributes
 * and locations; AsmAliases and AsmNames find the aliases and SSA names of what is printed;
 * OpPrinter walks the ops; Diags holds pending messages. */
#ifndef MING_IR_ASM_PRINT_INTERNAL_H
#define MING_IR_ASM_PRINT_INTERNAL_H

#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"

/* Spelling of types, attributes and locations (print_type.c, print_attr.c, print_dense.c,
 * print_loc.c, print_text.c). The op printer uses it with aliases, type_print and attr_print
 * (ir/attr/attr.h) use it without. An AsmWriter whose callbacks are all NULL and whose limits are
 * negative writes everything in full. */

typedef struct AsmWriter {
    StrBuf *out;
    const TextSink *sink; /* takes `out` in pieces, or NULL: all of it stays there */
    bool sink_failed;
    /* Text of an alias with its sigil ("#map1", "!tuple"), or NULL to spell the thing out. */
    const char *(*alias_of_attr)(void *user, const Attr *attr);
    const char *(*alias_of_type)(void *user, const Type *type);
    /* Number to print in distinct[N]; callback NULL: the attribute's own id. */
    uint64_t (*distinct_id)(void *user, const Attr *attr);
    void *user;
    int64_t elide_elements_above;  /* < 0: never */
    int64_t elide_resources_above; /* for the caller's resource section */
    bool pretty_locs;              /* locations as attributes in their pretty form */
} AsmWriter;

/* A writer into `out` that uses no aliases and elides nothing. */
AsmWriter asm_writer(StrBuf *out);
/* Hands the text to the sink once enough of it has come together; called wherever much text may be
 * written. */
void asm_writer_pass_on(AsmWriter *w);
void asm_writer_flush(AsmWriter *w); /* hands over the rest */

/* Whether a typed attribute is followed by " : type". */
typedef enum TypeElision {
    TYPE_ELIDE_NEVER, /* always written, but for booleans and typeless ones */
    TYPE_ELIDE_MAY,   /* left out where the parser assumes it: i64, f64 (items of arrays) */
    TYPE_ELIDE_MUST
} TypeElision;

void write_type(AsmWriter *w, const Type *type);
void write_attr(AsmWriter *w, const Attr *attr);         /* TYPE_ELIDE_NEVER */
void write_attr_no_type(AsmWriter *w, const Attr *attr); /* TYPE_ELIDE_MUST */
void write_attr_elided(AsmWriter *w, const Attr *attr, TypeElision elision);
/* The definition behind an alias: only what is nested may use aliases. */
void write_type_unaliased(AsmWriter *w, const Type *type);
void write_attr_unaliased(AsmWriter *w, const Attr *attr);

/* "loc(...)" with the alias where there is one; pretty: the body alone, human-readable. */
void write_loc(AsmWriter *w, const Attr *loc, bool pretty);
/* The part between the parentheses; an alias is tried unless is_top. */
void write_loc_body(AsmWriter *w, const Attr *loc, bool pretty, bool is_top);

/* name = value; the name alone for unit. */
void write_named_attr(AsmWriter *w, const Ident *name, const Attr *value);
/* The part between "dense<" and ">": the elements as a list, a single one for a splat, or hex.
 * array<...> elements are written likewise, after "array<i32: ". */
void write_dense_elements(AsmWriter *w, const Attr *attr, bool allow_hex);
void write_dense_array_elements(AsmWriter *w, const Attr *attr);
/* Upper-case hexadecimal digits. */
void write_hex(AsmWriter *w, const uint8_t *data, size_t size);

/* "text" with quotes and hex escapes. */
void write_string_escaped(StrBuf *out, Str text);
/* @name or @"odd name". */
void write_symbol_name(StrBuf *out, Str name);
/* !ns.body if it is dotted, or !ns<body> (sigil '!' or '#'). */
void write_dialect_symbol(StrBuf *out, char sigil, Str name_space, Str body, bool is_dotted);
/* The same of a body that is added between the two calls, of which the first gives its place. */
size_t write_dialect_begin(StrBuf *out, char sigil, Str name_space);
void write_dialect_end(StrBuf *out, size_t begin);

/* Aliases of attributes, types and locations ("#map", "#loc1", "!tuple"). The printer visits
 * everything that it is about to print, in order; then names are given out: deepest nesting first,
 * types before attributes, then by name, then by first visit.
 * Tests: lit/ir/asm/print/aliases.mir, lit/ir/asm/parse/locations.mir */

typedef struct AsmAliases AsmAliases;

AsmAliases *asm_aliases_create(void);
void asm_aliases_free(AsmAliases *aliases);

void asm_aliases_visit_type(AsmAliases *aliases, const Type *type);
/* deferrable: the alias may be defined behind its use, as the locations of ops allow. */
void asm_aliases_visit_attr(AsmAliases *aliases, const Attr *attr, bool deferrable);
/* Ends the visits: names everything that has an alias. */
void asm_aliases_assign(AsmAliases *aliases);

/* The alias with its sigil, or NULL if there is none. `symbol` is a Type or an Attr. */
const char *asm_aliases_of(const AsmAliases *aliases, const void *symbol);

/* One definition in printing order; exactly one of type and attr is set. */
typedef struct AsmAlias {
    const char *text;
    const Type *type;
    const Attr *attr;
    bool deferrable;
} AsmAlias;
size_t asm_aliases_count(const AsmAliases *aliases);
const AsmAlias *asm_aliases_at(const AsmAliases *aliases, size_t index);

/* SSA names of everything inside an op: numbers, suggested names made unique, block names, and the
 * ids of ops without results that --mlir-print-value-users needs. The names are those of mlir-opt:
 * a region continues the numbers of the region around it, sibling regions reuse each other's (but
 * not in generic form or with unique_ssa_ids), and a name is avoided while an enclosing region has
 * it.
 * Tests: test/unit/ir/asm/print/asm_names_test.c, lit/ir/asm/print/names.mir */

typedef struct AsmNames AsmNames;

/* Names all values in `top`, its results included. Suggested names are ignored in generic form. The
 * caller frees the result. */
AsmNames *asm_names_create(const Op *top, const PrintOptions *options);
void asm_names_free(AsmNames *names);

/* "%0", "%0#1" (with_number), "%c0_i32"; upstream's placeholder when it is unknown. */
void asm_names_value(const AsmNames *names, StrBuf *out, const Value *value, bool with_number);
/* "%0:2" or "%quotient, %remainder", as written on the left of "=". The op must have results. */
void asm_names_results(const AsmNames *names, StrBuf *out, const Op *op);
void asm_names_op_id(const AsmNames *names, StrBuf *out, const Op *op);
void asm_names_block(const AsmNames *names, StrBuf *out, const Block *block);
/* Position of a block in its region. */
uint32_t asm_names_block_order(const AsmNames *names, const Block *block);

/* Appends an identifier that is legal behind '%' or '#': other characters become hex digits, a
 * leading digit gets an underscore in front, a trailing one (unless allowed) behind it. */
void asm_name_sanitize(StrBuf *out, Str name, const char *punctuation, bool trailing_digit);

/* The op printer: the state that print.c, print_op.c, print_top.c and format_print.c share.
 *
 * Printing with aliases walks everything twice with the same hooks. The dry walk writes nothing and
 * only tells AsmAliases what will be printed; the second walk writes. `dry` is tested where text or
 * an alias would be written, and where a form is printed in another order than upstream visits
 * it. */

struct OpPrinter {
    AsmWriter w;
    StrBuf *out; /* where text goes; in the dry walk a buffer that is thrown away */
    const PrintOptions *options;
    AsmNames *names;     /* NULL in the dry walk */
    AsmAliases *aliases; /* NULL: no aliases */
    bool dry;
    uint32_t indent;                   /* columns */
    const DialectDef *default_dialect; /* its prefix is left out here; or NULL */
    PtrMap distinct;                   /* Attr* -> number + 1 */
    PtrMap resources;                  /* dense_resource attributes printed, in order */
};

/* Prints the op with its results and location, without a newline or indentation before it. */
void printer_op(OpPrinter *p, const Op *op);
void printer_indent(OpPrinter *p);
/* " loc(...)" of an op if locations are asked for; of an argument likewise, but it never gets an
 * alias of its own. */
void printer_op_loc(OpPrinter *p, const Attr *loc);
/* Comments of --mlir-print-value-users (print_users.c). */
void printer_users_of_op(OpPrinter *p, const Op *op);
void printer_users_of_arg(OpPrinter *p, const Value *arg);

/* The section {-# … #-} behind a file (print_resources.c), if there is anything for it. */
void printer_resources(OpPrinter *p, const Context *ctx);

/* The op's discardable (and, if asked, inherent) attributes for which keep holds, as
 * printer_attr_dict writes them. */
void printer_attr_dict_filtered(OpPrinter *p, const Op *op, bool inherent, bool with_keyword,
                                bool (*keep)(const void *user, const NamedAttr *item),
                                const void *user);
/* "i32, f32" of a range of operands or results. */
void printer_operand_types(OpPrinter *p, const Op *op, uint32_t begin, uint32_t count);
void printer_result_types_in(OpPrinter *p, const Op *op, uint32_t begin, uint32_t count);
/* A dialect attribute without "#dialect.name". */
void printer_attr_stripped(OpPrinter *p, const Attr *attr);

/* Prints an op by its row's assembly format. */
void print_by_format(const struct Format *format, OpPrinter *p, const Op *op);

/* The context's part CONTEXT_DIAGS and the sources that messages quote. */

typedef struct SourceText {
    const Ident *name;
    Str text;
    const uint32_t *line_starts; /* made when first needed */
    uint32_t line_count;
    uint32_t last; /* the line that was asked for last, which may be megabytes; 0: none */
    Str last_line;
} SourceText;

/* The last diagnostic and its notes stay here until it is known that no note follows. */
typedef struct Diags {
    DiagHandler *handler;
    void *handler_user;
    size_t error_count;
    bool hide_op;      /* no "see current operation" note */
    Arena texts;       /* of the pending ones */
    Arena args;        /* type_str, attr_str, map_str */
    VEC(Diag) pending; /* main diagnostic and its notes so far */
    VEC(SourceText) sources;
} Diags;

Diags *diag_state_of(const Context *ctx);

/* The handler of a hold, which finds no reasons. */
DiagHandler diag_keep;
/* Another message has the reason, or one less, the last of which frees it. */
DiagReason *diag_reason_use(DiagReason *reason);
void diag_reason_drop(DiagReason *reason);

/* Line number `line` (from 1) of the source registered under that name, without its newline. */
bool diag_source_line(const Context *ctx, Str name, uint32_t line, Str *out) MUST_CHECK;

#endif
