/* What an earlier project left in a directory and the new one does not have. It is removed when the new
 * files are there, by a list that is made before, whose lines are
 *
 *   the name of a top function, which its C++ begins with
 *   rtl/NAME or ./NAME, a file of Verilog or beside it
 *
 * The Verilog of a project is known from its own lists, since names come from the layers.
 * Tests: lit/emit/output-directory.mir, lit/emit/output-verilog.mir */
#include <string.h>
#include <unistd.h>

#include "emit/internal.h"

#define RTL_FOLDER "rtl/"
#define HERE "./"

static const char *const folders[] = {RTL_FOLDER, EMIT_BOARD_FOLDER, HERE};
static const char *const lists[] = {RTL_SOURCES, RTL_MEMORIES};
/* What stands beside the files of the lists. */
static const char *const companions[] = {RTL_SOURCES, RTL_MEMORIES, "vivado.tcl", "clock.xdc"};

static bool has_file(const EmittedFiles *files, const char *name)
{
    for (size_t i = 0; i < files->len; i++)
        if (strcmp(files->data[i].name.data, name) == 0) return true;
    return false;
}

static void add_line(StrBuf *out, const char *folder, Str name)
{
    strbuf_printf(out, "%s%s%.*s", out->len > 0 ? "\n" : "", folder, STR_ARG(name));
}

static void add_board_line(const char *name, void *out)
{
    add_line(out, EMIT_BOARD_FOLDER, str_from(name));
}

typedef void LineVisitor(Str line, void *user);

static void each_line(Str text, LineVisitor *visit, void *user)
{
    size_t begin = 0;
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && text.data[i] != '\n') continue;
        if (i > begin) visit((Str){text.data + begin, i - begin}, user);
        begin = i + 1;
    }
}

typedef struct OldList {
    const char *folder;
    StrBuf *out;
} OldList;

static void add_old(Str line, void *user)
{
    const OldList *list = user;
    add_line(list->out, list->folder, line);
}

void emit_list_old_verilog(const char *dir, StrBuf *out)
{
    StrBuf path = {0};
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        for (size_t k = 0; k < COUNT_OF(lists); k++) {
            StrBuf text = {0};
            const char *reason;
            OldList list = {folders[i], out};
            strbuf_clear(&path);
            strbuf_printf(&path, "%s/%s%s", dir, folders[i], lists[k]);
            if (file_read(&text, path.data, &reason)) each_line(strbuf_str(&text), add_old, &list);
            strbuf_free(&text);
        }
    for (size_t k = 0; k < COUNT_OF(companions); k++)
        add_line(out, RTL_FOLDER, str_from(companions[k]));
    emit_each_board_file(add_board_line, out);
    for (size_t k = 0; k < COUNT_OF(lists); k++) add_line(out, HERE, str_from(lists[k]));
    strbuf_free(&path);
}

static bool is_verilog(Str name)
{
    return str_ends_with(name, ".v") || str_ends_with(name, ".hex");
}

void emit_list_verilog(const EmittedFiles *files, StrBuf *out)
{
    for (size_t i = 0; i < files->len; i++) {
        Str name = strbuf_str(&files->data[i].name);
        if (str_starts_with(name, RTL_FOLDER))
            add_line(out, "", name);
        else if (is_verilog(name))
            add_line(out, HERE, name);
    }
}

/* Whether the rest of a line is the name of a file that a list may hold. */
static bool is_listed_name(Str name)
{
    if (name.len == 0 || name.data[0] == '.' || memchr(name.data, '/', name.len)) return false;
    for (size_t i = 0; i < COUNT_OF(companions); i++)
        if (str_eq_c(name, companions[i])) return true;
    return emit_is_board_file(name) || is_verilog(name);
}

typedef struct Removal {
    const char *dir;
    const EmittedFiles *files;
    bool has_removed; /* files of Verilog */
} Removal;

/* A folder and a name, which is relative to the project. False: the line is none. */
static bool remove_verilog(Removal *to, Str line)
{
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        size_t skip = strlen(folders[i]);
        if (!str_starts_with(line, folders[i])) continue;
        Str name = {line.data + skip, line.len - skip};
        StrBuf path = {0};
        strbuf_printf(&path, "%s/%.*s", to->dir, STR_ARG(line));
        const char *relative = path.data + strlen(to->dir) + 1;
        if (strcmp(folders[i], HERE) == 0) relative += skip;
        if (is_listed_name(name) && !has_file(to->files, relative))
            to->has_removed |= unlink(path.data) == 0;
        strbuf_free(&path);
        return true;
    }
    return false;
}

/* The files that begin with the name of a top function. If the new one has another name, the results
 * of its build are removed too. */
static void remove_sources(const char *dir, Str old_top, const EmittedFiles *files)
{
    static const char *const sources[] = {".h",        ".cpp",        "_params.h",  "_host.h",
                                          "_tb.cpp",   "_lib.cpp",    ".mir",       "_weights.npy",
                                          "_data.cfg", "_schedule.h", "_rtl_tb.cpp"};
    static const char *const products[] = {".o",         "_tb.o",   "_csim",   "_cosim",
                                           "_cosim.cpp", "_rtlsim", "_rtl.log"};
    StrBuf name = {0}, path = {0};
    size_t count = COUNT_OF(sources);
    strbuf_printf(&name, "%.*s.h", STR_ARG(old_top));
    if (!has_file(files, name.data)) count += COUNT_OF(products);
    for (size_t i = 0; i < count; i++) {
        strbuf_clear(&name);
        strbuf_printf(&name, "%.*s%s", STR_ARG(old_top),
                      i < COUNT_OF(sources) ? sources[i] : products[i - COUNT_OF(sources)]);
        strbuf_clear(&path);
        strbuf_printf(&path, "%s/%s", dir, name.data);
        if (!has_file(files, name.data)) (void)unlink(path.data);
    }
    strbuf_free(&name);
    strbuf_free(&path);
}

static void remove_line(Str line, void *user)
{
    Removal *to = user;
    if (remove_verilog(to, line) || memchr(line.data, '/', line.len)) return;
    remove_sources(to->dir, line, to->files);
}

void emit_remove_stale(const char *dir, Str lines, const EmittedFiles *files)
{
    Removal removal = {dir, files, false};
    StrBuf path = {0};
    each_line(lines, remove_line, &removal);
    strbuf_printf(&path, "%s/%s", dir, RTL_FOLDER);
    if (removal.has_removed) (void)rmdir(path.data); /* where nothing is left in it */
    strbuf_clear(&path);
    strbuf_printf(&path, "%s/%s", dir, EMIT_BOARD_FOLDER);
    if (removal.has_removed) (void)rmdir(path.data);
    strbuf_free(&path);
}
