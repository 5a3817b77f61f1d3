/* Tensors layer by layer: what a run of a function leaves in a folder, and how tensors differ.
 *
 *   interpreter ─▶ trace_watch: a result per op ─▶ trace_write: NNN_name.npy …, index.json
 *   two arrays ─▶ trace_difference          scores, labels ─▶ trace_accuracy
 *
 * `ming run --trace=`, `ming compare` and --expected build on it.
 * Tests: lit/tools/ming-compare.mir */
#ifndef MING_DRIVER_TRACE_TRACE_H
#define MING_DRIVER_TRACE_TRACE_H

#include "sim/interp/interp.h"

typedef struct Trace Trace;

/* Of what the ops of the function's first block give, but for constants. The function must stay as it
 * is. NULL: diagnosed, a result is of a type that arrays of numpy do not have. */
Trace *trace_create(const Op *func, int64_t frames) MUST_CHECK;
void trace_free(Trace *trace);
/* For interp_watch; keeps the results of the trace's frame. */
InterpWatch trace_watch(Trace *trace);
void trace_begin_frame(Trace *trace, int64_t frame);
/* Writes the tensors, frames one behind the other, and then index.json, into a folder, which is made
 * if it is not there. False: appended to *why. */
bool trace_write(const Trace *trace, const char *dir, StrBuf *why) MUST_CHECK;

/* How two arrays differ. Elements that are both not a number are equal; integers are compared as
 * such, and with floats as floats. */
typedef struct TraceDifference {
    bool shapes_differ;
    int64_t count, first; /* elements that differ; the place of the first in row-major order */
    double greatest;      /* distance; of a number from what is none: infinity */
} TraceDifference;
TraceDifference trace_difference(const Npy *a, const Npy *b);

/* Reads a file. False: appended to *why, with the path. */
bool trace_read_npy(const char *path, Npy *out, StrBuf *why) MUST_CHECK;

/* Appends "top-1 …, top-5 …": of how many frames the label is among the greatest scores; of equal
 * ones, the first is greater. False: appended to *why, labels do not fit. */
bool trace_accuracy(const Npy *scores, int64_t frames, const Npy *labels, StrBuf *out, StrBuf *why)
    MUST_CHECK;

#endif
