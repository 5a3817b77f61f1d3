/* A client of the driver alone: a module from text to a design, and errors that reach it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "dialects/dialects.h"
#include "dialects/emithls/emithls.h"
#include "driver/driver.h"
#include "ir/asm/print/print.h"

/* Twice each element. */
static const char model[] =
    "func.func @net(%x: tensor<4x8xi8>) -> tensor<4x8xi8> {\n"
    "  %e = tensor.empty() : tensor<4x8xi8>\n"
    "  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,\n"
    "      affine_map<(d0, d1) -> (d0, d1)>], iterator_types = [\"parallel\", \"parallel\"]}\n"
    "      ins(%x : tensor<4x8xi8>) outs(%e : tensor<4x8xi8>) {\n"
    "  ^bb0(%a: i8, %b: i8):\n"
    "    %0 = arith.addi %a, %a : i8\n"
    "    linalg.yield %0 : i8\n"
    "  } -> tensor<4x8xi8>\n"
    "  return %y : tensor<4x8xi8>\n"
    "}\n";

typedef struct Client {
    Context *ctx;
    Op *module;
    DeviceTarget target;
    DriverErrorKind kind; /* of the last error */
    StrBuf message;       /* empty: none */
    StrBuf diagnostic;    /* the last one */
} Client;

static void take_error(void *user, DriverErrorKind kind, Str message)
{
    Client *client = user;
    client->kind = kind;
    strbuf_clear(&client->message);
    strbuf_add_str(&client->message, message);
}

static void take_diag(void *user, Context *ctx, const Diag *diag, const Diag *notes, size_t count)
{
    Client *client = user;
    (void)ctx, (void)notes, (void)count;
    strbuf_clear(&client->diagnostic);
    strbuf_add_str(&client->diagnostic, diag->text);
}

static DriverErrors errors_of(Client *client)
{
    return (DriverErrors){take_error, client};
}

static bool resolve(Client *client, const char *device, int64_t clock)
{
    DeviceOptions options = DEVICE_OPTIONS_DEFAULTS;
    options.device = device;
    options.clock = clock;
    return driver_resolve_device(client->ctx, &options, errors_of(client), &client->target);
}

static int begin(void **state)
{
    Client *client = xcalloc(1, sizeof *client);
    client->ctx = context_create();
    dialects_register_all(client->ctx);
    diag_set_handler(client->ctx, take_diag, client, NULL, NULL);
    client->module =
        driver_load_model(client->ctx, "model.mir", str_from(model), &(ModelOptions){0});
    *state = client;
    return client->module == NULL || !resolve(client, DEFAULT_DEVICE, LIMIT_NOT_GIVEN);
}

static int end(void **state)
{
    Client *client = *state;
    op_erase(client->module);
    context_destroy(client->ctx);
    strbuf_free(&client->message);
    strbuf_free(&client->diagnostic);
    free(client);
    return 0;
}

static void compiles_to_a_design(void **state)
{
    Client *client = *state;
    const CompileOptions options = {.top = "twice"};
    StrBuf text = {0};
    assert_true(driver_compile(&client->module, &options, &client->target, NULL));
    const Op *top = emithls_top(client->module);
    assert_non_null(top);
    assert_true(str_eq_c(symbol_name(top)->str, "twice"));
    driver_print_objective(client->module, &text);
    assert_true(str_starts_with(strbuf_str(&text), "\nObjective throughput: "));
    strbuf_free(&text);
}

/* Without a simulation the latency of the summary is a prediction, and it says so. */
static void summarizes_the_design(void **state)
{
    Client *client = *state;
    const CompileOptions options = {0};
    StrBuf text = {0};
    assert_true(driver_compile(&client->module, &options, &client->target, NULL));
    driver_print_summary(client->module, &client->target, &text);
    assert_non_null(strstr(text.data, "ms (proven by simulation)\nShare of the device: DSP "));
    strbuf_clear(&text);
    op_set_attr(emithls_top(client->module), EMITHLS_ATTR_TIMING, NULL);
    driver_print_summary(client->module, &client->target, &text);
    assert_non_null(
        strstr(text.data, " frames/s (predicted, FIFOs may slow it down), the first frame takes at "
                          "most 0.000"));
    assert_non_null(strstr(text.data, "ms (predicted)\n"));
    strbuf_free(&text);
}

