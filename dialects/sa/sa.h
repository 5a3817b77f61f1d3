/* The sa dialect: programs of an overlay, a systolic array that runs a network layer after layer
 * (F2N2, section III; docs/overlay.md). An op of a program is one 32-bit instruction. The row of an
 * instruction has its encoding: assembler, disassembler and the generated tables are made from it.
 * SA(ID) is the row of an op, which serves as its identity: op->def == SA(RUN).
 * Tests: lit/dialects/sa, test/unit/dialects/sa */
#ifndef MING_DIALECTS_SA_SA_H
#define MING_DIALECTS_SA_SA_H

#include "ir/core/core.h"

#define OP(ID, ...) SA_##ID,
enum {
#include "dialects/sa/sa_ops.def"
    SA_OP_COUNT
};
#undef OP

#define REG(ID, NAME, IS_SIGNED, SUMMARY) SA_REG_##ID,
enum {
#include "dialects/sa/sa_regs.def"
    SA_REG_COUNT
};
#undef REG

extern const OpDef sa_ops[];
extern const DialectDef sa_dialect;
extern const AttrDef sa_attr_overlay; /* #sa.overlay<rows = 4, cols = 4, act = i8, …> */
#define SA(ID) (&sa_ops[SA_##ID])

/* Attribute names of instructions, as rows and readers use them. */
#define SA_ATTR_OVERLAY "overlay" /* of sa.program */
#define SA_ATTR_HALF "half"
#define SA_ATTR_WAIT "wait"
#define SA_ATTR_SIGNAL "signal"
#define SA_ATTR_BANK "bank"
/* Of ports that a function had: its type, and its dictionary of attributes. */
#define SA_ATTR_TYPE "sa.type"
#define SA_ATTR_PORT "sa.port"
/* Of such a port: how many frames of that type its map has, one below the other. */
#define SA_ATTR_FRAMES "sa.frames"
/* Of such a port: what external memory holds is less than the array's numbers by it. */
#define SA_ATTR_OFFSET "sa.offset"
/* Of an input whose words hold windows of the function's map, entries of an array<i64>. */
#define SA_ATTR_FOLD "sa.fold"
enum {
    SA_FOLD_KERNEL,        /* rows, columns of the window */
    SA_FOLD_STRIDES = 2,   /* from window to window */
    SA_FOLD_DILATIONS = 4, /* from tap to tap */
    SA_FOLD_PADS = 6,      /* in front of the map */
    SA_FOLD_PAD_VALUE = 8,
    SA_FOLD_COUNT
};
/* Of a layer: blocks of output channels, rows, columns, blocks of input channels of a tile; the loops over
 * tiles, "myxn" in an order; what a model says (choose-sa-tiles). Of a map: it lies outside. Of a port:
 * elements from row to row, if there are more than lanes of one. */
#define SA_ATTR_TILE "sa.tile"
#define SA_ATTR_ORDER "sa.order"
#define SA_ATTR_CYCLES "sa.cycles"
#define SA_ATTR_SPILL "sa.spill"
#define SA_ATTR_PITCH "sa.pitch"
#define SA_ATTR_NAME "sa.name"  /* of a layer: what the model calls it */
#define SA_ATTR_GROUPS "groups" /* of sa.conv, and of channels in the words of a sa.port */

/* Of a layer: its maps are so many images, of equal rows, one below the other. */
#define SA_ATTR_IMAGES "images"
/* Of sa.eltwise: how often the result has an element, one below the other and side by side. */
#define SA_ATTR_REPEATS "repeats"
/* Of sa.conv: the windows over its results whose maxima it gives. */
#define SA_ATTR_POOL_MAP "pool_map"
#define SA_ATTR_POOL_KERNEL "pool_kernel"
#define SA_ATTR_POOL_STRIDES "pool_strides"
#define SA_ATTR_POOL_PADS "pool_pads"

