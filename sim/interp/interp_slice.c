/* Evaluators of the tensor ops that take or put parts of tensors: slices, gather and scatter, pack
 * and unpack.
 * Tests: test/unit/sim/interp/interp_test.c, test/e2e/run_check.py */
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "sim/interp/internal.h"
#include "sim/vm/vm.h"

/* A list of constants and operands of a group as numbers. */
static int64_t *read_mixed(Interp *interp, const InterpStep *step, const char *attr, uint32_t group,
                           Array *const *inputs)
{
    const Attr *list = op_attr(step->op, attr);
    size_t count = list->u.dense_array.count;
    int64_t *out = ARENA_ARRAY(&interp->scratch, int64_t, count);
    uint32_t at, size;
    op_operand_group(step->op, group, &at, &size);
    for (size_t i = 0; i < count; i++) {
        out[i] = dense_array_i64(list, i);
        if (out[i] == DIM_DYNAMIC) out[i] = array_get_i64(inputs[at++], 0);
    }
    return out;
}

static CopySide row_major_side(Interp *interp, const Type *shape)
{
    CopySide side = {0, ARENA_ARRAY(&interp->scratch, int64_t, shape->u.shaped.rank)};
    vm_row_major_steps(shape, side.steps);
    return side;
}

typedef struct Slice {
    int64_t *offsets, *sizes, *strides;
    CopySide side; /* the slice in its tensor */
} Slice;

static bool check_slice(const InterpStep *step, const Slice *slice, const Array *tensor)
{
    for (uint32_t d = 0; d < rank_of(tensor); d++) {
        int64_t size = slice->sizes[d], reach, last;
        if (size == 0 && slice->offsets[d] >= 0 && slice->offsets[d] <= dims_of(tensor)[d])
            continue;
        int64_t offset = slice->offsets[d], extent = dims_of(tensor)[d];
        bool ok = size > 0 && offset >= 0 && offset < extent &&
                  i64_mul(size - 1, slice->strides[d], &reach) && i64_add(offset, reach, &last) &&
                  last >= 0 && last < extent;
        if (!ok)
            return op_error(step->op, "slice is out of bounds: dimension %u has %lld elements", d,
                            (long long)dims_of(tensor)[d]);
    }
    return true;
}

static bool read_slice(Interp *interp, const InterpStep *step, Array *const *inputs, uint32_t group,
                       const Array *tensor, Slice *out)
{
    out->offsets = read_mixed(interp, step, "static_offsets", group, inputs);
    out->sizes = read_mixed(interp, step, "static_sizes", group + 1, inputs);
    out->strides = read_mixed(interp, step, "static_strides", group + 2, inputs);
    if (!check_slice(step, out, tensor)) return false;
    out->side = row_major_side(interp, tensor->type);
    for (uint32_t d = 0; d < rank_of(tensor); d++) {
        out->side.base += out->offsets[d] * out->side.steps[d];
        out->side.steps[d] *= out->sizes[d] > 1 ? out->strides[d] : 1;
    }
    return true;
}

/* The shape of a slice; its type may have lost unit extents, of those that the text gives as 1: one
 * that comes out as 1 is kept. */
static const Type *reduced_shape(Interp *interp, const Op *op, const int64_t *sizes, uint32_t rank)
{
    const Type *type = op_result(op, 0)->type;
    const Attr *given = op_attr(op, "static_sizes");
    uint32_t want = type->u.shaped.rank, at = 0;
    int64_t *dims = ARENA_ARRAY(&interp->scratch, int64_t, rank);
    for (uint32_t d = 0; d < rank; d++)
        if (at < want && dense_array_i64(given, d) == type->u.shaped.dims[at])
            dims[at++] = sizes[d];
    return type_with_shape(type, dims, at);
}

static bool eval_extract_slice(Interp *interp, const InterpStep *step, Array **inputs,
                               Array **results)
{
    Slice slice;
    uint32_t rank = rank_of(inputs[0]);
    if (!read_slice(interp, step, inputs, 1, inputs[0], &slice)) return false;
    const Type *full = type_with_shape(inputs[0]->type, slice.sizes, rank);
    const Type *type = reduced_shape(interp, step->op, slice.sizes, rank);
    CopySide to = row_major_side(interp, full);
    results[0] = array_new(full);
    vm_strided_copy(results[0], &to, inputs[0], &slice.side, slice.sizes, rank);
    results[0] = array_reshape(results[0], type);
    return true;
}

