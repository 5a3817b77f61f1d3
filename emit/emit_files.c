/* The project's directory. All files are written to a temporary directory first. A new project is
 * that directory renamed; in an old project the files are replaced one by one, each at once, while
 * no other process replaces any. Its report is removed before and comes last: a directory with a
 * report is whole. Files in an old project that ming did not write stay: results, Vitis's folders, a
 * shell's working directory.
 * Tests: lit/emit/output-directory.mir */
#define _XOPEN_SOURCE 700 /* nftw */
#define _DEFAULT_SOURCE   /* flock */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emit/internal.h"
#include "ir/asm/print/print.h"

/* "dir/name", in the buffer */
static const char *join(StrBuf *path, const char *dir, const char *name)
{
    strbuf_clear(path);
    strbuf_printf(path, "%s/%s", dir, name);
    return path->data;
}

/* What failed, as errno has it, in *why. */
static bool file_error(StrBuf *why, const char *what, const char *path)
{
    const char *reason = strerror(errno);
    strbuf_printf(why, "cannot %s '%s': %s", what, path, reason);
    return false;
}

/* Appends the contents as far as they can be read. False: errno says why. */
static bool read_file(const char *path, StrBuf *out)
{
    char part[4096];
    size_t got;
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    while ((got = fread(part, 1, sizeof(part), file)) > 0) strbuf_add(out, part, got);
    bool ok = !ferror(file);
    fclose(file);
    return ok;
}

bool emit_read_text_file(Context *ctx, const char *path, StrBuf *out)
{
    return read_file(path, out) ||
           diag_error(ctx, loc_unknown(ctx), "cannot read '%s': %s", path, strerror(errno));
}

static bool write_file(const char *path, Str text)
{
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    bool ok = fwrite(text.data, 1, text.len, file) == text.len;
    return fclose(file) == 0 && ok;
}

/* Makes the directories that a relative name needs below dir. */
static bool make_folders(const char *dir, const char *name)
{
    StrBuf path = {0};
    bool ok = true;
    for (const char *slash = strchr(name, '/'); ok && slash; slash = strchr(slash + 1, '/')) {
        strbuf_clear(&path);
        strbuf_printf(&path, "%s/%.*s", dir, (int)(slash - name), name);
        ok = mkdir(path.data, 0777) == 0 || errno == EEXIST;
    }
    strbuf_free(&path);
    return ok;
}

/* Removes the files, then the folders that are empty by then. */
static void remove_files(const char *dir, const EmittedFiles *files)
{
    StrBuf path = {0};
    for (size_t i = 0; i < files->len; i++)
        (void)unlink(join(&path, dir, files->data[i].name.data));
    for (size_t i = 0; i < files->len; i++) {
        join(&path, dir, files->data[i].name.data);
        for (char *slash; (slash = strrchr(path.data, '/')) > path.data + strlen(dir);) {
            *slash = '\0';
            (void)rmdir(path.data);
        }
    }
    (void)rmdir(dir);
    strbuf_free(&path);
}

typedef enum CopyPlace { PLACE_NEW, PLACE_EMPTY, PLACE_OURS, PLACE_WRONG } CopyPlace;

/* ".PID.N.tmp": the directory of a process that is writing, or was stopped while it did. */
static bool is_temporary(const char *name)
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

static bool is_empty(DIR *folder)
{
    const struct dirent *entry;
    while ((entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !is_temporary(entry->d_name))
            return false;
    return true;
}

/* Reads an old report up to the top function's name. */
static bool read_old_top(const char *dir, StrBuf *top)
{
    StrBuf path = {0}, report = {0};
    bool ours = read_file(join(&path, dir, REPORT_NAME), &report) &&
                str_starts_with(strbuf_str(&report), REPORT_START "\"");
    for (const char *c = ours ? report.data + sizeof(REPORT_START) : ""; *c && *c != '"'; c++)
        strbuf_add_char(top, *c);
    strbuf_free(&path);
    strbuf_free(&report);
    return ours;
}

/* A symbolic link to nothing cannot be replaced by a directory. */
static bool leads_nowhere(const char *dir, StrBuf *why)
{
    struct stat link;
    if (lstat(dir, &link) != 0 || !S_ISLNK(link.st_mode)) return false;
    strbuf_printf(why, "cannot write to '%s': a symbolic link to what does not exist", dir);
    return true;
}

static CopyPlace look_at(const char *dir, StrBuf *old_top, StrBuf *why)
{
    DIR *folder = opendir(dir);
    if (!folder && errno == ENOENT && !leads_nowhere(dir, why)) return PLACE_NEW;
    if (!folder) {
        if (why->len == 0) file_error(why, "write to", dir);
        return PLACE_WRONG;
    }
    bool empty = is_empty(folder);
    closedir(folder);
    if (empty) return PLACE_EMPTY;
    if (read_old_top(dir, old_top)) return PLACE_OURS;
    strbuf_printf(why, "refusing to overwrite '%s': it holds files, but no report.json of ming",
                  dir);
    return PLACE_WRONG;
}

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(xmalloc(size), text, size);
}

