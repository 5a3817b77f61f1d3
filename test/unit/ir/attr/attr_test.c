/* Attributes: uniquing, dictionaries, dense elements, locations, spelling.
 * Expected texts are what mlir-opt 19 prints. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ir/asm/print/internal.h"
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

static void assert_text(const Attr *attr, const char *want)
{
    StrBuf out = {0};
    attr_print(&out, attr);
    assert_string_equal(out.data, want);
    strbuf_free(&out);
}

static const Type *tensor_of(const Type *elem, int64_t count)
{
    return type_tensor(elem, &count, 1, NULL);
}

static void numbers_are_spelled(void **state)
{
    Context *ctx = *state;
    assert_text(attr_i64(ctx, -5), "-5 : i64");
    assert_text(attr_index(ctx, 7), "7 : index");
    assert_text(attr_int(type_i(ctx, 8), 255), "-1 : i8");
    assert_text(attr_int(type_integer(ctx, 8, UNSIGNED), -1), "255 : ui8");
    assert_text(attr_int(type_i(ctx, 128), -1), "-1 : i128");
    assert_text(attr_bool(ctx, true), "true");
    assert_text(attr_int(type_integer(ctx, 1, UNSIGNED), 1), "1 : ui1");
    assert_text(attr_float(type_float(ctx, TYPE_F32), 1.5), "1.500000e+00 : f32");
    assert_text(attr_float(type_float(ctx, TYPE_F32), (double)INFINITY), "0x7F800000 : f32");
    assert_text(attr_float(type_float(ctx, TYPE_F80), -2.0), "-2.000000e+00 : f80");
    assert_ptr_equal(attr_int(type_i(ctx, 8), 255), attr_int(type_i(ctx, 8), -1));
    assert_ptr_not_equal(attr_float(type_float(ctx, TYPE_F64), 0.0),
                         attr_float(type_float(ctx, TYPE_F64), -0.0));
}

static void strings_are_escaped(void **state)
{
    Context *ctx = *state;
    assert_text(attr_string_c(ctx, "a\tb\"\xc3\xa9\\"), "\"a\\09b\\22\\C3\\A9\\\\\"");
    assert_text(attr_string(ctx, (Str){"a\0b", 3}), "\"a\\00b\"");
    assert_text(attr_typed_string(type_i(ctx, 32), STR("x")), "\"x\" : i32");
    assert_ptr_equal(attr_typed_string(type_none(ctx), STR("x")), attr_string_c(ctx, "x"));
}

static void arrays_elide_default_types(void **state)
{
    Context *ctx = *state;
    const Attr *items[] = {attr_i64(ctx, 1),
                           attr_float(type_float(ctx, TYPE_F64), 2),
                           attr_int(type_i(ctx, 32), 3),
                           attr_index(ctx, 4),
                           attr_unit(ctx),
                           attr_type(type_i(ctx, 4)),
                           attr_bool(ctx, false)};
    assert_text(attr_array(ctx, items, 7),
                "[1, 2.000000e+00, 3 : i32, 4 : index, unit, i4, false]");
    assert_text(attr_array(ctx, NULL, 0), "[]");
}

static void dictionaries_are_sorted(void **state)
{
    Context *ctx = *state;
    const Ident *a = ident_get_c(ctx, "a"), *b = ident_get_c(ctx, "b b");
    const Ident *c = ident_get_c(ctx, "c");
    const Attr *one = attr_i64(ctx, 1), *unit = attr_unit(ctx);
    const Attr *dict = attr_dict(ctx, (NamedAttr[]){{c, one}, {a, unit}, {b, one}}, 3);
    assert_text(dict, "{a, \"b b\" = 1 : i64, c = 1 : i64}");
    assert_ptr_equal(dict, attr_dict(ctx, (NamedAttr[]){{a, unit}, {b, one}, {c, one}}, 3));
    assert_ptr_equal(attr_dict_get(dict, b), one);
    assert_ptr_equal(attr_dict_get_c(dict, "a"), unit);
    assert_null(attr_dict_get_c(dict, "d"));
    assert_int_equal(attr_dict_int(dict, "c", -1), 1);
    assert_int_equal(attr_dict_int(dict, "a", -1), -1); /* no integer */
    assert_int_equal(attr_dict_int(dict, "d", -1), -1);
    assert_int_equal(attr_dict_int(unit, "c", -1), -1); /* no dictionary */
    assert_int_equal(attr_dict_int(NULL, "c", -1), -1);
    const Attr *less = attr_dict_set(dict, b, NULL);
    assert_text(less, "{a, c = 1 : i64}");
    assert_ptr_equal(attr_dict_set(less, b, NULL), less);
    assert_ptr_equal(attr_dict_set(less, b, one), dict);
    assert_text(attr_dict_set(dict, a, one), "{a = 1 : i64, \"b b\" = 1 : i64, c = 1 : i64}");
    assert_text(attr_dict(ctx, NULL, 0), "{}");
}

