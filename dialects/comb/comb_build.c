/* Builders of comb ops.
 * Tests: test/unit/dialects/seq/build_test.c */
#include <assert.h>

#include "dialects/comb/comb.h"
#include "dialects/hw/hw.h"

Value *comb_build(Builder *b, const OpDef *def, Value *const *operands, uint32_t count)
{
    assert(count > 0);
    const Type *type = operands[0]->type;
    return op_result(build(b, def, operands, count, &type, 1, NULL, 0), 0);
}

Value *comb_build_binary(Builder *b, const OpDef *def, Value *lhs, Value *rhs)
{
    Value *operands[] = {lhs, rhs};
    return comb_build(b, def, operands, 2);
}

Value *comb_build_icmp(Builder *b, CombPredicate predicate, Value *lhs, Value *rhs)
{
    Value *operands[] = {lhs, rhs};
    const Type *type = type_i(b->ctx, 1);
    const NamedAttr attr = build_named_attr(b->ctx, "predicate", attr_i64(b->ctx, predicate));
    return op_result(build(b, COMB(ICMP), operands, 2, &type, 1, &attr, 1), 0);
}

Value *comb_build_mux(Builder *b, Value *condition, Value *if_true, Value *if_false)
{
    Value *operands[] = {condition, if_true, if_false};
    return op_result(build(b, COMB(MUX), operands, 3, &if_true->type, 1, NULL, 0), 0);
}

Value *comb_build_extract(Builder *b, Value *value, uint32_t low_bit, uint32_t width)
{
    assert((uint64_t)low_bit + width <= type_width(value->type));
    if (width == type_width(value->type)) return value;
    const Type *type = type_i(b->ctx, width);
    const NamedAttr attr =
        build_named_attr(b->ctx, "lowBit", attr_int(type_i(b->ctx, 32), low_bit));
    return op_result(build(b, COMB(EXTRACT), &value, 1, &type, 1, &attr, 1), 0);
}

Value *comb_build_concat(Builder *b, Value *const *values, uint32_t count)
{
    uint32_t width = 0;
    assert(count > 0);
    if (count == 1) return values[0];
    for (uint32_t i = 0; i < count; i++) width += type_width(values[i]->type);
    const Type *type = type_i(b->ctx, width);
    return op_result(build(b, COMB(CONCAT), values, count, &type, 1, NULL, 0), 0);
}

Value *comb_build_replicate(Builder *b, Value *value, uint32_t times)
{
    if (times == 1) return value;
    const Type *type = type_i(b->ctx, type_width(value->type) * times);
    return build_unary(b, COMB(REPLICATE), type, value);
}

Value *comb_build_not(Builder *b, Value *value)
{
    return comb_build_binary(b, COMB(XOR), value, hw_build_int(b, type_width(value->type), -1));
}

Value *comb_build_resize(Builder *b, Value *value, uint32_t width, bool is_signed)
{
    uint32_t from = type_width(value->type);
    if (width <= from) return comb_build_extract(b, value, 0, width);
    Value *high =
        is_signed ? comb_build_replicate(b, comb_build_extract(b, value, from - 1, 1), width - from)
                  : hw_build_int(b, width - from, 0);
    Value *parts[] = {high, value};
    return comb_build_concat(b, parts, 2);
}
