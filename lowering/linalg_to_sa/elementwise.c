/* Element-wise kernels: each runs behind the layer that gives one of its maps, if nobody else reads that, or
 * is a layer of its own.
 * Tests: lit/lowering/linalg_to_sa, test/e2e/overlay_check.py */
#include "dialects/linalg/linalg.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/linalg_to_sa/internal.h"

typedef struct MapKernel {
    const Op *op;
    int channel; /* the loop that counts channels, or -1 */
    uint32_t channel_dims;
    Extents extents;
    Tensor *reads[KERNEL_MAX_LOOPS]; /* of each operand that is no constant */
    Tensor *inputs[2];               /* of these, that differ */
    bool is_broadcast[2];            /* one pixel for all */
    uint32_t count;
    Layer *base; /* that it runs behind; of inputs[base_input] */
    uint32_t base_input;
    /* Of each operand that reads[] has though it is a constant. */
    PlacedConstants placed[KERNEL_MAX_LOOPS];
} MapKernel;

/* A tensor that only this kernel reads, reshapes between them included. */
static bool has_one_reader(const Value *value)
{
    const Op *op = value_def(value);
    return value_has_one_use(value) &&
           (!op || !reshape_is(op) || has_one_reader(op_operand(op, 0)));
}

/* Whether an operand is read at the result's own place. */
static bool is_in_place(const Lowering *lw, const MapKernel *k, uint32_t operand)
{
    const AffineMap *in = linalg_operand_map(k->op, operand);
    const AffineMap *out = linalg_operand_map(k->op, linalg_input_count(k->op));
    Extents extents;
    const Value *value = op_operand(k->op, operand);
    const Type *type = op_result(k->op, 0)->type;
    if (!extents_of(value->type, to_sa_channel_dims(lw, value), &extents) ||
        !to_sa_is_same_extents(&extents, &k->extents))
        return false;
    for (uint32_t back = 0; back < type->u.shaped.rank; back++) {
        const AffineExpr *a =
            back < in->result_count ? in->results[in->result_count - 1 - back] : NULL;
        const AffineExpr *b =
            back < out->result_count ? out->results[out->result_count - 1 - back] : NULL;
        if (a != b && type->u.shaped.dims[type->u.shaped.rank - 1 - back] > 1) return false;
    }
    return true;
}

/* Whether an operand is a number for each channel, which is read at the result's channel. */
static bool is_broadcast(const Lowering *lw, const MapKernel *k, uint32_t operand)
{
    const AffineMap *in = linalg_operand_map(k->op, operand);
    Extents extents;
    const Value *value = op_operand(k->op, operand);
    if (!extents_of(value->type, 1, &extents) || to_sa_channel_dims(lw, value) != 1) return false;
    if (extents.h != 1 || extents.w != 1 || extents.c != k->extents.c) return false;
    if (extents.c == 1) return true;
    const AffineExpr *last = in->results[in->result_count - 1];
    return last->kind == AFFINE_DIM && (int)last->value == k->channel;
}

/* How often an index of the result finds the same row or column of an input of `extent`; 0: it does not
 * find all of them in their order, each as often. */
static int64_t repeats_of(const AffineExpr *in, const AffineExpr *out, int64_t extent,
                          int64_t result)
{
    if (in == out && extent == result) return 1;
    if (extent == 1 && (!in || affine_is_const(in))) return result;
    int64_t indices;
    bool is_quotient = in && in->kind == AFFINE_FLOORDIV && in->lhs == out &&
                       in->rhs->kind == AFFINE_CONST && i64_mul(extent, in->rhs->value, &indices) &&
                       indices == result;
    return is_quotient ? in->rhs->value : 0;
}

const AffineExpr *to_sa_from_end(const AffineMap *map, uint32_t back)
{
    return back < map->result_count ? map->results[map->result_count - 1 - back] : NULL;
}

