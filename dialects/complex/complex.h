/* The attribute of upstream's complex dialect, a complex number, which types such as sparse
 * encodings contain. The dialect's ops are not implemented.
 * Tests: lit/dialects/sparse_tensor/encoding.mir */
#ifndef MING_DIALECTS_COMPLEX_COMPLEX_H
#define MING_DIALECTS_COMPLEX_COMPLEX_H

#include "ir/core/core.h"

extern const DialectDef complex_dialect;
/* Parameters: real and imaginary part, floats of the type's element type. */
extern const AttrDef complex_number;

#endif
