/* What a placed design takes of its dies and of the wires between them: in report.json, as a table,
 * and as a drawing. All figures are the cost model's.
 * Tests: lit/emit/dies.test, test/e2e/dies_check.py */
#ifndef MING_EMIT_DIES_DIES_H
#define MING_EMIT_DIES_DIES_H

#include "ir/core/core.h"
#include "ir/support/support.h"

/* Each adds nothing if the design is not placed. */

/* Members of report.json. fifos: stream op -> const char *, its name in the report. */
void dies_print_json(const Op *design, const PtrMap *fifos, JsonWriter *w);
/* A row per die, and a line about the streams between them. */
void dies_print_table(const Op *design, StrBuf *out);
/* An SVG document of the dies, their kernels and the streams between them. False: not placed. */
bool dies_print_svg(const Op *design, StrBuf *out) MUST_CHECK;

#endif
