/* Between the sources of driver/. */
#ifndef MING_DRIVER_INTERNAL_H
#define MING_DRIVER_INTERNAL_H

#include "driver/driver.h"
#include "sim/interp/interp.h"
#include "target/cost/cost.h"

/* Stages of the pipeline in their order, as bits of a set. */
enum {
    STAGE_FOLD = 1 << 0,       /* onnx ops with constants folded and shapes known */
    STAGE_TO_LINALG = 1 << 1,  /* onnx to linalg */
    STAGE_GENERALIZE = 1 << 2, /* linalg.generic only */
    STAGE_STREAM = 1 << 3,     /* to dataflow regions */
    STAGE_TIDY = 1 << 4,
    STAGE_CHOOSE = 1 << 5,  /* what to unroll */
    STAGE_TO_HLS = 1 << 6,  /* to emithls */
    STAGE_FIT = 1 << 7,     /* FIFOs in the budget, then ports */
    STAGE_NETWORK = 1 << 8, /* in place of STAGE_STREAM: what an overlay of any size takes */
    STAGE_LAYERS = 1 << 9,  /* to layers of an overlay */

    STAGES_FRONT = STAGE_FOLD | STAGE_TO_LINALG | STAGE_GENERALIZE | STAGE_STREAM | STAGE_TIDY,
    STAGES_DESIGN = STAGE_CHOOSE | STAGE_TO_HLS | STAGE_FIT,
    STAGES_ALL = STAGES_FRONT | STAGES_DESIGN,
    STAGES_OVERLAY = STAGE_FOLD | STAGE_TO_LINALG | STAGE_GENERALIZE | STAGE_NETWORK | STAGE_LAYERS
};

/* The options of the passes of the stages. */
typedef struct StageOptions {
    const CompileOptions *compile;
    const SearchOptions *search; /* of STAGE_CHOOSE, in place of compile's */
    const DeviceTarget *target;  /* of STAGE_CHOOSE */
    bool keeps_going;            /* conversion tells of all nodes that are not supported */
    bool has_tosa;               /* tosa ops come before linalg */
    bool fits_best_only;         /* FIFOs that do not fit lead to no longer interval */
} StageOptions;

/* The pipeline of a set of stages on a builtin.module, as text. */
void driver_add_stages(StrBuf *out, unsigned stages, const StageOptions *options);
/* Whether there is a tosa op; the stages before linalg have passes for them then. */
bool driver_has_tosa(Op *module);
/* Runs it, with tosa's passes as the module needs them. semantics: NULL, or checks each pass. False: diagnosed. */
bool driver_run_stages(Op *module, unsigned stages, const StageOptions *options,
                       VerifySemantics *semantics) MUST_CHECK;

/* LUTs of all processes and FIFOs of a design. */
int64_t driver_luts(const Op *design);
/* And of any kind. */
int64_t driver_use(const Op *design, CostKind kind);
/* Cards that the design is for, and how many of it there are on them. */
void driver_count_cards(const Op *design, int64_t *cards, int64_t *copies);
/* The amount of a kind; NULL: it is no resource of a device. */
const int64_t *driver_resource_of(const Resources *resources, CostKind kind);
/* The first cards of a system, for so many designs (with "dp" on each, else together); *target, which
 * is what a design on all of its cards may use, becomes what one of them may. */
void driver_take_tile(DriverCards *cards, int64_t count, int64_t designs, DeviceTarget *target);

/* Options of choose-unroll, as a pipeline has them in braces. */
void driver_add_search_options(StrBuf *out, const StageOptions *options);
/* Those about the dies of the target, and of their memory banks; and the options of place-cards and
 * connect-cards. False: the pass is left out. */
void driver_add_dies(StrBuf *out, const DeviceTarget *target, bool has_banks);
bool driver_add_cards(StrBuf *out, const StageOptions *options);
bool driver_add_links(StrBuf *out, const StageOptions *options);
/* Whether one design goes over the cards, so that processes are placed once they are chosen. */
bool driver_is_spread(const CompileOptions *options);
/* driver_compile where the mode is to be chosen: in each one, of which the best is taken. */
bool driver_compile_modes(Op **module, const CompileOptions *options, StrBuf *pipeline) MUST_CHECK;
/* The number that a row of driver_limit_options means. */
int64_t driver_limit(const DriverOption *row, const Resources *limits);

