/* --quantize=FILE: widths by layer, which onnx-quantize finds as onnx.width.
 *
 *   {"default": "int8", "inputs": {"x": "int16"}, "layers": {"conv1": "int4", "fc": "float"}}
 *
 * Layers are named as the table of errors and `ming check` name them.
 * Tests: lit/driver/quantize-widths.mir, test/e2e/quantize_check.py */
#include <jansson.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"
#include "driver/internal.h"
#include "ir/asm/print/print.h"

enum { DEFAULT_WIDTH = 8 };

static const struct {
    const char *name;
    int64_t bits;
} widths[] = {{"int4", 4}, {"int8", 8}, {"int16", 16}, {"float", 0}};

/* -1: no width has that name. */
static int64_t width_named(const char *name)
{
    for (size_t i = 0; name && i < COUNT_OF(widths); i++)
        if (strcmp(name, widths[i].name) == 0) return widths[i].bits;
    return -1;
}

typedef struct WidthFile {
    Op *func;
    const char *path;
    DriverErrors errors;
} WidthFile;

/* The width that `where` has, or a message. */
static bool read_width(const WidthFile *w, const char *where, const json_t *value, int64_t *bits)
{
    *bits = width_named(json_string_value(value));
    return *bits >= 0 ||
           driver_error(w->errors, DRIVER_ERROR_OTHER,
                        "%s: '%s' must be int4, int8, int16 or float", w->path, where);
}

static bool no_such(const WidthFile *w, const char *what, const char *name, Suggestion *near)
{
    StrBuf hint = {0};
    suggestion_print(near, &hint);
    (void)driver_error(w->errors, DRIVER_ERROR_OTHER, "%s: there is no %s '%s'%.*s", w->path, what,
                       name, STR_ARG(strbuf_str(&hint)));
    strbuf_free(&hint);
    return false;
}

/* All nodes that a layer has become have its name. */
static bool set_layer(const WidthFile *w, const char *name, int64_t bits)
{
    Suggestion near = {.wanted = str_from(name)};
    bool found = false;
    FOR_EACH_OP(op, func_entry(w->func)) {
        if (!onnx_is_node(op)) continue;
        Str known = onnx_node_name(op);
        suggestion_try(&near, known);
        if (!str_eq_c(known, name)) continue;
        op_set_attr(op, ONNX_ATTR_WIDTH, attr_i64(op->ctx, bits));
        found = true;
    }
    return found || no_such(w, "layer", name, &near);
}

static bool set_input(const WidthFile *w, const char *name, int64_t bits)
{
    Suggestion near = {.wanted = str_from(name)};
    const Block *entry = func_entry(w->func);
    for (uint32_t i = 0; i < entry->arg_count; i++) {
        const Attr *attrs = func_arg_attrs(w->func, i);
        const Attr *known = attrs ? attr_dict_get_c(attrs, DFG_ATTR_NAME) : NULL;
        if (!known || known->kind != ATTR_STRING) continue;
        suggestion_try(&near, known->u.string);
        if (!str_eq_c(known->u.string, name)) continue;
        onnx_set_arg_width(w->func, i, bits);
        return true;
    }
    return no_such(w, "input", name, &near);
}

static bool set_all(const WidthFile *w, const char *key, const json_t *map,
                    bool (*set)(const WidthFile *w, const char *name, int64_t bits))
{
    const char *name;
    json_t *value;
    int64_t bits;
    if (map && !json_is_object(map))
        return driver_error(w->errors, DRIVER_ERROR_OTHER, "%s: '%s' must be an object", w->path,
                            key);
    json_object_foreach((json_t *)map, name, value)
    {
        if (!read_width(w, name, value, &bits) || !set(w, name, bits)) return false;
    }
    return true;
}

static bool check_keys(const WidthFile *w, const json_t *json)
{
    static const char *const known[] = {"default", "inputs", "layers"};
    const char *name;
    json_t *value;
    if (!json_is_object(json))
        return driver_error(w->errors, DRIVER_ERROR_OTHER, "%s: widths are an object", w->path);
    json_object_foreach((json_t *)json, name, value)
    {
        Suggestion near = {.wanted = str_from(name)};
        bool found = false;
        for (size_t i = 0; i < COUNT_OF(known); i++) {
            suggestion_try(&near, str_from(known[i]));
            found = found || strcmp(name, known[i]) == 0;
        }
        if (!found) return no_such(w, "key", name, &near);
    }
    return true;
}

static bool set_widths(const WidthFile *w, const json_t *json, int64_t *width)
{
    const json_t *value = json_object_get(json, "default");
    return check_keys(w, json) && (!value || read_width(w, "default", value, width)) &&
           set_all(w, "inputs", json_object_get(json, "inputs"), set_input) &&
           set_all(w, "layers", json_object_get(json, "layers"), set_layer);
}

bool driver_set_widths(Op *func, const char *format, DriverErrors errors, int64_t *width)
{
    const WidthFile w = {func, format, errors};
    json_error_t error;
    *width = width_named(format);
    if (*width > 0) return true;
    *width = DEFAULT_WIDTH;
    json_t *json = json_load_file(format, JSON_REJECT_DUPLICATES, &error);
    if (!json && error.line > 0)
        return driver_error(errors, DRIVER_ERROR_OTHER, "%s:%d:%d: %s", format, error.line,
                            error.column, error.text);
    if (!json)
        return driver_error(
            errors, DRIVER_ERROR_QUANTIZE,
            "takes int4, int8, int16 or a file of widths, and there is no file '%s'", format);
    bool ok = set_widths(&w, json, width);
    json_decref(json);
    return ok;
}
