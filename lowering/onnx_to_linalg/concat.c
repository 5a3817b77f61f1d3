/* Concat and Split. Parts of one scale stay integers. Parts of several scales go through the
 * quantizer behind them first, or are brought to a scale of which theirs are multiples.
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-move.mir */
#include <math.h>

#include "dialects/arith/arith.h"
#include "lowering/onnx_to_linalg/internal.h"

/* Integers of parts are not taken further apart than by this factor. */
enum { MAX_FACTOR = 1 << 16 };

static uint32_t joint_axis(const Op *op, uint32_t rank)
{
    int64_t axis = onnx_int(op, "axis", 0);
    return (uint32_t)(axis < 0 ? axis + rank : axis);
}

/* Puts the parts side by side along an axis. */
static Value *join(OnnxLowering *lw, Value *const *parts, uint32_t count, const Type *type)
{
    int64_t offsets[ONNX_MAX_RANK] = {0}, ones[ONNX_MAX_RANK];
    uint32_t rank = type->u.shaped.rank, axis = joint_axis(lw->node, rank);
    for (uint32_t i = 0; i < rank; i++) ones[i] = 1;
    Value *y = lower_build_empty(lw, type);
    for (uint32_t i = 0; i < count; i++) {
        y = onnx_lower_build_insert(lw, parts[i], y, offsets, ones);
        offsets[axis] += parts[i]->type->u.shaped.dims[axis];
    }
    return y;
}

/* A scale exactly: numerator 2^power, over a divisor that all parts share. */
typedef struct ExactScale {
    int64_t numerator; /* odd, or less than 2^53 times a divisor */
    int power;
} ExactScale;

/* The mantissa of a unit is an integer of 53 bits at most. */
static bool exact_scale(const Fixed *part, int64_t divisor, ExactScale *out)
{
    int64_t mantissa = (int64_t)ldexp(part->unit, 52);
    out->power = part->exponent - 52;
    for (; mantissa % 2 == 0; mantissa /= 2) out->power++;
    return i64_mul(mantissa, divisor / part->divisor, &out->numerator);
}

static bool common_divisor(const Fixed *parts, uint32_t count, int64_t *out)
{
    *out = 1;
    for (uint32_t i = 0; i < count; i++)
        if (!i64_mul(*out, parts[i].divisor / i64_gcd(*out, parts[i].divisor), out)) return false;
    return true;
}

/* The coarsest scale of which those of all parts are multiples, and by how much. */
static bool common_scale(const Fixed *parts, uint32_t count, ExactScale *scales, ExactScale *common,
                         int64_t *divisor)
{
    if (!common_divisor(parts, count, divisor)) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i].zero != 0 || parts[i].epilogue ||
            !exact_scale(&parts[i], *divisor, &scales[i]))
            return false;
        if (i == 0) *common = scales[0];
        common->numerator = i64_gcd(common->numerator, scales[i].numerator);
        if (scales[i].power < common->power) common->power = scales[i].power;
    }
    return true;
}

/* Brings parts to one scale of which all of theirs are multiples, as 1.5 and 0.25 are of 0.25; false:
 * there is none, or they are too far apart. */
static bool align_parts(OnnxLowering *lw, Fixed *parts, uint32_t count)
{
    ExactScale *scales = ARENA_ARRAY(&lw->pass->scratch, ExactScale, count);
    ExactScale common = {1, 0};
    int64_t divisor;
    if (!common_scale(parts, count, scales, &common, &divisor)) return false;
    for (uint32_t i = 0; i < count; i++) {
        scales[i].numerator /= common.numerator;
        scales[i].power -= common.power;
        if (scales[i].power >= 32 || scales[i].numerator > MAX_FACTOR >> scales[i].power)
            return false;
    }
    int64_t shared = i64_gcd(common.numerator, divisor);
    int exponent;
    double unit = 2 * frexp((double)(common.numerator / shared), &exponent);
    for (uint32_t i = 0; i < count; i++) {
        if (!lower_build_multiple(lw, &parts[i], scales[i].numerator) ||
            !lower_build_finer(lw, &parts[i], scales[i].power))
            return false;
        parts[i].unit = unit;
        parts[i].exponent = common.power + exponent - 1;
        parts[i].divisor = divisor / shared;
    }
    return true;
}

