/* The interpreter on functions written as text: widths, rounding, loops, slices, control flow.
 * Random programs are compared with other implementations by test/e2e/run_check.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dialects/dialects.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "sim/interp/interp.h"

typedef struct Fixture {
    Context *ctx;
    Op *module;
    Interp *interp;
} Fixture;

static void begin(Fixture *f, const char *text)
{
    f->ctx = context_create();
    dialects_register_all(f->ctx);
    f->module = parse_module(f->ctx, str_from(text), STR("text"), NULL);
    diag_flush(f->ctx);
    assert_non_null(f->module);
    f->interp = interp_create(op_first_inner(f->module));
    diag_flush(f->ctx);
    assert_non_null(f->interp);
}

static void end(Fixture *f)
{
    interp_free(f->interp);
    op_erase(f->module);
    context_destroy(f->ctx);
}

/* The function "@f() -> type { body; return %r : type }" gives those integers. */
static void gives(const char *type, const char *body, const int64_t *want, int64_t count)
{
    Fixture f;
    StrBuf text = {0};
    Array *result = NULL;
    strbuf_printf(&text, "func.func @f() -> %s {\n%s\nreturn %%r : %s\n}\n", type, body, type);
    begin(&f, text.data);
    for (int run = 0; run < 2; run++) {
        assert_true(interp_run(f.interp, NULL, &result));
        assert_int_equal(result->count, count);
        for (int64_t i = 0; i < count; i++)
            if (array_get_i64(result, i) != want[i])
                fail_msg("%s\nelement %d is %lld", text.data, (int)i,
                         (long long)array_get_i64(result, i));
        array_unref(result);
    }
    end(&f);
    strbuf_free(&text);
}
#define GIVES(TYPE, BODY, ...)                                                                     \
    gives(TYPE, BODY, (const int64_t[]){__VA_ARGS__},                                              \
          (int64_t)COUNT_OF(((const int64_t[]){__VA_ARGS__})))

#define CONSTANT(NAME, VALUE, TYPE) "%" NAME " = arith.constant " VALUE " : " TYPE "\n"

static void one_bit_is_signed_where_ops_say_so(void **state)
{
    (void)state;
    GIVES("i8", "%t = arith.constant true\n%r = arith.extsi %t : i1 to i8", -1);
    GIVES("i8", "%t = arith.constant true\n%r = arith.extui %t : i1 to i8", 1);
    GIVES("i1",
          "%t = arith.constant true\n%f = arith.constant false\n"
          "%r = arith.cmpi slt, %t, %f : i1",
          1);
    GIVES("i1",
          "%t = arith.constant true\n%f = arith.constant false\n"
          "%r = arith.maxsi %t, %f : i1",
          0);
}

static void wide_products_are_exact(void **state)
{
    (void)state;
    GIVES("i64",
          CONSTANT("a", "-9223372036854775808", "i64")
              CONSTANT("b", "-2", "i64") "%l, %r = arith.mulsi_extended %a, %b : i64",
          1);
    GIVES("i64", CONSTANT("a", "-1", "i64") "%l, %r = arith.mului_extended %a, %a : i64", -2);
    GIVES("i33", CONSTANT("a", "-1", "i33") "%l, %r = arith.mulsi_extended %a, %a : i33", 0);
    GIVES("i1",
          CONSTANT("a", "-1", "i7")
              CONSTANT("b", "1", "i7") "%s, %r = arith.addui_extended %a, %b : i7, i1",
          1);
}

static void quotients_round_as_named(void **state)
{
    (void)state;
    GIVES("tensor<4xi5>",
          CONSTANT("a", "dense<[7, -7, 7, -7]>", "tensor<4xi5>")
              CONSTANT("b", "dense<[2, 2, -2, -2]>",
                       "tensor<4xi5>") "%r = arith.floordivsi %a, %b : tensor<4xi5>",
          3, -4, -4, 3);
    GIVES("tensor<4xi5>",
          CONSTANT("a", "dense<[7, -7, 7, -7]>", "tensor<4xi5>")
              CONSTANT("b", "dense<[2, 2, -2, -2]>",
                       "tensor<4xi5>") "%r = arith.ceildivsi %a, %b : tensor<4xi5>",
          4, -3, -3, 4);
    GIVES("i8", CONSTANT("a", "2", "i8") CONSTANT("b", "-3", "i8") "%r = math.ipowi %a, %b : i8",
          0);
    GIVES("i8", CONSTANT("a", "-3", "i8") CONSTANT("b", "5", "i8") "%r = math.ipowi %a, %b : i8",
          13);
}

