/* JSON files with the place of everything in them, for diagnostics. jansson reads and checks the text,
 * but tells only where a mistake of form is; lines and columns of values come from a scan of the text
 * that it accepted, in step with its tree.
 * Tests: test/unit/json_file_test.c, lit/target/folding-invalid.test */
#ifndef MING_TARGET_JSON_FILE_H
#define MING_TARGET_JSON_FILE_H

#include <jansson.h>

#include "ir/attr/context.h"

typedef struct JsonFile {
    Context *ctx;
    const Ident *path;
    StrBuf text;    /* registered with the context, so that diagnostics show lines of it */
    json_t *root;
    PtrMap places;  /* key's text or value -> location */
} JsonFile;

/* what: "folding file", for diagnostics. False: diagnosed (no regular file, longer than max_bytes, no
 * JSON, a key twice in one object). A file that was read must be freed, after diag_flush. */
bool json_file_read(Context *ctx, Str path, const char *what, int64_t max_bytes,
                    JsonFile *out) MUST_CHECK;
void json_file_free(JsonFile *file);

/* Location of a key, by the pointer that json_object_foreach gives, or of a value. true, false and
 * null are one value wherever they stand: theirs is the place of `holder`, the key or list. */
const Attr *json_file_place(const JsonFile *file, const void *item, const void *holder);

#endif
