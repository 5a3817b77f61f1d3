#!/usr/bin/env python3
"""Runs the operator tests of the ONNX project (libonnx-testdata) through
`ming run` and compares the outputs.

    test/e2e/onnx_cases.py --tools=build/tools [--lowered] [--write-table]
                           [NAME...]

A case counts when every operator of its model is one that the onnx dialect has
and every tensor holds numbers. Integers and booleans must be equal; floats
agree to the tolerances below. --lowered runs the models as linalg, where that
has all their operators and where shapes are constant; inputs but the first
become constants. --write-table runs them both ways and writes the counts by
operator into docs/onnx.md. Without the data there are no cases.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

import onnx_file
import onnx_shapes

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOWERING = ("builtin.module(func.func(onnx-fold-constants,onnx-decompose,"
            "onnx-fold-constants,onnx-infer-shapes,"
            "convert-onnx-to-linalg))")
RELATIVE, ABSOLUTE = 1e-5, 1e-6                         # for f32 and f64
HALF_RELATIVE, HALF_ABSOLUTE = 1e-2, 1e-3               # for f16 and bf16
TIMEOUT = 60                                            # seconds per case
BFLOAT16, HALF = 16, 10
TABLE_BEGIN, TABLE_END = "<!-- counts of onnx_cases.py -->", "<!-- end -->"

# Dropout in training draws from numpy's random numbers; the data of castlike
# has another shape than the model; that of windows was computed with 3.1415 for
# pi, while their models have more digits.
EXCLUDED = {"test_training_dropout", "test_training_dropout_default",
            "test_training_dropout_default_mask", "test_training_dropout_mask",
            "test_castlike_BFLOAT16_to_FLOAT_expanded",
            "test_castlike_FLOAT_to_BFLOAT16_expanded"} | \
    {f"test_{name}window{way}_expanded" for name in ("blackman", "hamming", "hann")
     for way in ("", "_symmetric")}

# What a refusal says when linalg has no form for a model, or its shapes are
# not known before it runs.
NOT_LOWERED = ("has no form in linalg", "of unknown shape", "needs a constant",
               "needs constant", "is no constant", "per channel", "are not supported",
               "is not supported", "has no arithmetic")


class Failure(Exception):
    """Why a case failed, in one line."""


def known_operators():
    """Operators of the dialect, from its table."""
    text = (ROOT / "dialects" / "onnx" / "onnx_ops.def").read_text(encoding="utf-8")
    return set(re.findall(r'^OP\([A-Z0-9_]+, "(\w+)"', text, flags=re.M))


def operators(model):
    return {node["op_type"] for node in model["graph"].get("node", [])}


def counts(model, known):
    """Whether a model has only operators of the dialect and only tensors."""
    graph = model["graph"]
    values = [*graph.get("input", []), *graph.get("output", [])]
    domains = {node.get("domain", "") for node in graph.get("node", [])}
    return (operators(model) <= known and domains <= {"", "ai.onnx"} and
            not model.get("functions") and
            all("tensor_type" in value["type"] for value in values))


def read_array(path):
    """The tensor of a file; floats of 16 bits as f32. None if it holds no
    numbers."""
    tensor = onnx_file.decode("Tensor", path.read_bytes())
    kind = tensor["data_type"]
    if kind in (BFLOAT16, HALF):
        if "raw_data" in tensor:
            codes = np.frombuffer(tensor["raw_data"], "<u2")
        else:
            codes = np.array(tensor.get("int32_data", []), np.uint16)
        shape = tensor.get("dims", [])
        if kind == HALF:
            return codes.view(np.float16).reshape(shape)
        return (codes.astype(np.uint32) << 16).view(np.float32).reshape(shape)
    if kind not in onnx_file.TENSOR_TYPES:
        return None
    return onnx_file.array_from_tensor(tensor)


def read_arrays(folder, kind):
    """The tensors of input_0.pb, input_1.pb, ...; None if one has no numbers."""
    arrays = []
    while (path := folder / f"{kind}_{len(arrays)}.pb").exists():
        array = read_array(path)
        if array is None:
            return None
        arrays.append(array)
    return arrays


def as_stated(arrays, values):
    """Arrays in the types of a graph's inputs or outputs: the tests store bf16
    as uint16."""
    kinds = [value["type"]["tensor_type"].get("elem_type") for value in values]
    kinds += [None] * len(arrays)
    return [(array.astype(np.uint32) << 16).view(np.float32)
            if kind == BFLOAT16 and array.dtype == np.uint16 else array
            for array, kind in zip(arrays, kinds)]


def half_outputs(model):
    """Whether each output has a float of 16 bits."""
    return [value["type"]["tensor_type"].get("elem_type") in (BFLOAT16, HALF)
            for value in model["graph"]["output"]]


def argument_count(model):
    graph = model["graph"]
    names = {tensor["name"] for tensor in graph.get("initializer", [])}
    return len([value for value in graph.get("input", []) if value["name"] not in names])


def run_model(ming, model, inputs, count, work, lowered):
    """Outputs of a model."""
    (work / "model.onnx").write_bytes(onnx_file.encode("Model", model))
    command = [ming, "run", work / "model.onnx", *onnx_shapes.empty_shapes(model)]
    if lowered:
        command.append(f"--pass-pipeline={LOWERING}")
    for i, array in enumerate(inputs[:argument_count(model)]):
        np.save(work / f"input_{i}.npy", array)
        command.append(f"--input={work / f'input_{i}.npy'}")
    command += [f"--output={work / f'output_{i}.npy'}" for i in range(count)]
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True,
                              timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired as error:
        raise Failure("takes too long") from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().split("\n")
        raise Failure(f"exits with {done.returncode}: {lines[0][:300]}")
    return [np.load(work / f"output_{i}.npy") for i in range(count)]


def compare(index, want, got, half):
    if got.shape != want.shape:
        raise Failure(f"output {index} has shape {got.shape}, not {want.shape}")
    if want.dtype.kind != "f":
        wrong = got != want
    else:
        want, got = want.astype(np.float64), got.astype(np.float64)
        wrong = ~np.isclose(got, want, equal_nan=True,
                            rtol=HALF_RELATIVE if half else RELATIVE,
                            atol=HALF_ABSOLUTE if half else ABSOLUTE)
    if wrong.any():
        where = np.argmax(wrong)
        raise Failure(f"output {index} differs: element {where} is {got.flat[where]!r}, "
                      f"not {want.flat[where]!r}")


def run_case(args, folder, model, data):
    """True, or False if the case does not count."""
    inputs, wanted = read_arrays(data, "input"), read_arrays(data, "output")
    if inputs is None or not wanted:
        return False
    inputs = as_stated(inputs, model["graph"].get("input", []))
    wanted = as_stated(wanted, model["graph"]["output"])
    ming = args.tools / "ming"
    if args.lowered and len(inputs) > 1:
        model = onnx_shapes.with_constants(model, folder, keep_first=True)
    with tempfile.TemporaryDirectory() as work:
        got = run_model(ming, model, inputs, len(wanted), pathlib.Path(work), args.lowered)
    for i, half in enumerate(half_outputs(model)):
        compare(i, wanted[i], got[i], half)
    return True


def write_table(table, lowered):
    """Replaces the table in docs/onnx.md: by operator, cases passed of cases
    run, and how many passed as linalg."""
    path = ROOT / "docs" / "onnx.md"
    head, rest = path.read_text(encoding="utf-8").split(TABLE_BEGIN)
    tail = rest.split(TABLE_END, 1)[1]
    rows = [f"| {name} | {row['passed']} | {lowered[name]['passed']} | "
            f"{row['passed'] + row['failed']} |" for name, row in sorted(table.items())]
    text = "\n".join(["", "| operator | passed | passed as linalg | cases |",
                      "|---|---|---|---|", *rows, ""])
    path.write_text(head + TABLE_BEGIN + text + TABLE_END + tail, encoding="utf-8")


def outcome_of(args, folder, model, data):
    """passed, failed or skipped; prints why it failed."""
    try:
        return "passed" if run_case(args, folder, model, data) else "skipped"
    except Failure as why:
        if args.lowered and any(text in str(why) for text in NOT_LOWERED):
            return "skipped"
        print(f"FAIL {folder.parent.name}/{folder.name}/{data.name}: {why}")
        return "failed"


def run_cases(args):
    """Outcomes in total and by operator."""
    known, total = known_operators(), collections.Counter()
    table = collections.defaultdict(collections.Counter)
    for folder in onnx_shapes.cases(args.names):
        model = onnx_file.read_model(folder / "model.onnx")
        if not counts(model, known) or folder.name in EXCLUDED:
            total["skipped"] += 1
            continue
        for data in sorted(folder.glob("test_data_set_*")):
            outcome = outcome_of(args, folder, model, data)
            total[outcome] += 1
            for operator in operators(model) if outcome != "skipped" else ():
                table[operator][outcome] += 1
    return total, table


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--tools", type=pathlib.Path, default="build/tools")
    parser.add_argument("--lowered", action="store_true")
    parser.add_argument("--write-table", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    if not onnx_shapes.DATA.is_dir():
        print("libonnx-testdata is not installed")
    total, table = run_cases(args)
    if args.write_table:
        args.lowered = True
        lowered_total, lowered = run_cases(args)
        total["failed"] += lowered_total["failed"]
        write_table(table, lowered)
    print(f"{total['skipped']} skipped")
    print(f"{total['passed']} passed, {total['failed']} failed")
    sys.exit(1 if total["failed"] else 0)


if __name__ == "__main__":
    main()
