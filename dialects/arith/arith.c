/* The arith dialect: rows, text, builders and small checks. Folders are in arith_fold_*.c, patterns
 * in arith_canon*.c, checks of casts in arith_verify.c. A hook checks only what its row's
 * constraints and traits do not.
 * Tests: lit/dialects/arith */
#include "dialects/arith/arith.h"
#include "dialects/arith/internal.h"
#include "dialects/common/common.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"

static const char *const FASTMATH_NAMES[] = {"none", "reassoc",  "nnan", "ninf", "nsz",
                                             "arcp", "contract", "afn",  NULL};
static const EnumSpec FASTMATH_SPEC = {
    &arith_fastmath, "::mlir::arith::FastMathFlags", "Arith_FastMathAttr", FASTMATH_NAMES, ",",
    "fast"};
static const char *const OVERFLOW_NAMES[] = {"none", "nsw", "nuw", NULL};
static const EnumSpec OVERFLOW_SPEC = {&arith_overflow,
                                       "::mlir::arith::IntegerOverflowFlags",
                                       "Arith_IntegerOverflowAttr",
                                       OVERFLOW_NAMES,
                                       ", ",
                                       NULL};

static const Attr *parse_fastmath(OpParser *p, const Type *type)
{
    (void)type;
    return enum_attr_parse(p, &FASTMATH_SPEC);
}

static void print_fastmath(StrBuf *out, const Attr *attr)
{
    enum_attr_print(out, attr, &FASTMATH_SPEC);
}

static const Attr *parse_overflow(OpParser *p, const Type *type)
{
    (void)type;
    return enum_attr_parse(p, &OVERFLOW_SPEC);
}

static void print_overflow(StrBuf *out, const Attr *attr)
{
    enum_attr_print(out, attr, &OVERFLOW_SPEC);
}

const AttrDef arith_fastmath = {.name = "fastmath",
                                .dialect = &arith_dialect,
                                .summary = "What float rewrites may assume.",
                                .parse = parse_fastmath,
                                .print = print_fastmath};
const AttrDef arith_overflow = {.name = "overflow",
                                .dialect = &arith_dialect,
                                .summary = "Which overflows cannot happen.",
                                .parse = parse_overflow,
                                .print = print_overflow};

static bool is_fastmath(const Attr *attr)
{
    return attr_is_a(attr, &arith_fastmath);
}

static bool is_overflow(const Attr *attr)
{
    return attr_is_a(attr, &arith_overflow);
}

static bool is_enum_int(const Attr *attr, uint32_t width, int64_t count)
{
    return attr->kind == ATTR_INTEGER && type_is_int_width(attr->type, width) &&
           attr_int_value(attr) >= 0 && attr_int_value(attr) < count;
}

static bool is_cmpi_predicate(const Attr *attr)
{
    return is_enum_int(attr, 64, CMPI_UGE + 1);
}

static bool is_cmpf_predicate(const Attr *attr)
{
    return is_enum_int(attr, 64, CMPF_TRUE + 1);
}

static bool is_rounding_mode(const Attr *attr)
{
    return is_enum_int(attr, 32, 5);
}

static const Type *bare_i64(Context *ctx)
{
    return type_i(ctx, 64);
}

static const Type *bare_i32(Context *ctx)
{
    return type_i(ctx, 32);
}

static const char *const CMPI_NAMES[] = {"eq",  "ne",  "slt", "sle", "sgt", "sge",
                                         "ult", "ule", "ugt", "uge", NULL};
static const char *const CMPF_NAMES[] = {"false", "oeq", "ogt", "oge",  "olt", "ole",
                                         "one",   "ord", "ueq", "ugt",  "uge", "ult",
                                         "ule",   "une", "uno", "true", NULL};
static const char *const ROUNDING_NAMES[] = {"to_nearest_even", "downward",        "upward",
                                             "toward_zero",     "to_nearest_away", NULL};

const AttrConstraint ARITH_ATTR_IS_FASTMATH = {
    .test = is_fastmath, .what = "Floating point fast math flags", .param = &arith_fastmath};
static const AttrConstraint ATTR_IS_OVERFLOW = {
    .test = is_overflow, .what = "Integer overflow arith flags", .param = &arith_overflow};
