/* Registration, inherent attributes, operand groups, effects and declared constraints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ir/asm/parse/parse.h"
#include "ir/verify/verify.h"
#include "test/unit/toy.h"

static void dialects_are_found(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    dialect_register(toy.ctx, &toy_dialect);
    assert_int_equal(dialect_count(toy.ctx), 1);
    assert_ptr_equal(dialect_lookup(toy.ctx, STR("toy")), &toy_dialect);
    assert_null(dialect_lookup(toy.ctx, STR("to")));
    const OpInfo *info = opinfo_lookup(toy.ctx, STR("toy.add"));
    assert_ptr_equal(info->def, TOY(ADD));
    assert_ptr_equal(opinfo_of_def(toy.ctx, TOY(ADD)), info);
    assert_int_equal(info->operand_groups, 2);
    assert_null(opinfo_lookup(toy.ctx, STR("toy.none")));
    toy_free(&toy);
}

static Op *build_seg(Toy *toy, Value *value, int32_t first, int32_t second)
{
    int32_t sizes[] = {first, second};
    Value *values[] = {value, value, value};
    NamedAttr segments =
        build_named_attr(toy->ctx, "operandSegmentSizes", attr_dense_array(toy->i32, sizes, 2));
    return build(&toy->b, TOY(SEG), values, 3, NULL, 0, &segments, 1);
}

static void groups_follow_segments(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    Op *op = build_seg(&toy, toy_const(&toy, 1), 1, 2);
    uint32_t begin, count;
    op_operand_group(op, 1, &begin, &count);
    assert_int_equal(begin, 1);
    assert_int_equal(count, 2);
    Value *other = toy_const(&toy, 2);
    op_set_operand_group(op, 0, &other, 1);
    op_set_operand_group(op, 1, NULL, 0);
    op_operand_group(op, 1, &begin, &count);
    assert_int_equal(count, 0);
    assert_int_equal(op->operand_count, 1);
    assert_ptr_equal(op_operand(op, 0), other);
    toy_free(&toy);
}

static void segments_must_add_up(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    build_seg(&toy, toy_const(&toy, 1), 1, 1);
    toy_end(&toy);
    assert_false(verify_op(toy.func));
    assert_string_equal(toy.errors.data,
                        "'toy.seg' op operand count (3) does not match with the total size (2) "
                        "specified in attribute 'operandSegmentSizes'\n");
    toy_free(&toy);
}

static void effects_come_from_traits(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    Value *value = toy_const(&toy, 1);
    Op *use = toy_use(&toy, value);
    Op *read = build(&toy.b, TOY(READ), NULL, 0, &toy.i32, 1, NULL, 0);
    assert_true(op_is_pure(value_def(value)));
    assert_false(op_is_trivially_dead(value_def(value)));
    assert_false(op_is_pure(use));
    assert_false(op_is_trivially_dead(use));
    assert_false(op_is_pure(read));
    assert_true(op_is_trivially_dead(read));
    toy_free(&toy);
}

/* The first failure ends the check of an isolated tree. */
static void first_failure_is_reported(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    Value *one = toy_const(&toy, 1);
    Builder *b = &toy.b;
    build(b, TOY(ADD), &one, 1, &toy.i32, 1, NULL, 0);
    build(b, TOY(CONST), NULL, 0, &toy.i32, 1, NULL, 0);
    toy_end(&toy);
    assert_false(verify_op(toy.func));
    assert_string_equal(toy.errors.data, "'toy.add' op expected 2 operands, but found 1\n");
    toy_free(&toy);
}

/* The traits of a row are checked when its declared parts hold. */
static void traits_are_checked(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    Value *one = toy_const(&toy, 1);
    build_binary(&toy.b, TOY(ADD), type_i(toy.ctx, 8), one, one);
    toy_end(&toy);
    assert_false(verify_op(toy.func));
    assert_string_equal(toy.errors.data,
                        "'toy.add' op requires the same type for all operands and results\n");
    toy_free(&toy);
}

static void verifies_deep_nesting(void **state)
{
    (void)state;
    Toy toy;
    toy_init(&toy);
    Builder b = toy.b;
    for (int i = 0; i < 2000; i++) {
        Op *func = build(&b, TOY(FUNC), NULL, 0, NULL, 0, NULL, 0);
        build(&b, TOY(END), NULL, 0, NULL, 0, NULL, 0);
        builder_set_end(&b, region_add_block(op_region(func, 0)));
    }
    build(&b, TOY(END), NULL, 0, NULL, 0, NULL, 0);
    assert_true(verify_op(toy.func));
    toy_free(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dialects_are_found),        cmocka_unit_test(groups_follow_segments),
        cmocka_unit_test(segments_must_add_up),      cmocka_unit_test(effects_come_from_traits),
        cmocka_unit_test(first_failure_is_reported), cmocka_unit_test(traits_are_checked),
        cmocka_unit_test(verifies_deep_nesting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
