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
    bool is_spilled;  /* lies outside, and parts of it are on the chip while a layer runs */
    uint64_t pitch;   /* beats from row to row outside */
    uint64_t address; /* in SA_BANK_MAPS, beats */
} Map;
typedef VEC(Map) Maps;

/* What loops over tiles count: blocks of output channels, rows and columns of the result, blocks of
 * input channels. */
enum { DIM_M, DIM_Y, DIM_X, DIM_N, DIMS };
#define DIM_LETTERS "myxn"

/* What one run computes of a layer: from begin[d] to end[d] of each, input blocks of those that its group
 * begins with. */
typedef struct Tile {
    size_t layer;
    uint32_t part;
    uint32_t begin[DIMS], end[DIMS];
    uint32_t first_n;   /* block of the group */
    uint32_t out_lanes; /* channels that begin with the first block */
    uint32_t m_blank; /* end of the blocks behind the tile's that have no channels, or of its own */
    uint32_t acc_base; /* first of its partial sums */
    uint64_t address;  /* of its weights in SA_BANK_WEIGHTS, beats */
} Tile;
typedef VEC(Tile) Tiles;

/* How large tiles are, and the loops over them from the outermost on. */
typedef struct Schedule {
    uint32_t tile[DIMS];
    uint8_t order[DIMS];
} Schedule;

/* Room on the chip for the parts of a map that lies outside: one part, or two in turns. */
typedef struct Stage {
    uint32_t count; /* 0: the map is on the chip */
    uint32_t page[2], pages;
} Stage;

/* The operands and the result of a layer. */
enum { ROLE_INPUT, ROLE_OPERAND, ROLE_RESULT, ROLES };

/* What the model says of a schedule. */
typedef struct Prediction {
    uint64_t cycles; /* with its first weights and maps on the chip already: layers overlap */
    uint64_t alone;  /* from an engine that has nothing to the last store */
    uint64_t bytes;  /* that are moved */
} Prediction;

typedef struct Layer {
    const Op *op;
    size_t map[ROLES];              /* the operand may be SIZE_MAX: none */
    uint32_t m_blocks, n_blocks;    /* of `rows` output, of `cols` input channels of a group */
    uint32_t parts;                 /* of the output, of which no tile has two */
    uint32_t m_used, part_channels; /* blocks of a part that tiles have, channels of it */
    uint32_t extents[DIMS];         /* of the loops over a part's tiles */
    uint32_t tap_length, pu_length; /* of its programs */
    uint32_t tap_steps, pu_steps;   /* the same in steps of the processing unit */
    uint32_t groups, mode, taps;    /* read from the op once: tiles are tried by the million */
    int64_t kernel[2], strides[2], dilations[2], pads[2]; /* pads: in front */
    uint32_t images;  /* of which no tile has two; 1: also where windows never meet others' rows */
    uint32_t in_rows; /* of an image */
    int64_t repeats[2];  /* of each result, a run for each; tiles count what is repeated */
    bool spreads;        /* only the first of these runs reads the input */
    bool is_chosen;      /* it has its schedule, searched with all its maps on the chip */
    uint32_t parameters; /* first vector */
    bool has_weights, has_pool;
    SaPool pool; /* over the results, which tiles then count windows of */
    Schedule schedule;
    Stage stages[ROLES];
    Prediction prediction;
} Layer;
typedef VEC(Layer) Layers;

typedef ProgramMemory Memory;

typedef VEC(uint8_t) Bytes;

typedef struct Plan {
    const Op *network;
    SaOverlay size;
    Memory memory;
    uint32_t lanes;    /* channels are filled up to multiples of this */
    bool clears_lanes; /* what fills up is stored as 0, since no weight is */
    Maps maps;
    PtrMap map_numbers; /* Value* -> place in `maps` + 1 */
    PtrMap groups;      /* Value* -> MapLanes.groups; absent: 1 */
    Layers layers;
    Tiles tiles;
    uint64_t weight_beats;
    bool is_estimate;          /* there is no image of the weights */
    Bytes weights, parameters; /* images */
    uint32_t parameter_vectors;
    uint64_t map_beats;    /* used in SA_BANK_MAPS */
    Bytes zeros;           /* a beat of zeros, or nothing where no map ends within a beat */
    uint64_t zero_address; /* where it is in SA_BANK_MAPS */
} Plan;

