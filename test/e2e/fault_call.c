/* A library for LD_PRELOAD that makes one call of a program go wrong, for test/e2e/fault_check.py.
 *
 *   FAULT_CALL=rename   which function: open, write, fsync, rename, close, mkdir, unlink, or malloc,
 *                       which stands for calloc and realloc, too
 *   FAULT_NTH=3         the third call of it; with FAULT_REST=1 also all that follow
 *   FAULT_ERROR=28      it fails with this errno (ENOSPC); malloc gives NULL
 *   FAULT_SIGNAL=9      or the signal is raised in its place; a write writes half before
 *   FAULT_MARK=FILE     is made when the call happens */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *wanted, *mark;
static long nth, count, error_number, signal_number;
static bool fails_rest;

static long number(const char *name)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void read_environment(void)
{
    nth = number("FAULT_NTH");
    error_number = number("FAULT_ERROR");
    signal_number = number("FAULT_SIGNAL");
    fails_rest = number("FAULT_REST") != 0;
    mark = getenv("FAULT_MARK");
    wanted = getenv("FAULT_CALL");
}

static bool is_due(const char *call)
{
    if (!wanted || strcmp(wanted, call) != 0) return false;
    count++;
    return count == nth || (fails_rest && count > nth);
}

/* Whether the call is to fail. */
static bool fails(const char *call)
{
    if (!is_due(call)) return false;
    if (mark) (void)syscall(SYS_close, (int)syscall(SYS_open, mark, O_CREAT | O_WRONLY, 0666));
    if (signal_number) {
        (void)raise((int)signal_number);
        return false;
    }
    errno = (int)error_number;
    return true;
}

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return fails("open") ? -1 : NEXT(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

ssize_t write(int fd, const void *data, size_t size)
{
    if (wanted && strcmp(wanted, "write") == 0 && signal_number && count + 1 == nth)
        (void)NEXT(write)(fd, data, size / 2);
    return fails("write") ? -1 : NEXT(write)(fd, data, size);
}

int fsync(int fd)
{
    return fails("fsync") ? -1 : NEXT(fsync)(fd);
}

int rename(const char *from, const char *to)
{
    return fails("rename") ? -1 : NEXT(rename)(from, to);
}

/* The descriptor is closed in any case, as Linux does it. */
int close(int fd)
{
    bool is_bad = fails("close");
    int number_before = errno, status = NEXT(close)(fd);
    if (!is_bad) return status;
    errno = number_before;
    return -1;
}

int mkdir(const char *path, mode_t mode)
{
    return fails("mkdir") ? -1 : NEXT(mkdir)(path, mode);
}

int unlink(const char *path)
{
    return fails("unlink") ? -1 : NEXT(unlink)(path);
}

/* dlsym allocates itself: what it takes before the functions are known comes from here. */
static char early[4096];
static size_t early_used;
static bool is_early(const void *memory)
{
    return (const char *)memory >= early && (const char *)memory < early + sizeof(early);
}

static void *take_early(size_t size)
{
    char *memory = early + early_used;
    early_used += (size + 15) / 16 * 16;
    return early_used <= sizeof(early) ? memory : NULL;
}

static void *(*next_malloc)(size_t), *(*next_calloc)(size_t, size_t),
    *(*next_realloc)(void *, size_t);
static void (*next_free)(void *);

static bool find_memory_functions(void)
{
    static bool is_searching;
    if (next_free) return true;
    if (is_searching) return false;
    is_searching = true;
    next_malloc = NEXT(malloc);
    next_calloc = NEXT(calloc);
    next_realloc = NEXT(realloc);
    next_free = NEXT(free);
    return true;
}

void *malloc(size_t size)
{
    if (!find_memory_functions()) return take_early(size);
    return fails("malloc") ? NULL : next_malloc(size);
}

void *calloc(size_t items, size_t size)
{
    if (!find_memory_functions()) return take_early(items * size);
    return fails("malloc") ? NULL : next_calloc(items, size);
}

void *realloc(void *old, size_t size)
{
    if (!find_memory_functions()) return take_early(size);
    return fails("malloc") ? NULL : next_realloc(old, size);
}

void free(void *memory)
{
    if (!memory || is_early(memory) || !find_memory_functions()) return;
    next_free(memory);
}
