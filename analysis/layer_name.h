/* Identifiers for processes, ports and streams, derived from layer names. Whatever a model calls
 * its layers, the result is a C++ identifier that is no keyword.
 * Tests: test/unit/names_test.c */
#ifndef MING_LOWERING_NAMES_H
#define MING_LOWERING_NAMES_H

#include "ir/core/op.h"

enum { NAME_MAX_LENGTH = 64 };

/* Appends raw as an identifier: lower-case letters, digits and single underscores. */
void identifier_append(StrBuf *out, Str raw);
/* C++ keywords, and names that the headers of the emitted code need. */
bool identifier_is_reserved(Str word);
/* The model's name of a kernel (attribute dfg.name), or an empty Str. */
Str layer_name_source(const Op *op);
/* Identifier of a linalg.generic, dfg.reorder or dfg.merge: from the model's name, else from what it
 * is: conv, pool, matmul, reduce, map, reorder, merge. */
void layer_name_append(StrBuf *out, const Op *generic);

#endif
