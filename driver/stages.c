/* The order of the passes, from a loaded model to an emithls design: one table, of which the stages
 * that compile, check and explore need are run or printed.
 * Tests: lit/driver/ming-compile.mir, test/unit/driver/compile_test.c */
#include <string.h>

#include "dialects/tosa/tosa.h"
#include "driver/internal.h"
#include "lowering/dfg_to_emithls/dfg_to_emithls.h"
#include "lowering/linalg_to_dfg/linalg_to_dfg.h"
#include "lowering/linalg_to_sa/linalg_to_sa.h"
#include "lowering/network_to_program/network_to_program.h"
#include "lowering/onnx_to_linalg/onnx_to_linalg.h"
#include "lowering/tosa_to_linalg/tosa_to_linalg.h"
#include "passes/common/passes.h"
#include "passes/dfg/passes.h"
#include "passes/linalg/passes.h"
#include "passes/onnx/passes.h"
#include "passes/tosa/passes.h"
#include "sim/design/design.h"
#include "target/cost/cost.h"
#include "target/dse/dse.h"
#include "target/fifo/fifo.h"
#include "target/split/split.h"

static bool add_keep_going(StrBuf *out, const StageOptions *options)
{
    if (options->keeps_going) strbuf_add_c(out, "keep-going");
    return true;
}

static bool add_keep_moves(StrBuf *out, const StageOptions *options)
{
    strbuf_add_c(out, options->keeps_going ? "keep-going keep-moves" : "keep-moves");
    return true;
}

/* "integers", "argmax" or "topk=K" */
static bool parse_head(const char *text, bool *is_list, int64_t *k)
{
    static const char prefix[] = "topk=";
    size_t len = strlen(prefix);
    *is_list = strncmp(text, prefix, len) == 0;
    if (!*is_list) return strcmp(text, "integers") == 0 || strcmp(text, "argmax") == 0;
    *k = 0;
    for (text += len; *text >= '0' && *text <= '9' && *k < INT32_MAX; text++)
        *k = *k * 10 + (*text - '0');
    return *text == '\0' && *k > 0;
}

bool driver_head_is_valid(const char *text)
{
    bool is_list;
    int64_t k;
    return parse_head(text, &is_list, &k);
}

static bool add_head(StrBuf *out, const StageOptions *options)
{
    bool is_list;
    int64_t k;
    const char *head = options->compile ? options->compile->head : NULL;
    if (!head || !parse_head(head, &is_list, &k)) return false;
    if (is_list)
        strbuf_printf(out, "kind=topk k=%lld", (long long)k);
    else
        strbuf_printf(out, "kind=%s", head);
    return true;
}

static bool wants_tosa(StrBuf *out, const StageOptions *options)
{
    (void)out;
    return options->has_tosa;
}

/* The scales of tosa.rescale, as the arithmetic of processes. */
static bool wants_tosa_scales(StrBuf *out, const StageOptions *options)
{
    if (options->has_tosa) strbuf_add_c(out, "include-apply-rescale=true");
    return options->has_tosa;
}

/* Which of the forms of residual blocks a list of words asks for. */
typedef struct Residual {
    bool adds, reuses, merges, fans_out;
} Residual;

static bool parse_residual(const char *text, Residual *out)
{
    *out = (Residual){false};
    if (strcmp(text, "none") == 0) return true;
    for (;; text++) {
        Str word = {text, strcspn(text, ",")};
        bool all = str_eq_c(word, "all"), add = str_eq_c(word, "add"),
             reuse = str_eq_c(word, "reuse"), merge = str_eq_c(word, "merge"),
             fanout = str_eq_c(word, "fanout");
        if (!all && !add && !reuse && !merge && !fanout) return false;
        out->adds |= all || add;
        out->reuses |= all || reuse;
        out->merges |= all || merge;
        out->fans_out |= all || fanout;
        text += word.len;
        if (*text == '\0') return true;
    }
}

bool driver_residual_is_valid(const char *text)
{
    Residual residual;
    return parse_residual(text, &residual);
}

