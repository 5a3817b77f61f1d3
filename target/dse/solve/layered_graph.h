/* A design space as layers: nodes in topological order, between two of them the states in which the
 * words of the open edges (those with one end decided) can be, and a transition per state and
 * configuration that agrees with it. Every path through the layers is a design in which all edges agree,
 * so bounds and shortest paths are dynamic programs.
 * Tests: test/unit/dse_test.c */
#ifndef MING_TARGET_DSE_LAYERS_H
#define MING_TARGET_DSE_LAYERS_H

#include "target/dse/dse.h"

typedef struct Transition {
    uint32_t from, to; /* states */
    uint32_t config;   /* of the layer's node */
} Transition;

typedef struct Layer {
    uint32_t node;
    size_t first, count; /* transitions */
} Layer;

typedef struct DseLayers {
    VEC(Layer) layers;
    VEC(Transition) transitions;
    uint32_t state_count; /* state 0 is the first layer's only one, state_count - 1 the last's, to which
                           * no transition leads if no words agree */
} DseLayers;

/* Words that a far edge, one that stays open over many layers, may have: all of them, or at most so many;
 * with none, the edge is left out, and paths through the layers need not agree there. */
enum { DSE_ALL_WORDS = -1, DSE_NO_WORDS = 0 };

/* False: the layers would have more than max_transitions, or the graph has a cycle; then out is empty.
 * No diagnostic. */
bool dse_layers(const DseSpace *space, size_t max_transitions, int far_words, DseLayers *out);
void dse_layers_free(DseLayers *layers);

#endif
