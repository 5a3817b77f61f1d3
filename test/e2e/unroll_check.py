#!/usr/bin/env python3
"""Every way to unroll a kernel gives the same numbers.

Small kernels (windows in 1 to 3 dimensions, depthwise, pooling, matrix
products, reductions, element-wise; kinds that begin with "packed" have operands
of other widths and signs, with values at the ends of their ranges, some of them
multiplied in LUTs) are compiled with factors given beforehand
(dfg.unroll), a dozen in one network, each with its own input and result; the
C++ is built, fed FRAMES frames back to back and compared with plain loops in
this file. Taps of windows also get factors that do not divide their number, and
every other sum over channels completes its results one after another (dfg.order).
Compute processes must take as many cycles as the trip counts divided by the
factors, rounded up, and a pipeline's depth, and as many DSPs as the unrolled
code has multiplications. Chains of sums whose words all differ need width
converters; they also run with FIFOs of their real depths. So do sums whose
epilogue is a process of its own, with words and factors of both by a folding file.

    unroll_check.py --tools=DIR [--seed=N] [--count=N] [--kind=NAME]

`count` is the number of networks for each kind of kernel; 0 means all factors.
"""
import argparse
import concurrent.futures
import functools
import itertools
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np

FRAMES = 3
INT8 = ((8, True), (8, True))           # bits and sign of stream and constant
PACKED = (INT8, ((8, False), (8, True)), ((4, True), (4, True)), ((4, False), (4, True)),
          ((8, True), (6, True)), ((8, False), (5, False)), ((4, True), (3, True)),
          ((5, True), (5, False)), ((3, False), (7, True)))
KERNELS = 12                            # in one network
DEEPEST = 100                           # cycles of any of these pipelines


def divisors(number):
    return [d for d in range(1, number + 1) if number % d == 0]


