/* The cost model's formulas against figures worked out by hand from the device's documentation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "dialects/dialects.h"
#include "ir/asm/parse/parse.h"
#include "schedule/schedule.h"
#include "target/cost/cost.h"

static void products(void **state)
{
    (void)state;
    assert_int_equal(product_dsp(3, 3), 0);
    assert_int_equal(product_dsp(8, 2), 1);
    assert_int_equal(product_dsp(27, 18), 1);
    assert_int_equal(product_dsp(18, 27), 1);
    assert_int_equal(product_dsp(28, 18), 2);
    assert_int_equal(product_dsp(33, 32), 4);
}

/* FINN: (2 ceil((a + b) / 6) - 1) (a + b). */
static void products_in_luts(void **state)
{
    (void)state;
    assert_int_equal(product_luts(2, 2), 4);
    assert_int_equal(product_luts(4, 4), 24);
    assert_int_equal(product_luts(8, 8), 80);
}

/* Cost of the op that `text`, the body of a function of %a: i8, %b: i8, %w: i32, %f and %g: f32,
 * ends with. A clock of 1,000 ps counts picoseconds per thousand. */
static Cost cost_of(const char *text, bool lut_products)
{
    StrBuf source = {0};
    Cost sum = {.cycles = 0};
    Context *ctx = context_create();
    dialects_register_all(ctx);
    strbuf_printf(&source,
                  "func.func @f(%%a: i8, %%b: i8, %%w: i32, %%f: f32, %%g: f32) { %s return }",
                  text);
    Op *module = parse_module(ctx, strbuf_str(&source), STR("test"), NULL);
    assert_non_null(module);
    const Op *func = region_entry(op_region(module, 0))->first;
    const Block *body = region_entry(op_region(func, 0));
    cost_scalar_op(body->last->prev, 1, lut_products, (Clock){1000}, &sum);
    op_erase(module);
    context_destroy(ctx);
    strbuf_free(&source);
    return sum;
}

#define MULTIPLY "%r = arith.muli %x, %c : i32"
#define WIDE "%x = arith.extsi %a : i8 to i32 %y = arith.extsi %b : i8 to i32 "

static void integer_ops(void **state)
{
    (void)state;
    Cost sum = cost_of("%r = arith.addi %w, %w : i32", false);
    assert_int_equal(sum.lut, 32);
    assert_int_equal(sum.dsp, 0);
    /* 670 + 11 * 32 ps, of 1,000: 1.022 of a register of 32 bits. */
    assert_int_equal(sum.ff, 33);
    assert_int_equal(cost_of(WIDE "%r = arith.addi %x, %y : i32", false).lut, 9);
    assert_int_equal(cost_of("%r = arith.cmpi slt, %w, %w : i32", false).lut, 16);
    assert_int_equal(cost_of("%r = arith.maxsi %w, %w : i32", false).lut, 32);
    Cost shift = cost_of("%c = arith.constant 3 : i32 %r = arith.shrsi %w, %c : i32", false);
    assert_int_equal(shift.lut, 0);
    /* Three levels of 4:1. */
    assert_int_equal(cost_of("%r = arith.shli %w, %w : i32", false).lut, 96);
}

static void products_of_ops(void **state)
{
    (void)state;
    Cost dsp = cost_of(WIDE "%r = arith.muli %x, %y : i32", false);
    Cost lut = cost_of(WIDE "%r = arith.muli %x, %y : i32", true);
    assert_int_equal(dsp.dsp, 1);
    assert_int_equal(dsp.lut, 0);
    assert_int_equal(dsp.ff, 0); /* inside the slice */
    assert_int_equal(lut.dsp, 0);
    assert_int_equal(lut.lut, 80);
    /* 10 = 8 + 2 is one sum of 8 + 5 bits, 7 = 8 - 1 of 8 + 4; 16 is a shift; 0x55 has four
     * terms. */
    assert_int_equal(cost_of(WIDE "%c = arith.constant 10 : i32 " MULTIPLY, false).lut, 13);
    assert_int_equal(cost_of(WIDE "%c = arith.constant 7 : i32 " MULTIPLY, false).lut, 12);
    assert_int_equal(cost_of(WIDE "%c = arith.constant 16 : i32 " MULTIPLY, false).lut, 0);
    assert_int_equal(cost_of(WIDE "%c = arith.constant 85 : i32 " MULTIPLY, false).dsp, 1);
}

