#!/usr/bin/env python3
"""Runs layers of few bits, whose products may be counts of bits, at every level.

    popcount_check.py --tools=DIR [--seed=N] [--count=N] [--quick] [--cpp-every=N] [--rtl-every=N]
        [--filter=REGEX]

A layer is a dense one or a convolution, strided, padded, grouped or depthwise, of
activations and weights that are bipolar, ternary or integers of one to three bits,
signed or not; the sums of some are added to those of another layer on the same
activations before anything else happens to them, so that the sums of the one start
from those of the other. numpy says what its sums are. The design that the search finds, and the
one of its folding file with other multipliers, must give just these in `ming sim`,
csim and cosim, the network in `ming run`, and the processes take the cycles that are
predicted. What counts in synthesis is compared with the bits one by one. --quick
leaves cosim out; --cpp-every=N builds the C++ of one layer in N only, for many layers, and
--rtl-every=N runs the Verilog of one in N (0: of none) in Icarus: both designs, those whose weights
are loaded as well. With MING_PRECOMPILED the C++ is built as precompiled.py says.
"""
import argparse
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import cost_check
import networks_check
import numpy_ops as ops
import rtl_reals
from network_builder import F32, QUANT_DOMAIN, Network

MOST_PRODUCTS = 300
MULTIPLIERS = ("popcount", "lut", "dsp")
RTL = "rtl"                             # beside targets of make: our Verilog


# What synthesis makes of popcount<N>, against the bits one by one.
TREE = """#define __SYNTHESIS__ 1
#include "{top}_params.h"
#include <cstdlib>
template <int N> int wrong()
{{
    for (int t = 0; t < 20; t++) {{
        ap_uint<N> bits = 0;
        int count = 0;
        for (int i = 0; i < N; i++) {{
            const bool bit = t == 0 || std::rand() % 3 < 1;
            bits[i] = bit;
            count += bit;
        }}
        if (popcount(bits) != count)
            return N;
    }}
    if constexpr (N > 1)
        return wrong<N - 1>();
    return 0;
}}
int main() {{ return wrong<150>(); }}
"""


