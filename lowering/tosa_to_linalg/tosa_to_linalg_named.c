/* tosa-to-linalg-named: convolutions, matrix products, pooling and transpositions become the
 * linalg ops of their name, with explicit padding and a bias that fills the accumulator.
 * Requires: verified IR.
 * Changes: those ops, which must not remain.
 * Preserves: other ops.
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-linalg-named*.mir */
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "lowering/tosa_to_linalg/internal.h"

/* The zero points of a quantized op as i32 constants behind its two operands. */
static Values append_zero_points(Lower *l, Value *lhs, Value *rhs, const Attr *quant)
{
    Value **all = ARENA_ARRAY(l->arena, Value *, 4);
    all[0] = lhs;
    all[1] = rhs;
    for (uint32_t i = 0; quant && i < 2; i++)
        all[2 + i] = tosa_build_i32(l->b, tosa_zero_point(quant, i));
    return (Values){all, quant ? 4 : 2};
}

/* c = 0 + a * b */
static bool lower_matmul(Lower *l)
{
    Value *a = op_operand(l->op, 0), *b = op_operand(l->op, 1);
    Value *sources[] = {a, a, b}, *dims[3];
    const Type *type = result_type(l->op), *elem = type_elem(type);
    const Attr *zero = tosa_build_zero_of(elem), *quant = op_attr(l->op, "quantization_info");
    if (!tosa_lower_all_ranked(l->op) || !zero) return false;
    uint32_t count = 0;
    for (uint32_t i = 0; i < 3; i++)
        if (is_dynamic(type, i)) dims[count++] = tensor_dim(l->b, sources[i], i);
    Value *scalar = arith_constant(l->b, zero);
    Value *empty = tosa_build_empty_tensor(l->b, type, elem, (Values){dims, count});
    Value *init = linalg_fill(l->b, scalar, empty);
    Values inputs = append_zero_points(l, conversion_remap(l->rw, a, NULL),
                                       conversion_remap(l->rw, b, NULL), quant);
    const OpDef *def = quant ? LINALG(QUANTIZED_BATCH_MATMUL) : LINALG(BATCH_MATMUL);
    rewriter_replace_one(l->rw, l->op, tosa_build_named(l->b, def, inputs, init, type, NULL, 0));
    return true;
}

/* out = bias + in * transpose(weight) */
static bool lower_fully_connected(Lower *l)
{
    static const int64_t swap[] = {1, 0};
    Value *input = op_operand(l->op, 0), *weight = op_operand(l->op, 1);
    Value *bias = op_operand(l->op, 2), *dims[2];
    const Type *type = result_type(l->op);
    const Attr *quant = op_attr(l->op, "quantization_info");
    if (!tosa_lower_all_ranked(l->op)) return false;
    uint32_t count = 0;
    /* Upstream makes an empty tensor without its sizes. */
    if (is_dynamic(type, 0) != is_dynamic(input->type, 0) ||
        is_dynamic(type, 1) != is_dynamic(weight->type, 0))
        return false;
    if (is_dynamic(input->type, 0)) dims[count++] = tensor_dim(l->b, input, 0);
    if (is_dynamic(weight->type, 0)) dims[count++] = tensor_dim(l->b, weight, 0);
    weight = tosa_build_transposed(l, weight, swap);
    Value *empty = tosa_build_empty_tensor(l->b, type, type_elem(type), (Values){dims, count});
    Value *init = tosa_build_broadcast_bias(l, bias, empty);
    Values inputs = append_zero_points(l, input, weight, quant);
    const OpDef *def = quant ? LINALG(QUANTIZED_MATMUL) : LINALG(MATMUL);
    rewriter_replace_one(l->rw, l->op, tosa_build_named(l->b, def, inputs, init, type, NULL, 0));
    return true;
}

/* The constant permutation. False: it is not constant, or names a dimension that does not exist. */
static bool read_order(const Value *perms, uint32_t rank, int64_t *order)
{
    const Attr *list = tosa_const_ints(perms);
    if (!list || dense_count(list) != rank) return false;
    for (uint32_t i = 0; i < rank; i++) {
        order[i] = dense_i64(list, i);
        if (order[i] < 0 || order[i] >= rank) return false;
    }
    return true;
}

static bool lower_transpose(Lower *l)
{
    Value *input = op_operand(l->op, 0);
    if (input->type->kind != TYPE_RANKED_TENSOR) return false;
    uint32_t rank = rank_of(input->type);
    int64_t *order = ARENA_ARRAY(l->arena, int64_t, rank);
    if (!read_order(op_operand(l->op, 1), rank, order)) return false;
    MixedIndex *sizes = ARENA_ARRAY(l->arena, MixedIndex, rank);
    MixedIndex *permuted = ARENA_ARRAY(l->arena, MixedIndex, rank);
    for (uint32_t i = 0; i < rank; i++) sizes[i] = tensor_mixed_dim(l->b, input, i);
    for (uint32_t i = 0; i < rank; i++) permuted[i] = sizes[order[i]];
    Value *empty = tensor_empty(l->b, permuted, rank, type_elem(input->type));
    NamedAttr attr = build_named_attr(l->ctx, "permutation", attr_i64_array(l->ctx, order, rank));
    Op *op = linalg_build_forwarding(l->b, LINALG(TRANSPOSE), input, empty, &attr);
    rewriter_replace_one(l->rw, l->op, op_result(op, 0));
    return true;
}

static const TosaRow rows[] = {
    {TOSA(CONV2D), tosa_lower_conv, 1},
    {TOSA(CONV3D), tosa_lower_conv, 1},
    {TOSA(DEPTHWISE_CONV2D), tosa_lower_depthwise_conv, 1},
    {TOSA(MATMUL), lower_matmul, 1},
    {TOSA(MAX_POOL2D), tosa_lower_max_pool, 1},
    {TOSA(AVG_POOL2D), tosa_lower_avg_pool, 1},
    {TOSA(FULLY_CONNECTED), lower_fully_connected, 1},
    {TOSA(TRANSPOSE), lower_transpose, 1},
};

static Legality legality(const Op *op, void *user)
{
    (void)user;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (op->def == rows[i].def) return ILLEGAL;
    return LEGAL;
}

static bool run(Pass *pass, Op *func)
{
    return tosa_lower_convert(pass, func, rows, COUNT_OF(rows),
                              &(ConversionTarget){.op_legality = legality});
}

const PassDef pass_tosa_to_linalg_named = {
    .name = "tosa-to-linalg-named",
    .summary = "Lower convolutions, products, pooling and transposition of tosa to linalg",
    .title = "TosaToLinalgNamed",
    .anchor = "func.func",
    .any_function = true,
    .options = OPTIONS({.name = "prefer-conv2d-kernel-layout-hwcf",
                        .kind = OPTION_BOOL,
                        .help = "2-D convolutions take kernels with their output channels last"}),
    .run = run,
};
