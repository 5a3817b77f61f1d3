/* Types: uniquing, canonical forms, questions, spelling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ir/attr/attr.h"

static int setup(void **state)
{
    *state = context_create();
    return 0;
}

static int teardown(void **state)
{
    context_destroy(*state);
    return 0;
}

static void assert_text(const Type *type, const char *want)
{
    StrBuf out = {0};
    type_print(&out, type);
    assert_string_equal(out.data, want);
    strbuf_free(&out);
}

static void types_are_uniqued(void **state)
{
    Context *ctx = *state;
    const Type *f32 = type_float(ctx, TYPE_F32), *i8 = type_i(ctx, 8);
    int64_t dims[] = {2, DIM_DYNAMIC, 3};
    const Type *tensor = type_tensor(f32, dims, 3, NULL);
    dims[0] = 4;
    const Type *other = type_tensor(f32, dims, 3, NULL);
    dims[0] = 2;
    assert_ptr_equal(tensor, type_tensor(f32, dims, 3, NULL));
    assert_ptr_not_equal(tensor, other);
    assert_ptr_not_equal(tensor, type_memref(f32, dims, 3, NULL, NULL));
    assert_ptr_not_equal(i8, type_integer(ctx, 8, SIGNED));
    assert_ptr_equal(type_index(ctx), type_index(ctx));
    const Type *ins[] = {f32, i8};
    assert_ptr_equal(type_function(ctx, ins, 2, ins, 1), type_function(ctx, ins, 2, &f32, 1));
    assert_ptr_not_equal(type_function(ctx, ins, 2, NULL, 0),
                         type_function(ctx, ins, 1, ins + 1, 1));
    assert_ptr_equal(type_tuple(ctx, ins, 2), type_tuple(ctx, ins, 2));
}

static void scalars_are_spelled(void **state)
{
    Context *ctx = *state;
    assert_text(type_i(ctx, 1), "i1");
    assert_text(type_integer(ctx, 17, SIGNED), "si17");
    assert_text(type_integer(ctx, 128, UNSIGNED), "ui128");
    assert_text(type_index(ctx), "index");
    assert_text(type_none(ctx), "none");
    assert_text(type_float(ctx, TYPE_BF16), "bf16");
    assert_text(type_float(ctx, TYPE_F8E4M3B11FNUZ), "f8E4M3B11FNUZ");
    assert_text(type_complex(type_float(ctx, TYPE_F64)), "complex<f64>");
}

static void functions_and_tuples_are_spelled(void **state)
{
    Context *ctx = *state;
    const Type *i32 = type_i(ctx, 32);
    const Type *none = type_function(ctx, NULL, 0, NULL, 0);
    const Type *two[] = {i32, type_index(ctx)};
    assert_text(none, "() -> ()");
    assert_text(type_function(ctx, two, 2, &i32, 1), "(i32, index) -> i32");
    assert_text(type_function(ctx, &i32, 1, two, 2), "(i32) -> (i32, index)");
    assert_text(type_function(ctx, NULL, 0, &none, 1), "() -> (() -> ())");
    assert_text(type_tuple(ctx, NULL, 0), "tuple<>");
    assert_text(type_tuple(ctx, two, 2), "tuple<i32, index>");
}

static void shaped_types_are_spelled(void **state)
{
    Context *ctx = *state;
    const Type *f32 = type_float(ctx, TYPE_F32);
    const int64_t dims[] = {4, DIM_DYNAMIC};
    const bool scalable[] = {true, false}, fixed[] = {false, false};
    const int64_t small[] = {4, 2};
    assert_text(type_tensor(f32, dims, 2, NULL), "tensor<4x?xf32>");
    assert_text(type_tensor(f32, NULL, 0, NULL), "tensor<f32>");
    assert_text(type_tensor(f32, dims, 1, attr_i64(ctx, 1)), "tensor<4xf32, 1 : i64>");
    assert_text(type_unranked_tensor(f32), "tensor<*xf32>");
    assert_text(type_vector(f32, small, 2, scalable), "vector<[4]x2xf32>");
    assert_ptr_equal(type_vector(f32, small, 2, fixed), type_vector(f32, small, 2, NULL));
    assert_text(type_memref(f32, dims, 2, NULL, attr_i64(ctx, 3)), "memref<4x?xf32, 3>");
    assert_text(type_unranked_memref(f32, attr_string_c(ctx, "s")), "memref<*xf32, \"s\">");
    const int64_t strides[] = {DIM_DYNAMIC, 1};
    const Attr *layout = attr_strided_layout(ctx, DIM_DYNAMIC, strides, 2);
    assert_text(type_memref(f32, dims, 2, layout, NULL),
                "memref<4x?xf32, strided<[?, 1], offset: ?>>");
}

static void memrefs_are_canonical(void **state)
{
    Context *ctx = *state;
    const Type *f32 = type_float(ctx, TYPE_F32);
    const int64_t dims[] = {4, 5};
    const Attr *identity = attr_map(map_identity(ctx, 2));
    const Type *plain = type_memref(f32, dims, 2, NULL, NULL);
    assert_ptr_equal(type_memref(f32, dims, 2, identity, attr_i64(ctx, 0)), plain);
    assert_ptr_not_equal(type_memref(f32, dims, 2, NULL, attr_int(type_i(ctx, 32), 0)), plain);
}

static void opaque_types_choose_their_form(void **state)
{
    Context *ctx = *state;
    const Ident *foo = ident_get_c(ctx, "foo");
    assert_text(type_opaque(ctx, foo, STR("bar"), false), "!foo.bar");
    assert_text(type_opaque(ctx, foo, STR("bar<1>"), true), "!foo.bar<1>");
    assert_text(type_opaque(ctx, foo, STR("x y"), true), "!foo<x y>");
    assert_text(type_opaque(ctx, foo, STR("\"s\""), false), "!foo<\"s\">");
    assert_text(type_opaque(ctx, foo, STR("bar<2> "), false), "!foo<bar<2> >");
    assert_ptr_equal(type_opaque(ctx, foo, STR("bar"), false),
                     type_opaque(ctx, foo, STR("bar"), true));
}

static void questions_are_answered(void **state)
{
    Context *ctx = *state;
    const Type *f16 = type_float(ctx, TYPE_F16), *i4 = type_i(ctx, 4);
    const int64_t dims[] = {3, 4}, dynamic[] = {3, DIM_DYNAMIC}, huge[] = {INT64_MAX, 4};
    const Type *tensor = type_tensor(f16, dims, 2, NULL);
    int64_t count = 0;
    assert_true(type_element_count(tensor, &count));
    assert_int_equal(count, 12);
    assert_false(type_element_count(type_tensor(f16, dynamic, 2, NULL), &count));
    assert_false(type_element_count(type_tensor(f16, huge, 2, NULL), &count));
    const int64_t none[] = {0, INT64_MAX, 3}, empty[] = {3, 0, INT64_MAX / 3};
    assert_false(type_element_count(type_tensor(f16, none, 3, NULL), &count));
    assert_true(type_element_count(type_tensor(f16, empty, 3, NULL), &count));
    assert_int_equal(count, 0);
    assert_false(type_element_count(type_unranked_tensor(f16), &count));
    assert_true(type_is_float(f16) && !type_is_float(i4));
    assert_true(type_is_int_width(i4, 4) && !type_is_int_width(type_integer(ctx, 4, SIGNED), 4));
    assert_true(type_is_static(tensor) && type_is_ranked(tensor) && type_is_tensor(tensor));
    assert_false(type_is_shaped(i4));
    assert_ptr_equal(type_elem(tensor), f16);
    assert_ptr_equal(type_elem(i4), i4);
    assert_int_equal(type_width(f16), 16);
    assert_int_equal(type_width(type_index(ctx)), 64);
    assert_int_equal(type_width(tensor), 0);
}

static void shape_and_element_are_replaced(void **state)
{
    Context *ctx = *state;
    const Type *f16 = type_float(ctx, TYPE_F16), *i4 = type_i(ctx, 4);
    const int64_t dims[] = {3, 4};
    const Type *tensor = type_tensor(f16, dims, 2, attr_unit(ctx));
    assert_text(type_with_elem(tensor, i4), "tensor<3x4xi4, unit>");
    assert_text(type_with_shape(tensor, dims, 1), "tensor<3xf16, unit>");
    assert_text(type_with_shape(type_unranked_tensor(i4), dims, 2), "tensor<3x4xi4>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(types_are_uniqued, setup, teardown),
        cmocka_unit_test_setup_teardown(scalars_are_spelled, setup, teardown),
        cmocka_unit_test_setup_teardown(functions_and_tuples_are_spelled, setup, teardown),
        cmocka_unit_test_setup_teardown(shaped_types_are_spelled, setup, teardown),
        cmocka_unit_test_setup_teardown(memrefs_are_canonical, setup, teardown),
        cmocka_unit_test_setup_teardown(opaque_types_choose_their_form, setup, teardown),
        cmocka_unit_test_setup_teardown(questions_are_answered, setup, teardown),
        cmocka_unit_test_setup_teardown(shape_and_element_are_replaced, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
