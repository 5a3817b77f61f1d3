/* Checks of map, reduce, transpose, broadcast, softmax and the Winograd transforms, in addition to
 * those of all structured ops.
 * Tests: lit/dialects/linalg/invalid.mir */
#include "dialects/linalg/internal.h"
#include "dialects/linalg/linalg.h"
#include "ir/asm/print/print.h"

static const Type *operand_type(const Op *op, uint32_t index)
{
    return op_operand(op, index)->type;
}

static int64_t extent(const Type *type, uint32_t dim)
{
    return type->u.shaped.dims[dim];
}

static bool same_shape(const Type *a, const Type *b)
{
    bool same = a->u.shaped.rank == b->u.shaped.rank;
    for (uint32_t i = 0; same && i < a->u.shaped.rank; i++) same = extent(a, i) == extent(b, i);
    return same;
}

/* "4, 8" */
static void list_dims(StrBuf *out, const int64_t *dims, size_t rank)
{
    for (size_t i = 0; i < rank; i++) {
        strbuf_add_c(out, i > 0 ? ", " : "");
        strbuf_add_int(out, dims[i]);
    }
}

static bool map_shape_error(Op *op, const Type *input, const Type *output)
{
    StrBuf in = {0}, out = {0};
    list_dims(&in, input->u.shaped.dims, input->u.shaped.rank);
    list_dims(&out, output->u.shaped.dims, output->u.shaped.rank);
    (void)op_error(op, "expected shape of input (%s) to match shape of output (%s)",
                   in.data ? in.data : "", out.data ? out.data : "");
    strbuf_free(&in);
    strbuf_free(&out);
    return false;
}

bool linalg_verify_map(Op *op)
{
    const Block *body = linalg_body(op);
    uint32_t inputs = linalg_input_count(op), args = body ? body->arg_count : 0;
    if (inputs != args)
        return op_error(op,
                        "expects number of operands to match the arity of mapper, but got: %u and "
                        "%u",
                        inputs, args);
    for (uint32_t i = 0; i < inputs; i++) {
        const Type *elem = type_elem(operand_type(op, i));
        if (elem != body->args[i]->type)
            return op_error(op, "expected element type of input '%s' to match bbArg type '%s'",
                            type_str(op->ctx, elem), type_str(op->ctx, body->args[i]->type));
    }
    for (uint32_t i = 0; i < inputs; i++)
        if (!same_shape(operand_type(op, i), operand_type(op, inputs)))
            return map_shape_error(op, operand_type(op, i), operand_type(op, inputs));
    return true;
}

static bool verify_same_shapes(Op *op, uint32_t begin, uint32_t count, const char *plural,
                               const char *singular)
{
    for (uint32_t i = 1; i < count; i++)
        if (!same_shape(operand_type(op, begin + i), operand_type(op, begin)))
            return op_error(op,
                            "expects all %s to have the same shapes. Shape at %s-index %u is not "
                            "equal to the shape at %s-index 0.",
                            plural, singular, i, singular);
    return true;
}

static bool verify_reduced_shape(Op *op, const Type *input, const Type *init)
{
    const Attr *dimensions = op_attr(op, "dimensions");
    VEC(int64_t) left = {0};
    for (uint32_t i = 0; i < input->u.shaped.rank; i++)
        if (!linalg_list_has(dimensions, i)) *vec_push(&left) = extent(input, i);
    bool ok = left.len == init->u.shaped.rank;
    if (!ok)
        (void)op_error(op,
                       "number of dimensions after reduction %zu doesn't match the init rank %u",
                       left.len, init->u.shaped.rank);
    for (uint32_t i = 0; ok && i < left.len; i++) {
        if (left.data[i] == extent(init, i)) continue;
        StrBuf want = {0}, got = {0};
        list_dims(&want, left.data, left.len);
        list_dims(&got, init->u.shaped.dims, init->u.shaped.rank);
        ok =
            op_error(op, "init dimensions [%s] doesn't match input dimensions after reduction [%s]",
                     got.data, want.data);
        strbuf_free(&want);
        strbuf_free(&got);
    }
    vec_free(&left);
    return ok;
}

