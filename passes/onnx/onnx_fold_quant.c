/* The exact part of onnx-fold-constants: a quantized constant stays integers.
 *   Quant(constant) -> DequantizeLinear(integer constant)
 *   Transpose(DequantizeLinear(constant)) -> DequantizeLinear(transposed constant); Reshape too
 * A scale may differ along one dimension. A quantizer with the zero point z folds to q - z.
 * Tests: lit/passes/onnx/onnx-fold-constants.mir, lit/passes/onnx/onnx-fold-values.mir */
#include "dialects/onnx/onnx.h"
#include "ir/attr/attr.h"
#include "passes/onnx/internal.h"

/* A splat of more elements is not worth their room. */
enum { LARGEST_SPLAT = 1 << 26 };

/* A Quant of a constant. */
typedef struct QuantFolding {
    Pass *pass;
    Op *op;
    const Attr *input;
    Quantizer quant;
    int axis;            /* the dimension along which the scale differs; -1: one scale */
    int64_t scale_count; /* 1, or the extent of the axis */
} QuantFolding;

/* The dimension of the input in which the scale has more than one index. False: several. */
static bool find_axis(QuantFolding *f)
{
    const Type *scale = f->quant.scales->type, *input = f->input->type;
    uint32_t rank = scale->u.shaped.rank;
    f->axis = -1;
    f->scale_count = 1;
    if (f->quant.scales->u.dense.is_splat) return true;
    for (uint32_t i = 0; i < rank; i++) {
        if (scale->u.shaped.dims[i] == 1) continue;
        if (f->axis >= 0) return false;
        f->axis = (int)(input->u.shaped.rank - rank + i);
        f->scale_count = scale->u.shaped.dims[i];
    }
    return true;
}

/* Integers from low to high: unsigned if they can be, of the quantizer's bits if z is 0. */
static const Type *integer_type(const QuantFolding *f)
{
    int64_t low = f->quant.low - f->quant.zero, high = f->quant.high - f->quant.zero;
    uint32_t width = f->quant.is_bipolar ? 2 : 1;
    if (low >= 0) {
        while (high >> width != 0) width++;
        return type_integer(f->op->ctx, width, UNSIGNED);
    }
    while (low < -(INT64_C(1) << (width - 1)) || high >= INT64_C(1) << (width - 1)) width++;
    return type_i(f->op->ctx, width);
}

/* Integers from `begin` to before `end`, which share a scale. False: an element is not a number. */
static bool quantize_run(const QuantFolding *f, const Array *input, int64_t begin, int64_t end,
                         int64_t *values)
{
    double scale = onnx_dense_number(f->quant.scales, begin / (end - begin) % f->scale_count);
    for (int64_t i = begin; i < end; i++) {
        double x = array_get_f64(input, i);
        if (x != x)
            return onnx_error(f->op, "quantizes a constant with an element that is not a number");
        values[i] = onnx_quantizer_apply(&f->quant, type_elem(op_result(f->op, 0)->type), scale, x);
    }
    return true;
}

static const Attr *quantize(const QuantFolding *f, const Array *input)
{
    int64_t stride = input->count;
    int64_t *values = xcalloc((size_t)input->count, sizeof *values);
    bool ok = true;
    if (f->axis >= 0) {
        stride = 1;
        for (uint32_t i = (uint32_t)f->axis + 1; i < f->input->type->u.shaped.rank; i++)
            stride *= f->input->type->u.shaped.dims[i];
    }
    for (int64_t i = 0; ok && i < input->count; i += stride)
        ok = quantize_run(f, input, i, i + stride, values);
    const Attr *result = NULL;
    if (ok)
        result = attr_dense_i64(type_with_elem(f->input->type, integer_type(f)), values,
                                (size_t)input->count);
    free_ptr((void **)&values);
    return result;
}

/* The scales as DequantizeLinear wants them; NULL if the element type would round one. */
static const Attr *dequantize_scales(const QuantFolding *f)
{
    const Type *elem = type_elem(op_result(f->op, 0)->type);
    double *scales = ARENA_ARRAY(&f->pass->scratch, double, f->scale_count);
    for (int64_t i = 0; i < f->scale_count; i++) {
        scales[i] = onnx_dense_number(f->quant.scales, i);
        if (attr_float_value(attr_float(elem, scales[i])) != scales[i]) return NULL;
    }
    const Type *type = type_tensor(elem, &f->scale_count, f->axis >= 0, NULL);
    return attr_dense_f64(type, scales, (size_t)f->scale_count);
}

static Value *named_constant(Builder *b, const Attr *value, const Op *like)
{
    Value *constant = onnx_build_constant(b, value);
    value_def(constant)->loc = like->loc;
    op_set_attr(value_def(constant), ONNX_ATTR_NAME, op_attr(like, ONNX_ATTR_NAME));
    return constant;
}