static const AttrConstraint ATTR_IS_CMPI_PREDICATE = {
    .test = is_cmpi_predicate,
    .what = "allowed 64-bit signless integer cases: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9",
    .syntax = ATTR_SYNTAX_ENUM,
    .bare_type = bare_i64,
    .enum_names = CMPI_NAMES};
static const AttrConstraint ATTR_IS_CMPF_PREDICATE = {
    .test = is_cmpf_predicate,
    .what = "allowed 64-bit signless integer cases: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, "
            "13, 14, 15",
    .syntax = ATTR_SYNTAX_ENUM,
    .bare_type = bare_i64,
    .enum_names = CMPF_NAMES};
static const AttrConstraint ATTR_IS_ROUNDING_MODE = {.test = is_rounding_mode,
                                                     .what = "Floating point rounding mode",
                                                     .syntax = ATTR_SYNTAX_ENUM,
                                                     .bare_type = bare_i32,
                                                     .enum_names = ROUNDING_NAMES};

int64_t arith_flags(const Op *op, const char *attr)
{
    const Attr *value = op_attr(op, attr);
    return value ? enum_attr_value(value) : 0;
}

int64_t arith_predicate(const Op *op)
{
    return attr_int_value(op_attr(op, "predicate"));
}

const Attr *arith_overflow_attr(Context *ctx, int64_t flags)
{
    return enum_attr_get(ctx, &OVERFLOW_SPEC, flags);
}

static bool is_fixed_integer_like(const Type *type)
{
    const Type *elem = type_elem(type);
    return type->kind != TYPE_COMPLEX && !type_is_memref(type) && type_is_integer(elem) &&
           type_is_signless(elem);
}

static bool is_castable_elem(const Type *elem)
{
    return elem->kind == TYPE_INDEX || (type_is_integer(elem) && type_is_signless(elem));
}

static bool is_index_castable(const Type *type)
{
    return type->kind != TYPE_COMPLEX && type->kind != TYPE_UNRANKED_MEMREF &&
           is_castable_elem(type_elem(type));
}

static bool is_bitcastable(const Type *type)
{
    const Type *elem = type_elem(type);
    return type->kind != TYPE_COMPLEX && type->kind != TYPE_UNRANKED_MEMREF &&
           (is_castable_elem(elem) || type_is_float(elem));
}

static const TypeConstraint TYPE_FIXED_INTEGER_LIKE = {.test = is_fixed_integer_like,
                                                       .what = "signless-fixed-width-integer-like"};
static const TypeConstraint TYPE_INDEX_CASTABLE = {
    .test = is_index_castable, .what = "signless-integer-like or memref of signless-integer"};
static const TypeConstraint TYPE_BITCASTABLE = {
    .test = is_bitcastable,
    .what = "signless-integer-or-float-like or memref of signless-integer or float"};

const Type *arith_i1_like(const Type *type)
{
    const Type *i1 = type_i(type->ctx, 1);
    return type_is_shaped(type) ? type_with_elem(type, i1) : i1;
}

/* A string without a type is of type none. */
static const Type *typed_attr_type(const Attr *attr)
{
    return attr->kind == ATTR_STRING && !attr->type ? type_none(attr->ctx) : attr->type;
}

/* constant ::= attr-dict? typed-attribute */
static bool parse_constant(OpParser *p)
{
    if (!parser_attr_dict(p, false)) return false;
    SrcPos at = parser_pos(p);
    const Attr *value = parser_attr(p, NULL);
    if (!value) return false;
    const Type *type = typed_attr_type(value);
    if (!type) return parser_error_at(p, at, "invalid kind of attribute specified");
    if (!parser_get_attr(p, "value")) /* the dictionary's takes precedence */
        parser_set_attr(p, "value", value);
    parser_add_result(p, type);
    return true;
}

static void print_constant(OpPrinter *p, const Op *op)
{
    static const char *const hidden[] = {"value", NULL};
    printer_attr_dict(p, op, hidden);
    printer_text(p, " ");
    printer_attr(p, op_attr(op, "value"));
}

