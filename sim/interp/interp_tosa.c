/* Evaluators of tosa: elementwise ops with broadcasting, ops along one axis, and ops that move
 * elements. Windows and products are in interp_tosa_window.c, resize in interp_tosa_resize.c.
 * Variables, control flow and Fourier transforms are not interpreted.
 * Tests: lit/sim/interp/tosa.mir, test/e2e/run_check.py */
#include <math.h>
#include <string.h>

#include "dialects/tosa/tosa.h"
#include "ir/asm/print/print.h"
#include "sim/interp/internal.h"
#include "sim/vm/vm.h"

/* Ops that round to a float type, which upstream verifies on integers, too. */
static bool is_float_only(const OpDef *def)
{
    switch (def - tosa_ops) {
    case TOSA_CEIL:
    case TOSA_COS:
    case TOSA_ERF:
    case TOSA_EXP:
    case TOSA_FLOOR:
    case TOSA_LOG:
    case TOSA_POW:
    case TOSA_RECIPROCAL:
    case TOSA_RSQRT:
    case TOSA_SIGMOID:
    case TOSA_SIN:
    case TOSA_TANH: return true;
    default: return false;
    }
}

static bool prepare_elementwise(Interp *interp, InterpStep *step)
{
    (void)interp;
    const Type *elem = type_elem(op_result(step->op, 0)->type);
    if (is_float_only(step->op->def) && !type_is_float(elem))
        return op_error(step->op, "is not defined on elements of type '%s'",
                        type_str(step->op->ctx, elem));
    step->state = vm_payload_of_op(step->op);
    return true;
}

static void release_elementwise(void *state)
{
    vm_payload_free(state);
}

/* Extents of the operands side by side, aligned at their ends. */
static bool broadcast(Interp *interp, const InterpStep *step, Array **inputs, int64_t **dims,
                      uint32_t *rank)
{
    uint32_t count = step->op->operand_count;
    *rank = 0;
    for (uint32_t i = 0; i < count; i++)
        *rank = rank_of(inputs[i]) > *rank ? rank_of(inputs[i]) : *rank;
    *dims = ARENA_ARRAY(&interp->scratch, int64_t, *rank);
    for (uint32_t d = 0; d < *rank; d++) (*dims)[d] = 1;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < rank_of(inputs[i]); d++) {
            int64_t *out = &(*dims)[*rank - rank_of(inputs[i]) + d], extent = dims_of(inputs[i])[d];
            if (*out != 1 && extent != 1 && *out != extent)
                return op_error(step->op, "has operands that do not broadcast");
            *out = extent != 1 ? extent : *out;
        }
    return true;
}

/* Maps the loops to an operand that may have fewer dimensions or extents of one. */
static const AffineMap *broadcast_map(Interp *interp, Context *ctx, const Array *operand,
                                      uint32_t loops)
{
    uint32_t rank = rank_of(operand);
    const AffineExpr **results = ARENA_ARRAY(&interp->scratch, const AffineExpr *, rank);
    for (uint32_t d = 0; d < rank; d++)
        results[d] =
            dims_of(operand)[d] == 1 ? affine_const(ctx, 0) : affine_dim(ctx, loops - rank + d);
    return map_get(ctx, loops, 0, rank, results);
}

static bool eval_elementwise(Interp *interp, const InterpStep *step, Array **inputs,
                             Array **results)
{
    const Op *op = step->op;
    int64_t *dims;
    uint32_t rank;
    if (!broadcast(interp, step, inputs, &dims, &rank)) return false;
    VmNest *nest = vm_nest_new(&interp->scratch, op, rank, op->operand_count + 1);
    results[0] = interp_new_array(interp, op,
                                  type_tensor(type_elem(op_result(op, 0)->type), dims, rank, NULL));
    if (!results[0]) return false;
    nest->input_count = op->operand_count;
    if (rank > 0) memcpy(nest->extents, dims, rank * sizeof *dims);
    for (uint32_t i = 0; i < op->operand_count; i++)
        nest->operands[i] = (NestOperand){.array = inputs[i],
                                          .map = broadcast_map(interp, op->ctx, inputs[i], rank)};
    nest->operands[op->operand_count] =
        (NestOperand){.array = results[0], .map = map_identity(op->ctx, rank)};
    return vm_nest_init(nest, &interp->scratch) && vm_payload_start(step->state, NULL) &&
           vm_nest_run(nest, step->state, &interp->scratch);
}