static bool add_residual(StrBuf *out, const StageOptions *options)
{
    Residual residual;
    const char *text = options->compile->residual;
    if (!text || !parse_residual(text, &residual)) return true;
    if (residual.reuses != residual.merges)
        strbuf_add_c(out, residual.reuses ? "merge=false" : "reuse=false");
    return residual.reuses || residual.merges;
}

static bool add_to_dfg(StrBuf *out, const StageOptions *options)
{
    Residual residual;
    const char *text = options->compile->residual;
    if (options->compile->top) strbuf_printf(out, "top=%s", options->compile->top);
    if (text && parse_residual(text, &residual) && !residual.adds)
        strbuf_printf(out, "%sfuse-adds=false", out->len > 0 ? " " : "");
    return true;
}

/* Cards are given processes by name, forks among them. */
static bool wants_fanout(StrBuf *out, const StageOptions *options)
{
    Residual residual;
    const char *text = options->compile->residual;
    (void)out;
    return !options->compile->cards &&
           (!text || !parse_residual(text, &residual) || residual.fans_out);
}

static bool add_overlay(StrBuf *out, const StageOptions *options)
{
    if (options->compile->overlay) strbuf_add_c(out, options->compile->overlay);
    return true;
}

static bool add_folding(StrBuf *out, const StageOptions *options)
{
    if (options->compile->folding) strbuf_printf(out, "file=\"%s\"", options->compile->folding);
    return options->compile->folding != NULL;
}

static bool add_folding_of_loops(StrBuf *out, const StageOptions *options)
{
    bool is_given = add_folding(out, options);
    if (is_given && options->compile->loads_weights) strbuf_add_c(out, " loads-weights=true");
    if (is_given && options->compile->streams_weights) strbuf_add_c(out, " streams-weights=true");
    if (is_given && driver_is_spread(options->compile)) strbuf_add_c(out, " on-cards=true");
    return is_given;
}

static bool add_search(StrBuf *out, const StageOptions *options)
{
    driver_add_search_options(out, options);
    return true;
}

static bool add_pipeline_style(StrBuf *out, const StageOptions *options)
{
    const CompileOptions *compile = options->compile;
    if (compile->flushes) strbuf_add_c(out, "flush=true");
    if (compile->rewinds)
        strbuf_add_c(out,
                     compile->loads_weights ? "rewind=true loads-weights=true" : "rewind=true");
    if (compile->control)
        strbuf_printf(out, "%scontrol=%s", out->len > 0 ? " " : "", compile->control);
    return true;
}

/* Dies have borders where there are several. */
static bool add_borders(StrBuf *out, const StageOptions *options)
{
    const Device *device = options->target ? &options->target->device : NULL;
    if (!device || device->die_count < 2) return false;
    if (device->registers != DEVICE_DEFAULT_REGISTERS)
        strbuf_printf(out, "cycles=%lld", (long long)device->registers);
    return true;
}

static bool add_fit(StrBuf *out, const StageOptions *options)
{
    if (options->fits_best_only) strbuf_add_c(out, "best-only=true");
    if (options->compile->fifo_slack)
        strbuf_printf(out, "%sslack=%s", out->len > 0 ? " " : "", options->compile->fifo_slack);
    return true;
}

bool driver_fifo_slack_is_valid(const char *text)
{
    FifoSlack slack;
    return fifo_slack_parse(str_from(text), &slack);
}

static bool has_links(StrBuf *out, const StageOptions *options)
{
    StrBuf links = {0};
    (void)out;
    bool has = driver_add_links(&links, options);
    strbuf_free(&links);
    return has;
}

static bool add_images(StrBuf *out, const StageOptions *options)
{
    strbuf_printf(out, "images=%lld", (long long)options->compile->images);
    return options->compile->images > 1;
}

/* Checks and explorations compile without images. */
static bool add_frame_images(StrBuf *out, const StageOptions *options)
{
    return options->compile && add_images(out, options);
}

static bool has_frame_images(StrBuf *out, const StageOptions *options)
{
    (void)out;
    return options->compile && options->compile->images > 1;
}

static bool wants_memory_ports(StrBuf *out, const StageOptions *options)
{
    (void)out;
    return options->compile->has_memory_ports;
}

