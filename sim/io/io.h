/* Arrays that come from or go to files: NumPy's .npy format, and the boundary between the model's
 * arrays and a function's values. A file is trusted in nothing. Functions report to a StrBuf `why`
 * in place of a diagnostic where the caller knows better what to blame (a file, an argument).
 * sim/interp (--verify-semantics) and the driver (`ming run`, `ming check`) build on it.
 * Tests: test/unit/sim/io/npy_test.c, lit/tools/ming-run.mir */
#ifndef MING_SIM_IO_IO_H
#define MING_SIM_IO_IO_H

#include "dialects/onnx/onnx.h"
#include "ir/attr/attr.h"
#include "ir/support/support.h"

/* NumPy's .npy files, versions 1 to 3: little-endian integers of 8 to 64 bits, bool, f16, f32 and
 * f64, in either array order. The header is parsed strictly, and the size that its shape implies
 * must be the size of the file.
 * Tests: test/unit/sim/io/npy_test.c */

enum { NPY_MAX_RANK = 32 };

typedef struct Npy {
    char kind;     /* 'b', 'i', 'u' or 'f' as in a dtype */
    uint32_t item; /* bytes per element: 1, 2, 4 or 8 */
    uint32_t rank;
    int64_t dims[NPY_MAX_RANK];
    int64_t count; /* elements */
    uint8_t *data; /* row-major, little-endian; owned */
} Npy;

/* An array of zeros of that shape, to be freed by npy_free. False: it needs more bytes than a
 * size_t counts, and nothing is owned. */
bool npy_init(Npy *npy, char kind, uint32_t item, const int64_t *dims, uint32_t rank) MUST_CHECK;
void npy_free(Npy *npy);

/* Reads the array in a file's bytes, into row-major order whatever the file's order is. The caller
 * frees it. False: why says what is wrong, and nothing is owned. */
bool npy_parse(Str bytes, Npy *out, StrBuf *why) MUST_CHECK;
/* Appends the file that numpy.save writes for the array. */
void npy_print(const Npy *npy, StrBuf *out);

/* One element: the first function reads integers and bool (those above INT64_MAX give their bits),
 * the second floats. */
int64_t npy_get_i64(const Npy *npy, int64_t index);
double npy_get_f64(const Npy *npy, int64_t index);
/* Set one element. An integer must fit the type; a float is rounded to it, half to even. */
void npy_set_i64(Npy *npy, int64_t index, int64_t value);
void npy_set_f64(Npy *npy, int64_t index, double value);

/* The boundary of a function: converts between .npy arrays and its values, as the testbench of an
 * emitted project does. dfg.quant says how floats are quantized on the way in and read on the way
 * out, dfg.layout in which order of dimensions the function sees the model's tensor. An array whose
 * first dimension is a multiple of the model's holds several frames.
 * Tests: lit/tools/ming-run.mir, lit/tools/ming-run-invalid.mir */

typedef struct Boundary {
    const Type *type;             /* in the function */
    const Type *tensor;           /* the model's: dimensions in its order; a scalar has rank 0 */
    Str name;                     /* dfg.name, or empty */
    uint32_t order[NPY_MAX_RANK]; /* the model's dimension behind each of the function's */
    bool is_unranked;             /* any shape; tensor has only the elements' type */
    bool has_layout;              /* order is not the identity */
    bool is_quantized, is_signed;
    bool is_bipolar; /* quantized to 1 where it is not negative, else to -1 */
    bool is_bit;     /* and the function has bits, 1 for 1 and 0 for -1 */
    double scale;
    int64_t zero, low, high, divisor; /* real number: (q - zero) * scale / divisor */
    Rounding rounding;
} Boundary;

/* The boundary of one argument or result, from its type in the signature and the attributes beside
 * it (NULL: none). It borrows both and owns nothing. False: diagnosed at func. */
bool boundary_init(const Op *func, const Type *type, const Attr *attrs, Boundary *out) MUST_CHECK;

/* What is doubtful in an array that enters all the same: an element that is not a number, or integers
 * that stand for real numbers which the boundary's levels do not have. True: appended to *why. */
bool boundary_doubt(const Boundary *boundary, const Npy *npy, StrBuf *why);

/* Counts the frames in an array. False: why says how its shape does not fit. */
bool boundary_frames(const Boundary *boundary, const Npy *npy, int64_t *frames, StrBuf *why)
    MUST_CHECK;
/* The element type of the arrays that boundary_leave makes, or of those that boundary_new_input
 * makes. */
void boundary_dtype(const Boundary *boundary, bool is_input, char *kind, uint32_t *item);
/* Makes an array of zeros for a frame that enters there: integers of the least width that numpy has,
 * floats of 32 bits but for f64, also where the boundary quantizes them. False: it is too large. */
bool boundary_new_input(const Boundary *boundary, Npy *out) MUST_CHECK;

/* One frame as the function takes it, a new reference. NULL: why names an element that the type
 * does not hold. */
Array *boundary_enter(const Boundary *boundary, const Npy *npy, int64_t frame, StrBuf *why)
    MUST_CHECK;
/* Puts a result as frame number `frame` of `frames` into out, which is made for the first one.
 * False: why says that the frames differ in shape or are too large. */
bool boundary_leave(const Boundary *boundary, const Array *result, int64_t frame, int64_t frames,
                    Npy *out, StrBuf *why) MUST_CHECK;

#endif
