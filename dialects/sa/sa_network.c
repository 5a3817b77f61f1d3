/* Checks and readers of networks, layers, images and ports.
 * Tests: lit/dialects/sa/network.mir, lit/dialects/sa/network-invalid.mir */
#include "dialects/sa/internal.h"
#include "ir/asm/print/print.h"

enum { MAX_EXTENT = 65535 }; /* what a register holds */

static bool is_map(const Type *type)
{
    if (type->kind != TYPE_RANKED_TENSOR || type->u.shaped.rank != 3) return false;
    for (uint32_t i = 0; i < 3; i++)
        if (type->u.shaped.dims[i] < 1 || type->u.shaped.dims[i] > MAX_EXTENT) return false;
    const Type *elem = type_elem(type);
    if (!type_is_integer(elem) || elem->u.integer.sign == SIGNED) return false;
    bool is_signless = elem->u.integer.sign == SIGNLESS;
    uint32_t width = type_width(elem);
    return width <= SA_MOST_PLANES ? !is_signless || width > 1
                                   : is_signless && (width == 8 || width == 16);
}

const TypeConstraint SA_IS_MAP = {
    .test = is_map,
    .what =
        "a map: rows x columns x channels of i8 or i16, i2, i3, ui1, ui2 or ui3, each 1 to 65535"};

bool sa_is_layer(const Op *op)
{
    return op->def == SA(CONV) || op->def == SA(POOL) || op->def == SA(ELTWISE);
}

bool sa_is_pu(const Op *op)
{
    enum { PU_TYPE = 1 };
    const SaForm *form = op->def ? sa_form(op->def) : NULL;
    return form && form->fixed >> 30 == PU_TYPE;
}

bool sa_reads_parameter(const Op *op)
{
    return op->def == SA(PU_LOOKUP) || op->def == SA(PU_THRESHOLD) ||
           (op->def == SA(PU_LOAD) && sa_int(op, "source", 0) == SA_SOURCE_PARAMETER);
}

int64_t sa_item(const Op *op, const char *name, size_t index)
{
    return dense_array_i64(op_attr(op, name), index);
}

Value *sa_operand(const Op *layer)
{
    return layer->operand_count > 1 ? op_operand(layer, 1) : NULL;
}

const int64_t *sa_map_dims(const Value *map)
{
    return map->type->u.shaped.dims;
}

void sa_kernel(const Op *layer, int64_t kernel[2])
{
    for (size_t i = 0; i < 2; i++) {
        if (layer->def == SA(CONV))
            kernel[i] = op_attr(layer, "weights")->type->u.shaped.dims[1 + i];
        else
            kernel[i] = layer->def == SA(POOL) ? sa_item(layer, "kernel", i) : 1;
    }
}

void sa_repeats(const Op *layer, int64_t repeats[2])
{
    bool has_repeats = layer->def == SA(ELTWISE) && op_attr(layer, SA_ATTR_REPEATS);
    for (size_t i = 0; i < 2; i++)
        repeats[i] = has_repeats ? sa_item(layer, SA_ATTR_REPEATS, i) : 1;
}

int64_t sa_images(const Op *layer)
{
    return sa_int(layer, SA_ATTR_IMAGES, 1);
}

bool sa_spreads(const Op *layer)
{
    return layer->def == SA(ELTWISE) && op_attr(layer, "pad_value");
}

bool sa_pool(const Op *layer, SaPool *out)
{
    static const struct {
        const char *name;
        size_t offset;
    } PAIRS[] = {{SA_ATTR_POOL_MAP, offsetof(SaPool, map)},
                 {SA_ATTR_POOL_KERNEL, offsetof(SaPool, kernel)},
                 {SA_ATTR_POOL_STRIDES, offsetof(SaPool, strides)},
                 {SA_ATTR_POOL_PADS, offsetof(SaPool, pads)}};
    for (size_t p = 0; p < COUNT_OF(PAIRS); p++) {
        if (!op_attr(layer, PAIRS[p].name)) return false;
        int64_t *pair = (int64_t *)(void *)((char *)out + PAIRS[p].offset);
        for (size_t i = 0; i < 2; i++) pair[i] = sa_item(layer, PAIRS[p].name, i);
    }
    return true;
}

bool sa_pool_fits(const SaPool *pool, const int64_t windows[2])
{
    for (size_t i = 0; i < 2; i++)
        if (pool->strides[i] > pool->kernel[i] || pool->pads[i] >= pool->kernel[i] ||
            (windows[i] - 1) * pool->strides[i] - pool->pads[i] >= pool->map[i])
            return false;
    return true;
}

