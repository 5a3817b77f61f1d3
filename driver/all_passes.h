/* Every pass the tools offer: within levels, between them, and device-dependent ones. */
#ifndef MING_TOOLS_ALL_PASSES_H
#define MING_TOOLS_ALL_PASSES_H

#include "ir/pass/pass.h"

/* Sorted by name. */
const PassTable *driver_all_passes(void);

/* Stages of ming compile as pipelines write them: on functions of onnx ops, on functions behind
 * convert-onnx-to-linalg, on the module behind that. */
extern const char driver_passes_to_fold[], driver_passes_on_linalg[], driver_passes_to_stream[];

/* All passes before those that depend on the device, for a pipeline on modules. top: name of the top
 * function, or NULL for the network's. */
void driver_add_front_passes(StrBuf *out, const char *top);

#endif
