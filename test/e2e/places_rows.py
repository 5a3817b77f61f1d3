"""The rows of places_check.py: each operator and quantizer form with the numpy
function that it must equal.

A row's `build` gets a Graph, takes its operands from `g.source` or `g.feed`, and
returns the row's results.
"""
import dataclasses
import itertools
import math

import numpy as np

from places_graph import (CHANNELS_LAST, F32, F64, FRAMES, HALVES, I64, LIMITS, MICROSOFT, NUMBERS,
                          PLACES, QONNX, QUANT_LAST, ROUNDINGS, SUM_LAST, INPUT, quantize)


@dataclasses.dataclass
class Row:
    """`exact`: results are the same in every order of summation; `places`: where the row's
    nodes can stand; `operators`: those of the table that it covers; `integers`: whether the
    design must have no floating-point arithmetic."""
    name: str
    build: object
    operators: tuple
    exact: bool = False
    places: tuple = PLACES
    integers: bool = False


ROWS = []
ALONE = ("alone",)
POSITIVE = {"low": 0.25}


def add(name, build, *operators, exact=False, places=PLACES, integers=False):
    ROWS.append(Row(name, build, operators or (name.split("-")[0],), exact, places, integers))


# Element by element, one operand.

def unary(name, function, title=None, attrs=None, exact=False, domain="", **source):
    add(title or name, lambda g: g.op(name, [g.source(**source)], function, attrs, domain), name,
        exact=exact)


ERF = np.vectorize(math.erf, otypes=[F64])
sigmoid = lambda x: 1 / (1 + np.exp(-x))
leaky = lambda x, alpha: np.where(x < 0, alpha * x, x)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def add_unary():
    for name, function in (("Abs", np.abs), ("Neg", np.negative), ("Sign", np.sign),
                           ("Relu", lambda x: np.maximum(x, 0)), ("Ceil", np.ceil),
                           ("Floor", np.floor), ("Round", np.rint), ("Identity", lambda x: x)):
        unary(name, function, exact=True)
    for name, function in (("Sqrt", np.sqrt), ("Log", np.log), ("Reciprocal", lambda x: 1 / x)):
        unary(name, function, **POSITIVE)
    for name, function in (
            ("Exp", np.exp), ("Erf", ERF), ("Sigmoid", sigmoid), ("Tanh", np.tanh),
            ("Softplus", lambda x: np.log1p(np.exp(x))), ("Softsign", lambda x: x / (1 + np.abs(x))),
            ("HardSwish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
            ("Elu", lambda x: np.where(x < 0, np.expm1(x), x)),
            ("Selu", lambda x: F64(F32(1.05070102)) * np.where(
                x <= 0, F64(F32(1.67326319)) * np.expm1(x), x))):
        unary(name, function)
    unary("HardSigmoid", lambda x: np.clip(x * F64(F32(0.2)) + 0.5, 0, 1))
    unary("HardSigmoid", lambda x: np.clip(x * 0.25 + 0.5, 0, 1), "HardSigmoid-quarter",
          {"alpha": 0.25, "beta": 0.5}, True)
    unary("LeakyRelu", lambda x: leaky(x, F64(F32(0.01))))
    unary("LeakyRelu", lambda x: leaky(x, 0.25), "LeakyRelu-quarter", {"alpha": 0.25}, True)
    unary("LeakyRelu", lambda x: leaky(x, -0.5), "LeakyRelu-negative", {"alpha": -0.5}, True)
    unary("Elu", lambda x: np.where(x < 0, 0.5 * np.expm1(x), x), "Elu-half", {"alpha": 0.5})
    for domain in ("", MICROSOFT):
        unary("Gelu", lambda x: x / 2 * (1 + ERF(x / np.sqrt(2))),
              "Gelu" + "-microsoft" * bool(domain), domain=domain)
    unary("Gelu", lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3))),
          "Gelu-tanh", {"approximate": "tanh"})
    for axis in (1, -1):
        unary("Softmax", lambda x, axis=axis: softmax(x, axis), f"Softmax{axis}", {"axis": axis})
        unary("LogSoftmax", lambda x, axis=axis: np.log(softmax(x, axis)), f"LogSoftmax{axis}",
              {"axis": axis})
    add("Dropout", lambda g: g.op("Dropout", [g.source()], lambda x: x), exact=True)
    add("Dropout-mask", lambda g: g.op("Dropout", [g.source()],
                                       lambda x: (x, np.ones(x.shape, bool)),
                                       dtype=(F32, np.bool_), outputs=2), exact=True)
    for low, high in ((-1.0, 2.0), (None, 1.5), (0.0, None), (0.0, 6.0)):
        def clip(g, low=low, high=high):
            bounds = [None if b is None else g.f32(b) for b in (low, high)]
            return g.op("Clip", [g.source(), *bounds], lambda x, *_: np.clip(x, low, high))
        add(f"Clip[{low},{high}]", clip, "Clip", exact=True)
    for to, dtype in ((11, F64), (6, np.int32), (7, I64), (3, np.int8), (9, np.bool_)):
        add(f"Cast-to-{np.dtype(dtype)}", lambda g, to=to, dtype=dtype: g.op(
            "Cast", [g.source()], lambda x: x, {"to": to}, dtype=dtype), "Cast", exact=True)


# Element by element, several operands.

BINARY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide,
          "Min": np.minimum, "Max": np.maximum}
COMPARE = {"Equal": np.equal, "Less": np.less, "LessOrEqual": np.less_equal,
           "Greater": np.greater, "GreaterOrEqual": np.greater_equal}
LOGICAL = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}


