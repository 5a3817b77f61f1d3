/* Every pass the tools offer: within levels, between them, and device-dependent ones. */
#ifndef MING_TOOLS_ALL_PASSES_H
#define MING_TOOLS_ALL_PASSES_H

#include "ir/pass/pass.h"

/* Sorted by name. */
const PassTable *all_passes(void);

/* Stages of ming compile as pipelines write them: on functions of onnx ops, on functions behind
 * convert-onnx-to-linalg, on the module behind that. */
extern const char passes_to_fold[], passes_on_linalg[], passes_to_stream[];

/* All passes before those that depend on the device, for a pipeline on modules. top: name of the top
 * function, or NULL for the network's. */
void add_front_passes(StrBuf *out, const char *top);

#endif
