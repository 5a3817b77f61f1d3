#!/usr/bin/env python3
"""Quantizes random float networks to F2N2's fixed point, 16 bits for weights and activations, and runs them on engines.

    fixed_point_check.py --tools=DIR [--seed=N] [--count=N] [--cpp=N]

Networks have convolutions with biases or normalizations, depthwise ones, rectifiers
with and without an upper bound, sums, pools and a product. Outputs of `ming engine`
must equal those of integers that numpy computes from the float network by the rules
of docs/quantization.md, in every element, and those of `ming run` on the integers of
linalg; 60 dB of the signal must stand above what quantization loses. An accumulator
too narrow for the sums must be refused. With --cpp=N so many run on the engine's C++, too.
"""
import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

from network_builder import F32, Network

ENGINES = ["rows=8,cols=8", "rows=4,cols=16"]
BITS = 16
LEAST_SQNR = 60
LINALG = ("builtin.module(func.func(onnx-fold-constants,onnx-decompose,onnx-fold-constants,"
          "onnx-infer-shapes,convert-onnx-to-linalg))")
HIGH = 2 ** (BITS - 1) - 1


class Failure(Exception):
    """Why a case failed, in one line."""


def run(*command, fails=False):
    done = subprocess.run([str(word) for word in command], capture_output=True, timeout=900, check=False)
    if (done.returncode != 0) != fails:
        raise Failure(f"{command[1]}: {done.stderr.decode()[-300:]}")
    return done


def exponent_for(largest, most=HIGH):
    """The least power of two that many steps of which reach so far, as its exponent."""
    exponent = int(np.ceil(np.log2(largest / most)))
    while most * 2.0 ** (exponent - 1) >= largest:
        exponent -= 1
    while most * 2.0 ** exponent < largest:
        exponent += 1
    return exponent


def shifted(q, shift):
    """q * 2^shift, rounded to the nearest, ties to even; a shift for each channel, or one."""
    shift = np.broadcast_to(np.asarray(shift, np.int64), q.shape)
    down = np.maximum(-shift, 0)
    low = q >> down
    rest, half = q - (low << down), np.where(down > 0, np.int64(1) << np.maximum(down - 1, 0), 1)
    up = (rest > half) | ((rest == half) & (low % 2 != 0))
    return np.where(down > 0, low + up, q << np.maximum(shift, 0))


class Tensor:
    """A value of the float network with its integers, and the exponent of their scale."""

    def __init__(self, value, q=None, exponent=None):
        self.value, self.q, self.exponent = value, q, exponent


