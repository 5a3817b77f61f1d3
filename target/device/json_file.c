/* Reads a JSON file with jansson and finds the places of its values by a scan of the same text. The
 * scan may recurse, because jansson limits how deep values nest; it may walk along the tree,
 * because jansson keeps the members of an object in the text's order.
 * Tests: test/unit/target/device/json_file_test.c */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"
#include "target/device/device.h"

/* The text is valid JSON and ends with a zero. */
typedef struct JsonScan {
    JsonFile *file;
    const char *at;
    uint32_t line, column;
} JsonScan;

static void step(JsonScan *s)
{
    if (*s->at++ == '\n') {
        s->line++;
        s->column = 1;
    } else {
        s->column++;
    }
}

static void step_while(JsonScan *s, const char *set)
{
    while (*s->at && strchr(set, *s->at)) step(s);
}

/* To the next key, value or end of a list or object. */
static void skip_between(JsonScan *s)
{
    step_while(s, " \t\r\n,:");
}

static void skip_string(JsonScan *s)
{
    step(s);
    while (*s->at != '"') {
        if (*s->at == '\\') step(s);
        step(s);
    }
    step(s);
}

static void record(JsonScan *s, const void *item)
{
    ptrmap_put(&s->file->places, item,
               (void *)(uintptr_t)loc_file(s->file->ctx, s->file->path, s->line, s->column));
}

static bool is_shared(const json_t *value)
{
    return json_is_boolean(value) || json_is_null(value);
}

static void scan_value(JsonScan *s, const json_t *value)
{
    const char *key;
    json_t *member;
    skip_between(s);
    if (!is_shared(value)) record(s, value);
    if (json_is_string(value)) {
        skip_string(s);
    } else if (!json_is_object(value) && !json_is_array(value)) {
        step_while(s, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
    } else {
        step(s);
        json_object_foreach((json_t *)(uintptr_t)value, key, member)
        {
            skip_between(s);
            record(s, key);
            skip_string(s);
            scan_value(s, member);
        }
        for (size_t i = 0; i < json_array_size(value); i++) scan_value(s, json_array_get(value, i));
        skip_between(s);
        step(s);
    }
}

const Attr *json_file_place(const JsonFile *file, const void *item, const void *holder)
{
    const Attr *place = ptrmap_get(&file->places, item);
    if (!place && holder) place = ptrmap_get(&file->places, holder);
    return place ? place : loc_file(file->ctx, file->path, 1, 1);
}

static bool check_file(const JsonFile *file, const char *what, int64_t max_bytes)
{
    struct stat info;
    const Attr *loc = loc_file(file->ctx, file->path, 1, 1);
    if (stat(file->path->str.data, &info) != 0)
        return diag_error(file->ctx, loc, "cannot read the %s: %s", what, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return diag_error(file->ctx, loc, "the %s is not a regular file", what);
    return info.st_size <= max_bytes ||
           diag_error(file->ctx, loc, "a %s has at most %lld bytes", what, (long long)max_bytes);
}

static bool read_text(JsonFile *file, const char *what, int64_t max_bytes)
{
    enum { BLOCK = 1 << 16 };
    if (!check_file(file, what, max_bytes)) return false;
    FILE *stream = fopen(file->path->str.data, "rb");
    if (!stream)
        return diag_error(file->ctx, loc_file(file->ctx, file->path, 1, 1),
                          "cannot read the %s: %s", what, strerror(errno));
    size_t got;
    do {
        strbuf_grow(&file->text, BLOCK);
        got = fread(file->text.data + file->text.len, 1, BLOCK - 1, stream);
        file->text.len += got;
    } while (got > 0);
    file->text.data[file->text.len] = '\0';
    fclose(stream);
    return true;
}

/* jansson takes a zero behind a number for a blank; the scan takes it for the end. */
static bool check_text(JsonFile *file)
{
    JsonScan s = {file, file->text.data, 1, 1};
    while (*s.at) step(&s);
    return s.at == file->text.data + file->text.len ||
           diag_error(file->ctx, loc_file(file->ctx, file->path, s.line, s.column),
                      "invalid token: a byte of zero");
}

static bool parse_text(JsonFile *file)
{
    json_error_t error;
    file->root = json_loadb(file->text.data, file->text.len,
                            JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (file->root) return true;
    uint32_t line = error.line > 0 ? (uint32_t)error.line : 1;
    uint32_t column = error.column > 0 ? (uint32_t)error.column : 1;
    return diag_error(file->ctx, loc_file(file->ctx, file->path, line, column), "%s", error.text);
}

bool json_file_read(Context *ctx, Str path, const char *what, int64_t max_bytes, JsonFile *out)
{
    *out = (JsonFile){.ctx = ctx, .path = ident_get(ctx, path)};
    bool ok = read_text(out, what, max_bytes);
    if (ok) {
        diag_add_source(ctx, path, strbuf_str(&out->text));
        ok = check_text(out) && parse_text(out);
    }
    if (ok)
        scan_value(&(JsonScan){out, out->text.data, 1, 1}, out->root);
    else
        json_file_free(out);
    return ok;
}

void json_file_free(JsonFile *file)
{
    diag_flush(file->ctx);
    diag_remove_source(file->ctx, file->path->str);
    json_decref(file->root);
    ptrmap_free(&file->places);
    strbuf_free(&file->text);
}
