/* The order of a sweep: plan, folders, list of what is left, engine, results.
 * Tests: test/e2e/sweep_check.py */
#define _DEFAULT_SOURCE /* flock */
#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sweep/internal.h"

static bool make_folder(const char *folder, const char *name, StrBuf *why)
{
    StrBuf path = {0};
    strbuf_printf(&path, "%s%s", folder, name);
    bool ok = mkdir(path.data, 0777) == 0 || errno == EEXIST ||
              strbuf_fail(why, "cannot make '%s': %s", path.data, strerror(errno));
    strbuf_free(&path);
    return ok;
}

/* Forgets that a job failed. */
static void forget(const char *job, SweepStatus *status)
{
    StrBuf path = {0};
    strbuf_printf(&path, "%s/status", job);
    if (unlink(path.data) == 0) status->state = SWEEP_MISSING;
    strbuf_free(&path);
}

/* Writes what jobs do, and lists those that are not finished. */
static bool prepare(const SweepPlan *plan, const SweepOptions *options, StrBuf *list, size_t *count,
                    StrBuf *why)
{
    StrBuf path = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < plan->jobs.len; i++) {
        const SweepJob *job = &plan->jobs.data[i];
        SweepStatus status;
        sweep_status_read(sweep_job_path(&path, options->folder, job), &status);
        bool has_failed =
            status.state == SWEEP_FAILED || str_eq_c(strbuf_str(&status.synthesis), "failed");
        if (options->retries && has_failed) forget(path.data, &status);
        if (status.state == SWEEP_MISSING) {
            ok = sweep_write_job(plan, options->folder, job, why);
            strbuf_printf(list, "%s\n", job->id.data);
            ++*count;
        }
        sweep_status_free(&status);
    }
    strbuf_free(&path);
    return ok;
}

/* Lists are never changed, since jobs of a cluster may read theirs late: so they are named by what they
 * hold. */
static bool write_list(const char *folder, Str text, StrBuf *path, StrBuf *why)
{
    enum { SHOWN = 8 };
    struct sha256_ctx sha;
    uint8_t digest[SHA256_DIGEST_SIZE];
    const char *reason = NULL;
    sha256_init(&sha);
    sha256_update(&sha, text.len, (const uint8_t *)text.data);
    sha256_digest(&sha, sizeof digest, digest);
    strbuf_printf(path, "%s/lists/", folder);
    for (size_t i = 0; i < SHOWN; i++) strbuf_printf(path, "%02x", (unsigned)digest[i]);
    return file_write(path->data, text, &reason) ||
           strbuf_fail(why, "cannot write '%s': %s", path->data, reason);
}

static bool run_planned(const SweepPlan *plan, const SweepOptions *options, SweepCounts *counts,
                        StrBuf *why)
{
    StrBuf list = {0}, path = {0};
    bool ok = make_folder(options->folder, "/jobs", why) &&
              make_folder(options->folder, "/lists", why) &&
              prepare(plan, options, &list, &counts->started, why) &&
              write_list(options->folder, strbuf_str(&list), &path, why);
    counts->jobs = plan->jobs.len;
    bool has_run = ok && sweep_start(options, path.data, counts->started, why);
    /* Also what an engine leaves that gave up. */
    ok = ok && sweep_collect(plan, options, counts, why) && has_run;
    strbuf_free(&list);
    strbuf_free(&path);
    return ok;
}

bool sweep_run(const SweepOptions *options, SweepCounts *counts, StrBuf *why)
{
    SweepPlan plan;
    StrBuf path = {0};
    int lock = -1;
    *counts = (SweepCounts){0};
    bool ok = sweep_plan_read(&plan, options->file, why) && make_folder(options->folder, "", why);
    if (ok) {
        strbuf_printf(&path, "%s/lock", options->folder);
        lock = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        ok = lock >= 0 || strbuf_fail(why, "cannot write '%s': %s", path.data, strerror(errno));
    }
    ok = ok && (flock(lock, LOCK_EX | LOCK_NB) == 0 ||
                strbuf_fail(why, "another sweep runs in '%s'", options->folder));
    ok = ok && run_planned(&plan, options, counts, why);
    if (lock >= 0) close(lock);
    sweep_plan_free(&plan);
    strbuf_free(&path);
    return ok;
}
