/* Counts of the references to functions. A function may be dropped if it is a symbol that is not
 * visible from outside and only functions refer to it.
 * Tests: lit/passes/common/inline.mir, lit/passes/common/inline-dce.mir */
#include "analysis/analysis.h"
#include "ir/attr/attr.h"

typedef struct NodeUses {
    bool is_droppable;
    intptr_t count; /* references to the function */
    PtrMap by_op;   /* CallNode*: referred to by the function's own attributes, once each */
    PtrMap by_body; /* CallNode* -> number of references in the body, as intptr_t */
} NodeUses;

static NodeUses *uses_of(const CallNode *node)
{
    return node->data;
}

static bool is_symbol(const Op *op)
{
    return op_has_trait(op, TRAIT_SYMBOL) && symbol_name(op);
}

static bool has_visibility(const Op *op, const char *name)
{
    const Attr *visibility = op_attr(op, "sym_visibility");
    return visibility && visibility->kind == ATTR_STRING && str_eq_c(visibility->u.string, name);
}

/* Whether no reference to the table's symbols can come from outside of root. */
static bool sees_all_uses(const Op *table, const Op *root)
{
    for (const Op *op = table; op; op = op_parent(op)) {
        bool is_table = op_has_trait(op, TRAIT_SYMBOL_TABLE);
        if (!is_table || !is_symbol(op) || has_visibility(op, "private")) return true;
        if (op == root) return !op->block;
    }
    return false;
}

static bool is_droppable(const Op *op, bool all_uses_seen)
{
    bool is_public = !has_visibility(op, "private") && !has_visibility(op, "nested");
    return is_symbol(op) && !is_public && (all_uses_seen || has_visibility(op, "private"));
}

static CallNode *node_of(const CallUses *uses, const Op *op)
{
    bool is_function = op && op_has_trait(op, TRAIT_FUNCTION) && op->region_count;
    return is_function ? call_graph_node(uses->graph, op_region(op, 0)) : NULL;
}

/* The context in which references are resolved. */
typedef struct UseScope {
    const CallUses *uses;
    const Op *op;   /* from where names are looked up */
    CallNode *user; /* the function whose references they are, or NULL */
} UseScope;

static CallNode *resolve(const UseScope *scope, const Attr *ref)
{
    if (!scope->op) return NULL;
    return node_of(scope->uses, symtabs_lookup(scope->uses->tables, scope->op, ref));
}

static void keep(void *data, Op *user, const Attr *ref)
{
    CallNode *node = resolve(data, ref);
    (void)user;
    if (node) uses_of(node)->is_droppable = false;
}

static bool mark_droppable(Op *table, void *user)
{
    const UseScope *scope = user;
    if (!op_has_trait(table, TRAIT_SYMBOL_TABLE)) return true;
    bool all_seen = sees_all_uses(table, scope->op);
    FOR_EACH_INNER(op, table) {
        CallNode *node = node_of(scope->uses, op);
        if (node) uses_of(node)->is_droppable = is_droppable(op, all_seen);
    }
    return true;
}

/* References by ops that are no functions keep the functions that they refer to. */
static bool keep_referenced(Op *table, void *user)
{
    const UseScope *outer = user;
    if (!op_has_trait(table, TRAIT_SYMBOL_TABLE)) return true;
    UseScope scope = {.uses = outer->uses, .op = table};
    FOR_EACH_INNER(op, table)
        if (!node_of(outer->uses, op)) (void)symbol_each_use(op, keep, &scope);
    return true;
}

static void add_to(PtrMap *counts, const void *key, intptr_t amount)
{
    intptr_t old = (intptr_t)ptrmap_get(counts, key);
    ptrmap_put(counts, key, (void *)(old + amount));
}

static void forget(NodeUses *own)
{
    for (size_t i = 0; i < own->by_op.len; i++) {
        const CallNode *target = own->by_op.entries[i].key;
        if (target) uses_of(target)->count--;
    }
    for (size_t i = 0; i < own->by_body.len; i++) {
        const CallNode *target = own->by_body.entries[i].key;
        if (target) uses_of(target)->count -= (intptr_t)own->by_body.entries[i].value;
    }
    ptrmap_clear(&own->by_op);
    ptrmap_clear(&own->by_body);
}

static void count_use(void *data, Op *user, const Attr *ref)
{
    const UseScope *scope = data;
    NodeUses *own = uses_of(scope->user);
    CallNode *target = resolve(scope, ref);
    if (!target || !uses_of(target)->is_droppable) return;
    if (user != scope->user->op)
        add_to(&own->by_body, target, 1);
    else if (ptrmap_put(&own->by_op, target, target))
        return;
    uses_of(target)->count++;
}

static void drop_use(void *data, Op *user, const Attr *ref)
{
    const UseScope *scope = data;
    CallNode *target = resolve(scope, ref);
    (void)user;
    if (!target || !ptrmap_has(&uses_of(scope->user)->by_body, target)) return;
    add_to(&uses_of(scope->user)->by_body, target, -1);
    uses_of(target)->count--;
}

void call_uses_recompute(CallUses *uses, CallNode *node)
{
    UseScope scope = {.uses = uses, .op = op_parent(node->op), .user = node};
    forget(uses_of(node));
    (void)symbol_each_use(node->op, count_use, &scope);
}

void call_uses_drop_call(CallUses *uses, CallNode *node, Op *call)
{
    UseScope scope = {.uses = uses, .op = op_parent(call), .user = node};
    (void)symbol_each_use(call, drop_use, &scope);
}

void call_uses_merge(CallNode *from, CallNode *to)
{
    const PtrMap *copied = &uses_of(from)->by_body;
    for (size_t i = 0; i < copied->len; i++) {
        const CallNode *target = copied->entries[i].key;
        intptr_t count = (intptr_t)copied->entries[i].value;
        if (!target) continue;
        add_to(&uses_of(to)->by_body, target, count);
        uses_of(target)->count += count;
    }
}

void call_uses_erase(CallNode *node)
{
    for (size_t i = 0; i < node->edges.len; i++)
        if (node->edges.data[i].is_child) call_uses_erase(node->edges.data[i].target);
    forget(uses_of(node));
    uses_of(node)->is_droppable = false;
}

bool call_uses_is_dead(const CallNode *node)
{
    return uses_of(node)->is_droppable && uses_of(node)->count == 0;
}

bool call_uses_is_last(const CallNode *node)
{
    return uses_of(node)->is_droppable && uses_of(node)->count == 1;
}

void call_uses_init(CallUses *uses, Op *root, const CallGraph *graph, SymbolTables *tables)
{
    *uses = (CallUses){graph, tables};
    const CallNodes *nodes = &graph->nodes;
    UseScope scope = {.uses = uses, .op = root};
    for (size_t i = 0; i < nodes->len; i++) nodes->data[i]->data = xcalloc(1, sizeof(NodeUses));
    (void)op_walk(root, mark_droppable, &scope);
    (void)op_walk(root, keep_referenced, &scope);
    for (size_t i = 0; i < nodes->len; i++) call_uses_recompute(uses, nodes->data[i]);
}

void call_uses_free(CallUses *uses)
{
    for (size_t i = 0; i < uses->graph->nodes.len; i++) {
        NodeUses *own = uses_of(uses->graph->nodes.data[i]);
        ptrmap_free(&own->by_op);
        ptrmap_free(&own->by_body);
        free_ptr(&uses->graph->nodes.data[i]->data);
    }
}