class Fixed:
    """A float network, and beside it what fixed point makes of it."""

    def __init__(self, seed):
        self.rng = random.Random(f"fixed/{seed}")
        self.net = Network(f"fixed{seed}", self.rng, dyadic=False, frames=3)

    def input(self, shape):
        value = self.net.input(shape)
        return self.level(value, value.array.astype(np.float64), None)

    def level(self, value, q, exponent):
        """Quantizes q * 2^exponent (None: q are floats) on the range of the float value."""
        low, high = float(value.array.min()), float(value.array.max())
        own = max(exponent_for(end, most) for end, most in ((high, HIGH), (-low, HIGH + 1)) if end > 0)
        q = np.rint(q / 2.0 ** own).astype(np.int64) if exponent is None else shifted(q, exponent - own)
        return Tensor(value, np.clip(q, -HIGH - 1, HIGH), own)

    def floats(self, *shape):
        size = self.net.numpy.uniform(0.3, 1.5, (shape[0],) + (1,) * (len(shape) - 1)) / np.sqrt(np.prod(shape[1:]))
        return (self.net.numpy.standard_normal(shape) * size).astype(F32)

    def layer(self, x, channels, kernel, stride=1, depthwise=False):
        """A convolution with a normalization, a bias or neither, and what of rectifiers follows."""
        net, rng = self.net, self.rng
        group = x.value.array.shape[1] if depthwise else 1
        channels = group if depthwise else channels
        w = self.floats(channels, x.value.array.shape[1] // group, kernel, kernel)
        b = net.numpy.uniform(-1, 1, channels).astype(F32) if rng.random() < 0.6 else None
        attrs = {"strides": [stride] * 2, "pads": [kernel // 2] * 4, "group": group}
        value = net.conv(x.value, net.constant(w), None if b is None else net.constant(b), **attrs)
        if rng.random() < 0.6:
            value = net.batch_norm(value)
            w, b = self.normalized(w, b)
        q, exponent = self.sums(x, w, b, attrs)
        kind = rng.choice(["relu", "relu", "clip", "none"])
        if kind == "relu":
            value, q = net.relu(value), np.maximum(q, 0)
        elif kind == "clip":
            value = net.clip(value, 0, 2)
            q = np.maximum(q, 0)
        out = self.level(value, q, exponent)
        if kind == "clip":
            out.q = np.minimum(out.q, shifted(np.full_like(out.q, 2), -out.exponent))
        return out

    def normalized(self, w, b):
        """Weights and biases with the parameters of the last normalization in them."""
        scale, shift, mean, var = (p.astype(np.float64) for p in self.net.last_norm)
        gain = scale / np.sqrt(var + F32(1e-5).astype(np.float64))
        bias = (np.zeros(len(gain)) if b is None else b.astype(np.float64)) - mean
        return (w.astype(np.float64) * gain.reshape(-1, 1, 1, 1)).astype(F32), (bias * gain + shift).astype(F32)

    def sums(self, x, w, b, attrs):
        """Exact integers, and their exponents by channel."""
        shape = (-1,) + (1,) * (w.ndim - 1)
        own = np.array([exponent_for(float(np.abs(row).max())) for row in w])
        integers = np.rint(w.astype(np.float64) / 2.0 ** own.reshape(shape)).astype(np.int64)
        grid = x.exponent + own
        total = conv_integers(x.q, integers, attrs) if w.ndim == 4 else x.q @ integers.T
        if b is not None:
            terms = [bias_integer(float(v), int(e)) for v, e in zip(b, grid)]
            total = total + np.array(terms, np.int64).reshape((1, -1) + (1,) * (total.ndim - 2))
        return total, grid.reshape((1, -1) + (1,) * (total.ndim - 2))

    def added(self, x, y):
        value = self.net.relu(self.net.binary("Add", x.value, y.value))
        least = min(x.exponent, y.exponent)
        q = (x.q << (x.exponent - least)) + (y.q << (y.exponent - least))
        return self.level(value, np.maximum(q, 0), least)

    def max_pool(self, x):
        q = x.q.reshape(*x.q.shape[:2], x.q.shape[2] // 2, 2, x.q.shape[3] // 2, 2).max((3, 5))
        return Tensor(self.net.max_pool(x.value), q, x.exponent)

    def average_pool(self, x):
        q = x.q.reshape(*x.q.shape[:2], x.q.shape[2] // 2, 2, x.q.shape[3] // 2, 2).sum((3, 5))
        return self.level(self.net.average_pool(x.value, 2, 2), q, x.exponent - 2)

    def dense(self, x, outputs):
        flat = Tensor(self.net.flatten(x.value), x.q.reshape(len(x.q), -1), x.exponent)
        w = self.floats(outputs, flat.q.shape[1])
        b = self.net.numpy.uniform(-1, 1, outputs).astype(F32)
        value = self.net.gemm(flat.value, self.net.constant(w), self.net.constant(b), transB=1)
        return self.level(value, *self.sums(flat, w, b, {}))

    def build(self):
        rng = self.rng
        x = self.layer(self.input((3, 8, 8)), rng.choice([4, 6, 8]), 3)
        for _ in range(rng.randint(1, 2)):
            kind = rng.choice(["residual", "depthwise", "wide"])
            if kind == "residual":
                x = self.added(x, self.layer(x, x.q.shape[1], rng.choice([1, 3])))
            else:
                x = self.layer(x, rng.choice([5, 8]), 3, depthwise=kind == "depthwise")
        x = rng.choice([self.max_pool, self.average_pool])(x)
        x = self.dense(x, rng.randint(3, 10))
        self.net.output(x.value)
        return x


def bias_integer(value, exponent):
    """On the sum's grid, in as many bits as floats have."""
    up = 0
    while abs(round(value / 2.0 ** (exponent + up))) > 2 ** 24:
        up += 1
    return round(value / 2.0 ** (exponent + up)) << up


def conv_integers(q, w, attrs):
    """Exact, in 64 bits."""
    pad, step, group = attrs["pads"][0], attrs["strides"][0], attrs["group"]
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(q, ((0, 0), (0, 0), (pad, pad), (pad, pad))), w.shape[2:], (2, 3))[:, :, ::step, ::step]
    parts = [np.einsum("nchwij,ocij->nohw", x, f)
             for x, f in zip(np.split(windows, group, 1), np.split(w, group, 0))]
    return np.concatenate(parts, 1)


class RecordingNetwork(Network):
    """Keeps the parameters of the last normalization."""

    def batch_norm(self, x, copies=0):
        made = []
        keep, self.constant = self.constant, lambda array, *rest: made.append(array) or keep(array, *rest)
        result = super().batch_norm(x, copies)
        self.constant = keep
        self.last_norm = made
        return result


def check_cpp(tools, folder, sizes, want):
    engine = folder / f"engine-{sizes.replace('=', '').replace(',', '-')}"
    flags = [f"--{pair}" for pair in sizes.split(",")]
    if not engine.exists():
        run(tools / "ming", "overlay", "-o", engine, *flags)
    np.save(folder / "one.npy", np.load(folder / "x.npy")[:1])
    run(tools / "ming", "engine", folder / "p.mir", f"--input={folder / 'one.npy'}", f"--banks={folder / 'b'}")
    banks = folder / "b"
    run("make", "-C", engine, "csim", f"PROGRAM={banks / 'program.bin'}", f"MAPS={banks / 'bank0.bin'}",
        f"WEIGHTS={banks / 'bank1.bin'}", f"PARAMETERS={banks / 'bank2.bin'}", f"OUTPUT={folder / 'after.bin'}",
        "CXXFLAGS=-std=c++17 -O1 -Wno-unknown-pragmas")
    run(tools / "ming", "engine", folder / "p.mir", f"--after=0:{folder / 'after.bin'}", f"--output={folder / 'c.npy'}")
    if not np.array_equal(np.load(folder / "c.npy").reshape(want[:1].shape), want[:1]):
        raise Failure(f"{sizes}: the engine's C++ differs")


def check(tools, seed, folder, in_cpp):
    fixed = Fixed(seed)
    fixed.net.__class__ = RecordingNetwork
    out = fixed.build()
    want = out.q * 2.0 ** out.exponent
    (folder / "m.onnx").write_bytes(fixed.net.encode())
    np.save(folder / "x.npy", fixed.net.source.array)
    mode = ["--quantize=int16", f"--calibrate={folder / 'x.npy'}"]
    for sizes in ENGINES:
        run(tools / "ming", "compile", "--architecture=overlay", folder / "m.onnx", *mode, f"--overlay={sizes}",
            "-o", folder / "p.mir")
        run(tools / "ming", "engine", folder / "p.mir", f"--input={folder / 'x.npy'}", f"--output={folder / 'z.npy'}")
        got = np.load(folder / "z.npy").astype(np.float64).reshape(want.shape)
        if not np.array_equal(got, want):
            raise Failure(f"{sizes}: {np.mean(got != want):.1%} of the elements differ by up to "
                          f"{np.abs(got - want).max() / 2.0 ** out.exponent} steps")
    if in_cpp:
        check_cpp(tools, folder, ENGINES[-1], want)
    run(tools / "ming", "run", folder / "m.onnx", *mode, "--quantize-fixed-point", f"--pass-pipeline={LINALG}",
        f"--input={folder / 'x.npy'}", f"--output={folder / 'r.npy'}")
    if not np.array_equal(np.load(folder / "r.npy").astype(np.float64).reshape(want.shape), want):
        raise Failure("ming run of the integers differs")
    real = out.value.array.astype(np.float64)
    sqnr = 10 * np.log10(np.sum(real ** 2) / max(np.sum((real - want) ** 2), 1e-300))
    if sqnr < LEAST_SQNR:
        raise Failure(f"{sqnr:.1f} dB of signal to noise")
    narrow = run(tools / "ming", "compile", "--architecture=overlay", folder / "m.onnx", *mode,
                 "--overlay=rows=8,cols=8,acc=32", "-o", folder / "n.mir", fails=True)
    if b"and the overlay's accumulators 32" not in narrow.stderr:
        raise Failure(f"acc=32: {narrow.stderr.decode()[-200:]}")
    return sqnr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2)
    parser.add_argument("--cpp", type=int, default=0)
    args = parser.parse_args()
    passed = failed = 0
    least = float("inf")
    with tempfile.TemporaryDirectory() as scratch:
        for index in range(args.count):
            seed = args.seed * 1000 + index
            try:
                least = min(least, check(args.tools.resolve(), seed, pathlib.Path(scratch), index < args.cpp))
                passed += 1
            except (Failure, subprocess.SubprocessError) as reason:
                failed += 1
                print(f"FAIL: seed {seed}: {reason}")
    print(f"at least {least:.1f} dB of signal to noise")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
