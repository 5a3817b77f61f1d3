#!/usr/bin/env python3
"""Compares every quantized activation of a network, not its output alone.

    layers_check.py --tools=DIR [--seed=N]

A binary network's last layers can hide an error in its first ones. So each
quantizer that depends on the input is cut out (`ming run --to=`) at the onnx
level and as integer linalg, and must give exactly what numpy_ops.py does; the
output may be off by 1e-6 of its largest element. Subjects are generated binary
networks and TFC_1W1A in the folder that MING_MODELS names.
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile

import numpy as np

import gen_networks
import networks_check
import numpy_ops as ops
import onnx_file

QUANTIZERS = ("BipolarQuant", "Quant")
BINARY = ("mlp-binary", "mlp-channels")


def reshape(x, shape):
    return x.reshape([x.shape[i] if dim == 0 else dim for i, dim in enumerate(shape)])


OPERATORS = {
    "Shape": lambda x, _: np.array(x.shape, np.int64),
    "Gather": lambda x, index, attrs: np.take(x, index, attrs.get("axis", 0)),
    "Unsqueeze": lambda x, *rest: np.expand_dims(
        x, tuple(rest[0] if len(rest) > 1 else rest[-1]["axes"])),
    "Concat": lambda *parts: np.concatenate([np.atleast_1d(p) for p in parts[:-1]],
                                            parts[-1]["axis"]),
    "Reshape": lambda x, shape, _: reshape(x, shape),
    "Flatten": lambda x, _: x.reshape(x.shape[0], -1),
    "Transpose": lambda x, attrs: x.transpose(attrs.get("perm")),
    "MatMul": ops.matmul,
    "Gemm": lambda *args: ops.gemm(args[0], args[1], args[2] if len(args) > 3 else None, args[-1]),
    "BatchNormalization": ops.batch_normalization,
    "Relu": lambda x, _: np.maximum(x, np.float32(0)),
    "Quant": lambda x, scale, zero, bits, attrs: ops.quant(
        x, scale, zero, bits, {**attrs, "rounding_mode": attrs.get("rounding_mode", "ROUND")}),
    "BipolarQuant": ops.bipolar_quant,
    "Pow": lambda x, y, _: np.power(ops.wide(x), y).astype(x.dtype),
    **{name: lambda a, b, _, name=name: ops.binary(name, a, b) for name in ops.BINARY},
}


def attributes_of(node):
    return {attr["name"]: onnx_file.attribute_value(attr) for attr in node.get("attribute", [])}


def evaluate(model, frame):
    """The value of every tensor for one frame, and the names that depend on it."""
    graph = model["graph"]
    values = {tensor["name"]: onnx_file.array_from_tensor(tensor)
              for tensor in graph.get("initializer", [])}
    source = next(info["name"] for info in graph["input"] if info["name"] not in values)
    values[source], active = frame, {source}
    for node in graph["node"]:
        attrs, names = attributes_of(node), [name for name in node.get("input", []) if name]
        result = node["output"][0]
        if node["op_type"] == "Constant":
            values[result] = onnx_file.array_from_tensor(attrs["value"])
            continue
        values[result] = OPERATORS[node["op_type"]](*(values[name] for name in names), attrs)
        if active.intersection(names) and node["op_type"] != "Shape":
            active.add(result)
    return values, active


def evaluate_all(model, frames):
    """Likewise for several frames: name to stacked values, only what depends on them."""
    runs = [evaluate(model, frame[None]) for frame in frames]
    return {name: np.concatenate([values[name] for values, _ in runs]) for name in runs[0][1]}


def execute(tools, path, frames, name, work, *flags):
    np.save(work / "x.npy", frames)
    networks_check.run(tools / "ming", "run", path, f"--input={work / 'x.npy'}",
                       f"--output={work / 'y.npy'}", f"--to={name}", *flags)
    return np.load(work / "y.npy").astype(np.float32)


def check(tools, path, frames, work):
    """How many quantizers agree."""
    model = onnx_file.read_model(path)
    values = evaluate_all(model, frames)
    layers = [node["output"][0] for node in model["graph"]["node"]
              if node["op_type"] in QUANTIZERS and node["output"][0] in values]
    result = model["graph"]["output"][0]["name"]
    published = path.parent / "output.npy"
    if published.exists():
        networks_check.compare("numpy", np.load(published).reshape(values[result].shape),
                               values[result], networks_check.TOLERANCE)
    lowered = f"--pass-pipeline={networks_check.LOWERING}"
    for name in [*layers, result]:
        want = values[name]
        slack = 0.0 if name in layers else networks_check.TOLERANCE
        for what, flags in (("as exported", []), ("as integers", [lowered])):
            got = execute(tools, path, frames, name, work, *flags)
            networks_check.compare(f"{name!r} {what}", want, got.reshape(want.shape), slack)
    return len(layers)


def check_typed(tools, path, frames, work):
    """Inputs of 8 bits: the network's quantizers are integer arithmetic from the first one on."""
    model, flag = onnx_file.read_model(path), f"--input-type=uint8:{1 / 255!r}"
    frames = (np.rint(frames * 255) * np.float32(1 / 255)).astype(np.float32)
    values = evaluate_all(model, frames)
    layers = [node["output"][0] for node in model["graph"]["node"]
              if node["op_type"] in QUANTIZERS and node["output"][0] in values]
    for name in layers:
        got = execute(tools, path, frames, name, work, flag,
                      f"--pass-pipeline={networks_check.LOWERING}")
        networks_check.compare(f"{name!r} of {flag}", values[name], got.reshape(values[name].shape),
                               0.0)
    report, _ = networks_check.run(tools / "ming", "check", path, flag, f"--to={layers[-1]}", "--json")
    floats = [node["name"] for node in json.loads(report)["nodes"]
              if "f" in f"{node['input']}{node['output']}"]
    if floats:
        raise networks_check.Failure(f"{flag} leaves floats in {floats}")
    check_head(tools, path, flag, frames, work)
    return len(layers)


