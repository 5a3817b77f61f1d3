/* The choice of a design under a time limit, by the clock's past and future. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "dialects/dialects.h"
#include "dialects/emithls/emithls.h"
#include "driver/choice/internal.h"
#include "target/dse/solve/solve.h"

#define IDENTITY "affine_map<(i, j) -> (i, j)>"
#define SQUARES(name)                                                                              \
    "  %" name " = linalg.generic {indexing_maps = [" IDENTITY ", " IDENTITY "],\n"                \
    "      iterator_types = [\"parallel\", \"parallel\"]}\n"                                       \
    "      ins(%x : tensor<48x16xi8>) outs(%e : tensor<48x16xi8>) {\n"                             \
    "  ^bb0(%v: i8, %old: i8):\n"                                                                  \
    "    %0 = arith.muli %v, %v : i8\n"                                                            \
    "    linalg.yield %0 : i8\n"                                                                   \
    "  } -> tensor<48x16xi8>\n"

/* The second half waits in a FIFO while the first one is written. */
static const char halves[] =
    "func.func @halves(%x: tensor<48x16xi8>) -> tensor<96x16xi8> {\n"
    "  %e = tensor.empty() : tensor<48x16xi8>\n" SQUARES("a")
        SQUARES("b") "  %y = tensor.concat dim(0) %a, %b\n"
                     "      : (tensor<48x16xi8>, tensor<48x16xi8>) -> tensor<96x16xi8>\n"
                     "  return %y : tensor<96x16xi8>\n"
                     "}\n";

typedef struct Client {
    Context *ctx;
    Op *module;
    DeviceTarget target;
    CompileOptions options;
} Client;

static void take_error(void *user, DriverErrorKind kind, Str message)
{
    (void)user, (void)kind, (void)message;
}

static int begin(void **state)
{
    Client *client = xcalloc(1, sizeof *client);
    DeviceOptions device = DEVICE_OPTIONS_DEFAULTS;
    client->ctx = context_create();
    dialects_register_all(client->ctx);
    client->module =
        driver_load_model(client->ctx, "halves.mir", str_from(halves), &(ModelOptions){0});
    client->options.residual = "add,reuse,merge";
    device.limits.dsp = device.limits.bram18 = device.limits.uram = 0;
    device.limits.lut = 1100; /* the fastest design without its FIFO, but not with it */
    *state = client;
    const StageOptions front = {.compile = &client->options, .target = &client->target};
    return !client->module ||
           !driver_resolve_device(client->ctx, &device, (DriverErrors){take_error, NULL},
                                  &client->target) ||
           !driver_run_stages(client->module, STAGES_FRONT, &front, NULL);
}

static int end(void **state)
{
    Client *client = *state;
    op_erase(client->module);
    context_destroy(client->ctx);
    free(client);
    return 0;
}

/* A design that keeps the budget, and its options. */
static SearchOptions choose(const Client *client, double deadline)
{
    DseNeed need = {0};
    SearchOptions chosen = client->options.search;
    const Compile compile = {.options = &client->options,
                             .target = &client->target,
                             .need = &need,
                             .deadline = deadline};
    Op *design = choice_design(&compile, client->module, &chosen);
    assert_non_null(design);
    assert_null(op_attr(emithls_top(design), EMITHLS_ATTR_EXCESS));
    op_erase(design);
    return chosen;
}

static void sets_memory_aside(void **state)
{
    SearchOptions chosen = choose(*state, 0);
    assert_int_equal(chosen.time_limit, 0);
    assert_true(chosen.reserved_lut > 0);
}

/* Half of the time that is left for each search. */
static void shares_the_time(void **state)
{
    SearchOptions chosen = choose(*state, dse_seconds() + 100000);
    assert_in_range(chosen.time_limit, 40000, 50000);
    assert_true(chosen.reserved_lut > 0);
}

/* It takes memory set aside for FIFOs to fit. */
static void finds_a_design_when_late(void **state)
{
    SearchOptions chosen = choose(*state, dse_seconds() - 1);
    assert_int_equal(chosen.time_limit, 1);
    assert_true(chosen.reserved_lut > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sets_memory_aside, begin, end),
        cmocka_unit_test_setup_teardown(shares_the_time, begin, end),
        cmocka_unit_test_setup_teardown(finds_a_design_when_late, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