/* plan.c: false: diagnosed, something does not fit. The first one has no tiles and no weights yet. */
bool to_program_plan_layers(Plan *plan, const Op *network, const Memory *memory) MUST_CHECK;
bool to_program_plan(Plan *plan, const Op *network, const Memory *memory) MUST_CHECK;
/* The same without the image of the weights. */
bool to_program_plan_estimate(Plan *plan, const Op *network, const Memory *memory) MUST_CHECK;
void to_program_plan_free(Plan *plan);
/* Words of a memory that whole beats fill. */
uint64_t to_program_usable(uint64_t words, uint64_t word_bits);
/* Runs of each tile. */
static inline uint64_t to_program_runs(const Layer *layer)
{
    return (uint64_t)layer->repeats[0] * (uint64_t)layer->repeats[1];
}
static inline uint64_t to_program_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}
uint64_t to_program_mode(const Op *op);
uint64_t to_program_taps(const Op *op);

/* Steps of the processing unit that the layer's program in a region takes. */
uint32_t to_program_steps(const Op *op, uint32_t region);

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

/* tiles.c: the loops over tiles, of one part of the output behind the other. */
/* Of axis 0 or 1: the results of the array that those from range[0] to range[1] of the layer are made
 * of, and the most that `size` of them are. */
void to_program_sums_range(const Layer *layer, int axis, const uint32_t range[2], uint32_t out[2]);
uint32_t to_program_most_sums(const Layer *layer, int axis, uint32_t size);
/* Of an image: rows that tiles count, results of the array. */
static inline uint32_t to_program_image_rows(const Layer *layer)
{
    return layer->extents[DIM_Y] / layer->images;
}
static inline uint32_t to_program_image_sums(const Layer *layer)
{
    return layer->has_pool ? (uint32_t)layer->pool.map[0] : to_program_image_rows(layer);
}
/* The most that a tile has of a loop. */
static inline uint32_t to_program_most(const Layer *layer, int dim)
{
    return dim == DIM_Y ? to_program_image_rows(layer) : layer->extents[dim];
}
/* Of a tile that begins there: where the next one does, or the loop ends. */
uint32_t to_program_end(const Layer *layer, const Schedule *schedule, int dim, uint32_t begin);
uint32_t to_program_trips(const Layer *layer, const Schedule *schedule, int dim);
/* What a tile of its layer and part is that begins there in the part. */
void to_program_settle_tile(const Plan *plan, const Schedule *schedule, const uint32_t begin[DIMS],
                            Tile *tile);
/* The first tile, and the one behind `tile`. False: there is none. */
void to_program_first_tile(const Plan *plan, size_t layer, const Schedule *schedule, Tile *tile);
bool to_program_next_tile(const Plan *plan, const Schedule *schedule, Tile *tile);
/* Blocks that hold zeros behind the tile's, from the beginning of a word on. */
uint32_t to_program_blank_begin(const Plan *plan, const Tile *tile);
bool to_program_has_blank(const Plan *plan, const Tile *tile);
/* Steps in which blocks of outputs fill words. */
uint32_t to_program_block_step(const Plan *plan);
/* Weights that a half of the weight buffer and a processing element hold. */
uint64_t to_program_most_weights(const Plan *plan);
/* Whether array, buffers and registers hold the tiles; parts of maps are not looked at. */
bool to_program_fits(const Plan *plan, const Layer *layer, const Schedule *schedule);

/* regions.c: the part of a map that a tile reads or gives, and how it is moved. */
typedef struct MapArea {
    uint32_t rows[2], cols[2], words[2]; /* from, to */
} MapArea;
typedef struct Moves {
    uint64_t commands, runs, beats, stride; /* of each command: runs of beats, `stride` apart */
    uint64_t first, step;                   /* beat of the first command, from one to the next */
    uint64_t first_col, pixel, row; /* on the chip: column of the first word, words between */
    bool has_end;                   /* beats end with words that are no part of the region */
} Moves;
MapArea to_program_region(const Plan *plan, const Layer *layer, const Tile *tile, int role);
bool to_program_same_region(const MapArea *a, const MapArea *b);
bool to_program_is_empty(const MapArea *region);
/* False: such a part is no whole beats, or more than registers count. */
bool to_program_moves(const Plan *plan, const Map *map, const MapArea *region, Moves *moves)
    MUST_CHECK;
/* Finds room on the chip for the parts of the layer's maps that lie outside. */
bool to_program_place_stages(const Plan *plan, size_t layer, const Schedule *schedule,
                             Stage stages[ROLES]) MUST_CHECK;