/* Bits of f32 results. */
#define BITS(BODY, TYPE, INT) BODY "%r = arith.bitcast %y : " TYPE " to " INT

static void floats_are_rounded_once(void **state)
{
    (void)state;
    /* 2^25 + 1 + 2^-30 in f32, product and sum at once. */
    GIVES("i32",
          BITS(CONSTANT("a", "0x4C000001", "f32") CONSTANT("b", "1.0", "f32")
                   CONSTANT("c", "0x30800000", "f32") "%y = math.fma %a, %b, %c : f32\n",
               "f32", "i32"),
          0x4C000001);
    /* 2^60 + 2^36 + 1 lies above the middle of two neighbours in f32. */
    GIVES("i32",
          BITS(CONSTANT("a", "1152921573326323713", "i64") "%y = arith.sitofp %a : i64 to f32\n",
               "f32", "i32"),
          0x5D800001);
    GIVES("i16",
          BITS(CONSTANT("a", "2049.0", "f32") "%y = arith.truncf %a : f32 to f16\n", "f16", "i16"),
          0x6800);
    GIVES("i16",
          BITS(CONSTANT("a", "2049.0", "f32") "%y = arith.truncf %a upward : f32 to f16\n", "f16",
               "i16"),
          0x6801);
    GIVES("i16",
          BITS(CONSTANT("a", "-2049.0", "f32") "%y = arith.truncf %a downward : f32 to f16\n",
               "f16", "i16"),
          (int16_t)0xE801);
    GIVES("i16",
          BITS(CONSTANT("a", "2051.0", "f32") "%y = arith.truncf %a toward_zero : f32 to f16\n",
               "f16", "i16"),
          0x6801);
    GIVES("i16",
          BITS(CONSTANT("a", "2049.0", "f32") "%y = arith.truncf %a to_nearest_away : f32 to f16\n",
               "f16", "i16"),
          0x6801);
    GIVES("i16",
          BITS(CONSTANT("a", "1.0e+10", "f32") "%y = arith.truncf %a toward_zero : f32 to f16\n",
               "f16", "i16"),
          0x7BFF);
    GIVES("i16",
          BITS(CONSTANT("a", "1.0e-10", "f32") "%y = arith.truncf %a upward : f32 to f16\n", "f16",
               "i16"),
          1);
    GIVES("i16",
          BITS(CONSTANT("a", "1.0", "bf16")
                   CONSTANT("b", "3.0", "bf16") "%y = arith.divf %a, %b : bf16\n",
               "bf16", "i16"),
          0x3EAB);
}

static void bodies_see_indices_and_outside_values(void **state)
{
    (void)state;
    GIVES("tensor<2x3xindex>",
          "%e = tensor.empty() : tensor<2x3xindex>\n%ten = arith.constant 10 : index\n"
          "%r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],"
          "iterator_types = [\"parallel\", \"parallel\"]} outs(%e : tensor<2x3xindex>) {\n"
          "^bb0(%o: index):\n%i = linalg.index 0 : index\n%j = linalg.index 1 : index\n"
          "%t = arith.muli %i, %ten : index\n%s = arith.addi %t, %j : index\n"
          "linalg.yield %s : index } -> tensor<2x3xindex>",
          0, 1, 2, 10, 11, 12);
    GIVES(
        "tensor<4xi8>",
        CONSTANT("c", "dense<[5, 6]>", "tensor<2xi8>") "%r = tensor.generate {\n^bb0(%i: "
                                                       "index):\n%two = arith.constant 2 : index\n"
                                                       "%k = arith.remui %i, %two : index\n%v = "
                                                       "tensor.extract %c[%k] : tensor<2xi8>\n"
                                                       "tensor.yield %v : i8 } : tensor<4xi8>",
        5, 6, 5, 6);
}

static void maps_need_not_be_linear(void **state)
{
    (void)state;
    GIVES("tensor<6xi8>",
          CONSTANT("x", "dense<[1, 2, 3]>",
                   "tensor<3xi8>") "%e = tensor.empty() : tensor<6xi8>\n"
                                   "%r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 "
                                   "floordiv 2)>,"
                                   "affine_map<(d0) -> (d0)>], iterator_types = [\"parallel\"]}"
                                   "ins(%x : tensor<3xi8>) outs(%e : tensor<6xi8>) {\n"
                                   "^bb0(%a: i8, %o: i8):\nlinalg.yield %a : i8 } -> tensor<6xi8>",
          1, 1, 2, 2, 3, 3);
}

