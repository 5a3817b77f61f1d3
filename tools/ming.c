/* ming: its commands, each of which is a file of its own.
 * Tests: lit/driver/ming-compile.mir */
#include <limits.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <string.h>

#include "tools/internal.h"

typedef struct Command {
    const char *name, *arguments, *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the command; an exit status */
} Command;

/* In the order of --help. */
static const Command commands[] = {
    {"compile", "MODEL -o DIR", "a network to an HLS project", command_compile},
    {"check", "MODEL", "which operators compile", command_check},
    {"compare", "A B", "how traces or arrays differ", command_compare},
    {"devices", "", "what --device names", command_devices},
    {"engine", "PROGRAM", "a program of an overlay", command_engine},
    {"explore", "MODEL", "throughput against resources", command_explore},
    {"overlay", "-o DIR", "an engine for programs of an overlay", command_overlay},
    {"partition", "GRAPH.json", "tasks to the dies of cards", command_partition},
    {"report", "DIR", "a page about a design; predictions beside synthesis", command_report},
    {"roofline", "MODEL", "what a device can compute of it", command_roofline},
    {"run", "FILE", "a network on arrays", command_run},
    {"sim", "DIR", "a design cycle by cycle", command_sim},
    {"sweep", "PLAN.json -o DIR", "many designs, as jobs of a cluster", command_sweep},
};

static void add_commands(void *user, StrBuf *out)
{
    enum { SUMMARY_COLUMN = 26 };
    (void)user;
    strbuf_add_c(out, "\ncommands:\n");
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        const Command *command = &commands[i];
        size_t begin = out->len;
        strbuf_printf(out, "  %s %s", command->name, command->arguments);
        while (out->len - begin < SUMMARY_COLUMN) strbuf_add_char(out, ' ');
        strbuf_printf(out, "%s; 'ming %s --help'\n", command->summary, command->name);
    }
}

static void dump_commands(JsonWriter *json)
{
    json_member_array(json, "commands");
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        json_begin_object(json);
        json_member_string(json, "name", str_from(commands[i].name));
        json_member_string(json, "summary", str_from(commands[i].summary));
        json_end_object(json);
    }
    json_end_array(json);
}

/* What the command printed must have arrived. */
static int run_command(const Command *command, int argc, char **argv)
{
    StrBuf name = {0};
    strbuf_printf(&name, "ming %s", command->name);
    int status = command->run(argc, argv);
    if (status == EXIT_SUCCESS) status = tool_exit_status(&(Tool){.name = name.data}, true);
    strbuf_free(&name);
    return status;
}

static void unknown_command(const Tool *tool, const char *name)
{
    Suggestion near = {.wanted = str_from(name)};
    StrBuf hint = {0};
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        suggestion_try(&near, str_from(commands[i].name));
    suggestion_print(&near, &hint);
    tool_error(tool, "error: unknown command '%s'%.*s; try 'ming --help'", name,
               STR_ARG(strbuf_str(&hint)));
    strbuf_free(&hint);
}

/* Memory that is freed is used again rather than given back: sizing FIFOs takes hundreds of
 * megabytes for each design that is tried, and a page fault for every 4 KiB of them. */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    enum { LARGEST = 64 << 20, ALWAYS = INT_MAX };
    (void)mallopt(M_MMAP_THRESHOLD, LARGEST);
    (void)mallopt(M_TRIM_THRESHOLD, ALWAYS);
#endif
}

static const Command *find_command(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (strcmp(name, commands[i].name) == 0) return &commands[i];
    return NULL;
}

/* `ming help COMMAND` is `ming COMMAND --help`, and `ming help` is `ming --help`. */
static void take_help(int *argc, char **argv)
{
    static char help[] = "--help";
    if (*argc < 2 || strcmp(argv[1], "help") != 0) return;
    bool has_command = *argc > 2;
    argv[1] = has_command ? argv[2] : help;
    *argc = has_command && find_command(argv[1]) ? 3 : 2; /* else it is an unknown command */
    if (*argc == 3) argv[2] = help;
}

int main(int argc, char **argv)
{
    keep_freed_memory();
    tool_open_standard_files();
    tool_catch_signals();
    take_help(&argc, argv);
    const Command *command = argc > 1 ? find_command(argv[1]) : NULL;
    if (command) return run_command(command, argc - 1, argv + 1);
    const Tool tool = {
        .name = "ming",
        .summary = "ming: compiles quantized networks to streaming FPGA accelerators",
        .usage = "COMMAND [arguments]",
        .extra_help = add_commands,
        .extra_json = dump_commands,
    };
    Texts inputs = {0};
    ArgsResult args = tool_parse_args(&tool, argc, argv, &inputs);
    if (args == ARGS_RUN && inputs.len > 0)
        unknown_command(&tool, inputs.data[0]);
    else if (args == ARGS_RUN)
        tool_error(&tool, "error: a command is needed; try 'ming --help'");
    vec_free(&inputs);
    return tool_exit_status(&tool, args == ARGS_DONE);
}
