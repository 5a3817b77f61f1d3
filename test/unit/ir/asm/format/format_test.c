/* Assembly formats: what each element parses and prints, blanks included. The ops belong to a
 * dialect of this file; texts must survive parsing and printing unchanged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "ir/asm/format/format.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"

static bool any_type(const Type *type)
{
    (void)type;
    return true;
}

static bool is_index(const Type *type)
{
    return type->kind == TYPE_INDEX;
}

static const TypeConstraint ANY = {.test = any_type, .what = "any type"};
static const TypeConstraint INDEX = {.test = is_index, .what = "index", .only = type_index};

static bool any_attr(const Attr *attr)
{
    (void)attr;
    return true;
}

static const Type *type_i64(Context *ctx)
{
    return type_i(ctx, 64);
}

static const char *const colours[] = {"red", "green", "blue", NULL};
static const AttrConstraint ATTR = {.test = any_attr, .what = "any attribute"};
static const AttrConstraint UNIT = {.test = any_attr, .what = "unit", .syntax = ATTR_SYNTAX_UNIT};
static const AttrConstraint NAME = {
    .test = any_attr, .what = "name", .syntax = ATTR_SYNTAX_SYMBOL_NAME};
static const AttrConstraint NUMBER = {
    .test = any_attr, .what = "number", .syntax = ATTR_SYNTAX_BARE_INT, .bare_type = type_i64};
static const AttrConstraint COLOUR = {.test = any_attr,
                                      .what = "colour",
                                      .syntax = ATTR_SYNTAX_ENUM,
                                      .bare_type = type_i64,
                                      .enum_names = colours};

static bool infer_first(Op *op, const Type **results)
{
    results[0] = op_operand(op, 0)->type;
    return true;
}

static const DialectDef dialect_t;

#define ROW(NAME, FORMAT, ...)                                                                     \
    {                                                                                              \
        .id = NAME, .name = NAME, .dialect = &dialect_t, .format = FORMAT, __VA_ARGS__             \
    }

static const OpDef ops[] = {
    ROW("same", "$a `,` $b attr-dict `:` type($r)",
        .operands = ARGS({"a", &ANY, ARITY_ONE}, {"b", &ANY, ARITY_ONE}),
        .results = ARGS({"r", &ANY, ARITY_ONE}), .traits = TRAIT_SAME_OPERANDS_AND_RESULT_TYPE),
    ROW("only", "$a `[` $i `]` attr-dict `:` type($a)",
        .operands = ARGS({"a", &ANY, ARITY_ONE}, {"i", &INDEX, ARITY_VARIADIC}),
        .results = ARGS({"r", &ANY, ARITY_ONE}), .infer = infer_first),
    ROW("functional", "`(` $a `)` attr-dict `:` functional-type($a, results)",
        .operands = ARGS({"a", &ANY, ARITY_VARIADIC}),
        .results = ARGS({"r", &ANY, ARITY_VARIADIC})),
    ROW("operands", "operands attr-dict `:` type(operands)",
        .operands = ARGS({"a", &ANY, ARITY_VARIADIC})),
    ROW("groups", "(`to` $a^ `:` type($a))? (`from` $b^ `:` type($b))? attr-dict",
        .operands = ARGS({"a", &ANY, ARITY_OPTIONAL}, {"b", &ANY, ARITY_VARIADIC}),
        .traits = TRAIT_ATTR_SIZED_OPERANDS),
    ROW("attrs", "$colour (`fast` $fast^)? (`<` $n^ `>`)? (`is` $x^)? attr-dict",
        .attrs =
            ATTRS({"colour", &COLOUR, false, NULL}, {"fast", &UNIT, true, NULL},
                  {"n", &NUMBER, true, NULL}, {"x", &ATTR, true, NULL}, {"d", &NUMBER, true, "7"})),
    ROW("either", "(`yes` $on^) : (`no`)? attr-dict", .attrs = ATTRS({"on", &UNIT, true, NULL})),
    ROW("props", "$colour prop-dict attr-dict",
        .attrs = ATTRS({"colour", &COLOUR, false, NULL}, {"x", &ATTR, true, NULL})),
    ROW("named", "$sym attr-dict-with-keyword", .attrs = ATTRS({"sym", &NAME, false, NULL})),
    ROW("body", "attr-dict-with-keyword $first (`else` $second^)?",
        .regions = REGIONS({"first", false, true}, {"second", false, true})),
    ROW("list", "$a `` custom<DynamicIndexList>($i, $c) attr-dict `:` type($a)",
        .operands = ARGS({"a", &ANY, ARITY_ONE}, {"i", &INDEX, ARITY_VARIADIC}),
        .attrs = ATTRS({"c", &ATTR, false, NULL})),
    ROW("tight", "`a` `` `<` `>` `b` `(` $a `)` ` ` `->` `{` type($a) `}` attr-dict",
        .operands = ARGS({"a", &ANY, ARITY_ONE})),
};

static const DialectDef dialect_t = {.name = "t", .ops = ops, .op_count = COUNT_OF(ops)};

static void keep_text(void *user, Context *ctx, const Diag *diag, const Diag *notes, size_t count)
{
    (void)ctx;
    (void)notes;
    (void)count;
    StrBuf *text = user;
    strbuf_clear(text);
    strbuf_add_str(text, diag->text);
}

/* Parses "%x = producers" and the text, prints the last op again; message on failure. */
static void reprint(const char *text, StrBuf *out)
{
    Context *ctx = context_create();
    dialect_register(ctx, &dialect_t);
    dialect_allow_unregistered(ctx, true);
    diag_set_handler(ctx, keep_text, out, NULL, NULL);
    StrBuf source = {0};
    strbuf_printf(
        &source,
        "\"u.block\"() ({\n^bb0(%%arg0: index, %%arg1: i32, %%arg2: i32):\n%s\n}) : () -> ()",
        text);
    ParseOptions options = {.no_implicit_module = true, .skip_verify = true};
    Op *top = parse_module(ctx, strbuf_str(&source), STR("test"), &options);
    diag_flush(ctx);
    if (top) {
        PrintOptions printing = PRINT_DEFAULT;
        printing.local_scope = true;
        strbuf_clear(out);
        op_print(out, op_region(top, 0)->first->last, &printing);
        op_erase(top);
    }
    strbuf_free(&source);
    context_destroy(ctx);
}

