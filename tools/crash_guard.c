/* The child sends notes through a pipe: two lengths, then two texts. The parent keeps the last
 * complete one; the end of the pipe means that the child has ended or left the guard.
 * Tests: test/unit/tools/crash_guard_test.c */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/internal.h"

static bool write_bytes(int fd, const void *data, size_t len)
{
    const char *at = data;
    while (len > 0) {
        ssize_t done = write(fd, at, len);
        if (done < 0 && errno != EINTR) return false;
        if (done > 0) {
            at += done;
            len -= (size_t)done;
        }
    }
    return true;
}

static bool read_bytes(int fd, void *data, size_t len)
{
    char *at = data;
    while (len > 0) {
        ssize_t done = read(fd, at, len);
        if (done == 0 || (done < 0 && errno != EINTR)) return false;
        if (done > 0) {
            at += done;
            len -= (size_t)done;
        }
    }
    return true;
}

static bool read_text(int fd, size_t len, StrBuf *out)
{
    char *data = xmalloc(len + 1);
    bool ok = read_bytes(fd, data, len);
    strbuf_clear(out);
    if (ok) strbuf_add(out, data, len);
    free_ptr((void **)&data);
    return ok;
}

static void read_notes(CrashGuard *guard, int fd)
{
    size_t lens[2];
    StrBuf what = {0}, text = {0};
    while (read_bytes(fd, lens, sizeof lens) && read_text(fd, lens[0], &what) &&
           read_text(fd, lens[1], &text)) {
        const StrBuf old_what = guard->what, old_text = guard->text;
        guard->what = what;
        guard->text = text;
        what = old_what;
        text = old_text;
    }
    strbuf_free(&what);
    strbuf_free(&text);
}

bool crash_guard_enter(CrashGuard *guard)
{
    int ends[2];
    *guard = (CrashGuard){.notes = -1};
    fflush(NULL);
    if (pipe(ends) != 0) return true;
    pid_t child = fork();
    if (child <= 0) {
        close(ends[0]);
        if (child < 0)
            close(ends[1]);
        else
            guard->notes = ends[1];
        return true;
    }
    close(ends[1]);
    read_notes(guard, ends[0]);
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFSIGNALED(status)) {
        tool_pass_signal(WTERMSIG(status));
        return false;
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}

void crash_guard_note(CrashGuard *guard, Str what, Str text)
{
    if (guard->notes < 0) return;
    const size_t lens[] = {what.len, text.len};
    if (write_bytes(guard->notes, lens, sizeof lens) &&
        write_bytes(guard->notes, what.data, what.len) &&
        write_bytes(guard->notes, text.data, text.len))
        return;
    crash_guard_leave(guard);
}

void crash_guard_leave(CrashGuard *guard)
{
    if (guard->notes >= 0) close(guard->notes);
    guard->notes = -1;
}

void crash_guard_free(CrashGuard *guard)
{
    crash_guard_leave(guard);
    strbuf_free(&guard->what);
    strbuf_free(&guard->text);
}

/* Signals that end a tool: its temporary files go first, and its parent sees by which signal it ended. */

/* The default action is back when this is called, and happens when this returns. */
static void end_by_signal(int number)
{
    temporary_remove_all();
    (void)raise(number);
}

static const int ending[] = {SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGXCPU};

void tool_pass_signal(int number)
{
    for (size_t i = 0; i < COUNT_OF(ending); i++)
        if (ending[i] == number) (void)raise(number);
}

void tool_catch_signals(void)
{
    struct sigaction action = {.sa_handler = end_by_signal, .sa_flags = (int)SA_RESETHAND};
    struct sigaction before;
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < COUNT_OF(ending); i++) {
        bool is_ignored = sigaction(ending[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN;
        if (!is_ignored) (void)sigaction(ending[i], &action, NULL);
    }
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that is too large is an error of write */
}