/* The pipeline that a compilation tells makes the same design. */
static void tells_its_pipeline(void **state)
{
    Client *client = *state;
    const CompileOptions options = {.search = {.fps = 1000, .reserved_bram = 3}};
    StrBuf pipeline = {0}, text = {0}, again = {0};
    Op *copy = op_clone(client->module, NULL);
    assert_true(driver_compile(&client->module, &options, &client->target, &pipeline));
    assert_non_null(
        strstr(pipeline.data, "choose-unroll{objective=fps fps=1000 reserve-bram=3 dsp="));
    assert_true(driver_run_passes(copy, strbuf_str(&pipeline)));
    op_print(&text, client->module, &PRINT_DEFAULT);
    op_print(&again, copy, &PRINT_DEFAULT);
    assert_string_equal(again.data, text.data);
    op_erase(copy);
    strbuf_free(&pipeline);
    strbuf_free(&text);
    strbuf_free(&again);
}

/* The module stays the caller's, and what is wrong is a diagnostic. */
static void diagnoses_a_model(void **state)
{
    Client *client = *state;
    const CompileOptions options = {.folding = "/nowhere/folding.json"};
    assert_false(driver_compile(&client->module, &options, &client->target, NULL));
    diag_flush(client->ctx);
    assert_non_null(strstr(client->diagnostic.data, "cannot read the folding file"));
    assert_int_equal(client->message.len, 0);
}

static void reports_an_unknown_device(void **state)
{
    Client *client = *state;
    assert_false(resolve(client, "kv261", LIMIT_NOT_GIVEN));
    assert_int_equal(client->kind, DRIVER_ERROR_DEVICE);
    assert_string_equal(client->message.data, "there is no device 'kv261' (did you mean 'kv260'?)");
    assert_false(resolve(client, "../kv260", LIMIT_NOT_GIVEN));
    assert_string_equal(client->message.data, "there is no device '../kv260'");
}

static void reports_a_clock(void **state)
{
    Client *client = *state;
    assert_false(resolve(client, DEFAULT_DEVICE, 100000));
    assert_int_equal(client->kind, DRIVER_ERROR_CLOCK);
    assert_non_null(strstr(client->message.data, "kv260 takes a clock from 1 to "));
}

/* Nobody needs to listen. */
static void reports_to_nobody(void **state)
{
    Client *client = *state;
    assert_null(driver_find_function(client->module, "absent", (DriverErrors){0}));
    assert_null(driver_find_function(client->module, "absent", errors_of(client)));
    assert_string_equal(client->message.data, "there is no function 'absent' with a body");
}

/* The tables of options name what the pass takes. */
static void names_options_of_the_pass(void **state)
{
    (void)state;
    const DriverOption *const tables[] = {driver_search_options, driver_limit_options};
    const PassDef *pass = pass_find(driver_all_passes(), STR("choose-unroll"));
    assert_non_null(pass);
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        for (const DriverOption *row = tables[i]; row->name; row++) {
            const OptionDef *option = pass->options;
            while (option->name && strcmp(option->name, row->name) != 0) option++;
            assert_non_null(option->name);
            assert_int_equal(option->kind == OPTION_INT, row->kind == DRIVER_NUMBER);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(compiles_to_a_design, begin, end),
        cmocka_unit_test_setup_teardown(summarizes_the_design, begin, end),
        cmocka_unit_test_setup_teardown(tells_its_pipeline, begin, end),
        cmocka_unit_test_setup_teardown(diagnoses_a_model, begin, end),
        cmocka_unit_test_setup_teardown(reports_an_unknown_device, begin, end),
        cmocka_unit_test_setup_teardown(reports_a_clock, begin, end),
        cmocka_unit_test_setup_teardown(reports_to_nobody, begin, end),
        cmocka_unit_test(names_options_of_the_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
