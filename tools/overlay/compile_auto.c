/* ming compile --architecture=auto: compiles a network to an accelerator of processes and to a program of
 * an engine that is sized for it, each within what the device may spend, and takes the faster of those
 * that there are (FINN-R, Algorithm 1, takes the engine where no accelerator fits).
 *
 *   module ─┬─▶ driver_compile ─────────────────────▶ figure ─┐
 *           └─▶ overlay_search_run, tool_program_for ─▶ figure ─┴─▶ choice ─▶ lines, JSON, project
 *
 * docs/overlay.md. Tests: lit/driver/ming-compile-auto.test */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/func/func.h"
#include "driver/overlay/overlay.h"
#include "emit/overlay/overlay.h"
#include "ir/asm/print/print.h"
#include "lowering/linalg_to_sa/linalg_to_sa.h"
#include "tools/internal.h"

/* What an architecture reaches. */
typedef struct Figure {
    bool fits, is_simulated;
    int64_t interval, latency; /* cycles */
    StrBuf why;                /* it does not fit */
    DiagHold messages;
} Figure;

/* The overlay's side. */
typedef struct Engine {
    OverlayFound found;
    Op *program; /* a module; or NULL */
    const Attr *overlay;
    StrBuf sizes;
} Engine;

typedef struct Auto {
    const Tool *tool;
    const AutoFlags *flags;
    const CompileOptions *compile;
    const DeviceTarget *target;
    Figure dataflow, overlay;
    Engine engine;
    bool takes_overlay;
    StrBuf reason;
} Auto;

void tool_add_auto(AutoFlags *options, Flags *flags)
{
    FLAGS_ADD(
        flags,
        {"overlay", FLAG_TEXT, &options->overlay, "name=value,...",
         "With --architecture=auto sizes of the overlay that stay, as rows=16,act=i8; the "
         "others are searched",
         NULL},
        {"choice", FLAG_TEXT, &options->choice, "file",
         "With --architecture=auto or --mode=auto write all figures and the reason as JSON, too",
         NULL});
}

bool tool_check_auto(const Tool *tool, const AutoFlags *options, bool is_auto, bool has_one_way,
                     bool chooses_mode)
{
    if (!is_auto && options->overlay)
        return tool_error(tool, "error: --overlay is for --architecture=auto or "
                                "--architecture=overlay");
    if (!is_auto && !chooses_mode && options->choice)
        return tool_error(tool, "error: --choice is for --architecture=auto or --mode=auto");
    return !is_auto || !has_one_way ||
           tool_error(tool,
                      "error: --cards, --system, --anchor, --colocate, --place-svg, --batch "
                      "and --dump-pass-pipeline are of accelerators, and --architecture=auto may "
                      "take an overlay");
}

/* Sizes. */

static bool take_type(const Tool *tool, OverlayRequest *request, const char *name,
                      const char *value)
{
    const OptionDef *option = pass_convert_linalg_to_sa.options;
    while (strcmp(option->name, name) != 0) option++;
    for (const char *const *choice = option->choices; *choice; choice++)
        if (strcmp(*choice, value) == 0) {
            *(name[0] == 'a' ? &request->act : &request->weight) = value;
            return true;
        }
    return tool_error(tool, "error: --overlay: '%s' is no type of %s", value,
                      name[0] == 'a' ? "activations" : "weights");
}

static bool take_size(const Tool *tool, OverlayRequest *request, const char *name,
                      const char *value)
{
    if (strcmp(name, "act") == 0 || strcmp(name, "weight") == 0)
        return take_type(tool, request, name, value);
    for (size_t i = 0; i < SA_OVERLAY_PARAMS; i++) {
        const SaParam *param = &sa_overlay_params[i];
        char *end;
        if (strcmp(param->name, name) != 0) continue;
        errno = 0;
        long long number = strtoll(value, &end, 10);
        if (*end || errno || number < param->least || number > param->most)
            return tool_error(tool, "error: --overlay: %s takes %lld to %lld, but got '%s'", name,
                              (long long)param->least, (long long)param->most, value);
        request->pins[i] = number;
    }
    return true;
}

/* `text` holds the pairs, which types stay in. */
static bool take_sizes(const Auto *job, OverlayRequest *request, StrBuf *text)
{
    StrBuf why = {0};
    for (size_t i = 0; i < SA_OVERLAY_PARAMS; i++) request->pins[i] = LIMIT_NOT_GIVEN;
    if (!job->flags->overlay) return true;
    bool ok = driver_overlay_options(job->flags->overlay, text, &why) ||
              tool_error(job->tool, "error: --overlay: %s", why.data);
    strbuf_free(&why);
    for (char *at = text->data; ok && at && *at;) {
        char *value = strchr(at, '=') + 1, *end = value + strcspn(value, " ");
        char *next = *end ? end + 1 : end;
        value[-1] = *end = '\0';
        ok = take_size(job->tool, request, at, value);
        at = next;
    }
    return ok;
}

/* Figures. */

