/* The part of a placement that is on one card, as a task graph of its own.
 * Tests: test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/cards/internal.h"

typedef struct Making {
    const PartitionState *state;
    const PartitionPaths *paths;
    const uint32_t *cards;
    CardHops *hops;
    uint32_t card;
    CardTask *task;
    uint32_t *own_die;  /* per die of the whole */
    uint32_t *own_node; /* per node */
    uint32_t *port;     /* per link and direction: its node */
} Making;

/* The dies of the card, with the links between them. */
static void set_platform(Making *m)
{
    const PartitionPlatform *from = m->state->model->platform;
    PartitionPlatform *to = m->task->platform;
    to->card_count = 1;
    to->cards[0] = from->cards[m->card];
    to->controller_count = from->controller_count;
    memcpy(to->controllers, from->controllers, sizeof from->controllers);
    for (uint32_t i = 0; i < from->die_count; i++) {
        m->own_die[i] = PARTITION_NONE;
        if (from->dies[i].card != m->card) continue;
        m->own_die[i] = to->die_count;
        m->task->die_of[to->die_count] = i;
        to->dies[to->die_count] = from->dies[i];
        to->dies[to->die_count++].card = 0;
    }
    for (size_t i = 0; i < from->links.len; i++) {
        PartitionLink link = from->links.data[i];
        if (link.is_ethernet || from->dies[link.dies[0]].card != m->card) continue;
        for (int end = 0; end < 2; end++) link.dies[end] = m->own_die[link.dies[end]];
        *vec_push(&to->links) = link;
    }
    for (size_t i = 0; i < from->averages.len; i++) {
        PartitionAverage average = from->averages.data[i];
        average.dies = 0;
        for (uint32_t d = 0; d < to->die_count; d++)
            average.dies |= (from->averages.data[i].dies >> m->task->die_of[d] & 1) << d;
        *vec_push(&to->averages) = average;
    }
}

static void add_node(Making *m, uint32_t node, uint64_t dies)
{
    const PartitionModel *from = m->state->model;
    PartitionModel *to = &m->task->model;
    PartitionNode own = from->nodes.data[node];
    uint32_t version = own.version;
    own.version = (uint32_t)to->versions.len;
    own.dies = 0;
    dies &= m->state->units.dies[m->state->units.of[node]];
    for (uint32_t d = 0; d < m->task->platform->die_count; d++)
        own.dies |= (dies >> m->task->die_of[d] & 1) << d;
    for (uint32_t v = 0; v < own.version_count; v++)
        *vec_push(&to->versions) = from->versions.data[version + v];
    m->own_node[node] = (uint32_t)to->nodes.len;
    *vec_push(&m->task->node_of) = node;
    *vec_push(&to->nodes) = own;
}

/* The node that stands for what comes over a link, or goes over it; the first of a link takes what its
 * port does. */
static uint32_t port_of(Making *m, uint32_t step, bool is_in)
{
    const PartitionLink *link = &m->state->model->platform->links.data[step / 2];
    PartitionModel *to = &m->task->model;
    uint32_t *port = &m->port[2 * (step / 2) + is_in];
    uint32_t end = is_in ? !(step & 1) : step & 1;
    bool is_first = *port == PARTITION_NONE && m->port[2 * (step / 2) + !is_in] == PARTITION_NONE;
    if (*port != PARTITION_NONE) return *port;
    PartitionVersion version = {.controller = -1};
    if (is_first) memcpy(version.use, link->charge[end], sizeof version.use);
    *port = (uint32_t)to->nodes.len;
    *vec_push(&to->nodes) = (PartitionNode){.version = (uint32_t)to->versions.len,
                                            .version_count = 1,
                                            .dies = UINT64_C(1) << m->own_die[link->dies[end]]};
    *vec_push(&to->versions) = version;
    *vec_push(&m->task->node_of) = PARTITION_NONE;
    return *port;
}

/* Lets a node be only so many links from a port. */
static void keep_near(Making *m, uint32_t own, uint32_t port, uint32_t hops)
{
    PartitionModel *to = &m->task->model;
    uint32_t at = (uint32_t)__builtin_ctzll(to->nodes.data[port].dies);
    for (uint32_t d = 0; d < m->task->platform->die_count; d++)
        if (m->paths->between[m->task->die_of[d]][m->task->die_of[at]].hops > hops)
            to->nodes.data[own].dies &= ~(UINT64_C(1) << d);
}

static void add_edge(Making *m, uint32_t number, uint32_t from, uint32_t to)
{
    PartitionEdge edge = m->state->model->edges.data[number];
    edge.from = from;
    edge.to = to;
    *vec_push(&m->task->model.edges) = edge;
}

