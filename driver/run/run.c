/* The frames of a function, in the reference interpreter.
 * Tests: lit/tools/ming-run.mir, lit/tools/ming-run-jobs.mir */
#include <stdlib.h>

#include "driver/run/internal.h"

bool run_begin(FunctionRun *run)
{
    if (!driver_ports_init(&run->args, run->func, "input", false, run->errors)) return false;
    run_find_levels(run);
    return driver_ports_init(&run->results, run->func, "output", true, run->errors);
}

static bool leave(FunctionRun *run, int64_t at, int64_t frames, Array *const *results)
{
    StrBuf why = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < run->results.count; i++)
        ok = boundary_leave(&run->results.items[i].boundary, results[i], at, frames,
                            &run->results.items[i].npy, &why) ||
             driver_error(run->errors, DRIVER_ERROR_OTHER, "%s", why.data);
    strbuf_free(&why);
    return ok;
}

bool run_frame(FunctionRun *run, Interp *interp, int64_t frame, int64_t at, int64_t frames)
{
    uint32_t count = run->args.count + run->results.count;
    Array **inputs = xcalloc(count, sizeof *inputs), **results = inputs + run->args.count;
    if (run->trace) trace_begin_frame(run->trace, at, frames);
    bool ok = driver_ports_enter(&run->args, frame, inputs) &&
              interp_run(interp, inputs, results) && leave(run, at, frames, results);
    for (uint32_t i = 0; i < count; i++) array_unref(inputs[i]);
    free(inputs);
    return ok;
}

static bool run_one_by_one(FunctionRun *run, Interp *interp)
{
    bool ok = true;
    for (int64_t frame = 0; ok && frame < run->args.frames; frame++) {
        if (run->progress) run->progress(run->user, frame, run->args.frames);
        ok = run_frame(run, interp, frame, frame, run->args.frames);
    }
    return ok;
}

bool run_frames(FunctionRun *run)
{
    Interp *interp = interp_create(run->func);
    bool ok = interp != NULL;
    if (ok) interp_limit_steps(interp, run->max_steps);
    if (ok && run->traces) {
        run->trace = trace_create(run->func, run->args.frames);
        ok = run->trace != NULL;
        if (ok) interp_watch(interp, trace_watch(run->trace));
    }
    if (ok && run->watch.seen) interp_watch(interp, run->watch);
    int64_t workers = i64_min(run->jobs, run->args.frames);
    ok = ok && (workers > 1 ? run_parallel(run, interp, workers) : run_one_by_one(run, interp));
    interp_free(interp);
    return ok;
}

void run_free(FunctionRun *run)
{
    free(run->levels);
    trace_free(run->trace);
    driver_ports_free(&run->args);
    driver_ports_free(&run->results);
}
