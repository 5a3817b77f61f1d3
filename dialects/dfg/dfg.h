/* The dfg dialect: dataflow graphs of processes and channels that carry tensors as frames.
 *
 * An end of a channel is a value of type !dfg.input<T> (sending) or !dfg.output<T> (receiving). T
 * is a tensor that travels as words of `word` elements. Both ends of a channel have the same type
 * parameters, so that equal stream widths (MING Eq. 1, the stream constraint) are a matter of
 * typing. linalg_to_dfg makes dfg, the design space exploration sets its words, dfg_to_emithls
 * consumes it. DFG(ID) is the row of an op, which serves as its identity: op->def == DFG(CHANNEL).
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

/* The largest rank of a tensor that windows slide over (its windows have up to twice that rank),
 * and the largest width of an element in bits. */

/* On linalg ops, the layer's name in the model, and on processes, the layers that they compute; of
 * an argument, result or port, the tensor's name. A string. Written by import, onnx_to_linalg,
 * name-layers, linalg_to_dfg and choose-unroll's converters; read by analysis/layer_name.c,
 * dfg_to_emithls, sim and emit. */
#define DFG_ATTR_NAME "dfg.name"
/* Of an argument, result or port: the order of its elements in the model, an affine map. Written by
 * normalize-layout; read by sim/io and emit. */
#define DFG_ATTR_LAYOUT "dfg.layout"
/* Of an argument, result or port of integers: what reals they stand for, a dictionary of DFG_QUANT
 * keys. Written by onnx_to_linalg; read by sim/io and emit. */
#define DFG_ATTR_QUANT "dfg.quant"
/* On ops, channels and emithls.stream with one value, and of arguments, results and ports: the
 * tensors of the network whose elements the value has, an array of dictionaries of DFG_TENSOR keys.
 * Written by name-tensors and onnx_to_linalg; kept by passes on linalg and dfg; read by
 * driver/trace and emit. On a module, all tensors of its network that a run would trace, in order,
 * an array of strings. */
#define DFG_ATTR_TENSORS "dfg.tensors"
#define DFG_TENSOR_NAME "name"   /* a string */
#define DFG_TENSOR_SHAPE "shape" /* i64 array: in the network */
#define DFG_TENSOR_QUANT                                                                           \
    "quant" /* as DFG_ATTR_QUANT; absent: the elements are those of the network */
#define DFG_TENSOR_LAYOUT                                                                          \
    "layout" /* as DFG_ATTR_LAYOUT, an index of the network being that of its
                                      elements row by row in the shape behind it; absent: row by row */
#define DFG_TENSOR_STREAM                                                                          \
    "stream" /* i64 array, with a layout: the shape in the order of the value */
/* On linalg.generic: what class of kernel it is, a dictionary. Written by analyze-kernels, dropped
 * by normalize-layout; read by target/dse, else for people. */
#define DFG_ATTR_KERNEL "dfg.kernel"
/* On linalg.generic: per input a mask of the loops that repeat its elements, an i64 array. Written
 * by insert-reorders; read by analysis/payload_range.c. */
#define DFG_ATTR_REPEATED "dfg.repeated"
/* On a process's kernel: unroll factors of its loops, an i64 array. Written by choose-unroll and
 * apply-folding; read by schedule and target/dse. */
#define DFG_ATTR_UNROLL "dfg.unroll"
/* On a process's kernel: what multiplies, one of DFG_MULTIPLIER. Written by choose-unroll and
 * apply-folding; read by schedule and target/cost. */
#define DFG_ATTR_MULTIPLIER "dfg.multiplier"
#define DFG_MULTIPLIER_DSP "dsp"
#define DFG_MULTIPLIER_LUT "lut"
#define DFG_MULTIPLIER_POPCOUNT "popcount" /* counts of bits */
/* On a process's kernel: what runs outside, one of DFG_ORDER. Written by choose-unroll and
 * apply-folding; read by schedule and target/dse. */