static bool verify_constant(Op *op)
{
    const Attr *value = op_attr(op, "value");
    const Type *type = op_result(op, 0)->type;
    if (typed_attr_type(value) != type)
        return op_error(op, "failed to verify that all of {value, result} have same type");
    if (type_is_integer(type) && !type_is_signless(type))
        return op_error(op, "integer return type must be signless");
    bool elements = value->kind == ATTR_DENSE || value->kind == ATTR_DENSE_RESOURCE ||
                    value->kind == ATTR_SPARSE || value->kind == ATTR_DENSE_STRINGS;
    if (value->kind != ATTR_INTEGER && value->kind != ATTR_FLOAT && !elements)
        return op_error(op, "value must be an integer, float, or elements attribute");
    bool is_splat = value->kind == ATTR_DENSE && value->u.dense.is_splat;
    if (type->kind == TYPE_VECTOR && type->u.shaped.scalable && !is_splat)
        return op_error(op, "intializing scalable vectors with elements attribute is not "
                            "supported unless it's a vector splat");
    return true;
}

static const char *name_constant(const Op *op, uint32_t index, StrBuf *scratch)
{
    (void)index;
    const Attr *value = op_attr(op, "value");
    const Type *type = op_result(op, 0)->type;
    if (!value || value->kind != ATTR_INTEGER) return "cst";
    if (type_is_int_width(type, 1)) return attr_is_true(value) ? "true" : "false";
    strbuf_add_char(scratch, 'c');
    bigint_print(scratch, &value->u.integer, true);
    if (type_is_integer(type)) {
        strbuf_add_char(scratch, '_');
        type_print(scratch, type);
    }
    return scratch->data;
}

Op *arith_materialize(Context *ctx, const Attr *value, const Type *type, const Attr *loc)
{
    if (value->type != type || (type_is_integer(type) && !type_is_signless(type))) return NULL;
    if (value->kind == ATTR_STRING || value->kind == ATTR_OPAQUE) return NULL;
    NamedAttr attr = build_named_attr(ctx, "value", value);
    Builder b = {.ctx = ctx, .loc = loc};
    return build(&b, ARITH(CONSTANT), NULL, 0, &type, 1, &attr, 1);
}

Value *arith_constant(Builder *b, const Attr *value)
{
    NamedAttr attr = build_named_attr(b->ctx, "value", value);
    return op_result(build(b, ARITH(CONSTANT), NULL, 0, &value->type, 1, &attr, 1), 0);
}

Value *arith_constant_index(Builder *b, int64_t value)
{
    return arith_constant(b, attr_index(b->ctx, value));
}

bool arith_is_about_floats(const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (type_is_float(type_elem(op_operand(op, i)->type))) return true;
    return op->result_count && type_is_float(type_elem(op_result(op, 0)->type));
}

Value *arith_constant_int(Builder *b, const Type *type, int64_t value)
{
    const Attr *attr = attr_int(type_elem(type), value);
    return arith_constant(b, type_is_shaped(type) ? attr_dense_splat(type, attr) : attr);
}

/* ssa-use "," ssa-use attr-dict? ":" type; the type is left to the caller. */
static bool parse_two_operands(OpParser *p, const Type **type)
{
    OperandRef lhs, rhs;
    *type = NULL;
    return parser_operand(p, &lhs) && parser_expect(p, ",") && parser_operand(p, &rhs) &&
           parser_attr_dict(p, false) && parser_expect(p, ":") &&
           (*type = parser_type(p)) != NULL && parser_resolve(p, &lhs, *type) &&
           parser_resolve(p, &rhs, *type);
}

static void print_two_operands(OpPrinter *p, const Op *op)
{
    printer_text(p, " ");
    printer_values(p, op, 0, 2);
    printer_attr_dict(p, op, NULL);
    printer_text(p, " : ");
    printer_type(p, op_operand(op, 0)->type);
}

/* addui_extended ::= two-operands "," type */
static bool parse_addui_extended(OpParser *p)
{
    const Type *type, *overflow;
    if (!parse_two_operands(p, &type) || !parser_expect(p, ",") || !(overflow = parser_type(p)))
        return false;
    parser_add_result(p, type);
    parser_add_result(p, overflow);
    return true;
}

