/* Zeros between the pixels of a map, as a transposed convolution has them, and pixels that become channels or
 * channels that become pixels. A layer writes each pixel to the first of its places and a number to the
 * others. Depth to space is that, and a convolution of ones that gives each place the channels that are
 * its: a transposed convolution. Space to depth is a convolution of ones with strides.
 * Tests: lit/lowering/linalg_to_sa, test/e2e/overlay_check.py */
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/linalg_to_sa/internal.h"

/* A layer that gives each pixel's places, but for the first one, a stored number. */
static Tensor *spread(Lowering *lw, Tensor *source, const Op *op, const int64_t repeats[2],
                      int64_t stored)
{
    int64_t fill = stored + source->offset;
    Tensor wide = *source;
    wide.lo = i64_min(source->lo, fill);
    wide.hi = i64_max(source->hi, fill);
    Layer *layer = to_sa_copy(lw, source, op);
    layer->spreads = repeats[0] > 1 || repeats[1] > 1;
    layer->pad_value = stored;
    for (int i = 0; i < 2; i++) layer->repeats[i] = repeats[i];
    layer->extents.h *= repeats[0];
    layer->extents.w *= repeats[1];
    layer->result = to_sa_element(&layer->numbers, NUMBER_SUMS, &wide);
    Tensor *tensor = ARENA_NEW(lw->arena, Tensor);
    *tensor = (Tensor){.layer = layer,
                       .lo = wide.lo,
                       .hi = wide.hi,
                       .width = source->width,
                       .is_modular = true,
                       .extents = layer->extents};
    return tensor;
}

/* The map of a value, of which padding is a part. NULL: diagnosed. */
static Tensor *plain_map(Lowering *lw, const Value *value, const Op *op)
{
    Tensor *source = to_sa_tensor(lw, value);
    if (source && (source->is_flat || to_sa_channel_dims(lw, value) != 1)) {
        to_sa_refuse(op, "moves pixels of a row of elements");
        return NULL;
    }
    if (source && source->is_padded) source = to_sa_give(lw, value, to_sa_copy(lw, source, op));
    return source && to_sa_materialize(lw, source) ? source : NULL;
}

/* Zeros between pixels. */

static const Attr *fill_of(const Value *value)
{
    const Op *op = value_def(value);
    const Value *fill = op ? kernel_fill_value(op) : NULL;
    const Attr *constant = fill ? fold_constant_of(fill) : NULL;
    return constant && constant->kind == ATTR_INTEGER ? constant : NULL;
}

bool to_sa_is_spread(const Op *insert)
{
    int64_t strides[3], offsets[3];
    return fill_of(op_operand(insert, 1)) &&
           to_sa_read_last(insert, "static_strides", 1, strides) &&
           to_sa_read_last(insert, "static_offsets", 0, offsets) && strides[0] == 1 &&
           (strides[1] > 1 || strides[2] > 1) && offsets[0] == 0 && offsets[1] == 0 &&
           offsets[2] == 0;
}

/* Whether what lies behind the last pixel is not seen, or as padding of the same number. */
static bool sees_no_end(const Value *value, int64_t fill)
{
    FOR_EACH_USE(use, value) {
        const Op *user = use->owner;
        if (user->def == LINALG(GENERIC) && linalg_reduces(user)) continue;
        if (user->def != TENSOR(PAD)) return false;
        const Attr *pad = fold_constant_of(op_operand(region_entry(op_region(user, 0))->last, 0));
        if (!pad || pad->kind != ATTR_INTEGER || attr_int_value(pad) != fill) return false;
    }
    return true;
}

