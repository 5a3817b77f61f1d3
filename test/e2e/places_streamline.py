"""More rows of places_check.py: a quantized convolution, and behind it a batch
normalization, a maximum over windows, an activation and a quantizer of few bits
in every order, with gains of either sign. No floating-point arithmetic may be
left of them. What a quantizer must not pass stands beside them.

They are added to ROWS of places_rows.py.
"""
import itertools

import numpy as np

from places_graph import F32, F64, I64, QONNX
from places_rows import ALONE, add, sigmoid

CHANNELS, SIZE = 3, 6
STEPS = ("norm", "pool", "act", "quant")
GAINS = {"rising": (1, 1, 1), "falling": (-1, -1, -1), "mixed": (1, -1, 1)}


def sums(g):
    """A quantized convolution."""
    x = g.feed(g.numbers((1, 2, SIZE, SIZE), -4.0, 4.0))
    x = g.quant(x, 1 / 16)
    w = g.weights((CHANNELS, 2, 1, 1))
    return g.op("Conv", [x, w], lambda a, b: np.einsum("nchw,oc->nohw", a, b[:, :, 0, 0]),
                {"kernel_shape": [1, 1]})


def norm(g, x, gains):
    """Gains away from 1, in the way of an exporter: one node, or a product and a sum."""
    c = x.frames[0].shape[1]
    wide = (1, c) + (1,) * (x.frames[0].ndim - 2)
    scale = F32(np.resize(gains, c) * g.numpy.uniform(0.4, 1.7, c))
    bias, mean = F32(g.numpy.uniform(-0.5, 0.5, c)), F32(g.numpy.uniform(-0.5, 0.5, c))
    var = F32(g.numpy.uniform(0.5, 2.0, c))
    if g.rng.random() < 0.3:
        x = g.op("Mul", [x, g.f32(scale.reshape(wide[1:]))], np.multiply)
        return g.op("Sub", [x, g.f32(bias.reshape(wide))], np.subtract)
    p = [F64(v).reshape(wide) for v in (scale, bias, mean, var)]
    return g.op("BatchNormalization", [x, *map(g.f32, (scale, bias, mean, var))],
                lambda x, *_: p[0] * (x - p[2]) / np.sqrt(p[3] + F64(F32(1e-5))) + p[1])


def windows(x, size, stride, pad, best=np.max):
    x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)], constant_values=-np.inf)
    rows = (x.shape[2] - size) // stride + 1
    return np.array([[best(x[:, :, i * stride:i * stride + size, j * stride:j * stride + size],
                           axis=(2, 3)) for j in range(rows)]
                     for i in range(rows)]).transpose(2, 3, 0, 1)


def pool(g, x, kind=None):
    kind = kind or g.rng.choice(["MaxPool", "padded", "GlobalMaxPool", "ReduceMax", "ReduceMin"])
    if kind in ("ReduceMax", "ReduceMin"):
        keep = g.rng.randrange(2)
        best = np.max if kind == "ReduceMax" else np.min
        y = g.op(kind, [x, g.const(np.array([3], I64))],
                 lambda x, _: best(x, axis=3, keepdims=bool(keep)), {"keepdims": keep})
        return y
    if kind == "GlobalMaxPool":
        return g.op(kind, [x], lambda x: x.max(axis=(2, 3), keepdims=True))
    size, stride, pad = (3, 2, 1) if kind == "padded" else (2, 2, 0)
    return g.op("MaxPool", [x], lambda x: windows(x, size, stride, pad),
                {"kernel_shape": [size] * 2, "strides": [stride] * 2, "pads": [pad] * 4})


