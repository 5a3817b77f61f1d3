/* The processing unit: programs on vectors of `rows` lanes. */
#include "sim/engine/internal.h"

bool engine_pu_fits(const Engine *e, int64_t value)
{
    int64_t most = (int64_t)(UINT64_MAX >> (65 - e->size.acc));
    return value >= -most - 1 && value <= most;
}

static int64_t *reg(Engine *e, const Op *op, const char *name)
{
    return e->regs + (size_t)sa_int(op, name, 0) * e->size.rows;
}

/* value / 2^shift, rounded. Halves: the part that is cut off against one half. */
static int64_t shift_right(int64_t value, uint32_t shift, int64_t rounding)
{
    int64_t floor = value >> shift;
    if (shift == 0 || rounding == SA_ROUND_FLOOR) return floor;
    uint64_t rest = (uint64_t)value & ((UINT64_C(1) << shift) - 1);
    uint64_t half = UINT64_C(1) << (shift - 1);
    bool is_up = rest > half || (rest == half && (rounding == SA_ROUND_HALF_UP || (floor & 1)));
    return floor + is_up;
}

/* False: the result has more than 64 bits. */
static bool compute(const OpDef *def, int64_t a, int64_t b, int64_t *out)
{
    if (def == SA(PU_ADD) || def == SA(PU_ADDI)) return !__builtin_add_overflow(a, b, out);
    if (def == SA(PU_SUB) || def == SA(PU_SUBI)) return !__builtin_sub_overflow(a, b, out);
    if (def == SA(PU_MUL) || def == SA(PU_MULI)) return !__builtin_mul_overflow(a, b, out);
    if (def == SA(PU_MAX) || def == SA(PU_MAXI))
        *out = a > b ? a : b;
    else if (def == SA(PU_MIN) || def == SA(PU_MINI))
        *out = a < b ? a : b;
    else
        *out = shift_right(a, (uint32_t)b & 63, SA_ROUND_FLOOR); /* PU_RSHIFT */
    return true;
}

static bool run_arithmetic(Engine *e, const Op *op)
{
    int64_t *dest = reg(e, op, "dest"), *a = reg(e, op, "src0");
    const int64_t *b = op_attr(op, "src1") ? reg(e, op, "src1") : NULL;
    int64_t immediate = sa_int(op, "immediate", 0);
    for (uint32_t j = 0; j < e->size.rows; j++) {
        int64_t value;
        if (!compute(op->def, a[j], b ? b[j] : immediate, &value) || !engine_pu_fits(e, value))
            return op_error(op, "gives a number of more than %u bits in lane %u", e->size.acc, j);
        dest[j] = value;
    }
    return true;
}

static bool run_shift(Engine *e, const Op *op)
{
    int64_t *dest = reg(e, op, "dest"), *a = reg(e, op, "src0");
    for (uint32_t j = 0; j < e->size.rows; j++)
        dest[j] = shift_right(a[j], (uint32_t)sa_int(op, "shift", 0), sa_int(op, "rounding", 0));
    return true;
}

static bool run_mvhi(Engine *e, const Op *op)
{
    int64_t value = sa_int(op, "immediate", 0) * (INT64_C(1) << 13), *dest = reg(e, op, "dest");
    if (!engine_pu_fits(e, value))
        return op_error(op, "gives a number of more than %u bits", e->size.acc);
    for (uint32_t j = 0; j < e->size.rows; j++) dest[j] = value;
    return true;
}

static bool load_operand(Engine *e, const PuPlace *at, int64_t *dest)
{
    const Command *cmd = at->cmd;
    uint64_t word = engine_word(e, cmd, SA_REG_ACT2_PAGE, SA_REG_ACT2_BASE, 0, 0) +
                    at->y * (uint64_t)cmd->regs[SA_REG_ACT2_ROW] +
                    at->x * (uint64_t)cmd->regs[SA_REG_ACT2_PIXEL];
    return engine_read_vector(e, cmd, word, at->m, 1, dest);
}

