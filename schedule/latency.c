/* The numbers of the latency model. Delays are in picoseconds. The row of an operator that has
 * registers inside gives its whole delay, which is cut into cycles.
 * Tests: test/unit/schedule/latency_test.c */
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/math/math.h"
#include "schedule/schedule.h"

enum {
    LUT = 250,           /* one level of logic with its wire */
    CHOICE_BIT = 265,    /* half of a 4:1 choice, one bit of the index */
    CARRY = 670,         /* entering and leaving a carry chain */
    CARRY_BIT = 11,      /* per bit of it */
    DSP_STAGES = 2,      /* operand and product registers; a sum in the slice is one more */
    DSP_OUT = 600,       /* from the last of them */
    FIFO_PORT = 900,     /* handshake and data of a stream */
    BLOCK_ACCESS = 1237, /* from a block RAM's latch; to its ports */
    LUTRAM_ACCESS = 677,
    EXTERNAL_STAGES = 64 /* from the request to the first word of a burst */
};

/* The table's delays are those of speed grade -2; where they are longer, less of them fits. */
static Clock clock_of(int64_t period_ps, int64_t delay_percent)
{
    return (Clock){i64_max(period_ps * 73 / delay_percent, 1)};
}

Clock clock_of_period(int64_t period_ps)
{
    return clock_of(period_ps, DFG_DELAY_PERCENT_DEFAULT);
}

Clock clock_of_module(const Op *module, int64_t mhz)
{
    const Attr *delay = op_attr(module, DFG_ATTR_DELAY_PERCENT);
    int64_t percent = delay && delay->kind == ATTR_INTEGER ? attr_int_value(delay) : 0;
    return clock_of(1000000 / mhz, percent > 0 ? percent : DFG_DELAY_PERCENT_DEFAULT);
}

int64_t clock_cycle(Clock clock, int64_t time)
{
    return time / clock.usable_ps;
}

int64_t clock_cycles_until(Clock clock, int64_t time)
{
    return (time + clock.usable_ps - 1) / clock.usable_ps;
}

/* An operator that is longer than a cycle is cut by registers of its own. */
int64_t clock_after(Clock clock, int64_t start, OpTiming timing)
{
    int64_t usable = clock.usable_ps, cycle = start / usable, within = start % usable;
    if (timing.stages == 0 && timing.delay == 0) return start;
    if (timing.stages > 0)
        return (cycle + timing.stages) * usable + (timing.delay < usable ? timing.delay : usable);
    if (within + timing.delay <= usable) return start + timing.delay;
    return (cycle + 1 + (timing.delay - 1) / usable) * usable + (timing.delay - 1) % usable + 1;
}

int64_t clock_result_cycle(Clock clock, int64_t done, OpTiming timing)
{
    bool is_logic = timing.stages == 0 && timing.delay > 0;
    return clock_cycle(clock, is_logic ? done - 1 : done);
}

int64_t clock_put_off(Clock clock, int64_t done, OpTiming timing, int64_t cycle)
{
    if (clock_result_cycle(clock, done, timing) >= cycle) return done;
    return cycle * clock.usable_ps + i64_max(clock_after(clock, 0, timing) % clock.usable_ps, 1);
}

static OpTiming chain(int64_t bits)
{
    return (OpTiming){0, CARRY + CARRY_BIT * bits};
}

static OpTiming cut(int64_t delay, Clock clock)
{
    return (OpTiming){clock_cycles_until(clock, delay), 0};
}

static bool is_constant(const Value *value)
{
    const Op *def = value_def(value);
    return def && def->def == ARITH(CONSTANT);
}

/* Bits of a factor as its type and an extension tell them. A kernel's payload and its copy in a
 * nest, where the factor may have become a constant, give the same. */
static int64_t factor_bits(const Value *value)
{
    const Op *def = value_def(value);
    bool is_extended = def && (def->def == ARITH(EXTSI) || def->def == ARITH(EXTUI));
    int64_t bits = type_width(type_elem((is_extended ? op_operand(def, 0) : value)->type));
    return bits + (is_extended && def->def == ARITH(EXTUI));
}

