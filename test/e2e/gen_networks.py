"""Whole networks of the kinds that exporters and quantizers write, small ones,
with the outputs that numpy gives them.

    generate(seed, index): families take turns, a model depends on nothing else.

With half of the seeds all scales are powers of two: float32 is exact then, in
any order of summation, and every implementation must give the same bits.
"""
import dataclasses
import random

import numpy as np

import gen_finn
import numpy_ops as ops
from network_builder import Integers, Network

F32 = np.float32


@dataclasses.dataclass
class Case:
    """`frames` holds several inputs of the model. `is_standard` ones have
    ONNX Runtime's operators only; `is_integer` ones can be integers up to the
    scaling of the outputs."""
    name: str
    data: bytes
    frames: np.ndarray
    expected: np.ndarray
    dyadic: bool
    nodes: int
    macs: int
    is_standard: bool
    is_integer: bool
    flags: list
    batch: int                          # frames that the file's input holds
    is_simulated: bool


# ResNets.

def qdq_conv_bn(net, x, filters, kernel=3, stride=1, relu=True, bits=8, group=1):
    """Convolution, unfolded batch normalization, quantizer."""
    channels = x.array.shape[1]
    weight = net.weight((filters, channels // group, kernel, kernel), bits=bits)
    x = net.conv(x, weight, strides=[stride] * 2, pads=[kernel // 2] * 4, group=group)
    x = net.batch_norm(x)
    return net.qdq(net.relu(x) if relu else x, "uint8" if relu else "int8")


def resnet_qdq(net):
    """Batch-normalized ResNet: the normalization stands between the
    convolution and the quantizer."""
    x = net.qdq(net.input((3, 8, 8)), "int8")
    x = qdq_conv_bn(net, x, 4)
    for filters, stride in ((4, 1), (6, 2)):
        y = qdq_conv_bn(net, x, filters, stride=stride)
        y = qdq_conv_bn(net, y, filters, relu=False)
        short = x if stride == 1 else qdq_conv_bn(net, x, filters, 1, stride, relu=False)
        x = net.qdq(net.relu(net.binary("Add", y, short)))
    x = net.qdq(net.global_average(x))
    x = net.gemm(net.flatten(x), net.weight((5, 6)), net.bias(5), transB=1)
    net.output(net.qdq(x, "int8") if net.rng.random() < 0.5 else x)


def quant_conv_bn(net, x, filters, bits, kernel=3, stride=1, normalized=True, axis=0):
    weight = net.quant_weight((filters, x.array.shape[1], kernel, kernel), bits, axis)
    x = net.conv(x, weight, strides=[stride] * 2, pads=[kernel // 2] * 4)
    return net.batch_norm(x) if normalized else x


def resnet_qonnx(net):
    """As Brevitas trains it: both sides of a sum quantized alike, or not."""
    bits = net.rng.choice([2, 3, 4])
    x = net.quant(net.input((3, 8, 8)), 8)
    x = net.quant(net.relu(quant_conv_bn(net, x, 4, bits)), bits, signed=False)
    for filters, stride in ((4, 1), (6, 2)):
        y = quant_conv_bn(net, x, filters, bits, stride=stride)
        y = net.quant(net.relu(y), bits, signed=False)
        y = net.quant(quant_conv_bn(net, y, filters, bits), 4)
        short = x
        if stride > 1:
            short = net.quant(quant_conv_bn(net, x, filters, bits, 1, stride), 4)
        x = net.quant(net.relu(net.binary("Add", y, short)), bits + 1, signed=False)
    x = net.quant(net.global_average(x), 8, signed=False)
    x = net.flatten(x)
    net.output(net.gemm(x, net.quant_weight((5, 6), 4), net.bias(5), transB=1))


def resnet_classifier_pool(net):
    """Ends in an 8x8 MaxPool and a 1x1 convolution; biases are quantized."""
    x = net.quant(net.input((2, 8, 8)), 8)
    for filters in (4, 4):
        weight = net.quant_weight((filters, x.array.shape[1], 3, 3), 4, None)
        bias = net.quant(net.constant(net.numpy.normal(0, 0.2, filters).astype(F32)), 16)
        x = net.conv(x, weight, bias, pads=[1] * 4)
        x = net.quant(net.relu(net.quant(x, 8)), 8)
    x = net.quant(net.max_pool(x, 8, 8), 8)
    x = net.quant(net.conv(x, net.quant_weight((3, 4, 1, 1), 8, None)), 8)
    net.output(net.squeeze(x, [2, 3]) if net.rng.random() < 0.5 else x)


# MobileNets.

def mobilenet_v1(net):
    """Depthwise separable, ReLU6, asymmetric activations."""
    six = lambda x: net.qdq(net.clip(x, 0, 6))
    x = net.qdq(net.input((3, 9, 9), -1, 2))
    x = net.conv(x, net.weight((4, 3, 3, 3)), strides=[2, 2], pads=[1] * 4)
    x = six(net.batch_norm(x))
    for filters, stride in ((6, 1), (8, 2)):
        channels = x.array.shape[1]
        x = net.conv(x, net.weight((channels, 1, 3, 3)), group=channels,
                     strides=[stride] * 2, pads=[1] * 4)
        x = six(net.batch_norm(x))
        x = six(net.batch_norm(net.conv(x, net.weight((filters, channels, 1, 1)))))
    x = net.qdq(net.global_average(x))
    x = net.conv(x, net.weight((5, 8, 1, 1)), net.bias(5))
    net.output(net.flatten(net.qdq(x)))


def mobilenet_qonnx(net):
    bits = net.rng.choice([4, 5])
    x = net.quant(net.input((3, 8, 8)), 8)
    x = net.quant(net.relu(quant_conv_bn(net, x, 4, bits, stride=2)), bits, signed=False)
    for filters in (5, 6):
        channels = x.array.shape[1]
        weight = net.quant_weight((channels, 1, 3, 3), bits)
        x = net.batch_norm(net.conv(x, weight, group=channels, pads=[1] * 4))
        x = net.quant(net.clip(x, 0, 6), bits, signed=False)
        x = net.quant(net.relu(quant_conv_bn(net, x, filters, bits, 1)), bits, signed=False)
    x = net.quant(net.average_pool(x, 4, 4), 8, signed=False)
    x = net.matmul(net.flatten(x), net.quant_weight((6, 4), 4, 1))
    net.output(net.binary("Add", x, net.bias(4)))


# Networks of matrix products.

def mlp_per_channel(net):
    """Scales per channel of weights and activations, normalizations between."""
    x = net.quant(net.flatten(net.input((1, 4, 4))), 8)
    width = 16
    for outputs in (12, 8):
        if net.rng.random() < 0.5:
            x = net.gemm(x, net.quant_weight((outputs, width), 4), net.bias(outputs), transB=1)
        else:
            x = net.matmul(x, net.quant_weight((width, outputs), 4, 1))
        x, width = net.batch_norm(x), outputs
        x = net.quant(net.relu(x), 4, signed=False, axis=net.rng.choice([None, 1]))
    net.output(net.gemm(x, net.quant_weight((3, width), 4), net.bias(3), transB=1))


def mlp_qdq(net):
    x = net.qdq(net.flatten(net.input((2, 3, 3))), "int8")
    width = 18
    for outputs in (10, 7):
        x = net.matmul(x, net.weight((width, outputs), 1))
        x, width = net.binary("Add", x, net.bias(outputs)), outputs
        x = net.qdq(net.relu(x), axis=net.rng.choice([None, 1]))
    weight = net.transpose(net.weight((4, width)), 1, 0)
    net.output(net.qdq(net.matmul(x, weight), "int8"))


def binary_mlp(net):
    """One-bit weights and activations."""
    x = net.quant(net.flatten(net.input((1, 4, 4))), 8)
    width = 16
    for outputs in (12, 10):
        x = net.batch_norm(net.matmul(x, net.quant_weight((width, outputs), 1)))
        one = net.constant(F32(1))
        attrs = {}
        x = net.node("BipolarQuant", [x, one], ops.bipolar_quant(x.array, 1, attrs), attrs,
                     "onnx.brevitas")
        width = outputs
    net.output(net.batch_norm(net.matmul(x, net.quant_weight((width, 4), 1))))


# Brevitas.

def brevitas_cnv(net):
    """Odd bit widths, every rounding mode, a Trunc behind the average."""
    bits = net.rng.randint(2, 4)
    rounding = net.rng.choice(["ROUND", "FLOOR", "CEIL", "HALF_UP", "UP", "DOWN", "HALF_DOWN"])
    x = net.quant(net.input((2, 8, 8)), 8, rounding=rounding)
    for filters in (4, 6):
        x = quant_conv_bn(net, x, filters, bits, axis=net.rng.choice([None, 0]))
        x = net.quant(net.relu(x), bits, signed=False, narrow=net.rng.random() < 0.3,
                      rounding=rounding)
    scale = net.scale(x.array.max(), 2 ** bits - 1)
    x = net.quant_by(x, scale, bits + 1, signed=False)
    x = net.average_pool(net.max_pool(x), 2, 2)
    x = net.binary("Mul", x, net.constant(F32(4)))
    attrs = {"rounding_mode": "FLOOR"}
    inputs = [net.constant(F32(v)) for v in (scale, 0, bits + 3, bits + 1)]
    array = ops.trunc(x.array, *(v.array for v in inputs), attrs)
    x = net.node("Trunc", [x, *inputs], array, attrs, "qonnx.custom_op.general")
    x = net.matmul(net.flatten(x), net.quant_weight((24, 4), bits, None))
    net.output(net.quant(x, 8, rounding=rounding))


def brevitas_qcdq(net):
    """Fewer bits than the type has, by a Clip; weights quantized in the file."""
    x = net.qdq(net.input((2, 7, 7)), "int8")
    for filters in (4, 5):
        bits = net.rng.choice([2, 3, 4])
        limit = 2 ** (bits - 1) - 1
        shape = (filters, x.array.shape[1], 3, 3)
        weight = net.constant(net.numpy.normal(0, 0.3, shape).astype(F32), "weight")
        weight = net.qdq(weight, "int8", (-limit, limit), net.rng.choice([None, 0]))
        x = net.conv(x, weight, net.bias(filters), pads=[1] * 4, strides=[2, 2])
        x = net.qdq(net.relu(x), "uint8", (0, 2 ** bits - 1))
    x = net.flatten(x)
    weight = net.weight((3, x.array.shape[1]), bits=4)
    net.output(net.gemm(x, weight, net.bias(3), transB=1))


# TensorFlow.

def tf2onnx_cnn(net):
    """Channels last outside, explicit Pads, means by ReduceMean, biases by Add."""
    x = net.input((8, 8, 3), -1, 1)
    x = net.qdq(net.transpose(x, 0, 3, 1, 2), "int8")
    x = net.pad(x, [0, 0, 0, 0, 0, 0, 1, 1])
    x = net.conv(x, net.weight((4, 3, 3, 3)), strides=[2, 2], pads=[0] * 4)
    bias = net.constant(net.bias(4).array.reshape(1, 4, 1, 1))
    x = net.qdq(net.clip(net.binary("Add", x, bias), 0, 6), "int8")
    x = net.conv(x, net.weight((4, 1, 3, 3)), group=4, auto_pad="SAME_UPPER", strides=[1, 1])
    zero, six = (net.constant(F32(value)) for value in (0, 6))
    x = net.qdq(net.binary("Min", net.binary("Max", x, zero), six), "int8")
    x = net.transpose(x, 0, 2, 3, 1)
    x = net.qdq(net.reduce_mean(x, [1, 2], False), "int8")
    x = net.matmul(x, net.weight((4, 3), 1))
    net.output(net.qdq(net.binary("Add", x, net.bias(3)), "int8"))


# U-Nets.

def unet(net):
    """Skips by Concat; up by Resize or ConvTranspose."""
    kind = net.rng.choice(["uint8", "int8"])
    block = lambda x, filters: net.qdq(net.relu(net.batch_norm(net.conv(
        x, net.weight((filters, x.array.shape[1], 3, 3)), pads=[1] * 4))), kind)
    first = block(net.qdq(net.input((2, 8, 8)), "int8"), 3)
    second = block(net.max_pool(first), 4)
    x = block(net.max_pool(second), 5)
    for skip, filters in ((second, 4), (first, 3)):
        if net.rng.random() < 0.5:
            weight = net.weight((x.array.shape[1], filters, 2, 2), 1)
            x = net.qdq(net.conv_transpose(x, weight, net.bias(filters), strides=[2, 2]), kind)
        else:
            x = net.upsample(x)
        x = net.concat([x, skip])
        if not net.dyadic or net.rng.random() < 0.5:
            x = net.qdq(x, kind)
        x = block(x, filters)
    x = net.conv(x, net.weight((2, 3, 1, 1)), net.bias(2))
    net.output(net.qdq(x, "int8") if net.rng.random() < 0.5 else net.qdq(
        net.node("Sigmoid", [x], ops.sigmoid(x.array, {})), "uint8"))


def unet_qonnx(net):
    bits = net.rng.choice([3, 4])
    block = lambda x, filters: net.quant(net.relu(quant_conv_bn(net, x, filters, bits)), bits,
                                         signed=False)
    first = block(net.quant(net.input((2, 8, 8)), 8), 3)
    second = block(net.max_pool(first), 4)
    x = net.quant(net.concat([net.upsample(second), first]), bits, signed=False)
    x = block(x, 3)
    weight = net.quant_weight((3, 2, 2, 2), bits, None)
    net.output(net.quant(net.conv_transpose(x, weight, strides=[2, 2]), 8))


# Operators on integers.

def qlinear_conv(net, x, filters, kernel=3, stride=1, group=1):
    channels, attrs = x.array.shape[1], {"kernel_shape": [kernel] * 2, "strides": [stride] * 2,
                                         "pads": [kernel // 2] * 4, "group": group}
    w = net.weight_integers((filters, channels // group, kernel, kernel), 0,
                            kind=net.rng.choice(["int8", "uint8"]),
                            per_channel=net.rng.random() < 0.5)
    bias = net.numpy.integers(-200, 200, filters).astype(np.int32)
    unit = np.float64(x.scale.array) * np.float64(w.scale.array)
    real = ops.conv(x.real(), ops.dequantize_linear(w.array, w.scale.array, w.zero.array, 0),
                    (bias * unit).astype(F32), attrs)
    net.multiplies(real, np.prod(w.array.shape[1:]))
    inputs = [*x.arguments(), *w.arguments(), None, net.constant(bias, "bias")]
    return net.requantized("QLinearConv", inputs, real, "", attrs)


def qlinear_unary(net, x, op_type, real, attrs=None):
    return net.requantized(op_type, [*x.arguments(), None], real, attrs=attrs)


def qlinear_binary(net, x, y, op_type):
    real = ops.binary(op_type, x.real(), y.real())
    return net.requantized("QLinear" + op_type, [*x.arguments(), *y.arguments(), None], real)


def qgemm(net, x, outputs):
    w = net.weight_integers((x.array.shape[1], outputs), 1)
    bias = net.numpy.integers(-200, 200, outputs).astype(np.int32)
    unit = np.float64(x.scale.array) * np.float64(w.scale.array)
    weight = ops.dequantize_linear(w.array, w.scale.array, w.zero.array, 1)
    real = ops.gemm(x.real(), weight, (bias * unit).astype(F32), {})
    net.multiplies(real, x.array.shape[1])
    inputs = [*x.arguments(), *w.arguments(), net.constant(bias, "bias"), None]
    return net.requantized("QGemm", inputs, real, attrs={"alpha": 1.0, "transA": 0, "transB": 0})


def on_integers(q, value):
    """Integers that only moved."""
    return Integers(value.name, value.array, q.scale, q.zero)


def qoperator(net):
    """What ONNX Runtime's quantizer writes in its format of operators."""
    x = net.quantize(net.input((2, 8, 8)))
    x = qlinear_conv(net, x, 4)
    y = qlinear_conv(net, x, 4, group=net.rng.choice([1, 4]))
    x = qlinear_binary(net, x, y, "Add")
    attrs = {"kernel_shape": [2, 2], "strides": [2, 2]}
    x = on_integers(x, net.node("MaxPool", [x], ops.max_pool(x.array, attrs), attrs))
    x = qlinear_conv(net, x, 4, 1)
    leaky = ops.leaky_relu(x.real(), {"alpha": 0.1})
    y = qlinear_unary(net, x, "QLinearLeakyRelu", leaky, {"alpha": 0.1})
    parts = [*x.arguments(), *y.arguments()]
    real = np.concatenate([x.real(), y.real()], 1)
    x = net.requantized("QLinearConcat", [None, *parts], real, attrs={"axis": 1})
    real = ops.global_average_pool(x.real(), {})
    x = qlinear_unary(net, x, "QLinearGlobalAveragePool", real, {"channels_last": 0})
    x = qgemm(net, on_integers(x, net.flatten(x)), 5)
    net.output(net.dequantize(x))


def qoperator_plain(net):
    """Operators of ONNX alone."""
    x = net.quantize(net.input((2, 6, 6)))
    x = qlinear_conv(net, x, 3, stride=2)
    x = qlinear_conv(net, x, 3, 1)
    x = on_integers(x, net.flatten(x))
    w = net.weight_integers((27, 4), 1, per_channel=False)
    real = ops.matmul(x.real(), w.real(), {})
    net.multiplies(real, 27)
    x = net.requantized("QLinearMatMul", [*x.arguments(), *w.arguments(), None], real, "")
    net.output(net.dequantize(x))


# ONNX Runtime's static quantization in QDQ form.

def static_conv(net, x, filters, kernel=3, stride=1, group=1):
    """Bias in int32 with the scale of the products; asymmetric int8 without a Relu,
    which the range of the integers stands for."""
    channels = x.array.shape[1]
    w = net.weight_integers((filters, channels // group, kernel, kernel), 0)
    y = net.conv(x, net.dequantize(w, 0), net.integer_bias(x, w, filters), group=group,
                 strides=[stride] * 2, pads=[kernel // 2] * 4)
    return net.asymmetric(y, floor=0.0 if net.rng.random() < 0.6 else None)


def static_qdq(net):
    x = net.asymmetric(net.input((3, 8, 8)))
    x = static_conv(net, x, 4, stride=2)
    y = static_conv(net, x, 4)
    x = net.asymmetric(net.binary("Add", x, y), floor=0.0)
    x = net.asymmetric(net.max_pool(x, 3, 2, 1))
    x = static_conv(net, x, 6, 1)
    x = net.asymmetric(net.flatten(net.average_pool(x, 2, 2)))
    w = net.weight_integers((5, 6), 0)
    x = net.gemm(x, net.dequantize(w, 0), net.integer_bias(x, w, 5), transB=1)
    net.output(net.asymmetric(x))


def mobilenet_v3(net):
    """HardSwish, and squeeze and excitation by HardSigmoid."""
    swish = lambda x: net.qdq(net.node("HardSwish", [x], ops.hard_swish(x.array, {})), "int8")
    x = net.qdq(net.input((2, 8, 8)), "int8")
    x = swish(net.batch_norm(net.conv(x, net.weight((4, 2, 3, 3)), strides=[2, 2], pads=[1] * 4)))
    y = net.qdq(net.global_average(x), "int8")
    y = net.qdq(net.relu(net.conv(y, net.weight((2, 4, 1, 1)), net.bias(2))))
    y = net.conv(y, net.weight((4, 2, 1, 1)), net.bias(4))
    attrs = {"alpha": 0.25 if net.dyadic else 1 / 6}
    y = net.qdq(net.node("HardSigmoid", [y], ops.hard_sigmoid(y.array, attrs), attrs))
    x = net.qdq(net.binary("Mul", x, y), "int8")
    x = swish(net.conv(x, net.weight((5, 4, 1, 1)), net.bias(5)))
    net.output(net.flatten(net.qdq(net.global_average(x), "int8")))


# Elements on the move.

def shufflenet(net):
    """Halves of the channels, one of them through convolutions, then shuffled."""
    x = net.qdq(net.input((4, 6, 6)), "int8")
    for _ in range(2):
        left, right = net.split(x)
        right = net.qdq(net.relu(net.conv(right, net.weight((2, 1, 3, 3)), group=2,
                                          pads=[1] * 4)), "int8")
        right = net.qdq(net.conv(right, net.weight((2, 2, 1, 1)), net.bias(2)), "int8")
        x = net.qdq(net.concat([left, right]), "int8")
        x = net.reshape(x, 2, 2, 6, 6)
        x = net.reshape(net.transpose(x, 0, 2, 1, 3, 4), 4, 6, 6)
    net.output(net.qdq(net.reduce_mean(x, [2, 3], False), "int8"))


def super_resolution(net):
    x = net.qdq(net.input((1, 6, 6), 0, 1))
    slope = net.constant(net.numpy.choice([0.25, 0.125], (4, 1, 1)).astype(F32))
    x = net.conv(x, net.weight((4, 1, 3, 3)), net.bias(4), pads=[1] * 4)
    x = net.qdq(net.node("PRelu", [x, slope], ops.prelu(x.array, slope.array)), "int8")
    x = net.qdq(net.conv(x, net.weight((4, 4, 3, 3)), net.bias(4), pads=[1] * 4), "int8")
    mode = net.rng.choice(["DCR", "CRD"])
    array = ops.depth_to_space(x.array, 2, mode)
    net.output(net.node("DepthToSpace", [x], array, {"blocksize": 2, "mode": mode}))


# 4-bit types.

def int4_cnn(net):
    """Weights and activations of ONNX's 4-bit types."""
    x = net.qdq(net.input((2, 7, 7)), "int8")
    for filters in (4, 6):
        kind = net.rng.choice(["int4", "uint4"])
        weight = net.weight((filters, x.array.shape[1], 3, 3), bits=4, kind=kind)
        x = net.conv(x, weight, net.bias(filters), strides=[2, 2], pads=[1] * 4)
        x = net.qdq(net.relu(x), "uint4")
    x = net.flatten(net.qdq(net.average_pool(x, 2, 2), "int8"))
    net.output(net.gemm(x, net.weight((4, 6), bits=4, kind="int4"), net.bias(4), transB=1))


@dataclasses.dataclass
class Family:
    build: object
    opsets: tuple = (13, 21)
    is_standard: bool = True            # ONNX Runtime has its operators
    is_integer: bool = True             # with any scales
    is_simulated: bool = False          # those whose parts no other suite compiles


FAMILIES = {
    "resnet-qdq": Family(resnet_qdq),
    "resnet-qonnx": Family(resnet_qonnx, (9, 17), False),
    "resnet-classifier": Family(resnet_classifier_pool, (9, 17), False),
    "mobilenet-v1": Family(mobilenet_v1),
    "mobilenet-qonnx": Family(mobilenet_qonnx, (7, 17), False),
    "mlp-channels": Family(mlp_per_channel, (9, 17), False, False),
    "mlp-qdq": Family(mlp_qdq, is_integer=False),
    "mlp-binary": Family(binary_mlp, (9, 17), False),
    "brevitas-cnv": Family(brevitas_cnv, (9, 17), False),
    "brevitas-qcdq": Family(brevitas_qcdq, (13, 20)),
    "tf2onnx": Family(tf2onnx_cnn, (13, 20)),
    "unet": Family(unet, (13, 21)),
    "unet-qonnx": Family(unet_qonnx, (9, 18), False),
    "qoperator": Family(qoperator, (13, 20)),
    "qoperator-plain": Family(qoperator_plain, (10, 20)),
    "int4": Family(int4_cnn, (21, 21)),
    "static-qdq": Family(static_qdq),
    "mobilenet-v3": Family(mobilenet_v3, (14, 21)),
    "shufflenet": Family(shufflenet),
    "super-resolution": Family(super_resolution),
    "finn-tfc": Family(gen_finn.finn_tfc, (9, 24), False, is_simulated=True),
    "finn-cnv": Family(gen_finn.finn_cnv, (9, 24), False, is_simulated=True),
    "channels-last": Family(gen_finn.channels_last, (9, 22), False, False, True),
    "bipolar-input": Family(gen_finn.bipolar_input, (9, 22), False, is_simulated=True),
    "images-mlp": Family(gen_finn.several(mlp_qdq), (13, 25), is_integer=False),
    "images-cnn": Family(gen_finn.several(mobilenet_qonnx), (9, 17), False),
    "images-finn": Family(gen_finn.several(gen_finn.finn_tfc), (9, 22), False,
                          is_simulated=True),
}


def generate(seed, index):
    """The Case number `index` of `seed`; one whose outputs are all the same
    proves little and is drawn again."""
    kind = list(FAMILIES)[index % len(FAMILIES)]
    dyadic = (seed + index // len(FAMILIES)) % 2 == 0
    rng = random.Random(f"{seed}/{index}/network")
    family = FAMILIES[kind]
    while True:
        net = Network(f"{kind}-{index}", rng, rng.randint(*family.opsets), dyadic)
        family.build(net)
        if np.ptp(net.result.array) > 0:
            return Case(f"{kind}-{index}", net.encode(), net.source.array, net.result.array,
                        dyadic, len(net.file.graph["node"]), net.macs * net.images,
                        family.is_standard, family.is_integer or dyadic, net.flags,
                        net.batch if isinstance(net.batch, int) else 1,
                        family.is_simulated)
