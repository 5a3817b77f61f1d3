/* What the verifier says of ops that the dialects cannot have, as their own rows exclude it before: a
 * dialect whose ops have a trait each. The messages are those of MLIR's OpDefinition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "dialects/dialects.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "ir/verify/verify.h"

static const DialectDef rule_dialect;

static bool infer_words(Op *op, const Type **types)
{
    for (uint32_t i = 0; i < op->result_count; i++) types[i] = type_i(op->ctx, 32);
    return op->operand_count == 0;
}

#define VALUES                                                                                     \
    {                                                                                              \
        .name = "values", .type = &TYPE_ANY, .arity = ARITY_VARIADIC                               \
    }

static const OpDef rule_ops[] = {
    {.name = "end", .dialect = &rule_dialect, .traits = TRAIT_PURE | TRAIT_TERMINATOR},
    {.name = "stop", .dialect = &rule_dialect, .traits = TRAIT_PURE | TRAIT_TERMINATOR},
    {.name = "go",
     .dialect = &rule_dialect,
     .successor_count = 1,
     .traits = TRAIT_PURE | TRAIT_TERMINATOR},
    {.name = "inputs",
     .dialect = &rule_dialect,
     .operands = ARGS(VALUES),
     .traits = TRAIT_SAME_OPERANDS_ELEMENT_TYPE},
    {.name = "all",
     .dialect = &rule_dialect,
     .operands = ARGS(VALUES),
     .results = ARGS(VALUES),
     .traits = TRAIT_SAME_OPERANDS_AND_RESULT_ELEMENT_TYPE},
    {.name = "mapped",
     .dialect = &rule_dialect,
     .operands = ARGS(VALUES),
     .results = ARGS(VALUES),
     .traits = TRAIT_ELEMENTWISE},
    {.name = "child", .dialect = &rule_dialect, .parent = "rule.single|rule.table"},
    {.name = "inferred",
     .dialect = &rule_dialect,
     .operands = ARGS(VALUES),
     .results = ARGS(VALUES),
     .infer = infer_words},
    {.name = "pair",
     .dialect = &rule_dialect,
     .regions = REGIONS({.name = "first", .any_blocks = true}, {.name = "second"})},
    {.name = "table",
     .dialect = &rule_dialect,
     .regions = REGIONS({.name = "one", .any_blocks = true}),
     .traits = TRAIT_SYMBOL_TABLE},
    {.name = "tables",
     .dialect = &rule_dialect,
     .regions = REGIONS({.name = "one", .any_blocks = true}, {.name = "two", .any_blocks = true}),
     .traits = TRAIT_SYMBOL_TABLE},
    {.name = "symbol", .dialect = &rule_dialect, .traits = TRAIT_SYMBOL},
    {.name = "function",
     .dialect = &rule_dialect,
     .regions = REGIONS({.name = "body", .any_blocks = true}),
     .traits = TRAIT_SYMBOL | TRAIT_FUNCTION},
    {.name = "single",
     .dialect = &rule_dialect,
     .regions = REGIONS({.name = "body", .any_blocks = true}),
     .implicit_terminator = "rule.end",
     .traits = TRAIT_SINGLE_BLOCK},
    {.name = "graph",
     .dialect = &rule_dialect,
     .regions = REGIONS({.name = "body", .any_blocks = true}),
     .traits = TRAIT_GRAPH_REGION},
};

static const DialectDef rule_dialect = {
    .name = "rule", .ops = rule_ops, .op_count = COUNT_OF(rule_ops)};

static void collect(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                    size_t note_count)
{
    StrBuf *out = user;
    (void)ctx;
    strbuf_add_str(out, diag->text);
    for (size_t i = 0; i < note_count; i++)
        if (!str_starts_with(notes[i].text, "see current operation"))
            strbuf_printf(out, "|%.*s", STR_ARG(notes[i].text));
}

/* The errors of the module's text, one behind the other. */
static void expect(const char *text, const char *errors)
{
    StrBuf out = {0};
    Context *ctx = context_create();
    dialects_register_all(ctx);
    dialect_register(ctx, &rule_dialect);
    diag_set_handler(ctx, collect, &out, NULL, NULL);
    Op *module = parse_module(ctx, str_from(text), STR("test"), NULL);
    bool ok = module && verify_op(module);
    diag_flush(ctx);
    assert_string_equal(out.data ? out.data : "", errors);
    assert_int_equal(ok, *errors == '\0');
    if (module) op_erase(module);
    context_destroy(ctx);
    strbuf_free(&out);
}

static const char a_function[] =
    "func.func @f(%%a: tensor<2xi8>, %%b: tensor<2xi16>, %%s: i8) {\n  %s\n  return\n}\n";

