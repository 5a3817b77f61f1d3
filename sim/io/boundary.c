/* The boundary of a function: quantizes, reorders and cuts into frames the arrays that go in, and
 * does the reverse for those that come out.
 * Tests: lit/tools/ming-run.mir, lit/tools/ming-run-invalid.mir */
#include <math.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "ir/asm/print/print.h"
#include "sim/io/io.h"
#include "sim/vm/vm.h"

/* [low, high] of integers of so many bits. */
static void set_range(Boundary *b, int64_t bits, bool is_narrow)
{
    uint64_t ones = ~(uint64_t)0 >> (64 - bits);
    b->high = (int64_t)(b->is_signed || bits == 64 ? ones >> 1 : ones);
    b->low = b->is_signed ? -b->high - 1 : 0;
    if (is_narrow && b->is_signed)
        b->low++;
    else if (is_narrow)
        b->high--;
}

static bool read_quantizer(const Op *func, const Attr *quant, Boundary *b)
{
    int64_t width = type_width(b->tensor->u.shaped.elem), bits, is_signed, is_narrow, is_bipolar;
    const Attr *scale = quant->kind == ATTR_DICT ? attr_dict_get_c(quant, DFG_QUANT_SCALE) : NULL;
    const Attr *mode = quant->kind == ATTR_DICT ? attr_dict_get_c(quant, DFG_QUANT_ROUNDING) : NULL;
    b->scale = scale && scale->kind == ATTR_FLOAT ? attr_float_value(scale) : 0;
    if (type_is_float(b->tensor->u.shaped.elem) || !(b->scale > 0) || !isfinite(b->scale))
        return op_error(func, "dfg.quant needs a value of integers and a positive 'scale'");
    if (mode && (mode->kind != ATTR_STRING || !onnx_rounding_parse(mode->u.string, &b->rounding)))
        return op_error(func, "dfg.quant: unknown rounding mode");
    if (!dfg_quant_int(func, quant, DFG_QUANT_ZERO_POINT, 0, &b->zero) ||
        !dfg_quant_int(func, quant, DFG_QUANT_DIVISOR, 1, &b->divisor) ||
        !dfg_quant_int(func, quant, DFG_QUANT_BITS, width, &bits) ||
        !dfg_quant_int(func, quant, DFG_QUANT_SIGNED, 1, &is_signed) ||
        !dfg_quant_int(func, quant, DFG_QUANT_NARROW, 0, &is_narrow) ||
        !dfg_quant_int(func, quant, DFG_QUANT_BIPOLAR, 0, &is_bipolar))
        return false;
    if (bits < 1 || bits > width || b->divisor < 1)
        return op_error(func, "dfg.quant: 'bits' must fit the type, 'divisor' be positive");
    b->is_signed = is_signed != 0;
    /* Unsigned integers of 64 bits that stand for themselves: no float holds them. */
    bool is_whole =
        !b->is_signed && bits == 64 && b->scale == 1.0 && b->zero == 0 && b->divisor == 1;
    b->is_quantized = !is_whole;
    b->is_bipolar = is_bipolar != 0;
    set_range(b, bits, is_narrow != 0);
    if (!b->is_bipolar) return true;
    if (bits != 1 || !b->is_signed || b->zero != 0)
        return op_error(func, "dfg.quant: 'bipolar' is one signed bit, without zero point");
    b->is_bit = width == 1;
    b->low = -1;
    b->high = 1;
    return true;
}

/* The model's tensor from the function's. */
static bool read_layout(const Op *func, const Attr *layout, Boundary *b)
{
    uint32_t rank = b->tensor->u.shaped.rank;
    int64_t dims[NPY_MAX_RANK];
    const AffineMap *map = layout->kind == ATTR_AFFINE_MAP ? layout->u.map : NULL;
    if (!map || !map_is_permutation(map) || map->dim_count != rank)
        return op_error(func, "dfg.layout must permute the value's dimensions");
    for (uint32_t i = 0; i < rank; i++) {
        b->order[i] = (uint32_t)map->results[i]->value;
        dims[b->order[i]] = b->tensor->u.shaped.dims[i];
    }
    b->has_layout = !map_is_identity(map);
    b->tensor = type_with_shape(b->tensor, dims, rank);
    return true;
}