def add_binary():
    for name, function in BINARY.items():
        low = 0.25 if name == "Div" else -4.0
        add(f"{name}-two", lambda g, n=name, f=function, low=low: g.op(
            n, [g.source(), g.source(low=low)], f), name, exact=name != "Div")
        for what, shape in (("scalar", ()), ("channels", (3, 1, 1)), ("tensor", (1, 3, 4, 4))):
            def with_constant(g, n=name, f=function, shape=shape):
                steps = g.numpy.integers(-12, 13, shape)
                c = F32(2.0) ** (steps % 4) if n == "Div" else F32(steps / 4)
                return g.op(n, [g.source(), g.f32(c)], f)
            add(f"{name}-{what}", with_constant, name, exact=True)
    for name, function in (("Sub", np.subtract), ("Div", np.divide)):
        add(f"{name}-from-constant", lambda g, n=name, f=function: g.op(
            n, [g.f32(1.5), g.source(**POSITIVE)], f), name, exact=name == "Sub")
    add("Div-odd", lambda g: g.op("Div", [g.source(), g.f32([[[3.0]], [[0.7]], [[1.1]]])],
                                  lambda x, _: x / F64(F32([[[3.0]], [[0.7]], [[1.1]]]))), "Div")
    add("Mul-same", lambda g: (lambda x: g.op("Mul", [x, x], np.multiply))(g.source()), "Mul",
        exact=True)
    add("Add-broadcast", lambda g: g.op("Add", [g.source((1, 3, 4, 4)), g.source((1, 3, 1, 1))],
                                        np.add), "Add", exact=True)
    add("Mul-broadcast", lambda g: g.op("Mul", [g.source((1, 3, 4, 4)), g.source((1, 3, 1, 1))],
                                        np.multiply), "Mul", exact=True)
    for name, function in COMPARE.items():
        add(f"{name}-two", lambda g, n=name, f=function: g.op(
            n, [g.source(), g.source()], f, dtype=np.bool_), name, exact=True)
        add(f"{name}-constant", lambda g, n=name, f=function: g.op(
            n, [g.source(), g.f32(0.5)], f, dtype=np.bool_), name, exact=True)
    for name, function in LOGICAL.items():
        def logical(g, n=name, f=function):
            a = g.op("Greater", [g.source(), g.f32(0.25)], np.greater, dtype=np.bool_)
            b = g.op("Less", [g.source(), g.f32(1)], np.less, dtype=np.bool_)
            return g.op(n, [a, b], f)
        add(name, logical, exact=True)
    add("Not", lambda g: g.op("Not", [g.op("Greater", [g.source(), g.f32(0.25)], np.greater,
                                           dtype=np.bool_)], np.logical_not), exact=True)
    add("Mod-fmod", lambda g: g.op("Mod", [g.source(), g.f32(1.5)], np.fmod, {"fmod": 1}), "Mod",
        exact=True)
    for power in (2.0, 0.5, 3.0, -1.0):
        add(f"Pow-{power}", lambda g, p=power: g.op("Pow", [g.source(**POSITIVE), g.f32(p)],
                                                    np.power), "Pow")
    for name, function in (("Sum", lambda *x: sum(x)), ("Mean", lambda *x: sum(x) / len(x)),
                           ("Min", lambda *x: np.minimum.reduce(x)),
                           ("Max", lambda *x: np.maximum.reduce(x))):
        for count in (1, 2, 3):
            add(f"{name}-of-{count}", lambda g, n=name, f=function, c=count: g.op(
                n, [g.source() for _ in range(c)], f), name, exact=name != "Mean" or count < 3)
    def where(g):
        x, y = g.source(), g.source()
        c = g.op("Greater", [x, g.f32(0.5)], np.greater, dtype=np.bool_)
        return g.op("Where", [c, x, y], np.where, dtype=F32)
    add("Where", where, exact=True)
    def where_constant(g):
        x = g.source()
        c = g.op("Less", [x, g.f32(0.5)], np.less, dtype=np.bool_)
        return g.op("Where", [c, x, g.f32(-1.25)], np.where, dtype=F32)
    add("Where-constant", where_constant, "Where", exact=True)
    for what, shape in (("scalar", (1,)), ("channels", (3, 1, 1))):
        add(f"PRelu-{what}", lambda g, s=shape: g.op(
            "PRelu", [g.source(), g.f32(g.numpy.choice([0.25, -0.5, 0.125], s))],
            lambda x, a: np.where(x < 0, a * x, x)), "PRelu", exact=True)
    add("Swish", lambda g: (lambda x: g.op("Mul", [x, g.op("Sigmoid", [x], sigmoid)],
                                           np.multiply))(g.source()), "Mul", "Sigmoid")


# Products.

def convolve(x, w, b=None, stride=1, pad=0, dilation=1, group=1):
    """By every tap of the kernel; x is (1, C, H, W)."""
    x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    rows, cols = ((n - (k - 1) * dilation - 1) // stride + 1
                  for n, k in zip(x.shape[2:], w.shape[2:]))
    out = np.zeros((1, w.shape[0], rows, cols), x.dtype if x.dtype != F32 else F64)
    per_group, inner = w.shape[0] // group, w.shape[1]
    for m, i, j in itertools.product(range(w.shape[0]), range(rows), range(cols)):
        first = m // per_group * inner
        window = x[0, first:first + inner, i * stride:, j * stride:]
        window = window[:, :(w.shape[2] - 1) * dilation + 1:dilation,
                        :(w.shape[3] - 1) * dilation + 1:dilation]
        out[0, m, i, j] = (window * w[m]).sum()
    return out if b is None else out + b.reshape(1, -1, 1, 1)


def transposed(x, w, stride=1, pad=0):
    kernel = w.shape[2]
    size = (x.shape[2] - 1) * stride + kernel
    out = np.zeros((1, w.shape[1], size, size))
    for c, m, i, j in itertools.product(range(w.shape[0]), range(w.shape[1]),
                                        range(x.shape[2]), range(x.shape[3])):
        out[0, m, i * stride:i * stride + kernel, j * stride:j * stride + kernel] += \
            x[0, c, i, j] * w[c, m]
    return out[:, :, pad:size - pad, pad:size - pad]


def add_products():
    for what, options, inner in (
            ("", {"pad": 1}, 3), ("stride", {"stride": 2}, 3), ("depthwise", {"group": 3}, 1),
            ("dilated", {"pad": 2, "dilation": 2}, 3)):
        def conv(g, options=options, inner=inner, bias=what != "stride"):
            x = g.source((1, 3, 6, 6))
            w = g.around(g.weights, (6, inner, 3, 3))
            b = [g.f32(g.numpy.integers(-64, 64, 6) / 64)] if bias else []
            attrs = {"kernel_shape": [3, 3], "strides": [options.get("stride", 1)] * 2,
                     "pads": [options.get("pad", 0)] * 4, "group": options.get("group", 1),
                     "dilations": [options.get("dilation", 1)] * 2}
            return g.op("Conv", [x, w, *b], lambda *args: convolve(*args, **options), attrs)
        add("Conv" + "-" * bool(what) + what, conv, "Conv", exact=True)
    def conv_float(g):
        w = g.numpy.normal(0, 0.3, (4, 3, 3, 3)).astype(F32)
        return g.op("Conv", [g.source((1, 3, 5, 5)), g.f32(w)], convolve)
    add("Conv-float-weights", conv_float, "Conv")
    def conv_channels(g):
        scale = F32([0.05, 0.11, 0.03, 0.07]).reshape(4, 1, 1, 1)
        w = g.f32(g.numpy.normal(0, 0.3, (4, 3, 3, 3)))
        w = g.around(lambda: g.quant(w, scale, 4, narrow=True))
        return g.op("Conv", [g.source((1, 3, 5, 5)), w], convolve)
    add("Conv-scale-per-channel", conv_channels, "Conv")
    for what, options in (("", {}), ("stride", {"stride": 2}), ("pad", {"stride": 2, "pad": 1})):
        def conv_transpose(g, options=options):
            attrs = {"kernel_shape": [3, 3], "strides": [options.get("stride", 1)] * 2,
                     "pads": [options.get("pad", 0)] * 4}
            return g.op("ConvTranspose", [g.source(), g.around(g.weights, (3, 2, 3, 3))],
                        lambda x, w: transposed(x, w, **options), attrs)
        add("ConvTranspose" + "-" * bool(what) + what, conv_transpose, "ConvTranspose", exact=True)
    def gemm(g, attrs, shape, function, bias):
        c = [g.f32(g.numpy.integers(-64, 64, bias) / 64)] if bias else []
        return g.op("Gemm", [g.source((1, 6)), g.around(g.weights, shape), *c], function, attrs)
    add("Gemm", lambda g: gemm(g, {}, (6, 4), lambda a, b: a @ b, None), exact=True)
    add("Gemm-bias", lambda g: gemm(g, {"transB": 1}, (4, 6), lambda a, b, c: a @ b.T + c, 4),
        exact=True)
    add("Gemm-alpha", lambda g: gemm(g, {"alpha": 0.5, "beta": 2.0}, (6, 4),
                                     lambda a, b, c: 0.5 * (a @ b) + 2 * c, 4), exact=True)
    add("MatMul", lambda g: g.op("MatMul", [g.source((1, 5, 6)), g.around(g.weights, (6, 4))],
                                 np.matmul), exact=True)
    add("MatMul-left", lambda g: g.op("MatMul", [g.around(g.weights, (4, 5)), g.source((1, 5, 6))],
                                      np.matmul), "MatMul", exact=True)
    add("MatMul-two", lambda g: g.op("MatMul", [g.source((1, 3, 5)), g.source((1, 5, 4))],
                                     np.matmul), "MatMul", exact=True)