bool to_sa_spread(Lowering *lw, const Op *insert)
{
    const Value *from = op_operand(insert, 0), *to = op_result(insert, 0);
    Tensor *source = plain_map(lw, from, insert);
    Extents extents;
    int64_t strides[3], repeats[2], fill = attr_int_value(fill_of(op_operand(insert, 1)));
    if (!source || !to_sa_read_last(insert, "static_strides", 1, strides)) return false;
    repeats[0] = source->extents.h > 1 ? strides[2] : 1;
    repeats[1] = source->extents.w > 1 ? strides[1] : 1;
    const Extents whole = {(source->extents.h - 1) * repeats[0] + 1,
                           (source->extents.w - 1) * repeats[1] + 1, source->extents.c};
    if (!extents_of(to->type, 1, &extents) || extents.h != whole.h || extents.w != whole.w ||
        extents.c != whole.c)
        return to_sa_refuse(insert, "puts other than numbers between pixels");
    int64_t stored = fill - source->offset;
    if (!to_sa_fits_map(lw, stored, stored))
        return to_sa_refuse(insert, "puts %lld between pixels, which their map cannot hold",
                            (long long)fill);
    Tensor *tensor = spread(lw, source, insert, repeats, stored);
    if (!to_sa_materialize(lw, tensor)) return false;
    if (!sees_no_end(to, fill)) {
        Layer *layer = to_sa_copy(lw, tensor, insert);
        layer->extents = extents;
        to_sa_give(lw, to, layer);
        return true;
    }
    to_sa_new_tensor(lw, to, tensor)->extents = extents;
    return true;
}

/* Depth to space, space to depth. */

enum { AXIS_C, AXIS_W, AXIS_H, AXES };

/* A dimension of the expanded tensor: the axes of which it is a part, and the elements of these that a step
 * of it spans. */
typedef struct Part {
    int64_t extent, step[2];
    uint32_t axis[2]; /* of the source and of the result; AXES: of a batch */
} Part;

typedef struct Move {
    const Op *op, *collapse; /* op: the last one between the two */
    Part parts[RESHAPE_MAX_RANK];
    uint32_t rank;
    uint32_t order[RESHAPE_MAX_RANK]; /* of the parts in the tensor at hand */
} Move;

static void set_axes(Move *m, const Reshape *reshape, int side)
{
    for (uint32_t i = 0; i < m->rank; i++) {
        Part *part = &m->parts[side == 0 ? i : m->order[i]];
        uint32_t back = reshape->narrow->u.shaped.rank - 1 - reshape->group[i];
        part->axis[side] = back < AXES ? back : AXES;
        part->step[side] = reshape_step(reshape, i);
    }
}

/* What a generic that moves elements makes of the order. False: it is no permutation. */
static bool permute(Move *m, const Op *generic)
{
    const AffineMap *in = linalg_operand_map(generic, 0), *out = linalg_operand_map(generic, 1);
    uint32_t order[RESHAPE_MAX_RANK], before[RESHAPE_MAX_RANK];
    if (in->result_count != m->rank || out->result_count != m->rank || in->dim_count != m->rank)
        return false;
    for (uint32_t i = 0; i < m->rank; i++) before[i] = UINT32_MAX;
    for (uint32_t i = 0; i < m->rank; i++) {
        if (in->results[i]->kind != AFFINE_DIM) return false;
        before[in->results[i]->value] = m->order[i];
    }
    for (uint32_t i = 0; i < m->rank; i++) {
        if (out->results[i]->kind != AFFINE_DIM) return false;
        order[i] = before[out->results[i]->value];
        if (order[i] == UINT32_MAX) return false;
    }
    for (uint32_t i = 0; i < m->rank; i++) m->order[i] = order[i];
    return true;
}

static const Op *only_user(const Op *op)
{
    FOR_EACH_USE(use, op_result(op, 0))
        if (value_has_one_use(op_result(op, 0))) return use->owner;
    return NULL;
}

/* From an expand_shape by moves that nobody else reads to a collapse_shape. */
static bool read_move(const Op *expand, Move *m)
{
    Reshape first, last;
    if (!reshape_read(expand, &first) || !first.expands) return false;
    m->rank = first.wide->u.shaped.rank;
    for (uint32_t i = 0; i < m->rank; i++) {
        m->parts[i].extent = first.wide->u.shaped.dims[i];
        m->order[i] = i;
    }
    set_axes(m, &first, 0);
    m->op = expand;
    for (const Op *next = only_user(expand); next; next = only_user(next)) {
        if (next->def == TENSOR(COLLAPSE_SHAPE)) {
            m->collapse = next;
            break;
        }
        if (!to_sa_moves(next) || linalg_input_count(next) != 1 || !permute(m, next)) return false;
        m->op = next;
    }
    if (!m->collapse || m->op == expand || !reshape_read(m->collapse, &last) ||
        last.wide->u.shaped.rank != m->rank)
        return false;
    set_axes(m, &last, 1);
    return true;
}

