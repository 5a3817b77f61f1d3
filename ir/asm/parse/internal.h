/* Tokens of MLIR's text. The lexer never allocates: a token is a slice of the source, which
 * need not be NUL-terminated. Errors are left in the lexer for the parser to report.
 * Tests: test/unit/ir/asm/parse/lexer_test.c, lit/ir/asm/parse/parse-errors.mir */
#ifndef MING_IR_ASM_PARSE_INTERNAL_H
#define MING_IR_ASM_PARSE_INTERNAL_H

#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "ir/support/support.h"

/* Words that are no bare identifiers, in order of their bytes (lexer.c searches them). */
#define LEXER_KEYWORDS(X)                                                                          \
    X(affine_map) X(affine_set) X(array) X(attributes) X(bf16) X(ceildiv) X(complex) X(dense)      \
    X(dense_resource) X(distinct) X(f128) X(f16) X(f32) X(f64) X(f80) X(f8E4M3)                    \
    X(f8E4M3B11FNUZ) X(f8E4M3FN) X(f8E4M3FNUZ) X(f8E5M2) X(f8E5M2FNUZ) X(false) X(floordiv) X(for) \
    X(func) X(index) X(loc) X(max) X(memref) X(min) X(mod) X(none) X(offset) X(size) X(sparse)     \
    X(step) X(strided) X(symbol) X(tensor) X(tf32) X(to) X(true) X(tuple) X(type) X(unit)          \
    X(vector)

typedef enum TokenKind {
    TOK_EOF,
    TOK_ERROR,
    TOK_BARE,    /* foo, foo.bar */
    TOK_AT,      /* @foo, @"foo" */
    TOK_HASH,    /* #foo */
    TOK_PERCENT, /* %foo */
    TOK_CARET,   /* ^foo */
    TOK_BANG,    /* !foo */
    TOK_FLOAT,   /* 2.0 */
    TOK_INT,     /* 42, 0x2a */
    TOK_STRING,  /* "foo" with its quotes and escapes */
    TOK_INTTYPE, /* i4, si8, ui16 */
    TOK_ARROW,
    TOK_COLON,
    TOK_COMMA,
    TOK_ELLIPSIS,
    TOK_EQUAL,
    TOK_GREATER,
    TOK_LESS,
    TOK_LBRACE,
    TOK_RBRACE,
    TOK_LPAREN,
    TOK_RPAREN,
    TOK_LSQUARE,
    TOK_RSQUARE,
    TOK_MINUS,
    TOK_PLUS,
    TOK_QUESTION,
    TOK_STAR,
    TOK_BAR,
    TOK_METADATA_BEGIN, /* {-# */
    TOK_METADATA_END,   /* #-} */
    TOK_FIRST_KEYWORD,
    KW_BEFORE_FIRST = TOK_FIRST_KEYWORD - 1,
#define X(word) KW_##word,
    LEXER_KEYWORDS(X)
#undef X
        TOK_KIND_COUNT
} TokenKind;

typedef struct Token {
    TokenKind kind;
    Str text;
} Token;

typedef struct Lexer {
    const char *begin, *end; /* of the source */
    const char *cur;         /* just after the last token */
    const char *error;       /* message of the last TOK_ERROR */
    const char *error_at;
} Lexer;

Lexer lexer_make(Str source);
Token lexer_next(Lexer *lex);

static inline bool token_is_keyword(Token tok)
{
    return tok.kind >= TOK_FIRST_KEYWORD;
}

/* Identifier, keyword or integer type: what may stand where a bare word is wanted. */
static inline bool token_is_word(Token tok)
{
    return tok.kind == TOK_BARE || tok.kind == TOK_INTTYPE || token_is_keyword(tok);
}

/* Kind of a fixed spelling (punctuation or keyword); TOK_BARE for any other word. */
TokenKind token_kind_of(const char *spelling);

/* From a comma, the last token: passes over ", number" as long as numbers are decimal and nothing
 * but blanks, a comma or a bracket is around them. *count: how many; the result is the token
 * behind them, the comma itself if there are none. */
Token lexer_skip_numbers(Lexer *lex, Token comma, size_t *count);
/* The next number if it is a decimal integer of at most 18 digits, past brackets and commas. False:
 * it is something else, and nothing is consumed. */
bool lexer_small_int(Lexer *lex, bool *negative, uint64_t *value) MUST_CHECK;

