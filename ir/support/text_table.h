/* Tables for people: words to the left, numbers to the right, columns as wide as they need.
 * Tests: lit/tools/ming-sim.mir */
#ifndef MING_IR_TEXT_TABLE_H
#define MING_IR_TEXT_TABLE_H

#include "ir/support/support.h"

typedef struct TextTable {
    size_t columns, first_number; /* columns from first_number on hold numbers */
    VEC(StrBuf) cells;            /* row by row */
    size_t *widths;               /* of the columns, once a row was printed */
} TextTable;

/* Cells are added before any row is printed. The next one, empty: valid until the one after. */
StrBuf *text_table_cell(TextTable *table);
void text_table_add(TextTable *table, const char *text);
void text_table_add_int(TextTable *table, int64_t value);
/* A count, or `-` for one that is not known (negative). */
void text_table_add_count(TextTable *table, int64_t count);
/* One line, with its end; rows count from 0. The last row may lack cells. */
void text_table_print_row(TextTable *table, size_t row, StrBuf *out);
void text_table_print(TextTable *table, StrBuf *out);
void text_table_free(TextTable *table);

#endif
