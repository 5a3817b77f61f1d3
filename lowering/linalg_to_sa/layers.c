/* The kernels of a function, in order, as layers: a reduction, or a map, and the element-wise kernels
 * behind it whose only reader is the next one. A sum of two layers runs behind the later one, with
 * the other one's map as second operand. What else is read must be a map, whose numbers fit.
 * Tests: lit/lowering/linalg_to_sa, test/e2e/overlay_check.py */
#include <stdarg.h>

#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/linalg_to_sa/internal.h"

bool to_sa_refuse(const Op *op, const char *format, ...)
{
    StrBuf text = {0};
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    op_error(op, "is no layer of an overlay: it %s", text.data);
    strbuf_free(&text);
    return false;
}

bool extents_of(const Type *type, uint32_t channel_dims, Extents *out)
{
    *out = (Extents){1, 1, 1};
    if (type->kind != TYPE_RANKED_TENSOR || !type_is_static(type)) return false;
    uint32_t rank = type->u.shaped.rank;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t dim = type->u.shaped.dims[rank - 1 - i];
        if (i < channel_dims)
            out->c *= dim;
        else if (i < channel_dims + 2)
            *(i == channel_dims ? &out->w : &out->h) = dim;
        else if (dim != 1)
            return false;
    }
    return out->h > 0 && out->w > 0 && out->c > 0;
}

uint32_t to_sa_channel_dims(const Lowering *lw, const Value *value)
{
    uintptr_t dims = (uintptr_t)ptrmap_get(&lw->channel_dims, value);
    return dims ? (uint32_t)dims : 1;
}

void to_sa_set_channel_dims(Lowering *lw, const Value *value, uint32_t dims)
{
    ptrmap_put(&lw->channel_dims, value, (void *)(uintptr_t)dims);
}

bool to_sa_is_same_extents(const Extents *a, const Extents *b)
{
    return a->h == b->h && a->w == b->w && a->c == b->c;
}

Layer *to_sa_add_layer(Lowering *lw, const OpDef *def, const Op *op)
{
    Layer *layer = ARENA_NEW(lw->arena, Layer);
    *layer = (Layer){.def = def,
                     .op = op,
                     .order = lw->layers.len,
                     .groups = 1,
                     .kernel = {1, 1},
                     .strides = {1, 1},
                     .dilations = {1, 1},
                     .repeats = {1, 1},
                     .tap = {.arena = lw->arena, .channel_loop = -1},
                     .numbers = {.arena = lw->arena, .channel_loop = -1}};
    *vec_push(&lw->layers) = layer;
    return layer;
}

static void set_tensor(Lowering *lw, const Value *value, Tensor *tensor)
{
    ptrmap_put(&lw->tensors, value, tensor);
}

Tensor *to_sa_new_tensor(Lowering *lw, const Value *value, const Tensor *like)
{
    Tensor *tensor = ARENA_NEW(lw->arena, Tensor);
    *tensor = *like;
    set_tensor(lw, value, tensor);
    return tensor;
}

/* What a layer gives so far becomes a tensor. */
Tensor *to_sa_give(Lowering *lw, const Value *value, Layer *layer)
{
    const Number *number = number_at(&layer->numbers, layer->result);
    return to_sa_new_tensor(lw, value,
                            &(Tensor){.layer = layer,
                                      .lo = number->lo,
                                      .hi = number->hi,
                                      .width = type_width(type_elem(value->type)),
                                      .is_modular = true,
                                      .extents = layer->extents});
}

bool to_sa_fits_map(const Lowering *lw, int64_t lo, int64_t hi)
{
    return lo >= sa_act_min(&lw->size) && hi <= sa_act_max(&lw->size);
}

bool to_sa_find_offset(const Lowering *lw, int64_t lo, int64_t hi, int64_t *offset)
{
    int64_t least = sa_act_min(&lw->size), most = sa_act_max(&lw->size);
    *offset = lo < least ? lo - least : hi > most ? hi - most : 0;
    if (sa_is_popcount(&lw->size)) *offset = 0;
    return to_sa_fits_map(lw, lo - *offset, hi - *offset);
}

uint32_t to_sa_element(Numbers *n, NumberKind kind, const Tensor *tensor)
{
    int64_t offset = tensor->offset;
    return number_offset(n, number_leaf(n, kind, tensor->lo - offset, tensor->hi - offset), offset);
}

