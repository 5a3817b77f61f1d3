/* ONNX or IR text to a module. */
#include <string.h>

#include "driver/internal.h"
#include "import/import.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"

static Str shown_name(const char *path)
{
    return str_from(strcmp(path, "-") == 0 ? "<stdin>" : path);
}

/* The folder of a file; data is NULL for standard input. */
static Str folder_of(const char *path)
{
    if (strcmp(path, "-") == 0) return (Str){NULL, 0};
    const char *slash = strrchr(path, '/');
    if (!slash) return STR(".");
    return slash == path ? STR("/") : (Str){path, (size_t)(slash - path)};
}

void driver_model_options_free(ModelOptions *options)
{
    vec_free(&options->input_shapes);
    vec_free(&options->input_types);
    vec_free(&options->from);
    vec_free(&options->to);
}

static Op *load_part(Context *ctx, const char *path, Str bytes, const ModelOptions *options)
{
    const ImportOptions import = {
        .folder = folder_of(path),
        .input_shapes = options->input_shapes.data,
        .input_shape_count = options->input_shapes.len,
        .input_types = options->input_types.data,
        .input_type_count = options->input_types.len,
        .from = options->from.data,
        .from_count = options->from.len,
        .to = options->to.data,
        .to_count = options->to.len,
        .report = options->report,
    };
    return import_onnx(ctx, bytes, shown_name(path), &import);
}

Op *driver_load_onnx(Context *ctx, const char *path, Str bytes, const ModelOptions *options)
{
    Arena arena;
    ModelOptions part = {.report = options->report};
    if (!options->partition) return load_part(ctx, path, bytes, options);
    if (options->from.len + options->to.len + options->input_shapes.len > 0) {
        diag_error(ctx, loc_unknown(ctx),
                   "--partition stands for --from, --to and --input-shape; they do not go with it");
        return NULL;
    }
    arena_init(&arena);
    bool ok = driver_partition_read(ctx, options->partition, &arena, &part);
    for (size_t i = 0; i < options->input_types.len; i++)
        *vec_push(&part.input_types) = options->input_types.data[i];
    Op *module = ok ? load_part(ctx, path, bytes, &part) : NULL;
    driver_model_options_free(&part);
    arena_free(&arena);
    return module;
}

/* Protobuf has bytes that text has not, soon: field numbers and types are below ' '. */
static bool looks_binary(Str bytes)
{
    enum { PROBE = 64 };
    for (size_t i = 0; i < bytes.len && i < PROBE; i++) {
        unsigned char c = (unsigned char)bytes.data[i];
        if (c < ' ' && c != '\n' && c != '\t' && c != '\r') return true;
    }
    return false;
}

Op *driver_load_model(Context *ctx, const char *path, Str bytes, const ModelOptions *options)
{
    Str name = str_from(path);
    bool is_text = str_ends_with(name, ".mir") || str_ends_with(name, ".mlir");
    if (str_ends_with(name, ".onnx") || (!is_text && looks_binary(bytes)))
        return driver_load_onnx(ctx, path, bytes, options);
    if (options->partition) {
        diag_error(ctx, loc_unknown(ctx), "'%s' is no ONNX file, of which a partition is",
                   shown_name(path).data);
        return NULL;
    }
    if (options->input_types.len > 0) {
        diag_error(ctx, loc_unknown(ctx),
                   "'%s' is no ONNX file, to whose inputs --input-type gives "
                   "types",
                   shown_name(path).data);
        return NULL;
    }
    return parse_module(ctx, bytes, shown_name(path), NULL);
}