/* TOSA defines no more; op_error otherwise. */
static bool check_rescale_shifts(const Op *op, int64_t channels)
{
    enum { MOST = 62 };
    for (int64_t i = 0; i < channels; i++) {
        int64_t shift = dense_array_i64(op_attr(op, "shift"), (size_t)i);
        if (shift < 0 || shift > MOST)
            return op_error(op, "shifts by %lld, which is not in [0, %d]", (long long)shift, MOST);
    }
    return true;
}

static bool eval_rescale(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Op *op = step->op;
    const Array *in = inputs[0];
    bool per_channel = attr_is_true(op_attr(op, "per_channel"));
    int64_t channels = per_channel && rank_of(in) > 0 ? dims_of(in)[rank_of(in) - 1] : 1;
    results[0] =
        interp_new_array(interp, op, type_with_elem(in->type, type_elem(op_result(op, 0)->type)));
    if (!results[0]) return false;
    if ((int64_t)op_attr(op, "multiplier")->u.dense_array.count < channels ||
        (int64_t)op_attr(op, "shift")->u.dense_array.count < channels)
        return op_error(op, "needs a multiplier and a shift for each channel");
    if (!check_rescale_shifts(op, channels)) return false;
    for (int64_t i = 0; i < in->count; i++) {
        int64_t value = array_get_i64(in, i);
        if (!vm_tosa_rescale(op, results[0]->elem, (size_t)(i % channels), &value))
            return op_error(op, "scales %lld to more than 32 bits",
                            (long long)array_get_i64(in, i));
        array_set_i64(results[0], i, value);
    }
    return true;
}

/* i8: one of 256 elements. i16: between two of 513, by 7 bits. */
static bool eval_table(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Array *in = inputs[0], *table = inputs[1];
    bool is_byte = type_width(in->elem) == 8;
    if (type_is_float(in->elem) || (!is_byte && type_width(in->elem) != 16) ||
        table->count != (is_byte ? 256 : 513))
        return interp_step_unsupported(step->op, "a table has 256 elements for i8, 513 for i16");
    results[0] = interp_new_array(
        interp, step->op, type_with_elem(in->type, type_elem(op_result(step->op, 0)->type)));
    if (!results[0]) return false;
    for (int64_t i = 0; i < in->count; i++) {
        int64_t x = array_get_i64(in, i), at = is_byte ? x + 128 : (x >> 7) + 256;
        int64_t value = array_get_i64(table, at);
        if (!is_byte) value = value * 128 + (array_get_i64(table, at + 1) - value) * (x & 127);
        array_set_i64(results[0], i, value);
    }
    return true;
}

/* A tensor as [outer, axis, inner]. One without dimensions has axis 0 for reductions and tosa.reverse. */
typedef struct InterpAxis {
    int64_t outer, count, inner;
} InterpAxis;

static InterpAxis axis_of(const InterpStep *step, const Array *in)
{
    uint32_t dim = (uint32_t)attr_int_value(op_attr(step->op, "axis"));
    InterpAxis axis = {1, rank_of(in) > 0 ? dims_of(in)[dim] : 1, 1};
    for (uint32_t d = 0; d < rank_of(in); d++)
        *(d < dim ? &axis.outer : &axis.inner) *= d == dim ? 1 : dims_of(in)[d];
    return axis;
}

static int64_t combine_integers(const OpDef *def, int64_t a, int64_t b)
{
    switch ((uint32_t)(def - tosa_ops)) {
    case TOSA_REDUCE_ALL: return a & b;
    case TOSA_REDUCE_ANY: return a | b;
    case TOSA_REDUCE_MAX: return a > b ? a : b;
    case TOSA_REDUCE_MIN: return a < b ? a : b;
    case TOSA_REDUCE_PROD: return (int64_t)((uint64_t)a * (uint64_t)b);
    default: return (int64_t)((uint64_t)a + (uint64_t)b);
    }
}

static double combine_floats(const OpDef *def, double a, double b)
{
    switch ((uint32_t)(def - tosa_ops)) {
    case TOSA_REDUCE_MAX: return isnan(a) || a > b ? a : b;
    case TOSA_REDUCE_MIN: return isnan(a) || a < b ? a : b;
    case TOSA_REDUCE_PROD: return a * b;
    default: return a + b;
    }
}

/* Folds element `from` of the input into element `to` of the result. */
static void combine(const OpDef *def, const Array *in, int64_t from, Array *out, int64_t to)
{
    if (type_is_float(in->elem))
        array_set_f64(out, to,
                      combine_floats(def, array_get_f64(out, to), array_get_f64(in, from)));
    else
        array_set_i64(out, to,
                      combine_integers(def, array_get_i64(out, to), array_get_i64(in, from)));
}

