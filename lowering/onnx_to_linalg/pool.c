/* Pooling. A maximum of integers is an integer of the same scale. An average is a sum whose number
 * of terms goes into the scale; where the numbers of terms differ, each sum is first multiplied to
 * their least common multiple.
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-pool.mir */
#include <math.h>
#include <string.h>

#include "dialects/arith/arith.h"
#include "dialects/tensor/tensor.h"
#include "lowering/onnx_to_linalg/internal.h"

/* Most terms of an average; also a limit of the least common multiple of their numbers. */
enum { MAX_COUNT = 1 << 24 };

/* One window that is the input. */
static bool is_global(const ConvGeometry *g)
{
    for (uint32_t i = 0; i < g->spatial; i++)
        if (g->out[i] != 1 || g->low[i] != 0 || g->kernel[i] != g->in[i] || g->dilation[i] != 1)
            return false;
    return true;
}

/* n, c, position..., tap...; the second input only gives the window's shape, where the input does
 * not. */
static void pool_maps(OnnxLowering *lw, const ConvGeometry *g, Generic *generic)
{
    bool global = is_global(g);
    const AffineExpr *in[ONNX_MAX_RANK], *tap[ONNX_MAX_SPATIAL], *out[ONNX_MAX_RANK];
    uint32_t spatial = g->spatial, rank = 2 + spatial;
    for (uint32_t i = 0; i < rank; i++) out[i] = in[i] = affine_dim(lw->ctx, i);
    for (uint32_t i = 0; i < spatial; i++) {
        tap[i] = affine_dim(lw->ctx, rank + i);
        in[2 + i] = global ? tap[i]
                           : affine_add(affine_mul_c(out[2 + i], g->stride[i]),
                                        affine_mul_c(tap[i], g->dilation[i]));
    }
    *generic = (Generic){.loops = rank + spatial, .inputs = global ? 1 : 2};
    for (uint32_t i = rank; i < generic->loops; i++) generic->is_reduction[i] = true;
    generic->map[0] = map_get(lw->ctx, generic->loops, 0, rank, in);
    generic->map[1] = map_get(lw->ctx, generic->loops, 0, spatial, tap);
    generic->map[generic->inputs] = map_get(lw->ctx, generic->loops, 0, rank, out);
}

/* The input with its border; windows that reach beyond the padding need more. */
static Value *padded(OnnxLowering *lw, const ConvGeometry *g, Value *x, double value)
{
    int64_t low[ONNX_MAX_RANK] = {0}, high[ONNX_MAX_RANK] = {0};
    for (uint32_t i = 0; i < g->spatial; i++) {
        int64_t span = (g->out[i] - 1) * g->stride[i] + (g->kernel[i] - 1) * g->dilation[i] + 1;
        low[2 + i] = g->low[i];
        high[2 + i] = span - g->in[i] - g->low[i];
        if (high[2 + i] < 0) high[2 + i] = 0;
    }
    return onnx_lower_build_border(lw, x, low, high, value);
}

/* Joins the elements of each window to `start`, which is also the border. */
static Value *pool(OnnxLowering *lw, const ConvGeometry *g, Value *x, const Type *type,
                   const OpDef *join, double start, bool is_unsigned)
{
    Generic generic;
    const Type *elem = type_elem(type);
    pool_maps(lw, g, &generic);
    double border = join == ARITH(ADDI) || join == ARITH(ADDF) ? 0.0 : start;
    generic.input[0] = padded(lw, g, x, border);
    if (generic.inputs > 1)
        generic.input[1] = lower_build_empty(lw, type_tensor(elem, g->kernel, g->spatial, NULL));
    Value *scalar = lower_build_number(&lw->b, elem, start);
    Value *init = lower_build_empty(lw, type);
    generic_open(lw, &generic, lower_build_fill(lw, scalar, init));
    Value *element = generic_arg(&generic, 0);
    if (!type_is_float(elem))
        element = lower_build_extend(&generic.body, element, elem, is_unsigned);
    return generic_close(&generic, build_binary(&generic.body, join, elem,
                                                generic_arg(&generic, generic.inputs), element));
}

static bool wants_indices(const Op *op)
{
    return op->result_count > 1 && value_has_uses(op_result(op, 1));
}

/* The flat index of each element of x. */
static Value *index_tensor(OnnxLowering *lw, const Type *x, const Type *elem, int64_t count)
{
    int64_t *indices = ARENA_ARRAY(&lw->pass->scratch, int64_t, count);
    for (int64_t i = 0; i < count; i++) indices[i] = i;
    return arith_constant(&lw->b, attr_dense_i64(type_with_elem(x, elem), indices, (size_t)count));
}