bool boundary_init(const Op *func, const Type *type, const Attr *attrs, Boundary *out)
{
    const Type *elem = type_elem(type);
    *out = (Boundary){.type = type, .divisor = 1};
    out->is_unranked = type->kind == TYPE_UNRANKED_TENSOR;
    out->tensor = type->kind == TYPE_RANKED_TENSOR ? type : type_tensor(elem, NULL, 0, NULL);
    ArrayKind kind;
    if (!array_kind_of(elem, &kind) || out->tensor->u.shaped.rank > NPY_MAX_RANK)
        return op_error(func, "has a value of type '%s', which no array has",
                        type_str(func->ctx, type));
    out->is_signed = !(type_is_integer(elem) &&
                       (elem->u.integer.sign == UNSIGNED || elem->u.integer.width == 1));
    if (!type_is_float(elem)) set_range(out, type_width(elem), false);
    const Attr *name = attrs ? attr_dict_get_c(attrs, DFG_ATTR_NAME) : NULL;
    const Attr *layout = attrs ? attr_dict_get_c(attrs, DFG_ATTR_LAYOUT) : NULL;
    const Attr *quant = attrs ? attr_dict_get_c(attrs, DFG_ATTR_QUANT) : NULL;
    if (name && name->kind == ATTR_STRING) out->name = name->u.string;
    if (layout && !read_layout(func, layout, out)) return false;
    return !quant || read_quantizer(func, quant, out);
}

static void add_shape(StrBuf *out, const int64_t *dims, uint32_t rank)
{
    strbuf_add_char(out, '(');
    for (uint32_t i = 0; i < rank; i++) {
        strbuf_add_c(out, i ? ", " : "");
        if (dims[i] == DIM_DYNAMIC)
            strbuf_add_char(out, '?');
        else
            strbuf_add_int(out, dims[i]);
    }
    strbuf_add_c(out, rank == 1 ? ",)" : ")");
}

/* Extents agree from dimension `first` on. */
static bool agrees(const int64_t *want, const int64_t *have, uint32_t first, uint32_t rank)
{
    for (uint32_t i = first; i < rank; i++)
        if (want[i] != have[i] && want[i] != DIM_DYNAMIC) return false;
    return true;
}

/* Whether one shape is N, C, ... and the other the same with C at its end. */
static bool is_turned(const int64_t *first, const int64_t *last, uint32_t rank)
{
    bool is_same = first[1] == last[rank - 1];
    for (uint32_t i = 2; i < rank; i++) is_same &= first[i] == last[i - 1];
    return is_same;
}

bool boundary_frames(const Boundary *b, const Npy *npy, int64_t *frames, StrBuf *why)
{
    uint32_t rank = b->tensor->u.shaped.rank;
    const int64_t *want = b->tensor->u.shaped.dims;
    bool lacks_batch = rank == npy->rank + 1 && want[0] == 1;
    *frames = 1;
    if (b->is_unranked || (npy->rank == rank && agrees(want, npy->dims, 0, rank)) ||
        (lacks_batch && agrees(want + 1, npy->dims, 0, npy->rank)))
        return true;
    if (rank > 0 && npy->rank == rank && want[0] > 0 && npy->dims[0] > 0 &&
        npy->dims[0] % want[0] == 0 && agrees(want, npy->dims, 1, rank)) {
        *frames = npy->dims[0] / want[0];
        return true;
    }
    strbuf_fail(why, "shape ");
    add_shape(why, npy->dims, npy->rank);
    strbuf_fail(why, " is not ");
    add_shape(why, want, rank);
    strbuf_fail(why, "%s", rank ? " nor several of them in a row" : "");
    bool has_ranks = rank > 2 && npy->rank == rank;
    if (has_ranks && is_turned(want, npy->dims, rank))
        strbuf_fail(why, "; its channels are last, they belong behind the first dimension");
    else if (has_ranks && is_turned(npy->dims, want, rank))
        strbuf_fail(why, "; its channels are behind the first dimension, they belong last");
    return false;
}