static bool verify_reduce_body(Op *op, uint32_t inputs)
{
    const Block *body = linalg_body(op);
    if (!body || body->arg_count != op->operand_count)
        return op_error(op, "mismatching number of operands and block arguments");
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const Type *elem = type_elem(operand_type(op, i)), *got = body->args[i]->type;
        if (elem != got)
            return op_error(op,
                            "%s element type '%s' does not match corresponding block argument "
                            "type '%s'",
                            i < inputs ? "input" : "output", type_str(op->ctx, elem),
                            type_str(op->ctx, got));
    }
    return true;
}

bool linalg_verify_reduce(Op *op)
{
    uint32_t inputs = linalg_input_count(op), inits = linalg_init_count(op);
    if (inputs == 0 || inits != inputs)
        return op_error(op, "expected at least one input and as many inits as inputs");
    const Type *input = operand_type(op, 0), *init = operand_type(op, inputs);
    const Attr *dimensions = op_attr(op, "dimensions");
    if (!verify_same_shapes(op, 0, inputs, "inputs", "input") ||
        !verify_same_shapes(op, inputs, inits, "outputs", "output"))
        return false;
    for (size_t i = 0; i < dimensions->u.dense_array.count; i++) {
        int64_t dim = dense_array_i64(dimensions, i);
        if (dim < 0 || dim >= input->u.shaped.rank)
            return op_error(op, "dimensions for reduction should be in the range [0, %lld].",
                            (long long)input->u.shaped.rank - 1);
    }
    return verify_reduced_shape(op, input, init) && verify_reduce_body(op, inputs);
}

static bool is_permutation(const Attr *list)
{
    for (size_t i = 0; i < list->u.dense_array.count; i++)
        if (!linalg_list_has(list, (int64_t)i)) return false;
    return true;
}

bool linalg_verify_transpose(Op *op)
{
    const Attr *permutation = op_attr(op, "permutation");
    const Type *input = operand_type(op, 0), *init = operand_type(op, 1);
    uint32_t rank = input->u.shaped.rank;
    size_t count = permutation->u.dense_array.count;
    if (!is_permutation(permutation)) return op_error(op, "permutation is not valid");
    if (rank != init->u.shaped.rank)
        return op_error(op, "input rank %u does not match init rank %u", rank, init->u.shaped.rank);
    if (count != rank)
        return op_error(op, "size of permutation %zu does not match the argument rank %u", count,
                        rank);
    for (uint32_t i = 0; i < rank; i++) {
        int64_t from = extent(input, (uint32_t)dense_array_i64(permutation, i));
        int64_t to = extent(init, i);
        if (from != to)
            return op_error(op,
                            "dim(result, %u) = %lld doesn't match dim(input, permutation[%u]) = "
                            "%lld",
                            i, (long long)to, i, (long long)from);
    }
    return true;
}

bool linalg_verify_broadcast(Op *op)
{
    const Attr *dimensions = op_attr(op, "dimensions");
    const Type *input = operand_type(op, 0), *init = operand_type(op, 1);
    size_t added = dimensions->u.dense_array.count;
    uint32_t input_rank = input->u.shaped.rank, init_rank = init->u.shaped.rank;
    if (input_rank + added != init_rank)
        return op_error(op,
                        "input rank plus added dimensions does not match init rank. input rank: "
                        "%u, dimensions size: %zu, init rank: %u",
                        input_rank, added, init_rank);
    for (size_t i = 0; i < added; i++) {
        int64_t dim = dense_array_i64(dimensions, i);
        if (dim < 0 || dim >= init_rank)
            return op_error(op,
                            "dimension %zu is out of range. expected range: [0, %lld], got: %lld",
                            i, (long long)init_rank - 1, (long long)dim);
    }
    uint32_t next = 0;
    for (uint32_t i = 0; i < init_rank && next < input_rank; i++) {
        if (linalg_list_has(dimensions, i)) continue;
        if (extent(input, next) != extent(init, i))
            return op_error(op, "input dim %u should match init dim %u. input: %lld, init: %lld",
                            next, i, (long long)extent(input, next), (long long)extent(init, i));
        next++;
    }
    return true;
}

static bool compatible(const int64_t *want, const Type *got)
{
    for (uint32_t i = 0; i < got->u.shaped.rank; i++)
        if (want[i] != extent(got, i) && want[i] != DIM_DYNAMIC && extent(got, i) != DIM_DYNAMIC)
            return false;
    return true;
}

