/* ming overlay --search: reads models, finds an engine for them, and counts what their programs take on
 * it in the simulator.
 * Tests: lit/tools/ming-overlay-search.test, test/e2e/overlay_model_check.py */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/overlay/overlay.h"
#include "ir/asm/print/print.h"
#include "sim/engine/engine.h"
#include "target/overlay/overlay.h"
#include "tools/internal.h"

enum { MOST_RATE = 1000000000, MOST_WEIGHT = 1000000 };

/* The models, which messages show lines of. */
typedef struct Models {
    OverlayModel list[OVERLAY_SEARCH_MOST_MODELS];
    StrBuf bytes[OVERLAY_SEARCH_MOST_MODELS];
    size_t count;
} Models;

void tool_add_overlay_search(OverlaySearchFlags *search, Flags *flags)
{
    FLAGS_ADD(
        flags,
        {"search", FLAG_TEXTS, &search->models, "model,...",
         "Find the sizes of one engine for these models on the device; sizes that are given stay",
         NULL},
        {"objective", FLAG_CHOICE, &search->objective, "worst|sum|time",
         "What is least: the worst time beside the device's roofline (default), the sum of these, "
         "the sum of times",
         NULL},
        {"mix", FLAG_TEXTS, &search->mix, "number,...",
         "How much each model counts, default 1 each", NULL},
        {"dies", FLAG_CHOICE, &search->dies, "spread|each",
         "One engine over as many dies as it needs (default), or one on each die", NULL},
        {"rate", FLAG_INT, &search->rate, "n",
         "Bytes that a bank moves in 1,000 cycles, default 85 % of the device's fastest bank",
         NULL},
        {"head", FLAG_TEXT, &search->head, "integers|argmax|topk=K",
         "What the programs give, as ming compile takes it", NULL});
}

static bool read_weight(const Tool *tool, const char *text, double *out)
{
    char *end;
    errno = 0;
    *out = strtod(text, &end);
    return (end != text && *end == '\0' && errno == 0 && *out > 0 && *out <= MOST_WEIGHT) ||
           tool_error(tool, "error: --mix takes numbers above 0 to %d, not '%s'", MOST_WEIGHT,
                      text);
}

static bool read_model(const Tool *tool, const OverlaySearchFlags *flags, OverlayRequest *request,
                       size_t index, Models *models)
{
    const char *path = flags->models.data[index], *reason = NULL;
    OverlayModel *model = &models->list[index];
    StrBuf *bytes = &models->bytes[index];
    const CompileOptions compile = {.head = flags->head};
    const ModelOptions options = {0};
    *model = (OverlayModel){.name = path, .weight = 1};
    models->count++;
    if (flags->mix.len > 0 && !read_weight(tool, flags->mix.data[index], &model->weight))
        return false;
    if (!file_read(bytes, path, &reason))
        return tool_error(tool, "error: cannot open '%s': %s", path, reason);
    model->module = driver_load_model(request->ctx, path, strbuf_str(bytes), &options);
    return model->module && driver_run_overlay_front(model->module, &compile);
}

static bool check_flags(const Tool *tool, const OverlaySearchFlags *flags)
{
    if (flags->models.len > OVERLAY_SEARCH_MOST_MODELS)
        return tool_error(tool, "error: --search takes %d models at most",
                          OVERLAY_SEARCH_MOST_MODELS);
    if (flags->mix.len > 0 && flags->mix.len != flags->models.len)
        return tool_error(tool, "error: --mix has %zu numbers for %zu models", flags->mix.len,
                          flags->models.len);
    if (flags->rate != LIMIT_NOT_GIVEN && (flags->rate < 1 || flags->rate > MOST_RATE))
        return tool_error(tool, "error: --rate takes 1 to %d bytes in 1,000 cycles", MOST_RATE);
    return !flags->head || driver_head_is_valid(flags->head) ||
           tool_error(tool, "error: --head takes integers, argmax or topk=K with K above 0");
}

bool tool_program_for(const OverlayFound *found, const OverlayModel *model, Op **out,
                      uint64_t *cycles)
{
    StrBuf pipeline = {0}, rest = {0};
    EngineResult result = {0};
    EngineOptions options = ENGINE_DEFAULTS;
    options.rate = found->memory.rate;
    strbuf_printf(&rest, ",lower-sa-network{rate=%llu}", (unsigned long long)found->memory.rate);
    overlay_search_pipeline(&found->size, rest.data, &pipeline);
    Op *module = op_clone(model->module, NULL);
    bool ok = driver_run_passes(module, strbuf_str(&pipeline));
    const Op *program = ok ? overlay_find_program(module) : NULL;
    ok = program && tool_count_cycles(module, program, &options, &result);
    *cycles = result.cycles;
    engine_result_free(&result);
    if (ok && out)
        *out = module;
    else
        op_erase(module);
    strbuf_free(&pipeline);
    strbuf_free(&rest);
    return ok;
}

static bool print_simulated(const OverlayRequest *request, const OverlayFound *found)
{
    for (size_t i = 0; i < request->model_count; i++) {
        uint64_t cycles = 0, model = found->figures[i].estimate.cycles;
        if (!tool_program_for(found, &request->models[i], NULL, &cycles)) return false;
        printf("%s: %llu cycles simulated; the prediction is %+.2f %% off\n",
               request->models[i].name, (unsigned long long)cycles,
               100 * ((double)model / (double)cycles - 1));
    }
    return true;
}

static const Attr *search(const Tool *tool, const OverlaySearchFlags *flags,
                          OverlayRequest *request)
{
    OverlayFound *found = xcalloc(1, sizeof *found);
    StrBuf text = {0}, why = {0};
    request->objective = !flags->objective || strcmp(flags->objective, "worst") == 0 ? OVERLAY_WORST
                         : strcmp(flags->objective, "sum") == 0                      ? OVERLAY_SUM
                                                                                     : OVERLAY_TIME;
    request->is_for_each_die = flags->dies && strcmp(flags->dies, "each") == 0;
    request->rate = flags->rate;
    bool ok = overlay_search_run(request, found, &why);
    if (why.len > 0) tool_error(tool, "error: %s", why.data);
    if (ok) {
        overlay_search_print(request, found, &text);
        fwrite(text.data, 1, text.len, stdout);
        ok = print_simulated(request, found);
    }
    const Attr *attr =
        ok ? sa_overlay_attr(request->ctx, &found->size, loc_unknown(request->ctx)) : NULL;
    strbuf_free(&text);
    strbuf_free(&why);
    free(found);
    return attr;
}

const Attr *tool_search_overlay(const Tool *tool, const OverlaySearchFlags *flags,
                                OverlayRequest *request)
{
    Models *models = xcalloc(1, sizeof *models);
    bool ok = check_flags(tool, flags);
    for (size_t i = 0; ok && i < flags->models.len; i++)
        ok = read_model(tool, flags, request, i, models);
    request->models = models->list;
    request->model_count = models->count;
    const Attr *attr = ok ? search(tool, flags, request) : NULL;
    diag_flush(request->ctx);
    for (size_t i = 0; i < models->count; i++) {
        if (models->list[i].module) op_erase(models->list[i].module);
        strbuf_free(&models->bytes[i]);
    }
    free(models);
    return attr;
}
