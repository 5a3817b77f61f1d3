/* Arrays of the ports beside a program. A port that a function had takes and gives the arrays of that
 * function: floats that it quantizes, in the model's order of dimensions, of several frames. Others
 * have arrays of rows x columns x channels of their own integers.
 * Tests: lit/tools/ming-engine-arrays.test, test/e2e/overlay_check.py */
#include "sim/engine/internal.h"

static const Type *map_of(const Op *op)
{
    return op_attr(op, "map")->u.type_value;
}

static uint64_t lanes_of(const Op *op)
{
    return (uint64_t)sa_int(op, "lanes", 0);
}

/* Of an element in external memory. */
static uint32_t bits_of(const Op *op)
{
    return sa_stored_bits(type_width(type_elem(map_of(op))));
}

/* Elements from row to row. */
static uint64_t pitch_of(const Op *op)
{
    uint64_t row = (uint64_t)map_of(op)->u.shaped.dims[1] * lanes_of(op);
    return (uint64_t)sa_int(op, SA_ATTR_PITCH, (int64_t)row);
}

static bool is_unsigned_map(const Op *op)
{
    return type_elem(map_of(op))->u.integer.sign == UNSIGNED;
}

uint64_t engine_port_bytes(const Op *op)
{
    uint64_t rows = (uint64_t)map_of(op)->u.shaped.dims[0];
    return div_up(rows * pitch_of(op) * bits_of(op), 8);
}

/* The windows of a folded input, and the map that they are of, whose last dimensions are rows, columns
 * and channels. */
static bool read_fold(EnginePort *port, const Type *type)
{
    const Attr *attr = op_attr(port->op, SA_ATTR_FOLD);
    const int64_t *dims = map_of(port->op)->u.shaped.dims;
    size_t count = 0;
    uint32_t rank = type->u.shaped.rank;
    if (!attr_int_list(attr, port->fold, SA_FOLD_COUNT, &count) || count != SA_FOLD_COUNT)
        return false;
    for (int i = 0; i < SA_FOLD_PAD_VALUE; i++)
        if (port->fold[i] < (i < SA_FOLD_PADS) || port->fold[i] > UINT16_MAX) return false;
    for (uint32_t i = 0; i < 3; i++)
        port->extents[i] = rank + i >= 3 ? type->u.shaped.dims[rank + i - 3] : 1;
    for (uint32_t i = 0; i + 3 < rank; i++)
        if (type->u.shaped.dims[i] != 1) return false;
    port->is_folded = true;
    return dims[2] == port->extents[2] * port->fold[0] * port->fold[1];
}

static bool init_boundary(EnginePort *port, const Op *op)
{
    const Attr *type = op_attr(op, SA_ATTR_TYPE), *attrs = op_attr(op, SA_ATTR_PORT);
    int64_t count, own;
    *port = (EnginePort){.op = op, .images = 1};
    port->has_type = type && type->kind == ATTR_TYPE && (!attrs || attrs->kind == ATTR_DICT);
    if (type && !port->has_type)
        return op_error(op, "needs a type as " SA_ATTR_TYPE " and a dictionary as " SA_ATTR_PORT);
    if (!port->has_type) return boundary_init(op, map_of(op), NULL, &port->boundary);
    const Attr *offset = op_attr(op, SA_ATTR_OFFSET);
    if (offset && offset->kind != ATTR_INTEGER)
        return op_error(op, "needs an integer as " SA_ATTR_OFFSET);
    port->offset = offset ? attr_int_value(offset) : 0;
    const Type *function_type = type->u.type_value;
    port->images = sa_int(op, SA_ATTR_FRAMES, 1);
    bool fits =
        type_is_tensor(function_type) && type_is_static(function_type) &&
        type_is_integer(type_elem(function_type)) && type_element_count(function_type, &count) &&
        type_element_count(map_of(op), &own) &&
        (op_attr(op, SA_ATTR_FOLD) ? read_fold(port, function_type)
                                   : own % port->images == 0 && count == own / port->images);
    if (!fits) return op_error(op, "has a " SA_ATTR_TYPE " that is no tensor of as many integers");
    return boundary_init(op, function_type, attrs, &port->boundary);
}

bool engine_port_init(EnginePort *port, const Op *op)
{
    if (!init_boundary(port, op)) return false;
    if (port->boundary.name.len == 0) port->boundary.name = op_attr(op, "name")->u.string;
    return true;
}

void engine_port_free(EnginePort *port)
{
    npy_free(&port->npy);
}

static bool fits_map(const Op *op, const Npy *npy)
{
    const Type *map = map_of(op);
    bool fits = npy->rank == 3 && npy->kind == (is_unsigned_map(op) ? 'u' : 'i') &&
                npy->item == div_up(bits_of(op), 8);
    for (uint32_t i = 0; fits && i < 3; i++) fits = npy->dims[i] == map->u.shaped.dims[i];
    return fits;
}