/* Flat indices that count rows first, of tensors that count columns first in their spatial
 * dimensions. */
static Value *by_column(OnnxLowering *lw, const ConvGeometry *g, Value *indices, int64_t count)
{
    int64_t *table = ARENA_ARRAY(&lw->pass->scratch, int64_t, count), plane = 1;
    for (uint32_t i = 0; i < g->spatial; i++) plane *= g->in[i];
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i % plane, step = plane;
        table[i] = i - rest;
        for (uint32_t d = g->spatial; d-- > 0; rest /= g->in[d]) {
            step /= g->in[d];
            table[i] += rest % g->in[d] * step;
        }
    }
    const Type *elem = type_elem(indices->type);
    const Attr *numbers = attr_dense_i64(type_tensor(elem, &count, 1, NULL), table, (size_t)count);
    Value *rows_first = arith_constant(&lw->b, numbers);
    Generic generic;
    generic_elementwise(lw, &generic, &indices, 1);
    generic_open(lw, &generic, lower_build_empty(lw, indices->type));
    Value *at = generic_arg(&generic, 0);
    return generic_close(&generic, lower_build_lookup(&generic.body, rows_first, at));
}

/* The least index at which a window of x has its maximum, which y tells. */
static void lower_indices(OnnxLowering *lw, const ConvGeometry *g, Value *x, Value *y,
                          double border)
{
    const Value *of = op_result(lw->node, 1);
    Fixed result = {.unit = 1.0, .divisor = 1};
    int64_t count;
    if (!type_element_count(x->type, &count)) return;
    const Type *elem = type_i(lw->ctx, fixed_signed_width(0, count));
    Generic window, generic;
    pool_maps(lw, g, &window);
    generic = window;
    generic.inputs = window.inputs + 2;
    generic.input[0] = padded(lw, g, x, border);
    generic.input[1] = padded(lw, g, index_tensor(lw, x->type, elem, count), (double)count);
    generic.input[2] = y;
    generic.map[1] = window.map[0];
    generic.map[2] = generic.map[generic.inputs] = window.map[window.inputs];
    if (window.inputs > 1) {
        generic.input[3] = lower_build_empty(lw, type_tensor(elem, g->kernel, g->spatial, NULL));
        generic.map[3] = window.map[1];
    }
    generic_open(lw, &generic, lower_build_filled(lw, type_with_elem(of->type, elem), count));
    Builder *b = &generic.body;
    Value *left = generic_arg(&generic, 0), *right = generic_arg(&generic, 2);
    Value *is_there = type_is_float(left->type) ? arith_cmpf(b, CMPF_OEQ, left, right)
                                                : arith_cmpi(b, CMPI_EQ, left, right);
    Value *so_far = generic_arg(&generic, generic.inputs);
    Value *first = build_binary(b, ARITH(MINSI), elem, so_far, generic_arg(&generic, 1));
    result.value = generic_close(&generic, arith_select(b, is_there, first, so_far));
    result.high = count - 1;
    if (onnx_int(lw->node, "storage_order", 0) == 1)
        result.value = by_column(lw, g, result.value, count);
    lower_record_fixed(lw, of, &result);
}

static bool max_integers(OnnxLowering *lw, const ConvGeometry *g, const Fixed *x,
                         const QuantizerMirror *mirror)
{
    const Type *type = type_with_elem(op_result(lw->node, 0)->type, type_elem(x->value->type));
    uint32_t width = type_width(type_elem(type));
    double least = x->is_unsigned ? 0.0 : -onnx_exact_pow2((int)width - 1);
    Fixed result = *x;
    result.value = pool(lw, g, x->value, type, x->is_unsigned ? ARITH(MAXUI) : ARITH(MAXSI), least,
                        x->is_unsigned);
    if (wants_indices(lw->node)) lower_indices(lw, g, x->value, result.value, least);
    quantizer_mirror_back(lw, mirror, &result);
    lower_result(lw, &result);
    return true;
}

static bool max_plain(OnnxLowering *lw, const ConvGeometry *g)
{
    Value *x = lower_plain(lw, 0);
    if (!x) return false;
    const Type *network = op_operand(lw->node, 0)->type, *elem = type_elem(x->type);
    const Type *type = lower_plain_type(op_result(lw->node, 0)->type);
    bool is_unsigned = lower_is_unsigned_elem(network);
    double least = type_is_float(elem) ? -INFINITY
                   : is_unsigned       ? 0.0
                                       : -onnx_exact_pow2((int)type_width(elem) - 1);
    const OpDef *join = type_is_float(elem) ? ARITH(MAXIMUMF)
                        : is_unsigned       ? ARITH(MAXUI)
                                            : ARITH(MAXSI);
    Value *y = pool(lw, g, x, type, join, least, is_unsigned);
    lower_plain_result(lw, 0, y);
    if (wants_indices(lw->node)) lower_indices(lw, g, x, y, least);
    return true;
}

