/* Errors of quantized activations. The float network runs first and its values are kept; then the
 * quantized network is compared with them as it runs.
 *   signal / noise = sum x^2 / sum (x - q)^2, over all elements and frames
 * Tests: lit/driver/quantize.mir, test/e2e/quantize_check.py */
#include <math.h>
#include <stdlib.h>

#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"
#include "sim/interp/interp.h"

typedef struct NoiseRow {
    const Op *quantize;     /* whose scale and type it is */
    const Value *reference; /* in the float function */
    Array *expected;        /* its value in this frame */
    double largest, signal, noise;
} NoiseRow;

struct QuantNoise {
    const Op *reference_func, *quantized_func;
    Interp *reference, *quantized;
    VEC(NoiseRow) rows;
    PtrMap by_reference; /* Value* -> number of the row + 1 */
    PtrMap by_result;    /* Op* that dequantizes -> number of the row + 1 */
};

static NoiseRow *find_row(QuantNoise *noise, const PtrMap *map, const void *key)
{
    uintptr_t number = (uintptr_t)ptrmap_get(map, key);
    return number ? &noise->rows.data[number - 1] : NULL;
}

static bool see_reference(void *user, const Op *op, Array *const *results)
{
    QuantNoise *noise = user;
    for (uint32_t i = 0; i < op->result_count; i++) {
        NoiseRow *row = find_row(noise, &noise->by_reference, op_result(op, i));
        if (row) row->expected = array_ref(results[i]);
    }
    return true;
}

static void compare(NoiseRow *row, const Array *got)
{
    for (int64_t i = 0; i < got->count; i++) {
        double want = array_get_f64(row->expected, i), off = want - array_get_f64(got, i);
        row->largest = fabs(off) > row->largest ? fabs(off) : row->largest;
        row->signal += want * want;
        row->noise += off * off;
    }
}

static bool see_quantized(void *user, const Op *op, Array *const *results)
{
    QuantNoise *noise = user;
    NoiseRow *row = find_row(noise, &noise->by_result, op);
    if (row) compare(row, results[0]);
    return true;
}

static bool run(Interp *interp, const Op *func, Array *const *inputs)
{
    uint32_t count = func_type(func)->u.function.result_count;
    Array **results = xcalloc(count, sizeof *results);
    bool ok = interp_run(interp, inputs, results);
    for (uint32_t i = 0; i < count; i++) array_unref(results[i]);
    free(results);
    return ok;
}

bool quant_noise_run(QuantNoise *noise, Array *const *inputs)
{
    const Block *entry = func_entry(noise->reference_func);
    for (uint32_t i = 0; i < entry->arg_count; i++) {
        NoiseRow *row = find_row(noise, &noise->by_reference, entry->args[i]);
        if (row) row->expected = array_ref(inputs[i]);
    }
    bool ok = run(noise->reference, noise->reference_func, inputs) &&
              run(noise->quantized, noise->quantized_func, inputs);
    for (size_t i = 0; i < noise->rows.len; i++) {
        array_unref(noise->rows.data[i].expected);
        noise->rows.data[i].expected = NULL;
    }
    return ok;
}

/* A row per DequantizeLinear of an activation. */
static void find_rows(QuantNoise *noise, const PtrMap *copies)
{
    FOR_EACH_OP(op, func_entry(noise->quantized_func)) {
        const Op *quantize =
            op->def == ONNX(DEQUANTIZE_LINEAR) ? value_def(op_operand(op, 0)) : NULL;
        if (!quantize || quantize->def != ONNX(QUANTIZE_LINEAR)) continue;
        const Value *reference = ptrmap_get(copies, op_operand(quantize, 0));
        if (!reference) continue;
        *vec_push(&noise->rows) = (NoiseRow){.quantize = quantize, .reference = reference};
        ptrmap_put(&noise->by_reference, reference, (void *)(uintptr_t)noise->rows.len);
        ptrmap_put(&noise->by_result, op, (void *)(uintptr_t)noise->rows.len);
    }
}

QuantNoise *quant_noise_create(const Op *quantized, const Op *reference, const PtrMap *copies)
{
    QuantNoise *noise = xcalloc(1, sizeof *noise);
    noise->reference_func = reference;
    noise->quantized_func = quantized;
    noise->reference = interp_create(reference);
    noise->quantized = noise->reference ? interp_create(quantized) : NULL;
    if (!noise->quantized) {
        quant_noise_free(noise);
        return NULL;
    }
    find_rows(noise, copies);
    interp_watch(noise->reference, (InterpWatch){noise, see_reference});
    interp_watch(noise->quantized, (InterpWatch){noise, see_quantized});
    return noise;
}

void quant_noise_free(QuantNoise *noise)
{
    if (!noise) return;
    interp_free(noise->reference);
    interp_free(noise->quantized);
    ptrmap_free(&noise->by_reference);
    ptrmap_free(&noise->by_result);
    vec_free(&noise->rows);
    free(noise);
}

enum { NAME_WIDTH = 24, OPERATOR_WIDTH = 20, INTEGERS_WIDTH = 9 };

static void add_padded(StrBuf *out, Str text, size_t width)
{
    size_t begin = out->len;
    strbuf_add_escaped(out, text);
    do strbuf_add_char(out, ' ');
    while (out->len - begin < width);
}

/* The name that the file or the function has for a value. */
static void add_value(StrBuf *out, const Op *func, const Value *value)
{
    const Op *op = value_def(value);
    const Attr *attrs = op ? NULL : func_arg_attrs(func, value->index);
    const Attr *name = attrs ? attr_dict_get_c(attrs, DFG_ATTR_NAME) : NULL;
    Str known = name && name->kind == ATTR_STRING ? name->u.string : STR("argument");
    add_padded(out, op ? onnx_node_name(op) : known, NAME_WIDTH);
    add_padded(out, op ? str_from(op->def->name) : STR("input"), OPERATOR_WIDTH);
}

static void add_row(StrBuf *out, const Op *func, const NoiseRow *row)
{
    const Attr *scale = onnx_constant(op_operand(row->quantize, 1));
    const Type *elem = type_elem(op_result(row->quantize, 0)->type);
    bool is_unsigned = elem->u.integer.sign == UNSIGNED;
    add_value(out, func, row->reference);
    size_t begin = out->len;
    strbuf_printf(out, "%sint%u", is_unsigned ? "u" : "", type_width(elem));
    while (out->len - begin < INTEGERS_WIDTH) strbuf_add_char(out, ' ');
    strbuf_printf(out, "%-12.5g%-12.5g", dense_f64(scale, 0), row->largest);
    if (row->noise == 0.0)
        strbuf_add_c(out, "exact\n");
    else if (row->signal == 0.0)
        strbuf_add_c(out, "no signal\n");
    else
        strbuf_printf(out, "%.1f\n", 10.0 * log10(row->signal / row->noise));
}

void quant_noise_print(const QuantNoise *noise, StrBuf *out)
{
    add_padded(out, STR("layer"), NAME_WIDTH);
    add_padded(out, STR("operator"), OPERATOR_WIDTH);
    strbuf_printf(out, "%-9s%-12s%-12sSQNR (dB)\n", "integers", "scale", "max error");
    for (size_t i = 0; i < noise->rows.len; i++)
        add_row(out, noise->reference_func, &noise->rows.data[i]);
}
