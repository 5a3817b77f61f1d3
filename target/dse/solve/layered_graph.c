/* Builds the layered graph of a design space. The order of the layers is topological and goes into
 * the depth first: a fork's branches are finished one after the other, so few edges are open at a
 * time, which keeps the number of states low.
 * Tests: test/unit/target/dse/solve_test.c */
#include <assert.h>
#include <string.h>

#include "target/dse/solve/internal.h"

/* States of one layer: tuples of words, one per open edge. A hash table finds them. */
typedef struct States {
    uint32_t first, count; /* numbers */
    uint32_t width;        /* open edges */
    VEC(int64_t) words;    /* count * width */
    uint32_t *slots;       /* index + 1, 0: empty; power of two of them */
    size_t slot_count;
} States;

/* An edge is long if more than this many layers lie between its ends; of such an edge at most so
 * many words are told apart. */
enum { LONG_EDGE = 6, MAX_LISTED_WORDS = 64 };

typedef struct Building {
    const DseSpace *space;
    DseLayers *out;
    VEC(uint32_t) order; /* nodes */
    bool *is_long;       /* per edge */
    VEC(uint32_t) open;  /* edges, as in the states' tuples */
    size_t max_transitions;
    int long_edge_words; /* as dse_layers takes it */
} Building;

/* Sources before readers. A node is placed as soon as its last source is, the one that became ready
 * last first. */
static bool sort_nodes(Building *b)
{
    const DseSpace *space = b->space;
    VEC(uint32_t) ready = {0};
    uint32_t *missing = xcalloc(space->nodes.len + 1, sizeof(*missing)); /* sources not placed */
    for (size_t e = 0; e < space->edges.len; e++) missing[space->edges.data[e].to]++;
    for (uint32_t n = (uint32_t)space->nodes.len; n-- > 0;)
        if (missing[n] == 0) *vec_push(&ready) = n;
    while (ready.len) {
        uint32_t node = ready.data[--ready.len];
        *vec_push(&b->order) = node;
        for (size_t e = space->edges.len; e-- > 0;) {
            const DseEdge *edge = &space->edges.data[e];
            if (edge->from == node && --missing[edge->to] == 0) *vec_push(&ready) = edge->to;
        }
    }
    vec_free(&ready);
    free_ptr((void **)&missing);
    return b->order.len == space->nodes.len;
}

static void find_long_edges(Building *b)
{
    uint32_t *place = xcalloc(b->space->nodes.len + 1, sizeof(*place));
    b->is_long = xcalloc(b->space->edges.len + 1, sizeof(*b->is_long));
    for (uint32_t i = 0; i < b->order.len; i++) place[b->order.data[i]] = i;
    for (size_t e = 0; b->long_edge_words != DSE_ALL_WORDS && e < b->space->edges.len; e++) {
        const DseEdge *edge = &b->space->edges.data[e];
        b->is_long[e] = place[edge->to] > place[edge->from] + LONG_EDGE;
    }
    free_ptr((void **)&place);
}

static size_t hash_words(const int64_t *words, uint32_t count)
{
    uint64_t hash = 14695981039346656037u;
    for (uint32_t i = 0; i < count; i++) hash = (hash ^ (uint64_t)words[i]) * 1099511628211u;
    return (size_t)(hash ^ hash >> 29);
}

/* NULL if no words are open, since there is no array then. */
static const int64_t *state_words(const States *s, uint32_t state)
{
    return s->width > 0 ? s->words.data + (size_t)state * s->width : NULL;
}

static void grow_slots(States *s)
{
    size_t count = s->slot_count ? 2 * s->slot_count : 64;
    free_ptr((void **)&s->slots);
    s->slots = xcalloc(count, sizeof(*s->slots));
    s->slot_count = count;
    for (uint32_t i = 0; i < s->count; i++) {
        size_t at = hash_words(state_words(s, i), s->width) & (count - 1);
        while (s->slots[at]) at = (at + 1) & (count - 1);
        s->slots[at] = i + 1;
    }
}

