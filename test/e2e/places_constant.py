"""More rows of places_check.py: layers of which every activation is one number, whatever the frame,
because a quantizer saturates, thresholds are out of reach, a factor or all weights are zero, or a
clip leaves nothing; and what may follow them.

They are added to ROWS of places_rows.py.
"""
import numpy as np

from places_graph import F32, F64, QONNX
from places_rows import ALONE, add, softmax
from places_streamline import sums, windows


def zero_factor(g, x):
    return g.op("Mul", [x, g.f32(0.0)], np.multiply)


def saturated(g, x):
    return g.quant(g.op("Add", [x, g.f32(1000.0)], np.add), 1 / 16)


def coarse(g, x):
    return g.quant(x, 4096.0)


def out_of_reach(g, x):
    rows = F32(np.array([[1e4, 2e4, 3e4]]))
    return g.op("MultiThreshold", [x, g.const(rows)],
                lambda a, t: (a[..., None] >= t[0]).sum(-1) * 1.0, {}, QONNX)


def closed_clip(g, x):
    return g.quant(g.op("Clip", [x, g.f32(0.5), g.f32(0.5)], lambda a, *_: np.clip(a, 0.5, 0.5)),
                   1 / 16)


def dead_relu(g, x):
    x = g.op("Relu", [g.op("Sub", [x, g.f32(1000.0)], np.subtract)], lambda a: np.maximum(a, 0))
    return g.quant(x, 1 / 16, 4, False)


def positive(g, x):
    return g.op("BipolarQuant", [g.op("Add", [x, g.f32(1000.0)], np.add), g.f32(1.0)],
                lambda a, s: np.where(a >= 0, 1.0, -1.0) * s, {}, QONNX)


def no_weights(g, x):
    w = g.quant(g.f32(np.zeros((3, 3, 1, 1))), 1 / 16, 4, narrow=True)
    x = g.op("Conv", [x, w, g.f32([0.5, -0.25, 0.0])],
             lambda a, w, b: a * 0 + b[:, None, None], {"kernel_shape": [1, 1]})
    return g.quant(x, 1 / 16)


CONSTANTS = (zero_factor, saturated, coarse, out_of_reach, closed_clip, dead_relu, positive,
             no_weights)


def conv(g, _, c):
    return g.mix(c)


def window(g, _, c):
    w = g.weights((2, 3, 3, 3))
    def function(a, w):
        a = np.pad(a, [(0, 0), (0, 0), (1, 1), (1, 1)])
        views = np.lib.stride_tricks.sliding_window_view(a, (3, 3), (2, 3))
        return np.einsum("nchwij,ocij->nohw", views, w)
    return g.op("Conv", [c, w], function, {"kernel_shape": [3, 3], "pads": [1] * 4})


def gemm(g, _, c):
    size = int(np.prod(c.frames[0].shape))
    flat = g.op("Flatten", [c], lambda a: a.reshape(1, -1))
    return g.op("Gemm", [flat, g.weights((size, 4))], np.matmul)


def residual(g, x, c):
    return g.op("Add", [g.quant(x, 1 / 4), c], np.add)


def joined(g, x, c):
    return g.op("Concat", [g.quant(x, 1 / 4), c], lambda *a: np.concatenate(a, 1), {"axis": 1})


def padded_pool(g, _, c):
    return g.op("MaxPool", [c], lambda a: windows(a, 3, 2, 1),
                {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4})


def mean(g, _, c):
    return g.op("GlobalAveragePool", [c], lambda a: a.mean((2, 3), keepdims=True))


def shares(g, _, c):
    return g.op("Softmax", [c], lambda a: softmax(a, 1), {"axis": 1})


def both(g, x, c):
    return [g.op("Relu", [g.mix(g.quant(x, 1 / 4))], lambda a: np.maximum(a, 0)), c]


def nothing(_, __, c):
    return c


USES = (conv, window, gemm, residual, joined, padded_pool, mean, shares, both, nothing)


def layer(constant, use):
    def build(g):
        x = sums(g)
        y = use(g, x, constant(g, x))
        return [g.around(g.behind, v) for v in y] if isinstance(y, list) else g.around(g.behind, y)
    return build


def add_layers():
    for constant in CONSTANTS:
        for use in USES:
            add(f"constant-{constant.__name__}-{use.__name__}", layer(constant, use), "Conv",
                places=ALONE, exact=use is not shares)


add_layers()
