/* Between the sources of tools/: the command line, the commands of ming, the parts of ming-opt. */
#ifndef MING_TOOLS_INTERNAL_H
#define MING_TOOLS_INTERNAL_H

#include <pthread.h>

#include "driver/driver.h"
#include "ir/asm/print/print.h"
#include "ir/pass/pass.h"
#include "ir/support/support.h"
#include "options/options.h"

/* The command line of all tools, read by a table of flags.
 * Flags are written as LLVM's tools take them: -name or --name, values after '=' or as the next
 * argument, switches with an optional =true or =false.
 * Tests: lit/tools/command-line.mir */

/* A line about what a command is doing, for work of more than a second, where standard error is a
 * terminal; not with TERM=dumb or CI=… in the environment. All zero: none is shown.
 * Tests: test/e2e/status_check.py */
enum { PROGRESS_WIDTH = 79 };
typedef struct Progress {
    bool is_active, is_over;
    char doing[PROGRESS_WIDTH + 1], line[PROGRESS_WIDTH + 1]; /* what is done; what is shown */
    int64_t started, quiet_until; /* ms; nothing is shown before quiet_until */
    size_t shown;                 /* characters of the line that are on the screen */
    Context *ctx;
    pthread_t thread;
    pthread_mutex_t mutex; /* of what both threads use */
    pthread_cond_t stopping;
} Progress;

/* Takes over the context's diagnostics until progress_stop, which gives back the default handler.
 * The Progress must not move meanwhile. */
