/* Models from files, for tools. Tests: lit/tools/ming-compile.mir, lit/import */
#ifndef MING_TOOLS_LOAD_MODEL_H
#define MING_TOOLS_LOAD_MODEL_H

#include "ir/core/op.h"
#include "driver/tool_support.h"

/* What of an ONNX file is read, and how: the flags that tools have for it. */
typedef struct ModelOptions {
    Texts input_shapes, from, to; /* as in ImportOptions */
    struct ImportReport *report;  /* as there; only ONNX files fill it */
} ModelOptions;
void model_options_free(ModelOptions *options);

/* Rows of a tool's flags for a variable `options`. */
#define MODEL_FLAGS(options)                                                                       \
    {"input-shape", FLAG_TEXTS, &(options).input_shapes, "name:1x3x32x32",                         \
     "Shape of an input that the file leaves open", NULL},                                         \
    {"from", FLAG_TEXTS, &(options).from, "name",                                                  \
     "Tensor or node of the file to begin with", NULL},                                            \
    {"to", FLAG_TEXTS, &(options).to, "name", "Tensor or node of the file to end with", NULL}

/* The module of an ONNX file's bytes; what the file refers to is looked up beside it. "-" is shown
 * as <stdin>. NULL: diagnosed. */
Op *model_load_onnx(Context *ctx, const char *path, Str bytes, const ModelOptions *options) MUST_CHECK;
/* ONNX or IR, by the file's extension (.onnx, .mir, .mlir), else by its contents. The bytes must
 * stay as long as the context gives diagnostics. NULL: diagnosed. */
Op *model_load(Context *ctx, const char *path, Str bytes, const ModelOptions *options) MUST_CHECK;

#endif
