/* Command line of the tools.
 * Tests: lit/tools/command-line.mir */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit.h"
#include "tools/internal.h"

bool tool_error(const Tool *tool, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    StrBuf text = {0}, shown = {0};
    strbuf_printf(&text, "%s: %s", tool->name,
                  str_starts_with(str_from(fmt), "error: ") ? "" : "error: ");
    strbuf_vprintf(&text, fmt, args);
    va_end(args);
    progress_erase(tool->progress);
    strbuf_add_shown(&shown, strbuf_str(&text));
    fprintf(stderr, "%s\n", shown.data);
    strbuf_free(&text);
    strbuf_free(&shown);
    return false;
}

bool tool_write(const Tool *tool, const char *path, Str text)
{
    const char *reason = NULL;
    if (strcmp(path, "-") == 0)
        return text.len == 0 || fwrite(text.data, 1, text.len, stdout) == text.len;
    return file_write(path, text, &reason) ||
           tool_error(tool, "cannot write '%s': %s", path, reason);
}

void tool_open_standard_files(void)
{
    enum { BUFFER = 1 << 16 }; /* any help fits, so that only tool_exit_status writes it */
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    setvbuf(stdout, NULL, _IOFBF, BUFFER);
    for (int file = 0; file < (int)COUNT_OF(modes); file++)
        if (fcntl(file, F_GETFD) < 0 && open("/dev/null", modes[file]) != file) return;
}

int tool_exit_status(const Tool *tool, bool ok)
{
    int earlier = ferror(stdout) && errno ? errno : EIO; /* if nothing else has failed since */
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return ok ? EXIT_SUCCESS : EXIT_FAILURE;
    int reason = errno ? errno : earlier;
    if (ok) tool_error(tool, "cannot write '-': %s", strerror(reason));
    return EXIT_FAILURE;
}

enum { HELP_COLUMN = 40, HELP_WIDTH = 100 };

static void start_line(StrBuf *out)
{
    strbuf_add_char(out, '\n');
    for (int i = 0; i < HELP_COLUMN; i++) strbuf_add_char(out, ' ');
}

/* Words from HELP_COLUMN on, in lines of HELP_WIDTH characters; a text has no end of line. */
static void add_wrapped(StrBuf *out, const char *text)
{
    size_t column = HELP_COLUMN;
    while (*text) {
        size_t word = strcspn(text, " ");
        if (column > HELP_COLUMN && column + 1 + word > HELP_WIDTH) {
            start_line(out);
            column = HELP_COLUMN;
        }
        if (column > HELP_COLUMN) strbuf_add_char(out, ' ');
        column += word + (column > HELP_COLUMN);
        strbuf_add_str(out, (Str){text, word});
        text += word + strspn(text + word, " ");
    }
    strbuf_add_char(out, '\n');
}

void tool_help_text(StrBuf *out, const char *usage, const char *help)
{
    size_t width = strlen(usage);
    strbuf_add_c(out, usage);
    if (width + 2 > HELP_COLUMN) {
        start_line(out);
        width = HELP_COLUMN;
    }
    for (; width < HELP_COLUMN; width++) strbuf_add_char(out, ' ');
    add_wrapped(out, help);
}

void tool_help_line(StrBuf *out, const Flag *flag)
{
    bool is_optional = flag->kind == FLAG_OPTIONAL_TEXT || flag->kind == FLAG_OPTIONAL_INT;
    bool is_letter = strlen(flag->name) == 1;
    StrBuf usage = {0};
    strbuf_printf(&usage, "  %s%s", is_letter ? "-" : "--", flag->name);
    if (flag->value)
        strbuf_printf(&usage, is_letter ? " <%s>" : is_optional ? "[=<%s>]" : "=<%s>", flag->value);
    tool_help_text(out, usage.data, flag->help);
    strbuf_free(&usage);
}

static void print_help(const Tool *tool)
{
    StrBuf out = {0};
    strbuf_printf(&out, "%s\n\nusage: %s %s\n\noptions:\n", tool->summary, tool->name, tool->usage);
    for (size_t i = 0; i < tool->flag_count; i++) tool_help_line(&out, &tool->flags[i]);
    tool_help_line(&out, &(Flag){.name = "help", .help = "Print this and exit"});
    tool_help_line(&out, &(Flag){.name = "version", .help = "Print the version and exit"});
    if (tool->extra_help) tool->extra_help(tool->user, &out);
    fwrite(out.data, 1, out.len, stdout);
    strbuf_free(&out);
}

