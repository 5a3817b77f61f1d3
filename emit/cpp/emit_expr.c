/* C++ expressions of arith and math ops. ap_int arithmetic is exact (results grow), so an
 * expression needs a cast only where the IR's width wraps; value ranges tell where it cannot.
 * Tests: lit/emit/expressions.mir, test/e2e */
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

/* Width of an integer type, clamped to what ranges can hold. */
static uint32_t range_width(const Type *type)
{
    uint32_t width = type_width(type);
    return width > MAX_RANGE_BITS ? MAX_RANGE_BITS : width;
}

static void full_range(const Type *type, Wide *low, Wide *high)
{
    uint32_t width = range_width(type);
    *low = width == 1 ? 0 : -wide_pow2(width - 1);
    *high = width == 1 ? 1 : wide_pow2(width - 1) - 1;
}

/* Whether bounds are those of a clamped width, so that numbers may lie beyond them. */
static bool is_clamped(Wide low, Wide high)
{
    return low <= -wide_pow2(MAX_RANGE_BITS - 1) || high >= wide_pow2(MAX_RANGE_BITS - 1) - 1;
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
    while (bits < MAX_RANGE_BITS && (low < -wide_pow2(bits - 1) || high > wide_pow2(bits - 1) - 1))
        bits++;
    return bits;
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
    out.high = wide_pow2(range_width(type)) - 1;
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
    wrap(e, out, op_result(op, 0)->type, wide_min(wide_min(p[0], p[1]), wide_min(p[2], p[3])),
         wide_max(wide_max(p[0], p[1]), wide_max(p[2], p[3])));
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
    Wide size = wide_max(a.low < 0 ? -a.low : 0, a.high < 0 ? -a.high : a.high);
    if (remainder)
        size = wide_min(size, wide_max(b.low < 0 ? -b.low : b.low, b.high < 0 ? -b.high : b.high));
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
        out->low = x[0].low * wide_pow2((uint32_t)x[1].low);
        out->high = x[0].high * wide_pow2((uint32_t)x[1].low);
    } else {
        full_range(type, &out->low, &out->high);
    }
    return true;
}

static Wide floor_shift(Wide value, uint32_t by)
{
    return value >= 0 ? value >> by : -((-value + wide_pow2(by) - 1) >> by);
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
    wrap(e, out, type, known ? floor_shift(value.low, by) : wide_min(value.low, 0),
         known ? floor_shift(value.high, by) : wide_max(value.high, 0));
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
    uint32_t width = wide_max(bits_for(a->low, a->high), bits_for(b->low, b->high)) & 0xff;
    bool positive = which == 0 ? a->low >= 0 || b->low >= 0 : a->low >= 0 && b->low >= 0;
    out->low = positive ? 0 : -wide_pow2(width - 1);
    out->high = wide_pow2(width - 1) - 1;
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
                .low = wide_min(x[0].low, x[1].low),
                .high = wide_max(x[0].high, x[1].high),
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
    out->low = is_max ? wide_max(a.low, b.low) : wide_min(a.low, b.low);
    out->high = is_max ? wide_max(a.high, b.high) : wide_min(a.high, b.high);
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