static bool refuse_numbers(const Lowering *lw, const Op *op, int64_t lo, int64_t hi)
{
    return to_sa_refuse(op,
                        "gives numbers from %lld to %lld, which do not fit the overlay's "
                        "activations of %u bits",
                        (long long)lo, (long long)hi, lw->size.act_bits);
}

Layer *to_sa_copy(Lowering *lw, Tensor *source, const Op *op)
{
    Layer *layer = to_sa_add_layer(lw, source->is_padded ? SA(POOL) : SA(ELTWISE), op);
    layer->input = source;
    layer->extents = source->is_padded ? source->padded : source->extents;
    layer->numbers.channels = (size_t)layer->extents.c;
    if (!source->is_padded) {
        layer->result = to_sa_element(&layer->numbers, NUMBER_SUMS, source);
        return layer;
    }
    Tensor padded = *source;
    padded.lo = i64_min(source->lo, source->pad_value);
    padded.hi = i64_max(source->hi, source->pad_value);
    layer->pads[0] = source->top;
    layer->pads[1] = source->left;
    layer->pad_value = source->pad_value - source->offset;
    layer->result = to_sa_element(&layer->numbers, NUMBER_ACCUMULATOR, &padded);
    layer->tap_result = number_leaf(&layer->tap, NUMBER_SUMS, padded.lo - source->offset,
                                    padded.hi - source->offset);
    return layer;
}

/* A page has one port to read, so no layer takes one map twice. */
static bool part_operands(Lowering *lw, Layer *layer)
{
    if (!layer->operand || layer->operand->map != layer->input->map) return true;
    Tensor *copy = ARENA_NEW(lw->arena, Tensor);
    *copy = *layer->operand;
    copy->map =
        to_sa_build_stored(lw, to_sa_copy(lw, layer->operand, layer->op), layer->operand->offset);
    layer->operand = copy;
    return copy->map != NULL;
}

/* A tensor of the function counts modulo 2^width, so a map that does not hold its numbers may hold
 * another of their readings. */
static void choose_reading(Lowering *lw, Tensor *tensor)
{
    Layer *layer = tensor->layer;
    if (!tensor->is_modular || tensor->width > lw->size.act_bits ||
        to_sa_find_offset(lw, tensor->lo, tensor->hi, &tensor->offset))
        return;
    uint32_t other = lw->size.act_is_unsigned
                         ? number_unsigned(&layer->numbers, layer->result, tensor->width)
                         : number_signed(&layer->numbers, layer->result, tensor->width);
    if (other == NO_NUMBER) return;
    layer->result = other;
    tensor->lo = number_at(&layer->numbers, other)->lo;
    tensor->hi = number_at(&layer->numbers, other)->hi;
}

bool to_sa_materialize(Lowering *lw, Tensor *tensor)
{
    if (tensor->map) return true;
    choose_reading(lw, tensor);
    if (!to_sa_find_offset(lw, tensor->lo, tensor->hi, &tensor->offset))
        return refuse_numbers(lw, tensor->layer->op, tensor->lo, tensor->hi);
    tensor->map = to_sa_build_stored(lw, tensor->layer, tensor->offset);
    return tensor->map != NULL;
}

Value *to_sa_build_stored(Lowering *lw, Layer *layer, int64_t offset)
{
    uint32_t stored = number_offset(&layer->numbers, layer->result, -offset);
    if (stored != NO_NUMBER) return to_sa_build_number(lw, layer, stored);
    to_sa_refuse(layer->op, "%s", layer->numbers.why.data);
    return NULL;
}

Value *to_sa_build_number(Lowering *lw, Layer *layer, uint32_t number)
{
    uint32_t result = layer->result;
    if (!part_operands(lw, layer)) return NULL;
    layer->result = number;
    Value *map = to_sa_build(lw, layer);
    layer->result = result;
    return map;
}

Tensor *to_sa_tensor(Lowering *lw, const Value *value)
{
    Tensor *tensor = ptrmap_get(&lw->tensors, value);
    const Op *op = value_def(value);
    if (!tensor && op)
        to_sa_refuse(op, "gives what no map holds, and another layer reads it");
    else if (!tensor)
        op_error(lw->func, "has an argument that no map holds");
    return tensor;
}

/* Moves: padding, other shapes. */

