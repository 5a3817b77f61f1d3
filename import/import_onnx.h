/* ONNX files to the onnx dialect, 1:1: a module with one function, one op per node, initializers
 * as onnx.Constant. Opsets 7 to 21; a dynamic batch counts as 1.
 * Tests: test/unit/import_test.c, lit/import, fuzz/fuzz_onnx.c */
#ifndef MING_IMPORT_IMPORT_ONNX_H
#define MING_IMPORT_IMPORT_ONNX_H

#include "ir/op.h"

typedef struct ImportOptions {
    Str folder; /* of tensors stored outside the file, which may not leave it; without data such
                   tensors are refused */
} ImportOptions;

/* The verified builtin.module for the bytes of an ONNX file, or NULL after exactly one diagnostic
 * that names the file, and the node if it is about one. file_name is for locations only. The
 * context needs the builtin, func and onnx dialects; options may be NULL; the caller op_erases
 * the result. */
Op *import_onnx(Context *ctx, Str bytes, Str file_name, const ImportOptions *options) MUST_CHECK;

#endif
