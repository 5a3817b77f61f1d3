/* Helpers of the inference hooks of onnx ops: checks of operands and attributes, and shapes.
 *
 * Static operands give static results. If a shape depends on values, these must be constant;
 * otherwise the result is unranked, so that shapes can be inferred op by op. Every size is checked
 * against overflow.
 * Tests: lit/dialects/onnx/invalid*.mir, lit/passes/onnx/onnx-infer-shapes*.mir */
#include <string.h>

#include "dialects/onnx/internal.h"
#include "ir/asm/print/print.h"

const Type *onnx_type(const Op *op, uint32_t index)
{
    const Value *value = onnx_operand(op, index);
    return value ? value->type : NULL;
}

bool onnx_all_static(const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const Type *type = onnx_type(op, i);
        if (type && !type_is_static(type)) return false;
    }
    return true;
}

const char *onnx_operand_name(const Op *op, uint32_t index)
{
    const ArgDef *row = op->def->operands;
    for (uint32_t i = 0; i < index && row[1].name; i++) row++;
    return row->name;
}

/* Floats that ONNX computes with; those of 8 bits are quantized numbers there. */
static bool is_float(const Type *elem)
{
    return elem->kind == TYPE_F16 || elem->kind == TYPE_BF16 || elem->kind == TYPE_F32 ||
           elem->kind == TYPE_F64;
}

static bool is_integer(const Type *elem)
{
    return type_is_integer(elem) && type_width(elem) <= 64;
}

bool onnx_elem_is_numeric(const Type *elem)
{
    return is_float(elem) || (is_integer(elem) && type_width(elem) >= 8);
}

static bool elem_is(const Type *elem, ElemClass want)
{
    uint32_t width = type_width(elem);
    switch (want) {
    case ELEM_NUMERIC: return onnx_elem_is_numeric(elem);
    case ELEM_FLOAT: return is_float(elem);
    case ELEM_INTEGER: return is_integer(elem);
    case ELEM_INDEX: return type_is_int_width(elem, 32) || type_is_int_width(elem, 64);
    case ELEM_BYTE: return type_is_integer(elem) && width == 8;
    case ELEM_BOOL: return type_is_int_width(elem, 1);
    }
    return false;
}

bool onnx_check_elem(const Op *op, uint32_t index, ElemClass want, StrBuf *why)
{
    static const char *const what[] = {
        [ELEM_NUMERIC] = "numeric",    [ELEM_FLOAT] = "float",
        [ELEM_INTEGER] = "integer",    [ELEM_INDEX] = "32-bit or 64-bit integer",
        [ELEM_BYTE] = "8-bit integer", [ELEM_BOOL] = "i1",
    };
    const Type *type = onnx_type(op, index);
    if (!type || elem_is(type_elem(type), want)) return true;
    return onnx_why(why, "'%s' must be a tensor of %s elements", onnx_operand_name(op, index),
                    what[want]);
}

bool onnx_check_elem_is(const Op *op, uint32_t index, const Type *elem, StrBuf *why)
{
    const Type *type = onnx_type(op, index);
    if (!type || type_elem(type) == elem) return true;
    return onnx_why(why, "'%s' has elements of type '%s' where '%s' is needed",
                    onnx_operand_name(op, index), type_str(op->ctx, type_elem(type)),
                    type_str(op->ctx, elem));
}

bool onnx_check_scalar(const Op *op, uint32_t index, StrBuf *why)
{
    const Type *type = onnx_type(op, index);
    int64_t count;
    if (!type || !type_is_static(type) || (type_element_count(type, &count) && count == 1))
        return true;
    return onnx_why(why, "'%s' must have one element", onnx_operand_name(op, index));
}

bool onnx_check_vector(const Op *op, uint32_t index, int64_t length, StrBuf *why)
{
    const Type *type = onnx_type(op, index);
    if (!type || !type_is_static(type) ||
        (type->u.shaped.rank == 1 && type->u.shaped.dims[0] == length))
        return true;
    return onnx_why(why, "'%s' must be a vector of %lld elements", onnx_operand_name(op, index),
                    (long long)length);
}

bool onnx_check_broadcast(const Op *op, uint32_t index, const Type *type, StrBuf *why)
{
    const Type *param = onnx_type(op, index);
    int64_t count;
    if (!param || !type_is_static(param) || (type_element_count(param, &count) && count == 1))
        return true;
    uint32_t rank = param->u.shaped.rank, room = type->u.shaped.rank;
    bool fits = rank <= room;
    for (uint32_t i = 0; fits && i < rank; i++) {
        int64_t dim = param->u.shaped.dims[i];
        fits = dim == 1 || dim == type->u.shaped.dims[room - rank + i];
    }
    return fits || onnx_why(why, "the shape of '%s' does not broadcast to that of '%s'",
                            onnx_operand_name(op, index), onnx_operand_name(op, 0));
}

bool onnx_check_flag(const Op *op, const char *name, StrBuf *why)
{
    int64_t value = onnx_int(op, name, 0);
    return value == 0 || value == 1 || onnx_why(why, "attribute '%s' must be 0 or 1", name);
}

bool onnx_check_choice(const Op *op, const char *name, const char *const *choices, size_t count,
                       size_t *out, StrBuf *why)
{
    Str given = onnx_string(op, name, choices[0]);
    for (*out = 0; *out < count; ++*out)
        if (str_eq_c(given, choices[*out])) return true;
    onnx_why(why, "unknown %s ", name);
    strbuf_add_quoted(why, given);
    return false;
}

