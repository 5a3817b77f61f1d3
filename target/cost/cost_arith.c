/* Costs of scalar ops. An integer op takes a LUT per bit of a carry chain or per two bits of logic;
 * an integer product takes what the DSP48E2 makes of it, or LUTs by FINN's formula. A float op
 * takes what Vitis HLS reports for its operators.
 * Tests: test/unit/target/cost/cost_test.c */
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/math/math.h"
#include "schedule/schedule.h"
#include "target/cost/cost.h"

int64_t cost_element_bits(const Type *elem)
{
    return type_width(elem);
}

/* LUTs per two bits of the operands. A carry chain takes a LUT per bit, comparisons, 2:1 choices
 * and logic a LUT per two bits. */
static int64_t integer_half_luts(const Op *op)
{
    static const int8_t halves[ARITH_OP_COUNT] = {
        [ARITH_ADDI] = 2,  [ARITH_SUBI] = 2,  [ARITH_CMPI] = 1,  [ARITH_MAXSI] = 2,
        [ARITH_MAXUI] = 2, [ARITH_MINSI] = 2, [ARITH_MINUI] = 2, [ARITH_SELECT] = 1,
        [ARITH_ANDI] = 1,  [ARITH_ORI] = 1,   [ARITH_XORI] = 1,  [ARITH_ADDUI_EXTENDED] = 2,
    };
    return halves[op->def - arith_ops];
}

static bool is_word_constant(const Value *value)
{
    const Op *def = value_def(value);
    return def && def->def == ARITH(CONSTANT) && type_is_integer(value->type) &&
           type_width(value->type) <= 64;
}

/* LUTs of ops that are written out as several (lowering/dfg_to_emithls/expand_scalar.c): fields that
 * are counted have two bits of carry chains per bit; a power chooses a factor per bit of an exponent
 * that is no constant. */
static int64_t written_luts(const Op *op, bool lut_products)
{
    int64_t bits = type_width(op_operand(op, 0)->type), products;
    switch (op->def - math_ops) {
    case MATH_ABSI: return bits + bits / 2;
    case MATH_CTPOP: return 2 * bits;
    case MATH_CTTZ: return 3 * bits;
    case MATH_CTLZ: return 2 * bits + bits * i64_log2_up(bits) / 2;
    case MATH_IPOWI:
        products = product_power_count(op);
        return (is_word_constant(op_operand(op, 1)) ? 0 : bits * bits / 2) +
               (lut_products || product_dsp(bits, bits) == 0 ? products * product_luts(bits, bits)
                                                             : 0);
    default: return 0;
    }
}

typedef struct FloatRow {
    const OpDef *def;
    int16_t dsp, lut, ff;
} FloatRow;

/* Costs of f32 operators. An op that is not listed is a function of hls_math.h. */
static const FloatRow float_rows[] = {
    {ARITH(ADDF), 2, 390, 205},    {ARITH(SUBF), 2, 390, 205},   {ARITH(MULF), 3, 321, 143},
    {ARITH(DIVF), 0, 994, 761},    {ARITH(CMPF), 0, 239, 66},    {ARITH(MAXIMUMF), 0, 271, 98},
    {ARITH(MINIMUMF), 0, 271, 98}, {ARITH(MAXNUMF), 0, 271, 98}, {ARITH(MINNUMF), 0, 271, 98},
    {ARITH(SITOFP), 0, 554, 340},  {ARITH(UITOFP), 0, 554, 340}, {ARITH(FPTOSI), 0, 554, 340},
    {ARITH(FPTOUI), 0, 554, 340},  {ARITH(EXTF), 0, 100, 100},   {ARITH(TRUNCF), 0, 100, 100},
    {ARITH(NEGF), 0, 1, 0},        {MATH(ABSF), 0, 0, 0},        {MATH(COPYSIGN), 0, 1, 0},
    {MATH(CEIL), 0, 150, 60},      {MATH(FLOOR), 0, 150, 60},    {MATH(ROUND), 0, 150, 60},
    {MATH(ROUNDEVEN), 0, 150, 60}, {MATH(TRUNC), 0, 150, 60},    {ARITH(SELECT), 0, 16, 0},
    {ARITH(BITCAST), 0, 0, 0},     {ARITH(CONSTANT), 0, 0, 0},   {MATH(SQRT), 0, 615, 405},
    {MATH(EXP), 7, 924, 277},      {MATH(FMA), 5, 711, 348},
};

static const FloatRow *float_row(const Op *op)
{
    static const FloatRow function = {NULL, 7, 924, 277};
    for (size_t i = 0; i < COUNT_OF(float_rows); i++)
        if (op->def == float_rows[i].def) return &float_rows[i];
    return &function;
}

/* DSPs of one scalar op. */
static int64_t cost_scalar_op_dsp(const Op *op)
{
    if (product_is(op)) return product_dsp_of(op);
    if (op->def == MATH(IPOWI)) {
        int64_t bits = type_width(op_operand(op, 0)->type);
        return product_power_count(op) * product_dsp(bits, bits);
    }
    bool is_scalar =
        op->def && (op->def->dialect == &arith_dialect || op->def->dialect == &math_dialect);
    return is_scalar && arith_is_about_floats(op) ? float_row(op)->dsp : 0;
}

