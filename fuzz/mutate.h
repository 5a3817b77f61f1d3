/* Random changes of an input. */
#ifndef MING_FUZZ_MUTATE_H
#define MING_FUZZ_MUTATE_H

#include "ir/support/support.h"

/* Appends the bytes with one to four changes: of a byte, a number, a word or a line, by removing,
 * repeating or moving pieces, or by pieces of another input. *state: of fuzz_random. */
void fuzz_mutate(Str bytes, Str other, uint64_t *state, StrBuf *out);

/* How many texts fuzz_set_number makes of one: a few for each of its numbers. */
size_t fuzz_count_settings(Str text);
/* Appends the text with one number set to one of the values where sums and products overflow, or
 * types, loops and lists end. which < fuzz_count_settings(text). */
void fuzz_set_number(Str text, size_t which, StrBuf *out);

/* What fuzz_mutate does, of an ONNX file, which as a rule stays one: attributes, types, data and
 * nodes change. */
void fuzz_mutate_onnx(Str bytes, Str other, uint64_t *state, StrBuf *out);

/* A module, or one function of it, with other element types: i16 for i8, f64 for f32. */
void fuzz_mutate_types(Str text, uint64_t *state, StrBuf *out);

#endif
