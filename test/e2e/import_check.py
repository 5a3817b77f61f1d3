#!/usr/bin/env python3
"""Checks the integer linalg of imported networks with upstream's tools: mlir-opt
compiles it, mlir-cpu-runner executes it, and every output must equal the exact
one of reference.py.

Subjects are the shipped example, random models, and networks with exact outputs
from the folder that the environment variable MING_MODELS names. Each case
prints a line; the last line counts. Without the upstream tools there are no
cases.
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

import gen_models
import reference
from run_check import runner_libraries

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PASSES = ("builtin.module(func.func(onnx-fold-constants,onnx-infer-shapes,"
          "convert-onnx-to-linalg))")
LOWERING = [
    "--allow-unregistered-dialect", "--verify-each",
    "--one-shot-bufferize=bufferize-function-boundaries=1 "
    "function-boundary-type-conversion=identity-layout-map "
    "unknown-type-conversion=identity-layout-map",
    "--convert-linalg-to-loops", "--expand-strided-metadata", "--lower-affine",
    "--convert-scf-to-cf", "--convert-arith-to-llvm",
    "--finalize-memref-to-llvm", "--convert-func-to-llvm",
    "--convert-cf-to-llvm", "--reconcile-unrealized-casts"]
TIMEOUT = 300                                           # seconds, per command
INTEGER_MODELS = ("two_layers", "resnet8_a8w8b16", "mobilenet_v2_a8w6b32")
MOST_FRAMES = 2


class Failure(Exception):
    """Why a case failed, in one line."""


def run(command, stdin=None):
    result = subprocess.run(command, input=stdin, capture_output=True,
                            encoding="utf-8", errors="replace",
                            timeout=TIMEOUT, check=False)
    if result.returncode:
        raise Failure(f"{pathlib.Path(command[0]).name} exits with "
                      f"{result.returncode}: {result.stderr.strip()[:300]}")
    return result.stdout


# What the function says about its boundary.

class Port:
    """An argument or result: integer type, and the real values it stands for."""

    def __init__(self, text):
        dims, self.elem = re.match(r"tensor<((?:\d+x)*)(i\d+)>", text).groups()
        self.shape = [int(dim) for dim in dims.split("x")[:-1]]
        self.type = f"tensor<{dims}{self.elem}>"
        quant = re.search(r"dfg\.quant = \{(.*?)\}", text)[1]
        self.quant = {key: value.split(" : ")[0].strip('"') for key, value in
                      (item.split(" = ") for item in quant.split(", "))}

    def number(self, key, default=0.0):
        text = self.quant.get(key, default)
        if isinstance(text, str) and text.startswith("0x"):   # bits of a double
            return float(np.array(int(text, 16), np.uint64).view(np.float64))
        return float(text)

    def flag(self, key):
        return self.quant[key] == "true"

    def quantize(self, x):
        scale, zero = self.number("scale"), self.number("zero_point")
        real = reference.quant(x, scale, zero, self.number("bits"),
                               self.flag("signed"), self.flag("narrow"),
                               self.quant["rounding"])
        return np.rint(real / scale + zero).astype(np.int64)

    def dequantize(self, q):
        return q * self.number("scale") / self.number("divisor", 1.0)


def read_signature(text):
    """Name, argument and result of the only function."""
    name, args, results = re.search(
        r"func\.func @(\w+)\((%.*?)\) -> \((.*)\) \{$", text, re.M).groups()
    types = [re.findall(r"tensor<[^>]*> \{.*?dfg\.quant = \{.*?\}\}", part)
             for part in (args, results)]
    whole = re.findall(r"tensor<[^>]*i\d+>", results)
    if not types[1] and len(whole) == 1:                # the network's own integers
        types[1] = [whole[0] + " {dfg.quant = {scale = 1.0 : f64, signed = true}}"]
    if [len(part) for part in types] != [1, 1]:
        raise Failure("not one argument and one result")
    return name, Port(types[0][0]), Port(types[1][0])


# A program that calls the function on one batch after the other.

def literal(array):
    return str(array.tolist()) if array.ndim else str(int(array))


def main_function(name, arg, result, batches):
    rank = len(result.shape)
    dims = ", ".join(f"d{i}" for i in range(rank))
    wide = result.type.replace(result.elem + ">", "i64>")
    extend = "arith.extsi" if result.flag("signed") else "arith.extui"
    iterators = ", ".join(['"parallel"'] * rank)
    identity = f"affine_map<({dims}) -> ({dims})>"
    lines = ["func.func private @printMemrefI64(tensor<*xi64>)",
             "func.func @main() {"]
    for i, batch in enumerate(batches):
        lines += [
            f"%x{i} = arith.constant dense<{literal(batch)}> : {arg.type}",
            f"%y{i} = call @{name}(%x{i}) : ({arg.type}) -> {result.type}",
            f"%e{i} = tensor.empty() : {wide}",
            f"%z{i} = linalg.generic {{indexing_maps = [{identity}, {identity}],"
            f" iterator_types = [{iterators}]}}"
            f" ins(%y{i} : {result.type}) outs(%e{i} : {wide}) {{",
            f"^bb0(%a: {result.elem}, %b: i64):",
            f"  %c = {extend} %a : {result.elem} to i64" if result.elem != "i64" else "",
            f"  linalg.yield {'%c' if result.elem != 'i64' else '%a'} : i64",
            f"}} -> {wide}",
            f"%u{i} = tensor.cast %z{i} : {wide} to tensor<*xi64>",
            f"call @printMemrefI64(%u{i}) : (tensor<*xi64>) -> ()"]
    return "\n".join(lines + ["return", "}"])


def execute(program):
    """The arrays that the program prints."""
    lowered = run(["mlir-opt-19", *LOWERING], program)
    printed = run(["mlir-cpu-runner-19", "-O1", "-e", "main",
                   "-entry-point-result=void",
                   f"-shared-libs={runner_libraries(shutil.which('mlir-cpu-runner-19'))}"], lowered)
    return [np.array(ast.literal_eval(data.strip()))
            for data in re.split(r"^Unranked Memref.*data = *$", printed,
                                 flags=re.M)[1:]]


# Cases.

def lower(tools, model):
    imported = run([tools / "ming-translate", "--import-onnx", model])
    return run([tools / "ming-opt", f"--pass-pipeline={PASSES}"], imported)


def compare(text, frames, expected):
    """Runs the function of a module of integer linalg on frames of the network."""
    name, arg, result = read_signature(text)
    batches = arg.quantize(np.reshape(frames, [-1] + arg.shape))
    body = text[text.index("{") + 1:text.rindex("}")]   # of the module
    maps = text[:text.index("module")]
    program = f"{maps}\n{body}\n{main_function(name, arg, result, batches)}"
    arrays = execute(program)
    if len(arrays) != len(batches):
        raise Failure(f"{len(arrays)} results of {len(batches)}")
    got = result.dequantize(np.concatenate([a.ravel() for a in arrays])).astype(expected.dtype)
    wrong = np.flatnonzero(got != np.ravel(expected))
    if wrong.size:
        raise Failure(f"{wrong.size} of {got.size} values differ; first at "
                      f"{wrong[0]}: {got[wrong[0]]}, expected "
                      f"{np.ravel(expected)[wrong[0]]}")


def check_model(tools, model, frames, expected):
    compare(lower(tools, model), frames, expected)


def stored_models():
    folders = [ROOT / "examples" / "small_cnn"]
    if os.environ.get("MING_MODELS"):
        models = pathlib.Path(os.environ["MING_MODELS"])
        folders += [models / name for name in INTEGER_MODELS if (models / name).is_dir()]
    for folder in folders:
        frames, expected = np.load(folder / "input.npy"), np.load(folder / "output.npy")
        yield (folder.name, folder / "model.onnx", frames[:MOST_FRAMES], expected[:MOST_FRAMES])


def random_models(seed, count, folder):
    models = [gen_models.generate(seed, index) for index in range(count)]
    for model in models + list(gen_models.generate_named(seed)):
        gen_models.write_model(model, folder / model.name)
        yield (model.name, folder / model.name / "model.onnx", model.frames,
               model.expected)


def run_case(tools, case):
    name, *details = case
    try:
        check_model(tools, *details)
    except (Failure, OSError, ValueError) as error:
        print(f"FAIL {name}: {error}", flush=True)
        return False
    print(f"PASS {name}", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tools", type=pathlib.Path,
                        default=ROOT / "build" / "tools")
    parser.add_argument("--seed", type=int, default=1, help="of random models")
    parser.add_argument("--count", type=int, default=33,
                        help="number of random models")
    parser.add_argument("--filter", default="",
                        help="regular expression that a case's name must contain")
    args = parser.parse_args()
    if not shutil.which("mlir-cpu-runner-19"):
        print("note: mlir-cpu-runner-19 is not installed")
        print("0 passed, 0 failed")
        return 0
    with tempfile.TemporaryDirectory(prefix="ming-import-") as folder:
        cases = [*stored_models(),
                 *random_models(args.seed, args.count, pathlib.Path(folder))]
        results = [run_case(args.tools.resolve(), case) for case in cases
                   if re.search(args.filter, case[0])]
    failed = results.count(False)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
