/* Cutting inputs at marker lines (--split-input-file).
 * Tests: lit/tools/split-input-file.mir, lit/tools/split-marker.mir, lit/tools/split-near-miss.mir */
#ifndef MING_TOOLS_SPLIT_INPUT_H
#define MING_TOOLS_SPLIT_INPUT_H

#include "ir/support/support.h"

typedef struct InputPiece {
    Str text;
    uint32_t line; /* of its start in the input */
} InputPiece;
typedef VEC(InputPiece) InputPieces;

/* Appends the pieces between markers. What looks like a marker but for its last two characters is
 * warned about on stderr, as upstream does; `name` is the input's. */
void split_input(InputPieces *out, Str text, Str marker, const char *name);

#endif
