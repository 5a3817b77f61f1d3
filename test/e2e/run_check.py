#!/usr/bin/env python3
"""Checks `ming run` against other implementations.

    run_check.py --tools=DIR [--seed=N] [--count=N]

Random linalg functions are compared with numpy, random functions of arith,
math, tensor and linalg with upstream's mlir-opt and mlir-cpu-runner where
these are installed. Where the environment variables MING_MODELS and MING_MLIR
name folders, their networks and kernels are run too. Each case prints
`PASS name` or `FAIL name: why`; the last line counts.
"""
import argparse
import ast
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import gen_linalg
import gen_scalar
import gen_tosa

NETWORKS = ("two_layers", "resnet8_a8w8b16")            # in MING_MODELS
FOLDED = ("onnx-infer-shapes", "onnx-fold-constants", "convert-onnx-to-linalg")
TOSA_LOWERING = (
    "--pass-pipeline=builtin.module(func.func(tosa-optional-decompositions,tosa-infer-shapes,"
    "tosa-make-broadcastable,tosa-to-linalg-named,tosa-make-broadcastable,tosa-to-linalg,"
    "tosa-to-arith{include-apply-rescale=true},tosa-to-tensor))",)
LOWERING = (
    "convert-elementwise-to-linalg", "empty-tensor-to-alloc-tensor",
    "one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion="
    "identity-layout-map}", "func.func(convert-linalg-to-loops)",
    "func.func(arith-expand{include-bf16=true})", "convert-scf-to-cf", "expand-strided-metadata",
    "lower-affine", "func.func(convert-math-to-llvm)", "convert-math-to-libm",
    "finalize-memref-to-llvm", "convert-func-to-llvm", "convert-arith-to-llvm",
    "convert-cf-to-llvm", "reconcile-unrealized-casts")


class Failure(Exception):
    """Why a case failed, in one line."""


def command(*words, **options):
    result = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, check=False, timeout=300, text=True,
                            **options)
    if result.returncode:
        lines = result.stderr.strip().splitlines() or ["no message"]
        raise Failure(f"{pathlib.Path(words[0]).name} exits with {result.returncode}: {lines[0]}")
    return result.stdout


