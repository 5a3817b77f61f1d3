/* Scalar ops of arith and math on strips of elements: one instruction computes up to STRIP cells
 * at once. An integer is kept as ir/attr/array.h keeps it (extended by its sign, i1 as 0 or 1), a float
 * as a double that is a value of its format.
 * Tests: test/unit/interp_test.c, test/e2e/run_check.py */
#ifndef MING_SIM_CELLS_H
#define MING_SIM_CELLS_H

#include "ir/core/opdef.h"

enum { STRIP = 128 };

typedef union Cell {
    int64_t i;
    uint64_t u;
    double f;
} Cell;

typedef struct Instr Instr;
/* Computes n cells. False: the op's behaviour is undefined for one of them, diagnosed. */
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

/* What computes an op on elements; NULL if nothing does. */
InstrFn *vm_instr_fn(const OpDef *def);
/* All fields but the cells. */
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

/* The same bits as another type of that width. */
Cell vm_cell_bitcast(const Type *from, const Type *to, Cell cell);

/* run_<NAME>: a function of the double x, rounded to the result's type. */
#define FLOAT_UNARY(NAME, EXPR)                                                                    \
    static bool run_##NAME(const Instr *in, size_t n)                                              \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            double x = in->in[0][i].f;                                                             \
            in->out[0][i].f = (EXPR);                                                              \
        }                                                                                          \
        vm_round_cells(in->out[0], n, in->type);                                                      \
        return true;                                                                               \
    }

/* Tables of the files, NULL where an op is not theirs. */
InstrFn *vm_integer_instr(const OpDef *def);
InstrFn *vm_float_instr(const OpDef *def);
InstrFn *vm_math_instr(const OpDef *def);
InstrFn *vm_tosa_instr(const OpDef *def);

/* tosa.rescale of one integer by the scale of a channel. */
int64_t vm_tosa_rescale(const Op *op, const Type *to, int64_t value, size_t channel);
/* A sum of count integers divided by count as tosa.avg_pool2d does it, plus a zero point. */
int64_t vm_tosa_mean(const Type *to, int64_t sum, int64_t count, int64_t zero);

#endif
