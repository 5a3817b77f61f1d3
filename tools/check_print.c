/* The report of ming check as a table for people: a row per layer, and below a layer that does not
 * compile why, and what would help.
 * Tests: lit/tools/ming-check.test */
#include "dialects/onnx/onnx.h"
#include "tools/check.h"

enum { COLUMNS = 8, FIRST_NUMBER = 3 };

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

static void add_costs(Row *row, const Layer *layer)
{
    add_number(&row->cell[3], layer->parameters);
    add_number(&row->cell[4], layer->macs);
    widths_print(&layer->weights, &row->cell[5]);
    widths_print(&layer->input, &row->cell[6]);
    widths_print(&layer->output, &row->cell[7]);
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
    strbuf_add_c(&row->cell[2], check_status(layer));
    add_costs(row, layer);
}

static void add_total(Rows *rows, const Check *check)
{
    const Layer total = check_total(check);
    Row *row = vec_push(rows);
    *row = (Row){0};
    strbuf_add_c(&row->cell[0], "total");
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
    print_line(out, "hint", check_hint(layer));
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