static void long_dictionaries_are_searched(void **state)
{
    Context *ctx = *state;
    const Attr *dict = attr_dict(ctx, NULL, 0);
    char name[16];
    for (int i = 99; i >= 0; i--) {
        snprintf(name, sizeof name, "n%02d", i);
        dict = attr_dict_set(dict, ident_get_c(ctx, name), attr_i64(ctx, i));
    }
    assert_int_equal(dict->u.dict.count, 100);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "n%02d", i);
        assert_int_equal(attr_int_value(attr_dict_get(dict, ident_get_c(ctx, name))), i);
        assert_int_equal(attr_int_value(attr_dict_get_c(dict, name)), i);
    }
    assert_null(attr_dict_get(dict, ident_get_c(ctx, "n")));
    assert_null(attr_dict_get(dict, ident_get_c(ctx, "n990")));
}

static void references_and_layouts_are_spelled(void **state)
{
    Context *ctx = *state;
    const Ident *names[] = {ident_get_c(ctx, "a b"), ident_get_c(ctx, "c$d"), ident_get_c(ctx, "")};
    assert_text(attr_symbol_nested(ctx, names, 2), "@\"a b\"::@c$d");
    assert_text(attr_symbol(ctx, names[2]), "@<<INVALID EMPTY SYMBOL>>");
    const int64_t strides[] = {1, DIM_DYNAMIC};
    assert_text(attr_strided_layout(ctx, 3, strides, 2), "strided<[1, ?], offset: 3>");
    assert_text(attr_strided_layout(ctx, 0, strides, 0), "strided<[]>");
    const Ident *foo = ident_get_c(ctx, "foo");
    assert_text(attr_opaque(ctx, foo, STR("bar<2>"), false, NULL), "#foo.bar<2>");
    assert_text(attr_opaque(ctx, foo, STR("x y"), true, type_i(ctx, 8)), "#foo<x y> : i8");
    assert_text(attr_distinct(ctx, 4, attr_unit(ctx)), "distinct[4]<>");
    assert_text(attr_distinct(ctx, 0, attr_i64(ctx, 1)), "distinct[0]<1 : i64>");
    assert_ptr_not_equal(attr_distinct(ctx, 0, attr_unit(ctx)),
                         attr_distinct(ctx, 1, attr_unit(ctx)));
}

static void dense_arrays_are_spelled(void **state)
{
    Context *ctx = *state;
    const int64_t values[] = {1, -2};
    const Attr *array = attr_i64_array(ctx, values, 2);
    assert_text(array, "array<i64: 1, -2>");
    assert_int_equal(dense_array_i64(array, 1), -2);
    assert_int_equal(dense_array_i64(attr_dense_array(type_i(ctx, 0), NULL, 2), 1), 0);
    const uint8_t bits[] = {1, 0};
    assert_text(attr_dense_array(type_i(ctx, 1), bits, 2), "array<i1: true, false>");
    assert_text(attr_dense_array(type_i(ctx, 32), NULL, 0), "array<i32>");
    const uint8_t half[] = {0, 0, 0, 0x3f};
    assert_text(attr_dense_array(type_float(ctx, TYPE_F32), half, 1), "array<f32: 5.000000e-01>");
}

static void dense_elements_are_spelled(void **state)
{
    Context *ctx = *state;
    const int64_t shape[] = {2, 1, 2}, values[] = {1, -2, 3, 7}, equal[] = {5, 5, 5, 5};
    const Type *type = type_tensor(type_i(ctx, 4), shape, 3, NULL);
    assert_text(attr_dense_i64(type, values, 4), "dense<[[[1, -2]], [[3, 7]]]> : tensor<2x1x2xi4>");
    assert_text(attr_dense_i64(type, equal, 4), "dense<5> : tensor<2x1x2xi4>");
    assert_ptr_equal(attr_dense_i64(type, equal, 4),
                     attr_dense_splat(type, attr_int(type_i(ctx, 4), 5)));
    const Type *unsigned_type = tensor_of(type_integer(ctx, 8, UNSIGNED), 2);
    assert_text(attr_dense_i64(unsigned_type, values, 2), "dense<[1, 254]> : tensor<2xui8>");
    const Type *wide = tensor_of(type_i(ctx, 100), 2);
    assert_text(attr_dense_i64(wide, values, 2), "dense<[1, -2]> : tensor<2xi100>");
    const double floats[] = {1.5, -0.0};
    assert_text(attr_dense_f64(tensor_of(type_float(ctx, TYPE_BF16), 2), floats, 2),
                "dense<[1.500000e+00, -0.000000e+00]> : tensor<2xbf16>");
    assert_text(attr_dense_raw(tensor_of(type_i(ctx, 8), 0), NULL, 0, false),
                "dense<> : tensor<0xi8>");
    const Type *scalar = type_tensor(type_index(ctx), NULL, 0, NULL);
    assert_text(attr_dense_i64(scalar, values, 1), "dense<1> : tensor<index>");
}