static bool eval_reduce(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Array *in = inputs[0];
    InterpAxis axis = axis_of(step, in);
    int64_t *dims = arena_copy(&interp->scratch, dims_of(in), rank_of(in) * sizeof *dims);
    if (rank_of(in) > 0) dims[attr_int_value(op_attr(step->op, "axis"))] = 1;
    results[0] = interp_new_array(interp, step->op, type_with_shape(in->type, dims, rank_of(in)));
    if (!results[0]) return false;
    if (axis.count == 0) return op_error(step->op, "reduces nothing");
    for (int64_t o = 0; o < axis.outer; o++)
        for (int64_t i = 0; i < axis.inner; i++) {
            int64_t to = o * axis.inner + i, from = o * axis.count * axis.inner + i;
            vm_copy_element(results[0], to, in, from);
            for (int64_t k = 1; k < axis.count; k++)
                combine(step->op->def, in, from + k * axis.inner, results[0], to);
        }
    return true;
}

/* Integers are compared as such: a double does not tell all of 64 bits apart. */
static bool is_greater(const Array *in, int64_t a, int64_t b)
{
    return type_is_float(in->elem) ? array_get_f64(in, a) > array_get_f64(in, b)
                                   : array_get_i64(in, a) > array_get_i64(in, b);
}

static bool eval_argmax(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Array *in = inputs[0];
    InterpAxis axis = axis_of(step, in);
    uint32_t dim = (uint32_t)attr_int_value(op_attr(step->op, "axis")), rank = 0;
    int64_t *dims = ARENA_ARRAY(&interp->scratch, int64_t, rank_of(in));
    for (uint32_t d = 0; d < rank_of(in); d++)
        if (d != dim) dims[rank++] = dims_of(in)[d];
    results[0] = interp_new_array(
        interp, step->op, type_tensor(type_elem(op_result(step->op, 0)->type), dims, rank, NULL));
    if (!results[0]) return false;
    for (int64_t o = 0; o < axis.outer; o++)
        for (int64_t i = 0; i < axis.inner; i++) {
            int64_t from = o * axis.count * axis.inner + i, best = 0;
            for (int64_t k = 1; k < axis.count; k++)
                if (is_greater(in, from + k * axis.inner, from + best * axis.inner)) best = k;
            array_set_i64(results[0], o * axis.inner + i, best);
        }
    return true;
}

static bool eval_reverse(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Array *in = inputs[0];
    InterpAxis axis = axis_of(step, in);
    results[0] = interp_new_array(interp, step->op, in->type);
    if (!results[0]) return false;
    for (int64_t o = 0; o < axis.outer; o++)
        for (int64_t k = 0; k < axis.count; k++)
            for (int64_t i = 0; i < axis.inner; i++)
                vm_copy_element(results[0], (o * axis.count + k) * axis.inner + i, in,
                                (o * axis.count + axis.count - 1 - k) * axis.inner + i);
    return true;
}

static bool eval_concat(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    uint32_t dim = (uint32_t)attr_int_value(op_attr(step->op, "axis"));
    return interp_concat_arrays(interp, step->op, inputs, step->op->operand_count, dim,
                                &results[0]);
}

/* Copies the input under other steps: element [i…] of the result is base + Σ i_d * steps_d. */
static bool take(Interp *interp, const Array *in, const int64_t *dims, uint32_t rank,
                 const CopySide *from, Array **results)
{
    CopySide to = {0, ARENA_ARRAY(&interp->scratch, int64_t, rank)};
    results[0] = array_new(type_with_shape(in->type, dims, rank));
    vm_row_major_steps(results[0]->type, to.steps);
    vm_strided_copy(results[0], &to, in, from, dims, rank);
    return true;
}

static CopySide side_of(Interp *interp, const Array *array)
{
    CopySide side = {0, ARENA_ARRAY(&interp->scratch, int64_t, rank_of(array))};
    vm_row_major_steps(array->type, side.steps);
    return side;
}

