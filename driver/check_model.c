/* Which layers compile: the passes of ming compile up to HLS, except for the choice of unroll
 * factors, on copies of the module. A layer that a pass refuses is cut out of the module: its
 * results become arguments and its operands results. The passes run again until none refuses a
 * layer.
 * Tests: lit/driver/ming-check*, lit/driver/ming-check.test */
#include "dialects/dialects.h"
#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"
#include "driver/internal.h"
#include "import/import.h"
#include "ir/asm/print/print.h"
#include "ir/pass/pass.h"
#include "ir/rewrite/rewrite.h"

/* The first line of the file that a location names; 0: none. */
static uint32_t line_of(const Attr *loc, const Ident *file)
{
    uint32_t line = 0;
    if (loc->kind == ATTR_LOC_NAME) return line_of(loc->u.loc_name.child, file);
    if (loc->kind == ATTR_LOC_FILE) return loc->u.loc_file.file == file ? loc->u.loc_file.line : 0;
    if (loc->kind != ATTR_LOC_FUSED) return 0;
    for (uint32_t i = 0; line == 0 && i < loc->u.loc_fused.count; i++)
        line = line_of(loc->u.loc_fused.locs[i], file);
    return line;
}

CheckLayer *driver_check_layer(const Check *check, const Attr *loc)
{
    uint32_t line = line_of(loc, check->file);
    return line > 0 && line <= check->count ? &check->layers[line - 1] : NULL;
}

static Str keep(Check *check, Str text)
{
    return (Str){arena_copy(&check->arena, text.data, text.len), text.len};
}

static void refuse(Check *check, CheckLayer *layer, Str why)
{
    size_t index = (size_t)(layer - check->layers);
    layer->status = LAYER_UNSUPPORTED;
    layer->reason = keep(check, why);
    if (index < check->first_bad) check->first_bad = index;
}

/* Whether a layer is no longer in the module. */
static bool is_out(const CheckLayer *layer)
{
    return layer->reason.len > 0;
}

/* Whether something was taken out of the module, which is not the network any more then. */
static bool has_cuts(const Check *check)
{
    return check->first_bad < check->count;
}

static void add_layers(Check *check, size_t count)
{
    check->layers = ARENA_ARRAY(&check->arena, CheckLayer, count + 1);
    check->count = check->first_bad = count;
    for (size_t i = 0; i < count; i++) check->layers[i].parameters = check->layers[i].macs = -1;
}

static void layers_of_report(Check *check, const ImportReport *report)
{
    add_layers(check, report->count);
    for (size_t i = 0; i < report->count; i++) {
        const NodeReport *node = &report->nodes[i];
        CheckLayer *layer = &check->layers[i];
        layer->name = keep(check, node->name);
        layer->op_type = keep(check, node->op_type);
        if (node->state == NODE_LEFT_OUT)
            layer->status = LAYER_LEFT_OUT;
        else if (node->state != NODE_IMPORTED)
            refuse(check, layer, node->why);
        if (node->state == NODE_UNKNOWN) layer->status = LAYER_NOT_CHECKED;
    }
}

static bool is_network(const Op *func)
{
    return op_has_trait(func, TRAIT_FUNCTION) && func_entry(func) && !func_entry(func)->next &&
           block_terminator(func_entry(func));
}

static bool collect_node(Op *op, void *user)
{
    OpVec *nodes = user;
    if (onnx_is_node(op)) *vec_push(nodes) = op;
    return true;
}

/* The onnx ops of a module or, where there are none, the ops of its functions that compute. */
static void collect_layers(Op *module, OpVec *layers)
{
    op_walk(module, collect_node, layers);
    if (layers->len > 0) return;
    FOR_EACH_INNER(func, module) {
        if (!is_network(func)) continue;
        FOR_EACH_OP(op, func_entry(func))
            if (driver_is_layer(op)) *vec_push(layers) = op;
    }
}

/* The layers of a module get the locations of their numbers. */
static bool layers_of_module(Check *check, Op *module)
{
    OpVec ops = {0};
    StrBuf name = {0};
    collect_layers(module, &ops);
    add_layers(check, ops.len);
    check->file = ident_get_c(check->ctx, "layers");
    check->has_nodes = ops.len > 0 && onnx_is_node(ops.data[0]);
    for (size_t i = 0; i < ops.len; i++) {
        Op *op = ops.data[i];
        CheckLayer *layer = &check->layers[i];
        strbuf_clear(&name);
        driver_layer_name(op, i, &name);
        layer->name = keep(check, strbuf_str(&name));
        layer->op_type = check->has_nodes ? str_from(op->def->name)
                                          : opinfo_of_def(check->ctx, op->def)->name->str;
        op->loc = loc_name(ident_get(check->ctx, layer->name),
                           loc_file(check->ctx, check->file, (uint32_t)(i + 1), 0));
    }
    vec_free(&ops);
    strbuf_free(&name);
    return check->count > 0 ||
           op_emit_error(module, "there are no ops of onnx, linalg, tosa or tensor to check");
}

