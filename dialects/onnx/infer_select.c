/* Result types of ops that take, repeat or join parts of their inputs.
 * Tests: lit/dialects/onnx/invalid-select.mir, lit/passes/onnx/onnx-infer-shapes-select.mir */
#include "dialects/onnx/internal.h"

static bool join(const Op *op, uint32_t index, uint32_t axis, OnnxShape *io, StrBuf *why)
{
    OnnxShape part;
    if (!onnx_shape(onnx_type(op, index), &part, why)) return false;
    if (part.rank != io->rank)
        return onnx_why(why, "input %u has rank %u, the first has rank %u", index, part.rank,
                        io->rank);
    for (uint32_t i = 0; i < part.rank; i++)
        if (i != axis && part.dims[i] != io->dims[i])
            return onnx_why(why, "input %u has extent %lld in dimension %u, the first has %lld",
                            index, (long long)part.dims[i], i, (long long)io->dims[i]);
    io->dims[axis] += part.dims[axis];
    if (io->dims[axis] <= ONNX_MAX_ELEMENTS) return true;
    return onnx_why(why, "the result has too many elements");
}

bool onnx_infer_concat(const Op *op, const Type **results, StrBuf *why)
{
    OnnxShape out;
    uint32_t axis;
    if (op->operand_count == 0) return onnx_why(why, "needs at least one operand");
    for (uint32_t i = 1; i < op->operand_count; i++)
        if (!onnx_check_elem_is(op, i, type_elem(onnx_type(op, 0)), why)) return false;
    OnnxKnown known = onnx_begin(op, results, &out, why);
    if (known != KNOWN || !onnx_all_static(op)) return known != WRONG;
    if (!onnx_read_axis(op, 0, out.rank, &axis, why)) return false;
    for (uint32_t i = 1; i < op->operand_count; i++)
        if (!join(op, i, axis, &out, why)) return false;
    return onnx_make_tensor(type_elem(results[0]), &out, &results[0], why);
}

/* Lengths that are the same but for the last one, which only `num_outputs` lets be shorter. */
static bool split_evenly(const Op *op, int64_t extent, int64_t *first, int64_t *last, StrBuf *why)
{
    int64_t parts = op->result_count;
    if (onnx_int(op, "num_outputs", parts) != parts)
        return onnx_why(why, "attribute 'num_outputs' is %lld, but there are %lld results",
                        (long long)onnx_int(op, "num_outputs", parts), (long long)parts);
    *first = extent / parts + (extent % parts != 0);
    *last = extent - *first * (parts - 1);
    if (*last == *first || (op_attr(op, "num_outputs") && *last >= 0)) return true;
    return onnx_why(why, "an extent of %lld cannot be split into %lld parts", (long long)extent,
                    (long long)parts);
}

/* Lengths from the operand; KNOWN_WRONG if they are not those of the results. */
static OnnxKnown read_lengths(const Op *op, int64_t extent, const Attr **out, StrBuf *why)
{
    *out = onnx_constant(onnx_operand(op, 1));
    if (!onnx_check_elem(op, 1, ELEM_INDEX, why)) return WRONG;
    if (!*out) return UNKNOWN;
    int64_t total = 0;
    bool fits = dense_count(*out) == op->result_count;
    for (uint32_t i = 0; fits && i < op->result_count; i++)
        fits = dense_i64(*out, i) >= 0 && i64_add(total, dense_i64(*out, i), &total);
    if (fits && total == extent) return KNOWN;
    onnx_why(why, "'split' must have a length for each of %u results, %lld in all",
             op->result_count, (long long)extent);
    return WRONG;
}