/* Sums along both dimensions at once, and an order that matters. */
static void reductions_keep_their_order(void **state)
{
    (void)state;
    GIVES("tensor<2xi8>",
          CONSTANT("x", "dense<[[1, 2, 3], [4, 5, 6]]>", "tensor<2x3xi8>") CONSTANT(
              "z", "dense<0>", "tensor<2xi8>") "%r = linalg.reduce ins(%x : tensor<2x3xi8>) "
                                               "outs(%z : tensor<2xi8>) dimensions = [1]\n"
                                               "(%a: i8, %o: i8) {\n%s = arith.subi %a, %o : "
                                               "i8\nlinalg.yield %s : i8 }",
          2, 5);
    GIVES(
        "tensor<i8>",
        CONSTANT("x", "dense<[[1, 2, 3], [4, 5, 6]]>", "tensor<2x3xi8>") CONSTANT(
            "z", "dense<100>",
            "tensor<i8>") "%r = linalg.reduce ins(%x : tensor<2x3xi8>) outs(%z : tensor<i8>) "
                          "dimensions = [0, 1]\n"
                          "(%a: i8, %o: i8) {\n%s = arith.subi %o, %a : i8\nlinalg.yield %s : i8 }",
        79);
}

/* Products that need 64 bits and wrap, beside those that fit 16. */
static void sums_of_products_are_exact(void **state)
{
    (void)state;
    GIVES("tensor<1x1xi64>",
          CONSTANT("a", "dense<[[9223372036854775807, 3]]>", "tensor<1x2xi64>")
              CONSTANT("b", "dense<[[2], [5]]>", "tensor<2x1xi64>")
                  CONSTANT("c", "dense<7>",
                           "tensor<1x1xi64>") "%r = linalg.matmul ins(%a, %b : tensor<1x2xi64>, "
                                              "tensor<2x1xi64>)"
                                              "outs(%c : tensor<1x1xi64>) -> tensor<1x1xi64>",
          20);
    GIVES(
        "tensor<1x1xi8>",
        CONSTANT("a", "dense<[[100, 3]]>", "tensor<1x2xi8>")
            CONSTANT("b", "dense<[[2], [5]]>", "tensor<2x1xi8>") CONSTANT(
                "c", "dense<7>",
                "tensor<1x1xi8>") "%r = linalg.matmul ins(%a, %b : tensor<1x2xi8>, tensor<2x1xi8>)"
                                  "outs(%c : tensor<1x1xi8>) -> tensor<1x1xi8>",
        -34);
    GIVES("tensor<1x1xi32>",
          CONSTANT("a", "dense<[[10, 20]]>", "tensor<1x2xi8>") CONSTANT("b", "dense<[[3], [4]]>",
                                                                        "tensor<2x1xi8>")
              CONSTANT("za", "10", "i32") CONSTANT("zb", "3", "i32")
                  CONSTANT("c", "dense<1>",
                           "tensor<1x1xi32>") "%r = linalg.quantized_matmul ins(%a, %b, %za, %zb : "
                                              "tensor<1x2xi8>, tensor<2x1xi8>, i32,"
                                              "i32) outs(%c : tensor<1x1xi32>) -> tensor<1x1xi32>",
          11);
}

