/* Models from files, for tools. Tests: lit/tools/ming-compile.mir, lit/import */
#ifndef MING_TOOLS_LOAD_MODEL_H
#define MING_TOOLS_LOAD_MODEL_H

#include "ir/op.h"

/* The module of an ONNX file's bytes; what the file refers to is looked up beside it. "-" is shown
 * as <stdin>. NULL: diagnosed. */
Op *load_onnx(Context *ctx, const char *path, Str bytes) MUST_CHECK;
/* ONNX or IR, by the file's extension (.onnx, .mir, .mlir), else by its contents. The bytes must
 * stay as long as the context gives diagnostics. NULL: diagnosed. */
Op *load_model(Context *ctx, const char *path, Str bytes) MUST_CHECK;

#endif