# Operators on quantized integers.

def integers(g, shape, kind="uint8", zero=3):
    """A graph input of integers, or a QuantizeLinear; scale and zero point, all as values."""
    if g.place == INPUT:
        low, high = LIMITS[kind]
        x = g.feed([g.numpy.integers(low, high + 1, shape).astype(kind) for _ in range(FRAMES)])
        return x, g.f32(1 / 16), g.const(np.array(zero, kind))
    if kind == "uint8":
        zero += 125
    # With 1/16 sums of sixteenths would lie on ties, which are exact nevertheless.
    return g.around(g.quantize, g.source(shape), 1 / 16, zero, kind)


def reals(q, s, z):
    return (F64(q) - F64(z)) * F64(s)


def requantized(g, op_type, inputs, real, kind="uint8", domain=MICROSOFT, attrs=None,
                scale=0.0713, zero=128, at=None):
    """A node on integers; None in `inputs` stands for the result's scale and zero point."""
    s, z = g.f32(scale), g.const(np.array(zero, kind))
    at = inputs.index(None) if at is None else at
    inputs = [*inputs[:at], s, z, *inputs[at + 1:]]
    frames = [real(*(None if v is None else v.frames[i] for v in inputs)).astype(F32)
              for i in range(FRAMES)]
    g.watch(type(s)("", frames), scale, 0, 16)
    return g.op(op_type, inputs, lambda *a: quantize(real(*a).astype(F32), scale, zero, kind),
                attrs, domain, dtype=kind), s, z


def dequantized(g, parts):
    """What goes on to a quantizer; the integers where the node is the last."""
    q, s, z = parts
    return q if g.place in (QUANT_LAST, SUM_LAST) else g.around(g.dequantize, q, s, z)


def add_integer_operators():
    def conv_integer(g):
        x, _, z = integers(g, (1, 3, 5, 5))
        w = g.const(g.numpy.integers(-8, 8, (4, 3, 3, 3)).astype(np.int8))
        return g.op("ConvInteger", [x, w, z], lambda a, b, c: convolve(I64(a) - I64(c), I64(b)),
                    {"kernel_shape": [3, 3]}, dtype=np.int32)
    add("ConvInteger", conv_integer, exact=True)
    def matmul_integer(g):
        x, _, z = integers(g, (1, 6))
        w, zw = g.const(g.numpy.integers(0, 256, (6, 4)).astype(np.uint8)), g.const(np.uint8(117))
        return g.op("MatMulInteger", [x, w, z, zw],
                    lambda a, b, c, d: (I64(a) - I64(c)) @ (I64(b) - I64(d)), dtype=np.int32)
    add("MatMulInteger", matmul_integer, exact=True)
    for kind in ("uint8", "int8"):
        def qlinear_conv(g, kind=kind):
            parts = integers(g, (1, 3, 5, 5), kind)
            w = g.const(g.numpy.integers(-100, 100, (4, 3, 3, 3)).astype(np.int8))
            sw, zw = g.f32([0.01, 0.02, 0.013, 0.007]), g.const(np.zeros(4, np.int8))
            b = g.const(g.numpy.integers(-99, 99, 4).astype(np.int32))
            def real(x, s, z, w, sw, _zw, _sy, _zy, b):
                y = convolve(F64(x) - F64(z), F64(w)) + F64(b).reshape(1, -1, 1, 1)
                return y * F64(s) * F64(sw).reshape(1, -1, 1, 1)
            return dequantized(g, requantized(g, "QLinearConv", [*parts, w, sw, zw, None, b], real,
                                              kind, "", {"kernel_shape": [3, 3]}, 0.153,
                                              {"uint8": 119, "int8": -3}[kind]))
        add(f"QLinearConv-{kind}", qlinear_conv, "QLinearConv")
        def qlinear_matmul(g, kind=kind):
            parts = integers(g, (1, 6), kind)
            w = g.const(g.numpy.integers(-100, 100, (6, 4)).astype(np.int8))
            sw, zw = g.f32(0.0123), g.const(np.int8(5))
            real = lambda x, s, z, w, sw, zw, *_: reals(x, s, z) @ reals(w, sw, zw)
            return dequantized(g, requantized(g, "QLinearMatMul", [*parts, w, sw, zw, None], real,
                                              kind, "", None, 0.153,
                                              {"uint8": 119, "int8": -3}[kind]))
        add(f"QLinearMatMul-{kind}", qlinear_matmul, "QLinearMatMul")
    for name, function in (("Add", np.add), ("Mul", np.multiply)):
        def binary(g, n=name, f=function):
            real = lambda a, s, z, b, t, u, *_: f(reals(a, s, z), reals(b, t, u))
            inputs = [*integers(g, (1, 3, 4, 4)), *integers(g, (1, 3, 4, 4)), None]
            return dequantized(g, requantized(g, "QLinear" + n, inputs, real))
        add(f"QLinear{name}", binary)
    add("QLinearLeakyRelu", lambda g: dequantized(g, requantized(
        g, "QLinearLeakyRelu", [*integers(g, (1, 3, 4, 4)), None],
        lambda a, s, z, *_: leaky(reals(a, s, z), F64(F32(0.1))), attrs={"alpha": 0.1})))
    add("QLinearSigmoid", lambda g: dequantized(g, requantized(
        g, "QLinearSigmoid", [*integers(g, (1, 3, 4, 4)), None],
        lambda a, s, z, *_: sigmoid(reals(a, s, z)), scale=1 / 250, zero=0)))
    add("QLinearAveragePool", lambda g: dequantized(g, requantized(
        g, "QLinearAveragePool", [*integers(g, (1, 3, 4, 4)), None],
        lambda a, s, z, *_: reals(a, s, z).reshape(1, 3, 2, 2, 2, 2).mean((3, 5)),
        attrs={"kernel_shape": [2, 2], "strides": [2, 2]})))
    add("QLinearGlobalAveragePool", lambda g: dequantized(g, requantized(
        g, "QLinearGlobalAveragePool", [*integers(g, (1, 3, 4, 4)), None],
        lambda a, s, z, *_: reals(a, s, z).mean((2, 3), keepdims=True),
        attrs={"channels_last": 0})))
    def concat(g):
        a, b = integers(g, (1, 3, 4, 4)), integers(g, (1, 2, 4, 4))
        real = lambda _s, _z, a, s, z, b, t, u: np.concatenate([reals(a, s, z), reals(b, t, u)], 1)
        return dequantized(g, requantized(g, "QLinearConcat", [None, *a, *b], real,
                                          attrs={"axis": 1}))
    add("QLinearConcat", concat)
    def qgemm(g, with_scale):
        parts = integers(g, (1, 6))
        w = g.const(g.numpy.integers(-100, 100, (6, 4)).astype(np.int8))
        sw, zw = g.f32(0.0123), g.const(np.int8(0))
        b = g.const(g.numpy.integers(-999, 999, 4).astype(np.int32))
        def real(x, s, z, w, sw, zw, b, *_):
            return reals(x, s, z) @ reals(w, sw, zw) + F64(b) * F64(F32(s * sw))
        attrs = {"alpha": 1.0, "transA": 0, "transB": 0}
        if not with_scale:
            return g.op("QGemm", [*parts, w, sw, zw, b], real, attrs, MICROSOFT, dtype=F32)
        return dequantized(g, requantized(g, "QGemm", [*parts, w, sw, zw, b, None], real,
                                          attrs=attrs, scale=0.153))
    add("QGemm", lambda g: qgemm(g, True))
    add("QGemm-float", lambda g: qgemm(g, False), "QGemm")


