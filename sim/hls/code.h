/* Bodies of loops as register code: unrolled loops are written out, counters in addresses and
 * conditions become linear forms that are kept up to date from iteration to iteration, and elements
 * at constant addresses are registers themselves.
 * Tests: lit/sim/hls-values.mir, test/e2e/sizing_check.py */
#ifndef MING_SIM_HLS_CODE_H
#define MING_SIM_HLS_CODE_H

#include "sim/vm/vm_ops.h"
#include "sim/design/design.h"

/* r: registers. Integers wrap to 64 - spare bits. */
typedef enum HlsOpcode {
    CODE_END,
    CODE_COPY,       /* r[out + i] = r[a + i], i < count */
    CODE_LOAD,       /* r[out + i] = r[a + imm + r[b] + i] */
    CODE_STORE,      /* r[out + imm + r[b] + i] = r[a + i] */
    CODE_CHECK,      /* 0 <= r[b] + imm < count, or undefined behaviour of `op` */
    CODE_SKIP,       /* unless r[a], goes imm instructions further */
    CODE_TEST,       /* r[out] = all of `count` tests from imm on */
    CODE_READ,       /* r[out + i] = word of port a */
    CODE_WRITE,
    CODE_CALL,       /* slow instruction number imm */
    CODE_ADD,
    CODE_SUB,
    CODE_MUL,
    CODE_MUL_CONST,  /* r[out] = r[a] * imm; indices, as the next three */
    CODE_FLOORDIV,
    CODE_CEILDIV,
    CODE_MOD,
    CODE_AND,
    CODE_OR,
    CODE_XOR,
    CODE_MAX,        /* signed */
    CODE_MIN,
    CODE_SHL,        /* by imm */
    CODE_SHRS,
    CODE_SHRU,       /* of 64 - in_spare bits */
    CODE_SEXT,
    CODE_ZEXT,       /* from 64 - in_spare bits */
    CODE_SELECT      /* r[out + i] = r[a] ? r[b + i] : r[imm + i] */
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

/* What has no instruction of its own: sim/vm/vm_ops.h on one cell. */
typedef struct HlsSlow {
    Instr in;
    uint32_t in_regs[3], out_regs[2];
} HlsSlow;

typedef struct HlsLoopCode {
    VEC(HlsForm) forms;
    VEC(HlsInstr) before; /* indices and conditions, once per iteration */
    VEC(HlsInstr) body;
    VEC(HlsTest) tests;
    VEC(HlsSlow) slow;
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

#endif