static void dump_flag(JsonWriter *json, const Flag *flag)
{
    static const char *const kinds[] = {
        [FLAG_SWITCH] = "switch",
        [FLAG_INT] = "int",
        [FLAG_UINT] = "int",
        [FLAG_TEXT] = "text",
        [FLAG_OPTIONAL_TEXT] = "optional text",
        [FLAG_OPTIONAL_INT] = "optional int",
        [FLAG_CHOICE] = "choice",
        [FLAG_TEXTS] = "texts",
    };
    json_begin_object(json);
    json_member_string(json, "name", str_from(flag->name));
    json_member_string(json, "kind", str_from(kinds[flag->kind]));
    json_member_string(json, "value", str_from(flag->value ? flag->value : ""));
    json_member_string(json, "help", str_from(flag->help));
    json_end_object(json);
    json_write_line(json, 0);
}

/* --dump-options, which scripts/tool_pages.py makes manual pages and completions of. */
static void dump_options(const Tool *tool)
{
    StrBuf out = {0};
    JsonWriter json = {.out = &out};
    json_begin_object(&json);
    json_member_string(&json, "name", str_from(tool->name));
    json_member_string(&json, "summary", str_from(tool->summary));
    json_member_string(&json, "usage", str_from(tool->usage));
    json_member_array(&json, "options");
    for (size_t i = 0; i < tool->flag_count; i++) dump_flag(&json, &tool->flags[i]);
    dump_flag(&json, &(Flag){.name = "help", .help = "Print this and exit"});
    dump_flag(&json, &(Flag){.name = "version", .help = "Print the version and exit"});
    json_end_array(&json);
    if (tool->extra_json) tool->extra_json(&json);
    json_end_object(&json);
    strbuf_add_char(&out, '\n');
    fwrite(out.data, 1, out.len, stdout);
    strbuf_free(&out);
}

/* As LLVM's tools word it. */
static bool set_flag(const Tool *tool, const Flag *flag, char *value)
{
    StrBuf why = {0};
    bool ok = flag_set(flag, value, &why) ||
              tool_error(tool, "for the %s%s option: %s", strlen(flag->name) == 1 ? "-" : "--",
                         flag->name, why.data);
    strbuf_free(&why);
    return ok;
}

/* As LLVM's tools word it, but a flag is suggested only if it is near. */
static bool unknown_flag(const Tool *tool, const char *arg, Str name)
{
    if (str_eq_c(name, "help") || str_eq_c(name, "version"))
        return tool_error(tool, "for the --%.*s option: does not allow a value!", STR_ARG(name));
    Suggestion near = {.wanted = name};
    for (size_t i = 0; i < tool->flag_count; i++)
        suggestion_try(&near, str_from(tool->flags[i].name));
    suggestion_try(&near, STR("help"));
    suggestion_try(&near, STR("version"));
    if (tool->extra_names) tool->extra_names(&near);
    tool_error(tool, "Unknown command line argument '%s'.  Try: '%s --help'", arg, tool->name);
    if (near.best.len > 0) /* belongs to the error above */
        fprintf(stderr, "%s: Did you mean '%s%.*s%s'?\n", tool->name,
                near.best.len == 1 ? "-" : "--", STR_ARG(near.best), name.data + name.len);
    return false;
}

/* One argument that begins with a dash; *next is the one after it, if it may be its value. */
static bool parse_flag(const Tool *tool, char *arg, char **next, bool *took_next)
{
    char *name = arg + (arg[1] == '-' ? 2 : 1);
    char *equals = strchr(name, '=');
    char *value = equals ? equals + 1 : NULL;
    Str key = {.data = name, .len = equals ? (size_t)(equals - name) : strlen(name)};
    const Flag *flag = flag_find(tool->flags, tool->flag_count, key);
    if (!flag)
        return (tool->extra && tool->extra(tool->user, key, value)) || unknown_flag(tool, arg, key);
    *took_next = !value && *next && flag_needs_value(flag);
    return set_flag(tool, flag, *took_next ? *next : value);
}