#define DFG_ATTR_ORDER "dfg.order"
#define DFG_ORDER_INPUTS "inputs"   /* each word in serves all results; absent: this */
#define DFG_ORDER_RESULTS "results" /* each result is completed before the next; words are kept */
/* On constants, kernels, windows and reorders: what their memory is built of, "auto", "lutram",
 * "bram" or "uram", or an array of them, one per dimension of a window. Written by choose-unroll
 * and apply-folding; read by target/cost and dfg_to_emithls. */
#define DFG_ATTR_STORAGE "dfg.storage"
/* On processes: the words of each input and output, an array of i64 arrays. Written by
 * apply-folding; read by target/dse. */
#define DFG_ATTR_WORDS "dfg.words"
/* On the module: limits, goal and result of the search, a dictionary of DFG_BUDGET keys and of the
 * DFG_COST keys that have a limit. Written by choose-unroll; read by target/fifo, emit, driver and
 * tools. */
#define DFG_ATTR_BUDGET "dfg.budget"
/* On the module: the images that a frame has, an i64; none for one. Written by batch-images; read by
 * stream-batch-last, emit and driver. */
#define DFG_ATTR_IMAGES "dfg.images"
enum { DFG_MOST_IMAGES = 4096 };
/* On the module: the warnings about its network, an array of strings. Written by driver/notes; read by
 * emit. */
#define DFG_ATTR_WARNINGS "dfg.warnings"
/* On the module, after a search that found no design: the least that one takes of what is short, a
 * dictionary with one of the DFG_COST keys. Written by choose-unroll; read by driver. */
#define DFG_ATTR_NEEDS "dfg.needs"
/* On the module: the device's DSP slices, "DSP48E1" or "DSP58"; none for DFG_DSP_KIND_DEFAULT.
 * Written by choose-unroll and `ming explore`; read by schedule. */
#define DFG_ATTR_DSP_KIND "dfg.dsp_kind"
#define DFG_DSP_KIND_DEFAULT "DSP48E2"
/* On the module: delays of the device's speed grade in percent of those of UltraScale+ -2, an i64;
 * none for DFG_DELAY_PERCENT_DEFAULT. Written by choose-unroll and `ming explore`; read by
 * schedule. */
#define DFG_ATTR_DELAY_PERCENT "dfg.delay_percent"
#define DFG_DELAY_PERCENT_DEFAULT 100
/* On processes and the emithls.func that each becomes: what was chosen for it and what it costs, a
 * dictionary of DFG_REPORT and DFG_COST keys. Written by choose-unroll and add-memory-ports, the
 * costs of FIFOs added by fit-fifos; read by emit. */
#define DFG_ATTR_REPORT "report"
/* On regions, processes and emithls.func: one dictionary per port. */
#define DFG_ATTR_PORT_ATTRS "port_attrs"
/* On channels and emithls.stream: words that fit, an i64; and whether less may do, a unit. Written
 * by size-fifos, pin-fifos and fit-fifos; read by sim/design and emit. */
#define DFG_ATTR_DEPTH "depth"
#define DFG_ATTR_CAUTIOUS "cautious"

/* On a kernel that requantizes: which nodes it stands for, a dictionary of DFG_REQUANT keys. Written
 * by convert-onnx-to-linalg; record-requantizers makes an array of them on the module, with costs,
 * which emit and ming check read. What is left on the kernel is what target/forms needs to build it
 * in another form: form, layer and, where the kernel is a monotone function of one operand, the four
 * bounds. */
#define DFG_ATTR_REQUANTIZER "dfg.requantizer"
#define DFG_ATTR_REQUANTIZERS "dfg.requantizers"
/* On a function, then on the module: names of the nodes that take integers as floats because they
 * have no form in integers, an array of strings. Written by convert-onnx-to-linalg and
 * record-requantizers; read by the driver's warnings. */