/* Two numbers from `least` on. */
static bool verify_pair(Op *op, const char *name, int64_t least)
{
    const Attr *attr = op_attr(op, name);
    if (!attr) return true;
    if (attr->kind != ATTR_DENSE_ARRAY || attr->u.dense_array.count != 2)
        return op_error(op, "%s must be two numbers", name);
    for (size_t i = 0; i < 2; i++)
        if (sa_item(op, name, i) < least || sa_item(op, name, i) > INT16_MAX)
            return op_error(op, "%s must be from %lld to %d", name, (long long)least, INT16_MAX);
    return true;
}

static bool verify_weights(Op *op)
{
    const Attr *weights = op_attr(op, "weights");
    const Type *type = weights->type;
    const int64_t *in = sa_map_dims(op_operand(op, 0)), *out = sa_map_dims(op_result(op, 0));
    bool is_depthwise = op_attr(op, "depthwise") != NULL;
    int64_t groups = sa_int(op, SA_ATTR_GROUPS, 1);
    if (groups < 1 || in[2] % groups != 0 || out[2] % groups != 0 || (is_depthwise && groups > 1))
        return op_error(op, "has %lld groups of %lld input and %lld output channels",
                        (long long)groups, (long long)in[2], (long long)out[2]);
    if (type->kind != TYPE_RANKED_TENSOR || type->u.shaped.rank != 4)
        return op_error(op, "weights must have 4 dimensions");
    const int64_t *dims = type->u.shaped.dims;
    int64_t channels = is_depthwise ? 1 : in[2] / groups;
    if (dims[0] != out[2] || dims[3] != channels)
        return op_error(op, "weights must be %lld output x rows x columns x %lld input channels",
                        (long long)out[2], (long long)channels);
    if (dims[1] < 1 || dims[2] < 1) return op_error(op, "has a window without elements");
    return dense_is_complete(weights) || op_error(op, "has weights without their elements");
}

static bool is_operand_of(const Value *operand, const Value *result, int64_t images)
{
    const int64_t *dims = sa_map_dims(operand);
    bool is_pixel = dims[0] == images && dims[1] == 1 && dims[2] == sa_map_dims(result)[2];
    return operand->type == result->type ||
           (is_pixel && type_elem(operand->type) == type_elem(result->type));
}

static bool verify_images(Op *op)
{
    int64_t images = sa_images(op), in = sa_map_dims(op_operand(op, 0))[0],
            out = sa_map_dims(op_result(op, 0))[0];
    return (images >= 1 && in % images == 0 && out % images == 0) ||
           op_error(op, "has %lld images in %lld rows of its input and %lld of its result",
                    (long long)images, (long long)in, (long long)out);
}

/* Layers without weights, and depthwise ones, keep their channels; without padding nothing lies
 * outside. */
static bool verify_shapes(Op *op)
{
    const int64_t *in = sa_map_dims(op_operand(op, 0)), *out = sa_map_dims(op_result(op, 0));
    const Type *elem = type_elem(op_operand(op, 0)->type);
    bool is_dense = op->def == SA(CONV) && !op_attr(op, "depthwise");
    if (type_elem(op_result(op, 0)->type) != elem)
        return op_error(op, "must give elements of its input's type");
    if (!is_dense && in[2] != out[2]) return op_error(op, "must keep the number of channels");
    if (sa_operand(op) && !is_operand_of(sa_operand(op), op_result(op, 0), sa_images(op)))
        return op_error(op, "operand must be of the result's type, or one pixel of it");
    return true;
}

/* Element by element there is no padding that lies outside. */
static bool verify_places(Op *op)
{
    int64_t repeats[2];
    const int64_t *in = sa_map_dims(op_operand(op, 0)), *out = sa_map_dims(op_result(op, 0));
    if (op->def != SA(ELTWISE)) return true;
    sa_repeats(op, repeats);
    if (sa_spreads(op) && !op_attr(op, SA_ATTR_REPEATS))
        return op_error(op, "has a pad_value, but each element only once");
    for (size_t i = 0; i < 2; i++) {
        int64_t images = i == 0 ? sa_images(op) : 1;
        if (out[i] / images % repeats[i] != 0)
            return op_error(op, "gives %lld rows or columns, of which %lld each are equal",
                            (long long)(out[i] / images), (long long)repeats[i]);
        if ((out[i] / images / repeats[i] - 1) * sa_item(op, "strides", i) >= in[i] / images)
            return op_error(op, "goes beyond its input");
    }
    return true;
}