/* Decimal or 0x digits as a number; false when it does not fit. */
bool token_u64(Str digits, uint64_t *out) MUST_CHECK;
static inline bool token_is_hex(Str digits)
{
    return digits.len > 1 && digits.data[1] == 'x';
}

/* Text of a string token, or of an @ token without the @, unescaped; in `arena` where the
 * spelling itself will not do. */
Str token_string(Token tok, Arena *arena);
/* Bytes of a "0x…" string token: their number, or false if it is none. */
bool token_hex_size(Token tok, size_t *size) MUST_CHECK;
/* Decodes bytes [begin, end) of such a string; false at a digit that is none. */
bool token_hex_decode(Token tok, size_t begin, size_t end, uint8_t *out) MUST_CHECK;

/* Inside of the text parser, for ir/asm/parse/ only.
 *
 * One OpParser reads one buffer. It looks one token ahead (`tok`) and never back, except where
 * a dimension list or a dialect symbol makes it lex again from a place (parse_reset). Lists in
 * progress live on the parser's stacks: who pushes remembers the height before and cuts back
 * to it, so nested lists cost no allocation and a failed parse has nothing to give back.
 * Functions return false or NULL after one diagnostic. */

/* A name's meaning: (text, number) -> object. Values: number is that of %x#1; blocks: the
 * region's scope. `text` points to the definition (or first reference) in the source, so it
 * is the name's location too. */
typedef struct ParsedName {
    const char *text;
    void *object; /* Value* or Block* */
    uint32_t len, number, hash;
    uint32_t next; /* in the bucket: entry index + 1, or the next free entry */
} ParsedName;

typedef struct NameTable {
    VEC(ParsedName) entries;
    uint32_t *buckets; /* entry index + 1; 0: empty */
    size_t bucket_count, live;
    uint32_t free; /* entry index + 1 */
} NameTable;

ParsedName *parse_name_find(const NameTable *table, Str name, uint32_t number);
/* Adds a name that is not there yet; the pointer holds until the next parse_name_add. */
ParsedName *parse_name_add(NameTable *table, Str name, uint32_t number, void *object);
uint32_t parse_name_index(const NameTable *table, const ParsedName *entry);
void parse_name_remove(NameTable *table, uint32_t index);
void parse_name_table_free(NameTable *table);

/* One region's names: what it defines goes when it ends. */
typedef struct NameScope {
    uint32_t id;                           /* number of its blocks' names */
    size_t values, blocks, forward_blocks; /* heights of the parser's lists at its begin */
} NameScope;

/* A value used before its definition: `op` is a detached stand-in with one result. */
typedef struct Placeholder {
    Op *op;
    Value *value; /* the definition, once met */
    SrcPos at;
} Placeholder;

/* #name or !name. */
typedef struct Alias {
    const void *object; /* Attr or Type */
    uint32_t depth;     /* of its nesting */
} Alias;

/* The op being read. */

typedef struct ResultName {
    Str name; /* with % */
    uint32_t count;
} ResultName;

/* The fields of type size_t are heights of the parser's stacks where the op's parts begin. */
typedef struct OpBuild {
    struct OpBuild *outer;
    const Ident *name;
    const OpInfo *info; /* NULL: unregistered */
    SrcPos at;          /* of the op's name */
    const Attr *loc;
    const Attr *props; /* text between <{ }>, or NULL */
    size_t operands, results, attrs, successors, regions, result_names;
    size_t result_name_count;
    size_t dict_begin, dict_end; /* of attrs: what the text's {…} gave */
    uint32_t inferred;           /* results whose types the row's hook computes */
    bool is_custom;              /* messages begin with: custom op 'x' */
} OpBuild;

typedef VEC(NamedAttr) NamedAttrs;

struct OpParser {
    Context *ctx;
    Lexer lex;
    Token tok;
    const Ident *file;
    const Attr *fixed_loc; /* every location of text without a file, or NULL */
    /* the line that parser_loc_at found last; it has no end before line_seen */
    const char *line_start, *line_seen;
    uint32_t line;
    /* ParseOptions' hook, or NULL, and how far it was told the text is read */
    void (*passed)(void *user, SrcPos place);
    void *passed_user;
    SrcPos passed_place;
    uint32_t depth;   /* of nesting */
    uint32_t deepest; /* that a definition reached, aliases it uses included */
    Arena scratch;    /* lives as long as the parser */

