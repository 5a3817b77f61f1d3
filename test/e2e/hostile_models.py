"""Inputs that the compiler must refuse: damaged files, models that break the
rules of ONNX, sizes that overflow, and damaged text.

Every entry is valid in all but the one respect that its name says.
"""
import copy
import dataclasses
import os
import random

import numpy as np

import onnx_file
from qonnx_builder import QonnxBuilder, value_info

HUGE = 1 << 62


@dataclasses.dataclass
class HostileInput:
    """`prepare` is called with the folder that the file is in, once it is."""
    name: str
    suffix: str
    data: bytes
    prepare: object = None


def base_model():
    """A valid model of one quantized 3x3 convolution. Its nodes are, in this
    order: Quant of x, Quant of the weight, Quant of the bias, Conv, Quant."""
    net = QonnxBuilder("base")
    x = net.quant(net.input("x", [1, 2, 6, 6]), 0.25, 4)
    weight = net.constant("weight", np.ones((3, 2, 3, 3), np.float32))
    weight = net.quant(weight, 0.5, 4, narrow=True)
    bias = net.quant(net.constant("bias", np.ones(3, np.float32)), 0.125, 16)
    attrs = {"kernel_shape": [3, 3], "strides": [1, 1], "dilations": [1, 1],
             "pads": [1, 1, 1, 1], "group": 1}
    x = net.node("Conv", [x, weight, bias], attrs)
    net.quant(x, 0.5, 4, result="y")
    net.output("y", [1, 3, 6, 6])
    return net.model()


# Accessors for the edits below.

def conv(graph):
    return next(n for n in graph["node"] if n["op_type"] == "Conv")


def set_conv(name, value):
    """An edit that sets an attribute of the Conv."""
    def edit(graph):
        attrs = conv(graph)["attribute"]
        attrs[:] = [a for a in attrs if a["name"] != name]
        attrs.append(onnx_file.attribute(name, value))
    return edit


def set_input_shape(shape):
    def edit(graph):
        graph["input"] = [value_info("x", shape)]
    return edit


def set_tensor(hint, array):
    """An edit that replaces the first initializer with such a name."""
    def edit(graph):
        tensor = find_tensor(graph, hint)
        name = tensor["name"]
        tensor.clear()
        tensor.update(onnx_file.tensor_from_array(name, array))
    return edit


def find_tensor(graph, hint):
    return next(t for t in graph["initializer"] if t["name"].startswith(hint))


# Edits of the graph.

def unknown_operator(graph):
    conv(graph)["op_type"] = "Frobnicate"


def unknown_domain(graph):
    conv(graph)["domain"] = "org.example.custom"


def string_input(graph):
    graph["input"] = [value_info("x", [1, 2, 6, 6], onnx_file.STRING)]


def integer_weight(graph):
    node = conv(graph)
    raw = find_tensor(graph, "weight")
    array = onnx_file.array_from_tensor(raw).astype(np.int64)
    raw.update(onnx_file.tensor_from_array(raw["name"], array))
    node["input"][1] = raw["name"]


def self_cycle(graph):
    node = conv(graph)
    node["input"][0] = node["output"][0]


def long_cycle(graph):
    graph["node"][0]["input"][0] = "y"


def undefined_value(graph):
    conv(graph)["input"][0] = "nowhere"


def duplicate_value(graph):
    graph["node"][1]["output"] = list(graph["node"][0]["output"])


def missing_output(graph):
    graph["output"][0]["name"] = "nowhere"


def no_outputs(graph):
    graph["output"] = []


def no_operands(graph):
    conv(graph)["input"] = []


def too_many_operands(graph):
    conv(graph)["input"] += ["x", "x", "x"]


def no_results(graph):
    conv(graph)["output"] = []


def float_strides(graph):
    set_conv("strides", [1.0, 1.0])(graph)


def subgraph_attribute(graph):
    attr = {"name": "body", "g": copy.deepcopy(graph), "type": 5}
    conv(graph)["attribute"].append(attr)
    conv(graph)["op_type"] = "Loop"


