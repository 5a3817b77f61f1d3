"""Graphs of one operator at some place, built and evaluated at the same time.

A Value has an array for each frame; the model's batch is 1. Functions get
floats in double precision and their result is rounded once. Nothing here is
shared with the compiler or with the other tests' oracles.
"""
import dataclasses
import random

import numpy as np

import onnx_file
from network_builder import INT4_TYPES, int4_tensor
from qonnx_builder import QonnxBuilder

F32, F64, I64 = np.float32, np.float64, np.int64
FRAMES = 2
OPSET = 21
MICROSOFT, CHANNELS_LAST = "com.microsoft", "qonnx.custom_op.channels_last"
QONNX = "qonnx.custom_op.general"
NUMBERS = {np.dtype(kind): number for number, (kind, _) in onnx_file.TENSOR_TYPES.items()}
LIMITS = {"int4": (-8, 7), "uint4": (0, 15), "int8": (-128, 127), "uint8": (0, 255),
          "int16": (-32768, 32767), "uint16": (0, 65535)}
MARGIN = 3e-5           # of a level, between what is quantized and a tie

# Where the row's node stands. Behind a quantizer or a sum there are integers.
INPUT, QUANT_BEFORE, SUM_BEFORE = "input", "middle-quant", "middle-sum"
QUANT_LAST, SUM_LAST = "output-quant", "output-sum"
PLACES = (INPUT, QUANT_BEFORE, SUM_BEFORE, QUANT_LAST, SUM_LAST)


class Redraw(Exception):
    """A value lies so close to a tie that rounding decides the level."""


@dataclasses.dataclass
class Value:
    name: str
    frames: list
    kind: str = ""          # the element type where numpy lacks it


def half_away(x):
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def half_toward(x):
    return np.sign(x) * np.ceil(np.abs(x) - 0.5)


ROUNDINGS = {"ROUND": np.rint, "HALF_EVEN": np.rint, "CEIL": np.ceil, "FLOOR": np.floor,
             "UP": lambda x: np.sign(x) * np.ceil(np.abs(x)), "DOWN": np.trunc,
             "HALF_UP": half_away, "HALF_DOWN": half_toward}
HALVES = ("ROUND", "HALF_EVEN", "HALF_UP", "HALF_DOWN")


def quant(x, scale, zero, bits, signed, narrow, mode):
    """QONNX's Quant."""
    if signed and bits == 1:
        return np.where(x >= 0, 1.0, -1.0) * scale
    low = -2.0 ** (bits - 1) + narrow if signed else 0.0
    high = 2.0 ** (bits - 1) - 1 if signed else 2.0 ** bits - 1 - narrow
    steps = (F64(x) / F64(scale)).astype(F32).astype(F64) + zero
    return (ROUNDINGS[mode](np.clip(steps, low, high)) - zero) * F64(scale)


def quantize(x, scale, zero, kind):
    """ONNX's QuantizeLinear."""
    steps = np.rint((F64(x) / F64(scale)).astype(F32).astype(F64)) + F64(zero)
    return np.clip(steps, *LIMITS[kind])


def wide(array):
    return array.astype(F64) if array is not None and array.dtype == F32 else array


