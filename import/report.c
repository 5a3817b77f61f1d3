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

typedef struct TensorIndex {
    ImportReport *report;
    PtrMap places; /* Ident* of a name -> place in the report's tensors + 1 */
} TensorIndex;

/* Names that are defined twice, which the import refuses later, keep the first place. */
static uint32_t add_tensor(TensorIndex *index, const Ident *name, uint32_t producer, bool varies)
{
    ImportReport *report = index->report;
    uint32_t place = report->tensor_count++;
    report->tensors[place] = (TensorReport){
        .name = (Str){arena_copy(&report->arena, name->str.data, name->str.len), name->str.len},
        .producer = producer,
        .varies = varies};
    if (!ptrmap_has(&index->places, name))
        ptrmap_put(&index->places, name, (void *)(uintptr_t)(place + 1));
    return place;
}

static TensorReport *find_tensor(const TensorIndex *index, const Ident *name)
{
    uintptr_t place = (uintptr_t)ptrmap_get(&index->places, name);
    return place ? &index->report->tensors[place - 1] : NULL;
}

static void add_edges(Importer *im, TensorIndex *index, size_t number)
{
    const Onnx__NodeProto *node = im->graph->node[number];
    NodeReport *row = &index->report->nodes[number];
    bool varies = false;
    row->inputs = ARENA_ARRAY(&index->report->arena, uint32_t, node->n_input);
    row->outputs = ARENA_ARRAY(&index->report->arena, uint32_t, node->n_output);
    for (size_t i = 0; i < node->n_input; i++) {
        const TensorReport *tensor = find_tensor(index, import_ident(im, node->input[i]));
        if (!tensor) continue;
        row->inputs[row->input_count++] = (uint32_t)(tensor - index->report->tensors);
        varies |= tensor->varies;
    }
    for (size_t i = 0; i < node->n_output; i++) {
        const Ident *name = import_ident(im, node->output[i]);
        if (name->str.len > 0)
            row->outputs[row->output_count++] = add_tensor(index, name, (uint32_t)number, varies);
    }
}

static void add_graph_inputs(Importer *im, TensorIndex *index)
{
    PtrMap initialized = {0};
    for (size_t i = 0; i < im->graph->n_initializer; i++)
        mark(&initialized, import_ident(im, im->graph->initializer[i]->name));
    for (size_t i = 0; i < im->graph->n_input; i++) {
        const Ident *name = import_ident(im, im->graph->input[i]->name);
        if (!ptrmap_has(&initialized, name)) add_tensor(index, name, IMPORT_NO_NODE, true);
    }
    ptrmap_free(&initialized);
}

/* Which node makes which tensor, whatever becomes of the nodes. */
static void add_tensors(Importer *im)
{
    TensorIndex index = {.report = im->options->report};
    size_t most = im->graph->n_input;
    for (size_t i = 0; i < im->graph->n_node; i++) most += im->graph->node[i]->n_output;
    index.report->tensors = ARENA_ARRAY(&index.report->arena, TensorReport, most);
    add_graph_inputs(im, &index);
    for (size_t i = 0; i < im->graph->n_node; i++) add_edges(im, &index, i);
    for (size_t i = 0; i < im->graph->n_output; i++) {
        TensorReport *tensor = find_tensor(&index, import_ident(im, im->graph->output[i]->name));
        if (tensor) tensor->is_result = true;
    }
    ptrmap_free(&index.places);
}

void import_report_end(Importer *im)
{
    ImportReport *report = im->options->report;
    for (uint32_t i = 0; i < report->tensor_count; i++) {
        const Ident *name = ident_get(im->ctx, report->tensors[i].name);
        const Value *value = ptrmap_get(&im->scope->values, name);
        report->tensors[i].type = value ? value->type : import_known_type(im, name);
        strbuf_clear(&im->why); /* why it is not known does not matter */
    }
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
    add_tensors(im);
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
        strbuf_add_quoted(&why, name->str);
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