def overlapping(number):
    """Factors whose parts begin at equal distances, some elements in two of them."""
    parts = {u: -(-number // u) for u in range(2, number) if number % u}
    return [u for u, count in parts.items() if (number - u) % (count - 1) == 0]


class Kernel:
    """loops: list of (name, extent, is_reduction) in order. maps: loop
    expressions by operand, each a list of {loop: factor} sums; operand 0 is the
    stream, 1 the constant (or None), -1 the output. pad: low and high per
    dimension of the stream."""

    def __init__(self, kind, loops, maps, shape, pad=None, combine="mac"):
        self.kind, self.loops, self.maps, self.shape = kind, loops, maps, shape
        self.packed = False
        self.pad = pad or [(0, 0)] * len(shape)
        self.combine = combine
        self.extent = {name: extent for name, extent, _ in loops}

    def padded_shape(self):
        return [e + low + high for e, (low, high) in zip(self.shape, self.pad)]

    def operand_shape(self, indices):
        """One more than the largest index."""
        return [1 + sum(factor * (self.extent[loop] - 1) for loop, factor in index.items())
                for index in indices]

    def all_factors(self):
        """Taps of a window may come twice: a weight is 0 then."""
        is_sum = self.combine == "mac" and self.maps[1]
        return list(itertools.product(*(
            divisors(e) + (overlapping(e) if is_sum and name[0] == "k" and name[1:] else [])
            for name, e, _ in self.loops)))


def window_kernel(kind, sizes, channels, filters, kernel, stride, dilation, pad):
    """Channels last; depthwise and pooling have no filters."""
    rank = len(sizes)
    axes = "zyx"[-rank:]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    out = [(s + low + high - r) // t + 1
           for s, (low, high), r, t in zip(sizes, pad, reach, stride)]
    loops = [("n", 1, False)] + [(a, o, False) for a, o in zip(axes, out)]
    loops.append(("o" if filters else "c", filters or channels, False))
    loops += [("k" + a, k, True) for a, k in zip(axes, kernel)]
    if filters:
        loops.append(("c", channels, True))
    stream = [{"n": 1}] + [{a: t, "k" + a: d} for a, t, d in zip(axes, stride, dilation)]
    stream.append({"c": 1})
    taps = [{"k" + a: 1} for a in axes]
    weight = taps + [{"c": 1}] if not filters else [{"o": 1}] + taps + [{"c": 1}]
    output = [{"n": 1}] + [{a: 1} for a in axes] + [{"o" if filters else "c": 1}]
    maps = {0: stream, 1: taps if kind == "pool" else weight, -1: output}
    return Kernel(kind, loops, maps, [1, *sizes, channels],
                  [(0, 0), *pad, (0, 0)], "max" if kind == "pool" else "mac")


def matmul_kernel(rows, columns, inner):
    loops = [("m", rows, False), ("o", columns, False), ("k", inner, True)]
    maps = {0: [{"m": 1}, {"k": 1}], 1: [{"k": 1}, {"o": 1}], -1: [{"m": 1}, {"o": 1}]}
    return Kernel("matmul", loops, maps, [rows, inner])


def sum_kernel(height, width, channels):
    """Over all positions of an image."""
    loops = [("n", 1, False), ("c", channels, False), ("y", height, True), ("x", width, True)]
    maps = {0: [{"n": 1}, {"y": 1}, {"x": 1}, {"c": 1}], 1: None, -1: [{"n": 1}, {"c": 1}]}
    return Kernel("sum", loops, maps, [1, height, width, channels], combine="sum")


def elementwise_kernel(shape):
    loops = [(f"d{i}", extent, False) for i, extent in enumerate(shape)]
    indices = [{name: 1} for name, _, _ in loops]
    return Kernel("elementwise", loops, {0: indices, 1: indices[-1:], -1: indices}, shape)


def kernels(rng):
    """One kernel of each kind, of random shape."""
    def windows(rank, sizes):
        kernel = [rng.choice([1, 2, 3, 3, 5]) for _ in range(rank)]
        stride = [rng.choice([1, 1, 2, 3]) for _ in range(rank)]
        dilation = [1 if k == 5 else rng.choice([1, 1, 2]) for k in kernel]
        pad = [(rng.choice([0, 0, 1, 2]), rng.choice([0, 0, 1, 2])) for _ in range(rank)]
        return sizes, kernel, stride, dilation, pad

    def make(kind, rank, sizes, channels, filters):
        sizes, *rest = windows(rank, sizes)
        return window_kernel(kind, sizes, channels, filters, *rest)

    size = lambda: rng.choice([6, 8, 9, 12])
    return [
        make("conv", 2, [size(), size()], rng.choice([1, 2, 4]), rng.choice([2, 3, 4])),
        make("conv1d", 1, [rng.choice([12, 16, 18])], rng.choice([2, 4]), rng.choice([2, 4])),
        make("conv3d", 3, [5, 6, rng.choice([6, 8])], rng.choice([1, 2]), 2),
        make("depthwise", 2, [size(), size()], rng.choice([2, 4, 6]), 0),
        make("pool", 2, [size(), size()], rng.choice([2, 4]), 0),
        matmul_kernel(rng.choice([4, 6]), rng.choice([4, 6]), rng.choice([4, 8, 9])),
        sum_kernel(rng.choice([4, 6]), rng.choice([4, 6]), rng.choice([4, 6])),
        elementwise_kernel([rng.choice([1, 2]), 4, rng.choice([4, 6]), rng.choice([4, 6])]),
        as_packed(make("conv", 2, [6, 7], rng.choice([6, 8]), rng.choice([5, 6]))),
        as_packed(make("depthwise", 2, [6, 9], 4, 0)),
        as_packed(matmul_kernel(6, 10, 12)),
    ]


def as_packed(kernel):
    kernel.kind, kernel.packed = f"packed-{kernel.kind}", True
    return kernel


# Text.

def tensor(shape, elem):
    return f"tensor<{''.join(f'{e}x' for e in shape)}{elem}>"


def dense(array):
    if array.ndim == 0:
        return str(int(array))
    return "[" + ", ".join(dense(part) for part in array) + "]"


def map_text(kernel, indices):
    number = {name: i for i, (name, _, _) in enumerate(kernel.loops)}
    terms = [" + ".join(f"d{number[loop]} * {factor}" for loop, factor in index.items())
             for index in indices]
    dims = ", ".join(f"d{i}" for i in range(len(kernel.loops)))
    return f"affine_map<({dims}) -> ({', '.join(terms)})>"


BODIES = {
    "mac": ["%m = arith.muli %ae, %be : i32", "%s = arith.addi %acc, %m : i32",
            "linalg.yield %s : i32"],
    "max": ["%s = arith.maxsi %acc, %ae : i32", "linalg.yield %s : i32"],
    "sum": ["%s = arith.addi %acc, %ae : i32", "linalg.yield %s : i32"],
    "scale": ["%m = arith.muli %ae, %be : i32", "linalg.yield %m : i32"],
}


LUT = ', dfg.multiplier = "lut"'


def in_luts(kernel, number):
    return kernel.packed and number % 4 == 3


def by_results(kernel, number):
    """Every other kernel whose sums take a channel completes its results one after another."""
    sums_channels = any(name in "ck" for name, _, reduces in kernel.loops if reduces)
    return ', dfg.order = "results"' if sums_channels and number % 2 else ""


def extension(name, form):
    bits, signed = form
    return f"%{name}e = arith.ext{'s' if signed else 'u'}i %{name} : i{bits} to i32"


def kernel_text(kernel, number, factors, weight, forms):
    """The ops of one kernel of a function, on argument %x<number>."""
    p, lines = f"k{number}_", []
    stream, elem = (f"i{bits}" for bits, _ in forms)
    source, shape = f"%x{number}", kernel.padded_shape()
    is_elementwise = not any(reduction for _, _, reduction in kernel.loops)
    body = "scale" if is_elementwise else kernel.combine
    out_shape = kernel.operand_shape(kernel.maps[-1])
    out = tensor(out_shape, "i32")
    if shape != list(kernel.shape):
        lines += [f"%{p}p = tensor.pad {source} low[{', '.join(str(l) for l, _ in kernel.pad)}] "
                  f"high[{', '.join(str(h) for _, h in kernel.pad)}] {{",
                  f"^bb0({', '.join(f'%i{i}: index' for i in range(len(shape)))}):",
                  f"tensor.yield %pad{stream} : {stream}",
                  f"}} : {tensor(kernel.shape, stream)} to {tensor(shape, stream)}"]
        source = f"%{p}p"
    inputs, types, args = [source], [tensor(shape, stream)], [f"%a: {stream}"]
    maps, extensions = [kernel.maps[0]], [extension("a", forms[0])]
    if kernel.maps[1] is not None:
        window = kernel.combine == "max"
        lines.append(f"%{p}w = tensor.empty() : {tensor(weight.shape, elem)}" if window else
                     f"%{p}w = arith.constant dense<{dense(weight)}> : {tensor(weight.shape, elem)}")
        inputs.append(f"%{p}w")
        types.append(tensor(weight.shape, elem))
        args.append(f"%b: {elem}")
        extensions += [] if window else [extension("b", forms[1])]
        maps.append(kernel.maps[1])
    lines.append(f"%{p}e = tensor.empty() : {out}")
    init = f"%{p}e"
    if not is_elementwise:
        start = "%least" if kernel.combine == "max" else "%zero"
        lines.append(f"%{p}f = linalg.fill ins({start} : i32) outs(%{p}e : {out}) -> {out}")
        init = f"%{p}f"
    iterators = ", ".join('"reduction"' if r else '"parallel"' for _, _, r in kernel.loops)
    all_maps = ", ".join(map_text(kernel, m) for m in [*maps, kernel.maps[-1]])
    lines += [f"%y{number} = linalg.generic {{indexing_maps = [{all_maps}], "
              f"iterator_types = [{iterators}]}} ins({', '.join(inputs)} : {', '.join(types)}) "
              f"outs({init} : {out}) attrs = {{dfg.name = \"k{number}\", dfg.unroll = "
              f"array<i64: {', '.join(map(str, factors))}>"
              f"{LUT if in_luts(kernel, number) else ''}{by_results(kernel, number)}}} {{",
              f"^bb0({', '.join([*args, '%acc: i32'])}):", *extensions, *BODIES[body],
              f"}} -> {out}"]
    return lines


def network_text(kernel, factors, weights, forms):
    count = len(factors)
    args = ", ".join(f"%x{i}: {tensor(kernel.shape, f'i{forms[i][0][0]}')}" for i in range(count))
    out = tensor(kernel.operand_shape(kernel.maps[-1]), "i32")
    results = ", ".join([out] * count)
    lines = [f"func.func @net({args}) -> ({results}) {{", "%zero = arith.constant 0 : i32",
             "%least = arith.constant -2147483648 : i32",
             *(f"%padi{bits} = arith.constant 3 : i{bits}" for bits in (3, 4, 5, 8))]
    for i in range(count):
        lines += kernel_text(kernel, i, factors[i], weights[i], forms[i])
    lines += [f"return {', '.join(f'%y{i}' for i in range(count))} : {results}", "}"]
    return "\n".join(lines) + "\n"


# What is expected.

def at(index, point):
    return sum(factor * point[loop] for loop, factor in index.items())


def as_read(array, form):
    bits, signed = form
    return array if signed else array & ((1 << bits) - 1)


def expected(kernel, frames, weight, forms):
    """Plain loops over the whole iteration space, all frames at once."""
    padded = np.pad(frames, [(0, 0), *kernel.pad], constant_values=3).astype(np.int64)
    padded, weight = as_read(padded, forms[0]), as_read(weight, forms[1])
    out = np.zeros([len(frames), *kernel.operand_shape(kernel.maps[-1])], np.int64)
    if kernel.combine == "max":
        out[:] = -(1 << 31)
    names = [name for name, _, _ in kernel.loops]
    for values in itertools.product(*(range(e) for _, e, _ in kernel.loops)):
        point = dict(zip(names, values))
        a = padded[(slice(None), *(at(i, point) for i in kernel.maps[0]))]
        where = (slice(None), *(at(i, point) for i in kernel.maps[-1]))
        if kernel.combine == "max":
            out[where] = np.maximum(out[where], a)
        else:
            b = 1 if kernel.maps[1] is None else \
                int(weight[tuple(at(i, point) for i in kernel.maps[1])])
            out[where] += a * b
    return out


# Chains: y0 = x + c, y1 = y0 + x, y2 = y1 + x, each with factors of its own.

class Chain:
    kind, LENGTH, COUNT = "chain", 3, 4

    def __init__(self, shape):
        self.shape = shape

    def sum_text(self, number, factors, inputs, out):
        rank = len(self.shape)
        dims = ", ".join(f"d{i}" for i in range(rank))
        kind = tensor(self.shape, "i8")
        iterators = ", ".join(['"parallel"'] * rank)
        maps = [f"affine_map<({dims}) -> ({dims})>"] * (len(inputs) + 1)
        if len(inputs) == 1:
            inputs, maps = [*inputs, "%c"], [maps[0], f"affine_map<({dims}) -> (d{rank - 1})>", maps[0]]
        types = [tensor(self.shape[-1:], "i8") if name == "%c" else kind for name in inputs]
        return [f"{out} = linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = "
                f"[{iterators}]}} ins({', '.join(inputs)} : {', '.join(types)}) outs(%e : {kind}) "
                f"attrs = {{dfg.name = \"k{number}\", dfg.unroll = "
                f"array<i64: {', '.join(map(str, factors))}>}} {{",
                "^bb0(%a: i8, %b: i8, %o: i8):", "%s = arith.addi %a, %b : i8",
                "linalg.yield %s : i8", f"}} -> {kind}"]

    def text(self, chains, constant):
        """One function of several chains; chains: factors of their sums."""
        kind = tensor(self.shape, "i8")
        args = ", ".join(f"%x{i}: {kind}" for i in range(len(chains)))
        results = ", ".join([kind] * len(chains))
        lines = [f"func.func @net({args}) -> ({results}) {{",
                 f"%c = arith.constant dense<{dense(constant)}> : {tensor(constant.shape, 'i8')}",
                 f"%e = tensor.empty() : {kind}"]
        for i, chain in enumerate(chains):
            last = None
            for k, factors in enumerate(chain):
                inputs = [f"%x{i}"] if last is None else [last, f"%x{i}"]
                last = f"%y{i}_{k}"
                lines += self.sum_text(f"{i}_{k}", factors, inputs, last)
        names = ", ".join(f"%y{i}_{self.LENGTH - 1}" for i in range(len(chains)))
        return "\n".join([*lines, f"return {names} : {results}", "}"]) + "\n"

    def random_chains(self, rng):
        return [[[rng.choice(divisors(extent)) for extent in self.shape]
                 for _ in range(self.LENGTH)] for _ in range(self.COUNT)]


def check_chain(tools, folder, chain, seed):
    rng = random.Random(seed)
    data = np.random.default_rng(seed)
    constant = data.integers(-128, 128, chain.shape[-1:])
    chains = chain.random_chains(rng)
    frames = [data.integers(-128, 128, [FRAMES, *chain.shape]).astype(np.int8) for _ in chains]
    (folder / "net.mir").write_text(chain.text(chains, constant))
    out = compiled(tools, folder)
    wanted = [(frame * 3 + constant).astype(np.int8) for frame in frames]
    for target in ("csim", "cosim"):
        for got, want, factors in zip(simulated(out, folder, frames, target), wanted, chains):
            if got.size != want.size or (got != want.ravel()).any():
                raise RuntimeError(f"{target}: factors {factors} give other numbers")


# Epilogues: y = clamp((w x + bias) scale >> SHIFT), with factors for the sums and for what follows.

class Epilogues:
    kind, COUNT, SHIFT = "epilogue", 4, 20
    ROWS, OUTPUTS, TERMS = 6, 8, 6

    def factors(self, rng):
        """Factors of a product, the rows and outputs of a word of sums, and those of its epilogue:
        rows of a word follow each other if they are whole."""
        outputs = rng.choice([factor for factor in divisors(self.OUTPUTS) if factor > 1])
        rows = rng.choice(divisors(self.ROWS)) if outputs == self.OUTPUTS else 1
        parts = rng.choice(divisors(rows)), rng.choice(divisors(outputs))
        return (rows, outputs, rng.choice(divisors(self.TERMS))), parts

    def folding(self, factors):
        layers = {}
        for number, (unroll, parts) in enumerate(factors):
            layers[f"k{number}"] = {"unroll": unroll}
            layers[f"k{number}_epilogue"] = {"unroll": parts, "words": [unroll[:2], parts]}
        return {"layers": layers}

    def text(self, weights, biases, scales):
        x, w = tensor([self.ROWS, self.TERMS], "i8"), tensor([self.OUTPUTS, self.TERMS], "i8")
        sums, y = tensor([self.ROWS, self.OUTPUTS], "i32"), tensor([self.ROWS, self.OUTPUTS], "i8")
        bias = tensor([self.OUTPUTS], "i32")
        maps = [f"affine_map<(r, o, k) -> ({indices})>" for indices in ("r, k", "o, k", "r, o")]
        rows = [f"affine_map<(r, o) -> ({indices})>" for indices in ("r, o", "o", "r, o")]
        numbers = range(len(weights))
        lines = [f"func.func @net({', '.join(f'%x{i}: {x}' for i in numbers)}) -> "
                 f"({', '.join([y] * len(weights))}) {{",
                 "%zero = arith.constant 0 : i32", f"%e = tensor.empty() : {sums}",
                 f"%f = linalg.fill ins(%zero : i32) outs(%e : {sums}) -> {sums}",
                 f"%g = tensor.empty() : {y}"]
        for i in numbers:
            lines += [
                f"%w{i} = arith.constant dense<{dense(weights[i])}> : {w}",
                f"%b{i} = arith.constant dense<{dense(biases[i])}> : {bias}",
                f"%s{i} = linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = "
                "[\"parallel\", \"parallel\", \"reduction\"]} "
                f"ins(%x{i}, %w{i} : {x}, {w}) outs(%f : {sums}) attrs = {{dfg.name = \"k{i}\"}} {{",
                "^bb0(%a: i8, %k: i8, %acc: i32):", "%ae = arith.extsi %a : i8 to i32",
                "%ke = arith.extsi %k : i8 to i32", "%m = arith.muli %ae, %ke : i32",
                "%s = arith.addi %acc, %m : i32", f"linalg.yield %s : i32 }} -> {sums}",
                f"%y{i} = linalg.generic {{indexing_maps = [{', '.join(rows)}], iterator_types = "
                "[\"parallel\", \"parallel\"]} "
                f"ins(%s{i}, %b{i} : {sums}, {bias}) outs(%g : {y}) {{",
                "^bb0(%a: i32, %b: i32, %o: i8):", "%t = arith.addi %a, %b : i32",
                "%wide = arith.extsi %t : i32 to i64",
                f"%scale = arith.constant {scales[i]} : i64", f"%by = arith.constant {self.SHIFT} : i64",
                "%high = arith.constant 127 : i64", "%low = arith.constant -128 : i64",
                "%p = arith.muli %wide, %scale : i64", "%d = arith.shrsi %p, %by : i64",
                "%c0 = arith.maxsi %d, %low : i64", "%c1 = arith.minsi %c0, %high : i64",
                "%r = arith.trunci %c1 : i64 to i8", f"linalg.yield %r : i8 }} -> {y}"]
        names = ", ".join(f"%y{i}" for i in numbers)
        return "\n".join([*lines, f"return {names} : {', '.join([y] * len(weights))}", "}"]) + "\n"


def check_epilogues(tools, folder, epilogues, seed):
    rng, data = random.Random(seed), np.random.default_rng(seed)
    numbers = range(epilogues.COUNT)
    factors = [epilogues.factors(rng) for _ in numbers]
    weights = [data.integers(-128, 128, [epilogues.OUTPUTS, epilogues.TERMS]) for _ in numbers]
    biases = [data.integers(-5000, 5000, [epilogues.OUTPUTS]) for _ in numbers]
    scales = [int(data.integers(1000, 9000)) for _ in numbers]
    frames = [data.integers(-128, 128, [FRAMES, epilogues.ROWS, epilogues.TERMS]).astype(np.int8)
              for _ in numbers]
    (folder / "net.mir").write_text(epilogues.text(weights, biases, scales))
    (folder / "folding.json").write_text(json.dumps(epilogues.folding(factors)))
    out = compiled(tools, folder, f"--folding={folder / 'folding.json'}")
    report = json.loads((out / "report.json").read_text())
    words = {process["name"]: process["unroll"] for process in report["processes"]}
    for number, (unroll, parts) in enumerate(factors):
        if (words[f"k{number}"], words[f"k{number}_epilogue"]) != (list(unroll), list(parts)):
            raise RuntimeError(f"k{number} has other factors than {unroll} and {parts}")
    for target in ("csim", "cosim"):
        for i, got in enumerate(simulated(out, folder, frames, target)):
            sums = frames[i].astype(np.int64) @ weights[i].T + biases[i]
            want = np.clip(sums * scales[i] >> epilogues.SHIFT, -128, 127).ravel()
            if got.size != want.size or (got != want).any():
                raise RuntimeError(f"{target}: factors {factors[i]} give other numbers")


# Running.

def run(command):
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
                            check=False, timeout=600)
    if result.returncode:
        errors = [line for line in result.stdout.splitlines() if "error" in line]
        raise RuntimeError(f"{command[0]}: {(errors or [result.stdout[-300:]])[0]}")


def compiled(tools, folder, *options):
    out = folder / "out"
    run([str(tools / "ming"), "compile", str(folder / "net.mir"), "-o", str(out), *options,
         *(f"--{kind}=100000000" for kind in ("dsp", "bram", "uram", "lut", "ff"))])
    return out


def simulated(out, folder, frames, target):
    """The results of all frames, flat, per output."""
    count = len(frames)
    inputs = [folder / f"x{i}.npy" for i in range(count)]
    outputs = [folder / f"y{i}.npy" for i in range(count)]
    for path, array in zip(inputs, frames):
        np.save(path, array.reshape(-1, *array.shape[2:]))
    ports = [f"{port}{i + 1 if i else ''}={path}"
             for port, paths in (("INPUT", inputs), ("OUTPUT", outputs))
             for i, path in enumerate(paths)]
    run(["make", "-C", str(out), target, "CXXFLAGS=-std=c++17 -O0", *ports])
    return [np.load(path).astype(np.int64).ravel() for path in outputs]


def multiplications(function):
    """Copies of named products in a C++ function, unrolled loops counted; those of LUTs apart."""
    copies, dsp, luts = [1], 0, 0
    lines = function.splitlines()
    for line, following in zip(lines, lines[1:]):
        loop = re.match(r" *for \(int \w+ = 0; \w+ < (\d+); ", line)
        if line.rstrip().endswith("{"):
            copies.append(int(loop[1]) if loop and "HLS unroll" in following else 1)
        elif line.strip() == "}":
            copies.pop()
        elif re.match(r" *const ap_int<\d+> (product|packed_sum)(_\d+)? = .*\*", line):
            if "impl = fabric" in following:
                luts += math.prod(copies)
            else:
                dsp += math.prod(copies)
    return dsp, luts


def check_report(kernel, factors, folder):
    report = json.loads((folder / "report.json").read_text())
    processes = {p["name"]: p for p in report["processes"]}
    functions = re.split(r"^static void (\w+)\(", (folder / "net.cpp").read_text(), flags=re.M)
    code = dict(zip(functions[1::2], functions[2::2]))
    for number, unroll in enumerate(factors):
        process = processes[f"k{number}"]
        iterations = math.prod(-(-extent // factor) for (_, extent, _), factor
                               in zip(kernel.loops, unroll))
        if tuple(process["unroll"]) != tuple(unroll):
            raise RuntimeError(f"k{number} has factors {process['unroll']}, not {unroll}")
        if not iterations <= process["interval_cycles"] <= iterations + DEEPEST:
            raise RuntimeError(f"factors {unroll}: {process['interval_cycles']} cycles, expected "
                               f"{iterations} and a depth")
        dsp, luts = multiplications(code[f"k{number}"])
        if (dsp and process["dsp"] != dsp) or (luts and process["dsp"]):
            raise RuntimeError(f"factors {unroll}: {process['dsp']} DSPs, but the code has {dsp} "
                               f"multiplications, and {luts} of LUTs")


def drawn(rng, shape, form, extreme):
    """Numbers of all of the type; or mostly, in some arrays always, its least and largest."""
    bits, signed = form
    least = -1 << (bits - 1)
    array = np.array(rng.integers(least, -least, shape))
    ends = [least, -least - 1] if signed else [-1, 0]
    picks = np.array(rng.choice(ends, shape) if rng.integers(2) else np.full(shape, ends[0]))
    return np.where(rng.random(shape) < (0.9 if extreme else 0), picks, array)


def check(tools, folder, kernel, factors, rng):
    shape = kernel.operand_shape(kernel.maps[1]) if kernel.maps[1] is not None else []
    forms = [PACKED[rng.integers(len(PACKED))] if kernel.packed else INT8 for _ in factors]
    weights = [drawn(rng, shape, form[1], kernel.packed) for form in forms]
    (folder / "net.mir").write_text(network_text(kernel, factors, weights, forms))
    frames = [drawn(rng, [FRAMES, *kernel.shape], form[0], kernel.packed).astype(np.int8)
              for form in forms]
    out = compiled(tools, folder)
    check_report(kernel, factors, out)
    for i, got in enumerate(simulated(out, folder, frames, "csim")):
        want = expected(kernel, frames[i], weights[i], forms[i]).ravel()
        if got.size != want.size or (got != want).any():
            raise RuntimeError(f"factors {factors[i]} of {forms[i]} give other numbers")


def run_case(name, check_it):
    with tempfile.TemporaryDirectory() as folder:
        try:
            check_it(pathlib.Path(folder))
        except (RuntimeError, subprocess.SubprocessError) as error:
            print(f"FAIL {name}: {error}", flush=True)
            return False
    print(f"PASS {name}", flush=True)
    return True


def all_cases(tools, args):
    """Pairs of a name and what to run in a folder."""
    for kernel in kernels(random.Random(args.seed)):
        factors = kernel.all_factors()
        random.Random(f"{args.seed} {kernel.kind}").shuffle(factors)
        if args.count:
            factors = factors[:args.count * KERNELS]
        for first in range(0, len(factors), KERNELS):
            part, rng = factors[first:first + KERNELS], np.random.default_rng(args.seed + first)
            yield (f"unroll-{kernel.kind}-{args.seed}-{first // KERNELS}", kernel.kind,
                   functools.partial(check, tools, kernel=kernel, factors=part, rng=rng))
    for number in range(args.count or 10):
        chain = Chain([random.Random(args.seed + number).choice([1, 2, 3]), 4, 6])
        yield (f"unroll-chain-{args.seed}-{number}", chain.kind,
               functools.partial(check_chain, tools, chain=chain, seed=args.seed + number))
        yield (f"unroll-epilogue-{args.seed}-{number}", Epilogues.kind,
               functools.partial(check_epilogues, tools, epilogues=Epilogues(),
                                 seed=args.seed + number))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--kind")
    args = parser.parse_args()
    cases = [(name, check_it) for name, kind, check_it in all_cases(args.tools.resolve(), args)
             if args.kind in (None, kind)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        passed = sum(pool.map(lambda case: run_case(*case), cases))
    print(f"{passed} passed, {len(cases) - passed} failed")
    return 0 if passed == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
