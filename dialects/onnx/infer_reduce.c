/* Result types of reductions, of TopK, and of ops that change the resolution.
 * Tests: lit/dialects/onnx/invalid-reduce.mir, lit/passes/onnx/onnx-infer-shapes-reduce.mir */
#include "dialects/onnx/internal.h"

/* The shape with the marked dimensions of extent 1, or without them. */
static void reduce(OnnxShape *io, const bool *reduced, bool keep)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < io->rank; i++)
        if (keep || !reduced[i]) io->dims[rank++] = reduced[i] ? 1 : io->dims[i];
    io->rank = rank;
}

bool onnx_infer_reduction(const Op *op, const Type **results, StrBuf *why)
{
    OnnxShape io, axes = {.rank = 0};
    bool reduced[ONNX_MAX_RANK] = {false};
    OnnxKnown known = onnx_begin(op, results, &io, why);
    ElemClass want = op->def == ONNX(REDUCE_LOG_SUM_EXP) ? ELEM_FLOAT : ELEM_NUMERIC;
    if (!onnx_check_elem(op, 0, want, why) || !onnx_check_flag(op, "keepdims", why) ||
        !onnx_check_flag(op, "noop_with_empty_axes", why))
        return false;
    if (known == KNOWN && onnx_operand(op, 1)) known = onnx_read_axes(op, 1, io.rank, &axes, why);
    if (known != KNOWN) return known == UNKNOWN;
    bool all = axes.rank == 0 && onnx_int(op, "noop_with_empty_axes", 0) == 0;
    for (uint32_t i = 0; i < io.rank; i++) reduced[i] = all;
    for (uint32_t i = 0; i < axes.rank; i++) reduced[axes.dims[i]] = true;
    reduce(&io, reduced, onnx_int(op, "keepdims", 1) == 1);
    return onnx_make_tensor(type_elem(results[0]), &io, &results[0], why);
}

bool onnx_infer_arg_reduction(const Op *op, const Type **results, StrBuf *why)
{
    OnnxShape io;
    uint32_t axis;
    bool reduced[ONNX_MAX_RANK] = {false};
    const Type *elem = type_i(op->ctx, 64);
    if (!onnx_check_elem(op, 0, ELEM_NUMERIC, why) || !onnx_check_flag(op, "keepdims", why) ||
        !onnx_check_flag(op, "select_last_index", why))
        return false;
    OnnxKnown known = onnx_begin(op, results, &io, why);
    results[0] = type_unranked_tensor(elem);
    if (known != KNOWN) return known == UNKNOWN;
    if (!onnx_read_axis(op, 0, io.rank, &axis, why)) return false;
    if (io.dims[axis] == 0) return onnx_why(why, "dimension %u is empty", axis);
    reduced[axis] = true;
    reduce(&io, reduced, onnx_int(op, "keepdims", 1) == 1);
    return onnx_make_tensor(elem, &io, &results[0], why);
}

bool onnx_infer_top_k(const Op *op, const Type **results, StrBuf *why)
{
    OnnxShape io, k;
    uint32_t axis;
    const Type *index = type_i(op->ctx, 64);
    if (!onnx_check_elem(op, 0, ELEM_NUMERIC, why) || !onnx_check_flag(op, "largest", why) ||
        !onnx_check_flag(op, "sorted", why) || !onnx_check_scalar(op, 1, why))
        return false;
    OnnxKnown known = onnx_begin(op, results, &io, why);
    results[1] = type_unranked_tensor(index);
    if (known == KNOWN) known = onnx_read_ints(op, 1, &k, why);
    if (known != KNOWN) return known == UNKNOWN;
    if (!onnx_read_axis(op, -1, io.rank, &axis, why)) return false;
    if (k.dims[0] < 0 || k.dims[0] > io.dims[axis])
        return onnx_why(why, "'K' is %lld; dimension %u has %lld elements", (long long)k.dims[0],
                        axis, (long long)io.dims[axis]);
    io.dims[axis] = k.dims[0];
    return onnx_make_tensor(type_elem(results[0]), &io, &results[0], why) &&
           onnx_make_tensor(index, &io, &results[1], why);
}

static const char *const interpolations[] = {"nearest", "linear", "cubic"};

