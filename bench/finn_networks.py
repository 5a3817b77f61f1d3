"""FINN-R's networks (Section 5.1, Table 4) with random weights: every scale is a power of two, a
batch normalization stands behind each sum, and what is binary is -1 or 1.

MLP-4 has three hidden layers on 28 x 28 binary pixels, CNV-6 six convolutions without padding and
three dense layers on 32 x 32 pixels. Tincy YOLO is a detector on 416 x 416 pixels, DoReFa-Net/PF
AlexNet after its channels were pruned; both have first layers of 8 bits. A layer's sums are exact in
float32, with which the expected outputs are computed."""
import dataclasses
import pathlib
import random
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "test" / "e2e"))
from network_builder import F32, Network  # noqa: E402

INPUT_SCALE = 1 / 128


@dataclasses.dataclass
class Layer:
    """A convolution or, with `is_dense`, a product with a matrix. `weights`: bits; a pool has kernel,
    stride and pads, or is None. Sizes of maps are found while the network is built."""
    filters: int
    kernel: int = 1
    stride: int = 1
    pad: int = 0
    groups: int = 1
    weights: int = 1
    pool: tuple | None = None
    is_dense: bool = False
    channels: int = 0       # that come in
    in_size: int = 1        # pixels a side
    out_size: int = 1
    in_bits: int = 0        # of its activations

    @property
    def macs(self):
        taps = self.kernel ** 2 * self.channels // self.groups
        return self.out_size ** 2 * self.filters * taps

    @property
    def parameters(self):
        return self.filters * self.kernel ** 2 * self.channels // self.groups


@dataclasses.dataclass
class Recipe:
    """shape: of a frame; bits: of activations; first_bits: of the input, 1: binary. `is_headless`: the
    last layer has activations like the others, and the input has none below 0. Copies are of a layer's last
    neuron. The next layer gives half of them the weight 1 and half -1, so they change no sum; with them a
    layer's width may have other divisors."""
    shape: tuple
    layers: list
    bits: int
    first_bits: int = 8
    is_signed: bool = False     # hidden activations of several bits
    head_bits: int = 16         # of the outputs
    is_headless: bool = False
    copies: int = 0             # even: neurons that each hidden dense layer has besides its filters


def dense(filters, weights=1):
    return Layer(filters, weights=weights, is_dense=True)


def mlp4(weights=1, bits=1, width=1024, is_padded=False, copies=0):
    """`is_padded`: 832 inputs and 64 outputs, as FINN and BNN-PYNQ build it."""
    layers = [dense(width, weights) for _ in range(3)] + [dense(64 if is_padded else 10, weights)]
    shape = (832 if is_padded else 784,)
    return Recipe(shape, layers, bits, first_bits=bits, is_signed=True, copies=copies)


def cnv6(weights=1, bits=1, is_padded=False):
    """`is_padded`: 64 outputs, as BNN-PYNQ builds it."""
    def conv(filters, pool=None):
        return Layer(filters, 3, weights=weights, pool=pool)
    half = (2, 2, 0)
    return Recipe((3, 32, 32), [
        conv(64), conv(64, half), conv(128), conv(128, half), conv(256), conv(256),
        dense(512, weights), dense(512, weights), dense(64 if is_padded else 10, weights)], bits, is_signed=True)


def tincy_yolo():
    def conv(filters, pool=None, **options):
        return Layer(filters, 3, pad=1, pool=pool, **options)
    half = (2, 2, 0)
    return Recipe((3, 416, 416), [
        conv(16, stride=2, weights=8), conv(64, half), conv(64, half), conv(128, half),
        conv(256, half), conv(512, (2, 1, (0, 0, 1, 1))), conv(512), conv(512),
        Layer(125, weights=8)], bits=3)


def dorefa(is_pruned=True, is_dense=True):
    """Without `is_dense` the convolutions alone."""
    widths = (68, 180, 272, 384, 256) if is_pruned else (96, 256, 384, 384, 256)
    layers = [Layer(widths[0], 12, 4, weights=8),
              Layer(widths[1], 5, pad=2, groups=2, pool=(3, 2, (0, 0, 1, 1))),
              Layer(widths[2], 3, pad=1, pool=(3, 2, 1)),
              Layer(widths[3], 3, pad=1, groups=2),
              Layer(widths[4], 3, pad=1, groups=2, pool=(3, 2, 0))]
    if is_dense:
        layers += [dense(4096), dense(4096), dense(1000, 8)]
    return Recipe((3, 224, 224), layers, bits=2)


def without_ends(recipe, first, last, shape):
    """Layers first to last - 1, which have few bits, on frames of such a map."""
    return dataclasses.replace(recipe, shape=shape, layers=recipe.layers[first:last], first_bits=recipe.bits,
                               is_headless=True)


