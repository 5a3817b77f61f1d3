/* Tensors whose data is in another file. The file must be in the model's folder or below it,
 * because models are not trusted: the path is walked component by component, and "..", absolute
 * paths and symbolic links are refused.
 * Tests: test/unit/import/import_test.c */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dialects/onnx/onnx.h"
#include "import/internal.h"

typedef struct External {
    Str location;
    uint64_t offset, length;
    bool has_length;
} External;

static bool fail(StrBuf *why, const char *what, Str location)
{
    strbuf_printf(why, "%s ", what);
    strbuf_add_quoted(why, location);
    return false;
}

static bool parse_size(Str digits, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9' || *out > UINT64_MAX / 20) return false;
        *out = *out * 10 + (uint64_t)(digits.data[i] - '0');
    }
    return digits.len > 0;
}

static bool read_entries(const Onnx__TensorProto *tensor, External *out, StrBuf *why)
{
    *out = (External){.location = STR("")};
    for (size_t i = 0; i < tensor->n_external_data; i++) {
        Str key = import_text(tensor->external_data[i]->key);
        Str value = import_text(tensor->external_data[i]->value);
        bool ok = true;
        if (str_eq(key, STR("location")))
            out->location = value;
        else if (str_eq(key, STR("offset")))
            ok = parse_size(value, &out->offset);
        else if (str_eq(key, STR("length")))
            ok = out->has_length = parse_size(value, &out->length);
        if (!ok) return fail(why, "has external data with a malformed number", value);
    }
    if (out->location.len > 0) return true;
    strbuf_add_c(why, "has external data without a location");
    return false;
}

/* One path component, NUL-terminated; false for "", "..", overlong ones, a final "." and a final slash.
 * In front of others "." is the folder itself. */
static bool next_component(Str *path, char *out, size_t room)
{
    const char *slash = memchr(path->data, '/', path->len);
    size_t len = slash ? (size_t)(slash - path->data) : path->len;
    Str name = {path->data, len};
    bool is_name = slash || !str_eq(name, STR("."));
    if (len == 0 || len >= room || !is_name || str_eq(name, STR(".."))) return false;
    memcpy(out, name.data, len);
    out[len] = '\0';
    size_t used = slash ? len + 1 : len;
    *path = (Str){path->data + used, path->len - used};
    return !slash || path->len > 0;
}

/* Opens folder/path for reading; -1 if it does not exist or is outside the folder. */
static int open_below(const char *folder, Str path)
{
    char name[256];
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (dir >= 0) {
        int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
        int next = -1;
        if (next_component(&path, name, sizeof name))
            next = openat(dir, name, path.len ? flags | O_DIRECTORY : flags);
        close(dir);
        if (path.len == 0) return next;
        dir = next;
    }
    return -1;
}

static bool read_range(int file, uint64_t offset, uint8_t *out, size_t size)
{
    while (size > 0) {
        ssize_t got = pread(file, out, size, (off_t)offset);
        if (got <= 0) return false;
        out += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return true;
}

/* A file may be far larger than the tensor: no more is allocated than that takes. */
static bool read_file(int file, const External *external, uint8_t **data, size_t size)
{
    struct stat info;
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) return false;
    uint64_t total = (uint64_t)info.st_size;
    if (external->offset > total || size > total - external->offset) return false;
    if (!external->has_length && size != total - external->offset) return false;
    *data = xmalloc(size);
    if (read_range(file, external->offset, *data, size)) return true;
    free_ptr((void **)data);
    return false;
}

bool import_external_read(const Onnx__TensorProto *tensor, Str folder, uint8_t **data, size_t size,
                          StrBuf *why)
{
    External external;
    if (!read_entries(tensor, &external, why)) return false;
    if (external.has_length && external.length != size) {
        strbuf_printf(why, "has %llu bytes of external data, and %zu are needed",
                      (unsigned long long)external.length, size);
        return false;
    }
    if (!folder.data) return fail(why, "has its data in another file,", external.location);
    StrBuf path = {0};
    strbuf_add_str(&path, folder.len ? folder : STR("."));
    int file = open_below(path.data, external.location);
    strbuf_free(&path);
    if (file < 0)
        return fail(why,
                    "has its data in a file that is not in the model's folder:", external.location);
    bool ok = read_file(file, &external, data, size);
    close(file);
    return ok || fail(why, "has external data that is not a range of the file", external.location);
}
