/* The func dialect: rows and hooks; the text of functions is in function_asm.c.
 * Tests: lit/dialects/func */
#include "dialects/common/common.h"
#include "dialects/func/func.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "ir/rewrite/rewrite.h"

const Type *func_type(const Op *func)
{
    return op_attr(func, "function_type")->u.type_value;
}

void func_set_type(Op *func, const Type *type)
{
    op_set_attr(func, "function_type", attr_type(type));
}

Block *func_entry(const Op *func)
{
    return region_entry(op_region(func, 0));
}

void func_update_type(Op *func)
{
    const Block *entry = func_entry(func);
    const Op *ret = entry->last;
    const uint32_t inputs = entry->arg_count, results = ret->operand_count;
    VEC(const Type *) types = {0};
    for (uint32_t i = 0; i < inputs; i++) *vec_push(&types) = entry->args[i]->type;
    for (uint32_t i = 0; i < results; i++) *vec_push(&types) = op_operand(ret, i)->type;
    func_set_type(func, type_function(func->ctx, types.data, inputs,
                                      types.len ? types.data + inputs : NULL, results));
    vec_free(&types);
}

static const Attr *dict_at(const Op *func, const char *name, uint32_t index)
{
    const Attr *array = op_attr(func, name);
    return array ? array->u.array.items[index] : NULL;
}

const Attr *func_arg_attrs(const Op *func, uint32_t index)
{
    return dict_at(func, "arg_attrs", index);
}

const Attr *func_result_attrs(const Op *func, uint32_t index)
{
    return dict_at(func, "res_attrs", index);
}

Op *func_build(Builder *b, Str name, const Type *type)
{
    NamedAttr attrs[] = {
        build_named_attr(b->ctx, "sym_name", attr_string(b->ctx, name)),
        build_named_attr(b->ctx, "function_type", attr_type(type)),
    };
    return build(b, FUNC(FUNC), NULL, 0, NULL, 0, attrs, COUNT_OF(attrs));
}

static bool is_function_type(const Type *type)
{
    return type->kind == TYPE_FUNCTION;
}

static const TypeConstraint TYPE_FUNCTION_VALUE = {.test = is_function_type,
                                                   .what = "function type"};

static bool verify_call_results(Op *op, const Type *type)
{
    const Type *const *types = type->u.function.types + type->u.function.input_count;
    for (uint32_t i = 0; i < op->result_count; i++) {
        if (op_result(op, i)->type == types[i]) continue;
        op_error(op, "result type mismatch at index %u", i);
        StrBuf got = {0}, want = {0};
        for (uint32_t k = 0; k < op->result_count; k++) {
            strbuf_printf(&got, "%s'%s'", k ? ", " : "", type_str(op->ctx, op_result(op, k)->type));
            strbuf_printf(&want, "%s'%s'", k ? ", " : "", type_str(op->ctx, types[k]));
        }
        op_note(op, "      op result types: %s", got.data);
        op_note(op, "function result types: %s", want.data);
        strbuf_free(&got);
        strbuf_free(&want);
        return false;
    }
    return true;
}

static bool verify_call(Op *op, SymbolTables *tables)
{
    const Attr *callee = op_attr(op, "callee");
    const Op *func = symtabs_lookup(tables, op, callee);
    if (!func || func->def != FUNC(FUNC))
        return op_error(op, "'%.*s' does not reference a valid function",
                        STR_ARG(callee->u.symbol.names[0]->str));
    const Type *type = func_type(func);
    if (type->u.function.input_count != op->operand_count)
        return op_error(op, "incorrect number of operands for callee");
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (op_operand(op, i)->type != type->u.function.types[i])
            return op_error(op,
                            "operand type mismatch: expected operand type '%s', but provided '%s' "
                            "for operand number %u",
                            type_str(op->ctx, type->u.function.types[i]),
                            type_str(op->ctx, op_operand(op, i)->type), i);
    if (type->u.function.result_count != op->result_count)
        return op_error(op, "incorrect number of results for callee");
    return verify_call_results(op, type);
}

/* call_indirect ::= ssa-use "(" ssa-use-list? ")" attr-dict? ":" function-type */
static bool parse_call_indirect(OpParser *p)
{
    OperandRef callee;
    OperandRefs args = parser_borrow_refs(p);
    const Type *type = NULL;
    bool ok = parser_operand(p, &callee) && parser_expect(p, "(");
    SrcPos at = parser_pos(p);
    ok = ok && parser_operand_list(p, &args) && parser_expect(p, ")") &&
         parser_attr_dict(p, false) && parser_expect(p, ":");
    SrcPos type_at = parser_pos(p);
    ok = ok && (type = parser_type(p)) != NULL;
    if (ok && type->kind != TYPE_FUNCTION)
        ok = parser_error_at(p, type_at, "invalid kind of type specified");
    if (ok) {
        parser_add_results(p, type->u.function.types + type->u.function.input_count,
                           type->u.function.result_count);
        ok = parser_resolve(p, &callee, type) &&
             parser_resolve_all(p, &args, type->u.function.types, type->u.function.input_count, at);
    }
    parser_return_refs(p, &args);
    return ok;
}

