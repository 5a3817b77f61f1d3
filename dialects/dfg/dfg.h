/* dfg: dataflow graphs of processes and channels on tensor frames.
 * A channel end is a value of type !dfg.input<T> (sending) or !dfg.output<T> (receiving); T is
 * a tensor that travels as words of `word` elements. Both ends of a channel have the same type
 * parameters, so equal stream widths (MING Eq. 1, stream constraint) are a matter of typing.
 * Tests: lit/dialects/dfg */
#ifndef MING_DIALECTS_DFG_DFG_H
#define MING_DIALECTS_DFG_DFG_H

#include "ir/core/core.h"

extern const DialectDef dfg_dialect;
extern const OpDef dfg_ops[];
extern const TypeDef dfg_type_input, dfg_type_output;

#define OP(ID, ...) DFG_##ID,
enum {
#include "dialects/dfg/dfg_ops.def"
    DFG_OP_COUNT
};
#undef OP
#define DFG(ID) (&dfg_ops[DFG_##ID])

/* Ranks of tensors that windows slide over; their windows have up to twice that. */
enum { DFG_MAX_RANK = 16, DFG_MAX_ELEMENT_BITS = 4096 };

/* A channel end. word: rank of the payload's shape entries, each dividing its extent, or NULL for
 * one element a word. */
const Type *dfg_end_type(const TypeDef *end, const Type *payload, const int64_t *word);
const Type *dfg_payload(const Type *end);
/* Whether frames of this type can be streamed: static tensors of rank at most 2 * DFG_MAX_RANK with
 * 1 to 2^40 integers or floats of at most DFG_MAX_ELEMENT_BITS, so that sizes never overflow. */
bool dfg_can_stream(const Type *payload);
/* Fills word[rank] (ones when the type has none). Elements per word are the product. */
void dfg_word(const Type *end, int64_t *word);
int64_t dfg_word_elems(const Type *end);
/* Words per frame. */
int64_t dfg_words_per_frame(const Type *end);

/* Input ports come first in a region's or process's entry block. */
uint32_t dfg_input_count(const Op *graph);
uint32_t dfg_output_count(const Op *graph);
Value *dfg_port(const Op *graph, uint32_t index);
/* Attribute dictionary of a port, never NULL. */
const Attr *dfg_port_attrs(const Op *graph, uint32_t index);
/* Recomputes function_type from the ports' types. */
void dfg_update_signature(Op *graph);
/* A region or process without ops: ports inputs first; names are made by the printer. */
Op *dfg_create_graph(Context *ctx, const OpDef *def, Str name, const Attr *loc,
                     const Type *const *ports, uint32_t input_count, uint32_t output_count,
                     const Attr *port_attrs);

/* Parameters of a dfg.window, read once. */
typedef struct WindowParams {
    uint32_t rank, count;      /* of the source; window dimensions */
    uint32_t first;            /* first window dimension; they are contiguous */
    int64_t in[DFG_MAX_RANK];  /* source extents */
    int64_t out[DFG_MAX_RANK]; /* output positions per window dimension */
    int64_t kernel[DFG_MAX_RANK], stride[DFG_MAX_RANK], dilation[DFG_MAX_RANK];
    int64_t low[DFG_MAX_RANK], high[DFG_MAX_RANK];
} WindowParams;
/* False (no diagnostic) if attributes are not lists of equal length that fit. */
bool dfg_window_params(const Op *window, WindowParams *out) MUST_CHECK;

/* From an index of a dfg.reorder's result to one of its source. */
const AffineMap *dfg_reorder_map(const Op *reorder);
/* Whether a map of indices of one shape gives indices of another: certain if true. */
bool dfg_map_stays_inside(const AffineMap *map, const Type *from, const Type *to);

/* Where a source of a dfg.merge goes: its element i to offset + stride * i. */
typedef struct MergePart {
    int64_t offset[DFG_MAX_RANK], stride[DFG_MAX_RANK], size[DFG_MAX_RANK];
} MergePart;
/* False (no diagnostic) if the attributes do not fit the result's rank. */
bool dfg_merge_part(const Op *merge, uint32_t source, MergePart *out) MUST_CHECK;

/* Operands of an instantiate that the process reads from; they precede the others. */
uint32_t dfg_instantiate_inputs(const Op *instantiate);
/* The instantiate that reads what is sent into `end`, or NULL for a region port. */
const Op *dfg_channel_reader(const Value *end);

#endif
