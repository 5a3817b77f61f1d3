/* Between the sources of libming/, whose public header is include/ming/ming.h. Every function of the
 * interface that can diagnose runs between lib_enter and lib_leave. */
#ifndef MING_LIBMING_INTERNAL_H
#define MING_LIBMING_INTERNAL_H

#include <locale.h>
#include <ming/ming.h>

#include "driver/simulate/simulate.h"
#include "options/options.h"
#include "report/report.h"

struct ming_context {
    Context *ctx;
    locale_t locale; /* "C": numbers in files have points */
    locale_t outer;  /* the caller's, while a function of the interface runs */
    ming_handler *handler;
    void *user;
    VEC(StrBuf) sources; /* what diagnostics may show */
};

struct ming_diagnostic {
    ming_severity severity;
    StrBuf message, file, text;
    uint32_t line, column;
    const ming_diagnostic *notes;
    size_t note_count;
};

struct ming_module {
    ming_context *owner;
    Op *op;
    char *report;  /* of a design; NULL: of a model */
    char *folding; /* folding.json of a design; NULL: it has none */
};

struct ming_array {
    Npy npy;
};

typedef enum Command {
    COMMAND_COMPILE,
    COMMAND_RUN,
    COMMAND_SIM,
    COMMAND_CHECK,
    COMMAND_REPORT,
    COMMANDS
} Command;

typedef struct RunSettings {
    const char *function, *pipeline;
    int64_t max_steps;
} RunSettings;

struct ming_options {
    ming_context *owner;
    Command command;
    Flags flags;
    VEC(char *) texts;    /* that the targets point into */
    CompileFlags compile; /* model and quantization are of other commands, too */
    RunSettings run;
    SimulationSettings sim;
    const char *layout; /* of a page; NULL: the default */
};

void lib_enter(ming_context *owner);
void lib_leave(ming_context *owner);
/* Tells the handler; false. */
bool lib_error(ming_context *owner, const char *fmt, ...) PRINTF_LIKE(2, 3);
void lib_remark(ming_context *owner, Str text);
/* What the driver reports goes to the handler. */
DriverErrors lib_errors(ming_context *owner);
/* A copy of a text that ming_free gives back. */
char *lib_text(Str text);

/* Whether they are of that command, or NULL. False: told. */
bool lib_check_command(ming_context *owner, const ming_options *options, Command command)
    MUST_CHECK;
/* Whether they have options of models, or are NULL. False: told. */
bool lib_check_model_options(ming_context *owner, const ming_options *options) MUST_CHECK;

/* The handle of a module, which it owns from now on; NULL for NULL. */
ming_module *lib_module(ming_context *owner, Op *op);

/* Puts arrays into ports in place of files. False: told. */
bool lib_give_arrays(ming_context *owner, PortFiles *ports, const ming_array *const *arrays,
                     size_t count) MUST_CHECK;
/* A result of the ports' arrays, which are moved into it. */
ming_result *lib_result(PortFiles *ports);
void lib_result_set_report(ming_result *result, Str report);

#endif
