/* Parsing of affine maps and integer sets: affine_map<(d0)[s0] -> (…)>, affine_set<(d0) : (…)>.
 * Sums and products are read in loops, so that only parentheses and signs use the C stack.
 * Tests: lit/ir/attr/affine.mir, lit/ir/attr/affine-invalid.mir */
#include "ir/asm/parse/internal.h"

typedef struct AffineReader {
    VEC(AffineVar) names;
    PtrMap index; /* Ident -> position in names + 1, once there are many */
    VEC(const AffineExpr *) exprs;
    VEC(bool) is_eq; /* of constraints, parallel to exprs */
    uint32_t dim_count, symbol_count;
} AffineReader;

enum { FEW_NAMES = 16 };

static void reader_free(AffineReader *reader)
{
    vec_free(&reader->names);
    ptrmap_free(&reader->index);
    vec_free(&reader->exprs);
    vec_free(&reader->is_eq);
}

static const AffineExpr *parse_sum(OpParser *p, const AffineReader *reader);

static const AffineVar *find_name(OpParser *p, const AffineReader *reader, Str name)
{
    if (reader->names.len > FEW_NAMES) {
        uintptr_t at = (uintptr_t)ptrmap_get(&reader->index, ident_get(p->ctx, name));
        return at ? &reader->names.data[at - 1] : NULL;
    }
    for (size_t i = 0; i < reader->names.len; i++) {
        if (str_eq(reader->names.data[i].name, name)) return &reader->names.data[i];
    }
    return NULL;
}

static void index_name(OpParser *p, AffineReader *reader, size_t at)
{
    const Ident *name = ident_get(p->ctx, reader->names.data[at].name);
    ptrmap_put(&reader->index, name, (void *)(uintptr_t)(at + 1));
}

static void add_name(OpParser *p, AffineReader *reader, AffineVar var)
{
    size_t count = reader->names.len;
    *vec_push(&reader->names) = var;
    if (count < FEW_NAMES) return;
    for (size_t i = count == FEW_NAMES ? 0 : count; i <= count; i++) index_name(p, reader, i);
}

static const AffineExpr *parse_name(OpParser *p, const AffineReader *reader)
{
    const AffineVar *known = find_name(p, reader, p->tok.text);
    if (!known) {
        parse_fail_missing(p, "use of undeclared identifier");
        return NULL;
    }
    parse_advance(p);
    return known->expr;
}

static const AffineExpr *parse_constant(OpParser *p)
{
    uint64_t value;
    if (!token_u64(p->tok.text, &value) || value > INT64_MAX) {
        parse_fail(p, "constant too large for index");
        return NULL;
    }
    parse_advance(p);
    return affine_const(p->ctx, (int64_t)value);
}

/* Behind a minus: 2^63, which means the smallest constant only there. */
static bool parse_smallest(OpParser *p)
{
    uint64_t value;
    if (!parse_at(p, TOK_INT) || !token_u64(p->tok.text, &value) || value - 1 != INT64_MAX) {
        return false;
    }
    parse_advance(p);
    return true;
}

/* '(' expr ')' */
static const AffineExpr *parse_parenthesized(OpParser *p, const AffineReader *reader)
{
    parse_advance(p);
    if (parse_at(p, TOK_RPAREN)) {
        parse_fail(p, "no expression inside parentheses");
        return NULL;
    }
    const AffineExpr *expr = parse_sum(p, reader);
    return expr && parse_token(p, TOK_RPAREN, "expected ')'") ? expr : NULL;
}

/* Maps of SSA names belong to ops' own syntax: 'symbol' '(' … ')' and %x are errors here. */
static const AffineExpr *fail_ssa_name(OpParser *p)
{
    if (parse_accept(p, KW_symbol) &&
        !parse_token(p, TOK_LPAREN, "expected '(' at start of SSA symbol"))
        return NULL;
    parse_fail_missing(p, "unexpected ssa identifier");
    return NULL;
}

static const AffineExpr *parse_unary(OpParser *p, const AffineReader *reader, bool has_lhs);

/* '-' operand. A missing operand is reported twice, as upstream does, but once per row of
 * signs. */
static const AffineExpr *parse_negation(OpParser *p, const AffineReader *reader, bool has_lhs)
{
    parse_advance(p);
    if (parse_smallest(p)) return affine_const(p->ctx, INT64_MIN);
    bool innermost = !parse_at(p, TOK_MINUS);
    const AffineExpr *operand = parse_unary(p, reader, has_lhs);
    if (operand) return affine_neg(operand);
    if (innermost && !parse_at(p, TOK_EOF)) parse_fail(p, "missing operand of negation");
    return NULL;
}