static bool verify_pool(Op *op)
{
    static const char *const names[] = {SA_ATTR_POOL_MAP, SA_ATTR_POOL_KERNEL, SA_ATTR_POOL_STRIDES,
                                        SA_ATTR_POOL_PADS};
    SaPool pool;
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        count += op_attr(op, names[i]) != NULL;
        if (!verify_pair(op, names[i], names[i] != names[3])) return false;
    }
    if (count == 0) return true;
    if (count < COUNT_OF(names)) return op_error(op, "has a part of a pool's attributes");
    if (sa_operand(op)) return op_error(op, "has a pool and an operand");
    const int64_t *dims = sa_map_dims(op_result(op, 0));
    const int64_t windows[] = {dims[0] / sa_images(op), dims[1]};
    return (sa_pool(op, &pool) && sa_pool_fits(&pool, windows)) ||
           op_error(op, "has a pool with windows that are apart or without a result");
}

static bool verify_parameters(Op *op)
{
    const Attr *list = op_attr(op, "parameters");
    int64_t channels = sa_map_dims(op_result(op, 0))[2];
    for (size_t i = 0; i < list->u.array.count; i++) {
        const Attr *item = list->u.array.items[i];
        if (item->kind != ATTR_DENSE || item->type->kind != TYPE_RANKED_TENSOR ||
            item->type->u.shaped.rank != 1 || item->type->u.shaped.dims[0] != channels ||
            !type_is_int_width(type_elem(item->type), 32))
            return op_error(op, "parameter #%zu must be dense elements of type 'tensor<%lldxi32>'",
                            i, (long long)channels);
    }
    return true;
}

static bool verify_pu_op(Op *op, Op *inner, bool is_tap)
{
    if (!sa_is_pu(inner)) return op_error(inner, "is no instruction of the processing unit");
    if (inner->def == SA(PU_STORE) && (is_tap || inner->next))
        return op_error(inner, "must be the last instruction behind the window's elements");
    if (inner->def != SA(PU_LOAD) && !sa_reads_parameter(inner)) return true;
    int64_t count = (int64_t)op_attr(op, "parameters")->u.array.count;
    if (sa_int(inner, "source", 0) == SA_SOURCE_OPERAND && !sa_operand(op))
        return op_error(inner, "loads an operand that the layer has not");
    int64_t last = sa_int(inner, "address", 0);
    if (inner->def == SA(PU_THRESHOLD)) last += (INT64_C(1) << sa_int(inner, "planes", 1)) - 2;
    return !sa_reads_parameter(inner) || last < count ||
           op_error(inner, "loads parameter %lld of %lld", (long long)last, (long long)count);
}

static bool verify_programs(Op *op)
{
    for (uint32_t r = 0; r < op->region_count; r++) {
        const Block *body = region_entry(op_region(op, r));
        bool is_tap = r + 1 < op->region_count;
        FOR_EACH_OP(inner, body)
            if (!verify_pu_op(op, inner, is_tap)) return false;
        if (!is_tap && (!body->last || body->last->def != SA(PU_STORE)))
            return op_error(op, "must store each vector");
    }
    return true;
}

bool sa_verify_layer(Op *op)
{
    return verify_pair(op, "strides", op->def != SA(ELTWISE)) && verify_pair(op, "dilations", 1) &&
           verify_pair(op, "pads", 0) && verify_pair(op, "kernel", 1) &&
           verify_pair(op, SA_ATTR_REPEATS, 1) && verify_images(op) && verify_shapes(op) &&
           verify_places(op) && verify_pool(op) && (op->def != SA(CONV) || verify_weights(op)) &&
           verify_parameters(op) && verify_programs(op);
}

/* Weights of one plane are -1 or 1. */
static bool verify_weight_values(Op *op, const SaOverlay *size)
{
    const Attr *weights = op_attr(op, "weights");
    int64_t count = weights && size->weight_bits == 1 ? dense_count(weights) : 0;
    if (count > 0 && dense_view(weights).is_splat) count = 1; /* of how many ever */
    for (int64_t i = 0; i < count; i++)
        if (!sa_weight_fits(size, dense_i64(weights, i)))
            return op_error(op, "has the weight %lld, and the overlay's are -1 or 1",
                            (long long)dense_i64(weights, i));
    return true;
}

