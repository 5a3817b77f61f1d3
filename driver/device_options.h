/* --device, --clock, --utilization and the single limits: what a design may be made of.
 * Tests: lit/tools/device*.mir */
#ifndef MING_TOOLS_DEVICE_OPTIONS_H
#define MING_TOOLS_DEVICE_OPTIONS_H

#include "target/device/device.h"
#include "driver/tool_support.h"

#define DEFAULT_DEVICE "kv260"
#define LIMIT_NOT_GIVEN INT64_MIN

/* LIMIT_NOT_GIVEN: the device's. */
typedef struct DeviceOptions {
    const char *device;
    int64_t clock;       /* MHz */
    int64_t utilization; /* percent */
    Resources limits;
} DeviceOptions;

#define DEVICE_OPTIONS_DEFAULTS                                                                    \
    {.device = DEFAULT_DEVICE,                                                                     \
     .clock = LIMIT_NOT_GIVEN,                                                                     \
     .utilization = LIMIT_NOT_GIVEN,                                                               \
     .limits = {LIMIT_NOT_GIVEN, LIMIT_NOT_GIVEN, LIMIT_NOT_GIVEN, LIMIT_NOT_GIVEN,                \
                LIMIT_NOT_GIVEN}}

#define DEVICE_FLAGS(options)                                                                      \
    {"device", FLAG_TEXT, &(options).device, "name",                                               \
     "Device as 'ming devices' lists them, or an .xml file that describes one, default "           \
     DEFAULT_DEVICE, NULL},                                                                        \
    {"clock", FLAG_INT, &(options).clock, "MHz", "Clock, default the device's", NULL},             \
    {"utilization", FLAG_INT, &(options).utilization, "percent",                                   \
     "Share of the device to spend, default what is recommended for it", NULL},                    \
    {"dsp", FLAG_INT, &(options).limits.dsp, "n", "DSP slices to spend, whatever the share",       \
     NULL},                                                                                        \
    {"bram", FLAG_INT, &(options).limits.bram18, "n",                                              \
     "BRAM18 blocks to spend, whatever the share", NULL},                                          \
    {"uram", FLAG_INT, &(options).limits.uram, "n", "URAM blocks to spend, whatever the share",    \
     NULL},                                                                                        \
    {"lut", FLAG_INT, &(options).limits.lut, "n", "LUTs to spend, whatever the share", NULL},      \
    {"ff", FLAG_INT, &(options).limits.ff, "n", "Flip-flops to spend, whatever the share", NULL}

/* A device with what the options make of it. */
typedef struct Target {
    Device device;
    Resources budget;
    int64_t clock; /* MHz */
} Target;

/* False: said what is wrong. */
bool device_options_check(const Tool *tool, const DeviceOptions *options) MUST_CHECK;
/* False: diagnosed, or said. */
bool device_options_resolve(const Tool *tool, Context *ctx, const DeviceOptions *options,
                 Target *out) MUST_CHECK;

#endif
