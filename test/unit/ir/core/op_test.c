/* Ops, use lists, order within blocks, walks and clones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ir/verify/verify.h"
#include "test/unit/random.h"
#include "test/unit/toy.h"

static Block *entry_of(const Toy *toy)
{
    return region_entry(op_region(toy->func, 0));
}

static void uses_are_newest_first(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    Value *value = toy_const(&toy, 1);
    Op *first = toy_use(&toy, value), *second = toy_use(&toy, value);
    assert_ptr_equal(value->uses->owner, second);
    assert_ptr_equal(value->uses->next->owner, first);
    assert_int_equal(value_use_count(value), 2);
    op_erase(second);
    assert_true(value_has_one_use(value));
    Value *other = toy_const(&toy, 2);
    value_replace_all(value, other);
    assert_false(value_has_uses(value));
    assert_ptr_equal(op_operand(first, 0), other);
    toy_free(&toy);
}

static void operand_lists_grow_and_shrink(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    Value *values[8];
    for (int i = 0; i < 8; i++) values[i] = toy_const(&toy, i);
    Op *use = toy_use(&toy, values[0]);
    op_set_operands(use, values, 8);
    assert_int_equal(use->operand_count, 8);
    for (uint32_t i = 0; i < 8; i++) {
        assert_ptr_equal(op_operand(use, i), values[i]);
        assert_int_equal(use_index(values[i]->uses), i);
        assert_true(value_has_one_use(values[i]));
    }
    op_erase_operand(use, 2);
    assert_false(value_has_uses(values[2]));
    assert_int_equal(use_index(values[3]->uses), 2);
    op_set_operands(use, values, 1);
    assert_int_equal(use->operand_count, 1);
    assert_false(value_has_uses(values[7]));
    toy_free(&toy);
}

/* Uses of one value by one op are neighbours in its list when they move. */
static void repeated_operands_can_move(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    Value *value = toy_const(&toy, 1), *values[9];
    for (int i = 0; i < 9; i++) values[i] = value;
    Op *use = toy_use(&toy, value);
    for (uint32_t count = 1; count < 10; count++) {
        op_set_operands(use, values, count);
        assert_int_equal(value_use_count(value), count);
    }
    op_replace_operands(use, 2, 5, values, 1);
    assert_int_equal(value_use_count(value), 5);
    op_set_operands(use, NULL, 0);
    assert_false(value_has_uses(value));
    toy_free(&toy);
}

/* Inserting at random places keeps the order numbers true, however often numbers run out. */
static void order_survives_insertions(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    Random random = {7};
    Op *anchor = toy_use(&toy, toy_const(&toy, 0));
    for (int i = 0; i < 3000; i++) {
        Builder b = random_below(&random, 8) ? builder_before(anchor) : builder_after(anchor);
        Op *op = build(&b, TOY(END), NULL, 0, NULL, 0, NULL, 0);
        if (random_below(&random, 50) == 0) anchor = op;
        if (random_below(&random, 100) == 0) {
            op_unlink(op);
            op_prepend(op, entry_of(&toy));
        }
    }
    FOR_EACH_OP(op, entry_of(&toy))
        if (op->next) assert_true(op_is_before(op, op->next));
    toy_free(&toy);
}

static bool count_op(Op *op, void *user)
{
    (void)op;
    ++*(int *)user;
    return true;
}

/* Nesting as deep as memory goes: walks and destruction must not recurse. */
static void walks_go_deep(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    Toy toy;
    toy_init(&toy);
    Builder b = toy.b;
    for (int i = 0; i < DEPTH; i++) {
        Op *func = build(&b, TOY(FUNC), NULL, 0, NULL, 0, NULL, 0);
        builder_set_end(&b, region_add_block(op_region(func, 0)));
    }
    int before = 0, after = 0;
    assert_true(op_walk(toy.func, count_op, &before));
    assert_true(op_walk_post(toy.func, count_op, &after));
    assert_int_equal(before, DEPTH + 1);
    assert_int_equal(after, DEPTH + 1);
    toy_free(&toy);
}

