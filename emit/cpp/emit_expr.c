/* C++ expressions of arith and math ops. ap_int arithmetic is exact (results grow), so an
 * expression needs a cast only where the IR's width wraps; value ranges tell where it cannot.
 * Tests: lit/emit/expressions.mir, test/e2e */
#include <stdio.h>
#include <string.h>

#include "dialects/arith/arith.h"
#include "emit/internal.h"
#include "ir/asm/print/print.h"

enum { MAX_RANGE_BITS = 120 };

const char *emit_arena_printf(Arena *arena, const char *fmt, ...)
{
    StrBuf text = {0};
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(&text, fmt, args);
    va_end(args);
    const char *copy = arena_copy(arena, text.data, text.len + 1);
    strbuf_free(&text);
    return copy;
}

static Wide pow2(uint32_t bits)
{
    return (Wide)1 << bits;
}

/* Width of an integer type, clamped to what ranges can hold. */
static uint32_t range_width(const Type *type)
{
    uint32_t width = type_width(type);
    return width > MAX_RANGE_BITS ? MAX_RANGE_BITS : width;
}

static void full_range(const Type *type, Wide *low, Wide *high)
{
    uint32_t width = range_width(type);
    *low = width == 1 ? 0 : -pow2(width - 1);
    *high = width == 1 ? 1 : pow2(width - 1) - 1;
}

/* Whether bounds are those of a clamped width, so that numbers may lie beyond them. */
static bool is_clamped(Wide low, Wide high)
{
    return low <= -pow2(MAX_RANGE_BITS - 1) || high >= pow2(MAX_RANGE_BITS - 1) - 1;
}

static bool fits(const Type *type, Wide low, Wide high)
{
    Wide min, max;
    full_range(type, &min, &max);
    if (type_width(type) > MAX_RANGE_BITS) return !is_clamped(low, high);
    return low >= min && high <= max;
}

/* Signed bits that hold both bounds. */
static uint32_t bits_for(Wide low, Wide high)
{
    uint32_t bits = 1;
    while (bits < MAX_RANGE_BITS && (low < -pow2(bits - 1) || high > pow2(bits - 1) - 1)) bits++;
    return bits;
}

static Wide min_wide(Wide a, Wide b)
{
    return a < b ? a : b;
}

static Wide max_wide(Wide a, Wide b)
{
    return a > b ? a : b;
}

const char *cpp_parens(Emitter *e, const Expr *expr, Prec prec)
{
    return expr->prec >= prec ? expr->text : emit_arena_printf(&e->arena, "(%s)", expr->text);
}

Expr cpp_leaf(const char *text, const Type *type, bool reads)
{
    Expr expr = {.text = text, .prec = PREC_PRIMARY, .kind = CPP_TYPED, .reads = reads};
    if (type_is_float(type))
        expr.kind = CPP_FLOAT;
    else if (type_is_integer(type) || type->kind == TYPE_INDEX)
        full_range(type, &expr.low, &expr.high);
    return expr;
}

static Expr join(const Expr *a, const Expr *b, const char *text, Prec prec)
{
    return (Expr){.text = text, .prec = prec, .kind = CPP_AP, .reads = a->reads || (b && b->reads)};
}

static void cast_to(Emitter *e, Expr *expr, const Type *type)
{
    /* What a bool or a bit is assigned is not cut to its last bit. */
    expr->uncast = type_is_int_width(type, 1) ? NULL : expr->text;
    expr->text = emit_arena_printf(&e->arena, "%s(%s)", cpp_type(e, type), expr->text);
    expr->prec = PREC_PRIMARY;
    expr->kind = CPP_TYPED;
    full_range(type, &expr->low, &expr->high);
}

/* Wraps to the type's width unless the range says that nothing can be lost. */
static void wrap(Emitter *e, Expr *expr, const Type *type, Wide low, Wide high)
{
    expr->low = low;
    expr->high = high;
    if (!fits(type, low, high)) cast_to(e, expr, type);
}

