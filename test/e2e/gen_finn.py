"""Networks in the forms of FINN and of qonnx's transformations, for gen_networks.py:
datatypes as annotations, MultiThreshold as quantizer, channels in the last dimension,
one-bit inputs, several images in the model's first dimension.
"""
import numpy as np

import numpy_ops as ops
import onnx_file
from network_builder import Value
from qonnx_builder import QUANT_DOMAIN

F32, I64 = np.float32, np.int64
CHANNELS_LAST = "qonnx.custom_op.channels_last"
FINN_DOMAINS = (QUANT_DOMAIN, "finn.custom_op.general", "finn", "")


# FINN.

def annotate(net, name, datatype):
    net.file.graph.setdefault("quantization_annotation", []).append({
        "tensor_name": name,
        "quant_parameter_tensor_names": [{"key": "finn_datatype", "value": datatype}]})


def typed_input(net, shape, datatype):
    """Floats that are integers of the datatype, as the annotation promises."""
    low, high = {"UINT8": (0, 255), "INT4": (-8, 7), "BIPOLAR": (0, 1), "BINARY": (0, 1),
                 "TERNARY": (-1, 1), "FIXED<6,3>": (-32, 31)}[datatype]
    array = net.numpy.integers(low, high + 1, (net.frames, *shape)).astype(F32)
    if datatype == "BIPOLAR":
        array = 2 * array - 1
    if datatype.startswith("FIXED"):
        array = array / F32(8)
    net.file.input("x", [net.batch, *shape])
    annotate(net, "x", datatype)
    net.source = Value("x", array)
    return net.source


def integer_weight(net, shape):
    """Floats again: bipolar, or a few bits, with or without their datatype."""
    kind = net.rng.choice(["BIPOLAR", "INT2", "INT4"])
    if kind == "BIPOLAR":
        array = 2 * net.numpy.integers(0, 2, shape) - 1
    else:
        most = 2 ** (int(kind[3:]) - 1)
        array = net.numpy.integers(-most, most, shape)
    weight = net.constant(array.astype(F32), "weight")
    if net.rng.random() < 0.5:
        annotate(net, weight.name, kind)
    return weight


def multi_threshold(net, x, channels_last=False):
    """Thresholds lie where the values are, so that every level occurs."""
    channels = x.array.shape[-1 if channels_last else 1]
    count, scale, bias, kind = net.rng.choice([
        (1, 2.0, -1.0, "BIPOLAR"), (3, 1.0, 0.0, "UINT2"), (7, 1.0, -4.0, "INT3"),
        (7, 0.25, 0.0, "UINT3"), (15, 1.0, -7.5, "FLOAT32")])
    if not net.dyadic and kind in ("INT3", "UINT3"):
        scale, bias = float(F32(0.173)), float(F32(bias * 0.173))
    rows = net.rng.choice([1, channels])
    spread = max(float(x.array.std()), 0.25)
    middle = float(x.array.mean())
    thresholds = net.numpy.normal(middle, spread, (rows, count))
    if net.rng.random() < 0.3:
        thresholds = np.rint(thresholds)
    thresholds = net.constant(np.sort(thresholds).astype(F32), "thresholds")
    attrs = {"out_dtype": kind, "out_scale": scale, "out_bias": bias,
             "data_layout": ("NC" if x.array.ndim == 2 else "NHWC" if channels_last else "NCHW")}
    array = ops.multi_threshold(x.array, thresholds.array, attrs)
    return net.node("MultiThreshold", [x, thresholds], array, attrs, net.finn_domain)


def scaled(net, x):
    """The floats that streamlining has not moved yet."""
    if net.rng.random() < 0.6:
        factor = net.constant(F32(0.25 if net.dyadic else net.rng.uniform(0.01, 2)), "mul")
        x = net.binary("Mul", x, factor)
    if net.rng.random() < 0.6:
        channels = [x.array.shape[1]] + [1] * (x.array.ndim - 2)
        steps = net.numpy.integers(-64, 65, net.rng.choice([[1], channels])) / 16
        x = net.binary("Add", x, net.constant(steps.astype(F32), "add"))
    return x


def best_class(net, x):
    """The index of the largest, behind a positive factor and a sum."""
    x = net.binary("Mul", x, net.constant(F32(net.rng.choice([0.5, 0.0371, 3.14]))))
    x = net.binary("Add", x, net.constant(F32(net.rng.choice([0.0, -1.75, 0.1]))))
    if net.rng.random() < 0.5:
        return net.node("ArgMax", [x], x.array.argmax(1, keepdims=True), {"axis": 1})
    k = net.indices(1)
    name = net.file.fresh("indices")
    net.node("TopK", [x, k], None, {"axis": -1})
    net.file.graph["node"][-1]["output"].append(name)
    return Value(name, np.argsort(-x.array, 1, kind="stable")[:, :1])