class Layer:
    """A random layer: its file, its frames, its sums."""

    def __init__(self, rng, name):
        self.rng, self.net = rng, Network(name, rng, dyadic=True, frames=rng.choice([1, 2]))
        self.words = []
        if rng.random() < 0.45:
            self.dense()
        else:
            self.convolution()

    def levels(self, x, what):
        """x as few levels: bipolar, ternary, or n bits."""
        kind = self.rng.choice(["bipolar", "bipolar", "ternary", "signed", "unsigned"])
        bits = self.rng.randint(2 if kind == "signed" else 1, 3)
        scale = F32(self.rng.choice([1.0, 0.5, 2.0]))
        self.words.append(f"{kind}{'' if kind in ('bipolar', 'ternary') else bits} {what}")
        if kind == "bipolar":
            s = self.net.constant(scale)
            return self.net.node("BipolarQuant", [x, s], ops.bipolar_quant(x.array, scale, {}), {},
                                 QUANT_DOMAIN)
        if kind == "ternary":
            return self.net.quant_by(x, scale, 2, narrow=True)
        return self.net.quant_by(x, scale, bits, signed=kind == "signed")

    def weights(self, shape):
        reals = self.net.numpy.normal(0, 1.5, shape).astype(F32)
        if self.rng.random() < 0.1:
            reals = np.abs(reals) + F32(0.1)            # one constant weight
        return self.levels(self.net.constant(reals, "weight"), "weights")

    def joined(self, make_sums):
        """The sums of one such layer, or of two."""
        sums = make_sums()
        if self.rng.random() < 0.3:
            self.words.append("joined")
            sums = self.net.binary("Add", sums, make_sums())
        return sums

    def finish(self, sums):
        """The sums themselves, or levels of them and a further layer."""
        if self.rng.random() < 0.3:
            sums = self.levels(self.net.batch_norm(sums), "results")
            if sums.array.ndim == 4 and min(sums.array.shape[2:]) > 1 and self.rng.random() < 0.5:
                self.words.append("pool")
                sums = self.net.max_pool(sums)
            sums = self.net.flatten(sums) if sums.array.ndim == 4 else sums
            weight = self.weights((sums.array.shape[1], self.rng.randint(1, 5)))
            sums = self.net.matmul(sums, weight)
        self.net.output(sums)

    def dense(self):
        products = self.rng.choice([1, 2, 3, self.rng.randint(4, 40),
                                    self.rng.randint(1, MOST_PRODUCTS)])
        outputs = self.rng.randint(1, 12)
        x = self.levels(self.net.input((products,)), "activations")
        self.words.append(f"dense {products}x{outputs}")
        self.finish(self.joined(lambda: self.net.matmul(x, self.weights((products, outputs)))))

    def convolution(self):
        """Any kernel, stride, dilation and padding; the padding may differ at each border."""
        rng = self.rng
        kernel = [rng.choice([1, 2, 3, 3]) for _ in range(2)]
        dilations = [rng.choice([1, 1, 2]) if k > 1 else 1 for k in kernel]
        strides = [rng.choice([1, 1, 2, 3]) for _ in kernel]
        spans = [(k - 1) * d for k, d in zip(kernel, dilations)]
        pads = [rng.randint(0, min(span, 3)) if rng.random() < 0.7 else 0 for span in spans * 2]
        groups = rng.choice([1, 1, 2, 3])
        channels = groups * rng.randint(1, max(1, min(8, MOST_PRODUCTS // (kernel[0] * kernel[1]))))
        filters = groups * rng.randint(1, 4)
        if groups > 1 and rng.random() < 0.5:
            groups = filters = channels                     # depthwise
        size = [rng.randint(span + 1, span + 6) for span in spans]
        x = self.levels(self.net.input((channels, *size)), "activations")
        self.words.append(f"conv {kernel[0]}x{kernel[1]} {channels}->{filters} groups {groups} "
                          f"strides {strides} dilations {dilations} pads {pads}")
        self.finish(self.joined(lambda: self.net.conv(
            x, self.weights((filters, channels // groups, *kernel)), strides=strides,
            dilations=dilations, pads=pads, group=groups)))


def execute(tools, work, design, want, targets):
    """The design's results in `ming sim` and these simulations of its C++, and its cycles."""
    predicted, simulated = cost_check.read_design(tools, design)
    for name, cycles in simulated.items():
        if cost_check.deviates(predicted[name], cycles):
            raise networks_check.Failure(f"{name} takes {cycles} cycles, not {predicted[name]}")
    networks_check.run(tools / "ming", "sim", design, f"--input={work / 'x.npy'}",
                       f"--output={work / 'y.npy'}")
    compare("sim", want, work)
    for target in targets:
        (work / "y.npy").unlink()
        if target == RTL:
            np.save(work / "y.npy", rtl_reals.simulate(design, np.load(work / "x.npy")))
            compare(target, want, work)
            continue
        networks_check.make(design, target, work / "x.npy", work / "y.npy")
        compare(target, want, work)


def compare(what, want, work):
    got = np.load(work / "y.npy")
    networks_check.compare(what, want, got.reshape(want.shape))


def check_tree(work):
    """The function that counts bits in synthesis. False: the design has none."""
    design = work / "design"
    params = next(design.glob("*_params.h"))
    if "struct Popcount" not in params.read_text(encoding="utf-8"):
        return False
    source = work / "tree.cpp"
    source.write_text(TREE.format(top=params.name.removesuffix("_params.h")), encoding="utf-8")
    networks_check.run("g++", "-std=c++17", "-O0", f"-I{design}", f"-I{design / 'csim'}", source,
                       "-o", work / "tree")
    networks_check.run(work / "tree", "")
    return True


def compile_model(tools, work, name, *options):
    design = work / name
    shutil.rmtree(design, ignore_errors=True)
    networks_check.run(tools / "ming", "compile", work / "model.onnx", "-o", design,
                       "--device=pynq-z1", *options)
    return design


def other_multipliers(rng, design, path):
    """The folding file with other multipliers; how many of them there are."""
    folding = json.loads((design / "folding.json").read_text(encoding="utf-8"))
    pinned = [layer for name, layer in folding["layers"].items()
              if "multiplier" in layer and not name.endswith("_epilogue")]    # no sums of products
    for layer in pinned:
        layer["multiplier"] = rng.choice([name for name in MULTIPLIERS
                                          if name != layer["multiplier"]])
    folding.pop("fifos", None)
    path.write_text(json.dumps(folding), encoding="utf-8")
    return len(pinned)


def check(tools, work, layer, targets):
    """How many kernels had another multiplier the second time; it is not simulated in cosim."""
    rng, net = layer.rng, layer.net
    want = net.result.array
    (work / "model.onnx").write_bytes(net.encode())
    np.save(work / "x.npy", net.source.array)
    networks_check.run(tools / "ming", "run", work / "model.onnx", f"--input={work / 'x.npy'}",
                       f"--output={work / 'y.npy'}")
    compare("run", want, work)
    budget = rng.choice([(), (), ("--rewind=on",), ("--fps=50000",), ("--weights=load",)])
    emit = ("--emit=hls,verilog",) if RTL in targets else ()
    design = compile_model(tools, work, "design", *emit, *budget)
    others = other_multipliers(rng, design, work / "folding.json")
    execute(tools, work, design, want, targets)
    if others:
        design = compile_model(tools, work, "other", f"--folding={work / 'folding.json'}",
                               "--lut=1000000", "--dsp=100000", "--bram=100000", *emit, *budget)
        execute(tools, work, design, want, [target for target in targets if target != "cosim"])
    return others


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--cpp-every", type=int, default=1)
    parser.add_argument("--rtl-every", type=int, default=1)
    parser.add_argument("--filter", default="")
    args = parser.parse_args()
    simulations = ("csim",) if args.quick else ("csim", "cosim")
    passed = failed = counted = 0
    has_tree = False
    with tempfile.TemporaryDirectory(prefix="ming-popcount-") as name:
        work = pathlib.Path(name)
        for index in range(args.count or (6 if args.quick else 100)):
            layer = Layer(random.Random(f"{args.seed} {index}"), f"layer{index}")
            title = f"{index}: {', '.join(layer.words)}"
            if not re.search(args.filter, title):
                continue
            targets = () if index % args.cpp_every else simulations
            if args.rtl_every and index % args.rtl_every == 0:
                targets = *targets, RTL
            try:
                counted += check(args.tools.resolve(), work, layer, targets)
                has_tree = has_tree or check_tree(work)
            except (networks_check.Failure, subprocess.SubprocessError) as why:
                print(f"FAIL {title}: {why}", flush=True)
                failed += 1
                continue
            print(f"PASS {title}", flush=True)
            passed += 1
    print(f"note: {counted} kernels with two multipliers")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not counted or not has_tree else 0


if __name__ == "__main__":
    sys.exit(main())