static void add_result(Op *ret, Value *value)
{
    op_replace_operands(ret, ret->operand_count, 0, &value, 1);
}

/* Nothing can be said about nodes that use a value of unknown shape. */
static void give_up_users(Check *check, const Value *value, const CheckLayer *cause)
{
    StrBuf why = {0};
    strbuf_add_c(&why, "needs a result of ");
    strbuf_add_quoted(&why, cause->name);
    strbuf_add_c(&why, ", whose shape depends on what is not supported");
    FOR_EACH_USE(use, value) {
        CheckLayer *layer = driver_check_layer(check, use->owner->loc);
        if (!layer || is_out(layer)) continue;
        refuse(check, layer, strbuf_str(&why));
        layer->status = LAYER_NOT_CHECKED;
    }
    strbuf_free(&why);
}

/* Replaces a node. Its operands stay as results, if nothing else uses them. */
static void cut_node(Check *check, Op *op, const CheckLayer *layer)
{
    Block *block = op->block;
    Op *ret = block_terminator(block);
    for (uint32_t i = 0; i < op->result_count; i++) {
        Value *result = op_result(op, i);
        if (!value_has_uses(result)) continue;
        if (!type_is_static(result->type)) give_up_users(check, result, layer);
        value_replace_all(result, block_add_arg(block, result->type, op->loc));
    }
    for (uint32_t i = 0; i < op->operand_count; i++) {
        Value *value = op_operand(op, i);
        if (value_def(value) && driver_is_layer(value_def(value)) && value_has_one_use(value))
            add_result(ret, value);
    }
    op_erase(op);
}

/* Nothing is returned that is not computed, no argument is there in vain. */
static void tidy_function(Op *func)
{
    Block *block = func_entry(func);
    Op *ret = block_terminator(block);
    for (uint32_t i = ret->operand_count; i-- > 0;) {
        const Op *def = value_def(op_operand(ret, i));
        if (!def || def->operand_count == 0) op_erase_operand(ret, i);
    }
    rewrite_erase_dead_ops(func);
    for (uint32_t i = block->arg_count; i-- > 0;)
        if (!value_has_uses(block->args[i])) block_erase_arg(block, i);
    func_update_type(func);
    op_set_attr(func, "arg_attrs", NULL);
    op_set_attr(func, "res_attrs", NULL);
}

/* Takes the layers out of the module that cannot be checked further. */
static void cut_layers(Check *check, Op *module)
{
    FOR_EACH_INNER(func, module) {
        if (!is_network(func)) continue;
        FOR_EACH_OP_SAFE(op, func_entry(func)) {
            const CheckLayer *layer = driver_check_layer(check, op->loc);
            if (layer && driver_is_layer(op) && is_out(layer)) cut_node(check, op, layer);
        }
        tidy_function(func);
    }
}

/* Whether cuts left anything to compute. */
static bool has_work(const Check *check, Op *module)
{
    if (!has_cuts(check)) return true;
    FOR_EACH_INNER(func, module)
        if (is_network(func) && func_entry(func)->last->operand_count > 0) return true;
    return false;
}

/* One run of a stage's passes. */
typedef struct Round {
    Check *check;
    size_t refused; /* layers, in this round */
    bool is_lost;   /* an error was about no layer; shown unless a cut may be its cause */
    DiagHandler *outer;
    void *outer_user;
} Round;

/* The message less "node 'conv1' (Conv): ", or without the operator, which the table says already. */
static Str without_node(const CheckLayer *layer, Str text)
{
    StrBuf prefix = {0};
    strbuf_add_c(&prefix, "node ");
    strbuf_add_quoted(&prefix, layer->name);
    const size_t name_end = prefix.len;
    strbuf_printf(&prefix, " (%.*s): ", STR_ARG(layer->op_type));
    if (str_starts_with(text, prefix.data)) {
        text = (Str){text.data + prefix.len, text.len - prefix.len};
    } else {
        prefix.len = name_end;
        strbuf_add_c(&prefix, ": ");
        if (str_starts_with(text, prefix.data))
            text = (Str){text.data + prefix.len, text.len - prefix.len};
    }
    strbuf_free(&prefix);
    return text;
}

static void take_diag(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                      size_t note_count)
{
    Round *round = user;
    Check *check = round->check;
    CheckLayer *layer = driver_check_layer(check, diag->loc);
    if (!layer) {
        round->is_lost |= diag->kind == DIAG_ERROR;
        if (has_cuts(check)) return;
        check->is_diagnosed |= diag->kind == DIAG_ERROR;
        /* A context without a handler has the default one. */
        (round->outer ? round->outer : diag_print_stderr)(round->outer_user, ctx, diag, notes,
                                                          note_count);
        return;
    }
    bool is_new = layer->status != LAYER_UNSUPPORTED;
    if (diag->kind == DIAG_ERROR && is_new) {
        refuse(check, layer, without_node(layer, diag->text));
        round->refused++;
    } else if (diag->kind == DIAG_WARNING && is_new && layer < check->layers + check->first_bad) {
        layer->remark = keep(check, without_node(layer, diag->text));
    }
}