/* Whether an operand is read so that each pixel of it is several of the result, rows and columns. */
static bool is_repeated(const Lowering *lw, const MapKernel *k, uint32_t operand,
                        int64_t repeats[2])
{
    const AffineMap *in = linalg_operand_map(k->op, operand);
    const AffineMap *out = linalg_operand_map(k->op, linalg_input_count(k->op));
    const Value *value = op_operand(k->op, operand);
    uint32_t dims = to_sa_channel_dims(lw, value), rank = out->result_count;
    Extents extents;
    if (!extents_of(value->type, dims, &extents) || extents.c != k->extents.c) return false;
    repeats[0] = repeats_of(to_sa_from_end(in, dims + 1), to_sa_from_end(out, dims + 1), extents.h,
                            k->extents.h);
    repeats[1] =
        repeats_of(to_sa_from_end(in, dims), to_sa_from_end(out, dims), extents.w, k->extents.w);
    for (uint32_t back = 0; back < dims; back++)
        if (to_sa_from_end(in, back) != to_sa_from_end(out, back) &&
            op_result(k->op, 0)->type->u.shaped.dims[rank - 1 - back] > 1)
            return false;
    return repeats[0] > 0 && repeats[1] > 0;
}

static bool add_input(MapKernel *k, Tensor *tensor, bool is_broadcast)
{
    for (uint32_t i = 0; i < k->count; i++)
        if (k->inputs[i] == tensor && k->is_broadcast[i] == is_broadcast) return true;
    if (k->count == COUNT_OF(k->inputs)) return to_sa_refuse(k->op, "reads more than two maps");
    k->is_broadcast[k->count] = is_broadcast;
    k->inputs[k->count++] = tensor;
    return true;
}

static bool is_constant_operand(const Op *op, uint32_t index)
{
    return fold_constant_of(op_operand(op, index)) != NULL;
}

static bool is_other_map(const MapKernel *k, const Layer *layer, const Tensor *own)
{
    for (uint32_t i = 0; i < k->count; i++)
        if (k->inputs[i] != own && layer->operand && k->inputs[i] != layer->operand) return true;
    return false;
}

/* The layer that the kernel can run behind: of those that are not built the last one. */
static void choose_base(const Lowering *lw, MapKernel *k, uint32_t operand, uint32_t input)
{
    Tensor *tensor = k->inputs[input];
    const Value *value = op_operand(k->op, operand);
    bool is_own = ptrmap_get(&lw->tensors, value) != tensor; /* nobody else knows it */
    if (tensor->map || k->is_broadcast[input] || (!is_own && !has_one_reader(value))) return;
    if (is_other_map(k, tensor->layer, tensor)) return;
    if (k->base && k->base->order > tensor->layer->order) return;
    k->base = tensor->layer;
    k->base_input = input;
}

static uint32_t input_of(const MapKernel *k, const Tensor *tensor)
{
    return k->count > 1 && k->inputs[1] == tensor;
}

/* Of pixels alone the first one becomes a map. */
static bool repeat_pixel(Lowering *lw, MapKernel *k)
{
    const int64_t repeats[] = {k->extents.h, k->extents.w};
    Tensor *pixel = k->inputs[0], *map = to_sa_repeat(lw, pixel, k->op, repeats);
    if (!map) return false;
    for (uint32_t i = 0; i < linalg_input_count(k->op); i++)
        if (k->reads[i] == pixel) k->reads[i] = map;
    k->inputs[0] = map;
    k->is_broadcast[0] = false;
    return true;
}

/* Constants that differ from place to place are read as a map, all of a kernel's as one. */
static bool read_constants(Lowering *lw, MapKernel *k)
{
    uint32_t operands[KERNEL_MAX_LOOPS], count = 0;
    for (uint32_t i = 0; i < linalg_input_count(k->op); i++)
        if (linalg_reads_operand(k->op, i) && is_constant_operand(k->op, i) &&
            to_sa_is_placed(k->op, i, k->channel))
            operands[count++] = i;
    if (count == 0 || k->reads[operands[0]]) return true;
    for (uint32_t i = 0; i < count; i++) {
        const Type *elem = type_elem(op_operand(k->op, operands[i])->type);
        if (!type_is_integer(elem) || type_width(elem) > 64)
            return to_sa_refuse(
                k->op, "has constants of type '%s', which are no integers of at most 64 bits",
                type_str(lw->ctx, elem));
    }
    Tensor *map = to_sa_place_constants(lw, k->op, operands, count, &k->extents, k->placed);
    for (uint32_t i = 0; i < count; i++) k->reads[operands[i]] = map;
    return map && add_input(k, map, false);
}