static void booleans_are_packed(void **state)
{
    Context *ctx = *state;
    const int64_t values[] = {1, 1, 1, 1, 1, 1, 1, 1, 0}, ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    const Type *type = tensor_of(type_i(ctx, 1), 9);
    const Attr *mixed = attr_dense_i64(type, values, 9);
    assert_int_equal(mixed->u.dense.size, 2);
    assert_false(mixed->u.dense.is_splat);
    assert_true(attr_is_true(dense_elem(mixed, 7)));
    assert_false(attr_is_true(dense_elem(mixed, 8)));
    assert_text(attr_dense_i64(type, ones, 9), "dense<true> : tensor<9xi1>");
    assert_ptr_equal(attr_dense_raw(type, (uint8_t[]){0xff, 0xff}, 2, false),
                     attr_dense_splat(type, attr_bool(ctx, true)));
    assert_ptr_equal(attr_dense_raw(type, (uint8_t[]){0xff, 0xfe}, 2, false), mixed);
    assert_ptr_equal(attr_dense_i64(type, ones, 9), attr_dense_splat(type, attr_bool(ctx, true)));
}

static void complex_elements_are_spelled(void **state)
{
    Context *ctx = *state;
    const Type *type = tensor_of(type_complex(type_i(ctx, 8)), 2);
    const uint8_t data[] = {1, 2, 0xff, 4};
    const Attr *attr = attr_dense_raw(type, data, 4, false);
    assert_text(attr, "dense<[(1,2), (-1,4)]> : tensor<2xcomplex<i8>>");
    assert_text(dense_elem(attr, 1), "[-1 : i8, 4 : i8]");
    assert_ptr_equal(attr_dense_splat(type, dense_elem(attr, 0)),
                     attr_dense_raw(type, (uint8_t[]){1, 2, 1, 2}, 4, false));
}

static void wide_floats_round_trip(void **state)
{
    Context *ctx = *state;
    const double values[] = {1.0, -1e300, 4.9e-324, 2.5e-310, 0.0, -0.0, (double)INFINITY};
    const TypeKind kinds[] = {TYPE_F80, TYPE_F128};
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        const Type *type = tensor_of(type_float(ctx, kinds[k]), COUNT_OF(values));
        const Attr *attr = attr_dense_f64(type, values, COUNT_OF(values));
        for (size_t i = 0; i < COUNT_OF(values); i++) {
            double got = dense_f64(attr, (int64_t)i);
            assert_memory_equal(&got, &values[i], sizeof got);
        }
    }
    const uint8_t one[] = {0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f};
    const Attr *attr = attr_dense_f64(tensor_of(type_float(ctx, TYPE_F80), 1), values, 1);
    assert_memory_equal(attr->u.dense.data, one, sizeof one);
}

static void large_elements_are_hex(void **state)
{
    Context *ctx = *state;
    int64_t values[101];
    for (int i = 0; i < 101; i++) values[i] = i;
    StrBuf out = {0};
    attr_print(&out, attr_dense_i64(tensor_of(type_i(ctx, 8), 101), values, 101));
    assert_true(str_starts_with(strbuf_str(&out), "dense<\"0x000102030405060708090A0B"));
    assert_true(str_ends_with(strbuf_str(&out), "6364\"> : tensor<101xi8>"));
    strbuf_clear(&out);
    attr_print(&out, attr_dense_i64(tensor_of(type_i(ctx, 8), 100), values, 100));
    assert_true(str_starts_with(strbuf_str(&out), "dense<[0, 1, 2, 3"));
    strbuf_clear(&out);
    AsmWriter w = asm_writer(&out);
    w.elide_elements_above = 10;
    write_attr(&w, attr_dense_i64(tensor_of(type_i(ctx, 8), 11), values, 11));
    assert_string_equal(out.data, "dense_resource<__elided__> : tensor<11xi8>");
    strbuf_free(&out);
}

