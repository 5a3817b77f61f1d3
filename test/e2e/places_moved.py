"""More rows of places_check.py: an activation behind a convolution whose arithmetic is put off until
its result is needed, which is behind a Transpose, a Flatten or both, in floating point or by a
quantizer. Constants of the activation that differ from channel to channel move with the channels.

They are added to ROWS of places_rows.py.
"""
import numpy as np

from places_graph import F32, F64
from places_rows import ALONE, add, sigmoid

SIZE = 3                                # as many rows and columns as channels
PARAMS = F32(np.array([0.3, 0.5, -0.2]).reshape(3, 1, 1))


def sums(g):
    x = g.quant(g.feed(g.numbers((1, 2, SIZE, SIZE), -4.0, 4.0)), 1 / 16)
    return g.op("Conv", [x, g.weights((3, 2, 1, 1))],
                lambda a, b: np.einsum("nchw,oc->nohw", a, b[:, :, 0, 0]), {"kernel_shape": [1, 1]})


def smooth(g, x):
    return g.op("Sigmoid", [x], sigmoid)


def clip(g, x):
    return g.op("Clip", [x, g.f32(-0.5), g.f32(0.5)], lambda a, *_: np.clip(a, -0.5, 0.5))


def add_channels(g, x):
    return g.op("Add", [smooth(g, x), g.f32(PARAMS)], np.add)


def prelu(g, x):
    return g.op("PRelu", [x, g.f32(PARAMS)], lambda a, s: np.where(a < 0, a * s, a))


def most(g, x):
    return g.op("Max", [x, g.f32(PARAMS)], np.maximum)


def most_of_one(g, x):
    return g.op("Max", [x, g.f32(np.full((1, 1, 1, 1), 0.25))], np.maximum)


def no_factor(g, x):
    return g.op("Mul", [x, g.f32(0.0)], np.multiply)


def norm(g, x):
    def function(a, *params):
        scale, bias, mean, var = (p[:, None, None] for p in params)
        return scale * (a - mean) / np.sqrt(var + F64(F32(1e-5))) + bias
    return g.op("BatchNormalization", [smooth(g, x), g.f32([1.0, 2.0, 3.0]),
                                       g.f32([0.1, 0.2, 0.3]), g.f32([0.0, 0.5, 0.1]),
                                       g.f32([1.0, 1.0, 2.0])], function)


def swish(g, x):
    return g.op("Mul", [x, smooth(g, x)], np.multiply)


def transposed(g, x):
    return g.op("Transpose", [x], lambda a: a.transpose(0, 2, 3, 1), {"perm": [0, 2, 3, 1]})


def flat(g, x):
    return g.op("Flatten", [x], lambda a: a.reshape(1, -1))


def transposed_flat(g, x):
    return flat(g, transposed(g, x))


def as_it_is(_, x):
    return x


def product(g, x):
    return g.op("MatMul", [x, g.weights((x.frames[0].shape[-1], 4))], np.matmul)


def quantized(g, x):
    return g.around(g.behind, x)


ACTIVATIONS = (smooth, clip, add_channels, prelu, most, most_of_one, no_factor, norm, swish)
MOVES = (transposed, flat, transposed_flat)
ENDS = (as_it_is, product, quantized)


def add_moves():
    for act in ACTIVATIONS:
        for move in MOVES:
            for end in ENDS:
                add(f"moved-{act.__name__}-{move.__name__}-{end.__name__}",
                    lambda g, f=act, m=move, e=end: e(g, m(g, f(g, sums(g)))), "Conv",
                    places=ALONE, exact=end is quantized)


add_moves()