static void parts_of_tensors_move(void **state)
{
    (void)state;
    GIVES("tensor<2x1x2xi8>",
          CONSTANT("x", "dense<[[1, 2], [3, 4], [5, 6]]>", "tensor<3x2xi8>") CONSTANT(
              "i", "dense<[[2], [0]]>",
              "tensor<2x1xindex>") "%r = tensor.gather %x[%i] gather_dims([0]) :"
                                   "(tensor<3x2xi8>, tensor<2x1xindex>) -> tensor<2x1x2xi8>",
          5, 6, 1, 2);
    GIVES(
        "tensor<3x2xi8>",
        CONSTANT("s", "dense<[[[7, 8]]]>", "tensor<1x1x2xi8>")
            CONSTANT("x", "dense<[[1, 2], [3, 4], [5, 6]]>", "tensor<3x2xi8>") CONSTANT(
                "i", "dense<[[1]]>",
                "tensor<1x1xindex>") "%r = tensor.scatter %s into %x[%i] scatter_dims([0]) unique :"
                                     "(tensor<1x1x2xi8>, tensor<3x2xi8>, tensor<1x1xindex>) -> "
                                     "tensor<3x2xi8>",
        1, 2, 7, 8, 5, 6);
    GIVES("tensor<2x2xi8>",
          CONSTANT("x", "dense<[1, 2, 3]>", "tensor<3xi8>")
              CONSTANT("p", "9", "i8") "%e = tensor.empty() : tensor<2x2xi8>\n"
                                       "%r = tensor.pack %x padding_value(%p : i8) inner_dims_pos "
                                       "= [0] inner_tiles = [2]"
                                       "into %e : tensor<3xi8> -> tensor<2x2xi8>",
          1, 2, 3, 9);
    GIVES("tensor<3xi8>",
          CONSTANT("x", "dense<[[1, 2], [3, 9]]>",
                   "tensor<2x2xi8>") "%e = tensor.empty() : tensor<3xi8>\n"
                                     "%r = tensor.unpack %x inner_dims_pos = [0] inner_tiles = [2]"
                                     "into %e : tensor<2x2xi8> -> tensor<3xi8>",
          1, 2, 3);
    GIVES("tensor<2x3xi8>",
          CONSTANT("x", "dense<[[1], [2]]>", "tensor<2x1xi8>")
              CONSTANT("y", "dense<[[3, 4], [5, 6]]>",
                       "tensor<2x2xi8>") "%r = tensor.concat dim(1) %x, %y : (tensor<2x1xi8>, "
                                         "tensor<2x2xi8>) -> tensor<2x3xi8>",
          1, 3, 4, 2, 5, 6);
}

/* %x is read after an op that could have written over it. */
static void values_live_until_their_last_use(void **state)
{
    (void)state;
    GIVES("tensor<2xi8>",
          CONSTANT("z", "0", "index") CONSTANT("v", "9", "i8")
              CONSTANT("c", "dense<[1, 2]>",
                       "tensor<2xi8>") "%x = arith.addi %c, %c : tensor<2xi8>\n"
                                       "%y = tensor.insert %v into %x[%z] : tensor<2xi8>\n"
                                       "%r = arith.addi %x, %y : tensor<2xi8>",
          11, 8);
}

static void shapes_may_be_known_late(void **state)
{
    (void)state;
    GIVES("index",
          CONSTANT("n", "3", "index")
              CONSTANT("z", "0", "index") "%x = tensor.empty(%n) : tensor<?xi8>\n%y = tensor.cast "
                                          "%x : tensor<?xi8> to tensor<3xi8>\n"
                                          "%r = tensor.dim %x, %z : tensor<?xi8>",
          3);
}

static void softmax_sums_to_one(void **state)
{
    Fixture f;
    Array *result = NULL;
    double sum = 0;
    (void)state;
    begin(&f, "func.func @f() -> tensor<1x3xf64> {\n"
              "%x = arith.constant dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf64>\n"
              "%e = tensor.empty() : tensor<1x3xf64>\n"
              "%r = linalg.softmax dimension(1) ins(%x : tensor<1x3xf64>)"
              "outs(%e : tensor<1x3xf64>) -> tensor<1x3xf64>\n"
              "return %r : tensor<1x3xf64>\n}\n");
    assert_true(interp_run(f.interp, NULL, &result));
    for (int64_t i = 0; i < 3; i++) sum += array_get_f64(result, i);
    assert_true(fabs(sum - 1.0) < 1e-15);
    assert_true(fabs(array_get_f64(result, 2) - 0.66524095577482178) < 1e-15);
    array_unref(result);
    end(&f);
}

static void switches_choose_by_value(void **state)
{
    (void)state;
    GIVES(
        "i8",
        CONSTANT("f", "-1", "i32") CONSTANT("a", "1", "i8") CONSTANT(
            "b", "2",
            "i8") "cf.switch %f : i32, [default: ^end(%a : i8), -1: ^end(%b : i8)]\n^end(%r: i8):",
        2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_bit_is_signed_where_ops_say_so),
        cmocka_unit_test(wide_products_are_exact),
        cmocka_unit_test(quotients_round_as_named),
        cmocka_unit_test(floats_are_rounded_once),
        cmocka_unit_test(bodies_see_indices_and_outside_values),
        cmocka_unit_test(maps_need_not_be_linear),
        cmocka_unit_test(reductions_keep_their_order),
        cmocka_unit_test(sums_of_products_are_exact),
        cmocka_unit_test(parts_of_tensors_move),
        cmocka_unit_test(values_live_until_their_last_use),
        cmocka_unit_test(shapes_may_be_known_late),
        cmocka_unit_test(softmax_sums_to_one),
        cmocka_unit_test(switches_choose_by_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
