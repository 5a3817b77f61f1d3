#!/usr/bin/env python3
"""Compares inferred types with those that ONNX's own operator tests state.

Every case of libonnx-testdata is imported. A case whose operators, types or
opsets are not supported is skipped; any other must give each graph output the
shape and element type of the model. Where a shape depends on the values of
inputs, these are taken from the case's data and made constants, first all but
the first input, then that one too.

    test/e2e/onnx_shapes.py --tools=build/tools [NAME...]
"""
import argparse
import pathlib
import re
import subprocess
import sys

import onnx_file

DATA = pathlib.Path("/usr/share/libonnx-testdata/data")
GROUPS = ("node", "simple", "pytorch-operator", "pytorch-converted")

# What a refusal says that is about the list of operators, not about a shape.
UNSUPPORTED = ("the operator is not supported", "is not a tensor", "element type 8,",
               "imports no opset")

# TensorProto.DataType in MLIR's terms.
ELEMENT_TYPES = {1: "f32", 2: "ui8", 3: "i8", 4: "ui16", 5: "i16", 6: "i32",
                 7: "i64", 9: "i1", 10: "f16", 11: "f64", 12: "ui32",
                 13: "ui64", 16: "bf16"}

TENSOR = re.compile(r"tensor<([^<>]*)>")


class Refused(Exception):
    """The tool's message."""


def run(command, data):
    done = subprocess.run([str(part) for part in command], input=data,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    if done.returncode != 0:
        raise Refused(done.stderr.decode(errors="replace").strip())
    return done.stdout


def empty_shapes(model):
    """Flags for inputs with an extent of 0, which else would be a batch of 1."""
    initialized = {tensor["name"]
                   for tensor in model["graph"].get("initializer", [])}
    for value in model["graph"].get("input", []):
        shape = value["type"].get("tensor_type", {}).get("shape", {})
        dims = [dim.get("dim_value") for dim in shape.get("dim", [])]
        if 0 in dims and value["name"] not in initialized:
            yield f"--input-shape={value['name']}:" + "x".join(map(str, dims))


def result_types(tools, model, fold):
    """The text of the function's result types, `2x3xf32` or `*xf32`."""
    text = run([tools / "ming-translate", "--import-onnx",
                *empty_shapes(model)],
               onnx_file.encode("Model", model))
    if fold:
        text = run([tools / "ming-opt", "--onnx-fold-constants",
                    "--onnx-infer-shapes"], text)
    head = next(line for line in text.decode().splitlines()
                if "func.func" in line)
    return TENSOR.findall(head.split(" -> ", 1)[1])


def with_constants(model, folder, keep_first):
    """The model with inputs from the case's data as initializers."""
    graph = dict(model["graph"])
    inputs = list(enumerate(graph["input"]))[1 if keep_first else 0:]
    initializers = list(graph.get("initializer", []))
    for index, value in inputs:
        path = folder / "test_data_set_0" / f"input_{index}.pb"
        tensor = onnx_file.decode("Tensor", path.read_bytes())
        tensor["name"] = value["name"]
        initializers.append(tensor)
    graph["initializer"] = initializers
    return {**model, "graph": graph}


def stated_type(output):
    """The type text of a graph output; extents that are open are None."""
    tensor = output["type"].get("tensor_type", {})
    if "shape" not in tensor:
        return None
    dims = [dim.get("dim_value") for dim in tensor["shape"].get("dim", [])]
    return dims, ELEMENT_TYPES.get(tensor["elem_type"])


def differs(stated, inferred):
    if stated is None:
        return False
    *dims, elem = inferred.split("x")
    want_dims, want_elem = stated
    return (elem != want_elem or len(dims) != len(want_dims) or
            any(want is not None and int(have) != want
                for have, want in zip(dims, want_dims)))


def infer(tools, model, folder):
    types = result_types(tools, model, fold=False)
    for keep_first in (True, False):
        if not any("*" in text for text in types):
            break
        constants = with_constants(model, folder, keep_first)
        try:
            types = result_types(tools, constants, fold=True)
        except Refused as refused:
            if "unknown shape" not in str(refused):
                raise
    return types


def check_case(tools, folder):
    """None, or what is wrong."""
    model = onnx_file.read_model(folder / "model.onnx")
    types = infer(tools, model, folder)
    for output, inferred in zip(model["graph"]["output"], types):
        stated = stated_type(output)
        if "*" in inferred or differs(stated, inferred):
            return f"{output['name']}: stated {stated}, inferred {inferred}"
    return None


def cases(names):
    for group in GROUPS:
        for folder in sorted((DATA / group).glob("*/")):
            if not names or folder.name in names:
                yield folder


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", type=pathlib.Path, default="build/tools")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    if not DATA.is_dir():
        print("libonnx-testdata is not installed")
    counts = {"passed": 0, "skipped": 0, "failed": 0}
    for folder in cases(args.names):
        problem = None
        outcome = "passed"
        try:
            problem = check_case(args.tools, folder)
        except Refused as refused:
            problem = str(refused)
            if any(text in problem for text in UNSUPPORTED):
                outcome = "skipped"
        if problem and outcome != "skipped":
            outcome = "failed"
            print(f"FAIL {folder.name}: {problem}")
        counts[outcome] += 1
    print(f"{counts['skipped']} skipped")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    sys.exit(1 if counts["failed"] else 0)


if __name__ == "__main__":
    main()
