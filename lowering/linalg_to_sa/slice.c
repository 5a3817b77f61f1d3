/* Parts of maps, maps put together along their channels, shuffled channels, and repeated pixels. All but the
 * last are convolutions whose weights are ones: each channel of the result is one of the input. A map that is put
 * together is the sum of one such layer for each part, so parts may begin at any channel, whatever the
 * lanes of a word.
 * Tests: lit/lowering/linalg_to_sa, test/e2e/overlay_check.py */
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/linalg_to_sa/internal.h"

/* Of the last three dimensions, the last one first. */
typedef struct Slice {
    int64_t offsets[3], sizes[3], strides[3];
} Slice;

bool to_sa_read_last(const Op *op, const char *name, int64_t outer, int64_t out[3])
{
    int64_t list[RESHAPE_MAX_RANK];
    size_t count = 0;
    const Attr *attr = op_attr(op, name);
    if (!attr || !attr_int_list(attr, list, RESHAPE_MAX_RANK, &count)) return false;
    for (size_t i = 0; i < 3; i++) out[i] = outer;
    for (size_t i = 0; i < count; i++) {
        size_t back = count - 1 - i;
        if (list[i] < 0 || list[i] > INT32_MAX) return false; /* DIM_DYNAMIC, too */
        if (back < 3)
            out[back] = list[i];
        else if (list[i] != outer)
            return false;
    }
    return true;
}

static bool read_slice(const Op *op, Slice *out)
{
    return (to_sa_read_last(op, "static_offsets", 0, out->offsets) &&
            to_sa_read_last(op, "static_sizes", 1, out->sizes) &&
            to_sa_read_last(op, "static_strides", 1, out->strides)) ||
           to_sa_refuse(op, "takes a part that is not constant, or of more than rows, columns and "
                            "channels");
}

Layer *to_sa_add_selection(Lowering *lw, const Op *op, Tensor *source, const Extents *extents)
{
    Layer *layer = to_sa_add_layer(lw, SA(CONV), op);
    layer->input = source;
    layer->extents = *extents;
    layer->numbers.channels = (size_t)extents->c;
    return layer;
}

int64_t *to_sa_zero_weights(Lowering *lw, Layer *layer)
{
    int64_t count =
        layer->extents.c * layer->kernel[0] * layer->kernel[1] * layer->input->extents.c;
    int64_t *weights = ARENA_ARRAY(lw->arena, int64_t, count);
    for (int64_t i = 0; i < count; i++) weights[i] = 0;
    layer->weights = weights;
    return weights;
}

static bool is_plain(const Lowering *lw, const Op *op, const Tensor *tensor)
{
    return (!tensor->is_padded && !tensor->is_flat &&
            to_sa_channel_dims(lw, op_operand(op, 0)) == 1) ||
           to_sa_refuse(op, "takes a part of a map with padding, or of a row of elements");
}

/* Whether a value holds nothing, or zeros. */
static bool is_empty(const Value *value)
{
    const Op *op = value_def(value);
    if (!op || op->def == TENSOR(EMPTY)) return op != NULL;
    const Value *fill = kernel_fill_value(op);
    const Attr *constant = fill ? fold_constant_of(fill) : NULL;
    return constant && constant->kind == ATTR_INTEGER && attr_int_value(constant) == 0;
}

static bool check_insert(const Op *op, const Slice *slice, const Tensor *source, const Extents *to)
{
    bool is_whole = slice->offsets[1] == 0 && slice->offsets[2] == 0 && slice->strides[0] == 1 &&
                    slice->sizes[0] == source->extents.c && source->extents.h == to->h &&
                    source->extents.w == to->w;
    return is_whole || to_sa_refuse(op, "puts maps together along other than their channels");
}

/* What the sums lack of the source's elements in its channels; in others they are 0. */
static uint32_t part_offsets(Numbers *n, const Tensor *source, const Slice *slice,
                             const Extents *extents)
{
    int64_t *offsets = ARENA_ARRAY(n->arena, int64_t, extents->c);
    for (int64_t c = 0; c < extents->c; c++) {
        bool is_own = c >= slice->offsets[0] && c < slice->offsets[0] + source->extents.c;
        offsets[c] = is_own ? source->offset : 0;
    }
    return number_consts(n, offsets, (size_t)extents->c);
}

/* Whether no slice that was put into `dest` before has a channel of this one, and nothing else is there. */
static bool is_free(const Value *dest, const Slice *slice)
{
    Slice other;
    for (const Op *op = value_def(dest); !is_empty(dest); op = value_def(dest)) {
        if (!op || op->def != TENSOR(INSERT_SLICE) || to_sa_is_spread(op) ||
            !to_sa_read_last(op, "static_offsets", 0, other.offsets) ||
            !to_sa_read_last(op, "static_sizes", 1, other.sizes) ||
            (other.offsets[0] < slice->offsets[0] + slice->sizes[0] &&
             slice->offsets[0] < other.offsets[0] + other.sizes[0]))
            return false;
        dest = op_operand(op, 1);
    }
    return true;
}