/* Bits that an integer op works on: no more than its operands need, and a carry. */
static int64_t working_bits(const Op *op)
{
    int64_t bits = 0;
    for (uint32_t i = 0; i < op->operand_count; i++)
        bits = i64_max(bits, product_effective_bits(op_operand(op, i)));
    return i64_min(bits + 1, type_width(op_operand(op, op->operand_count - 1)->type));
}

/* Bits of the result that are used: truncations behind it may drop the others. */
static int64_t used_bits(const Op *op)
{
    int64_t bits = 0;
    FOR_EACH_USE(use, op_result(op, 0))
        bits = i64_max(bits,
                       type_width(use->owner->def == ARITH(TRUNCI) ? op_result(use->owner, 0)->type
                                                                   : op_result(op, 0)->type));
    return bits;
}

/* A shift right: levels of 4:1 choices, a LUT per bit, the longest distances first. So a level
 * gives the bits that are used and those that the levels behind it may still shift there. */
static int64_t right_shift_luts(const Op *op, int64_t bits)
{
    int64_t luts = 0, used = used_bits(op);
    for (int64_t reach = 0, level = 0; level < ceil_div(i64_log2_up(bits), 2); level++) {
        luts += i64_min(bits, used + reach);
        reach = 4 * reach + 3;
    }
    return luts;
}

/* Dividers of one stage per bit of the quotient: each subtracts, and hands the rest, the dividend and the
 * divisor on, which a constant divisor saves. What rounds otherwise takes a quotient and a rest. */
static int64_t dividers(const Op *op)
{
    return op->def == ARITH(FLOORDIVSI) || op->def == ARITH(CEILDIVSI) ? 2 : 1;
}

static int64_t integer_luts(const Op *op, bool lut_products)
{
    int64_t bits = working_bits(op);
    if (op->def->dialect == &math_dialect) return written_luts(op, lut_products);
    if (product_is(op)) return lut_products || product_dsp_of(op) == 0 ? product_luts_of(op) : 0;
    if (latency_divides_by_shift(op)) return op->def == ARITH(CEILDIVUI) ? 2 * bits : 0;
    if (latency_is_division(op))
        return (is_word_constant(op_operand(op, 1)) ? 1 : 2) * dividers(op) * bits * bits;
    switch (op->def - arith_ops) {
    case ARITH_SHLI:
    case ARITH_SHRSI:
    case ARITH_SHRUI:
        if (is_word_constant(op_operand(op, 1))) return 0; /* wires */
        return op->def == ARITH(SHLI) ? bits * ceil_div(i64_log2_up(bits), 2)
                                      : right_shift_luts(op, bits);
    default: return ceil_div(bits * integer_half_luts(op), 2);
    }
}

/* Registers that an operator's result crosses: on average its delay in cycles, of its whole
 * width. */
static int64_t integer_ffs(const Op *op, bool in_luts, Clock clock)
{
    if (latency_is_division(op) && !is_word_constant(op_operand(op, 1)))
        return 2 * dividers(op) * working_bits(op) * working_bits(op);
    OpTiming timing = in_luts ? latency_lut_product(op) : latency_op(op, clock);
    int64_t time = timing.stages * clock.usable_ps + timing.delay;
    int64_t bits = type_width(op_result(op, 0)->type);
    bool is_dsp = product_is(op) && !in_luts && product_dsp_of(op) > 0; /* registers inside */
    return is_dsp ? 0 : ceil_div(bits * time, clock.usable_ps);
}

void cost_scalar_op(const Op *op, int64_t times, bool lut_products, Clock clock, Cost *sum)
{
    if (!op->def || (op->def->dialect != &arith_dialect && op->def->dialect != &math_dialect) ||
        op->operand_count == 0 || op->result_count == 0)
        return;
    if (arith_is_about_floats(op)) {
        const FloatRow *row = float_row(op);
        int64_t bits = type_width(op_operand(op, 0)->type), scale = bits > 32 ? 3 : 1;
        sum->dsp += times * row->dsp * scale;
        sum->lut += times * row->lut * scale;
        sum->ff += times * row->ff * scale;
        return;
    }
    bool in_luts = (product_is(op) || op->def == MATH(IPOWI)) && lut_products;
    sum->dsp += in_luts ? 0 : times * cost_scalar_op_dsp(op);
    sum->lut += times * integer_luts(op, lut_products);
    sum->ff += times * integer_ffs(op, in_luts, clock);
}

void cost_payload(const Op *generic, int64_t times, bool lut_products, Clock clock, Cost *sum)
{
    FOR_EACH_OP(op, linalg_body(generic)) cost_scalar_op(op, times, lut_products, clock, sum);
}

bool cost_payload_may_use_luts(const Op *generic)
{
    FOR_EACH_OP(op, linalg_body(generic))
        if (product_is(op) && product_dsp_of(op) > 0) return true;
    return false;
}
