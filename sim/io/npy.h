/* NumPy's .npy files, versions 1 to 3: little-endian integers of 8 to 64 bits, bool, f16, f32 and
 * f64, in either array order. A file is trusted in nothing: the header is parsed strictly, and the
 * size that its shape implies must be the size of the file.
 * Tests: test/unit/npy_test.c */
#ifndef MING_SIM_NPY_H
#define MING_SIM_NPY_H

#include "ir/support/support.h"

enum { NPY_MAX_RANK = 32 };

typedef struct Npy {
    char kind;     /* 'b', 'i', 'u' or 'f' as in a dtype */
    uint32_t item; /* bytes per element: 1, 2, 4 or 8 */
    uint32_t rank;
    int64_t dims[NPY_MAX_RANK];
    int64_t count; /* elements */
    uint8_t *data; /* row-major, little-endian; owned */
} Npy;

/* Zeros of that shape; false if they need more bytes than a size_t counts. */
bool npy_init(Npy *npy, char kind, uint32_t item, const int64_t *dims, uint32_t rank) MUST_CHECK;
void npy_free(Npy *npy);

/* The array in a file's bytes, in row-major order whatever the file's. False: why says what is
 * wrong, and nothing is owned. */
bool npy_parse(Str bytes, Npy *out, StrBuf *why) MUST_CHECK;
/* The file that numpy.save writes for the array. */
void npy_print(const Npy *npy, StrBuf *out);

/* "int8", "float32", … */
void npy_print_dtype(const Npy *npy, StrBuf *out);
/* One element. Integers (bool too) by the first; those above INT64_MAX give their bits. */
int64_t npy_get_i64(const Npy *npy, int64_t index);
double npy_get_f64(const Npy *npy, int64_t index);
/* value must fit the type; a float is rounded to it, half to even. */
void npy_set_i64(Npy *npy, int64_t index, int64_t value);
void npy_set_f64(Npy *npy, int64_t index, double value);

#endif