static bool have_one_scale(const Fixed *parts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!fixed_same_scale(&parts[0], &parts[i])) return false;
    return true;
}

/* The operands as integers of one scale: as they are, or each through the quantizer that comes
 * behind the node, or all at a scale of which theirs are multiples. */
static bool joint_operands(OnnxLowering *lw, Fixed *parts)
{
    uint32_t count = lw->node->operand_count;
    Fixed *early = ARENA_ARRAY(&lw->pass->scratch, Fixed, count);
    for (uint32_t i = 0; i < count; i++) {
        const Fixed *part = lower_fixed(lw, i);
        if (!part) return false;
        parts[i] = *part;
    }
    if (have_one_scale(parts, count)) return true;
    /* What is on the quantizer's grid already keeps its own, coarser one. */
    if (quantizer_apply_ahead(lw, early, count, NULL, NULL) &&
        (have_one_scale(early, count) || align_parts(lw, early, count))) {
        memcpy(parts, early, count * sizeof *parts);
        quantizer_absorb_ahead(lw);
        return true;
    }
    bool aligned = align_parts(lw, parts, count);
    if (!aligned)
        lower_warn_plain(lw,
                         "its inputs have different scales, and no quantizer follows that could "
                         "be applied to them");
    return aligned;
}

/* All parts in the widest type. */
static Value *join_integers(OnnxLowering *lw, const Fixed *parts, uint32_t count, Fixed *result)
{
    Value **values = ARENA_ARRAY(&lw->pass->scratch, Value *, count);
    *result = parts[0];
    bool all_unsigned = true;
    uint32_t width = 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t own = type_width(type_elem(parts[i].value->type));
        all_unsigned &= parts[i].is_unsigned;
        width = own > width ? own : width;
        result->low = parts[i].low < result->low ? parts[i].low : result->low;
        result->high = parts[i].high > result->high ? parts[i].high : result->high;
    }
    uint32_t needed = fixed_signed_width(result->low, result->high);
    if (!all_unsigned && needed > width) width = needed;
    result->is_unsigned = all_unsigned;
    const Type *elem = type_i(lw->ctx, width);
    for (uint32_t i = 0; i < count; i++) values[i] = lower_build_wider(lw, &parts[i], elem);
    return join(lw, values, count, type_with_elem(op_result(lw->node, 0)->type, elem));
}

bool onnx_lower_concat(OnnxLowering *lw)
{
    uint32_t count = lw->node->operand_count;
    Fixed *parts = ARENA_ARRAY(&lw->pass->scratch, Fixed, count), result;
    if (joint_operands(lw, parts)) {
        result.value = NULL;
        Value *joined = join_integers(lw, parts, count, &result);
        result.value = joined;
        lower_result(lw, &result);
        return true;
    }
    Value **values = ARENA_ARRAY(&lw->pass->scratch, Value *, count);
    for (uint32_t i = 0; i < count; i++) {
        values[i] = lower_plain(lw, i);
        if (!values[i]) return false;
    }
    lower_plain_result(lw, 0,
                       join(lw, values, count, lower_plain_type(op_result(lw->node, 0)->type)));
    return true;
}

bool onnx_lower_split(OnnxLowering *lw)
{
    const Fixed *x = lower_fixed_bare(lw, 0);
    Value *whole = x ? x->value : lower_plain(lw, 0);
    int64_t offsets[ONNX_MAX_RANK] = {0}, ones[ONNX_MAX_RANK];
    if (!whole) return false;
    uint32_t rank = whole->type->u.shaped.rank, axis = joint_axis(lw->node, rank);
    for (uint32_t i = 0; i < rank; i++) ones[i] = 1;
    for (uint32_t i = 0; i < lw->node->result_count; i++) {
        const Value *result = op_result(lw->node, i);
        Value *part = onnx_lower_build_slice(lw, whole, result->type, offsets, ones);
        offsets[axis] += result->type->u.shaped.dims[axis];
        if (!x) {
            lower_plain_result(lw, i, part);
            continue;
        }
        Fixed fixed = *x;
        fixed.value = part;
        lower_record_fixed(lw, result, &fixed);
    }
    return true;
}