/* The type of one frame; extents that the boundary leaves open are the array's. */
static const Type *frame_type(const Boundary *b, const Npy *npy)
{
    if (b->is_unranked) return type_with_shape(b->tensor, npy->dims, npy->rank);
    uint32_t rank = b->tensor->u.shaped.rank;
    int64_t dims[NPY_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = b->tensor->u.shaped.dims[i];
        if (dims[i] == DIM_DYNAMIC) dims[i] = npy->dims[i];
    }
    return type_with_shape(b->tensor, dims, rank);
}

/* Whether real numbers that are integers enter as they are. */
static bool is_plain(const Boundary *b)
{
    return !b->is_quantized || (b->scale == 1.0 && b->zero == 0);
}

/* Round, then clip: the same as clipping first, since the bounds are integers. The quotient is of
 * the array's type: double for f64, else float. */
static int64_t quantize(const Boundary *b, const Npy *npy, double x)
{
    if (b->is_bipolar) return x >= 0 ? 1 : -1;
    bool is_double = npy->kind == 'f' && npy->item == 8;
    double quotient = is_double ? x / b->scale : (double)((float)x / (float)b->scale);
    double steps = quotient + (double)b->zero;
    if (isnan(steps)) steps = (double)b->zero;
    if (steps <= (double)b->low) return b->low;
    if (steps >= (double)b->high) return b->high;
    return fabs(steps) < 0x1p53 ? onnx_rounding_apply(b->rounding, steps) : (int64_t)steps;
}

static bool doubt_nan(const Boundary *b, const Npy *npy, StrBuf *why)
{
    if (!type_is_float(b->tensor->u.shaped.elem) && !b->is_quantized) return false;
    for (int64_t i = 0; i < npy->count; i++) {
        if (!isnan(npy_get_f64(npy, i))) continue;
        strbuf_printf(why, "element %lld is not a number", (long long)i);
        return true;
    }
    return false;
}

static double real_number(const Boundary *b, int64_t level)
{
    return ((double)level - (double)b->zero) * b->scale / (double)b->divisor;
}

/* Whoever gives integers may mean levels. A step's thousandth is the rounding of the quotient. */
static bool doubt_integers(const Boundary *b, const Npy *npy, StrBuf *why)
{
    int64_t clipped = 0, rounded = 0, first = -1;
    for (int64_t i = 0; i < npy->count; i++) {
        double x = npy_get_f64(npy, i);
        bool is_clipped = x < real_number(b, b->low) || x > real_number(b, b->high);
        double distance = fabs(x - real_number(b, quantize(b, npy, x)));
        bool is_rounded = !is_clipped && distance > b->scale * 1e-3;
        if (first < 0 && (is_clipped || is_rounded)) first = i;
        clipped += is_clipped;
        rounded += is_rounded;
    }
    if (first < 0) return false;
    strbuf_printf(why,
                  "integers stand for real numbers here, which go from %.9g to %.9g in steps of "
                  "%.9g: of %lld, %lld are beyond and %lld between two, the first is %.9g in "
                  "element %lld",
                  real_number(b, b->low), real_number(b, b->high), b->scale / (double)b->divisor,
                  (long long)npy->count, (long long)clipped, (long long)rounded,
                  npy_get_f64(npy, first), (long long)first);
    return true;
}