/* Why, from the first error that was held back, with its place. */
static void take_reason(Figure *figure)
{
    const HeldDiag *held = diag_hold_first_error(&figure->messages);
    if (held && figure->why.len == 0) strbuf_add_str(&figure->why, strbuf_str(&held->text));
    if (!figure->fits && figure->why.len == 0) strbuf_add_c(&figure->why, "no reason is known");
}

static void try_dataflow(Auto *job, Op **module)
{
    Figure *figure = &job->dataflow;
    const DriverProgress progress = progress_of_driver(job->tool->progress);
    CompileOptions compile = *job->compile;
    compile.progress = &progress;
    diag_hold_begin(&figure->messages, (*module)->ctx);
    figure->fits = driver_compile(module, &compile, job->target, NULL);
    diag_hold_end(&figure->messages);
    take_reason(figure);
    if (figure->fits)
        figure->is_simulated = driver_design_times(*module, &figure->interval, &figure->latency);
}

/* Frames of the program that an array of the model has, whose batch becomes frames. */
static int64_t frames_of(const Op *model, const Op *program)
{
    const Type *whole = NULL, *one = NULL;
    FOR_EACH_INNER(op, model)
        if (!whole && op->def == FUNC(FUNC) && func_type(op)->u.function.input_count > 0)
            whole = func_type(op)->u.function.types[0];
    FOR_EACH_INNER(op, program)
        if (!one && op->def == SA(PORT)) one = op_attr(op, SA_ATTR_TYPE)->u.type_value;
    return whole && one ? whole->u.shaped.dims[0] / one->u.shaped.dims[0] : 1;
}

/* An engine for the network, and its program, with the registers of borders between dies. */
static bool find_engine(Auto *job, OverlayRequest *request)
{
    Engine *engine = &job->engine;
    uint64_t cycles = 0;
    if (!driver_run_overlay_front(request->models[0].module, job->compile) ||
        !overlay_search_run(request, &engine->found, &job->overlay.why) ||
        !tool_program_for(&engine->found, &request->models[0], &engine->program, &cycles))
        return false;
    const uint64_t registers = (uint64_t)engine->found.place.registers;
    cycles += engine->found.figures[0].estimate.runs * registers;
    cycles *= (uint64_t)frames_of(request->models[0].module, engine->program);
    job->overlay.interval = job->overlay.latency = (int64_t)cycles;
    job->overlay.is_simulated = true;
    overlay_search_print_sizes(&engine->found.size, ',', &engine->sizes);
    engine->overlay = sa_overlay_attr(request->ctx, &engine->found.size, loc_unknown(request->ctx));
    return engine->overlay != NULL;
}

/* False: an option is wrong. */
static bool try_overlay(Auto *job, const Op *module)
{
    Figure *figure = &job->overlay;
    StrBuf text = {0};
    OverlayModel model = {.name = "network", .weight = 1};
    OverlayRequest request = {.ctx = module->ctx,
                              .models = &model,
                              .model_count = 1,
                              .target = job->target,
                              .objective = OVERLAY_TIME,
                              .rate = LIMIT_NOT_GIVEN};
    bool ok = take_sizes(job, &request, &text);
    if (ok) {
        progress_set(job->tool->progress, "searching an engine");
        model.module = op_clone(module, NULL);
        diag_hold_begin(&figure->messages, module->ctx);
        figure->fits = find_engine(job, &request);
        diag_hold_end(&figure->messages);
        take_reason(figure);
        op_erase(model.module);
    }
    strbuf_free(&text);
    return ok;
}

/* The choice. */

static double frames_a_second(const Auto *job, const Figure *figure)
{
    return (double)job->target->clock * 1e6 / (double)(figure->interval > 0 ? figure->interval : 1);
}

/* With --fps an accelerator has what is asked for and no more, so it is taken if there is one. */
static void choose(Auto *job)
{
    Figure *dataflow = &job->dataflow, *overlay = &job->overlay;
    const int64_t fps = job->compile->search.fps;
    const double reached = frames_a_second(job, overlay);
    if (overlay->fits && fps > 0 && reached < (double)fps) {
        overlay->fits = false;
        strbuf_printf(&overlay->why, "it reaches %.1f frames/s, and --fps=%lld", reached,
                      (long long)fps);
    }
    if (dataflow->fits != overlay->fits) {
        job->takes_overlay = overlay->fits;
        strbuf_add_c(&job->reason, "the only one that is possible");
        return;
    }
    if (fps > 0) {
        strbuf_printf(&job->reason, "it reaches the %lld frames/s that are asked for",
                      (long long)fps);
        return;
    }
    const bool is_latency = driver_asks_latency(&job->compile->search);
    double a = (double)(is_latency ? dataflow->latency : dataflow->interval);
    double b = (double)(is_latency ? overlay->latency : overlay->interval);
    job->takes_overlay = b < a;
    strbuf_printf(&job->reason,
                  is_latency ? "%.2f times as fast for one frame"
                             : "%.2f times the frames a second",
                  (job->takes_overlay ? a / b : b / a));
}

