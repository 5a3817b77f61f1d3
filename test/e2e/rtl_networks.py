#!/usr/bin/env python3
"""Runs the Verilog of networks and kernels in Verilator.

    rtl_networks.py --tools=DIR [--filter=REGEX] [--styles=NAME,...] [--keep=DIR]

Cases are the networks of MING_MODELS and the kernels of MING_MLIR; where these are not set they are
named as left out. Each is compiled by `ming compile --emit=hls,verilog` in some styles:

- `make lint` has nothing to say;
- `make rtlsim` gives the exact outputs of all frames, with the cycles that `ming sim` says for the
  first frame and between the last two;
- the same outputs for the first frame with ports that pause at random.

TFC_1W1A begins and ends in floats, which the host computes: what lies between is compared with
`ming run`. Each case prints `PASS name: seconds` or `FAIL name: why`; the last line counts.
MobileNetV2's simulator takes minutes to compile and gigabytes.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

from design_cases import judge
from run_check import Failure, check_equal

STYLES = {"default": (), "flushing": ("--pipeline-style=flushing",), "loaded": ("--weights=load:256",)}
NETWORKS = {                            # options of ming compile, and styles
    "two_layers": ((), tuple(STYLES)),
    "add_into_sum": ((), ("default",)),
    "bipolar_input": ((), tuple(STYLES)),
    "TFC_1W1A": (("--from=BipolarQuant_11", "--input-shape=1x784", "--to=MatMul_40"), ("default",)),
    "resnet8_a8w8b16": ((), ("default", "flushing")),
    "mobilenet_v2_a8w6b32": (("--device=zcu102",), ("default",)),
}
RATES = ("INPUT_RATE=0.7", "OUTPUT_RATE=0.5", "SEED=3")
CYCLES = {"latency_cycles": r"latency of the first frame: (\d+)",
          "last_interval_cycles": r"interval between the last two frames: (\d+)"}
TIMEOUT = 3600                          # seconds


@dataclasses.dataclass
class Case:
    name: str
    model: pathlib.Path
    options: tuple                      # of ming compile
    style: str


def run(*words):
    """What is printed on standard output."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False, timeout=TIMEOUT)
    if done.returncode:
        raise Failure(f"{' '.join(str(word) for word in words[:4])} exits with {done.returncode}: "
                      f"{(done.stderr + done.stdout)[:300]}")
    return done.stdout


class Check:
    """A case in a folder of its own."""

    def __init__(self, tools, case, folder):
        self.tools, self.case, self.folder = tools, case, folder
        self.out = folder / "out"
        folder.mkdir(parents=True)

    def frames(self):
        """Inputs and outputs."""
        inputs = np.load(self.case.model.parent / "input.npy")
        if "--from=BipolarQuant_11" not in self.case.options:
            return inputs, np.load(self.case.model.parent / "output.npy")
        cut = np.where(2 * inputs.reshape(-1, 784) - 1 >= 0, 1, -1).astype(np.float32)
        np.save(self.folder / "cut.npy", cut)
        run(self.tools / "ming", "run", self.case.model, *self.case.options,
            f"--input={self.folder / 'cut.npy'}", f"--output={self.folder / 'wanted.npy'}")
        return cut, np.load(self.folder / "wanted.npy")

    def simulate(self, inputs, want, what, *settings):
        """What make rtlsim prints."""
        np.save(self.folder / "x.npy", inputs)
        printed = run("make", "-s", "-C", self.out, "rtlsim", f"INPUT={self.folder / 'x.npy'}",
                      f"OUTPUT={self.folder / 'y.npy'}", *settings)
        got = np.load(self.folder / "y.npy")
        if got.size != want.size:
            raise Failure(f"{what}: {got.shape} in place of {want.shape}")
        check_equal(got.reshape(want.shape), want, what)
        return printed

    def check_cycles(self, printed, frames):
        table = self.folder / "sim.json"
        run(self.tools / "ming", "sim", self.out, f"--frames={frames}", f"--json={table}")
        said = json.loads(table.read_text(encoding="utf-8"))
        for key, pattern in CYCLES.items():
            found = re.search(pattern, printed)
            if found and int(found[1]) != said[key]:
                raise Failure(f"{key} are {found[1]}, but ming sim says {said[key]}")
            if not found and (key == "latency_cycles" or frames > 1):
                raise Failure(f"rtlsim does not print {key}")

    def check(self):
        start = time.monotonic()
        inputs, want = self.frames()
        run(self.tools / "ming", "compile", self.case.model, "-o", self.out, "--emit=hls,verilog",
            *self.case.options, *STYLES[self.case.style])
        if printed := run("make", "-s", "-C", self.out, "lint"):
            raise Failure(f"lint: {printed[:300]}")
        frames = len(inputs) if self.case.model.suffix == ".onnx" else 1
        self.check_cycles(self.simulate(inputs, want, "at full speed"), frames)
        share = 1 if self.case.model.suffix == ".onnx" else len(inputs)
        self.simulate(inputs[:share], want[:share], "with ports that pause", *RATES)
        print(f"PASS {self.folder.name}: {time.monotonic() - start:.0f} s", flush=True)
        return True


def cases():
    models, mlir = os.environ.get("MING_MODELS"), os.environ.get("MING_MLIR")
    if not models:
        print("note: MING_MODELS is not set; its networks are left out")
    for name, (options, styles) in NETWORKS.items() if models else ():
        for style in styles:
            yield Case(name, pathlib.Path(models) / name / "model.onnx", options, style)
    if not mlir:
        print("note: MING_MLIR is not set; its kernels are left out")
    for path in sorted(pathlib.Path(mlir).glob("kernels/*/model.mlir")) if mlir else ():
        yield Case(path.parent.name, path, (), "default")


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True, help="folder of ming")
    parser.add_argument("--filter", default="", help="names that match")
    parser.add_argument("--styles", default=",".join(STYLES), help="separated by commas")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="leave designs there")
    args = parser.parse_args()
    args.tools = args.tools.resolve()
    return args


def main():
    args = parse_args()
    chosen = [case for case in cases()
              if re.search(args.filter, case.name) and case.style in args.styles.split(",")]
    with tempfile.TemporaryDirectory(prefix="ming-rtl-") as scratch:
        folder = args.keep.resolve() if args.keep else pathlib.Path(scratch)
        results = [judge(f"{case.name}-{case.style}", Check(
            args.tools, case, folder / f"{case.name}-{case.style}").check) for case in chosen]
    failed = results.count(None)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