/* The same value as an ap_int, for operators that builtin integers would overflow in. */
static Expr as_ap(Emitter *e, const Expr *expr)
{
    Expr ap = *expr;
    if (expr->kind != CPP_BUILTIN && expr->kind != CPP_BOOL) return ap;
    ap.text =
        emit_arena_printf(&e->arena, "ap_int<%u>(%s)", bits_for(expr->low, expr->high), expr->text);
    ap.prec = PREC_PRIMARY;
    ap.kind = CPP_AP;
    return ap;
}

Expr cpp_unsigned(Emitter *e, const Expr *expr, const Type *type)
{
    Expr out = *expr;
    if (expr->kind == CPP_BOOL || expr->low >= 0) return out;
    out.text = emit_arena_printf(&e->arena, "ap_uint<%u>(%s)", type_width(type), expr->text);
    out.prec = PREC_PRIMARY;
    out.kind = CPP_AP;
    out.uncast = NULL;
    out.low = 0;
    out.high = pow2(range_width(type)) - 1;
    return out;
}

Expr cpp_signed(Emitter *e, const Expr *expr, const Type *type)
{
    if (!type_is_int_width(type, 1)) return *expr;
    Expr out =
        join(expr, NULL, emit_arena_printf(&e->arena, "-ap_int<2>(%s)", expr->text), PREC_UNARY);
    out.low = -1;
    return out;
}

/* An operand that has exactly the C++ type of its IR type, for `?:`. */
static const char *exactly(Emitter *e, const Expr *expr, const Type *type)
{
    if (expr->kind == CPP_TYPED || expr->kind == CPP_FLOAT) return cpp_parens(e, expr, PREC_OR);
    return emit_arena_printf(&e->arena, "%s(%s)", cpp_type(e, type), expr->text);
}

Expr cpp_boolean(const char *text, Prec prec, bool reads)
{
    return (Expr){
        .text = text, .prec = prec, .kind = CPP_BOOL, .low = 0, .high = 1, .reads = reads};
}

static Expr infix(Emitter *e, const Expr *a, const char *op, const Expr *b, Prec prec)
{
    Expr left = b->kind == CPP_BUILTIN || b->kind == CPP_BOOL ? as_ap(e, a) : *a;
    if (left.kind == CPP_BOOL) left = as_ap(e, &left);
    Expr right = b->kind == CPP_BOOL ? as_ap(e, b) : *b;
    const char *text = emit_arena_printf(&e->arena, "%s %s %s", cpp_parens(e, &left, prec), op,
                                         cpp_parens(e, &right, (Prec)(prec + 1)));
    return join(a, b, text, prec);
}

static bool add_sub(Emitter *e, const Op *op, const Expr *x, Expr *out)
{
    bool add = op->def == ARITH(ADDI);
    const Expr *a = &x[0], *b = &x[1];
    *out = infix(e, a, add ? "+" : "-", b, PREC_ADD);
    wrap(e, out, op_result(op, 0)->type, add ? a->low + b->low : a->low - b->high,
         add ? a->high + b->high : a->high - b->low);
    return true;
}

static bool product_overflows(const Expr *a, const Expr *b)
{
    return bits_for(a->low, a->high) + bits_for(b->low, b->high) > MAX_RANGE_BITS;
}

static bool multiply(Emitter *e, const Op *op, const Expr *x, Expr *out)
{
    const Expr *a = &x[0], *b = &x[1];
    *out = infix(e, a, "*", b, PREC_MUL);
    if (product_overflows(a, b)) {
        cast_to(e, out, op_result(op, 0)->type);
        return true;
    }
    Wide p[4] = {a->low * b->low, a->low * b->high, a->high * b->low, a->high * b->high};
    wrap(e, out, op_result(op, 0)->type, min_wide(min_wide(p[0], p[1]), min_wide(p[2], p[3])),
         max_wide(max_wide(p[0], p[1]), max_wide(p[2], p[3])));
    return true;
}

