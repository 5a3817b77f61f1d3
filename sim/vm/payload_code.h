/* The body of an op (linalg.generic, tensor.generate, …) as instructions on strips of elements.
 * Compiled once, run for every strip of the iteration space: sim/vm/loop_nest.h does that.
 * Tests: test/unit/interp_test.c */
#ifndef MING_SIM_PROGRAM_H
#define MING_SIM_PROGRAM_H

#include "ir/attr/array.h"
#include "sim/vm/vm_ops.h"

/* What a body's arguments are. */
typedef enum BodyArgs { ARGS_ARE_ELEMENTS, ARGS_ARE_INDICES } BodyArgs;

/* A value from outside the body. */
typedef struct Capture {
    const Value *value;
    Cell *cells;      /* of a scalar: filled before the first strip; NULL for a tensor */
    const Array *array; /* while the program runs; borrowed */
} Capture;

typedef struct Program {
    Arena arena;           /* registers: STRIP cells each */
    VEC(Instr) once, each; /* the former depend on no element and no index */
    Cell **args;           /* per argument; NULL: not read */
    Cell **loops;          /* per loop, its index; NULL: not read */
    const Cell **yields;
    uint32_t arg_count, loop_count, yield_count;
    VEC(Capture) captures;
} Program;

/* A program that computes `wanted` values from the arguments of a block. NULL: diagnosed, naming
 * the op that elements have no instruction for. */
Program *vm_program_compile(const Block *block, BodyArgs args, uint32_t loop_count,
                         Value *const *wanted, uint32_t wanted_count) MUST_CHECK;
/* A program of one elementwise op; its operands are the arguments. */
Program *vm_program_of_op(const Op *op) MUST_CHECK;
void vm_program_free(Program *program);

/* Binds captures (arrays in their order) and runs what depends on nothing else. False: undefined
 * behaviour, diagnosed. */
bool vm_program_start(Program *program, Array *const *captured) MUST_CHECK;
/* Runs on the first n cells of the registers. */
bool vm_program_run(const Program *program, size_t n) MUST_CHECK;

/* Whether scalars of the type fit cells. */
bool vm_cell_holds(const Type *type);
Cell vm_cell_from_array(const Array *array, int64_t index);
void vm_cell_to_array(Array *array, int64_t index, Cell cell);

#endif