static void large_data_is_adopted(void **state)
{
    Context *ctx = *state;
    enum { COUNT = 100000 };
    const Type *type = tensor_of(type_i(ctx, 8), COUNT);
    uint8_t *first = xcalloc(COUNT, 1), *again = xcalloc(COUNT, 1), *zero = xcalloc(COUNT, 1);
    first[7] = again[7] = 1;
    const Attr *attr = attr_dense_adopt(type, first, COUNT, false);
    assert_ptr_equal(attr->u.dense.data, first);
    assert_ptr_equal(attr_dense_adopt(type, again, COUNT, false), attr);
    assert_text(attr_dense_adopt(type, zero, COUNT, false), "dense<0> : tensor<100000xi8>");
    assert_int_equal(dense_i64(attr, 7), 1);
}

static void other_elements_are_spelled(void **state)
{
    Context *ctx = *state;
    const Ident *foo = ident_get_c(ctx, "foo");
    const Type *strings = tensor_of(type_opaque(ctx, foo, STR("s"), true), 2);
    const Str items[] = {STR("a"), STR("b\n")};
    assert_text(attr_dense_strings(strings, items, 2, false),
                "dense<[\"a\", \"b\\0A\"]> : tensor<2x!foo.s>");
    assert_text(attr_dense_strings(strings, items, 1, true), "dense<\"a\"> : tensor<2x!foo.s>");
    assert_ptr_equal(attr_dense_strings(strings, (const Str[]){items[0], items[0]}, 2, false),
                     attr_dense_strings(strings, items, 1, true));
    const Type *i64 = type_i(ctx, 64);
    assert_text(attr_dense_resource(tensor_of(i64, 2), ident_get_c(ctx, "w 1")),
                "dense_resource<\"w 1\"> : tensor<2xi64>");
    const int64_t shape[] = {2, 2}, positions[] = {0, 1, 1, 2}, numbers[] = {1, 5};
    const Attr *indices = attr_dense_i64(type_tensor(i64, shape, 2, NULL), positions, 4);
    const Attr *values = attr_dense_i64(tensor_of(i64, 2), numbers, 2);
    assert_text(attr_sparse(tensor_of(i64, 9), indices, values),
                "sparse<[[0, 1], [1, 2]], [1, 5]> : tensor<9xi64>");
}

static void elements_are_read(void **state)
{
    Context *ctx = *state;
    const int64_t values[] = {-3, 100};
    const Attr *dense = attr_dense_i64(tensor_of(type_i(ctx, 12), 2), values, 2);
    assert_int_equal(dense_i64(dense, 0), -3);
    assert_text(dense_elem(dense, 0), "-3 : i12");
    const Attr *wide = attr_dense_i64(tensor_of(type_i(ctx, 200), 2), values, 2);
    assert_text(dense_elem(wide, 0), "-3 : i200");
    const Attr *array[] = {attr_i64(ctx, 4), attr_int(type_i(ctx, 8), -1)};
    int64_t out[2];
    size_t count;
    assert_true(attr_int_list(dense, out, 2, &count));
    assert_int_equal(out[1], 100);
    assert_true(attr_int_list(attr_array(ctx, array, 2), out, 2, &count));
    assert_int_equal(out[1], -1);
    assert_true(attr_int_list(attr_i64_array(ctx, values, 2), out, 2, &count));
    assert_int_equal(out[0], -3);
    assert_false(attr_int_list(dense, out, 1, &count));
    assert_false(attr_int_list(attr_unit(ctx), out, 2, &count));
}

static void resources_are_read(void **state)
{
    Context *ctx = *state;
    const Ident *key = ident_get_c(ctx, "w");
    const float data[] = {1.0f, -4.0f};
    const Attr *attr = attr_dense_resource(tensor_of(type_float(ctx, TYPE_F32), 2), key);
    context_add_resource(ctx, &(ResourceBlob){ident_get_c(ctx, "builtin"), key, 4, sizeof data,
                                              (const uint8_t *)data});
    assert_true(dense_f64(attr, 1) == -4.0);
}

static void assert_loc(const Attr *loc, const char *want)
{
    StrBuf out = {0};
    loc_print(&out, loc, false);
    assert_string_equal(out.data, want);
    strbuf_free(&out);
}