static bool stop_at_use(Op *op, void *user)
{
    ++*(int *)user;
    return op->def != TOY(USE);
}

static void walks_stop(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    toy_use(&toy, toy_const(&toy, 1));
    toy_end(&toy);
    int visited = 0;
    assert_false(op_walk(toy.func, stop_at_use, &visited));
    assert_int_equal(visited, 3);
    toy_free(&toy);
}

static void clones_map_what_is_inside(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    Value *arg = block_add_arg(entry_of(&toy), toy.i32, NULL);
    Value *sum = toy_add(&toy, arg, toy_const(&toy, 3));
    toy_use(&toy, sum);
    PtrMap map = {0};
    Op *copy = op_clone(toy.func, &map);
    Block *block = region_entry(op_region(copy, 0));
    Value *copied_sum = ptrmap_get(&map, sum);
    assert_ptr_equal(ptrmap_get(&map, arg), block->args[0]);
    assert_ptr_equal(op_operand(value_def(copied_sum), 0), block->args[0]);
    assert_ptr_equal(op_operand(block->last, 0), copied_sum);
    assert_int_equal(value_use_count(sum), 1);
    ptrmap_free(&map);
    op_erase(copy);
    toy_free(&toy);
}

static void clones_map_forward_uses(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    Value *late = toy_const(&toy, 1);
    Op *use = toy_use(&toy, late);
    op_unlink(use);
    op_prepend(use, entry_of(&toy));
    Op *copy = op_clone(toy.func, NULL);
    Block *block = region_entry(op_region(copy, 0));
    assert_ptr_equal(op_operand(block->first, 0), op_result(block->last, 0));
    op_erase(copy);
    toy_free(&toy);
}

static void attributes_go_where_the_row_says(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    Op *op = value_def(toy_const(&toy, 5));
    assert_non_null(attr_dict_get_c(op->props, "value"));
    op_set_attr(op, "note", attr_unit(toy.ctx));
    assert_non_null(attr_dict_get_c(op->attrs, "note"));
    assert_int_equal(attr_int_value(op_attr(op, "value")), 5);
    op_set_attr(op, "note", NULL);
    assert_null(op_attr(op, "note"));
    toy_free(&toy);
}

/* entry -> a -> b -> a: both dominated by the entry, b by a. */
static void dominance_in_a_loop(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    Region *body = op_region(toy.func, 0);
    Block *entry = body->first, *a = region_add_block(body), *b = region_add_block(body);
    Block *lost = region_add_block(body);
    const Ident *br = opinfo_of_def(toy.ctx, TOY(BR))->name;
    Block *from[] = {entry, a, b, lost}, *to[] = {a, b, a, b};
    for (int i = 0; i < 4; i++) {
        builder_set_end(&toy.b, from[i]);
        build_op(&toy.b, &(OpState){.name = br, .successors = &to[i], .successor_count = 1});
    }
    Dominance *dom = dominance_create();
    assert_true(dominance_block(dom, entry, b));
    assert_true(dominance_block(dom, a, b));
    assert_false(dominance_block(dom, b, a));
    assert_true(block_is_reachable(dom, b));
    assert_false(block_is_reachable(dom, lost));
    assert_ptr_equal(dominance_first_child(dom, entry), a);
    assert_ptr_equal(dominance_first_child(dom, a), b);
    assert_null(dominance_next_sibling(dom, a));
    dominance_free(dom);
    toy_free(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uses_are_newest_first),
        cmocka_unit_test(operand_lists_grow_and_shrink),
        cmocka_unit_test(repeated_operands_can_move),
        cmocka_unit_test(order_survives_insertions),
        cmocka_unit_test(walks_go_deep),
        cmocka_unit_test(walks_stop),
        cmocka_unit_test(clones_map_what_is_inside),
        cmocka_unit_test(clones_map_forward_uses),
        cmocka_unit_test(attributes_go_where_the_row_says),
        cmocka_unit_test(dominance_in_a_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
