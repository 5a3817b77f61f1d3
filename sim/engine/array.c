/* Runs: the systolic array, and the processing unit behind it, over a tile. */
#include "sim/engine/internal.h"

enum { CHAIN = 16, MULTIPLIER_STAGES = 4 }; /* products added up in a cascade of slices */

uint64_t engine_word(const Engine *e, const Command *cmd, int page, int base, uint64_t y,
                     uint64_t x)
{
    return (uint64_t)cmd->regs[page] * sa_page_words(&e->size) + (uint64_t)cmd->regs[base] +
           y * (uint64_t)cmd->regs[SA_REG_ACT_ROW] + x * (uint64_t)cmd->regs[SA_REG_ACT_PIXEL];
}

bool engine_read_vector(Engine *e, const Command *cmd, uint64_t word, uint64_t m, uint32_t port,
                        int64_t *out)
{
    const int64_t *lanes = NULL;
    for (uint32_t j = 0; j < e->size.rows; j++) {
        uint64_t channel = m * e->size.rows + j;
        if ((j == 0 || channel % e->size.cols == 0) &&
            !(lanes = engine_memory_read(&e->act, cmd, word + channel / e->size.cols, port)))
            return false;
        out[j] = lanes[channel % e->size.cols];
        if (out[j] == MEMORY_EMPTY)
            return op_error(cmd->op,
                            "reads lane %llu of a word of the activations which nothing "
                            "has written",
                            (unsigned long long)(channel % e->size.cols));
    }
    return true;
}

static uint64_t reg(const Command *cmd, int which)
{
    return (uint64_t)cmd->regs[which];
}

static uint64_t vectors(const Command *cmd)
{
    return reg(cmd, SA_REG_OUT_CBLK) * reg(cmd, SA_REG_OUT_H) * reg(cmd, SA_REG_OUT_W);
}

bool engine_has_pool(const Command *cmd)
{
    return reg(cmd, SA_REG_POOL_K_H) > 0 && reg(cmd, SA_REG_C_LAST) == 1;
}

/* Cycles of a program: so many instructions at once, of which searches of thresholds count for several.
 * What is not set is found when the run begins. */
static uint64_t pu_cycles(const Engine *e, const Command *cmd, int first, int length)
{
    uint64_t begin = reg(cmd, first), count = reg(cmd, length);
    for (uint64_t i = begin; i < begin + reg(cmd, length) && i < SA_PU_WORDS; i++)
        if (e->pu[i] && e->pu[i]->def == SA(PU_THRESHOLD))
            count += (uint64_t)sa_int(e->pu[i], "planes", 1) - 1;
    return div_up(count, e->size.pu_stages);
}

static uint64_t pu_out_cycles(const Engine *e, const Command *cmd)
{
    return pu_cycles(e, cmd, SA_REG_PU_OUT, SA_REG_PU_OUT_LENGTH);
}

/* From the first row to the last one, through the multipliers and the tree over the cascades of a
 * row, and through the program. */
static uint64_t array_depth(const Engine *e, const Command *cmd)
{
    uint64_t tree = 0;
    for (uint32_t chains = (uint32_t)div_up(e->size.cols, CHAIN); chains > 1;
         chains = (uint32_t)div_up(chains, 2))
        tree++;
    uint32_t chain = e->size.cols < CHAIN ? e->size.cols : CHAIN;
    return e->size.rows - 1 + MULTIPLIER_STAGES + chain + tree + pu_out_cycles(e, cmd);
}

/* Windows of a pool over the results of a run, of which a result may be in so many: each is a word to
 * compare with, and the same word comes again with the next result at the earliest. */
static uint64_t pool_cycles(const Command *cmd, uint64_t words)
{
    uint64_t y = reg(cmd, SA_REG_POOL_STRIDE_Y), x = reg(cmd, SA_REG_POOL_STRIDE_X);
    if (y == 0 || x == 0) return 0; /* refused */
    uint64_t windows =
        div_up(reg(cmd, SA_REG_POOL_K_H), y) * div_up(reg(cmd, SA_REG_POOL_K_W), x) * words;
    return windows > SA_POOL_LATENCY ? windows : SA_POOL_LATENCY;
}

/* Cycles that one output vector keeps the array, and the processing unit. Words of `cols` lanes are
 * read and written one a cycle. */
