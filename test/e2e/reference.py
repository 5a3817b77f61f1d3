"""An evaluator of ONNX and QONNX models in numpy float64.

It shares nothing with the compiler, so that an error in one does not hide in
the other. With power-of-two scales every intermediate value is a dyadic
rational that float64 holds exactly, or a quotient (average pooling) whose
rounding cannot move it across a rounding threshold of the Quant that follows.

    reference.py MODEL.onnx INPUT.npy OUTPUT.npy
"""
import itertools
import sys

import numpy as np

import onnx_file


class Unsupported(Exception):
    """The model uses something that this evaluator does not know."""


# Quant.

def round_half_up(x):
    """To the nearest integer, ties away from zero."""
    whole = np.trunc(x)
    return whole + np.sign(x) * (np.abs(x - whole) >= 0.5)


def round_half_down(x):
    """To the nearest integer, ties toward zero."""
    whole = np.trunc(x)
    return whole + np.sign(x) * (np.abs(x - whole) > 0.5)


def round_away(x):
    return np.sign(x) * np.ceil(np.abs(x))


ROUNDINGS = {
    "ROUND": np.rint, "HALF_EVEN": np.rint, "CEIL": np.ceil, "FLOOR": np.floor,
    "UP": round_away, "DOWN": np.trunc, "HALF_UP": round_half_up,
    "HALF_DOWN": round_half_down,
}


def int_range(bits, signed, narrow):
    """Smallest and largest integer of a quantizer."""
    if signed:
        return -2.0 ** (bits - 1) + narrow, 2.0 ** (bits - 1) - 1
    return 0.0, 2.0 ** bits - 1 - narrow


def quant(x, scale, zero=0.0, bits=8.0, signed=True, narrow=False,
          rounding="ROUND"):
    """QONNX Quant; scale, zero and bits broadcast against x."""
    x, scale, zero, bits = (np.asarray(a, np.float64)
                            for a in (x, scale, zero, bits))
    if signed and np.all(bits == 1):
        return np.where(x >= 0, 1.0, -1.0) * scale
    low, high = int_range(bits, signed, narrow)
    steps = ROUNDINGS[rounding.upper()](np.clip(x / scale + zero, low, high))
    return (steps - zero) * scale


def eval_quant(inputs, attrs):
    if "narrow" not in attrs:
        raise Unsupported("Quant without the attribute narrow")
    return quant(*inputs, signed=bool(attrs.get("signed", 1)),
                 narrow=bool(attrs["narrow"]),
                 rounding=attrs.get("rounding_mode", "ROUND"))


# Conv.