enum {
    SA_PAGE_WORDS = 4096,          /* of activations: the depth of an UltraRAM */
    SA_POPCOUNT_PAGE_WORDS = 1024, /* of engines of planes, whose pages are block RAM */
    SA_MOST_PLANES = 3,
    SA_MOST_THRESHOLDS = (1 << SA_MOST_PLANES) - 1,
    SA_PU_WORDS = 256, /* instructions in the memory of the processing unit's programs */
    SA_PU_REGS = 16,
    SA_PU_ALL = 1,      /* pu_kind: of all instructions; else of a few, */
    SA_FEW_PU_REGS = 2, /* and of so many registers */
    SA_SEMAPHORES = 16,
    SA_BEAT_BYTES = 64,
    SA_MOST_BEATS = 1 << 28, /* that addresses count */
    SA_LOG2_PARAMETER_BITS = 5,
    SA_QUEUE = 4,          /* commands that wait in front of a unit */
    SA_MOST_IMAGES = 4096, /* of a network's maps, as the compiler takes them */
};

/* Banks of external memory, as the compiler uses them and the engine's ports are wired. */
enum { SA_BANK_MAPS, SA_BANK_WEIGHTS, SA_BANK_PARAMETERS };

enum { SA_MODE_DENSE, SA_MODE_DEPTHWISE, SA_MODE_POOL, SA_MODE_ELTWISE, SA_MODE_COUNT };

/* Values of the enumeration attributes: "buffer" of sa.addr, "source" of sa.pu.load, "rounding" of
 * sa.pu.rshifti. */
enum { SA_BUFFER_ACTIVATIONS, SA_BUFFER_WEIGHTS, SA_BUFFER_OUTPUT, SA_BUFFER_PARAMETERS };
enum { SA_SOURCE_SUMS, SA_SOURCE_OPERAND, SA_SOURCE_PARAMETER };
enum { SA_ROUND_FLOOR, SA_ROUND_HALF_UP, SA_ROUND_HALF_EVEN };

/* What an overlay is made of, in the units of sa_overlay.def. */
typedef struct SaOverlay {
#define PARAM(FIELD, LEAST, MOST, SUMMARY) uint32_t FIELD;
#include "dialects/sa/sa_overlay.def"
#undef PARAM
    uint32_t act_bits, weight_bits; /* 8 or 16; of an engine of planes 1 to SA_MOST_PLANES */
    bool act_is_unsigned;
} SaOverlay;

/* The two kinds of arithmetic: products of elements of 8 or 16 bits, or counts of the bits that two
 * planes of 1 to 3 share (FINN-R, 4.1). Weights of one plane are -1 or 1, of several two's
 * complement; activations are two's complement, or have no sign. */
bool sa_is_popcount(const SaOverlay *size);
uint32_t sa_page_words(const SaOverlay *size);
/* Numbers that an element of a map holds. */
int64_t sa_act_min(const SaOverlay *size);
int64_t sa_act_max(const SaOverlay *size);
/* Whether the array can hold the weight. */
bool sa_weight_fits(const SaOverlay *size, int64_t weight);
/* Types of the elements of maps, and of sa.conv's weights, where -1 and 1 take two bits. */
const Type *sa_act_type(Context *ctx, const SaOverlay *size);
const Type *sa_weight_type(Context *ctx, const SaOverlay *size);
/* Bits that an element of so many takes in external memory: a power of two. */
uint32_t sa_stored_bits(uint32_t bits);
/* A weight's bits there. */
uint64_t sa_weight_code(const SaOverlay *size, int64_t weight);

SaOverlay sa_overlay(const Attr *overlay);
/* Whether its processing unit runs the instruction. */
bool sa_pu_has(const SaOverlay *size, const Op *op);

/* Rows of sa_overlay.def: where in SaOverlay a parameter is, and the numbers that it may be. */
typedef struct SaParam {
    const char *name, *summary;
    size_t offset;
    int64_t least, most;
} SaParam;
extern const SaParam sa_overlay_params[];
/* Whether parameter `index` is left out of texts where it is 1. */
bool sa_param_is_optional(size_t index);
#define PARAM(FIELD, LEAST, MOST, SUMMARY) SA_PARAM_##FIELD,
enum {
#include "dialects/sa/sa_overlay.def"
};
#undef PARAM

/* The parameters as words of a file: those of sa_overlay.def in their order, then the bits of
 * activations and of weights. */