static bool eval_transpose(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    uint32_t rank = rank_of(inputs[0]);
    CopySide own = side_of(interp, inputs[0]);
    CopySide from = {0, ARENA_ARRAY(&interp->scratch, int64_t, rank)};
    int64_t *dims = ARENA_ARRAY(&interp->scratch, int64_t, rank);
    bool *taken = ARENA_ARRAY(&interp->scratch, bool, rank);
    for (uint32_t d = 0; d < rank; d++) {
        int64_t source = inputs[1]->count == rank ? array_get_i64(inputs[1], d) : -1;
        if (source < 0 || source >= rank)
            return op_error(step->op, "permutes dimensions that are not there");
        if (taken[source])
            return op_error(step->op, "takes dimension %lld twice", (long long)source);
        taken[source] = true;
        dims[d] = dims_of(inputs[0])[source];
        from.steps[d] = own.steps[source];
    }
    return take(interp, inputs[0], dims, rank, &from, results);
}

static bool eval_slice(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Attr *start = op_attr(step->op, "start"), *size = op_attr(step->op, "size");
    uint32_t rank = rank_of(inputs[0]);
    CopySide from = side_of(interp, inputs[0]);
    int64_t *dims = ARENA_ARRAY(&interp->scratch, int64_t, rank);
    for (uint32_t d = 0; d < rank; d++) {
        int64_t begin = dense_array_i64(start, d), extent = dims_of(inputs[0])[d];
        bool is_inside = begin >= 0 && begin <= extent;
        dims[d] = dense_array_i64(size, d);
        if (is_inside && dims[d] == -1) dims[d] = extent - begin;
        if (!is_inside || dims[d] < 0 || dims[d] > extent - begin)
            return op_error(step->op, "slice is out of bounds: dimension %u has %lld elements", d,
                            (long long)extent);
        from.base += begin * from.steps[d];
    }
    return take(interp, inputs[0], dims, rank, &from, results);
}

static bool eval_tile(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Attr *multiples = op_attr(step->op, "multiples");
    const Array *in = inputs[0];
    uint32_t rank = rank_of(in);
    int64_t *dims = ARENA_ARRAY(&interp->scratch, int64_t, rank);
    int64_t *index = ARENA_ARRAY(&interp->scratch, int64_t, rank);
    CopySide own = side_of(interp, in);
    for (uint32_t d = 0; d < rank; d++)
        if (!i64_mul(dims_of(in)[d], dense_array_i64(multiples, d), &dims[d]) || dims[d] < 0)
            return op_error(step->op, "makes a tensor that is too large");
    results[0] = interp_new_array(interp, step->op, type_with_shape(in->type, dims, rank));
    if (!results[0]) return false;
    for (int64_t i = 0; i < results[0]->count; i++, vm_next_index(index, dims, rank)) {
        int64_t from = 0;
        for (uint32_t d = 0; d < rank; d++) from += index[d] % dims_of(in)[d] * own.steps[d];
        vm_copy_element(results[0], i, in, from);
    }
    return true;
}

static bool eval_reshape(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Attr *shape = op_attr(step->op, "new_shape");
    uint32_t rank = (uint32_t)shape->u.dense_array.count;
    int64_t *dims = ARENA_ARRAY(&interp->scratch, int64_t, rank), known = 1;
    bool is_empty = false;
    for (uint32_t d = 0; d < rank; d++) {
        dims[d] = dense_array_i64(shape, d);
        if (dims[d] > 0 && !i64_mul(known, dims[d], &known))
            return op_error(step->op, "makes a tensor that is too large");
        is_empty |= dims[d] == 0;
    }
    for (uint32_t d = 0; d < rank; d++)
        if (dims[d] < 0) dims[d] = is_empty ? 0 : inputs[0]->count / known;
    return interp_reshape_input(step, type_with_shape(inputs[0]->type, dims, rank), inputs,
                                results);
}

static bool eval_pad(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Array *in = inputs[0], *widths = inputs[1];
    const Array *value = step->op->operand_count > 2 ? inputs[2] : NULL;
    uint32_t rank = rank_of(in);
    int64_t *dims = ARENA_ARRAY(&interp->scratch, int64_t, rank);
    int64_t zero = tosa_zero_point(op_attr(step->op, "quantization_info"), 0);
    CopySide from = side_of(interp, in), to = {0, ARENA_ARRAY(&interp->scratch, int64_t, rank)};
    for (uint32_t d = 0; d < rank; d++) {
        bool known = widths->count == 2 * (int64_t)rank;
        int64_t low = known ? array_get_i64(widths, 2 * d) : -1;
        int64_t high = known ? array_get_i64(widths, 2 * d + 1) : -1;
        if (low < 0 || high < 0 || !i64_add(dims_of(in)[d], low, &dims[d]) ||
            !i64_add(dims[d], high, &dims[d]))
            return op_error(step->op, "needs two widths, not negative, for each dimension");
    }
    results[0] = interp_new_array(interp, step->op, type_with_shape(in->type, dims, rank));
    if (!results[0]) return false;
    for (int64_t i = 0; i < results[0]->count && (value || zero != 0); i++) {
        if (value)
            vm_copy_element(results[0], i, value, 0);
        else
            array_set_i64(results[0], i, zero);
    }
    vm_row_major_steps(results[0]->type, to.steps);
    for (uint32_t d = 0; d < rank; d++) to.base += array_get_i64(widths, 2 * d) * to.steps[d];
    vm_strided_copy(results[0], &to, in, &from, dims_of(in), rank);
    return true;
}

