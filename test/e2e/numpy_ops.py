"""What ONNX, QONNX and ONNX Runtime's operators mean, in numpy.

Each function takes arrays and a dict of attributes and shares nothing with the
compiler. It computes in double precision and rounds each result once to the
element type, which is how the reference interpreter is defined; integers are
exact.
"""
import itertools

import numpy as np

import reference

F32, F64 = np.float32, np.float64
INTEGER_TYPES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767),
                 "uint16": (0, 65535), "int4": (-8, 7), "uint4": (0, 15),
                 "int32": (-2**31, 2**31 - 1)}


def wide(x):
    return np.asarray(x, F64)


def along(values, axis, rank):
    """A vector in the shape in which it broadcasts along one axis."""
    values = np.asarray(values)
    if values.size == 1:
        return values.reshape(())
    shape = [1] * rank
    shape[axis] = values.size
    return values.reshape(shape)


# Quantizers.

def quantize_linear(x, scale, zero, axis=1, kind=None):
    """Integers as int64; `kind` is the element type where numpy lacks it."""
    low, high = INTEGER_TYPES[kind or str(zero.dtype)]
    quotient = (x / along(scale, axis, x.ndim)).astype(F32)
    steps = np.rint(wide(quotient)) + wide(along(zero, axis, x.ndim))
    return np.clip(steps, low, high).astype(np.int64)


def dequantize_linear(q, scale, zero, axis=1):
    q, rank = wide(q), np.ndim(q)
    return ((q - wide(along(zero, axis, rank))) * wide(along(scale, axis, rank))).astype(F32)


def quant(x, scale, zero, bits, attrs):
    """The quotient is of float32, as QONNX computes it."""
    scale = wide(scale)
    if attrs["signed"] and bits == 1:
        return bipolar_quant(x, scale, attrs)
    low, high = reference.int_range(bits, attrs["signed"], attrs["narrow"])
    steps = np.clip(wide((wide(x) / scale).astype(F32)) + zero, low, high)
    return ((reference.ROUNDINGS[attrs["rounding_mode"]](steps) - zero) * scale).astype(F32)


def bipolar_quant(x, scale, _attrs):
    return (np.where(x >= 0, 1.0, -1.0) * wide(scale)).astype(F32)


def trunc(x, scale, zero, in_bits, out_bits, attrs):
    """Five inputs, as Brevitas writes it: the scale stays."""
    steps = np.rint(wide(x) / wide(scale) + wide(zero)) / 2.0 ** (wide(in_bits) - wide(out_bits))
    steps = reference.ROUNDINGS[attrs["rounding_mode"]](steps)
    return ((steps - wide(zero)) * wide(scale)).astype(F32)


def multi_threshold(x, thresholds, attrs):
    axis = -1 if attrs.get("data_layout", "NCHW").endswith("C") else min(1, x.ndim - 1)
    moved = np.moveaxis(x, axis, -1)
    count = (moved[..., None] >= thresholds).sum(-1)
    y = attrs.get("out_scale", 1.0) * count + attrs.get("out_bias", 0.0)
    return np.moveaxis(y, -1, axis).astype(F32)


# Sums of products.

def conv(x, w, b, attrs):
    return reference.conv(x, wide(w), None if b is None else wide(b), attrs).astype(F32)


def conv_transpose(x, w, b, attrs):
    """Two spatial dimensions."""
    strides, pads = attrs.get("strides", [1, 1]), attrs.get("pads", [0] * 4)
    steps, more = attrs.get("dilations", [1, 1]), attrs.get("output_padding", [0, 0])
    group, (rows, cols) = attrs.get("group", 1), w.shape[2:]
    last = [(size - 1) * stride + 1 for size, stride in zip(x.shape[2:], strides)]
    height = last[0] + (rows - 1) * steps[0] + more[0]
    width = last[1] + (cols - 1) * steps[1] + more[1]
    parts = []
    for xs, ws in zip(np.split(wide(x), group, 1), np.split(wide(w), group)):
        y = np.zeros((x.shape[0], w.shape[1], height, width))
        for i, j in itertools.product(range(rows), range(cols)):
            top, left = i * steps[0], j * steps[1]
            y[:, :, top:top + last[0]:strides[0], left:left + last[1]:strides[1]] += \
                np.einsum("nchw,cf->nfhw", xs, ws[:, :, i, j])
        parts.append(y)
    y = np.concatenate(parts, 1)[:, :, pads[0]:height - pads[2], pads[1]:width - pads[3]]
    return (y if b is None else y + wide(b).reshape(1, -1, 1, 1)).astype(F32)


