/* From a model's bytes to a design: loading, quantization, the passes and their order, the search
 * with its retries, and what a model lacks to compile. The tools are one client of it.
 *
 *   driver_load_model ─▶ driver_quantize ─▶ driver_compile ─▶ emit_hls (emit/emit.h)
 *                  └──▶ driver_check_model ─▶ a report of what compiles
 *
 * Nothing here prints: reports are appended to a text that the caller owns, and there are two ways
 * for errors. What is wrong with a model is a diagnostic of its context ("diagnosed"). What is
 * wrong with a request, as an unknown device, goes to the caller's DriverErrors ("reported").
 * Tests: test/unit/driver/compile_test.c, lit/driver */
#ifndef MING_DRIVER_DRIVER_H
#define MING_DRIVER_DRIVER_H

#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "ir/support/support.h"
#include "sim/io/io.h"
#include "target/device/device.h"
#include "target/dse/dse.h"

typedef VEC(const char *) Texts; /* the texts are not owned */

/* The subject of an error, so that a client can add advice for its users. */
typedef enum DriverErrorKind {
    DRIVER_ERROR_OTHER,
    DRIVER_ERROR_DEVICE,   /* no device has that name */
    DRIVER_ERROR_CLOCK,    /* the device cannot run at that clock */
    DRIVER_ERROR_SHELL,    /* the device has no such controller, or no room beside it */
    DRIVER_ERROR_QUANTIZE, /* the function cannot be quantized */
    DRIVER_WARNING,        /* no error: the work goes on */
    DRIVER_ERROR_KINDS
} DriverErrorKind;

/* Called once per error, at once. message: one sentence without a prefix and without an end of
 * line, valid during the call. report may be NULL: then nobody is told. */
typedef struct DriverErrors {
    void (*report)(void *user, DriverErrorKind kind, Str message);
    void *user;
} DriverErrors;

