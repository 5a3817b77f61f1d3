/* Not compiled: the build runs the preprocessor on this file to learn where the ONNX schema is. */
#include <onnx/onnx.proto>