int64_t latency_lut_product_stages(const Op *op)
{
    enum { COMBINATIONAL = 11, STAGE = 36 };
    int64_t bits = factor_bits(op_operand(op, 0)) + factor_bits(op_operand(op, 1));
    bool is_small = bits <= COMBINATIONAL || product_is_sum_of_shifts(op);
    return is_small ? 0 : ceil_div(bits, STAGE);
}

static int64_t lut_product_delay(const Op *op)
{
    int64_t bits = type_width(type_elem(op_operand(op, 0)->type));
    return bits <= 1 ? LUT : CARRY + CARRY_BIT * bits + LUT;
}

OpTiming latency_lut_product(const Op *op)
{
    int64_t stages = latency_lut_product_stages(op);
    return (OpTiming){stages, lut_product_delay(op) / (stages + 1)};
}

static OpTiming multiply(const Op *op)
{
    if (op_attr(op, EMITHLS_ATTR_BIND)) return latency_lut_product(op);
    int64_t dsp = product_dsp_of(op);
    return dsp > 0 ? (OpTiming){DSP_STAGES + i64_log2_up(dsp), DSP_OUT}
                   : (OpTiming){0, lut_product_delay(op)};
}

OpTiming latency_cascade(void)
{
    return (OpTiming){1, DSP_OUT};
}

OpTiming latency_dsp(void)
{
    return (OpTiming){DSP_STAGES, DSP_OUT};
}

OpTiming latency_logic(void)
{
    return (OpTiming){0, LUT};
}

OpTiming latency_sum(int64_t bits)
{
    return chain(bits);
}

/* Counts of neighbouring fields are added, the fields doubling. */
static int64_t count_delay(int64_t bits)
{
    return i64_log2_up(bits) * (CARRY + CARRY_BIT * i64_log2_up(bits));
}

/* Squares and products behind each other. */
static OpTiming power_timing(const Op *op)
{
    int64_t bits = type_width(type_elem(op_operand(op, 0)->type)), depth = product_power_depth(op);
    int64_t dsp = product_dsp(bits, bits);
    if (depth == 0) return (OpTiming){0, LUT};
    return (OpTiming){depth * (DSP_STAGES + i64_log2_up(dsp)), DSP_OUT};
}

/* Ops that are written out as several (lowering/dfg_to_emithls/expand_scalar.c). */
static OpTiming written_timing(const Op *op)
{
    int64_t bits = type_width(type_elem(op_operand(op, 0)->type));
    switch (op->def - math_ops) {
    case MATH_ABSI: return (OpTiming){0, chain(bits).delay + LUT};
    case MATH_CTPOP: return (OpTiming){0, count_delay(bits)};
    case MATH_CTTZ: return (OpTiming){0, chain(bits).delay + LUT + count_delay(bits)};
    case MATH_CTLZ: return (OpTiming){0, LUT * (1 + i64_log2_up(bits) / 2) + count_delay(bits)};
    case MATH_IPOWI: return power_timing(op);
    default: return (OpTiming){0, 0};
    }
}

bool latency_is_division(const Op *op)
{
    static const uint32_t ids[] = {ARITH_DIVSI,      ARITH_DIVUI, ARITH_CEILDIVSI, ARITH_CEILDIVUI,
                                   ARITH_FLOORDIVSI, ARITH_REMSI, ARITH_REMUI};
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        if (op->def == &arith_ops[ids[i]]) return true;
    return false;
}

bool latency_divides_by_shift(const Op *op)
{
    bool is_unsigned =
        op->def == ARITH(DIVUI) || op->def == ARITH(REMUI) || op->def == ARITH(CEILDIVUI);
    return is_unsigned && product_power_of_two(op_operand(op, 1)) >= 0;
}