static bool eval_insert_slice(Interp *interp, const InterpStep *step, Array **inputs,
                              Array **results)
{
    Slice slice;
    uint32_t rank = rank_of(inputs[1]);
    if (!read_slice(interp, step, inputs, 2, inputs[1], &slice)) return false;
    int64_t count = 1;
    for (uint32_t d = 0; d < rank; d++) count *= slice.sizes[d];
    if (count != inputs[0]->count)
        return op_error(step->op, "inserts %lld elements as a slice of %lld",
                        (long long)inputs[0]->count, (long long)count);
    CopySide from = row_major_side(interp, type_with_shape(inputs[1]->type, slice.sizes, rank));
    results[0] = array_own(inputs[1]);
    inputs[1] = NULL;
    vm_strided_copy(results[0], &slice.side, inputs[0], &from, slice.sizes, rank);
    return true;
}

/* Slices of a tensor at coordinates, and where they lie one after the other. */
typedef struct Indexed {
    const Array *tensor, *indices;
    const Attr *dims;    /* dimensions that a coordinate names, in its order */
    int64_t *sizes;      /* of a slice: 1 along these */
    int64_t slice_count; /* elements of a slice */
    CopySide side;       /* a slice in the tensor */
    CopySide packed;     /* a slice by itself */
} Indexed;

static Indexed indexed_init(Interp *interp, const InterpStep *step, const char *attr,
                            const Array *tensor, const Array *indices)
{
    uint32_t rank = rank_of(tensor);
    Indexed out = {
        .tensor = tensor, .indices = indices, .dims = op_attr(step->op, attr), .slice_count = 1};
    out.sizes = arena_copy(&interp->scratch, dims_of(tensor), rank * sizeof *out.sizes);
    for (size_t i = 0; i < out.dims->u.dense_array.count; i++)
        out.sizes[dense_array_i64(out.dims, i)] = 1;
    for (uint32_t d = 0; d < rank; d++) out.slice_count *= out.sizes[d];
    out.side = row_major_side(interp, tensor->type);
    out.packed = row_major_side(interp, type_with_shape(tensor->type, out.sizes, rank));
    return out;
}

static int64_t coordinate_count(const Indexed *x)
{
    size_t width = x->dims->u.dense_array.count;
    return width > 0 ? x->indices->count / (int64_t)width : 1;
}

/* Moves the slice to coordinate number `at`. */
static bool seek(const InterpStep *step, Indexed *x, int64_t at)
{
    int64_t width = (int64_t)x->dims->u.dense_array.count;
    x->side.base = 0;
    for (int64_t i = 0; i < width; i++) {
        int64_t dim = dense_array_i64(x->dims, (size_t)i);
        int64_t index = array_get_i64(x->indices, at * width + i), extent = dims_of(x->tensor)[dim];
        if (index < 0 || index >= extent)
            return op_error(step->op,
                            "index %lld is out of bounds: dimension %lld has %lld elements",
                            (long long)index, (long long)dim, (long long)extent);
        x->side.base += index * x->side.steps[dim];
    }
    x->packed.base = at * x->slice_count;
    return true;
}

/* The shape of a gather's result: the shape of the coordinates, then that of a slice without the
 * dimensions that the type dropped. */
static const Type *gathered_shape(Interp *interp, const InterpStep *step, const Indexed *x)
{
    const Type *type = op_result(step->op, 0)->type;
    uint32_t batch = rank_of(x->indices) - 1, rank = rank_of(x->tensor), at = batch;
    bool drops = type->u.shaped.rank < batch + rank;
    int64_t *dims = ARENA_ARRAY(&interp->scratch, int64_t, batch + rank);
    for (uint32_t i = 0; i < batch; i++) dims[i] = dims_of(x->indices)[i];
    for (uint32_t d = 0; d < rank; d++) {
        bool is_named = false;
        for (size_t i = 0; i < x->dims->u.dense_array.count; i++)
            is_named = is_named || dense_array_i64(x->dims, i) == d;
        if (!drops || !is_named) dims[at++] = x->sizes[d];
    }
    return type_with_shape(type, dims, at);
}

static bool eval_gather(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    Indexed x = indexed_init(interp, step, "gather_dims", inputs[0], inputs[1]);
    results[0] = interp_new_array(interp, step->op, gathered_shape(interp, step, &x));
    if (!results[0]) return false;
    for (int64_t at = 0; x.slice_count > 0 && at < coordinate_count(&x); at++) {
        if (!seek(step, &x, at)) return false;
        vm_strided_copy(results[0], &x.packed, inputs[0], &x.side, x.sizes, rank_of(inputs[0]));
    }
    return true;
}

