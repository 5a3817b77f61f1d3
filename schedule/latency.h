/* Latency model: how many registers an operator has inside and how long its signals travel, per op,
 * width and clock. docs/simulation.md has the table; the numbers are typical of HLS operators on
 * UltraScale+ (-2), rounded up.
 * Tests: test/unit/latency_test.c, lit/sim/hls-schedule.mir */
#ifndef MING_TARGET_LATENCY_H
#define MING_TARGET_LATENCY_H

#include "ir/core/op.h"

/* Time in a pipeline, counted in picoseconds of usable clock: cycle * usable + delay in the cycle. */
typedef struct Clock {
    int64_t usable_ps; /* the period less the tool's margin of 27 % for routing */
} Clock;

Clock clock_of_period(int64_t period_ps);

typedef struct OpTiming {
    int64_t stages; /* cycles from operands to result, because of registers inside */
    int64_t delay;  /* picoseconds before the first register, and again behind the last one */
} OpTiming;

/* Of a scalar op of arith or math, or a condition, read or write of emithls. Ops that are wires
 * (extensions, constants, shifts by constants) take {0, 0}. Loads depend on their memory. */
OpTiming latency_op(const Op *op, Clock clock);
/* Of a DSP slice's product; from a slice's result to that of the next one in a cascade, which adds its
 * product to it; of an integer sum in the fabric. */
OpTiming latency_dsp(void);
OpTiming latency_cascade(void);
OpTiming latency_sum(int64_t bits);
/* A load from `impl` ("bram", "uram", "lutram", "auto", or "external"); registers with an index that moves choose
 * among `choices`. */
OpTiming latency_memory_load(Str impl);
OpTiming latency_register_load(int64_t choices);

/* The same product made of LUTs. */
OpTiming latency_lut_product(const Op *op);
/* A read or write of a stream. */
OpTiming latency_stream(void);
/* Of a condition: so many constraints, computed side by side, the slowest by this delay. */
OpTiming latency_constraints(int64_t count, int64_t delay);
/* Of what constraints compute: a sum or multiple of counters; a quotient or remainder. */
int64_t latency_counter_sum(void);
int64_t latency_counter_quotient(int64_t divisor);

/* When the result of an operator is there whose operands come at `start`: what does not fit the rest
 * of a cycle begins in the next one. */
int64_t clock_after(Clock clock, int64_t start, OpTiming timing);
/* The cycle a time lies in, and the cycles that pass until it is over. */
int64_t clock_cycle(Clock clock, int64_t time);
int64_t clock_cycles_until(Clock clock, int64_t time);

#endif