/* A stage per bit of the quotient and some before and behind, as HLS tools have them; a constant divisor
 * is a product with its reciprocal, which is cut like other operators. */
static OpTiming division(const Op *op, Clock clock)
{
    enum { AROUND = 3 };
    int64_t bits = type_width(type_elem(op_operand(op, 0)->type));
    if (latency_divides_by_shift(op))
        return op->def == ARITH(CEILDIVUI) ? chain(2 * bits) : (OpTiming){0, 0};
    if (is_constant(op_operand(op, 1))) return cut(bits * chain(bits).delay, clock);
    return (OpTiming){bits + AROUND, chain(bits).delay};
}

/* Bits of the operand, not of the result: comparisons give one. */
static OpTiming integer_timing(const Op *op, Clock clock)
{
    int64_t bits = type_width(type_elem(op_operand(op, 0)->type));
    if (op->def->dialect == &math_dialect) return written_timing(op);
    if (latency_is_division(op)) return division(op, clock);
    switch (op->def - arith_ops) {
    case ARITH_ADDI:
    case ARITH_SUBI:
    case ARITH_ADDUI_EXTENDED: return chain(bits);
    case ARITH_CMPI: return bits > 1 ? chain(bits) : (OpTiming){0, LUT};
    case ARITH_MAXSI:
    case ARITH_MAXUI:
    case ARITH_MINSI:
    case ARITH_MINUI: return (OpTiming){0, CARRY + CARRY_BIT * bits + LUT};
    case ARITH_MULI:
    case ARITH_MULSI_EXTENDED:
    case ARITH_MULUI_EXTENDED: return multiply(op);
    case ARITH_SHLI:
    case ARITH_SHRSI:
    case ARITH_SHRUI:
        return (OpTiming){0,
                          is_constant(op_operand(op, 1)) ? 0 : LUT * (1 + i64_log2_up(bits) / 2)};
    case ARITH_ANDI:
    case ARITH_ORI:
    case ARITH_XORI:
    case ARITH_SELECT: return (OpTiming){0, LUT};
    default: return (OpTiming){0, 0};
    }
}

/* Whole delays at 32 bits; other formats scale with their width. */
static int64_t float_delay(const Op *op)
{
    enum { COMPARE = 1800, ADD = 10500, MULTIPLY = 7000, DIVIDE = 26000, FUNCTION = 40000 };
    static const int16_t arith[ARITH_OP_COUNT] = {
        [ARITH_ADDF] = ADD,         [ARITH_SUBF] = ADD,         [ARITH_MULF] = MULTIPLY,
        [ARITH_DIVF] = DIVIDE,      [ARITH_REMF] = DIVIDE,      [ARITH_CMPF] = COMPARE,
        [ARITH_MAXIMUMF] = COMPARE, [ARITH_MINIMUMF] = COMPARE, [ARITH_MAXNUMF] = COMPARE,
        [ARITH_MINNUMF] = COMPARE,  [ARITH_EXTF] = COMPARE,     [ARITH_TRUNCF] = COMPARE,
        [ARITH_UITOFP] = MULTIPLY,  [ARITH_SITOFP] = MULTIPLY,  [ARITH_FPTOUI] = MULTIPLY,
        [ARITH_FPTOSI] = MULTIPLY,
    };
    if (op->def->dialect == &arith_dialect) return arith[op->def - arith_ops];
    bool is_wire = op->def == MATH(ABSF) || op->def == MATH(COPYSIGN);
    return is_wire ? 0 : op->def == MATH(FMA) ? MULTIPLY + ADD : FUNCTION;
}

static OpTiming float_timing(const Op *op, Clock clock)
{
    int64_t bits = type_width(type_elem(op_operand(op, 0)->type)), delay = float_delay(op);
    if (op->def == ARITH(SELECT)) return (OpTiming){0, LUT};
    if (delay == 0) return (OpTiming){0, 0};
    return cut(bits > 32 ? delay + delay / 2 : delay, clock);
}

