#!/usr/bin/env python3
"""Runs the operator tests of the ONNX project (libonnx-testdata) through
`ming run` and compares the outputs.

  onnx_cases.py --tools=BUILD/tools [--data=DIR] [--filter=TEXT] [--lowered]
                [--write-table]

A case counts when every operator of its model is one that the onnx dialect
has, and every tensor has an element type that an array can hold. Integers and
booleans must be equal; floats agree to the tolerances below. Each failing case
prints a line; the last line counts. --lowered runs the models as linalg, those
that can be lowered. --write-table writes the counts by
operator into docs/onnx.md. Without the data there are no cases.
"""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = "/usr/share/libonnx-testdata/data"
SUITES = ("node", "simple", "pytorch-operator", "pytorch-converted")
RELATIVE, ABSOLUTE = 1e-5, 1e-6                         # for f32 and f64
HALF_RELATIVE, HALF_ABSOLUTE = 1e-3, 1e-3               # for f16
TIMEOUT = 60                                            # seconds per case
LOWERING = ("builtin.module(func.func(onnx-fold-constants,onnx-infer-shapes,"
            "convert-onnx-to-linalg))")
TABLE_BEGIN, TABLE_END = "<!-- onnx_cases.py: begin -->", "<!-- end -->"

# Dropout in training draws from numpy's random numbers.
RANDOM = {"test_training_dropout", "test_training_dropout_default",
          "test_training_dropout_default_mask", "test_training_dropout_mask"}


class Failure(Exception):
    """Why a case failed, in one line."""


def known_operators():
    """Operators of the dialect, from its table."""
    text = (ROOT / "dialects" / "onnx" / "onnx_ops.def").read_text(encoding="utf-8")
    return set(re.findall(r'^OP\([A-Z0-9_]+, "(\w+)"', text, flags=re.M))


def is_array(array):
    return array is not None and array.dtype.kind in "biuf"


def read_tensors(folder, kind):
    """The tensors of input_0.pb, input_1.pb, ...; None if one is no tensor."""
    arrays = []
    while (path := folder / f"{kind}_{len(arrays)}.pb").exists():
        tensor = onnx.TensorProto()
        try:
            tensor.ParseFromString(path.read_bytes())
            array = numpy_helper.to_array(tensor)
        except (TypeError, ValueError, KeyError, RuntimeError):
            return None
        if not is_array(array):
            return None
        arrays.append(array)
    return arrays


def operators(model):
    return {node.op_type for node in model.graph.node}


def is_foreign(model):
    """Functions, other domains, optional or sequence types."""
    values = [*model.graph.input, *model.graph.output]
    return (len(model.functions) > 0 or any(node.domain not in ("", "ai.onnx")
                                            for node in model.graph.node)
            or any(not value.type.HasField("tensor_type") for value in values))


def find_cases(data, known, wanted):
    """(name, folder, model) of each case that counts, in order."""
    for suite in SUITES:
        for folder in sorted((data / suite).glob("test_*")):
            if wanted not in folder.name or folder.name in RANDOM:
                continue
            model = onnx.load(str(folder / "model.onnx"))
            if not operators(model) <= known or is_foreign(model):
                continue
            yield f"{suite}/{folder.name}", folder, model


def run_case(ming, folder, model, inputs, wanted, work, pipeline):
    names = {init.name for init in model.graph.initializer}
    count = len([value for value in model.graph.input if value.name not in names])
    command = [ming, "run", str(folder / "model.onnx")]
    if pipeline:
        command.append(f"--pass-pipeline={pipeline}")
    for i, array in enumerate(inputs[:count]):
        path = work / f"input_{i}.npy"
        np.save(path, array)
        command.append(f"--input={path}")
    command += [f"--output={work / f'output_{i}.npy'}" for i in range(len(wanted))]
    try:
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired as error:
        raise Failure("takes too long") from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().split("\n")
        raise Failure(f"exits with {done.returncode}: {lines[0][:300]}")
    for i, want in enumerate(wanted):
        compare(i, want, np.load(work / f"output_{i}.npy"))


def compare(index, want, got):
    if got.shape != want.shape:
        raise Failure(f"output {index} has shape {got.shape}, not {want.shape}")
    if want.dtype.kind != "f":
        equal = np.array_equal(got, want)
    else:
        half = want.dtype == np.float16
        equal = np.allclose(got.astype(np.float64), want.astype(np.float64), equal_nan=True,
                            rtol=HALF_RELATIVE if half else RELATIVE,
                            atol=HALF_ABSOLUTE if half else ABSOLUTE)
    if not equal:
        where = np.argmax(~np.isclose(got.astype(np.float64), want.astype(np.float64)))
        raise Failure(f"output {index} differs: element {where} is {got.flat[where]!r}, "
                      f"not {want.flat[where]!r}")


def write_table(passed):
    """Replaces the table in docs/onnx.md: cases passed of cases run, by operator."""
    path = ROOT / "docs" / "onnx.md"
    head, rest = path.read_text(encoding="utf-8").split(TABLE_BEGIN)
    tail = rest.split(TABLE_END, 1)[1]
    rows = [f"| {name} | {good} | {total} |" for name, (good, total) in sorted(passed.items())]
    table = "\n".join(["", "| operator | passed | cases |", "|---|---|---|", *rows, ""])
    path.write_text(head + TABLE_BEGIN + table + TABLE_END + tail, encoding="utf-8")


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--tools", required=True)
    parser.add_argument("--data", default=DATA)
    parser.add_argument("--filter", default="")
    parser.add_argument("--lowered", action="store_true")
    parser.add_argument("--write-table", action="store_true")
    return parser.parse_args()


def main():
    args = parse_args()
    ming = os.path.join(args.tools, "ming")
    passed, failed = 0, 0
    table = collections.defaultdict(lambda: [0, 0])
    for name, folder, model in find_cases(pathlib.Path(args.data), known_operators(), args.filter):
        for data in sorted(folder.glob("test_data_set_*")):
            inputs, wanted = read_tensors(data, "input"), read_tensors(data, "output")
            if inputs is None or not wanted:
                continue
            good = True
            with tempfile.TemporaryDirectory() as work:
                try:
                    run_case(ming, folder, model, inputs, wanted, pathlib.Path(work),
                             LOWERING if args.lowered else None)
                except Failure as why:
                    good = False
                    print(f"FAIL {name}/{data.name}: {why}")
            passed, failed = passed + good, failed + (not good)
            for operator in operators(model):
                table[operator][0] += good
                table[operator][1] += 1
    if args.write_table:
        write_table(table)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