bool onnx_infer_split(const Op *op, const Type **results, StrBuf *why)
{
    OnnxShape in;
    uint32_t axis;
    int64_t first = 0, last = 0;
    const Attr *lengths = NULL;
    const Type *elem = type_elem(onnx_type(op, 0));
    if (op->result_count == 0) return onnx_why(why, "needs at least one result");
    OnnxKnown known = onnx_begin(op, results, &in, why);
    for (uint32_t i = 0; i < op->result_count; i++) results[i] = type_unranked_tensor(elem);
    if (known != KNOWN) return known == UNKNOWN;
    if (!onnx_read_axis(op, 0, in.rank, &axis, why)) return false;
    int64_t extent = in.dims[axis];
    if (onnx_operand(op, 1)) {
        known = read_lengths(op, extent, &lengths, why);
        if (known != KNOWN) return known == UNKNOWN;
    } else if (!split_evenly(op, extent, &first, &last, why)) {
        return false;
    }
    for (uint32_t i = 0; i < op->result_count; i++) {
        in.dims[axis] = i + 1 < op->result_count ? first : last;
        if (lengths) in.dims[axis] = dense_i64(lengths, i);
        if (!onnx_make_tensor(elem, &in, &results[i], why)) return false;
    }
    return true;
}

bool onnx_infer_gather(const Op *op, const Type **results, StrBuf *why)
{
    OnnxShape in, indices, out = {.rank = 0};
    uint32_t axis;
    OnnxKnown known = onnx_begin(op, results, &in, why);
    if (!onnx_check_elem(op, 1, ELEM_INDEX, why) || known == WRONG) return false;
    if (!onnx_all_static(op)) return true;
    if (!onnx_shape(onnx_type(op, 1), &indices, why) || !onnx_read_axis(op, 0, in.rank, &axis, why))
        return false;
    if (in.rank - 1 + indices.rank > ONNX_MAX_RANK)
        return onnx_why(why, "the result has too many dimensions");
    for (uint32_t i = 0; i < axis; i++) out.dims[out.rank++] = in.dims[i];
    for (uint32_t i = 0; i < indices.rank; i++) out.dims[out.rank++] = indices.dims[i];
    for (uint32_t i = axis + 1; i < in.rank; i++) out.dims[out.rank++] = in.dims[i];
    return onnx_make_tensor(type_elem(results[0]), &out, &results[0], why);
}

/* The number of indices from start to before end, both as in the file, that a step of that size
 * hits. A negative index counts from the end; indices outside are clamped. */
static int64_t slice_length(int64_t start, int64_t end, int64_t step, int64_t extent)
{
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
    start = start < 0 ? start + extent : start;
    end = end < 0 ? end + extent : end;
    start = start < 0 ? 0 : start > high ? high : start;
    end = end < low ? low : end > extent ? extent : end;
    if (step > 0) return end > start ? (end - start - 1) / step + 1 : 0;
    return start > end ? (int64_t)((uint64_t)(start - end - 1) / (0 - (uint64_t)step)) + 1 : 0;
}

/* The vectors `starts`, `ends`, `axes` and `steps`, of one length. */
static OnnxKnown read_slice(const Op *op, uint32_t rank, OnnxShape part[4], StrBuf *why)
{
    OnnxKnown known = onnx_read_ints(op, 1, &part[0], why);
    if (known == KNOWN) known = onnx_read_ints(op, 2, &part[1], why);
    part[2].rank = part[3].rank = part[0].rank;
    for (uint32_t i = 0; known == KNOWN && i < part[0].rank; i++) {
        part[2].dims[i] = i;
        part[3].dims[i] = 1;
    }
    if (known == KNOWN && onnx_operand(op, 3)) known = onnx_read_axes(op, 3, rank, &part[2], why);
    if (known == KNOWN && onnx_operand(op, 4)) known = onnx_read_ints(op, 4, &part[3], why);
    if (known != KNOWN) return known;
    uint32_t count = part[0].rank;
    if (part[1].rank == count && part[2].rank == count && part[3].rank == count && count <= rank)
        return KNOWN;
    onnx_why(why, "'starts', 'ends', 'axes' and 'steps' differ in length, or exceed the rank");
    return WRONG;
}

bool onnx_infer_slice(const Op *op, const Type **results, StrBuf *why)
{
    OnnxShape io, part[4];
    OnnxKnown known = onnx_begin(op, results, &io, why);
    if (known == KNOWN) known = read_slice(op, io.rank, part, why);
    if (known != KNOWN) return known == UNKNOWN;
    for (uint32_t i = 0; i < part[0].rank; i++) {
        int64_t *extent = &io.dims[part[2].dims[i]], step = part[3].dims[i];
        if (step == 0) return onnx_why(why, "'steps' must not be 0");
        *extent = *extent ? slice_length(part[0].dims[i], part[1].dims[i], step, *extent) : 0;
    }
    return onnx_make_tensor(type_elem(results[0]), &io, &results[0], why);
}