/* What a user should know about a network that compiles: warnings at its function, at most one of a
 * kind. begin: of the loaded module, before any pass. end: of the same module as dataflow regions.
 * Both only warn. */
typedef struct ModelNotes ModelNotes;
ModelNotes *driver_notes_begin(const Op *module);
void driver_notes_end(ModelNotes *notes, const Op *module);
/* Writes DFG_ATTR_WARNINGS, if there were warnings. */
void driver_notes_record(const ModelNotes *notes, Op *module);
/* Behind end: why a layer of a quantized network is computed in floating point. NULL: it is not. */
const char *driver_notes_reason(const ModelNotes *notes, Str layer);
void driver_notes_free(ModelNotes *notes);

/* Notes, behind an error, about what would hold a module of dataflow regions of which every design
 * needs at least so much of a kind of resource. */
void driver_advise(const Op *module, const CompileOptions *options, const DeviceTarget *target,
                   CostKind kind, int64_t least);

/* Between the sources of the check: check_model.c (which layers compile), check_costs.c (their
 * cost), check_words.c, check_print.c and check_json.c (the reports). Every op that is made of a
 * layer has a location whose line is the layer's number, from 1; so passes and their errors lead
 * back to it. */

/* The layer that a location belongs to, or NULL. */
CheckLayer *driver_check_layer(const Check *check, const Attr *loc);

/* Enters parameters and MACs of the layers, and which are alive, from their folded nodes. */
void driver_check_count(Check *check, Op *module);
/* Enters element types of the layers before the first bad one from their linalg ops. */
void driver_check_widths(Check *check, Op *module);
void driver_check_widths_add(Widths *to, const Widths *more);

/* "compiles"; what would help (nothing: nothing is wrong, or nothing known); "i4-i8,f32" ("-":
 * none). */
const char *driver_check_status(const CheckLayer *layer);
void driver_check_hint(const Check *check, const CheckLayer *layer, StrBuf *out);
void driver_check_widths_print(const Widths *widths, StrBuf *out);
/* Whether an op of a module is a layer; what it is called as number `number`. */
bool driver_is_layer(const Op *op);
void driver_layer_name(const Op *op, size_t number, StrBuf *out);
/* driver_check_count for a module without onnx ops (check_kernels.c). */
void driver_check_count_kernels(Check *check, Op *module);
struct TensorReport;
/* Enters where the network can be cut at layers that do not compile (check_cuts.c). */
void driver_check_cuts(Check *check);
/* Of a tensor of the file (partition.c). "name:1x3x32x32" of one of floats, NULL of others; a text
 * in the check's arena. */
const char *driver_input_shape(Check *check, const struct TensorReport *tensor);
const char *driver_keep_name(Check *check, Str name);
/* Appends " --from=a,b", nothing for an empty list. False: a name cannot be written so. */
bool driver_add_names(StrBuf *out, const char *flag, const char *const *names, size_t count)
    MUST_CHECK;
/* Keys of a partition's file that the tools read; the format's number is that of the file. */
#define DRIVER_PARTITION_FORMAT "ming_partition"
#define DRIVER_PARTITION_FROM "from"
#define DRIVER_PARTITION_TO "to"
#define DRIVER_PARTITION_SHAPES "input_shapes"
/* Appends the lists of a partition's file to those of the options; their texts live in the arena.
 * False: diagnosed. */
bool driver_partition_read(Context *ctx, const char *path, Arena *arena, ModelOptions *out)
    MUST_CHECK;
/* A layer with the sums and ranges of all, without a name. */
CheckLayer driver_check_total(const Check *check);

/* Appends the member "requantizers": what the quantizers of the network became. */
void driver_check_write_requantizers(const Check *check, JsonWriter *w);

/* Sets onnx.width of ops and arguments as the file says that --quantize names, and *width to what all
 * others have. False: reported. */
bool driver_set_widths(Op *func, const char *format, DriverErrors errors, int64_t *width)
    MUST_CHECK;

#endif