static void print_figure(const Auto *job, const char *name, const Figure *figure)
{
    printf("  %-9s ", name);
    if (!figure->fits) {
        printf("not possible: %s\n", figure->why.data);
        return;
    }
    printf("%" PRId64 " cycles from frame to frame, %.1f frames/s; %" PRId64
           " for the first one%s\n",
           figure->interval, frames_a_second(job, figure), figure->latency,
           figure->is_simulated ? "" : " at most (predicted, not simulated)");
}

static void print_choice(const Auto *job)
{
    printf("architecture: %s (%s, by our model at %lld MHz)\n",
           job->takes_overlay ? "overlay" : "dataflow", job->reason.data,
           (long long)job->target->clock);
    print_figure(job, "dataflow", &job->dataflow);
    print_figure(job, "overlay", &job->overlay);
    if (job->engine.sizes.len > 0) printf("  --overlay=%s\n", job->engine.sizes.data);
}

static void add_figure(JsonWriter *json, const Auto *job, const char *name, const Figure *figure)
{
    json_write_line(json, 2);
    json_member_object(json, name);
    json_member_bool(json, "possible", figure->fits);
    if (figure->fits) {
        json_member_int(json, "cycles", figure->interval);
        json_member_int(json, "first_frame_cycles", figure->latency);
        json_member_bool(json, "simulated", figure->is_simulated);
        json_write_key(json, STR("fps"));
        json_write_number(json, "%.1f", frames_a_second(job, figure));
    } else {
        json_member_string(json, "reason", strbuf_str(&figure->why));
    }
    json_end_object(json);
}

static bool write_choice(const Auto *job)
{
    StrBuf text = {0};
    if (!job->flags->choice) return true;
    JsonWriter json = {.out = &text};
    json_begin_object(&json);
    json_member_string(&json, "architecture",
                       job->takes_overlay ? STR("overlay") : STR("dataflow"));
    json_member_string(&json, "reason", strbuf_str(&job->reason));
    json_member_string(&json, "device", job->target->device.name);
    json_member_int(&json, "clock_mhz", job->target->clock);
    add_figure(&json, job, "dataflow", &job->dataflow);
    add_figure(&json, job, "overlay", &job->overlay);
    if (job->engine.sizes.len > 0)
        json_member_string(&json, "sizes", strbuf_str(&job->engine.sizes));
    json_end_object(&json);
    strbuf_add_char(&text, '\n');
    bool ok = tool_write(job->tool, job->flags->choice, strbuf_str(&text));
    strbuf_free(&text);
    return ok;
}

static bool write_overlay(const Auto *job, const char *output_dir)
{
    StrBuf text = {0};
    OverlayHlsOptions options = tool_engine_options(job->target, LIMIT_NOT_GIVEN);
    op_print(&text, job->engine.program, &PRINT_DEFAULT);
    strbuf_add_char(&text, '\n');
    options.output_dir = output_dir;
    options.program = strbuf_str(&text);
    bool ok = tool_write_engine(job->tool, job->engine.program->ctx, job->engine.overlay, &options);
    if (ok)
        printf("\nWritten to %s: the engine, and its program in engine.mir, for ming engine\n",
               output_dir);
    strbuf_free(&text);
    return ok;
}

/* The messages of what is taken; of both where nothing is. */
static bool report(const Auto *job)
{
    const bool is_possible = job->dataflow.fits || job->overlay.fits;
    if (!is_possible || !job->takes_overlay) diag_hold_report(&job->dataflow.messages);
    if (!is_possible || job->takes_overlay) diag_hold_report(&job->overlay.messages);
    if (is_possible) return true;
    diag_flush(job->dataflow.messages.ctx);
    return tool_error(job->tool,
                      "error: neither architecture is possible on %.*s; an accelerator: %s; an "
                      "overlay: %s",
                      STR_ARG(job->target->device.name), job->dataflow.why.data,
                      job->overlay.why.data);
}

static void free_job(Auto *job)
{
    if (job->engine.program) op_erase(job->engine.program);
    diag_hold_free(&job->dataflow.messages);
    diag_hold_free(&job->overlay.messages);
    strbuf_free(&job->dataflow.why);
    strbuf_free(&job->overlay.why);
    strbuf_free(&job->engine.sizes);
    strbuf_free(&job->reason);
    free(job);
}

bool tool_compile_auto(const Tool *tool, const AutoFlags *options, const CompileFlags *flags,
                       const DeviceTarget *target, const char *output_dir, Op **module,
                       bool *is_overlay)
{
    Auto *job = xcalloc(1, sizeof *job);
    job->tool = tool;
    job->flags = options;
    job->compile = &flags->compile;
    job->target = target;
    bool ok = try_overlay(job, *module);
    if (ok) {
        try_dataflow(job, module);
        choose(job);
    }
    progress_stop(tool->progress);
    ok = ok && report(job);
    *is_overlay = job->takes_overlay;
    if (ok) print_choice(job);
    ok = ok && write_choice(job) && (!job->takes_overlay || write_overlay(job, output_dir));
    free_job(job);
    return ok;
}
