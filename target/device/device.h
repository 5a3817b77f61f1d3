/* Device descriptions: XML files that give a part, what each of its dies offers, and how much of it
 * a design should take. They are checked against the schema beside them (target/devices/device.xsd),
 * and read without network, external entities or document types; a file above 1 MiB is refused.
 * Tests: test/unit/device_test.c, lit/tools/device*.mir */
#ifndef MING_TARGET_DEVICE_H
#define MING_TARGET_DEVICE_H

#include "ir/attr/context.h"

enum { DEVICE_MAX_DIES = 8, DEVICE_MAX_MEMORIES = 4, DEVICE_MAX_SHELLS = 8 };

/* Counts, or percentages of them. */
typedef struct Resources {
    int64_t lut, ff, bram18, uram, dsp;
} Resources;

/* Resources under a name: a die, or a controller of the shell. */
typedef struct NamedResources {
    Str name;
    Resources resources;
} NamedResources;

typedef struct DeviceMemory {
    Str kind, shapes; /* shapes: depth x width in bits, separated by blanks */
    bool has_contents; /* may be initialized by the bitstream */
} DeviceMemory;

/* Texts live in the context. */
typedef struct Device {
    Str name, title, part, dsp_kind;
    int64_t clock_default, clock_maximum; /* MHz */
    Resources total;                      /* of all dies */
    NamedResources dies[DEVICE_MAX_DIES]; /* neighbours in order */
    uint32_t die_count;
    int64_t sll, ethernet; /* wires between neighbouring dies; Gb/s between cards */
    DeviceMemory memories[DEVICE_MAX_MEMORIES];
    uint32_t memory_count;
    NamedResources shells[DEVICE_MAX_SHELLS];
    uint32_t shell_count;
    Resources percent;    /* recommended utilization */
    int64_t mean_percent; /* of BRAM, URAM and DSP together */
} Device;

/* schema: path of device.xsd. False: diagnosed, naming the file and the line. */
bool device_read(Context *ctx, const char *path, const char *schema, Device *out) MUST_CHECK;

/* `percent` (1 to 100) of the device's resources, rounded down; 0: the recommended shares. */
Resources device_budget(const Device *device, int64_t percent);

#endif
