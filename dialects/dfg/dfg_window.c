/* dfg.window: its parameters, the parts of its windows that leave beside them, and its verifier.
 * Tests: lit/dialects/dfg */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/dfg/internal.h"
#include "ir/asm/print/print.h"

static bool read_list(const Op *op, const char *name, int64_t *out, size_t want)
{
    size_t count = 0;
    const Attr *attr = op_attr(op, name);
    return attr && attr_int_list(attr, out, DFG_MAX_RANK, &count) && count == want;
}

static bool in_range(int64_t value, int64_t min, int64_t max)
{
    return value >= min && value <= max;
}

/* Parameters of one window dimension; small enough for products of two. */
static bool window_dim_is_valid(const WindowParams *w, uint32_t i)
{
    return in_range(w->kernel[i], 1, INT32_MAX) && in_range(w->stride[i], 1, INT32_MAX) &&
           in_range(w->dilation[i], 1, INT32_MAX) &&
           in_range(w->low[i], -DFG_MAX_FRAME, DFG_MAX_FRAME) &&
           in_range(w->high[i], -DFG_MAX_FRAME, DFG_MAX_FRAME);
}

bool dfg_window_params(const Op *window, WindowParams *out)
{
    int64_t dims[DFG_MAX_RANK];
    size_t count = 0;
    const Type *source = op_operand(window, 0)->type, *result = op_result(window, 0)->type;
    uint32_t rank = source->u.shaped.rank;
    if (rank > DFG_MAX_RANK ||
        !attr_int_list(op_attr(window, "dims"), dims, DFG_MAX_RANK, &count) || count == 0 ||
        !in_range(dims[0], 0, (int64_t)rank - (int64_t)count) ||
        result->u.shaped.rank != rank + count)
        return false;
    *out = (WindowParams){.rank = rank, .count = (uint32_t)count, .first = (uint32_t)dims[0]};
    if (!read_list(window, "kernel", out->kernel, count) ||
        !read_list(window, "stride", out->stride, count) ||
        !read_list(window, "dilation", out->dilation, count) ||
        !read_list(window, "low", out->low, count) || !read_list(window, "high", out->high, count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (dims[i] != dims[0] + i || !window_dim_is_valid(out, i)) return false;
        out->out[i] = result->u.shaped.dims[out->first + i];
    }
    memcpy(out->in, source->u.shaped.dims, rank * sizeof(int64_t));
    return true;
}

/* Extents the result must have: positions in place of the window dimensions, then kernel. */
static bool window_result_matches(const WindowParams *w, const Type *source, const Type *result)
{
    uint32_t r = 0;
    for (uint32_t i = 0; i < w->rank; i++) {
        int64_t want = w->in[i];
        if (i >= w->first && i < w->first + w->count) {
            uint32_t k = i - w->first;
            int64_t span = (w->kernel[k] - 1) * w->dilation[k] + 1;
            int64_t room = w->in[i] + w->low[k] + w->high[k] - span;
            want = room < 0 ? -1 : room / w->stride[k] + 1;
        }
        if (result->u.shaped.dims[r++] != want) return false;
        for (uint32_t k = 0; i + 1 == w->first + w->count && k < w->count; k++)
            if (result->u.shaped.dims[r++] != w->kernel[k]) return false;
    }
    return type_elem(result) == type_elem(source);
}

/* The first taps of result number `result`, which are 0 for the whole windows. */
static bool read_first(const Op *window, uint32_t result, const WindowParams *w, int64_t *first)
{
    size_t count = 0;
    const Attr *parts = op_attr(window, "parts");
    memset(first, 0, w->count * sizeof(*first));
    if (result == 0) return true;
    return parts && result <= parts->u.array.count &&
           attr_int_list(parts->u.array.items[result - 1], first, DFG_MAX_RANK, &count) &&
           count == w->count;
}

bool dfg_window_part(const Op *window, uint32_t result, WindowPart *out)
{
    WindowParams w;
    const Type *type = op_result(window, result)->type;
    if (!dfg_window_params(window, &w) || !read_first(window, result, &w, out->first)) return false;
    out->has_taps = type->u.shaped.rank == w.rank + w.count;
    if (!out->has_taps && type->u.shaped.rank != w.rank) return false;
    for (uint32_t i = 0; i < w.count; i++) {
        out->taps[i] = out->has_taps ? type->u.shaped.dims[w.first + w.count + i] : 1;
        if (!in_range(out->first[i], 0, w.kernel[i] - 1) ||
            !in_range(out->taps[i], 1, w.kernel[i] - out->first[i]))
            return false;
    }
    return true;
}

/* Whether a part has the positions and the elements of the whole windows. */
static bool part_matches(const WindowParams *w, const Type *whole, const Type *part)
{
    uint32_t kernel = w->first + w->count, rank = part->u.shaped.rank;
    for (uint32_t i = 0; i < w->rank; i++) {
        uint32_t from = i < kernel ? i : i + w->count;
        if (part->u.shaped.dims[i < kernel ? i : rank - w->rank + i] != whole->u.shaped.dims[from])
            return false;
    }
    return type_elem(part) == type_elem(whole);
}

static bool verify_parts(Op *op, const WindowParams *w)
{
    WindowPart part;
    const Attr *parts = op_attr(op, "parts");
    uint32_t count = parts ? parts->u.array.count : 0;
    if (count != op->result_count - 1)
        return op_error(op, "has %u further results, but first taps for %u", op->result_count - 1,
                        count);
    for (uint32_t i = 1; i < op->result_count; i++) {
        const Type *type = op_result(op, i)->type;
        if (!dfg_window_part(op, i, &part))
            return op_error(op, "result #%u of type '%s' is no block of taps of the window", i,
                            type_str(op->ctx, type));
        if (!part_matches(w, op_result(op, 0)->type, type))
            return op_error(op, "result #%u of type '%s' has other positions or elements than '%s'",
                            i, type_str(op->ctx, type), type_str(op->ctx, op_result(op, 0)->type));
    }
    return true;
}

bool dfg_verify_window(Op *op)
{
    WindowParams w;
    const Type *source = op_operand(op, 0)->type, *result = op_result(op, 0)->type;
    if (!dfg_can_stream(source) || !dfg_can_stream(result))
        return op_error(op, "slides over a tensor that cannot be streamed");
    if (!dfg_window_params(op, &w))
        return op_error(op, "needs dims (contiguous), kernel, stride, dilation, low and high of "
                            "equal length, positive where they must be");
    if (!window_result_matches(&w, source, result))
        return op_error(op, "result type '%s' does not hold the windows of '%s'",
                        type_str(op->ctx, result), type_str(op->ctx, source));
    const Attr *pad = op_attr(op, "pad_value");
    if (pad->type != type_elem(source))
        return op_error(op, "pad_value must have the element type '%s'",
                        type_str(op->ctx, type_elem(source)));
    return verify_parts(op, &w);
}
