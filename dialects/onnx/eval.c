/* Evaluation of onnx ops: the table of evaluators, allocation of results, and what all evaluators
 * share.
 * Tests: test/e2e/onnx_cases.py */
#include <stdlib.h>
#include <string.h>

#include "dialects/onnx/internal.h"

Array *onnx_eval_input(const Eval *e, uint32_t index)
{
    return index < e->op->operand_count ? e->inputs[index] : NULL;
}

const int64_t *onnx_array_dims(const Array *array)
{
    return array->type->u.shaped.dims;
}

uint32_t onnx_array_rank(const Array *array)
{
    return array->type->u.shaped.rank;
}

bool onnx_eval_is(const Eval *e, const char *name, const char *value)
{
    const Attr *attr = op_attr(e->op, name);
    return attr && str_eq_c(attr->u.string, value);
}

size_t onnx_eval_list(const Eval *e, uint32_t index, const char *name, int64_t *out)
{
    const Array *input = onnx_eval_input(e, index);
    size_t count = 0;
    if (input) {
        for (; count < EVAL_MAX_LIST && (int64_t)count < input->count; count++)
            out[count] = array_get_i64(input, (int64_t)count);
        return count;
    }
    const Attr *attr = name ? op_attr(e->op, name) : NULL;
    return attr && attr_int_list(attr, out, EVAL_MAX_LIST, &count) ? count : 0;
}

bool onnx_eval_axis(const Eval *e, int64_t axis, uint32_t rank, uint32_t *out)
{
    if (axis < 0) axis += rank;
    *out = (uint32_t)axis;
    return (axis >= 0 && axis < rank) || onnx_why(e->why, "an axis is out of range");
}

bool onnx_eval_axes(const Eval *e, const int64_t *list, size_t count, uint32_t rank, bool *flags)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t axis;
        if (!onnx_eval_axis(e, list[i], rank, &axis)) return false;
        flags[axis] = true;
    }
    return true;
}

double *onnx_array_doubles(const Array *array)
{
    double *out = xmalloc((size_t)array->count * sizeof *out);
    if (array->kind == ARRAY_F32) {
        const float *data = array->data;
        for (int64_t i = 0; i < array->count; i++) out[i] = (double)data[i];
        return out;
    }
    for (int64_t i = 0; i < array->count; i++) out[i] = array_get_f64(array, i);
    return out;
}

void onnx_round_partials(const Array *y, double *sums, int64_t count)
{
    if (!array_rounds_otherwise() || !array_is_float(y)) return;
    for (int64_t i = 0; i < count; i++) sums[i] = array_round(y->elem, sums[i]);
}

int64_t onnx_dims_product(const int64_t *dims, uint32_t begin, uint32_t end)
{
    int64_t count = 1;
    for (uint32_t i = begin; i < end; i++) count *= dims[i];
    return count;
}

void onnx_dims_strides(const int64_t *dims, uint32_t rank, int64_t *strides)
{
    int64_t stride = 1;
    for (uint32_t i = rank; i-- > 0; stride *= dims[i]) strides[i] = stride;
}

void onnx_walk_init(OnnxWalk *walk, const int64_t *dims, uint32_t rank)
{
    walk->rank = rank;
    walk->operands = 0;
    for (uint32_t i = 0; i < rank; i++) {
        walk->dims[i] = dims[i];
        walk->index[i] = 0;
    }
}

void onnx_walk_strided(OnnxWalk *walk, const int64_t *strides, int64_t offset)
{
    memcpy(walk->strides[walk->operands], strides, walk->rank * sizeof *strides);
    walk->offset[walk->operands++] = offset;
}

void onnx_walk_broadcast(OnnxWalk *walk, const int64_t *dims, uint32_t rank)
{
    int64_t strides[ONNX_MAX_RANK] = {0}, stride = 1;
    for (uint32_t i = rank; i-- > 0; stride *= dims[i])
        if (dims[i] != 1) strides[walk->rank - rank + i] = stride;
    onnx_walk_strided(walk, strides, 0);
}