static uint64_t vector_cycles(const Engine *e, const Command *cmd)
{
    uint64_t taps = reg(cmd, SA_REG_K_H) * reg(cmd, SA_REG_K_W);
    uint64_t words = div_up(e->size.rows, e->size.cols);
    uint64_t out = reg(cmd, SA_REG_C_LAST) ? pu_out_cycles(e, cmd) : 0;
    uint64_t tap = pu_cycles(e, cmd, SA_REG_PU_TAP, SA_REG_PU_TAP_LENGTH), in = 0;
    switch (reg(cmd, SA_REG_MODE)) {
    case SA_MODE_DENSE: in = taps * reg(cmd, SA_REG_IN_CBLK); break;
    case SA_MODE_DEPTHWISE: in = taps; break;
    case SA_MODE_POOL: return taps * (tap > words ? tap : words) + (out > words ? out : words);
    default: in = words; break;
    }
    uint64_t behind = out > words ? out : words;
    if (engine_has_pool(cmd) && pool_cycles(cmd, words) > behind) behind = pool_cycles(cmd, words);
    return in > behind ? in : behind;
}

uint64_t engine_array_cycles(const Engine *e, const Command *cmd)
{
    return vectors(cmd) * vector_cycles(e, cmd) + array_depth(e, cmd);
}

static bool check_program(const Engine *e, const Command *cmd, int first, int length)
{
    uint64_t begin = reg(cmd, first), end = begin + reg(cmd, length);
    if (end > SA_PU_WORDS)
        return op_error(cmd->op, "runs instructions %llu to %llu of the processing unit's %d",
                        (unsigned long long)begin, (unsigned long long)end - 1, SA_PU_WORDS);
    for (uint64_t i = begin; i < end; i++)
        if (!e->pu[i])
            return op_error(cmd->op,
                            "runs instruction %llu of the processing unit, which is not "
                            "set",
                            (unsigned long long)i);
    return true;
}

/* The first result of a window is the one that is not compared, so every window has one. */
static bool check_pool(const Command *cmd)
{
    const int32_t *regs = cmd->regs;
    const SaPool pool = {{regs[SA_REG_OUT_H], regs[SA_REG_OUT_W]},
                         {regs[SA_REG_POOL_K_H], regs[SA_REG_POOL_K_W]},
                         {regs[SA_REG_POOL_STRIDE_Y], regs[SA_REG_POOL_STRIDE_X]},
                         {regs[SA_REG_POOL_PAD_T], regs[SA_REG_POOL_PAD_L]}};
    const int64_t windows[] = {regs[SA_REG_POOL_H], regs[SA_REG_POOL_W]};
    if (regs[SA_REG_MODE] >= SA_MODE_POOL)
        return op_error(cmd->op, "has a pool over results in a mode without sums");
    return (pool.strides[0] > 0 && pool.strides[1] > 0 && sa_pool_fits(&pool, windows)) ||
           op_error(cmd->op, "has a pool with windows that are apart or without a result");
}

bool engine_array_check(Engine *e, const Command *cmd)
{
    uint64_t mode = reg(cmd, SA_REG_MODE);
    bool is_last = reg(cmd, SA_REG_C_LAST) == 1, is_first = reg(cmd, SA_REG_C_FIRST) == 1;
    if (mode >= SA_MODE_COUNT) return op_error(cmd->op, "has mode %llu", (unsigned long long)mode);
    if (reg(cmd, SA_REG_C_LAST) > 1 || reg(cmd, SA_REG_C_FIRST) > 1)
        return op_error(cmd->op, "takes 0 or 1 for c_first and c_last");
    if (mode >= SA_MODE_POOL && (!is_first || !is_last))
        return op_error(cmd->op, "has partial sums in a mode without sums");
    if (mode == SA_MODE_DEPTHWISE && e->size.rows > e->size.cols)
        return op_error(cmd->op, "is depthwise, which needs as many columns as rows");
    if (engine_has_pool(cmd) && !check_pool(cmd)) return false;
    return (!is_last || check_program(e, cmd, SA_REG_PU_OUT, SA_REG_PU_OUT_LENGTH)) &&
           (mode != SA_MODE_POOL || check_program(e, cmd, SA_REG_PU_TAP, SA_REG_PU_TAP_LENGTH));
}

/* A tap of a window: where it lies in the input, if it does. */
typedef struct Tap {
    uint64_t index; /* ky * k_w + kx */
    int64_t y, x;
    bool is_inside;
} Tap;