static void locations_are_spelled(void **state)
{
    Context *ctx = *state;
    const Attr *file = loc_file(ctx, ident_get_c(ctx, "a\"b"), 3, 4);
    const Attr *unknown = loc_unknown(ctx);
    const Attr *name = loc_name(ident_get_c(ctx, "n"), unknown);
    assert_loc(unknown, "loc(unknown)");
    assert_loc(file, "loc(\"a\\22b\":3:4)");
    assert_loc(name, "loc(\"n\")");
    assert_loc(loc_name(ident_get_c(ctx, "n"), file), "loc(\"n\"(\"a\\22b\":3:4))");
    assert_loc(loc_callsite(name, file), "loc(callsite(\"n\" at \"a\\22b\":3:4))");
    assert_text(name, "loc(\"n\")");
    StrBuf out = {0};
    loc_print(&out, loc_callsite(name, file), true);
    assert_string_equal(out.data, "\"n\" at a\"b:3:4");
    strbuf_free(&out);
}

static void fused_locations_are_flat(void **state)
{
    Context *ctx = *state;
    const Attr *unknown = loc_unknown(ctx), *meta = attr_i64(ctx, 1);
    const Attr *a = loc_name(ident_get_c(ctx, "a"), unknown);
    const Attr *b = loc_name(ident_get_c(ctx, "b"), unknown);
    const Attr *ab = loc_fused(ctx, (const Attr *[]){a, unknown, b, a}, 4, NULL);
    assert_loc(ab, "loc(fused[\"a\", \"b\"])");
    assert_ptr_equal(loc_fused(ctx, (const Attr *[]){a, ab}, 2, NULL), ab);
    assert_loc(loc_fused(ctx, &ab, 1, meta), "loc(fused<1 : i64>[fused[\"a\", \"b\"]])");
    assert_ptr_equal(loc_fused(ctx, &a, 1, NULL), a);
    assert_ptr_equal(loc_fused(ctx, NULL, 0, NULL), unknown);
    assert_loc(loc_fused(ctx, &unknown, 1, meta), "loc(fused<1 : i64>[unknown])");
}

static const char *alias_of_maps(void *user, const Attr *attr)
{
    (void)user;
    return attr->kind == ATTR_AFFINE_MAP ? "#map" : NULL;
}

static const char *alias_of_tuples(void *user, const Type *type)
{
    (void)user;
    return type->kind == TYPE_TUPLE ? "!tuple" : NULL;
}

static void aliases_are_used_when_nested(void **state)
{
    Context *ctx = *state;
    const Type *tuple = type_tuple(ctx, NULL, 0);
    const Attr *map = attr_map(map_identity(ctx, 1));
    const Attr *items[] = {map, attr_type(type_function(ctx, &tuple, 1, NULL, 0))};
    StrBuf out = {0};
    AsmWriter w = asm_writer(&out);
    w.alias_of_attr = alias_of_maps;
    w.alias_of_type = alias_of_tuples;
    write_attr(&w, attr_array(ctx, items, 2));
    strbuf_add_char(&out, ' ');
    write_attr_unaliased(&w, map);
    strbuf_add_char(&out, ' ');
    write_type_unaliased(&w, tuple);
    assert_string_equal(out.data, "[#map, (!tuple) -> ()] affine_map<(d0) -> (d0)> tuple<>");
    strbuf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(numbers_are_spelled, setup, teardown),
        cmocka_unit_test_setup_teardown(strings_are_escaped, setup, teardown),
        cmocka_unit_test_setup_teardown(arrays_elide_default_types, setup, teardown),
        cmocka_unit_test_setup_teardown(dictionaries_are_sorted, setup, teardown),
        cmocka_unit_test_setup_teardown(long_dictionaries_are_searched, setup, teardown),
        cmocka_unit_test_setup_teardown(references_and_layouts_are_spelled, setup, teardown),
        cmocka_unit_test_setup_teardown(dense_arrays_are_spelled, setup, teardown),
        cmocka_unit_test_setup_teardown(dense_elements_are_spelled, setup, teardown),
        cmocka_unit_test_setup_teardown(booleans_are_packed, setup, teardown),
        cmocka_unit_test_setup_teardown(complex_elements_are_spelled, setup, teardown),
        cmocka_unit_test_setup_teardown(wide_floats_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(large_elements_are_hex, setup, teardown),
        cmocka_unit_test_setup_teardown(large_data_is_adopted, setup, teardown),
        cmocka_unit_test_setup_teardown(other_elements_are_spelled, setup, teardown),
        cmocka_unit_test_setup_teardown(elements_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(resources_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(locations_are_spelled, setup, teardown),
        cmocka_unit_test_setup_teardown(fused_locations_are_flat, setup, teardown),
        cmocka_unit_test_setup_teardown(aliases_are_used_when_nested, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
