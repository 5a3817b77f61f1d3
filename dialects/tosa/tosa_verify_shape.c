/* Checks of shapes. Two shapes agree if their ranks are equal and so are the extents that both
 * know; an unranked tensor agrees with every shape. Wording is upstream's.
 * Tests: lit/dialects/tosa/invalid.mir */
#include "dialects/tosa/internal.h"
#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"

static int64_t rank_of(const Type *type)
{
    return type->u.shaped.rank;
}

static bool extents_agree(int64_t a, int64_t b)
{
    return a == b || a == DIM_DYNAMIC || b == DIM_DYNAMIC;
}

static bool shapes_agree(const Type *a, const Type *b)
{
    if (!type_is_ranked(a) || !type_is_ranked(b)) return true;
    bool agree = rank_of(a) == rank_of(b);
    for (uint32_t i = 0; agree && i < a->u.shaped.rank; i++)
        agree = extents_agree(a->u.shaped.dims[i], b->u.shaped.dims[i]);
    return agree;
}

/* Common extent of two; false if they exclude each other. An unknown extent is taken for 1
 * against a larger one. */
static bool broadcast_extent(int64_t a, int64_t b, int64_t *out)
{
    if (a == DIM_DYNAMIC || b == DIM_DYNAMIC) {
        *out = a > 1 ? a : b > 1 ? b : a == 1 ? b : b == 1 ? a : DIM_DYNAMIC;
        return true;
    }
    *out = a == 1 ? b : a;
    return a == b || a == 1 || b == 1;
}

/* Aligns at the last extent; `shape` becomes the common shape. */
static bool broadcast(Dims *shape, const Type *type)
{
    size_t rank = type->u.shaped.rank;
    Dims wider = {0};
    for (size_t i = shape->len; i < rank; i++)
        *vec_push(&wider) = type->u.shaped.dims[i - shape->len];
    for (size_t i = 0; i < shape->len; i++) *vec_push(&wider) = shape->data[i];
    vec_free(shape);
    *shape = wider;
    size_t lead = shape->len - rank;
    bool ok = true;
    for (size_t i = lead; ok && i < shape->len; i++)
        ok = broadcast_extent(shape->data[i], type->u.shaped.dims[i - lead], &shape->data[i]);
    return ok;
}

/* Common shape of the ranked operands; *any: there are some. */
static bool broadcast_operands(const Op *op, Dims *shape, bool *any)
{
    *any = false;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const Type *type = op_operand(op, i)->type;
        if (!type_is_ranked(type)) continue;
        *any = true;
        if (!broadcast(shape, type)) return false;
    }
    return true;
}

static void add_shape(StrBuf *out, const int64_t *dims, size_t rank)
{
    strbuf_add_char(out, '\'');
    for (size_t i = 0; i < rank; i++) {
        if (i) strbuf_add_char(out, 'x');
        if (dims[i] == DIM_DYNAMIC)
            strbuf_add_char(out, '?');
        else
            strbuf_printf(out, "%lld", (long long)dims[i]);
    }
    strbuf_add_char(out, '\'');
}

static bool refuse_result(const Op *op, const Type *result, const Dims *shape)
{
    StrBuf text = {0};
    strbuf_add_c(&text, "result type ");
    add_shape(&text, result->u.shaped.dims, result->u.shaped.rank);
    strbuf_add_c(&text, " not broadcast compatible with broadcasted operands's shapes ");
    add_shape(&text, shape->data, shape->len);
    (void)op_error(op, "%s", text.data);
    strbuf_free(&text);
    return false;
}

/* A result's last extents are those of the common shape. */
static bool verify_result(const Op *op, const Type *result, const Dims *shape)
{
    if (!type_is_ranked(result)) return true;
    size_t rank = result->u.shaped.rank;
    bool agree = rank >= shape->len;
    for (size_t i = 0; agree && i < shape->len; i++)
        agree = extents_agree(result->u.shaped.dims[rank - shape->len + i], shape->data[i]);
    return agree || refuse_result(op, result, shape);
}

bool tosa_verify_broadcast(Op *op)
{
    bool any;
    Dims shape = {0};
    bool ok = broadcast_operands(op, &shape, &any) ||
              op_error(op, "operands don't have broadcast-compatible shapes");
    for (uint32_t i = 0; ok && any && i < op->result_count; i++)
        ok = verify_result(op, op_result(op, i)->type, &shape);
    vec_free(&shape);
    return ok;
}

