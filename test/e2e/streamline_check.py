#!/usr/bin/env python3
"""Runs a convolution with a normalization, a pool, an activation and a quantizer behind it, in all
of their orders.

    streamline_check.py --tools=DIR [--seed=N] [--count=N] [--csim=N] [--cosim=N] [--rtl=N]
        [--filter=REGEX]

Inputs and weights have one to four bits, as do the results; some inputs are levels of several scales,
side by side; a gain of the normalization is
negative for some of the channels, the pool is one of maxima, and where the quantizer is not the
last of the four another one follows. Scales are powers of two, so float32 is exact. numpy says
what comes out: `ming run` and `ming sim` must give just that for every order, csim for each N-th
network, cosim for each N-th and its Verilog in Icarus for each N-th (0: none), and the design
computes on integers only. --count goes through the orders so many times. With MING_PRECOMPILED the C++
is built as precompiled.py says.
"""
import argparse
import itertools
import pathlib
import random
import re
import shutil
import sys
import tempfile

import numpy as np

import networks_check
import numpy_ops as ops
import rtl_reals
from network_builder import F32, Network

RTL = "rtl"                             # beside targets of make: our Verilog
STEPS = ("norm", "pool", "activation", "quantizer")


class Chain:
    """A random network of one order of the steps."""

    def __init__(self, rng, order):
        self.rng, self.net = rng, Network("chain", rng, dyadic=True, frames=2)
        self.words = []
        channels, filters = rng.randint(1, 4), rng.randint(1, 5)
        kernel = rng.choice([1, 3])
        size = rng.choice([4, 5, 6]) + kernel - 1
        x = self.net.input((channels, size, size))
        x = self.joined(x) if rng.random() < 0.3 else self.levels(x)
        weight = self.levels(self.net.constant(self.net.numpy.normal(
            0, 1.5, (filters, x.array.shape[1], kernel, kernel)).astype(F32)))
        self.words.append(f"{kernel}x{kernel}")
        x = self.net.conv(x, weight)
        for step in order:
            x = getattr(self, step)(x)
        self.net.output(x if order[-1] == "quantizer" else self.quantizer(x))

    def joined(self, x):
        """x in levels of several scales, which are multiples of a smaller one, side by side."""
        scales = self.rng.choice([(0.75, 0.5), (1.5, 1.0, 0.25), (0.625, 0.25), (3.0, 2.0)])
        self.words.append(f"joined {scales}")
        x = self.net.quant_by(x, F32(0.125), 8)         # a port has integers of one scale
        parts = [self.net.quant_by(x, F32(scale), self.rng.randint(2, 4), self.rng.random() < 0.5)
                 for scale in scales]
        return self.net.node("Concat", parts, np.concatenate([p.array for p in parts], 1), {"axis": 1})

    def levels(self, x):
        """x in one to four bits, at a scale of its own."""
        bits, signed = self.rng.randint(1, 4), self.rng.random() < 0.6
        scale = F32(self.rng.choice([0.25, 0.5, 1.0, 2.0]))
        self.words.append(f"{'s' if signed else 'u'}{bits}")
        if bits == 1 and signed:
            return self.net.bipolar_by(x, scale)
        return self.net.quant_by(x, scale, bits, signed, narrow=signed and bits == 2)

    def quantizer(self, x):
        return self.levels(x)

    def norm(self, x):
        """Some gains are negative."""
        count = x.array.shape[1]
        draw = self.net.numpy
        gains = 2.0 ** draw.integers(-2, 2, count) * draw.choice([1, 1, -1], count)
        offsets, means = draw.integers(-8, 9, (2, count)) / 8
        parameters = [self.net.constant(value.astype(F32)) for value in
                      (gains, offsets, means, 4.0 ** draw.integers(-1, 2, count))]
        attrs = {"epsilon": 0.0, "momentum": 0.9}
        array = ops.batch_normalization(x.array, *(p.array for p in parameters), attrs)
        self.words.append("norm")
        return self.net.node("BatchNormalization", [x, *parameters], array, attrs)

    def pool(self, x):
        kernel, stride = self.rng.choice([(2, 2), (2, 1), (3, 1), (3, 2)])
        pad = self.rng.choice([0, 1])
        self.words.append(f"pool {kernel}/{stride} pad {pad}")
        return self.net.max_pool(x, kernel, stride, pad)

    def activation(self, x):
        kind = self.rng.choice(["Relu", "LeakyRelu", "Clip"])
        self.words.append(kind)
        if kind == "Relu":
            return self.net.relu(x)
        if kind == "Clip":
            low = self.rng.choice([-1.0, 0.0, -0.5])
            return self.net.clip(x, low, low + self.rng.choice([1.0, 2.0, 6.0]))
        attrs = {"alpha": self.rng.choice([0.25, 0.5])}
        return self.net.node("LeakyRelu", [x], ops.leaky_relu(x.array, attrs), attrs)


def compare(what, want, path):
    got = np.load(path)
    networks_check.compare(what, want, got.reshape(want.shape))


def check(tools, work, chain, targets):
    net = chain.net
    want, design = net.result.array, work / "design"
    model, given, got = work / "model.onnx", work / "x.npy", work / "y.npy"
    model.write_bytes(net.encode())
    np.save(given, net.source.array)
    shutil.rmtree(design, ignore_errors=True)
    arguments = (f"--input={given}", f"--output={got}")
    networks_check.run(tools / "ming", "run", model, *arguments)
    compare("run", want, got)
    networks_check.run(tools / "ming", "compile", model, "-o", design, "--top=chain",
                       *(("--emit=hls,verilog",) if RTL in targets else ()))
    networks_check.run(tools / "ming", "sim", design, *arguments)
    compare("sim", want, got)
    if "float" in re.sub(r"//.*", "", (design / "chain.cpp").read_text(encoding="utf-8")):
        raise networks_check.Failure("the design computes on floats")
    for target in targets:
        got.unlink()
        if target == RTL:
            np.save(got, rtl_reals.simulate(design, net.source.array))
            compare(target, want, got)
            continue
        networks_check.make(design, target, given, got)
        compare(target, want, got)


def is_due(number, every):
    return every > 0 and number % every == every - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--csim", type=int, default=12)
    parser.add_argument("--cosim", type=int, default=24)
    parser.add_argument("--rtl", type=int, default=4)
    parser.add_argument("--filter", default="")
    args = parser.parse_args()
    passed = failed = 0
    orders = list(itertools.permutations(STEPS)) * args.count
    with tempfile.TemporaryDirectory(prefix="ming-streamline-") as name:
        work = pathlib.Path(name)
        for number, order in enumerate(orders):
            chain = Chain(random.Random(f"{args.seed} {number}"), order)
            title = f"{number}: {', '.join(order)} ({', '.join(chain.words)})"
            if not re.search(args.filter, title):
                continue
            targets = [target for target, every in (("csim", args.csim), ("cosim", args.cosim), (RTL, args.rtl))
                       if is_due(number, every)]
            try:
                check(args.tools.resolve(), work, chain, targets)
            except networks_check.Failure as why:
                print(f"FAIL {title}: {why}", flush=True)
                failed += 1
                continue
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