#define DFG_ATTR_INTEGERS_END "dfg.integers_end"
/* Of DFG_ATTR_REQUANTIZER and of the items of DFG_ATTR_REQUANTIZERS. */
#define DFG_REQUANT_ABSORBED "absorbed" /* array of strings: nodes in front of the quantizer */
#define DFG_REQUANT_FORM "form"         /* a string: line, comparisons, table ... */
#define DFG_REQUANT_LAYER "layer"       /* a string: the quantizer */
#define DFG_REQUANT_LEVELS "levels"     /* i64 */
/* i64: the numbers that the operand can be, and the levels */
#define DFG_REQUANT_LOW "low"
#define DFG_REQUANT_HIGH "high"
#define DFG_REQUANT_LEAST "least"
#define DFG_REQUANT_MOST "most"
#define DFG_REQUANT_CHOSEN "chosen" /* a unit, on kernels: the form is a choice, not a rule */
#define DFG_REQUANT_OTHERS "others" /* array of the same for the other forms: form, bits, costs */
#define DFG_REQUANT_BITS                                                                           \
    "constant_bits" /* i64, of the latter only: bits of all its constants; so
                                            are DFG_COST_DSP and DFG_COST_LUT, those of a lane */

/* Of DFG_ATTR_QUANT, where x = (q - zero_point) * scale / divisor. */
#define DFG_QUANT_BIPOLAR "bipolar" /* bool: an input is 1 where it is not negative, else -1 */
#define DFG_QUANT_BITS "bits"       /* i64: of q */
#define DFG_QUANT_SCALE "scale"     /* f64 */
#define DFG_QUANT_SIGNED "signed"   /* i1 */
#define DFG_QUANT_NARROW "narrow"   /* i1: without the least number */
#define DFG_QUANT_ZERO_POINT "zero_point" /* i64 */
#define DFG_QUANT_DIVISOR "divisor"       /* i64 */
#define DFG_QUANT_ROUNDING "rounding"     /* a string, as onnx_rounding_name() has it */

/* Of DFG_ATTR_REPORT; of DFG_ATTR_KERNEL the class, the only item that is read again. */
#define DFG_REPORT_CLASS "class"             /* a string: what kind of process */
#define DFG_REPORT_SOURCE "source"           /* a string: the layer */
#define DFG_REPORT_TRIP_COUNTS "trip_counts" /* i64 array, per loop */
#define DFG_REPORT_UNROLL "unroll"           /* i64 array, per loop */
#define DFG_REPORT_MACS "macs" /* i64: multiply-accumulate operations of a frame, if any */
#define DFG_REPORT_FACTOR_BITS "factor_bits" /* i64 array: of a weight, of an activation */
#define DFG_REPORT_WEIGHT_BITS "weight_bits" /* i64: of all weights, if they are constant */
#define DFG_REPORT_BUFFER "buffer"           /* i64: words, of processes that hold some */
#define DFG_REPORT_VERILOG "verilog" /* a dictionary of DFG_COST keys: what it takes as Verilog */
#define DFG_REPORT_FOLDING "folding" /* a dictionary of DFG_FOLDING keys */
/* A dictionary: of each fork that the process does the work of, by name, its DFG_REPORT_FOLDING and
 * DFG_REPORT_SOURCE. Written by merge-forks; read by emit. */
#define DFG_REPORT_FORKS "forks"

/* Of DFG_REPORT_FOLDING, and members of a layer in folding.json: what a user may choose for a
 * process. The values are those of the attributes of that name; storage is a dictionary by the
 * memories' roles. Written by target/dse/folding_record.c and emit; read by emit and
 * apply-folding. */
#define DFG_FOLDING_UNROLL "unroll"
#define DFG_FOLDING_MULTIPLIER "multiplier"
#define DFG_FOLDING_ORDER "order"
#define DFG_FOLDING_REQUANTIZER "requantizer" /* a string, or a list of several */
#define DFG_FOLDING_WORDS "words"
#define DFG_FOLDING_STORAGE "storage"