/* The quotient and remainder truncate, as C++'s do. */
static bool divide(Emitter *e, const Op *op, const Expr *x, Expr *out)
{
    bool is_unsigned = op->def == ARITH(DIVUI) || op->def == ARITH(REMUI);
    bool remainder = op->def == ARITH(REMSI) || op->def == ARITH(REMUI);
    const Type *type = op_result(op, 0)->type;
    Expr a = is_unsigned ? cpp_unsigned(e, &x[0], type) : x[0];
    Expr b = is_unsigned ? cpp_unsigned(e, &x[1], type) : x[1];
    *out = infix(e, &a, remainder ? "%" : "/", &b, PREC_MUL);
    if (is_clamped(a.low, a.high) || is_clamped(b.low, b.high)) {
        cast_to(e, out, type);
        return true;
    }
    Wide size = max_wide(a.low < 0 ? -a.low : 0, a.high < 0 ? -a.high : a.high);
    if (remainder)
        size = min_wide(size, max_wide(b.low < 0 ? -b.low : b.low, b.high < 0 ? -b.high : b.high));
    bool negative = a.low < 0 || (!remainder && b.low < 0);
    wrap(e, out, type, negative ? -size : 0, size);
    return true;
}

static bool literal_amount(const Expr *amount, const Type *type)
{
    return amount->low == amount->high && amount->low >= 0 && amount->low < type_width(type);
}

static bool shift_left(Emitter *e, const Op *op, const Expr *x, Expr *out)
{
    const Type *type = op_result(op, 0)->type;
    Expr amount = cpp_unsigned(e, &x[1], type);
    const char *text = emit_arena_printf(&e->arena, "%s(%s) << %s", cpp_type(e, type), x[0].text,
                                         cpp_parens(e, &amount, PREC_UNARY));
    *out = join(&x[0], &x[1], text, PREC_SHIFT);
    bool exact = literal_amount(&x[1], type) &&
                 bits_for(x[0].low, x[0].high) + (uint32_t)x[1].low <= range_width(type);
    if (exact) {
        out->low = x[0].low * pow2((uint32_t)x[1].low);
        out->high = x[0].high * pow2((uint32_t)x[1].low);
    } else {
        full_range(type, &out->low, &out->high);
    }
    return true;
}

static Wide floor_shift(Wide value, uint32_t by)
{
    return value >= 0 ? value >> by : -((-value + pow2(by) - 1) >> by);
}

static bool shift_right(Emitter *e, const Op *op, const Expr *x, Expr *out)
{
    const Type *type = op_result(op, 0)->type;
    Expr value = op->def == ARITH(SHRUI) ? cpp_unsigned(e, &x[0], type) : x[0];
    Expr amount = cpp_unsigned(e, &x[1], type);
    value = as_ap(e, &value);
    const char *text = emit_arena_printf(&e->arena, "%s >> %s", cpp_parens(e, &value, PREC_MUL),
                                         cpp_parens(e, &amount, PREC_UNARY));
    *out = join(&value, &x[1], text, PREC_SHIFT);
    if (is_clamped(value.low, value.high)) {
        cast_to(e, out, type);
        return true;
    }
    uint32_t by = literal_amount(&x[1], type) ? (uint32_t)x[1].low : 0;
    bool known = literal_amount(&x[1], type);
    wrap(e, out, type, known ? floor_shift(value.low, by) : min_wide(value.low, 0),
         known ? floor_shift(value.high, by) : max_wide(value.high, 0));
    return true;
}

/* of i1: a && b, a || b or a != b. Compilers warn of comparisons of comparisons without parentheses. */
static Expr logical(Emitter *e, const Expr *a, const char *op, Prec prec, const Expr *b)
{
    Prec inner = prec == PREC_EQUAL ? PREC_SHIFT : PREC_EQUAL;
    const char *text = emit_arena_printf(&e->arena, "%s %s %s", cpp_parens(e, a, inner), op,
                                         cpp_parens(e, b, inner));
    return cpp_boolean(text, prec, a->reads || b->reads);
}

