/* Inside of ir/asm/parse: tokens, names in scope, the state of a parser, and the functions by which
 * its parts call each other.
 *
 * One OpParser reads one buffer. It looks one token ahead (`tok`) and never back, except where a
 * dimension list or a dialect symbol makes it lex again from a place (parse_reset). Lists in
 * progress are kept on stacks of the parser: whoever pushes remembers the height before and cuts
 * back to it, so that nested lists cost no allocation and a failed parse has nothing to give back.
 * Functions return false or NULL after one diagnostic. */
#ifndef MING_IR_ASM_PARSE_INTERNAL_H
#define MING_IR_ASM_PARSE_INTERNAL_H

#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "ir/support/support.h"

/* Tokens. The lexer never allocates: a token is a slice of the source, which need not be
 * NUL-terminated. Errors are left in the lexer for the parser to report.
 * Tests: test/unit/ir/asm/parse/lexer_test.c, lit/ir/asm/parse/parse-errors.mir */

/* The keywords: words that are not bare identifiers, in the order of their bytes, because lexer.c
 * searches them by bisection. */
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

/* The first token is read by the first lexer_next; at the end it returns TOK_EOF for ever. */
Lexer lexer_make(Str source);
Token lexer_next(Lexer *lex);
bool lexer_is_suffix_char(char c); /* of the names behind sigils */

static inline bool token_is_keyword(Token tok)
{
    return tok.kind >= TOK_FIRST_KEYWORD;
}

/* Whether the token is an identifier, a keyword or an integer type, which all may stand where a
 * bare word is wanted. */
static inline bool token_is_word(Token tok)
{
    return tok.kind == TOK_BARE || tok.kind == TOK_INTTYPE || token_is_keyword(tok);
}

/* The kind of a fixed spelling (punctuation or keyword); TOK_BARE for any other word. */
TokenKind token_kind_of(const char *spelling);

/* Skips ", number" repeatedly, starting at the comma that was read last, as long as the numbers are
 * decimal and only blanks, commas or brackets are around them. *count says how many were skipped;
 * the result is the token behind them, or the comma itself if there are none. */
Token lexer_skip_numbers(Lexer *lex, Token comma, size_t *count);
/* The next number if it is a decimal integer of at most 18 digits, past brackets and commas. False:
 * it is something else, and nothing was consumed. */
bool lexer_small_int(Lexer *lex, bool *negative, uint64_t *value) MUST_CHECK;

/* Decimal or 0x digits as a number. False: it does not fit. */
bool token_u64(Str digits, uint64_t *out) MUST_CHECK;
static inline bool token_is_hex(Str digits)
{
    return digits.len > 1 && digits.data[1] == 'x';
}

/* The text of a string token, or of an @ token without the @, unescaped. It is in `arena` only if
 * it differs from the spelling. */
Str token_string(Token tok, Arena *arena);
/* The number of bytes that a "0x…" string token spells. False: it is not such a token. */
bool token_hex_size(Token tok, size_t *size) MUST_CHECK;
/* Decodes bytes [begin, end) of such a string. False: a character is not a hex digit. */
bool token_hex_decode(Token tok, size_t begin, size_t end, uint8_t *out) MUST_CHECK;

/* Names of values and blocks. An entry maps (text, number) to an object; for values the number is
 * that of %x#1, for blocks it is the region's scope. `text` points to the definition (or first
 * reference) in the source, so it is the name's location too. */
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
void parse_name_table_free(NameTable *table);

/* The names of one region; what the region defines is removed at its end. */
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

/* The meaning of #name or !name. */
typedef struct Alias {
    const void *object; /* Attr or Type */
    uint32_t depth;     /* of its nesting */
    uint64_t size;      /* attributes and types that it stands for, itself included */
} Alias;

/* What all uses of aliases may stand for. Whoever prints or walks through attributes and types
 * spells them out, and each alias may double the one before. */
#define PARSE_MAX_EXPANDED ((uint64_t)1 << 26)

/* The state of a parser. */

typedef struct ResultName {
    Str name; /* with % */
    uint32_t count;
} ResultName;

