/* What an earlier project left in a directory and the new one does not have. It is removed when the new
 * files are there, by a list that is made before, whose lines are
 *
 *   the name of a top function, which its C++ begins with
 *   rtl/NAME or ./NAME, a file of Verilog or beside it
 *   kernels/NAME, cardN/link.cfg, ./system.mk or ./system.json, of a design on cards
 *   ./NAME, csim/NAME or host/NAME, what a project of its kind always has
 *
 * The Verilog and the kernels of a project are known from its own lists, since names come from the
 * layers.
 * Tests: lit/emit/output-directory.mir, lit/emit/output-verilog.mir, lit/emit/kernels.test */
#include <string.h>
#include <unistd.h>

#include "emit/internal.h"

#define RTL_FOLDER "rtl/"
#define HERE "./"
#define HOST_FOLDER "host/" /* of an engine */

#define KERNEL_FOLDER "kernels/"
#define SYSTEM_RULES "system.mk"

static const char *const folders[] = {RTL_FOLDER, EMIT_BOARD_FOLDER, EMIT_CSIM_FOLDER, HOST_FOLDER,
                                      HERE};
/* Names that do not depend on the design. Where the first is there, all of them are ming's. An
 * engine's are those of emit/overlay/files.c. */
static const char *const hls_files[] = {"hls_config.cfg", "run_hls.tcl",  "Makefile",
                                        ".clang-format",  "folding.json", NULL};
static const char *const placed_files[] = {"floorplan.tcl", "link.cfg", NULL};
static const char *const engine_files[] = {"engine_config.h",  "engine_files.h",  "engine_isa.h",
                                           "engine_program.h", "engine.cpp",      "engine.h",
                                           "engine_tb.cpp",    "activations.cpp", "alu.cpp",
                                           "array.cpp",        "compute.cpp",     "fetch.cpp",
                                           "fill.cpp",         "Makefile",        "run_hls.tcl",
                                           "semaphores.cpp",   "transfers.cpp",   NULL};
static const char *const engine_host_files[] = {
    "engine_host.cpp", "engine_xrt.h", "engine_zynq.h", "host_config.h",
    "host_main.h",     "two_sided.h",  "link.cfg",      NULL};
static const char *const engine_headers[] = {"ming_fibres.h", NULL}; /* others have not */
static const char *const *const fixed_names[] = {
    hls_files, placed_files, engine_files, engine_host_files, emit_csim_names, engine_headers};
/* Of a design on cards: what stands beside the folders, and what is in that of the kernels. */
static const char *const system_files[] = {SYSTEM_RULES, "system.json"};
static const char *const kernel_files[] = {".cpp", ".h", "_params.h", ".cfg", ".npy"};
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

/* From the rules of a system: "KERNELS := \\" and names behind tabs, and "kernels/TOP_system.o". */
static void add_old_kernel(Str line, void *user)
{
    static const char objects[] = "SYSTEM_OBJECTS := " KERNEL_FOLDER;
    StrBuf *out = user;
    const char *end = line.data + line.len, *at = line.data;
    size_t skip = strlen(objects);
    if (line.len > skip && memcmp(line.data, objects, skip) == 0) {
        Str top = {line.data + skip, strcspn(line.data + skip, ".\n")};
        static const char system[] = "_system";
        add_line(out, KERNEL_FOLDER, top);
        strbuf_add_c(out, ".cpp");
        if (!str_ends_with(top, system)) return;
        add_line(out, KERNEL_FOLDER, (Str){top.data, top.len - strlen(system)});
        strbuf_add_c(out, ".mir");
        add_line(out, KERNEL_FOLDER, (Str){top.data, top.len - strlen(system)});
        strbuf_add_c(out, "_network.cpp");
        add_line(out, KERNEL_FOLDER, STR("ming_adapter.h"));
        return;
    }
    if (line.len < 2 || *at != '\t') return;
    const char *name = ++at;
    while (at < end && *at != ' ') at++;
    if (at != end && !str_eq_c((Str){at, (size_t)(end - at)}, " \\")) return;
    for (size_t i = 0; i < COUNT_OF(kernel_files); i++) {
        add_line(out, KERNEL_FOLDER, (Str){name, (size_t)(at - name)});
        strbuf_add_c(out, kernel_files[i]);
    }
}

static void list_old_kernels(const char *dir, StrBuf *out)
{
    enum { MAX_CARDS = 16 };
    StrBuf path = {0}, text = {0};
    const char *reason;
    strbuf_printf(&path, "%s/%s", dir, SYSTEM_RULES);
    if (file_read(&text, path.data, &reason)) {
        each_line(strbuf_str(&text), add_old_kernel, out);
        for (size_t i = 0; i < COUNT_OF(system_files); i++)
            add_line(out, HERE, str_from(system_files[i]));
        for (int card = 0; card < MAX_CARDS; card++)
            strbuf_printf(out, "%scard%d/link.cfg", out->len > 0 ? "\n" : "", card);
    }
    strbuf_free(&path);
    strbuf_free(&text);
}

static bool is_fixed_name(Str name)
{
    for (size_t i = 0; i < COUNT_OF(fixed_names); i++)
        for (const char *const *at = fixed_names[i]; *at; at++)
            if (str_eq_c(name, *at)) return true;
    return false;
}

static void add_lines(StrBuf *out, const char *folder, const char *const *names)
{
    for (; *names; names++) add_line(out, folder, str_from(*names));
}

