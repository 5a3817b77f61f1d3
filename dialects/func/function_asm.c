/* Parsing, printing and checking of signatures of func-like ops:
 *   function  ::= visibility? symbol-name "(" args? ")" results? ("attributes" attr-dict)? body?
 *   args      ::= arg ("," arg)*          all named, or (of declarations) none
 *   arg       ::= (ssa-id ":")? type attr-dict? location?
 *   results   ::= "->" (type | "(" (type attr-dict?) ("," type attr-dict?)* ")")
 * Tests: lit/dialects/func */
#include <string.h>

#include "dialects/func/func.h"
#include "ir/asm/print/print.h"

static const char *const HIDDEN[] = {"sym_name",  "function_type", "sym_visibility",
                                     "arg_attrs", "res_attrs",     NULL};

typedef VEC(const Attr *) AttrList;

typedef struct FuncSignature {
    ArgDecls args; /* nameless ones of a declaration have an empty name */
    TypeList results;
    AttrList result_attrs;
    bool named;
} FuncSignature;

static void signature_free(FuncSignature *sig)
{
    vec_free(&sig->args);
    vec_free(&sig->results);
    vec_free(&sig->result_attrs);
}

/* attr-dict?, the empty dictionary when absent. */
static bool parse_dict(OpParser *p, const Attr **out)
{
    *out = attr_dict(parser_ctx(p), NULL, 0);
    if (!parser_at(p, "{")) return true;
    *out = parser_attr(p, NULL);
    return *out != NULL;
}

static bool parse_argument(OpParser *p, FuncSignature *sig)
{
    ArgDecl arg = {.at = parser_pos(p), .name = STR("")};
    bool named = parser_at(p, "%"), is_mixed = sig->args.len > 0 && named != sig->named;
    if (named && !parser_arg(p, &arg, true, true)) return false;
    if (is_mixed)
        return parser_error_at(p, arg.at,
                               named ? "expected type instead of SSA identifier"
                                     : "expected SSA identifier");
    if (!named && (!(arg.type = parser_type(p)) || !parse_dict(p, &arg.attrs) ||
                   !parser_try_loc(p, &arg.loc)))
        return false;
    sig->named = named;
    *vec_push(&sig->args) = arg;
    return true;
}

static bool parse_arguments(OpParser *p, FuncSignature *sig)
{
    if (!parser_expect(p, "(")) return false;
    if (parser_try(p, ")")) return true;
    do {
        if (!parse_argument(p, sig)) return false;
    } while (parser_try(p, ","));
    return parser_expect(p, ")");
}

static bool parse_result(OpParser *p, FuncSignature *sig, bool with_attrs)
{
    const Type *type = parser_type(p);
    const Attr *attrs = attr_dict(parser_ctx(p), NULL, 0);
    if (!type || (with_attrs && !parse_dict(p, &attrs))) return false;
    *vec_push(&sig->results) = type;
    *vec_push(&sig->result_attrs) = attrs;
    return true;
}

static bool parse_results(OpParser *p, FuncSignature *sig)
{
    if (!parser_try(p, "->")) return true;
    if (!parser_try(p, "(")) return parse_result(p, sig, false);
    if (parser_try(p, ")")) return true;
    do {
        if (!parse_result(p, sig, true)) return false;
    } while (parser_try(p, ","));
    return parser_expect(p, ")");
}

/* Stores the array only if one of its dictionaries says something. */
static void set_attr_array(OpParser *p, const char *name, const Attr *const *dicts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (dicts[i]->u.dict.count > 0) {
            parser_set_attr(p, name, attr_array(parser_ctx(p), dicts, count));
            return;
        }
}

static void set_signature(OpParser *p, const FuncSignature *sig)
{
    TypeList inputs = {0};
    AttrList attrs = {0};
    for (size_t i = 0; i < sig->args.len; i++) {
        *vec_push(&inputs) = sig->args.data[i].type;
        *vec_push(&attrs) = sig->args.data[i].attrs;
    }
    const Type *type =
        type_function(parser_ctx(p), inputs.data, inputs.len, sig->results.data, sig->results.len);
    parser_set_attr(p, "function_type", attr_type(type));
    set_attr_array(p, "arg_attrs", attrs.data, attrs.len);
    set_attr_array(p, "res_attrs", sig->result_attrs.data, sig->result_attrs.len);
    vec_free(&inputs);
    vec_free(&attrs);
}