static Tap tap_at(const PuPlace *at, uint64_t ky, uint64_t kx)
{
    const int32_t *regs = at->cmd->regs;
    int64_t y = (int64_t)at->y * regs[SA_REG_STRIDE_Y] + (int64_t)ky * regs[SA_REG_DIL_Y] -
                regs[SA_REG_PAD_T];
    int64_t x = (int64_t)at->x * regs[SA_REG_STRIDE_X] + (int64_t)kx * regs[SA_REG_DIL_X] -
                regs[SA_REG_PAD_L];
    return (Tap){ky * (uint64_t)regs[SA_REG_K_W] + kx, y, x,
                 y >= 0 && x >= 0 && y < regs[SA_REG_IN_H] && x < regs[SA_REG_IN_W]};
}

/* Word n of the tap's pixel, or one of padding. NULL: diagnosed. */
static const int64_t *tap_word(Engine *e, const PuPlace *at, const Tap *tap, uint64_t n)
{
    if (!tap->is_inside) return e->input;
    uint64_t word = engine_word(e, at->cmd, SA_REG_ACT_PAGE, SA_REG_ACT_BASE, (uint64_t)tap->y,
                                (uint64_t)tap->x) +
                    n;
    const int64_t *lanes = engine_memory_read(&e->act, at->cmd, word, 0);
    for (uint32_t i = 0; lanes && i < e->size.cols; i++) {
        if (lanes[i] != MEMORY_EMPTY) continue;
        op_error(at->cmd->op,
                 "reads word %llu of the activations, lane %u of which nothing has "
                 "written",
                 (unsigned long long)word, i);
        return NULL;
    }
    return lanes;
}

static const int64_t *weights_at(Engine *e, const PuPlace *at, uint64_t index)
{
    const Memory *pe = &e->pe[sa_int(at->cmd->op, SA_ATTR_HALF, 0)];
    return engine_memory_read(pe, at->cmd, reg(at->cmd, SA_REG_W_BASE) + index, 0);
}

/* All rows of the array take in one word. */
static bool add_dense(Engine *e, const PuPlace *at, const Tap *tap)
{
    uint64_t taps = reg(at->cmd, SA_REG_K_H) * reg(at->cmd, SA_REG_K_W);
    uint64_t blocks = reg(at->cmd, SA_REG_IN_CBLK);
    for (uint64_t n = 0; n < blocks; n++) {
        const int64_t *word = tap_word(e, at, tap, n);
        const int64_t *pe = weights_at(e, at, (at->m * taps + tap->index) * blocks + n);
        if (!word || !pe) return false;
        for (uint32_t j = 0; j < e->size.rows; j++) {
            int64_t sum = 0;
            for (uint32_t i = 0; i < e->size.cols; i++)
                sum += word[i] * pe[(size_t)j * e->size.cols + i];
            if (__builtin_add_overflow(e->sums[j], sum, &e->sums[j]))
                return op_error(at->cmd->op, "has a sum of more than 64 bits in lane %u", j);
        }
    }
    if (tap->is_inside) e->result->products += blocks * e->size.rows * e->size.cols;
    return true;
}

/* Row j takes in the lane of its own channel. */
static bool add_depthwise(Engine *e, const PuPlace *at, const Tap *tap)
{
    uint64_t taps = reg(at->cmd, SA_REG_K_H) * reg(at->cmd, SA_REG_K_W);
    uint64_t channel = at->m * e->size.rows;
    const int64_t *word = tap_word(e, at, tap, channel / e->size.cols);
    const int64_t *pe = weights_at(e, at, at->m * taps + tap->index);
    if (!word || !pe) return false;
    for (uint32_t j = 0; j < e->size.rows; j++) {
        size_t i = (channel + j) % e->size.cols;
        e->sums[j] += word[i] * pe[(size_t)j * e->size.cols + i];
    }
    if (tap->is_inside) e->result->products += e->size.rows;
    return true;
}

/* The input's lanes go to the processing unit as they are. */
static bool take_tap(Engine *e, const PuPlace *at, const Tap *tap)
{
    if (!tap->is_inside) {
        for (uint32_t j = 0; j < e->size.rows; j++) e->sums[j] = at->cmd->regs[SA_REG_PAD_VALUE];
        return true;
    }
    uint64_t word = engine_word(e, at->cmd, SA_REG_ACT_PAGE, SA_REG_ACT_BASE, (uint64_t)tap->y,
                                (uint64_t)tap->x);
    return engine_read_vector(e, at->cmd, word, at->m, 0, e->sums);
}

