/* Spelling of types, attributes and locations, for ir/ sources only: print_type.c,
 * print_attr.c, print_dense.c and print_loc.c implement it; print.c calls it with aliases,
 * type_print and attr_print (ir/attr/type.h, ir/attr/attr.h) without.
 * An AsmWriter with all callbacks NULL and both limits negative writes everything in full. */
#ifndef MING_IR_PRINT_IMPL_H
#define MING_IR_PRINT_IMPL_H

#include "ir/attr/attr.h"
#include "ir/asm/print/print.h"

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

/* A writer without aliases, eliding nothing. */
AsmWriter asm_writer(StrBuf *out);
/* Called wherever much text may have come together: hands it to the sink once there is enough. */
void asm_writer_pass_on(AsmWriter *w);
void asm_writer_flush(AsmWriter *w); /* hands over whatever there is */

/* Whether " : type" follows a typed attribute. */
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
/* What stands in the parentheses; alias tried unless is_top. */
void write_loc_body(AsmWriter *w, const Attr *loc, bool pretty, bool is_top);

/* name = value; the name alone for unit. */
void write_named_attr(AsmWriter *w, const Ident *name, const Attr *value);
/* {a, b = 1}; braces too when empty. */
void write_dict(AsmWriter *w, const Attr *dict);
/* What stands between "dense<" and ">": elements as a list, one for a splat, or hex.
 * array<...> elements likewise, after "array<i32: ". */
void write_dense_elements(AsmWriter *w, const Attr *attr, bool allow_hex);
void write_dense_array_elements(AsmWriter *w, const Attr *attr);
/* Upper-case hexadecimal digits. */
void write_hex(AsmWriter *w, const uint8_t *data, size_t size);

/* "text" with quotes and hex escapes. */
void write_string_escaped(StrBuf *out, Str text);
/* @name or @"odd name". */
void write_symbol_name(StrBuf *out, Str name);
/* A bare identifier, or the escaped string if it is none: names of attributes, resource keys. */
void write_attr_name(StrBuf *out, Str name);
bool print_is_bare_identifier(Str text);
/* !ns.body or !ns<body>, whichever upstream prints (sigil '!' or '#'). */
void write_dialect_symbol(StrBuf *out, char sigil, Str name_space, Str body);

#endif