void onnx_walk_next(OnnxWalk *walk)
{
    for (uint32_t i = walk->rank; i-- > 0;) {
        bool stays = ++walk->index[i] < walk->dims[i];
        int64_t steps = stays ? 1 : 1 - walk->dims[i];
        for (uint32_t k = 0; k < walk->operands; k++)
            walk->offset[k] += steps * walk->strides[k][i];
        if (stays) return;
        walk->index[i] = 0;
    }
}

void onnx_eval_gather(Array *to, const Array *from, OnnxWalk *walk)
{
    for (int64_t i = 0; i < to->count; i++, onnx_walk_next(walk))
        array_copy(to, i, from, walk->offset[0]);
}

static OnnxEval *const evaluators[ONNX_OP_COUNT] = {
    [ONNX_ABS] = onnx_eval_unary,
    [ONNX_ADD] = onnx_eval_binary,
    [ONNX_AND] = onnx_eval_logic,
    [ONNX_ARG_MAX] = onnx_eval_arg,
    [ONNX_ARG_MIN] = onnx_eval_arg,
    [ONNX_AVERAGE_POOL] = onnx_eval_average_pool,
    [ONNX_BATCH_NORMALIZATION] = onnx_eval_batch_norm,
    [ONNX_BIPOLAR_QUANT] = onnx_eval_bipolar_quant,
    [ONNX_CAST] = onnx_eval_cast,
    [ONNX_CEIL] = onnx_eval_unary,
    [ONNX_CELU] = onnx_eval_unary,
    [ONNX_CLIP] = onnx_eval_clip,
    [ONNX_CONCAT] = onnx_eval_concat,
    [ONNX_CONSTANT] = onnx_eval_constant,
    [ONNX_CONSTANT_OF_SHAPE] = onnx_eval_constant_of_shape,
    [ONNX_CONV] = onnx_eval_conv,
    [ONNX_CONV_INTEGER] = onnx_eval_conv_integer,
    [ONNX_CONV_TRANSPOSE] = onnx_eval_conv_transpose,
    [ONNX_COS] = onnx_eval_unary,
    [ONNX_CUM_SUM] = onnx_eval_cum_sum,
    [ONNX_DEPTH_TO_SPACE] = onnx_eval_depth_to_space,
    [ONNX_DEQUANTIZE_LINEAR] = onnx_eval_dequantize,
    [ONNX_DIV] = onnx_eval_binary,
    [ONNX_DROPOUT] = onnx_eval_dropout,
    [ONNX_DYNAMIC_QUANTIZE_LINEAR] = onnx_eval_dynamic_quantize,
    [ONNX_EINSUM] = onnx_eval_einsum,
    [ONNX_ELU] = onnx_eval_unary,
    [ONNX_EQUAL] = onnx_eval_compare,
    [ONNX_ERF] = onnx_eval_unary,
    [ONNX_EXP] = onnx_eval_unary,
    [ONNX_EXPAND] = onnx_eval_expand,
    [ONNX_FLATTEN] = onnx_eval_copy,
    [ONNX_FLOOR] = onnx_eval_unary,
    [ONNX_GATHER] = onnx_eval_gather_op,
    [ONNX_GATHER_ELEMENTS] = onnx_eval_gather_elements,
    [ONNX_GELU] = onnx_eval_unary,
    [ONNX_GEMM] = onnx_eval_gemm,
    [ONNX_GLOBAL_AVERAGE_POOL] = onnx_eval_global_pool,
    [ONNX_GLOBAL_MAX_POOL] = onnx_eval_global_pool,
    [ONNX_GREATER] = onnx_eval_compare,
    [ONNX_GREATER_OR_EQUAL] = onnx_eval_compare,
    [ONNX_GROUP_NORMALIZATION] = onnx_eval_group_norm,
    [ONNX_HARD_SIGMOID] = onnx_eval_unary,
    [ONNX_HARD_SWISH] = onnx_eval_unary,
    [ONNX_IDENTITY] = onnx_eval_copy,
    [ONNX_INSTANCE_NORMALIZATION] = onnx_eval_instance_norm,
    [ONNX_INT_QUANT] = onnx_eval_quant,
    [ONNX_LAYER_NORMALIZATION] = onnx_eval_layer_norm,
    [ONNX_LEAKY_RELU] = onnx_eval_unary,
    [ONNX_LESS] = onnx_eval_compare,
    [ONNX_LESS_OR_EQUAL] = onnx_eval_compare,
    [ONNX_LOG] = onnx_eval_unary,
    [ONNX_LOG_SOFTMAX] = onnx_eval_softmax,
    [ONNX_LRN] = onnx_eval_lrn,
    [ONNX_MATMUL] = onnx_eval_matmul,
    [ONNX_MATMUL_INTEGER] = onnx_eval_matmul_integer,
    [ONNX_MAX] = onnx_eval_variadic,
    [ONNX_MAX_POOL] = onnx_eval_max_pool,
    [ONNX_MEAN] = onnx_eval_variadic,
    [ONNX_MIN] = onnx_eval_variadic,
    [ONNX_MISH] = onnx_eval_unary,
    [ONNX_MOD] = onnx_eval_binary,
    [ONNX_MUL] = onnx_eval_binary,
    [ONNX_MULTI_THRESHOLD] = onnx_eval_multi_threshold,
    [ONNX_NEG] = onnx_eval_unary,
    [ONNX_NOT] = onnx_eval_not,
    [ONNX_ONE_HOT] = onnx_eval_one_hot,
    [ONNX_OR] = onnx_eval_logic,
    [ONNX_PAD] = onnx_eval_pad,
    [ONNX_POW] = onnx_eval_binary,
    [ONNX_PRELU] = onnx_eval_binary,
    [ONNX_QLINEAR_CONV] = onnx_eval_qlinear_conv,
    [ONNX_QLINEAR_MATMUL] = onnx_eval_qlinear_matmul,
    [ONNX_QUANT] = onnx_eval_quant,
    [ONNX_QUANTIZE_LINEAR] = onnx_eval_quantize,
    [ONNX_RANGE] = onnx_eval_range,
    [ONNX_RECIPROCAL] = onnx_eval_unary,
    [ONNX_REDUCE_L1] = onnx_eval_reduce,
    [ONNX_REDUCE_L2] = onnx_eval_reduce,
    [ONNX_REDUCE_LOG_SUM] = onnx_eval_reduce,
    [ONNX_REDUCE_LOG_SUM_EXP] = onnx_eval_reduce,
    [ONNX_REDUCE_MAX] = onnx_eval_reduce,
    [ONNX_REDUCE_MEAN] = onnx_eval_reduce,
    [ONNX_REDUCE_MIN] = onnx_eval_reduce,
    [ONNX_REDUCE_PROD] = onnx_eval_reduce,
    [ONNX_REDUCE_SUM] = onnx_eval_reduce,
    [ONNX_REDUCE_SUM_SQUARE] = onnx_eval_reduce,
    [ONNX_RELU] = onnx_eval_unary,
    [ONNX_RESHAPE] = onnx_eval_copy,
    [ONNX_RESIZE] = onnx_eval_resize,
    [ONNX_RMS_NORMALIZATION] = onnx_eval_layer_norm,
    [ONNX_ROUND] = onnx_eval_unary,
    [ONNX_SELU] = onnx_eval_unary,
    [ONNX_SHAPE] = onnx_eval_shape,
    [ONNX_SHRINK] = onnx_eval_unary,
    [ONNX_SIGMOID] = onnx_eval_unary,
    [ONNX_SIGN] = onnx_eval_unary,
    [ONNX_SIN] = onnx_eval_unary,
    [ONNX_SIZE] = onnx_eval_size,
    [ONNX_SLICE] = onnx_eval_slice,
    [ONNX_SOFTMAX] = onnx_eval_softmax,
    [ONNX_SOFTPLUS] = onnx_eval_unary,
    [ONNX_SOFTSIGN] = onnx_eval_unary,
    [ONNX_SPACE_TO_DEPTH] = onnx_eval_space_to_depth,
    [ONNX_SPLIT] = onnx_eval_split,
    [ONNX_SQRT] = onnx_eval_unary,
    [ONNX_SQUEEZE] = onnx_eval_copy,
    [ONNX_SUB] = onnx_eval_binary,
    [ONNX_SUM] = onnx_eval_variadic,
    [ONNX_SWISH] = onnx_eval_unary,
    [ONNX_TANH] = onnx_eval_unary,
    [ONNX_THRESHOLDED_RELU] = onnx_eval_unary,
    [ONNX_TILE] = onnx_eval_tile,
    [ONNX_TOP_K] = onnx_eval_top_k,
    [ONNX_TRANSPOSE] = onnx_eval_transpose,
    [ONNX_TRILU] = onnx_eval_trilu,
    [ONNX_TRUNC] = onnx_eval_trunc,
    [ONNX_UNSQUEEZE] = onnx_eval_copy,
    [ONNX_UPSAMPLE] = onnx_eval_resize,
    [ONNX_WHERE] = onnx_eval_where,
    [ONNX_XOR] = onnx_eval_logic,
};