/* The op being read. The fields of type size_t are heights of the parser's stacks where the op's
 * parts begin. */
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
    /* The line that parser_loc_at found last, because places mostly ascend; its end is not before
     * line_seen. */
    const char *line_start, *line_seen;
    uint32_t line;
    /* The hook of ParseOptions, or NULL, and the place up to which it was told. */
    void (*passed)(void *user, SrcPos place);
    void (*mentions)(void *user, const ParseMention *mention); /* likewise */
    void *hook_user;
    SrcPos passed_place;
    uint32_t depth;    /* of nesting */
    uint32_t deepest;  /* that a definition reached, aliases it uses included */
    bool is_too_deep;  /* diagnosed */
    uint64_t parsed;   /* attributes and types so far, what aliases stand for included */
    uint64_t expanded; /* of these, what uses of aliases stand for */
    Arena scratch;     /* lives as long as the parser */

    PtrMap attr_aliases, type_aliases; /* Ident -> Alias* */
    PtrMap distincts;                  /* distinct id + 1 -> attribute */
    PtrMap late_locs;                  /* stand-in location -> LateLoc* */
    PtrMap bodies;                     /* '<' of a symbol inside of another -> behind its '>' */

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

    /* Stacks of lists in progress. */
    VEC(Value *) operands;
    TypeList results, types;
    VEC(const Attr *) attrs;
    NamedAttrs named;
    VEC(Block *) successors;
    VEC(Region *) regions;
    VEC(ResultName) result_names;
    VEC(OperandRef) refs;

    /* Lists that hooks have returned, for reuse. */
    OperandRefs spare_refs;
    TypeList spare_types;
    DimList spare_dims;
};

/* Tokens, places, messages and lists (parse_support.c). */