/* Row `indices[n, w]` of batch n; *at is its first element among `rows` rows of `size`. */
static bool find_row(const InterpStep *step, const Array *indices, int64_t n, int64_t w,
                     int64_t rows, int64_t size, int64_t *at)
{
    int64_t row = array_get_i64(indices, n * dims_of(indices)[1] + w);
    if (row < 0 || row >= rows)
        return op_error(step->op, "index %lld is out of bounds: there are %lld rows",
                        (long long)row, (long long)rows);
    *at = (n * rows + row) * size;
    return true;
}

static bool eval_gather(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Array *values = inputs[0], *indices = inputs[1];
    int64_t batch = dims_of(values)[0], rows = dims_of(values)[1], size = dims_of(values)[2], at;
    int64_t count = dims_of(indices)[1], dims[] = {batch, count, size};
    results[0] = interp_new_array(interp, step->op, type_with_shape(values->type, dims, 3));
    if (!results[0]) return false;
    for (int64_t n = 0; n < batch; n++)
        for (int64_t w = 0; w < count; w++) {
            if (!find_row(step, indices, n, w, rows, size, &at)) return false;
            for (int64_t c = 0; c < size; c++)
                vm_copy_element(results[0], (n * count + w) * size + c, values, at + c);
        }
    return true;
}

static bool eval_scatter(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Array *indices = inputs[1], *rows_in = inputs[2];
    Array *out = results[0] = array_own(inputs[0]);
    int64_t count = dims_of(indices)[1], size = dims_of(out)[2], at;
    (void)interp;
    inputs[0] = NULL;
    for (int64_t n = 0; n < dims_of(out)[0]; n++)
        for (int64_t w = 0; w < count; w++) {
            if (!find_row(step, indices, n, w, dims_of(out)[1], size, &at)) return false;
            for (int64_t c = 0; c < size; c++)
                vm_copy_element(out, at + c, rows_in, (n * count + w) * size + c);
        }
    return true;
}

const Evaluator *interp_tosa_evaluator(const OpDef *def)
{
    static const Evaluator elementwise = {eval_elementwise, prepare_elementwise,
                                          release_elementwise};
    static const Evaluator table[TOSA_OP_COUNT] = {
        [TOSA_ARGMAX] = {.eval = eval_argmax},
        [TOSA_CONCAT] = {.eval = eval_concat},
        [TOSA_GATHER] = {.eval = eval_gather},
        [TOSA_PAD] = {.eval = eval_pad},
        [TOSA_REDUCE_ALL] = {.eval = eval_reduce},
        [TOSA_REDUCE_ANY] = {.eval = eval_reduce},
        [TOSA_REDUCE_MAX] = {.eval = eval_reduce},
        [TOSA_REDUCE_MIN] = {.eval = eval_reduce},
        [TOSA_REDUCE_PROD] = {.eval = eval_reduce},
        [TOSA_REDUCE_SUM] = {.eval = eval_reduce},
        [TOSA_RESCALE] = {.eval = eval_rescale},
        [TOSA_RESIZE] = {.eval = interp_tosa_eval_resize},
        [TOSA_RESHAPE] = {.eval = eval_reshape},
        [TOSA_REVERSE] = {.eval = eval_reverse},
        [TOSA_SCATTER] = {.eval = eval_scatter},
        [TOSA_SLICE] = {.eval = eval_slice},
        [TOSA_TABLE] = {.eval = eval_table},
        [TOSA_TILE] = {.eval = eval_tile},
        [TOSA_TRANSPOSE] = {.eval = eval_transpose},
    };
    if (def->dialect != &tosa_dialect) return NULL;
    if (def == TOSA(CONST)) return interp_scalar_evaluator(def);
    if (table[def - tosa_ops].eval) return &table[def - tosa_ops];
    return vm_instr_fn(def) ? &elementwise : interp_tosa_window_evaluator(def);
}