/* An edge between cards, as far as it is on this one: from or to its node, or on the way through. */
static void add_part(Making *m, uint32_t number)
{
    const PartitionModel *model = m->state->model;
    const PartitionPlatform *platform = model->platform;
    const PartitionEdge *edge = &model->edges.data[number];
    uint32_t ends[2] = {0, 0}, before = PARTITION_NONE;
    for (int end = 0; end < 2; end++)
        while (platform->dies[ends[end]].card != m->cards[end ? edge->to : edge->from]) ends[end]++;
    const PartitionPath *path = &m->paths->between[ends[0]][ends[1]];
    for (uint32_t i = 0; i < path->hops; i++) {
        uint32_t step = m->paths->steps.data[path->first + i];
        const PartitionLink *link = &platform->links.data[step / 2];
        if (!link->is_ethernet) continue;
        if (platform->dies[link->dies[step & 1]].card == m->card) {
            bool is_first = before == PARTITION_NONE;
            uint32_t out = port_of(m, step, false);
            uint32_t from = is_first ? m->own_node[edge->from] : port_of(m, before, true);
            if (is_first) keep_near(m, from, out, m->hops[number][0]);
            add_edge(m, number, from, out);
        }
        before = step;
    }
    if (m->cards[edge->to] != m->card) return;
    uint32_t in = port_of(m, before, true);
    keep_near(m, m->own_node[edge->to], in, m->hops[number][1]);
    add_edge(m, number, in, m->own_node[edge->to]);
}

static void set_edges(Making *m)
{
    const PartitionModel *model = m->state->model;
    for (uint32_t k = 0; k < model->edges.len; k++) {
        const PartitionEdge *edge = &model->edges.data[k];
        if (m->cards[edge->from] != m->cards[edge->to])
            add_part(m, k);
        else if (m->cards[edge->from] == m->card)
            add_edge(m, k, m->own_node[edge->from], m->own_node[edge->to]);
    }
}

/* Nodes of one unit stay together. */
static void set_pairs(Making *m)
{
    const PartitionUnits *units = &m->state->units;
    for (uint32_t u = 0; u < units->count; u++)
        for (uint32_t i = units->first[u] + 1; i < units->first[u + 1]; i++)
            if (m->cards[units->nodes[i]] == m->card)
                *vec_push(&m->task->model.pairs) = (PartitionPair){
                    .nodes = {m->own_node[units->nodes[i - 1]], m->own_node[units->nodes[i]]}};
}

static void set_key(CardTask *task, uint32_t card)
{
    *vec_push(&task->key) = card;
    for (size_t i = 0; i < task->model.nodes.len; i++) {
        *vec_push(&task->key) = task->node_of.data[i];
        *vec_push(&task->key) = task->model.nodes.data[i].dies;
        task->is_impossible |= task->model.nodes.data[i].dies == 0;
        const PartitionVersion *port =
            &task->model.versions.data[task->model.nodes.data[i].version];
        for (int k = 0; task->node_of.data[i] == PARTITION_NONE && k < PARTITION_KINDS; k++)
            *vec_push(&task->key) = (uint64_t)port->use[k];
    }
    for (size_t i = 0; i < task->model.edges.len; i++) {
        const PartitionEdge *edge = &task->model.edges.data[i];
        *vec_push(&task->key) = (uint64_t)edge->from << 32 | edge->to;
        *vec_push(&task->key) = (uint64_t)edge->wires;
    }
}

CardTask *partition_card_task_new(const PartitionState *state, const PartitionPaths *paths,
                                  uint64_t dies, const uint32_t *cards, CardHops *hops,
                                  uint32_t card)
{
    const PartitionModel *model = state->model;
    Making m = {.state = state, .paths = paths, .cards = cards, .hops = hops, .card = card};
    m.task = xcalloc(1, sizeof *m.task);
    m.task->platform = xcalloc(1, sizeof *m.task->platform);
    m.own_die = xcalloc(model->platform->die_count, sizeof *m.own_die);
    m.own_node = xcalloc(model->nodes.len, sizeof *m.own_node);
    m.port = xcalloc(2 * model->platform->links.len + 1, sizeof *m.port);
    memset(m.port, 0xff, 2 * model->platform->links.len * sizeof *m.port);
    m.task->model.platform = m.task->platform;
    set_platform(&m);
    for (uint32_t n = 0; n < model->nodes.len; n++)
        if (cards[n] == card) add_node(&m, n, dies);
    set_edges(&m);
    set_pairs(&m);
    set_key(m.task, card);
    free(m.own_die);
    free(m.own_node);
    free(m.port);
    return m.task;
}

void partition_card_task_trim(CardTask *task)
{
    if (task->platform) partition_platform_free(task->platform);
    free_ptr((void **)&task->platform);
    partition_model_free(&task->model);
}

void partition_card_task_free(CardTask *task)
{
    partition_card_task_trim(task);
    vec_free(&task->node_of);
    vec_free(&task->key);
    free(task);
}
