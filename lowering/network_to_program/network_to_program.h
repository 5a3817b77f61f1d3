/* Networks of the sa dialect to programs of an overlay.
 * Tests: lit/lowering/network_to_program, test/e2e/engine_check.py */
#ifndef MING_LOWERING_NETWORK_TO_PROGRAM_NETWORK_TO_PROGRAM_H
#define MING_LOWERING_NETWORK_TO_PROGRAM_NETWORK_TO_PROGRAM_H

#include "ir/pass/pass.h"

/* External memory, as the choice of tiles sees it: bytes in 1,000 cycles, cycles up to the first beat
 * and for each further run. */
typedef struct ProgramMemory {
    uint64_t rate, latency, restart;
    uint32_t parts; /* in which the first layer's input comes */
} ProgramMemory;

#define PROGRAM_MEMORY_DEFAULTS                                                                    \
    ((ProgramMemory){.rate = 64000, .latency = 64, .restart = 4, .parts = 8})

/* What the model says of a network on its overlay, from inputs outside to outputs outside. Nothing is
 * simulated. */
typedef struct ProgramEstimate {
    uint64_t cycles;
    uint64_t array;                   /* cycles of them that the array takes by itself */
    uint64_t runs;                    /* of the array */
    uint64_t products;                /* that the layers ask for, padding included */
    uint64_t weights;                 /* of the layers, without what fills words up */
    uint64_t weight_bytes, map_bytes; /* that are moved */
    uint64_t weight_space, map_space; /* bytes of external memory */
    uint32_t
        pages; /* that maps on the chip take at a time; all of the overlay's if some lie outside */
    uint32_t vectors; /* of parameters */
    uint32_t outside; /* maps that lie outside for lack of room */
} ProgramEstimate;

/* Estimates a verified sa.network. False: diagnosed, the overlay cannot run it.
 * Tests: test/e2e/overlay_model_check.py */
bool to_program_estimate(const Op *network, const ProgramMemory *memory, ProgramEstimate *out)
    MUST_CHECK;

extern const PassDef pass_lower_sa_network;
extern const PassDef pass_merge_sa_pools;
extern const PassDef pass_batch_sa_network;
extern const PassDef pass_choose_sa_tiles;

#endif