def act(g, x, kind=None):
    kind = kind or g.rng.choice(["Relu", "Relu", "Clip", "LeakyRelu", "Sigmoid", "Tanh", "Add", "Mul",
                         "Div", "PRelu", "Max"])
    if kind == "Relu":
        return g.op(kind, [x], lambda x: np.maximum(x, 0))
    if kind == "Clip":
        return g.op(kind, [x, g.f32(-0.3), g.f32(1.5)], lambda x, *_: np.clip(x, F64(F32(-0.3)), 1.5))
    if kind == "LeakyRelu":
        return g.op(kind, [x], lambda x: np.where(x < 0, 0.25 * x, x), {"alpha": 0.25})
    if kind == "Sigmoid":
        return g.op(kind, [x], sigmoid)
    if kind == "Tanh":
        return g.op(kind, [x], np.tanh)
    if kind == "Add":
        return g.op(kind, [g.f32(0.3), x], np.add)
    if kind == "Mul":
        return g.op(kind, [x, g.f32(0.7)], np.multiply)
    if kind == "Div":
        return g.op(kind, [x, g.f32(1.3)], np.divide)
    if kind == "Max":
        return g.op(kind, [x, g.f32(-0.4)], np.maximum)
    return g.op("PRelu", [x, g.f32(0.3)], lambda x, a: np.where(x < 0, a * x, x))


def few_bits(g, x, bits):
    """A quantizer of so many bits whose levels are all in use, in one of its forms."""
    low = min(frame.min() for frame in x.frames)
    most = max(max(np.abs(F64(frame)).max() for frame in x.frames), 1e-2)
    has_signs = low < 0 < max(frame.max() for frame in x.frames)
    form = g.rng.choice(["Quant", "Quant", "MultiThreshold", "BipolarQuant"][
        :3 + (bits == 1 and bool(has_signs))])
    if form == "BipolarQuant":
        if any(((frame != 0) & (np.abs(frame) < 1e-4 * most)).any() for frame in x.frames):
            g.redraw()
        return g.op(form, [x, g.f32(1.0)], lambda a, s: np.where(a >= 0, 1.0, -1.0) * s, {}, QONNX)
    if form == "MultiThreshold":
        steps = np.linspace(low, most, 2 ** bits + 1)[1:-1]
        rows = np.sort(F32(steps + (most - low) / 2 ** bits * g.numpy.uniform(
            -0.4, 0.4, (1, steps.size))))
        for frame in x.frames:
            if (np.abs(F64(frame)[..., None] - rows[0]) < 3e-5 * most).any():
                g.redraw()
        return g.op(form, [x, g.const(rows)],
                    lambda a, t: (a[..., None] >= t[0]).sum(-1) * 1.0, {}, QONNX)
    signed = bool(low < 0) and bits > 1
    scale = F32(most / (2 ** (bits - signed) - 0.4))
    g.watch(x, scale, 0, bits)
    return g.quant(x, scale, bits, signed)


def order(steps, bits, gains):
    def build(g):
        x = sums(g)
        for step in steps:
            if step == "norm":
                x = norm(g, x, gains)
            elif step == "quant":
                x = few_bits(g, x, bits)
            else:
                x = pool(g, x) if step == "pool" else act(g, x)
        return x if steps[-1] == "quant" else g.around(g.behind, x)
    return build


def add_orders():
    for steps in itertools.permutations(STEPS):
        for bits, (title, gains) in itertools.product(range(1, 5), GAINS.items()):
            add(f"{'-'.join(steps)}-{bits}-{title}", order(steps, bits, gains), "MaxPool",
                exact=True, places=ALONE, integers=True)

def joined(name, function, attrs=None):
    """Two pools whose results meet in front of the quantizer."""
    def build(g):
        x = sums(g)
        parts = [pool(g, norm(g, x, gains), "MaxPool") for gains in ((1, 1, 1), (1, -1, 1))]
        x = g.op(name, parts, function, attrs)
        return few_bits(g, act(g, x, "Relu"), 3)
    return build


def used_twice(g):
    x = pool(g, norm(g, sums(g), (1, -1, 1)), "MaxPool")
    return [few_bits(g, act(g, x, "Relu"), 2), few_bits(g, norm(g, x, (-1, 1, 1)), 4)]


