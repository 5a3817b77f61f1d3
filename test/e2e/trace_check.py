#!/usr/bin/env python3
"""Compares the tensors inside designs with those of their networks, layer by layer.

    trace_check.py --tools=DIR [--seed=N] [--count=N] [--csim=N] [--filter=REGEX] [--models]

`ming run --trace` gives every tensor of a network. `ming sim --trace` of the
compiled design, and for each N-th network `make csim-trace`, must give some of
the same tensors under the same names, in the same shapes, with the same values:
equal where scales are powers of two, to 1e-6 of the largest else. Each tensor
of the network is either traced or listed as fused, and both traces of a design
are the same files. Networks are those of gen_networks.py, compiled in several
ways, and with --models those of the folder that MING_MODELS names. A weight
that is changed in the C++ must show in its layer first.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

import gen_networks
import networks_check
from networks_check import Failure, run

WAYS = ((), ("--interface=m_axi",), ("--interface=dma",), ("--weights=load",),
        ("--objective=latency",), ("--residual=none",))
TOLERANCE = 1e-6


def load(folder):
    """The index of a trace, and its arrays by name."""
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    return index, {row["name"]: np.load(folder / row["file"]) for row in index["tensors"]}


class Check:
    """A network that is compiled in one way."""

    def __init__(self, tools, work, model, frames):
        self.ming, self.work, self.model = tools / "ming", work, model
        self.input = work / "x.npy"
        np.save(self.input, frames)

    def network(self, flags):
        run(self.ming, "run", self.model, f"--input={self.input}", f"--trace={self.work / 'run'}",
            *flags)
        return load(self.work / "run")[1]

    def compile(self, flags, way):
        run(self.ming, "compile", self.model, "-o", self.work / "out", *flags, *way)

    def simulate(self):
        run(self.ming, "sim", self.work / "out", f"--input={self.input}",
            f"--trace={self.work / 'sim'}")
        return load(self.work / "sim")

    def csim(self, name="csim"):
        run("make", "csim-trace", "-s", "-C", self.work / "out", f"INPUT={self.input}",
            f"OUTPUT={self.work / 'y.npy'}", f"TRACE={self.work / name}", "CXXFLAGS=-std=c++17 -O0")
        return load(self.work / name)

    def compare(self, first, second):
        """What `ming compare` prints, and its exit status."""
        done = subprocess.run([self.ming, "compare", self.work / first, self.work / second],
                              capture_output=True, check=False, text=True)
        return done.stdout, done.returncode


def check_tensors(what, index, tensors, network, tolerance):
    """The traced tensors are the network's, and none is forgotten."""
    missing = set(network) - set(tensors) - set(index["fused"])
    if missing:
        raise Failure(f"{what}: neither traced nor fused: {sorted(missing)[0]}")
    if set(tensors) & set(index["fused"]) or set(tensors) - set(network):
        raise Failure(f"{what}: the tensors are not the network's")
    if not tensors:
        raise Failure(f"{what}: no tensor is traced")
    for name, array in tensors.items():
        networks_check.compare(f"{what}: {name}", network[name], array, tolerance)


def check_network(check, flags, way, tolerance, with_csim):
    network = check.network(flags)
    check.compile(flags, way)
    index, tensors = check.simulate()
    check_tensors("ming sim", index, tensors, network, tolerance)
    if tolerance == 0 and check.compare("run", "sim")[1] != 0:
        raise Failure("ming compare: the traces differ")
    if not with_csim:
        return len(tensors)
    again, arrays = check.csim()
    if {**again, "source": 0} != {**index, "source": 0} and \
            [row["name"] for row in again["tensors"]] != [row["name"] for row in index["tensors"]]:
        raise Failure("csim traces other tensors than ming sim")
    for name, array in arrays.items():
        if array.dtype != tensors[name].dtype or not np.array_equal(array, tensors[name]):
            raise Failure(f"csim: {name} is not as in ming sim")
    return len(tensors)


def check_change(tools, work):
    """Another weight in the last layer's table: there the traces part, not before."""
    case = gen_networks.generate(2, 0)
    (work / "model.onnx").write_bytes(case.data)
    check = Check(tools, work, work / "model.onnx", case.frames)
    check.network(case.flags)
    check.compile(case.flags, ())
    index, _ = check.csim()
    params = next((work / "out").glob("*_params.h"))
    text = params.read_text()
    table = list(re.finditer(r"_weights[^=]*= *\{[^0-9-]*(-?\d+)", text))[-1]
    params.write_text(text[:table.start(1)] + str(int(table[1]) ^ 1) + text[table.end(1):])
    check.csim("changed")
    printed, status = check.compare("csim", "changed")
    rows = [row["name"] for row in index["tensors"]]
    differ = [name for name in rows if re.search(rf"^{re.escape(name)}\s", printed, re.M)]
    if status != 1 or not differ or differ[0] == rows[0]:
        raise Failure(f"a changed weight shows in {differ} of {rows}")


def cases(args):
    for index in range(args.count):
        case = gen_networks.generate(args.seed, index)
        yield case.name, case, WAYS[index % len(WAYS)], index % args.csim == 0 if args.csim else False
    folder = os.environ.get("MING_MODELS")
    if args.models and folder:
        for path in sorted(pathlib.Path(folder).glob("*/model.onnx")):
            yield path.parent.name, path, ("--device=zcu102",), args.csim > 0


def run_case(tools, name, case, way, with_csim):
    with tempfile.TemporaryDirectory(prefix="ming-trace-") as folder:
        work = pathlib.Path(folder)
        try:
            if isinstance(case, pathlib.Path):
                frames = np.load(case.parent / "input.npy")
                check = Check(tools, work, case, frames[:2] if len(frames) > 1 else frames)
                count = check_network(check, (), way, 0.0, with_csim)
            else:
                (work / "model.onnx").write_bytes(case.data)
                check = Check(tools, work, work / "model.onnx", case.frames)
                tolerance = 0.0 if case.dyadic else TOLERANCE
                count = check_network(check, case.flags, way, tolerance, with_csim)
        except (Failure, subprocess.TimeoutExpired, ValueError) as why:
            print(f"FAIL {name} {' '.join(way)}: {why}", flush=True)
            return False
    print(f"PASS {name} {' '.join(way)}: {count} tensors", flush=True)
    return True


def run_change(tools):
    with tempfile.TemporaryDirectory(prefix="ming-trace-") as folder:
        try:
            check_change(tools, pathlib.Path(folder))
        except (Failure, subprocess.TimeoutExpired) as why:
            print(f"FAIL a changed weight: {why}", flush=True)
            return False
    print("PASS a changed weight", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--csim", type=int, default=6)
    parser.add_argument("--filter", default="")
    parser.add_argument("--models", action="store_true")
    args = parser.parse_args()
    tools = args.tools.resolve()
    results = [run_case(tools, *case) for case in cases(args) if re.search(args.filter, case[0])]
    if not args.filter:
        results.append(run_change(tools))
    failed = results.count(False)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
