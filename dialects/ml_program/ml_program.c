/* The ml_program dialect: rows and hooks.
 * Tests: lit/dialects/ml_program */
#include "dialects/common/common.h"
#include "dialects/func/func.h"
#include "dialects/ml_program/ml_program.h"
#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"
#include "ir/core/core.h"

static const Type *token_type(Context *ctx)
{
    return type_dialect(ctx, &ml_program_token, NULL, 0);
}

static const Type *parse_token_op(OpParser *p)
{
    return token_type(parser_ctx(p));
}

static bool is_token(const Type *type)
{
    return type_is_a(type, &ml_program_token);
}

static const Attr *parse_extern(OpParser *p, const Type *type)
{
    Context *ctx = parser_ctx(p);
    return attr_dialect_typed(ctx, &ml_program_extern, type ? type : type_none(ctx), NULL, 0);
}

const TypeDef ml_program_token = {.name = "token",
                                  .dialect = &ml_program_dialect,
                                  .summary = "Orders accesses in a graph.",
                                  .parse = parse_token_op};
const AttrDef ml_program_extern = {.name = "extern",
                                   .dialect = &ml_program_dialect,
                                   .summary = "A global's value is found elsewhere.",
                                   .parse = parse_extern,
                                   .alias = "extern"};

static bool is_symbol(const Attr *attr)
{
    return attr->kind == ATTR_SYMBOL_REF;
}

static const TypeConstraint TYPE_TOKEN = {
    .test = is_token,
    .what = "Token for establishing execution ordering in a graph",
    .only = token_type};
static const AttrConstraint ATTR_IS_SYMBOL = {.test = is_symbol,
                                              .what = "symbol reference attribute"};

