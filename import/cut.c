/* Import of a part of a graph. A backward search from the tensors that are to be results reaches
 * everything that they need, up to the tensors that are to be arguments. If the type of such an
 * argument is not known beforehand, the nodes that compute it are imported too, so that it can be
 * inferred, and are dropped afterwards.
 * Tests: lit/import/cut.test */
#include "dialects/onnx/onnx.h"
#include "import/internal.h"
#include "ir/asm/print/print.h"

typedef struct Planner {
    Importer *im;
    PtrMap producers; /* Ident* of a tensor -> node index + 1 */
    PtrMap nodes;     /* Ident* of a node's name -> node index + 1 */
    PtrMap varying;   /* Ident* of tensors that depend on graph inputs -> itself */
    VEC(const Ident *) stack;
} Planner;

static void mark(PtrMap *set, const Ident *name)
{
    ptrmap_put(set, name, (void *)(uintptr_t)name);
}

static size_t index_of(const PtrMap *map, const Ident *name)
{
    return (size_t)(uintptr_t)ptrmap_get(map, name);
}

bool import_cut_has_name(const Importer *im, const Ident *name)
{
    return !im->cut.is_active || ptrmap_has(&im->cut.names, name);
}

bool import_cut_has_node(const Importer *im, size_t index)
{
    return !im->cut.is_active || im->cut.has_node[index];
}

static void index_node(Planner *p, const Onnx__NodeProto *node, size_t index)
{
    Importer *im = p->im;
    bool varies = false;
    StrBuf name = {0};
    import_node_name(im, node, index, &name);
    ptrmap_put(&p->nodes, ident_get(im->ctx, strbuf_str(&name)), (void *)(uintptr_t)(index + 1));
    strbuf_free(&name);
    for (size_t i = 0; i < node->n_input; i++)
        varies = varies || ptrmap_has(&p->varying, import_ident(im, node->input[i]));
    for (size_t i = 0; i < node->n_output; i++) {
        const Ident *output = import_ident(im, node->output[i]);
        ptrmap_put(&p->producers, output, (void *)(uintptr_t)(index + 1));
        if (varies && output->str.len > 0) mark(&p->varying, output);
    }
}

static void index_graph(Planner *p)
{
    const Onnx__GraphProto *graph = p->im->graph;
    for (size_t i = 0; i < graph->n_input; i++)
        mark(&p->varying, import_ident(p->im, graph->input[i]->name));
    for (size_t i = 0; i < graph->n_initializer; i++)
        ptrmap_remove(&p->varying, import_ident(p->im, graph->initializer[i]->name));
    for (size_t i = 0; i < graph->n_node; i++) index_node(p, graph->node[i], i);
}

static void try_names(Suggestion *near, const PtrMap *names)
{
    for (size_t i = 0; i < names->len; i++) {
        const Ident *name = names->entries[i].key;
        if (name) suggestion_try(near, name->str);
    }
}

static bool unknown_name(Planner *p, const char *option, const Ident *name)
{
    Suggestion near = {.wanted = name->str};
    try_names(&near, &p->nodes);
    try_names(&near, &p->producers);
    try_names(&near, &p->varying);
    strbuf_printf(&p->im->why, "of %s is neither a tensor nor a node", option);
    suggestion_print(&near, &p->im->why);
    return import_error(p->im, "name", name->str);
}

static bool is_tensor(const Planner *p, const Ident *name)
{
    return ptrmap_has(&p->producers, name) || ptrmap_has(&p->varying, name);
}

/* A tensor, or of a node those inputs that are no weights. */
static bool add_start(Planner *p, const char *text)
{
    const Ident *name = import_ident(p->im, text);
    size_t index = index_of(&p->nodes, name);
    if (is_tensor(p, name)) {
        mark(&p->im->cut.starts, name);
        return true;
    }
    if (index == 0) return unknown_name(p, "--from", name);
    const Onnx__NodeProto *node = p->im->graph->node[index - 1];
    for (size_t i = 0; i < node->n_input; i++) {
        const Ident *input = import_ident(p->im, node->input[i]);
        if (ptrmap_has(&p->varying, input)) mark(&p->im->cut.starts, input);
    }
    return true;
}

static bool add_end(Planner *p, const char *text)
{
    const Ident *name = import_ident(p->im, text);
    size_t index = index_of(&p->nodes, name);
    if (is_tensor(p, name)) {
        *vec_push(&p->im->cut.ends) = name;
        return true;
    }
    if (index == 0) return unknown_name(p, "--to", name);
    const Onnx__NodeProto *node = p->im->graph->node[index - 1];
    for (size_t i = 0; i < node->n_output; i++)
        if (import_text(node->output[i]).len > 0)
            *vec_push(&p->im->cut.ends) = import_ident(p->im, node->output[i]);
    return true;
}

static void reach(Planner *p, const Ident *name)
{
    if (name->str.len == 0 || ptrmap_has(&p->im->cut.names, name)) return;
    mark(&p->im->cut.names, name);
    *vec_push(&p->stack) = name;
}

/* Whether the part begins here, or must go on to learn the tensor's type. */
static bool begins_at(Planner *p, const Ident *name)
{
    if (!ptrmap_has(&p->im->cut.starts, name)) return false;
    bool is_known = import_known_type(p->im, name) != NULL;
    strbuf_clear(&p->im->why); /* why it is not known does not matter */
    return is_known;
}

static void reach_all(Planner *p)
{
    Cut *cut = &p->im->cut;
    for (size_t i = 0; i < cut->ends.len; i++) reach(p, cut->ends.data[i]);
    while (p->stack.len > 0) {
        const Ident *name = p->stack.data[--p->stack.len];
        size_t index = begins_at(p, name) ? 0 : index_of(&p->producers, name);
        if (index == 0 || cut->has_node[index - 1]) continue;
        const Onnx__NodeProto *node = p->im->graph->node[index - 1];
        cut->has_node[index - 1] = true;
        for (size_t i = 0; i < node->n_input; i++) reach(p, import_ident(p->im, node->input[i]));
    }
}

static bool check_starts(Planner *p)
{
    for (size_t i = 0; i < p->im->cut.starts.len; i++) {
        const Ident *name = p->im->cut.starts.entries[i].key;
        if (ptrmap_has(&p->im->cut.names, name)) continue;
        strbuf_add_c(&p->im->why, "of --from is not needed for what --to names");
        return import_error(p->im, "tensor", name->str);
    }
    return true;
}

static bool plan(Planner *p)
{
    Importer *im = p->im;
    const ImportOptions *options = im->options;
    index_graph(p);
    for (size_t i = 0; i < options->from_count; i++)
        if (!add_start(p, options->from[i])) return false;
    for (size_t i = 0; i < options->to_count; i++)
        if (!add_end(p, options->to[i])) return false;
    for (size_t i = 0; options->to_count == 0 && i < im->graph->n_output; i++)
        *vec_push(&im->cut.ends) = import_ident(im, im->graph->output[i]->name);
    im->cut.has_node = ARENA_ARRAY(&im->arena, bool, im->graph->n_node + 1);
    reach_all(p);
    return check_starts(p);
}

bool import_cut_plan(Importer *im)
{
    im->cut.is_active = im->options->from_count + im->options->to_count > 0;
    if (!im->cut.is_active) return true;
    Planner planner = {.im = im};
    bool ok = plan(&planner);
    ptrmap_free(&planner.producers);
    ptrmap_free(&planner.nodes);
    ptrmap_free(&planner.varying);
    vec_free(&planner.stack);
    return ok;
}
