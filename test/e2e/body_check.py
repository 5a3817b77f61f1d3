#!/usr/bin/env python3
"""Checks the scalar code of streaming kernels against upstream's runner.

    body_check.py --tools=DIR [--seed=N] [--count=N]

Random element-wise functions of arith and math ops become the kernels of one
accelerator; what its C++ computes is compared with mlir-cpu-runner. Each case
prints `PASS name` or `FAIL name: why`; the last line counts.
"""
import argparse
import ast
import pathlib
import random
import re
import sys
import tempfile

import numpy as np

import gen_scalar
import run_check
from run_check import Failure, command

BATCH = 20                              # kernels in one accelerator


def body_cases(seed, count):
    generator = gen_scalar.Generator(random.Random(seed))
    makers = (generator.integer_case, generator.compare_case, generator.float_case,
              generator.extended_case, generator.resize_case, generator.bits_case,
              generator.float_compare_case, generator.to_float_case,
              generator.to_integer_case, generator.exact_math_case, generator.library_case,
              generator.binary_math_case, generator.fma_case)
    return [makers[number % len(makers)](number % BATCH) for number in range(count)]


def parts_of(case):
    """Argument types, their values and the lines of @t's body."""
    kinds = re.findall(r"%x\d+: (tensor<[^>]*>)", case.text.split("->")[0])
    values = re.findall(r"arith.constant dense<(.*)> : tensor", case.text.split("@run")[1])
    body = case.text.split("{", 1)[1].split("return")[0].rsplit("}", 1)[0] + "}"
    body += case.text.split("return")[0].rsplit("}", 1)[1]
    return kinds, values, body


def renamed(text, number):
    return re.sub(r"%([a-z]\w*)", rf"%\1_{number}", text)


def combined(cases):
    """One function with the bodies of all cases and all their arguments."""
    arguments, results, bodies = [], [], []
    for number, case in enumerate(cases):
        kinds, _, body = parts_of(case)
        arguments += [f"%x{i}_{number}: {kind}" for i, kind in enumerate(kinds)]
        bodies.append(renamed(body.replace("%0", "%result"), number))
        results.append(f"%result_{number}")
    kind = gen_scalar.tensor_of((gen_scalar.COUNT,))
    kinds = ", ".join([kind] * len(cases))
    return (f"func.func @bodies({', '.join(arguments)}) -> ({kinds}) {{\n{''.join(bodies)}\n"
            f"  return {', '.join(results)} : {kinds}\n}}\n")


def argument_array(kind, text):
    """What a dense<text> of the type holds."""
    element = kind.rstrip(">").split("x")[-1]
    values = re.findall(r"-?(?:0x)?[0-9A-F]+", text)
    bits = np.array([int(value, 0) for value in values], np.object_)
    if element == "i64":
        return bits.astype(np.int64)
    unsigned = np.uint32 if element == "f32" else np.uint64
    return bits.astype(unsigned).view(np.float32 if element == "f32" else np.float64)


class BodyChecker(run_check.Checker):
    def wanted(self, cases):
        path = self.work / "cases.mlir"
        path.write_text("module {" + "".join(case.text for case in cases)
                        + run_check.main_function(cases) + "}\n")
        opt, runner = run_check.upstream("mlir-opt"), run_check.upstream("mlir-cpu-runner")
        pipeline = f"--pass-pipeline=builtin.module({','.join(run_check.LOWERING)})"
        (self.work / "lowered.mlir").write_text(command(opt, pipeline, path))
        printed = command(runner, self.work / "lowered.mlir", "-e", "main",
                          "--entry-point-result=void",
                          f"--shared-libs={run_check.runner_libraries(runner)}")
        return [np.array(ast.literal_eval(text), np.int64).reshape(-1)
                for text in re.findall(r"data =\s*(\[[^=]*\])", printed)]

    def simulated(self, cases):
        """What the accelerator's results are."""
        model, out = self.work / "bodies.mlir", self.work / "out"
        model.write_text(combined(cases))
        command(self.ming, "compile", model, "-o", out, "--dsp=100000")
        arrays = [argument_array(kind, text) for case in cases
                  for kind, text in zip(*parts_of(case)[:2])]
        results = [self.work / f"y{number}.npy" for number in range(len(cases))]
        for number, array in enumerate(arrays):
            np.save(self.work / f"x{number}.npy", array)
        files = [f"INPUT{number + 1 if number else ''}={self.work / f'x{number}.npy'}"
                 for number in range(len(arrays))]
        files += [f"OUTPUT{number + 1 if number else ''}={path}"
                  for number, path in enumerate(results)]
        command("make", "-s", "-C", out, "csim", "CXXFLAGS=-std=c++17 -O0 -w", *files)
        return [np.load(path).reshape(-1) for path in results]

    def check_bits(self, got, want, case):
        if not case.floats:
            return run_check.check_equal(got, want, "result")
        width = 32 if case.floats == "f32" else 64
        kind, unsigned = (np.float32, np.uint32) if width == 32 else (np.float64, np.uint64)
        got, want = (np.array(bits, np.int64).astype(unsigned).view(kind) for bits in (got, want))
        return run_check.check_floats(got, want, max(case.tolerance, 1e-6))

    def all(self):
        cases = body_cases(self.args.seed, self.args.count)
        for first in range(0, len(cases), BATCH):
            batch = cases[first:first + BATCH]
            try:
                wanted, got = self.wanted(batch), self.simulated(batch)
            except Failure as failure:
                self.case(f"body-{first}", run_check.raise_failure, failure)
                continue
            for number, case in enumerate(batch):
                self.case(f"body-{first + number}-{case.name}", self.check_bits, got[number],
                          wanted[number], case)


def main():
    parser = argparse.ArgumentParser(description="Check the scalar code of emitted kernels.")
    parser.add_argument("--tools", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checker = BodyChecker(args, pathlib.Path(folder))
        checker.all()
    print(f"{checker.passed} passed, {checker.failed} failed")
    sys.exit(checker.failed > 0)


if __name__ == "__main__":
    main()