static bool wants_dma_ports(StrBuf *out, const StageOptions *options)
{
    (void)out;
    return options->compile->has_dma_ports;
}

static bool wants_loaded_weights(StrBuf *out, const StageOptions *options)
{
    const CompileOptions *compile = options->compile;
    if (compile->loads_weights && compile->weights_width)
        strbuf_printf(out, "width=%lld", (long long)compile->weights_width);
    if (compile->loads_weights && compile->weights_interface)
        strbuf_printf(out, "%sinterface=%s", out->len > 0 ? " " : "", compile->weights_interface);
    return compile->loads_weights;
}

static bool wants_streamed_weights(StrBuf *out, const StageOptions *options)
{
    if (!options->compile->streams_weights) return false;
    if (options->target)
        strbuf_printf(
            out, "bus-bits=%lld ports=%lld rate=%lld",
            (long long)driver_stream_bits(&options->target->device),
            (long long)driver_stream_ports(&options->target->device),
            (long long)driver_stream_rate(options->target, options->compile->shares_port));
    return true;
}

static bool wants_chains(StrBuf *out, const StageOptions *options)
{
    (void)out;
    return options->compile->loads_weights && options->compile->cards;
}

static bool are_on_cards(StrBuf *out, const StageOptions *options)
{
    (void)out;
    return options->compile->cards;
}

/* With memory ports the figures are those without the memories' latency. */
static bool wants_loaded_proof(StrBuf *out, const StageOptions *options)
{
    return wants_chains(out, options) && !options->compile->has_memory_ports;
}

/* Compared as pointers. */
static const char on_functions[] = "func.func", on_regions[] = "dfg.region";

typedef struct Step {
    unsigned stage;
    const char *anchor; /* what the pass is nested in; NULL: it runs on the module */
    const PassDef *pass;
    /* Appends the pass's options. False: the pass is left out. NULL: it is run without any. */
    bool (*add_options)(StrBuf *out, const StageOptions *options);
} Step;