static void print_addui_extended(OpPrinter *p, const Op *op)
{
    print_two_operands(p, op);
    printer_text(p, ", ");
    printer_type(p, op_result(op, 1)->type);
}

static bool verify_addui_extended(Op *op)
{
    const Type *type = op_operand(op, 0)->type;
    if (op_operand(op, 1)->type != type || op_result(op, 0)->type != type)
        return op_error(op, "failed to verify that all of {lhs, rhs, sum} have same type");
    return true;
}

static bool parse_mul_extended(OpParser *p)
{
    const Type *type;
    if (!parse_two_operands(p, &type)) return false;
    parser_add_result(p, type);
    parser_add_result(p, type);
    return true;
}

static bool verify_mul_extended(Op *op)
{
    const Type *type = op_operand(op, 0)->type;
    if (op_operand(op, 1)->type != type || op_result(op, 0)->type != type ||
        op_result(op, 1)->type != type)
        return op_error(op, "failed to verify that all of {lhs, rhs, low, high} have same type");
    return true;
}

/* Says what is wrong with the operands as a parser would: the verifier looks at them before. */
static bool infer_compare(Op *op, const Type **results)
{
    const ArgDef *lhs = &op->def->operands[0];
    if (!lhs->type->test(op_operand(op, 0)->type))
        return diag_error(op->ctx, op->loc, "custom op '%s' '%s' must be %s, but got '%s'",
                          op->name->str.data, lhs->name, lhs->type->what,
                          type_str(op->ctx, op_operand(op, 0)->type));
    results[0] = arith_i1_like(op_operand(op, 0)->type);
    return true;
}

static bool verify_compare(Op *op)
{
    if (op_result(op, 0)->type == arith_i1_like(op_operand(op, 0)->type)) return true;
    return op_error(op, "failed to verify that result type has i1 element type and same shape as "
                        "operands");
}

/* select ::= ssa-use "," ssa-use "," ssa-use attr-dict? ":" (type ",")? type */
static bool parse_select(OpParser *p)
{
    OperandRef refs[3];
    const Type *type, *condition = type_i(parser_ctx(p), 1);
    if (!parser_operand(p, &refs[0]) || !parser_expect(p, ",") || !parser_operand(p, &refs[1]) ||
        !parser_expect(p, ",") || !parser_operand(p, &refs[2]) || !parser_attr_dict(p, false) ||
        !parser_expect(p, ":") || !(type = parser_type(p)))
        return false;
    if (parser_try(p, ",")) {
        condition = type;
        if (!(type = parser_type(p))) return false;
    }
    parser_add_result(p, type);
    return parser_resolve(p, &refs[0], condition) && parser_resolve(p, &refs[1], type) &&
           parser_resolve(p, &refs[2], type);
}

static void print_select(OpPrinter *p, const Op *op)
{
    printer_text(p, " ");
    printer_values(p, op, 0, 3);
    printer_attr_dict(p, op, NULL);
    printer_text(p, " : ");
    if (type_is_shaped(op_operand(op, 0)->type)) {
        printer_type(p, op_operand(op, 0)->type);
        printer_text(p, ", ");
    }
    printer_type(p, op_result(op, 0)->type);
}

static Value *build_compare(Builder *b, const OpDef *def, int predicate, Value *lhs, Value *rhs)
{
    Value *operands[] = {lhs, rhs};
    const Type *type = arith_i1_like(lhs->type);
    NamedAttr attr = build_named_attr(b->ctx, "predicate", attr_i64(b->ctx, predicate));
    return op_result(build(b, def, operands, 2, &type, 1, &attr, 1), 0);
}

Value *arith_cmpi(Builder *b, CmpiPredicate predicate, Value *lhs, Value *rhs)
{
    return build_compare(b, ARITH(CMPI), (int)predicate, lhs, rhs);
}

Value *arith_cmpf(Builder *b, CmpfPredicate predicate, Value *lhs, Value *rhs)
{
    return build_compare(b, ARITH(CMPF), (int)predicate, lhs, rhs);
}

Value *arith_select(Builder *b, Value *condition, Value *on_true, Value *on_false)
{
    Value *operands[] = {condition, on_true, on_false};
    return op_result(build(b, ARITH(SELECT), operands, 3, &on_true->type, 1, NULL, 0), 0);
}