def gemm(a, b, c, attrs):
    a = wide(a).T if attrs.get("transA") else wide(a)
    b = wide(b).T if attrs.get("transB") else wide(b)
    y = wide(F32(attrs.get("alpha", 1.0))) * (a @ b)
    return (y if c is None else y + wide(F32(attrs.get("beta", 1.0))) * wide(c)).astype(F32)


def matmul(a, b, _attrs):
    return (wide(a) @ wide(b)).astype(F32)


# Windows.

def windows(x, attrs, fill):
    """The values under each window as two last dimensions."""
    kernel, strides = attrs["kernel_shape"], attrs.get("strides", [1, 1])
    pads = reference.conv_pads(attrs, x.shape[2:], kernel, strides)
    x = np.pad(wide(x), [(0, 0), (0, 0), *pads], constant_values=fill)
    views = np.lib.stride_tricks.sliding_window_view(x, kernel, (2, 3))
    return views[:, :, ::strides[0], ::strides[1]]


def max_pool(x, attrs):
    return windows(x, attrs, -np.inf).max((-2, -1)).astype(x.dtype)


def average_pool(x, attrs):
    total = windows(x, attrs, 0).sum((-2, -1))
    ones = np.ones_like(wide(x))
    count = windows(ones, attrs, 1 if attrs.get("count_include_pad") else 0).sum((-2, -1))
    return (total / count).astype(F32)


def global_average_pool(x, _attrs):
    return wide(x).mean((2, 3), keepdims=True).astype(F32)


def reduce_mean(x, axes, keep):
    return wide(x).mean(tuple(axes), keepdims=keep).astype(F32)


# Element by element.

def batch_normalization(x, scale, bias, mean, var, attrs):
    scale, bias, mean, var = (along(wide(a), 1, x.ndim) for a in (scale, bias, mean, var))
    root = np.sqrt(var + wide(F32(attrs.get("epsilon", 1e-5))))
    return (scale * (wide(x) - mean) / root + bias).astype(F32)


def leaky_relu(x, attrs):
    return np.where(x < 0, (wide(x) * wide(F32(attrs.get("alpha", 0.01)))).astype(F32), x)


def sigmoid(x, _attrs):
    return (1 / (1 + np.exp(-wide(x)))).astype(F32)


def prelu(x, slope):
    return np.where(x < 0, (wide(x) * wide(slope)).astype(F32), x)


def hard_sigmoid(x, attrs):
    alpha, beta = wide(F32(attrs.get("alpha", 0.2))), wide(F32(attrs.get("beta", 0.5)))
    return np.clip(alpha * wide(x) + beta, 0, 1).astype(F32)


def hard_swish(x, _attrs):
    return (wide(x) * np.clip(wide(x) / 6 + 0.5, 0, 1)).astype(F32)


def space_to_depth(x, size):
    n, c, h, w = x.shape
    parts = x.reshape(n, c, h // size, size, w // size, size).transpose(0, 3, 5, 1, 2, 4)
    return parts.reshape(n, c * size * size, h // size, w // size)


def depth_to_space(x, size, mode):
    n, channels, height, width = x.shape
    inner = channels // size ** 2
    if mode == "DCR":
        parts = x.reshape(n, size, size, inner, height, width).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = x.reshape(n, inner, size, size, height, width).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, inner, height * size, width * size)


def resize_nearest(x, factor):
    return x.repeat(factor, 2).repeat(factor, 3)


BINARY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide,
          "Min": np.minimum, "Max": np.maximum}


def binary(op_type, a, b):
    return BINARY[op_type](wide(a), wide(b)).astype(F32)
