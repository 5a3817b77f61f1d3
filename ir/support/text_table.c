/* Tables of aligned columns. Widths count characters of UTF-8, not bytes.
 * Tests: lit/tools/ming-sim.mir */
#include "ir/support/support.h"

StrBuf *text_table_cell(TextTable *table)
{
    StrBuf *cell = vec_push(&table->cells);
    *cell = (StrBuf){0};
    return cell;
}

void text_table_add(TextTable *table, const char *text)
{
    strbuf_add_c(text_table_cell(table), text);
}

void text_table_add_int(TextTable *table, int64_t value)
{
    strbuf_add_int(text_table_cell(table), value);
}

void text_table_add_count(TextTable *table, int64_t count)
{
    if (count < 0)
        text_table_add(table, "-");
    else
        text_table_add_int(table, count);
}

static size_t shown_width(const StrBuf *text)
{
    size_t width = 0;
    for (size_t i = 0; i < text->len; i++) width += ((unsigned char)text->data[i] & 0xc0) != 0x80;
    return width;
}

static void pad(StrBuf *out, size_t count)
{
    while (count-- > 0) strbuf_add_char(out, ' ');
}

static size_t column_width(const TextTable *table, size_t column)
{
    size_t widest = 0;
    for (size_t i = column; i < table->cells.len; i += table->columns) {
        size_t width = shown_width(&table->cells.data[i]);
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void find_widths(TextTable *table)
{
    if (table->widths) return;
    table->widths = xcalloc(table->columns, sizeof *table->widths);
    for (size_t i = 0; i < table->columns; i++) table->widths[i] = column_width(table, i);
}

void text_table_print_row(TextTable *table, size_t row, StrBuf *out)
{
    size_t first = row * table->columns;
    find_widths(table);
    for (size_t i = 0; i < table->columns && first + i < table->cells.len; i++) {
        const StrBuf *cell = &table->cells.data[first + i];
        size_t gap = table->widths[i] - shown_width(cell);
        bool is_last = i + 1 == table->columns;
        pad(out, i > 0 ? 2 : 0);
        if (i >= table->first_number) pad(out, gap);
        strbuf_add_str(out, strbuf_str(cell));
        if (i < table->first_number && !is_last) pad(out, gap);
    }
    strbuf_add_char(out, '\n');
}

void text_table_print(TextTable *table, StrBuf *out)
{
    for (size_t row = 0; row * table->columns < table->cells.len; row++)
        text_table_print_row(table, row, out);
}

void text_table_free(TextTable *table)
{
    for (size_t i = 0; i < table->cells.len; i++) strbuf_free(&table->cells.data[i]);
    vec_free(&table->cells);
    free_ptr((void **)&table->widths);
}
