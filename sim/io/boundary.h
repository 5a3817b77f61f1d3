/* Between .npy arrays and a function's values, as the testbench of an emitted project does it:
 * dfg.quant says how floats are quantized on the way in and read on the way out, dfg.layout in
 * which order of dimensions the function sees the model's tensor, and an array whose first
 * dimension is a multiple of the model's holds several frames.
 * Tests: lit/tools/ming-run.mir, lit/tools/ming-run-invalid.mir */
#ifndef MING_SIM_BOUNDARY_H
#define MING_SIM_BOUNDARY_H

#include "dialects/onnx/quant.h"
#include "ir/attr/array.h"
#include "sim/io/npy.h"

typedef struct Boundary {
    const Type *type;   /* in the function */
    const Type *tensor; /* the model's: dimensions in its order; a scalar has rank 0 */
    Str name;           /* dfg.name, or empty */
    uint32_t order[NPY_MAX_RANK]; /* the model's dimension behind each of the function's */
    bool is_unranked;   /* any shape; tensor has only the elements' type */
    bool has_layout;    /* order is not the identity */
    bool is_quantized, is_signed;
    double scale;
    int64_t zero, low, high, divisor; /* real number: (q - zero) * scale / divisor */
    Rounding rounding;
} Boundary;

/* From a type of the function's signature and the attributes beside it (NULL: none). False:
 * diagnosed at func. */
bool boundary_init(const Op *func, const Type *type, const Attr *attrs, Boundary *out) MUST_CHECK;

/* Frames in an array; false: why says how its shape does not fit. */
bool boundary_frames(const Boundary *boundary, const Npy *npy, int64_t *frames,
                     StrBuf *why) MUST_CHECK;
/* One frame as the function takes it. NULL: why names an element that the type does not hold. */
Array *boundary_enter(const Boundary *boundary, const Npy *npy, int64_t frame,
                      StrBuf *why) MUST_CHECK;
/* Puts a result as frame number `frame` of `frames` into out, which is made for the first one.
 * False: why says that the frames differ in shape or are too large. */
bool boundary_leave(const Boundary *boundary, const Array *result, int64_t frame, int64_t frames,
                    Npy *out, StrBuf *why) MUST_CHECK;

#endif
