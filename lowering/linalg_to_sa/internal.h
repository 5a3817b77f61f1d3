/* Inside of lowering/linalg_to_sa.
 *
 *   layers.c    the function's ops in order: which kernels become one layer
 *   batch.c     a batch of several items as frames of their own, in front of all that
 *   elementwise.c  kernels that read elements at the places that they write
 *   place.c     constants that differ from place to place
 *   slice.c     parts of maps, maps put together, shuffled channels, repeated pixels
 *   spread.c    zeros between pixels, depth to space and space to depth
 *   window.c    reductions: convolutions and products, with their weights
 *   pool.c      maxima, minima and sums of elements
 *   payload.c   bodies of kernels as arithmetic on numbers
 *   table.c     its reads of constant tables
 *   counts.c    reductions over constants: counts of thresholds
 *   numbers.c   that arithmetic: ranges, constants, rounding shifts
 *   program.c   numbers as instructions of the processing unit
 *   thresholds.c  functions of a sum with few levels as thresholds
 *   remarks.c   what does not suit the overlay well
 *   host.c      what is left to the host behind the last layer
 */
#ifndef MING_LOWERING_LINALG_TO_SA_INTERNAL_H
#define MING_LOWERING_LINALG_TO_SA_INTERNAL_H

#include "analysis/analysis.h"
#include "dialects/sa/sa.h"
#include "ir/attr/attr.h"

/* Arithmetic of the processing unit: whole numbers without a width, each made of earlier ones, with
 * its range. What a value of iN of a kernel's body becomes is equal to it modulo 2^N. */
typedef enum NumberKind {
    NUMBER_CONST,
    NUMBER_SUMS,        /* what the array gives, or an element of the input */
    NUMBER_OPERAND,     /* an element of the second map */
    NUMBER_ACCUMULATOR, /* r0 of a pool */
    NUMBER_ADD,
    NUMBER_SUB,
    NUMBER_MUL,
    NUMBER_MAX,
    NUMBER_MIN,
    NUMBER_SHIFT,      /* a / 2^b, rounded down; b is a constant */
    NUMBER_ROUND_UP,   /* a / 2^shift, halves up */
    NUMBER_ROUND_EVEN, /* a / 2^shift, halves to even */
    NUMBER_MOD,        /* a modulo 2^shift, from 0 on */
    NUMBER_LOOKUP      /* entry a of a table whose entries have 2^shift bits */
} NumberKind;

typedef struct Number {
    NumberKind kind;
    uint32_t a, b; /* numbers */
    uint32_t shift;
    int64_t lo, hi;              /* over all channels */
    const int64_t *lows, *highs; /* of each channel; NULL: lo and hi */
    const int64_t *values; /* of a constant: one, or one for each channel; entries of a table */
    size_t count;          /* channels of these: 1, or all */
    size_t length;         /* of a table */
} Number;

#define NO_NUMBER UINT32_MAX
/* Constants that an instruction of the processing unit holds. */
enum { NUMBER_LEAST_IMMEDIATE = -4096, NUMBER_MOST_IMMEDIATE = 4095 };

/* Functions that make a number give NO_NUMBER where an operand is NO_NUMBER or where a range leaves
 * 62 bits; the first failure is in `why`. */
typedef struct Numbers {
    Arena *arena;
    size_t channels;  /* of which ranges are kept; 0 only for a tap's */
    int channel_loop; /* that counts them in the kernel at hand; -1: none */
    VEC(Number) all;
    StrBuf why;
} Numbers;