/* Rank 0 has an axis 0. */
static bool has_axis(const Type *type, int64_t axis)
{
    return axis < rank_of(type) || (axis == 0 && rank_of(type) == 0);
}

static bool verify_axis(const Op *op, const char *verb, int64_t axis)
{
    const Type *in = op_operand(op, 0)->type, *out = op_result(op, 0)->type;
    if (type_is_ranked(in) && !has_axis(in, axis))
        return op_error(op, "expect input tensor rank (%lld) to be larger than %s axis (%lld)",
                        (long long)rank_of(in), verb, (long long)axis);
    if (!type_is_ranked(out)) return true;
    if (type_is_ranked(in) && rank_of(in) != rank_of(out))
        return op_error(op, "expect output tensor rank to be equal to input tensor rank");
    return has_axis(out, axis) ||
           op_error(op, "expect output tensor rank (%lld) to be larger than %s axis (%lld)",
                    (long long)rank_of(out), verb, (long long)axis);
}

bool tosa_verify_reduce(Op *op)
{
    int64_t axis = attr_int_value(op_attr(op, "axis"));
    const Type *out = op_result(op, 0)->type;
    if (axis < 0) return op_error(op, "reduce axis must not be negative");
    if (!verify_axis(op, "reduce", axis)) return false;
    if (!type_is_ranked(out) || rank_of(out) == 0 || extents_agree(out->u.shaped.dims[axis], 1))
        return true;
    return op_error(op, "expect reduced dimension size to be 1, got %lld",
                    (long long)out->u.shaped.dims[axis]);
}

bool tosa_verify_reverse(Op *op)
{
    int64_t axis = attr_int_value(op_attr(op, "axis"));
    if (axis < 0) return op_error(op, "expected non-negative reverse axis");
    return verify_axis(op, "reverse", axis);
}

static int64_t list_length(const Attr *list)
{
    return (int64_t)list->u.dense_array.count;
}

/* Number of -1s of a new shape, or -1 where it contradicts the result type. */
static int64_t count_open(const Attr *shape, const Type *out)
{
    int64_t open = 0;
    for (uint32_t i = 0; i < out->u.shaped.rank; i++) {
        int64_t extent = dense_array_i64(shape, i);
        if (extent == -1)
            open++;
        else if (!extents_agree(extent, out->u.shaped.dims[i]))
            return -1;
    }
    return open;
}

bool tosa_verify_reshape(Op *op)
{
    const Type *in = op_operand(op, 0)->type, *out = op_result(op, 0)->type;
    const Attr *shape = op_attr(op, "new_shape");
    int64_t from, to;
    if (tosa_has_empty_extent(in) || tosa_has_empty_extent(out))
        return op_error(op, "tensor has a dimension with size zero. Each dimension of a tensor "
                            "must have size >= 1");
    if (list_length(shape) != rank_of(out))
        return op_error(op, "new shape does not match result rank");
    int64_t open = count_open(shape, out);
    if (open < 0) return op_error(op, "new shape is inconsistent with result shape");
    if (type_element_count(in, &from) && type_element_count(out, &to) && from != to)
        return op_error(op, "cannot reshape %lld elements into %lld", (long long)from,
                        (long long)to);
    return open <= 1 || op_error(op, "expected at most one target dimension to be -1");
}

bool tosa_verify_slice(Op *op)
{
    const Type *in = op_operand(op, 0)->type;
    static const char *const names[] = {"start", "size"};
    for (size_t i = 0; i < COUNT_OF(names) && type_is_ranked(in); i++)
        if (list_length(op_attr(op, names[i])) != rank_of(in))
            return op_error(op, "length of %s attribute is not equal rank of input shape",
                            names[i]);
    return true;
}

static bool refuse_multiples(const Op *op, const Type *type, int64_t count)
{
    return op_error(op, "expect 'multiples' array to have length %lld but got %lld.",
                    (long long)rank_of(type), (long long)count);
}

bool tosa_verify_tile(Op *op)
{
    const Type *in = op_operand(op, 0)->type, *out = op_result(op, 0)->type;
    int64_t count = list_length(op_attr(op, "multiples"));
    if (type_is_ranked(in)) {
        if (rank_of(in) != count) return refuse_multiples(op, in, count);
        return !type_is_ranked(out) || rank_of(in) == rank_of(out) ||
               op_error(op, "expect same input and output tensor rank.");
    }
    return !type_is_ranked(out) || rank_of(out) == count || refuse_multiples(op, out, count);
}

