/* Finding files relative to the program, so that an installation can be moved. */
#include <limits.h>
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

/* Where a build has the files of one kind, from its root. */
static const char *build_folder(const char *kind)
{
    if (strcmp(kind, "csim") == 0) return "emit/csim";
    return strcmp(kind, "rtl") == 0 ? "emit/rtl" : "target/devices";
}

/* Place number `index` to look at. False: there is none. */
static bool print_place(const char *kind, int index, StrBuf *out)
{
    char folder[PATH_MAX];
    bool is_known = program_folder(folder, sizeof(folder));
    strbuf_clear(out);
    if (index == 0 && is_known) strbuf_printf(out, "%s/../share/ming/%s", folder, kind);
    if (index == 1 && is_known) strbuf_printf(out, "%s/../%s", folder, build_folder(kind));
    if (index == 2) strbuf_printf(out, "%s/%s", MING_DATADIR, kind);
    return index <= 2;
}

bool driver_resource_dir(const char *kind, StrBuf *out)
{
    StrBuf tried = {0}, place = {0};
    for (int i = 0; print_place(kind, i, &place); i++) {
        strbuf_clear(out);
        strbuf_add_str(out, strbuf_str(&place));
        if (place.len > 0 && is_folder(place.data)) break;
        if (place.len > 0) strbuf_printf(&tried, "%s%s", tried.len ? ", " : "", place.data);
        strbuf_clear(out);
    }
    bool ok = out->len > 0;
    if (!ok) strbuf_add_str(out, strbuf_str(&tried));
    strbuf_free(&tried);
    strbuf_free(&place);
    return ok;
}