static bool bitwise(Emitter *e, const Op *op, const Expr *x, Expr *out)
{
    static const char *const logic[] = {"&&", "||", "!="}, *const bits[] = {"&", "|", "^"};
    static const Prec precs[] = {PREC_AND, PREC_OR, PREC_EQUAL};
    int which = op->def == ARITH(ANDI) ? 0 : op->def == ARITH(ORI) ? 1 : 2;
    const Expr *a = &x[0], *b = &x[1];
    if (type_is_int_width(op_result(op, 0)->type, 1)) {
        *out = logical(e, a, logic[which], precs[which], b);
        return true;
    }
    Expr left = as_ap(e, a);
    *out = join(a, b,
                emit_arena_printf(&e->arena, "%s %s %s", cpp_parens(e, &left, PREC_UNARY),
                                  bits[which], cpp_parens(e, b, PREC_UNARY)),
                PREC_BITS);
    uint32_t width = max_wide(bits_for(a->low, a->high), bits_for(b->low, b->high)) & 0xff;
    bool positive = which == 0 ? a->low >= 0 || b->low >= 0 : a->low >= 0 && b->low >= 0;
    out->low = positive ? 0 : -pow2(width - 1);
    out->high = pow2(width - 1) - 1;
    return true;
}

/* test ? x[0] : x[1] */
static Expr chosen(Emitter *e, const Expr *test, const Expr *x, const Type *type)
{
    const char *text = emit_arena_printf(&e->arena, "%s ? %s : %s", cpp_parens(e, test, PREC_OR),
                                         exactly(e, &x[0], type), exactly(e, &x[1], type));
    Expr out = {.text = text,
                .prec = PREC_TERNARY,
                .kind = CPP_TYPED,
                .low = min_wide(x[0].low, x[1].low),
                .high = max_wide(x[0].high, x[1].high),
                .reads = test->reads || x[0].reads || x[1].reads};
    if (type_is_float(type)) out.kind = CPP_FLOAT;
    if (type_is_int_width(type, 1)) out.kind = CPP_BOOL;
    return out;
}

/* A ternary. std::max and std::min give references, which synthesis makes choices of pointers. */
static bool min_max(Emitter *e, const Op *op, const Expr *x, Expr *out)
{
    bool is_max = op->def == ARITH(MAXSI) || op->def == ARITH(MAXUI);
    bool is_unsigned = op->def == ARITH(MAXUI) || op->def == ARITH(MINUI);
    const Type *type = op_result(op, 0)->type;
    /* True is the largest unsigned, but the least signed i1. */
    if (type_is_int_width(type, 1) && is_max == is_unsigned) {
        *out = logical(e, &x[0], "||", PREC_OR, &x[1]);
        return true;
    }
    if (type_is_int_width(type, 1)) {
        *out = logical(e, &x[0], "&&", PREC_AND, &x[1]);
        return true;
    }
    Expr a = is_unsigned ? cpp_unsigned(e, &x[0], type) : x[0];
    Expr b = is_unsigned ? cpp_unsigned(e, &x[1], type) : x[1];
    Expr test = infix(e, &a, is_max ? ">" : "<", &b, PREC_COMPARE);
    bool known = a.low == x[0].low && b.low == x[1].low; /* signed and unsigned agree */
    *out = chosen(e, &test, x, type);
    if (!known) return true;
    out->low = is_max ? max_wide(a.low, b.low) : min_wide(a.low, b.low);
    out->high = is_max ? max_wide(a.high, b.high) : min_wide(a.high, b.high);
    return true;
}

