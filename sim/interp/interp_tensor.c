/* Evaluators of the tensor ops that make, reshape or read tensors. tensor.empty gives zeros. Slices
 * and tiles are in interp_slice.c.
 * Tests: test/unit/sim/interp/interp_test.c, test/e2e/run_check.py */
#include <string.h>

#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "sim/interp/internal.h"
#include "sim/vm/vm.h"

static int64_t scalar(const Array *array)
{
    return array_get_i64(array, 0);
}

/* The type with the inputs from `begin` on in the place of its unknown extents. */
static const Type *known_shape(Interp *interp, const Type *type, Array *const *inputs,
                               uint32_t begin)
{
    uint32_t rank = type->u.shaped.rank;
    int64_t *dims = ARENA_ARRAY(&interp->scratch, int64_t, rank);
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = type->u.shaped.dims[i];
        if (dims[i] == DIM_DYNAMIC) dims[i] = scalar(inputs[begin++]);
    }
    return type_with_shape(type, dims, rank);
}

/* A new array of the type; diagnosed if there is none. */
static Array *make_array(const Interp *interp, const Op *op, const Type *type)
{
    for (uint32_t i = 0; i < type->u.shaped.rank; i++)
        if (type->u.shaped.dims[i] < 0) {
            op_error(op, "makes a tensor with a negative extent, %lld",
                     (long long)type->u.shaped.dims[i]);
            return NULL;
        }
    return interp_new_array(interp, op, type);
}

static bool eval_empty(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Type *type = known_shape(interp, op_result(step->op, 0)->type, inputs, 0);
    results[0] = make_array(interp, step->op, type);
    return results[0] != NULL;
}

bool interp_reshape_input(const InterpStep *step, const Type *type, Array **inputs, Array **results)
{
    int64_t count;
    if (!type_element_count(type, &count) || count != inputs[0]->count)
        return op_error(step->op, "has %lld elements, which '%s' has not",
                        (long long)inputs[0]->count, type_str(step->op->ctx, type));
    results[0] = array_reshape(inputs[0], type);
    inputs[0] = NULL;
    return true;
}

static bool eval_cast(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Type *type = op_result(step->op, 0)->type, *have = inputs[0]->type;
    (void)interp;
    for (uint32_t i = 0; type_is_ranked(type) && i < type->u.shaped.rank; i++) {
        int64_t want = type->u.shaped.dims[i];
        if (have->u.shaped.rank != type->u.shaped.rank ||
            (want != DIM_DYNAMIC && want != have->u.shaped.dims[i]))
            return op_error(step->op, "casts a tensor of shape '%s'",
                            type_str(step->op->ctx, have));
    }
    results[0] = inputs[0];
    inputs[0] = NULL;
    return true;
}

static bool eval_reshape(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    uint32_t rank = (uint32_t)inputs[1]->count;
    int64_t *dims = ARENA_ARRAY(&interp->scratch, int64_t, rank);
    for (uint32_t i = 0; i < rank; i++) dims[i] = array_get_i64(inputs[1], i);
    return interp_reshape_input(step, type_tensor(inputs[0]->elem, dims, rank, NULL), inputs,
                                results);
}

static bool eval_expand(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Type *type = op_result(step->op, 0)->type;
    const Attr *shape = op_attr(step->op, "static_output_shape"); /* may know more than the type */
    uint32_t rank = type->u.shaped.rank, value = 1;
    int64_t *dims = ARENA_ARRAY(&interp->scratch, int64_t, rank);
    for (uint32_t i = 0; i < rank; i++) {
        int64_t given = dense_array_i64(shape, i);
        if (given == DIM_DYNAMIC) given = scalar(inputs[value++]);
        dims[i] = type->u.shaped.dims[i] == DIM_DYNAMIC ? given : type->u.shaped.dims[i];
    }
    return interp_reshape_input(step, type_with_shape(type, dims, rank), inputs, results);
}

static bool eval_collapse(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Attr *groups = op_attr(step->op, "reassociation");
    uint32_t rank = groups->u.array.count, at = 0;
    int64_t *dims = ARENA_ARRAY(&interp->scratch, int64_t, rank);
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = 1;
        for (uint32_t k = 0; k < groups->u.array.items[i]->u.array.count; k++)
            dims[i] *= dims_of(inputs[0])[at++];
    }
    return interp_reshape_input(step, type_tensor(inputs[0]->elem, dims, rank, NULL), inputs,
                                results);
}

