/* Lists that mix constants with SSA values.
 * Tests: lit/dialects/tensor */
#include "dialects/arith/arith.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"

bool mixed_indices_verify(Op *op, const char *static_attr, uint32_t group, const char *name)
{
    const Attr *attr = op_attr(op, static_attr);
    uint32_t begin, values, dynamic = 0;
    for (size_t i = 0; i < attr->u.dense_array.count; i++)
        dynamic += dense_array_i64(attr, i) == DIM_DYNAMIC;
    op_operand_group(op, group, &begin, &values);
    return values == dynamic || op_emit_error(op, "expected %u dynamic %s values", dynamic, name);
}

void mixed_indices_read(const Op *op, const char *static_attr, uint32_t group, MixedIndices *out)
{
    const Attr *attr = op_attr(op, static_attr);
    uint32_t next, count;
    op_operand_group(op, group, &next, &count);
    for (size_t i = 0; i < attr->u.dense_array.count; i++) {
        int64_t constant = dense_array_i64(attr, i);
        Value *value = constant == DIM_DYNAMIC ? op_operand(op, next++) : NULL;
        *vec_push(out) = (MixedIndex){value, constant};
    }
}

const Attr *mixed_indices_split(Context *ctx, const MixedIndex *list, size_t count,
                                ValueList *values)
{
    IntList constants = {0};
    for (size_t i = 0; i < count; i++) {
        *vec_push(&constants) = list[i].value ? DIM_DYNAMIC : list[i].constant;
        if (list[i].value) *vec_push(values) = list[i].value;
    }
    const Attr *attr = attr_i64_array(ctx, constants.data, constants.len);
    vec_free(&constants);
    return attr;
}

MixedIndex mixed_constant(int64_t constant)
{
    return (MixedIndex){NULL, constant};
}

MixedIndex mixed_value(Value *value)
{
    return (MixedIndex){value, DIM_DYNAMIC};
}

bool mixed_known(MixedIndex index, int64_t *out)
{
    if (!index.value) {
        *out = index.constant;
        return true;
    }
    const Attr *attr = fold_constant_of(index.value);
    if (!attr || attr->kind != ATTR_INTEGER || !bigint_fits_i64(&attr->u.integer, true))
        return false;
    *out = attr_int_value(attr);
    return true;
}

bool mixed_is_zero(MixedIndex index)
{
    int64_t value;
    return mixed_known(index, &value) && value == 0;
}

bool mixed_fold_constants(MixedIndices *list, bool allow_negative)
{
    bool changed = false;
    for (size_t i = 0; i < list->len; i++) {
        int64_t constant;
        if (!list->data[i].value || !mixed_known(list->data[i], &constant) ||
            constant == DIM_DYNAMIC || (constant < 0 && !allow_negative))
            continue;
        list->data[i] = mixed_constant(constant);
        changed = true;
    }
    return changed;
}

Value *mixed_materialize(Builder *b, MixedIndex index)
{
    return index.value ? index.value : arith_constant_index(b, index.constant);
}

bool mixed_equal(MixedIndex a, MixedIndex b)
{
    int64_t x, y;
    if (a.value && a.value == b.value) return true;
    return mixed_known(a, &x) && mixed_known(b, &y) && x == y;
}

void mixed_read_int_list(const Op *op, const char *attr_name, IntList *out)
{
    const Attr *attr = op_attr(op, attr_name);
    for (size_t i = 0; attr && i < attr->u.dense_array.count; i++)
        *vec_push(out) = dense_array_i64(attr, i);
}