/* operand ::= name | integer | '(' expr ')' | '-' operand; has_lhs: right of an operator */
static const AffineExpr *parse_unary(OpParser *p, const AffineReader *reader, bool has_lhs)
{
    if (!parse_enter(p)) return NULL;
    const AffineExpr *expr = NULL;
    if (parse_at(p, TOK_INT)) {
        expr = parse_constant(p);
    } else if (parse_at(p, TOK_LPAREN)) {
        expr = parse_parenthesized(p, reader);
    } else if (parse_at(p, TOK_MINUS)) {
        expr = parse_negation(p, reader, has_lhs);
    } else if (token_is_word(p->tok) && !parse_at(p, KW_symbol)) {
        expr = parse_name(p, reader);
    } else if (parse_at(p, TOK_PERCENT) || parse_at(p, KW_symbol)) {
        expr = fail_ssa_name(p);
    } else if (has_lhs) {
        parse_fail(p, "missing right operand of binary operator");
    } else if (parse_at(p, TOK_PLUS) || parse_at(p, TOK_STAR)) {
        parse_fail(p, "missing left operand of binary operator");
    } else {
        parse_fail(p, "expected affine expression");
    }
    parse_leave(p);
    return expr;
}

static const AffineExpr *check_depth(OpParser *p, const AffineExpr *expr)
{
    if (!expr || expr->depth <= AFFINE_MAX_DEPTH) return expr;
    parse_fail(p, "affine expression is deeper than %d levels", AFFINE_MAX_DEPTH);
    return NULL;
}

static const AffineExpr *not_affine(OpParser *p, SrcPos at, const char *operation)
{
    parse_fail_at(p, at,
                  "non-affine expression: right operand of %s has to be either a constant or "
                  "symbolic",
                  operation);
    return NULL;
}

static const AffineExpr *build_product(OpParser *p, TokenKind kind, const AffineExpr *lhs,
                                       const AffineExpr *rhs, SrcPos at)
{
    bool symbolic = affine_is_symbolic(rhs);
    switch (kind) {
    case TOK_STAR:
        if (symbolic || affine_is_symbolic(lhs)) return affine_mul(lhs, rhs);
        parse_fail_at(p, at,
                      "non-affine expression: at least one of the multiply operands has to be "
                      "either a constant or symbolic");
        return NULL;
    case KW_floordiv: return symbolic ? affine_floordiv(lhs, rhs) : not_affine(p, at, "floordiv");
    case KW_ceildiv: return symbolic ? affine_ceildiv(lhs, rhs) : not_affine(p, at, "ceildiv");
    default: return symbolic ? affine_mod(lhs, rhs) : not_affine(p, at, "mod");
    }
}

static bool at_product_operator(const OpParser *p)
{
    return parse_at(p, TOK_STAR) || parse_at(p, KW_floordiv) || parse_at(p, KW_ceildiv) ||
           parse_at(p, KW_mod);
}

/* product ::= operand (('*' | 'floordiv' | 'ceildiv' | 'mod') operand)*
 * An operator that makes the expression not affine is reported at the next one, if there is. */
static const AffineExpr *parse_product(OpParser *p, const AffineReader *reader, bool has_lhs)
{
    const AffineExpr *lhs = parse_unary(p, reader, has_lhs);
    while (lhs && at_product_operator(p)) {
        Token operator= p->tok;
        parse_advance(p);
        const AffineExpr *rhs = parse_unary(p, reader, true);
        if (!rhs) return NULL;
        SrcPos at = at_product_operator(p) ? p->tok.text.data : operator.text.data;
        lhs = check_depth(p, build_product(p, operator.kind, lhs, rhs, at));
    }
    return lhs;
}

/* expr ::= product (('+' | '-') product)* */
static const AffineExpr *parse_sum(OpParser *p, const AffineReader *reader)
{
    const AffineExpr *lhs = parse_product(p, reader, false);
    while (lhs && (parse_at(p, TOK_PLUS) || parse_at(p, TOK_MINUS))) {
        bool minus = parse_at(p, TOK_MINUS);
        parse_advance(p);
        bool smallest = minus && parse_smallest(p); /* x - 2^63 = x + -2^63 */
        const AffineExpr *rhs =
            smallest ? affine_const(p->ctx, INT64_MIN) : parse_product(p, reader, true);
        if (!rhs) return NULL;
        bool negate = minus && !smallest;
        lhs = check_depth(p, negate ? affine_sub(lhs, rhs) : affine_add(lhs, rhs));
    }
    return lhs;
}

static bool parse_new_name(OpParser *p, AffineReader *reader, const AffineExpr *expr)
{
    if (!token_is_word(p->tok)) return parse_fail_missing(p, "expected bare identifier");
    if (find_name(p, reader, p->tok.text)) {
        return parse_fail(p, "redefinition of identifier '%.*s'", STR_ARG(p->tok.text));
    }
    add_name(p, reader, (AffineVar){p->tok.text, expr});
    parse_advance(p);
    return true;
}