bool linalg_verify_softmax(Op *op)
{
    const Type *input = operand_type(op, 0), *output = operand_type(op, 1);
    int64_t dim = attr_int_value(op_attr(op, "dimension"));
    if (type_elem(input) != type_elem(output))
        return op_error(op, "failed to verify that input and output have same element type");
    if (input->u.shaped.rank != output->u.shaped.rank || !compatible(input->u.shaped.dims, output))
        return op_error(op, "incompatible output shape");
    if (dim < 0 || dim >= input->u.shaped.rank)
        return op_error(op, "incorrect dimension specified");
    return true;
}

/* F(m, r): tiles of m outputs from m + r - 1 inputs; an extent of 1 is not transformed. */
typedef struct Winograd {
    int64_t m, r, tile;
} Winograd;

static Winograd winograd_of(const Op *op)
{
    Winograd w = {attr_int_value(op_attr(op, "m")), attr_int_value(op_attr(op, "r")), 0};
    if (w.r < 1 || !i64_add(w.m, w.r - 1, &w.tile)) w.tile = INT64_MAX;
    return w;
}

static bool verify_winograd_shape(Op *op, const int64_t *want)
{
    return compatible(want, operand_type(op, 1)) ||
           op_error(op, "the output shape is not expected");
}

static bool verify_winograd_parts(Op *op, const char *first)
{
    if (type_elem(operand_type(op, 0)) != type_elem(operand_type(op, 1)))
        return op_error(op, "failed to verify that all of {%s, output} have same element type",
                        first);
    if (attr_int_value(op_attr(op, "m")) < 1 || attr_int_value(op_attr(op, "r")) < 1)
        return op_error(op, "expects positive m and r");
    return true;
}

bool linalg_verify_winograd_filter(Op *op)
{
    Winograd w = winograd_of(op);
    const Type *filter = operand_type(op, 0);
    int64_t height = extent(filter, 1), width = extent(filter, 2);
    if (!verify_winograd_parts(op, "filter")) return false;
    if (height != w.r && height != 1)
        return op_error(op, "expect filter height either equals to r or 1");
    if (width != w.r && width != 1)
        return op_error(op, "expect filter width either equals to r or 1");
    if (height == 1 && width == 1)
        return op_error(op, "expect either filter height or width equals to r");
    int64_t want[] = {height == w.r ? w.tile : 1, width == w.r ? w.tile : 1, extent(filter, 3),
                      extent(filter, 0)};
    return verify_winograd_shape(op, want);
}

bool linalg_verify_winograd_input(Op *op)
{
    Winograd w = winograd_of(op);
    const Type *input = operand_type(op, 0), *output = operand_type(op, 1);
    int64_t want[6] = {0};
    if (!verify_winograd_parts(op, "input")) return false;
    for (uint32_t i = 0; i < 2; i++) {
        int64_t size = extent(input, 1 + i);
        bool transformed = extent(output, i) != 1;
        if (size == DIM_DYNAMIC) {
            want[i] = w.tile;
            want[2 + i] = DIM_DYNAMIC;
        } else {
            want[i] = transformed ? w.tile : 1;
            want[2 + i] = transformed ? (size - (w.r - 1)) / w.m : size;
        }
    }
    want[4] = extent(input, 0);
    want[5] = extent(input, 3);
    return verify_winograd_shape(op, want);
}

bool linalg_verify_winograd_output(Op *op)
{
    static const char *const names[] = {"height", "width"};
    Winograd w = winograd_of(op);
    const Type *value = operand_type(op, 0);
    int64_t want[4] = {extent(value, 4), 0, 0, extent(value, 5)};
    if (!verify_winograd_parts(op, "value")) return false;
    for (uint32_t i = 0; i < 2; i++) {
        int64_t alpha = extent(value, i), tiles = extent(value, 2 + i);
        bool transformed = alpha != 1;
        if (alpha == DIM_DYNAMIC || tiles == DIM_DYNAMIC) {
            want[1 + i] = DIM_DYNAMIC;
            continue;
        }
        if (transformed && alpha != w.tile)
            return op_error(op, "expect input %s equals to input tile size", names[i]);
        want[1 + i] = (transformed ? w.m : 1) * tiles;
    }
    return verify_winograd_shape(op, want);
}