/* model.c: cycles of a layer, of the array for one vector of results of `n` input blocks, and of one of
 * the tile's runs. */
uint64_t to_program_vector_cycles(const Plan *plan, const Layer *layer, uint64_t n, bool is_last);
uint64_t to_program_run_cycles(const Plan *plan, const Layer *layer, const Tile *tile);
/* Of the run that stores zeros to blocks behind the tile's; 0: there is none. */
uint64_t to_program_blank_cycles(const Plan *plan, const Tile *tile);
/* Runs of so many beats each. */
uint64_t to_program_transfer_cycles(const Plan *plan, uint64_t runs, uint64_t beats);
uint64_t to_program_banks_cycles(const Plan *plan, uint64_t banks, uint64_t runs, uint64_t beats);
uint64_t to_program_least_cycles(const Plan *plan, const Layer *layer, const Schedule *schedule);
/* All but .alone. Where that is more than `most` cycles, no less than the cycles that it says. */
void to_program_predict_cycles(const Plan *plan, const Layer *layer, const Schedule *schedule,
                               uint64_t most, Prediction *out);
void to_program_predict(const Plan *plan, const Layer *layer, const Schedule *schedule,
                        Prediction *out);

/* search.c: the schedule with the least cycles, then bytes, of all that fit. False: none fits. */
bool to_program_search(const Plan *plan, size_t layer, Schedule *best, Stage stages[ROLES])
    MUST_CHECK;

/* residency.c: which maps lie outside, where the others are, and the schedules. False: diagnosed. */
bool to_program_place(Plan *plan) MUST_CHECK;

/* The first layer that it must be there for. */
size_t to_program_born(const Plan *plan, size_t map);
/* Whether the map ends within a beat. */
bool to_program_has_end(const Plan *plan, const Map *map);

/* images.c: appends the weights of a tile, or the parameters of a layer. */
void to_program_add_weights(Plan *plan, const Tile *tile);
void to_program_add_parameters(Plan *plan, const Layer *layer);
/* Appends a map that has these elements, from its address on. */
void to_program_add_map_bytes(const Plan *plan, const Map *map, const Attr *value, Bytes *bytes);

/* weights.c: what a command loads, the weights of tiles that follow each other; where they are in the
 * buffer, in the order of the tiles. */
typedef struct WeightLoad {
    const Tile *first;
    uint64_t beats, words, base;
    uint32_t half;
    size_t after; /* so many of the first loads must have left the buffer before */
} WeightLoad;
typedef VEC(WeightLoad) WeightLoads;

/* Whether the next tile needs other weights in the array than the one before. */
bool to_program_is_refilled(const Plan *plan, const Tile *before, const Tile *tile);
/* What the weights of a tile take outside. */
uint64_t to_program_weight_beats(const Plan *plan, const Tile *tile);
/* Weights of a processing element for the layer. */
uint64_t to_program_all_weights(const Layer *layer);
/* Whether weights that come back to the array stay in the buffer, all of the layer's. */
bool to_program_keeps_weights(const Plan *plan, const Layer *layer, const Schedule *schedule);

/* Tiles that one command loads take no more than this part of a half of the buffer. */
enum { LOADS_OF_HALF = 4 };

/* What goes to the array at once: the weights of a tile, and of those behind it with the same. */
typedef struct TileWeights {
    const Tile *tile;
    uint64_t count; /* of each processing element */
    uint64_t words; /* in the buffer, in whole beats */
    uint64_t base;  /* in the half of its load */
    size_t load;
    bool is_first, is_last; /* of what goes to the array of the load */
} TileWeights;
typedef VEC(TileWeights) TileWeightsList;

void to_program_place_weights(const Plan *plan, WeightLoads *loads, TileWeightsList *tiles);

/* instructions.c: fills the body of the program, or only lets its instructions pass. */
typedef struct Timing Timing;
bool to_program_write(const Plan *plan, Builder *b) MUST_CHECK;
bool to_program_time(const Plan *plan, Timing *timing) MUST_CHECK;

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

/* Who writes the instructions. Semaphores keep apart what must not overlap; commands of one unit follow
 * each other anyhow. */
