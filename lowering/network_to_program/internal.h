/* Inside of lowering/network_to_program: the plan of a network, which plan.c makes and the other
 * files write down. */
#ifndef MING_LOWERING_NETWORK_TO_PROGRAM_INTERNAL_H
#define MING_LOWERING_NETWORK_TO_PROGRAM_INTERNAL_H

#include "dialects/sa/sa.h"
#include "ir/attr/attr.h"
#include "ir/pass/pass.h"
#include "lowering/network_to_program/network_to_program.h"

/* How channels lie in the lanes of a pixel: in groups, each of which begins with a word. */
typedef struct MapLanes {
    uint64_t groups, channels, lanes; /* channels and lanes of a group */
} MapLanes;

/* A map on the chip: pixels of `words` words, in consecutive pages; where it lies outside, if it
 * does. */
typedef struct Map {
    const Value *value;
    MapLanes lanes;
    uint32_t words; /* of a pixel */
    uint64_t beats; /* of all of it, the last one filled up */
    uint32_t page, pages;
    size_t made;     /* number of the layer that gives it */
    size_t last_use; /* number of the last layer that reads it; SIZE_MAX: kept to the end */
    const Op *input, *output;
    uint64_t address; /* in SA_BANK_MAPS, beats */
} Map;
typedef VEC(Map) Maps;

/* What one run computes of a layer: output blocks m to m_end of input blocks n to n_end of those that
 * its group begins with. */
typedef struct Tile {
    size_t layer;
    uint32_t m, m_end, n, n_end;
    uint32_t first_n;   /* block of the group */
    uint32_t out_lanes; /* channels that begin with block m */
    uint32_t m_blank;   /* end of the blocks behind m_end that have no channels */
    uint64_t address;   /* of its weights in SA_BANK_WEIGHTS, beats */
} Tile;
typedef VEC(Tile) Tiles;

typedef struct Layer {
    const Op *op;
    size_t input, operand, result;  /* maps; operand SIZE_MAX: none */
    uint32_t m_blocks, n_blocks;    /* of `rows` output, of `cols` input channels of a group */
    uint32_t parts;                 /* of the output, of which no tile has two */
    uint32_t tap_length, pu_length; /* of its programs */
    uint32_t parameters;            /* first vector */
    bool has_weights;
} Layer;
typedef VEC(Layer) Layers;

typedef VEC(uint8_t) Bytes;

typedef struct Plan {
    const Op *network;
    SaOverlay size;
    uint32_t lanes;    /* channels are filled up to multiples of this */
    bool clears_lanes; /* what fills up is stored as 0, since no weight is */
    Maps maps;
    PtrMap map_numbers; /* Value* -> place in `maps` + 1 */
    PtrMap groups;      /* Value* -> MapLanes.groups; absent: 1 */
    Layers layers;
    Tiles tiles;
    Bytes weights, parameters; /* images */
    uint32_t parameter_vectors;
    uint64_t map_beats;    /* used in SA_BANK_MAPS */
    Bytes zeros;           /* a beat of zeros, or nothing where no map ends within a beat */
    uint64_t zero_address; /* where it is in SA_BANK_MAPS */
} Plan;

/* plan.c: false: diagnosed, something does not fit. */
bool to_program_plan(Plan *plan, const Op *network) MUST_CHECK;
void to_program_plan_free(Plan *plan);

/* groups.c */
void to_program_find_groups(Plan *plan);
MapLanes to_program_lanes(const Plan *plan, const Value *map);
/* The channel of a lane of a pixel; -1: it is filled up. */
int64_t to_program_channel(const MapLanes *lanes, uint64_t lane);

/* Bits that a word of the activations, or of the weight buffer, takes in external memory. */
static inline uint64_t to_program_act_bits(const SaOverlay *size)
{
    return (uint64_t)size->cols * sa_stored_bits(size->act_bits);
}
static inline uint64_t to_program_weight_bits(const SaOverlay *size)
{
    return (uint64_t)size->rows * sa_stored_bits(size->weight_bits);
}
enum { BEAT_BITS = 8 * SA_BEAT_BYTES };

/* Whether the map ends within a beat. */
bool to_program_has_end(const Plan *plan, const Map *map);

/* images.c: appends the weights of a tile, or the parameters of a layer. */
void to_program_add_weights(Plan *plan, const Tile *tile);
void to_program_add_parameters(Plan *plan, const Layer *layer);

/* weights.c: what a command loads, the weights of tiles that follow each other; where they are in the
 * buffer, in the order of the tiles. */
typedef struct WeightLoad {
    const Tile *first;
    uint64_t beats, words, base;
    uint32_t half;
    size_t after; /* so many of the first loads must have left the buffer before */
} WeightLoad;
typedef VEC(WeightLoad) WeightLoads;

/* Of a tile with weights. */
typedef struct TileWeights {
    uint64_t count; /* of each processing element */
    uint64_t words; /* in the buffer, in whole beats */
    uint64_t base;  /* in the half of its load */
    size_t load;
    bool is_first, is_last; /* of the load's tiles */
} TileWeights;
typedef VEC(TileWeights) TileWeightsList;

void to_program_place_weights(const Plan *plan, WeightLoads *loads, TileWeightsList *tiles);

/* instructions.c: fills the body of the program. */
bool to_program_write(const Plan *plan, Builder *b) MUST_CHECK;

/* programs.c: the memory of the processing unit's programs while the fetch unit goes on. A program
 * is where it was put until another one takes its place; layers with the same one share it. */
typedef struct PuProgram {
    uint32_t *words; /* owned: tap, then pu */
    uint32_t count, tap_length, at;
    bool is_there;
    uint64_t last_run; /* number of the last command of the array that runs it */
} PuProgram;

typedef struct PuMemory {
    VEC(PuProgram) programs;
    uint32_t next; /* place behind the program that was put last */
} PuMemory;

void to_program_free_memory(PuMemory *memory);
/* The program of a layer; *is_new: it is not in the memory, and must be put at its place when command
 * number *free_from of the array has been queued. */
PuProgram *to_program_find_program(PuMemory *memory, const Layer *layer, bool *is_new,
                                   uint64_t *free_from);
/* The word of an instruction of the layer's programs. False: diagnosed. */
bool to_program_check_programs(const Layer *layer) MUST_CHECK;
int64_t to_program_parameter_place(const Layer *layer, const Op *load);

#endif
