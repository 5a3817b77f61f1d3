/* The importer: an ONNX file to a module of the onnx dialect with one function, one op per node,
 * and initializers as onnx.Constant. It reads opsets up to 21; nodes of older opsets are brought
 * into the newest form, functions of the file are inlined, a dynamic batch counts as 1
 * (docs/import.md).
 *
 * The bytes of the file are not trusted: any input gives verified IR or one diagnostic, without
 * unbounded recursion or memory. The result does not refer to the bytes. The driver builds on this
 * module.
 * Tests: test/unit/import/import_test.c, lit/import, fuzz/fuzz_onnx.c */
#ifndef MING_IMPORT_IMPORT_H
#define MING_IMPORT_IMPORT_H

#include "ir/core/core.h"

typedef enum NodeState {
    NODE_UNKNOWN, /* not read, because what it needs is not known */
    NODE_REFUSED,
    NODE_LEFT_OUT, /* outside the part that is imported */
    NODE_IMPORTED
} NodeState;

/* The outcome for one node of the file's graph. */
typedef struct NodeReport {
    Str name, op_type; /* as messages call them */
    NodeState state;
    Str why;                    /* of a node that is unknown or refused; may be empty */
    uint32_t *inputs, *outputs; /* tensors, without initializers and what is left out */
    uint32_t input_count, output_count;
} NodeReport;

#define IMPORT_NO_NODE UINT32_MAX

/* A graph input without an initializer, or an output of a node. */
typedef struct TensorReport {
    Str name;
    const Type *type;  /* NULL: not known */
    uint32_t producer; /* a node, or IMPORT_NO_NODE */
    bool varies;       /* depends on graph inputs */
    bool is_result;    /* of the whole graph */
} TensorReport;

/* The outcomes for all nodes of the graph, in order. The user frees the report. */
typedef struct ImportReport {
    NodeReport *nodes;
    size_t count;
    TensorReport *tensors;
    uint32_t tensor_count;
    Arena arena; /* of the texts and lists */
} ImportReport;
void import_report_free(ImportReport *report);

typedef struct ImportOptions {
    Str folder; /* of tensors stored outside the file, which may not leave it; without data such
                   tensors are refused */
    /* Texts "name:1x3x32x32" that give the shapes of graph inputs, or of tensors in `from`. */
    const char *const *input_shapes;
    size_t input_shape_count;
    /* Texts "name=uint8:0.5:128" that make arguments of floats ones of integers, by a quantizer in
     * front of their users: real = (integer - 128) * 0.5. */
    const char *const *input_types;
    size_t input_type_count;
    /* Names of tensors that become arguments, or of nodes whose inputs do. */
    const char *const *from;
    size_t from_count;
    /* Names of tensors that become results, or of nodes whose outputs do. */
    const char *const *to;
    size_t to_count;
    /* NULL, or a zeroed report to fill. With a report, nodes that cannot be read are no errors: an
     * output of such a node becomes an argument if the file gives its type, values that only such
     * nodes use become results, and the line of an op's location is the number of its node, from
     * 1. */
    ImportReport *report;
} ImportOptions;

/* Imports the bytes of an ONNX file as a verified builtin.module. NULL: exactly one diagnostic was
 * given, which names the file, and the node if it is about one. file_name is for locations only.
 * The context needs the builtin, func and onnx dialects. options may be NULL. The caller erases the
 * result with op_erase. */
Op *import_onnx(Context *ctx, Str bytes, Str file_name, const ImportOptions *options) MUST_CHECK;

#endif
