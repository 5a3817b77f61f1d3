/* One job in its folder:
 *
 *   job.json   what it does, written before it runs
 *   design/    the project, by ming compile
 *   log        what that printed, and Vitis
 *   status     a line "done" or "failed", then "synthesis done" or "synthesis failed"; written last
 *   lock       held while it runs
 *
 * A job that somebody ended has no status, so it runs again.
 * Tests: test/e2e/sweep_check.py */
#define _DEFAULT_SOURCE /* flock */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sweep/internal.h"

/* "folder/name", in the buffer. */
static const char *join(StrBuf *path, const char *folder, const char *name)
{
    strbuf_clear(path);
    strbuf_printf(path, "%s/%s", folder, name);
    return path->data;
}

const char *sweep_job_path(StrBuf *path, const char *folder, const SweepJob *job)
{
    strbuf_clear(path);
    strbuf_printf(path, "%s/jobs/%s", folder, job->id.data);
    return path->data;
}

bool sweep_write_job(const SweepPlan *plan, const char *folder, const SweepJob *job, StrBuf *why)
{
    StrBuf path = {0}, file = {0};
    const char *reason = NULL;
    json_t *json = json_pack("{s:s, s:O, s:b}", "folder", plan->folder.data, "arguments",
                             job->arguments, "synthesis", (int)plan->synthesizes);
    char *text = json_dumps(json, JSON_INDENT(2) | JSON_SORT_KEYS);
    sweep_job_path(&path, folder, job);
    bool ok = (mkdir(path.data, 0777) == 0 || errno == EEXIST) ||
              strbuf_fail(why, "cannot make '%s': %s", path.data, strerror(errno));
    ok = ok && (file_write(join(&file, path.data, "job.json"), str_from(text), &reason) ||
                strbuf_fail(why, "cannot write '%s': %s", file.data, reason));
    free(text);
    json_decref(json);
    strbuf_free(&path);
    strbuf_free(&file);
    return ok;
}

void sweep_status_read(const char *job, SweepStatus *out)
{
    static const char synthesis[] = "synthesis ";
    StrBuf path = {0}, text = {0};
    const char *reason;
    *out = (SweepStatus){SWEEP_MISSING, {0}};
    if (file_read(&text, join(&path, job, "status"), &reason)) {
        Str all = strbuf_str(&text);
        out->state = str_starts_with(all, "done\n") ? SWEEP_DONE : SWEEP_FAILED;
        const char *line = strstr(text.data, synthesis);
        if (line)
            strbuf_add(&out->synthesis, line + strlen(synthesis),
                       strcspn(line + strlen(synthesis), "\n"));
    }
    strbuf_free(&path);
    strbuf_free(&text);
}

void sweep_status_free(SweepStatus *status)
{
    strbuf_free(&status->synthesis);
}

/* Whether somebody has ended a command, rather than that it has come to an end. */
static bool was_stopped(int status)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGTERM, SIGKILL, SIGQUIT, SIGXCPU};
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        if (status == 128 + signals[i]) return true;
    return false;
}

typedef struct Running {
    const char *folder, *program;
    StrBuf log, status;
    json_t *json;
} Running;

/* Runs a command whose output goes to the log. False: appended to *why, or it was stopped. */
static bool run_command(const Running *r, SweepWords *words, const char *folder, int *status,
                        StrBuf *why)
{
    int process = sweep_spawn(words, folder, r->log.data, why);
    if (process < 0) return false;
    *status = sweep_wait(process);
    return !was_stopped(*status) || strbuf_fail(why, "%s: was stopped", r->folder);
}

static bool compile(const Running *r, int *status, StrBuf *why)
{
    SweepWords words = {0};
    size_t index;
    json_t *item;
    sweep_add_word(&words, "%s", r->program);
    sweep_add_word(&words, "compile");
    json_array_foreach(json_object_get(r->json, "arguments"), index, item)
        sweep_add_word(&words, "%s", json_string_value(item) ? json_string_value(item) : "");
    sweep_add_word(&words, "-o");
    sweep_add_word(&words, "%s/design", r->folder);
    bool ok =
        run_command(r, &words, json_string_value(json_object_get(r->json, "folder")), status, why);
    sweep_free_words(&words);
    return ok;
}