static void expect(const char *text, const char *want)
{
    StrBuf out = {0};
    reprint(text, &out);
    assert_string_equal(out.data, want);
    strbuf_free(&out);
}

/* Prints as it was written. */
static void survives(const char *text)
{
    expect(text, text);
}

static void test_types(void **state)
{
    (void)state;
    survives("%0 = t.same %arg1, %arg2 : i32");
    survives("%0 = t.same %arg1, %arg2 {k = 1 : i8} : i32");
    survives("%0 = t.only %arg1[%arg0, %arg0] : i32");
    survives("%0 = t.only %arg1[] : i32");
    survives("t.functional() : () -> ()");
    survives("%0:2 = t.functional(%arg1, %arg0) {k} : (i32, index) -> (f32, f64)");
    survives("%0 = t.functional(%arg1) : (i32) -> (() -> ())");
    survives("t.operands %arg1, %arg0 : i32, index");
}

static void test_groups(void **state)
{
    (void)state;
    survives("t.groups");
    survives("t.groups to %arg1 : i32");
    survives("t.groups from %arg1, %arg2 : i32, i32 {k = \"v\"}");
    survives("t.groups to %arg0 : index from %arg1 : i32");
    survives("t.either yes");
    survives("t.either no {k}");
}

static void test_attributes(void **state)
{
    (void)state;
    survives("t.attrs green");
    survives("t.attrs red fast");
    survives("t.attrs blue<-3> {k}");
    survives("t.attrs blue fast<5> is [1, \"x\"]");
    survives("t.attrs red {d = 8 : i64}");
    expect("t.attrs red {d = 7 : i64}", "t.attrs red");
    expect("t.attrs \"red\"", "t.attrs red");
    survives("t.named @\"a b\" attributes {k = 2 : i64}");
    survives("t.named @x");
    survives("t.props red <{x = 1 : i8}> {k}");
    survives("t.props blue");
}

static void test_regions(void **state)
{
    (void)state;
    survives("t.body {\n}");
    survives(
        "t.body attributes {k} {\n  \"u.x\"() : () -> ()\n} else {\n  \"u.y\"() : () -> ()\n}");
}

static void test_index_lists(void **state)
{
    (void)state;
    survives("t.list %arg1[%arg0, 4, -1] : i32");
    survives("t.list %arg1[] {k} : i32");
}

static void test_blanks(void **state)
{
    (void)state;
    survives("t.tight a<> b(%arg1) -> {i32}");
}

static void test_errors(void **state)
{
    (void)state;
    expect("t.same %arg1 %arg2 : i32", "expected ','");
    expect("%0 = t.same %arg1, %arg0 : i32",
           "use of value '%arg0' expects different type than prior uses: 'i32' vs 'index'");
    expect("t.attrs \"purple\"",
           "custom op 't.attrs' invalid colour attribute specification: \"purple\"");
    expect("t.attrs 3",
           "custom op 't.attrs' expected string or keyword containing one of the following enum "
           "values for attribute 'colour' [red, green, blue]");
    expect("t.list %arg1[:] : i32", "custom op 't.list' expected SSA value or integer");
    expect("t.functional(%arg1) : () -> ()",
           "custom op 't.functional' 1 operands present, but expected 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),       cmocka_unit_test(test_groups),
        cmocka_unit_test(test_attributes),  cmocka_unit_test(test_regions),
        cmocka_unit_test(test_index_lists), cmocka_unit_test(test_blanks),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