static bool read_pads(const Op *op, const char *name, int64_t out[3])
{
    int64_t list[RESHAPE_MAX_RANK];
    size_t count = 0;
    const Attr *attr = op_attr(op, name);
    if (!attr || !attr_int_list(attr, list, RESHAPE_MAX_RANK, &count)) return false;
    for (size_t i = 0; i < 3; i++) out[i] = 0;
    for (size_t i = 0; i < count; i++) {
        size_t back = count - 1 - i;
        if (back < 3)
            out[back] = list[i];
        else if (list[i] != 0)
            return false;
    }
    return out[0] == 0 && out[1] >= 0 && out[2] >= 0;
}

/* The number of the source's reading that is the padding's modulo 2^N. */
static int64_t pad_number(const Tensor *source, int64_t value)
{
    int64_t size = source->width < 62 ? INT64_C(1) << source->width : 0;
    bool is_other = value + size >= source->lo && value + size <= source->hi;
    return is_other && value < source->lo ? value + size : value;
}

/* Maxima do not see which number below all others lies around a map, as long as windows have an
 * element; minima likewise. */
static bool replace_padding(const Op *pad, Tensor *result)
{
    bool is_below = result->pad_value <= result->lo;
    if (!is_below && result->pad_value < result->hi) return false;
    FOR_EACH_USE(use, op_result(pad, 0)) {
        const Op *reader = use->owner;
        if (reader->def != LINALG(GENERIC) || !linalg_reduces(reader)) return false;
        const Op *last = value_def(op_operand(linalg_body(reader)->last, 0));
        bool is_max = last && (last->def == ARITH(MAXSI) || last->def == ARITH(MAXUI));
        bool is_min = last && (last->def == ARITH(MINSI) || last->def == ARITH(MINUI));
        if (!(is_below ? is_max : is_min)) return false;
    }
    result->pad_value = is_below ? result->lo : result->hi;
    result->needs_elements = true;
    return true;
}

static bool add_pad(Lowering *lw, const Op *op)
{
    int64_t low[3], high[3];
    Tensor *source = to_sa_tensor(lw, op_operand(op, 0));
    const Op *yield = region_entry(op_region(op, 0))->last;
    const Attr *value = fold_constant_of(op_operand(yield, 0));
    if (!source) return false;
    if (!value || value->kind != ATTR_INTEGER || !read_pads(op, "static_low", low) ||
        !read_pads(op, "static_high", high) || source->is_flat)
        return to_sa_refuse(op, "pads other than rows and columns with a constant");
    if (!to_sa_materialize(lw, source)) return false;
    if (source->is_padded) {
        Tensor *copy = to_sa_give(lw, op_operand(op, 0), to_sa_copy(lw, source, op));
        if (!to_sa_materialize(lw, copy)) return false;
        source = copy;
    }
    Tensor *result = to_sa_new_tensor(lw, op_result(op, 0), source);
    result->is_padded = true;
    result->top = low[2];
    result->left = low[1];
    int64_t pad = pad_number(source, attr_int_value(value));
    result->pad_value = pad;
    if (!to_sa_fits_map(lw, pad - source->offset, pad - source->offset) &&
        !replace_padding(op, result))
        return refuse_numbers(lw, op, pad, pad);
    uint32_t dims = to_sa_channel_dims(lw, op_operand(op, 0));
    to_sa_set_channel_dims(lw, op_result(op, 0), dims);
    return extents_of(op_result(op, 0)->type, dims, &result->padded) ||
           to_sa_refuse(op, "has a batch, or dimensions beside rows, columns and channels");
}

/* Dimensions of the result of a reshape that are channels: where only those of the source are split
 * or merged, all that they become. */
static uint32_t reshaped_channels(const Lowering *lw, const Op *op)
{
    const Type *from = op_operand(op, 0)->type, *to = op_result(op, 0)->type;
    uint32_t dims = to_sa_channel_dims(lw, op_operand(op, 0));
    uint32_t kept = from->u.shaped.rank - dims, rank = to->u.shaped.rank;
    if (from->u.shaped.rank < dims || rank <= kept) return 1;
    for (uint32_t i = 0; i < kept; i++)
        if (from->u.shaped.dims[i] != to->u.shaped.dims[i]) return 1;
    return rank - kept;
}

/* Whether windows are read of a value, or of what element-wise kernels make of it; also if uses are
 * more than may be looked at. */