# Pooling and normalization.

def pools(x, kernel, stride, pad, fill):
    if fill == -np.inf and x.dtype.kind in "iu":
        fill = np.iinfo(x.dtype).min
    x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)], constant_values=fill)
    views = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (2, 3))
    return views[:, :, ::stride, ::stride].reshape(*(1, x.shape[1]), *(
        2 * [(x.shape[2] - kernel) // stride + 1]), -1)


def max_indices(x):
    """Of windows of 2 x 2 without overlap: the first of the greatest."""
    n, c, h, w = x.shape
    at = np.arange(x.size).reshape(n, c, h // 2, 2, w // 2, 2).swapaxes(3, 4)
    values = x.reshape(n, c, h // 2, 2, w // 2, 2).swapaxes(3, 4)
    best = values.reshape(n, c, h // 2, w // 2, 4).argmax(-1)[..., None]
    return np.take_along_axis(at.reshape(n, c, h // 2, w // 2, 4), best, -1)[..., 0]


def normalize(x, axes, epsilon=F64(F32(1e-5))):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + epsilon)


def add_windows():
    for what, (kernel, stride, pad) in (("", (2, 2, 0)), ("overlap", (3, 1, 1)),
                                        ("padded", (3, 2, 1))):
        attrs = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4}
        tail = "-" * bool(what) + what
        add("MaxPool" + tail, lambda g, a=attrs, k=(kernel, stride, pad): g.op(
            "MaxPool", [g.source()], lambda x: pools(x, *k, -np.inf).max(-1), a), "MaxPool",
            exact=True)
        add("AveragePool" + tail, lambda g, a=attrs, k=(kernel, stride, pad): g.op(
            "AveragePool", [g.source()], lambda x: pools(x, *k, 0).sum(-1) /
            pools(np.ones_like(x), *k, 0).sum(-1), a), "AveragePool", exact=not what)
        add("AveragePool-counted" + tail, lambda g, a=attrs, k=(kernel, stride, pad): g.op(
            "AveragePool", [g.source()], lambda x: pools(x, *k, 0).mean(-1),
            {**a, "count_include_pad": 1}), "AveragePool", exact=not what)
    add("MaxPool-indices", lambda g: g.op(
        "MaxPool", [g.source()], lambda x: (pools(x, 2, 2, 0, 0).max(-1), max_indices(x)),
        {"kernel_shape": [2, 2], "strides": [2, 2]}, dtype=(F32, I64), outputs=2), "MaxPool",
        exact=True)
    unary("GlobalAveragePool", lambda x: x.mean((2, 3), keepdims=True), exact=True)
    unary("GlobalMaxPool", lambda x: x.max((2, 3), keepdims=True), exact=True)
    def batch_norm(g, axis=1, domain=""):
        x = g.source((1, 3, 4, 4) if axis == 1 else (1, 4, 4, 3))
        p = [F32(g.numpy.uniform(0.5, 1.5, 3)) for _ in range(4)]
        p[0][1] *= -1
        shape = (3, 1, 1) if axis == 1 else (3,)
        scale, bias, mean, var = (F64(a).reshape(shape) for a in p)
        return g.op("BatchNormalization", [x, *map(g.f32, p)], lambda x, *_: scale * (x - mean) /
                    np.sqrt(var + F64(F32(1e-5))) + bias, None, domain)
    add("BatchNormalization", batch_norm)
    add("BatchNormalization-last", lambda g: batch_norm(g, -1, CHANNELS_LAST), "BatchNormalization")
    add("InstanceNormalization", lambda g: g.op(
        "InstanceNormalization", [g.source(), g.f32([1.0, 0.5, -2.0]), g.f32([0.0, 1.0, 0.25])],
        lambda x, s, b: normalize(x, (2, 3)) * s.reshape(3, 1, 1) + b.reshape(3, 1, 1)))
    add("LayerNormalization", lambda g: g.op(
        "LayerNormalization", [g.source((1, 5, 6)), g.f32(np.linspace(0.5, 1.5, 6)),
                               g.f32(np.linspace(-1, 1, 6))],
        lambda x, s, b: normalize(x, (-1,)) * s + b))
    # Channels last: weights are (output channels, rows, columns, input channels).
    def conv_last(g):
        w = g.around(g.weights, (4, 3, 3, 2))
        return g.op("Conv", [g.source((1, 5, 5, 2)), w], lambda x, w: convolve(
            x.transpose(0, 3, 1, 2), w.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1),
            {"kernel_shape": [3, 3]}, CHANNELS_LAST)
    add("Conv-last", conv_last, exact=True)
    def depthwise_last(g):
        w = g.around(g.weights, (3, 2, 2, 1))
        return g.op("Conv", [g.source((1, 4, 4, 3)), w], lambda x, w: convolve(
            x.transpose(0, 3, 1, 2), w.transpose(0, 3, 1, 2), group=3).transpose(0, 2, 3, 1),
            {"kernel_shape": [2, 2], "group": 3}, CHANNELS_LAST)
    add("Conv-depthwise-last", depthwise_last, "Conv", exact=True)
    add("MaxPool-last", lambda g: g.op(
        "MaxPool", [g.source((1, 4, 4, 3))],
        lambda x: x.reshape(1, 2, 2, 2, 2, 3).max((2, 4)),
        {"kernel_shape": [2, 2], "strides": [2, 2]}, CHANNELS_LAST), exact=True)


# Shapes.

def moving(name, title, function, inputs=(), attrs=None, shape=(1, 3, 4, 4), **options):
    """The same elements elsewhere; `inputs` are constants."""
    add(title, lambda g: g.op(name, [g.source(shape), *(None if c is None else g.const(c)
                                                         for c in inputs)],
                              lambda x, *_: function(x), attrs, **options), name, exact=True)


def indices(*values):
    return np.array(values, I64)


def blocks(x, size, mode):
    _, c, h, w = x.shape
    inner = c // size ** 2
    if mode == "DCR":
        x = x.reshape(size, size, inner, h, w).transpose(2, 3, 0, 4, 1)
    else:
        x = x.reshape(inner, size, size, h, w).transpose(0, 3, 1, 4, 2)
    return x.reshape(1, inner, h * size, w * size)


def linear_resize(x, factor):
    """Half-pixel bilinear upsampling by a whole factor."""
    def matrix(n):
        m = np.zeros((n * factor, n))
        for i in range(n * factor):
            at = np.clip((i + 0.5) / factor - 0.5, 0, n - 1)
            low = int(np.floor(at))
            m[i, low] += 1 - (at - low)
            m[i, min(low + 1, n - 1)] += at - low
        return m
    return np.einsum("ih,nchw,jw->ncij", matrix(x.shape[2]), x, matrix(x.shape[3]))


def add_shapes():
    moving("Flatten", "Flatten", lambda x: x.reshape(1, -1))
    moving("Flatten", "Flatten-2", lambda x: x.reshape(3, -1), attrs={"axis": 2})
    moving("Reshape", "Reshape", lambda x: x.reshape(1, 4, 12), [indices(0, 4, -1)])
    moving("Squeeze", "Squeeze", lambda x: x[:, :, 0, 0], [indices(2, 3)], shape=(1, 6, 1, 1))
    moving("Unsqueeze", "Unsqueeze", lambda x: x[:, :, None, None], [indices(2, 3)], shape=(1, 6))
    for perm in ((0, 2, 3, 1), (0, 1, 3, 2), (0, 3, 2, 1)):
        moving("Transpose", "Transpose-" + "".join(map(str, perm)),
               lambda x, p=perm: x.transpose(p), attrs={"perm": list(perm)})
    for axis in (1, 2, -1):
        add(f"Concat-{axis}", lambda g, a=axis: g.op(
            "Concat", [g.source(), g.source()], lambda *x: np.concatenate(x, a), {"axis": a}),
            "Concat", exact=True)
    add("Concat-constant", lambda g: g.op(
        "Concat", [g.source(), g.f32(np.full((1, 1, 4, 4), 0.5))],
        lambda *x: np.concatenate(x, 1), {"axis": 1}), "Concat", exact=True)
    add("Split", lambda g: g.op("Split", [g.source((1, 6, 4, 4)), g.i64(2, 4)],
                                lambda x, _: (x[:, :2], x[:, 2:]), {"axis": 1}, outputs=2),
        exact=True)
    add("Split-equal", lambda g: g.op("Split", [g.source()], lambda x: (x[..., :2], x[..., 2:]),
                                      {"axis": 3, "num_outputs": 2}, outputs=2), exact=True)
    moving("Slice", "Slice", lambda x: x[:, 1:, 1:3],
           [indices(1, 1), indices(9, 3), indices(1, 2)])
    moving("Slice", "Slice-steps", lambda x: x[:, :, ::2, 1::2],
           [indices(0, 1), indices(9, 9), indices(2, 3), indices(2, 2)])
    moving("Slice", "Slice-reverse", lambda x: x[:, :, ::-1],
           [indices(-1), indices(-99), indices(2), indices(-1)])
    moving("Gather", "Gather", lambda x: x[:, [2, 0]], [indices(2, 0)], {"axis": 1})
    moving("Gather", "Gather-scalar", lambda x: x[:, :, 1], [np.int64(1)], {"axis": 2})
    moving("Gather", "Gather-negative", lambda x: x[..., [-1, 1]], [indices(-1, 1)], {"axis": -1})
    border = indices(0, 0, 1, 2, 0, 0, 1, 0)
    widths = [(0, 0), (0, 0), (1, 1), (2, 0)]
    for mode in ("constant", "reflect", "edge"):
        moving("Pad", f"Pad-{mode}", lambda x, m=mode: np.pad(x, widths, m), [border],
               {"mode": mode})
    moving("Pad", "Pad-value", lambda x: np.pad(x, widths, constant_values=1.25),
           [border, F32(1.25)])
    moving("Pad", "Pad-negative", lambda x: x[:, :, 1:, :3], [indices(0, 0, -1, 0, 0, 0, 0, -1)])
    moving("Expand", "Expand", lambda x: np.broadcast_to(x, (1, 3, 4, 4)), [indices(1, 3, 4, 4)],
           shape=(1, 3, 1, 1))
    moving("Tile", "Tile", lambda x: np.tile(x, (1, 2, 1, 3)), [indices(1, 2, 1, 3)],
           shape=(1, 2, 3, 2))
    for mode in ("DCR", "CRD"):
        moving("DepthToSpace", f"DepthToSpace-{mode}", lambda x, m=mode: blocks(x, 2, m),
               attrs={"blocksize": 2, "mode": mode}, shape=(1, 8, 2, 2))
    moving("SpaceToDepth", "SpaceToDepth", lambda x: x.reshape(2, 2, 2, 2, 2).transpose(
        2, 4, 0, 1, 3).reshape(1, 8, 2, 2), attrs={"blocksize": 2}, shape=(1, 2, 4, 4))
    scales = [None, F32([1, 1, 2, 2])]
    moving("Resize", "Resize", lambda x: x.repeat(2, 2).repeat(2, 3), scales, {"mode": "nearest"})
    moving("Resize", "Resize-linear", lambda x: linear_resize(x, 2), scales, {"mode": "linear"})
    moving("Resize", "Resize-sizes", lambda x: x[:, :, [0, 0, 1, 2, 2, 3]], [
        None, None, indices(1, 3, 6, 4)], {"mode": "nearest", "nearest_mode": "floor",
                                           "coordinate_transformation_mode": "asymmetric"})
    moving("Resize", "Resize-down", lambda x: x[:, :, ::2, ::2], [None, F32([1, 1, 0.5, 0.5])], {
        "mode": "nearest", "nearest_mode": "floor",
        "coordinate_transformation_mode": "asymmetric"})
    def upsample(g):
        g.opset = 9
        return g.op("Upsample", [g.source(), g.f32([1, 1, 2, 2])],
                    lambda x, _: x.repeat(2, 2).repeat(2, 3), {"mode": "nearest"})
    add("Upsample", upsample, exact=True)
    # What gives constants takes part in a sum.
    shape_of = lambda g, x: g.op("Shape", [x], lambda a: np.array(a.shape), dtype=I64)
    add("Shape", lambda g: shape_of(g, g.source()), exact=True)
    add("Size", lambda g: g.op("Size", [g.source()], lambda a: np.array(a.size), dtype=I64),
        exact=True)
    def of_shape(g):
        x = g.source()
        tensor = {"data_type": 1, "dims": [1], "raw_data": F32([1.5]).tobytes()}
        c = g.op("ConstantOfShape", [shape_of(g, x)], lambda s: np.full(s, 1.5),
                 {"value": tensor}, dtype=F32)
        return g.op("Add", [x, c], np.add)
    add("ConstantOfShape", of_shape, exact=True)
    def counting(g):
        c = g.op("Range", [g.f32(-1), g.f32(1), g.f32(0.5)], lambda *_: np.arange(-1, 1, 0.5))
        return g.op("Mul", [g.source(), c], np.multiply)
    add("Range", counting, exact=True)
    def constant(g):
        c = g.op("Constant", [], lambda: np.array([0.5, -1, 2, 1.25]),
                 {"value_floats": [0.5, -1.0, 2.0, 1.25]}, dtype=F32)
        return g.op("Add", [g.source(), c], np.add)
    add("Constant", constant, exact=True)


# Reductions.

def add_reductions():
    for name, function, exact, source in (
            ("ReduceSum", np.sum, True, {}), ("ReduceMean", np.mean, True, {}),
            ("ReduceMax", np.max, True, {}), ("ReduceMin", np.min, True, {}),
            ("ReduceL1", lambda x, a, keepdims: np.abs(x).sum(a, keepdims=keepdims), True, {}),
            ("ReduceL2", lambda x, a, keepdims: np.sqrt((x * x).sum(a, keepdims=keepdims)),
             False, {}),
            ("ReduceSumSquare", lambda x, a, keepdims: (x * x).sum(a, keepdims=keepdims), True, {}),
            ("ReduceProd", np.prod, False, {"low": 0.5, "high": 1.5}),
            ("ReduceLogSum", lambda x, a, keepdims: np.log(x.sum(a, keepdims=keepdims)), False,
             POSITIVE),
            ("ReduceLogSumExp", lambda x, a, keepdims: np.log(np.exp(x).sum(a, keepdims=keepdims)),
             False, {})):
        for axes, keep in (((2, 3), 1), ((1,), 0), ((-1,), 1)):
            add(f"{name}-{''.join(map(str, axes))}-{keep}", lambda g, n=name, f=function, a=axes,
                k=keep, s=source: g.op(n, [g.source(**s), g.i64(*a)],
                                       lambda x, _: f(x, a, keepdims=bool(k)), {"keepdims": k}),
                name, exact=exact)
    for name, function in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
        for axis, last in ((1, 0), (3, 1)):
            def arg(g, n=name, f=function, axis=axis, last=last):
                def first(x):
                    if not last:
                        return f(x, axis, keepdims=True)
                    return x.shape[axis] - 1 - f(np.flip(x, axis), axis, keepdims=True)
                return g.op(n, [g.source()], first, {"axis": axis, "select_last_index": last},
                            dtype=I64)
            add(f"{name}-{axis}-{last}", arg, name, exact=True)
    for largest in (0, 1):
        def top(g, largest=largest):
            def both(x, _):
                exact = x.astype(object)       # unsigned integers have no negatives
                order = np.argsort(-exact if largest else exact, -1, kind="stable")[..., :3]
                return np.take_along_axis(x, order, -1), order
            return g.op("TopK", [g.source((1, 4, 6)), g.i64(3)], both, {"largest": largest},
                        dtype=(F32, I64), outputs=2)
        add(f"TopK-{largest}", top, "TopK", exact=True)


# Quantizers.

def quant_row(title, scale, bits, signed, narrow, zero, mode, op_type="Quant", domain=QONNX):
    def build(g):
        x = g.source()
        if not g.exact and bits > 1:
            at = 0 if mode in HALVES else 0.5       # directed modes turn at integers
            g.watch(x, scale, zero + at, bits + 1)
        return g.quant(x, scale, bits, signed, narrow, zero, mode, op_type, domain)
    dyadic = (np.log2(F64(F32(scale))) % 1 == 0).all()
    add(title, build, op_type, exact=bool(dyadic))


def pair_row(kind, title, scale, zero, axis=None, alone=False, op="QuantizeLinear"):
    def build(g):
        x = g.source()
        shape = [1] * 4
        if axis is not None:
            shape[axis] = -1
        if not g.exact:
            g.watch(x, np.reshape(scale, shape), 0, 17)
        parts = g.quantize(x, scale, zero, kind, axis)
        return parts[0] if alone else g.dequantize(*parts, axis)
    dyadic = (np.log2(F64(F32(scale))) % 1 == 0).all()
    places = (QUANT_LAST, SUM_LAST) if alone else PLACES
    add(title, build, op, *([] if alone else ["DequantizeLinear"]), exact=bool(dyadic),
        places=places)


def trunc(x, scale, zero, shift, mode):
    steps = np.rint((F64(x) / scale).astype(F32) + zero)
    return ROUNDINGS[mode](steps / 2.0 ** shift)


def add_quantizers():
    for bits, signed, narrow in itertools.product((1, 2, 3, 4, 8, 16), (0, 1), (0, 1)):
        if bits == 1 and not signed and narrow:
            continue                                # no levels but zero
        for scale in (0.125, 0.11):
            title = f"Quant-{bits}{'us'[signed]}{'n' * narrow}-{scale}"
            quant_row(title, scale, bits, signed, narrow, 0, "ROUND")
    for mode in ROUNDINGS:
        for scale, bits in ((0.25, 4), (0.23, 6)):
            quant_row(f"Quant-{mode}-{scale}", scale, bits, 1, 0, 0, mode)
    for zero, bits, signed in ((3, 4, 0), (8, 4, 0), (-2, 4, 1), (1, 3, 1), (101, 8, 0)):
        for scale in (0.25, 0.19):
            quant_row(f"Quant-zero{zero}-{bits}-{scale}", scale, bits, signed, 0, zero, "ROUND")
    for mode in ("FLOOR", "HALF_UP", "DOWN"):
        quant_row(f"Quant-zero3-{mode}", 0.25, 4, 0, 0, 3, mode)
    channels = [np.reshape(s, (1, 3, 1, 1)) for s in ([0.25, 0.5, 0.125], [0.25, 0.1713, 0.3137])]
    for scale in channels:
        quant_row(f"Quant-channels-{scale[0, 1, 0, 0]}", scale, 4, 1, 0, 0, "ROUND")
    quant_row("IntQuant", 0.25, 4, 1, 0, 0, "ROUND", "IntQuant")
    for domain in ("onnx.brevitas", "finn.custom_op.general"):
        quant_row(f"Quant-{domain}", 0.25, 4, 1, 1, 0, "ROUND", "Quant", domain)
    for scale in (1.0, 0.25, 0.3):
        add(f"BipolarQuant-{scale}", lambda g, s=scale: g.op(
            "BipolarQuant", [g.source(), g.f32(s)], lambda x, _: np.where(x >= 0, 1, -1) *
            F64(F32(s)), None, QONNX), "BipolarQuant", exact=True)
    for mode, zero in itertools.product(("FLOOR", "ROUND", "CEIL"), (0, 4)):
        def trunc_five(g, mode=mode, zero=zero):
            x = g.around(lambda: g.quant(g.source(), 1 / 16, 8, zero=zero))
            inputs = [x, *(g.f32(v) for v in (1 / 16, zero, 8, 5))]
            return g.op("Trunc", inputs, lambda x, *_: (trunc(x, 1 / 16, zero, 3, mode) - zero) /
                        16, {"rounding_mode": mode}, QONNX)
        add(f"Trunc-{mode}-{zero}", trunc_five, "Trunc", exact=True)
        def trunc_six(g, mode=mode):
            x = g.around(lambda: g.quant(g.source(), 1 / 16, 8))
            inputs = [x, *(g.f32(v) for v in (1 / 16, 0, 8, 0.5, 5))]
            return g.op("Trunc", inputs, lambda x, *_: np.clip(trunc(x, 1 / 16, 0, 3, mode), -16,
                                                              15) / 2,
                        {"rounding_mode": mode, "signed": 1, "narrow": 0}, QONNX)
        if not zero:
            add(f"Trunc-out-{mode}", trunc_six, "Trunc", exact=True)
    for rows, scale, bias in ((1, 1.0, 0.0), (3, 1.0, 0.0), (3, 0.25, -1.5), (1, 2.0, -3.0)):
        def thresholds(g, rows=rows, scale=scale, bias=bias):
            t = np.sort(g.numpy.integers(-64, 64, (rows, 7)) / 16).astype(F32)
            attrs = {"out_dtype": "UINT3" if bias >= 0 else "INT4", "out_scale": scale,
                     "out_bias": bias}
            def count(x, t):
                t = np.broadcast_to(t, (3, 7)).reshape(1, 3, 1, 1, 7)
                return scale * (x[..., None] >= t).sum(-1) + bias
            return g.op("MultiThreshold", [g.source(), g.f32(t)], count, attrs, QONNX)
        add(f"MultiThreshold-{rows}-{scale}{bias:+}", thresholds, "MultiThreshold", exact=True)
    for kind, (low, high) in LIMITS.items():
        middle = 0 if low < 0 else (high + 1) // 2
        scale = 0.5 if kind.endswith("4") else 1 / 16
        for zero in (middle, middle + 1, low):
            for s in (scale, scale * 0.93):
                title = f"{kind}-{zero}-{s:.3g}"
                pair_row(kind, "Pair-" + title, s, zero)
                pair_row(kind, "QuantizeLinear-" + title, s, zero, alone=True)
        pair_row(kind, f"Pair-{kind}-channels", [scale, scale / 2, scale * 2], [middle] * 3, 1)
        pair_row(kind, f"Pair-{kind}-channels-odd", [scale, scale * 0.61374129, scale * 1.73171931],
                 [middle, middle + 1, middle + 2], 1)
        if kind.endswith("4"):
            continue
        for zero in (middle, middle + 3):
            def dequantize(g, kind=kind, zero=zero):
                low, high = LIMITS[kind]
                q = g.feed([g.numpy.integers(low, high + 1, (1, 3, 4, 4)).astype(kind)
                            for _ in range(FRAMES)])
                return g.dequantize(q, g.f32(1 / 16), g.const(np.array(zero, kind)))
            add(f"DequantizeLinear-{kind}-{zero}", dequantize, "DequantizeLinear", exact=True,
                places=(INPUT, "alone"))
    def dynamic(x):
        low, high = min(x.min(), 0), max(x.max(), 0)
        scale = F32((F32(high) - F32(low)) / F32(255))
        zero = np.clip(np.rint(F32(0 - F32(low)) / scale), 0, 255)
        return quantize(x, scale, zero, "uint8"), scale, zero
    def dynamic_row(g):
        q, s, z = g.op("DynamicQuantizeLinear", [g.source()], dynamic,
                       dtype=(np.uint8, F32, np.uint8), outputs=3)
        return [q, s, z] if g.place in (QUANT_LAST, SUM_LAST) else g.dequantize(q, s, z)
    add("DynamicQuantizeLinear", dynamic_row)


# Plain element types.

TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float64")


def numbers(g, kind, shape=(1, 3, 4, 4), least=None, most=None):
    """Numbers of the type; its extremes are among them unless bounds are given."""
    if kind == "bool":
        return [g.numpy.integers(0, 2, shape).astype(bool) for _ in range(FRAMES)]
    if kind.startswith("float"):
        low, high = -4 if least is None else least, 4 if most is None else most
        return [g.numpy.uniform(low, high, shape).astype(kind)
                for _ in range(FRAMES)]
    info = np.iinfo(kind)
    low = info.min if least is None else max(least, info.min)
    high = info.max if most is None else min(most, info.max)
    frames = [g.numpy.integers(low, high, shape, kind, endpoint=True) for _ in range(FRAMES)]
    if least is None:
        for frame in frames:
            frame.flat[:4] = [info.min, info.max, 0, 1]
    return frames


def type_row(name, kind, function, title="", attrs=None, operands=1, dtype=None, constants=(),
             least=None, most=None, second=None, shape=(1, 3, 4, 4)):
    def build(g):
        inputs = [g.feed(numbers(g, kind, shape, *((second or (least, most)) if i else
                                                   (least, most)))) for i in range(operands)]
        inputs += [g.const(np.array(c, kind) if not isinstance(c, np.ndarray) else c)
                   for c in constants]
        return g.op(name, inputs, function, attrs, dtype=dtype)
    add(f"{name}{title}-{kind}", build, name, exact=kind != "float64", places=ALONE)


def power(base, exponent):
    """Of integers, modulo 2^64."""
    if exponent < 0:
        return 1 if base == 1 else 1 - 2 * (exponent % 2) if base == -1 else 0
    return pow(base, exponent, 1 << 64)


def add_powers():
    """An exponent has a type, and a sign, of its own."""
    powers = np.frompyfunc(lambda a, b: power(int(a), int(b)), 2, 1)
    for kind in ("int8", "uint8", "int32", "int64", "uint32"):
        for other in ("int8", "uint8", "int32", "uint32", "int64", "uint64"):
            def build(g, kind=kind, other=other):
                bases = numbers(g, kind, (1, 2, 2, 3), -9, 9)
                exponents = numbers(g, other, (1, 2, 2, 3))
                for base, exponent in zip(bases, exponents):
                    base[base == 0] = 1         # which has no reciprocal
                    exponent.flat[4:8] = [2, 3, 7, 8]
                return g.op("Pow", [g.feed(bases), g.feed(exponents)],
                            lambda a, b: (powers(a, b) % (1 << 64)).astype(np.uint64))
            add(f"Pow-{kind}-{other}", build, "Pow", exact=True, places=ALONE)


def add_types():
    for kind in TYPES:
        signed, is_float = not kind.startswith("u"), kind == "float64"
        for name, function in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply)):
            type_row(name, kind, function, operands=2)
        divide = (lambda a, b: a / b) if is_float else \
            (lambda a, b: np.where((a < 0) != (b < 0), -(np.abs(a) // np.abs(b)),
                                   np.abs(a) // np.abs(b)) if a.dtype.kind == "i" else a // b)
        bounds = {"least": -100, "most": 100} if signed and not is_float else {}
        type_row("Div", kind, divide, operands=2, second=(1, 9), **bounds)
        if not is_float:
            type_row("Mod", kind, np.mod, operands=2, second=(1, 9), **bounds)
            type_row("Mod", kind, np.mod, "-constant", constants=[5])
            type_row("Mod", kind, np.fmod, "-fmod", {"fmod": 1}, operands=2, second=(1, 9),
                     **bounds)
            type_row("Div", kind, divide, "-constant", constants=[5], **bounds)
        else:
            for name, function in (("Exp", np.exp), ("Tanh", np.tanh), ("Sigmoid", sigmoid),
                                   ("Floor", np.floor)):
                type_row(name, kind, function)
        for name, function in (("Min", np.minimum), ("Max", np.maximum)):
            type_row(name, kind, function, operands=2)
        for name, function in COMPARE.items():
            type_row(name, kind, function, operands=2, dtype=np.bool_, second=(-3, 3))
        type_row("Sign", kind, np.sign)
        type_row("Abs", kind, np.abs)
        if signed:
            type_row("Neg", kind, np.negative)
            type_row("Relu", kind, lambda x: np.maximum(x, 0))
        type_row("Clip", kind, lambda x, a, b: np.clip(x, a, b), constants=[3, 50])
        type_row("Concat", kind, lambda *x: np.concatenate(x, 1), attrs={"axis": 1}, operands=2)
        type_row("Transpose", kind, lambda x: x.transpose(0, 2, 3, 1), attrs={"perm": [0, 2, 3, 1]})
        type_row("Pad", kind, lambda x, *_: np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)],
                                                   constant_values=7),
                 constants=[indices(0, 0, 1, 1, 0, 0, 1, 1), 7])
        type_row("ArgMax", kind, lambda x: x.argmax(1, keepdims=True), attrs={"axis": 1}, dtype=I64)
        if kind not in ("int16", "uint16"):
            for name, function in (("ReduceMax", np.max), ("ReduceMin", np.min)):
                type_row(name, kind, lambda x, _, f=function: f(x, 1, keepdims=True),
                         constants=[indices(1)])
        if kind in ("int32", "int64", "uint32", "uint64", "float64"):
            type_row("ReduceSum", kind, lambda x, _: x.sum(1, keepdims=True),
                     constants=[indices(1)])
            type_row("ReduceMean", kind, lambda x, _: x.mean(1, keepdims=True) if x.dtype == F64
                     else np.trunc(x.sum(1, keepdims=True) / 3), constants=[indices(1)],
                     least=0, most=1000)
            type_row("ReduceProd", kind, lambda x, _: x.prod(1, keepdims=True, dtype=x.dtype),
                     constants=[indices(1)], least=-9, most=9)
            type_row("MatMul", kind, np.matmul, constants=[np.arange(8).reshape(4, 2).astype(kind)],
                     least=-99, most=99)
            type_row("Gemm", kind, lambda a, b: a @ b, shape=(1, 4), least=-99, most=99,
                     constants=[np.arange(8).reshape(4, 2).astype(kind)])
        if kind == "float64":
            type_row("Pow", kind, np.power, least=0.5, most=9, operands=2, second=(0.5, 3))
        if kind in ("int32", "int64"):
            type_row("Pow", kind, np.power, "-constant", least=0, most=9, constants=[3])
        if kind in ("int32", "int64", "float64"):
            type_row("PRelu", kind, lambda x, a: np.where(x < 0, x * a, x), constants=[3],
                     least=-99, most=99)
        if kind in ("int8", "uint8", "float64"):
            type_row("MaxPool", kind, lambda x: x.reshape(1, 3, 2, 2, 2, 2).max((3, 5)),
                     attrs={"kernel_shape": [2, 2], "strides": [2, 2]})
        def where(g, kind=kind):
            c, x, y = (g.feed(numbers(g, k)) for k in ("bool", kind, kind))
            return g.op("Where", [c, x, y], np.where, dtype=kind)
        add(f"Where-{kind}", where, exact=True, places=ALONE)
        for to in (*TYPES, "float32", "bool"):
            # What does not fit is undefined from floats and wraps between integers.
            bounds = (0, 100) if is_float else (None, None)
            type_row("Cast", kind, lambda x: x, f"-{to}", {"to": NUMBERS[np.dtype(to)]}, dtype=to,
                     least=bounds[0], most=bounds[1])
        type_row("Cast", "bool", lambda x: x, f"-{kind}", {"to": NUMBERS[np.dtype(kind)]},
                 dtype=kind)
    for name, function in LOGICAL.items():
        type_row(name, "bool", function, operands=2)
    type_row("Not", "bool", np.logical_not)
    type_row("Equal", "bool", np.equal, operands=2)
    type_row("Concat", "bool", lambda *x: np.concatenate(x, 1), attrs={"axis": 1}, operands=2)
    type_row("Transpose", "bool", lambda x: x.transpose(0, 2, 3, 1), attrs={"perm": [0, 2, 3, 1]})
    type_row("Reshape", "bool", lambda x, _: x.reshape(1, -1), constants=[indices(1, -1)])


for section in (add_unary, add_binary, add_products, add_integer_operators, add_windows,
                add_shapes, add_reductions, add_quantizers, add_types, add_powers):
    section()