/* The explicit dictionary must not repeat what the signature says. */
static bool parse_attributes(OpParser *p)
{
    static const char *const inferred[] = {"sym_name", "function_type", "sym_visibility"};
    const Attr *before[COUNT_OF(inferred)];
    SrcPos at = parser_pos(p);
    for (size_t i = 0; i < COUNT_OF(inferred); i++) {
        before[i] = parser_get_attr(p, inferred[i]);
        parser_set_attr(p, inferred[i], NULL);
    }
    if (!parser_attr_dict(p, true)) return false;
    for (size_t i = 0; i < COUNT_OF(inferred); i++) {
        if (parser_get_attr(p, inferred[i]))
            return parser_error_at(p, at,
                                   "'%s' is an inferred attribute and should not be specified in "
                                   "the explicit attribute dictionary",
                                   inferred[i]);
        if (before[i]) parser_set_attr(p, inferred[i], before[i]);
    }
    return true;
}

static bool parse_body(OpParser *p, const FuncSignature *sig)
{
    bool present;
    SrcPos at = parser_pos(p);
    size_t count = sig->named ? sig->args.len : 0;
    if (!parser_try_region(p, sig->args.data, count, &present)) return false;
    if (!present) {
        parser_add_empty_region(p);
        return true;
    }
    if (region_is_empty(parser_last_region(p)))
        return parser_error_at(p, at, "expected non-empty function body");
    return true;
}

static bool parse_visibility(OpParser *p)
{
    static const char *const names[] = {"public", "private", "nested"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (parser_try(p, names[i])) {
            parser_set_attr(p, "sym_visibility", attr_string_c(parser_ctx(p), names[i]));
            break;
        }
    return true;
}

bool func_like_parse(OpParser *p)
{
    FuncSignature sig = {0};
    bool ok = parse_visibility(p);
    const Attr *name = parser_symbol_name(p);
    ok = ok && name;
    if (ok) parser_set_attr(p, "sym_name", name);
    ok = ok && parse_arguments(p, &sig) && parse_results(p, &sig);
    if (ok) set_signature(p, &sig);
    ok = ok && parse_attributes(p) && parse_body(p, &sig);
    signature_free(&sig);
    return ok;
}

static void print_dict(OpPrinter *p, const Attr *dict)
{
    if (!dict || dict->u.dict.count == 0) return;
    printer_text(p, " ");
    printer_attr(p, dict);
}

static void print_arguments(OpPrinter *p, const Op *op, const Type *type)
{
    const Block *entry = func_entry(op);
    printer_text(p, "(");
    for (uint32_t i = 0; i < type->u.function.input_count; i++) {
        if (i > 0) printer_text(p, ", ");
        const Attr *attrs = func_arg_attrs(op, i);
        if (entry) {
            printer_region_arg(p, entry->args[i], attrs);
        } else {
            printer_type(p, type->u.function.types[i]);
            print_dict(p, attrs);
        }
    }
    printer_text(p, ")");
}

static void print_results(OpPrinter *p, const Op *op, const Type *type)
{
    uint32_t count = type->u.function.result_count;
    const Type *const *types = type->u.function.types + type->u.function.input_count;
    if (count == 0) return;
    const Attr *attrs = func_result_attrs(op, 0);
    bool bare =
        count == 1 && types[0]->kind != TYPE_FUNCTION && (!attrs || attrs->u.dict.count == 0);
    printer_text(p, bare ? " -> " : " -> (");
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) printer_text(p, ", ");
        printer_type(p, types[i]);
        print_dict(p, func_result_attrs(op, i));
    }
    if (!bare) printer_text(p, ")");
}

