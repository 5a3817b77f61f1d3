"""Networks that are built and evaluated at the same time: every method adds a
node to the file and computes its value by numpy_ops.py.

A Value has the frames of the whole input in its first dimension, while the file
says 1 or a name. Forms that changed between opsets are written as the model's
opset demands.
"""
import dataclasses

import numpy as np

import numpy_ops as ops
import onnx_file
from qonnx_builder import QUANT_DOMAIN, QonnxBuilder

F32 = np.float32
MICROSOFT = "com.microsoft"
INT4_TYPES = {"uint4": 21, "int4": 22}


@dataclasses.dataclass
class Value:
    name: str
    array: np.ndarray


@dataclasses.dataclass
class Integers:
    """Quantized integers with their parameters, which are constants."""
    name: str
    array: np.ndarray
    scale: Value
    zero: Value

    def real(self):
        return ops.dequantize_linear(self.array, self.scale.array, self.zero.array)

    def arguments(self):
        return [self.name, self.scale.name, self.zero.name]


def int4_tensor(name, array, kind):
    """A tensor of 4-bit integers, two to a byte."""
    flat = np.append(np.ravel(array), np.zeros(array.size % 2, array.dtype)) & 15
    packed = (flat[0::2] | flat[1::2] << 4).astype(np.uint8)
    return {"name": name, "data_type": INT4_TYPES[kind], "dims": list(array.shape),
            "raw_data": packed.tobytes()}


