/* Parts of a network that can be left to the host, for a warning about floats. They are found in the
 * loaded network:
 *
 *   arguments ─▶ floats ─▶ quantizer ─▶ integers ─▶ node ─▶ floats ─▶ results
 *                        └ --from                       └ --to
 *
 * Where floats in front only scale an input of whole numbers, its type takes them into the quantizer.
 * Tests: lit/driver/notes.test, lit/driver/notes-parts.test */
#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"
#include "driver/notes/internal.h"

/* Backward from the results, not beyond `cut`: enters the ops. False: an argument is needed, too. */
static bool reach_results(const Op *func, const Value *cut, PtrMap *reached)
{
    VEC(const Op *) work = {0};
    bool is_closed = true;
    *vec_push(&work) = block_terminator(func_entry(func));
    while (work.len > 0 && is_closed) {
        const Op *op = work.data[--work.len];
        for (uint32_t i = 0; i < op->operand_count; i++) {
            const Value *value = op_operand(op, i);
            Op *def = value_def(value);
            if (value == cut) continue;
            is_closed &= def != NULL;
            if (!def || ptrmap_has(reached, def)) continue;
            ptrmap_put(reached, def, def);
            *vec_push(&work) = def;
        }
    }
    vec_free(&work);
    return is_closed;
}

/* Counts the nodes of one kind on one side of a cut. */
static size_t count_on_side(const Op *func, const PtrMap *reached, bool is_reached,
                            const PtrMap *names)
{
    size_t count = 0;
    FOR_EACH_OP(op, func_entry(func)) {
        const Ident *name = onnx_is_node(op) ? driver_notes_name(op) : NULL;
        if (name && ptrmap_has(reached, op) == is_reached) count += ptrmap_has(names, name);
    }
    return count;
}

/* Whether a cut leaves floats, and nothing else, on the side of the arguments (else: of the
 * results) to the host. */
static bool cuts_floats(const Op *func, const Layers *layers, const Value *cut, bool is_front)
{
    PtrMap reached = {0};
    bool ok = reach_results(func, cut, &reached) &&
              count_on_side(func, &reached, !is_front, &layers->floats) > 0 &&
              count_on_side(func, &reached, !is_front, &layers->integers) == 0;
    ptrmap_free(&reached);
    return ok;
}

/* Whether the name can be an item of a list on the command line and means one tensor. */
static bool can_be_named(const Op *node)
{
    const Ident *name = node && node->result_count == 1 ? driver_notes_name(node) : NULL;
    if (!name) return false;
    for (size_t i = 0; i < name->str.len; i++)
        if ((unsigned char)name->str.data[i] <= ' ' || strchr(",'\"\\$`", name->str.data[i]))
            return false;
    return true;
}

/* Shapes are known where the passes in front have found them, too; what they say was said. */
static void infer_shapes(Op *model)
{
    DiagHold messages;
    diag_hold_begin(&messages, model->ctx);
    (void)!driver_run_stages(model, STAGE_FOLD, &(StageOptions){0}, NULL);
    diag_hold_end(&messages);
    diag_hold_free(&messages);
}

/* The tensor that streams into a node from another one; NULL: none. */
static const Value *streamed_operand(const Op *node, uint32_t index)
{
    const Value *value = op_operand(node, index);
    const Op *def = value_def(value);
    bool streams = def && onnx_is_node(def) && driver_notes_name(def) != driver_notes_name(node);
    return streams ? value : NULL;
}

/* --from: the first quantizer behind floats. NULL: none. */
static const Value *add_from(StrBuf *out, const Op *func, const Layers *layers)
{
    FOR_EACH_OP(op, func_entry(func)) {
        bool is_quantizer = driver_notes_is_quantizer(op) && can_be_named(op);
        const Value *cut = is_quantizer ? streamed_operand(op, 0) : NULL;
        if (!cut || !cuts_floats(func, layers, cut, true)) continue;
        strbuf_printf(out, " --from=%.*s", STR_ARG(driver_notes_name(op)->str));
        if (!type_is_static(cut->type)) return cut;
        strbuf_add_c(out, " --input-shape=");
        driver_notes_add_shape(out, cut->type, false);
        return cut;
    }
    return NULL;
}

