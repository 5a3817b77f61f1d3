/* ming sweep PLAN.json -o DIR: many designs as jobs of GNU parallel or Slurm (sweep/sweep.h). The engine
 * runs `ming sweep --run=…` for each.
 * Tests: test/e2e/sweep_check.py, lit/tools/ming-sweep-invalid.test */
#define _XOPEN_SOURCE 700 /* realpath */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sweep/sweep.h"
#include "tools/internal.h"

typedef struct SweepFlags {
    const char *output, *engine, *run;
    int64_t line;
    SweepOptions sweep;
} SweepFlags;

static SweepEngine engine_of(const char *name)
{
    if (!name || strcmp(name, "parallel") == 0) return SWEEP_PARALLEL;
    return strcmp(name, "slurm") == 0 ? SWEEP_SLURM : SWEEP_NONE;
}

static bool check(const Tool *tool, const SweepFlags *flags, const Texts *inputs)
{
    if (flags->run)
        return inputs->len == 0 ||
               tool_error(tool, "error: --run is of one job, and takes no plan");
    if (flags->line > 0) return tool_error(tool, "error: --line is of --run");
    if (inputs->len != 1) return tool_one_input_error(tool, "plan", inputs->len);
    if (!flags->output)
        return tool_error(tool, "error: -o with a folder for jobs and results is needed");
    if (flags->sweep.jobs < 0) return tool_error(tool, "error: --jobs takes a number of jobs");
    return flags->sweep.ssh.len == 0 || engine_of(flags->engine) == SWEEP_PARALLEL ||
           tool_error(tool, "error: --ssh is of --engine=parallel");
}

/* Where the engines' shells find what runs now. */
static bool find_program(const Tool *tool, char *out, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", out, size);
    if (length <= 0 || (size_t)length >= size)
        return tool_error(tool, "error: cannot find the program");
    out[length] = '\0';
    return true;
}

static bool run_one(const Tool *tool, const SweepFlags *flags, const char *program)
{
    StrBuf why = {0};
    bool ok = flags->line > 0 ? sweep_run_line(flags->run, flags->line, program, &why)
                              : sweep_run_job(flags->run, program, &why);
    if (!ok) tool_error(tool, "error: %s", why.data);
    strbuf_free(&why);
    return ok;
}

static void print_counts(const SweepCounts *counts, const char *folder)
{
    printf("%zu designs, %zu of them run now: %zu done, %zu failed, %zu missing\n", counts->jobs,
           counts->started, counts->done, counts->failed, counts->missing);
    printf("%s/results.csv\n%s/index.html\n", folder, folder);
}

/* Jobs run anywhere, so the folder has an absolute path. */
static bool run_all(const Tool *tool, SweepFlags *flags, const char *plan, const char *program)
{
    StrBuf why = {0};
    SweepCounts counts;
    bool made = mkdir(flags->output, 0777) == 0 || errno == EEXIST;
    char *folder = made ? realpath(flags->output, NULL) : NULL;
    if (!folder)
        return tool_error(tool, "error: cannot make '%s': %s", flags->output, strerror(errno));
    flags->sweep.file = plan;
    flags->sweep.folder = folder;
    flags->sweep.program = program;
    flags->sweep.engine = engine_of(flags->engine);
    bool ok = sweep_run(&flags->sweep, &counts, &why);
    if (counts.done + counts.failed + counts.missing > 0) print_counts(&counts, flags->output);
    if (!ok) tool_error(tool, "error: %s", why.data);
    if (ok && counts.missing > 0 && flags->sweep.engine != SWEEP_NONE)
        ok = tool_error(tool, "error: %zu designs are missing; the same command goes on",
                        counts.missing);
    if (ok && counts.failed > 0 && counts.done + counts.missing == 0)
        ok = tool_error(tool, "error: no design is done; %s/jobs/*/log say why", flags->output);
    free(folder);
    strbuf_free(&why);
    return ok;
}

int command_sweep(int argc, char **argv)
{
    SweepFlags given = {0};
    const Flag flags[] = {
        {"o", FLAG_TEXT, &given.output, "dir", "Folder of jobs and results", NULL},
        {"engine", FLAG_CHOICE, &given.engine, "parallel|slurm|none",
         "What runs jobs: GNU parallel (default), Slurm's job arrays, or nothing: collect what is "
         "there",
         NULL},
        {"jobs", FLAG_INT, &given.sweep.jobs, "n",
         "Jobs at a time, default one per core, with Slurm as many as it allows", NULL},
        {"ssh", FLAG_TEXTS, &given.sweep.ssh, "login,…",
         "Machines on which GNU parallel runs jobs, as its --sshlogin takes them; they have ming "
         "and "
         "all folders at the same paths",
         NULL},
        {"engine-option", FLAG_TEXTS, &given.sweep.engine_options, "text,…",
         "Options for parallel or sbatch, as --engine-option=--partition=fast", NULL},
        {"retry", FLAG_SWITCH, &given.sweep.retries, NULL, "Run jobs again that failed", NULL},
        {"run", FLAG_TEXT, &given.run, "folder",
         "Run one job, in its folder or of a list (--line), as the engines do", NULL},
        {"line", FLAG_INT, &given.line, "n", "Line of the list that --run names, from 1", NULL},
    };
    const Tool tool = {
        .name = "ming sweep",
        .summary =
            "ming sweep: compiles the designs of a plan as jobs, and collects what they reach",
        .usage = "PLAN.json -o DIR [options]",
        .flags = flags,
        .flag_count = COUNT_OF(flags),
    };
    Texts inputs = {0};
    char program[PATH_MAX];
    ArgsResult args = tool_parse_args(&tool, argc, argv, &inputs);
    bool ok = args == ARGS_DONE;
    if (args == ARGS_RUN && check(&tool, &given, &inputs) &&
        find_program(&tool, program, sizeof program))
        ok = given.run ? run_one(&tool, &given, program)
                       : run_all(&tool, &given, inputs.data[0], program);
    vec_free(&inputs);
    vec_free(&given.sweep.ssh);
    vec_free(&given.sweep.engine_options);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