/* How many k >= 0 there are with start + k * step < end. */
static int64_t steps_below(int64_t start, int64_t step, int64_t end)
{
    return start < end ? (end - start - 1) / step + 1 : 0;
}

/* Elements of the window of an output position that count: all in the padded input, or all in the
 * input itself. */
static int64_t window_count(const ConvGeometry *g, int64_t position, bool with_padding)
{
    int64_t count = 1;
    for (uint32_t i = g->spatial; i-- > 0; position /= g->out[i]) {
        int64_t start = position % g->out[i] * g->stride[i] - g->low[i];
        int64_t first = with_padding ? -g->low[i] : 0;
        int64_t end = with_padding ? g->in[i] + g->high[i] : g->in[i];
        int64_t before = steps_below(start, g->dilation[i], first);
        int64_t until = steps_below(start, g->dilation[i], end);
        count *= (until < g->kernel[i] ? until : g->kernel[i]) -
                 (before < g->kernel[i] ? before : g->kernel[i]);
    }
    return count;
}

static int64_t position_count(const ConvGeometry *g)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < g->spatial; i++) count *= g->out[i];
    return count;
}

static int64_t largest_count(const ConvGeometry *g, bool with_padding)
{
    int64_t most = 0;
    for (int64_t i = 0; i < position_count(g); i++) {
        int64_t count = window_count(g, i, with_padding);
        most = count > most ? count : most;
    }
    return most;
}

