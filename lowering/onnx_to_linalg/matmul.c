/* Matrix products: MatMul with numpy's rules for vectors and batches, and Gemm. They are lowered to
 * integers where both operands are fixed; a constant right operand may have a scale per column.
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-matmul.mir */
#include <math.h>
#include <string.h>

#include "dialects/arith/arith.h"
#include "lowering/onnx_to_linalg/internal.h"
#include "lowering/onnx_to_linalg/values/values.h"

typedef struct Product {
    OnnxLowering *lw;
    const Type *a, *b, *result; /* shapes */
    bool trans_a, trans_b;
    Generic generic;
    int64_t columns; /* 1 if b is a vector */
} Product;

/* Batch dimensions of an operand: those of extent 1 are stretched. */
static uint32_t batch_index(Product *p, const Type *type, uint32_t batches, const AffineExpr **out)
{
    uint32_t rank = type->u.shaped.rank, own = rank > 2 ? rank - 2 : 0;
    for (uint32_t i = 0; i < own; i++) {
        uint32_t loop = batches - own + i;
        bool is_stretched = type->u.shaped.dims[i] != p->result->u.shaped.dims[loop];
        out[i] = is_stretched ? affine_const(p->lw->ctx, 0) : affine_dim(p->lw->ctx, loop);
    }
    return own;
}

/* batch..., row, column, depth; a vector has no row, or no column. */
static void product_maps(Product *p)
{
    Context *ctx = p->lw->ctx;
    uint32_t a_rank = p->a->u.shaped.rank, b_rank = p->b->u.shaped.rank;
    bool has_row = a_rank > 1, has_column = b_rank > 1;
    uint32_t rank = p->result->u.shaped.rank, batches = rank - has_row - has_column;
    const AffineExpr *depth = affine_dim(ctx, rank), *row = affine_dim(ctx, batches);
    const AffineExpr *column = affine_dim(ctx, batches + has_row);
    const AffineExpr *a[ONNX_MAX_RANK], *b[ONNX_MAX_RANK], *out[ONNX_MAX_RANK];
    uint32_t a_count = batch_index(p, p->a, batches, a), b_count = batch_index(p, p->b, batches, b);
    if (has_row) a[a_count++] = p->trans_a ? depth : row;
    a[a_count++] = p->trans_a ? row : depth;
    if (has_column && p->trans_b) b[b_count++] = column;
    b[b_count++] = depth;
    if (has_column && !p->trans_b) b[b_count++] = column;
    for (uint32_t i = 0; i < rank; i++) out[i] = affine_dim(ctx, i);
    p->generic = (Generic){.loops = rank + 1, .inputs = 2};
    p->generic.is_reduction[rank] = true;
    p->generic.map[0] = map_get(ctx, rank + 1, 0, a_count, a);
    p->generic.map[1] = map_get(ctx, rank + 1, 0, b_count, b);
    p->generic.map[2] = map_get(ctx, rank + 1, 0, rank, out);
}

static Value *build_product(Product *p, Value *a, Value *b, const Type *type, bool a_unsigned,
                            bool b_unsigned)
{
    product_maps(p);
    p->generic.input[0] = a;
    p->generic.input[1] = b;
    generic_open(p->lw, &p->generic, lower_build_filled(p->lw, type, 0));
    return generic_close(&p->generic,
                         onnx_lower_multiply_accumulate(&p->generic, a_unsigned, b_unsigned));
}

static Product product_create(OnnxLowering *lw)
{
    const Op *op = lw->node;
    Product p = {.lw = lw,
                 .a = op_operand(op, 0)->type,
                 .b = op_operand(op, 1)->type,
                 .result = op_result(op, 0)->type};
    if (op->def == ONNX(GEMM)) {
        p.trans_a = onnx_int(op, "transA", 0) != 0;
        p.trans_b = onnx_int(op, "transB", 0) != 0;
    }
    uint32_t rank = p.b->u.shaped.rank;
    p.columns = rank < 2 ? 1 : p.b->u.shaped.dims[p.trans_b ? rank - 2 : rank - 1];
    return p;
}

static int64_t depth_of(const Product *p)
{
    uint32_t rank = p->a->u.shaped.rank;
    return p->a->u.shaped.dims[p->trans_a ? rank - 2 : rank - 1];
}

/* Column of element i of the right operand. */
static int64_t column_of(const Product *p, int64_t i)
{
    if (p->b->u.shaped.rank < 2) return 0;
    return p->trans_b ? i / depth_of(p) % p->columns : i % p->columns;
}