def add_node(op_type, attrs, *constants):
    """An edit that appends a node on the network's result and constants; None
    stands for an input that is absent."""
    def edit(graph):
        inputs = ["y"]
        for index, array in enumerate(constants):
            name = "" if array is None else f"added_{index}"
            if array is not None:
                graph["initializer"].append(
                    onnx_file.tensor_from_array(name, np.asarray(array)))
            inputs.append(name)
        graph["node"].append({
            "op_type": op_type, "name": "added", "input": inputs,
            "output": ["last"],
            "attribute": [onnx_file.attribute(name, value)
                          for name, value in attrs.items()]})
        graph["output"] = [value_info("last", None)]
    return edit


def split_in_many(graph):
    add_node("Split", {"axis": 1})(graph)
    graph["node"][-1]["output"] += [f"part_{index}" for index in range(5000)]


def many_attributes(graph):
    conv(graph)["attribute"] += [onnx_file.attribute(f"extra_{index}", index)
                                 for index in range(5000)]


def sparse_initializer(indices, dims):
    def edit(graph):
        weight = find_tensor(graph, "weight")
        graph["initializer"].remove(weight)
        graph["sparse_initializer"] = [{
            "values": onnx_file.tensor_from_array(
                weight["name"], np.ones(len(indices), np.float32)),
            "indices": onnx_file.tensor_from_array("", np.asarray(indices)),
            "dims": dims}]
    return edit


def short_tensor_data(graph):
    tensor = find_tensor(graph, "weight")
    tensor["raw_data"] = tensor["raw_data"][:-4]


def long_tensor_data(graph):
    find_tensor(graph, "weight")["raw_data"] += bytes(8)


def huge_tensor_dims(graph):
    find_tensor(graph, "weight")["dims"] = [HUGE, 4, HUGE, 3]


def negative_tensor_dims(graph):
    find_tensor(graph, "weight")["dims"] = [-3, -2, 3, 3]


def unknown_tensor_type(graph):
    find_tensor(graph, "weight")["data_type"] = 4242


def external_tensor(graph):
    tensor = find_tensor(graph, "weight")
    del tensor["raw_data"]
    tensor["data_location"] = 1


def duplicate_input(graph):
    graph["input"].append(graph["input"][0])


def duplicate_tensor(graph):
    graph["initializer"].append(find_tensor(graph, "weight"))


def shadowed_input(graph):
    graph["node"][0]["output"] = ["x"]


def missing_narrow(graph):
    attrs = graph["node"][0]["attribute"]
    attrs[:] = [a for a in attrs if a["name"] != "narrow"]


def unknown_rounding(graph):
    for attr in graph["node"][0]["attribute"]:
        if attr["name"] == "rounding_mode":
            attr["s"] = b"SIDEWAYS"


