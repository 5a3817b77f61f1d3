/* Fuzz target for what folding files say: with a file, a small network compiles to a design that
 * is emitted and simulated, or the file is refused with one diagnostic. */
#include "driver/driver.h"
#include "fuzz/fuzz_support.h"

static Op *load_network(Context *ctx, StrBuf *text)
{
    const char *reason;
    bool ok = file_read(text, FUZZ_FOLDING_MODEL, &reason);
    fuzz_check(ok, "the network cannot be read", STR(FUZZ_FOLDING_MODEL));
    Op *module = driver_load_model(ctx, "fuzz", strbuf_str(text), &(ModelOptions){0});
    fuzz_check(module != NULL, "the network is refused", strbuf_str(text));
    return module;
}

void fuzz_folding(const uint8_t *data, size_t size)
{
    static FuzzContext reused;
    DeviceTarget target;
    DeviceOptions device = DEVICE_OPTIONS_DEFAULTS;
    StrBuf text = {0};
    char path[32];
    fuzz_write_file(data, size, path, sizeof path);
    Context *ctx = fuzz_context_take(&reused);
    Op *module = load_network(ctx, &text);
    fuzz_check(driver_resolve_device(ctx, &device, fuzz_reports, &target), "no device", STR(""));
    const CompileOptions options = {.folding = path};
    size_t errors = diag_error_count(ctx);
    bool ok = driver_compile(&module, &options, &target, NULL);
    errors = diag_error_count(ctx) - errors;
    fuzz_check(ok ? errors == 0 : errors > 0, "a failure without a diagnostic", STR(""));
    if (ok) fuzz_check_design(module);
    op_erase(module);
    diag_flush(ctx);
    fuzz_context_give_back(&reused);
    strbuf_free(&text);
}
