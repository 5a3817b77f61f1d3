/* Every pass the tools offer: within levels, between them, and device-dependent ones. */
#ifndef MING_DRIVER_DRIVER_H
#define MING_DRIVER_DRIVER_H

#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "ir/support/support.h"
#include "sim/io/io.h"
#include "target/device/device.h"
#include "target/dse/dse.h"

/* Sorted by name. */
const PassTable *driver_all_passes(void);

/* Stages of ming compile as pipelines write them: on functions of onnx ops, on functions behind
 * convert-onnx-to-linalg, on the module behind that. */
extern const char driver_passes_to_fold[], driver_passes_on_linalg[], driver_passes_to_stream[];

/* All passes before those that depend on the device, for a pipeline on modules. top: name of the
 * top function, or NULL for the network's. */
void driver_add_front_passes(StrBuf *out, const char *top);

/* What all tools share: the command line by a table of flags.
 * Flags are written as LLVM's tools take them: -name or --name, values after '=' or as the next
 * argument, switches with an optional =true or =false.
 * Tests: lit/tools/command-line.mir */

typedef VEC(const char *) Texts;

typedef enum FlagKind {
    FLAG_SWITCH,        /* target: bool */
    FLAG_INT,           /* target: int64_t */
    FLAG_UINT,          /* of 32 bits; target: int64_t */
    FLAG_TEXT,          /* target: const char * */
    FLAG_OPTIONAL_TEXT, /* --name or --name=text; target: const char *, set to `fallback` */
    FLAG_OPTIONAL_INT,  /* --name or --name=number; target: int64_t, set to that of `fallback` */
    FLAG_CHOICE,        /* one of the texts in `value`, "a|b"; target: const char * */
    FLAG_TEXTS          /* may be repeated, or items separated by commas; target: Texts */
} FlagKind;

typedef struct Flag {
    const char *name; /* without dashes */
    FlagKind kind;
    void *target;
    const char *value; /* the value's word in --help */
    const char *help;  /* one line */
    const char *fallback;
} Flag;

typedef struct Tool {
    const char *name;
    const char *summary; /* one line */
    const char *usage;   /* what follows the name: "[options] [input]" */
    const Flag *flags;
    size_t flag_count;
    /* Flags that are no row, as one per pass; value is NULL without '='. False: not known. */
    bool (*extra)(void *user, Str name, const char *value);
    void (*extra_help)(void *user, StrBuf *out);
    void *user;
} Tool;

typedef enum ArgsResult {
    ARGS_RUN,
    ARGS_DONE, /* --help or --version: printed */
    ARGS_WRONG /* said so on stderr */
} ArgsResult;

/* Fills the flags' targets and collects what is no flag. The texts point into argv,
 * where lists are cut at their commas. */
ArgsResult tool_parse_args(const Tool *tool, int argc, char **argv, Texts *inputs) MUST_CHECK;

/* The same for tools that take one input, called `what` ("file") in messages; *path is that. */
ArgsResult tool_parse_one(const Tool *tool, int argc, char **argv, const char *what,
                          const char **path) MUST_CHECK;

/* "  --name=<value>    help" as the lists of --help have it. */
void tool_help_line(StrBuf *out, const char *name, const char *value, const char *help);