static bool eval_scatter(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    Array *out = results[0] = array_own(inputs[1]);
    inputs[1] = NULL;
    Indexed x = indexed_init(interp, step, "scatter_dims", out, inputs[2]);
    if (inputs[0]->count != coordinate_count(&x) * x.slice_count)
        return op_error(step->op, "scatters %lld elements to %lld coordinates",
                        (long long)inputs[0]->count, (long long)coordinate_count(&x));
    for (int64_t at = 0; x.slice_count > 0 && at < coordinate_count(&x); at++) {
        if (!seek(step, &x, at)) return false;
        vm_strided_copy(out, &x.side, inputs[0], &x.packed, x.sizes, rank_of(out));
    }
    return true;
}

/* Position p of the packed tensor holds, along dimension d of the other, outer * tile + inner. */
typedef struct PackTiles {
    uint32_t rank;   /* of the unpacked tensor */
    uint32_t *outer; /* packed dimension of d's outer index */
    uint32_t *inner; /* packed dimension of d's inner index; 0: not tiled, it is an outer one */
    const Array *packed, *unpacked;
} PackTiles;

static PackTiles read_packing(Interp *interp, const InterpStep *step, const Array *packed,
                              const Array *unpacked)
{
    PackTiles p = {.rank = rank_of(unpacked), .packed = packed, .unpacked = unpacked};
    const Attr *positions = op_attr(step->op, "inner_dims_pos");
    const Attr *perm = op_attr(step->op, "outer_dims_perm");
    bool has_perm = perm && perm->u.dense_array.count > 0;
    p.outer = ARENA_ARRAY(&interp->scratch, uint32_t, p.rank);
    p.inner = ARENA_ARRAY(&interp->scratch, uint32_t, p.rank);
    for (uint32_t i = 0; i < p.rank; i++) p.outer[has_perm ? dense_array_i64(perm, i) : i] = i;
    for (size_t i = 0; i < positions->u.dense_array.count; i++)
        p.inner[dense_array_i64(positions, i)] = p.rank + (uint32_t)i;
    return p;
}

/* Offset in the unpacked tensor of the element at an index of the packed one; false: padding. */
static bool unpacked_offset(const PackTiles *p, const int64_t *index, int64_t *at)
{
    *at = 0;
    for (uint32_t d = 0; d < p->rank; d++) {
        int64_t position = index[p->outer[d]];
        if (p->inner[d] > 0)
            position = position * dims_of(p->packed)[p->inner[d]] + index[p->inner[d]];
        if (position >= dims_of(p->unpacked)[d]) return false;
        *at = *at * dims_of(p->unpacked)[d] + position;
    }
    return true;
}

static bool eval_pack(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    enum { PADDING = 2 };
    uint32_t begin, count;
    int64_t at, offset = 0;
    Array *out = results[0] = array_own(inputs[1]);
    inputs[1] = NULL;
    op_operand_group(step->op, PADDING, &begin, &count);
    PackTiles p = read_packing(interp, step, out, inputs[0]);
    int64_t *index = ARENA_ARRAY(&interp->scratch, int64_t, rank_of(out));
    for (; offset < out->count; offset++, vm_next_index(index, dims_of(out), rank_of(out))) {
        if (unpacked_offset(&p, index, &at))
            vm_copy_element(out, offset, inputs[0], at);
        else if (count > 0)
            vm_copy_element(out, offset, inputs[begin], 0);
        else
            return op_error(step->op, "needs a padding value: a tile is not full");
    }
    return true;
}

static bool eval_unpack(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    int64_t at, offset = 0;
    Array *out = results[0] = array_own(inputs[1]);
    inputs[1] = NULL;
    PackTiles p = read_packing(interp, step, inputs[0], out);
    const Array *in = inputs[0];
    int64_t *index = ARENA_ARRAY(&interp->scratch, int64_t, rank_of(in));
    for (; offset < in->count; offset++, vm_next_index(index, dims_of(in), rank_of(in)))
        if (unpacked_offset(&p, index, &at)) vm_copy_element(out, at, in, offset);
    return true;
}

const Evaluator *interp_slice_evaluator(const OpDef *def)
{
    static const Evaluator table[TENSOR_OP_COUNT] = {
        [TENSOR_EXTRACT_SLICE] = {.eval = eval_extract_slice},
        [TENSOR_INSERT_SLICE] = {.eval = eval_insert_slice},
        [TENSOR_GATHER] = {.eval = eval_gather},
        [TENSOR_SCATTER] = {.eval = eval_scatter},
        [TENSOR_PACK] = {.eval = eval_pack},
        [TENSOR_UNPACK] = {.eval = eval_unpack},
    };
    if (def->dialect != &tensor_dialect || !table[def - tensor_ops].eval) return NULL;
    return &table[def - tensor_ops];
}