/* What was there before, which the source replaces in its channels. */
static uint32_t rest_number(Numbers *n, const Tensor *before, const Value *dest, const Slice *slice,
                            const Extents *extents)
{
    uint32_t rest = to_sa_element(n, NUMBER_OPERAND, before);
    if (is_free(dest, slice)) return rest;
    int64_t *kept = ARENA_ARRAY(n->arena, int64_t, extents->c);
    for (int64_t c = 0; c < extents->c; c++)
        kept[c] = c < slice->offsets[0] || c >= slice->offsets[0] + slice->sizes[0];
    return number_binary(n, NUMBER_MUL, rest, number_consts(n, kept, (size_t)extents->c));
}

/* The map that is there before, with its padding. NULL: diagnosed. */
static Tensor *map_before(Lowering *lw, const Op *op)
{
    const Value *dest = op_operand(op, 1);
    Tensor *before = to_sa_tensor(lw, dest);
    if (before && before->is_flat) {
        to_sa_refuse(op, "puts a part in a row of elements");
        return NULL;
    }
    if (before && before->is_padded) before = to_sa_give(lw, dest, to_sa_copy(lw, before, op));
    return before && to_sa_materialize(lw, before) ? before : NULL;
}

bool to_sa_insert(Lowering *lw, const Op *op)
{
    Slice slice;
    Extents extents;
    const Value *dest = op_operand(op, 1);
    if (to_sa_is_spread(op)) return to_sa_spread(lw, op);
    Tensor *source = to_sa_tensor(lw, op_operand(op, 0));
    if (!source || !read_slice(op, &slice)) return false;
    if (!extents_of(op_result(op, 0)->type, 1, &extents))
        return to_sa_refuse(op, "has a batch, or dimensions beside rows, columns and channels");
    if (!is_plain(lw, op, source) || !check_insert(op, &slice, source, &extents) ||
        !to_sa_materialize(lw, source))
        return false;
    Tensor *before = is_empty(dest) ? NULL : map_before(lw, op);
    if (!before && !is_empty(dest)) return false;
    Layer *layer = to_sa_add_selection(lw, op, source, &extents);
    int64_t *weights = to_sa_zero_weights(lw, layer), channels = source->extents.c;
    for (int64_t c = 0; c < channels; c++) weights[(slice.offsets[0] + c) * channels + c] = 1;
    int64_t lo = i64_min(source->lo, 0), hi = i64_max(source->hi, 0);
    Numbers *n = &layer->numbers;
    uint32_t part = number_leaf(n, NUMBER_SUMS, i64_min(source->lo - source->offset, 0),
                                i64_max(source->hi - source->offset, 0));
    layer->result = number_binary(n, NUMBER_ADD, part, part_offsets(n, source, &slice, &extents));
    if (before) {
        uint32_t rest = rest_number(n, before, dest, &slice, &extents);
        layer->operand = before;
        layer->result = number_binary(n, NUMBER_ADD, layer->result, rest);
        lo = i64_min(lo, before->lo);
        hi = i64_max(hi, before->hi);
    }
    Tensor *result = to_sa_give(lw, op_result(op, 0), layer);
    result->lo = lo; /* of the two terms of a sum one is 0 */
    result->hi = hi;
    return to_sa_materialize(lw, result);
}

/* Rows and columns begin at the last tap of a window that reaches there from the first ones. */
bool to_sa_extract(Lowering *lw, const Op *op)
{
    Slice slice;
    Extents extents;
    Tensor *source = to_sa_tensor(lw, op_operand(op, 0));
    if (!source || !read_slice(op, &slice) || !is_plain(lw, op, source)) return false;
    if (!extents_of(op_result(op, 0)->type, 1, &extents) || extents.h != slice.sizes[2] ||
        extents.w != slice.sizes[1] || extents.c != slice.sizes[0])
        return to_sa_refuse(op, "takes a part with other dimensions than its own");
    if (!to_sa_materialize(lw, source)) return false;
    Layer *layer = to_sa_add_selection(lw, op, source, &extents);
    layer->kernel[0] = slice.offsets[2] + 1;
    layer->kernel[1] = slice.offsets[1] + 1;
    layer->strides[0] = slice.strides[2];
    layer->strides[1] = slice.strides[1];
    int64_t *weights = to_sa_zero_weights(lw, layer), taps = layer->kernel[0] * layer->kernel[1];
    for (int64_t c = 0; c < extents.c; c++) {
        int64_t from = slice.offsets[0] + c * slice.strides[0];
        weights[((c + 1) * taps - 1) * source->extents.c + from] = 1;
    }
    layer->result = to_sa_element(&layer->numbers, NUMBER_SUMS, source);
    to_sa_give(lw, op_result(op, 0), layer);
    return true;
}

