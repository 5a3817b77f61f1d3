/* Folders above a project that is new.
 * Tests: lit/emit/output-directory.mir, test/e2e/fault_check.py */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emit/internal.h"

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(xmalloc(size), text, size);
}

char *emit_without_slashes(const char *dir)
{
    char *copy = copy_text(dir);
    for (size_t len = strlen(copy); len > 1 && copy[len - 1] == '/'; len--) copy[len - 1] = '\0';
    return copy;
}

/* Where a path's last part begins, less the slashes before it; 0 without a parent. */
static size_t parent_length(const char *path, size_t len)
{
    while (len > 0 && path[len - 1] != '/') len--;
    while (len > 0 && path[len - 1] == '/') len--;
    return len;
}

bool emit_make_parents(const char *dir, size_t *made)
{
    char *path = copy_text(dir);
    bool ok = true;
    *made = 0;
    for (char *slash = strchr(path + 1, '/'); ok && slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool is_new = slash[-1] != '/' && mkdir(path, 0777) == 0;
        ok = is_new || slash[-1] == '/' || errno == EEXIST || access(path, F_OK) == 0;
        *made += is_new;
        *slash = '/';
    }
    free_ptr((void **)&path);
    return ok;
}

void emit_remove_parents(const char *dir, size_t made)
{
    char *path = copy_text(dir);
    for (size_t len = strlen(dir); made > 0; made--) {
        len = parent_length(path, len);
        path[len] = '\0';
        (void)rmdir(path);
    }
    free_ptr((void **)&path);
}

bool emit_sync_parents(const char *dir, size_t made)
{
    char *path = copy_text(dir);
    size_t len = strlen(path);
    bool ok = true;
    for (size_t i = 0; ok && i <= made; i++) {
        len = parent_length(path, len);
        path[len] = '\0';
        ok = file_sync_folder(len > 0 ? path : dir[0] == '/' ? "/" : ".");
    }
    free_ptr((void **)&path);
    return ok;
}
