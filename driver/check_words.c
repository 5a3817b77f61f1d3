/* What the reports of ming check have in common: words for statuses, hints, element types, and the
 * sums over all layers.
 * Tests: lit/driver/ming-check* */
#include "driver/driver.h"

static const char *const status_names[] = {
    [LAYER_NOT_CHECKED] = "not checked", [LAYER_UNSUPPORTED] = "unsupported",
    [LAYER_COMPILES] = "compiles",       [LAYER_FOLDED] = "folded away",
    [LAYER_LEFT_OUT] = "left out",
};

const char *check_status(const CheckLayer *layer)
{
    return status_names[layer->status];
}

/* What helps against reasons with such words, the first that fits. */
static const struct Hint {
    const char *words, *hint;
} hints[] = {
    {"runs a graph of its own",
     "export the model for fixed inputs, so that it has no control flow"},
    {"supported in the domain",
     "export with the standard operators, or let the file define this one as a function"},
    {"what is not supported",
     "check this part by itself: name its first tensor with --from, and give the shape with "
     "--input-shape"},
    {"hape is not known", "give the inputs' shapes with --input-shape=name:1x3x32x32"},
    {"unknown shape", "give the inputs' shapes with --input-shape=name:1x3x32x32"},
    {"needs constant", "make it an initializer: export with constant folding"},
    {"must be a constant", "make it an initializer: export with constant folding"},
    {"that is no constant", "make it an initializer: export with constant folding"},
    {"", "leave it to the host: --to names the last tensor before it, --from the first behind it"},
};

static bool contains(Str text, const char *words)
{
    size_t length = strlen(words);
    for (size_t i = 0; i + length <= text.len; i++)
        if (memcmp(text.data + i, words, length) == 0) return true;
    return length == 0;
}

Str check_hint(const CheckLayer *layer)
{
    if (layer->reason.len == 0) return STR("");
    const struct Hint *hint = hints;
    while (!contains(layer->reason, hint->words)) hint++;
    return str_from(hint->hint);
}

/* "i8", "i4-i8", "f32" */
static void add_range(StrBuf *out, char letter, uint32_t low, uint32_t high)
{
    if (high == 0) return;
    if (out->len > 0) strbuf_add_char(out, ',');
    strbuf_printf(out, "%c%u", letter, low);
    if (high > low) strbuf_printf(out, "-%c%u", letter, high);
}

void check_widths_print(const Widths *widths, StrBuf *out)
{
    add_range(out, 'i', widths->int_low, widths->int_high);
    add_range(out, 'f', widths->float_low, widths->float_high);
    if (out->len == 0) strbuf_add_char(out, '-');
}

static void add_to(int64_t *sum, int64_t more)
{
    if (more > 0 && !i64_add(*sum, more, sum)) *sum = INT64_MAX;
}

CheckLayer check_total(const Check *check)
{
    CheckLayer total = {.status = LAYER_COMPILES};
    for (const CheckLayer *layer = check->layers; layer < check->layers + check->count; layer++) {
        add_to(&total.parameters, layer->parameters);
        add_to(&total.macs, layer->macs);
        check_widths_add(&total.weights, &layer->weights);
        check_widths_add(&total.input, &layer->input);
        check_widths_add(&total.output, &layer->output);
    }
    return total;
}