/* A scale or a region of interest: `count` finite floats. */
static OnnxKnown read_floats(const Op *op, uint32_t index, uint32_t count, double *out, StrBuf *why)
{
    const Attr *value = onnx_constant(onnx_operand(op, index));
    const char *name = onnx_operand_name(op, index);
    if (!onnx_check_elem(op, index, ELEM_FLOAT, why)) return WRONG;
    if (!value) return UNKNOWN;
    if (dense_count(value) != count) {
        onnx_why(why, "'%s' must have %u entries", name, count);
        return WRONG;
    }
    for (uint32_t i = 0; i < count; i++) {
        out[i] = dense_f64(value, i);
        if (out[i] - out[i] != 0) {
            onnx_why(why, "'%s' has an entry that is not finite", name);
            return WRONG;
        }
    }
    return KNOWN;
}

/* floor(extent * factor) in single precision, as ONNX computes it. */
static bool scale_extent(int64_t *io, double factor, StrBuf *why)
{
    float scaled = (float)*io * (float)factor;
    if (!(scaled >= 0) || !(scaled < (float)ONNX_MAX_ELEMENTS))
        return onnx_why(why, "an extent of %lld cannot be scaled so", (long long)*io);
    *io = (int64_t)scaled;
    return true;
}

static OnnxKnown scale_by(const Op *op, uint32_t index, const OnnxShape *axes,
                          const double *regions, OnnxShape *io, StrBuf *why)
{
    double scales[ONNX_MAX_RANK];
    OnnxKnown known = read_floats(op, index, axes->rank, scales, why);
    for (uint32_t i = 0; known == KNOWN && i < axes->rank; i++) {
        if (!(scales[i] > 0)) {
            onnx_why(why, "'scales' must be positive");
            return WRONG;
        }
        if (!scale_extent(&io->dims[axes->dims[i]], scales[i] * regions[i], why)) return WRONG;
    }
    return known;
}

double onnx_common_scale(const int64_t *in, const int64_t *sizes, uint32_t count, bool is_least)
{
    double scale = 0;
    for (uint32_t i = 0; i < count; i++) {
        double own = (double)sizes[i] / (double)in[i];
        if (i == 0 || (is_least ? own < scale : own > scale)) scale = own;
    }
    return scale;
}

bool onnx_check_resized(int64_t in, int64_t out, StrBuf *why)
{
    return in > 0 || out == 0 ||
           onnx_why(why, "an empty dimension cannot be resized to %lld elements", (long long)out);
}

static void keep_aspect(const OnnxShape *axes, const OnnxShape *io, bool is_least, OnnxShape *sizes)
{
    int64_t in[ONNX_MAX_RANK] = {0};
    for (uint32_t i = 0; i < axes->rank; i++) in[i] = io->dims[axes->dims[i]];
    double scale = onnx_common_scale(in, sizes->dims, axes->rank, is_least);
    for (uint32_t i = 0; i < axes->rank; i++)
        sizes->dims[i] = onnx_to_integer(scale * (double)in[i] + 0.5);
}

static bool check_size(int64_t extent, int64_t size, bool keeps_aspect, StrBuf *why)
{
    if (size < 0 || size >= ONNX_MAX_ELEMENTS)
        return onnx_why(why, "'sizes' has the extent %lld", (long long)size);
    if (!onnx_check_resized(extent, size, why)) return false;
    return extent > 0 || !keeps_aspect ||
           onnx_why(why, "keep_aspect_ratio_policy cannot keep the ratio of an empty dimension");
}

static OnnxKnown resize_to(const Op *op, const OnnxShape *axes, OnnxShape *io, StrBuf *why)
{
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller"};
    size_t policy;
    OnnxShape sizes;
    if (!onnx_check_choice(op, "keep_aspect_ratio_policy", policies, COUNT_OF(policies), &policy,
                           why))
        return WRONG;
    OnnxKnown known = onnx_read_ints(op, 3, &sizes, why);
    if (known != KNOWN) return known;
    if (sizes.rank != axes->rank) {
        onnx_why(why, "'sizes' must have %u entries", axes->rank);
        return WRONG;
    }
    for (uint32_t i = 0; i < sizes.rank; i++)
        if (!check_size(io->dims[axes->dims[i]], sizes.dims[i], policy != 0, why)) return WRONG;
    if (policy != 0) keep_aspect(axes, io, policy == 1, &sizes);
    for (uint32_t i = 0; i < sizes.rank; i++) io->dims[axes->dims[i]] = sizes.dims[i];
    return KNOWN;
}

