/* Text of affine expressions, maps and integer sets, as upstream prints them: a sum with a negative
 * term is printed as a difference, a product with -1 as a negation, and sums get parentheses if
 * they are operands of an operator that binds tighter.
 * Tests: test/unit/ir/attr/affine_test.c, lit/ir/attr/affine.mir */
#include "ir/attr/attr.h"

static void print_expr(StrBuf *out, const AffineExpr *expr, bool is_tight);

/* The right side of a sum: " + e", or " - e" for a term with a negative factor. */
static void print_term(StrBuf *out, const AffineExpr *term)
{
    if (affine_is_const(term) && term->value < 0) {
        strbuf_add_c(out, " - ");
        strbuf_add_int(out, (int64_t)(0 - (uint64_t)term->value));
        return;
    }
    bool is_scaled = term->kind == AFFINE_MUL && affine_is_const(term->rhs);
    if (!is_scaled || term->rhs->value >= 0) {
        strbuf_add_c(out, " + ");
        print_expr(out, term, false);
        return;
    }
    int64_t factor = term->rhs->value;
    strbuf_add_c(out, " - ");
    print_expr(out, term->lhs, factor != -1 || term->lhs->kind == AFFINE_ADD);
    if (factor != -1) {
        strbuf_add_c(out, " * ");
        strbuf_add_int(out, (int64_t)(0 - (uint64_t)factor));
    }
}

static const char *operator_text(AffineKind kind)
{
    switch (kind) {
    case AFFINE_MUL: return " * ";
    case AFFINE_MOD: return " mod ";
    case AFFINE_FLOORDIV: return " floordiv ";
    case AFFINE_CEILDIV: return " ceildiv ";
    default: return " + ";
    }
}

static void print_binary(StrBuf *out, const AffineExpr *expr)
{
    if (expr->kind == AFFINE_ADD) {
        print_expr(out, expr->lhs, false);
        print_term(out, expr->rhs);
    } else if (expr->kind == AFFINE_MUL && affine_is_const(expr->rhs) && expr->rhs->value == -1) {
        strbuf_add_char(out, '-');
        print_expr(out, expr->lhs, true);
    } else {
        print_expr(out, expr->lhs, true);
        strbuf_add_c(out, operator_text(expr->kind));
        print_expr(out, expr->rhs, true);
    }
}

/* is_tight: the context binds tighter than any binary operator. */
static void print_expr(StrBuf *out, const AffineExpr *expr, bool is_tight)
{
    if (expr->lhs) {
        if (is_tight) strbuf_add_char(out, '(');
        print_binary(out, expr);
        if (is_tight) strbuf_add_char(out, ')');
        return;
    }
    if (expr->kind == AFFINE_DIM)
        strbuf_add_char(out, 'd');
    else if (expr->kind == AFFINE_SYMBOL)
        strbuf_add_char(out, 's');
    strbuf_add_int(out, expr->value);
}

void affine_print(StrBuf *out, const AffineExpr *expr)
{
    print_expr(out, expr, false);
}

/* "d0, d1, d2" */
static void print_names(StrBuf *out, char prefix, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) strbuf_add_c(out, ", ");
        strbuf_add_char(out, prefix);
        strbuf_add_uint(out, i);
    }
}

/* "(d0, d1)[s0]"; no brackets without symbols. */
static void print_space(StrBuf *out, uint32_t dim_count, uint32_t symbol_count)
{
    strbuf_add_char(out, '(');
    print_names(out, 'd', dim_count);
    strbuf_add_char(out, ')');
    if (symbol_count == 0) return;
    strbuf_add_char(out, '[');
    print_names(out, 's', symbol_count);
    strbuf_add_char(out, ']');
}

void map_print(StrBuf *out, const AffineMap *map)
{
    print_space(out, map->dim_count, map->symbol_count);
    strbuf_add_c(out, " -> (");
    for (uint32_t i = 0; i < map->result_count; i++) {
        if (i > 0) strbuf_add_c(out, ", ");
        affine_print(out, map->results[i]);
    }
    strbuf_add_char(out, ')');
}

void set_print(StrBuf *out, const IntegerSet *set)
{
    print_space(out, set->dim_count, set->symbol_count);
    strbuf_add_c(out, " : (");
    for (uint32_t i = 0; i < set->constraint_count; i++) {
        if (i > 0) strbuf_add_c(out, ", ");
        affine_print(out, set->constraints[i]);
        strbuf_add_c(out, set->is_eq[i] ? " == 0" : " >= 0");
    }
    strbuf_add_char(out, ')');
}