enum { COUNTER_BITS = 20, RECIPROCAL = 4000 };

int64_t latency_counter_sum(void)
{
    return chain(COUNTER_BITS).delay;
}

/* A division by a power of two is a wire, any other a multiplication by the reciprocal. */
int64_t latency_counter_quotient(int64_t divisor)
{
    return divisor > 0 && (divisor & (divisor - 1)) == 0 ? 0 : RECIPROCAL;
}

/* Counters are compared in parallel. */
static int64_t expr_delay(const AffineExpr *expr)
{
    int64_t left, right, divisor;
    switch (expr->kind) {
    case AFFINE_DIM:
    case AFFINE_SYMBOL:
    case AFFINE_CONST: return 0;
    case AFFINE_MOD:
    case AFFINE_FLOORDIV:
    case AFFINE_CEILDIV:
        divisor = affine_is_const(expr->rhs) ? expr->rhs->value : 0;
        return expr_delay(expr->lhs) + latency_counter_quotient(divisor);
    case AFFINE_MUL:
    case AFFINE_ADD:
        left = expr_delay(expr->lhs);
        right = expr_delay(expr->rhs);
        return (left > right ? left : right) +
               (affine_is_const(expr->rhs) && expr->kind == AFFINE_ADD ? 0 : latency_counter_sum());
    }
    return 0;
}

static OpTiming condition_timing(const Op *op)
{
    const IntegerSet *set = op_attr(op, EMITHLS_ATTR_CONDITION)->u.set;
    int64_t longest = 0;
    for (uint32_t i = 0; i < set->constraint_count; i++) {
        int64_t delay = expr_delay(set->constraints[i]);
        longest = delay > longest ? delay : longest;
    }
    return latency_constraints(set->constraint_count, longest);
}

/* A level of logic for the leaves, then sums, the lowest of the fewest bits. */
OpTiming latency_popcount(int64_t count)
{
    int64_t delay = LUT;
    for (int64_t part = count, low; part > POPCOUNT_LEAF; part = i64_max(low, part - low)) {
        low = sched_popcount_low_half(part);
        delay += chain(sched_popcount_bits(part)).delay;
    }
    return (OpTiming){0, delay};
}

OpTiming latency_constraints(int64_t count, int64_t delay)
{
    return (OpTiming){0, delay + LUT * (1 + i64_log2_up(count) / 2)};
}

OpTiming latency_stream(void)
{
    return (OpTiming){0, FIFO_PORT};
}

static int64_t access_delay(Str impl)
{
    return str_eq_c(impl, "lutram") ? LUTRAM_ACCESS : BLOCK_ACCESS;
}

OpTiming latency_memory_load(Str impl)
{
    if (str_eq_c(impl, "external")) return (OpTiming){EXTERNAL_STAGES, BLOCK_ACCESS};
    if (str_eq_c(impl, "stream")) return (OpTiming){0, 0}; /* the row has been read */
    return (OpTiming){1, access_delay(impl)};
}

OpTiming latency_memory_store(Str impl)
{
    return (OpTiming){0, access_delay(impl)};
}

OpTiming latency_register_load(int64_t choices)
{
    return (OpTiming){0, CHOICE_BIT * i64_log2_up(choices)};
}

OpTiming latency_op(const Op *op, Clock clock)
{
    if (op->def == EMITHLS(IF) || op->def == EMITHLS(COND)) return condition_timing(op);
    if (op->def == EMITHLS(POPCOUNT))
        return latency_popcount(emithls_lanes(op_operand(op, 0)->type));
    if (op->def == EMITHLS(READ) || op->def == EMITHLS(WRITE)) return latency_stream();
    if (op->def == EMITHLS(INDEX) || op->operand_count == 0 || op->result_count == 0)
        return (OpTiming){0, 0};
    return arith_is_about_floats(op) ? float_timing(op, clock) : integer_timing(op, clock);
}
