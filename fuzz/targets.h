/* The fuzz targets. Each takes the bytes of one input, and aborts where a property does not hold;
 * its source says what an input is and what must hold. libfuzzer.c makes a libFuzzer program of
 * one; random_main.c runs any of them on random inputs without libFuzzer. */
#ifndef MING_FUZZ_TARGETS_H
#define MING_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

typedef void FuzzTarget(const uint8_t *data, size_t size);

FuzzTarget fuzz_compile, fuzz_csynth, fuzz_designs, fuzz_device, fuzz_emit, fuzz_folding,
    fuzz_interp, fuzz_json, fuzz_lsp, fuzz_npy, fuzz_onnx, fuzz_orders, fuzz_overlay,
    fuzz_partition, fuzz_passes, fuzz_pipeline, fuzz_text;

#endif