static bool load_parameter(Engine *e, const PuPlace *at, const Op *op, int64_t *dest)
{
    uint64_t word =
        (uint64_t)at->cmd->regs[SA_REG_P_BASE] + (uint64_t)sa_int(op, "address", 0) + at->m;
    const int64_t *lanes = engine_memory_read(&e->params, at->cmd, word, 0);
    for (uint32_t j = 0; lanes && j < e->size.rows; j++) {
        if (!engine_pu_fits(e, lanes[j]))
            return op_error(op, "loads a number of more than %u bits in lane %u", e->size.acc, j);
        dest[j] = lanes[j];
    }
    return lanes != NULL;
}

static bool run_load(Engine *e, const PuPlace *at, const Op *op)
{
    int64_t *dest = reg(e, op, "dest");
    switch (sa_int(op, "source", 0)) {
    case SA_SOURCE_OPERAND: return load_operand(e, at, dest);
    case SA_SOURCE_PARAMETER: return load_parameter(e, at, op, dest);
    default:
        for (uint32_t j = 0; j < e->size.rows; j++) dest[j] = e->sums[j];
        return true;
    }
}

/* Field number `entry` of the lane's table. */
static bool look_up(Engine *e, const PuPlace *at, const Op *op, uint32_t lane, int64_t *dest)
{
    uint32_t log2_bits = (uint32_t)sa_int(op, "log2_bits", 0), per_word = 32u >> log2_bits;
    uint64_t entry = (uint64_t)(*dest > 0 ? *dest : 0), vector = entry / per_word;
    uint64_t first =
        (uint64_t)at->cmd->regs[SA_REG_P_BASE] + (uint64_t)sa_int(op, "address", 0) + at->m;
    if (vector > e->params.words) vector = e->params.words; /* so that products have room */
    const int64_t *lanes = engine_memory_read(
        &e->params, at->cmd, first + vector * (uint64_t)at->cmd->regs[SA_REG_P_STRIDE], 0);
    if (!lanes) return false;
    uint64_t field = (uint32_t)lanes[lane] >> ((entry % per_word) << log2_bits);
    *dest = (int64_t)(field & ((UINT64_C(1) << (1u << log2_bits)) - 1));
    return engine_pu_fits(e, *dest) ||
           op_error(op, "reads a number of more than %u bits in lane %u", e->size.acc, lane);
}

static bool run_lookup(Engine *e, const PuPlace *at, const Op *op)
{
    int64_t *dest = reg(e, op, "dest");
    const int64_t *entries = reg(e, op, "src0");
    for (uint32_t j = 0; j < e->size.rows; j++) {
        dest[j] = entries[j];
        if (!look_up(e, at, op, j, &dest[j])) return false;
    }
    return true;
}

/* Thresholds of the lane that are not above *dest; they must not fall. */
static bool count_thresholds(Engine *e, const PuPlace *at, const Op *op, uint32_t lane,
                             int64_t *dest)
{
    uint64_t first =
        (uint64_t)at->cmd->regs[SA_REG_P_BASE] + (uint64_t)sa_int(op, "address", 0) + at->m;
    int64_t count = 0, most = (INT64_C(1) << sa_int(op, "planes", 1)) - 1, before = INT64_MIN;
    for (int64_t i = 0; i < most; i++) {
        uint64_t word = first + (uint64_t)i * (uint64_t)at->cmd->regs[SA_REG_P_STRIDE];
        const int64_t *lanes = engine_memory_read(&e->params, at->cmd, word, 0);
        if (!lanes) return false;
        if (lanes[lane] < before) return op_error(op, "has thresholds that fall, in lane %u", lane);
        before = lanes[lane];
        count += lanes[lane] <= *dest;
    }
    *dest = count;
    return true;
}

static bool run_thresholds(Engine *e, const PuPlace *at, const Op *op)
{
    int64_t *dest = reg(e, op, "dest");
    const int64_t *from = reg(e, op, "src0");
    for (uint32_t j = 0; j < e->size.rows; j++) {
        dest[j] = from[j];
        if (!count_thresholds(e, at, op, j, &dest[j])) return false;
    }
    return true;
}

static int64_t saturate(const Engine *e, int64_t value)
{
    int64_t low = sa_act_min(&e->size), high = sa_act_max(&e->size);
    if (value < low) return low;
    return value < high ? value : high;
}

/* Lane m * rows + j of the pixel (y, x) of the output. Not the first of a window: the greater of it and
 * what is there. */
