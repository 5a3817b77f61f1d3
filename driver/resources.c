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
    return strcmp(kind, "csim") == 0 ? "emit/csim" : "target/devices";
}

bool driver_resource_dir(const char *kind, StrBuf *out)
{
    char folder[PATH_MAX];
    bool known = program_folder(folder, sizeof(folder));
    if (known) {
        strbuf_clear(out);
        strbuf_printf(out, "%s/../share/ming/%s", folder, kind);
        if (is_folder(out->data)) return true;
        strbuf_clear(out);
        strbuf_printf(out, "%s/../%s", folder, build_folder(kind));
        if (is_folder(out->data)) return true;
    }
    strbuf_clear(out);
    strbuf_printf(out, "%s/%s", MING_DATADIR, kind);
    return is_folder(out->data);
}