void progress_start(Progress *progress, Context *ctx, const char *doing);
/* From now on that is done. NULL will do, here and below. */
void progress_set(Progress *progress, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Makes room for a message on standard error. */
void progress_erase(Progress *progress);
/* Erases the line for good; nothing happens if none was started. */
void progress_stop(Progress *progress);
/* For the driver's options; the Progress must live as long. */
DriverProgress progress_of_driver(Progress *progress);

typedef struct Tool {
    const char *name;
    Progress *progress;  /* or NULL */
    const char *summary; /* one line */
    const char *usage;   /* what follows the name: "[options] [input]" */
    const Flag *flags;
    size_t flag_count;
    /* Flags that are no row, as one per pass; value is NULL without '='. False: not known. */
    bool (*extra)(void *user, Str name, const char *value);
    void (*extra_help)(void *user, StrBuf *out);
    void (*extra_names)(Suggestion *near); /* tries those flags' names; or NULL */
    void (*extra_json)(JsonWriter *out);   /* members of --dump-options about them; or NULL */
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

/* Says that one input is needed, and how many there were. Returns false. */
bool tool_one_input_error(const Tool *tool, const char *what, size_t count);

/* "  --name=<value>    help" as the lists of --help have it, in lines of 100 characters at most. */
void tool_help_line(StrBuf *out, const Flag *flag);
/* The same for what is written otherwise than flags: `usage` is all that stands before the help. */
void tool_help_text(StrBuf *out, const char *usage, const char *help);

/* Message "tool: error: text" on stderr; false. A text may begin with "error: " itself. */
bool tool_error(const Tool *tool, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Writes a file, or for "-" standard output behind what was printed. False: said why, or standard output
 * takes no more, which is said in the end. */
bool tool_write(const Tool *tool, const char *path, Str text) MUST_CHECK;

/* An exit status of 0 and a line with "error:" on stderr exclude each other, in every tool.
 * Tests: lit/tools/standard-output.test, test/e2e/status_check.py */

/* At the start: a closed standard file is taken by what can be neither read nor written, so that no
 * other file gets its number. */
void tool_open_standard_files(void);
/* At the start: a signal that ends the process removes its temporary files before (Ctrl-C, SIGTERM, a
 * closed pipe or terminal); the exit status is that of the signal. Signals that are ignored stay so,
 * and a file that exceeds the limit of the process is an error of writing. */
void tool_catch_signals(void);
/* Ends this process by the signal that has ended its child, unless that was a crash. */
void tool_pass_signal(int number);
/* At the end: the exit status, which is that of failure also if standard output did not take all.
 * Says so. */
int tool_exit_status(const Tool *tool, bool ok) MUST_CHECK;

/* Whether a project can be written to a directory. False: said why. */
bool tool_check_output(const Tool *tool, const char *dir) MUST_CHECK;

/* What the driver reports, as "tool: error: text" with what the user can do about it. The tool must
 * live as long. */
DriverErrors tool_errors(const Tool *tool);

/* Whether the given options go together. False: the error is printed. */
bool tool_check_device(const Tool *tool, const DeviceOptions *options) MUST_CHECK;

/* driver_quantize, with its report on stderr. False: said so or diagnosed. */
bool tool_quantize(const Tool *tool, const QuantizeOptions *options, Op *module,
                   const char *function) MUST_CHECK;

/* Surviving crashes: the work goes on in a child process while the parent waits, so that a signal
 * ends only the child and the parent can still tell what it was doing.
 * Tests: test/unit/tools/crash_guard_test.c */

typedef struct CrashGuard {
    int notes;   /* in the child: where they are written; -1: no guard */
    StrBuf what; /* in the parent: the child's last note */
    StrBuf text;
} CrashGuard;

/* Splits the process. True: this is the child (or splitting failed), which goes on. False: this
 * is the parent and a crash has ended the child, whose last note is in the guard. If the child ends
 * otherwise, by itself or because somebody stopped it, the parent ends too, and in the same way. */
bool crash_guard_enter(CrashGuard *guard);
/* In the child: sets the note that the parent reads if the child crashes from now on. */
void crash_guard_note(CrashGuard *guard, Str what, Str text);
/* In the child: from now on a crash is one. */
void crash_guard_leave(CrashGuard *guard);
void crash_guard_free(CrashGuard *guard);

/* --emit-dialect-docs: reference pages in Markdown, one per dialect and one of all passes,
 * from their tables.
 * Tests: lit/tools/dialect-docs.mir */

/* Writes DIR/<dialect>.md for every registered dialect and DIR/passes.md, making the directory.
 * False: *reason says why, with the path in `path`. */
bool dialect_docs_write(Context *ctx, const PassTable *passes, const char *dir, StrBuf *path,
                        const char **reason) MUST_CHECK;

/* --verify-diagnostics: compares what is emitted with the expectations in the text,
 *   // expected-error @+1 {{part of the message}}
 *   // expected-warning-re @above {{text with {{[0-9]+}} in it}}
 * Kinds: error, warning, remark, note. Places: the line itself, @+N, @-N, @above and @below (the
 * nearest line without an expectation of its own kind of place), @unknown.
 * Tests: lit/tools/verify-diagnostics.mir */

typedef struct ExpectedDiags ExpectedDiags;

/* Reads the expectations and takes over the context's diagnostics. */
ExpectedDiags *expected_diags_begin(Context *ctx, Str text, Str buffer_name);
/* Gives the default handler back, reports what did not come, frees. True: all as expected. */
bool expected_diags_end(ExpectedDiags *diags) MUST_CHECK;

/* Prints what numbers a model's tensors hold over the frames of files, as driver_ports_assign takes
 * them. False: said why. */
bool tool_profile(const Tool *tool, const char *path, Str bytes, const ModelOptions *model,
                  const Texts *files, bool as_json) MUST_CHECK;

/* What outputs are compared with, by ming run and ming sim. */
typedef struct OutputChecks {
    Texts expected;        /* files, as driver_ports_assign takes them */
    const char *labels;    /* of the first output's scores; or NULL */
    const char *tolerance; /* of what is expected; NULL: equal */
} OutputChecks;
/* What is told to be different, by ming compare and with --expected. */
#define TOLERANCE_FLAG(text)                                                                       \
    {                                                                                              \
        "tolerance", FLAG_TEXT, (text), "abs[,rel]",                                               \
            "Elements may be apart by abs + rel x |the second one, or the expected|, default 0",   \
            NULL                                                                                   \
    }
/* The options of an OutputChecks, in a table of flags. */
#define CHECK_FLAGS(checks)                                                                        \
    {"expected",                                                                                   \
     FLAG_TEXTS,                                                                                   \
     &(checks)->expected,                                                                          \
     "[name=]file.npy",                                                                            \
     "What an output should be; prints how it differs, and exits with 1 if it does",               \
     NULL},                                                                                        \
        TOLERANCE_FLAG(&(checks)->tolerance),                                                      \
    {                                                                                              \
        "labels", FLAG_TEXT, &(checks)->labels, "file.npy",                                        \
            "Right index for each frame; prints how often the first output is greatest there, "    \
            "and among the five greatest",                                                         \
            NULL                                                                                   \
    }
/* Before anything is run. False: diagnosed, --tolerance is none, or there is nothing it is for. */
bool tool_check_tolerance(const Tool *tool, const OutputChecks *checks) MUST_CHECK;
/* Prints how outputs differ from what is expected, and how often labels are hit. UNKNOWN: it is said
 * why they cannot be compared. */
typedef enum OutputVerdict { OUTPUTS_RIGHT, OUTPUTS_WRONG, OUTPUTS_UNKNOWN } OutputVerdict;
OutputVerdict tool_check_outputs(const Tool *tool, const PortFiles *results, int64_t frames,
                                 const OutputChecks *checks) MUST_CHECK;

/* Of commands that compile for both: whether the last --architecture is the overlay. */
#define TOOL_ARCHITECTURES "dataflow|overlay"
#define TOOL_COMPILE_ARCHITECTURES TOOL_ARCHITECTURES "|auto"
bool tool_wants_overlay(int argc, char **argv);
/* What `ming check` does then. */
int tool_check_overlay(int argc, char **argv);
/* Of what may run on an overlay: 16 bits are F2N2's fixed point, since sums of products of 16 bits times
 * general factors fit no accumulator. */
void tool_settle_quantize(QuantizeOptions *options);
/* --batch, of which the default is one image. */
void tool_add_batch(CompileOptions *compile, Flags *flags);
/* Takes --overlay (NULL: none), whose sizes stay in `sizes`, and checks --head and --batch. False:
 * diagnosed. */
bool tool_take_overlay(const Tool *tool, const char *text, CompileOptions *compile, StrBuf *sizes)
    MUST_CHECK;

/* Cycles of the program of a module, with the options' external memory, without computing anything.
 * The caller frees the result in either case. False: diagnosed. */
struct EngineOptions;
struct EngineResult;
bool tool_count_cycles(const Op *lowered, const Op *program, const struct EngineOptions *options,
                       struct EngineResult *result) MUST_CHECK;

/* ming overlay --search: the options, and the engine that is found for the models. */
typedef struct OverlaySearchFlags {
    Texts models;
    const char *objective, *dies, *head;
    Texts mix; /* a weight for each model */
    int64_t rate;
} OverlaySearchFlags;
struct OverlayRequest;
void tool_add_overlay_search(OverlaySearchFlags *search, Flags *flags);
/* Searches with what the request says already (context, target, pinned sizes), prints what it finds.
 * NULL: said why. */
const Attr *tool_search_overlay(const Tool *tool, const OverlaySearchFlags *flags,
                                struct OverlayRequest *request) MUST_CHECK;

/* The model's program on the engine that was found, which the caller erases (NULL: not wanted), and its
 * cycles in the simulator, in which borders of dies have no registers. False: diagnosed. */
struct OverlayFound;
struct OverlayModel;
bool tool_program_for(const struct OverlayFound *found, const struct OverlayModel *model, Op **out,
                      uint64_t *cycles) MUST_CHECK;
/* What engines for a device (NULL: none is known) are written with; clock: LIMIT_NOT_GIVEN, the
 * default. Writes one, with copies of installed files. False: said why. */
struct OverlayHlsOptions;
struct OverlayHlsOptions tool_engine_options(const DeviceTarget *target, int64_t clock);
bool tool_write_engine(const Tool *tool, Context *ctx, const Attr *overlay,
                       const struct OverlayHlsOptions *wanted) MUST_CHECK;

/* ming compile --architecture=auto: both architectures for a loaded network, and which is taken. */
typedef struct AutoFlags {
    const char *overlay, *choice; /* sizes that stay; file for the choice as JSON; or NULL */
} AutoFlags;
void tool_add_auto(AutoFlags *options, Flags *flags);
/* False: said why, options do not go with the architecture (auto or not), or the mode. */
bool tool_check_auto(const Tool *tool, const AutoFlags *options, bool is_auto, bool has_one_way,
                     bool chooses_mode) MUST_CHECK;
/* Compiles *module, which becomes the accelerator's design if that is chosen, and prints what was
 * chosen. The overlay's engine and program are written then; *is_overlay tells. False: said why. */
bool tool_compile_auto(const Tool *tool, const AutoFlags *options, const CompileFlags *flags,
                       const DeviceTarget *target, const char *output_dir, Op **module,
                       bool *is_overlay) MUST_CHECK;

/* The commands of ming, each with its own argv[0]. They return an exit status.
 * Tests: lit/driver/ming-*, lit/tools/ming-*, lit/tools/devices.mir */
int command_check(int argc, char **argv);
int command_compare(int argc, char **argv);
int command_compile(int argc, char **argv);
int command_devices(int argc, char **argv);
int command_engine(int argc, char **argv);
int command_explore(int argc, char **argv);
int command_overlay(int argc, char **argv);
int command_partition(int argc, char **argv);
int command_report(int argc, char **argv);
int command_roofline(int argc, char **argv);
int command_run(int argc, char **argv);
int command_sim(int argc, char **argv);
int command_sweep(int argc, char **argv);

/* Watches passes run: --mlir-print-ir-*, --mlir-timing, --mlir-pass-statistics. Reports go to
 * stderr, dumps too unless a folder is given.
 * Tests: lit/tools/print-ir.mir, lit/tools/timing.mir, lit/tools/reports.mir */

typedef struct PassWatchOptions {
    Texts before, after; /* names of passes */
    bool before_all, after_all, after_change, after_failure, module_scope;
    const char *tree_dir; /* folder for dumps, mirroring the IR; NULL: stderr */
    bool timing, statistics;
    const char *timing_display;     /* "tree" (in order of runs) or "list" (sorted by time) */
    const char *timing_format;      /* "text" or "json" */
    const char *statistics_display; /* "pipeline" or "list" (merged, sorted by name) */
    const PrintOptions *print;
} PassWatchOptions;

typedef struct PassWatch PassWatch;

/* Options must live as long as the watch. */
PassWatch *pass_watch_create(const PassWatchOptions *options);
void pass_watch_free(PassWatch *watch);
const PassHooks *pass_watch_hooks(PassWatch *watch);

/* Time that is no pass's: call begin, then end. */
void pass_watch_begin(PassWatch *watch, const char *phase);
void pass_watch_end(PassWatch *watch);

/* The reports, if they were asked for: statistics after the run, times at the very end. */
void pass_watch_statistics(const PassWatch *watch, const Pipeline *pipeline);
void pass_watch_times(PassWatch *watch);

/* "'func.func' operation: @f" */
void pass_watch_describe_op(StrBuf *out, const Op *op);

/* The options of ming-opt.
 * Tests: lit/tools/command-line.mir */

typedef struct PassFlag {
    const PassDef *def;
    const char *options; /* or NULL */
} PassFlag;

typedef struct OptOptions {
    bool allow_unregistered, no_implicit_module;
    bool verify_each, verify_diagnostics, verify_roundtrip;
    int64_t verify_semantics; /* random inputs per function; 0: none */
    bool dump_pipeline, show_dialects, list_passes;
    bool disable_threading;   /* there are no threads; reproducers repeat it */
    const char *split_marker; /* NULL or empty: one chunk */
    const char *output_marker;
    const char *output, *docs_dir, *pipeline;
    const char *crash_reproducer; /* file for a failed pipeline's input; or NULL */
    bool local_reproducer;
    const char *written_reproducer; /* file for the pipeline and what it made; or NULL */
    bool run_reproducer;
    PrintOptions print;
    PassWatchOptions watch;
    VEC(PassFlag) passes; /* one per flag, in order */
} OptOptions;

/* Reads the command line into `options`, whose texts point into it, and collects the inputs. */
ArgsResult opt_options_parse(OptOptions *options, int argc, char **argv, Texts *inputs) MUST_CHECK;
void opt_options_free(OptOptions *options);

/* Files that run a failed pipeline again: the module as it was before, with the pipeline in its
 * external resources under mlir_reproducer, as upstream writes them. A local reproducer holds the
 * failing pass alone and the module as that pass found it. Crashes count as failures.
 * Tests: lit/tools/reproducer.mir, test/unit/tools/crash_guard_test.c */

typedef struct ReproducerOptions {
    const char *path; /* NULL: no reproducers */
    bool is_local;
    bool verify_each, disable_threading; /* what the file says about the run */
} ReproducerOptions;

enum { REPRODUCER_MAX_HOOKS = 4 };
/* Runs the pipeline with the hooks (NULL-terminated, so many at most); if a pass fails or crashes,
 * writes the file and says so. */
bool reproducer_run(const ReproducerOptions *options, Pipeline *pipeline, Op *op,
                    const PassHooks *const *hooks) MUST_CHECK;
/* Writes the file whatever happened, for the module as it is; as upstream's, it runs the passes
 * on the ops inside. */
bool reproducer_write(const char *path, const Pipeline *pipeline, Op *op) MUST_CHECK;
/* Puts the pipeline that came with the input, if any, in the place of *pipeline, and forgets it;
 * sets *verify_each if the input does. False: diagnosed, *pipeline may be NULL. */
bool reproducer_apply(Context *ctx, Pipeline **pipeline, const PassTable *table, bool *verify_each)
    MUST_CHECK;

/* Cutting inputs at marker lines (--split-input-file).
 * Tests: lit/tools/split-input-file.mir, lit/tools/split-marker.mir,
 * lit/tools/split-near-miss.mir */

typedef struct InputPiece {
    Str text;
    uint32_t line; /* of its start in the input */
} InputPiece;
typedef VEC(InputPiece) InputPieces;

/* Appends the pieces between markers. What looks like a marker but for its last two characters is
 * warned about on stderr, as upstream does; `name` is the input's. */
void split_input(InputPieces *out, Str text, Str marker, const char *name);

/* A tree of timers and its report, laid out as upstream's --mlir-timing.
 * Tests: lit/tools/timing.mir */

typedef struct Timing Timing;

typedef struct TimingLayout {
    bool as_list; /* times by name, longest first, instead of the tree */
    bool as_json;
} TimingLayout;

/* The clock runs from here to timing_print. */
Timing *timing_create(void);
void timing_free(Timing *timing);
/* Starts a timer inside the one that runs or, if `is_outer`, inside none. Those with the same id
 * and name in the same place add up. The name is copied. */
void timing_enter(Timing *timing, const void *id, const char *name, bool is_hidden, bool is_outer);
void timing_leave(Timing *timing);
/* To standard error. */
void timing_print(Timing *timing, const TimingLayout *layout);

#endif