static bool verify_permutation_length(const Op *op, const Type *perms, const Type *type,
                                      const char *which)
{
    if (!type_is_ranked(perms) || !type_is_ranked(type) ||
        extents_agree(perms->u.shaped.dims[0], rank_of(type)))
        return true;
    return op_error(op,
                    "expected permutation tensor dim 0 to have size %lld (%s rank) but got size "
                    "%lld",
                    (long long)rank_of(type), which, (long long)perms->u.shaped.dims[0]);
}

/* Whether no index occurs twice. Indices beyond the rank pass, as upstream. */
static bool are_distinct(const Attr *indices)
{
    PtrMap seen = {0};
    int64_t count = dense_count(indices);
    bool ok = true;
    for (int64_t i = 0; ok && i < count; i++) {
        const Attr *index = dense_elem(indices, i);
        ok = !ptrmap_get(&seen, index);
        ptrmap_put(&seen, index, &seen);
    }
    ptrmap_free(&seen);
    return ok;
}

static bool verify_permutation(const Op *op)
{
    const Attr *perms = tosa_const_ints(op_operand(op, 1));
    return !perms || are_distinct(perms) || op_error(op, "expected valid permutation tensor");
}

bool tosa_verify_transpose(Op *op)
{
    const Type *in = op_operand(op, 0)->type, *out = op_result(op, 0)->type;
    const Type *perms = op_operand(op, 1)->type;
    if (type_is_ranked(perms) && rank_of(perms) != 1)
        return op_error(op, "expected permutation tensor to be rank 1 but got rank %lld",
                        (long long)rank_of(perms));
    if (!verify_permutation_length(op, perms, in, "input")) return false;
    if (type_is_ranked(in) && type_is_ranked(out) && rank_of(in) != rank_of(out))
        return op_error(op, "expected input tensor rank to equal result tensor rank");
    return verify_permutation_length(op, perms, out, "output") && verify_permutation(op);
}

static bool refuse_type(const Op *op, const Type *inferred)
{
    return op_error(op,
                    "inferred type(s) '%s' are incompatible with return type(s) of operation '%s'",
                    type_str(op->ctx, inferred), type_str(op->ctx, op_result(op, 0)->type));
}

static bool agrees(const Op *op, const Type *inferred)
{
    const Type *result = op_result(op, 0)->type;
    return (type_elem(inferred) == type_elem(result) && shapes_agree(inferred, result)) ||
           refuse_type(op, inferred);
}

const Type *tosa_reduced_type(const Op *op)
{
    const Type *in = op_operand(op, 0)->type;
    int64_t axis = attr_int_value(op_attr(op, "axis"));
    Dims dims = {0};
    if (!type_is_ranked(in) || rank_of(in) <= axis) return type_unranked_tensor(type_elem(in));
    for (uint32_t i = 0; i < in->u.shaped.rank; i++)
        *vec_push(&dims) = i == axis ? 1 : in->u.shaped.dims[i];
    const Type *type = type_tensor(type_elem(in), dims.data, (uint32_t)dims.len, NULL);
    vec_free(&dims);
    return type;
}

bool tosa_check_reduce(Op *op)
{
    return agrees(op, tosa_reduced_type(op));
}

/* Takes the extents a part knows; false when it contradicts the others. */
static bool join_part(const Op *op, Dims *dims, const Type *part, int64_t axis)
{
    if (rank_of(part) < (int64_t)dims->len)
        return op_emit_error(op, "Cannot concat tensors of different ranks");
    for (uint32_t i = 0; i < part->u.shaped.rank; i++) {
        int64_t extent = part->u.shaped.dims[i];
        bool is_beyond = i >= dims->len;
        if (!is_beyond && (i == axis || extent == DIM_DYNAMIC)) continue;
        if (is_beyond || (dims->data[i] != DIM_DYNAMIC && dims->data[i] != extent))
            return op_emit_error(op,
                                 "Cannot concat tensors with different sizes on the non-axis "
                                 "dimension %u",
                                 i);
        dims->data[i] = extent;
    }
    return true;
}

