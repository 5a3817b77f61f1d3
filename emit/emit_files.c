/* The project's directory. All files are written to a temporary directory first, and are on the disk
 * before anything else happens. A new project is that directory renamed. In an old project the files
 * are replaced one by one, each at once, while no other process replaces any. Its report is removed
 * before and comes last: a directory with a report is whole. Meanwhile a marker says whose it is.
 * Files in an old project that ming did not write stay: results, Vitis's folders, a shell's working
 * directory.
 *
 *   order on the disk: marker, no report | files, none of former projects | report | no marker
 *
 * Signals that end the process wait until that is done; it takes milliseconds.
 * Tests: lit/emit/output-directory.mir, lit/emit/output-stopped.test, test/e2e/fault_check.py */
#define _DEFAULT_SOURCE /* flock */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emit/internal.h"
#include "ir/asm/print/print.h"

/* Its lines are the names of the top functions whose files may be there, and of files in Verilog. */
#define MARKER_NAME ".incomplete"

enum { MOST_TRIES = 8 };

/* "dir/name", in the buffer */
static const char *join(StrBuf *path, const char *dir, const char *name)
{
    strbuf_clear(path);
    strbuf_printf(path, "%s/%s", dir, name);
    return path->data;
}

static bool refuse(StrBuf *why, const char *what, const char *path, const char *reason)
{
    strbuf_printf(why, "cannot %s '%s': %s", what, path, reason);
    return false;
}

/* What failed, as errno has it, in *why. */
static bool file_error(StrBuf *why, const char *what, const char *path)
{
    return refuse(why, what, path, strerror(errno));
}

bool emit_read_text_file(Context *ctx, const char *path, StrBuf *out)
{
    const char *reason;
    return file_read(out, path, &reason) ||
           diag_error(ctx, loc_unknown(ctx), "cannot read '%s': %s", path, reason);
}

/* Makes the directories that a relative name needs below dir, as temporary ones or to stay. */
static bool make_folders(const char *dir, const char *name, bool is_temporary)
{
    StrBuf path = {0};
    bool ok = true;
    for (const char *slash = strchr(name, '/'); ok && slash; slash = strchr(slash + 1, '/')) {
        strbuf_clear(&path);
        strbuf_printf(&path, "%s/%.*s", dir, (int)(slash - name), name);
        if (is_temporary) temporary_add(path.data);
        ok = mkdir(path.data, 0777) == 0 || errno == EEXIST;
    }
    strbuf_free(&path);
    return ok;
}

/* Has the names in dir, and in its folders that the files are in, on the disk. */
static bool sync_folders(const char *dir, const EmittedFiles *files, StrBuf *why)
{
    StrBuf path = {0}, last = {0};
    bool ok = file_sync_folder(dir) || file_error(why, "write to", dir);
    for (size_t i = 0; ok && i < files->len; i++) {
        join(&path, dir, files->data[i].name.data);
        *strrchr(path.data, '/') = '\0';
        if (strcmp(path.data, dir) == 0 || (last.len > 0 && strcmp(path.data, last.data) == 0))
            continue;
        ok = file_sync_folder(path.data) || file_error(why, "write to", path.data);
        strbuf_clear(&last);
        strbuf_add_c(&last, path.data);
    }
    strbuf_free(&path);
    strbuf_free(&last);
    return ok;
}

typedef enum CopyPlace { PLACE_NEW, PLACE_EMPTY, PLACE_OURS, PLACE_WRONG } CopyPlace;

/* A place that can be written to: its parents and the temporary directory exist. */
typedef struct OutputPlace {
    char *dir;
    CopyPlace kind;
    size_t made; /* folders above dir that were missing */
    StrBuf temporary, old_tops;
    int open; /* of the temporary directory, which is in use until it is closed */
} OutputPlace;