/* As many squares and products as the exponent has bits, each of a 32-bit base four slices. */
static void written_ops(void **state)
{
    (void)state;
    Cost cube = cost_of("%c = arith.constant 3 : i32 %r = math.ipowi %w, %c : i32", false);
    assert_int_equal(cube.dsp, 2 * product_dsp(32, 32));
    assert_int_equal(cube.lut, 0);
    assert_int_equal(cost_of("%c = arith.constant 8 : i8 %r = math.ipowi %a, %c : i8", false).dsp,
                     3);
    assert_int_equal(cost_of("%c = arith.constant 7 : i8 %r = math.ipowi %a, %c : i8", false).dsp,
                     4);
    assert_int_equal(cost_of("%c = arith.constant 1 : i8 %r = math.ipowi %a, %c : i8", false).dsp,
                     0);
    Cost any = cost_of("%r = math.ipowi %a, %b : i8", false);
    assert_int_equal(any.dsp, 12);
    assert_int_equal(any.lut,
                     32); /* seven choices of a factor, and what a negative exponent gives */
    assert_int_equal(cost_of("%r = math.ipowi %a, %b : i8", true).dsp, 0);
    assert_int_equal(cost_of("%r = math.absi %w : i32", false).lut, 48);
    assert_int_equal(cost_of("%r = math.ctpop %w : i32", false).lut, 64);
    assert_int_equal(cost_of("%r = math.cttz %w : i32", false).lut, 96);
    assert_int_equal(cost_of("%r = math.ctlz %w : i32", false).lut, 144);
}

/* Dividers have a stage per bit; HLS tools' have twice as many LUTs and registers as bits in all of them. */
static void quotients(void **state)
{
    (void)state;
    Cost any = cost_of("%r = arith.divsi %w, %w : i32", false);
    assert_int_equal(any.lut, 2 * 32 * 32);
    assert_int_equal(any.ff, 2 * 32 * 32);
    Cost both = cost_of("%r = arith.floordivsi %w, %w : i32", false);
    assert_int_equal(both.lut, 2 * any.lut);
    assert_int_equal(both.ff, 2 * any.ff);
    assert_int_equal(
        cost_of("%c = arith.constant 10 : i32 %r = arith.divui %w, %c : i32", false).lut, 1024);
    Cost shift = cost_of("%c = arith.constant 64 : i32 %r = arith.divui %w, %c : i32", false);
    assert_int_equal(shift.lut, 0);
    assert_int_equal(shift.ff, 0);
    assert_int_equal(
        cost_of("%c = arith.constant 64 : i32 %r = arith.divsi %w, %c : i32", false).lut, 1024);
}

static void float_ops(void **state)
{
    (void)state;
    Cost sum = cost_of("%r = arith.addf %f, %g : f32", false);
    assert_int_equal(sum.dsp, 2);
    assert_int_equal(sum.lut, 390);
    assert_int_equal(sum.ff, 205);
    assert_int_equal(cost_of("%r = arith.mulf %f, %g : f32", false).dsp, 3);
    assert_int_equal(cost_of("%r = arith.divf %f, %g : f32", false).lut, 994);
    assert_int_equal(cost_of("%r = math.floor %f : f32", false).dsp, 0);
    assert_int_equal(cost_of("%r = math.tanh %f : f32", false).dsp, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),    cmocka_unit_test(products_in_luts),
        cmocka_unit_test(integer_ops), cmocka_unit_test(products_of_ops),
        cmocka_unit_test(quotients),   cmocka_unit_test(written_ops),
        cmocka_unit_test(float_ops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