EDITS = {
    "unknown-operator": unknown_operator,
    "unknown-domain": unknown_domain,
    "dynamic-height": set_input_shape([1, 2, "height", 6]),
    "dynamic-channels": set_input_shape([1, 0, 6, 6]),
    "negative-dim": set_input_shape([1, 2, -6, 6]),
    "no-shape": set_input_shape(None),
    "scalar-input": set_input_shape([]),
    "rank-too-low": set_input_shape([1, 2]),
    "rank-too-high": set_input_shape([1, 2, 6, 6, 6]),
    "huge-input": set_input_shape([1, 2, HUGE, HUGE]),
    "huge-product": set_input_shape([1, 2, 1 << 31, 1 << 31]),
    "input-type-string": string_input,
    "weight-type-integer": integer_weight,
    "weight-channels": set_tensor("weight", np.ones((3, 5, 3, 3), np.float32)),
    "weight-rank": set_tensor("weight", np.ones((3, 2, 3), np.float32)),
    "weight-empty": set_tensor("weight", np.ones((0, 2, 3, 3), np.float32)),
    "bias-length": set_tensor("bias", np.ones(7, np.float32)),
    "bias-rank": set_tensor("bias", np.ones((3, 3), np.float32)),
    "weight-nan": set_tensor("weight", np.full((3, 2, 3, 3), np.nan, np.float32)),
    "scale-zero": set_tensor("scale", np.float32(0)),
    "scale-negative": set_tensor("scale", np.float32(-0.5)),
    "scale-nan": set_tensor("scale", np.float32(np.nan)),
    "scale-infinite": set_tensor("scale", np.float32(np.inf)),
    "scale-shape": set_tensor("scale", np.ones(5, np.float32)),
    "bits-zero": set_tensor("bits", np.float32(0)),
    "bits-negative": set_tensor("bits", np.float32(-8)),
    "bits-fraction": set_tensor("bits", np.float32(3.5)),
    "bits-huge": set_tensor("bits", np.float32(1e30)),
    "zeropt-nan": set_tensor("zeropt", np.float32(np.nan)),
    "missing-narrow": missing_narrow,
    "unknown-rounding": unknown_rounding,
    "kernel-shape": set_conv("kernel_shape", [5, 5]),
    "kernel-rank": set_conv("kernel_shape", [3]),
    "strides-zero": set_conv("strides", [0, 1]),
    "strides-negative": set_conv("strides", [-1, 1]),
    "strides-rank": set_conv("strides", [1]),
    "strides-float": float_strides,
    "dilations-zero": set_conv("dilations", [0, 0]),
    "dilations-huge": set_conv("dilations", [HUGE, HUGE]),
    "pads-rank": set_conv("pads", [1, 1]),
    "pads-negative": set_conv("pads", [-9, -9, 0, 0]),
    "pads-huge": set_conv("pads", [HUGE, HUGE, HUGE, HUGE]),
    "window-too-large": set_conv("dilations", [9, 9]),
    "group-zero": set_conv("group", 0),
    "group-negative": set_conv("group", -1),
    "group-not-divisor": set_conv("group", 2),
    "auto-pad-unknown": set_conv("auto_pad", "DIAGONAL"),
    "self-cycle": self_cycle,
    "long-cycle": long_cycle,
    "undefined-value": undefined_value,
    "duplicate-value": duplicate_value,
    "missing-output": missing_output,
    "no-outputs": no_outputs,
    "no-operands": no_operands,
    "too-many-operands": too_many_operands,
    "no-results": no_results,
    "subgraph": subgraph_attribute,
    "tensor-data-short": short_tensor_data,
    "tensor-data-long": long_tensor_data,
    "tensor-dims-huge": huge_tensor_dims,
    "tensor-dims-negative": negative_tensor_dims,
    "tensor-type-unknown": unknown_tensor_type,
    "tensor-external": external_tensor,
    "expand-huge": add_node("Expand", {}, [HUGE, HUGE]),
    "expand-negative": add_node("Expand", {}, [-1, 3, 6, 6]),
    "tile-huge": add_node("Tile", {}, [HUGE, 1, 1, 2]),
    "reshape-huge": add_node("Reshape", {}, [HUGE, HUGE, -1]),
    "reshape-negative": add_node("Reshape", {}, [-5]),
    "reshape-float": add_node("Reshape", {}, [108.0]),
    "slice-extremes": add_node("Slice", {}, [-HUGE], [HUGE], [9], [-HUGE]),
    "slice-step-zero": add_node("Slice", {}, [0], [1], [0], [0]),
    "slice-lengths": add_node("Slice", {}, [0, 0], [1], [0]),
    "pad-huge": add_node("Pad", {}, [HUGE] * 8),
    "pad-negative": add_node("Pad", {}, [-HUGE] * 8),
    "pad-length": add_node("Pad", {}, [1, 1, 1]),
    "gather-range": add_node("Gather", {"axis": 7}, [0]),
    "squeeze-range": add_node("Squeeze", {}, [-9]),
    "unsqueeze-twice": add_node("Unsqueeze", {}, [1, 1]),
    "unsqueeze-many": add_node("Unsqueeze", {}, list(range(60))),
    "transpose-twice": add_node("Transpose", {"perm": [0, 0, 1, 2]}),
    "transpose-huge": add_node("Transpose", {"perm": [HUGE, 0, 1, 2]}),
    "concat-axis": add_node("Concat", {"axis": HUGE}, np.float32([1])),
    "split-in-many": split_in_many,
    "split-lengths": add_node("Split", {}, [HUGE]),
    "topk-huge": add_node("TopK", {}, [HUGE]),
    "resize-nan": add_node("Resize", {}, None, np.float32([1, 1, np.nan, 1])),
    "resize-huge": add_node("Resize", {}, None, np.float32([1, 1, 1e30, 1])),
    "resize-sizes": add_node("Resize", {}, None, None, [1, 3, HUGE, HUGE]),
    "resize-nothing": add_node("Resize", {}, None, np.float32([])),
    "depth-huge": add_node("DepthToSpace", {"blocksize": HUGE}),
    "flatten-axis": add_node("Flatten", {"axis": -HUGE}),
    "cast-unknown": add_node("Cast", {"to": 4242}),
    "pool-kernel-huge": add_node("MaxPool", {"kernel_shape": [HUGE, HUGE]}),
    "pool-strides-huge": add_node("MaxPool", {"kernel_shape": [1, 1],
                                              "strides": [HUGE, HUGE]}),
    "reduce-axes": add_node("ReduceSum", {}, [HUGE]),
    "matmul-shapes": add_node("MatMul", {}, np.ones((5, 5), np.float32)),
    "quantize-blocks": add_node("QuantizeLinear", {"block_size": -HUGE},
                                np.float32([1, 1])),
    "constant-huge": add_node("ConstantOfShape", {}),
    "reshape-two-unknown": add_node("Reshape", {}, [-1, -1]),
    "turned-shape-huge": add_node("ConvTranspose", {"output_shape": [HUGE, HUGE]},
                                  np.ones((3, 1, 2, 2), np.float32)),
    "turned-strides-huge": add_node("ConvTranspose", {"strides": [HUGE, HUGE]},
                                    np.ones((3, 1, 2, 2), np.float32)),
    "turned-padding-huge": add_node("ConvTranspose", {"output_padding": [HUGE, HUGE]},
                                    np.ones((3, 1, 2, 2), np.float32)),
    "pool-pads-huge": add_node("AveragePool", {"kernel_shape": [1, 1],
                                               "pads": [HUGE, HUGE, HUGE, HUGE]}),
    "normalization-lengths": add_node("BatchNormalization", {}, *[np.ones(5, np.float32)] * 4),
    "gemm-shapes": add_node("Gemm", {"transB": 1}, np.ones((5, 5), np.float32)),
    "quantize-axis": add_node("QuantizeLinear", {"axis": HUGE}, np.float32([1, 1, 1])),
    "quantize-lengths": add_node("QuantizeLinear", {}, np.float32([1] * 3), np.int8([0] * 2)),
    "quantize-zero-scale": add_node("QuantizeLinear", {}, np.float32(0), np.int8(0)),
    "thresholds-shape": add_node("MultiThreshold", {}, np.ones((5, 2), np.float32)),
    "duplicate-input": duplicate_input,
    "duplicate-tensor": duplicate_tensor,
    "shadowed-input": shadowed_input,
    "many-attributes": many_attributes,
    "sparse-index": sparse_initializer([HUGE], [3, 2, 3, 3]),
    "sparse-huge": sparse_initializer([1], [HUGE, 2, 3, 3]),
    "sparse-negative": sparse_initializer([1], [-3, 2, 3, 3]),
}