static bool is_empty(DIR *folder)
{
    const struct dirent *entry;
    while ((entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !temporary_is_name(entry->d_name))
            return false;
    return true;
}

/* The name of the top function that a report begins with. False: it is none of ming's. */
static bool read_report(const char *dir, StrBuf *top)
{
    StrBuf path = {0}, report = {0};
    const char *reason;
    bool ours = file_read(&report, join(&path, dir, REPORT_NAME), &reason) &&
                str_starts_with(strbuf_str(&report), REPORT_START "\"");
    for (const char *c = ours ? report.data + sizeof(REPORT_START) : ""; *c && *c != '"'; c++)
        strbuf_add_char(top, *c);
    strbuf_free(&path);
    strbuf_free(&report);
    return ours;
}

/* The lines of the marker of a directory that is not whole. */
static bool read_marker(const char *dir, StrBuf *tops)
{
    StrBuf path = {0};
    const char *reason;
    bool ok = file_read(tops, join(&path, dir, MARKER_NAME), &reason);
    strbuf_free(&path);
    return ok;
}

bool emit_check_whole(const char *dir, StrBuf *why)
{
    StrBuf path = {0}, top = {0};
    struct stat info;
    bool is_half = stat(join(&path, dir, REPORT_NAME), &info) != 0 && read_marker(dir, &top);
    if (is_half)
        strbuf_printf(why, "'%s' is not whole: writing it was stopped half way; compile again",
                      dir);
    strbuf_free(&path);
    strbuf_free(&top);
    return !is_half;
}

/* A symbolic link to nothing cannot be replaced by a directory. */
static bool leads_nowhere(const char *dir, StrBuf *why)
{
    struct stat link;
    if (lstat(dir, &link) != 0 || !S_ISLNK(link.st_mode)) return false;
    strbuf_printf(why, "cannot write to '%s': a symbolic link to what does not exist", dir);
    return true;
}

static CopyPlace look_at(const char *dir, StrBuf *old_tops, StrBuf *why)
{
    DIR *folder = opendir(dir);
    if (!folder && !*dir) {
        file_error(why, "write to", dir);
        return PLACE_WRONG;
    }
    if (!folder && errno == ENOENT && !leads_nowhere(dir, why)) return PLACE_NEW;
    if (!folder) {
        if (why->len == 0) file_error(why, "write to", dir);
        return PLACE_WRONG;
    }
    bool empty = is_empty(folder);
    closedir(folder);
    if (empty) return PLACE_EMPTY;
    if (read_report(dir, old_tops)) {
        emit_list_old_files(dir, old_tops);
        return PLACE_OURS;
    }
    if (read_marker(dir, old_tops)) return PLACE_OURS;
    strbuf_printf(why, "refusing to overwrite '%s': it holds files, but no report.json of ming",
                  dir);
    return PLACE_WRONG;
}

static bool fill(const char *dir, const EmittedFiles *files, StrBuf *why)
{
    StrBuf path = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < files->len; i++) {
        const EmittedFile *file = &files->data[i];
        const char *reason = NULL;
        join(&path, dir, file->name.data);
        ok = make_folders(dir, file->name.data, true) || file_error(why, "write", path.data);
        if (ok) temporary_add(path.data);
        ok = ok && (file_create(path.data, strbuf_str(&file->text), &reason) ||
                    refuse(why, "write", path.data, reason));
    }
    /* Waiting last is waiting once: by then all of them are under way. */
    for (size_t i = 0; ok && i < files->len; i++)
        ok = file_sync(join(&path, dir, files->data[i].name.data)) ||
             file_error(why, "write", path.data);
    strbuf_free(&path);
    return ok && sync_folders(dir, files, why);
}

static bool move_file(const char *from, const char *to, const char *name, StrBuf *why)
{
    StrBuf old_path = {0}, new_path = {0};
    join(&old_path, from, name);
    join(&new_path, to, name);
    bool ok = (make_folders(to, name, false) && rename(old_path.data, new_path.data) == 0) ||
              file_error(why, "write", new_path.data);
    strbuf_free(&old_path);
    strbuf_free(&new_path);
    return ok;
}

/* Appends the name of the top function of the new project, as a line. */
static void add_own_top(const EmittedFiles *files, StrBuf *tops)
{
    for (size_t i = 0; i < files->len; i++) {
        Str name = strbuf_str(&files->data[i].name);
        if (!str_ends_with(name, ".mir") || memchr(name.data, '/', name.len)) continue;
        if (tops->len > 0) strbuf_add_char(tops, '\n');
        strbuf_add(tops, name.data, name.len - strlen(".mir"));
    }
}

/* Puts the marker there and takes the report away. Whoever is stopped from here on leaves a directory
 * that is ming's, but that nobody takes for a whole project. */
static bool mark(const OutputPlace *place, const EmittedFiles *files, StrBuf *why)
{
    StrBuf path = {0}, tops = {0};
    const char *reason;
    strbuf_add_str(&tops, strbuf_str(&place->old_tops));
    add_own_top(files, &tops);
    emit_list_files(files, &tops);
    join(&path, place->temporary.data, MARKER_NAME);
    temporary_add(path.data);
    bool ok = file_create(path.data, strbuf_str(&tops), &reason) ||
              refuse(why, "write", path.data, reason);
    ok = ok && (file_sync(path.data) || file_error(why, "write", path.data));
    ok = ok && move_file(place->temporary.data, place->dir, MARKER_NAME, why);
    join(&path, place->dir, REPORT_NAME);
    ok = ok && (unlink(path.data) == 0 || errno == ENOENT || file_error(why, "remove", path.data));
    ok = ok && (file_sync_folder(place->dir) || file_error(why, "write to", place->dir));
    strbuf_free(&path);
    strbuf_free(&tops);
    return ok;
}