ArgsResult tool_parse_args(const Tool *tool, int argc, char **argv, Texts *inputs)
{
    bool only_inputs = false;
    for (int i = 1; i < argc; i++) {
        char *arg = argv[i];
        if (only_inputs || arg[0] != '-' || arg[1] == '\0') {
            *vec_push(inputs) = arg;
            continue;
        }
        if (strcmp(arg, "--") == 0) {
            only_inputs = true;
            continue;
        }
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0 || strcmp(arg, "-help") == 0) {
            print_help(tool);
            return ARGS_DONE;
        }
        if (strcmp(arg, "--version") == 0 || strcmp(arg, "-version") == 0) {
            printf("%s (ming) %s\n", tool->name, MING_VERSION);
            return ARGS_DONE;
        }
        if (strcmp(arg, "--dump-options") == 0) {
            dump_options(tool);
            return ARGS_DONE;
        }
        bool took_next = false;
        if (!parse_flag(tool, arg, &argv[i + 1], &took_next)) return ARGS_WRONG;
        i += took_next;
    }
    return ARGS_RUN;
}

bool tool_one_input_error(const Tool *tool, const char *what, size_t count)
{
    StrBuf found = {0};
    if (count > 0) strbuf_printf(&found, ", not %zu", count);
    tool_error(tool, "error: one %s is needed%.*s; try '%s --help'", what,
               STR_ARG(strbuf_str(&found)), tool->name);
    strbuf_free(&found);
    return false;
}

ArgsResult tool_parse_one(const Tool *tool, int argc, char **argv, const char *what,
                          const char **path)
{
    Texts inputs = {0};
    ArgsResult result = tool_parse_args(tool, argc, argv, &inputs);
    size_t count = inputs.len;
    *path = count == 1 ? inputs.data[0] : NULL;
    vec_free(&inputs);
    if (result != ARGS_RUN || *path) return result;
    tool_one_input_error(tool, what, count);
    return ARGS_WRONG;
}

static void report(void *user, DriverErrorKind kind, Str message)
{
    const FlagAdvice advice = flag_advice(kind);
    progress_erase(((const Tool *)user)->progress);
    if (kind == DRIVER_WARNING)
        fprintf(stderr, "%s: warning: %.*s\n", ((const Tool *)user)->name, STR_ARG(message));
    else
        tool_error(user, "error: %s%.*s%s", advice.before, STR_ARG(message), advice.behind);
}

DriverErrors tool_errors(const Tool *tool)
{
    return (DriverErrors){report, (void *)(uintptr_t)tool};
}

bool tool_check_device(const Tool *tool, const DeviceOptions *options)
{
    StrBuf why = {0};
    bool ok = flags_check_device(options, &why) || tool_error(tool, "error: %s", why.data);
    strbuf_free(&why);
    return ok;
}

bool tool_quantize(const Tool *tool, const QuantizeOptions *options, Op *module,
                   const char *function)
{
    StrBuf report_text = {0}, why = {0};
    if (options->format) progress_set(tool->progress, "quantizing");
    bool ok = (flags_check_quantize(options, &why) || tool_error(tool, "error: %s", why.data)) &&
              driver_quantize(module, function, options, tool_errors(tool), &report_text);
    progress_erase(tool->progress);
    if (report_text.len > 0) fwrite(report_text.data, 1, report_text.len, stderr);
    strbuf_free(&report_text);
    strbuf_free(&why);
    return ok;
}

bool tool_check_output(const Tool *tool, const char *dir)
{
    StrBuf why = {0};
    bool ok = emit_check_output(dir, &why) || tool_error(tool, "%s", why.data);
    strbuf_free(&why);
    return ok;
}

bool tool_wants_overlay(int argc, char **argv)
{
    bool found = false;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i] + (argv[i][0] == '-') + (strncmp(argv[i], "--", 2) == 0);
        if (strcmp(arg, "architecture=overlay") == 0 && arg != argv[i]) found = true;
        if (strcmp(arg, "architecture=dataflow") == 0 && arg != argv[i]) found = false;
    }
    return found;
}