static bool synthesize(const Running *r, int *status, StrBuf *why)
{
    SweepWords words = {0};
    sweep_add_word(&words, "make");
    sweep_add_word(&words, "-C");
    sweep_add_word(&words, "%s/design", r->folder);
    sweep_add_word(&words, "synth");
    bool ok = run_command(r, &words, NULL, status, why);
    sweep_free_words(&words);
    return ok;
}

static bool run_both(Running *r, StrBuf *why)
{
    int status = 0;
    if (!compile(r, &status, why)) return false;
    strbuf_add_c(&r->status, status == 0 ? "done\n" : "failed\n");
    if (status != 0 || !json_is_true(json_object_get(r->json, "synthesis"))) return true;
    if (!synthesize(r, &status, why)) return false;
    strbuf_printf(&r->status, "synthesis %s\n", status == 0 ? "done" : "failed");
    return true;
}

/* With the lock. */
static bool run_locked(Running *r, StrBuf *why)
{
    StrBuf path = {0};
    const char *reason = NULL;
    json_error_t error;
    r->json = json_load_file(join(&path, r->folder, "job.json"), 0, &error);
    bool ok = r->json || strbuf_fail(why, "cannot read '%s': %s", path.data, error.text);
    (void)unlink(join(&r->log, r->folder, "log"));
    ok = ok && run_both(r, why);
    ok = ok && (file_write(join(&path, r->folder, "status"), strbuf_str(&r->status), &reason) ||
                strbuf_fail(why, "cannot write '%s': %s", path.data, reason));
    json_decref(r->json);
    strbuf_free(&path);
    strbuf_free(&r->log);
    strbuf_free(&r->status);
    return ok;
}

/* What the job starts has the lock's file open, too: a compiler whose job was killed keeps another one
 * out of its folder. The folder's full path goes to the compiler, which runs in that of the plan. */
bool sweep_run_job(const char *folder, const char *program, StrBuf *why)
{
    StrBuf path = {0};
    SweepStatus status;
    int lock = open(join(&path, folder, "lock"), O_RDWR | O_CREAT, 0666);
    bool ok = lock >= 0 && flock(lock, LOCK_EX) == 0;
    char *full = ok ? realpath(folder, NULL) : NULL;
    ok = full != NULL;
    if (!ok) strbuf_printf(why, "cannot lock '%s': %s", path.data, strerror(errno));
    if (ok) {
        sweep_status_read(full, &status);
        ok = status.state != SWEEP_MISSING ||
             run_locked(&(Running){.folder = full, .program = program}, why);
        sweep_status_free(&status);
    }
    if (lock >= 0) close(lock);
    free(full);
    strbuf_free(&path);
    return ok;
}

/* DIR/lists/NAME -> DIR/jobs/ID */
static void job_of_list(const char *list, Str id, StrBuf *out)
{
    static const char *const above[] = {"..", "."}; /* of a list without a slash, and with one */
    size_t length = strlen(list);
    int slashes = 0;
    for (; length > 0 && slashes < 2; length--) slashes += list[length - 1] == '/';
    if (slashes < 2)
        strbuf_printf(out, "%s/jobs/%.*s", above[slashes], STR_ARG(id));
    else
        strbuf_printf(out, "%.*s/jobs/%.*s", (int)length, list, STR_ARG(id));
}

bool sweep_run_line(const char *list, int64_t line, const char *program, StrBuf *why)
{
    StrBuf text = {0}, folder = {0};
    const char *reason = NULL;
    if (!file_read(&text, list, &reason))
        return strbuf_fail(why, "cannot read '%s': %s", list, reason);
    const char *at = text.data;
    for (int64_t i = 1; i < line && at; i++) at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
    size_t length = at ? strcspn(at, "\n") : 0;
    bool ok = length > 0 || strbuf_fail(why, "'%s' has no line %lld", list, (long long)line);
    if (ok) {
        job_of_list(list, (Str){at, length}, &folder);
        ok = sweep_run_job(folder.data, program, why);
    }
    strbuf_free(&text);
    strbuf_free(&folder);
    return ok;
}
