/* Engines that run the jobs of a list.
 *
 *   parallel -a LIST -q ming sweep --run=DIR/jobs/{}
 *   sbatch --wait --array=1-N%JOBS SCRIPT        ming sweep --run=LIST --line=OFFSET+INDEX
 *
 * A job that fails is a result; what matters here is whether the engine itself ran.
 * Tests: test/e2e/sweep_check.py */
#include <string.h>

#include "sweep/internal.h"

/* Slurm's default of MaxArraySize is 1001, of which index 0 is not used. */
enum { MOST_IN_ARRAY = 1000 };

static void add_all(SweepWords *words, const Texts *texts)
{
    for (size_t i = 0; i < texts->len; i++) sweep_add_word(words, "%s", texts->data[i]);
}

/* parallel exits with the number of jobs that failed, at most 101; 255 is an error of its own. */
static bool start_parallel(const SweepOptions *options, const char *list, StrBuf *why)
{
    enum { NOT_FOUND = 127, MOST_FAILED = 101 };
    SweepWords words = {0};
    sweep_add_word(&words, "parallel");
    sweep_add_word(&words, "--will-cite");
    sweep_add_word(&words, "--halt");
    sweep_add_word(&words, "never");
    if (options->jobs > 0) sweep_add_word(&words, "--jobs=%lld", (long long)options->jobs);
    for (size_t i = 0; i < options->ssh.len; i++) {
        sweep_add_word(&words, "--sshlogin");
        sweep_add_word(&words, "%s", options->ssh.data[i]);
    }
    add_all(&words, &options->engine_options);
    sweep_add_word(&words, "-a");
    sweep_add_word(&words, "%s", list);
    sweep_add_word(&words, "-q");
    sweep_add_word(&words, "%s", options->program);
    sweep_add_word(&words, "sweep");
    sweep_add_word(&words, "--run=%s/jobs/{}", options->folder);
    int process = sweep_spawn(&words, NULL, NULL, why);
    int status = process < 0 ? -1 : sweep_wait(process);
    sweep_free_words(&words);
    if (status == NOT_FOUND)
        return strbuf_fail(why, "GNU parallel is not installed; --engine=slurm is another engine");
    return status >= 0 &&
           (status <= MOST_FAILED || strbuf_fail(why, "parallel ended with status %d", status));
}

/* A word of sh, whatever the text holds. */
static void add_sh_word(StrBuf *out, const char *text)
{
    strbuf_add_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            strbuf_add_c(out, "'\\''");
        else
            strbuf_add_char(out, *text);
    }
    strbuf_add_char(out, '\'');
}

static bool write_script(const SweepOptions *options, const char *list, const char *script,
                         StrBuf *why)
{
    StrBuf text = {0};
    const char *reason = NULL;
    strbuf_add_c(&text,
                 "#!/bin/sh\n# A job of an array: line OFFSET + its index of the list.\nexec ");
    add_sh_word(&text, options->program);
    strbuf_add_c(&text, " sweep --run=");
    add_sh_word(&text, list);
    strbuf_add_c(&text, " --line=\"$((MING_OFFSET + SLURM_ARRAY_TASK_ID))\"\n");
    bool ok = file_write(script, strbuf_str(&text), &reason) ||
              strbuf_fail(why, "cannot write '%s': %s", script, reason);
    strbuf_free(&text);
    return ok;
}

static int start_array(const SweepOptions *options, const char *script, size_t first, size_t count,
                       StrBuf *why)
{
    SweepWords words = {0};
    sweep_add_word(&words, "sbatch");
    sweep_add_word(&words, "--wait");
    sweep_add_word(&words, "--quiet");
    sweep_add_word(&words, "--job-name=ming-sweep");
    sweep_add_word(&words, "--output=/dev/null");
    sweep_add_word(&words, "--export=ALL,MING_OFFSET=%zu", first);
    if (options->jobs > 0)
        sweep_add_word(&words, "--array=1-%zu%%%lld", count, (long long)options->jobs);
    else
        sweep_add_word(&words, "--array=1-%zu", count);
    add_all(&words, &options->engine_options);
    sweep_add_word(&words, "%s", script);
    int process = sweep_spawn(&words, NULL, NULL, why);
    sweep_free_words(&words);
    return process;
}

/* sbatch exits with the greatest status of the jobs, so 1 may be of a job or its own, in which case it
 * has said why and the jobs are missing. */
static bool start_slurm(const SweepOptions *options, const char *list, size_t count, StrBuf *why)
{
    enum { NOT_FOUND = 127 };
    StrBuf script = {0};
    VEC(int) arrays = {0};
    bool ok = true;
    strbuf_printf(&script, "%s.sh", list);
    ok = write_script(options, list, script.data, why);
    for (size_t first = 0; ok && first < count; first += MOST_IN_ARRAY) {
        size_t jobs = count - first < MOST_IN_ARRAY ? count - first : MOST_IN_ARRAY;
        int process = start_array(options, script.data, first, jobs, why);
        ok = process >= 0;
        if (ok) *vec_push(&arrays) = process;
    }
    for (size_t i = 0; i < arrays.len; i++)
        if (sweep_wait(arrays.data[i]) == NOT_FOUND && ok)
            ok = strbuf_fail(
                why, "Slurm's sbatch is not installed; --engine=parallel is another engine");
    vec_free(&arrays);
    strbuf_free(&script);
    return ok;
}

bool sweep_start(const SweepOptions *options, const char *list, size_t count, StrBuf *why)
{
    if (options->engine == SWEEP_NONE || count == 0) return true;
    return options->engine == SWEEP_PARALLEL ? start_parallel(options, list, why)
                                             : start_slurm(options, list, count, why);
}