/* Shuffled channels: of several dimensions that are channels, an order that is another one. */

/* The loop that an index of dimension `back` is; -1: it is none. */
static int loop_of(const AffineMap *map, uint32_t back)
{
    const AffineExpr *expr = to_sa_from_end(map, back);
    return expr && expr->kind == AFFINE_DIM ? (int)expr->value : -1;
}

bool to_sa_shuffles(const Lowering *lw, const Op *op)
{
    if (!to_sa_moves(op) || linalg_input_count(op) != 1) return false;
    const AffineMap *in = linalg_operand_map(op, 0), *out = linalg_operand_map(op, 1);
    const uint32_t dims = to_sa_channel_dims(lw, op_operand(op, 0)), rank = in->result_count;
    if (dims < 2 || rank != out->result_count || dims > rank || dims > KERNEL_MAX_LOOPS)
        return false;
    for (uint32_t back = 0; back < rank; back++) {
        bool is_one = op_operand(op, 0)->type->u.shaped.dims[rank - 1 - back] == 1 &&
                      op_result(op, 0)->type->u.shaped.dims[rank - 1 - back] == 1;
        if (back < dims ? loop_of(in, back) < 0 || loop_of(out, back) < 0
                        : to_sa_from_end(in, back) != to_sa_from_end(out, back) && !is_one)
            return false;
    }
    return in != out;
}

/* The channel of the input that is channel `c` of the result. */
static int64_t channel_before(const Op *op, uint32_t dims, int64_t c)
{
    const AffineMap *in = linalg_operand_map(op, 0), *out = linalg_operand_map(op, 1);
    const Type *from = op_operand(op, 0)->type, *to = op_result(op, 0)->type;
    int64_t loops[KERNEL_MAX_LOOPS] = {0}, before = 0;
    for (uint32_t back = 0; back < dims; back++) {
        int64_t extent = to->u.shaped.dims[to->u.shaped.rank - 1 - back];
        loops[loop_of(out, back)] = c % extent;
        c /= extent;
    }
    for (uint32_t back = dims; back-- > 0;)
        before =
            before * from->u.shaped.dims[from->u.shaped.rank - 1 - back] + loops[loop_of(in, back)];
    return before;
}

bool to_sa_shuffle(Lowering *lw, const Op *op)
{
    Extents extents;
    Tensor *source = to_sa_tensor(lw, op_operand(op, 0));
    const uint32_t dims = to_sa_channel_dims(lw, op_operand(op, 0));
    if (!source) return false;
    if (source->is_padded || source->is_flat || !extents_of(op_result(op, 0)->type, dims, &extents))
        return to_sa_refuse(op, "shuffles channels of a map with padding, or of a row of elements");
    if (!to_sa_materialize(lw, source)) return false;
    Layer *layer = to_sa_add_selection(lw, op, source, &extents);
    int64_t *weights = to_sa_zero_weights(lw, layer);
    for (int64_t c = 0; c < extents.c; c++)
        weights[c * source->extents.c + channel_before(op, dims, c)] = 1;
    layer->result = to_sa_element(&layer->numbers, NUMBER_SUMS, source);
    to_sa_give(lw, op_result(op, 0), layer);
    to_sa_set_channel_dims(lw, op_result(op, 0), dims);
    return true;
}

/* A layer that writes each pixel to so many places. A row or column that is the only one is read again
 * and again. */
Tensor *to_sa_repeat(Lowering *lw, Tensor *source, const Op *op, const int64_t repeats[2])
{
    if (source->is_flat) {
        to_sa_refuse(op, "repeats elements of a row");
        return NULL;
    }
    if (!to_sa_materialize(lw, source)) return NULL;
    Layer *layer = to_sa_copy(lw, source, op);
    const int64_t extents[] = {source->extents.h, source->extents.w};
    for (int i = 0; i < 2; i++) {
        bool is_one = extents[i] == 1 && repeats[i] > 1;
        layer->strides[i] = !is_one;
        layer->repeats[i] = is_one ? 1 : repeats[i];
    }
    layer->extents.h *= repeats[0];
    layer->extents.w *= repeats[1];
    Tensor *tensor = ARENA_NEW(lw->arena, Tensor);
    *tensor = (Tensor){.layer = layer,
                       .lo = source->lo,
                       .hi = source->hi,
                       .width = source->width,
                       .is_modular = true,
                       .extents = layer->extents};
    return tensor;
}
