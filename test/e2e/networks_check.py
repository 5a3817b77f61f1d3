#!/usr/bin/env python3
"""Runs whole networks as exporters write them (gen_networks.py) at every level.

    networks_check.py --tools=DIR [--seed=N] [--count=N] [--filter=REGEX]

Each network must pass `ming check` and give numpy's output at the onnx level,
some of them in the simulation, and as integer linalg that output again: exactly where it is a quantized one, to
1e-6 of the largest where the last scaling is floating point. Upstream's
mlir-opt must accept the linalg, its runner give the same integers, and every
pass keep the network's meaning. Where MING_ORT names an installation, ONNX
Runtime is asked too.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import gen_networks
import import_check
import onnx_runtime

LOWERING = ("builtin.module(func.func(onnx-fold-constants,onnx-decompose,onnx-fold-constants,"
            "onnx-infer-shapes,convert-onnx-to-linalg))")
FLOAT_QUANTIZER = re.compile(r"arith\.fpto[su]i|math\.\w+")
TOLERANCE = 1e-6
CLOSE = 0.02            # of ONNX Runtime's outputs that may differ by a level
TIMEOUT = 120                                           # seconds per run


class Failure(Exception):
    """Why a case failed, in one line."""


def run(*command):
    """What is printed on (stdout, stderr)."""
    done = subprocess.run([str(word) for word in command], capture_output=True, check=False,
                          encoding="utf-8", errors="replace", timeout=TIMEOUT)
    if done.returncode:
        lines = (done.stderr + done.stdout).strip().splitlines() or ["no message"]
        raise Failure(f"{pathlib.Path(command[0]).name} {command[1]}: {lines[0]}")
    return done.stdout, done.stderr


def make(design, target, given, got):
    """Runs a design's C++ as its Makefile builds it, without optimizing."""
    run("make", "-s", "-C", design, target, f"INPUT={given}", f"OUTPUT={got}", "CXXFLAGS=-O0 -std=c++17")


def compare(what, want, got, tolerance=0.0):
    if want.shape != got.shape:
        raise Failure(f"{what}: shape {got.shape}, not {want.shape}")
    error = np.abs(got.astype(np.float64) - want.astype(np.float64))
    wrong = np.flatnonzero(~(error <= tolerance * np.abs(want).max()))
    if wrong.size:
        first = wrong[0]
        raise Failure(f"{what}: {wrong.size} of {want.size} elements differ, {first} is "
                      f"{got.flat[first]}, not {want.flat[first]}")


class Check:
    """One network in a folder of its own."""

    def __init__(self, tools, case, work):
        self.tools, self.case, self.work = tools, case, work
        self.model = work / "model.onnx"
        self.model.write_bytes(case.data)
        np.save(work / "x.npy", case.frames)

    def execute(self, *flags):
        run(self.tools / "ming", "run", self.model, f"--input={self.work / 'x.npy'}",
            f"--output={self.work / 'y.npy'}", *self.case.flags, *flags)
        return np.load(self.work / "y.npy")

    def lower(self):
        run(self.tools / "ming-translate", "--import-onnx", self.model, "-o",
            self.work / "model.mir", *self.case.flags)
        return run(self.tools / "ming-opt", self.work / "model.mir", "--verify-semantics=1",
                   f"--pass-pipeline={LOWERING}")

    def report(self):
        """`ming check` tells of every node; the exit status is the answer."""
        command = [self.tools / "ming", "check", self.model, *self.case.flags]
        printed = subprocess.run([*command, "--json"], capture_output=True, check=False,
                                 timeout=TIMEOUT)
        report = json.loads(printed.stdout)
        if report["compiles"] != (printed.returncode == 0):
            raise Failure("ming check: the exit status contradicts the report")
        silent = [node["name"] for node in report["nodes"]
                  if node["status"] == "unsupported" and not node["reason"]]
        if silent:
            raise Failure(f"ming check: no reason for {silent[0]}")
        if len(report["nodes"]) != self.case.nodes:
            raise Failure(f"ming check: {len(report['nodes'])} of {self.case.nodes} nodes")
        if report["total"]["macs"] != self.case.macs:
            raise Failure(f"ming check: {report['total']['macs']} MACs, not {self.case.macs}")

    def linalg(self):
        """The integers of the linalg, by ming's interpreter and upstream's runner."""
        text, messages = self.lower()
        is_real = ": f32" in text
        found = FLOAT_QUANTIZER.search(text + messages) or \
            re.search("in floating point.*", messages)
        if found and self.case.is_integer:
            raise Failure(f"is no integer network: {found[0]}")
        got = self.execute(f"--pass-pipeline={LOWERING}").astype(np.float32)
        compare("as integers", self.case.expected, got, TOLERANCE if is_real else 0.0)
        if not is_real and shutil.which("mlir-cpu-runner-19"):
            import_check.compare(text, self.case.frames, self.case.expected)

    def runtime(self):
        """ONNX Runtime rounds sums where numpy does not: with scales that are no powers of two a
        level may differ here and there. On processors that saturate it is precise if asked."""
        try:
            self.compare_runtime(False)
        except Failure:
            self.compare_runtime(True)

    def compare_runtime(self, precise):
        try:
            got = onnx_runtime.run(self.model, self.case.frames, self.work, self.case.batch, precise)
        except onnx_runtime.RuntimeFailure as failure:
            raise Failure(f"ONNX Runtime: {failure}") from None
        want = self.case.expected
        if self.case.dyadic:
            return compare("ONNX Runtime", want, got.reshape(want.shape))
        error = np.abs(got.reshape(want.shape) - want)
        if np.mean(error > TOLERANCE * np.abs(want).max()) > CLOSE and \
                error.max() > CLOSE * np.ptp(want):
            raise Failure(f"ONNX Runtime: differs by {error.max()}")
        return None

    def simulation(self):
        """The design, cycle by cycle; a float may be rounded once more."""
        out = self.work / "out"
        run(self.tools / "ming", "compile", self.model, "-o", out, *self.case.flags)
        run(self.tools / "ming", "sim", out, f"--input={self.work / 'x.npy'}",
            f"--output={self.work / 'z.npy'}")
        got = np.load(self.work / "z.npy")
        exact = self.case.expected.dtype.kind == "i"
        compare("ming sim", self.case.expected, got, 0.0 if exact else TOLERANCE)

    def all(self):
        self.report()
        compare("as exported", self.case.expected, self.execute())
        self.linalg()
        if self.case.is_simulated:
            self.simulation()
        if self.case.is_standard and onnx_runtime.folder():
            self.runtime()


def run_case(tools, case):
    with tempfile.TemporaryDirectory(prefix="ming-network-") as folder:
        try:
            Check(tools, case, pathlib.Path(folder)).all()
        except (Failure, import_check.Failure, subprocess.TimeoutExpired, ValueError) as why:
            print(f"FAIL {case.name}: {why}", flush=True)
            return False
    print(f"PASS {case.name}", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=len(gen_networks.FAMILIES))
    parser.add_argument("--filter", default="")
    args = parser.parse_args()
    cases = [case for case in (gen_networks.generate(args.seed, index)
                               for index in range(args.count))
             if re.search(args.filter, case.name)]
    results = [run_case(args.tools.resolve(), case) for case in cases]
    if not onnx_runtime.folder():
        skipped = sum(case.is_standard for case in cases)
        print(f"note: no ONNX Runtime, {skipped} comparisons with it skipped")
    failed = results.count(False)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
