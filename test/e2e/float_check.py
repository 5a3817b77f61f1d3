#!/usr/bin/env python3
"""Checks that float networks compile to C++ that computes what numpy does.

    float_check.py --tools=DIR [--seed=N] [--count=N]

Random networks of convolutions, pools, products and activations in floating
point (gen_float.py), for random budgets; where MING_MLIR names a folder, its
dwsconv_f32.mlir too, against `ming run`. Sums are taken in another order, so an
error is measured against the largest output. Each case prints `PASS name` or
`FAIL name: why`; the last line counts.
"""
import argparse
import os
import pathlib
import random
import sys
import tempfile

import numpy as np

import gen_float
import run_check
from run_check import Failure, command

TOLERANCE = 1e-5
REFUSED = ("does not fit the budget", "that needs a transposition")


class FloatChecker(run_check.Checker):
    def simulated(self, model, frames, dsp):
        """What the accelerator gives; None: it is refused with a reason."""
        out, result = self.work / "out", self.work / "y.npy"
        try:
            command(self.ming, "compile", model, "-o", out, f"--dsp={dsp}")
        except Failure as failure:
            if any(words in str(failure) for words in REFUSED):
                return None
            raise
        command("make", "-s", "-C", out, "csim", "CXXFLAGS=-std=c++17 -O0 -w",
                f"INPUT={frames}", f"OUTPUT={result}")
        return np.load(result)

    def check_close(self, got, want):
        if got is None:
            return
        error = np.abs(got.reshape(-1) - want.reshape(-1)).max() / np.abs(want).max()
        if not error <= TOLERANCE:
            raise Failure(f"an output is wrong by {error:.3g} of the largest")

    def check_network(self, seed):
        frames, want, model = gen_float.generate(seed, 2)
        (self.work / "model.onnx").write_bytes(model)
        np.save(self.work / "x.npy", frames)
        dsp = random.Random(seed).choice((100, 400, 1200))
        got = self.simulated(self.work / "model.onnx", self.work / "x.npy", dsp)
        self.check_close(got, want)

    def check_third_party_design(self, path, dsp):
        rng = np.random.default_rng(self.args.seed)
        np.save(self.work / "x.npy", rng.standard_normal((1, 8, 112, 112)).astype(np.float32))
        want, = self.run(path, [self.work / "x.npy"])
        self.check_close(self.simulated(path, self.work / "x.npy", dsp), want)

    def all(self):
        for seed in range(self.args.seed, self.args.seed + self.args.count):
            self.case(f"float-{seed}", self.check_network, seed)
        if os.environ.get("MING_MLIR"):
            folder = pathlib.Path(os.environ["MING_MLIR"]) / "third_party"
            for path in sorted(folder.glob("dwsconv_f32.mlir")):
                for dsp in (100, 1000):
                    self.case(f"{path.stem}-{dsp}", self.check_third_party_design, path, dsp)


def main():
    parser = argparse.ArgumentParser(description="Check the C++ of float networks.")
    parser.add_argument("--tools", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=6)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checker = FloatChecker(args, pathlib.Path(folder))
        checker.all()
    print(f"{checker.passed} passed, {checker.failed} failed")
    sys.exit(checker.failed > 0)


if __name__ == "__main__":
    main()
