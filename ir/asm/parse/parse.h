/* Reading MLIR text. parse_module reads a whole buffer; OpParser is what custom parse hooks
 * and the assembly format use. The grammar stands above each function in the sources:
 * lexer.c, parser.c (whole texts), parse_op.c, parse_region.c, parse_type.c, parse_attr.c, ...
 * Linear in the input; nesting is bounded (PARSE_MAX_DEPTH) with a diagnostic.
 * Tests: lit/ir, test/unit/ir/asm/parse/parse_test.c, fuzz/fuzz_text.c */
#ifndef MING_IR_ASM_PARSE_PARSE_H
#define MING_IR_ASM_PARSE_PARSE_H

#include "ir/core/core.h"

#define PARSE_MAX_DEPTH 1000

typedef struct ParseOptions {
    bool no_implicit_module; /* the single top-level op is returned as it is */
    bool skip_verify;
    /* Told now and then that text before `place` is hardly looked at again: names refer to it and
     * messages show it. May be NULL. */
    void (*passed)(void *user, const char *place);
    void *user;
} ParseOptions;

/* Parses (and unless told otherwise verifies) text; wraps it in builtin.module where the text has
 * no single top-level module. The text must stay alive for diagnostics' sake as long as the
 * context has handlers that show it. NULL: diagnosed. The caller op_erases the result. */
Op *parse_module(Context *ctx, Str text, Str buffer_name, const ParseOptions *options) MUST_CHECK;
/* A lone attribute or type from text; NULL: diagnosed at loc. */
const Attr *parse_attr_text(Context *ctx, Str text, const Attr *loc) MUST_CHECK;
const Type *parse_type_text(Context *ctx, Str text, const Attr *loc) MUST_CHECK;

/* A place in the text being parsed: cheap, no location attribute is made unless asked for. */
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
/* At the op's name if at is NULL: what was left out has no place. */
bool parser_error_at(OpParser *p, SrcPos at, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Literals: "->", ":", "(", "<", "keyword". try_ variants consume only on a match. */
bool parser_expect(OpParser *p, const char *literal) MUST_CHECK;
/* The same for punctuation; `context` ends the message: " in argument list". */
bool parser_expect_in(OpParser *p, const char *literal, const char *context) MUST_CHECK;
bool parser_try(OpParser *p, const char *literal);
bool parser_at(OpParser *p, const char *literal);
bool parser_keyword(OpParser *p, Str *out) MUST_CHECK; /* bare identifier or keyword */
bool parser_try_keyword(OpParser *p, Str *out);

/* Operand references are resolved once their types are known. */
typedef struct OperandRef {
    SrcPos at;
    Str name;       /* with % */
    uint32_t index; /* of %x#1 */
} OperandRef;
typedef VEC(OperandRef) OperandRefs;
/* An empty list in the memory of one given back before. A list may be freed instead. */
OperandRefs parser_borrow_refs(OpParser *p);
void parser_return_refs(OpParser *p, OperandRefs *refs);
bool parser_operand(OpParser *p, OperandRef *out) MUST_CHECK;
bool parser_try_operand(OpParser *p, OperandRef *out, bool *present) MUST_CHECK;
/* Comma-separated, possibly empty, without delimiters. */
bool parser_operand_list(OpParser *p, OperandRefs *out) MUST_CHECK;
/* Makes `ref` the op's next operand with that type. */
bool parser_resolve(OpParser *p, const OperandRef *ref, const Type *type) MUST_CHECK;
bool parser_resolve_all(OpParser *p, const OperandRefs *refs, const Type *const *types,
                        size_t count, SrcPos at) MUST_CHECK;

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
const Attr *parser_attr(OpParser *p, const Type *type) MUST_CHECK; /* type: expected, or NULL */
bool parser_try_attr(OpParser *p, const Type *type, const Attr **out) MUST_CHECK;
bool parser_int(OpParser *p, int64_t *out) MUST_CHECK;
bool parser_try_int(OpParser *p, int64_t *out, bool *present) MUST_CHECK;
bool parser_float(OpParser *p, double *out) MUST_CHECK; /* "1.5", or the bits in hexadecimal */
bool parser_string(OpParser *p, Str *out) MUST_CHECK;   /* unescaped, in the context's arena */
/* An affine expression over the named dims and symbols. */
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
/* {…} into the op's attributes; absent: nothing. with_keyword: "attributes {…}". */
bool parser_attr_dict(OpParser *p, bool with_keyword) MUST_CHECK;
/* ('<' attribute '>')? as the op's properties; *present says whether they are there. */
bool parser_props(OpParser *p, bool *present) MUST_CHECK;
/* Adds to the properties, which are there. */
void parser_set_prop(OpParser *p, const char *name, const Attr *value);
/* The attributes given so far (in a format: those in {…}) satisfy the row's constraints; else a
 * message at `at`. */
bool parser_check_attrs(OpParser *p, SrcPos at) MUST_CHECK;
/* Sets or replaces; NULL removes. */
void parser_set_attr(OpParser *p, const char *name, const Attr *value);
const Attr *parser_get_attr(OpParser *p, const char *name);
void parser_add_results(OpParser *p, const Type *const *types, size_t count);
void parser_add_result(OpParser *p, const Type *type);
/* The op gets `count` results whose types its row's infer hook computes once operands,
 * attributes and regions are complete. */
void parser_infer_results(OpParser *p, uint32_t count);
/* Number of results the text names to the left of "=" and the name of one, "" if none. */
uint32_t parser_result_count(OpParser *p);
Str parser_result_name(OpParser *p, uint32_t index);
size_t parser_operand_count(OpParser *p); /* resolved so far */
const Type *parser_operand_type(OpParser *p, size_t index);
bool parser_successor(OpParser *p) MUST_CHECK; /* ^bb into the op's successors */

/* "%a: type attr-dict? loc?" */
typedef struct ArgDecl {
    SrcPos at;
    const Attr *loc; /* given by loc(…); NULL: that of `at` */
    Str name;        /* with %; empty: the block's label names the arguments */
    const Type *type;
    const Attr *attrs; /* dictionary */
} ArgDecl;
typedef VEC(ArgDecl) ArgDecls;
/* loc(…); absent: *out is left alone. */
bool parser_try_loc(OpParser *p, const Attr **out) MUST_CHECK;
bool parser_arg(OpParser *p, ArgDecl *out, bool with_type, bool with_attrs) MUST_CHECK;
/* The op's next region: "{ … }" with entry arguments given beforehand (count may be 0). */
bool parser_region(OpParser *p, const ArgDecl *args, size_t count) MUST_CHECK;
bool parser_try_region(OpParser *p, const ArgDecl *args, size_t count, bool *present) MUST_CHECK;
/* An empty region, or one with a single block. */
void parser_add_empty_region(OpParser *p);
/* The region just parsed (index), to fill or inspect: owned by the parser until the op exists. */
Region *parser_last_region(OpParser *p);
/* Gives that region a block if it has none; the row may let it have none otherwise. */
void parser_ensure_block(OpParser *p);

/* Registers a dialect with its op table (ir/core/core.h); checks the table itself (formats parse,
 * names unique) and panics if it is malformed. Registering twice is harmless. */
void dialect_register(Context *ctx, const DialectDef *dialect);

#endif