/* Channels that become places of a pixel, or, if `is_reverse`, places that become channels: how many, rows
 * and columns. False: it is another move, or none. */
static bool find_blocks(const Move *m, bool is_reverse, int64_t blocks[2])
{
    static const uint32_t axes[] = {AXIS_H, AXIS_W};
    const int from = is_reverse, to = !is_reverse;
    blocks[0] = blocks[1] = 1;
    for (uint32_t i = 0; i < m->rank; i++)
        for (int k = 0; k < 2; k++)
            if (m->parts[i].axis[from] == AXIS_C && m->parts[i].axis[to] == axes[k])
                blocks[k] *= m->parts[i].extent;
    for (uint32_t i = 0; i < m->rank; i++) {
        const Part *part = &m->parts[i];
        if (part->extent == 1 || part->axis[from] == AXIS_C) continue;
        const int64_t block = blocks[part->axis[from] == AXIS_W];
        if (part->axis[from] == AXES || part->axis[to] != part->axis[from] ||
            part->step[to] != part->step[from] * block)
            return false;
    }
    return blocks[0] > 1 || blocks[1] > 1;
}

/* Sets weights of ones. Of each channel on the side with the more of them, side `from` of the parts: the place
 * that it has, and the channel there. */
static void set_ones(const Move *m, bool is_reverse, const int64_t blocks[2], int64_t channels,
                     int64_t others, int64_t *weights)
{
    const int from = is_reverse, to = !is_reverse;
    for (int64_t c = 0; c < channels; c++) {
        int64_t at[AXES] = {0};
        for (uint32_t i = 0; i < m->rank; i++) {
            const Part *part = &m->parts[i];
            if (part->axis[from] == AXIS_C && part->axis[to] < AXES)
                at[part->axis[to]] += c / part->step[from] % part->extent * part->step[to];
        }
        int64_t y = is_reverse ? at[AXIS_H] : blocks[0] - 1 - at[AXIS_H],
                x = is_reverse ? at[AXIS_W] : blocks[1] - 1 - at[AXIS_W];
        int64_t tap = y * blocks[1] + x, taps = blocks[0] * blocks[1];
        if (is_reverse)
            weights[(c * taps + tap) * others + at[AXIS_C]] = 1;
        else
            weights[(at[AXIS_C] * taps + tap) * channels + c] = 1;
    }
}

bool to_sa_rearrange(Lowering *lw, const Op *expand, bool *found)
{
    Move m = {0};
    int64_t blocks[2];
    Extents extents;
    const Value *from = op_operand(expand, 0);
    *found = false;
    if (!read_move(expand, &m)) return true;
    const Value *to = op_result(m.collapse, 0);
    const bool is_reverse = !find_blocks(&m, false, blocks);
    if ((is_reverse && !find_blocks(&m, true, blocks)) || !extents_of(to->type, 1, &extents))
        return true;
    Tensor *source = plain_map(lw, from, m.op);
    if (!source) return false;
    Tensor *input = source;
    if (!is_reverse) {
        input = spread(lw, source, m.op, blocks, 0);
        input->lo = source->lo; /* the others are seen by weights that are 0 */
        input->hi = source->hi;
        if (!to_sa_materialize(lw, input)) return false;
    }
    Layer *layer = to_sa_add_selection(lw, m.op, input, &extents);
    for (int i = 0; i < 2; i++) {
        layer->kernel[i] = blocks[i];
        layer->strides[i] = is_reverse ? blocks[i] : 1;
        layer->pads[i] = is_reverse ? 0 : blocks[i] - 1;
    }
    int64_t *weights = to_sa_zero_weights(lw, layer);
    set_ones(&m, is_reverse, blocks, is_reverse ? extents.c : source->extents.c, source->extents.c,
             weights);
    layer->result = to_sa_element(&layer->numbers, NUMBER_SUMS, input);
    to_sa_give(lw, to, layer);
    for (const Op *done = only_user(expand); done != m.collapse; done = only_user(done))
        ptrmap_put(&lw->done, done, (void *)(uintptr_t)1);
    ptrmap_put(&lw->done, m.collapse, (void *)(uintptr_t)1);
    *found = true;
    return true;
}
