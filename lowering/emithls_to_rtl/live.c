/* What is needed: all that leads to a word, to a store, or to a cell whose content another
 * iteration or loop reads. The order puts operands before users.
 * Tests: lit/lowering/emithls_to_rtl */
#include "lowering/emithls_to_rtl/internal.h"

/* A depth-first walk over the graph of one loop. */
typedef struct Walk {
    RtlProcess *process;
    Graph *g;
    bool *is_seen;
    VEC(NodeId) path;
    VEC(uint32_t) next; /* operand to go on with, of each on the path */
    bool has_changed;   /* another cell is live */
} Walk;

static void enter(Walk *w, NodeId id)
{
    if (id == NO_NODE || w->is_seen[id]) return;
    w->is_seen[id] = true;
    *vec_push(&w->path) = id;
    *vec_push(&w->next) = 0;
}

static void leave(Walk *w, NodeId id)
{
    const Node *n = to_rtl_node(w->g, id);
    *vec_push(&w->g->order) = id;
    w->path.len--;
    w->next.len--;
    if (n->kind == NODE_STATE && !w->process->is_live[n->imm])
        w->process->is_live[n->imm] = w->has_changed = true;
}

static void visit(Walk *w, NodeId root)
{
    enter(w, root);
    while (w->path.len > 0) {
        NodeId id = w->path.data[w->path.len - 1];
        uint32_t *next = &w->next.data[w->next.len - 1];
        if (*next < to_rtl_node(w->g, id)->count)
            enter(w, to_rtl_in(w->g, id, (*next)++));
        else
            leave(w, id);
    }
}

static void visit_roots(Walk *w)
{
    const Graph *g = w->g;
    for (size_t i = 0; i < g->transfers.len; i++) {
        visit(w, g->transfers.data[i].where);
        visit(w, g->transfers.data[i].word);
    }
    for (size_t i = 0; i < g->stores.len; i++) {
        const Store *s = &g->stores.data[i];
        visit(w, s->where);
        visit(w, s->address);
        for (uint32_t k = 0; k < w->process->banks.data[s->bank].array->word; k++)
            visit(w, s->lanes[k]);
    }
    for (size_t i = 0; i < w->process->cell_widths.len; i++)
        if (w->process->is_live[i]) visit(w, g->finals[i]);
}

void to_rtl_find_live(RtlProcess *p)
{
    bool has_changed = true;
    while (has_changed) {
        has_changed = false;
        for (size_t l = 0; l < p->model->loops.len; l++) {
            Graph *g = &p->graphs[l];
            Walk w = {.process = p, .g = g, .is_seen = xcalloc(g->nodes.len + 1, sizeof(bool))};
            g->order.len = 0;
            visit_roots(&w);
            has_changed |= w.has_changed;
            free_ptr((void **)&w.is_seen);
            vec_free(&w.path);
            vec_free(&w.next);
        }
    }
}