/* Sum of the parts' extents along the axis, if all are known. */
static int64_t joined_extent(const Op *op, int64_t axis)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const Type *part = op_operand(op, i)->type;
        int64_t extent = type_is_ranked(part) ? part->u.shaped.dims[axis] : DIM_DYNAMIC;
        if (extent == DIM_DYNAMIC || !i64_add(sum, extent, &sum)) return DIM_DYNAMIC;
    }
    return sum;
}

static bool join_parts(const Op *op, Dims *dims, int64_t axis)
{
    bool is_first = true;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const Type *part = op_operand(op, i)->type;
        if (!type_is_ranked(part)) continue;
        for (uint32_t k = 0; is_first && k < part->u.shaped.rank; k++)
            *vec_push(dims) = DIM_DYNAMIC;
        is_first = false;
        if (axis < 0 || axis >= (int64_t)dims->len)
            return op_error(op, "axis %lld is outside the rank of the tensors", (long long)axis);
        if (!join_part(op, dims, part, axis)) return false;
    }
    if (!is_first) dims->data[axis] = joined_extent(op, axis);
    return true;
}

const Type *tosa_concat_type(const Op *op)
{
    int64_t axis = attr_int_value(op_attr(op, "axis"));
    const Type *elem = type_elem(op_operand(op, 0)->type), *type = NULL;
    Dims dims = {0};
    if (join_parts(op, &dims, axis))
        type = dims.len ? type_tensor(elem, dims.data, (uint32_t)dims.len, NULL)
                        : type_unranked_tensor(elem);
    vec_free(&dims);
    return type;
}

bool tosa_check_concat(Op *op)
{
    if (op->operand_count == 0) return op_error(op, "expected 1 or more operands, but found 0");
    const Type *inferred = tosa_concat_type(op);
    return inferred ? agrees(op, inferred) : op_error(op, "failed to infer returned types");
}

/* The -1 in a new shape covers the elements that the other extents leave. */
const Type *tosa_reshaped_type(const Op *op)
{
    const Type *in = op_operand(op, 0)->type;
    const Attr *shape = op_attr(op, "new_shape");
    Dims dims = {0};
    int64_t count, known = 1;
    bool is_static = type_element_count(in, &count);
    for (uint32_t i = 0; i < shape->u.dense_array.count; i++) {
        int64_t extent = dense_array_i64(shape, i);
        *vec_push(&dims) = extent < 0 ? DIM_DYNAMIC : extent;
        if (extent != -1 && (extent < 0 || !i64_mul(known, extent, &known))) known = 0;
    }
    for (size_t i = 0; is_static && known > 0 && i < dims.len; i++)
        if (dims.data[i] == DIM_DYNAMIC) dims.data[i] = count / known;
    const Type *type = type_tensor(type_elem(in), dims.data, (uint32_t)dims.len, NULL);
    vec_free(&dims);
    return type;
}

bool tosa_check_reshape(Op *op)
{
    const Type *inferred = tosa_reshaped_type(op);
    return type_elem(inferred) == type_elem(op_result(op, 0)->type) || refuse_type(op, inferred);
}

/* Shape of an elementwise result; false where the operands leave it open. */
static bool compared_shape(const Op *op, Dims *shape)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const Type *type = op_operand(op, i)->type;
        if (!type_is_ranked(type) || !broadcast(shape, type)) return false;
    }
    for (size_t i = 0; i < shape->len; i++)
        for (uint32_t k = 0; k < op->operand_count; k++) {
            const Type *type = op_operand(op, k)->type;
            size_t lead = shape->len - type->u.shaped.rank;
            int64_t extent = i < lead ? 1 : type->u.shaped.dims[i - lead];
            if (extent != shape->data[i] && extent != 1) return false;
        }
    return true;
}

const Type *tosa_broadcast_type(const Op *op, const Type *elem)
{
    Dims shape = {0};
    const Type *type = compared_shape(op, &shape)
                           ? type_tensor(elem, shape.data, (uint32_t)shape.len, NULL)
                           : type_unranked_tensor(elem);
    vec_free(&shape);
    return type;
}

bool tosa_check_equal(Op *op)
{
    const Type *inferred = tosa_broadcast_type(op, type_i(op->ctx, 1));
    return shapes_agree(inferred, op_result(op, 0)->type) || refuse_type(op, inferred);
}