static bool verify_instructions(Op *op, const SaOverlay *size)
{
    for (uint32_t r = 0; r < op->region_count; r++)
        FOR_EACH_OP(inner, region_entry(op_region(op, r)))
            if (!sa_pu_has(size, inner)) {
                Str name = op_name(inner);
                return op_error(op, "runs '%.*s', which the overlay's processing unit has not",
                                STR_ARG(name));
            }
    return true;
}

static bool verify_types(Op *op, const SaOverlay *size)
{
    const Type *elem = sa_act_type(op->ctx, size);
    const Attr *weights = op_attr(op, "weights");
    int64_t pad = sa_int(op, "pad_value", 0);
    for (uint32_t i = 0; i < op->result_count; i++)
        if (type_elem(op_result(op, i)->type) != elem)
            return op_error(op, "gives elements that are not the overlay's %s",
                            type_str(op->ctx, elem));
    if (weights && (!weights->type || type_elem(weights->type) != sa_weight_type(op->ctx, size)))
        return op_error(op, "has weights that are not the overlay's %s",
                        type_str(op->ctx, sa_weight_type(op->ctx, size)));
    if (pad < sa_act_min(size) || pad > sa_act_max(size))
        return op_error(op, "pads with a number of more than %u bits", size->act_bits);
    return verify_weight_values(op, size);
}

bool sa_verify_input(Op *op)
{
    const Attr *value = op_attr(op, "value");
    return !value || (value->type == op_result(op, 0)->type && dense_is_complete(value)) ||
           op_error(op, "must have a value of its map's type, with all elements");
}

bool sa_verify_network(Op *op)
{
    SaOverlay size = sa_overlay(op_attr(op, SA_ATTR_OVERLAY));
    FOR_EACH_OP(inner, region_entry(op_region(op, 0))) {
        if (!sa_is_layer(inner) && inner->def != SA(INPUT) && inner->def != SA(OUTPUT))
            return op_error(inner, "is no layer of a network");
        if (!verify_types(inner, &size) || !verify_instructions(inner, &size)) return false;
    }
    return true;
}

bool sa_verify_image(Op *op)
{
    const Attr *value = op_attr(op, "value");
    if (value->kind != ATTR_DENSE || !type_is_int_width(type_elem(value->type), 8))
        return op_error(op, "must be dense elements of type i8");
    return (sa_int(op, SA_ATTR_BANK, 0) >= 0 && sa_int(op, "address", 0) >= 0) ||
           op_error(op, "has a bank or address below 0");
}

bool sa_verify_port(Op *op)
{
    const Type *map = op_attr(op, "map")->u.type_value;
    if (!is_map(map)) return op_error(op, "must be %s", SA_IS_MAP.what);
    if (sa_int(op, SA_ATTR_BANK, 0) < 0 || sa_int(op, "address", 0) < 0)
        return op_error(op, "has a bank or address below 0");
    int64_t groups = sa_int(op, SA_ATTR_GROUPS, 1), lanes = sa_int(op, "lanes", 0);
    if (groups < 1 || lanes % groups != 0 || map->u.shaped.dims[2] % groups != 0)
        return op_error(op, "has %lld groups of its channels and lanes", (long long)groups);
    const int64_t most = INT64_C(1) << 32, *dims = map->u.shaped.dims;
    if (lanes < dims[2]) return op_error(op, "has fewer lanes than channels");
    if (lanes > most) return op_error(op, "has more than 2^32 lanes");
    const Attr *pitch = op_attr(op, SA_ATTR_PITCH);
    if (pitch && (pitch->kind != ATTR_INTEGER || attr_int_value(pitch) < lanes * dims[1]))
        return op_error(op, "needs a " SA_ATTR_PITCH " of as many elements as a row has");
    int64_t row = pitch ? attr_int_value(pitch) : lanes * dims[1];
    const Attr *frames = op_attr(op, SA_ATTR_FRAMES);
    if (frames && (frames->kind != ATTR_INTEGER || attr_int_value(frames) < 1 ||
                   dims[0] % attr_int_value(frames) != 0))
        return op_error(op, "needs a " SA_ATTR_FRAMES " that divides its %lld rows",
                        (long long)dims[0]);
    return row <= most * UINT16_MAX / dims[0] ||
           op_error(op, "has more than 2^32 * 65535 elements with what lies between them");
}