static const Step steps[] = {
    {STAGE_FOLD, NULL, &pass_name_tensors, NULL},
    {STAGE_FOLD, on_functions, &pass_onnx_fold_constants, NULL},
    {STAGE_FOLD, on_functions, &pass_onnx_decompose, NULL},
    {STAGE_FOLD, on_functions, &pass_onnx_fold_constants, NULL},
    {STAGE_FOLD, on_functions, &pass_onnx_infer_shapes, NULL},
    {STAGE_FOLD, on_functions, &pass_onnx_set_head, add_head},
    {STAGE_TO_LINALG, on_functions, &pass_convert_onnx_to_linalg, add_keep_going},
    {STAGE_TO_LINALG, NULL, &pass_record_requantizers, NULL},
    {STAGE_TO_LINALG, on_functions, &pass_tosa_optional_decompositions, wants_tosa},
    {STAGE_TO_LINALG, on_functions, &pass_canonicalize, wants_tosa},
    {STAGE_TO_LINALG, on_functions, &pass_tosa_infer_shapes, wants_tosa},
    {STAGE_TO_LINALG, on_functions, &pass_tosa_make_broadcastable, wants_tosa},
    {STAGE_TO_LINALG, on_functions, &pass_tosa_to_linalg_named, wants_tosa},
    {STAGE_TO_LINALG, on_functions, &pass_canonicalize, wants_tosa},
    {STAGE_TO_LINALG, on_functions, &pass_tosa_make_broadcastable, wants_tosa},
    {STAGE_TO_LINALG, on_functions, &pass_tosa_to_linalg, wants_tosa},
    {STAGE_TO_LINALG, NULL, &pass_tosa_to_arith, wants_tosa_scales},
    {STAGE_TO_LINALG, NULL, &pass_tosa_to_tensor, wants_tosa},
    {STAGE_TO_LINALG, NULL, &pass_convert_to_signless, NULL},
    {STAGE_TO_LINALG, NULL, &pass_canonicalize, wants_tosa},
    {STAGE_GENERALIZE, on_functions, &pass_name_layers, NULL},
    {STAGE_GENERALIZE, on_functions, &pass_linalg_generalize_named_ops, NULL},
    {STAGE_STREAM | STAGE_NETWORK, on_functions, &pass_simplify_kernels, NULL},
    {STAGE_STREAM | STAGE_NETWORK, NULL, &pass_canonicalize, NULL},
    {STAGE_STREAM | STAGE_NETWORK, NULL, &pass_cse, NULL},
    {STAGE_STREAM | STAGE_NETWORK, NULL, &pass_symbol_dce, NULL},
    {STAGE_STREAM | STAGE_NETWORK, on_functions, &pass_split_results, NULL},
    {STAGE_STREAM, NULL, &pass_batch_images, add_frame_images},
    {STAGE_STREAM | STAGE_NETWORK, on_functions, &pass_stream_initials, NULL},
    {STAGE_STREAM, on_functions, &pass_narrow_integers, NULL},
    {STAGE_STREAM, on_functions, &pass_encode_levels, NULL},
    {STAGE_STREAM | STAGE_NETWORK, on_functions, &pass_canonicalize, NULL},
    {STAGE_STREAM, on_functions, &pass_normalize_layout, add_keep_going},
    {STAGE_NETWORK, on_functions, &pass_normalize_layout, add_keep_moves},
    {STAGE_STREAM, on_functions, &pass_stream_batch_last, has_frame_images},
    {STAGE_STREAM, NULL, &pass_analyze_kernels, NULL},
    {STAGE_STREAM, on_functions, &pass_insert_reorders, add_keep_going},
    {STAGE_STREAM, NULL, &pass_convert_linalg_to_dfg, add_to_dfg},
    {STAGE_LAYERS, on_functions, &pass_split_batch, NULL},
    {STAGE_LAYERS, NULL, &pass_convert_linalg_to_sa, add_overlay},
    {STAGE_LAYERS, NULL, &pass_merge_sa_pools, NULL},
    {STAGE_LAYERS, NULL, &pass_batch_sa_network, add_images},
    {STAGE_TIDY, NULL, &pass_canonicalize, NULL},
    {STAGE_TIDY, NULL, &pass_share_windows, add_residual},
    {STAGE_CHOOSE, NULL, &pass_apply_folding, add_folding_of_loops},
    {STAGE_CHOOSE, NULL, &pass_choose_unroll, add_search},
    {STAGE_TO_HLS, on_regions, &pass_size_fifos, NULL},
    {STAGE_TO_HLS, NULL, &pass_convert_dfg_to_emithls, add_pipeline_style},
    {STAGE_TO_HLS, NULL, &pass_merge_forks, wants_fanout},
    {STAGE_FIT, NULL, &pass_add_dma_ports, wants_dma_ports},
    {STAGE_FIT, NULL, &pass_stream_weights, wants_streamed_weights},
    {STAGE_FIT, NULL, &pass_place_cards, driver_add_cards},
    {STAGE_FIT, NULL, &pass_connect_cards, driver_add_links},
    {STAGE_FIT, NULL, &pass_cross_dies, add_borders},
    {STAGE_FIT, NULL, &pass_pin_fifos, add_folding},
    {STAGE_FIT, NULL, &pass_fit_fifos, add_fit},
    {STAGE_FIT, NULL, &pass_bound_links, has_links},
    {STAGE_FIT, NULL, &pass_add_memory_ports, wants_memory_ports},
    {STAGE_FIT, NULL, &pass_chain_kernels, wants_chains},
    {STAGE_FIT, NULL, &pass_load_weights, wants_loaded_weights},
    {STAGE_FIT, NULL, &pass_prove_loaded, wants_loaded_proof},
    {STAGE_FIT, NULL, &pass_check_dies, are_on_cards},
    {STAGE_FIT, NULL, &pass_schedule_hls, NULL},
};

/* Neighbours on the same kind of op share its parentheses; *anchor is that of the step before. */
static void add_step(StrBuf *out, const Step *step, const StrBuf *options, const char **anchor)
{
    bool is_first = out->data[out->len - 1] == '(';
    if (*anchor != step->anchor) {
        if (*anchor) strbuf_add_char(out, ')');
        if (!is_first) strbuf_add_char(out, ',');
        if (step->anchor) strbuf_printf(out, "%s(", step->anchor);
        *anchor = step->anchor;
    } else if (!is_first) {
        strbuf_add_char(out, ',');
    }
    strbuf_add_c(out, step->pass->name);
    if (options->len > 0) strbuf_printf(out, "{%s}", options->data);
}

