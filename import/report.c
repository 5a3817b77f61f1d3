/* Imports with a report, which no node can stop. A node that cannot be read is entered in the
 * report, and the rest of the graph is read around it. A tensor that such a node defines becomes an
 * argument if the file tells its type; otherwise the nodes that use it cannot be read either.
 * Tests: lit/driver/ming-check.test */
#include "dialects/onnx/onnx.h"
#include "import/internal.h"

static void mark(PtrMap *set, const Ident *name)
{
    ptrmap_put(set, name, (void *)(uintptr_t)name);
}

static Str keep(Importer *im, Str text)
{
    Arena *arena = &im->options->report->arena;
    return (Str){arena_copy(arena, text.data, text.len), text.len};
}

void import_report_free(ImportReport *report)
{
    if (report->arena.chunks) arena_free(&report->arena);
}

void import_report_refusal(Importer *im, Str why)
{
    im->row->state = NODE_REFUSED;
    im->row->why = keep(im, why);
    strbuf_clear(&im->why);
}

void import_report_begin(Importer *im)
{
    ImportReport *report = im->options->report;
    StrBuf name = {0};
    arena_init(&report->arena);
    report->count = im->graph->n_node;
    report->nodes = ARENA_ARRAY(&report->arena, NodeReport, report->count + 1);
    for (size_t i = 0; i < report->count; i++) {
        const Onnx__NodeProto *node = im->graph->node[i];
        im->row = &report->nodes[i];
        strbuf_clear(&name);
        import_node_name(im, node, i, &name);
        im->row->name = keep(im, strbuf_str(&name));
        im->row->op_type = keep(im, import_text(node->op_type));
        if (!import_function_of_node(im, node) && !import_knows_operator(im, node))
            import_report_refusal(im, strbuf_str(&im->why));
    }
    im->row = NULL;
    strbuf_free(&name);
}

static void forget_result(Importer *im, const Onnx__NodeProto *node, const Value *result)
{
    if (result == im->no_value) im->no_value = NULL;
    for (size_t i = 0; i < node->n_output; i++) {
        const Ident *name = import_ident(im, node->output[i]);
        if (ptrmap_get(&im->scope->values, name) == result) ptrmap_remove(&im->scope->values, name);
    }
}

/* Erases the ops behind `last` (NULL: all), which were made for the node. */
static void erase_ops(Importer *im, const Onnx__NodeProto *node, const Op *last)
{
    Block *block = im->b.block;
    while (block->last != last) {
        Op *op = block->last;
        for (uint32_t i = 0; i < op->result_count; i++) forget_result(im, node, op_result(op, i));
        op_erase(op);
    }
}

/* Marks the values that the node uses, because they must stay even if nothing else uses them. */
static void keep_inputs(Importer *im, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_input; i++) {
        const Ident *name = import_ident(im, node->input[i]);
        const Value *value = ptrmap_get(&im->scope->values, name);
        if (value && !value->is_arg && !onnx_constant(value)) mark(&im->kept, name);
    }
}

static void replace_outputs(Importer *im, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_output; i++) {
        const Ident *name = import_ident(im, node->output[i]);
        if (name->str.len == 0 || ptrmap_has(&im->scope->values, name)) continue;
        const Type *type = import_known_type(im, name);
        strbuf_clear(&im->why); /* why it is not known does not matter */
        if (type)
            ptrmap_put(&im->scope->values, name, import_argument(im, name, type));
        else
            mark(&im->unknown, name);
    }
}

/* Whether all operands of the node are known; if not, the row of the report says which is
 * unknown. */
static bool knows_inputs(Importer *im, const Onnx__NodeProto *node)
{
    StrBuf why = {0};
    for (size_t i = 0; why.len == 0 && i < node->n_input; i++) {
        const Ident *name = import_ident(im, node->input[i]);
        if (!ptrmap_has(&im->unknown, name)) continue;
        strbuf_add_c(&why, "needs ");
        onnx_add_quoted(&why, name->str);
        strbuf_add_c(&why, ", which stands behind what is not supported");
    }
    im->row->why = keep(im, strbuf_str(&why));
    strbuf_free(&why);
    return im->row->why.len == 0;
}

void import_report_node(Importer *im, const Onnx__NodeProto *node, size_t index)
{
    const Op *last = im->b.block->last;
    im->row = &im->options->report->nodes[index];
    if (!import_cut_has_node(im, index)) {
        im->row->state = NODE_LEFT_OUT;
        return;
    }
    im->place = loc_file(im->ctx, im->file->u.loc_file.file, (uint32_t)(index + 1), 0);
    if (im->row->state != NODE_REFUSED && knows_inputs(im, node) && import_node(im, node, index)) {
        im->row->state = NODE_IMPORTED;
    } else {
        erase_ops(im, node, last);
        keep_inputs(im, node);
        replace_outputs(im, node);
    }
    im->place = im->file;
}