bool onnx_read_axis(const Op *op, int64_t fallback, uint32_t rank, uint32_t *out, StrBuf *why)
{
    int64_t axis = onnx_int(op, "axis", fallback);
    if (axis < -(int64_t)rank || axis >= rank)
        return onnx_why(why, "attribute 'axis' is %lld, out of range for rank %u", (long long)axis,
                        rank);
    *out = (uint32_t)(axis < 0 ? axis + rank : axis);
    return true;
}

bool onnx_read_list(const Op *op, const char *name, uint32_t count, int64_t least, int64_t fallback,
                    int64_t *out, StrBuf *why)
{
    const Attr *attr = op_attr(op, name);
    size_t length = count;
    for (uint32_t i = 0; i < count; i++) out[i] = fallback;
    if (attr && (!attr_int_list(attr, out, count, &length) || length != count))
        return onnx_why(why, "attribute '%s' must have %u entries", name, count);
    for (uint32_t i = 0; i < count; i++)
        if (out[i] < least)
            return onnx_why(why, "attribute '%s' has the entry %lld, below %lld", name,
                            (long long)out[i], (long long)least);
    return true;
}

bool onnx_shape(const Type *type, OnnxShape *out, StrBuf *why)
{
    out->rank = type->u.shaped.rank;
    if (out->rank > ONNX_MAX_RANK)
        return onnx_why(why, "an operand has rank %u; up to %d is supported", out->rank,
                        ONNX_MAX_RANK);
    if (out->rank > 0) memcpy(out->dims, type->u.shaped.dims, out->rank * sizeof *out->dims);
    return true;
}

bool onnx_broadcast(OnnxShape *io, const Type *type, StrBuf *why)
{
    OnnxShape other;
    if (!onnx_shape(type, &other, why)) return false;
    uint32_t rank = io->rank > other.rank ? io->rank : other.rank;
    for (uint32_t i = 1; i <= rank; i++) { /* from the last dimension */
        int64_t a = i <= io->rank ? io->dims[io->rank - i] : 1;
        int64_t b = i <= other.rank ? other.dims[other.rank - i] : 1;
        if (a != b && a != 1 && b != 1)
            return onnx_why(why, "the shapes do not broadcast: %lld and %lld in dimension -%u",
                            (long long)a, (long long)b, i);
        other.dims[rank - i] = a == 1 ? b : a; /* at or behind what is still to be read */
    }
    other.rank = rank;
    *io = other;
    return true;
}

bool onnx_is_bounded(const Type *type)
{
    int64_t count = 1;
    for (uint32_t i = 0; type_is_static(type) && i < type->u.shaped.rank; i++) {
        int64_t extent = type->u.shaped.dims[i];
        if (!i64_mul(count, extent ? extent : 1, &count) || count > ONNX_MAX_ELEMENTS) return false;
    }
    return true;
}

bool onnx_make_tensor(const Type *elem, const OnnxShape *shape, const Type **out, StrBuf *why)
{
    *out = type_tensor(elem, shape->dims, shape->rank, NULL);
    return onnx_is_bounded(*out) || onnx_why(why, "the result has too many elements");
}

OnnxKnown onnx_begin(const Op *op, const Type **results, OnnxShape *in, StrBuf *why)
{
    const Type *input = onnx_type(op, 0);
    results[0] = type_unranked_tensor(type_elem(input));
    if (!type_is_static(input)) return UNKNOWN;
    return onnx_shape(input, in, why) ? KNOWN : WRONG;
}

OnnxKnown onnx_read_ints(const Op *op, uint32_t index, OnnxShape *out, StrBuf *why)
{
    const Attr *value = onnx_constant(onnx_operand(op, index));
    const char *name = onnx_operand_name(op, index);
    size_t count;
    if (!onnx_check_elem(op, index, ELEM_INDEX, why)) return WRONG;
    if (!value) return UNKNOWN;
    if (value->type->u.shaped.rank > 1) {
        onnx_why(why, "'%s' must be a vector", name);
        return WRONG;
    }
    if (!attr_int_list(value, out->dims, ONNX_MAX_RANK, &count)) {
        onnx_why(why, "'%s' must have at most %d elements", name, ONNX_MAX_RANK);
        return WRONG;
    }
    out->rank = (uint32_t)count;
    return KNOWN;
}

OnnxKnown onnx_read_axes(const Op *op, uint32_t index, uint32_t rank, OnnxShape *out, StrBuf *why)
{
    OnnxKnown known = onnx_read_ints(op, index, out, why);
    if (known != KNOWN) return known;
    bool seen[ONNX_MAX_RANK] = {false};
    for (uint32_t i = 0; i < out->rank; i++) {
        int64_t axis = out->dims[i];
        axis = axis < 0 ? axis + rank : axis;
        if (axis < 0 || axis >= rank || seen[axis]) {
            onnx_why(why, "'%s' has %lld, which is out of range for rank %u or given twice",
                     onnx_operand_name(op, index), (long long)out->dims[i], rank);
            return WRONG;
        }
        seen[axis] = true;
        out->dims[i] = axis;
    }
    return KNOWN;
}