static bool read_inputs(Lowering *lw, MapKernel *k)
{
    for (uint32_t i = 0; i < linalg_input_count(k->op); i++) {
        if (!linalg_reads_operand(k->op, i)) continue;
        if (is_constant_operand(k->op, i)) {
            if (!read_constants(lw, k)) return false;
            continue;
        }
        Tensor *tensor = to_sa_tensor(lw, op_operand(k->op, i));
        if (!tensor) return false;
        int64_t repeats[2] = {1, 1};
        bool is_same = is_in_place(lw, k, i);
        bool is_pixel = !is_same && is_broadcast(lw, k, i);
        if (!is_same && !is_pixel && !is_repeated(lw, k, i, repeats))
            return to_sa_refuse(k->op,
                                "reads a map at other places than it writes one, and not each "
                                "pixel as often as another");
        if (tensor->is_padded) { /* elements around the map become some of one */
            tensor = to_sa_give(lw, op_operand(k->op, i), to_sa_copy(lw, tensor, k->op));
            if (!to_sa_materialize(lw, tensor)) return false;
        }
        if (!is_same && !is_pixel) tensor = to_sa_repeat(lw, tensor, k->op, repeats);
        if (!tensor || !add_input(k, tensor, is_pixel)) return false;
        k->reads[i] = tensor;
    }
    bool has_map = k->count > 0 && !(k->is_broadcast[0] && (k->count == 1 || k->is_broadcast[1]));
    if (k->count > 0 && !has_map) return repeat_pixel(lw, k);
    return has_map || to_sa_refuse(k->op, "reads no map");
}

static void find_base(Lowering *lw, MapKernel *k)
{
    for (uint32_t i = 0; i < linalg_input_count(k->op); i++)
        if (k->reads[i] && !is_constant_operand(k->op, i))
            choose_base(lw, k, i, input_of(k, k->reads[i]));
}

/* The layer in which the kernel runs, its maps built. Numbers of the inputs are in *numbers. */
static Layer *enter_layer(Lowering *lw, MapKernel *k, uint32_t numbers[2])
{
    for (uint32_t i = 0; i < k->count; i++)
        if (!(k->base && k->base_input == i) && !to_sa_materialize(lw, k->inputs[i])) return NULL;
    Layer *layer = k->base;
    if (!layer) {
        k->base_input = k->is_broadcast[0];
        layer = to_sa_copy(lw, k->inputs[k->base_input], k->op);
    }
    numbers[k->base_input] = layer->result;
    if (k->count == 1) return layer;
    uint32_t other = 1 - k->base_input;
    layer->operand = k->inputs[other];
    numbers[other] = to_sa_element(&layer->numbers, NUMBER_OPERAND, k->inputs[other]);
    return layer;
}

/* Numbers of the body's arguments, but for constants of a reduction, which differ from step to step. */
static bool fill_arguments(Lowering *lw, const MapKernel *k, Layer *layer, const uint32_t *numbers,
                           uint32_t *args)
{
    const Block *body = linalg_body(k->op);
    bool is_flat = k->inputs[0]->is_flat;
    for (uint32_t i = 0; i < body->arg_count; i++) {
        args[i] = NO_NUMBER;
        if (i >= linalg_input_count(k->op) || !linalg_reads_operand(k->op, i)) continue;
        if (k->reads[i]) {
            args[i] = to_sa_placed_number(&layer->numbers, &k->placed[i],
                                          numbers[input_of(k, k->reads[i])]);
            continue;
        }
        if (linalg_reduces(k->op)) continue;
        size_t count = 0;
        const int64_t *values =
            payload_constants(lw->arena, k->op, i, k->channel, k->extents.c, NULL, &count);
        if (!values || (is_flat && count > 1))
            return to_sa_refuse(k->op, "has constants that are not one for each channel");
        args[i] = number_consts(&layer->numbers, values, count);
    }
    return true;
}