def quantized_twice(g):
    """Two equal quantizers behind one chain."""
    x = act(g, norm(g, pool(g, sums(g), "MaxPool"), (1, -1, 1)), "Relu")
    scale = F32(max(max(frame.max() for frame in x.frames), 0.01) / 3.3)
    g.watch(x, scale, 0, 2)
    return [g.quant(x, scale, 2, False), g.quant(x, scale, 2, False)]


def pool_twice(g):
    x = pool(g, pool(g, norm(g, sums(g), (1, -1, 1)), "MaxPool"), "padded")
    return few_bits(g, x, 2)


def average(g):
    x = norm(g, sums(g), (1, -1, 1))
    x = g.op("AveragePool", [x], lambda x: windows(x, 2, 2, 0, np.mean),
             {"kernel_shape": [2, 2], "strides": [2, 2]})
    return few_bits(g, act(g, x, "Relu"), 3)


def flat(g):
    """Elements move between pool and functions."""
    x = pool(g, norm(g, sums(g), (1, -1, 1)), "GlobalMaxPool")
    x = g.op("Flatten", [x], lambda x: x.reshape(1, -1))
    x = g.op("Neg", [x], np.negative)
    return few_bits(g, act(g, x, "Clip"), 2)


def indices_too(g):
    """A place is that of the largest number, not that of the largest level."""
    def both(x):
        y = windows(x, 2, 2, 0)
        flat_index = np.arange(x.size).reshape(x.shape)
        index = np.empty(y.shape, I64)
        for at in np.ndindex(*y.shape):
            tile = (at[0], at[1], slice(2 * at[2], 2 * at[2] + 2), slice(2 * at[3], 2 * at[3] + 2))
            index[at] = flat_index[tile].ravel()[x[tile].argmax()]
        return y, index
    x = norm(g, sums(g), (1, 1, -1))
    y, index = g.op("MaxPool", [x], both, {"kernel_shape": [2, 2], "strides": [2, 2]},
                    dtype=(F32, I64), outputs=2)
    return [few_bits(g, act(g, y, "Relu"), 2), index]


def add_stops():
    """What a quantizer stops at, or what stops it: results are the same in any case."""
    def row(name, build, integers):
        add(f"streamline-{name}", build, "MaxPool", exact=True, places=ALONE, integers=integers)
    row("concat", joined("Concat", lambda *x: np.concatenate(x, 1), {"axis": 1}), False)
    row("add", joined("Add", np.add), False)
    row("two-uses", used_twice, False)
    row("equal-quantizers", quantized_twice, True)
    row("pool-pool", pool_twice, True)
    row("average", average, False)
    row("flatten", flat, True)
    row("indices", indices_too, False)


