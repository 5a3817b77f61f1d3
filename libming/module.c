/* Modules: reading, passes, text, ports, and what of a model compiles.
 * Tests: test/e2e/libming_check.py, test/libming */
#include <stdlib.h>
#include <string.h>

#include "dialects/func/func.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "libming/internal.h"

ming_module *lib_module(ming_context *owner, Op *op)
{
    if (!op) return NULL;
    ming_module *module = xcalloc(1, sizeof *module);
    module->owner = owner;
    module->op = op;
    return module;
}

void ming_module_destroy(ming_module *module)
{
    if (!module) return;
    lib_enter(module->owner);
    diag_flush(module->owner->ctx);
    op_erase(module->op);
    lib_leave(module->owner);
    free(module->report);
    free(module->folding);
    free(module);
}

ming_module *ming_module_clone(const ming_module *module)
{
    if (!module) return NULL;
    ming_module *clone = lib_module(module->owner, op_clone(module->op, NULL));
    if (module->report) clone->report = lib_text(str_from(module->report));
    if (module->folding) clone->folding = lib_text(str_from(module->folding));
    return clone;
}

/* Bytes that live as long as the context. */
static Str keep(ming_context *owner, StrBuf bytes)
{
    *vec_push(&owner->sources) = bytes;
    return strbuf_str(&bytes);
}

static Str keep_copy(ming_context *owner, const void *bytes, size_t size)
{
    StrBuf copy = {0};
    strbuf_add(&copy, bytes, size);
    return keep(owner, copy);
}

static bool read_file(ming_context *owner, const char *path, Str *out)
{
    StrBuf bytes = {0};
    const char *reason = NULL;
    bool ok =
        file_read(&bytes, path, &reason) || lib_error(owner, "cannot open '%s': %s", path, reason);
    if (ok)
        *out = keep(owner, bytes);
    else
        strbuf_free(&bytes);
    return ok;
}

static const ModelOptions *model_options(const ming_options *options)
{
    static const ModelOptions none = {0};
    return options ? &options->compile.model : &none;
}

ming_module *ming_load(ming_context *ctx, const char *path, const ming_options *options)
{
    Op *op = NULL;
    Str bytes;
    lib_enter(ctx);
    if (lib_check_model_options(ctx, options) && read_file(ctx, path, &bytes))
        op = driver_load_model(ctx->ctx, path, bytes, model_options(options));
    lib_leave(ctx);
    return lib_module(ctx, op);
}

ming_module *ming_import(ming_context *ctx, const void *bytes, size_t size, const char *path,
                         const ming_options *options)
{
    Op *op = NULL;
    lib_enter(ctx);
    if (lib_check_model_options(ctx, options))
        op = driver_load_onnx(ctx->ctx, path, keep_copy(ctx, bytes, size), model_options(options));
    lib_leave(ctx);
    return lib_module(ctx, op);
}

ming_module *ming_parse(ming_context *ctx, const char *text, size_t size, const char *name)
{
    lib_enter(ctx);
    Str kept_name = keep_copy(ctx, name, strlen(name));
    Op *op = parse_module(ctx->ctx, keep_copy(ctx, text, size), kept_name, NULL);
    lib_leave(ctx);
    return lib_module(ctx, op);
}

/* NULL: there is none; an error if it is needed. */
static char *read_text(ming_context *owner, const char *folder, const char *name, bool is_needed)
{
    StrBuf path = {0}, text = {0};
    const char *reason = NULL;
    char *found = NULL;
    strbuf_printf(&path, "%s/%s", folder, name);
    if (file_read(&text, path.data, &reason))
        found = lib_text(strbuf_str(&text));
    else if (is_needed)
        lib_error(owner, "cannot open '%s': %s", path.data, reason);
    strbuf_free(&path);
    strbuf_free(&text);
    return found;
}

ming_module *ming_load_design(ming_context *ctx, const char *folder)
{
    StrBuf path = {0};
    Op *op = NULL;
    Str bytes;
    lib_enter(ctx);
    char *report = read_text(ctx, folder, "report.json", true);
    if (report && simulation_design_path(folder, lib_errors(ctx), &path) &&
        read_file(ctx, path.data, &bytes))
        op = driver_load_model(ctx->ctx, path.data, bytes, model_options(NULL));
    lib_leave(ctx);
    ming_module *module = lib_module(ctx, op);
    if (module) {
        module->report = report;
        module->folding = read_text(ctx, folder, "folding.json", false);
    } else {
        free(report);
    }
    strbuf_free(&path);
    return module;
}

