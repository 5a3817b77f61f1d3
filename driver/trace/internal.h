/* The inside of driver/trace.
 * Tests: lit/tools/ming-compare.mir, test/e2e/trace_check.py */
#ifndef MING_DRIVER_TRACE_INTERNAL_H
#define MING_DRIVER_TRACE_INTERNAL_H

#include "driver/trace/trace.h"

/* A tensor of a trace: a result of an op, or what a stream carries. */
typedef struct Tensor {
    Str name, op; /* in the context */
    size_t number;
    Boundary boundary;
    const Attr *shape; /* of a frame in the network; NULL: as the boundary has it */
    Npy npy;
} Tensor;

struct Trace {
    VEC(Tensor) tensors;
    PtrMap first; /* Op* -> its first tensor + 1 */
    int64_t frame, frames;
    const char *source; /* what it is of, for index.json; NULL: the interpreter */
    VEC(Str) fused;     /* tensors of the network that are none of it */
};

/* Puts what a value is in the current frame into the tensor's array. */
bool trace_leave(Trace *t, size_t tensor, const Array *value, StrBuf *why) MUST_CHECK;

#endif