/* The tensor in front of a node, and behind no floats, with which the integers end; NULL: none. */
static const Value *last_integers(const Op *func, const Op *node, const Layers *layers)
{
    for (uint32_t i = 0; i < node->operand_count; i++) {
        const Value *cut = streamed_operand(node, i);
        if (cut && can_be_named(value_def(cut)) && cuts_floats(func, layers, cut, false))
            return cut;
    }
    return NULL;
}

/* --to: the last node before floats. */
static void add_to(StrBuf *out, const Op *func, const Layers *layers)
{
    FOR_EACH_OP(op, func_entry(func)) {
        const Ident *name = onnx_is_node(op) ? driver_notes_name(op) : NULL;
        bool is_first =
            name && ptrmap_has(&layers->floats, name) && !driver_notes_sources(op, layers).floats;
        const Value *cut = is_first ? last_integers(func, op, layers) : NULL;
        if (!cut) continue;
        strbuf_printf(out, " --to=%.*s", STR_ARG(driver_notes_name(value_def(cut))->str));
        return;
    }
}

static Value *build_number(Builder *b, double value)
{
    const Type *f32 = type_float(b->ctx, TYPE_F32);
    return onnx_build_constant(
        b, attr_dense_splat(type_tensor(f32, NULL, 0, NULL), attr_float(f32, value)));
}

/* The only argument, if it is of floats; else NULL. */
static Value *only_floats(const Op *func)
{
    const Block *entry = func_entry(func);
    Value *arg = entry->arg_count == 1 ? entry->args[0] : NULL;
    return arg && type_is_tensor(arg->type) && type_is_float(type_elem(arg->type)) ? arg : NULL;
}

/* Makes the argument one of uint8, as --input-type does. */
static void type_argument(Op *func, Value *arg)
{
    Context *ctx = func->ctx;
    Builder b = builder_before(func_entry(func)->first);
    Value *const numbers[] = {build_number(&b, 1), build_number(&b, 0), build_number(&b, 8)};
    Value *operands[] = {arg, numbers[0], numbers[1], numbers[2]};
    const NamedAttr attrs[] = {build_named_attr(ctx, "narrow", attr_i64(ctx, 0)),
                               build_named_attr(ctx, "signed", attr_i64(ctx, 0))};
    Op *quant =
        build(&b, ONNX(QUANT), operands, COUNT_OF(operands), &arg->type, 1, attrs, COUNT_OF(attrs));
    value_replace_all(arg, op_result(quant, 0));
    op_set_operand(quant, 0, arg);
}

/* Whether no layer in front of the cut is one of floats if the input is of uint8. */
static bool is_helped_by_type(const ModelNotes *notes, const Op *func, const Value *cut)
{
    const CompileOptions none = {0};
    Op *copy = op_clone(notes->model, NULL), *typed = driver_notes_network(copy);
    Value *arg = typed ? only_floats(typed) : NULL;
    bool ok = false;
    DiagHold messages;
    diag_hold_begin(&messages, copy->ctx);
    if (arg) {
        type_argument(typed, arg);
        ok = driver_run_stages(copy, STAGES_FRONT, &(StageOptions){.compile = &none}, NULL);
    }
    diag_hold_end(&messages);
    diag_hold_free(&messages);
    if (ok) {
        Layers layers;
        PtrMap reached = {0};
        driver_notes_survey(notes->model, copy, &layers);
        ok = reach_results(func, cut, &reached) &&
             count_on_side(func, &reached, false, &layers.floats) == 0;
        ptrmap_free(&reached);
        driver_notes_layers_free(&layers);
    }
    op_erase(copy);
    return ok;
}

void driver_notes_add_parts(StrBuf *out, const ModelNotes *notes, const Layers *layers)
{
    infer_shapes(notes->model);
    const Op *func = driver_notes_network(notes->model);
    if (!func) return;
    const Value *cut = add_from(out, func, layers);
    add_to(out, func, layers);
    if (cut && is_helped_by_type(notes, func, cut))
        strbuf_add_c(out, "; if the input holds whole numbers from 0 to 255, --input-type=uint8 "
                          "leaves no floats in front");
}
