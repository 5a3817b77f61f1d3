/* Between hls_sim_compile.c (processes, bodies, scalars) and hls_compile_array.c (indices, accesses). A
 * register is a number; maps keep it plus one.
 * Tests: lit/sim/hls-values.mir */
#ifndef MING_SIM_HLS_COMPILER_H
#define MING_SIM_HLS_COMPILER_H

#include "sim/hls/code.h"
#include "sim/vm/payload_code.h"

typedef struct Constant {
    uint32_t reg;
    Cell value;
} Constant;

typedef struct Compiler {
    const HlsLoop *loop;
    HlsLoopCode *code;
    uint32_t reg_count;
    PtrMap arrays;    /* Value* -> first register + 1 */
    PtrMap own;       /* Value* -> its register + 1 */
    PtrMap places;    /* Value* -> the register + 1 that holds it in this copy */
    PtrMap lanes;     /* counter of an unrolled loop -> AffineExpr constant */
    PtrMap indices;   /* AffineExpr* -> register + 1; of this loop */
    PtrMap ports;     /* stream Value* -> port + 1 */
    VEC(Constant) constants;
    VEC(Array *) tables; /* contents of constant arrays, with ... */
    VEC(uint32_t) table_regs;
} Compiler;

/* An address: register of its moving part, or NO_REG, and a constant. */
enum { NO_REG = 0 };
typedef struct Index {
    uint32_t reg;
    int64_t add;
} Index;

/* `count` registers in a row: the first. */
uint32_t hls_sim_compiler_new_regs(Compiler *c, int64_t count);
/* An instruction at the end of the body; it stays where it is until the next one. */
HlsInstr *hls_sim_compiler_emit(Compiler *c, HlsOpcode code);
uint32_t hls_sim_reg_find(const PtrMap *map, const void *key);
void hls_sim_reg_put(PtrMap *map, const void *key, uint32_t reg);
/* The value's own register, as its place from now on. */
uint32_t hls_sim_compiler_define(Compiler *c, const Value *value);
uint32_t hls_sim_compiler_place(const Compiler *c, const Value *value);

/* An expression over the loop's counters, as a linear form that moves along or computed before the body. */
Index hls_sim_compile_index(Compiler *c, const AffineExpr *expr);
/* The same in one register, its constant part too. */
uint32_t hls_sim_whole_index(Compiler *c, const AffineExpr *expr);
/* Register of an operation on index registers, computed before the body. */
uint32_t hls_sim_compile_index_op(Compiler *c, HlsOpcode code, uint32_t a, uint32_t b, int64_t imm);
/* An expression over an op's indices, which begin at operand `first`, over the loop's counters; NULL: an
 * index is none of them. */
const AffineExpr *hls_sim_compiler_over_counters(const Compiler *c, const Op *op, uint32_t first,
                                         const AffineExpr *expr);
/* Accesses of arrays. block_begin: instruction at which the block begins. False: diagnosed. */
bool hls_sim_compile_load(Compiler *c, const Op *op) MUST_CHECK;
bool hls_sim_compile_store(Compiler *c, const Op *op, size_t block_begin) MUST_CHECK;

#endif