static OnnxEval *evaluator(const Op *op)
{
    bool is_onnx = op->def >= onnx_ops && op->def < onnx_ops + ONNX_OP_COUNT;
    return is_onnx ? evaluators[op->def - onnx_ops] : NULL;
}

bool onnx_can_eval(const Op *op)
{
    return evaluator(op) != NULL;
}

/* Values that may decide a result's shape are no larger. */
enum { MAX_SHAPE_VALUES = 4096 };

/* The types of op are static, and those of the arrays. */
static bool types_agree(const Op *op, Array *const *inputs)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (inputs[i] && inputs[i]->type != op_operand(op, i)->type) return false;
    for (uint32_t i = 0; i < op->result_count; i++)
        if (!type_is_static(op_result(op, i)->type)) return false;
    return true;
}

/* A copy of op at the end of the block, with the arrays as its operands. Arrays that are small
 * enough to be part of a shape become constants, so that inference knows their values. */
static Op *make_concrete(const Op *op, Array *const *inputs, Block *block)
{
    PtrMap values = {0};
    Builder b = builder_at_end(block, op->loc);
    for (uint32_t i = 0; i < op->operand_count; i++) {
        Value *value = op_operand(op, i);
        if (!inputs[i] || ptrmap_get(&values, value)) continue;
        bool is_small = inputs[i]->count <= MAX_SHAPE_VALUES;
        ptrmap_put(&values, value,
                   is_small ? onnx_build_constant(&b, array_to_attr(inputs[i]))
                            : block_add_arg(block, inputs[i]->type, op->loc));
    }
    Op *copy = op_clone(op, &values);
    op_append(copy, block);
    ptrmap_free(&values);
    return copy;
}