static bool eval_dim(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    int64_t index = scalar(inputs[1]);
    (void)interp;
    if (index < 0 || index >= inputs[0]->type->u.shaped.rank)
        return op_error(step->op, "asks for dimension %lld of '%s'", (long long)index,
                        type_str(step->op->ctx, inputs[0]->type));
    results[0] = array_new(op_result(step->op, 0)->type);
    array_set_i64(results[0], 0, dims_of(inputs[0])[index]);
    return true;
}

static bool eval_rank(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    (void)interp;
    results[0] = array_new(op_result(step->op, 0)->type);
    array_set_i64(results[0], 0, inputs[0]->type->u.shaped.rank);
    return true;
}

static bool eval_bitcast(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Type *elem = type_elem(op_result(step->op, 0)->type);
    const Array *in = inputs[0];
    (void)interp;
    results[0] = array_new(type_with_elem(in->type, elem));
    for (int64_t i = 0; i < in->count; i++)
        vm_cell_to_array(results[0], i, vm_cell_bitcast(in->elem, elem, vm_cell_from_array(in, i)));
    return true;
}

/* Offset of the element whose indices are inputs from `begin` on. */
static bool find_element(const InterpStep *step, const Array *array, Array *const *inputs,
                         uint32_t begin, int64_t *at)
{
    *at = 0;
    for (uint32_t d = 0; d < array->type->u.shaped.rank; d++) {
        int64_t index = scalar(inputs[begin + d]), extent = dims_of(array)[d];
        if (index < 0 || index >= extent)
            return op_error(step->op, "index %lld is out of bounds: dimension %u has %lld elements",
                            (long long)index, d, (long long)extent);
        *at = *at * extent + index;
    }
    return true;
}

static bool eval_extract(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    int64_t at;
    (void)interp;
    if (!find_element(step, inputs[0], inputs, 1, &at)) return false;
    results[0] = array_new(inputs[0]->elem);
    vm_copy_element(results[0], 0, inputs[0], at);
    return true;
}

static bool eval_insert(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    int64_t at;
    (void)interp;
    if (!find_element(step, inputs[1], inputs, 2, &at)) return false;
    results[0] = array_own(inputs[1]);
    inputs[1] = NULL;
    vm_copy_element(results[0], at, inputs[0], 0);
    return true;
}

static bool eval_from_elements(Interp *interp, const InterpStep *step, Array **inputs,
                               Array **results)
{
    (void)interp;
    results[0] = array_new(op_result(step->op, 0)->type);
    for (uint32_t i = 0; i < step->op->operand_count; i++)
        vm_copy_element(results[0], i, inputs[i], 0);
    return true;
}

static bool eval_splat(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    results[0] =
        make_array(interp, step->op, known_shape(interp, op_result(step->op, 0)->type, inputs, 1));
    for (int64_t i = 0; results[0] && i < results[0]->count; i++)
        vm_copy_element(results[0], i, inputs[0], 0);
    return results[0] != NULL;
}

bool interp_concat_arrays(Interp *interp, const Op *op, Array *const *inputs, uint32_t count,
                          uint32_t dim, Array **result)
{
    uint32_t rank = rank_of(inputs[0]);
    int64_t *dims = arena_copy(&interp->scratch, dims_of(inputs[0]), rank * sizeof *dims);
    for (uint32_t i = 1; i < count; i++) dims[dim] += dims_of(inputs[i])[dim];
    *result = make_array(interp, op, type_with_shape(inputs[0]->type, dims, rank));
    if (!*result) return false;
    CopySide to = {0, ARENA_ARRAY(&interp->scratch, int64_t, rank)};
    CopySide from = {0, ARENA_ARRAY(&interp->scratch, int64_t, rank)};
    vm_row_major_steps((*result)->type, to.steps);
    for (uint32_t i = 0; i < count; i++) {
        vm_row_major_steps(inputs[i]->type, from.steps);
        vm_strided_copy(*result, &to, inputs[i], &from, dims_of(inputs[i]), rank);
        to.base += dims_of(inputs[i])[dim] * to.steps[dim];
    }
    return true;
}

static bool eval_concat(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    uint32_t dim = (uint32_t)attr_int_value(op_attr(step->op, "dim"));
    return interp_concat_arrays(interp, step->op, inputs, step->op->operand_count, dim,
                                &results[0]);
}

static bool prepare_body(Interp *interp, InterpStep *step)
{
    const Block *body = region_entry(op_region(step->op, 0));
    Value *element = op_operand(block_terminator(body), 0);
    (void)interp;
    step->state = vm_payload_compile(body, ARGS_ARE_INDICES, body->arg_count, &element, 1);
    return step->state != NULL;
}

static void release_body(void *state)
{
    vm_payload_free(state);
}

