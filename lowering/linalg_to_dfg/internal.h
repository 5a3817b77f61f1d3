/* The inside of linalg_to_dfg, for its sources only.
 *
 *   insert-reorders          insert_reorders.c (the pass), _move.c, _kernel.c
 *   convert-linalg-to-dfg    linalg_to_dfg.c (the graph), _kernel.c, _sum.c, _source.c
 *
 * Both passes decide by the same code whether an operand streams (linalg_to_dfg_kernel.c), so that
 * the second accepts what the first made. Structs borrow ops and own only their vectors. Functions
 * that return NULL or false under MUST_CHECK have diagnosed unless they say otherwise.
 * Tests: lit/lowering/linalg_to_dfg */
#ifndef MING_LOWERING_LINALG_TO_DFG_INTERNAL_H
#define MING_LOWERING_LINALG_TO_DFG_INTERNAL_H

#include "ir/core/core.h"
#include "lowering/linalg_to_dfg/linalg_to_dfg.h"
#include "schedule/schedule.h"

/* Kernels and their operands. */

/* The ops that become one compute process: a kernel, or an op that moves elements, with the
 * element-wise kernels that run in its epilogue and the reshapes around them. */
typedef struct JoinedOperand {
    const Op *stage;  /* a sum */
    uint32_t operand; /* that another process computes */
    Value *source;    /* what it streams: reshapes stripped */
} JoinedOperand;

typedef struct ProcessGroup {
    Op *main;
    VEC(Op *) stages; /* element-wise kernels and reshapes, in order */
    Value *result;    /* of the last stage */
    uint32_t number;  /* among the groups */
    uint32_t depth;   /* groups on the longest path to it */
    VEC(struct JoinedOperand) joins;
} ProcessGroup;

/* Whether an element-wise kernel adds two streams, or subtracts them, without broadcasts. Gives their
 * operands. */
bool to_dfg_is_sum_of_streams(const Op *generic, uint32_t *operands);

/* Constant padding, per dimension of the padded tensor. */
typedef struct Padding {
    int64_t low[DFG_MAX_RANK], high[DFG_MAX_RANK];
    const Attr *value; /* NULL: no padding */
} Padding;

/* The stream that an operand of a kernel becomes. */
typedef struct StreamInput {
    Value *source;        /* streamed value: padding and reshapes stripped */
    Value *reshaped;      /* the source behind its reshapes, if any; padding stripped */
    const AffineMap *map; /* of the operand of the new generic */
    const Type *operand;  /* its type: that of `reshaped`, or of all its windows */
    bool has_window;
    WindowParams window;   /* if has_window */
    const Attr *pad_value; /* element attribute, if has_window */
} StreamInput;

/* Whether a value is known at compile time: a constant, a fill of one, or undefined contents. */
bool to_dfg_is_constant_value(const Value *value);
/* Zero of an element type. */
const Attr *to_dfg_stream_zero(const Type *type);
/* Finds how operand `operand` of a generic streams from a source. False: diagnosed. */
bool to_dfg_stream_input(const Op *generic, uint32_t operand, Value *source, StreamInput *out)
    MUST_CHECK;

/* The same, but an operand that would stream in another order only clears *fits. False: diagnosed,
 * the operand streams in no order. */
bool to_dfg_can_stream_input(const Op *generic, uint32_t operand, StreamInput *out, bool *fits)
    MUST_CHECK;

/* Whether the payload takes no elements of a stream from outside. False: diagnosed. */
bool to_dfg_check_captures(Op *generic) MUST_CHECK;

/* Reads the widths and the value of a tensor.pad. False: diagnosed, they are not constant. */
bool to_dfg_read_padding(const Op *pad, Padding *out) MUST_CHECK;
/* Rewrites reshape(pad(x)) to pad(reshape(x)) where the padding stays whole rows of a reshaped
 * group. Then reshapes come directly behind the streams, where processes can make them. */
void to_dfg_move_padding_behind_reshapes(Block *body);
/* Repeats the reshapes that lead from `source` to `value` on `stands_for`, the value that replaces
 * the source. */
Value *to_dfg_copy_reshapes(Builder *b, Value *value, const Value *source, Value *stands_for);

/* Processes. Each function builds one, adds it to the symbol table under a name derived from `name`
 * and returns it; it belongs to the module. */

/* The group's process. inputs[i] describes the i-th streamed operand of main; the ports of the joined
 * operands follow theirs. NULL: diagnosed, the group does not stream. */
Op *to_dfg_build_compute_process(SymbolTable *symbols, Str name, const ProcessGroup *group,
                                 const StreamInput *inputs, uint32_t input_count) MUST_CHECK;
/* kernel: the op that the process belongs to, for its location and the model's name. */
Op *to_dfg_build_window_process(SymbolTable *symbols, Str name, const Op *kernel,
                                const StreamInput *input);
Op *to_dfg_build_fork_process(SymbolTable *symbols, Str name, const Op *kernel, const Type *type,
                              uint32_t copies);
/* A dfg.reorder or dfg.merge of the sources (NULL: a constant), behind the reshapes that lead from
 * them to its operands, and in front of those that lead from its result to `group`'s. */
Op *to_dfg_build_move_process(SymbolTable *symbols, Str name, const ProcessGroup *group,
                              Value *const *sources);
/* A process that passes `source` on in the shape of `value`, which reshapes may make of it. */
Op *to_dfg_build_copy_process(SymbolTable *symbols, Str name, const Op *reader, Value *value,
                              const Value *source);

/* insert-reorders. */

/* Builds result[i] = source[map(i)], or fill where that is outside; fill may be NULL. Returns the
 * source itself if nothing moves. */
Value *to_dfg_build_reorder(Builder *b, Value *source, const Type *type, const AffineMap *map,
                            const Attr *fill);
/* Whether a type is a frame that reorders and merges can move, or no tensor. False: diagnosed. */
bool to_dfg_check_frame(const Op *op, const Type *type) MUST_CHECK;
/* A constant as a stream: a dfg.merge of nothing else. Its type is such a frame. */
Value *to_dfg_build_stream(Builder *b, Value *constant);
/* Makes a slice, insertion, concatenation or padding a dfg op; true for other ops, too. False:
 * diagnosed. */
bool to_dfg_make_move(Op *op) MUST_CHECK;
/* Joins a reorder and the reorder in front of it, if nothing else reads that one. */
void to_dfg_join_reorders(Op *reorder);
/* Makes every streamed operand of a linalg.generic arrive in the order of its loops, and its result
 * leave in the order in which it is computed. False: diagnosed. */
bool to_dfg_fit_kernel(Op *generic) MUST_CHECK;
/* Puts reorders that move nothing around a product of two matrices that stream, so that its words
 * may be blocks. */
void to_dfg_regroup_product(Op *generic);

#endif