/* Number of the state with these words, new if there is none yet. */
static uint32_t find_state(States *s, const int64_t *words)
{
    size_t bytes = s->width * sizeof(*words);
    if (2 * (size_t)(s->count + 1) > s->slot_count) grow_slots(s);
    size_t at = hash_words(words, s->width) & (s->slot_count - 1);
    for (; s->slots[at]; at = (at + 1) & (s->slot_count - 1)) {
        uint32_t index = s->slots[at] - 1;
        if (s->width == 0 || memcmp(state_words(s, index), words, bytes) == 0)
            return s->first + index;
    }
    for (uint32_t i = 0; i < s->width; i++) *vec_push(&s->words) = words[i];
    s->slots[at] = ++s->count;
    return s->first + s->count - 1;
}

static void free_states(States *s)
{
    vec_free(&s->words);
    free_ptr((void **)&s->slots);
}

/* How a node's ports relate to the open edges before and after it. */
typedef struct GraphPorts {
    VEC(uint32_t) in_place, in_port; /* place in the tuple before; port */
    VEC(uint32_t) kept;              /* places that stay open */
    VEC(uint32_t) out_port;          /* of the edges that open, behind the kept ones */
    VEC(uint32_t) limited_port;      /* those of them whose words are limited */
} GraphPorts;

static void relate_ports(Building *b, uint32_t node, GraphPorts *ports)
{
    size_t left = 0;
    for (uint32_t i = 0; i < b->open.len; i++) {
        uint32_t number = b->open.data[i];
        const DseEdge *edge = &b->space->edges.data[number];
        if (edge->to == node) {
            *vec_push(&ports->in_place) = i;
            *vec_push(&ports->in_port) = edge->to_port;
        } else {
            *vec_push(&ports->kept) = i;
            b->open.data[left++] = number;
        }
    }
    b->open.len = left;
    for (uint32_t e = 0; e < b->space->edges.len; e++) {
        const DseEdge *edge = &b->space->edges.data[e];
        if (edge->from != node || (b->is_long[e] && b->long_edge_words == DSE_NO_WORDS)) continue;
        if (b->is_long[e]) *vec_push(&ports->limited_port) = edge->from_port;
        *vec_push(&ports->out_port) = edge->from_port;
        *vec_push(&b->open) = e;
    }
}

static void free_ports(GraphPorts *ports)
{
    vec_free(&ports->in_place);
    vec_free(&ports->in_port);
    vec_free(&ports->kept);
    vec_free(&ports->out_port);
    vec_free(&ports->limited_port);
}

/* Clears `allowed` for configurations whose word at the port is not in the sample. The sample is
 * spread evenly over all words that the node has there, in the order of its configurations. */
static void limit_words(const Building *b, const DseNode *node, uint32_t port, bool *allowed)
{
    int64_t words[MAX_LISTED_WORDS];
    uint32_t count = 0, wanted = (uint32_t)b->long_edge_words;
    for (size_t c = 0; c < node->configs.len && count < MAX_LISTED_WORDS; c++) {
        uint32_t i = 0;
        while (i < count && words[i] != node->configs.data[c].word[port]) i++;
        if (i == count) words[count++] = node->configs.data[c].word[port];
    }
    for (size_t c = 0; c < node->configs.len; c++) {
        bool found = false;
        for (uint32_t i = 0; i < wanted && i < count; i++) {
            uint32_t pick = count <= wanted ? i : (2 * i + 1) * count / (2 * wanted);
            found |= words[pick] == node->configs.data[c].word[port];
        }
        allowed[c] &= found;
    }
}

static bool agrees(const GraphPorts *ports, const Config *config, const int64_t *words)
{
    for (size_t i = 0; i < ports->in_place.len; i++)
        if (config->word[ports->in_port.data[i]] != words[ports->in_place.data[i]]) return false;
    return true;
}

