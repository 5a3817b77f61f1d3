/* Flags that fill the options of the driver, and checks that they go together.
 * Tests: lit/driver/objective.mir, lit/driver/device-invalid.mir, lit/driver/quantize.mir */
#include <string.h>

#include "options/internal.h"

FlagAdvice flag_advice(DriverErrorKind kind)
{
    static const FlagAdvice words[DRIVER_ERROR_KINDS] = {
        [DRIVER_ERROR_OTHER] = {"", ""},
        [DRIVER_ERROR_DEVICE] = {"", "; 'ming devices' lists them"},
        [DRIVER_ERROR_CLOCK] = {"--clock: ", ""},
        [DRIVER_ERROR_SHELL] = {"--shell: ", ""},
        [DRIVER_ERROR_QUANTIZE] = {"--quantize ", ""},
        [DRIVER_WARNING] = {"", ""},
    };
    return words[kind];
}

/* A flag for each option that is for users; `fields` is the struct of the rows' offsets. */
static void add_options(Flags *flags, const DriverOption *rows, void *fields)
{
    static const FlagKind kinds[] = {
        [DRIVER_CHOICE] = FLAG_CHOICE, [DRIVER_NUMBER] = FLAG_INT, [DRIVER_TEXT] = FLAG_TEXT};
    for (const DriverOption *row = rows; row->name; row++)
        if (row->help)
            *vec_push(flags) = (Flag){row->name,  kinds[row->kind], (char *)fields + row->offset,
                                      row->value, row->help,        NULL};
}

void flags_add_device(Flags *flags, DeviceOptions *options)
{
    FLAGS_ADD(
        flags,
        {"device", FLAG_TEXT, &options->device, "name",
         "Device as 'ming devices' lists them, its part, or an .xml file that describes one, "
         "default " DEFAULT_DEVICE,
         NULL},
        {"clock", FLAG_INT, &options->clock, "MHz", "Clock, default the device's", NULL},
        {"utilization", FLAG_INT, &options->utilization, "percent",
         "Share of the device to spend, default what is recommended for it", NULL},
        {"shell", FLAG_TEXT, &options->shell, "name,…",
         "Controllers of the device that are taken off the share, default none; 'ming devices "
         "--json' lists them",
         NULL});
    add_options(flags, driver_limit_options, &options->limits);
    FLAGS_ADD(flags, {"lut-margin", FLAG_INT, &options->lut_margin, "percent",
                      "LUTs that the cost model may miss, default " STRINGIFY(
                          DRIVER_LUT_MARGIN) " percent, with --lut none",
                      NULL});
}

bool flags_check_device(const DeviceOptions *options, StrBuf *why)
{
    for (const DriverOption *row = driver_limit_options; row->name; row++) {
        int64_t given;
        memcpy(&given, (const char *)&options->limits + row->offset, sizeof given);
        if (given < 0 && given != LIMIT_NOT_GIVEN)
            return flags_wrong(why, "a budget cannot be negative");
    }
    if (options->utilization != LIMIT_NOT_GIVEN &&
        (options->utilization < 1 || options->utilization > 100))
        return flags_wrong(why, "--utilization takes a number from 1 to 100");
    if (options->lut_margin != LIMIT_NOT_GIVEN &&
        (options->lut_margin < 0 || options->lut_margin > 1000))
        return flags_wrong(why, "--lut-margin takes a number from 0 to 1000");
    return true;
}

void flags_add_search(Flags *flags, SearchOptions *options)
{
    add_options(flags, driver_search_options, options);
}

bool flags_check_search(const SearchOptions *options, StrBuf *why)
{
    bool wants_fps = options->objective && strcmp(options->objective, "fps") == 0;
    bool gives_fps = options->fps != LIMIT_NOT_GIVEN;
    if (gives_fps && options->fps < 1) return flags_wrong(why, "--fps takes a positive number");
    if (options->time_limit < 0 || options->reserved_bram < 0)
        return flags_wrong(why,
                           "--time-limit and --reserve-bram take numbers that are not negative");
    if (wants_fps && !gives_fps) return flags_wrong(why, "--objective=fps needs --fps=N");
    bool keeps_fps = options->objective && strcmp(options->objective, "pipeline-latency") == 0;
    if (gives_fps && options->objective && !wants_fps && !keeps_fps)
        return flags_wrong(why,
                           "--fps has an objective of its own, it does not go with "
                           "--objective=%s",
                           options->objective);
    if (options->dump_lp && strpbrk(options->dump_lp, "\"'{}"))
        return flags_wrong(why, "--dump-lp takes a name without quotes and braces");
    return true;
}

void flags_add_model(Flags *flags, ModelOptions *options)
{
    FLAGS_ADD(
        flags,
        {"input-shape", FLAG_TEXTS, &options->input_shapes, "name:1x3x32x32",
         "Shape of an input that the file leaves open", NULL},
        {"input-type", FLAG_TEXTS, &options->input_types, "name=uint8:scale:zero",
         "Integers that an input of floats carries, (integer - zero) * scale, by default as they "
         "are",
         NULL},
        {"from", FLAG_TEXTS, &options->from, "name", "Tensor or node of the file to begin with",
         NULL},
        {"to", FLAG_TEXTS, &options->to, "name", "Tensor or node of the file to end with", NULL},
        {"partition", FLAG_TEXT, &options->partition, "file",
         "Part of the file that 'ming check --partition-out' found, in place of --from, --to and "
         "--input-shape",
         NULL});
}

void flags_add_quantize(Flags *flags, QuantizeOptions *options)
{
    FLAGS_ADD(
        flags,
        {"quantize", FLAG_TEXT, &options->format, "int4|int8|int16|file",
         "Quantize a float network by the ranges that --calibrate shows, or what training "
         "left in float, to so many bits, or as a file says for each layer",
         NULL},
        {"quantize-only", FLAG_CHOICE, &options->only, "float-layers",
         "With --quantize: only weights and inputs of layers that come from no quantizer, "
         "default in networks that have quantizers",
         NULL},
        {"calibrate", FLAG_TEXTS, &options->arrays, "[name=]file.npy",
         "Frames of an argument for --quantize, in order unless named", NULL},
        {"quantize-per-tensor", FLAG_SWITCH, &options->per_tensor, NULL,
         "With --quantize: one scale per weight, not one per output channel", NULL},
        {"quantize-power-of-two", FLAG_SWITCH, &options->power_of_two, NULL,
         "With --quantize: only powers of two as scales", NULL},
        {"quantize-fixed-point", FLAG_SWITCH, &options->fixed_point, NULL,
         "With --quantize: normalizations go into weights, scales are powers of two, activations "
         "signed, biases integers of the sum's scale; always with int16 for an overlay",
         NULL});
}

bool flags_check_quantize(const QuantizeOptions *options, StrBuf *why)
{
    if (options->format && options->arrays.len == 0)
        return flags_wrong(why, "--quantize needs --calibrate=file.npy");
    if (!options->format && options->arrays.len > 0)
        return flags_wrong(why, "--calibrate needs --quantize=int8");
    if (!options->format && options->only)
        return flags_wrong(why, "--quantize-only needs --quantize=int8");
    const char *given = options->per_tensor     ? "per-tensor"
                        : options->power_of_two ? "power-of-two"
                        : options->fixed_point  ? "fixed-point"
                                                : NULL;
    if (!options->format && given)
        return flags_wrong(why, "--quantize-%s needs --quantize=int8", given);
    return true;
}
