/* Shared by the sources of the ONNX importer. All report through a message text that the caller
 * puts behind the name of what it is about. */
#ifndef MING_IMPORT_IMPORT_IMPL_H
#define MING_IMPORT_IMPORT_IMPL_H

#include "import/import_onnx.h"
#include "onnx.pb-c.h"

/* --- wire.c ----------------------------------------------------------------------- */

/* Whether the bytes are a well-formed message whose nesting a recursive reader survives. */
bool wire_check(Str bytes, const ProtobufCMessageDescriptor *message, StrBuf *why) MUST_CHECK;

/* --- tensor.c ---------------------------------------------------------------------- */

/* Element type of a TensorProto.DataType; NULL: unknown, or not a number. */
const Type *import_elem_type(Context *ctx, int32_t data_type);
/* Dense elements of a tensor; folder as in ImportOptions. NULL: why tells. */
const Attr *import_tensor(Context *ctx, const Onnx__TensorProto *tensor, Str folder,
                          StrBuf *why) MUST_CHECK;

/* --- external.c --------------------------------------------------------------------- */

/* Contents of a tensor that lives in another file of the folder. The caller frees *data. */
bool external_read(const Onnx__TensorProto *tensor, Str folder, uint8_t **data, size_t *size,
                   StrBuf *why) MUST_CHECK;

/* --- attribute.c -------------------------------------------------------------------- */

/* The attribute in MLIR's terms: i64, f32, strings, array<i64>, array<f32>, dense elements. */
const Attr *import_attribute(Context *ctx, const Onnx__AttributeProto *proto, Str folder,
                             StrBuf *why) MUST_CHECK;

/* A protobuf string, which may be NULL. */
static inline Str import_text(const char *text)
{
    return text ? str_from(text) : STR("");
}

#endif
