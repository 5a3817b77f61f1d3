/* Text input: MLIR text to IR. parse_module reads a whole buffer; an OpParser is what custom parse
 * hooks and assembly formats use to read one op, type or attribute.
 *
 * The first failure ends the parse: it is diagnosed at its place in the text, everything that was
 * built is freed, and the result is false or NULL. Parsing takes time linear in the input. Nesting
 * is bounded (PARSE_MAX_DEPTH) with a diagnostic, so that no text can overflow a C stack of 1 MB,
 * and so is what aliases stand for. The
 * grammar is written above each function in the sources. Dialect hooks, tools and tests build on
 * this module.
 * Tests: lit/ir/asm/parse, test/unit/ir/asm/parse, fuzz/fuzz_text.c */
#ifndef MING_IR_ASM_PARSE_PARSE_H
#define MING_IR_ASM_PARSE_PARSE_H

#include "ir/core/core.h"

#define PARSE_MAX_DEPTH 1000

/* Whole texts. */

/* A place that names a value. */
typedef struct ParseMention {
    Str name; /* with %, in the text */
    bool defines;
    const Value *value;  /* the same for all that mean one value, but for `former`; not to be read
                            once the parse is over */
    const Value *former; /* what stood for the value before this definition, or NULL */
    const Type *type;
} ParseMention;

typedef struct ParseOptions {
    bool no_implicit_module; /* the single top-level op is returned as it is */
    bool skip_verify;
    /* Called now and then with a place before which the text is hardly looked at again: only names
     * refer to it and messages show it. May be NULL. */
    void (*passed)(void *user, const char *place);
    /* Called for each place of the text that names a value, also in a text that then fails to parse.
     * May be NULL. */
    void (*mentions)(void *user, const ParseMention *mention);
    void *user;
} ParseOptions;

/* Parses text and, unless told otherwise, verifies the result. It is wrapped in a builtin.module if
 * the text has no single top-level module. options may be NULL. The text must live as long as the
 * context has handlers that show it. NULL: diagnosed. The caller erases the result with
 * op_erase. */
Op *parse_module(Context *ctx, Str text, Str buffer_name, const ParseOptions *options) MUST_CHECK;
/* A single attribute or type from text. NULL: diagnosed at loc. */
const Attr *parse_attr_text(Context *ctx, Str text, const Attr *loc) MUST_CHECK;
const Type *parse_type_text(Context *ctx, Str text, const Attr *loc) MUST_CHECK;

/* Places in the text and messages. A place is a pointer into the text; a location attribute is made
 * only when one is asked for, because most places need none. */
typedef const char *SrcPos;

Context *parser_ctx(OpParser *p);
SrcPos parser_pos(OpParser *p);                    /* of the next token */
SrcPos parser_op_pos(OpParser *p);                 /* of the op's name */
SrcPos parser_symbol_pos(OpParser *p);             /* of the name of the dialect's type or
                                                      attribute whose hook runs */
