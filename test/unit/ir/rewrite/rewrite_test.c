/* The greedy driver, folding, dead code, region clean-up and pattern order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "test/unit/toy.h"

static bool greedy(Toy *toy, PatternSet *set)
{
    bool changed;
    assert_true(rewrite_greedy(toy->func, set, NULL, &changed));
    return changed;
}

static void constants_fold_and_are_shared(void **state)
{
    (void)state;
    Toy toy;
    StrBuf text = {0};
    toy_init(&toy);
    toy_use(&toy, toy_const(&toy, 0));
    Value *sum = toy_add(&toy, toy_const(&toy, 2), toy_const(&toy, 3));
    toy_use(&toy, sum);
    Op *last = toy_use(&toy, toy_const(&toy, 5));
    toy_end(&toy);
    PatternSet set;
    patterns_init(&set, toy.ctx);
    assert_true(greedy(&toy, &set));
    assert_string_equal(toy_text(&toy, &text), "const const use use use end");
    assert_ptr_equal(op_operand(last, 0), op_operand(last->prev, 0));
    assert_int_equal(attr_int_value(fold_constant_of(op_operand(last, 0))), 5);
    assert_false(greedy(&toy, &set));
    patterns_free(&set);
    strbuf_free(&text);
    toy_free(&toy);
}

/* add(c, x) -> add(x, c); neg(neg(x)) -> x; add(x, 0) -> x */
static void traits_fold(void **state)
{
    (void)state;
    Toy toy;
    StrBuf text = {0};
    toy_init(&toy);
    Value *arg = block_add_arg(region_entry(op_region(toy.func, 0)), toy.i32, NULL);
    Value *neg =
        build_unary(&toy.b, TOY(NEG), toy.i32, build_unary(&toy.b, TOY(NEG), toy.i32, arg));
    Value *sum = toy_add(&toy, toy_const(&toy, 7), toy_add(&toy, toy_const(&toy, 0), neg));
    toy_use(&toy, sum);
    toy_end(&toy);
    PatternSet set;
    patterns_init(&set, toy.ctx);
    assert_true(greedy(&toy, &set));
    assert_string_equal(toy_text(&toy, &text), "const add use end");
    assert_ptr_equal(op_operand(value_def(sum), 0), arg);
    patterns_free(&set);
    strbuf_free(&text);
    toy_free(&toy);
}

static bool log_any(Rewriter *rw, Op *op, void *user)
{
    (void)rw, (void)op;
    strbuf_add_c(user, "any ");
    return false;
}

static bool log_low(Rewriter *rw, Op *op, void *user)
{
    (void)rw, (void)op;
    strbuf_add_c(user, "low ");
    return false;
}

static bool log_high(Rewriter *rw, Op *op, void *user)
{
    (void)rw, (void)op;
    strbuf_add_c(user, "high ");
    return false;
}

static void patterns_come_by_benefit(void **state)
{
    (void)state;
    Toy toy;
    StrBuf log = {0};
    toy_init(&toy);
    build(&toy.b, TOY(USE), NULL, 0, NULL, 0, NULL, 0);
    PatternSet set;
    patterns_init(&set, toy.ctx);
    set.user = &log;
    pattern_add(&set, "any", NULL, 2, log_any);
    pattern_add(&set, "low", TOY(USE), 1, log_low);
    pattern_add(&set, "high", TOY(USE), 2, log_high);
    assert_false(greedy(&toy, &set));
    assert_string_equal(log.data, "high any low ");
    patterns_free(&set);
    strbuf_free(&log);
    toy_free(&toy);
}

/* old(x) -> add(x, x), replacing through the rewriter. */
static bool rewrite_old(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *x = op_operand(op, 0);
    rewriter_replace_one(rw, op, build_binary(&rw->b, TOY(ADD), x->type, x, x));
    return true;
}

