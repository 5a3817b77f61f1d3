/* A vector virtual machine: runs the bodies of structured ops on strips of elements, so that the
 * cost of decoding an instruction is spread over STRIP elements.
 *
 *   vm_ops*.c        one instruction per scalar op of arith, math and tosa
 *   payload_code.c   compiles a body to instructions
 *   loop_nest.c      runs compiled bodies over iteration spaces; mac.c a shorter way for products
 *   strided_copy.c   copies boxes of elements
 *
 * An integer is kept as ir/attr/attr.h keeps it (extended by its sign, i1 as 0 or 1), a float as a
 * double that is a value of its format. Undefined behaviour is diagnosed at the op. sim/interp and
 * sim/hls build on it.
 * Tests: test/unit/sim/interp/interp_test.c, test/e2e/run_check.py */
#ifndef MING_SIM_VM_VM_H
#define MING_SIM_VM_VM_H

#include "ir/attr/attr.h"
#include "ir/core/core.h"

/* Instructions: the scalar ops.
 * Tests: test/unit/sim/interp/interp_test.c, test/e2e/run_check.py */

enum { STRIP = 128 }; /* elements that an instruction computes at once, at most */

typedef union Cell {
    int64_t i;
    uint64_t u;
    double f;
} Cell;

typedef struct Instr Instr;
/* Computes the first n cells of `out`, n <= STRIP. False: the op's behaviour is undefined for one
 * of them, diagnosed. */
typedef bool InstrFn(const Instr *in, size_t n);

struct Instr {
    InstrFn *run;
    const Op *op;
    const Cell *in[3];
    Cell *out[2];
    const Type *type;    /* element of the first result */
    const Type *in_type; /* element of the operand that the op is about: the first, or what select
                            selects */
    uint32_t spare, in_spare; /* 64 - width of these */
    int64_t mask;             /* 1 for results of type i1, else -1 */
    int64_t param;            /* predicate or rounding mode */
    const void *extra;        /* of instructions that are no plain op */
};

/* The function that computes an op on elements; NULL: there is none. */
InstrFn *vm_instr_fn(const OpDef *def);
/* Whether there is one for this op: of unrealized casts only for those between the signs of integers. */
bool vm_has_instr(const Op *op);
/* The instruction for an op, all fields but the cells, which the caller sets. */
Instr vm_instr_for(const Op *op);

/* Integer of 64 - spare bits in the low bits of value, by its sign. */
static inline int64_t extend_sign(int64_t value, uint32_t spare)
{
    return (int64_t)((uint64_t)value << spare) >> spare;
}

static inline uint64_t extend_zero(int64_t value, uint32_t spare)
{
    return (uint64_t)value << spare >> spare;
}

/* Rounds n doubles to a float type, half to even. */
void vm_round_cells(Cell *cells, size_t n, const Type *type);

/* Reads the bits of a cell as another type of the same width. */
Cell vm_cell_bitcast(const Type *from, const Type *to, Cell cell);

/* run_<NAME>: a function of the double x, rounded to the result's type. */
#define FLOAT_UNARY(NAME, EXPR)                                                                    \
    static bool run_##NAME(const Instr *in, size_t n)                                              \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            double x = in->in[0][i].f;                                                             \
            in->out[0][i].f = (EXPR);                                                              \
        }                                                                                          \
        vm_round_cells(in->out[0], n, in->type);                                                   \
        return true;                                                                               \
    }

/* vm_instr_fn by file: vm_ops_int.c, _float.c, _math.c and _tosa.c. NULL: the op is none of the
 * file's. */
InstrFn *vm_integer_instr(const OpDef *def);
InstrFn *vm_float_instr(const OpDef *def);
InstrFn *vm_math_instr(const OpDef *def);
InstrFn *vm_tosa_instr(const OpDef *def);

/* tosa.rescale of one integer by the scale of a channel, whose shift is in [0, 62]. False: the
 * scaled integer has more than 32 bits, for which TOSA defines no result; not diagnosed. */
bool vm_tosa_rescale(const Op *op, const Type *to, size_t channel, int64_t *value) MUST_CHECK;
/* A sum of count integers divided by count as tosa.avg_pool2d does it, plus a zero point. */
int64_t vm_tosa_mean(const Type *to, int64_t sum, int64_t count, int64_t zero);

/* Payload code: the body of an op (linalg.generic, tensor.generate, …) as instructions. It is
 * compiled once and run for every strip of the iteration space.
 * Tests: test/unit/sim/interp/interp_test.c */

/* The meaning of a body's arguments. */
typedef enum BodyArgs { ARGS_ARE_ELEMENTS, ARGS_ARE_INDICES } BodyArgs;

/* A value from outside the body. */
typedef struct VmCapture {
    const Value *value;
    Cell *cells;        /* of a scalar: filled before the first strip; NULL for a tensor */
    const Array *array; /* while the payload runs; borrowed */
} VmCapture;

typedef struct VmPayload {
    Arena arena;           /* registers: STRIP cells each */
    VEC(Instr) once, each; /* the former depend on no element and no index */
    Cell **args;           /* per argument; NULL: not read */
    Cell **loops;          /* per loop, its index; NULL: not read */
    const Cell **yields;
    uint32_t arg_count, loop_count, yield_count;
    VEC(VmCapture) captures;
} VmPayload;