/* Configurations by their word at the node's first input. */
typedef struct ConfigIndex {
    uint32_t *head, *next; /* configuration + 1, 0: none; per word and per configuration */
} ConfigIndex;

static ConfigIndex index_configs(const Building *b, const DseNode *node, const GraphPorts *ports)
{
    ConfigIndex index = {xcalloc(b->space->words.len + 1, sizeof(uint32_t)),
                         xcalloc(node->configs.len + 1, sizeof(uint32_t))};
    bool *allowed = xcalloc(node->configs.len + 1, sizeof(*allowed));
    memset(allowed, 1, node->configs.len);
    for (size_t i = 0; i < ports->limited_port.len; i++)
        limit_words(b, node, ports->limited_port.data[i], allowed);
    for (size_t c = node->configs.len; c-- > 0;) {
        if (!allowed[c]) continue;
        size_t word =
            ports->in_port.len ? (size_t)node->configs.data[c].word[ports->in_port.data[0]] : 0;
        index.next[c] = index.head[word];
        index.head[word] = (uint32_t)c + 1;
    }
    free_ptr((void **)&allowed);
    return index;
}

static bool add_transitions(Building *b, const DseNode *node, const GraphPorts *ports,
                            const States *before, States *after)
{
    ConfigIndex index = index_configs(b, node, ports);
    int64_t *tuple = xcalloc(after->width + 1, sizeof(*tuple));
    bool ok = true;
    for (uint32_t s = 0; ok && s < before->count; s++) {
        const int64_t *words = state_words(before, s);
        size_t word = ports->in_place.len ? (size_t)words[ports->in_place.data[0]] : 0;
        for (uint32_t c = index.head[word]; ok && c; c = index.next[c - 1]) {
            const Config *config = &node->configs.data[c - 1];
            uint32_t n = 0;
            if (!agrees(ports, config, words)) continue;
            for (size_t i = 0; i < ports->kept.len; i++) tuple[n++] = words[ports->kept.data[i]];
            for (size_t i = 0; i < ports->out_port.len; i++)
                tuple[n++] = config->word[ports->out_port.data[i]];
            *vec_push(&b->out->transitions) =
                (Transition){before->first + s, find_state(after, tuple), c - 1};
            ok = b->out->transitions.len <= b->max_transitions;
        }
    }
    free_ptr((void **)&tuple);
    free_ptr((void **)&index.head);
    free_ptr((void **)&index.next);
    return ok;
}

static bool add_layer(Building *b, uint32_t number, States *states)
{
    GraphPorts ports = {{0}};
    const DseNode *node = &b->space->nodes.data[number];
    GraphLayer layer = {.node = number, .first = b->out->transitions.len};
    relate_ports(b, number, &ports);
    States after = {.first = states->first + states->count, .width = (uint32_t)b->open.len};
    bool ok = add_transitions(b, node, &ports, states, &after);
    layer.count = b->out->transitions.len - layer.first;
    *vec_push(&b->out->layers) = layer;
    free_ports(&ports);
    free_states(states);
    *states = after;
    return ok;
}

bool dse_layers(const DseSpace *space, size_t max_transitions, int long_edge_words, DseLayers *out)
{
    Building b = {.space = space,
                  .out = out,
                  .max_transitions = max_transitions,
                  .long_edge_words = long_edge_words};
    States states = {.count = 1};
    *out = (DseLayers){.state_count = 0};
    bool ok = sort_nodes(&b);
    find_long_edges(&b);
    for (size_t i = 0; ok && i < b.order.len; i++) ok = add_layer(&b, b.order.data[i], &states);
    out->state_count = states.first + (states.count ? states.count : 1);
    free_states(&states);
    vec_free(&b.order);
    vec_free(&b.open);
    free_ptr((void **)&b.is_long);
    if (!ok) dse_layers_free(out);
    return ok;
}

void dse_layers_free(DseLayers *layers)
{
    vec_free(&layers->layers);
    vec_free(&layers->transitions);
    *layers = (DseLayers){.state_count = 0};
}
