/* C++ expressions of float ops: operators where C++ has them, else the functions of hls_math.h. Ops
 * and predicates that have neither form do not come here, because the lowering rewrites them
 * (lowering/dfg_to_emithls/expand_scalar.c).
 * Tests: lit/emit/expressions-float.mir, test/e2e */
#include <math.h>

#include "dialects/arith/arith.h"
#include "dialects/math/math.h"
#include "emit/internal.h"
#include "ir/asm/print/print.h"

bool cpp_float_constant(Emitter *e, const Attr *value, Expr *out)
{
    double number = attr_float_value(value);
    StrBuf text = {0};
    uint32_t needs = emit_float_literal(&text, number, value->type->kind != TYPE_F64);
    const char *literal = arena_copy(&e->arena, text.data, text.len + 1);
    *out = cpp_leaf(literal, value->type, false);
    out->needs = needs;
    if (signbit(number)) out->prec = PREC_UNARY;
    strbuf_free(&text);
    return true;
}

static Expr float_expr(const char *text, Prec prec, bool reads)
{
    return (Expr){.text = text, .prec = prec, .kind = CPP_FLOAT, .reads = reads};
}

static bool infix(Emitter *e, const Op *op, const Expr *x, Expr *out)
{
    bool multiplies = op->def == ARITH(MULF) || op->def == ARITH(DIVF);
    const char *sign = op->def == ARITH(ADDF)   ? "+"
                       : op->def == ARITH(SUBF) ? "-"
                       : op->def == ARITH(MULF) ? "*"
                                                : "/";
    Prec prec = multiplies ? PREC_MUL : PREC_ADD;
    const char *text = emit_arena_printf(&e->arena, "%s %s %s", cpp_parens(e, &x[0], prec), sign,
                                         cpp_parens(e, &x[1], (Prec)(prec + 1)));
    *out = float_expr(text, prec, x[0].reads || x[1].reads);
    return true;
}

static bool negate(Emitter *e, const Op *op, const Expr *x, Expr *out)
{
    (void)op;
    const char *text = emit_arena_printf(&e->arena, "-%s", cpp_parens(e, &x[0], PREC_PRIMARY));
    *out = float_expr(text, PREC_UNARY, x[0].reads);
    return true;
}

/* Ordered predicates are C++'s operators; the unordered one is the negation of its opposite. */
static bool compare(Emitter *e, const Op *op, const Expr *x, Expr *out)
{
    enum { ALWAYS_FALSE, OEQ, OGT, OGE, OLT, OLE, ONE, ORD, UEQ, UGT, UGE, ULT, ULE, UNE, UNO };
    static const char *const plain[] = {
        [OEQ] = "==", [OGT] = ">", [OGE] = ">=", [OLT] = "<", [OLE] = "<=", [UNE] = "!="};
    static const char *const negated[] = {[UGT] = "<=", [UGE] = "<", [ULT] = ">=", [ULE] = ">"};
    int64_t p = attr_int_value(op_attr(op, "predicate"));
    const char *a = cpp_parens(e, &x[0], PREC_SHIFT), *b = cpp_parens(e, &x[1], PREC_SHIFT);
    bool reads = x[0].reads || x[1].reads;
    if (p >= 0 && (size_t)p < COUNT_OF(plain) && plain[p])
        *out = cpp_boolean(emit_arena_printf(&e->arena, "%s %s %s", a, plain[p], b),
                           p == OEQ || p == UNE ? PREC_EQUAL : PREC_COMPARE, reads);
    else if (p >= UGT && p <= ULE)
        *out = cpp_boolean(emit_arena_printf(&e->arena, "!(%s %s %s)", a, negated[p], b),
                           PREC_UNARY, reads);
    else
        return op_error(op, "has no C++ form: C++ has no operator for this predicate");
    return true;
}

static void call(Emitter *e, const char *function, const Expr *x, uint32_t count, Expr *out)
{
    StrBuf text = {0};
    bool reads = false;
    strbuf_printf(&text, "%s(", function);
    for (uint32_t i = 0; i < count; i++) {
        strbuf_printf(&text, "%s%s", i ? ", " : "", x[i].text);
        reads |= x[i].reads;
    }
    strbuf_add_char(&text, ')');
    *out = float_expr(arena_copy(&e->arena, text.data, text.len + 1), PREC_PRIMARY, reads);
    strbuf_free(&text);
}

/* An integer of more than 64 bits converts through one of 64, without its high bits. */
static const char *wide_to_float(Emitter *e, const Op *op, const char *text)
{
    uint32_t width = type_width(op_operand(op, 0)->type);
    return emit_arena_printf(&e->arena, "%s<%u>(%s).to_%s()",
                             op->def == ARITH(SITOFP) ? "ap_int" : "ap_uint", width, text,
                             cpp_type(e, op_result(op, 0)->type));
}

/* float(x), double(x): from an integer or another format. */
static bool convert(Emitter *e, const Op *op, const Expr *x, Expr *out)
{
    const Attr *mode = op_attr(op, "roundingmode");
    enum { NEAREST_EVEN };
    if (mode && attr_int_value(mode) != NEAREST_EVEN)
        return op_error(op, "has no C++ form: its rounding mode is not to the nearest");
    const Type *type = op_operand(op, 0)->type;
    if (type_is_integer(type) && type_width(type) > 64) {
        *out = float_expr(wide_to_float(e, op, x[0].text), PREC_PRIMARY, x[0].reads);
        return true;
    }
    Expr from = op->def == ARITH(SITOFP)   ? cpp_signed(e, &x[0], type)
                : op->def == ARITH(UITOFP) ? cpp_unsigned(e, &x[0], type)
                                           : x[0];
    call(e, cpp_type(e, op_result(op, 0)->type), &from, 1, out);
    return true;
}