/* Dimensions that are resized: the attribute `axes`, or all. */
static bool read_resized(const Op *op, uint32_t rank, OnnxShape *out, StrBuf *why)
{
    const Attr *attr = op_attr(op, "axes");
    bool seen[ONNX_MAX_RANK] = {false};
    size_t count;
    out->rank = rank;
    for (uint32_t i = 0; i < rank; i++) out->dims[i] = i;
    if (!attr) return true;
    if (!attr_int_list(attr, out->dims, rank, &count))
        return onnx_why(why, "attribute 'axes' has more entries than there are dimensions");
    out->rank = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++) {
        int64_t axis = out->dims[i] < 0 ? out->dims[i] + rank : out->dims[i];
        if (axis < 0 || axis >= rank || seen[axis])
            return onnx_why(why, "attribute 'axes' has %lld, which is out of range or given twice",
                            (long long)out->dims[i]);
        seen[axis] = true;
        out->dims[i] = axis;
    }
    return true;
}

static bool check_resize_modes(const Op *op, size_t *coordinates, StrBuf *why)
{
    static const char *const transformations[] = {
        "half_pixel",         "pytorch_half_pixel",   "align_corners",       "asymmetric",
        "tf_crop_and_resize", "half_pixel_symmetric", "tf_half_pixel_for_nn"};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                            "ceil"};
    size_t index;
    return onnx_check_choice(op, "mode", interpolations, COUNT_OF(interpolations), &index, why) &&
           onnx_check_choice(op, "nearest_mode", roundings, COUNT_OF(roundings), &index, why) &&
           onnx_check_choice(op, "coordinate_transformation_mode", transformations,
                             COUNT_OF(transformations), coordinates, why) &&
           onnx_check_flag(op, "antialias", why) && onnx_check_flag(op, "exclude_outside", why);
}

/* Extents of the regions of interest, 1 for the whole: roi has all starts, then all ends. */
static OnnxKnown read_regions(const Op *op, bool is_cropped, uint32_t count, double *out,
                              StrBuf *why)
{
    double roi[2 * ONNX_MAX_RANK];
    OnnxKnown known = KNOWN;
    if (is_cropped && !onnx_operand(op, 1)) {
        onnx_why(why, "tf_crop_and_resize needs the operand 'roi'");
        return WRONG;
    }
    if (is_cropped) known = read_floats(op, 1, 2 * count, roi, why);
    for (uint32_t i = 0; known == KNOWN && i < count; i++)
        out[i] = is_cropped ? roi[count + i] - roi[i] : 1;
    return known;
}

bool onnx_infer_resize(const Op *op, const Type **results, StrBuf *why)
{
    OnnxShape io, axes;
    double regions[ONNX_MAX_RANK];
    size_t coordinates;
    bool by_scale = onnx_operand(op, 2) != NULL;
    if (by_scale == (onnx_operand(op, 3) != NULL))
        return onnx_why(why, "needs exactly one of 'scales' and 'sizes'");
    if (!onnx_check_elem(op, 0, ELEM_NUMERIC, why) || !check_resize_modes(op, &coordinates, why))
        return false;
    OnnxKnown known = onnx_begin(op, results, &io, why);
    if (known == KNOWN && !read_resized(op, io.rank, &axes, why)) return false;
    if (known == KNOWN && by_scale)
        known = read_regions(op, coordinates == 4, axes.rank, regions, why);
    if (known == KNOWN)
        known =
            by_scale ? scale_by(op, 2, &axes, regions, &io, why) : resize_to(op, &axes, &io, why);
    return known == KNOWN ? onnx_make_tensor(type_elem(results[0]), &io, &results[0], why)
                          : known == UNKNOWN;
}

bool onnx_infer_upsample(const Op *op, const Type **results, StrBuf *why)
{
    OnnxShape io, axes;
    size_t mode;
    double whole[ONNX_MAX_RANK];
    if (!onnx_check_elem(op, 0, ELEM_NUMERIC, why) ||
        !onnx_check_choice(op, "mode", interpolations, COUNT_OF(interpolations), &mode, why))
        return false;
    for (uint32_t i = 0; i < ONNX_MAX_RANK; i++) whole[i] = 1;
    OnnxKnown known = onnx_begin(op, results, &io, why);
    if (known == KNOWN && !read_resized(op, io.rank, &axes, why)) return false;
    if (known == KNOWN) known = scale_by(op, 1, &axes, whole, &io, why);
    return known == KNOWN ? onnx_make_tensor(type_elem(results[0]), &io, &results[0], why)
                          : known == UNKNOWN;
}
