/* libming: from quantized neural networks to streaming FPGA accelerators.
 *
 *   ming_context *ctx = ming_context_create();
 *   ming_options *options = ming_options_create(ctx, "compile");
 *   ming_options_set(options, "device", "zcu102");
 *   ming_module *model = ming_load(ctx, "model.onnx", options);
 *   ming_module *design = ming_compile(model, options, "project");
 *   char *report = ming_report(design);
 *   char *page = ming_report_page(design, NULL, "project/report.html");
 *
 * Errors. What is wrong with a model or a request is told to the context's handler as diagnostics,
 * and the function returns NULL or false. Nothing is printed, and no function ends the process, but
 * when memory runs out or a broken invariant of the library shows. A module, array or result that is
 * NULL is one that failed before, which was told then: functions give NULL, false or 0 for it.
 *
 * Ownership. Each ming_…_create, and each function that gives a handle or a char *, gives it to the
 * caller, who gives it back with the destroy function of its type, texts with ming_free. All handles
 * of a context must be destroyed before it. What is `const` belongs to the handle that it was asked
 * of. Every destroy function takes NULL. Arguments are copied where they are needed for longer.
 *
 * Threads. A context and what was made with it serve one thread at a time; any number of contexts
 * may be used at once. The locale of the caller does not matter.
 *
 * Stability. Functions stay as they are within one soname; new ones may come. */
#ifndef MING_MING_H
#define MING_MING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MING_API __attribute__((visibility("default")))
#else
#define MING_API
#endif

typedef struct ming_context ming_context;       /* owns all that is shared by its modules */
typedef struct ming_diagnostic ming_diagnostic; /* lives during the call of the handler */
typedef struct ming_options ming_options;       /* of one command, by the names of its options */
typedef struct ming_module ming_module;         /* a model, or the design that was made of it */
typedef struct ming_array ming_array;           /* elements in row-major order */
typedef struct ming_result ming_result;         /* of a run or simulation */

/* "0.1.0" */
MING_API const char *ming_version(void);
/* Gives back a text. */
MING_API void ming_free(char *text);

/* Contexts and diagnostics. */

typedef enum ming_severity {
    MING_ERROR = 0,
    MING_WARNING = 1,
    MING_REMARK = 2,
    MING_NOTE = 3
} ming_severity;

/* Called at once, in the thread that called the library; it must not call functions that take the
 * context or a handle made with it. */
typedef void ming_handler(void *user, const ming_diagnostic *diagnostic);

MING_API ming_context *ming_context_create(void);
MING_API void ming_context_destroy(ming_context *ctx);
/* handler: NULL, as at the beginning: nobody is told. */
MING_API void ming_context_set_handler(ming_context *ctx, ming_handler *handler, void *user);

MING_API ming_severity ming_diagnostic_severity(const ming_diagnostic *diagnostic);
/* One or more sentences, without place and severity. */
MING_API const char *ming_diagnostic_message(const ming_diagnostic *diagnostic);
/* The place: NULL or 0 where it is not known. Lines and columns count from 1, columns in bytes. */
MING_API const char *ming_diagnostic_file(const ming_diagnostic *diagnostic);
MING_API uint32_t ming_diagnostic_line(const ming_diagnostic *diagnostic);
MING_API uint32_t ming_diagnostic_column(const ming_diagnostic *diagnostic);
MING_API size_t ming_diagnostic_note_count(const ming_diagnostic *diagnostic);
/* NULL: there are not so many. */
MING_API const ming_diagnostic *ming_diagnostic_note(const ming_diagnostic *diagnostic,
                                                     size_t index);
/* All of it with its notes as the command line shows it, the source's line and a caret included. */
MING_API const char *ming_diagnostic_text(const ming_diagnostic *diagnostic);

/* Options. A command is "compile", "run", "sim", "check" or "report"; its options have the names and the
 * values that `ming COMMAND --help` lists, but for those of what is printed or written, and of
 * inputs and outputs. Options of models (from, to, input-shape, …) are those of ming_load, too. */

/* NULL: diagnosed, there is no such command. */
MING_API ming_options *ming_options_create(ming_context *ctx, const char *command);
MING_API void ming_options_destroy(ming_options *options);
/* name: with or without the dashes. value: NULL where the command line needs none. A list grows
 * with each call. False: diagnosed. What does not go together is told by the function that takes
 * the options. */