/* Compiles a payload that computes the `wanted` values from the arguments of a block. The caller
 * frees it. NULL: diagnosed, naming the op that has no instruction. */
VmPayload *vm_payload_compile(const Block *block, BodyArgs args, uint32_t loop_count,
                              Value *const *wanted, uint32_t wanted_count) MUST_CHECK;
/* A payload of one elementwise op; its operands are the arguments. */
VmPayload *vm_payload_of_op(const Op *op) MUST_CHECK;
void vm_payload_free(VmPayload *payload);

/* Binds the captures (one array each, in their order) and runs the instructions that depend on
 * nothing else. False: undefined behaviour, diagnosed. */
bool vm_payload_start(VmPayload *payload, Array *const *captured) MUST_CHECK;
/* Runs the other instructions on the first n cells of the registers, n <= STRIP. False: undefined
 * behaviour, diagnosed. */
bool vm_payload_run(const VmPayload *payload, size_t n) MUST_CHECK;

/* Cells and the elements of arrays; vm_cell_holds tells whether scalars of the type fit a cell. */
bool vm_cell_holds(const Type *type);
Cell vm_cell_from_array(const Array *array, int64_t index);
void vm_cell_to_array(Array *array, int64_t index, Cell cell);

/* Loop nests: a perfect loop nest around a payload, which is how structured ops run. Every element
 * of an output is computed in the order of the loops, as nested loops would do it. Only a loop
 * along which no output element is met twice may move, to the innermost place, where it is cut
 * into strips: the iterations of a strip then do not read each other's results.
 * Tests: test/unit/sim/interp/interp_test.c */

typedef struct NestOperand {
    Array *array;         /* borrowed; outputs are written in place, only the nest holds them */
    const AffineMap *map; /* from the loops to an index of the array */
    /* by vm_nest_init: */
    int64_t base;
    int64_t *strides; /* per loop, in elements; NULL: the map is not linear */
} NestOperand;

typedef struct VmNest {
    const Op *op; /* for diagnostics */
    uint32_t loop_count, operand_count, input_count;
    int64_t *extents;
    NestOperand *operands; /* inputs, then outputs: yield i goes to output i */
} VmNest;

/* Room for operands and loops in the arena; the caller fills extents, arrays and maps. */
VmNest *vm_nest_new(Arena *arena, const Op *op, uint32_t loop_count, uint32_t operand_count);
/* Offsets and strides from the maps. False: an index can leave its array, diagnosed; maps that are
 * not linear are checked while running. */
bool vm_nest_init(VmNest *nest, Arena *arena) MUST_CHECK;
/* Iterations; 0 if any extent is 0, INT64_MAX if they are too many to count. */
int64_t vm_nest_count(const VmNest *nest);
/* Runs a started payload, whose argument i is operand i. False: undefined behaviour, diagnosed. */
bool vm_nest_run(const VmNest *nest, VmPayload *payload, Arena *arena) MUST_CHECK;

/* Runs a payload element by element: an input has as many elements as the outputs, or one element
 * that is used for all. */
bool vm_nest_run_flat(const Op *op, VmPayload *payload, Array *const *inputs, uint32_t input_count,
                      Array *const *outputs, uint32_t output_count, Arena *arena) MUST_CHECK;

/* Multiply-accumulate: sums of products of integers, the body of convolutions and matrix products,
 *
 *   yield out + f(a) * g(b)
 *
 * with f and g of one input each (extensions, zero points subtracted, …). This is much faster than
 * a payload, because f and g are computed once for every element of their operands. The sums are
 * exact modulo 2^64, hence modulo the width.
 * Tests: test/unit/sim/interp/interp_test.c, test/e2e/run_check.py */

typedef struct Mac Mac;

/* The pattern in the body of a structured op, or NULL. */
Mac *vm_mac_recognize(const Op *op);
void vm_mac_free(Mac *mac); /* NULL is fine */
/* Whether this nest's maps are linear. */
bool vm_mac_can_run(const Mac *mac, const VmNest *nest);
/* Adds the sums to the nest's output. False: undefined behaviour in f or g, diagnosed. */
bool vm_mac_run(const Mac *mac, const VmNest *nest, Arena *arena) MUST_CHECK;

/* Strided copies: boxes of elements between arrays of one element type.
 * Tests: test/unit/sim/interp/interp_test.c, test/e2e/run_check.py */

/* One side of a copy: where the box begins and its step along each dimension, in elements. */
typedef struct CopySide {
    int64_t base;
    int64_t *steps;
} CopySide;

/* Copies a box of `rank` dimensions. It must lie inside both arrays. */
void vm_strided_copy(Array *to, const CopySide *to_side, const Array *from,
                     const CopySide *from_side, const int64_t *sizes, uint32_t rank);

/* Elements between neighbours along each dimension of a shape; steps has its rank. */
void vm_row_major_steps(const Type *shape, int64_t *steps);
/* Advances a row-major index; false after the last. */
bool vm_next_index(int64_t *index, const int64_t *sizes, uint32_t rank);
/* Sets one element to another of the same element type. */
void vm_copy_element(Array *to, int64_t to_index, const Array *from, int64_t from_index);

#endif
