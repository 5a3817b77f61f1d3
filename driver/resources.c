/* Finding files relative to the program or to the library, so that an installation can be moved.
 * Tests: lit/tools/devices.mir, test/e2e/libming_check.py */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/driver.h"

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Folder of the running program; false where the system does not tell. */
static bool program_folder(char *out, size_t size)
{
    ssize_t len = readlink("/proc/self/exe", out, size);
    if (len <= 0 || (size_t)len >= size) return false;
    out[len] = '\0';
    char *slash = strrchr(out, '/');
    if (slash) *slash = '\0';
    return slash != NULL;
}

typedef VEC(StrBuf) Places;

/* Where a build has the files of one kind, from its root. */
static const char *const build_folders[][2] = {{"board", "emit/board"},
                                               {"csim", "emit/csim"},
                                               {"engine", "emit/overlay/engine"},
                                               {"rtl", "emit/rtl"},
                                               {"devices", "target/devices"}};

static const char *build_folder(const char *kind)
{
    for (size_t i = 0; i < COUNT_OF(build_folders); i++)
        if (strcmp(kind, build_folders[i][0]) == 0) return build_folders[i][1];
    return kind;
}

/* Folder of the shared library that this code is part of; false if it is part of the program. */
static bool library_folder(const char *program, char *out)
{
    Dl_info info;
    if (!dladdr(&build_folders, &info) || !info.dli_fname || !strchr(info.dli_fname, '/') ||
        !realpath(info.dli_fname, out))
        return false;
    *strrchr(out, '/') = '\0';
    return strcmp(out, program) != 0;
}

static void add_place(Places *out, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void add_place(Places *out, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    StrBuf place = {0};
    strbuf_vprintf(&place, fmt, args);
    va_end(args);
    *vec_push(out) = place;
}

/* Places to look at, in their order. */
static void add_places(const char *kind, Places *out)
{
    char program[PATH_MAX] = "", library[PATH_MAX];
    bool has_program = program_folder(program, sizeof(program));
    if (library_folder(program, library)) {
        add_place(out, "%s/" MING_DATA_FROM_LIBRARY "/%s", library, kind);
        add_place(out, "%s/../share/ming/%s", library, kind);
        add_place(out, "%s/../%s", library, build_folder(kind));
    }
    if (has_program) {
        add_place(out, "%s/../share/ming/%s", program, kind);
        add_place(out, "%s/../%s", program, build_folder(kind));
    }
    add_place(out, "%s/%s", MING_DATADIR, kind);
}

bool driver_resource_dir(const char *kind, StrBuf *out)
{
    Places places = {0};
    add_places(kind, &places);
    size_t found = 0;
    while (found < places.len && !is_folder(places.data[found].data)) found++;
    bool ok = found < places.len;
    for (size_t i = 0; i < places.len; i++) {
        if (!ok || i == found)
            strbuf_printf(out, "%s%s", out->len ? ", " : "", places.data[i].data);
        strbuf_free(&places.data[i]);
    }
    vec_free(&places);
    return ok;
}
