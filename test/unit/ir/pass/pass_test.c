/* Pass options, pipelines as text, nesting and running. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "ir/pass/pass.h"
#include "test/unit/toy.h"

static bool run_count(Pass *pass, Op *op)
{
    (void)op;
    pass_count(pass, "runs", 1);
    assert_non_null(arena_alloc(&pass->scratch, 100));
    return !pass_bool(pass, "fail");
}

static const char *const levels[] = {"low", "high", NULL};

static const PassDef pass_first = {
    .name = "first",
    .options = OPTIONS(
        {.name = "size", .kind = OPTION_INT, .fallback = "4", .min = 1, .max = 9},
        {.name = "fail", .kind = OPTION_BOOL},
        {.name = "level", .kind = OPTION_STRING, .fallback = "low", .choices = levels},
        {.name = "numbers", .kind = OPTION_INT_LIST}, {.name = "names", .kind = OPTION_STRING_LIST},
        {.name = "count", .kind = OPTION_UINT, .fallback = "7"},
        {.name = "pipelines", .kind = OPTION_PIPELINE_LIST}),
    .stats = STATS({"runs", "Runs"}),
    .run = run_count,
};

static bool run_nothing(Pass *pass, Op *op)
{
    (void)pass, (void)op;
    return true;
}

static const PassDef pass_inner = {.name = "inner", .anchor = "toy.func", .run = run_nothing};
static const PassDef *const passes[] = {&pass_first, &pass_inner};
static const PassTable table = {passes, COUNT_OF(passes)};

static Pipeline *parse(Toy *toy, const char *text)
{
    return pipeline_from_text(toy->ctx, &table, str_from(text));
}

static void check_text(const char *text, const char *want)
{
    Toy toy;
    StrBuf out = {0};
    toy_init(&toy);
    Pipeline *pipeline = parse(&toy, text);
    assert_non_null(pipeline);
    pipeline_print(pipeline, &out);
    assert_string_equal(out.data, want);
    pipeline_free(pipeline);
    pipeline = parse(&toy, want);
    strbuf_clear(&out);
    pipeline_print(pipeline, &out);
    assert_string_equal(out.data, want);
    pipeline_free(pipeline);
    strbuf_free(&out);
    toy_free(&toy);
}

static void pipelines_print_as_upstream(void **state)
{
    (void)state;
    check_text("toy.func(first)", "toy.func(first{count=7 fail=false level=low    size=4})");
    check_text("any( first{size=2  fail} , toy.func(inner, inner), any(first) )",
               "any(first{count=7 fail=true level=low    size=2},toy.func(inner,inner),"
               "any(first{count=7 fail=false level=low    size=4}))");
    check_text("any(first{names=a,{b,c} numbers=1,-2,0x10 level='high'})",
               "any(first{count=7 fail=false level=high names=a,{b,c} numbers=1,-2,0x10  size=4})");
}

static void check_error(const char *text, const char *want)
{
    Toy toy;
    toy_init(&toy);
    assert_null(parse(&toy, text));
    assert_non_null(strstr(toy.errors.data, want));
    toy_free(&toy);
}

static void errors_are_worded_as_upstream(void **state)
{
    (void)state;
    check_error("any(first{sizes=1})", "<Pass-Options-Parser>: no such option sizes\n\n"
                                       "failed to add `first` with options `sizes=1`\n");
    check_error("any(toy.func(first{size=x}))",
                "for the --size option: 'x' value invalid for long argument!\n"
                "failed to add `first` with options `size=x`\n"
                "failed to add `toy.func` with options `` to inner pipeline\n");
    check_error("any(first{size=10})", "for the --size option: '10' is not between 1 and 9\n");
    check_error("any(first{count=-1})",
                "for the --count option: '-1' value invalid for uint argument!\n");
    check_error("any(first{pipelines=any(nope)})",
                "'nope' does not refer to a registered pass or pass pipeline\n");
    check_error("any(first{fail=x})",
                "for the --fail option: 'x' is invalid value for boolean argument! Try 0 or 1\n");
    check_error("any(first{level=x})", "for the --level option: Cannot find option named 'x'!\n");
    check_error("any(first{names={a,b level=low})",
                "missing closing '}' while processing pass options\n");
    check_error("any(first{names=[a level=low})",
                "for the --names option: unbalanced delimiters in its value\n");
    check_error("any(nope)", "MLIR Textual PassPipeline Parser:1:1: error: 'nope' does not refer "
                             "to a registered pass or pass pipeline\nnope\n^\n");
    check_error("any(first,)", ":1:7: error: '' does not refer to a registered pass");
    check_error("any(any())", "'' does not refer to a registered pass or pass pipeline\n");
    check_error("any(first{size=1)", "missing closing '}' while processing pass options\n");
    check_error("any(first))", "encountered extra closing ')' creating unbalanced parentheses "
                               "while parsing pipeline\nfirst)\n     ^\n");
    check_error("any(any(first)", "encountered unbalanced parentheses while parsing pipeline\n");
    check_error("any(first{}first)", "expected ',' after parsing pipeline\n");
    check_error("first", "expected pass pipeline to be wrapped with the anchor operation type, "
                         "e.g. 'builtin.module(...)'\n");
    check_error("builtin.module(inner)",
                "Can't add pass 'inner' restricted to 'toy.func' on a PassManager intended to run "
                "on 'builtin.module', did you intend to nest?\n");
}

static void null_characters_are_refused(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    assert_null(pipeline_from_text(toy.ctx, &table, STR("an\0y(first)")));
    assert_string_equal(toy.errors.data, "null character in pass pipeline\n");
    toy_free(&toy);
}

static void lists_and_numbers_are_read(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    Pipeline *pipeline = pipeline_create(toy.ctx, &table, "toy.func");
    assert_true(pipeline_add(pipeline, &pass_first, "numbers=3,4 names=x"));
    assert_int_equal(pipeline_pass_count(pipeline), 1);
    pipeline_free(pipeline);
    toy_free(&toy);
}

static void sum_runs(void *user, const Pass *pass, const char *title, int depth)
{
    (void)title, (void)depth;
    if (pass && pass->def == &pass_first) *(uint64_t *)user += pass->stats[0];
}

static void nested_managers_run_on_children(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    for (int i = 0; i < 3; i++) build(&toy.b, TOY(FUNC), NULL, 0, NULL, 0, NULL, 0);
    toy_end(&toy);
    Pipeline *pipeline = parse(&toy, "toy.func(first,toy.func(first,inner),any(first))");
    assert_true(pipeline_run(pipeline, toy.func, NULL));
    uint64_t runs = 0;
    pipeline_each(pipeline, sum_runs, &runs);
    assert_int_equal(runs, 7);
    pipeline_free(pipeline);
    toy_free(&toy);
}

static void a_failing_pass_ends_the_run(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    toy_end(&toy);
    Pipeline *pipeline = parse(&toy, "toy.func(first,first{fail},first)");
    assert_false(pipeline_run(pipeline, toy.func, NULL));
    uint64_t runs = 0;
    pipeline_each(pipeline, sum_runs, &runs);
    assert_int_equal(runs, 2);
    pipeline_free(pipeline);
    pipeline = parse(&toy, "toy.use(first)");
    assert_false(pipeline_run(pipeline, toy.func, NULL));
    assert_string_equal(toy.errors.data, "can't run 'toy.use' pass manager on 'toy.func' op\n");
    pipeline_free(pipeline);
    toy_free(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipelines_print_as_upstream),
        cmocka_unit_test(errors_are_worded_as_upstream),
        cmocka_unit_test(null_characters_are_refused),
        cmocka_unit_test(lists_and_numbers_are_read),
        cmocka_unit_test(nested_managers_run_on_children),
        cmocka_unit_test(a_failing_pass_ends_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
