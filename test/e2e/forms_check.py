#!/usr/bin/env python3
"""Forms of requantizers: each that a folding file can name, on random networks.

    forms_check.py --tools=DIR [--count=N] [--seed=N] [--csim]

A network is a product, a normalization with gains of both signs and a quantizer of 3 to 16 levels,
twice. It is compiled as the search likes it and with every form pinned for its requantizers. What
`ming sim` gives, with --csim the C++ too, must be numpy's outputs exactly; comparisons must always be
possible, a form that is refused must be refused for the reason that no such form is exact; and the
project's own folding.json must give the same project, byte for byte.
"""
import argparse
import filecmp
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from network_builder import Network

FORMS = ("comparisons", "thresholds", "line", "moved line", "table")
REFUSAL = "the requantizer has no such exact form"


def write_network(folder, rng):
    """model.onnx, x.npy and y.npy."""
    net = Network("forms", rng, dyadic=rng.random() < 0.3, frames=20)
    inputs, hidden = rng.choice([4, 9, 40]), rng.choice([3, 8])
    x = net.quant(net.input((inputs,)), rng.choice([2, 4]))
    for filters in (hidden, 5):
        weight = net.quant_weight((filters, x.array.shape[1]), rng.choice([2, 3]))
        x = net.batch_norm(net.gemm(x, weight, transB=1))
        bits, is_signed = rng.choice([2, 3, 4]), rng.random() < 0.5
        x = net.quant(x if is_signed else net.relu(x), bits, signed=is_signed)
    net.output(x)
    folder.mkdir(exist_ok=True)
    (folder / "model.onnx").write_bytes(net.encode())
    np.save(folder / "x.npy", net.source.array)
    np.save(folder / "y.npy", net.result.array)


class Check:
    def __init__(self, args, work):
        self.args, self.work = args, work
        self.passed = self.failed = 0
        self.built = dict.fromkeys(FORMS, 0)

    def ming(self, *command):
        return subprocess.run([self.args.tools / "ming", *map(str, command)], text=True,
                              capture_output=True)

    def compile(self, design, folding=None):
        return self.ming("compile", self.work / "model.onnx", "-o", self.work / design,
                         *([f"--folding={folding}"] if folding else []))

    def outputs(self, design):
        frames = self.work / "x.npy", self.work / "got.npy"
        commands = [[self.args.tools / "ming", "sim", self.work / design, f"--input={frames[0]}",
                     f"--output={frames[1]}"]]
        if self.args.csim:
            commands.append(["make", "-s", "-C", self.work / design, "csim", f"INPUT={frames[0]}",
                             f"OUTPUT={frames[1]}"])
        for command in commands:
            frames[1].unlink(missing_ok=True)
            done = subprocess.run(command, text=True, capture_output=True)
            if done.returncode != 0:
                return f"{command[0]} exits with {done.returncode}: {done.stderr[-300:]}"
            if not np.array_equal(np.load(frames[1]), np.load(self.work / "y.npy")):
                return f"{command[0]} gives other outputs"
        return None

    def searched(self):
        """What is wrong with the project that the search finds, and with reading it back."""
        for design in ("free", "again"):
            shutil.rmtree(self.work / design, ignore_errors=True)
        done = self.compile("free")
        if done.returncode != 0:
            return done.stderr[-300:]
        again = self.compile("again", self.work / "free" / "folding.json")
        if again.returncode != 0:
            return f"its own folding.json is refused: {again.stderr[-300:]}"
        names = [path.name for path in (self.work / "free").iterdir()
                 if path.is_file() and path.name != "report.json"]
        _, differ, missing = filecmp.cmpfiles(self.work / "free", self.work / "again", names, False)
        reports = [json.loads((self.work / name / "report.json").read_text())["requantizers"]
                   for name in ("free", "again")]
        if differ or missing or reports[0] != reports[1]:
            return f"read back it differs: {differ + missing or reports}"
        return self.outputs("free")

    def pinned(self, form):
        """What is wrong with a form of the layers with requantizers."""
        layers = json.loads((self.work / "free" / "folding.json").read_text())["layers"]
        names = [name for name, entry in layers.items() if "requantizer" in entry]
        folding = self.work / "pinned.json"
        for name in names:
            folding.write_text(json.dumps({"layers": {name: {"requantizer": form}}}))
            done = self.compile("pinned", folding)
            if done.returncode != 0:
                if form in FORMS[:2] or REFUSAL not in done.stderr:
                    return f"{name}: {done.stderr[-300:]}"
                continue
            self.built[form] += 1
            why = self.outputs("pinned")
            if why:
                return f"{name}: {why}"
        return None

    def say(self, name, why):
        print(f"FAIL {name}: {why}" if why else f"PASS {name}", flush=True)
        self.failed += why is not None
        self.passed += why is None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--csim", action="store_true")
    args = parser.parse_args()
    args.tools = args.tools.resolve()
    with tempfile.TemporaryDirectory(prefix="ming-forms-") as name:
        check = Check(args, pathlib.Path(name))
        for seed in range(args.seed, args.seed + args.count):
            write_network(check.work, random.Random(f"forms {seed}"))
            check.say(f"network {seed}, as searched", check.searched())
            for form in FORMS:
                check.say(f"network {seed}, {form}", check.pinned(form))
        missing = [form for form, count in check.built.items() if count == 0]
        if args.count > 3:
            check.say("forms that were built", f"none in {missing}" if missing else None)
        print(", ".join(f"{count} {form}" for form, count in check.built.items()))
    print(f"{check.passed} passed, {check.failed} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