/* "a/b//" -> "a/b"; "/" stays */
static char *without_slashes(const char *dir)
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

/* Makes the folders above a directory that are missing; *made counts them. */
static bool make_parents(const char *dir, size_t *made)
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

/* Removes the innermost `made` folders above a directory, as make_parents made them. */
static void remove_parents(const char *dir, size_t made)
{
    char *path = copy_text(dir);
    for (size_t len = strlen(dir); made > 0; made--) {
        len = parent_length(path, len);
        path[len] = '\0';
        (void)rmdir(path);
    }
    free_ptr((void **)&path);
}

/* A new directory beside a new project, or inside an old one. */
static bool make_temporary(const char *dir, CopyPlace place, StrBuf *out, StrBuf *why)
{
    enum { MAX_TRIES = 1000 };
    for (int i = 0; i < MAX_TRIES; i++) {
        strbuf_clear(out);
        strbuf_printf(out, "%s%s.%ld.%d.tmp", dir, place == PLACE_NEW ? "" : "/", (long)getpid(),
                      i);
        if (mkdir(out->data, 0777) == 0) return true;
        if (errno != EEXIST) break;
    }
    return file_error(why, "create", dir);
}

static bool fill(const char *dir, const EmittedFiles *files, StrBuf *why)
{
    StrBuf path = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < files->len; i++) {
        const EmittedFile *file = &files->data[i];
        join(&path, dir, file->name.data);
        ok = (make_folders(dir, file->name.data) &&
              write_file(path.data, strbuf_str(&file->text))) ||
             file_error(why, "write", path.data);
    }
    strbuf_free(&path);
    return ok;
}

static bool move_file(const char *from, const char *to, const char *name, StrBuf *why)
{
    StrBuf old_path = {0}, new_path = {0};
    join(&old_path, from, name);
    join(&new_path, to, name);
    bool ok = (make_folders(to, name) && rename(old_path.data, new_path.data) == 0) ||
              file_error(why, "write", new_path.data);
    strbuf_free(&old_path);
    strbuf_free(&new_path);
    return ok;
}

#define INCOMPLETE ",\n  \"incomplete\": true"

bool emit_check_whole(const char *dir, StrBuf *why)
{
    StrBuf path = {0}, report = {0}, top = {0};
    bool is_half = read_old_top(dir, &top) && read_file(join(&path, dir, REPORT_NAME), &report) &&
                   strncmp(report.data + strlen(REPORT_START) + top.len + 2, INCOMPLETE,
                           strlen(INCOMPLETE)) == 0;
    if (is_half)
        strbuf_printf(why, "'%s' is not whole: writing it was stopped half way; compile again",
                      dir);
    strbuf_free(&path);
    strbuf_free(&report);
    strbuf_free(&top);
    return !is_half;
}

/* A report that stands while files are replaced: whoever is stopped meanwhile leaves a directory
 * that is ming's, but that nobody takes for a whole project. */
static bool write_marker(const char *dir, Str top, StrBuf *why)
{
    StrBuf path = {0}, text = {0};
    const char *reason;
    strbuf_printf(&text, REPORT_START "\"%.*s\"" INCOMPLETE "\n}\n", STR_ARG(top));
    bool ok = file_write(join(&path, dir, REPORT_NAME), strbuf_str(&text), &reason);
    if (!ok) strbuf_printf(why, "cannot write '%s': %s", path.data, reason);
    strbuf_free(&path);
    strbuf_free(&text);
    return ok;
}

static bool move_files(const char *from, const char *to, const EmittedFiles *files, StrBuf *why)
{
    bool ok = true;
    for (size_t i = 0; ok && i < files->len; i++)
        if (strcmp(files->data[i].name.data, REPORT_NAME) != 0)
            ok = move_file(from, to, files->data[i].name.data, why);
    return ok && move_file(from, to, REPORT_NAME, why);
}

static bool has_file(const EmittedFiles *files, const char *name)
{
    for (size_t i = 0; i < files->len; i++)
        if (strcmp(files->data[i].name.data, name) == 0) return true;
    return false;
}

/* Removes the files that the earlier project had and this one does not have. If its top function
 * had another name, the results of its build are removed too. */
static void remove_stale(const char *dir, const char *old_top, const EmittedFiles *files)
{
    static const char *const sources[] = {".h",           ".cpp",      "_params.h",
                                          "_host.h",      "_tb.cpp",   ".mir",
                                          "_weights.npy", "_data.cfg", "_schedule.h"};
    static const char *const products[] = {".o", "_tb.o", "_csim", "_cosim", "_cosim.cpp"};
    StrBuf name = {0}, path = {0};
    size_t count = COUNT_OF(sources);
    strbuf_printf(&name, "%s.h", old_top);
    if (!has_file(files, name.data)) count += COUNT_OF(products);
    for (size_t i = 0; !strchr(old_top, '/') && i < count; i++) {
        strbuf_clear(&name);
        strbuf_printf(&name, "%s%s", old_top,
                      i < COUNT_OF(sources) ? sources[i] : products[i - COUNT_OF(sources)]);
        if (!has_file(files, name.data)) (void)unlink(join(&path, dir, name.data));
    }
    strbuf_free(&name);
    strbuf_free(&path);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    (void)remove(path);
    return 0;
}

