/* Emission and simulation of the designs that fuzz targets make. */
#include <stdlib.h>

#include "dialects/emithls/emithls.h"
#include "emit/emit.h"
#include "fuzz/fuzz_support.h"
#include "sim/hls/hls.h"

/* Whether a frame of the design takes few steps. */
static bool is_short(const HlsDesign *design)
{
    enum { MOST_CYCLES = 20000 };
    int64_t cycles = 0;
    for (size_t i = 0; i < design->processes.len && cycles <= MOST_CYCLES; i++) {
        int64_t more = design_process_cycles(&design->processes.data[i]);
        cycles = more > MOST_CYCLES ? MOST_CYCLES + 1 : cycles + more;
    }
    return cycles <= MOST_CYCLES;
}

/* Arrays of zeros for the arguments; false: one has no frame. */
static bool make_arrays(const HlsDesign *design, uint32_t count, Array **arrays)
{
    enum { MOST_ELEMENTS = 1 << 16 };
    for (uint32_t i = 0; i < count; i++) {
        const Type *frame = design_argument_frame(design, i);
        int64_t elements;
        if (design_argument_direction(design, i) == HLS_NO_DATA) continue;
        if (!frame || !type_element_count(frame, &elements) || elements > MOST_ELEMENTS ||
            !(arrays[i] = array_new(frame)))
            return false;
    }
    return true;
}

static void print_results(const HlsDesign *design, const HlsSim *sim)
{
    StrBuf text = {0};
    hls_sim_print_table(design, sim, false, &text);
    hls_sim_print_json(design, sim, &text);
    strbuf_free(&text);
}

static void run(const HlsDesign *design, HlsValues *values, Array *const *arrays)
{
    enum { FRAMES = 2 };
    HlsSimOptions options = {.input_rate = HLS_FULL_RATE, .output_rate = HLS_FULL_RATE};
    if (values) options.hooks = (HlsHooks){.user = values, .values = hls_sim_values_advance};
    HlsSim *sim = hls_sim_create(design, &options);
    bool ok = true;
    for (int frame = 1; ok && frame <= FRAMES; frame++) {
        if (values) hls_sim_values_begin_frame(values, arrays);
        ok = hls_sim_run(sim, frame) && (frame < FRAMES || hls_sim_drain(sim));
        if (ok && values) hls_sim_values_end_frame(values);
        if (!ok && !hls_sim_was_stopped(sim))
            hls_sim_explain_deadlock(design, sim, &options, frame);
    }
    hls_sim_finish(sim);
    if (ok) print_results(design, sim);
    hls_sim_free(sim);
}

static void simulate(const Op *module)
{
    HlsDesign *design = design_create(module, clock_of_module(module, design_clock_mhz(module)));
    if (design && design->processes.len > 0 && is_short(design)) {
        uint32_t count = region_entry(op_region(design->top, 0))->arg_count;
        Array **arrays = xcalloc(count + 1, sizeof *arrays);
        HlsValues *values = NULL;
        if (make_arrays(design, count, arrays)) values = hls_sim_values_create(design);
        run(design, values, arrays);
        hls_sim_values_free(values);
        for (uint32_t i = 0; i < count; i++) array_unref(arrays[i]);
        free(arrays);
    }
    design_free(design);
}

void fuzz_check_design(Op *module)
{
    EmittedProject project = {0};
    const EmitOptions options = {.output_dir = "out", .max_text = 1 << 24};
    size_t errors = diag_error_count(module->ctx);
    bool ok = emit_hls_files(module, &options, &project);
    fuzz_check(ok || diag_error_count(module->ctx) > errors, "emission fails without a diagnostic",
               STR(""));
    emitted_project_free(&project);
    if (ok && emithls_top(module)) simulate(module);
}