static int column_axis(const Product *p)
{
    int rank = (int)p->b->u.shaped.rank;
    return rank < 2 ? -1 : p->trans_b ? rank - 2 : rank - 1;
}

static bool sum_ranges(const Product *p, Sum *sum, const Fixed *x, const FixedConstant *w)
{
    int64_t matrix = depth_of(p) * p->columns;
    for (int64_t first = 0; first < w->count; first += matrix) {
        Sum one = sum_create(p->lw, x, sum->channels, sum->axis);
        for (int64_t i = first; i < first + matrix; i++)
            if (!sum_add_product(&one, x, column_of(p, i), w->values[i])) return false;
        for (int64_t c = 0; c < sum->channels; c++) {
            SumRange *all = &sum->ranges[c];
            all->low = one.ranges[c].low < all->low ? one.ranges[c].low : all->low;
            all->high = one.ranges[c].high > all->high ? one.ranges[c].high : all->high;
        }
        sum->fixed.low = one.fixed.low < sum->fixed.low ? one.fixed.low : sum->fixed.low;
        sum->fixed.high = one.fixed.high > sum->fixed.high ? one.fixed.high : sum->fixed.high;
    }
    return true;
}

static double beta_of(const Op *op)
{
    return onnx_float(op, "beta", 1.0);
}

static double alpha_of(const Op *op)
{
    return op->def == ONNX(GEMM) ? onnx_float(op, "alpha", 1.0) : 1.0;
}

/* Whether the product can be lowered to integers. A Gemm can if alpha is not 0 and C is a constant
 * per column. */
static bool has_integer_form(const Product *p)
{
    const Op *op = p->lw->node;
    double alpha = alpha_of(op);
    if (op->def != ONNX(GEMM)) return true;
    return alpha != 0.0 && !isinf(alpha) &&
           (!onnx_operand(op, 2) || onnx_lower_is_channel_constant(p->lw, 2, p->columns, 2, 1));
}

/* Gives the sign of alpha to the weights. */
static void negate_weights(const Op *op, FixedConstant *w)
{
    if (!(alpha_of(op) < 0.0)) return;
    for (int64_t i = 0; i < w->count; i++) w->values[i] = -w->values[i];
    constant_narrow(w);
}

static bool product_integers(Product *p, const Fixed *x, FixedConstant *w)
{
    OnnxLowering *lw = p->lw;
    uint32_t rank = p->result->u.shaped.rank;
    bool has_column = p->b->u.shaped.rank > 1;
    Sum sum = sum_create(lw, x, p->columns, has_column && rank > 0 ? rank - 1 : 0);
    negate_weights(lw->node, w);
    if (!sum_ranges(p, &sum, x, w)) return false;
    uint32_t width = sum_width(&sum, x->value->type, w->type);
    Value *b = constant_build(lw, w, p->b->u.shaped.dims, p->b->u.shaped.rank);
    sum.fixed.value = build_product(p, x->value, b, onnx_lower_int_tensor(lw, p->result, width),
                                    x->is_unsigned, w->is_unsigned);
    if (!sum_set_scale(&sum, x, w)) return false;
    fixed_scale_by(&sum.fixed, fabs(alpha_of(lw->node)));
    bool has_c = lw->node->def == ONNX(GEMM) && onnx_operand(lw->node, 2);
    if (has_c && !sum_add_bias(&sum, 2, beta_of(lw->node))) return false;
    lower_result(lw, &sum.fixed);
    return true;
}

/* Whether the left operand is fixed and the right one a constant that integers can be used for. */
static bool is_by_constant(Product *p, FixedConstant *w)
{
    const Fixed *x = lower_fixed(p->lw, 0);
    if (!x || lower_array(p->lw, op_operand(p->lw->node, 0))) return false;
    if (x->epilogue) {
        lower_warn_plain(p->lw, lower_why_input(p->lw));
        return false;
    }
    if (!lower_array(p->lw, op_operand(p->lw->node, 1))) return false;
    if (!lower_constant(p->lw, 1, w)) {
        lower_warn_plain(p->lw, lower_why_weights(p->lw, "its weights are not quantized"));
        return false;
    }
    if (!has_integer_form(p)) {
        lower_warn_plain(p->lw, "its C is not a constant per column, or its alpha is 0");
        return false;
    }
    return w->axis < 0 || w->axis == column_axis(p) || constant_align(w);
}