    PtrMap attr_aliases, type_aliases; /* Ident -> Alias* */
    PtrMap distincts;                  /* distinct id + 1 -> attribute */
    PtrMap late_locs;                  /* stand-in location -> LateLoc* */

    NameTable values, blocks;
    VEC(uint32_t) value_defs, block_defs; /* name indices, by scope */
    VEC(NameScope) scopes;
    uint32_t next_scope;
    VEC(Placeholder) placeholders;
    size_t open_placeholders; /* not yet defined */
    const Ident *placeholder_name;
    VEC(Block *) forward_blocks; /* made for a reference before their label */

    Op *module;    /* holds everything read */
    Block *block;  /* where ops go */
    OpBuild *op;   /* innermost op whose hook runs, or NULL */
    SrcPos symbol; /* dialect symbol whose hook runs, or NULL */
    Str default_dialect;

    /* stacks */
    VEC(Value *) operands;
    TypeList results, types;
    VEC(const Attr *) attrs;
    NamedAttrs named;
    VEC(Block *) successors;
    VEC(Region *) regions;
    VEC(ResultName) result_names;
    VEC(OperandRef) refs;

    /* lists that hooks have given back */
    OperandRefs spare_refs;
    TypeList spare_types;
    DimList spare_dims;
};

/* Tokens and messages (parse_support.c). */

