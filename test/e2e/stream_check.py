#!/usr/bin/env python3
"""Weights that are read from memory (--weights=stream), or loaded from one (--weights-interface), on
random networks.

    stream_check.py --tools=DIR [--count=N] [--seed=N] [--csim=N] [--models=DIR]

A network is products of matrices, or convolutions and such a product, with weights of 1 to 8 bits.
Its design is compiled; some of its tables are moved to memory by the folding file, for a bus of 64 to
512 bits and ports of each kind. What `ming sim` gives, and the C++ of one in N, must be numpy's outputs
exactly. The same network then loads its weights through a port of each kind, and takes several images
as a frame (--batch), for all of which dense layers read each bus word once. --models: networks with
published outputs as well, all of whose tables are streamed.
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

from network_builder import Network

MODELS = ("two_layers", "resnet8_a8w8b16")


def write_network(folder, rng, frames=3):
    """model.onnx, x.npy and y.npy; whether all layers are dense."""
    net = Network("streamed", rng, dyadic=True, frames=frames)
    bits = rng.choice([1, 2, 3, 4, 6, 8])
    is_dense = rng.random() >= 0.5
    if not is_dense:
        x = net.quant(net.input((rng.choice([1, 3, 8]), 6, 5)), rng.choice([1, 3]))
        for filters in (rng.choice([4, 9, 16]), rng.choice([5, 8])):
            kernel = rng.choice([1, 3])
            weight = net.quant_weight((filters, x.array.shape[1], kernel, kernel), bits)
            x = net.conv(x, weight, kernel_shape=[kernel] * 2, strides=[1] * 2,
                         pads=[kernel // 2] * 4)
            x = net.quant(net.relu(x), 3, signed=False)
        x = net.flatten(x)
    else:
        x = net.quant(net.input((rng.choice([7, 32, 100]),)), rng.choice([1, 2, 4]))
    for filters in (rng.choice([10, 64, 129]), 5):
        weight = net.quant_weight((filters, x.array.shape[1]), bits)
        x = net.quant(net.gemm(x, weight, transB=1), rng.choice([1, 4]) if filters != 5 else 4)
    net.output(x)
    (folder / "model.onnx").write_bytes(net.encode())
    np.save(folder / "x.npy", net.source.array)
    np.save(folder / "y.npy", net.result.array)
    return is_dense


def pin(source, target, choose):
    """A folding file with tables in memory; their number."""
    folding = json.loads(source.read_text())
    tables = [layer["storage"] for layer in folding["layers"].values()
              if "weights" in layer.get("storage", {})]
    chosen = [storage for storage in tables if choose()] or tables[-1:]
    for storage in chosen:
        kinds = storage["weights"]
        storage["weights"] = ["stream"] * len(kinds) if isinstance(kinds, list) else "stream"
    target.write_text(json.dumps(folding))
    return len(chosen)


class Check:
    def __init__(self, args, work):
        self.args, self.work = args, work
        self.passed = self.failed = self.streamed = self.spread = self.loaded = self.batched = 0

    def run(self, *command):
        done = subprocess.run(list(map(str, command)), text=True, capture_output=True)
        if done.returncode != 0:
            raise AssertionError(f"{command[:2]} exits with {done.returncode}: {done.stderr[-400:]}")
        return done.stdout

    def outputs(self, folder, *command):
        got = folder / "got.npy"
        got.unlink(missing_ok=True)
        self.run(*command)
        wanted = np.load(folder / "y.npy")
        if not np.array_equal(np.load(got).ravel(), wanted.ravel()):
            raise AssertionError(f"{command[0]} gives other outputs")

    def case(self, folder, rng, everything, runs_csim):
        ming = self.args.tools / "ming"
        device = "u250" if everything else rng.choice(["kv260", "u250"])
        model, design = folder / "model.onnx", folder / "design"
        flags = [f"--device={device}", f"--interface={rng.choice(['axis', 'm_axi', 'dma'])}",
                 "--utilization=100", *(["--fps=100"] if everything else [])]
        self.run(ming, "compile", model, "-o", design, *flags)
        count = pin(design / "folding.json", folder / "pinned.json",
                    lambda: everything or rng.random() < 0.6)
        shutil.rmtree(design)
        self.run(ming, "compile", model, "-o", design, "--weights=stream",
                 f"--folding={folder / 'pinned.json'}", *flags)
        report = json.loads((design / "report.json").read_text())
        names = [port["name"] for port in report["ports"] if port.get("weights", False)]
        # tables of one row are logic, wherever they are said to be; wide ones have several ports
        tables = {re.sub(r"_weights_\d+$", "_weights", name) for name in names}
        self.streamed += len(tables)
        self.spread += len(names) > len(tables)
        if len(tables) > count or report.get("streamed_weights", {}).get("ports", 0) != len(names):
            raise AssertionError(f"{len(names)} ports of weights for {count} tables")
        frames = folder / "x.npy", folder / "got.npy"
        self.outputs(folder, ming, "sim", design, f"--input={frames[0]}", f"--output={frames[1]}")
        if runs_csim:
            self.outputs(folder, "make", "-s", "-C", design, "csim", f"INPUT={frames[0]}",
                         f"OUTPUT={frames[1]}")

    def load_case(self, folder, rng, runs_csim):
        """Weights come from a memory, outside or inside, in front of the first frame."""
        ming, design = self.args.tools / "ming", folder / "loaded"
        kind, width = rng.choice([("m_axi", rng.choice([8, 32, 64, 128, 512])),
                                  ("axilite", rng.choice([8, 32, 64]))])
        self.run(ming, "compile", folder / "model.onnx", "-o", design, f"--weights=load:{width}",
                 f"--weights-interface={kind}", f"--interface={rng.choice(['axis', 'm_axi', 'dma'])}")
        ports = [port for port in json.loads((design / "report.json").read_text())["ports"]
                 if port.get("weights", False)]
        wanted = {"m_axi": "m_axi", "axilite": "s_axilite"}[kind]
        if [port["interface"] for port in ports] not in ([wanted], []):
            raise AssertionError(f"ports {[port['interface'] for port in ports]}, not {wanted}")
        self.loaded += len(ports)
        frames = folder / "x.npy", folder / "got.npy"
        self.outputs(folder, ming, "sim", design, f"--input={frames[0]}", f"--output={frames[1]}")
        if runs_csim:
            self.outputs(folder, "make", "-s", "-C", design, "csim", f"INPUT={frames[0]}",
                         f"OUTPUT={frames[1]}")

    def batch_case(self, folder, rng, runs_csim):
        """Two frames of several images, with random factors of the images' loops."""
        ming, design = self.args.tools / "ming", folder / "batched"
        images = rng.choice([2, 3, 4, 6])
        is_dense = write_network(folder, rng, frames=2 * images)
        flags = [f"--batch={images}", "--weights=stream", "--utilization=100",
                 f"--interface={rng.choice(['axis', 'm_axi', 'dma'])}"]
        self.run(ming, "compile", folder / "model.onnx", "-o", design, "--verify-semantics", *flags)
        pinned = folder / "pinned.json"
        pin(design / "folding.json", pinned, lambda: rng.random() < 0.8)
        folding = json.loads(pinned.read_text())
        layers = {}
        for name, layer in folding["layers"].items():
            if "weights" not in layer.get("storage", {}) or name.endswith("_epilogue"):
                continue
            factors = [rng.choice([f for f in range(1, n + 1) if n % f == 0]) for n in layer["loops"]]
            if layer["loops"][0] == images and np.prod(factors) <= 64:
                layer["unroll"] = factors
            layers[name] = {key: layer[key] for key in ("layer", "loops", "unroll", "storage")}
            layers[name]["storage"] = {"weights": layer["storage"]["weights"]}
        pinned.write_text(json.dumps({"layers": layers}))
        shutil.rmtree(design)
        self.run(ming, "compile", folder / "model.onnx", "-o", design, f"--folding={pinned}", *flags)
        report = json.loads((design / "report.json").read_text())
        names = [port["name"] for port in report["ports"] if port.get("weights", False)]
        if report.get("images") != images:
            raise AssertionError(f"{report.get('images')} images, not {images}")
        words = sum(np.load(next(design.glob(f"*_{name}.npy"))).size for name in names)
        bits = report.get("streamed_weights", {}).get("memory_bits", 0)
        if is_dense and not any("epilogue" in name for name in names) and bits != 64 * words:
            raise AssertionError(f"a frame reads {bits} bits from memories of {64 * words}")
        self.batched += is_dense and len(names) > 0
        frames = folder / "x.npy", folder / "got.npy"
        self.outputs(folder, ming, "sim", design, f"--input={frames[0]}", f"--output={frames[1]}")
        for target in ("csim", "cosim") if runs_csim else ():
            self.outputs(folder, "make", "-s", "-C", design, target, f"INPUT={frames[0]}",
                         f"OUTPUT={frames[1]}")

    def binary_case(self, folder, rng):
        """The search leaves words of bits, which are counted, in memory where blocks are few."""
        ming, design = self.args.tools / "ming", folder / "design"
        net = Network("binary", rng, dyadic=True, frames=2)
        x = net.bipolar_by(net.input((512,)), 1)
        weight = net.bipolar_by(net.constant(np.asarray(
            [[rng.choice([-1, 1]) for _ in range(512)] for _ in range(512)], np.float32), "w"), 1)
        net.output(net.quant(net.gemm(x, weight, transB=1), 4))
        (folder / "model.onnx").write_bytes(net.encode())
        np.save(folder / "x.npy", net.source.array)
        np.save(folder / "y.npy", net.result.array)
        self.run(ming, "compile", folder / "model.onnx", "-o", design, "--weights=stream", "--bram=8",
                 "--uram=0", "--lut=5000")
        report = json.loads((design / "report.json").read_text())
        if not report.get("streamed_weights"):
            raise AssertionError("no weights are streamed")
        self.outputs(folder, ming, "sim", design, f"--input={folder / 'x.npy'}",
                     f"--output={folder / 'got.npy'}")

    def check(self, name, case, *arguments):
        try:
            case(*arguments)
            self.passed += 1
        except (AssertionError, OSError, ValueError) as error:
            self.failed += 1
            print(f"stream {name}: {error}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--csim", type=int, default=0, help="the C++ of one in N, too")
    parser.add_argument("--models", type=pathlib.Path)
    args = parser.parse_args()
    args.tools = args.tools.resolve()
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        check = Check(args, work)
        for i in range(args.count):
            folder = work / str(i)
            folder.mkdir()
            rng = random.Random(args.seed * 1000 + i)
            write_network(folder, rng)
            check.check(f"seed {args.seed} network {i}", check.case, folder, rng, False,
                        args.csim > 0 and i % args.csim == 0)
            check.check(f"seed {args.seed} network {i}, loaded", check.load_case, folder, rng,
                        args.csim > 0 and i % args.csim == 0)
            check.check(f"seed {args.seed} network {i}, in batches", check.batch_case, folder, rng,
                        args.csim > 0 and i % args.csim == 0)
            shutil.rmtree(folder)
        for name in MODELS if args.models else ():
            folder = work / name
            folder.mkdir()
            for file, ours in (("model.onnx", "model.onnx"), ("input.npy", "x.npy"),
                               ("output.npy", "y.npy")):
                shutil.copy(args.models / name / file, folder / ours)
            check.check(name, check.case, folder, random.Random(args.seed), True, args.csim > 0)
        check.check("binary", check.binary_case, work, random.Random(args.seed))
        if args.count >= 8 and not all((check.streamed, check.spread, check.loaded, check.batched)):
            check.failed += 1
            print("stream: no table was streamed, none through several ports, none was loaded, or none "
                  "was read for several images")
    print(f"{check.passed} passed, {check.failed} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
