/* Labels of the search by layers, and places in the order (search.c). */
#ifndef MING_TARGET_PARTITION_LAYERS_INTERNAL_H
#define MING_TARGET_PARTITION_LAYERS_INTERNAL_H

#include "target/partition/internal.h"

/* An edge, or a pair on one card, from the unit of a place back to an open unit. */
typedef struct Back {
    uint32_t edge, slot; /* edge: PARTITION_NONE for a pair */
    bool is_from;        /* the edge comes from the unit here */
} Back;

/* A place in the order. */
typedef struct Stage {
    uint32_t *open, count; /* units in front with neighbours here or behind; slots are indices */
    uint32_t *next_slot;   /* of each and of the unit here, behind it; PARTITION_NONE: closed */
    VEC(Back) backs;
    int64_t least_weight[PARTITION_MAX_DIES * 2]; /* by link: of an edge that comes here or later */
    int64_t most[2];                              /* of those: wires, and Mb/s, of one */
    bool is_twofold; /* no single edge parts units from all of the open ones and the last one */
} Stage;

/* What a label knows. Arrays follow it in memory. */
typedef struct Label {
    int64_t cost, total; /* of the edges so far; with the bound of the rest */
    int64_t room;        /* that usable dies have beyond what the rest needs, to compare labels */
    uint64_t used, live; /* dies with units; that may get more */
    uint32_t parent, next;
    uint8_t die; /* of the last unit */
} Label;

typedef struct Parent {
    uint32_t label;
    uint8_t die;
} Parent;

typedef VEC(Parent) Parents;

typedef struct Layers {
    PartitionLayerSearch *s;
    PartitionState *state;
    const PartitionMeasure *measures;
    uint32_t measure_count, die_count, link_count, count; /* count: units */
    uint32_t words, open_count;                           /* of sets of units; most open units */
    int64_t *sizes;                                       /* per unit and measure */
    bool has_versions, has_ports;
    Stage *stages;
    int64_t *rest;      /* per place and measure: what the units from there on need */
    uint32_t *place_of; /* per unit */
    size_t edges_at, use_at, set_at, left_at, link_at, controllers_at, arcs_at, open_at, size;
    char *labels[2]; /* this layer and the next */
    uint32_t label_count[2], room;
    uint32_t *heads, head_mask; /* chains of labels of the next layer, by what they must agree in */
    Parents *parents;           /* per place */
    uint64_t first_side[PARTITION_MAX_DIES * 2]; /* per link; 0: parts nothing */
    uint32_t *packed;
} Layers;

static inline Label *label_at(const Layers *l, uint32_t layer, uint32_t i)
{
    return (Label *)(l->labels[layer & 1] + (size_t)i * l->size);
}

static inline int64_t *use_of(const Layers *l, const Label *label, uint32_t die)
{
    return (int64_t *)((char *)label + l->use_at) + (size_t)die * PARTITION_KINDS;
}

static inline uint64_t *set_of(const Layers *l, const Label *label, uint32_t die)
{
    return (uint64_t *)((char *)label + l->set_at) + (size_t)die * l->words;
}

static inline int64_t *left_of(const Layers *l, const Label *label)
{
    return (int64_t *)((char *)label + l->left_at);
}

/* What links carry, per direction. */
static inline int64_t *links_of(const Layers *l, const Label *label)
{
    return (int64_t *)((char *)label + l->link_at);
}

/* How many edges the rest may have on each link at most. */
static inline uint32_t *edges_of(const Layers *l, const Label *label)
{
    return (uint32_t *)((char *)label + l->edges_at);
}

static inline uint32_t *controllers_of(const Layers *l, const Label *label)
{
    return (uint32_t *)((char *)label + l->controllers_at);
}

/* Per die: those that edges lead to; then a bit per link that is used. */
static inline uint64_t *arcs_of(const Layers *l, const Label *label)
{
    return (uint64_t *)((char *)label + l->arcs_at);
}

static inline uint8_t *open_of(const Layers *l, const Label *label)
{
    return (uint8_t *)label + l->open_at;
}
/* Sets l->stages and l->open_count; the order, the units and place_of are there. */
void partition_layers_find_stages(Layers *l);

/* Says where the arrays of a label are; sets l->size. */
void partition_layers_lay_out(Layers *l);
/* Puts the unit of a place on a die as far as dies and links hold. The label has the dies of the
 * open units in front. */
bool partition_layers_put_unit(const Layers *l, Label *label, uint32_t t, uint32_t die);
/* The dies of the open units behind the place, in the label and in the state. */
void partition_layers_move_open(const Layers *l, Label *label, uint32_t t, uint32_t die);
/* What the rest weighs at least; sets the label's total, and which dies it can use. False: it does
 * not fit, or not within the weight. */
bool partition_layers_weigh(Layers *l, Label *label, uint32_t at);
/* Whether whatever completes b completes a at no more weight. They have the same open dies. */
bool partition_layers_dominates(const Layers *l, const Label *a, const Label *b, uint64_t open,
                                uint32_t at);

#endif