def check_head(tools, path, flag, frames, work):
    """The design gives the places of the greatest sums, and computes nothing in floats."""
    model = onnx_file.read_model(path)
    sums = next(node["output"][0] for node in reversed(model["graph"]["node"])
                if node["op_type"] in ("MatMul", "Gemm"))
    want = evaluate_all(model, frames)[sums]
    want = np.argsort(-want.reshape(len(frames), -1), axis=1, kind="stable")
    for head, best in (("argmax", want[:, 0]), ("topk=3", want[:, :3])):
        _, said = networks_check.run(tools / "ming", "compile", path, flag, f"--head={head}",
                                     "-o", work / "out")
        if "floating point" in said:
            raise networks_check.Failure(f"--head={head}: {said.strip()}")
        networks_check.run(tools / "ming", "sim", work / "out", f"--input={work / 'x.npy'}",
                           f"--output={work / 'y.npy'}")
        networks_check.compare(f"--head={head}", best, np.load(work / "y.npy").reshape(best.shape))


def subjects(seed, work):
    """Name, model file and frames of each."""
    families = list(gen_networks.FAMILIES)
    for index, kind in enumerate(families * 2):
        if kind in BINARY:
            case = gen_networks.generate(seed, index)
            path = work / f"{case.name}.onnx"
            path.write_bytes(case.data)
            yield case.name, path, case.frames
    if os.environ.get("MING_MODELS"):
        folder = pathlib.Path(os.environ["MING_MODELS"]) / "TFC_1W1A"
        yield folder.name, folder / "model.onnx", np.load(folder / "input.npy")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="ming-layers-") as name:
        work = pathlib.Path(name)
        for title, path, frames in subjects(args.seed, work):
            try:
                count = check(args.tools.resolve(), path, frames, work)
                if frames.min() >= 0 and frames.max() <= 1:
                    count += check_typed(args.tools.resolve(), path, frames, work)
            except networks_check.Failure as why:
                print(f"FAIL {title}: {why}")
                failed += 1
                continue
            print(f"PASS {title}: {count} quantizers")
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
