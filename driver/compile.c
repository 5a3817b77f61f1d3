/* Runs the passes: those before the choice of a design once, and those from there on as choice/ does;
 * and those of overlays.
 * Tests: lit/driver/ming-compile*.mir, test/unit/driver/compile_test.c */
#include <stdlib.h>
#include <string.h>

#include "dialects/emithls/emithls.h"
#include "driver/choice/internal.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "lowering/linalg_to_sa/linalg_to_sa.h"
#include "target/dse/solve/solve.h"

static void remark_reserve(const Op *design, const SearchOptions *first,
                           const SearchOptions *chosen)
{
    if (chosen->reserved_bram > first->reserved_bram)
        op_remark(emithls_top(design), "%lld BRAM18 were set aside for FIFOs",
                  (long long)chosen->reserved_bram);
    if (chosen->reserved_lut > first->reserved_lut)
        op_remark(emithls_top(design), "%lld LUT were set aside for FIFOs",
                  (long long)chosen->reserved_lut);
}

/* A frame of several images is for weights that are read once for all of them. */
static void remark_images(const Op *design, int64_t images)
{
    const Op *top = emithls_top(design);
    if (images > 1 && top && !op_attr(top, EMITHLS_ATTR_STREAMED))
        op_remark(top, "no weights are read from memory, so a frame of %lld images saves nothing",
                  (long long)images);
}

static void print_pipeline(const Compile *compile, const SearchOptions *search, bool has_tosa,
                           StrBuf *out)
{
    StageOptions options = choice_stages(compile, search);
    options.has_tosa = has_tosa;
    driver_add_stages(out, STAGES_ALL, &options);
}

/* Whether a pair "name=value" is an option of convert-linalg-to-sa, which checks the value. */
static bool is_overlay_option(Str pair)
{
    const OptionDef *option = pass_convert_linalg_to_sa.options;
    size_t len = 0;
    while (len < pair.len && pair.data[len] != '=') len++;
    if (len + 1 >= pair.len) return false;
    for (size_t i = len + 1; i < pair.len; i++)
        if (!strchr("0123456789iu", pair.data[i])) return false;
    for (; option->name; option++)
        if (str_eq_c((Str){pair.data, len}, option->name)) return true;
    return false;
}

bool driver_overlay_options(const char *text, StrBuf *out, StrBuf *why)
{
    for (;; text++) {
        Str pair = {text, strcspn(text, ",")};
        if (!is_overlay_option(pair))
            return strbuf_fail(
                why,
                "'%.*s' is no size of an overlay, as rows=16 or act=i8 (docs/overlay.md "
                "has all of them)",
                STR_ARG(pair));
        strbuf_printf(out, "%s%.*s", out->len > 0 ? " " : "", STR_ARG(pair));
        text += pair.len;
        if (*text == '\0') return true;
    }
}

bool driver_run_overlay_front(Op *module, const CompileOptions *options)
{
    const StageOptions stages = {.compile = options};
    return driver_run_stages(module, STAGES_OVERLAY & ~(unsigned)STAGE_LAYERS, &stages, NULL);
}

bool driver_compile_overlay(Op *module, const CompileOptions *options, Op **program,
                            StrBuf *pipeline)
{
    StageOptions stages = {.compile = options};
    VerifySemantics *semantics = verify_semantics_create(options->verify_semantics);
    if (pipeline) {
        stages.has_tosa = driver_has_tosa(module);
        driver_add_stages(pipeline, STAGES_OVERLAY, &stages);
    }
    bool ok = driver_run_stages(module, STAGES_OVERLAY, &stages, semantics);
    verify_semantics_free(semantics);
    *program = ok ? op_clone(module, NULL) : NULL;
    if (!ok || driver_run_passes(*program, STR("builtin.module(lower-sa-network)"))) return ok;
    op_erase(*program);
    *program = NULL;
    return false;
}

bool driver_compile(Op **module, const CompileOptions *options, const DeviceTarget *target,
                    StrBuf *pipeline)
{
    if (options->cards && options->cards->options)
        return driver_compile_modes(module, options, pipeline);
    SearchOptions chosen = options->search;
    DseNeed need = {0};
    Compile compile = {.options = options,
                       .target = target,
                       .semantics = verify_semantics_create(options->verify_semantics),
                       .need = &need};
    verify_semantics_take_images(compile.semantics, options->images);
    const bool has_tosa = driver_has_tosa(*module);
    const StageOptions front = choice_stages(&compile, &chosen);
    ModelNotes *notes = driver_notes_begin(*module);
    bool is_network = driver_run_stages(*module, STAGES_FRONT, &front, compile.semantics);
    if (is_network) driver_notes_end(notes, *module);
    if (is_network) driver_notes_record(notes, *module);
    driver_notes_free(notes);
    if (chosen.time_limit > 0) compile.deadline = dse_seconds() + (double)chosen.time_limit;
    Tiling *tiling = xcalloc(1, sizeof *tiling);
    const bool is_tiled = options->cards && options->cards->min_utilization > 0;
    Op *design = !is_network                 ? NULL
                 : is_tiled                  ? choice_tile(&compile, tiling, *module, &chosen)
                 : driver_is_spread(options) ? choice_spread(&compile, *module, &chosen)
                                             : choice_design(&compile, *module, &chosen);
    verify_semantics_free(compile.semantics);
    if (design) remark_reserve(design, &options->search, &chosen);
    if (design) remark_images(design, options->images);
    if (is_network && !design && need.least > 0) {
        if (choice_is_late(&compile))
            op_note(*module, "--time-limit ended the search before all designs were tried");
        driver_advise(*module, options, target, need.kind, need.least);
    }
    if (pipeline) print_pipeline(&compile, &chosen, has_tosa, pipeline);
    free(compile.part);
    free(tiling);
    if (!design) return false;
    op_erase(*module);
    *module = design;
    return true;
}
