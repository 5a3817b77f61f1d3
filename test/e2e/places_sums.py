"""More rows of places_check.py: sums over any indices, normalizations, operators
that depend on positions, and activations that came with later opsets.

They are added to ROWS of places_rows.py.
"""
import numpy as np

from places_graph import F32, F64, FRAMES, I64, QUANT_LAST, SUM_LAST
from places_rows import ALONE, add, indices, moving, numbers, sigmoid, type_row, unary


def add_activations():
    tanh_of_softplus = lambda x: np.tanh(np.log1p(np.exp(x)))
    unary("Mish", lambda x: x * tanh_of_softplus(x))
    for alpha in (1.0, 0.5):
        unary("Celu", lambda x, a=alpha: np.maximum(x, 0) + np.minimum(a * np.expm1(x / a), 0),
              f"Celu-{alpha}", {} if alpha == 1 else {"alpha": alpha})
    for alpha in (1.0, 1.5, -0.75):
        unary("Swish", lambda x, a=alpha: x * sigmoid(a * x), f"Swish-{alpha}",
              {} if alpha == 1 else {"alpha": alpha})
    for alpha in (1.0, 0.25, -0.5):
        unary("ThresholdedRelu", lambda x, a=alpha: np.where(x > a, x, 0),
              f"ThresholdedRelu-{alpha}", {} if alpha == 1 else {"alpha": alpha}, True)
    for lambd, bias in ((0.5, 0.0), (1.5, 1.5), (1.0, 0.25), (0.25, 2.0)):
        unary("Shrink", lambda x, c=lambd, b=bias: np.where(x < -c, x + b,
                                                            np.where(x > c, x - b, 0)),
              f"Shrink-{lambd}-{bias}", {"lambd": lambd, "bias": bias}, True)
    unary("Sin", np.sin)
    unary("Cos", np.cos)


def einsum(title, equation, shapes, weights=(), exact=True, **source):
    """Operands that stream, of these shapes; those numbered in `weights` are constants."""
    def build(g):
        values = [g.around(g.weights, shape) if i in weights else g.source(shape, **source)
                  for i, shape in enumerate(shapes)]
        return g.op("Einsum", values, lambda *x: np.einsum(equation, *x), {"equation": equation})
    add(f"Einsum-{title}", build, "Einsum", exact=exact)


def add_einsums():
    einsum("matmul", "bij,jk->bik", [(1, 5, 6), (6, 4)], {1})
    einsum("batch", "bij,bjk->bik", [(1, 3, 5), (1, 5, 4)])
    einsum("scores", "bhid,bhjd->bhij", [(1, 2, 3, 4), (1, 2, 5, 4)])
    einsum("values", "bhij,bhjd->bihd", [(1, 2, 3, 5), (1, 2, 5, 4)])
    einsum("heads", "bnd,hdk->bhnk", [(1, 4, 6), (2, 6, 3)], {1})
    einsum("join", "bhnk,hkd->bnd", [(1, 2, 4, 3), (2, 3, 6)], {1})
    einsum("transpose", "bij->bji", [(1, 3, 5)])
    einsum("implicit", "cab", [(1, 3, 5)])
    einsum("implicit-sum", "bij,jk", [(1, 5, 6), (6, 4)], {1})
    einsum("sum", "bij->b", [(1, 3, 5)])
    einsum("diagonal", "bii->bi", [(1, 4, 4)])
    einsum("trace", "bii->b", [(1, 4, 4)])
    einsum("outer", "bi,bj->bij", [(1, 3), (1, 5)])
    einsum("dot", "bi,bi->b", [(1, 6), (1, 6)])
    einsum("elements", "bij,bij->bij", [(1, 3, 5), (1, 3, 5)])
    einsum("ellipsis", "b...j,jk->b...k", [(1, 3, 2, 6), (6, 4)], {1})
    einsum("ellipsis-implicit", "...ij,...jk", [(1, 2, 3, 4), (1, 2, 4, 5)])
    einsum("ellipsis-broadcast", "...ij,...j->...i", [(1, 2, 3, 4), (1, 1, 4)])
    einsum("three", "bi,ij,jk->bk", [(1, 5), (5, 4), (4, 3)], {1, 2})
    einsum("three-streams", "bi,bj,bk->bijk", [(1, 2), (1, 3), (1, 2)], exact=False)
    einsum("own-sum", "bij,bkl->bi", [(1, 3, 5), (1, 2, 3)], exact=False)
    einsum("spaces", " b i , i j -> b j ", [(1, 5), (5, 4)], {1})
    einsum("capitals", "Bi,iC->BC", [(1, 5), (5, 4)], {1})


