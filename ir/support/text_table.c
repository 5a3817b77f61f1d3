/* Tables of aligned columns. Widths count characters of UTF-8, not bytes.
 * Tests: lit/tools/ming-sim.mir, test/unit/ir/support/support_test.c */
#include <stdlib.h>
#include <string.h>

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

/* Whether a byte is the first one of a character. */
static bool begins_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

static size_t character_count(Str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) count += begins_character(text.data[i]);
    return count;
}

static size_t shown_width(const StrBuf *text)
{
    return character_count(strbuf_str(text));
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

size_t text_table_width(const TextTable *table)
{
    size_t width = 2 * (table->columns - 1);
    for (size_t i = 0; i < table->columns; i++) width += column_width(table, i);
    return width;
}

/* Where character number `count` begins. */
static size_t offset_of(Str text, size_t count)
{
    size_t at = 0;
    while (at < text.len && count > 0) {
        do at++;
        while (at < text.len && !begins_character(text.data[at]));
        count--;
    }
    return at;
}

static const char ellipsis[] = "...";

/* How long texts are cut: `skip` bytes at the begin, then all but a head and a tail. */
typedef struct Cut {
    size_t width, head, skip; /* of the result and of its head, in characters */
} Cut;

/* "...head...tail", without the first dots if nothing is skipped. */
static void shorten(const StrBuf *text, const Cut *cut, StrBuf *out)
{
    Str all = strbuf_str(text);
    size_t dots = strlen(ellipsis);
    strbuf_clear(out);
    if (shown_width(text) <= cut->width) {
        strbuf_add_str(out, all);
        return;
    }
    size_t kept = cut->width - (cut->skip ? dots : 0);
    Str rest = {all.data + cut->skip, all.len - cut->skip};
    size_t shown = character_count(rest);
    if (cut->skip) strbuf_add_c(out, ellipsis);
    if (shown <= kept) {
        strbuf_add_str(out, rest);
        return;
    }
    size_t tail = offset_of(rest, shown - (kept - cut->head - dots));
    strbuf_add_str(out, (Str){rest.data, offset_of(rest, cut->head)});
    strbuf_add_c(out, ellipsis);
    strbuf_add_str(out, (Str){rest.data + tail, rest.len - tail});
}

/* A text of a column and what it is shortened to. */
typedef struct Short {
    StrBuf *text;
    StrBuf brief;
    size_t row;
} Short;

/* By short text, then by text, so that those that no longer differ are neighbours. */
static int compare_shorts(const void *a, const void *b)
{
    const Short *x = a, *y = b;
    int order = str_cmp(strbuf_str(&x->brief), strbuf_str(&y->brief));
    return order ? order : str_cmp(strbuf_str(x->text), strbuf_str(y->text));
}

/* Cuts all texts alike. False: some that differ became the same. */
static bool shorten_all(Short *shorts, size_t rows, const Cut *cut)
{
    bool differ = true;
    for (size_t i = 0; i < rows; i++) shorten(shorts[i].text, cut, &shorts[i].brief);
    qsort(shorts, rows, sizeof *shorts, compare_shorts);
    for (size_t i = 1; i < rows; i++)
        differ &= !str_eq(strbuf_str(&shorts[i].brief), strbuf_str(&shorts[i - 1].brief)) ||
                  str_eq(strbuf_str(shorts[i].text), strbuf_str(shorts[i - 1].text));
    return differ;
}

/* Heads and tails of equal length if they tell the texts apart, else longer tails, else longer
 * heads. */
static bool shorten_somehow(Short *shorts, size_t rows, size_t width, size_t skip)
{
    size_t dots = strlen(ellipsis), kept = width - dots - (skip ? dots : 0), half = (kept + 1) / 2;
    for (size_t tail = kept - half; tail <= kept; tail++)
        if (shorten_all(shorts, rows, &(Cut){width, kept - tail, skip})) return true;
    for (size_t head = half + 1; head <= kept; head++)
        if (shorten_all(shorts, rows, &(Cut){width, head, skip})) return true;
    return false;
}

/* Bytes with which all texts that are too long begin, but not a part of a word. */
static size_t common_begin(const Short *shorts, size_t rows, size_t width)
{
    Str first = {NULL, 0};
    for (size_t i = 0; i < rows; i++) {
        Str text = strbuf_str(shorts[i].text);
        if (shown_width(shorts[i].text) <= width) continue;
        size_t len = 0;
        while (first.data && len < first.len && len < text.len && first.data[len] == text.data[len])
            len++;
        first = first.data ? (Str){first.data, len} : text;
    }
    while (first.len > 0 && !strchr("/_.:", first.data[first.len - 1])) first.len--;
    return first.len;
}

/* The begin of each text and the number of its row, where the ends do not tell them apart. */
static void number_all(Short *shorts, size_t rows, size_t width)
{
    StrBuf mark = {0};
    for (size_t i = 0; i < rows; i++) {
        Str all = strbuf_str(shorts[i].text);
        if (shown_width(shorts[i].text) <= width) continue;
        strbuf_clear(&mark);
        strbuf_printf(&mark, "%s%zu", ellipsis, shorts[i].row);
        strbuf_clear(&shorts[i].brief);
        strbuf_add_str(&shorts[i].brief,
                       (Str){all.data, offset_of(all, width > mark.len ? width - mark.len : 0)});
        strbuf_add_str(&shorts[i].brief, strbuf_str(&mark));
    }
    strbuf_free(&mark);
}

static void shorten_column(Short *shorts, size_t rows, size_t width)
{
    if (shorten_somehow(shorts, rows, width, 0)) return;
    size_t skip = common_begin(shorts, rows, width);
    bool has_room = width > 3 * strlen(ellipsis);
    if (skip > 0 && has_room && shorten_somehow(shorts, rows, width, skip)) return;
    number_all(shorts, rows, width);
}

void text_table_narrow(TextTable *table, size_t column, size_t least, size_t most)
{
    size_t all = text_table_width(table), own = column_width(table, column), rows = 0;
    if (all <= most || own <= least) return;
    size_t width = own - least > all - most ? own - (all - most) : least;
    Short *shorts = xcalloc(table->cells.len / table->columns + 1, sizeof *shorts);
    for (size_t i = column; i < table->cells.len; i += table->columns, rows++)
        shorts[rows] = (Short){.text = &table->cells.data[i], .row = rows};
    shorten_column(shorts, rows, width);
    for (size_t i = 0; i < rows; i++) {
        strbuf_free(shorts[i].text);
        *shorts[i].text = shorts[i].brief;
    }
    free(shorts);
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