/* Reports; false. */
bool driver_error(DriverErrors errors, DriverErrorKind kind, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* Told what the driver begins to do, in a few words, so that a client can show it. */
typedef struct DriverProgress {
    void (*enter)(void *user, const char *doing);
    void *user;
} DriverProgress;

/* Every pass there is, sorted by name. */
const PassTable *driver_all_passes(void);

/* Runs a whole textual pipeline ("builtin.module(…)") on an op of its anchor, verified after each
 * pass. False: diagnosed, and the op is what the failing pass left. */
bool driver_run_passes(Op *op, Str pipeline) MUST_CHECK;

/* Runs all passes before those that depend on the device on a loaded module, which becomes one of
 * dataflow regions. Warns as driver_compile does. progress: NULL will do. False: diagnosed. */
bool driver_run_front(Op *module, const DriverProgress *progress) MUST_CHECK;

/* Models. Tests: lit/driver/ming-compile.mir, lit/import */

/* Which part of an ONNX file is read, and how. All zero: the whole file, as it is. */
typedef struct ModelOptions {
    Texts input_shapes, input_types, from, to; /* as in ImportOptions */
    struct ImportReport *report;               /* as there; only ONNX files fill it */
    const char *partition; /* a file of driver_partition_print that has the three lists; or NULL */
} ModelOptions;
/* Frees the lists, not their texts. */
void driver_model_options_free(ModelOptions *options);

/* The module of an ONNX file's bytes, the caller's to erase; what the file refers to is looked up
 * beside `path`. "-" is shown as <stdin>. NULL: diagnosed. */
Op *driver_load_onnx(Context *ctx, const char *path, Str bytes, const ModelOptions *options)
    MUST_CHECK;
/* The same for ONNX or IR, by the file's extension (.onnx, .mir, .mlir), else by its contents. The
 * bytes must stay as long as the context gives diagnostics. */
Op *driver_load_model(Context *ctx, const char *path, Str bytes, const ModelOptions *options)
    MUST_CHECK;

/* Devices. Tests: lit/tools/devices.mir, lit/driver/device*.mir */

#define DEFAULT_DEVICE DEVICE_DEFAULT
#define LIMIT_NOT_GIVEN INT64_MIN
/* By how many percent synthesis may find more LUTs than the cost model (docs/cost-model.md). */
#define DRIVER_LUT_MARGIN 25

/* The resources that a design may use. LIMIT_NOT_GIVEN: as the device says. */
typedef struct DeviceOptions {
    const char *device;  /* a name among the installed devices, or the path of an .xml file */
    const char *shell;   /* names of its controllers that are taken off its share, separated by
                            commas; NULL: none */
    int64_t clock;       /* MHz */
    int64_t utilization; /* percent of the device, 1 to 100 */
    Resources limits;    /* not negative, whatever the utilization */
    int64_t lut_margin;  /* percent by which LUTs may be underestimated, not negative; not given:
                            none of a limit, DRIVER_LUT_MARGIN of a share */
} DeviceOptions;

/* clang-format off */
#define DEVICE_OPTIONS_DEFAULTS                                                                   \
    {.device = DEFAULT_DEVICE,                                                                    \
     .clock = LIMIT_NOT_GIVEN,                                                                    \
     .utilization = LIMIT_NOT_GIVEN,                                                              \
     .lut_margin = LIMIT_NOT_GIVEN,                                                               \
     .limits = {LIMIT_NOT_GIVEN, LIMIT_NOT_GIVEN, LIMIT_NOT_GIVEN, LIMIT_NOT_GIVEN,               \
                LIMIT_NOT_GIVEN}}
/* clang-format on */

/* A device, and the budget, less the margin for LUTs, and the clock that the options give it. Its texts live in the context. */
typedef struct DeviceTarget {
    Device device;
    Resources budget;
    Resources dies[DEVICE_MAX_DIES]; /* the budget of each die */
    int64_t mean_percent; /* of each die's BRAM, URAM and DSP together, on average; 0: no limit */
    int64_t clock;        /* MHz */
} DeviceTarget;

/* Finds the device and what of it a design may use. False: reported, or diagnosed if the device's
 * description is at fault. */
bool driver_resolve_device(Context *ctx, const DeviceOptions *options, DriverErrors errors,
                           DeviceTarget *out) MUST_CHECK;

/* Reads a system file and the devices of its cards, and checks them together. False: reported, or
 * diagnosed if a file is at fault. */
bool driver_resolve_system(Context *ctx, const char *path, DriverErrors errors, System *out)
    MUST_CHECK;
/* 1 to SYSTEM_MAX_CARDS cards of one device, linked as a chain or not at all. False: as above. */
bool driver_chain_cards(Context *ctx, const char *device, int64_t count, bool is_linked,
                        DriverErrors errors, System *out) MUST_CHECK;

/* The best of all modes (modes/modes.c). */
#define DRIVER_MODE_AUTO "auto"

/* Cards that a design is made for. Tests: lit/driver/cards.test, test/e2e/system_check.py */
typedef struct CardOptions {
    const char *system; /* a system file; NULL: so many cards in a chain */
    int64_t cards;      /* LIMIT_NOT_GIVEN: none are asked for, unless there is a file */
    const char *mode;   /* "dp", "swmp", "hwmp", "tmp" or DRIVER_MODE_AUTO; NULL: "hwmp" */
    /* Of the design, with "dp" on each card, else on all of them together: a number, or "auto"; NULL: 1. */
    const char *instances;
    /* Percent: as many instances, and where they go over cards as many cards, as use it or give the most
     * frames; LIMIT_NOT_GIVEN: `instances` says how many. */
    int64_t min_utilization;
} CardOptions;

/* What they are. Its texts live in the context. */
typedef struct DriverCards {
    System system;
    const char *mode;
    int64_t instances;       /* with "dp" on each card, else on all of them */
    int64_t min_utilization; /* percent, for which driver_compile chooses them; 0: they are given */
    bool takes_fewer;        /* cards, too, but with "dp" */
    /* NULL, or what driver_compile resolves again for each mode, which must live until then. */
    const CardOptions *options;
    const DeviceOptions *device;
} DriverCards;

bool driver_wants_cards(const CardOptions *options);
/* Instances of CardOptions as a number, 0: driver_compile chooses it. False: it is none from 1 to 64. */
bool driver_read_instances(const char *text, int64_t *out);
/* Whether cards are asked for, and their mode is to be chosen. */
bool driver_chooses_mode(const CardOptions *options);
/* As driver_resolve_device, for the device of the cards: *target is what a design on all of them may
 * use, its dies are those of one card. Cards are of one device and run at one clock. Without cards
 * asked for it is driver_resolve_device, and *out is left alone. False: reported or diagnosed. */
bool driver_resolve_cards(Context *ctx, const CardOptions *options, const DeviceOptions *device,
                          DriverErrors errors, DeviceTarget *target, DriverCards *out) MUST_CHECK;

/* Directory of one kind of files that are needed at run time: "csim" or "devices". Looks beside the
 * program, where an installation has them, then where a build has them; then in the configured
 * place. False: it is nowhere, and `out` holds all those places, for a message. */
bool driver_resource_dir(const char *kind, StrBuf *out) MUST_CHECK;

/* Compilation. Tests: lit/driver/ming-compile*.mir, lit/driver/objective.mir */

/* The objective and the limits of the search for the best design. NULL or 0: the pass's default. */
typedef struct SearchOptions {
    const char *objective;   /* "throughput", "latency", "pipeline-latency" or "fps" */
    const char *epilogues;   /* "auto" or "fused"; NULL: auto */
    const char *small_fifos; /* "srl" or "lutram"; NULL: srl */
    const char *dump_lp;     /* file for the 0-1 program; no quotes or braces in its path */
    int64_t fps, time_limit, reserved_bram, reserved_lut; /* not negative */
} SearchOptions;

/* Whether the first frame counts, and not the interval. */
bool driver_asks_latency(const SearchOptions *search);

enum { DRIVER_MODES = 4 };

/* What a mode of several cards gives. */
typedef struct ModeFigure {
    const char *mode;
    bool fits, is_proven;      /* proven: by simulation */
    int64_t interval, latency; /* cycles, of a design */
    int64_t designs;           /* that work side by side */
    int64_t cards;             /* on which they lie; fewer than there are, perhaps */
    double fps;                /* of all of them */
    double share;              /* of what the cards have, of the kind that is used most */
    StrBuf why;                /* there is no such design */
} ModeFigure;

/* Which mode is taken, and why. */
typedef struct ModeChoice {
    ModeFigure modes[DRIVER_MODES];
    size_t count, taken; /* taken = count: none is possible */
    int64_t clock;       /* MHz */
    int64_t cards;       /* of the system */
    StrBuf reason;
} ModeChoice;

typedef enum DriverOptionKind { DRIVER_CHOICE, DRIVER_NUMBER, DRIVER_TEXT } DriverOptionKind;

/* An option of the pass choose-unroll, and the field that holds its value: an int64_t for a number,
 * else a const char *. Clients that take options by name read them from these tables. */
typedef struct DriverOption {
    const char *name; /* as the pass spells it */
    DriverOptionKind kind;
    size_t offset;     /* of the field */
    const char *value; /* a word for the value; of a choice all of them, "a|b" */
    const char *help;  /* one line; NULL: not for users */
} DriverOption;

/* Of SearchOptions and of Resources as limits of a design; each ends with a row without a name. */
extern const DriverOption driver_search_options[], driver_limit_options[];

/* All zero: the default. */
typedef struct CompileOptions {
    const char *top;        /* name of the top function, a C++ identifier; NULL: the network's */
    const char *fifo_slack; /* "exact", "N%" or "default", as fit-fifos has it; NULL: the default */
    const char *residual;   /* forms of residual blocks: "all", "none", or a list of "add", "reuse",
                             "merge" and "fanout"; NULL: all */
    int64_t images;         /* that a frame has, or a program of an overlay takes at once; 0: one */
    const char *head; /* what a network of ONNX operators gives in place of its results: "integers",
                         "argmax" or "topk=K"; NULL: its results */
    const char *folding; /* file of choices, no quotes or braces in its path; NULL: none is given */
    bool has_memory_ports; /* frames are in memories (m_axi), not streams */
    bool has_dma_ports;    /* streams are those of DMAs; not with has_memory_ports */
    bool loads_weights;    /* weights are loaded at start-up, not part of the bitstream */
    int64_t
        weights_width; /* bits of the port that loads them, a power of two from 8 to 512; 0: 64 */
    const char *weights_interface; /* of that port: "m_axi" or "axilite"; NULL: "axis" */
    bool streams_weights;          /* tables may stay in memory outside, from where they are read */
    bool shares_port;              /* to memory, of all that is streamed from there */
    bool rewinds;        /* processes begin with the next frame before they have run empty */
    bool flushes;        /* pipelines go on when their input is empty; not with rewinds */
    const char *control; /* "hs" or "none"; NULL: by ap_start with ap_continue */
    SearchOptions search;
    const char
        *overlay;     /* options of convert-linalg-to-sa, of driver_overlay_options; NULL: none */
    bool honors_dies; /* processes are placed where the device has several dies */
    const char *anchors;   /* "layer:die;layer:die", without quotes and braces; NULL: none */
    const char *colocated; /* "layer,layer;layer,layer,layer": each list on one die; NULL: none */
    const DriverCards *cards; /* NULL: the design is for one, and no system */
    ModeChoice *choice;       /* all zero before, gets what the cards' mode is chosen by; or NULL */
    int64_t verify_semantics; /* random inputs per function; 0: none */
    const DriverProgress *progress; /* or NULL */
} CompileOptions;

/* Bits of the widest port to a bank of memory, a power of two from 64 to 512; 0: the description tells
 * of no bank. */
int64_t driver_stream_bits(const Device *device);
/* Over how many such ports a table may be spread, a power of two: no more than there are banks, nor than
 * make 2,048 bits. */
int64_t driver_stream_ports(const Device *device);
/* Bits that all banks together bring in 1,000 cycles, in long bursts; is_shared: through one port. */
int64_t driver_stream_rate(const DeviceTarget *target, bool is_shared);

/* Whether a text is a head. */
bool driver_head_is_valid(const char *text) MUST_CHECK;
/* Whether a text is a residual. */
bool driver_residual_is_valid(const char *text) MUST_CHECK;
/* Whether a text is a fifo_slack. */
bool driver_fifo_slack_is_valid(const char *text) MUST_CHECK;

/* Compiles a loaded model to a design of the emithls dialect: the passes, and again those from the
 * search on while FIFOs lack memory. *module is replaced by the design; on failure, which is
 * diagnosed, it is still the caller's to erase. pipeline: NULL, or gets the pipeline that makes
 * the same design in one run of ming-opt; on failure one that was tried. Warns, at the network's
 * location, of a batch in the first dimension of an ONNX file's inputs and outputs, and of layers
 * in floating point. */
bool driver_compile(Op **module, const CompileOptions *options, const DeviceTarget *target,
                    StrBuf *pipeline) MUST_CHECK;

/* Appends a line for what was chosen and one for each mode; the same as JSON. */
void driver_print_modes(const ModeChoice *choice, StrBuf *out);
void driver_write_modes(const ModeChoice *choice, StrBuf *out);
void driver_mode_choice_free(ModeChoice *choice);

/* The overlay of a client, "rows=16,cols=16,act=i8", as options of convert-linalg-to-sa. False: why
 * tells which pair is none of them. */
bool driver_overlay_options(const char *text, StrBuf *out, StrBuf *why) MUST_CHECK;
/* Runs all passes before those that depend on the overlay's sizes. False: diagnosed. */
bool driver_run_overlay_front(Op *module, const CompileOptions *options) MUST_CHECK;
/* Compiles a loaded model to a sa.network for an overlay, and *program to one with its sa.program in
 * place of the network, which the caller erases. pipeline: as above. False: diagnosed. */
bool driver_compile_overlay(Op *module, const CompileOptions *options, Op **program,
                            StrBuf *pipeline) MUST_CHECK;

/* The design as modules of hw, comb and seq (docs/rtl.md), which the caller erases; the design stays
 * as it is. primitives: the option of convert-emithls-to-rtl. NULL: diagnosed, something in it has no
 * such form. */
Op *driver_lower_to_rtl(const Op *design, const char *primitives) MUST_CHECK;

/* Appends a line that says what the search reached and whether it is the best. It comes from the
 * design's dfg.budget; without that, nothing is appended. */
void driver_print_objective(const Op *design, StrBuf *out);
/* Cycles from frame to frame, and those of the first one. False: these are predicted, not simulated,
 * and the latency is no less than the real one. */
bool driver_design_times(const Op *design, int64_t *interval, int64_t *latency);
/* Appends what the design reaches on the target: frames a second, latency of the first frame, and
 * the share of each resource that the device has. */
void driver_print_summary(const Op *design, const DeviceTarget *target, StrBuf *out);

/* What compiles, and what it takes. Tests: lit/driver/ming-check* */

typedef enum LayerStatus {
    LAYER_NOT_CHECKED, /* an error elsewhere hides what would become of it */
    LAYER_UNSUPPORTED,
    LAYER_COMPILES,
    LAYER_FOLDED,  /* computed beforehand, or not needed */
    LAYER_LEFT_OUT /* outside the part that was asked for */
} LayerStatus;

/* Element types seen, as the widths of the narrowest and the widest; 0: none. */
typedef struct Widths {
    uint32_t int_low, int_high, float_low, float_high;
} Widths;

/* A layer is a node of an ONNX file, an onnx op of a module or, in a module without any, an op of
 * linalg, tosa or tensor. */
typedef struct CheckLayer {
    Str name, op_type;
    LayerStatus status;
    bool is_alive;      /* there is an op left of it after folding */
    Str reason;         /* why it is unsupported or not checked; empty: nothing says so */
    Str remark;         /* may be empty */
    int64_t parameters; /* elements of its constants; -1: not known */
    int64_t macs;       /* multiply-accumulate operations per frame; -1: not known */
    Widths weights, input, output;
    Str cuts; /* options that cut the network at it, with words; may be empty */
} CheckLayer;

/* Advice of a client for layers with such words in their reason. */
typedef struct CheckHint {
    const char *words, *hint; /* words "": fits every reason */
    const char *cuts; /* what stands between the hint and options that cut the network at the layer,
                         where there are some; NULL: they are left out */
} CheckHint;

typedef VEC(uint32_t) Tensors; /* of the report */

/* The part of a network that a design is made of, beside what the host computes. */
typedef struct Partition {
    Tensors inputs, outputs;      /* that cross its border */
    Texts from, to, input_shapes; /* as in ModelOptions; the texts live in the check's arena */
    size_t count;                 /* layers; 0: there is no such part */
    int64_t macs, total_macs;     /* of the part, of all layers of which they are known */
    bool *has_layer;              /* by the check's layers; in its arena */
} Partition;

struct ImportReport;

typedef struct Check {
    Context *ctx;
    struct ImportReport *report; /* of an ONNX file, in the arena; or NULL */
    bool has_nodes;              /* layers are nodes or onnx ops, else ops of linalg and tosa */
    const Ident *file;           /* in which the lines are layers */
    CheckLayer *layers;
    size_t count;
    size_t first_bad;  /* the first layer that does not compile, or `count`: behind it no type is
                         what it would be */
    bool is_complete;  /* nothing stopped the check */
    bool is_diagnosed; /* an error was about no layer, so it went to the context's handler */
    Arena arena;       /* of the layers and their texts */
    const CheckHint *hints; /* for the reports, the first that fits; ends with a row without words.
                               NULL: none */
    const Attr *requantizers; /* DFG_ATTR_REQUANTIZERS of what compiles; NULL: none, or not known */
    struct ModelNotes *notes; /* the driver's own, during the check */
} Check;

/* Fills the check for a file's bytes. The caller gives a context that knows all dialects, an
 * initialized arena, and hints, and frees them. Diagnostics that are about no layer go to the
 * context's handler. */
void driver_check_model(Check *check, const char *path, Str bytes, const ModelOptions *options);
/* Frees what is not in the arena. */
void driver_check_free(Check *check);
/* Whether driver_compile would compile it, given resources enough. */
bool driver_check_compiles(const Check *check);

/* Finds the part of an ONNX file with the most MACs that compiles by itself: connected, and no path
 * leaves it and enters it again. path and bytes are those of the check, which is done. The part was
 * checked by itself. The caller frees it with driver_partition_free. */
void driver_find_partition(Check *check, const char *path, Str bytes, Partition *out);
void driver_partition_free(Partition *part);
/* Appends a JSON object for --partition and for programs. docs/check.md explains its keys. */
void driver_partition_print(const Check *check, const Partition *part, const char *path,
                            StrBuf *out);
/* Appends the options that name the part; each one with a space in front. False: a name cannot be
 * written as one. */
bool driver_partition_options(const Partition *part, StrBuf *out) MUST_CHECK;

/* Appends a table of what the network's quantizers became. docs/check.md explains its columns. */
void driver_check_print_requantizers(const Check *check, StrBuf *out);
/* Append a table for people, or a JSON object for programs. docs/check.md explains its keys. */
void driver_check_print_text(const Check *check, const Partition *part, StrBuf *out);
void driver_check_print_json(const Check *check, const Partition *part, StrBuf *out);

/* Throughput against resources. Tests: lit/tools/ming-explore.test */

typedef struct ExploreChart {
    const ExplorePoints *points; /* at least one */
    const Cost *limits;
    int64_t clock; /* MHz */
    Str title;
} ExploreChart;

/* Frames per second of a point. */
/* The dies of a target of several, which the module then names. False: diagnosed. The caller frees
 * the platform either way. */
bool driver_dies_platform(Op *module, const DeviceTarget *target, PartitionPlatform *out)
    MUST_CHECK;
double driver_explore_fps(const ExplorePoint *point, int64_t clock);
/* Appends an SVG document: shares of the budget over frames per second. */
void driver_explore_print_svg(const ExploreChart *chart, StrBuf *out);

/* Arguments and results of a function with the .npy files that stand for them.
 * Tests: lit/tools/ming-run.mir, lit/tools/ming-run-invalid.mir */

typedef struct PortFile {
    Boundary boundary;
    const Boundary *levels; /* NULL, or of the network's quantizer of an argument of floats */
    const char *path;       /* NULL: not given */
    Npy npy;
} PortFile;

typedef struct PortFiles {
    DriverErrors errors;
    const char *what; /* "input", as messages call one */
    PortFile *items;
    uint32_t count;
    int64_t frames; /* in each array */
} PortFiles;

/* The function of that name, or if it is NULL the first public one; in either case one with a body.
 * NULL: reported. */
Op *driver_find_function(Op *module, const char *wanted, DriverErrors errors) MUST_CHECK;

/* Ports for the arguments or the results of func, without files. False: diagnosed;
 * driver_ports_free is right anyway. */
bool driver_ports_init(PortFiles *ports, const Op *func, const char *what, bool is_results,
                       DriverErrors errors) MUST_CHECK;
void driver_ports_free(PortFiles *ports);
/* Appends what is doubtful in the array of a port (boundary_doubt). False: nothing. */
bool driver_port_doubt(const PortFile *port, StrBuf *why);
/* "path" goes to the next port without one, "name=path" to the one of that name. The texts must
 * stay. False: reported. */
bool driver_ports_assign(PortFiles *ports, const Texts *files) MUST_CHECK;
/* Reads a file for every port. False: reported. */
bool driver_ports_read(PortFiles *ports) MUST_CHECK;
/* Gives one frame of each port. The caller unrefs the arrays that it gets, also on failure. False:
 * reported. */
bool driver_ports_enter(const PortFiles *ports, int64_t frame, Array **inputs) MUST_CHECK;

/* Quantization after training. Tests: lit/driver/quantize.mir, test/e2e/quantize_check.py */

typedef struct QuantizeOptions {
    const char *format; /* "int4", "int8", "int16", or a file of widths by layer; NULL: nothing is
                           quantized */
    Texts arrays;       /* frames to calibrate with, as driver_ports_assign takes files */
    bool per_tensor, power_of_two;
    bool fixed_point; /* F2N2's: normalizations in weights, powers of two, signed activations,
                         biases on the grids of sums */
    const char *only; /* "float-layers": nothing but factors of layers without quantizers, as
                         always where the network has quantizers; NULL: all, else */
} QuantizeOptions;
/* Frees the list, not its texts. */
void driver_quantize_options_free(QuantizeOptions *options);

/* Quantizes a function (NULL: the first public one) of a module as the options say, and appends the
 * error of each layer to `report`. False: reported or diagnosed. */
bool driver_quantize(Op *module, const char *function, const QuantizeOptions *options,
                     DriverErrors errors, StrBuf *report) MUST_CHECK;

#endif