void driver_add_stages(StrBuf *out, unsigned stages, const StageOptions *options)
{
    StrBuf given = {0};
    const char *anchor = NULL;
    strbuf_add_c(out, "builtin.module(");
    for (const Step *step = steps; step < steps + COUNT_OF(steps); step++) {
        strbuf_clear(&given);
        if ((stages & step->stage) && (!step->add_options || step->add_options(&given, options)))
            add_step(out, step, &given, &anchor);
    }
    strbuf_add_c(out, anchor ? "))" : ")");
    strbuf_free(&given);
}

static const char *stage_words(unsigned stage)
{
    switch (stage) {
    case STAGE_FOLD: return "folding constants";
    case STAGE_CHOOSE: return "choosing unroll factors";
    case STAGE_TO_HLS:
    case STAGE_FIT: return "sizing FIFOs";
    default: return "lowering";
    }
}

/* Tells the stage of a pass. */
static void tell_stage(void *user, const Pass *pass, Op *op)
{
    const DriverProgress *progress = user;
    (void)op;
    for (const Step *step = steps; step < steps + COUNT_OF(steps); step++)
        if (step->pass == pass->def) {
            progress->enter(progress->user, stage_words(step->stage));
            return;
        }
}

static bool run_text(Op *op, Str text, VerifySemantics *semantics, const DriverProgress *progress)
{
    Pipeline *pipeline = pipeline_from_text(op->ctx, driver_all_passes(), text);
    const PassHooks teller = {.user = (void *)(uintptr_t)progress, .before = tell_stage};
    const PassHooks *hooks[3] = {0};
    size_t count = 0;
    if (progress) hooks[count++] = &teller;
    hooks[count] = verify_semantics_hooks(semantics);
    const RunOptions run = {.verify_each = true, .hooks = hooks};
    bool ok = pipeline && pipeline_run(pipeline, op, &run) && verify_semantics_ok(semantics);
    if (pipeline) pipeline_free(pipeline);
    return ok;
}

bool driver_run_passes(Op *op, Str pipeline)
{
    return run_text(op, pipeline, NULL, NULL);
}

Op *driver_lower_to_rtl(const Op *design, const char *primitives)
{
    Op *rtl = op_clone(design, NULL);
    StrBuf text = {0};
    strbuf_printf(&text, "builtin.module(convert-emithls-to-rtl{primitives=%s},canonicalize,cse)",
                  primitives);
    bool ok = driver_run_passes(rtl, strbuf_str(&text));
    strbuf_free(&text);
    if (ok) return rtl;
    op_erase(rtl);
    return NULL;
}

static bool find_tosa(Op *op, void *user)
{
    bool *found = user;
    *found |= op->def && op->def->dialect == &tosa_dialect;
    return !*found;
}

bool driver_has_tosa(Op *module)
{
    bool found = false;
    op_walk(module, find_tosa, &found);
    return found;
}

bool driver_run_stages(Op *module, unsigned stages, const StageOptions *given,
                       VerifySemantics *semantics)
{
    StrBuf text = {0};
    StageOptions with_tosa = *given;
    const StageOptions *options = &with_tosa;
    with_tosa.has_tosa = (stages & STAGE_TO_LINALG) && driver_has_tosa(module);
    driver_add_stages(&text, stages, options);
    const DriverProgress *progress = options->compile ? options->compile->progress : NULL;
    bool ok = run_text(module, strbuf_str(&text), semantics, progress);
    strbuf_free(&text);
    return ok;
}

bool driver_run_front(Op *module, const DriverProgress *progress)
{
    const CompileOptions none = {.progress = progress};
    ModelNotes *notes = driver_notes_begin(module);
    bool ok = driver_run_stages(module, STAGES_FRONT, &(StageOptions){.compile = &none}, NULL);
    if (ok) driver_notes_end(notes, module);
    driver_notes_free(notes);
    return ok;
}
