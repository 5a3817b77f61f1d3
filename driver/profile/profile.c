/* Statistics of the tensors of a function.
 * Tests: lit/driver/profile.test */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"
#include "driver/profile/internal.h"

static double number_of(const Array *array, int64_t i)
{
    if (array_is_float(array)) return array_get_f64(array, i);
    const Type *elem = array->elem;
    int64_t value = array_get_i64(array, i);
    bool is_unsigned =
        type_is_integer(elem) && (elem->u.integer.sign == UNSIGNED || type_width(elem) == 1);
    uint32_t spare = is_unsigned ? 64 - type_width(elem) : 0;
    return is_unsigned ? (double)((uint64_t)value << spare >> spare) : (double)value;
}

static void count_magnitude(Statistics *s, double x)
{
    int exponent;
    if (x == 0) {
        s->zeros++;
        return;
    }
    (void)frexp(x, &exponent); /* |x| in [2^(exponent - 1), 2^exponent) */
    int64_t place = i64_max(0, exponent - 1 - PROFILE_LEAST);
    s->magnitudes[i64_min(place, PROFILE_MAGNITUDES - 1)]++;
}

/* The array's own mean and squares, then both together: T. Chan et al., Updating formulae and a
 * pairwise algorithm for computing sample variances (1979), formula 2.1. */
static void add_array(ProfileTensor *tensor, const Array *array)
{
    Statistics *s = &tensor->s;
    double sum = 0, squares = 0, before = (double)profile_finite(s), count = 0;
    for (int64_t i = 0; i < array->count; i++) {
        double x = number_of(array, i);
        s->count++;
        if (!isfinite(x)) {
            s->strange++;
            continue;
        }
        bool is_first = profile_finite(s) == 1;
        s->least = is_first || x < s->least ? x : s->least;
        s->greatest = is_first || x > s->greatest ? x : s->greatest;
        s->saturated += tensor->has_levels && (x <= tensor->low || x >= tensor->high);
        count_magnitude(s, x);
        sum += x;
        count++;
    }
    if (count == 0) return;
    double mean = sum / count, apart = mean - s->mean;
    for (int64_t i = 0; i < array->count; i++) {
        double x = number_of(array, i);
        if (isfinite(x)) squares += (x - mean) * (x - mean);
    }
    s->squares += squares + apart * apart * before * count / (before + count);
    s->mean += apart * count / (before + count);
}

/* The lowest and the highest level of a quantizer with one scale, half a step to the inside, since
 * levels are rounded. */
static void find_levels(ProfileTensor *tensor)
{
    const Op *op = tensor->op;
    const Type *elem = type_elem(op_result(op, 0)->type);
    Quantizer quant;
    double scale;
    StrBuf why = {0};
    if (op->def == ONNX(QUANT) && onnx_quantizer(op, &quant, &why) &&
        onnx_dense_uniform(quant.scales, &scale)) {
        tensor->has_levels = true;
        tensor->low = ((double)(quant.low - quant.zero) + 0.5) * scale;
        tensor->high = ((double)(quant.high - quant.zero) - 0.5) * scale;
    } else if (op->def == ONNX(QUANTIZE_LINEAR) && type_is_integer(elem) && type_width(elem) < 53) {
        bool is_unsigned = elem->u.integer.sign == UNSIGNED;
        double levels = onnx_exact_pow2((int)type_width(elem));
        tensor->has_levels = true;
        tensor->low = is_unsigned ? 0 : -levels / 2;
        tensor->high = tensor->low + levels - 1;
    }
    strbuf_free(&why);
}

static bool is_constant(const Profile *p, const Value *value)
{
    const Op *op = value_def(value);
    uintptr_t first = op ? (uintptr_t)ptrmap_get(&p->first, op) : 0;
    return op && (op->operand_count == 0 || (first > 0 && p->tensors.data[first - 1].is_constant));
}

/* Weights that an op reads as they are: constants of several numbers, but for parameters of
 * quantizers, shapes and indices. */
static void add_weights(Profile *p, const Op *op, Str name)
{
    StrBuf text = {0};
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const Attr *value = onnx_constant(op_operand(op, i));
        const Type *elem = value ? type_elem(value->type) : NULL;
        Array *array =
            elem && (type_is_float(elem) || type_width(elem) < 64) ? array_from_attr(value) : NULL;
        if (array && array->count > 1) {
            const Attr *own = op_attr(value_def(op_operand(op, i)), ONNX_ATTR_NAME);
            strbuf_clear(&text);
            if (own && own->kind == ATTR_STRING)
                strbuf_add_str(&text, own->u.string);
            else
                strbuf_printf(&text, "%.*s input %u", STR_ARG(name), i);
            ProfileTensor tensor = {.name = ident_get(op->ctx, strbuf_str(&text))->str,
                                    .is_constant = true};
            add_array(&tensor, array);
            *vec_push(&p->tensors) = tensor;
        }
        array_unref(array);
    }
    strbuf_free(&text);
}

static void add_tensor(void *user, Op *op, uint32_t result, Str name)
{
    Profile *p = user;
    ProfileTensor tensor = {
        .name = ident_get(op->ctx, name)->str, .op = op, .result = result, .is_constant = true};
    for (uint32_t i = 0; i < op->operand_count; i++)
        tensor.is_constant &= is_constant(p, op_operand(op, i));
    if (result == 0) {
        if (!tensor.is_constant) add_weights(p, op, tensor.name);
        find_levels(&tensor);
        ptrmap_put(&p->first, op, (void *)(uintptr_t)(p->tensors.len + 1));
    }
    *vec_push(&p->tensors) = tensor;
}

Profile *profile_create(const Op *func)
{
    Profile *p = xcalloc(1, sizeof *p);
    tensor_names_each(func, add_tensor, p);
    return p;
}

void profile_free(Profile *p)
{
    if (!p) return;
    vec_free(&p->tensors);
    ptrmap_free(&p->first);
    free(p);
}

static bool see_results(void *user, const Op *op, Array *const *results)
{
    Profile *p = user;
    uintptr_t first = (uintptr_t)ptrmap_get(&p->first, op);
    for (uint32_t r = 0; first > 0 && r < op->result_count; r++) {
        ProfileTensor *tensor = &p->tensors.data[first - 1 + r];
        bool is_new = !tensor->is_constant || tensor->s.count == 0;
        if (results[r] && is_new) add_array(tensor, results[r]);
    }
    return true;
}

InterpWatch profile_watch(Profile *p)
{
    return (InterpWatch){p, see_results};
}
