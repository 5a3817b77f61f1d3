/* Bodies of loops as register code: unrolled loops are written out, counters in addresses and
 * conditions become linear forms that are kept up to date from iteration to iteration, and elements
 * at constant addresses are registers themselves.
 * Tests: lit/sim/hls/values.mir, test/e2e/sizing_check.py */
#ifndef MING_SIM_HLS_INTERNAL_H
#define MING_SIM_HLS_INTERNAL_H

#include "sim/design/design.h"
#include "sim/hls/hls.h"
#include "sim/vm/vm.h"

/* r: registers. Integers wrap to 64 - spare bits. */
typedef enum HlsOpcode {
    CODE_END,
    CODE_COPY,  /* r[out + i] = r[a + i], i < count */
    CODE_LOAD,  /* r[out + i] = r[a + imm + r[b] + i] */
    CODE_STORE, /* r[out + imm + r[b] + i] = r[a + i] */
    CODE_CHECK, /* 0 <= r[b] + imm < count, or undefined behaviour of `op` */
    CODE_SKIP,  /* unless r[a], goes imm instructions further */
    CODE_TEST,  /* r[out] = all of `count` tests from imm on */
    CODE_READ,  /* r[out + i] = word of port a */
    CODE_WRITE,
    CODE_CALL, /* vm_calls instruction number imm */
    CODE_ADD,
    CODE_SUB,
    CODE_MUL,
    CODE_MUL_CONST, /* r[out] = r[a] * imm; indices, as the next three */
    CODE_FLOORDIV,
    CODE_CEILDIV,
    CODE_MOD,
    CODE_AND,
    CODE_OR,
    CODE_XOR,
    CODE_MAX, /* signed */
    CODE_MIN,
    CODE_SHL, /* by imm */
    CODE_SHRS,
    CODE_SHRU, /* of 64 - in_spare bits */
    CODE_SEXT,
    CODE_ZEXT,  /* from 64 - in_spare bits */
    CODE_SELECT /* r[out + i] = r[a] ? r[b + i] : r[imm + i] */
} HlsOpcode;

typedef struct HlsInstr {
    uint8_t code, spare, in_spare;
    uint32_t out, a, b, count;
    int64_t imm;
    const Op *op; /* of CHECK */
} HlsInstr;

/* r[reg] + add is >= 0, or == 0. */
typedef struct HlsTest {
    uint32_t reg;
    bool is_eq;
    int64_t add;
} HlsTest;

/* Sum of the counters times coeffs, in a register. */
typedef struct HlsForm {
    uint32_t reg;
    int64_t coeffs[HLS_MAX_LOOPS];
    int64_t steps[HLS_MAX_LOOPS]; /* change when counter i moves on and those inside start again */
} HlsForm;

/* What has no instruction of its own: sim/vm/vm.h on one cell. */
typedef struct HlsVmCall {
    Instr in;
    uint32_t in_regs[3], out_regs[2];
} HlsVmCall;

typedef struct HlsLoopCode {
    VEC(HlsForm) forms;
    VEC(HlsInstr) before; /* indices and conditions, once per iteration */
    VEC(HlsInstr) body;
    VEC(HlsTest) tests;
    VEC(HlsVmCall) vm_calls;
} HlsLoopCode;

typedef struct HlsCode {
    HlsLoopCode *loops; /* of each loop of the process */
    Cell *regs;         /* arrays, values, forms, constants; owned */
    uint32_t reg_count;
    uint32_t *memories; /* of each argument that is one: its first register; owned */
} HlsCode;

/* Elements of an array, lanes of its words counted: its registers. */
int64_t hls_sim_array_size(const Type *array);

/* False: diagnosed at the op that has no values. */
bool hls_sim_compile(const HlsProcess *process, HlsCode *out) MUST_CHECK;
void hls_sim_code_free(HlsCode *code, size_t loop_count);

/* Between hls_sim_compile.c (processes, bodies, scalars) and hls_compile_array.c (indices,
 * accesses). A register is a number; maps keep it plus one.
 * Tests: lit/sim/hls/values.mir */

typedef struct Constant {
    uint32_t reg;
    Cell value;
} Constant;

typedef struct HlsCompiler {
    const HlsLoop *loop;
    HlsLoopCode *code;
    uint32_t reg_count;
    PtrMap arrays;  /* Value* -> first register + 1 */
    PtrMap own;     /* Value* -> its register + 1 */
    PtrMap places;  /* Value* -> the register + 1 that holds it in this copy */
    PtrMap lanes;   /* counter of an unrolled loop -> AffineExpr constant */
    PtrMap indices; /* AffineExpr* -> register + 1; of this loop */
    PtrMap ports;   /* stream Value* -> port + 1 */
    VEC(Constant) constants;
    VEC(Array *) tables; /* contents of constant arrays, with ... */
    VEC(uint32_t) table_regs;
} HlsCompiler;

/* An address: register of its moving part, or NO_REG, and a constant. */
enum { NO_REG = 0 };
typedef struct Index {
    uint32_t reg;
    int64_t add;
} Index;

/* `count` registers in a row: the first. */
uint32_t hls_sim_compiler_new_regs(HlsCompiler *c, int64_t count);
/* An instruction at the end of the body; it stays where it is until the next one. */
HlsInstr *hls_sim_compiler_emit(HlsCompiler *c, HlsOpcode code);
uint32_t hls_sim_reg_find(const PtrMap *map, const void *key);
void hls_sim_reg_put(PtrMap *map, const void *key, uint32_t reg);
/* The value's own register, as its place from now on. */
uint32_t hls_sim_compiler_define(HlsCompiler *c, const Value *value);
uint32_t hls_sim_compiler_place(const HlsCompiler *c, const Value *value);

/* An expression over the loop's counters, as a linear form that moves along or computed before the
 * body. */
Index hls_sim_compile_index(HlsCompiler *c, const AffineExpr *expr);
/* The same in one register, its constant part too. */
uint32_t hls_sim_whole_index(HlsCompiler *c, const AffineExpr *expr);
/* Register of an operation on index registers, computed before the body. */
uint32_t hls_sim_compile_index_op(HlsCompiler *c, HlsOpcode code, uint32_t a, uint32_t b,
                                  int64_t imm);
/* An expression over an op's indices, which begin at operand `first`, over the loop's counters;
 * NULL: an index is none of them. */
const AffineExpr *hls_sim_compiler_over_counters(const HlsCompiler *c, const Op *op, uint32_t first,
                                                 const AffineExpr *expr);
/* Accesses of arrays. block_begin: instruction at which the block begins. False: diagnosed. */
bool hls_sim_compile_load(HlsCompiler *c, const Op *op) MUST_CHECK;
bool hls_sim_compile_store(HlsCompiler *c, const Op *op, size_t block_begin) MUST_CHECK;

#endif