static bool run_tap(Engine *e, const PuPlace *at, const Tap *tap, uint32_t *emitted)
{
    const Command *cmd = at->cmd;
    switch (reg(cmd, SA_REG_MODE)) {
    case SA_MODE_DENSE: return add_dense(e, at, tap);
    case SA_MODE_DEPTHWISE: return add_depthwise(e, at, tap);
    case SA_MODE_POOL:
        return take_tap(e, at, tap) &&
               engine_pu_run(e, at, (uint32_t)reg(cmd, SA_REG_PU_TAP),
                             (uint32_t)reg(cmd, SA_REG_PU_TAP_LENGTH), emitted);
    default: return take_tap(e, at, tap);
    }
}

static uint64_t partial_word(const PuPlace *at)
{
    const Command *cmd = at->cmd;
    return reg(cmd, SA_REG_ACC_BASE) +
           (at->m * reg(cmd, SA_REG_OUT_H) + at->y) * reg(cmd, SA_REG_OUT_W) + at->x;
}

/* Sums begin at 0 or with what an earlier run left; registers at 0, but for r0 of a pool, which
 * begins as padding. */
static bool begin_vector(Engine *e, const PuPlace *at)
{
    uint32_t rows = e->size.rows;
    int64_t first = reg(at->cmd, SA_REG_MODE) == SA_MODE_POOL ? at->cmd->regs[SA_REG_PAD_VALUE] : 0;
    for (size_t i = 0; i < (size_t)SA_PU_REGS * rows; i++) e->regs[i] = i < rows ? first : 0;
    for (uint32_t j = 0; j < rows; j++) e->sums[j] = 0;
    if (reg(at->cmd, SA_REG_C_FIRST)) return true;
    const int64_t *before = engine_memory_read(&e->partial, at->cmd, partial_word(at), 0);
    for (uint32_t j = 0; before && j < rows; j++) e->sums[j] = before[j];
    return before != NULL;
}

static bool end_vector(Engine *e, const PuPlace *at, uint32_t *emitted)
{
    const Command *cmd = at->cmd;
    for (uint32_t j = 0; j < e->size.rows; j++)
        if (!engine_pu_fits(e, e->sums[j]))
            return op_error(cmd->op, "has a sum of more than %u bits in lane %u", e->size.acc, j);
    if (reg(cmd, SA_REG_C_LAST)) {
        if (!engine_pu_run(e, at, (uint32_t)reg(cmd, SA_REG_PU_OUT),
                           (uint32_t)reg(cmd, SA_REG_PU_OUT_LENGTH), emitted))
            return false;
        return *emitted == 1 || op_error(cmd->op, "runs a program that stores no vector");
    }
    int64_t *after = engine_memory_write(&e->partial, cmd, partial_word(at));
    for (uint32_t j = 0; after && j < e->size.rows; j++) after[j] = e->sums[j];
    return after != NULL;
}

static bool run_vector(Engine *e, const PuPlace *at)
{
    uint32_t emitted = 0;
    bool has_window = reg(at->cmd, SA_REG_MODE) != SA_MODE_ELTWISE;
    uint64_t k_h = has_window ? reg(at->cmd, SA_REG_K_H) : 1;
    uint64_t k_w = has_window ? reg(at->cmd, SA_REG_K_W) : 1;
    if (!begin_vector(e, at)) return false;
    for (uint64_t ky = 0; ky < k_h; ky++)
        for (uint64_t kx = 0; kx < k_w; kx++) {
            Tap tap = tap_at(at, ky, kx);
            if (!run_tap(e, at, &tap, &emitted)) return false;
        }
    return end_vector(e, at, &emitted);
}

bool engine_array_run(Engine *e, const Command *cmd)
{
    for (uint32_t i = 0; i < e->size.cols; i++) e->input[i] = cmd->regs[SA_REG_PAD_VALUE];
    for (uint64_t m = 0; m < reg(cmd, SA_REG_OUT_CBLK); m++)
        for (uint64_t y = 0; y < reg(cmd, SA_REG_OUT_H); y++)
            for (uint64_t x = 0; x < reg(cmd, SA_REG_OUT_W); x++) {
                PuPlace at = {cmd, m, y, x};
                if (!run_vector(e, &at)) return false;
            }
    return true;
}