/* Extents of the padded tensor. Elements other than constants come from the input. */
static bool pad_extents(const OnnxShape *axes, const Attr *pads, bool is_constant, OnnxShape *io,
                        StrBuf *why)
{
    for (uint32_t i = 0; i < axes->rank; i++) {
        int64_t low = dense_i64(pads, i), high = dense_i64(pads, i + axes->rank);
        int64_t *extent = &io->dims[axes->dims[i]], before = *extent;
        if (!i64_add(*extent, low, extent) || !i64_add(*extent, high, extent) || *extent < 0 ||
            before + (low < 0 ? low : 0) < 0)
            return onnx_why(why, "the pads of dimension %lld are out of range",
                            (long long)axes->dims[i]);
        if (before == 0 && *extent > 0 && !is_constant)
            return onnx_why(why, "dimension %lld is empty and has nothing to pad it with",
                            (long long)axes->dims[i]);
    }
    return true;
}

bool onnx_infer_pad(const Op *op, const Type **results, StrBuf *why)
{
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
    OnnxShape io, axes;
    size_t mode;
    OnnxKnown known = onnx_begin(op, results, &io, why);
    if (known == WRONG || !onnx_check_choice(op, "mode", modes, COUNT_OF(modes), &mode, why) ||
        !onnx_check_elem(op, 1, ELEM_INDEX, why) ||
        !onnx_check_elem_is(op, 2, type_elem(results[0]), why) || !onnx_check_scalar(op, 2, why))
        return false;
    if (known == KNOWN && onnx_operand(op, 3)) {
        known = onnx_read_axes(op, 3, io.rank, &axes, why);
    } else if (known == KNOWN) {
        axes.rank = io.rank;
        for (uint32_t i = 0; i < io.rank; i++) axes.dims[i] = i;
    }
    const Attr *pads = onnx_constant(onnx_operand(op, 1));
    if (known != KNOWN || !pads) return known != WRONG;
    if (dense_count(pads) != 2 * (int64_t)axes.rank)
        return onnx_why(why, "'pads' must have two entries for each of %u dimensions", axes.rank);
    return pad_extents(&axes, pads, mode == 0, &io, why) &&
           onnx_make_tensor(type_elem(results[0]), &io, &results[0], why);
}

bool onnx_infer_expand(const Op *op, const Type **results, StrBuf *why)
{
    OnnxShape io, target;
    OnnxKnown known = onnx_begin(op, results, &io, why);
    if (known == KNOWN) known = onnx_read_ints(op, 1, &target, why);
    if (known != KNOWN) return known == UNKNOWN;
    for (uint32_t i = 0; i < target.rank; i++)
        if (target.dims[i] < 0)
            return onnx_why(why, "'shape' has the extent %lld", (long long)target.dims[i]);
    const Type *elem = type_elem(results[0]);
    return onnx_broadcast(&io, type_tensor(elem, target.dims, target.rank, NULL), why) &&
           onnx_make_tensor(elem, &io, &results[0], why);
}

bool onnx_infer_tile(const Op *op, const Type **results, StrBuf *why)
{
    OnnxShape io, repeats;
    OnnxKnown known = onnx_begin(op, results, &io, why);
    if (known == KNOWN) known = onnx_read_ints(op, 1, &repeats, why);
    if (known != KNOWN) return known == UNKNOWN;
    if (repeats.rank != io.rank)
        return onnx_why(why, "'repeats' has %u entries for rank %u", repeats.rank, io.rank);
    for (uint32_t i = 0; i < io.rank; i++) {
        if (repeats.dims[i] < 0)
            return onnx_why(why, "'repeats' has the entry %lld", (long long)repeats.dims[i]);
        if (!i64_mul(io.dims[i], repeats.dims[i], &io.dims[i]))
            return onnx_why(why, "the result has too many elements");
    }
    return onnx_make_tensor(type_elem(results[0]), &io, &results[0], why);
}
