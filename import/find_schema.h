/* Not compiled: the build asks the preprocessor where this file is found. */
#include <onnx/onnx.proto>