/* The report is there, and so the project is whole, with the marker or without it. */
static bool unmark(const char *dir, StrBuf *why)
{
    StrBuf path = {0};
    bool ok = file_sync_folder(dir) || file_error(why, "write to", dir);
    if (ok) (void)unlink(join(&path, dir, MARKER_NAME));
    strbuf_free(&path);
    return ok;
}

static bool move_files(const char *from, const char *to, const EmittedFiles *files, StrBuf *why)
{
    bool ok = true;
    for (size_t i = 0; ok && i < files->len; i++)
        if (strcmp(files->data[i].name.data, REPORT_NAME) != 0)
            ok = move_file(from, to, files->data[i].name.data, why);
    return ok;
}

static void leave_place(OutputPlace *place, bool keeps_parents)
{
    if (place->temporary.len > 0) temporary_remove(place->temporary.data);
    if (place->open >= 0) close(place->open);
    if (!keeps_parents) emit_remove_parents(place->dir, place->made);
    free_ptr((void **)&place->dir);
    strbuf_free(&place->temporary);
    strbuf_free(&place->old_tops);
}

/* A new directory beside a new project, or inside an old one. */
static bool make_temporary(OutputPlace *place)
{
    StrBuf stem = {0};
    strbuf_printf(&stem, "%s%s", place->dir, place->kind == PLACE_NEW ? "" : "/");
    bool ok = temporary_make(&place->temporary, stem.data, TEMPORARY_FOLDER, &place->open);
    if (!ok) strbuf_clear(&place->temporary);
    strbuf_free(&stem);
    return ok;
}

/* The temporary directory, and the folders above it that are missing. A process that fails removes
 * those that it made, which may be those that this one has found. */
static bool make_place(OutputPlace *place)
{
    for (int tries = 0; tries < MOST_TRIES; tries++) {
        bool ok = place->kind != PLACE_NEW || emit_make_parents(place->dir, &place->made);
        if (ok && make_temporary(place)) return true;
        if (errno != ENOENT) return false;
    }
    return false;
}

/* False: *why says why, and nothing is left behind. Else leave_place ends it. */
static bool enter_place(const char *dir, OutputPlace *out, StrBuf *why)
{
    *out = (OutputPlace){.dir = emit_without_slashes(dir), .open = -1};
    out->kind = look_at(out->dir, &out->old_tops, why);
    bool ok = out->kind != PLACE_WRONG && (make_place(out) || file_error(why, "create", out->dir));
    if (!ok) leave_place(out, false);
    return ok;
}

bool emit_check_output(const char *dir, StrBuf *why)
{
    OutputPlace place;
    if (!enter_place(dir, &place, why)) return false;
    leave_place(&place, false);
    return true;
}

/* Replaces the files of a directory that is empty or an earlier project; the caller has its lock. */
static bool replace_files(OutputPlace *place, const EmittedFiles *files, StrBuf *why)
{
    strbuf_clear(&place->old_tops); /* of whoever wrote last */
    if (look_at(place->dir, &place->old_tops, why) == PLACE_WRONG) return false;
    const char *temporary = place->temporary.data;
    bool ok = mark(place, files, why) && move_files(temporary, place->dir, files, why);
    if (ok) emit_remove_stale(place->dir, strbuf_str(&place->old_tops), files);
    ok = ok && sync_folders(place->dir, files, why) &&
         move_file(temporary, place->dir, REPORT_NAME, why) && unmark(place->dir, why);
    if (!ok) return false;
    temporary_collect(place->dir); /* of when the directory was new */
    return true;
}

/* One process at a time, which is not stopped half way by a signal that it can wait with. */
static bool renew(OutputPlace *place, const EmittedFiles *files, StrBuf *why)
{
    sigset_t all, before;
    int lock = open(place->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = (lock >= 0 && flock(lock, LOCK_EX) == 0) || file_error(why, "lock", place->dir);
    sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    ok = ok && replace_files(place, files, why);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (lock >= 0) close(lock);
    return ok;
}

/* The temporary directory becomes a project that was not there. False, with nothing in *why: another
 * process was first. */
static bool become_new(OutputPlace *place, StrBuf *why)
{
    if (rename(place->temporary.data, place->dir) != 0) {
        if (errno != EEXIST && errno != ENOTEMPTY) file_error(why, "create", place->dir);
        return false;
    }
    temporary_keep(place->temporary.data);
    strbuf_clear(&place->temporary);
    return true;
}

bool emit_write_project(const char *dir, const EmittedFiles *files, StrBuf *why)
{
    OutputPlace place;
    if (!enter_place(dir, &place, why)) return false;
    bool ok = fill(place.temporary.data, files, why);
    bool is_new = ok && place.kind == PLACE_NEW && become_new(&place, why);
    ok = ok && why->len == 0;
    if (is_new)
        ok = emit_sync_parents(place.dir, place.made) || file_error(why, "write to", place.dir);
    else
        ok = ok && renew(&place, files, why);
    leave_place(&place, ok || is_new);
    return ok;
}