class Checker:
    def __init__(self, args, work):
        self.ming = pathlib.Path(args.tools).resolve() / "ming"
        self.args, self.work = args, work
        self.passed = self.failed = 0

    def case(self, name, check, *args):
        try:
            check(*args)
        except (Failure, subprocess.TimeoutExpired) as failure:
            print(f"FAIL {name}: {failure}")
            self.failed += 1
        else:
            print(f"PASS {name}")
            self.passed += 1

    def run(self, model, inputs, output_count=1, *options):
        outputs = [self.work / f"y{i}.npy" for i in range(output_count)]
        command(self.ming, "run", model, *(f"--input={path}" for path in inputs),
                *(f"--output={path}" for path in outputs), *options)
        return [np.load(path) for path in outputs]

    # Random linalg functions, by numpy.

    def check_linalg(self, index):
        model = gen_linalg.generate(self.args.seed, index)
        folder = self.work / model.name
        gen_linalg.write_model(model, folder)
        inputs = [folder / f"input{i}.npy" for i in range(len(model.inputs))]
        results = self.run(folder / "model.mlir", inputs, len(model.expected))
        for number, (got, want) in enumerate(zip(results, model.expected)):
            check_equal(got.reshape(want.shape), want, f"result {number}")

    # Random scalar and tensor functions, by upstream's runner.

    def check_scalar(self, path, number, case, want):
        got, = self.run(path, [], 1, f"--function=run{number}")
        got = got.reshape(-1)
        if not case.floats:
            return check_equal(got, want, "result")
        kind = np.float32 if case.floats == "f32" else np.float64
        unsigned = np.uint32 if case.floats == "f32" else np.uint64
        got, want = (np.array(bits, np.int64).astype(unsigned).view(kind) for bits in (got, want))
        return check_floats(got, want, case.tolerance)

    def upstream_cases(self, name, cases, *first):
        """Functions that the pass options `first`, then LOWERING, make ready to run."""
        opt, runner = upstream("mlir-opt"), upstream("mlir-cpu-runner")
        if not opt or not runner:
            return
        path, prepared = self.work / f"{name}.mlir", self.work / "prepared.mlir"
        path.write_text("module {" + "".join(case.text for case in cases) + main_function(cases)
                        + "}\n")
        prepared.write_text(command(opt, *first, path))
        lowered = command(opt, f"--pass-pipeline=builtin.module({','.join(LOWERING)})", prepared)
        (self.work / "lowered.mlir").write_text(lowered)
        printed = command(runner, self.work / "lowered.mlir", "-e", "main",
                          "--entry-point-result=void", f"--shared-libs={runner_libraries(runner)}")
        wanted = [np.array(ast.literal_eval(text), np.int64).reshape(-1)
                  for text in re.findall(r"data =\s*(\[[^=]*\])", printed)]
        if len(wanted) != len(cases):
            raise Failure(f"the runner prints {len(wanted)} arrays for {len(cases)} functions")
        for number, (case, want) in enumerate(zip(cases, wanted)):
            self.case(f"{name}-{number}-{case.name}", self.check_scalar, path, number, case, want)

    # Networks and kernels.

    def check_folder(self, folder, model, *options):
        got, = self.run(folder / model, [folder / "input.npy"], 1, *options)
        want = np.load(folder / "output.npy")
        check_equal(got.reshape(-1).astype(np.float64), want.reshape(-1).astype(np.float64),
                    "output")

    def check_third_party(self, path):
        """A float network, by upstream's runner."""
        opt, runner = upstream("mlir-opt"), upstream("mlir-cpu-runner")
        rng = np.random.default_rng(self.args.seed)
        frame = rng.standard_normal((1, 8, 112, 112)).astype(np.float32)
        np.save(self.work / "x.npy", frame)
        got, = self.run(path, [self.work / "x.npy"], 1)
        text = with_main(path.read_text(), frame)
        (self.work / "float.mlir").write_text(text)
        lowered = command(opt, f"--pass-pipeline=builtin.module({','.join(LOWERING)})",
                          self.work / "float.mlir")
        (self.work / "lowered.mlir").write_text(lowered)
        printed = command(runner, self.work / "lowered.mlir", "-e", "main",
                          "--entry-point-result=void", f"--shared-libs={runner_libraries(runner)}")
        bits = np.array(ast.literal_eval(re.search(r"data =\s*(\[[^=]*\])", printed)[1]), np.int64)
        check_floats(got.reshape(-1), bits.reshape(-1).astype(np.uint32).view(np.float32), 1e-5)

    def all(self):
        for index in range(self.args.count):
            self.case(f"linalg-{index}", self.check_linalg, index)
        for name, generator, *first in (("scalar", gen_scalar), ("tosa", gen_tosa, *TOSA_LOWERING)):
            try:
                cases = generator.generate(self.args.seed, self.args.count)
                self.upstream_cases(name, cases, *first)
            except Failure as failure:
                self.case(name, raise_failure, failure)
        if os.environ.get("MING_MLIR"):
            mlir = pathlib.Path(os.environ["MING_MLIR"])
            for folder in sorted((mlir / "kernels").iterdir()):
                self.case(folder.name, self.check_folder, folder, "model.mlir")
            for path in sorted((mlir / "third_party").glob("dwsconv_f32.mlir")):
                if upstream("mlir-opt") and upstream("mlir-cpu-runner"):
                    self.case(path.stem, self.check_third_party, path)
        if os.environ.get("MING_MODELS"):
            pipeline = f"--pass-pipeline=builtin.module(func.func({','.join(FOLDED)}))"
            for name in NETWORKS:
                folder = pathlib.Path(os.environ["MING_MODELS"]) / name
                self.case(f"{name}-onnx", self.check_folder, folder, "model.onnx")
                self.case(f"{name}-linalg", self.check_folder, folder, "model.onnx", pipeline)