const Attr *parser_loc_at(OpParser *p, SrcPos at); /* as a location attribute */
const Attr *parser_loc(OpParser *p);               /* parser_loc_at of the next token */
Str parser_op_name(OpParser *p);                   /* full name of the op being parsed */
bool parser_error(OpParser *p, const char *fmt, ...) PRINTF_LIKE(2, 3); /* at the next token */
/* At the op's name if `at` is NULL, as for something that was left out and so has no place. */
bool parser_error_at(OpParser *p, SrcPos at, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Literals such as "->", ":", "(", "<" or a keyword. The try_ variants consume only what matches;
 * parser_at consumes nothing. */
bool parser_expect(OpParser *p, const char *literal) MUST_CHECK;
/* The same for punctuation; `context` is the end of the message: " in argument list". */
bool parser_expect_in(OpParser *p, const char *literal, const char *context) MUST_CHECK;
bool parser_try(OpParser *p, const char *literal);
bool parser_at(OpParser *p, const char *literal);
bool parser_keyword(OpParser *p, Str *out) MUST_CHECK; /* bare identifier or keyword */
bool parser_try_keyword(OpParser *p, Str *out);

/* Operands. A reference is read first and resolved once its type is known. */
typedef struct OperandRef {
    SrcPos at;
    Str name;       /* with % */
    uint32_t index; /* of %x#1 */
} OperandRef;
typedef VEC(OperandRef) OperandRefs;
/* An empty list that reuses the memory of one that was returned. A list may be freed instead of
 * returned. */
OperandRefs parser_borrow_refs(OpParser *p);
void parser_return_refs(OpParser *p, OperandRefs *refs);
bool parser_operand(OpParser *p, OperandRef *out) MUST_CHECK;
bool parser_try_operand(OpParser *p, OperandRef *out, bool *present) MUST_CHECK;
/* A comma-separated list without delimiters, possibly empty. */
bool parser_operand_list(OpParser *p, OperandRefs *out) MUST_CHECK;
/* Makes the value of `ref` the op's next operand, with that type. False: diagnosed, also if the
 * value has another type. */
bool parser_resolve(OpParser *p, const OperandRef *ref, const Type *type) MUST_CHECK;
bool parser_resolve_all(OpParser *p, const OperandRefs *refs, const Type *const *types,
                        size_t count, SrcPos at) MUST_CHECK;

/* Types. */
typedef VEC(const Type *) TypeList;
TypeList parser_borrow_types(OpParser *p); /* as parser_borrow_refs */
void parser_return_types(OpParser *p, TypeList *types);
const Type *parser_type(OpParser *p) MUST_CHECK;
bool parser_at_type(const OpParser *p);                         /* does a type start here? */
bool parser_try_type(OpParser *p, const Type **out) MUST_CHECK; /* *out NULL: none here */
bool parser_type_list(OpParser *p, TypeList *out) MUST_CHECK;   /* one or more, comma-separated */
/* "(" types? ")" "->" type | "(" types ")" */
bool parser_function_type(OpParser *p, TypeList *inputs, TypeList *results) MUST_CHECK;
/* "->" type-list-with-or-without-parens, absent: none */
bool parser_optional_arrow_types(OpParser *p, TypeList *out) MUST_CHECK;
/* Attributes, numbers and strings. */
const Attr *parser_attr(OpParser *p, const Type *type) MUST_CHECK; /* type: expected, or NULL */
bool parser_try_attr(OpParser *p, const Type *type, const Attr **out) MUST_CHECK;
bool parser_int(OpParser *p, int64_t *out) MUST_CHECK;
bool parser_try_int(OpParser *p, int64_t *out, bool *present) MUST_CHECK;
bool parser_float(OpParser *p, double *out) MUST_CHECK; /* "1.5", or the bits in hexadecimal */
/* The same of that type; NULL: diagnosed. */
const Attr *parser_float_of(OpParser *p, const Type *type) MUST_CHECK;
bool parser_string(OpParser *p, Str *out) MUST_CHECK; /* unescaped, in the context's arena */
/* Reads an affine expression over the named dims and symbols. */
typedef struct AffineVar {
    Str name;
    const AffineExpr *expr;
} AffineVar;
const AffineExpr *parser_affine_expr(OpParser *p, const AffineVar *vars, size_t count) MUST_CHECK;
const Attr *parser_symbol_name(OpParser *p) MUST_CHECK; /* @name as a string attribute */
bool parser_try_symbol_name(OpParser *p, const Attr **out);
typedef VEC(int64_t) DimList;
/* Dimension list: "4x?x" when trailing_x, else "4x?". */
bool parser_dims(OpParser *p, DimList *out, bool allow_dynamic, bool trailing_x) MUST_CHECK;
/* Reads {…} into the op's attributes; nothing if it is absent. with_keyword: "attributes {…}". */
bool parser_attr_dict(OpParser *p, bool with_keyword) MUST_CHECK;
/* Reads ('<' attribute '>')? as the op's properties; *present says whether they are there. */
bool parser_props(OpParser *p, bool *present) MUST_CHECK;
/* Adds one property; the op must have properties already. */
void parser_set_prop(OpParser *p, const char *name, const Attr *value);
/* Checks that the attributes given so far (in a format: those in {…}) satisfy the row's
 * constraints. False: diagnosed at `at`. */
bool parser_check_attrs(OpParser *p, SrcPos at) MUST_CHECK;
/* Sets or replaces an attribute of the op; NULL removes it. */
void parser_set_attr(OpParser *p, const char *name, const Attr *value);
const Attr *parser_get_attr(OpParser *p, const char *name);
/* Results. */
void parser_add_results(OpParser *p, const Type *const *types, size_t count);
void parser_add_result(OpParser *p, const Type *type);
/* The op gets `count` results whose types its row's infer hook computes once operands,
 * attributes and regions are complete. */
void parser_infer_results(OpParser *p, uint32_t count);
/* The number of results that the text names on the left of "=". */
uint32_t parser_result_count(OpParser *p);
/* The name that the text gives the op's first result, without %; empty if it has none or a
 * number. */
Str parser_result_name(OpParser *p);
bool parser_successor(OpParser *p) MUST_CHECK; /* ^bb into the op's successors */

/* Regions and their arguments: "%a: type attr-dict? loc?". */
typedef struct ArgDecl {
    SrcPos at;
    const Attr *loc; /* given by loc(…); NULL: that of `at` */
    Str name;        /* with %; empty: the block's label names the arguments */
    const Type *type;
    const Attr *attrs; /* dictionary */
} ArgDecl;
typedef VEC(ArgDecl) ArgDecls;
/* Reads loc(…) if it is there; else *out is left alone. */
bool parser_try_loc(OpParser *p, const Attr **out) MUST_CHECK;
bool parser_arg(OpParser *p, ArgDecl *out, bool with_type, bool with_attrs) MUST_CHECK;
/* Reads the op's next region "{ … }" with entry arguments given beforehand (count may be 0). */
bool parser_region(OpParser *p, const ArgDecl *args, size_t count) MUST_CHECK;
bool parser_try_region(OpParser *p, const ArgDecl *args, size_t count, bool *present) MUST_CHECK;
/* Adds an empty region as the op's next one. */
void parser_add_empty_region(OpParser *p);
/* The last region, to fill or inspect. The parser owns it until the op exists. */
Region *parser_last_region(OpParser *p);
/* Gives that region a block if it has none, though the row may allow an empty one. */
void parser_ensure_block(OpParser *p);

/* Registers a dialect with its op table (ir/core/core.h). A malformed table (a format that does not
 * compile, a name that occurs twice) is a programming error and panics. Registering twice is
 * harmless. */
void dialect_register(Context *ctx, const DialectDef *dialect);

#endif