class Network:
    """A network under construction. `rng` draws its shape, `numpy` its numbers;
    with `dyadic` every scale is a power of two, so that float32 is exact."""

    def __init__(self, name, rng, opset=13, dyadic=False, frames=2):
        self.rng, self.opset, self.dyadic, self.frames = rng, opset, dyadic, frames
        self.numpy = np.random.default_rng(rng.getrandbits(32))
        self.file = QonnxBuilder(name, rng.choice(["raw", "typed", "node"]),
                                 rng.choice([(), (1,)]))
        self.batch = rng.choice([1, "N"])
        self.source = self.result = None
        self.units = {}                 # scales of dequantized values by name
        self.macs = 0                   # multiply-accumulate operations of an image
        self.images = 1                 # in a frame
        self.flags = []                 # of ming for this model

    # Nodes.

    def node(self, op_type, inputs, array, attrs=None, domain=""):
        names = ["" if value is None else getattr(value, "name", value) for value in inputs]
        while names and not names[-1]:
            names.pop()
        return Value(self.file.node(op_type, names, attrs, domain), array)

    def constant(self, array, hint="c", kind=None):
        array = np.asarray(array)
        if kind not in INT4_TYPES:
            return Value(self.file.constant(hint, array), array)
        name = self.file.fresh(hint)
        self.file.graph["initializer"].append(int4_tensor(name, array, kind))
        return Value(name, array.astype(np.int64))

    def floats(self, *values):
        return self.constant(np.array(values, F32), "floats")

    def indices(self, *values):
        return self.constant(np.array(values, np.int64), "indices")

    # The boundary.

    def input(self, shape, low=-2.0, high=2.0, name="x"):
        """Frames in sixteenths, which hold exactly in float32."""
        steps = self.numpy.integers(int(low * 16), int(high * 16) + 1, (self.frames, *shape))
        array = (steps / 16).astype(F32)
        self.file.input(name, [self.batch, *shape])
        self.source = Value(name, array)
        return self.source

    def output(self, value, elem_type=onnx_file.FLOAT):
        self.result = value
        self.file.output(value.name, [self.batch, *value.array.shape[1:]], elem_type)

    def encode(self):
        model = self.file.model(self.opset)
        model["ir_version"] = 10 if self.opset > 20 else 8
        model["opset_import"].append({"domain": MICROSOFT, "version": 1})
        model["opset_import"].append({"domain": "qonnx.custom_op.channels_last", "version": 1})
        return onnx_file.encode("Model", model)

    # Scales.

    def scale(self, largest, steps, spread=1.0):
        """One by which `largest` takes a little less than so many steps: its quotient
        shall not be an integer but for the last digit."""
        raw = max(float(largest), 1e-3) / steps * spread * 1.0137
        return F32(2.0 ** np.ceil(np.log2(raw)) if self.dyadic else raw)

    def scales(self, count, largest, steps):
        return np.array([self.scale(largest, steps, self.rng.uniform(0.4, 1.6))
                         for _ in range(count)], F32)

    # Quantizers.

    def qdq(self, x, kind="uint8", clip=None, axis=None):
        """QuantizeLinear, for QCDQ a Clip, DequantizeLinear. Unsigned integers
        have a zero point where there are negative values. With an axis every
        index along it has a scale."""
        return self.dequantize(self.quantize(x, kind, clip, axis), 1 if axis is None else axis)

    def quantize(self, x, kind="uint8", clip=None, axis=None):
        low, high = clip or ops.INTEGER_TYPES[kind]
        least, most = float(min(x.array.min(), 0)), float(max(x.array.max(), 0))
        if low < 0 and clip is None:
            scale, zero = self.scale(max(most, -least), high), self.rng.choice([0, 0, 2])
        elif low < 0:
            scale, zero = self.scale(max(most, -least), high), 0
        else:
            scale = self.scale(most - least, high - low)
            zero = int(np.clip(np.rint(-least / scale), low, high) if least < 0 else low)
            zero -= zero % 2
        if axis is not None:
            scale = self.scales(x.array.shape[axis], max(most, -least), high)
            zero = [zero] * len(scale)
        dtype = {"int4": np.int8, "uint4": np.uint8}.get(kind, kind)
        scale = self.constant(F32(scale), "scale")
        zero = self.constant(np.array(zero, dtype), "zero", kind)
        attrs = {} if axis is None else {"axis": axis}
        along = 1 if axis is None else axis
        array = ops.quantize_linear(x.array, scale.array, zero.array, along, kind)
        q = self.node("QuantizeLinear", [x, scale, zero], array, attrs)
        if clip:
            bounds = [self.constant(np.array(value, dtype)) for value in clip]
            q = self.node("Clip", [q, *bounds], np.clip(array, *clip))
        return Integers(q.name, q.array, scale, zero)

    def asymmetric(self, x, floor=None):
        """QuantizeLinear and DequantizeLinear in int8 or uint8 with a zero point for
        the range of x, or of what is above `floor`."""
        kind = self.rng.choice(["int8", "uint8"])
        low, high = ops.INTEGER_TYPES[kind]
        least = min(float(x.array.min()), 0.0) if floor is None else floor
        scale = self.scale(max(float(x.array.max()), 0.0) - least, high - low)
        point = int(np.clip(np.rint(low - least / scale), low, high))
        scale, zero = self.constant(scale, "scale"), self.constant(np.array(point, kind), "zero")
        q = self.node("QuantizeLinear", [x, scale, zero],
                      ops.quantize_linear(x.array, scale.array, zero.array))
        return self.dequantize(Integers(q.name, q.array, scale, zero))

    def integer_bias(self, x, weight, count):
        """int32 with the scales of the sum that it is added to; x is dequantized."""
        scale = self.constant((self.units[x.name] * weight.scale.array).astype(F32), "scale")
        q = self.constant(self.numpy.integers(-300, 300, count).astype(np.int32), "bias")
        zero = self.constant(np.zeros(count, np.int32), "zero")
        return self.dequantize(Integers(q.name, q.array, scale, zero), 0)

    def dequantize(self, q, axis=1):
        attrs = {"axis": axis} if q.scale.array.size > 1 else {}
        array = ops.dequantize_linear(q.array, q.scale.array, q.zero.array, axis)
        x = self.node("DequantizeLinear", [q, q.scale, q.zero], array, attrs)
        self.units[x.name] = q.scale.array
        return x

    def random_weight(self, shape, bits, narrow=True):
        low = -2 ** (bits - 1) + narrow
        return self.numpy.integers(low, 2 ** (bits - 1), shape)

    def weight_integers(self, shape, axis, bits=8, kind="int8", per_channel=True):
        """Integers of a quantized weight; unsigned ones have a zero point."""
        q = self.random_weight(shape, bits)
        zero = 0
        if kind.startswith("u"):
            zero = 2 ** (bits - 1)
            q = q + zero
        fan_in = np.prod(shape) / shape[axis]
        count = shape[axis] if per_channel else 1
        scale = self.scales(count, 2 / np.sqrt(fan_in), 2 ** (bits - 1))
        zeros = np.full(count, zero)
        if not per_channel:
            scale, zeros = scale[0], zeros[0]
        dtype = {"int4": np.int8, "uint4": np.uint8}.get(kind, kind)
        weight = self.constant(q.astype(dtype), "weight", kind)
        return Integers(weight.name, q, self.constant(scale, "scale"),
                        self.constant(np.array(zeros, dtype), "zero", kind))

    def weight(self, shape, axis=0, **options):
        return self.dequantize(self.weight_integers(shape, axis, **options), axis)

    def quant(self, x, bits, signed=True, narrow=False, rounding="ROUND", axis=None):
        """A Quant on an activation, or on a constant of float weights."""
        steps = 2 ** (bits - signed) - 1 if bits > 1 else 1
        largest = np.abs(x.array).max()
        if axis is None:
            scale = np.asarray(self.scale(largest, steps))
        else:
            scale = ops.along(self.scales(x.array.shape[axis], largest, steps), axis,
                              x.array.ndim)
        return self.quant_by(x, scale, bits, signed, narrow, rounding)

    def quant_by(self, x, scale, bits, signed=True, narrow=False, rounding="ROUND"):
        attrs = {"signed": int(signed), "narrow": int(narrow), "rounding_mode": rounding}
        parameters = [self.constant(F32(value), hint) for hint, value in
                      (("scale", scale), ("zeropt", 0), ("bits", bits))]
        array = ops.quant(x.array, scale, 0, bits, attrs)
        return self.node("Quant", [x, *parameters], array, attrs, QUANT_DOMAIN)

    def bipolar_by(self, x, scale):
        scale = self.constant(F32(scale), "scale")
        return self.node("BipolarQuant", [x, scale], ops.bipolar_quant(x.array, scale.array, {}),
                         {}, QUANT_DOMAIN)

    def quant_weight(self, shape, bits, axis=0, **options):
        """Weights, quantized by a Quant as Brevitas exports them; some files store small
        integers."""
        fan_in = np.prod(shape) / shape[axis or 0]
        reals = self.numpy.normal(0, 1 / np.sqrt(fan_in), shape).astype(F32)
        if self.rng.random() < 0.2:
            reals = np.rint(reals * 2 * np.sqrt(fan_in)).astype(np.int8)
        if bits == 1:
            scale = F32(np.abs(reals).mean() if not self.dyadic else 0.25)
            return self.bipolar_by(self.constant(reals, "weight"), scale)
        return self.quant(self.constant(reals, "weight"), bits, axis=axis, narrow=True, **options)

    # Sums of products.

    def multiplies(self, elements, products):
        """Counts so many products for each element of all frames."""
        self.macs += elements.size // self.frames * int(products)

    def conv(self, x, weight, bias=None, **attrs):
        attrs = {"kernel_shape": list(weight.array.shape[2:]), **attrs}
        array = ops.conv(x.array, weight.array, None if bias is None else bias.array, attrs)
        self.multiplies(array, np.prod(weight.array.shape[1:]))
        return self.node("Conv", [x, weight, bias], array, attrs)

    def conv_transpose(self, x, weight, bias=None, **attrs):
        attrs = {"kernel_shape": list(weight.array.shape[2:]), **attrs}
        array = ops.conv_transpose(x.array, weight.array, None if bias is None else bias.array,
                                   attrs)
        self.multiplies(x.array, np.prod(weight.array.shape[1:]))
        return self.node("ConvTranspose", [x, weight, bias], array, attrs)

    def depth_to_space(self, x, size, mode="DCR"):
        array = ops.depth_to_space(x.array, size, mode)
        attrs = {"blocksize": size, **({} if mode == "DCR" else {"mode": mode})}
        return self.node("DepthToSpace", [x], array, attrs)

    def space_to_depth(self, x, size):
        return self.node("SpaceToDepth", [x], ops.space_to_depth(x.array, size), {"blocksize": size})

    def gemm(self, x, weight, bias=None, **attrs):
        array = ops.gemm(x.array, weight.array, None if bias is None else bias.array, attrs)
        self.multiplies(array, x.array.shape[1])
        return self.node("Gemm", [x, weight, bias], array, attrs)

    def matmul(self, a, b):
        array = ops.matmul(a.array, b.array, {})
        self.multiplies(array, a.array.shape[-1])
        return self.node("MatMul", [a, b], array)

    def bias(self, count, unit=None):
        """Floats, or with a unit an integer multiple of it."""
        if unit is None and not self.dyadic:
            return self.constant(self.numpy.uniform(-0.3, 0.3, count).astype(F32), "bias")
        steps = self.numpy.integers(-99, 100, count)
        return self.constant((steps * (1 / 256 if unit is None else unit)).astype(F32), "bias")

    # Element by element, and windows.

    def binary(self, op_type, a, b):
        return self.node(op_type, [a, b], ops.binary(op_type, a.array, b.array))

    def relu(self, x):
        return self.node("Relu", [x], np.maximum(x.array, F32(0)))

    def clip(self, x, low, high):
        """Bounds are attributes below opset 11."""
        array = np.clip(x.array, F32(low), F32(high))
        if self.opset < 11:
            return self.node("Clip", [x], array, {"min": float(low), "max": float(high)})
        return self.node("Clip", [x, *(self.constant(F32(b)) for b in (low, high))], array)

    def batch_norm(self, x, copies=0):
        """Statistics like a trained network's; dyadic ones exactly so. copies: so many last channels have
        the parameters of the one in front of them."""
        channels = x.array.shape[1]
        axes = tuple(i for i in range(x.array.ndim) if i != 1)
        mean, var = x.array.mean(axes), x.array.var(axes) + 0.05
        scale = self.numpy.uniform(-0.4, 1.6, channels)
        bias = self.numpy.uniform(-0.5, 0.5, channels)
        if self.dyadic:
            scale, bias = 2.0 ** np.rint(scale), np.rint(bias * 8) / 8
            mean, var = np.rint(mean * 8) / 8, 4.0 ** np.ceil(np.log2(var) / 2)
        parameters = [np.concatenate([a[:channels - copies], a[channels - copies - 1].repeat(copies)])
                      for a in (scale, bias, mean, var)]
        parameters = [self.constant(a.astype(F32)) for a in parameters]
        attrs = {"epsilon": 0.0 if self.dyadic else 1e-5, "momentum": 0.9}
        if self.opset < 9:
            attrs["spatial"] = 1
        array = ops.batch_normalization(x.array, *(p.array for p in parameters), attrs)
        return self.node("BatchNormalization", [x, *parameters], array, attrs)

    def max_pool(self, x, kernel=2, stride=2, pad=0):
        """pad: on each side, or as ONNX has them."""
        pads = list(pad) if isinstance(pad, tuple) else [pad] * 4
        attrs = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": pads}
        return self.node("MaxPool", [x], ops.max_pool(x.array, attrs), attrs)

    def average_pool(self, x, kernel, stride, **attrs):
        attrs = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, **attrs}
        return self.node("AveragePool", [x], ops.average_pool(x.array, attrs), attrs)

    def global_average(self, x):
        return self.node("GlobalAveragePool", [x], ops.global_average_pool(x.array, {}))

    def reduce_mean(self, x, axes, keep):
        array, attrs = ops.reduce_mean(x.array, axes, keep), {"keepdims": int(keep)}
        if self.opset < 18:
            return self.node("ReduceMean", [x], array, {"axes": list(axes), **attrs})
        return self.node("ReduceMean", [x, self.indices(*axes)], array, attrs)

    # The same elements elsewhere.

    def split(self, x):
        """Halves of the channels."""
        half = x.array.shape[1] // 2
        name = self.file.fresh("split")
        sizes = [] if self.opset < 13 or self.opset > 17 else [self.indices(half, half)]
        attrs = {"axis": 1, **({"num_outputs": 2} if self.opset > 17 else {})}
        left = self.node("Split", [x, *sizes], x.array[:, :half], attrs)
        self.file.graph["node"][-1]["output"].append(name)
        return left, Value(name, x.array[:, half:])

    def reshape(self, x, *dims):
        """To the dimensions behind the batch."""
        return self.node("Reshape", [x, self.indices(0, *dims)],
                         x.array.reshape(self.frames, *dims))

    def flatten(self, x):
        """One of the ways in which exporters write it."""
        array = x.array.reshape(self.frames, -1)
        way = self.rng.choice(["flatten", "zero", "minus", "shape"])
        if way == "flatten":
            return self.node("Flatten", [x], array, {"axis": 1})
        if way == "zero":
            return self.node("Reshape", [x, self.indices(0, -1)], array)
        if way == "minus":
            return self.node("Reshape", [x, self.indices(-1, array.shape[1])], array)
        return self.flatten_by_shape(x, array)

    def flatten_by_shape(self, x, array):
        """torch's x.view(x.size(0), -1): Shape, Gather, Unsqueeze, Concat, Reshape."""
        shape = self.node("Shape", [x], None)
        batch = self.node("Gather", [shape, self.constant(np.int64(0))], None, {"axis": 0})
        batch = self.unsqueeze(batch, [0], None)
        shape = self.node("Concat", [batch, self.indices(-1)], None, {"axis": 0})
        return self.node("Reshape", [x, shape], array)

    def unsqueeze(self, x, axes, array):
        if self.opset < 13:
            return self.node("Unsqueeze", [x], array, {"axes": axes})
        return self.node("Unsqueeze", [x, self.indices(*axes)], array)

    def squeeze(self, x, axes):
        array = x.array.squeeze(tuple(axes))
        if self.opset < 13:
            return self.node("Squeeze", [x], array, {"axes": axes})
        return self.node("Squeeze", [x, self.indices(*axes)], array)

    def transpose(self, x, *perm):
        return self.node("Transpose", [x], x.array.transpose(perm), {"perm": list(perm)})

    def pad(self, x, pads):
        """`pads` as ONNX has them; an attribute below opset 11."""
        rank = x.array.ndim
        array = np.pad(x.array, list(zip(pads[:rank], pads[rank:])))
        if self.opset < 11:
            return self.node("Pad", [x], array, {"pads": list(pads), "mode": "constant"})
        return self.node("Pad", [x, self.indices(*pads), self.constant(F32(0))], array)

    def concat(self, values, axis=1):
        array = np.concatenate([value.array for value in values], axis)
        return self.node("Concat", values, array, {"axis": axis})

    def upsample(self, x, factor=2):
        """Nearest by scales or by sizes, as the opset has it."""
        array = ops.resize_nearest(x.array, factor)
        scales = self.floats(1, 1, factor, factor)
        if self.opset < 10:
            return self.node("Upsample", [x, scales], array, {"mode": "nearest"})
        if self.opset == 10:
            return self.node("Resize", [x, scales], array, {"mode": "nearest"})
        attrs = {"mode": "nearest", "nearest_mode": "floor",
                 "coordinate_transformation_mode": "asymmetric"}
        if self.rng.random() < 0.5:
            attrs = {"mode": "nearest"}                 # half_pixel, round_prefer_floor
        roi = self.floats() if self.opset < 13 else None
        if self.rng.random() < 0.5:
            return self.node("Resize", [x, roi, scales], array, attrs)
        none = self.floats() if self.opset < 13 else None
        sizes = self.indices(1, *array.shape[1:])
        return self.node("Resize", [x, roi, none, sizes], array, attrs)

    # ONNX Runtime's operators on integers.

    def requantized(self, op_type, inputs, reals, domain=MICROSOFT, attrs=None, kind="uint8"):
        """A node on integers, with the result's scale and zero point where None stands
        in `inputs`. The zero point is even: ONNX Runtime's QLinearAdd adds it before
        it rounds, which decides ties."""
        low, high = ops.INTEGER_TYPES[kind]
        least, most = min(float(reals.min()), 0.0), max(float(reals.max()), 0.0)
        scale = self.scale(most - least, high - low)
        point = int(np.clip(np.rint(low - least / scale), low, high))
        point -= point % 2
        scale, zero = self.constant(scale, "scale"), self.constant(np.array(point, kind), "zero")
        at = inputs.index(None)
        names = [getattr(value, "name", value)
                 for value in [*inputs[:at], scale, zero, *inputs[at + 1:]]]
        array = ops.quantize_linear(reals, scale.array, zero.array)
        name = self.file.node(op_type, names, attrs, domain)
        return Integers(name, array, scale, zero)