static bool compare(Emitter *e, const Op *op, const Expr *x, Expr *out)
{
    /* eq ne slt sle sgt sge ult ule ugt uge */
    static const char *const text[] = {"==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">="};
    int64_t predicate = attr_int_value(op_attr(op, "predicate"));
    const Type *type = op_operand(op, 0)->type;
    bool equality = predicate == CMPI_EQ || predicate == CMPI_NE;
    if (equality && type_is_int_width(type, 1)) {
        *out = logical(e, &x[0], text[predicate], PREC_EQUAL, &x[1]);
        return true;
    }
    Expr (*read)(Emitter *, const Expr *, const Type *) =
        predicate >= CMPI_ULT ? cpp_unsigned : cpp_signed;
    Expr a = equality ? x[0] : read(e, &x[0], type), b = equality ? x[1] : read(e, &x[1], type);
    Prec prec = equality ? PREC_EQUAL : PREC_COMPARE;
    *out = infix(e, &a, text[predicate], &b, prec);
    *out = cpp_boolean(out->text, prec, out->reads);
    return true;
}

static bool select_value(Emitter *e, const Op *op, const Expr *x, Expr *out)
{
    *out = chosen(e, &x[0], &x[1], op_result(op, 0)->type);
    return true;
}

static bool resize(Emitter *e, const Op *op, const Expr *x, Expr *out)
{
    const Type *from = op_operand(op, 0)->type, *to = op_result(op, 0)->type;
    bool is_unsigned = op->def == ARITH(EXTUI) || op->def == ARITH(INDEX_CASTUI);
    bool is_cut = op->def == ARITH(TRUNCI) || from->kind == TYPE_INDEX;
    *out = is_unsigned ? cpp_unsigned(e, &x[0], from) : x[0];
    out->uncast = NULL;
    if (!is_unsigned && type_is_int_width(from, 1) && !type_is_int_width(to, 1)) {
        *out = cpp_signed(e, &x[0], from);
        return true;
    }
    if (is_cut && type_is_int_width(to, 1)) {
        const char *text =
            emit_arena_printf(&e->arena, "(%s & 1) != 0", cpp_parens(e, &x[0], PREC_UNARY));
        *out = cpp_boolean(text, PREC_EQUAL, x[0].reads);
        return true;
    }
    /* The C++ type is still the operand's. */
    if (out->kind == CPP_TYPED) out->kind = CPP_AP;
    wrap(e, out, to, out->low, out->high);
    return true;
}

static bool integer_literal(Emitter *e, const Attr *value, Expr *out)
{
    StrBuf digits = {0};
    bool small = bigint_fits_i64(&value->u.integer, true);
    bigint_print(&digits, &value->u.integer, true);
    if (small) {
        int64_t number = bigint_to_i64(&value->u.integer);
        bool is_int = number > INT32_MIN && number <= INT32_MAX;
        /* The most negative long long has no literal of its own. */
        const char *text = number == INT64_MIN ? "(-9223372036854775807LL - 1)"
                                               : emit_arena_printf(&e->arena, "%s%s", digits.data,
                                                                   is_int ? "" : "LL");
        *out = (Expr){.text = text,
                      .kind = CPP_BUILTIN,
                      .low = number,
                      .high = number,
                      .prec = number < 0 && number != INT64_MIN ? PREC_UNARY : PREC_PRIMARY};
    } else {
        const char *text =
            emit_arena_printf(&e->arena, "%s(\"%s\", 10)", cpp_type(e, value->type), digits.data);
        *out = cpp_leaf(text, value->type, false);
    }
    strbuf_free(&digits);
    return true;
}

static bool constant(Emitter *e, const Op *op, const Expr *x, Expr *out)
{
    (void)x;
    const Attr *value = op_attr(op, "value");
    if (value->kind == ATTR_FLOAT) return cpp_float_constant(e, value, out);
    if (value->kind != ATTR_INTEGER)
        return op_error(op, "has no C++ form: only scalar constants have one");
    if (type_is_int_width(value->type, 1)) {
        *out = cpp_boolean(attr_is_true(value) ? "true" : "false", PREC_PRIMARY, false);
        return true;
    }
    return integer_literal(e, value, out);
}

static ExprPrinter *printer_of(const OpDef *def)
{
    static const struct {
        int op;
        ExprPrinter *print;
    } table[] = {
        {ARITH_CONSTANT, constant},   {ARITH_ADDI, add_sub},        {ARITH_SUBI, add_sub},
        {ARITH_MULI, multiply},       {ARITH_DIVSI, divide},        {ARITH_DIVUI, divide},
        {ARITH_REMSI, divide},        {ARITH_REMUI, divide},        {ARITH_SHLI, shift_left},
        {ARITH_SHRSI, shift_right},   {ARITH_SHRUI, shift_right},   {ARITH_ANDI, bitwise},
        {ARITH_ORI, bitwise},         {ARITH_XORI, bitwise},        {ARITH_MAXSI, min_max},
        {ARITH_MAXUI, min_max},       {ARITH_MINSI, min_max},       {ARITH_MINUI, min_max},
        {ARITH_CMPI, compare},        {ARITH_SELECT, select_value}, {ARITH_EXTSI, resize},
        {ARITH_EXTUI, resize},        {ARITH_TRUNCI, resize},       {ARITH_INDEX_CAST, resize},
        {ARITH_INDEX_CASTUI, resize},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (def == &arith_ops[table[i].op]) return table[i].print;
    return cpp_float_printer(def);
}

bool cpp_repeats_operands(const Op *op)
{
    return printer_of(op->def) == min_max && !type_is_int_width(op_result(op, 0)->type, 1);
}

/* Words of bits, which are equal where they do not differ. */
static bool bits_of_words(Emitter *e, const Op *op, const Expr *x, Expr *out)
{
    bool is_eq = op->def == ARITH(CMPI) && attr_int_value(op_attr(op, "predicate")) == CMPI_EQ &&
                 type_width(type_elem(op_operand(op, 0)->type)) == 1;
    const char *sign = op->def == ARITH(ANDI) ? "&" : op->def == ARITH(ORI) ? "|" : "^";
    if (!is_eq && printer_of(op->def) != bitwise) return op_error(op, "has no C++ form");
    const char *text = emit_arena_printf(&e->arena, "%s %s %s", cpp_parens(e, &x[0], PREC_UNARY),
                                         sign, cpp_parens(e, &x[1], PREC_UNARY));
    *out = join(&x[0], &x[1], is_eq ? emit_arena_printf(&e->arena, "~(%s)", text) : text,
                is_eq ? PREC_UNARY : PREC_BITS);
    return true;
}

bool cpp_expr(Emitter *e, const Op *op, const Expr *operands, Expr *out)
{
    ExprPrinter *print =
        op_result(op, 0)->type->kind == TYPE_VECTOR ? bits_of_words : printer_of(op->def);
    if (!print) return op_error(op, "has no C++ form");
    if (!print(e, op, operands, out)) return false;
    /* The text of every operand is part of the result's. */
    for (uint32_t i = 0; i < op->operand_count; i++) out->needs |= operands[i].needs;
    return true;
}

/* |value| where it has the sign, 0 else; of -2^63 too. */
static uint64_t magnitude(int64_t value, int sign)
{
    if (sign > 0) return value > 0 ? (uint64_t)value : 0;
    return value < 0 ? 0 - (uint64_t)value : 0;
}

/* The two runs over an expression: the first finds that int is too small for a part. */
typedef struct AffinePrinter {
    Emitter *e;
    const Counters *counters;
    uint32_t dims;
    bool is_wide; /* computes in long long */
    Wide most;    /* the largest magnitude of a part */
} AffinePrinter;

static void note_size(AffinePrinter *p, Wide size)
{
    p->most = max_wide(p->most, size);
}

static void note_bounds(AffinePrinter *p, const AffineExpr *expr)
{
    int64_t low, high;
    affine_bounds(expr, p->counters->extents, &low, &high);
    bool fits = low > INT64_MIN && high < INT64_MAX;
    note_size(p, fits ? max_wide(high, -(Wide)low) : pow2(64));
}

/* Whether to print an expression again, now in long long. */
static bool prints_again(AffinePrinter *p)
{
    bool again = !p->is_wide && p->most > INT32_MAX;
    p->is_wide |= again;
    return again;
}

static const char *checked(const AffinePrinter *p, const char *text)
{
    if (p->most <= INT64_MAX) return text;
    op_error(p->counters->op, "has no C++ form: its indices may be too large for 64 bits");
    return NULL;
}

/* A counter times a positive coefficient. Those beyond int are of a larger type. */
static void add_term(const AffinePrinter *p, uint32_t dim, uint64_t coeff, StrBuf *text)
{
    bool is_int = p->counters->extents[dim] <= INT32_MAX;
    if (coeff == 1 && p->is_wide && is_int) strbuf_add_c(text, "(long long)");
    strbuf_add_c(text, p->counters->names[dim]);
    if (coeff != 1)
        strbuf_printf(text, " * %llu%s", (unsigned long long)coeff, p->is_wide ? "LL" : "");
}

/* sum of terms with positive coefficients, "0" if there is none */
static const char *linear_sum(AffinePrinter *p, const int64_t *coeffs, int64_t constant, int sign,
                              uint32_t *terms)
{
    StrBuf text = {0};
    Wide most = (Wide)magnitude(constant, sign);
    *terms = 0;
    for (uint32_t i = 0; i < p->dims; i++) {
        uint64_t c = magnitude(coeffs[i], sign);
        if (c == 0) continue;
        strbuf_add_c(&text, (*terms)++ ? " + " : "");
        add_term(p, i, c, &text);
        most = min_wide(most + (Wide)c * i64_max(p->counters->extents[i] - 1, 1), pow2(64));
    }
    if (magnitude(constant, sign) > 0 || *terms == 0) {
        strbuf_add_c(&text, (*terms)++ ? " + " : "");
        strbuf_printf(&text, "%llu%s", (unsigned long long)magnitude(constant, sign),
                      p->is_wide ? "LL" : "");
    }
    note_size(p, most);
    const char *copy = arena_copy(&p->e->arena, text.data, text.len + 1);
    strbuf_free(&text);
    return copy;
}

static const char *enclose(Emitter *e, const char *text, Prec have, Prec want)
{
    return have >= want ? text : emit_arena_printf(&e->arena, "(%s)", text);
}

static const char *affine(AffinePrinter *p, const AffineExpr *expr, Prec prec);

/* C++ divides towards zero: a multiple of the divisor makes the dividend non-negative first. */
static const char *affine_division(AffinePrinter *p, const AffineExpr *expr, Prec prec)
{
    Emitter *e = p->e;
    int64_t low, high, divisor = expr->rhs->value;
    affine_bounds(expr->lhs, p->counters->extents, &low, &high);
    low = i64_max(low, -(INT64_C(1) << 61)); /* counters get nowhere near it */
    int64_t lift = low < 0 ? (-low + divisor - 1) / divisor : 0;
    const AffineExpr *lifted = affine_add_c(expr->lhs, lift * divisor);
    const char *inner = affine(p, lifted, PREC_MUL);
    const char *text = emit_arena_printf(&e->arena, "%s %s %lld", inner,
                                         expr->kind == AFFINE_MOD ? "%" : "/", (long long)divisor);
    note_bounds(p, lifted);
    if (expr->kind == AFFINE_MOD || lift == 0) return enclose(e, text, PREC_MUL, prec);
    return enclose(e, emit_arena_printf(&e->arena, "%s - %lld", text, (long long)lift), PREC_ADD,
                   prec);
}

static const char *linear(AffinePrinter *p, const int64_t *coeffs, int64_t constant, Prec prec)
{
    Emitter *e = p->e;
    uint32_t plus, minus;
    const char *positive = linear_sum(p, coeffs, constant, 1, &plus);
    const char *negative = linear_sum(p, coeffs, constant, -1, &minus);
    bool subtracts = minus > 1 || negative[0] != '0';
    bool single = !subtracts && plus == 1;
    if (subtracts)
        positive =
            emit_arena_printf(&e->arena, minus > 1 ? "%s - (%s)" : "%s - %s", positive, negative);
    bool product = single && strchr(positive, '*');
    Prec own = product                        ? PREC_MUL
               : single && positive[0] == '(' ? PREC_UNARY
               : single                       ? PREC_PRIMARY
                                              : PREC_ADD;
    return enclose(e, positive, own, prec);
}

static const char *affine(AffinePrinter *p, const AffineExpr *expr, Prec prec)
{
    Emitter *e = p->e;
    int64_t *coeffs = ARENA_ARRAY(&e->arena, int64_t, p->dims + 1), constant;
    if (affine_linear(expr, p->dims, coeffs, &constant)) return linear(p, coeffs, constant, prec);
    if (expr->kind == AFFINE_MOD || expr->kind == AFFINE_FLOORDIV)
        return affine_division(p, expr, prec);
    if (expr->kind == AFFINE_CEILDIV) {
        const AffineExpr *up = affine_add_c(expr->lhs, expr->rhs->value - 1);
        return affine(p, affine_floordiv(up, expr->rhs), prec);
    }
    Prec own = expr->kind == AFFINE_MUL ? PREC_MUL : PREC_ADD;
    const char *text = emit_arena_printf(&e->arena, "%s %s %s", affine(p, expr->lhs, own),
                                         expr->kind == AFFINE_MUL ? "*" : "+",
                                         affine(p, expr->rhs, (Prec)(own + 1)));
    note_bounds(p, expr);
    return enclose(e, text, own, prec);
}

const char *cpp_affine(Emitter *e, const AffineExpr *expr, uint32_t dims, const Counters *counters,
                       Prec prec)
{
    AffinePrinter p = {.e = e, .counters = counters, .dims = dims};
    const char *text;
    do text = affine(&p, expr, prec);
    while (prints_again(&p));
    return checked(&p, text);
}

/* One constraint with its negative terms on the right: a - b >= 0 -> a >= b. */
static const char *constraint(AffinePrinter *p, const AffineExpr *expr, bool is_eq)
{
    int64_t *coeffs = ARENA_ARRAY(&p->e->arena, int64_t, p->dims + 1), constant;
    const char *sign = is_eq ? "==" : ">=";
    uint32_t terms;
    if (!affine_linear(expr, p->dims, coeffs, &constant))
        return emit_arena_printf(&p->e->arena, "%s %s 0", affine(p, expr, PREC_SHIFT), sign);
    bool any_positive = false;
    for (uint32_t i = 0; i < p->dims; i++) any_positive |= coeffs[i] > 0;
    const char *left = linear_sum(p, coeffs, constant, 1, &terms);
    const char *right = linear_sum(p, coeffs, constant, -1, &terms);
    if (any_positive) return emit_arena_printf(&p->e->arena, "%s %s %s", left, sign, right);
    /* c - x >= 0 reads better as x <= c */
    return emit_arena_printf(&p->e->arena, "%s %s %s", right, is_eq ? "==" : "<=", left);
}

const char *cpp_condition(Emitter *e, const IntegerSet *set, const Counters *counters)
{
    const char *text = NULL;
    for (uint32_t i = 0; i < set->constraint_count; i++) {
        AffinePrinter p = {.e = e, .counters = counters, .dims = set->dim_count};
        const char *one;
        do one = constraint(&p, set->constraints[i], set->is_eq[i]);
        while (prints_again(&p));
        if (!checked(&p, one)) return NULL;
        text = text ? emit_arena_printf(&e->arena, "%s && %s", text, one) : one;
    }
    return text ? text : "true";
}