enum { MAX_OPEN_FOLDERS = 16 };

/* A place that can be written to: its parents and the temporary directory exist. */
typedef struct OutputPlace {
    char *dir;
    CopyPlace kind;
    size_t made; /* folders above dir that were missing */
    StrBuf temporary, old_top;
    int lock; /* on the temporary directory, which says that it is in use */
} OutputPlace;

static void leave_place(OutputPlace *place, bool keeps_parents)
{
    if (place->lock >= 0) close(place->lock);
    if (!keeps_parents) remove_parents(place->dir, place->made);
    free_ptr((void **)&place->dir);
    strbuf_free(&place->temporary);
    strbuf_free(&place->old_top);
}

/* The temporary directory, and the lock that says that it is in use. Whoever collects abandoned ones
 * waits until it has its lock. */
static bool take_temporary(OutputPlace *place, StrBuf *why)
{
    int guard = place->kind == PLACE_NEW ? -1 : open(place->dir, O_RDONLY | O_DIRECTORY);
    if (guard >= 0) (void)flock(guard, LOCK_SH);
    bool ok = make_temporary(place->dir, place->kind, &place->temporary, why);
    if (ok) place->lock = open(place->temporary.data, O_RDONLY | O_DIRECTORY);
    if (place->lock >= 0) (void)flock(place->lock, LOCK_EX | LOCK_NB);
    if (guard >= 0) close(guard);
    return ok;
}

/* False: *why says why, and nothing is left behind. Else leave_place ends it. */
static bool enter_place(const char *dir, OutputPlace *out, StrBuf *why)
{
    *out = (OutputPlace){.dir = without_slashes(dir), .lock = -1};
    out->kind = look_at(out->dir, &out->old_top, why);
    bool ok = out->kind != PLACE_WRONG;
    if (ok && out->kind == PLACE_NEW)
        ok = make_parents(out->dir, &out->made) || file_error(why, "create", out->dir);
    ok = ok && take_temporary(out, why);
    if (!ok) leave_place(out, false);
    return ok;
}

bool emit_check_output(const char *dir, StrBuf *why)
{
    OutputPlace place;
    if (!enter_place(dir, &place, why)) return false;
    (void)rmdir(place.temporary.data);
    leave_place(&place, false);
    return true;
}

/* Removes the directory of a process that was stopped: it has no lock. */
static void remove_abandoned(const char *dir, const char *name)
{
    StrBuf path = {0};
    int fd = open(join(&path, dir, name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)nftw(path.data, remove_entry, MAX_OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    if (fd >= 0) close(fd);
    strbuf_free(&path);
}

static void collect_abandoned(const char *dir)
{
    DIR *folder = opendir(dir);
    for (const struct dirent *entry = folder ? readdir(folder) : NULL; entry;
         entry = readdir(folder))
        if (is_temporary(entry->d_name)) remove_abandoned(dir, entry->d_name);
    if (folder) closedir(folder);
}

/* Replaces the files of a directory that is empty or an earlier project, one process at a time. */
static bool renew(OutputPlace *place, const EmittedFiles *files, StrBuf *why)
{
    int lock = open(place->dir, O_RDONLY | O_DIRECTORY);
    bool ok = lock >= 0 && flock(lock, LOCK_EX) == 0;
    if (!ok) file_error(why, "lock", place->dir);
    strbuf_clear(&place->old_top); /* of whoever wrote last */
    ok = ok && look_at(place->dir, &place->old_top, why) != PLACE_WRONG;
    Str old_top = strbuf_str(&place->old_top);
    ok = ok && write_marker(place->dir, old_top, why) &&
         move_files(place->temporary.data, place->dir, files, why);
    if (ok) {
        remove_stale(place->dir, old_top.len > 0 ? old_top.data : "", files);
        collect_abandoned(place->dir);
    }
    if (lock >= 0) close(lock);
    return ok;
}

bool emit_write_project(const char *dir, const EmittedFiles *files, StrBuf *why)
{
    OutputPlace place;
    if (!enter_place(dir, &place, why)) return false;
    const char *temporary = place.temporary.data;
    bool ok = fill(temporary, files, why), is_new = ok && place.kind == PLACE_NEW;
    if (is_new && rename(temporary, place.dir) != 0) {
        is_new = false; /* another process was first */
        ok = errno == EEXIST || errno == ENOTEMPTY || file_error(why, "create", place.dir);
    }
    if (ok && !is_new) ok = renew(&place, files, why);
    if (!is_new) remove_files(temporary, files);
    leave_place(&place, ok);
    return ok;
}
