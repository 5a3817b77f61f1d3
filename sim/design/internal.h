/* What an array of emithls becomes: registers or memories with ports.
 * Tests: lit/sim/design/schedule.mir */
#ifndef MING_SIM_DESIGN_INTERNAL_H
#define MING_SIM_DESIGN_INTERNAL_H

#include "sim/design/design.h"

typedef struct HlsMemory {
    const Value *array;
    bool is_register;     /* no dimension is addressed */
    bool is_constant;     /* a table, or outside: iterations do not depend on each other */
    uint64_t banks, wide; /* bit per dimension: partitioned, joined to one word */
    Str name, type, impl; /* type and impl as bind_storage has them, or empty */
    int64_t distance;     /* iterations between a store and the next load of its element */
} HlsMemory;

/* From the pragmas on the array. */
HlsMemory design_memory(const Value *array);
/* Whether the array is a delay line of registers: element 0 is stored to, each other one takes what
 * its neighbour holds. What is stored comes back, `*distance` iterations later, where `load` reads;
 * that is as far as can be told without the pragma. Loads that pass an element on are none to ask
 * about. */
bool design_is_delayed(const HlsMemory *memory, const Op *load, int64_t *distance);
/* Whether a load gives what a store of the array puts into the next element. */
bool design_is_shift(const Op *load);
/* How long a load takes. */
OpTiming design_load_timing(const HlsMemory *memory, const HlsLoop *loop, const Op *load);
/* Cycles in which the ports make an iteration's accesses to the array. Equal addresses in one bank
 * share an access. */
int64_t design_port_cycles(const HlsMemory *memory, const HlsLoop *loop);

#endif
