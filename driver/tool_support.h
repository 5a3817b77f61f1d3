/* What all tools share: the command line by a table of flags.
 * Flags are written as LLVM's tools take them: -name or --name, values after '=' or as the next
 * argument, switches with an optional =true or =false.
 * Tests: lit/tools/command-line.mir */
#ifndef MING_TOOLS_TOOL_SUPPORT_H
#define MING_TOOLS_TOOL_SUPPORT_H

#include "ir/support/support.h"

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

#endif
