/* prove-loaded: the interval and the first frame's latency of cards that load their weights, on the
 * design as it is emitted. fit-fifos and bound-links choose depths before load-weights adds what
 * loads. With it, processes have begun and wait when the first frame comes, which is when all weights
 * are loaded, and so a frame may take fewer cycles than where all begin with it.
 *
 * Requires: depths, and what fit-fifos has recorded; without, nothing is known and nothing changes.
 * Changes: interval and latency in emithls.timing of the top function.
 * Tests: lit/target/fifo/prove-loaded.mir, test/e2e/system_check.py */
#include <stdlib.h>

#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "sim/design/design.h"
#include "target/fifo/fifo.h"

static void record(const HlsDesign *design, const char *name, int64_t cycles)
{
    Op *top = (Op *)(uintptr_t)design->top; /* of the module that the pass changes */
    op_set_attr(top, EMITHLS_ATTR_TIMING,
                attr_dict_set(op_attr(top, EMITHLS_ATTR_TIMING), ident_get_c(top->ctx, name),
                              attr_i64(top->ctx, cycles)));
}

/* The best interval is known after the first frame, as fit-fifos has it. A design that does not settle
 * within the events keeps what was proven without what loads: that works in the first frame only. */
static bool prove(const HlsDesign *design, int64_t events)
{
    const Attr *timing = op_attr(design->top, EMITHLS_ATTR_TIMING);
    SteadyState steady = {.interval = attr_dict_int(timing, EMITHLS_TIMING_INTERVAL, 0)};
    int64_t *depths = xcalloc(design->streams.len + 1, sizeof *depths);
    for (size_t i = 0; i < design->streams.len; i++) depths[i] = design->streams.data[i].depth;
    bool ok = fifo_first_frame(design, depths, &steady.latency) != SIZING_DEADLOCK;
    if (ok && steady.interval != fifo_best_interval(design)) {
        SteadyState settled;
        SizingOutcome outcome = fifo_steady_state(design, depths, &events, &settled, NULL);
        ok = outcome != SIZING_DEADLOCK;
        if (outcome == SIZING_PERIODIC) steady.interval = settled.interval;
    }
    free(depths);
    if (!ok) return op_error(design->top, "deadlocks with what loads its weights");
    record(design, EMITHLS_TIMING_INTERVAL, steady.interval);
    record(design, EMITHLS_TIMING_LATENCY, steady.latency);
    return true;
}

static bool prove_loaded(Pass *pass, Op *module)
{
    const Op *top = emithls_top(module);
    if (!top || !op_attr(top, EMITHLS_ATTR_TIMING)) return true;
    HlsDesign *design = design_create(module, clock_of_module(module, design_clock_mhz(module)));
    bool ok = design && prove(design, pass_int(pass, "events"));
    design_free(design);
    return ok;
}

const PassDef pass_prove_loaded = {
    .name = "prove-loaded",
    .summary = "Record interval and first frame of cards that load their weights, by simulation",
    .anchor = "builtin.module",
    .options =
        OPTIONS({"events", OPTION_INT, "16777216", "reads and writes to look at", 1, INT64_MAX}),
    .run = prove_loaded,
};
