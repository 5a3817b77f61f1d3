"""Random networks in QDQ form (QuantizeLinear, DequantizeLinear) with the
outputs that numpy gives them.

Scales are any floats, weights have a scale per output channel, activations
a zero point. A network is built around the values of its own input, so that
quantizers neither collapse nor always saturate. The reference computes each
sum in double precision from the dequantized values and rounds it to float32
once, as the operators are defined.
"""
import dataclasses
import random

import numpy as np

import onnx_file

F32 = np.float32


@dataclasses.dataclass
class Tensor:
    name: str
    value: np.ndarray                   # float32, (frames, channels, height, width)


def round_half_even(x):
    return np.rint(x)


class Network:
    def __init__(self, seed, frames=3):
        self.rng = random.Random(seed)
        self.numpy = np.random.default_rng(seed)
        self.frames = frames
        self.nodes, self.initializers, self.count = [], [], 0

    # Building.

    def fresh(self, kind):
        self.count += 1
        return f"{kind}_{self.count}"

    def constant(self, array):
        name = self.fresh("c")
        self.initializers.append(onnx_file.tensor_from_array(name, array))
        return name

    def node(self, op_type, inputs, **attributes):
        name = self.fresh(op_type)
        self.nodes.append({
            "op_type": op_type, "name": name, "input": inputs, "output": [name],
            "attribute": [onnx_file.attribute(key, value)
                          for key, value in attributes.items()]})
        return name

    # Quantization.

    def quantized(self, tensor):
        """The tensor after a QuantizeLinear and a DequantizeLinear."""
        signed = self.rng.random() < 0.5
        dtype, low, high = (np.int8, -128, 127) if signed else (np.uint8, 0, 255)
        largest = max(abs(float(tensor.value.min())), abs(float(tensor.value.max())), 1e-3)
        scale = F32(largest * self.rng.uniform(0.5, 1.1) / (127 if signed else 160))
        zero = self.rng.choice([0, 0, 3, -7]) if signed else self.rng.choice([0, 64, 127, 128])
        if not signed and tensor.value.min() >= 0:
            zero = 0
        parameters = [self.constant(np.array(scale, F32)), self.constant(np.array(zero, dtype))]
        name = self.node("QuantizeLinear", [tensor.name, *parameters])
        name = self.node("DequantizeLinear", [name, *parameters])
        quotient = (tensor.value / scale).astype(F32)
        q = np.clip(round_half_even(quotient) + zero, low, high) - zero
        return Tensor(name, (q.astype(np.float64) * np.float64(scale)).astype(F32))

    def weights(self, shape, axis):
        """A quantized constant with a scale per index of the axis; its floats."""
        bits = self.rng.choice([4, 8])
        limit = 2 ** (bits - 1) - 1
        q = self.numpy.integers(-limit, limit + 1, shape).astype(np.int8)
        scales = self.numpy.uniform(0.002, 0.05, shape[axis]).astype(F32)
        name = self.node("DequantizeLinear", [self.constant(q), self.constant(scales),
                                              self.constant(np.zeros(shape[axis], np.int8))],
                         axis=axis)
        spread = [1] * len(shape)
        spread[axis] = shape[axis]
        real = (q.astype(np.float64) * scales.astype(np.float64).reshape(spread)).astype(F32)
        return name, real

    # Layers on quantized tensors.

    def conv(self, tensor, depthwise=False):
        channels = tensor.value.shape[1]
        kernel, stride = self.rng.choice([1, 3]), self.rng.choice([1, 1, 2])
        pad = kernel // 2
        filters = channels if depthwise else self.rng.randint(2, 5)
        group = channels if depthwise else 1
        name, weight = self.weights((filters, channels // group, kernel, kernel), 0)
        bias = self.numpy.uniform(-0.5, 0.5, filters).astype(F32)
        out = self.node("Conv", [tensor.name, name, self.constant(bias)], group=group,
                        kernel_shape=[kernel, kernel], pads=[pad] * 4, strides=[stride, stride])
        x = np.pad(tensor.value.astype(np.float64), [(0, 0), (0, 0), (pad, pad), (pad, pad)])
        windows = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (2, 3))
        windows = windows[:, :, ::stride, ::stride]
        w = weight.astype(np.float64)
        if depthwise:
            total = np.einsum("nchwij,cij->nchw", windows, w[:, 0])
        else:
            total = np.einsum("nchwij,ocij->nohw", windows, w)
        return Tensor(out, (total + bias.reshape(1, -1, 1, 1)).astype(F32))

    def batch_norm(self, tensor):
        channels = tensor.value.shape[1]
        draw = lambda low, high: self.numpy.uniform(low, high, channels).astype(F32)
        scale, bias, mean, var = draw(-1, 1.5), draw(-1, 1), draw(-0.5, 0.5), draw(0.3, 2)
        name = self.node("BatchNormalization",
                         [tensor.name, *map(self.constant, (scale, bias, mean, var))],
                         epsilon=1e-5)
        wide = [a.astype(np.float64).reshape(1, -1, 1, 1) for a in (scale, bias, mean, var)]
        x = tensor.value.astype(np.float64)
        y = wide[0] * (x - wide[2]) / np.sqrt(wide[3] + np.float64(F32(1e-5))) + wide[1]
        return Tensor(name, y.astype(F32))

    def curve(self, tensor, op_type, y, **attributes):
        """An element-wise node with the values that y gives in double."""
        return Tensor(self.node(op_type, [tensor.name], **attributes), y.astype(F32))

    def activation(self, tensor):
        x = tensor.value.astype(np.float64)
        kind = self.rng.choice(["Relu", "LeakyRelu", "Clip", "Sigmoid", "HardSigmoid", "PRelu",
                                "Abs", "HardSwish", "Swish", "Elu"])
        if kind == "Relu":
            return self.curve(tensor, kind, np.maximum(x, 0))
        if kind == "LeakyRelu":
            alpha = self.rng.choice([0.1, -0.25])
            return self.curve(tensor, kind, np.where(x < 0, x * np.float64(F32(alpha)), x),
                              alpha=alpha)
        if kind == "Clip":
            bounds = [self.constant(np.array(value, F32)) for value in (0, 6)]
            return Tensor(self.node("Clip", [tensor.name, *bounds]),
                          np.clip(tensor.value, F32(0), F32(6)))
        if kind == "Sigmoid":
            return self.curve(tensor, kind, 1 / (1 + np.exp(-x)))
        if kind == "Abs":
            return self.curve(tensor, kind, np.abs(x))
        if kind == "HardSwish":
            return self.curve(tensor, kind, x * np.maximum(0, np.minimum(1, x * (1 / 6) + 0.5)))
        if kind == "Elu":
            return self.curve(tensor, kind, np.where(x < 0, np.expm1(x), x), alpha=1.0)
        if kind == "PRelu":
            slopes = self.numpy.uniform(-0.6, 0.6, (x.shape[1], 1, 1)).astype(F32)
            name = self.node("PRelu", [tensor.name, self.constant(slopes)])
            return Tensor(name, np.where(x < 0, x * slopes.astype(np.float64), x).astype(F32))
        if kind == "Swish":
            gate = self.curve(tensor, "Sigmoid", 1 / (1 + np.exp(-x)))
            name = self.node("Mul", [tensor.name, gate.name])
            return Tensor(name, (x * gate.value.astype(np.float64)).astype(F32))
        alpha, beta = np.float64(F32(0.2)), 0.5
        return self.curve(tensor, kind, np.maximum(0, np.minimum(1, alpha * x + beta)), alpha=0.2)

    def branch(self, tensor):
        """One that is quantized before it meets another one, or with their sum only."""
        other = self.pointwise(tensor)
        if self.rng.random() < 0.5:
            return self.quantized(other)
        return self.batch_norm(other) if self.rng.random() < 0.5 else other

    def residual(self, tensor):
        other = self.branch(tensor)
        return Tensor(self.node("Add", [tensor.name, other.name]), tensor.value + other.value)

    def pointwise(self, tensor):
        channels = tensor.value.shape[1]
        name, weight = self.weights((channels, channels, 1, 1), 0)
        out = self.node("Conv", [tensor.name, name], kernel_shape=[1, 1])
        total = np.einsum("nchw,oc->nohw", tensor.value.astype(np.float64),
                          weight[:, :, 0, 0].astype(np.float64))
        return Tensor(out, total.astype(F32))

    def concat(self, tensor):
        other = self.quantized(self.pointwise(tensor))
        return Tensor(self.node("Concat", [tensor.name, other.name], axis=1),
                      np.concatenate([tensor.value, other.value], 1))

    def max_pool(self, tensor):
        name = self.node("MaxPool", [tensor.name], kernel_shape=[2, 2], strides=[2, 2])
        n, c, h, w = tensor.value.shape
        cut = tensor.value[:, :, :h // 2 * 2, :w // 2 * 2]
        return Tensor(name, cut.reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5)))

    def average_pool(self, tensor):
        """Windows of 3 x 3 with a border, whose elements count or do not."""
        counts = self.rng.random() < 0.5
        name = self.node("AveragePool", [tensor.name], kernel_shape=[3, 3], pads=[1] * 4,
                         strides=[2, 2], count_include_pad=int(counts))
        def windows(array):
            padded = np.pad(array.astype(np.float64), [(0, 0), (0, 0), (1, 1), (1, 1)])
            view = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
            return view[:, :, ::2, ::2].sum((4, 5))
        terms = 9 if counts else windows(np.ones_like(tensor.value))
        return Tensor(name, (windows(tensor.value) / terms).astype(F32))

    def bordered(self, tensor):
        """A border of a number that is no multiple of the scale."""
        value = F32(self.rng.uniform(-1, 1))
        pads = self.constant(np.array([0, 0, 1, 0, 0, 0, 0, 2]))
        name = self.node("Pad", [tensor.name, pads, self.constant(np.array(value))])
        return Tensor(name, np.pad(tensor.value, [(0, 0), (0, 0), (1, 0), (0, 2)],
                                   constant_values=value))

    def average(self, tensor):
        name = self.node("GlobalAveragePool", [tensor.name])
        mean = tensor.value.astype(np.float64).mean((2, 3), keepdims=True)
        return Tensor(name, mean.astype(F32))

    def upsample(self, tensor):
        """Twice as many rows and columns, repeated or interpolated."""
        sizes = self.constant(np.array([1, 1, 2, 2], F32))
        empty = self.constant(np.zeros(0, F32))
        if self.rng.random() < 0.5:
            name = self.node("Resize", [tensor.name, empty, sizes], mode="nearest",
                             coordinate_transformation_mode="asymmetric", nearest_mode="floor")
            return Tensor(name, tensor.value.repeat(2, 2).repeat(2, 3))
        name = self.node("Resize", [tensor.name, empty, sizes], mode="linear")
        x = tensor.value.astype(np.float64)
        for axis in (2, 3):
            at = (np.arange(2 * x.shape[axis]) + 0.5) / 2 - 0.5
            low, rest = np.floor(at).astype(int), at - np.floor(at)
            shape = [1, 1, 1, 1]
            shape[axis] = -1
            rest = rest.reshape(shape)
            last = x.shape[axis] - 1
            x = (x.take(np.clip(low, 0, last), axis) * (1 - rest) +
                 x.take(np.clip(low + 1, 0, last), axis) * rest)
        return Tensor(name, x.astype(F32))

    def transposed(self, tensor):
        n, channels, height, width = tensor.value.shape
        filters = self.rng.randint(2, 4)
        name, weight = self.weights((channels, filters, 2, 2), 1)
        out = self.node("ConvTranspose", [tensor.name, name], kernel_shape=[2, 2], strides=[2, 2])
        parts = np.einsum("nchw,cfij->nfhiwj", tensor.value.astype(np.float64),
                          weight.astype(np.float64))
        return Tensor(out, parts.reshape(n, filters, 2 * height, 2 * width).astype(F32))

    def classifier(self, tensor):
        flat = tensor.value.reshape(self.frames, -1)
        name = self.node("Flatten", [tensor.name])
        outputs = self.rng.randint(2, 6)
        weight_name, weight = self.weights((outputs, flat.shape[1]), 0)
        bias = self.numpy.uniform(-1, 1, outputs).astype(F32)
        alpha, beta = self.rng.choice([(1.0, 1.0), (0.5, 2.0), (-0.75, 0.25)])
        out = self.node("Gemm", [name, weight_name, self.constant(bias)], transB=1, alpha=alpha,
                        beta=beta)
        total = alpha * (flat.astype(np.float64) @ weight.astype(np.float64).T) + beta * bias
        return Tensor(out, total.astype(F32))

    # Networks.

    def layer(self, tensor):
        small = tensor.value.shape[2] < 4
        kind = self.rng.choice(["conv", "conv", "conv", "depthwise", "residual", "concat", "pool",
                                "average", "border", "up", "transposed", "activation"])
        if kind == "residual":
            result = self.residual(tensor)
            return self.activation(result) if self.rng.random() < 0.4 else result
        if kind == "concat":
            return self.concat(tensor)
        if kind == "pool" and not small:
            return self.max_pool(tensor)
        if kind == "average" and not small:
            return self.average_pool(tensor)
        if kind == "border":
            return self.bordered(tensor)
        if kind == "activation":
            return self.activation(tensor)
        if kind == "up" and tensor.value.shape[2] < 9:
            return self.upsample(tensor)
        if kind == "transposed" and tensor.value.shape[2] < 9:
            return self.transposed(tensor)
        result = self.conv(tensor, kind == "depthwise")
        if self.rng.random() < 0.6:
            result = self.batch_norm(result)
        if self.rng.random() < 0.7:
            result = self.activation(result)
        if self.rng.random() < 0.2 and result.value.shape[2] > 3:
            result = self.max_pool(result)
        return result

    def build(self):
        shape = (1, self.rng.randint(1, 4), self.rng.randint(5, 9), self.rng.randint(5, 9))
        x = self.numpy.uniform(-2, 2, (self.frames, *shape[1:])).astype(F32)
        tensor = self.quantized(Tensor("x", x))
        for _ in range(self.rng.randint(2, 5)):
            tensor = self.quantized(self.layer(tensor))
        if self.rng.random() < 0.7:
            tensor = self.quantized(self.average(tensor))
        if self.rng.random() < 0.7:
            tensor = self.quantized(self.classifier(tensor))
        return x, tensor.value, self.model(shape, tensor)

    def model(self, shape, result):
        def value(name, dims):
            return {"name": name, "type": {"tensor_type": {
                "elem_type": onnx_file.FLOAT,
                "shape": {"dim": [{"dim_value": dim} for dim in dims]}}}}
        graph = {"name": "qdq", "node": self.nodes, "initializer": self.initializers,
                 "input": [value("x", shape)],
                 "output": [value(result.name, (1, *result.value.shape[1:]))]}
        return onnx_file.encode("Model", {"ir_version": 8, "graph": graph,
                                          "opset_import": [{"domain": "", "version": 13}]})


def generate(seed):
    """(input, expected output, bytes of the model)"""
    return Network(seed).build()
