/* Parts that both reports of ming check share: words for statuses, hints, element types, and the
 * sums over all layers.
 * Tests: lit/driver/ming-check* */
#include "driver/internal.h"

static const char *const status_names[] = {
    [LAYER_NOT_CHECKED] = "not checked", [LAYER_UNSUPPORTED] = "unsupported",
    [LAYER_COMPILES] = "compiles",       [LAYER_FOLDED] = "folded away",
    [LAYER_LEFT_OUT] = "left out",
};

const char *driver_check_status(const CheckLayer *layer)
{
    return status_names[layer->status];
}

static bool contains(Str text, const char *words)
{
    size_t length = strlen(words);
    for (size_t i = 0; i + length <= text.len; i++)
        if (memcmp(text.data + i, words, length) == 0) return true;
    return length == 0;
}

void driver_check_hint(const Check *check, const CheckLayer *layer, StrBuf *out)
{
    const CheckHint *row = check->hints;
    if (layer->reason.len == 0 || !row) return;
    while (row->words && !contains(layer->reason, row->words)) row++;
    if (!row->words) return;
    strbuf_add_c(out, row->hint);
    if (!row->cuts || layer->cuts.len == 0) return;
    strbuf_add_c(out, row->cuts);
    strbuf_add_str(out, layer->cuts);
}

/* "i8", "i4-i8", "f32" */
static void add_range(StrBuf *out, char letter, uint32_t low, uint32_t high)
{
    if (high == 0) return;
    if (out->len > 0) strbuf_add_char(out, ',');
    strbuf_printf(out, "%c%u", letter, low);
    if (high > low) strbuf_printf(out, "-%c%u", letter, high);
}

void driver_check_widths_print(const Widths *widths, StrBuf *out)
{
    add_range(out, 'i', widths->int_low, widths->int_high);
    add_range(out, 'f', widths->float_low, widths->float_high);
    if (out->len == 0) strbuf_add_char(out, '-');
}

static void add_to(int64_t *sum, int64_t more)
{
    if (more > 0 && !i64_add(*sum, more, sum)) *sum = INT64_MAX;
}

CheckLayer driver_check_total(const Check *check)
{
    CheckLayer total = {.status = LAYER_COMPILES};
    for (const CheckLayer *layer = check->layers; layer < check->layers + check->count; layer++) {
        add_to(&total.parameters, layer->parameters);
        add_to(&total.macs, layer->macs);
        driver_check_widths_add(&total.weights, &layer->weights);
        driver_check_widths_add(&total.input, &layer->input);
        driver_check_widths_add(&total.output, &layer->output);
    }
    return total;
}