/* Message "tool: text" on stderr; false. */
bool tool_error(const Tool *tool, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Models from files, for tools. Tests: lit/driver/ming-compile.mir, lit/import */

/* What of an ONNX file is read, and how: the flags that tools have for it. */
typedef struct ModelOptions {
    Texts input_shapes, from, to; /* as in ImportOptions */
    struct ImportReport *report;  /* as there; only ONNX files fill it */
} ModelOptions;
void model_options_free(ModelOptions *options);

/* Rows of a tool's flags for a variable `options`. */
#define MODEL_FLAGS(options)                                                                       \
    {"input-shape",                                                                                \
     FLAG_TEXTS,                                                                                   \
     &(options).input_shapes,                                                                      \
     "name:1x3x32x32",                                                                             \
     "Shape of an input that the file leaves open",                                                \
     NULL},                                                                                        \
        {"from", FLAG_TEXTS, &(options).from, "name", "Tensor or node of the file to begin with",  \
         NULL},                                                                                    \
    {                                                                                              \
        "to", FLAG_TEXTS, &(options).to, "name", "Tensor or node of the file to end with", NULL    \
    }

/* The module of an ONNX file's bytes; what the file refers to is looked up beside it. "-" is shown
 * as <stdin>. NULL: diagnosed. */
Op *model_load_onnx(Context *ctx, const char *path, Str bytes, const ModelOptions *options)
    MUST_CHECK;
/* ONNX or IR, by the file's extension (.onnx, .mir, .mlir), else by its contents. The bytes must
 * stay as long as the context gives diagnostics. NULL: diagnosed. */
Op *model_load(Context *ctx, const char *path, Str bytes, const ModelOptions *options) MUST_CHECK;

/* Between the sources of ming check: ming_check.c (command), check_model.c (what compiles),
 * check_costs.c (what it takes), check_words.c, check_print.c and check_json.c (the reports).
 * A layer is a node of an ONNX file, or an onnx op of a module. Every op that is made of it has a
 * location whose line is the layer's number, from 1; so passes and their errors lead back to it.
 * Tests: lit/driver/ming-check*, lit/driver/ming-check.test */

typedef enum LayerStatus {
    LAYER_NOT_CHECKED, /* an error elsewhere hides what would become of it */
    LAYER_UNSUPPORTED,
    LAYER_COMPILES,
    LAYER_FOLDED,  /* computed beforehand, or not needed */
    LAYER_LEFT_OUT /* outside the part that was asked for */
} LayerStatus;

/* Element types seen, as the widths of the narrowest and onnx_lower_widest; 0: none. */
typedef struct Widths {
    uint32_t int_low, int_high, float_low, float_high;
} Widths;

typedef struct CheckLayer {
    Str name, op_type;
    LayerStatus status;
    bool is_alive;      /* there is an op left of it after folding */
    Str reason;         /* why it is unsupported or not checked; empty: nothing says so */
    Str remark;         /* may be empty */
    int64_t parameters; /* elements of its constants; -1: not known */
    int64_t macs;       /* multiply-accumulate operations per frame; -1: not known */
    Widths weights, input, output;
} CheckLayer;

typedef struct Check {
    Context *ctx;
    const Ident *file; /* in which the lines are layers */
    CheckLayer *layers;
    size_t count;
    size_t first_bad; /* the first layer that does not compile, or `count`: behind it no type is
                         what it would be */
    bool is_complete; /* nothing stopped the check */
    Arena arena;
} Check;

/* The layer that a location belongs to, or NULL. */
CheckLayer *check_layer(const Check *check, const Attr *loc);

/* Fills the check, whose context knows all dialects, for a file's bytes. Diagnostics that are about
 * no layer go to the context's handler. */
void check_model(Check *check, const char *path, Str bytes, const ModelOptions *options);
/* Whether ming compile would compile it, given resources enough. */
bool check_compiles(const Check *check);

/* Enters parameters and MACs of the layers, and which are alive, from their folded nodes. */
void check_count(Check *check, Op *module);
/* Enters element types of the layers before the first bad one from their linalg ops. */
void check_widths(Check *check, Op *module);
void check_widths_add(Widths *to, const Widths *more);

/* "compiles"; what would help (empty: nothing is wrong); "i4-i8,f32" ("-": none). */
const char *check_status(const CheckLayer *layer);
Str check_hint(const CheckLayer *layer);
void check_widths_print(const Widths *widths, StrBuf *out);
/* A layer with the sums and ranges of all, without a name. */
CheckLayer check_total(const Check *check);

/* A table for people; an object for programs, docs/check.md tells its keys. */
void check_print_text(const Check *check, StrBuf *out);
void check_print_json(const Check *check, StrBuf *out);

/* --device, --clock, --utilization and the single limits: what a design may be made of.
 * Tests: lit/tools/device*.mir */

#define DEFAULT_DEVICE "kv260"
#define LIMIT_NOT_GIVEN INT64_MIN

/* LIMIT_NOT_GIVEN: the device's. */
typedef struct DeviceOptions {
    const char *device;
    int64_t clock;       /* MHz */
    int64_t utilization; /* percent */
    Resources limits;
} DeviceOptions;

/* clang-format off */
#define DEVICE_OPTIONS_DEFAULTS                                                                   \
    {.device = DEFAULT_DEVICE,                                                                    \
     .clock = LIMIT_NOT_GIVEN,                                                                    \
     .utilization = LIMIT_NOT_GIVEN,                                                              \
     .limits = {LIMIT_NOT_GIVEN, LIMIT_NOT_GIVEN, LIMIT_NOT_GIVEN, LIMIT_NOT_GIVEN,               \
                LIMIT_NOT_GIVEN}}

#define DEVICE_FLAGS(options)                                                                     \
    {"device", FLAG_TEXT, &(options).device, "name",                                              \
     "Device as 'ming devices' lists them, or an .xml file that describes one, default "          \
     DEFAULT_DEVICE, NULL},                                                                       \
    {"clock", FLAG_INT, &(options).clock, "MHz", "Clock, default the device's", NULL},            \
    {"utilization", FLAG_INT, &(options).utilization, "percent",                                  \
     "Share of the device to spend, default what is recommended for it", NULL},                   \
    {"dsp", FLAG_INT, &(options).limits.dsp, "n", "DSP slices to spend, whatever the share",      \
     NULL},                                                                                       \
    {"bram", FLAG_INT, &(options).limits.bram18, "n",                                             \
     "BRAM18 blocks to spend, whatever the share", NULL},                                         \
    {"uram", FLAG_INT, &(options).limits.uram, "n", "URAM blocks to spend, whatever the share",   \
     NULL},                                                                                       \
    {"lut", FLAG_INT, &(options).limits.lut, "n", "LUTs to spend, whatever the share", NULL},     \
    {"ff", FLAG_INT, &(options).limits.ff, "n", "Flip-flops to spend, whatever the share", NULL}
/* clang-format on */

/* A device with what the options make of it. */
typedef struct DeviceTarget {
    Device device;
    Resources budget;
    int64_t clock; /* MHz */
} DeviceTarget;

/* False: said what is wrong. */
bool device_options_check(const Tool *tool, const DeviceOptions *options) MUST_CHECK;
/* False: diagnosed, or said. */
bool device_options_resolve(const Tool *tool, Context *ctx, const DeviceOptions *options,
                            DeviceTarget *out) MUST_CHECK;

/* --objective and what else tells the search for the best design what to look for.
 * Tests: lit/driver/objective.mir */

/* NULL, 0: as the pass does without. */
typedef struct SearchOptions {
    const char *objective, *dump_lp;
    int64_t fps, time_limit, reserved_bram, reserved_lut;
    bool loads_weights; /* by --weights, not a flag of its own */
} SearchOptions;

#define SEARCH_FLAGS(options)                                                                      \
    {"objective",                                                                                  \
     FLAG_CHOICE,                                                                                  \
     &(options).objective,                                                                         \
     "throughput|latency|pipeline-latency|fps",                                                    \
     "What the design is best at, default throughput",                                             \
     NULL},                                                                                        \
        {"fps", FLAG_INT, &(options).fps, "n", "Frames per second, with least resources", NULL},   \
        {"time-limit",                                                                             \
         FLAG_INT,                                                                                 \
         &(options).time_limit,                                                                    \
         "seconds",                                                                                \
         "Search that long; without, the answer does not depend on the machine",                   \
         NULL},                                                                                    \
        {"dump-lp",                                                                                \
         FLAG_TEXT,                                                                                \
         &(options).dump_lp,                                                                       \
         "file.lp|file.mps",                                                                       \
         "Write the search as a 0-1 program, for other solvers",                                   \
         NULL},                                                                                    \
    {                                                                                              \
        "reserve-bram", FLAG_INT, &(options).reserved_bram, "n",                                   \
            "BRAM18 blocks to leave for FIFOs", NULL                                               \
    }

/* False: said what is wrong. */
bool search_options_check(const Tool *tool, const SearchOptions *options) MUST_CHECK;
/* The pass choose-unroll with its options, for a pipeline. */
void search_add_pass(StrBuf *out, const SearchOptions *options, const DeviceTarget *target);
/* A line that says what the pass reached and whether it is the best, from the module's
 * dfg.budget. */
void search_add_result(StrBuf *out, const Op *module);

/* The passes of ming compile: from a loaded model to an emithls design.
 *
 *   before the choice ─▶ choose-unroll … fit-fifos ─▶ after it
 *                        └── again with memory set aside ──┘
 *
 * choose-unroll spends what it may, and the FIFOs that its interval needs may not fit beside it.
 * Then fit-fifos says what is short (emithls.shortage), and the design is chosen again with that
 * set aside, up to three times; of the designs within the budget the best by the objective stays.
 * The pipeline of that one is what --dump-pass-pipeline prints: it makes the same design in one
 * run.
 * Tests: lit/driver/ming-compile-reserve.mir */

typedef struct CompileOptions {
    const char *top, *interface, *weights;
    const char *folding; /* NULL: nothing is pinned */
    SearchOptions search;
    bool dump_pipeline;
    int64_t verify_semantics; /* random inputs per function; 0: none */
} CompileOptions;

/* The whole pipeline as it is tried first. */
void compile_add_pipeline(StrBuf *out, const CompileOptions *options, const DeviceTarget *target);

/* *module is replaced by the design. False: diagnosed. */
bool compile_run(Op **module, const CompileOptions *options, const DeviceTarget *target) MUST_CHECK;

/* The points of ming explore as a chart: shares of the budget over frames per second.
 * Tests: lit/tools/ming-explore.test */

typedef struct ExploreChart {
    const ExplorePoints *points; /* at least one */
    const Cost *limits;
    int64_t clock; /* MHz */
    Str title;
} ExploreChart;

/* Frames per second of a point. */
double chart_fps(const ExplorePoint *point, int64_t clock);
/* An SVG document. */
void chart_print_explore(const ExploreChart *chart, StrBuf *out);

/* Arguments and results of a function with the .npy files that stand for them.
 * Tests: lit/tools/ming-run.mir, lit/tools/ming-run-invalid.mir */

typedef struct PortFile {
    Boundary boundary;
    const char *path; /* NULL: not given */
    Npy npy;
} PortFile;

typedef struct PortFiles {
    const Tool *tool;
    const char *what; /* "input", as messages call one */
    PortFile *items;
    uint32_t count;
    int64_t frames; /* in each array */
} PortFiles;

/* The function of that name, else the first public one with a body. NULL: said so. */
Op *ports_find_function(const Tool *tool, Op *module, const char *wanted) MUST_CHECK;

/* Of the arguments or the results of func. False: diagnosed; ports_free is right anyway. */
bool ports_init(PortFiles *ports, const Tool *tool, const Op *func, const char *what,
                bool is_results) MUST_CHECK;
void ports_free(PortFiles *ports);
/* Files by the command line: "path" goes to the next port without one, "name=path" to the one of
 * that name. False: said so. */
bool ports_assign(PortFiles *ports, const Texts *files) MUST_CHECK;
/* Reads a file for every port. False: said so. */
bool ports_read(PortFiles *ports) MUST_CHECK;
/* One frame of each port; what is given is the caller's, also on failure, which is told. */
bool ports_enter(const PortFiles *ports, int64_t frame, Array **inputs) MUST_CHECK;

/* Quantization after training, for tools: --quantize=int8 --calibrate=x.npy.
 * Tests: lit/driver/quantize.mir, test/e2e/quantize_check.py */

typedef struct QuantizeOptions {
    const char *format; /* NULL: nothing is quantized */
    Texts arrays;
    bool per_tensor, power_of_two;
} QuantizeOptions;
void model_quantize_options_free(QuantizeOptions *options);

/* Rows of a tool's flags for a variable `options`. */
#define QUANTIZE_FLAGS(options)                                                                    \
    {"quantize",                                                                                   \
     FLAG_CHOICE,                                                                                  \
     &(options).format,                                                                            \
     "int8",                                                                                       \
     "Quantize a float network to 8 bits by the ranges that --calibrate shows",                    \
     NULL},                                                                                        \
        {"calibrate",                                                                              \
         FLAG_TEXTS,                                                                               \
         &(options).arrays,                                                                        \
         "[name=]file.npy",                                                                        \
         "Frames of an argument for --quantize, in order unless named",                            \
         NULL},                                                                                    \
        {"quantize-per-tensor",                                                                    \
         FLAG_SWITCH,                                                                              \
         &(options).per_tensor,                                                                    \
         NULL,                                                                                     \
         "With --quantize: one scale per weight, not one per output channel",                      \
         NULL},                                                                                    \
    {                                                                                              \
        "quantize-power-of-two", FLAG_SWITCH, &(options).power_of_two, NULL,                       \
            "With --quantize: only powers of two as scales", NULL                                  \
    }

/* Quantizes a function (NULL: the first public one) of a module as the options say, and prints the
 * error of each layer on stderr. False: said so or diagnosed. */
bool model_quantize(const Tool *tool, const QuantizeOptions *options, Op *module,
                    const char *function) MUST_CHECK;

/* Files that tools need at run time: simulation headers, device descriptions.
 * Tests: test/e2e, lit/driver/ming-compile.mir */

/* Directory of one kind of files: "csim" or "devices". Looks beside the program: where an
 * installation has them, then where a build has them; then in the configured place. */
bool driver_resource_dir(const char *kind, StrBuf *out) MUST_CHECK;

#endif