static void what_patterns_build_is_folded(void **state)
{
    (void)state;
    Toy toy;
    StrBuf text = {0};
    toy_init(&toy);
    Value *old = build_unary(&toy.b, TOY(OLD), toy.i32, toy_const(&toy, 4));
    Op *use = toy_use(&toy, old);
    toy_end(&toy);
    PatternSet set;
    patterns_init(&set, toy.ctx);
    pattern_add(&set, "old", TOY(OLD), 1, rewrite_old);
    assert_true(greedy(&toy, &set));
    assert_string_equal(toy_text(&toy, &text), "const use end");
    assert_int_equal(attr_int_value(fold_constant_of(op_operand(use, 0))), 8);
    patterns_free(&set);
    strbuf_free(&text);
    toy_free(&toy);
}

static bool rebuild_old(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *x = op_operand(op, 0);
    rewriter_replace_one(rw, op, build_unary(&rw->b, TOY(OLD), x->type, x));
    return true;
}

static void endless_rewriting_is_cut_off(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    toy_use(&toy, build_unary(&toy.b, TOY(OLD), toy.i32, toy_const(&toy, 4)));
    toy_end(&toy);
    PatternSet set;
    patterns_init(&set, toy.ctx);
    pattern_add(&set, "old", TOY(OLD), 1, rebuild_old);
    GreedyOptions options = {.max_rounds = 3, .max_rewrites = 5};
    assert_false(rewrite_greedy(toy.func, &set, &options, NULL));
    assert_false(rewrite_greedy(toy.func, &set, NULL, NULL));
    patterns_free(&set);
    toy_free(&toy);
}

static Block *branch(Toy *toy, Block *from, Block *to, Value *value)
{
    const Ident *br = opinfo_of_def(toy->ctx, TOY(BR))->name;
    builder_set_end(&toy->b, from);
    build_op(&toy->b, &(OpState){.name = br,
                                 .successors = &to,
                                 .successor_count = 1,
                                 .operands = &value,
                                 .operand_count = 1});
    return to;
}

/* A loop that only carries its own argument round: argument and operand go, and the block that
 * nothing reaches. */
static void dead_arguments_go(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    Region *body = op_region(toy.func, 0);
    Block *entry = body->first, *loop = region_add_block(body), *lost = region_add_block(body);
    Value *carried = block_add_arg(loop, toy.i32, NULL);
    Value *start = toy_const(&toy, 1);
    branch(&toy, entry, loop, start);
    builder_set_end(&toy.b, loop);
    Value *next = toy_add(&toy, carried, carried);
    branch(&toy, loop, loop, next);
    branch(&toy, lost, loop, start);
    PatternSet set;
    patterns_init(&set, toy.ctx);
    assert_true(greedy(&toy, &set));
    assert_ptr_equal(body->last, loop);
    assert_int_equal(loop->arg_count, 0);
    assert_int_equal(loop->last->operand_count, 0);
    assert_ptr_equal(loop->first, loop->last);
    assert_ptr_equal(entry->first, entry->last);
    patterns_free(&set);
    toy_free(&toy);
}

static void dead_ops_go_from_the_end(void **state)
{
    (void)state;
    Toy toy;
    StrBuf text = {0};
    toy_init(&toy);
    Value *one = toy_const(&toy, 1);
    toy_add(&toy, one, toy_add(&toy, one, one));
    toy_end(&toy);
    assert_true(rewrite_erase_dead_ops(toy.func));
    assert_string_equal(toy_text(&toy, &text), "end");
    assert_false(rewrite_erase_dead_ops(toy.func));
    strbuf_free(&text);
    toy_free(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_fold_and_are_shared),
        cmocka_unit_test(traits_fold),
        cmocka_unit_test(patterns_come_by_benefit),
        cmocka_unit_test(what_patterns_build_is_folded),
        cmocka_unit_test(endless_rewriting_is_cut_off),
        cmocka_unit_test(dead_arguments_go),
        cmocka_unit_test(dead_ops_go_from_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