# Edits of the whole model.

def call(graph, op_type):
    conv(graph).update(op_type=op_type, domain="org.example", attribute=[])


def body(*calls):
    """Nodes that call functions one after the other."""
    names = ["x", *(f"v{index}" for index in range(1, len(calls))), "y"]
    return [{"op_type": op_type, "domain": "org.example", "input": [a],
             "output": [b]}
            for op_type, a, b in zip(calls, names, names[1:])]


def function(name, *calls):
    return {"name": name, "domain": "org.example", "input": ["x", "w", "b"],
            "output": ["y"], "node": body(*calls)}


def circular_functions(model):
    call(model["graph"], "f")
    model["functions"] = [function("f", "g"), function("g", "f")]


def exploding_functions(model):
    """Each function calls the next one twice."""
    call(model["graph"], "f0")
    model["functions"] = [function(f"f{index}", *[f"f{index + 1}"] * 2)
                          for index in range(30)]
    model["functions"].append({**function("f30"), "node": [
        {"op_type": "Identity", "input": ["x"], "output": ["y"]}]})


def undefined_in_function(model):
    call(model["graph"], "f")
    model["functions"] = [function("f")]


def future_opset(model):
    model["opset_import"][0]["version"] = HUGE


MODEL_EDITS = {
    "functions-circular": circular_functions,
    "functions-exploding": exploding_functions,
    "function-undefined": undefined_in_function,
    "opset-future": future_opset,
}