/* An op's result is now DequantizeLinear of the operands; axis < 0: one scale. */
static void replace_by_dequantize(Builder *b, Op *op, Value *const *operands, uint32_t count,
                                  int64_t axis)
{
    NamedAttr attr = build_named_attr(b->ctx, "axis", attr_i64(b->ctx, axis));
    const Type *type = op_result(op, 0)->type;
    Op *dequantize = build(b, ONNX(DEQUANTIZE_LINEAR), operands, count, &type, 1, &attr, axis >= 0);
    op_set_attr(dequantize, ONNX_ATTR_NAME, op_attr(op, ONNX_ATTR_NAME));
    value_replace_all(op_result(op, 0), op_result(dequantize, 0));
}

/* The quantizer with constant parameters. */
static bool read_quantizer(QuantFolding *f)
{
    StrBuf why = {0};
    bool known;
    if (f->op->def == ONNX(BIPOLAR_QUANT)) {
        f->quant = (Quantizer){.scales = onnx_constant(op_operand(f->op, 1)),
                               .bits = 1,
                               .is_signed = true,
                               .is_bipolar = true,
                               .low = -1,
                               .high = 1};
        known = f->quant.scales != NULL;
    } else {
        known = onnx_quantizer(f->op, &f->quant, &why);
    }
    strbuf_free(&why);
    return known && find_axis(f);
}

static bool fold_quant(QuantFolding *f)
{
    const Attr *scales = read_quantizer(f) ? dequantize_scales(f) : NULL;
    if (!scales) return true;
    Array *input = array_from_attr(f->input);
    if (!input) return true;
    const Attr *integers = quantize(f, input);
    array_unref(input);
    if (!integers) return false;
    Builder b = builder_before(f->op);
    Value *operands[2];
    operands[0] = named_constant(&b, integers, value_def(op_operand(f->op, 0)));
    operands[1] = named_constant(&b, scales, value_def(op_operand(f->op, 1)));
    replace_by_dequantize(&b, f->op, operands, 2, f->axis);
    pass_count(f->pass, "quantized constants", 1);
    return true;
}

bool onnx_is_quant(const Op *op)
{
    return op->def == ONNX(QUANT) || op->def == ONNX(INT_QUANT) || op->def == ONNX(BIPOLAR_QUANT);
}

bool onnx_fold_quant(Pass *pass, Op *op)
{
    const Attr *input = onnx_constant(op_operand(op, 0));
    bool is_large_splat = input && input->u.dense.is_splat && dense_count(input) > LARGEST_SPLAT;
    if (!input || is_large_splat || !type_is_static(op_result(op, 0)->type)) return true;
    QuantFolding folding = {.pass = pass, .op = op, .input = input};
    return fold_quant(&folding);
}

/* The dimension of the result that the scale's dimension becomes. False: it is spread over
 * several. */
static bool moved_axis(const Op *op, const Op *dequantize, int64_t *axis)
{
    const Type *input = op_operand(op, 0)->type;
    int64_t perm[ONNX_MAX_RANK], count, old = onnx_int(dequantize, "axis", 1);
    StrBuf why = {0};
    *axis = -1;
    if (type_element_count(op_operand(dequantize, 1)->type, &count) && count == 1) return true;
    bool known = op->def == ONNX(TRANSPOSE) && onnx_transpose_perm(op, perm, &why);
    strbuf_free(&why);
    for (uint32_t i = 0; known && i < input->u.shaped.rank; i++)
        if (perm[i] == (old < 0 ? old + input->u.shaped.rank : old)) *axis = i;
    return *axis >= 0;
}

static bool moves_elements(const Op *op)
{
    return op->def == ONNX(TRANSPOSE) || op->def == ONNX(RESHAPE) || op->def == ONNX(FLATTEN) ||
           op->def == ONNX(SQUEEZE) || op->def == ONNX(UNSQUEEZE);
}

bool onnx_fold_dequantized(Folder *folder, Op *op)
{
    const Op *dequantize = moves_elements(op) ? value_def(op_operand(op, 0)) : NULL;
    int64_t axis;
    if (!dequantize || dequantize->def != ONNX(DEQUANTIZE_LINEAR) ||
        !onnx_constant(op_operand(dequantize, 0)) || !type_is_static(op_result(op, 0)->type) ||
        onnx_int(dequantize, "block_size", 0) != 0 || !moved_axis(op, dequantize, &axis))
        return true;
    Value *operands[3];
    const Value *integers = op_operand(dequantize, 0);
    PtrMap values = {0};
    ptrmap_put(&values, op_operand(op, 0), (void *)(uintptr_t)integers);
    Op *moved = op_clone(op, &values);
    ptrmap_free(&values);
    op_insert_before(moved, op);
    op_result(moved, 0)->type = type_with_elem(op_result(op, 0)->type, type_elem(integers->type));
    for (uint32_t i = 0; i < dequantize->operand_count; i++)
        operands[i] = i == 0 ? op_result(moved, 0) : op_operand(dequantize, i);
    Builder b = builder_before(op);
    replace_by_dequantize(&b, op, operands, dequantize->operand_count, axis);
    pass_count(folder->pass, "moved constants", 1);
    return onnx_fold_op(folder, moved);
}