#define PARAM(FIELD, LEAST, MOST, SUMMARY) +1
enum {
    SA_OVERLAY_PARAMS = 0
#include "dialects/sa/sa_overlay.def"
    ,
    SA_OVERLAY_WORDS = SA_OVERLAY_PARAMS + 2
};
#undef PARAM
void sa_overlay_to_words(const SaOverlay *overlay, uint32_t words[SA_OVERLAY_WORDS]);
SaOverlay sa_overlay_from_words(const uint32_t words[SA_OVERLAY_WORDS]);

/* NULL: diagnosed at loc, with the parameter that is out of its range. */
const Attr *sa_overlay_attr(Context *ctx, const SaOverlay *overlay, const Attr *loc) MUST_CHECK;

const char *sa_register_name(uint32_t number);
const char *sa_register_summary(uint32_t number);
bool sa_register_is_signed(uint32_t number);

/* A field of an instruction: bits high to low hold the attribute. Of an attribute that may be
 * absent bit `flag` says whether it is there; -1: it always is. */
typedef struct SaField {
    const char *attr;
    uint8_t high, low;
    bool is_signed;
    int8_t flag;
} SaField;

enum { SA_MAX_FIELDS = 5 };

/* The encoding of an instruction: its fixed bits, among which are all that no field has. */
typedef struct SaForm {
    uint32_t fixed;
    SaField fields[SA_MAX_FIELDS + 1]; /* ends with one without attr */
} SaForm;

/* The encoding of a row; NULL for rows that are no instructions. */
const SaForm *sa_form(const OpDef *def);
/* Bits that are fixed in the form. */
uint32_t sa_form_mask(const SaForm *form);
/* Least and greatest number that a field holds. */
int64_t sa_field_min(const SaField *field);
int64_t sa_field_max(const SaField *field);

/* The word of a verified instruction. */
uint32_t sa_encode(const Op *op);
/* Builds the instruction that a word stands for, at the builder's point, with the builder's
 * location. NULL: diagnosed there, with the word. */
Op *sa_decode(Builder *b, uint32_t word) MUST_CHECK;

/* Layers of a sa.network. */
bool sa_is_layer(const Op *op);
/* Entry number `index` of an attribute that is an array of numbers. */
int64_t sa_item(const Op *op, const char *name, size_t index);
/* Rows and columns of a layer's window; 1 element by element. */
void sa_kernel(const Op *layer, int64_t kernel[2]);
/* Images that its maps have, one below the other; windows see rows of their own. */
int64_t sa_images(const Op *layer);
/* Rows and columns of the result that each element is; 1 of most layers. */
void sa_repeats(const Op *layer, int64_t repeats[2]);
/* Whether only the first of these places has the element. */
bool sa_spreads(const Op *layer);
/* The second operand, or NULL. */
Value *sa_operand(const Op *layer);
/* Windows over the results of a layer, whose maxima it gives: rows, columns. */
typedef struct SaPool {
    int64_t map[2]; /* the results, of an image */
    int64_t kernel[2], strides[2], pads[2];
} SaPool;
/* False: it gives its results as they are. */
bool sa_pool(const Op *layer, SaPool *out);
/* Whether every window of so many rows and columns of an image has a result in it, and none is between windows. */
bool sa_pool_fits(const SaPool *pool, const int64_t windows[2]);
/* Bytes that are moved for so many. */
static inline uint64_t sa_whole_beats(uint64_t bytes)
{
    return (bytes + SA_BEAT_BYTES - 1) / SA_BEAT_BYTES * SA_BEAT_BYTES;
}
/* Cycles at least from one result to the next that goes to a window: what stands in a page is read,
 * compared and written. */
enum { SA_POOL_LATENCY = 4 };
/* Rows, columns and channels of a map. */
const int64_t *sa_map_dims(const Value *map);
/* Whether the op is an instruction of the processing unit. */
bool sa_is_pu(const Op *op);
/* Whether it is one that reads parameters, from its "address" on. */
bool sa_reads_parameter(const Op *op);

/* The attribute as a number; `absent` where it is not there. */
int64_t sa_int(const Op *op, const char *name, int64_t absent);

#endif
