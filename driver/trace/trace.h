/* Tensors layer by layer: what a run of a function, or the simulation of a design, leaves in a
 * folder, and how tensors differ.
 *
 *   interpreter ─▶ trace_watch: a result per op ─────────────┬▶ trace_write: NNN_name.npy …,
 *   simulation ─▶ trace_design_turn: streams and ports ──────┘               index.json
 *   two arrays ─▶ trace_difference          scores, labels ─▶ trace_accuracy
 *
 * `ming run --trace=`, `ming compare` and --expected build on it.
 * Tests: lit/tools/ming-compare.mir */
#ifndef MING_DRIVER_TRACE_TRACE_H
#define MING_DRIVER_TRACE_TRACE_H

#include "sim/hls/hls.h"
#include "sim/interp/interp.h"

typedef struct Trace Trace;

/* Of what the ops of the function's first block give, but for constants. The function must stay as it
 * is. NULL: diagnosed, a result is of a type that arrays of numpy do not have. */
Trace *trace_create(const Op *func, int64_t frames) MUST_CHECK;
void trace_free(Trace *trace);
/* For interp_watch; keeps the results of the trace's frame. */
InterpWatch trace_watch(Trace *trace);
/* What is seen from now on goes into arrays of so many frames. */
void trace_begin_frame(Trace *trace, int64_t frame, int64_t frames);
/* The tensors, and the array of each, whose data is NULL before it was seen. */
size_t trace_count(const Trace *trace); /* 0 of NULL */
Npy *trace_array(Trace *trace, size_t tensor);
/* Writes the tensors, frames one behind the other, and then index.json, into a folder, which is made
 * if it is not there. False: appended to *why. */
bool trace_write(const Trace *trace, const char *dir, StrBuf *why) MUST_CHECK;

/* The tensors of the network that a design's ports, and streams between its processes, carry, under
 * the names that a trace of the network has: integers as the reals they stand for, in the network's
 * order. It borrows both. NULL: diagnosed. */
typedef struct DesignTrace DesignTrace;
DesignTrace *trace_create_design(const HlsDesign *design, HlsValues *values, int64_t frames)
    MUST_CHECK;
void trace_free_design(DesignTrace *trace);
/* Takes a frame of each instance, of a tile, else a frame, when it is simulated. ports: one array per
 * argument of the top function. False: appended to *why. */
bool trace_design_turn(DesignTrace *trace, int64_t turn, Array *const *ports, StrBuf *why)
    MUST_CHECK;
/* How many tensors it has, and how many of the network no stream carries. */
void trace_count_design(const DesignTrace *trace, size_t *traced, size_t *fused);
/* As trace_write; index.json names those that no stream carries, too. */
bool trace_write_design(DesignTrace *trace, const char *dir, StrBuf *why) MUST_CHECK;

/* How far elements may be apart: absolute + relative * |that of the second array|. */
typedef struct TraceTolerance {
    double absolute, relative;
} TraceTolerance;
/* "ABSOLUTE" or "ABSOLUTE,RELATIVE", neither below 0. */
bool trace_parse_tolerance(const char *text, TraceTolerance *out) MUST_CHECK;

/* How two arrays differ. Elements that are both not a number are equal; integers are compared as
 * such, and with floats as floats. */
typedef struct TraceDifference {
    bool shapes_differ;
    int64_t count, first; /* elements that differ; the place of the first in row-major order */
    double greatest;      /* distance of those; of a number from what is none: infinity */
} TraceDifference;
TraceDifference trace_difference(const Npy *a, const Npy *b, TraceTolerance tolerance);

/* Reads a file. False: appended to *why, with the path. */
bool trace_read_npy(const char *path, Npy *out, StrBuf *why) MUST_CHECK;

/* Appends "top-1 …, top-5 …": of how many frames the label is among the greatest scores; of equal
 * ones, the first is greater. False: appended to *why, labels do not fit. */
bool trace_accuracy(const Npy *scores, int64_t frames, const Npy *labels, StrBuf *out, StrBuf *why)
    MUST_CHECK;

#endif
