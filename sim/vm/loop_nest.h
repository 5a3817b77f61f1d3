/* A perfect loop nest around a program: what runs a structured op. Every element of an output is
 * computed in the order of the loops, as nested loops would; other loops may change places.
 *
 * The innermost loop is cut into strips. It is one along which no output element is met twice, so
 * that a strip's iterations do not read each other's results.
 * Tests: test/unit/interp_test.c */
#ifndef MING_SIM_NEST_H
#define MING_SIM_NEST_H

#include "sim/vm/payload_code.h"

typedef struct NestOperand {
    Array *array;         /* borrowed; outputs are written in place, only the nest holds them */
    const AffineMap *map; /* from the loops to an index of the array */
    /* by vm_nest_init: */
    int64_t base;
    int64_t *strides; /* per loop, in elements; NULL: the map is not linear */
} NestOperand;

typedef struct Nest {
    const Op *op; /* for diagnostics */
    uint32_t loop_count, operand_count, input_count;
    int64_t *extents;
    NestOperand *operands; /* inputs, then outputs: yield i goes to output i */
} Nest;

/* Room for operands and loops in the arena; the caller fills extents, arrays and maps. */
Nest *vm_nest_new(Arena *arena, const Op *op, uint32_t loop_count, uint32_t operand_count);
/* Offsets and strides from the maps. False: an index can leave its array, diagnosed; maps that are
 * not linear are checked while running. */
bool vm_nest_init(Nest *nest, Arena *arena) MUST_CHECK;
/* Iterations; 0 if any extent is 0, INT64_MAX if they are too many to count. */
int64_t vm_nest_count(const Nest *nest);
/* Runs a started program, whose argument i is operand i. */
bool vm_nest_run(const Nest *nest, Program *program, Arena *arena) MUST_CHECK;

/* Elementwise: arrays of as many elements as the outputs, or of one that stands for all. */
bool vm_nest_run_flat(const Op *op, Program *program, Array *const *inputs, uint32_t input_count,
                   Array *const *outputs, uint32_t output_count, Arena *arena) MUST_CHECK;

#endif