static void release(Array **results, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        array_unref(results[i]);
        results[i] = NULL; /* the caller drops what it finds there, too */
    }
}

static bool allocate(const Op *op, const Type *const *types, int64_t most, Array **results,
                     StrBuf *why)
{
    for (uint32_t i = 0; i < op->result_count; i++) {
        results[i] = array_try_new(types[i], op_result(op, i)->type == types[i] ? INT64_MAX : most);
        if (!results[i]) {
            release(results, i);
            return onnx_why(why, "a result has a type without a value, or is too large");
        }
    }
    return true;
}

static bool evaluate(const Op *op, const Type *const *types, Array *const *inputs, int64_t most,
                     Array **results, StrBuf *why)
{
    Eval e = {.op = op, .inputs = inputs, .results = results, .why = why};
    if (!allocate(op, types, most, results, why)) return false;
    if (evaluator(op)(&e)) return true;
    release(results, op->result_count);
    return false;
}

bool onnx_eval(const Op *op, Array *const *inputs, int64_t most, Array **results, StrBuf *why)
{
    if (!onnx_can_eval(op)) return onnx_why(why, "the operator cannot be computed");
    Block *block = types_agree(op, inputs) ? NULL : block_create(op->ctx);
    const Op *concrete = block ? make_concrete(op, inputs, block) : op;
    const Type **types = xmalloc(op->result_count * sizeof *types);
    for (uint32_t i = 0; i < op->result_count; i++) types[i] = op_result(op, i)->type;
    bool done = (!block || onnx_infer(concrete, types, why)) &&
                evaluate(concrete, types, inputs, most, results, why);
    free(types);
    if (block) block_erase(block);
    return done;
}