MING_API bool ming_options_set(ming_options *options, const char *name, const char *value);

/* Modules. Where options may be NULL, the defaults are meant. NULL and false: diagnosed. */

/* A file: ONNX, or MLIR text (.mir, .mlir). */
MING_API ming_module *ming_load(ming_context *ctx, const char *path, const ming_options *options);
/* The bytes of an ONNX file. path: where it would be; what it refers to is looked up beside it. */
MING_API ming_module *ming_import(ming_context *ctx, const void *bytes, size_t size,
                                  const char *path, const ming_options *options);
/* MLIR text. name: as diagnostics call it. */
MING_API ming_module *ming_parse(ming_context *ctx, const char *text, size_t size,
                                 const char *name);
/* The design of a folder that ming_compile or `ming compile` has written. */
MING_API ming_module *ming_load_design(ming_context *ctx, const char *folder);
MING_API ming_module *ming_module_clone(const ming_module *module);
MING_API void ming_module_destroy(ming_module *module);

/* Runs passes, "builtin.module(canonicalize,cse)", each of which is verified. False: diagnosed, and
 * the module is what the failing pass left. */
MING_API bool ming_run_passes(ming_module *module, const char *pipeline);
/* The module as MLIR text. generic: without the ops' own syntax. size: NULL, or gets the length. */
MING_API char *ming_print(const ming_module *module, bool generic, size_t *size);
/* Inputs and outputs of a function (NULL: the first public one) as JSON:
 * {"function", "inputs": [{"name", "shape", "dtype"}], "outputs": […]}. A dimension that is not
 * known is -1; dtype is that of the arrays that ming_run takes and gives; "float32" may also be
 * float64 or float16. */
MING_API char *ming_ports(const ming_module *module, const char *function);
/* What compiles, and why something does not: the JSON of `ming check --json`. */
MING_API char *ming_check(ming_context *ctx, const char *path, const ming_options *options);

/* Designs. */

/* Compiles a model, which stays as it is, and writes the project to the folder (NULL: it is not
 * written), byte for byte as `ming compile` does. options: of "compile". */
MING_API ming_module *ming_compile(const ming_module *model, const ming_options *options,
                                   const char *folder);
/* The design's report.json. NULL: diagnosed, the module is no design. */
MING_API char *ming_report(const ming_module *design);
/* A page about the design, of one HTML file that needs nothing else: what `ming report` writes, byte
 * for byte. path: where it is written, or NULL. options: of "report", or NULL. NULL: diagnosed. */
MING_API char *ming_report_page(const ming_module *design, const ming_options *options,
                                const char *path);

/* Arrays. kind and item: 'b' 1, 'i' or 'u' 1 to 8, 'f' 2 to 8 bytes; little-endian. */

/* data: as many elements as the shape says; NULL: zeros. NULL: no such element, or too many. */
MING_API ming_array *ming_array_create(char kind, uint32_t item, const int64_t *shape,
                                       uint32_t rank, const void *data);
MING_API void ming_array_destroy(ming_array *array);
MING_API char ming_array_kind(const ming_array *array);
MING_API uint32_t ming_array_item(const ming_array *array);
MING_API uint32_t ming_array_rank(const ming_array *array);
MING_API const int64_t *ming_array_shape(const ming_array *array);
MING_API const void *ming_array_data(const ming_array *array);
MING_API size_t ming_array_size(const ming_array *array); /* of the data, in bytes */

/* Execution. An array per input, in order; each holds one frame or several in a row. */

/* The reference interpreter on a model. options: of "run", or NULL. */
MING_API ming_result *ming_run(const ming_module *model, const ming_options *options,
                               const ming_array *const *inputs, size_t count);
/* The cycle-accurate simulation of a design. Without inputs only time is simulated. options: of
 * "sim", or NULL. */
MING_API ming_result *ming_simulate(const ming_module *design, const ming_options *options,
                                    const ming_array *const *inputs, size_t count);
MING_API void ming_result_destroy(ming_result *result);
/* Outputs, with their names ("": it has none). */
MING_API size_t ming_result_count(const ming_result *result);
MING_API const ming_array *ming_result_array(const ming_result *result, size_t index);
MING_API const char *ming_result_name(const ming_result *result, size_t index);
/* Of a simulation, as `ming sim --json` writes it; NULL: of a run. */
MING_API const char *ming_result_report(const ming_result *result);

#ifdef __cplusplus
}
#endif

#endif
