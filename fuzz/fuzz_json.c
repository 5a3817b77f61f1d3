/* Fuzz target for JSON files (folding files, reports): what is read must have the place of
 * every key and value, and what begins there must be it; what is not must end in a diagnostic.
 *   fuzz/run fuzz_json      (fuzz/run says how to configure) */
#include <string.h>

#include "fuzz/fuzz_support.h"
#include "ir/attr/attr.h"
#include "target/device/device.h"

enum { MAX_BYTES = 1 << 16 };

/* The first character at a place; 0 outside the text. */
static char at_place(const JsonFile *file, const Attr *place)
{
    Str text = strbuf_str(&file->text);
    size_t begin = 0;
    for (uint32_t line = 1; line < place->u.loc_file.line; line++) {
        const char *end = memchr(text.data + begin, '\n', text.len - begin);
        if (!end) return 0;
        begin = (size_t)(end - text.data) + 1;
    }
    size_t at = begin + place->u.loc_file.col - 1;
    return at < text.len ? text.data[at] : (char)0;
}

static bool begins(const json_t *value, char c)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: return c == '{';
    case JSON_ARRAY: return c == '[';
    case JSON_STRING: return c == '"';
    case JSON_INTEGER:
    case JSON_REAL: return c == '-' || (c >= '0' && c <= '9');
    default: return true; /* one value wherever they stand */
    }
}

static void check_places(const JsonFile *file, json_t *value, const void *holder)
{
    Str text = strbuf_str(&file->text);
    const char *key;
    json_t *item;
    size_t i;
    fuzz_check(begins(value, at_place(file, json_file_place(file, value, holder))),
               "a value is not at its place", text);
    json_object_foreach(value, key, item)
    {
        fuzz_check(at_place(file, json_file_place(file, key, value)) == '"',
                   "a key is not at its place", text);
        check_places(file, item, key);
    }
    json_array_foreach(value, i, item) check_places(file, item, value);
}

void fuzz_json(const uint8_t *data, size_t size)
{
    static FuzzContext reused;
    JsonFile file;
    char path[32];
    fuzz_write_file(data, size, path, sizeof path);
    Context *ctx = fuzz_context_take(&reused);
    size_t errors = diag_error_count(ctx);
    if (json_file_read(ctx, str_from(path), "file", MAX_BYTES, &file)) {
        check_places(&file, file.root, NULL);
        diag_flush(ctx);
        json_file_free(&file);
    } else {
        fuzz_check(diag_error_count(ctx) > errors, "a failure without a diagnostic",
                   (Str){(const char *)data, size});
    }
    fuzz_context_give_back(&reused);
}