static bool product_of_two(Product *p, const Fixed *x, const Fixed *y)
{
    OnnxLowering *lw = p->lw;
    int64_t corners[4], low = 0, high = 0;
    if (!i64_mul(x->low, y->low, &corners[0]) || !i64_mul(x->low, y->high, &corners[1]) ||
        !i64_mul(x->high, y->low, &corners[2]) || !i64_mul(x->high, y->high, &corners[3]))
        return lower_too_wide(lw);
    for (size_t i = 0; i < COUNT_OF(corners); i++) {
        low = corners[i] < low ? corners[i] : low;
        high = corners[i] > high ? corners[i] : high;
    }
    Fixed sum = {.unit = x->unit, .exponent = x->exponent + y->exponent};
    fixed_scale_by(&sum, y->unit);
    if (!i64_mul(low, depth_of(p), &sum.low) || !i64_mul(high, depth_of(p), &sum.high) ||
        !i64_mul(x->divisor, y->divisor, &sum.divisor))
        return lower_too_wide(lw);
    uint32_t width =
        onnx_lower_widest(fixed_signed_width(sum.low, sum.high), x->value->type, y->value->type);
    sum.value = build_product(p, x->value, y->value, onnx_lower_int_tensor(lw, p->result, width),
                              x->is_unsigned, y->is_unsigned);
    lower_result(lw, &sum);
    return true;
}

/* alpha * sums + beta * C, stretched. */
static Value *finish_gemm(OnnxLowering *lw, Value *sums)
{
    const Op *op = lw->node;
    double alpha = alpha_of(op), beta = beta_of(op);
    bool has_c = onnx_operand(op, 2) != NULL;
    Value *inputs[2] = {sums};
    if (alpha == 1.0 && !has_c) return sums;
    if (has_c && !(inputs[1] = lower_plain(lw, 2))) return NULL;
    Generic g;
    const Type *elem = type_elem(sums->type);
    bool is_float = type_is_float(elem);
    const OpDef *mul = is_float ? ARITH(MULF) : ARITH(MULI);
    const OpDef *add = is_float ? ARITH(ADDF) : ARITH(ADDI);
    generic_broadcast(lw, &g, inputs, 1 + has_c, sums->type);
    generic_open(lw, &g, lower_build_empty(lw, sums->type));
    Value *y = generic_arg(&g, 0);
    if (alpha != 1.0)
        y = build_binary(&g.body, mul, elem, y, lower_build_number(&g.body, elem, alpha));
    if (has_c) {
        Value *c = generic_arg(&g, 1);
        if (beta != 1.0)
            c = build_binary(&g.body, mul, elem, c, lower_build_number(&g.body, elem, beta));
        y = build_binary(&g.body, add, elem, y, c);
    }
    return generic_close(&g, y);
}

/* Whether integers are scaled by integers of their type. */
static bool scales_integers(const Product *p)
{
    const Op *op = p->lw->node;
    const Type *elem = type_elem(p->result);
    if (op->def != ONNX(GEMM) || type_is_float(elem)) return true;
    const double scales[] = {alpha_of(op), onnx_operand(op, 2) ? beta_of(op) : 1.0};
    const double end = onnx_exact_pow2((int)type_width(elem) - 1);
    for (size_t i = 0; i < COUNT_OF(scales); i++)
        if (scales[i] != floor(scales[i]) || fabs(scales[i]) >= end)
            return onnx_error(op, "scales integers by %g, which is no such integer", scales[i]);
    return true;
}

static bool product_plain(Product *p)
{
    OnnxLowering *lw = p->lw;
    if (!scales_integers(p)) return false;
    Value *a = lower_plain(lw, 0), *b = lower_plain(lw, 1);
    if (!a || !b) return false;
    Value *y = build_product(p, a, b, lower_plain_type(p->result), lower_is_unsigned_elem(p->a),
                             lower_is_unsigned_elem(p->b));
    if (lw->node->def == ONNX(GEMM)) y = finish_gemm(lw, y);
    if (y) lower_plain_result(lw, 0, y);
    return y != NULL;
}

bool onnx_lower_matmul(OnnxLowering *lw)
{
    Product p = product_create(lw);
    FixedConstant w;
    if (is_by_constant(&p, &w)) return product_integers(&p, lower_fixed(lw, 0), &w);
    const Fixed *x = lower_fixed_bare(lw, 0), *y = x ? lower_fixed_bare(lw, 1) : NULL;
    if (x && y && lw->node->def == ONNX(MATMUL)) return product_of_two(&p, x, y);
    return product_plain(&p);
}