void numbers_free(Numbers *n);
uint32_t number_fail(Numbers *n, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint32_t number_leaf(Numbers *n, NumberKind kind, int64_t lo, int64_t hi);
/* A leaf with a range for each of n->channels; the arrays live as long as n's arena. */
uint32_t number_leaf_of_channels(Numbers *n, NumberKind kind, const int64_t *lows,
                                 const int64_t *highs);
uint32_t number_const(Numbers *n, int64_t value);
/* `values` lives as long as n's arena. */
uint32_t number_consts(Numbers *n, const int64_t *values, size_t count);
uint32_t number_binary(Numbers *n, NumberKind kind, uint32_t a, uint32_t b);
/* a + value, added to a constant in a, or to the bounds of a clamp, where that needs no wider numbers. */
uint32_t number_offset(Numbers *n, uint32_t a, int64_t value);
uint32_t number_mod(Numbers *n, uint32_t a, uint32_t bits);
/* Entry a of a table of `length` numbers from 0 to 2^32 - 1 for each of `count` channels, or for all:
 * `values` lives as long as n's arena. */
uint32_t number_lookup(Numbers *n, uint32_t a, const int64_t *values, size_t count, size_t length);
/* The number of a value of iN read with or without its sign. */
uint32_t number_signed(Numbers *n, uint32_t a, uint32_t bits);
uint32_t number_unsigned(Numbers *n, uint32_t a, uint32_t bits);
/* Whether it is one constant. */
bool number_is_const(const Numbers *n, uint32_t a, int64_t *value);
const Number *number_at(const Numbers *n, uint32_t a);

/* A kernel's body as numbers. `args` are those of its block's arguments. NO_NUMBER: n->why. */
uint32_t payload_number(Numbers *n, const Value *value, const Block *body, const uint32_t *args);
/* table.c: the op that makes a tensor.extract's index of a number; NULL: it has another form. The
 * number that it reads at k. */
const Op *table_index(const Numbers *n, const Op *extract);
uint32_t table_read(Numbers *n, const Op *extract, uint32_t k);
/* Entry k of a table of `length` numbers for each of `rows` channels, or for all, in parameters. */
uint32_t table_number(Numbers *n, const int64_t *values, size_t rows, size_t length, uint32_t k);
/* The range and reading of a constant operand: its values for each of `channels`, which loop
 * `channel` of the kernel counts (-1: none does), where the loops of a reduction are `at` (NULL: it is
 * none). NULL: it changes with other loops. */
const int64_t *payload_constants(Arena *arena, const Op *generic, uint32_t operand, int channel,
                                 int64_t channels, const int64_t *at, size_t *count);
/* counts.c: whether the loops of a reduction index constants alone, and what it gives, as a number, for
 * the numbers of its body's arguments that are elements of maps. */
bool to_sa_reduces_constants(const Op *generic);
uint32_t to_sa_reduced_number(Numbers *n, const Op *generic, int channel, int64_t channels,
                              int64_t begin, uint32_t *args);

/* Extents that the overlay sees of a tensor: its last dimensions, mostly one, are the channels, those
 * of groups before those in one. False: there are more dimensions than rows, columns and channels. */
typedef struct Extents {
    int64_t h, w, c;
} Extents;
bool extents_of(const Type *type, uint32_t channel_dims, Extents *out);

bool to_sa_is_same_extents(const Extents *a, const Extents *b);

/* A tensor on its way. */
typedef struct Layer Layer;
typedef struct Tensor {
    Value *map;      /* of the network; NULL: its layer is not built yet */
    Layer *layer;    /* that gives it */
    int64_t lo, hi;  /* numbers that the tensor has */
    int64_t offset;  /* by which what the map holds is less: bytes without sign fit i8 */
    uint32_t width;  /* bits of an element in the function */
    bool is_modular; /* any numbers that are equal modulo 2^width will do */
    Extents extents;
    /* Padding in front of the first row and column, which readers take in; of a map only. */
    bool is_padded, is_flat; /* is_flat: read as one row of all its elements */
    bool needs_elements;     /* padding stands for none: windows must have others */
    int64_t top, left, pad_value;
    Extents padded;
} Tensor;

/* A layer before it is built: a kernel of the array, or a map, and what runs behind it. */
struct Layer {
    const OpDef *def;
    const Op *op; /* for messages: the last kernel of it */
    size_t order; /* of its first kernel */
    Tensor *input, *operand;
    int64_t kernel[2], strides[2], dilations[2], pads[2], pad_value;
    int64_t repeats[2];     /* of each element, of a map that is read as it is */
    bool spreads;           /* pad_value is at all of these places but the first one */
    const int64_t *weights; /* output x rows x columns x input channels */
    bool is_depthwise;
    int64_t groups; /* weights are for the input channels of one */
    /* Of weights of a model; 0: of a layer of our own. */
    uint64_t products;    /* of all channels of a result: weights that are no filling */
    uint32_t weight_bits; /* that these need */
    bool has_groups;
    Extents extents; /* of the result */
    Numbers tap, numbers;
    uint32_t tap_result, result;
};

typedef struct Lowering {
    Arena *arena;
    Context *ctx;
    const Op *func;
    SaOverlay size;
    Builder b;           /* at the network's end */
    PtrMap tensors;      /* Value* -> Tensor* */
    PtrMap channel_dims; /* Value* -> number of its dimensions that are channels; absent: 1 */
    VEC(Layer *) layers;
    PtrMap done;   /* Op* that another op's layer has taken in -> itself */
    PtrMap host;   /* Op* that the host runs -> itself */
    Op *host_func; /* NULL: nothing is left to it */
} Lowering;

/* Result number `back` of a map from its end, NULL: it has fewer. */
const AffineExpr *to_sa_from_end(const AffineMap *map, uint32_t back);
/* Whether a kernel yields what it reads, each element at one place. */
bool to_sa_moves(const Op *op);
/* Tells why the kernel cannot be a layer. */
bool to_sa_refuse(const Op *op, const char *format, ...) __attribute__((format(printf, 2, 3)));
Layer *to_sa_add_layer(Lowering *lw, const OpDef *def, const Op *op);
Tensor *to_sa_tensor(Lowering *lw, const Value *value);
uint32_t to_sa_channel_dims(const Lowering *lw, const Value *value);
void to_sa_set_channel_dims(Lowering *lw, const Value *value, uint32_t dims);
/* What the layer gives so far as the tensor of a value. */
Tensor *to_sa_give(Lowering *lw, const Value *value, Layer *layer);
/* A tensor like another one, for a value. */
Tensor *to_sa_new_tensor(Lowering *lw, const Value *value, const Tensor *like);
/* A layer that copies a map, with its padding. */
Layer *to_sa_copy(Lowering *lw, Tensor *source, const Op *op);
/* Takes in the next op of the function. False: diagnosed. */
bool to_sa_add_op(Lowering *lw, const Op *op) MUST_CHECK;
/* elementwise.c: a kernel that reads maps at the places that it writes. False: diagnosed. */
bool to_sa_add_map_kernel(Lowering *lw, const Op *generic) MUST_CHECK;
/* place.c: whether a kernel without reductions reads a constant operand at other places for rows and columns, or
 * channels that no loop counts alone. */
bool to_sa_is_placed(const Op *generic, uint32_t operand, int channel);
/* What the elements of a map mean: themselves, or where `count` numbers are. */
typedef struct PlacedConstants {
    int64_t *values;
    size_t count; /* 0: themselves */
} PlacedConstants;
/* A map of the constants of some operands at the places of the kernel's result: what an element means for
 * an operand is in placed[operand]. NULL: diagnosed. */
Tensor *to_sa_place_constants(Lowering *lw, const Op *generic, const uint32_t *operands,
                              uint32_t operand_count, const Extents *extents,
                              PlacedConstants *placed) MUST_CHECK;
uint32_t to_sa_placed_number(Numbers *n, const PlacedConstants *placed, uint32_t element);
/* slice.c: tensor.insert_slice and tensor.extract_slice. */
bool to_sa_insert(Lowering *lw, const Op *op) MUST_CHECK;
bool to_sa_extract(Lowering *lw, const Op *op) MUST_CHECK;
/* A linalg.generic that puts the dimensions that are channels in another order. */
bool to_sa_shuffles(const Lowering *lw, const Op *op);
bool to_sa_shuffle(Lowering *lw, const Op *op) MUST_CHECK;
/* A tensor that has each row and column of another one so many times, which nobody else knows. NULL:
 * diagnosed. */
Tensor *to_sa_repeat(Lowering *lw, Tensor *source, const Op *op, const int64_t repeats[2])
    MUST_CHECK;
/* A convolution of ones, whose weights are zeros so far, output x rows x columns x input channels, that
 * takes elements of a map as they are. Its kernel is set before the weights are. */
Layer *to_sa_add_selection(Lowering *lw, const Op *op, Tensor *source, const Extents *extents);
int64_t *to_sa_zero_weights(Lowering *lw, Layer *layer);
/* slice.c: the last three of an attribute's numbers, the last one first. False: they are none from 0 on, or the
 * others are not `outer`. */
bool to_sa_read_last(const Op *op, const char *name, int64_t outer, int64_t out[3]);
/* spread.c: whether a tensor.insert_slice puts zeros, or what else the other tensor is filled with, between
 * rows and columns; gives its result. */
bool to_sa_is_spread(const Op *insert);
bool to_sa_spread(Lowering *lw, const Op *insert) MUST_CHECK;
/* Where `expand`, with the moves behind it up to a collapse, is depth to space or space to depth, gives the
 * result of the collapse; *found: whether it is. False: diagnosed. */
bool to_sa_rearrange(Lowering *lw, const Op *expand, bool *found) MUST_CHECK;
/* Lets a tensor be a map, whose layer is built if it is not. False: diagnosed. */
bool to_sa_materialize(Lowering *lw, Tensor *tensor) MUST_CHECK;
/* Whether the elements of a map hold such numbers; when they are less by the offset that is found. */
bool to_sa_fits_map(const Lowering *lw, int64_t lo, int64_t hi);
bool to_sa_find_offset(const Lowering *lw, int64_t lo, int64_t hi, int64_t *offset);
/* An element of a map, as a layer that reads it has it. */
uint32_t to_sa_element(Numbers *n, NumberKind kind, const Tensor *tensor);
/* Builds a layer that gives another of its numbers; that gives its own, less `offset`. NULL: diagnosed. */
Value *to_sa_build_number(Lowering *lw, Layer *layer, uint32_t number) MUST_CHECK;
Value *to_sa_build_stored(Lowering *lw, Layer *layer, int64_t offset) MUST_CHECK;
/* The tensor as a map that has no port yet. NULL: diagnosed. */
Value *to_sa_output_map(Lowering *lw, Tensor *tensor) MUST_CHECK;
/* An input or output of the network with the type and attributes (NULL: none) that a function has for
 * it. An input gives a map of the type's extents. */
Op *to_sa_build_port(Lowering *lw, const OpDef *def, Str name, const Type *type, Value *map,
                     const Attr *attrs);
/* host.c: finds the ops that the host runs: all that compute in floats, and what reads these. False:
 * one of them is none for a host, diagnosed. */
bool to_sa_mark_host(Lowering *lw) MUST_CHECK;
bool to_sa_is_host(const Lowering *lw, const Op *op);
/* Where maps are not what the function gives, builds outputs of the network and the function of the
 * host that reads them, lw->host_func. False: diagnosed. */
bool to_sa_build_host(Lowering *lw) MUST_CHECK;
/* A reduction: its loops, and what they index of the map, the result and the weights. */
typedef struct Window {
    Lowering *lw;
    const Op *op;
    Kernel kernel;
    uint32_t data, weights;     /* operands; UINT32_MAX: none */
    uint32_t in_dims, out_dims; /* that are channels */
    Tensor *input;
    int64_t lo, hi; /* numbers of the input, padding included */
    Extents in, out;
    KernelIndex y, x;
    int64_t in_channel[KERNEL_MAX_LOOPS], out_channel[KERNEL_MAX_LOOPS]; /* steps of each loop */
    int64_t weight[KERNEL_MAX_LOOPS];
} Window;

/* window.c: a layer of a reduction. NULL: diagnosed. */
Layer *to_sa_window(Lowering *lw, const Op *generic);
/* What a reduction begins with. False: no constant, diagnosed. */
bool to_sa_begin(const Op *generic, int64_t *begin) MUST_CHECK;
/* What is added to the sum in each iteration; NULL: the body is no sum. */
const Value *to_sa_summand(const Window *w);
/* Lets the map of `first`, a layer that computes something of each element of the input, padding included,
 * be the input. */
bool to_sa_read_behind(Window *w, Layer *layer, Layer *first) MUST_CHECK;
/* pool.c: whether each channel is reduced by itself, without weights; fills in the layer of such a pool. */
bool to_sa_keeps_channels(const Window *w);
bool to_sa_fill_pool(Window *w, Layer *layer) MUST_CHECK;
/* fold.c: where the layer is the only reader of an input of the network and its windows, or their
 * rows, fit a word of the array, lets the input's words be these. */
void to_sa_fold_input(Lowering *lw, const Value *data, Layer *layer);
/* thresholds.c: a number of a layer as `base` and how many of the channel's thresholds the leaf, with
 * another sign where the channel's weights change theirs, reaches. False: it is no such number, or the
 * engine none of planes. */
typedef struct Thresholds {
    const Number *leaf;
    int64_t base;
    uint32_t planes;
    size_t count;    /* 2^planes - 1 */
    int64_t *values; /* count x channels */
    bool *changes_sign;
} Thresholds;
bool to_sa_find_thresholds(Lowering *lw, const Layer *layer, uint32_t result, Thresholds *out);
/* remarks.c: tells of groups that leave most of the array idle, and of weights that are widened. */
void to_sa_remark(const Lowering *lw);
/* program.c: builds the layer's op, which gives a map. NULL: diagnosed. */
Value *to_sa_build(Lowering *lw, Layer *layer) MUST_CHECK;

#endif