def tincy_yolo_hidden():
    """What FINN-R's multilayer engine runs of Tincy YOLO: all but the layers of 8 bits."""
    return without_ends(tincy_yolo(), 1, 8, (16, 208, 208))


def dorefa_hidden():
    """The convolutions of DoReFa-Net/PF but the first one, of 8 bits."""
    return without_ends(dorefa(is_dense=False), 1, 5, (68, 54, 54))


def power_of_two(value):
    """The nearest one: a scale that spreads values over few levels, rather than for the largest."""
    return 2.0 ** np.rint(np.log2(value))


class Builder:
    def __init__(self, name, recipe, frames):
        self.net = Network(name, random.Random(8), dyadic=True, frames=frames)
        self.recipe = recipe

    def source(self):
        """The quantized input: pixels, or signs of them."""
        net, bits = self.net, self.recipe.first_bits
        if bits == 1:
            return net.bipolar_by(net.input(self.recipe.shape), 1.0)
        if self.recipe.is_headless:
            levels = 2 ** bits
            return net.quant_by(net.input(self.recipe.shape, low=0.0, high=1.0 - 1 / levels), 1 / levels,
                                bits, False)
        return net.quant_by(net.input(self.recipe.shape, low=-1.0, high=0.9375), INPUT_SCALE
                            if bits == 8 else 2.0 ** (1 - bits), bits)

    def weight(self, shape, bits, copies=(0, 0)):
        """copies: of neurons in this layer, of neurons in the one before."""
        reals = self.net.numpy.normal(0, np.prod(shape[1:]) ** -0.5, shape).astype(F32)
        signs = np.tile(np.array([1, -1], F32), (shape[0], copies[1] // 2))
        reals = np.concatenate([reals, signs], 1) if copies[1] else reals
        reals = np.concatenate([reals, reals[-1:].repeat(copies[0], 0)])
        weight = self.net.constant(reals, "weight")
        if bits == 1:
            return self.net.bipolar_by(weight, 0.25)
        if bits > 2:
            return self.net.quant(weight, bits, narrow=True)
        return self.net.quant_by(weight, power_of_two(reals.std()), bits, narrow=True)

    def activation(self, x, recipe):
        x = self.net.batch_norm(x, recipe.copies)
        if recipe.bits == 1:
            return self.net.bipolar_by(x, 1.0)
        if not recipe.is_signed:
            x = self.net.relu(x)
        levels = 2 ** (recipe.bits - recipe.is_signed)
        scale = power_of_two(2 * x.array.std() / levels)
        return self.net.quant_by(x, scale, recipe.bits, recipe.is_signed, recipe.is_signed)

    def dense_sum(self, x, layer):
        """With the recipe's copies, which must not change a sum of the others."""
        before, here = (0 if layer is self.recipe.layers[end] else self.recipe.copies for end in (0, -1))
        layer.channels = x.array.shape[1] - before
        weight = self.weight((layer.filters, layer.channels), layer.weights, (here, before))
        sums = self.net.gemm(x, weight, transB=1)
        alone = x.array[:, :layer.channels] @ weight.array[:layer.filters, :layer.channels].T
        assert np.array_equal(sums.array[:, :layer.filters], alone)
        return sums

    def sum(self, x, layer):
        """The layer's products, added."""
        if layer.is_dense:
            if x.array.ndim > 2:
                x = self.net.flatten(x)
            return self.dense_sum(x, layer)
        layer.channels, layer.in_size = x.array.shape[1:3]
        shape = (layer.filters, layer.channels // layer.groups, layer.kernel, layer.kernel)
        sums = self.net.conv(x, self.weight(shape, layer.weights), strides=[layer.stride] * 2,
                             pads=[layer.pad] * 4, group=layer.groups)
        layer.out_size = sums.array.shape[2]
        return sums

    def build(self):
        recipe = self.recipe
        x, bits = self.source(), recipe.first_bits
        for layer in recipe.layers:
            layer.in_bits, bits = bits, recipe.bits
            x = self.sum(x, layer)
            if layer is recipe.layers[-1] and not recipe.is_headless:
                break
            x = self.activation(x, recipe)
            if layer.pool:
                x = self.net.max_pool(x, *layer.pool)
        self.net.output(x if recipe.is_headless else self.net.quant(x, recipe.head_bits))


def write_finn_network(folder, recipe, frames=2):
    """model.onnx, input.npy and output.npy; the layers of the recipe learn the sizes of their maps."""
    folder.mkdir(parents=True, exist_ok=True)
    builder = Builder(folder.name, recipe, frames)
    builder.build()
    (folder / "model.onnx").write_bytes(builder.net.encode())
    np.save(folder / "input.npy", builder.net.source.array)
    np.save(folder / "output.npy", builder.net.result.array)
