/* Dialect conversion: legality, recursion, failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ir/rewrite/rewrite.h"
#include "test/unit/toy.h"

static Legality old_is_illegal(const Op *op, void *user)
{
    (void)user;
    return op->def == TOY(OLD) ? ILLEGAL : LEGAL_IF_ASKED;
}

static const char *const toy_names[] = {"toy", NULL};
static const ConversionTarget no_old = {.legal_dialects = toy_names, .op_legality = old_is_illegal};
static const ConversionTarget no_old_partial = {.op_legality = old_is_illegal, .partial = true};

/* old(const) -> old(add(const, const)) */
static bool double_old(Rewriter *rw, Op *op, void *user)
{
    int *rewrites = user;
    Value *x = op_operand(op, 0);
    if (value_def(x)->def != TOY(CONST)) return false;
    ++*rewrites;
    x = build_unary(&rw->b, TOY(OLD), x->type, build_binary(&rw->b, TOY(ADD), x->type, x, x));
    rewriter_replace_one(rw, op, x);
    return true;
}

/* old(x) -> x */
static bool drop_old(Rewriter *rw, Op *op, void *user)
{
    int *rewrites = user;
    ++*rewrites;
    rewriter_replace_one(rw, op, op_operand(op, 0));
    return true;
}

/* Builds something and gives up. */
static bool waste(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    (void)build_unary(&rw->b, TOY(NEG), op_operand(op, 0)->type, op_operand(op, 0));
    return false;
}

static bool never_ends(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *x = op_operand(op, 0);
    rewriter_replace_one(rw, op, build_unary(&rw->b, TOY(OLD), x->type, x));
    return true;
}

static void start(Toy *toy, PatternSet *set)
{
    toy_init(toy);
    toy_use(toy, build_unary(&toy->b, TOY(OLD), toy->i32, toy_const(toy, 4)));
    toy_end(toy);
    patterns_init(set, toy->ctx);
}

static void what_is_built_is_converted(void **state)
{
    (void)state;
    Toy toy;
    PatternSet set;
    StrBuf text = {0};
    int rewrites = 0;
    start(&toy, &set);
    set.user = &rewrites;
    pattern_add(&set, "double", TOY(OLD), 2, double_old);
    pattern_add(&set, "drop", TOY(OLD), 1, drop_old);
    assert_true(conversion_apply(toy.func, &set, &no_old));
    assert_int_equal(rewrites, 2);
    assert_string_equal(toy_text(&toy, &text), "const add use end");
    patterns_free(&set);
    strbuf_free(&text);
    toy_free(&toy);
}

static void what_stays_illegal_is_named(void **state)
{
    (void)state;
    Toy toy;
    PatternSet set;
    start(&toy, &set);
    assert_false(conversion_apply(toy.func, &set, &no_old));
    assert_string_equal(toy.errors.data, "failed to legalize operation 'toy.old'\n");
    assert_false(conversion_apply(toy.func, &set, &no_old_partial));
    assert_string_equal(
        toy.errors.data,
        "failed to legalize operation 'toy.old'\n"
        "failed to legalize operation 'toy.old' that was explicitly marked illegal\n");
    patterns_free(&set);
    toy_free(&toy);
}

/* What a pattern built before it gave up is gone, whether another applies or none. */
static void failures_are_taken_back(void **state)
{
    (void)state;
    Toy toy;
    PatternSet set;
    StrBuf text = {0};
    int rewrites = 0;
    start(&toy, &set);
    set.user = &rewrites;
    pattern_add(&set, "waste", TOY(OLD), 3, waste);
    assert_false(conversion_apply(toy.func, &set, &no_old));
    assert_string_equal(toy_text(&toy, &text), "const old use end");
    pattern_add(&set, "drop", TOY(OLD), 1, drop_old);
    assert_true(conversion_apply(toy.func, &set, &no_old));
    assert_string_equal(toy_text(&toy, &text), "const use end");
    patterns_free(&set);
    strbuf_free(&text);
    toy_free(&toy);
}

/* Until the end, patterns see what was there before: a replaced op still defines its result. */
static bool count_olds(Rewriter *rw, Op *op, void *user)
{
    int *olds = user;
    Value *x = op_operand(op, 0);
    *olds += value_def(x)->def == TOY(OLD);
    rewriter_replace_one(rw, op, conversion_remap(rw, x, NULL));
    return true;
}

static void the_source_stays_until_the_end(void **state)
{
    (void)state;
    Toy toy;
    PatternSet set;
    StrBuf text = {0};
    int olds = 0;
    toy_init(&toy);
    Value *x = build_unary(&toy.b, TOY(OLD), toy.i32, toy_const(&toy, 4));
    toy_use(&toy, build_unary(&toy.b, TOY(OLD), toy.i32, x));
    toy_end(&toy);
    patterns_init(&set, toy.ctx);
    set.user = &olds;
    pattern_add(&set, "count", TOY(OLD), 1, count_olds);
    assert_true(conversion_apply(toy.func, &set, &no_old));
    assert_int_equal(olds, 1);
    assert_string_equal(toy_text(&toy, &text), "const use end");
    patterns_free(&set);
    strbuf_free(&text);
    toy_free(&toy);
}

static void unknown_ops_stay_only_if_partial(void **state)
{
    (void)state;
    Toy toy;
    PatternSet set;
    start(&toy, &set);
    assert_true(conversion_apply(toy.func, &set, &(ConversionTarget){.partial = true}));
    assert_false(conversion_apply(toy.func, &set, &(ConversionTarget){.partial = false}));
    assert_string_equal(toy.errors.data, "failed to legalize operation 'toy.const'\n");
    patterns_free(&set);
    toy_free(&toy);
}

static void no_pattern_feeds_itself(void **state)
{
    (void)state;
    Toy toy;
    PatternSet set;
    start(&toy, &set);
    pattern_add(&set, "again", TOY(OLD), 1, never_ends);
    assert_false(conversion_apply(toy.func, &set, &no_old));
    patterns_free(&set);
    toy_free(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_built_is_converted),
        cmocka_unit_test(what_stays_illegal_is_named),
        cmocka_unit_test(unknown_ops_stay_only_if_partial),
        cmocka_unit_test(no_pattern_feeds_itself),
        cmocka_unit_test(failures_are_taken_back),
        cmocka_unit_test(the_source_stays_until_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