# Names that must not break out of a message, in models with an error.

HOSTILE_NAMES = ('quote"', "quote'", "line\nmodel.onnx:1:1: error: forged", "$(touch pwned_marker)",
                 "*/ #error pwned /*", "<?xml version='1.0'?><!-- & -->", "%s%n", "\x1b[2J", "",
                 "n" * 100000, "\udcff")


def named_models():
    for index, name in enumerate(HOSTILE_NAMES):
        model = base_model()
        conv(model["graph"])["name"] = name
        set_conv("group", 7)(model["graph"])
        yield HostileInput(f"name-{index}", ".onnx", onnx_file.encode("Model", model))


# Tensors in other files.

def link_file(folder):
    os.symlink("/etc/passwd", folder / "weight.bin")


def link_folder(folder):
    os.symlink("/etc", folder / "data")


def write_short(folder):
    (folder / "weight.bin").write_bytes(bytes(8))


def make_pipe(folder):
    os.mkfifo(folder / "weight.bin")


def make_sparse(folder):
    with open(folder / "weight.bin", "wb") as file:
        file.truncate(1 << 42)


OUTSIDE = {
    "absolute": ("/etc/passwd", None), "parent": ("../../../etc/passwd", None),
    "hidden-parent": ("data/../../weight.bin", None), "missing": ("weight.bin", None),
    "link": ("weight.bin", link_file), "linked-folder": ("data/passwd", link_folder),
    "short": ("weight.bin", write_short), "pipe": ("weight.bin", make_pipe),
    "folder": (".", None), "device": ("/dev/zero", None), "sparse": ("weight.bin", make_sparse),
    "newline": ("weight\nerror: forged", None),
}


def outside_models():
    for name, (location, prepare) in OUTSIDE.items():
        model = base_model()
        tensor = find_tensor(model["graph"], "weight")
        del tensor["raw_data"]
        tensor["data_location"] = 1
        tensor["external_data"] = [{"key": "location", "value": location}]
        yield HostileInput(f"external-{name}", ".onnx", onnx_file.encode("Model", model), prepare)


def edited_models():
    for name, edit in EDITS.items():
        model = base_model()
        edit(model["graph"])
        yield HostileInput(name, ".onnx", onnx_file.encode("Model", model))
    for name, edit in MODEL_EDITS.items():
        model = base_model()
        edit(model)
        yield HostileInput(name, ".onnx", onnx_file.encode("Model", model))


# Damaged bytes.