/* Channels in several dimensions have constants that are one for all of them, or none. */
static bool set_channel(const Lowering *lw, MapKernel *k)
{
    k->channel_dims = 1;
    for (uint32_t i = 0; i < linalg_input_count(k->op); i++)
        if (linalg_reads_operand(k->op, i) && !is_constant_operand(k->op, i))
            k->channel_dims = to_sa_channel_dims(lw, op_operand(k->op, i));
    const AffineMap *out = linalg_operand_map(k->op, linalg_input_count(k->op));
    const AffineExpr *last = out->result_count > 0 ? out->results[out->result_count - 1] : NULL;
    bool has_loop = last && last->kind == AFFINE_DIM && k->channel_dims == 1;
    k->channel = has_loop ? (int)last->value : -1;
    if (k->op->result_count != 1 || linalg_body_has_regions(k->op) ||
        linalg_body(k->op)->arg_count > KERNEL_MAX_LOOPS ||
        linalg_loop_count(k->op) > KERNEL_MAX_LOOPS)
        return to_sa_refuse(k->op, "has several results, or a body of more than arithmetic");
    return extents_of(op_result(k->op, 0)->type, k->channel_dims, &k->extents) ||
           to_sa_refuse(k->op, "has a batch, or dimensions beside rows, columns and channels");
}

/* What the kernel gives. NO_NUMBER: numbers of the layer say why, or it reads its result. */
static uint32_t kernel_number(const MapKernel *k, Layer *layer, int64_t begin, uint32_t *args)
{
    const Block *body = linalg_body(k->op);
    const int channel = k->inputs[0]->is_flat ? -1 : k->channel;
    layer->numbers.channel_loop = channel;
    if (linalg_reduces(k->op))
        return to_sa_reduced_number(&layer->numbers, k->op, channel, channel < 0 ? 1 : k->extents.c,
                                    begin, args);
    return payload_number(&layer->numbers, op_operand(body->last, 0), body, args);
}

bool to_sa_add_map_kernel(Lowering *lw, const Op *generic)
{
    MapKernel k = {.op = generic};
    uint32_t numbers[2], args[KERNEL_MAX_LOOPS];
    int64_t begin = 0;
    if (linalg_reduces(generic) && !to_sa_begin(generic, &begin)) return false;
    if (!set_channel(lw, &k) || !read_inputs(lw, &k)) return false;
    find_base(lw, &k);
    bool is_flat = k.inputs[0]->is_flat;
    if (k.count > 1 && is_flat != k.inputs[1]->is_flat)
        return to_sa_refuse(generic, "reads a map and a row of elements");
    if (k.count > 1 && is_flat &&
        !to_sa_is_same_extents(&k.inputs[0]->extents, &k.inputs[1]->extents))
        return to_sa_refuse(generic, "reads rows of elements of maps of other rows and columns");
    Layer *layer = enter_layer(lw, &k, numbers);
    if (!layer || !fill_arguments(lw, &k, layer, numbers, args)) return false;
    uint32_t number = kernel_number(&k, layer, begin, args);
    if (number == NO_NUMBER)
        return to_sa_refuse(generic, "%s",
                            layer->numbers.why.len > 0 ? layer->numbers.why.data
                                                       : "reads its result");
    layer->op = generic;
    layer->result = number;
    Tensor *result = to_sa_give(lw, op_result(generic, 0), layer);
    to_sa_set_channel_dims(lw, op_result(generic, 0), k.channel_dims);
    if (!is_flat) return true;
    result->is_flat = true;
    return to_sa_materialize(lw, result);
}