static bool store_pixel(Engine *e, const PuPlace *at, const int64_t *from, bool is_first)
{
    const Command *cmd = at->cmd;
    uint64_t word = engine_word(e, cmd, SA_REG_OUT_PAGE, SA_REG_OUT_BASE, 0, 0) +
                    at->y * (uint64_t)cmd->regs[SA_REG_OUT_ROW] +
                    at->x * (uint64_t)cmd->regs[SA_REG_OUT_PIXEL];
    uint64_t out_lanes = (uint64_t)cmd->regs[SA_REG_OUT_LANES];
    int64_t *lanes = NULL;
    for (uint32_t j = 0; j < e->size.rows; j++) {
        uint64_t channel = at->m * e->size.rows + j;
        if ((j == 0 || channel % e->size.cols == 0) &&
            !(lanes = (is_first ? engine_memory_write : engine_memory_update)(
                  &e->act, cmd, word + channel / e->size.cols)))
            return false;
        bool counts = out_lanes == 0 || channel < out_lanes;
        int64_t value = counts ? saturate(e, from[j]) : 0, *lane = &lanes[channel % e->size.cols];
        *lane = is_first || value > *lane ? value : *lane;
    }
    return true;
}

/* Of one axis, the windows that a result is in. */
typedef struct Windows {
    int64_t first, end, stride, pad;
} Windows;

static Windows windows_of(const Command *cmd, int axis, uint64_t result)
{
    static const struct {
        int kernel, stride, pad, count;
    } REGS[] = {{SA_REG_POOL_K_H, SA_REG_POOL_STRIDE_Y, SA_REG_POOL_PAD_T, SA_REG_POOL_H},
                {SA_REG_POOL_K_W, SA_REG_POOL_STRIDE_X, SA_REG_POOL_PAD_L, SA_REG_POOL_W}};
    int64_t stride = cmd->regs[REGS[axis].stride], pad = cmd->regs[REGS[axis].pad];
    int64_t at = (int64_t)result + pad, before = at - cmd->regs[REGS[axis].kernel];
    return (Windows){.first = before < 0 ? 0 : before / stride + 1,
                     .end = i64_min(at / stride + 1, cmd->regs[REGS[axis].count]),
                     .stride = stride,
                     .pad = pad};
}

/* Whether a result is the first of its window in its axis. */
static bool begins(const Windows *w, int64_t window, uint64_t result)
{
    return (int64_t)result == i64_max(window * w->stride - w->pad, 0);
}

static bool run_store(Engine *e, const PuPlace *at, const Op *op)
{
    const int64_t *from = reg(e, op, "src0");
    if (!engine_has_pool(at->cmd)) return store_pixel(e, at, from, true);
    Windows rows = windows_of(at->cmd, 0, at->y), cols = windows_of(at->cmd, 1, at->x);
    for (int64_t y = rows.first; y < rows.end; y++)
        for (int64_t x = cols.first; x < cols.end; x++) {
            PuPlace window = {at->cmd, at->m, (uint64_t)y, (uint64_t)x};
            bool is_first = begins(&rows, y, at->y) && begins(&cols, x, at->x);
            if (!store_pixel(e, &window, from, is_first)) return false;
        }
    return true;
}

static bool run_one(Engine *e, const PuPlace *at, const Op *op, uint32_t *emitted)
{
    if (op->def == SA(PU_LOAD)) return run_load(e, at, op);
    if (op->def == SA(PU_LOOKUP)) return run_lookup(e, at, op);
    if (op->def == SA(PU_THRESHOLD)) return run_thresholds(e, at, op);
    if (op->def == SA(PU_RSHIFTI)) return run_shift(e, op);
    if (op->def == SA(PU_MVHI)) return run_mvhi(e, op);
    if (op->def != SA(PU_STORE)) return run_arithmetic(e, op);
    if ((*emitted)++ > 0) return op_error(op, "is the second store for one vector");
    return run_store(e, at, op);
}

bool engine_pu_run(Engine *e, const PuPlace *at, uint32_t first, uint32_t length, uint32_t *emitted)
{
    for (uint32_t i = first; i < first + length; i++)
        if (!run_one(e, at, e->pu[i], emitted)) return false;
    return true;
}