/* An op in a function of two tensors and a number. */
static void expect_op(const char *op, const char *errors)
{
    StrBuf text = {0};
    strbuf_printf(&text, a_function, op);
    expect(text.data, errors);
    strbuf_free(&text);
}

static void element_types(void **state)
{
    (void)state;
    expect_op("\"rule.inputs\"(%a, %s) : (tensor<2xi8>, i8) -> ()", "");
    expect_op("\"rule.inputs\"(%a, %b) : (tensor<2xi8>, tensor<2xi16>) -> ()",
              "'rule.inputs' op requires the same element type for all operands");
    expect_op("%r = \"rule.all\"(%a, %s) : (tensor<2xi8>, i8) -> tensor<3xi8>", "");
    expect_op("%r = \"rule.all\"(%a, %a) : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi16>",
              "'rule.all' op requires the same element type for all operands and results");
}

static void elements(void **state)
{
    (void)state;
    expect_op("%r = \"rule.mapped\"(%a, %s) : (tensor<2xi8>, i8) -> tensor<2xi1>", "");
    expect_op("%r = \"rule.mapped\"(%s) : (i8) -> tensor<2xi8>",
              "'rule.mapped' op if a result is non-scalar, then at least one operand must be "
              "non-scalar");
    expect_op("%r = \"rule.mapped\"(%a) : (tensor<2xi8>) -> i8",
              "'rule.mapped' op if an operand is non-scalar, then there must be at least one "
              "non-scalar result");
    expect_op("%r:2 = \"rule.mapped\"(%a) : (tensor<2xi8>) -> (tensor<2xi8>, i8)",
              "'rule.mapped' op if an operand is non-scalar, then all results must be non-scalar");
    expect_op("%r = \"rule.mapped\"(%a) : (tensor<2xi8>) -> tensor<3xi8>",
              "'rule.mapped' op all non-scalar operands/results must have the same shape and base "
              "type");
}

static void parents(void **state)
{
    (void)state;
    expect(
        "\"rule.single\"() ({ \"rule.child\"() : () -> () \"rule.end\"() : () -> () }) : () -> ()",
        "");
    expect("\"rule.child\"() : () -> ()",
           "'rule.child' op expects parent op to be one of 'rule.single, rule.table'");
}

static void inferred_types(void **state)
{
    (void)state;
    expect("%r:2 = \"rule.inferred\"() : () -> (i32, i32)", "");
    expect(
        "%r:2 = \"rule.inferred\"() : () -> (i32, i8)",
        "'rule.inferred' op inferred type(s) 'i32', 'i32' are incompatible with return type(s) of "
        "operation 'i32', 'i8'");
    expect_op("%r = \"rule.inferred\"(%s) : (i8) -> i32",
              "'rule.inferred' op failed to infer returned types");
}

static void regions(void **state)
{
    (void)state;
    expect("\"rule.pair\"() ({}, { \"rule.end\"() : () -> () }) : () -> ()", "");
    expect("\"rule.pair\"() ({}) : () -> ()", "'rule.pair' op expected 2 regions");
    expect(
        "\"rule.pair\"() ({}, {}) : () -> ()",
        "'rule.pair' op region #1 ('second') failed to verify constraint: region with at least 1 "
        "blocks");
    expect(
        "\"rule.graph\"() ({ ^a: \"rule.end\"() : () -> () ^b: \"rule.end\"() : () -> () }) : () "
        "-> ()",
        "'rule.graph' op expects graph region #0 to have 0 or 1 blocks");
    expect("\"rule.single\"() ({ ^a: }) : () -> ()", "'rule.single' op expects a non-empty block");
    expect(
        "\"rule.single\"() ({ ^a: \"rule.go\"()[^b] : () -> () ^b: \"rule.end\"() : () -> () }) : "
        "() -> ()",
        "'rule.single' op expects region #0 to have 0 or 1 blocks");
    expect("\"rule.single\"() ({ \"rule.table\"() ({^a:}) : () -> () \"cf.br\"()[^b] : () -> () "
           "^b: }) : () -> ()",
           "'rule.single' op expects region #0 to have 0 or 1 blocks");
    expect(
        "func.func @f() { \"rule.single\"() ({ \"func.return\"() : () -> () }) : () -> () return }",
        "'func.return' op expects parent op 'func.func'");
}

static void implicit_terminators(void **state)
{
    (void)state;
    expect("\"rule.single\"() ({ \"ml_program.output\"() : () -> () }) : () -> ()",
           "'ml_program.output' op expects parent op 'ml_program.subgraph'");
    expect("\"rule.single\"() ({ \"rule.stop\"() : () -> () }) : () -> ()",
           "'rule.single' op expects regions to end with 'rule.end', found 'rule.stop'|in custom "
           "textual format, the absence of terminator implies 'rule.end'");
}

