/* How arrays differ, and how often scores hit labels.
 * Tests: lit/tools/ming-compare.mir */
#include <math.h>
#include <stdlib.h>

#include "driver/trace/trace.h"

/* The next dimension of more than one element, or the rank. */
static uint32_t skip_units(const Npy *npy, uint32_t d)
{
    while (d < npy->rank && npy->dims[d] == 1) d++;
    return d;
}

/* Dimensions of one element do not count: scores are stored as 8x10 and come as 8x10x1x1. */
static bool is_same_shape(const Npy *a, const Npy *b)
{
    uint32_t i = skip_units(a, 0), k = skip_units(b, 0);
    while (i < a->rank && k < b->rank && a->dims[i] == b->dims[k]) {
        i = skip_units(a, i + 1);
        k = skip_units(b, k + 1);
    }
    return i == a->rank && k == b->rank;
}

/* Integers above INT64_MAX come as their bits. */
static double element(const Npy *npy, int64_t i)
{
    if (npy->kind == 'f') return npy_get_f64(npy, i);
    int64_t bits = npy_get_i64(npy, i);
    return npy->kind == 'u' ? (double)(uint64_t)bits : (double)bits;
}

/* An element as the other array has them, if those are narrower floats: csim and simulations write what
 * integers stand for in float32 or float64, the interpreter rounds it to the network's type. */
static double narrowed(const Npy *npy, const Npy *other, double x)
{
    int kind = other->item == 4 ? TYPE_F32 : TYPE_F16;
    if (npy->kind != 'f' || other->kind != 'f' || npy->item <= other->item) return x;
    return float_from_bits(kind, float_to_bits(kind, x));
}

static bool is_equal(const Npy *a, const Npy *b, int64_t i)
{
    double x = narrowed(a, b, element(a, i)), y = narrowed(b, a, element(b, i));
    bool are_integers = a->kind != 'f' && b->kind != 'f';
    if (are_integers && npy_get_i64(a, i) != npy_get_i64(b, i)) return false;
    return x == y || (isnan(x) && isnan(y));
}

/* A number that is not negative, and where it ends; NULL: it is none. */
static const char *parse_distance(const char *text, double *out)
{
    char *end = NULL;
    *out = strtod(text, &end);
    return end != text && *out >= 0 && isfinite(*out) ? end : NULL;
}

bool trace_parse_tolerance(const char *text, TraceTolerance *out)
{
    *out = (TraceTolerance){0};
    const char *end = parse_distance(text, &out->absolute);
    if (end && *end == ',') end = parse_distance(end + 1, &out->relative);
    return end && *end == '\0';
}

TraceDifference trace_difference(const Npy *a, const Npy *b, TraceTolerance tolerance)
{
    TraceDifference d = {.shapes_differ = !is_same_shape(a, b), .first = -1};
    for (int64_t i = 0; !d.shapes_differ && i < a->count; i++) {
        if (is_equal(a, b, i)) continue;
        double distance = fabs(element(a, i) - element(b, i));
        if (isnan(distance)) distance = INFINITY;
        double allowed = tolerance.absolute + tolerance.relative * fabs(element(b, i));
        if (allowed > 0 && isfinite(distance) && distance <= allowed) continue;
        if (d.first < 0) d.first = i;
        d.greatest = distance > d.greatest ? distance : d.greatest;
        d.count++;
    }
    return d;
}

bool trace_read_npy(const char *path, Npy *out, StrBuf *why)
{
    StrBuf bytes = {0}, reason = {0};
    const char *error = NULL;
    bool ok = file_read(&bytes, path, &error);
    if (!ok)
        strbuf_fail(why, "cannot read '%s': %s", path, error);
    else if (!npy_parse(strbuf_str(&bytes), out, &reason))
        ok = strbuf_fail(why, "%s: %s", path, reason.data);
    strbuf_free(&bytes);
    strbuf_free(&reason);
    return ok;
}

/* How many scores of a frame are before that of the label. */
static int64_t rank_of(const Npy *scores, int64_t begin, int64_t size, int64_t label)
{
    int64_t before = 0;
    double own = element(scores, begin + label);
    for (int64_t i = 0; i < size; i++) {
        double other = element(scores, begin + i);
        before += other > own || (other == own && i < label);
    }
    return before;
}

static void add_hits(StrBuf *out, int best, int64_t hits, int64_t frames)
{
    strbuf_printf(out, "top-%d %.2f %% (%lld of %lld)", best, 100.0 * (double)hits / (double)frames,
                  (long long)hits, (long long)frames);
}

bool trace_accuracy(const Npy *scores, int64_t frames, const Npy *labels, StrBuf *out, StrBuf *why)
{
    enum { MANY = 5 };
    int64_t size = frames > 0 ? scores->count / frames : 0, first = 0, many = 0;
    if (labels->kind == 'f') return strbuf_fail(why, "labels are integers, not floats");
    if (labels->count != frames || frames == 0)
        return strbuf_fail(why, "there are %lld labels for %lld frames", (long long)labels->count,
                           (long long)frames);
    for (int64_t i = 0; i < frames; i++) {
        int64_t label = npy_get_i64(labels, i);
        if (label < 0 || label >= size)
            return strbuf_fail(why, "label %lld of frame %lld is none of %lld scores",
                               (long long)label, (long long)i, (long long)size);
        int64_t rank = rank_of(scores, i * size, size, label);
        first += rank == 0;
        many += rank < MANY;
    }
    add_hits(out, 1, first, frames);
    strbuf_add_c(out, ", ");
    add_hits(out, MANY, many, frames);
    strbuf_add_char(out, '\n');
    return true;
}
