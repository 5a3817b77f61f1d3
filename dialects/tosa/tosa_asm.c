/* Text of the ops with regions and of variables. The grammar is written above each parser.
 * Tests: lit/dialects/tosa/ops.mir, lit/dialects/tosa/invalid.mir */
#include "dialects/tosa/internal.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"

/* cond_if ::= ssa-use ("->" types)? region "else" region attr-dict? */
bool tosa_parse_cond_if(OpParser *p)
{
    OperandRef condition;
    TypeList types = {0};
    const Type *truth = type_tensor(type_i(parser_ctx(p), 1), NULL, 0, NULL);
    bool ok = parser_operand(p, &condition) && parser_resolve(p, &condition, truth) &&
              parser_optional_arrow_types(p, &types) && parser_region(p, NULL, 0);
    if (ok && !parser_try(p, "else"))
        ok = diag_error(parser_ctx(p), parser_loc_at(p, parser_op_pos(p)),
                        "'tosa.cond_if' op region #1 ('else_branch') failed to verify constraint: "
                        "region with 1 blocks");
    ok = ok && parser_region(p, NULL, 0) && parser_attr_dict(p, false);
    if (ok) parser_add_results(p, types.data, types.len);
    vec_free(&types);
    return ok;
}

void tosa_print_cond_if(OpPrinter *p, const Op *op)
{
    bool yields = op->result_count > 0;
    printer_text(p, " ");
    printer_value(p, op_operand(op, 0));
    if (yields) {
        printer_text(p, " -> (");
        printer_result_types(p, op);
        printer_text(p, ")");
    }
    printer_text(p, " ");
    printer_region(p, op_region(op, 0), false, yields);
    printer_text(p, " else ");
    printer_region(p, op_region(op, 1), false, yields);
    printer_attr_dict(p, op, NULL);
}

/* ("(" (ssa-id "=" ssa-use ("," ssa-id "=" ssa-use)*)? ")")? */
static bool parse_assignments(OpParser *p, ArgDecls *args, OperandRefs *values)
{
    if (!parser_try(p, "(") || parser_try(p, ")")) return true;
    do {
        if (!parser_arg(p, vec_push(args), false, false) || !parser_expect(p, "=") ||
            !parser_operand(p, vec_push(values)))
            return false;
    } while (parser_try(p, ","));
    return parser_expect(p, ")");
}

static bool resolve_assignments(OpParser *p, SrcPos at, ArgDecls *args, const OperandRefs *values,
                                const TypeList *types)
{
    if (types->len != values->len)
        return parser_error_at(p, at,
                               "expected as many input types as operands (expected %zu got %zu)",
                               values->len, types->len);
    for (size_t i = 0; i < types->len; i++) args->data[i].type = types->data[i];
    return parser_resolve_all(p, values, types->data, types->len, parser_pos(p));
}

/* The function type after ":". */
static bool parse_signature(OpParser *p, SrcPos at, TypeList *inputs)
{
    const Type *type = parser_type(p);
    if (!type) return false;
    if (type->kind != TYPE_FUNCTION)
        return parser_error_at(p, at, "invalid kind of type specified");
    uint32_t input_count = type->u.function.input_count;
    for (uint32_t i = 0; i < input_count; i++) *vec_push(inputs) = type->u.function.types[i];
    parser_add_results(p, type->u.function.types + input_count, type->u.function.result_count);
    return true;
}

/* while_loop ::= assignments ":" function-type region "do" region
 *                ("attributes" attr-dict)? */
bool tosa_parse_while_loop(OpParser *p)
{
    ArgDecls args = {0};
    OperandRefs values = {0};
    TypeList types = {0};
    bool ok = parse_assignments(p, &args, &values);
    SrcPos at = parser_pos(p);
    ok = ok && parser_expect(p, ":") && parse_signature(p, at, &types) &&
         resolve_assignments(p, at, &args, &values, &types) &&
         parser_region(p, args.data, args.len) && parser_expect(p, "do") &&
         parser_region(p, NULL, 0) && parser_attr_dict(p, true);
    vec_free(&args);
    vec_free(&values);
    vec_free(&types);
    return ok;
}

void tosa_print_while_loop(OpPrinter *p, const Op *op)
{
    const Block *condition = region_entry(op_region(op, 0));
    for (uint32_t i = 0; i < op->operand_count; i++) {
        printer_text(p, i == 0 ? " (" : ", ");
        printer_value(p, condition->args[i]);
        printer_text(p, " = ");
        printer_value(p, op_operand(op, i));
    }
    printer_text(p, op->operand_count ? ") : " : " : ");
    printer_functional_type(p, op);
    printer_text(p, " ");
    printer_region(p, op_region(op, 0), false, true);
    printer_text(p, " do ");
    printer_region(p, op_region(op, 1), true, true);
    printer_attr_dict_keyword(p, op, NULL);
}

/* Type of an attribute that has one; strings are of none. */
static const Type *type_of(const Attr *attr)
{
    return attr->type || attr->kind != ATTR_STRING ? attr->type : type_none(attr->ctx);
}

/* variable ::= symbol-name attr-dict? ("=" attribute | ":" type) */
bool tosa_parse_variable(OpParser *p)
{
    const Attr *value;
    const Type *type;
    const Attr *name = parser_symbol_name(p);
    if (!name) return false;
    parser_set_attr(p, "name", name);
    if (!parser_attr_dict(p, false)) return false;
    if (parser_try(p, "=")) {
        if (!(value = parser_attr(p, NULL))) return parser_error(p, "expected attribute");
        parser_set_attr(p, "initial_value", value);
        type = type_of(value);
    } else if (!parser_expect(p, ":") || !(type = parser_type(p))) {
        return parser_error(p, "expected type");
    }
    if (type) parser_set_attr(p, "type", attr_type(type));
    return true;
}

void tosa_print_variable(OpPrinter *p, const Op *op)
{
    static const char *const hidden[] = {"name", "type", "initial_value", NULL};
    const Attr *value = op_attr(op, "initial_value");
    const Type *type = op_attr(op, "type")->u.type_value;
    printer_text(p, " ");
    printer_symbol_name(p, op_attr(op, "name")->u.string);
    printer_attr_dict(p, op, hidden);
    if (!value || type_of(value) != type) {
        printer_text(p, " : ");
        printer_type(p, type);
    }
    if (value) {
        printer_text(p, " = ");
        printer_attr(p, value);
    }
}