def raise_failure(failure):
    raise failure


def upstream(name):
    return shutil.which(name + "-19") or shutil.which(name)


def runner_libraries(runner):
    """Of Debian's packages only the one for developers has names without a version."""
    folder = pathlib.Path(runner).resolve().parent.parent / "lib"
    names = ("libmlir_runner_utils.so", "libmlir_c_runner_utils.so")
    return ",".join(str(min(folder.glob(name + "*"), default=folder / name)) for name in names)


def main_function(cases):
    """Prints what each @run<k> gives."""
    lines = []
    for number, case in enumerate(cases):
        kind = gen_scalar.tensor_of(case.shape)
        lines += [f"%r{number} = call @run{number}() : () -> {kind}",
                  f"%u{number} = tensor.cast %r{number} : {kind} to tensor<*xi64>",
                  f"call @printMemrefI64(%u{number}) : (tensor<*xi64>) -> ()"]
    body = "\n    ".join(lines)
    return f"""
  func.func private @printMemrefI64(tensor<*xi64>) attributes {{llvm.emit_c_interface}}
  func.func @main() {{
    {body}
    return
  }}
"""


def with_main(text, frame):
    """The module with a main that runs @forward on the frame and prints bits."""
    kind = "tensor<" + "x".join(map(str, frame.shape)) + "xf32>"
    wide = kind.replace("f32", "i64")
    maps = "affine_map<(a, b, c, d) -> (a, b, c, d)>"
    main = f"""
  func.func private @printMemrefI64(tensor<*xi64>) attributes {{llvm.emit_c_interface}}
  func.func @main() {{
    %x = arith.constant dense<"0x{frame.tobytes().hex().upper()}"> : {kind}
    %y = call @forward(%x) : ({kind}) -> {kind}
    %e = tensor.empty() : {wide}
    %b = linalg.generic {{indexing_maps = [{maps}, {maps}],
        iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
        ins(%y : {kind}) outs(%e : {wide}) {{
    ^bb0(%v: f32, %o: i64):
      %i = arith.bitcast %v : f32 to i32
      %w = arith.extui %i : i32 to i64
      linalg.yield %w : i64
    }} -> {wide}
    %u = tensor.cast %b : {wide} to tensor<*xi64>
    call @printMemrefI64(%u) : (tensor<*xi64>) -> ()
    return
  }}
}}
"""
    text = re.sub(r"\n *ml_program\.global[^\n]*", "", text)
    return text[:text.rindex("}")] + main


def check_equal(got, want, what):
    if got.shape != want.shape:
        raise Failure(f"{what} has the shape {got.shape}, not {want.shape}")
    wrong = np.argwhere(got != want)
    if len(wrong):
        at = tuple(wrong[0])
        raise Failure(f"{what}: {len(wrong)} of {got.size} differ; at {list(map(int, at))} "
                      f"{got[at]}, not {want[at]}")


def check_floats(got, want, tolerance):
    same = (got == want) & (np.signbit(got) == np.signbit(want)) | np.isnan(got) & np.isnan(want)
    if tolerance:
        with np.errstate(invalid="ignore"):
            same |= np.abs(got - want) <= tolerance * np.maximum(np.abs(want), 1e-3)
    wrong = np.flatnonzero(~same)
    if wrong.size:
        at = wrong[0]
        raise Failure(f"{wrong.size} of {got.size} differ; at {at} {got[at]!r}, not {want[at]!r}")


def main():
    parser = argparse.ArgumentParser(description="Check ming run.")
    parser.add_argument("--tools", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(args, pathlib.Path(folder))
        checker.all()
    print(f"{checker.passed} passed, {checker.failed} failed")
    sys.exit(checker.failed > 0)


if __name__ == "__main__":
    main()