/* Only the options of conversions matter here, because no design is searched for. */
static bool run_passes(Round *round, Op *module, unsigned stages)
{
    const CompileOptions none = {0};
    const StageOptions options = {.compile = &none, .keeps_going = true};
    Context *ctx = round->check->ctx;
    diag_set_handler(ctx, take_diag, round, &round->outer, &round->outer_user);
    bool ok = driver_run_stages(module, stages, &options, NULL);
    diag_set_handler(ctx, round->outer, round->outer_user, NULL, NULL);
    return ok;
}

static void tidy(Op *module)
{
    FOR_EACH_INNER(func, module)
        if (is_network(func)) tidy_function(func);
}

/* Runs a stage on a module. */
typedef bool StageRun(Round *round, Op *module);

static bool fold(Round *round, Op *module)
{
    return run_passes(round, module, STAGE_FOLD);
}

/* Enters why layers are computed in floating point that no pass has told of. */
static void take_reasons(Check *check)
{
    for (size_t i = 0; i < check->count; i++) {
        CheckLayer *layer = &check->layers[i];
        const char *why = driver_notes_reason(check->notes, layer->name);
        if (why && layer->remark.len == 0) layer->remark = keep(check, str_from(why));
    }
}

/* To linalg, where the element types are seen, and on to HLS. What was returned only because of a
 * cut, and is nothing that streams there, goes in between. */
static bool lower(Round *round, Op *module)
{
    bool ok = run_passes(round, module, STAGE_TO_LINALG);
    if (ok) driver_check_widths(round->check, module);
    if (ok) round->check->requantizers = op_attr(module, DFG_ATTR_REQUANTIZERS);
    if (ok && has_cuts(round->check)) tidy(module);
    if (!ok || !has_work(round->check, module)) return ok;
    ok = run_passes(round, module, STAGE_GENERALIZE | STAGE_STREAM);
    if (ok && !has_cuts(round->check)) {
        driver_notes_end(round->check->notes, module);
        take_reasons(round->check);
    }
    return ok && run_passes(round, module, STAGE_TO_HLS);
}

/* Runs a stage on the module, less what the stage refuses. False: it can tell no more. */
static bool run_stage(Check *check, Op **module, StageRun *run)
{
    while (has_work(check, *module)) {
        Round round = {.check = check};
        Op *copy = op_clone(*module, NULL);
        if (run(&round, copy)) {
            op_erase(*module);
            *module = copy;
            return true;
        }
        op_erase(copy);
        if (round.is_lost || round.refused == 0) return false;
        cut_layers(check, *module);
    }
    return true;
}

/* A layer without an op after folding needs no further check. */
static void settle(Check *check)
{
    for (size_t i = 0; i < check->count; i++) {
        CheckLayer *layer = &check->layers[i];
        if (layer->status != LAYER_NOT_CHECKED || is_out(layer)) continue;
        if (!layer->is_alive)
            layer->status = LAYER_FOLDED;
        else if (check->is_complete)
            layer->status = LAYER_COMPILES;
    }
}

static void check_stages(Check *check, Op **module)
{
    if (has_cuts(check)) cut_layers(check, *module);
    check->is_complete = run_stage(check, module, fold);
    if (!check->is_complete) return;
    if (check->has_nodes)
        driver_check_count(check, *module);
    else
        driver_check_count_kernels(check, *module);
    check->is_complete = run_stage(check, module, lower);
    settle(check);
}

void driver_check_model(Check *check, const char *path, Str bytes, const ModelOptions *options)
{
    ImportReport *report = ARENA_NEW(&check->arena, ImportReport);
    ModelOptions reporting = *options;
    reporting.report = report;
    Op *module = driver_load_model(check->ctx, path, bytes, &reporting);
    check->is_complete = module != NULL;
    if (report->nodes || !module) {
        check->report = report;
        check->has_nodes = true;
        layers_of_report(check, report);
        check->file = module ? module->loc->u.loc_file.file : NULL;
    } else {
        check->is_complete = layers_of_module(check, module);
    }
    check->is_diagnosed = !check->is_complete;
    if (check->is_complete) {
        check->notes = driver_notes_begin(module);
        check_stages(check, &module);
        driver_notes_free(check->notes);
        check->notes = NULL;
    }
    if (module) op_erase(module);
    driver_check_cuts(check);
}

void driver_check_free(Check *check)
{
    if (check->report) import_report_free(check->report);
    check->report = NULL;
}

bool driver_check_compiles(const Check *check)
{
    return check->is_complete && !has_cuts(check);
}