def normalized(x, axes, epsilon):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + epsilon)


def grouped(x, groups, epsilon):
    rows = x.reshape(x.shape[0], groups, -1)
    return normalized(rows, 2, epsilon).reshape(x.shape)


def local_response(x, size, alpha, beta, bias):
    low = (size - 1) // 2
    out = np.empty_like(x)
    for c in range(x.shape[1]):
        window = x[:, max(c - low, 0):c + size - low]
        out[:, c] = x[:, c] / (bias + alpha / size * (window ** 2).sum(1)) ** beta
    return out


def add_norms():
    for opset, groups in ((18, 3), (21, 3), (21, 1), (23, 6), (18, 6)):
        def group_norm(g, opset=opset, groups=groups):
            g.opset = opset
            count = groups if opset == 18 else 6
            scale, bias = (g.f32(g.numpy.uniform(0.5, 1.5, count)) for _ in range(2))
            def norm(x, s, b):
                s, b = (np.repeat(v, 6 // v.size).reshape(1, 6, 1, 1) for v in (s, b))
                return grouped(x, groups, 1e-5) * s + b
            return g.op("GroupNormalization", [g.source((1, 6, 4, 4)), scale, bias], norm,
                        {"num_groups": groups})
        add(f"GroupNormalization-{opset}-{groups}", group_norm, "GroupNormalization")
    for axis, shape in ((-1, (1, 4, 6)), (1, (1, 4, 6))):
        def rms(g, axis=axis, shape=shape):
            g.opset = 23
            scale = g.f32(g.numpy.uniform(0.5, 1.5, shape[axis:]))
            axes = tuple(range(axis % 3, 3))
            return g.op("RMSNormalization", [g.source(shape), scale], lambda x, s: x / np.sqrt(
                (x * x).mean(axes, keepdims=True) + 1e-5) * s, {"axis": axis})
        add(f"RMSNormalization{axis}", rms, "RMSNormalization")
    for size, attrs in ((3, {}), (2, {"alpha": 0.5, "beta": 0.5, "bias": 2.0}),
                        (5, {"alpha": 0.25})):
        def lrn(g, size=size, attrs=attrs):
            alpha, beta, bias = (attrs.get(key, default) for key, default in
                                 (("alpha", F64(F32(1e-4))), ("beta", 0.75), ("bias", 1.0)))
            return g.op("LRN", [g.source((1, 4, 3, 3))], lambda x: local_response(
                x, size, alpha, beta, bias), {"size": size, **attrs})
        add(f"LRN-{size}", lrn, "LRN")


def add_positions():
    for axis, exclusive, reverse in ((1, 0, 0), (-1, 1, 0), (2, 0, 1), (3, 1, 1)):
        def prefix(x, *_, axis=axis, exclusive=exclusive, reverse=reverse):
            x = np.flip(x, axis) if reverse else x
            y = x.cumsum(axis) - (x if exclusive else 0)
            return np.flip(y, axis) if reverse else y
        moving("CumSum", f"CumSum{axis}-{exclusive}{reverse}", prefix, [np.int64(axis)],
               {"exclusive": exclusive, "reverse": reverse})
    for k, upper in ((None, 1), (0, 0), (1, 1), (-2, 0), (-1, 1), (2, 0), (9, 1)):
        side = np.triu if upper else np.tril
        moving("Trilu", f"Trilu-{k}-{upper}", lambda x, *_, f=side, k=k: f(x, k or 0),
               [] if k is None else [np.int64(k)], {"upper": upper}, shape=(1, 3, 4, 5))
    at = np.random.default_rng(5).integers(-4, 4, (1, 3, 4, 4))
    for axis in (1, 2, 3):
        picks = at % 3 - 3 * (at < 0) if axis == 1 else at
        moving("GatherElements", f"GatherElements-{axis}",
               lambda x, *_, i=picks, a=axis: np.take_along_axis(x, i % x.shape[a], a), [picks],
               {"axis": axis})
    part = at[:, :2, :3, :] % 4
    moving("GatherElements", "GatherElements-part", lambda x, *_: np.take_along_axis(
        x[:, :2, :3], part, 3), [part], {"axis": 3})
    moving("Gather", "Gather-irregular", lambda x: x[:, [2, 0, 0, 1, 2]], [
        indices(2, 0, 0, 1, 2)], {"axis": 1})
    def feed_indices(g, extent, shape):
        return g.feed([g.numpy.integers(-extent, extent, shape) for _ in range(FRAMES)])
    def computed(g):
        return g.op("GatherElements", [g.source(), feed_indices(g, 4, (1, 3, 4, 4))],
                    lambda x, i: np.take_along_axis(x, i % 4, 2), {"axis": 2})
    add("GatherElements-computed", computed, "GatherElements", exact=True)
    def gather_computed(g):
        return g.op("Gather", [g.source((1, 4, 3)), feed_indices(g, 4, (1, 5))],
                    lambda x, i: x[:, i % 4], {"axis": 1})
    add("Gather-computed", gather_computed, "Gather", exact=True)
    def hot(i, depth, low, high, axis):
        places = np.moveaxis(np.arange(depth) == np.where(i < 0, i + depth, i)[..., None], -1, axis)
        return np.where(places, high, low)
    for axis, low, high in ((-1, 0.0, 1.0), (1, -1.0, 0.5), (2, 0.3, 2.7)):
        def one_hot(g, axis=axis, low=low, high=high):
            i = g.feed([g.numpy.integers(-8, 8, (1, 5)) for _ in range(FRAMES)])
            if g.place in (QUANT_LAST, SUM_LAST):       # behind something that is computed
                i = g.op("Cast", [g.op("Round", [g.source((1, 5))], np.rint)], lambda x: x,
                         {"to": 7}, dtype=I64)
            return g.op("OneHot", [i, g.const(np.int64(6)), g.f32([low, high])],
                        lambda i, *_: hot(i, 6, F64(F32(low)), F64(F32(high)), axis),
                        {"axis": axis}, dtype=F32)
        add(f"OneHot{axis}-{low}-{high}", one_hot, "OneHot", exact=low != 0.3)
    def one_hot_of_floats(g):
        return g.op("OneHot", [g.source((1, 5)), g.f32(4), g.f32([0.0, 1.0])],
                    lambda x, *_: hot(np.trunc(x), 4, 0, 1, 2), dtype=F32)
    add("OneHot-floats", one_hot_of_floats, "OneHot", exact=True)


def add_position_types():
    for kind in ("int32", "int64", "uint32", "float64"):
        type_row("CumSum", kind, lambda x, _: x.cumsum(1, dtype=x.dtype),
                 constants=[np.array(1, I64)])
        type_row("Einsum", kind, lambda a, b: np.einsum("bij,jk->bik", a, b), operands=1,
                 attrs={"equation": "bij,jk->bik"}, shape=(1, 3, 4), least=-99, most=99,
                 constants=[np.arange(8).reshape(4, 2).astype(kind)])
    for kind in ("int8", "uint8", "int32", "int64", "uint32", "float64"):
        type_row("Trilu", kind, lambda x: np.triu(x))
        type_row("GatherElements", kind, lambda x, i: np.take_along_axis(x, i, 3),
                 attrs={"axis": 3}, constants=[np.arange(48).reshape(1, 3, 4, 4) * 7 % 4])
    for kind in ("uint8", "int32", "int64"):
        def hot(g, kind=kind):
            i = g.feed(numbers(g, kind, (1, 5), -3, 7))
            return g.op("OneHot", [i, g.const(np.int32(5)), g.const(np.array([3, -7], np.int32))],
                        lambda i, *_: np.where(np.arange(5) == np.where(i < 0, i + 5, i)[..., None],
                                               -7, 3), dtype=np.int32)
        add(f"OneHot-{kind}", hot, "OneHot", exact=True, places=ALONE)


for section in (add_activations, add_einsums, add_norms, add_positions, add_position_types):
    section()
