/* Translation validation: passes that change what functions compute are named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "dialects/arith/arith.h"
#include "dialects/dialects.h"
#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "sim/interp/interp.h"

static Op *first_op(Op *func, const OpDef *def)
{
    for (Op *op = region_entry(op_region(func, 0))->first; op; op = op->next)
        if (op->def == def) return op;
    return NULL;
}

static bool run_nothing(Pass *pass, Op *op)
{
    (void)pass, (void)op;
    return true;
}

/* [10, 10, 10] becomes [10, 11, 10]. */
static bool run_constant(Pass *pass, Op *func)
{
    Op *constant = first_op(func, ARITH(CONSTANT));
    const int64_t values[] = {10, 11, 10};
    (void)pass;
    op_set_attr(constant, "value", attr_dense_i64(op_result(constant, 0)->type, values, 3));
    return true;
}

/* The sum becomes a quotient by zero: x - x. */
static bool run_division(Pass *pass, Op *func)
{
    Op *sum = first_op(func, ARITH(ADDI));
    Builder b = builder_before(sum);
    Value *x = op_operand(sum, 0);
    Value *zero = build_binary(&b, ARITH(SUBI), x->type, x, x);
    (void)pass;
    value_replace_all(op_result(sum, 0), build_binary(&b, ARITH(DIVSI), x->type, x, zero));
    return true;
}

/* Returns nothing any more. */
static bool run_return(Pass *pass, Op *func)
{
    Op *ret = first_op(func, FUNC(RETURN));
    const Type *type = op_attr(func, "function_type")->u.type_value;
    (void)pass;
    op_set_operands(ret, NULL, 0);
    op_set_attr(func, "function_type",
                attr_type(type_function(func->ctx, type->u.function.types, 1, NULL, 0)));
    return true;
}

static const char sum[] = "func.func @f(%x: tensor<3xi8>) -> tensor<3xi8> {\n"
                          "  %c = arith.constant dense<10> : tensor<3xi8>\n"
                          "  %0 = arith.addi %x, %c : tensor<3xi8>\n"
                          "  return %0 : tensor<3xi8>\n"
                          "}\n";

static void keep_error(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                       size_t note_count)
{
    (void)ctx, (void)notes, (void)note_count;
    strbuf_add_str(user, diag->text);
}

#define CONSTANT(NAME, VALUE)                                                                      \
    "  %" NAME " = onnx.Constant() {value = dense<" VALUE "> : tensor<f32>} : () -> tensor<f32>\n"
#define BINARY(RESULT, OP, X, Y, TYPE)                                                             \
    "  %" RESULT " = onnx." OP                                                                     \
    "(%" X ", %" Y ") : (tensor<64xf32>, " TYPE ") -> tensor<64xf32>\n"
#define QUANT(RESULT, X, MODE)                                                                     \
    "  %" RESULT " = onnx.Quant(%" X ", %unit, %zero, %bits)\n"                                    \
    "    {narrow = 0 : i64, rounding_mode = \"" MODE "\"} : (tensor<64xf32>, tensor<f32>,\n"       \
    "    tensor<f32>, tensor<f32>) -> tensor<64xf32>\n"

#define BEGIN(C)                                                                                   \
    "func.func @f(%x: tensor<64xf32>) -> tensor<64xf32> {\n" CONSTANT("unit", "0.25")              \
        CONSTANT("c", C) CONSTANT("three", "3.0") CONSTANT("zero", "0.0") CONSTANT("bits", "6.0")  \
            QUANT("q", "x", "ROUND")
#define END "  return %y : tensor<64xf32>\n}\n"

/* Odd levels halved are ties of the second quantizer. */
static const char ties[] =
    BEGIN("0.5") BINARY("h", "Mul", "q", "c", "tensor<f32>") QUANT("y", "h", "ROUND") END;

/* The sign of 3 * q * c - (q * c + q * c + q * c), which is what roundings leave of it. */
static const char sign_of_zero[] = BEGIN("0.7") BINARY("one", "Mul", "q", "c", "tensor<f32>")
    BINARY("triple", "Mul", "q", "three", "tensor<f32>")
        BINARY("all", "Mul", "triple", "c", "tensor<f32>")
            BINARY("two", "Add", "one", "one", "tensor<64xf32>")
                BINARY("sum", "Add", "two", "one", "tensor<64xf32>")
                    BINARY("d", "Sub", "all", "sum", "tensor<64xf32>") QUANT("y", "d", "UP") END;

