/* onnx-fold-constants: computes in order what is known before the network runs. Types are inferred
 * on the way, so that a shape that is computed from shapes is known where it is used.
 *   op(constants) -> constants;  Shape(x), Size(x) -> constants when x has a static shape
 *   Identity(x), Dropout(x) -> x
 *   quantizers of constants keep their integers (onnx_fold_quant.c)
 * Ops that take too long, or whose results are too large compared with their operands, stay.
 * Requires: static argument types.
 * Changes: nodes on constants, types; dead constants are erased.
 * Tests: lit/passes/onnx/onnx-fold-constants.mir, lit/passes/onnx/onnx-fold-values.mir */
#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"
#include "ir/rewrite/rewrite.h"
#include "passes/onnx/internal.h"
#include "passes/onnx/passes.h"

/* Results up to this size are computed whatever the operands' size is. */
static const int64_t MAX_BYTES = INT64_C(64) << 20;
/* The largest size of all constants that are made, and the largest number of steps for one op. */
static const int64_t MAX_TOTAL_BYTES = INT64_C(2) << 30, MAX_EVAL_STEPS = INT64_C(1) << 30;

/* Bytes of a static tensor's elements, at least 1 for each; false: too many to count. */
static bool type_bytes(const Type *type, int64_t *out)
{
    int64_t count;
    return type_is_static(type) && type_element_count(type, &count) &&
           i64_mul(count, (type_width(type_elem(type)) + 7) / 8, out);
}

/* Products that make up one element of a result, or elements of a window. */
static int64_t steps_per_element(const Op *op)
{
    bool is_quantized = op->def == ONNX(QLINEAR_CONV) || op->def == ONNX(QLINEAR_MATMUL);
    const Type *right = op->operand_count > 1 ? op_operand(op, is_quantized ? 3 : 1)->type : NULL;
    int64_t kernel[ONNX_MAX_RANK], steps = 1;
    size_t rank;
    if (op->def == ONNX(MAX_POOL) || op->def == ONNX(AVERAGE_POOL)) {
        if (!attr_int_list(op_attr(op, "kernel_shape"), kernel, ONNX_MAX_RANK, &rank))
            return INT64_MAX;
        for (size_t i = 0; i < rank; i++)
            if (!i64_mul(steps, kernel[i], &steps)) return INT64_MAX;
        return steps;
    }
    bool is_conv = op->def == ONNX(CONV) || op->def == ONNX(CONV_INTEGER) ||
                   op->def == ONNX(CONV_TRANSPOSE) || op->def == ONNX(QLINEAR_CONV);
    bool is_product = op->def == ONNX(MATMUL) || op->def == ONNX(MATMUL_INTEGER) ||
                      op->def == ONNX(GEMM) || op->def == ONNX(QLINEAR_MATMUL);
    if ((!is_conv && !is_product) || right->u.shaped.rank == 0 ||
        !type_element_count(right, &steps))
        return 1;
    uint32_t outputs = is_conv ? 0 : right->u.shaped.rank - 1;
    return steps / (right->u.shaped.dims[outputs] > 0 ? right->u.shaped.dims[outputs] : 1);
}

/* Whether all operands are constants of sensible size and the results are worth having. A splat
 * takes no room until it is computed with. */
static bool is_foldable(const Folder *folder, const Op *op)
{
    int64_t bytes, steps, from = 0, to = 0;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const Value *operand = onnx_operand(op, i);
        const Attr *value = operand ? onnx_constant(operand) : NULL;
        if (operand && (!value || !type_bytes(value->type, &bytes) ||
                        (value->u.dense.is_splat && bytes > MAX_BYTES)))
            return false;
        from += operand ? bytes : 0;
    }
    for (uint32_t i = 0; i < op->result_count; i++) {
        if (!type_bytes(op_result(op, i)->type, &bytes) || !i64_add(to, bytes, &to)) return false;
    }
    if (to > MAX_TOTAL_BYTES) return false;
    return (to <= MAX_BYTES || to <= from) && folder->bytes + to <= MAX_TOTAL_BYTES &&
           i64_mul(to, steps_per_element(op), &steps) && steps <= MAX_EVAL_STEPS &&
           onnx_can_eval(op);
}

static void replace_result(Op *op, uint32_t index, const Attr *value)
{
    Builder b = builder_before(op);
    Value *constant = onnx_build_constant(&b, value);
    op_set_attr(value_def(constant), ONNX_ATTR_NAME, op_attr(op, ONNX_ATTR_NAME));
    value_replace_all(op_result(op, index), constant);
}

