/* Quantization after training, for tools: --quantize=int8 --calibrate=x.npy.
 * Tests: lit/tools/quantize.mir, test/e2e/quantize_check.py */
#ifndef MING_TOOLS_QUANTIZE_MODEL_H
#define MING_TOOLS_QUANTIZE_MODEL_H

#include "ir/core/op.h"
#include "driver/tool_support.h"

typedef struct QuantizeOptions {
    const char *format; /* NULL: nothing is quantized */
    Texts arrays;
    bool per_tensor, power_of_two;
} QuantizeOptions;
void model_quantize_options_free(QuantizeOptions *options);

/* Rows of a tool's flags for a variable `options`. */
#define QUANTIZE_FLAGS(options)                                                                    \
    {"quantize", FLAG_CHOICE, &(options).format, "int8",                                           \
     "Quantize a float network to 8 bits by the ranges that --calibrate shows", NULL},             \
    {"calibrate", FLAG_TEXTS, &(options).arrays, "[name=]file.npy",                                \
     "Frames of an argument for --quantize, in order unless named", NULL},                         \
    {"quantize-per-tensor", FLAG_SWITCH, &(options).per_tensor, NULL,                              \
     "With --quantize: one scale per weight, not one per output channel", NULL},                   \
    {"quantize-power-of-two", FLAG_SWITCH, &(options).power_of_two, NULL,                          \
     "With --quantize: only powers of two as scales", NULL}

/* Quantizes a function (NULL: the first public one) of a module as the options say, and prints the
 * error of each layer on stderr. False: said so or diagnosed. */
bool model_quantize(const Tool *tool, const QuantizeOptions *options, Op *module,
                    const char *function) MUST_CHECK;

#endif