bool boundary_doubt(const Boundary *b, const Npy *npy, StrBuf *why)
{
    if (npy->kind == 'f') return doubt_nan(b, npy, why);
    bool is_refused =
        is_plain(b) && !type_is_float(b->tensor->u.shaped.elem); /* by boundary_enter */
    return b->is_quantized && !b->is_bipolar && !is_refused && doubt_integers(b, npy, why);
}

static bool out_of_range(const Boundary *b, const Npy *npy, int64_t index, StrBuf *why)
{
    strbuf_fail(why, "element %lld is ", (long long)index);
    if (npy->kind == 'u')
        strbuf_add_uint(why, (uint64_t)npy_get_i64(npy, index));
    else if (npy->kind != 'f')
        strbuf_add_int(why, npy_get_i64(npy, index));
    else
        strbuf_fail(why, "no integer");
    if (b->is_bipolar) return strbuf_fail(why, ", not -1 or 1");
    return strbuf_fail(why, ", not in [%lld, %lld]", (long long)b->low, (long long)b->high);
}

/* An element of an unsigned array gives the bits of an integer that has no sign. */
static bool read_unsigned(const Boundary *b, const Npy *npy, int64_t index, int64_t *out,
                          StrBuf *why)
{
    uint64_t value = (uint64_t)(*out = npy_get_i64(npy, index));
    const Type *elem = b->tensor->u.shaped.elem;
    bool takes_bits = !b->is_quantized && type_is_signless(elem);
    uint64_t high = takes_bits || (!b->is_signed && type_width(elem) == 64)
                        ? ~(uint64_t)0 >> (64 - type_width(elem))
                        : (uint64_t)b->high;
    bool is_level = value <= high && !(b->is_bipolar && value == 0);
    return is_level || out_of_range(b, npy, index, why);
}

static bool read_integer(const Boundary *b, const Npy *npy, int64_t index, int64_t *out,
                         StrBuf *why)
{
    if (npy->kind == 'f' || !is_plain(b)) {
        double x = npy_get_f64(npy, index);
        if (b->is_quantized) {
            *out = quantize(b, npy, x);
            return true;
        }
        if (!(x >= -0x1p63 && x < 0x1p63 && x == floor(x))) return out_of_range(b, npy, index, why);
        *out = (int64_t)x;
    } else if (npy->kind == 'u') {
        return read_unsigned(b, npy, index, out, why);
    } else {
        *out = npy_get_i64(npy, index);
    }
    bool is_level = *out >= b->low && *out <= b->high && !(b->is_bipolar && *out == 0);
    return is_level || out_of_range(b, npy, index, why);
}

/* A copy with the dimensions of `from` in another order: dimension i of `type` is number order[i]
 * of from's if `forward`, the other way round if not. */
static Array *permute(const Array *from, const Type *type, const uint32_t *order, bool forward)
{
    int64_t own[NPY_MAX_RANK], to_steps[NPY_MAX_RANK], from_steps[NPY_MAX_RANK];
    uint32_t rank = type->u.shaped.rank;
    Array *to = array_new(type);
    vm_row_major_steps(from->type, own);
    vm_row_major_steps(type, to_steps);
    for (uint32_t i = 0; i < rank; i++)
        from_steps[forward ? i : order[i]] = own[forward ? order[i] : i];
    vm_strided_copy(to, &(CopySide){0, to_steps}, from, &(CopySide){0, from_steps},
                    type->u.shaped.dims, rank);
    return to;
}

Array *boundary_enter(const Boundary *b, const Npy *npy, int64_t frame, StrBuf *why)
{
    Array *array = array_new(frame_type(b, npy));
    bool ok = array || strbuf_fail(why, "there are too many elements");
    for (int64_t i = 0; ok && i < array->count; i++) {
        int64_t index = frame * array->count + i, value = 0;
        if (array->kind >= ARRAY_F32) {
            array_set_f64(array, i, npy_get_f64(npy, index));
            continue;
        }
        ok = read_integer(b, npy, index, &value, why);
        if (ok) array_set_i64(array, i, b->is_bit ? value > 0 : value);
    }
    if (ok && b->has_layout) {
        Array *model = array;
        array = permute(model, b->type, b->order, true);
        array_unref(model);
    }
    if (ok) return array;
    array_unref(array);
    return NULL;
}

