/* The comb dialect: rows, text of comb.mux, checks.
 * Tests: lit/dialects/comb */
#include "dialects/comb/comb.h"
#include "dialects/comb/internal.h"
#include "dialects/common/common.h"
#include "dialects/hw/hw.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"

static const char *const PREDICATES[] = {"eq",  "ne",  "slt", "sle", "sgt", "sge",
                                         "ult", "ule", "ugt", "uge", NULL};

static bool is_predicate(const Attr *attr)
{
    return attr->kind == ATTR_INTEGER && type_is_int_width(attr->type, 64) &&
           attr_int_value(attr) >= 0 && attr_int_value(attr) <= COMB_UGE;
}

static const Type *bare_i64(Context *ctx)
{
    return type_i(ctx, 64);
}

static const AttrConstraint ATTR_IS_PREDICATE = {.test = is_predicate,
                                                 .stores = constraint_is_integer,
                                                 .what = "hw.icmp comparison predicate",
                                                 .syntax = ATTR_SYNTAX_ENUM,
                                                 .bare_type = bare_i64,
                                                 .enum_names = PREDICATES};

CombPredicate comb_predicate(const Op *icmp)
{
    return (CombPredicate)attr_int_value(op_attr(icmp, "predicate"));
}

uint32_t comb_low_bit(const Op *extract)
{
    return (uint32_t)attr_int_value(op_attr(extract, "lowBit"));
}

static uint32_t width_of(const Value *value)
{
    return type_width(value->type);
}

static bool verify_some(Op *op)
{
    return op->operand_count > 0 || op_error(op, "expected 1 or more operands");
}

static bool verify_extract(Op *op)
{
    int64_t low = attr_int_value(op_attr(op, "lowBit"));
    int64_t end = low + width_of(op_result(op, 0));
    return (low >= 0 && end <= width_of(op_operand(op, 0))) ||
           op_error(op, "takes bits %lld to %lld of a value of %u bits", (long long)low,
                    (long long)end - 1, width_of(op_operand(op, 0)));
}

static bool infer_concat(Op *op, const Type **results)
{
    uint64_t width = 0;
    for (uint32_t i = 0; i < op->operand_count; i++) width += width_of(op_operand(op, i));
    if (width == 0 || width > BIGINT_MAX_WIDTH)
        return op_error(op, "must have between 1 and %u bits, but has %llu", BIGINT_MAX_WIDTH,
                        (unsigned long long)width);
    results[0] = type_i(op->ctx, (uint32_t)width);
    return true;
}

static bool verify_replicate(Op *op)
{
    uint32_t from = width_of(op_operand(op, 0)), to = width_of(op_result(op, 0));
    return to % from == 0 ||
           op_error(op, "has %u bits, which is no multiple of the operand's %u", to, from);
}

/* ("bin")? %cond "," %true "," %false attr-dict? ":" type */
static bool parse_mux(OpParser *p)
{
    OperandRef refs[3];
    const Type *type;
    if (parser_try(p, "bin")) parser_set_attr(p, "twoState", attr_unit(parser_ctx(p)));
    if (!parser_operand(p, &refs[0]) || !parser_expect(p, ",") || !parser_operand(p, &refs[1]) ||
        !parser_expect(p, ",") || !parser_operand(p, &refs[2]) || !parser_attr_dict(p, false) ||
        !parser_expect(p, ":") || !(type = parser_type(p)))
        return false;
    parser_add_result(p, type);
    return parser_resolve(p, &refs[0], type_i(parser_ctx(p), 1)) &&
           parser_resolve(p, &refs[1], type) && parser_resolve(p, &refs[2], type);
}

static void print_mux(OpPrinter *p, const Op *op)
{
    static const char *const elided[] = {"twoState", NULL};
    printer_text(p, op_attr(op, "twoState") ? " bin " : " ");
    printer_values(p, op, 0, 3);
    printer_attr_dict(p, op, elided);
    printer_text(p, " : ");
    printer_type(p, op_result(op, 0)->type);
}

static bool verify_mux(Op *op)
{
    const Type *type = op_result(op, 0)->type;
    return (op_operand(op, 1)->type == type && op_operand(op, 2)->type == type) ||
           op_error(op, "failed to verify that all of {trueValue, falseValue, result} have same "
                        "type");
}

static const char *name_by_hint(const Op *op, uint32_t index, StrBuf *scratch)
{
    (void)index, (void)scratch;
    const Attr *hint = op_attr(op, HW_ATTR_NAME_HINT);
    return hint && hint->kind == ATTR_STRING && hint->u.string.len ? hint->u.string.data : NULL;
}

#define SAME_WIDTH(TRAITS)                                                                         \
    .operands = ARGS(MANY("inputs", HW_IS_INTEGER)),                                               \
    .results = ARGS(ONE("result", HW_IS_INTEGER)),                                                 \
    .attrs = ATTRS(OPTIONAL("twoState", ATTR_IS_UNIT)),                                            \
    .traits =                                                                                      \
        TRAIT_PURE | TRAIT_SAME_TYPE_OPERANDS | TRAIT_SAME_OPERANDS_AND_RESULT_TYPE | (TRAITS),    \
    .format = "(`bin` $twoState^)? $inputs attr-dict `:` type($result)", .verify = verify_some,    \
    .result_name = name_by_hint
#define SAME_WIDTH_PAIR                                                                            \
    .operands = ARGS(ONE("lhs", HW_IS_INTEGER), ONE("rhs", HW_IS_INTEGER)),                        \
    .results = ARGS(ONE("result", HW_IS_INTEGER)),                                                 \
    .attrs = ATTRS(OPTIONAL("twoState", ATTR_IS_UNIT)),                                            \
    .traits = TRAIT_PURE | TRAIT_SAME_TYPE_OPERANDS | TRAIT_SAME_OPERANDS_AND_RESULT_TYPE,         \
    .format = "(`bin` $twoState^)? $lhs `,` $rhs attr-dict `:` type($result)",                     \
    .result_name = name_by_hint

#define OP(ID, NAME, ...)                                                                          \
    [COMB_##ID] = {.id = #ID, .name = NAME, .dialect = &comb_dialect, __VA_ARGS__},
const OpDef comb_ops[] = {
#include "dialects/comb/comb_ops.def"
};
#undef OP

static Op *materialize(Context *ctx, const Attr *value, const Type *type, const Attr *loc)
{
    return hw_dialect.materialize(ctx, value, type, loc);
}

const DialectDef comb_dialect = {
    .name = "comb",
    .summary = "Combinational logic on signless integers.",
    .ops = comb_ops,
    .op_count = COMB_OP_COUNT,
    .materialize = materialize,
};