static bool parse_new_dim(OpParser *p, void *user)
{
    AffineReader *reader = user;
    return parse_new_name(p, reader, affine_dim(p->ctx, reader->dim_count++));
}

static bool parse_new_symbol(OpParser *p, void *user)
{
    AffineReader *reader = user;
    return parse_new_name(p, reader, affine_symbol(p->ctx, reader->symbol_count++));
}

/* '(' dims? ')' ('[' symbols? ']')? */
static bool parse_spaces(OpParser *p, AffineReader *reader)
{
    if (!parse_list(p, LIST_PAREN, " in dimensional identifier list", parse_new_dim, reader)) {
        return false;
    }
    if (!parse_at(p, TOK_LSQUARE)) return true;
    return parse_list(p, LIST_SQUARE, " in symbol list", parse_new_symbol, reader);
}

static bool parse_result(OpParser *p, void *user)
{
    AffineReader *reader = user;
    const AffineExpr *expr = parse_sum(p, reader);
    if (!expr) return false;
    *vec_push(&reader->exprs) = expr;
    return true;
}

/* constraint ::= expr ('>=' | '<=' | '==') expr, kept as expr >= 0 or expr == 0 */
static bool parse_constraint(OpParser *p, void *user)
{
    AffineReader *reader = user;
    const AffineExpr *lhs = parse_sum(p, reader);
    if (!lhs) return false;
    TokenKind relation = p->tok.kind;
    bool known = relation == TOK_GREATER || relation == TOK_LESS || relation == TOK_EQUAL;
    if (known) parse_advance(p);
    if (!known || !parse_accept(p, TOK_EQUAL)) {
        return parse_fail(p, "expected '== affine-expr' or '>= affine-expr' at end of affine "
                             "constraint");
    }
    const AffineExpr *rhs = parse_sum(p, reader);
    if (!rhs) return false;
    *vec_push(&reader->exprs) = relation == TOK_LESS ? affine_sub(rhs, lhs) : affine_sub(lhs, rhs);
    *vec_push(&reader->is_eq) = relation == TOK_EQUAL;
    return true;
}

/* map ::= spaces '->' '(' results? ')'     set ::= spaces ':' '(' constraints? ')' */
static bool parse_map_or_set(OpParser *p, AffineReader *reader, bool *is_map)
{
    if (!parse_spaces(p, reader)) return false;
    *is_map = parse_accept(p, TOK_ARROW);
    if (*is_map) return parse_list(p, LIST_PAREN, " in affine map range", parse_result, reader);
    if (!parse_token(p, TOK_COLON, "expected '->' or ':'")) return false;
    return parse_list(p, LIST_PAREN, " in integer set constraint list", parse_constraint, reader);
}

const AffineMap *parse_affine_map(OpParser *p)
{
    AffineReader reader = {0};
    SrcPos at = p->tok.text.data;
    const AffineMap *map = NULL;
    bool is_map;
    if (parse_map_or_set(p, &reader, &is_map)) {
        if (is_map) {
            map = map_get(p->ctx, reader.dim_count, reader.symbol_count, (uint32_t)reader.exprs.len,
                          reader.exprs.data);
        } else {
            parse_fail_at(p, at, "expected AffineMap, but got IntegerSet");
        }
    }
    reader_free(&reader);
    return map;
}

/* A set without constraints is 0 == 0. */
static const IntegerSet *build_set(OpParser *p, AffineReader *reader)
{
    if (reader->exprs.len == 0) {
        *vec_push(&reader->exprs) = affine_const(p->ctx, 0);
        *vec_push(&reader->is_eq) = true;
    }
    return set_get(p->ctx, reader->dim_count, reader->symbol_count, (uint32_t)reader->exprs.len,
                   reader->exprs.data, reader->is_eq.data);
}

const IntegerSet *parse_integer_set(OpParser *p)
{
    AffineReader reader = {0};
    SrcPos at = p->tok.text.data;
    const IntegerSet *set = NULL;
    bool is_map;
    if (parse_map_or_set(p, &reader, &is_map)) {
        if (is_map)
            parse_fail_at(p, at, "expected IntegerSet, but got AffineMap");
        else
            set = build_set(p, &reader);
    }
    reader_free(&reader);
    return set;
}

const AffineExpr *parser_affine_expr(OpParser *p, const AffineVar *vars, size_t count)
{
    AffineReader reader = {0};
    for (size_t i = 0; i < count; i++) add_name(p, &reader, vars[i]);
    const AffineExpr *expr = parse_sum(p, &reader);
    reader_free(&reader);
    return expr;
}
