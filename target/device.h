/* Device descriptions: XML files that give a part and its resources. They are read without network,
 * external entities or document types; a file above 1 MiB is refused.
 * Tests: test/unit/device_test.c, lit/tools/device.mir */
#ifndef MING_TARGET_DEVICE_H
#define MING_TARGET_DEVICE_H

#include "ir/context.h"

typedef struct Device {
    Str name, part; /* in the context's arena */
    int64_t lut, ff, bram18, uram, dsp;
} Device;

/* False: diagnosed, naming the file. */
bool device_read(Context *ctx, const char *path, Device *out) MUST_CHECK;

#endif