class Graph(QonnxBuilder):
    """`prefix` makes names unique where several graphs become one."""

    def __init__(self, seed, place, prefix="", exact=False):
        self.prefix, self.place, self.exact = prefix, place, exact
        super().__init__("places")
        self.rng = random.Random(seed)
        self.numpy = np.random.default_rng(self.rng.getrandbits(32))
        self.feeds, self.results, self.subjects = {}, [], []
        self.is_around = False          # nodes are around the row's own ones
        self.opset = OPSET

    def fresh(self, hint):
        return self.prefix + super().fresh(hint)

    # Values.

    def const(self, array, kind=""):
        array = np.asarray(array)
        if kind not in INT4_TYPES:
            return Value(self.constant("c", array), [array] * FRAMES)
        name = self.fresh("c")
        self.graph["initializer"].append(int4_tensor(name, array, kind))
        return Value(name, [array] * FRAMES, kind)

    def f32(self, value):
        return self.const(np.array(value, F32))

    def i64(self, *values):
        return self.const(np.array(values, I64))

    def feed(self, frames):
        name = self.fresh("x")
        self.input(name, list(frames[0].shape), NUMBERS[frames[0].dtype])
        self.feeds[name] = np.concatenate(frames) if frames[0].ndim else np.array(frames)
        return Value(name, frames)

    def op(self, op_type, inputs, function, attrs=None, domain="", dtype=None, outputs=1,
           kind=""):
        """A node; `dtype` of the results is that of the first input unless given."""
        names = ["" if value is None else value.name for value in inputs]
        name = self.node(op_type, names, attrs, domain)
        if not self.is_around:
            self.subjects.append(name)
        names = [name] + [self.fresh("more") for _ in range(outputs - 1)]
        self.graph["node"][-1]["output"] = names
        dtypes = dtype if isinstance(dtype, (list, tuple)) else [dtype] * outputs
        if dtype is None:
            dtypes = [inputs[0].frames[0].dtype] * outputs
        runs = []
        for frame in range(FRAMES):
            args = [None if value is None else wide(value.frames[frame]) for value in inputs]
            with np.errstate(all="ignore"):
                got = function(*args)
                got = got if outputs > 1 else [got]
                runs.append([np.asarray(g).astype(d) for g, d in zip(got, dtypes)])
        values = [Value(n, [run[i] for run in runs], kind) for i, n in enumerate(names)]
        return values[0] if outputs == 1 else values

    # Quantizers.

    @staticmethod
    def redraw():
        raise Redraw()

    def watch(self, x, scale, zero, bits):
        """Values must keep away from ties unless arithmetic is exact there."""
        for frame in x.frames:
            steps = F64(frame) / F64(scale) + zero
            off = np.abs(steps - np.floor(steps) - 0.5)
            is_dyadic = np.log2(F64(F32(scale))) % 1 == 0       # ties are exact there
            near = (off < MARGIN) & (np.abs(steps) < 2.0 ** bits) & ~(is_dyadic & (off == 0))
            if near.any() or not np.isfinite(steps).all():
                raise Redraw()

    def quant(self, x, scale, bits=8, signed=True, narrow=False, zero=0, mode="ROUND",
              op_type="Quant", domain=QONNX):
        attrs = {"signed": int(signed), "narrow": int(narrow), "rounding_mode": mode}
        s = np.array(scale, F32)
        inputs = [x, self.const(s), self.f32(zero), self.f32(bits)]
        return self.op(op_type, inputs, lambda a, *_: quant(a, s, zero, bits, signed, narrow,
                                                             mode), attrs, domain)

    def quantize(self, x, scale, zero, kind, axis=None):
        """QuantizeLinear; scale and zero are numbers or lists along the axis."""
        dtype = {"int4": np.int8, "uint4": np.uint8}.get(kind, kind)
        s, z = np.array(scale, F32), np.array(zero, dtype)
        shape = [1] * x.frames[0].ndim
        if axis is not None:
            shape[axis] = -1
        broad = (s.reshape(shape), z.reshape(shape)) if axis is not None else (s, z)
        inputs = [x, self.const(s), self.const(z, kind)]
        q = self.op("QuantizeLinear", inputs, lambda a, *_: quantize(a, *broad, kind),
                    {} if axis is None else {"axis": axis}, dtype=dtype, kind=kind)
        return q, inputs[1], inputs[2]

    def dequantize(self, q, s, z, axis=None):
        shape = [1] * q.frames[0].ndim
        if axis is not None:
            shape[axis] = -1

        def real(a, scale, zero):
            if axis is not None:
                scale, zero = scale.reshape(shape), zero.reshape(shape)
            return (F64(a) - F64(zero)) * scale
        return self.op("DequantizeLinear", [q, s, z], real, {} if axis is None else
                       {"axis": axis}, dtype=F32)

    # Around the row's node.

    def numbers(self, shape, low, high, step=1 / 32):
        """Frames of multiples of `step`."""
        return [(self.numpy.integers(round(low / step), round(high / step) + 1, shape)
                 * step).astype(F32) for _ in range(FRAMES)]

    def around(self, function, *args):
        self.is_around = True
        try:
            return function(*args)
        finally:
            self.is_around = False

    def source(self, shape=(1, 3, 4, 4), low=-4.0, high=4.0):
        """The row's operand: a graph input, or what stands between them."""
        x = self.feed(self.numbers(shape, low, high))
        return x if self.place == INPUT else self.around(self.before, x, low >= 0)

    def before(self, x, is_positive):
        way = self.rng.choice(["Quant", "int8", "uint8"])
        scale = 1 / 32 if is_positive else 1 / 16
        if way == "Quant":
            x = self.quant(x, scale, 8, not is_positive)
        else:
            low = LIMITS[way][0]
            zero = low if is_positive else low + 128 + self.rng.choice([0, 2, 3])
            x = self.dequantize(*self.quantize(x, scale, zero, way))
        return self.mix(x, is_positive) if self.place in (SUM_BEFORE, SUM_LAST) else x

    def weights(self, shape, is_positive=False, bits=4, scale=1 / 16):
        """A quantized constant."""
        low = 1 if is_positive else 1 - 2 ** (bits - 1)
        q = self.numpy.integers(low, 2 ** (bits - 1), shape)
        if self.rng.random() < 0.5:
            return self.quant(self.f32(q * scale), scale, bits, narrow=True)
        return self.dequantize(self.const(q.astype(np.int8)), self.f32(scale),
                               self.const(np.int8(0)))

    def mix(self, x, is_positive=False):
        """Sums of products: across the channels, or along the last dimension."""
        shape = x.frames[0].shape
        if len(shape) == 4:
            w = self.weights((shape[1], shape[1], 1, 1), is_positive)
            return self.op("Conv", [x, w], lambda a, b: np.einsum("nchw,oc->nohw", a,
                                                                   b[:, :, 0, 0]),
                           {"kernel_shape": [1, 1]})
        w = self.weights((shape[-1], shape[-1]), is_positive)
        return self.op("MatMul", [x, w], np.matmul)

    def finish(self, values):
        """Quantizes the results unless the row's node is to be the last."""
        values = values if isinstance(values, list) else [values]
        if self.place not in (QUANT_LAST, SUM_LAST, "alone"):
            values = [self.around(self.behind, value) for value in values]
        for value in values:
            self.results.append(value)
            kind = INT4_TYPES.get(value.kind) or NUMBERS[value.frames[0].dtype]
            self.output(value.name, list(value.frames[0].shape), kind)

    def behind(self, x):
        if x.frames[0].dtype != F32:
            x = self.op("Cast", [x], lambda a: a, {"to": 1}, dtype=F32)
        most = max(max(np.abs(F64(a)).max() for a in x.frames), 1e-2)
        is_dyadic = self.exact and self.rng.random() < 0.6
        scale = F32(2.0 ** np.ceil(np.log2(most / 127)) if is_dyadic else most / 119.3)
        if not is_dyadic:
            self.watch(x, scale, 0, 8)
        if self.rng.random() < 0.5:
            return self.quant(x, scale)
        kind = self.rng.choice(["int8", "uint8"])
        zero = {"int8": 0, "uint8": 128}[kind]
        return self.dequantize(*self.quantize(x, scale, zero, kind))

    def encode(self):
        model = self.model(self.opset)
        model["ir_version"] = 10 if self.opset > 20 else 8
        model["opset_import"] += [{"domain": domain, "version": 1}
                                  for domain in (MICROSOFT, CHANNELS_LAST)]
        return onnx_file.encode("Model", model)

    def wanted(self):
        """The results with their frames stacked."""
        return [np.concatenate([np.atleast_1d(a) for a in value.frames])
                for value in self.results]
