/* What a command is doing, on a terminal: one line on standard error that is written again and
 * again and erased at the end. A thread writes it, because the work itself gives no sign for
 * seconds. Tests: test/e2e/status_check.py */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tools/internal.h"

/* In milliseconds. */
enum { QUIET = 1000, INTERVAL = 200 };

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Whether somebody looks at standard error who wants a line that changes. */
static bool is_wanted(void)
{
    const char *term = getenv("TERM"), *ci = getenv("CI");
    bool is_dumb = term && strcmp(term, "dumb") == 0;
    return isatty(STDERR_FILENO) && !is_dumb && !(ci && *ci);
}

/* Characters that a line may have without being broken. */
static size_t line_width(void)
{
    struct winsize size;
    bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return is_known && size.ws_col <= PROGRESS_WIDTH ? size.ws_col - 1u : PROGRESS_WIDTH;
}

/* The mutex is held. */
static void erase(Progress *p)
{
    if (p->shown == 0) return;
    fprintf(stderr, "\r%*s\r", (int)p->shown, "");
    p->shown = 0;
}

/* The mutex is held. */
static void draw(Progress *p)
{
    char line[2 * PROGRESS_WIDTH];
    int64_t ms = now() - p->started;
    int len = snprintf(line, sizeof line, "%s, %lld s", p->doing, (long long)(ms / 1000));
    size_t width = line_width(), count = (size_t)len < width ? (size_t)len : width;
    line[count] = '\0';
    if (p->shown > 0 && strcmp(line, p->line) == 0) return;
    erase(p);
    fprintf(stderr, "\r%s", line);
    p->shown = count;
    memcpy(p->line, line, count + 1);
}

/* The mutex is held, and given up while waiting. */
static void wait_until(Progress *p, int64_t ms)
{
    const struct timespec until = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    pthread_cond_timedwait(&p->stopping, &p->mutex, &until);
}

static void *show(void *user)
{
    Progress *p = user;
    pthread_mutex_lock(&p->mutex);
    while (!p->is_over) {
        int64_t time = now();
        if (time < p->quiet_until) {
            wait_until(p, p->quiet_until);
            continue;
        }
        draw(p);
        wait_until(p, time + INTERVAL);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* A diagnostic takes the place of the line. */
static void print_diag(void *user, Context *ctx, const Diag *diag, const Diag *notes, size_t count)
{
    progress_erase(user);
    diag_print_stderr(NULL, ctx, diag, notes, count);
}

/* Signals are for the thread that does the work. */
static bool start_thread(Progress *p)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    bool ok = pthread_create(&p->thread, NULL, show, p) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

void progress_start(Progress *p, Context *ctx, const char *doing)
{
    pthread_condattr_t monotonic;
    if (!is_wanted()) return;
    *p = (Progress){.ctx = ctx, .started = now()};
    p->quiet_until = p->started + QUIET;
    snprintf(p->doing, sizeof p->doing, "%s", doing);
    pthread_mutex_init(&p->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&p->stopping, &monotonic);
    pthread_condattr_destroy(&monotonic);
    p->is_active = start_thread(p);
    if (p->is_active) diag_set_handler(ctx, print_diag, p, NULL, NULL);
}

void progress_set(Progress *p, const char *fmt, ...)
{
    va_list args;
    if (!p || !p->is_active) return;
    va_start(args, fmt);
    pthread_mutex_lock(&p->mutex);
    vsnprintf(p->doing, sizeof p->doing, fmt, args);
    pthread_mutex_unlock(&p->mutex);
    va_end(args);
}

void progress_erase(Progress *p)
{
    if (!p || !p->is_active) return;
    pthread_mutex_lock(&p->mutex);
    erase(p);
    p->quiet_until = now() + QUIET;
    pthread_mutex_unlock(&p->mutex);
}

void progress_stop(Progress *p)
{
    if (!p->is_active) return;
    pthread_mutex_lock(&p->mutex);
    p->is_over = true;
    pthread_cond_signal(&p->stopping);
    pthread_mutex_unlock(&p->mutex);
    pthread_join(p->thread, NULL);
    erase(p);
    p->is_active = false;
    diag_set_handler(p->ctx, NULL, NULL, NULL, NULL);
    pthread_cond_destroy(&p->stopping);
    pthread_mutex_destroy(&p->mutex);
}

static void enter(void *user, const char *doing)
{
    progress_set(user, "%s", doing);
}

DriverProgress progress_of_driver(Progress *p)
{
    return (DriverProgress){enter, p};
}
