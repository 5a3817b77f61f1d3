/* Fuzz target for synthesis reports (csynth.xml): a file is refused with a diagnostic, or gives
 * figures that are known or -1, and modules that are found by their names. */
#include "fuzz/fuzz_support.h"
#include "ir/attr/attr.h"
#include "target/device/device.h"

static bool are_figures(const SynthFigures *f)
{
    return f->latency >= -1 && f->interval >= -1 && f->dsp >= -1 && f->bram18 >= -1 &&
           f->uram >= -1 && f->lut >= -1 && f->ff >= -1;
}

void fuzz_csynth(const uint8_t *data, size_t size)
{
    static FuzzContext reused;
    char path[32];
    SynthReport report;
    fuzz_write_file(data, size, path, sizeof path);
    Context *ctx = fuzz_context_take(&reused);
    Str text = {(const char *)data, size};
    size_t errors = diag_error_count(ctx);
    bool ok = csynth_read(ctx, path, &report);
    fuzz_check(ok || diag_error_count(ctx) > errors, "a failure without a diagnostic", text);
    fuzz_check(!ok || are_figures(&report.total), "a figure below -1", text);
    for (size_t i = 0; ok && i < report.modules.len; i++) {
        const SynthModule *module = &report.modules.data[i];
        fuzz_check(are_figures(&module->figures), "a figure below -1", text);
        fuzz_check(csynth_module(&report, module->name) != NULL, "a module is not found", text);
    }
    csynth_free(&report);
    fuzz_context_give_back(&reused);
}
