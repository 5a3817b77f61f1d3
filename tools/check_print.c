/* The report of ming check as a table for people: a row per layer, and below a layer that does not
 * compile why, and what would help.
 * Tests: lit/tools/ming-check.test */
#include "dialects/onnx/onnx.h"
#include "tools/check.h"

enum { COLUMNS = 8, FIRST_NUMBER = 3 };

static const char *const status_names[] = {
    [LAYER_NOT_CHECKED] = "not checked", [LAYER_UNSUPPORTED] = "unsupported",
    [LAYER_COMPILES] = "compiles",       [LAYER_FOLDED] = "folded away",
    [LAYER_LEFT_OUT] = "left out",
};

/* --- hints ----------------------------------------------------------------------------------- */

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
    {"no fixed size", "give the inputs' shapes with --input-shape=name:1x3x32x32"},
    {"opset", "convert the model to an opset up to 21"},
    {"constant", "make it an initializer: export with constant folding, in inference mode"},
    {"floating point", "quantize its input and its weights"},
    {"", "leave it to the host: --to names the last tensor before it, --from the first behind it"},
};

static bool contains(Str text, const char *words)
{
    size_t length = strlen(words);
    for (size_t i = 0; i + length <= text.len; i++)
        if (memcmp(text.data + i, words, length) == 0)
            return true;
    return length == 0;
}

static const char *hint_for(const Layer *layer)
{
    const struct Hint *hint = hints;
    while (!contains(layer->reason, hint->words))
        hint++;
    return hint->hint;
}

/* --- cells ----------------------------------------------------------------------------------- */

typedef struct Row {
    StrBuf cell[COLUMNS];
} Row;
typedef VEC(Row) Rows;

static void add_number(StrBuf *out, int64_t value)
{
    if (value < 0)
        strbuf_add_char(out, '-');
    else
        strbuf_add_int(out, value);
}

/* "i8", "i4-i8", "f32" */
static void add_range(StrBuf *out, char letter, uint32_t low, uint32_t high)
{
    if (high == 0)
        return;
    if (out->len > 0)
        strbuf_add_char(out, ',');
    strbuf_printf(out, "%c%u", letter, low);
    if (high > low)
        strbuf_printf(out, "-%c%u", letter, high);
}

static void add_widths(StrBuf *out, const Widths *widths)
{
    add_range(out, 'i', widths->int_low, widths->int_high);
    add_range(out, 'f', widths->float_low, widths->float_high);
    if (out->len == 0)
        strbuf_add_char(out, '-');
}

static void add_costs(Row *row, const Layer *layer)
{
    add_number(&row->cell[3], layer->parameters);
    add_number(&row->cell[4], layer->macs);
    add_widths(&row->cell[5], &layer->weights);
    add_widths(&row->cell[6], &layer->input);
    add_widths(&row->cell[7], &layer->output);
}

static void add_titles(Rows *rows)
{
    static const char *const titles[COLUMNS] = {"node",       "operator", "status", "parameters",
                                                "MACs", "weights",  "input",  "output"};
    Row *row = vec_push(rows);
    *row = (Row){0};
    for (int i = 0; i < COLUMNS; i++)
        strbuf_add_c(&row->cell[i], titles[i]);
}

static void add_layer(Rows *rows, const Layer *layer)
{
    Row *row = vec_push(rows);
    *row = (Row){0};
    onnx_add_escaped(&row->cell[0], layer->name);
    onnx_add_escaped(&row->cell[1], layer->op_type);
    strbuf_add_c(&row->cell[2], status_names[layer->status]);
    add_costs(row, layer);
}

static void add_to(int64_t *sum, int64_t more)
{
    if (more > 0 && !add_i64(*sum, more, sum))
        *sum = INT64_MAX;
}

static void add_total(Rows *rows, const Check *check)
{
    Layer total = {.name = STR("total"), .op_type = STR("")};
    for (const Layer *layer = check->layers; layer < check->layers + check->count; layer++) {
        add_to(&total.parameters, layer->parameters);
        add_to(&total.macs, layer->macs);
        widths_add(&total.weights, &layer->weights);
        widths_add(&total.input, &layer->input);
        widths_add(&total.output, &layer->output);
    }
    Row *row = vec_push(rows);
    *row = (Row){0};
    strbuf_add_str(&row->cell[0], total.name);
    strbuf_add_c(&row->cell[1], "");
    strbuf_add_c(&row->cell[2], "");
    add_costs(row, &total);
}

/* --- text ------------------------------------------------------------------------------------ */

/* Characters of UTF-8 text. */
static size_t shown_width(const StrBuf *text)
{
    size_t width = 0;
    for (size_t i = 0; i < text->len; i++)
        width += ((unsigned char)text->data[i] & 0xc0) != 0x80;
    return width;
}

static void pad(StrBuf *out, size_t count)
{
    while (count-- > 0)
        strbuf_add_char(out, ' ');
}

static void print_row(StrBuf *out, const Row *row, const size_t *widths)
{
    for (int i = 0; i < COLUMNS; i++) {
        size_t gap = widths[i] - shown_width(&row->cell[i]);
        pad(out, i > 0 ? 2 : 0);
        if (i >= FIRST_NUMBER)
            pad(out, gap);
        strbuf_add_str(out, strbuf_str(&row->cell[i]));
        if (i < FIRST_NUMBER)
            pad(out, gap);
    }
    strbuf_add_char(out, '\n');
}

static void print_line(StrBuf *out, const char *title, Str text)
{
    if (text.len == 0)
        return;
    strbuf_printf(out, "    %s: ", title);
    for (size_t i = 0; i < text.len; i++)
        strbuf_add_char(out, (unsigned char)text.data[i] < ' ' ? ' ' : text.data[i]);
    strbuf_add_char(out, '\n');
}

static void print_layer(StrBuf *out, const Layer *layer)
{
    print_line(out, "note", layer->remark);
    print_line(out, "reason", layer->reason);
    if (layer->reason.len > 0)
        print_line(out, "hint", str_from(hint_for(layer)));
}

static void print_verdict(const Check *check, StrBuf *out)
{
    size_t bad = 0;
    for (size_t i = 0; i < check->count; i++)
        bad += check->layers[i].status <= LAYER_UNSUPPORTED;
    if (check_compiles(check))
        strbuf_add_c(out, "\nThe network compiles.\n");
    else
        strbuf_printf(out, "\nThe network does not compile: %zu of %zu nodes are unsupported or "
                      "not checked.\n", bad, check->count);
}

void check_print_text(const Check *check, StrBuf *out)
{
    Rows rows = {0};
    size_t widths[COLUMNS] = {0};
    add_titles(&rows);
    for (size_t i = 0; i < check->count; i++)
        add_layer(&rows, &check->layers[i]);
    add_total(&rows, check);
    for (size_t r = 0; r < rows.len; r++)
        for (int i = 0; i < COLUMNS; i++) {
            size_t width = shown_width(&rows.data[r].cell[i]);
            widths[i] = width > widths[i] ? width : widths[i];
        }
    for (size_t r = 0; r < rows.len; r++) {
        print_row(out, &rows.data[r], widths);
        if (r > 0 && r <= check->count)
            print_layer(out, &check->layers[r - 1]);
        for (int i = 0; i < COLUMNS; i++)
            strbuf_free(&rows.data[r].cell[i]);
    }
    vec_free(&rows);
    print_verdict(check, out);
}