static bool parse_visibility(OpParser *p)
{
    static const char *const names[] = {"public", "private", "nested"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (parser_try(p, names[i])) {
            parser_set_attr(p, "sym_visibility", attr_string_c(parser_ctx(p), names[i]));
            return true;
        }
    return parser_error(p, "expected 'public', 'private', or 'nested'");
}

/* global ::= visibility "mutable"? symbol-name ("(" attribute ")")? ":" type attr-dict? */
static bool parse_global(OpParser *p)
{
    const Attr *name, *value;
    const Type *type;
    if (!parse_visibility(p)) return false;
    if (parser_try(p, "mutable")) parser_set_attr(p, "is_mutable", attr_unit(parser_ctx(p)));
    if (!(name = parser_symbol_name(p))) return false;
    parser_set_attr(p, "sym_name", name);
    if (parser_try(p, "(")) {
        if (!(value = parser_attr(p, NULL)) || !parser_expect(p, ")")) return false;
        parser_set_attr(p, "value", value);
    }
    if (!parser_expect(p, ":") || !(type = parser_type(p))) return false;
    parser_set_attr(p, "type", attr_type(type));
    return parser_attr_dict(p, false);
}

static void print_global(OpPrinter *p, const Op *op)
{
    static const char *const hidden[] = {"sym_name", "type",           "is_mutable",
                                         "value",    "sym_visibility", NULL};
    const Attr *visibility = op_attr(op, "sym_visibility"), *value = op_attr(op, "value");
    printer_text(p, " ");
    if (visibility) {
        strbuf_add_str(printer_out(p), visibility->u.string);
        printer_text(p, " ");
    }
    if (op_attr(op, "is_mutable")) printer_text(p, "mutable ");
    printer_symbol_name(p, op_attr(op, "sym_name")->u.string);
    if (value) {
        printer_text(p, "(");
        printer_attr(p, value);
        printer_text(p, ")");
    }
    printer_text(p, " : ");
    printer_type(p, op_attr(op, "type")->u.type_value);
    printer_attr_dict(p, op, hidden);
}

static bool verify_global(Op *op)
{
    if (op_attr(op, "is_mutable") || op_attr(op, "value")) return true;
    return op_error(op, "immutable global must have an initial value");
}

static const char *name_load(const Op *op, uint32_t index, StrBuf *scratch)
{
    const Attr *global = op_attr(op, "global");
    (void)index;
    if (!global || !is_symbol(global)) return NULL;
    strbuf_add_str(scratch, global->u.symbol.names[global->u.symbol.count - 1]->str);
    return scratch->data;
}

/* Plain loads and stores also see what lies beyond an op that might be a symbol table. */
static bool looks_further(const Op *op)
{
    return op->def == ML_PROGRAM(GLOBAL_LOAD) || op->def == ML_PROGRAM(GLOBAL_STORE);
}

/* The global an op names; NULL: diagnosed. */
static Op *find_global(Op *op, SymbolTables *tables)
{
    const Attr *ref = op_attr(op, "global");
    const Op *from = op;
    do {
        Op *global = symtabs_lookup(tables, from, ref);
        if (global && global->def == ML_PROGRAM(GLOBAL)) return global;
        from = op_parent(from);
    } while (from && looks_further(op));
    (void)op_error(op, "undefined global: %s", attr_str(op->ctx, ref));
    return NULL;
}

static bool verify_loaded_type(Op *op, const Op *global)
{
    const Type *type = op_attr(global, "type")->u.type_value;
    if (op_result(op, 0)->type == type) return true;
    return op_error(op, "cannot load from global typed '%s' as '%s'", type_str(op->ctx, type),
                    type_str(op->ctx, op_result(op, 0)->type));
}

static bool verify_load(Op *op, SymbolTables *tables)
{
    const Op *global = find_global(op, tables);
    return global && verify_loaded_type(op, global);
}

static bool verify_load_const(Op *op, SymbolTables *tables)
{
    const Op *global = find_global(op, tables);
    if (!global) return false;
    if (op_attr(global, "is_mutable"))
        return op_error(op, "cannot load as const from mutable global %s",
                        attr_str(op->ctx, op_attr(op, "global")));
    return verify_loaded_type(op, global);
}

static bool verify_store(Op *op, SymbolTables *tables)
{
    const Op *global = find_global(op, tables);
    if (!global) return false;
    if (!op_attr(global, "is_mutable"))
        return op_error(op, "cannot store to an immutable global %s",
                        attr_str(op->ctx, op_attr(op, "global")));
    const Type *type = op_attr(global, "type")->u.type_value;
    if (op_operand(op, 0)->type == type) return true;
    return op_error(op, "cannot store to a global typed '%s' from '%s'", type_str(op->ctx, type),
                    type_str(op->ctx, op_operand(op, 0)->type));
}

/* ordering ::= ("ordering" "(" ("()" | ssa-use-list) "->" type ")")? */
static bool parse_ordering(OpParser *p, OperandRefs *tokens, const Type **produced)
{
    *produced = NULL;
    if (!parser_try(p, "ordering")) return true;
    if (!parser_expect(p, "(")) return false;
    bool none = parser_try(p, "(");
    if (none ? !parser_expect(p, ")") : !parser_operand_list(p, tokens)) return false;
    return parser_expect(p, "->") && (*produced = parser_type(p)) != NULL && parser_expect(p, ")");
}

static bool resolve_tokens(OpParser *p, const OperandRefs *tokens)
{
    const Type *token = token_type(parser_ctx(p));
    for (size_t i = 0; i < tokens->len; i++)
        if (!parser_resolve(p, &tokens->data[i], token)) return false;
    return true;
}

static void print_ordering(OpPrinter *p, const Op *op, uint32_t begin, const Value *produced)
{
    uint32_t count = op->operand_count - begin;
    printer_text(p, count == 0 ? " ordering((" : " ordering(");
    printer_values(p, op, begin, count);
    printer_text(p, count == 0 ? ") -> " : " -> ");
    printer_type(p, produced->type);
    printer_text(p, ")");
}

static bool parse_global_ref(OpParser *p)
{
    const Attr *global = parser_attr(p, NULL);
    if (global) parser_set_attr(p, "global", global);
    return global != NULL;
}

static void print_global_ref(OpPrinter *p, const Op *op)
{
    printer_text(p, " ");
    printer_attr(p, op_attr(op, "global"));
}

static const char *const HIDDEN[] = {"global", NULL};

/* global_load_graph ::= symbol ordering ":" type attr-dict? */
static bool parse_load_graph(OpParser *p)
{
    OperandRefs tokens = {0};
    const Type *produced, *type = NULL;
    bool ok = parse_global_ref(p) && parse_ordering(p, &tokens, &produced) &&
              parser_expect(p, ":") && (type = parser_type(p)) != NULL &&
              parser_attr_dict(p, false);
    if (ok) {
        parser_add_result(p, type);
        if (produced) parser_add_result(p, produced);
        ok = resolve_tokens(p, &tokens);
    }
    vec_free(&tokens);
    return ok;
}

static void print_load_graph(OpPrinter *p, const Op *op)
{
    print_global_ref(p, op);
    print_ordering(p, op, 0, op_result(op, 1));
    printer_text(p, " : ");
    printer_type(p, op_result(op, 0)->type);
    printer_attr_dict(p, op, HIDDEN);
}

/* global_store_graph ::= symbol "=" ssa-use ordering ":" type attr-dict? */
static bool parse_store_graph(OpParser *p)
{
    OperandRef value;
    OperandRefs tokens = {0};
    const Type *produced, *type = NULL;
    bool ok = parse_global_ref(p) && parser_expect(p, "=") && parser_operand(p, &value) &&
              parse_ordering(p, &tokens, &produced) && parser_expect(p, ":") &&
              (type = parser_type(p)) != NULL && parser_attr_dict(p, false) &&
              parser_resolve(p, &value, type) && resolve_tokens(p, &tokens);
    if (ok && produced) parser_add_result(p, produced);
    vec_free(&tokens);
    return ok;
}

static void print_store_graph(OpPrinter *p, const Op *op)
{
    print_global_ref(p, op);
    printer_text(p, " = ");
    printer_value(p, op_operand(op, 0));
    print_ordering(p, op, 1, op_result(op, 0));
    printer_text(p, " : ");
    printer_type(p, op_operand(op, 0)->type);
    printer_attr_dict(p, op, HIDDEN);
}

static bool verify_return(Op *op)
{
    return func_like_verify_return(op, "return", "returns");
}

static bool verify_output(Op *op)
{
    return func_like_verify_return(op, "output", "outputs");
}

#define FUNCTION_TRAITS (TRAIT_ISOLATED | TRAIT_SYMBOL | TRAIT_FUNCTION)
#define FUNCTION_PARTS                                                                             \
    .attrs = ATTRS(REQUIRED("sym_name", ATTR_IS_SYMBOL_NAME),                                      \
                   REQUIRED("function_type", ATTR_IS_FUNCTION_TYPE),                               \
                   OPTIONAL("arg_attrs", ATTR_IS_DICT_ARRAY),                                      \
                   OPTIONAL("res_attrs", ATTR_IS_DICT_ARRAY),                                      \
                   OPTIONAL("sym_visibility", ATTR_IS_STRING)),                                    \
    .regions = REGIONS(BLOCKS("body")), .parse = func_like_parse, .print = func_like_print,        \
    .verify = func_like_verify
#define FUNCTION FUNCTION_PARTS, .traits = FUNCTION_TRAITS

#define OP(ID, NAME, ...)                                                                          \
    [ML_PROGRAM_##ID] = {.id = #ID, .name = NAME, .dialect = &ml_program_dialect, __VA_ARGS__},
const OpDef ml_program_ops[] = {
#include "dialects/ml_program/ml_program_ops.def"
};
#undef OP

static const TypeDef *const TYPE_DEFS[] = {&ml_program_token, NULL};
static const AttrDef *const ATTR_DEFS[] = {&ml_program_extern, NULL};

const DialectDef ml_program_dialect = {
    .name = "ml_program",
    .summary = "Globals of machine learning programs.",
    .has_asm_hooks = true,
    .ops = ml_program_ops,
    .op_count = ML_PROGRAM_OP_COUNT,
    .inlining = INLINE_OPS,
    .types = TYPE_DEFS,
    .attrs = ATTR_DEFS,
};