bool ming_run_passes(ming_module *module, const char *pipeline)
{
    if (!module) return false;
    lib_enter(module->owner);
    bool ok = driver_run_passes(module->op, str_from(pipeline));
    lib_leave(module->owner);
    return ok;
}

char *ming_print(const ming_module *module, bool generic, size_t *size)
{
    StrBuf text = {0};
    PrintOptions options = PRINT_DEFAULT;
    if (!module) return NULL;
    options.generic = generic;
    lib_enter(module->owner);
    op_print(&text, module->op, &options);
    lib_leave(module->owner);
    char *copy = lib_text(strbuf_str(&text));
    if (size) *size = text.len;
    strbuf_free(&text);
    return copy;
}

/* numpy's name of an element type. */
static void write_dtype(JsonWriter *json, char kind, uint32_t item)
{
    StrBuf name = {0};
    if (kind == 'b')
        strbuf_add_c(&name, "bool");
    else
        strbuf_printf(&name, "%s%u",
                      kind == 'f'   ? "float"
                      : kind == 'u' ? "uint"
                                    : "int",
                      item * 8);
    json_member_string(json, "dtype", strbuf_str(&name));
    strbuf_free(&name);
}

static void write_port(JsonWriter *json, const Boundary *boundary, bool is_input)
{
    const Type *tensor = boundary->tensor;
    char kind;
    uint32_t item;
    boundary_dtype(boundary, is_input, &kind, &item);
    json_begin_object(json);
    json_member_string(json, "name", boundary->name);
    json_member_array(json, "shape");
    for (uint32_t i = 0; i < tensor->u.shaped.rank; i++) {
        int64_t extent = tensor->u.shaped.dims[i];
        json_write_int(json, extent == DIM_DYNAMIC ? -1 : extent);
    }
    json_end_array(json);
    write_dtype(json, kind, item);
    json_end_object(json);
}

static void write_ports(JsonWriter *json, const char *key, const PortFiles *ports, bool is_input)
{
    json_member_array(json, key);
    for (uint32_t i = 0; i < ports->count; i++)
        write_port(json, &ports->items[i].boundary, is_input);
    json_end_array(json);
}

static char *print_ports(ming_context *owner, const Op *func)
{
    PortFiles inputs = {0}, outputs = {0};
    DriverErrors errors = lib_errors(owner);
    StrBuf text = {0};
    JsonWriter json = {.out = &text};
    bool ok = driver_ports_init(&inputs, func, "input", false, errors) &&
              driver_ports_init(&outputs, func, "output", true, errors);
    if (ok) {
        json_begin_object(&json);
        json_member_string(&json, "function", symbol_name(func)->str);
        write_ports(&json, "inputs", &inputs, true);
        write_ports(&json, "outputs", &outputs, false);
        json_end_object(&json);
    }
    driver_ports_free(&inputs);
    driver_ports_free(&outputs);
    char *copy = ok ? lib_text(strbuf_str(&text)) : NULL;
    strbuf_free(&text);
    return copy;
}

char *ming_ports(const ming_module *module, const char *function)
{
    if (!module) return NULL;
    lib_enter(module->owner);
    const Op *func = driver_find_function(module->op, function, lib_errors(module->owner));
    char *text = func ? print_ports(module->owner, func) : NULL;
    lib_leave(module->owner);
    return text;
}

static char *check_bytes(ming_context *owner, const char *path, Str bytes,
                         const ming_options *options)
{
    Check check = {.ctx = owner->ctx};
    Partition part;
    StrBuf text = {0};
    arena_init(&check.arena);
    driver_check_model(&check, path, bytes, model_options(options));
    driver_find_partition(&check, path, bytes, &part);
    driver_check_print_json(&check, &part, &text);
    driver_partition_free(&part);
    driver_check_free(&check);
    arena_free(&check.arena);
    char *copy = lib_text(strbuf_str(&text));
    strbuf_free(&text);
    return copy;
}

char *ming_check(ming_context *ctx, const char *path, const ming_options *options)
{
    char *text = NULL;
    Str bytes;
    lib_enter(ctx);
    if (lib_check_model_options(ctx, options) && read_file(ctx, path, &bytes))
        text = check_bytes(ctx, path, bytes, options);
    lib_leave(ctx);
    return text;
}
