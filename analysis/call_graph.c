/* The call graph, and its strongly connected components by Tarjan's algorithm with a stack of its
 * own, because chains of calls may be long.
 * Tests: lit/passes/common/inline.mir, lit/passes/common/inline-recursion.mir */
#include "analysis/analysis.h"
#include "ir/attr/attr.h"

typedef struct GraphBuilder {
    CallGraph *graph;
    SymbolTables *tables;
} GraphBuilder;

CallNode *call_graph_node(const CallGraph *graph, const Region *region)
{
    return ptrmap_get(&graph->by_region, region);
}

CallNode *call_graph_around(const CallGraph *graph, const Region *region)
{
    while (region) {
        CallNode *node = call_graph_node(graph, region);
        if (node) return node;
        const Block *block = region->parent->block;
        region = block ? block->parent : NULL;
    }
    return NULL;
}

CallNode *call_graph_callee(const CallGraph *graph, const Op *call, SymbolTables *tables)
{
    const Attr *ref = op_attr(call, "callee");
    const Op *callee = ref ? symtabs_lookup(tables, call, ref) : NULL;
    bool is_function = callee && op_has_trait(callee, TRAIT_FUNCTION) && callee->region_count;
    return is_function ? call_graph_node(graph, op_region(callee, 0)) : NULL;
}

static bool add_function(Op *op, void *user)
{
    GraphBuilder *b = user;
    if (!op_has_trait(op, TRAIT_FUNCTION) || !op->region_count || region_is_empty(op_region(op, 0)))
        return true;
    CallNode *node = xcalloc(1, sizeof *node);
    node->op = op;
    node->region = op_region(op, 0);
    node->parent = op->block ? call_graph_around(b->graph, op->block->parent) : NULL;
    if (node->parent) *vec_push(&node->parent->edges) = (CallEdge){node, true};
    ptrmap_put(&b->graph->by_region, node->region, node);
    *vec_push(&b->graph->nodes) = node;
    return true;
}

static bool add_call(Op *op, void *user)
{
    const GraphBuilder *b = user;
    if (!op_has_trait(op, TRAIT_CALL)) return true;
    CallNode *caller = call_graph_around(b->graph, op->block->parent);
    CallNode *callee = call_graph_callee(b->graph, op, b->tables);
    if (caller && callee && !ptrmap_put(&caller->called, callee, callee))
        *vec_push(&caller->edges) = (CallEdge){callee, false};
    return true;
}

void call_graph_init(CallGraph *graph, Op *root, SymbolTables *tables)
{
    GraphBuilder b = {graph, tables};
    *graph = (CallGraph){0};
    (void)op_walk(root, add_function, &b);
    (void)op_walk(root, add_call, &b);
}

void call_graph_free(CallGraph *graph)
{
    for (size_t i = 0; i < graph->nodes.len; i++) {
        vec_free(&graph->nodes.data[i]->edges);
        ptrmap_free(&graph->nodes.data[i]->called);
        free_ptr((void **)&graph->nodes.data[i]);
    }
    vec_free(&graph->nodes);
    ptrmap_free(&graph->by_region);
}

typedef struct SearchFrame {
    CallNode *node;
    size_t next_edge;
} SearchFrame;

typedef struct ComponentSearch {
    VEC(SearchFrame) path; /* from where the search began to where it is */
    CallNodes pending;     /* found, but of no finished component */
    CallNodes members;     /* of the component just finished */
    uint32_t found;
} ComponentSearch;

static void discover(ComponentSearch *search, CallNode *node)
{
    node->visited = node->lowest = ++search->found;
    *vec_push(&search->pending) = node;
    *vec_push(&search->path) = (SearchFrame){node, 0};
}

static void lower(CallNode *node, uint32_t to)
{
    if (to < node->lowest) node->lowest = to;
}

/* Continues the search until a component is complete; false: nothing is left. */
static bool find_component(ComponentSearch *search)
{
    while (search->path.len) {
        SearchFrame *frame = &search->path.data[search->path.len - 1];
        CallNode *node = frame->node;
        if (frame->next_edge < node->edges.len) {
            CallNode *target = node->edges.data[frame->next_edge++].target;
            if (!target->visited)
                discover(search, target);
            else
                lower(node, target->visited);
            continue;
        }
        search->path.len--;
        if (search->path.len) lower(search->path.data[search->path.len - 1].node, node->lowest);
        if (node->lowest != node->visited) continue;
        search->members.len = 0;
        CallNode *member;
        do {
            member = search->pending.data[--search->pending.len];
            member->visited = UINT32_MAX;
            *vec_push(&search->members) = member;
        } while (member != node);
        return true;
    }
    return false;
}

bool call_graph_each_component(CallGraph *graph, bool (*visit)(void *user, CallNodes *members),
                               void *user)
{
    ComponentSearch search = {0};
    bool ok = true;
    for (size_t i = 0; i < graph->nodes.len && ok; i++) {
        CallNode *node = graph->nodes.data[i];
        if (node->visited || node->parent) continue;
        discover(&search, node);
        while (ok && find_component(&search)) ok = visit(user, &search.members);
    }
    vec_free(&search.path);
    vec_free(&search.pending);
    vec_free(&search.members);
    return ok;
}