/* Fills an array with the body's result for each index. */
static bool fill_by_body(Interp *interp, const InterpStep *step, Array **inputs, Array *out)
{
    const Op *op = step->op;
    VmPayload *payload = step->state;
    uint32_t rank = out->type->u.shaped.rank;
    VmNest *nest = vm_nest_new(&interp->scratch, op, rank, 1);
    nest->input_count = 0;
    nest->operands[0] = (NestOperand){.array = out, .map = map_identity(op->ctx, rank)};
    for (uint32_t i = 0; i < rank; i++) nest->extents[i] = out->type->u.shaped.dims[i];
    if (vm_nest_count(nest) == 0) return true;
    return vm_nest_init(nest, &interp->scratch) &&
           vm_payload_start(payload, interp_step_captures(interp, step, payload, inputs)) &&
           vm_nest_run(nest, payload, &interp->scratch);
}

static bool eval_generate(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    results[0] =
        make_array(interp, step->op, known_shape(interp, op_result(step->op, 0)->type, inputs, 0));
    return results[0] && fill_by_body(interp, step, inputs, results[0]);
}

/* Widths of one side of a pad's border. */
static bool read_border(const InterpStep *step, const char *attr, uint32_t group,
                        Array *const *inputs, int64_t *out)
{
    const Attr *list = op_attr(step->op, attr);
    uint32_t at, count;
    op_operand_group(step->op, group, &at, &count);
    for (size_t i = 0; i < list->u.dense_array.count; i++) {
        out[i] = dense_array_i64(list, i);
        if (out[i] == DIM_DYNAMIC) out[i] = scalar(inputs[at++]);
        if (out[i] < 0)
            return op_error(step->op, "pads by a negative number, %lld", (long long)out[i]);
    }
    return true;
}

static bool eval_pad(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    enum { LOW = 1, HIGH = 2 };
    uint32_t rank = inputs[0]->type->u.shaped.rank;
    int64_t *low = ARENA_ARRAY(&interp->scratch, int64_t, rank);
    int64_t *dims = ARENA_ARRAY(&interp->scratch, int64_t, rank);
    CopySide to = {0, ARENA_ARRAY(&interp->scratch, int64_t, rank)};
    CopySide from = {0, ARENA_ARRAY(&interp->scratch, int64_t, rank)};
    if (!read_border(step, "static_low", LOW, inputs, low) ||
        !read_border(step, "static_high", HIGH, inputs, dims))
        return false;
    for (uint32_t i = 0; i < rank; i++)
        if (!i64_add(dims[i], low[i], &dims[i]) ||
            !i64_add(dims[i], dims_of(inputs[0])[i], &dims[i]))
            return op_error(step->op, "makes a tensor that is too large");
    results[0] = make_array(interp, step->op, type_with_shape(inputs[0]->type, dims, rank));
    if (!results[0] || !fill_by_body(interp, step, inputs, results[0])) return false;
    vm_row_major_steps(results[0]->type, to.steps);
    vm_row_major_steps(inputs[0]->type, from.steps);
    for (uint32_t i = 0; i < rank; i++) to.base += low[i] * to.steps[i];
    vm_strided_copy(results[0], &to, inputs[0], &from, dims_of(inputs[0]), rank);
    return true;
}

const Evaluator *interp_tensor_evaluator(const OpDef *def)
{
    static const Evaluator table[TENSOR_OP_COUNT] = {
        [TENSOR_BITCAST] = {.eval = eval_bitcast},
        [TENSOR_CAST] = {.eval = eval_cast},
        [TENSOR_CONCAT] = {.eval = eval_concat},
        [TENSOR_DIM] = {.eval = eval_dim},
        [TENSOR_EMPTY] = {.eval = eval_empty},
        [TENSOR_EXTRACT] = {.eval = eval_extract},
        [TENSOR_FROM_ELEMENTS] = {.eval = eval_from_elements},
        [TENSOR_GENERATE] = {eval_generate, prepare_body, release_body},
        [TENSOR_INSERT] = {.eval = eval_insert},
        [TENSOR_RANK] = {.eval = eval_rank},
        [TENSOR_RESHAPE] = {.eval = eval_reshape},
        [TENSOR_EXPAND_SHAPE] = {.eval = eval_expand},
        [TENSOR_COLLAPSE_SHAPE] = {.eval = eval_collapse},
        [TENSOR_PAD] = {eval_pad, prepare_body, release_body},
        [TENSOR_SPLAT] = {.eval = eval_splat},
    };
    if (def->dialect != &tensor_dialect || !table[def - tensor_ops].eval) return NULL;
    return &table[def - tensor_ops];
}