void parser_open(OpParser *p, Context *ctx, Str text, const Ident *file);
void parser_close(OpParser *p);
void parse_advance(OpParser *p);
void parse_reset(OpParser *p, const char *at); /* continues with the token that starts there */
bool parse_fail(OpParser *p, const char *fmt, ...) PRINTF_LIKE(2, 3); /* at the current token */
bool parse_fail_at(OpParser *p, SrcPos at, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* At the end of the token before, which is the place of something missing. */
bool parse_fail_missing(OpParser *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
void parse_note_at(OpParser *p, SrcPos at, const char *text);

/* Tells ParseOptions' hook that everything before `place` is read. Called at the latest after each
 * mebibyte of text. */
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
/* Consumes a token of that kind. False: diagnosed with `message`. */
bool parse_token(OpParser *p, TokenKind kind, const char *message) MUST_CHECK;

/* Every function that recurses calls parse_enter and parse_leave, so that nesting is bounded.
 * False: diagnosed. */
bool parse_enter(OpParser *p) MUST_CHECK;
/* The same for a region, each of which takes a multiple of the stack. */
bool parse_enter_region(OpParser *p) MUST_CHECK;
void parse_leave_region(OpParser *p);
static inline void parse_leave(OpParser *p)
{
    p->depth--;
}

/* Checks that something of that depth may be nested here. False: diagnosed. */
bool parse_fits(OpParser *p, uint32_t depth) MUST_CHECK;

/* item (',' item)*, in delimiters unless LIST_BARE; in delimiters the list may be empty. `context`
 * is the end of the message about a missing delimiter. */
typedef enum ListKind { LIST_BARE, LIST_PAREN, LIST_SQUARE, LIST_ANGLE, LIST_BRACE } ListKind;
typedef bool ParseItem(OpParser *p, void *user);
bool parse_list(OpParser *p, ListKind kind, const char *context, ParseItem *item, void *user)
    MUST_CHECK;
/* (item (',' item)*)? closing-token */
bool parse_list_until(OpParser *p, TokenKind close, const char *spelling, ParseItem *item,
                      void *user) MUST_CHECK;

/* A keyword or a string, as names of resources are written. */
bool parse_word_or_string(OpParser *p, Str *out);
/* '-'? integer | true | false as a signed number; *present says whether there is one. */
bool parse_optional_i64(OpParser *p, int64_t *out, bool *present) MUST_CHECK;

/* Types (parse_type.c). */

const Type *parse_type(OpParser *p);
bool parse_at_type(const OpParser *p); /* does a type start here? */
/* The following functions push types onto p->types. */
bool parse_type_list(OpParser *p) MUST_CHECK;        /* one or more */
bool parse_type_list_parens(OpParser *p) MUST_CHECK; /* "(" types? ")" */
bool parse_function_results(OpParser *p) MUST_CHECK; /* type, or list in parentheses */
/* Appends the extents of "4x?x" (trailing_x) or "4x?" to *out. */
bool parse_dims(OpParser *p, DimList *out, bool allow_dynamic, bool trailing_x) MUST_CHECK;

/* Attributes and locations (parse_attr.c, parse_array.c, parse_dense.c, parse_loc.c). */

const Attr *parse_attr(OpParser *p, const Type *type);
bool parse_at_attr(const OpParser *p);
/* Reads "{" … "}" and pushes the entries onto p->named, in the order of the text. */
bool parse_attr_entries(OpParser *p) MUST_CHECK;
/* The value of an integer literal in an integer or index type; the words of numbers wider than 64
 * bits are in `arena`. False, without a message: it is out of range. */
bool parse_int_value(Arena *arena, const Type *type, bool negative, Str digits, BigInt *out)
    MUST_CHECK;
/* The same for a number that has been read and a type of 1 to 64 bits; false for other types. */
bool parse_int_word(const Type *type, bool negative, uint64_t value, BigInt *out) MUST_CHECK;
/* The bits of a float literal, or of a hexadecimal integer, in a float type, low word first. */
bool parse_float_words(OpParser *p, const Type *type, bool negative, Token tok, uint64_t words[2])
    MUST_CHECK;
/* Stores `bytes` bytes of the words, little endian. */
void parse_store_words(uint8_t *out, const uint64_t *words, size_t bytes);
/* The `size` bytes of a "0x…" string. False, without a message: the token is not such a string. */
bool parse_hex(OpParser *p, Token text, size_t size, uint8_t *out) MUST_CHECK;
const Attr *parse_dense(OpParser *p, const Type *type);
const Attr *parse_dense_resource(OpParser *p, const Type *type);
const Attr *parse_dense_array(OpParser *p);
const Attr *parse_sparse(OpParser *p, const Type *type);

const Attr *parse_loc_body(OpParser *p); /* the text between loc( and ) */
/* Reads loc(…) behind an op or argument, which may name a #alias that is defined later. If it is
 * absent, *out is left alone. */
bool parse_trailing_loc(OpParser *p, const Attr **out) MUST_CHECK;
/* Replaces the stand-ins of aliases that were defined late in the module's ops and arguments. */
bool parse_resolve_late_locs(OpParser *p) MUST_CHECK;

/* Appends the body of a foreign dialect's type or attribute in upstream's spacing, with aliases
 * replaced by what they stand for. A text that does not consist of tokens is kept as it is. */
bool parse_foreign_text(OpParser *p, Str body, StrBuf *out) MUST_CHECK;
/* The meaning of an alias. NULL: diagnosed. */
const Attr *parse_alias_of_attr(OpParser *p, Str name);
const Type *parse_alias_of_type(OpParser *p, Str name);

const Attr *parse_extended_attr(OpParser *p, const Type *type); /* #alias, #dialect.name<…> */
const Type *parse_extended_type(OpParser *p);                   /* !alias, !dialect.name<…> */

/* The resource section {-# … #-} (parse_resource.c). */

bool parse_resource_section(OpParser *p) MUST_CHECK; /* at {-# */
bool parse_resource_key(OpParser *p, const Ident **out) MUST_CHECK;

/* Affine maps and sets (parse_affine.c). */

const AffineMap *parse_affine_map(OpParser *p);
const IntegerSet *parse_integer_set(OpParser *p);

/* Ops, regions and names (parse_op.c, parse_region.c, parse_names.c). parse_new_block adds a new
 * last block to a region that may not belong to an op yet. */
Block *parse_new_block(OpParser *p, Region *region);

bool parse_op(OpParser *p) MUST_CHECK;                       /* into p->block */
const Attr *parse_entries_as_dict(OpParser *p, size_t base); /* p->named from base on, cut off */
/* Reads "{" … "}" as a new region on p->regions. */
bool parse_region(OpParser *p, const ArgDecl *args, size_t count) MUST_CHECK;
Region *parse_push_region(OpParser *p);
bool parse_successor(OpParser *p, Block **out) MUST_CHECK;
bool parse_operand(OpParser *p, OperandRef *out, bool allow_number) MUST_CHECK;
Value *parse_resolve(OpParser *p, const OperandRef *ref, const Type *type);
bool parse_define(OpParser *p, const OperandRef *name, Value *value) MUST_CHECK;
void parse_push_scope(OpParser *p);
bool parse_pop_scope(OpParser *p) MUST_CHECK;
/* Reports names that were used and never defined; false if there are any. */
bool parse_check_placeholders(OpParser *p) MUST_CHECK;
void parse_drop_placeholders(OpParser *p);

/* Reads an op by its row's assembly format. */
bool parse_by_format(const struct Format *format, OpParser *p, const OpInfo *info) MUST_CHECK;

#endif