static void symbols(void **state)
{
    (void)state;
    expect("\"rule.tables\"() ({\"rule.end\"() : () -> ()}, {}) : () -> ()",
           "'rule.tables' op Operations with a 'SymbolTable' must have exactly one region");
    expect("\"rule.table\"() ({}) : () -> ()",
           "'rule.table' op Operations with a 'SymbolTable' must have exactly one block");
    expect("\"rule.symbol\"() {sym_name = \"a\"} : () -> ()", "");
    expect("\"rule.symbol\"() : () -> ()", "'rule.symbol' op requires string attribute 'sym_name'");
    expect("\"rule.symbol\"() {sym_name = 3 : i8} : () -> ()",
           "'rule.symbol' op requires string attribute 'sym_name'");
    expect("\"rule.symbol\"() {sym_name = \"a\", sym_visibility = 3 : i8} : () -> ()",
           "'rule.symbol' op requires visibility attribute 'sym_visibility' to be a string "
           "attribute, but got 3 : i8");
    expect(
        "\"rule.symbol\"() {sym_name = \"a\", sym_visibility = \"secret\"} : () -> ()",
        "'rule.symbol' op visibility expected to be one of [\"public\", \"private\", \"nested\"], "
        "but got \"secret\"");
    expect(
        "\"rule.symbol\"() {sym_name = \"a\"} : () -> () \"rule.symbol\"() {sym_name = \"a\"} : () "
        "-> ()",
        "redefinition of symbol named 'a'|see existing symbol definition here");
}

static void functions(void **state)
{
    (void)state;
    static const char form[] =
        "\"rule.function\"() ({%s}) {sym_name = \"a\", sym_visibility = \"private\"%s} : () -> ()";
    static const struct {
        const char *body, *attributes, *error;
    } cases[] = {
        {"", ", function_type = (i8) -> ()", ""},
        {"", "", "'rule.function' op requires attribute 'function_type'"},
        {"", ", function_type = i8", "'rule.function' op requires attribute 'function_type'"},
        {"", ", function_type = (i8) -> (), arg_attrs = [3 : i8]",
         "'rule.function' op expects argument attribute dictionary to be a DictionaryAttr, but got "
         "`3 : i8`"},
        {"", ", function_type = () -> i8, res_attrs = []",
         "'rule.function' op expects result attribute array to have the same number of elements as "
         "the number of function results, got 0, but expected 1"},
        {"^a: \"rule.end\"() : () -> ()", ", function_type = (i8) -> ()",
         "'rule.function' op entry block must have 1 arguments to match function signature"},
        {"^a(%x: i16): \"rule.end\"() : () -> ()", ", function_type = (i8) -> ()",
         "'rule.function' op type of entry block argument #0('i16') must match the type of the "
         "corresponding argument in function signature('i8')"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        StrBuf text = {0};
        strbuf_printf(&text, form, cases[i].body, cases[i].attributes);
        expect(text.data, cases[i].error);
        strbuf_free(&text);
    }
}

/* What no text can say: a block of another region as a successor. */
static void foreign_blocks(void **state)
{
    (void)state;
    StrBuf out = {0};
    Context *ctx = context_create();
    dialects_register_all(ctx);
    dialect_register(ctx, &rule_dialect);
    diag_set_handler(ctx, collect, &out, NULL, NULL);
    Op *module = parse_module(
        ctx,
        STR("\"rule.pair\"() ({ ^a: \"rule.go\"()[^b] : () -> () ^b: \"rule.end\"() : () -> () }, {"
            " ^a: \"rule.go\"()[^b] : () -> () ^b: \"rule.end\"() : () -> () }) : () -> ()"),
        STR("test"), NULL);
    assert_non_null(module);
    Op *pair = region_entry(op_region(module, 0))->first;
    Op *go = region_entry(op_region(pair, 0))->first;
    op_set_successor(go, 0, region_entry(op_region(pair, 1))->next);
    assert_false(verify_op(module));
    diag_flush(ctx);
    assert_string_equal(out.data, "'rule.go' op reference to block defined in another region");
    op_erase(module);
    context_destroy(ctx);
    strbuf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(element_types),  cmocka_unit_test(elements),
        cmocka_unit_test(parents),        cmocka_unit_test(inferred_types),
        cmocka_unit_test(regions),        cmocka_unit_test(implicit_terminators),
        cmocka_unit_test(symbols),        cmocka_unit_test(functions),
        cmocka_unit_test(foreign_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