#define ELEMENTWISE (TRAIT_PURE | TRAIT_ELEMENTWISE)
#define SAME_TYPE (ELEMENTWISE | TRAIT_SAME_OPERANDS_AND_RESULT_TYPE)

#define INT_BINARY_OPERANDS(TRAITS)                                                                \
    .operands =                                                                                    \
        ARGS(ONE("lhs", TYPE_SIGNLESS_INTEGER_LIKE), ONE("rhs", TYPE_SIGNLESS_INTEGER_LIKE)),      \
    .results = ARGS(ONE("result", TYPE_SIGNLESS_INTEGER_LIKE)), .traits = SAME_TYPE | (TRAITS)
#define INT_BINARY(TRAITS)                                                                         \
    INT_BINARY_OPERANDS(TRAITS), .format = "$lhs `,` $rhs attr-dict `:` type($result)"
#define INT_BINARY_OVERFLOW(TRAITS)                                                                \
    INT_BINARY_OPERANDS(TRAITS),                                                                   \
        .attrs = ATTRS(DEFAULTED("overflowFlags", ATTR_IS_OVERFLOW, "#arith.overflow<none>")),     \
        .format = "$lhs `,` $rhs (`overflow` `` $overflowFlags^)? attr-dict `:` type($result)"
#define INT_MUL_EXTENDED                                                                           \
    .operands =                                                                                    \
        ARGS(ONE("lhs", TYPE_SIGNLESS_INTEGER_LIKE), ONE("rhs", TYPE_SIGNLESS_INTEGER_LIKE)),      \
    .results =                                                                                     \
        ARGS(ONE("low", TYPE_SIGNLESS_INTEGER_LIKE), ONE("high", TYPE_SIGNLESS_INTEGER_LIKE)),     \
    .traits = ELEMENTWISE | TRAIT_COMMUTATIVE, .parse = parse_mul_extended,                        \
    .print = print_two_operands, .verify = verify_mul_extended, .result_name = opdef_result_name

#define FLOAT_FLAGS DEFAULTED("fastmath", ARITH_ATTR_IS_FASTMATH, "#arith.fastmath<none>")
#define FLOAT_UNARY                                                                                \
    .operands = ARGS(ONE("operand", TYPE_FLOAT_LIKE)),                                             \
    .results = ARGS(ONE("result", TYPE_FLOAT_LIKE)), .attrs = ATTRS(FLOAT_FLAGS),                  \
    .traits = SAME_TYPE,                                                                           \
    .format = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"
#define FLOAT_BINARY(TRAITS)                                                                       \
    .operands = ARGS(ONE("lhs", TYPE_FLOAT_LIKE), ONE("rhs", TYPE_FLOAT_LIKE)),                    \
    .results = ARGS(ONE("result", TYPE_FLOAT_LIKE)), .attrs = ATTRS(FLOAT_FLAGS),                  \
    .traits = SAME_TYPE | (TRAITS),                                                                \
    .format = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"

#define CAST_OPERANDS(FROM, TO)                                                                    \
    .operands = ARGS(ONE("in", FROM)), .results = ARGS(ONE("out", TO)),                            \
    .traits = ELEMENTWISE | TRAIT_SAME_OPERANDS_AND_RESULT_SHAPE,                                  \
    .verify_types = arith_verify_cast_dims
#define CAST(FROM, TO)                                                                             \
    CAST_OPERANDS(FROM, TO), .format = "$in attr-dict `:` type($in) `to` type($out)"

#define OP(ID, NAME, ...)                                                                          \
    [ARITH_##ID] = {.id = #ID, .name = NAME, .dialect = &arith_dialect, __VA_ARGS__},
const OpDef arith_ops[] = {
#include "dialects/arith/arith_ops.def"
};
#undef OP

static const AttrDef *const ATTR_DEFS[] = {&arith_fastmath, &arith_overflow, NULL};

const DialectDef arith_dialect = {
    .name = "arith",
    .summary = "Integer and float arithmetic.",
    .ops = arith_ops,
    .op_count = ARITH_OP_COUNT,
    .inlining = INLINE_OPS,
    .attrs = ATTR_DEFS,
    .materialize = arith_materialize,
};
