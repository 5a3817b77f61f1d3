#!/usr/bin/env python3
"""Quantizes random float networks after training and runs them.

    test/e2e/quantize_check.py --tools=build/tools [--seed=N] [--count=N]

The float network must give numpy's output (gen_float.py). Quantized on the
frames that it then runs on, its output must be near that one: the error may be
up to 1/8 of the largest output and the noise 20 dB below the signal. As
linalg it must give the very output of the onnx level, without floating-point
arithmetic. Scales in turn are general, one per weight, and powers of two.
Every fourth network has quantizers of few bits between a first layer and a last
one in float, of which only these are quantized; a quarter and 12 dB are its bounds.
The others are also quantized by a file that gives each layer of the table a random
width, which the table must show, and with all of 16 bits, which must leave less
than a 64th of the error.
"""
import json
import pathlib
import random
import re
import tempfile

import numpy as np

import gen_float
import qdq_check
from network_builder import Network
from qdq_check import Failure, execute

LOWERING = ("builtin.module(func.func(onnx-fold-constants,onnx-decompose,"
            "onnx-fold-constants,onnx-infer-shapes,"
            "convert-onnx-to-linalg),print-op-stats)")
FLOAT_OP = re.compile(r"\b(arith\.\w+f|math\.\w+|arith\.[su]itofp) *,")
MODES = [[], ["--quantize-per-tensor"], ["--quantize-power-of-two"],
         ["--quantize-per-tensor", "--quantize-power-of-two"]]
MOST_ERROR = 1 / 8                                     # of the largest output
LEAST_SQNR = 20                                         # dB
HALF_NEAR = 1 / 4, 12      # where a rounding turns into another level of 3 or 4 bits


def check_near(want, got, most=MOST_ERROR, least=LEAST_SQNR):
    want, got = want.astype(np.float64), got.astype(np.float64)
    signal, noise = np.sum(want ** 2), np.sum((want - got) ** 2)
    error, largest = np.abs(want - got).max(), np.abs(want).max()
    if error > most * largest:
        raise Failure(f"quantized: the error is {error}, the largest output {largest}")
    if noise > 0 and 10 * np.log10(signal / noise) < least:
        raise Failure(f"quantized: {10 * np.log10(signal / noise):.1f} dB of signal to noise")


def half_quantized(seed):
    """Frames, outputs and file of a network as DoReFa trains it: floats in the first layer and in
    the last one's weights, few bits between."""
    rng = random.Random(seed)
    net = Network(f"half{seed}", rng, dyadic=False, frames=8)

    def weight(*shape):
        return net.constant(net.numpy.normal(0, 0.5, shape).astype(np.float32), "weight")

    def levels(x, bits, signed=False):
        return net.quant_by(x, np.float32(0.5), bits, signed=signed)

    channels = rng.randint(2, 6)
    x = net.conv(net.input((3, 8, 8)), weight(channels, 3, 3, 3), strides=[2, 2], pads=[1] * 4)
    x = levels(net.relu(net.batch_norm(x)), rng.choice([3, 4]))
    x = net.conv(x, levels(weight(channels, channels, 1, 1), 3, True), strides=[1, 1], pads=[0] * 4)
    x = net.flatten(levels(net.relu(x), 4))
    net.output(net.matmul(x, weight(x.array.shape[1], 5)))
    return net.source.array, net.result.array, net.encode()


def table_of(printed):
    """[name, integers] of each row."""
    lines = printed.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("layer "))
    rows = [line.split() for line in lines[head + 1:]]
    return [(row[0], row[2]) for row in rows if len(row) >= 6 and "int" in row[2]]


def check_widths(tools, work, seed, want, quantized, printed):
    """Random widths by layer, and the inputs'."""
    rng = random.Random(seed)
    rows = table_of(printed)
    widths = {name: rng.choice((4, 8, 8, 16)) for name, _ in rows}
    named = {name: f"int{bits}" for name, bits in widths.items() if bits != 8 or rng.random() < 0.5}
    first = rows[0][0]
    plan = {"default": "int8", "inputs": {k: v for k, v in named.items() if k == first},
            "layers": {k: v for k, v in named.items() if k != first}}
    (work / "widths.json").write_text(json.dumps(plan), encoding="utf-8")
    mode = [f"--quantize={work / 'widths.json'}", f"--calibrate={work / 'x.npy'}", *MODES[seed % len(MODES)]]
    mixed, printed = execute(tools, work, *mode)
    got = table_of(printed)
    if [(name, f"{kind.rstrip('0123456789')}{widths[name]}") for name, kind in rows] != got:
        raise Failure(f"widths {got}, asked for {widths}")
    if max(widths.values()) < 16: # sums of 16-bit products are no exact float32
        integers, printed = execute(tools, work, *mode, f"--pass-pipeline={LOWERING}")
        qdq_check.compare("of mixed widths as integers", mixed, integers.astype(np.float32))
        if FLOAT_OP.search(printed):
            raise Failure("linalg of mixed widths has floating-point ops")
    exact, _ = execute(tools, work, "--quantize=int16", *mode[1:])
    if np.abs(exact - want).max() > max(np.abs(quantized - want).max() / 64, 1e-6 * np.abs(want).max()):
        raise Failure(f"16 bits: the error is {np.abs(exact - want).max()}, of 8 bits {np.abs(quantized - want).max()}")


def check(tools, seed):
    is_half = seed % 4 == 3
    frames, want, model = (half_quantized if is_half else gen_float.generate)(seed)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "model.onnx").write_bytes(model)
        np.save(work / "x.npy", frames)
        qdq_check.compare("float", want, execute(tools, work)[0])
        mode = ["--quantize=int8", f"--calibrate={work / 'x.npy'}", *MODES[seed % len(MODES)]]
        quantized, printed = execute(tools, work, *mode)
        check_near(want, quantized, *(HALF_NEAR if is_half else ()))
        if "SQNR (dB)" not in printed:
            raise Failure("quantized: no table of errors was printed")
        if not is_half:
            check_widths(tools, work, seed, want, quantized, printed)
        integers, printed = execute(tools, work, *mode, f"--pass-pipeline={LOWERING}")
        qdq_check.compare("as integers", quantized, integers.astype(np.float32))
        floats = FLOAT_OP.findall(printed)
        if floats:
            raise Failure(f"linalg has floating-point ops: {', '.join(floats)}")


if __name__ == "__main__":
    qdq_check.check_seeds(__doc__.split("\n\n", 1)[0], "quantize", check)
