/* Between linalg_to_dfg.c (graph) and linalg_to_dfg_kernel.c (one kernel's processes). */
#ifndef MING_LOWERING_LINALG_TO_DFG_H
#define MING_LOWERING_LINALG_TO_DFG_H

#include "ir/builder.h"
#include "ir/symbol.h"
#include "lowering/plan.h"

/* A kernel with the element-wise kernels that run in its epilogue. */
typedef struct Group {
    Op *main;
    VEC(Op *) stages;
    Value *result; /* of the last stage */
} Group;

typedef struct StreamInput {
    Value *source;          /* streamed value: padding stripped */
    const AffineMap *map;   /* of the operand of the new generic */
    const Type *operand;    /* its type: the source's, or that of all its windows */
    bool has_window;
    WindowParams window;    /* if has_window */
    const Attr *pad_value;  /* element attribute, if has_window */
} StreamInput;

/* Whether a value is known at compile time. */
bool is_constant_value(const Value *value);
/* How operand `operand` of a generic streams. False: diagnosed. */
bool stream_input(const Op *generic, uint32_t operand, StreamInput *out) MUST_CHECK;

/* Builds the group's process (and checks that it streams): inputs[i] describes the i-th streamed
 * operand of main. The process is added to the symbol table under a name derived from `name`.
 * NULL: diagnosed. */
Op *build_compute_process(SymbolTable *symbols, Str name, const Group *group,
                          const StreamInput *inputs, uint32_t input_count) MUST_CHECK;
/* kernel: the op that the process belongs to, for its location and the model's name. */
Op *build_window_process(SymbolTable *symbols, Str name, const Op *kernel,
                         const StreamInput *input);
Op *build_fork_process(SymbolTable *symbols, Str name, const Op *kernel, const Type *type,
                       uint32_t copies);

#endif