static void print_call_indirect(OpPrinter *p, const Op *op)
{
    printer_text(p, " ");
    printer_value(p, op_operand(op, 0));
    printer_text(p, "(");
    printer_values(p, op, 1, op->operand_count - 1);
    printer_text(p, ")");
    printer_attr_dict(p, op, NULL);
    printer_text(p, " : ");
    printer_type(p, op_operand(op, 0)->type);
}

static bool verify_call_indirect(Op *op)
{
    const Type *type = op_operand(op, 0)->type;
    bool inputs = type->u.function.input_count == op->operand_count - 1;
    for (uint32_t i = 0; inputs && i < type->u.function.input_count; i++)
        inputs = op_operand(op, i + 1)->type == type->u.function.types[i];
    if (!inputs)
        return op_error(op, "failed to verify that callee input types match argument types");
    bool results = type->u.function.result_count == op->result_count;
    for (uint32_t i = 0; results && i < op->result_count; i++)
        results = op_result(op, i)->type == type->u.function.types[i + op->operand_count - 1];
    if (!results)
        return op_error(op, "failed to verify that callee result types match result types");
    return true;
}

/* call_indirect(constant @f)(x…) -> call @f(x…) */
static bool rewrite_call_of_constant(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *constant = value_def(op_operand(op, 0));
    if (!constant || constant->def != FUNC(CONSTANT)) return false;
    uint32_t inputs = op->operand_count - 1;
    Value **values = xcalloc(inputs + op->result_count, sizeof *values);
    const Type **types = xcalloc(op->result_count, sizeof *types);
    for (uint32_t i = 0; i < inputs; i++) values[i] = op_operand(op, i + 1);
    for (uint32_t i = 0; i < op->result_count; i++) types[i] = op_result(op, i)->type;
    NamedAttr callee = build_named_attr(op->ctx, "callee", op_attr(constant, "value"));
    Op *call = build(&rw->b, FUNC(CALL), values, inputs, types, op->result_count, &callee, 1);
    for (uint32_t i = 0; i < op->result_count; i++) values[i] = op_result(call, i);
    rewriter_replace(rw, op, values, op->result_count);
    free_ptr((void **)&types);
    free_ptr((void **)&values);
    return true;
}

static void canonicalize_call_indirect(PatternSet *set)
{
    pattern_add(set, "call-of-constant", FUNC(CALL_INDIRECT), 1, rewrite_call_of_constant);
}

static bool verify_constant(Op *op, SymbolTables *tables)
{
    const Attr *value = op_attr(op, "value");
    Str name = value->u.symbol.names[0]->str;
    const Op *func = symtabs_lookup(tables, op, value);
    if (!func || func->def != FUNC(FUNC))
        return op_error(op, "reference to undefined function '%.*s'", STR_ARG(name));
    if (func_type(func) != op_result(op, 0)->type)
        return op_error(op, "reference to function with mismatched type");
    return true;
}

static bool fold_constant(Op *op, const Attr *const *operands, FoldResult *results)
{
    (void)operands;
    results[0].attr = op_attr(op, "value");
    return true;
}

static const char *name_constant(const Op *op, uint32_t index, StrBuf *scratch)
{
    (void)op;
    (void)index;
    (void)scratch;
    return "f";
}

static bool verify_return(Op *op)
{
    return func_like_verify_return(op, "return", "returns");
}

static Op *materialize(Context *ctx, const Attr *value, const Type *type, const Attr *loc)
{
    if (value->kind != ATTR_SYMBOL_REF || value->u.symbol.count != 1 || type->kind != TYPE_FUNCTION)
        return NULL;
    NamedAttr attr = build_named_attr(ctx, "value", value);
    Builder b = {.ctx = ctx, .loc = loc};
    return build(&b, FUNC(CONSTANT), NULL, 0, &type, 1, &attr, 1);
}

#define OP(ID, NAME, ...)                                                                          \
    [FUNC_##ID] = {.id = #ID, .name = NAME, .dialect = &func_dialect, __VA_ARGS__},
const OpDef func_ops[] = {
#include "dialects/func/func_ops.def"
};
#undef OP

const DialectDef func_dialect = {
    .name = "func",
    .summary = "Functions and calls.",
    .ops = func_ops,
    .op_count = FUNC_OP_COUNT,
    .inlining = INLINE_OPS | INLINE_INTO | INLINE_CALLS,
    .is_default_in_functions = true,
    .materialize = materialize,
};