/* Towards zero, as C++ converts. */
static bool to_integer(Emitter *e, const Op *op, const Expr *x, Expr *out)
{
    const Type *type = op_result(op, 0)->type;
    const char *text = x[0].text;
    if (op->def == ARITH(FPTOUI))
        text = emit_arena_printf(&e->arena, "ap_uint<%u>(%s)", type_width(type), text);
    *out =
        cpp_leaf(emit_arena_printf(&e->arena, "%s(%s)", cpp_type(e, type), text), type, x[0].reads);
    return true;
}

/* Between floats and integers of their width, through the builtin integer. */
static bool bitcast(Emitter *e, const Op *op, const Expr *x, Expr *out)
{
    const Type *from = op_operand(op, 0)->type, *to = op_result(op, 0)->type;
    bool to_float = type_is_float(to);
    uint32_t width = type_width(to);
    if (to_float == type_is_float(from)) {
        *out = x[0];
        return true;
    }
    const char *function = to_float ? emit_arena_printf(&e->arena, "bits_as<%s>", cpp_type(e, to))
                                    : emit_arena_printf(&e->arena, "bits_as<std::int%u_t>", width);
    const char *arg =
        to_float ? emit_arena_printf(&e->arena, "std::int%u_t(%s)", width, x[0].text) : x[0].text;
    const char *text = emit_arena_printf(&e->arena, "%s(%s)", function, arg);
    if (!to_float) text = emit_arena_printf(&e->arena, "%s(%s)", cpp_type(e, to), text);
    *out = cpp_leaf(text, to, x[0].reads);
    out->needs = EMIT_NEEDS_BITS_AS;
    return true;
}

static bool math_call(Emitter *e, const Op *op, const Expr *x, Expr *out)
{
    static const struct {
        const OpDef *op;
        const char *function;
    } functions[] = {
        {ARITH(REMF), "hls::fmod"},     {ARITH(MAXNUMF), "hls::fmax"},
        {ARITH(MINNUMF), "hls::fmin"},  {MATH(ABSF), "hls::fabs"},
        {MATH(ACOS), "hls::acos"},      {MATH(ACOSH), "hls::acosh"},
        {MATH(ASIN), "hls::asin"},      {MATH(ASINH), "hls::asinh"},
        {MATH(ATAN), "hls::atan"},      {MATH(ATAN2), "hls::atan2"},
        {MATH(ATANH), "hls::atanh"},    {MATH(CBRT), "hls::cbrt"},
        {MATH(CEIL), "hls::ceil"},      {MATH(COPYSIGN), "hls::copysign"},
        {MATH(COS), "hls::cos"},        {MATH(COSH), "hls::cosh"},
        {MATH(ERF), "hls::erf"},        {MATH(EXP), "hls::exp"},
        {MATH(EXP2), "hls::exp2"},      {MATH(EXPM1), "hls::expm1"},
        {MATH(FLOOR), "hls::floor"},    {MATH(FMA), "hls::fma"},
        {MATH(LOG), "hls::log"},        {MATH(LOG10), "hls::log10"},
        {MATH(LOG1P), "hls::log1p"},    {MATH(LOG2), "hls::log2"},
        {MATH(POWF), "hls::pow"},       {MATH(ROUND), "hls::round"},
        {MATH(ROUNDEVEN), "hls::rint"}, {MATH(RSQRT), "hls::rsqrt"},
        {MATH(SIN), "hls::sin"},        {MATH(SINH), "hls::sinh"},
        {MATH(SQRT), "hls::sqrt"},      {MATH(TAN), "hls::tan"},
        {MATH(TANH), "hls::tanh"},      {MATH(TRUNC), "hls::trunc"},
    };
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        if (op->def != functions[i].op) continue;
        call(e, functions[i].function, x, op->operand_count, out);
        return true;
    }
    return op_error(op, "has no C++ form");
}

bool cpp_is_math_call(const OpDef *def)
{
    return def && cpp_float_printer(def) == math_call;
}

ExprPrinter *cpp_float_printer(const OpDef *def)
{
    static const struct {
        const OpDef *op;
        ExprPrinter *print;
    } table[] = {
        {ARITH(ADDF), infix},      {ARITH(SUBF), infix},        {ARITH(MULF), infix},
        {ARITH(DIVF), infix},      {ARITH(NEGF), negate},       {ARITH(CMPF), compare},
        {ARITH(SITOFP), convert},  {ARITH(UITOFP), convert},    {ARITH(EXTF), convert},
        {ARITH(TRUNCF), convert},  {ARITH(FPTOSI), to_integer}, {ARITH(FPTOUI), to_integer},
        {ARITH(REMF), math_call},  {ARITH(MAXNUMF), math_call}, {ARITH(MINNUMF), math_call},
        {ARITH(BITCAST), bitcast},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (def == table[i].op) return table[i].print;
    return def && def->dialect == &math_dialect ? math_call : NULL;
}
