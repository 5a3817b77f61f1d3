/* The attributes of upstream's sparse_tensor dialect, which tensor types have as encodings. Its ops
 * are not implemented; ming checks and prints these attributes but does not use them.
 * Tests: lit/dialects/sparse_tensor */
#ifndef MING_DIALECTS_SPARSE_TENSOR_SPARSE_TENSOR_H
#define MING_DIALECTS_SPARSE_TENSOR_SPARSE_TENSOR_H

#include "ir/core/core.h"

extern const DialectDef sparse_tensor_dialect;
extern const AttrDef sparse_tensor_encoding, sparse_tensor_slice;

#endif