static bool counts_agree(const ConvGeometry *g, bool with_padding)
{
    for (int64_t i = 1; i < position_count(g); i++)
        if (window_count(g, i, with_padding) != window_count(g, 0, with_padding)) return false;
    return true;
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t x = a, y = b;
    while (y != 0) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* Least common multiple of the numbers of terms, windows without any aside; 0: it is too large. */
static int64_t common_count(const ConvGeometry *g, bool with_padding)
{
    int64_t all = 1;
    for (int64_t i = 0; i < position_count(g) && all > 0 && all <= MAX_COUNT; i++) {
        int64_t count = window_count(g, i, with_padding);
        all = count > MAX_COUNT ? 0 : count > 0 ? common_multiple(all, count) : all;
    }
    return all <= MAX_COUNT ? all : 0;
}

/* sums[i] * (count / terms of window i) */
static Value *level_counts(OnnxLowering *lw, const ConvGeometry *g, Value *sums,
                           const Fixed *result, int64_t count, bool with_padding)
{
    int64_t positions = position_count(g), most = 1;
    int64_t *factors = ARENA_ARRAY(&lw->pass->scratch, int64_t, positions);
    for (int64_t i = 0; i < positions; i++) {
        int64_t own = window_count(g, i, with_padding);
        factors[i] = own > 0 ? count / own : 1;
        most = factors[i] > most ? factors[i] : most;
    }
    const Type *elem = type_i(lw->ctx, fixed_signed_width(0, most));
    const Type *table = type_tensor(elem, g->out, g->spatial, NULL);
    Value *inputs[] = {sums,
                       arith_constant(&lw->b, attr_dense_i64(table, factors, (size_t)positions))};
    uint32_t width =
        onnx_lower_widest(fixed_signed_width(result->low, result->high), sums->type, table);
    const Type *type = onnx_lower_int_tensor(lw, sums->type, width);
    Generic generic;
    generic_broadcast(lw, &generic, inputs, 2, type);
    generic_open(lw, &generic, lower_build_empty(lw, type));
    Builder *b = &generic.body;
    Value *sum = lower_build_extend(b, generic_arg(&generic, 0), type_elem(type), false);
    Value *factor = lower_build_extend(b, generic_arg(&generic, 1), type_elem(type), false);
    return generic_close(&generic, build_binary(b, ARITH(MULI), type_elem(type), sum, factor));
}

/* Sums of x over windows of at most `count` elements, or with a common multiple of their sizes. */
static bool average_integers(OnnxLowering *lw, const ConvGeometry *g, const Fixed *x, int64_t count,
                             bool with_padding)
{
    Fixed sum = {.unit = x->unit, .exponent = x->exponent, .divisor = x->divisor};
    int64_t low = x->low < 0 ? x->low : 0, high = x->high > 0 ? x->high : 0, first, last;
    int64_t terms = largest_count(g, with_padding);
    if (!i64_mul(low, count, &sum.low) || !i64_mul(high, count, &sum.high) ||
        !i64_mul(low, terms, &first) || !i64_mul(high, terms, &last) ||
        !fixed_divide_scale(&sum, count))
        return lower_too_wide(lw);
    uint32_t width =
        onnx_lower_widest(fixed_signed_width(first, last), x->value->type, x->value->type);
    const Type *type = onnx_lower_int_tensor(lw, op_result(lw->node, 0)->type, width);
    sum.value = pool(lw, g, x->value, type, ARITH(ADDI), 0.0, x->is_unsigned);
    if (!counts_agree(g, with_padding))
        sum.value = level_counts(lw, g, sum.value, &sum, count, with_padding);
    lower_result(lw, &sum);
    return true;
}

/* Reciprocals of the counts, one per position. */
static Value *reciprocals(OnnxLowering *lw, const ConvGeometry *g, bool with_padding,
                          const Type *elem)
{
    Array *array = array_new(type_tensor(elem, g->out, g->spatial, NULL));
    for (int64_t i = 0; i < array->count; i++)
        array_set_f64(array, i, 1.0 / (double)window_count(g, i, with_padding));
    Value *value = arith_constant(&lw->b, array_to_attr(array));
    array_unref(array);
    return value;
}

static bool average_plain(OnnxLowering *lw, const ConvGeometry *g, bool with_padding)
{
    Value *x = lower_plain(lw, 0);
    if (!x) return false;
    const Type *type = op_result(lw->node, 0)->type, *elem = type_elem(type);
    Value *inputs[] = {pool(lw, g, x, type, ARITH(ADDF), 0.0, false),
                       reciprocals(lw, g, with_padding, elem)};
    Generic generic;
    generic_broadcast(lw, &generic, inputs, 2, type);
    generic_open(lw, &generic, lower_build_empty(lw, type));
    lower_plain_result(
        lw, 0,
        generic_close(&generic, build_binary(&generic.body, ARITH(MULF), elem,
                                             generic_arg(&generic, 0), generic_arg(&generic, 1))));
    return true;
}

/* The whole input as one window. */
static void global_geometry(const Op *op, ConvGeometry *g)
{
    const Type *type = op_operand(op, 0)->type;
    *g = (ConvGeometry){.spatial = type->u.shaped.rank - 2};
    for (uint32_t i = 0; i < g->spatial; i++) {
        g->in[i] = g->kernel[i] = type->u.shaped.dims[2 + i];
        g->out[i] = g->stride[i] = g->dilation[i] = 1;
    }
}

/* The input of a maximum as integers: those of the quantizer behind, if it can be moved before. */
static bool max_input(OnnxLowering *lw, Fixed *out, QuantizerMirror *mirror)
{
    bool pooled[ONNX_MAX_RANK];
    const Fixed *x = lower_fixed(lw, 0);
    for (uint32_t i = 0; i < ONNX_MAX_RANK; i++) pooled[i] = i >= 2;
    *mirror = (QuantizerMirror){.axis = -1};
    if (!x) return false;
    *out = *x;
    /* The places of the largest levels are not those of the largest numbers. */
    if (wants_indices(lw->node)) return !x->epilogue;
    return quantizer_move_before(lw, pooled, out, mirror) || !x->epilogue;
}

static bool lower_max(OnnxLowering *lw, const ConvGeometry *g)
{
    Fixed x;
    QuantizerMirror mirror;
    return max_input(lw, &x, &mirror) ? max_integers(lw, g, &x, &mirror) : max_plain(lw, g);
}

static bool lower_average(OnnxLowering *lw, const ConvGeometry *g)
{
    bool with_padding = onnx_int(lw->node, "count_include_pad", 0) != 0;
    const Fixed *x = lower_fixed_bare(lw, 0);
    int64_t count = x ? common_count(g, with_padding) : 0;
    if (count > 0) return average_integers(lw, g, x, count, with_padding);
    return average_plain(lw, g, with_padding);
}

bool onnx_lower_pool(OnnxLowering *lw)
{
    ConvGeometry g;
    strbuf_clear(&lw->why);
    if (!onnx_pool_geometry(lw->node, &g, &lw->why))
        return onnx_error(lw->node, "%s", lw->why.data);
    return lw->node->def == ONNX(MAX_POOL) ? lower_max(lw, &g) : lower_average(lw, &g);
}

bool onnx_lower_global_pool(OnnxLowering *lw)
{
    ConvGeometry g;
    global_geometry(lw->node, &g);
    return lw->node->def == ONNX(GLOBAL_MAX_POOL) ? lower_max(lw, &g) : lower_average(lw, &g);
}
