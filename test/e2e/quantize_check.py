#!/usr/bin/env python3
"""Quantizes random float networks after training and runs them.

    test/e2e/quantize_check.py --tools=build/tools [--seed=N] [--count=N]

The float network must give numpy's output (gen_float.py). Quantized on the
frames that it then runs on, its output must be near that one: the error may be
up to 1/8 of the largest output and the noise 20 dB below the signal. As
linalg it must give the very output of the onnx level, without floating-point
arithmetic. Scales in turn are general, one per weight, and powers of two.
"""
import pathlib
import re
import tempfile

import numpy as np

import gen_float
import qdq_check
from qdq_check import Failure, execute

LOWERING = ("builtin.module(func.func(onnx-fold-constants,onnx-decompose,"
            "onnx-fold-constants,onnx-infer-shapes,"
            "convert-onnx-to-linalg),print-op-stats)")
FLOAT_OP = re.compile(r"\b(arith\.\w+f|math\.\w+|arith\.[su]itofp) *,")
MODES = [[], ["--quantize-per-tensor"], ["--quantize-power-of-two"],
         ["--quantize-per-tensor", "--quantize-power-of-two"]]
MOST_ERROR = 1 / 8                                     # of the largest output
LEAST_SQNR = 20                                         # dB


def check_near(want, got):
    want, got = want.astype(np.float64), got.astype(np.float64)
    signal, noise = np.sum(want ** 2), np.sum((want - got) ** 2)
    error, largest = np.abs(want - got).max(), np.abs(want).max()
    if error > MOST_ERROR * largest:
        raise Failure(f"quantized: the error is {error}, the largest output {largest}")
    if noise > 0 and 10 * np.log10(signal / noise) < LEAST_SQNR:
        raise Failure(f"quantized: {10 * np.log10(signal / noise):.1f} dB of signal to noise")


def check(tools, seed):
    frames, want, model = gen_float.generate(seed)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "model.onnx").write_bytes(model)
        np.save(work / "x.npy", frames)
        qdq_check.compare("float", want, execute(tools, work)[0])
        mode = ["--quantize=int8", f"--calibrate={work / 'x.npy'}", *MODES[seed % len(MODES)]]
        quantized, printed = execute(tools, work, *mode)
        check_near(want, quantized)
        if "SQNR (dB)" not in printed:
            raise Failure("quantized: no table of errors was printed")
        integers, printed = execute(tools, work, *mode, f"--pass-pipeline={LOWERING}")
        qdq_check.compare("as integers", quantized, integers.astype(np.float32))
        floats = FLOAT_OP.findall(printed)
        if floats:
            raise Failure(f"linalg has floating-point ops: {', '.join(floats)}")


if __name__ == "__main__":
    qdq_check.check_seeds(__doc__.split("\n\n", 1)[0], "quantize", check)