/* Costs, each an i64, in DFG_ATTR_REPORT, DFG_ATTR_BUDGET (limits), EMITHLS_ATTR_SHORTAGE and
 * EMITHLS_ATTR_EXCESS. cost_names[] in target/cost has them by CostKind. */
#define DFG_COST_CYCLES "cycles"
#define DFG_COST_DSP "dsp"
#define DFG_COST_BRAM18 "bram18"
#define DFG_COST_URAM "uram"
#define DFG_COST_LUT "lut"
#define DFG_COST_FF "ff"
#define DFG_COST_FILL "fill"
#define DFG_COST_TRAFFIC "memory_bits"

/* Of DFG_ATTR_BUDGET. */
#define DFG_BUDGET_DEVICE "device" /* strings */
#define DFG_BUDGET_PART "part"
#define DFG_BUDGET_OBJECTIVE "objective"
#define DFG_BUDGET_CLOCK_MHZ "clock_mhz" /* i64, as all below */
#define DFG_BUDGET_VALUE "value"         /* of the objective */
#define DFG_BUDGET_BOUND "bound"         /* that no design is below */
#define DFG_BUDGET_INTERVAL "interval"   /* cycles from frame to frame */

/* Ranks of tensors that windows slide over; their windows have up to twice that. */
enum { DFG_MAX_RANK = 16, DFG_MAX_ELEMENT_BITS = 4096 };
/* The largest depth of a channel, in words; what an emithls.stream may have. */
enum { DFG_MAX_DEPTH = INT32_MAX };
/* The fastest clock that attributes may say, in MHz. */
enum { DFG_MAX_CLOCK_MHZ = 1000000 };
/* Elements of a frame. */
#define DFG_MAX_FRAME ((int64_t)1 << 40)

/* The type of a channel end. `word` has an extent per dimension of the payload, each of which
 * divides the payload's extent; NULL means one element per word. */
const Type *dfg_end_type(const TypeDef *end, const Type *payload, const int64_t *word);
/* The tensor type that an end carries. */
const Type *dfg_payload(const Type *end);
/* Checks that each dfg.storage in a process names a kind of memory, or is an array of such names.
 * False: diagnosed at its op. */
bool dfg_check_storage(const Op *process) MUST_CHECK;
/* Whether designs have numbers of this type: signless integers of at most DFG_MAX_ELEMENT_BITS bits,
 * f32 and f64. */
bool dfg_is_element(const Type *type);
/* Whether frames of this type can be streamed: static tensors of rank at most 2 * DFG_MAX_RANK with
 * 1 to 2^40 elements that dfg_is_element allows, so that sizes never overflow. */
bool dfg_can_stream(const Type *payload);
/* Lists of DFG_ATTR_TENSORS (tensors.c). quant: NULL if there is none. Changes give NULL where no
 * tensor is left that the list can describe. */
const Attr *dfg_tensor(Context *ctx, Str name, const Type *type, const Attr *quant);
const Attr *dfg_tensors_add(const Attr *list, const Attr *tensor); /* list: NULL for an empty one */
/* The value's dimension i was perm[i]; type: its new one. */
const Attr *dfg_tensors_reorder(const Attr *list, const Type *type, const uint32_t *perm);
/* Its first dimension, of one element, is that of so many images now. */
const Attr *dfg_tensors_batch(const Attr *list, int64_t images);
/* Its integers -1 and 1, or 0 and 1, are bits now. */
const Attr *dfg_tensors_encode(const Attr *list, bool is_bipolar);
/* Without those that read the integers without a sign. */
const Attr *dfg_tensors_signed(const Attr *list);
bool dfg_tensors_are_valid(const Attr *list);
/* Of a tensor of a valid list: the type of a value's frame in the shape of which its layout is. NULL:
 * network, layout and frame have not the same number of elements. */
const Type *dfg_tensor_stream_type(const Attr *tensor, const Type *frame) MUST_CHECK;
/* DFG_ATTR_QUANT of integers that stand for themselves. */
const Attr *dfg_quant_integers(Context *ctx, bool is_signed);
/* Fills word[rank] (with ones if the type has none); dfg_word_elems is their product, the elements
 * per word. */