def finn_tfc(net):
    """A multilayer perceptron as FINN has it before streamlining."""
    net.finn_domain = net.rng.choice(FINN_DOMAINS)
    kind = net.rng.choice(["UINT8", "BIPOLAR", "INT4", "TERNARY", "BINARY", "FIXED<6,3>", "floats"])
    shape = (1, 4, 4)
    x = net.input(shape) if kind == "floats" else typed_input(net, shape, kind)
    if kind == "floats":
        x = multi_threshold(net, x)
    x, width = net.flatten(x), 16
    for outputs in (12, 10):
        x = scaled(net, net.matmul(x, integer_weight(net, (width, outputs))))
        x, width = multi_threshold(net, x), outputs
    x = best_class(net, net.matmul(x, integer_weight(net, (width, 6))))
    net.output(x, onnx_file.INT64)


def finn_cnv(net):
    """Convolutions, thresholds in both layouts, a pool."""
    net.finn_domain = net.rng.choice(FINN_DOMAINS)
    x = typed_input(net, (2, 8, 8), net.rng.choice(["UINT8", "INT4", "BIPOLAR"]))
    for filters in (3, 4):
        x = scaled(net, net.conv(x, integer_weight(net, (filters, x.array.shape[1], 3, 3))))
        if net.rng.random() < 0.5:
            x = multi_threshold(net, x)
        else:
            x = multi_threshold(net, net.transpose(x, 0, 2, 3, 1), True)
            x = net.transpose(x, 0, 3, 1, 2)
    x = net.flatten(net.max_pool(x))
    net.output(multi_threshold(net, net.matmul(x, integer_weight(net, (16, 5)))))


# qonnx's channels-last form.

def conv_last(net, x, filters, kernel=3, stride=1, group=1):
    """Weights are (output channels, rows, columns, input channels)."""
    shape = (filters, kernel, kernel, x.array.shape[-1] // group)
    w = net.quant_weight(shape, 4, net.rng.choice([None, 0]))
    attrs = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "group": group,
             "pads": [kernel // 2] * 4}
    array = ops.conv(x.array.transpose(0, 3, 1, 2), w.array.transpose(0, 3, 1, 2), None, attrs)
    net.multiplies(array, np.prod(shape[1:]))
    return net.node("Conv", [x, w], array.transpose(0, 2, 3, 1), attrs, CHANNELS_LAST)


def batch_norm_last(net, x):
    channels = x.array.shape[-1]
    scale = 2.0 ** np.rint(net.numpy.uniform(-0.4, 1.6, channels))
    bias, mean = (np.rint(net.numpy.uniform(-4, 4, channels)) / 8 for _ in range(2))
    parameters = [net.constant(a.astype(F32))
                  for a in (scale, bias, mean, 4.0 ** np.rint(net.numpy.uniform(-1, 1, channels)))]
    attrs = {"epsilon": 0.0 if net.dyadic else 1e-5}
    array = ops.batch_normalization(x.array.transpose(0, 3, 1, 2),
                                    *(p.array for p in parameters), attrs)
    return net.node("BatchNormalization", [x, *parameters], array.transpose(0, 2, 3, 1), attrs,
                    CHANNELS_LAST)


def channels_last(net):
    """Kernels as wide as there are channels, where a wrong layout has the right shape."""
    channels = net.rng.choice([2, 3])
    x = net.quant(net.input((8, 8, channels)), 8)
    for filters in (3, 4):
        x = conv_last(net, x, filters, net.rng.choice([1, 3]), net.rng.choice([1, 2]))
        if net.rng.random() < 0.6:
            x = batch_norm_last(net, x)
        x = net.quant(net.relu(x), 4, signed=False)
    x = net.quant(net.relu(conv_last(net, x, 4, 3, group=4)), 4, signed=False)
    if min(x.array.shape[1:3]) > 1:
        attrs = {"kernel_shape": [2, 2], "strides": [2, 2]}
        array = ops.max_pool(x.array.transpose(0, 3, 1, 2), attrs).transpose(0, 2, 3, 1)
        x = net.node("MaxPool", [x], array, attrs, CHANNELS_LAST)
    x = net.flatten(x)
    net.output(net.quant(net.matmul(x, net.quant_weight((x.array.shape[1], 3), 4, None)), 8))


# One-bit inputs.

def bipolar_input(net):
    """The sign of each input, by BipolarQuant or by a Quant of one bit; zeros are positive."""
    x = net.input((2, 6, 6), -0.5, 0.5)
    scale = F32(net.rng.choice([1.0, 0.5, 0.3 if not net.dyadic else 2.0]))
    if net.rng.random() < 0.5:
        x = net.bipolar_by(x, scale)
    else:
        x = net.quant_by(x, scale, 1)
    if net.rng.random() < 0.5:
        x = net.conv(x, net.quant_weight((4, 2, 3, 3), net.rng.choice([1, 2, 4])))
        x = net.quant(net.relu(x), 3, signed=False)
    x = net.flatten(x)
    net.output(net.quant(net.matmul(x, net.quant_weight((x.array.shape[1], 4), 1)), 8))


# Several images in the model's first dimension.

def several(build):
    """The network for three images at once; with half of the models --input-shape says one."""
    def wrapped(net):
        net.images, net.batch = 3, 3
        net.frames = 6
        build(net)
        if net.rng.random() < 0.5:
            extents = "x".join(str(n) for n in net.source.array.shape[1:])
            net.flags = [f"--input-shape={net.source.name}:1x{extents}"]
            net.images = 1
    return wrapped
