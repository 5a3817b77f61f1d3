/* Arrays of emithls as hardware: registers, or memories with a limited number of ports. For the
 * sources of sim/design only: memory_ports.c answers, op_schedule.c asks when it schedules an
 * iteration.
 * Tests: lit/sim/design/schedule.mir, lit/sim/design/memories.mir */
#ifndef MING_SIM_DESIGN_INTERNAL_H
#define MING_SIM_DESIGN_INTERNAL_H

#include "sim/design/design.h"

/* Whether the array is a delay line of registers: element 0 is stored to, each other one takes what
 * its neighbour holds. A stored value then reaches the element that `load` reads `*distance`
 * iterations later; without the dependence pragma no more can be told. Do not ask about loads that
 * only pass an element on (design_is_shift). */
bool design_is_delayed(const HlsMemory *memory, const Op *load, int64_t *distance);
/* Whether a load only feeds the store that moves its element on by one place. */
bool design_is_shift(const Op *load);
/* The timing of a load from the array. */
OpTiming design_load_timing(const HlsMemory *memory, const HlsLoop *loop, const Op *load);
/* Cycles that the ports need for an iteration's accesses to the array: a lower bound of the
 * initiation interval. Equal addresses in one bank share an access. */
int64_t design_port_cycles(const HlsMemory *memory, const HlsLoop *loop);

#endif