void dfg_word(const Type *end, int64_t *word);
int64_t dfg_word_elems(const Type *end);
/* Words per frame. */
int64_t dfg_words_per_frame(const Type *end);

/* Ports of a region or process: the arguments of its entry block, inputs first. */
uint32_t dfg_input_count(const Op *graph);
uint32_t dfg_output_count(const Op *graph);
Value *dfg_port(const Op *graph, uint32_t index);
/* The attribute dictionary of a port, never NULL. */
const Attr *dfg_port_attrs(const Op *graph, uint32_t index);
/* Recomputes function_type from the ports' types. */
void dfg_update_signature(Op *graph);
/* Adds an output port behind the others of a process, which no push serves yet; erases one that no
 * push serves any more. Attributes of ports, which processes have no use for, go. */
Value *dfg_add_output(Op *process, const Type *end);
void dfg_erase_output(Op *process, uint32_t output);
/* Erases an input port that nothing pulls from any more. */
void dfg_erase_input(Op *process, uint32_t input);
/* A detached region or process without ops in its body. `ports` are types, inputs first; names are
 * made by the printer. port_attrs may be NULL. */
Op *dfg_create_graph(Context *ctx, const OpDef *def, Str name, const Attr *loc,
                     const Type *const *ports, uint32_t input_count, uint32_t output_count,
                     const Attr *port_attrs);

/* Parameters of a dfg.window. */
typedef struct WindowParams {
    uint32_t rank, count;      /* of the source; window dimensions */
    uint32_t first;            /* first window dimension; they are contiguous */
    int64_t in[DFG_MAX_RANK];  /* source extents */
    int64_t out[DFG_MAX_RANK]; /* output positions per window dimension */
    int64_t kernel[DFG_MAX_RANK], stride[DFG_MAX_RANK], dilation[DFG_MAX_RANK];
    int64_t low[DFG_MAX_RANK], high[DFG_MAX_RANK];
} WindowParams;
/* Reads them. False, without a diagnostic: the attributes are not lists of equal length that
 * fit. */
bool dfg_window_params(const Op *window, WindowParams *out) MUST_CHECK;

/* What a result of a dfg.window has of each window: a block of taps. Result 0 has them all. */
typedef struct WindowPart {
    int64_t first[DFG_MAX_RANK], taps[DFG_MAX_RANK]; /* per window dimension */
    bool has_taps; /* as dimensions of the result; else it is a single tap */
} WindowPart;
/* Reads it. False, without a diagnostic: the result is no such block. */
bool dfg_window_part(const Op *window, uint32_t result, WindowPart *out) MUST_CHECK;

/* The map from an index of a dfg.reorder's result to an index of its source. */
bool dfg_quant_int(const Op *op, const Attr *quant, const char *name, int64_t fallback,
                   int64_t *out) MUST_CHECK;

/* From an index of a dfg.reorder's result to one of its source. */
const AffineMap *dfg_reorder_map(const Op *reorder);
/* Whether a map takes every index of one shape to an index of the other. True is certain; false may
 * mean that it is not known. */
bool dfg_map_stays_inside(const AffineMap *map, const Type *from, const Type *to);

/* The place of one source of a dfg.merge: its element i goes to offset + stride * i. */
typedef struct MergePart {
    int64_t offset[DFG_MAX_RANK], stride[DFG_MAX_RANK], size[DFG_MAX_RANK];
} MergePart;
/* Reads it. False, without a diagnostic: the attributes do not fit the rank of the result. */
bool dfg_merge_part(const Op *merge, uint32_t source, MergePart *out) MUST_CHECK;

/* The number of operands of an instantiate from which the process reads; they precede the
 * others. */
uint32_t dfg_instantiate_inputs(const Op *instantiate);
/* The instantiate that reads what is sent into `end`, or NULL if `end` is a port of the region. */
const Op *dfg_channel_reader(const Value *end);

#endif