bool engine_port_take(EnginePort *port, const Npy *npy, int64_t *frames, StrBuf *why)
{
    const int64_t *dims = map_of(port->op)->u.shaped.dims;
    *frames = 1;
    if (!port->has_type && !fits_map(port->op, npy)) {
        strbuf_printf(why, " must be an array of %lldx%lldx%lld elements of type %sint%llu",
                      (long long)dims[0], (long long)dims[1], (long long)dims[2],
                      is_unsigned_map(port->op) ? "u" : "", 8ull * div_up(bits_of(port->op), 8));
        return false;
    }
    if (port->has_type) {
        StrBuf reason = {0};
        bool fits = boundary_frames(&port->boundary, npy, frames, &reason);
        if (!fits) strbuf_printf(why, ": %s", reason.data);
        strbuf_free(&reason);
        if (!fits) return false;
    }
    port->npy = *npy;
    return true;
}

/* Where element i of a frame lies in the map, in bits. Each group of channels has its lanes. */
static uint64_t place_of(const EnginePort *port, int64_t i)
{
    uint64_t groups = (uint64_t)sa_int(port->op, SA_ATTR_GROUPS, 1);
    uint64_t channels = (uint64_t)map_of(port->op)->u.shaped.dims[2], index = (uint64_t)i;
    uint64_t pixel = index / channels, channel = index % channels, each = channels / groups;
    uint64_t lanes = lanes_of(port->op), width = (uint64_t)map_of(port->op)->u.shaped.dims[1];
    return (pixel / width * pitch_of(port->op) + pixel % width * lanes +
            channel / each * (lanes / groups) + channel % each) *
           bits_of(port->op);
}

/* The element of the function's array that is number i of the map; -1: padding. */
static int64_t element_of(const EnginePort *port, int64_t i)
{
    const int64_t *dims = map_of(port->op)->u.shaped.dims, *fold = port->fold;
    if (!port->is_folded) return i;
    int64_t lane = i % dims[2], channels = port->extents[2], tap = lane / channels;
    const int64_t windows[] = {i / dims[2] / dims[1], i / dims[2] % dims[1]};
    const int64_t taps[] = {tap / fold[SA_FOLD_KERNEL + 1], tap % fold[SA_FOLD_KERNEL + 1]};
    int64_t at[2];
    for (int k = 0; k < 2; k++) {
        at[k] = windows[k] * fold[SA_FOLD_STRIDES + k] + taps[k] * fold[SA_FOLD_DILATIONS + k] -
                fold[SA_FOLD_PADS + k];
        if (at[k] < 0 || at[k] >= port->extents[k]) return -1;
    }
    return (at[0] * port->extents[1] + at[1]) * channels + lane % channels;
}

/* Elements of an image. */
static int64_t image_count(const EnginePort *port)
{
    const int64_t *dims = map_of(port->op)->u.shaped.dims;
    return dims[0] / port->images * dims[1] * dims[2];
}

bool engine_images(const Op *module, int64_t *images)
{
    bool has_images = false;
    *images = 1;
    FOR_EACH_INNER(op, module) {
        if (op->def != SA(PORT)) continue;
        const int64_t own = op_attr(op, SA_ATTR_TYPE) ? sa_int(op, SA_ATTR_FRAMES, 1) : 1;
        if (has_images && own != *images)
            return op_error(op, "has %lld frames, and the port before %lld", (long long)own,
                            (long long)*images);
        *images = own;
        has_images = true;
    }
    return true;
}

bool engine_port_enter(const EnginePort *port, const EngineFrame *frame, uint8_t *to, StrBuf *why)
{
    Array *array = boundary_enter(&port->boundary, &port->npy, frame->frame, why);
    const int64_t count = image_count(port);
    if (!array) return false;
    uint32_t width = type_width(array->elem);
    bool is_unsigned = port->has_type && !port->boundary.is_signed && width < 64;
    for (int64_t i = 0; i < count; i++) {
        int64_t from = element_of(port, i);
        uint64_t value =
            (uint64_t)(from < 0 ? port->fold[SA_FOLD_PAD_VALUE] : array_get_i64(array, from));
        if (is_unsigned && from >= 0) value &= (UINT64_C(1) << width) - 1;
        if (from >= 0) value -= (uint64_t)port->offset;
        engine_put_bits(to, place_of(port, frame->image * count + i), bits_of(port->op), value);
    }
    array_unref(array);
    return true;
}

Array *engine_port_read(const EnginePort *port, int64_t image, const uint8_t *from, StrBuf *why)
{
    uint32_t width = type_width(type_elem(map_of(port->op)));
    uint64_t sign = is_unsigned_map(port->op) ? 0 : UINT64_C(1) << (width - 1);
    Array *array = array_new(port->boundary.type);
    if (!array) strbuf_add_c(why, "has more elements than memory holds");
    for (int64_t i = 0; array && i < array->count; i++) {
        uint64_t place = place_of(port, image * array->count + i);
        uint64_t bits = engine_get_bits(from, place, bits_of(port->op));
        bits &= (UINT64_C(1) << width) - 1;
        array_set_i64(array, i, (int64_t)((bits ^ sign) - sign + (uint64_t)port->offset));
    }
    return array;
}

bool engine_port_leave(EnginePort *port, const EngineFrame *frame, const uint8_t *from, StrBuf *why)
{
    Array *array = engine_port_read(port, frame->image, from, why);
    bool ok = array &&
              boundary_leave(&port->boundary, array, frame->frame, frame->frames, &port->npy, why);
    array_unref(array);
    return ok;
}