/* Bytes of numpy's least integer type of that width. */
static uint32_t integer_bytes(uint32_t width)
{
    return width <= 8 ? 1 : width <= 16 ? 2 : width <= 32 ? 4 : 8;
}

enum { FLOAT_BITS = 24 }; /* of integers that are exact as f32 */

void boundary_dtype(const Boundary *b, bool is_input, char *kind, uint32_t *item)
{
    const Type *elem = b->tensor->u.shaped.elem;
    uint32_t width = type_width(elem);
    bool is_float = b->is_quantized || type_is_float(elem);
    *kind = is_float ? 'f' : width == 1 && !is_input ? 'b' : b->is_signed ? 'i' : 'u';
    *item = integer_bytes(width);
    if (is_float && is_input)
        *item = elem->kind == TYPE_F64 ? 8 : 4;
    else if (b->is_quantized) /* what they stand for is a network's float32, if they fit one */
        *item = width <= FLOAT_BITS ? 4 : 8;
    else if (is_float)
        *item = width == 64 ? 8 : elem->kind == TYPE_F16 ? 2 : 4;
}

bool boundary_new_input(const Boundary *b, Npy *out)
{
    char kind;
    uint32_t item;
    boundary_dtype(b, true, &kind, &item);
    return npy_init(out, kind, item, b->tensor->u.shaped.dims, b->tensor->u.shaped.rank);
}

static bool make_output(const Boundary *b, const Type *shape, int64_t frames, Npy *out, StrBuf *why)
{
    uint32_t rank = shape->u.shaped.rank, item;
    int64_t dims[NPY_MAX_RANK];
    char kind;
    if (rank + (rank == 0) > NPY_MAX_RANK)
        return strbuf_fail(why, "a result has more than %d dimensions", NPY_MAX_RANK);
    for (uint32_t i = 0; i < rank; i++) dims[i] = shape->u.shaped.dims[i];
    boundary_dtype(b, false, &kind, &item);
    if (rank == 0 && frames > 1)
        dims[rank++] = frames;
    else if (rank > 0 && !i64_mul(dims[0], frames, &dims[0]))
        return strbuf_fail(why, "a result has too many elements");
    return npy_init(out, kind, item, dims, rank) ||
           strbuf_fail(why, "a result has too many elements");
}

/* The integer that the boundary means by a container's low bits. */
static int64_t meant(const Boundary *b, const Array *array, int64_t index)
{
    int64_t value = array_get_i64(array, index);
    if (b->is_bit) return value ? 1 : -1;
    uint32_t spare = 64 - type_width(array->elem);
    return b->is_signed ? value : (int64_t)((uint64_t)value << spare >> spare);
}

static void write_elements(const Boundary *b, const Array *array, int64_t begin, Npy *out)
{
    for (int64_t i = 0; i < array->count; i++) {
        if (out->kind != 'f') {
            npy_set_i64(out, begin + i, meant(b, array, i));
            continue;
        }
        double x = !b->is_quantized ? array_get_f64(array, i) : real_number(b, meant(b, array, i));
        npy_set_f64(out, begin + i, x);
    }
}

bool boundary_leave(const Boundary *b, const Array *result, int64_t frame, int64_t frames, Npy *out,
                    StrBuf *why)
{
    Array *model = b->has_layout ? permute(result, b->tensor, b->order, false) : NULL;
    const Array *array = model ? model : result;
    bool ok = (frame > 0 || make_output(b, array->type, frames, out, why)) &&
              (out->count == array->count * frames ||
               strbuf_fail(why, "frames give results of different shapes"));
    if (ok) write_elements(b, array, frame * array->count, out);
    array_unref(model);
    return ok;
}
