/* Frames on several processors: each worker is a copy of this process, runs every N-th frame, and
 * sends what it gives through a pipe. A context is one thread's, so workers are no threads; a pipe
 * holds little, so each worker is a frame ahead at most. Frames are taken in their order. One that
 * comes from no worker, because it failed there or the worker is gone, is run here, which diagnoses
 * what is wrong with it.
 * Tests: lit/tools/ming-run-jobs.mir */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver/run/internal.h"
#include "ir/asm/print/print.h"

typedef struct Worker {
    pid_t process;
    int pipe; /* to read from; -1: the worker is gone */
} Worker;

/* What is in front of an array's bytes. */
typedef struct ArrayHead {
    bool is_there;
    Npy npy; /* without data */
} ArrayHead;

static size_t array_count(const FunctionRun *run)
{
    return run->results.count + trace_count(run->trace);
}

/* The arrays that a frame fills: results, then tensors of the trace. */
static Npy *array_at(const FunctionRun *run, size_t i)
{
    return i < run->results.count ? &run->results.items[i].npy
                                  : trace_array(run->trace, i - run->results.count);
}

static bool move_bytes(int file, void *data, size_t size, bool writes)
{
    char *at = data;
    while (size > 0) {
        ssize_t done = writes ? write(file, at, size) : read(file, at, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        at += done;
        size -= (size_t)done;
    }
    return true;
}

static size_t byte_count(const Npy *npy)
{
    return (size_t)npy->count * npy->item;
}

/* Sends the arrays of a frame. */
static bool send_frame(const FunctionRun *run, int file)
{
    bool ok = true;
    for (size_t i = 0; ok && i < array_count(run); i++) {
        Npy *npy = array_at(run, i);
        ArrayHead head;
        memset(&head, 0, sizeof head); /* padding goes through the pipe, too */
        head.is_there = npy->data != NULL;
        head.npy = *npy;
        head.npy.data = NULL;
        ok = move_bytes(file, &head, sizeof head, true) &&
             (!npy->data || move_bytes(file, npy->data, byte_count(npy), true));
    }
    return ok;
}

static void ignore(void *user, Context *ctx, const Diag *diag, const Diag *notes, size_t note_count)
{
    (void)user, (void)ctx, (void)diag, (void)notes, (void)note_count;
}

/* A worker's life. It says nothing and leaves nothing behind but what it sends. */
static _Noreturn void work(FunctionRun *run, Interp *interp, int64_t first, int64_t step, int file)
{
    bool ok = true;
    diag_set_handler(run->func->ctx, ignore, NULL, NULL, NULL);
    run->errors.report = NULL;
    run->args.errors.report = NULL;
    for (int64_t frame = first; ok && frame < run->args.frames; frame += step) {
        for (size_t i = 0; i < array_count(run); i++) npy_free(array_at(run, i));
        ok = run_frame(run, interp, frame, 0, 1) && send_frame(run, file);
    }
    _exit(ok ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* Makes the array of all frames from that of the first one, or checks that another one fits. */
static bool fits(Npy *all, const Npy *one, int64_t frame, int64_t frames)
{
    int64_t dims[NPY_MAX_RANK];
    uint32_t rank = one->rank;
    if (frame > 0) return all->data && all->count == one->count * frames;
    memcpy(dims, one->dims, sizeof dims);
    if (rank == 0)
        dims[rank++] = frames;
    else if (!i64_mul(dims[0], frames, &dims[0]))
        return false;
    npy_free(all);
    return npy_init(all, one->kind, one->item, dims, rank);
}

/* Receives the arrays of a frame. False: they do not come, or do not fit. */
static bool receive_frame(const FunctionRun *run, int file, int64_t frame)
{
    for (size_t i = 0; i < array_count(run); i++) {
        ArrayHead head;
        Npy *all = array_at(run, i);
        if (!move_bytes(file, &head, sizeof head, false)) return false;
        if (!head.is_there) continue;
        if (!fits(all, &head.npy, frame, run->args.frames) ||
            !move_bytes(file, all->data + (size_t)frame * byte_count(&head.npy),
                        byte_count(&head.npy), false))
            return false;
    }
    return true;
}

/* False: there are no more processes, or pipes. */
static bool start(FunctionRun *run, Interp *interp, Worker *workers, int64_t w, int64_t count)
{
    int ends[2];
    workers[w].pipe = -1;
    if (pipe(ends) != 0) return false;
    workers[w].process = fork();
    if (workers[w].process == 0) {
        for (int64_t i = 0; i < w; i++) close(workers[i].pipe);
        close(ends[0]);
        work(run, interp, w, count, ends[1]);
    }
    close(ends[1]);
    if (workers[w].process < 0)
        close(ends[0]);
    else
        workers[w].pipe = ends[0];
    return workers[w].process > 0;
}

/* A worker that still writes is ended by its pipe. */
static void stop(Worker *worker)
{
    if (worker->pipe < 0) return;
    close(worker->pipe);
    worker->pipe = -1;
    while (waitpid(worker->process, NULL, 0) < 0 && errno == EINTR) {
    }
}

bool run_parallel(FunctionRun *run, Interp *interp, int64_t count)
{
    Worker *workers = xcalloc((size_t)count, sizeof *workers);
    int64_t frames = run->args.frames, started = 0;
    bool ok = true;
    fflush(NULL); /* or a worker would have what is not written yet */
    while (started < count && start(run, interp, workers, started, count)) started++;
    for (int64_t frame = 0; ok && frame < frames; frame++) {
        int64_t w = frame % count;
        if (run->progress) run->progress(run->user, frame, frames);
        bool has =
            w < started && workers[w].pipe >= 0 && receive_frame(run, workers[w].pipe, frame);
        if (!has && w < started) stop(&workers[w]);
        ok = has || run_frame(run, interp, frame, frame, frames);
    }
    for (int64_t w = 0; w < started; w++) stop(&workers[w]);
    free(workers);
    return ok;
}