static bool run_half_up(Pass *pass, Op *func)
{
    (void)pass;
    op_set_attr(value_def(op_operand(region_entry(op_region(func, 0))->last, 0)), "rounding_mode",
                attr_string_c(func->ctx, "HALF_UP"));
    return true;
}

/* Zero. */
static bool run_zero(Pass *pass, Op *func)
{
    Op *difference = first_op(func, ONNX(SUB));
    (void)pass;
    op_set_operand(difference, 1, op_operand(difference, 0));
    return true;
}

/* The sum without the difference from it. */
static bool run_sum(Pass *pass, Op *func)
{
    Op *difference = first_op(func, ONNX(SUB));
    (void)pass;
    value_replace_all(op_result(difference, 0), op_operand(difference, 1));
    return true;
}

/* Runs a harmless pass, the broken one, and the harmless one again. */
static bool verify(const char *text, bool (*run)(Pass *, Op *), StrBuf *message)
{
    const PassDef harmless = {.name = "harmless", .anchor = "func.func", .run = run_nothing};
    const PassDef broken = {.name = "broken", .anchor = "func.func", .run = run};
    Context *ctx = context_create();
    dialects_register_all(ctx);
    diag_set_handler(ctx, keep_error, message, NULL, NULL);
    Op *module = parse_module(ctx, str_from(text), STR("text"), NULL);
    assert_non_null(module);
    Pipeline *pipeline = pipeline_create(ctx, NULL, "builtin.module");
    const PassDef *const passes[] = {&harmless, &broken, &harmless};
    for (size_t i = 0; i < COUNT_OF(passes); i++)
        assert_true(pipeline_add(pipeline, passes[i], NULL));
    VerifySemantics *semantics = verify_semantics_create(2);
    const PassHooks *hooks[] = {verify_semantics_hooks(semantics), NULL};
    assert_true(pipeline_run(pipeline, module, &(RunOptions){.verify_each = true, .hooks = hooks}));
    bool ok = verify_semantics_ok(semantics);
    diag_flush(ctx);
    verify_semantics_free(semantics);
    pipeline_free(pipeline);
    op_erase(module);
    context_destroy(ctx);
    return ok;
}

static void harmless_passes_are_silent(void **state)
{
    StrBuf message = {0};
    (void)state;
    assert_true(verify(sum, run_nothing, &message));
    assert_int_equal(message.len, 0);
}

/* The pass is named once; begin and end of the message are given. */
static void is_found(const char *text, bool (*run)(Pass *, Op *), const char *begin,
                     const char *end)
{
    StrBuf message = {0};
    assert_false(verify(text, run, &message));
    if (!str_starts_with(strbuf_str(&message), begin) || !str_ends_with(strbuf_str(&message), end))
        fail_msg("%s", message.data);
    strbuf_free(&message);
}

static void changes_are_named(void **state)
{
    (void)state;
    is_found(sum, run_constant,
             "pass 'broken' changes the semantics of @f: result #0 differs at [1]: ",
             ", on random input 0");
    is_found(sum, run_division, "pass 'broken' changes the semantics of @f: on random input 0, ",
             "'arith.divsi' op divides by zero");
    is_found(sum, run_return, "pass 'broken' changes the number of arguments or results of @f",
             "@f");
}

static void signs_of_roundings_are_no_change(void **state)
{
    const char *change = "pass 'broken' changes the semantics of @f: result #0 differs at [";
    StrBuf message = {0};
    (void)state;
    assert_true(verify(sign_of_zero, run_zero, &message));
    assert_int_equal(message.len, 0);
    is_found(sign_of_zero, run_sum, change, ", on random input 0");
    is_found(ties, run_half_up, change, ", on random input 0");
}

static void none_is_allowed(void **state)
{
    (void)state;
    assert_null(verify_semantics_create(0));
    assert_null(verify_semantics_hooks(NULL));
    assert_true(verify_semantics_ok(NULL));
    verify_semantics_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(harmless_passes_are_silent),
        cmocka_unit_test(changes_are_named),
        cmocka_unit_test(signs_of_roundings_are_no_change),
        cmocka_unit_test(none_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