void func_like_print(OpPrinter *p, const Op *op)
{
    const Attr *visibility = op_attr(op, "sym_visibility");
    const Type *type = func_type(op);
    printer_text(p, " ");
    if (visibility) {
        strbuf_add_str(printer_out(p), visibility->u.string);
        printer_text(p, " ");
    }
    printer_symbol_name(p, op_attr(op, "sym_name")->u.string);
    print_arguments(p, op, type);
    print_results(p, op, type);
    printer_attr_dict_keyword(p, op, HIDDEN);
    if (func_entry(op)) {
        printer_text(p, " ");
        printer_region(p, op_region(op, 0), false, true);
    }
}

static bool has_dialect_prefix(const Ident *name)
{
    return memchr(name->str.data, '.', name->str.len) != NULL;
}

typedef struct AttrArrayRule {
    const char *name; /* of the attribute */
    const char *what; /* "argument" */
    const char *plural;
} AttrArrayRule;

static bool verify_attr_dict(Op *op, const AttrArrayRule *rule, uint32_t index, const Attr *dict)
{
    for (uint32_t i = 0; i < dict->u.dict.count; i++) {
        const NamedAttr *item = &dict->u.dict.items[i];
        if (!has_dialect_prefix(item->name))
            return op_error(op, "%s may only have dialect attributes", rule->plural);
        Str prefix = item->name->str;
        prefix.len = (size_t)((const char *)memchr(prefix.data, '.', prefix.len) - prefix.data);
        const DialectDef *dialect = dialect_of_attrs(op->ctx, prefix);
        if (dialect && dialect->verify_arg_attr && !dialect->verify_arg_attr(op, index, item))
            return false;
    }
    return true;
}

static bool verify_attr_array(Op *op, const AttrArrayRule *rule, uint32_t expected)
{
    const Attr *array = op_attr(op, rule->name);
    if (!array) return true;
    if (array->u.array.count != expected)
        return op_error(op,
                        "expects %s attribute array to have the same number of elements as the "
                        "number of function %s, got %u, but expected %u",
                        rule->what, rule->plural, array->u.array.count, expected);
    for (uint32_t i = 0; i < expected; i++)
        if (!verify_attr_dict(op, rule, i, array->u.array.items[i])) return false;
    return true;
}

static bool verify_entry(Op *op, const Type *type)
{
    const Block *entry = func_entry(op);
    if (!entry) return true;
    uint32_t inputs = type->u.function.input_count;
    if (entry->arg_count != inputs)
        return op_error(op, "entry block must have %u arguments to match function signature",
                        inputs);
    for (uint32_t i = 0; i < inputs; i++)
        if (entry->args[i]->type != type->u.function.types[i])
            return op_error(op,
                            "type of entry block argument #%u('%s') must match the type of the "
                            "corresponding argument in function signature('%s')",
                            i, type_str(op->ctx, entry->args[i]->type),
                            type_str(op->ctx, type->u.function.types[i]));
    return true;
}

bool func_like_verify(Op *op)
{
    static const AttrArrayRule args = {"arg_attrs", "argument", "arguments"};
    static const AttrArrayRule results = {"res_attrs", "result", "results"};
    const Type *type = func_type(op);
    return verify_attr_array(op, &args, type->u.function.input_count) &&
           verify_attr_array(op, &results, type->u.function.result_count) && verify_entry(op, type);
}

bool func_like_verify_return(Op *op, const char *noun, const char *verb)
{
    const Op *func = op_parent(op);
    const Type *type = func_type(func);
    Str name = op_attr(func, "sym_name")->u.string;
    uint32_t count = type->u.function.result_count;
    if (op->operand_count != count)
        return op_error(op, "has %u operands, but enclosing function (@%.*s) %s %u",
                        op->operand_count, STR_ARG(name), verb, count);
    for (uint32_t i = 0; i < count; i++) {
        const Type *want = type->u.function.types[type->u.function.input_count + i];
        if (op_operand(op, i)->type != want)
            return op_emit_error(op,
                                 "type of %s operand %u ('%s') doesn't match function result "
                                 "type ('%s') in function @%.*s",
                                 noun, i, type_str(op->ctx, op_operand(op, i)->type),
                                 type_str(op->ctx, want), STR_ARG(name));
    }
    return true;
}