def same_pads(size, window, stride, lower):
    """Zeros before and after so that there are ceil(size / stride) windows."""
    total = max((-(-size // stride) - 1) * stride + window - size, 0)
    small, large = total // 2, total - total // 2
    return (large, small) if lower else (small, large)


def conv_pads(attrs, sizes, windows, strides):
    """Pairs (before, after), one for each spatial dimension."""
    auto = attrs.get("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        return [same_pads(*dim, auto == "SAME_LOWER")
                for dim in zip(sizes, windows, strides)]
    rank = len(sizes)
    pads = attrs.get("pads", [0] * 2 * rank) if auto == "NOTSET" else [0] * 2 * rank
    return list(zip(pads[:rank], pads[rank:]))


def conv(x, weight, bias=None, attrs=None):
    """ONNX Conv of any spatial rank: x is N C spatial, weight M C/group kernel."""
    attrs = attrs or {}
    kernel = weight.shape[2:]
    rank = len(kernel)
    strides = attrs.get("strides", [1] * rank)
    dilations = attrs.get("dilations", [1] * rank)
    windows = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    pads = conv_pads(attrs, x.shape[2:], windows, strides)
    x = np.pad(np.asarray(x, np.float64), [(0, 0), (0, 0)] + pads)
    counts = [(size - window) // stride + 1
              for size, window, stride in zip(x.shape[2:], windows, strides)]

    groups = attrs.get("group", 1)
    out = np.zeros((groups, x.shape[0], weight.shape[0] // groups, *counts))
    x_groups = np.split(x, groups, axis=1)
    w_groups = np.split(np.asarray(weight, np.float64), groups)
    for tap in itertools.product(*map(range, kernel)):
        places = tuple(slice(t * d, t * d + (n - 1) * s + 1, s)
                       for t, d, n, s in zip(tap, dilations, counts, strides))
        for group, (xg, wg) in enumerate(zip(x_groups, w_groups)):
            pixels = xg[(slice(None), slice(None)) + places]
            factors = wg[(slice(None), slice(None)) + tap]
            out[group] += np.moveaxis(np.tensordot(factors, pixels, (1, 1)), 1, 0)
    out = np.concatenate(list(out), axis=1)
    return out if bias is None else out + np.reshape(bias, (1, -1) + (1,) * rank)


# Operators and graphs.

def eval_pool(inputs, _attrs):
    x = inputs[0]
    axes = tuple(range(2, x.ndim))
    return np.sum(x, axes, keepdims=True) / np.prod(x.shape[2:])


def eval_constant(_inputs, attrs):
    for name in ("value", "value_float", "value_int", "value_floats", "value_ints"):
        if name in attrs:
            value = attrs[name]
            tensor = isinstance(value, dict)
            array = onnx_file.array_from_tensor(value) if tensor else np.array(value)
            return array.astype(np.float64)
    raise Unsupported("Constant without a numeric value")


OPERATORS = {
    "Quant": eval_quant,
    "IntQuant": eval_quant,
    "Conv": lambda inputs, attrs: conv(*inputs, attrs=attrs) if len(inputs) == 3
    else conv(*inputs, None, attrs),
    "Relu": lambda inputs, _: np.maximum(inputs[0], 0.0),
    "GlobalAveragePool": eval_pool,
    "Identity": lambda inputs, _: inputs[0],
    "Constant": eval_constant,
}


def graph_inputs(model):
    """The inputs without an initializer, as pairs of name and shape; a
    dimension that is not a positive number is 1 if it is the batch and an
    error elsewhere."""
    graph = model["graph"]
    constants = {tensor["name"] for tensor in graph.get("initializer", [])}
    result = []
    for info in graph.get("input", []):
        if info["name"] in constants:
            continue
        dims = info["type"]["tensor_type"]["shape"].get("dim", [])
        shape = [dim.get("dim_value", 0) for dim in dims]
        if any(dim <= 0 for dim in shape[1:]):
            raise Unsupported(f"dynamic shape of input {info['name']!r}")
        result.append((info["name"], [max(shape[0], 1)] + shape[1:]))
    return result


def evaluate_batch(model, feed):
    """The first output for one batch; `feed` maps input names to arrays."""
    graph = model["graph"]
    values = {tensor["name"]: onnx_file.array_from_tensor(tensor).astype(np.float64)
              for tensor in graph.get("initializer", [])}
    values.update({name: np.asarray(x, np.float64) for name, x in feed.items()})
    for node in graph["node"]:
        if node["op_type"] not in OPERATORS:
            raise Unsupported(f"operator {node['op_type']}")
        attrs = {attr["name"]: onnx_file.attribute_value(attr)
                 for attr in node.get("attribute", [])}
        inputs = [values[name] for name in node.get("input", []) if name]
        values[node["output"][0]] = OPERATORS[node["op_type"]](inputs, attrs)
    return values[graph["output"][0]["name"]]


def evaluate(model, frames):
    """The first output for `frames`, an array whose first dimension is a
    multiple of the batch of the model's only input."""
    inputs = graph_inputs(model)
    if len(inputs) != 1:
        raise Unsupported(f"{len(inputs)} inputs")
    name, shape = inputs[0]
    batches = np.reshape(frames, [-1] + shape)
    return np.concatenate([evaluate_batch(model, {name: batch})
                           for batch in batches])


def main(args):
    if len(args) != 3:
        sys.exit("usage: reference.py MODEL.onnx INPUT.npy OUTPUT.npy")
    model = onnx_file.read_model(args[0])
    np.save(args[2], evaluate(model, np.load(args[1])))


if __name__ == "__main__":
    main(sys.argv[1:])