enum {
    NO_SEMAPHORE,
    LOADED,      /* inputs and ends of outputs are in their pages */
    PARAMETERS,  /* parameters are there */
    IN_BUFFER,   /* a tile's weights are in the weight buffer */
    IN_ARRAY,    /* and in the array */
    ARRAY_FREE,  /* a tile has run: its half of the array may be filled */
    BUFFER_FREE, /* a tile's weights are in the array: its half of the buffer may be loaded */
    COMPUTED,    /* the last tile has run */
    FIRST_PART   /* and on: of parts of maps that lie outside */
};

enum { MAX_COUNT = UINT16_MAX };

enum { UNIT_LOAD_A, UNIT_LOAD_W, UNIT_FILL, UNIT_COMPUTE, UNIT_STORE };

/* What units tell each other about parts of maps, in the order of their commands: a semaphore that
 * one unit counts up and another one down. */
enum {
    PART_LOADED, /* by load_a to compute */
    PART_READ,   /* by compute to load_a: its room is free */
    PART_GIVEN,  /* by compute to store */
    PART_STORED, /* by store to compute: its room is free */
    CHANNELS
};

typedef struct Channel {
    uint64_t signals, waits;
} Channel;

/* The part of a map that is on the chip, or on its way there. */
typedef struct Part {
    bool is_there;
    MapArea region;
    Moves moves;
    uint32_t turn;   /* of the stage's rooms */
    uint64_t loaded; /* so many signals of PART_LOADED say that it is there */
} Part;

/* The writer knows what registers hold, and sets them only where that changes. */
typedef struct Writer {
    const Plan *plan;
    Builder *b;          /* or NULL, */
    Timing *timing;      /* and instructions are only counted */
    uint64_t run_cycles; /* of the run that comes next */
    int32_t regs[SA_REG_COUNT];
    bool is_set[SA_REG_COUNT];
    PuMemory memory;
    PuProgram *program; /* of the layer */
    uint64_t array_commands;
    WeightLoads loads;
    size_t loaded; /* of them queued */
    TileWeightsList weights;
    uint64_t rows; /* of the first layer's input that are loaded at a time; 0: it comes whole */
    Channel channels[CHANNELS];
    Part parts[ROLES], next[ROLES];
    uint64_t free[ROLES][2]; /* signals that free the rooms of stages */
    bool had_stages;         /* the layer before */
} Writer;

/* A command. Fields are one more than their number, 0 where they are not there. */
typedef struct CommandFields {
    int64_t unit, half, source, bank;
    uint32_t wait, signal; /* semaphores as they are; NO_SEMAPHORE is none */
} CommandFields;

#define FIELDS(...) (&(const CommandFields){__VA_ARGS__})

static inline int64_t there(int64_t value)
{
    return value + 1;
}

/* estimate.c: when a command runs, and instructions that are none. */
void to_program_time_command(Writer *w, const OpDef *def, const CommandFields *fields);
void to_program_time_words(Timing *timing, uint64_t count);

/* writer.c */
void to_program_set(Writer *w, uint32_t reg, uint64_t value);
void to_program_address(Writer *w, int64_t buffer, uint64_t beat);
/* Commands of the array are counted. */
void to_program_command(Writer *w, const OpDef *def, const CommandFields *fields);
/* Beats one behind the other, as equal runs where one register does not count them. False: they
 * have no such divisor, diagnosed. */
bool to_program_set_beats(Writer *w, uint64_t beats, const Op *op) MUST_CHECK;
/* One more signal of the channel, by a command that does nothing else, or by the field of another;
 * how many there are then. */
uint64_t to_program_signal(Writer *w, int channel);
uint64_t to_program_count_signal(Writer *w, int channel, uint32_t *field);
/* The unit at the channel's end goes on when so many signals have come. */
void to_program_wait(Writer *w, int channel, uint64_t count);

/* parts.c: parts of maps that lie outside. */
bool to_program_is_staged(const Layer *layer);
/* Before the first tile of a layer: what the layer before has in the stages is over. */
void to_program_begin_layer(Writer *w, const Tile *first);
/* Brings what a tile reads to w->next, and makes that what the next run reads. */
void to_program_load_parts(Writer *w, const Tile *tile);
void to_program_take_parts(Writer *w);
/* Before and behind the run of a tile; `next` is the layer's next tile, or NULL. */
void to_program_await_parts(Writer *w, const Tile *tile);
void to_program_leave_parts(Writer *w, const Tile *tile, const Tile *next);
/* All semaphores of parts are 0 again. */
void to_program_settle_parts(Writer *w);

#endif