/* A user's Makefile beside Verilog alone is not ours, nor link.cfg of a design without places. */
static void list_old_fixed(const char *dir, StrBuf *out)
{
    static const char *const *const kinds[] = {hls_files, placed_files, engine_files};
    StrBuf path = {0};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        strbuf_clear(&path);
        strbuf_printf(&path, "%s/%s", dir, kinds[i][0]);
        if (access(path.data, F_OK) != 0) continue;
        add_lines(out, HERE, kinds[i]);
        add_lines(out, EMIT_CSIM_FOLDER, emit_csim_names);
        add_lines(out, EMIT_CSIM_FOLDER, engine_headers);
        if (kinds[i] == engine_files) add_lines(out, HOST_FOLDER, engine_host_files);
    }
    strbuf_free(&path);
}

void emit_list_old_files(const char *dir, StrBuf *out)
{
    StrBuf path = {0};
    list_old_kernels(dir, out);
    list_old_fixed(dir, out);
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

/* "card3/link.cfg" */
static bool is_card_file(Str name)
{
    static const char file[] = "/link.cfg";
    if (!str_starts_with(name, "card") || !str_ends_with(name, file)) return false;
    size_t digits = name.len - strlen("card") - strlen(file);
    for (size_t i = 0; i < digits; i++)
        if (name.data[strlen("card") + i] < '0' || name.data[strlen("card") + i] > '9')
            return false;
    return digits > 0 && digits < 3;
}

/* "kernels/NAME.cpp" and the like, and not in a folder below. */
static bool is_kernel_file(Str name)
{
    size_t skip = strlen(KERNEL_FOLDER);
    if (!str_starts_with(name, KERNEL_FOLDER) || name.len == skip || name.data[skip] == '.' ||
        memchr(name.data + skip, '/', name.len - skip))
        return false;
    return str_ends_with(name, ".cpp") || str_ends_with(name, ".h") ||
           str_ends_with(name, ".cfg") || str_ends_with(name, ".mir") ||
           str_ends_with(name, ".npy");
}

static bool is_system_file(Str name)
{
    for (size_t i = 0; i < COUNT_OF(system_files); i++)
        if (str_eq_c(name, system_files[i])) return true;
    return false;
}

void emit_list_files(const EmittedFiles *files, StrBuf *out)
{
    for (size_t i = 0; i < files->len; i++) {
        Str name = strbuf_str(&files->data[i].name);
        if (is_card_file(name) || is_kernel_file(name))
            add_line(out, "", name);
        else if (is_system_file(name))
            add_line(out, HERE, name);
        else if (str_starts_with(name, RTL_FOLDER) || str_starts_with(name, EMIT_CSIM_FOLDER) ||
                 str_starts_with(name, HOST_FOLDER))
            add_line(out, "", name);
        else if (is_verilog(name) || is_fixed_name(name))
            add_line(out, HERE, name);
    }
}

/* Whether the rest of a line is the name of a file that a list may hold. */
static bool is_listed_name(Str name)
{
    if (is_fixed_name(name)) return true;
    if (name.len == 0 || name.data[0] == '.' || memchr(name.data, '/', name.len)) return false;
    for (size_t i = 0; i < COUNT_OF(companions); i++)
        if (str_eq_c(name, companions[i])) return true;
    return is_system_file(name) || emit_is_board_file(name) || is_verilog(name);
}

typedef struct Removal {
    const char *dir;
    const EmittedFiles *files;
    bool has_removed; /* files of a folder */
} Removal;

/* A folder and a name, which is relative to the project. False: the line is none. */
static bool remove_listed(Removal *to, Str line)
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
    static const char *const sources[] = {".h",        ".cpp",        "_params.h",   "_host.h",
                                          "_tb.cpp",   "_lib.cpp",    ".mir",        "_weights.npy",
                                          "_data.cfg", "_schedule.h", "_rtl_tb.cpp", "_emulate.cpp",
                                          "_trace.h"};
    static const char *const products[] = {".o",         "_tb.o",    "_csim",       "_cosim",
                                           "_cosim.cpp", "_cosim.o", "_cosim_tb.o", "_rtlsim",
                                           "_rtl.log",   "_emulate", "_cards.cpp",  "_tracing"};
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

/* False: the line is no file of kernels or of a card. A folder goes with the last of its files. */
static bool remove_kernel(const Removal *to, Str line)
{
    if (!is_card_file(line) && !is_kernel_file(line)) return false;
    StrBuf path = {0}, name = {0};
    strbuf_add_str(&name, line);
    strbuf_printf(&path, "%s/%s", to->dir, name.data);
    if (!has_file(to->files, name.data) && unlink(path.data) == 0) {
        path.data[path.len - line.len + (size_t)(strchr(name.data, '/') - name.data)] = '\0';
        (void)rmdir(path.data); /* where nothing is left in it */
    }
    strbuf_free(&path);
    strbuf_free(&name);
    return true;
}

static void remove_line(Str line, void *user)
{
    Removal *to = user;
    if (remove_kernel(to, line) || remove_listed(to, line) || memchr(line.data, '/', line.len))
        return;
    remove_sources(to->dir, line, to->files);
}

void emit_remove_stale(const char *dir, Str lines, const EmittedFiles *files)
{
    Removal removal = {dir, files, false};
    static const char *const may_be_empty[] = {RTL_FOLDER, EMIT_BOARD_FOLDER, EMIT_CSIM_FOLDER,
                                               HOST_FOLDER};
    StrBuf path = {0};
    each_line(lines, remove_line, &removal);
    for (size_t i = 0; removal.has_removed && i < COUNT_OF(may_be_empty); i++) {
        strbuf_clear(&path);
        strbuf_printf(&path, "%s/%s", dir, may_be_empty[i]);
        (void)rmdir(path.data); /* where nothing is left in it */
    }
    strbuf_free(&path);
}
