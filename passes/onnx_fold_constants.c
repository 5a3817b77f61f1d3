/* onnx-fold-constants: computes what is known before the network runs.
 *   Identity(x) -> x
 *   Quant(constant) -> DequantizeLinear(integer constant), which keeps the exact integers
 * A scale may differ along one dimension. A quantizer whose zero point is z folds to q - z.
 * Requires: onnx-infer-shapes.  Changes: nodes on constants; dead constants go.
 * Tests: lit/passes/onnx-fold-constants.mir */
#include "dialects/onnx/onnx.h"
#include "dialects/onnx/quant.h"
#include "ir/rewrite.h"
#include "passes/passes.h"

/* A Quant of a constant. */
typedef struct Folding {
    Pass *pass;
    Op *op;
    const Attr *input;
    Quantizer quant;
    int axis;            /* that the scale goes along; -1: one scale */
    int64_t scale_count; /* 1, or the extent of the axis */
} Folding;

/* The dimension of the input in which the scale has more than one index. False: several. */
static bool find_axis(Folding *f)
{
    const Type *scale = f->quant.scales->type, *input = f->input->type;
    uint32_t rank = scale->u.shaped.rank;
    f->axis = -1;
    f->scale_count = 1;
    if (f->quant.scales->u.dense.is_splat)
        return true;
    for (uint32_t i = 0; i < rank; i++) {
        if (scale->u.shaped.dims[i] == 1)
            continue;
        if (f->axis >= 0)
            return false;
        f->axis = (int)(input->u.shaped.rank - rank + i);
        f->scale_count = scale->u.shaped.dims[i];
    }
    return true;
}

/* Integers from low to high: unsigned if they can be, of the quantizer's bits if z is 0. */
static const Type *integer_type(const Folding *f)
{
    int64_t low = f->quant.low - f->quant.zero, high = f->quant.high - f->quant.zero;
    uint32_t width = f->quant.is_bipolar ? 2 : 1;
    if (low >= 0) {
        while (high >> width != 0)
            width++;
        return type_integer(f->op->ctx, width, UNSIGNED);
    }
    while (low < -(INT64_C(1) << (width - 1)) || high >= INT64_C(1) << (width - 1))
        width++;
    return type_i(f->op->ctx, width);
}

static const Attr *quantize(const Folding *f)
{
    int64_t count = dense_count(f->input), stride = count;
    int64_t *values = ARENA_ARRAY(&f->pass->scratch, int64_t, count);
    if (f->axis >= 0) {
        stride = 1;
        for (uint32_t i = (uint32_t)f->axis + 1; i < f->input->type->u.shaped.rank; i++)
            stride *= f->input->type->u.shaped.dims[i];
    }
    for (int64_t i = 0; i < count; i++) {
        double x = dense_number(f->input, i);
        if (x != x) {
            onnx_error(f->op, "quantizes a constant with an element that is not a number");
            return NULL;
        }
        double scale = dense_number(f->quant.scales, i / stride % f->scale_count);
        values[i] = quantizer_apply(&f->quant, scale, x);
    }
    return attr_dense_i64(type_with_elem(f->input->type, integer_type(f)), values, (size_t)count);
}

/* The scales as DequantizeLinear wants them; NULL if the element type would round one. */
static const Attr *dequantize_scales(const Folding *f)
{
    const Type *elem = type_elem(f->input->type);
    double *scales = ARENA_ARRAY(&f->pass->scratch, double, f->scale_count);
    for (int64_t i = 0; i < f->scale_count; i++) {
        scales[i] = dense_number(f->quant.scales, i);
        if (attr_float_value(attr_float(elem, scales[i])) != scales[i])
            return NULL;
    }
    const Type *type = type_tensor(elem, &f->scale_count, f->axis >= 0, NULL);
    return attr_dense_f64(type, scales, (size_t)f->scale_count);
}

static Value *named_constant(Builder *b, const Attr *value, const Op *like)
{
    Value *constant = onnx_build_constant(b, value);
    value_def(constant)->loc = like->loc;
    op_set_attr(value_def(constant), ONNX_NAME, op_attr(like, ONNX_NAME));
    return constant;
}

static bool fold_quant(Folding *f)
{
    StrBuf why = {0};
    bool known = onnx_quantizer(f->op, &f->quant, &why) && find_axis(f);
    strbuf_free(&why);
    const Attr *scales = known ? dequantize_scales(f) : NULL;
    if (!scales)
        return true;
    const Attr *integers = quantize(f);
    if (!integers)
        return false;
    Builder b = builder_before(f->op);
    Value *operands[2];
    operands[0] = named_constant(&b, integers, value_def(op_operand(f->op, 0)));
    operands[1] = named_constant(&b, scales, value_def(op_operand(f->op, 1)));
    NamedAttr axis = named_attr(b.ctx, "axis", attr_i64(b.ctx, f->axis));
    const Type *type = op_result(f->op, 0)->type;
    Op *op = build(&b, ONNX(DEQUANTIZE_LINEAR), operands, 2, &type, 1, &axis, f->axis >= 0);
    op_set_attr(op, ONNX_NAME, op_attr(f->op, ONNX_NAME));
    value_replace_all(op_result(f->op, 0), op_result(op, 0));
    pass_count(f->pass, "quantized constants", 1);
    return true;
}

static bool fold_node(Pass *pass, Op *op)
{
    if (op->def == ONNX(IDENTITY) && op_operand(op, 0)->type == op_result(op, 0)->type)
        value_replace_all(op_result(op, 0), op_operand(op, 0));
    if (op->def != ONNX(QUANT) && op->def != ONNX(INT_QUANT))
        return true;
    const Attr *input = onnx_constant(op_operand(op, 0));
    if (!input || op_operand(op, 0)->type != op_result(op, 0)->type)
        return true;
    Folding folding = {.pass = pass, .op = op, .input = input};
    return fold_quant(&folding);
}

static bool onnx_fold_constants(Pass *pass, Op *func)
{
    FOR_EACH_BLOCK(block, op_region(func, 0))
    {
        FOR_EACH_OP(op, block)
            if (!fold_node(pass, op))
                return false;
    }
    erase_dead_ops(func);
    return true;
}

const PassDef pass_onnx_fold_constants = {
    .name = "onnx-fold-constants",
    .summary = "Quantize constants and remove what has no effect",
    .anchor = "func.func",
    .stats = STATS({"quantized constants", "Quant nodes on constants that were folded"}),
    .run = onnx_fold_constants,
};
