/* Names for the printer: spelling of identifiers, uniqueness, groups, what has no name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ir/asm/parse/parse.h"
#include "ir/asm/print/internal.h"
#include "ir/attr/attr.h"

static void expect_sanitized(const char *name, const char *punctuation, bool digit,
                             const char *want)
{
    StrBuf out = {0};
    asm_name_sanitize(&out, str_from(name), punctuation, digit);
    assert_string_equal(out.data, want);
    strbuf_free(&out);
}

static void test_sanitize(void **state)
{
    (void)state;
    expect_sanitized("c0_i32", "$._-", true, "c0_i32");
    expect_sanitized("a b+c", "$._-", true, "a_b2Bc");
    expect_sanitized("0x", "$._-", true, "_0x");
    expect_sanitized("; rm", "$._-", true, "_3B_rm");
    expect_sanitized("map.1", "$_-", false, "map2E1_");
    expect_sanitized("map", "$_-", false, "map");
    expect_sanitized("\xc3\xa9", "$._-", true, "C3A9");
}

static const char *name_results(const Op *op, uint32_t index, StrBuf *scratch)
{
    (void)op;
    (void)scratch;
    static const char *const names[] = {"v", NULL, "w", ""};
    return names[index];
}

static bool any_type(const Type *type)
{
    (void)type;
    return true;
}

static const DialectDef dialect_n;
static const TypeConstraint ANY = {.test = any_type, .what = "any type"};
static const OpDef ops[] = {
    {.id = "NAMED",
     .name = "named",
     .dialect = &dialect_n,
     .results = ARGS({"r", &ANY, ARITY_VARIADIC}),
     .result_name = name_results},
};
static const DialectDef dialect_n = {.name = "n", .ops = ops, .op_count = COUNT_OF(ops)};

static Op *make_op(Context *ctx, const char *name, uint32_t results, Block *block)
{
    const Type *types[8];
    for (uint32_t i = 0; i < results; i++) types[i] = type_i(ctx, 32);
    OpState op = {.name = ident_get_c(ctx, name),
                  .loc = loc_unknown(ctx),
                  .result_types = types,
                  .result_count = results,
                  .region_count = block ? 0 : 1};
    Op *made = op_create(ctx, &op);
    if (block) op_append(made, block);
    return made;
}

static void names_results(const AsmNames *names, const Op *op, const char *want)
{
    StrBuf out = {0};
    asm_names_results(names, &out, op);
    assert_string_equal(out.data, want);
    strbuf_free(&out);
}

static void names_value(const AsmNames *names, const Value *value, const char *want)
{
    StrBuf out = {0};
    asm_names_value(names, &out, value, true);
    assert_string_equal(out.data, want);
    strbuf_free(&out);
}

static void test_groups(void **state)
{
    (void)state;
    Context *ctx = context_create();
    dialect_register(ctx, &dialect_n);
    Op *top = make_op(ctx, "u.top", 0, NULL);
    Block *block = region_add_block(op_region(top, 0));
    Op *first = make_op(ctx, "n.named", 4, block);
    Op *second = make_op(ctx, "n.named", 3, block);
    Op *plain = make_op(ctx, "u.plain", 2, block);
    PrintOptions options = PRINT_DEFAULT;
    AsmNames *names = asm_names_create(top, &options);
    names_results(names, first, "%v:2, %w, %0");
    names_results(names, second, "%v_0:2, %w_1");
    names_results(names, plain, "%1:2");
    names_value(names, op_result(first, 1), "%v#1");
    names_value(names, op_result(first, 2), "%w");
    names_value(names, op_result(plain, 1), "%1#1");
    asm_names_free(names);

    options.generic = true;
    names = asm_names_create(top, &options);
    names_results(names, first, "%0:4");
    names_results(names, second, "%1:3");
    asm_names_free(names);
    op_erase(top);
    context_destroy(ctx);
}

static void test_unknown(void **state)
{
    (void)state;
    Context *ctx = context_create();
    Op *top = make_op(ctx, "u.top", 0, NULL);
    Op *other = make_op(ctx, "u.other", 1, NULL);
    Block *block = region_add_block(op_region(other, 0));
    PrintOptions options = PRINT_DEFAULT;
    AsmNames *names = asm_names_create(top, &options);
    names_value(names, op_result(other, 0), "<<UNKNOWN SSA VALUE>>");
    names_value(names, NULL, "<<NULL VALUE>>");
    StrBuf out = {0};
    asm_names_block(names, &out, block);
    assert_string_equal(out.data, "INVALIDBLOCK");
    strbuf_clear(&out);
    asm_names_op_id(names, &out, other);
    assert_string_equal(out.data, "<<UNKNOWN OPERATION>>");
    strbuf_free(&out);
    asm_names_free(names);
    op_erase(top);
    op_erase(other);
    context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sanitize),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