void parser_open(OpParser *p, Context *ctx, Str text, const Ident *file);
void parser_close(OpParser *p);
void parse_advance(OpParser *p);
void parse_reset(OpParser *p, const char *at); /* the next token is the one that starts there */
bool parse_fail(OpParser *p, const char *fmt, ...) PRINTF_LIKE(2, 3); /* at the current token */
bool parse_fail_at(OpParser *p, SrcPos at, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Where the token before ends: the place of what is missing. */
bool parse_fail_missing(OpParser *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
void parse_note_at(OpParser *p, SrcPos at, const char *text);

/* Called now and then, at the latest after a mebibyte of text: all before `place` is read. */
void parse_passed(OpParser *p, SrcPos place);

static inline bool parse_at(const OpParser *p, TokenKind kind)
{
    return p->tok.kind == kind;
}

static inline bool parse_accept(OpParser *p, TokenKind kind)
{
    if (p->tok.kind != kind) return false;
    parse_advance(p);
    return true;
}

bool parse_at_word(const OpParser *p, const char *word);
/* The token of that kind, or `message` as an error. */
bool parse_token(OpParser *p, TokenKind kind, const char *message) MUST_CHECK;

/* Every function that recurses enters and leaves; too deep is an error. */
bool parse_enter(OpParser *p) MUST_CHECK;
static inline void parse_leave(OpParser *p)
{
    p->depth--;
}

/* Checks that something of that depth may stand here. */
bool parse_fits(OpParser *p, uint32_t depth) MUST_CHECK;

/* item (',' item)*, between delimiters unless LIST_BARE, where it may be empty otherwise.
 * `context` ends the message about a missing delimiter. */
typedef enum ListKind { LIST_BARE, LIST_PAREN, LIST_SQUARE, LIST_ANGLE, LIST_BRACE } ListKind;
typedef bool ParseItem(OpParser *p, void *user);
bool parse_list(OpParser *p, ListKind kind, const char *context, ParseItem *item, void *user)
    MUST_CHECK;
/* (item (',' item)*)? closing-token */
bool parse_list_until(OpParser *p, TokenKind close, const char *spelling, ParseItem *item,
                      void *user) MUST_CHECK;

/* Keyword or string: names of resources. */
bool parse_word_or_string(OpParser *p, Str *out);
/* '-'? integer | true | false as a signed number, if there is one. */
bool parse_optional_i64(OpParser *p, int64_t *out, bool *present) MUST_CHECK;

/* Types (parse_type.c). */

const Type *parse_type(OpParser *p);
const Type *parse_non_function_type(OpParser *p);
bool parse_at_type(const OpParser *p); /* does a type start here? */
/* Push onto p->types. */
bool parse_type_list(OpParser *p) MUST_CHECK;        /* one or more */
bool parse_type_list_parens(OpParser *p) MUST_CHECK; /* "(" types? ")" */
bool parse_function_results(OpParser *p) MUST_CHECK; /* type, or list in parentheses */
/* Pushes the extents "4x?x" (trailing_x) or "4x?" reads. */
bool parse_dims(OpParser *p, DimList *out, bool allow_dynamic, bool trailing_x) MUST_CHECK;

/* Attributes (parse_attr.c, parse_array.c, parse_dense.c, parse_loc.c, parse_symbol.c). */

const Attr *parse_attr(OpParser *p, const Type *type);
bool parse_at_attr(const OpParser *p);
/* "{" … "}" pushed onto p->named, in the order of the text. */
bool parse_attr_entries(OpParser *p) MUST_CHECK;
/* Value of an integer literal in an integer or index type; false when out of range. Numbers
 * wider than 64 bits live in `arena`. */
bool parse_int_value(Arena *arena, const Type *type, bool negative, Str digits, BigInt *out)
    MUST_CHECK;
/* The same for a number that is read already and a type of 1 to 64 bits; others: false. */
bool parse_int_word(const Type *type, bool negative, uint64_t value, BigInt *out) MUST_CHECK;
/* Bits of a float literal, or of a hexadecimal integer, in a float type; low word first. */
bool parse_float_words(OpParser *p, const Type *type, bool negative, Token tok, uint64_t words[2])
    MUST_CHECK;
/* Little endian, `bytes` of them. */
void parse_store_words(uint8_t *out, const uint64_t *words, size_t bytes);
/* The `size` bytes of a "0x…" string; false, without a message, where it is none. */
bool parse_hex(OpParser *p, Token text, size_t size, uint8_t *out) MUST_CHECK;
const Attr *parse_dense(OpParser *p, const Type *type);
const Attr *parse_dense_resource(OpParser *p, const Type *type);
const Attr *parse_dense_array(OpParser *p);
const Attr *parse_sparse(OpParser *p, const Type *type);

const Attr *parse_loc_body(OpParser *p); /* what stands between loc( and ) */
/* loc(…) behind an op or argument, which may name a #alias defined later; absent: *out is
 * left alone. */
bool parse_trailing_loc(OpParser *p, const Attr **out) MUST_CHECK;
/* Puts the locations of aliases defined late into the module's ops and arguments. */
bool parse_resolve_late_locs(OpParser *p) MUST_CHECK;

/* The body of a foreign dialect's type or attribute in upstream's spacing, aliases replaced by
 * what they stand for; a text that is not made of tokens stays as it is. */
bool parse_foreign_text(OpParser *p, Str body, StrBuf *out) MUST_CHECK;
/* What an alias of that name stands for; NULL: diagnosed. */
const Attr *parse_alias_of_attr(OpParser *p, Str name);
const Type *parse_alias_of_type(OpParser *p, Str name);

const Attr *parse_extended_attr(OpParser *p, const Type *type); /* #alias, #dialect.name<…> */
const Type *parse_extended_type(OpParser *p);                   /* !alias, !dialect.name<…> */

/* Resources (parse_resource.c). */

bool parse_resource_section(OpParser *p) MUST_CHECK; /* at {-# */
bool parse_resource_key(OpParser *p, const Ident **out) MUST_CHECK;

/* Affine (parse_affine.c). */

const AffineMap *parse_affine_map(OpParser *p);
const IntegerSet *parse_integer_set(OpParser *p);

/* A new last block of a region that may have no op yet. */
Block *parse_new_block(OpParser *p, Region *region);

bool parse_op(OpParser *p) MUST_CHECK;                       /* into p->block */
const Attr *parse_entries_as_dict(OpParser *p, size_t base); /* p->named from base on, cut off */
/* "{" … "}" as a new region on p->regions. */
bool parse_region(OpParser *p, const ArgDecl *args, size_t count) MUST_CHECK;
Region *parse_push_region(OpParser *p);
bool parse_successor(OpParser *p, Block **out) MUST_CHECK;
bool parse_operand(OpParser *p, OperandRef *out, bool allow_number) MUST_CHECK;
Value *parse_resolve(OpParser *p, const OperandRef *ref, const Type *type);
bool parse_define(OpParser *p, const OperandRef *name, Value *value) MUST_CHECK;
void parse_push_scope(OpParser *p);
bool parse_pop_scope(OpParser *p) MUST_CHECK;
/* Reports names that were used and never defined. */
bool parse_check_placeholders(OpParser *p) MUST_CHECK;
void parse_drop_placeholders(OpParser *p);

/* By the row's assembly format. */
bool parse_by_format(const struct Format *format, OpParser *p, const OpInfo *info) MUST_CHECK;

#endif
