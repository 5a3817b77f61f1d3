/* Temporary files and folders: made under a name that nobody else has, removed if the process does
 * not get to the end, collected by the next one if it was killed.
 *
 * A temporary is called STEM.PID.N.tmp. Its maker holds a lock (flock) on it, which ends with the
 * process at the latest, so one that can be locked is abandoned. Between making and locking it may
 * be taken for that; whoever makes one therefore looks whether the name still leads to it.
 *
 * The list of what there is, is the one variable of ming that changes and belongs to the process: a
 * signal handler knows nothing else. A thread that changes the list has all signals blocked and
 * holds a spin lock; a handler in another thread waits for it, and never for its own thread.
 * Tests: test/unit/ir/support/temporary_test.c, test/e2e/fault_check.py */
#define _XOPEN_SOURCE 700 /* nftw */
#define _DEFAULT_SOURCE   /* flock */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/support/support.h"

typedef struct Temporary Temporary;
struct Temporary {
    Temporary *older;
    char path[];
};

static Temporary *newest;
static atomic_flag is_changing = ATOMIC_FLAG_INIT;

static void block_signals(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, before);
}

static void restore_signals(const sigset_t *before)
{
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

static void list_enter(sigset_t *before)
{
    block_signals(before);
    while (atomic_flag_test_and_set(&is_changing)) (void)sched_yield();
}

static void list_leave(const sigset_t *before)
{
    atomic_flag_clear(&is_changing);
    restore_signals(before);
}

static Temporary *entry_of(const char *path)
{
    size_t size = strlen(path) + 1;
    Temporary *temporary = xmalloc(sizeof(*temporary) + size);
    memcpy(temporary->path, path, size);
    return temporary;
}

static void add(Temporary *temporary)
{
    sigset_t before;
    list_enter(&before);
    temporary->older = newest;
    newest = temporary;
    list_leave(&before);
}

void temporary_add(const char *path)
{
    add(entry_of(path));
}

/* Whether a path is another one or below it. */
static bool is_within(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* Takes what is at the path or below it out of the list; gives it, the newest first. */
static Temporary *take(const char *path)
{
    sigset_t before;
    Temporary *taken = NULL, **end = &taken, *kept = NULL, **next = &kept;
    list_enter(&before);
    for (Temporary *t = newest; t; t = t->older) {
        Temporary ***list = is_within(t->path, path) ? &end : &next;
        **list = t;
        *list = &t->older;
    }
    *end = NULL;
    *next = NULL;
    newest = kept;
    list_leave(&before);
    return taken;
}

/* Only calls that a signal handler may make. */
static void remove_path(const char *path)
{
    if (unlink(path) != 0) (void)rmdir(path);
}

void temporary_keep(const char *path)
{
    for (Temporary *t = take(path), *older; t; t = older) {
        older = t->older;
        free(t);
    }
}

void temporary_remove(const char *path)
{
    sigset_t before;
    block_signals(&before); /* what is taken is out of a handler's sight */
    for (Temporary *t = take(path), *older; t; t = older) {
        older = t->older;
        remove_path(t->path);
        free(t);
    }
    restore_signals(&before);
}

void temporary_remove_all(void)
{
    sigset_t before;
    list_enter(&before);
    for (const Temporary *t = newest; t; t = t->older) remove_path(t->path);
    list_leave(&before);
}

/* A new file or folder, opened. < 0: errno says why. */
static int create(const char *path, bool is_folder)
{
    int flags = is_folder ? O_RDONLY | O_DIRECTORY : O_WRONLY | O_CREAT | O_EXCL;
    if (is_folder && mkdir(path, 0777) != 0) return -1;
    int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0666), reason = errno;
    if (fd < 0 && is_folder) (void)rmdir(path);
    errno = is_folder && reason == ENOENT ? EEXIST : reason; /* a collector was faster */
    return fd;
}

static bool is_named(int fd, const char *path)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && lstat(path, &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

/* Where there are no locks, none is ever taken for abandoned. */
static bool lock(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/* Tries one name. False: errno says why, EEXIST that another one may do. */
static bool make(StrBuf *path, bool is_folder, int *fd)
{
    Temporary *temporary = entry_of(path->data); /* before there is anything that could be left */
    *fd = create(path->data, is_folder);
    const int reason = *fd < 0 ? errno : EEXIST;
    const bool is_ours = *fd >= 0 && lock(*fd) && is_named(*fd, path->data);
    if (is_ours) {
        add(temporary);
        return true;
    }
    if (*fd >= 0) {
        close(*fd);
        remove_path(path->data);
    }
    free(temporary);
    errno = reason;
    return false;
}

bool temporary_make(StrBuf *path, const char *stem, TemporaryKind kind, int *fd)
{
    enum { MAX_TRIES = 1000 };
    sigset_t before;
    bool is_made = false;
    temporary_collect(stem);
    block_signals(&before);
    errno = EEXIST;
    for (int i = 0; !is_made && errno == EEXIST && i < MAX_TRIES; i++) {
        strbuf_clear(path);
        strbuf_printf(path, "%s.%ld.%d.tmp", stem, (long)getpid(), i);
        is_made = make(path, kind == TEMPORARY_FOLDER, fd);
    }
    if (!is_made) *fd = -1;
    restore_signals(&before);
    return is_made;
}

bool temporary_is_name(const char *name)
{
    static const char digits[] = "0123456789";
    if (*name++ != '.') return false;
    for (int i = 0; i < 2; i++) {
        size_t len = strspn(name, digits);
        if (len == 0 || name[len] != '.') return false;
        name += len + 1;
    }
    return strcmp(name, "tmp") == 0;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    (void)remove(path);
    return 0;
}

static void remove_abandoned(const char *path)
{
    enum { MAX_OPEN_FOLDERS = 16 };
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && is_named(fd, path))
        (void)nftw(path, remove_entry, MAX_OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    if (fd >= 0) close(fd);
}

void temporary_collect(const char *stem)
{
    StrBuf path = {0};
    const char *slash = strrchr(stem, '/'), *base = slash ? slash + 1 : stem;
    strbuf_add(&path, stem, (size_t)(base - stem));
    DIR *folder = opendir(slash ? path.data : ".");
    const size_t folder_len = path.len, base_len = strlen(base);
    for (const struct dirent *entry = folder ? readdir(folder) : NULL; entry;
         entry = readdir(folder)) {
        if (strncmp(entry->d_name, base, base_len) != 0 ||
            !temporary_is_name(entry->d_name + base_len))
            continue;
        path.len = folder_len;
        strbuf_add_c(&path, entry->d_name);
        remove_abandoned(path.data);
    }
    if (folder) closedir(folder);
    strbuf_free(&path);
}