def damaged_onnx(rng):
    data = onnx_file.encode("Model", base_model())
    yield HostileInput("empty", ".onnx", b"")
    for percent in (1, 25, 50, 75, 95):
        cut = data[:len(data) * percent // 100]
        yield HostileInput(f"truncated-{percent}", ".onnx", cut)
    for index in range(3):
        noise = bytes(rng.getrandbits(8) for _ in range(2000))
        yield HostileInput(f"random-{index}", ".onnx", noise)
    yield HostileInput("long-varint", ".onnx", b"\x08" + b"\xff" * 40)
    yield HostileInput("huge-length", ".onnx", b"\x3a" + onnx_file.varint(HUGE))
    yield HostileInput("no-graph", ".onnx",
                       onnx_file.encode("Model", {"ir_version": 7}))
    deep = b""
    for _ in range(5000):   # a graph in an attribute of a node, and so on
        for tag in (0x32, 0x2A, 0x0A):
            deep = bytes([tag]) + onnx_file.varint(len(deep)) + deep
    yield HostileInput("deep-nesting", ".onnx",
                       b"\x3a" + onnx_file.varint(len(deep)) + deep)


VALID_TEXT = b"""\
func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {
  %c = arith.constant dense<1> : tensor<4xi8>
  %e = tensor.empty() : tensor<4xi8>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>,
      affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]}
      ins(%x, %c : tensor<4xi8>, tensor<4xi8>) outs(%e : tensor<4xi8>) {
  ^bb0(%a: i8, %b: i8, %o: i8):
    %s = arith.addi %a, %b : i8
    linalg.yield %s : i8
  } -> tensor<4xi8>
  return %y : tensor<4xi8>
}
"""

TEXT_EDITS = {
    "text-unknown-op": (b"arith.addi", b"arith.addify"),
    "text-unknown-dialect": (b"tensor.empty", b"tensr.empty"),
    "text-undefined-value": (b"linalg.yield %s", b"linalg.yield %nowhere"),
    "text-redefined-value": (b"%e = tensor", b"%c = tensor"),
    "text-type-mismatch": (b"return %y : tensor<4xi8>", b"return %y : tensor<5xi8>"),
    "text-operand-type": (b"arith.addi %a, %b : i8", b"arith.addi %a, %b : i32"),
    "text-map-count": (b"affine_map<(d0) -> (d0)>,\n", b"\n"),
    "text-map-rank": (b"affine_map<(d0) -> (d0)>,\n",
                      b"affine_map<(d0, d1) -> (d0, d1)>,\n"),
    "text-dynamic-shape": (b"4xi8", b"?xi8"),
    "text-no-terminator": (b"  return %y : tensor<4xi8>\n", b""),
    "text-huge-dim": (b"4xi8", b"99999999999999999999999xi8"),
    "text-huge-width": (b"i8", b"i99999999999"),
    "text-invalid-utf8": (b"%e = tensor", b"%e = \xff\xfe tensor"),
    "text-open-string": (b'"parallel"', b'"parallel'),
    "text-unknown-iterator": (b'"parallel"', b'"diagonal"'),
}


def damaged_text(rng):
    for percent in (10, 40, 70, 95):
        cut = VALID_TEXT[:len(VALID_TEXT) * percent // 100]
        yield HostileInput(f"text-truncated-{percent}", ".mir", cut)
    for index in range(3):
        noise = bytes(rng.getrandbits(8) for _ in range(2000))
        yield HostileInput(f"text-random-{index}", ".mir", noise)
    for name, (old, new) in TEXT_EDITS.items():
        assert old in VALID_TEXT
        yield HostileInput(name, ".mir", VALID_TEXT.replace(old, new))
    deep = 200000
    for name, text in {
        "text-deep-attribute": b"func.func private @f() attributes {x = "
                               + b"[" * deep,
        "text-deep-type": b"func.func private @f(" + b"tuple<" * deep,
        "text-deep-region": b"builtin.module {" * deep,
        "text-deep-map": b"#m = affine_map<(d0) -> (" + b"(" * deep,
    }.items():
        yield HostileInput(name, ".mir", text)
    yield HostileInput("text-empty", ".mir", b"")


def hostile_inputs(seed):
    rng = random.Random(f"hostile/{seed}")
    return [*damaged_onnx(rng), *edited_models(), *named_models(), *outside_models(),
            *damaged_text(rng)]