/* Arrays of the operands, NULL where absent. False: one has elements that no array holds. */
static bool read_operands(const Op *op, Array **arrays)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < op->operand_count; i++) {
        const Value *operand = onnx_operand(op, i);
        arrays[i] = operand ? array_from_attr(onnx_constant(operand)) : NULL;
        ok = !operand || arrays[i];
    }
    return ok;
}

static bool evaluate(Folder *folder, Op *op, Array **inputs, Array **results)
{
    StrBuf why = {0};
    bool ok = onnx_eval(op, inputs, INT64_MAX, results, &why);
    if (!ok) onnx_error(op, "cannot be computed: %s", why.data ? why.data : "no reason known");
    strbuf_free(&why);
    for (uint32_t i = 0; ok && i < op->result_count; i++) {
        const Attr *value = array_to_attr(results[i]);
        folder->bytes += (int64_t)value->u.dense.size;
        replace_result(op, i, value);
        array_unref(results[i]);
    }
    return ok;
}

bool onnx_fold_op(Folder *folder, Op *op)
{
    if (!is_foldable(folder, op)) return true;
    Array **inputs = xcalloc(op->operand_count, sizeof *inputs);
    Array **results = xcalloc(op->result_count, sizeof *results);
    bool is_read = read_operands(op, inputs), ok = true;
    if (is_read) ok = evaluate(folder, op, inputs, results);
    for (uint32_t i = 0; i < op->operand_count; i++) array_unref(inputs[i]);
    free_ptr((void **)&inputs);
    free_ptr((void **)&results);
    pass_count(folder->pass, "folded nodes", is_read && ok);
    return ok;
}

/* Shape and Size of a tensor whose elements need not be known. */
static bool fold_extents(Op *op)
{
    const Type *input = op->operand_count > 0 ? op_operand(op, 0)->type : NULL;
    const Type *type = op->result_count > 0 ? op_result(op, 0)->type : NULL;
    int64_t count;
    uint32_t start, end;
    if (!input || !type_is_static(input)) return false;
    if (op->def == ONNX(SIZE) && type_element_count(input, &count)) {
        replace_result(op, 0, attr_dense_i64(type, &count, 1));
        return true;
    }
    if (op->def != ONNX(SHAPE)) return false;
    onnx_shape_bounds(op, &start, &end);
    replace_result(op, 0, attr_dense_i64(type, input->u.shaped.dims + start, end - start));
    return true;
}

/* Whether a Dropout drops nothing. */
static bool is_inference(const Op *op)
{
    const Value *training = onnx_operand(op, 2);
    const Attr *value = training ? onnx_constant(training) : NULL;
    return !training || (value && dense_count(value) == 1 && dense_i64(value, 0) == 0);
}

static bool fold_away(Op *op)
{
    bool is_copy = op->def == ONNX(IDENTITY) || (op->def == ONNX(DROPOUT) && is_inference(op));
    if (!is_copy || op_operand(op, 0)->type != op_result(op, 0)->type) return false;
    value_replace_all(op_result(op, 0), op_operand(op, 0));
    if (op->result_count > 1 && type_is_static(op_result(op, 1)->type))
        replace_result(op, 1, attr_dense_splat(op_result(op, 1)->type, attr_bool(op->ctx, true)));
    return true;
}

static bool fold_node(Folder *folder, Op *op)
{
    if (!onnx_update_types(folder->pass, op)) return false;
    if (op->def == ONNX(CONSTANT) || op->def == ONNX(NO_VALUE) ||
        op->def == ONNX(DEQUANTIZE_LINEAR) || fold_away(op) || fold_extents(op))
        return true;
    if (onnx_is_quant(op)) return onnx_fold_quant(folder->pass, op);
    return onnx_fold_dequantized(folder, op) && onnx_fold_op(folder, op);
}

static bool onnx_fold_constants(Pass *pass, Op *func)
{
    Folder folder = {.pass = pass};
    FOR_EACH_BLOCK(block, op_region(func, 0)) {
        FOR_EACH_OP(op, block) {
            if (op->def && op->def->dialect == &onnx_dialect && !fold_node(&folder, op))
                return false;
            if (op->def == FUNC(RETURN)) onnx_update_signature(pass, func, op);
        }
    }
    rewrite_erase_dead_ops(func);
    return true;
}

const PassDef pass_onnx_fold_constants = {
    .name = "onnx-fold-constants",
    .summary = "Compute what is known before the network runs",
    .anchor = "func.func",
    .stats = STATS({"folded nodes", "Nodes on constants that were computed"},
                   {"moved constants", "Nodes that move elements of dequantized constants"},
                   {"quantized constants", "Quantizers of constants that were folded"}),
    .run = onnx_fold_constants,
};