def move(g, x, kind):
    """Moves elements; a border is of zeros or of another number."""
    c, h, w = x.frames[0].shape[1:]
    if kind == "Slice":
        return g.op(kind, [x, g.const(np.array([1], I64)), g.const(np.array([5], I64)),
                           g.const(np.array([3], I64))], lambda x, *_: x[:, :, :, 1:5])
    if kind == "Reshape":
        return g.op(kind, [x, g.const(np.array([1, 2, -1], I64))],
                    lambda x, _: x.reshape(1, 2, -1))
    if kind == "Transpose":
        return g.op(kind, [x], lambda x: x.transpose(0, 3, 1, 2), {"perm": [0, 3, 1, 2]})
    if kind == "Resize":
        return g.op(kind, [x, None, g.f32([1, 1, 2, 2])],
                    lambda x, *_: x.repeat(2, 2).repeat(2, 3),
                    {"mode": "nearest", "coordinate_transformation_mode": "asymmetric",
                     "nearest_mode": "floor"})
    if kind == "SpaceToDepth":
        return g.op(kind, [x], lambda x: x.reshape(1, c, h // 2, 2, w // 2, 2).transpose(
            0, 3, 5, 1, 2, 4).reshape(1, 4 * c, h // 2, w // 2), {"blocksize": 2})
    number = 0.0 if kind == "Pad" else 0.3
    border = g.const(np.array([0, 0, 1, 0, 0, 0, 0, 2], I64))
    return g.op("Pad", [x, border, g.f32(number)], lambda x, *_: np.pad(
        x, [(0, 0), (0, 0), (1, 0), (0, 2)], constant_values=F32(number)))


def moved(kind, function):
    def build(g):
        x = move(g, norm(g, sums(g), (1, -1, 1)), kind)
        if function == "Relu-Sigmoid":
            return few_bits(g, act(g, act(g, x, "Relu"), "Sigmoid"), 2)
        return few_bits(g, act(g, x, function), 3)
    return build


def both_moved(kinds):
    def build(g):
        x = norm(g, sums(g), (1, -1, 1))
        for kind in kinds:
            x = act(g, move(g, x, kind), "LeakyRelu")
        return few_bits(g, x, 3)
    return build


def joined_then(function):
    def build(g):
        parts = [norm(g, sums(g), gains) for gains in ((1, -1, 1), (1, 1, 1))]
        x = g.op("Concat", parts, lambda *x: np.concatenate(x, 1), {"axis": 1})
        return few_bits(g, act(g, x, function), 3)
    return build


def add_moves():
    """Functions that are the same for all elements pass nodes that move these."""
    for kind, function in (("Slice", "Relu"), ("Slice", "PRelu"), ("Reshape", "Relu"),
                           ("Transpose", "Clip"), ("Resize", "Relu"), ("SpaceToDepth", "Tanh"),
                           ("Pad", "Relu"), ("Pad", "Sigmoid"), ("Pad", "Add"),
                           ("Pad-number", "LeakyRelu"), ("Pad-number", "Relu-Sigmoid")):
        add(f"streamline-{kind}-{function}", moved(kind, function), kind.split("-")[0], exact=True,
            places=ALONE, integers=True)
    for kinds in (("Slice", "Reshape"), ("Transpose", "Slice"), ("Resize", "SpaceToDepth")):
        add(f"streamline-{'-'.join(kinds)}", both_moved(kinds), kinds[0], exact=True, places=ALONE,
            integers=True)
    for function in ("Relu", "Sigmoid"):
        add(f"streamline-Concat-{function}", joined_then(function), "Concat", exact=True,
            places=ALONE, integers=True)


def hard_swish(g, x, form):
    """x * clip(x + 3, 0, 6) / 6, or half of x * (1 + tanh), as exporters write them out."""
    gate = g.op("Add", [x, g.f32(3.0)], np.add)
    gate = g.op("Clip", [gate, g.f32(0.0), g.f32(6.0)], lambda x, *_: np.clip(x, 0.0, 6.0))
    if form == "div-last":
        return g.op("Div", [g.op("Mul", [x, gate], np.multiply), g.f32(6.0)], np.divide)
    gate = g.op("Div", [gate, g.f32(6.0)], np.divide)
    return g.op("Mul", [gate, x] if form == "gate-first" else [x, gate], np.multiply)


def tanh_gate(g, x):
    cube = g.op("Mul", [x, g.op("Mul", [x, x], np.multiply)], np.multiply)
    inner = g.op("Add", [x, g.op("Mul", [cube, g.f32(0.0625)], np.multiply)], np.add)
    gate = g.op("Add", [g.op("Tanh", [inner], np.tanh), g.f32(1.0)], np.add)
    return g.op("Mul", [g.op("Mul", [x, g.f32(0.5)], np.multiply), gate], np.multiply)


def with_itself(function, *args):
    return lambda g: few_bits(g, function(g, sums(g), *args), 3)


def add_joins():
    """Functions in which a tensor meets itself, of sums at a power of two."""
    for form in ("div-last", "gate-last", "gate-first"):
        add(f"streamline-hard-swish-{form}", with_itself(hard_swish, form), "HardSwish",
            exact=True, places=ALONE, integers=True)
    add("streamline-tanh-gate", with_itself(tanh_gate), "Gelu", exact=True, places=ALONE,
        integers=True)


for section in (add_orders, add_stops, add_moves, add_joins):
    section()