static bool is_read_by_windows(const Value *value, uint32_t *budget)
{
    FOR_EACH_USE(use, value) {
        const Op *user = use->owner;
        bool is_map = user->def == LINALG(GENERIC) && !to_sa_reduces_constants(user);
        if (*budget == 0) return true;
        (*budget)--;
        if (user->def == TENSOR(PAD) || user->def == TENSOR(INSERT_SLICE)) return true;
        if (is_map && linalg_reduces(user)) return true;
        if (is_map && user->result_count == 1 && is_read_by_windows(op_result(user, 0), budget))
            return true;
    }
    return false;
}

/* Whether elements of a row become rows and columns, whose pixels no words are. */
static bool makes_map(const Op *op)
{
    const Type *from = op_operand(op, 0)->type, *to = op_result(op, 0)->type;
    uint32_t large = 0, budget = 10000;
    if (from->u.shaped.rank != 2 || to->u.shaped.rank < 4) return false;
    for (uint32_t i = 1; i < to->u.shaped.rank; i++) large += to->u.shaped.dims[i] > 1;
    return large > 1 && is_read_by_windows(op_result(op, 0), &budget);
}

static bool add_reshape(Lowering *lw, const Op *op)
{
    Extents to;
    Tensor *source = to_sa_tensor(lw, op_operand(op, 0));
    if (!source) return false;
    if (makes_map(op))
        return to_sa_refuse(op, "makes rows and columns of a row of elements, as a decoder does "
                                "behind a dense layer: compile it for --architecture=dataflow, or "
                                "the network behind it with that map as its input");
    uint32_t dims = reshaped_channels(lw, op);
    if (!extents_of(op_result(op, 0)->type, dims, &to))
        return to_sa_refuse(op, "reshapes to a batch");
    to_sa_set_channel_dims(lw, op_result(op, 0), dims);
    if (source->is_padded && to_sa_is_same_extents(&to, &source->padded)) {
        set_tensor(lw, op_result(op, 0), source);
        return true;
    }
    if (source->is_padded) return to_sa_refuse(op, "reshapes padding");
    const Extents *from = &source->extents;
    bool is_row = to.h == 1 && to.w == 1 && to.c == from->h * from->w * from->c;
    if (!source->is_flat && to_sa_is_same_extents(&to, from)) {
        set_tensor(lw, op_result(op, 0), source);
        return true;
    }
    if (!is_row && !(source->is_flat && to_sa_is_same_extents(&to, from)))
        return to_sa_refuse(op, "reshapes a map to another map");
    if (!to_sa_materialize(lw, source)) return false;
    to_sa_new_tensor(lw, op_result(op, 0), source)->is_flat = is_row;
    return true;
}

/* Ops in order. */

static bool add_generic(Lowering *lw, const Op *op)
{
    if (kernel_fill_value(op)) return true; /* whoever begins with it reads it */
    if (to_sa_shuffles(lw, op)) return to_sa_shuffle(lw, op);
    if (!linalg_reduces(op) || to_sa_reduces_constants(op)) return to_sa_add_map_kernel(lw, op);
    Layer *layer = to_sa_window(lw, op);
    if (layer) to_sa_give(lw, op_result(op, 0), layer);
    return layer != NULL;
}

bool to_sa_add_op(Lowering *lw, const Op *op)
{
    bool is_rearranged = false;
    if (op_has_trait(op, TRAIT_CONSTANT_LIKE) || op->def == TENSOR(EMPTY)) return true;
    if (ptrmap_has(&lw->done, op)) return true;
    if (op->def == TENSOR(EXPAND_SHAPE) && !to_sa_rearrange(lw, op, &is_rearranged)) return false;
    if (is_rearranged) return true;
    if (op->def == LINALG(GENERIC) || op->def == LINALG(FILL)) return add_generic(lw, op);
    if (op->def == TENSOR(PAD)) return add_pad(lw, op);
    if (reshape_is(op)) return add_reshape(lw, op);
    if (op->def == TENSOR(INSERT_SLICE)) return to_sa_insert(lw, op);
    if (op->def == TENSOR(EXTRACT_SLICE)) return to_sa_extract(lw, op);
    Str name = op_name(op);
    return to_sa_refuse(op, "is '%.*s', which an overlay has not", STR_ARG(name));
}
