/* Access traces: in which cycle of a frame an emithls process reads and writes which of its streams,
 * as runs of equal cycles. A process has static loops, so its trace is a fact of the code alone.
 * Tests: lit/target/fit-fifos.mir */
#ifndef MING_TARGET_TRACE_H
#define MING_TARGET_TRACE_H

#include "ir/op.h"

/* `count` cycles in a row, in each of which an iteration starts that accesses the streams in
 * `ports` (bit i: argument i of the function). */
typedef struct AccessRun {
    uint32_t count, ports;
} AccessRun;

typedef struct AccessTrace {
    VEC(AccessRun) runs;
    uint32_t reads, writes; /* ports by direction */
} AccessTrace;

/* What tracing a network may cost: iterations looked at, runs kept. Counted down. */
typedef struct TraceBudget {
    int64_t iterations, runs;
} TraceBudget;

/* Traces an emithls.func. After each pipelined loop follow `drain` idle cycles, in which its last
 * iterations leave the pipeline. False (no diagnostic): the budget is used up, a stream is accessed
 * twice in one iteration or inside an unrolled loop, or there are more than 32 ports. */
bool trace_process(const Op *func, uint32_t drain, TraceBudget *budget, AccessTrace *out) MUST_CHECK;
void trace_free(AccessTrace *trace);

#endif
